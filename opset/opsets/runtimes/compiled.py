"""The runtimes of this package, compiled to JSON: YAML of their size takes long to read.

The first line of the file is an object: {"stamp": …, "runtimes": [a file without operators, …]}. For each runtime, in
this order, a line has its operators, functions and faults; it is parsed when somebody asks for one of them.
In a checkout the file is built again if the YAML changes; a wheel holds it built.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from opset.opsets.runtimes.model import RuntimeTable, make_table
from opset.schemas.index import write_json

FOLDER = Path(__file__).with_name("data")
COMPILED = "compiled.json"
_LATE = ("operators", "functions", "faults")


@lru_cache(maxsize=1)
def standard_tables() -> dict[str, RuntimeTable]:
    """Return the tables of this package's runtimes by name, sorted and cached."""
    lines = _compiled_lines()
    head = json.loads(lines[0])
    return {
        each["runtime"]: make_table({**each, "read_operators": _late_reader(line)})
        for each, line in zip(head["runtimes"], lines[1:], strict=True)
    }


def _late_reader(line: bytes) -> Any:
    @lru_cache(maxsize=1)
    def read_operators() -> dict[str, Any]:
        operators: dict[str, Any] = json.loads(line)
        return operators

    return read_operators


def _compiled_lines() -> list[bytes]:
    """Return the lines of the compiled file; it is built if it is missing or older than the YAML."""
    in_checkout = (FOLDER.parents[3] / "pyproject.toml").exists()
    try:
        lines = (FOLDER / COMPILED).read_bytes().splitlines()
        head = json.loads(lines[0])
        if len(lines) == len(head["runtimes"]) + 1 and (not in_checkout or head["stamp"] == _stamp()):
            return lines
    except (OSError, IndexError, ValueError, KeyError, TypeError):  # it is missing, or damaged
        pass
    return build()


def build() -> list[bytes]:
    """Compile the runtimes' YAML to lines of JSON; write them if permitted, and return them. Raises SchemaError."""
    from opset.opsets.runtimes.loader import parse_runtime  # with it PyYAML, which is slow to import

    stamp = _stamp()
    contents = [*_contents(stamp, [parse_runtime(path.read_bytes(), str(path)) for path in data_files()])]
    with suppress(OSError):  # an installation that cannot be written compiles again
        write_json(FOLDER / COMPILED, contents)
    return [json.dumps(each).encode() for each in contents]


def _contents(stamp: int, documents: list[dict[str, Any]]) -> Iterable[Mapping[str, Any]]:
    heads = [
        {key: value for key, value in each.items() if key not in _LATE} | {"has_operators": "operators" in each}
        for each in documents
    ]
    yield {"stamp": stamp, "runtimes": heads}
    for each in documents:
        yield {key: each[key] for key in _LATE if key in each}


def data_files() -> list[Path]:
    """Return the YAML files of this package's runtimes, sorted."""
    return sorted(FOLDER.glob("*.yaml"))


def _stamp() -> int:
    """Return a number that changes if a file of data, or the code that reads it, changes."""
    facts = [(path.name, path.stat()) for path in (*data_files(), *sorted(FOLDER.parent.glob("*.py")))]
    return zlib.crc32(repr([(name, stat.st_mtime_ns, stat.st_size) for name, stat in facts]).encode())
