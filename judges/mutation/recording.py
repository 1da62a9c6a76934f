"""A plugin of pytest that records which lines of opset/ each test executes, with its time, module by module.

It runs in a scratch copy: `OPSET_RECORD` is the folder in which a file for each module of tests is written. Processes
that a test starts are recorded as well, as far as they end by themselves; `bounds.lines`, whose tracer takes the place
of the one of coverage, says itself what ran.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

from tests import bounds

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ["OPSET_RECORD"])


class Recorder:
    """What the tests of one module executed: the lines of each file by the test, and its seconds."""

    def __init__(self) -> None:
        self.coverage = self._start()
        self.tests: dict[str, float] = {}
        self.bounded: dict[str, set[tuple[str, int]]] = {}
        self.failed: set[str] = set()

    def _start(self) -> coverage.Coverage:
        cov = coverage.Coverage(data_file=None, config_file=False, source=[str(ROOT / "opset")])
        cov.start()
        return cov

    def write(self, module: str) -> None:
        """Write what was recorded of a module, and begin the next one."""
        self.coverage.stop()
        data = self.coverage.get_data()
        tests = [each for each in self.tests if each not in self.failed]
        numbers = {name: number for number, name in enumerate(tests)}
        files: dict[str, dict[int, list[int]]] = {}
        for path in data.measured_files():
            lines = files[Path(path).relative_to(ROOT).as_posix()] = {}
            for line, contexts in data.contexts_by_lineno(path).items():
                if found := sorted(numbers[each] for each in contexts if each in numbers):
                    lines[line] = found
        for name, seen in self.bounded.items():
            for path, line in seen:
                if name in numbers and Path(path).is_relative_to(ROOT / "opset"):
                    found = files.setdefault(Path(path).relative_to(ROOT).as_posix(), {}).setdefault(line, [])
                    if numbers[name] not in found:
                        found.append(numbers[name])
        record = {
            "module": module,
            "tests": [[name, round(self.tests[name], 3)] for name in tests],
            "files": files,
            "failed": sorted(self.failed),
        }
        (FOLDER / f"{module.replace('/', '+')}.json").write_text(json.dumps(record), encoding="utf-8")
        self.coverage = self._start()
        self.tests, self.bounded, self.failed = {}, {}, set()


RECORDER = Recorder()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[Any]:
    """Record one test; after the last of a module, write what was recorded."""
    RECORDER.coverage.switch_context(item.nodeid)
    bounds.SEEN = RECORDER.bounded[item.nodeid] = set()
    since = time.perf_counter()
    result = yield
    RECORDER.tests[item.nodeid] = time.perf_counter() - since
    if nextitem is None or nextitem.path != item.path:
        RECORDER.write(item.path.relative_to(ROOT).as_posix())
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a test that does not pass in a scratch copy: it says nothing about a mutant."""
    if report.outcome != "passed":
        RECORDER.failed.add(report.nodeid)
