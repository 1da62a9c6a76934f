"""Changes statements of opset/ at random, and runs the tests that reach the place: do they notice?

    python -m judges mutation --seed 1 --count 50 [--package inference ...] [--tests PATH ...] [-j 2] [--json FILE]
    python -m judges mutation --one opset/inference/families/norm.py:41
    python -m judges mutation --raises [--package model]

Each mutant is one change (`--kind` chooses some kinds) in a scratch copy. Tests of the same family and package run
first, up to the first failure; `--budget` bounds their seconds, and if all pass, those that it left out get it twice.
`--raises` removes each `raise` of an exception of this package. Mutants that survive are printed as a diff.
`survivors.yaml` lists those that change nothing that anybody relies on, with the reason. The first run records which
tests reach which lines, which takes as long as all tests; `--tests` restricts both. The exit status is 1 where a mutant
survives that is not listed.
"""

from __future__ import annotations

import argparse
import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from judges.mutation.mutants import Mutant, draw, modules, mutants, raises
from judges.mutation.reach import Case, Reach, choose, closeness, record, test_modules
from judges.mutation.scratch import Scratch, scratch, table

SURVIVORS = Path(__file__).parent / "survivors.yaml"
AGAIN = 2
"""How many times the budget the tests have that it left out, once all others pass."""
KILLED, SURVIVED, UNREACHED, LISTED = "killed", "survived", "not reached", "listed"


class Verdict(NamedTuple):
    """What became of a mutant, and the test that found it or how many tests did not."""

    mutant: Mutant
    fate: str
    by: str


@cache
def listed() -> dict[tuple[str, str, str, str], str]:
    """Return the mutants that change nothing that anybody relies on, with the reason."""
    entries = yaml.load(SURVIVORS.read_text(encoding="utf-8"), yaml.CSafeLoader) or []
    return {(each["file"], each["function"], each["before"], each["after"]): each["reason"] for each in entries}


def judge(mutant: Mutant, reach: Reach, copy: Scratch, budget: float) -> Verdict:
    """Run the tests that reach a mutant, the closest first, until one fails."""
    if mutant.key in listed():
        return Verdict(mutant, LISTED, listed()[mutant.key])
    reaching = reach.tests(mutant)
    tests = reaching or reach.tests_of_file(mutant)
    copy.write(mutant.file, mutant.text)
    left: list[Case] = []
    try:
        for part in stages(mutant.file, tests):
            chosen = choose(part, budget)
            if failed := _failure(chosen, copy):
                return Verdict(mutant, KILLED, failed)
            left += [each for each in part if each not in {*chosen}]
        if left and (failed := _failure(choose(left, AGAIN * budget), copy)):
            return Verdict(mutant, KILLED, failed)
    finally:
        copy.restore()
    return (
        Verdict(mutant, SURVIVED, f"{len(tests)} tests reach it") if reaching else Verdict(mutant, UNREACHED, "no test")
    )


def stages(file: str, tests: Sequence[Case]) -> Iterator[list[Case]]:
    """Yield the tests of the same name and package, those of the same package or name, and all others."""
    for distances in ((0,), (1, 2), (3,)):
        if part := [each for each in tests if closeness(each.module, file) in distances]:
            yield part


def _failure(tests: Sequence[Case], copy: Scratch) -> str:
    """Return the first test that fails, or how the run ended otherwise; nothing where all pass."""
    chosen = copy.temporary / "chosen.json"
    chosen.write_text(json.dumps([each.name for each in tests]), encoding="utf-8")
    copy.environment["OPSET_TESTS"] = str(chosen)
    paths = dict.fromkeys(each.module for each in tests)
    seconds = 60 + 10 * sum(each.seconds for each in tests)
    outcome = copy.pytest("-p", "judges.mutation.selection", "--tb=no", *paths, seconds=seconds)
    if outcome.status in (0, 5):
        return ""
    named = [line for line in outcome.text.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return named[0].partition(" - ")[0] if named else f"exit status {outcome.status}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make and judge mutants; return the exit status."""
    options = _options(arguments)
    chosen = _chosen(options)
    known = test_modules(options.tests)
    verdicts: list[Verdict] = []
    with ExitStack() as stack:
        copies = [stack.enter_context(scratch()) for _ in range(max(1, min(options.jobs, len(chosen))))]
        record(known, copies[0])
        if options.record:
            return 0
        reach, lock = Reach(known), threading.Lock()

        def work(mutant: Mutant) -> None:
            with lock:
                copy = copies.pop()
            verdict = judge(mutant, reach, copy, options.budget)
            with lock:
                copies.append(copy)
                verdicts.append(verdict)
                where = f"{mutant.file}:{mutant.line}"
                print(f"{verdict.fate:12}{where:50}{mutant.kind:24}{verdict.by}", file=sys.stderr, flush=True)

        with ThreadPoolExecutor(len(copies)) as pool:
            list(pool.map(work, chosen))
    _report(verdicts, options.json)
    return int(any(each.fate in (SURVIVED, UNREACHED) for each in verdicts))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="judges mutation", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="of the random draw")
    parser.add_argument("--count", type=int, default=20, help="how many mutants are drawn")
    parser.add_argument("--package", action="append", default=[], help="a folder of opset/, or opset for its modules")
    parser.add_argument("--kind", action="append", default=[], help="a kind of change, such as 'raise removed'")
    parser.add_argument("--one", action="append", default=[], metavar="FILE:LINE", help="all mutants of a line")
    parser.add_argument("--raises", action="store_true", help="remove each raise of an exception of this package")
    parser.add_argument("--unreached", action="store_true", help="list those that no test reaches, without running any")
    parser.add_argument("--tests", nargs="+", default=[], metavar="PATH", help="tests that are run, all by default")
    parser.add_argument("--budget", type=float, default=60, help="seconds of the tests of each degree of closeness")
    parser.add_argument("-j", "--jobs", type=int, default=1, help="how many mutants are judged at once")
    parser.add_argument("--record", action="store_true", help="only record which tests reach what")
    parser.add_argument("--json", type=Path, help="a file for all verdicts")
    return parser.parse_args(arguments)


def _chosen(options: argparse.Namespace) -> list[Mutant]:
    """Return the mutants to judge."""
    if options.record:
        return []
    if options.one:
        places = [each.rpartition(":") for each in options.one]
        found = [m for file, _, line in places for m in mutants(file) if m.line <= int(line) <= m.last]
        found = [each for each in found if each.is_python()]
    elif options.raises:
        found = [mutant for file in modules(options.package) for mutant in raises(file)]
    else:
        found = draw(options.seed, options.count, options.package, options.kind)
    chosen = [each for each in found if not options.kind or each.kind in options.kind]
    if options.unreached:
        reach = Reach(test_modules(options.tests))
        chosen = [each for each in chosen if not reach.tests(each)]
    return chosen


def _report(verdicts: Sequence[Verdict], file: Path | None) -> None:
    """Print the survivors, and how many mutants were found in each package; write all as JSON."""
    for verdict in verdicts:
        if verdict.fate in (SURVIVED, UNREACHED):
            print(f"\n{verdict.fate}: {verdict.mutant.kind}; {verdict.by}\n{verdict.mutant.diff()}")
    packages = sorted({each.mutant.package for each in verdicts})
    rows = []
    for package in [*packages, "all"]:
        fates = Counter(each.fate for each in verdicts if package in (each.mutant.package, "all"))
        judged = fates[KILLED] + fates[SURVIVED] + fates[UNREACHED]
        rows.append(
            (
                package,
                *(str(fates[each]) for each in (KILLED, SURVIVED, UNREACHED, LISTED)),
                f"{fates[KILLED] / judged:.0%}" if judged else "",
            )
        )
    print(f"\n{table(('package', KILLED, SURVIVED, UNREACHED, LISTED, 'found'), rows)}")
    if file is not None:
        data = [{**_facts(each.mutant), "fate": each.fate, "by": each.by} for each in verdicts]
        file.write_text(json.dumps(data, indent=1), encoding="utf-8")


def _facts(mutant: Mutant) -> dict[str, object]:
    return {"file": mutant.file, "line": mutant.line, "function": mutant.function, "kind": mutant.kind,
            "before": mutant.before, "after": mutant.after, "package": mutant.package}  # fmt: skip
