"""`opset infer`: reports, gaps, contradictions, what is written, and exit statuses."""

import os

import onnx
import pytest

from tests.cli.commands import run, run_json, save

MODEL = """<ir_version: 8, opset_import: ["": 17]>
    main (float[N, 3] x) => (float[?, ?] y) {
        a = Concat <axis = 0> (x, x)
        y = Transpose (a)
    }"""
STALE = MODEL.replace("{\n", "<float[9] a> {\n", 1)
GAP = MODEL.replace("Concat <axis = 0>", "com.acme.Mix").replace("Transpose (a)", "Cast <to = 1> (a)")


def stated(path):
    return {value.name: value.type for value in onnx.load(path).graph.value_info}


def test_the_report_tells_coverage_and_with_an_option_every_value(folder):
    save("m.onnx", MODEL, folder)
    result = run("infer", "m.onnx")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "m.onnx: 2 values: 2 with variables\n"
    assert run("infer", "m.onnx", "--values").stdout.splitlines()[1:] == [
        "  value  type           where",
        "  a      float[2*N, 3]  graph 'main', node number 0 (Concat)",
        "  y      float[3, 2*N]  graph 'main', node number 1 (Transpose)",
    ]
    assert os.listdir(folder) == ["m.onnx"]


def test_the_json_holds_what_the_text_shows(folder):
    save("m.onnx", GAP, folder)
    (model,) = run_json("infer", "m.onnx", "--values")["models"]
    assert model["coverage"] == {"known": 0, "symbolic": 1, "rank": 0, "type": 0, "nothing": 1}
    assert model["graphs"] == ["graph 'main'"]
    mix, transpose = model["nodes"]
    assert mix == {
        "graph": 0,
        "node": 0,
        "name": "",
        "operator": "Mix",
        "outputs": [{"name": "a", "coverage": "nothing", "type": None}],
    }
    assert transpose["outputs"] == [{"name": "y", "coverage": "symbolic", "type": 0}]
    assert model["types"] == [{"type": "tensor(float)", "shape": ["y_d0", "y_d1"], "shown": "float[y_d0, y_d1]"}]
    assert model["gaps"] == [
        {
            "graph": 0,
            "node": 0,
            "place": "node number 0 (Mix)",
            "reason": "the domain com.acme is not imported",
            "values": [{"name": "a", "known": "nothing"}],
        }
    ]
    assert "nodes" not in run_json("infer", "m.onnx")["models"][0]


def test_gaps_are_told(folder):
    save("m.onnx", GAP, folder)
    result = run("infer", "m.onnx")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[1:] == [
        "  not known:",
        "    'a' of graph 'main', node number 0 (Mix): the domain com.acme is not imported",
    ]


def test_value_info_is_written(folder):
    save("m.onnx", MODEL, folder)
    result = run("infer", "m.onnx", "-o", "out.onnx")
    assert result.stdout.splitlines()[1:] == ["  wrote out.onnx"]
    assert [dim.dim_param or dim.dim_value for dim in stated("out.onnx")["a"].tensor_type.shape.dim] == ["2*N", 3]
    assert run("infer", "m.onnx", "-o", "out.onnx").exit_code == 2
    assert run("infer", "m.onnx", "-o", "out.onnx", "--force", "--dim", "N=4").exit_code == 0
    assert [dim.dim_value for dim in stated("out.onnx")["a"].tensor_type.shape.dim] == [8, 3]
    assert run("infer", "m.onnx", "--in-place", "-q").stdout == ""
    assert "a" in stated("m.onnx")


def test_it_reads_and_writes_streams(folder):
    path = save("m.onnx", MODEL, folder)
    result = run("infer", "-", "-o", "-", stdin=path.read_bytes())
    assert result.exit_code == 0
    assert "a" in {value.name for value in onnx.load_from_string(result.stdout_bytes).graph.value_info}
    assert result.stderr == "stdin: 2 values: 2 with variables\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--dim", "M=4"], "U103"),
        (["--dim", "N"], "NAME=N"),
        (["--dim", "N=-1"], "NAME=N"),
        (["--dim", "N=1", "--dim", "N=2"], "two sizes: 1 and 2"),
        (["-o", "x.onnx", "--in-place"], "U103"),
    ],
)
def test_options_that_do_not_fit_are_told(folder, options, said):
    save("m.onnx", MODEL, folder)
    result = run("infer", "m.onnx", *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert os.listdir(folder) == ["m.onnx"]


def test_a_contradiction_is_told_with_both_sides(folder):
    save("m.onnx", STALE, folder)
    result = run("infer", "m.onnx", "-o", "out.onnx")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[:3] == [
        "error[I101] the stated type of 'a' contradicts what is inferred",
        "  where   graph 'main', node number 0 (Concat), m.onnx",
        "  why     float[9] is stated, float[2*N, 3] is inferred",
    ]
    assert len(stated("out.onnx")["a"].tensor_type.shape.dim) == 1
    assert run("infer", "m.onnx", "-o", "strict.onnx", "--strict").exit_code == 1
    assert not os.path.exists("strict.onnx")
    assert run("infer", "m.onnx", "-o", "new.onnx", "--overwrite").exit_code == 0
    assert len(stated("new.onnx")["a"].tensor_type.shape.dim) == 2


def test_types_are_checked_when_asked(folder):
    save("m.onnx", MODEL.replace("float", "int64").replace("Transpose", "Sqrt"), folder)
    assert run("infer", "m.onnx").exit_code == 0
    result = run("infer", "m.onnx", "--check-types")
    assert result.exit_code == 1
    assert "error[I202]" in result.stderr


def test_many_models_have_one_summary_and_the_worst_status(folder):
    save("models/a.onnx", MODEL, folder)
    save("models/b.onnx", STALE, folder)
    (folder / "models" / "c.onnx").write_bytes(b"nothing")
    for jobs in (1, 2):
        result = run("infer", "models", "-j", jobs)
        assert result.exit_code == 3
        assert result.stdout.splitlines()[-1] == "3 models: 1 inferred, 1 with contradictions, 1 failed"
    assert run("infer", "models", "-o", "out").exit_code == 3
    assert sorted(os.listdir("out")) == ["a-inferred.onnx", "b-inferred.onnx"]


def test_names_of_a_model_are_escaped(folder):
    save("m.onnx", MODEL, folder)
    model = onnx.load("m.onnx")
    model.graph.node[0].output[0] = model.graph.node[1].input[0] = "\x1b[31m"
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "\x1b[32m"
    onnx.save(model, "m.onnx")
    assert "\x1b" not in run("infer", "m.onnx", "--values").output
