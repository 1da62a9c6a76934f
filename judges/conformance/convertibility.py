"""Converts each example of the operators' YAML to each opset, and holds the outcome against the convertibility tables.

    python -m judges convertibility [-k PATTERN] [--every 1] [-j 2] [--types] [-v]

What the documentation says of a version of an operator and a target has to allow what the converter does with a node:
it stays as it is, or becomes operators that the table names, by steps that it names, or is refused with a code that it
names. Of targets at which all nodes stay as they are, the lowest and the highest are tried. With --types, the inputs
get all element types that the version takes instead: nothing is computed, so their values do not matter; that takes
half an hour. The exit status is 1 where the two contradict each other. With -v, rows are printed, too, all of whose
examples are refused.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import repeat
from typing import Any, NamedTuple

from opset.docgen.convertibility import GENERAL, IMPLIED, Convertibility
from opset.model.elements import NUMBERS, element_name
from opset.opsets.registry import default_registry
from opset.reference.example_models import model_of
from opset.schemas.example import Example, example_versions
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name, normalize_domain
from opset.version_converter import plan

REGISTRY = default_registry()
TABLES = Convertibility(REGISTRY)
ALWAYS = {each["code"] for each in GENERAL}


class Trip(NamedTuple):
    """An example at one version of its operator, and the opset that it is converted to.

    `retyped` is a type parameter and the element type that inputs of it have instead, ("", 0) for none.
    """

    schema: OpSchema
    example: Example
    to: int
    retyped: tuple[str, int] = ("", 0)

    @property
    def name(self) -> str:
        """What the trip is called in reports."""
        schema = self.schema
        name = f"{domain_name(schema.domain)}-{schema.name}-{schema.since_version}-{self.to}-{self.example.name}"
        return f"{name}-{self.retyped[0]}-{element_name(self.retyped[1])}" if self.retyped[0] else name

    def model(self) -> Any:
        """Return the model of the example."""
        model = model_of(self.schema, self.example)
        name, number = self.retyped
        if name:
            node = model.graph.node[0]
            formals = self.schema.inputs
            last = len(formals) - 1
            typed = {given for index, given in enumerate(node.input) if formals[min(index, last)].type == name}
            for value in model.graph.input:
                if value.name in typed:
                    value.type.tensor_type.elem_type = number
            for value in model.graph.output:
                value.ClearField("type")
        return model


def retyped(trip: Trip) -> Iterator[Trip]:
    """Yield a trip with each other element type of each type parameter of tensors."""
    for name, types in trip.schema.types.items():
        if any(formal.type == name for formal in trip.schema.inputs):
            for each in types:
                if each.startswith("tensor("):
                    yield trip._replace(retyped=(name, NUMBERS[each[7:-1]]))


def trips(operators: Collection[str] = ()) -> Iterator[Trip]:
    """Yield each trip of each example at each version for which it holds, in a fixed order, if asked of these alone."""
    for domain in REGISTRY.domains:
        for name in operators or REGISTRY.operators(domain):
            for schema in REGISTRY.versions(name, domain):
                for example in REGISTRY.examples(name, domain):
                    if not example.error and example_versions(example, [schema.since_version]):
                        for to in targets(schema):
                            yield Trip(schema, example, to)


def targets(schema: OpSchema) -> Iterator[int]:
    """Yield the opsets to which examples of a version are converted."""
    version = next(
        each for each in table(schema.name, schema.domain)["versions"] if each["since"] == schema.since_version
    )
    for each in version["ranges"]:
        first, last = each["targets"]
        yield from sorted({first, last}) if each["kind"] == "keep" else range(first, last + 1)


@cache
def table(operator: str, domain: str) -> dict[str, Any]:
    """Return the table of an operator."""
    return TABLES.table_of(operator, domain)


def row(operator: str, domain: str, opset: int, target: int) -> dict[str, Any]:
    """Return what the table says of an operator's nodes at an opset and a target."""
    version = next(each for each in table(operator, domain)["versions"] if each["since"] <= opset)
    found: list[dict[str, Any]] = [
        each for each in version["ranges"] if each["targets"][0] <= target <= each["targets"][1]
    ]
    assert len(found) == 1, (operator, opset, target)
    return found[0]


@cache
def reachable(operator: str, domain: str, opset: int, target: int) -> frozenset[tuple[str, str]]:
    """Return the operators that a node may consist of at the target, by the tables alone."""
    found: set[tuple[str, str]] = set()
    transitions = {each["id"]: each for each in table(operator, domain)["transitions"]}
    steps = row(operator, domain, opset, target)["steps"]
    if all(transitions[step]["to"] for step in steps):
        found.add((domain, operator))
    for step in steps:
        for each in transitions[step]["operators"]:
            made = normalize_domain(each["domain"]), each["operator"]
            if made[0] != domain:
                found.add(made)
            elif made != (domain, operator) and REGISTRY.schema(made[1], transitions[step]["opset"], made[0]):
                found |= reachable(made[1], made[0], transitions[step]["opset"], target)
    return frozenset(found)


def contradiction(trip: Trip) -> tuple[str, str]:
    """Return what happened, and how it contradicts the table, "" if it does not."""
    schema = trip.schema
    domain, since = schema.domain, schema.since_version
    said = row(schema.name, domain, since, trip.to)
    conversion = plan(trip.model(), {domain: trip.to})
    # Nodes of graphs in the node have tables of their own.
    refused = [each for each in conversion.refusals if each.place.count(", node ") == 1]
    actions = [each for each in conversion.actions if each.body.parent is None]
    if refused:
        found = {each.code for each in refused}
        if said["kind"] == "keep" or (strange := found - ALWAYS - {*said["codes"]}):
            return "refused", f"{said['kind']} {said['codes']}: {refused[0]}"
        return "refused", f"not named: {strange}" if strange else ""
    if said["kind"] == "refuse":
        return "converted", f"refused in any case: {said['text']}"
    if conversion.refusals or not actions:
        return "kept", ""
    if said["kind"] in ("keep", "check"):
        return "converted", f"{said['kind']}: {actions[0].steps}"
    action = actions[0]
    crossed = [step.removeprefix(f"{schema.name} ") for step in action.steps if step.startswith(f"{schema.name} ")]
    strange = {each.replace(" -> ", "-").replace(" lowered", "-lowered") for each in crossed} - {*said["steps"]}
    if strange:
        return "converted", f"steps {strange} beside {said['steps']}"
    names = {name for _, name in reachable(schema.name, domain, since, trip.to) | IMPLIED}
    strange = {*action.result} - names
    return "converted", f"becomes {sorted(strange)} beside {sorted(names)}" if strange else ""


Judged = tuple[str, tuple[Any, ...], str, str]
"""Name of a trip, the row of the table with its kind last, what happened, and the contradiction."""


def judged(operator: str, pattern: str, every: int, types: bool) -> list[Judged]:
    """Return what the trips of an operator gave."""
    found = []
    made = [other for each in trips([operator]) for other in (retyped(each) if types else [each])]
    for trip in [each for each in made if pattern in each.name][::every]:
        schema = trip.schema
        said = row(schema.name, schema.domain, schema.since_version, trip.to)
        what = (schema.domain, schema.name, schema.since_version, *said["targets"], said["kind"])
        found.append((trip.name, what, *contradiction(trip)))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Make the trips, and print what contradicts the tables; 1 where anything does."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-k", dest="pattern", default="", help="part of the names of trips to make")
    parser.add_argument("--every", type=int, default=1, help="make one trip in so many of each operator")
    parser.add_argument("-j", dest="processes", type=int, default=2, help="processes at the same time")
    parser.add_argument("--types", action="store_true", help="with all element types of the inputs")
    parser.add_argument("-v", dest="verbose", action="store_true", help="print rows whose nodes are refused alone")
    options = parser.parse_args(arguments)
    names = sorted({name for domain in REGISTRY.domains for name in REGISTRY.operators(domain)})
    counts: Counter[tuple[str, bool]] = Counter()
    kinds: dict[tuple[Any, ...], set[str]] = {}
    with ProcessPoolExecutor(options.processes) as pool:
        for results in pool.map(judged, names, repeat(options.pattern), repeat(options.every), repeat(options.types)):
            for name, what, kind, why in results:
                counts[kind, bool(why)] += 1
                kinds.setdefault(what, set()).add(kind)
                if why:
                    print(f"{name}: {why}", flush=True)
    for (*where, said), found in sorted(kinds.items()):
        if options.verbose and said != "refuse" and found == {"refused"}:
            print(f"{said}, but always refused: {where}")
    for (kind, strange), count in sorted(counts.items()):
        print(f"{kind}{', against the table' if strange else ''}: {count}")
    return int(any(strange for _, strange in counts))
