"""The grammar of constraints in operator YAML: patterns of shapes, conditions and expressions, parsed to trees.

The guide `opset explain schemas` has the grammar as rules, and evaluation.py evaluates the trees:

    parse_condition("0 or >= rank(X) - 1")      Expression("or", (Expression("=", …), Expression(">=", …)))
    parse_pattern("(N, C * group, ...) or ()")  (Pattern((Size(…), Size(…)), ""), Pattern(()))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from opset.schemas.model import OpSchema

KINDS = ("given", "rank", "shape", "size", "sizes", "values", "distinct", "broadcast")
GIVEN, RANK, SHAPE, SIZE, SIZES, VALUES, DISTINCT, BROADCAST = KINDS
PRESENCE = {"given": True, "absent": False}
"""Words for the presence of an input or attribute in `where`, with whether it is given."""
FUNCTIONS = {"rank": 1, "size": 1, "dim": 2, "len": 1}
"""Functions that a text can call, with their numbers of arguments; the first is the name of an input or attribute."""
NAMED = {
    "name": "size or int attribute",
    "given": "input or attribute",
    "value": "input or attribute",
    "input": "input",
    "rank": "input",
    "size": "input",
    "dim": "input",
    "len": "attribute",
}
"""The operators whose first operand is a name, with the kind of thing that it names."""
CONDITIONS = frozenset(("or", "and", "chain", "=", "!=", "<", "<=", ">", ">=", "multiple"))
MAX_LENGTH = 300

_TOKEN = re.compile(r" *([0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?|[A-Za-z_][A-Za-z0-9_]*|\.\.\.|//|<=|>=|!=|[-+*()=<>,])")
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!=", "=": "="}
_BINDING = {"+": 1, "-": 1, "*": 2, "//": 2}
_MAX_DEPTH = 16
T = TypeVar("T")


class Expression(NamedTuple):
    """A node of the tree that an expression or a condition is parsed to.

    By `operator`, `operands` are

    - "constant": a number, a boolean, or a word;
    - an operator of NAMED: a name, and for "dim" the number of a dimension;
    - "+", "-", "*", "//", "negative": numbers;
    - "=", "!=", "<", "<=", ">", ">=", "multiple": a number with which the subject of the condition, `x`, is compared;
    - "or", "and", or "chain" (two comparisons around `x`): conditions on one subject.
    """

    operator: str
    operands: tuple[Any, ...]

    def __str__(self) -> str:
        """Return an expression as text, as it is written in YAML: `rank(X) - 1`.

        Conditions are not supported: `>= 2` becomes only "2".
        """
        kind, operands = self
        if kind == "constant":
            return str(operands[0]).lower().replace("e+", "e")
        if kind == "negative":
            return f"-{_operand_text(operands[0], 4)}"
        if kind in _BINDING:
            return (
                f"{_operand_text(operands[0], _BINDING[kind])} {kind} {_operand_text(operands[1], _BINDING[kind] + 1)}"
            )
        return f"{kind}({', '.join(map(str, operands))})" if kind in FUNCTIONS else str(operands[0])


def _operand_text(operand: Expression, binding: int) -> str:
    """Return an operand as text, in parentheses if its operator binds weaker than the operator around it.

    `binding` is the strength of the operator around it, such as 1 for + and 2 for *.
    """
    own = 3 if operand.operator == "negative" else _BINDING.get(operand.operator, 4)
    return f"({operand})" if own < binding else str(operand)


SUBJECT = "x"
"""The subject of a condition that is written out, as in `0 <= x < 3`; no size may have this name."""
_SUBJECT = Expression("name", (SUBJECT,))


class Size(NamedTuple):
    """One size in a shape pattern: alternative expressions in `choices`, or none if any size fits.

    A size with a `default` may be missing in the shape.
    """

    choices: tuple[Expression, ...]
    default: int | None = None

    @property
    def name(self) -> str:
        """The name of the size if it is a single name, such as N; else ""."""
        only = self.choices[0] if len(self.choices) == 1 else None
        return only.operands[0] if only is not None and only.operator == "name" else ""


class Pattern(NamedTuple):
    """A shape pattern: sizes `before` and `after` a run of any number of sizes, such as `...D`.

    `run` is the name of the run, "" if it has no name, None if the pattern has no run.
    """

    before: tuple[Size, ...]
    run: str | None = None
    after: tuple[Size, ...] = ()


@lru_cache(maxsize=1024)
def parse_pattern(text: str) -> tuple[Pattern, ...]:
    """Return the alternatives in a shape pattern such as `() or (N, ...)`; cached.

    Raises ValueError if the text is no pattern.
    """
    parser = _Parser(text)
    return parser.check_end(tuple(parser.read_operands("or", parser.read_pattern)))


@lru_cache(maxsize=1024)
def parse_condition(text: str) -> Expression:
    """Return the tree of a condition on a number, such as `>= 2`; a number without a sign, `2`, stands for `= 2`.

    The result is cached. Raises ValueError if the text is no condition.
    """
    parser = _Parser(text)
    return _as_condition(parser.check_end(parser.read_condition()))


@lru_cache(maxsize=1024)
def parse_expression(text: str) -> Expression:
    """Return the tree of an expression for a number, such as `rank(X) - 1`; cached.

    Raises ValueError if the text is no expression.
    """
    parser = _Parser(text)
    return parser.check_end(parser.read_number())


@lru_cache(maxsize=1024)
def parse_range(text: str) -> tuple[Expression, ...]:
    """Return the trees of the comparisons in the `range` of an attribute: one for ">= 0", two for "-rank <= x < rank".

    A `rank` without an input stands for the rank of the first input, and becomes `rank("")`. Raises ValueError if the
    text is no such comparison, or if a bound has other names than `rank` and `rank(INPUT)`. The result is cached.
    """
    try:
        comparisons = tuple(map(name_first_input, _comparisons_in(parse_condition(text))))
    except ValueError as error:
        raise ValueError(f"{text[:80]!r} is no comparison such as '>= 0' or '0 <= x < rank'") from error
    if any(term != "rank" for term, _ in terms_of(comparisons)):
        raise ValueError(f"a bound in {text!r} is neither a number nor a rank")
    return comparisons


def _comparisons_in(condition: Expression) -> Iterator[Expression]:
    """Yield the single comparisons in a condition: both of `0 <= x < 2`, and all that are joined by `and`.

    A single comparison such as `x < 2` is yielded unchanged. Raises ValueError for a condition with `or`, `=` or
    `multiple of`.
    """
    if condition.operator in ("and", "chain"):
        for operand in condition.operands:
            yield from _comparisons_in(operand)
    elif condition.operator in ("=", "or", "multiple"):
        raise ValueError
    else:
        yield condition


def name_first_input(tree: Any, first: str = "") -> Any:
    """Return a tree with `rank(first)` in place of each `rank` without an input.

    `first` is the name of the operator's first input, "" if the operator is not known. A value that is no Expression is
    returned unchanged.
    """
    if not isinstance(tree, Expression):
        return tree
    if tree == Expression("name", ("rank",)):
        return Expression("rank", (first,))
    return Expression(tree.operator, tuple([name_first_input(operand, first) for operand in tree.operands]))


def parse_premise(name: str, form: str, schema: OpSchema) -> tuple[Expression, Expression]:
    """Return two trees for an entry of `where`: the value that is compared, and the condition that it has to meet.

    Raises ValueError if the condition is malformed. The names are not checked.

    Args:
        name: An attribute, an input, or `rank(INPUT)`.
        form: "given", "absent" or a condition such as ">= 2"; for a string attribute, a word, or words joined by `or`.
        schema: The version that has the attributes.
    """
    if ranked := ranked_input(name):
        return Expression("rank", (ranked,)), parse_condition(form)
    if form in PRESENCE:
        return Expression("given", (name,)), _equal_to(PRESENCE[form])
    if name not in schema.attributes or schema.attributes[name].type != "string":
        return Expression("value", (name,)), parse_condition(form)
    words = tuple(map(_equal_to, form.split(" or ")))
    return Expression("value", (name,)), Expression("or", words) if len(words) > 1 else words[0]


def ranked_input(name: str) -> str:
    """Return X for the name `rank(X)`, "" for any other name."""
    return name[5:-1] if name.startswith("rank(") and name.endswith(")") else ""


def parse_form(kind: str, form: str) -> Any:
    """Return the tree of a condition in YAML; the grammar of its text `form` depends on the `kind` of the condition.

    The kinds have these trees:

    - "shape": a tuple of patterns;
    - "broadcast": a tuple of patterns, or an Expression with the name of an input;
    - "distinct": an expression for a number;
    - "given": a condition on whether the subject is given;
    - any other kind: a condition on a number.

    Raises ValueError if the text does not follow the grammar of its kind; the message says why.
    """
    if kind == GIVEN:
        negation, _, name = form.rpartition(" ")
        if negation not in ("", "not"):
            raise ValueError(f"{form!r} does not say what is given")
        is_word = name in ("true", "false")
        other = Expression("constant", (name == "true",)) if is_word else Expression("given", (name,))
        return Expression("!=" if negation else "=", (other,))
    if kind == BROADCAST and not form.startswith("("):
        return Expression("input", (form,))
    parsers = {SHAPE: parse_pattern, BROADCAST: parse_pattern, DISTINCT: parse_expression}
    return parsers.get(kind, parse_condition)(form)


def terms_of(tree: Any) -> Iterator[tuple[str, str]]:
    """Yield (operator, name) for each name in a tree: ("rank", "X") for `rank(X)`, ("name", "N") for `N`.

    `tree` is an expression, a condition, a pattern, or a tuple of these. The operators are the keys of NAMED. A name
    that occurs twice is yielded twice. For any other value, nothing is yielded.
    """
    if isinstance(tree, Expression) and tree.operator in NAMED:
        yield tree.operator, tree.operands[0]
    for part in tree if isinstance(tree, tuple) else ():
        yield from terms_of(part)


def _equal_to(value: Any) -> Expression:
    """Return the condition that a value is equal to the constant `value`."""
    return Expression("=", (Expression("constant", (value,)),))


def _as_condition(expression: Expression) -> Expression:
    """Return a condition unchanged, and for an expression of a number N the condition `= N`."""
    return expression if expression.operator in CONDITIONS else Expression("=", (expression,))


class _Parser:
    """Recursive-descent parser of patterns, conditions and expressions, with a method for each grammar rule.

    A method that reads or expects something raises ValueError if the text has something else.
    """

    def __init__(self, text: str) -> None:
        """Split a text into tokens. Raises ValueError if it is too long, or has characters that begin no token."""
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
        """Return the next token, and stay before it; "" at the end."""
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self) -> str:
        """Return the next token and move past it; "" at the end."""
        token = self.peek()
        self.position += 1
        return token

    def accept(self, token: str) -> bool:
        """Move past the next token if it is `token`; return whether it was."""
        is_next = self.peek() == token
        self.position += is_next
        return is_next

    def expect(self, token: str) -> None:
        """Move past the next token, which has to be `token`. Raises ValueError if it is another one."""
        if not self.accept(token):
            raise ValueError(f"{token!r} is missing in {self.text!r} before {self.peek() or 'its end'!r}")

    def check_end(self, tree: T) -> T:
        """Return `tree`, the result of parsing, unchanged. Raises ValueError if the text goes on after it."""
        if self.peek():
            raise ValueError(f"{self.peek()!r} is not expected in {self.text!r}")
        return tree

    def read_operands(self, word: str, read: Callable[[], T]) -> list[T]:
        """Read operands that are joined by `word`, such as "or", and return them; there is at least one.

        `read` reads one operand from the next tokens, and returns it.
        """
        operands = [read()]
        while self.accept(word):
            operands.append(read())
        return operands

    def read_pattern(self) -> Pattern:
        """Read one shape pattern in parentheses, such as `(N, C, ...)`.

        Raises ValueError if the next tokens are none.
        """
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
        defaults = [size.default is not None for size in before]
        if any(size.default is not None for size in after) or sorted(defaults) != defaults:
            raise ValueError(f"only the last sizes before a run can be left out, unlike in {self.text!r}")
        return Pattern(tuple(before), run, tuple(after))

    def read_size(self) -> Size:
        """Read one size of a pattern: `_`, expressions joined by "or", or a name with a default (`C=1`).

        Raises ValueError if the next tokens are none of these.
        """
        if self.accept("_"):
            return Size(())
        choices = tuple(self.read_operands("or", self.read_number))
        if not self.accept("="):
            return Size(choices)
        default = self.take()
        if not default.isdigit() or choices[0].operator != "name":
            raise ValueError(f"a number has to follow a name and '=' in {self.text!r}")
        return Size(choices, int(default))

    def read_condition(self) -> Expression:
        """Read tests joined by "and" and "or" as one expression; "and" binds stronger.

        A single test, or a number, is returned unchanged. Raises ValueError if the text is malformed.
        """
        return self.read_joined("or", lambda: self.read_joined("and", self.read_test))

    def read_joined(self, word: str, read: Callable[[], Expression]) -> Expression:
        """Read operands joined by `word`, "or" or "and", as one expression; a single operand is returned unchanged."""
        operands = self.read_operands(word, read)
        return Expression(word, tuple(map(_as_condition, operands))) if len(operands) > 1 else operands[0]

    def read_test(self) -> Expression:
        """Read a test: `< 3`, `x < 3`, `0 < x < 3`, `multiple of N`, a condition in parentheses, or a number.

        A number alone is returned as a number, not as the condition `= N`. Raises ValueError if the next tokens are
        none of these.
        """
        if self.accept("multiple"):
            self.expect("of")
            return Expression("multiple", (self.read_number(),))
        if self.peek() in MIRRORED:
            return self.read_comparison()
        first = self.read_sum()
        if self.peek() not in MIRRORED:
            return first
        if first == _SUBJECT:
            return self.read_comparison()
        below = Expression(MIRRORED[self.take()], (self.check_number(first),))
        if self.read_sum() != _SUBJECT:
            raise ValueError(f"{self.text!r} has no {SUBJECT!r} between its ends")
        return Expression("chain", (below, self.read_comparison())) if self.peek() in MIRRORED else below

    def read_comparison(self) -> Expression:
        """Read a comparison sign and a number, such as `< 3`, as one expression.

        The next token must be a comparison sign. Raises ValueError if no number follows it.
        """
        return Expression(self.take(), (self.read_number(),))

    def read_number(self) -> Expression:
        """Read an expression for a number. Raises ValueError if a condition stands in its place."""
        return self.check_number(self.read_sum())

    def check_number(self, expression: Expression) -> Expression:
        """Return an expression unchanged. Raises ValueError if it is a condition."""
        if expression.operator in CONDITIONS:
            raise ValueError(f"a condition stands in {self.text!r} in place of a number")
        return expression

    def read_sum(self) -> Expression:
        """Read an expression such as `2 * N + 1`: terms joined by + and -, with factors joined by * and //.

        A condition in parentheses, such as `(N > 1)`, may stand in place of the sum, but not as a term or factor of it.
        Raises ValueError if the text is malformed, or nested more than _MAX_DEPTH levels deep.
        """
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise ValueError(f"{self.text!r} is nested too deeply")
        result = self.read_chain(("+", "-"), lambda: self.read_chain(("*", "//"), self.read_factor))
        self.depth -= 1
        return result

    def read_chain(self, operators: tuple[str, ...], read: Callable[[], Expression]) -> Expression:
        """Read operands with `read`, joined by `operators`, as one expression that is grouped from left to right.

        A single operand is returned unchanged. Raises ValueError if one of several operands is a condition.
        """
        result = read()
        while self.peek() in operators:
            result = Expression(self.take(), (self.check_number(result), self.check_number(read())))
        return result

    def read_factor(self) -> Expression:
        """Read an operand, or a negative one such as `-rank(X)`. Raises ValueError if the next tokens are neither."""
        if self.accept("-"):
            return Expression("negative", (self.check_number(self.read_operand()),))
        if not self.peek():
            raise ValueError(f"{self.text!r} ends where a number or a name is missing")
        return self.read_operand()

    def read_operand(self) -> Expression:
        """Read a number, true or false, a name, a call such as `rank(X)`, or a condition or number in parentheses.

        Raises ValueError if the next tokens are none of these.
        """
        if self.accept("("):
            inner = self.read_condition()
            self.expect(")")
            return inner
        token = self.peek()
        if token[:1].isdigit():
            return Expression("constant", (int(self.take()) if token.isdigit() else float(self.take()),))
        if token in ("true", "false"):
            return Expression("constant", (self.take() == "true",))
        name = self.read_name()
        if name not in FUNCTIONS or not self.accept("("):
            return Expression("name", (name,))
        arguments: list[Any] = [self.read_name()]
        for _ in range(FUNCTIONS[name] - 1):
            self.expect(",")
            arguments.append(self.read_number())
        self.expect(")")
        return Expression(name, tuple(arguments))

    def read_name(self) -> str:
        """Return the next token and move past it. Raises ValueError if it is no name; "or", "and" and "_" are none."""
        token = self.peek()
        if not token.isidentifier() or token in ("or", "and", "_"):
            raise ValueError(f"a number or a name has to stand in {self.text!r} before {token or 'its end'!r}")
        return self.take()
