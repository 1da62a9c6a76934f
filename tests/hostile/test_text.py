"""Text and JSON stay in proportion to the input: long names, many findings, and characters that control a terminal."""

import json
import re

import pytest

from judges.hostile.processes import attack, own
from opset.model import proto as pb

LONG = "n" * 200_000
EVIL = "\x1b[31mred\x07\x9b2J\u202eflip\nerror[M101] forged\r\x7f\u2028"
ROOM = 20
"""Bytes of output for each byte of a model."""


def model(*nodes, name="main", imports=(("", 11),), inputs=("x",), outputs=()):
    """A model of nodes, each an operator, its inputs, its outputs, and what else NodeProto has."""
    proto = pb.ModelProto(ir_version=8)
    proto.graph.name = name
    for domain, version in imports:
        proto.opset_import.add(domain=domain, version=version)
    for each in inputs:
        stated = proto.graph.input.add(name=each).type.tensor_type
        stated.elem_type = 1
        stated.shape.dim.add(dim_param="N")
    for each in outputs:
        proto.graph.output.add(name=each)
    for op_type, given, computed, *more in nodes:
        proto.graph.node.add(op_type=op_type, input=given, output=computed, **(more[0] if more else {}))
    return proto


def chain(op_type, count):
    return [(op_type, ["x"], [f"{number:x}"]) for number in range(count)]


def written(folder, proto):
    data = proto.SerializeToString()
    (folder / "model.onnx").write_bytes(data)
    return len(data)


LONG_NAMES = {
    "a graph's": lambda: model(*chain("Relu", 8000), name=LONG),
    "all": lambda: model(
        *chain("Q", 4000),
        *((LONG, [LONG], [f"q{number}"], {"domain": LONG, "name": LONG}) for number in range(2)),
        ("Split", ["x"], [f"s{number:x}" for number in range(4000)], {"name": LONG}),
        name=LONG,
        inputs=["x", LONG],
        outputs=["s0", "q0"],
        imports=[("", 11), (LONG, 1)],
    ),
}
VERBS = [
    (["show"], "text"),
    (["infer", "--values"], "text"),
    (["infer", "--values"], "json"),
    (["convert", "--to", "13"], "text"),
    (["convert", "--to", "7", "--plan"], "json"),
    (["run", "--random", "--dim", "N=2", "--trace"], "text"),
]


@pytest.mark.parametrize("what", LONG_NAMES)
def test_a_long_name_is_not_written_at_every_node(what, tmp_path):
    size = written(tmp_path, LONG_NAMES[what]())
    for verb, form in VERBS:
        outcome = own(attack(verb[0], "model.onnx", *verb[1:], "--format", form, cwd=tmp_path))
        assert len(outcome.stdout + outcome.stderr) < ROOM * size, (verb, form)
        assert outcome.megabytes < 400, (verb, form, outcome.megabytes)
        if form == "text":
            longest = max(map(len, outcome.text.splitlines()), default=0)
            assert longest < 30_000, (verb, longest)


def test_names_that_begin_alike_are_told_apart(tmp_path):
    nodes = [("Q", ["x"], [each], {"name": LONG[:1000] + each}) for each in "ab"]
    written(tmp_path, model(*nodes))
    said = own(attack("convert", "model.onnx", "--to", "13", cwd=tmp_path), 1).text
    assert "…' number 0 (Q)" in said and "…' number 1 (Q)" in said and "n" * 1000 not in said


def test_a_table_is_not_padded_to_the_longest_name(tmp_path):
    nodes = chain("Relu", 5000)
    written(tmp_path, model(*nodes, ("Relu", ["x"], [LONG[:50_000]])))
    outcome = own(attack("infer", "model.onnx", "--values", cwd=tmp_path), 0)
    assert len(outcome.stdout) < 5000 * 250


def test_subgraphs_in_one_another_are_cut_in_locations(tmp_path):
    proto = model(("Q", ["x"], ["y"]))
    inner = proto.graph
    for _ in range(20):
        outer = model().graph
        node = outer.node.add(op_type="If", input=["x"], output=["y"], name="k" * 300)
        attribute = node.attribute.add(name="then_branch", type=5)
        attribute.g.CopyFrom(inner)
        del attribute.g.input[:]
        inner = outer
    proto.graph.CopyFrom(inner)
    written(tmp_path, proto)
    said = own(attack("convert", "model.onnx", "--to", "13", cwd=tmp_path), 1).text
    assert "… 16 levels …" in said and max(map(len, said.splitlines())) < 5000


FINDINGS = {
    "imports": (lambda: model(("Relu", ["x"], ["y"]), imports=[("", 11 + n) for n in range(100_000)]), "M108", 99_999),
    "undefined values": (lambda: model(*((("Relu", [f"q{n}"], [f"{n}"])) for n in range(30_000))), "M112", 30_000),
    "duplicates": (lambda: model(*[("Relu", ["x"], ["y"])] * 30_000, name=LONG), "M113", 29_999),
    "refusals": (lambda: model(*chain("Q", 20_000), name=LONG), "C101", 20_000),
    "misfits": (lambda: model(*(("Add", ["x"], [f"{n}"]) for n in range(10_000)), name=LONG), "I202", 10_000),
    "inputs": (
        lambda: model(("Relu", ["a0"], ["y"]), inputs=[f"a{n}" for n in range(20_000)], outputs=["y"]),
        "R101",
        20_000,
    ),
}
ASKED = {"misfits": ["infer", "model.onnx", "--check-types"], "inputs": ["run", "model.onnx"]}


@pytest.mark.parametrize("what", FINDINGS)
def test_findings_are_counted_where_they_are_many(what, tmp_path):
    make, code, count = FINDINGS[what]
    written(tmp_path, make())
    verb = ASKED.get(what, ["convert", "model.onnx", "--to", "13"])
    outcome = own(attack(*verb, cwd=tmp_path), 1, 3)
    said = outcome.stderr.decode()
    shown, left = (1, count - 1000) if what == "refusals" else (100, count - 100)  # those are of one kind
    assert said.count(f"error[{code}]") == shown and f"… and {left:,} more\n" in said
    assert len(said) < 200_000
    data = json.loads(own(attack(*verb, "--format", "json", cwd=tmp_path), 1, 3).stdout)
    data = data if what == "inputs" else data["models"][0]
    assert len(data["errors"]) == 1000 and data["omitted"] == count - 1000


def test_findings_of_operator_files_are_counted(tmp_path):
    folder = tmp_path / "com.example"
    folder.mkdir()
    for number in range(30):
        keys = "".join(f"k{each}: 1\n" for each in range(200))
        (folder / f"Op{number}.yaml").write_text(keys)
    said = own(attack("lint", tmp_path), 1).text
    assert said.count("\nerror[") + said.startswith("error[") == 100 and re.search(r"… and [\d,]+ more\n", said)


OPERATOR = """
operator: {name}
family: {name}
versions:
- since: 2
  change:
    attributes: {{{name}: {{default: [{name}, b]}}}}
    meaning: {name}
    adapters: {{up: 'impossible: x', down: {impossible}}}
  doc: {name}
  inputs: [{{name: {name}, type: T, doc: {name}}}]
  outputs: [{{name: y, type: T, doc: {name}}}]
  attributes: {{{name}: {{type: string, default: b, doc: {name}}}, f: {{type: float, default: .nan, doc: x}}}}
  types: {{T: [float]}}
- since: 1
  like: 2
  inputs: [{name}]
  attributes: {{{name}: {{default: {name}}}}}
"""


def operator(name, text):
    """The YAML of an operator with a text in every place."""
    impossible = json.dumps(f"impossible: {text}")
    made = OPERATOR.format(name=json.dumps(text), impossible=impossible)
    return made.replace(f"operator: {json.dumps(text)}", f"operator: {json.dumps(name)}")


@pytest.fixture
def evil(tmp_path):
    """A folder with a model and schemas whose every text tries to control a terminal."""
    nodes = [
        ("Relu", ["x"], [EVIL], {"name": EVIL, "doc_string": EVIL}),
        (EVIL, [EVIL], ["z"], {"domain": EVIL, "name": EVIL}),
        ("Clip", ["z", EVIL], [f"{EVIL}2"], {"name": EVIL}),
        ("Cast", ["x"], ["c"], {"name": EVIL}),
    ]
    proto = model(*nodes, name=EVIL, imports=[("", 11), (EVIL, 1)], inputs=["x", f"{EVIL}3"], outputs=["z", f"{EVIL}4"])
    proto.graph.input[0].type.tensor_type.shape.dim.add(dim_param=EVIL)
    proto.graph.node[3].attribute.add(name=EVIL, type=3, s=EVIL.encode(), doc_string=EVIL)
    proto.producer_name = proto.producer_version = proto.domain = proto.doc_string = EVIL
    proto.metadata_props.add(key=EVIL, value=EVIL)
    function = proto.functions.add(name=EVIL + "f", domain=EVIL, doc_string=EVIL)
    function.opset_import.add(domain="", version=11)
    path = f"m{EVIL}.onnx".replace("/", "")
    (tmp_path / path).write_bytes(proto.SerializeToString())
    (tmp_path / f"{EVIL}.yaml").write_text("x")
    for domain in (f"com.{EVIL}", "com.example"):
        (tmp_path / "schemas" / domain).mkdir(parents=True)
        for name in (EVIL, "Fine"):
            (tmp_path / "schemas" / domain / f"{name}.yaml").write_text(operator(name, EVIL))
    return tmp_path, path


def commands(path):
    """Every verb on a model, on schemas and on arguments that try to control a terminal."""
    convert, run, there = ["convert", path], ["run", path], ["--to", "13"]
    yield from (["show", path], ["show", path, "1"], ["show", path, EVIL], [*convert, *there, "--plan"])
    yield from ([*convert, *there], [*convert, "--to", "7"], ["convert", ".", *there])
    yield ["convert", "missing" + path, *there]
    yield from ([*convert, option, EVIL] for option in ("--to", "--for", "--release", "--dim"))
    yield from ([*convert, *there, "--dim", f"{EVIL}=3"], [*convert, *there, "-o", f"{EVIL}/"])
    yield from (["convert", EVIL, "--in-place", *there], ["infer", path], ["infer", path, "--values"])
    yield from (["infer", path, "--dim", f"{EVIL}=3"], ["infer", path, "-o", f"out{EVIL}.onnx"])
    yield from (run, [*run, "--random", "--trace"], [*run, "--set", f"{EVIL}=3"], [*run, f"{EVIL}.npz"])
    yield from ([*run, option, EVIL] for option in ("--value", "--compare", "--max-bytes", "--seed"))
    for more in ([], ["--schemas", "schemas"]):
        yield from (["show", name, *more] for name in (EVIL, f"com.example.{EVIL}", "com.example.Fine"))
        yield from (["list", *each, *more] for each in ([], ["domains"], [EVIL]))
        yield from (["list", option, EVIL, *more] for option in ("--domain", "--family"))
        yield from (["diff", name, "1", "2", *more] for name in (EVIL, "com.example.Fine"))
        yield [*convert, *there, *more]
    yield from (["lint", *each] for each in (["schemas"], [EVIL], ["--lock", "schemas"], ["--fix", "schemas"]))
    yield from ([EVIL], ["--" + EVIL], ["show", "--" + EVIL, "x"], ["list", "--opset", EVIL], ["explain", EVIL])
    yield from (["completion", EVIL], ["show", "Relu", "--schemas", EVIL], ["show", "x", "--format", EVIL])


def test_no_text_controls_the_terminal(evil, monkeypatch):
    from click.testing import CliRunner

    from opset.cli import cli

    folder, path = evil
    monkeypatch.chdir(folder)
    for arguments in commands(path):
        for form in ("text", "json"):
            given = [*arguments, "--format", form] if "--format" not in arguments else arguments
            result = CliRunner().invoke(cli, given)
            assert result.exit_code in (0, 1, 2, 3), (arguments, result.output)
            for stream in (result.stdout, result.stderr):
                lines = stream.split("\n")
                assert [line for line in lines if not line.isprintable()] == [], (arguments, form)
                assert not any(line.startswith("error[M101] forged") for line in lines), (arguments, form)
            if form == "json" and result.stdout and result.exit_code != 2:
                json.loads(result.stdout, parse_constant=pytest.fail)


def test_what_json_lacks_is_text(tmp_path):
    folder = tmp_path / "com.example"
    folder.mkdir()
    (folder / "Fine.yaml").write_text(operator("Fine", "a"))
    outcome = own(attack("show", "com.example.Fine", "--schemas", tmp_path, "--format", "json"), 0)
    data = json.loads(outcome.stdout, parse_constant=pytest.fail)
    assert [each["default"] for each in data["attributes"]] == ["b", "nan"]
    written(tmp_path, model(("Identity", ["x"], ["y"]), outputs=["y"]))
    given = ["run", "model.onnx", "--set", 'x=["NaN", "Infinity", "-Infinity", "nan"]']
    data = json.loads(own(attack(*given, "-o", "y.json", "--format", "json", cwd=tmp_path), 0).stdout)
    assert data["outputs"]["y"]["value"] == ["nan", "inf", "-inf", "nan"]
    read = json.loads((tmp_path / "y.json").read_text())["y"]
    again = ["run", "model.onnx", "--set", f"x={json.dumps(read)}", "--compare", "y.json"]
    own(attack(*again, cwd=tmp_path), 0)


def test_an_exception_holds_a_bounded_part():
    from opset.errors import Finding, ModelError

    error = ModelError(Finding("M101", LONG, f"{number}") for number in range(100_000))
    assert len(error.findings) == 1000 and error.omitted == 99_000
    assert str(error).endswith("… and 99,900 more") and len(str(error)) < 200_000
    assert error.in_file("f").omitted == 99_000
