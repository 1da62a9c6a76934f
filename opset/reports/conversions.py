"""The changes that a conversion makes, by operator and in pictures, of one model or summed over many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from opset.description.structure.folding import fold_names
from opset.docgen.body import replacement_pictures
from opset.errors import KEPT, listing
from opset.opsets.releases import RELEASES
from opset.plain_text import count_text
from opset.reports.frame import (
    Cell,
    Folded,
    ReportChange,
    ReportPart,
    first_rows,
    lines_cell,
    number_cell,
    words_cell,
)
from opset.schemas.names import qualified_name
from opset.version_converter.report import FEW

MOST_PICTURES: Final = 60
"""Kinds of changes that are shown; the table has all."""
MOST_DRAWN: Final = 120_000
"""Characters of pictures of a page; further changes are shown as text."""
FEW_PICTURES: Final = 8
"""Kinds of changes that are not folded."""


@dataclass
class EffectKind:
    """Nodes that a conversion treats alike, in one model or in several.

    `group` is the group of nodes in the report on the first of these models, as JSON. `nodes` and `models` are the
    numbers of nodes and models, `names` the names of the nodes, at most KEPT.
    """

    group: Mapping[str, Any]
    nodes: int = 0
    models: int = 0
    names: list[str] = field(default_factory=list)

    @property
    def operator(self) -> str:
        """The operator's name, with its domain if that is not ai.onnx: "ai.onnx.ml.Scaler"."""
        return qualified_name(self.group["domain"], self.group["operator"])

    @property
    def versions(self) -> str:
        """The versions before and after as text: "13 → 21"; only the one before if other operators replace the node."""
        return versions_words(self.group["before"], self.group["after"] or self.group["before"])

    @property
    def outcome(self) -> str:
        """The words for what a node becomes: "converted to Cast", "lowered to 3 nodes: …".

        They are "lowered" if no version of the operator is left after the conversion.
        """
        if self.group.get("removed"):
            return "removed: nothing reads it any more"
        counts = Counter(self.group["becomes"])
        made = listing([name if count == 1 else f"{count} {name}" for name, count in counts.items()])
        if self.group["after"] or not made:
            return f"converted to {made or 'no node'}"
        size = counts.total()
        return f"lowered to {f'{size} nodes: ' if size > FEW else ''}{made}"


def versions_words(before: object, after: object) -> str:
    """Return two versions as text: "13 → 21", or "13" if they are the same."""
    return str(before) if before == after else f"{before} → {after}"


def targets_words(model: Mapping[str, Any]) -> str:
    """Return the versions of a model before and after a conversion: "ai.onnx 13 → 21, IR version 7 → 10".

    `model` is the report on the model, as JSON.
    """
    opsets = [f"{each['domain']} {versions_words(each['before'], each['after'])}" for each in model["opsets"]]
    return f"{listing(opsets)}, IR version {versions_words(**model['ir_version'])}"


def release_words(model: Mapping[str, Any]) -> str:
    """Return the first releases of onnx with the versions of ai.onnx before and after: "1.8.0 → 1.16.0 of onnx".

    The result is "" if the model does not import ai.onnx, or if no release has one of the versions. `model` is the
    report on the model, as JSON.
    """
    for each in model["opsets"]:
        if each["domain"] == "ai.onnx":
            names = [_first_release(each[key]) for key in ("before", "after")]
            return f"{versions_words(*names)} of onnx" if all(names) else ""
    return ""


def _first_release(opset: int) -> str:
    """Return the name of the first release of onnx that has an opset of ai.onnx, "" if none has it."""
    return next((each.name for each in RELEASES if each.opset >= opset), "")


def kinds_of(models: Iterable[Mapping[str, Any]]) -> list[EffectKind]:
    """Return the kinds of nodes of all models: nodes that a conversion treats alike are one kind.

    Kinds that change come first, sorted by operator and version. `models` are the reports on models, as JSON.
    """
    kinds: dict[tuple[Any, ...], EffectKind] = {}
    for model in models:
        for group in model.get("operators", ()):
            key = tuple(
                tuple(value) if isinstance(value, list) else value
                for name, value in group.items()
                if name not in ("nodes", "places", "example")
            )
            kind = kinds.setdefault(key, EffectKind(group))
            kind.nodes += group["nodes"]
            kind.models += 1
            kind.names += [_place_words(each, model["graphs"]) for each in group["places"][: KEPT - len(kind.names)]]
    return sorted(kinds.values(), key=lambda each: (each.group["kept"], each.operator, each.group["before"]))


def _place_words(place: Mapping[str, Any], graphs: Sequence[str]) -> str:
    """Return the name of a node, or "number 5" if it has none; its graph follows if there are several graphs.

    `place` is {"node", "name", "graph"}, with indexes of the node and of its graph in `graphs`, the names of graphs.
    """
    name = place["name"] or f"number {place['node']}"
    return f"{name}, {graphs[place['graph']]}" if len(graphs) > 1 else name


def change_parts(
    kinds: Sequence[EffectKind], models: Sequence[Mapping[str, Any]], is_refused: bool
) -> Iterator[ReportPart]:
    """Yield the section with a table of the operators whose nodes a conversion changes; nothing if there are no nodes.

    Operators that stay, and nodes of domains without schemas, are folded below it.

    Args:
        kinds: The kinds of nodes, as `kinds_of` returns them.
        models: The reports on models, as JSON.
        is_refused: Whether the model stayed unchanged because some nodes cannot be converted.
    """
    several = len(models) > 1
    changed, kept = ([kind for kind in kinds if kind.group["kept"] == is_kept] for is_kept in (False, True))
    passed: Counter[tuple[str, str]] = Counter()
    for model in models:
        for each in model.get("passed", ()):
            passed[each["domain"], each["operator"]] += each["nodes"]
    if not kinds and not passed:
        return
    head = ["operator", "version", "nodes", *(["models"] if several else []), "what happens", "which nodes"]
    rows = [_row_of(kind, several) for kind in changed]
    tables = [first_rows("Operators that change", head, rows)] if rows else []
    folded = []
    if kept:
        total = sum(kind.nodes for kind in kept)
        rows = [_row_of(kind, several) for kind in kept]
        table = first_rows("Operators that stay as they are", head[: 3 + several], rows)
        folded.append(Folded(f"Nodes that stay as they are: {total:,}, of {count_text(len(kept), 'operator')}", table))
    if passed:
        rows = [[Cell(f"{domain}.{name}"), number_cell(f"{count:,}")] for (domain, name), count in passed.items()]
        table = first_rows("Operators of domains without schemas", ["operator", "nodes"], rows)
        folded.append(Folded(f"Nodes of domains without schemas, which are passed through: {passed.total():,}", table))
    texts = [] if changed else ["No node changes."]
    if is_refused and changed:
        texts.append("These nodes could be converted. Nothing was changed, since others cannot.")
    yield ReportPart("changes", "Changes by operator", texts, tables, folded=folded)


def picture_parts(kinds: Sequence[EffectKind]) -> Iterator[ReportPart]:
    """Yield the section with pictures of kinds of changes; nothing if no node changes, or no kind has an example."""
    changed = [kind for kind in kinds if not kind.group["kept"]]
    if shown := [*_shown_changes(changed)]:
        left = sum(kind.group["example"] is not None for kind in changed) - len(shown)
        texts = ["The first node of each kind of change, as it is given and as it becomes."]
        texts += [f"… and {left:,} more kinds, which the table has"] if left > 0 else []
        yield ReportPart("pictures", "Changes in pictures", texts, changes=shown)


def _row_of(kind: EffectKind, several: bool) -> list[Cell]:
    """Return the row of a table for a kind of nodes.

    If `several`, the report covers several models: the row has their number, and no names of nodes.
    """
    counts = [number_cell(f"{kind.nodes:,}")] + [number_cell(f"{kind.models:,}")] * several
    names = [] if several else [*map(str, fold_names(kind.names))]
    return [Cell(kind.operator), Cell(kind.versions), *counts, Cell(kind.outcome), lines_cell(names, "places")]


def _shown_changes(kinds: Sequence[EffectKind]) -> Iterator[ReportChange]:
    """Yield the kinds of changes whose first node the report shows, at most MOST_PICTURES.

    Kinds without an example are left out. Kinds get pictures until these have MOST_DRAWN characters together; further
    kinds are shown as text.
    """
    drawn = 0
    with_example = [kind for kind in kinds if kind.group["example"] is not None]
    for kind in with_example[:MOST_PICTURES]:
        example = kind.group["example"]
        pictures = replacement_pictures(example["given"], example["made"]) if drawn < MOST_DRAWN else ("", "")
        drawn += sum(map(len, pictures))
        name, *others = map(str, fold_names(kind.names)) if kind.names else ("",)
        more = f" and {kind.nodes - 1:,} more" if others else ""
        count = f", x {kind.nodes:,}" if kind.nodes > 1 else ""
        yield ReportChange(
            title=f"{kind.operator} {kind.versions}{count}: {kind.outcome}",
            text=words_cell(f"{name}{more}.", f"Steps: {', '.join(kind.group['steps'])}.").text,
            before=pictures[1] and pictures[0],
            before_title=f"Before: {kind.operator} {kind.group['before']}",
            after=pictures[1],
            after_title=f"After: {len(example['made']):,} node{'' if len(example['made']) == 1 else 's'}",
            code="\n".join([example["given"], "→", *example["made"]]),
            is_open=len(with_example) <= FEW_PICTURES,
        )
