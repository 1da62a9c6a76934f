"""What changes in a model so that its nodes carry an axis of another size: constants, and nodes that repeat a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from opset.inference.axes.places import Blocked, quotient
from opset.inference.building.dimensions import Dim, Size, substitute, variables
from opset.model import proto as pb
from opset.model.elements import NUMBERS
from opset.model.graph.index import FreshNames
from opset.model.graph.walking import list_as_input, names_read
from opset.model.storage.tensor import make_tensor

_INT64 = NUMBERS["int64"]
_INTS = 7  # AttributeProto.INTS


@dataclass(frozen=True)
class AxisSource:
    """How nodes get the new size of the resized axis: it is `number`, or the size of an input's axis at run time.

    `number` is None if the new size is a variable.
    """

    input: str
    axis: int
    number: int | None


class Edits:
    """The changes of one graph of the model, collected first, and made by `apply`.

    Nodes are named by their index before any change.
    """

    def __init__(
        self, source: AxisSource, after: Dim, opset: int, names: FreshNames, labels: Mapping[int, str]
    ) -> None:
        """Create an empty record of changes.

        Args:
            source: the new size of the resized axis as a number, or the axis of an input from which nodes read it at
                run time.
            after: the variable that stands for the new size.
            opset: the opset version of the model.
            names: the source of names for new values.
            labels: how notes for the user name the nodes of the graph, by index.
        """
        self._source = source
        self._after = after
        self._opset = opset
        self._names = names
        self._labels = labels
        self._replaced: dict[int, dict[int, str]] = {}
        self._attributes: dict[int, dict[str, list[int]]] = {}
        self._nodes: dict[int, list[Any]] = {}
        self._tensors: list[Any] = []
        self._made: dict[Any, str] = {}
        self.notes: list[str] = []
        """A line for each constant that follows, and each value that is repeated."""

    def for_subgraph(self, labels: Mapping[int, str]) -> Edits:
        """Return an empty Edits for a subgraph, which shares the list `notes` with this Edits.

        `labels` are the names of the subgraph's nodes for notes, by index.
        """
        made = Edits(self._source, self._after, self._opset, self._names, labels)
        made.notes = self.notes
        return made

    def label(self, index: int) -> str:
        """Return the text by which notes name the node at `index` of the graph: "node 'up1' (Resize)"."""
        return self._labels[index]

    def with_new_size(self, size: Size) -> Size:
        """Return `size`, such as 2 * N, with the new number of the resized axis in place of its variable N.

        `size` is returned unchanged if the resized axis gets no number, but a size that nodes read at run time.
        """
        if self._source.number is None:
            return size
        (name,) = variables(self._after)
        return substitute(size, {name: self._source.number})

    # -- changes --

    def replace(self, index: int, position: int, name: str, what: str, why: str) -> None:
        """Record that the node at `index` reads the value `name` at its input `position`, and add a note.

        Args:
            index: the index of the node.
            position: the index of the input.
            name: the name of the new value.
            what: the input as messages name it, such as "shape 's'".
            why: the reason in words, such as "repeated".
        """
        self._replaced.setdefault(index, {})[position] = name
        self.notes.append(f"{self._labels[index]}: {what} follows: {why}")

    def set_attribute(self, index: int, name: str, elements: Sequence[Size], why: str) -> None:
        """Record that an attribute of the node at `index` becomes these integers, and add a note with the reason `why`.

        Raises Blocked if an element would have to be symbolic.
        """
        numbers = [each for size in elements if isinstance(each := self.with_new_size(size), int)]
        if len(numbers) < len(elements):
            raise Blocked(f"its attribute {name} would have to be a variable", "convert the model to opset 11 first")
        self._attributes.setdefault(index, {})[name] = numbers
        self.notes.append(f"{self._labels[index]}: attribute {name} follows: {why}")

    def vector(self, stem: str, elements: Sequence[Size], dtype: str | None) -> str:
        """Return the name of a value that holds a list of integers, as a new constant or computed by new nodes.

        It is a constant if all elements are numbers after the new size is put in. Otherwise, new nodes compute it at
        run time from the shape of the model's input. The same list of the same type is made only once.

        Args:
            stem: the beginning of the name.
            elements: the integers, some of which may depend on the new size.
            dtype: the element type of a constant, None for int64.

        Raises:
            Blocked: an element is still symbolic after the new size is put in, and is no integer multiple of it.
        """
        sizes = [self.with_new_size(size) for size in elements]
        key = (tuple(sizes), dtype)
        if key in self._made:
            return self._made[key]
        if all(isinstance(size, int) for size in sizes):
            self._made[key] = self._constant(stem, sizes, dtype)
            return self._made[key]
        parts: list[str] = []
        for is_number, group in groupby(sizes, key=lambda size: isinstance(size, int)):
            same = [*group]
            parts += [self._constant(stem, same)] if is_number else [self._multiple(size) for size in same]
        name = parts[0]
        if len(parts) > 1:
            name = self._add(0, "Concat", parts, stem, axis=0)
        self._made[key] = name
        return name

    def expand(self, index: int, name: str, vector: Sequence[Size]) -> str:
        """Record a new Expand before the node at `index`, and return the name of its output.

        Args:
            index: the index of the node.
            name: the value that is expanded.
            vector: the shape to which Expand broadcasts the value; a 1 in it keeps the size of that axis.

        Raises:
            Blocked: the model's opset is below 8, or new nodes cannot compute a size in `vector`, such as N + 1 for the
                new size N.
        """
        if self._opset < 8:
            raise Blocked("a value would have to be repeated, which opset 8 can", "convert the model to opset 8 first")
        shape = self.vector(f"{name}_shape", vector, None)
        return self._add(index, "Expand", [name, shape], name)

    def first_slice(self, index: int, name: str, axis: int) -> str:
        """Return the name of a new value, the first slice of the value `name` along `axis`.

        A new Slice before the node at `index` computes it; the slice keeps the axis, with size 1.
        """
        if self._opset < 10:
            return self._add(index, "Slice", [name], name, starts=[0], ends=[1], axes=[axis])
        lists = [
            self._constant(f"{name}_{word}", [number]) for word, number in (("start", 0), ("end", 1), ("axis", axis))
        ]
        return self._add(index, "Slice", [name, *lists], name)

    def _multiple(self, size: Size) -> str:
        """Return the name of a value that holds the list [size]; new nodes compute it when the model runs.

        The nodes read the new size of the resized axis from the shape of the model's input, and multiply the new size.
        Raises Blocked if `size` is no multiple of the new size, such as N + 1 for the new size N.
        """
        factor = quotient(size, self._after)
        if not isinstance(factor, int):
            raise Blocked(f"a constant would have to be {size}")
        if "axis" not in self._made:
            shape = self._add(0, "Shape", [self._source.input], f"{self._source.input}_shape")
            position = self._constant(f"{self._source.input}_axis", [self._source.axis])
            self._made["axis"] = self._add(0, "Gather", [shape, position], f"{self._source.input}_size", axis=0)
        if factor == 1:
            return self._made["axis"]
        return self._add(0, "Mul", [self._made["axis"], self._constant("factor", [factor])], "size")

    def _constant(self, stem: str, numbers: Sequence[Any], dtype: str | None = None) -> str:
        """Record a new initializer, a list of numbers of the element type `dtype`, and return its name.

        `dtype` None stands for int64. The name begins with `stem`.
        """
        name = self._names.fresh(f"{stem}_resized")
        self._tensors.append(make_tensor(name, NUMBERS[dtype or "int64"], [len(numbers)], numbers))
        return name

    def _add(self, index: int, op_type: str, inputs: Sequence[str], stem: str, **attributes: Any) -> str:
        """Record a new node, to be put before the node at `index` by `apply`; return the new name of its output.

        `index` is an index in the graph as it was before all edits. The name of the output begins with `stem`.
        `attributes` are integers or lists of integers, by name.
        """
        node = pb.NodeProto()
        node.op_type = op_type
        node.input.extend(inputs)
        name = self._names.fresh(f"{stem}_resized")
        node.output.append(name)
        node.name = name
        for key, value in attributes.items():
            attribute = node.attribute.add()
            attribute.name = key
            if isinstance(value, int):
                attribute.type = 2  # INT
                attribute.i = value
            else:
                attribute.type = _INTS
                attribute.ints.extend(value)
        self._nodes.setdefault(index, []).append(node)
        return name

    # -- the result --

    def apply(self, graph: Any, lists_inputs: bool) -> None:
        """Make the recorded changes in a GraphProto, in place, and remove the constants that nothing reads any more.

        With `lists_inputs`, as IR version 3 asks, new initializers are inputs, too.
        """
        left: set[str] = set()
        for index, replaced in self._replaced.items():
            for position, name in replaced.items():
                left.add(graph.node[index].input[position])
                graph.node[index].input[position] = name
        for index, attributes in self._attributes.items():
            for attribute in graph.node[index].attribute:
                if attribute.name in attributes:
                    del attribute.ints[:]
                    attribute.ints.extend(attributes[attribute.name])
        if self._nodes:
            nodes = graph.node[:]
            del graph.node[:]
            for index, node in enumerate(nodes):
                graph.node.extend(self._nodes.get(index, ()))
                graph.node.append(node)
        graph.initializer.extend(self._tensors)
        _drop_unused(graph, left)
        if lists_inputs:
            for tensor in self._tensors:
                list_as_input(graph, tensor)


def _drop_unused(graph: Any, names: set[str]) -> None:
    """Remove from a GraphProto the constants in `names` that nothing reads any more, with their value_info.

    A constant is an initializer or a Constant node.
    """
    read = names_read(graph.node).union(value.name for value in (*graph.output, *graph.input))
    unused = names - read
    _delete(graph.initializer, [tensor.name in unused for tensor in graph.initializer])
    _delete(graph.value_info, [value.name in unused for value in graph.value_info])
    _delete(graph.node, [node.op_type == "Constant" and unused.issuperset(node.output) for node in graph.node])


def _delete(messages: Any, chosen: Sequence[bool]) -> None:
    """Delete from a repeated field the messages at the positions at which `chosen` is True.

    The method `remove` would compare messages, and read their weights.
    """
    for position in reversed([number for number, is_chosen in enumerate(chosen) if is_chosen]):
        del messages[position]
