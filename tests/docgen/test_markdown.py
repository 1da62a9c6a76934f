"""The Markdown form: what a page says, links and anchors, and that text of a registry is inert."""

import itertools
import re
from random import Random
from types import SimpleNamespace
from urllib.parse import unquote

import pytest
from markdown_it import MarkdownIt

from opset.catalog import default_text
from opset.docgen import documentation, markdown
from opset.docgen.prose import code_span, escape, fence, phrase, prose
from opset.opsets.registry import default_registry, registry_with
from tests.docgen import domains

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def tokens(text):
    """All tokens of Markdown, with those of its lines."""
    for token in PARSER.parse(text):
        yield token
        yield from token.children or ()


def inert(text):
    """Assert that text has no HTML, no image, and no link but to files of the documentation."""
    for token in tokens(text):
        assert token.type not in ("html_block", "html_inline", "image", "s_open"), token
        if token.type == "link_open":
            assert re.fullmatch(r"[\w.~-]*(\.md)?(#[\w%.-]*)?", token.attrGet("href")), token
    assert text.replace("\n", "").isprintable()
    return True


def heard(text):
    """The text that a reader of Markdown sees, without white space."""
    return re.sub(r"\s", "", "".join(each.content for each in tokens(text) if each.type in ("text", "code_inline")))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    registry = registry_with([domains.hostile(tmp_path_factory.mktemp("schemas"))])
    chosen = [each for each in registry.domains if not registry.is_standard(registry.operators(each)[0], each)]
    return dict(documentation(registry, "markdown", chosen))


@pytest.fixture(scope="module")
def training():
    return dict(documentation(default_registry(), "markdown", ["ai.onnx.preview.training"]))


@pytest.mark.parametrize("text", domains.HOSTILE)
def test_hostile_prose_is_inert(text):
    for lines in (
        prose(text),
        [phrase(text)],
        [escape(text)],
        [f"x {escape(text)} y"],
        [f"- {phrase(text)}: {code_span(text)}"],
    ):
        assert inert("\n".join(lines))
    assert inert(f"{code_span(text)}\n\n" + "\n".join(fence(text, "math")))
    assert [each.type for each in PARSER.parse("\n".join(fence(text)))] == ["fence"]
    assert [each.type for each in PARSER.parse(escape(text))][::2] in ([], ["paragraph_open", "paragraph_close"])


MARKS = r"` `` ``` ~ ~~ ~~~ * ** _ [ ] ( ) < > ! ![ & # | \ - + = === 1. : $"
WORDS = "a x1 _a_ <b> <!-- &lt; [a](b) <a@b.c> // http://a.b"
PIECES = [*MARKS.split(), *WORDS.split(), " ", "    ", "\n", "\n\n", "\t", "- ", "> ", "# ", "|-|-|"]


def test_random_text_is_inert_and_read_as_it_is():
    random = Random(1)
    for _ in range(150):
        text = "".join(random.choices(PIECES, k=12))
        assert inert("\n".join(prose(text))) and inert(f"- {phrase(text)}"), text
        for before in ("", "## ", "- x: "):
            written = before + escape(text)
            assert inert(written) and heard(written) == re.sub(r"\s", "", before.strip("# -") + text), text


def test_hostile_domains_are_inert(hostile):
    for text in hostile.values():
        assert inert(text.decode())
    assert len([*headings(hostile["Com.Acme.md"].decode())]) == len(domains.NAMES) + 2  # title and contents
    assert b"[Contents](Com.Acme.md#contents-1)" in hostile["changelog-Com.Acme.md"]


def test_names_of_files_do_not_collide(hostile):
    assert hostile.keys() >= {"README.md", "Com.Acme.md", "com.acme-2.md", "_CON_.md", "_..._.md", "_-rf_.md"}
    assert markdown._file_names(["", "a", "changelog-a", "_changelog-a", "readme"]) == {
        "": "ai.onnx",
        "a": "a",
        "changelog-a": "_changelog-a-2",
        "_changelog-a": "_changelog-a",
        "readme": "readme-2",
    }


def headings(text):
    """The headings of a file as a reader sees them."""
    found = PARSER.parse(text)
    for opening, inline in itertools.pairwise(found):
        if opening.type == "heading_open":
            yield "".join(each.content for each in inline.children)


@pytest.mark.parametrize("name", ["hostile", "training"])
def test_links_lead_to_headings(name, request):
    files = {name: text.decode() for name, text in request.getfixturevalue(name).items()}
    anchors = {name: {*markdown._anchors(headings(text)).values()} for name, text in files.items()}
    for name, text in files.items():
        for each in tokens(text):
            if each.type == "link_open":
                file, _, anchor = unquote(each.attrGet("href")).partition("#")
                assert (file or name) in files and (not anchor or anchor in anchors[file or name]), (name, anchor)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("-rank(X) <= axis < rank(X)", "-rank(X) <= axis < rank(X)"),
        ("shape [a, b]", "shape \\[a, b\\]"),
        ("2 * x and (N, *shape)", "2 * x and (N, \\*shape)"),
        ("`a|b` or snake_case", "`a|b` or snake_case"),
        ("*one* **two**", "*one* **two**"),
        ("[text](https://a.org/b)", "text (`https://a.org/b`)"),
        ("<https://a.org>", "https\\://a.org"),
        ("- a", "\\- a"),
        ("``a`b``", "``a`b``"),
        ("a\nb", "a b"),
    ],
)
def test_a_phrase_keeps_code_and_emphasis(text, written):
    assert phrase(text) == written


def test_prose_keeps_its_blocks():
    text = "One\ntwo.\n\n- a\n- b\n\n  c\n\n3. x\n4. y\n\n> q\n\n# Head\n\n```\ncode\n```\n"
    text += "\n| a | b |\n|---|---|\n| `x|y` | 2 |"
    written = "\n".join(prose(text))
    assert [each.type for each in PARSER.parse(written) if each.tag not in ("h1", "p", "strong")] == [
        each.type for each in PARSER.parse(text.replace("# Head", "**Head**")) if each.tag not in ("h1", "p", "strong")
    ]
    assert "3. x" in written and "**Head**" in written and "| a | b |" in written


def test_what_a_page_says(tmp_path):
    registry = registry_with([domains.write(tmp_path, "com.acme", domains.operator(text="says `x`"))])
    files = {name: text.decode() for name, text in documentation(registry, "markdown", ["com.acme"])}
    page = files["com.acme.md"]
    for part in (
        "## Scale\n",
        "com.acme · since 2 · versions 1, 2 · family acme",
        "```math\nsays `x`\n```",
        "**Inputs (1 to 2)**",
        "- `B` (`T`, optional): says `x`",
        "- `alpha` (float; default `1e-05`): says",
        '(string; default `"a"`)',
        "(ints; default `[1, -1]`)",
        "- `T`: `double`, `float`",
        "- C1 (run time): says `x`",
        "**Function body**, for models of opset 14 or later\n\n```\nY = Mul (X, X)\n```",
        "alpha = 0.5\nX: float[2, 2] [[1.5, nan], [2, 3]]\n",
        "-> Y: float[2, 2] [[0.75, inf], [1, 1.5]]",
        "- 1 → 2: input B is new; attribute mode is new (string = a); type T",
        "Clarified: says `x` Conversion up: nothing to do; down: derived from the change.",
    ):
        assert part in page, part
    assert "## 2\n\n**Changed**\n\n- [Scale](com.acme.md#scale): input B" in files["changelog-com.acme.md"]
    assert "## 1\n\n**New**: [Scale](com.acme.md#scale)\n" in files["changelog-com.acme.md"]
    assert "| [com.acme](com.acme.md) | 2 | 1 | [changelog](changelog-com.acme.md) |" in files["README.md"]


TRAINING, UNRELEASED = "ai.onnx.preview.training", "ai.onnx.preview"


@pytest.mark.parametrize(("named", "found"), [([TRAINING], 1), ([TRAINING, UNRELEASED], 1), ([UNRELEASED], 0)])
def test_runtimes_are_read_if_one_of_the_domains_is_released(named, found, monkeypatch):
    read, done = [], []
    chip = SimpleNamespace(runs_of=lambda key: [(0, 0)], releases=["1.0"])
    monkeypatch.setattr(markdown, "facts_of_runtimes", lambda registry: read.append(registry) or {"chip": chip})
    files = dict(markdown.pages(default_registry(), named, lambda *numbers: done.append(numbers)))
    operators = sum(len(default_registry().operators(each)) for each in named)
    assert next(iter(files)) == "README.md" and len(read) == found
    shown = files.get(f"{TRAINING}.md", b"").count(b"\n**Runtimes** that have it: chip")
    assert shown == (len(default_registry().operators(TRAINING)) if found else 0)
    assert done == [(number, operators) for number in range(1, operators + 1)]


def test_a_changelog_names_the_releases_of_a_version(training):
    brought = "**New**: [Adagrad](ai.onnx.preview.training.md#adagrad), "
    text = training["changelog-ai.onnx.preview.training.md"].decode()
    assert re.search(rf"\n\n## 1\n\nonnx 1\.7\.0, 1\.8\.0, [\d., ]+\n\n{re.escape(brought)}", text)


def test_defaults_are_right(training):
    page = training["ai.onnx.preview.training.md"].decode()
    assert "default `1e-06`" in page and "default `0.999`" in page
    assert default_text(9.999999747378752e-06) == "1e-05"
    assert default_text(1.6732632423543772) == "1.6732632423543772"
    assert default_text([-1, "a b", 0.5]) == '[-1, "a b", 0.5]'


def test_types_are_grouped_and_graphs_keep_their_lines():
    registry = default_registry()
    page = "\n".join(markdown.operator_section(registry, "", "Loop"))
    assert "`string`, `uint16`" in page and "; `seq(tensor(…))` of `bfloat16`" in page and "`tensor(" not in page
    assert "\nbody = body (int64 i, bool go" in page and "\n  y = Add (x, x)\n" in page
    assert "cond: bool[] true\n" in page
    assert markdown._types_text(["tensor(int8)", "seq(map(string, float))"]) == "`int8`, `seq(map(string, float))`"
    assert "one of `T2`; C3" in "\n".join(markdown.operator_section(registry, "", "Cast"))


def test_examples_are_those_of_the_version_and_none_ends_the_list():
    registry = default_registry()
    several = 0
    for name in registry.operators(""):
        newest = registry.versions(name)[-1].since_version
        examples = [each for each in registry.examples(name) if each.outputs]
        text = "\n".join(markdown.operator_section(registry, "", name))
        _, _, shown = text.partition("**Examples**")
        holding = [each.name for each in examples if each.since <= newest and not (each.until and each.until < newest)]
        names = re.findall(r"^`(\w+)`(?::.*)?(?: \((?:stated|chosen): .*\))?$", shown, re.MULTILINE)
        assert names == holding[: markdown.EXAMPLES], name
        several += len(holding) < len(examples)
    assert several > 20  # operators with examples of older versions


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", ""),
        ("a  \nb", "a/b"),
        ("# A *b*\nc", "**A *b***//c"),
        ("***b* c**", "***b* c**"),
        ("> a", "> a/>"),
        ("> a\n\nb", "> a/>/b"),
        ("> ", ">"),
        ("> # H\n> p", "> **H**/>/> p/>"),
        ("> - a\n> - b\n\nc", "> - a/> - b/>/c"),
        ("- > a\n  >\n  > b", "- > a/  >/  > b/  >"),
        ("- a\n- b\n\nc", "- a/- b//c"),
        ("- a\n\n  b\n- c\n", "- a//  b//- c"),
        ("- \n- b", "-//- b"),
        ("1. a\n   - b\n   - c\n2. d", "1. a/   - b/   - c//2. d"),
        ("7) b\n8) c", "7. b/8. c"),
        ("- a\n\n\n- b\n\n1. c\n\n1. d", "- a//- b//1. c//2. d"),
        ("- ```\n  code\n  ```\n- x", "- ```/  code/  ```//- x"),
        ("x\n\n    - a", "x//```/- a/```"),
        ("a\n***\nb", "a//b"),
        ("| a | b |\n|---|---|\n| x\\|y | `p` |\n| 1 | |\n\nc", "| a | b |/| --- | --- |/| x\\|y | `p` |/| 1 |  |//c"),
        ("![alt](src) [a](b) [b](b)", "alt (`src`) a (`b`) b"),
    ],
)
def test_prose_is_written_line_by_line(text, lines):
    assert "/".join(prose(text)) == lines


@pytest.mark.parametrize(
    "shown",
    [
        "a \\*b", "a * b", "2\\*3", "\\_a", "a\\_", "\\<b", "< b", "<=", "<3", "\\&lt;", "& a", "\\&#1;", "!a",
        "\\!\\[", "\\# a", "a # b", "a \\#", "a \\##", "http\\://x", "x: y", "www\\.a", "awww.a", "a\\~b",
        "a\\|b", "\\$", "\\`", "\\- a", "-a", "\\+ a", "\\* a", "\\###### a", "####### a", "\\> a", "\\===",
        "= =", "\\---", "1\\. a", "1\\) a", "1.a", "123456789\\. a", "1234567890. a", "12\\.",
    ],
)  # fmt: skip
def test_only_what_has_a_meaning_is_escaped(shown):
    assert escape(re.sub(r"\\(.)", r"\1", shown)) == shown


def test_code_has_as_many_ticks_as_it_needs():
    assert [code_span(each) for each in ("a", "`a", "a`", "``", " a ", " a", "a``b", "", " ", "a\nb")] == [
        "`a`", "`` `a ``", "`` a` ``", "``` `` ```", "`  a  `", "` a`", "```a``b```", "", "", "`a b`",
    ]  # fmt: skip
    assert fence("a\n\nb\n\n") == ["```", "a", "", "b", "```"] and fence("~~~", "x") == ["```x", "~~~", "```"]
    assert fence("```")[::2] == ["````"] * 2 and fence("a ````b")[::2] == ["`````"] * 2
