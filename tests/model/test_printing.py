"""Messages printed as text: it reads back to the same message, and by onnx.parser where its language has the form."""

import math
import struct
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnx.printer
import pytest
from hypothesis import HealthCheck, assume, given, settings
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases

import opset
from opset.errors import ModelError, UsageError
from opset.model import proto as pb
from opset.model.elements import ELEMENTS, NUMBERS, STRING
from opset.model.proto import is_repeated
from opset.model.text.printing import ELIDED, ROW, _bracket_rows, _entries_text, string_text, to_text
from tests.bounds import draws, growth
from tests.model.messages import messages
from tests.model.test_syntax import READ_ALIKE, READERS, encoded

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.onnx"))
PARSERS = {
    "ModelProto": opset.parse_model,
    "GraphProto": opset.parse_graph,
    "FunctionProto": opset.parse_function,
    "NodeProto": opset.parse_node,
}


def again(message):
    """Return a message's text, which reads back to the same bytes."""
    name = message.DESCRIPTOR.name
    text = to_text(message)
    assert encoded(PARSERS[name](text)) == encoded(message), text
    return text


def test_messages_of_the_onnx_package_have_the_same_text():
    text = "m (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }"
    ours = opset.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}')
    for name in ("w", "v"):
        ours.graph.initializer[0].name = name
        theirs = onnx.ModelProto.FromString(ours.SerializeToString())
        assert to_text(theirs.graph) == to_text(ours.graph) and to_text(theirs) == to_text(ours)


def test_a_domain_that_is_not_utf_8_is_refused():
    data = opset.parse_model('<ir_version: 8, opset_import: ["com.x": 1]> m () => () { y = com.x.A () }')
    data = data.SerializeToString().replace(b"com.x", b"com.\xff")
    with pytest.raises(ModelError, match="M106"):
        to_text(opset.load(data).proto)


def empty_parts(descriptor, above=()):
    """Yield the paths to messages in a message, of each kind of message once: ["graph", "value_info", "type"]."""
    for field in descriptor.fields:
        if field.message_type is not None and above.count(field.message_type.name) < 2:
            yield [field]
            for rest in empty_parts(field.message_type, (*above, field.message_type.name)):
                yield [field, *rest]


@pytest.mark.parametrize("kind", ["TypeProto", "TensorProto", "SparseTensorProto", "TensorAnnotation"])
def test_messages_that_are_there_and_empty_are_kept(kind):
    holders = {
        "TypeProto": lambda graph: graph.value_info.add(name="v").type,
        "TensorProto": lambda graph: graph.initializer.add(name="v"),
        "SparseTensorProto": lambda graph: graph.sparse_initializer.add(),
        "TensorAnnotation": lambda graph: graph.quantization_annotation.add(),
    }
    paths = [*empty_parts(getattr(pb, kind).DESCRIPTOR)]
    assert paths
    for path in paths:
        model = pb.ModelProto(ir_version=9)
        model.opset_import.add(version=13)
        part = holders[kind](model.graph)
        for field in path:
            part = getattr(part, field.name)
            part = part.add() if is_repeated(field) else part
            part.SetInParent()
        again(model)


def sent(message):
    return getattr(pb, message.DESCRIPTOR.name).FromString(message.SerializeToString())


def test_what_the_oracle_reads_is_printed_so_that_it_reads_it_again():
    for kind, text in READ_ALIKE:
        read, parse, message = READERS[kind]
        printed = again(read(text))
        success, why, data = parse(printed)
        shown = any(each in printed for each in ("&{", '$"', '"."', ', ""'))
        assert success or shown or not _is_plain(printed), (printed, why)
        if success:
            assert encoded(message.FromString(data)) == encoded(read(text)), printed


def _is_plain(text):
    """Whether onnx.parser can have names like these: it takes no quotes around attributes, operators and tensors."""
    return not any(each in text for each in ('<"', ', "', '= "', '] "', '."', ':"', '@"', 'opaque("'))


@pytest.mark.parametrize("name", ["ModelProto", "GraphProto", "FunctionProto", "NodeProto"])
def test_whatever_a_message_holds(name):
    @settings(max_examples=50, suppress_health_check=[*HealthCheck])
    @given(messages(name))
    def same(message):
        assume(name != "ModelProto" or message.HasField("graph") or message.HasField("ir_version"))
        again(message)

    same()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_models_of_exporters(path):
    whole = pb.ModelProto.FromString(path.read_bytes())
    assert again(whole) == to_text(opset.load(path))


def test_node_cases():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = collect_testcases(None)
    for case in cases[::12]:
        again(sent(case.model))


@pytest.mark.parametrize("number", ELEMENTS)
def test_tensors_of_every_type_in_raw_data_and_in_their_field(number):
    size = 24
    data = bytes(range(100, 100 + size))
    for count in (0, 1, 3):
        tensor = pb.TensorProto(data_type=number, dims=[count])
        if number == STRING:
            tensor.string_data.extend([b"a", b"\xff\x00", "é\n".encode()][:count])
        else:
            tensor.raw_data = data[: -(-count * ELEMENTS[number].bits // 8)]
        node = pb.NodeProto(op_type="Constant", output=["y"], domain="")
        node.attribute.add(name="value", type=4).t.CopyFrom(tensor)
        again(node)
        if number != STRING and count:
            name = ELEMENTS[number].name
            zeros = f"y = Constant <value: tensor = {name}[3] {{{', '.join('0' * _entries(number, 3))}}}> ()"
            assert again(opset.parse_node(zeros)).count("!") == 0


def _entries(number, count):
    element = ELEMENTS[number]
    if element.bits in (2, 4):
        return -(-count * element.bits // 8)
    return 2 * count if element.name.startswith("complex") else count


def test_numbers():
    floats = [0.1, -0.0, 1e-45, 3.4028235e38, 16777217.0, 1.0, 1e22, math.inf, -math.inf, math.nan, -math.nan, 1 / 3]
    node = sent(helper.make_node("A", [], ["y"], a=floats, b=0.1, c=-0.0))
    text = again(node)
    assert "[0.1, -0.0, 1.401298e-45, 3.4028235e+38, 16777216.0, 1.0, 1e+22, inf, -inf, nan, -nan, 0.33333334]" in text
    doubles = pb.TensorProto(name="w", data_type=11, dims=[2], double_data=[math.nan, -math.nan])
    assert "{nan, -nan}" in again(pb.GraphProto(name="g", initializer=[doubles]))
    node.attribute[0].Clear()
    node.attribute[0].MergeFromString(b"\x0a\x01a\xa0\x01\x06\x3d\x01\x00\xa0\x7f\x3d\x00\x00\x80\x3f")
    assert '$"7fa00001", 1.0' in again(node)
    for pattern in (0x7FA00001, 0xFFFFFFFF, 0x7FC00000, 0xFFC00000):
        tensor = pb.TensorProto(data_type=1, dims=[2], raw_data=struct.pack("<If", pattern, 0.1))
        node.attribute[0].CopyFrom(pb.AttributeProto(name="t", type=4, t=tensor))
        assert "raw_data" not in again(node)


@settings(max_examples=draws(100), suppress_health_check=[*HealthCheck])
@given(np_floats=pytest.importorskip("hypothesis.extra.numpy").arrays(np.float32, 5))
def test_floats_have_the_digits_that_read_back(np_floats):
    tensor = sent(numpy_helper.from_array(np_floats, "w"))
    again(pb.GraphProto(name="g", initializer=[tensor]))


def test_a_printed_model_of_the_parser_is_one_that_it_reads():
    text = """<ir_version: 10, opset_import: ["": 18, "com.example": 1], metadata_props: ["a": "b"]>
    g (float[N, 3] x, seq(float) s) => (float[N, 3] y, "odd name") <float[3] w = {1, 2, 3}, float[2] t> {
        [n] t = com.example.Scale:fast <factor: float = 2.5, names: strings = ["a", "b\\"c"]> (x, "")
        "odd name" = If (c) <then_branch: graph = a () => (float z) { z = Neg (t) }>
        y = Constant <value: tensor = float[2] {1.5, -inf}> ()
    }
    <domain: "com.example", opset_import: ["": 18], overload: "fast">
    Scale <names, factor: float = 1> (x, y) => (z) { z = Mul (x, y) q = LeakyRelu <alpha: float = @factor> (z) }
    """
    model = onnx.parser.parse_model(text)
    printed = to_text(model)
    assert "&" not in printed and "!" not in printed and "#" not in printed
    assert onnx.parser.parse_model(printed) == model


def test_what_onnx_prints_is_read():
    text = """<ir_version: 10, opset_import: ["": 18, "pkg.torch-2.1": 1]>
    g (float[N, 3] x) => (y) <float[3] w = {1, 2, 3}> { y = Add <k: float = 2.5, s: strings = ["a", "b c"]> (x, w) }"""
    model = onnx.parser.parse_model(text)
    model.graph.node[0].domain = "pkg.torch-2.1"
    assert "pkg.torch-2.1.Add" in onnx.printer.to_text(model)
    assert encoded(opset.parse_model(onnx.printer.to_text(model))) == encoded(model)


def test_nodes_without_a_domain_are_told_apart():
    node = helper.make_node("Relu", ["x"], ["y"])
    assert again(sent(node)) == "#: unset domain\ny = Relu (x)\n"
    node.domain = ""
    assert again(sent(node)) == "y = Relu (x)\n"
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])] * 2 + [node], "g", [], [])
    assert again(sent(graph)).count('&{domain: ""}') == 1


@pytest.mark.parametrize(
    ("domain", "op_type", "overload", "shown"),
    [
        ("ai.onnx.ml", "A", None, "ai.onnx.ml.A"), ("own", "A", "", 'own.A:""'), ("own", "A", "o", "own.A:o"),
        ("own", "A", "o p", 'own.A:"o p"'), ("", "A b", None, '"A b"'), ("", "int", None, "int"),
        ("pkg.torch-2", "A", None, '"pkg.torch-2".A'), ("1.own", "A", None, '"1.own".A'),
        ("own..b", "A", None, '"own..b".A'), ("own.", "A", None, '"own.".A'), ("a b", "int", None, '"a b".int'),
    ],
)  # fmt: skip
def test_parts_of_an_operators_name_are_in_quotes_unless_they_are_words(domain, op_type, overload, shown):
    node = pb.NodeProto(op_type=op_type, domain=domain, input=["x"], output=["y"], overload=overload)
    assert again(node) == f"y = {shown} (x)\n"


def test_texts_that_a_terminal_must_not_see():
    assert string_text('é \n\\ "') == '"é \n\\\\ \\""'
    assert string_text("\x1b[31m\u202e\t") == r'$"\x1b[31m\xe2\x80\xae\t"'
    assert string_text(b'\xff\x00a"') == r'$"\xff\x00a\""'
    node = sent(helper.make_node("A", ["\x1b"], ["\u202e"], s=b"\xff\r\n", doc_string="\x9b"))
    assert all(line.isprintable() for line in again(node).splitlines())


def test_all_the_rest():
    graph = pb.GraphProto(name="g", doc_string="two\nlines")
    graph.input.add(name="x", doc_string="in").type.CopyFrom(
        pb.TypeProto(denotation="IMAGE", tensor_type=pb.TypeProto.Tensor(elem_type=1))
    )
    graph.input[0].type.tensor_type.shape.dim.add(dim_param="odd name", denotation="DATA_BATCH")
    sparse = graph.sparse_initializer.add(dims=[5])
    sparse.values.CopyFrom(pb.TensorProto(name="s", data_type=1, dims=[1], float_data=[2]))
    sparse.indices.CopyFrom(pb.TensorProto(data_type=7, dims=[1], int64_data=[3]))
    graph.quantization_annotation.add(tensor_name="x").quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    node = graph.node.add(op_type="A", input=["x"], output=["y"])
    node.metadata_props.add(key="k", value="v")
    node.attribute.add(name="a", type=11).sparse_tensor.CopyFrom(sparse)
    node.attribute.add(name="b", i=3, doc_string="of IR version 1")
    node.attribute.add(name="c", type=13, doc_string="d").tp.opaque_type.SetInParent()
    configuration = node.device_configurations.add(configuration_id="c", pipeline_stage=1)
    sharded = configuration.sharding_spec.add(tensor_name="x", device=[0, 1]).sharded_dim.add(axis=0)
    sharded.simple_sharding.add(dim_value=2)
    model = pb.ModelProto(ir_version=11, graph=graph)
    model.training_info.add(algorithm=graph).update_binding.add(key="w", value="y")
    model.configuration.add(name="c", num_devices=2, device=["a", "b"])
    model.opset_import.add(version=7)
    model.metadata_props.add(key="whole", value="v")
    model.metadata_props.add(key="without a value")
    model.MergeFromString(b"\xca\x3e\x02hi")
    text = again(model)
    for each in (
        'doc_string: "two\nlines"',
        'denotation: "DATA_BATCH"',
        'unknown: "ca3e026869"',
        "opset_import: [7]",
        "sparse_initializer: [{values: float[1] s = {2.0}, indices: int64[1] {3}",
        "pipeline_stage: 1",
    ):
        assert each in text, each


def test_sizes_keep_what_is_said_about_them():
    value = pb.ValueInfoProto(name="x")
    value.type.tensor_type.elem_type = 1
    shape = value.type.tensor_type.shape
    shape.dim.add(dim_value=2)
    shape.dim.add(dim_param="N", denotation="DATA_BATCH")
    assert '[2, N &{denotation: "DATA_BATCH"}]' in again(pb.GraphProto(name="g", input=[value]))
    shape.MergeFromString(b"\xca\x3e\x02hi")
    assert "x &{" not in again(pb.GraphProto(name="g", input=[value]))
    assert "shape: {dim: [" in again(pb.GraphProto(name="g", input=[value]))
    shape.DiscardUnknownFields()
    shape.dim[0].MergeFromString(b"\xca\x3e\x02hi")
    text = again(pb.GraphProto(name="g", input=[value]))
    assert '[2 &{unknown: "ca3e026869"}, N &{denotation: "DATA_BATCH"}]' in text


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ({"domain": "d", "name": "n"}, "opaque(d, n)"),
        ({"name": "n"}, "opaque(n)"),
        ({}, "opaque()"),
        ({"domain": "d"}, "&{opaque_type: {domain: "),
    ],
)
def test_an_opaque_type_has_a_form_of_its_own_unless_it_has_a_domain_alone(names, text):
    value = pb.ValueInfoProto(name="x")
    value.type.opaque_type.SetInParent()
    value.type.opaque_type.MergeFrom(pb.TypeProto.Opaque(**names))
    assert text in again(pb.GraphProto(name="g", value_info=[value]))


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"external_data": [{"key": "location", "value": "w.bin"}]}, 'float[2] w = ["location": "w.bin"]'),
        ({}, "w = &{"),
        ({"external_data": [{"key": "location", "value": "w.bin"}], "raw_data": bytes(8)}, "w = &{"),
    ],
)
def test_data_in_a_file_is_told_by_where_it_is_alone(fields, text):
    stored = pb.TensorProto(name="w", data_type=1, dims=[2], data_location=1, **fields)
    assert text in again(pb.GraphProto(name="g", initializer=[stored]))


@pytest.mark.parametrize("data", [{"raw_data": bytes(4)}, {"float_data": [0]}])
@pytest.mark.parametrize("name", [None, "", "w"])
def test_a_tensor_of_a_graph_is_told_from_one_without_a_name(data, name):
    tensor = pb.TensorProto(data_type=1, dims=[1], name=name, **data)
    assert ("&{name: none}" in again(pb.GraphProto(name="g", initializer=[tensor]))) == (name is None)


def test_a_model_without_a_graph_and_functions_below_each_other():
    assert again(pb.ModelProto(ir_version=9)) == "<ir_version: 9>\n&{graph: none}\n"
    text = """<ir_version: 8, opset_import: ["": 13, "d": 1]>
g (float[2] x) => (float[2] y) {
  y = d.F (x)
}
<domain: "d", opset_import: ["": 13]>
F <k: int> (a) => (b) {
  b = d.G (a)
}
<domain: "d", opset_import: ["": 13]>
G (a) => (b) <
  float c
> {
  c = Neg (a)
  b = Neg (c)
}
"""
    assert again(opset.parse_model(text)) == text
    nested = opset.parse_model(text.replace("b = Neg (c)", "b = If <g = t () => (u) { u = Exp (a) }> (a)"))
    assert again(nested).endswith(again(nested.functions[1]))


def test_values_are_shown_if_it_is_said_that_they_are_in_the_model():
    stored = pb.TensorProto(name="w", data_type=1, dims=[1], float_data=[2.0], data_location=0)
    assert "float[1] w = {2.0} &{data_location: 0}" in again(pb.GraphProto(name="g", initializer=[stored]))


def test_large_data_is_read_from_the_file_or_left_there(tmp_path, monkeypatch):
    array = np.arange(5000, dtype=np.float32)
    graph = helper.make_graph([], "g", [], [], initializer=[numpy_helper.from_array(array, "w")])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph), path)
    model = opset.load(path)
    assert opset.parse_model(to_text(model)).SerializeToString() == path.read_bytes()
    monkeypatch.setattr(type(model), "segments", lambda *_: pytest.fail("weights were read"))
    text = to_text(model, limit=100)
    assert ELIDED in text and "float[5000] w = {...}" in text and len(text) < 500
    with pytest.raises(ModelError, match="printed with a limit"):
        opset.parse_model(text)


@pytest.mark.parametrize(
    ("kind", "dims", "limit", "shown"),
    [
        (99, [5], 4, "w = &{dims: [5], data_type: 99}"),
        (1, [-5], None, "w = &{dims: [-5], data_type: 1}"),
        (1, [2, -5], 4, "w = &{dims: [2, -5], data_type: 1}"),
        (1, [0, 5], 4, "float[0, 5] w = {}"),
        (1, [1, 5], 4, "float[1, 5] w = {...}"),
        (1, [1, 5], 5, "w = &{dims: [1, 5], data_type: 1}"),
    ],
)
def test_tensors_without_data_are_printed_as_type_and_dims_ask(kind, dims, limit, shown):
    graph = pb.GraphProto(name="g")
    graph.initializer.add(name="w", data_type=kind, dims=dims)
    assert shown in to_text(graph, limit=limit).splitlines()[-2]


@pytest.mark.parametrize(
    "more",
    [{"float_data": [1.0]}, {"int32_data": [1]}, {"string_data": [b"a"]}, {"external_data": [{"key": "location"}]},
     {"data_location": 1}, {"raw_data": bytes(8)}, {"raw_data": bytes(3)}],
)  # fmt: skip
def test_data_that_is_in_two_fields_or_does_not_fit_is_kept(more):
    graph = pb.GraphProto(name="g")
    graph.initializer.append(pb.TensorProto(**{"name": "w", "data_type": 1, "dims": [1], "raw_data": bytes(4), **more}))
    assert "float[1] w" not in again(graph)


def test_a_file_of_text_is_a_model(tmp_path):
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
    path = tmp_path / "m.onnxtxt"
    path.write_text(text)
    assert encoded(opset.load(path).proto) == encoded(opset.parse_model(text))
    assert opset.ReferenceEvaluator(path).run(None, {"x": np.float32([-1, 2])})[0].tolist() == [0, 2]
    opset.convert(path, 11).save(tmp_path / "n.onnxtxt")
    assert 'opset_import: ["": 11]' in (tmp_path / "n.onnxtxt").read_text()
    for data, where in ((text[:-1].encode(), "1:87"), (b"<ir_version: 8>\n\xff", "2:1"), (b"", "1:1")):
        path.write_bytes(data)
        with pytest.raises(ModelError) as caught:
            opset.load(path)
        assert (caught.value.code, caught.value.place, caught.value.file) == ("M301", where, str(path))


def test_what_has_no_text():
    with pytest.raises(UsageError, match="TensorProto"):
        to_text(TensorProto())
    with pytest.raises(ModelError) as caught:
        to_text(pb.NodeProto.FromString(b"\x0a\x01\xff\x22\x01A"))
    assert caught.value.code == "M106"


ERRORS = r"""
y = A (x) &{nothing: 1}|1:13|a field of NodeProto
y = A (x) &{name: "a", name: "b"}|1:24|a field of NodeProto
y = A (x) &{name: 3}|1:19|a text in quotes
y = A (x) &{unknown: "zz"}|1:22|hexadecimal
y = A (x) &{attribute: 3}|1:24|'[' or 'none'
y = A <a: float = $"12"> ()|1:19|8 hexadecimal digits
y = A <a = $"\q"> ()|1:12|codes such as
y = A ($"\xff")|1:8|UTF-8
y = A <a = float[2] !{1}> ()|1:22|as many values
y = A <a = float[2] !"00"> ()||
y = A <a = int8[1] !{128}> ()|1:22|-128 to 127
y = A <a = float16[1] !{1e9}> ()|1:24|values that float16 has
y = A <a = string[1] !{"a"}> ()|1:23|'{' without '!'
y = A <a = bool[1] !{2}> ()|1:22|0 to 1
y = A <a: tensor = float[9] {...}> ()|1:30|values
"""


@pytest.mark.parametrize("case", [case.split("|") for case in ERRORS.strip().split("\n")], ids=lambda case: case[0])
def test_errors_have_a_line_and_a_column(case):
    text, place, expected = case
    if not place:
        again(opset.parse_node(text))
        return
    with pytest.raises(ModelError) as caught:
        opset.parse_node(text)
    assert (caught.value.code, caught.value.place) == ("M301", place) and expected in caught.value.message


def test_time_is_linear():
    def made(size):
        graph = pb.GraphProto(name="g")
        for number in range(size):
            node = graph.node.add(op_type="A", input=[f"x{number}"], output=[f"x{number + 1}"])
            node.attribute.add(name="k", type=2, i=1)
        graph.initializer.add(data_type=1, dims=[size], raw_data=bytes(4 * size))
        return graph

    assert growth(lambda size: partial(to_text, made(size)), 100, 4) < 2
    assert growth(lambda size: partial(opset.parse_graph, to_text(made(size))), 100, 4) < 2


@pytest.mark.parametrize(
    ("domains", "raw", "names", "unset"),
    [
        ([None, None], [False, False], [None, None], "domain, name"),
        (["", None], [False, False], ["", None], ""),
        (["", ""], [False, False], ["", ""], ""),
        ([None, None, ""], [False, False, False], ["", "", None], "domain"),
        (["", "", None], [False, False, False], [None, None, ""], "name"),
        ([None], [True], [None], "domain"),
        ([None, None], [True, False], [None, ""], "domain"),
        ([None, None], [True, False], ["", None], "domain, name"),
        (["d"], [False], ["n"], ""),
    ],
)
def test_what_most_nodes_leave_out_is_said_once(domains, raw, names, unset):
    graph = pb.GraphProto(name="g")
    for domain, is_raw, name in zip(domains, raw, names, strict=True):
        node = graph.node.add(op_type="Constant", output=["y"])
        tensor = node.attribute.add(name="value", type=4).t
        tensor.data_type = 7
        tensor.dims.append(1)
        if is_raw:
            tensor.raw_data = bytes(8)
        else:
            tensor.int64_data.append(0)
        if domain is not None:
            node.domain = domain
        if name is not None:
            tensor.name = name
    first = again(graph).splitlines()[0]
    assert first == (f"#: unset {unset}" if unset else "g () => () {")


@pytest.mark.parametrize(
    ("kind", "field", "values", "count", "text"),
    [
        ("uint4", "int32_data", [33, 3], 3, "{33, 3}"),
        ("uint4", "int32_data", [1, 2], 4, "{1, 2}"),
        ("uint4", "int32_data", [1], 3, None),
        ("int4", "int32_data", [1, 2, 3], 3, None),
        ("uint2", "int32_data", [1, 2], 5, "{1, 2}"),
        ("int2", "int32_data", [255], 4, "{255}"),
        ("uint8", "int32_data", [0, 255], 2, "{0, 255}"),
        ("uint8", "int32_data", [0, 256], 2, None),
        ("uint8", "int32_data", [-1, 0], 2, None),
        ("uint8", "int32_data", [0], 2, None),
        ("uint8", "int32_data", [], 0, "{}"),
        ("float", "float_data", [0.5, 1], 2, "{0.5, 1.0}"),
        ("float", "float_data", [0.5], 2, None),
        ("complex64", "float_data", [0.5, 1], 1, "{0.5, 1.0}"),
        ("complex64", "float_data", [0.5], 1, None),
        ("string", "string_data", [b"a"], 1, '{"a"}'),
        ("string", "string_data", [b"a"], 2, None),
    ],
)
def test_entries_are_elements_if_they_are_as_many_and_in_range(kind, field, values, count, text):
    tensor = pb.TensorProto(data_type=NUMBERS[kind])
    getattr(tensor, field).extend(values)
    assert _entries_text(tensor, field, count) == text


@pytest.mark.parametrize("more", [0, 1])
def test_more_values_than_a_row_holds_are_in_rows(more):
    values = [str(each) for each in range(2 * ROW + more)]
    assert _bracket_rows(values[:ROW], "{", "}") == f"{{{', '.join(values[:ROW])}}}"
    rows = [values[:ROW], values[ROW : 2 * ROW], values[2 * ROW :]][: 2 + more]
    inside = ",\n    ".join(", ".join(row) for row in rows)
    assert _bracket_rows(values, "[", "]") == f"[\n    {inside}\n  ]"
