"""A plugin of pytest that records which lines of opset/ run as each module of tests is collected.

Values with which tests are parametrized are often computed there, outside of any test. `OPSET_RECORD` is the file to
write: for each file and line the modules of tests.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

ROOT = Path(__file__).parents[2]
COVERAGE = coverage.Coverage(data_file=None, config_file=False, source=[str(ROOT / "opset")])
COVERAGE.start()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[Any]:
    """Record what runs as a module is imported and its tests are made."""
    if isinstance(collector, pytest.Module):
        COVERAGE.switch_context(collector.path.relative_to(ROOT).as_posix())
    return (yield)


def pytest_collection_finish() -> None:
    """Write what was recorded."""
    COVERAGE.stop()
    data = COVERAGE.get_data()
    files = {
        Path(path).relative_to(ROOT).as_posix(): {
            line: modules
            for line, contexts in data.contexts_by_lineno(path).items()
            if (modules := sorted(each for each in contexts if each))
        }
        for path in data.measured_files()
    }
    Path(os.environ["OPSET_RECORD"]).write_text(json.dumps(files), encoding="utf-8")
