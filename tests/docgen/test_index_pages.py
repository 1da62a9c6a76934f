"""The pages of releases, whichever domains a site has and in which order."""

import pytest

from opset.docgen import index_pages
from opset.docgen.convertibility import Convertibility
from opset.docgen.operator_pages import Site
from opset.docgen.paths import Paths
from opset.opsets.registry import default_registry
from opset.opsets.releases import RELEASES

REGISTRY = default_registry()


ML, TRAINING = "ai.onnx.ml", "ai.onnx.preview.training"
NEW_TYPES = "New element types"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("1.0", [NEW_TYPES, f"{ML} 1", f"Operators of {ML} 1", "ai.onnx 1", "Operators of ai.onnx 1"]),
        (
            "1.7.0",
            [
                f"{TRAINING} 1", f"Operators of {TRAINING} 1",
                "ai.onnx 12", "New in ai.onnx 12", "Changed in ai.onnx 12",
            ],
        ),
        ("1.8.0", [NEW_TYPES, "ai.onnx 13", "Changed in ai.onnx 13"]),
        ("1.8.1", []),
        (
            "1.16.0",
            [
                NEW_TYPES, f"{ML} 5", f"New in {ML} 5", f"Withdrawn in {ML} 5",
                "ai.onnx 21", "New in ai.onnx 21", "Changed in ai.onnx 21",
            ],
        ),
    ],
)  # fmt: skip
def test_a_release_has_parts_for_each_domain_that_changed(name, expected):
    """Domains that did not change come before and between those that did."""
    domains = [ML, TRAINING, ""]
    site = Site(REGISTRY, Paths(REGISTRY, domains), Convertibility(REGISTRY), {})
    number = [release.name for release in RELEASES].index(name)
    page = index_pages._release_page(site, domains, RELEASES[number - 1] if number else None, RELEASES[number])
    assert [part["title"] for part in page.page["parts"]] == expected


def test_domains_that_no_release_has_are_not_listed_with_the_releases():
    site = Site(REGISTRY, Paths(REGISTRY, [ML, "com.acme", ""]), Convertibility(REGISTRY), {})
    *_, listed = index_pages._release_pages(site)
    assert listed.page["parts"][0]["table"]["head"] == ["Release", "IR version", ML, "ai.onnx"]


def test_the_page_of_a_type_has_a_part_for_each_domain():
    site = Site(REGISTRY, Paths(REGISTRY, [ML, ""]), Convertibility(REGISTRY), {})
    operators = [
        index_pages.OperatorEntry(domain, name, REGISTRY.versions(name, domain), "")
        for domain, name in ((ML, "Binarizer"), ("", "Abs"))
    ]
    pages = {each.path: each.page for each in index_pages._type_pages(site, operators)}
    parts = pages["types/double.html"]["parts"]
    names = [[row["cells"][0]["links"][0]["name"] for row in each["table"]["rows"]] for each in parts]
    assert [each["title"] for each in parts] == [ML, "ai.onnx"] and names == [["Binarizer"], ["Abs"]]


def test_each_type_that_operators_take_has_a_page():
    site = Site(REGISTRY, Paths(REGISTRY, [""]), Convertibility(REGISTRY), {})
    names = ["Not", "RegexFullMatch"]
    operators = [index_pages.OperatorEntry("", name, REGISTRY.versions(name, ""), "") for name in names]
    *pages, index = index_pages._type_pages(site, operators)
    rows = {
        each.path: [[row["cells"][0]["links"][0]["name"], *(cell["text"] for cell in row["cells"][1:])]
                    for part in each.page["parts"] for row in part["table"]["rows"]]
        for each in pages
    }  # fmt: skip
    matching = "RegexFullMatch", "from 20"
    assert rows == {
        "types/string.html": [[*matching, "X"]],
        "types/bool.html": [["Not", "from 1", "X, Y"], [*matching, "Y"]],
    }
    assert [each.page["lead"].rpartition(". ")[2] for each in pages] == [
        "1 operator takes or makes it.",
        "2 operators take or make it.",
    ]
    listed = [(name["name"], name["note"]) for name in index.page["parts"][0]["names"]]
    assert listed == [("string", "1"), ("bool", "2")]
