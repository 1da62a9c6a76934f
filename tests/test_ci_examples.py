"""examples/ci: the steps of the composite action are run as GitHub runs them; the image starts a verb with options."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from opset.cli import VERBS, cli
from opset.schemas.yaml.reader import Findings, read
from tests.cli.commands import REFUSED, SMALL, save

FOLDER = Path(__file__).parents[1] / "examples" / "ci"
ACTION = read((FOLDER / "action.yml").read_bytes(), Findings("action")).plain()
STEPS = {each["name"]: each for each in ACTION["runs"]["steps"]}


def run_step(name, folder, **inputs):
    """Run a step as the runner of GitHub does: inputs put into its environment, and bash with -e."""
    given = {key: each.get("default", "") for key, each in ACTION["inputs"].items()} | inputs
    step = STEPS[name]
    environment = {
        key: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda match: given[match[1]], value)
        for key, value in step.get("env", {}).items()
    }
    assert all("${{" not in value for value in environment.values())
    assert "${{" not in step["run"]  # or a name of a file would be run as a command
    (folder / "bin").mkdir(exist_ok=True)
    program = folder / "bin" / "opset"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m opset "$@"\n')
    program.chmod(0o755)
    paths = {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(FOLDER.parents[1])}
    everything = {**os.environ, **environment, **paths, "RUNNER_TEMP": str(folder)}
    command = [shutil.which("bash"), "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(command, cwd=folder, env=everything, capture_output=True, text=True, timeout=120)


def test_the_action_names_what_composite_actions_have():
    assert ACTION["runs"]["using"] == "composite" and {"name", "description", "inputs"} <= {*ACTION}
    assert all(each["shell"] == "bash" for each in STEPS.values())
    assert "opset" in STEPS["Install"]["run"]


def test_the_steps_find_what_is_wrong_with_models(tmp_path):
    save("models/good.onnx", SMALL, tmp_path)
    result = run_step("Check", tmp_path, models="models")
    assert (result.returncode, result.stdout.count("::error")) == (0, 0), result.stderr
    assert json.loads((tmp_path / "opset.sarif").read_text())["version"] == "2.1.0"
    save("models/bad.onnx", REFUSED, tmp_path)
    result = run_step("Check", tmp_path, models="models")
    assert result.returncode == 1 and "::error file=models/bad.onnx" in result.stdout
    log = json.loads((tmp_path / "opset.sarif").read_text())
    assert len([each for each in log["runs"][0]["results"] if each["level"] == "error"]) == result.stdout.count(
        "::error"
    )
    result = run_step("Convert", tmp_path, models="models/*.onnx", to="12")
    assert result.returncode == 1 and "title=C201" in result.stdout
    assert run_step("Convert", tmp_path, models="models/good.onnx", to="12").returncode == 0


def test_commands_of_the_image_are_ours():
    text = (FOLDER / "Dockerfile").read_text()
    lines = [line for line in text.replace("\\\n", "").splitlines() if line and line[0] != "#"]
    words = [line.split(maxsplit=1)[0] for line in lines]
    assert words[0] == "FROM" and {*words} <= {"FROM", "ARG", "RUN", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    assert json.loads(next(line for line in lines if line.startswith("ENTRYPOINT")).split(maxsplit=1)[1]) == ["opset"]
    calls = re.findall(r"docker run .*? opset (.*)", text)
    assert len(calls) == 2
    for call in calls:
        verb, *options = shlex.split(call)
        assert verb in VERBS
        known = {option for each in cli.get_command(None, verb).params for option in each.opts}
        assert {each for each in options if each.startswith("-")} <= known
