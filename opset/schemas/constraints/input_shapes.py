"""Checks declared constraints on the inputs of nodes, for evaluation and inference alike.

    plan = plan_of(schema)                        the checks of a version, parsed once
    match = Match(plan, shapes, attribute, elements, given, algebra)
    match.check()                                 raises the Violation of the first broken constraint
    match.sizes["C"], match.completed_shapes()    sizes and shapes that follow from the constraints

A name in a pattern is bound by its first occurrence in a node, in the order of the constraints. `Condition` in model.py
describes the kinds of constraints, grammar.py the trees that their texts are parsed to.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, reduce
from typing import Any, NamedTuple

from opset.errors import safe_text
from opset.schemas.constraints.evaluation import NUMBERS, Algebra, Table, combine, compare, decide, evaluate, is_met
from opset.schemas.constraints.grammar import (
    BROADCAST,
    DISTINCT,
    GIVEN,
    RANK,
    SHAPE,
    SIZE,
    SIZES,
    VALUES,
    Expression,
    Pattern,
    Size,
    parse_condition,
    parse_expression,
    parse_form,
    parse_premise,
    terms_of,
)
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import VARIADIC, OpSchema

Shape = Sequence[Any]
Run = tuple[Any, ...]
_ONE = parse_condition("1")


class Check(NamedTuple):
    """A parsed condition: `rule` on the input, attribute or size `subject`, if all `premises` hold.

    `position` is the index of the input that is the subject, -1 if the subject is no input.
    """

    label: str
    kind: str
    subject: str
    position: int
    rule: Any
    premises: tuple[tuple[Expression, Expression], ...] = ()


class Plan(NamedTuple):
    """The checks on nodes of one operator version, with the names and inputs that they depend on.

    `attributes` are the attributes, `elements` the indices of inputs, whose values are read. `checks` may be empty:
    then only ranges of attributes depend on ranks of inputs.
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
    """Return the checks on nodes of an operator version, None if there is nothing to check. Cached.

    There is nothing to check if the version declares no conditions and none of its attributes names a constraint.
    """
    positions = {parameter.name: index for index, parameter in enumerate(schema.inputs)}
    names = {name for name, attribute in schema.attributes.items() if attribute.constraint}
    checks: list[Check] = []
    elements: set[int] = set()
    for label, kind, subject, form, where in schema.conditions:
        premises = tuple([parse_premise(name, text, schema) for name, text in where])
        position = -1 if kind in (GIVEN, SIZES) else positions.get(subject, -1)
        check = Check(label, kind, subject, position, parse_form(kind, form), premises)
        checks.append(check)
        names |= names_of(check)
        elements.update(positions.get(name, -1) for term, name in terms_of(premises) if term == "value")
        elements.add(position if kind in (VALUES, DISTINCT) else -1)
    attributes = tuple(sorted(names & schema.attributes.keys()))
    if not checks and not attributes:
        return None
    variadic = len(schema.inputs) - 1 if schema.inputs and schema.inputs[-1].option == VARIADIC else 2**31
    runs = {pattern.run for check in checks if check.kind == SHAPE for pattern in check.rule} & {*schema.attributes}
    read = tuple(sorted(elements - {-1}))
    return Plan(schema, tuple(checks), attributes, read, positions, variadic, tuple(sorted(runs)))


def names_of(check: Check) -> set[str]:
    """Return the names of inputs, attributes and sizes in the condition and the premises of a check.

    For the kinds "values", "distinct" and "given", the name of the checked input or attribute is included. For the kind
    "sizes", the names in the checked expression, such as `2 * N`, are included.
    """
    names = {name for _, name in terms_of((check.rule, check.premises))}
    if check.kind == SHAPE:
        names.update(pattern.run for pattern in check.rule if pattern.run)
    if check.kind == SIZES:
        return names.union(name for _, name in terms_of(parse_expression(check.subject)))
    return names | {check.subject} if check.kind in (VALUES, DISTINCT, GIVEN) else names


class Match:
    """The comparison of one node's inputs with the constraints of its operator.

    Args:
        plan: The checks of the operator version.
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
        """Take the facts about one node that `check` compares with the constraints of its operator.

        Args:
            plan: The checks of the operator version.
            shapes: The shapes of the inputs, None for one that is unknown or absent.
            attribute: Returns the value of an attribute by name, None if it is unknown.
            elements: Returns the elements of an input by index, None if they are unknown.
            given: Returns whether the node has an input or attribute of this name, None if that is unknown.
            algebra: Compares and combines sizes.
        """
        self.plan, self.shapes = plan, list(shapes)
        self.sizes: dict[str, Any] = {}
        self.runs: dict[str, Run] = {}
        self._attribute, self._elements, self._given, self._algebra = attribute, elements, given, algebra
        self._matched: list[tuple[int, Pattern]] = []
        self._table: Table = {
            "name": self._find_number,
            "value": self._find_value,
            "given": given,
            "rank": lambda name: _length(self._find_shape(name)),
            "size": lambda name: self._count_elements(plan.positions[name]),
            "dim": self._find_dimension,
            "len": lambda name: _length(attribute(name)),
        }

    def check(self) -> None:
        """Check all constraints. Raises Violation for the first one that is certainly broken; an undecided one passes.

        The sizes that names in shape patterns stand for are stored. A name such as N has one size, in `sizes`:
        {"N": 3}. A name such as D in `...D` has several, in `runs`: {"D": (4, 5)}.
        """
        self.runs = {name: tuple(value) for name in self.plan.runs if (value := self._attribute(name))}
        for check in self.plan.checks:
            if all(self._is_met(condition, self._evaluate(subject)) is True for subject, condition in check.premises):
                for index in self._indices_of(check.position):
                    self._check_subject(check, index)

    def completed_shapes(self) -> list[Shape | None]:
        """Return the inputs' shapes; a size that is unknown is filled in if a constraint decides it.

        A size or shape that is still unknown is None. `check` has to be called before, else nothing is filled in.
        """
        shapes = [*self.shapes]
        for index, pattern in self._matched:
            shapes[index] = self._complete_shape(shapes[index], pattern)
        return shapes

    def _indices_of(self, position: int) -> Iterable[int]:
        """Return the indices of the node's inputs that belong to the schema's input at `position`.

        There are several for a variadic input, and none if the node has fewer inputs. A `position` of -1 stands for a
        subject that is no input; then the result is (-1,).
        """
        if position != self.plan.variadic:
            return (position,) if position < len(self.shapes) else ()
        return range(position, len(self.shapes))

    def _check_subject(self, check: Check, index: int) -> None:
        """Raise Violation if a check certainly fails; one that cannot be decided passes.

        `index` is the input's index, or -1 if the check is about an attribute or a size. Checks of shapes and of
        broadcasting also store the sizes that they find, for later checks.
        """
        if check.kind == SHAPE:
            self._check_shape(check, index)
        elif check.kind == BROADCAST:
            self._check_broadcast(check, index)
        elif check.kind == DISTINCT:
            self._check_distinct_axes(check, index)
        else:
            for value in self._values_of(check, index):
                if self._is_met(check.rule, value) is False:
                    raise Violation(check.label, self._detail(check, index, value))

    def _values_of(self, check: Check, index: int) -> Iterable[Any]:
        """Return the values that have to meet the condition of a check, such as the rank of the input at `index`.

        An unknown value is None. For a condition on the elements of an input, its elements are returned, or nothing if
        they are unknown. For the condition "X has one element", the sizes of X are returned, since each has to be 1.
        """
        if check.kind == GIVEN:
            return (self._given(check.subject),)
        if check.kind == SIZES:
            return (self._evaluate(parse_expression(check.subject)),)
        if check.kind == VALUES:
            return dict.fromkeys(self._elements_of(check, index))
        shape = self.shapes[index]
        if check.kind == RANK:
            return (_length(shape),)
        # Even if the number of elements is unknown, one size may certainly not be 1.
        return (self._count_elements(index),) if shape is None or check.rule != _ONE else shape

    def _detail(self, check: Check, index: int, value: Any) -> str:
        """Return how `value` breaks a check, as text for a message: "rank(X) = 3".

        `index` is the index of the input, -1 if the subject of the check is no input.
        """
        if check.kind == GIVEN:
            names = check.subject, *[name for _, name in terms_of(check.rule)]
            return " and ".join([f"{name} is {'given' if self._given(name) else 'left out'}" for name in names])
        if check.kind == VALUES:
            return f"{check.subject} {safe_text(str(value))}"
        if check.kind != SIZE:
            return f"rank({check.subject}) = {value}" if check.kind == RANK else f"{check.subject} = {value}"
        shape = self.shapes[index]
        return (
            f"{check.subject} has {value} elements"
            if shape is None
            else f"shape({check.subject}) = {_shape_text(shape)}"
        )

    def _check_distinct_axes(self, check: Check, index: int) -> None:
        """Raise Violation if two elements of the check's subject name the same axis.

        The subject is the input at `index`, or an attribute if `index` is -1. A negative axis counts from the last
        dimension, if the rank is known. Unknown elements are not compared.
        """
        rank = self._evaluate(check.rule)
        axes = [axis % rank if rank else axis for axis in self._elements_of(check, index) if isinstance(axis, int)]
        if len(set(axes)) < len(axes):
            raise Violation(check.label, f"{check.subject} {_shape_text(axes[:20])}")

    def _check_broadcast(self, check: Check, index: int) -> None:
        """Raise Violation if the input at `index` certainly does not broadcast to the shape that a check requires.

        The required shape is the shape of another input, or a pattern such as `(N, C)`. Unknown shapes pass. If nothing
        is raised, the input's sizes fill in unknown sizes of the required shape, for later checks.
        """
        shape, is_input = self.shapes[index], isinstance(check.rule, Expression)
        target = self._find_shape(str(check.rule)) if is_input else self._complete_shape(None, check.rule[0])
        if shape is None or target is None:
            return
        start = len(target) - len(shape)
        result = list(target)
        fits = start >= 0
        for axis, size in enumerate(shape if fits else (), start):
            if self._are_equal(size, 1) is False:
                fits = fits and self._are_equal(size, target[axis]) is not False
                result[axis] = _merge_sizes(target[axis], size)
        if not fits:
            detail = f"shape({check.subject}) = {_shape_text(shape)} does not broadcast to {_shape_text(target)}"
            raise Violation(check.label, detail)
        if is_input:
            self.shapes[self.plan.positions[str(check.rule)]] = tuple(result)
        elif check.rule[0].run is None:
            pairs = zip(check.rule[0].before, result, strict=True)
            self.sizes.update({entry.name: size for entry, size in pairs if entry.name})

    # Patterns

    def _check_shape(self, check: Check, index: int) -> None:
        """Raise Violation if the shape of the input at `index` certainly fits no pattern of a check.

        An unknown shape passes. Otherwise, the sizes of the names in the pattern that fits are stored, as in {"N": 3}.
        If it is undecided which one of several patterns fits, nothing is stored.
        """
        shape, bound = self.shapes[index], (self.sizes, self.runs)
        if shape is None:
            self._matched += [(index, pattern) for pattern in check.rule if len(check.rule) == 1]
            return
        trials = []
        for pattern in check.rule:
            self.sizes, self.runs = dict(bound[0]), dict(bound[1])
            if (fits := decide(self._fits(shape, pattern), False)) is not False:
                trials.append((fits, pattern, self.sizes, self.runs))
        self.sizes, self.runs = bound
        if not trials:
            wanted = " or ".join(map(self._pattern_text, check.rule))
            raise Violation(check.label, f"shape({check.subject}) = {_shape_text(shape)} instead of {wanted}")
        if trials[0][0] or len(trials) == 1:
            _, pattern, self.sizes, self.runs = trials[0]
            self._matched.append((index, pattern))

    def _fits(self, shape: Shape, pattern: Pattern) -> Iterator[bool | None]:
        """Yield whether a shape fits a pattern: first one result for the rank, then results for the sizes.

        A result is None if it is undecided. A size such as `C=1` in the pattern has a default, which is used if the
        shape has no such size.

        As results are read, sizes are stored by their names in the pattern. `self.sizes` gets the size of a name such
        as `N`, and `self.runs` gets the sizes of a run such as `...D`.
        """
        before, after = pattern.before, pattern.after
        end = len(shape) - len(after)
        count = min(len(before), end)
        yield end >= 0 and (end == count or pattern.run is not None) and None not in [e.default for e in before[count:]]
        pairs = [*zip(before, shape[:count], strict=False), *zip(after, shape[end:], strict=True)]
        for entry, size in (*pairs, *((entry, entry.default) for entry in before[count:])):
            name = entry.name
            if name and name not in self.plan.schema.attributes:
                bound = self.sizes.get(name)
                self.sizes[name] = _merge_sizes(bound, size)
                yield bound is None or self._are_equal(bound, size)
            elif entry.choices:
                yield decide((self._are_equal(self._evaluate(choice), size) for choice in entry.choices), True)
        if pattern.run:
            between = tuple(shape[count:end])
            run = self.runs.get(pattern.run, between)
            yield len(run) == len(between)
            yield from map(self._are_equal, run, between)
            self.runs[pattern.run] = tuple(map(_merge_sizes, run, between))

    def _complete_shape(self, shape: Shape | None, pattern: Pattern) -> Shape | None:
        """Return a shape that fits a pattern, with its unknown sizes filled in from the pattern.

        If the shape is None, the sizes of the pattern are returned; None if the pattern does not decide the rank.
        """
        run = None if pattern.run is None else self.runs.get(pattern.run)
        if shape is None:
            if any(entry.default is not None for entry in pattern.before) or (pattern.run is not None and run is None):
                return None
            return tuple(map(self._size_of_entry, (*pattern.before, *(run or ()), *pattern.after)))
        count = len(shape) - len(pattern.after)
        head = pattern.before[:count]
        middle = shape[len(head) : count] if run is None else run
        return tuple(map(_merge_sizes, map(self._size_of_entry, (*head, *middle, *pattern.after)), shape))

    def _size_of_entry(self, entry: Any) -> Any:
        """Return the size that an entry of a shape pattern stands for: 6 for `2 * C` if C is 3.

        The result is None if the size is unknown, or if the entry has alternatives, such as `1 or 2`. A size of a
        tensor, such as the int 3, may be given in place of an entry: it is returned unchanged.
        """
        if not isinstance(entry, Size):
            return entry
        size = self._evaluate(entry.choices[0]) if len(entry.choices) == 1 else None
        return None if isinstance(size, float) else size  # no shape has a fraction

    def _pattern_text(self, pattern: Pattern) -> str:
        """Return a pattern as text for a message; known sizes replace their names: "[2, C]"."""
        middle = [] if pattern.run is None else [*self.runs.get(pattern.run, [f"...{pattern.run}"])]
        before, after = ([self._entry_text(entry) for entry in entries] for entries in (pattern.before, pattern.after))
        return _shape_text([*before, *middle, *after])

    def _entry_text(self, entry: Size) -> str:
        """Return an entry of a pattern as text for a message: its size if known, else its expressions: "N or 1".

        An entry that fits any size is "?".
        """
        size = self._size_of_entry(entry)
        return str(size) if size is not None else " or ".join(map(str, entry.choices)) or "?"

    # Values

    def _evaluate(self, expression: Expression) -> Any:
        """Return the value of an expression for this node; None if it is unknown."""
        return evaluate(expression, self._table, self._algebra)

    def _is_met(self, condition: Expression, value: Any) -> bool | None:
        """Return whether a value meets a condition for this node; None if that is undecided."""
        return is_met(condition, value, self._table, self._algebra)

    def _are_equal(self, left: Any, right: Any) -> bool | None:
        """Return whether two sizes are equal; None if that is undecided."""
        return compare("=", left, right, self._algebra)

    def _elements_of(self, check: Check, index: int) -> Iterable[Any]:
        """Return the elements of the input at `index`; () if they are unknown.

        If `index` is -1, return the value of the attribute that is the check's subject: all elements of a list, or the
        value as a tuple of one. An unknown attribute gives (None,).
        """
        if index >= 0:
            return self._elements(index) or ()
        value = self._attribute(check.subject)
        return value if isinstance(value, tuple | list) else (value,)

    def _find_number(self, name: str) -> Any:
        """Return the number or size that a name in a constraint stands for; None if it is unknown.

        `name` names an attribute, or a size in a pattern for shapes, such as N in (N, C). The result is also None for
        an attribute that is not numeric.
        """
        if name not in self.plan.schema.attributes:
            return self.sizes.get(name)
        value = self._attribute(name)
        return value if isinstance(value, int | float) else None

    def _find_value(self, name: str) -> Any:
        """Return the value of the attribute or input `name`; None if it is unknown.

        The value of an input is its only element; None if it does not have exactly one. Bytes are returned as text.
        """
        if name in self.plan.schema.attributes:
            value = self._attribute(name)
        else:
            index = self.plan.positions[name]
            elements = self._elements(index) if index < len(self.shapes) else None
            value = elements[0] if elements is not None and len(elements) == 1 else None
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else value

    def _find_shape(self, name: str) -> Shape | None:
        """Return the shape of the input `name`; None if it is unknown or the input is left out."""
        index = self.plan.positions[name]
        return self.shapes[index] if index < len(self.shapes) else None

    def _find_dimension(self, name: str, axis: Any) -> Any:
        """Return the size of the dimension `axis` of the input `name`; None if unknown, or if it does not exist.

        A negative `axis` counts from the end.
        """
        shape = self._find_shape(name)
        return shape[axis] if shape is not None and isinstance(axis, int) and -len(shape) <= axis < len(shape) else None

    def _count_elements(self, index: int) -> Any:
        """Return the number of elements of the input at `index`; None if it is unknown."""
        shape = self.shapes[index] if index < len(self.shapes) else None
        if shape is None:
            return _length(self._elements(index)) if index < len(self.shapes) else None
        if 0 in shape:
            return 0
        return reduce(lambda count, size: combine(operator.mul, (count, size), self._algebra), shape, 1)


def _length(value: Any) -> int | None:
    """Return the length of a list or tuple, None for anything else."""
    return len(value) if isinstance(value, tuple | list) else None


def _merge_sizes(left: Any, right: Any) -> Any:
    """Return the more precise one of two sizes that are equal: a number, else a symbolic size, else None (unknown)."""
    return left if left is not None and not isinstance(right, int) else right


def _shape_text(sizes: Iterable[Any]) -> str:
    """Return sizes as text for a message: "[2, ?, N]", with "?" for an unknown one."""
    return f"[{', '.join('?' if size is None else str(size) for size in sizes)}]"
