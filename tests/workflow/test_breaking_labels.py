"""The report on breaking changes beside hand labels of all 432 transitions of the standard's operators.

`breaking_labels.yaml` says what changed in each transition, in the words of the standard's document on versioning. Here
each older version is edited in place into the newer one, and the report has to find what the labels say, and nothing
else; and each newer version comes on top of the older one, as it did, which is no error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from opset.opsets.registry import default_registry
from opset.schemas.index import FOLDER
from opset.schemas.lock import read_lock
from opset.schemas.names import normalize_domain
from opset.workflow.breaking import BREAKING, Break, ComparisonReport, State, compare
from opset.workflow.breaking.states import OperatorState, Version, registry_state

TABLE = yaml.load(Path(__file__).with_name("breaking_labels.yaml").read_text(), yaml.CSafeLoader)
REQUIRES: dict[str, str] = TABLE["requires"]
LABELS: dict[tuple[str, str, str], dict[str, Any]] = {
    (normalize_domain(domain), operator, step): label
    for domain, operators in TABLE["transitions"].items()
    for operator, steps in operators.items()
    for step, label in steps.items()
}
SIDED = {"B111": "added", "B112": "removed", "B113": "renamed", "B114": "reordered", "B115": "arity", "B116": "arity"}
KINDS = {
    "B121": "attribute added", "B122": "attribute removed", "B124": "attribute type", "B125": "default changed",
    "B126": "required", "B131": "types added", "B132": "types removed", "B134": "types tied",
    "B135": "constraint renamed", "B153": "determinism", "B154": "deprecated", "B155": "experimental",
}  # fmt: skip
COARSER = {"optional": "required", "choice added": "choices", "choice removed": "choices"}
MOVED = {"added": "as well", "removed": "it no longer"}
NAMED = ("input added", "input removed", "output added", "output removed", "attribute type", "default changed")
BEHAVIOUR = {"B125", "B127", "B141", "B142", "B143", "B144", "B151", "B157", "B158", "B159", "B171", "B172"}
"""Rules that show a change of behaviour: defaults and legal values, constraints, shapes, prose, examples."""
IN_PROSE = r"negative|differ in shape"
"""Behaviour that nothing but prose states, so that a person has to decide: the report points at the prose."""
UNSEEN = {("", "LpPool", "18-22")}
"""Behaviour that only kernels and inference have; opset test compares these with examples."""


def test_labels_name_every_transition_between_released_versions() -> None:
    released = {
        (normalize_domain(domain), operator, f"{old}-{new}")
        for domain, operators in read_lock(FOLDER).items()
        for operator, versions in operators.items()
        for old, new in pairwise(sorted(map(int, versions)))
    }
    assert released == LABELS.keys()
    assert len(LABELS) == 432
    assert {kind for label in LABELS.values() for kind in label} <= REQUIRES.keys()


def test_edited_in_place_each_transition_breaks_as_labelled() -> None:
    wrong = []
    for key, findings in _by_transition(_edited()).items():
        label = LABELS[key]
        expected = {COARSER.get(kind, kind) for kind in label} - {"behaviour", "clarified"}
        found = {kind for each in findings for kind in _kinds(each)}
        if _as_removed_and_added(expected) != _as_removed_and_added(found):
            wrong.append((key, sorted(expected), sorted(found)))
    assert not wrong


def test_what_was_added_and_removed_is_named() -> None:
    wrong = []
    for key, findings in _by_transition(_edited()).items():
        for kind in NAMED:
            named = {each.message.split("'")[1] for each in findings if kind in _kinds(each)}
            if named != set(LABELS[key].get(kind, ())):
                wrong.append((key, kind, sorted(named)))
        moved = {each.message.split("'")[1] for each in findings if each.rule in ("B121", "B122", "B123")}
        kinds = ("attribute added", "attribute removed", "attribute renamed")
        labelled = {name for kind in kinds for each in LABELS[key].get(kind, ()) for name in each.split(" -> ")}
        if not moved <= labelled:
            wrong.append((key, "attributes", sorted(moved)))
    assert not wrong


def test_edited_in_place_each_transition_requires_what_is_labelled() -> None:
    wrong = []
    for key, findings in _by_transition(_edited()).items():
        label = LABELS[key]
        requires = "new version" if any(REQUIRES[kind] != "none" for kind in label) else "none"
        rules = {each.rule for each in findings}
        errors = any(each.severity == "ERR" for each in findings)
        if "behaviour" in label and key not in UNSEEN and not rules & BEHAVIOUR:
            wrong.append((key, "nothing shows the change of behaviour", sorted(rules)))
        if errors != (requires != "none") and not _left_to_a_person(label, findings):
            wrong.append((key, requires, sorted(rules)))
    assert not wrong


def _left_to_a_person(label: dict[str, Any], findings: list[Break]) -> bool:
    """Whether nothing but prose changed, and a warning points at it."""
    prose = label.keys() == {"behaviour"} and re.search(IN_PROSE, label["behaviour"])
    return bool(prose) and any(each.rule in BEHAVIOUR and each.severity == "WARN" for each in findings)


def test_a_new_version_on_top_is_no_error() -> None:
    old, new = {}, {}
    for number, (operator, before, after) in enumerate(_transitions()):
        lower = _placed(operator, number, {before: operator.versions[before]})
        upper = _placed(operator, number, {each: operator.versions[each] for each in (before, after)})
        old[lower.key], new[lower.key] = lower, upper
    bodies = {"B183"}  # in a domain of its own, an operator's body has no opset of ai.onnx but that of the body
    report = compare(
        State("the older versions", old), State("with the newer ones", new), rules=BREAKING.by_code.keys() - bodies
    )
    assert [each for each in report.findings if each.severity == "ERR"] == []
    clarified = {key for key, label in LABELS.items() if label.keys() == {"clarified"}}
    unchanged = {key for key, found in _by_transition(report).items() if "B181" in {each.rule for each in found}}
    assert unchanged == clarified


@cache
def _edited() -> ComparisonReport:
    """The report on each older version, edited in place into the newer one."""
    old, new = {}, {}
    for number, (operator, before, after) in enumerate(_transitions()):
        lower, upper = operator.versions[before], operator.versions[after]
        edited = replace(upper.schema, since_version=before, change=lower.schema.change)
        placed = _placed(operator, number, {before: lower})
        old[placed.key] = placed
        new[placed.key] = _placed(operator, number, {before: replace(upper, schema=edited)})
    return compare(State("the older versions", old), State("edited in place", new))


def _transitions() -> Iterable[tuple[OperatorState, int, int]]:
    operators = registry_state(default_registry(), "now").operators
    for domain, name, step in LABELS:
        before, after = map(int, step.split("-"))
        yield operators[domain, name], before, after


def _placed(operator: OperatorState, number: int, versions: dict[int, Version]) -> OperatorState:
    """Return an operator with some of its versions, in a domain of its own, so that all are compared at once."""
    domain = f"transition{number}"
    moved = {since: replace(each, schema=replace(each.schema, domain=domain)) for since, each in versions.items()}
    return replace(operator, domain=domain, versions=moved, place_of=None, examples=())


def _by_transition(report: ComparisonReport) -> dict[tuple[str, str, str], list[Break]]:
    keys = [*LABELS]
    found: dict[tuple[str, str, str], list[Break]] = {key: [] for key in keys}
    for each in report.findings:
        found[keys[int(each.domain.removeprefix("transition"))]].append(each)
    return found


def _kinds(found: Break) -> Iterable[str]:
    """Yield the kinds of labels that a finding stands for."""
    if found.rule in SIDED:
        side = re.search(r"\b(input|output)s?\b", found.message)
        assert side, found
        yield f"{side[1]} {SIDED[found.rule]}"
    elif found.rule == "B127" and found.message.startswith("'choices'"):
        yield "choices"
    elif found.rule == "B123":
        yield "attribute renamed"
    elif found.rule == "B133":
        yield from [f"types {kind}" for kind in ("added", "removed") if MOVED[kind] in found.message]
    elif found.rule in KINDS:
        yield KINDS[found.rule]


def _as_removed_and_added(kinds: set[str]) -> set[str]:
    """Return kinds without renamed attributes: beside other changes, a rename looks like a removal and an addition."""
    renamed = {"attribute renamed"} & kinds
    return kinds - renamed | ({"attribute removed", "attribute added"} if renamed else set())
