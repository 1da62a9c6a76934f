"""Which examples answer the items of the checklist that ask for them, and how an item is left out."""

from types import SimpleNamespace

import pytest

from opset.opsets.registry import default_registry
from opset.schemas.constraints.signature import AXES, AXIS, DATA_TYPE
from opset.schemas.example import Example, ExampleValue
from opset.schemas.model import OPTIONAL, VARIADIC, Attribute, Parameter
from opset.workflow.contribution.example_checks import (
    _constraint_against_scalars,
    _has_negative,
    _is_special,
    check_broadcasting,
    check_constraints,
    check_empty_tensors,
    check_nan_and_infinities,
    check_negative_axes,
    check_scalars,
    check_uses,
)
from opset.workflow.contribution.reviewed_version import MISSING, NOT_APPLICABLE, OPEN, PASSED
from opset.workflow.contribution.type_checks import _example_of_type

NAN, INFINITY = float("nan"), float("inf")


def tensor(content, shape, element="float"):
    return ExampleValue(f"tensor({element})", content, shape)


VECTOR, SCALAR, EMPTY = tensor([1.0], (1,)), tensor(1.0, ()), tensor([], (0, 2))
INTEGERS = tensor([1], (1,), "int64")
SEQUENCE = ExampleValue("seq(tensor(float))", [], None)
FLOATS = (Parameter("X", "tensor(float)"),)


def example(name="it", *inputs, error="", **attributes):
    """An example with outputs, or one that breaks the constraint `error`."""
    outputs = None if error else (VECTOR,)
    return Example(name, 1, attributes=attributes, inputs=inputs, outputs=outputs, error=error)


def reviewed(examples=(), attributes=(), inputs=FLOATS, ignored=(), **more):
    """A version under review; a place in its file is the path of keys to it."""
    schema = SimpleNamespace(
        inputs=tuple(inputs),
        attributes={each.name: each for each in attributes},
        conditions=more.pop("conditions", ()),
        shape=more.pop("shape", ""),
        allowed_types=lambda parameter: (parameter.type,),
    )
    change = SimpleNamespace(attributes={name: SimpleNamespace(ignored=True) for name in ignored})
    return SimpleNamespace(
        schema=schema,
        operator=SimpleNamespace(transitions=[SimpleNamespace(change=change)]),
        examples=[*examples],
        examples_with_outputs=[each for each in examples if not each.error],
        docs=SimpleNamespace(special_cases=[SimpleNamespace(text=each) for each in more.pop("cases", ())]),
        first_tensor=next((each for each in inputs if each.type.startswith("tensor(")), None),
        place_of=lambda *keys: ".".join(keys) or "since",
        example_place=lambda each: f"example {each.name}",
        examples_place="examples",
        **more,
    )


def found(check, version):
    """The evidence of a check: its state, its message and its place."""
    return [(each.state, each.why, each.place) for each in check(version)]


USED = [(PASSED, "every attribute, choice and optional input is in an example", "examples")]


def unused(*messages):
    return [(MISSING, f"no example {each}", f"{place}s.{name}") for each, place, name in messages]


@pytest.mark.parametrize(
    ("declared", "examples", "missing"),
    [
        ({}, [example()], ["sets a"]),
        ({}, [example(a=1)], []),
        ({"default": 2}, [example()], ["sets a"]),
        ({"default": 2}, [example(error="C1", a=1)], []),
        ({"default": 2, "choices": (1, 2)}, [example(a=1)], ["has the choice 2 of a"]),
        ({"default": 2, "choices": (1, 2)}, [example(a=1), example()], []),
        ({"default": 2, "choices": (1, 2)}, [example(a=1), example(error="C1")], ["has the choice 2 of a"]),
        ({"default": 2, "choices": (1, 2, 4)}, [example()], ["sets a", *(f"has the choice {n} of a" for n in (1, 4))]),
        ({"choices": ("none", "x")}, [example(a="x"), example()], ["has the choice 'none' of a"]),
        ({"choices": ("Up", "down")}, [example(a="UP"), example()], ["has the choice 'down' of a"]),
        ({"choices": ("x", "y", "z"), "type": "strings"}, [example(a=("x", "z"))], ["has the choice 'y' of a"]),
        ({"choices": (1, 2), "kind": DATA_TYPE}, [example(a=1)], []),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_ignored", [False, True])
def test_uses_of_an_attribute(declared, examples, missing, is_ignored):
    attribute = Attribute(**{"name": "a", "type": "int", "default": None, **declared})
    version = reviewed(examples, [attribute], ignored=["a", "b"] if is_ignored else ["b"])
    if is_ignored:
        missing = [each for each in missing if each != "sets a"]
    assert found(check_uses, version) == (unused(*((each, "attribute", "a") for each in missing)) or USED)


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ([], ["gives the optional input n", "leaves out the optional input n"]),
        ([(VECTOR, VECTOR)], ["leaves out the optional input n"]),
        ([(VECTOR,)], ["gives the optional input n"]),
        ([(VECTOR, None)], ["gives the optional input n"]),
        ([(VECTOR, None), (VECTOR, VECTOR)], []),
        ([(VECTOR,), (VECTOR, VECTOR)], []),
    ],
)
def test_uses_of_an_optional_input(given, missing):
    inputs = (Parameter("X", "tensor(float)"), Parameter("n", "tensor(float)", OPTIONAL))
    examples = [*(example("it", *each) for each in given), example("broken", VECTOR, VECTOR, error="C1")]
    version = reviewed(examples, inputs=inputs)
    assert found(check_uses, version) == (unused(*((each, "input", "n") for each in missing)) or USED)


def passed(name):
    return [(PASSED, f"the example {name}", f"example {name}")]


def lacking(what):
    return [(MISSING, f"no example has {what}", "examples")]


NO_TENSOR = [(NOT_APPLICABLE, "none of its inputs is a tensor", "inputs")]
OF_SEQUENCES = (Parameter("S", "seq(tensor(float))"),)


@pytest.mark.parametrize(
    ("examples", "inputs", "evidence"),
    [
        ([example("a", VECTOR), example("b", None, EMPTY), example("c", EMPTY)], None, passed("b")),
        ([example("a", EMPTY, error="C1")], None, passed("a")),
        ([example("a", VECTOR, SCALAR), example("b", SEQUENCE)], None, lacking("an empty tensor")),
        ([example("a", EMPTY)], OF_SEQUENCES, NO_TENSOR),
    ],
)
def test_an_empty_tensor(examples, inputs, evidence):
    version = reviewed(examples, **({"inputs": inputs} if inputs else {}))
    assert found(check_empty_tensors, version) == evidence


@pytest.mark.parametrize(
    ("examples", "inputs", "evidence"),
    [
        ([example("a", VECTOR), example("b", SCALAR), example("c", SCALAR)], "X", passed("b")),
        ([example("a", VECTOR, SCALAR)], "X", lacking("a scalar as X")),
        ([example("a", SEQUENCE, SCALAR)], "SX", passed("a")),
        ([example("a", SEQUENCE)], "SX", lacking("a scalar as X")),
        ([example("a", SEQUENCE, None), example("b", SEQUENCE, SCALAR)], "SX", passed("b")),
        ([example("a", ExampleValue("seq(tensor(float))", [], ()))], "X", lacking("a scalar as X")),
        ([example("a", SCALAR)], "S", NO_TENSOR),
    ],
)
def test_a_scalar(examples, inputs, evidence, monkeypatch):
    kinds = {"X": Parameter("X", "tensor(float)"), "S": OF_SEQUENCES[0]}
    version = reviewed(examples, inputs=[kinds[each] for each in inputs])
    against = []
    monkeypatch.setattr(
        "opset.workflow.contribution.example_checks._constraint_against_scalars",
        lambda version, index: against.append(index) or "",
    )
    assert found(check_scalars, version) == evidence
    assert against == ([len(inputs) - 1] if evidence[0][0] == MISSING else [])
    monkeypatch.setattr(
        "opset.workflow.contribution.example_checks._constraint_against_scalars", lambda version, index: "C1: one"
    )
    if evidence[0][0] == MISSING:
        evidence = [(NOT_APPLICABLE, "X cannot be a scalar: C1: one", "inputs.X")]
    assert found(check_scalars, version) == evidence


@pytest.mark.parametrize(
    ("operator", "index", "why"),
    [
        ("MatMul", 0, "C1: one"),
        ("Gemm", 1, "C1: one"),
        ("Gemm", 2, ""),
        ("Conv", 2, "C7: "),
        ("Relu", 0, ""),
    ],
)
def test_a_constraint_that_forbids_scalars(operator, index, why):
    docs = SimpleNamespace(constraints={"C1": "one"})
    version = SimpleNamespace(schema=default_registry().versions(operator)[-1], docs=docs)
    assert _constraint_against_scalars(version, index) == why


@pytest.mark.parametrize(
    ("value", "negative"),
    [
        (-1, True),
        (0, False),
        ([0, -1], True),
        ((1, -2), True),
        ([], False),
        (None, False),
        (-1.0, False),
        ("-1", False),
    ],
)
def test_a_negative_axis_is_an_integer_below_zero(value, negative):
    assert _has_negative(value) is negative


@pytest.mark.parametrize(
    ("attribute", "examples", "evidence"),
    [
        ({"kind": AXIS}, [example("a"), example("b", a=-1)], passed("b")),
        ({"kind": AXIS}, [example("a", a=1), example("b", error="C1", a=-1)], lacking("a negative a")),
        ({"kind": AXES}, [example("a", a=(0, -1))], passed("a")),
        ({"kind": AXIS, "default": -1}, [example("a", a=1), example("b")], passed("b")),
        ({"kind": AXIS, "default": -1}, [example("a", a=1)], lacking("a negative a")),
        ({"kind": AXIS, "range": "-rank <= x < rank"}, [example("a", a=-1)], passed("a")),
        ({"kind": AXIS, "range": ">= 0"}, [example("a", a=-1)], "none"),
        ({"kind": AXIS, "range": "0 <= x < rank"}, [example("a", a=-1)], "none"),
        ({"kind": ""}, [example("a", a=-1)], "none"),
    ],
)
def test_a_negative_axis_as_an_attribute(attribute, examples, evidence):
    version = reviewed(examples, [Attribute(**{"name": "a", "type": "int", "default": None, **attribute})])
    none = [(NOT_APPLICABLE, "it has no axis that may be negative", "since")]
    assert found(check_negative_axes, version) == (none if evidence == "none" else evidence)


@pytest.mark.parametrize("name", ["axis", "axes", "size"])
@pytest.mark.parametrize(
    ("second", "negative"),
    [((), False), ((None,), False), ((tensor([-1], (1,), "int64"),), True), ((tensor([1], (1,), "int64"),), False)],
)
def test_a_negative_axis_as_an_input(name, second, negative):
    version = reviewed(
        [example("a", VECTOR), example("b", VECTOR, *second)],
        inputs=(Parameter("X", "tensor(float)"), Parameter(name, "tensor(int64)")),
    )
    none = [(NOT_APPLICABLE, "it has no axis that may be negative", "since")]
    given = passed("b") if negative else lacking(f"a negative element of {name}")
    assert found(check_negative_axes, version) == (none if name == "size" else given)


@pytest.mark.parametrize(
    ("content", "special"),
    [
        ([1.0, NAN], True),
        ([INFINITY], True),
        (-INFINITY, True),
        (1.0, False),
        ([], False),
        (None, False),
        (["nan"], False),
        ([2**70], False),
    ],
)
def test_values_that_are_no_numbers(content, special):
    assert _is_special(tensor(content, None)) is special


NAMED = "NaN or an infinity, which its special cases name"


@pytest.mark.parametrize(
    ("inputs", "cases", "element", "evidence"),
    [
        ([VECTOR, tensor([NAN], (1,))], ["Negative values become 0."], "float", passed("1")),
        ([VECTOR], ["NaN stays NaN."], "float", lacking(NAMED)),
        ([VECTOR], ["An infinity stays.", "Else."], "double", lacking(NAMED)),
        ([VECTOR], ["NaNs stay."], "float", "open"),
        ([VECTOR], [], "bfloat16", "open"),
        ([INTEGERS], ["NaN stays NaN."], "int64", "none"),
    ],
)
def test_an_example_of_nan_and_infinities(inputs, cases, element, evidence):
    examples = [example(str(at), each) for at, each in enumerate(inputs)]
    version = reviewed(examples, cases=cases, inputs=(OF_SEQUENCES[0]._replace(type="tensor(int32)"),
                                                      Parameter("X", f"tensor({element})")))  # fmt: skip
    others = {
        "open": [(OPEN, "neither an example nor a special case has NaN or infinities", "special_cases")],
        "none": [(NOT_APPLICABLE, "none of its inputs is of floats", "types")],
    }
    assert found(check_nan_and_infinities, version) == (others[evidence] if isinstance(evidence, str) else evidence)
    helps = {PASSED: "", NOT_APPLICABLE: "", MISSING: "add one: inputs: [{float: [.nan, .inf]}], or state why",
             OPEN: "add an example, or state that it moves elements"}  # fmt: skip
    assert all(each.help.startswith(helps[each.state]) for each in check_nan_and_infinities(version))


@pytest.mark.parametrize(
    ("shape", "kinds", "examples", "evidence"),
    [
        ("broadcast(A, B)", [], [example("a", VECTOR, VECTOR), example("b", VECTOR, SCALAR)], passed("b")),
        ("onto(A, B)", [], [example("a", VECTOR, None, EMPTY)], passed("a")),
        ("", ["rank", "broadcast"], [example("a", VECTOR, EMPTY)], passed("a")),
        ("broadcast(A, B)", [], [example("a", VECTOR, SEQUENCE)], "lacking"),
        ("broadcast(A, B)", [], [example("a", VECTOR, SCALAR, error="C1")], "lacking"),
        ("same(A)", ["rank"], [example("a", VECTOR, SCALAR)], "none"),
        ("like_broadcast(A)", [], [example("a", VECTOR, SCALAR)], "none"),
    ],
)
def test_an_example_of_broadcasting(shape, kinds, examples, evidence):
    conditions = [SimpleNamespace(kind=each, subject="A") for each in kinds]
    others = {
        "lacking": lacking("inputs of different shapes, which are broadcast"),
        "none": [(NOT_APPLICABLE, "it does not broadcast", "shape")],
    }
    version = reviewed(examples, shape=shape, conditions=conditions)
    assert found(check_broadcasting, version) == (others[evidence] if isinstance(evidence, str) else evidence)


def test_which_constraints_examples_break():
    """An example that holds for another version counts if the constraint says the same there."""

    def broken(name, since, until, error):
        return Example(name, since, until=until, error=error)

    docs = [SimpleNamespace(constraints=each) for each in ({"C1": "new", "C2": "same"}, {"C1": "old", "C2": "same"})]
    version = reviewed(
        attributes=[Attribute("a", "int", 0, constraint="C3"), Attribute("b", "int", 0, constraint="C3")]
    )
    version.operator.schemas = [SimpleNamespace(since_version=each) for each in (2, 1)]
    version.operator.docs = docs
    version.operator.examples = [
        example("fine"),
        broken("first", 1, 1, "C1"),
        broken("second", 1, 1, "C2"),
        broken("third", 1, None, "C2"),
    ]
    version.docs = SimpleNamespace(constraints={"C1": "new", "C2": "same", "C3": "more"})
    assert found(check_constraints, version) == [
        (MISSING, "no example breaks C1: new", "constraints.C1"),
        (PASSED, "C2 is broken by the example second", "example second"),
        (MISSING, "no example breaks C3: more", "attributes.a"),
    ]
    assert [each.help for each in check_constraints(version)] == [
        "add an example with 'error: C1'", "", "add an example with 'error: C3'"
    ]  # fmt: skip
    version.docs = SimpleNamespace(constraints={})
    assert found(check_constraints, version) == [(NOT_APPLICABLE, "it has no constraints", "since")]


@pytest.mark.parametrize(
    ("option", "inputs", "indices", "found"),
    [
        ("single", (VECTOR, INTEGERS), [0], ""),
        ("single", (VECTOR, INTEGERS), [1], "it"),
        ("single", (VECTOR, INTEGERS), [0, 1], "it"),
        ("single", (INTEGERS,), [1], ""),
        ("single", (None, INTEGERS), [0], ""),
        (VARIADIC, (VECTOR, INTEGERS), [0], "it"),
        (VARIADIC, (VECTOR, None, VECTOR), [0], ""),
    ],
)
def test_an_example_that_has_a_type(option, inputs, indices, found):
    formals = [Parameter(each, "T", option) for each in "XY"]
    examples = [example("broken", INTEGERS, INTEGERS, error="C1"), example("it", *inputs), example("later", *inputs)]
    one = _example_of_type(reviewed(examples, inputs=formals), indices, "tensor(int64)")
    assert (one.name if one else "") == found
