"""Constraints on the inputs of nodes that operators declare, checked in one place for evaluation and inference.

    plan = plan_of(schema)                        what is to be checked, parsed once
    match = Match(plan, shapes, attribute, elements, given, algebra)
    match.check()                                 raises the Violation of the constraint that is broken
    match.sizes["C"], match.completed()           what the constraints say of sizes and shapes that were not known

`shapes` has one entry for each input that a node has: its sizes, or None where the rank is not known or the input is
left out. Sizes are numbers, or what an `Algebra` compares and combines: inference passes one of symbolic sizes, whose
comparisons need not be decided; then nothing is reported. `attribute(name)` and `elements(index)` return the value of
an attribute and the elements of an input, None where they are not known; `given(name)` says whether a node has an input
or an attribute, None where that is not known.

A name in a pattern is bound by its first occurrence in a node, in the order of the constraints. See patterns.py for how
patterns and conditions are written, `Condition` in model.py for the kinds of constraints.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from opset.errors import safe_text
from opset.schemas.constraints.patterns import (
    Expression,
    Pattern,
    Size,
    Test,
    parse_expression,
    parse_pattern,
    parse_tests,
)
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import VARIADIC, Condition, OpSchema

KINDS = ("given", "rank", "shape", "size", "sizes", "values", "distinct", "broadcast")
GIVEN, RANK, SHAPE, SIZE, SIZES, VALUES, DISTINCT, BROADCAST = KINDS
Shape = Sequence[Any]
Bound = dict[str, Any]


class Algebra(NamedTuple):
    """How sizes are compared and combined: comparisons may be None where they are not decided."""

    equal: Callable[[Any, Any], bool | None]
    at_most: Callable[[Any, Any], bool | None]
    less: Callable[[Any, Any], bool | None]
    combined: Callable[..., Any]
    """A function of sizes, None where a size is None or the result cannot be followed."""


def _combined(function: Callable[..., Any], *sizes: Any) -> Any:
    try:
        return None if None in sizes else function(*sizes)
    except OverflowError:  # of a product of many sizes and a fraction
        return None


NUMBERS = Algebra(operator.eq, operator.le, operator.lt, _combined)
"""Sizes that are all numbers."""


class Where(NamedTuple):
    """What has to hold for a condition to count.

    By `kind`, `tests` are of the rank or the one element of the `input` with this index, or of the value of the
    attribute `name`, for a string what it may be; or the input or attribute is "given" or "absent".
    """

    kind: str
    name: str
    input: int = -1
    tests: tuple[Any, ...] = ()


class Check(NamedTuple):
    """A condition, parsed: `parts` are its patterns, tests, the target of a broadcast, or with what it is given."""

    label: str
    kind: str
    subject: str
    inputs: tuple[int, ...]
    parts: tuple[Any, ...]
    where: tuple[Where, ...] = ()


class Plan(NamedTuple):
    """What is to be checked of the nodes of an operator's version.

    `attributes` are those whose values matter, `elements` the inputs whose elements do. Without `checks`, the ranks of
    inputs decide whether attributes are legal.
    """

    schema: OpSchema
    checks: tuple[Check, ...]
    attributes: tuple[str, ...]
    elements: tuple[int, ...]
    positions: dict[str, int]
    variadic: int
    """The index of the variadic input, beyond all indices where there is none."""
    runs: tuple[str, ...] = ()
    """The attributes that runs of sizes in patterns are named after."""


@lru_cache(maxsize=4096)
def plan_of(schema: OpSchema) -> Plan | None:
    """Return what is to be checked of a node of a version; None where it declares nothing that names a constraint."""
    positions = {each.name: index for index, each in enumerate(schema.inputs)}
    checks = tuple([_check(schema, positions, each) for each in schema.conditions])
    named = {name: None for name, each in schema.attributes.items() if each.constraint}
    for condition in schema.conditions:
        named.update(dict.fromkeys(name for name in names_of(condition) if name in schema.attributes))
    if not checks and not named:
        return None
    elements = {where.input for each in checks for where in each.where if where.kind == "element"}
    elements |= {index for each in checks if each.kind in (VALUES, DISTINCT) for index in each.inputs}
    last = len(schema.inputs) - 1
    variadic = last if schema.inputs and schema.inputs[last].option == VARIADIC else 2**31
    runs = {part.run for each in checks if each.kind == SHAPE for part in each.parts} & {*schema.attributes}
    return Plan(schema, checks, tuple(sorted(named)), tuple(sorted(elements)), positions, variadic, tuple(sorted(runs)))


def _check(schema: OpSchema, positions: dict[str, int], condition: Condition) -> Check:
    subject = condition.subject
    inputs = (positions[subject],) if subject in positions else ()
    where = tuple([_where(schema, positions, *each) for each in condition.where])
    return Check(condition.label, condition.kind, subject, inputs, parts_of(condition), where)


def _where(schema: OpSchema, positions: dict[str, int], name: str, form: str) -> Where:
    if ranked := rank_of(name):
        return Where(RANK, name, positions[ranked], parse_tests(form))
    if form in STATES:
        return Where(form, name)
    attribute = schema.attributes.get(name)
    if attribute is None:
        return Where("element", name, positions[name], parse_tests(form))
    return Where("attribute", name, -1, tuple(form.split(" or ")) if attribute.type == "string" else parse_tests(form))


def rank_of(name: str) -> str:
    """Return the input that `rank(input)` is about, in the conditions of `where`; "" where it is something else."""
    return name[5:-1] if name.startswith("rank(") and name.endswith(")") else ""


def parts_of(condition: Condition) -> tuple[Any, ...]:
    """Return what the text of a condition says, parsed. Raises ValueError."""
    if condition.kind == GIVEN:
        words = condition.form.split(" ")
        if len(words) > 2 or (len(words) == 2 and words[0] != "not"):
            raise ValueError(f"{condition.form!r} does not say what is given")
        return len(words) == 1, words[-1]
    if condition.kind == SHAPE:
        return parse_pattern(condition.form)
    if condition.kind == DISTINCT:
        return (parse_expression(condition.form),)
    if condition.kind == BROADCAST:
        return parse_pattern(condition.form) if condition.form.startswith("(") else (condition.form,)
    tests = parse_tests(condition.form)
    return (parse_expression(condition.subject), *tests) if condition.kind == SIZES else tests


def expressions_of(condition: Condition) -> Iterator[Expression]:
    """Yield the expressions of a condition, those of `where` aside."""
    for part in parts_of(condition):
        if isinstance(part, Pattern):
            for size in (*part.before, *part.after):
                yield from size.choices
        elif isinstance(part, Test):
            yield from part.bounds
        elif isinstance(part, Expression):
            yield part


def names_of(condition: Condition) -> Iterator[str]:
    """Yield the names of sizes and attributes that decide whether a condition is met."""
    yield from (name for name, _ in condition.where)
    if condition.kind in (VALUES, DISTINCT, GIVEN):
        yield condition.subject
    if condition.kind == GIVEN:
        yield parts_of(condition)[1]
    if condition.kind == SHAPE:
        yield from (each.run for each in parse_pattern(condition.form) if each.run)
    for expression in expressions_of(condition):
        yield from expression.names()
        yield from (name for _, name in expression.functions())


class Match:
    """The inputs of one node beside what its operator declares of them."""

    def __init__(
        self,
        plan: Plan,
        shapes: Iterable[Shape | None],
        attribute: Callable[[str], Any],
        elements: Callable[[int], Sequence[Any] | None],
        given: Callable[[str], bool | None],
        algebra: Algebra = NUMBERS,
    ) -> None:
        self.plan, self.shapes = plan, list(shapes)
        self._attribute, self._elements, self._given, self._algebra = attribute, elements, given, algebra
        self.sizes: Bound = {}
        self.runs: dict[str, tuple[Any, ...]] = {}
        self._matched: list[tuple[int, Pattern]] = []

    def check(self) -> None:
        """Raise Violation of the first constraint that is certainly broken."""
        self.runs = {name: tuple(value) for name in self.plan.runs if (value := self._attribute(name))}
        for check in self.plan.checks:
            if check.where and not all(self._applies(*each) for each in check.where):
                continue
            if check.kind == GIVEN:
                self._check_given(check)
                continue
            if not check.inputs:
                self._check_number(check)
            for index in self._indices(check.inputs):
                _KINDS[check.kind](self, check, index)

    def completed(self) -> list[Shape | None]:
        """Return the shapes of inputs, completed by those of others; a size that is still not known is None."""
        shapes = [*self.shapes]
        for index, pattern in self._matched:
            shapes[index] = self._completed(shapes[index], pattern)
        return shapes

    def _indices(self, inputs: tuple[int, ...]) -> Iterable[int]:
        first, count = inputs[0] if inputs else len(self.shapes), len(self.shapes)
        return range(first, count if first == self.plan.variadic else min(first + 1, count))

    def _applies(self, kind: str, name: str, index: int, tests: tuple[Any, ...]) -> bool:
        """Whether the condition of a constraint is certainly met."""
        if kind in STATES:
            return self._given(name) is STATES[kind]
        if kind == "attribute":
            value = self._attribute(name)
        elif index >= len(self.shapes):
            return False
        elif kind == RANK:
            shape = self.shapes[index]
            value = None if shape is None else len(shape)
        else:
            found = self._elements(index)
            value = found[0] if found is not None and len(found) == 1 else None
        if isinstance(value, bytes | str):
            return (value.decode("utf-8", "replace") if isinstance(value, bytes) else value) in tests
        if not _is_number(value) or isinstance(tests[0], str):
            return False
        return all(self._holds(test, value) is True for test in tests)

    # What each kind of constraint checks.

    def _check_given(self, check: Check) -> None:
        alike, other = check.parts
        given = self._given(check.subject)
        wanted = STATED[other] if other in STATED else self._given(other)
        if given is not None and wanted is not None and (given == wanted) is not alike:
            names = [(check.subject, given), *([] if other in STATED else [(other, wanted)])]
            said = [f"{name} is {'given' if has else 'left out'}" for name, has in names]
            raise Violation(check.label, " and ".join(said))

    def _check_rank(self, check: Check, index: int) -> None:
        shape = self.shapes[index]
        if shape is not None and not self._may_hold(check.parts, len(shape)):
            raise Violation(check.label, f"rank({check.subject}) = {len(shape)}")

    def _check_shape(self, check: Check, index: int) -> None:
        shape = self.shapes[index]
        if shape is None:
            if len(check.parts) == 1:
                self._matched.append((index, check.parts[0]))
            return
        trials = [(each, trial) for each in check.parts if (trial := self._trial(each, shape)) is not None]
        if not trials:
            wanted = " or ".join(self._shown(each) for each in check.parts)
            raise Violation(check.label, f"shape({check.subject}) = {_brackets(shape)} instead of {wanted}")
        pattern, (certain, sizes, runs) = trials[0]
        if certain or len(trials) == 1:
            self.sizes, self.runs = sizes, runs
            self._matched.append((index, pattern))

    def _check_size(self, check: Check, index: int) -> None:
        shape = self.shapes[index]
        size = self._size_of(index)
        # Of a product that is not known, a factor may still be certainly not 1.
        tests = check.parts
        fails = size is not None and not self._may_hold(tests, size)
        if shape is not None and tests == _ONE:
            fails = fails or any(self._equal(each, 1) is False for each in shape)
        if fails:
            shown = f"{check.subject} has {size} elements" if shape is None else f"shape({check.subject}) = "
            raise Violation(check.label, shown if shape is None else shown + _brackets(shape))

    def _check_values(self, check: Check, index: int) -> None:
        self._check_each(check, self._elements(index))

    def _check_distinct(self, check: Check, index: int) -> None:
        self._check_axes(check, self._elements(index))

    def _check_number(self, check: Check) -> None:
        """Check a size of the patterns, or the values of an attribute."""
        if check.kind in (VALUES, DISTINCT):
            value = self._attribute(check.subject)
            check_all = self._check_each if check.kind == VALUES else self._check_axes
            check_all(check, value if isinstance(value, tuple | list) else (value,))
        elif check.kind == SIZES:
            expression, *tests = check.parts
            size = self._value(expression)
            if size is not None and not self._may_hold(tests, size):
                raise Violation(check.label, f"{check.subject} = {size}")

    def _check_each(self, check: Check, elements: Iterable[Any] | None) -> None:
        for each in dict.fromkeys(elements or ()):
            if each is not None and not isinstance(each, str | bytes) and not self._may_hold(check.parts, each):
                raise Violation(check.label, f"{check.subject} {safe_text(str(each))}")

    def _check_axes(self, check: Check, elements: Iterable[Any] | None) -> None:
        """Check that no two elements name the same of some dimensions, one from the front and one from the end."""
        rank = self._value(check.parts[0])
        axes = [each % rank if rank else each for each in elements or () if isinstance(each, int)]
        if len(set(axes)) < len(axes):
            raise Violation(check.label, f"{check.subject} {_brackets(axes[:20])}")

    def _check_broadcast(self, check: Check, index: int) -> None:
        shape, target = self.shapes[index], check.parts[0]
        if isinstance(target, Pattern):
            onto: Shape | None = self._completed(None, target)
        else:
            at = self.plan.positions[target]
            onto = self.shapes[at] if at < len(self.shapes) else None
        if shape is None or onto is None:
            return
        start, result = len(onto) - len(shape), list(onto)
        fits = start >= 0
        for axis, size in enumerate(shape if fits else (), start):
            if self._equal(size, 1) is False:
                fits = fits and self._equal(size, onto[axis]) is not False
                result[axis] = _merged(onto[axis], size)
        if not fits:
            detail = f"shape({check.subject}) = {_brackets(shape)} does not broadcast to {_brackets(onto)}"
            raise Violation(check.label, detail)
        if not isinstance(target, Pattern):
            self.shapes[self.plan.positions[target]] = tuple(result)
        elif target.run is None:
            self.sizes.update({each.name: size for each, size in zip(target.before, result, strict=True) if each.name})

    # Patterns

    def _trial(self, pattern: Pattern, shape: Shape) -> tuple[bool, Bound, dict[str, tuple[Any, ...]]] | None:
        """Return whether a shape certainly fits, and the sizes and runs bound by it; None where it cannot fit."""
        before, after = pattern.before, pattern.after
        missing = max(len(before) + len(after) - len(shape), 0)
        left_out = before[len(before) - missing :] if missing else ()
        head = before[: len(before) - missing] if missing <= len(before) else ()
        between = shape[len(head) : len(shape) - len(after)]
        if (pattern.run is None and between) or len(head) + len(after) > len(shape):
            return None
        if any(each.default is None for each in left_out):
            return None
        sizes, runs = dict(self.sizes), dict(self.runs)
        certain = True
        pairs = [*zip(head, shape, strict=False), *zip(after, shape[len(shape) - len(after) :], strict=True)]
        pairs += [(each, each.default) for each in left_out]
        for wanted, size in pairs:
            fits = self._meet(wanted, size, sizes)
            if fits is False:
                return None
            certain = certain and fits is True
        if pattern.run:
            known = runs.get(pattern.run, tuple(between))
            if len(known) != len(between):
                return None
            equal = [self._equal(a, b) for a, b in zip(known, between, strict=True)]
            if False in equal:
                return None
            certain = certain and None not in equal
            runs[pattern.run] = tuple([_merged(a, b) for a, b in zip(known, between, strict=True)])
        return certain, sizes, runs

    def _meet(self, wanted: Size, size: Any, sizes: Bound) -> bool | None:
        """Return whether a size is the one that is wanted, None where that is not decided; bind its name."""
        if not wanted.choices:
            return True
        name = wanted.name
        if name and name not in self.plan.schema.attributes:
            known = sizes.get(name)
            sizes[name] = _merged(known, size)
            return True if known is None else self._equal(known, size)
        results = [self._equal(self._value(each, sizes), size) for each in wanted.choices]
        return True if True in results else None if None in results else False

    def _completed(self, shape: Shape | None, pattern: Pattern) -> Shape | None:
        """Return a shape with what is known of it by a pattern that it fits."""
        run = None if pattern.run is None else self.runs.get(pattern.run)
        if shape is None:
            if any(each.default is not None for each in pattern.before) or (pattern.run is not None and run is None):
                return None
            return tuple(map(self._size, (*pattern.before, *(run or ()), *pattern.after)))
        count = len(shape) - len(pattern.after)
        head = pattern.before[:count]
        middle = shape[len(head) : count] if run is None else run
        wanted = (*head, *middle, *pattern.after)
        return tuple([_merged(self._size(each), size) for each, size in zip(wanted, shape, strict=True)])

    def _size(self, wanted: Any) -> Any:
        """Return the size that an entry of a pattern stands for, None where it is not known; a size as it is."""
        if not isinstance(wanted, Size):
            return wanted
        size = self._value(wanted.choices[0]) if len(wanted.choices) == 1 else None
        return None if isinstance(size, float) else size  # no shape has a fraction

    def _shown(self, pattern: Pattern) -> str:
        """Return a pattern as a message shows it, with the sizes that are known."""
        run = self.runs.get(pattern.run or "")
        middle = [] if pattern.run is None else [f"...{pattern.run}"] if run is None else [*run]
        before, after = ([_shown_size(each, self._size(each)) for each in part] for part in pattern[::2])
        return _brackets([*before, *middle, *after])

    # Numbers

    def _value(self, expression: Expression, sizes: Bound | None = None) -> Any:
        """Return the size that an expression stands for, None where it is not known."""
        kind, operands = expression
        if kind == "number":
            return operands[0]
        if kind == "name":
            if operands[0] not in self.plan.schema.attributes:
                return (self.sizes if sizes is None else sizes).get(operands[0])
            value = self._attribute(operands[0])
            return value if _is_number(value) else None
        if kind == "len":
            value = self._attribute(operands[0])
            return len(value) if isinstance(value, tuple | list) else None
        if kind in ("rank", "size", "dim"):
            return self._of_input(kind, *operands)
        values = [self._value(each, sizes) for each in operands]
        if kind == "//" and self._equal(values[1], 0) is not False:
            return None
        return self._algebra.combined(_OPERATIONS[kind], *values)

    def _of_input(self, kind: str, name: str, axis: Expression | None = None) -> Any:
        index = self.plan.positions[name]
        shape = self.shapes[index] if index < len(self.shapes) else None
        if kind == "size" or shape is None:
            return self._size_of(index) if kind == "size" else None
        if axis is None:
            return len(shape)
        at = self._value(axis)
        return shape[at] if isinstance(at, int) and -len(shape) <= at < len(shape) else None

    def _size_of(self, index: int) -> Any:
        """Return how many elements an input has, None where that is not known."""
        shape = self.shapes[index] if index < len(self.shapes) else None
        if shape is None:
            elements = self._elements(index) if index < len(self.shapes) else None
            return None if elements is None else len(elements)
        size: Any = 0 if 0 in shape else 1
        for each in shape if size else ():
            size = self._algebra.combined(operator.mul, size, each)
        return size

    def _may_hold(self, tests: Iterable[Test], value: Any) -> bool:
        return all(self._holds(test, value) is not False for test in tests)

    def _holds(self, test: Test, value: Any) -> bool | None:
        """Return whether a number meets a comparison, None where that is not decided."""
        bounds = [self._value(each) for each in test.bounds]
        if test.operator in ("=", "!="):
            results = [self._equal(value, each) for each in bounds]
            met = True if True in results else None if None in results else False
            return met if test.operator == "=" or met is None else not met
        bound = bounds[0]
        algebra = self._algebra_of(value, bound)
        if algebra is None:
            return None
        match test.operator:
            case "multiple":
                if algebra.less(0, bound) is not True:
                    return None
                return self._equal(algebra.combined(operator.mod, value, bound), 0)
            case "<":
                return algebra.less(value, bound)
            case "<=":
                return algebra.at_most(value, bound)
            case ">":
                return algebra.less(bound, value)
        return algebra.at_most(bound, value)

    def _equal(self, left: Any, right: Any) -> bool | None:
        algebra = self._algebra_of(left, right)
        return None if algebra is None else algebra.equal(left, right)

    def _algebra_of(self, left: Any, right: Any) -> Algebra | None:
        """Return what compares two numbers, None where nothing does; sizes are not compared with fractions."""
        if left is None or right is None:
            return None
        if _is_number(left) and _is_number(right):
            return NUMBERS
        return None if isinstance(left, float) or isinstance(right, float) else self._algebra


_KINDS: dict[str, Callable[[Match, Check, int], None]] = {
    RANK: Match._check_rank,
    SHAPE: Match._check_shape,
    SIZE: Match._check_size,
    VALUES: Match._check_values,
    DISTINCT: Match._check_distinct,
    BROADCAST: Match._check_broadcast,
}
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "negative": operator.neg,
}
_ONE = parse_tests("1")
STATES = {"given": True, "absent": False}
"""Values of names in `where`, and whether what is named is given then."""
STATED = {"true": True, "false": False}
"""What a condition of the kind "given" says, unless it names something that is given with it, or `not` with it."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _merged(left: Any, right: Any) -> Any:
    """Return the size that two are that are equal: a number where one is."""
    return left if right is None or (left is not None and not isinstance(right, int)) else right


def _brackets(sizes: Iterable[Any]) -> str:
    return f"[{', '.join('?' if each is None else str(each) for each in sizes)}]"


def _shown_size(wanted: Size, known: Any) -> str:
    return str(known) if known is not None else " or ".join(map(_spelled, wanted.choices)) or "?"


def _spelled(expression: Expression) -> str:
    kind, operands = expression
    if kind in ("number", "name"):
        return str(operands[0])
    words = [each if isinstance(each, str) else _spelled(each) for each in operands]
    if kind == "negative":
        return f"-{words[0]}"
    return f" {kind} ".join(words) if kind in _OPERATIONS else f"{kind}({', '.join(words)})"


# Text


def conditions_text(conditions: Iterable[Condition], single: Collection[str] = ()) -> str:
    """Return what the conditions of one label say, as the text of a constraint; `single` names have one element."""
    clauses: dict[tuple[tuple[str, str], ...], list[Condition]] = {}
    for each in conditions:
        clauses.setdefault(each.where, []).append(each)
    texts = []
    for where, members in clauses.items():
        text = _joined([phrase for kind in KINDS for phrase in _phrases(kind, members, single)])
        stated = [f"{name} {_STATES_TEXT.get(form) or _predicate(form)}" for name, form in where]
        texts.append(f"{text}, where {_joined(stated)}" if stated else text)
    return "; ".join(texts)


def single_names(schema: OpSchema) -> set[str]:
    """Return the attributes that are no lists, and the inputs that have one element by what is declared."""
    single = {name for name, each in schema.attributes.items() if not each.type.endswith("s")}
    one = (RANK, "0"), (SIZE, "1")
    return single | {each.subject for each in schema.conditions if (each.kind, each.form) in one}


def _phrases(kind: str, members: Sequence[Condition], single: Collection[str]) -> Iterator[str]:
    """Yield a phrase for all inputs that a kind of conditions declares alike."""
    forms: dict[str, list[str]] = {}
    for each in members:
        if each.kind == kind:
            forms.setdefault(each.form, []).append(each.subject)
    for form, names in forms.items():
        several = len(names) > 1
        if kind == GIVEN:
            yield from _phrases_of_given(form, names)
        elif kind == SHAPE:
            equal = " = ".join(f"shape({name})" for name in names)
            yield f"{equal} is {form}" if ") or (" in form else f"{equal} = {form}"
        elif kind == BROADCAST:
            yield f"{_joined(names)} broadcast{'s' * (not several)} to {form} in one direction"
        elif kind == DISTINCT:
            yield f"{_joined(names)} name{'s' * (not several)} no dimension twice"
        elif kind == SIZE and form.isdigit():
            count = "one element" if form == "1" else f"{form} elements"
            yield f"{_joined(names)} {'have' if several else 'has'} {count}{' each' * several}"
        elif kind == RANK and form == "0":
            yield f"{_joined(names)} {'are scalars' if several else 'is a scalar'}"
        else:
            subject = {RANK: "rank({})", SIZE: "size({})"}.get(kind, "{}")
            for name in names:
                many = kind == VALUES and name not in single
                yield _condition(subject.format(f"each of {name}" if many else name), form)


def _phrases_of_given(form: str, names: Sequence[str]) -> Iterator[str]:
    verb = "are" if len(names) > 1 else "is"
    if form in STATED:
        yield f"{_joined(names)} {verb} {'given' if STATED[form] else 'left out'}"
    elif form.startswith("not "):
        yield from (f"either {name} or {form[4:]} is given" for name in names)
    else:
        yield f"{_joined(names)} {verb} given if and only if {form} is"


_STATES_TEXT = {"given": "is given", "absent": "is left out"}


def _condition(subject: str, form: str) -> str:
    """Return a condition with its subject."""
    parts = []
    for part in form.split(" and "):
        words = part.split(" ")
        if "x" in words:
            parts.append(" ".join(subject if word == "x" else word for word in words))
        else:
            parts.append(f"{subject} {_predicate(part)}")
    return _joined(parts)


def _predicate(form: str) -> str:
    """Return a condition as the predicate of a sentence."""
    if form[:1] in "<>=!":
        return form
    return f"is a {form}" if form.startswith("multiple") else f"is {form}" if " or " in form else f"= {form}"


def _joined(phrases: Sequence[str]) -> str:
    """Return phrases as one: "a, b and c"; with a comma before "and" where they have words of their own."""
    if len(phrases) < 2:
        return "".join(phrases)
    plain = all(" " not in each for each in phrases)
    return f"{', '.join(phrases[:-1])}{'' if plain else ','} and {phrases[-1]}"
