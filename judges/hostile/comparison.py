"""The worst twelve inputs on opset, onnx and onnxruntime, side by side; written into docs/hostile-input.md.

    python -m judges hostile [--only NAME] [--write]

Each runs in a process of its own, with 2 GB of address space and 10 s of CPU time. Without `--write` the table is
printed.
"""

from __future__ import annotations

import argparse
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from judges.hostile import attacks
from judges.hostile.attacks import files, models
from judges.hostile.processes import ADDRESS_SPACE, KEPT, Outcome, launch, python

assert files.STREAMS and models.MODELS  # importing them fills the tables

PAGE = Path(__file__).parents[2] / "docs" / "hostile-input.md"
BEGIN, END = "<!-- generated: python -m judges hostile --write -->", "<!-- end -->"
CPU_SECONDS = 10
RUN = ["run", "IT", "--random", "--timeout", "2"]

FED = """
import numpy as np
def feeds(inputs):
    kinds = {"int64": np.int64, "bool": bool}
    return {name: np.zeros([each if isinstance(each, int) else 2 for each in shape], kinds.get(kind, np.float32))
            for name, shape, kind in inputs}
"""
SESSION = """
import onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = ort.InferenceSession(SOURCE, options)
"""
SESSION_RUN = f"""{FED}{SESSION}
session.run(None, feeds([(each.name, each.shape, each.type[7:-1]) for each in session.get_inputs()]))
"""
EVALUATOR = f"""{FED}
from onnx.reference import ReferenceEvaluator
evaluator = ReferenceEvaluator(onnx.load(IT))
values = [(each.name, each.type.tensor_type) for each in evaluator.proto_.graph.input]
names = {{7: "int64", 9: "bool"}}
evaluator.run(None, feeds([(name, [d.dim_value or 2 for d in kind.shape.dim], names.get(kind.elem_type, ""))
                           for name, kind in values]))
"""
CONVERTER = "onnx.version_converter.convert_version(onnx.load(IT), 10)"
INFERENCE = "onnx.shape_inference.infer_shapes(onnx.load(IT), data_prop=True)"
CHECKER = "onnx.checker.check_model(onnx.load(IT))"


class Case(NamedTuple):
    """An input: what it is, the arguments of `opset`, and what onnx does with it."""

    name: str
    what: str
    arguments: list[str]
    code: str


CASES = [
    Case("a_resize_of_60_axes", "one Resize of 60 axes, to opset 10", ["convert", "IT", "--to", "10"], CONVERTER),
    Case("ten_kilobytes_of_products_of_sums", "10 KB of products of sums of sizes", ["infer", "IT"], INFERENCE),
    Case("functions_that_double_25_times", "functions that call one another twice, 25 deep", RUN, EVALUATOR),
    Case("a_loop_of_views_of_100_megabytes", "a Loop that keeps views of 100 MB",
         [*RUN, "--max-bytes", "400M"], EVALUATOR),
    Case("an_array_of_a_petabyte", "ConstantOfShape of a petabyte", RUN, EVALUATOR),
    Case("a_matrix_product_of_minutes", "50 products of matrices of 4000 x 4000", RUN, EVALUATOR),
    Case("a_megabyte_of_empty_imports", "500,000 empty imports", ["convert", "IT", "--to", "21", "--plan"], CHECKER),
    Case("a_megabyte_of_name_above_4_000_nodes", "4,000 nodes below one with a name of 1 MB",
         ["infer", "IT", "--values"], INFERENCE),
    Case("a_function_that_calls_itself", "a function that calls itself", RUN, EVALUATOR),
    Case("graphs_nested_100_000_deep", "graphs nested 100,000 deep", ["show", "IT"], CHECKER),
    Case("data_through_a_hard_link", "weights by a hard link to a file outside", RUN, EVALUATOR),
    Case("zeros_without_end", "a stream of zeros without end", ["show", "-"],
         "onnx.checker.check_model(onnx.load(sys.stdin.buffer))"),
]  # fmt: skip
SIGNALS = {
    -24: f"no end in {CPU_SECONDS} s",
    -9: f"no end in {CPU_SECONDS} s",
    -11: "crash: SIGSEGV",
    -6: "crash: SIGABRT",
}


def place(case: Case, folder: Path) -> Path:
    """Return the attacking file of a case, built in a folder."""
    table = attacks.STREAMS if case.name in attacks.STREAMS else attacks.MODELS
    table[case.name].build(folder)
    return folder / table[case.name].file


def judged(*arguments: str, **options: Any) -> Outcome:
    """Return how `opset` ends within the time of the comparison."""
    return launch(*arguments, seconds=CPU_SECONDS, **options)


def on_opset(case: Case, it: Path, folder: Path, attack: Callable[..., Outcome] = judged) -> Outcome:
    """Return how `opset` ends."""
    arguments = [str(it) if each == "IT" else each for each in case.arguments]
    if "-" in arguments:
        with it.open("rb") as stream:
            return attack(*arguments, stdin=stream, cwd=folder)
    more = ["-o", str(folder / "out.onnx")] if case.arguments[0] == "convert" and "--plan" not in arguments else []
    return attack(*arguments, *more, cwd=folder)


def elsewhere(case: Case, it: Path, code: str) -> Outcome:
    """Return how a script ends, which prints the type of its exception."""
    script = (
        f"import sys\nIT = {str(it)!r}\nSOURCE = {'sys.stdin.buffer.read()' if '-' in case.arguments else 'IT'}\n"
        f"try:\n    exec({code!r})\nexcept BaseException as error:\n    sys.exit(type(error).__name__)\n"
    )
    if "-" not in case.arguments:
        return python("-c", script, seconds=CPU_SECONDS)
    with it.open("rb") as stream:
        return python("-c", script, stdin=stream, seconds=CPU_SECONDS)


def cpu_time() -> float:
    """Return the seconds of CPU time of this process and of the children that it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def word(outcome: Outcome) -> str:
    """Return the outcome: done, an error code of ours, the type of an exception, or how the process died."""
    if len(outcome.stdout) + len(outcome.stderr) > KEPT:
        return f"over {KEPT >> 20} MB of output"
    if outcome.status < 0:
        return SIGNALS.get(outcome.status, f"signal {-outcome.status}")
    if outcome.status == 0:
        return "done"
    if code := re.search(r"error\[(\w+)\]", outcome.text):
        return code[1]
    return outcome.text.strip().splitlines()[-1][:60]


def cell(made: Outcome, seconds: float) -> str:
    """Return the text of a cell of the table."""
    return f"{word(made)}; {seconds:.1f} s, {made.megabytes:,.0f} MB"


def timed(function, *arguments) -> str:
    """Return the cell of a run."""
    begun = cpu_time()
    made = function(*arguments)
    return cell(made, cpu_time() - begun)


def row(case: Case) -> str:
    """Return a line of the table."""
    onnx = "import onnx, onnx.checker, onnx.shape_inference, onnx.version_converter\n" + case.code
    session = SESSION_RUN if case.arguments[0] == "run" else SESSION
    cells = []
    for code in ("", onnx, session):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            it = place(case, folder)
            cells.append(timed(elsewhere, case, it, code) if code else timed(on_opset, case, it, folder))
    return f"| {case.what} (`{case.arguments[0]}`) | {' | '.join(cells)} |"


def table(cases: list[Case]) -> str:
    """Return the section between the marks."""
    versions = " | ".join(f"{package} {version(package)}" for package in ("onnx", "onnxruntime"))
    head = f"| input | opset | {versions} |\n|---|---|---|---|\n"
    limits = f"Each in a process with {ADDRESS_SPACE >> 30} GB of address space and {CPU_SECONDS} s of CPU time, "
    limits += "which are the seconds in the table"
    return f"{BEGIN}\n\n{limits}:\n\n{head}" + "".join(f"{row(case)}\n" for case in cases) + f"\n{END}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--write", action="store_true", help="write the table into the page")
    options = parser.parse_args(arguments)
    made = table([case for case in CASES if options.only in case.name])
    if options.write:
        text = PAGE.read_text(encoding="utf-8")
        before, _, rest = text.partition(BEGIN)
        PAGE.write_text(f"{before}{made}{rest.partition(END)[2]}", encoding="utf-8")
    else:
        print(made)
