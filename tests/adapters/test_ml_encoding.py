"""LabelEncoder: tables across the versions at which it changed.

What onnxruntime is known to get wrong is left out of the comparisons with it, and said there.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from tests.adapters import ml_judges as ml
from tests.adapters.ml_judges import NAN, array
from tests.bounds import draws

LETTERS, ROWS = ["a", "b", "c"], [["b", "?"], ["c", "a"]]
TABLES = [
    # before, after, kinds of input and output, attributes, input, what comes out, operators after
    ("strings to positions", 1, 2, "string", "int64", {"classes_strings": LETTERS, "default_string": "off"}, ROWS,
     [[1, -1], [2, 0]], ["LabelEncoder"]),
    ("strings to positions with a default", 1, 2, "string", "int64", {"classes_strings": LETTERS, "default_int64": 7},
     ROWS, [[1, 7], [2, 0]], ["LabelEncoder"]),
    ("positions to strings", 1, 2, "int64", "string", {"classes_strings": ["a", "b", "a"], "default_int64": 7},
     [2, 3, -1, 1], ["a", "_Unused", "_Unused", "b"], ["LabelEncoder"]),
    ("positions to strings with a default", 1, 4, "int64", "string",
     {"classes_strings": LETTERS, "default_string": "z"}, [2, 3], ["c", "z"], ["LabelEncoder"]),
    ("down to positions", 2, 1, "string", "int64",
     {"keys_strings": ["c", "a", "b"], "values_int64s": [2, 0, 1], "default_int64": 9, "default_float": 1.0}, ROWS,
     [[1, 9], [2, 0]], ["LabelEncoder"]),
    ("down from positions", 2, 1, "int64", "string",
     {"keys_int64s": [1, 0], "values_strings": ["x", "x"], "default_string": "?", "default_int64": 3}, [0, 1, 2, -1],
     ["x", "x", "?", "?"], ["LabelEncoder"]),
    ("down to any integers", 2, 1, "string", "int64", {"keys_strings": LETTERS, "values_int64s": [5, 5, -1]}, ROWS,
     [[5, -1], [-1, 5]], ["CategoryMapper"]),
    ("down from any integers", 2, 1, "int64", "string",
     {"keys_int64s": [10, 20, 10], "values_strings": ["x", "y", "x"], "default_string": "-"}, [10, 20, 0],
     ["x", "y", "-"], ["CategoryMapper"]),
    ("up without repeats", 2, 4, "int64", "float", {"keys_int64s": [1, 2], "values_floats": [0.5, 1.5]}, [1, 2, 3],
     [0.5, 1.5, -0.0], ["LabelEncoder"]),
    ("up with repeats", 2, 4, "string", "string", {"keys_strings": ["a", "a", "b"], "values_strings": ["x", "x", "y"]},
     ["a", "b", "c"], ["x", "y", "_Unused"], ["LabelEncoder"]),
    ("up with a zero", 2, 4, "float", "int64", {"keys_floats": [1.0, 0.0], "values_int64s": [3, 4]},
     [0.0, -0.0, 1.0, 2.0, NAN], [4, 4, 3, -1, -1], ["LabelEncoder"]),
    ("up with a negative zero and repeats", 2, 4, "float", "int64",
     {"keys_floats": [1.0, -0.0, 1.0], "values_int64s": [3, 4, 3], "default_int64": 0}, [0.0, -0.0, 1.0, 2.0],
     [4, 4, 3, 0], ["LabelEncoder"]),
    ("up with both zeros", 2, 4, "float", "string",
     {"keys_floats": [0.0, 1.0, -0.0], "values_strings": ["z", "o", "z"]},
     [0.0, -0.0, 1.0, 2.0], ["z", "z", "o", "_Unused"], ["LabelEncoder"]),
    ("down as it is", 4, 2, "string", "float", {"keys_strings": LETTERS, "values_floats": [1.0, 2.0, 3.0]}, ROWS,
     [[2.0, -0.0], [3.0, 1.0]], ["LabelEncoder"]),
    ("down with a zero", 4, 2, "float", "float",
     {"keys_floats": [-0.0, 1.0], "values_floats": [5.0, 6.0], "default_float": 7.0}, [0.0, -0.0, 1.0, NAN],
     [5.0, 5.0, 6.0, 7.0], ["LabelEncoder"]),
    ("down with NaN", 4, 2, "float", "string",
     {"keys_floats": [NAN, 1.0], "values_strings": ["n", "o"], "default_string": "d"}, [[1.0, NAN], [2.0, -NAN]],
     [["o", "n"], ["d", "n"]], ["LabelEncoder", "IsNaN", "Where", "Gather"]),
    ("down with nothing but NaN", 4, 2, "float", "int64", {"keys_floats": [NAN, NAN], "values_int64s": [1, 1]},
     [1.0, NAN], [-1, 1], ["IsNaN", "Where", "Gather"]),
    ("down from tensors", 4, 2, "int64", "string",
     {"keys_tensor": array("int64", [4, 5]), "values_tensor": array("string", ["x", "y"])}, [4, 6, 5],
     ["x", "_Unused", "y"], ["LabelEncoder"]),
    ("down from tensors with a default", 4, 2, "float", "float",
     {"keys_tensor": array("float", [0.5]), "values_tensor": array("float", [2.0]),
      "default_tensor": array("float", [3.0])}, [0.5, 1.0], [2.0, 3.0], ["LabelEncoder"]),
    ("down to doubles", 4, 2, "string", "double",
     {"keys_strings": LETTERS, "values_tensor": array("double", [0.1, 0.2, 0.3]),
      "default_tensor": array("double", [0.4])}, ROWS, [[0.2, 0.4], [0.3, 0.1]], ["LabelEncoder", "Gather"]),
    ("down to doubles from NaN", 4, 2, "float", "double",
     {"keys_floats": [NAN, 1.0], "values_tensor": array("double", [0.1, 0.2])}, [NAN, 1.0, 2.0], [0.1, 0.2, -0.0],
     ["LabelEncoder", "IsNaN", "Where", "Gather"]),
    ("down to int16 from int32", 4, 2, "int32", "int16",
     {"keys_tensor": array("int32", [4, -5]), "values_tensor": array("int16", [1, 2])}, [[4], [-5], [0]],
     [[1], [2], [-1]], ["Cast", "LabelEncoder", "Gather"]),
    ("down from int16", 4, 2, "int16", "string",
     {"keys_tensor": array("int16", [4, -5]), "values_strings": ["x", "y"], "default_string": "d"}, [4, -5, 0],
     ["x", "y", "d"], ["Cast", "LabelEncoder"]),
    ("down all the way", 4, 1, "string", "int64",
     {"keys_tensor": array("string", LETTERS), "values_tensor": array("int64", [1, 0, 2])}, ROWS, [[0, -1], [2, 1]],
     ["LabelEncoder"]),
]  # fmt: skip


def has_kernel(key, value):
    """Return whether onnxruntime's LabelEncoder 4 maps these types."""
    return not {"int32", "int16"} & {key, value} and {key, value} != {"float", "double"}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table[0].replace(" ", "_"))
def test_label_encoder(table):
    name, version, to, kind, out, attributes, x, wanted, result = table
    x, wanted = array(kind, x), array(out, wanted)
    before = ml.model_of(ml.node_of("LabelEncoder", **attributes), version, kind, (out,), x.ndim)
    after = ml.convert(before, to)
    assert ml.operators(after) == result
    judged = [ml.by_hand(before, x), ml.by_hand(after, x)]
    if has_kernel(kind, out):
        judged.append(ml.by_runtime(before, x))
    judged.append(ml.by_runtime(after, x))
    for (found,) in judged:
        assert found.shape == wanted.shape
        assert list(map(repr, found.ravel().tolist())) == list(map(repr, wanted.ravel().tolist())), name


@pytest.mark.parametrize(
    "table", [table for table in TABLES if table[0] in ("up without repeats", "up with both zeros")]
)
def test_a_table_that_means_the_same_stays_as_it_is(table):
    node = ml.node_of("LabelEncoder", **table[5])
    for version, to in ((2, 4), (4, 2)):
        (after,) = ml.convert(ml.model_of(node, version, table[3], (table[4],)), to).graph.node
        assert after == node


TENSOR = array("int64", [1])
REFUSED_TABLES = [
    # before, after, kinds, attributes, code, part of the reason
    (1, 2, "string", "int64", {}, "C204", "is empty"),
    (1, 2, "string", "int64", {"classes_strings": ["a", "a"]}, "C204", "duplicate"),
    (2, 1, "float", "int64", {"keys_floats": [1.0], "values_int64s": [1]}, "C204", "maps float to int64"),
    (2, 1, "string", "string", {"keys_strings": ["a"], "values_strings": ["b"]}, "C204", "maps string to string"),
    (2, 4, "string", "int64", {"keys_strings": ["a", "a"], "values_int64s": [1, 2]}, "C204", "has two values"),
    (2, 4, "float", "float", {"keys_floats": [0.0, -0.0], "values_floats": [1.0, 2.0]}, "C204", "has two values"),
    (2, 4, "float", "float", {"keys_floats": [1.0, 1.0], "values_floats": [0.0, -0.0]}, "C204", "has two values"),
    (2, 4, "float", "float", {"keys_floats": [1.0, NAN], "values_floats": [1.0, 2.0]}, "C204", "is NaN"),
    (2, 4, "string", "int64", {"keys_strings": ["a", "b"], "values_int64s": [1]}, "C103", "2 keys and 1 values"),
    (2, 4, "string", "int64", {"keys_strings": ["a"]}, "C103", "0 of the attributes values_*"),
    (2, 4, "string", "int64", {"keys_strings": ["a"], "keys_int64s": [1], "values_int64s": [1]}, "C103", "keys_*"),
    (4, 2, "string", "int64", {"keys_strings": ["a", "a"], "values_int64s": [1, 2]}, "C204", "has two values"),
    (4, 2, "double", "int64", {"keys_tensor": array("double", [1.0]), "values_int64s": [1]}, "C202", "type double"),
    (4, 2, "string", "int64", {"keys_strings": ["a"], "values_tensor": TENSOR, "default_int64": 3}, "C204", "default"),
    (4, 2, "string", "int64",
     {"keys_strings": ["a"], "values_int64s": [1], "default_tensor": TENSOR}, "C204", "default"),
    (4, 2, "string", "int64",
     {"keys_strings": ["a"], "values_tensor": TENSOR, "default_tensor": array("int64", [1, 2])}, "C103", "one element"),
    (4, 2, "string", "int64",
     {"keys_strings": ["a"], "values_tensor": TENSOR, "default_tensor": array("float", [1])}, "C103", "one element"),
    (4, 2, "string", "int64", {"keys_strings": ["a"], "values_tensor": array("int64", [[1]])}, "C103", "no vector"),
    (4, 2, "string", "int64", {"keys_strings": ["a"], "values_tensor": np.array([1], np.uint8)}, "C103", "no vector"),
]  # fmt: skip


@pytest.mark.parametrize("table", REFUSED_TABLES, ids=str)
def test_label_encoder_is_refused(table):
    version, to, kind, out, attributes, code, why = table
    finding = ml.refused(ml.model_of(ml.node_of("LabelEncoder", **attributes), version, kind, (out,)), to)
    assert (finding.code, why in finding.why) == (code, True), str(finding)


def test_the_direction_of_version_1_needs_the_type():
    model = ml.model_of(ml.node_of("LabelEncoder", classes_strings=LETTERS), 1, "string", ("int64",))
    model.graph.input[0].ClearField("type")
    assert ml.refused(model, 2).code == "C203"


def test_a_cast_needs_a_default_domain_that_has_types_as_numbers():
    node = ml.node_of("LabelEncoder", keys_tensor=array("int32", [1]), values_int64s=[1])
    assert ml.refused(ml.model_of(node, 4, "int32", ("int64",), default=6), 2).code == "C201"


@settings(max_examples=draws(80))
@given(st.data())
def test_tables_give_the_same_down_and_up_again(data):
    domains = {
        "string": list("abc"),
        "int64": [-1, 0, 1, 2],
        "int32": [-1, 0, 1, 2],
        "int16": [-1, 0, 1],
        "float": [-0.0, 0.0, 0.5, NAN],
        "double": [0.1, -0.0, NAN],
    }
    key, value = (
        data.draw(st.sampled_from(sorted(domains.keys() - {"double"}))),
        data.draw(st.sampled_from(sorted(domains))),
    )
    keys = data.draw(
        st.lists(st.sampled_from(domains[key]), min_size=1, max_size=4, unique_by=lambda k: "NaN" if k != k else k)
    )
    values = data.draw(st.lists(st.sampled_from(domains[value]), min_size=len(keys), max_size=len(keys)))
    default = data.draw(st.sampled_from([None, *domains[value]]))
    attributes = {"keys_tensor": array(key, keys), "values_tensor": array(value, values)}
    if default is not None:
        attributes["default_tensor"] = array(value, [default])
    before = ml.model_of(ml.node_of("LabelEncoder", **attributes), 4, key, (value,))
    x = array(key, [domains[key]])
    (wanted,) = ml.by_hand(before, x)
    down = ml.convert(before, 2)
    up = ml.convert(down, 4)
    for model in (down, up):
        judged = (
            [ml.by_hand(model, x), ml.by_runtime(model, x)]
            if model is down or has_kernel(key, value)
            else [ml.by_hand(model, x)]
        )
        for (found,) in judged:
            assert list(map(repr, found.ravel().tolist())) == list(map(repr, wanted.ravel().tolist()))


def test_a_constant_of_a_type_that_the_first_constants_lacked():
    node = ml.node_of("LabelEncoder", keys_strings=LETTERS, values_tensor=array("int16", [5, 6, 7]))
    x = array("string", ROWS)
    after = ml.convert(ml.model_of(node, 4, "string", ("int16",), default=0), 2)
    assert ml.operators(after) == ["LabelEncoder", "Gather"]
    ml.assert_same(ml.by_hand(after, x), [array("int16", [[6, -1], [7, 5]])])
    early = ml.convert(ml.model_of(node, 4, "string", ("int16",), default=7), 2)
    assert [tensor.data_type for tensor in early.graph.initializer] == [TensorProto.INT16]
    ml.assert_same(ml.by_runtime(early, x), ml.by_hand(after, x))


@pytest.mark.parametrize("default", [7, 17])
def test_constants_in_functions(default):
    node = ml.node_of("LabelEncoder", keys_strings=LETTERS, values_tensor=array("int32", [1, 2, 3]))
    imports = [helper.make_opsetid(ml.ML, 4), helper.make_opsetid("", default)]
    function = helper.make_function("local", "F", ["x"], ["y"], [node], imports)
    model = ml.model_of(node, 4, "string", ("int32",), 1, default)
    model.opset_import.append(helper.make_opsetid("local", 1))
    model.graph.node[0].CopyFrom(helper.make_node("F", ["x"], ["y"], domain="local"))
    model.functions.append(function)
    after = ml.convert(model, 2)
    constant = ["Constant", "Cast"] if default == 7 else ["Constant"]  # Constant of version 1 has no int32
    assert [node.op_type for node in after.functions[0].node] == [*constant, "LabelEncoder", "Gather"]
    x = array("string", LETTERS)
    ml.assert_same(ml.by_runtime(after, x), [array("int32", [1, 2, 3])])
