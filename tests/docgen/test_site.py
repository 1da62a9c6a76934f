"""The site is valid HTML, all links lead somewhere, it asks nothing of a network, and says what the registry says."""

import html
import json
import posixpath
import re
from urllib.parse import unquote

import html5lib
import pytest

from judges.conformance.coverage import distinguished
from opset.catalog import brief_type
from opset.docgen import documentation
from opset.docgen.index_pages import TAGS
from opset.docgen.paths import Paths, tag_anchor
from opset.errors import CODES
from opset.file_names import slug, unique_slugs
from opset.opsets.registry import default_registry, registry_with
from tests.bounds import THOROUGH
from tests.docgen.domains import operator, write

REGISTRY = default_registry()
SHARES = 8
"""Parts of the pages, so that processes share the work of reading them."""
HREF = re.compile(rb'\b(?:href|src|action)="([^"]*)"')
TAG = re.compile(rb"<([a-z][\w-]*)([^>]*)>")
ATTRIBUTE = re.compile(rb"([\w-]+)=")
CLASS = re.compile(rb'class="([^"]*)"')
ID = re.compile(rb'\sid="([^"]*)"')


def html_pages(site):
    return sorted(path for path in site if path.endswith(".html"))


def text_of(site, path):
    return site[path].decode()


def operator_pages(site):
    """Yield the name, domain and page of every operator."""
    paths = Paths(REGISTRY, REGISTRY.domains)
    for domain in REGISTRY.domains:
        for name in REGISTRY.operators(domain):
            yield name, domain, text_of(site, paths.operator(name, domain))


def elements(page):
    """Yield each start of an element with the names of its attributes and classes, and the element before it."""
    before = ""
    for name, attributes in TAG.findall(page):
        classes = CLASS.search(attributes)
        each = name, *sorted(ATTRIBUTE.findall(attributes)), classes[1] if classes else b""
        yield before, each
        before = name


@pytest.fixture(scope="module")
def different(site):
    """The pages that have an element, or one after another, that none before has; all pages if all are asked for."""
    pages = html_pages(site)
    return pages if THOROUGH else [*distinguished(pages, lambda path: elements(site[path]))]


@pytest.mark.parametrize("share", range(SHARES))
def test_every_page_is_valid_html(written, different, share):
    for path in different[share::SHARES]:
        parser = html5lib.HTMLParser(strict=True)
        parser.parse(written[path].decode())


def test_every_link_leads_to_a_page_and_an_anchor(site):
    anchors = {path: {*map(bytes.decode, ID.findall(site[path]))} for path in html_pages(site)}
    broken = []
    for path in html_pages(site):
        for target in {*map(bytes.decode, HREF.findall(site[path]))}:
            if re.match(r"https?:|mailto:", target):
                continue
            file, _, anchor = target.replace("&amp;", "&").partition("#")
            file = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(file))) if file else path
            if file not in site or (anchor and anchor not in anchors.get(file, ())):
                broken.append((path, target))
    assert broken == []


def test_every_page_has_a_description_of_its_own(site):
    found = {
        path: re.search(r'<meta name="description" content="([^"]+)">', text_of(site, path))
        for path in html_pages(site)
    }
    assert [path for path, each in found.items() if each is None or not 20 < len(each[1]) < 400] == []
    texts = [each[1] for each in found.values()]
    assert len(set(texts)) > 0.99 * len(texts)


def test_wide_things_scroll_with_a_sign_and_counts_agree(site):
    """Every table scrolls in its place, whose style shows that it goes on; "1 operators" stands nowhere."""
    for path in html_pages(site):
        text = text_of(site, path)
        for before in text.split("<table")[:-1]:
            assert re.search(r'<div class="(?:scroll|table)"[^>]*>\s*$', before), path
        assert not re.search(r"(?<![\w.,-])1 (?:operators|versions|releases|examples|findings)\b", text), path
    style = text_of(site, "assets/style.css")
    assert (
        "--more: linear-gradient" in style
        and ".prose .table { overflow-x: auto; max-width: 100%; background: var(--more)" in style
    )


def test_fences_around_cases_stretch(site):
    braces = [
        row for _, _, text in operator_pages(site) for row in re.findall(r"<mrow><mo([^>]*)>\{</mo><mtable", text)
    ]
    assert len(braces) > 50 and all('stretchy="true"' in each for each in braces)


def test_every_tag_leads_to_what_it_means(site):
    """The tags of operators, versions, constraints, special cases: words that the page of tags explains."""
    tags = text_of(site, "tags.html")
    for name, _, text in operator_pages(site):
        assert re.findall(r'<h[123][^>]*>[^<]*<span class="badge"', text) == [], name
        for word in re.findall(r'class="status (\w+)"|<small>(static|run time)</small>', text):
            assert f">{''.join(word)}<" in tags, (name, word)
    assert 'Version 22 <a class="badge" href="../tags.html#function">function</a>' in text_of(site, "ai.onnx/Elu.html")


@pytest.mark.parametrize("tag", ["determinism unknown", "types unknown", "signature unknown"])
def test_tags_of_what_is_unknown_share_an_explanation(tag):
    assert tag_anchor(tag) == "unknown" and "unknown" in TAGS


def test_what_the_search_finds_is_there(site):
    index = json.loads(site["assets/index.js"].decode().partition("=")[2].rstrip(";\n"))
    hrefs = [each[3] for each in index["operators"]] + [each[1] for each in index["pages"]]
    for href in hrefs:
        path, _, anchor = href.partition("#")
        assert path in site and (not anchor or f'id="{anchor}"'.encode() in site[path]), href
    assert {path for path in html_pages(site) if path.startswith("ai.onnx")} <= {*hrefs}


def test_no_anchor_is_duplicate(site):
    for path in html_pages(site):
        found = ID.findall(site[path])
        assert len(found) == len(set(found)), path


def test_nothing_is_fetched_from_elsewhere(site):
    for path in html_pages(site):
        text = text_of(site, path)
        assert not re.search(r'<(?:script|link|img|iframe|source)[^>]*(?:src|href)="(?:https?:)?//', text), path
        assert not re.search(r"<[a-z][^<>]*\s(?:on\w+|style)=|javascript:|<style", text), path
    assert b"@import" not in site["assets/style.css"] and b"url(" not in site["assets/style.css"]


def test_a_version_of_an_operator_has_exactly_its_parameters_in_order(site):
    for name, domain, text in operator_pages(site):
        for schema in REGISTRY.versions(name, domain):
            anchor = f"v{schema.since_version}"
            section = text.partition(f'id="{anchor}"')[2].partition("</section>")[0]
            wanted = [(f"attr-{slug(each.name)}", each.type) for each in schema.attributes.values()]
            for side, parameters in (("in", schema.inputs), ("out", schema.outputs)):
                wanted += [(f"{side}-{slug(each.name)}", brief_type(each.type)) for each in parameters]
            wanted += [(f"type-{each}", REGISTRY.phrase(types)) for each, types in schema.types.items()]
            wanted += [(each, None) for each in REGISTRY.documentation(schema).constraints]
            found = re.findall(rf'<div id="{anchor}-([^"]+)">.*?<small>([^<]*)</small>', section, re.DOTALL)
            said = [html.unescape(fact).partition(" = ")[0] for _, fact in found]
            assert [label for label, _ in found] == [label for label, _ in wanted], (name, anchor)
            assert [fact for fact, (_, kind) in zip(said, wanted, strict=True) if kind is not None] == [
                kind for _, kind in wanted if kind is not None
            ], (name, anchor)


def test_every_code_has_a_page(site):
    assert {f"errors/{code}.html" for code in CODES} <= site.keys()


def test_pages_stay_small(written):
    assert sum(map(len, written.values())) <= 12_200_000
    assert max(len(written[path]) for path in html_pages(written)) <= 250_000


def test_an_index_by_opset_says_what_is_new_changed_and_withdrawn(site):
    text = text_of(site, "opsets/ai.onnx-13.html")
    assert "Softmax.html#v13" in text and "11 → 13" in text
    assert "Scatter.html#v11" in text_of(site, "opsets/ai.onnx-11.html").partition("Withdrawn")[2]
    assert "Gelu.html#v20" in text_of(site, "opsets/ai.onnx-20.html").partition(">New<")[2].partition("Changed")[0]


def test_an_index_by_type(site):
    text = text_of(site, "types/int4.html")
    assert "../ai.onnx/Cast.html" in text and "../ai.onnx/Relu.html" not in text


def test_the_table_of_conversions_names_steps_codes_and_operators(site):
    text = text_of(site, "ai.onnx/Softmax.html")
    assert 'id="convert-13-11"' in text and "../errors/C202.html" in text and "Transpose.html" in text
    gelu = text_of(site, "ai.onnx/Gelu.html")
    assert "Expressed by" in gelu and "Erf.html" in gelu
    assert "came with version 20" in text_of(site, "ai.onnx/ImageDecoder.html")


def test_differences_stand_once_and_lead_to_what_changed_in_meaning(site):
    text = text_of(site, "ai.onnx/Softmax.html")
    said = text.partition('id="diff-1-13"')[2].partition("</div>")[0]
    assert "default 1 -&gt; -1" in said and "+bfloat16" in said and 'id="diff-13-1"' not in text
    assert re.findall(r'href="#v(\d+)-change"', said) == ["11", "13"]
    assert 'class="meaning"' in text.partition('id="v13-change"')[2].partition("</div>")[0]


def test_defaults_are_those_of_the_standard(site):
    """Every default is on the page of its operator, neither lost nor escaped twice."""
    for name, domain, text in operator_pages(site):
        for schema in REGISTRY.versions(name, domain):
            for each in schema.attributes.values():
                entry = text.partition(f'id="v{schema.since_version}-attr-{slug(each.name)}"')[2]
                fact = re.search(r"<small>([^<]*)</small>", entry)[1]
                default = html.unescape(fact).partition(" = ")[2]
                if each.default is None:
                    assert default == ""
                elif isinstance(each.default, float):
                    assert float(default) == pytest.approx(each.default, rel=1e-7)
                else:
                    wanted = [*each.default] if isinstance(each.default, tuple) else each.default
                    assert json.loads(default) == wanted


def test_examples_are_all_there_with_computed_values(site):
    for name, domain, text in operator_pages(site):
        assert text.count('class="example"') == len(REGISTRY.examples(name, domain)), name
    assert "[[0.09003" in text_of(site, "ai.onnx/Softmax.html")


def test_a_page_says_what_the_site_was_made_of(site):
    assert f"from the declarations of {len([*operator_pages(site)])} operators." in text_of(site, "index.html")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Softmax", "Softmax"), ("a/b", "a~2fb"), ("..", "_.._"), ("con", "_con_"), ("", "__"), (".x", "_.x_"),
        ("<b>", "~3cb~3e"), ("a.b.c", "a.b.c"), ("x.", "_x._"), ("é", "~e9"),
    ],
)  # fmt: skip
def test_a_name_becomes_a_part_of_a_path(name, expected):
    assert slug(name) == expected


def test_names_that_file_systems_confuse_are_told_apart():
    found = unique_slugs(["If", "IF", "if", "index", "a" * 300, "a" * 301], ("index",))
    assert len({each.lower() for each in found.values()}) == 6
    assert found["If"] == "If" and found["index"] == "index-2"
    assert max(map(len, found.values())) <= 82


@pytest.mark.parametrize(("form", "first"), [("html", 3), ("markdown", 1), ("json", 1)])
def test_progress_counts_all_that_is_made(form, first, tmp_path):
    registry = registry_with([write(tmp_path, "com.acme", operator(), operator("Other"), operator("Third"))])
    calls = []
    made = dict(documentation(registry, form, ["com.acme"], lambda done, total: calls.append((done, total))))
    total = len(html_pages(made)) if form == "html" else 3
    assert calls == [(done, total) for done in range(first, total + 1)]


def test_progress_counts_the_pages_of_runtimes_too(written, progress):
    total = len(html_pages(written))
    assert progress == [(done, total) for done in range(3, total + 1)]
