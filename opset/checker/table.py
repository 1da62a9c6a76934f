"""The table of the checker's rules, the things that they check, and the context in which they do.

    @CHECKER.rule("G201", Body)
    def check_graph_name(body: Body, context: CheckContext) -> Iterator[Finding]: ...

A rule of severity ERROR enforces a MUST of the specification, one of severity WARNING a SHOULD. An `optional` rule runs
only if it is selected: most exporters break it, and no reader of models minds. fixtures.yaml has the section of the
specification that each code enforces, with a bad and a good example.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from opset.budget import Limits
from opset.checker.data_files import DataFiles
from opset.errors import Finding, ModelError, NodeLocation, quote, safe_text
from opset.inference.engine.result import Inference, infer_strictly
from opset.inference.engine.scopes import Scope
from opset.model import Model
from opset.model.attributes import FIELDS
from opset.model.features import COLLECTIONS, UNLISTED, Feature, body_features, model_features
from opset.model.graph.index import Body, FunctionKey, ModelIndex, bodies, normalize_domain
from opset.model.graph.walking import function_key
from opset.opsets.registry import Registry
from opset.opsets.releases import newest_ir_version
from opset.preparation import read_model
from opset.rules import RuleTable

ERROR, WARNING = "error", "warning"
CHECKER: RuleTable[Finding] = RuleTable(
    "opset.checker.rules",
    (
        *("models", "graphs", "nodes", "functions", "tensors", "sparse_tensors", "types", "training", "devices"),
        "inferred",
    ),
    fixes=[
        f"opset.checker.fixes.{name}" for name in ("imports", "order", "names", "nodes", "types", "casts", "versions")
    ],
    severity=ERROR,
)
"""The rules of the checker."""
INPUT, OUTPUT, VALUE_INFO = "input", "output", "value_info"
INITIALIZER, SPARSE, ATTRIBUTE = "initializer", "sparse initializer", "attribute"
_TENSORS, _SPARSE_TENSORS, _TYPES = (
    tuple(FIELDS[kind][0] for kind in (word, f"{word}s")) for word in ("tensor", "sparse_tensor", "type_proto")
)
"""Numbers of the types of attributes that hold one or several of these."""


class StatedValue(NamedTuple):
    """A ValueInfoProto of a body; `role` is INPUT, OUTPUT or VALUE_INFO."""

    proto: Any
    body: Body
    role: str

    @property
    def place(self) -> str:
        """The path of the value, as messages show it."""
        return f"{self.body.label}, {self.role} {quote(self.proto.name)}"


class StatedType(NamedTuple):
    """A TypeProto that a body states one or several times.

    `holders` are (ValueInfoProto, role) for values, and (AttributeProto, index of its node) for attributes.
    """

    proto: Any
    body: Body
    holders: list[tuple[Any, str | int]]

    def places(self) -> Iterator[str]:
        """Yield the paths of the values and attributes that have the type, as messages show them."""
        for holder, where in self.holders:
            if isinstance(where, str):
                yield StatedValue(holder, self.body, where).place
            else:
                yield _place_of(self.body, where, ATTRIBUTE, holder.name)


class StoredTensor(NamedTuple):
    """A TensorProto of a body; `role` is INITIALIZER, SPARSE or ATTRIBUTE.

    `node` is the index of the node with the attribute, -1 for an initializer or the default of a function's attribute;
    `part` names the message inside it: "value", "w.indices" of a sparse tensor.
    """

    proto: Any
    body: Body
    role: str
    node: int = -1
    part: str = ""

    @property
    def place(self) -> str:
        """The path of the tensor, as messages show it."""
        return _place_of(self.body, self.node, self.role, self.part or getattr(self.proto, "name", ""))


class StoredSparseTensor(StoredTensor):
    """A SparseTensorProto of a body; it has the fields of StoredTensor."""

    def parts(self) -> Iterator[StoredTensor]:
        """Yield the tensors that hold its values and its indices; one that is missing is left out."""
        for part in ("values", "indices"):
            if self.proto.HasField(part):
                name = f"{safe_text(self.part)}.{part}"
                yield StoredTensor(getattr(self.proto, part), self.body, self.role, self.node, name)


def _place_of(body: Body, index: int, role: str, name: str) -> str:
    """Return the path of a part `name` of a body, as messages show it.

    `index` is the index of the node that has it, -1 for a part of the body itself, such as an initializer. `role` is
    the word for it.
    """
    part = f"{role} {quote(name)}"
    if index < 0:
        return f"{body.label}, {part}"
    location = body.location(index)
    return NodeLocation(f"{location}, {part}", location.at)


class Inferred(NamedTuple):
    """The types and shapes that follow in the model, which are checked last; None if its names cannot be read."""

    inference: Inference | None


class Mend(NamedTuple):
    """A change that mended something: the code of the rule, a sentence about the change, and its place."""

    code: str
    message: str
    place: str


@dataclass(frozen=True)
class CheckOptions:
    """The parts of a check that take more than the model itself.

    Attributes:
        full: Whether types and shapes are inferred, and compared with those that the model states.
        verify_checksums: Whether files of external data are read to compare their checksums.
        limits: How much the inference may take; None for as much as suits the model.
    """

    full: bool = True
    verify_checksums: bool = False
    limits: Limits | None = None


class CheckContext:
    """A model with the facts that rules look up in it, whatever is wrong with it.

    - `bodies`: all graphs and functions, each before the graphs inside it, the main graph first;
    - `functions`: the bodies of functions by domain, name and overload; of functions that have the same, the first.
    """

    def __init__(self, model: Model, registry: Registry, options: CheckOptions) -> None:
        """Read the names of a model; types are inferred only when they are asked for, and if `options.full`.

        A model that cannot be read raises nothing here: its bodies are known all the same, and nothing is inferred.
        """
        self.model, self.registry, self.options = model, registry, options
        self.proto: Any = model.proto
        self.ir_version: int = self.proto.ir_version
        self._readable: tuple[Model, ModelIndex] | None = None
        if options.full:
            with suppress(ModelError):
                readable = read_model(model, registry)
                readable[1].call_order()
                self._readable = readable
        # What reading has mended is a fault all the same: rules see the model as it is.
        as_it_is = self._readable is not None and self._readable[0] is model
        self.bodies = self._readable[1].bodies if as_it_is and self._readable else bodies(self.proto)
        self.functions: dict[FunctionKey, Body] = {}
        for body in self.bodies:
            if body.function:
                self.functions.setdefault(function_key(body.proto), body)

    @cached_property
    def data_files(self) -> DataFiles | None:
        """The files of external data, None if the model did not come from a path."""
        return DataFiles(self.model.folder) if self.model.folder is not None else None

    @property
    def is_inferable(self) -> bool:
        """Whether the types and shapes of the model can be inferred: it can be read, and `options.full` asks for it."""
        return self._readable is not None

    @cached_property
    def inference(self) -> Inference | None:
        """The inference of the model; None if nothing is inferred, or the model cannot be read."""
        if self._readable is None:
            return None
        return infer_strictly(*self._readable, self.registry, self.options.limits)

    @property
    def scopes(self) -> Sequence[Scope]:
        """The types of the values in each body, one scope for each body or call of a function, the main graph first.

        It is () if nothing was inferred, or if the inference is about a mended copy of the model.
        """
        inference = self.inference
        return inference.scopes if inference is not None and inference.model.proto is self.proto else ()

    @property
    def graph_scopes(self) -> list[Scope]:
        """The `scopes` of graphs; functions are left out."""
        return [scope for scope in self.scopes if not scope.body.root.function]

    @property
    def main(self) -> Body:
        """The main graph. It is there even if the model has none: then it is empty."""
        return self.bodies[0]

    def imports(self, body: Body) -> Mapping[str, int]:
        """Return the versions that a body imports, {domain: version}; of a domain that is imported twice, the first.

        A function has its own imports, a graph the imports of the model or function that it is in.
        """
        root = body.root
        return self._imports_of_functions[root] if root.function else self._imports_of_model

    @cached_property
    def _imports_of_model(self) -> dict[str, int]:
        """The versions that the model imports, by domain; ai.onnx 1 if there are none and the IR version is below 3."""
        return _first_imports(self.proto) or ({"": 1} if self.ir_version < 3 else {})

    @cached_property
    def _imports_of_functions(self) -> dict[Body, dict[str, int]]:
        """The versions that each function imports, by domain."""
        return {body: _first_imports(body.proto) for body in self.bodies if body.function}

    @cached_property
    def device_configurations(self) -> list[tuple[Any, Body, int]]:
        """The device configurations of nodes, as (NodeDeviceConfigurationProto, body, index of the node)."""
        return [
            (given, body, index)
            for body in self.bodies
            for index, node in enumerate(body.nodes)
            for given in node.device_configurations
        ]

    @cached_property
    def late_features(self) -> list[tuple[Feature, str]]:
        """The features that came after the model's IR version, with their places; [] if it states no version."""
        return self.features_after(self.ir_version) if self.ir_version > 0 else []

    def features_after(self, version: int) -> list[tuple[Feature, str]]:
        """Return (feature, place) for the features that the model uses and that came after an IR version.

        Of each graph or function, the first use of a feature is listed. Sequences and maps are no features in a model
        that imports ai.onnx.ml, and initializers that are no inputs are left out: a rule of their own finds them.
        """
        passed = {UNLISTED, COLLECTIONS} if "ai.onnx.ml" in self.imports(self.main) else {UNLISTED}
        late = [(feature, "model") for feature in model_features(self.proto) if feature.ir_version > version]
        for body in self.bodies if version < newest_ir_version() else ():
            seen: set[Feature] = set()
            for feature, index in body_features(body, version):
                if feature not in seen and feature.name not in passed:
                    seen.add(feature)
                    late.append((feature, body.location(index) if index >= 0 else body.label))
        return late

    def values(self) -> Iterator[StatedValue]:
        """Yield the inputs, outputs and value_info of all graphs, and the value_info of functions."""
        for body in self.bodies:
            if not body.function:
                yield from (StatedValue(each, body, INPUT) for each in body.proto.input[:])
                yield from (StatedValue(each, body, OUTPUT) for each in body.proto.output[:])
            yield from (StatedValue(each, body, VALUE_INFO) for each in body.proto.value_info[:])

    @cached_property
    def types(self) -> dict[Body, list[StatedType]]:
        """The different types that each body states, in values and attributes."""
        return {body: _types_of(body) for body in self.bodies}

    def tensors(self) -> Iterator[StoredTensor]:
        """Yield the tensors in initializers and attributes of all bodies; the parts of sparse tensors are left out."""
        for body in self.bodies:
            if not body.function:
                yield from (StoredTensor(each, body, INITIALIZER) for each in body.proto.initializer[:])
            for index, attribute in _attributes_of(body, *_TENSORS):
                if attribute.HasField("t"):
                    yield StoredTensor(attribute.t, body, ATTRIBUTE, index, attribute.name)
                for number, tensor in enumerate(attribute.tensors):
                    yield StoredTensor(tensor, body, ATTRIBUTE, index, f"{attribute.name}[{number}]")

    def sparse_tensors(self) -> Iterator[StoredSparseTensor]:
        """Yield the sparse tensors of initializers and attributes."""
        for body in self.bodies:
            if not body.function:
                for sparse in body.proto.sparse_initializer[:]:
                    yield StoredSparseTensor(sparse, body, SPARSE, -1, sparse.values.name)
            for index, attribute in _attributes_of(body, *_SPARSE_TENSORS):
                if attribute.HasField("sparse_tensor"):
                    yield StoredSparseTensor(attribute.sparse_tensor, body, ATTRIBUTE, index, attribute.name)
                for number, sparse in enumerate(attribute.sparse_tensors):
                    yield StoredSparseTensor(sparse, body, ATTRIBUTE, index, f"{attribute.name}[{number}]")

    def things(self) -> Iterator[object]:
        """Yield everything that rules check: this context first, then bodies, values, tensors, and the inference.

        There is no inference unless `options.full`.
        """
        yield self
        yield from self.bodies
        yield from self.values()
        yield from self.tensors()
        for sparse in self.sparse_tensors():
            yield from sparse.parts()
            yield sparse
        if self.options.full:
            yield Inferred(self.inference)


def _types_of(body: Body) -> list[StatedType]:
    """Return the different types that a body states, in values and attributes, each with all its places."""
    found: dict[bytes, StatedType] = {}
    values = [(VALUE_INFO, body.proto.value_info[:])]
    if not body.function:
        values += [(INPUT, body.proto.input[:]), (OUTPUT, body.proto.output[:])]
    for role, protos in values:
        for value in protos:
            if value.HasField("type"):
                data = value.type.SerializeToString()
                if data not in found:
                    found[data] = StatedType(value.type, body, [])
                found[data].holders.append((value, role))
    for index, attribute in _attributes_of(body, *_TYPES):
        for proto in (*attribute.type_protos, *([attribute.tp] if attribute.HasField("tp") else [])):
            found.setdefault(proto.SerializeToString(), StatedType(proto, body, [])).holders.append((attribute, index))
    return [*found.values()]


def _attributes_of(body: Body, *types: int) -> Iterator[tuple[int, Any]]:
    """Yield (index of the node, attribute) for attributes of some types in a body; -1 for defaults of a function.

    `types` are numbers of AttributeProto.AttributeType. Attributes that state no type are yielded, too: in IR version 1
    a reader tells the type from the value.
    """
    if body.function:
        yield from ((-1, default) for default in body.proto.attribute_proto if default.type in (0, *types))
    for index, attributes in enumerate(body.attributes):
        for attribute in attributes:
            if attribute.type in types or not attribute.type:
                yield index, attribute


def _first_imports(holder: Any) -> dict[str, int]:
    """Return the versions that a ModelProto or FunctionProto imports, by domain; the first one of each domain."""
    versions: dict[str, int] = {}
    for entry in holder.opset_import:
        versions.setdefault(normalize_domain(entry.domain), entry.version)
    return versions
