"""The Python API page: every public name with its signature and what its docstring says."""

import re

import pytest

from opset.docgen import api, text
from opset.errors import CODES


@pytest.fixture(scope="module")
def sections():
    return api.api_page()


@pytest.fixture(scope="module")
def entries(sections):
    """All entries and members by anchor."""
    found = [entry for section in sections for entry in section.entries]
    everything = [*found, *(member for entry in found for member in entry.members)]
    assert len({entry.anchor for entry in everything}) == len(everything)
    return {entry.anchor: entry for entry in everything}


def test_every_public_name_is_there_once():
    for module, topics in api.TOPICS.items():
        assert sorted(name for names in topics.values() for name in names.split()) == sorted(module.__all__)


def test_every_entry_says_what_it_is(entries):
    assert [anchor for anchor, entry in entries.items() if not entry.doc.strip()] == []
    assert not [entry for entry in entries.values() if re.search(r"0x[0-9a-f]+|<|Ellipsis|typing\.", entry.signature)]
    assert max(len(line) for entry in entries.values() for line in entry.signature.split("\n")) < 120


def test_signatures(entries):
    assert entries["opset.get_schema"].signature.split("\n") == [
        "get_schema(", "    op_type: str,", "    max_inclusive_version: int | None = None,", "    domain: str = '',",
        ") -> OpSchema",
    ]  # fmt: skip
    assert entries["opset.to_text"].signature == "to_text(source: Any, *, limit: int | None = None) -> str"
    assert entries["opset.Inference.coverage"].signature == "coverage: dict[str, int]"
    assert entries["opset.Registry.operators"].signature == "operators(domain: str = '') -> list[str]"
    assert entries["opset.extend.Size"].signature == "Size = Union[int, Dim]"
    assert entries["opset.Model"].signature == "Model" and "opset.Model.save" in entries


def test_members_are_listed_where_they_are_defined(entries):
    assert "opset.OpsetError.collected" in entries and "opset.ModelError.collected" not in entries


def test_docstrings_are_markdown(entries, sections):
    convert = text.html(entries["opset.convert"].doc)
    assert "<p><code>to</code> is an opset version" in convert
    assert '<p>Raises <a href="#opset.ConversionError">ConversionError</a>' in convert
    assert '<a href="errors/U105.html">U105</a>' in text.html(entries["opset.get_schema"].doc)
    assert '<a href="#opset.extend.infer"><code>infer</code></a>' in text.html(entries["opset.extend.data"].doc)
    assert "`data`" in entries["opset.extend.registry_with"].doc  # a parameter, not the function
    assert "├── RunError" in next(section.doc for section in sections if section.title == "Errors")


def test_links_lead_to_what_is_there(entries, sections):
    docs = [entry.doc for entry in entries.values()] + [section.doc for section in sections]
    targets = {target for doc in docs for target in re.findall(r"\]\(([^)]*)\)", doc)}
    anchors = {f"#{anchor}" for anchor in entries}
    assert len(targets) > 20
    assert targets <= anchors | {f"errors/{code}.html" for code in CODES}
