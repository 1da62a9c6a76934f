"""`opset run`: where inputs come from, what is shown and written, comparison, limits, and every way to go wrong."""

import json

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.cli.commands import run, save

MODEL = """<ir_version: 8, opset_import: ["": 13]>
    main (float[N, 3] x, float[3] w) => (float[N, 3] y, int64[N] best) {
        t = Mul (x, w)
        y = Relu (t)
        best = ArgMax <axis = 1, keepdims = 0> (y)
    }"""
X = np.array([[1, -2, 3], [4, 5, -6]], np.float32)
W = np.array([1, 2, 0.5], np.float32)
Y = np.maximum(X * W, 0)


@pytest.fixture
def model(folder):
    return save("m.onnx", MODEL, folder)


@pytest.fixture
def inputs(folder):
    np.savez(folder / "in.npz", x=X, w=W)
    return folder / "in.npz"


def results(*arguments, stdin=None, status=0):
    done = run("run", *arguments, "--format", "json", stdin=stdin)
    assert done.exit_code == status, done.stderr
    return json.loads(done.stdout)


def write_pb(path, array):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(numpy_helper.from_array(array).SerializeToString())


# Where inputs come from.


def test_inputs_by_every_kind_of_file_give_the_same(model, inputs, folder):
    np.save(folder / "x.npy", X)
    np.save(folder / "other.npy", W)
    write_pb(folder / "data" / "input_0.pb", X)
    write_pb(folder / "data" / "input_1.pb", W)
    (folder / "in.json").write_text(json.dumps({"x": X.tolist(), "w": W.tolist()}))
    for given in (
        ["in.npz"],
        ["data"],
        ["in.json"],
        ["x.npy", "w=other.npy"],
        ["x.npy", "other.npy"],
        ["x=data/input_0.pb", "--set", "w=[1, 2, 0.5]"],
        ["data/input_0.pb", "data/input_1.pb"],
    ):
        data = results("m.onnx", *given, "-o", "out.npz", "--force")
        assert [each["name"] for each in data["inputs"]] == ["x", "w"], given
        assert np.array_equal(np.load("out.npz")["y"], Y), given
        assert np.load("out.npz")["best"].tolist() == [2, 1]


def test_inputs_come_from_stdin_or_the_model_does(model, folder):
    text = json.dumps({"x": X.tolist(), "w": W.tolist()})
    assert results("m.onnx", "-", stdin=text)["outputs"][1]["values"] == [2, 1]
    data = results("-", "--set", "x=[[1,2,3]]", "--set", "w=[1,1,1]", stdin=model.read_bytes())
    assert data["outputs"][0]["values"] == [[1, 2, 3]]
    assert results("-", "-", stdin=text, status=2)["errors"][0]["code"] == "U103"


def test_drawn_inputs_depend_on_the_seed(model):
    first, again, other = (
        results("m.onnx", "--random", "--dim", "N=2", "--seed", seed)["outputs"][0]["values"] for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other
    data = results("m.onnx", "--random", "--dim", "x.0=5", "--set", "w=[0, 0, 0]")
    assert data["outputs"][0]["shape"] == [5, 3]
    assert data["outputs"][0]["max"] == 0
    assert [each["from"] for each in data["inputs"]] == ["--set", "drawn with seed 0"]


def test_sizes_are_asked_for(model):
    data = results("m.onnx", "--random", status=2)
    assert [(each["code"], each["help"]) for each in data["errors"]] == [("U103", "give it: --dim N=2")]


# What is shown and written.


def test_text_tells_types_shapes_and_statistics(model, inputs):
    done = run("run", "m.onnx", "in.npz")
    assert done.exit_code == 0
    assert [" ".join(line.split()) for line in done.stdout.splitlines()] == [
        "m.onnx: 3 nodes run",
        "input x tensor(float) 2x3 in.npz",
        "input w tensor(float) 3 in.npz",
        "output y tensor(float) 2x3 [[1, 0, 1.5], [4, 10, 0]]",
        "output best tensor(int64) 2 [2, 1]",
    ]


def test_statistics_are_of_finite_elements(folder):
    graph = "g (float[N] x) => (float[N] y) { y = Identity (x) }"
    save("n.onnx", f'<ir_version: 8, opset_import: ["": 13]> {graph}', folder)
    np.save("x.npy", np.array([np.nan, np.inf, -np.inf, *range(10)], np.float32))
    (found,) = results("n.onnx", "x.npy")["outputs"]
    assert (found["nan"], found["inf"], found["min"], found["max"], found["mean"]) == (1, 2, 0, 9, 4.5)
    assert "1 nan, 2 inf" in run("run", "n.onnx", "x.npy").stdout


def test_any_value_may_be_asked_for_and_traced(model, inputs):
    assert results("m.onnx", "in.npz", "--value", "t")["outputs"][0]["values"] == (X * W).tolist()
    data = results("m.onnx", "in.npz", "--trace")
    assert [each["name"] for each in data["trace"]] == ["t", "y", "best"]
    assert data["trace"][0]["node"] == "graph 'main', node number 0 (Mul)"
    assert "node number 0 (Mul)" in run("run", "m.onnx", "in.npz", "--trace").stdout


def test_results_are_written_in_every_form(model, inputs, folder):
    run("run", "m.onnx", "in.npz", "-o", "out/", "--save-inputs", "-q")
    names = sorted(path.name for path in (folder / "out").iterdir())
    assert names == ["input_0.pb", "input_1.pb", "output_0.pb", "output_1.pb"]
    assert np.array_equal(numpy_helper.to_array(onnx.load_tensor(folder / "out" / "output_0.pb")), Y)
    assert run("run", "m.onnx", "out", "--compare", "out").exit_code == 0
    run("run", "m.onnx", "in.npz", "-o", "out.json", "-q")
    assert json.loads((folder / "out.json").read_text())["best"] == [2, 1]


def test_nothing_is_overwritten_unless_asked(model, inputs, folder):
    (folder / "out.npz").write_text("mine")
    assert results("m.onnx", "in.npz", "-o", "out.npz", status=2)["errors"][0]["code"] == "U102"
    assert (folder / "out.npz").read_text() == "mine"
    assert run("run", "m.onnx", "in.npz", "-o", "out.npz", "--force").exit_code == 0


# Comparison.


def test_what_differs_is_told_with_the_difference(model, inputs, folder):
    np.savez("good.npz", y=Y + 1e-6, best=[2, 1])
    np.savez("bad.npz", y=Y + np.array([[0, 0, 0], [0, 0.5, 0]], np.float32), best=[2, 1])
    assert all(each["same"] for each in results("m.onnx", "in.npz", "--compare", "good.npz")["comparison"])
    data = results("m.onnx", "in.npz", "--compare", "bad.npz", status=1)
    assert [(each["name"], each["same"]) for each in data["comparison"]] == [("y", False), ("best", True)]
    assert data["comparison"][0]["absolute"] == 0.5
    assert [each["code"] for each in data["errors"]] == ["R401"]
    assert run("run", "m.onnx", "in.npz", "--compare", "bad.npz", "--atol", "0.6").exit_code == 0
    done = run("run", "m.onnx", "in.npz", "--compare", "bad.npz")
    assert "y: differs (greatest difference 0.5" in done.stdout
    assert "error[R401]" in done.stderr


def test_other_types_and_shapes_differ_and_what_is_missing_is_said(model, inputs):
    np.savez("other.npz", y=Y.astype(np.float64), best=np.array([[2, 1]]))
    errors = results("m.onnx", "in.npz", "--compare", "other.npz", status=1)["errors"]
    assert ["tensor(double) is expected" in errors[0]["why"], "shape" in errors[1]["why"]] == [True, True]
    np.savez("part.npz", best=np.array([2, 1]), more=X)
    data = results("m.onnx", "in.npz", "--compare", "part.npz")
    found = [(each["name"], each["same"]) for each in data["comparison"]]
    assert found == [("y", None), ("best", True), ("more", None)]
    np.savez("none.npz", more=X)
    assert results("m.onnx", "in.npz", "--compare", "none.npz", status=2)["errors"][0]["code"] == "U103"


# Ways to go wrong.


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (["m.onnx"], 1, "R101"),
        (["m.onnx", "in.npz", "--set", "q=1"], 1, "R102"),
        (["m.onnx", "in.npz", "--set", "x=[1]"], 2, "U103"),
        (["m.onnx", "in.npz", "--set", "x"], 2, "U103"),
        (["m.onnx", "in.npz", "--value", "nothing"], 1, "R104"),
        (["m.onnx", "absent.npz"], 3, "M401"),
        (["absent.onnx"], 3, "M101"),
        (["m.onnx", "m.onnx"], 3, "M401"),
        (["m.onnx", "in.npz", "--dim", "N"], 2, "U103"),
        (["m.onnx", "in.npz", "--max-steps", "2"], 1, "R301"),
        (["m.onnx", "in.npz", "--max-bytes", "40"], None, None),
        (["m.onnx", "in.npz", "--save-inputs", "-o", "out.npz"], 2, "U103"),
    ],
)
def test_what_is_wrong_is_told_with_its_code(arguments, status, code, model, inputs):
    done = run("run", *arguments)
    if status is None:
        assert done.exit_code in (1, 3)
        assert "error[R302]" in done.stderr or "error[M402]" in done.stderr
    else:
        assert (done.exit_code, f"error[{code}]" in done.stderr) == (status, True), done.stderr
    assert "Traceback" not in done.stderr


def test_a_size_is_a_number_with_a_unit(model, inputs):
    assert run("run", "m.onnx", "in.npz", "--max-bytes", "2G").exit_code == 0
    assert run("run", "m.onnx", "in.npz", "--max-bytes", "2X").exit_code == 2


def test_time_runs_out(folder):
    graph = """<ir_version: 8, opset_import: ["": 13]> g () => (float t) {
        c = Constant <value = bool {1}> ()  s = Constant <value_float = 0.0> ()
        t = Loop (, c, s) <body = b (int64 i, bool k, float a) => (bool k2, float a2) {
            k2 = Identity (k)  a2 = Identity (a) }> }"""
    save("forever.onnx", graph, folder)
    done = run("run", "forever.onnx", "--timeout", "0.1")
    assert done.exit_code == 1
    assert "error[R303]" in done.stderr


def test_names_of_a_model_are_escaped(folder):
    model = onnx.parser.parse_model(MODEL)
    model.graph.node[1].output[0] = model.graph.node[2].input[0] = model.graph.output[0].name = "y\x1b[31m"
    onnx.save(model, folder / "m.onnx")
    done = run("run", "m.onnx", "--random", "--dim", "N=1", "--trace")
    assert done.exit_code == 0
    assert "\x1b" not in done.stdout + done.stderr
