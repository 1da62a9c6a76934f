"""ONNX text for reading: lines wrapped to a width, and models without their metadata."""

from __future__ import annotations

import re
from typing import Any

from opset.model.proto import ModelProto, is_repeated
from opset.model.storage.container import Model

_UNIT = re.compile(r'(?:"(?:[^"\\]|\\.)*"?|[^\s"])+')
"""What is not broken: a word, with the texts in quotes that it has."""
METADATA = "metadata_props"


def wrap_text(text: str, width: int) -> str:
    """Return ONNX text with lines of at most `width` columns, as far as words permit; it reads back to the same.

    Continuations are indented by four. Comments stay as they are.
    """
    lines: list[str] = []
    for line in text.split("\n"):
        if len(line) <= width or line.lstrip().startswith("#"):
            lines.append(line)
            continue
        indent = line[: len(line) - len(line.lstrip())]
        current, started = indent, False
        for unit in _UNIT.findall(line):
            if started and len(current) + 1 + len(unit) > width:
                lines.append(current)
                current, started = f"{indent}    ", False
            current += f" {unit}" if started else unit
            started = True
        lines.append(current)
    return "\n".join(lines)


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
