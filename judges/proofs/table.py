"""The facts of proofs as a file, the parts of each subject, and the page that shows them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from judges.proofs.subjects import DIRECTIONS, Subject, all_subjects, fingerprint, transition_count
from opset.docgen.proofs import FILE, KINDS, Proof, ProofPart, kind_of, read_proofs

PAGE = Path(__file__).parents[2] / "docs" / "proofs.md"
RENEW = "python -m judges proofs --write"


def write_facts(facts: Mapping[str, Proof]) -> None:
    """Write facts in the order of subjects, one line each."""
    lines = []
    for key in (subject.key for subject in all_subjects()):
        if key in facts:
            entry = {"fingerprint": facts[key].fingerprint, "parts": facts[key].parts}
            lines.append(f" {json.dumps(key)}: {json.dumps(entry, ensure_ascii=False)}")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    read_proofs.cache_clear()


def faults_of(facts: Mapping[str, Proof]) -> Iterator[str]:
    """Yield what is missing or stale in the facts, with the command that renews them."""
    known = set()
    for subject in all_subjects():
        known.add(subject.key)
        entry = facts.get(subject.key)
        renew = f"{RENEW} -k '{subject.key}'"
        if entry is None:
            yield f"{subject.key} has no row: {renew}"
        elif entry.fingerprint != fingerprint(subject):
            yield f"{subject.key}: its adapter has changed since it was proved: {renew}"
        elif not entry.parts or any(part.kind not in KINDS or not part.shown for part in entry.parts):
            yield f"{subject.key}: nothing was shown of it: {renew}"
    for key in facts.keys() - known:
        yield f"{key} is no transition and no lowering: {RENEW}"


def page(facts: Mapping[str, Proof]) -> str:
    """Return the page of documentation made of facts."""
    subjects = all_subjects()
    counts = Counter((subject.direction, kind_of(facts[subject.key].parts)) for subject in subjects)
    lines = ["| kind | up | down | lowerings |", "|---|---|---|---|"]
    for kind in KINDS:
        lines.append(f"| {kind} | " + " | ".join(str(counts[each, kind]) for each in DIRECTIONS) + " |")
    totals = [sum(counts[each, kind] for kind in KINDS) for each in DIRECTIONS]
    lines.append("| all | " + " | ".join(map(str, totals)) + " |")
    shown = Counter(kind for subject in subjects for kind in {part.kind for part in facts[subject.key].parts})
    lines += ["", "Many have several statements, each about some types or forms of nodes. With such a statement:"]
    lines += [", ".join(f"{kind} {shown[kind]}" for kind in KINDS) + "."]
    head = HEAD.format(transitions=transition_count(), lowerings=totals[2], counts="\n".join(lines))
    return head + "\n".join(_sections(facts))


def _sections(facts: Mapping[str, Proof]) -> Iterator[str]:
    """Yield the lines of the tables: transitions by domain, then lowerings."""
    transitions = [each for each in all_subjects() if each.direction != "lowering"]
    for domain, group in groupby(transitions, lambda each: each.domain):
        yield f"\n## Transitions of {domain or 'ai.onnx'}\n"
        yield "| operator | from | to | kind | of | shown |\n|---|---|---|---|---|---|"
        for subject in group:
            ends = (subject.before, subject.since) if subject.direction == "up" else (subject.since, subject.before)
            yield from _rows(f"| {subject.operator} | {ends[0]} | {ends[1]} |", facts[subject.key].parts)
    yield "\n## Lowerings\n"
    yield "| operator | since | kind | of | shown |\n|---|---|---|---|---|"
    for subject in (each for each in all_subjects() if each.direction == "lowering"):
        name = f"{subject.domain}.{subject.operator}" if subject.domain else subject.operator
        yield from _rows(f"| {name} | {subject.since} |", facts[subject.key].parts)
    yield ""


def _rows(start: str, parts: list[ProofPart]) -> Iterator[str]:
    """Yield the rows of a subject, one for each part, strongest first."""
    for part in sorted(parts, key=lambda each: list(KINDS).index(each.kind)):
        yield f"{start} {part.kind} | {part.about or 'all'} | {part.shown} |"


def stale(subject: Subject, facts: Mapping[str, Proof]) -> bool:
    """Whether a subject has no facts, or its adapter has changed since."""
    entry = facts.get(subject.key)
    return entry is None or entry.fingerprint != fingerprint(subject)


HEAD = """# What is proved of adapters

A conversion takes a node across transitions, from one version of its operator to the next, up or down, and expresses an
operator that the target lacks by older ones, which is a lowering. Each of the {transitions} transitions in both
directions, and each of the {lowerings} lowerings, has a row here, which says what was proved of it and how:

- **identity**: the difference of the two signatures shows that no node changes. It stays as it is, or is refused if it
  has something that the other version lacks; and both versions have one and the same kernel, which is the definition
  that this project computes with. There is nothing left to prove.
- **exhaustive**: an operator that works on one element at a time, with each list of attributes among its examples, was
  computed before and after the conversion on all values of the types of 8 and 16 bits, and all pairs of values of 8
  bits. It holds for these types and attributes without exception, and says nothing of wider types.
- **symbolic**: the operator moves elements. The converted model was read as a map from the indices of its output to
  those of its inputs, with sizes that are variables, and z3 found the map equal to the operator's own for all sizes,
  of the ranks that the row names. The adapter's own result is read, not a copy of it. Axes, modes and constants are
  those of a grid, and the row has the number of forms; computed integers are variables, too, or values of the grid.
  Integers are unbounded there: an overflow of INT64 is left out. Forms that z3 did not decide are not counted.
- **sampled**: examples of the operator's YAML, special values and drawn nodes were computed before and after, and the
  row has their number, their seeds and the worst difference in units of the last digit (ulp); ~ marks units of the
  largest value around, if sums cancel. Of random operators, types and shapes alone are compared. This is evidence, not
  a proof: it says nothing of what was not drawn.
- **refused**: these nodes are not converted; the codes say why (`opset explain C204`). Nothing can be wrong there.

Both sides are computed by the reference evaluator, so that a wrong kernel would be wrong twice: kernels are compared
with onnxruntime and with the standard's expected outputs elsewhere ([What judges say of the corpus](judgements.md)).
[How exact lowerings are](lowerings.md) has figures for more opsets and the standard's node tests. A row that has
several statements counts here as symbolic if one of them is, as samples repeat such a proof with stated sizes and other
attributes; else as the weakest of them, refusals apart:

{counts}

`python -m judges proofs` proves everything anew and compares it with what is recorded; `python -m judges proofs
--write` writes this page. A test finds a row whose adapter, declarations or signatures have changed since.
"""
