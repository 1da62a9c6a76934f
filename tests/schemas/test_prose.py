"""The prose of the standard's operators is complete, and no eight words in a row are from onnx's documentation."""

import re

import onnx.defs
import pytest

from opset.opsets.registry import default_registry

WORDS = 8
LONG = 5
"""Words of three letters or more that a run has: one with fewer is a formula, which is a fact."""


def runs(text):
    """Return the runs of WORDS words in each sentence or table cell of a text, without marks and upper case."""
    found = set()
    for sentence in re.split(r"[.;:!?|`]\s|\n\s*\n|\n\s*[-*]\s", text):
        words = re.findall(r"[a-z0-9_]+", sentence.lower())
        found.update(tuple(words[start : start + WORDS]) for start in range(len(words) - WORDS + 1))
    return {run for run in found if sum(len(word) > 2 for word in run) >= LONG}


def versions():
    """Yield every version of every operator of the standard, with its prose."""
    registry = default_registry()
    for domain in registry.domains:
        for name in registry.operators(domain):
            for schema in registry.versions(name, domain):
                yield schema, registry.documentation(schema)


@pytest.fixture(scope="module")
def theirs():
    found = set()
    for schema in onnx.defs.get_all_schemas_with_history():
        parts = (*schema.inputs, *schema.outputs, *schema.attributes.values())
        for text in (schema.doc, *(each.description for each in parts)):
            found |= runs(text)
    return found


def test_no_sentence_is_from_elsewhere(theirs):
    copied = []
    for schema, docs in versions():
        phrases = [docs.doc, *docs.special_cases, *docs.counterparts.values(), *docs.constraints.values()]
        for part in (docs.inputs, docs.outputs, docs.attributes):
            phrases += part.values()
        meaning = schema.change.meaning if schema.change is not None else ""
        for text in (*phrases, meaning):
            copied += [(schema.name, schema.since_version, " ".join(run)) for run in runs(text) & theirs]
    assert not copied, copied


def test_every_version_names_its_special_cases():
    assert [(each.name, each.since_version) for each, docs in versions() if not docs.special_cases] == []
