"""What a conversion did, or would do: as plain data, which is its JSON, and as text that is made from that data alone.

    {"opsets": [{"domain", "before", "after"}], "ir_version": {"before", "after"},
     "operators": [{"domain", "operator", "before", "after", "nodes", "kept", "steps", "becomes", "places"}],
     "passed": [{"domain", "operator", "nodes"}], "notes": […],
     "nodes": {"total", "converted", "kept", "passed", "refused"},
     "errors": [{"code", "message", "place", "why", "help", "file"}]}

Domains are named as people write them. Strings of the model are as they are in the model; the text has them escaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from opset.errors import Finding, printable
from opset.schemas.names import shown
from opset.text import columns
from opset.version_converter.result import Conversion

Data = Mapping[str, Any]


def conversion_data(conversion: Conversion) -> dict[str, Any]:
    """Return a conversion as plain data (see above); operators that change come first."""
    groups: dict[tuple[Any, ...], list[str]] = {}
    for action in conversion.actions:
        key = (action.domain, action.op_type, action.since, action.until, action.steps, action.result)
        groups.setdefault(key, []).append(action.location)
    converted = [
        _operator(domain, op_type, since, until, len(places), steps=list(steps), becomes=list(result), places=places)
        for (domain, op_type, since, until, steps, result), places in sorted(groups.items())
    ]
    kept = [_operator(*key, nodes) for key, nodes in sorted(conversion.kept.items())]
    passed = [
        {"domain": shown(domain), "operator": op_type, "nodes": nodes}
        for (domain, op_type), nodes in sorted(conversion.passed.items())
    ]
    nodes = {
        "converted": len(conversion.actions),
        "kept": conversion.kept.total(),
        "passed": conversion.passed.total(),
        "refused": len({finding.place for finding in conversion.refusals if not is_of_model(finding.code)}),
    }
    return {
        "opsets": [
            {"domain": shown(domain), "before": before, "after": conversion.target.get(domain, before)}
            for domain, before in conversion.source.items()
        ],
        "ir_version": {"before": conversion.ir_version[0], "after": conversion.ir_version[1]},
        "operators": converted + kept,
        "passed": passed,
        "notes": conversion.notes,
        "nodes": {"total": sum(nodes.values()), **nodes},
        "errors": [finding._asdict() for finding in conversion.refusals],
    }


def is_of_model(code: str) -> bool:
    """Return whether a refusal's code is about the model as a whole, not about one node."""
    return code.startswith("C3")


def head(data: Data) -> str:
    """Return the versions of a conversion's data on one line: "ai.onnx 13 -> 21, IR version 7 -> 10"."""
    versions = [f"{printable(each['domain'])} {_span(each)}" for each in data["opsets"]]
    return ", ".join([*versions, f"IR version {_span(data['ir_version'])}"])


def body(data: Data) -> list[str]:
    """Return the lines below the versions: a table of operators, what passed through, notes, a sum."""
    rows = [["operator", "version", "nodes", "what happens"]]
    for each in data["operators"]:
        name = each["operator"] if each["domain"] == "ai.onnx" else f"{each['domain']}.{each['operator']}"
        counts = Counter(each["becomes"])
        made = ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())
        becomes = "kept" if each["kept"] else f"converted to {made}"
        rows.append([printable(name), _span(each), str(each["nodes"]), printable(becomes)])
    lines = columns(rows, right=[2]) if len(rows) > 1 else []
    domains: dict[str, list[str]] = {}
    for each in data["passed"]:
        domains.setdefault(each["domain"], []).append(f"{each['operator']} ({each['nodes']})")
    for domain, names in domains.items():
        lines.append(f"  passed through, as there are no schemas of {printable(domain)}: {printable(', '.join(names))}")
    lines += [f"  note: {printable(note)}" for note in data["notes"]]
    counts = data["nodes"]
    if counts["total"]:
        words = {"converted": "converted", "kept": "kept", "passed": "passed through", "refused": "refused"}
        parts = [f"{counts[key]} {word}" for key, word in words.items() if counts[key]]
        lines.append(f"  {_nodes(counts['total'])}: {', '.join(parts)}")
    return lines


def findings(data: Data) -> list[Finding]:
    """Return the refusals of a conversion's data."""
    return [Finding(**error) for error in data["errors"]]


def verdict(data: Data) -> str:
    """Return the last line of a refused conversion: how much of the model stands in the way."""
    refused, total = data["nodes"]["refused"], data["nodes"]["total"]
    what = f"{refused} of {_nodes(total)}" if refused else "the model"
    return f"{what} cannot be converted; nothing was written."


def _operator(
    domain: str, op_type: str, before: int, after: int, nodes: int, *,
    steps: Sequence[str] = (), becomes: Sequence[str] = (), places: Sequence[str] = (),
) -> dict[str, Any]:
    return {
        "domain": shown(domain), "operator": op_type, "before": before, "after": after, "nodes": nodes,
        "kept": not steps, "steps": steps, "becomes": becomes, "places": places,
    }


def _span(each: Data) -> str:
    same = each["before"] == each["after"]
    return f"{each['before']}" if same else f"{each['before']} -> {each['after']}"


def _nodes(count: int) -> str:
    return f"{count} node{'' if count == 1 else 's'}"
