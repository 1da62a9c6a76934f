"""Formulas of operators as text: what stands in LaTeX is read as Unicode, for every operator."""

import re

import pytest

from opset.opsets.registry import default_registry
from opset.plain_formula import DEEPEST, MOST_CHARACTERS, formula_lines
from tests.cli.commands import run


@pytest.mark.parametrize(
    ("formula", "lines"),
    [
        (r"y = \frac{x}{2}", ["y = x/2"]),
        (r"y = \frac{1 + x}{1 - x}", ["y = (1 + x)/(1 - x)"]),
        (r"y = \frac{1}{2} \ln\frac{1 + x}{1 - x}", ["y = (1/2) ln((1 + x)/(1 - x))"]),
        (r"y = \sqrt{x^2 + 1}", ["y = √(x² + 1)"]),
        (r"H_{t-1} R_z^T", ["Hₜ₋₁ R_zᵀ"]),
        (r"\mathrm{num\_groups}_i \le 10^{-9}", ["num_groupsᵢ ≤ 10⁻⁹"]),
        (r"s_{\mathrm{last}} = \left\lfloor \frac{a}{b} \right\rfloor", ["s_last = ⌊a/b⌋"]),
        (
            r"y = \begin{cases} 1 & x > 0 \\ -x & \mathrm{otherwise} \end{cases}",
            ["y =", "  1    if x > 0", "  -x   otherwise"],
        ),
        (r"\begin{pmatrix} p \\ 1 \end{pmatrix}", ["[p; 1]"]),
        (r"a = b, \quad c = d \\ e", ["a = b,   c = d", "e"]),
        ("a\n\nb", ["a", "b"]),
        (r"\unheard{x} + {y", ["unheardx + y"]),
        (r"\frac{a + b}{2}c", ["((a + b)/2)c"]),
        (r"2\frac{a}{b}", ["2(a/b)"]),
        (r"\frac{a}{b} + \frac{c}{d}", ["a/b + c/d"]),
        (r"(\frac{a}{b})", ["(a/b)"]),
        (r"\sum \frac{a}{b}", ["∑ (a/b)"]),
        (r"\frac{f(x)}{(a + b)}", ["f(x)/(a + b)"]),
        (r"\frac{a(b)c}{d}", ["(a(b)c)/d"]),
        (r"x_{abc} + x_{ab} + x_{a} + x_{i j} + x^{abc} + x_{0:n}", ["x_abc + x_ab + xₐ + x_(i j) + x^abc + x_(0:n)"]),
        (r"x_ij^-1", ["xᵢj⁻1"]),
        (r"x_ {n}", ["xₙ"]),
        (r"a \in B \cap C\le d", ["a ∈ B ∩ C ≤ d"]),
        (r"\sqrt 2 \sqrt{a'} \sqrt{ab + c}", ["√2 √a' √(ab + c)"]),
        (r"a\, b\! c\;d", ["a b c d"]),
        (
            r"\begin{cases} 1 & x > 0 \\ 22 & \text{for all} \\ 3 \end{cases} z",
            ["  1    if x > 0", "  22   for all", "  3", "z"],
        ),
        (r"\begin{aligned} a &= b \\ c &= d \\ \end{aligned}", ["a = b", "c = d"]),
        (r"\begin{aligned} a &= b \\ &= c \\ \end{aligned}", ["a = b", "= c"]),
        (r"\begin{bmatrix} a & b \\ c & d \end{bmatrix}^T", ["[a b; c d]ᵀ"]),
        (r"\begin{bmatrix} a \\ d \\ & \\ \end{bmatrix}", ["[a; d]"]),
        (r"\begin{cases} 1 & x > 0 \\ & \\ \end{cases} z", ["  1   if x > 0", "z"]),
        ("a\nb", ["a b"]),
        (r"\left( a \right) [ b ] \{ c \}", ["(a) [b] {c}"]),
        (r"a x\frac{1}{b} + x\, \frac{a}{b} + x\quad\frac{a}{b}", ["a x(1/b) + x (a/b) + x a/b"]),
        (r"x^\beta \sqrt\pi", ["x^β √π"]),
        (r"x_{ij} + x_{ijk} + x_{i1j} + x_{}", ["xᵢⱼ + x_ijk + xᵢ₁ⱼ + x"]),
        (r"\begin{cases} \end{cases} z", ["z"]),
        (r"\begin{cases} 1 & \text{if } a \\ 2 & \text{else} \end{cases}", ["  1   if a", "  2   else"]),
        ("", []),
    ],
)
def test_formulas_become_lines(formula, lines):
    assert formula_lines(formula) == lines


def test_no_formula_of_the_standard_keeps_latex():
    registry, found = default_registry(), 0
    for domain in registry.domains:
        for name in registry.operators(domain):
            for schema in registry.versions(name, domain):
                formula = registry.documentation(schema).formula
                text = "\n".join(formula_lines(formula))
                found += bool(formula)
                assert bool(text) == bool(formula.strip())
                assert not re.search(r"\\|\{(?!.*\})|\ue000|[_^]\{", text), (name, text)
    assert found > 150


@pytest.mark.parametrize(
    "formula", ["{" * (DEEPEST + 1), r"\frac{" * 4000, "x" * (MOST_CHARACTERS + 1), "^" * 999, "\\"]
)
def test_hostile_formulas_end(formula):
    assert len("".join(formula_lines(formula))) <= 4 * len(formula) + 10


def test_what_is_too_deep_or_too_long_stays_as_it_is():
    def nested(depth):
        return "{" * depth + "x^2" + "}" * depth

    assert formula_lines(nested(DEEPEST - 1)) == ["x²"]
    assert formula_lines(nested(DEEPEST)) == [nested(DEEPEST)]
    assert formula_lines("{a}" * DEEPEST + nested(DEEPEST - 1)) == ["a" * DEEPEST + "x²"]
    assert formula_lines(deep := "{a}" * DEEPEST + nested(DEEPEST)) == [deep]
    most = "x^2".ljust(MOST_CHARACTERS)
    assert formula_lines(most) == ["x²"] and formula_lines(f"{most}\ny") == [most, "y"]


def test_show_has_the_formula_as_text_and_json_as_it_is():
    shown = run("show", "Gelu")
    assert "(x/2) (1 + erf(x/√2))" in shown.stdout and "\\frac" not in shown.stdout
    assert "\\\\frac" in run("show", "Gelu", "--format", "json").stdout
