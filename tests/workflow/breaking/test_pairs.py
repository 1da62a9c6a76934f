"""What a pair of versions of an operator says of both."""

from types import SimpleNamespace

import pytest

from opset.schemas.model import Attribute
from opset.workflow.breaking.rules import VersionPair


@pytest.mark.parametrize(
    ("before", "after", "declared", "renamed"),
    [
        ({"a": "int"}, {"b": "int"}, {}, {"a": "b"}),
        ({"a": "int"}, {"b": "float"}, {}, {}),
        ({"a": "int"}, {"b": "float"}, {"b": "a"}, {"a": "b"}),
        ({"a": "int"}, {"b": "int", "c": "int"}, {}, {}),
        ({"a": "int"}, {"b": "int", "c": "float"}, {}, {"a": "b"}),
        ({"a": "int", "c": "int"}, {"b": "int"}, {"b": "c"}, {"c": "b"}),
        ({"a": "int", "c": "int"}, {"b": "int", "d": "int"}, {"b": "c"}, {"c": "b", "a": "d"}),
        ({"a": "int"}, {"a": "int", "b": "int"}, {"b": "a"}, {}),
    ],
)
def test_attributes_are_renamed_as_declared_or_if_one_differs_in_its_name_alone(before, after, declared, renamed):
    def schema(types):
        return SimpleNamespace(attributes={name: Attribute(name, type_) for name, type_ in types.items()})

    change = SimpleNamespace(attributes={name: SimpleNamespace(renamed=old) for name, old in declared.items()})
    new = SimpleNamespace(schema=schema(after), change=change)
    pair = SimpleNamespace(old=SimpleNamespace(schema=schema(before)), new=new, in_place=False)
    assert VersionPair.renamed_attributes.func(pair) == renamed
