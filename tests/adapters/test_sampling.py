"""GridSample across the version at which its modes were renamed."""

import numpy as np
import pytest
from onnx import helper

import opset

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
    cubic = node("GridSample", ["x", "g"], ["y"], mode="cubic")
    refused(cubic, 20, 16, {"x": IMAGE[None], "g": grid}, "C204")
    refused(volume, 20, 16, {"x": IMAGE[None], "g": grid[:0]}, "C204")
    refused(volume, 20, 16, {"x": IMAGE, "g": grid[:, 0, :, :, :2]}, "C207", shapes={"x": None})
    refused(
        node("GridSample", ["x", "g"], ["y"], mode="linear"), 16, 20, {"x": IMAGE, "g": grid[:, 0, :, :, :2]}, "C103"
    )


def points(shape, kind=np.float32):
    """Return points inside and outside an image, at its edges, and at no place at all."""
    found = np.random.default_rng(7).uniform(-1.6, 1.6, shape).astype(kind)
    flat = found.reshape(-1)
    special = [-1, 1, 0, 0.5, -0.5, 3, -7.25, 0.2]
    flat[: len(special)] = special
    return found


OPEN = pytest.mark.parametrize("open_sizes", [False, True])


@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
@OPEN
def test_images_are_sampled_by_gathering(check, mode, padding, align, open_sizes):
    x = np.random.default_rng(3).random((2, 3, 4, 5), np.float32)
    feeds = {"x": x, "g": points((2, 3, 6, 2))}
    shapes = {"shapes": {"x": ["n", "c", "h", "w"], "g": ["n", "p", "q", 2]}} if open_sizes else {}
    sample = node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding, align_corners=align)
    for to in (15, 11) if open_sizes else (15, 9, 7):
        check(sample, 16, to, feeds, rtol=1e-4, atol=1e-5, **shapes)


@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align", [0, 1])
def test_volumes_are_sampled_by_gathering(check, mode, padding, align):
    x = np.random.default_rng(4).random((2, 2, 3, 4, 5), np.float32)
    feeds = {"x": x, "g": points((2, 2, 3, 4, 3))}
    sample = node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding, align_corners=align)
    for to in (19, 13, 7):
        check(sample, 20, to, feeds, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["linear", "nearest"])
def test_points_at_no_place(run, converted, padding, mode):
    grid = np.array([[[[np.nan, 0], [np.inf, 0], [-np.inf, 0.5], [1e30, 0]]]], np.float32)
    feeds = {"x": np.arange(1, 7, dtype=np.float32).reshape(1, 1, 2, 3), "g": grid}
    sample = node("GridSample", ["x", "g"], ["y"], mode=mode, padding_mode=padding)
    after = converted(sample, 20, 13, feeds)
    expect = opset.ReferenceEvaluator(converted(sample, 20, 20, feeds)).run(None, feeds)[0]
    if padding == "reflection":
        # Far away, reflections of FLOAT are arbitrary, but inside.
        grid[0, 0, 3] = 0
        expect = opset.ReferenceEvaluator(converted(sample, 20, 20, feeds)).run(None, feeds)[0]
    np.testing.assert_allclose(run(after, feeds)[0], expect)


@pytest.mark.parametrize("kind", [np.float16, np.float64])
def test_sampling_of_other_types(check, converted, kind):
    x = np.random.default_rng(3).random((1, 2, 4, 5)).astype(kind)
    feeds = {"x": x, "g": points((1, 3, 2, 2), np.float32)}
    near = {"rtol": 2e-3, "atol": 2e-3} if kind is np.float16 else {"rtol": 1e-5, "atol": 1e-6}
    sample = node("GridSample", ["x", "g"], ["y"])
    expect = opset.ReferenceEvaluator(converted(sample, 20, 20, feeds)).run(None, feeds)
    check(sample, 20, 13, feeds, expect=expect, **near)


@pytest.mark.parametrize("sizes", [[2, 1, 3, 4], [2, 1, 5, 2], [2, 1, 2, 3, 4]])
@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("constant", [True, False])
def test_affine_grids_are_sums(check, sizes, align, constant):
    rank = len(sizes) - 2
    theta = np.random.default_rng(9).random((2, rank, rank + 1), np.float32)
    grid = node("AffineGrid", ["t", "s"], ["y"], align_corners=align)
    feeds, constants = {"t": theta}, {"s": np.array(sizes, np.int64)}
    if not constant:
        feeds |= constants
        constants = {}
    for to in (19, 13, 9, 7) if constant else (19, 13, 11):
        check(grid, 20, to, feeds, constants, rtol=1e-5, atol=1e-6)


def test_one_element_between_two_corners(check, refused):
    grid = node("AffineGrid", ["t", "s"], ["y"], align_corners=1)
    theta = np.ones((2, 2, 3), np.float32)
    refused(grid, 20, 19, {"t": theta}, "C204", {"s": np.array([2, 1, 1, 4])})
    refused(grid, 20, 19, {"t": theta, "s": np.array([2, 1, 1, 4])}, "C207", shapes={"s": None})


@pytest.mark.parametrize("x", [np.array([[["a", "b"]]], object), np.array([[[True, True]]]), np.int32([[[4, 5]]])])
def test_nearest_elements_of_all_types(check, x):
    grid = np.array([[[[-0.5, 0], [0.5, 0], [3, 0]]]], np.float32)
    feeds = {"x": x[None], "g": grid}
    outside = {"O": "", "b": False, "i": 0}[x.dtype.kind]
    expect = np.array([[[[*x[0, 0], outside]]]], x.dtype)
    sample = node("GridSample", ["x", "g"], ["y"], mode="nearest")
    check(sample, 20, 15, feeds, expect=[expect])


REFUSED = [
    (16, 15, "C204", "no elements", "(float[1,0,4] x, float[1,2,1] g) => (float[] y) { y = GridSample(x, g) }"),
    (16, 15, "C204", "no elements", "(float[1,1,0] x, float[1,2,1] g) => (float[] y) { y = GridSample(x, g) }"),
    (16, 15, "C204", "no elements", "(float[1,1,4] x, float[1,0,1] g) => (float[] y) { y = GridSample(x, g) }"),
    (16, 15, "C103", "of 2 dimensions", "(float[1,1] x, float[1,1] g) => (float[] y) { y = GridSample(x, g) }"),
]


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)
