"""The converter that is measured, and its peer, behind one signature."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import onnx

__all__ = ["CONVERTERS", "Converter", "Refused", "Target"]

# What the messages of the onnx package say, in a word or two.
REASONS = {
    "No Adapter": "no adapter",
    "No Previous Version": "no previous version",
    "is unallowed": "type",
    "No initializer or constant": "not constant",
}

Target = tuple[str, int]
Converter = Callable[[onnx.ModelProto, Target], onnx.ModelProto]


@dataclass
class Refused(Exception):
    """The converter declined on purpose; `reasons` holds code, operator ("" if not told) and message of each."""

    reasons: list[tuple[str, str, str]]

    def __str__(self) -> str:
        return "; ".join(f"{code} {message}" for code, _, message in self.reasons)


def convert_with_opset(model: onnx.ModelProto, to: Target) -> onnx.ModelProto:
    """Return the model at the target, by this project; raises Refused."""
    import opset
    from opset.errors import OpsetError

    try:
        converted: onnx.ModelProto = opset.convert(model, {to[0]: to[1]})
    except OpsetError as error:
        raise Refused([(f.code, in_brackets(f.place), str(f)) for f in error.findings]) from error
    return converted


def in_brackets(place: str) -> str:
    """Return the operator that a place such as "node 'up' (Resize)" names, else ""."""
    found = re.search(r"\(([^()]+)\)", place)
    return found.group(1) if found else ""


def convert_with_onnx(model: onnx.ModelProto, to: Target) -> onnx.ModelProto:
    """Return the model at the target, by the onnx package; raises Refused for whatever that raises."""
    import onnx.version_converter

    domain, version = to
    if domain:
        raise Refused([("domain", "", f"only the default domain is converted, not {domain}")])
    try:
        return onnx.version_converter.convert_version(model, version)
    except Exception as error:
        message = " ".join(str(error).split()).rpartition("failed: ")[2]
        named = re.search(r"(?:for|operator|Version of|At) '?([A-Z][A-Za-z]+)", message)
        code = next((title for text, title in REASONS.items() if text in message), "other")
        raise Refused([(code, named.group(1) if named else "", message)]) from error


CONVERTERS: Mapping[str, Converter] = {"opset": convert_with_opset, "onnx": convert_with_onnx}
