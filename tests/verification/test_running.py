"""A model that is run in a runtime: what goes wrong in the child process is an error that says so, in time."""

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import opset
from opset.budget import Budget, BudgetExceeded, Limits
from opset.errors import RunError, UsageError
from opset.opsets.registry import default_registry
from opset.verification import running, runtime_program
from opset.verification.running import ReferenceRunner, RuntimeRunner

ANSWER = "import os\nos.fdopen(int(os.environ['OPSET_ANSWERS']), 'w').write('%s\\n')"
TEXT = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { y = Neg (x) }'
X = {"x": np.float32([1, 2])}


@pytest.mark.parametrize(
    ("program", "timeout", "code", "words"),
    [
        ("import time\ntime.sleep(60)", 0.2, "R303", "the evaluation was stopped: time is up: it may take 0.2 seconds"),
        ("import sys\nsys.exit('no such thing')", 60, "R206", "no such thing"),
        (ANSWER % '{"version": "7", "load": "it is odd"}', 60, "R206", "does not load the model before: it is odd"),
        (ANSWER % '{"version": "7", "run": "it is odd"}', 60, "R206", "does not run the model before: it is odd"),
        (ANSWER % '{"absent": "no module"}', 60, "T224", "cannot be asked: no module"),
    ],
)  # fmt: skip
def test_a_runtime_that_does_not_answer_is_an_error(tmp_path, monkeypatch, program, timeout, code, words):
    monkeypatch.setattr(running, "PROGRAM", tmp_path / "program.py")
    (tmp_path / "program.py").write_text(program)
    limits = Limits(timeout=timeout)
    runner = RuntimeRunner(opset.load(opset.parse_model(TEXT)), "before", "onnxruntime", limits, Budget(limits))
    with pytest.raises((RunError, UsageError)) as caught:
        runner.run(X)
    (finding,) = caught.value.findings
    assert finding.code == code and words in f"{finding.message}: {finding.why}"
    assert runner.version == ("7" if "version" in program else "")


def test_a_runtime_has_some_time_even_without_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "PROGRAM", tmp_path / "program.py")
    monkeypatch.setattr(running, "PATIENCE", 0.2)
    (tmp_path / "program.py").write_text("import time\ntime.sleep(60)")
    runner = RuntimeRunner(opset.load(opset.parse_model(TEXT)), "after", "onnxruntime", Limits(), Budget(Limits()))
    with pytest.raises(RunError, match="onnxruntime does not run the model after") as caught:
        runner.run(X)
    assert (caught.value.findings[0].code, caught.value.findings[0].why) == ("R206", "it took more than 0.2 seconds")


OUTPUTS = """import os, sys
import numpy
inputs = numpy.load(os.path.join(sys.argv[2], "inputs.npz"))
assert sys.argv[1] == "onnxruntime" and inputs["x"].dtype == "float32" and inputs["t"].tolist() == ["a", "bc"]
numpy.savez(os.path.join(sys.argv[2], "outputs.npz"), **{"0": inputs["x"], "1": inputs["t"]})
os.fdopen(int(os.environ["OPSET_ANSWERS"]), "w").write('{"version": "7"}\\n')"""


def test_numbers_and_texts_go_to_a_runtime_and_come_back(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "PROGRAM", tmp_path / "program.py")
    (tmp_path / "program.py").write_text(OUTPUTS)
    runner = RuntimeRunner(opset.load(opset.parse_model(TEXT)), "after", "onnxruntime", Limits(), Budget(Limits()))
    x, texts = runner.run({**X, "t": np.array(["a", "bc"], object)})
    assert (x.dtype, x.tolist(), texts.dtype, texts.tolist()) == (np.float32, [1, 2], object, ["a", "bc"])
    assert runner.version == "7"


def doubled(path):
    assert Path(path).read_bytes() == b"a model"

    def run(feeds):
        assert feeds["t"].dtype == object
        return [2 * feeds["x"], feeds["t"], 3.5]

    return run


def unloadable(path):
    raise ValueError("it  is\nodd" + "!" * 600)


def unrunnable(path):
    def run(feeds):
        raise KeyError

    return run


@pytest.mark.parametrize(
    ("open_model", "answer"),
    [
        (doubled, {"version": np.__version__}),
        (unloadable, {"version": np.__version__, "load": ("it is odd" + "!" * 600)[:500]}),
        (unrunnable, {"version": np.__version__, "run": "KeyError"}),
        (None, {"absent": "No module named 'no_such_runtime'"}),
    ],
)
def test_the_program_of_a_runtime_answers_with_its_version_and_what_went_wrong(
    tmp_path, monkeypatch, open_model, answer
):
    (tmp_path / "model.onnx").write_bytes(b"a model")
    np.savez(tmp_path / "inputs.npz", x=np.float32([1, 2]), t=np.array(["a", "bc"]))
    reading, writing = os.pipe()
    monkeypatch.setenv("OPSET_ANSWERS", str(writing))
    monkeypatch.setitem(runtime_program.RUNTIMES, "numpy", open_model)
    runtime_program.main("numpy" if open_model else "no_such_runtime", str(tmp_path))
    with os.fdopen(reading) as answers:
        assert json.loads(answers.read()) == answer
    assert "OPSET_ANSWERS" not in os.environ
    assert (tmp_path / "outputs.npz").exists() == (open_model is doubled)
    if open_model is doubled:
        found = np.load(tmp_path / "outputs.npz")
        assert {name: found[name].tolist() for name in found.files} == {"0": [2, 4], "1": ["a", "bc"], "2": 3.5}
        assert found["1"].dtype.kind == "U"


def test_onnxruntime_runs_a_file_without_optimizations(tmp_path, monkeypatch):
    onnxruntime = pytest.importorskip("onnxruntime")
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[2] x, float[2] z) => (float[2] y, float[2] w) {%s}'
    opset.load(opset.parse_model(text % " y = Sub (x, z) w = Neg (x) ")).save(tmp_path / "model.onnx")
    made, session_of = [], onnxruntime.InferenceSession
    monkeypatch.setattr(onnxruntime, "InferenceSession", lambda *a, **k: made.append((a, k)) or session_of(*a, **k))
    severities = []
    monkeypatch.setattr(onnxruntime, "set_default_logger_severity", severities.append)
    run = runtime_program.open_onnxruntime(str(tmp_path / "model.onnx"))
    assert severities == [4]
    assert [each.tolist() for each in run({**X, "z": np.float32([5, 5])})] == [[-4, -3], [-1, -2]]
    ((_, options), keywords) = made[0]
    assert options.graph_optimization_level == onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    assert (options.log_severity_level, keywords) == (4, {"providers": ["CPUExecutionProvider"]})


def test_openvino_takes_inputs_by_any_of_their_names_in_its_order(monkeypatch):
    def port(*names):
        return SimpleNamespace(get_names=lambda: {*names})

    class Compiled:
        inputs, outputs = [port("b", "other"), port("a")], ["second", "first"]

        def __call__(self, ordered):
            return {"first": ordered[0], "second": ordered[1]}

    class Core:
        def read_model(self, path):
            return f"read {path}"

        def compile_model(self, *arguments):
            assert arguments == ("read m.onnx", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
            return Compiled()

    monkeypatch.setitem(sys.modules, "openvino", SimpleNamespace(Core=Core))
    assert runtime_program.open_openvino("m.onnx")({"a": 1, "b": 2}) == [1, 2]
    assert sorted(runtime_program.RUNTIMES) == ["onnxruntime", "openvino"]


def test_what_a_runtime_cannot_be_given_is_refused():
    limits = Limits()
    runner = RuntimeRunner(opset.load(opset.parse_model(TEXT)), "before", "onnxruntime", limits, Budget(limits))
    with pytest.raises(RunError, match="cannot be given its inputs"):
        runner.run({"x": [np.float32([1])]})


def test_the_seed_and_the_rest_of_the_budget_count_in_each_run():
    text = '<ir_version: 8, opset_import: ["": 17]> g () => (float[4] y) { y = RandomNormal <shape = [4]> () }'
    model, limits = opset.load(opset.parse_model(text)), Limits(timeout=60)

    def run(seed, trace=None):
        return ReferenceRunner(model, default_registry(), limits, Budget(limits), seed).run({}, trace)[0].tolist()

    seen = []
    assert run(0) == run(0) == run(0, lambda *each: seen.append(each[1])) != run(1)
    assert seen == ["y"]
    spent = Budget(Limits(timeout=0))
    with pytest.raises(BudgetExceeded):
        ReferenceRunner(model, default_registry(), limits, spent).run({})
