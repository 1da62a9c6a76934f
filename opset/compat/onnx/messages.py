"""Messages of protobuf, of the classes that a caller's have."""

from __future__ import annotations

from typing import Any

from opset.model import Model
from opset.model import proto as pb


def name_of(message: Any) -> str:
    """Return the name of a message's class, such as "NodeProto"; "" for anything else."""
    return str(getattr(getattr(message, "DESCRIPTOR", None), "full_name", "")).removeprefix("onnx.")


def require_message(message: Any, name: str) -> None:
    """Raise TypeError if something is no message of a name."""
    if name_of(message) != name:
        raise TypeError(f"a {type(message).__name__} is no {name}")


def convert_message(message: Any, kind: Any) -> Any:
    """Return a message as one of a class of the same fields, or itself if it is one."""
    return message if isinstance(message, kind) else kind.FromString(message.SerializeToString())


def model_message(result: Any, given: Any) -> Any:
    """Return the result of a function of opset as a ModelProto; if an opset.Model was given, as it is."""
    if isinstance(result, Model) and not isinstance(given, Model):
        return pb.ModelProto.FromString(result.SerializeToString())
    return result
