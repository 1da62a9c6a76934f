"""Parts of a contributor's checklist: its text, and the examples that it looks for."""

from types import SimpleNamespace

import pytest

from opset.schemas.example import Example, ExampleValue
from opset.workflow.contribution.checklist import _escape_text
from opset.workflow.contribution.type_checks import _example_of_type


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b", r"a\_b"),
        ("`a_b` is [x]", r"`a_b` is \[x\]"),
        ("a_b `c_d", r"a\_b 'c\_d"),
        ("`a_b` `c_d", r"'a\_b' 'c\_d"),
        ("`a_b`, `c_d` #1", r"`a_b`, `c_d` \#1"),
        ("`a` `b` `c_", r"'a' 'b' 'c\_"),
    ],
)
def test_markdown_is_escaped_but_for_code(text, escaped):
    assert _escape_text(text) == escaped


@pytest.mark.parametrize(
    ("option", "types", "indices", "found"),
    [
        ("single", [["int8"]], [0], 0),
        ("single", [["float"], ["int8"]], [0], 1),
        ("single", [["float", "int8"]], [0], None),
        ("single", [["float", "int8"]], [0, 1], 0),
        ("optional", [[None, "float"], [None]], [0], None),
        ("variadic", [["float"], ["float", None, "int8"]], [0], 1),
        ("variadic", [["int8", "float"]], [1], None),
    ],
)
def test_an_example_of_a_type_has_it_at_one_of_the_inputs(option, types, indices, found):
    inputs = [SimpleNamespace(option=option)] * 2
    examples = [
        Example(str(at), 1, inputs=tuple(each and ExampleValue(f"tensor({each})", [1], (1,)) for each in several))
        for at, several in enumerate(types)
    ]
    version = SimpleNamespace(examples_with_outputs=examples, schema=SimpleNamespace(inputs=inputs))
    assert _example_of_type(version, indices, "tensor(int8)") == (None if found is None else examples[found])
