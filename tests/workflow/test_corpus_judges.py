"""A sample of the corpus in onnx's loader and runner, and what is stored of the judges that ran all of it."""

import json
from types import SimpleNamespace

import pytest

from judges.conformance.corpus import BACKENDS, PASSED, last, loaded, outcome, runner_tests
from judges.conformance.corpus_reasons import reason_for
from opset.opsets.registry import default_registry
from opset.schemas.example import Example
from opset.workflow.corpus.cases import NODE, build_corpus, pick_cases, write_corpus
from opset.workflow.corpus.judgements import FILE, Judgements, _disagreeing_versions, digest, judgement_data

REGISTRY = default_registry()
# All kinds of values: text, small floats and integers, sequences, optionals, graphs, complex numbers, nothing, scalars.
SAMPLE = (
    "BitShift Cast ConcatFromSequence DequantizeLinear If OptionalHasElement QuantizeLinear SequenceAt SequenceLength "
    "Shape StringConcat Trilu Unique"
).split()


SAMPLED = [
    pick for pick in pick_cases(REGISTRY, [REGISTRY.versions(name) for name in SAMPLE], False) if pick.kind == NODE
][::2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder, build_corpus(REGISTRY, SAMPLED))
    return folder


@pytest.mark.parametrize("judge", BACKENDS)
def test_the_sample_passes_in_the_runner_of_onnx(judge, folder):
    cases = loaded(folder)
    tests = runner_tests(cases, BACKENDS[judge])
    found = {case.name: outcome(tests, case.name) for case in cases}
    chosen = {pick.name for pick in SAMPLED if pick.example.chosen}
    unexplained = {name: each.why for name, each in found.items() if each.kind != PASSED and name not in chosen}
    assert not {name: why for name, why in unexplained.items() if not reason_for(judge, name, why)}
    assert sum(each.kind == PASSED for each in found.values()) > 0.7 * len(cases) > 25


def test_tolerances_are_those_of_the_case(folder):
    case = next(case for case in loaded(folder) if "dequantizelinear" in case.name)
    assert case.atol == pytest.approx(case.rtol / 1000)


def test_judges_are_named_where_they_agree_and_examples_are_the_same():
    schema = REGISTRY.versions("Relu")[0]
    examples = [each for each in REGISTRY.examples("Relu") if not each.error]
    agreed = {("", "Relu", schema.since_version, example.name) for example in examples[1:]}
    agreed |= {("", "StringConcat", 20, example.name) for example in REGISTRY.examples("StringConcat")}
    stored = json.loads(json.dumps(judgement_data(REGISTRY, {"a": "A 1.0"}, {"a": agreed})))
    known = Judgements(REGISTRY, stored)
    assert known.agreeing_judges(schema, examples[0]) == [] and known.agreeing_judges(schema, examples[1]) == ["A 1.0"]
    assert known.agreeing_judges(REGISTRY.versions("Abs")[0], REGISTRY.examples("Abs")[0]) == []
    assert stored["operators"]["ai.onnx.Abs"]["a"] == {"*": "*"}
    # Examples that break a constraint are not judged, and may go.
    valid = [each for each in REGISTRY.examples("StringConcat") if not each.error]
    registry = SimpleNamespace(
        versions=REGISTRY.versions, is_standard=REGISTRY.is_standard, examples=lambda name, domain: valid
    )
    concat = REGISTRY.versions("StringConcat")[0]
    assert len(valid) < len(REGISTRY.examples("StringConcat"))
    assert Judgements(registry, stored).agreeing_judges(concat, valid[0]) == ["A 1.0"]
    stored["operators"]["ai.onnx.Relu"]["digest"] = "of other examples"
    assert Judgements(REGISTRY, stored).agreeing_judges(schema, examples[1]) == []


@pytest.mark.parametrize(
    ("examples", "agreed", "others"),
    [
        ([], set(), {}),
        ([("a", 1, None), ("b", 1, None)], set(), {"*": "*"}),
        ([("a", 1, None), ("b", 7, None)], {(7, "b"), (9, "b")}, {"a": "*"}),
        ([("a", 1, None)], {(7, "a")}, {"a": [1, 9]}),
        ([("a", 1, 7), ("b", 7, None)], {(1, "a"), (7, "b"), (9, "b")}, {"a": [7]}),
        ([("a", 1, None)], {(1, "a"), (7, "a"), (9, "a")}, {}),
        ([("a", 1, None)], {(1, "b"), (7, "b"), (9, "b")}, {"*": "*"}),
    ],
)
def test_at_which_versions_a_judge_does_not_confirm_an_example(examples, agreed, others):
    versions = [SimpleNamespace(since_version=since) for since in (1, 7, 9)]
    stated = [Example(name, since, until=until) for name, since, until in examples]
    assert _disagreeing_versions(agreed, stated, versions) == others


def test_a_digest_changes_with_what_is_judged_and_not_with_words():
    versions, (first, *others) = REGISTRY.versions("Relu"), REGISTRY.examples("Relu")
    found = digest([first, *others], versions)
    assert found == digest([first._replace(doc="Other words.", stated="", chosen="Free."), *others], versions)
    changed = [
        *(([first._replace(**each), *others], versions) for each in ({"since": 99}, {"name": "x"}, {"inputs": ()})),
        (others, versions),
        ([first, *others], versions[1:]),
    ]
    assert len({found, *(digest(*each) for each in changed)}) == 6


def test_what_is_stored_names_two_judges_and_every_operator():
    stored = json.loads(FILE.read_text(encoding="utf-8"))
    assert sorted(stored["judges"]) == sorted(BACKENDS) and FILE.stat().st_size < 60_000
    assert len(stored["operators"]) > 200
    known = Judgements(REGISTRY)
    pairs = [(REGISTRY.versions(name)[0], each) for name in ("Cast", "Mul", "Relu") for each in REGISTRY.examples(name)]
    # Of an operator whose examples were edited since, nothing is known.
    assert {judge for pair in pairs for judge in known.agreeing_judges(*pair)} == {*stored["judges"].values()}


def test_the_error_of_a_traceback_is_found():
    try:
        raise ValueError("first\n  second")
    except ValueError:
        import traceback

        assert last(traceback.format_exc()) == "ValueError: first second"
