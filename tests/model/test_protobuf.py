"""Models in protobuf's text format and its JSON: what is read, what is refused, and where; what is written."""

import io
import json
import math
import os
import re
import threading
import tracemalloc

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

import opset
from opset.errors import ModelError, UsageError
from opset.model import limits, load, proto, write_stream
from opset.model.proto import is_repeated
from opset.model.storage.container import load_text
from opset.model.storage.parts import JSON, ONNX_TEXT, PROTOBUF_TEXT, recognize_syntax, syntax_for
from opset.model.text import protobuf
from opset.model.text.protobuf import parse_json, parse_textproto
from tests.bounds import draws, growth
from tests.model.messages import messages

RELU = """# a comment: { is no brace "
ir_version: 8, producer_name: 'a' "b";
opset_import { version: 17 }
graph: <
  name: "g" # and another
  input { name: "x" } node { input: ["x"] output: "y" op_type: "Selu" attribute { name: "alpha" f: 1.5f type: 1 } }
  initializer { dims: 2 data_type: 1 raw_data: "\\000\\x00\\200?\\n\\"\\'a" name: "w" }
  initializer { dims: [4] data_type: 1 float_data: [1e-3, nan, -inf, inf] name: "v" }
>
"""


@pytest.fixture
def written(tmp_path):
    """A function that returns the path of a file with a text."""

    def write(text, name="m.textproto"):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return tmp_path / name

    return write


def fault(read, text):
    """Return code, place, message and reason of the error that reading a text raises."""
    with pytest.raises(ModelError) as caught:
        read(text)
    found = caught.value
    return found.code, found.place, found.message, found.why


def test_what_people_write_is_read_as_onnx_reads_it(written):
    got = load(written(RELU))
    assert got.SerializeToString() == onnx.load(got.path).SerializeToString()
    assert (got.syntax, got.kind, got.proto.producer_name) == (PROTOBUF_TEXT, "path", "ab")


@pytest.mark.parametrize("suffix", [".textproto", ".prototxt", ".pbtxt", ".txtpb", ".json", ".onnxjson"])
def test_files_are_those_of_onnx(suffix, tmp_path):
    model = onnx.ModelProto.FromString(parse_textproto(RELU).SerializeToString())
    onnx.save(model, tmp_path / f"theirs{suffix}")
    theirs = load(tmp_path / f"theirs{suffix}")
    assert theirs.SerializeToString() == model.SerializeToString()
    theirs.save(tmp_path / f"ours{suffix}")
    ours = (tmp_path / f"ours{suffix}").read_bytes()
    assert ours.rstrip() == (tmp_path / f"theirs{suffix}").read_bytes().rstrip()
    assert onnx.load(tmp_path / f"ours{suffix}").SerializeToString() == model.SerializeToString()


@pytest.mark.parametrize(
    ("name", "syntax"),
    [
        ("m.onnx", ""), ("m.pb", ""), ("m", ""), ("json", ""), ("m.json.onnx", ""), ("a.prototxt/m.onnx", ""),
        ("m.onnxtxt", ONNX_TEXT), ("m.onnxtext", ONNX_TEXT), ("a/m.x.pbtxt", PROTOBUF_TEXT), ("m.onnxjson", JSON),
    ],
)  # fmt: skip
def test_the_ending_of_a_name_decides(name, syntax):
    assert syntax_for(name) == syntax


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        ("", ONNX_TEXT), ("<ir_version: 8>", ONNX_TEXT), ("g (float x) => () {}", ONNX_TEXT), ("# {\n", ONNX_TEXT),
        ("#: unset domain\n<ir_version: 8>", ONNX_TEXT), ("ir_version", ONNX_TEXT),
        ("ir_version: 3", PROTOBUF_TEXT), (" \n # (\n#<\n graph\n{", PROTOBUF_TEXT), ("a1_:", PROTOBUF_TEXT),
        ("{", JSON), ("\n {}", JSON),
    ],
)  # fmt: skip
def test_the_first_characters_tell_texts_apart(text, syntax):
    assert recognize_syntax(text) == syntax


def test_onnx_text_may_be_another_text(written):
    model = parse_textproto(RELU).SerializeToString()
    as_json = onnx.serialization.registry.get("json").serialize_proto(onnx.ModelProto.FromString(model))
    for text, syntax in ((RELU, PROTOBUF_TEXT), (as_json, JSON)):
        for name in ("m.onnxtxt", "m.onnxtext"):
            got = load(written(text, name))
            assert (got.SerializeToString(), got.syntax) == (model, syntax)
        got = load_text(io.BytesIO(text if isinstance(text, bytes) else text.encode()))
        assert (got.SerializeToString(), got.syntax, got.kind) == (model, syntax, "stream")
    got = load(written("<ir_version: 8> g () => () {}", "m.onnxtext"))
    assert (got.syntax, got.proto.graph.name) == (ONNX_TEXT, "g")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_may_hold_text(tmp_path):
    path = tmp_path / "m.textproto"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(RELU,))
    writer.start()
    got = load(path)
    writer.join()
    assert (got.kind, got.syntax, got.proto.graph.name) == ("stream", PROTOBUF_TEXT, "g")


def test_external_data_is_beside_the_text(tmp_path, written):
    (tmp_path / "w.bin").write_bytes(b"\0\0\x80?")
    at = 'external_data { key: "location" value: "w.bin" } data_location: EXTERNAL'
    got = load(written(f'ir_version: 8 graph {{ initializer {{ dims: 1 data_type: 1 name: "w" {at} }} }}'))
    assert got.payload(got.graph.initializer[0]) == b"\0\0\x80?"
    (tmp_path / "other").mkdir()
    got.save(tmp_path / "other" / "m.json")
    assert (tmp_path / "other" / "w.bin").read_bytes() == b"\0\0\x80?"
    assert onnx.load(tmp_path / "other" / "m.json").graph.initializer[0].raw_data == b"\0\0\x80?"


# Errors of protobuf's text format

BEGIN = "ir_version: 3\ngraph {\n  "


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        (BEGIN + "foo: 3 }", "3:3", "GraphProto has no field 'foo'"),
        (BEGIN + "1001: 3 }", "3:3", "GraphProto has no field '1001'"),
        (BEGIN + 'initializer { opset_payload: "a" } }', "3:17", "TensorProto has no field 'opset_payload'"),
        ("ir_version: 3\nnewer: 1", "2:1", "ModelProto has no field 'newer'"),
        (BEGIN + "[type.googleapis.com/x] {} }", "3:20", ""),
        (BEGIN + 'name: "a" name: "b" }', "3:19", ""),
        (BEGIN + "node { attribute { type: 99 } } }", "3:28", ""),
        (BEGIN + 'node { attribute { type: "INT" } } }', "3:28", ""),
        (BEGIN + "node { attribute { i: 99999999999999999999 } } }", "3:25", ""),
        (BEGIN + f"node {{ attribute {{ i: {'9' * 5000} }} }} }}", "3:25", ""),
        (BEGIN + "node { attribute { i: 0x } } }", "3:25", ""),
        (BEGIN + "node { attribute { i: 1.5 } } }", "3:25", ""),
        (BEGIN + 'initializer { raw_data: "\\777" } }', "3:27", ""),
        (BEGIN + 'initializer { raw_data: "\\xzz" } }', "3:27", ""),
        (BEGIN + 'name: "abc\n" }', "3:9", ""),
        (BEGIN + 'name: "abc', "3:9", ""),
        (BEGIN + 'name: "abc\\', "3:9", ""),
        (BEGIN + 'name: "\\377" }', "3:16", ""),
        (BEGIN + "node {", "3:8", ""),
        (BEGIN + "node { input: [['x']] } }", "3:18", ""),
        (BEGIN + "} }", "3:5", ""),
        (BEGIN + "\0 }", "3:3", ""),
        (BEGIN + "name }", "3:8", ""),
        (BEGIN + "node: 3 }", "3:9", ""),
        ("ir_version: 3 é", "1:15", "ModelProto has no field 'é'"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:invalid:DeprecationWarning")
def test_errors_of_protobufs_text_have_a_line_and_a_column(text, place, message):
    code, where, said, why = fault(parse_textproto, text)
    assert (code, where, said) == ("M301", place, message or "this is not protobuf's text format of a model")
    assert bool(why) is not bool(message) and len(why) < 300 and "graph {" not in why


@pytest.mark.parametrize("read", [parse_textproto, parse_json])
@pytest.mark.parametrize("text", ["x", "}", "\0", "\ufeff", "[", "3", '"abc"'])
def test_what_is_no_text_of_a_model(read, text):
    assert fault(read, text)[0] in ("M301", "M102")


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        ('name: "LeNet"\nlayer {\n name: "x"\n}', "1:1", "'name' is none of a model; it looks like a file of Caffe"),
        ('name: "n"\nop {\n input: "x"\n}', "1:1", "'name' is none of a model; it looks like a file of Caffe2"),
        ('#\nnode {\n name: "x"\n}', "2:1", "'node' is none of a model; it looks like a file of TensorFlow"),
        ('name: "m"\nplatform: "onnx"', "1:1", "'name' is none of a model; it looks like a file of Triton"),
        ("dims: 3", "1:1", "'dims' is none of a model"),
    ],
)
def test_texts_of_others_are_told(text, place, why, written):
    for name in ("m.prototxt", "m.onnxtxt"):
        with pytest.raises(ModelError) as caught:
            load(written(text, name))
        found = caught.value
        assert (found.code, found.message, found.place) == ("M102", "this is not an ONNX model", place)
        assert found.why == f"its field {why}" and found.help and found.file == str(written(text, name))


def test_text_without_a_model(written):
    for name, text in (("m.textproto", ""), ("m.textproto", "# nothing"), ("m.json", '{"graph": null}')):
        assert fault(load, written(text, name))[0] == "M102"
    assert fault(load, written('producer_name: "p"'))[3] == "it holds neither a graph nor an IR version"
    assert fault(load, written(b"ir_version: 8\ngraph { name: '\xff' }"))[:3] == (
        "M301",
        "2:16",
        "the text is not UTF-8",
    )


def test_binary_endings_name_the_one_for_text(written):
    for text, help in ((RELU.partition("\n")[2], "*.textproto"), ("<ir_version: 8> g () => () {}", "*.onnxtxt")):
        with pytest.raises(ModelError) as caught:
            load(written(text, "m.onnx"))
        assert caught.value.code == "M102" and help in caught.value.help


# Depth


def nested_text(levels):
    graph = 'name: "g"'
    for _ in range(levels):
        graph = f"node {{ attribute {{ g {{ {graph} }} }} }}"
    return f"ir_version: 8 graph {{ {graph} }}"


def nested_json(levels):
    graph = '{"name": "g"}'
    for _ in range(levels):
        graph = f'{{"node": [{{"attribute": [{{"g": {graph}}}]}}]}}'
    return f'{{"irVersion": 8, "graph": {graph}}}'


@pytest.mark.parametrize(
    ("read", "nested", "place"), [(parse_textproto, nested_text, "1:1723"), (parse_json, nested_json, "1:")]
)
def test_texts_are_nested_as_deep_as_binary_models(read, nested, place, written):
    deepest = nested(33)  # a graph and three messages for each level: 100
    binary = read(deepest).SerializeToString()
    assert load(binary).proto.graph.node[0].attribute[0].g.node[0].attribute[0].name == ""
    name = "m.json" if read is parse_json else "m.textproto"
    load(written(deepest, name)).save(written(deepest, name), force=True)
    assert load(written(deepest, name)).SerializeToString() == binary
    code, where, message, why = fault(read, nested(34))
    assert (code, message) == ("M104", "the model is nested too deeply") and where.startswith("1:")
    assert why == f"protobuf reads {limits.MAX_MESSAGE_DEPTH} messages inside each other"
    assert fault(read, nested(20_000))[:2] == (code, where)


def test_braces_in_texts_and_comments_are_no_depth():
    braces = "{" * 200
    text = f'ir_version: 8 graph {{ name: \'{braces}\' doc_string: "\\"{braces}\\\\" # {braces}"\'\n }}'
    assert parse_textproto(text).graph.name == braces
    assert parse_json(json.dumps({"irVersion": 8, "graph": {"name": f'\\"{braces}'}})).graph.name == f'\\"{braces}'
    assert fault(parse_json, '{"graph": ' + "[" * 5000)[0] == "M104"


# Long lines


def cut(line):
    """Return the text that protobuf is given for a line, and the lines."""
    lines = [*protobuf._Lines(line)]
    return parse_textproto("\n".join(lines)).SerializeToString(), lines


@pytest.mark.parametrize(
    "text",
    [
        "ir_version: 8" + " " * 10_000 + "producer_name: 'x'",
        "ir_version: 8 " + "opset_import { version: 1 } " * 600,
        "ir_version: 8 opset_import { version: 17 }" + "\t \f" * 4000 + "# { comment",
        "producer_name: " + "'a' \"b\"" * 2000,
        "producer_name: '" + "a" * 10_000 + "' domain: 'd'",
        "producer_name: '" + "\\\"x\\'" * 3000 + "' domain: 'd'",
        "graph { initializer { raw_data: \"" + "\\000\\1\\12\\xff\\x1" * 1000 + "\" } }",
        "graph { initializer { raw_data: \"" + "\\\\" * 3000 + "\" } }",
        "producer_name: '" + "\\u00e9\\N{DIGIT ONE}\\U0001f600" * 400 + "'",
        "producer_name: '" + "é" * 5000 + "'",
        "graph { initializer { float_data: [" + "1.5e-3, " * 2000 + "1] } }",
    ],
)  # fmt: skip
def test_long_lines_mean_the_same_in_pieces(text):
    whole = onnx.ModelProto()
    onnx.serialization.registry.get("textproto").deserialize_proto(text, whole)
    got, lines = cut(text)
    assert got == whole.SerializeToString() == parse_textproto(text).SerializeToString()
    assert max(map(len, lines)) < 4096 or "aaa" in text or "ééé" in text


@pytest.mark.parametrize(
    "head",
    [
        "ir_version: 8" + " " * 9000,
        "ir_version: 8 " + "opset_import { version: 1 } " * 600,
        "producer_name: '" + "a" * 10_000 + "'",
        "graph { initializer { raw_data: '" + "\\000" * 3000 + "' }",
        "graph { initializer { raw_data: '" + "\\\\" * 50 + "' }",
    ],
)
def test_places_in_long_lines_are_those_of_the_file(head):
    assert fault(parse_textproto, f"# first\n{head} !\n\n")[:2] == ("M301", f"2:{len(head) + 2}")
    assert fault(parse_textproto, f"# first\n{head}\n\n  !")[:2] == ("M301", "4:3")


@pytest.mark.filterwarnings("ignore:invalid:DeprecationWarning")
@pytest.mark.parametrize(
    "end", ["\\q\\777'", "\\xzz'", "", "\\", "\n"]
)  # fmt: skip
def test_faults_in_long_strings_are_told_at_their_piece(end):
    code, place, _, why = fault(parse_textproto, "graph { initializer { raw_data: '" + "\\000" * 3000 + end)
    line, column = map(int, place.split(":"))
    assert (code, line) == ("M301", 1) and 12_000 - 300 < column < 12_040 and len(why) < 300


def peak(text):
    """Return the memory that reading a text takes, in bytes for each of its characters."""
    tracemalloc.start()
    try:
        parse_textproto(text)
        return tracemalloc.get_traced_memory()[1] / len(text)
    finally:
        tracemalloc.stop()


def test_work_is_in_proportion_to_the_text():
    for make in (
        lambda size: "graph { initializer { raw_data: '" + "\\000" * size + "' } }",
        lambda size: "graph { initializer { raw_data: '" + "\\\\" * size + "' } }",
        lambda size: "ir_version: 8" + " \t" * size,
        lambda size: "graph {" + " node { input: 'x' }" * size + "}",
    ):
        assert growth(lambda size, make=make: lambda: parse_textproto(make(size)), 500, 4) < 1.2
        assert peak(make(10_000)) < 60


# JSON

GRAPH = '{"irVersion": "8",\n "graph": {'


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        (GRAPH + '"foo": 3}}', "graph", "GraphProto has no field 'foo'"),
        (GRAPH + '"node": [{},\n {"foo": 3}]}}', "graph.node[1]", "NodeProto has no field 'foo'"),
        (GRAPH + '"node": [{"input": ["x",\n 5]}]}}', "graph.node[0].input", "of type string"),
        (GRAPH + '"node": [{"input": ["x", null]}]}}', "graph.node[0].input[1]", "null"),
        (GRAPH + '"node": [{"input": ["x", ["y"]]}]}}', "graph.node[0].input", "of type string"),
        (GRAPH + '"node": [{"attribute": [{"ints": [1]}, {"ints": [1, 1e100]}]}]}}',
            "graph.node[0].attribute[1].ints", "out of range"),
        (GRAPH + '"node": [{"attribute": [{"ints": [1, 1.5]}]}]}}', "graph.node[0].attribute[0].ints[1]", "1.5"),
        (GRAPH + '"node": [null]}}', "graph.node[0]", "an object is expected"),
        (GRAPH + '"node": [[]]}}', "graph.node[0]", "an object is expected"),
        (GRAPH + '"node": {"a": [1, 2]}}}', "graph.node", "a list is expected"),
        (GRAPH + '"name": ["g"]}}', "graph.name", "no list is expected"),
        ('{"irVersion": 8, "graph": "g"}', "graph", "an object is expected"),
        ('{"irVersion": 8, "graph": [{}]}', "graph", "no list is expected"),
        (GRAPH + '"input": [{"type": {"tensorType": {}, "mapType": {}}}]}}', "graph.input[0].type.mapType",
            "it excludes tensor_type, which is there"),
        (GRAPH + '"node": [{"attribute": [{"type": "FOO"}]}]}}', "graph.node[0].attribute[0].type", "FOO"),
        (GRAPH + '"node": [{"attribute": [{"type": 99}]}]}}', "graph.node[0].attribute[0].type", "99"),
        (GRAPH + '"node": [{"attribute": [{"type": [1]}]}]}}', "graph.node[0].attribute[0].type", "no list"),
        (GRAPH + '"node": [{"attribute": [{"type": {}}]}]}}', "graph.node[0].attribute[0].type", "of type enum"),
        (GRAPH + '"node": [{"attribute": [{"i": {"a": 1}}]}]}}', "graph.node[0].attribute[0].i", "of type int64"),
        (GRAPH + '"initializer": [{"rawData": "!!!*"}]}}', "graph.initializer[0].rawData", "base64"),
        (GRAPH + '"initializer": [{"raw_data": "é"}]}}', "graph.initializer[0].raw_data", "base64"),
        (GRAPH + '"initializer": [{"rawData": "a"}]}}', "graph.initializer[0].rawData", ""),
        (GRAPH + '"initializer": [{"rawData": 5}]}}', "graph.initializer[0].rawData", "base64"),
        (GRAPH + '"initializer": [{"stringData": ["aa", "a a"]}]}}', "graph.initializer[0].stringData", "base64"),
        (GRAPH + '"initializer": [{"floatData": [1, NaN]}]}}', "graph.initializer[0].floatData[1]", "NaN"),
        (GRAPH + '"initializer": [{"floatData": [1, 1e300]}]}}', "graph.initializer[0].floatData[1]", ""),
        (GRAPH + '"initializer": [{"floatData": [1e999]}]}}', "graph.initializer[0].floatData[0]", ""),
        (GRAPH + '"name": "\\ud800"}}', "graph.name", "surrogate"),
        (GRAPH + '"n\\ud800": 1}}', "graph", "no field"),
        (GRAPH + '"node": [{"attribute": [{"type": "\\ud800"}]}]}}', "graph.node[0].attribute[0].type", ""),
        (GRAPH + f'"{"n" * 10_000}": 1}}}}', "graph", "no field"),
        (GRAPH + '"name": "a", "name": "b"}}', "graph.name", "it is there twice"),
        (GRAPH + '"name": "a", "name": null}}', "graph.name", "it is there twice"),
        ('{"ir_version": 8,\n"irVersion": 9}', "irVersion", "it is there twice"),
        (GRAPH + f'"node": {"9" * 5000}}}}}', "", "digits"),
        (GRAPH + f'"node": [{{"attribute": [{{"i": "{"9" * 5000}"}}]}}]}}}}',
            "graph.node[0].attribute[0].i", "too long"),
        ('{"irVersion": true}', "irVersion", ""),
        ('{"irVersion": 8,\n "newer": 1}', "", "ModelProto has no field 'newer'"),
        ('{"irVersion": 8', "1:16", ""),
        ('{"irVersion": 8}\n 9', "2:2", ""),
        ('{"irVersion": "\t"}', "1:16", ""),
        ("{'irVersion': 8}", "1:2", ""),
    ],
)  # fmt: skip
def test_errors_of_json_have_the_path_of_the_field_or_the_place_in_the_text(text, place, said):
    code, where, message, why = fault(parse_json, text)
    assert (code, where) == ("M301", place)
    assert said in message or (message == "this is not protobuf's JSON of a model" and said in why and why)
    assert len(message + why) < 500


@pytest.mark.parametrize(
    ("value", "field"),
    [
        ('"%s"', "type"), ('"%s"', "i"), ('"%s"', "f"), ('"%s"', "ints"), ('"%s"', "g"), ('"%s"', "graphs"),
        ('"%s!"', "s"), ('["%s"]', "s"), ('["%s"]', "ints"),
        ('{"%s": 1}', "g"), ('{"%s": 1}', "name"), ('{"%s": 1}', "graphs"),
    ],
)  # fmt: skip
def test_a_long_text_at_a_wrong_place_takes_little(value, field):
    """Protobuf repeats a value at each level, for a hundred times its memory."""
    size = 300_000
    text = nested_json(30).replace(
        '{"name": "g"}', f'{{"node": [{{"attribute": [{{"{field}": {value % ("x" * size)}}}]}}]}}'
    )
    tracemalloc.start()
    try:
        assert fault(parse_json, text)[0] == "M301"
        assert tracemalloc.get_traced_memory()[1] < 5 * size
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[]", "it is no object"), ("3", "it is no object"), ("null", "it is no object"),
        ("{}", "it is an object without a field of a model"),
        ('{"name": "package", "version": "1"}', "it is an object without a field of a model"),
    ],
)  # fmt: skip
def test_json_of_others_is_no_model(text, why):
    assert fault(parse_json, text) == ("M102", "", "this is not an ONNX model", why)


def test_both_spellings_are_read():
    model = parse_json('{"ir_version": 8, "opsetImport": [{"version": "17"}], "graph": {"docString": "d"}}')
    assert (model.ir_version, model.opset_import[0].version, model.graph.doc_string) == (8, 17, "d")


def test_values_that_json_writes_otherwise_are_read():
    attribute = parse_json(GRAPH + '"node": [{"attribute": [{"type": "INTS", "ints": ["1", 2, 3e0], "f": "1.5"}]}]}}')
    got = attribute.graph.node[0].attribute[0]
    assert (got.type, [*got.ints], got.f) == (onnx.AttributeProto.INTS, [1, 2, 3], 1.5)
    unset = parse_json(GRAPH + '"name": null, "input": [{"type": {"mapType": null, "tensorType": {}}}]}}').graph
    assert not unset.HasField("name") and unset.input[0].type.HasField("tensor_type")


def test_fields_of_floats_are_those_of_the_format():
    fields = [field for message in proto.FILE.message_types_by_name.values() for field in message.fields]
    assert {field.name for field in fields if field.type == field.TYPE_FLOAT} == protobuf._FLOATS


def test_the_greatest_float_is_read_back_from_json(tmp_path):
    values = [math.ldexp(2 - 2**-23, 127), -math.ldexp(2 - 2**-23, 127), 2.0]
    tensor = helper.make_tensor("w", onnx.TensorProto.FLOAT, [3], values)
    model = helper.make_model(helper.make_graph([], "g", [], [], [tensor]))
    load(model).save(tmp_path / "m.json")
    assert onnx.load(tmp_path / "m.json") == model  # protobuf does not read what it writes itself
    onnx.save(model, tmp_path / "theirs.json")
    assert load(tmp_path / "theirs.json").SerializeToString() == model.SerializeToString()
    double = '{"irVersion": 8, "graph": {"initializer": [{"doubleData": [3.4028235e+38, "NaN"]}]}}'
    assert parse_json(double).graph.initializer[0].double_data[0] == 3.4028235e38
    attribute = '{"irVersion": 8, "graph": {"node": [{"attribute": [{"f": -3.4028235e38}]}]}}'
    assert parse_json(attribute).graph.node[0].attribute[0].f == values[1]


# Writing


def with_plain_nan(message):
    """Return a message with one NaN in place of all, in its floats and doubles."""
    for field, value in message.ListFields():
        if field.message_type is not None:
            for part in value if is_repeated(field) else [value]:
                with_plain_nan(part)
        elif field.cpp_type in (field.CPPTYPE_FLOAT, field.CPPTYPE_DOUBLE):
            if is_repeated(field):
                value[:] = [math.nan if math.isnan(each) else each for each in value]
            elif math.isnan(value):
                setattr(message, field.name, math.nan)
    return message


@settings(max_examples=draws(60))
@given(messages("ModelProto", depth=4), st.sampled_from([PROTOBUF_TEXT, JSON]))
def test_every_model_is_read_back(message, syntax):
    message.ir_version = 8
    message.DiscardUnknownFields()
    model = load(message.SerializeToString())
    text = protobuf.model_text(model, syntax)
    assert text.isascii() and not re.search(rb"[\0-\x09\x0b-\x1f\x7f]", text)
    back = (parse_json if syntax == JSON else parse_textproto)(text.decode())
    expected = with_plain_nan(type(back).FromString(message.SerializeToString()))
    assert with_plain_nan(back).SerializeToString() == expected.SerializeToString()


@pytest.mark.filterwarnings("ignore:invalid:DeprecationWarning")
@settings(max_examples=draws(60))
@given(st.data(), st.sampled_from([PROTOBUF_TEXT, JSON]))
def test_damaged_text_is_a_model_or_an_error(data, syntax):
    message = data.draw(messages("ModelProto", depth=2))
    message.ir_version = 8
    message.DiscardUnknownFields()
    text = bytearray(protobuf.model_text(load(message.SerializeToString()), syntax))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(
            st.sampled_from([b"", b"{", b"}", b'"', b"[", b"\\", b"9", b":", b",", b"null", b"#", b"-", b"<"])
        )
    try:
        (parse_json if syntax == JSON else parse_textproto)(text.decode())
    except ModelError as error:
        assert error.code in ("M301", "M102", "M104")


@pytest.mark.parametrize("name", ["m.textproto", "m.json"])
def test_what_these_texts_cannot_hold_is_refused(name, tmp_path):
    unknown = b"\x08\x08\xca\x3e\x02hi"
    with pytest.raises(UsageError) as caught:
        load(unknown).save(tmp_path / name)
    assert caught.value.code == "U103" and "cannot hold" in caught.value.message and caught.value.place == ""
    newer = b"\x08\x08\x3a\x0a\x0a\x00\x0a\x06\xca\x3e\x03new"  # the graph has two nodes
    with pytest.raises(UsageError) as caught:
        load(newer).save(tmp_path / name)
    assert caught.value.place == "graph.node[1]" and caught.value.why.startswith("NodeProto has fields")
    payload = onnx.ModelProto(ir_version=8)
    payload.graph.initializer.add().MergeFromString(b"\xfa\xff\xff\xff\x0f\x01x")  # the private field of this package
    with pytest.raises(UsageError):
        load(payload).save(tmp_path / name)
    bad = b"\x08\x08\x3a\x07\x0a\x05\x1a\x03a\xffb"
    with pytest.raises(ModelError) as caught:
        load(bad).save(tmp_path / name)
    assert (caught.value.code, caught.value.place) == ("M106", "graph.node[0].name")
    assert not (tmp_path / name).exists()


def test_weights_that_were_left_in_the_file_are_written(tmp_path):
    tensor = helper.make_tensor("w", onnx.TensorProto.UINT8, [5000], bytes(range(250)) * 20, raw=True)
    model = helper.make_model(helper.make_graph([], "g", [], [], [tensor]))
    onnx.save(model, tmp_path / "m.onnx")
    loaded = load(tmp_path / "m.onnx")
    assert loaded.has_segments and loaded.syntax == ""
    for name in ("m.pbtxt", "m.onnxjson"):
        loaded.save(tmp_path / name)
        assert load(tmp_path / name).SerializeToString() == model.SerializeToString()


def test_a_stream_is_written_in_a_syntax():
    model = load(parse_textproto(RELU).SerializeToString())
    for syntax, begin in (("", b"\x08"), (ONNX_TEXT, b"#: unset"), (PROTOBUF_TEXT, b"ir_version: 8\n"), (JSON, b"{\n")):
        stream = io.BytesIO()
        write_stream(model, stream, syntax=syntax)
        assert stream.getvalue().startswith(begin)


def test_a_text_keeps_its_syntax_where_its_name_allows(tmp_path, written):
    from opset.model.storage.writing import save_below, save_in_place

    got = load(written(RELU, "m.onnxtxt"))
    changed = opset.convert(got, 18)
    save_below(changed, str(tmp_path), "n.onnxtxt")
    assert recognize_syntax((tmp_path / "n.onnxtxt").read_text()) == PROTOBUF_TEXT
    save_below(load(got.SerializeToString()), str(tmp_path), "binary.onnxtxt")
    assert (tmp_path / "binary.onnxtxt").read_text().startswith(("<", "#: unset"))
    save_in_place(changed, str(tmp_path), "m.onnxtxt")
    assert recognize_syntax((tmp_path / "m.onnxtxt").read_text()) == PROTOBUF_TEXT
    changed.save(tmp_path / "o.onnxtxt")
    assert (tmp_path / "o.onnxtxt").read_text().startswith(("<", "#: unset"))
    save_below(changed, str(tmp_path), "n.json")
    assert recognize_syntax((tmp_path / "n.json").read_text()) == JSON


def test_a_stream_of_text_is_called_by_its_name():
    stream = io.BytesIO(b"\xff")
    stream.name = "in.onnxtxt"
    with pytest.raises(ModelError) as caught:
        load_text(stream)
    assert (caught.value.code, caught.value.file) == ("M301", "in.onnxtxt")
