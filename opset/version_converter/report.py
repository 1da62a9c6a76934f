"""The report of a conversion: as plain data, which is its JSON, and as text that is made from that data alone.

    {"opsets": [{"domain", "before", "after"}], "ir_version": {"before", "after"},
     "operators": [{"domain", "operator", "before", "after", "nodes", "kept", "steps", "becomes", "places"}],
     "graphs": [label], "passed": [{"domain", "operator", "nodes"}], "notes": […],
     "nodes": {"total", "converted", "kept", "passed", "refused"},
     "errors": [{"code", "message", "place", "why", "help", "file"}], "omitted": number of further errors}

`after` is 0 if the target lacks the operator, which is then lowered. Each of `places` is a converted node:
{"graph": number in `graphs`, "node": index, "name"}. Domains are named as people write them. Strings of the model are
unchanged; the text has them escaped and cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from opset.errors import SHOWN, brief_name, listing, safe_text
from opset.model.graph.index import BodyLabels
from opset.plain_text import table_lines
from opset.schemas.names import domain_name
from opset.version_converter.result import Action, Conversion

Data = Mapping[str, Any]
FEW = 4
"""Nodes in place of one that are not counted for the reader."""


def conversion_data(conversion: Conversion, *, places: bool = True) -> dict[str, Any]:
    """Return a conversion as plain data (see above), with or without places; operators that change come first."""
    groups: dict[tuple[Any, ...], list[Action]] = {}
    for action in conversion.actions:
        key = (action.domain, action.op_type, action.since, action.until, action.steps, action.result)
        groups.setdefault(key, []).append(action)
    labels = BodyLabels()
    converted = [
        _operator_entry(
            domain,
            op_type,
            since,
            until,
            len(actions),
            steps=list(steps),
            becomes=list(result),
            places=[_place_entry(action, labels) for action in actions] if places else [],
        )
        for (domain, op_type, since, until, steps, result), actions in sorted(groups.items(), key=itemgetter(0))
    ]
    kept = [_operator_entry(*key, nodes) for key, nodes in sorted(conversion.kept.items())]
    passed = [
        {"domain": domain_name(domain), "operator": op_type, "nodes": nodes}
        for (domain, op_type), nodes in sorted(conversion.passed.items())
    ]
    nodes = {
        "converted": len(conversion.actions),
        "kept": conversion.kept.total(),
        "passed": conversion.passed.total(),
        "refused": conversion.refused,
    }
    return {
        "opsets": [
            {"domain": domain_name(domain), "before": before, "after": conversion.target.get(domain, before)}
            for domain, before in conversion.source.items()
        ],
        "ir_version": {"before": conversion.ir_version[0], "after": conversion.ir_version[1]},
        "operators": converted + kept,
        "graphs": labels.labels,
        "passed": passed,
        "notes": conversion.notes,
        "nodes": {"total": sum(nodes.values()), **nodes},
        "errors": [finding._asdict() for finding in conversion.refusals],
        "omitted": conversion.refusals.omitted,
    }


def headline(data: Data) -> str:
    """Return the versions of a conversion's data on one line: "ai.onnx 13 -> 21, IR version 7 -> 10"."""
    versions = [f"{entry['domain']} {_versions_text(entry)}" for entry in data["opsets"]]
    return f"{listing(versions, SHOWN)}, IR version {_versions_text(data['ir_version'])}"


def report_lines(data: Data) -> list[str]:
    """Return the lines below the versions: a table of operators, operators that passed through, notes, a sum."""
    rows = [["operator", "version", "nodes", "what happens"]]
    for entry in data["operators"]:
        name = entry["operator"] if entry["domain"] == "ai.onnx" else f"{entry['domain']}.{entry['operator']}"
        counts = Counter(entry["becomes"])
        made = listing([name if count == 1 else f"{count} {name}" for name, count in counts.items()])
        becomes = "kept" if entry["kept"] else f"converted to {made}"
        if not entry["after"]:
            size = len(entry["becomes"])
            becomes = f"lowered to {made}" if size <= FEW else f"lowered to {size} nodes: {made}"
        rows.append([brief_name(name), _versions_text(entry), str(entry["nodes"]), becomes])
    lines = table_lines(rows, right=[2]) if len(rows) > 1 else []
    domains: dict[str, list[str]] = {}
    for entry in data["passed"]:
        domains.setdefault(entry["domain"], []).append(f"{entry['operator']} ({entry['nodes']})")
    for domain, names in domains.items():
        why = f"as there are no schemas of {brief_name(domain)}"
        lines.append(f"  passed through, {why}: {listing(names, SHOWN)}")
    lines += [f"  note: {safe_text(note)}" for note in data["notes"][:SHOWN]]
    if len(data["notes"]) > SHOWN:
        lines.append(f"  … and {len(data['notes']) - SHOWN:,} more notes")
    counts = data["nodes"]
    if counts["total"]:
        words = {"converted": "converted", "kept": "kept", "passed": "passed through", "refused": "refused"}
        parts = [f"{counts[key]} {word}" for key, word in words.items() if counts[key]]
        lines.append(f"  {_number_of_nodes(counts['total'])}: {', '.join(parts)}")
    return lines


def refusal_line(data: Data) -> str:
    """Return the last line of a refused conversion: how many nodes prevent it."""
    refused, total = data["nodes"]["refused"], data["nodes"]["total"]
    what = f"{refused} of {_number_of_nodes(total)}" if refused else "the model"
    return f"{what} cannot be converted; nothing was written."


def _operator_entry(
    domain: str,
    op_type: str,
    before: int,
    after: int,
    nodes: int,
    *,
    steps: Sequence[str] = (),
    becomes: Sequence[str] = (),
    places: Sequence[Data] = (),
) -> dict[str, Any]:
    return {
        "domain": domain_name(domain),
        "operator": op_type,
        "before": before,
        "after": after,
        "nodes": nodes,
        "kept": not steps,
        "steps": steps,
        "becomes": becomes,
        "places": places,
    }


def _place_entry(action: Action, labels: BodyLabels) -> dict[str, Any]:
    body, index = action.body, action.node_index
    return {"graph": labels.number_of(body), "node": index, "name": body.names[index]}


def _versions_text(entry: Data) -> str:
    same = entry["before"] == entry["after"]
    return f"{entry['before']}" if same or not entry["after"] else f"{entry['before']} -> {entry['after']}"


def _number_of_nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"
