"""Mutates models, nodes, schema files and values files: only errors of the package's own may come of them.

    python -m judges mutants [--seed N] [--models N] [--nodes N] [--schemas N] [--values N] [--jobs N] [--keep DIR]
    python -m judges mutants [--seed N] --case KIND:NUMBER [--keep DIR]

Without numbers: 100,000 models, 55,000 nodes, 20,000 schema files and 10,000 values files. A case depends on the seed,
its kind and its number alone. Each is drawn, and its verbs are run, in a worker process with 2 GB of addresses and 10
seconds of CPU time; one that is ended by that is replaced. The table counts the outcomes of each verb:

    fine      it did what it does
    U … R     an error of the package's own, by the first letter of its code: the families of opset/errors.py
    exit      an exit status of the command line, 1 to 3
    foreign   an exception that is not the package's own, or the exit status 70
    memory    a MemoryError
    hang      no end within 10 seconds of CPU time, or 120 of the clock
    crash     the process died

The exit status is 1 when there is any of the last four. --case runs one case again and shows its tracebacks; --keep
writes its files, or those of all cases that failed, into a folder.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import resource
import shutil
import signal
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from judges.conformance.processes import Died, each
from judges.fuzz.mutation.case import Case, Internal, Verb
from opset.errors import OpsetError

__all__ = ["COUNTS", "FAULTS", "Job", "Outcome", "drawn", "outcomes_of", "table"]

COUNTS = {"models": 100_000, "nodes": 55_000, "schemas": 20_000, "values": 10_000}
MEMORY = 2 << 30
CPU_SECONDS, SECONDS = 10, 120
FAULTS = ("foreign", "memory", "hang", "crash")
COLUMNS = ("fine", *"USMGICR", "exit", *FAULTS)
SHARED = Path("/dev/shm")
DRAWING = "draw"
"""The stage before the first verb: what fails there is a fault of the mutations."""


@dataclass(frozen=True, order=True)
class Job:
    """One case: what it is made of, and all that its random numbers depend on."""

    kind: str
    number: int
    seed: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.number}"


@dataclass(frozen=True)
class Outcome:
    """What became of one verb; `where` has the type and line of an exception that is not the package's own."""

    verb: str
    kind: str
    where: str = ""


def drawn(job: Job) -> Case:
    """Return the case of a job, the same wherever and whenever it is drawn."""
    made: Case = import_module(f"judges.fuzz.mutation.{job.kind}").case(random.Random(f"{job.seed} {job}"))
    return made


def attempt(job: Job) -> Generator[str, None, list[Outcome]]:
    """Run the verbs of a case, the name of each announced before it begins; return what became of them."""
    os.environ["OPSET_DEBUG"] = "1"
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, whatever it is busy with
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    yield DRAWING
    case = drawn(job)
    outcomes = []
    with tempfile.TemporaryDirectory(dir=SHARED if SHARED.is_dir() else None) as folder:
        write(case, Path(folder))
        for name, verb in case.verbs.items():
            yield name
            kind, where, _ = tried(verb, Path(folder))
            outcomes.append(Outcome(name, kind, where))
    signal.setitimer(signal.ITIMER_PROF, 0)
    return outcomes


def tried(verb: Verb, folder: Path) -> tuple[str, str, str]:
    """Run a verb; return the kind of its outcome, the type and line of a foreign exception, and its traceback."""
    try:
        status = verb(folder)
    except OpsetError as error:
        return error.code[0], "", str(error)
    except MemoryError:
        return "memory", "", traceback.format_exc()
    except Internal as error:
        return "foreign", place(str(error)), str(error)
    except Exception:
        text = traceback.format_exc()
        return "foreign", place(text), text
    return ("exit" if isinstance(status, int) and status else "fine"), "", ""


def place(text: str) -> str:
    """Return what a traceback ends with: the type of the exception, and the innermost line of the package."""
    text = text.rpartition("Traceback (most recent call last)")[2]
    lines = re.findall(r'File ".*?/(opset/\S+\.py)", line (\d+)', text)
    types = re.findall(r"^([A-Za-z_][\w.]*(?:Error|Exception|Exit|Iteration|Warning))\b", text, re.MULTILINE)
    kind = types[-1] if types else text.strip().partition("\n")[0][:80]
    return f"{kind} {':'.join(lines[-1])}" if lines else kind


def write(case: Case, folder: Path) -> None:
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def outcomes_of(jobs: Iterable[Job], processes: int = 1) -> Iterator[tuple[Job, list[Outcome]]]:
    """Yield every job with its outcomes, as they are done."""
    for job, result in each(attempt, jobs, processes, SECONDS, MEMORY):
        if not isinstance(result, Died):
            yield job, result
        elif result.why.startswith("no end") or result.why == f"exit status -{int(signal.SIGPROF)}":
            yield job, [Outcome(result.stage, "hang", result.stage)]
        else:
            yield job, [Outcome(result.stage, "crash", result.why)]


def table(counts: Counter[tuple[str, str, str]]) -> Iterator[str]:
    """Yield the lines of the table: a row for each verb of each kind."""
    yield f"{'kind':8}{'verb':16}" + "".join(f"{column:>9}" for column in COLUMNS)
    for kind, verb in sorted({key[:2] for key in counts}):
        yield f"{kind:8}{verb:16}" + "".join(f"{counts[kind, verb, column]:9,}" for column in COLUMNS)


def keep(job: Job, case: Case, folder: Path) -> Path:
    """Write the files of a case into a folder of their own, and what they are."""
    own = folder / f"{job.kind}-{job.seed}-{job.number}"
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    write(case, own)
    (own / "WHAT").write_text(f"{job} of seed {job.seed}: {case.what}\n{' '.join(case.verbs)}\n")
    return own


def run_all(options: argparse.Namespace) -> int:
    wanted = {kind: getattr(options, kind) for kind in COUNTS}
    if all(count is None for count in wanted.values()):
        wanted = COUNTS
    wanted = {kind: count for kind, count in wanted.items() if count}
    for kind in wanted:
        import_module(f"judges.fuzz.mutation.{kind}")  # before the workers, which begin as copies of this process
    jobs = (Job(kind, number, options.seed) for kind, count in wanted.items() for number in range(count))
    counts: Counter[tuple[str, str, str]] = Counter()
    faults: dict[tuple[str, str, str, str], list[Job]] = defaultdict(list)
    begun = time.monotonic()
    done = 0
    with contextlib.suppress(KeyboardInterrupt):  # the table is of what was done until then
        for job, outcomes in outcomes_of(jobs, options.jobs):
            done += 1
            for outcome in outcomes:
                counts[job.kind, outcome.verb, outcome.kind] += 1
                if outcome.kind in FAULTS:
                    faults[job.kind, outcome.verb, outcome.kind, outcome.where].append(job)
            if options.keep and any(each.kind in FAULTS and each.verb != DRAWING for each in outcomes):
                keep(job, drawn(job), options.keep)
    print("\n".join(table(counts)))
    for (_, verb, kind, where), found in sorted(faults.items(), key=lambda item: (-len(item[1]), item[0])):
        print(f"{kind} {verb} {where}: {len(found)}, first {', '.join(map(str, sorted(found)[:3]))}")
    seconds = time.monotonic() - begun
    print(f"{done:,} mutants of seed {options.seed} in {seconds:.0f} s, {done / max(seconds, 0.001):.0f}/s")
    return 1 if faults or done < sum(wanted.values()) else 0


def run_one(job: Job, folder: Path | None) -> int:
    os.environ["OPSET_DEBUG"] = "1"
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    case = drawn(job)
    worst = 0
    with tempfile.TemporaryDirectory() as scratch:
        own = keep(job, case, folder or Path(scratch))
        print(f"{job} of seed {job.seed}: {case.what}")
        print(f"files: {', '.join(case.files)}" + (f" in {own}" if folder else ""), flush=True)
        for name, verb in case.verbs.items():
            kind, _, text = tried(verb, own)
            print(f"{name}: {kind}\n{text}".rstrip(), flush=True)
            worst |= kind in FAULTS
    return int(worst)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and print the table; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m judges mutants", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    for kind in COUNTS:
        parser.add_argument(f"--{kind}", type=int, metavar="N", help=f"number of {kind}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="number of processes")
    parser.add_argument("--case", metavar="KIND:NUMBER", help="run this case alone")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the files of failed cases into a folder")
    options = parser.parse_args(arguments)
    if options.case:
        kind, _, number = options.case.partition(":")
        if kind not in COUNTS or not number.isdigit():
            parser.error(f"{options.case!r} is no case such as models:17")
        return run_one(Job(kind, int(number), options.seed), options.keep)
    return run_all(options)
