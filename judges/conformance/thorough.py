"""Runs the tests with all cases of which the suite takes a part: examples, combinations of parameters, pages.

    python -m judges thorough [-k EXPRESSION] [--jobs N]

Drawn cases and attacks are those of the suite: the judges `properties` and `attacks` have more. The exit status is that
of pytest: 1 where a test fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the tests; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges thorough", description=about)
    parser.add_argument("-k", dest="expression", default="", help="those of these tests, as pytest's option")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args(arguments)
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(options.jobs), "--dist", "worksteal"]
    command += ["-k", options.expression]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "OPSET_THOROUGH": "1"}).returncode
