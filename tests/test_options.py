"""Options of the public functions in Python: one of another kind is an error of the project, before any work."""

import contextlib
import inspect
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import opset
from opset import Limits, UsageError
from opset.opsets.registry import Registry
from opset.options import _KINDS, _MESSAGES, checked_options
from tests.cli.commands import SMALL

FUNCTIONS = {name: getattr(opset, name) for name in dir(opset) if inspect.isfunction(getattr(opset, name))}
FUNCTIONS["ReferenceEvaluator"] = opset.ReferenceEvaluator
ELSEWHERE = {
    "model", "models", "source", "before", "after", "old", "new", "first", "second", "data",  # what is worked on
    "to", "release", "runtime", "assume_opset",  # U101, as on the command line
    "prefixes", "options", "skip_opset_compatibility_check", "check_custom_domain",
}  # fmt: skip
"""Parameters that are looked at by what reads them."""
EACH = [(name, each) for name, function in FUNCTIONS.items() for each in inspect.signature(function).parameters]


def call(name, option, value):
    """Call a function with one option; what it works on comes to nothing."""
    parameters = inspect.signature(FUNCTIONS[name]).parameters
    needed = {key: onnx.NodeProto() if key in _MESSAGES else "" for key, each in parameters.items()
              if each.default is each.empty and each.kind is not each.VAR_KEYWORD}  # fmt: skip
    if "text" in needed or "operators" in needed or "op_type" in needed:
        needed = dict.fromkeys(needed, "y")
    if "sizes" in needed:
        needed["sizes"] = {}
    return FUNCTIONS[name](**{**needed, option: value})


@pytest.mark.parametrize(("name", "option"), EACH, ids=[f"{name}-{option}" for name, option in EACH])
def test_each_option_is_checked_at_the_door(name, option):
    if option in ELSEWHERE:
        return
    for value in object(), [object()]:
        with pytest.raises(UsageError) as caught:
            call(name, option, value)
        finding = caught.value.findings[0]
        assert finding.code == "U103" and finding.message.startswith(f"the option '{option}' of {name} cannot be ")
        assert "and has to be" in finding.why and f"write {option}=" in finding.help


BAD = {
    "limits": [5, "2G", {"timeout": 3}],
    "dims": [["batch"], "batch=2", {3: 2}, {"batch": 2, 3: 2}],
    "sizes": [["batch"], None],
    "strict": ["no", 2, None, np.array([1, 0])],
    "seed": ["1", -1, 2.5, True],
    "seeds": [-1, "3", 2.5],
    "rtol": ["a", -1, float("nan"), True],
    "schemas": [3, None],
    "targets": [3, None, [3]],
    "allow_external_roots": [None, [3]],
    "freeze": [3, None, [3], {"axes": 1}],
    "ir_version": ["8", 8.5, 0, True],
    "opsets": [2.5, "17", {"ai.onnx": "17"}, {"ai.onnx": 17, "com.acme": "1"}, -1],
    "operators": [None, 3, {"Gelu": 1}],
    "connect": [3, ["a"], [("a",)], [("a", "b"), ("a",)], {"a": 3}],
    "seconds": [-1, "3", None],
    "max_tries": ["3", 2.5, None],
    "failing": [3, [3], ["true", 3]],
    "select": [3, ["M1", 3]],
    "text": [b"y = Relu (x)", None],
    "version": ["13", 2.5, np.array([13])],
    "limit": [-1, "a"],
    "trace": [3],
    "jobs": ["2", 2.5],
    "executor": [3],
}
TAKES = {option: name for name, option in reversed(EACH)}


@pytest.mark.parametrize("option", BAD)
def test_a_value_that_is_odd_or_taken_in_silence_elsewhere(option):
    for value in BAD[option]:
        with pytest.raises(UsageError, match="U103"):
            call(TAKES[option], option, value)


@pytest.mark.parametrize(
    ("limit", "value"),
    [(limit, value) for limit in ("max_steps", "max_bytes", "timeout")
     for value in ("2G", -3, float("nan"), float("inf"), True, [1], np.array([1]))]
    + [("max_steps", 2.5), ("max_bytes", 1e9)],
)  # fmt: skip
def test_a_limit_is_a_number(limit, value):
    with pytest.raises(UsageError) as caught:
        Limits(**{limit: value})
    assert caught.value.code == "U103" and f"the limit '{limit}' cannot be" in caught.value.message
    words = "a number of seconds" if limit == "timeout" else "an integer"
    assert caught.value.why == f"it has to be {words}, 0 or greater"
    assert f"write {limit}=" in caught.value.findings[0].help


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("ir_version", [1, np.int64(1)]),
        ("strict", [0, 1, False, np.bool_(False)]),
        ("version", [13, np.int64(13)]),
        ("max_inclusive_version", ["13", np.int64(13)]),
        ("opsets", [1, {"ai.onnx": 1, b"x": 2}, {}]),
        ("connect", [{"a": "b"}, [["a", "b"], ("c", "d")], []]),
        ("failing", ["true", ["true", "{}"], ("true",), print]),
        ("schemas", ["a", Path("a"), object.__new__(opset.OperatorSet), object.__new__(Registry)]),
    ],
)
def test_values_of_each_kind_are_taken(option, values):
    assert [value for value in values if not _KINDS[option].fits(value)] == []


def test_what_is_checked_reaches_the_function():
    @checked_options
    def taken(node, ignore=(), *rest, add_outputs=(), tensor=None, **more):
        return node, ignore, rest, add_outputs, tensor, more

    node = onnx.NodeProto()
    assert taken(node) == (node, (), (), (), None, {})
    several = taken(node, iter("ab"), 1, add_outputs=None, other=2, tensor=node)
    assert several == (node, ["a", "b"], (1,), None, node, {"other": 2})
    assert taken(node, ignore={"a"}) == (node, {"a"}, (), (), None, {})
    for bad, message in (
        ({"node": "a"}, "the option 'node' of {} cannot be 'a'"),
        ({"node": node, "ignore": 1.5}, "the option 'ignore' of {} cannot be '1.5'"),
        ({"node": node, "ignore": None}, "the option 'ignore' of {} cannot be 'None'"),
        ({"node": node, "ignore": {"a": 1}}, "the option 'ignore' of {} cannot be '{{'a': 1}}'"),
    ):
        with pytest.raises(UsageError) as caught:
            taken(**bad)
        assert caught.value.findings[0].message == message.format(taken.__qualname__)


def test_what_is_as_good_is_taken(tmp_path):
    given = opset.parse_model(SMALL)
    assert Limits(np.int64(5), np.int32(1 << 20), np.float32(2)).as_dict() == {
        "max_steps": 5, "max_bytes": 1 << 20, "timeout": 2,
    }  # fmt: skip
    assert Limits(0, 0, 0).as_dict() == {"max_steps": 0, "max_bytes": 0, "timeout": 0}
    roots = (each for each in [tmp_path, str(tmp_path)])
    opset.infer(
        given, strict=np.bool_(True), check_type=1, limits=None, allow_external_roots=roots, schemas=Path(tmp_path)
    )
    opset.check(given, select=(each for each in ["M1"]), ignore="W1")
    opset.plan(given, 13, ir_version=np.int64(8), freeze=iter(["all"]), dims={})
    evaluator = opset.ReferenceEvaluator(given, seed=np.int64(3), trace=print)
    assert evaluator.input_names == ["x"]


MORE = {
    "change_sizes": {"sizes": {"x.0": 4}}, "compare_interfaces": {"new": SMALL}, "compare_models": {"new": SMALL},
    "convert": {"to": 13}, "extract": {"outputs": ["r"]}, "lower": {"operators": "Relu"},
    "merge": {"second": SMALL, "connect": {"y": "x"}, "prefixes": ("a", "b")}, "plan": {"to": 13},
    "reduce": {"failing": lambda model: True, "max_tries": 1}, "verify": {"after": SMALL, "seeds": 1},
}  # fmt: skip
"""What else functions that read models need for a call."""
READERS = sorted({name for name, option in EACH if option == "allow_external_roots"} - {"load", "convert_many"})


@pytest.mark.parametrize("name", READERS)
def test_folders_that_are_allowed_reach_what_reads_a_model(name, tmp_path, monkeypatch):
    read = []

    def load(source, *, allow_external_roots=()):
        read.append([*map(str, allow_external_roots)])
        return opset.load(source)

    function = FUNCTIONS[name]
    monkeypatch.setattr(sys.modules[function.__module__], "load", load)
    more = {key: opset.parse_model(each) if each == SMALL else each for key, each in MORE.get(name, {}).items()}
    first = next(iter(inspect.signature(function).parameters))
    with contextlib.suppress(opset.OpsetError):
        function(**{first: opset.parse_model(SMALL)}, **more, allow_external_roots=[tmp_path])
    assert read == [[str(tmp_path)]] * (2 if more.keys() & {"new", "second", "after"} else 1)


def test_the_kinds_are_of_options_that_exist():
    assert _KINDS.keys() <= {option for _, option in EACH}


@pytest.mark.parametrize("option", _KINDS)
def test_the_example_of_an_option_is_what_it_may_be(option):
    kind = _KINDS[option]
    value = eval(kind.example)
    assert all(map(kind.fits, value)) if kind.several and isinstance(value, list) else kind.fits(value)
    assert kind.words != kind.example


def test_a_function_stays_what_it_is():
    assert opset.infer.__name__ == "infer" and opset.infer.__doc__.startswith("Return the types")
    assert inspect.signature(opset.convert).parameters["limits"].default is None
