"""Runs the tests that combine three or more parameters with all combinations; the suite has every pair of values.

    python -m judges combinations [-k EXPRESSION]

The exit status is that of pytest: 1 where a combination fails.
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
    parser = argparse.ArgumentParser(prog="python -m judges combinations", description=about)
    parser.add_argument("-k", dest="expression", default="", help="those of these tests, as pytest's option")
    options = parser.parse_args(arguments)
    command = [sys.executable, "-m", "pytest", "-q", "-k", options.expression, "tests"]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "OPSET_ALL_COMBINATIONS": "1"}).returncode
