"""Constants in every form and type, and what makes tensors."""

import math

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.helper import make_node

import opset
from opset.errors import ConversionError

FORMS = [
    ({"value_float": 1.5}, np.float32(1.5)),
    ({"value_floats": [1.5, -0.0]}, np.float32([1.5, -0.0])),
    ({"value_floats": []}, np.float32([])),
    ({"value_int": -(2**63)}, np.array(-(2**63))),
    ({"value_ints": [1, 2, 3]}, np.array([1, 2, 3])),
    ({"value_ints": []}, np.array([], np.int64)),
    ({"value_string": "a"}, np.array("a", object)),
    ({"value_strings": ["a", "ä"]}, np.array(["a", "ä"], object)),
]


def constant(**attributes):
    node = make_node("Constant", [], ["y"])
    for name, value in attributes.items():
        if isinstance(value, list) and not value:
            node.attribute.add(name=name, type=7 if name == "value_ints" else 6)
        else:
            node.attribute.append(helper.make_attribute(name, value))
    return node


def found(model, name="y"):
    """Return the one value that a model without inputs computes, from its constants."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            (attribute,) = node.attribute
            assert attribute.name == "value"
            tensors[node.output[0]] = attribute.t
    return numpy_helper.to_array(tensors[name])


@pytest.mark.parametrize(("attributes", "expect"), FORMS)
@pytest.mark.parametrize("to", [11, 10, 9, 8, 1])
def test_plain_forms_become_tensors(attributes, expect, to):
    kind = TensorProto.STRING if expect.dtype == object else helper.np_dtype_to_tensor_dtype(expect.dtype)
    output = helper.make_tensor_value_info("y", kind, expect.shape)
    graph = helper.make_graph([constant(**attributes)], "g", [], [output])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=6)
    after = opset.convert(model, to)
    onnx.checker.check_model(after, full_check=True)
    value = found(after)
    assert value.shape == expect.shape and value.tolist() == expect.tolist()
    assert value.dtype == expect.dtype or expect.dtype == object
    assert len(after.graph.node) == (0 if to < 9 and kind != TensorProto.FLOAT else 1)


def sparse(values, indices, dims):
    return helper.make_sparse_tensor(
        numpy_helper.from_array(np.asarray(values), "v"),
        numpy_helper.from_array(np.asarray(indices, np.int64), "i"),
        dims,
    )


@pytest.mark.parametrize(
    "kind", [np.float32, np.float64, np.int64, np.int8, np.bool_, np.complex64, ml_dtypes.bfloat16]
)
@pytest.mark.parametrize(("indices", "dims"), [([1, 4], [6]), ([1, 4], [2, 3]), ([[0, 1], [1, 1]], [2, 3])])
def test_sparse_constants_become_dense(kind, indices, dims):
    values = np.array([1, 1]).astype(kind)
    expect = np.array([0, 1, 0, 0, 1, 0]).astype(kind).reshape(dims)
    number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    output = helper.make_tensor_value_info("y", number, dims)
    graph = helper.make_graph([constant(sparse_value=sparse(values, indices, dims))], "g", [], [output])
    version = 13 if kind is ml_dtypes.bfloat16 else 11
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=6)
    if kind is ml_dtypes.bfloat16:
        with pytest.raises(ConversionError) as caught:
            opset.convert(model, 10)
        assert caught.value.code == "C202"
    else:
        value = found(opset.convert(model, 10))
        assert value.dtype == expect.dtype and value.tolist() == expect.tolist()


@pytest.mark.parametrize(
    ("indices", "dims", "code"),
    [
        ([1, 6], [6], "C103"),
        ([-1, 2], [6], "C103"),
        ([0, 1, 2], [6], "C103"),
        ([[0, 3], [1, 1]], [2, 3], "C103"),
        ([[0, 0, 0], [1, 1, 1]], [2, 3], "C103"),
        ([[[0, 1], [1, 1]]], [2, 3], "C103"),
        ([[1], [4]], [2, 3], "C103"),
        ([1, 4], [-1], "C103"),
        ([1, 4], [2, -3], "C103"),
        ([1, 4], [2**40], "C204"),
        ([1, 4], [2**40, 2**40], "C204"),
    ],
)
def test_sparse_constants_that_do_not_fit(indices, dims, code):
    values = np.ones(2, np.float32)
    graph = helper.make_graph(
        [constant(sparse_value=sparse(values, indices, [6])), make_node("Neg", ["y"], ["z"])],
        "g",
        [],
        [helper.make_tensor_value_info("z", 1, None)],
    )
    held = graph.node[0].attribute[0].sparse_tensor
    del held.dims[:]
    held.dims.extend(dims)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6)
    with pytest.raises(ConversionError) as caught:
        opset.convert(model, 9)
    assert caught.value.code == code
    if min(dims) < 0:
        assert caught.value.why == f"the sparse constant has dims {dims}"


@pytest.mark.parametrize("indices", [[1, 4], [[0, 1], [1, 1]]])
def test_sparse_constants_whose_indices_are_no_integers(attempt, indices):
    made = constant(sparse_value=sparse(np.ones(2, np.float32), indices, [2, 3] if np.ndim(indices) == 2 else [6]))
    made.attribute[0].sparse_tensor.indices.CopyFrom(numpy_helper.from_array(np.float32(indices)))
    output = helper.make_tensor_value_info("z", 1, None)
    graph = helper.make_graph([made, make_node("Neg", ["y"], ["z"])], "g", [], [output])
    assert attempt(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6), 10) == "C103"


@pytest.mark.parametrize("part", ["values", "indices"])
def test_sparse_constants_of_unknown_types(attempt, part):
    made = constant(sparse_value=sparse(np.ones(2, np.float32), [1, 4], [6]))
    getattr(made.attribute[0].sparse_tensor, part).data_type = 99
    output = helper.make_tensor_value_info("z", 1, None)
    graph = helper.make_graph([made, make_node("Neg", ["y"], ["z"])], "g", [], [output])
    assert attempt(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6), 10) == "C204"


def test_a_constant_has_one_form(refused):
    two = constant(value_int=1, value_float=1.0)
    for node in (two, make_node("Constant", [], ["y"])):
        refused(node, 12, 11, {}, "C103", kinds={"y": 1})


@pytest.mark.parametrize("kind", [np.int64, np.bool_, np.uint8, np.float32, np.float16])
@pytest.mark.parametrize("ir", [3, 6])
def test_early_constants_hold_numbers_with_fractions_alone(kind, ir):
    value = np.array([[0, 1], [1, 0]], kind)
    nodes = [
        make_node("Constant", [], ["c"], value=numpy_helper.from_array(value)),
        make_node("Identity", ["c"], ["y"]),
    ]
    number = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    graph = helper.make_graph(nodes, "g", [], [helper.make_tensor_value_info("y", number, [2, 2])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=ir)
    after = opset.convert(model, 8)
    onnx.checker.check_model(after, full_check=True)
    fractions = np.issubdtype(kind, np.floating)
    assert [node.op_type for node in after.graph.node] == (["Constant"] if fractions else []) + ["Identity"]
    assert found(after, "c").tolist() == value.tolist()


@pytest.mark.parametrize("ir", [3, 6])
def test_an_early_constant_in_a_subgraph(ir):
    def body(value):
        nodes = [
            make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.array([value]))),
            make_node("Identity", ["c"], ["o"]),
        ]
        return helper.make_graph(nodes, "b", [], [helper.make_tensor_value_info("o", 7, [1])])

    node = make_node("If", ["p"], ["y"], then_branch=body(1), else_branch=body(2))
    inputs, outputs = [helper.make_tensor_value_info("p", 9, [])], [helper.make_tensor_value_info("y", 7, [1])]
    graph = helper.make_graph([node], "g", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=ir)
    after = opset.convert(model, 8)
    onnx.checker.check_model(after, full_check=True)
    assert all(not attribute.g.input for attribute in after.graph.node[-1].attribute)
    session = onnxruntime.InferenceSession(after.SerializeToString(), providers=["CPUExecutionProvider"])
    for condition, value in ((True, 1), (False, 2)):
        assert session.run(None, {"p": np.array(condition)}) == [np.array([value])]


def test_an_early_constant_that_becomes_an_attribute_leaves_no_input():
    node = make_node("TopK", ["x"], ["y", "z"], axis=1, k=2)
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])]
    outputs = [helper.make_tensor_value_info(name, kind, [2, 2]) for name, kind in (("y", 1), ("z", 7))]
    graph = helper.make_graph([node], "g", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 7)], ir_version=3)
    after = opset.convert(opset.convert(model, 10), 7)
    assert [each.name for each in after.graph.input] == ["x"] and not after.graph.initializer
    session = onnxruntime.InferenceSession(after.SerializeToString(), providers=["CPUExecutionProvider"])
    y, z = session.run(None, {"x": np.float32([[3, 1, 2], [0, 5, 4]])})
    assert (y.tolist(), z.tolist()) == ([[3, 2], [5, 4]], [[0, 2], [1, 2]])


@pytest.mark.parametrize("values", [[1, -2], [2**53, 0], [2**53 + 1, 0]])
def test_an_early_function_has_no_initializers_and_casts_what_double_holds(values):
    value = numpy_helper.from_array(np.array(values))
    nodes = [make_node("Constant", [], ["c"], value=value), make_node("Add", ["x", "c"], ["y"])]
    imports = [helper.make_opsetid("", 9)]
    function = helper.make_function("mine", "f", ["x"], ["y"], nodes, imports)
    graph = helper.make_graph(
        [make_node("f", ["x"], ["y"], domain="mine")],
        "g",
        [helper.make_tensor_value_info("x", 7, [2])],
        [helper.make_tensor_value_info("y", 7, [2])],
    )
    imports = [*imports, helper.make_opsetid("mine", 1)]
    model = helper.make_model(graph, opset_imports=imports, functions=[function], ir_version=8)
    if max(values) > 2**53:
        with pytest.raises(ConversionError) as caught:
            opset.convert(model, 8)
        assert caught.value.code == "C202"
        return
    after = opset.convert(model, 8)
    session = onnxruntime.InferenceSession(after.SerializeToString(), providers=["CPUExecutionProvider"])
    assert session.run(None, {"x": np.array([3, 4])})[0].tolist() == [3 + values[0], 4 + values[1]]


def test_a_constant_that_is_cast_in_an_early_function_can_become_an_attribute():
    """ReduceSum takes the axes of GridSample's lowering as an attribute before 13."""
    node = make_node("GridSample", ["a", "b"], ["c"])
    function = helper.make_function("mine", "f", ["a", "b"], ["c"], [node], [helper.make_opsetid("", 16)])
    shapes = {"x": [1, 2, 3, 4], "g": [1, 2, 2, 2]}
    inputs = [helper.make_tensor_value_info(name, 1, shape) for name, shape in shapes.items()]
    outputs = [helper.make_tensor_value_info("y", 1, [1, 2, 2, 2])]
    graph = helper.make_graph([make_node("f", ["x", "g"], ["y"], domain="mine")], "g", inputs, outputs)
    imports = [helper.make_opsetid("", 16), helper.make_opsetid("mine", 1)]
    model = helper.make_model(graph, opset_imports=imports, functions=[function], ir_version=8)
    rng = np.random.default_rng(7)
    feeds = {"x": rng.normal(size=(1, 2, 3, 4)).astype("f"), "g": rng.uniform(-1, 1, (1, 2, 2, 2)).astype("f")}
    results = []
    for each in (model, opset.convert(model, 8)):
        session = onnxruntime.InferenceSession(each.SerializeToString(), providers=["CPUExecutionProvider"])
        results.append(session.run(None, feeds)[0])
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)


def test_an_early_constant_that_a_subgraph_gives_keeps_a_type():
    value = numpy_helper.from_array(np.array([1, 2]))
    branches = {
        name: helper.make_graph(
            [make_node("Constant", [], [name], value=value)], name, [], [onnx.ValueInfoProto(name=name)]
        )
        for name in ("then_branch", "else_branch")
    }
    graph = helper.make_graph(
        [make_node("If", ["c"], ["y"], **branches)],
        "g",
        [helper.make_tensor_value_info("c", 9, [])],
        [helper.make_tensor_value_info("y", 7, [2])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=8)
    after = opset.convert(model, 8)
    onnx.checker.check_model(after, full_check=True)
    session = onnxruntime.InferenceSession(after.SerializeToString(), providers=["CPUExecutionProvider"])
    assert session.run(None, {"c": np.array(True)})[0].tolist() == [1, 2]


@pytest.mark.parametrize("kind", ["BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT8E4M3FNUZ"])
@pytest.mark.parametrize("value", [1.5, -0.25, 0.0, math.nan])
def test_late_types_of_constants_of_a_shape(check, kind, value):
    tensor = helper.make_tensor("v", getattr(TensorProto, kind), [1], [value])
    nodes = [make_node("ConstantOfShape", ["s"], ["a"], value=tensor), make_node("Cast", ["a"], ["y"], to=1)]
    feeds = {"s": np.array([2, 3])}
    check(nodes, 20, 19, feeds, expect=[np.full((2, 3), value, np.float32)], kinds={"y": 1})


def test_other_constants_of_a_shape(check, refused):
    feeds = {"s": np.array([2])}
    expect = [np.zeros(2, np.float32)]
    check(make_node("ConstantOfShape", ["s"], ["y"]), 20, 9, feeds, expect=expect, operators=["ConstantOfShape"])
    tensor = helper.make_tensor("v", TensorProto.INT32, [1], [7])
    node = make_node("ConstantOfShape", ["s"], ["y"], value=tensor)
    check(node, 20, 9, feeds, expect=[np.int32([7, 7])], operators=["ConstantOfShape"])
    tensor = helper.make_tensor("v", TensorProto.INT4, [1], [7])
    node = make_node("ConstantOfShape", ["s"], ["y"], value=tensor)
    refused(node, 21, 20, feeds, "C202", kinds={"y": TensorProto.INT4})
    tensor = helper.make_tensor("v", TensorProto.BFLOAT16, [2], [7, 8])
    node = make_node("ConstantOfShape", ["s"], ["y"], value=tensor)
    refused(node, 20, 19, feeds, "C103", kinds={"y": TensorProto.BFLOAT16})


@pytest.mark.parametrize("kind", [None, np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_, np.float16])
@pytest.mark.parametrize("shape", [[2, 3], [], [0, 2], [5, 40]])
@pytest.mark.parametrize("constant", [True, False])
def test_constants_of_a_shape_before_there_were_any(check, kind, shape, constant):
    value, given = {}, np.array(shape, np.int64)
    if kind is not None:
        value["value"] = numpy_helper.from_array(np.array([-1.5 if np.dtype(kind).kind == "f" else 1], kind))
    node = make_node("ConstantOfShape", ["s"], ["y"], **value)
    number = helper.np_dtype_to_tensor_dtype(np.dtype(kind or np.float32))
    expect = [np.full(shape, 0 if kind is None else -1.5 if np.dtype(kind).kind == "f" else 1, kind or np.float32)]
    feeds, constants = ({}, {"s": given}) if constant else ({"s": given}, {})
    check(node, 9, 8, feeds, constants, expect=expect, kinds={"y": number})
    if not constant:
        check(node, 9, 7, feeds, expect=expect, kinds={"y": number}, shapes={"s": [None]})


@pytest.mark.parametrize(("count", "operators"), [(64, []), (65, ["Expand"])])
def test_constants_of_a_shape_are_written_out_if_they_are_small(check, count, operators):
    node, expect = make_node("ConstantOfShape", ["s"], ["y"]), [np.zeros((count, 1), np.float32)]
    check(node, 9, 8, {}, {"s": np.array([count, 1])}, expect=expect, kinds={"y": 1}, operators=operators)


@pytest.mark.parametrize("given", [TensorProto.FLOAT, TensorProto.BFLOAT16])
@pytest.mark.parametrize("made", [None, TensorProto.DOUBLE, TensorProto.BFLOAT16])
def test_eyes_of_bfloat16(check, given, made):
    nodes = [
        make_node("Cast", ["x"], ["a"], to=given),
        make_node("EyeLike", ["a"], ["b"], k=1, **({} if made is None else {"dtype": made})),
        make_node("Cast", ["b"], ["y"], to=TensorProto.FLOAT),
    ]
    x = np.ones((2, 3), np.float32)
    check(nodes, 22, 21, {"x": x}, expect=[np.eye(2, 3, 1, np.float32)])


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("stash", [None, 1, 11, 99])
def test_a_stash_type_that_does_not_matter(check, kind, stash):
    feeds = {"a": np.array(2, kind), "b": np.array(9, kind), "c": np.array(3, kind)}
    node = make_node("Range", list(feeds), ["y"], **({} if stash is None else {"stash_type": stash}))
    check(node, 27, 11, feeds, expect=[np.array([2, 5, 8], kind)], operators=["Range"])


@pytest.mark.parametrize("stash", [None, 1, 11])
def test_ranges_of_float16(check, stash):
    feeds = {"a": np.float16(0.1), "b": np.float16(2001), "c": np.float16(1)}
    feeds = {name: np.asarray(value) for name, value in feeds.items()}
    steps = np.arange(2001, dtype=np.float32 if stash != 11 else np.float64)
    expect = (feeds["a"].astype(steps.dtype) + steps).astype(np.float16)
    node = make_node("Range", list(feeds), ["y"], **({} if stash is None else {"stash_type": stash}))
    check(node, 27, 11, feeds, expect=[expect])


def test_ranges_of_bfloat16_and_other_stash_types(check, refused):
    nodes = [make_node("Cast", [n], [f"{n}_"], to=TensorProto.BFLOAT16) for n in "abc"]
    nodes += [make_node("Range", ["a_", "b_", "c_"], ["r"]), make_node("Cast", ["r"], ["y"], to=TensorProto.FLOAT)]
    feeds = {name: np.asarray(value, np.float32) for name, value in {"a": 1, "b": 4, "c": 0.5}.items()}
    check(nodes, 27, 26, feeds, expect=[np.arange(1, 4, 0.5, np.float32)])
    narrow = {name: value.astype(np.float16) for name, value in feeds.items()}
    for stash, name in ((10, "FLOAT16"), (16, "BFLOAT16"), (99, "99"), (-1, "-1")):
        error = refused(make_node("Range", list(narrow), ["y"], stash_type=stash), 27, 26, narrow, "C204")
        assert error.why == f"'stash_type' is {name}; ranges in it need version 27"


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("to", [10, 9, 8, 7])
def test_ranges_are_counted(check, kind, to):
    node = make_node("Range", ["s", "l", "d"], ["y"])
    bounds = [(0, 5, 1), (1, 10, 3), (10, -5, -4), (5, 5, 1), (5, 0, 1), (0, 3, -2), (-7, 9, 5), (3, 11, 7)]
    bounds.append((4, -1, -1))
    if kind in (np.float32, np.float64):
        bounds += [(0.5, 3.2, 0.25), (1, 0, -0.3), (0, 1, 0.1), (0, -1, 0.5)]
    for bound in bounds:
        feeds = dict(zip("sld", (np.array(each, kind) for each in bound), strict=True))
        near = {} if kind not in (np.float32, np.float64) else {"rtol": 1e-6, "atol": 1e-7}
        check(node, 11, to, feeds, **near)
        check(node, 11, to, {"x": np.zeros(1, np.float32)}, feeds, **near)
        check(node, 11, to, {"l": feeds["l"]}, {"s": feeds["s"], "d": feeds["d"]}, **near)


@pytest.mark.parametrize("kind", [np.int64, np.float32])
def test_a_range_between_constants_is_one(check, kind):
    node = make_node("Range", ["s", "l", "d"], ["y"])
    held = dict(zip("sld", (np.array(each, kind) for each in (1, 10, 3)), strict=True))
    after = check(node, 11, 10, {"x": np.zeros(1, np.float32)}, held)
    assert {each.op_type for each in after.graph.node} <= {"Constant", "Identity"}
    for name, value in held.items():
        check(node, 11, 10, {name: value}, {other: each for other, each in held.items() if other != name})


@pytest.mark.parametrize("to", [10, 7])
def test_ranges_of_large_steps(check, to):
    node, largest = make_node("Range", ["s", "l", "d"], ["y"]), 2**63 - 1
    for bound in [(0, largest, 2**62), (5, largest, largest), (-5, -largest, -(2**62)), (0, -largest - 1, -largest)]:
        feeds = dict(zip("sld", map(np.array, bound), strict=True))
        expect = [np.array([*range(*bound)])]
        check(node, 11, to, feeds, expect=expect)
        check(node, 11, to, {"l": feeds["l"]}, {"s": feeds["s"], "d": feeds["d"]}, expect=expect)


def test_ranges_whose_span_needs_more_than_64_bits(check, refused):
    """Where it is known, they are counted exactly, also those with more elements than are written as one constant."""
    node, least, largest, feeds = (
        make_node("Range", ["s", "l", "d"], ["y"]),
        -(2**63),
        2**63 - 1,
        {"x": np.zeros(1, "f")},
    )
    for bound in [
        (least, largest, 2**62),
        (largest, least, 3),
        (largest, least, -(2**46)),
        (-(2**62) - 9, 2**62, 2**46),
    ]:
        held = dict(zip("sld", map(np.array, bound), strict=True))
        check(node, 11, 10, feeds, held, expect=[np.array([*range(*bound)], np.int64)])
    refused(node, 11, 10, {"d": held.pop("d")}, "C204", held)


BFLOAT16 = TensorProto.BFLOAT16


@pytest.mark.parametrize(
    ("operator", "attributes", "made"),
    [
        ("RandomNormal", {"dtype": BFLOAT16, "shape": [2, 3]}, BFLOAT16),
        ("RandomUniform", {"dtype": BFLOAT16, "shape": [2, 3]}, BFLOAT16),
        ("RandomNormalLike", {}, BFLOAT16),
        ("RandomNormalLike", {"dtype": TensorProto.FLOAT}, TensorProto.FLOAT),
        ("RandomUniformLike", {"dtype": BFLOAT16}, BFLOAT16),
        ("Bernoulli", {}, BFLOAT16),
        ("Bernoulli", {"dtype": TensorProto.INT32}, TensorProto.INT32),
        ("Multinomial", {"dtype": TensorProto.INT64, "sample_size": 4}, TensorProto.INT64),
    ],
)
def test_random_numbers_of_bfloat16_are_drawn_as_floats(converted, operator, attributes, made):
    x = np.full((2, 3), 0.5, ml_dtypes.bfloat16)
    feeds = {} if "shape" in attributes else {"x": x}
    node = make_node(operator, list(feeds), ["y"], **attributes)
    after = converted(node, 22, 21, feeds, kinds={"y": made})
    (y,) = opset.ReferenceEvaluator(after).run(None, feeds)
    assert helper.np_dtype_to_tensor_dtype(y.dtype) == made
    assert y.shape == ((2, 4) if operator == "Multinomial" else (2, 3))
    kinds = [each.i for part in after.graph.node if part.op_type == operator for each in part.attribute]
    assert BFLOAT16 not in kinds


@pytest.mark.parametrize("k", [0, 1, -1, 9])
@pytest.mark.parametrize("to", [8, 7])
def test_eye_by_comparison(check, k, to):
    for shapes in (None, {"x": ["a", "b"]}):
        x = np.ones((3, 4), np.int64)
        check(make_node("EyeLike", ["x"], ["y"], k=k), 9, to, {"x": x}, shapes=shapes)
        check(make_node("EyeLike", ["x"], ["y"], k=k, dtype=1), 9, to, {"x": x}, shapes=shapes)


REFUSED = [
    (
        9,
        8,
        "C103",
        "no tensor with one",
        "(int64[1] s) => (float[] y) { y = ConstantOfShape<value = float[2] {1, 2}>(s) }",
    ),
    (9, 8, "C103", "C1: input -1", "(float x) => (float[] y) <int64[2] s = {2, -1}> { y = ConstantOfShape(s) }"),
    (9, 8, "C103", "no matrix", "(float[2,2,2] x) => (float[] y) { y = EyeLike(x) }"),
    *(
        (
            11,
            10,
            "C103",
            "C2: delta",
            f"({kind} x) => ({kind}[] y) <{kind} a = {{1}}, {kind} b = {{5}}, {kind} d = {{0}}> {{ "
            "y = Range(a, b, d) }",
        )
        for kind in ("int64", "float")
    ),
]


@pytest.mark.parametrize(("version", "to", "code", "why", "graph"), REFUSED)
def test_each_reason_to_refuse(reject, version, to, code, why, graph):
    reject(graph, version, to, code, why)


@pytest.mark.parametrize(("start", "limit"), [(0, -np.inf), (np.inf, 5), (0, np.nan)])
def test_a_range_without_bounds_is_refused(refused, start, limit):
    constants = {name: np.array(value, np.float32) for name, value in (("s", start), ("l", limit), ("d", 1))}
    refused(make_node("Range", ["s", "l", "d"], ["y"]), 11, 10, {}, "C103", constants, kinds={"y": TensorProto.FLOAT})
