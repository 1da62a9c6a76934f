"""Types of values, with shapes whose sizes may be symbolic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from opset.errors import LONGEST
from opset.inference.building.dimensions import Dim, Size, equal
from opset.model import proto as pb
from opset.model.elements import NUMBERS, element_name

Shape = tuple[Size | None, ...]
"""Sizes; None where one is not known and need not be the same wherever this type is."""
KnownShape = tuple[Size, ...]
"""Sizes that are all known, if only by variables."""
MAX_RANK = 64
"""Rank of the largest shape that is worked with, as large as numpy's: a model may state one of millions."""
_MAX_NESTING = 64


class Type(NamedTuple):
    """What is known of a value.

    - `kind`: "tensor", "sparse_tensor", "seq", "optional" or "map";
    - `element`: the element type of a tensor, the key type of a map; None where it is not known;
    - `shape`: of a tensor, None where not even the rank is known;
    - `inner`: what a sequence or an optional is of, the values of a map; None where it is not known.
    """

    kind: str
    element: str | None = None
    shape: Shape | None = None
    inner: Type | None = None

    @property
    def text(self) -> str | None:
        """The type without shapes, as schemas spell it: "seq(tensor(float))"; None where a part is not known."""
        around, inside = unwrap_layers(self)
        if inside is None or inside.element is None or any(each.kind == "map" and not each.element for each in around):
            return None
        # The standard writes a map's scalar value without "tensor".
        scalar = inside.kind == "tensor" and bool(around) and around[-1].kind == "map"
        return _wrap_text(around, inside.element if scalar else f"{inside.kind}({inside.element})")

    def __str__(self) -> str:
        around, inside = unwrap_layers(self)
        if inside is None:
            return _wrap_text(around, "?")
        return _wrap_text(
            around, f"{'sparse ' * (inside.kind != 'tensor')}{inside.element or '?'}{shape_text(inside.shape)}"
        )


def unwrap_layers(type_: Type | None) -> tuple[list[Type], Type | None]:
    """Return the sequences, optionals and maps of a type, from the outside in, and the tensors in them, if known."""
    around: list[Type] = []
    while type_ is not None and type_.kind not in ("tensor", "sparse_tensor"):
        around.append(type_)
        type_ = type_.inner
    return around, type_


def _wrap_text(around: Iterable[Type], inside: str) -> str:
    words = [f"map({each.element or '?'}, " if each.kind == "map" else f"{each.kind}(" for each in around]
    return "".join(words) + inside + ")" * len(words)


def tensor(element: str | None, shape: Iterable[Size | None] | None = None) -> Type:
    """Return the type of tensors of an element type and a shape."""
    return Type("tensor", element, None if shape is None else tuple(shape))


def is_rankless(type_: Type | None) -> bool:
    """Whether a value may be a tensor whose rank is not known."""
    return type_ is None or (type_.kind == "tensor" and type_.shape is None)


def shape_of_dims(dims: Sequence[int]) -> Shape | None:
    """Return the shape that a TensorProto states, None for one of too great rank."""
    return tuple([size if size >= 0 else None for size in dims]) if len(dims) <= MAX_RANK else None


def sequence(inner: Type | None) -> Type:
    """Return the type of sequences of values of a type. In it, a size is known only where all values share it."""
    return Type("seq", None, None, inner)


def optional(inner: Type | None) -> Type:
    """Return the type of optional values of a type."""
    return Type("optional", None, None, inner)


def shape_text(shape: Shape | None) -> str:
    """Return a shape as text, "[2, N, ?]", cut where it is very long; "" where the rank is not known."""
    text = "" if shape is None else f"[{', '.join('?' if each is None else str(each) for each in shape)}]"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…]"


@lru_cache(maxsize=4096)
def parse_type(text: str) -> Type | None:
    """Return the type of a type string, "seq(tensor(float))"; its shapes are not known."""
    if text.startswith(("tensor(", "sparse_tensor(")):
        return Type(text[: text.index("(")], text[text.index("(") + 1 : -1])
    for kind in ("seq", "optional"):
        if text.startswith(f"{kind}("):
            return Type(kind, None, None, parse_type(text[len(kind) + 1 : -1]))
    if text.startswith("map("):
        key, _, value = text[4:-1].partition(",")
        value = value.strip()
        return Type("map", key, None, parse_type(value if "(" in value else f"tensor({value})"))
    return None


def type_from_proto(proto: Any, size: Callable[[Any], Size | None]) -> Type | None:
    """Return the type that a TypeProto states, None where it states none; `size` reads a Dimension message."""
    wrappers: list[tuple[str, str | None]] = []
    inner: Type | None = None
    while len(wrappers) < _MAX_NESTING:
        kind = proto.WhichOneof("value")
        if kind in ("tensor_type", "sparse_tensor_type"):
            stated = getattr(proto, kind)
            shape = None
            if stated.HasField("shape") and len(stated.shape.dim) <= MAX_RANK:
                shape = tuple([size(dim) for dim in stated.shape.dim])
            inner = Type(kind[:-5], element_name(stated.elem_type), shape)
            break
        if kind in ("sequence_type", "optional_type"):
            wrappers.append(("seq" if kind[0] == "s" else "optional", None))
            proto = getattr(proto, kind).elem_type
        elif kind == "map_type":
            wrappers.append(("map", element_name(proto.map_type.key_type)))
            proto = proto.map_type.value_type
        else:
            break
    for kind, element in reversed(wrappers):
        inner = Type(kind, element, None, inner)
    return inner


def type_to_proto(type_: Type) -> Any:
    """A type as a TypeProto. Sizes with variables become a dim_param, those that do not fit 64 bits stay unset."""
    whole = proto = pb.TypeProto()
    around, inside = unwrap_layers(type_)
    for each in around:
        if each.kind == "map":
            proto.map_type.key_type = NUMBERS.get(each.element or "", 0)
            proto = proto.map_type.value_type
        else:
            part = proto.sequence_type if each.kind == "seq" else proto.optional_type
            part.SetInParent()
            proto = part.elem_type
    if inside is None:
        return whole
    stated = getattr(proto, f"{inside.kind}_type")
    stated.SetInParent()
    if inside.element is not None:
        stated.elem_type = NUMBERS[inside.element]
    if inside.shape is not None:
        stated.shape.SetInParent()
        for size in inside.shape:
            dim = stated.shape.dim.add()
            if isinstance(size, Dim):
                dim.dim_param = str(size)
            elif size is not None and 0 <= size < 2**63:
                dim.dim_value = size
    return whole


def fill_proto(proto: Any, type_: Type, overwrite: bool) -> None:
    """Complete a TypeProto by what is known, its denotations kept; with `overwrite`, replace what differs."""
    while type_.kind in ("seq", "optional", "map"):
        field = {"seq": "sequence_type", "optional": "optional_type", "map": "map_type"}[type_.kind]
        if proto.WhichOneof("value") != field:
            if proto.WhichOneof("value") is None or overwrite:
                proto.MergeFrom(type_to_proto(type_))
            return
        if type_.inner is None:
            return
        proto = getattr(proto, field).value_type if type_.kind == "map" else getattr(proto, field).elem_type
        type_ = type_.inner
    field, made = f"{type_.kind}_type", type_to_proto(type_)
    if proto.WhichOneof("value") != field:
        if proto.WhichOneof("value") is None or overwrite:
            proto.MergeFrom(made)
        return
    stated, found = getattr(proto, field), getattr(made, field)
    if found.elem_type and (overwrite or not stated.elem_type):
        stated.elem_type = found.elem_type
    if not found.HasField("shape"):
        return
    if not stated.HasField("shape") or (overwrite and len(stated.shape.dim) != len(found.shape.dim)):
        stated.shape.CopyFrom(found.shape)
        return
    for mine, new in zip(stated.shape.dim, found.shape.dim, strict=False):
        kind = new.WhichOneof("value")
        if kind == "dim_value" and (overwrite or not mine.HasField("dim_value") or mine.dim_value < 0):
            mine.dim_value = new.dim_value
        elif kind == "dim_param" and (overwrite or mine.WhichOneof("value") is None or mine.dim_value < 0):
            mine.dim_param = new.dim_param


def join_types(left: Type | None, right: Type | None) -> Type | None:
    """Return what is true of a value that is of the one type or the other; sizes that differ are not known."""
    if left == right or left is None or right is None:
        return left if left == right else None
    if left.kind != right.kind:
        return None
    shape = None
    if left.shape is not None and right.shape is not None and len(left.shape) == len(right.shape):
        shape = tuple([a if a == b else None for a, b in zip(left.shape, right.shape, strict=True)])
    element = left.element if left.element == right.element else None
    return Type(left.kind, element, shape, join_types(left.inner, right.inner))


def map_sizes(type_: Type | None, size: Callable[[Size | None], Size | None]) -> Type | None:
    """Return a type with every size replaced."""
    if type_ is None:
        return None
    shape = None if type_.shape is None else tuple([size(each) for each in type_.shape])
    return type_._replace(shape=shape, inner=map_sizes(type_.inner, size))


def combine_types(
    stated: Type | None, found: Type | None, better: Callable[[Size, Size], bool]
) -> tuple[Type | None, str]:
    """Return what is true of a value by two sources, and "" or why they cannot both be right.

    `stated` is what the model says, `found` what was inferred; where they contradict each other, `found` is given. Of
    two sizes that do not, a number that was found counts most; else `better(stated, found)` says whether that does.
    """
    if stated is None or found is None or stated == found:
        return stated if found is None else found, ""
    if stated.kind != found.kind:
        return found, f"{stated} is stated, {found} is inferred"
    if stated.element != found.element and stated.element is not None and found.element is not None:
        return found, f"{stated} is stated, {found} is inferred"
    inner, why = combine_types(stated.inner, found.inner, better)
    shape = found.shape if found.shape is not None else stated.shape
    if stated.shape is not None and found.shape is not None:
        if len(stated.shape) != len(found.shape):
            return found, f"{stated} is stated, {found} is inferred"
        sizes: list[Size | None] = []
        for one, other in zip(stated.shape, found.shape, strict=True):
            if one is None or other is None:
                sizes.append(one if other is None else other)
                continue
            if equal(one, other) is False:
                return found, f"{stated} is stated, {found} is inferred"
            sizes.append(other if isinstance(other, int) or better(one, other) else one)
        shape = tuple(sizes)
    return Type(found.kind, found.element or stated.element, shape, inner), why
