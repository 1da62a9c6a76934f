"""The little propagation that conversion needs: element types through signatures, ranks through common operators.

`ask` gives what is known of an input; each function gives None where it is not certain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opset.opsets.values import ELEMENTS, Shape, Values, element_name, graph_of, type_string

if TYPE_CHECKING:
    from opset.schemas.model import OpSchema, Parameter

AskType = Callable[..., str | None]
AskShape = Callable[..., Shape | None]

# Operators of the default domain whose first output has the shape of the first input.
SAME_SHAPE_FAMILIES = frozenset({"unary", "activation", "cast"})
SAME_SHAPE = frozenset(
    "Dropout BatchNormalization InstanceNormalization LayerNormalization GroupNormalization RMSNormalization LRN "
    "LpNormalization MeanVarianceNormalization Identity CumSum CumProd ReverseSequence Trilu QuantizeLinear "
    "DequantizeLinear DynamicQuantizeLinear Scatter ScatterElements ScatterND EyeLike RandomNormalLike "
    "RandomUniformLike Bernoulli RotaryEmbedding TensorScatter".split()
)
SAME_RANK = frozenset(
    "Conv ConvTranspose ConvInteger QLinearConv DeformConv AveragePool MaxPool LpPool GlobalAveragePool GlobalMaxPool "
    "GlobalLpPool Upsample Resize Pad Slice Split Concat Tile GatherElements TopK DepthToSpace SpaceToDepth "
    "Hardmax Attention CenterCropPad Transpose".split()
)
BROADCAST = frozenset(
    "Add Sub Mul Div Pow Mod And Or Xor Equal Less Greater LessOrEqual GreaterOrEqual Max Min Mean Sum Where BitShift "
    "BitwiseAnd BitwiseOr BitwiseXor PRelu".split()
)
DTYPE_ATTRIBUTES = {
    "BitCast": "to",
    "Cast": "to",
    "EyeLike": "dtype",
    "RandomNormal": "dtype",
    "RandomUniform": "dtype",
    "RandomNormalLike": "dtype",
    "RandomUniformLike": "dtype",
    "Multinomial": "dtype",
    "Bernoulli": "dtype",
    "BlackmanWindow": "output_datatype",
    "HammingWindow": "output_datatype",
    "HannWindow": "output_datatype",
    "MelWeightMatrix": "output_datatype",
    "SequenceEmpty": "dtype",
}


def _attribute(node: Any, name: str) -> Any:
    return next((a for a in node.attribute if a.name == name and not a.ref_attr_name), None)


def _int(node: Any, name: str, default: int) -> int | None:
    found = next((a for a in node.attribute if a.name == name), None)
    if found is None:
        return default
    return None if found.ref_attr_name else int(found.i)


def formal(parameters: tuple[Parameter, ...], position: int) -> Parameter | None:
    """Give the formal parameter that stands at a position; the last one repeats if it is variadic."""
    if position < len(parameters):
        return parameters[position]
    return parameters[-1] if parameters and parameters[-1].option == "variadic" else None


def output_type(values: Values, node: Any, position: int, schema: OpSchema, ask: AskType) -> str | None:
    """Give the type of a node's output: stated by an attribute, fixed by the signature, or that of a bound input."""
    parameter = formal(schema.outputs, position)
    if parameter is None:
        return None
    allowed = schema.allowed(parameter)
    if len(allowed) == 1:
        return allowed[0]
    if schema.name in DTYPE_ATTRIBUTES and schema.domain == "":
        stated = _attribute(node, DTYPE_ATTRIBUTES[schema.name])
        if stated is not None:
            name = element_name(stated.i) if stated.type != 3 else stated.s.decode("ascii", "replace").lower()
            name = name if name in ELEMENTS else None
            wrapped = f"seq(tensor({name}))" if schema.name == "SequenceEmpty" else f"tensor({name})"
            return wrapped if name else None
    if parameter.homogeneous and schema.name not in DERIVED_TYPES:
        for index, name in enumerate(node.input):
            given = formal(schema.inputs, index)
            if name and given is not None and given.type == parameter.type and given.homogeneous:
                kind = ask(name)
                if kind is not None:
                    return kind
    rule = DERIVED_TYPES.get(schema.name)
    return rule(values, node, position, ask) if rule is not None else None


def _float_by_default(values: Values, node: Any, position: int, ask: AskType) -> str | None:
    return "tensor(float)"


def _stash(values: Values, node: Any, position: int, ask: AskType) -> str | None:
    """Give the type that statistics are computed in; the first output has the input's."""
    if position == 0:
        return ask(node.input[0]) if node.input else None
    number = _int(node, "stash_type", 1)
    name = element_name(number) if number is not None else None
    return f"tensor({name})" if name else None


def _constant(values: Values, node: Any, position: int, ask: AskType) -> str | None:
    sparse = _attribute(node, "sparse_value")
    if sparse is not None:
        name = element_name(sparse.sparse_tensor.values.data_type)
        return f"tensor({name})" if name else None
    for attribute in node.attribute:
        match attribute.name:
            case "value":
                name = element_name(attribute.t.data_type)
                return f"tensor({name})" if name else None
            case "value_int" | "value_ints":
                return "tensor(int64)"
            case "value_float" | "value_floats":
                return "tensor(float)"
            case "value_string" | "value_strings":
                return "tensor(string)"
    return None


def _constant_of_shape(values: Values, node: Any, position: int, ask: AskType) -> str | None:
    value = _attribute(node, "value")
    name = element_name(value.t.data_type) if value is not None else "float"
    return f"tensor({name})" if name else None


def _like_first(values: Values, node: Any, position: int, ask: AskType) -> str | None:
    return ask(node.input[0]) if node.input and node.input[0] else None


def _cast_like(values: Values, node: Any, position: int, ask: AskType) -> str | None:
    return ask(node.input[1]) if len(node.input) > 1 else None


def _quantize(values: Values, node: Any, position: int, ask: AskType) -> str | None:
    if len(node.input) > 2 and node.input[2]:
        return ask(node.input[2])
    stated = _attribute(node, "output_dtype")
    name = element_name(stated.i) if stated is not None and stated.i else "uint8"
    return f"tensor({name})" if name else None


def _dequantize(values: Values, node: Any, position: int, ask: AskType) -> str | None:
    stated = _attribute(node, "output_dtype")
    if stated is not None and stated.i:
        name = element_name(stated.i)
        return f"tensor({name})" if name else None
    return ask(node.input[1]) if len(node.input) > 1 else None


def _sequence_of(values: Values, node: Any, position: int, ask: AskType) -> str | None:
    kind = ask(node.input[0]) if node.input else None
    return f"seq({kind})" if kind else None


def _element_of(values: Values, node: Any, position: int, ask: AskType) -> str | None:
    kind = ask(node.input[0]) if node.input else None
    return kind[4:-1] if kind is not None and kind.startswith("seq(") else None


def _optional(values: Values, node: Any, position: int, ask: AskType) -> str | None:
    stated = _attribute(node, "type")
    kind = type_string(stated.tp) if stated is not None else ask(node.input[0]) if node.input else None
    return f"optional({kind})" if kind else None


def _optional_element(values: Values, node: Any, position: int, ask: AskType) -> str | None:
    kind = ask(node.input[0]) if node.input else None
    return kind[9:-1] if kind is not None and kind.startswith("optional(") else kind


def _subgraph(attribute: str, skip: int) -> Callable[[Values, Any, int, AskType], str | None]:
    def rule(values: Values, node: Any, position: int, ask: AskType) -> str | None:
        graph = graph_of(node, attribute)
        if graph is None or position + skip >= len(graph.output):
            return None
        output = graph.output[position + skip]
        inner = values.inside(graph)
        return type_string(output.type) or (ask(output.name, inner) if inner is not None else None)

    return rule


DERIVED_TYPES: dict[str, Callable[[Values, Any, int, AskType], str | None]] = {
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow", "MelWeightMatrix"), _float_by_default),
    "LayerNormalization": _stash,
    "Constant": _constant,
    "ConstantOfShape": _constant_of_shape,
    "EyeLike": _like_first,
    "RandomNormalLike": _like_first,
    "RandomUniformLike": _like_first,
    "Bernoulli": _like_first,
    "CastLike": _cast_like,
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
    "SequenceConstruct": _sequence_of,
    "SplitToSequence": _sequence_of,
    "SequenceAt": _element_of,
    "ConcatFromSequence": _element_of,
    "Optional": _optional,
    "OptionalGetElement": _optional_element,
    "If": _subgraph("then_branch", 0),
    "Loop": _subgraph("body", 1),
    "Scan": _subgraph("body", 0),
}


def output_shape(values: Values, node: Any, position: int, schema: OpSchema, ask: AskShape) -> Shape | None:
    """Give the shape of a node's output, often with unknown dimensions, None where the rank is not known."""
    name = schema.name
    if schema.domain != "":
        return None
    given = ask(node.input[0]) if node.input and node.input[0] else None
    if position == 0 and (schema.family in SAME_SHAPE_FAMILIES or name in SAME_SHAPE) and name not in SAME_RANK:
        return given
    if schema.family == "recurrent":
        # Y has a dimension for the directions beside those of X; the final states have no steps (RNN, LSTM, GRU).
        return (None,) * (4 if position == 0 else 3)
    if name in SAME_RANK:
        if name == "Attention" and position:
            return None
        return (None,) * len(given) if given is not None else None
    if name in BROADCAST:
        shapes = [ask(value) for value in node.input]
        if not shapes or any(shape is None for shape in shapes):
            return None
        known = [shape for shape in shapes if shape is not None]
        # Before version 7 and in PRelu nothing but a later operand is broadcast, if any is.
        return known[0] if schema.since_version < 7 or name == "PRelu" else broadcast(known)
    rule = RANKS.get(name)
    rank = rule(values, node, given, ask) if rule is not None else None
    return rank if isinstance(rank, tuple) else (None,) * rank if rank is not None else None


def broadcast(shapes: list[Shape]) -> Shape:
    """Give the shape that shapes broadcast to; a dimension is None where it is not certain."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    result: list[int | str | None] = []
    for dims in zip(*padded, strict=True):
        larger = {dim or None for dim in dims if dim != 1} if 0 not in dims else {0}
        numbers = [dim for dim in larger if isinstance(dim, int)]
        # A number that is not 1 is the result whatever the others are, since they have to be the same or 1.
        result.append(numbers[0] if numbers else 1 if not larger else larger.pop() if len(larger) == 1 else None)
    return tuple(result)


def _of_constant(values: Values, node: Any, given: Shape | None, ask: AskShape) -> Shape | None:
    constant = values._constant_node(node)
    return constant.dims if constant is not None else None


def _shape_length(values: Values, node: Any, given: Shape | None, ask: AskShape) -> Shape | None:
    plain = given is not None and not any(a.name in ("start", "end") for a in node.attribute)
    return (len(given),) if plain and given is not None else (None,)


def _reshape(values: Values, node: Any, given: Shape | None, ask: AskShape) -> int | None:
    if len(node.input) < 2:
        stated = _attribute(node, "shape")
        return len(stated.ints) if stated is not None else None
    target = values.constant(node.input[1])
    if target is not None:
        return len(target.values)
    return _length(ask(node.input[1]))


def _length(shape: Shape | None) -> int | None:
    """Give how many elements a vector has, as its shape tells."""
    return shape[0] if shape is not None and len(shape) == 1 and isinstance(shape[0], int) else None


def _axes(values: Values, node: Any) -> tuple[int, ...] | None:
    stated = _attribute(node, "axes")
    if stated is not None:
        return tuple(stated.ints)
    if len(node.input) > 1 and node.input[1]:
        constant = values.constant(node.input[1])
        return tuple(constant.values) if constant is not None else None
    return None


def _squeeze(values: Values, node: Any, given: Shape | None, ask: AskShape) -> int | None:
    axes = _axes(values, node)
    return len(given) - len(set(axes)) if given is not None and axes is not None else None


def _unsqueeze(values: Values, node: Any, given: Shape | None, ask: AskShape) -> int | None:
    axes = _axes(values, node)
    return len(given) + len(axes) if given is not None and axes is not None else None


def _reduce(values: Values, node: Any, given: Shape | None, ask: AskShape) -> int | None:
    if given is None:
        return None
    if _int(node, "keepdims", 1) == 1:
        return len(given)
    if any(a.name == "noop_with_empty_axes" for a in node.attribute):
        return None
    axes = _axes(values, node)
    if axes is None and len(node.input) < 2 and _attribute(node, "axes") is None:
        return 0
    return len(given) - len(set(axes)) if axes else None


def _arg(values: Values, node: Any, given: Shape | None, ask: AskShape) -> int | None:
    if given is None or (keep := _int(node, "keepdims", 1)) is None:
        return None
    return len(given) if keep else len(given) - 1


def _gather(values: Values, node: Any, given: Shape | None, ask: AskShape) -> int | None:
    indices = ask(node.input[1]) if len(node.input) > 1 else None
    return len(given) + len(indices) - 1 if given is not None and indices is not None else None


def _matmul(values: Values, node: Any, given: Shape | None, ask: AskShape) -> int | None:
    other = ask(node.input[1]) if len(node.input) > 1 else None
    if given is None or other is None:
        return None
    if len(given) >= 2 and len(other) >= 2:
        return max(len(given), len(other))
    return max(len(given) + len(other) - 2, 0) if min(len(given), len(other)) == 1 else None


def _compress(values: Values, node: Any, given: Shape | None, ask: AskShape) -> int | None:
    if not any(attribute.name == "axis" for attribute in node.attribute):
        return 1
    return len(given) if given is not None else None


def _expand(values: Values, node: Any, given: Shape | None, ask: AskShape) -> int | None:
    target = values.constant(node.input[1]) if len(node.input) > 1 else None
    length = len(target.values) if target is not None else _length(ask(node.input[1])) if len(node.input) > 1 else None
    return max(len(given), length) if given is not None and length is not None else None


def _length_of_input(position: int) -> Callable[[Values, Any, Shape | None, AskShape], int | None]:
    def rule(values: Values, node: Any, given: Shape | None, ask: AskShape) -> int | None:
        if len(node.input) <= position:
            return None
        constant = values.constant(node.input[position])
        return len(constant.values) if constant is not None else _length(ask(node.input[position]))

    return rule


RANKS: dict[str, Callable[[Values, Any, Shape | None, AskShape], int | Shape | None]] = {
    "Constant": _of_constant,
    "Shape": _shape_length,
    "Size": lambda values, node, given, ask: 0,
    "Reshape": _reshape,
    "Flatten": lambda values, node, given, ask: 2,
    "Gemm": lambda values, node, given, ask: 2,
    "MatMul": _matmul,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Gather": _gather,
    "Compress": _compress,
    "Expand": _expand,
    "NonZero": lambda values, node, given, ask: 2,
    "Range": lambda values, node, given, ask: 1,
    "OneHot": lambda values, node, given, ask: len(given) + 1 if given is not None else None,
    "ConstantOfShape": _length_of_input(0),
    "ArgMax": _arg,
    "ArgMin": _arg,
    **{
        f"Reduce{kind}": _reduce
        for kind in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
    },
}
