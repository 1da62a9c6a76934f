"""Rules about nodes: further ways through them, beside their fixtures."""

import onnx
import pytest

import opset

HEAD = '<ir_version: 8, opset_import: ["": 17]> main (float[2] x, float[2] z) => (%s) '


def found(text, codes):
    return [each.code for each in opset.check(onnx.parser.parse_model(text).SerializeToString(), select=codes)]


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("node", ["y = Concat <axis = 0> (x, z)", "y = Sum (x, z)", "y = SequenceConstruct (x, z)"])
def test_no_value_of_a_variadic_input_is_left_out(node, position):
    kind = "seq(float[2]) y" if "Sequence" in node else "float[N] y"
    model = onnx.parser.parse_model(f"{HEAD % kind}{{ {node} }}")
    assert not opset.check(model)
    names = [*model.graph.node[0].input]
    names.insert(position, "")
    model.graph.node[0].input[:] = names
    assert [each.code for each in opset.check(model, select=["G3"])] == ["G323"]


def test_optional_inputs_before_a_variadic_one_are_left_out():
    body = "b (int64 i, bool go, float[2] s) => (bool again, float[2] t) { again = Identity (go) t = Neg (s) }"
    model = onnx.parser.parse_model(f"{HEAD % 'float[2] y'}{{ y = Loop (x, z, x) <body = {body}> }}")
    model.graph.node[0].input[:] = ["", "", "x"]
    assert not opset.check(model)


@pytest.mark.parametrize(
    ("node", "code"),
    [
        ("y = If (c) <then_branch = a () => (float[2] p) { p = Neg (x) }, else_branch = b () => (float[2] q) "
         "{ q = Neg (x) }>", []),
        ("y = If (c) <then_branch = a () => (float[2] p, float[2] r) { p = Neg (x) r = Neg (x) }, else_branch = b () "
         "=> (float[2] q) { q = Neg (x) }>", ["G328"]),
        ("y = Scan <num_scan_inputs = 5> (x)", ["G326"]),  # which has no graph to count the inputs of
    ],
)  # fmt: skip
def test_graphs_have_the_outputs_that_their_node_takes(node, code):
    text = '<ir_version: 8, opset_import: ["": 17]> main (float[2] x, bool c) => (float[2] y) { %s }'
    assert found(text % node, ["G3"]) == code


def test_graphs_that_a_call_gives_are_not_counted_in_the_function():
    branches = "t = p () => (float[2] q) { q = Neg (x) }, e = r () => (float[2] s) { s = Abs (x) }"
    text = f"""<ir_version: 8, opset_import: ["": 17, "d": 1]>
        main (float[2] x, bool c) => (float[2] y) {{ y = d.f <{branches}> (c) }}
        <domain: "d", opset_import: ["": 17]> f <t, e> (c) => (b) {{
            b = If <then_branch: graph = @t, else_branch: graph = @e> (c)
        }}"""
    assert found(text, ["G3"]) == []


EMPTY = (
    '<ir_version: 8, opset_import: ["": 17]>\nmain (float[1, 1, 4] x) => (float[1, 1, 3] y) '
    "{ y = MaxPool <kernel_shape = [2], strides: ints = []> (x) }"
)


def test_an_empty_list_about_spatial_axes_is_a_warning_and_is_removed():
    repaired = opset.repair(opset.parse_model(EMPTY))
    assert [each.code for each in repaired.mended] == ["W303"] and not repaired.left
    assert [each.name for each in repaired.model.proto.graph.node[0].attribute] == ["kernel_shape"]


@pytest.mark.parametrize(
    ("node", "found"),
    [(f"MaxPool <kernel_shape = [2], {name}: ints = []> (x)", True) for name in ("strides", "dilations", "pads")]
    + [
        (f"ConvTranspose <{name}: ints = []> (x, x)", True)
        for name in ("kernel_shape", "output_padding", "output_shape")
    ]
    + [("MaxPool <kernel_shape = [2], strides = [1]> (x)", False), ("Transpose <perm: ints = []> (x)", False)],
)
def test_each_list_about_spatial_axes_may_be_empty_by_mistake(node, found):
    model = opset.parse_model(f'<ir_version: 8, opset_import: ["": 17]> g (float[1, 1, 4] x) => (y) {{ y = {node} }}')
    assert [each.code for each in opset.check(model, select=["W303"])] == ["W303"] * found


@pytest.mark.parametrize(("node", "codes"), [
    ("ReduceMean <axes = [1], keepdims = -1> (x)", ["W304"]),
    ("ReduceMean <axes = [1], keepdims = 0> (x)", []),
    ("Softmax <axis = 7> (x)", []),
    ("EyeLike <k = 2> (x)", []),  # a number that nothing bounds
    ("Mod <fmod = 2> (x, x)", []),  # told as what breaks its constraint
    ("Relu <keepdims = 2> (x)", []),
])  # fmt: skip
def test_a_flag_that_is_neither_0_nor_1_is_a_warning(node, codes):
    text = f'<ir_version: 8, opset_import: ["": 13]> main (float[2, 3] x) => (float[a, b] y) {{ y = {node} }}'
    assert found(text, ["W3"]) == codes


def test_flags_of_functions_are_their_own():
    text = """<ir_version: 8, opset_import: ["": 13, "local": 1]> main (float[2, 3] x) => (float[a, b] y) {
        y = local.ReduceMean <keepdims = 5> (x) }
    <domain: "local", opset_import: ["": 13]> ReduceMean <keepdims> (x) => (y) {
        y = ReduceMax <keepdims: int = @keepdims> (x) }"""
    assert found(text, ["W3"]) == []


@pytest.mark.parametrize(
    ("attributes", "codes"),
    [
        ('mode = "max"', []),
        ('mode = "MUX"', ["G327"]),
        ("mode = 3", ["G325"]),  # whose value is none that could be compared with the choices
        ('mode = 3, coordinate_transformation_mode = "none"', ["G325", "G327"]),
    ],
)
def test_a_value_is_compared_with_the_choices_if_it_has_the_type(attributes, codes):
    text = '<ir_version: 8, opset_import: ["": 17]> main (float[1, 1, 4, 4] x, float[1, 4] r, int64[1] b) => (y) { %s }'
    assert found(text % f"y = RoiAlign <{attributes}> (x, r, b)", ["G3"]) == codes


@pytest.mark.parametrize(
    ("version", "outputs", "found"),
    [
        (9, "y", []),
        (9, "y, m", ["BatchNormalization 9 has 1 or 5"]),
        (9, "y, m, v, a", ["BatchNormalization 9 has 1 or 5"]),
        (9, "y, m, v, a, b", []),
        (9, "y, m, v, a, b, c", ["BatchNormalization 9 has 1 to 5"]),
        (15, "y", []),
        (15, "y, m", ["BatchNormalization 15 has 1 or 3"]),
    ],
)
def test_a_batch_normalization_has_all_outputs_or_one(version, outputs, found):
    text = (
        f'<ir_version: 8, opset_import: ["": {version}]>\nmain (float[1, 2, 4] x, float[2] s) => (float[1, 2, 4] y) '
        f"{{ {outputs} = BatchNormalization (x, s, s, s, s) }}"
    )
    assert [each.why for each in opset.check(opset.parse_model(text), select=["G322"])] == found


def test_a_node_of_a_domain_that_names_no_operator_is_found():
    model = onnx.parser.parse_model(f"{HEAD % 'float[2] y'}{{ y = Neg (x) }}")
    model.graph.node[0].op_type, model.graph.node[0].domain = "", "own"
    assert [each.code for each in opset.check(model, select=["G301"])] == ["G301"]


def test_an_attribute_without_a_type_has_one_value_in_the_first_ir_version():
    model = onnx.parser.parse_model(f"{HEAD % 'float[2] y'}{{ y = Elu <alpha = 2.0> (x) }}")
    model.ir_version = 1
    (attribute,) = model.graph.node[0].attribute
    attribute.ClearField("type")
    for values, codes in ({}, []), ({"i": 1}, ["G306"]):
        for field, value in values.items():
            setattr(attribute, field, value)
        assert [each.code for each in opset.check(model, select=["G305", "G306"])] == codes


def test_a_type_of_attributes_that_does_not_exist_counts_as_none():
    data = onnx.parser.parse_model(f"{HEAD % 'float[2] y'}{{ y = Elu <alpha = 2.0> (x) }}").SerializeToString()
    number = b"\xa0\x01"  # the field `type`
    assert data.count(number + b"\x01") == 1
    found = opset.check(data.replace(number + b"\x01", number + b"\x63"))
    assert [(each.code, each.message) for each in found] == [("G305", "the attribute 'alpha' states no type")]


def test_an_attribute_that_is_like_one_of_the_operator_is_told_from_one_that_is_not():
    helps = {}
    for name in ("alfa", "zzz", "axis"):
        model = opset.parse_model(f"{HEAD % 'float[2] y'}{{ y = Elu <{name} = 2.0> (x) }}")
        (finding,) = opset.check(model, select=["G324"])
        helps[name] = finding.help
    other = "remove it, or import the opset that the node was written for"
    assert helps == {"alfa": "did you mean alpha?", "zzz": other, "axis": other}


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("g (float[3] x) => (y) <int64 a = {0}> { y = Unsqueeze (x, a) }", ["W302"]),
        ("g (float[3] x, int64 a) => (y) { y = Unsqueeze (x, a) }", []),
        ("g (float[3] x) => (y) { y = Unsqueeze (x, nowhere) }", []),
        ("g (float[3] x) => (y) { a = Constant <value_int = 0> () y = Unsqueeze (x, a) }", ["W302"]),
        ("g (float[3] x) => (y) { a = Constant <value_ints = [0]> () y = Unsqueeze (x, a) }", []),
        ("g (float[3] x) => (y) { a = Constant <value = int64 {0}> () y = Unsqueeze (x, a) }", ["W302"]),
        ("g (float[3] x) => (y) { a = Constant <value = int64[1] {0}> () y = Unsqueeze (x, a) }", []),
        ("g (float[3] x) => (y) { a = Constant () y = Unsqueeze (x, a) }", []),
        ("g (float[3] x) => (y) { a = Constant <value = int64[1] {0}, of = int64 {0}> () y = Unsqueeze (x, a) }", []),
        ("g (float[3] x) => (y) { a = Constant <value = 0> () y = Unsqueeze (x, a) }", []),
        ("g (float[3] x) => (y) { a = Constant <value_int = 0.0> () y = Unsqueeze (x, a) }", []),
        ("g (float[3] x) => (y) { a = Constant <value_ints = [0], of = 0> () y = Unsqueeze (x, a) }", []),
        ("g (float[3] x) => (y) { a = own.Constant <value_int = 0> () y = Unsqueeze (x, a) }", []),
        ("g (float[3] x) => (y) { a = Size (x) y = Unsqueeze (x, a) }", []),
        ("g (float[3] x) => (y) <int64 a = {0}> { z = Unsqueeze (x, nowhere) y = Unsqueeze (x, a) }", ["W302"]),
        ("g (float[3] x) => (y) { y = Unsqueeze (x) }", []),
        ("g (float[3] x) => (y) <int64 a = {0}> { y = own.Unsqueeze (x, a) }", []),
        ('''g (float[3] x, int64 i) => (y) { y = own.F (x, i) }
            <domain: "own", opset_import: ["": 17]> F (a, b) => (c) { c = Unsqueeze (a, b) }''', []),
        ('''g (float[3] x) => (y) { y = own.F (x) } <domain: "own", opset_import: ["": 17]> F (a) => (c) {
            b = Constant <value_int = 0> () c = Unsqueeze (a, b) }''', ["W302"]),
        ("""g (float[3] x, bool c) => (y) <int64 a = {0}> { y = If (c) <
            then_branch = t () => (p) { p = Unsqueeze (x, a) }, else_branch = e () => (q) { q = Squeeze (x, a) }> }""",
         ["W302", "W302"]),
    ],
)  # fmt: skip
def test_axes_that_are_constant_scalars_are_a_warning(text, codes):
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 17, "own": 1]> {text}')
    assert [each.code for each in opset.check(model, select=["W302"])] == codes
