"""Which tests reach a line of opset/: each module of tests is run once with coverage, and what it reached is kept.

The records are in `$XDG_CACHE_HOME/opset-mutation`, or `~/.cache/opset-mutation`: a file for each module, made again
where the module changed. Where a file of opset/ changed after a record was made, its lines are found by their text.
What runs as modules are collected, to compute the values that tests take, is reached by all tests of the module.
"""

from __future__ import annotations

import difflib
import fcntl
import hashlib
import json
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from judges.mutation.mutants import Mutant, package_of
from judges.mutation.scratch import ROOT, Scratch

SECONDS = 3600
COLLECTED = "collected.json"
BATCH = 6
"""Modules of tests that are recorded in one process."""


class Case(NamedTuple):
    """A test by its id, and the seconds that it took when it was recorded."""

    name: str
    seconds: float

    @property
    def module(self) -> str:
        """The file that the test is in."""
        return self.name.partition("::")[0]


def cache_folder() -> Path:
    """Return the folder of the records."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "opset-mutation"


def test_modules(paths: Sequence[str] = ()) -> list[str]:
    """Return the modules of tests in some files and folders, those of this command excepted."""
    found: set[str] = set()
    for path in paths or ("tests",):
        whole = ROOT / path
        files = [whole] if whole.is_file() else whole.rglob("test_*.py")
        found.update(each.relative_to(ROOT).as_posix() for each in files)
    return sorted(each for each in found if not each.startswith("tests/mutation/"))


def closeness(module: str, file: str) -> int:
    """Return how far a module of tests is from a file: 0 of the same package and name, 3 of neither."""
    folder, name = Path(module).parent.name, Path(module).stem.removeprefix("test_")
    same_folder = folder in Path(file).parts or (package_of(file) == "opset" and folder == "tests")
    stem = Path(file).stem
    same_name = stem in name or name in stem or name == Path(file).parent.name
    return 3 - 2 * same_folder - same_name


def record(modules: Iterable[str], copy: Scratch) -> None:
    """Run modules of tests that have no record, and keep what each reached; what another run records is waited for."""
    modules = [*modules]
    _record_collection(modules, copy)
    missing = [each for each in modules if _record(each) is None]
    for start in range(0, len(missing), BATCH):
        batch = missing[start : start + BATCH]
        with _turn(batch):
            if batch := [each for each in batch if _record(each) is None]:
                _record_batch(batch, copy)


@contextmanager
def _turn(batch: Sequence[str]) -> Iterator[None]:
    """Wait until no other run records the first module of a batch."""
    cache_folder().mkdir(parents=True, exist_ok=True)
    with (cache_folder() / f"{batch[0].replace('/', '+')}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _record_batch(batch: Sequence[str], copy: Scratch) -> None:
    """Run some modules of tests in one process, and keep what each reached."""
    print(f"recording what is reached by {', '.join(batch)}", file=sys.stderr, flush=True)
    folder = copy.temporary / "records"
    folder.mkdir()
    copy.environment["OPSET_RECORD"] = str(folder)
    outcome = copy.python("-m", "pytest", "-p", "judges.mutation.recording", *batch, seconds=SECONDS)
    for module in batch:
        made = folder / f"{module.replace('/', '+')}.json"
        if made.exists():
            _keep(module, json.loads(made.read_text(encoding="utf-8")), copy.folder)
        elif outcome.status in (0, 5):
            _keep(module, {"tests": [], "files": {}, "failed": []}, copy.folder)
        else:
            print(f"{module}: not recorded: {outcome.text[-500:]}", file=sys.stderr)
    shutil.rmtree(folder)


def _record_collection(modules: Sequence[str], copy: Scratch) -> None:
    """Keep what runs as modules of tests are collected, unless the record of the same modules is there."""
    if _collection(modules) is None:
        print("recording what is reached as tests are collected", file=sys.stderr, flush=True)
        made = copy.temporary / "collected.json"
        copy.environment["OPSET_RECORD"] = str(made)
        arguments = ("--collect-only", "-q", "-p", "judges.mutation.collecting", *modules)
        outcome = copy.python("-m", "pytest", *arguments, seconds=SECONDS)
        if not made.exists():
            print(f"the collection is not recorded: {outcome.text[-500:]}", file=sys.stderr)
            return
        files = json.loads(made.read_text(encoding="utf-8"))
        sources = {file: _keep_source(file, copy.folder) for file in files}
        data = {"modules": _hash_of_modules(modules), "files": files, "sources": sources}
        _write(cache_folder() / COLLECTED, json.dumps(data))
        made.unlink()


def _collection(modules: Iterable[str]) -> dict[str, Any] | None:
    """Return the record of what runs as modules of tests are collected, None if there is none of these modules."""
    path = cache_folder() / COLLECTED
    if not path.exists():
        return None
    made: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return made if made["modules"] == _hash_of_modules(modules) else None


def _hash_of_modules(modules: Iterable[str]) -> str:
    return hashlib.sha256(" ".join(f"{each} {_tests_hash(each)}" for each in modules).encode()).hexdigest()[:16]


def _hash(file: str, root: Path = ROOT) -> str:
    return hashlib.sha256((root / file).read_bytes()).hexdigest()[:16]


def _tests_hash(module: str, root: Path = ROOT) -> str:
    """Return a hash of a module of tests, of the files from which it makes tests by name, and of the bounds it uses."""
    data = (root / module).with_name(Path(module).stem.removeprefix("test_"))
    parts = sorted(each.name for each in data.glob("*.txt"))
    if "tests.bounds" in (root / module).read_text(encoding="utf-8"):
        parts.append(_hash("tests/bounds.py", root))
    return hashlib.sha256(f"{_hash(module, root)} {parts}".encode()).hexdigest()[:16] if parts else _hash(module, root)


def _keep(module: str, made: dict[str, Any], root: Path) -> None:
    """Write a record, with the text of each file of the copy that was reached."""
    made["test"] = _tests_hash(module, root)
    made["sources"] = {file: _keep_source(file, root) for file in made["files"]}
    _write(cache_folder() / f"{module.replace('/', '+')}.json", json.dumps(made))


def _keep_source(file: str, root: Path) -> str:
    """Keep the text of a file, and return the hash by which it is found."""
    sources = cache_folder() / "sources"
    sources.mkdir(parents=True, exist_ok=True)
    name = _hash(file, root)
    if not (sources / name).exists():
        _write(sources / name, (root / file).read_text(encoding="utf-8"))
    return name


def _write(path: Path, text: str) -> None:
    """Write a file at once, since several runs share the folder."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.new")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


@cache
def _hash_now(file: str) -> str:
    return _hash(file)


def _record(module: str) -> dict[str, Any] | None:
    """Return the record of a module, None where it has none, or changed since."""
    path = cache_folder() / f"{module.replace('/', '+')}.json"
    if not path.exists():
        return None
    made: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return made if made["test"] == _tests_hash(module) else None


class Reach:
    """The records of modules of tests, by the file that was reached."""

    def __init__(self, modules: Iterable[str]) -> None:
        self.files: dict[str, list[tuple[str, list[Case], dict[int, list[int]]]]] = {}
        self.cases: dict[str, list[Case]] = {}
        modules = [*modules]
        self.collected: dict[str, Any] = _collection(modules) or {"files": {}, "sources": {}}
        for module in modules:
            if (made := _record(module)) is None:
                continue
            self.cases[module] = tests = [Case(name, seconds) for name, seconds in made["tests"]]
            for file, lines in made["files"].items():
                reached = {int(line): numbers for line, numbers in lines.items()}
                self.files.setdefault(file, []).append((made["sources"][file], tests, reached))

    def tests(self, mutant: Mutant) -> list[Case]:
        """Return the tests that reach a mutant, of a jump or what runs once more than these."""
        spans = [(mutant.line, mutant.last)]
        if mutant.kind == "continue/break":
            spans = [(mutant.line - 1, mutant.last)]  # compiled, the condition before it may jump on its own
        if mutant.runs_once:
            spans = [(1, 10**9)]  # what runs once is recorded with the first test that needs it
        return self._sorted(mutant, spans)

    def tests_of_file(self, mutant: Mutant) -> list[Case]:
        """Return the tests that reach the file of a mutant, also by lines that run in processes without a record."""
        return self._sorted(mutant, [(1, 10**9)])

    def _sorted(self, mutant: Mutant, spans: Iterable[tuple[int, int]]) -> list[Case]:
        """Return the tests that reach some lines, the closest and quickest first."""
        found = {test for span in spans for test in self._between(mutant.file, *span)}
        if mutant.function and not mutant.runs_once:
            found.update(*(self.cases.get(each, ()) for span in spans for each in self._collected(mutant.file, *span)))
        if mutant.runs_once:  # a test that reads a table, or the field of a class, executes no line of its file
            found.update(*(tests for name, tests in self.cases.items() if closeness(name, mutant.file) <= 1))
        return sorted(found, key=lambda test: (closeness(test.module, mutant.file), test.seconds))

    def _collected(self, file: str, first: int, last: int) -> set[str]:
        """Return the modules of tests whose collection reaches some lines."""
        if (source := self.collected["sources"].get(file)) is None:
            return set()
        lines = _then(file, source) if source != _hash_now(file) else None
        reached = self.collected["files"][file]
        if lines is None:
            then = [line for line in map(int, reached) if first <= line <= last]
        else:
            then = [old for new, old in lines.items() if first <= new <= last]
        return {module for line in then for module in reached.get(str(line), ())}

    def _between(self, file: str, first: int, last: int) -> Iterator[Case]:
        for source, tests, reached in self.files.get(file, ()):
            lines = _then(file, source) if source != _hash_now(file) else None
            numbers: set[int] = set()
            if last - first > 10**6:
                numbers.update(*reached.values())
            else:
                now = range(first, last + 1)
                then = now if lines is None else [lines[each] for each in now if each in lines]
                for line in then:
                    numbers.update(reached.get(line, ()))
            yield from (tests[number] for number in numbers)


@cache
def _then(file: str, source: str) -> dict[int, int]:
    """Return for each line of a file its number in an earlier text; a line that is new is next to an old one."""
    old = (cache_folder() / "sources" / source).read_text(encoding="utf-8").splitlines()
    new = (ROOT / file).read_text(encoding="utf-8").splitlines()
    lines: dict[int, int] = {}
    for _, old_first, old_last, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for number in range(first, last):
            lines[number + 1] = max(min(old_first + number - first, old_last - 1), old_first, 0) + 1
    return lines


def choose(tests: Sequence[Case], budget: float) -> list[Case]:
    """Return tests whose seconds fit a budget: by turns of their modules, which come in the order of the tests."""
    modules: dict[str, list[Case]] = {}
    for test in tests:
        modules.setdefault(test.module, []).append(test)
    chosen: set[Case] = set()
    while modules:
        for module in list(modules):
            test = modules[module].pop(0)
            if test.seconds > budget and chosen:
                del modules[module]
                continue
            chosen.add(test)
            budget -= test.seconds
            if not modules[module]:
                del modules[module]
    return [test for test in tests if test in chosen]
