"""The syntax of patterns of shapes and conditions on numbers in the constraints of operator YAML.

A pattern is a list of sizes in parentheses, or alternatives with `or` between them:

    (N, C, ...)                 ... stands for any number of sizes, `...D` for a run of sizes with a name; if an
                                attribute has this name, for its values
    (C * group, k - 1)          sums, differences, products and quotients, rounded down (//)
    (_, 1 or 2)                 `_` is any one size; a size may have alternatives
    () or (1)
    (N, C = 1, ...)             the last sizes before a run may be left out: then C is 1

A condition is a number or an expression, several with `or` between them, comparisons, or a divisor:

    4       3 or 4      rank(X)      > 0      -rank(X) <= x < rank(X) and != 0      multiple of group

Expressions consist of numbers, names of sizes, names of int attributes (their values), `rank(X)`, `size(X)` (the number
of elements), `dim(X, i)` and `len(attribute)`. In a comparison with two bounds, `x` is the compared value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

ANY = "_"
"""Any one size."""
FUNCTIONS = {"rank": 1, "size": 1, "dim": 2, "len": 1}
"""Functions in expressions, with their numbers of arguments; the first is the name of an input or attribute."""
MAX_LENGTH = 300

_TOKEN = re.compile(r" *([0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?|[A-Za-z_][A-Za-z0-9_]*|\.\.\.|//|<=|>=|!=|[-+*()=<>,])")
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!=", "=": "="}
_MAX_DEPTH = 16
T = TypeVar("T")


class Expression(NamedTuple):
    """A node of an expression: `operator` is "number", "name", a function of FUNCTIONS, or an arithmetic operator."""

    operator: str
    operands: tuple[Any, ...] = ()

    def names(self) -> Iterator[str]:
        """Yield the names of sizes and attributes in the expression, without the arguments of functions."""
        if self.operator == "name":
            yield self.operands[0]
        for each in self.operands:
            if isinstance(each, Expression):
                yield from each.names()

    def functions(self) -> Iterator[tuple[str, str]]:
        """Yield the functions in the expression, each with the input or attribute that is its first argument."""
        if self.operator in FUNCTIONS:
            yield self.operator, self.operands[0]
        for each in self.operands:
            if isinstance(each, Expression):
                yield from each.functions()


class Size(NamedTuple):
    """An entry of a pattern: alternative expressions, or none for any size; with a `default` it may be left out."""

    choices: tuple[Expression, ...]
    default: int | None = None

    @property
    def name(self) -> str:
        """The name if the entry is a single name, else ""."""
        only = self.choices[0] if len(self.choices) == 1 else None
        return only.operands[0] if only is not None and only.operator == "name" else ""


class Pattern(NamedTuple):
    """Entries before and after a run of any number of sizes; `run` is its name, "" without a name, None if no run."""

    before: tuple[Size, ...]
    run: str | None = None
    after: tuple[Size, ...] = ()


class Test(NamedTuple):
    """A comparison of a number with `bounds`: "=" with any of several, "multiple" with a divisor, others with one."""

    operator: str
    bounds: tuple[Expression, ...]


@lru_cache(maxsize=1024)
def parse_pattern(text: str) -> tuple[Pattern, ...]:
    """Return the alternatives of a pattern. Raises ValueError with the reason if the text is no pattern."""
    reader = _Parser(text)
    patterns = [reader.read_pattern()]
    while reader.accept("or"):
        patterns.append(reader.read_pattern())
    return reader.check_end(tuple(patterns))


@lru_cache(maxsize=1024)
def parse_tests(text: str) -> tuple[Test, ...]:
    """Return the tests of a condition, which all have to pass. Raises ValueError with the reason if it is none."""
    reader = _Parser(text)
    tests = reader.read_tests()
    while reader.accept("and"):
        tests += reader.read_tests()
    return reader.check_end(tuple(tests))


@lru_cache(maxsize=1024)
def parse_expression(text: str) -> Expression:
    """Return an expression. Raises ValueError with the reason if the text is none."""
    reader = _Parser(text)
    return reader.check_end(reader.read_sum())


class _Parser:
    """A recursive-descent parser of patterns, conditions and expressions; nesting is bounded."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_LENGTH:
            raise ValueError(f"a pattern has at most {MAX_LENGTH} characters")
        self.text = text
        self.position = self.depth = 0
        self.tokens: list[str] = []
        offset = 0
        while offset < len(text.rstrip()):
            token = _TOKEN.match(text, offset)
            if token is None:
                raise ValueError(f"{text[offset:].strip()!r} is no part of a pattern")
            self.tokens.append(token[1])
            offset = token.end()

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def accept(self, token: str) -> bool:
        """Whether the next token is this one; if so, advances."""
        is_next = self.peek() == token
        self.position += is_next
        return is_next

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise ValueError(f"{token!r} is missing in {self.text!r} before {self.peek() or 'its end'!r}")

    def check_end(self, result: T) -> T:
        """Return the result of parsing. Raises ValueError if tokens are left."""
        if self.peek():
            raise ValueError(f"{self.peek()!r} is not expected in {self.text!r}")
        return result

    def read_pattern(self) -> Pattern:
        self.expect("(")
        sizes: list[Size] = []
        run: str | None = None
        count = 0
        while self.peek() not in (")", ""):
            if self.accept("..."):
                if run is not None:
                    raise ValueError(f"{self.text!r} has two runs of sizes in one list")
                run, count = (self.read_name() if self.peek().isidentifier() else ""), len(sizes)
            else:
                sizes.append(self.read_size())
            if not self.accept(","):
                break
        self.expect(")")
        before, after = (sizes, []) if run is None else (sizes[:count], sizes[count:])
        defaults = [each.default is not None for each in before]
        if any(each.default is not None for each in after) or sorted(defaults) != defaults:
            raise ValueError(f"only the last sizes before a run can be left out, unlike in {self.text!r}")
        return Pattern(tuple(before), run, tuple(after))

    def read_size(self) -> Size:
        if self.accept(ANY):
            return Size(())
        choices = [self.read_sum()]
        while self.accept("or"):
            choices.append(self.read_sum())
        if not self.accept("="):
            return Size(tuple(choices))
        default = self.peek()
        if not default.isdigit() or choices[0].operator != "name":
            raise ValueError(f"a number has to follow a name and '=' in {self.text!r}")
        self.position += 1
        return Size(tuple(choices), int(default))

    def read_tests(self) -> list[Test]:
        if self.accept("multiple"):
            self.expect("of")
            return [Test("multiple", (self.read_sum(),))]
        if self.peek() in _MIRRORED:
            return [self.read_comparison()]
        first = self.read_sum()
        if self.peek() not in _MIRRORED:
            choices = [first]
            while self.accept("or"):
                choices.append(self.read_sum())
            return [Test("=", tuple(choices))]
        if first == _SUBJECT:
            return [self.read_comparison()]
        operator = self.peek()
        self.position += 1
        if self.read_sum() != _SUBJECT:
            raise ValueError(f"{self.text!r} has no 'x' between its ends")
        tests = [Test(_MIRRORED[operator], (first,))]
        return [*tests, self.read_comparison()] if self.peek() in _MIRRORED else tests

    def read_comparison(self) -> Test:
        operator = self.peek()
        self.position += 1
        return Test(operator, (self.read_sum(),))

    def read_sum(self) -> Expression:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ValueError(f"{self.text!r} is nested too deeply")
        result = self.read_chain(("+", "-"), lambda: self.read_chain(("*", "//"), self.read_factor))
        self.depth -= 1
        return result

    def read_chain(self, operators: tuple[str, ...], operand: Callable[[], Expression]) -> Expression:
        result = operand()
        while self.peek() in operators:
            operator = self.peek()
            self.position += 1
            result = Expression(operator, (result, operand()))
        return result

    def read_factor(self) -> Expression:
        token = self.peek()
        if self.accept("-"):
            return Expression("negative", (self.read_operand(),))
        if not token:
            raise ValueError(f"{self.text!r} ends where a number or a name is missing")
        return self.read_operand()

    def read_operand(self) -> Expression:
        token = self.peek()
        if self.accept("("):
            inner = self.read_sum()
            self.expect(")")
            return inner
        if token[:1].isdigit():
            self.position += 1
            return Expression("number", (int(token) if token.isdigit() else float(token),))
        if token in ("true", "false"):
            self.position += 1
            return Expression("number", (int(token == "true"),))
        name = self.read_name()
        if name not in FUNCTIONS or not self.accept("("):
            return Expression("name", (name,))
        arguments: list[Any] = [self.read_name()]
        for _ in range(FUNCTIONS[name] - 1):
            self.expect(",")
            arguments.append(self.read_sum())
        self.expect(")")
        return Expression(name, tuple(arguments))

    def read_name(self) -> str:
        token = self.peek()
        if not token.isidentifier() or token in ("or", "and", ANY):
            raise ValueError(f"a number or a name has to stand in {self.text!r} before {token or 'its end'!r}")
        self.position += 1
        return token


_SUBJECT = Expression("name", ("x",))
SUBJECT = "x"
"""The compared value in a comparison with two bounds; no size may have this name."""
