"""The dimension variables of two models that become one: connected sizes are one size, and other names differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from opset.inference.building.dimensions import (
    Dim,
    Size,
    TooComplex,
    substitute,
    variable,
    variables,
)
from opset.inference.building.types import Type, type_from_proto
from opset.inference.engine.sizes import Sizes
from opset.model.graph.index import FreshNames

_INNER = {"sequence_type": "elem_type", "optional_type": "elem_type", "map_type": "value_type"}


class JoinedSizes:
    """The sizes of two models: what variables of each become."""

    def __init__(self, first: Iterable[Any], second: Iterable[Any]) -> None:
        """Collect the variables in the ValueInfoProtos of two models."""
        self._sizes = Sizes({})
        self._variables = [self._variables_in(values) for values in (first, second)]
        self._values: list[dict[str, Size]] = [{}, {}]
        """By model: the sizes, of variables of the first model, that take the place of variables."""

    def _variables_in(self, values: Iterable[Any]) -> set[str]:
        """Return the names of the variables in ValueInfoProtos."""
        sizes = (self._sizes.read_dimension(dim) for dim in dims_of(values) if dim.dim_param)
        return {name for size in sizes for name in variables(size)}

    def read_type(self, proto: Any) -> Type | None:
        """Return the type that a TypeProto states."""
        return type_from_proto(proto, self._sizes.read_dimension)

    def connect(self, first: Size | None, second: Size | None) -> bool:
        """Make a size of the first model and one of the second the same; return False if they are not."""
        first = self._resolve(first)
        if first is None or second is None:
            return True
        if (name := _only_variable(second)) is not None:
            return self._equate(self._values[1].setdefault(name, first), first)
        return not isinstance(second, int) or self._equate(first, second)

    def _resolve(self, size: Size | None) -> Size | None:
        """Return a size of the first model with what takes the place of its variables, None if it is too complex."""
        values = self._values[0]
        while isinstance(size, Dim) and not values.keys().isdisjoint(variables(size)):
            size = _replace_variables(size, values)
        return size

    def _resolve_or_keep(self, size: Size) -> Size:
        """Return a size of the first model with what takes the place of its variables, if that is not too complex."""
        resolved = self._resolve(size)
        return size if resolved is None else resolved

    def _equate(self, one: Size, other: Size) -> bool:
        """Make two sizes of the first model the same; return False if they are different numbers."""
        left, right = self._resolve(one), self._resolve(other)
        if left is None or right is None or left == right:
            return True
        if isinstance(left, int) and isinstance(right, int):
            return False
        for size, value in ((right, left), (left, right)):
            name = _only_variable(size)
            if name is not None and (isinstance(value, int) or name not in variables(value)):
                self._values[0][name] = value
                break
        return True

    def finish(self) -> tuple[dict[str, str], dict[str, str]]:
        """Choose names for variables of the second model that the first has, too.

        Returns:
            What became of variables of each model, as text by name.
        """
        first, second = self._values
        for name, size in second.items():
            second[name] = self._resolve_or_keep(size)
        names = FreshNames.beside(self._variables[0] | self._variables[1])
        for name in sorted(self._variables[1] & self._variables[0] - second.keys()):
            second[name] = variable(names.fresh(name))
        for name in first:
            first[name] = self._resolve_or_keep(first[name])
        one, other = ({old: str(new) for old, new in values.items() if str(new) != old} for values in self._values)
        return one, other

    def apply(self, number: int, values: Iterable[Any]) -> None:
        """Replace the variables in the ValueInfoProtos of a model, 0 or 1."""
        new = self._values[number]
        if not new:
            return
        texts: dict[str, Size | None] = {}
        for dim in dims_of(values):
            text = dim.dim_param
            if not text:
                continue
            if text not in texts:
                size = self._sizes.read_dimension(dim)
                texts[text] = None if size is None else _replace_variables(size, new)
            size = texts[text]
            if size is None:
                dim.ClearField("dim_param")  # too complex to be told from the other model's
            elif isinstance(size, int):
                dim.dim_value = size
            elif str(size) != text:
                dim.dim_param = str(size)


def _replace_variables(size: Size, values: Mapping[str, Size]) -> Size | None:
    """Return a size with variables replaced, None if it becomes too complex."""
    try:
        return substitute(size, values)
    except (TooComplex, ArithmeticError):
        return None


def _only_variable(size: Size) -> str | None:
    """Return the name of the variable that a size is, None if it is anything else."""
    if isinstance(size, Dim):
        names = variables(size)
        if len(names) == 1 and size == variable(name := next(iter(names))):
            return name
    return None


def dims_of(values: Iterable[Any]) -> Iterator[Any]:
    """Yield the Dimension messages in the types of ValueInfoProtos."""
    for value in values:
        kind = value.type
        while (field := kind.WhichOneof("value")) in _INNER:
            kind = getattr(getattr(kind, field), _INNER[field])
        if field in ("tensor_type", "sparse_tensor_type"):
            yield from getattr(kind, field).shape.dim


def type_conflict(first: Type | None, second: Type | None, connect: Callable[[Size | None, Size | None], bool]) -> str:
    """Return how the types of two connected values contradict each other, "" if they do not."""
    one, other = first, second
    while one is not None and other is not None:
        if one.kind != other.kind or (one.element and other.element and one.element != other.element):
            return f"{first} is not {second}"
        if one.shape is not None and other.shape is not None:
            if len(one.shape) != len(other.shape):
                return f"{first} has rank {len(one.shape)}, and {second} rank {len(other.shape)}"
            for axis, (left, right) in enumerate(zip(one.shape, other.shape, strict=True)):
                if not connect(left, right):
                    return f"the sizes of {first} and {second} differ along axis {axis}"
        one, other = one.inner, other.inner
    return ""
