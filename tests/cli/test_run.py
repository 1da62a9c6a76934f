"""`opset run`: where inputs come from, what is told of outputs, what becomes of them, and what is refused."""

import json
import os
import pty
import re
import subprocess
import sys
import threading
from contextlib import suppress
from io import StringIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser
import onnxruntime
import pytest

from opset.cli.run import _name_in, _show_progress
from opset.errors import CODES
from opset.tensor_io.statistics import summarize
from tests.cli.commands import run, run_json, save
from tests.cli.test_process import COMMAND, ENVIRONMENT

EXAMPLES = Path(__file__).parents[2] / "examples"
ADD = """<ir_version: 8, opset_import: ["": 13]>
    main (float[N, 2] x, float[N, 2] y) => (float[N, 2] z) { s = Add (x, y)  z = Relu (s) }"""
LISTS = """<ir_version: 8, opset_import: ["": 16]>
    main (seq(float[N]) s, optional(float[2]) o, string[2] t)
    => (seq(float[N]) r, bool b, string[2] u) { r = Identity (s)  b = OptionalHasElement (o)  u = Identity (t) }"""
CHANCE = """<ir_version: 8, opset_import: ["": 13]>
    main (float[N, M] x) => (float[N, M] z) { r = RandomNormalLike (x)  z = Add (x, r) }"""
X, Y = np.array([[1, -2]], np.float32), np.array([[3, 1]], np.float32)


@pytest.fixture
def add(folder):
    """`add.onnx` in the working folder, with values for it in every form."""
    np.savez("in.npz", x=X, y=Y)
    np.save("x.npy", X)
    np.save("y.npy", Y)
    Path("in.json").write_text('{"x": [[1, -2]], "y": [[3, 1]]}')
    for place in ("x.pb", "data/input_0.pb"):
        Path(place).parent.mkdir(exist_ok=True)
        Path(place).write_bytes(onnx.numpy_helper.from_array(X, "x").SerializeToString())
    Path("data/input_1.pb").write_bytes(onnx.numpy_helper.from_array(Y).SerializeToString())
    Path("data/output_0.pb").write_bytes(onnx.numpy_helper.from_array(np.maximum(X + Y, 0)).SerializeToString())
    return save("add.onnx", ADD, folder)


@pytest.mark.parametrize(
    "inputs",
    [
        ["in.npz"], ["in.json"], ["data"], ["data/"], ["x.npy", "y.npy"], ["y=y.npy", "x=x.npy"], ["y=y.npy", "x.npy"],
        ["x.pb", "y.npy"], ["x.pb", "y=data/input_1.pb"], ["data/input_1.pb", "data/input_0.pb"],
        ["--set", "x=[[1, -2]]", "--set", "y=[[3, 1]]"], ["x.pb", "--set", "y=[[3, 1]]"], ["-"],
    ],
)  # fmt: skip
def test_inputs_come_from_anywhere(add, inputs):
    data = run_json("run", add, *inputs, stdin='{"x": [[1, -2]], "y": [[3, 1]]}' if inputs == ["-"] else None)
    assert data["outputs"]["z"]["value"] == [[4.0, 0.0]]
    assert data["errors"] == [] and data["exit_status"] == 0


def test_a_literal_takes_precedence_over_files(add):
    assert run_json("run", add, "in.npz", "--set", "x=[[0, 1]]")["outputs"]["z"]["value"] == [[3.0, 2.0]]


def test_a_model_comes_from_stdin(add):
    result = run("run", "-", "in.npz", stdin=add.read_bytes())
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("stdin:\n  z  tensor(float)[1, 2]  min 0  max 4  mean 2  std 2\n    [4, 0]\n")


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.npz")))
def test_examples_compute_what_their_frameworks_did(name):
    data = run_json("run", EXAMPLES / f"{name}.onnx", EXAMPLES / f"{name}.npz", "--compare", EXAMPLES / f"{name}.npz")
    assert data["exit_status"] == 0 and {each["verdict"] for each in data["comparison"].values()} == {"same"}


def test_drawn_inputs_are_the_same_for_a_seed_and_what_onnxruntime_takes(add):
    first = run("run", add, "--random", "--dim", "N=3", "-o", "a.npz", "--save-inputs")
    assert "add.onnx: inputs drawn with --seed 0" in first.stdout and first.exit_code == 0
    run("run", add, "--random", "--dim", "N=3", "-o", "b.npz", "--save-inputs", "--seed", "0")
    run("run", add, "--random", "--dim", "N=3", "-o", "c.npz", "--save-inputs", "--seed", "1")
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes() != Path("c.npz").read_bytes()
    with np.load("a.npz") as archive:
        assert sorted(archive) == ["input/x", "input/y", "output/z"]
        feeds = {"x": archive["input/x"], "y": archive["input/y"]}
        assert feeds["x"].shape == (3, 2) and not np.array_equal(feeds["x"], feeds["y"])
        session = onnxruntime.InferenceSession(str(add), providers=["CPUExecutionProvider"])
        assert np.array_equal(session.run(None, feeds)[0], archive["output/z"])


def test_what_is_given_tells_the_sizes_of_what_is_drawn(add):
    np.save("x.npy", np.zeros((5, 2), np.float32))
    data = run_json("run", add, "x.npy", "--random")
    assert data["inputs"]["y"]["shape"] == [5, 2] and data["seed"] == 0
    result = run("run", add, "x.npy", "--random", "--dim", "N=4")
    assert result.exit_code == 1 and "error[R103]" in result.stderr
    assert "its shape is [5, 2], and the model declares tensor(float) of shape [4, 2]" in result.stderr
    assert run("run", add, "x.npy", "--random", "--dim", "N=5", "-q").exit_code == 0


def test_the_seed_is_that_of_nodes_too(folder):
    model = save("chance.onnx", CHANCE, folder)
    first, again, other = (
        run_json("run", model, "--set", "x=[[0]]", "--seed", seed)["outputs"]["z"]["value"] for seed in (5, 5, 6)
    )
    assert first == again != other


def test_all_sizes_that_are_missing_are_named(folder):
    model = save("chance.onnx", CHANCE, folder)
    result = run("run", model, "--random")
    assert result.exit_code == 2 and "the size of N, M is not known" in result.stderr
    assert "help    set it: --dim N=1 --dim M=1" in result.stderr
    proto = onnx.load(model)
    proto.graph.input[0].type.tensor_type.shape.dim[1].ClearField("dim_param")
    onnx.save(proto, model)
    assert "the size of x.1 is not known" in run("run", model, "--random", "--dim", "N=1").stderr
    assert run_json("run", model, "--random", "--dim", "N=1", "--dim", "x.1=2")["inputs"]["x"]["shape"] == [1, 2]
    proto.graph.input[0].type.tensor_type.ClearField("shape")
    onnx.save(proto, model)
    assert "does not declare its rank" in run("run", model, "--random").stderr


def test_drawn_sizes_are_bounded(add):
    result = run("run", add, "--random", "--dim", "N=999999999999")
    assert result.exit_code == 1 and "error[R302] the inputs would take too much memory" in result.stderr


def test_values_of_every_type_are_drawn(folder):
    kinds = "bfloat16 float8e4m3fn int4 uint2 int2 bool string complex64 uint64 float8e8m0 float4e2m1".split()
    numbers = [onnx.TensorProto.DataType.Value(kind.upper()) for kind in kinds]
    names = [f"v{number}" for number in numbers]
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", [name], [f"o{name}"]) for name in names],
        "g",
        [onnx.helper.make_tensor_value_info(n, t, [4]) for n, t in zip(names, numbers, strict=True)],
        [onnx.helper.make_tensor_value_info(f"o{n}", t, [4]) for n, t in zip(names, numbers, strict=True)],
    )
    imports = [onnx.helper.make_opsetid("", 25)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=imports, ir_version=13), "all.onnx")
    run("run", "all.onnx", "--random", "-o", "all/", "--save-inputs")
    data = run_json("run", "all.onnx", "all/", "--compare", "all/")
    assert data["exit_status"] == 0, data["errors"]
    assert [each["type"] for each in data["outputs"].values()] == [f"tensor({kind})" for kind in kinds]
    assert data["inputs"]["v8"]["value"] == data["outputs"]["ov8"]["value"]


def test_sequences_optionals_and_text(folder):
    model = save("lists.onnx", LISTS, folder)
    Path("in.json").write_text('{"s": [[1, 2], [3]], "o": null, "t": ["a", "é"]}')
    data = run_json("run", model, "in.json", "-o", "out/", "--save-inputs")
    assert [each["value"] for each in data["outputs"]["r"]["entries"]] == [[1, 2], [3]]
    assert (data["outputs"]["b"]["value"], data["outputs"]["u"]["value"]) == (False, ["a", "é"])
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "input_0.pb",
        "input_1.pb",
        "input_2.pb",
        "output_0.pb",
        "output_1.pb",
        "output_2.pb",
    ]
    again = run_json("run", model, "out", "--compare", "out")
    assert again["exit_status"] == 0 and again["outputs"] == data["outputs"]
    drawn = run_json("run", model, "--random", "--dim", "N=3", "-o", "v.json")
    assert [each["shape"] for each in drawn["outputs"]["r"]["entries"]] == [[3], [3]]
    assert run("run", model, "--random", "--dim", "N=3", "--compare", "v.json").exit_code == 0
    refused = run("run", model, "in.json", "-o", "v.npz")
    assert refused.exit_code == 2 and "error[U103]" in refused.stderr and "-o FOLDER/" in refused.stderr


@pytest.mark.parametrize("target", ["out.npz", "out.json", "out/"])
def test_outputs_are_written_and_nothing_is_overwritten(add, target):
    assert "wrote " + target in run("run", add, "in.npz", "-o", target).stdout
    refused = run("run", add, "in.npz", "-o", target)
    assert refused.exit_code == 2 and "error[U102]" in refused.stderr
    assert run("run", add, "data", "-o", target, "--force", "--compare", target).exit_code == 0
    assert [path.name for path in Path().glob(".opset-*")] == []


def test_nothing_is_written_after_the_time_is_up(add, monkeypatch):
    now, seen = [100.0], []

    def summarize_slowly(*arguments):
        seen.append(arguments)
        now[0] += 60 if len(seen) == 3 else 0  # after both inputs, the output
        return summarize(*arguments)

    monkeypatch.setattr("opset.budget.time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr("opset.cli.run.supervision.POSSIBLE", False)
    monkeypatch.setattr("opset.cli.run.summarize", summarize_slowly)
    result = run("run", add, "in.npz", "-o", "out.npz", "--timeout", "5")
    assert result.exit_code == 1 and "it may take 5 seconds" in result.stderr
    assert len(seen) == 3 and not Path("out.npz").exists()


def test_where_outputs_cannot_go(add):
    assert "error[U103]" in run("run", add, "in.npz", "-o", "out.csv").stderr
    assert "error[U104]" in run("run", add, "in.npz", "-o", "in.json/out.npz").stderr


def test_any_value_of_the_graph_can_be_asked_for(add):
    data = run_json("run", add, "in.npz", "--value", "s", "--value", "z")
    assert {name: each["value"] for name, each in data["outputs"].items()} == {"s": [[4, -1]], "z": [[4, 0]]}
    result = run("run", add, "in.npz", "--value", "nope")
    assert result.exit_code == 1 and "error[R104]" in result.stderr


def test_a_trace_tells_of_each_value(add):
    result = run("run", add, "in.npz", "--trace", "-q")
    assert (result.stdout, result.stderr) == ("", "")
    lines = run("run", add, "in.npz", "--trace").stderr.splitlines()
    assert [line.partition(": ")[2] for line in lines] == [
        "s  tensor(float)[1, 2]  min -1  max 4  mean 1.5  std 2.5",
        "z  tensor(float)[1, 2]  min 0  max 4  mean 2  std 2",
    ]
    trace = run_json("run", add, "in.npz", "--trace")["trace"]
    assert [(each["name"], each["value"]) for each in trace] == [("s", [[4, -1]]), ("z", [[4, 0]])]
    assert "(Add)" in trace[0]["place"]


def test_differences_are_findings(add):
    np.savez("want.npz", z=np.array([[4, 0.5]], np.float32))
    result = run("run", add, "in.npz", "--compare", "want.npz")
    assert result.exit_code == 1
    assert "  z: different, by 5.0e-01 at most (1.0e+00 relative)\n" in result.stdout
    assert "error[R401] the output 'z' differs" in result.stderr
    assert "1 of 2 elements differ; the first at [0, 1]: 0.0 instead of 0.5" in result.stderr
    assert run("run", add, "in.npz", "--compare", "want.npz", "--atol", "0.6").exit_code == 0
    assert run("run", add, "in.npz", "--compare", "want.npz", "--rtol", "0.1").exit_code == 1
    data = run_json("run", add, "in.npz", "--compare", "want.npz")
    assert data["comparison"]["z"] == {"verdict": "different", "absolute": 0.5, "relative": 1.0}
    assert [each["code"] for each in data["errors"]] == ["R401"] and data["exit_status"] == 1
    np.savez("zero.npz", z=np.array([[4, 0]], np.float32))
    assert "  z: same\n" in run("run", add, "in.npz", "--compare", "zero.npz").stdout
    np.savez("zero.npz", z=np.array([[0, 0]], np.float32))
    result = run("run", add, "in.npz", "--compare", "zero.npz")
    assert "  z: different, by 4.0e+00 at most (inf relative)\n" in result.stdout


def test_the_greatest_difference_of_a_sequence_is_told(folder):
    model = save("lists.onnx", LISTS, folder)
    given = ["--set", "o=null", "--set", 't=["a", "b"]']
    for wanted, found in (
        ("[[1, 2.5], [4]]", {"verdict": "different", "absolute": 1.0, "relative": 0.25}),
        ("[[1, 4], [3]]", {"verdict": "different", "absolute": 2.0, "relative": 0.5}),
        ("[]", {"verdict": "same", "absolute": 0.0, "relative": 0.0}),
    ):
        Path("want.json").write_text(f'{{"r": {wanted}}}')
        values = "[]" if wanted == "[]" else "[[1, 2], [3]]"
        data = run_json("run", model, *given, "--set", f"s={values}", "--compare", "want.json")
        assert data["comparison"]["r"] == found


@pytest.mark.parametrize(
    ("want", "why"),
    [
        ({"z": np.zeros((2, 2), np.float32)}, "its shape is [1, 2], and [2, 2] is expected"),
        ({"z": np.array([[4, 0]], np.float64)}, "it is tensor(float), and tensor(double) is expected"),
        ({"z": np.array([[4, 0]], np.float32), "w": X}, "there is no output 'w' to compare"),
        ({}, "holds none of the outputs"),
    ],
)
def test_what_cannot_be_compared_is_not_the_same(add, want, why):
    np.savez("want.npz", **want)
    result = run("run", add, "in.npz", "--compare", "want.npz")
    assert result.exit_code == 1 and "error[R401]" in result.stderr and why in result.stderr


def test_one_file_is_compared_with_the_output_that_it_is_for(add):
    np.save("want.npy", np.array([[4, -1]], np.float32))
    assert run("run", add, "in.npz", "--compare", "want.npy").exit_code == 1
    assert run("run", add, "in.npz", "--compare", "want.npy", "--value", "s").exit_code == 0
    both = ["--value", "s", "--value", "z"]
    assert "write NAME=want.npy" in run("run", add, "in.npz", "--compare", "want.npy", *both).stderr
    assert run("run", add, "in.npz", "-o", "both/", *both).exit_code == 0
    assert sorted(path.name for path in Path("both").iterdir()) == ["output_0.pb", "output_1.pb"]
    data = run_json("run", add, "in.npz", "--compare", "both", *both)
    assert [each["verdict"] for each in data["comparison"].values()] == ["same", "same"] and data["errors"] == []


def test_an_output_that_was_not_asked_for_is_not_missed(folder):
    model, values = EXAMPLES / "forest_opset9.onnx", EXAMPLES / "forest_opset9.npz"
    assert run("run", model, values, "-o", "all/").exit_code == 0
    for expected in (values, "all"):
        data = run_json("run", model, values, "--value", "label", "--compare", expected)
        assert [*data["comparison"]] == ["label"] and data["exit_status"] == 0


def test_one_file_is_compared_by_name(add):
    np.save("want.npy", np.array([[4, -1]], np.float32))
    both = ["--value", "s", "--value", "z"]
    assert "z: not compared" in run("run", add, "in.npz", "--compare", "s=want.npy", *both).stdout
    assert run("run", add, "in.npz", "--compare", "data/output_0.pb").exit_code == 0


def test_what_is_not_expected_is_not_compared(add):
    np.savez("want.npz", z=np.array([[4, 0]], np.float32))
    result = run("run", add, "in.npz", "--compare", "want.npz", "--value", "s", "--value", "z")
    assert result.exit_code == 0 and "s: not compared\n  z: same\n" in result.stdout


def test_a_name_may_hold_what_parts_it_from_the_value():
    names = {"a", "a=b", "=", "a=b=long"}
    for text, name in (
        ("a=b=long=1", "a=b=long"), ("a=b=1", "a=b"), ("a=1", "a"), ("a=b", "a"), ("==1", "="), ("=1", ""),
        ("other=a=1", "other"), ("a", "a"), ("", ""), ("a=b=long", "a=b"),
    ):  # fmt: skip
        assert _name_in(text, names) == name
    assert _name_in("x=1", ()) == "x"


@pytest.mark.parametrize(
    ("arguments", "status", "codes"),
    [
        ([], 1, ["R101", "R101"]),
        (["in.npz", "--set", "w=1"], 1, ["R102"]),
        (["in.npz", "--set", "x"], 3, ["R105"]),
        (["in.npz", "--set", "x=[["], 3, ["R105"]),
        (["in.npz", "--set", "x=[1]"], 1, ["R103"]),
        (["nope.npz", "in.csv"], 3, ["R105", "R105"]),
        (["nope=x.npy"], 1, ["R101", "R101", "R102"]),
        (["in.npz", "x=x.npy"], 2, ["U103"]),
        (["x.npy", "x.npy", "x.npy"], 3, ["R105"]),
        (["in.npz", "--compare", "nope.npz"], 3, ["R105"]),
        (["in.npz", "--max-steps", "1"], 1, ["R301"]),
        (["in.npz", "--max-bytes", "10"], 3, ["R105"]),
        (["x.npy", "y.npy", "--max-bytes", "140"], 3, ["R105"]),
        (["x.npy", "--set", f"y={[[0.5] * 50]}", "--max-bytes", "140"], 3, ["R105"]),
        (["--set", "x=[[1, 2]]", "--set", "y=[[1, 2]]", "--max-bytes", "10"], 1, ["R302"]),
        (["in.npz", "--timeout", "0.000000001"], 1, ["R303"]),
    ],
)
def test_what_is_wrong_is_told_at_once(add, arguments, status, codes):
    result = run("run", add, *arguments)
    assert (result.exit_code, result.stdout) == (status, "")
    assert sorted(line[6:10] for line in result.stderr.splitlines() if line.startswith("error[")) == codes
    data = run_json("run", add, *arguments)
    assert sorted(each["code"] for each in data["errors"]) == codes and data["exit_status"] == status


@pytest.mark.parametrize(
    "arguments",
    [
        ["-", "-"], ["add.onnx", "-", "-"], ["add.onnx", "--dim", "M=2"], ["add.onnx", "--rtol", "1"],
        ["add.onnx", "--save-inputs"], ["add.onnx", "--dim", "N"], ["add.onnx", "--dim", "=2"],
        ["add.onnx", "--max-bytes", "2X"], ["add.onnx", "--seed", "-1"], ["add.onnx", "--timeout", "0"],
    ],
)  # fmt: skip
def test_options_that_do_not_fit_are_usage(add, arguments):
    result = run("run", *arguments)
    assert result.exit_code == 2 and result.stdout == "" and result.stderr


@pytest.mark.parametrize("size", ["1000000", "512M", "2g", "1GiB"])
def test_sizes_have_units(add, size):
    assert run("run", add, "in.npz", "--max-bytes", size).exit_code == 0


def test_a_model_that_cannot_be_read_is_an_unreadable_input(folder):
    Path("no.onnx").write_bytes(b"no model")
    assert run("run", "no.onnx").exit_code == 3
    assert run_json("run", "absent.onnx")["errors"][0]["code"] == "M101"


def test_names_are_data(folder):
    evil = "\x1b[31mred\u202e"
    model = onnx.parser.parse_model(ADD)
    model.graph.input[0].name = model.graph.node[0].input[0] = evil
    onnx.save(model, "evil.onnx")
    for arguments in ([], ["--random", "--dim", "N=2"], ["--random", "--dim", "N=2", "--trace", "--value", evil]):
        result = run("run", "evil.onnx", *arguments)
        assert "\x1b" not in result.output and "\u202e" not in result.output


YAML = """operator: Twice
family: unary
versions:
- since: 1
  doc: Gives two times `x`.
  inputs: [{name: x, type: T, doc: any numbers}]
  outputs: [{name: y, type: T, doc: two times as much}]
  types: {T: [tensor(float)]}
"""
TWICE = """<ir_version: 8, opset_import: ["": 13, "com.example": 1]>
    main (float[2] x) => (float[2] y) { y = com.example.Twice (x) }"""
KERNELS = """from opset.extend import kernel

@kernel("Twice", domain="com.example")
def twice(x):
    return x + x
"""


@pytest.fixture
def twice(folder):
    """`twice.onnx`, and its operator in `schemas/`."""
    Path("schemas/com.example").mkdir(parents=True)
    Path("schemas/com.example/Twice.yaml").write_text(YAML)
    return save("twice.onnx", TWICE, folder)


def test_a_folder_of_schemas_brings_its_kernels(twice):
    Path("schemas/com.example/kernels.py").write_text(KERNELS)
    arguments = ["run", twice, "--set", "x=[1, 2]"]
    assert run_json(*arguments, "--schemas", "schemas")["outputs"]["y"]["value"] == [2, 4]
    assert "error[R201]" in run(*arguments).stderr
    Path("pyproject.toml").write_text('[tool.opset]\nschemas = ["schemas"]\n')
    assert run_json(*arguments, "--allow-hooks")["outputs"]["y"]["value"] == [2, 4]


def test_kernels_are_imported_only_when_they_are_needed(add, twice):
    Path("schemas/com.example/kernels.py").write_text("open('mark', 'w')\n" + KERNELS)
    assert run("run", "add.onnx", "in.npz", "--schemas", "schemas").exit_code == 0
    assert run("convert", twice, "--to", "21", "--schemas", "schemas").exit_code == 0
    assert not Path("mark").exists()
    assert run("run", twice, "--set", "x=[1, 2]", "--schemas", "schemas").exit_code == 0
    assert Path("mark").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "has no kernel"),
        ("", "has no kernel"),
        ("import nonesuch\n", "kernels.py:1"),
        ("x = (\n", "SyntaxError"),
        ("import sys\n\nsys.exit(5)\n", "kernels.py:3"),
        (KERNELS.replace("com.example", "com.other"), '@kernel("Twice", domain="com.example")'),
        (KERNELS.replace("x + x", "x + [1, 2, 3]"), "could not be broadcast"),
    ],
)
def test_kernels_that_fail_are_told_with_their_place(twice, text, said):
    if text is not None:
        Path("schemas/com.example/kernels.py").write_text(text)
    result = run("run", twice, "--set", "x=[1, 2]", "--schemas", "schemas")
    assert result.exit_code == 1 and said in result.stderr and "Traceback" not in result.stderr
    assert "error[R204]" in result.stderr or "error[R201]" in result.stderr


@pytest.mark.parametrize("code", [code for code in CODES if code[0] == "R"])
def test_every_code_of_an_evaluation_has_a_page(code):
    page = run("explain", code).stdout
    assert page.startswith(f"# {code}: {CODES[code]}\n")
    assert all(part in page for part in ("## Bad\n", "## Good\n", "## What to do\n"))


def test_the_report_holds_what_the_text_shows(add):
    text = run("run", add, "in.npz").stdout
    data = json.loads(json.dumps(run_json("run", add, "in.npz")))
    assert data["outputs"]["z"] == {
        "type": "tensor(float)", "shape": [1, 2], "min": 0.0, "max": 4.0, "mean": 2.0, "std": 2.0, "nan": 0, "inf": 0,
        "value": [[4.0, 0.0]],
    }  # fmt: skip
    assert text == f"{add}:\n  z  tensor(float)[1, 2]  min 0  max 4  mean 2  std 2\n    [4, 0]\n"
    assert run("run", add, "in.npz", "-q").stdout == ""


def test_numbers_that_are_none_are_counted(add):
    data = run_json("run", add, "--set", 'x=[["nan", "inf"], [1, 2]]', "--set", "y=[[1, 1], [1, 1]]")["outputs"]["z"]
    assert (data["nan"], data["inf"], data["min"], data["max"]) == (1, 1, 2.0, 3.0)
    assert data["value"][0] == ["nan", "inf"]
    text = run("run", add, "--set", 'x=[["nan", "inf"], [1, 2]]', "--set", "y=[[1, 1], [1, 1]]").stdout
    assert "1 nan  1 inf\n    [nan, inf]\n    [2, 3]\n" in text


ENDLESS = """<ir_version: 8, opset_import: ["": 13]>
    main (float[1] x) => (float[1] y) {
        go = Constant <value: tensor = bool {1}> ()
        y = Loop <body = turn (int64 i, bool c, float[1] s) => (bool again, float[1] t) {
            again = Identity (c)
            t = Neg (s)
        }> (, go, x)
    }"""


def test_a_terminal_shows_once_a_second_how_far_a_run_is(folder):
    save("endless.onnx", ENDLESS, folder)
    arguments = ["run", "endless.onnx", "--set", "x=[1]", "--timeout", "2.5"]
    terminal, inner = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    command = [sys.executable, "-m", "opset", *arguments]
    started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=inner, stderr=inner, env=environment)
    os.close(inner)
    shown = b""
    with suppress(OSError):  # the end of what a terminal shows, on Linux
        while part := os.read(terminal, 4096):
            shown += part
    os.close(terminal)
    assert started.wait(timeout=60) == 1
    first, *_, last = shown.decode().split("\r", 1)
    assert re.fullmatch(r"\[[\d,]+ nodes\]", first)
    assert int(re.sub(r"\D", "", first)) > 100
    assert "error[R303]" in last


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["x.npy", "in.npz"], 2, [("U103", "the input 'x' is given twice", "x.npy and in.npz both hold it")]),
        (
            ["in.npz", "in.json"],
            2,
            [
                ("U103", "the input 'x' is given twice", "in.npz and in.json both hold it"),
                ("U103", "the input 'y' is given twice", "in.npz and in.json both hold it"),
            ],
        ),
        (
            ["x.npy", "y=y.npy", "x.pb", "data/input_1.pb"],
            2,
            [
                ("U103", "the input 'x' is given twice", "x.npy and x.pb both hold it"),
                ("U103", "the input 'y' is given twice", "y=y.npy and data/input_1.pb both hold it"),
            ],
        ),
        (
            ["x.npy", "x.pb", "--set", "q=1"],
            1,
            [
                ("U103", "the input 'x' is given twice", "x.npy and x.pb both hold it"),
                ("R102", "--set q=1 names no input", ""),
            ],
        ),
        (
            ["--set", "x=[1]", "--set", "x=[2]"],
            2,
            [("U103", "the input 'x' is given twice", "--set x=[1] and --set x=[2] both hold it")],
        ),
    ],
)
def test_inputs_that_are_given_twice_are_told_with_both_files(add, arguments, status, told):
    data = run_json("run", add, *arguments)
    assert [(each["code"], each["message"], each["why"]) for each in data["errors"]] == told
    assert data["exit_status"] == status and "outputs" not in data
    assert [each["help"] for each in data["errors"]] == [
        "leave out one of them" if code == "U103" else "its inputs are x, y" for code, *_ in told
    ]


@pytest.mark.parametrize("seed", "0123")
def test_findings_about_values_have_the_order_of_the_files(add, seed):
    environment = {**ENVIRONMENT, "PYTHONHASHSEED": seed}
    names = [f"v{number}" for number in range(6)]
    np.savez("more.npz", z=np.float32([[4, 0]]), **dict.fromkeys(names, np.float32(1)))
    np.savez("wide.npz", **dict.fromkeys(names, np.float32(1)))
    save("wide.onnx", WIDE, add.parent)
    for arguments, said in (
        (["add.onnx", "in.npz", "--compare", "more.npz", "--value", "z"], "there is no output '{}' to compare"),
        (["wide.onnx", "more.npz", "wide.npz"], "the input '{}' is given twice"),
    ):
        done = subprocess.run(
            [*COMMAND, "run", *arguments], env=environment, capture_output=True, text=True, check=False
        )
        found = [line.partition("] ")[2] for line in done.stderr.splitlines() if line.startswith("error[")]
        assert found == [said.format(name) for name in names], done.stderr


WIDE = """<ir_version: 8, opset_import: ["": 13]>
    main (float v0, float v1, float v2, float v3, float v4, float v5) => (float s) {
        s = Sum (v0, v1, v2, v3, v4, v5) }"""


def test_values_without_elements_have_the_types_that_are_declared(folder):
    model = save("lists.onnx", LISTS, folder)
    data = run_json("run", model, "--set", "s=[]", "--set", "o=null", "--set", 't=["a", "b"]')
    assert {name: value["type"] for name, value in {**data["inputs"], **data["outputs"]}.items()} == {
        "s": "seq(tensor(float))", "o": "optional(tensor(float))", "t": "tensor(string)",
        "r": "seq(tensor(float))", "b": "tensor(bool)", "u": "tensor(string)",
    }  # fmt: skip


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_how_many_nodes_have_been_run(monkeypatch, terminal):
    shown, events = threading.Event(), []

    class Stream(StringIO):
        def isatty(self):
            return terminal

        def flush(self):
            shown.set()

    class EachMillisecond(threading.Event):
        def wait(self, timeout):
            events.append(self)
            return super().wait(timeout / 1000) or len(events) > 60_000  # so that nothing waits forever

    stream = Stream()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("opset.cli.run.threading", SimpleNamespace(Event=EachMillisecond, Thread=threading.Thread))
    before = threading.active_count()
    with _show_progress(SimpleNamespace(steps=12345)):
        assert not terminal or shown.wait(60)
    assert threading.active_count() == before and all(each.is_set() for each in events)
    assert {*stream.getvalue().split("\r")} == ({"[12,345 nodes]", ""} if terminal else {""})
