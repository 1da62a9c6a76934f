"""How the types of a model's inputs and outputs changed: which values it takes or promises now, and did not before.

A shape with variables stands for all shapes that it admits, and a variable for the same size in all inputs and outputs.
New inputs take what the old ones took if each new variable can stand for one old size: [N, M] takes what [N, N] took,
and [B, 3] what [N, 3] took, but [N, N] not what [N, M] took. A size without a name, or with one that no other size has,
may be any number. Of outputs, the sizes that inputs decide are compared by what callers of the old model feed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, permutations
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from opset.errors import quote, safe_text
from opset.inference.building.dimensions import Dim, Size, TooComplex, substitute, variable, variables
from opset.inference.engine.sizes import Sizes
from opset.model.elements import ELEMENTS, element_name
from opset.model.storage.encoding import pattern_values
from opset.model.types import type_string

Relation = Literal["meaning", "type", "type-widened", "sizes", "narrowed", "widened"]
"""How a new type relates to the old one.

"meaning": it has another denotation; "type": neither has the values of the other; "type-widened": each value of the old
element type is one of the new; "sizes": shapes that exclude each other; "narrowed", "widened": fewer or more values.
"""

_INNER: Final = {"sequence_type": "elem_type", "map_type": "value_type"}
_NEW: Final = "~"
"""The beginning of variables of the new model, which are not those of the old one."""
_MOST_RENAMINGS: Final = 120
"""Ways to name the variables of an expression that are tried: all for 5 variables."""
_INTEGER: Final = re.compile(r"(u?)int(\d+)")
_WIDER: Final = {
    "float16": {"float", "double"},
    "bfloat16": {"float", "double"},
    "float": {"double"},
    "complex64": {"complex128"},
    "float8e8m0": {"bfloat16", "float", "double"},
}
_SMALL: Final = {each.name: each.number for each in ELEMENTS.values() if each.small_float}
"""The numbers of the float types of at most 8 bits, by name."""


class TypeChange(NamedTuple):
    """A change of the type of an input or output: the part of it that changed, "" for all, and both states of that."""

    relation: Relation
    part: str
    before: str
    after: str


class _SizePair(NamedTuple):
    """A dimension of the old and the new type; a size is None if it is not known."""

    part: str
    old: Size | None
    new: Size | None


_Relate: TypeAlias = Callable[[_SizePair], "Relation | None"]


class _Admission:
    """Whether shapes of one model (the patterns) take the sizes of another model, with variables as in a pattern match.

    A variable stands for one size at all its places. The variables in `decided` are stated by inputs, so that an output
    cannot choose them.
    """

    def __init__(self, sizes: Sequence[Size | None], decided: frozenset[str] = frozenset()) -> None:
        """Begin with no variable bound. `sizes` are all patterns: they show which variables are at one place only."""
        self.bound: dict[str, Size | None] = {}
        self.uses = Counter(name for size in sizes for name in variables(size))
        self._decided = decided

    def bind(self, pattern: Size | None, size: Size | None) -> None:
        """Let a pattern that is one variable stand for `size`, unless it stands for one already; others are ignored."""
        if (name := _variable_name(pattern)) is not None:
            self.bound.setdefault(name, size)

    def admits(self, pattern: Size | None, size: Size | None) -> bool:
        """Return whether a pattern can stand for a size; a size of None is any number, a pattern of None takes all.

        Variables of the pattern that get their sizes by this are bound, and have the same sizes in later calls. A
        variable in `decided` stands for nothing. A variable that is at one place only takes any size.
        """
        if pattern is None or isinstance(pattern, int):
            return pattern is None or pattern == size
        names = variables(pattern)
        if names & self._decided:
            return False
        if (name := _variable_name(pattern)) is not None:
            if self.uses[name] == 1:
                return True
            return size is not None and self.bound.setdefault(name, size) == size
        if not isinstance(size, Dim) or names <= self.bound.keys():
            return size is not None and replace_variables(pattern, self.bound) == size
        # The terms of a size are sorted by names, so that those of another model may be in another order.
        free = [name for name in _in_order(pattern) if name not in self.bound]
        known = {name: self.bound[name] for name in names if name in self.bound}
        for chosen in islice(permutations(_in_order(size), len(free)), _MOST_RENAMINGS):
            values = known | dict(zip(free, map(variable, chosen), strict=True))
            if replace_variables(pattern, values) == size:
                self.bound |= values
                return True
        return False


class TypeComparison:
    """Compares the types of the inputs, and then of the outputs, of an old and a new model."""

    def __init__(self) -> None:
        """Begin a comparison: `compare_inputs` comes first, then `compare_outputs`."""
        self._old_sizes, self._new_sizes = Sizes({}), Sizes({})
        self._marks: dict[Size, Size | None] = {}
        self._taken = _Admission(())
        self._fed = _Admission(())

    def compare_inputs(self, pairs: Sequence[tuple[Any, Any]]) -> list[list[TypeChange]]:
        """Return the changes of each pair of inputs, (old TypeProto, new TypeProto); [] for a pair without changes.

        To be called once, before `compare_outputs`: it notes for which old sizes the new variables stand.
        """
        parts = [list(self._parts(old, new)) for old, new in pairs]
        sizes = [part for each in parts for part in each if isinstance(part, _SizePair)]
        self._taken, self._fed = _Admission([each.new for each in sizes]), _Admission([each.old for each in sizes])
        for each in sizes:
            self._taken.bind(each.new, each.old)
            self._fed.bind(each.old, each.new)

        def relation(pair: _SizePair) -> Relation | None:
            """Return how a size of the new inputs relates to the old one, None if they take the same."""
            return _relation(self._taken.admits(pair.new, pair.old), self._fed.admits(pair.old, pair.new))

        return [list(_changes(each, relation)) for each in parts]

    def compare_outputs(self, pairs: Sequence[tuple[Any, Any]]) -> list[list[TypeChange]]:
        """Return the changes of each pair of outputs, (old TypeProto, new TypeProto); [] for a pair without changes.

        To be called after `compare_inputs`: sizes that inputs decide are compared by the inputs' variables.
        """
        parts = [list(self._parts(old, new)) for old, new in pairs]
        sizes = [part for each in parts for part in each if isinstance(part, _SizePair)]
        kept = _Admission([each.old for each in sizes], frozenset(self._fed.uses))
        looser = _Admission([each.new for each in sizes], frozenset(self._taken.uses))

        def relation(pair: _SizePair) -> Relation | None:
            """Return how a size of the new outputs relates to the old one, None if they promise the same."""
            old, new = pair.old, pair.new
            fed = None if new is None else replace_variables(new, self._taken.bound)
            if old is not None and new is not None and (fed == old or replace_variables(old, self._fed.bound) == new):
                return None
            return _relation(looser.admits(new, old), kept.admits(old, new if fed is None else fed))

        return [list(_changes(each, relation)) for each in parts]

    def _parts(self, old: Any, new: Any) -> Iterator[TypeChange | _SizePair]:
        """Yield how two TypeProtos differ in all but sizes, and then the pairs of their dimensions to be compared.

        If their kinds or ranks differ, dimensions are not yielded, except of the types within optionals.
        """
        whole = type_text(old), type_text(new)
        while True:
            if old.denotation and new.denotation and old.denotation != new.denotation:
                yield TypeChange("meaning", "", quote(old.denotation), quote(new.denotation))
            kind, new_kind = old.WhichOneof("value"), new.WhichOneof("value")
            if kind != new_kind:
                yield TypeChange(_kind_relation(kind, new_kind), "", *whole)
                if None in (kind, new_kind) or "optional_type" not in (kind, new_kind):
                    return
                old = old.optional_type.elem_type if kind == "optional_type" else old
                new = new.optional_type.elem_type if new_kind == "optional_type" else new
                continue
            if kind is None:
                return
            stated, new_stated = getattr(old, kind), getattr(new, kind)
            if kind == "opaque_type" and (stated.domain, stated.name) != (new_stated.domain, new_stated.name):
                yield TypeChange("type", "", *whole)
            if kind == "map_type" and stated.key_type != new_stated.key_type:
                yield TypeChange("type", "", *whole)
            if kind in ("tensor_type", "sparse_tensor_type"):
                if (relation := _element_relation(stated.elem_type, new_stated.elem_type)) is not None:
                    yield TypeChange(relation, "", *whole)
                yield from self._shape_parts(stated, new_stated)
            if kind not in ("sequence_type", "map_type", "optional_type"):
                return
            field = _INNER.get(kind, "elem_type")
            old, new = getattr(stated, field), getattr(new_stated, field)

    def _shape_parts(self, old: Any, new: Any) -> Iterator[TypeChange | _SizePair]:
        """Yield how the shapes of two tensor types differ in rank and denotations, and the pairs of their dimensions.

        Pairs are yielded only if both ranks are known and equal.
        """
        known, new_known = old.HasField("shape"), new.HasField("shape")
        rank, new_rank = len(old.shape.dim), len(new.shape.dim)
        texts = f"rank {rank}" if known else "any rank", f"rank {new_rank}" if new_known else "any rank"
        if known != new_known:
            yield TypeChange("narrowed" if new_known else "widened", "", *texts)
        elif rank != new_rank:
            yield TypeChange("sizes", "", *texts)
        else:
            for axis, (dim, new_dim) in enumerate(zip(old.shape.dim, new.shape.dim, strict=True)):
                part = f"dimension {axis}"
                if dim.denotation and new_dim.denotation and dim.denotation != new_dim.denotation:
                    yield TypeChange("meaning", part, quote(dim.denotation), quote(new_dim.denotation))
                yield _SizePair(part, self._old_sizes.read_dimension(dim), self._mark_dimension(new_dim))

    def _mark_dimension(self, dim: Any) -> Size | None:
        """Return the size that a Dimension message of the new model states, None if it is not known. Cached.

        Its variables get the prefix _NEW, so that they are none of the old model's.
        """
        size = self._new_sizes.read_dimension(dim)
        if size is not None and size not in self._marks:
            self._marks[size] = _mark(size)
        return None if size is None else self._marks[size]


def type_text(proto: Any) -> str:
    """Return a TypeProto as text without shapes: "tensor(float)"; "no stated type" for an empty one."""
    kind = proto.WhichOneof("value")
    if kind == "opaque_type":
        return f"opaque({safe_text(proto.opaque_type.domain)}, {safe_text(proto.opaque_type.name)})"
    return type_string(proto) or ("no stated type" if kind is None else f"{kind.removesuffix('_type')} of unknown type")


def widens(old: str, new: str) -> bool:
    """Return whether each value of the element type `old` is also one of `new`, a larger type of the same kind.

    For example, uint8 and int16, float16 and float, or float4e2m1 and float8e4m3fn; not int8 and uint16, nor int8 and
    float. Equal types are no larger ones.
    """
    first, second = _INTEGER.fullmatch(old), _INTEGER.fullmatch(new)
    if first and second:
        bits, new_bits = int(first[2]), int(second[2])
        return (bits < new_bits) and (first[1] == second[1] or bool(first[1]))
    if old in _SMALL and new in _SMALL:
        values, new_values = ({*map(repr, pattern_values(_SMALL[each]))} for each in (old, new))  # -0.0 is not 0.0
        return values < new_values
    return new in _WIDER.get(old, {"float16", "bfloat16", "float", "double"} if old in _SMALL else ())


def replace_variables(size: Size, values: Mapping[str, Size | None]) -> Size | None:
    """Return a size with variables replaced by their `values`; others stay.

    The result is None if one of the values is None, not known, or if the result is too complex.
    """
    if (single := _variable_name(size)) is not None:
        return values.get(single, size)
    known: dict[str, Size] = {}
    for name in filter(values.__contains__, variables(size)):
        if (value := values[name]) is None:
            return None
        known[name] = value
    try:
        return substitute(size, known)
    except (TooComplex, ArithmeticError):
        return None


def _kind_relation(old: str | None, new: str | None) -> Relation:
    """Return how the kinds of two types relate, which are different: "widened", "narrowed" or "type".

    A kind is the name of a field of TypeProto, "tensor_type"; None if it is not stated, which takes all kinds. An
    optional takes what the type within it takes.
    """
    if new is None or (new == "optional_type" and old is not None):
        return "widened"
    return "narrowed" if old in (None, "optional_type") else "type"


def _element_relation(old: int, new: int) -> Relation | None:
    """Return how two element types, given by number, relate; None if they are the same.

    0 is a type that is not stated, which takes all types.
    """
    if old == new:
        return None
    if not (old and new):
        return "widened" if old else "narrowed"
    return "type-widened" if widens(element_name(old) or "", element_name(new) or "") else "type"


def _relation(admits_old: bool, admits_new: bool) -> Relation | None:
    """Return how new sizes relate to old ones, None if they are the same.

    `admits_old` says whether the new ones take all that the old ones take, `admits_new` the reverse. "sizes" means
    neither.
    """
    if admits_old:
        return None if admits_new else "widened"
    return "narrowed" if admits_new else "sizes"


def _changes(parts: Sequence[TypeChange | _SizePair], relation: _Relate) -> Iterator[TypeChange]:
    """Yield the changes of a type from its parts; `relation` finds how a pair of sizes changed, None if it did not."""
    for part in parts:
        if isinstance(part, TypeChange):
            yield part
        elif (found := relation(part)) is not None:
            before, after = _size_text(part.old), _size_text(_without_marks(part.new))
            yield TypeChange(found, part.part, before, after if after != before else f"{after}, another size")


def _mark(size: Size) -> Size | None:
    """Return a size in which each variable has the prefix _NEW, None if that is too complex."""
    try:
        return substitute(size, {name: variable(_NEW + name) for name in variables(size)})
    except (TooComplex, ArithmeticError):
        return None


def _without_marks(size: Size | None) -> Size | None:
    """Return a size without the prefix _NEW of its variables, None if it is None."""
    if size is None:
        return None
    return replace_variables(size, {name: variable(name.removeprefix(_NEW)) for name in variables(size)})


def _variable_name(size: Size | None) -> str | None:
    """Return the name of a size that is nothing but a variable, "N"; None for any other, such as "2*N" or 3."""
    if not isinstance(size, Dim) or len(size.terms) != 1:
        return None
    ((atoms, factor),) = size.terms
    return atoms[0] if factor == 1 and len(atoms) == 1 and isinstance(atoms[0], str) else None


def _in_order(size: Dim) -> list[str]:
    """Return the names of the variables in a size in the order of its text: ["M", "N"] for 2*M + N."""
    text = str(size)
    return sorted(variables(size), key=lambda name: (text.find(name), name))


def _size_text(size: Size | None) -> str:
    """Return a size as text, "?" for one that is not known."""
    return "?" if size is None else safe_text(size)
