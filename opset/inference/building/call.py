"""The call of a node: its inputs and attributes as far as they are known, for the rules of its operator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opset.inference.building.dimensions import Dim, Size
from opset.inference.building.shapes import common_size, normalize_axis
from opset.inference.building.types import Type, element_of
from opset.inference.limits import MAX_DATA
from opset.model.types import Constant
from opset.schemas.constraints.input_shapes import Match
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import OpSchema, translate_value

__all__ = ["MAX_DATA", "Call", "Constant", "Element", "Unknown", "Violation"]

Element = int | float | bool | str | bytes | Dim | None
"""One element of a tensor: a size may be symbolic, None is one that is not known."""


class WrongAttributeType(TypeError):
    """An attribute has another type than the schema says."""


class Unknown(Exception):
    """Nothing more can be inferred of a node; the message is the reason that the user is shown."""


@dataclass(eq=False, repr=False, slots=True)
class Call:
    """One node, as the functions that infer its operator see it: its schema, inputs, attributes and number of outputs.

    An input that the node leaves out is absent. Of any other input, the type, the shape and the elements are None if
    they are unknown. Inputs are given by their index, counted from 0.
    """

    schema: OpSchema
    names: Sequence[str]
    """The names of the inputs, "" for one that is left out."""
    output_count: int
    types: Sequence[Type | None]
    """The types of the inputs."""
    _find: Callable[[str], Any]
    """Returns the value of an attribute, or None if the node does not have it."""
    _constant: Callable[[int], Constant | None]
    """Returns an input with its elements, or None if they are not known."""
    unnamed: frozenset[int] = frozenset()
    """The outputs that are left out between others."""
    match: Match | None = None
    """The sizes that follow from declared constraints, once these have been checked."""
    reads: set[int] = field(default_factory=set)
    """The inputs whose elements were needed."""
    doubts: list[str] = field(default_factory=list)
    """The reasons why not everything is known of the outputs."""
    memory: dict[str, Any] = field(default_factory=dict)
    """Notes of a rule with graphs from its inference of this node in an earlier turn of a loop around it."""
    _attributes: dict[str, Any] = field(default_factory=dict)
    _completed: dict[int, tuple[Size, ...]] = field(default_factory=dict)

    def with_schema(self, schema: OpSchema, types: Sequence[Type | None]) -> Call:
        """Return a Call of the same node with another schema and other input types.

        The declared constraints of the new schema are not checked yet. Both Calls share `doubts`, `reads` and `memory`.
        If the `change:` block of `schema` renames values of an attribute, the new Call has the renamed value. Raises
        Unknown if the value to rename is not known.
        """
        changes = schema.change.attributes if schema.change is not None else {}
        renamed = [name for name, change in changes.items() if change.values]
        known = {name: translate_value(schema, name, self.attribute(name)) for name in renamed}
        return replace(self, schema=schema, types=types, match=None, _attributes=known, _completed={})

    @property
    def version(self) -> int:
        """The since_version of the node's operator: the opset in which this version of it appeared."""
        return self.schema.since_version

    @property
    def input_count(self) -> int:
        """The number of inputs that the node lists; an omitted input before a later one counts, too."""
        return len(self.types)

    def has(self, index: int) -> bool:
        """Whether the node has the input at `index`; False if it is left out or beyond the last."""
        return index < len(self.names) and bool(self.names[index])

    def wants(self, index: int) -> bool:
        """Whether the node has the output at `index`; False if it is left out or beyond the last."""
        return index < self.output_count and index not in self.unnamed

    def type(self, index: int) -> Type | None:
        """Return the type of the input at `index`, or None if it is unknown or there is no such input."""
        return self.types[index] if index < len(self.types) else None

    def dtype(self, index: int) -> str | None:
        """Return the element type of a dense or sparse tensor input, such as "float".

        The result is None if it is unknown, or the input is absent or no tensor.
        """
        return element_of(self.type(index))

    def shape(self, index: int) -> tuple[Size, ...] | None:
        """Return the shape of a tensor input; no size in it is None, but a size may be symbolic.

        The result is None if not even the rank is known, or if the input is absent or no tensor. The sizes may also
        come from the constraints that the operator declares: if these say that two inputs have one shape, it is enough
        to know one of them. These sizes are there only after the constraints were checked.
        """
        if index in self._completed:
            return self._completed[index]
        type_ = self.type(index)
        return type_.shape if type_ is not None else None  # type: ignore[return-value]

    def complete(self, index: int, shape: tuple[Size, ...]) -> None:
        """Replace the shape that `Call.shape` returns for the input at `index` by `shape`.

        It is meant for shapes that follow from the operator's constraints. Nothing happens if the input is known to be
        something else than a dense tensor.
        """
        type_ = self.types[index]
        if type_ is None or type_.kind == "tensor":
            self._completed[index] = shape

    def size(self, name: str) -> Size | None:
        """Return the size that `name`, such as "N", stands for in the input shapes that the operator's YAML declares.

        The result is None if it is unknown, or the declared constraints have not been checked.
        """
        size: Size | None = self.match.sizes.get(name) if self.match is not None else None
        return size

    def run(self, name: str) -> tuple[Size, ...] | None:
        """Return the sizes that a pattern such as `...D` stands for in the declared input shapes; `name` is "D".

        The operator's YAML declares these shapes. The result is None if not even the number of sizes is known, or if
        the declared constraints have not been checked yet.
        """
        return self.match.runs.get(name) if self.match is not None else None

    def require_shape(self, index: int) -> tuple[Size, ...]:
        """Return the shape of a tensor input, as `shape` does. Raises Unknown if not even its rank is known."""
        shape = self.shape(index)
        if shape is None:
            raise Unknown(f"the rank of {self.parameter(index)} is not known")
        return shape

    def rank(self, index: int) -> int | None:
        """Return the rank of a tensor input, or None if it is unknown or the input is absent."""
        shape = self.shape(index)
        return None if shape is None else len(shape)

    def parameter(self, index: int) -> str:
        """Return the name that the operator's schema gives the input at `index`, such as "X", for messages.

        The last input of a schema may be variadic: its name is then the name of all further inputs, too.
        """
        formal = self.schema.inputs
        return formal[min(index, len(formal) - 1)].name if formal else f"input {index}"

    def constant(self, index: int) -> Constant | None:
        """Return the dims and elements of an input; None if it is absent, or they are unknown or too many.

        An element that is unknown is None. Boolean elements count as unknown if the schema does not allow booleans for
        the input, since the operator's rule would take them for numbers. The index is added to `reads`.
        """
        if not self.has(index):
            return None
        self.reads.add(index)
        constant = self._constant(index)
        if constant is not None and constant.element == "bool" and (formal := self.schema.inputs):
            allowed = self.schema.allowed_types(formal[min(index, len(formal) - 1)])
            return constant if "tensor(bool)" in allowed else None
        return constant

    def elements(self, index: int) -> tuple[Element, ...] | None:
        """Return the elements of an input in row-major order, None for each that is unknown.

        The result is None if the input is absent, or its elements are all unknown or too many. The index is added to
        `reads`.
        """
        constant = self.constant(index)
        return None if constant is None else constant.values

    def element(self, index: int) -> Element:
        """Return the first element of an input that should have only one; None if it is unknown or absent."""
        elements = self.elements(index)
        return elements[0] if elements else None

    def sizes(self, index: int) -> tuple[Size | None, ...] | None:
        """Return the elements of an integer input of rank 0 or 1, ints or symbolic, None for each that is unknown.

        The result is None if not even their number is known. Raises Violation, without a label, if known elements are
        no list of integers.
        """
        constant = self.constant(index)
        if constant is None:
            shape = self.shape(index)
            if shape is None or len(shape) > 1:
                return None
            length = shape[0] if shape else 1
            return (None,) * length if isinstance(length, int) and length <= MAX_DATA else None
        sizes = [
            element
            for element in constant.values
            if element is None or (isinstance(element, int | Dim) and not isinstance(element, bool))
        ]
        if len(constant.dims) > 1 or len(sizes) < len(constant.values):
            raise Violation("", f"{self.parameter(index)} is no list of integers")
        return tuple(sizes)

    def numbers(self, index: int) -> tuple[int, ...] | None:
        """Return the elements of an integer input of rank 0 or 1, or None if any of them is symbolic or unknown.

        Raises Violation, without a label, if known elements are no list of integers.
        """
        sizes = self.sizes(index)
        if sizes is None or not all(isinstance(size, int) for size in sizes):
            return None
        return tuple([int(size) for size in sizes if isinstance(size, int)])

    def attribute(self, name: str) -> Any:
        """Return the value of an attribute, or its default; None if the schema has no default, or no such attribute.

        The value is an int, float, str, bytes, the message of a tensor, type or graph, or a tuple of these. It is
        cached.

        Raises:
            WrongAttributeType: the value has another type than the schema says.
            Unknown: the attribute refers to an attribute of the enclosing function, whose value is unknown.
        """
        if name not in self._attributes:
            formal = self.schema.attributes.get(name)
            value = None if formal is None else self._find(name)
            if formal is not None and value is None:
                value = formal.default
            elif formal is not None and not _has_attribute_type(value, formal.type):
                raise WrongAttributeType(f"the attribute {name} is not of the type {formal.type}")
            self._attributes[name] = value
        return self._attributes[name]

    def lists_read(self) -> dict[str, tuple[Any, ...]]:
        """Return the list attributes that `attribute` has read so far: their values by name."""
        return {name: value for name, value in self._attributes.items() if isinstance(value, tuple)}

    def doubt(self, reason: str) -> None:
        """Add to `doubts` a reason why the outputs are not fully known, which is shown to the user."""
        self.doubts.append(reason)

    axis = staticmethod(normalize_axis)
    same = staticmethod(common_size)


_TYPES: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float,), "string": (str, bytes)}


def _has_attribute_type(value: Any, kind: str) -> bool:
    """Whether a value is of the attribute type `kind`, such as "ints"; of a list, only the first item is checked."""
    if isinstance(value, tuple) != kind.endswith("s"):
        return False
    first = (value[0] if value else None) if isinstance(value, tuple) else value
    types = _TYPES.get(kind.removesuffix("s"))
    if types is None:
        return not isinstance(first, int | float | str | bytes)
    return isinstance(first, types) or value == ()
