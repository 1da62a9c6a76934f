"""Checks of the checklist that examples answer: every constraint, the main uses and the edges."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any

from opset.schemas.constraints.grammar import BROADCAST
from opset.schemas.constraints.input_shapes import Match, plan_of
from opset.schemas.constraints.signature import AXES, AXIS, DATA_TYPE
from opset.schemas.constraints.violation import Violation
from opset.schemas.example import Example, ExampleValue, example_versions
from opset.schemas.model import OPTIONAL
from opset.workflow.contribution.reviewed_version import (
    FLOATS,
    MISSING,
    NOT_APPLICABLE,
    OPEN,
    PASSED,
    POINTS,
    STATEMENT,
    TESTS,
    Evidence,
    ReviewedVersion,
    input_tensors,
    values_of_input,
)


@POINTS.rule("constraints", ReviewedVersion, clause=TESTS, phrase="Examples that break each constraint")
def check_constraints(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence for each constraint of the version: PASSED if an example breaks the constraint, else MISSING.

    An example of another version counts, too, if that version has a constraint with the same label and the same text.
    If the version has no constraints, one piece of evidence is NOT_APPLICABLE.
    """
    sinces = [each.since_version for each in version.operator.schemas]
    docs = dict(zip(sinces, version.operator.docs, strict=True))
    broken: dict[tuple[str, str], Example] = {}
    for example in version.operator.examples:
        if example.error:
            for since in example_versions(example, docs):
                broken.setdefault((example.error, docs[since].constraints[example.error]), example)
    for label, text in version.docs.constraints.items():
        breaking = broken.get((label, text))
        if breaking is not None:
            yield Evidence(PASSED, f"{label} is broken by the example {breaking.name}", version.example_place(breaking))
        else:
            help = f"add an example with 'error: {label}'"
            declared = [each.name for each in version.schema.attributes.values() if each.constraint == label]
            keys = ("attributes", declared[0]) if declared else ("constraints", label)
            yield Evidence(MISSING, f"no example breaks {label}: {text}", version.place_of(*keys), help)
    if not version.docs.constraints:
        yield Evidence(NOT_APPLICABLE, "it has no constraints", version.place_of())


# Tests: the main uses and the edges.


@POINTS.rule("uses", ReviewedVersion, clause=TESTS, phrase="Examples of every attribute, choice and optional input")
def check_uses(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence that is MISSING for each attribute, choice or optional input that no example uses.

    A choice is a value in an attribute's list of choices; choices of element types do not count. An example that leaves
    an attribute out uses its default. An optional input must be given by one example, and left out by another. If
    nothing is missing, one piece of evidence is PASSED.
    """
    gaps = [*_unused_attributes(version), *_unused_inputs(version)]
    for why, place in gaps:
        yield Evidence(MISSING, why, place, "add an example with outputs")
    if not gaps:
        yield Evidence(PASSED, "every attribute, choice and optional input is in an example", version.examples_place)


def _unused_attributes(version: ReviewedVersion) -> Iterator[tuple[str, str]]:
    """Yield (message, path:line:column) for each attribute that no example sets, and each choice that no example uses.

    A choice is one of the values that an attribute allows, such as "reflect" for `mode`. If an example with outputs
    leaves an attribute out, it uses the default. Choices of element types are not checked. An attribute that a
    `change:` block of the operator's YAML declares as ignored need not be set.
    """
    steps = version.operator.transitions
    ignored = {name for step in steps for name, each in step.change.attributes.items() if each.ignored}
    for name, declared in version.schema.attributes.items():
        place = version.place_of("attributes", name)
        values = [example.attributes[name] for example in version.examples if name in example.attributes]
        if not values and name not in ignored:
            yield f"no example sets {name}", place
        is_absent = any(name not in example.attributes for example in version.examples_with_outputs)
        if is_absent and declared.default is not None:
            values.append(declared.default)
        lists = [value if isinstance(value, list | tuple) else [value] for value in values]
        used = {str(each).lower() for value in lists for each in value}
        if declared.kind != DATA_TYPE:
            for choice in declared.choices:
                if str(choice).lower() not in used:
                    yield f"no example has the choice {choice!r} of {name}", place


def _unused_inputs(version: ReviewedVersion) -> Iterator[tuple[str, str]]:
    """Yield (message, path:line:column) for each optional input that no example gives, or that no example leaves out.

    Only examples with outputs count. If there are none, both messages are yielded for each optional input.
    """
    for index, formal in enumerate(version.schema.inputs):
        if formal.option == OPTIONAL:
            lists = [each.inputs for each in version.examples_with_outputs]
            is_given = {len(inputs) > index and inputs[index] is not None for inputs in lists}
            for has, verb in ((True, "gives"), (False, "leaves out")):
                if has not in is_given:
                    place = version.place_of("inputs", formal.name)
                    yield f"no example {verb} the optional input {formal.name}", place


def _edge_evidence(version: ReviewedVersion, name: str, examples: Iterable[Example], help: str) -> Evidence:
    """Return evidence on an edge case: PASSED with the first of `examples`, or MISSING if there are none.

    `examples` are all that show the edge case. `name` is the edge case in messages, such as "an empty tensor"; `help`
    says how to add an example of it.
    """
    example = next(iter(examples), None)
    if example is not None:
        return Evidence(PASSED, f"the example {example.name}", version.example_place(example))
    help = f"{help}, or state why there can be none"
    return Evidence(MISSING, f"no example has {name}", version.examples_place, help)


def _evidence_without_tensors(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence that is NOT_APPLICABLE if no input of the operator may be a tensor; else yield nothing."""
    if version.first_tensor is None:
        yield Evidence(NOT_APPLICABLE, "none of its inputs is a tensor", version.place_of("inputs"))


@POINTS.rule("empty", ReviewedVersion, clause=TESTS, requires=STATEMENT, phrase="An example of an empty tensor")
def check_empty_tensors(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence: PASSED if an example has an empty tensor as an input, else MISSING.

    It is NOT_APPLICABLE if no input may be a tensor.
    """
    examples = (each for each in version.examples if any(0 in (value.shape or ()) for value in input_tensors(each)))
    help = "add one: inputs: [{float: [], shape: [0, 2]}]"
    yield from [*_evidence_without_tensors(version)] or [_edge_evidence(version, "an empty tensor", examples, help)]


@POINTS.rule("scalar", ReviewedVersion, clause=TESTS, requires=STATEMENT, phrase="An example of a scalar")
def check_scalars(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence: whether an example has a scalar as the first input that may be a tensor.

    - PASSED if an example has one;
    - NOT_APPLICABLE if none has, and a constraint forbids a scalar there;
    - NOT_APPLICABLE, too, if no input may be a tensor;
    - MISSING in any other case.
    """
    if version.first_tensor is None:
        yield from _evidence_without_tensors(version)
        return
    name = version.first_tensor.name
    index = version.schema.inputs.index(version.first_tensor)
    examples = []
    for example in version.examples:
        value = next(iter(values_of_input(example, index)), None)
        if value is not None and value.type.startswith("tensor(") and value.shape == ():
            examples.append(example)
    if not examples and (why := _constraint_against_scalars(version, index)):
        yield Evidence(NOT_APPLICABLE, f"{name} cannot be a scalar: {why}", version.place_of("inputs", name))
    else:
        yield _edge_evidence(version, f"a scalar as {name}", examples, "add one: inputs: [{float: 1.5}]")


def _constraint_against_scalars(version: ReviewedVersion, index: int) -> str:
    """Return the constraint, as "C1: TEXT", that forbids a scalar as the input at `index`; "" if none forbids it.

    Only constraints on shapes can. If several do, the first one is returned.
    """
    plan = plan_of(version.schema)
    if plan is None:
        return ""
    shapes = [() if position == index else None for position in range(len(version.schema.inputs))]
    try:
        Match(plan, shapes, lambda name: None, lambda index: None, lambda name: None).check()
    except Violation as error:
        return f"{error.label}: {version.docs.constraints.get(error.label, '')}"
    return ""


@POINTS.rule("negative_axis", ReviewedVersion, clause=TESTS, requires=STATEMENT, phrase="An example of a negative axis")
def check_negative_axes(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield evidence for each axis that may be negative: PASSED if an example has a negative one, else MISSING.

    An axis is an attribute whose `kind` is an axis or axes, or an input called "axis" or "axes". An attribute whose
    range forbids negative numbers is left out. Only examples with outputs count; one without the attribute uses its
    default. If there is no such axis, one piece of evidence is NOT_APPLICABLE.
    """
    declared = [each for each in version.schema.attributes.values() if each.kind in (AXIS, AXES)]
    axes = [each.name for each in declared if ">= 0" not in each.range and "0 <=" not in each.range]
    inputs = [index for index, each in enumerate(version.schema.inputs) if each.name in ("axis", "axes")]
    if not axes and not inputs:
        yield Evidence(NOT_APPLICABLE, "it has no axis that may be negative", version.place_of())
    for name in axes:
        default = version.schema.attributes[name].default
        examples = [each for each in version.examples_with_outputs if _has_negative(each.attributes.get(name, default))]
        yield _edge_evidence(version, f"a negative {name}", examples, "add one")
    for index in inputs:
        given = ((each, value) for each in version.examples_with_outputs for value in values_of_input(each, index))
        examples = [each for each, value in given if value is not None and _has_negative(value.content)]
        yield _edge_evidence(version, f"a negative element of {version.schema.inputs[index].name}", examples, "add one")


def _has_negative(value: Any) -> bool:
    """Return whether a value is a negative integer, or a list or tuple that contains one."""
    values = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(each, int) and each < 0 for each in values)


@POINTS.rule(
    "not_numbers", ReviewedVersion, clause=TESTS, requires=STATEMENT, phrase="An example of NaN and infinities"
)
def check_nan_and_infinities(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence: whether an example has NaN or an infinity in an input.

    - PASSED if an example has one;
    - MISSING if none has, although the text of a special case names NaN or infinities;
    - OPEN if none has, and no special case names them: the author has to state why none is needed;
    - NOT_APPLICABLE if no input may hold floats.
    """
    schema = version.schema
    if not any(type_.startswith(FLOATS) for each in schema.inputs for type_ in schema.allowed_types(each)):
        yield Evidence(NOT_APPLICABLE, "none of its inputs is of floats", version.place_of("types"))
        return
    examples = [each for each in version.examples if any(_is_special(value) for value in input_tensors(each))]
    if examples or re.search(r"\bNaN\b|infinit", " ".join(each.text for each in version.docs.special_cases)):
        help = "add one: inputs: [{float: [.nan, .inf]}]"
        yield _edge_evidence(version, "NaN or an infinity, which its special cases name", examples, help)
    else:
        why = "neither an example nor a special case has NaN or infinities"
        help = "add an example, or state that it moves elements without computing with them"
        yield Evidence(OPEN, why, version.place_of("special_cases"), help)


def _is_special(value: ExampleValue) -> bool:
    """Return whether a tensor has NaN or an infinity among its elements; complex numbers as text do not count."""
    content = value.content if isinstance(value.content, list) else [value.content]
    return any(isinstance(each, float) and not math.isfinite(each) for each in content)


@POINTS.rule("broadcast", ReviewedVersion, clause=TESTS, requires=STATEMENT, phrase="An example of broadcasting")
def check_broadcasting(version: ReviewedVersion) -> Iterator[Evidence]:
    """Yield one piece of evidence: PASSED if an example with outputs has inputs of different shapes, else MISSING.

    It is NOT_APPLICABLE if the operator does not broadcast.
    """
    named = {condition.subject for condition in version.schema.conditions if condition.kind == BROADCAST}
    if not named and not re.match(r"broadcast|onto", version.schema.shape):
        yield Evidence(NOT_APPLICABLE, "it does not broadcast", version.place_of("shape"))
        return
    with_outputs = version.examples_with_outputs
    examples = [each for each in with_outputs if len({value.shape for value in input_tensors(each)}) > 1]
    yield _edge_evidence(version, "inputs of different shapes, which are broadcast", examples, "add one")
