"""Type strings, shapes as models state them, and constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from opset.model.elements import element_name

Shape = tuple[int | str | None, ...]

MOST_DIMS = 64
"""Sizes of a shape that are shown."""
MAX_CONSTANT = 1 << 16
"""Elements of the largest constant that is read to decide a conversion; weights are never read."""


class Constant(NamedTuple):
    """A small tensor known before the model runs: element type, dims, and the elements in row-major order.

    In inference, an element may be a symbolic size, or None if it is not known.
    """

    element: str
    dims: tuple[int, ...]
    values: tuple[Any, ...]


def element_of(type_: str) -> str:
    """Return the element type of a tensor type, "float" for "tensor(float)"; any other type is returned whole."""
    return type_.removeprefix("tensor(").removesuffix(")") if type_.startswith("tensor(") else type_


def type_string(proto: Any) -> str | None:
    """Return a TypeProto as a type string, "seq(tensor(float))"; None if a part is missing."""
    wrappers = []
    while True:
        kind = proto.WhichOneof("value")
        if kind in ("tensor_type", "sparse_tensor_type"):
            element = element_name(getattr(proto, kind).elem_type)
            text = f"{'sparse_' if kind[0] == 's' else ''}tensor({element})" if element else None
            break
        if kind in ("sequence_type", "optional_type"):
            wrappers.append("seq" if kind[0] == "s" else "optional")
            proto = getattr(proto, kind).elem_type
        elif kind == "map_type":
            key = element_name(proto.map_type.key_type)
            wrappers.append(f"map({key}" if key else "")
            proto = proto.map_type.value_type
        elif kind == "opaque_type":
            text = f"opaque({', '.join(filter(None, (str(proto.opaque_type.domain), str(proto.opaque_type.name))))})"
            break
        else:
            return None
    for wrapper in reversed(wrappers):
        if text is None or not wrapper:
            return None
        if wrapper.startswith("map("):
            # The standard writes a map's scalar value without "tensor".
            text = f"{wrapper}, {text[7:-1] if text.startswith('tensor(') else text})"
        else:
            text = f"{wrapper}({text})"
    return text


def shape_of(proto: Any) -> Shape | None:
    """Return the shape in a TypeProto of a tensor: ints, names of dimension variables, or None for unknown ones."""
    if proto.WhichOneof("value") != "tensor_type" or not proto.tensor_type.HasField("shape"):
        return None
    # Some exporters write -1 for a size that they do not know.
    return tuple(
        (dim.dim_value if dim.dim_value >= 0 else None)
        if dim.WhichOneof("value") == "dim_value"
        else dim.dim_param or None
        for dim in proto.tensor_type.shape.dim
    )


def described_type(proto: Any) -> str:
    """Return a TypeProto with its shape as text, "tensor(float)[N, 3]", "" if it states no type."""
    text = type_string(proto)
    shape = shape_of(proto) if text is not None else None
    if shape is None:
        return text or ""
    sizes = ["?" if size is None else str(size) for size in shape[:MOST_DIMS]]
    return f"{text}[{', '.join([*sizes, '…'] if len(shape) > MOST_DIMS else sizes)}]"


def nest_elements(flat: list[Any], shape: Sequence[int]) -> Any:
    """Return elements in row-major order as nested lists of a shape."""
    if not shape:
        return flat[0] if flat else flat
    if 0 in shape:
        return []
    for size in reversed(shape[1:]):
        flat = [flat[start : start + size] for start in range(0, len(flat), size)]
    return flat
