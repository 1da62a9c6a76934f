"""Prose and formulas as HTML: what Markdown may say, how formulas look, and that hostile text is inert."""

import html5lib
import pytest

from opset.docgen import markup as text
from opset.opsets.registry import default_registry

HOSTILE = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[a](javascript:alert(1))", "![a](javascript:b)",
    "[a](JaVaScRiPt:b)", "[a](&#106;avascript:b)", "[a](data:text/html,x)", "[a](//example.org)", "<javascript:b>",
    "```<script>\n</code></pre><script>\n```", '[a](b "<script>")', "a\x1b[31mb\u202ec\x00d\u2028e\x85f",
    "&lt;&#x202e;", "{{ 1 }} {% x %}", "| a |\n| - |\n| <b onclick=x> |", "# <i>", "</p></div>", "`</code>`",
    "[x]: javascript:a\n[x]", "<https://example.org/%E2%80%AE>", "\ud800", "***", "[" * 500, "> " * 500, "* " * 300,
    "`" * 999, "\\" * 99, r"\href{javascript:alert(1)}{x}", r"\text{<script>alert(1)</script>}",
    r"\text{&lt;script&gt;}", "</annotation><script>", r"\newcommand{\a}{\a\a}\a", r"\def\a{\a}\a", r"\color{red}x",
    r"\unicode{x202e}", r"\unicode{x3c}script", r"\style{}{}", "{" * 5000, "{" * 1900, "x^" * 300, r"\frac{" * 300,
    r"\left(" * 300, r"\begin{matrix}" * 100, r"\hspace{1em" + '"onload="x}', r"\rule{9em}{9em}", r"\class{a}{b}",
    r"\cssId{a}{b}", r"\bbox[red]{x}", r"\require{x}", "x \ud800", "\\", "{", "}", "",
]  # fmt: skip
TAGS = (
    set(
        "html head body title p a em strong code pre span ul ol li table thead tbody tr th td div blockquote hr br "
        "h1 h2 h3 h4 h5 h6 math semantics annotation".split()
    )
    | text._ELEMENTS
)
NAMES = {"href", "class", "id", "tabindex", "start", "display", "encoding", *text._ATTRIBUTES}


def parsed(fragment):
    """The elements of HTML that a strict parser accepts."""
    parser = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False)
    return parser.parse(f"<!doctype html><html><head><title>t</title></head><body>{fragment}</body></html>").iter()


def inert(fragment):
    assert fragment.replace("\n", "").replace("\xa0", "").isprintable()
    for element in parsed(fragment):
        assert element.tag.rpartition("}")[2] in TAGS
        assert {name.rpartition("}")[2] if isinstance(name, str) else name for name in element.attrib} <= NAMES
        assert not str(element.get("href", "")).lower().startswith(("javascript:", "data:", "//"))
    return True


@pytest.mark.parametrize("render", [text.html, text.inline, text.formula], ids=lambda render: render.__name__)
def test_hostile_text_is_inert(render):
    for each in HOSTILE:
        assert inert(render(each)), each
        assert render is not text.inline or inert(f"<p>{render(each)}</p>")


def test_a_page_of_hostile_text_is_inert():
    assert inert(text.html("\n\n".join(HOSTILE), str.upper, page=True))


@pytest.mark.parametrize(
    ("phrase", "shown"),
    [
        ("`axis` is *one*", "<code>axis</code> is <em>one</em>"),
        ("M*N*K, M**N**K and a_b_c", "M*N*K, M**N**K and a_b_c"),
        ("C * blocksize ** 2, (N, *image_shape)", "C * blocksize ** 2, (N, *image_shape)"),
        ("0 <= a < b && c", "0 &lt;= a &lt; b &amp;&amp; c"),
        ("shape(W)[2:]", "shape(W)[2:]"),
        ("[a](b.html#c)", '<a href="b.html#c">a</a>'),
        ("[a](javascript:b)", "[a](javascript:b)"),
        ("![a *b*](c.png)", "a b"),
        ("a\x1bb\u202ec", r"a\x1bb\u202ec"),
        ("&amp; &#8238;", "&amp;amp; &amp;#8238;"),
    ],
)
def test_phrases(phrase, shown):
    assert text.inline(phrase).replace("&quot;", '"') == shown


def test_links_are_resolved():
    def resolve(target):
        return target.replace(".md", ".html")

    assert text.html("[a](b.md#c)", resolve) == '<p><a href="b.html#c">a</a></p>\n'


def test_headings_of_a_page_have_the_ids_that_links_use():
    page = text.html("# Softmax, `axis` & more\n## A\n## A\n## A_b-c 1.5", page=True)
    assert [element.get("id") for element in parsed(page) if element.get("id")] == [
        "softmax-axis--more",
        "a",
        "a-1",
        "a_b-c-15",
    ]
    page = text.html("# A\n## A-1\n## A\n## A", page=True)  # as GitHub's are
    assert [element.get("id") for element in parsed(page) if element.get("id")] == ["a", "a-1", "a-2", "a-3"]
    (heading,) = [each.get("id") for each in parsed(text.html("# ![it](a.png) B `c` *d*", page=True)) if each.get("id")]
    assert heading == "b-c-d"  # as on GitHub, without the words for a picture
    assert text.html("# A") == '<p class="heading">A</p>\n'


def test_tables_and_code_may_be_wider_than_the_page():
    shown = text.html("| a | b |\n|--:|---|\n| 1 | 2 |\n\n```yaml m.onnxtxt\ny = Add (a, b)\n```")
    assert '<div class="table"><table>' in shown and '<th class="right">a</th>' in shown
    assert '<p class="file"><code>m.onnxtxt</code></p>' in shown and '<pre class="code onnx">' in shown


def formulas():
    registry = default_registry()
    for domain in registry.domains:
        for operator in registry.operators(domain):
            for schema in registry.versions(operator, domain):
                yield registry.documentation(schema).formula


def test_every_formula_of_the_standard_is_drawn():
    distinct = sorted({*formulas()} - {""})
    assert len(distinct) > 150
    shown = [text.formula(each) for each in distinct]
    assert [each for each, drawn in zip(distinct, shown, strict=True) if "<math" not in drawn] == []
    assert inert("".join(shown[::20]))


def drawn(latex):
    return text.formula(latex).partition("<semantics>")[2].partition("<annotation")[0]


def test_formulas():
    assert drawn(r"\mathrm{num\_heads}") == "<mrow><mrow><mi>num_heads</mi></mrow></mrow>"
    assert '<mo lspace="0em" rspace="0.167em">cos</mo><mi>x</mi>' in drawn(r"\cos x")
    assert "<munder>" in drawn(r"\frac{\sum_i x}{2}")
    assert drawn(r"a \\ b").count("<mtr>") == 2 == drawn("a\n\nb").count("<mtr>")
    aligned = drawn(r"\begin{aligned} a &= b \\ c &= d \end{aligned}")
    assert aligned.startswith(
        '<mrow><mtable displaystyle="true" class="align"><mtr><mtd class="right"><mi>a</mi></mtd>'
    )
    assert text.formula("a < b").endswith('"application/x-tex">a &lt; b</annotation></semantics></math></div>')
    assert text.formula(r"\nocommand x") == r'<pre class="formula">\nocommand x</pre>'


BAR = '<mo stretchy="false" lspace="0em" rspace="0em">|</mo>'
OPEN, CLOSE = '<mo stretchy="false">(</mo>', '<mo stretchy="false">)</mo>'
MINUS, SIGN = "<mo>\u2212</mo>", '<mo form="prefix">\u2212</mo>'


@pytest.mark.parametrize(
    ("latex", "parts"),
    [
        ("a | b", ["<mi>a</mi>", BAR, "<mi>b</mi>"]),
        (r"\text{|} a", ["<mtext>|</mtext>", "<mi>a</mi>"]),
        ("a - b", ["<mi>a</mi>", MINUS, "<mi>b</mi>"]),
        ("-a", [SIGN, "<mi>a</mi>"]),
        (r"\text{-} a", ["<mtext>-</mtext>", "<mi>a</mi>"]),
        ("(-a) - b", [OPEN, SIGN, "<mi>a</mi>", CLOSE, MINUS, "<mi>b</mi>"]),
        ("a = -b", ["<mi>a</mi>", "<mo>=</mo>", SIGN, "<mi>b</mi>"]),
        ("a, -b", ["<mi>a</mi>", "<mo>,</mo>", SIGN, "<mi>b</mi>"]),
    ],
)
def test_signs_and_bars_are_spaced_by_what_is_beside_them(latex, parts):
    assert drawn(latex) == f"<mrow>{''.join(parts)}</mrow>"


def test_a_formula_that_defines_macros_or_is_very_long_is_its_source():
    for source in (r"\newcommand{\a}{x}\a", "x" * (text.LONGEST_FORMULA + 1)):
        assert text.formula(source) == f'<pre class="formula">{source}</pre>'
    assert "<math" in text.formula("x" * text.LONGEST_FORMULA)


def test_sections_have_the_words_of_a_page_without_its_marks():
    page = "# T\nof *two*\nlines\n\n## A `b`\n- [c](d.md)\n- e\n\n| f | g |\n|---|---|\n| h | i |\n"
    page += "\n```\nj = k\n```\n    l\n"
    assert [*text.sections(page)] == [("", "", "of two lines\n"), ("A b", "a-b", "c\ne\nf g h i\nj = k\nl\n")]


def test_cells_have_no_styles_and_empty_ones_are_no_headings():
    found = text.html("| a | |\n|--:|---|\n| b | c |\n", lambda target: target)
    assert "style" not in found and '<th class="right">a</th>' in found and "<td></td>" in found


def test_long_prose_is_plain():
    long = "`a` *b* " * 2000
    assert text.html(long) == f"<p>{long}</p>\n" and text.inline(long) == long
    assert "<em>" in text.html(long, page=True)


def test_the_reader_shows_markup_as_text_whoever_asks_first():
    read = text.reader.__wrapped__()
    shown = read.render("<b> &lt; <!-- x --> [a](javascript:b) [c](d)\n\n[e]: f\n\n<p>\n\n|g|\n|-|\n")
    for part in (
        "&lt;b&gt; &amp;lt; &lt;!-- x --&gt; [a](javascript:b)",
        "<p>[e]: f</p>",
        "<p>&lt;p&gt;</p>",
        "<th>g</th>",
    ):
        assert part in shown, shown
