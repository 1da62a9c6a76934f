"""The dimension variables of one inference: those that the model names, and those made for sizes without a name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from opset.inference.building.dimensions import Dim, Size, TooComplex, parse_size, substitute, variable, variables
from opset.inference.building.types import Type, type_from_proto
from opset.inference.building.work import NAME_BYTES, NAME_STEPS, charge
from opset.inference.engine.scopes import Scope


class Sizes:
    """The dimension variables of one model; `bound` has the numbers that a caller gave for some of them."""

    def __init__(self, bound: Mapping[str, int]) -> None:
        """Store the numbers that the caller gave for variables, by name."""
        self.bound = bound
        self.of_inputs: set[str] = set()
        """Variables that the model's own inputs state."""
        self._stated: dict[str, Size | None] = {}
        self._made: dict[tuple[Any, str, int], Dim] = {}
        self._taken: set[str] = set()
        self._numbers: Counter[str] = Counter()

    def add_inputs(self, values: Iterable[Any]) -> None:
        """Record the variables in the types of inputs, which are ValueInfoProtos of a main or training graph.

        No variable that is made later gets one of these names.
        """
        names = variables_of(values)
        self.of_inputs |= names
        self._taken |= names

    @property
    def variables(self) -> set[str]:
        """The names of all variables that were read from the model, also bound ones, or made for unknown sizes."""
        stated = {name for size in self._stated.values() for name in variables(size)}
        bound = {name for name in self._stated if name in self.bound}
        return stated | bound | {str(symbol) for symbol in self._made.values()}

    def read_dimension(self, dim: Any) -> Size | None:
        """Return the size that a Dimension message states, None if it states none.

        A negative number gives None. A dim_param such as "N" is a variable, the same one in the whole model. If this
        variable is bound to a number, the number is returned. A dim_param such as "2*N" is an expression. A dim_param
        that is malformed, negative or too complex gives None.
        """
        if dim.WhichOneof("value") == "dim_value":
            # Some exporters write -1 for a size that they do not know.
            number: int = dim.dim_value
            return number if number >= 0 else None
        text = dim.dim_param
        if not text:
            return None
        if text not in self._stated:
            self._stated[text] = self._parse_dim_param(text)
        return self._stated[text]

    def _parse_dim_param(self, text: Any) -> Size | None:
        """Return the size that a dim_param means, with bound variables replaced by their numbers.

        A text that is no expression is the name of a variable. The result is None if the size is negative, too complex
        or malformed.
        """
        try:
            if text.__class__ is bytes:
                return None
            if text in self.bound:
                return self.bound[text]
            size = parse_size(text)
            bound_size = variable(text) if size is None else substitute(size, self.bound)
        except (TooComplex, ArithmeticError, ValueError):
            return None
        return None if isinstance(bound_size, int) and bound_size < 0 else bound_size

    def name_unknown_sizes(self, scope: Scope, type_: Type | None, name: str) -> Type | None:
        """Return the type of the value `name` with a variable such as "y_d0" for each unknown size.

        If the caller bound such a variable to a number, this number is the size. Sizes in sequences and maps stay
        unknown. The variables are added to `scope.local`.
        """
        if type_ is None or type_.kind in ("seq", "map"):
            return type_
        if type_.kind == "optional":
            inner = self.name_unknown_sizes(scope, type_.inner, name)
            return type_ if inner == type_.inner else type_._replace(inner=inner)
        if type_.shape is None or None not in type_.shape:
            return type_
        shape = [
            self._variable_of(scope, name, axis) if size is None else size for axis, size in enumerate(type_.shape)
        ]
        return type_._replace(shape=tuple(shape))

    def _variable_of(self, scope: Scope, name: str, axis: int) -> Size:
        """Return the variable "<name>_d<axis>" for an unknown size, or its number if it is bound to one.

        If another variable has this name, "_1", "_2" or so is appended. Later calls for the same value and axis of the
        scope return the same variable. The variable is added to `scope.local`.
        """
        key = (scope.key, name, axis)
        if key not in self._made:
            charge(NAME_STEPS, NAME_BYTES)
            stem = re.sub(r"[^A-Za-z0-9_]", "_", str(name)[:40])
            stem = f"{'_' * (not stem[:1].isalpha() and stem[:1] != '_')}{stem}_d{axis}"
            text = stem
            while text in self._taken:
                self._numbers[stem] += 1
                text = f"{stem}_{self._numbers[stem]}"
            self._taken.add(text)
            self._made[key] = variable(text)
        symbol = self._made[key]
        scope.local.add(str(symbol))
        return self.bound.get(str(symbol), symbol)


def variables_of(values: Iterable[Any]) -> set[str]:
    """Return the names of the variables in the types of ValueInfoProtos, also within expressions such as "2*N"."""
    names: set[str] = set()

    def size(dim: Any) -> Size | None:
        """Add the variables of a Dimension message to `names`, and return None."""
        text = dim.dim_param
        if text and text.__class__ is str:
            stated = parse_size(text)
            names.update((text,) if stated is None else variables(stated))
        return None

    for value in values:
        type_from_proto(value.type, size)
    return names
