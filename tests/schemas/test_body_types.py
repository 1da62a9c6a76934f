"""Types that function bodies take, followed from the inputs through their nodes."""

import pytest

from opset.opsets.registry import default_registry
from opset.schemas.lint.body_types import refused_types
from opset.schemas.model import FunctionBody, OpSchema, Parameter

REGISTRY = default_registry()
FLOAT, DOUBLE, INT64 = "tensor(float)", "tensor(double)", "tensor(int64)"


def versions(domain, name):
    return REGISTRY.versions(name, domain) if name in REGISTRY.operators(domain) else ()


def refused(nodes, opset=13, domain="com.acme", since=1, inputs=(("X", "T"),), types=None, **more):
    schema = OpSchema(
        domain,
        "Op",
        since,
        "f",
        tuple(Parameter(*each) for each in inputs),
        (Parameter("Y", "T"),),
        types=types or {"T": (FLOAT, DOUBLE, INT64)},
    )
    return dict(refused_types(schema, FunctionBody(opset, nodes, **more), versions))


ONE = "one = Constant <value_float = 1.0> () "
TIED = "Mul takes {} and tensor(float) of one type constraint, T"


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        ("Y = Exp (X)", {INT64: "Exp 13 does not allow tensor(int64) as input"}),
        ("Y = Neg (X)", {}),
        (f"{ONE}Y = Mul (X, one)", {each: TIED.format(each) for each in (DOUBLE, INT64)}),
        (f"{ONE}two = Exp (one) Y = Mul (X, two)", {each: TIED.format(each) for each in (DOUBLE, INT64)}),
        (f"{ONE}like = CastLike (one, X) Y = Mul (X, like)", {}),
        (f"{ONE}cast = Cast <to = 1> (X) Y = Mul (cast, one)", {}),
        (f"{ONE}cast = Cast <to = 11> (X) Y = Mul (cast, one)",
         dict.fromkeys((FLOAT, DOUBLE, INT64), TIED.format(DOUBLE))),
        (f"{ONE}cast = Cast <saturate = 1, to = 11> (X) Y = Mul (cast, one)",
         dict.fromkeys((FLOAT, DOUBLE, INT64), TIED.format(DOUBLE))),
        (f"{ONE}cast = Cast <to = 99> (X) Y = Mul (cast, one)", {}),
        (f"{ONE}cast = Cast <to: int = @by> (X) Y = Mul (cast, one)", {}),
        ("cast = Cast <to = 99> (X) Y = Sum (cast, X)", {INT64: f"Sum 13 does not allow {INT64} as data_0"}),
        ("sizes = Shape (X) Y = Mul (X, sizes)", {
            each: f"Mul takes {each} and {INT64} of one type constraint, T" for each in (FLOAT, DOUBLE)
        }),
        (f"{ONE}Y = Sum (X, X, one)", {
            DOUBLE: f"Sum takes {DOUBLE} and {FLOAT} of one type constraint, T",
            INT64: f"Sum 13 does not allow {INT64} as data_0",
        }),
        (f"{ONE}found = com.acme.F (X) Y = Mul (X, one)", {}),
        (f"{ONE}found = NoSuch (X) Y = Mul (X, one)", {}),
        ("Y = Mul X", {}),
        ("zero = Constant <value_string = \"a\"> () Y = Mul (X, zero)",
         dict.fromkeys((FLOAT, DOUBLE, INT64), "Mul 13 does not allow tensor(string) as B")),
        ("a = Constant <value = float {1}> () Y = Mul (X, a)", {}),
        ("Y = Clip (X, , X)", {}),
    ],
)  # fmt: skip
def test_types_that_a_node_does_not_take(nodes, found):
    assert refused(nodes) == found


def test_constants_have_the_type_of_their_attribute():
    for name, type_ in {"int = 1": INT64, "ints = [1]": INT64, "float = 1.0": FLOAT, "floats = [1.0]": FLOAT}.items():
        wrong = {FLOAT, DOUBLE, INT64} - {type_}
        assert set(refused(f"a = Constant <value_{name}> () Y = Mul (X, a)")) == wrong
    strings = refused('a = Constant <value_strings = ["a"]> () Y = Mul (X, a)')
    assert set(strings) == {FLOAT, DOUBLE, INT64}


def test_the_types_of_a_body_are_those_that_it_names_without_those_that_it_emulates():
    nodes = f"{ONE}Y = Mul (X, one)"
    assert set(refused(nodes, types={"T": (DOUBLE, FLOAT)})) == {DOUBLE}
    assert refused(nodes, emulate={"double": "float", "int64": "float"}) == {}
    assert set(refused(nodes, emulate={"double": "float"})) == {INT64}


def test_other_inputs_are_of_any_of_their_types_or_of_the_one_that_they_have():
    inputs = (("X", "T"), ("K", "U"), ("B", INT64))
    nodes = "Y = Mul (X, K) Z = Mul (K, B)"
    one, many = {"T": (FLOAT, INT64), "U": (FLOAT,)}, {"T": (FLOAT, INT64), "U": (FLOAT, INT64)}
    assert set(refused("Y = Mul (X, K)", inputs=inputs, types=one)) == {INT64}
    assert refused("Y = Mul (X, K)", inputs=inputs, types=many) == {}
    assert set(refused(nodes, inputs=inputs, types=many)) == {FLOAT}
    assert set(refused("Y = Mul (X, B)", inputs=inputs, types=many)) == {FLOAT}


@pytest.mark.parametrize(
    ("opset", "domain", "since", "found"),
    [(6, "com.acme", 1, {INT64}), (13, "com.acme", 1, set()), (6, "", 13, set()), (6, "", 11, {INT64})],
)
def test_a_body_serves_from_its_opset_or_that_of_its_version_on(opset, domain, since, found):
    # Before version 12, Max took floats alone.
    assert set(refused("Y = Max (X, X)", opset, domain, since)) == found
