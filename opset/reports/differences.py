"""The difference of two models as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from opset.description.comparison import ModelComparison
from opset.description.structure.comparing import PartCounts
from opset.description.structure.folding import StructureChange
from opset.reports.frame import Cell, ReportPage, ReportPart, ReportTable, number_cell, page_text


def difference_page(old: str, new: str, compared: ModelComparison) -> str:
    """Return the difference of two models as an HTML document.

    `old` and `new` are the names of the models, `compared` is their comparison.
    """
    interface, structure = compared.interface, compared.structure
    versions = f"{interface.version_before} → {interface.version_after}"
    following = f"lowest that follows: {interface.next_version or 'none is left'}"
    facts = [("For callers", interface.level), ("Model version", f"{versions}; {following}")]
    rows = [
        [*map(Cell, (each.level, each.kind, each.place, each.before, each.after, each.why))]
        for each in interface.changes
    ]
    head = ["level", "kind", "place", "before", "after", "why"]
    tables = [ReportTable("Changes for callers", head, rows, _more(interface.omitted))] if rows else []
    tables.append(_counts_table({"nodes": structure.nodes, "weights": structure.weights}))
    parts = [ReportPart("callers", "For callers", tables=tables)]
    if structure.changes or structure.notes:
        parts.append(ReportPart("structure", "Structure", tables=[*_structure_tables(compared)], lines=structure.notes))
    return page_text(ReportPage(f"{old} → {new}", None, facts, parts))


def _counts_table(counts: dict[str, PartCounts]) -> ReportTable:
    """Return a table with a row for each key of `counts`, "nodes" and "weights".

    It counts them in both models, and those that are the same, changed, and so on.
    """
    rows = [[Cell(name), *(number_cell(f"{number:,}") for number in each)] for name, each in counts.items()]
    return ReportTable("Counts", ["", "before", "after", *PartCounts._fields[2:]], rows)


def _structure_tables(compared: ModelComparison) -> Iterator[ReportTable]:
    """Yield the table of changes of the structure; nothing if there are none."""
    structure = compared.structure
    rows = [_change_row(each) for each in structure.changes]
    if rows:
        yield ReportTable(
            "Changes of the structure", ["change", "place", "in", "details"], rows, _more(structure.omitted)
        )


def _change_row(change: StructureChange) -> Sequence[Cell]:
    """Return the row of a change of the structure: its sign, its place, the body of the model, and details."""
    details = [f"{part}: {before or 'none'} → {after or 'none'}" for part, before, after in change.details]
    sign = Cell(change.change, change.change)
    return [sign, Cell(change.place), Cell(change.body), Cell(lines=details)]


def _more(omitted: int) -> str:
    """Return "… and 5 more" for 5 entries that are left out, "" for none."""
    return f"… and {omitted:,} more" if omitted else ""
