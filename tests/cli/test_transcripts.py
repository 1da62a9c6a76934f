"""All that the verbs print, on small inputs: each file of transcripts/ has commands, what
they print, stdout before stderr, and the exit status.

To write what is printed now, for a reader to judge: OPSET_TRANSCRIBE=1 python -m pytest tests/cli/test_transcripts.py
"""

import json
import os
import re
import shlex
import shutil
from functools import reduce
from pathlib import Path

import pytest

from opset.opsets.registry import default_registry
from tests.cli.commands import run
from tests.outline import outlined
from tests.test_docs import ROOT

NUMBER = default_registry().domains[""]
NEWEST = ((f" of {NUMBER}", " of NEWEST"), (f'"newest": {NUMBER}', '"newest": NEWEST'))
TRANSCRIPTS = Path(__file__).parent / "transcripts"


def printed_by(verb, *arguments):
    """Return what one line prints: `opset …`, `cat FILE`, `copy FOLDER OTHER`, `edit FILE OLD NEW` of the first OLD.

    Of `json …` it is what `opset … --format json` prints, shorter, with five digits of numbers.
    """
    if verb == "edit":
        path, old, new = arguments
        text = Path(path).read_text(encoding="utf-8")
        assert old in text
        Path(path).write_text(text.replace(old, new, 1), encoding="utf-8")
        return ""
    if verb == "copy":
        shutil.copytree(*arguments)
        return ""
    if verb == "cat":
        return Path(*arguments).read_text(encoding="utf-8")
    if verb == "json":
        result = run(*arguments, "--format", "json")
        data = json.loads(result.stdout, parse_float=lambda text: float(f"{float(text):.5g}"))
        stdout = "".join(f"{line}\n" for line in outlined(data) if line)
        return stdout + result.stderr + (f"[{result.exit_code}]\n" if result.exit_code else "")
    result = run(*arguments)
    return result.stdout + result.stderr + (f"[{result.exit_code}]\n" if result.exit_code else "")


@pytest.mark.parametrize("name", sorted(path.stem for path in TRANSCRIPTS.glob("*.txt")))
def test_all_that_is_printed(name, tmp_path, monkeypatch):
    path = TRANSCRIPTS / f"{name}.txt"
    shutil.copytree(TRANSCRIPTS / "files", tmp_path, dirs_exist_ok=True)
    hidden = shutil.ignore_patterns("__pycache__", "*.npz", "*.onnx")
    shutil.copytree(ROOT / "examples", tmp_path / "acme", ignore=hidden)
    monkeypatch.chdir(tmp_path)
    expected = path.read_text(encoding="utf-8")
    printed = []
    for line in re.findall(r"^\$ (.*)\n", expected, re.MULTILINE):
        text = f"$ {line}\n{printed_by(*shlex.split(line))}".replace(f"{tmp_path}", "DIR")
        printed.append(reduce(lambda text, pair: text.replace(*pair), NEWEST, text))
    found = "\n".join(printed)
    if os.environ.get("OPSET_TRANSCRIBE"):
        path.write_text(found, encoding="utf-8")
    assert found == expected
