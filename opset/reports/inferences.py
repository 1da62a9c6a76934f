"""The sections on an inference: how many values are known, where it stops, and the type of each value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opset.inference.engine.result import COVERAGE_WORDS
from opset.model.graph.index import node_label
from opset.reports.frame import Cell, ReportPart, first_rows


def coverage_text(coverage: Mapping[str, int]) -> str:
    """Return how many values are known, and how well: "46: 40 known in numbers, 6 with variables".

    `coverage` has the number of values for each degree of knowledge, a key of COVERAGE_WORDS. Degrees without values
    are not named.
    """
    counts = [f"{coverage[each]:,} {words}" for each, words in COVERAGE_WORDS.items() if coverage[each]]
    return f"{sum(coverage.values()):,}: {', '.join(counts) or 'none'}"


def inference_parts(model: Mapping[str, Any]) -> Iterator[ReportPart]:
    """Yield a section on the nodes at which inference stops, if there are any, and one on the types of all values.

    `model` is the report on a model, as JSON. Its `nodes`, for the second section, are there only with `--values`.
    Without them, the section names this option.
    """
    if gaps := model["gaps"]:
        rows = [
            [
                Cell(", ".join(value["name"] for value in gap["values"])),
                Cell(f"{model['graphs'][gap['graph']]}, {gap['place']}"),
                Cell(gap["reason"] or "no reason is known"),
            ]
            for gap in gaps
        ]
        yield ReportPart(
            "gaps", "Not known", tables=[first_rows("Where inference stops", ["value", "where", "why"], rows)]
        )
    if "nodes" not in model:
        yield ReportPart("values", "Values", ["opset infer --values --report shows the type of each value."])
        return
    rows = [
        [
            Cell(value["name"]),
            Cell("not known" if value["type"] is None else model["types"][value["type"]]["shown"]),
            Cell(f"{model['graphs'][node['graph']]}, {node_label(node['name'], node['operator'], node['node'])}"),
        ]
        for node in model["nodes"]
        for value in node["outputs"]
    ]
    tables = [first_rows("Values and their types", ["value", "type", "where"], rows)] if rows else []
    yield ReportPart("values", "Values", tables=tables)
