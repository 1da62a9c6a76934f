"""The result of a conversion."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from opset.errors import Finding, FindingList
from opset.model.graph.index import Body
from opset.model.storage.container import Model


class Action(NamedTuple):
    """The conversion of one node: its versions before and after, the steps that changed it, and the new operators."""

    body: Body
    node_index: int
    domain: str
    op_type: str
    since: int
    until: int
    steps: tuple[str, ...]
    result: tuple[str, ...]

    @property
    def location(self) -> str:
        """Path of the node in the given model."""
        return self.body.location(self.node_index)


@dataclass(slots=True)
class Conversion:
    """A model at other versions: its versions before and after, the nodes that were converted, and every refusal.

    - `source`, `target`: opset version by domain; `ir_version`: before and after;
    - `actions`: the nodes that were converted; `kept`: how many stayed as they are, by domain, operator, since_version
      before and after; `passed`: how many are of domains without schemas, by domain and operator;
    - `refusals`: what cannot be converted, the first thousand, and how many more; `refused`: how many nodes;
    - `blocked`: the first refusal of nodes of one operator and kind, and how many there are, by domain, operator,
      version and kind of refusal;
    - `notes`: remarks for the user;
    - `changes`: whether the converted model differs from the given one;
    - `model`: the converted model, the given one if nothing changes; None if something is refused, and in the result of
      `plan`.
    """

    source: dict[str, int]
    target: dict[str, int]
    ir_version: tuple[int, int]
    actions: list[Action] = field(default_factory=list)
    kept: Counter[tuple[str, str, int, int]] = field(default_factory=Counter)
    passed: Counter[tuple[str, str]] = field(default_factory=Counter)
    refusals: FindingList = field(default_factory=FindingList)
    refused: int = 0
    blocked: dict[tuple[str, str, int, tuple[str, ...]], tuple[Finding, int]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    changes: bool = False
    model: Model | None = None
