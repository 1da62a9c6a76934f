"""DFT, whose axis became an input with another default."""

import numpy as np
import pytest
from onnx import helper

node = helper.make_node
SIGNAL = np.random.default_rng(5).random((2, 4, 6, 1), np.float32)


@pytest.mark.parametrize("axis", [{}, {"axis": 2}, {"axis": -3}, {"axis": 1, "onesided": 1}])
@pytest.mark.parametrize("length", [[], ["n"]])
def test_the_axis_of_dft_moves(check, axis, length):
    dft = node("DFT", ["x", *length], ["y"], **axis)
    after = check(dft, 17, 20, {"x": SIGNAL}, {"n": np.int64(5)})
    (constant,) = (n for n in after.graph.node if n.op_type == "Constant")
    assert constant.attribute[0].t.dims == []
    check(after.graph.node, 20, 17, {"x": SIGNAL}, {"n": np.int64(5)}, operators=["DFT"])


def test_an_absent_axis_is_another_one_at_each_version(check, refused):
    after = check(node("DFT", ["x"], ["y"]), 20, 17, {"x": SIGNAL})
    assert [a.i for a in after.graph.node[0].attribute] == [-2]
    after = check(node("DFT", ["x", "", "a"], ["y"], inverse=1), 20, 17, {"x": SIGNAL}, {"a": np.int64(1)})
    assert len(after.graph.node[0].input) == 1
    refused(node("DFT", ["x", "", "a"], ["y"]), 20, 17, {"x": SIGNAL, "a": np.array(1)}, "C205")
    refused(node("DFT", ["x", "", "a"], ["y"]), 20, 17, {"x": SIGNAL}, "C103", {"a": np.array([1, 2])})
