"""Proofs by z3: the converted model is the same map of indices as the original, for all sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from typing import Any

import z3

import opset
from judges.proofs import index_maps as m
from judges.proofs.index_cases import CASES, Case
from judges.proofs.index_maps import NotReadError, Reading, read_model
from judges.proofs.subjects import Subject
from opset.docgen.proofs import ProofPart
from opset.errors import OpsetError

SECONDS = 8
"""The time in which z3 has to decide one case."""


def prove(subject: Subject) -> tuple[list[ProofPart], list[str]]:
    """Return what is proved of a subject's cases, and those for which z3 found sizes at which they differ."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    refused: Counter[str] = Counter()
    ranks: set[int] = set()
    lowest = 0
    for case in cases_of(subject):
        kind, why, smallest = decide(subject, case)
        counts[kind] += 1
        if kind == "proved":
            ranks.add(case.rank)
            lowest = max(lowest, smallest)
        elif kind == "wrong":
            wrong.append(f"{case.name}: {why}")
        elif kind == "refused":
            refused[why] += 1
    parts = []
    if counts["proved"]:
        number = counts["proved"]
        sizes = "all sizes" if not lowest else f"all sizes from {lowest} on"
        shown = f"{number:,} forms of nodes for {sizes}, rank {_range(ranks)}"
        parts.append(ProofPart("symbolic", "open sizes", shown))
    if refused and counts["proved"]:
        codes = ", ".join(f"{code} ({count})" for code, count in sorted(refused.items()))
        parts.append(ProofPart("refused", "forms with open sizes", codes))
    return parts, wrong


def _range(ranks: set[int]) -> str:
    return str(min(ranks)) if len(ranks) == 1 else f"{min(ranks)}-{max(ranks)}"


def cases_of(subject: Subject) -> Iterator[Case]:
    """Yield the forms of nodes of a subject that are read as index maps."""
    if make := None if subject.is_in_place or subject.domain else CASES.get(subject.operator):
        yield from make(subject)


def decide(subject: Subject, case: Case) -> tuple[str, str, int]:
    """Return whether a case is proved, wrong, refused, open or void; why; and the smallest size that it holds for."""
    try:
        made = opset.convert(case.model, {"": subject.to})
    except OpsetError as error:
        return "refused", error.findings[0].code, 0
    kind, why = "open", ""
    for smallest, inputs in product((0, 1), (case.inputs, case.flat)):
        try:
            before, after = read_model(case.model, inputs), read_model(made, inputs)
            kind, why = _compare(case, before, after, [*case.premises, *(size >= smallest for size in case.sizes)])
        except NotReadError as error:
            kind, why = "open", str(error)
        if kind != "open":
            return kind, why, smallest
    return kind, why, 1


def _compare(case: Case, before: Reading, after: Reading, premises: list[Any]) -> tuple[str, str]:
    """Return whether two models give the same shape and the same elements, and sizes for which they do not."""
    solver = z3.Solver()
    solver.set("timeout", SECONDS * 1000)
    solver.add(*premises, *before.demands.terms)
    if solver.check() == z3.unsat:
        return "void", "no sizes are legal"
    for output in case.model.graph.output:
        want, have = before.values[output.name], after.values[output.name]
        if want.rank != have.rank:
            return "wrong", f"rank {have.rank} instead of {want.rank}"
        goals = [(term, "a demand") for term in after.demands.terms]
        goals += [(m.holds(a == b), "a size") for a, b in zip(want.shape, have.shape, strict=True) if not m.same(a, b)]
        index = [z3.Int(f"index {axis}") for axis in range(want.rank)]
        inside = [z3.And(at >= 0, at < size) for at, size in zip(index, want.shape, strict=True)]
        element = want.at(index)
        legal = m.both(*inside, *before.demands.reads)
        goals.append((z3.Implies(legal, m.holds(element == have.at(index))), "an element"))
        for goal, what in goals:
            found = _refutation(solver, goal)
            if found is not None:
                return ("open" if found == "unknown" else "wrong"), f"{what}: {found}"
    return "proved", ""


def _refutation(solver: Any, goal: Any) -> str | None:
    """Return values for which a goal does not hold, "unknown" if z3 did not decide, None if it holds."""
    goal = z3.simplify(m.holds(goal), som=True)
    if z3.is_true(goal):
        return None
    solver.push()
    solver.add(z3.Not(goal))
    outcome = solver.check()
    text = "unknown"
    if outcome == z3.sat:
        model = solver.model()
        text = ", ".join(f"{each} = {model[each]}" for each in model.decls() if each.arity() == 0)
    solver.pop()
    return None if outcome == z3.unsat else text
