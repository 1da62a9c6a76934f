"""Text of a domain that somebody else wrote is inert in every form of the documentation."""

import html5lib
import pytest
import yaml
from markdown_it import MarkdownIt

from opset.docgen import documentation
from opset.opsets.registry import registry_with

DOMAIN = "com.<script>alert(0)"
BIDI, ESCAPE = "\u202e", "\x1b[31m"
VERSION = {
    "since": 1,
    "doc": f"<script>alert(1)</script> {{{{ 7*7 }}}} [x](javascript:alert(2)) <img src=x onerror=alert(3)> {BIDI}",
    "formula": r"\\href{javascript:alert(4)}{x} </math><script>alert(5)</script>",
    "counterparts": {"<b>numpy</b>": "`</code><script>alert(7)</script>`"},
    "inputs": [{"name": '"><script>alert(8)</script>', "type": "tensor(float)", "doc": f"{ESCAPE} red {BIDI}"}],
    "outputs": [{"name": "Y' onmouseover='alert(9)", "type": "T", "doc": "<svg onload=alert(10)>"}],
    "attributes": {'a" onclick="x': {"type": "string", "default": f"</pre><script>x()</script>{BIDI}", "doc": "</p>"}},
    "types": {"T": ["tensor(float)"]},
    "constraints": {"C1": "</dl><script>alert(12)</script> | a | b |"},
}
CASE = f"</li><script>alert(6)</script> &lt; {{% raw %}} ``` ![y](http://evil.example/z.png) {ESCAPE}"
EXAMPLE = {
    "name": "shown",
    "since": 1,
    "doc": "<script>",
    "inputs": [{"float": [1]}],
    "outputs": [{"float": [1]}],
}


@pytest.fixture(scope="module")
def registry(tmp_path_factory):
    folder = tmp_path_factory.mktemp("schemas") / DOMAIN
    folder.mkdir()
    evil = {"operator": "Evil", "family": "<i>family</i>", "versions": [VERSION]}
    evil["implementations"] = {
        "<script>x()</script>": [{"text": CASE, "tested": "<b>1</b>"}],
        "opset": [{"text": CASE}],
    }
    evil |= {"special_cases": [CASE], "examples": [EXAMPLE]}
    (folder / "Evil.yaml").write_text(yaml.safe_dump(evil), encoding="utf-8")
    return registry_with([folder.parent])


@pytest.mark.parametrize("form", ["html", "markdown", "json"])
def test_no_file_has_control_or_bidirectional_characters_or_a_bad_name(registry, form):
    found = dict(documentation(registry, form, [DOMAIN]))
    assert found
    for path, content in found.items():
        text = content.decode()
        assert not {BIDI, "\x1b", "\0"} & {*text}, path
        assert not any(part.startswith(".") or {*part} & {*'<>"\\'} for part in path.split("/")), path


def test_pages_have_no_scripts_handlers_or_links_of_the_domain(registry):
    found = dict(documentation(registry, "html", [DOMAIN]))
    assert any(path.endswith("/Evil.html") for path in found)
    for path, content in found.items():
        if not path.endswith(".html"):
            continue
        tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(content.decode())
        for element in tree.iter():
            assert not [name for name in element.attrib if str(name).startswith("on")]
            assert not element.get("href", "").startswith("javascript:")
            assert "evil.example" not in element.get("href", "") + element.get("src", "")
            if element.tag == "script":
                root = "../" * path.count("/")
                assert element.get("src") in (f"{root}assets/site.js", f"{root}assets/search.js")
    evil = next(content.decode() for path, content in found.items() if path.endswith("/Evil.html"))
    assert "{{ 7*7 }}" in evil and "&lt;script&gt;alert(1)" in evil and "\\u202e" in evil


def test_markdown_has_no_html_links_or_images_of_the_domain(registry):
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    for content in dict(documentation(registry, "markdown", [DOMAIN])).values():
        pending = parser.parse(content.decode())
        while pending:
            token = pending.pop()
            pending += token.children or ()
            assert token.type not in ("html_block", "html_inline", "image") or "<a id=" in token.content
            assert "evil.example" not in str(token.attrs) and "javascript" not in str(token.attrs)
