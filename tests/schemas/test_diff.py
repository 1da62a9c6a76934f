"""The computed difference of signatures."""

import itertools
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from opset.opsets.registry import default_registry
from opset.schemas.diff import compact_diff, signature_diff
from opset.schemas.index import FOLDER
from opset.schemas.model import Attribute, OpSchema, Parameter
from opset.schemas.yaml.loader import load_sets
from tests.bounds import draws
from tests.released import is_released

REGISTRY = default_registry()
SCHEMAS = [
    schema
    for domain in REGISTRY.domains
    for name in REGISTRY.operators(domain)
    for schema in REGISTRY.versions(name, domain)
]
TRANSITIONS = [
    pair
    for domain in REGISTRY.domains
    for name in REGISTRY.operators(domain)
    for versions in [REGISTRY.versions(name, domain)]
    for pair in itertools.pairwise(versions)
]


def schema(*inputs, since=1, attributes=(), **more):
    return OpSchema("", "A", since, "f", inputs, attributes={a.name: a for a in attributes}, **more)


def test_432_transitions_are_released_and_each_declares_its_difference():
    assert sum(is_released(new) for _, new in TRANSITIONS) == 432
    for old, new in TRANSITIONS:
        assert json.dumps(signature_diff(old, new), sort_keys=True) == json.dumps(new.change.diff, sort_keys=True)


def test_46_transitions_have_equal_signatures_but_for_determinism():
    equal = [new for old, new in TRANSITIONS if not signature_diff(old, new).keys() - {"determinism"}]
    assert sum(map(is_released, equal)) == 46
    assert all(new.change.meaning or new.change.clarified for new in equal)


def test_nothing_differs_from_itself():
    assert all(signature_diff(each, each) == {} for each in SCHEMAS)


def test_flags():
    new = schema(deprecated=True, experimental=True, determinism="unknown")
    assert signature_diff(schema(), new) == {
        "deprecated": True,
        "experimental": True,
        "determinism": ["deterministic", "unknown"],
    }
    assert signature_diff(new, schema())["deprecated"] is False


def test_parameters():
    a, b, c = Parameter("a", "T"), Parameter("b", "T"), Parameter("c", "T")
    assert signature_diff(schema(a), schema(a, b)) == {"inputs": {"added": ["b"]}}
    assert signature_diff(schema(a, b), schema(a)) == {"inputs": {"removed": ["b"]}}
    assert signature_diff(schema(a, b), schema(a, c)) == {"inputs": {"renamed": {"b": "c"}}}
    assert signature_diff(schema(a, b), schema(b, a)) == {"inputs": {"order": ["b", "a"]}}
    assert signature_diff(schema(a, b), schema(a, c, b)) == {"inputs": {"added": ["c"]}}
    assert signature_diff(schema(a, b, c), schema(c)) == {"inputs": {"removed": ["a", "b"]}}
    wide = Parameter("b", "tensor(int64)", "variadic", False, 0, True)
    assert signature_diff(schema(a), schema(wide)) == {
        "inputs": {
            "renamed": {"a": "b"},
            "retyped": {"b": ["T", "tensor(int64)"]},
            "arity": {"b": ["single", "variadic"]},
            "homogeneous": {"b": [True, False]},
            "min_arity": {"b": [1, 0]},
        }
    }


def test_differentiability_is_no_difference():
    assert signature_diff(schema(Parameter("a", "T")), schema(Parameter("a", "T", differentiable=True))) == {}


def test_attributes():
    def diff(old, new):
        return signature_diff(schema(attributes=old), schema(attributes=new)).get("attributes", {})

    one, required = Attribute("a", "int", 1), Attribute("a", "int", required=True)
    assert diff([], [one]) == {"a": {"added": "int", "default": 1}}
    assert diff([], [required]) == {"a": {"added": "int", "required": True}}
    assert diff([one], []) == {"a": {"removed": "int"}}
    assert diff([one], [required]) == {"a": {"default": [1, None], "required": [False, True]}}
    assert diff([one], [Attribute("a", "float", 1.0)]) == {"a": {"type": ["int", "float"], "default": [1, 1.0]}}
    assert diff([Attribute("a", "ints", (1, 2))], [Attribute("a", "ints", (1,))]) == {"a": {"default": [[1, 2], [1]]}}
    minus = diff([Attribute("a", "float", 0.0)], [Attribute("a", "float", -0.0)])
    assert repr(minus) == "{'a': {'default': [0.0, -0.0]}}"


def test_types():
    old, new = {"T": ("a", "b"), "U": ("c",)}, {"T": ("b", "d"), "V": ("c",)}
    assert signature_diff(schema(types=old), schema(types=new)) == {
        "types": {"T": ["+d", "-a"], "U": "gone", "V": "new"}
    }


def test_a_compact_difference_uses_sets_and_short_numbers():
    sets = load_sets(FOLDER / "types.yaml")
    tensors = tuple(sorted(sets["floats"]))
    old = schema(types={"T": tensors}, attributes=[Attribute("a", "float", 9.999999747378752e-06)])
    new = schema(types={"T": sets["numeric_ir4"]})
    assert compact_diff(signature_diff(old, new), sets) == {
        "attributes": {"a": {"removed": "float"}},
        "types": {"T": ["+ints", "+bfloat16"]},
    }
    assert compact_diff(signature_diff(new, old), sets) == {
        "attributes": {"a": {"added": "float", "default": 1e-05}},
        "types": {"T": ["-ints", "-bfloat16"]},
    }


NAMES = st.lists(st.sampled_from("abcdef"), unique=True, max_size=5)


@settings(max_examples=draws(300))
@given(NAMES, NAMES)
def test_the_new_names_follow_from_the_old_ones_and_the_difference(old, new):
    # Removing, renaming and adding what the difference says gives the new names; `order` is there if they moved.
    diff = signature_diff(
        schema(*(Parameter(name, "T") for name in old)), schema(*(Parameter(name, "T") for name in new))
    ).get("inputs", {})
    renamed = diff.get("renamed", {})
    stayed = [renamed.get(name, name) for name in old if name not in diff.get("removed", [])]
    assert set(stayed) | set(diff.get("added", [])) == set(new)
    assert len(stayed) + len(diff.get("added", [])) == len(new)
    in_new = [name for name in new if name in stayed]
    assert diff.get("order", stayed) == in_new
    assert ("order" in diff) == (stayed != in_new)
