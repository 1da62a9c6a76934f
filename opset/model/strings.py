"""String fields of messages whose bytes are not UTF-8: protobuf reads them, and does not assign them."""

from __future__ import annotations

from typing import Any

from opset.model.storage import wire


def set_string(message: Any, field: str, value: str | bytes) -> None:
    """Set a string field of a message; the value is bytes if it is not UTF-8, as protobuf reads such a field."""
    if isinstance(value, str):
        setattr(message, field, value)
    else:
        number = message.DESCRIPTOR.fields_by_name[field].number
        message.MergeFromString(wire.header(number, len(value)) + value)


def join_strings(separator: str, values: list[str | bytes]) -> str | bytes:
    """Return strings of messages joined by a separator: bytes if one of them is not UTF-8."""
    if all(isinstance(value, str) for value in values):
        return separator.join(map(str, values))
    return separator.encode().join(value.encode() if isinstance(value, str) else value for value in values)
