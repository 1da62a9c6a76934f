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
    feeds = {"x": SIGNAL, "a": np.array(1)}
    refused(node("DFT", ["x", "", "a"], ["y"]), 20, 17, feeds, "C205", shapes={"x": [2, None, 6, 1]})
    refused(node("DFT", ["x", "", "a"], ["y"]), 20, 17, feeds, "C205", shapes={"x": [2, 0, 6, 1]})
    refused(node("DFT", ["x", "", "a"], ["y"]), 20, 17, {"x": SIGNAL}, "C103", {"a": np.array([1, 2])})


PARTS = np.random.default_rng(0).random((2, 6, 5, 2), np.float32) - np.float32(0.5)


def transformed(x, axis, inverse, onesided, length):
    """Return what DFT does, by numpy."""
    axis %= x.ndim
    values = x[..., 0].astype(complex) + (1j * x[..., 1] if x.shape[-1] == 2 else 0)
    if inverse and onesided:
        return np.fft.irfft(values, length, axis)[..., None].astype(x.dtype)
    if onesided:
        found = np.fft.rfft(values.real, length, axis)
    else:
        found = (np.fft.ifft if inverse else np.fft.fft)(values, length, axis)
    return np.stack([found.real, found.imag], -1).astype(x.dtype)


NEAR = {"rtol": 1e-5, "atol": 1e-5}
SHAPES = pytest.mark.parametrize("shape", [None, ["a", "b", "c", 2]])


@pytest.mark.parametrize("axis", [0, 1, 2, -2])
@pytest.mark.parametrize(("inverse", "onesided"), [(0, 0), (1, 0), (0, 1), (1, 1)])
@pytest.mark.parametrize("length", [None, 3, 8])
@SHAPES
def test_dft_by_tables(check, axis, inverse, onesided, length, shape):
    x = PARTS[..., :1] if onesided and not inverse else PARTS
    expect = transformed(x, axis, inverse, onesided, length)
    inputs = ["x"] if length is None else ["x", "n"]
    constants = {} if length is None else {"n": np.array(length, np.int64)}
    dft = node("DFT", inputs, ["y"], axis=axis, inverse=inverse, onesided=onesided)
    shapes = {} if shape is None else {"shapes": {"x": [*shape[:3], x.shape[-1]]}}
    for to in (16, 11):
        after = check(dft, 17, to, {"x": x}, constants, expect=[expect], **NEAR, **shapes)
        assert all(len(each.input) > 1 for each in after.graph.node if each.op_type == "Concat")
    if shape is None:
        check(dft, 17, 7, {"x": x}, constants, expect=[expect], **NEAR)
    elif length:
        check(dft, 17, 12, {"x": x, **constants}, expect=[expect], **NEAR, **shapes)


@pytest.mark.parametrize("axis", [0, 1, 2, -2, -3])
def test_an_axis_that_is_known_when_the_model_runs(check, axis):
    dft = node("DFT", ["x", "", "axis"], ["y"], onesided=1)
    feeds = {"x": PARTS[..., :1], "axis": np.array(axis, np.int64)}
    for to in (19, 11):
        check(dft, 20, to, feeds, expect=[transformed(feeds["x"], axis, 0, 1, None)], **NEAR)


@pytest.mark.parametrize("kind", [np.float16, np.float64])
def test_dft_of_other_types(check, kind):
    x = PARTS.astype(kind)
    near = {"rtol": 1e-3, "atol": 1e-3} if kind is np.float16 else {"rtol": 1e-12, "atol": 1e-12}
    check(node("DFT", ["x"], ["y"]), 17, 13, {"x": x}, expect=[transformed(x, 1, 0, 0, None)], **near)


def test_dft_without_its_parts_is_refused(refused):
    refused(node("DFT", ["x"], ["y"]), 17, 13, {"x": PARTS}, "C207", shapes={"x": [2, 6, 5, "p"]})


@pytest.mark.parametrize("window", [False, True])
@pytest.mark.parametrize("length", [False, True])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("shape", [None, ["b", "n"]])
def test_stft_by_frames(check, window, length, parts, shape):
    x = np.random.default_rng(1).random((2, 21, parts), np.float32)
    values = np.random.default_rng(2).random(6).astype(np.float32)
    constants = {"step": np.array(4, np.int64)}
    if window:
        constants["w"] = values
    if length:
        constants["n"] = np.array(6, np.int64)
    size = 6 if window or length else 21
    starts = range(0, 21 - size + 1, 4)
    numbers = x[..., 0] + (1j * x[..., 1] if parts == 2 else 0)
    frames = np.stack([numbers[:, at : at + size] * (values if window else 1) for at in starts], 1)
    onesided = int(parts == 1)
    found = np.fft.rfft(frames.real) if onesided else np.fft.fft(frames)
    expect = np.stack([found.real, found.imag], -1).astype(np.float32)
    inputs = ["x", "step", "w" if window else "", "n" if length else ""]
    stft = node("STFT", inputs, ["y"], onesided=onesided)
    shapes = {} if shape is None else {"shapes": {"x": [*shape, parts]}}
    for to in (16, 11):
        check(stft, 17, to, {"x": x}, constants, expect=[expect], **NEAR, **shapes)


def test_mel_filter_banks_of_constants(check, refused):
    mel = node("MelWeightMatrix", ["bins", "length", "rate", "low", "high"], ["y"])
    constants = {
        "bins": np.int64(8),
        "length": np.int64(64),
        "rate": np.int64(8192),
        "low": np.float32(0),
        "high": np.float32(4096),
    }
    check(mel, 17, 9, {}, constants, rtol=1e-6, atol=1e-6)
    refused(mel, 17, 9, {"rate": np.array(8192)}, "C205", {k: v for k, v in constants.items() if k != "rate"})


REFUSED = [
    (20, 19, "C205", "the input 'axis'", "(float[] x, int64 a) => (float[] y) { y = DFT(x, , a) }"),
    (17, 16, "C103", "which is not one positive",
     "(float[1,4,1] x) => (float[] y) <int64 l = {0}> { y = DFT(x, l) }"),
    (17, 16, "C103", "0 samples",
     "() => (float[] y) <int64 b = {4}, int64 l = {0}, int64 r = {8000}, float e = {0}, float f = {4000}> { y = "
     "MelWeightMatrix(b, l, r, e, f) }"),
    (17, 16, "C103", "holds the parts of a number",
     "(float[4,2] x) => (float[] y) { c = Relu(x) y = DFT<axis=1>(c) }"),
    (17, 16, "C103", "the signal has 4 dimensions",
     "(float[1,8,1,1] x) => (float[] y) <int64 s = {2}, int64 l = {4}> { y = STFT(x, s, , l) }"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)


def test_all_inputs_that_are_not_known_are_named_at_once(refused):
    feeds = {"r": np.array(8192, np.int32), "l": np.array(0, np.float32)}
    known = {"b": np.array(8, np.int32), "n": np.array(16, np.int32), "u": np.float32(4096)}
    nodes = helper.make_node("MelWeightMatrix", ["b", "n", "r", "l", "u"], ["y"])
    error = refused(nodes, 17, 13, feeds, "C205", known)
    assert "'sample_rate' ('r'), 'lower_edge_hertz' ('l')" in str(error) and "make each an initializer" in str(error)
