"""Draws nodes that take sequences, optionals or graphs, signals, text and chance."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import GraphProto, TensorProto, helper, numpy_helper

from judges.fuzz.drawing.networks import convolution
from judges.fuzz.drawing.nodes import DTYPES, PLAIN, Argument, Draw, Given, Listed, draws

FLOATS = ("float", "double", "float16")


def listed(d: Draw, least: int = 0, alike: bool = False) -> tuple[Listed, list[int]]:
    """Return a sequence of tensors, of one shape if they are to be alike, and the shape of the first."""
    element = d.structure.choice(list(PLAIN))
    shape = d.shape(None, 1, 3)
    count = d.structure.randint(least, 4)
    shapes = [shape if alike or number == 0 else d.shape(len(shape)) for number in range(count)]
    return Listed([Argument(d.array(element, one), element) for one in shapes], element), shape


@draws("SequenceAt", "SequenceErase")
def sequence_at(d: Draw) -> list[Given]:
    sequence, _ = listed(d, 1)
    count = len(sequence.values)
    absent = d.schema.name == "SequenceErase" and d.chance(0.3)
    return [sequence, None if absent else d.side(d.structure.randrange(-count, count), d.pick("int64", "int32"))]


@draws("SequenceInsert")
def sequence_insert(d: Draw) -> list[Given]:
    sequence, shape = listed(d)
    count = len(sequence.values)
    where = None if d.chance(0.4) else d.side(d.structure.randint(-count, count), d.pick("int64", "int32"))
    return [sequence, Argument(d.array(sequence.element, shape), sequence.element), where]


@draws("SequenceLength")
def sequence_length(d: Draw) -> list[Given]:
    return [listed(d)[0]]


@draws("ConcatFromSequence")
def concat_from_sequence(d: Draw) -> list[Given]:
    new = d.attr("new_axis", 0, 1)
    sequence, shape = listed(d, 1, alike=True)
    extra = 1 if new else 0
    d.attributes["axis"] = d.structure.randrange(-len(shape) - extra, len(shape) + extra)
    return [sequence]


@draws("SequenceMap")
def sequence_map(d: Draw) -> list[Given]:
    sequence, _ = listed(d, 1, alike=True)
    kind = TensorProto.DataType.Value(sequence.element.upper())
    names = ["item", "other"][: d.structure.randint(1, 2)]
    nodes = [helper.make_node("Concat", [*names, "item"], ["joined"], axis=0)]
    nodes.append(helper.make_node("Shape", ["item"], ["size"]))
    d.attributes["body"] = helper.make_graph(
        nodes,
        "body",
        [helper.make_tensor_value_info(name, kind, None) for name in names],
        [
            helper.make_tensor_value_info("joined", kind, None),
            helper.make_tensor_value_info("size", TensorProto.INT64, None),
        ],
    )
    d.attributes["__outputs"] = 2
    return [sequence, *([d.pick(sequence, sequence.values[0])] if len(names) == 2 else [])]


@draws("Optional")
def optional(d: Draw) -> list[Given]:
    if d.chance(0.3):
        kind = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
        d.attributes["type"] = kind if d.chance(0.5) else helper.make_sequence_type_proto(kind)
        return [None]
    return [d.pick(listed(d)[0], Argument(d.array("float", d.shape()), "float"))]


@draws("OptionalGetElement", "OptionalHasElement")
def optional_element(d: Draw) -> list[Given]:
    sequence, shape = listed(d)
    if d.chance(0.5):
        return [Listed(sequence.values, sequence.element, "sequence")]
    tensor = Argument(d.array(sequence.element, shape), sequence.element)
    if d.schema.name == "OptionalHasElement" and d.chance(0.3):
        return [Listed([], "float", "nothing")]
    return [Listed([tensor], tensor.element, "tensor")] if d.since < 18 or d.chance(0.6) else [tensor]


def constant_graph(name: str, arrays: list[np.ndarray]) -> GraphProto:
    """Return a graph that gives constants."""
    nodes, outputs = [], []
    for number, array in enumerate(arrays):
        tensor = numpy_helper.from_array(array)
        nodes.append(helper.make_node("Constant", [], [f"{name}{number}"], value=tensor))
        outputs.append(helper.make_tensor_value_info(f"{name}{number}", tensor.data_type, None))
    return helper.make_graph(nodes, name, [], outputs)


@draws("If")
def if_(d: Draw) -> list[Given]:
    known = ["float", "double", *(["int64", "bool", "string", "uint8"] if d.opset >= 9 else [])]
    kinds = [d.structure.choice(known) for _ in range(d.structure.randint(1, 3))]
    for branch in ("then_branch", "else_branch"):
        arrays = [d.array(kind, d.shape(None, 0, 3)) for kind in kinds]
        d.attributes[branch] = constant_graph(branch[:4], arrays)
    d.attributes["__outputs"] = len(kinds)
    return [Argument(np.array([d.chance(0.5)] if d.chance(0.2) else d.chance(0.5)), "bool", d.chance(0.3))]


@draws("Loop")
def loop(d: Draw) -> list[Given]:
    states, scans = d.structure.randint(0, 2), d.structure.randint(0, 2)
    if states + scans == 0:
        states = 1
    shape, kind = d.shape(None, 0, 2), d.pick("float", "double", "int64", "int32")
    number = TensorProto.DataType.Value(kind.upper())
    stop = d.structure.randint(0, 4)
    nodes = [
        helper.make_node("Constant", [], ["most"], value=numpy_helper.from_array(np.array(stop))),
        helper.make_node("Less", ["turn", "most"], ["less"]),
        helper.make_node(*d.pick(("Identity", ["go"]), ("Identity", ["less"]), ("And", ["go", "less"])), ["on"]),
        helper.make_node("Cast", ["turn"], ["step"], to=number),
    ]
    given = [f"s{i}" for i in range(states)]
    for i in range(states):
        nodes.append(helper.make_node(d.pick("Add", "Sub", "Mul"), [f"s{i}", d.pick("step", given[0])], [f"t{i}"]))
    for i in range(scans):
        nodes.append(helper.make_node("Add", [d.pick("step", *given), "step"], [f"y{i}"]))
    info = helper.make_tensor_value_info
    results = [f"t{i}" for i in range(states)] + [f"y{i}" for i in range(scans)]
    d.attributes["body"] = helper.make_graph(
        nodes,
        "body",
        [
            info("turn", TensorProto.INT64, []),
            info("go", TensorProto.BOOL, []),
            *(info(name, number, None) for name in given),
        ],
        [info("on", TensorProto.BOOL, []), *(info(name, number, None) for name in results)],
    )
    d.attributes["__outputs"] = len(results)
    turns = None if stop < 4 and "less" in str(nodes[2]) and d.chance(0.4) else d.side(d.pick(0, 1, 3, 5))
    go = None if turns is not None and d.chance(0.4) else Argument(np.array(d.chance(0.8)), "bool")
    return [turns, go, *(Argument(d.array(kind, shape), kind) for _ in range(states))]


@draws("AffineGrid")
def affine_grid(d: Draw) -> list[Given]:
    batch, spatial = d.sizes.randint(1, 2), d.pick(2, 3)
    d.attr("align_corners", 0, 1)
    size = [batch, d.sizes.randint(1, 2), *(d.sizes.randint(1, 4) for _ in range(spatial))]
    return [d.tame(0, [batch, spatial, spatial + 1]), d.side(size)]


@draws("CenterCropPad")
def center_crop_pad(d: Draw) -> list[Given]:
    shape = d.shape(None, 1, 4)
    axes = list(range(len(shape)))
    if d.chance(0.5):
        axes = d.structure.sample(axes, d.structure.randint(1, len(axes)))
        d.attributes["axes"] = [axis - len(shape) if d.chance(0.4) else axis for axis in axes]
    return [d.data(0, shape), d.side([d.sizes.randint(1, 6) for _ in axes], d.pick("int64", "int64", "int32"))]


@draws("Col2Im")
def col2im(d: Draw) -> list[Given]:
    axes = d.pick(1, 2, 2, 3)
    image = [d.structure.randint(3, 6) for _ in range(axes)]
    block = [d.structure.randint(1, 3) for _ in range(axes)]
    stated = [d.attr(name, [d.pick(1, 1, 2) for _ in range(axes)], stated=0.4) for name in ("strides", "dilations")]
    strides, dilations = (each or [1] * axes for each in stated)
    pads = d.attr("pads", [d.pick(0, 1) for _ in range(2 * axes)], stated=0.4) or [0] * 2 * axes
    counts = [
        (image[i] + pads[i] + pads[i + axes] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(axes)
    ]
    if min(counts) < 1:
        raise LookupError("no block fits")
    shape = [d.sizes.randint(1, 2), d.sizes.randint(1, 2) * int(np.prod(block)), int(np.prod(counts))]
    return [d.tame(0, shape, *FLOATS), d.side(image), d.side(block)]


@draws("ConvInteger", "QLinearConv")
def quantized_conv(d: Draw) -> list[Given]:
    group, kernel, reach, inner, outer = convolution(d)
    integer = d.schema.name == "ConvInteger"
    kind, weight = d.pick(("uint8", "uint8"), ("uint8", "int8"), ("uint8" if integer else "int8", "int8"))
    x = Argument(d.array(kind, [d.size(1, 2) or 1, inner * group, *(d.sizes.randint(r, r + 4) for r in reach)]), kind)
    w = Argument(d.array(weight, [outer * group, inner, *kernel]), weight, d.chance(0.6))
    channels = [outer * group]
    w_zero = d.side(d.structure.randint(0, 5), weight)
    if integer:
        x_zero = d.side(d.structure.randint(0, 9), kind) if d.chance(0.6) else None
        return [x, w, x_zero, w_zero if x_zero and d.chance(0.6) else None]
    w_scale: list[int] = d.pick([], channels)
    if w_scale:
        w_zero = d.side([d.structure.randint(0, 5) if weight == "uint8" else 0] * channels[0], weight)
    bias = Argument(d.values.integers(-9, 9, channels).astype(np.int32), "int32", True) if d.chance(0.5) else None
    return [
        x,
        d.side(d.pick(0.5, 0.1), "float"),
        d.side(d.structure.randint(0, 9), kind),
        w,
        d.side(np.abs(d.values.normal(0, 1, w_scale)) + 0.1, "float"),
        w_zero,
        d.side(d.pick(0.3, 1.0, 2.0), "float"),
        d.side(d.structure.randint(0, 9), kind),
        bias,
    ]


@draws("MatMulInteger")
def integer_product(d: Draw) -> list[Given]:
    m, k, n, b = d.size(), d.size(), d.size(), d.size()
    left, right = d.pick(([m, k], [k, n]), ([b, m, k], [k, n]), ([b, m, k], [b, k, n]), ([k], [k, n]), ([m, k], [k]))
    kinds = d.pick("uint8", "int8"), d.pick("uint8", "int8")
    zeros = [d.side(d.structure.randint(0, 9), kind) if d.chance(0.6) else None for kind in kinds]
    if zeros[1] is not None and len(right) == 2 and d.chance(0.4):
        zeros[1] = Argument(d.array(kinds[1], [n], 0, 9), kinds[1])
    return [Argument(d.array(kinds[0], left), kinds[0]), Argument(d.array(kinds[1], right), kinds[1]), *zeros]


@draws("DeformConv")
def deform_conv(d: Draw) -> list[Given]:
    group, offsets = d.pick(1, 1, 2), d.pick(1, 1, 2)
    kernel = [d.structure.randint(1, 3) for _ in range(2)]
    strides = d.attr("strides", [d.pick(1, 2) for _ in range(2)]) or [1, 1]
    dilations = d.attr("dilations", [d.pick(1, 2) for _ in range(2)], stated=0.4) or [1, 1]
    pads = d.attr("pads", [d.pick(0, 1) for _ in range(4)]) or [0] * 4
    d.attr("kernel_shape", kernel)
    d.attributes["group"], d.attributes["offset_group"] = group, offsets
    channels, outer = 2, d.pick(1, 2) * group
    image = [(k - 1) * g + 1 + d.sizes.randint(0, 3) for k, g in zip(kernel, dilations, strict=True)]
    out = [(image[i] + pads[i] + pads[i + 2] - (kernel[i] - 1) * dilations[i] - 1) // strides[i] + 1 for i in range(2)]
    batch, points = d.sizes.randint(1, 2), offsets * kernel[0] * kernel[1]
    x, w = d.tame(0, [batch, channels, *image]), d.tame(1, [outer, channels // group, *kernel])
    moved = d.values.uniform(-1.5, 1.5, [batch, 2 * points, *out]).astype(DTYPES[x.element])
    bias = d.tame(3, [outer]) if d.chance(0.5) else None
    mask = d.tame(4, [batch, points, *out]) if d.chance(0.5) else None
    return [x, w, Argument(moved, x.element), bias, mask]


@draws("Einsum")
def einsum(d: Draw) -> list[Given]:
    equation = d.pick(
        "ij,jk->ik", "ij->ji", "ii->i", "ii", "ij->", "bij,bjk->bik", "i,j->ij", "i,i->", "...ij,...jk->...ik",
        "ij,jk,kl->il", "bi,bi->b", "ij,jk", "...i->...", "iij->j", "a b, b c -> a c", "ijk->kji", "ij,ij->ij",
    )  # fmt: skip
    d.attributes["equation"] = equation
    sizes: dict[str, int] = {}
    lead = [d.sizes.randint(1, 3) for _ in range(d.structure.randint(0, 2))]
    shapes = []
    for term in equation.split("->")[0].replace(" ", "").split(","):
        shape = list(lead) if term.startswith("...") else []
        shape += [sizes.setdefault(letter, d.size()) for letter in term.removeprefix("...")]
        shapes.append(shape)
    return [d.tame(0, shape, *FLOATS, "int64", "int32") for shape in shapes]


@draws("CumProd")
def cumprod(d: Draw) -> list[Given]:
    shape = d.shape(None, 1, 4)
    d.state(exclusive=(0, 1), reverse=(0, 1))
    return [d.tame(0, shape), d.side(d.structure.randrange(-len(shape), len(shape)), d.pick("int32", "int64"))]


@draws("MelWeightMatrix")
def mel_weights(d: Draw) -> list[Given]:
    kind = d.pick("int64", "int32")
    low = d.pick(0.0, 20.0, 300.0)
    d.attr("output_datatype", 1, 11, stated=0.3)
    bins, length, rate = d.pick(1, 4, 8), d.pick(16, 64, 33), d.pick(8000, 8192, 16000)
    edges = [d.side(edge, "float") for edge in (low, d.pick(2000.0, 4000.0))]
    return [d.side(bins, kind), d.side(length, kind), d.side(rate, kind), *edges]


@draws("HannWindow", "HammingWindow", "BlackmanWindow")
def signal_window(d: Draw) -> list[Given]:
    d.attr("periodic", 0, 1)
    d.attr("output_datatype", 1, 11, stated=0.4)
    return [d.side(d.pick(1, 2, 3, 8, 9), d.pick("int64", "int32"))]


@draws("STFT")
def stft(d: Draw) -> list[Given]:
    length, step = d.structure.randint(2, 8), d.pick(1, 2, 3)
    kind, index = d.element(0, "float", "double"), d.pick("int64", "int32")
    parts = d.pick(1, 1, 2)
    d.attr("onesided", *([0, 1] if parts == 1 else [0]), stated=0.7 if parts == 1 else 1.0)
    signal = d.tame(0, [d.sizes.randint(1, 2), length + d.sizes.randint(0, 9), parts])
    window_ = Argument(np.abs(d.values.normal(1, 0.5, [length])).astype(DTYPES[kind]), kind) if d.chance(0.6) else None
    return [signal, d.side(step, index), window_, d.side(length, index) if window_ is None or d.chance(0.5) else None]


@draws("RotaryEmbedding")
def rotary(d: Draw) -> list[Given]:
    batch, length, heads, size = d.sizes.randint(1, 2), d.sizes.randint(1, 4), d.pick(1, 2), d.pick(4, 6)
    d.attr("interleaved", 0, 1)
    turned = d.attr("rotary_embedding_dim", 0, 4, stated=0.4) or size
    flat, placed = d.chance(0.5), d.chance(0.6)
    if flat or d.chance(0.3):
        d.attributes["num_heads"] = heads
    x = d.tame(0, [batch, length, heads * size] if flat else [batch, heads, length, size])
    caches = [d.tame(1, [8 if placed else batch, *([] if placed else [length]), turned // 2]) for _ in range(2)]
    return [x, *caches, Argument(d.values.integers(0, 8, [batch, length]), "int64") if placed else None]


@draws("ReverseSequence")
def reverse_sequence(d: Draw) -> list[Given]:
    shape = [d.sizes.randint(1, 4) for _ in range(d.structure.randint(2, 4))]
    time = d.attr("time_axis", 0, 1) or 0
    d.attributes["time_axis"], d.attributes["batch_axis"] = time, 1 - time
    return [d.data(0, shape), Argument(d.values.integers(1, shape[time] + 1, [shape[1 - time]]), "int64")]


@draws("Unique")
def unique(d: Draw) -> list[Given]:
    shape = d.shape(None, 0, 3)
    d.attr("sorted", 0, 1)
    if shape and d.chance(0.5):
        d.attributes["axis"] = d.structure.randrange(-len(shape), len(shape))
    return [d.data(0, shape)]


@draws("Bernoulli")
def bernoulli(d: Draw) -> list[Given]:
    kind = d.element(0)
    d.state(dtype=(1, 7, 9, 11, 10, 6, 2), seed=(1.0,))
    return [Argument(d.values.uniform(0, 1, d.shape()).astype(DTYPES[kind]), kind)]


@draws("Multinomial")
def multinomial(d: Draw) -> list[Given]:
    d.state(dtype=(6, 7), sample_size=(1, 3), seed=(1.0,))
    return [d.tame(0, [d.sizes.randint(1, 3), d.sizes.randint(1, 4)])]


@draws("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike")
def random_values(d: Draw) -> list[Given]:
    d.state(dtype=(1, 11, *([10] if d.since >= 22 else [])), seed=(1.0,), scale=(0.5, 2.0), high=(2.0, 1.5))
    if d.schema.name.endswith("Like"):
        return [d.data(0, d.shape(), "float", "double") if "dtype" not in d.attributes else d.data(0, d.shape())]
    d.attributes["shape"] = d.shape(None, 1, 3)
    return []


def words(d: Draw, shape: list[int], *options: str) -> Argument:
    choice = np.array(options, object)
    return Argument(choice[d.values.integers(0, len(options), shape)].reshape(shape), "string")


@draws("RegexFullMatch")
def regex(d: Draw) -> list[Given]:
    d.attr("pattern", "a.*", "[a-z]+@[a-z]+", r"\\d+", "", "(ab|c)*", ".", "(?i)AB", stated=1.0)
    return [words(d, d.shape(), "abc", "", "a@b", "12", "abab", "c", "ü", "AB", "a\nb")]


@draws("StringConcat")
def string_concat(d: Draw) -> list[Given]:
    whole = d.shape()
    return [words(d, [1 if d.chance(0.2) else n for n in whole], "a", "", "ü", "x y") for _ in range(2)]


@draws("StringSplit")
def string_split(d: Draw) -> list[Given]:
    d.state(delimiter=(",", "", "ab", " "), maxsplit=(0, 1, 2))
    return [words(d, d.shape(None, 0, 2), "a,b,c", "", " x  y ", "aabab", ",", "a, b", "abc")]


@draws("StringNormalizer")
def string_normalizer(d: Draw) -> list[Given]:
    d.attr("case_change_action", "LOWER", "UPPER", "NONE")
    d.attr("locale", "C.UTF-8", stated=0.8)
    d.state(is_case_sensitive=(0, 1), stopwords=(["a", "Ab"], ["x y"], ["A", "B", "é"]))
    return [words(d, [d.size()] if d.chance(0.5) else [1, d.size()], "a", "b", "Ab", "x y", "É", "A", "")]


@draws("TfIdfVectorizer")
def tf_idf(d: Draw) -> list[Given]:
    kind = d.pick("string", "int64", "int32")
    low = d.structure.randint(1, 2)
    high = d.structure.randint(low, 3)
    symbols: list[Any] = ["a", "b", "c"] if kind == "string" else [1, 2, 3]
    pool: list[Any] = []
    starts, count = [], 0
    for length in range(1, 4):
        starts.append(len(pool))
        found = {tuple(d.pick(*symbols) for _ in range(length)) for _ in range(d.structure.randint(1, 3))}
        for gram in sorted(found):
            pool += gram
            count += 1
    indexes = d.structure.sample(range(count), count)
    d.attributes |= {
        "mode": d.pick("TF", "IDF", "TFIDF"),
        "min_gram_length": low,
        "max_gram_length": high,
        "max_skip_count": d.pick(0, 1, 2, 5),
        "ngram_counts": starts,
        "ngram_indexes": indexes,
        "pool_strings" if kind == "string" else "pool_int64s": pool,
    }
    if d.chance(0.6):
        d.attributes["weights"] = [d.pick(0.5, 2.0, 1.5) for _ in range(count)]
    shape = [d.sizes.randint(1, 8)] if d.chance(0.5) else [d.sizes.randint(1, 3), d.sizes.randint(1, 6)]
    if kind == "string":
        return [words(d, shape, "a", "b", "c", "d")]
    return [Argument(d.values.integers(1, 5, shape).astype(DTYPES[kind]), kind)]
