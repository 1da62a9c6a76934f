"""Called as onnx.reference: a ReferenceEvaluator of models, graphs, functions and nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from opset.compat.onnx.messages import convert_message, name_of
from opset.errors import Finding, RunError, UsageError, quote
from opset.model import load
from opset.model import proto as pb
from opset.model.attributes import fill_attribute
from opset.opsets.registry import default_registry
from opset.opsets.releases import newest_ir_version
from opset.reference.engine import evaluator
from opset.reference.value_info import value_info_of
from opset.reference.values import fit_value
from opset.tensor_io.statistics import summarize, summary_lines

__all__ = ["ReferenceEvaluator"]

_SUMMARIES, _VALUES = 2, 4
"""The least `verbose` with which a run prints a line for each computed value, and small values whole."""


class ReferenceEvaluator:
    """Computes the outputs of a model, graph, function or node with the reference kernels of opset.

    `input_names`, `output_names`, `input_types` and `output_types` describe the model, `opsets` is its versions by
    domain, `proto_` the message that was given.
    """

    def __init__(
        self,
        proto: Any,
        opsets: dict[str, int] | None = None,
        functions: list[Any] | None = None,
        verbose: int = 0,
        new_ops: list[type[Any]] | None = None,
        check_shape_annotations: bool = False,
    ) -> None:
        """Read a model and prepare its runs.

        Args:
            proto: A ModelProto, GraphProto, FunctionProto or NodeProto; a path or bytes of a model, or an opset.Model.
            opsets: The versions of a GraphProto, or of a NodeProto.
            functions: The FunctionProtos, or evaluators of them, that a graph or function calls.
            verbose: 2 prints a line for each value as it is computed, 4 small values as well.
            new_ops: Not taken: kernels stand beside the YAML of their domain.
            check_shape_annotations: Whether computed values are compared with the types and shapes that are stated.

        Raises:
            ModelError: The model is malformed.
            UsageError: U103 if arguments do not fit each other, or with `new_ops`.
        """
        if new_ops:
            help = "put them beside the YAML of their domain, and give its folder: opset.ReferenceEvaluator(schemas=…)"
            raise UsageError(Finding("U103", "operators of onnx's class OpRun are not taken", help=help))
        self.proto_ = proto
        self.verbose = verbose
        self._checks_shapes = check_shape_annotations
        added = [each.proto_ if isinstance(each, ReferenceEvaluator) else each for each in functions or ()]
        kind = name_of(proto)
        if kind in _MODELS:
            self._model = load(_MODELS[kind](proto, opsets, added))
        elif opsets is None and functions is None:
            self._model = load(proto)
        else:
            help = "give them for a graph, a function or a node"
            raise UsageError(Finding("U103", "a model has its own opsets and functions", help=help))
        self._evaluator = self._evaluator_of(self._model)

    def _evaluator_of(self, model: Any) -> evaluator.ReferenceEvaluator:
        return evaluator.ReferenceEvaluator(model, trace=self._print_value if self.verbose >= _SUMMARIES else None)

    def _print_value(self, place: str, name: str, value: Any) -> None:
        lines = summary_lines(name, summarize(value))
        print(f"{place}: {lines[0]}", *(lines[1:] if self.verbose >= _VALUES else ()), sep="\n")

    @property
    def input_names(self) -> list[str]:
        """Names of all inputs, in order."""
        return [value.name for value in self._model.proto.graph.input]

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs, in order."""
        return [value.name for value in self._model.proto.graph.output]

    @property
    def input_types(self) -> list[Any]:
        """TypeProtos of all inputs, in order."""
        return [value.type for value in self._model.proto.graph.input]

    @property
    def output_types(self) -> list[Any]:
        """TypeProtos of the outputs, in order."""
        return [value.type for value in self._model.proto.graph.output]

    @property
    def opsets(self) -> dict[str, int]:
        """Versions of operator sets by domain."""
        return {each.domain: each.version for each in self._model.proto.opset_import}

    def run(
        self,
        output_names: Sequence[str] | None,
        feed_inputs: Mapping[str, Any],
        attributes: Mapping[str, Any] | None = None,
        intermediate: bool = False,
        check_shape_annotations: bool | None = None,
    ) -> dict[str, Any] | list[Any]:
        """Return the outputs, or the values that `output_names` names, computed from inputs by name.

        Args:
            output_names: Names of the values to compute, None for all outputs.
            feed_inputs: Values of the inputs by name.
            attributes: The attributes of a FunctionProto's call, by name: numbers, texts, messages or lists of these.
            intermediate: Whether all values of the main graph are returned, by name.
            check_shape_annotations: As of the constructor, for this run.

        Raises:
            RunError: The inputs do not fit, a node failed, or a value is not of its stated type or shape.
            UsageError: U103 for attributes of anything but a function.
        """
        runner = self._with_attributes(attributes) if attributes else self._evaluator
        wanted = [*(self.output_names if output_names is None else output_names)]
        checks = self._checks_shapes if check_shape_annotations is None else check_shape_annotations
        names = {*wanted, *(_names_in(runner.model.proto.graph) if checks or intermediate else ())}
        values = dict(zip(names, runner.run([*names], feed_inputs), strict=True))
        if checks:
            _check_stated_types(runner.model.proto.graph, values)
        return values if intermediate else [values[name] for name in wanted]

    def _with_attributes(self, attributes: Mapping[str, Any]) -> evaluator.ReferenceEvaluator:
        """Return an evaluator of a function's call with these attributes. Raises UsageError U103 for other messages."""
        if name_of(self.proto_) != "FunctionProto":
            raise UsageError(Finding("U103", "attributes are those of a function's call", help="evaluate a function"))
        model = pb.ModelProto.FromString(self._model.SerializeToString())
        for name, value in attributes.items():
            fill_attribute(model.graph.node[0].attribute.add(), name, _kind_of(value), _convert_messages(value))
        return self._evaluator_of(model)


def _new_model(opsets: Mapping[str, int], functions: Iterable[Any]) -> Any:
    """Return a ModelProto with an empty graph."""
    model = pb.ModelProto(ir_version=newest_ir_version())
    model.graph.name = "part"
    imported = {**opsets}
    for function in functions:
        model.functions.add().ParseFromString(function.SerializeToString())
        imported.setdefault(function.domain, 1)
    for domain, version in imported.items():
        model.opset_import.add(domain=domain, version=version)
    return model


def _model_of_graph(graph: Any, opsets: Mapping[str, int] | None, functions: Sequence[Any]) -> Any:
    """Return a model of a graph. Raises UsageError U103 if there are no opsets."""
    if opsets is None:
        raise UsageError(Finding("U103", "a graph has no opsets", help='give them: opsets={"": 21}'))
    model = _new_model(opsets, functions)
    model.graph.ParseFromString(graph.SerializeToString())
    return model


def _model_of_node(node: Any, opsets: Mapping[str, int] | None, functions: Sequence[Any]) -> Any:
    """Return a model with one node, at the newest opset of its domain by default."""
    newest = default_registry().domains
    model = _new_model({node.domain: newest.get(node.domain, 1)} if opsets is None else opsets, functions)
    model.graph.node.add().ParseFromString(node.SerializeToString())
    for name in dict.fromkeys(filter(None, node.input)):
        model.graph.input.add(name=name)
    for name in filter(None, node.output):
        model.graph.output.add(name=name)
    return model


def _model_of_function(function: Any, opsets: Mapping[str, int] | None, functions: Sequence[Any]) -> Any:
    """Return a model that calls a function. Raises UsageError U103 if opsets are given."""
    if opsets is not None:
        raise UsageError(Finding("U103", "a function has its own opsets", help="leave out opsets"))
    node = pb.NodeProto(op_type=function.name, domain=function.domain, overload=function.overload)
    node.input[:] = function.input
    node.output[:] = function.output
    imports = {each.domain: each.version for each in function.opset_import}
    return _model_of_node(node, imports, [*functions, function])


_MODELS = {"GraphProto": _model_of_graph, "NodeProto": _model_of_node, "FunctionProto": _model_of_function}
"""By a message's name: the function that makes a model of it."""


def _names_in(graph: Any) -> Iterator[str]:
    """Yield the names of a graph's values that a run knows."""
    yield from (value.name for value in graph.input)
    yield from (tensor.name for tensor in graph.initializer)
    yield from (name for node in graph.node for name in node.output if name)


def _check_stated_types(graph: Any, values: Mapping[str, Any]) -> None:
    """Raise RunError R103 if values are not of the types and shapes that a graph states; a variable has one size."""
    sizes: dict[str, int] = {}
    findings = []
    for stated in (*graph.input, *graph.value_info, *graph.output):
        if values.get(stated.name) is None:
            continue
        declared = value_info_of(stated)
        value, why = fit_value(values[stated.name], declared)
        for size, dim in zip(getattr(value, "shape", ()), declared.shape or (), strict=False):
            if not why and isinstance(dim, str) and sizes.setdefault(dim, size) != size:
                why = f"{dim} is {sizes[dim]} elsewhere, and {size} here"
        if why:
            findings.append(Finding("R103", f"the value {quote(stated.name)} does not fit its declaration", why=why))
    if findings:
        raise RunError(findings)


def _convert_messages(value: Any) -> Any:
    """Return the value of an attribute; a message in it, which may be of the onnx package, is one of this package."""
    if isinstance(value, (list, tuple)):
        return [*map(_convert_messages, value)]
    return convert_message(value, getattr(pb, name_of(value))) if name_of(value) else value


def _kind_of(value: Any) -> str:
    """Return the type of an attribute with a value, in the words of schemas."""
    if isinstance(value, (list, tuple)):
        return f"{_kind_of(value[0]) if value else 'int'}s"
    kinds = {"TensorProto": "tensor", "GraphProto": "graph", "SparseTensorProto": "sparse_tensor"}
    if name_of(value) in kinds:
        return kinds[name_of(value)]
    return "float" if isinstance(value, float) else "string" if isinstance(value, (str, bytes)) else "int"
