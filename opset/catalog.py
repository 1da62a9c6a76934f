"""Facts of operators and operator sets as plain data: for the command line, pages, Markdown and JSON."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from opset.errors import InferenceError, OpsetError
from opset.inference.engine.result import infer
from opset.model.types import nest_elements
from opset.opsets.amendments import amendments_of
from opset.opsets.registry import Registry
from opset.opsets.releases import RELEASES
from opset.reference.example_models import model_with_inputs, value_of
from opset.schemas.constraints.grammar import PRESENCE
from opset.schemas.constraints.signature import constraint_misfits
from opset.schemas.diff import short_float, signature_diff, signed_expressions
from opset.schemas.example import Example, ExampleValue, example_versions
from opset.schemas.model import OWN, UNBOUNDED, VARIADIC, OpSchema, Parameter
from opset.schemas.names import domain_name, normalize_domain
from opset.schemas.status import Grounded, ground_of, status_of
from opset.schemas.type_sets import TypeSets
from opset.version_converter.derivation import derive_adapter

# What an adapter has to do, least first.
NOTHING, DERIVED, WRITTEN, IMPOSSIBLE = "nothing to do", "derived", "written", "impossible"
_WORK_TEXTS = {DERIVED: "derived from the change", WRITTEN: "by hand-written code"}
_CAST_LIKE = 15
"""The first opset that has CastLike; a body for an older one has Cast in its place when it is written."""
_WORD = re.compile(r"-?\w+")
"""A key of a map that is shown without quotes."""


def schema_data(registry: Registry, schema: OpSchema) -> dict[str, Any]:
    """Return one version of an operator as plain data: its signature and its prose."""
    docs = registry.documentation(schema)

    def parameter(formal: Parameter, phrases: Mapping[str, str]) -> dict[str, Any]:
        data: dict[str, Any] = {"name": formal.name, "type": formal.type, "option": formal.option}
        data["doc"] = phrases.get(formal.name, "")
        if formal.option == VARIADIC:
            data |= {"homogeneous": formal.homogeneous, "min_arity": formal.min_arity}
        return data

    return {
        "domain": domain_name(schema.domain),
        "operator": schema.name,
        "since": schema.since_version,
        "family": schema.family,
        "deprecated": schema.deprecated,
        "replacement": schema.replacement,
        "amended": [each.text for each in amendments_of(schema)],
        "experimental": schema.experimental,
        "unknown": schema.unknown,
        "determinism": schema.determinism,
        "doc": docs.doc,
        "formula": docs.formula,
        "special_cases": [{"text": each.text, **status_data(each)} for each in docs.special_cases],
        "implementations": [{**each._asdict(), "examples": [*each.examples]} for each in docs.implementations],
        "counterparts": docs.counterparts,
        "inputs": [parameter(each, docs.inputs) for each in schema.inputs],
        "outputs": [parameter(each, docs.outputs) for each in schema.outputs],
        "min_input": schema.min_input,
        "max_input": None if schema.max_input == UNBOUNDED else schema.max_input,
        "min_output": schema.min_output,
        "max_output": None if schema.max_output == UNBOUNDED else schema.max_output,
        "attributes": [
            {**each._asdict(), "choices": list(each.choices), "doc": docs.attributes.get(each.name, "")}
            for each in schema.attributes.values()
        ],
        "types": {name: list(types) for name, types in schema.types.items()},
        "type_sets": {name: registry.phrase(types) for name, types in schema.types.items()},
        "constraints": docs.constraints,
        "checked": check_times(registry, schema, docs.constraints),
        "shape": schema.shape,
        "function": [{**body._asdict(), "where": dict(body.where)} for body in schema.function],
    }


def status_data(item: Grounded) -> dict[str, str]:
    """Return the status of a special case or an example, and the ground for it."""
    return {"status": status_of(item), "because": ground_of(item)}


def implementation_title(note: Mapping[str, Any]) -> str:
    """Return an implementation with the version that it was seen with, for people."""
    return "opset (reference evaluator)" if note["name"] == OWN else f"{note['name']} {note['tested']}"


def determinism_words(determinism: str) -> str:
    """Return the words for the determinism of an operator; "" if its results are always the same."""
    return {"deterministic": "", "unknown": "determinism unknown"}.get(determinism, determinism)


def example_data(example: Example) -> dict[str, Any]:
    """Return an example as plain data: its inputs, outputs and attributes as values with types and shapes."""
    return {
        "name": example.name,
        "doc": example.doc,
        **status_data(example),
        "error": example.error,
        "attributes": {name: _plain_value(value) for name, value in example.attributes.items()},
        "inputs": [_plain_value(each) for each in example.inputs],
        "outputs": None if example.outputs is None else [_plain_value(each) for each in example.outputs],
    }


def _plain_value(value: Any) -> Any:
    """Return a value of an example as plain data."""
    if isinstance(value, ExampleValue):
        content = value.content
        if value.shape is not None and isinstance(content, list):
            content = nest_elements(content, value.shape)
        shape = None if value.shape is None else list(value.shape)
        return {"type": value.type, "shape": shape, "content": _plain_value(content)}
    if isinstance(value, Mapping):
        return {str(key): _plain_value(each) for key, each in value.items()}
    return [_plain_value(each) for each in value] if isinstance(value, (list, tuple)) else value


def body_conditions(body: Mapping[str, Any], bodies: Sequence[Mapping[str, Any]]) -> str:
    """Return the opsets, nodes and types that a function body serves, and how it is rewritten, as a phrase.

    `bodies` are all bodies of the version: one of a higher opset takes the place of another one for the same nodes.
    """
    first = body["opset"]
    last = min(
        (each["opset"] - 1 for each in bodies if each["opset"] > first and _takes_place(each, body)), default=None
    )
    words = [f" for models of opset {first}{' or later' if last is None else f' to {last}' if last > first else ''}"]
    for name, form in body["where"].items():
        if form in PRESENCE:
            words.append(f"{name} is {form}")
        else:
            words.append(f"{name} {form}" if form[:1] in "<>!=" else f"{name} = {form}")
    words += [f"{name}: {', '.join(map(brief_type, types))}" for name, types in body["types"].items()]
    for wide in dict.fromkeys(body["emulate"].values()):
        narrow = [each for each, type_name in body["emulate"].items() if type_name == wide]
        verb = "is" if len(narrow) == 1 else "are"
        words.append(f"{' and '.join(narrow)} {verb} computed in {wide}")
    if body["opset"] < _CAST_LIKE and "CastLike" in body["nodes"]:
        words.append("before opset 15, which brought CastLike, a Cast takes its place")
    return "; ".join(words)


def _takes_place(newer: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """Whether a function body serves all nodes and types that another one serves."""
    if not newer["where"].items() <= body["where"].items():
        return False
    return all(name in body["types"] and {*body["types"][name]} <= {*types} for name, types in newer["types"].items())


def release_that_brought(schema: OpSchema) -> str:
    """Return the first release of onnx that has a version of an operator; "" if none has it yet."""
    late = [each.release for each in amendments_of(schema) if each.late]
    return next(iter([*late, *releases_of(schema.domain, schema.since_version)]), "")


def releases_of(domain: str, version: int) -> list[str]:
    """Return the releases of onnx whose newest version of a domain's operator set is this one, oldest first."""
    return [row.name for row in RELEASES if row.opset_of(normalize_domain(domain)) == version]


def example_rows(schema: OpSchema, data: Mapping[str, Any]) -> tuple[list[tuple[str, str, str]], ...]:
    """Return the inputs and the outputs of `example_data`, each as name, type with shape, and value."""

    def rows_of(parameters: Sequence[Parameter], values: Sequence[Any]) -> list[tuple[str, str, str]]:
        rows = []
        for position, value in enumerate(values):
            parameter = parameters[min(position, len(parameters) - 1)] if parameters else None
            name = parameter.name if parameter else ""
            if parameter is not None and parameter.option == VARIADIC:
                name += f" {position - len(parameters) + 2}"
            if value is None:
                rows.append((name, "", "absent"))
                continue
            shape = value["shape"]
            kind = value["type"] if shape is None else f"{brief_type(value['type'])}{list(shape)}"
            text = "any values" if value["content"] is None and shape is not None else value_text(value["content"])
            rows.append((name, kind, text))
        return rows

    return rows_of(schema.inputs, data["inputs"]), rows_of(schema.outputs, data["outputs"] or ())


def check_times(registry: Registry, schema: OpSchema, labels: Iterable[str]) -> dict[str, str]:
    """Return the time at which each constraint can be checked, by its label: "static" or "run time".

    A constraint is static if types and shapes decide it: inference finds each example that breaks it, without the
    values of inputs. If no example breaks it, its declaration says whether it depends on values.
    """
    inputs = {each.name for each in schema.inputs}
    declared = {each.constraint: True for each in schema.attributes.values()}
    for condition in schema.conditions:
        declared[condition.label] = condition.subject not in inputs or condition.kind not in ("values", "distinct")
    times = {}
    for label in labels:
        examples = [each for each in registry.examples(schema.name, schema.domain) if each.error == label]
        examples = [each for each in examples if example_versions(each, [schema.since_version])]
        found = [_is_found_without_values(registry, schema.domain, schema.name, each.name) for each in examples]
        times[label] = "static" if (all(found) if found else declared.get(label)) else "run time"
    return times


@lru_cache(maxsize=4096)
def _is_found_without_values(registry: Registry, domain: str, operator: str, name: str) -> bool:
    """Whether the constraint that an example breaks is found without values of inputs, at its newest version."""
    example = next(each for each in registry.examples(operator, domain) if each.name == name)
    versions = registry.since_versions(operator, domain)
    schema = registry.schema(operator, max(example_versions(example, versions)), domain)
    assert schema is not None  # a version of its own
    if any(misfit.constraint == example.error for misfit in constraint_misfits(schema, example.attributes)):
        return True
    values = {index: value_of(each) for index, each in enumerate(example.inputs) if each is not None}
    model, _ = model_with_inputs(schema, example, values, lambda value: False, symbolic=False)
    try:
        findings = infer(model, schemas=registry, strict=True).findings
    except InferenceError:  # a file of rules cannot be used
        raise
    except OpsetError:  # an example that is not right is a finding of `opset test`
        return False
    return any(each.why.startswith(f"{example.error}: ") for each in findings)


class TransitionFacts(NamedTuple):
    """A transition: both versions, the signature difference and its phrases, what is claimed, the work of adapters."""

    before: int
    since: int
    difference: dict[str, Any]
    words: Sequence[str]
    meaning: str
    clarified: str
    up: str
    down: str


def changes(versions: tuple[OpSchema, ...], sets: TypeSets) -> list[TransitionFacts]:
    """Return the transitions between versions, oldest first."""
    facts = []
    for older, newer in pairwise(versions):
        change = newer.change
        assert change is not None  # the loader refuses a later version without one
        difference = signature_diff(older, newer)
        words = difference_words(difference, sets)
        up = _adapter_work(change.up, derive_adapter(older, newer, change).touches, newer.deprecated)
        down = _adapter_work(change.down, derive_adapter(newer, older, change).touches, older.deprecated)
        sinces = older.since_version, newer.since_version
        facts.append(TransitionFacts(*sinces, difference, words, change.meaning, change.clarified, up, down))
    return facts


def _adapter_work(declared: str, touches: bool, withdrawn: bool) -> str:
    """Return the work of an adapter: impossible, written, derived, or nothing to do."""
    if declared == DERIVED and withdrawn:
        return f"{IMPOSSIBLE}: the operator is withdrawn there"
    return NOTHING if declared == DERIVED and not touches else declared


def worst_work(works: list[str]) -> str:
    """Return the verdict on several adapters in a row: impossible if one is, else written if one is, else derived."""
    for work in (IMPOSSIBLE, WRITTEN, DERIVED):
        if worst := next((each for each in works if each.startswith(work)), None):
            return worst
    return NOTHING


def work_text(work: str) -> str:
    """Return the work of an adapter in words that need no knowledge of adapters, as pages show it."""
    return _WORK_TEXTS.get(work, work)


def difference_words(difference: dict[str, Any], sets: TypeSets) -> list[str]:
    """Return the phrases for a signature difference (see opset.schemas.diff), in which sets stand for their types."""
    words = []
    for flag, word in (("deprecated", "withdrawn"), ("experimental", "experimental")):
        if flag in difference:
            words.append(word if difference[flag] else f"no longer {word}")
    if "determinism" in difference:
        words.append("determinism: {} -> {}".format(*difference["determinism"]))
    for side in ("input", "output"):
        words += _parameter_words(side, difference.get(f"{side}s", {}))
    for name, facets in difference.get("attributes", {}).items():
        words.append(f"attribute {name}{_attribute_words(facets)}")
    for name, types in difference.get("types", {}).items():
        says = f"is {types}" if isinstance(types, str) else " ".join(signed_expressions(types, sets))
        words.append(f"type {name} {says}")
    return words


def _parameter_words(side: str, difference: dict[str, Any]) -> list[str]:
    """Return the phrases for changes of inputs or outputs."""
    words = [f"{side} {name} is new" for name in difference.get("added", ())]
    words += [f"{side} {name} is gone" for name in difference.get("removed", ())]
    words += [f"{side} {old} is called {new}" for old, new in difference.get("renamed", {}).items()]
    if "order" in difference:
        words.append(f"{side}s stand in the order {', '.join(difference['order'])}")
    for facet, word in (("retyped", "type"), ("arity", ""), ("homogeneous", "homogeneous"), ("min_arity", "at least")):
        for name, (old, new) in difference.get(facet, {}).items():
            before, after = (brief_type(each) if facet == "retyped" else value_text(each) for each in (old, new))
            words.append(f"{side} {name}: {word} {before} -> {after}".replace(":  ", ": "))
    return words


def _attribute_words(facets: dict[str, Any]) -> str:
    """Return the phrase for a change of an attribute."""
    if "added" in facets:
        default = f" = {value_text(facets['default'])}" if "default" in facets else ""
        return f" is new ({facets['added']}{default}{', required' if facets.get('required') else ''})"
    if "removed" in facets:
        return " is gone"
    return ": " + ", ".join(f"{facet} {value_text(old)} -> {value_text(new)}" for facet, (old, new) in facets.items())


def first_sentence(doc: str) -> str:
    """Return the first sentence of a description on one line, without the marks of code."""
    paragraph = doc.strip().partition("\n\n")[0]
    return re.split(r"(?<=[.!?]) (?=[A-Z])", " ".join(paragraph.replace("`", "").split()), maxsplit=1)[0]


def brief_type(type_: str) -> str:
    """Return the short form of a type: `float` for `tensor(float)`."""
    return type_[7:-1] if type_.startswith("tensor(") else type_


def value_text(value: Any) -> str:
    """Return a default or another plain value as text: `none`, `1e-05`, `[1, 2]`, `"a b"`, `NOTSET`, `{1: 0.5}`.

    A tensor inside a sequence or a map is its elements, with type and shape if these do not follow: `float[0, 2] []`.
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(value_text, value))}]"
    if isinstance(value, Mapping) and "content" in value:
        shape, content = value["shape"], value["content"]
        text = value_text(content)
        is_clear = not shape or (isinstance(content, list) and all(shape))
        return text if is_clear else f"{brief_type(value['type'])}{shape} {text}"
    if isinstance(value, Mapping):
        keys = (str(key) if _WORD.fullmatch(str(key)) else value_text(key) for key in value)
        entries = [f"{key}: {value_text(each)}" for key, each in zip(keys, value.values(), strict=True)]
        return f"{{{', '.join(entries)}}}"
    return f'"{value}"' if isinstance(value, str) and not value.isidentifier() else str(value)


def _float_text(value: float) -> str:
    """Return a float without loss: as few digits as stand for the same float32, or else for the same double."""
    text = f"{value:g}"
    if float(text) == value:
        return text
    with suppress(OverflowError):
        if struct.unpack("<f", struct.pack("<f", value))[0] == value:
            value = short_float(value)
    return repr(value)


class Member(NamedTuple):
    """An operator of an operator set, with the version that it has there."""

    operator: str
    since: int
    family: str


@dataclass(frozen=True)
class OperatorSetFacts:
    """A version of an operator set: its releases, what it added, changed and withdrew, and all that it has."""

    domain: str
    version: int
    releases: Sequence[str]
    new: Sequence[Member]
    changed: Sequence[Member]
    withdrawn: Sequence[Member]
    operators: Sequence[Member]


class ChangedOperator(NamedTuple):
    """An operator that differs between two versions of an operator set: its signature, its meaning, and the work."""

    operator: str
    since_before: int
    since_after: int
    words: Sequence[str]
    meaning: Sequence[str]
    work: str


@dataclass(frozen=True)
class OperatorSetDifference:
    """The difference between two versions of an operator set, in the direction from `before` to `after`.

    An operator that is withdrawn in one of the two counts as missing there.
    """

    domain: str
    before: int
    after: int
    new: Sequence[Member]
    gone: Sequence[Member]
    changed: Sequence[ChangedOperator]


def operator_set(registry: Registry, domain: str, version: int) -> OperatorSetFacts:
    """Return a version of an operator set."""
    name = normalize_domain(domain)
    new: list[Member] = []
    changed: list[Member] = []
    withdrawn: list[Member] = []
    operators: list[Member] = []
    for operator in registry.operators(name):
        schema = registry.schema(operator, version, name)
        if schema is None:
            continue
        entry = Member(operator, schema.since_version, schema.family)
        if schema.since_version == version:
            first = registry.since_versions(operator, name)[0] == version
            (withdrawn if schema.deprecated else new if first else changed).append(entry)
        if not schema.deprecated:
            operators.append(entry)
    releases = releases_of(name, version)
    return OperatorSetFacts(domain_name(name), version, releases, new, changed, withdrawn, operators)


def operator_set_difference(registry: Registry, domain: str, before: int, after: int) -> OperatorSetDifference:
    """Return the difference between two versions of an operator set."""
    name = normalize_domain(domain)
    new: list[Member] = []
    gone: list[Member] = []
    changed: list[ChangedOperator] = []
    for operator in registry.operators(name):
        old, later = (_schema_in_use(registry, operator, version, name) for version in (before, after))
        if old is None or later is None:
            new += [] if later is None else [Member(operator, later.since_version, later.family)]
            gone += [] if old is None else [Member(operator, old.since_version, old.family)]
        elif old != later:
            versions = registry.versions(operator, name)
            low, high = sorted((versions.index(old), versions.index(later)))
            crossed = changes(versions[low : high + 1], registry.type_sets)
            words = difference_words(signature_diff(old, later), registry.type_sets)
            meaning = [each.meaning for each in crossed if each.meaning]
            work = worst_work([each.up if after > before else each.down for each in crossed])
            changed.append(ChangedOperator(operator, old.since_version, later.since_version, words, meaning, work))
    return OperatorSetDifference(domain_name(name), before, after, new, gone, changed)


def _schema_in_use(registry: Registry, operator: str, version: int, domain: str) -> OpSchema | None:
    """Return an operator at a version of its domain, None if there is none, or if it is withdrawn."""
    schema = registry.schema(operator, version, domain)
    return None if schema is None or schema.deprecated else schema


def json_data(data: Any) -> Any:
    """Return plain data as JSON can hold it: numbers that are not finite become "nan", "inf" or "-inf"."""
    if isinstance(data, dict):
        return {key: json_data(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [*map(json_data, data)]
    return str(data) if isinstance(data, float) and not math.isfinite(data) else data


def default_text(value: Any) -> str:
    """Return a default as it is written in ONNX text: text in quotes, numbers without loss."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(default_text, value))}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else value_text(value)


def arity_words(parameter: Mapping[str, Any]) -> list[str]:
    """Return the phrases on how often an input or output of `schema_data` may occur: "optional", "at least 1"."""
    words = [parameter["option"]] if parameter["option"] != "single" else []
    if parameter["option"] == VARIADIC:
        words.append(f"at least {parameter['min_arity']}")
        words += [] if parameter["homogeneous"] else ["of any types"]
    return words
