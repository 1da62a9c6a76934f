"""Facts of operators as text: values, sentences, works of adapters, sizes."""

import math
from types import SimpleNamespace

import pytest

from opset.catalog import (
    _strings_in_code,
    brief_type,
    default_text,
    first_sentence,
    json_data,
    value_text,
    worst_work,
)
from opset.output_folder import size_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "none"), (True, "true"), (False, "false"), (1, "1"), (-2.0, "-2"), (1e-5, "1e-05"), (0.1, "0.1"),
        (0.10000000149011612, "0.1"), (1 / 3, "0.3333333333333333"), (1.234567e300, "1.234567e+300"),
        (1.23456789e300, "1.23456789e+300"), (16777217.0, "16777217.0"), (math.nan, "nan"), (-math.inf, "-inf"),
        ([1, [None, 2.5]], "[1, [none, 2.5]]"), ((), "[]"), ("NOTSET", "NOTSET"), ("a b", '"a b"'), ("", '""'),
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


def _with_default(x, label="C3"):
    return x, label


def _with_parts(x):
    return [(each, "C2") for each in x] and (lambda: "C4")


def _calling_itself(x):
    return _calling_itself(x) if x else "C6"


def _closing():
    inner = _with_default
    return lambda x: (inner(x), "C5")


def _inferring(x):
    return _with_parts(x), json_data(x), first_sentence("C1"), _calling_itself(x), size_text(x)


def test_labels_are_found_in_code_and_in_what_it_calls():
    def found(function):
        return {each for each in _strings_in_code(SimpleNamespace(function=function)) if each[:1] == "C"}

    assert found(_inferring) == {"C1", "C2", "C4", "C6"}  # of functions of other modules, only those of inference
    assert found(_closing()) == {"C3", "C5"}
    assert found(print) == set() and _strings_in_code(None) == set()
