"""A model that is run in a runtime: what goes wrong in the child process is an error that says so, in time."""

import numpy as np
import pytest

import opset
from opset.budget import Budget, BudgetExceeded, Limits
from opset.errors import RunError, UsageError
from opset.opsets.registry import default_registry
from opset.verification import running
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
