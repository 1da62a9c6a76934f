"""What a rule sees of a node: its inputs and attributes, as far as they are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opset.inference.building.dimensions import Dim, Size
from opset.inference.building.shapes import common_size
from opset.inference.building.types import Type
from opset.model.types import Constant
from opset.schemas.constraints.input_shapes import Match
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import OpSchema

__all__ = ["MAX_DATA", "Call", "Constant", "Element", "Unknown", "Violation"]

Element = int | float | bool | str | bytes | Dim | None
"""One element of a tensor: a size may be symbolic, None is one that is not known."""
MAX_DATA = 1024
"""Elements of the largest tensor whose elements are followed."""


class Unknown(Exception):
    """Nothing more can be inferred; the message is the reason that the user is shown."""


class Call:
    """One node, as the rules of its operator see it.

    An input that is left out is absent; of one that is there, type, shape and elements may be unknown, which is None.
    Inputs are named by index.
    """

    __slots__ = (
        "_attributes",
        "_completed",
        "_constant",
        "_find",
        "doubts",
        "match",
        "memory",
        "names",
        "output_count",
        "reads",
        "schema",
        "types",
    )

    def __init__(
        self,
        schema: OpSchema,
        names: Sequence[str],
        output_count: int,
        types: Sequence[Type | None],
        attribute: Callable[[str], Any],
        constant: Callable[[int], Constant | None],
    ) -> None:
        """Take the names and types of a node's inputs, and functions that find its attributes and their elements."""
        self.schema, self.names, self.output_count, self.types = schema, names, output_count, types
        self._find, self._constant = attribute, constant
        self._attributes: dict[str, Any] = {}
        self._completed: dict[int, tuple[Size, ...]] = {}
        self.match: Match | None = None
        """What the declared constraints say of sizes, once they have been checked."""
        self.reads: set[int] = set()
        """The inputs whose elements were needed."""
        self.doubts: list[str] = []
        self.memory: dict[str, Any] = {}
        """What a rule with graphs noted when it inferred this node in an earlier turn of a loop around it."""

    def with_schema(self, schema: OpSchema, types: Sequence[Type | None]) -> Call:
        """Return the same node by another schema and with other types of its inputs; what it reads counts for both."""
        other = Call(schema, self.names, self.output_count, types, self._find, self._constant)
        other.reads, other.doubts, other.memory = self.reads, self.doubts, self.memory
        return other

    @property
    def version(self) -> int:
        """The version of the operator, its since_version."""
        return self.schema.since_version

    @property
    def input_count(self) -> int:
        """How many inputs the node names, those left out between others included."""
        return len(self.types)

    def has(self, index: int) -> bool:
        """Whether the node has this input."""
        return index < len(self.names) and bool(self.names[index])

    def type(self, index: int) -> Type | None:
        """Return the type of an input, None where it is not known or there is no such input."""
        return self.types[index] if index < len(self.types) else None

    def dtype(self, index: int) -> str | None:
        """Return the element type of a tensor."""
        type_ = self.type(index)
        return type_.element if type_ is not None and type_.kind in ("tensor", "sparse_tensor") else None

    def shape(self, index: int) -> tuple[Size, ...] | None:
        """Return the shape of a tensor, None where not even its rank is known. No size in it is None.

        It is completed by what the operator's constraints declare of the shapes of its inputs.
        """
        if index in self._completed:
            return self._completed[index]
        type_ = self.type(index)
        return type_.shape if type_ is not None else None  # type: ignore[return-value]

    def complete(self, index: int, shape: tuple[Size, ...]) -> None:
        """Note what the declared constraints say of the shape of an input."""
        type_ = self.types[index]
        if type_ is None or type_.kind == "tensor":
            self._completed[index] = shape

    def size(self, name: str) -> Size | None:
        """Return the size that a declared pattern names so, None where it is not known."""
        size: Size | None = self.match.sizes.get(name) if self.match is not None else None
        return size

    def run(self, name: str) -> tuple[Size, ...] | None:
        """Return the sizes that a declared pattern names so, `...D`; None where not even their number is known."""
        return self.match.runs.get(name) if self.match is not None else None

    def require_shape(self, index: int) -> tuple[Size, ...]:
        """Return the shape of a tensor. Raises Unknown where not even its rank is known."""
        shape = self.shape(index)
        if shape is None:
            raise Unknown(f"the rank of {self.parameter(index)} is not known")
        return shape

    def rank(self, index: int) -> int | None:
        """Return the rank of a tensor."""
        shape = self.shape(index)
        return None if shape is None else len(shape)

    def parameter(self, index: int) -> str:
        """Return the name of a formal input, as messages show it."""
        formal = self.schema.inputs
        return formal[min(index, len(formal) - 1)].name if formal else f"input {index}"

    def constant(self, index: int) -> Constant | None:
        """Return an input with its dims and elements, None where they are not known or too many.

        Truth values where the operator takes none are not known: they would be taken as numbers.
        """
        if not self.has(index):
            return None
        self.reads.add(index)
        found = self._constant(index)
        if found is not None and found.element == "bool" and (formal := self.schema.inputs):
            allowed = self.schema.allowed(formal[min(index, len(formal) - 1)])
            return found if "tensor(bool)" in allowed else None
        return found

    def elements(self, index: int) -> tuple[Element, ...] | None:
        """Return the elements of an input in row-major order, None where not even their number is known."""
        constant = self.constant(index)
        return None if constant is None else constant.values

    def element(self, index: int) -> Element:
        """Return the first element of an input, None where it is not known; of inputs of which one is declared."""
        elements = self.elements(index)
        return elements[0] if elements else None

    def sizes(self, index: int) -> tuple[Size | None, ...] | None:
        """Return the elements of an integer input of rank 0 or 1; None where their number is not known.

        Where the number alone is known, each is None. Raises Violation without label where it is no list of integers.
        """
        constant = self.constant(index)
        if constant is None:
            shape = self.shape(index)
            length = shape[0] if shape is not None and len(shape) == 1 else 1 if shape == () else None
            return (None,) * length if isinstance(length, int) and length <= MAX_DATA else None
        sizes = [
            each
            for each in constant.values
            if each is None or (isinstance(each, int | Dim) and not isinstance(each, bool))
        ]
        if len(constant.dims) > 1 or len(sizes) < len(constant.values):
            raise Violation("", f"{self.parameter(index)} is no list of integers")
        return tuple(sizes)

    def numbers(self, index: int) -> tuple[int, ...] | None:
        """Return the elements of an integer input of rank 0 or 1, None where one of them is not a known number."""
        sizes = self.sizes(index)
        if sizes is None or not all(isinstance(each, int) for each in sizes):
            return None
        return tuple([int(each) for each in sizes if isinstance(each, int)])

    def attribute(self, name: str) -> Any:
        """Return an attribute, or its default; None where there is neither, or this version has no such attribute.

        It is an int, float, str, the message of a tensor, type or graph, or a tuple of these. Raises TypeError where it
        is of another type than the schema says.
        """
        if name not in self._attributes:
            formal = self.schema.attributes.get(name)
            found = None if formal is None else self._find(name)
            if formal is not None and found is None:
                found = formal.default
            elif formal is not None and not _has_attribute_type(found, formal.type):
                raise TypeError(f"the attribute {name} is not of the type {formal.type}")
            self._attributes[name] = found
        return self._attributes[name]

    def axis(self, value: int, rank: int, label: str = "") -> int:
        """Return an axis counted from the front. Raises Violation with the label where it is out of range."""
        if not -rank <= value < rank:
            raise Violation(label, f"axis {value}, rank {rank}")
        return value % rank

    def doubt(self, reason: str) -> None:
        """Note why not everything is known of the outputs."""
        self.doubts.append(reason)

    same = staticmethod(common_size)


_PLAIN: dict[str, tuple[type, ...]] = {"int": (int,), "float": (float,), "string": (str, bytes)}


def _has_attribute_type(value: Any, kind: str) -> bool:
    """Return whether an attribute's value is of the type that schemas call `kind`; elements of lists are all alike."""
    if isinstance(value, tuple) != kind.endswith("s"):
        return False
    first = (value[0] if value else None) if isinstance(value, tuple) else value
    plain = _PLAIN.get(kind.removesuffix("s"))
    if plain is None:
        return not isinstance(first, int | float | str | bytes)
    return isinstance(first, plain) or value == ()
