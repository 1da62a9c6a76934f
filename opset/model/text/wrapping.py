"""ONNX text for reading: lines wrapped to a width, and models without their metadata."""

from __future__ import annotations

import re
from typing import Any

from opset.model.proto import ModelProto, is_repeated
from opset.model.storage.container import Model

_PART = re.compile(r'(?P<comment>#[^\n]*)|(?P<unit>(?:"(?:[^"\\]|\\.)*"?|[^\s"])+)|(?P<end>\n)|[^\S\n]+', re.DOTALL)
"""A comment; a word with the texts in quotes that it has, which is not broken; the end of a line; or spaces."""
METADATA = "metadata_props"


def wrap_text(text: str, width: int) -> str:
    """Return ONNX text with lines of at most `width` columns, as far as words permit; it reads back to the same.

    Continuations are indented by four. Comments stay as they are.
    """
    parts: list[str] = []
    column = indent = 0
    is_start = True
    for match in _PART.finditer(text):
        part = match[0]
        if match["end"]:
            column = indent = 0
            is_start = True
        elif match["comment"] or match["unit"]:
            first, _, _ = part.partition("\n")  # texts may have several lines
            if match["unit"] and not is_start and column + len(first) > width:
                parts[-1:] = ["\n", " " * (indent + 4)]
                column = indent + 4
            is_start = False
            column = len(part) - part.rindex("\n") - 1 if "\n" in part else column + len(part)
        else:
            column += len(part)
            indent = column if is_start else indent
        parts.append(part)
    return "".join(parts)


def without_metadata(model: Model) -> Model:
    """Return a model without `metadata_props` in it, its graphs, functions, nodes, values and tensors."""
    message = ModelProto()
    message.CopyFrom(model.proto)
    pending: list[Any] = [message]
    while pending:
        each = pending.pop()
        for field, value in each.ListFields():
            if field.name == METADATA:
                each.ClearField(METADATA)
            elif field.message_type is not None:
                pending += value if is_repeated(field) else [value]
    return model.with_proto(message, changed=True)
