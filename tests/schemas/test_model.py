"""Schemas and examples as data: how many values a node may have, and for which versions examples hold."""

import pytest

from opset.schemas.example import Example, ExampleValue, example_versions, is_random
from opset.schemas.model import SIGNATURE, FunctionBody, OpSchema, Parameter, is_old_value
from opset.schemas.names import advise_name, domain_name, near_miss, normalize_domain

MANY = 2**31 - 1


@pytest.mark.parametrize(
    ("value", "old", "equal"),
    [([], 1, True), ([1, 1], 1, True), ((1, 2), 1, False), (1, 1, False), (1, 0, True), (2, 0, False)],
)
def test_the_value_with_which_nothing_changes_may_be_a_list_of_any_length(value, old, equal):
    assert is_old_value(value, {"all": 1} if old else 1) is equal


def parameters(*options, least=1):
    return tuple(Parameter(f"p{n}", "T", each, min_arity=least) for n, each in enumerate(options))


@pytest.mark.parametrize(
    ("listed", "arity"),
    [
        (parameters(), (0, 0)),
        (parameters("single", "single"), (2, 2)),
        (parameters("single", "optional"), (1, 2)),
        (parameters("optional", "single", "optional", "optional"), (2, 4)),
        (parameters("variadic"), (1, MANY)),
        (parameters("variadic", least=0), (0, MANY)),
        (parameters("single", "optional", "variadic", least=2), (4, MANY)),
    ],
)
def test_how_many_values_a_node_may_have(listed, arity):
    schema = OpSchema("", "Op", 1, "f", inputs=listed)
    assert (schema.min_input, schema.max_input, schema.min_output, schema.max_output) == (*arity, 0, 0)
    schema = OpSchema("", "Op", 1, "f", outputs=listed)
    assert (schema.min_input, schema.max_input, schema.min_output, schema.max_output) == (0, 0, *arity)
    schema = OpSchema("", "Op", 1, "f", listed, listed, unknown=SIGNATURE)
    assert (schema.min_input, schema.max_input, schema.min_output, schema.max_output) == (0, MANY, 0, MANY)
    schema = OpSchema("", "Op", 1, "f", listed, listed, unknown="types")
    assert (schema.min_input, schema.max_input, schema.min_output, schema.max_output) == (0, arity[1], 0, arity[1])


def test_a_parameter_has_the_types_of_its_constraint_or_its_own():
    schema = OpSchema("", "Op", 1, "f", types={"T": ("tensor(float)",)})
    assert schema.allowed_types(Parameter("X", "T")) == ("tensor(float)",)
    assert schema.allowed_types(Parameter("X", "tensor(int64)")) == ("tensor(int64)",)


def test_of_function_bodies_for_the_same_nodes_the_first_that_is_old_enough_serves():
    where = (("a", "given"),)
    bodies = FunctionBody(18, "x"), FunctionBody(13, "y", where), FunctionBody(13, "y"), FunctionBody(7, "z", where)
    schema = OpSchema("", "Op", 1, "f", function=bodies)
    assert [schema.function_bodies(each) for each in (20, 18, 17, 13, 12, 6)] == [
        bodies[:2],
        bodies[:2],
        bodies[1:3],
        bodies[1:3],
        bodies[3:],
        (),
    ]
    floats = FunctionBody(13, "y", types={"T": ("tensor(float)",)})
    schema = OpSchema("", "Op", 1, "f", function=(*bodies[2:3], floats))
    assert schema.function_bodies(13) == (bodies[2], floats)


def test_an_example_holds_from_a_version_to_another():
    assert example_versions(Example("a", 7, 13), [6, 7, 12, 13, 14]) == [7, 12, 13]
    assert example_versions(Example("a", 7), [6, 7, 14]) == [7, 14]


@pytest.mark.parametrize(
    ("outputs", "found"),
    [
        (None, False),
        ((None,), False),
        ((ExampleValue("tensor(float)", [1], (1,)),), False),
        ((ExampleValue("optional(tensor(float))", None),), False),
        ((None, ExampleValue("tensor(float)", None, (2,))), True),
    ],
)
def test_an_output_without_elements_is_random(outputs, found):
    assert is_random(Example("a", 1, outputs=outputs)) is found


def test_a_domain_has_one_name_and_is_shown_by_another():
    assert [normalize_domain(each) for each in ("", "ai.onnx", "ai.onnx.ml")] == ["", "", "ai.onnx.ml"]
    assert [domain_name(each) for each in ("", "ai.onnx.ml")] == ["ai.onnx", "ai.onnx.ml"]


def test_near_names_are_suggested_and_far_ones_are_not():
    assert near_miss("flot", ["x", "float", "flow", "floats", "floor"]) == "did you mean float or floats or flow?"
    assert near_miss("relu", ["Selu", "Relu", "Gelu"]) == "did you mean Relu?"
    assert near_miss("flot", []) == near_miss("flot", ["zebra"]) == ""
    assert near_miss("a" * 100 + "b" * 900, ["a" * 100]) == f"did you mean {'a' * 100}?"


def test_where_no_name_is_near_a_few_are_listed():
    assert advise_name("flot", ["zebra", "", "float"]) == "did you mean float?"
    assert advise_name("q", ["zebra", ""]) == "known: zebra" and advise_name("q", [""]) == ""
    assert advise_name("q", "hgfedcbaa") == "known: a, b, c, d, e, f, g, h" and advise_name("q", "abcdefghi") == ""


@pytest.mark.parametrize(("more", "found"), [([], True), (["x"], False)])
def test_so_many_names_are_compared(more, found):
    known = [*["x" * 10] * 499, *more, "abcdefghij"]  # 50,000 pairs of characters, or 10 more
    assert bool(near_miss("abcdefghij", known)) is found
