"""Small runtimes in files, for tests of conversions for a runtime."""

import json

ANY = [{"versions": [1, None]}]
"""Kernels that take every version and type of an operator."""
USUAL = ("Cast", "Add", "Mul", "Sub", "Div", "Sqrt", "Relu", "Shape", "Identity")


def takes(*names, **kernels):
    """Return the kernels of a runtime: those of some names take every node, the others are given."""
    return dict.fromkeys((*USUAL, *names), ANY) | {
        name: [{"versions": [1, None]} | each for each in entries] for name, entries in kernels.items()
    }


def runtime_file(folder, operators, opset=(7, 21), **keys):
    """Write the file of a runtime, npu 1.0, with some operators of ai.onnx, or of several domains; return its path."""
    rows = keys.pop("releases", [{"release": "1.0", "opset": [*opset], "ir": 10, "ml": 3, "how": "documented"}])
    domains = operators if "ai.onnx" in operators else {"ai.onnx": operators}
    content = {"runtime": "npu", "match": "range", "releases": rows, "operators": domains} | keys
    path = folder / "npu.yaml"
    path.write_text(json.dumps(content))
    return path
