"""Runs every attack on every form of every verb; in the suite, the forms of a verb take turns.

    python -m judges attacks [-k EXPRESSION]

The exit status is that of pytest: 1 where a command ends with another status than it may, or with a traceback.
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
    """Run the attacks; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges attacks", description=about)
    parser.add_argument("-k", dest="expression", default="", help="those of these tests, as pytest's option")
    options = parser.parse_args(arguments)
    command = [sys.executable, "-m", "pytest", "-q", "-k", options.expression, "tests/hostile/test_verbs.py"]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "OPSET_ALL_FORMS": "1"}).returncode
