"""Patterns of shapes and conditions on numbers: what is read of them, and what is said of those that cannot be read."""

import pytest

from opset.schemas.constraints import patterns
from opset.schemas.constraints.patterns import (
    MAX_LENGTH,
    Expression,
    Pattern,
    Size,
    parse_expression,
    parse_pattern,
    parse_tests,
)


def number(value):
    return Expression("number", (value,))


def named(name):
    return Expression("name", (name,))


A, B, X = named("a"), named("b"), Expression("rank", ("X",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2", number(2)),
        ("1.5e-3", number(0.0015)),
        ("true", number(1)),
        ("false", number(0)),
        ("a - b - 1", Expression("-", (Expression("-", (A, B)), number(1)))),
        ("a + b * 2", Expression("+", (A, Expression("*", (B, number(2)))))),
        ("(a + b) // 2", Expression("//", (Expression("+", (A, B)), number(2)))),
        ("-a * b", Expression("*", (Expression("negative", (A,)), B))),
        ("rank(X)", X),
        ("rank", named("rank")),
        ("len(k)", Expression("len", ("k",))),
        ("dim(X, -1)", Expression("dim", ("X", Expression("negative", (number(1),))))),
        ("(" * 15 + "a" + ")" * 15, A),
        ("a" * MAX_LENGTH, named("a" * MAX_LENGTH)),
    ],
)
def test_an_expression(text, expected):
    assert parse_expression(text) == expected


def test_the_names_and_functions_of_an_expression():
    found = parse_expression("a * -size(Y) + dim(X, b) - len(k)")
    assert [*found.names()] == ["a", "b"]
    assert [*found.functions()] == [("size", "Y"), ("dim", "X"), ("len", "k")]


N, C, ANY = Size((named("N"),)), Size((named("C"),)), Size(())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("()", (Pattern(()),)),
        ("(N, C)", (Pattern((N, C)),)),
        ("(N, ...)", (Pattern((N,), ""),)),
        ("(...D, _)", (Pattern((), "D", (ANY,)),)),
        ("(N, C = 1, ..., 2 or a)", (Pattern((N, C._replace(default=1)), "", (Size((number(2), A)),)),)),
        ("() or (N) or (C)", (Pattern(()), Pattern((N,)), Pattern((C,)))),
    ],
)
def test_a_pattern(text, expected):
    assert parse_pattern(text) == expected


def test_a_size_has_the_name_that_it_is():
    (pattern,) = parse_pattern("(N, 2, N or C, 2 * N, _, C = 1)")
    assert [each.name for each in pattern.before] == ["N", "", "", "", "", "C"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3 or 4 or a", [patterns.Test("=", (number(3), number(4), A))]),
        (">= 2", [patterns.Test(">=", (number(2),))]),
        ("x < a", [patterns.Test("<", (A,))]),
        ("-rank(X) <= x < 3 and != 0", [
            patterns.Test(">=", (Expression("negative", (X,)),)), patterns.Test("<", (number(3),)),
            patterns.Test("!=", (number(0),)),
        ]),
        *[(f"2 {sign} x", [patterns.Test(mirrored, (number(2),))]) for sign, mirrored in (
            ("<", ">"), ("<=", ">="), (">", "<"), (">=", "<="), ("!=", "!="), ("=", "="),
        )],
        ("multiple of a and > 0", [patterns.Test("multiple", (A,)), patterns.Test(">", (number(0),))]),
    ],
)  # fmt: skip
def test_a_condition(text, expected):
    assert parse_tests(text) == tuple(expected)


@pytest.mark.parametrize(
    ("parse", "text", "why"),
    [
        (parse_pattern, "", "'(' is missing in '' before 'its end'"),
        (parse_pattern, "(a", "')' is missing in '(a' before 'its end'"),
        (parse_pattern, "(N, ..., C, ...)", "'(N, ..., C, ...)' has two runs of sizes in one list"),
        (parse_pattern, "(C = 1, N)", "only the last sizes before a run can be left out, unlike in '(C = 1, N)'"),
        (parse_pattern, "(..., C = 1)", "only the last sizes before a run can be left out, unlike in '(..., C = 1)'"),
        (parse_pattern, "(2 = 1)", "a number has to follow a name and '=' in '(2 = 1)'"),
        (parse_pattern, "(C = a)", "a number has to follow a name and '=' in '(C = a)'"),
        (parse_pattern, "(N) (C)", "'(' is not expected in '(N) (C)'"),
        (parse_tests, "1 < 2", "'1 < 2' has no 'x' between its ends"),
        (parse_tests, "multiple 3", "'of' is missing in 'multiple 3' before '3'"),
        (parse_tests, ">= 1 2", "'2' is not expected in '>= 1 2'"),
        (parse_expression, "1 +", "'1 +' ends where a number or a name is missing"),
        (parse_expression, "rank(1)", "a number or a name has to stand in 'rank(1)' before '1'"),
        (parse_expression, "dim(X)", "',' is missing in 'dim(X)' before ')'"),
        (parse_expression, "a + or", "a number or a name has to stand in 'a + or' before 'or'"),
        (parse_expression, "_", "a number or a name has to stand in '_' before '_'"),
        (parse_expression, "a # b", "'# b' is no part of a pattern"),
        (parse_expression, "a" * (MAX_LENGTH + 1), "a pattern has at most 300 characters"),
        (parse_expression, "(" * 16 + "a" + ")" * 16, f"'{'(' * 16}a{')' * 16}' is nested too deeply"),
    ],
)
def test_what_cannot_be_read_is_told(parse, text, why):
    with pytest.raises(ValueError) as caught:
        parse(text)
    assert str(caught.value) == why
