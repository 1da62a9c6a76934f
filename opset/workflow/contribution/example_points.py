"""Points of the checklist that examples show: every type, every constraint, the main uses and the edges."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from opset.schemas.constraints.input_shapes import BROADCAST, Match, plan_of
from opset.schemas.constraints.signature import AXES, AXIS, DATA_TYPE
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import OPTIONAL, Attribute, Example, ExampleValue, example_versions
from opset.workflow.contribution.candidate import (
    FLOATS,
    MISSING,
    NOT_APPLICABLE,
    OPEN,
    PASSED,
    TESTS,
    Candidate,
    Item,
    given,
    point,
    tensors,
)


@point(TESTS)
def constraints(it: Candidate) -> Iterator[Item]:
    """Examples that break each constraint."""
    docs = {each.since_version: docs for each, docs in zip(it.operator.schemas, it.operator.docs, strict=True)}
    broken: dict[tuple[str, str], Example] = {}
    for example in it.operator.examples:
        for since in example_versions(example, docs) if example.error else ():
            broken.setdefault((example.error, docs[since].constraints[example.error]), example)
    for label, text in it.docs.constraints.items():
        found = broken.get((label, text))
        if found is not None:
            yield Item(PASSED, f"{label} is broken by the example {found.name}", it.example_place(found))
        else:
            help = f"add an example with 'error: {label}'"
            declared = [each.name for each in it.schema.attributes.values() if each.constraint == label]
            keys = ("attributes", declared[0]) if declared else ("constraints", label)
            yield Item(MISSING, f"no example breaks {label}: {text}", it.place(*keys), help)
    if not it.docs.constraints:
        yield Item(NOT_APPLICABLE, "it has no constraints", it.place())


# Tests: the main uses and the edges.


@point(TESTS)
def uses(it: Candidate) -> Iterator[Item]:
    """Examples of every attribute, choice and optional input."""
    gaps = [*_unused_attributes(it), *_unused_inputs(it)]
    for why, place in gaps:
        yield Item(MISSING, why, place, "add an example with outputs")
    if not gaps:
        yield Item(PASSED, "every attribute, choice and optional input is in an example", it.end)


def _unused_attributes(it: Candidate) -> Iterator[tuple[str, str]]:
    steps = it.operator.transitions
    ignored = {name for step in steps for name, each in step.change.attributes.items() if each.ignored}
    for name, declared in it.schema.attributes.items():
        place = it.place("attributes", name)
        values = [example.attributes[name] for example in it.examples if name in example.attributes]
        if not values and name not in ignored:
            yield f"no example sets {name}", place
        if any(name not in example.attributes for example in it.results) and declared.default is not None:
            values.append(declared.default)
        lists = [value if isinstance(value, list | tuple) else [value] for value in values]
        used = {str(each).lower() for value in lists for each in value}
        if declared.kind != DATA_TYPE:
            for choice in declared.choices:
                if str(choice).lower() not in used:
                    yield f"no example has the choice {choice!r} of {name}", place


def _unused_inputs(it: Candidate) -> Iterator[tuple[str, str]]:
    for index, formal in enumerate(it.schema.inputs):
        if formal.option == OPTIONAL and (examples := [*it.results]):
            given = [len(each.inputs) > index and each.inputs[index] is not None for each in examples]
            for has in {True, False} - {*given}:
                why = f"no example {'gives' if has else 'leaves out'} the optional input {formal.name}"
                yield why, it.place("inputs", formal.name)


def _edge(it: Candidate, name: str, found: Iterable[Example], help: str) -> Item:
    """Return whether there is an example of an edge."""
    example = next(iter(found), None)
    if example is not None:
        return Item(PASSED, f"the example {example.name}", it.example_place(example))
    return Item(MISSING, f"no example has {name}", it.end, f"{help}, or state why there can be none")


def _no_tensors(it: Candidate) -> Iterator[Item]:
    if it.first is None:
        yield Item(NOT_APPLICABLE, "none of its inputs is a tensor", it.place("inputs"))


@point(TESTS, statable=True)
def empty(it: Candidate) -> Iterator[Item]:
    """An example of an empty tensor."""
    found = (each for each in it.examples if any(0 in (value.shape or ()) for value in tensors(each)))
    help = "add one: inputs: [{float: [], shape: [0, 2]}]"
    yield from [*_no_tensors(it)] or [_edge(it, "an empty tensor", found, help)]


@point(TESTS, statable=True)
def scalar(it: Candidate) -> Iterator[Item]:
    """An example of a scalar."""
    if it.first is None:
        yield from _no_tensors(it)
        return
    index = it.schema.inputs.index(it.first)
    found = [each for each in it.examples if any(_shape(value) == () for value in given(each, index))]
    if not found and (why := _no_scalar(it, index)):
        yield Item(NOT_APPLICABLE, f"{it.first.name} cannot be a scalar: {why}", it.place("inputs", it.first.name))
    else:
        yield _edge(it, f"a scalar as {it.first.name}", found, "add one: inputs: [{float: 1.5}]")


def _shape(value: ExampleValue | None) -> tuple[int, ...] | None:
    return value.shape if value is not None and value.type.startswith("tensor(") else None


def _no_scalar(it: Candidate, index: int) -> str:
    """Return the constraint that a scalar as this input breaks, "" where it is not declared."""
    plan = plan_of(it.schema)
    if plan is None:
        return ""
    shapes = [() if position == index else None for position in range(len(it.schema.inputs))]
    try:
        Match(plan, shapes, lambda name: None, lambda index: None, lambda name: None).check()
    except Violation as error:
        return f"{error.label}: {it.docs.constraints.get(error.label, '')}"
    return ""


@point(TESTS, statable=True)
def negative_axis(it: Candidate) -> Iterator[Item]:
    """An example of a negative axis."""
    declared = it.schema.attributes.values()
    axes = [each.name for each in declared if each.kind in (AXIS, AXES) and _may_be_negative(each)]
    inputs = [index for index, each in enumerate(it.schema.inputs) if each.name in ("axis", "axes")]
    if not axes and not inputs:
        yield Item(NOT_APPLICABLE, "it has no axis that may be negative", it.place())
    for name in axes:
        default = it.schema.attributes[name].default
        found = [each for each in it.results if _has_negative(each.attributes.get(name, default))]
        yield _edge(it, f"a negative {name}", found, "add one")
    for index in inputs:
        found = [
            each
            for each in it.results
            for value in given(each, index)
            if value is not None and _has_negative(value.content)
        ]
        yield _edge(it, f"a negative element of {it.schema.inputs[index].name}", found, "add one")


def _may_be_negative(declared: Attribute) -> bool:
    return ">= 0" not in declared.range and "0 <=" not in declared.range


def _has_negative(value: Any) -> bool:
    values = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(each, int) and each < 0 for each in values)


@point(TESTS, statable=True)
def not_numbers(it: Candidate) -> Iterator[Item]:
    """An example of NaN and infinities."""
    if not any(type_.startswith(FLOATS) for each in it.schema.inputs for type_ in it.schema.allowed(each)):
        yield Item(NOT_APPLICABLE, "none of its inputs is of floats", it.place("types"))
        return
    found = [each for each in it.examples if any(_is_special(value) for value in tensors(each))]
    if found or re.search(r"\bNaN\b|infinit", " ".join(each.text for each in it.docs.special_cases)):
        help = "add one: inputs: [{float: [.nan, .inf]}]"
        yield _edge(it, "NaN or an infinity, which its special cases name", found, help)
    else:
        help = "add an example, or state that it moves elements without computing with them"
        yield Item(OPEN, "neither an example nor a special case has NaN or infinities", it.place("special_cases"), help)


def _is_special(value: ExampleValue) -> bool:
    content = value.content if isinstance(value.content, list) else [value.content]
    return any(isinstance(each, float) and not math.isfinite(each) for each in content)


@point(TESTS, statable=True)
def broadcast(it: Candidate) -> Iterator[Item]:
    """An example of broadcasting."""
    named = {condition.subject for condition in it.schema.conditions if condition.kind == BROADCAST}
    if not named and not re.match(r"broadcast|onto", it.schema.shape):
        yield Item(NOT_APPLICABLE, "it does not broadcast", it.place("shape"))
        return
    found = [each for each in it.results if len({value.shape for value in tensors(each)}) > 1]
    yield _edge(it, "inputs of different shapes, which are broadcast", found, "add one")
