"""A plugin of pytest that runs the tests of a list alone: `OPSET_TESTS` is a file with their ids, in order, as JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

WANTED = {name: number for number, name in enumerate(json.loads(Path(os.environ["OPSET_TESTS"]).read_text()))}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the wanted tests, in the order of the list."""
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in WANTED])
    items[:] = sorted((item for item in items if item.nodeid in WANTED), key=lambda item: WANTED[item.nodeid])
