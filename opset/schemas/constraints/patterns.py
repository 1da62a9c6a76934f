"""Patterns of shapes and conditions on numbers, as constraints in YAML state them.

A pattern is a list of sizes in brackets, or several lists of which one holds:

    (N, C, ...)                 ... stands for any number of sizes, `...D` for a run of sizes with a name; with that of
                                an attribute, for its values if it has any
    (C * group, k - 1)          sums, differences, products and quotients, rounded down (//)
    (_, 1 or 2)                 `_` is any one size; a size may be one of several
    () or (1)
    (N, C = 1, ...)             the last sizes before a run may be left out: then C is 1

A condition is a number or an expression, several with `or` between them, comparisons, or a divisor:

    4       3 or 4      rank(X)      > 0      -rank(X) <= x < rank(X) and != 0      multiple of group

In expressions stand numbers, names of sizes, names of int attributes for their values, `rank(X)`, `size(X)` for the
number of elements, `dim(X, i)` and `len(attribute)`. In a comparison of two ends, `x` is what is compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

ANY = "_"
"""Any one size."""
FUNCTIONS = {"rank": 1, "size": 1, "dim": 2, "len": 1}
"""Functions in expressions, and how many arguments they take; the first is the name of an input or attribute."""
MAX_LENGTH = 300

_TOKEN = re.compile(r" *([0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?|[A-Za-z_][A-Za-z0-9_]*|\.\.\.|//|<=|>=|!=|[-+*()=<>,])")
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!=", "=": "="}
_MAX_DEPTH = 16
T = TypeVar("T")


class Expression(NamedTuple):
    """A number, a name, a function of FUNCTIONS, or an operation; `operator` says which, and has the name."""

    operator: str
    operands: tuple[Any, ...] = ()

    def names(self) -> Iterator[str]:
        """Yield the names of sizes and attributes in the expression; those of inputs are `inputs`."""
        if self.operator == "name":
            yield self.operands[0]
        for each in self.operands:
            if isinstance(each, Expression):
                yield from each.names()

    def functions(self) -> Iterator[tuple[str, str]]:
        """Yield the functions in the expression, each with the name that it is of."""
        if self.operator in FUNCTIONS:
            yield self.operator, self.operands[0]
        for each in self.operands:
            if isinstance(each, Expression):
                yield from each.functions()


class Size(NamedTuple):
    """A size in a pattern: one of several expressions, any one if there is none; `default` where it may be missing."""

    choices: tuple[Expression, ...]
    default: int | None = None

    @property
    def name(self) -> str:
        """The name that the size is, "" where it is something else."""
        only = self.choices[0] if len(self.choices) == 1 else None
        return only.operands[0] if only is not None and only.operator == "name" else ""


class Pattern(NamedTuple):
    """Sizes, a run of any number of sizes or None, and sizes after it; the run's name may be empty."""

    before: tuple[Size, ...]
    run: str | None = None
    after: tuple[Size, ...] = ()


class Test(NamedTuple):
    """How a number is compared, and with which expressions; "=" is met by one of them. "multiple" has one divisor."""

    operator: str
    bounds: tuple[Expression, ...]


@lru_cache(maxsize=1024)
def parse_pattern(text: str) -> tuple[Pattern, ...]:
    """Return the lists of a pattern, of which one holds. Raises ValueError that says what is wrong."""
    reader = _Reader(text)
    patterns = [reader.pattern()]
    while reader.accept("or"):
        patterns.append(reader.pattern())
    return reader.all_of(tuple(patterns))


@lru_cache(maxsize=1024)
def parse_tests(text: str) -> tuple[Test, ...]:
    """Return what a condition tests. Raises ValueError that says what is wrong."""
    reader = _Reader(text)
    tests = reader.tests()
    while reader.accept("and"):
        tests += reader.tests()
    return reader.all_of(tuple(tests))


@lru_cache(maxsize=1024)
def parse_expression(text: str) -> Expression:
    """Return an expression. Raises ValueError that says what is wrong."""
    reader = _Reader(text)
    return reader.all_of(reader.sum())


class _Reader:
    """Reads the text of a pattern, a condition or an expression by recursive descent; nesting is bounded."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise ValueError(f"a pattern has at most {MAX_LENGTH} characters")
        self.text, self.position, self.depth = text, 0, 0
        self.tokens: list[str] = []
        at = 0
        while at < len(text.rstrip()):
            found = _TOKEN.match(text, at)
            if found is None:
                raise ValueError(f"{text[at:].strip()!r} is no part of a pattern")
            self.tokens.append(found[1])
            at = found.end()

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def accept(self, token: str) -> bool:
        """Whether the next token is this one, which is then taken."""
        taken = self.peek() == token
        self.position += taken
        return taken

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise ValueError(f"{token!r} is missing in {self.text!r} before {self.peek() or 'its end'!r}")

    def all_of(self, result: T) -> T:
        """Return a result, after which nothing is left."""
        if self.peek():
            raise ValueError(f"{self.peek()!r} is not expected in {self.text!r}")
        return result

    def pattern(self) -> Pattern:
        self.expect("(")
        sizes: list[Size] = []
        run: str | None = None
        count = 0
        while self.peek() not in (")", ""):
            if self.accept("..."):
                if run is not None:
                    raise ValueError(f"{self.text!r} has two runs of sizes in one list")
                run, count = (self.name() if self.peek().isidentifier() else ""), len(sizes)
            else:
                sizes.append(self.size())
            if not self.accept(","):
                break
        self.expect(")")
        before, after = (sizes, []) if run is None else (sizes[:count], sizes[count:])
        defaults = [each.default is not None for each in before]
        if any(each.default is not None for each in after) or sorted(defaults) != defaults:
            raise ValueError(f"only the last sizes before a run can be left out, unlike in {self.text!r}")
        return Pattern(tuple(before), run, tuple(after))

    def size(self) -> Size:
        if self.accept(ANY):
            return Size(())
        choices = [self.sum()]
        while self.accept("or"):
            choices.append(self.sum())
        if not self.accept("="):
            return Size(tuple(choices))
        default = self.peek()
        if not default.isdigit() or choices[0].operator != "name":
            raise ValueError(f"a number has to follow a name and '=' in {self.text!r}")
        self.position += 1
        return Size(tuple(choices), int(default))

    def tests(self) -> list[Test]:
        if self.accept("multiple"):
            self.expect("of")
            return [Test("multiple", (self.sum(),))]
        if self.peek() in _MIRRORED:
            return [self.comparison()]
        first = self.sum()
        if self.peek() not in _MIRRORED:
            choices = [first]
            while self.accept("or"):
                choices.append(self.sum())
            return [Test("=", tuple(choices))]
        if first == _SUBJECT:
            return [self.comparison()]
        operator = self.peek()
        self.position += 1
        if self.sum() != _SUBJECT:
            raise ValueError(f"{self.text!r} has no 'x' between its ends")
        tests = [Test(_MIRRORED[operator], (first,))]
        return [*tests, self.comparison()] if self.peek() in _MIRRORED else tests

    def comparison(self) -> Test:
        operator = self.peek()
        self.position += 1
        return Test(operator, (self.sum(),))

    def sum(self) -> Expression:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ValueError(f"{self.text!r} is nested too deeply")
        result = self.chain(("+", "-"), lambda: self.chain(("*", "//"), self.factor))
        self.depth -= 1
        return result

    def chain(self, operators: tuple[str, ...], operand: Callable[[], Expression]) -> Expression:
        result = operand()
        while self.peek() in operators:
            operator = self.peek()
            self.position += 1
            result = Expression(operator, (result, operand()))
        return result

    def factor(self) -> Expression:
        token = self.peek()
        if self.accept("-"):
            return Expression("negative", (self.simple(),))
        if not token:
            raise ValueError(f"{self.text!r} ends where a number or a name is missing")
        return self.simple()

    def simple(self) -> Expression:
        token = self.peek()
        if self.accept("("):
            inner = self.sum()
            self.expect(")")
            return inner
        if token[:1].isdigit():
            self.position += 1
            return Expression("number", (int(token) if token.isdigit() else float(token),))
        if token in ("true", "false"):
            self.position += 1
            return Expression("number", (int(token == "true"),))
        name = self.name()
        if name not in FUNCTIONS or not self.accept("("):
            return Expression("name", (name,))
        arguments: list[Any] = [self.name()]
        for _ in range(FUNCTIONS[name] - 1):
            self.expect(",")
            arguments.append(self.sum())
        self.expect(")")
        return Expression(name, tuple(arguments))

    def name(self) -> str:
        token = self.peek()
        if not token.isidentifier() or token in ("or", "and", ANY):
            raise ValueError(f"a number or a name has to stand in {self.text!r} before {token or 'its end'!r}")
        self.position += 1
        return token


_SUBJECT = Expression("name", ("x",))
SUBJECT = "x"
"""What a comparison of two ends compares, so no size is named so."""
