"""What checkers of types see from outside: functions return the kind of model that they are given.

The lines with `type: ignore` are wrong, each for a reason of its own. A checker that does not refuse one of them says
that its comment is not needed. `mypy` reads this file with the package, `tests/test_typing.py` has pyright read it.
"""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import onnx

import opset

message = onnx.ModelProto()
found_model: opset.Model = opset.convert("model.onnx", 21)
found_model = opset.convert(Path("model.onnx"), release="1.15", dims={"batch": 1, "x.0": "N"})
found_model = opset.convert(found_model, {"": 21}, freeze="all")
found_model = opset.convert(b"...", runtime="onnxruntime==1.17", inexact_types=True)
found_model = opset.lower("model.onnx", "Attention")
found_model = opset.lower("model.onnx", ["Gelu", "Attention"], dims={"N": 1})
found_model = opset.infer_shapes("model.onnx", True)
found_model = opset.inline_functions("model.onnx", exclude=["f"])
found_message: onnx.ModelProto = opset.convert(message, 21)
found_message = opset.lower(message, "Attention")
found_message = opset.infer_shapes(message, data_prop=True)
found_message = opset.inline_functions(message)
found_message = found_model.to_onnx()
version: int = found_model.ir_version
text: str = opset.get_schema("Softmax").doc
conversion: opset.Conversion = opset.plan(message, 21)
findings: list[opset.Finding] = opset.check(found_model)
with ThreadPoolExecutor(2) as executor:
    for report in opset.convert_many(["models", Path("m.onnx")], 21, output="out", executor=executor):
        path: str | None = report.output
        refused = 0 if report.result is None else report.result.conversion.nodes.refused

a: onnx.ModelProto = opset.convert("model.onnx", 21)  # type: ignore
b: opset.Model = opset.convert(message, 21)  # type: ignore
c: Any = opset.convert("model.onnx", opset=21)  # type: ignore
d: Any = opset.convert("model.onnx", dims=[1])  # type: ignore
e: Any = opset.lower(message)  # type: ignore
f: Any = opset.convert(21, 21)  # type: ignore
g: Any = found_model.nodes  # type: ignore
h: Any = opset.inline_functions("model.onnx", excluding=["f"])  # type: ignore
i: Any = opset.convert_many("models", 21, executor=object())  # type: ignore
