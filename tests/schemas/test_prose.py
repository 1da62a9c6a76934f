"""No eight words in a row of our prose, of operators, examples and pages, are from the documentation of onnx."""

import re
from pathlib import Path

import onnx.defs
import pytest

from opset.opsets.registry import default_registry

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("opset/explain/*.md")]
REGISTRY = default_registry()
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
    for domain in REGISTRY.domains:
        for name in REGISTRY.operators(domain):
            for schema in REGISTRY.versions(name, domain):
                yield schema, REGISTRY.documentation(schema)


def texts():
    """Yield all prose, each text with where it is: of operators, of their examples, and of pages without their code."""
    for schema, docs in versions():
        phrases = [docs.doc, *(each.text for each in (*docs.special_cases, *docs.implementations))]
        for part in (docs.inputs, docs.outputs, docs.attributes, docs.constraints, docs.counterparts):
            phrases += part.values()
        if schema.change is not None:
            phrases += [schema.change.meaning, schema.change.clarified]
        yield from ((f"{schema.name} {schema.since_version}", text) for text in phrases)
    for domain in REGISTRY.domains:
        for name in REGISTRY.operators(domain):
            yield from ((f"{name} {each.name}", each.doc) for each in REGISTRY.examples(name, domain))
    for path in PAGES:
        yield path.name, re.sub(r"^```.*?^```|^    .*?$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def theirs():
    found = set()
    for schema in onnx.defs.get_all_schemas_with_history():
        parts = (*schema.inputs, *schema.outputs, *schema.attributes.values(), *schema.type_constraints)
        for text in (schema.doc, *(each.description for each in parts)):
            found |= runs(text)
    return found


def test_no_sentence_is_from_elsewhere(theirs):
    copied = [(where, " ".join(run)) for where, text in texts() for run in runs(text) & theirs]
    assert not copied, copied


def test_what_is_open_is_named_as_a_noun():
    """`chosen` names what the standard leaves open, "the treatment of NaN", and asks no question."""
    for schema, docs in versions():
        for each in (*docs.special_cases, *REGISTRY.examples(schema.name, schema.domain)):
            assert not re.match(r"(?:what|which|whether|how|when|where|why) ", each.chosen), (schema.name, each.chosen)


def test_one_word_for_booleans():
    assert [where for where, text in texts() if re.search(r"truth[- ]value|\bbools\b", text)] == []


def test_prose_of_all_kinds_is_compared():
    where = {where for where, text in texts() if text}
    assert {"Softmax 13", "Softmax rows", "converting.md", "C201.md", "README.md"} <= where
