"""What changed from one model to another: for callers, and in nodes, weights, functions and metadata.

compare_models("old.onnx", "new.onnx").structure.nodes.changed
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opset.budget import Limits
from opset.description.interface import InterfaceChange, InterfaceComparison, compare_loaded
from opset.description.structure.comparing import StructureComparison, compare_structure
from opset.file_names import list_paths
from opset.html_text import Table, html_of, one_line
from opset.model import load
from opset.options import checked_options
from opset.plain_text import count_text


@dataclass(frozen=True, repr=False)
class ModelComparison:
    """What changed from one model to another: `interface` for callers, `structure` in nodes, weights and metadata."""

    interface: InterfaceComparison
    structure: StructureComparison

    def __repr__(self) -> str:
        """Return one line with the level, and how many nodes and weights there were and are."""
        nodes, weights = self.structure.nodes, self.structure.weights
        counts = f"{nodes.before:,} -> {nodes.after:,} nodes, {weights.before:,} -> {weights.after:,} weights"
        changes = count_text(len(self.structure.changes) + self.structure.omitted, "change")
        return one_line("ModelComparison", f"{self.interface.level}: {counts}, {changes} of these")

    def _repr_html_(self) -> str:
        """Return tables of the changes for callers, and of those in the structure, for notebooks."""
        rows = [
            (
                each.change,
                each.place,
                each.body,
                "; ".join(f"{it.part}: {it.before} -> {it.after}" for it in each.details),
            )
            for each in self.structure.changes
        ]
        tables = [
            Table("changes for callers", InterfaceChange._fields, self.interface.changes),
            Table("changes of the structure", ("change", "place", "body", "details"), rows),
        ]
        return html_of(repr(self).strip("<>"), tables)


@checked_options
def compare_models(
    old: Any,
    new: Any,
    *,
    weights: bool = True,
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
) -> ModelComparison:
    """Return what changed from one model to another.

    Nodes are matched by their names, else by their structure: operator, attributes, and what computes their inputs or
    uses their outputs. Weights are compared by digest.

    Args:
        old: The model before: a path, bytes, an opset.Model, or a ModelProto of the onnx package.
        new: The model after, in any of these forms.
        weights: Whether large data is read to be compared, also from external files; data at one place of one file is
            equal unread. If not, weights of the same type and shape count as the same.
        allow_external_roots: Folders outside the models' own from which external data may be read.
        limits: How much work symbolic sizes of inputs and outputs may take.

    Returns:
        The comparison.

    Raises:
        ModelError: A model is malformed.
        InferenceError: I401, sizes of inputs and outputs take more work than the limits allow.
    """
    roots = list_paths(allow_external_roots)
    before, after = load(old, allow_external_roots=roots), load(new, allow_external_roots=roots)
    interface = compare_loaded(before, after, limits)
    return ModelComparison(interface, compare_structure(before, after, weights=weights))
