"""Types of outputs of operators of onnxruntime and its extensions, which exporters write for models that they run.

The package has no schemas of their domains, and conversion leaves its operators as they are. Operators after them are
converted, and may need to know the types of their inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from opset.inference.building.shapes import expand_shape
from opset.inference.building.types import Shape, Type, element_of, tensor
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

EXTENSIONS = ("com.microsoft.extensions", "ai.onnx.contrib")
"""The domains of onnxruntime-extensions, which have the same operators."""
ELEMENT_OF_EXTENSION = {
    "float": "AudioDecoder",
    "int32": "SentencepieceTokenizer",
    "int64": "BertTokenizer CLIPTokenizer GPT2Tokenizer HfBertTokenizer HfJsonTokenizer RobertaTokenizer SpmTokenizer "
             "StringLength StringToHashBucket StringToHashBucketFast TrieTokenizer",
    "string": "BasicTokenizer BertTokenizerDecoder BlingFireSentenceBreaker BpeDecoder MaskedFill SentencepieceDecoder "
              "StringConcat StringECMARegexReplace StringJoin StringLower StringMapping StringRegexReplace StringStrip "
              "StringUpper WordpieceTokenizer",
    "uint8": "DecodeImage DrawBoundingBoxes EncodeImage",
}  # fmt: skip
"""Element types of the first output, with the operators of onnxruntime-extensions whose output has it."""
SAME_OF_EXTENSION = frozenset((
    "DrawBoundingBoxes", "StringConcat", "StringLength", "StringLower", "StringMapping", "StringStrip",
    "StringToHashBucket", "StringToHashBucketFast", "StringUpper",
))  # fmt: skip
"""Operators of onnxruntime-extensions whose first output has the shape of their first input."""
IMAGES: dict[str, Shape] = {"DecodeImage": (None, None, 3), "EncodeImage": (None,)}
"""Operators of onnxruntime-extensions for images, with the shape of their output: pixels, or the bytes of a file."""
_EXTENSION_ELEMENTS = {name: element for element, names in ELEMENT_OF_EXTENSION.items() for name in names.split()}


def foreign_type(operator: tuple[str, str], inputs: Sequence[Type | None], attributes: Sequence[Any]) -> Type | None:
    """Return the type of the first output of a node of onnxruntime or its extensions; None if it is unknown.

    Only some frequent operators are known. For any other domain, the type is None.

    Args:
        operator: the name and the domain of its operator.
        inputs: the types of its inputs, None if unknown.
        attributes: its AttributeProtos.
    """
    name, domain = operator
    if domain in EXTENSIONS:
        return _extension_type(name, inputs)
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
    return tensor(element_of(types[index]), shape)


def _extension_type(name: str, inputs: Sequence[Type | None]) -> Type | None:
    """Return the type of the first output of an operator of onnxruntime-extensions; None if it is unknown.

    Args:
        name: the name of the operator.
        inputs: the types of its inputs, None if unknown.
    """
    element = _EXTENSION_ELEMENTS.get(name)
    if element is None:
        return None
    first = inputs[0] if inputs else None
    return tensor(element, first.shape if name in SAME_OF_EXTENSION and first is not None else IMAGES.get(name))
