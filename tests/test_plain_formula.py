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


def test_show_has_the_formula_as_text_and_json_as_it_is():
    shown = run("show", "Gelu")
    assert "(x/2) (1 + erf(x/√2))" in shown.stdout and "\\frac" not in shown.stdout
    assert "\\\\frac" in run("show", "Gelu", "--format", "json").stdout
