"""Draws nodes for the fuzzer: for each operator attributes and inputs that its version takes, the odd ones included.

`structure` decides what the node is, `sizes` how long dynamic dimensions are, and `values` what the tensors hold, so
that the same structure can be drawn again with other sizes and values.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

__all__ = ["DRAWS", "Argument", "Draft", "Draw", "Given", "Listed", "Mapped", "draft"]

NARROW = {
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "int4": ml_dtypes.int4,
    "uint4": ml_dtypes.uint4,
}
"""Types that go into a model through a Cast, as onnxruntime's Python interface does not take them."""
PLAIN = {"float": np.float32, "float16": np.float16, "double": np.float64, "bool": np.bool_, "string": object} | {
    name: np.dtype(name).type for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}
DTYPES: dict[str, Any] = {**PLAIN, **NARROW}
LONG, MOST = 40, 4000
"""The largest size, which few dimensions get, and the elements from which on a shape has small ones alone."""
SPECIAL = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1e-42, 3.0e38, 0.5, -0.5, 1.5, 2.5, 1e10]


@dataclass(frozen=True)
class Argument:
    """An input's value and type; `side` ones say what to do and are often known before the model runs."""

    value: np.ndarray
    element: str
    side: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", np.asarray(self.value))


@dataclass(frozen=True)
class Listed:
    """A sequence, or an optional: "tensor" of the only value, "sequence" of all, or "nothing"."""

    values: list[Argument]
    element: str
    optional: str = ""


@dataclass(frozen=True)
class Mapped:
    """A map, with the types of its keys and values."""

    value: dict[Any, Any]
    keys: str
    element: str


Given = Argument | Listed | Mapped | None
"""An input of a node, None for one that is left out."""


@dataclass
class Draft:
    """A node to be: attributes and inputs."""

    attributes: dict[str, Any]
    inputs: Sequence[Given]


class Draw:
    """Sources of chance for one node of a schema."""

    def __init__(self, schema: onnx.defs.OpSchema, opset: int, seed: str, again: int) -> None:
        self.schema, self.opset, self.since = schema, opset, schema.since_version
        self.structure = random.Random(seed)
        self.sizes = random.Random(f"{seed} sizes {again}")
        self.values = np.random.default_rng(random.Random(f"{seed} values {again}").randrange(2**63))
        self.attributes: dict[str, Any] = {}
        self.rare = self.structure.random()
        self.empty = self.structure.random() < 0.06
        self.special = self.structure.random() < 0.3
        self.bound: dict[str, str] = {}

    def chance(self, share: float) -> bool:
        return self.structure.random() < share

    def pick(self, *options: Any) -> Any:
        return self.structure.choice(options)

    def size(self, least: int = 1, most: int = 5) -> int:
        """Return a size; sometimes 0 where that is allowed."""
        size = self.sizes.randint(least, LONG if self.sizes.random() < 0.03 and most >= 4 else most)
        zero = self.structure.random() < 0.3
        return 0 if self.empty and zero and least <= 1 else size

    def shape(self, rank: int | None = None, least: int = 0, most: int = 4) -> list[int]:
        rank = self.structure.randint(least, most) if rank is None else rank
        found: list[int] = []
        for _ in range(rank):
            size = self.size()
            found.append(size if size * int(np.prod(found)) <= MOST else min(size, 3))
        return found

    def element(self, position: int, *preferred: str) -> str:
        """An element type that the input of the schema may have; the same for all inputs of one type variable."""
        inputs = self.schema.inputs
        formal = inputs[min(position, len(inputs) - 1)]
        if formal.type_str in self.bound and formal.is_homogeneous:
            return self.bound[formal.type_str]
        allowed = sorted(t[7:-1] for t in formal.types if t.startswith("tensor(") and t[7:-1] in DTYPES)
        if not allowed:
            raise LookupError(f"no tensor type for {formal.name}")
        allowed = [t for t in allowed if t in preferred] or allowed
        common = [t for t in ("float", "int64", "double", "int32") if t in allowed]
        chosen = common[0] if common and self.chance(0.45) else self.structure.choice(allowed)
        self.bound[formal.type_str] = chosen
        return chosen

    def array(self, element: str, shape: list[int], low: int | None = None, high: int | None = None) -> np.ndarray:
        """Return values of a type: small whole and broken numbers, and now and then extremes."""
        size, rng = int(np.prod(shape)), self.values
        if element == "string":
            words = ["", "a", "b", "Ab", "ü", "x y", "1", "a"]
            return np.array([words[i] for i in rng.integers(0, len(words), size)], object).reshape(shape)
        if element == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        if "int" in element:
            dtype = DTYPES[element]
            small = {"int4": (-8, 8), "uint4": (0, 16)}.get(element)
            if low is not None and high is not None:
                return rng.integers(low, high, shape).astype(dtype)
            if small:
                return rng.integers(*small, shape).astype(dtype)
            info = np.iinfo(dtype)
            found = rng.integers(0 if element[0] == "u" else -6, 7, shape).astype(dtype)
            if self.special and size:
                flat = found.reshape(-1)
                for _ in range(1 + size // 3):
                    edge = self.structure.choice([info.max, info.min, info.max - 1, info.max // 2, info.max // 2 + 1])
                    flat[int(rng.integers(size))] = edge
            return found
        found = rng.normal(0, 2, shape) if rng.random() < 0.6 else rng.integers(-4, 5, shape) / 2
        found = np.asarray(found, np.float64)
        if self.special and size and element[:6] != "float8":
            flat = found.reshape(-1)
            for _ in range(1 + size // 4):
                flat[int(rng.integers(size))] = SPECIAL[int(rng.integers(len(SPECIAL)))]
        with np.errstate(all="ignore"):
            return found.astype(np.float32).astype(DTYPES[element]) if element != "double" else found

    def data(self, position: int, shape: list[int], *preferred: str) -> Argument:
        element = self.element(position, *preferred)
        return Argument(self.array(element, shape), element)

    def tame(self, position: int, shape: list[int], *preferred: str) -> Argument:
        """Return data without extremes, for operators that sum them up."""
        special, self.special = self.special, False
        found = self.data(position, shape, *preferred)
        self.special = special
        return found

    def side(self, values: Any, element: str = "int64") -> Argument:
        with np.errstate(all="ignore"):
            return Argument(np.asarray(values).astype(DTYPES[element]), element, True)

    def has(self, attribute: str) -> bool:
        return attribute in self.schema.attributes

    def attr(self, attribute: str, *options: Any, stated: float = 0.7) -> Any:
        """State an attribute that the version has with one of the options, or leave it at its default; give it."""
        option = self.structure.choice(options)
        if not self.has(attribute):
            return None
        declared = self.schema.attributes[attribute]
        if declared.required or self.chance(stated):
            self.attributes[attribute] = option
            return option
        kind = declared.default_value
        return helper.get_attribute_value(kind) if kind.name else None

    def state(self, **attributes: Sequence[Any]) -> None:
        """State attributes that the version has, each with one of its options, or leave them at their defaults."""
        for attribute, options in attributes.items():
            self.attr(attribute, *options)

    def axis(self, rank: int, name: str = "axis", extra: int = 0, stated: float = 0.8) -> int:
        """State an axis, negative ones where the version may take them."""
        low = 0 if self.opset < 11 and not self.chance(0.3) else -rank - extra
        high = rank + extra
        axis = self.structure.randrange(low, high) if high > low else 0
        self.attr(name, axis, stated=stated)
        found = self.attributes.get(name)
        if found is None and self.has(name):
            declared = self.schema.attributes[name].default_value
            found = declared.i if declared.name else 0
        return 0 if found is None else int(found)


Drawer = Callable[[Draw], Sequence[Given]]
DRAWS: dict[str, Drawer] = {}


def draws(*operators: str) -> Callable[[Drawer], Drawer]:
    def register(drawer: Drawer) -> Drawer:
        for operator in operators:
            DRAWS[operator] = drawer
        return drawer

    return register


def draft(schema: onnx.defs.OpSchema, opset: int, seed: str, again: int) -> Draft:
    """Return a node of the schema. Raises LookupError where no type fits."""
    draw = Draw(schema, opset, seed, again)
    drawer = DRAWS.get(schema.name, generic)
    inputs = drawer(draw)
    return Draft(draw.attributes, inputs)


def broadcastable(d: Draw, count: int) -> list[list[int]]:
    """Return shapes that broadcast to one."""
    whole = d.shape()
    shapes = []
    for _ in range(count):
        start = d.structure.randint(0, len(whole)) if d.chance(0.4) else 0
        shapes.append([1 if d.chance(0.2) else size for size in whole[start:]])
    if d.chance(0.8):
        shapes[0] = whole
    return shapes


def generic(d: Draw) -> list[Argument | None]:
    """Return inputs that broadcast, and each attribute near its default; optional inputs are sometimes left out."""
    formals = list(d.schema.inputs)
    many = [formals[-1]] * d.structure.randint(0, 2) if formals and formals[-1].option.name == "Variadic" else []
    formals += many
    shapes = broadcastable(d, len(formals)) if formals else []
    found: list[Argument | None] = []
    for position, (formal, shape) in enumerate(zip(formals, shapes, strict=True)):
        absent = formal.option.name == "Optional" and d.chance(0.5)
        found.append(None if absent else d.data(position, shape))
    for name, declared in d.schema.attributes.items():
        kind = declared.type.name
        if kind == "FLOAT":
            d.attr(name, 0.5, 1.0, -1.5, 0.1, 3.0, 0.0, stated=0.5)
        elif kind == "INT":
            d.attr(name, 0, 1, -1, 2, stated=0.5)
        elif kind == "INTS":
            d.attr(name, [0], [1], [0, 1], [-1], [1, 1], stated=0.5)
        elif kind == "STRING" and declared.required:
            d.attr(name, "linear", "x", stated=1)
    return found


def axis_only(least: int = 1, tame: bool = False) -> Drawer:
    def drawer(d: Draw) -> list[Argument | None]:
        shape = d.shape(None, least, 4)
        d.axis(len(shape))
        x = (d.tame if tame else d.data)(0, shape)
        return [x]

    return drawer


draws("Softmax", "LogSoftmax", "Hardmax")(axis_only(1, True))
draws("Flatten")(axis_only(0))


@draws("Abs", "Neg", "Relu")
def keeps(d: Draw) -> list[Argument | None]:
    return [d.data(0, d.shape())]


@draws("Concat")
def concat(d: Draw) -> list[Argument | None]:
    shape = d.shape(None, 1, 4)
    axis = d.axis(len(shape), stated=1.0)
    found: list[Argument | None] = []
    for _ in range(d.structure.randint(1, 4)):
        own = list(shape)
        own[axis] = d.size(0)
        found.append(d.data(0, own))
    return found


@draws("Clip")
def clip(d: Draw) -> list[Argument | None]:
    x = d.data(0, d.shape())
    bounds = [-1.5, 0.0, -0.0, 2.0, 3.0, 1e10, float("inf"), float("-inf"), 0.1, 70000.0, -3.4028234663852886e38]
    d.state(min=bounds, max=bounds)
    if d.has("min"):
        return [x]
    if "int" in x.element:
        limits = np.iinfo(DTYPES[x.element])
        bounds = [0, 1, 3, limits.min, limits.max, limits.max - 1]
    given = [d.side(d.pick(*bounds), x.element) if d.chance(0.7) else None for _ in range(2)]
    return [x, *given]


@draws("Cast")
def cast(d: Draw) -> list[Argument | None]:
    x = d.tame(0, d.shape(), *([] if d.chance(0.3) else ["float", "int32", "bool", "float16", "double"]))
    result = next(t for t in d.schema.type_constraints if t.type_param_str == "T2")
    allowed = [t[7:-1] for t in result.allowed_type_strs]
    targets = [t for t in allowed if t in DTYPES and "string" not in (t, x.element)]
    to = d.pick(*targets)
    d.attr("to", TensorProto.DataType.Value(to.upper()))
    d.attr("saturate", 0, 1, stated=0.4)
    d.attr("round_mode", "up", "down", "nearest", stated=0.2)
    return [x]


@draws("CastLike")
def cast_like(d: Draw) -> list[Argument | None]:
    d.attr("saturate", 0, 1, stated=0.4)
    return [d.tame(0, d.shape(), "float", "int32", "float16"), d.tame(1, d.shape(), *PLAIN)]


@draws("Gemm")
def gemm(d: Draw) -> list[Argument | None]:
    m, k, n = d.size(), d.size(), d.size()
    ta, tb = d.attr("transA", 0, 1), d.attr("transB", 0, 1)
    d.state(alpha=(0.5, 1.0, 2.0, 0.0), beta=(0.5, 1.0, 2.0, 0.0))
    c = d.pick([], [1], [n], [1, n], [m, 1], [m, n], [1, 1])
    third = None if d.since >= 11 and d.chance(0.3) else d.tame(2, c)
    return [d.tame(0, [k, m] if ta else [m, k]), d.tame(1, [n, k] if tb else [k, n]), third]


@draws("MatMul")
def matmul(d: Draw) -> list[Argument | None]:
    m, k, n, b = d.size(), d.size(), d.size(), d.size()
    left, right = d.pick(([k], [k]), ([m, k], [k, n]), ([b, m, k], [k, n]), ([b, m, k], [b, k, n]), ([k], [b, k, n]))
    return [d.tame(0, left), d.tame(1, right)]


def reduce(d: Draw) -> list[Argument | None]:
    low = 0 if d.chance(0.1) else 1
    shape = d.shape(None, low, 4)
    rank = len(shape)
    d.attr("keepdims", 0, 1)
    axes = d.structure.sample(range(rank), d.structure.randint(0, rank))
    if d.opset >= 11 and d.chance(0.5):
        axes = [axis - rank for axis in axes]
    x = d.tame(0, shape) if d.schema.name not in ("ReduceMax", "ReduceMin") else d.data(0, shape)
    if d.has("axes"):
        if axes:
            d.attr("axes", axes)
        return [x]
    d.attr("noop_with_empty_axes", 0, 1, stated=0.5)
    return [x, None if d.chance(0.3) else d.side(axes)]


for _name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"):
    DRAWS[f"Reduce{_name}"] = reduce


@draws("ArgMax", "ArgMin")
def arg(d: Draw) -> list[Argument | None]:
    shape = d.shape(None, 1, 4)
    d.axis(len(shape))
    d.state(keepdims=(0, 1), select_last_index=(0, 1))
    element = d.element(0)
    x = d.array(element, shape)
    return [Argument(x if "int" in element or element == "bfloat16" else np.nan_to_num(x).round(), element)]


@draws("CumSum")
def cumsum(d: Draw) -> list[Argument | None]:
    shape = d.shape(None, 1, 4)
    d.state(exclusive=(0, 1), reverse=(0, 1))
    axis = d.structure.randrange(-len(shape), len(shape))
    return [d.tame(0, shape), d.side(axis, d.pick("int32", "int64"))]


@draws("Squeeze")
def squeeze(d: Draw) -> list[Argument | None]:
    rank = d.structure.randint(1, 5)
    ones = d.structure.sample(range(rank), d.structure.randint(0, rank))
    shape = [1 if axis in ones else d.sizes.randint(2, 4) for axis in range(rank)]
    if not d.chance(0.8):
        return [d.data(0, shape)]
    axes = [axis - rank if d.opset >= 11 and d.chance(0.4) else axis for axis in ones]
    if d.has("axes"):
        if axes:
            d.attributes["axes"] = axes
        return [d.data(0, shape)]
    return [d.data(0, shape), d.side(axes)]


@draws("Unsqueeze")
def unsqueeze(d: Draw) -> list[Argument | None]:
    shape, count = d.shape(None, 0, 3), d.structure.randint(0, 3)
    rank = len(shape) + count
    axes = d.structure.sample(range(rank), count)
    axes = [axis - rank if d.opset >= 11 and d.chance(0.4) else axis for axis in axes]
    if d.has("axes"):
        d.attributes["axes"] = axes or [0]
        return [d.data(0, shape)]
    return [d.data(0, shape), d.side(axes)]


@draws("Reshape")
def reshape(d: Draw) -> list[Argument | None]:
    shape = d.shape(None, 0, 4)
    zero = d.attr("allowzero", 0, 1)
    size = int(np.prod(shape))
    wanted: list[int] = d.pick(shape[::-1], [size], [-1], [1, -1], [0, -1], [-1, 1, 1], [1] * 3 + shape, [0, 0, -1])
    if zero and size == 0:
        wanted = d.pick(shape[::-1], [0, 7], [3, 0, 2], [0])
    if zero and size:
        wanted = [w for w in wanted if w != 0]
    return [d.data(0, shape), d.side(wanted)]


@draws("Expand")
def expand(d: Draw) -> list[Argument | None]:
    a, b = broadcastable(d, 2)
    return [d.data(0, a), d.side(b)]


@draws("Tile")
def tile(d: Draw) -> list[Argument | None]:
    shape = d.shape(None, 0, 3)
    return [d.data(0, shape), d.side([d.sizes.randint(0, 3) for _ in shape])]


@draws("Transpose")
def transpose(d: Draw) -> list[Argument | None]:
    shape = d.shape()
    d.attr("perm", d.structure.sample(range(len(shape)), len(shape)), stated=0.6 if shape else 0.0)
    return [d.data(0, shape)]


@draws("Shape")
def shape_of(d: Draw) -> list[Argument | None]:
    bounds = [0, 1, -1, 2, -2, 5, -5, 2**40]
    d.state(start=bounds, end=bounds)
    return [d.data(0, d.shape())]


@draws("Slice")
def slice_(d: Draw) -> list[Argument | None]:
    shape = d.shape(None, 1, 4)
    rank = len(shape)
    axes = d.structure.sample(range(rank), d.structure.randint(1, rank))
    far = [0, 1, -1, 2, -2, 3, -3, 100, -100, 2**63 - 1, -(2**63), 2**31 - 1, -(2**31)]
    starts, ends = ([d.structure.choice(far) for _ in axes] for _ in range(2))
    if not d.chance(0.6):
        axes = list(range(len(starts)))
    if d.since < 10:
        if axes != list(range(len(starts))) or d.chance(0.5):
            d.attributes["axes"] = axes
        d.attributes.update(starts=starts, ends=ends)
        return [d.data(0, shape)]
    steps = d.side([d.pick(1, 1, -1, 2, -2, 3, 100, -100) for _ in axes]) if d.chance(0.6) else None
    stated = axes != list(range(len(starts))) or d.chance(0.5)
    axes = [axis - rank if d.opset >= 11 and d.chance(0.4) else axis for axis in axes]
    kind = "int32" if d.chance(0.2) else "int64"
    if kind == "int32":
        starts, ends = ([max(min(v, 2**31 - 1), -(2**31)) for v in vs] for vs in (starts, ends))
        steps = steps and d.side(steps.value, kind)
    return [d.data(0, shape), d.side(starts, kind), d.side(ends, kind), d.side(axes, kind) if stated else None, steps]


@draws("Split")
def split(d: Draw) -> list[Argument | None]:
    shape = d.shape(None, 1, 4)
    axis = d.axis(len(shape))
    parts = d.structure.randint(1, 4)
    d.attributes["__outputs"] = parts
    equal = d.chance(0.5)
    sizes = [d.size(0, 4)] * parts if equal else [d.size(0, 4) for _ in range(parts)]
    shape[axis] = sum(sizes)
    if d.since >= 18 and d.chance(0.5):
        d.attributes["num_outputs"] = parts
        shape[axis] = d.sizes.randint(parts, 9)
        return [d.data(0, shape)]
    if equal and d.since < 18 and d.chance(0.5):
        return [d.data(0, shape)]
    if d.has("split"):
        d.attributes["split"] = sizes
        return [d.data(0, shape)]
    return [d.data(0, shape), d.side(sizes)]


@draws("Pad")
def pad(d: Draw) -> list[Argument | None]:
    shape = d.shape(None, 1, 4)
    rank = len(shape)
    mode = d.attr("mode", "constant", "reflect", "edge", *(["wrap"] if d.since >= 19 else []))
    mode = mode.decode() if isinstance(mode, bytes) else mode
    axes = list(range(rank))
    value = d.pick(0.0, 1.5, -0.0, 0.1, float("nan"), float("-inf"))
    if d.has("pads"):
        d.attributes["pads"] = [d.pick(0, 1, 2, 0, -1) for _ in range(2 * rank)]
        d.attr("value", value)
        return [d.data(0, shape)]
    use_axes = d.since >= 18 and d.chance(0.5)
    if use_axes:
        axes = d.structure.sample(axes, d.structure.randint(0, rank))
    low = 0 if mode == "wrap" and d.chance(0.7) else -1
    pads = [d.pick(0, 1, 2, low, 3 if mode in ("constant", "wrap") else 0) for _ in range(2 * len(axes))]
    x = d.data(0, shape)
    if x.element not in ("float", "double", "float16", "bfloat16"):
        value = 1
    constant = d.side(value, x.element) if d.chance(0.6) and x.element != "string" else None
    named = [axis - rank if d.chance(0.4) else axis for axis in axes]
    return [x, d.side(pads), constant, d.side(named, d.pick("int64", "int32")) if use_axes else None]


@draws("Gather", "GatherElements")
def gather(d: Draw) -> list[Argument | None]:
    shape = d.shape(None, 1, 4)
    axis = d.axis(len(shape))
    size = shape[axis] or 1
    own = d.shape(len(shape)) if d.schema.name == "GatherElements" else d.shape(None, 0, 2)
    if d.schema.name == "GatherElements":
        own = [min(a, b) if i != axis % len(shape) else a for i, (a, b) in enumerate(zip(own, shape, strict=True))]
    low = -size if d.opset >= 11 and d.chance(0.6) else 0
    kind = d.pick("int64", "int32")
    return [d.data(0, shape), Argument(d.array(kind, own, low, size), kind, d.chance(0.5))]


@draws("GatherND")
def gather_nd(d: Draw) -> list[Argument | None]:
    shape = [d.size(1, 4) or 1 for _ in range(d.structure.randint(1, 4))]
    rank = len(shape)
    batch = d.attr("batch_dims", *range(rank)) or 0
    last = d.structure.randint(1, rank - batch)
    lead = shape[:batch] + d.shape(None, 0, 2)
    low = [0 if d.chance(0.6) else -size for size in shape[batch : batch + last]]
    parts = [d.values.integers(lo, size, lead) for lo, size in zip(low, shape[batch:], strict=False)]
    return [d.data(0, shape), Argument(np.stack(parts, -1).astype(np.int64), "int64", d.chance(0.4))]


@draws("Scatter", "ScatterElements")
def scatter(d: Draw) -> list[Argument | None]:
    shape = [d.size(1, 5) or 1 for _ in range(d.structure.randint(1, 3))]
    axis = d.axis(len(shape))
    own = [d.structure.randint(1, size) for size in shape]
    reduction = d.attr("reduction", "none", "add", "mul", *(["max", "min"] if d.since >= 18 else []))
    size, kind = shape[axis], d.pick("int64", "int32")
    low = -size if d.opset >= 11 and d.chance(0.6) else 0
    where = d.array(kind, own, low, size)
    if reduction in (None, b"none", "none"):
        line = d.values.permutation(size)[: own[axis]]
        if low:
            line = np.where(d.values.random(len(line)) < 0.5, line - size, line)
        along = [1] * len(shape)
        along[axis] = len(line)
        where = np.broadcast_to(line.reshape(along), own).astype(where.dtype)
    return [d.tame(0, shape), Argument(where, kind, d.chance(0.5)), d.tame(2, own)]


@draws("ScatterND")
def scatter_nd(d: Draw) -> list[Argument | None]:
    shape = [d.size(1, 4) or 1 for _ in range(d.structure.randint(1, 3))]
    last = d.structure.randint(1, len(shape))
    reduction = d.attr("reduction", "none", "add", "mul", *(["max", "min"] if d.since >= 18 else []))
    rows = [1] if reduction in (None, b"none", "none") else d.shape(None, 0, 2)
    low = [-s if d.chance(0.5) else 0 for s in shape[:last]]
    parts = [d.values.integers(lo, s, rows) for lo, s in zip(low, shape, strict=False)]
    where = np.stack(parts, -1).astype(np.int64)
    return [d.tame(0, shape), Argument(where, "int64", d.chance(0.5)), d.tame(2, rows + shape[last:])]


@draws("OneHot")
def one_hot(d: Draw) -> list[Argument | None]:
    shape = d.shape(None, 1, 3)
    depth = d.sizes.randint(1, 5)
    low = d.structure.randint(-1, len(shape)) if d.opset < 11 else d.structure.randint(-len(shape) - 1, len(shape))
    d.attr("axis", low)
    kind = d.element(0, "int64", "int32", "float", "uint8", "double")
    wide = d.chance(0.5)
    indices = d.values.integers(0 if kind[0] == "u" else -depth - 2 if wide else 0, depth + 2, shape)
    deep = d.element(1, "int64", "int32", "float")
    return [
        Argument(indices.astype(DTYPES[kind]), kind),
        d.side(d.pick(depth, [depth]), deep),
        d.data(2, [2]),
    ]


@draws("TopK")
def top_k(d: Draw) -> list[Argument | None]:
    shape = d.shape(None, 1, 4)
    axis = d.axis(len(shape))
    count = d.sizes.randint(0 if d.since >= 10 else 1, max(shape[axis], 1)) if shape[axis] else 0
    d.state(largest=(0, 1), sorted=(1,))
    element = d.element(0)
    x = Argument(np.nan_to_num(d.array(element, shape)) if element != "bfloat16" else d.array(element, shape), element)
    if d.has("k"):
        d.attributes["k"] = count
        return [x]
    return [x, d.side([count])]


@draws("Compress")
def compress(d: Draw) -> list[Argument | None]:
    shape = d.shape(None, 1, 3)
    d.axis(len(shape), stated=0.7)
    length = shape[d.attributes["axis"]] if "axis" in d.attributes else int(np.prod(shape))
    return [d.data(0, shape), d.side(d.array("bool", [length]), "bool")]


@draws("Max", "Min", "Sum", "Mean")
def several(d: Draw) -> list[Argument | None]:
    return [d.data(0, shape) for shape in broadcastable(d, d.structure.randint(1, 4))]


@draws("Pow")
def power(d: Draw) -> list[Argument | None]:
    a, b = broadcastable(d, 2)
    base = d.tame(0, a)
    return [base, Argument(d.tame(1, b).value, d.element(1), d.chance(0.5))]


@draws("Mod")
def modulus(d: Draw) -> list[Argument | None]:
    a, b = broadcastable(d, 2)
    x, y = d.tame(0, a), d.tame(1, b)
    if "float" in x.element or x.element == "double" or d.chance(0.3):
        d.attributes["fmod"] = 1
    divisor = np.where(y.value.astype(np.float64) == 0, 3, y.value.astype(np.float64)).astype(y.value.dtype)
    return [x, Argument(divisor, y.element)]


@draws("Div")
def divide(d: Draw) -> list[Argument | None]:
    a, b = broadcastable(d, 2)
    x, y = d.data(0, a), d.tame(1, b)
    if "int" in y.element:
        return [x, Argument(np.where(y.value == 0, 3, y.value).astype(y.value.dtype), y.element)]
    return [x, y]


@draws("PRelu")
def prelu(d: Draw) -> list[Argument | None]:
    shape = d.shape(None, 1, 4)
    start = d.structure.randint(0, len(shape))
    slope = [1 if d.chance(0.3) else s for s in shape[start:]]
    return [d.data(0, shape), d.data(1, slope)]
