"""Which operators of the standard an installed runtime loads, as the file of a runtime that `--target` reads.

Models of one node are made of the examples of operators, and loaded as `--for installed:NAME` does it. A version is
taken if one of its examples loads; then each type parameter gets each of its types in turn, while the others stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from opset.errors import Finding, OpsetError, UsageError
from opset.model.elements import NUMBERS
from opset.model.types import Constant
from opset.opsets.registry import Registry
from opset.opsets.releases import ML, newest_ir_version
from opset.opsets.runtimes import Runtime
from opset.schemas.example import Example, example_versions
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name, near_miss, normalize_domain
from opset.version_converter.trials import Given, Trial, type_parameter

DOMAINS = ("", ML)
MOST_EXAMPLES = 8
"""Examples of a version of which one has to load."""
MOST_ELEMENTS = 256
"""Elements of an input that becomes a constant."""
_ELEMENT = re.compile(r"tensor\(\w+\)")
DATA_TYPE = "data_type"
"""The kind of an attribute that names the element type of an output."""
Progress = Callable[[int, int], None]


def probe_runtime(
    runtime: Runtime, registry: Registry, operator: str, progress: Progress | None = None
) -> dict[str, Any]:
    """Return the operators, versions and types that an installed runtime loads, as the content of a runtime's file.

    Args:
        runtime: The runtime, as `installed_runtime` returns it.
        registry: The operators.
        operator: The only operator to try: "Gelu", "ai.onnx.ml.Scaler"; "" for all of ai.onnx and ai.onnx.ml.
        progress: Called after each operator with two numbers: of operators that are done, and of all.

    Raises:
        UsageError: U105 if there is no such operator, T224 if the runtime no longer answers.
    """
    assert runtime.loader is not None
    loader, limits = runtime.loader, _limits(runtime, registry)
    names = [(domain, name) for domain in DOMAINS for name in registry.operators(domain)]
    if operator:
        domain, _, name = operator.rpartition(".")
        chosen = normalize_domain(domain), name
        if chosen not in names:
            help = near_miss(name, [name for _, name in names])
            raise UsageError(Finding("U105", f"there is no operator '{operator[:100]}' of the standard", help=help))
        names = [chosen]
    operators: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for done, (domain, name) in enumerate(names, 1):
        entries = _merge_versions([*_entries(runtime, registry, domain, name, limits)])
        if entries:
            operators.setdefault(domain_name(domain), {})[name] = entries
        if progress is not None:
            progress(done, len(names))
    number = ".".join(loader.release.split(".")[:2])  # as tables name releases
    release: dict[str, Any] = {"release": number, "opset": [*limits[""]]}
    if ML in limits:
        release["ml"] = limits[ML][1]
    release |= {"ir": limits["ir"][1], "how": "measured", "union_types": True}
    return {
        "runtime": f"installed-{loader.package}",
        "title": f"{loader.package} {loader.version} as it is installed",
        "match": "range",
        "source": "opset targets probe: models of one node, made of examples, were loaded",
        "releases": [release],
        "operators": operators,
    }


def runtime_text(document: Mapping[str, Any]) -> str:
    """Return the content of a runtime's file as YAML with a line for each entry; `document` is from `probe_runtime`."""
    from opset.schemas.yaml.printer import flow

    lines = ["# Written by opset targets probe. --target FILE makes it a name for --for: opset explain runtimes"]
    for key, value in document.items():
        if key == "releases":
            lines += ["releases:", *(f"- {flow(each)}" for each in value)]
        elif key == "operators":
            lines.append("operators:" if value else "operators: {}")
            for domain, operators in value.items():
                lines.append(f"  {domain}:")
                for name, entries in operators.items():
                    lines += [f"    {name}:", *(f"    - {flow(each)}" for each in entries)]
        else:
            lines.append(f"{key}: {flow(value)}")
    return "\n".join(lines) + "\n"


def _limits(runtime: Runtime, registry: Registry) -> dict[str, tuple[int, int]]:
    """Return the lowest and highest opset with which the runtime loads a node, by domain; under "ir", the IR versions.

    An example is {"": (7, 21), "ai.onnx.ml": (1, 4), "ir": (1, 10)}. If no opset of ai.onnx.ml loads, this key is
    missing. The highest numbers are found by loading models. The lowest opset of ai.onnx is from the tables of
    runtimes, and the other lowest numbers are 1.
    """
    from opset.model import proto as pb

    least = runtime.opsets[""][0] or 1
    relu = pb.NodeProto(op_type="Relu", input=["x"], output=["y"])
    value = "tensor(float)"
    newest = registry.domains[""]
    opsets = [at for at in range(least, newest + 1) if _loads(runtime, relu, {"": at}, [value], [value])]
    limits = {"": (least, max(opsets, default=least))}
    normalizer = pb.NodeProto(op_type="Normalizer", domain=ML, input=["x"], output=["y"])
    imports = {"": limits[""][1]}
    versions = range(1, registry.domains[ML] + 1)
    taken = [at for at in versions if _loads(runtime, normalizer, {**imports, ML: at}, [value], [value])]
    if taken:
        limits[ML] = (1, max(taken))
    plain = Trial(runtime, relu, {"": least}, [Given(value, (2,))], [value])
    irs = [each for each in range(3, newest_ir_version() + 1) if not plain._replace(ir_version=each).load()]
    return limits | {"ir": (1, max(irs, default=runtime.max_ir or 3))}


def _loads(
    runtime: Runtime, node: Any, imports: Mapping[str, int], inputs: Sequence[str], outputs: Sequence[str]
) -> bool:
    """Return whether the runtime loads a model of one node.

    Each input has the shape [2, 2]. `node` is a NodeProto, `imports` are opsets by domain. `inputs` and `outputs` are
    the types of its inputs and outputs, such as "tensor(float)".
    """
    return not Trial(runtime, node, imports, [Given(each, (2, 2)) for each in inputs], outputs).load()


def _entries(
    runtime: Runtime, registry: Registry, domain: str, name: str, limits: Mapping[str, tuple[int, int]]
) -> Iterator[dict[str, Any]]:
    """Yield the entry of a runtime's file for each version of an operator, oldest first.

    The entry is {} if the runtime does not load the version. Else the entry has "versions", such as [13, 13] for
    version 13. It also has these keys, if their values are not empty:

    - "types": the types that load, by type constraint, such as {"T": ["float"]}; constraints of which all types load
      are left out;
    - "unasked": only the names of these constraints, in place of "types", if the operator has graphs as attributes;
    - "constant_inputs": the inputs that must be constants.

    A version is skipped if it withdraws the operator, or if the runtime loads no opset in which the version is in
    force. `limits` are the lowest and the highest opset that the runtime loads, by domain.
    """
    least, most = limits.get(domain, (1, 0))
    examples = [each for each in registry.examples(name, domain) if not each.error]
    for schema in registry.versions(name, domain):
        since = schema.since_version
        opset = max(since, least)
        if opset > most or schema.deprecated or registry.schema(name, opset, domain) is not schema:
            continue
        imports = {"": limits[""][1], domain: opset}
        held = [each for each in examples if example_versions(each, [since])]
        trials = _loading_trials(runtime, schema, held[:MOST_EXAMPLES], imports)
        if not trials:
            yield {}
            continue
        entry: dict[str, Any] = {"versions": [since, since]}
        types = _types_of(trials, schema)
        if types and any(each.type == "graph" for each in schema.attributes.values()):
            entry["unasked"] = [*types]  # the graphs of examples have types of their own
        elif types:
            entry["types"] = types
        if constants := _constant_inputs(trials[0], schema):
            entry["constant_inputs"] = constants
        yield entry


def _loading_trials(
    runtime: Runtime, schema: OpSchema, examples: Sequence[Example], imports: Mapping[str, int]
) -> list[Trial]:
    """Return the trials that the runtime loads; [] if it loads none.

    A trial is a model with the one node of an example. These ways are tried in order, and only the trials of the first
    one that succeeds are returned:

    - all examples as they are;
    - all examples with constants for all inputs but the first;
    - copies of the first two examples, one for each type that a type constraint of the operator allows.

    An example that cannot be a model is left out. `imports` are the opsets of the models by domain.
    """
    trials = [trial for each in examples if (trial := _trial_of(runtime, schema, each, imports)) is not None]
    others = (
        other
        for trial in trials[:2]
        for parameter in schema.types
        for _, other in _variants(trial, schema, parameter)
        if not other.load()
    )
    plain = [each for each in trials if not each.load()]
    return plain or [each for trial in trials if not (each := _with_constants(trial)).load()] or [*others]


def _trial_of(runtime: Runtime, schema: OpSchema, example: Example, imports: Mapping[str, int]) -> Trial | None:
    """Return a trial, a model with the one node of an example; None if the example cannot be a model.

    `imports` are the opsets of the model by domain.
    """
    from opset.reference.example_models import model_of, value_of

    try:
        graph = model_of(schema, example).graph
        inputs = []
        for value in example.inputs:
            if value is None:
                inputs.append(Given(""))
                continue
            elements = None
            if value.type.startswith("tensor(") and value.content is not None:
                array = value_of(value)
                if array.size <= MOST_ELEMENTS:
                    elements = Constant(value.type[7:-1], array.shape, tuple(array.ravel().tolist()))
            inputs.append(Given(value.type, value.shape, False, elements))
    except (OpsetError, ValueError, OverflowError):
        return None
    outputs = [each.type if each is not None else "" for each in example.outputs or ()]
    return Trial(runtime, graph.node[0], imports, inputs, outputs)


def _with_constants(trial: Trial) -> Trial:
    """Return a copy of a trial in which all inputs but the first are constants."""
    first, rest = trial.inputs[:1], trial.inputs[1:]
    return trial._replace(inputs=[*first, *(each._replace(is_constant=bool(each.type)) for each in rest)])


def _types_of(trials: Sequence[Trial], schema: OpSchema) -> dict[str, list[str]]:
    """Return the types with which the runtime loads one of the trials, by type constraint: {"T": ["float", "float16"]}.

    The types are sorted, and a tensor is named by its element type. If the runtime loads no type, the list is empty. A
    type constraint is left out if all its types are loaded, or if no trial can vary its type.
    """
    types: dict[str, list[str]] = {}
    for parameter, allowed in schema.types.items():
        loading: set[str] = set()
        is_varied = False
        for trial in trials:
            for type_, other in _variants(trial, schema, parameter):
                is_varied = True
                if type_ not in loading and (not other.load() or _loads_together(trial, other, parameter, schema)):
                    loading.add(type_)
        if is_varied and loading != {*allowed}:
            types[parameter] = [re.sub(r"^tensor\((.*)\)$", r"\1", each) for each in sorted(loading)]
    return types


def _loads_together(trial: Trial, other: Trial, parameter: str, schema: OpSchema) -> bool:
    """Return whether the runtime loads `trial` with one element type replaced in all inputs and outputs.

    `trial` and `other` have different types for the type constraint `parameter`: for example, float and double. The
    replacement puts the element type that `other` has for this constraint wherever `trial` has the old one. The result
    is False if no input has the constraint, or if `trial` and `other` have the same element type for it.
    """
    places = enumerate(_type_constraints(schema.inputs, len(trial.inputs)))
    position = next((at for at, name in places if name == parameter and trial.inputs[at].type), None)
    if position is None:
        return False
    old, new = (_ELEMENT.search(each.inputs[position].type) for each in (trial, other))
    if old is None or new is None or old[0] == new[0]:
        return False
    inputs = [
        each._replace(type=each.type.replace(old[0], new[0]), elements=None) if old[0] in each.type else each
        for each in trial.inputs
    ]
    outputs = [each.replace(old[0], new[0]) for each in trial.outputs]
    return not trial._replace(inputs=inputs, outputs=outputs).load()


def _variants(trial: Trial, schema: OpSchema, parameter: str) -> Iterator[tuple[str, Trial]]:
    """Yield (type, trial) for each type that the type constraint `parameter`, such as "T", allows.

    Each trial is a copy of `trial` with values of the type. If an input has the constraint, the given trial comes
    first. A type to which the inputs cannot be changed is left out.

    If only an output has the constraint, the attribute that names its element type, such as "to" of Cast, is set to the
    type. Types other than tensors are then left out. Nothing is yielded if the operator has no attribute of this kind,
    or several.
    """
    places = (*zip(trial.inputs, _type_constraints(schema.inputs, len(trial.inputs)), strict=True),)
    old = next((each.type for each, name in places if name == parameter and each.type), "")
    if old:
        yield old, trial
        for type_ in schema.types[parameter]:
            other = trial.with_type(schema, parameter, old, type_) if type_ != old else None
            if other is not None:
                yield type_, other
        return
    names = [name for name, each in schema.attributes.items() if each.kind == DATA_TYPE]
    for position, name in enumerate(_type_constraints(schema.outputs, len(trial.outputs))):
        if name == parameter and len(names) == 1:
            for type_ in schema.types[parameter]:
                element = type_.removeprefix("tensor(").removesuffix(")")
                if element in NUMBERS:
                    yield type_, _with_output(trial, names[0], NUMBERS[element], position, type_)


def _with_output(trial: Trial, attribute: str, number: int, position: int, type_: str) -> Trial:
    """Return a copy of a trial whose output at `position` has the type `type_`.

    `attribute` is the attribute that names the output's element type, such as "to" of Cast. It gets the value `number`,
    the element type in TensorProto.DataType.
    """
    node = type(trial.node)()
    node.CopyFrom(trial.node)
    kept = [each for each in node.attribute if each.name != attribute]
    del node.attribute[:]
    node.attribute.extend(kept)
    node.attribute.add(name=attribute, type=2, i=number)
    outputs = [type_ if at == position else each for at, each in enumerate(trial.outputs)]
    return trial._replace(node=node, outputs=outputs)


def _type_constraints(formals: Sequence[Any], count: int) -> list[str]:
    """Return the type constraint, such as "T", of each of a node's first `count` inputs or outputs.

    `formals` are the inputs or outputs that the operator declares. The last one stands for all further positions, as a
    variadic one does. If the operator declares none, each entry is "".
    """
    return [type_parameter(formals, position) for position in range(count)]


def _constant_inputs(trial: Trial, schema: OpSchema) -> list[str]:
    """Return the names of those inputs of a trial that the runtime takes as constants only.

    Each constant input is made an input of the graph in turn. Its name is returned if the runtime then fails to load
    the model. A variadic input has one name for all of its values, which is returned once.
    """
    names = []
    for position, each in enumerate(trial.inputs):
        if each.is_constant:
            inputs = [*trial.inputs]
            inputs[position] = each._replace(is_constant=False)
            if trial._replace(inputs=inputs).load():
                names.append(schema.inputs[min(position, len(schema.inputs) - 1)].name)
    return [*dict.fromkeys(names)]


def _merge_versions(entries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries of an operator, with neighbors merged that differ only in "versions"; {} is removed.

    Entries with "versions" [13, 13] and [14, 14] become one with [13, 14]; with a {} between them, they are not merged.
    """
    merged: list[dict[str, Any]] = []
    for before, each in zip([{}, *entries], entries, strict=False):
        if not each:
            continue
        if merged and before and {**merged[-1], "versions": 0} == {**each, "versions": 0}:
            merged[-1] = {**each, "versions": [merged[-1]["versions"][0], each["versions"][1]]}
        else:
            merged.append(each)
    return merged
