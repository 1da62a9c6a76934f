"""What is no number in one sample of a batch stays there, however a model is converted."""

import importlib
from collections import Counter

import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx.backend.test.case import node

from judges.conformance.bodies import Use
from judges.conformance.poisoned import Poison, Subject, batch_of, differences, judge, poisons, run_kernels, subjects
from opset.model import proto as pb

FAMILIES = {
    "quantization": "QuantizeLinear|DequantizeLinear|DynamicQuantizeLinear|QLinear.*|ConvInteger",
    "resizing": "Resize|Upsample|GridSample|AffineGrid|DeformConv",
    "selection": "Where|Trilu|OneHot|Scatter.*|Gather.*|Pad|Compress|MaxUnpool",
    "sums": "CumSum|CumProd|Einsum|MatMul|Gemm|ReduceMean|ReduceLogSumExp|ReduceMax",
    "elements": "Clip|Max|Min|Mod|Sign|IsInf|IsNaN|Round|Sinh|Shrink|ThresholdedRelu|PRelu|Pow|Cast|CastLike",
    "normalization": ".*Normalization|Softmax|LogSoftmax|Hardmax|Attention|RotaryEmbedding|Dropout",
}
LIMIT = 12


def model_of(node, shape):
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return pb.ModelProto.FromString(model.SerializeToString())


def subject_of(node, x):
    return Subject("examples", node.op_type, "", Use("u", model_of(node, x.shape), {"x": x}))


@pytest.mark.parametrize("family", FAMILIES)
def test_one_sample_of_a_batch_is_poisoned(family):
    chosen = list(subjects(["examples"], FAMILIES[family]))
    counts, found = Counter(), []
    for subject in chosen[:: len(chosen) // LIMIT]:
        outcome = judge(subject, [10, 7], run_kernels)
        counts += outcome.counts
        found += [finding for finding in outcome.findings if not finding.reason]
    assert not found, found[:3]
    assert counts["poisoned runs"] > 20


@pytest.mark.parametrize("name", ["examples/segmenter_opset9", "exported/torch/interpolate_opset11"])
def test_one_sample_of_the_batch_of_a_model_is_poisoned(name):
    (subject,) = subjects(["models"], name)
    outcome = judge(subject, [10, 7], run_kernels)
    assert outcome.counts["apart"] and not outcome.findings, outcome.findings[:3]


def test_what_a_mask_has_where_a_window_excludes_the_key():
    importlib.import_module("onnx.backend.test.case.node.attention")  # which computes the cases of Attention alone
    name = "test_attention_local_window_ext_cache_rank2_mask"
    (case,) = (each for each in node._NodeTestCases if each.name == name)
    feeds = {value.name: array for value, array in zip(case.model.graph.input, case.data_sets[0][0], strict=True)}
    use = Use(name, pb.ModelProto.FromString(case.model.SerializeToString()), feeds)
    outcome = judge(Subject("node", "Attention", "", use), [24, 21], run_kernels)
    assert outcome.counts["poisoned runs"] and all(finding.reason for finding in outcome.findings)


def test_a_single_sample_is_repeated_and_its_size_left_open():
    x = np.random.default_rng(1).random((1, 4), np.float32)
    batch = batch_of(subject_of(helper.make_node("Softmax", ["x"], ["y"]), x), run_kernels)
    assert batch.stacked and batch.feeds["x"].shape == (3, 4)
    assert batch.model.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    for poison in poisons(batch):
        np.testing.assert_array_equal(poison.others[0].any(1), [True, False, True])


def test_what_mixes_samples_has_no_others():
    x = np.random.default_rng(1).random((3, 4), np.float32)
    batch = batch_of(subject_of(helper.make_node("CumSum", ["x", "x"], ["y"]), x), run_kernels)
    assert batch is None  # it does not run
    batch = batch_of(subject_of(helper.make_node("ReduceMean", ["x"], ["y"], axes=[0]), x), run_kernels)
    assert not any(poison.others[0].any() for poison in poisons(batch))


def test_findings():
    clean, want = np.array([1, 2, 3], np.float32), np.array([1, np.nan, 3], np.float32)
    poison = Poison("NaN in x", {}, [want], [np.array([True, False, True])])

    def kinds(*values, loose=False):
        return [kind for kind, _ in differences([clean], [np.array(values, np.float32)], poison, loose)]

    assert kinds(1, np.nan, 3) == []
    assert kinds(1, 2, 3) == kinds(1, np.inf, 3) == ["poisoned"]
    assert kinds(np.nan, np.nan, 3) == ["other samples", "poisoned"]
    assert kinds(1, np.nan) == ["other samples", "poisoned"]
    # One unit of the last digit is nothing in the sample itself, and something in another one.
    assert kinds(np.nextafter(np.float32(1), np.float32(2)), np.nan, 3) == ["other samples"]
    assert kinds(1.01, np.nan, 3, loose=True) == ["other samples", "poisoned"]
    zero = Poison("-0 in x", {}, [np.array([0, -0.0], np.float32)], [np.array([False, False])])
    assert [kind for kind, _ in differences([clean[:2]], [np.zeros(2, np.float32)], zero, False)] == ["poisoned"]
    assert [kind for kind, _ in differences([clean[:2]], "ValueError", zero, False)] == ["poisoned"]
