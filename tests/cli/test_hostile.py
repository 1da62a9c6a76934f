"""Hostile models on the command line: a typed error, its exit status, no traceback, nothing written, soon."""

import os

import onnx.parser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

from tests.bounds import cpu_seconds
from tests.cli.commands import SMALL, run, run_json, save

ESCAPES = "\x1b[31mred\x1b[0m\x07\u202e\u2066\x9b1m\r\nnext"
SAMPLE = onnx.parser.parse_model(SMALL).SerializeToString()


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def nested(depth):
    """A model with If inside If, written from the inside out, each level's start alone: in linear time."""
    constant = field(2, b"c") + field(4, b"Constant") + field(5, field(1, b"value_int") + b"\x18\x01\xa0\x01\x02")
    inner = field(1, constant) + field(2, b"g") + field(12, field(1, b"c"))
    starts, size = [inner], len(inner)
    attribute, node = field(1, b"then_branch") + b"\xa0\x01\x05", field(4, b"If") + field(2, b"c")
    for _ in range(depth):
        for number, before in ((6, attribute), (5, node), (1, b"")):
            start = before + varint(number << 3 | 2) + varint(size)
            starts.append(start)
            size += len(start)
    head = b"\x08\x08" + field(8, b"\x10\x0d") + varint(7 << 3 | 2) + varint(size)
    return head + b"".join(reversed(starts))


def graph(nodes, inputs=("x",), outputs=("y",), opsets=(("", 13),), **more):
    values = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in (*inputs, *outputs)}
    made = helper.make_graph(nodes, "main", [values[name] for name in inputs], [values[name] for name in outputs])
    imports = [helper.make_opsetid(*each) for each in opsets]
    model = helper.make_model(made, opset_imports=imports or [helper.make_opsetid("", 13)], ir_version=8, **more)
    if not imports:
        del model.opset_import[:]
    return model.SerializeToString()


RELU, ABS = helper.make_node("Relu", ["x"], ["mid"]), helper.make_node("Abs", ["mid"], ["y"])
CALL = helper.make_node("f", ["x"], ["y"], domain="d")
SELF_CALL = helper.make_function("d", "f", ["x"], ["y"], [CALL], [helper.make_opsetid("d", 1)])
MODELS = {
    "empty": (b"", 3, "M102"),
    "cut short": (SAMPLE[: len(SAMPLE) // 2], 3, "M103"),
    "random bytes": (bytes(range(255, 0, -1)) * 40, 3, "M102"),
    "text": (b"operator: Relu\nfamily: activation\n" * 20, 3, "M102"),
    "a pointer of git lfs": (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n", 3, "M102"),
    "nested 34 deep": (nested(34), 3, "M104"),
    "nested 100,000 deep": (nested(100_000), 3, "M104"),
    "cyclic": (graph([helper.make_node("Add", ["x", "b"], ["a"]), helper.make_node("Abs", ["a"], ["b"]),
                      helper.make_node("Abs", ["b"], ["y"])]), 3, "M110"),
    "its own input": (graph([helper.make_node("Add", ["x", "y"], ["y"])]), 3, "M110"),
    "unsorted": (graph([ABS, RELU]), 3, "M110"),
    "no imports": (graph([RELU, ABS], opsets=()), 3, "M107"),
    "imported twice": (graph([RELU, ABS], opsets=(("", 13), ("", 12))), 3, "M108"),
    "imported as ai.onnx too": (graph([RELU, ABS], opsets=(("", 13), ("ai.onnx", 13))), 3, "M108"),
    "unknown operator": (graph([helper.make_node("Relo", ["x"], ["y"])]), 1, "C101"),
    "defined twice": (graph([helper.make_node("Relu", ["x"], ["y"])] * 2), 3, "M113"),
    "undefined": (graph([ABS]), 3, "M112"),
    "not UTF-8": (graph([RELU, ABS]).replace(b"Relu", b"R\xff\xfeu"), 3, "M106"),
    "a value that is not UTF-8": (graph([RELU, ABS]).replace(b"mid", b"m\xffd"), 3, "M106"),
    "version zero": (graph([RELU, ABS], opsets=(("", 0),)), 3, "M107"),
    "a version that does not exist yet": (graph([RELU, ABS], opsets=(("", 2**62),)), (1, 2, 3), ""),
    "a negative version": (graph([RELU, ABS], opsets=(("", -5),)), 3, "M107"),
    "no graph": (b"\x08\x08" + field(8, b"\x10\x0d"), 3, "M109"),
    "a circle of functions": (graph([CALL], opsets=(("", 13), ("d", 1)), functions=[SELF_CALL]), (0, 3), ""),
}  # fmt: skip


@pytest.mark.clock
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("verb", [["convert", "--to", "21"], ["convert", "--to", "7"], ["show"]])
def test_a_hostile_model_is_told_as_what_it_is(name, verb, folder):
    data, status, code = MODELS[name]
    (folder / "model.onnx").write_bytes(data)
    with cpu_seconds(10):
        result = run(verb[0], "model.onnx", *verb[1:])
    statuses = status if isinstance(status, tuple) else (status,)
    if verb == ["show"]:
        statuses = (*statuses, 0)  # what only a conversion looks at is shown as it is
    assert result.exit_code in statuses, result.output
    if result.exit_code:
        assert f"error[{code}" in result.stderr
        assert os.listdir(folder) == ["model.onnx"]


def test_what_is_nested_as_deep_as_protobuf_reads_is_converted(folder):
    (folder / "model.onnx").write_bytes(nested(32))
    result = run("convert", "model.onnx", "--to", 21)
    assert result.exit_code in (0, 1), result.output


@pytest.mark.parametrize(
    "argument", ["folder.onnx", "missing.onnx", "a\0b", "/dev/null", "x" * 5000, "folder.onnx/x.onnx"]
)
def test_what_is_no_file(argument, folder):
    (folder / "folder.onnx").mkdir()
    for arguments in (["convert", argument, "--to", 21], ["show", argument]):
        result = run(*arguments)
        assert result.exit_code in (2, 3) and result.stdout == ""
        assert result.stderr.startswith("error[")


@pytest.mark.clock
def test_a_long_chain(folder):
    count = 50_000
    nodes = [helper.make_node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(count)]
    (folder / "model.onnx").write_bytes(graph(nodes, ["v0"], [f"v{count}"]))
    with cpu_seconds(20):
        assert run_json("convert", "model.onnx", "--to", 21)["models"][0]["nodes"]["kept"] == count


def test_escape_sequences_do_not_reach_the_output(folder):
    nodes = [
        helper.make_node("Relu", ["x"], [ESCAPES], name=ESCAPES),
        helper.make_node(f"Op{ESCAPES}", [ESCAPES], ["z"], domain=f"com.{ESCAPES}", name=ESCAPES),
        helper.make_node(f"Op{ESCAPES}", ["z"], ["w"], name=ESCAPES),
        helper.make_node("Squeeze", ["w", ESCAPES], ["y"], name=ESCAPES),
    ]
    opsets = (("", 13), (f"com.{ESCAPES}", 1))
    model = onnx.load_from_string(graph(nodes, opsets=opsets, producer_name=ESCAPES, producer_version=ESCAPES))
    model.graph.name = ESCAPES
    name = f"model{ESCAPES.replace('/', '')}.onnx"
    onnx.save(model, folder / name)
    for arguments in (
        ["convert", name, "--to", 21], ["convert", name, "--to", 11], ["convert", name, "--to", 11, "--plan"],
        ["convert", ".", name, "missing" + name, "--to", 11], ["show", name], ["show", ESCAPES], ["explain", ESCAPES],
        ["list", "--domain", ESCAPES], ["list", "--family", ESCAPES], ["convert", name, "--to", ESCAPES],
        ["convert", name, "--for", ESCAPES], ["convert", name, "--release", ESCAPES], ["diff", ESCAPES, 1, 2],
    ):  # fmt: skip
        for form in ("text", "json"):
            output = run(*arguments, "--format", form).output
            lines = output.split("\n")
            assert all(line.isprintable() for line in lines), arguments
            assert not any(line.startswith("next") for line in lines), arguments


def test_a_converted_model_with_such_names_gets_no_file_name_from_them(folder):
    domain = "../../" + ESCAPES
    save("model.onnx", SMALL, folder)
    model = onnx.load("model.onnx")
    model.opset_import.add(domain=domain, version=1)
    onnx.save(model, "model.onnx")
    assert run("convert", "model.onnx", "--to", 13).exit_code == 0
    assert sorted(os.listdir(folder)) == ["model-opset13.onnx", "model.onnx"]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(SAMPLE) - 1), st.integers(0, 255)), min_size=1, max_size=6),
    st.integers(0, len(SAMPLE)),
    st.sampled_from([7, 13, 21]),
)
def test_damage_anywhere_is_a_typed_error_or_harmless(edits, end, to):
    data = bytearray(SAMPLE)
    for position, value in edits:
        data[position] = value
    result = run("convert", "-", "--to", to, stdin=bytes(data[: end or None]))
    assert result.exit_code in (0, 1, 2, 3)
    assert run("show", "-", stdin=bytes(data)).exit_code in (0, 3)
