"""Whether a converted model is valid: names, imports, nodes, the checker of the onnx package, and what was lowered.

    assert not faults(converted, model)

Judges call this for each conversion; `watch` does it for those that run in the tests' process, for tests/conftest.py.
What is wrong with the given model already is not held against the conversion. All is read from the messages and the
schemas of the onnx package: nothing of this project is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import onnx
from onnx import NodeProto, numpy_helper

from judges.fuzz.drawing.sparse import dense_of
from opset.version_converter import conversion

LARGEST = 1 << 20
"""Bytes of a converted model that `watch` looks at; what bounds time and memory is larger."""
STANDARD = ("", "ai.onnx")

# (operator or "" for any, first opset, last opset, part of the complaint, reason): what the inference of the onnx
# package is known to be wrong about, which was decided by hand.
LIMITS: tuple[tuple[str, int, int, str, str], ...] = (
    (
        "MeanVarianceNormalization",
        13,
        28,
        "",
        "infers its function without the default of `axes`",
    ),
    (
        "",
        1,
        6,
        "expected to have type but instead is null",
        "has no inference for some operators of these versions, such as Cast, and then fails at what reads them",
    ),
)

Scopes = tuple[dict[str, str], ...]


def faults(
    after: onnx.ModelProto, before: onnx.ModelProto | None = None, lowered: Collection[tuple[str, str]] = ()
) -> list[str]:
    """Return what is wrong with a model: each "check: what".

    Of the checks that the model `before` fails itself nothing is said. `lowered` are the operators, by name and domain,
    that the model must not have any more.
    """
    found: list[str] = []
    for check in CHECKS:
        wrong = [*check(after)]
        if wrong and (before is None or not [*check(before)]):
            found += [f"{check.__name__}: {each}" for each in wrong]
    new = unused_imports(after) - all_imports(before) if before is not None else ()
    found += [f"imports: nothing uses '{each}', which is new" for each in sorted(new)]
    found += [f"lowered: {each.op_type} is left" for each in nodes_of(after) if key(each)[:2] in lowered]
    return found


def key(node: NodeProto) -> tuple[str, str, str]:
    """Return the operator of a node, or the function that it calls: name, domain, overload."""
    return node.op_type, "" if node.domain in STANDARD else node.domain, node.overload


def graphs_in(node: NodeProto) -> Iterator[onnx.GraphProto]:
    """Yield the graphs in the attributes of a node."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.g
        yield from attribute.graphs


def nodes_of(model: onnx.ModelProto) -> Iterator[NodeProto]:
    """Yield all nodes of a model."""
    for _, nodes in scopes(model):
        yield from nodes


def scopes(model: onnx.ModelProto) -> Iterator[tuple[Any, list[NodeProto]]]:
    """Yield the model and each function, with all nodes in it, those in graphs of nodes included."""
    graphs = [model.graph, *(part for each in model.training_info for part in (each.initialization, each.algorithm))]
    for holder, roots in ((model, graphs), *((function, [function]) for function in model.functions)):
        found: list[NodeProto] = []
        pending: list[Any] = roots
        while pending:
            nodes = pending.pop().node
            found += nodes
            pending += [graph for node in nodes if node.attribute for graph in graphs_in(node)]
        yield holder, found


def names(model: onnx.ModelProto) -> Iterator[str]:
    """Yield the values that are defined twice, and those that are read before, or without, being defined."""
    roots = [({}, model.graph)]
    for training in model.training_info:
        # Its graphs see the values of the main graph.
        visible = dict.fromkeys(_given(model.graph), "main")
        visible |= {name: "main" for node in model.graph.node for name in node.output}
        roots += [(visible, training.initialization), (visible, training.algorithm)]
    for outer, graph in roots:
        yield from _names_in(graph, outer, _given(graph), [value.name for value in graph.output])
    for function in model.functions:
        yield from _names_in(function, {}, [*function.input], [*function.output])


def _given(graph: onnx.GraphProto) -> list[str]:
    """Return the inputs and initializers of a graph; one that is both is defined once."""
    inputs = [value.name for value in graph.input]
    weights = [each.name for each in graph.initializer] + [each.values.name for each in graph.sparse_initializer]
    known = {*inputs}
    return inputs + [name for name in weights if name not in known]


def _names_in(body: Any, outer: dict[str, str], given: list[str], outputs: list[str]) -> Iterator[str]:
    here: dict[str, str] = {}
    for name in given:
        if name in here:
            yield f"'{name}' is defined twice"
        here[name] = "given"
    for node in body.node:
        for name in node.input:
            if name and name not in here and name not in outer:
                yield f"{node.op_type} reads '{name}', which nothing before it computes"
        for graph in graphs_in(node):
            yield from _names_in(graph, {**outer, **here}, _given(graph), [value.name for value in graph.output])
        for name in node.output:
            if name and (name in here or name in outer):
                yield f"{node.op_type} computes '{name}', which is defined already"
            here[name] = "computed"
    for name in outputs:
        if name and name not in here and name not in outer:
            yield f"the output '{name}' is not computed"


def imports(model: onnx.ModelProto) -> Iterator[str]:
    """Yield the domains that are imported twice, and those that nodes use and that are not imported."""
    functions = {(each.name, "" if each.domain in STANDARD else each.domain, each.overload) for each in model.functions}
    for holder, nodes in scopes(model):
        domains = ["" if entry.domain in STANDARD else entry.domain for entry in holder.opset_import]
        for domain in {*domains}:
            if domains.count(domain) > 1:
                yield f"'{domain}' is imported {domains.count(domain)} times"
        for domain in {key(node)[1] for node in nodes if key(node) not in functions} - {*domains}:
            yield f"'{domain}' is used and not imported"


def all_imports(model: onnx.ModelProto) -> set[str]:
    """Return the domains that the model and its functions import."""
    return {_domain(each) for holder, _ in scopes(model) for each in holder.opset_import}


def unused_imports(model: onnx.ModelProto) -> set[str]:
    """Return the domains that the model or a function imports and that nothing in it uses."""
    return {
        _domain(each)
        for holder, nodes in scopes(model)
        for used in ({key(node)[1] for node in nodes},)
        for each in holder.opset_import
        if _domain(each) not in used
    }


def _domain(entry: Any) -> str:
    return "" if entry.domain in STANDARD else str(entry.domain)


def nodes(model: onnx.ModelProto) -> Iterator[str]:
    """Yield the nodes that do not fit their operator's schema: that do not exist, attributes, inputs and outputs."""
    functions = {(each.name, "" if each.domain in STANDARD else each.domain, each.overload) for each in model.functions}
    for holder, found in scopes(model):
        versions = {"" if each.domain in STANDARD else each.domain: each.version for each in holder.opset_import}
        for node in found:
            operator, domain, _ = key(node)
            if key(node) in functions or domain not in versions:
                continue
            schema = _schema(operator, versions[domain], domain)
            if schema is None:
                if domain in ("", "ai.onnx.ml", "ai.onnx.preview.training"):
                    yield f"there is no {operator} at version {versions[domain]}"
                continue
            if schema.deprecated:
                yield f"{operator} is withdrawn at version {versions[domain]}"
                continue
            for problem in _misfits(node, schema):
                yield f"{operator} at version {versions[domain]}: {problem}"


class _Schema(NamedTuple):
    """What a schema of the onnx package says of nodes; the package makes its attributes anew whenever it is asked."""

    deprecated: bool
    attributes: dict[str, Any]
    min_input: int
    max_input: int
    min_output: int
    max_output: int


@cache
def _schema(operator: str, version: int, domain: str) -> _Schema | None:
    try:
        schema = onnx.defs.get_schema(operator, version, domain)
    except onnx.defs.SchemaError:
        return None
    return _Schema(*(getattr(schema, name) for name in _Schema._fields))


def _misfits(node: NodeProto, schema: _Schema) -> Iterator[str]:
    given = [attribute.name for attribute in node.attribute]
    for name in given:
        if name not in schema.attributes:
            yield f"it has no attribute '{name}'"
        elif given.count(name) > 1:
            yield f"the attribute '{name}' is there twice"
    for attribute in node.attribute:
        declared = schema.attributes.get(attribute.name)
        if declared is not None and attribute.type and attribute.type != declared.type.value:
            yield f"the attribute '{attribute.name}' is of type {attribute.type}"
    for name, declared in schema.attributes.items():
        if declared.required and name not in given:
            yield f"the attribute '{name}' is absent"
    if not schema.min_input <= len(node.input) <= schema.max_input:
        yield f"{len(node.input)} inputs"
    if not schema.min_output <= len(node.output) <= schema.max_output:
        yield f"{len(node.output)} outputs"


def checker(model: onnx.ModelProto) -> Iterator[str]:
    """Yield what onnx's checker says, which asks for shapes of inputs and outputs; a scalar's serve."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for value in (*copy.graph.input, *copy.graph.output):
        kind = value.type.WhichOneof("value")
        if kind in ("tensor_type", "sparse_tensor_type"):
            getattr(value.type, kind).shape.SetInParent()
    try:
        onnx.checker.check_model(copy)
    except Exception as error:
        yield " ".join(str(error).split())[:300] or repr(error)


def densify(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with dense initializers in place of sparse ones, whose shapes onnx does not infer."""
    copy = onnx.ModelProto.FromString(model.SerializeToString())
    pending = [copy.graph]
    while pending:
        graph = pending.pop()
        graph.initializer.extend(
            numpy_helper.from_array(dense_of(each), each.values.name) for each in graph.sparse_initializer
        )
        del graph.sparse_initializer[:]
        pending += [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return copy


def types(model: onnx.ModelProto) -> Iterator[str]:
    """Yield what onnx's inference says of types and shapes, as its checker does with `full_check`."""
    try:
        onnx.shape_inference.infer_shapes(densify(model), check_type=True, strict_mode=True)
    except Exception as error:
        what = " ".join(str(error).split())[:300] or repr(error)
        version = next((each.version for each in model.opset_import if each.domain in STANDARD), 1)
        operators = {"", *(node.op_type for node in nodes_of(model))}
        known = (operators & {name} and low <= version <= high and part in what for name, low, high, part, _ in LIMITS)
        if not any(known):
            yield what


CHECKS: tuple[Callable[[onnx.ModelProto], Iterator[str]], ...] = (names, imports, nodes, checker, types)


@contextmanager
def watch() -> Iterator[list[str]]:
    """Examine each conversion to other versions that is made meanwhile; the list gets what is wrong with results."""
    found: list[str] = []
    convert_once = conversion.convert_once

    def examine(model: Any, index: Any, start: Any, task: Any, strategy: Any) -> Any:
        result = convert_once(model, index, start, task, strategy)
        if result.model is not None and result.model.proto.ByteSize() <= LARGEST:
            before, after = (onnx.ModelProto.FromString(each.SerializeToString()) for each in (model, result.model))
            found.extend(faults(after, before, {*task.target.lowered}))
        return result

    conversion.convert_once = examine
    try:
        yield found
    finally:
        conversion.convert_once = convert_once
