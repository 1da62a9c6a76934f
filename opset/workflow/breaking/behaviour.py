"""Rules about the meaning of a version beside its signature: constraints, shapes, bodies, prose, changes, examples."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from opset.errors import listing
from opset.schemas.example import Example, ExampleValue
from opset.schemas.model import OpSchema
from opset.schemas.yaml.layout import lay_out_graphs
from opset.workflow.breaking.report import ERR, FORBIDDEN, INFO, NEW_VERSION, NONE, WARN
from opset.workflow.breaking.rules import (
    BEHAVIOUR,
    BREAKING,
    CLARIFIED,
    IMMUTABLE,
    OperatorPair,
    RuleFinding,
    VersionPair,
    mending_help,
)
from opset.workflow.breaking.states import Version

# Constraints.


@BREAKING.rule("B141", VersionPair, requires=NEW_VERSION, clause=BEHAVIOUR)
def _constraint_added(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each constraint that only the newer version has.

    Constraints are compared by label. A new label is left out if the older version has the same text and checked
    conditions under another label.
    """
    for label, text in pair.new.docs.constraints.items():
        if label not in pair.old.docs.constraints and not _labels_of_same_constraint(pair.old, pair.new, label):
            yield RuleFinding(f"the constraint {label} was added: {text}", ("constraints", label))


@BREAKING.rule("B142", VersionPair, requires=NEW_VERSION, clause=BEHAVIOUR)
def _constraint_removed(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each constraint that only the older version has.

    Constraints are compared by label. An old label is left out if the newer version has the same text and checked
    conditions under another label.
    """
    for label, text in pair.old.docs.constraints.items():
        if label not in pair.new.docs.constraints and not _labels_of_same_constraint(pair.new, pair.old, label):
            yield RuleFinding(f"the constraint {label} was removed: {text}", ("constraints",))


@BREAKING.rule("B143", VersionPair, requires=NEW_VERSION, clause=BEHAVIOUR)
def _constraint_changed(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each constraint whose checked conditions differ between the versions of a pair.

    A constraint is compared if its label, such as C1, is in the prose of each version. A finding is only a warning if
    the older version has no conditions for the constraint. Conditions may be replaced by the declaration of an
    attribute, such as its `range`, or the reverse: nothing is yielded for this.
    """
    for label in pair.new.docs.constraints:
        old, new = _condition_texts(pair.old, label), _condition_texts(pair.new, label)
        is_new = label not in pair.old.docs.constraints
        if is_new or old == new or _labels_of_same_constraint(pair.old, pair.new, label):
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


@BREAKING.rule("B144", VersionPair, requires=NONE, clause=CLARIFIED, severity=WARN)
def _constraint_text(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each constraint whose text was edited, while its checked conditions stayed the same.

    Only versions that both states have are compared.
    """
    if not pair.in_place:
        return
    for label, text in pair.new.docs.constraints.items():
        old = pair.old.docs.constraints.get(label, text)
        same = _condition_texts(pair.old, label) == _condition_texts(pair.new, label)
        if old != text and same and not _labels_of_same_constraint(pair.old, pair.new, label):
            message = f"the words of the constraint {label} changed: {old!r} -> {text!r}"
            yield RuleFinding(message, ("constraints", label))


@BREAKING.rule("B145", VersionPair, requires=NONE, clause=CLARIFIED, severity=WARN)
def _constraint_label(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each constraint that has another label (C1, C2 …) since a version was edited.

    Only versions that both states have are compared.
    """
    for label in pair.new.docs.constraints:
        if pair.in_place and (old := _labels_of_same_constraint(pair.old, pair.new, label)):
            yield RuleFinding(f"the constraint {label} was {listing(old)} before", ("constraints", label))


def _condition_texts(version: Version, label: str) -> list[str]:
    """Return the conditions that are checked for the constraint `label` of a version, as sorted texts; [] for none."""
    texts = []
    for each in version.schema.conditions:
        if each.label == label:
            where = f" where {', '.join(f'{name} {form}' for name, form in each.where)}" if each.where else ""
            texts.append(f"{each.kind} of {each.subject}: {each.form}{where}")
    return sorted(texts)


def _is_declared_by_attribute(version: Version, label: str) -> bool:
    """Return whether an attribute of a version declares that its illegal values break the constraint `label`."""
    return any(each.constraint == label for each in version.schema.attributes.values())


def _labels_of_same_constraint(other: Version, version: Version, label: str) -> list[str]:
    """Return the labels under which `other` has the constraint `label` of `version`, if the constraint was relabeled.

    A constraint is the same if its text and its checked conditions are equal. If C2 of `version` is C3 of `other`, the
    result for "C2" is ["C3"]. It is [] if `other` has no such constraint, or has the same text at `label` itself.
    """
    text = version.docs.constraints[label]
    if other.docs.constraints.get(label) == text:
        return []
    conditions = _condition_texts(version, label)
    return [
        each
        for each, said in other.docs.constraints.items()
        if said == text and each != label and _condition_texts(other, each) == conditions
    ]


# What is computed and inferred.


@BREAKING.rule("B151", VersionPair, requires=NEW_VERSION, clause=BEHAVIOUR)
def _shape_rule(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding if an edit or a new version infers the shapes of outputs by another rule.

    It is a warning if one of the two versions has a Python function in place of a rule.
    """
    old, new = pair.old.schema.shape, pair.new.schema.shape
    if old != new:
        comparable = bool(old and new)
        message = f"the rule of shapes changed: {old or 'a function'} -> {new or 'a function'}"
        yield RuleFinding(message, ("shape",), "" if comparable else WARN)


@BREAKING.rule("B152", VersionPair, requires=NEW_VERSION, clause=BEHAVIOUR, severity=WARN)
def _function_body(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each function body that was added, removed or edited, and one if their order changed."""
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


@BREAKING.rule("B153", VersionPair, requires=NEW_VERSION, clause=BEHAVIOUR)
def _determinism(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding if the results became random, or are no longer random, by an edit or in a new version."""
    if moved := pair.difference.get("determinism"):
        yield RuleFinding(f"results were {moved[0]} and are {moved[1]} now", ("determinism",))


@BREAKING.rule("B154", VersionPair, requires=NEW_VERSION, clause=BEHAVIOUR, name="deprecated")
def _deprecation(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding if an edit or a new version withdraws the operator (deprecated), or ends its withdrawal."""
    if "deprecated" in pair.difference:
        now = "withdrawn" if pair.new.schema.deprecated else "no longer withdrawn"
        yield RuleFinding(f"the operator is {now}", ("deprecated",))


@BREAKING.rule("B155", VersionPair, requires=NEW_VERSION, clause=IMMUTABLE)
def _experimental(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding if a version became experimental, or is no longer experimental."""
    if "experimental" in pair.difference:
        now = "experimental" if pair.new.schema.experimental else "no longer experimental"
        yield RuleFinding(f"the version is {now}", ("experimental",))


@BREAKING.rule("B156", VersionPair, requires=NONE, clause=CLARIFIED, severity=WARN)
def _replacement(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding if an edit of a version changes, adds or removes the name of its replacement.

    The replacement is the operator to use instead of a withdrawn one.
    """
    old, new = pair.old.schema.replacement, pair.new.schema.replacement
    if pair.in_place and old != new:
        yield RuleFinding(f"the replacement changed: {old or 'none'} -> {new or 'none'}", ("replacement",))


# Prose.


@BREAKING.rule("B157", VersionPair, requires=NONE, clause=CLARIFIED, severity=INFO)
def _doc(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding if descriptions of an edited version differ: of the version, its inputs, outputs or attributes.

    One finding names all of them. It is a warning if one of the texts may have another meaning: more than two words
    differ, or a number, or a word such as "not" or "each". Otherwise, it is a notice. Yield another notice if the names
    of equal calls in other libraries (`counterparts`) differ.
    """
    if not pair.in_place:
        return
    old, new = pair.old.docs, pair.new.docs
    texts: dict[tuple[str, ...], tuple[str, str]] = {("doc",): (old.doc, new.doc)}
    for part in ("inputs", "outputs", "attributes"):
        before, after = getattr(old, part), getattr(new, part)
        texts |= {(part, name): (before[name], text) for name, text in after.items() if name in before}
    edited = {keys: each for keys, each in texts.items() if each[0] != each[1]}
    if edited:
        reworded = any(_is_reworded(*each) for each in edited.values())
        names = dict.fromkeys(keys[-1] if keys[1:] else "the version" for keys in edited)
        message = f"the text of {listing([*names])} was edited"
        yield RuleFinding(message, next(iter(edited)), WARN if reworded else INFO, help=_CLARIFY if reworded else "")
    if dict(old.counterparts) != dict(new.counterparts):
        yield RuleFinding("the equal calls of other libraries changed", ("counterparts",))


def _is_reworded(old: str, new: str) -> bool:
    """Return whether a text may have another meaning: more than two words, or a decisive one, differ.

    Decisive words are numbers and words such as "not" and "each". The order of words does not count.
    """
    # Words and numbers are compared with the marks inside and before them.
    runs = ([each.rstrip(".+-") for each in re.findall(r"[\w.+-]+", text.lower())] for text in (old, new))
    before, after = (Counter(filter(None, words)) for words in runs)
    moved = [*(after - before).elements()], [*(before - after).elements()]
    return max(map(len, moved)) > 2 or any(_DECISIVE.search(each) for words in moved for each in words)


_DECISIVE = re.compile(r"\d|^(not?|never|none|only|un\w*|negative|positive|any|all|each|one|zero)$")


@BREAKING.rule("B158", VersionPair, requires=NONE, clause=BEHAVIOUR, severity=WARN)
def _formula(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding if an edit of a version changed its formula."""
    if pair.in_place and pair.old.docs.formula != pair.new.docs.formula:
        yield RuleFinding("the formula was edited", ("formula",), help=_CLARIFY)


@BREAKING.rule("B159", VersionPair, requires=NONE, clause=BEHAVIOUR, severity=WARN)
def _special_cases(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding if an edit of a version changed its special cases; a notice if only their order differs.

    A special case is compared by its text. A new version is not compared.
    """
    old, new = ([each.text for each in side.docs.special_cases] for side in (pair.old, pair.new))
    if not pair.in_place or old == new:
        return
    gone, came = [each for each in old if each not in new], [each for each in new if each not in old]
    parts = [f"gone: {each}" for each in gone] + [f"new: {each}" for each in came]
    message = f"special cases were edited: {'; '.join(parts) if parts else 'they are in another order'}"
    yield RuleFinding(message, ("special_cases", *came[:1]), "" if parts else INFO, help=_CLARIFY)


_CLARIFY = "if implementations already do this, approve it as a clarification; otherwise put it into a new version"


# The change block.


@BREAKING.rule("B161", VersionPair, requires=FORBIDDEN, clause=IMMUTABLE)
def _change_adapters(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each adapter whose declaration in a released `change:` block was edited.

    It is an error if the adapter was possible before and is declared as impossible now; any other edit is a notice.
    """
    if not pair.in_place or pair.new.schema.change is None or pair.old.schema.change is None:
        return
    for way in ("up", "down"):
        old, new = getattr(pair.old.change, way), getattr(pair.new.change, way)
        if old == new:
            continue
        grave = INFO, NONE, ""
        if new.startswith("impossible") and not old.startswith("impossible"):
            grave = ERR, FORBIDDEN, "write the adapter, or show that it gave wrong results and approve the break"
        yield RuleFinding(f"the conversion {way} was {old!r} and is {new!r} now", ("change", "adapters"), *grave)


@BREAKING.rule("B162", VersionPair, requires=NONE, clause=IMMUTABLE, severity=WARN)
def _change_claims(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for each entry of a released `change:` block that was edited, except adapters (see B161).

    Each attribute is an entry, and so are `emulate`, `renamed`, `meaning` and `clarified`. An edit of `clarified` is a
    notice. A block that was added or removed as a whole yields nothing.
    """
    if not pair.in_place or pair.new.schema.change is None or pair.old.schema.change is None:
        return
    old, new = pair.old.change, pair.new.change
    help = "conversions follow this claim: compare conversions of the examples before and after (opset test)"
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


@BREAKING.rule("B163", VersionPair, requires=NEW_VERSION, clause=BEHAVIOUR, severity=INFO)
def _meaning_changed(pair: VersionPair) -> Iterator[RuleFinding]:
    """Yield a finding for a new version whose `change:` block says that the meaning changed."""
    if not pair.in_place and pair.new.change.meaning:
        yield RuleFinding(f"the meaning changed: {pair.new.change.meaning}", ("change", "meaning"))


# Examples.


@BREAKING.rule("B171", OperatorPair, requires=NEW_VERSION, clause=BEHAVIOUR)
def _example_result(operators: OperatorPair) -> Iterator[RuleFinding]:
    """Yield a finding for each example with the same inputs and attributes as before, but another result.

    The result is the outputs, or the constraint that the example breaks.
    """
    for old, new, versions in _match_examples(operators):
        if new is not None and _result_text(old) != _result_text(new):
            what = "breaks another constraint" if new.error else "gives another result"
            if bool(old.error) != bool(new.error):
                what = "is refused now" if new.error else "is legal now"
            yield _example_finding(operators, f"the example {old.name!r} {what}", versions)


@BREAKING.rule("B172", OperatorPair, requires=NEW_VERSION, clause=BEHAVIOUR)
def _example_removed(operators: OperatorPair) -> Iterator[RuleFinding]:
    """Yield a finding for each older example whose inputs and attributes are in no newer example."""
    for old, new, versions in _match_examples(operators):
        if new is None:
            yield _example_finding(operators, f"the example {old.name!r} was removed, or has other inputs", versions)


@BREAKING.rule("B173", OperatorPair, requires=NONE, clause=CLARIFIED, severity=INFO)
def _example_renamed(operators: OperatorPair) -> Iterator[RuleFinding]:
    """Yield a finding for each older example that has another name in the newer state.

    Examples are the same if their inputs and attributes are equal.
    """
    for old, new, versions in _match_examples(operators):
        if new is not None and old.name != new.name:
            yield _example_finding(operators, f"the example {old.name!r} is called {new.name!r} now", versions, "")


@BREAKING.rule("B174", OperatorPair, requires=NONE, clause=BEHAVIOUR, severity=WARN)
def _example_tolerance(operators: OperatorPair) -> Iterator[RuleFinding]:
    """Yield a finding for each example whose tolerance changed.

    The tolerance says how far computed outputs may be from the stated ones. An old example is compared with the new
    example that has the same inputs and attributes, even if the names differ. An old example yields nothing if no new
    example has the same inputs and attributes.
    """
    for old, new, versions in _match_examples(operators):
        if new is not None and old.tolerance != new.tolerance:
            said = ["the usual one" if each is None else f"{each:g}" for each in (old.tolerance, new.tolerance)]
            message = f"the tolerance of the example {old.name!r} changed: {said[0]} -> {said[1]}"
            yield _example_finding(operators, message, versions, _CLARIFY)


def _example_finding(
    operators: OperatorPair, message: str, versions: list[int], help: str | None = None
) -> RuleFinding:
    """Return a finding about an example: `message`, followed by `versions`, those at which the example holds.

    If `help` is None, the help says how to restore a released version.
    """
    held = f" (version{'s' if len(versions) > 1 else ''} {listing(list(map(str, versions)))})"
    return RuleFinding(message + held, version=versions[-1], help=mending_help(operators.old) if help is None else help)


COMPARED = 20
"""Examples with the same inputs and attributes whose results are compared."""


def _match_examples(operators: OperatorPair) -> list[tuple[Example, Example | None, list[int]]]:
    """Return (older example, newer example, versions) for each pair of examples with the same inputs and attributes.

    The newer example is None if no newer one fits. `versions` lists the operator versions at which the pair was found.
    Versions that only one state has are left out, and so are versions whose examples did not change.

    If several newer examples fit, one with the same name is preferred, then one with the same result.
    """
    matches: dict[tuple[str, str], tuple[Example, Example | None, list[int]]] = {}
    for since, old in operators.old.versions.items():
        new = operators.new.versions.get(since)
        if new is None or repr(old.examples) == repr(new.examples):  # -0.0 is not 0.0
            continue
        by_content: dict[str, list[Example]] = {}
        for new_example in new.examples.values():
            by_content.setdefault(_inputs_text(new_example, new.schema), []).append(new_example)
        for name, example in old.examples.items():
            beside = new.examples.get(name)
            alike = by_content.get(_inputs_text(example, old.schema), [])
            same = (each for each in alike[:COMPARED] if _result_text(each) == _result_text(example))
            match = beside if beside in alike else next(chain(same, alike), None)
            key = name, repr(match)
            matches.setdefault(key, (example, match, []))[2].append(since)
    return [*matches.values()]


def _inputs_text(example: Example, schema: OpSchema) -> str:
    """Return the attributes and inputs of an example as text, which is equal for equal attributes and inputs.

    White space in the text of a graph makes no difference, as `opset lint --fix` changes it.
    """
    attributes = dict(example.attributes)
    for name in attributes.keys() & schema.attributes.keys():
        if schema.attributes[name].type in ("graph", "graphs"):
            attributes[name] = lay_out_graphs(attributes[name])
    return _canonical_text([attributes, example.inputs])


def _result_text(example: Example) -> str:
    """Return the outputs of an example, or the constraint that it breaks, as text; it is equal for equal results."""
    return _canonical_text([example.outputs, example.error])


def _canonical_text(value: Any) -> str:
    """Return a value as JSON text, which is the same for all ways to write the value in YAML."""
    return json.dumps(_canonical_value(value), sort_keys=True)


def _canonical_value(value: Any) -> Any:
    """Return a value as plain data that is the same for all ways to write the value in YAML.

    An integer below 2**53 in a tensor of floats or doubles becomes a float. A tensor of equal elements becomes one
    element with the shape; 0.0 and -0.0 are not equal. NaN and infinities become text.
    """
    if isinstance(value, ExampleValue):
        content = _canonical_value(value.content)
        if value.type.startswith("tensor(") and isinstance(content, list):
            content = [float(each) if _is_float(each, value.type) else each for each in content]
            content = content[0] if len({*map(repr, content)}) == 1 else content
        elif _is_float(content, value.type):
            content = float(content)
        return [value.type, content, None if value.shape is None else list(value.shape)]
    if isinstance(value, Mapping):
        return {str(key): _canonical_value(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical_value(each) for each in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _is_float(element: Any, type_: str) -> bool:
    """Return whether an element is an int that stands for a float, such as 1 in a tensor(float).

    `type_` is the type of the value. An int whose absolute value is 2**53 or more does not stand for a float.
    """
    return type(element) is int and ("float" in type_ or "double" in type_) and abs(element) < 2**53
