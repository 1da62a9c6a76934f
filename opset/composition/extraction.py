"""Extraction: the part of a model that computes some values from others, as a model of its own.

    extract("model.onnx", ["a", "b"], ["y"]).save("part.onnx")
    extract("model.onnx", outputs=["y"], function="com.example.Scale")
    extract("model.onnx", add_outputs=["inner"])

A part is cut out of one body: the main graph, a graph in a node, or a function. It has the nodes that its outputs need,
the initializers, functions and imports that these need, and their names. Weights are not read. Nothing recurses, and
the work is linear in the model's size.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from opset.budget import ALLOW_MORE, BudgetExceeded, Limits
from opset.composition.renaming import GRADIENT, gradient_names
from opset.errors import ConversionError, Finding, FindingList, InferenceError, UsageError, listing, quote
from opset.file_names import list_paths
from opset.inference.building.types import fill_proto, type_from_proto, type_to_proto
from opset.inference.building.work import default_budget
from opset.inference.engine.sizes import Sizes
from opset.inference.limits import MAX_EACH, MAX_WRITTEN
from opset.model import load
from opset.model import proto as pb
from opset.model.attributes import set_value
from opset.model.features import body_features
from opset.model.graph.index import Body, FreshNames, FunctionKey, ModelIndex, bodies_below, normalize_domain
from opset.model.graph.walking import function_key, subgraphs
from opset.model.storage.container import Model
from opset.model.strings import set_string
from opset.opsets.registry import Registry, Schemas, registry_with
from opset.options import checked_options
from opset.preparation import read_model
from opset.schemas.names import near_miss
from opset.version_converter.calls import function_label
from opset.version_converter.inlining import functions_by_name
from opset.version_converter.lazy_inference import LazyInference
from opset.version_converter.replacement import set_entries

Names = str | Iterable[str] | None
"""Names of values: several, or one text in which commas separate them."""


class Wanted(NamedTuple):
    """A part that is asked for.

    - `inputs`, `outputs`: names of values; None for those that the outputs need, and for all outputs of the body;
    - `add_outputs`: names of values that the whole model gets as outputs, in place of a part;
    - `graph`, `function`: the path of a body, and the name of a function, in which the values are.
    """

    inputs: Names = None
    outputs: Names = None
    add_outputs: Names = ()
    graph: str = ""
    function: str = ""


@dataclass
class Extraction:
    """A part of a model: the graph or function it is from, its inputs and outputs, how many nodes it has, and notes.

    `types` has the types of inputs and outputs as text; `functions` are labels of the functions that it calls.
    """

    model: Model
    body: str
    inputs: list[str]
    outputs: list[str]
    nodes: int
    nodes_before: int
    types: dict[str, str]
    functions: list[str]
    notes: list[str]


@checked_options
def extract(
    model: Any,
    inputs: Names = None,
    outputs: Names = None,
    *,
    add_outputs: Names = (),
    graph: str = "",
    function: str = "",
    schemas: Schemas = (),
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
) -> Any:
    """Return the part of a model that computes some values from others; the given model is not touched.

    Args:
        model: A path, bytes, an opset.Model, or a ModelProto of the onnx package.
        inputs: Names of values that become the inputs; without them, the outputs decide. Values of a graph around are
            inputs as well, and its initializers come along.
        outputs: Names of values that become the outputs; without them, the graph's or function's own.
        add_outputs: Names of values of the main graph that become outputs of the whole model, which stays as it is.
        graph: The path of the graph that has the values, as messages show it, or the end of that path. It is needed
            only if several graphs have the values, and the main graph does not.
        function: The name of a function that has the values.
        schemas: Folders of operator YAML, for domains of your own.
        allow_external_roots: Folders outside the model's own from which external data may be read.
        limits: How much the inference of types may do; without them, that is in proportion to the model.

    Returns:
        A ModelProto of the onnx package for one, else an opset.Model.

    Raises:
        ConversionError: C601 if the inputs do not determine the outputs, C602 if the part has no certain meaning.
        InferenceError: I401 if `limits` do not suffice.
        ModelError: The model is malformed.
        UsageError: U103 if no value has one of the names, or the list of outputs is empty.
    """
    loaded = load(model, allow_external_roots=list_paths(allow_external_roots))
    wanted = Wanted(_once(inputs), _once(outputs), _once(add_outputs), graph, function)
    return extract_part(loaded, wanted, registry_with(schemas), limits).model.as_given()


def extract_part(model: Model, wanted: Wanted, registry: Registry, limits: Limits | None = None) -> Extraction:
    """Return the part of a model that is asked for; the model itself is not touched.

    Raises:
        ConversionError, InferenceError, ModelError, UsageError: As `extract` does.
    """
    model, index = read_model(model, registry)
    index.call_order()
    budget = default_budget(model.proto.ByteSize(), limits) if limits is not None and limits.as_dict() else None
    inference = LazyInference(model, index, registry, budget)
    added = _list_names(wanted.add_outputs, index.main.definitions)
    try:
        if added:
            if wanted != Wanted(add_outputs=wanted.add_outputs):
                message = "outputs are added to the whole model, and not to a part"
                raise UsageError(Finding("U103", message, help="extract the part first, or leave out --add-output"))
            return _with_outputs(model, index, inference, added)
        if wanted == Wanted(add_outputs=wanted.add_outputs):
            help = "name outputs, inputs, or both: --inputs a,b --outputs y"
            raise UsageError(Finding("U103", "no part is named", help=help))
        if wanted.outputs is not None and not _list_names(wanted.outputs, ()):
            help = "name values, or leave the list out: the outputs are those of the graph then"
            raise UsageError(Finding("U103", "the list of outputs is empty", help=help))
        body, inputs, outputs = _find_body(index, wanted)
        return _Cut(model, index, inference, body, inputs, outputs).extraction()
    except BudgetExceeded as exhausted:
        finding = Finding("I401", "the inference was stopped", why=exhausted.why, help=ALLOW_MORE)
        raise InferenceError(finding) from None


def _once(names: Names) -> Names:
    """Return names that may be read more than once."""
    return names if names is None or isinstance(names, str) else [*names]


def _list_names(names: Names, known: Collection[str]) -> list[str]:
    """Return names, each once; a text that is no known name may hold several, with commas between them."""
    texts = [names] if isinstance(names, str) else [*(names or ())]
    found = [name for text in texts for name in ([text] if text in known else map(str.strip, text.split(",")))]
    return [*dict.fromkeys(filter(None, found))]


def _find_body(index: ModelIndex, wanted: Wanted) -> tuple[Body, list[str] | None, list[str]]:
    """Return the body that is asked for, and the names of inputs and outputs in it.

    Raises:
        UsageError: U103 if no body has the values, or several have them.
    """
    candidates = [body for body in index.bodies if body.root is index.main or body.root.function]
    if wanted.function:
        keys = functions_by_name(index)[wanted.function]
        candidates = [body for body in candidates if body.root.function and function_key(body.root.proto) in keys]
    if wanted.graph:
        path = wanted.graph
        candidates = [body for body in candidates if body.label == path or body.label.endswith(f", {path}")]
        if not candidates:
            labels = listing([body.label for body in index.bodies], 5)
            raise UsageError(Finding("U103", f"the model has no graph {quote(path)}", help=f"there are: {labels}"))
    found = []
    for body in candidates:
        inputs = _list_names(wanted.inputs, body.definitions) if wanted.inputs is not None else None
        outputs = _list_names(wanted.outputs, body.definitions) if wanted.outputs is not None else body.output_names()
        found.append((body, inputs, outputs))
        if not _unknown_names(*found[-1]) and (body is index.main or (wanted.function and body.root is body)):
            return found[-1]
    fitting = [each for each in found if not _unknown_names(*each)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        labels = _labels_text([body for body, _, _ in fitting], 5)
        message = "several graphs have values of these names"
        raise UsageError(Finding("U103", message, why=labels, help="name one: --graph PATH, or --function NAME"))
    raise _unknown_error(index, found)


def _unknown_names(body: Body, inputs: Collection[str] | None, outputs: Collection[str]) -> list[str]:
    """Return the names that a body does not have: inputs may be values around it, outputs have to be its own."""
    unknown = [name for name in outputs if name not in body.definitions]
    return unknown + [name for name in inputs or () if name not in body.definitions and not _definition(name, body)]


def _labels_text(bodies: Sequence[Body], most: int) -> str:
    """Return the labels of the first bodies of many for a message; commas are part of them."""
    shown = "; ".join(body.label for body in bodies[:most])
    return shown if len(bodies) <= most else f"{shown}; and {len(bodies) - most:,} more"


def _unknown_error(index: ModelIndex, found: list[tuple[Body, list[str] | None, list[str]]]) -> UsageError:
    """Return the error for names that no candidate has: about those that the one with the fewest unknown lacks."""
    unknown = min((_unknown_names(*each) for each in found), key=len, default=[])
    findings = FindingList()
    for name in unknown:
        homes = [body for body in index.bodies if name in body.definitions]
        why = f"it is a value of {_labels_text(homes, 3)}" if homes else ""
        known = (each for body, _, _ in found for each in body.definitions)
        message = f"there is no value {quote(name)}" + " beside the others" * bool(homes)
        findings.append(
            Finding("U103", message, why=why, help=near_miss(name, known) or "opset infer --values lists the values")
        )
    return UsageError(findings)


class _Definition(NamedTuple):
    """A value around a body: the body that defines it, and the index of the node that computes it, -1 if none does."""

    body: Body
    position: int


def _definition(name: str, body: Body) -> _Definition | None:
    """Return the definition of a value that a body sees around it, None if there is none."""
    while body.parent is not None:
        limit = body.index
        body = body.parent
        if (position := body.definitions.get(name, limit)) < limit:
            return _Definition(body, position)
    return None


def _initializers(body: Body) -> Mapping[str, Any]:
    """Return the TensorProtos and SparseTensorProtos that a body holds, by name."""
    if body.function:
        return {}
    held = {tensor.name: tensor for tensor in body.proto.initializer}
    return held | {sparse.values.name: sparse for sparse in body.proto.sparse_initializer}


def _with_outputs(model: Model, index: ModelIndex, inference: LazyInference, names: list[str]) -> Extraction:
    """Return the whole model with further outputs. Raises UsageError U103 for an unknown name, ConversionError C602."""
    body = index.main
    if unknown := [name for name in names if name not in body.definitions]:
        error = _unknown_error(index, [(body, [], unknown)])
        if any(finding.why for finding in error.findings):
            help = (
                "extract from that graph, --outputs NAME, or put a function's nodes in place of its calls: opset inline"
            )
            raise UsageError(finding._replace(help=help) if finding.why else finding for finding in error.findings)
        raise error
    notes = [*index.notes]
    present = {*body.output_names()}
    if repeated := [name for name in names if name in present]:
        notes.append(f"outputs before: {listing(repeated)}")
    names = [name for name in names if name not in present]
    message = pb.ModelProto()
    message.CopyFrom(model.proto)
    graph = message.graph
    values = _ExtractedValues(body, inference)
    outputs = [values.output(name) for name in names]
    values.raise_faults()
    graph.output.extend(outputs)
    set_entries(graph.value_info, [value for value in graph.value_info if value.name not in names])
    _raise_ir_version(message, outputs, notes)
    count = len(body.nodes)
    result = model.with_proto(message, changed=bool(names))
    return Extraction(result, body.label, [], names, count, count, values.types, [], notes)


def _raise_ir_version(message: Any, values: Iterable[Any], notes: list[str]) -> None:
    """Raise the IR version of a ModelProto if it has no inputs or outputs of the types of these values."""
    graph = pb.GraphProto(output=values)
    needed = [each for each, _ in body_features(Body(graph, ""), message.ir_version) if not each.is_annotation]
    if needed:
        highest = max(needed)
        notes.append(f"the IR version is {highest.ir_version}, not {message.ir_version}, because of: {highest.name}")
        message.ir_version = highest.ir_version


class _ExtractedValues:
    """The ValueInfoProtos of values of a body, with inferred types; values without a type are faults."""

    def __init__(self, body: Body, inference: LazyInference) -> None:
        self._body, self._inference = body, inference
        self._sizes = Sizes({})
        self.types: dict[str, str] = {}
        self._faults = FindingList()

    @cached_property
    def _infos(self) -> dict[str, Any]:
        """The ValueInfoProtos of the body, by name."""
        proto = self._body.proto
        values = [*proto.value_info]
        return {value.name: value for value in (values if self._body.function else [*values, *proto.output])}

    @cached_property
    def _outputs(self) -> set[str]:
        """The names of the body's outputs."""
        return {*self._body.output_names()}

    @cached_property
    def _formal(self) -> dict[str, Any]:
        """The ValueInfoProtos of the body's inputs, by name."""
        return {} if self._body.function else {value.name: value for value in self._body.proto.input}

    def input(self, name: str) -> Any:
        """Return the ValueInfoProto of an input of a part; a main graph's own input is as it was."""
        if name in self._formal and self._body.parent is None:
            return self._make_value(name, self._formal[name], overwrite=False)
        # Only the sizes of a model's inputs are certain: others may date from another batch size.
        return self._make_value(name, self._formal.get(name) or self._infos.get(name), overwrite=True)

    def output(self, name: str) -> Any:
        """Return the ValueInfoProto of an output of a part; a main graph's own output is as it was."""
        own = self._body.parent is None and name in self._outputs
        return self._make_value(name, self._infos.get(name) or self._formal.get(name), overwrite=not own)

    def _make_value(self, name: str, stated: Any, overwrite: bool) -> Any:
        """Return a copy of a ValueInfoProto, or a new one, with the type of a value; note a fault if it has none."""
        value = pb.ValueInfoProto()
        if stated is not None:
            value.CopyFrom(stated)
        value.name = name
        type_ = self._inference.type(self._body, name)
        if type_ is not None:
            fill_proto(value.type, type_, overwrite)
        whole = type_from_proto(value.type, self._sizes.read_dimension)
        if whole is None or whole.text is None:
            help = "state its type in value_info, give the YAML of its operator (--schemas), or cut at another value"
            message = f"the type of {quote(name)} is not known, and an input or output needs one"
            self._faults.append(Finding("C602", message, self._body.label, help=help))
        else:
            self.types[name] = str(whole)
        return value

    def raise_faults(self) -> None:
        """Raise ConversionError C602 if a value has no type."""
        if self._faults:
            raise ConversionError(self._faults)

    def complete(self, names: Collection[str]) -> tuple[list[Any], int]:
        """Return the value_info of computed values, and the number of types that are too large to be written."""
        room = MAX_WRITTEN + MAX_EACH * len(names)
        values, left_out = [], 0
        for name in names:
            value, type_ = pb.ValueInfoProto(name=name), self._inference.type(self._body, name)
            if name in self._infos:
                value.CopyFrom(self._infos[name])
            if type_ is not None and type_.text is not None:
                proto = type_to_proto(type_)
                room -= proto.ByteSize()
                if room < 0:
                    left_out += 1
                else:
                    fill_proto(value.type, type_, False)
            if value.type.WhichOneof("value"):
                values.append(value)
        return values, left_out


class _Cut:
    """One cut of a body: the nodes that the outputs need, and the model of them."""

    def __init__(
        self,
        model: Model,
        index: ModelIndex,
        inference: LazyInference,
        body: Body,
        inputs: list[str] | None,
        outputs: list[str],
    ) -> None:
        self._model, self._index, self._body = model, index, body
        self._asked, self._outputs = inputs, outputs
        self._values = _ExtractedValues(body, inference)
        self._notes = [*index.notes]
        self._held = _initializers(body)
        self._nodes: list[int] = []
        self._constants: dict[str, Any] = {}
        """The initializers that the part has, by name: of the body, and of those around it."""
        self._inputs: list[str] = []
        self._computed: dict[str, None] = {}
        self._around: dict[Body, tuple[Mapping[str, Any], Container[str]]] = {}

    def extraction(self) -> Extraction:
        """Return the part."""
        self._collect()
        message = self._message()
        functions = self._set_functions(message)
        self._set_imports(message, functions)
        self._values.raise_faults()
        graph = message.graph
        _raise_ir_version(message, [*graph.input, *graph.output], self._notes)
        labels = [function_label(function_key(function.proto)) for function in functions]
        counts = len(self._nodes), len(self._body.nodes)
        result = self._model.with_proto(message, changed=True)
        return Extraction(
            result, self._body.label, self._inputs, self._outputs, *counts, self._values.types, labels, self._notes
        )

    @cached_property
    def _free(self) -> dict[Body, dict[str, None]]:
        """The values around each graph in a node that the graph, or a graph in it, uses."""
        free: dict[Body, dict[str, None]] = {}
        for body in reversed(bodies_below(*self._body.inner_bodies)):
            names = dict.fromkeys(name for reads in body.reads for name in reads if name)
            names.update(dict.fromkeys(filter(None, body.output_names())))
            for inner in body.inner_bodies:
                names.update(free[inner])
            free[body] = {name: None for name in names if name not in body.definitions}
        return free

    @cached_property
    def _inner_bodies(self) -> list[Body]:
        """The graphs in nodes of the part."""
        nodes = {*self._nodes}
        return [each for each in self._body.inner_bodies if each.index in nodes]

    def _collect(self) -> None:
        """Find the nodes, initializers and inputs that the outputs need. Raises ConversionError C601."""
        body, definitions = self._body, self._body.definitions
        cut = {*(self._asked or ())}
        given: dict[str, str] = {}
        nodes: set[int] = set()
        pending = [(name, name) for name in reversed(self._outputs)]
        inner: dict[int, list[Body]] = {}
        for each in body.inner_bodies:
            inner.setdefault(each.index, []).append(each)
        seen = set(cut)
        while pending:
            name, output = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            position = definitions.get(name, -1)
            if position < 0:
                given[name] = output
            elif position not in nodes:
                nodes.add(position)
                needed = [name for name in body.reads[position] if name]
                needed += [name for each in inner.get(position, ()) for name in self._free[each]]
                if body.operators[position] == GRADIENT:
                    needed += self._names_of_gradient(position)
                pending += [(name, output) for name in reversed(needed)]
        self._nodes = sorted(nodes)
        self._computed = dict.fromkeys(
            name for index in self._nodes for name in body.computes[index] if name and name not in cut
        )
        self._divide(given)

    def _names_of_gradient(self, position: int) -> list[str]:
        """Return the values that a Gradient names. Raises ConversionError C602 if the part may lack nodes."""
        if self._asked is not None:
            message = "a gradient is of the nodes between values of the whole model"
            help = "leave out --inputs, so that the part has all nodes before it"
            raise ConversionError([Finding("C602", message, self._body.location(position), help=help)])
        return [name for name in gradient_names(self._body.nodes[position]) if name in self._body.definitions]

    def _divide(self, given: Mapping[str, str]) -> None:
        """Collect the initializers and inputs of the part from the values that no node of it computes."""
        body = self._body
        formal = {*body.input_names()}
        around: list[str] = []
        missing: list[tuple[str, str]] = []
        overridable: list[str] = []
        for name, output in given.items():
            if name in self._held:
                self._constants[name] = self._held[name]
            elif name in formal:
                missing.append((name, output))
            else:
                found = _definition(name, body)
                held, listed = ({}, {}) if found is None else self._constants_of(found.body)
                if name not in held:
                    around.append(name)
                else:
                    self._constants[name] = held[name]
                    if name in listed:
                        overridable.append(name)
        if self._asked is not None and missing:
            raise ConversionError(
                Finding(
                    "C601",
                    f"the output {quote(output)} needs {quote(name)}, which the inputs do not determine",
                    body.label,
                    help="add it to --inputs, or a value between the two, or leave out --inputs",
                )
                for name, output in missing
            )
        own = [name for name in body.input_names() if name in self._constants]
        self._keep_annotated()
        if self._asked is None:
            needed = {name for name, _ in missing} | {*own}
            self._inputs = [name for name in body.input_names() if name in needed] + around + overridable
        else:
            self._inputs = [*self._asked, *around, *own, *overridable]
            used = {name for index in self._nodes for name in body.reads[index]} | {*self._outputs}
            used.update(name for each in self._inner_bodies for name in self._free[each])
            if idle := [name for name in self._asked if name not in used]:
                self._notes.append(f"inputs that the outputs do not need: {listing(idle)}")
        if around:
            self._notes.append(f"values of graphs around, which are inputs now: {listing(around)}")

    def _constants_of(self, body: Body) -> tuple[Mapping[str, Any], Container[str]]:
        """Return the initializers of a body around, and the names of its inputs."""
        if body not in self._around:
            self._around[body] = _initializers(body), {*body.input_names()}
        return self._around[body]

    def _keep_annotated(self) -> None:
        """Keep the initializers that quantization annotations of the part's values name."""
        names = {*self._computed, *self._constants}
        for annotation in () if self._body.function else self._body.proto.quantization_annotation:
            if annotation.tensor_name in names:
                for entry in annotation.quant_parameter_tensor_names:
                    if entry.value in self._held:
                        self._constants.setdefault(entry.value, self._held[entry.value])

    def _message(self) -> Any:
        """Return the ModelProto of the part, still with all functions and imports of the model."""
        body = self._body
        message = pb.ModelProto()
        message.CopyFrom(self._model.proto)
        graph = message.graph
        if body.function:
            graph.Clear()
            set_string(graph, "name", body.proto.name)
            if body.proto.doc_string:
                set_string(graph, "doc_string", body.proto.doc_string)
            graph.metadata_props.extend(body.proto.metadata_props)
            graph.node.extend(body.proto.node)
        elif body is not self._index.main:
            graph.CopyFrom(body.proto)
        if message.training_info:
            message.ClearField("training_info")
            self._notes.append("training graphs are left out: they belong to the whole model")
        set_entries(graph.node, [graph.node[index] for index in self._nodes])
        self._rename_cut(graph)
        if body.root.function:
            self._bind_attributes(graph)
        outputs = {*self._outputs}
        values, left_out = self._values.complete([name for name in self._computed if name not in outputs])
        if left_out:
            self._notes.append(f"{left_out:,} types are not written: together they are too large")
        set_entries(graph.value_info, values)
        set_entries(graph.input, [self._values.input(name) for name in self._inputs])
        set_entries(graph.output, [self._values.output(name) for name in self._outputs])
        sparse = [each for each in self._constants.values() if each.DESCRIPTOR.name == "SparseTensorProto"]
        dense = [each for each in self._constants.values() if each.DESCRIPTOR.name == "TensorProto"]
        # In the order of the model; those of graphs around come last.
        set_entries(graph.initializer, _sort_by_place(dense, graph.initializer, lambda tensor: tensor.name))
        set_entries(
            graph.sparse_initializer, _sort_by_place(sparse, graph.sparse_initializer, lambda each: each.values.name)
        )
        known = {*self._inputs, *self._computed, *self._constants}
        kept = [
            annotation
            for annotation in graph.quantization_annotation
            if annotation.tensor_name in known
            and all(entry.value in known for entry in annotation.quant_parameter_tensor_names)
        ]
        set_entries(graph.quantization_annotation, kept)
        return message

    def _rename_cut(self, graph: Any) -> None:
        """Rename those outputs of nodes that are inputs of the part: the nodes compute other values that it needs."""
        cut, names = {*(self._asked or ())}, None
        for node in graph.node:
            if not cut.isdisjoint(node.output):
                names = names or FreshNames(self._index.bodies)
                node.output[:] = [names.fresh(name) if name in cut else name for name in node.output]

    def _bind_attributes(self, graph: Any) -> None:
        """Set the values of a function's attributes in its nodes. Raises ConversionError C602 if calls differ."""
        values: dict[str, Any] = {}
        faults = FindingList()
        pending = [graph.node]
        while pending:
            for node in pending.pop():
                absent = []
                for position, attribute in enumerate(node.attribute):
                    name = attribute.ref_attr_name
                    if not name:
                        continue
                    if name not in values:
                        values[name] = self._attribute_value(name)
                    if values[name] is False:
                        message = f"the value of the function's attribute {quote(name)} is not certain"
                        why = "calls give it different values, or one that depends on the call of another function"
                        why = why if self._calls else "nothing calls the function, and the attribute has no default"
                        help = "put the function's nodes in place of its calls first: opset inline"
                        faults.append(Finding("C602", message, self._body.label, why, help))
                    elif values[name] is None:
                        absent.append(position)
                    else:
                        set_value(attribute, values[name])
                for position in reversed(absent):
                    del node.attribute[position]
                pending += [inner.node for _, inner in subgraphs(node)]
        if faults:
            raise ConversionError({finding.message: finding for finding in faults}.values())

    @cached_property
    def _calls(self) -> list[Any]:
        """The nodes that call the function of the body."""
        key = function_key(self._body.root.proto)
        bodies = self._index.bodies
        return [node for body in bodies for node in body.nodes if node.op_type == key[1] and function_key(node) == key]

    def _attribute_value(self, name: str) -> Any:
        """Return the AttributeProto that all calls of the function have, None if none has it, False if they differ."""
        default = next((each for each in self._body.root.proto.attribute_proto if each.name == name), None)
        found: dict[bytes, Any] = {}
        for call in self._calls:
            value = next((each for each in call.attribute if each.name == name), default)
            if value is not None and value.ref_attr_name:
                return False
            found[b"" if value is None else value.SerializeToString()] = value
        if not self._calls:
            return False if default is None else default
        return next(iter(found.values())) if len(found) == 1 else False

    def _set_functions(self, message: Any) -> list[Body]:
        """Leave only those functions in a ModelProto that the part calls; return their bodies."""
        pending = [(self._body, self._nodes)]
        pending += [(body, [*range(len(body.nodes))]) for body in bodies_below(*self._inner_bodies)]
        needed: set[FunctionKey] = set()
        while pending and self._index.functions:
            body, nodes = pending.pop()
            for key in {body.function_key(index) for index in nodes} & self._index.functions.keys() - needed:
                needed.add(key)
                pending += [(each, [*range(len(each.nodes))]) for each in bodies_below(self._index.functions[key])]
        set_entries(message.functions, [each for each in message.functions if function_key(each) in needed])
        return [body for key, body in self._index.functions.items() if key in needed]

    def _set_imports(self, message: Any, functions: Collection[Body]) -> None:
        """Leave only those imports in a ModelProto that the part needs: of its operators and of its functions."""
        root = self._body.root
        used = {self._body.operators[index][1] for index in self._nodes}
        used.update(domain for body in bodies_below(*self._inner_bodies) for _, domain in body.operators)
        used.update(normalize_domain(body.proto.domain) for body in functions)
        given = [*(root.proto.opset_import if root.function else message.opset_import)]
        of_function = {normalize_domain(entry.domain) for entry in given}
        # A function need not import the domain of a function that it calls.
        given += [each for each in message.opset_import if normalize_domain(each.domain) not in of_function]
        kept = [entry for entry in given if normalize_domain(entry.domain) in used]
        set_entries(message.opset_import, kept or given[:1])


def _sort_by_place(entries: Iterable[Any], before: Iterable[Any], name: Callable[[Any], str]) -> list[Any]:
    """Return entries in the order that they had before, and then the others."""
    order = {name(each): position for position, each in enumerate(before)}
    return sorted(entries, key=lambda each: order.get(name(each), len(order)))
