"""Runs the property tests with many more drawn cases than the suite, which draws a sixth of what they ask for.

    python -m judges properties [--factor 4] [-k EXPRESSION]

The exit status is that of pytest: 1 where a property does not hold, with the smallest case that shows it.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def modules() -> list[str]:
    """Return the test modules that draw as many cases as OPSET_DRAWS says."""
    found = (path for path in sorted((ROOT / "tests").rglob("test_*.py")) if "draws(" in path.read_text("utf-8"))
    return [path.relative_to(ROOT).as_posix() for path in found]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the property tests; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges properties", description=about)
    parser.add_argument("--factor", type=float, default=4, help="times as many cases as the tests ask for")
    parser.add_argument("-k", dest="expression", default="", help="those of these tests, as pytest's option")
    options = parser.parse_args(arguments)
    command = [sys.executable, "-m", "pytest", "-q", "-m", "hypothesis", "-k", options.expression, *modules()]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "OPSET_DRAWS": str(options.factor)}).returncode
