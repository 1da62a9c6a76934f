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
