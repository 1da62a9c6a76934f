"""Types of outputs of operators of onnxruntime's own domain, which exporters write for models that it runs.

The package has no schemas of the domain, and conversion leaves its operators as they are. Operators after them are
converted, and may need to know the types of their inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opset.inference.building.types import Shape, Type, tensor

DOMAIN = "com.microsoft"
ELEMENT_OF = {
    "CDist": 0, "DequantizeLinear": 1, "DynamicQuantizeMatMul": 0, "FusedConv": 0, "FusedGemm": 0, "FusedMatMul": 0,
    "MatMulIntegerToFloat": 2, "MatMulNBits": 0, "QLinearAdd": 0, "QLinearMul": 0,
}  # fmt: skip
"""The input whose element type the first output has."""
SAME = frozenset((
    "BiasGelu", "FastGelu", "Gelu", "Inverse", "QLinearLeakyRelu", "QLinearSigmoid", "QLinearSoftmax", "QuickGelu",
    "SkipLayerNormalization",
))  # fmt: skip
"""Operators whose first output has the type and the shape of their first input."""


def foreign_type(operator: tuple[str, str], inputs: Sequence[Type | None], attributes: Sequence[Any]) -> Type | None:
    """Return the type of the first output of a node of another domain, or None if it is not known.

    Args:
        operator: its name and domain.
        inputs: the types of its inputs.
        attributes: its AttributeProtos.
    """
    name, domain = operator
    if domain != DOMAIN:
        return None
    given = [each if each is not None and each.kind == "tensor" else tensor(None) for each in inputs]
    shapes: list[Shape | None] = [each.shape for each in given]
    if name in SAME and given and given[0].element is not None:
        return given[0]
    if name == "MurmurHash3" and given:
        stated = [each for each in attributes if each.name == "positive"]
        if any(each.ref_attr_name for each in stated):
            return None
        return tensor("uint32" if not stated or stated[0].i else "int32", shapes[0])
    if name == "Tokenizer" and given:
        return tensor("string", None if shapes[0] is None else [*shapes[0], None])
    index = ELEMENT_OF.get(name, len(given))
    if index >= len(given) or given[index].element is None:
        return None
    shape: Any = None
    if name == "CDist" and len(given) > 1:
        shape = [None if each is None or len(each) != 2 else each[0] for each in shapes[:2]]
    elif name == "DequantizeLinear":
        shape = shapes[0]
    return tensor(given[index].element, shape)
