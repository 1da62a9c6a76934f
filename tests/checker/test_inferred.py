"""Rules about what follows in a model: further ways through them, beside their fixtures."""

import pytest

import opset
from opset.budget import Budget
from opset.inference.engine import result

HEAD = '<ir_version: 10, opset_import: ["": 17, "f": 1]>\n'
FUNCTION = '<domain: "f", opset_import: ["": 17]>\n'


def found(text):
    return [(each.code, each.place) for each in opset.check(opset.parse_model(HEAD + text), ignore=["W101"])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            'main (seq(opaque("a", "b")) x) => (int64 y) { y = SequenceLength (x) }',
            [("I202", "graph 'main', node number 0 (SequenceLength)")],
            id="an opaque type inside another",
        ),
        pytest.param(
            "main (float[2] x) => (float[2] y) { y = f.F (x) }\n"
            f"{FUNCTION}F (a, b) => (c) {{ d = Neg (a) c = Add (d, b) }}",
            [("I202", "function 'f.F', node number 1 (Add)")],
            id="an input that the call of a function leaves out",
        ),
        pytest.param(
            "main () => (float y) { y = Constant <value_float = 1.0, value_int = 1> () }",
            [("I201", "graph 'main', node number 0 (Constant)")],
            id="two values of a Constant",
        ),
        pytest.param(
            "main () => (float y) { y = Constant <value: tensor = float {1}, value_int = 1> () }",
            [("I201", "graph 'main', node number 0 (Constant)")],
            id="two values of a Constant, one a tensor",
        ),
        pytest.param(
            "main (float[2] x) => (float[2] y) <bool c = {1}> { y = If (c) <"
            "then_branch = a () => (float[2] r) { r = Relu (x) },"
            "else_branch = b () => (int32[2] q) { q = Neg (x) }> }",
            [("W802", "graph 'main', node number 0 (If), else_branch, node number 0 (Neg)")],
            id="a branch that is never run",
        ),
        pytest.param(
            "main (bool c, float[2] x) => (float[2] y) { t = Neg (x) y = If (c) <"
            "then_branch = a () => (r) <int32[2] t> { r = Relu (t) }, else_branch = b () => (q) { q = Neg (x) }> }",
            [("W802", "graph 'main', node number 1 (If), then_branch")],
            id="a value from outside, of which a branch states another type",
        ),
        pytest.param(
            "main (bool c, float[2] x) => (float[2] y) { y = If (c) <"
            "then_branch = a () => (r) <int32[2] r> { r = Relu (x) }, else_branch = b () => (q) { q = Neg (x) }> }",
            [("W802", "graph 'main', node number 0 (If), then_branch, node number 0 (Relu)")],
            id="an output without a type, beside value_info with a wrong one",
        ),
        pytest.param(
            f"main (float[2] x) => (float[2] y) <float[{', '.join(['1'] * 70)}] t> {{ t = Relu (x) y = Neg (t) }}",
            [("W604", "graph 'main', value_info 't'"), ("I101", "graph 'main', node number 0 (Relu)")],
            id="a stated rank beyond all that is followed",
        ),
        pytest.param(
            "main (float[2] x, bool c) => (float[2] y) { b = If (c) <then_branch = t () => (t1) { t1 = Neg (x) }, "
            "else_branch = e () => (e1) { e1 = IsNaN (x) }> y = Identity (b) }",
            [("I201", "graph 'main', node number 0 (If)")],
            id="branches that give other element types",
        ),
    ],
)
def test_what_does_not_follow_is_found_with_its_place(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("main (float[2] x) => (float[3] y) { y = Relu (x) }", "correct the stated type, or remove it"),
        ("main (float x, double z) => (float y) { y = Add (x, z) }", "cast 'z' to float"),
        ("main (float x, int32 z) => (y) { y = Add (x, z) }", "cast one of the two, or correct its type"),
    ],
)
def test_what_does_not_follow_has_a_help(text, help):
    (finding,) = opset.check(opset.parse_model(HEAD + text), ignore=["W101", "G203"])
    assert finding.help.startswith(help)


@pytest.mark.parametrize(
    ("names", "inputs", "why"),
    [
        ("y, z", "x, x, x", "C10: only one of the present outputs is named"),
        ("y, z, v", "x, x, x, , , , n", "C10: nonpad_kv_seqlen beside a cache"),
    ],
)
def test_outputs_of_attention_that_exclude_each_other(names, inputs, why):
    text = f"""<ir_version: 11, opset_import: ["": 25]> main (float[1, 1, 2, 2] x, int64[1] n) => (float[1, 1, 2, 2] y)
        {{ {names} = Attention ({inputs}) }}"""
    (finding,) = opset.check(opset.parse_model(text))
    assert (finding.code, finding.why) == ("I201", why)


def test_an_if_has_no_outputs_of_types_that_came_later():
    text = (
        '<ir_version: 8, opset_import: ["": 15]>\nmain (bool c, float[2] x) => (optional(float[2]) y) { y = If (c) <'
        "then_branch = a () => (optional(float[2]) r) { r = Optional (x) },"
        "else_branch = b () => (optional(float[2]) q) { q = Optional (x) }> }"
    )
    assert [each.code for each in opset.check(opset.parse_model(text))] == ["I202"]
    assert not opset.check(opset.parse_model(text.replace(": 15]", ": 16]")))


def test_an_operator_that_was_withdrawn_for_one_of_its_name():
    text = (
        '<ir_version: 8, opset_import: ["": 18]>\nmain (float[1, 2, 4] x, float[2] s) => (float[1, 2, 4] y) '
        "{ y = GroupNormalization <num_groups = 2> (x, s, s) }"
    )
    finding = opset.check(opset.parse_model(text))[0]
    assert finding.code == "G314" and finding.help.startswith("import ai.onnx 21 or newer")


@pytest.mark.parametrize(("steps", "codes"), [(1, ["W801"]), (100_000, [])])
def test_inference_that_was_stopped_is_told(steps, codes, monkeypatch):
    monkeypatch.setattr(result, "default_budget", lambda size, limits: Budget(limits, max_steps=steps))
    model = opset.parse_model(
        '<ir_version: 8, opset_import: ["": 17]> g (float[2] x) => (float[2] y) { a = Neg (x) y = Neg (a) }'
    )
    found = opset.check(model)
    assert [each.code for each in found] == codes
    assert all(each.why.startswith("the inference stopped at ") for each in found)
    if steps == 1:
        with pytest.raises(opset.InferenceError) as caught:
            opset.check(model, limits=opset.Limits(max_steps=1))
        assert caught.value.code == "I401"
