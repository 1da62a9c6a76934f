"""Compares a node with its operator's schema and yields the misfits of a part: arity, types, attributes, values.

Cost is linear in the arguments; callers that meet a signature many times keep the result.

Evaluation and inference call `check_constraints` before a kernel or a rule, so that neither repeats the declarations;
conversion refuses the `constraint_misfits` of a node before an adapter runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from opset.errors import safe_text
from opset.model.elements import NUMBERS, element_name
from opset.schemas.constraints.evaluation import is_met
from opset.schemas.constraints.grammar import Expression, parse_range, terms_of
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import SIGNATURE, SINGLE, UNBOUNDED, VARIADIC, Attribute, OpSchema, Parameter
from opset.schemas.names import qualified_name

INPUT_COUNT, OUTPUT_COUNT, MISSING_INPUT = "input count", "output count", "missing input"
INPUT_TYPE, OUTPUT_TYPE, TIED_TYPES = "input type", "output type", "tied types"
UNKNOWN_ATTRIBUTE, MISSING_ATTRIBUTE = "unknown attribute", "missing attribute"
ATTRIBUTE_TYPE, ATTRIBUTE_VALUE = "attribute type", "attribute value"
BOOL, AXIS, AXES, DATA_TYPE, ANY_CASE = KINDS = ("bool", "axis", "axes", "data_type", "any_case")
_MAX_SHOWN = 80  # characters of a value that a message shows


class Misfit(NamedTuple):
    """One respect in which a node does not fit its operator's schema.

    - `kind`: one of the constants above; `what`: the fault as a sentence; `why`: the reason;
    - `name`: the parameter or attribute; `constraint`: the label of the constraint that a value breaks, else "".
    """

    kind: str
    what: str
    why: str
    name: str = ""
    constraint: str = ""
    detail: str = ""
    """The bare fact about an attribute's value: "axis 2, rank 2"."""


def advise_signature(schema: OpSchema) -> str:
    """Return the advice for a node that does not fit a schema, with the command that shows it."""
    operator = f"{qualified_name(schema.domain, schema.name)} {schema.since_version}"
    return safe_text(f"correct the node or the imported version: opset show {operator} prints the signature")


def arity_misfits(schema: OpSchema, given: Sequence[str | None], outputs: bool = False) -> Iterator[Misfit]:
    """Yield a misfit for a wrong number of inputs or outputs, and for each required input that is absent.

    Of the values of a variadic input, none may be absent. If the types of the version are not known (`schema.unknown`),
    absent inputs are no misfits.

    Args:
        schema: The operator version.
        given: The names or types of the node's inputs, or of its outputs: "" for an absent value, None for an unknown
            type.
        outputs: Whether `given` are outputs.
    """
    least, most = (schema.min_output, schema.max_output) if outputs else (schema.min_input, schema.max_input)
    if not least <= len(given) <= most:
        wanted = f"{least}" if least == most else f"{least} or more" if most == UNBOUNDED else f"{least} to {most}"
        word = ("output" if outputs else "input") + "s" * (len(given) != 1)
        kind = OUTPUT_COUNT if outputs else INPUT_COUNT
        yield Misfit(kind, f"the node has {len(given)} {word}", f"{_version_name(schema)} has {wanted}")
    if outputs or schema.unknown:
        return
    for formal, type_ in zip(schema.inputs, given, strict=False):
        if type_ == "" and formal.option == SINGLE:
            why = f"{_version_name(schema)} requires it"
            yield Misfit(MISSING_INPUT, f"the input '{formal.name}' is missing", why, formal.name)
    if schema.inputs and schema.inputs[-1].option == VARIADIC and "" in given[len(schema.inputs) - 1 :]:
        name = schema.inputs[-1].name
        why = f"{_version_name(schema)} takes any number of them, and none may be left out"
        yield Misfit(MISSING_INPUT, f"a value of the input '{name}' is missing", why, name)


def type_misfits(
    schema: OpSchema,
    inputs: Sequence[str | None],
    outputs: Sequence[str | None] = (),
    bare_optionals: bool = False,
) -> Iterator[Misfit]:
    """Yield a misfit for each type that an input or output may not have.

    A type may be illegal by itself, or because it differs from the type of another input or output with the same type
    constraint. Values that are absent, of unknown type, or more than the schema has, are skipped.

    Args:
        schema: The operator version.
        inputs: The types of the node's inputs: "tensor(float)", "" for an absent value, None if unknown.
        outputs: The types of the node's outputs in the same form.
        bare_optionals: Whether a value of type T may stand for an `optional(T)`.
    """
    bound: dict[str, tuple[str, str]] = {}
    for word, formals, given in (("input", schema.inputs, inputs), ("output", schema.outputs, outputs)):
        for index, type_ in enumerate(given if formals else ()):
            formal = formals[min(index, len(formals) - 1)]
            if not type_ or (index >= len(formals) and formal.option != VARIADIC):
                continue
            allowed = schema.allowed_types(formal)
            if not allowed:
                continue
            if type_ not in allowed and not (bare_optionals and f"optional({type_})" in allowed):
                verb = "takes" if word == "input" else "has"
                kind = INPUT_TYPE if word == "input" else OUTPUT_TYPE
                why = f"{_version_name(schema)} {verb} {', '.join(allowed)}"
                yield Misfit(kind, f"the {word} '{formal.name}' cannot be {safe_text(type_)}", why, formal.name)
                continue
            if not formal.homogeneous or (bare_optionals and any("optional" in each for each in allowed)):
                continue
            number = index - len(formals) + 2 if formal.option == VARIADIC else 0
            other, first = bound.setdefault(formal.type, (f"value {number}" if number else f"'{formal.name}'", type_))
            if first != type_:
                label = f"value {number} of the {word}" if number else f"the {word}"
                what = f"{label} '{formal.name}' is {type_}, and {other} is {first}"
                yield Misfit(TIED_TYPES, what, f"both have the type {formal.type}", formal.name)


def version_that_fits(
    versions: Sequence[OpSchema],
    schema: OpSchema,
    inputs: Sequence[str],
    outputs: Sequence[str],
    attributes: Mapping[str, str | None],
) -> OpSchema | None:
    """Return an operator version other than `schema` that a node fits; None if it fits none.

    Newer versions are tried first, from the next one to the newest. Then older versions are tried, newest first.
    Deprecated versions are skipped. Types of inputs and outputs are not compared.

    Args:
        versions: All versions of the operator, oldest first.
        schema: The version that the node does not fit.
        inputs: The names of the node's inputs.
        outputs: The names of its outputs.
        attributes: The types of its attributes by name, None for unknown ones.
    """
    newer = [each for each in versions if each.since_version > schema.since_version]
    older = [each for each in reversed(versions) if each.since_version < schema.since_version]
    fits = (each for each in (*newer, *older) if not each.deprecated)
    return next((each for each in fits if not any(node_misfits(each, inputs, outputs, attributes))), None)


def attribute_misfits(schema: OpSchema, attributes: Mapping[str, str | None]) -> Iterator[Misfit]:
    """Yield a misfit for each attribute that the operator does not have, that has the wrong type, or that is missing.

    Only required attributes can be missing. `attributes` are the types of the node's attributes by name, such as
    "ints"; None for a type that is not known. Nothing is yielded if the attributes of the version are not known
    (`schema.unknown`).
    """
    if schema.unknown == SIGNATURE:
        return
    for name, type_ in attributes.items():
        declared = schema.attributes.get(name)
        if declared is None:
            what = f"there is no attribute '{safe_text(name)}'"
            yield Misfit(UNKNOWN_ATTRIBUTE, what, f"{_version_name(schema)} has none of this name", name)
        elif type_ is not None and type_ != declared.type:
            why = f"it has to be of type {declared.type}"
            yield Misfit(ATTRIBUTE_TYPE, f"the attribute '{name}' is of type {type_}", why, name)
    for name, declared in schema.attributes.items():
        if declared.required and name not in attributes:
            why = f"{_version_name(schema)} requires it"
            yield Misfit(MISSING_ATTRIBUTE, f"the attribute '{name}' is missing", why, name)


def node_misfits(
    schema: OpSchema, inputs: Sequence[str | None], outputs: Sequence[str | None], attributes: Mapping[str, str | None]
) -> Iterator[Misfit]:
    """Yield a misfit for each wrong number of inputs or outputs, absent required input, and wrong attribute.

    An attribute is wrong if it is unknown, of the wrong type, or required and absent. Types of inputs and outputs are
    not compared. Parts of the signature that are not known (`schema.unknown`) are skipped.

    Args:
        schema: The operator version.
        inputs: The names or types of the node's inputs: "" for an absent value, None for an unknown type.
        outputs: The names or types of the node's outputs in the same form.
        attributes: The types of its attributes by name, such as "ints"; None for an unknown type.
    """
    yield from arity_misfits(schema, inputs)
    yield from arity_misfits(schema, outputs, outputs=True)
    yield from attribute_misfits(schema, attributes)


def value_misfits(schema: OpSchema, values: Mapping[str, Any], ranks: Sequence[int | None] = ()) -> Iterator[Misfit]:
    """Yield a misfit for each attribute whose value its declared `choices`, `range` or `kind` do not allow.

    `values` are the values of the node's attributes by name. `ranks` are the ranks of its inputs in order, None if
    unknown. A list gives one misfit at most, for its first illegal element. Missing attributes are skipped. A value
    passes if an unknown rank decides whether it is legal.
    """
    for declared in declared_attributes(schema):
        value = values.get(declared.name)
        if value is None:
            continue
        rank_by_name: dict[str, int | None] = {}
        if needs_ranks(declared):
            rank_by_name = {formal.name: rank for formal, rank in zip(schema.inputs, ranks, strict=False)}
            rank_by_name[""] = ranks[0] if ranks else None
        for element in dict.fromkeys(value) if isinstance(value, list | tuple) else (value,):
            if why := _why_illegal(schema, declared, element, rank_by_name):
                text = repr(value)
                shown = safe_text(text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…")
                what, detail = f"the attribute '{declared.name}' is {shown}", f"{declared.name} {shown}"
                if declared.kind == DATA_TYPE and isinstance(element, int) and element_name(element) in NUMBERS:
                    detail += f" ({element_name(element)})"
                for name in _range_of(declared).ranks:
                    detail += f", rank{name and f'({name})'} {rank_by_name.get(name)}"
                yield Misfit(ATTRIBUTE_VALUE, what, why, declared.name, declared.constraint, detail)
                break


def constraint_misfits(
    schema: OpSchema, values: Mapping[str, Any], ranks: Sequence[int | None] = ()
) -> Iterator[Misfit]:
    """Yield a misfit for each illegal value of an attribute whose declaration names a constraint, such as "C1".

    Illegal values of other attributes are skipped: runtimes accept some of them, such as 2 for a flag. `values` are the
    values of the node's attributes by name. `ranks` are the ranks of its inputs in order, None if unknown.
    """
    return (misfit for misfit in value_misfits(schema, values, ranks) if misfit.constraint)


def check_constraints(schema: OpSchema, values: Mapping[str, Any], ranks: Sequence[int | None] = ()) -> None:
    """Raise Violation for the first illegal value of an attribute whose declaration names a constraint, such as "C1".

    Illegal values of other attributes pass. `values` are the values of the node's attributes by name. `ranks` are the
    ranks of its inputs in order, None if unknown.
    """
    for misfit in constraint_misfits(schema, values, ranks):
        raise Violation(misfit.constraint, misfit.detail)


def declared_attributes(schema: OpSchema) -> tuple[Attribute, ...]:
    """Return the attributes of a schema that restrict their values by `choices`, `range` or `kind`."""
    return tuple(each for each in schema.attributes.values() if each.choices or each.range or each.kind)


def needs_ranks(declared: Attribute) -> bool:
    """Whether the rank of an input decides which values of an attribute are legal, as in "-rank <= x < rank"."""
    return bool(_range_of(declared).ranks)


def _why_illegal(schema: OpSchema, declared: Attribute, element: Any, ranks: Mapping[str, int | None]) -> str:
    """Return why a value of an attribute is illegal, as in "it has to be 0 or 1"; "" if it is legal.

    The result is also "" if an unknown rank decides it. `element` is the value or, for a list, one of its elements.
    `ranks` are the ranks of inputs by name, with "" for the first one; an unknown rank is None or missing.
    """
    if declared.kind == DATA_TYPE:
        return _why_no_data_type(schema, declared, element)
    if declared.choices and element not in declared.choices:
        folded = [str(each).lower() for each in declared.choices] if declared.kind == ANY_CASE else ()
        if not isinstance(element, str) or element.lower() not in folded:
            return f"it has to be {choices_text(declared.choices)}"
    if declared.kind == BOOL and element not in (0, 1):
        return "it has to be 0 or 1"
    for comparison in comparisons_of(declared):
        if not isinstance(element, int | float) or is_met(comparison, element, {"rank": ranks.get}) is False:
            return f"it has to be {range_text(declared)}"
    return ""


def _why_no_data_type(schema: OpSchema, declared: Attribute, element: Any) -> str:
    """Return why a value names no element type that the attribute allows; "" if it names one.

    The value is a number or a name. 0 passes if it is the attribute's default.
    """
    if element == 0 == declared.default:
        return ""
    name = element_name(element) if isinstance(element, int) else str(element).lower()
    if name not in NUMBERS:
        return "it names no element type"
    allowed = data_types(schema, declared)
    legal = not allowed or name in allowed
    return "" if legal else f"it is {safe_text(name)}, and has to be {choices_text(sorted(allowed))}"


def data_types(schema: OpSchema, declared: Attribute) -> Collection[str]:
    """Return the element types that an attribute of kind "data_type" may name, such as "float".

    The result is empty if it may name any.
    """
    found: set[str] = set()
    for choice in declared.choices:
        types = schema.types.get(choice, (f"tensor({choice})",))
        found.update(each.partition("tensor(")[2].rstrip(")") for each in types if "tensor(" in each)
    return found


def comparisons_of(declared: Attribute) -> tuple[Expression, ...]:
    """Return the parsed comparisons that the value of an attribute has to meet, () if there are none.

    An attribute of kind axis or axes has to meet `-rank <= x < rank` even if it declares no range.
    """
    return _range_of(declared).comparisons


def _version_name(schema: OpSchema) -> str:
    """Return the name of an operator version in messages: "Softmax 13"."""
    return f"{schema.name} {schema.since_version}"


def choices_text(choices: Collection[Any]) -> str:
    """Return choices as a phrase: `a, b or ""`; "" if there are none."""
    words = [str(each) or '""' for each in choices]
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def range_text(declared: Attribute) -> str:
    """Return the range of an attribute as text, "" if it has none.

    For the kinds axis and axes, `-rank <= x < rank` is added, unless the range in YAML names a rank itself.
    """
    return _range_of(declared).text


class _Range(NamedTuple):
    """The range of an attribute: its text, its comparisons, and the names of inputs whose ranks they name, sorted."""

    text: str
    comparisons: tuple[Expression, ...]
    ranks: tuple[str, ...]


def _range_of(declared: Attribute) -> _Range:
    """Return the range that the value of an attribute has to be in."""
    return _read_range(declared.range, declared.kind in (AXIS, AXES))


@lru_cache(maxsize=1024)
def _read_range(text: str, is_axis: bool) -> _Range:
    """Return the range that a text in YAML declares for an attribute, which is an axis, or axes, or neither.

    Nodes that are converted have it read again and again.
    """
    comparisons = parse_range(text) if text else ()
    if is_axis and not any(terms_of(comparisons)):
        text = " and ".join(filter(None, (text, "-rank <= x < rank")))
        comparisons = parse_range(text)
    return _Range(text, comparisons, tuple(sorted({name for _, name in terms_of(comparisons)})))


def declared_text(schema_inputs: Sequence[Parameter], declared: Attribute) -> str:
    """Return the legal values of an attribute as the text of a constraint, such as "mode is linear or cubic".

    The result is "" if all values are legal. `schema_inputs` are the inputs of the operator. The name of the first
    input is in the text for an axis: "-rank(X) <= axis < rank(X)".
    """
    from opset.schemas.constraints.wording import range_sentence

    name = f"each of {declared.name}" if declared.type.endswith("s") else declared.name
    if declared.kind == DATA_TYPE:
        if not declared.choices:
            return f"{name} is the number of an element type"
        if all(each in NUMBERS for each in declared.choices):
            return f"{name} is {choices_text(declared.choices)}"
        number = "name" if declared.type == "string" else "number"
        phrases = [each if each in NUMBERS else f"a type in {each}" for each in declared.choices]
        return f"{name} is the {number} of {choices_text(phrases)}"
    if declared.choices:
        return f"{name} is {choices_text(declared.choices)}"
    if declared.kind == BOOL:
        return f"{name} is 0 or 1"
    first = schema_inputs[0].name if schema_inputs else "input"
    text = range_text(declared)
    return range_sentence(text, name, first) if text else ""
