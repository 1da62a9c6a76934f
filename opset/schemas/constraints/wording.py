"""The texts of constraints, which follow from what is declared."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from opset.schemas.constraints.grammar import (
    BROADCAST,
    DISTINCT,
    GIVEN,
    KINDS,
    MIRRORED,
    PRESENCE,
    RANK,
    SHAPE,
    SIZE,
    VALUES,
    Expression,
    name_first_input,
    parse_condition,
    parse_premise,
)
from opset.schemas.model import Condition, OpSchema


def conditions_text(conditions: Iterable[Condition], schema: OpSchema) -> str:
    """Return the conditions of one constraint as text: "rank(X) >= 2, if mode is linear"; "" if there are none.

    Conditions with equal premises (their `where`) make one phrase: "A, B and C, if PREMISES". Phrases are separated by
    semicolons. `schema` is the version that has the conditions.
    """
    ones = (RANK, "0"), (SIZE, "1")
    single = {name for name, attribute in schema.attributes.items() if not attribute.type.endswith("s")}
    single |= {condition.subject for condition in schema.conditions if (condition.kind, condition.form) in ones}
    clauses: dict[tuple[tuple[str, str], ...], list[Condition]] = {}
    for condition in conditions:
        clauses.setdefault(condition.where, []).append(condition)
    texts = []
    for where, members in clauses.items():
        text = _join_phrases([phrase for kind in KINDS for phrase in _phrases_of_kind(kind, members, single)])
        premises = [
            f"{name} is {'given' if PRESENCE[form] else 'left out'}"
            if form in PRESENCE
            else _condition_text(parse_premise(name, form, schema)[1], name)
            for name, form in where
        ]
        texts.append(f"{text}, if {_join_phrases(premises)}" if premises else text)
    return "; ".join(texts)


def range_sentence(text: str, subject: str, first: str) -> str:
    """Return the range of an attribute as a sentence about it: "-rank(X) <= axis < rank(X)".

    `text` is the range, such as "-rank <= x < rank". `subject` is the name of the attribute, such as "axis". `first` is
    the name of the operator's first input, such as "X".
    """
    condition = name_first_input(parse_condition(text), first)
    parts = condition.operands if condition.operator == "and" else (condition,)
    return " and ".join([_condition_text(part, subject) for part in parts])


def _phrases_of_kind(kind: str, members: Sequence[Condition], single: Collection[str]) -> Iterator[str]:
    """Yield phrases for the conditions of one kind, such as "rank", among `members`.

    If possible, names with the same condition share a phrase, such as "X and Y are scalars". A condition on the values
    of an input or attribute says "each of axes >= 0", but just "axis >= 0" for a name in `single`. `single` has the
    names of inputs and attributes with exactly one element.
    """
    forms: dict[str, list[str]] = {}
    for condition in members:
        if condition.kind == kind:
            forms.setdefault(condition.form, []).append(condition.subject)
    for form, names in forms.items():
        several, all_names = len(names) > 1, _join_phrases(names)
        if kind == GIVEN:
            yield from _given_phrases(form, names)
        elif kind == SHAPE:
            equal = " = ".join(f"shape({name})" for name in names)
            yield f"{equal} is {form}" if ") or (" in form else f"{equal} = {form}"
        elif kind == BROADCAST:
            yield f"{all_names} broadcast{'s' * (not several)} to {form} in one direction"
        elif kind == DISTINCT:
            yield f"{all_names} name{'s' * (not several)} no dimension twice"
        elif kind == SIZE and form.isdigit():
            count = "one element" if form == "1" else f"{form} elements"
            yield f"{all_names} {'have' if several else 'has'} {count}{' each' * several}"
        elif kind == RANK and form == "0":
            yield f"{all_names} {'are scalars' if several else 'is a scalar'}"
        else:
            for name in names:
                subject = f"each of {name}" if kind == VALUES and name not in single else name
                subject = f"{kind}({name})" if kind in (RANK, SIZE) else subject
                yield _condition_text(parse_condition(form), subject)


def _given_phrases(form: str, names: Sequence[str]) -> Iterator[str]:
    """Yield phrases that say when all of `names` are given; `form` is "true", "false", another name, or "not NAME"."""
    are = f"{_join_phrases(names)} {'are' if len(names) > 1 else 'is'}"
    if form in ("true", "false"):
        yield f"{are} {'given' if form == 'true' else 'left out'}"
    elif form.startswith("not "):
        yield from (f"either {name} or {form[4:]} is given" for name in names)
    else:
        yield f"{are} given if and only if {form} is"


def _condition_text(condition: Expression, subject: str) -> str:
    """Return a condition as a sentence about its subject: "axis >= 0"."""
    kind, operands = condition
    if kind == "and":
        return _join_phrases([_condition_text(operand, subject) for operand in operands])
    if kind == "or" and {operand.operator for operand in operands} == {"="}:
        return f"{subject} is {' or '.join(str(operand.operands[0]) for operand in operands)}"
    if kind == "or":
        return " or ".join([_condition_text(operand, subject) for operand in operands])
    if kind == "chain":
        return f"{operands[0].operands[0]} {MIRRORED[operands[0].operator]} {_condition_text(operands[1], subject)}"
    return f"{subject} {'is a multiple of' if kind == 'multiple' else kind} {operands[0]}"


def _join_phrases(phrases: Sequence[str]) -> str:
    """Return phrases joined as "a, b and c"; "" if there are none.

    A comma stands before "and" if a phrase has several words.
    """
    if len(phrases) < 2:
        return "".join(phrases)
    comma = "," if any(" " in phrase for phrase in phrases) else ""
    return f"{', '.join(phrases[:-1])}{comma} and {phrases[-1]}"
