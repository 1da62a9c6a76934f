"""The nodes of a function in place of a node that calls it: values renamed, attributes substituted.

    found = spliced(function, call, names)      # names: FreshNames of the model that holds the call
    found.nodes, found.value_info

Nothing that is given changes. The nodes compute the call's outputs from its inputs; every other value, also in
subgraphs, gets a name that occurs nowhere else, so that none shadows another. Linear in the function's size.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import chain
from typing import Any, NamedTuple

from opset.errors import quote
from opset.model import proto as pb
from opset.model.attributes import set_value
from opset.model.graph.index import FreshNames
from opset.model.graph.walking import attribute_graphs
from opset.model.limits import MAX_STEM
from opset.model.strings import set_string


class Unfit(Exception):
    """A call whose function cannot take its place: why, and what would help."""

    def __init__(self, why: str, help: str = "") -> None:
        super().__init__(why)
        self.why, self.help = why, help


class Splice(NamedTuple):
    """The nodes that take the place of a call, and the types that the function states for their values."""

    nodes: list[Any]
    value_info: list[Any]


class _NameScope:
    """New names of the values of a body by the old ones, and the scope around it."""

    def __init__(self, names: dict[str, str], outer: _NameScope | None = None) -> None:
        self.names, self.outer = names, outer

    def __getitem__(self, name: str) -> str:
        scope: _NameScope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        if not name:
            return ""
        raise Unfit(f"the function uses {quote(name)}, which nothing in it defines")

    def annotation_name(self, name: str) -> str:
        """Return the new name of a value that an annotation names, which may be none."""
        try:
            return self[name]
        except Unfit:
            return name


def splice_function(function: Any, call: Any, names: FreshNames, certain: Collection[str] = ()) -> Splice:
    """Return the nodes of a FunctionProto in place of a NodeProto that calls it.

    Inputs that the call omits are absent in the nodes. An attribute that refers to one of the function's gets the
    call's value, else the function's default, and is absent if there is neither. Each node keeps its own metadata and
    gets the call's beside it; its name begins with the call's name. The caller compares the imports of both.

    Args:
        names: The names of the model, from which new ones are taken.
        certain: Attributes of a function around the call that always have a value.

    Raises:
        Unfit: If the function cannot take the call's place.
    """
    return _Splicer(function, call, names, certain).splice()


class _Splicer:
    """The replacement of one call."""

    def __init__(self, function: Any, call: Any, names: FreshNames, certain: Collection[str]) -> None:
        self._function, self._call, self._names, self._certain = function, call, names, certain
        self._stem = (call.name or next(filter(None, call.output), "") or call.op_type)[:MAX_STEM]
        self._defaults = {each.name: each for each in function.attribute_proto}
        self._declared = {*function.attribute, *self._defaults}
        self._given = {each.name: each for each in call.attribute}

    def splice(self) -> Splice:
        """Return the replacement of the call; raise Unfit if there is none."""
        function, call = self._function, self._call
        if len(call.input) > len(function.input) or len(call.output) > len(function.output):
            raise Unfit(
                f"it has {len(call.input)} inputs and {len(call.output)} outputs, and the function takes "
                f"{len(function.input)} and computes {len(function.output)}"
            )
        scope = _NameScope(dict.fromkeys(function.input, ""))
        scope.names.update(zip(function.input, call.input, strict=False))
        inner = dict.fromkeys(name for node in function.node for name in node.output if name)
        passed = []
        for name, actual in zip(function.output, call.output, strict=False):
            if actual and name in inner:
                scope.names[name] = actual
                del inner[name]
            elif actual:
                passed.append((name, actual))
        for name in inner:
            scope.names[name] = self._fresh_name(name)
        nodes = self._renamed_nodes(scope)
        for name, actual in passed:
            if not scope[name]:
                raise Unfit(f"the output {quote(actual)} is an input that the call omits")
            nodes.append(pb.NodeProto(op_type="Identity", input=[scope[name]], output=[actual]))
            self._mark_origin(nodes[-1])
        stated = [value for value in function.value_info if value.name in inner and value.name not in function.output]
        return Splice(nodes, [_renamed_value_info(value, scope) for value in stated])

    def _fresh_name(self, name: str) -> str:
        """Return a new name for a value or node of the function."""
        return self._names.fresh(f"{self._stem}__{name[:MAX_STEM]}")

    def _renamed_nodes(self, scope: _NameScope) -> list[Any]:
        """Return the function's nodes with the names of the call, and new ones for the values of their subgraphs."""
        made = []
        for node in self._function.node:
            made.append(pb.NodeProto())
            made[-1].CopyFrom(node)
        # The nodes of a body, its scope, and whether what they refer to are attributes of this function.
        pending: list[tuple[Iterable[Any], _NameScope, bool]] = [(made, scope, True)]
        while pending:
            nodes, scope, ours = pending.pop()
            for node in nodes:
                given = self._bind_attributes(node) if ours else set()
                _rename_values(node, scope)
                self._mark_origin(node)
                for attribute in node.attribute:
                    # Which names a graph sees that a call gives, the specification leaves open: none here.
                    outer = None if attribute.name in given else scope
                    for graph in attribute_graphs(attribute):
                        pending.append((graph.node, self._rename_graph(graph, outer), ours and outer is not None))
        return made

    def _bind_attributes(self, node: Any) -> set[str]:
        """Set a node's attributes that refer to the function's; return the names of those that have a value now."""
        absent, bound = [], set()
        for index, attribute in enumerate(node.attribute):
            if not attribute.ref_attr_name:
                continue
            value = self._attribute_value(attribute.ref_attr_name)
            if value is None:
                absent.append(index)
            else:
                set_value(attribute, value)
                bound.add(attribute.name)
        for index in reversed(absent):
            del node.attribute[index]
        return bound

    def _attribute_value(self, name: str) -> Any:
        """Return the value of one of the function's attributes as an AttributeProto, None if it has none."""
        value, default = self._given.get(name), self._defaults.get(name)
        if value is None:
            return default
        if name not in self._declared:
            raise Unfit(f"the function uses the attribute {quote(name)}, which it does not declare")
        if default is not None and value.ref_attr_name and value.ref_attr_name not in self._certain:
            raise Unfit(
                f"the attribute {quote(name)} has a default, which holds where the function around the call has no "
                f"value for {quote(value.ref_attr_name)}",
                "inline the function around the call as well",
            )
        return value

    def _rename_graph(self, graph: Any, outer: _NameScope | None) -> _NameScope:
        """Rename the values that a subgraph defines; return its scope, for its nodes and their outputs."""
        scope = _NameScope({}, outer)
        held = [*graph.initializer, *[sparse.values for sparse in graph.sparse_initializer]]
        computed = (name for node in graph.node for name in node.output)
        for name in chain((value.name for value in graph.input), (tensor.name for tensor in held), computed):
            if name and name not in scope.names:
                scope.names[name] = self._fresh_name(name)
        for tensor in held:
            tensor.name = scope[tensor.name]
        stated = [value for value in graph.value_info if value.name in scope.names]
        for value in graph.output:
            if value.name and not scope[value.name]:
                raise Unfit(f"a graph in the function returns the input {quote(value.name)}, which the call omits")
        for values, kept in ((graph.input, graph.input), (graph.output, graph.output), (graph.value_info, stated)):
            renamed = [_renamed_value_info(value, scope) for value in kept]
            del values[:]
            values.extend(renamed)
        for annotation in graph.quantization_annotation:
            set_string(annotation, "tensor_name", scope.annotation_name(annotation.tensor_name))
            for entry in annotation.quant_parameter_tensor_names:
                set_string(entry, "value", scope.annotation_name(entry.value))
        return scope

    def _mark_origin(self, node: Any) -> None:
        """Name a node after the call, and give it the call's metadata and device configurations beside its own."""
        call = self._call
        if call.name or node.name:
            name = (node.name or node.op_type)[:MAX_STEM]
            node.name = self._names.fresh(f"{self._stem}__{name}")
        if call.metadata_props:
            own = {entry.key for entry in node.metadata_props}
            node.metadata_props.extend(entry for entry in call.metadata_props if entry.key not in own)
        if call.device_configurations:
            configured = {each.configuration_id for each in node.device_configurations}
            names = {*node.input, *node.output}
            for each in call.device_configurations:
                if each.configuration_id not in configured:
                    made = node.device_configurations.add()
                    made.CopyFrom(each)
                    del made.sharding_spec[:]
                    made.sharding_spec.extend(spec for spec in each.sharding_spec if spec.tensor_name in names)


def _rename_values(node: Any, scope: _NameScope) -> None:
    """Rename the values that a node reads, computes or shards."""
    for names in (node.input, node.output):
        if names:
            names[:] = [scope[name] for name in names]
    for configuration in node.device_configurations:
        for spec in configuration.sharding_spec:
            set_string(spec, "tensor_name", scope.annotation_name(spec.tensor_name))


def _renamed_value_info(value: Any, scope: _NameScope) -> Any:
    """Return a ValueInfoProto under the new name, without names of dimensions: the caller's may mean another size."""
    renamed = pb.ValueInfoProto()
    renamed.CopyFrom(value)
    renamed.name = scope[value.name]
    pending = [renamed.type]
    while pending:
        type_ = pending.pop()
        match type_.WhichOneof("value"):
            case "tensor_type" | "sparse_tensor_type" as kind:
                for dim in getattr(type_, kind).shape.dim:
                    dim.ClearField("dim_param")
            case "sequence_type" | "optional_type" as kind:
                pending.append(getattr(type_, kind).elem_type)
            case "map_type":
                pending.append(type_.map_type.value_type)
    return renamed
