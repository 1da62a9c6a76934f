"""Types of values, with shapes whose sizes may be symbolic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from opset.errors import LONGEST, safe_text
from opset.inference.building.dimensions import Dim, Size, equal
from opset.inference.limits import MAX_NESTING, MAX_RANK
from opset.model import proto as pb
from opset.model.elements import NUMBERS, element_name

Shape = tuple[Size | None, ...]
"""Sizes; None for one that is not known, and that may differ between values of one type."""
KnownShape = tuple[Size, ...]
"""Sizes that are all known, if only by variables."""


_LAYERS = ("seq", "optional", "map")
"""Kinds of types that have a type inside."""


class Type(NamedTuple):
    """The type of a value as far as it is known.

    - `kind`: "tensor", "sparse_tensor", "opaque", "seq", "optional" or "map";
    - `element`: the element type of a tensor, the key type of a map, "domain, name" of an opaque type; None if unknown,
      and for "seq" and "optional";
    - `shape`: the sizes of a tensor, None if not even the rank is known, and for other kinds;
    - `inner`: the type of the elements of a sequence, the content of an optional, or the values of a map; None if
      unknown, and for other kinds.
    """

    kind: str
    element: str | None = None
    shape: Shape | None = None
    inner: Type | None = None

    @property
    def text(self) -> str | None:
        """The type without shapes, as schemas spell it, such as "seq(tensor(float))"; None if a part is unknown."""
        if self.kind == "tensor":
            return self.element and f"tensor({self.element})"
        around, inside = unwrap_layers(self)
        keys_known = all(layer.kind != "map" or layer.element for layer in around)
        if inside is None or inside.element is None or not keys_known:
            return None
        # The standard writes a map's scalar value without "tensor".
        scalar = inside.kind == "tensor" and bool(around) and around[-1].kind == "map"
        return _wrap_text(around, inside.element if scalar else f"{inside.kind}({inside.element})")

    def __str__(self) -> str:
        """Return the type with shapes, for messages: "float[2, N]", "seq(?[])"; "?" stands for an unknown part."""
        around, inside = unwrap_layers(self)
        if inside is None:
            return _wrap_text(around, "?")
        if inside.kind == "opaque":
            return safe_text(_wrap_text(around, f"opaque({inside.element})"), LONGEST)
        sparse = "sparse " * (inside.kind != "tensor")
        return _wrap_text(around, f"{sparse}{inside.element or '?'}{shape_text(inside.shape)}")


MaybeType = TypeVar("MaybeType", Type, "Type | None")


def drop_shapes(type_: Type | None) -> Type | None:
    """Return a type with all shapes unknown, also the shapes of types inside it; None for None."""
    return type_ and type_._replace(shape=None, inner=drop_shapes(type_.inner))


def unwrap_layers(type_: Type | None) -> tuple[list[Type], Type | None]:
    """Return the sequences, optionals and maps of a type, outermost first, and the type inside them.

    For a "seq(map(int64, float))", these are the sequence and the map, and the tensor type of floats. The inner type is
    None if it is unknown, and the list is empty for a tensor type.
    """
    around: list[Type] = []
    while type_ is not None and type_.kind in _LAYERS:
        around.append(type_)
        type_ = type_.inner
    return around, type_


def _wrap_text(around: Iterable[Type], inside: str) -> str:
    """Return the text `inside` within the sequences, optionals and maps `around`, outermost first: "seq(float[2])"."""
    words = [f"map({layer.element or '?'}, " if layer.kind == "map" else f"{layer.kind}(" for layer in around]
    return "".join(words) + inside + ")" * len(words)


def tensor(element: str | None, shape: Iterable[Size | None] | None = None) -> Type:
    """Return the type of tensors with this element type, such as "float", and this shape; either is None if unknown."""
    return Type("tensor", element, None if shape is None else tuple(shape))


def element_of(type_: Type | None) -> str | None:
    """Return the element type of a tensor, dense or sparse; None if it is unknown, or if `type_` is no tensor."""
    return type_.element if type_ is not None and type_.kind in ("tensor", "sparse_tensor") else None


def is_rankless(type_: Type | None) -> bool:
    """Whether a type is entirely unknown (None), or is a tensor type of unknown rank."""
    return type_ is None or (type_.kind == "tensor" and type_.shape is None)


def shape_of_dims(dims: Sequence[int]) -> Shape | None:
    """Return the dims of a TensorProto as a shape; a negative size becomes None, which means unknown.

    The result is None, an unknown rank, if there are more than MAX_RANK dims.
    """
    return tuple([size if size >= 0 else None for size in dims]) if len(dims) <= MAX_RANK else None


def sequence(inner: Type | None) -> Type:
    """Return the type of sequences whose elements have the type `inner` (None if this is unknown).

    A size in `inner` that may differ between elements has to be None.
    """
    return Type("seq", None, None, inner)


def optional(inner: Type | None) -> Type:
    """Return the type of optional values, which hold nothing or a value of type `inner` (None if this is unknown)."""
    return Type("optional", None, None, inner)


def shape_text(shape: Shape | None) -> str:
    """Return a shape as text, such as "[2, N, ?]", shortened if it is very long; "" for None, an unknown rank."""
    if shape is None:
        return ""
    text = f"[{', '.join('?' if size is None else str(size) for size in shape)}]"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…]"


@lru_cache(maxsize=4096)
def parse_type(text: str) -> Type | None:
    """Return the type that the text of a schema names, such as "seq(tensor(float))", with unknown shapes.

    The result is None for other text, and for opaque types. Names of element types are not checked.
    """
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
    """Return the type that a TypeProto states, or None if it states none.

    `size` is called with each Dimension message, and returns its size or None. A rank above MAX_RANK counts as unknown,
    and so does a type that is nested too deeply.
    """
    wrappers: list[tuple[str, str | None]] = []
    inner: Type | None = None
    while len(wrappers) < MAX_NESTING:
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
        elif kind == "opaque_type":
            names = filter(None, (proto.opaque_type.domain, proto.opaque_type.name))
            inner = Type("opaque", ", ".join([each if isinstance(each, str) else safe_text(each) for each in names]))
            break
        else:
            break
    for kind, element in reversed(wrappers):
        inner = Type(kind, element, None, inner)
    return inner


def type_to_proto(type_: Type) -> Any:
    """Return a type as a new TypeProto.

    Symbolic sizes become a dim_param with their text, such as "2*N". Unknown parts stay unset, and so do sizes that are
    negative or too large for 64 bits.
    """
    whole = proto = pb.TypeProto()
    around, inside = unwrap_layers(type_)
    for layer in around:
        if layer.kind == "map":
            proto.map_type.key_type = NUMBERS.get(layer.element or "", 0)
            proto = proto.map_type.value_type
        else:
            part = proto.sequence_type if layer.kind == "seq" else proto.optional_type
            part.SetInParent()
            proto = part.elem_type
    if inside is None:
        return whole
    if inside.kind == "opaque":
        domain, _, name = (inside.element or "").rpartition(", ")
        proto.opaque_type.MergeFrom(pb.TypeProto.Opaque(domain=domain, name=name))
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
    """Set in a TypeProto, in place, the parts that it leaves open and that `type_` knows.

    A number in `type_` also replaces a dim_param. Parts that contradict `type_`, such as a shape of another rank, are
    replaced only if `overwrite` is True. Denotations stay.
    """
    while type_.kind in _LAYERS:
        field = {"seq": "sequence_type", "optional": "optional_type", "map": "map_type"}[type_.kind]
        if proto.WhichOneof("value") != field:
            if proto.WhichOneof("value") is None or overwrite:
                proto.MergeFrom(type_to_proto(type_))
            return
        if type_.element and (overwrite or not proto.map_type.key_type):  # the key of a map
            proto.map_type.key_type = NUMBERS[type_.element]
        if type_.inner is None:
            return
        proto = getattr(proto, field).value_type if type_.kind == "map" else getattr(proto, field).elem_type
        type_ = type_.inner
    field = f"{type_.kind}_type"
    wanted_type = type_to_proto(type_)
    if proto.WhichOneof("value") != field:
        if proto.WhichOneof("value") is None or overwrite:
            proto.MergeFrom(wanted_type)
        return
    if type_.kind == "opaque":
        return
    stated = getattr(proto, field)
    wanted = getattr(wanted_type, field)
    if wanted.elem_type and (overwrite or not stated.elem_type):
        stated.elem_type = wanted.elem_type
    if not wanted.HasField("shape"):
        return
    if not stated.HasField("shape") or len(stated.shape.dim) != len(wanted.shape.dim):
        if overwrite or not stated.HasField("shape"):
            stated.shape.CopyFrom(wanted.shape)
        return
    for dim, wanted_dim in zip(stated.shape.dim, wanted.shape.dim, strict=True):
        kind = wanted_dim.WhichOneof("value")
        if kind == "dim_value" and (overwrite or not dim.HasField("dim_value") or dim.dim_value < 0):
            dim.dim_value = wanted_dim.dim_value
        elif kind == "dim_param" and (overwrite or dim.WhichOneof("value") is None or dim.dim_value < 0):
            dim.dim_param = wanted_dim.dim_param


def join_types(left: Type | None, right: Type | None) -> Type | None:
    """Return the type that covers the values of both types: an element type, rank or size that differs is unknown.

    For example, float[2, 3] and float[2, 4] give float[2, ?]. Returns None if one of the types is None, which means
    unknown, or if their kinds differ, such as a tensor and a sequence.
    """
    if left == right or left is None or right is None:
        return left if left == right else None
    if left.kind != right.kind:
        return None
    shape = None
    if left.shape is not None and right.shape is not None and len(left.shape) == len(right.shape):
        shape = tuple([a if a == b else None for a, b in zip(left.shape, right.shape, strict=True)])
    element = left.element if left.element == right.element else None
    return Type(left.kind, element, shape, join_types(left.inner, right.inner))


def map_sizes(type_: MaybeType, replace: Callable[[Size | None], Size | None]) -> MaybeType:
    """Return a type in which each size is replaced by `replace(size)`, also in sequences, optionals and maps.

    `replace` is called for unknown sizes (None), too. The result is None for None; an unknown shape stays unknown.
    """
    if type_ is None:
        return None
    shape = None if type_.shape is None else tuple([replace(size) for size in type_.shape])
    return type_._replace(shape=shape, inner=map_sizes(type_.inner, replace))


def combine_types(
    stated: Type | None, inferred: Type | None, better: Callable[[Size, Size], bool]
) -> tuple[Type | None, str]:
    """Return the combination of a stated and an inferred type, and a text that says how the two contradict each other.

    A part that one of the two leaves open comes from the other one. A part in which they contradict each other is taken
    from the inferred type. The text is "" if there is no contradiction.

    Args:
        stated: the type that the model states, None if it states none.
        inferred: the inferred type, None if it is unknown.
        better: a function that is called as `better(stated_size, inferred_size)` if both are known and the inferred one
            is symbolic; it returns whether the inferred one is kept. An inferred number is always kept.
    """
    if stated is None or inferred is None or stated == inferred:
        return stated if inferred is None else inferred, ""
    differ = stated.element != inferred.element and stated.element is not None and inferred.element is not None
    if differ or stated.kind != inferred.kind:
        return inferred, f"{stated} is stated, {inferred} is inferred"
    inner, why = combine_types(stated.inner, inferred.inner, better)
    shape = inferred.shape if inferred.shape is not None else stated.shape
    if stated.shape is not None and inferred.shape is not None:
        if len(stated.shape) != len(inferred.shape):
            return inferred, f"{stated} is stated, {inferred} is inferred"
        sizes: list[Size | None] = []
        for stated_size, inferred_size in zip(stated.shape, inferred.shape, strict=True):
            if stated_size is None or inferred_size is None:
                sizes.append(stated_size if inferred_size is None else inferred_size)
                continue
            if equal(stated_size, inferred_size) is False:
                return inferred, f"{stated} is stated, {inferred} is inferred"
            prefers_inferred = isinstance(inferred_size, int) or better(stated_size, inferred_size)
            sizes.append(inferred_size if prefers_inferred else stated_size)
        shape = tuple(sizes)
    return Type(inferred.kind, inferred.element or stated.element, shape, inner), why
