"""What kernels announce before they take it, in bytes; that it is about what they take is measured in test_limits."""

import sys

import numpy as np
import pytest

from opset.reference.engine.context import StepContext
from opset.reference.numerics.memory import ENTRY
from tests.reference.test_limits import ML, computed
from tests.reference.test_refusals import MACHINE, TREES

CLASSICAL = ("ArrayF", "CastM", "FeatureV", "OneHotE", "ZipM", "LinearC", "LinearR", "SVM", "TreeE")
TEXT = np.array([["ab", "c d e"], ["f g", ""]], object)
REGIONS = np.array([[0.0, 0, 5, 6], [1, 2, 4, 3]])
BOXES = np.array([[[0, 0, 1, 1], [0, 0, 2, 2], [5, 5, 6, 6]]], np.float32)


def ints(*values):
    return np.array(values)


def full(*shape):
    return np.full(shape, 0.5)


def text_bytes(*texts):
    return sum(map(sys.getsizeof, texts))


def single(*shape):
    return full(*shape).astype(np.float32)


def zeros(*shape, kind=float):
    return np.zeros(shape, kind)


ROWS = [
    # operator, version, inputs, attributes, number of outputs, bytes
    ("MaxPool", 22, (full(2, 3, 11, 7),), {"kernel_shape": [2, 3]}, 1, [3360, 2400]),
    ("MaxPool", 22, (full(2, 3, 11, 7),), {"kernel_shape": [2, 3]}, 2, [4312, 5280, 4800]),
    ("AveragePool", 22, (full(2, 3, 11, 7),), {"kernel_shape": [2, 3], "pads": [1, 0, 0, 2]}, 1, [968, 3696, 3696]),
    ("LpPool", 22, (full(2, 3, 11, 7),), {"kernel_shape": [2, 3], "strides": [3, 1]}, 1, [1344, 960]),
    ("MaxUnpool", 22, (full(2, 3, 2, 5), np.arange(60).reshape(2, 3, 2, 5)), {"kernel_shape": [2, 3]}, 1, [1008]),
    ("GlobalAveragePool", 22, (full(2, 3, 5).astype(np.float16),), {}, 1, [240]),
    ("GridSample", 20, (full(2, 3, 5, 7), full(2, 4, 9, 2)), {}, 1, [1728, 2592, 144]),
    ("GridSample", 20, (full(2, 3, 5, 7), full(2, 4, 9, 2)), {"mode": "cubic"}, 1, [1728, 4320, 576]),
    ("GridSample", 20, (full(2, 3, 5, 7), full(2, 4, 9, 2)), {"mode": "nearest"}, 1, [1728, 1728, 36]),
    ("AffineGrid", 20, (full(2, 2, 3), ints(2, 3, 5, 7)), {}, 1, [2520]),
    ("AffineGrid", 20, (full(2, 3, 4), ints(2, 3, 5, 7, 11)), {}, 1, [36960]),
    ("MaxRoiPool", 22, (full(1, 3, 5, 7), zeros(2, 5)), {"pooled_shape": [3, 2]}, 1, [288, 640]),
    ("RoiAlign", 22, (full(1, 3, 9, 7), REGIONS, ints(0, 0)),
     {"output_height": 2, "output_width": 3, "sampling_ratio": 2}, 1, [288, 128, 192, 336, 128, 192, 336]),
    ("RoiAlign", 22, (full(1, 3, 9, 7), REGIONS, ints(0, 0)),
     {"output_height": 2, "output_width": 3, "sampling_ratio": 2, "mode": "max"}, 1,
     [288, 128, 192, 2304, 128, 192, 2304]),
    ("NonMaxSuppression", 11, (BOXES, full(1, 2, 3).astype(np.float32), ints(3)), {}, 1, [384, 0, 128, 256, 384]),
    ("LRN", 13, (full(2, 7, 3),), {"size": 4}, 1, [960]),
    ("Cast", 21, (full(2, 3),), {"to": 10}, 1, [12]),
    ("Cast", 21, (full(2, 3),), {"to": 16}, 1, [192]),
    ("Cast", 21, (full(2, 3),), {"to": 8}, 1, [384]),
    ("Cast", 21, (ints(1, 2, 3),), {"to": 1}, 1, [12]),
    ("ReduceMean", 18, (full(2, 3, 5).astype(np.float16), ints(1)), {}, 1, [240]),
    ("ReduceLogSumExp", 18, (full(2, 3, 5), ints(1)), {}, 1, []),
    ("ReduceLogSumExp", 18, (ints([1, 2, 3], [4, 5, 6]), ints(1)), {}, 1, [240]),
    ("ReduceMean", 18, (ints([1, 2, 3], [4, 5, 6]), ints(1)), {}, 1, []),
    ("Mod", 13, (ints(5, 6, 7), np.array([[2], [3]])), {}, 1, [48]),
    ("BitShift", 11, (np.array([5, 6, 7], np.uint16), np.array([[2], [3]], np.uint16)), {"direction": "LEFT"}, 1,
     [12]),
    ("Where", 16, (np.array([True, False]), full(3, 1), full(5, 1, 1)), {}, 1, [240]),
    ("Max", 13, (full(2), full(3, 1), full(5, 1, 1)), {}, 1, [48, 240]),
    ("Equal", 19, (full(2), full(3, 1)), {}, 1, [6]),
    ("StringSplit", 20, (TEXT,), {}, 2, [128, 320, 448, 512, 96]),
    ("StringSplit", 20, (TEXT,), {"delimiter": " "}, 2, [64, 256, 384, 448, 96]),
    ("TfIdfVectorizer", 9, (ints([1, 2, 3, 4], [5, 6, 7, 8]), ), {"max_gram_length": 2, "min_gram_length": 1,
     "max_skip_count": 1, "mode": "TF", "ngram_counts": [0, 3], "ngram_indexes": [0, 1, 2, 3, 5],
     "pool_int64s": [1, 2, 3, 1, 2, 5, 7]}, 1, [768]),
    ("MatMulInteger", 10, (zeros(2, 3, 5, kind=np.uint8), zeros(5, 7, kind=np.uint8)), {}, 1, [764]),
    ("ConvInteger", 10, (zeros(2, 3, 7, kind=np.uint8), zeros(5, 3, 2, kind=np.uint8)), {}, 1, [288, 240, 288]),
    ("Resize", 19, (full(1, 2, 5, 3), None, np.array([1, 1, 2, 3], np.float32)), {"mode": "cubic"}, 1,
     [1440, 640, 1280, 1440, 576, 1152, 3840]),
    ("Resize", 19, (full(1, 2, 5, 3), None, np.array([1, 1, 2, 3], np.float32)), {"mode": "linear"}, 1,
     [1440, 640, 640, 1440, 576, 576, 3840]),
    ("Resize", 19, (full(1, 2, 5, 3), None, np.array([1, 1, 2, 3], np.float32)), {}, 1, [1440, 640, 576]),
    ("Resize", 19, (full(1, 2, 5, 6), None, np.array([1, 1, 0.5, 0.5], np.float32)),
     {"mode": "linear", "antialias": 1}, 1, [96, 128, 256, 1344, 192, 384, 576]),
    ("Upsample", 9, (full(1, 2, 5, 3), np.array([1, 1, 2, 3], np.float32)), {"mode": "linear"}, 1,
     [240, 1440, 640, 640, 1440, 576, 576, 3840]),
    ("RNN", 22, (full(5, 2, 3), full(1, 7, 3), full(1, 7, 7)), {"hidden_size": 7}, 2, [112, 1120]),
    ("GRU", 22, (full(5, 2, 3), full(2, 21, 3), full(2, 21, 7)), {"hidden_size": 7, "direction": "bidirectional"},
     2, [224, 2800]),
    ("LSTM", 22, (full(5, 2, 3), full(1, 28, 3), full(1, 28, 7)), {"hidden_size": 7}, 3, [224, 2800]),
    ("DFT", 20, (full(2, 5, 3, 1), ints(7)[0], np.array(1)), {}, 1, [1824]),
    ("STFT", 17, (full(2, 11, 1), np.array(3), None, np.array(5)), {}, 1, [960]),
    ("HannWindow", 17, (np.array(7),), {}, 1, [224]),
    ("MelWeightMatrix", 17,
     (np.array(3), np.array(10), np.array(8000), np.array(100, np.float32), np.array(3000, np.float32)), {}, 1,
     [2240]),
    ("Gather", 13, (full(2, 3, 5), ints([0, 1, 1, 0])), {"axis": 1}, 1, [320]),
    ("GatherND", 13, (full(2, 3, 5), ints([0, 1], [1, 2], [0, 0])), {}, 1, [120]),
    ("NonZero", 13, (ints([1, 0, 2], [0, 3, 0]),), {}, 1, [96]),
    ("OneHot", 11, (ints([1, 2, 3]), np.array(7), zeros(2)), {}, 1, [56, 21, 168]),
    ("TopK", 11, (full(5, 7), ints(3)), {}, 2, [840]),
    ("Unique", 11, (ints(5, 3, 5, 1, 3),), {}, 4, [240]),
    ("Unique", 11, (full(5, 3),), {"axis": 0}, 4, [720, 24]),
    ("ReverseSequence", 10, (full(5, 3, 2), ints(1, 2, 3)), {}, 1, [360]),
    ("Concat", 13, (full(2, 3), full(5, 3), full(1, 3)), {"axis": 0}, 1, [192]),
    ("ConcatFromSequence", 11, ([full(2, 3), full(5, 3)],), {"axis": 0}, 1, [168]),
    ("SplitToSequence", 11, (full(5, 3),), {}, 1, [5 * ENTRY + 120]),
    ("SplitToSequence", 11, (full(5, 3), np.array(2)), {"axis": 1}, 1, [2 * ENTRY + 120]),
    ("SplitToSequence", 11, (full(5, 3), ints(2, 0, 3)), {}, 1, [3 * ENTRY + 120]),
    ("StringConcat", 20, (TEXT[0], TEXT), {}, 1, [2 * text_bytes("ab", "c d e"), text_bytes("ab", "c d e", "f g", "")]),
    ("StringConcat", 20, (TEXT[:1], TEXT[:0]), {}, 1, [0]),
    ("CastMap", 1, ({1: 0.5, 4: 2.0},), {}, 1, [16]),
    ("CastMap", 1, ({1: 0.5, 4: 2.0},), {"map_form": "SPARSE", "max_map": 7}, 1, [56]),
    ("SoftmaxCrossEntropyLoss", 13, (zeros(5, 0, 3), np.full((5, 3), -1)), {"ignore_index": -1}, 1, [240]),
    ("LinearAttention", 27, (single(2, 3, 8), single(2, 3, 4), single(2, 3, 5)),
     {"q_num_heads": 2, "kv_num_heads": 1, "update_rule": "linear"}, 2, [560]),
    ("CausalConvWithState", 27, (single(2, 3, 5), single(3, 1, 4)), {}, 2, [192, 120, 480]),
    ("CausalConvWithState", 27, (single(2, 3, 5), single(3, 1, 4), None, single(2, 3, 3)), {}, 2, [120, 480]),
    ("Tile", 13, (full(2, 3), ints(3, 5)), {}, 1, [720]),
    ("Expand", 13, (full(3, 1), ints(2, 3, 5)), {}, 1, [240]),
    ("Conv", 22, (full(2, 4, 7, 5), full(6, 2, 3, 2)), {"group": 2}, 1, [1920, 7680]),
    ("Conv", 22, (full(2, 4, 7, 5), full(6, 2, 3, 2)), {"group": 2, "pads": [1, 1, 0, 0]}, 1, [3072, 2880, 11520]),
    ("ConvTranspose", 22, (full(2, 4, 7, 5), full(4, 3, 3, 2)), {"group": 2, "strides": [2, 1]}, 1, [8640, 3360]),
    ("DeformConv", 22, (full(2, 4, 7, 5), full(6, 2, 3, 2), full(2, 12, 5, 4)), {"group": 2}, 1, [1920, 11520, 1152]),
    ("DeformConv", 22, (full(2, 4, 7, 5), full(6, 2, 3, 2), full(2, 24, 5, 4)), {"group": 2, "offset_group": 2}, 1,
     [1920, 15360, 1152]),
    ("Attention", 24, (full(2, 3, 5, 7), full(2, 3, 11, 7), full(2, 3, 11, 13)), {}, 1, [11040]),
    ("Pad", 21, (full(2, 3), ints(1, 0, 2, 5)), {}, 1, [320]),
    ("Pad", 21, (full(2, 3), ints(1, 0, 2, 1)), {"mode": "reflect"}, 1, [160, 40, 32]),
    ("CenterCropPad", 18, (full(5, 3), ints(4, 7)), {}, 1, [224]),
    ("MatMul", 13, (full(2, 3, 5), full(5, 7)), {}, 1, [336]),
    ("Gemm", 13, (full(3, 5), full(5, 7)), {}, 1, [168]),
    ("Einsum", 12, (full(3, 5), full(5, 7)), {"equation": "ij, jk->ik"}, 1, [168]),
    ("Einsum", 12, (full(3, 5), full(2, 7)), {"equation": "ij, kl->ki"}, 1, [48]),
    ("ConstantOfShape", 25, (ints(2, 3),), {}, 1, [24]),
    ("EyeLike", 22, (full(2, 3),), {}, 1, [48]),
    ("Range", 11, (np.array(0), np.array(7), np.array(2)), {}, 1, [64]),
    ("RandomNormal", 22, (), {"shape": [2, 3], "seed": 1.0}, 1, [216]),
    ("RandomUniformLike", 22, (full(2, 3),), {"seed": 1.0}, 1, [240]),
    ("Bernoulli", 22, (full(2, 3),), {"seed": 1.0}, 1, [96]),
    ("Multinomial", 22, (full(2, 3),), {"sample_size": 5, "seed": 1.0}, 1, [120]),
    ("ArrayFeatureExtractor", 1, (full(2, 3, 5), ints(0, 3)), {}, 1, [96]),
    ("FeatureVectorizer", 1, (full(2, 3), full(2, 5)), {"inputdimensions": [3, 5]}, 1, [72, 192]),
    ("OneHotEncoder", 1, (ints([1, 2, 3]),), {"cats_int64s": [1, 2, 3, 5, 7]}, 1, [60]),
    ("LinearClassifier", 1, (full(2, 3),),
     {"coefficients": [0.5] * 15, "intercepts": [1.0] * 5, "classlabels_ints": [1, 2, 3, 4, 5]}, 2, [160]),
    ("LinearRegressor", 1, (full(2, 3),), {"coefficients": [0.5] * 15, "targets": 5}, 1, [160]),
    ("SVMClassifier", 1, (full(2, 2),), MACHINE, 2, [48, 48]),
    ("SVMClassifier", 1, (full(2, 2),), {**MACHINE, "prob_a": [0.5], "prob_b": [0.5]}, 2, [48, 48, 288]),
    ("SVMRegressor", 1, (full(5, 2),),
     {"n_supports": 3, "coefficients": [0.5] * 3, "support_vectors": [1.0] * 6, "rho": [0.0]}, 1, [160, 120]),
    ("TreeEnsembleRegressor", 3, (full(5, 2),), {**TREES, "n_targets": 3}, 1, [760]),
    ("Compress", 11, (full(2, 3), np.array([True, False])), {"axis": 0}, 1, [24]),
    ("Conv", 22, (full(1, 2, 7, 5), full(6, 2, 1, 1)), {}, 1, [1680]),
    ("ConvTranspose", 22, (full(2, 4, 7, 5), full(4, 3, 3, 2)), {"output_padding": [1, 0], "strides": [2, 2]}, 1,
     [7680, 1680]),
    ("Cast", 21, (full(2, 3),), {"to": 1}, 1, [24]),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_bytes_are_announced_before_they_are_taken(row, monkeypatch):
    operator, version, inputs, attributes, outputs, expected = row
    announced = []
    reserve = StepContext.reserve

    def counted(self, count, dtype=np.float32):
        announced.append(int(count) * np.dtype(dtype).itemsize)
        reserve(self, count, dtype)

    monkeypatch.setattr(StepContext, "reserve", counted)
    domain = ML if operator.startswith(CLASSICAL) else ""
    computed(operator, *inputs, version=version, domain=domain, outputs=outputs, **attributes)
    assert announced == expected
