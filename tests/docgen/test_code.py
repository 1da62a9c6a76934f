"""Code as HTML: tokens of ONNX text, links to operators, colours that can be read, hostile text."""

import re

import pytest
from pygments.token import Name

from opset.docgen import code
from tests.docgen.accessibility import contrast

BODY = """axis = Constant <value_int: int = @axis> ()
y = ReduceMax <keepdims: int = 1, names = ["a", "b"]> (input, axes)  # the greatest
[last] z = com.example.Scale:v2 <factor = 2.5, t: tensor = double {0.5}> (y, "")
w = If (c) <then_branch: graph = g () => (float[N] a) { a = Neg (y) }>"""


def tokens(text):
    return [(str(kind), value) for kind, value in code.OnnxLexer().get_tokens(text) if not value.isspace()]


def test_tokens_of_onnx_text():
    found = tokens(BODY)
    assert [value for kind, value in found if kind == str(Name.Function)] == [
        "Constant",
        "ReduceMax",
        "com.example.Scale",
        "If",
        "Neg",
    ]
    assert [value for kind, value in found if kind == str(Name.Attribute)] == [
        "value_int",
        "keepdims",
        "names",
        "factor",
        "t",
        "then_branch",
    ]
    kinds = [value for kind, value in found if kind == "Token.Keyword.Type"]
    assert kinds == ["int", "int", "tensor", "double", "graph", "float"]
    assert ("Token.Name.Variable.Instance", "@axis") in found and ("Token.Comment", "# the greatest") in found


def test_a_text_without_an_end_is_read_once():
    kinds = [kind for kind, _ in tokens('y = A <s = "' + '\\"' * 9000)]
    assert kinds[-1] == "Token.Literal.String" and len(kinds) < 9


def test_a_version_in_a_command_has_one_color():
    shown = code.highlight("$ opset convert m.onnx --for onnxruntime==1.17 --to 21", "console")
    assert "></span>" not in code.highlight("$ ls\n\n\nout\n# one\n\n$ ls", "console")
    assert "1.17 --to 21" in shown and '<span class="n">21</span>' in code.highlight("x = 21", "python")


def test_a_tab_is_four_columns_and_a_long_text_has_no_colors(monkeypatch):
    assert "<code>a   b   é</code>" in code.highlight("a\tb\té")
    monkeypatch.setattr(code, "LONGEST", 6)  # with the line feed at its end
    assert "<span" in code.highlight("x = 1", "python") and "<span" not in code.highlight("xy = 1", "python")


def test_operators_are_links():
    shown = code.highlight("y = Add (a, b)", "onnx", {"Add": "Add.html?a&b", "a": "x"})
    assert '<a class="f" href="Add.html?a&amp;b">Add</a>' in shown and shown.count("<a ") == 1


@pytest.mark.parametrize("language", ["onnx", "python", "console", "yaml", "sh", "json", "toml", "<script>", ""])
def test_the_text_is_kept(language):
    text = f"{BODY}\n$ opset <b>&amp; 'x'\n  x: [1, 2]\x1b\u202e"
    shown = code.highlight(text, language)
    plain = re.sub(r"<[^>]*>", "", shown)
    assert plain == re.sub(r"<[^>]*>", "", code.highlight(text))
    assert "style=" not in shown and "<script" not in shown and "<b>" not in shown and "\x1b" not in shown
    assert r"\x1b\u202e" in plain


def test_colours_can_be_read():
    sheet = code.stylesheet()
    pairs = re.findall(r"light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", sheet)
    for colours, background in zip(zip(*pairs, strict=True), ("#f6f7f9", "#1b1f27"), strict=True):
        assert len(colours) == len(code._COLORS)
        assert min(contrast(each, background) for each in colours) >= 4.5
    assert {name for name in code._CLASSES.values() if name} <= {*code._COLORS}
