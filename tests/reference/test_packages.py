"""Packages that few operators need: without them, the error says which, and how to get it."""

import sys

import numpy as np
import pytest
from onnx import helper

from opset import ReferenceEvaluator, RunError

PICTURE = np.frombuffer(b"\x89PNG", np.uint8)
TEXT = np.array(["a"], object)


@pytest.mark.parametrize(
    ("operator", "attributes", "value", "package", "help"),
    [
        ("ImageDecoder", {"pixel_format": "RGB"}, PICTURE, "PIL.Image", "pip install 'opset[image]'"),
        ("RegexFullMatch", {"pattern": "a"}, TEXT, "re2", "pip install 'opset[regex]'"),
    ],
)
def test_a_package_that_is_not_installed_is_named(operator, attributes, value, package, help, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    node = helper.make_node(operator, ["x"], ["y"], name="here", **attributes)
    x = helper.make_tensor_value_info("x", helper.np_dtype_to_tensor_dtype(value.dtype), [None])
    graph = helper.make_graph([node], "g", [x], [helper.make_empty_tensor_value_info("y")])
    evaluator = ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]))
    with pytest.raises(RunError) as caught:
        evaluator.run(None, {"x": value})
    assert caught.value.code == "R205"
    assert help in caught.value.help
    assert "'here'" in caught.value.place
