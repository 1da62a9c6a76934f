"""The result of a conversion."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from opset.errors import Finding, FindingList, listing
from opset.html_text import Table, findings_table, html_of, missing_attribute, one_line
from opset.model.graph.index import Body
from opset.model.storage.container import Model


class Action(NamedTuple):
    """The conversion of one node.

    - `since`, `until`: since_versions of the operator before and after; `until` is 0 if the node was lowered;
    - `steps`: names of the transitions that changed it; `result`: the operators of the nodes that replace it.
    """

    body: Body
    node_index: int
    domain: str
    op_type: str
    since: int
    until: int
    steps: tuple[str, ...]
    result: tuple[str, ...]

    @property
    def kind(self) -> tuple[Any, ...]:
        """(domain, op_type, since, until, steps, result): equal for nodes that were converted alike."""
        return self[2:]

    @property
    def location(self) -> str:
        """The path of the node in the given model: "graph 'main', node 'scale' (Mul)"."""
        return self.body.location(self.node_index)


_PLACES = {
    "save": "conversion.model.save(path); `plan` has no model: opset.convert(model, to)",
    "proto": "conversion.model.proto",
    "graph": "conversion.model.graph",
    "findings": "conversion.refusals",
    "errors": "conversion.refusals",
}
"""Where to find what a conversion does not have, by the name under which it is looked for."""


@dataclass(slots=True, repr=False)
class Conversion:
    """The result of a conversion: versions before and after, the converted nodes, every refusal, the new model.

    - `source`, `target`: opset version by domain; `ir_version`: before and after;
    - `actions`: the nodes that were converted;
    - `kept`: how many nodes stayed as they are, by domain, operator, since_version before and after;
    - `removed`: how many nodes were removed, since nothing reads their results any more, by domain, operator and
      since_version;
    - `passed`: how many nodes are of domains without schemas, by domain and operator;
    - `refusals`: the first thousand refusals, and how many more there are; `refused`: the number of refused nodes;
    - `examples`: for each kind of action, the nodes that replaced the first node of this kind;
    - `blocked`: the first refusal of each kind for each operator, and how many there are, by domain, operator, version
      and kind of refusal;
    - `notes`: remarks for the user;
    - `changes`: whether the converted model differs from the given one;
    - `model`: the converted model, or the given one if nothing changes; None if something is refused, and in the result
      of `plan`.
    """

    source: dict[str, int]
    target: dict[str, int]
    ir_version: tuple[int, int]
    actions: list[Action] = field(default_factory=list)
    kept: Counter[tuple[str, str, int, int]] = field(default_factory=Counter)
    removed: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    passed: Counter[tuple[str, str]] = field(default_factory=Counter)
    refusals: FindingList = field(default_factory=FindingList)
    refused: int = 0
    blocked: dict[tuple[str, str, int, tuple[str, ...]], tuple[Finding, int]] = field(default_factory=dict)
    examples: dict[tuple[Any, ...], list[Any]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    changes: bool = False
    model: Model | None = None

    def __repr__(self) -> str:
        counts = f"{len(self.actions):,} converted, {self.kept.total():,} kept, {self.refused:,} refused"
        state = "refused" if self.refusals else "converted" if self.model is not None else "possible"
        return one_line("Conversion", f"{state}: {self._versions()}; nodes: {counts}")

    def _repr_html_(self) -> str:
        changed = Counter((each.op_type, each.since, each.until, ", ".join(each.result)) for each in self.actions)
        rows = [
            *((op, f"{old} -> {new or 'none'}", count, made) for (op, old, new, made), count in changed.items()),
            *((op, f"{old} -> {new}", count, "kept") for (_, op, old, new), count in self.kept.items()),
            *((op, f"{since}", count, "removed") for (_, op, since), count in self.removed.items()),
            *((op, "", count, f"passed: no schemas of {domain}") for (domain, op), count in self.passed.items()),
        ]
        tables = [
            findings_table("refusals", self.refusals.group_by_kind()),
            Table("nodes", ("operator", "version", "nodes", "what happens"), rows),
            Table("notes", (), [(note,) for note in self.notes]),
        ]
        return html_of(self._versions(), tables)

    def _versions(self) -> str:
        """Return the versions before and after as text: "ai.onnx 13 -> 21, IR version 7 -> 10".

        A version that stays is written twice: "ai.onnx 13 -> 13".
        """
        after = self.target
        opsets = [f"{domain or 'ai.onnx'} {old} -> {after.get(domain, old)}" for domain, old in self.source.items()]
        return f"{listing(opsets)}, IR version {self.ir_version[0]} -> {self.ir_version[1]}"

    if not TYPE_CHECKING:  # a checker of types knows the names

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute("Conversion", name, _PLACES, dir(type(self)))
