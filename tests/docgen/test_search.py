"""The search of the documentation site, run as the pages run it: pages found by free text, facets compared exactly."""

import json
import re
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import opset
from opset.docgen.guides import guides
from opset.docgen.markup import html
from opset.docgen.paths import Paths
from opset.docgen.search import SYNONYMS, SearchPage, _operator_entry, index_script
from opset.errors import CODES
from opset.explanations import page_of
from opset.opsets.registry import default_registry, registry_with
from opset.opsets.releases import RELEASES
from opset.schemas.names import domain_name
from tests.docgen.v8 import run_scripts

ASSETS = Path(opset.__file__).parent / "docgen" / "assets"
QUERIES = yaml.load((Path(__file__).parent / "queries.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
REGISTRY = default_registry()
# Pages as the site has them, with little text.
PAGES = [
    *(SearchPage(f"{code}: {title}", f"errors/{code}.html", "error", page_of(code)) for code, title in CODES.items()),
    *(
        SearchPage(
            f"{domain_name(domain)} {version}",
            f"opsets/{domain_name(domain)}-{version}.html",
            "opset",
            "operators of an opset",
        )
        for domain, newest in REGISTRY.domains.items()
        for version in range(1, newest + 1)
    ),
    *(SearchPage(f"onnx {each.name}", f"releases.html#{each.name}", "release", f"IR {each.ir}") for each in RELEASES),
    *(SearchPage(name, f"types/{name}.html", "type", "element type") for name in ("bfloat16", "float16", "float")),
    *(
        SearchPage(guide.title, f"guides/{guide.name}.html", "guide", guide.text.partition("\n")[2])
        for guide in guides()[1:]
    ),
]


@contextmanager
def searching(script):
    """A function that returns what a query finds by this index, as the browser would."""
    scripts = [(ASSETS / "minisearch.js").read_text(), script, (ASSETS / "search.js").read_text()]
    with run_scripts(scripts, "opsetSearch") as call:
        yield lambda query, most=10_000: call(query, most)


@pytest.fixture(scope="module")
def search():
    with searching(index_script(REGISTRY, REGISTRY.domains, PAGES)) as find:
        yield find


def test_what_users_type_finds_the_page_among_the_first_three(search):
    missed = {}
    for query, wanted in QUERIES.items():
        names = [item["name"].split(":")[0] for item in search(query, 3)["items"]]
        if not {*wanted.split(", ")} & {*names}:
            missed[query] = names
    assert len(QUERIES) >= 30
    assert not missed


def test_the_exact_name_of_an_operator_is_first(search):
    names = [name for domain in REGISTRY.domains for name in REGISTRY.operators(domain)]
    # The others cannot be mistaken for a longer name.
    within = [name for name in names if any(name in other and name != other for other in names)]
    assert len(within) > 30
    for name in within:
        assert search(name.lower(), 1)["items"][0]["name"] == name


def test_links_to_sections_of_guides_lead_to_headings(search):
    bodies = {guide.name: html(guide.text.partition("\n")[2], page=True) for guide in guides()}
    items = [
        item
        for item in search("opset models conversion", 500)["items"]
        if "#" in item["href"] and item["kind"] == "guide"
    ]
    assert len(items) > 10
    for item in items:
        name, anchor = re.fullmatch(r"guides/(.+)\.html#(.+)", item["href"]).groups()
        assert f' id="{anchor}"' in bodies[name]


# Facets, computed from the schemas themselves.


@cache
def words(schema):
    """Element types in a schema's inputs and outputs, and what tensors are wrapped in."""
    found = set()
    for parameter in (*schema.inputs, *schema.outputs):
        for type_ in schema.allowed_types(parameter):
            found |= {*re.split(r"[(), ]+", type_)} - {"", "tensor"}
    return {"sparse" if each == "sparse_tensor" else each for each in found}


FACETS = {
    "type": lambda schema, value: value in words(schema),
    "attr": lambda schema, value: value in {each.lower() for each in schema.attributes},
    "since": lambda schema, value: schema.since_version == int(value),
    "family": lambda schema, value: schema.family == value,
    "domain": lambda schema, value: value in (domain_name(schema.domain), schema.domain.split(".")[-1]),
    "input": lambda schema, value: value in {each.name.lower() for each in schema.inputs},
    "output": lambda schema, value: value in {each.name.lower() for each in schema.outputs},
    "is": lambda schema, value: schema.deprecated if value == "deprecated" else bool(schema.function),
}
SCHEMAS = [
    (schema, following.since_version if following else REGISTRY.domains[domain] + 1)
    for domain in REGISTRY.domains
    for name in REGISTRY.operators(domain)
    for schema, following in pairwise((*REGISTRY.versions(name, domain), None))
]


def expected(query):
    """Operators with the versions for which every facet of a query holds, by domain and name."""
    found = {}
    for schema, end in SCHEMAS:
        for part in query.split():
            facet, value = part.lstrip("-").split(":")
            holds = schema.since_version <= int(value) < end if facet == "in" else FACETS[facet](schema, value.lower())
            if holds == part.startswith("-"):
                break
        else:
            found.setdefault((domain_name(schema.domain), schema.name), []).insert(0, schema.since_version)
    return found


def found(search, query):
    result = search(query, 10_000)
    assert result["total"] == len(result["items"])
    for item in result["items"]:
        assert item["href"] == f"{item['domain']}/{item['name']}.html#v{item['versions'][0]}"
    return {(item["domain"], item["name"]): item["versions"] for item in result["items"]}


@pytest.mark.parametrize(
    ("query", "some"),
    [
        ("type:bfloat16", True),
        ("type:bfloat16 in:12", False),
        ("type:bfloat16 in:13", True),
        ("attr:axis in:17", True),
        ("attr:axis type:bool in:9", True),
        ("since:13 family:pool", False),
        ("since:11 family:pool", True),
        ("domain:ml", True),
        ("domain:ai.onnx in:5", True),
        ("in:5", True),
        ("domain:training attr:epsilon", True),
        ("type:seq -type:map", True),
        ("type:optional in:15", True),
        ("type:sparse", False),
        ("is:deprecated in:17", True),
        ("is:function type:float8e4m3fn", False),
        ("is:function -type:double in:23", True),
        ("input:W output:Y in:1", True),
        ("attr:axis -attr:axis", False),
        ("in:11 in:12 since:11 attr:mode", True),
        ("TYPE:BFLOAT16 In:017 input:x", True),
    ],
)
def test_facets_find_exactly_the_versions_for_which_all_hold(search, query, some):
    wanted = expected(query.lower())
    assert bool(wanted) == some
    assert found(search, query) == wanted


VALUES = {
    "type": sorted({word for schema, _ in SCHEMAS for word in words(schema)}),
    "attr": sorted({name for schema, _ in SCHEMAS for name in schema.attributes}),
    "in": [*map(str, range(1, max(REGISTRY.domains.values()) + 1))],
    "since": sorted({str(schema.since_version) for schema, _ in SCHEMAS}),
    "family": sorted({schema.family for schema, _ in SCHEMAS}),
    "domain": ["ai.onnx", "ai.onnx.ml", "ml", "preview", "training", "ai.onnx.preview.training"],
    "is": ["deprecated", "function"],
}
PART = st.sampled_from(sorted(VALUES)).flatmap(lambda facet: st.sampled_from(VALUES[facet]).map(f"{facet}:{{}}".format))


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(("", "", "-")), PART).map("".join), min_size=1, max_size=3))
def test_drawn_facets_find_exactly_the_versions_for_which_all_hold(search, parts):
    query = " ".join(parts)
    assert found(search, query) == expected(query)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("tipe:float", "There is no facet tipe:; did you mean type?"),
        ("nonsense:1", "There is no facet nonsense:; there are type, attr, in, "),
        ("attr:axiss softmax", "There is no attr:axiss; did you mean axis?"),
        ("type:float8", "There is no type:float8; did you mean float8e4m3fn, "),
        ("in:99", "There is no in:99; there are 1 to "),
        ("type:float in:", "in: needs a value, an opset: "),
        ("in:17 domain:ml", f"Nothing matches: ai.onnx.ml ends at opset {REGISTRY.domains['ai.onnx.ml']}."),
        ("domain:constructor", "There is no domain:constructor"),
        ("in:12 type:bfloat16 softmax", "Nothing matches both the facets and the words."),
        ("qqqqxxxx", "Nothing matches."),
    ],
)
def test_what_is_wrong_with_a_query_is_said_and_nothing_is_found(search, query, message):
    result = search(query)
    assert result["messages"][0].startswith(message)
    assert result["items"] == []


@pytest.mark.parametrize(
    ("query", "completions"),
    [
        ("ty", ["type:"]),
        ("custom domain", []),
        ("type:bf", ["type:bfloat16 "]),
        ("in:17 -fam", ["in:17 -family:"]),
        ("DOMAIN:ai.onnx.m", ["domain:ai.onnx.ml "]),
        ("type:float16", []),
        ("is:", ["is:deprecated ", "is:function "]),
        ("", []),
    ],
)
def test_the_word_at_the_end_is_completed(search, query, completions):
    assert search(query)["completions"] == completions


def test_other_names_of_an_element_type_mean_the_same(search):
    assert found(search, "type:float32 type:tensor(half)") == expected("type:float type:float16")


def test_facets_and_words_combine_and_choose_the_link(search):
    first = search("attr:axis in:12 soft max", 1)["items"][0]
    assert (first["name"], first["versions"], first["href"]) == ("Softmax", [11], "ai.onnx/Softmax.html#v11")


def test_words_that_were_found_are_marked(search):
    pieces = search("probabilities of classes", 50)["items"]
    softmax = next(item["pieces"] for item in pieces if item["name"] == "Softmax")
    assert [text for text, hit in softmax if hit] == ["probabilities", "classes"]
    assert "".join(text for text, _ in softmax).startswith("Turns the values along one dimension")


def test_at_most_fifty_are_listed_and_all_are_counted(search):
    result = search("type:float")
    assert result["total"] == len(expected("type:float"))
    assert len(search("type:float", 50)["items"]) == 50


HOSTILE = "</script><script>alert(1)</script>{{7*7}}{% x %}[a](javascript:f()) \u202eevil\u2028\x1b[31m\x7f & \"' \\ é"


def test_text_of_a_hostile_domain_is_inert(tmp_path):
    folder = tmp_path / "com.example"
    folder.mkdir()
    operator = {
        "operator": "Wicked",
        "family": "evil",
        "versions": [
            {
                "since": 1,
                "doc": HOSTILE,
                "counterparts": {"torch": f"`torch.{HOSTILE}`"},
                "inputs": [{"name": "__proto__", "type": "T", "doc": HOSTILE}],
                "outputs": [{"name": "constructor", "type": "T", "doc": HOSTILE}],
                "attributes": {"toString": {"type": "int", "doc": HOSTILE}},
                "types": {"T": ["float"]},
            }
        ],
        "special_cases": [HOSTILE],
        "implementations": {"opset": [{"text": HOSTILE}]},
    }
    (folder / "Wicked.yaml").write_text(yaml.safe_dump(operator), encoding="utf-8")
    registry = registry_with([tmp_path])
    script = index_script(registry, ["com.example"], [SearchPage(HOSTILE, "guides/a.html", "guide", HOSTILE)])
    assert script.isascii()
    assert script.rstrip("\n").isprintable()
    assert not set("<>&") & set(script)
    with searching(script) as find:
        for query in ("wicked", "attr:tostring", "input:__proto__ output:constructor", "evil", "{{7*7}}", "\u202e"):
            text = json.dumps(find(query), ensure_ascii=False)
            assert text.isprintable()
            assert bool(find(query)["items"]) == (query != "\u202e")


def test_the_index_is_small_and_the_same_each_time(search):
    script = index_script(REGISTRY, REGISTRY.domains, PAGES)
    assert len(script) < 1_300_000
    assert index_script(REGISTRY, REGISTRY.domains, PAGES) == script


def test_minisearch_has_its_licence_beside_it():
    assert "MiniSearch 7.2.0" in (ASSETS / "minisearch.js").read_text()[:200]
    assert "Permission is hereby granted" in (ASSETS / "minisearch.LICENSE.txt").read_text()


def test_further_words_are_for_operators_of_the_standard():
    registry = default_registry()
    assert [name for name in SYNONYMS if not any(registry.versions(name, each) for each in ("", "ai.onnx.ml"))] == []


def test_calls_of_an_operator_are_those_of_its_page_and_its_synonyms_with_a_dot(monkeypatch):
    monkeypatch.setitem(SYNONYMS, "Relu", "rectifier tf.relu")
    entry = _operator_entry(REGISTRY, REGISTRY.versions("Relu"), Paths(REGISTRY, [""]), {}, {})
    assert entry[3].split() == ["rectifier", "tf.relu"]
    assert "torch.relu" in entry[4].split() and "rectifier" not in entry[4].split() and entry[4].endswith("tf.relu")


def test_synonyms_are_words_and_calls():
    for word in " ".join(SYNONYMS.values()).split():
        assert re.fullmatch(r"[a-z0-9]+|(torch|tf|numpy)(\.\w+)*[a-zA-Z]", word), word
