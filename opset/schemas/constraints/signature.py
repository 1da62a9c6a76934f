"""Whether a node fits its operator's schema, written once: a generator of misfits.

    misfits(schema, inputs=…, outputs=…, attributes=…, values=…, ranks=…)

takes what is known of a node as plain facts and yields a `Misfit(kind, what, why, name, constraint)` for each thing
that is wrong. Each argument that is left out leaves its part unchecked:

- `inputs`, `outputs`: the type of each, such as "tensor(float)"; None where it is not known, "" where it is left out.
  Checked: how many there are, required ones that are left out (of inputs), types that the schema does not allow, and
  parameters of one type constraint whose types differ, variadic ones among them.
- `attributes`: by name the type that the node states, such as "ints"; None where it is not known (a reference to an
  attribute of the function around). Checked: names that the schema does not have, required ones that are left out, and
  types.
- `values`: attributes by name with their values, defaults included; what is None or left out is not checked. Checked:
  the `choices`, `range` and `kind` that the schema declares, with the ranks of inputs (`ranks`, by position) where they
  are known. `constraint` of the misfit is the label of the constraint that is broken, "" where none is declared.

`check_constraints(schema, values, ranks)` raises the `Violation` of a constraint that an attribute breaks. Evaluation
and inference call it before a kernel or a rule, so that neither repeats what is declared; conversion refuses what
`constraint_misfits` yields before an adapter.

`bare_optionals` says that the content of an optional is taken for the optional itself, since values at run time do not
show which of the two they are.

Cost is linear in what is passed; callers that meet a signature many times keep the result. The parts can be called by
themselves: `arity_misfits`, `type_misfits`, `attribute_misfits`, `value_misfits`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opset.errors import safe_text
from opset.model.elements import NUMBERS, element_name
from opset.schemas.constraints.ranges import AXIS_RANGE, Comparison, parse_range, ranks_of
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import SINGLE, UNBOUNDED, Attribute, OpSchema, Parameter

INPUT_COUNT, OUTPUT_COUNT, MISSING_INPUT = "input count", "output count", "missing input"
INPUT_TYPE, OUTPUT_TYPE, TIED_TYPES = "input type", "output type", "tied types"
UNKNOWN_ATTRIBUTE, MISSING_ATTRIBUTE = "unknown attribute", "missing attribute"
ATTRIBUTE_TYPE, ATTRIBUTE_VALUE = "attribute type", "attribute value"
BOOL, AXIS, AXES, DATA_TYPE, ANY_CASE = KINDS = ("bool", "axis", "axes", "data_type", "any_case")
_SHOWN = 80  # characters of a value that a message shows


class Misfit(NamedTuple):
    """One thing in which a node does not fit its schema.

    `kind` is one of the constants above, `what` a sentence, `why` the reason; `name` is the parameter or attribute.
    """

    kind: str
    what: str
    why: str
    name: str = ""
    constraint: str = ""
    detail: str = ""
    """Of an attribute's value, the fact alone: "axis 2, rank 2"."""


def misfits(
    schema: OpSchema,
    *,
    inputs: Sequence[str | None] | None = None,
    outputs: Sequence[str | None] | None = None,
    attributes: Mapping[str, str | None] | None = None,
    values: Mapping[str, Any] | None = None,
    ranks: Sequence[int | None] = (),
    bare_optionals: bool = False,
) -> Iterator[Misfit]:
    """Yield what is wrong with a node, as far as facts about it are given; see the module."""
    if inputs is not None:
        yield from arity_misfits(schema, inputs)
    if outputs is not None:
        yield from arity_misfits(schema, outputs, outputs=True)
    if inputs is not None or outputs is not None:
        yield from type_misfits(schema, inputs or (), outputs or (), bare_optionals)
    if attributes is not None:
        yield from attribute_misfits(schema, attributes)
    if values is not None:
        yield from value_misfits(schema, values, ranks)


def arity_misfits(schema: OpSchema, given: Sequence[str | None], outputs: bool = False) -> Iterator[Misfit]:
    """Yield what is wrong with the number of inputs or outputs, and the required inputs that are left out."""
    least, most = (schema.min_output, schema.max_output) if outputs else (schema.min_input, schema.max_input)
    if not least <= len(given) <= most:
        wanted = f"{least}" if least == most else f"{least} or more" if most == UNBOUNDED else f"{least} to {most}"
        word = "outputs" if outputs else "inputs"
        kind = OUTPUT_COUNT if outputs else INPUT_COUNT
        yield Misfit(kind, f"the node has {len(given)} {word}", f"{_named(schema)} has {wanted}")
    if outputs:
        return
    for formal, type_ in zip(schema.inputs, given, strict=False):
        if type_ == "" and formal.option == SINGLE:
            why = f"{_named(schema)} requires it"
            yield Misfit(MISSING_INPUT, f"the input '{formal.name}' is missing", why, formal.name)


def type_misfits(
    schema: OpSchema,
    inputs: Sequence[str | None] = (),
    outputs: Sequence[str | None] = (),
    bare_optionals: bool = False,
) -> Iterator[Misfit]:
    """Yield the known types that are not allowed, and those that differ although they have one type constraint."""
    bound: dict[str, tuple[str, str]] = {}
    for word, formals, given in (("input", schema.inputs, inputs), ("output", schema.outputs, outputs)):
        for index, type_ in enumerate(given if formals else ()):
            formal = formals[min(index, len(formals) - 1)]
            if not type_ or (index >= len(formals) and formal.option != "variadic"):
                continue
            allowed = schema.allowed(formal)
            if type_ not in allowed and not (bare_optionals and f"optional({type_})" in allowed):
                verb = "takes" if word == "input" else "has"
                kind = INPUT_TYPE if word == "input" else OUTPUT_TYPE
                why = f"{_named(schema)} {verb} {', '.join(allowed)}"
                yield Misfit(kind, f"the {word} '{formal.name}' cannot be {safe_text(type_)}", why, formal.name)
            elif _is_tied(schema, formal, bare_optionals):
                name, first = bound.setdefault(formal.type, (formal.name, type_))
                if first != type_:
                    what = f"the {word} '{formal.name}' is {type_}, and '{name}' is {first}"
                    yield Misfit(TIED_TYPES, what, f"both have the type {formal.type}", formal.name)


def _is_tied(schema: OpSchema, formal: Parameter, bare_optionals: bool) -> bool:
    if not formal.homogeneous or formal.type not in schema.types:
        return False
    return not (bare_optionals and any("optional" in each for each in schema.types[formal.type]))


def attribute_misfits(schema: OpSchema, attributes: Mapping[str, str | None]) -> Iterator[Misfit]:
    """Yield attributes that the schema does not have or has with another type, and required ones that are left out."""
    for name, type_ in attributes.items():
        declared = schema.attributes.get(name)
        if declared is None:
            what = f"there is no attribute '{safe_text(name)}'"
            yield Misfit(UNKNOWN_ATTRIBUTE, what, f"{_named(schema)} has none of this name", name)
        elif type_ is not None and type_ != declared.type:
            why = f"it has to be of type {declared.type}"
            yield Misfit(ATTRIBUTE_TYPE, f"the attribute '{name}' is of type {type_}", why, name)
    for name, declared in schema.attributes.items():
        if declared.required and name not in attributes:
            why = f"{_named(schema)} requires it"
            yield Misfit(MISSING_ATTRIBUTE, f"the attribute '{name}' is missing", why, name)


def value_misfits(schema: OpSchema, values: Mapping[str, Any], ranks: Sequence[int | None] = ()) -> Iterator[Misfit]:
    """Yield attributes whose values the schema's declarations do not allow; one for each attribute."""
    for declared in declared_attributes(schema):
        value = values.get(declared.name)
        if value is None:
            continue
        rank_by_name = _ranks_by_name(schema, ranks) if needs_ranks(declared) else {}
        for element in dict.fromkeys(value) if isinstance(value, list | tuple) else (value,):
            if why := _why_illegal(schema, declared, element, rank_by_name):
                text = repr(value)
                shown = safe_text(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
                what, detail = f"the attribute '{declared.name}' is {shown}", f"{declared.name} {shown}"
                for name in sorted(ranks_of(comparisons_of(declared))):
                    detail += f", rank{name and f'({name})'} {rank_by_name.get(name)}"
                yield Misfit(ATTRIBUTE_VALUE, what, why, declared.name, declared.constraint, detail)
                break


def constraint_misfits(
    schema: OpSchema, values: Mapping[str, Any], ranks: Sequence[int | None] = ()
) -> Iterator[Misfit]:
    """Yield attributes whose values break a constraint that their declaration names.

    Declarations that name no constraint are not enforced, as flags of which any number but 0 is taken for 1.
    """
    return (misfit for misfit in value_misfits(schema, values, ranks) if misfit.constraint)


def check_constraints(schema: OpSchema, values: Mapping[str, Any], ranks: Sequence[int | None] = ()) -> None:
    """Raise Violation where an attribute's value breaks a constraint that its declaration names."""
    for misfit in constraint_misfits(schema, values, ranks):
        raise Violation(misfit.constraint, misfit.detail)


def declared_attributes(schema: OpSchema) -> tuple[Attribute, ...]:
    """Return the attributes of a schema that declare which values are legal."""
    return tuple(each for each in schema.attributes.values() if each.choices or each.range or each.kind)


def needs_ranks(declared: Attribute) -> bool:
    """Whether the ranks of inputs decide which values of an attribute are legal."""
    return declared.kind in (AXIS, AXES) or "rank" in declared.range


def _why_illegal(schema: OpSchema, declared: Attribute, element: Any, ranks: Mapping[str, int | None]) -> str:
    """Return why a value, or an element of one, is illegal; "" where it is legal."""
    if declared.kind == DATA_TYPE:
        return _why_no_data_type(schema, declared, element)
    if declared.choices and element not in declared.choices and not _is_in_any_case(declared, element):
        return f"it has to be {listed(declared.choices)}"
    if declared.kind == BOOL and element not in (0, 1):
        return "it has to be 0 or 1"
    for each in comparisons_of(declared):
        if not isinstance(element, int | float) or not each.holds(element, ranks):
            return f"it has to be {range_text(declared)}"
    return ""


def _is_in_any_case(declared: Attribute, element: Any) -> bool:
    if declared.kind != ANY_CASE or not isinstance(element, str):
        return False
    return element.lower() in [str(each).lower() for each in declared.choices]


def _why_no_data_type(schema: OpSchema, declared: Attribute, element: Any) -> str:
    if element == 0 == declared.default:
        return ""
    name = element_name(element) if isinstance(element, int) else str(element).lower()
    if name not in NUMBERS:
        return "it names no element type"
    allowed = data_types(schema, declared)
    legal = not allowed or name in allowed
    return "" if legal else f"it is {safe_text(name)}, and has to be {listed(sorted(allowed))}"


def data_types(schema: OpSchema, declared: Attribute) -> Collection[str]:
    """Return the element types that an attribute of kind data_type may name; empty where any one is legal."""
    found: set[str] = set()
    for choice in declared.choices:
        types = schema.types.get(choice, (f"tensor({choice})",))
        found.update(each.partition("tensor(")[2].rstrip(")") for each in types if "tensor(" in each)
    return found


def comparisons_of(declared: Attribute) -> tuple[Comparison, ...]:
    """Return the comparisons that an attribute's values meet; an axis is within the rank of the first input."""
    comparisons = parse_range(declared.range) if declared.range else ()
    if declared.kind in (AXIS, AXES) and not ranks_of(comparisons):
        comparisons += parse_range(AXIS_RANGE)
    return comparisons


def _ranks_by_name(schema: OpSchema, ranks: Sequence[int | None]) -> dict[str, int | None]:
    named: dict[str, int | None] = {formal.name: rank for formal, rank in zip(schema.inputs, ranks, strict=False)}
    named[""] = ranks[0] if ranks else None
    return named


def _named(schema: OpSchema) -> str:
    return f"{schema.name} {schema.since_version}"


def listed(choices: Collection[Any]) -> str:
    """Return choices as a phrase: `a, b or ""`."""
    words = [str(each) or '""' for each in choices]
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1]))) if words else ""


def range_text(declared: Attribute) -> str:
    """Return the range of an attribute as text; that of an axis where it declares none by rank."""
    parts = [declared.range] if declared.range else []
    if declared.kind in (AXIS, AXES) and not (declared.range and ranks_of(parse_range(declared.range))):
        parts.append(AXIS_RANGE)
    return " and ".join(parts)


def declared_text(schema_inputs: Sequence[Parameter], declared: Attribute) -> str:
    """Return the condition that an attribute's declaration stands for, as a constraint's text; "" where there is none.

    The rank of the first input is written with its name: `-rank(X) <= axis < rank(X)`.
    """
    name = f"each of {declared.name}" if declared.type.endswith("s") else declared.name
    if declared.kind == DATA_TYPE:
        if not declared.choices:
            return f"{name} is the number of an element type"
        if all(each in NUMBERS for each in declared.choices):
            return f"{name} is {listed(declared.choices)}"
        number = "name" if declared.type == "string" else "number"
        phrases = [each if each in NUMBERS else f"a type in {each}" for each in declared.choices]
        return f"{name} is the {number} of {listed(phrases)}"
    if declared.choices:
        return f"{name} is {listed(declared.choices)}"
    if declared.kind == BOOL:
        return f"{name} is 0 or 1"
    first = schema_inputs[0].name if schema_inputs else "input"
    parts = [_spelled(part.strip(), name, first) for part in range_text(declared).split(" and ") if part]
    return " and ".join(parts)


def _spelled(part: str, name: str, first: str) -> str:
    """Return one comparison of a range with the attribute's name, and the name of the first input after `rank`."""
    words = part.split(" ")
    spelled = [f"rank({first})" if each == "rank" else f"-rank({first})" if each == "-rank" else each for each in words]
    if "x" in words:
        return " ".join(name if each == "x" else each for each in spelled)
    return f"{name} {' '.join(spelled)}"
