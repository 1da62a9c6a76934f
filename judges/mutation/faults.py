"""Shows that each fault that was mended would be found again: its mend is reverted, and the test that it names fails.

    python -m judges faults [--only TEXT] [--file NAME] [--markdown]

The faults are the entries of `judges/mutation/faults/*.yaml`. Each has the `fault` in plain words, its `class`, how the
mend is reverted (`file`, the text `now`, which occurs once, and the text `before`), and the test or the command that
finds it. A test is `found_by` where it passes now and fails with the mend reverted. The exit status is 1 where one is
not found.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from judges.mutation.scratch import ROOT, Outcome, Scratch, scratch, table

FOLDER = Path(__file__).parent / "faults"
SECONDS = 900
KEYS = {"fault", "class", "revert", "found_by"}


class Fault(NamedTuple):
    """One entry: a fault in plain words, its class, the texts that bring it back, and the test that finds it."""

    words: str
    kind: str
    reverts: tuple[tuple[str, str, str], ...]
    found_by: str
    source: str


def faults() -> Iterator[Fault]:
    """Yield the entries of all files.

    Raises:
        ValueError: An entry has not the four keys, or a revert has not `file`, `now` and `before`.
    """
    for path in sorted(FOLDER.glob("*.yaml")):
        for entry in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader) or ():
            if set(entry) != KEYS:
                raise ValueError(f"{path.name}: an entry has the keys {', '.join(sorted(KEYS))}: {entry}")
            reverts = tuple(_revert(path.name, each) for each in entry["revert"])
            yield Fault(entry["fault"], entry["class"], reverts, entry["found_by"], path.name)


def _revert(source: str, entry: Any) -> tuple[str, str, str]:
    """Return the file, the text now and the text before of one revert."""
    if not isinstance(entry, dict) or set(entry) != {"file", "now", "before"} or entry["now"] == entry["before"]:
        raise ValueError(f"{source}: a revert has file, now and before, which differ: {entry}")
    return entry["file"], entry["now"], entry["before"]


def reverted(fault: Fault, root: Path = ROOT) -> dict[str, str]:
    """Return the text of each file that changes where a mend is reverted.

    Raises:
        ValueError: A text `now` does not occur once in its file.
    """
    texts: dict[str, str] = {}
    for name, now, before in fault.reverts:
        text = texts.get(name) or (root / name).read_text(encoding="utf-8")
        indent = _indent(text, now)
        now, before = textwrap.indent(now, indent), textwrap.indent(before, indent)
        if (count := text.count(now)) != 1:
            raise ValueError(f"{fault.source}: {fault.words}: in {name}, this occurs {count} times: {now}")
        texts[name] = text.replace(now, before)
    return texts


def _indent(text: str, lines: str) -> str:
    """Return the spaces that whole lines have in a file: a block of YAML is written without them."""
    if lines in text or "\n" not in lines:
        return ""
    found = (" " * count for count in range(4, 24, 4) if textwrap.indent(lines, " " * count) in text)
    return next(found, "")


def command(found_by: str) -> tuple[str, ...]:
    """Return the arguments of Python that run a test, or a command that begins with `python`."""
    words = shlex.split(found_by)
    return (*words[1:],) if words[0] == "python" else ("-m", "pytest", "-x", *words)


def is_found(outcome: Outcome) -> bool:
    """Whether a test failed, or a command found something; one that could not run found nothing."""
    return outcome.status == 1


def judge(fault: Fault, copy: Scratch, passing: dict[str, str]) -> str:
    """Return `yes` if the test fails with the mend reverted and passes without, else what happened."""
    run = command(fault.found_by)
    if fault.found_by not in passing:
        outcome = copy.python(*run, seconds=SECONDS)
        passing[fault.found_by] = "" if outcome.status == 0 else f"no: fails as it is now: {last(outcome)}"
    if passing[fault.found_by]:
        return passing[fault.found_by]
    try:
        for name, text in reverted(fault, copy.folder).items():
            copy.write(name, text)
        outcome = copy.python(*run, seconds=SECONDS)
    except ValueError as error:
        return f"no: {error}"
    finally:
        copy.restore()
    return "yes" if is_found(outcome) else f"no: {last(outcome)}"


def last(outcome: Outcome) -> str:
    """Return the exit status and the last line of what was printed."""
    lines = outcome.text.strip().splitlines() or [""]
    return f"{'stopped' if outcome.status is None else f'exit status {outcome.status}'}, {lines[-1]}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the faults; return the exit status."""
    parser = argparse.ArgumentParser(prog="judges faults", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--only", default="", help="those whose words, class or test contain this text")
    parser.add_argument("--file", help="those of one file of judges/mutation/faults/, without .yaml")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args(arguments)
    chosen = [
        each
        for each in faults()
        if options.only in f"{each.words} {each.kind} {each.found_by}"
        and options.file in (None, each.source.removesuffix(".yaml"))
    ]
    passing: dict[str, str] = {}
    rows = []
    with scratch() as copy:
        for fault in chosen:
            rows.append((fault.words, fault.kind, fault.found_by, judge(fault, copy, passing)))
            print(f"{rows[-1][3]:4} {fault.words}", file=sys.stderr, flush=True)
    print(table(("fault", "class", "found by", "found"), rows, options.markdown))
    found = sum(row[3] == "yes" for row in rows)
    print(f"\n{found} of {len(rows)} faults are found with the mend reverted.")
    return int(found < len(rows))
