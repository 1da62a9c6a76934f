"""Inputs that are drawn: as declared, the same for a seed, and everything that is missing told at once."""

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

from opset import UsageError
from opset.model import proto as pb
from opset.model.arrays import DTYPES
from opset.opsets.evaluator import type_of
from opset.opsets.random_inputs import draw_inputs


def info(name, kind):
    return pb.ValueInfoProto.FromString(helper.make_value_info(name, kind).SerializeToString())


def tensor(element, shape):
    return helper.make_tensor_type_proto(element, shape)


def draw(kind, sizes=None, seed=0, limit=1 << 20):
    return draw_inputs([info("x", kind)], sizes or {}, seed, limit)["x"]


@pytest.mark.parametrize("number", [*DTYPES])
def test_every_element_type_is_drawn_in_its_shape(number):
    value = draw(tensor(number, [3, "N"]), {"N": 50})
    assert value.dtype == DTYPES[number]
    assert value.shape == (3, 50)
    if value.dtype.kind not in "bO":
        assert len(set(value.ravel().tolist())) > 1
    assert draw(tensor(number, [])).shape == ()


def test_floats_are_normal_and_integers_small():
    floats = draw(tensor(TensorProto.FLOAT, [100, 100]))
    assert abs(floats.mean()) < 0.05
    assert abs(floats.std() - 1) < 0.05
    assert set(draw(tensor(TensorProto.INT64, [1000])).tolist()) == {*range(10)}
    assert set(draw(tensor(TensorProto.UINT2, [1000])).astype(int).tolist()) == {0, 1, 2, 3}
    assert not np.isnan(draw(tensor(TensorProto.BFLOAT16, [50])).astype(np.float32)).any()
    assert draw(tensor(TensorProto.INT4, [50])).dtype == ml_dtypes.int4


def test_a_seed_and_a_name_decide():
    kind = tensor(TensorProto.FLOAT, [8])
    values = draw_inputs([info("x", kind), info("y", kind)], {}, 3, 1 << 20)
    assert not np.array_equal(values["x"], values["y"])
    assert np.array_equal(values["x"], draw(kind, seed=3))
    assert not np.array_equal(values["x"], draw(kind, seed=4))


def test_sequences_optionals_and_maps():
    sequence = helper.make_sequence_type_proto(tensor(TensorProto.FLOAT, [2]))
    assert [type_of(each) for each in draw(sequence)] == ["tensor(float)"] * 2
    assert draw(helper.make_optional_type_proto(tensor(TensorProto.INT64, [2]))).shape == (2,)
    mapping = helper.make_map_type_proto(TensorProto.STRING, tensor(TensorProto.FLOAT, []))
    assert all(isinstance(key, str) and isinstance(value, np.float32) for key, value in draw(mapping).items())


def test_sizes_that_are_missing_are_told_at_once():
    with pytest.raises(UsageError) as caught:
        draw_inputs([info("x", tensor(1, ["N", None])), info("y", tensor(1, ["N", "M"]))], {}, 0, 1 << 20)
    assert [finding.help for finding in caught.value.findings] == [
        "give it: --dim N=2", "give it: --dim x.1=2", "give it: --dim M=2",
    ]  # fmt: skip
    sizes = {"N": 2, "x.1": 3, "M": 4, "y.0": 5}
    values = draw_inputs([info("x", tensor(1, ["N", None])), info("y", tensor(1, ["N", "M"]))], sizes, 0, 1 << 20)
    assert values["x"].shape == (2, 3)
    assert values["y"].shape == (5, 4)
    assert draw(tensor(1, None), {"x.1": 2, "x.0": 1}).shape == (1, 2)


@pytest.mark.parametrize("kind", [tensor(1, [1 << 40]), helper.make_sparse_tensor_type_proto(1, [2])])
def test_what_cannot_be_drawn_is_refused(kind):
    with pytest.raises(UsageError) as caught:
        draw(kind)
    assert caught.value.code == "U103"
