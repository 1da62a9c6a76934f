"""A checker of types sees from outside what `tests/seen_from_outside.py` says."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import opset

SCRIPT = Path(__file__).with_name("seen_from_outside.py")
CHECKER = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable]


def test_a_checker_of_types_sees_what_is_returned(tmp_path):
    shutil.copy(SCRIPT, tmp_path)
    settings = {"extraPaths": [str(Path(opset.__file__).parents[1])], "reportUnnecessaryTypeIgnoreComment": True}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    probe = subprocess.run([*CHECKER[:3], "--version"], cwd=tmp_path, capture_output=True, text=True)
    if probe.returncode or "pyright " not in probe.stdout:
        pytest.skip("pyright is not installed, or cannot get what it runs on")
    done = subprocess.run([*CHECKER, SCRIPT.name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
