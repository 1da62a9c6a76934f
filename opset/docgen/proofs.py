"""Proofs of adapters: `schemas/proofs.json`, which `python -m judges proofs --write` writes, a line for each.

    "ai.onnx Slice 10-1 down": {"fingerprint": "…", "parts": [["symbolic", "open sizes", "51 forms of nodes …"]]}

The fingerprint identifies the adapter as it was proved. Pages of operators show the kind of each transition, and
the guide `proofs` has all statements.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from opset.schemas.index import FOLDER
from opset.schemas.names import domain_name

FILE = FOLDER / "proofs.json"
KINDS = {
    "identity": "no node changes, and one kernel defines both versions; nothing is left to prove",
    "exhaustive": "all values of 8 and 16 bits were computed before and after, and all pairs of 8 bits",
    "symbolic": "output indices lead to the same input indices for all sizes: z3 found no size for which they do not",
    "sampled": "examples and drawn nodes were computed before and after",
    "refused": "the nodes are not converted, so there is nothing to be equal",
}
"""The kinds of statements with what each means, strongest first."""


class ProofPart(NamedTuple):
    """A statement on a transition: its kind, the nodes that it is about ("" for all nodes), and the result."""

    kind: str
    about: str
    shown: str


class Proof(NamedTuple):
    """The statements proved on a transition or lowering, and a fingerprint of the adapter that they hold for."""

    fingerprint: str
    parts: list[ProofPart]


@cache
def read_proofs() -> Mapping[str, Proof]:
    """Return all proofs by key; `transition_key` and `lowering_key` make the keys. Cached."""
    data = json.loads(FILE.read_text("utf-8"))
    return {
        key: Proof(entry["fingerprint"], [ProofPart(*part) for part in entry["parts"]]) for key, entry in data.items()
    }


def transition_key(domain: str, operator: str, source: int, target: int) -> str:
    """Return the key of a transition between two versions: "ai.onnx Slice 1-10 down".

    The lower version comes first in the key, whatever the direction. "up" stands for a `target` above `source`.
    """
    direction = "up" if target > source else "down"
    return f"{domain_name(domain)} {operator} {min(source, target)}-{max(source, target)} {direction}"


def lowering_key(domain: str, operator: str, since: int) -> str:
    """Return the key of the lowering of an operator version: "ai.onnx Gelu 20 lowering"."""
    return f"{domain_name(domain)} {operator} {since} lowering"


def kind_of(parts: Iterable[ProofPart]) -> str:
    """Return the kind of a whole proof: "symbolic" if a part of it is symbolic, else the weakest kind of its parts.

    KINDS has the kinds, strongest first. Parts of the kind "refused" are skipped. If there are no other parts, the
    result is "refused".
    """
    kinds = {part.kind for part in parts} - {"refused"}
    if "symbolic" in kinds:
        return "symbolic"
    return max(kinds, key=list(KINDS).index) if kinds else "refused"


def proof_kind(key: str) -> str:
    """Return the kind of proof for a transition or lowering, one of KINDS; "" if there is none.

    `key` is made by `transition_key` or `lowering_key`.
    """
    proof = read_proofs().get(key)
    return kind_of(proof.parts) if proof is not None else ""
