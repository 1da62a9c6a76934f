"""Whether a node fits its schema: arity, types, attributes, and the values that attributes declare to be legal."""

from dataclasses import replace

import pytest

from opset.opsets.registry import get_schema
from opset.schemas.constraints import signature
from opset.schemas.constraints.evaluation import compare, decide, evaluate
from opset.schemas.constraints.grammar import parse_range, terms_of
from opset.schemas.constraints.signature import declared_text
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import TYPES, Attribute, OpSchema, Parameter

FLOAT, INT64 = "tensor(float)", "tensor(int64)"
ADD = get_schema("Add", 14)
CONCAT = get_schema("Concat", 13)
CLIP = get_schema("Clip", 13)
DROPOUT = get_schema("Dropout", 13)


def misfits(schema, inputs=None, outputs=None, attributes=None, values=None, ranks=(), bare_optionals=False):
    """Yield the misfits of the parts that are given."""
    if inputs is not None:
        yield from signature.arity_misfits(schema, inputs)
    if outputs is not None:
        yield from signature.arity_misfits(schema, outputs, outputs=True)
    yield from signature.type_misfits(schema, inputs or (), outputs or (), bare_optionals)
    if attributes is not None:
        yield from signature.attribute_misfits(schema, attributes)
    yield from signature.value_misfits(schema, values or {}, ranks)


def kinds(schema, **facts):
    return [each.kind for each in misfits(schema, **facts)]


def schema_of(*attributes, types=None):
    inputs = (Parameter("X", "T"), Parameter("Y", "U"))
    return OpSchema("d", "Op", 1, "f", inputs, (), {each.name: each for each in attributes}, types or {"T": (FLOAT,)})


@pytest.mark.parametrize(
    ("schema", "facts", "expected"),
    [
        (ADD, {"inputs": [FLOAT, FLOAT], "outputs": [FLOAT], "attributes": {}, "values": {}}, []),
        (ADD, {"inputs": [FLOAT]}, [signature.INPUT_COUNT]),
        (ADD, {"inputs": [FLOAT] * 3}, [signature.INPUT_COUNT]),
        (ADD, {"inputs": [FLOAT, ""]}, [signature.MISSING_INPUT]),
        (ADD, {"inputs": [None, None]}, []),
        (ADD, {"outputs": []}, [signature.OUTPUT_COUNT]),
        (ADD, {"outputs": [""]}, []),
        (replace(ADD, unknown=TYPES), {"inputs": [FLOAT, ""]}, []),
        (replace(ADD, unknown=TYPES), {"inputs": ["tensor(string)", FLOAT]}, [signature.INPUT_TYPE]),
        (replace(ADD, unknown=TYPES, types={"T": ()}), {"inputs": [FLOAT, INT64]}, []),
        (ADD, {"inputs": [FLOAT, "tensor(string)"]}, [signature.INPUT_TYPE]),
        (ADD, {"inputs": [FLOAT, INT64]}, [signature.TIED_TYPES]),
        (ADD, {"inputs": [FLOAT, None], "outputs": [INT64]}, [signature.TIED_TYPES]),
        (ADD, {"inputs": [None, None], "outputs": ["tensor(string)"]}, [signature.OUTPUT_TYPE]),
        (ADD, {"inputs": ["tensor(string)"] * 2}, [signature.INPUT_TYPE] * 2),
        (ADD, {"attributes": {"axis": "int"}}, [signature.UNKNOWN_ATTRIBUTE]),
        (CLIP, {"inputs": [FLOAT, "", FLOAT]}, []),
        (DROPOUT, {"inputs": [FLOAT, "tensor(double)"], "outputs": [FLOAT, ""]}, []),
        (CONCAT, {"inputs": [FLOAT, FLOAT, INT64]}, [signature.TIED_TYPES]),
        (CONCAT, {"inputs": []}, [signature.INPUT_COUNT]),
        (CONCAT, {"inputs": ["", FLOAT]}, [signature.MISSING_INPUT]),
        (CONCAT, {"inputs": [FLOAT, "", FLOAT]}, [signature.MISSING_INPUT]),
        (CONCAT, {"attributes": {}}, [signature.MISSING_ATTRIBUTE]),
        (CONCAT, {"attributes": {"axis": "float"}}, [signature.ATTRIBUTE_TYPE]),
        (CONCAT, {"attributes": {"axis": None}}, []),
        (CONCAT, {"attributes": {"axis": "int"}}, []),
        (get_schema("Loop", 13), {"inputs": [INT64, "tensor(bool)", FLOAT, INT64]}, []),  # heterogeneous
    ],
)
def test_misfits(schema, facts, expected):
    assert kinds(schema, **facts) == expected


def test_a_value_may_stand_for_an_optional_beside_an_optional():
    types = [FLOAT, f"optional({FLOAT})"]
    schema = replace(ADD, types={"T": tuple(types)})
    assert kinds(schema, inputs=types) == [signature.TIED_TYPES]
    assert kinds(schema, inputs=types, bare_optionals=True) == []
    assert kinds(ADD, inputs=types, bare_optionals=True) == [signature.INPUT_TYPE]
    assert kinds(ADD, inputs=[FLOAT, INT64], bare_optionals=True) == [signature.TIED_TYPES]


def test_another_version_that_a_node_fits():
    versions = [replace(ADD, since_version=since, deprecated=since == 6) for since in range(3, 9)]
    versions[3:] = [replace(each, inputs=each.inputs[:1]) for each in versions[3:]]  # from version 6 on

    def fitting(since, count):
        schema = next(each for each in versions if each.since_version == since)
        found = signature.version_that_fits(versions, schema, ["x"] * count, ["y"], {})
        return found and found.since_version

    assert [fitting(since, 1) for since in (3, 5, 6, 7, 8)] == [7, 7, 7, 8, 7]
    assert [fitting(since, 2) for since in (3, 4, 5, 7)] == [4, 5, 4, 5]
    assert fitting(3, 3) is None


def test_a_misfit_says_what_and_why():
    (misfit,) = misfits(ADD, inputs=[FLOAT, INT64])
    assert (misfit.what, misfit.name) == ("the input 'B' is tensor(int64), and 'A' is tensor(float)", "B")
    assert misfit.why == "both have the type T"
    (misfit,) = misfits(ADD, inputs=[FLOAT])
    assert (misfit.what, misfit.why) == ("the node has 1 input", "Add 14 has 2")
    (misfit,) = misfits(ADD, attributes={"\x1b[31m": "int"})
    assert "\x1b" not in misfit.what


TWO = OpSchema(
    "", "Op", 3, "f", (Parameter("A", "T"), Parameter("B", "T"), Parameter("C", "U", "variadic", False)),
    (Parameter("Y", "T"), Parameter("Z", "tensor(bool)", "optional")),
    {each.name: each for each in (
        Attribute("a", "int", required=True), Attribute("m", "string", choices=("x", "y", "")),
        Attribute("axis", "int", kind="axis", constraint="C1"),
        Attribute("to", "int", kind="data_type", choices=("T", "int8")),
    )},
    {"T": (FLOAT, INT64), "U": (FLOAT, "seq(tensor(bool))")},
)  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"inputs": [FLOAT]}, ("input count", "the node has 1 input", "Op 3 has 3 or more", "")),
        ({"outputs": [FLOAT, None, FLOAT]}, ("output count", "the node has 3 outputs", "Op 3 has 1 to 2", "")),
        ({"inputs": [FLOAT, "", FLOAT]}, ("missing input", "the input 'B' is missing", "Op 3 requires it", "B")),
        ({"inputs": [FLOAT, "tensor(bool)", FLOAT]},
         ("input type", "the input 'B' cannot be tensor(bool)", f"Op 3 takes {FLOAT}, {INT64}", "B")),
        ({"inputs": [FLOAT, FLOAT, FLOAT, "seq(tensor(bool))", INT64]},
         ("input type", f"the input 'C' cannot be {INT64}", f"Op 3 takes {FLOAT}, seq(tensor(bool))", "C")),
        ({"outputs": [FLOAT, FLOAT]},
         ("output type", f"the output 'Z' cannot be {FLOAT}", "Op 3 has tensor(bool)", "Z")),
        ({"inputs": [FLOAT, None, FLOAT], "outputs": [INT64]},
         ("tied types", f"the output 'Y' is {INT64}, and 'A' is {FLOAT}", "both have the type T", "Y")),
        ({"attributes": {"a": None, "b": None}},
         ("unknown attribute", "there is no attribute 'b'", "Op 3 has none of this name", "b")),
        ({"attributes": {"a": "ints"}},
         ("attribute type", "the attribute 'a' is of type ints", "it has to be of type int", "a")),
        ({"attributes": {}}, ("missing attribute", "the attribute 'a' is missing", "Op 3 requires it", "a")),
        ({"values": {"m": "z" * 79}},
         ("attribute value", f"the attribute 'm' is '{'z' * 79}…", 'it has to be x, y or ""', "m")),
        ({"values": {"m": "z" * 78}},
         ("attribute value", f"the attribute 'm' is '{'z' * 78}'", 'it has to be x, y or ""', "m")),
        ({"values": {"axis": 2}, "ranks": [2]},
         ("attribute value", "the attribute 'axis' is 2", "it has to be -rank <= x < rank", "axis")),
        ({"values": {"to": 99}}, ("attribute value", "the attribute 'to' is 99", "it names no element type", "to")),
        ({"values": {"to": 9}},
         ("attribute value", "the attribute 'to' is 9", "it is bool, and has to be float, int64 or int8", "to")),
    ],
)  # fmt: skip
def test_each_misfit_says_what_and_why(facts, expected):
    (misfit,) = misfits(TWO, **facts)
    assert misfit[:4] == expected


def test_a_misfit_of_a_value_has_its_constraint_and_the_facts():
    (misfit,) = misfits(TWO, values={"axis": -3}, ranks=[2, 7])
    assert (misfit.constraint, misfit.detail) == ("C1", "axis -3, rank 2")
    (misfit,) = misfits(TWO, values={"to": 99})
    assert (misfit.constraint, misfit.detail) == ("", "to 99")
    for value, detail in ((9, "to 9 (bool)"), (9.0, "to 9.0"), ({}, "to {}"), ("BOOL", "to 'BOOL'")):
        (misfit,) = misfits(TWO, values={"to": value})
        assert misfit.detail == detail


def test_values_of_choices_and_types_as_words():
    assert [signature.choices_text(each) for each in ((), ("a",), ("a", ""), (1, 2, 3))] == [
        "",
        "a",
        'a or ""',
        "1, 2 or 3",
    ]
    assert signature.data_types(TWO, TWO.attributes["to"]) == {"float", "int64", "int8"}
    assert signature.data_types(TWO, Attribute("to", "int", kind="data_type")) == set()
    sequences = schema_of(Attribute("to", "int", kind="data_type", choices=("T",)))
    sequences = replace(sequences, types={"T": ("seq(tensor(int8))", "tensor(float)", "optional(string)")})
    assert signature.data_types(sequences, sequences.attributes["to"]) == {"int8", "float"}
    assert [each.name for each in signature.declared_attributes(TWO)] == ["m", "axis", "to"]
    assert [each.name for each in TWO.attributes.values() if signature.needs_ranks(each)] == ["axis"]
    assert signature.needs_ranks(Attribute("a", "int", range="0 <= x < rank(Y)"))


def test_words_in_any_case_are_the_same():
    schema = schema_of(Attribute("a", "strings", choices=("Relu", "Tanh"), kind="any_case"))
    assert kinds(schema, values={"a": ["RELU", "tanh"]}) == []
    assert kinds(schema, values={"a": ["relu", "elu"]}) == kinds(schema, values={"a": [1]}) == ["attribute value"]
    assert kinds(schema_of(Attribute("a", "string", choices=("Relu",))), values={"a": "relu"}) == ["attribute value"]


def test_the_content_of_an_optional_may_stand_for_it():
    element = get_schema("OptionalHasElement", 15)
    assert kinds(element, inputs=[FLOAT]) == [signature.INPUT_TYPE]
    assert kinds(element, inputs=[FLOAT], bare_optionals=True) == []


@pytest.mark.parametrize(
    ("attribute", "legal", "illegal"),
    [
        (Attribute("a", "string", choices=("x", "y")), ["x"], ["z", ""]),
        (Attribute("a", "strings", choices=("x", "y")), [("x", "y"), ()], [("x", "z")]),
        (Attribute("a", "int", range=">= 0"), [0, 5], [-1]),
        (Attribute("a", "ints", range="> 0"), [(1, 2), ()], [(1, 0)]),
        (Attribute("a", "float", range="0 <= x <= 1"), [0.0, 0.5, 1.0], [1.5, -0.1, float("nan")]),
        (Attribute("a", "int", range=">= -1 and != 0"), [-1, 1], [0, -2]),
        (Attribute("a", "int", kind="bool"), [0, 1], [2, -1]),
        (Attribute("a", "int", kind="axis"), [-2, 1], [2, -3]),
        (Attribute("a", "ints", kind="axes"), [(0, -1)], [(0, 2)]),
        (Attribute("a", "int", kind="axis", range=">= 0"), [0, 1], [-1, 2]),
        (Attribute("a", "int", kind="axis", range="0 <= x <= rank"), [2], [3, -1]),
        (Attribute("a", "int", kind="axis", range="-rank(Y) <= x < rank(Y)"), [4], [5]),
        (Attribute("a", "int", kind="axis", range="-rank - 1 <= x <= rank"), [-3, 2], [-4, 3]),
        (Attribute("a", "int", kind="data_type"), [1, 8, 28], [0, 29, -1]),
        (Attribute("a", "int", 0, kind="data_type"), [0], [99]),
        (Attribute("a", "int", kind="data_type", choices=("T", "int8")), [1, 3], [7]),
        (Attribute("a", "string", kind="data_type", choices=("T",)), ["FLOAT"], ["INT64", "nonsense"]),
        (Attribute("a", "string", kind="data_type"), ["INT64"], ["nonsense"]),
        (Attribute("a", "int", range=">= 0"), [], ["text"]),
    ],
)
def test_declared_values(attribute, legal, illegal):
    schema = schema_of(attribute)
    for value in legal:
        assert kinds(schema, values={"a": value}, ranks=[2, 5]) == []
    for value in illegal:
        assert kinds(schema, values={"a": value}, ranks=[2, 5]) == [signature.ATTRIBUTE_VALUE]
    assert kinds(schema, values={"a": None}, ranks=[2, 5]) == []
    assert kinds(schema, values={}) == []


def test_an_axis_is_not_checked_where_the_rank_is_not_known():
    schema = schema_of(Attribute("a", "int", kind="axis", range="0 <= x < rank", constraint="C1"))
    assert kinds(schema, values={"a": 9}) == kinds(schema, values={"a": 9}, ranks=[None, 3]) == []
    (misfit,) = misfits(schema, values={"a": -1})
    assert misfit.constraint == "C1"
    (misfit,) = misfits(schema, values={"a": 2}, ranks=[2])
    assert (misfit.why, misfit.detail) == ("it has to be 0 <= x < rank", "a 2, rank 2")


@pytest.mark.parametrize(
    ("results", "any_of", "all_of"),
    [
        ([], False, True), ([True], True, True), ([False], False, False), ([None], None, None),
        ([None, False], None, False), ([False, None], None, False), ([None, True], True, None),
        ([True, None], True, None), ([None, None], None, None), ([True, False], True, False),
    ],
)  # fmt: skip
def test_what_is_undecided_may_be_either(results, any_of, all_of):
    assert (decide(results, True), decide(results, False)) == (any_of, all_of)


@pytest.mark.parametrize(
    ("value", "bound", "equal"),
    [
        ("a", "a", True),
        ("a", "b", False),
        (None, "a", None),
        ("a", None, None),
        (1, "a", None),
        ("a", 1, None),
        (1, 1, True),
    ],
)
def test_text_is_compared_with_text(value, bound, equal):
    assert compare("=", value, bound) is equal
    assert compare("!=", value, bound) is (None if equal is None else not equal)


def test_only_declarations_that_name_a_constraint_are_enforced():
    schema = schema_of(Attribute("a", "int", kind="bool"), Attribute("b", "int", range="> 0", constraint="C2"))
    signature.check_constraints(schema, {"a": 2, "b": 1})
    with pytest.raises(Violation, match="C2: b 0"):
        signature.check_constraints(schema, {"a": 2, "b": 0})


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        (Attribute("mode", "string", choices=("a", "b", "c")), "mode is a, b or c"),
        (Attribute("size", "int", range=">= 1"), "size >= 1"),
        (Attribute("ratio", "float", range="0 <= x < 1"), "0 <= ratio < 1"),
        (Attribute("axis", "int", kind="axis"), "-rank(X) <= axis < rank(X)"),
        (Attribute("axes", "ints", kind="axes"), "-rank(X) <= each of axes < rank(X)"),
        (Attribute("axis", "int", kind="axis", range="0 <= x < rank(Y)"), "0 <= axis < rank(Y)"),
        (Attribute("flag", "int", kind="bool"), "flag is 0 or 1"),
        (Attribute("to", "int", kind="data_type", choices=("T2",)), "to is the number of a type in T2"),
        (Attribute("to", "int", kind="data_type", choices=("float", "double")), "to is float or double"),
        (Attribute("to", "string", kind="data_type", choices=("T", "int8")), "to is the name of a type in T or int8"),
        (Attribute("to", "int", kind="data_type"), "to is the number of an element type"),
        (
            Attribute("axis", "int", kind="axis", range=">= 0 and != 3"),
            "axis >= 0 and axis != 3 and -rank(X) <= axis < rank(X)",
        ),
        (Attribute("a", "int", range="-rank <= x <= rank(Y) and != 0"), "-rank(X) <= a <= rank(Y) and a != 0"),
        (Attribute("a", "ints", range="> 0"), "each of a > 0"),
    ],
)
def test_the_constraint_that_a_declaration_stands_for(attribute, text):
    assert declared_text(schema_of().inputs, attribute) == text


def test_ranges():
    low, high = parse_range("-rank(Y) - 1 <= x < 2.5")
    assert (low.operator, high.operator, str(high.operands[0])) == (">=", "<", "2.5")
    assert evaluate(low.operands[0], {"rank": {"Y": 3}.get}) == -4
    assert [(each.operator, str(each.operands[0])) for each in parse_range("> 0 and != 3")] == [(">", "0"), ("!=", "3")]
    assert parse_range("x >= 1e-3") == parse_range(">= 1e-3") == parse_range("1e-3 <= x")
    assert [*terms_of(parse_range("-rank <= x < rank(Y)"))] == [("rank", ""), ("rank", "Y")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "x",
        "> 0 or < -1",
        "> (0 or 1)",
        "> ",
        ">= a",
        "0 < 1",
        "0 <= x <= 1 <= 2",
        "x < 1 < 2",
        "=> 0",
        "> " * 300,
    ],
)
def test_what_is_no_range(text):
    with pytest.raises(ValueError):
        parse_range(text)


def test_a_list_with_several_illegal_values_is_one_misfit():
    schema = get_schema("LSTM", 14)
    (found,) = signature.value_misfits(schema, {"activations": ["a", "b"], "layout": 0})
    assert found.what == "the attribute 'activations' is ['a', 'b']" and found.constraint == "C6"


@pytest.mark.parametrize(
    ("sign", "value", "bound", "result"),
    [
        ("=", "a", "a", True), ("=", "a", "b", False), ("!=", "a", "b", True), ("!=", "a", "a", False),
        ("<", "a", "b", None), (">=", "a", "a", None), ("=", "a", 1, None), ("=", None, 1, None),
        ("<", 1, 2.5, True), ("multiple", 6, 3, True), ("multiple", 7, 3, False), ("multiple", 6, 1, True),
        ("multiple", 0, 3, True), ("multiple", 6, 0, None), ("multiple", 6, -3, None), (">=", 2, 2, True),
        (">", 2, 2, False),
    ],
)  # fmt: skip
def test_numbers_have_an_order_and_texts_have_none(sign, value, bound, result):
    assert compare(sign, value, bound) is result


def test_which_value_of_an_input_that_takes_any_number_does_not_fit():
    inputs = Parameter("A", "T"), Parameter("R", "T", "variadic")
    schema = OpSchema("d", "Op", 1, "f", inputs, types={"T": (FLOAT, INT64)})
    assert [each.what for each in misfits(schema, inputs=[FLOAT, FLOAT, INT64])] == [
        "value 2 of the input 'R' is tensor(int64), and 'A' is tensor(float)"
    ]
    assert [each.what for each in misfits(schema, inputs=[None, INT64, FLOAT])] == [
        "value 2 of the input 'R' is tensor(float), and value 1 is tensor(int64)"
    ]
    (missing,) = misfits(schema, inputs=[FLOAT, FLOAT, ""])
    assert (missing.what, missing.name) == ("a value of the input 'R' is missing", "R")
    assert [*misfits(OpSchema("d", "Op", 1, "f"), inputs=[])] == []
