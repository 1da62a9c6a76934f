"""Rules about the meaning of a version beside its signature: constraints, shapes, bodies, prose, changes, examples."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from opset.errors import listing
from opset.schemas.model import Condition, Example, ExampleValue
from opset.workflow.breaking.report import ERR, FORBIDDEN, INFO, NEW_VERSION, NONE, WARN
from opset.workflow.breaking.rules import (
    BEHAVIOUR,
    CLARIFIED,
    IMMUTABLE,
    OperatorPair,
    RuleFinding,
    VersionPair,
    mending_help,
    rule,
)
from opset.workflow.breaking.states import Version

# Constraints.


@rule("B141", "constraint-added", VersionPair, NEW_VERSION, BEHAVIOUR)
def constraint_added(pair: VersionPair) -> Iterator[RuleFinding]:
    """A constraint was added: nodes that were legal no longer are."""
    for label, text in pair.new.docs.constraints.items():
        if label not in pair.old.docs.constraints and not _labels_of_same_constraint(pair.old, pair.new, label):
            yield RuleFinding(f"the constraint {label} was added: {text}", ("constraints", label))


@rule("B142", "constraint-removed", VersionPair, NEW_VERSION, BEHAVIOUR)
def constraint_removed(pair: VersionPair) -> Iterator[RuleFinding]:
    """A constraint was removed: nodes that were refused have no stated meaning."""
    for label, text in pair.old.docs.constraints.items():
        if label not in pair.new.docs.constraints and not _labels_of_same_constraint(pair.new, pair.old, label):
            yield RuleFinding(f"the constraint {label} was removed: {text}", ("constraints",))


@rule("B143", "constraint-changed", VersionPair, NEW_VERSION, BEHAVIOUR)
def constraint_changed(pair: VersionPair) -> Iterator[RuleFinding]:
    """A constraint that is checked was tightened, loosened or changed."""
    for label in pair.new.docs.constraints:
        old, new = _condition_texts(pair.old, label), _condition_texts(pair.new, label)
        if (
            label not in pair.old.docs.constraints
            or old == new
            or _labels_of_same_constraint(pair.old, pair.new, label)
        ):
            continue
        if old and new:
            gone, came = [*filter(lambda each: each not in new, old)], [*filter(lambda each: each not in old, new)]
            moved = "changed" if gone and came else ("was loosened", "was tightened")[bool(came)]
            parts = [f"no longer {listing(gone)}"] * bool(gone) + [f"now {listing(came)}"] * bool(came)
            yield RuleFinding(f"the constraint {label} {moved}: {'; '.join(parts)}", ("constraints", label))
        elif old and not _is_declared_by_attribute(pair.new, label):
            yield RuleFinding(f"the constraint {label} is no longer checked: {listing(old)}", ("constraints", label))
        elif new and not _is_declared_by_attribute(pair.old, label):
            yield RuleFinding(f"the constraint {label} is checked now: {listing(new)}", ("constraints", label), WARN)


@rule("B144", "constraint-text", VersionPair, NONE, CLARIFIED, WARN)
def constraint_text(pair: VersionPair) -> Iterator[RuleFinding]:
    """The wording of a constraint was edited: a clarification, or another meaning."""
    if not pair.in_place:
        return
    for label, text in pair.new.docs.constraints.items():
        old = pair.old.docs.constraints.get(label, text)
        same = _condition_texts(pair.old, label) == _condition_texts(pair.new, label)
        if old != text and same and not _labels_of_same_constraint(pair.old, pair.new, label):
            yield RuleFinding(
                f"the words of the constraint {label} changed: {old!r} -> {text!r}", ("constraints", label)
            )


@rule("B145", "constraint-label", VersionPair, NONE, CLARIFIED, WARN)
def constraint_label(pair: VersionPair) -> Iterator[RuleFinding]:
    """The label of a constraint was changed."""
    for label in pair.new.docs.constraints:
        if pair.in_place and (old := _labels_of_same_constraint(pair.old, pair.new, label)):
            yield RuleFinding(f"the constraint {label} was {listing(old)} before", ("constraints", label))


def _condition_texts(version: Version, label: str) -> list[str]:
    """Return the checked conditions of a constraint as sorted texts."""
    return sorted(_condition_text(each) for each in version.schema.conditions if each.label == label)


def _condition_text(each: Condition) -> str:
    """Return a condition in words."""
    where = f" where {', '.join(f'{name} {form}' for name, form in each.where)}" if each.where else ""
    return f"{each.kind} of {each.subject}: {each.form}{where}"


def _is_declared_by_attribute(version: Version, label: str) -> bool:
    """Whether an attribute of the version names the constraint for its illegal values."""
    return any(each.constraint == label for each in version.schema.attributes.values())


def _labels_of_same_constraint(other: Version, version: Version, label: str) -> list[str]:
    """Return the labels under which another version has a constraint; none if it has it under the same label."""
    text = version.docs.constraints[label]
    conditions = _condition_texts(version, label)
    if other.docs.constraints.get(label) == text:
        return []
    return [
        each
        for each, said in other.docs.constraints.items()
        if said == text and each != label and _condition_texts(other, each) == conditions
    ]


# What is computed and inferred.


@rule("B151", "shape-rule", VersionPair, NEW_VERSION, BEHAVIOUR)
def shape_rule(pair: VersionPair) -> Iterator[RuleFinding]:
    """The rule for the shapes of outputs was changed."""
    old, new = pair.old.schema.shape, pair.new.schema.shape
    if old != new:
        comparable = bool(old and new)
        message = f"the rule of shapes changed: {old or 'a function'} -> {new or 'a function'}"
        yield RuleFinding(message, ("shape",), "" if comparable else WARN)


@rule("B152", "function-body", VersionPair, NEW_VERSION, BEHAVIOUR, WARN)
def function_body(pair: VersionPair) -> Iterator[RuleFinding]:
    """A function body was added, removed or changed, or serves other opsets, nodes or types."""
    old, new = pair.old.schema.function, pair.new.schema.function
    gone, came = [each for each in old if each not in new], [each for each in new if each not in old]
    for body in gone:
        match = next((each for each in came if each.nodes == body.nodes or each.opset == body.opset), None)
        if match is None:
            yield RuleFinding(f"the function body of opset {body.opset} was removed", ("function",))
            continue
        came.remove(match)
        what = [key for key in body._fields if getattr(body, key) != getattr(match, key)]
        yield RuleFinding(f"{listing(what)} of the function body of opset {body.opset} changed", ("function",))
    for body in came:
        yield RuleFinding(f"a function body of opset {body.opset} was added", ("function",))
    if old != new and sorted(map(repr, old)) == sorted(map(repr, new)):
        yield RuleFinding("the function bodies are in another order", ("function",))


@rule("B153", "determinism", VersionPair, NEW_VERSION, BEHAVIOUR)
def determinism(pair: VersionPair) -> Iterator[RuleFinding]:
    """Results became deterministic, or stopped being so."""
    if moved := pair.difference.get("determinism"):
        yield RuleFinding(f"results were {moved[0]} and are {moved[1]} now", ("determinism",))


@rule("B154", "deprecated", VersionPair, NEW_VERSION, BEHAVIOUR)
def deprecation(pair: VersionPair) -> Iterator[RuleFinding]:
    """An operator was withdrawn, or a withdrawn one came back."""
    if "deprecated" in pair.difference:
        now = "withdrawn" if pair.new.schema.deprecated else "no longer withdrawn"
        yield RuleFinding(f"the operator is {now}", ("deprecated",))


@rule("B155", "experimental", VersionPair, NEW_VERSION, IMMUTABLE)
def experimental(pair: VersionPair) -> Iterator[RuleFinding]:
    """A version became experimental, or stopped being so."""
    if "experimental" in pair.difference:
        now = "experimental" if pair.new.schema.experimental else "no longer experimental"
        yield RuleFinding(f"the version is {now}", ("experimental",))


@rule("B156", "replacement", VersionPair, NONE, CLARIFIED, WARN)
def replacement(pair: VersionPair) -> Iterator[RuleFinding]:
    """The replacement of a withdrawn operator was changed."""
    old, new = pair.old.schema.replacement, pair.new.schema.replacement
    if pair.in_place and old != new:
        yield RuleFinding(f"the replacement changed: {old or 'none'} -> {new or 'none'}", ("replacement",))


# Prose.


@rule("B157", "doc", VersionPair, NONE, CLARIFIED, INFO)
def doc(pair: VersionPair) -> Iterator[RuleFinding]:
    """The text of a version, of a parameter or of an attribute was edited: right where it clarifies.

    It is a warning if more than a few words differ: the schema does not say whether the meaning changed.
    """
    if not pair.in_place:
        return
    old, new = pair.old.docs, pair.new.docs
    texts = {"the version": (old.doc, new.doc, ("doc",))}
    for part in ("inputs", "outputs", "attributes"):
        before, after = getattr(old, part), getattr(new, part)
        texts |= {name: (before[name], text, (part, name)) for name, text in after.items() if name in before}
    edited = {name: each for name, each in texts.items() if each[0] != each[1]}
    if edited:
        reworded = any(_is_reworded(one, other) for one, other, _ in edited.values())
        keys = next(iter(edited.values()))[2]
        message = f"the text of {listing([*edited])} was edited"
        yield RuleFinding(message, keys, WARN if reworded else INFO, help=_CLARIFY if reworded else "")
    if dict(old.counterparts) != dict(new.counterparts):
        yield RuleFinding("the equal calls of other libraries changed", ("counterparts",))


def _is_reworded(old: str, new: str) -> bool:
    """Whether more than two words came or went, or a word that can change the meaning: a number, a negation."""
    before, after = (Counter(_words(text)) for text in (old, new))
    moved = [*(after - before).elements()], [*(before - after).elements()]
    return max(map(len, moved)) > 2 or any(_DECISIVE.search(each) for words in moved for each in words)


def _words(text: str) -> Iterator[str]:
    """Yield words and numbers, with the marks inside and before them."""
    runs = (each.rstrip(".+-") for each in re.findall(r"[\w.+-]+", text.lower()))
    return filter(None, runs)


_DECISIVE = re.compile(r"\d|^(not?|never|none|only|un\w*|negative|positive|any|all|each|one|zero)$")


@rule("B158", "formula", VersionPair, NONE, BEHAVIOUR, WARN)
def formula(pair: VersionPair) -> Iterator[RuleFinding]:
    """The formula of a released version was edited."""
    if pair.in_place and pair.old.docs.formula != pair.new.docs.formula:
        yield RuleFinding("the formula was edited", ("formula",), help=_CLARIFY)


@rule("B159", "special-cases", VersionPair, NONE, BEHAVIOUR, WARN)
def special_cases(pair: VersionPair) -> Iterator[RuleFinding]:
    """The special cases of a released version were edited."""
    old, new = ([each.text for each in side.docs.special_cases] for side in (pair.old, pair.new))
    if not pair.in_place or old == new:
        return
    gone, came = [each for each in old if each not in new], [each for each in new if each not in old]
    parts = [f"gone: {each}" for each in gone] + [f"new: {each}" for each in came]
    message = f"special cases were edited: {'; '.join(parts) if parts else 'they are in another order'}"
    yield RuleFinding(message, ("special_cases", *came[:1]), "" if parts else INFO, help=_CLARIFY)


_CLARIFY = "where implementations do this already, it is a clarification; otherwise it needs a new version"


# The change block.


@rule("B161", "change-adapters", VersionPair, FORBIDDEN, IMMUTABLE)
def change_adapters(pair: VersionPair) -> Iterator[RuleFinding]:
    """A conversion that was possible is declared impossible, or the reverse."""
    if not pair.in_place or pair.new.schema.change is None or pair.old.schema.change is None:
        return
    for way in ("up", "down"):
        old, new = getattr(pair.old.change, way), getattr(pair.new.change, way)
        if old == new:
            continue
        lost = not old.startswith("impossible") and new.startswith("impossible")
        message = f"the conversion {way} was {old!r} and is {new!r} now"
        yield RuleFinding(
            message,
            ("change", "adapters"),
            ERR if lost else INFO,
            FORBIDDEN if lost else NONE,
            "write the adapter, or show that it gave wrong results and approve the break" if lost else "",
        )


@rule("B162", "change-claims", VersionPair, NONE, IMMUTABLE, WARN)
def change_claims(pair: VersionPair) -> Iterator[RuleFinding]:
    """A claim of a transition was edited: `old`, `ignored`, `renamed`, `emulate` …"""
    if not pair.in_place or pair.new.schema.change is None or pair.old.schema.change is None:
        return
    old, new = pair.old.change, pair.new.change
    help = "models are converted by it: compare conversions of the examples before and after (opset test)"
    for name in sorted(old.attributes.keys() | new.attributes.keys()):
        if repr(old.attributes.get(name)) != repr(new.attributes.get(name)):
            message = f"what is declared of the attribute {name!r} changed"
            yield RuleFinding(message, ("change", "attributes", name), help=help)
    for key in ("emulate", "renamed"):
        if getattr(old, key) != getattr(new, key):
            yield RuleFinding(f"{key!r} of the change changed", ("change", key), help=help)
    if old.meaning != new.meaning:
        yield RuleFinding("what is said to have changed in meaning was edited", ("change", "meaning"), help=_CLARIFY)
    if old.clarified != new.clarified:
        yield RuleFinding("what is said to have been clarified was edited", ("change", "clarified"), INFO)


@rule("B163", "meaning-changed", VersionPair, NEW_VERSION, BEHAVIOUR, INFO)
def meaning_changed(pair: VersionPair) -> Iterator[RuleFinding]:
    """A new version declares a change of meaning."""
    if not pair.in_place and pair.new.change.meaning:
        yield RuleFinding(f"the meaning changed: {pair.new.change.meaning}", ("change", "meaning"))


# Examples.


@rule("B171", "example-result", OperatorPair, NEW_VERSION, BEHAVIOUR)
def example_result(operators: OperatorPair) -> Iterator[RuleFinding]:
    """The result of an example of a released version was changed: its outputs, or the constraint that it breaks."""
    for old, new, versions in _match_examples(operators):
        if new is not None and _result_text(old) != _result_text(new):
            what = "breaks another constraint" if old.error and new.error else "gives another result"
            if bool(old.error) != bool(new.error):
                what = "is refused now" if new.error else "is legal now"
            yield _example_finding(operators, f"the example {old.name!r} {what}", versions)


@rule("B172", "example-removed", OperatorPair, NEW_VERSION, BEHAVIOUR)
def example_removed(operators: OperatorPair) -> Iterator[RuleFinding]:
    """An example of a released version was removed, or its inputs or attributes were edited."""
    for old, new, versions in _match_examples(operators):
        if new is None:
            yield _example_finding(operators, f"the example {old.name!r} was removed, or has other inputs", versions)


@rule("B173", "example-renamed", OperatorPair, NONE, CLARIFIED, INFO)
def example_renamed(operators: OperatorPair) -> Iterator[RuleFinding]:
    """An example was renamed."""
    for old, new, versions in _match_examples(operators):
        if new is not None and old.name != new.name:
            yield _example_finding(operators, f"the example {old.name!r} is called {new.name!r} now", versions, "")


@rule("B174", "example-tolerance", OperatorPair, NONE, BEHAVIOUR, WARN)
def example_tolerance(operators: OperatorPair) -> Iterator[RuleFinding]:
    """The tolerance of an example of a released version was changed."""
    for old, new, versions in _match_examples(operators):
        if new is not None and old.tolerance != new.tolerance:
            said = ["the usual one" if each is None else f"{each:g}" for each in (old.tolerance, new.tolerance)]
            message = f"the tolerance of the example {old.name!r} changed: {said[0]} -> {said[1]}"
            yield _example_finding(operators, message, versions, _CLARIFY)


def _example_finding(
    operators: OperatorPair, message: str, versions: list[int], help: str | None = None
) -> RuleFinding:
    """Return a finding about an example at some versions; `help` is how to mend an edit unless given."""
    held = f" (version{'s' if len(versions) > 1 else ''} {listing(list(map(str, versions)))})"
    return RuleFinding(message + held, version=versions[-1], help=mending_help(operators.old) if help is None else help)


COMPARED = 20
"""Examples with the same inputs and attributes whose results are compared."""


def _match_examples(operators: OperatorPair) -> list[tuple[Example, Example | None, list[int]]]:
    """Return each old example, the new example on the same inputs, and the versions at which both hold.

    The new example is None if there is none on these inputs. Versions with the same examples are left out.
    """
    matches: dict[tuple[str, str], tuple[Example, Example | None, list[int]]] = {}
    for since, old in operators.old.versions.items():
        new = operators.new.versions.get(since)
        if new is None or old.examples == new.examples:
            continue
        by_content: dict[str, list[Example]] = {}
        for new_example in new.examples.values():
            by_content.setdefault(_inputs_text(new_example), []).append(new_example)
        for name, example in old.examples.items():
            beside = new.examples.get(name)
            alike = by_content.get(_inputs_text(example), [])
            named = [beside] if beside in alike else []
            same = [
                new_example
                for new_example in alike[:COMPARED]
                if not named and _result_text(new_example) == _result_text(example)
            ]
            match = next(iter(named or same or alike), None)
            key = name, repr(match)
            matches.setdefault(key, (example, match, []))[2].append(since)
    return [*matches.values()]


def _inputs_text(example: Example) -> str:
    """Return the attributes and inputs of an example as text to compare."""
    return _canonical_text([example.attributes, example.inputs])


def _result_text(example: Example) -> str:
    """Return the outputs of an example, or the constraint that it breaks, as text to compare."""
    return _canonical_text([example.outputs, example.error])


def _canonical_text(value: Any) -> str:
    """Return a value as JSON that is equal for values that mean the same."""
    return json.dumps(_canonical_value(value), sort_keys=True)


def _canonical_value(value: Any) -> Any:
    """Return a value as plain data that is equal for values that mean the same, however they are written."""
    if isinstance(value, ExampleValue):
        content = _canonical_value(value.content)
        if value.type.startswith("tensor(") and isinstance(content, list):
            content = [float(each) if _is_float(each, value.type) else each for each in content]
            content = content[0] if content and all(each == content[0] for each in content) else content
        elif _is_float(content, value.type):
            content = float(content)
        return [value.type, content, None if value.shape is None else list(value.shape)]
    if isinstance(value, Mapping):
        return {str(key): _canonical_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical_value(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _is_float(element: Any, type_: str) -> bool:
    """Whether an integer in an example stands for a float exactly."""
    return type(element) is int and "float" in type_ and abs(element) < 2**53
