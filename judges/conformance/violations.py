"""The bad example of each rule of the checker, beside onnx's checker and onnx-doctor; docs/violations.md.

    python -m judges violations [--doctor PATH] [-o docs/violations.md]

onnx's checker is called with `full_check`. `--doctor` names the program onnx-doctor, of an environment of its own; a
fault counts as found if it reports anything of severity error or warning that it does not report of the good example.
Without it, its column is that of the page as it is. The exit status is 1 if the rule does not find its own example.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import onnx

import opset
from opset.checker.pages import bad_model, fixtures, good_model
from opset.checker.table import CHECKER
from opset.errors import CODES

PAGE = Path(__file__).parents[2] / "docs" / "violations.md"
VERSION = "0.2"
FOUND, MISSED = "found", "—"


class Row(NamedTuple):
    """The bad example of one rule: its code, and what each checker says."""

    code: str
    own: bool
    onnx: str
    doctor: str


def onnx_finds(data: bytes) -> bool:
    """Whether onnx's checker rejects a model."""
    try:
        onnx.checker.check_model(onnx.ModelProto.FromString(data), full_check=True)
    except Exception:
        return True
    return False


@cache
def doctor_codes(program: str, data: bytes) -> frozenset[str]:
    """Return the rules of onnx-doctor that a model breaks; "crash" if it cannot read the model."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.onnx")
        file.write_bytes(data)
        command = [program, "check", "--output-format", "json", "--severity", "warning", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    try:
        return frozenset(each["code"] for each in json.loads(done.stdout))
    except ValueError:
        return frozenset({"crash"})


def known_verdicts() -> dict[str, str]:
    """Return what the page says of onnx-doctor, by code."""
    if not PAGE.is_file():
        return {}
    return dict(re.findall(r"^\| (\w+) \|.*\| ([^|]+) \|$", PAGE.read_text("utf-8"), re.MULTILINE))


def rows(program: str) -> Iterator[Row]:
    """Yield a row for each rule with a bad example."""
    known = known_verdicts()
    for code in sorted(CHECKER.by_code):
        if "unseen" in fixtures()[code]:
            continue
        data = bad_model(code)
        own = code in {finding.code for finding in opset.check(data, select=[code])}
        doctor = known.get(code, "?")
        if program:
            new = doctor_codes(program, data) - doctor_codes(program, good_model(code).SerializeToString())
            doctor = "cannot read it" if new == {"crash"} else ", ".join(sorted(new)) or MISSED
        yield Row(code, own, FOUND if onnx_finds(data) else MISSED, doctor)


def page(found: Sequence[Row]) -> str:
    """Return the page."""
    passed = sum(row.onnx == MISSED for row in found)
    both = sum(row.onnx == MISSED and row.doctor in (MISSED, "cannot read it") for row in found)
    version = onnx.__version__.rpartition(".")[0]
    lines = [
        "# Violations beside other checkers",
        "",
        f"The bad example of each rule of `opset check`, {len(found)} models, given to onnx's `check_model` of version",
        f"{version} with `full_check`, and to onnx-doctor {VERSION}. onnx passes {passed} of them, and neither of the",
        f"two finds {both}. `opset explain CODE` shows the model. Codes W are warnings: the specification says SHOULD.",
        "`python -m judges violations` writes this page.",
        "",
        "| code | fault | onnx | onnx-doctor |",
        "|---|---|---|---|",
        *(f"| {row.code} | {CODES[row.code]} | {row.onnx} | {row.doctor} |" for row in found),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, and print what the rules miss; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges violations", description=about)
    parser.add_argument("--doctor", default="", help="the program onnx-doctor")
    parser.add_argument("-o", dest="output", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    found = [*rows(options.doctor)]
    options.output.write_text(page(found), "utf-8")
    missed = [row.code for row in found if not row.own]
    print(page(found).split("\n\n")[1])
    print(f"not found by their own rule: {', '.join(missed) or 'none'}")
    return int(bool(missed))
