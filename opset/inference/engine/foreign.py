"""Types of outputs of operators of onnxruntime's own domain, which exporters write for models that it runs.

The package has no schemas of the domain, and conversion leaves its operators as they are. Operators after them are
converted, and may need to know the types of their inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from opset.inference.building.shapes import expand_shape
from opset.inference.building.types import Shape, Type, tensor
from opset.schemas.constraints.violation import Violation

DOMAIN = "com.microsoft"
ELEMENT_OF = {
    "Attention": 0, "CDist": 0, "DequantizeLinear": 1, "DynamicQuantizeMatMul": 0,
    "FusedConv": 0, "FusedGemm": 0, "FusedMatMul": 0, "MatMulIntegerToFloat": 2, "MatMulNBits": 0,
    "MultiHeadAttention": 0, "QAttention": 2, "QGemm": 8, "QLinearAdd": 0, "QLinearAveragePool": 0, "QLinearConcat": 1,
    "QLinearGlobalAveragePool": 0, "QLinearMul": 0, "QLinearWhere": 1, "QuantizeLinear": 2,
}  # fmt: skip
"""The input whose element type the first output has."""
SAME = frozenset((
    "BiasGelu", "FastGelu", "Gelu", "Inverse", "QLinearLeakyRelu", "QLinearSigmoid", "QLinearSoftmax", "QuickGelu",
    "SkipLayerNormalization", "SkipSimplifiedLayerNormalization",
))  # fmt: skip
"""Operators whose first output has the type and the shape of their first input."""


def foreign_type(operator: tuple[str, str], inputs: Sequence[Type | None], attributes: Sequence[Any]) -> Type | None:
    """Return the type of the first output of a com.microsoft node; None if it is unknown, or for any other domain.

    Only some frequent operators are known.

    Args:
        operator: the name and the domain of its operator.
        inputs: the types of its inputs, None if unknown.
        attributes: its AttributeProtos.
    """
    name, domain = operator
    if domain != DOMAIN:
        return None
    types = [type_ if type_ is not None and type_.kind == "tensor" else tensor(None) for type_ in inputs]
    shapes: list[Shape | None] = [type_.shape for type_ in types]
    if name in SAME and types and types[0].element is not None:
        return types[0]
    if name == "MurmurHash3" and types:
        stated = [attribute for attribute in attributes if attribute.name == "positive"]
        if any(attribute.ref_attr_name for attribute in stated):
            return None
        return tensor("uint32" if not stated or stated[0].i else "int32", shapes[0])
    if name == "Tokenizer" and types:
        return tensor("string", None if shapes[0] is None else [*shapes[0], None])
    index = ELEMENT_OF.get(name, len(types))
    if index >= len(types) or types[index].element is None:
        return None
    shape: Any = None
    if name == "CDist" and len(types) > 1:
        shape = [None if shape is None or len(shape) != 2 else shape[0] for shape in shapes[:2]]
    elif name in ("DequantizeLinear", "QuantizeLinear"):
        shape = shapes[0]
    elif name in ("QLinearAdd", "QLinearMul") and len(shapes) > 3 and shapes[0] is not None and shapes[3] is not None:
        with suppress(Violation):
            shape = expand_shape(shapes[0], shapes[3])
    elif name in ("QLinearAveragePool", "QLinearGlobalAveragePool") and shapes[0]:
        shape = [shapes[0][0], *[None] * (len(shapes[0]) - 1)]
    return tensor(types[index].element, shape)
