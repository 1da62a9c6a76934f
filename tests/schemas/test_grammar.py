"""The grammar of constraints: what is read of patterns and conditions, and why others cannot be read."""

from dataclasses import replace

import pytest

from opset.opsets.registry import get_schema
from opset.schemas.constraints.grammar import (
    MAX_LENGTH,
    Expression,
    Pattern,
    Size,
    parse_condition,
    parse_expression,
    parse_form,
    parse_pattern,
    parse_range,
    ranked_input,
    terms_of,
)
from opset.schemas.constraints.wording import conditions_text
from opset.schemas.model import Attribute


def number(value):
    return Expression("constant", (value,))


def named(name):
    return Expression("name", (name,))


def compared(sign, bound):
    return Expression(sign, (bound,))


A, B, X = named("a"), named("b"), Expression("rank", ("X",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2", number(2)),
        ("1.5e-3", number(0.0015)),
        ("true", number(True)),
        ("false", number(False)),
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
    terms = terms_of(parse_expression("a * -size(Y) + dim(X, b) - len(k)"))
    assert [*terms] == [("name", "a"), ("size", "Y"), ("dim", "X"), ("name", "b"), ("len", "k")]


@pytest.mark.parametrize(
    "text",
    [
        "2 * (a - 1)",
        "a - b - 1",
        "a - (b - 1)",
        "a * (b // 2)",
        "-(a + b) // 2",
        "-(-a) * -b",
        "dim(X, -1)",
        "1.5",
        "1e39",
        "true",
    ],
)
def test_an_expression_prints_as_it_is_written(text):
    assert str(parse_expression(text)) == text


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


EQUAL = [compared("=", bound) for bound in (number(3), number(4), A)]
ABOVE, BELOW = compared(">=", Expression("negative", (X,))), compared("<", number(3))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3", EQUAL[0]),
        ("3 or 4 or a", Expression("or", tuple(EQUAL))),
        (">= 2", compared(">=", number(2))),
        ("x < a", compared("<", A)),
        ("-rank(X) <= x < 3", Expression("chain", (ABOVE, BELOW))),
        ("-rank(X) <= x < 3 and != 0", Expression("and", (
            Expression("chain", (ABOVE, BELOW)), compared("!=", number(0)),
        ))),
        *[(f"2 {sign} x", compared(mirrored, number(2))) for sign, mirrored in (
            ("<", ">"), ("<=", ">="), (">", "<"), (">=", "<="), ("!=", "!="), ("=", "="),
        )],
        ("multiple of a and > 0", Expression("and", (compared("multiple", A), compared(">", number(0))))),
        ("3 or 4 and a", Expression("or", (EQUAL[0], Expression("and", tuple(EQUAL[1:]))))),
        ("3 and 4 or a", Expression("or", (Expression("and", tuple(EQUAL[:2])), EQUAL[2]))),
        ("(3 or 4) and a", Expression("and", (Expression("or", tuple(EQUAL[:2])), EQUAL[2]))),
        ("((3)) or (< 3)", Expression("or", (EQUAL[0], BELOW))),
    ],
)  # fmt: skip
def test_a_condition(text, expected):
    assert parse_condition(text) == expected


def test_the_rank_of_an_input_is_written_with_both_brackets():
    found = [ranked_input(name) for name in ("rank(X)", "rank(first", "rank", "size(first)", "axis")]
    assert found == ["X", "", "", "", ""]


def test_whether_something_is_given():
    other = Expression("given", ("B",))
    for text, expected in {
        "true": compared("=", number(True)), "false": compared("=", number(False)),
        "B": compared("=", other), "not B": compared("!=", other),
    }.items():  # fmt: skip
        assert parse_form("given", text) == expected


@pytest.mark.parametrize(
    ("parse", "text", "why"),
    [
        (parse_pattern, "", "'(' is missing in '' before 'its end'"),
        (parse_pattern, "(a b)", "')' is missing in '(a b)' before 'b'"),
        (parse_pattern, "(a", "')' is missing in '(a' before 'its end'"),
        (parse_pattern, "(N, ..., C, ...)", "'(N, ..., C, ...)' has two runs of sizes in one list"),
        (parse_pattern, "(C = 1, N)", "only the last sizes before a run can be left out, unlike in '(C = 1, N)'"),
        (parse_pattern, "(..., C = 1)", "only the last sizes before a run can be left out, unlike in '(..., C = 1)'"),
        (parse_pattern, "(2 = 1)", "a number has to follow a name and '=' in '(2 = 1)'"),
        (parse_pattern, "(C = a)", "a number has to follow a name and '=' in '(C = a)'"),
        (parse_pattern, "(N) (C)", "'(' is not expected in '(N) (C)'"),
        (parse_condition, "1 < 2", "'1 < 2' has no 'x' between its ends"),
        (parse_condition, "multiple 3", "'of' is missing in 'multiple 3' before '3'"),
        (parse_condition, ">= 1 2", "'2' is not expected in '>= 1 2'"),
        (parse_condition, "(3 or 4", "')' is missing in '(3 or 4' before 'its end'"),
        (parse_condition, "3 or", "'3 or' ends where a number or a name is missing"),
        (parse_condition, "(3 or 4) + 1", "a condition stands in '(3 or 4) + 1' in place of a number"),
        (parse_condition, "-(> 1)", "a condition stands in '-(> 1)' in place of a number"),
        (parse_condition, "< (> 1)", "a condition stands in '< (> 1)' in place of a number"),
        (parse_condition, "(> 1) < x", "a condition stands in '(> 1) < x' in place of a number"),
        (parse_pattern, "((3 or 4))", "a condition stands in '((3 or 4))' in place of a number"),
        (parse_range, "> a", "a bound in '> a' is neither a number nor a rank"),
        (parse_range, "0 or 1", "'0 or 1' is no comparison such as '>= 0' or '0 <= x < rank'"),
        (parse_expression, "1 +", "'1 +' ends where a number or a name is missing"),
        (parse_expression, "foo(X)", "'(' is not expected in 'foo(X)'"),
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


def test_a_condition_on_a_list_is_one_on_each_of_its_elements():
    schema = get_schema("Transpose")
    (condition,) = [each for each in schema.conditions if each.kind == "values"]
    assert conditions_text([condition], schema) == "0 <= each of perm < len(perm)"
    single = replace(schema, attributes={"perm": Attribute("perm", "int")})
    assert conditions_text([condition], single) == "0 <= perm < len(perm)"


def test_parentheses_beside_others_are_not_nested():
    beside = "(a) + " * 40
    assert str(parse_expression(f"{beside}a")).count("a") == 41
    with pytest.raises(ValueError, match="is nested too deeply"):
        parse_expression(beside + "(" * 16 + "a" + ")" * 16)
