"""Small corpora written by hand, in the layout of `opset testgen`, and commands that serve as runtimes."""

import hashlib
import json

import numpy as np

from opset.extend import parse_model
from opset.model.arrays import encode_message, message_of
from opset.reference.values import type_of

MODEL = '<ir_version: 8, opset_import: ["": 17]> m ({kind} x) => ({kind} y) {{ y = Identity (x) }}'
COPY = """sh -c 'cp "$1/input_0.pb" "$2/output_0.pb"'"""
"""A runtime that copies its first input: it computes Identity."""


def case(name, value=1.0, expected=None, *, kind="node", tolerance=(0.0, 0.0), model=None, **more):
    """A case of Identity: its input is a value, and its output another one or the same."""
    value = np.asarray(value, None if isinstance(value, np.ndarray) else np.float32)
    expected = value if expected is None else expected
    element = {"float32": "float", "float64": "double", "object": "string"}.get(value.dtype.name, value.dtype.name)
    text = model or MODEL.format(kind=f"{element}[{', '.join(map(str, value.shape))}]" if value.shape else element)
    files = {"model.onnx": parse_model(text).SerializeToString()}
    files["test_data_set_0/input_0.pb"] = encode_message(message_of("x", value, type_of(value)))
    if kind == "node":
        files["test_data_set_0/output_0.pb"] = encode_message(message_of("y", expected, type_of(expected)))
    entry = {
        "name": name, "kind": kind, "domain": "ai.onnx", "operator": "Identity", "version": 16, "opsets": {"": 17},
        "ir_version": 8, "example": name, "shows": "values", "types": [element], "tolerance_reason": "exact",
        "tolerance": dict(zip(("rtol", "atol"), tolerance, strict=True)) if kind == "node" else None, "judged_by": [],
        **({"outputs": [{"type": type_of(expected), "shape": list(expected.shape)}]} if kind == "random" else {}),
        "files": {f"{kind}/{name}/{path}": hashlib.sha256(data).hexdigest() for path, data in files.items()},
        **more,
    }  # fmt: skip
    return entry, {f"{kind}/{name}/{path}": data for path, data in files.items()}


def write(folder, *cases):
    """Write a corpus; return its path as text."""
    for _, files in cases:
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
    folder.mkdir(exist_ok=True)
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "cases": [entry for entry, _ in cases]}))
    return str(folder)
