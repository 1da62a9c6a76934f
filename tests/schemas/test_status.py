"""How certain a special case is, and which clauses there are."""

import pytest

from opset.schemas.documentation import SpecialCase
from opset.schemas.example import Example
from opset.schemas.model import Attribute, OpSchema, Parameter
from opset.schemas.status import clause_fault, ground_of, is_open, status_of, status_words

SCHEMA = OpSchema(
    "", "Op", 7, "f", (Parameter("X", "T"),), (Parameter("Y", "T"),), {"a": Attribute("a", "int")}, {"T": ("t",)}
)


@pytest.mark.parametrize(
    ("case", "status", "ground", "words"),
    [
        (SpecialCase("t"), "derived", "", ""),
        (SpecialCase("t", stated="7 input X"), "stated", "7 input X", "stated: version 7, input X"),
        (SpecialCase("t", stated="7 body"), "stated", "7 body", "stated: version 7, body"),
        (SpecialCase("t", stated="A.md b c"), "stated", "A.md b c", "stated: A.md b c"),
        (Example("e", 1, chosen="ties"), "chosen", "ties", "chosen: ties"),
    ],
)
def test_a_status_and_its_ground(case, status, ground, words):
    assert (status_of(case), ground_of(case)) == (status, ground)
    assert status_words(status, ground) == words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Ties are undefined.", True),
        ("It is left open.", True),
        ("The text contradicts itself.", True),
        ("The standard leaves this case open.", True),
        ("Version 13 leaves it open.", True),
        ("The standard leaves it. The door is open.", False),
        ("the specification says nothing of it", True),
        ("neither sets no bound", True),
        ("The order is not specified.", True),
        ("Runtimes may differ.", True),
        ("Implementations disagree.", True),
        ("Runtimes agree.", False),
        ("NaN stays NaN.", False),
        ("undefinedness", False),
    ],
)
def test_what_says_that_something_is_open(text, found):
    assert is_open(text) is found


UNKNOWN = "it is neither a version with a part of its text nor a document with a section"


@pytest.mark.parametrize(
    ("clause", "wrong"),
    [
        ("7 summary", ""), ("7 body", ""), ("7 attribute a", ""), ("7 input X", ""), ("7 output Y", ""),
        ("7 type T", ""), ("Broadcasting.md one direction", ""), ("Broadcasting.md", UNKNOWN), ("7", UNKNOWN),
        ("07 body", UNKNOWN), ("7 page 3", UNKNOWN), ("7 summary more", UNKNOWN),
        ("summary 7", UNKNOWN), ("Summary 7", UNKNOWN), ("attribute a of 7", UNKNOWN), ("version 7 summary", UNKNOWN),
        ("type T", UNKNOWN), ("Types.md all", ""), ("inputs of operators", ""),
        ("8 body", "the operator has no version 8"),
        ("7 attribute X", "version 7 has no attribute 'X'"), ("7 input Y", "version 7 has no input 'Y'"),
        ("7 output X", "version 7 has no output 'X'"), ("7 type a", "version 7 has no type 'a'"),
    ],
)  # fmt: skip
def test_a_clause_is_one_that_there_is(clause, wrong):
    assert clause_fault(clause, [SCHEMA], 7) == wrong


def test_a_clause_is_not_newer_than_what_it_states():
    assert clause_fault("7 body", [SCHEMA], 8) == ""
    said = "it is a text of version 7, and states something of version 6"
    assert clause_fault("7 body", [SCHEMA], 6) == said


def test_a_clause_of_a_version_that_was_not_read_may_be_right():
    assert clause_fault("8 body", [SCHEMA], 8, complete=False) == ""
    assert clause_fault("7 attribute X", [SCHEMA], 8, complete=False) == "version 7 has no attribute 'X'"


def test_a_reason_is_no_clause_of_a_version():
    assert status_words("chosen", "7 input X") == "chosen: 7 input X"
