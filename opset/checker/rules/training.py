"""Rules about training: the graphs that initialize and update variables, their bindings, and quantization annotations.

A step of training runs the main graph and the algorithm as one graph; the initialization runs by itself. Rules
about graphs check the algorithm and the main graph on their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from opset.checker.table import CHECKER, WARNING, CheckContext
from opset.errors import Finding, quote
from opset.model.graph.index import Body, is_initialization

QUANTIZATION_KEYS = ("SCALE_TENSOR", "ZERO_POINT_TENSOR")
"""The keys of quantization annotations that the specification names."""


class _Step(NamedTuple):
    """An entry of training_info with its place, and its two graphs; a graph is None if the entry does not have it."""

    place: str
    info: Any
    initialization: Body | None
    algorithm: Body | None


@CHECKER.rule("G701", CheckContext, since=7)
def check_initialization_inputs(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each initialization graph of training_info that takes inputs."""
    for step in _steps(context):
        if step.initialization is not None and (names := step.initialization.input_names()):
            message = f"the initialization takes {len(names):,} inputs, {quote(names[0])} first"
            if len(names) == 1:
                message = f"the initialization takes an input, {quote(names[0])}"
            why = "it runs before any training, and nothing gives it inputs"
            help = "make it an initializer of this graph, or compute it there, such as by RandomNormal"
            yield Finding("G701", message, step.initialization.label, why, help)


@CHECKER.rule("G702", CheckContext, since=7)
def check_initialization_reads(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each use of a value of the main graph, except its initializers, in an initialization graph.

    Such a value is computed or an input, and has no value when the initialization runs.
    """
    main = context.main.definitions
    variables = _initializers(context.main)
    for body in context.bodies if context.proto.training_info else ():
        if not is_initialization(body.root):
            continue
        for index, names in enumerate([*body.reads, body.output_names()]):
            for name in names:
                if name in main and name and name not in variables and not _is_defined_inside(name, body):
                    message = f"the initialization uses {quote(name)}, an input or a result of the main graph"
                    why = "it runs by itself, and of the main graph only initializers have values then"
                    place = body.location(index) if index < len(body.nodes) else body.label
                    yield Finding("G702", message, place, why, "compute the value in the initialization")


@CHECKER.rule("G703 G704 G705", CheckContext, since=7)
def check_bindings(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each binding of a variable in training_info that cannot be carried out.

    - G703: the variable is bound twice: for updates in all of training_info, for initialization in one entry of it;
    - G704: its key is no initializer of the main graph or the algorithm;
    - G705: its value is no output of the graph that computes it.
    """
    variables = {each.name for each in context.proto.graph.initializer}
    results = {*context.main.output_names()}
    updated: set[Any] = set()
    for step in _steps(context):
        own = {each.name for each in step.info.algorithm.initializer}
        computed = {each.name for each in step.info.algorithm.output}
        created = {each.name for each in step.info.initialization.output}
        place = f"{step.place}.initialization_binding"
        for key, value, fault in _keys(step.info.initialization_binding, set(), place):
            yield from fault
            yield from _key_faults(key, key in variables or key in own, place)
            if value not in created or not value:
                message = f"{quote(key)} is bound to {quote(value)}, which is no output of the initialization"
                yield Finding("G705", message, place, _WHY_VALUE, "name an output of the initialization")
        place = f"{step.place}.update_binding"
        for key, value, fault in _keys(step.info.update_binding, updated, place):
            yield from fault
            yield from _key_faults(key, key in variables or key in own, place)
            if not (value in computed or value in results) or not value:
                message = f"{quote(key)} is bound to {quote(value)}, no output of the algorithm or of the main graph"
                yield Finding("G705", message, place, _WHY_VALUE, "name an output of one of these graphs")


_WHY_VALUE = "a variable takes its new value from an output"


def _keys(bindings: Any, bound: set[Any], place: str) -> Iterator[tuple[Any, Any, list[Finding]]]:
    """Yield (key, value, findings) for each binding; there is one finding (G703) if the key is in `bound`, else none.

    Each key is added to `bound`.
    """
    for entry in bindings:
        fault = []
        if entry.key in bound:
            message = f"the variable {quote(entry.key)} is bound twice"
            why = "a variable is assigned at most once, so that the order of bindings does not matter"
            fault = [Finding("G703", message, place, why, "keep the binding that is meant")]
        bound.add(entry.key)
        yield entry.key, entry.value, fault


def _key_faults(key: Any, known: bool, place: str) -> Iterator[Finding]:
    """Yield a finding (G704) if the key of a binding is "", or not `known` as an initializer."""
    if not known or not key:
        message = f"{quote(key)} is bound, and is no initializer of the main graph or of the algorithm"
        help = "add the initializer; an input cannot be a variable without one"
        yield Finding("G704", message, place, "variables start as initializers", help)


@CHECKER.rule("G706 G707", CheckContext, since=7)
def check_combined_graph(context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each name that has two meanings if the main graph and an algorithm run as one graph.

    - G706: both define a value of the name; an input of one and an initializer of the other are one value;
    - G707: both state a type of it in value_info.
    """
    steps = [step.algorithm for step in _steps(context) if step.algorithm is not None]
    if not steps:
        return
    main = context.main.definitions
    inputs, initializers = {*context.main.input_names()}, _initializers(context.main)
    stated = {value.name for value in context.proto.graph.value_info}
    for algorithm in steps:
        own_inputs, own_initializers = {*algorithm.input_names()}, _initializers(algorithm)
        for name, index in algorithm.definitions.items():
            if name not in main or not name:
                continue
            is_computed = index >= 0 or main[name] >= 0
            both = (name in inputs and name in own_inputs) or (name in initializers and name in own_initializers)
            if is_computed or both:
                place = algorithm.location(index) if index >= 0 else algorithm.label
                message = f"the algorithm defines {quote(name)}, and so does the main graph"
                why = "both run as one graph, in which a name stands for one value"
                help = "rename it, or remove it from the algorithm, which may use the values of the main graph"
                yield Finding("G706", message, place, why, help)
        for value in algorithm.proto.value_info:
            if value.name in stated:
                message = f"the value_info of {quote(value.name)} stands in the algorithm and in the main graph"
                why = "both are one graph, which states the type of a value once"
                yield Finding("G707", message, algorithm.label, why, "remove it from the algorithm")


@CHECKER.rule("G711 G712 G713 G714", Body, since=5)
def check_annotations(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each quantization annotation of a graph that cannot be followed.

    - G711: the tensor that it is about does not exist;
    - G712: a scale or zero point that it names does not exist; tensors of other keys are not checked;
    - G713: an earlier annotation is about the same tensor;
    - G714: a key stands twice.
    """
    seen: set[Any] = set()
    for annotation in body.proto.quantization_annotation if not body.function else ():
        name = annotation.tensor_name
        place = f"{body.label}, quantization_annotation {quote(name)}"
        if not name or not _is_defined(name, body):
            message = f"the tensor {quote(name)} is annotated, and does not exist" if name else "it names no tensor"
            help = "remove the annotation, or name the tensor that is quantized"
            yield Finding("G711", message, place, "an annotation is about a value of its graph", help)
        elif name in seen:
            why = "which of two scales holds would be open"
            message = f"the tensor {quote(name)} is annotated twice"
            yield Finding("G713", message, place, why, "keep the annotation that is meant")
        seen.add(name)
        counts = Counter(entry.key for entry in annotation.quant_parameter_tensor_names)
        for key, count in counts.items():
            if count > 1:
                message = f"the key {quote(key)} stands {count:,} times"
                yield Finding("G714", message, place, "a reader may take either tensor", "keep the one that is meant")
        for entry in annotation.quant_parameter_tensor_names:
            if entry.key in QUANTIZATION_KEYS and not (entry.value and _is_defined(entry.value, body)):
                message = f"{quote(entry.value)}, the {entry.key} of {quote(name)}, does not exist"
                yield Finding("G712", message, place, "it names a value of its graph", "name the tensor with it")


@CHECKER.rule("W701", Body, severity=WARNING, since=5)
def check_annotation_keys(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for the first annotation with each key that is neither SCALE_TENSOR nor ZERO_POINT_TENSOR."""
    seen: set[Any] = {*QUANTIZATION_KEYS}
    for annotation in body.proto.quantization_annotation if not body.function else ():
        for entry in annotation.quant_parameter_tensor_names:
            if entry.key not in seen:
                seen.add(entry.key)
                place = f"{body.label}, quantization_annotation {quote(annotation.tensor_name)}"
                message = f"the key {quote(entry.key)} of an annotation is not known"
                why = f"the specification names {' and '.join(QUANTIZATION_KEYS)}, and others mean nothing to readers"
                yield Finding("W701", message, place, why, "use one of these, or put the fact into metadata_props")


def _steps(context: CheckContext) -> list[_Step]:
    """Return the entries of training_info, in order, with their places and graphs."""
    graphs = {body.name: body for body in context.bodies}
    places = [(f"training_info[{number}]", info) for number, info in enumerate(context.proto.training_info)]
    return [
        _Step(place, info, graphs.get(f"{place}.initialization"), graphs.get(f"{place}.algorithm"))
        for place, info in places
    ]


def _initializers(body: Body) -> set[Any]:
    """Return the names of a graph's initializers, dense and sparse."""
    dense = {tensor.name for tensor in body.proto.initializer}
    return dense | {sparse.values.name for sparse in body.proto.sparse_initializer}


def _is_defined(name: Any, body: Body | None) -> bool:
    """Return whether a body, or a graph around it, defines a value."""
    while body is not None:
        if name in body.definitions:
            return True
        body = body.parent
    return False


def _is_defined_inside(name: Any, body: Body) -> bool:
    """Return whether a body defines a value, or a graph around it up to the outermost below the main graph."""
    while name not in body.definitions:
        if body.owner is None or body.parent is None:
            return False
        body = body.parent
    return True
