"""Operators of training have one version: their nodes stay as they are, whatever the rest of the model moves to."""

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import opset

DOMAIN = "ai.onnx.preview.training"
STEPS = {
    "Adagrad": (["r", "t", "x", "g", "h"], ["y", "h2"], {"decay_factor": 0.1, "epsilon": 1e-5}),
    "Adam": (["r", "t", "x", "g", "v", "h"], ["y", "v2", "h2"], {"alpha": 0.8, "epsilon": 1e-3}),
    "Momentum": (
        ["r", "t", "x", "g", "v"],
        ["y", "v2"],
        {"alpha": 0.9, "beta": 1.0, "mode": "nesterov", "norm_coefficient": 0.01},
    ),
}


@pytest.mark.parametrize("operator", STEPS)
@pytest.mark.parametrize("to", [13, 24])
def test_a_step_stays_while_the_model_moves(build, operator, to):
    inputs, outputs, attributes = STEPS[operator]
    step = helper.make_node(operator, inputs, outputs, domain=DOMAIN, **attributes)
    rng = np.random.default_rng(1)
    feeds = {name: rng.random(2).astype(np.float32) for name in inputs}
    feeds |= {"r": np.array(0.1, np.float32), "t": np.array(3, np.int64), "z": rng.random((2, 3)).astype(np.float32)}
    squeezed = helper.make_node("Unsqueeze", ["z"], ["u"], axes=[0])
    with pytest.warns(UserWarning, match="no inference"):
        before = build([step, squeezed], 12, feeds, outputs=[*outputs, "u"], kinds=dict.fromkeys([*outputs, "u"], 1))
    before.opset_import.add(domain=DOMAIN, version=1)
    after = opset.convert(before, to)
    assert [(entry.domain, entry.version) for entry in after.opset_import] == [("", to), (DOMAIN, 1)]
    assert after.graph.node[0] == step
    for want, have in zip(*(ReferenceEvaluator(model).run(None, feeds) for model in (before, after)), strict=True):
        np.testing.assert_array_equal(have, want)
