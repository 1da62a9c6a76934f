"""Checks declared constraints on the inputs of nodes, for evaluation and inference alike.

    plan = plan_of(schema)                        the checks of a version, parsed once
    match = Match(plan, shapes, attribute, elements, given, algebra)
    match.check()                                 raises the Violation of the first broken constraint
    match.sizes["C"], match.completed_shapes()    sizes and shapes that follow from the constraints

A name in a pattern is bound by its first occurrence in a node, in the order of the constraints. patterns.py describes
the syntax of patterns and conditions, `Condition` in model.py the kinds of constraints.
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
    """Compares and combines sizes: numbers, or symbolic sizes in inference. A comparison is None if it is undecided."""

    equal: Callable[[Any, Any], bool | None]
    at_most: Callable[[Any, Any], bool | None]
    less: Callable[[Any, Any], bool | None]
    combine: Callable[..., Any]
    """Applies a function to sizes; None if a size is None or the result is not known."""


def _combine_numbers(function: Callable[..., Any], *sizes: Any) -> Any:
    try:
        return None if None in sizes else function(*sizes)
    except OverflowError:  # of a product of many sizes and a fraction
        return None


NUMBERS = Algebra(operator.eq, operator.le, operator.lt, _combine_numbers)
"""The algebra of sizes that are all numbers."""


class Premise(NamedTuple):
    """A premise of a condition, written in `where`: the condition is checked only if all its premises hold.

    The `kind` names the tested value: "rank" or "element" (the rank or the only element of the input with the index
    `input`), "attribute" (the value of the attribute `name`), "given" or "absent" (the presence of `name`).
    `tests` are comparisons, or the legal words of a string attribute.
    """

    kind: str
    name: str
    input: int = -1
    tests: tuple[Any, ...] = ()


class Check(NamedTuple):
    """A parsed condition. `inputs` are the indices of its inputs, `parts` the result of `parts_of`."""

    label: str
    kind: str
    subject: str
    inputs: tuple[int, ...]
    parts: tuple[Any, ...]
    where: tuple[Premise, ...] = ()


class Plan(NamedTuple):
    """The checks on nodes of one version of an operator.

    Only the values of `attributes` and the elements of the inputs `elements` (indices) are read. A plan without
    `checks` serves attributes whose declared ranges depend on ranks of inputs.
    """

    schema: OpSchema
    checks: tuple[Check, ...]
    attributes: tuple[str, ...]
    elements: tuple[int, ...]
    positions: dict[str, int]
    variadic: int
    """The index of the variadic input; larger than any index if there is none."""
    runs: tuple[str, ...] = ()
    """The attributes whose values are runs of sizes in patterns: `...D`."""


@lru_cache(maxsize=4096)
def plan_of(schema: OpSchema) -> Plan | None:
    """Return the checks on nodes of a version, None if it declares no constraint that can be checked."""
    positions = {parameter.name: index for index, parameter in enumerate(schema.inputs)}
    checks = tuple([_make_check(schema, positions, condition) for condition in schema.conditions])
    attributes = {name for name, attribute in schema.attributes.items() if attribute.constraint}
    for condition in schema.conditions:
        attributes.update(name for name in names_of(condition) if name in schema.attributes)
    if not checks and not attributes:
        return None
    elements = {premise.input for check in checks for premise in check.where if premise.kind == "element"}
    elements |= {index for check in checks if check.kind in (VALUES, DISTINCT) for index in check.inputs}
    last = len(schema.inputs) - 1
    variadic = last if schema.inputs and schema.inputs[last].option == VARIADIC else 2**31
    runs = {pattern.run for check in checks if check.kind == SHAPE for pattern in check.parts} & {*schema.attributes}
    return Plan(
        schema, checks, tuple(sorted(attributes)), tuple(sorted(elements)), positions, variadic, tuple(sorted(runs))
    )


def _make_check(schema: OpSchema, positions: dict[str, int], condition: Condition) -> Check:
    subject = condition.subject
    inputs = (positions[subject],) if subject in positions else ()
    where = tuple([_make_premise(schema, positions, *each) for each in condition.where])
    return Check(condition.label, condition.kind, subject, inputs, parts_of(condition), where)


def _make_premise(schema: OpSchema, positions: dict[str, int], name: str, form: str) -> Premise:
    if ranked := ranked_input(name):
        return Premise(RANK, name, positions[ranked], parse_tests(form))
    if form in STATES:
        return Premise(form, name)
    attribute = schema.attributes.get(name)
    if attribute is None:
        return Premise("element", name, positions[name], parse_tests(form))
    return Premise(
        "attribute", name, -1, tuple(form.split(" or ")) if attribute.type == "string" else parse_tests(form)
    )


def ranked_input(name: str) -> str:
    """Return X for a key `rank(X)` of `where`, "" for any other key."""
    return name[5:-1] if name.startswith("rank(") and name.endswith(")") else ""


def parts_of(condition: Condition) -> tuple[Any, ...]:
    """Parse the text of a condition.

    Returns:
        By kind: patterns ("shape"); an input's name, or patterns ("broadcast"); one expression ("distinct"); the
        expression of the subject and tests ("sizes"); True or False for `not`, and the other name ("given"); else
        tests.

    Raises:
        ValueError: The text has another form; the message says why.
    """
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
    """Yield the expressions of a condition without its premises."""
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
        yield from (pattern.run for pattern in parse_pattern(condition.form) if pattern.run)
    for expression in expressions_of(condition):
        yield from expression.names()
        yield from (name for _, name in expression.functions())


class Match:
    """Compares the inputs of one node with the constraints that its operator declares.

    Args:
        plan: The checks of the node's version.
        shapes: The sizes of each input of the node; None if the rank is unknown or the input is left out.
        attribute: Returns the value of an attribute by name, None if it is unknown.
        elements: Returns the elements of an input by index, None if they are unknown.
        given: Returns whether the node has an input or attribute of this name, None if that is unknown.
        algebra: Compares and combines the sizes.
    """

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
        """Raise the Violation of the first constraint that is certainly broken; an undecided one passes."""
        self.runs = {name: tuple(value) for name in self.plan.runs if (value := self._attribute(name))}
        for check in self.plan.checks:
            if check.where and not all(self._is_met(*each) for each in check.where):
                continue
            if check.kind == GIVEN:
                self._check_given(check)
                continue
            if not check.inputs:
                self._check_size_or_attribute(check)
            for index in self._indices_of(check.inputs):
                _CHECKS[check.kind](self, check, index)

    def completed_shapes(self) -> list[Shape | None]:
        """Return the shapes of inputs, with sizes that follow from other inputs; None for an unknown size or shape."""
        shapes = [*self.shapes]
        for index, pattern in self._matched:
            shapes[index] = self._complete_shape(shapes[index], pattern)
        return shapes

    def _indices_of(self, inputs: tuple[int, ...]) -> Iterable[int]:
        first, count = inputs[0] if inputs else len(self.shapes), len(self.shapes)
        return range(first, count if first == self.plan.variadic else min(first + 1, count))

    def _is_met(self, kind: str, name: str, index: int, tests: tuple[Any, ...]) -> bool:
        """Whether a premise certainly holds; the parameters are the fields of `Premise`."""
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
            elements = self._elements(index)
            value = elements[0] if elements is not None and len(elements) == 1 else None
        if isinstance(value, bytes | str):
            return (value.decode("utf-8", "replace") if isinstance(value, bytes) else value) in tests
        if not _is_number(value) or isinstance(tests[0], str):
            return False
        return all(self._compare(test, value) is True for test in tests)

    # One method for each kind of constraint.

    def _check_given(self, check: Check) -> None:
        should_agree, other = check.parts
        is_given = self._given(check.subject)
        wanted = STATED[other] if other in STATED else self._given(other)
        if is_given is not None and wanted is not None and (is_given == wanted) is not should_agree:
            names = [(check.subject, is_given), *([] if other in STATED else [(other, wanted)])]
            phrases = [f"{name} is {'given' if has_value else 'left out'}" for name, has_value in names]
            raise Violation(check.label, " and ".join(phrases))

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
        trials = [(each, trial) for each in check.parts if (trial := self._try_pattern(each, shape)) is not None]
        if not trials:
            wanted = " or ".join(map(self._pattern_text, check.parts))
            raise Violation(check.label, f"shape({check.subject}) = {_shape_text(shape)} instead of {wanted}")
        pattern, (certain, sizes, runs) = trials[0]
        if certain or len(trials) == 1:
            self.sizes, self.runs = sizes, runs
            self._matched.append((index, pattern))

    def _check_size(self, check: Check, index: int) -> None:
        shape = self.shapes[index]
        size = self._count_elements(index)
        # Even if the product is unknown, one factor may certainly not be 1.
        tests = check.parts
        fails = size is not None and not self._may_hold(tests, size)
        if shape is not None and tests == _ONE:
            fails = fails or any(self._are_equal(factor, 1) is False for factor in shape)
        if fails:
            detail = f"{check.subject} has {size} elements"
            if shape is not None:
                detail = f"shape({check.subject}) = {_shape_text(shape)}"
            raise Violation(check.label, detail)

    def _check_values(self, check: Check, index: int) -> None:
        self._check_elements(check, self._elements(index))

    def _check_distinct(self, check: Check, index: int) -> None:
        self._check_distinct_axes(check, self._elements(index))

    def _check_size_or_attribute(self, check: Check) -> None:
        """Check a condition without an input: on sizes that patterns name, or on the value of an attribute."""
        if check.kind in (VALUES, DISTINCT):
            value = self._attribute(check.subject)
            check_all = self._check_elements if check.kind == VALUES else self._check_distinct_axes
            check_all(check, value if isinstance(value, tuple | list) else (value,))
        elif check.kind == SIZES:
            expression, *tests = check.parts
            size = self._evaluate(expression)
            if size is not None and not self._may_hold(tests, size):
                raise Violation(check.label, f"{check.subject} = {size}")

    def _check_elements(self, check: Check, elements: Iterable[Any] | None) -> None:
        for element in dict.fromkeys(elements or ()):
            if element is None or isinstance(element, str | bytes):
                continue
            if not self._may_hold(check.parts, element):
                raise Violation(check.label, f"{check.subject} {safe_text(str(element))}")

    def _check_distinct_axes(self, check: Check, elements: Iterable[Any] | None) -> None:
        """Check that no two elements are the same axis; negative elements count from the last dimension."""
        rank = self._evaluate(check.parts[0])
        axes = [axis % rank if rank else axis for axis in elements or () if isinstance(axis, int)]
        if len(set(axes)) < len(axes):
            raise Violation(check.label, f"{check.subject} {_shape_text(axes[:20])}")

    def _check_broadcast(self, check: Check, index: int) -> None:
        shape, target = self.shapes[index], check.parts[0]
        if isinstance(target, Pattern):
            target_shape: Shape | None = self._complete_shape(None, target)
        else:
            position = self.plan.positions[target]
            target_shape = self.shapes[position] if position < len(self.shapes) else None
        if shape is None or target_shape is None:
            return
        start = len(target_shape) - len(shape)
        result = list(target_shape)
        fits = start >= 0
        for axis, size in enumerate(shape if fits else (), start):
            if self._are_equal(size, 1) is False:
                fits = fits and self._are_equal(size, target_shape[axis]) is not False
                result[axis] = _merge_sizes(target_shape[axis], size)
        if not fits:
            detail = f"shape({check.subject}) = {_shape_text(shape)} does not broadcast to {_shape_text(target_shape)}"
            raise Violation(check.label, detail)
        if not isinstance(target, Pattern):
            self.shapes[self.plan.positions[target]] = tuple(result)
        elif target.run is None:
            self.sizes.update({each.name: size for each, size in zip(target.before, result, strict=True) if each.name})

    # Patterns

    def _try_pattern(self, pattern: Pattern, shape: Shape) -> tuple[bool, Bound, dict[str, tuple[Any, ...]]] | None:
        """Return whether a shape certainly fits, with the sizes and runs that it binds; None if it cannot fit."""
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
            fits = self._match_size(wanted, size, sizes)
            if fits is False:
                return None
            certain = certain and fits is True
        if pattern.run:
            run = runs.get(pattern.run, tuple(between))
            if len(run) != len(between):
                return None
            equal = [self._are_equal(a, b) for a, b in zip(run, between, strict=True)]
            if False in equal:
                return None
            certain = certain and None not in equal
            runs[pattern.run] = tuple([_merge_sizes(a, b) for a, b in zip(run, between, strict=True)])
        return certain, sizes, runs

    def _match_size(self, wanted: Size, size: Any, sizes: Bound) -> bool | None:
        """Return whether a size fits an entry of a pattern, None if undecided; binds the entry's name in `sizes`."""
        if not wanted.choices:
            return True
        name = wanted.name
        if name and name not in self.plan.schema.attributes:
            bound = sizes.get(name)
            sizes[name] = _merge_sizes(bound, size)
            return True if bound is None else self._are_equal(bound, size)
        return _any_true([self._are_equal(self._evaluate(choice, sizes), size) for choice in wanted.choices])

    def _complete_shape(self, shape: Shape | None, pattern: Pattern) -> Shape | None:
        """Return a shape with the sizes that follow from a pattern that it fits; None if its rank stays unknown."""
        run = None if pattern.run is None else self.runs.get(pattern.run)
        if shape is None:
            if any(each.default is not None for each in pattern.before) or (pattern.run is not None and run is None):
                return None
            return tuple(map(self._size_of_entry, (*pattern.before, *(run or ()), *pattern.after)))
        count = len(shape) - len(pattern.after)
        head = pattern.before[:count]
        middle = shape[len(head) : count] if run is None else run
        wanted = (*head, *middle, *pattern.after)
        return tuple([_merge_sizes(self._size_of_entry(each), size) for each, size in zip(wanted, shape, strict=True)])

    def _size_of_entry(self, wanted: Any) -> Any:
        """Return the size for an entry of a pattern, None if it is unknown; anything else is a size already."""
        if not isinstance(wanted, Size):
            return wanted
        size = self._evaluate(wanted.choices[0]) if len(wanted.choices) == 1 else None
        return None if isinstance(size, float) else size  # no shape has a fraction

    def _pattern_text(self, pattern: Pattern) -> str:
        """Return a pattern for a message, with the known sizes in place of their names."""
        run = self.runs.get(pattern.run or "")
        middle = [] if pattern.run is None else [f"...{pattern.run}"] if run is None else [*run]
        before, after = ([_size_text(each, self._size_of_entry(each)) for each in part] for part in pattern[::2])
        return _shape_text([*before, *middle, *after])

    # Numbers

    def _evaluate(self, expression: Expression, sizes: Bound | None = None) -> Any:
        """Return the value of an expression, None if it is unknown; `sizes` are the bound names, by default its own."""
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
            return self._evaluate_of_input(kind, *operands)
        values = [self._evaluate(operand, sizes) for operand in operands]
        if kind == "//" and self._are_equal(values[1], 0) is not False:
            return None
        return self._algebra.combine(_OPERATIONS[kind], *values)

    def _evaluate_of_input(self, kind: str, name: str, axis: Expression | None = None) -> Any:
        index = self.plan.positions[name]
        shape = self.shapes[index] if index < len(self.shapes) else None
        if kind == "size" or shape is None:
            return self._count_elements(index) if kind == "size" else None
        if axis is None:
            return len(shape)
        position = self._evaluate(axis)
        return shape[position] if isinstance(position, int) and -len(shape) <= position < len(shape) else None

    def _count_elements(self, index: int) -> Any:
        """Return the number of elements of an input, None if it is unknown."""
        shape = self.shapes[index] if index < len(self.shapes) else None
        if shape is None:
            elements = self._elements(index) if index < len(self.shapes) else None
            return None if elements is None else len(elements)
        if 0 in shape:
            return 0
        size: Any = 1
        for factor in shape:
            size = self._algebra.combine(operator.mul, size, factor)
        return size

    def _may_hold(self, tests: Iterable[Test], value: Any) -> bool:
        return all(self._compare(test, value) is not False for test in tests)

    def _compare(self, test: Test, value: Any) -> bool | None:
        """Return whether a number passes a test, None if undecided."""
        bounds = [self._evaluate(bound) for bound in test.bounds]
        if test.operator in ("=", "!="):
            is_met = _any_true([self._are_equal(value, bound) for bound in bounds])
            return is_met if test.operator == "=" or is_met is None else not is_met
        bound = bounds[0]
        algebra = self._algebra_of(value, bound)
        if algebra is None:
            return None
        match test.operator:
            case "multiple":
                if algebra.less(0, bound) is not True:
                    return None
                return self._are_equal(algebra.combine(operator.mod, value, bound), 0)
            case "<":
                return algebra.less(value, bound)
            case "<=":
                return algebra.at_most(value, bound)
            case ">":
                return algebra.less(bound, value)
        return algebra.at_most(bound, value)

    def _are_equal(self, left: Any, right: Any) -> bool | None:
        algebra = self._algebra_of(left, right)
        return None if algebra is None else algebra.equal(left, right)

    def _algebra_of(self, left: Any, right: Any) -> Algebra | None:
        """Return the algebra that compares two values, None if one is unknown or a symbolic size meets a fraction."""
        if left is None or right is None:
            return None
        if _is_number(left) and _is_number(right):
            return NUMBERS
        return None if isinstance(left, float) or isinstance(right, float) else self._algebra


_CHECKS: dict[str, Callable[[Match, Check, int], None]] = {
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
"""Words for the presence of an input or attribute in `where`, with whether it is given."""
STATED = {"true": True, "false": False}
"""Words of a "given" condition that names no other input or attribute, with whether its subject is given."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _any_true(results: Sequence[bool | None]) -> bool | None:
    """Return whether a result is True, None if none is and one is undecided."""
    if True in results:
        return True
    return None if None in results else False


def _merge_sizes(left: Any, right: Any) -> Any:
    """Return the better known of two equal sizes: a number, else a symbolic size, else None."""
    return left if right is None or (left is not None and not isinstance(right, int)) else right


def _shape_text(sizes: Iterable[Any]) -> str:
    return f"[{', '.join('?' if size is None else str(size) for size in sizes)}]"


def _size_text(wanted: Size, size: Any) -> str:
    return str(size) if size is not None else " or ".join(map(_expression_text, wanted.choices)) or "?"


def _expression_text(expression: Expression) -> str:
    kind, operands = expression
    if kind in ("number", "name"):
        return str(operands[0])
    words = [operand if isinstance(operand, str) else _expression_text(operand) for operand in operands]
    if kind == "negative":
        return f"-{words[0]}"
    return f" {kind} ".join(words) if kind in _OPERATIONS else f"{kind}({', '.join(words)})"


# Text


def conditions_text(conditions: Iterable[Condition], single: Collection[str] = ()) -> str:
    """Return the conditions of one label as a sentence; `single` are names that have one element."""
    clauses: dict[tuple[tuple[str, str], ...], list[Condition]] = {}
    for condition in conditions:
        clauses.setdefault(condition.where, []).append(condition)
    texts = []
    for where, members in clauses.items():
        text = _join_phrases([phrase for kind in KINDS for phrase in _phrases_of_kind(kind, members, single)])
        premises = [f"{name} {_STATES_TEXT.get(form) or _predicate(form)}" for name, form in where]
        texts.append(f"{text}, where {_join_phrases(premises)}" if premises else text)
    return "; ".join(texts)


def single_valued_names(schema: OpSchema) -> set[str]:
    """Return the names of attributes that are no lists, and of inputs that are declared to have one element."""
    single = {name for name, each in schema.attributes.items() if not each.type.endswith("s")}
    one = (RANK, "0"), (SIZE, "1")
    return single | {each.subject for each in schema.conditions if (each.kind, each.form) in one}


def _phrases_of_kind(kind: str, members: Sequence[Condition], single: Collection[str]) -> Iterator[str]:
    """Yield phrases for the conditions of one kind; inputs with the same condition share a phrase."""
    forms: dict[str, list[str]] = {}
    for condition in members:
        if condition.kind == kind:
            forms.setdefault(condition.form, []).append(condition.subject)
    for form, names in forms.items():
        several = len(names) > 1
        if kind == GIVEN:
            yield from _phrases_of_given(form, names)
        elif kind == SHAPE:
            equal = " = ".join(f"shape({name})" for name in names)
            yield f"{equal} is {form}" if ") or (" in form else f"{equal} = {form}"
        elif kind == BROADCAST:
            yield f"{_join_phrases(names)} broadcast{'s' * (not several)} to {form} in one direction"
        elif kind == DISTINCT:
            yield f"{_join_phrases(names)} name{'s' * (not several)} no dimension twice"
        elif kind == SIZE and form.isdigit():
            count = "one element" if form == "1" else f"{form} elements"
            yield f"{_join_phrases(names)} {'have' if several else 'has'} {count}{' each' * several}"
        elif kind == RANK and form == "0":
            yield f"{_join_phrases(names)} {'are scalars' if several else 'is a scalar'}"
        else:
            subject = {RANK: "rank({})", SIZE: "size({})"}.get(kind, "{}")
            for name in names:
                many = kind == VALUES and name not in single
                yield _condition_text(subject.format(f"each of {name}" if many else name), form)


def _phrases_of_given(form: str, names: Sequence[str]) -> Iterator[str]:
    verb = "are" if len(names) > 1 else "is"
    if form in STATED:
        yield f"{_join_phrases(names)} {verb} {'given' if STATED[form] else 'left out'}"
    elif form.startswith("not "):
        yield from (f"either {name} or {form[4:]} is given" for name in names)
    else:
        yield f"{_join_phrases(names)} {verb} given if and only if {form} is"


_STATES_TEXT = {"given": "is given", "absent": "is left out"}


def _condition_text(subject: str, form: str) -> str:
    """Return a condition with its subject in place of `x` or in front."""
    parts = []
    for part in form.split(" and "):
        words = part.split(" ")
        if "x" in words:
            parts.append(" ".join(subject if word == "x" else word for word in words))
        else:
            parts.append(f"{subject} {_predicate(part)}")
    return _join_phrases(parts)


def _predicate(form: str) -> str:
    """Return a condition as the predicate of a sentence."""
    if form[:1] in "<>=!":
        return form
    if form.startswith("multiple"):
        return f"is a {form}"
    return f"is {form}" if " or " in form else f"= {form}"


def _join_phrases(phrases: Sequence[str]) -> str:
    """Join phrases to "a, b and c", with a comma before "and" if a phrase has several words."""
    if len(phrases) < 2:
        return "".join(phrases)
    comma = "," if any(" " in phrase for phrase in phrases) else ""
    return f"{', '.join(phrases[:-1])}{comma} and {phrases[-1]}"
