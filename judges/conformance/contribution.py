"""A contribution in a scratch copy: a wider version of an operator is one file, a new operator two, and all tests hold.

    python -m judges contribution [--tests GROUP ...] [--jobs N] [--keep FOLDER]

It copies this checkout, and works there as a contributor does: `opset bump`, an edit, `opset new`, what is left filled
in, `opset lint --fix`, `opset test`. Then it runs the tests that know of operators, and prints which files were touched
and how long each step took. The exit status is 1 where more files were touched than that, or a test failed.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = (".ci", "opset", "tests", "judges", "docs", "examples", "benchmarks")
COMPILED = ("index.json", "prose.json", "examples.json")
GROUPS = (
    *("opsets", "schemas", "inference", "reference", "version_converter", "adapters", "corpus", "cli", "workflow"),
    *("docgen", "test_docs.py", "test_architecture.py", "test_language.py"),
)
WIDENED, NEW = "Erf", "Cbrt"
DOC = """\
  doc: Computes the cube root of each element, which has its sign.
"""
EXAMPLES = """\
special_cases:
- Infinities and zeros stay what they are, with their sign; NaN stays NaN.
- "Any shape is allowed: a scalar gives a scalar, and an empty input an empty output."
examples:
- {{name: plain, since: {since}, inputs: [{{float: [1, 8, -27, 0.125]}}], outputs: [{{float: [1, 2, -3, 0.5]}}]}}
- {{name: special, since: {since}, inputs: [{{float: [.inf, -.inf, 0, .nan]}}],
   outputs: [{{float: [.inf, -.inf, 0, .nan]}}]}}
- {{name: scalar, since: {since}, inputs: [{{float: 8}}], outputs: [{{float: 2}}]}}
- {{name: double, since: {since}, inputs: [{{double: [8]}}], outputs: [{{double: [2]}}]}}
- {{name: float16, since: {since}, inputs: [{{float16: [8]}}], outputs: [{{float16: [2]}}]}}
- {{name: bfloat16, since: {since}, inputs: [{{bfloat16: [8]}}], outputs: [{{bfloat16: [2]}}]}}
"""


class Scratch:
    """A copy of the checkout, and the commands that are run in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in filter(lambda each: (ROOT / each).is_dir(), COPIED):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", *COMPILED))
        for path in ROOT.iterdir():
            if path.is_file():
                shutil.copy2(path, folder)
        self.environment = {**os.environ, "PYTHONPATH": str(folder), "NO_COLOR": "1"}
        self.failed: list[str] = []

    def run(self, *arguments: str) -> str:
        """Return what `python -m` prints with these arguments; what failed is noted."""
        done = subprocess.run(
            [sys.executable, "-m", *arguments], cwd=self.folder, env=self.environment, capture_output=True, text=True
        )
        if done.returncode:
            self.failed.append(" ".join(arguments))
            print(done.stdout[-3000:], done.stderr[-3000:], file=sys.stderr)
        return done.stdout

    def files(self) -> dict[str, str]:
        """Return a hash of each file that a contribution may touch."""
        paths = (each for each in self.folder.rglob("*") if each.is_file() and each.name not in COMPILED)
        return {
            str(each.relative_to(self.folder)): hashlib.sha256(each.read_bytes()).hexdigest()
            for each in paths
            if "__pycache__" not in each.parts
        }

    def edit(self, path: str, *changes: tuple[str, str]) -> None:
        """Replace each pattern in a file by its text, once."""
        text = (self.folder / path).read_text(encoding="utf-8")
        for pattern, replacement in changes:
            text, count = re.subn(pattern, lambda _, new=replacement: new, text, count=1, flags=re.MULTILINE)
            assert count, f"{path} has no {pattern}"
        (self.folder / path).write_text(text, encoding="utf-8")


def widen(scratch: Scratch) -> None:
    """Add a version of an operator that takes more types."""
    since = json.loads(scratch.run("opset", "bump", WIDENED, "--format", "json"))["since"]
    path = f"opset/schemas/ai.onnx/{WIDENED}.yaml"
    value = "[{float8e5m2: [0, 0.5]}]"
    example = f"- {{name: float8, since: {since}, inputs: {value}, outputs: {value}}}\n"
    scratch.edit(path, (r"^    T: .*", "    T: floats_ir9"), (r"\Z", example))
    scratch.run("opset", "bump", WIDENED)
    scratch.run("opset", "lint", "--fix")
    scratch.run("opset", "test", WIDENED)


def add(scratch: Scratch) -> None:
    """Add an operator with a kernel, whose shapes follow by a named rule."""
    made = json.loads(scratch.run("opset", "new", NEW, "--family", "unary", "--like", "Erf", "--format", "json"))
    path = f"opset/schemas/ai.onnx/{NEW}.yaml"
    text = (scratch.folder / path).read_text(encoding="utf-8")
    text = text.replace('  doc: ""\n', DOC, 1)
    text = text.replace('doc: ""', "doc: values of any shape", 1).replace('doc: ""', "doc: their cube roots", 1)
    text = re.sub(r"^    T: .*", "    T: floats_ir4", text, count=1, flags=re.MULTILINE)
    (scratch.folder / path).write_text(text + EXAMPLES.format(since=made["since"]), encoding="utf-8")
    kernels = "opset/reference/kernels/unary.py"
    scratch.edit(
        kernels,
        (r'    raise NotImplementedError\("the kernel of Cbrt.*', "    return np.cbrt(input)"),
        (rf'^@kernel\("{NEW}"\)$', f'@kernel("{NEW}")\n@rounded_once'),
    )
    scratch.run("opset", "lint", "--fix")
    scratch.run("opset", "test", NEW)


@contextlib.contextmanager
def timed(what: str) -> Iterator[None]:
    """Print how long something took."""
    start = time.monotonic()
    yield
    print(f"  {time.monotonic() - start:6.1f} s  {what}", flush=True)


def tested(scratch: Scratch, groups: Sequence[str], jobs: int) -> None:
    """Run groups of tests."""
    for group in groups:
        ignored = ["--ignore=tests/docgen/test_browser.py"] if group == "docgen" else []
        parallel = ["-n", str(jobs), "--dist", "worksteal"] if jobs > 1 else []
        start, before = time.monotonic(), len(scratch.failed)
        printed = scratch.run("pytest", f"tests/{group}", "--tb=short", *ignored, *parallel)
        summary = (printed.strip().splitlines() or ["no output"])[-1].strip("= ")
        told = "FAILED" if len(scratch.failed) > before else "passed"
        print(f"  {time.monotonic() - start:6.1f} s  tests/{group}: {told}: {summary}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", nargs="*", default=GROUPS, metavar="GROUP", help=f"some of {' '.join(GROUPS)}")
    parser.add_argument("--jobs", type=int, default=1, help="processes for the tests")
    parser.add_argument("--keep", type=Path, help="a folder for the copy, which stays")
    options = parser.parse_args(arguments)
    with contextlib.ExitStack() as stack:
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        scratch = Scratch(folder)
        scratch.run("opset", "lint")  # compiles the index
        before, wrong = scratch.files(), []
        for what, step, most in (("a wider version", widen, 1), ("a new operator", add, 2)):
            with timed(what):
                step(scratch)
            after = scratch.files()
            touched = sorted(path for path in after.keys() | before.keys() if after.get(path) != before.get(path))
            print("".join(f"{'':11}{path}\n" for path in touched), end="")
            wrong += [f"{what} touched {len(touched)} files"] if len(touched) != most else []
            before = after
        with timed("opset lint"):
            scratch.run("opset", "lint")
        tested(scratch, options.tests, options.jobs)
        wrong += [f"failed: {each}" for each in scratch.failed]
    print("\n".join(wrong) or "one file for the wider version, two for the operator, and nothing failed")
    return 1 if wrong else 0
