"""Inputs that are drawn are of the declared type and shape, the same for a seed, and never too many."""

import numpy as np
import pytest

from opset.budget import Limits
from opset.errors import RunError, UsageError
from opset.model import proto as pb
from opset.model.elements import NUMBERS
from opset.reference.example_models import type_proto
from opset.reference.value_info import ValueInfo
from opset.reference.values import fit_value
from opset.tensor_io.random_inputs import random_inputs
from tests.bounds import lines


def drawn(*kinds, seed=0, shape=(2, 3)):
    inputs = []
    for number, kind in enumerate(kinds):
        inputs.append(pb.ValueInfoProto(name=f"v{number}", type=type_proto(kind, shape)))
    return [*random_inputs(inputs, {}, seed, Limits()).values()]


@pytest.mark.parametrize("element", NUMBERS)
def test_a_tensor_is_what_is_declared(element):
    kind = f"tensor({element})"
    (array,), (again,), (other,) = drawn(kind), drawn(kind), drawn(kind, seed=1)
    assert fit_value(array, ValueInfo("v0", kind, (2, 3)))[1] == ""
    assert array.tolist() == again.tolist()
    assert array.tolist() != other.tolist()
    if element.startswith(("int", "uint")):
        assert 0 <= array.astype(int).min() <= array.astype(int).max() <= 3


@pytest.mark.parametrize(
    "kind",
    [
        "seq(tensor(float))",
        "optional(tensor(float))",
        "optional(seq(tensor(string)))",
        "map(int64, float)",
        "map(string, int64)",
        "seq(map(string, float))",
        "seq(seq(tensor(int64)))",
    ],
)
def test_other_values_are_what_is_declared(kind):
    (value,) = drawn(kind, shape=())
    assert fit_value(value, ValueInfo("v0", kind, None))[1] == ""


@pytest.mark.parametrize(
    ("element", "found"),
    [
        ("int64", {0, 1, 2, 3}),
        ("uint2", {0, 1, 2, 3}),
        ("int2", {0, 1}),
        ("bool", {False, True}),
        ("string", {"one", "two", "three", "four", "five", "six"}),
    ],
)
def test_values_are_drawn_from_these(element, found):
    (array,) = drawn(f"tensor({element})", shape=(20, 10))
    assert array.shape == (20, 10) and {*array.ravel().tolist()} == found


def test_floats_are_normally_distributed_and_powers_of_two_positive():
    for element in ("float", "double", "float16"):
        (array,) = drawn(f"tensor({element})", shape=(100, 100))
        assert abs(array.astype(np.float64).mean()) < 0.1 and abs(array.astype(np.float64).std() - 1) < 0.1
    (array,) = drawn("tensor(complex64)", shape=(100, 100))
    assert abs(np.corrcoef(array.real.ravel(), array.imag.ravel())[0, 1]) < 0.1 and abs(array.imag.std() - 1) < 0.1
    (array,) = drawn("tensor(float8e8m0)", shape=(100,))
    assert np.all(array.astype(np.float32) > 0)


@pytest.mark.parametrize(("kind", "size"), [("float", 8), ("bool", 8), ("double", 8), ("complex128", 16)])
def test_numbers_are_drawn_in_64_bits_at_least(kind, size):
    inputs = [pb.ValueInfoProto(name="v", type=type_proto(f"tensor({kind})", (3, 5)))]
    assert random_inputs(inputs, {}, 0, Limits(max_bytes=15 * size))["v"].shape == (3, 5)
    with pytest.raises(RunError, match="the inputs would take too much memory") as caught:
        random_inputs(inputs, {}, 0, Limits(max_bytes=15 * size - 1))
    assert caught.value.why.startswith(f"one of them needs {15 * size} bytes, and {15 * size - 1} are left")
    assert caught.value.help == "smaller sizes: --dim; or more: --max-bytes"


def test_entries_of_a_map_are_numbers_or_tensors_of_the_shape_that_is_declared():
    kind = type_proto("map(int64, float)")
    (numbers,) = random_inputs([pb.ValueInfoProto(name="m", type=kind)], {}, 0, Limits()).values()
    assert [*numbers] == [0, 1] and {type(each) for each in numbers.values()} == {np.float32}
    kind.map_type.value_type.tensor_type.shape.dim.add(dim_value=3)
    (tensors,) = random_inputs([pb.ValueInfoProto(name="m", type=kind)], {}, 0, Limits()).values()
    assert [each.shape for each in tensors.values()] == [(3,), (3,)]
    assert not np.array_equal(tensors[0], tensors[1])
    (nested,) = drawn("map(string, seq(tensor(float)))", shape=(2,))
    assert [*nested] == ["one"] and len(nested["one"]) == 2


def test_maps_and_sequences_have_two_entries():
    mapping, texts, sequence = drawn("map(int64, float)", "map(string, int64)", "seq(tensor(float))", shape=())
    assert [*mapping] == [0, 1] and [*texts] == ["one", "two"] and len(sequence) == 2
    assert isinstance(mapping[0], np.float32)


def test_two_inputs_of_one_type_differ():
    left, right = drawn("tensor(float)", "tensor(float)")
    assert not np.array_equal(left, right)


def test_nested_sequences_do_not_multiply():
    with lines(10_000):
        (value,) = drawn("seq(" * 40 + "tensor(float)" + ")" * 40)
    for _ in range(39):
        assert len(value) == 1
        value = value[0]
    assert len(value) == 2


def test_what_cannot_be_drawn_is_told_at_once():
    inputs = [pb.ValueInfoProto(name="s", type=type_proto("sparse_tensor(float)")), pb.ValueInfoProto(name="u")]
    inputs.append(pb.ValueInfoProto(name="r", type=type_proto("tensor(float)")))
    with pytest.raises(UsageError) as caught:
        random_inputs(inputs, {}, 0, Limits())
    assert [(each.code, each.message, each.why) for each in caught.value.findings] == [
        ("U103", "no value can be drawn for 's'", "it is sparse_tensor(float)"),
        ("U103", "no value can be drawn for 'u'", "it is of a type that the model does not declare"),
        ("U103", "no value can be drawn for 'r'", "the model does not declare its rank"),
    ]
    assert {each.help for each in caught.value.findings} == {"pass one in a file or with --set"}


def inputs_of(**shapes):
    found = []
    for name, shape in shapes.items():
        found.append(pb.ValueInfoProto(name=name, type=type_proto("tensor(double)", [None] * len(shape))))
        for dim, size in zip(found[-1].type.tensor_type.shape.dim, shape, strict=True):
            if isinstance(size, int):
                dim.dim_value = size
            elif size:
                dim.dim_param = size
    return found


def test_sizes_are_those_of_given_values_and_missing_ones_are_named_once():
    inputs = inputs_of(a=("N", 2), b=("N", "M"), c=("N",))
    inputs.append(pb.ValueInfoProto(name="s", type=type_proto("seq(tensor(float))")))
    drawn = random_inputs(inputs, {"a": np.zeros((5, 2)), "b": np.zeros((3, 4)), "s": [np.zeros(2)]}, 0, Limits())
    assert {name: value.shape for name, value in drawn.items()} == {"c": (5,)}
    with pytest.raises(UsageError) as caught:
        random_inputs(inputs_of(a=("N", "M"), b=("M", -1, None), c=("K",)), {"c": np.zeros(3)}, 0, Limits())
    (finding,) = caught.value.findings
    assert finding.message == "the size of N, M, b.1, b.2 is not known"
    assert finding.help == "set it: --dim N=1 --dim M=1 --dim b.1=1 --dim b.2=1"


def test_inputs_share_the_limit():
    inputs = inputs_of(a=(8, 8), b=(8, 8))
    assert len(random_inputs(inputs, {}, 0, Limits(max_bytes=1024))) == 2
    with pytest.raises(RunError) as caught:
        random_inputs(inputs, {}, 0, Limits(max_bytes=1023))
    assert (caught.value.code, caught.value.why) == (
        "R302",
        "one of them needs 512 bytes, and 511 are left of what is allowed in all",
    )


@pytest.mark.parametrize("shape", [(1,) * 65, (0, 2**63 - 1, 2)])
def test_a_shape_that_numpy_does_not_have_is_told(shape):
    with pytest.raises(UsageError) as caught:
        random_inputs(inputs_of(a=shape), {}, 0, Limits())
    assert "numpy has no array of its shape" in caught.value.why
