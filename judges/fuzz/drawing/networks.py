"""Draws nodes for the fuzzer: layers of networks, signals, control flow and trees. Importing this fills DRAWS."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from judges.fuzz.drawing.nodes import DRAWS, DTYPES, Argument, Draw, broadcastable, draws

__all__ = ["DRAWS"]


@draws("DepthToSpace", "SpaceToDepth")
def blocks(d: Draw) -> list[Argument | None]:
    block = d.pick(1, 2, 3)
    d.attributes["blocksize"] = block
    c, h, w = d.size(1, 3), d.size(1, 3), d.size(1, 3)
    d.attr("mode", "DCR", "CRD")
    to_space = d.schema.name == "DepthToSpace"
    shape = [d.size(1, 2), c * block * block, h, w] if to_space else [d.size(1, 2), c, h * block, w * block]
    return [d.data(0, shape)]


def window(d: Draw, axes: int, kernel: list[int], ceil: bool = True) -> list[int]:
    """State strides, dilations and padding of a window; return the least size that the input needs along each axis."""
    strides = [d.pick(1, 1, 2, 3, 4) for _ in range(axes)]
    dilations = [d.pick(1, 1, 2, 3) for _ in range(axes)]
    d.attr("strides", strides)
    if d.attr("dilations", dilations, stated=0.4) is None:
        dilations = [1] * axes
    reach = [(k - 1) * g + 1 for k, g in zip(kernel, dilations, strict=True)]
    padding = d.attr("auto_pad", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", stated=0.35)
    if padding in (None, "NOTSET", b"NOTSET") and d.chance(0.7):
        d.attr("pads", [d.structure.randint(0, k - 1) for k in kernel * 2], stated=1)
    d.attr("ceil_mode", 0, 1)
    return reach


@draws("MaxPool", "AveragePool", "LpPool")
def pool(d: Draw) -> list[Argument | None]:
    axes = d.pick(1, 2, 2, 3)
    kernel = [d.structure.randint(1, 4) for _ in range(axes)]
    d.attributes["kernel_shape"] = kernel
    reach = window(d, axes, kernel)
    d.state(count_include_pad=(0, 1), p=(1, 2, 3))
    d.attr("storage_order", 0, 1, stated=0.2)
    shape = [d.size(1, 2) or 1, d.size(1, 2) or 1, *(d.sizes.randint(r, r + 5) for r in reach)]
    return [d.tame(0, shape)]


@draws("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(d: Draw) -> list[Argument | None]:
    d.attr("p", 1, 2, 3)
    return [d.tame(0, d.shape(None, 3, 5))]


def convolution(d: Draw) -> tuple[int, list[int], list[int], int, int]:
    """State the window and groups of a convolution.

    Return how many groups there are, the kernel, the least size along each axis, and channels of a group, in and out.
    """
    axes, group = d.pick(1, 2, 2, 3), d.pick(1, 1, 2)
    kernel = [d.structure.randint(1, 3) for _ in range(axes)]
    d.attr("kernel_shape", kernel)
    d.attributes["group"] = group
    reach = window(d, axes, kernel)
    return group, kernel, reach, d.pick(1, 2), d.pick(1, 2)


@draws("Conv", "ConvTranspose")
def conv(d: Draw) -> list[Argument | None]:
    group, kernel, reach, inner, outer = convolution(d)
    plain = d.schema.name == "Conv"
    if not plain and d.chance(0.3):
        strides = d.attributes.get("strides", [1] * len(kernel))
        d.attributes["output_padding"] = [d.structure.randint(0, s - 1) for s in strides]
    weights = [outer * group, inner, *kernel] if plain else [inner * group, outer, *kernel]
    shape = [d.size(1, 2) or 1, inner * group, *(d.sizes.randint(r, r + 4) for r in reach)]
    bias = d.tame(2, [outer * group]) if d.chance(0.5) else None
    return [d.tame(0, shape), Argument(d.tame(1, weights).value, d.element(1), d.chance(0.6)), bias]


@draws("BatchNormalization")
def batch_norm(d: Draw) -> list[Argument | None]:
    shape = [d.size(1, 3) or 1, d.structure.randint(1, 3), *d.shape(None, 0, 3)]
    d.state(epsilon=(1e-5, 1e-2), momentum=(0.9, 0.5))
    channels = [shape[1]]
    if d.has("spatial") and d.chance(0.3) and d.attr("spatial", 0, 1) == 0:
        channels = shape[1:]
    training = d.has("training_mode") and d.chance(0.4)
    if d.has("training_mode"):
        d.attr("training_mode", int(training))
        d.attributes["__outputs"] = d.pick(1, 2, 3) if d.attributes.get("training_mode") else 1
    else:
        d.attributes["__outputs"] = 1
    rest = [d.tame(i, channels) for i in (1, 2, 3)]
    variance = d.tame(4, channels)
    rest.append(Argument(np.abs(variance.value) + np.asarray(0.1, variance.value.dtype), variance.element))
    return [d.tame(0, shape), *rest]


@draws("InstanceNormalization")
def instance_norm(d: Draw) -> list[Argument | None]:
    shape = [d.size(1, 3) or 1, d.structure.randint(1, 3), *d.shape(None, 1, 3)]
    d.attr("epsilon", 1e-5, 1e-2)
    return [d.tame(0, shape), d.tame(1, [shape[1]]), d.tame(2, [shape[1]])]


@draws("GroupNormalization")
def group_norm(d: Draw) -> list[Argument | None]:
    groups, each = d.pick(1, 2, 3), d.pick(1, 2)
    shape = [d.size(1, 3) or 1, groups * each, *d.shape(None, 1, 3)]
    d.attributes["num_groups"] = groups
    d.attr("epsilon", 1e-5, 1e-2)
    d.attr("stash_type", 1, 10, stated=0.3)
    count = [groups] if d.since < 21 else [groups * each]
    return [d.tame(0, shape), d.tame(1, count), d.tame(2, count)]


@draws("LpNormalization", "MeanVarianceNormalization")
def lp_norm(d: Draw) -> list[Argument | None]:
    shape = d.shape(4) if d.has("axes") else d.shape(None, 1, 4)
    d.axis(len(shape))
    d.state(axes=([0, 2, 3], [1], [0, 1], [2, 3]), p=(1, 2))
    return [d.tame(0, shape)]


@draws("LRN")
def lrn(d: Draw) -> list[Argument | None]:
    d.attributes["size"] = d.pick(1, 3, 5)
    d.attr("bias", 1.0, 2.0)
    return [d.tame(0, d.shape(4))]


@draws("Dropout")
def dropout(d: Draw) -> list[Argument | None]:
    x = d.data(0, d.shape())
    d.attributes["__outputs"] = d.pick(1, 1, 2)
    if d.since < 12:
        d.attr("ratio", 0.0, 0.5, 0.9)
        return [x]
    d.attr("seed", 3)
    ratio = d.side(d.pick(0.0, 0.5), "float") if d.chance(0.6) else None
    training = d.chance(0.3) and ratio is not None and float(ratio.value) == 0.0
    return [x, ratio, d.side(training, "bool") if d.chance(0.6) else None]


@draws("Resize", "Upsample")
def resize(d: Draw) -> list[Argument | None]:
    rank = d.structure.randint(1, 4)
    shape = [d.sizes.randint(1, 5) for _ in range(rank)]
    mode = d.attr("mode", "nearest", "nearest", "linear", *(["cubic"] if d.since >= 11 else []))
    mode = mode.decode() if isinstance(mode, bytes) else mode
    if mode != "nearest":
        rank = d.pick(2, 4, 4) if mode == "linear" else d.pick(2, 4)
        shape = [d.sizes.randint(1, 5) for _ in range(rank)]
    options = [0.5, 1.0, 1.0, 2.0, 3.0, 1.5, 0.6, 0.75, 1.1, 0.3]
    if d.schema.name == "Upsample":
        options = [1.0, 1.0, 2.0, 3.0, 1.5, 1.1]
    scales = [d.pick(*options) for _ in range(rank)]
    if mode != "nearest" and rank > 2:
        scales[:2] = [1.0, 1.0]
    if d.has("scales"):
        d.attributes["scales"] = scales
        return [d.tame(0, shape)]
    if d.since < 11:
        return [d.tame(0, shape), d.side(scales, "float")]
    modes = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
    modes += ["tf_half_pixel_for_nn"] if d.since < 13 else []
    modes += ["half_pixel_symmetric"] if d.since >= 19 else []
    coordinates = d.attr("coordinate_transformation_mode", *modes)
    d.attr("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    d.attr("cubic_coeff_a", -0.5, -0.75, stated=0.3)
    d.attr("exclude_outside", 0, 1, stated=0.2 if mode == "cubic" else 0.0)
    d.attr("extrapolation_value", 0.0, 2.5, stated=0.3)
    d.attr("antialias", 0, 1, stated=0.2)
    d.attr("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller", stated=0.3)
    axes = list(range(rank))
    if d.has("axes") and d.chance(0.4):
        some = rank < 3 or mode == "nearest"
        axes = d.structure.sample(axes, d.structure.randint(1, rank)) if some else d.pick([2, 3], [3, 2])
        # With a policy, onnxruntime leaves out axes that count from the end.
        plain = "keep_aspect_ratio_policy" in d.attributes
        d.attributes["axes"] = [axis - rank if d.chance(0.3) and not plain else axis for axis in axes]
        scales = [scales[axis] for axis in axes]
    sizes = [max(1, int(shape[axis] * scale + d.pick(0, 0.5))) for axis, scale in zip(axes, scales, strict=True)]
    crop = coordinates == "tf_crop_and_resize"
    roi_element = d.pick("float", "float", "double") if d.opset >= 13 else "float"
    corners = [d.pick(0.0, 0.1, 0.25) for _ in axes] + [d.pick(1.0, 0.9, 1.2) for _ in axes]
    roi = d.side(corners if crop else [], roi_element)
    if not crop and d.since >= 13 and d.chance(0.7):
        roi = None  # type: ignore[assignment]
    sized = d.chance(0.45)
    if sized:
        empty = d.side(np.zeros(0), "float") if d.since < 13 else None
        return [d.tame(0, shape), roi, empty, d.side(sizes)]
    return [d.tame(0, shape), roi, d.side(scales, "float")]


@draws("GridSample")
def grid_sample(d: Draw) -> list[Argument | None]:
    spatial = d.pick(2, 2, 3) if d.since >= 20 else 2
    names = ["bilinear", "nearest", "bicubic"] if d.since < 20 else ["linear", "nearest", "cubic"]
    d.state(mode=names[: 5 - spatial], padding_mode=("zeros", "border", "reflection"), align_corners=(0, 1))
    batch = d.sizes.randint(1, 2)
    x = [batch, d.sizes.randint(1, 2), *(d.sizes.randint(1, 4) for _ in range(spatial))]
    grid = d.values.uniform(-1.4, 1.4, [batch, *(d.sizes.randint(1, 3) for _ in range(spatial)), spatial])
    return [d.tame(0, x), Argument(grid.astype(DTYPES[d.element(1)]), d.element(1))]


@draws("QuantizeLinear", "DequantizeLinear")
def quantize(d: Draw) -> list[Argument | None]:
    shape = [d.size(1, 4) or 1 for _ in range(d.structure.randint(1, 4))]
    quantizes = d.schema.name == "QuantizeLinear"
    scalar = d.since < 13 or d.chance(0.4)
    axis = d.axis(len(shape), stated=0.8)
    if not -len(shape) <= axis < len(shape):
        axis = 0
        d.attributes["axis"] = 0
    laid: list[int] = d.pick([], [], [1]) if scalar else [shape[axis]]
    if d.has("block_size") and not scalar and d.chance(0.5):
        block = d.pick(1, 2, 3)
        laid = list(shape)
        laid[axis] = -(-shape[axis] // block)
        d.attributes["block_size"] = block
    d.attr("saturate", 0, 1, stated=0.3)
    x = d.tame(0, shape)
    small = d.element(1, "float", "float16")
    scale = Argument((np.abs(d.values.normal(0, 1, laid)) + 0.1).astype(DTYPES[small]), small, d.chance(0.7))
    zero = None
    if d.chance(0.6):
        element = d.element(2) if quantizes else x.element
        array = d.array(element, laid, 0, 3) if "int" in element and element != "int32" else np.zeros(laid)
        zero = Argument(array.astype(DTYPES[element]), element, d.chance(0.7))
    if quantizes and d.has("output_dtype"):
        kind = zero.element if zero else d.pick("uint8", "int8", "int16", "uint16", "float8e4m3fn")
        d.attr("output_dtype", TensorProto.DataType.Value(kind.upper()), stated=0.3)
    d.attr("precision", 1, 10, stated=0.2)
    if not quantizes:
        d.attr("output_dtype", 1, 10, stated=0.2)
    return [x, scale, zero]


@draws("RNN", "GRU", "LSTM")
def recurrent(d: Draw) -> list[Argument | None]:
    name = d.schema.name
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[name]
    way = d.attr("direction", "forward", "reverse", "bidirectional")
    ways = 2 if way == "bidirectional" else 1
    length, batch, width, hidden = d.sizes.randint(1, 4), d.sizes.randint(1, 3), d.pick(1, 2), d.pick(1, 2)
    d.attributes["hidden_size"] = hidden
    layout = d.attr("layout", 0, 1)
    d.attr("clip", 0.5, 5.0, stated=0.2)
    d.attr("linear_before_reset", 0, 1)
    d.attr("input_forget", 0, 1, stated=0.2)

    def side(element: Argument) -> Argument:
        return Argument(element.value, element.element, d.chance(0.5))

    x = d.tame(0, [batch, length, width] if layout else [length, batch, width])
    rest: list[Argument | None] = [side(d.tame(1, [ways, gates * hidden, w])) for w in (width, hidden)]
    rest.append(side(d.tame(3, [ways, 2 * gates * hidden])) if d.chance(0.5) else None)
    lens = d.values.integers(1, length + 1, [batch]).astype(np.int32)
    rest.append(Argument(lens, "int32") if d.chance(0.3) else None)
    state = [batch, ways, hidden] if layout else [ways, batch, hidden]
    for position in range(5, 7 if name == "LSTM" else 6):
        rest.append(d.tame(position, state) if d.chance(0.4) else None)
    return [x, *rest]


@draws("Attention")
def attention(d: Draw) -> list[Argument | None]:
    batch, q, k, width = d.sizes.randint(1, 2), d.sizes.randint(1, 4), d.sizes.randint(1, 4), d.pick(2, 4)
    heads = d.pick(1, 2)
    kv = heads if d.chance(0.7) else 1
    past = d.sizes.randint(1, 3) if d.chance(0.3) else 0
    flat = d.chance(0.4)
    causal = d.attr("is_causal", 0, 1)
    d.attr("softcap", 0.0, 2.0, stated=0.3)
    d.attr("scale", 0.5, stated=0.3)
    d.attr("qk_matmul_output_mode", 1, 2, 3, stated=0.3)
    d.attr("left_window_size", 0, 1, 2, stated=0.3)
    d.attr("right_window_size", 0, 1, 2, stated=0.3)
    d.attr("softmax_precision", 1, 11, stated=0.15)
    if flat:
        d.attributes.update(q_num_heads=heads, kv_num_heads=kv)
        shapes = [[batch, q, heads * width], [batch, k, kv * width], [batch, k, kv * width]]
    else:
        shapes = [[batch, heads, q, width], [batch, kv, k, width], [batch, kv, k, width]]
    kind = d.element(0, "float", "float16")
    d.bound.update({formal.type_str: kind for formal in d.schema.inputs[1:3]})
    inputs: list[Argument | None] = [d.tame(i, shape) for i, shape in enumerate(shapes)]
    total = k + past
    mask = None
    if d.chance(0.5):
        short = max(1, total - 1) if d.since >= 24 else total
        shape = d.pick([q, total], [q, short], [batch, 1, q, total], [batch, heads, q, total], [q, 1])
        kind = d.pick("bool", kind)
        dtype = DTYPES[kind]
        mask = Argument(d.array(kind, shape) if kind == "bool" else d.values.normal(0, 1, shape).astype(dtype), kind)
        if kind == "bool":
            mask.value[..., 0] = True
    inputs.append(mask)
    inputs += [d.tame(4, [batch, kv, past, width]), d.tame(5, [batch, kv, past, width])] if past else [None, None]
    if d.since >= 24 and not past and d.chance(0.3):
        inputs.append(Argument(d.values.integers(1, k + 1, [batch]), "int64"))
    _ = causal
    return inputs


@draws("DFT")
def dft(d: Draw) -> list[Argument | None]:
    rank = d.structure.randint(2, 4)
    shape = [d.sizes.randint(1, 5) for _ in range(rank - 1)] + [d.pick(1, 2)]
    inverse = d.attr("inverse", 0, 1)
    if not inverse and shape[-1] == 1:
        d.attr("onesided", 0, 1)
    axis = d.structure.randint(0, rank - 2)
    length = d.side(d.sizes.randint(1, 6)) if d.chance(0.4) else None
    if d.has("axis"):
        d.attr("axis", axis)
        return [d.tame(0, shape), length]
    return [d.tame(0, shape), length, d.side(axis - rank if d.chance(0.5) else axis) if d.chance(0.7) else None]


@draws("Constant")
def constant(d: Draw) -> list[Argument | None]:
    element = d.pick("float", "double", "float16", "int64", "int32", "bool", "uint8")
    form = d.pick("value", "value_int", "value_ints", "value_float", "value_floats", "value_string", "value_strings")
    form = form if d.has(form) else "value"
    d.attributes[form] = {
        "value": onnx.numpy_helper.from_array(d.array(element, d.shape())),
        "value_int": -(2**63),
        "value_ints": [1, -2, 2**62],
        "value_float": 0.1,
        "value_floats": [-0.0, 1e-42, 2.5],
        "value_string": "é",
        "value_strings": ["", "b"],
    }[form]
    return []


@draws("ConstantOfShape")
def constant_of_shape(d: Draw) -> list[Argument | None]:
    element = d.pick("float", "double", "float16", "int64", "bool", "uint8", "bfloat16")
    value = np.array([d.pick(-0.0, 1.0, 0.0, 2.0)]).astype(DTYPES[element])
    d.attr("value", onnx.numpy_helper.from_array(value))
    return [d.side(d.shape())]


@draws("EyeLike")
def eye_like(d: Draw) -> list[Argument | None]:
    d.state(k=(0, 1, -1, 7, -7), dtype=(1, 7, 11, 9, 10))
    return [d.tame(0, d.shape(2))]


@draws("IsInf")
def is_inf(d: Draw) -> list[Argument | None]:
    d.special = True
    d.state(detect_negative=(0, 1), detect_positive=(0, 1))
    return [d.data(0, d.shape())]


@draws("Scan")
def scan(d: Draw) -> list[Argument | None]:
    states, scans, extra = d.structure.randint(0, 2), d.structure.randint(1, 2), d.structure.randint(0, 1)
    batch = [d.sizes.randint(1, 3)] if d.since == 8 else []
    length, rank = d.sizes.randint(1, 4), d.structure.randint(1, 2)
    element = [d.pick(2, 3) for _ in range(rank)]
    float_info = helper.make_tensor_value_info
    given = [f"s{i}" for i in range(states)] + [f"x{i}" for i in range(scans)]
    nodes = [helper.make_node("Sum", given, ["total"])]
    results = [f"t{i}" for i in range(states)] + [f"y{i}" for i in range(1 + extra)]
    for number, name in enumerate(results):
        nodes.append(helper.make_node("Add" if number % 2 else "Sub", ["total", given[number % len(given)]], [name]))
    known = element if d.chance(0.6) else None
    d.attributes["body"] = helper.make_graph(
        nodes,
        "body",
        [float_info(name, TensorProto.FLOAT, known) for name in given],
        [float_info(name, TensorProto.FLOAT, known) for name in results],
    )
    d.attributes["num_scan_inputs"] = scans
    d.attributes["__outputs"] = len(results)
    collected = 1 + extra
    d.attr("directions", [d.pick(0, 1) for _ in range(scans)])
    d.attr("scan_input_directions", [d.pick(0, 1) for _ in range(scans)])
    d.attr("scan_output_directions", [d.pick(0, 1) for _ in range(collected)])
    low = -rank - 1 if d.since >= 11 else 0
    axes = [d.structure.randrange(low, rank + 1) for _ in range(scans)]
    axes = d.attr("scan_input_axes", axes, stated=0.5) or [0] * scans
    d.attr("scan_output_axes", [d.structure.randrange(low, rank + 1) for _ in range(collected)], stated=0.5)
    found: list[Argument | None] = []
    if d.since == 8:
        found.append(None)
    found += [Argument(d.values.normal(0, 1, [*batch, *element]).astype(np.float32), "float") for _ in range(states)]
    for axis in axes:
        shape = list(element)
        shape.insert(axis % (rank + 1), length)
        found.append(Argument(d.values.normal(0, 1, [*batch, *shape]).astype(np.float32), "float"))
    return found


@draws("LabelEncoder")
def label_encoder(d: Draw) -> list[Argument | None]:
    words = ["a", "b", "Ab", "", "x y"][: d.structure.randint(1, 5)]
    if d.since == 1:
        d.attributes["classes_strings"] = words
        d.state(default_int64=(-1, 7), default_string=("_Unused", "z"))
        kind = d.element(0)
        return [Argument(d.array(kind, d.shape(None, 1, 2), -1, 6), kind)]
    keys, values = d.pick("string", "int64", "float"), d.pick("string", "int64", "float")
    numbers = [0.0, -0.0, 1.5, 2.0, float("nan")]
    pool: dict[str, list[Any]] = {"string": words, "int64": [0, 1, 2, 5, -3], "float": numbers}
    stem = {"string": "strings", "int64": "int64s", "float": "floats"}
    count = d.structure.randint(1, len(words))
    d.attributes[f"keys_{stem[keys]}"] = d.structure.sample(pool[keys], count)
    d.attributes[f"values_{stem[values]}"] = d.structure.sample(pool[values], count)
    d.attr(f"default_{values}", {"string": "z", "int64": 9, "float": 0.5}[values])
    d.special = True
    shape = d.shape(None, 0, 2)
    array = d.array(keys, shape, -3, 6) if keys == "int64" else d.array(keys, shape)
    return [Argument(array, keys)]


@draws("TreeEnsembleClassifier", "TreeEnsembleRegressor")
def trees(d: Draw) -> list[Argument | None]:
    features, targets = d.pick(1, 2, 3), d.pick(1, 2, 3)
    nodes: dict[str, list[Any]] = {
        key: [] for key in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
                            "missing_value_tracks_true")
    }  # fmt: skip
    leaves: dict[str, list[Any]] = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    one_mode = d.pick("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
    for tree in range(d.structure.randint(1, 3)):
        depth = d.structure.randint(0, 3)
        inner = 2**depth - 1
        for node in range(2 ** (depth + 1) - 1):
            leaf = node >= inner
            mode = "LEAF" if leaf else one_mode if d.chance(0.7) else d.pick("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT")
            row = (
                tree,
                node,
                0 if leaf else d.structure.randrange(features),
                0.0 if leaf else d.pick(0.5, -1.0, 0.1),
                mode,
                0 if leaf else 2 * node + 1,
                0 if leaf else 2 * node + 2,
                0 if leaf else d.pick(0, 1),
            )
            for key, value in zip(nodes, row, strict=True):
                nodes[key].append(value)
            if leaf:
                for target in d.structure.sample(range(targets), d.structure.randint(1, targets)):
                    for key, value in zip(leaves, (tree, node, target, d.pick(0.25, -1.5, 2.0, 0.1)), strict=True):
                        leaves[key].append(value)
    if not d.chance(0.5):
        del nodes["missing_value_tracks_true"]
    d.attributes.update({f"nodes_{key}": values for key, values in nodes.items()})
    classes = d.schema.name.endswith("Classifier")
    prefix = "class" if classes else "target"
    d.attributes.update({f"{prefix}_{key}": values for key, values in leaves.items()})
    d.attributes["post_transform"] = d.pick("NONE", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")
    if classes:
        # One score for two classes is what most converters write.
        labels = list(range(2 if targets == 1 and d.chance(0.8) else targets))
        if targets == 1 and d.chance(0.3):
            d.attributes["class_ids"] = [1] * len(leaves["ids"])
        if len(labels) == 1 or d.chance(0.5):
            d.attributes["classlabels_int64s"] = labels
        else:
            d.attributes["classlabels_strings"] = [f"c{label}" for label in labels]
    else:
        d.attributes["n_targets"] = targets
        d.attr("aggregate_function", "SUM", "AVERAGE", "MIN", "MAX")
    base = [d.pick(0.5, -1.0) for _ in range(targets)]
    if d.chance(0.3):
        d.attributes["base_values"] = base
    d.special = d.chance(0.2)
    return [d.data(0, [d.sizes.randint(1, 4), features])]


@draws("MaxRoiPool")
def max_roi_pool(d: Draw) -> list[Argument | None]:
    d.attributes["pooled_shape"] = [d.pick(1, 2), d.pick(1, 2)]
    rois = [[0, 0, 0, d.pick(1, 2), d.pick(1, 3)]]
    return [d.tame(0, [1, 2, 4, 4]), Argument(np.array(rois, DTYPES[d.element(1)]), d.element(1))]


@draws("RoiAlign")
def roi_align(d: Draw) -> list[Argument | None]:
    batch, count = d.sizes.randint(1, 2), d.sizes.randint(1, 3)
    d.state(mode=("avg", "max"), output_height=(1, 2), output_width=(1, 3), sampling_ratio=(0, 2))
    d.state(spatial_scale=(1.0, 0.5))
    d.attr("coordinate_transformation_mode", "half_pixel", "output_half_pixel", stated=0.6)
    corner = d.values.uniform(0, 2, [count, 2])
    rois = np.concatenate([corner, corner + d.values.uniform(1, 3, [count, 2])], 1)
    element = d.element(0)
    x = d.tame(0, [batch, d.sizes.randint(1, 2), 5, 5])
    return [x, Argument(rois.astype(DTYPES[element]), element), Argument(d.values.integers(0, batch, [count]), "int64")]


@draws("QLinearMatMul")
def quantized_product(d: Draw) -> list[Argument | None]:
    m, k, n = (d.size() or 1 for _ in range(3))
    kinds = [d.pick("uint8", "int8") for _ in range(3)]
    found: list[Argument | None] = []
    for kind, shape in zip(kinds, ([m, k], [k, n], None), strict=True):
        if shape is not None:
            found.append(Argument(d.array(kind, shape, 0, 9), kind))
        found += [d.side(0.5, "float"), d.side(1, kind)]
    return found


@draws("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(d: Draw) -> list[Argument | None]:
    batch, classes, rest = d.sizes.randint(1, 3), d.pick(2, 3), d.shape(None, 0, 2)
    d.state(reduction=("none", "sum", "mean"), ignore_index=(0, 1, -1))
    target = d.values.integers(0, classes, [batch, *rest])
    weight = Argument(np.abs(d.values.normal(1, 0.2, [classes])).astype(DTYPES[d.element(0)]), d.element(0))
    d.attributes["__outputs"] = 1 if len(d.schema.outputs) == 1 else d.pick(1, 2)
    return [d.tame(0, [batch, classes, *rest]), Argument(target, "int64"), weight if d.chance(0.5) else None]


@draws("NonMaxSuppression")
def suppression(d: Draw) -> list[Argument | None]:
    batch, boxes, classes = d.sizes.randint(1, 2), d.sizes.randint(1, 5), d.sizes.randint(1, 2)
    corner = d.values.uniform(0, 1, [batch, boxes, 2])
    found = np.concatenate([corner, corner + d.values.uniform(0.1, 1, [batch, boxes, 2])], 2).astype(np.float32)
    scores = d.values.uniform(0, 1, [batch, classes, boxes]).astype(np.float32)
    d.attr("center_point_box", 0, 1)
    limit = d.side([d.pick(0, 1, 3)]) if d.chance(0.7) else None
    rest = [d.side([d.pick(0.0, 0.5)], "float") if d.chance(0.5) else None for _ in range(2)]
    return [Argument(found, "float"), Argument(scores, "float"), limit, *rest]


@draws("MaxUnpool")
def unpool(d: Draw) -> list[Argument | None]:
    h, w = d.sizes.randint(1, 3), d.sizes.randint(1, 3)
    d.attributes.update(kernel_shape=[2, 2], strides=[2, 2])
    count = h * w
    where = np.sort(d.values.choice(4 * count, count, replace=False)).reshape(1, 1, h, w)
    return [d.tame(0, [1, 1, h, w]), Argument(where.astype(np.int64), "int64")]


@draws("Det")
def det(d: Draw) -> list[Argument | None]:
    size = d.sizes.randint(1, 3)
    return [d.tame(0, [*d.shape(None, 0, 2), size, size])]


@draws("SplitToSequence")
def split_to_sequence(d: Draw) -> list[Argument | None]:
    shape = [d.sizes.randint(1, 6) for _ in range(d.structure.randint(1, 3))]
    axis = d.axis(len(shape))
    d.attr("keepdims", 0, 1)
    sizes = d.pick(None, 1, 2, [1, shape[axis] - 1])
    return [d.data(0, shape), None if sizes is None else d.side(sizes)]


@draws("BitShift")
def bit_shift(d: Draw) -> list[Argument | None]:
    a, b = broadcastable(d, 2)
    d.attributes["direction"] = d.pick("LEFT", "RIGHT")
    kind = d.element(0)
    return [d.data(0, a), Argument(d.array(kind, b, 0, 8), kind)]


@draws("TensorScatter")
def tensor_scatter(d: Draw) -> list[Argument | None]:
    batch, length, width = d.sizes.randint(1, 2), d.sizes.randint(2, 5), d.pick(1, 2)
    own = d.structure.randint(1, 2)
    d.attr("mode", "linear", "circular")
    where = d.values.integers(0, length - own + 1, [batch])
    x = d.tame(0, [batch, 2, length, width])
    return [x, d.tame(1, [batch, 2, own, width]), Argument(where, "int64") if d.chance(0.7) else None]
