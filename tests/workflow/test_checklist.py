"""The text of a contributor's checklist."""

import pytest

from opset.workflow.contribution.checklist import _escape_text


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
