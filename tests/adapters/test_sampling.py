"""GridSample across the version at which its modes were renamed."""

import numpy as np
import pytest
from onnx import helper

node = helper.make_node
RNG = np.random.default_rng(2)
IMAGE = RNG.random((1, 2, 4, 6), np.float32)


@pytest.mark.parametrize("mode", [{}, {"mode": "bilinear"}, {"mode": "bicubic"}, {"mode": "nearest"}])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_modes_of_grids(check, mode, padding):
    grid = RNG.random((1, 3, 5, 2), np.float32) * 2.4 - 1.2
    old = node("GridSample", ["x", "g"], ["y"], padding_mode=padding, **mode)
    after = check(old, 16, 20, {"x": IMAGE, "g": grid}, rtol=1e-5, atol=1e-5)
    check(after.graph.node, 20, 16, {"x": IMAGE, "g": grid}, rtol=1e-5, atol=1e-5)
    check(node("GridSample", ["x", "g"], ["y"]), 20, 16, {"x": IMAGE, "g": grid}, rtol=1e-5, atol=1e-5)


def test_halves_of_a_grid_go_to_the_even_index(check):
    x = np.arange(5, dtype=np.float32).reshape(1, 1, 1, 5)
    halves = np.array([[[[value, 0] for value in (-0.75, -0.25, 0.25, 0.75)]]], np.float32)
    nearest = node("GridSample", ["x", "g"], ["y"], mode="nearest", align_corners=1)
    expect = [np.array([[[[0, 2, 2, 4]]]], np.float32)]
    for version, to in ((16, 20), (20, 16)):
        check(nearest, version, to, {"x": x, "g": halves}, expect=expect)


def test_what_grids_refuse(refused):
    grid = np.zeros((1, 2, 2, 2, 3), np.float32)
    volume = node("GridSample", ["x", "g"], ["y"])
    refused(volume, 20, 16, {"x": IMAGE[None], "g": grid}, "C204")
    refused(volume, 20, 16, {"x": IMAGE, "g": grid[:, 0, :, :, :2]}, "C207", shapes={"x": None})
    refused(
        node("GridSample", ["x", "g"], ["y"], mode="linear"), 16, 20, {"x": IMAGE, "g": grid[:, 0, :, :, :2]}, "C103"
    )
