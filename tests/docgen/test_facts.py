"""Facts of operators as text: values, sentences, works of adapters, sizes."""

import math
from dataclasses import replace

import pytest

from opset.catalog import (
    body_conditions,
    brief_type,
    changes,
    check_times,
    default_text,
    determinism_words,
    first_sentence,
    json_data,
    operator_set_difference,
    value_text,
    worst_work,
)
from opset.opsets.registry import default_registry
from opset.output_folder import size_text
from opset.schemas.model import Condition
from opset.schemas.yaml.keys import DETERMINISM


def inner(content, shape=None):
    """A tensor in a sequence, as plain data."""
    return {"type": "tensor(float)", "shape": [len(content)] if shape is None else shape, "content": content}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"), (True, "true"), (False, "false"), (1, "1"), (-2.0, "-2"), (1e-5, "1e-05"), (0.1, "0.1"),
        (0.10000000149011612, "0.1"), (1 / 3, "0.3333333333333333"), (1.234567e300, "1.234567e+300"),
        (1.23456789e300, "1.23456789e+300"), (16777217.0, "16777217.0"), (math.nan, "nan"), (-math.inf, "-inf"),
        ([1, [None, 2.5]], "[1, [none, 2.5]]"), ((), "[]"), ("NOTSET", "NOTSET"), ("a b", '"a b"'), ("", '""'),
        ([inner([1]), inner([2, 3])], "[[1], [2, 3]]"), ([inner(0.5, [])], "[0.5]"),
        ({"1": 0.5, "a b": "c"}, '{1: 0.5, "a b": c}'),
        ([inner([], [0, 2]), inner(1.5, [2])], "[float[0, 2] [], float[2] 1.5]"),
        ({"values": [5], "indices": [0]}, "{values: [5], indices: [0]}"),
    ],
)  # fmt: skip
def test_values(value, text):
    assert value_text(value) == text


def test_defaults_are_written_as_in_onnx_text():
    assert default_text("a") == '"a"' and default_text('é"') == '"é\\""'
    assert default_text(("a", 1, 0.5)) == '["a", 1, 0.5]' and default_text([]) == "[]"


@pytest.mark.parametrize(
    ("doc", "sentence"),
    [
        ("Adds `A` and `B`. Then it stops.", "Adds A and B."),
        ("  Adds\n  A, e.g. one. And more.\n\nOther", "Adds A, e.g. one."),
        ("Is it? Yes.", "Is it?"),
        ("Stop! Now", "Stop!"),
        ("Version 1.5 Is one", "Version 1.5 Is one"),
        ("", ""),
    ],
)
def test_first_sentences(doc, sentence):
    assert first_sentence(doc) == sentence


def test_words_for_determinism():
    words = [determinism_words(each) for each in DETERMINISM]
    assert words == ["", "nondeterministic", "determinism unknown"]


def test_the_worst_of_several_adapters():
    assert worst_work([]) == worst_work(["nothing to do"]) == "nothing to do"
    assert worst_work(["nothing to do", "derived"]) == "derived"
    assert worst_work(["derived", "written", "derived"]) == "written"
    assert worst_work(["written", "impossible: b", "impossible: a"]) == "impossible: b"


def test_plain_data_of_finite_numbers():
    assert json_data({"a": [math.nan, (math.inf, 1.5)], "b": -math.inf}) == {"a": ["nan", ["inf", 1.5]], "b": "-inf"}


def test_types_as_people_write_them():
    assert [brief_type(each) for each in ("tensor(float)", "seq(tensor(float))", "T")] == [
        "float",
        "seq(tensor(float))",
        "T",
    ]


def test_sizes_of_files():
    assert size_text([]) == "0.0 kB" and size_text([b"x" * 40, b"y" * 60]) == "0.1 kB"
    assert size_text([b"x" * 99_900]) == "99.9 kB" and size_text([b"x" * 100_000]) == "0.1 MB"
    assert size_text([b"x" * 1_250_000, b""]) == "1.2 MB"


@pytest.mark.parametrize(
    ("operator", "domain", "times"),
    [
        ("SequenceInsert", "", {"C1": "run time", "C2": "static"}),
        ("Gather", "", {"C1": "static", "C2": "run time"}),
        ("Adagrad", "ai.onnx.preview.training", {"C2": "static", "C3": "static"}),
        ("ConcatFromSequence", "", {"C3": "static"}),
        ("SequenceAt", "", {"C1": "run time"}),  # that there are two positions is found, but not which they are
    ],
)
def test_a_constraint_is_static_if_the_examples_that_break_it_are_found_without_values(operator, domain, times):
    registry = default_registry()
    found = check_times(registry, registry.versions(operator, domain)[-1], times)
    assert found == times


def test_without_an_example_a_constraint_is_static_if_it_is_on_an_attribute_or_on_no_values():
    registry = default_registry()
    schema = registry.versions("Gather")[-1]
    conditions = [("C91", "values", "axis"), ("C92", "values", "indices"), ("C93", "distinct", "indices")]
    conditions += [("C94", "rank", "indices"), ("C95", "distinct", "axis")]
    schema = replace(schema, conditions=tuple(Condition(*each, "1") for each in conditions))
    static, late = ["C91", "C94", "C95"], ["C92", "C93", "C96"]
    assert check_times(registry, schema, [*static, *late]) == {
        **dict.fromkeys(static, "static"), **dict.fromkeys(late, "run time"),
    }  # fmt: skip


def test_the_work_of_adapters_from_and_to_versions_that_are_withdrawn():
    registry = default_registry()
    works = [
        (each.up, each.down)
        for name, domain in (("Scatter", ""), ("TreeEnsembleRegressor", "ai.onnx.ml"), ("GroupNormalization", ""))
        for each in changes(registry.versions(name, domain), registry.type_sets)[-1:]
    ]
    assert works == [
        ("impossible: the operator is withdrawn there", "written"), ("written", "nothing to do"),
        ("written", "written"),
    ]  # fmt: skip


def test_operators_that_one_of_two_versions_lacks_are_new_or_gone():
    up, down = (operator_set_difference(default_registry(), "", *span) for span in ((8, 11), (11, 8)))
    assert "Upsample" in {each.operator for each in up.gone} and "Scatter" not in {each.operator for each in up.new}
    assert {each.operator: each.since for each in up.new}["ScatterND"] == 11 and up.gone == down.new
    assert up.new == down.gone and "Clip" in {each.operator for each in up.changed}


def served(*bodies):
    """The opsets that the captions of function bodies name."""
    made = [{"types": {}, "where": {}, "emulate": {}, "nodes": "", **body} for body in bodies]
    return [body_conditions(body, made).partition(";")[0].removeprefix(" for models of ") for body in made]


@pytest.mark.parametrize(
    ("bodies", "words"),
    [
        ([{"opset": 7}], ["opset 7 or later"]),
        ([{"opset": 18}, {"opset": 11}], ["opset 18 or later", "opset 11 to 17"]),
        ([{"opset": 18}, {"opset": 17}, {"opset": 11}], ["opset 18 or later", "opset 17", "opset 11 to 16"]),
        ([{"opset": 18, "where": {"a": "1"}}, {"opset": 11}], ["opset 18 or later", "opset 11 or later"]),
        ([{"opset": 18}, {"opset": 11, "where": {"a": "1"}}], ["opset 18 or later", "opset 11 to 17"]),
        ([{"opset": 18, "where": {"a": "1"}}, {"opset": 11, "where": {"a": "1"}}],
         ["opset 18 or later", "opset 11 to 17"]),
        ([{"opset": 18, "where": {"a": "1"}}, {"opset": 11, "where": {"a": "2"}}],
         ["opset 18 or later", "opset 11 or later"]),
        ([{"opset": 18, "types": {"T": ("float",)}}, {"opset": 11}], ["opset 18 or later", "opset 11 or later"]),
        ([{"opset": 18, "types": {"T": ("float", "double")}}, {"opset": 11, "types": {"T": ("float",)}}],
         ["opset 18 or later", "opset 11 to 17"]),
        ([{"opset": 11, "where": {"a": "1"}}, {"opset": 11}], ["opset 11 or later", "opset 11 or later"]),
    ],
)  # fmt: skip
def test_the_caption_of_a_body_names_the_opsets_that_it_serves(bodies, words):
    assert served(*bodies) == words


def test_the_caption_of_a_body_has_its_conditions():
    body = {
        "opset": 13,
        "where": {"mode": "linear", "axis": ">= 0", "scale": "given"},
        "types": {"T": ("tensor(float)", "tensor(int8)"), "U": ("tensor(bool)",)},
        "emulate": {"int8": "float", "int64": "double", "uint8": "float"},
        "nodes": "Y = CastLike (X, X)",
    }
    assert body_conditions(body, [body]) == (
        " for models of opset 13 or later; mode = linear; axis >= 0; scale is given; T: float, int8; U: bool; "
        "int8 and uint8 are computed in float; int64 is computed in double; "
        "before opset 15, which brought CastLike, a Cast takes its place"
    )
    assert body_conditions({**body, "opset": 15, "where": {}, "types": {}, "emulate": {}}, []) == (
        " for models of opset 15 or later"
    )
