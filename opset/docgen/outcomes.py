"""The table of recorded outcomes: what written adapters and lowerings did with the examples of operators.

`opset test --record` writes it to conversions.json beside the YAML of a domain, `opset test` says whether it is stale,
and the documentation shows it: operators, transitions, and for each of these

    "13-11": {"always": ["Softmax", "Transpose"], "sometimes": [], "stays": true, "refused": {"C207": ["…"]}}

`always` and `sometimes` are the operators of which the nodes consist that were rewritten, and `stays` says whether any
node was left as it is. Operators of other domains than the own one and ai.onnx are named with their domain.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opset.errors import CODES, Finding, SchemaError
from opset.model.storage.writing import write_below
from opset.opsets.registry import Registry, files_named
from opset.schemas.index import FOLDER
from opset.schemas.names import normalize_domain
from opset.schemas.untrusted_files import file_bytes, parse_json
from opset.version_converter.routes import RouteStep

FILE = "conversions.json"
MAX_BYTES = 16 << 20


class RecordedOutcome(NamedTuple):
    """The recorded results of converting examples across a transition.

    `always` and `sometimes` are the operators that replace nodes: for every node that is rewritten, and for some.
    `stays` says whether any node was left as it is. `refused` are the (code, reason) pairs of refusals.
    """

    always: tuple[str, ...]
    sometimes: tuple[str, ...]
    stays: bool
    refused: tuple[tuple[str, str], ...]

    def as_json(self) -> str:
        """Return the recorded results of a transition as JSON on one line.

        "always" lists the operators that are in the replacement of every rewritten node. "sometimes" lists the
        operators that are in the replacement of only some nodes. "stays" says whether any node stayed as it was.
        "refused" has the reasons of refusals by error code: {code: [reason, …]}.
        """
        by_code: dict[str, list[str]] = {}
        for code, why in self.refused:
            by_code.setdefault(code, []).append(why)
        return json.dumps({**self._asdict(), "refused": by_code}, ensure_ascii=False)


Table = dict[str, dict[str, RecordedOutcome]]
"""Outcomes by operator and transition, of one domain."""


def transition_id(step: RouteStep) -> str:
    """Return the name of a transition: "13-11", or "20-lowered" if version 20 is expressed by other operators."""
    since = step.source.since_version
    return f"{since}-lowered" if step.lowers else f"{since}-{step.target.since_version}"


def table_file(registry: Registry, domain: str, operator: str) -> Path | None:
    """Return the path of conversions.json beside an operator's YAML file, None if no folder has the YAML file.

    The path is returned even if there is no conversions.json yet.
    """
    for folder in (FOLDER, *registry.folders):
        for file in files_named(folder, f"{operator}.yaml"):
            if normalize_domain(file.parent.name) == domain:
                return file.with_name(FILE)
    return None


def read_table(file: Path) -> Table | None:
    """Return the recorded results in a conversions.json by operator and transition, None if the file does not exist.

    Raises SchemaError T113 if the file cannot be read, or if its content does not have the form of such a table.
    """
    try:
        data = parse_json(file_bytes(file, MAX_BYTES))
        return {
            operator: {name: _outcome_of(entry) for name, entry in transitions.items()}
            for operator, transitions in data.items()
        }
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, AttributeError, TypeError, KeyError) as error:
        help = "remove it, then write it anew: opset test --record"
        finding = Finding("T113", "the table of conversions cannot be read", str(file), str(error), help)
        raise SchemaError(finding) from None


def _outcome_of(entry: Mapping[str, Any]) -> RecordedOutcome:
    """Return the recorded results of one transition from its JSON.

    Raises ValueError, TypeError, KeyError or AttributeError if the JSON does not have the form of such a record, or
    names an unknown error code.
    """
    refused = tuple([(code, why) for code, reasons in entry["refused"].items() for why in reasons])
    outcome = RecordedOutcome(tuple(entry["always"]), tuple(entry["sometimes"]), bool(entry["stays"]), refused)
    if not all(isinstance(text, str) for text in (*outcome.always, *outcome.sometimes, *(why for _, why in refused))):
        raise ValueError("an operator or a reason is no text")
    if unknown := {code for code, _ in refused} - {*CODES}:
        raise ValueError(f"there is no code {sorted(unknown)[0]}")
    return outcome


def write_table(file: Path, table: Table) -> None:
    """Write the outcomes of converting the examples of a domain's operators to a JSON file.

    The file has one line for each transition, such as "13-11" for a conversion from version 13 to 11. Operators and
    transitions are sorted. Operators without transitions are left out. `table` has the outcomes by operator and
    transition. Raises UsageError U104 if the file cannot be written.
    """
    operators = []
    for operator, transitions in sorted(table.items()):
        by_version = sorted(transitions.items(), key=lambda entry: (int(entry[0].partition("-")[0]), entry[0]))
        lines = [f"  {json.dumps(name)}: {outcome.as_json()}" for name, outcome in by_version]
        if lines:
            operators.append(f" {json.dumps(operator)}: {{\n" + ",\n".join(lines) + "\n }")
    write_below(file.parent, {file.name: ("{\n" + ",\n".join(operators) + "\n}\n").encode()})


def tables_of(registry: Registry) -> dict[str, Table]:
    """Return the recorded results of all domains that have a conversions.json: by domain, operator and transition.

    Raises SchemaError T113 if such a file cannot be read, or its content is not valid.
    """
    tables: dict[str, Table] = {}
    for folder in (FOLDER, *registry.folders):
        for file in files_named(folder, FILE):
            tables.setdefault(normalize_domain(file.parent.name), {}).update(read_table(file) or {})
    return tables
