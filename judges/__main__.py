"""Runs a judge, or all of them for a while.

    python -m judges                              # lists the judges, the minutes that each takes, and what it needs
    python -m judges matrix --cases softmax       # runs one, with its own options (--help)
    python -m judges all --minutes 60 [--seed N]  # runs each for its share of the time

The exit status is 1 if a judge found a fault. `all` prints the last lines of such a judge, and the command that repeats
it. A judge of `all` that is still running at the end of its share is interrupted, as by Ctrl+C, so that it removes its
scratch copies, and killed if it does not end then; it counts as one that found none.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple


class Judge(NamedTuple):
    """One judge: its module below `judges`, the minutes of a whole run on two cores, and its needs beyond the tests'.

    `bounded` are the options of a run of `all`; `{seconds}` stands for its share, `{seed}` for the seed. A judge that
    cannot be bounded by an option is stopped from outside.
    """

    module: str
    minutes: int
    words: str
    needs: str = ""
    bounded: str = ""


JUDGES = {
    "matrix": Judge("conformance.matrix", 5, "every node test of the standard, converted to every opset"),
    "models": Judge("conformance.models", 10, "whole models; --folder DIR: those of yours", "", "--groups examples"),
    "round_trips": Judge("conformance.round_trips", 5, "every example of the YAML to other opsets and back"),
    "convertibility": Judge("conformance.convertibility", 30, "what the documentation says of conversions, done"),
    "sizes": Judge("conformance.sizes", 10, "models of another size beside those that their exporter writes at it",
                   "what export_sizes wrote"),
    "poisoned": Judge("conformance.poisoned", 25, "NaN and limits in one sample of a batch, through every conversion"),
    "helps": Judge("conformance.helps", 10, "what the help of refusals says is done, and the reason is gone"),
    "exported": Judge("conformance.exported", 3, "graphs as exporters write them, inferred and run"),
    "evaluator": Judge("conformance.evaluator", 5, "node tests and models on the reference evaluator"),
    "inference": Judge("conformance.inference", 10, "types and shapes against outputs, and beside onnx's inference"),
    "bodies": Judge("conformance.bodies", 10, "function bodies beside the kernels of their operators, in ulp"),
    "standard_bodies": Judge("conformance.standard_bodies", 5, "the standard's function bodies over our examples"),
    "lowerings": Judge("conformance.lowerings", 10, "lowerings beside kernels, in ulp; docs/lowerings.md"),
    "proofs": Judge("proofs.judge", 8, "what is proved of each adapter, anew; docs/proofs.md; --symbolic: z3 alone"),
    "lowered_in_place": Judge("conformance.lowered_in_place", 2, "each example without its operator, at its own opset"),
    "omitted_outputs": Judge("conformance.omitted_outputs", 3, "each example without one of its outputs, elsewhere"),
    "stamps": Judge("conformance.stamps", 3, "models with a wrong opset, read by --assume-opset auto", "",
                    "--seed {seed}"),
    "corpus": Judge("conformance.corpus", 30, "the conformance corpus in onnx's runner; docs/judgements.md"),
    "contribution": Judge("conformance.contribution", 15, "a wider version and a new operator in a scratch copy"),
    "browser": Judge("conformance.browser", 10, "pages of the site and of reports in Chromium: axe, widths, silence",
                     "Chromium", "--seed {seed}"),
    "counterparts": Judge("conformance.counterparts", 1, "whether calls of other libraries exist", "those libraries"),
    "runtimes": Judge("conformance.runtimes", 20, "models in a runtime: its table, and what --for promises",
                      "an environment with it"),
    "sarif": Judge("conformance.sarif", 1, "the SARIF of every verb against its schema; --schema FILE", "the schema"),
    "releases": Judge("conformance.releases", 1, "released onnx packages beside our operators", "unpacked packages"),
    "converter": Judge("fuzz.converter", 60, "random nodes of every operator version, converted and compared", "",
                       "--seconds {seconds} --seed {seed}"),
    "whole": Judge("fuzz.whole", 60, "whole models composed of random nodes, converted and judged", "",
                   "--seconds {seconds} --seed {seed} --count 1000000"),
    "verified": Judge("fuzz.verified", 15, "faults in converted models, found by opset verify; no false alarm", "",
                      "--seconds {seconds} --seed {seed} --count 1000000"),
    "mutations": Judge("fuzz.mutations", 60, "mutants of real models: parts in If, Loop, functions", "",
                       "--seconds {seconds} --seed {seed} --count 1000000"),
    "differential": Judge("fuzz.differential", 60, "random nodes beside onnxruntime", "",
                          "--seconds {seconds} --seed {seed}"),
    "repair": Judge("fuzz.repairing", 20, "a mendable fault in each of many models, mended: valid, and what it was", "",
                    "--seed {seed} --count 1000000"),
    "parts": Judge("conformance.parts", 5, "models cut at random: parts run, and are merged to the whole", "",
                   "--seed {seed} --count 1000000"),
    "reductions": Judge("conformance.reductions", 5, "refusals inside of large models, reduced: at most 5 nodes", "",
                        "--seed {seed}"),
    "clean": Judge("conformance.clean", 3, "valid models, checked: no false alarm; --to OPSET: results, too"),
    "violations": Judge("conformance.violations", 2, "bad examples of the checker beside others; docs/violations.md"),
    "checkers": Judge("fuzz.checkers", 60, "mutants of models, checked by opset and by onnx", "", "--seed {seed}"),
    "thorough": Judge("conformance.thorough", 20, "the tests with all cases of which the suite takes a part"),
    "mutants": Judge("fuzz.mutants", 15, "mutants of models, nodes, YAML and values: our own errors alone", "",
                     "--seed {seed}"),
    "properties": Judge("fuzz.properties", 20, "the property tests, with 24 times as many drawn cases"),
    "declared": Judge("fuzz.declared", 30, "great sizes declared: no work before it is charged", "", "--seed {seed}"),
    "schema_edits": Judge("fuzz.schema_edits", 30, "random edits of YAML: none that breaks is clean", "",
                          "--seed {seed} --count 1000000"),
    "kills": Judge("fuzz.kills", 30, "kill -9 at random moments of a save", "5 GB of disk"),
    "attacks": Judge("hostile.all_forms", 10, "every attack on every form of every verb"),
    "hostile": Judge("hostile.comparison", 10, "the worst inputs on opset, onnx and onnxruntime"),
    "mutation": Judge("mutation.judging", 60, "random changes of opset/: whether a test notices", "",
                      "--seed {seed} --count 1000"),
    "faults": Judge("mutation.faults", 60, "each mended fault, brought back: whether its test fails"),
}  # fmt: skip
TOOLS = {
    "export": Judge("exporters.export", 15, "writes models by real exporters, for --folder of others",
                    "an environment with exporters"),
    "export_sizes": Judge("exporters.sized", 20, "writes models by torch at several sizes of one axis, for sizes",
                          "an environment with torch"),
    "archive": Judge("conformance.archive", 5, "gets the cases that released onnx packages shipped (413 MB)"),
    "disagreements": Judge("conformance.disagreements", 1, "the disagreements with onnxruntime, from a report"),
    "refused": Judge("conformance.refused", 1, "docs/refused.md, from the outcomes of the matrix"),
    "import_runtimes": Judge("import_runtimes", 1, "the YAML of runtimes, from files of facts"),
    "reading": Judge("reading", 1, "functions and pages, drawn for a reader who has seen nothing else"),
    "tables": Judge("conformance.tables", 1, "figures about the code; --root DIR for another checkout"),
}  # fmt: skip
IN_ALL = [name for name, judge in JUDGES.items() if not judge.needs]


def run_all(minutes: float, seed: int) -> int:
    """Run each judge for its share of the time, in proportion to a whole run; return the exit status."""
    total = sum(JUDGES[name].minutes for name in IN_ALL)
    failed = []
    for name in IN_ALL:
        judge = JUDGES[name]
        seconds = max(1, int(minutes * 60 * judge.minutes / total))
        options = judge.bounded.format(seconds=seconds, seed=seed).split()
        share = seconds * 2 if "{seconds}" in judge.bounded else seconds
        outcome, lines = run_for(["-m", "judges", name, *options], share)
        print(f"{name:18}{seconds:6} s  {outcome}", flush=True)
        if outcome not in (CLEAN, STOPPED):
            failed.append(name)
            print(*(f"    {line}" for line in lines), sep="\n")
            print(f"  again: {shlex.join(['python', '-m', 'judges', name, *options])}", flush=True)
    print(f"{len(IN_ALL)} judges, {len(failed)} with faults" + (f": {', '.join(failed)}" if failed else ""))
    return int(bool(failed))


CLEAN, STOPPED = "no fault", "no fault up to here"
SHOWN = 40  # lines of a judge that found faults
GRACE = 20.0  # seconds in which a judge that is interrupted may remove its scratch copies


def run_for(arguments: Sequence[str], seconds: float) -> tuple[str, list[str]]:
    """Run Python with some arguments for a time at most; return its outcome, and its last lines if it failed."""
    before = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, *arguments], stdout=output, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            _stop(process)
            return STOPPED, []
        except BaseException:
            _stop(process)
            raise
        if status == 0:
            return CLEAN, []
        output.seek(0)
        lines = output.read().decode("utf-8", "replace").splitlines()[-SHOWN:]
    return f"exit status {status} after {time.monotonic() - before:.0f} s", lines


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Interrupt a process and those that it started, and kill those that are left after `GRACE` seconds."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def main(arguments: Sequence[str]) -> int:
    """List judges, run one or all; return the exit status."""
    name, *rest = arguments or [""]
    if name == "all":
        parser = argparse.ArgumentParser(prog="judges all", description="Run each judge for its share of the time.")
        parser.add_argument("--minutes", type=float, required=True, help="for all of them")
        parser.add_argument("--seed", type=int, default=1, help="of those that draw")
        options = parser.parse_args(rest)
        return run_all(options.minutes, options.seed)
    if (judge := {**JUDGES, **TOOLS}.get(name)) is not None:
        return int(import_module(f"judges.{judge.module}").main(rest) or 0)
    if name and name not in ("-h", "--help"):
        print(f"there is no judge {name}\n", file=sys.stderr)
    print("usage: python -m judges NAME [OPTION]... | all --minutes N [--seed N]\n")
    for title, entries in (("judges", JUDGES), ("tools", TOOLS)):
        print(f"{title}: minutes of a whole run on two cores, and what is needed beyond what the tests need")
        for each, judge in entries.items():
            print(f"  {each:18}{judge.minutes:3} min  {judge.words}" + (f" ({judge.needs})" if judge.needs else ""))
        print()
    return 2 if name and name not in ("-h", "--help") else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
