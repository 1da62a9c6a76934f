"""Renames the values, nodes and functions of a model, so that it can stand beside another model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from opset.model.graph.index import Body, FreshNames, FunctionKey, ModelIndex, bodies_below, messages_of
from opset.model.graph.walking import function_key
from opset.model.strings import set_string

GRADIENT = ("Gradient", "ai.onnx.preview.training")
"""The operator whose attributes name values of the graph around it."""
GRADIENT_ATTRIBUTES = ("xs", "zs", "y")


def graph_bodies(index: ModelIndex) -> list[Body]:
    """Return the main graph and the graphs in its nodes, each before those inside it."""
    return [body for body in index.bodies if body.root is index.main]


def names_of_values(index: ModelIndex) -> set[str]:
    """Return the names of values in the main graph and in graphs in it, also of those that are only stated.

    A name that is not UTF-8 is left out: it is stated for a value that does not exist.
    """
    names: set[str] = set()
    for body in graph_bodies(index):
        names.update(body.definitions, (each.name for each in body.proto.value_info if isinstance(each.name, str)))
    return names


def names_of_nodes(index: ModelIndex) -> set[str]:
    """Return the names of nodes in the main graph and in graphs in it, "" if one has no name."""
    return {name for body in graph_bodies(index) for name in body.names}


class ValueRenaming:
    """New names of the values of a model's graphs, by the body that defines them."""

    def __init__(self, index: ModelIndex) -> None:
        self._index = index
        self._new: dict[Body, dict[str, str]] = {}
        self.count = 0
        """The number of values that have a new name; those whose name was given do not count."""

    def choose(self, rename: Callable[[str], str], given: Mapping[str, str]) -> None:
        """Choose a name for each value: `rename` returns it, `given` has the names of some values of the main graph."""
        for body in graph_bodies(self._index):
            known = given if body is self._index.main else {}
            defined = dict.fromkeys([*body.definitions, *(value.name for value in body.proto.value_info)])
            # A name that is not UTF-8 is bytes: it stands in a value_info whose value does not exist, and stays.
            names = [name for name in defined if name and isinstance(name, str)]
            chosen = {name: known[name] if name in known else rename(name) for name in names}
            self._new[body] = {old: new for old, new in chosen.items() if old != new}
            self.count += len(self._new[body].keys() - known.keys())

    def of_main(self, name: str) -> str:
        """Return the new name of a value of the main graph."""
        return self._new[self._index.main].get(name, name)

    def apply(self, proto: Any) -> None:
        """Rename the values in a ModelProto that equals the one of the index."""
        if not any(self._new.values()):
            return
        messages = messages_of(self._index, proto)
        for body in graph_bodies(self._index):
            self._rename_graph(body, messages[body])

    def _rename_graph(self, body: Body, graph: Any) -> None:
        """Rename the values of one graph, and those that its nodes see around it."""

        def new(name: str) -> str:
            scope: Body | None = body
            while scope is not None:
                if name in scope.definitions or name in self._new[scope]:
                    return self._new[scope].get(name, name)
                scope = scope.parent
            return name

        for node, operator in zip(graph.node, body.operators, strict=True):
            for names in (node.input, node.output):
                if names:
                    names[:] = [new(name) for name in names]
            for configuration in node.device_configurations:
                for spec in configuration.sharding_spec:
                    set_string(spec, "tensor_name", new(spec.tensor_name))
            if operator == GRADIENT:
                _rename_strings(node, new)
        for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
            set_string(value, "name", new(value.name))
        for sparse in graph.sparse_initializer:
            sparse.values.name = new(sparse.values.name)
        for annotation in graph.quantization_annotation:
            set_string(annotation, "tensor_name", new(annotation.tensor_name))
            for entry in annotation.quant_parameter_tensor_names:
                set_string(entry, "value", new(entry.value))


def gradient_names(node: Any) -> Iterator[str]:
    """Yield the names of values in the attributes of a Gradient."""
    for attribute in node.attribute:
        if attribute.name in GRADIENT_ATTRIBUTES:
            texts = [attribute.s] if attribute.name == "y" else attribute.strings
            yield from (text.decode("utf-8", "replace") for text in texts)


def _rename_strings(node: Any, new: Callable[[str], str]) -> None:
    """Rename the values that the attributes of a Gradient name."""
    for attribute in node.attribute:
        if attribute.name == "y":
            attribute.s = new(attribute.s.decode("utf-8", "replace")).encode()
        elif attribute.name in GRADIENT_ATTRIBUTES:
            attribute.strings[:] = [new(text.decode("utf-8", "replace")).encode() for text in attribute.strings]


def rename_nodes(index: ModelIndex, proto: Any, rename: Callable[[str], str]) -> int:
    """Rename the nodes of a ModelProto's graphs; return how many have a new name."""
    messages = messages_of(index, proto)
    count = 0
    for body in graph_bodies(index):
        for node, name in zip(messages[body].node, body.names, strict=True):
            if name and (new := rename(name)) != name:
                node.name = new
                count += 1
    return count


def separate_functions(
    first: tuple[ModelIndex, Any], second: tuple[ModelIndex, Any]
) -> tuple[dict[FunctionKey, str], Collection[FunctionKey]]:
    """Rename functions of two models so that no node of one calls a function of the other.

    Of two functions with one identity that differ, the second model's is renamed. A function whose name is an operator
    in the other model, which is no function there, is renamed, too.

    Args:
        first: The index of the first model, and a ModelProto that equals its own and is changed.
        second: The same of the second model.

    Returns:
        The new names of functions by the old ones, and those that are equal in both models and that the second loses.
    """
    indices = [first[0], second[0]]
    shared = _shared_functions(*indices)
    clashing = (key for key in indices[1].functions if key in indices[0].functions and key not in shared)
    renamed: list[dict[FunctionKey, str]] = [{}, dict.fromkeys(clashing, "")]
    for number, own in enumerate(indices):
        other = indices[1 - number]
        called = {body.function_key(at) for body in other.bodies for at in range(len(body.nodes))}
        caught = (key for key in own.functions if key in called and key not in other.functions)
        renamed[number].update(dict.fromkeys(caught, ""))
    operators = {operator for index in indices for body in index.bodies for operator in body.operators}
    operators |= {(key[1], key[0]) for index in indices for key in index.functions}
    taken: dict[Any, list[Any]] = {}
    for name, domain in operators:
        taken.setdefault(domain, []).append(name)
    names = {domain: FreshNames.beside(each) for domain, each in taken.items()}
    for (index, proto), chosen in zip((first, second), renamed, strict=True):
        for key in chosen:
            chosen[key] = names[key[0]].fresh(key[1])
        if chosen:
            _rename_functions(index, proto, chosen)
    return {**renamed[0], **renamed[1]}, shared


def _shared_functions(first: ModelIndex, second: ModelIndex) -> dict[FunctionKey, None]:
    """Return the functions that are equal in two models with all that they call, in the order of the first."""
    known = {*first.functions, *second.functions}
    shared: set[FunctionKey] = set()
    for body in reversed(first.call_order()):
        key = function_key(body.proto)
        other = second.functions.get(key)
        # Placeholders of large data differ, so that functions with such data count as different.
        if other is None or other.proto.SerializeToString() != body.proto.SerializeToString():
            continue
        if _calls(body, known) <= shared:
            shared.add(key)
    return {key: None for key in first.functions if key in shared}


def _calls(function: Body, known: Collection[FunctionKey]) -> set[FunctionKey]:
    """Return the functions among the known ones that a function calls."""
    bodies = bodies_below(function)
    return {key for body in bodies for at in range(len(body.nodes)) if (key := body.function_key(at)) in known}


def _rename_functions(index: ModelIndex, proto: Any, new: Mapping[FunctionKey, str]) -> None:
    """Rename functions of a ModelProto, and the nodes that call them."""
    messages = messages_of(index, proto)
    for body in index.bodies:
        for at, node in enumerate(messages[body].node):
            if body.operators[at][0] == node.op_type and (name := new.get(body.function_key(at))) is not None:
                node.op_type = name
    for function in proto.functions:
        if (name := new.get(function_key(function))) is not None:
            function.name = name


def fresh_names(taken: Collection[str], own: Iterable[str], prefix: str) -> Callable[[str], str]:
    """Return a function that gives a model's own names a prefix, and those that are taken then a number."""
    names = FreshNames.beside({*taken, *(prefix + name for name in own)})
    chosen: dict[str, str] = {}

    def rename(name: str) -> str:
        if prefix + name not in taken:
            return prefix + name
        if name not in chosen:
            chosen[name] = names.fresh(prefix + name)
        return chosen[name]

    return rename
