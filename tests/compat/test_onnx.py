"""The modules of opset.compat.onnx beside onnx's own: what each accepts, refuses and computes."""

import inspect
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import onnx
import onnx.checker
import onnx.compose
import onnx.defs
import onnx.helper
import onnx.inliner
import onnx.parser
import onnx.printer
import onnx.reference
import onnx.shape_inference
import onnx.utils
import onnx.version_converter
import pytest

import opset
import opset.compat.onnx as compat
from opset.compat.onnx.absent import ABSENT
from opset.model import proto as pb
from opset.reference.comparison import differences
from tests.compat import names
from tests.compat.models import BROKEN, NAMES, feeds_of, models

tensor_type = onnx.helper.make_tensor_type_proto


def values(model, name):
    """The outputs of a model, or one made of it, for the inputs that the named model is tested with."""
    return opset.ReferenceEvaluator(model).run(None, feeds_of(name))


def assert_same(expected, actual):
    assert len(expected) == len(actual)
    assert [each for each in differences([*expected], [*actual]) if each.why] == []


def refuses(function, *arguments):
    """Whether a function of a checker, of onnx or opset, refuses its arguments."""
    try:
        function(*arguments)
    except (onnx.checker.ValidationError, compat.checker.ValidationError):
        return True
    return False


@pytest.mark.parametrize("module", compat.__all__)
def test_functions_have_onnx_s_parameters(module):
    ours, theirs = import_module(f"opset.compat.onnx.{module}"), import_module(f"onnx.{module}")
    compared = 0
    for name in vars(ours).get("__all__", ()):
        other = getattr(theirs, name, None)
        if inspect.isfunction(getattr(ours, name)) and inspect.isfunction(other):
            assert names.parameters(getattr(ours, name)) == names.parameters(other), name
            compared += 1
    assert compared or module == "reference"


@pytest.mark.parametrize("name", ["__init__", "run"])
def test_the_evaluator_has_onnx_s_parameters(name):
    ours, theirs = compat.reference.ReferenceEvaluator, onnx.reference.ReferenceEvaluator
    assert names.parameters(getattr(ours, name)) == names.parameters(getattr(theirs, name))


@pytest.mark.parametrize("module", ["", *compat.__all__])
def test_a_name_that_is_missing_says_what_to_use(module):
    ours = import_module(f"opset.compat.onnx.{module}".rstrip("."))
    for name, advice in ABSENT.get(module, {}).items():
        assert module == "" or hasattr(import_module(f"onnx.{module}"), name), name
        with pytest.raises(AttributeError) as caught:
            getattr(ours, name)
        assert advice in str(caught.value)
    with pytest.raises(AttributeError, match=r"has no attribute 'zebra'$"):
        _ = ours.zebra


def test_modules_are_imported_when_they_are_used():
    code = (
        "import sys, opset.compat.onnx as onnx; first = {*sys.modules}; onnx.checker.check_model; print(*sys.modules);"
        "print(*[name for name in first if name.startswith(('opset', 'google', 'numpy', 'onnx'))], file=sys.stderr)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(opset.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert {*done.stderr.split()} == {"opset", "opset.compat", "opset.compat.onnx", "opset.compat.onnx.absent"}
    loaded = done.stdout.split()
    assert "opset.compat.onnx.checker" in loaded
    assert not {"onnx", "numpy", "opset.compat.onnx.reference"} & {*loaded}


# checker


@pytest.mark.parametrize("name", NAMES)
def test_models_are_accepted(name):
    onnx.checker.check_model(models()[name], full_check=True)
    compat.checker.check_model(models()[name], full_check=True)
    for node in models()[name].graph.node:
        imports = {each.domain: each.version for each in models()[name].opset_import}
        context = compat.checker.CheckerContext(models()[name].ir_version, imports)
        compat.checker.check_node(node, context)
        for attribute in node.attribute:
            compat.checker.check_attribute(attribute, context)
    for function in models()[name].functions:
        compat.checker.check_function(function)
    for tensor in models()[name].graph.initializer:
        compat.checker.check_tensor(tensor)
    for value in (*models()[name].graph.input, *models()[name].graph.output):
        compat.checker.check_value_info(value)


@pytest.mark.parametrize("name", BROKEN)
def test_broken_models_are_refused(name):
    model = onnx.parser.parse_model(BROKEN[name])
    assert refuses(onnx.checker.check_model, model)
    assert refuses(compat.checker.check_model, model)
    assert refuses(compat.checker.check_model, model.SerializeToString())


def test_what_is_no_model_is_refused(tmp_path):
    (tmp_path / "broken.onnx").write_bytes(b"\x08\xff\xff")
    for given in (str(tmp_path / "missing.onnx"), tmp_path / "broken.onnx", b"\x08\xff\xff"):
        assert refuses(compat.checker.check_model, given)


def test_the_options_of_check_model():
    own = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 14, "own": 1]>
        g (float[1] x) => (float[1] y) { y = own.F (x) }""")
    mixed = onnx.parser.parse_model("""<ir_version: 9, opset_import: ["": 14, "own": 1]>
        g (float[1] x) => (float[1] y) { y = own.F (x) }
        <domain: "own", opset_import: ["": 12]> F (a) => (b) { b = Add (a, a) }""")
    contradicted = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 14]>
        g (float[1] x) => (float[2] y) { y = Abs (x) }""")
    for model, accepted, refused in (
        (own, {}, {"check_custom_domain": True}),
        (mixed, {"skip_opset_compatibility_check": True}, {}),
        (contradicted, {}, {"full_check": True}),
    ):
        compat.checker.check_model(model, **accepted)
        with pytest.raises(compat.checker.ValidationError):
            compat.checker.check_model(model, **refused)
    for checker in (onnx.checker, compat.checker):
        checker.check_model(own)
        checker.check_model(mixed, skip_opset_compatibility_check=True)
        assert refuses(checker.check_model, mixed)


NO_TYPE = onnx.TensorProto(name="t", dims=[1], float_data=[1])
SHORT = onnx.TensorProto(name="t", dims=[3], data_type=1, float_data=[1])
GOOD = onnx.TensorProto(name="t", dims=[1], data_type=1, float_data=[1])
PLACES = onnx.TensorProto(name="i", dims=[1], data_type=7, int64_data=[2])
BEYOND = onnx.TensorProto(name="i", dims=[1], data_type=7, int64_data=[9])
PARTS = [
    ("check_tensor", GOOD, False),
    ("check_tensor", NO_TYPE, True),
    ("check_tensor", SHORT, True),
    ("check_node", onnx.parser.parse_node("y = Relu (x)"), False),
    ("check_node", onnx.parser.parse_node("y = Relu (x, x)"), True),
    ("check_node", onnx.parser.parse_node("y = Relu <slope = 1> (x)"), True),
    ("check_node", onnx.parser.parse_node("y = Relux (x)"), True),
    ("check_node", onnx.parser.parse_node("y = Cast (x)"), True),
    ("check_attribute", onnx.helper.make_attribute("a", 1), False),
    ("check_attribute", onnx.AttributeProto(name="a", i=1), True),
    ("check_attribute", onnx.AttributeProto(name="a", i=1, f=2, type=2), True),
    ("check_attribute", onnx.AttributeProto(i=1, type=2), True),
    ("check_value_info", onnx.helper.make_tensor_value_info("x", 1, ["N"]), False),
    ("check_value_info", onnx.helper.make_tensor_value_info("", 1, ["N"]), True),
    ("check_graph", onnx.parser.parse_graph("g (float[1] x) => (float[1] y) { y = Relu (x) }"), False),
    ("check_graph", onnx.parser.parse_graph("g (float[1] x) => (float[1] y) { y = Relu (z) }"), True),
    ("check_graph", onnx.parser.parse_graph("g (float[1] x) => (float[1] y) { y = Relu (x)  y = Neg (x) }"), True),
    (
        "check_function",
        onnx.parser.parse_function('<domain: "d", opset_import: ["": 17]> F (x) => (y) { y = Relu (x) }'),
        False,
    ),
    (
        "check_function",
        onnx.parser.parse_function('<domain: "d", opset_import: ["": 17]> F (x) => (y) { y = Relu (z) }'),
        True,
    ),
    ("check_sparse_tensor", onnx.SparseTensorProto(values=GOOD, indices=PLACES, dims=[5]), False),
    ("check_sparse_tensor", onnx.SparseTensorProto(values=GOOD, indices=BEYOND, dims=[5]), True),
]


@pytest.mark.parametrize(("function", "part", "wrong"), PARTS, ids=range(len(PARTS)))
def test_parts_are_accepted_and_refused_as_by_onnx(function, part, wrong):
    ours, theirs = getattr(compat.checker, function), getattr(onnx.checker, function)
    assert refuses(theirs, part) == wrong
    assert refuses(ours, part) == wrong
    own = getattr(pb, type(part).__name__).FromString(part.SerializeToString())
    assert refuses(ours, own) == wrong
    for other in (onnx.TypeProto(), None, b""):
        with pytest.raises(TypeError):
            ours(other)


@pytest.mark.parametrize("function", sorted({function for function, *_ in PARTS} - {"check_function"}))
def test_contexts_of_onnx_serve(function):
    context = onnx.checker.C.CheckerContext()
    context.ir_version, context.opset_imports = 8, {"": 12}
    for checker in (onnx.checker, compat.checker):
        for name, part, wrong in PARTS:
            if name == function:
                assert refuses(getattr(checker, name), part, context) == wrong
    late = onnx.parser.parse_node("y = Gelu (x)")
    for checker in (onnx.checker, compat.checker):
        assert refuses(checker.check_node, late, context) and not refuses(checker.check_node, late)


# version_converter


REFUSED = {("types", 9)}
"""Models and versions that have no operator for theirs."""


@pytest.mark.parametrize("version", [9, 13, 17, 21, 25])
@pytest.mark.parametrize("name", NAMES)
def test_a_converted_model_computes_the_same(name, version):
    model = models()[name]
    try:
        converted = compat.version_converter.convert_version(model, version)
    except compat.version_converter.ConvertError as error:
        assert (name, version) in REFUSED and error.findings
        return
    assert (name, version) not in REFUSED
    assert type(converted) is onnx.ModelProto
    assert {each.version for each in converted.opset_import if each.domain == ""} == {version}
    assert_same(values(model, name), values(converted, name))


# shape_inference


@pytest.mark.parametrize("data_prop", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_types_are_no_less_than_onnx_s(name, data_prop):
    model = models()[name]
    ours = compat.shape_inference.infer_shapes(model, True, True, data_prop)
    theirs = onnx.shape_inference.infer_shapes(model, True, True, data_prop)
    assert type(ours) is onnx.ModelProto
    known = {value.name: value.type for value in (*ours.graph.value_info, *ours.graph.output)}
    for value in (*theirs.graph.value_info, *theirs.graph.output):
        assert knows_as_much(known[value.name], value.type), value.name


def knows_as_much(ours, theirs):
    """Whether a type says all that another one says, with the same element types and sizes."""
    kind = theirs.WhichOneof("value")
    if kind is None:
        return True
    if ours.WhichOneof("value") != kind:
        return False
    ours, theirs = getattr(ours, kind), getattr(theirs, kind)
    if kind != "tensor_type":
        return knows_as_much(ours.elem_type, theirs.elem_type)
    if ours.elem_type != theirs.elem_type or (theirs.HasField("shape") and not ours.HasField("shape")):
        return False
    sizes = [(mine.dim_value, other.dim_value) for mine, other in zip(ours.shape.dim, theirs.shape.dim, strict=False)]
    same_rank = not theirs.HasField("shape") or len(ours.shape.dim) == len(theirs.shape.dim)
    return same_rank and all(mine == other for mine, other in sizes if other)


def test_inference_takes_bytes_and_finds_contradictions():
    model = models()["chain"]
    inferred = compat.shape_inference.infer_shapes(model.SerializeToString())
    assert type(inferred) is pb.ModelProto and inferred.graph.value_info[0].name == "s"
    wrong = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 14]> g (int32[1] x) => (y) { y = Sin (x) }')
    for module in (onnx.shape_inference, compat.shape_inference):
        module.infer_shapes(wrong)
        with pytest.raises(module.InferenceError):
            module.infer_shapes(wrong, check_type=True)


def test_a_file_is_inferred_in_place_or_into_another_one(tmp_path):
    model = models()["segmenter_opset9"]
    onnx.save(model, tmp_path / "a.onnx")
    external = onnx.ModelProto.FromString(model.SerializeToString())  # saving moves its data out of it
    onnx.save(external, tmp_path / "c.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    expected = compat.shape_inference.infer_shapes(model)
    assert expected.graph.value_info
    for source, target in (("c.onnx", "d.onnx"), ("a.onnx", "b.onnx"), ("a.onnx", "")):
        assert (
            compat.shape_inference.infer_shapes_path(tmp_path / source, str(tmp_path / target) if target else "")
            is None
        )
        found = onnx.load(tmp_path / (target or source))
        assert [*found.graph.value_info] == [*expected.graph.value_info]
        assert_same(values(model, "segmenter_opset9"), values(found, "segmenter_opset9"))
    with pytest.raises(TypeError):
        compat.shape_inference.infer_shapes_path(model)


@pytest.mark.parametrize("infer", ["infer_shapes", "infer_shapes_path"])
def test_options_of_inference_count(infer, tmp_path):
    def inferred(text, *options):
        model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g {text}')
        if infer == "infer_shapes":
            return compat.shape_inference.infer_shapes(model, *options)
        onnx.save(model, tmp_path / "m.onnx")
        compat.shape_inference.infer_shapes_path(tmp_path / "m.onnx", tmp_path / "out.onnx", *options)
        return onnx.load(tmp_path / "out.onnx")

    mixed = "(float[2] x, int64[2] z) => (float[2] y) { y = Add (x, z) }"
    wrong = "(float[2] x) => (float[3] y) { y = Relu (x) }"
    for text, options in ((mixed, (True,)), (wrong, (False, True))):
        assert inferred(text)
        with pytest.raises(opset.InferenceError):
            inferred(text, *options)
    sizes = "() => (float[N] y) <int64[1] a = {2}> { b = Add (a, a)  y = ConstantOfShape (b) }"
    dims = [inferred(sizes, False, False, data).graph.output[0].type.tensor_type.shape.dim[0] for data in (False, True)]
    assert [each.dim_value for each in dims] == [0, 4]


SCHEMAS = {"onnx": onnx.defs, "opset": compat.defs}


@pytest.mark.parametrize("schemas", SCHEMAS)
@pytest.mark.parametrize(
    ("node", "types", "data"),
    [
        ("y = Concat <axis = 0> (a, b)", {"a": tensor_type(1, (2, 3)), "b": tensor_type(1, (4, 3))}, {}),
        ("y = MatMul (a, b)", {"a": tensor_type(1, ("N", 3)), "b": tensor_type(1, (3, 5))}, {}),
        ("v, i = TopK (a, k)", {"a": tensor_type(1, (9,)), "k": tensor_type(7, (1,))}, {"k": [4]}),
        ("y = Reshape (a, k)", {"a": tensor_type(1, (2, 6)), "k": tensor_type(7, (2,))}, {"k": [3, -1]}),
        ("y = Shape (a)", {"a": tensor_type(1, ("N", 3))}, {}),
    ],
)
def test_the_outputs_of_a_node(node, types, data, schemas):
    node = onnx.parser.parse_node(node)
    data = {name: onnx.numpy_helper.from_array(np.array(value), name) for name, value in data.items()}
    schema = SCHEMAS[schemas].get_schema(node.op_type)
    ours = compat.shape_inference.infer_node_outputs(schema, node, types, data)
    theirs = onnx.shape_inference.infer_node_outputs(onnx.defs.get_schema(node.op_type), node, types, data)
    assert ours == theirs and ours
    assert {type(each) for each in ours.values()} == {onnx.TypeProto}


def test_a_sparse_constant_is_an_input_of_a_node():
    sparse = onnx.helper.make_sparse_tensor(
        onnx.helper.make_tensor("b", 1, [1], [2.5]), onnx.helper.make_tensor("", 7, [1], [3]), [4]
    )
    node, types = onnx.parser.parse_node("y = Add (a, b)"), {"a": tensor_type(1, (2, 1)), "b": tensor_type(1, (4,))}
    arguments = node, types, {}, {"b": sparse}
    ours = compat.shape_inference.infer_node_outputs(compat.defs.get_schema("Add"), *arguments)
    assert ours == onnx.shape_inference.infer_node_outputs(onnx.defs.get_schema("Add"), *arguments)
    assert ours["y"] == tensor_type(1, (2, 4))


def test_a_node_with_a_graph_reads_the_types_around():
    node = onnx.parser.parse_node("""y = If (c) <then_branch = a () => (float[N] t) { t = Neg (x) },
        else_branch = b () => (float[N] e) { e = Identity (x) }>""")
    types = {"c": tensor_type(9, ()), "x": tensor_type(1, (3,))}
    found = compat.shape_inference.infer_node_outputs(
        onnx.defs.get_schema("If"), node, types, opset_imports=[onnx.helper.make_opsetid("", 21)]
    )
    assert found["y"].tensor_type.elem_type == 1 and len(found["y"].tensor_type.shape.dim) == 1
    for branch in node.attribute:
        text = f'{branch.g.output[0].name} = ai.onnx.ml.LabelEncoder <classes_strings = ["a"]> (x)'
        branch.g.node[0].CopyFrom(onnx.parser.parse_node(text))
        branch.g.output[0].ClearField("type")
    types["x"] = tensor_type(8, (3,))
    found = compat.shape_inference.infer_node_outputs(
        onnx.defs.get_schema("If"), node, types, opset_imports=[onnx.helper.make_opsetid("ai.onnx.ml", 1)]
    )
    assert found == {"y": tensor_type(7, (3,))}


def test_a_node_that_does_not_fit_is_refused():
    schema, node = onnx.defs.get_schema("Add"), onnx.parser.parse_node("y = Add (a, b)")
    wrong = {"a": tensor_type(1, (2,)), "b": tensor_type(1, (3,))}
    for module in (onnx.shape_inference, compat.shape_inference):
        with pytest.raises(module.InferenceError):
            module.infer_node_outputs(schema, node, wrong)
        with pytest.raises(KeyError):
            module.infer_node_outputs(schema, node, {"a": wrong["a"]})
        with pytest.raises(Exception, match="int64"):
            module.infer_node_outputs(schema, node, {"a": wrong["a"], "b": tensor_type(7, (2,))})


def test_outputs_of_which_nothing_is_known():
    node = onnx.parser.parse_node("y = OptionalGetElement (a)")
    schema = onnx.defs.get_schema("OptionalGetElement")
    assert compat.shape_inference.infer_node_outputs(schema, node, {"a": onnx.TypeProto()}) == {}
    function = onnx.parser.parse_function("""<domain: "d", opset_import: ["": 18, "x": 1]> F (a) => (y, s) {
        y = x.Unknown (a)  s = Shape (a) }""")
    found = compat.shape_inference.infer_function_output_types(function, [tensor_type(1, (2, 3))], [])
    assert found == [onnx.TypeProto(), tensor_type(7, (2,))]
    assert {type(each) for each in found} == {onnx.TypeProto}


def test_sizes_are_followed_through_a_function():
    function = onnx.parser.parse_function("""<domain: "d", opset_import: ["": 18]> F (a, b) => (y) {
        sizes = Shape (a)  squares = Mul (sizes, sizes)  y = Expand (b, squares) }""")
    types = [tensor_type(1, (2, 3)), tensor_type(10, (1,))]
    assert compat.shape_inference.infer_function_output_types(function, types, []) == [tensor_type(10, (4, 9))]


def test_types_without_one_to_follow_are_messages_of_this_package():
    constant = onnx.parser.parse_node("y = Constant <value = float[2] {1, 2}> ()")
    found = compat.shape_inference.infer_node_outputs(compat.defs.get_schema("Constant"), constant, {})["y"]
    assert type(found) is opset.model.proto.TypeProto
    assert found.SerializeToString() == tensor_type(1, (2,)).SerializeToString()


def test_the_outputs_of_a_function():
    function = onnx.parser.parse_function("""<domain: "d", opset_import: ["": 18]> F <axis> (a, b) => (y, s) {
        y = Concat <axis: int = @axis> (a, b)  s = Shape (y) }""")
    arguments = function, [tensor_type(1, (2, 3)), tensor_type(1, (2, 4))], [onnx.helper.make_attribute("axis", 1)]
    ours = compat.shape_inference.infer_function_output_types(*arguments)
    assert ours == onnx.shape_inference.infer_function_output_types(*arguments)
    assert [type(each) for each in ours] == [onnx.TypeProto, onnx.TypeProto]
    function.overload = "second"
    assert compat.shape_inference.infer_function_output_types(*arguments) == ours


# reference


NOT_COMPUTED = {
    "decoder_opset23": "sums in another order: 4e-6",
    "segmenter_opset9": "onnx's evaluator pads by a later version of Pad",
    "older": "onnx's evaluator takes a later Softmax",
}
"""Models of which onnx's evaluator computes something else, with the reasons."""


@pytest.mark.parametrize("name", NAMES)
def test_models_compute_what_onnx_computes(name):
    model, feeds = models()[name], feeds_of(name)
    if name == "functions":
        with pytest.raises(NotImplementedError):  # the day that it does, it counts
            onnx.reference.ReferenceEvaluator(model)
        return
    ours, theirs = compat.reference.ReferenceEvaluator(model), onnx.reference.ReferenceEvaluator(model)
    assert (ours.input_names, ours.output_names) == (theirs.input_names, theirs.output_names)
    assert ours.opsets == theirs.opsets
    messages = [
        [each.SerializeToString() for each in (*side.input_types, *side.output_types)] for side in (ours, theirs)
    ]
    assert messages[0] == messages[1]
    if name in NOT_COMPUTED:
        return
    assert_same(theirs.run(None, feeds), ours.run(None, feeds, check_shape_annotations=True))
    last = ours.output_names[-1]
    assert_same(theirs.run([last], feeds), ours.run([last], feeds))
    everything = ours.run(None, feeds, intermediate=True)
    expected = {name: value for name, value in theirs.run(None, feeds, intermediate=True).items() if name}
    assert everything.keys() == expected.keys()
    assert_same(expected.values(), [everything[name] for name in expected])


def test_graphs_nodes_and_functions_are_evaluated():
    x = np.array([-1, 2], np.float32)
    graph, node = models()["functions"].graph, onnx.parser.parse_node("y = Relu (x)")
    functions = [*models()["functions"].functions]
    cases = [
        ([node], [None, {"x": x}]),
        ([models()["chain"].graph, {"": 21}], [None, {"x": np.ones((2, 3), np.float32)}]),
        ([functions[1]], [None, {"a": x}, {}]),
        ([functions[0], None, [functions[1]]], [None, {"a": x}, {"scale": 0.5}]),
        ([graph, {"": 21, "local": 1}, functions[::-1]], [None, {"x": np.ones((2, 3), np.float32)}]),
    ]
    for given, arguments in cases:
        theirs = onnx.reference.ReferenceEvaluator(*given).run(*arguments)
        assert_same(theirs, compat.reference.ReferenceEvaluator(*given).run(*arguments))
    inner = compat.reference.ReferenceEvaluator(functions[1])
    outer = compat.reference.ReferenceEvaluator(functions[0], functions=[inner])
    assert_same([-np.exp(x * 3)], outer.run(None, {"a": x}, {"scale": 3.0}))


@pytest.mark.parametrize(
    ("node", "value", "expected"),
    [
        ("Transpose <perm: ints = @k> (a)", [1, 0], [[1, 3], [2, 4]]),
        ("Transpose <perm: ints = @k> (a)", (0, 1), [[1, 2], [3, 4]]),
        ("Constant <value_floats: floats = @k> ()", [0.5, 2.0], [0.5, 2.0]),
        ("Constant <value_float: float = @k> ()", 0.5, 0.5),
        ("Constant <value_ints: ints = @k> ()", [], []),
        ("Constant <value_int: int = @k> ()", 7, 7),
        ("Constant <value_strings: strings = @k> ()", ["a", "b"], ["a", "b"]),
        ("Constant <value_string: string = @k> ()", "ab", "ab"),
        ("Constant <value: tensor = @k> ()", onnx.numpy_helper.from_array(np.array([3, 4])), [3, 4]),
    ],
)
def test_attributes_of_a_call_have_the_type_of_their_value(node, value, expected):
    function = onnx.parser.parse_function(f'<domain: "d", opset_import: ["": 21]> F <k> (a) => (b) {{ b = {node} }}')
    a = np.array([[1, 2], [3, 4]], np.float32)
    (found,) = compat.reference.ReferenceEvaluator(function).run(None, {"a": a}, {"k": value})
    assert found.tolist() == expected


def test_a_graph_that_a_call_passes_is_refused_as_elsewhere():
    function = onnx.parser.parse_function("""<domain: "d", opset_import: ["": 21]> F <g> (a) => (b) {
        c = Constant <value: tensor = bool {1}> ()
        b = If <then_branch: graph = @g, else_branch: graph = @g> (c) }""")
    graph = onnx.parser.parse_graph("g () => (float y) { y = Constant <value_float = 2.0> () }")
    with pytest.raises(opset.RunError, match="the graph 'g' is an attribute of a function's call"):
        compat.reference.ReferenceEvaluator(function).run(None, {"a": np.zeros(1, np.float32)}, {"g": graph})


def test_verbose_prints_each_value(capsys):
    x = {"x": np.ones((1, 3), np.float32)}
    for verbose, lines in ((0, 0), (1, 0), (2, 2), (3, 2), (4, 4)):
        compat.reference.ReferenceEvaluator(models()["chain"], verbose=verbose).run(None, x)
        printed = capsys.readouterr().out.splitlines()
        assert len(printed) == lines
        if verbose > 1:
            assert "(Sin): s  tensor(float)[1, 3]  min 0.841471" in printed[0]


def test_stated_shapes_are_compared_with_computed_ones():
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 14]>
        g (float[N] x, int64[1] k) => (float[N] y) <float[2] nowhere> { y = Expand (x, k) }""")
    feeds = {"x": np.ones(1, np.float32), "k": np.array([3])}
    for module in (onnx.reference, compat.reference):
        assert module.ReferenceEvaluator(model).run(None, feeds)[0].shape == (3,)
        checking = module.ReferenceEvaluator(model, check_shape_annotations=True)
        with pytest.raises(Exception, match="N"):
            checking.run(None, feeds)
        assert checking.run(None, feeds, check_shape_annotations=False)[0].shape == (3,)
        assert checking.run(None, {**feeds, "k": np.array([1])})[0].shape == (1,)


def test_a_variable_has_the_size_of_values_that_fit_and_an_unknown_size_is_any():
    model = opset.parse_model("""<ir_version: 8, opset_import: ["": 14]>
        g (float[?] x) => (float[N] y, float[?] w) <float[N, 2] z, float[?] v> {
            z = Neg (x)  y = ReduceMax (x)  v = Abs (x)  w = Abs (y) }""")
    with pytest.raises(opset.RunError) as caught:
        evaluator = compat.reference.ReferenceEvaluator(model, check_shape_annotations=True)
        evaluator.run(None, {"x": np.ones(3, np.float32)})
    assert [(each.code, each.message) for each in caught.value.findings] == [
        ("R103", "the value 'z' does not fit its declaration")
    ]


def test_outputs_that_are_left_out_are_no_values():
    model = opset.parse_model("""<ir_version: 8, opset_import: ["": 14]>
        g (float[4] x, int64[1] k) => (int64[1] i) { , i = TopK (x, k) }""")
    feeds = {"x": np.array([1, 4, 2, 3], np.float32), "k": np.array([1])}
    evaluator = compat.reference.ReferenceEvaluator(model, check_shape_annotations=True)
    assert_same(evaluator.run(None, feeds), [np.array([1])])
    assert evaluator.run(None, feeds, intermediate=True).keys() == {"x", "k", "i"}


def test_arguments_that_do_not_fit_are_refused():
    chain = models()["chain"]
    function = models()["functions"].functions[1]
    evaluator = compat.reference.ReferenceEvaluator
    for arguments in ((chain, {"": 21}), (chain, None, [function]), (chain.graph,), (function, {"": 21})):
        with pytest.raises(opset.UsageError):
            evaluator(*arguments)
    with pytest.raises(opset.UsageError, match="OpRun"):
        evaluator(chain, new_ops=[object])
    with pytest.raises(opset.UsageError, match="attributes"):
        evaluator(chain).run(None, {"x": np.ones((1, 3), np.float32)}, {"a": 1})


# parser and printer


@pytest.mark.parametrize("name", NAMES)
def test_text_reads_back(name):
    model = models()[name]
    text = compat.printer.to_text(model)
    parsed = compat.parser.parse_model(text)
    assert type(parsed) is pb.ModelProto
    assert onnx.load_from_string(parsed.SerializeToString()) == model
    theirs = onnx.printer.to_text(model)
    if name not in ("forest_opset9", "table_opset11"):
        assert (
            compat.parser.parse_model(theirs).SerializeToString() == onnx.parser.parse_model(theirs).SerializeToString()
        )


def test_parts_are_parsed_and_printed():
    model = models()["functions"]
    parts = {"parse_node": model.graph.node[0], "parse_graph": model.graph, "parse_function": model.functions[0]}
    for name, part in parts.items():
        parsed = getattr(compat.parser, name)(compat.printer.to_text(part))
        assert type(part).FromString(parsed.SerializeToString()) == part
        with pytest.raises(compat.parser.ParseError, match="1:"):
            getattr(compat.parser, name)("?")
    with pytest.raises(compat.parser.ParseError):
        compat.parser.parse_model("<ir_version: 8>")


# inliner


@pytest.mark.parametrize("name", NAMES)
def test_no_functions_are_left(name):
    model = models()[name]
    for convert in (False, True):
        flat = compat.inliner.inline_local_functions(model, convert)
        assert type(flat) is onnx.ModelProto and not flat.functions
        assert len(flat.graph.node) == len(onnx.inliner.inline_local_functions(model, convert).graph.node)
        assert_same(values(model, name), values(flat, name))


def operators(graph):
    return [node.op_type for node in graph.node]


def test_functions_of_other_versions_stay_unless_they_are_converted():
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21, "d": 1]>
        main (float[2] x) => (float[2] y) { t = d.F (x)  y = d.G (t) }
        <domain: "d", opset_import: ["": 13]> F (a) => (b) { b = Sin (a) }
        <domain: "d", opset_import: ["": 21]> G (a) => (b) { b = Cos (a) }""")
    for module in (onnx.inliner, compat.inliner):
        left = module.inline_local_functions(model)
        assert operators(left.graph) == ["F", "Cos"] and [each.name for each in left.functions] == ["F"]
    assert operators(compat.inliner.inline_local_functions(model, convert_version=True).graph) == ["Sin", "Cos"]


def test_a_function_may_import_what_the_model_does_not_and_its_overload_counts():
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21, "d": 1]>
        main (float[2] x) => (float[2] y) { t = d.F (x)  y = d.F:old (t) }
        <domain: "d", opset_import: ["": 21, "ai.onnx.ml": 3]> F (a) => (b) { b = Sin (a) }
        <domain: "d", opset_import: ["": 13, "d": 1], overload: "old"> F (a) => (b) { b = Cos (a) }""")
    for module in (onnx.inliner, compat.inliner):
        left = module.inline_local_functions(model)
        assert operators(left.graph) == ["Sin", "F"] and [each.overload for each in left.functions] == ["old"]


@pytest.mark.parametrize(
    ("ids", "exclude"),
    [
        ([("local", "Inner")], False),
        ([("local", "Outer")], False),
        ([("local", "Outer")], True),
        ([], True),
        ([("a", "b")], False),
    ],
)
def test_selected_functions_are_inlined(ids, exclude):
    model = models()["functions"]
    ours = compat.inliner.inline_selected_functions(model, ids, exclude)
    theirs = onnx.inliner.inline_selected_functions(model, ids, exclude)
    assert operators(ours.graph) == operators(theirs.graph)
    assert_same(values(model, "functions"), values(ours, "functions"))


def test_operators_with_bodies_are_expressed():
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 20, "d": 1]>
        main (float[2, 3] x) => (float[2, 3] y) { t = Gelu (x)  s = Softmax (t)  y = d.F (s) }
        <domain: "d", opset_import: ["": 20]> F (a) => (b) { b = Relu (a) }""")
    cases = [
        ([("", "Gelu")], False),
        ([("", "Gelu"), ("d", "F")], False),
        ([("", "Softmax")], True),
    ]  # onnx aborts where all operators with bodies are expressed
    for ids, exclude in cases:
        ours = compat.inliner.inline_selected_functions(model, ids, exclude, inline_schema_functions=True)
        theirs = onnx.inliner.inline_selected_functions(model, ids, exclude, inline_schema_functions=True)
        kept = {"Gelu", "Softmax", "F"}
        assert kept & {*operators(ours.graph)} == kept & {*operators(theirs.graph)}
        x = {"x": np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)}
        assert_same(opset.ReferenceEvaluator(model).run(None, x), opset.ReferenceEvaluator(ours).run(None, x))


# defs


def test_every_operator_is_there():
    ours, theirs = compat.defs.get_all_schemas_with_history(), onnx.defs.get_all_schemas_with_history()
    facts = lambda each: (each.domain, each.name, each.since_version, each.deprecated, each.min_input, each.max_input)  # noqa: E731
    assert sorted(map(facts, ours)) == sorted(map(facts, theirs))
    assert len(ours) > 600
    newest = [{facts(each) for each in module.get_all_schemas()} for module in (compat.defs, onnx.defs)]
    assert newest[0] == newest[1] and len(newest[0]) > 200
    for schema in theirs:
        arguments = schema.name, schema.since_version, schema.domain
        assert compat.defs.get_schema(*arguments).since_version == schema.since_version
        for given in (arguments, (schema.name, schema.since_version - 1, schema.domain), (schema.name, schema.domain)):
            assert compat.defs.has(*given) == onnx.defs.has(*given)


def test_schemas_are_found_by_version_and_domain_in_either_order():
    for get_schema in (compat.defs.get_schema, opset.get_schema):
        expected = get_schema("Normalizer", None, "ai.onnx.ml")
        assert expected.since_version == 1 and expected is get_schema("Normalizer", "ai.onnx.ml")
        assert expected is get_schema("Normalizer", 3, "ai.onnx.ml") is get_schema("Normalizer", "ai.onnx.ml", 3)
        assert get_schema("Softmax", "", 12).since_version == 11 and get_schema("Softmax", "").since_version == 13
        with pytest.raises(opset.UsageError, match="'a' and 'b' are no version and domain"):
            get_schema("Softmax", "a", "b")
        with pytest.raises(opset.UsageError, match="1 and 2 are"):
            get_schema("Softmax", 1, 2)


def test_operators_that_do_not_exist():
    for module in (onnx.defs, compat.defs):
        assert not module.has("Normalizer") and not module.has("Gelu", 12) and not module.has("Gelu", "ai.onnx.ml")
        with pytest.raises(module.SchemaError):
            module.get_schema("Zebra")
        with pytest.raises(module.SchemaError):
            module.get_schema("Gelu", 12, "")


def test_versions_and_domains():
    for name in ("ONNX_DOMAIN", "ONNX_ML_DOMAIN", "AI_ONNX_PREVIEW_DOMAIN", "AI_ONNX_PREVIEW_TRAINING_DOMAIN"):
        assert getattr(compat.defs, name) == getattr(onnx.defs, name)
    for name in ("onnx_opset_version", "onnx_ml_opset_version"):
        assert getattr(compat.defs, name)() == getattr(onnx.defs, name)()


def test_operators_with_bodies_are_some_of_onnx_s_and_more():
    ours, theirs = ({each.name for each in module.get_function_ops()} for module in (compat.defs, onnx.defs))
    assert len(ours & theirs) > 30 and "Conv" not in ours


# names


def test_the_page_lists_every_public_name():
    text = names.PAGE.read_text("utf-8")
    assert names.with_table(text) == text, "python -m tests.compat.names"


def test_every_public_name_is_the_same_or_told_apart():
    answers = names.answers()
    assert [each for each, text in answers.items() if not text] == []
    assert names.DIFFERENCES.keys() <= answers.keys()
    assert sum(text == names.SAME for text in answers.values()) > 15
    assert {("helper", "make_node"), ("shape_inference", "InferenceContext"), ("tools", "update_model_dims")} <= {
        *answers
    }


HALF = """<ir_version: 8, opset_import: ["": %d]>
%s (float[N, 3] %s) => (float[N, 3] %s, float[N, 3] %s) { %s = Relu (%s)  %s = Neg (%s) }"""


def test_models_are_merged_as_onnx_merges_them():
    first = onnx.parser.parse_model(HALF % (13, "one", "a", "b", "c", "b", "a", "c", "b"))
    second = onnx.parser.parse_model(HALF % (13, "two", "d", "e", "f", "e", "d", "f", "e"))
    feeds = {"a": np.array([[-1.0, 2.0, 3.0]], np.float32)}
    for options in ({}, {"outputs": ["f"]}, {"name": "whole", "doc_string": "both", "domain": "d", "model_version": 7}):
        ours, theirs = (
            module.merge_models(first, second, [("b", "d")], **options) for module in (compat.compose, onnx.compose)
        )
        assert type(ours) is onnx.ModelProto
        assert [value.name for value in ours.graph.output] == [value.name for value in theirs.graph.output]
        assert (ours.model_version, ours.domain) == (theirs.model_version, theirs.domain)
        assert ours.graph.name == theirs.graph.name.replace("Extracted from ", "").replace("{", "").replace("}", "")
        assert ours.producer_name == theirs.producer_name
        assert_same(*(opset.ReferenceEvaluator(each).run(None, feeds) for each in (ours, theirs)))
    part = compat.compose.merge_models(first, second, [("b", "d")], inputs=["b"], outputs=["e"])
    assert ([each.name for each in part.graph.input], [each.op_type for each in part.graph.node]) == (["b"], ["Relu"])
    prefixed = compat.compose.merge_models(first, first, [("b", "a")], prefix1="p/", prefix2="q/")
    other = onnx.compose.merge_models(first, first, [("b", "a")], prefix1="p/", prefix2="q/")
    assert {value.name for value in prefixed.graph.output} == {value.name for value in other.graph.output}


def test_a_part_is_extracted_as_onnx_extracts_it(tmp_path, monkeypatch):
    model = onnx.parser.parse_model(HALF % (13, "one", "a", "b", "c", "b", "a", "c", "b"))
    onnx.save(model, tmp_path / "m.onnx")
    for module, name in ((compat.utils, "ours.onnx"), (onnx.utils, "theirs.onnx")):
        module.extract_model(tmp_path / "m.onnx", tmp_path / name, ["b"], ["c"])
    ours, theirs = onnx.load(tmp_path / "ours.onnx"), onnx.load(tmp_path / "theirs.onnx")
    assert ours.graph.node == theirs.graph.node and ours.graph.output == theirs.graph.output
    assert [value.name for value in ours.graph.input] == [value.name for value in theirs.graph.input]
    for checks, checked in ((False, []), (True, ["m.onnx", "ours.onnx"])):
        seen = []
        monkeypatch.setattr(compat.utils, "check", lambda path, seen=seen: seen.append(Path(path).name))
        compat.utils.extract_model(tmp_path / "m.onnx", tmp_path / "ours.onnx", ["b"], ["c"], checks)
        assert seen == checked


def test_the_modules_of_the_package_are_listed():
    assert {"checker", "reference", "shape_inference", "version_converter"} <= {*dir(compat)}
    with pytest.raises(AttributeError, match="nonesuch"):
        compat.nonesuch  # noqa: B018
