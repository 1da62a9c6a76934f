"""Broken constraints that inference reports, and that no example of an operator breaks in this way."""

import onnx.parser
import pytest

import opset

BROKEN = [
    (18, "C3: 5 is no multiple of the 4 elements of a block",
     "(float[1,5,4] x) => (float[] y) <int64[2] i = {3, 3}, int64[2] b = {2, 2}> { y = Col2Im(x, i, b) }"),
    (12, "C4: of dimensions of ellipses, 2 and 3 cannot be broadcast together",
     '(float[2,3] x, float[3,4] z) => (float[] y) { y = Einsum<equation="...,...->...">(x, z) }'),
    (13, "C1: 3 pads", "(float[] x) => (float[] y) <int64[3] p = {1, 1, 1}> { y = Pad(x, p) }"),
    (11, "C4: the windows over 1 positions cover -1 elements",
     "(float[1,1,1] x, int64[1,1,1] i) => (float[] y) { y = MaxUnpool<kernel_shape=[1], pads=[1, 1]>(x, i) }"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "why", "graph"), BROKEN)
def test_a_broken_constraint_is_reported(version, why, graph):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {version}]> g {graph}')
    assert [(each.code, each.why) for each in opset.infer(model).findings] == [("I201", why)]
