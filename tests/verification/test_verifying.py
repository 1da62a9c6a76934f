"""Two models are run on inputs that suit their operators; what differs is found, what does not is no alarm."""

import random
import re

import numpy as np
import pytest

import opset
from judges.fuzz.injecting import FAULTS
from opset.budget import Limits
from opset.errors import Finding, RunError
from opset.model import proto as pb
from opset.model.arrays import array_of
from opset.reference.engine import constants
from opset.reference.engine.evaluator import ReferenceEvaluator
from opset.tensor_io.demands import demands_for
from opset.tensor_io.random_inputs import random_inputs
from opset.verification import verifying
from opset.verification.running import ReferenceRunner
from opset.verification.verifying import _tolerance_for

HEAD = '<ir_version: 8, opset_import: ["": 17]> g '
NEVER = (
    HEAD
    + """(float[3] x, bool c) => (float[3] y) { n = Not (c) never = And (c, n) m = Exp (x) y = If (never) <
        then_branch = t () => (float[3] a) { a = Abs (m) }, else_branch = e () => (float[3] b) { b = Neg (m) }> }"""
)
LINEAR = HEAD + "(float[N, 3] x) => (float[N, 3] y) {{ a = Relu (x) b = {} (a, a) y = Softmax <axis = {}> (b) }}"


def model(text):
    return opset.parse_model(text)


def drawn(text, seed=0):
    parsed = opset.load(model(HEAD + text))
    evaluator = ReferenceEvaluator(parsed)
    demands = demands_for(parsed, evaluator.registry, Limits(), {})
    feeds = random_inputs(parsed.proto.graph.input, {}, seed, Limits(), demands)
    return feeds, evaluator.run(None, feeds)


@pytest.mark.parametrize("path", ["segmenter_opset9", "table_opset11", "forest_opset9", "tagger_opset11"])
def test_a_model_never_differs_from_itself(path):
    found = opset.verify(f"examples/{path}.onnx", f"examples/{path}.onnx", seeds=2)
    assert found.verdict == "same" and found.same and not found.errors
    assert (found.before, found.after) == (f"examples/{path}.onnx",) * 2
    assert {(each.absolute, each.ulps, each.nan_before) for each in found.outputs} == {(0.0, 0.0, 0)}


def test_a_difference_is_measured_and_located():
    found = opset.verify(model(LINEAR.format("Add", 1)), model(LINEAR.format("Mul", 1)))
    assert found.verdict == "different" and not found.same
    assert (found.before, found.after) == ("a model", "a model")
    assert found.first_difference.value == "b"
    assert "(Add)" in found.first_difference.before and "(Mul)" in found.first_difference.after
    assert found.outputs[0].absolute > 0.01 and found.outputs[0].ulps > 1000
    assert [(each.code, each.message, each.place, each.why, each.help) for each in found.errors] == [
        ("C701", "the output 'y' differs", found.first_difference.after, found.outputs[0].why,
         "to accept the difference: --rtol, --atol")
    ]  # fmt: skip
    assert len({tuple(run.sizes.items()) for run in found.runs}) == 3


def test_the_tolerance_follows_from_types_and_sums_unless_it_is_given():
    text = HEAD + "(float[2, {0}] x) => (float[2, 2] y) <float[{0}, 2] w = {{{1}}}> {{ y = MatMul (x, w) }}"
    narrow, wide = (
        opset.verify(*[model(text.format(size, ", ".join(["0.5"] * size * 2)))] * 2).outputs[0] for size in (4, 400)
    )
    assert (narrow.longest_sum, wide.longest_sum) == (4, 400)
    assert narrow.rtol == pytest.approx(16 * 2.0**-23) and wide.rtol == pytest.approx(80 * 2.0**-23)
    close = [HEAD + f"(float[4] x) => (float[4] y) <float c = {{{c}}}> {{ y = Mul (x, c) }}" for c in ("1", "1.001")]
    assert not opset.verify(*map(model, close)).same
    assert opset.verify(*map(model, close), rtol=0.01).same


@pytest.mark.parametrize(
    ("text", "name", "low", "high"),
    [
        ("(float[5, 2] d, int64[9] i) => (float[9, 2] y) { y = Gather (d, i) }", "i", -5, 4),
        ("(float[2, 7] d, int64[3, 1] i) => (float[3, 7] y) { y = GatherND (d, i) }", "i", 0, 1),
        ("(float[6] d, int32[8] i) => (float[8] y) { c = Cast <to = 7> (i) y = Gather (d, c) }", "i", -6, 5),
        ("(float[9] x) => (float[9] y) { u = Log (x) y = Sqrt (x) }", "x", 0.1, 3),
        ("(float[3, 4] s, int64[3] t) => (float y) { y = SoftmaxCrossEntropyLoss (s, t) }", "t", 0, 3),
        ("(float[2, 5] x, int64[1] k) => (float[2, M] y, int64[2, M] i) { y, i = TopK (x, k) }", "k", 1, 3),
        ("(float[4, 2] x, int64[2] n) => (float[4, 2] y) { y = ReverseSequence <time_axis = 0, batch_axis=1> (x, n) }",
         "n", 0, 4),
    ],
)  # fmt: skip
def test_inputs_are_in_the_range_that_operators_demand(text, name, low, high):
    for seed in range(4):
        feeds, outputs = drawn(text, seed)
        assert low <= feeds[name].min() and feeds[name].max() <= high
        assert np.isfinite(outputs[0]).all()


def test_shapes_and_masks_and_distinct_indices_are_drawn():
    feeds, (y,) = drawn("(float[2, 3] x, int64[2] s) => (float[M, K] y) { y = Reshape (x, s) }")
    assert feeds["s"].tolist() == [3, 2] and y.shape == (3, 2)
    feeds, _ = drawn("(float[6, 2] d, int64[4, 1] i, float[4, 2] u) => (float[6, 2] y) { y = ScatterND (d, i, u) }")
    assert len({*feeds["i"].ravel().tolist()}) == 4
    text = "(float[4, 9] x, float[4, 9] m) => (float[4, 9] y) { s = Add (x, m) y = Softmax (s) }"
    feeds, (y,) = drawn(text)
    assert np.isinf(feeds["m"]).any() and np.isfinite(y[-1]).all() and (y == 0).any()


def test_a_branch_that_runs_seldom_is_run_or_named():
    text = (
        HEAD
        + """(float[3] x, float limit) => (float[3] y) {{ m = ReduceMax <keepdims = 0> (x)  far = Greater (m, limit)
        y = If (far) <then_branch = t () => (float[3] a) {{ a = Abs (x) }},
                      else_branch = e () => (float[3] b) {{ b = {} (x) }}> }}"""
    )
    assert not opset.verify(model(text.format("Neg")), model(text.format("Exp"))).same
    never = text.replace("far = Greater (m, limit)", "far = Greater (m, m)").replace("Abs", "Sin")
    found = opset.verify(model(never.format("Neg")), model(never.format("Neg")), seeds=1)
    assert found.same and any("then_branch" in note for note in found.notes)


def test_branches_of_functions_that_are_never_taken_are_named():
    text = """<ir_version: 8, opset_import: ["": 17, "own": 1]>
    g (float[2] x) => (float[2] y) { k = Constant <value = bool {1}> ()  y = own.F(x, k) }
    <domain: "own", opset_import: ["": 17]> F (a, c) => (b) {
      b = If (c) <then_branch = t () => (u) { u = Sin(a) }, else_branch = e () => (v) { v = Cos(a) }> }
    <domain: "own", opset_import: ["": 17]> Unused (a, c) => (b) {
      b = If (c) <then_branch = t () => (u) { u = Sin(a) }, else_branch = e () => (v) { v = Cos(a) }> }"""
    (note,) = opset.verify(model(text), model(text), seeds=1).notes
    assert note.startswith("never run, so not compared: function 'own.F', node number 0 (If), else_branch;")


def test_a_model_that_does_not_come_to_an_end_differs(monkeypatch):
    monkeypatch.setattr(verifying, "MOST_STEPS", 200)
    monkeypatch.setattr(verifying, "STEPS_FOR_ONE", 2)
    text = (
        HEAD
        + """(float[2] x) => (float[2] y) <int64 most = {1000000}, int64 ten = {10}, bool on = {1}> {
        y = Loop (most, on, x) <body = b (int64 i, bool go, float[2] h) => (bool more, float[2] n) {
            more = Less (i, ten)  n = Neg (h) }> }"""
    )
    endless = text.replace("ten = {10}", "ten = {900000}")
    found = opset.verify(model(text), model(endless), seeds=1)
    assert found.verdict == "different" and "does not come to an end: more than 200 steps" in found.runs[0].why
    found = opset.verify(model(text), model(endless), seeds=1, limits=Limits(max_steps=100))
    assert found.verdict == "not compared" and "too many steps" in found.notes[0]
    monkeypatch.setattr(verifying, "MOST_STEPS", 1)
    found = opset.verify(model(text), model(endless), seeds=1)
    most, steps = (int(each) for each in re.findall(r"\d+", found.runs[0].why))
    assert most == 2 * steps > 4


def test_a_size_that_is_the_sum_of_two_others_is_found():
    text = (
        HEAD
        + """(float[P, 2] a, float[S, 2] b, float[T, 2] c) => (float[T, 2] y) {
        j = Concat <axis = 0> (a, b)  y = Add (j, c) }"""
    )
    found = opset.verify(model(text), model(text))
    assert all(run.sizes["T"] == run.sizes["P"] + run.sizes["S"] for run in found.runs if run.sizes["P"] > 1)
    assert len([run for run in found.runs if run.verdict == "same"]) == len(found.runs) > 10


def test_every_row_of_a_small_table_is_taken():
    text = (
        HEAD
        + "(int64[1] i) => (float[1] y) <float[11] t = {{0, 1, 2, 3, 4, 5, 6, 7, 8, {}, 10}}> {{ y = Gather (t, i) }}"
    )
    for name in "ijkl":
        one, other = (model(text.replace("i)", f"{name})").replace("[1] i", f"[1] {name}").format(n)) for n in (9, -9))
        assert opset.verify(one, other).verdict == "different"


def test_ties_of_inner_values_and_places_in_caches_are_drawn():
    ties = (
        HEAD
        + """(float[B, C] x) => (bool[B] y) {{
        m = ReduceMax <axes = [1], keepdims = 0> (x)  z = Constant <value_float = 0.0> ()  y = {} (m, z) }}"""
    )
    assert not opset.verify(model(ties.format("Greater")), model(ties.format("GreaterOrEqual"))).same
    cache = """<ir_version: 12, opset_import: ["": 24]> g (float[2, 1, 6, 3] c, float[2, 1, 2, 3] u, int64[2] i)
        => (float[2, 1, 6, 3] y) {{ y = TensorScatter <mode = "{}"> (c, u, i) }}"""
    found = opset.verify(model(cache.format("linear")), model(cache.format("linear")))
    assert found.same and len(found.runs) == 20  # each place fits
    assert not opset.verify(model(cache.format("circular")), model(cache.format("linear"))).same


def test_axes_are_given_from_both_ends():
    before = opset.parse_model("""<ir_version: 10, opset_import: ["": 25]> g
        (float[1, 3, 4] x, int64[4] p, float v, int64[2] a) => (float[A, B, C] y) { y = Pad (x, p, v, a) }""")
    after = opset.convert(before, 14)
    assert opset.verify(before, after).same
    product = next(node for node in after.graph.node if node.op_type == "Mul")  # the rank, for axes from the end
    product.op_type = "Div"
    assert opset.verify(before, after).verdict == "different"


def test_axes_are_given_in_any_order():
    text = (
        HEAD
        + """(float[3, 4] x, int64[2] a) => (float[A, B, C, D] y) <int64 z = {{0}}, int64[1] f = {{0}}> {{
        u = Unsqueeze (x, a) t = Unsqueeze (u, f) y = Gather <axis = {}> (t, z) }}"""
    )
    assert opset.verify(model(text.format(0)), model(text.format(0))).same
    assert opset.verify(model(text.format(0)), model(text.format(1))).verdict == "different"


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("(float[5] x, int64[1] b, int64[1] e) => (float[A] y) <int64 z = {{0}}> {{ {} y = Slice (x, c, e) }}",
         ("c = Identity (b)", "c = Max (b, z)")),
        ("(float[5] x, int64[1] b, int64[1] e) => (float[A] y) {{ {} y = Slice (x, b, c) }}",
         ("c = Identity (e)", "n = Cast <to = 6> (e) c = Cast <to = 7> (n)")),
        ("(float[2, 3] x, int64[4] p) => (float[A, B] y) <int64 z = {{0}}> {{ {} y = Pad (x, q) }}",
         ("q = Identity (p)", "q = Max (p, z)")),
        ("(float[1, 1, 1, 5] x, int64[8] p) => (float[A, B, C, D] y) <int64 z = {{0}}> {{ {} y = Pad (x, q) }}",
         ("q = Identity (p)", "q = Max (p, z)")),
        ("(float[2] x, int64 n, bool c) => (float[2] y) <int64 z = {{1}}> {{ {} y = Loop (m, c, x) <body = g "
         "(int64 i, bool k, float[2] u) => (bool l, float[2] v) {{ l = Identity (k) v = Exp (u) }}> }}",
         ("m = Identity (n)", "m = Max (n, z)")),
        ("(float[4] x, float l, float h) => (float[4] y) {{ {} }}",
         ("y = Clip (x, l, h)", "a = Min (x, h) y = Max (a, l)")),
    ],
)  # fmt: skip
def test_numbers_beyond_the_plain_ones_are_drawn(text, other):
    one, faulty = (model(HEAD + text.format(each)) for each in other)
    assert opset.verify(one, one).same
    assert opset.verify(one, faulty).verdict == "different"


def test_more_inputs_are_drawn_if_a_weight_differs():
    text = """(float[2] x) => (float[2] y) <float[1] w = {{{}}}> {{ m = Mul (x, w) z = Sub (m, m) y = Add (z, x) }}"""
    one, other = (model(HEAD + text.format(each)) for each in ("1.5", "1.50001"))
    found = opset.verify(one, other)
    assert found.same and len(found.runs) == 150 and "the weight w differs, and no output does" in found.notes
    assert len(opset.verify(one, one).runs) == len(opset.verify(one, other, seeds=20).runs) == 20
    shaped = model(HEAD + text.replace("float[1] w", "float w").format("2.5"))
    assert len(opset.verify(one, shaped).runs) == 20  # an adapter may write a weight otherwise


def test_more_inputs_are_drawn_if_a_rounding_was_lowered():
    text = (
        HEAD.replace("17", "13")
        + """(float[6, 8] x) => (float[A, B] y)
        <float[8, 2] w = {1, 3, 2, 5, 4, 3, 1, 2, 5, 4, 3, 2, 1, 4, 2, 3}, float s = {0.02}, uint8 z = {3}> {
        q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z) m = MatMul (d, w) y = Round (m) }"""
    )
    before = model(text)
    after = opset.convert(before, 8)
    assert len(opset.verify(before, before).runs) == 20
    found = opset.verify(before, after)
    assert found.same and len(found.runs) == 150


@pytest.mark.parametrize(
    ("before", "after", "otherwise"),
    [
        ("y = Round (x)", "y = Round (x)", False),
        ("y = Round (x)", "y = Floor (x)", True),
        ("y = Floor (x)", "y = Round (x)", False),
        ("a = Round (x) y = Round (a)", "y = Round (x)", True),
    ],
)
def test_fewer_nodes_that_round_may_round_otherwise(before, after, otherwise):
    models = [opset.load(model(f"{HEAD}(float[2] x) => (float[2] y) {{ {each} }}")) for each in (before, after)]
    assert verifying.rounds_otherwise(*models) == otherwise


def test_random_outputs_are_not_compared_by_element():
    text = HEAD + "(float[2] x) => (float[2] y, float[2] z) { r = RandomNormalLike (x) y = Add (x, r) z = Neg (x) }"
    found = opset.verify(model(text), model(text))
    assert found.same and "random" in found.outputs[0].why and not found.outputs[1].why


def test_a_dropout_that_may_train_is_not_compared_by_element_if_it_does():
    text = HEAD + "(float[40] x, bool t) => (float[40] y) <float r = {0.5}> { y = Dropout <seed = 7> (x, r, t) }"
    for training in (True, False):
        found = opset.verify(model(text), model(text), data=[{"x": np.ones(40, np.float32), "t": np.array(training)}])
        assert found.same and ("random" in found.outputs[0].why) == training


def test_a_dropout_is_compared_in_the_runs_in_which_it_drops_nothing():
    text = HEAD + "(float[40] x, float r, bool t) => (float[40] y) {{ d = Dropout <seed = 7> (x, r, t)  y = {} (d) }}"
    one = model(text.format("Neg"))
    found = opset.verify(one, one)
    assert found.same and found.outputs[0].why.startswith("in ") and "of 20 runs" in found.outputs[0].why
    assert opset.verify(one, model(text.format("Identity"))).verdict == "different"
    lonely = model(text.replace("[40]", "[1]").format("Neg"))
    for ratio in (0.25, 0.5):
        data = [{"x": np.ones(1, np.float32), "r": np.float32(ratio), "t": np.array(True)}]
        assert "random" in opset.verify(lonely, lonely, data=data).outputs[0].why


@pytest.mark.parametrize("sizes", [(1, 40), (0, 40)])
def test_the_smallest_output_says_how_often_a_dropout_is_drawn_again(sizes):
    text = HEAD + "(float[{0}] x, float[{1}] w, float r, bool t) => (float[{0}] y, float[{1}] z) {{ {2} {3} }}"
    both = "y = Dropout <seed = 7> (x, r, t)", "z = Dropout <seed = 7> (w, r, t)"
    one = model(text.format(*sizes, *both))
    x, w = (np.ones(size, np.float32) for size in sizes)
    found = opset.verify(one, one, data=[{"x": x, "w": w, "r": np.float32(0.25), "t": np.array(True)}])
    assert found.same and ["random" in each.why for each in found.outputs] == [size > 0 for size in sizes]


def test_interfaces_are_matched_by_name_or_position_or_refused():
    one, other = (model(HEAD + f"(float[2] {a}) => (float[2] y) {{ y = Neg ({a}) }}") for a in "ab")
    found = opset.verify(one, other)
    assert found.same and "by position" in found.notes[0]
    two = model(HEAD + "(float[2] a, float[2] b) => (float[2] y) { y = Sub (a, b) }")
    for pair in ((one, two), (two, one)):
        with pytest.raises(RunError) as error:
            opset.verify(*pair)
        assert error.value.code == "R207" and "a, b" in error.value.why


def test_given_data_and_sizes_are_used_and_what_says_little_is_noted():
    one = model(LINEAR.format("Add", 1))
    found = opset.verify(one, one, data=[{"x": np.full((4, 3), np.nan, np.float32)}])
    assert len(found.runs) == 1 and found.outputs[0].nan_before == 12
    assert any("NaN" in note for note in found.notes) and any("little" in note for note in found.notes)
    assert {run.sizes["N"] for run in opset.verify(one, one, dims={"N": 6}).runs} == {6}


@pytest.mark.parametrize("stated", [False, True])
def test_an_input_with_a_default_need_not_be_given(stated):
    one = model(HEAD + "(float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Mul (x, w) }")
    other = model(HEAD + "(float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 3}> { y = Mul (x, w) }")
    given = {"x": np.ones(2, np.float32)} | ({"w": np.ones(2, np.float32)} if stated else {})
    found = opset.verify(one, other, data=[given])
    assert found.same == stated and not any("no values" in note for note in found.notes)
    given.pop("x")
    found = opset.verify(one, other, data=[given])
    assert found.same == stated and any("has no values for x, which" in note for note in found.notes)


def test_a_model_without_outputs_has_no_note_that_little_was_compared():
    nothing = model(HEAD + "(float[2] x) => () { y = Neg (x) }")
    found = opset.verify(nothing, nothing, seeds=1)
    assert (found.verdict, found.notes, found.outputs, found.errors) == ("same", [], [], [])
    little = model(HEAD + "() => (float[1] y) <float[1] n = {-1}> { y = Sqrt (n) }")
    (note,) = opset.verify(little, little, seeds=1).notes  # there are no inputs to give
    assert note.startswith("y: ")


def test_sizes_with_which_a_model_does_not_run_are_passed_over_and_noted():
    text = HEAD + "(float[N] x) => (float[2, M] y) <int64[2] s = {2, -1}> { r = Reshape (x, s) y = Flatten (r) }"
    found = opset.verify(model(text), model(text))
    assert found.same and any("does not run with N=" in note for note in found.notes)
    assert all(run.sizes["N"] % 2 == 0 for run in found.runs)


def test_a_model_that_cannot_be_run_is_not_compared():
    one = model(LINEAR.format("Add", 1))
    found = opset.verify(one, one, limits=Limits(max_steps=1))
    assert found.verdict == "not compared" and [each.code for each in found.errors] == ["C702"]
    assert found.errors[0].help.startswith("allow more")
    never = model(HEAD + "(float[2] x) => (float[3] y) <int64[1] s = {3}> { y = Reshape (x, s) }")
    assert [each.help for each in opset.verify(never, never).errors] == ["give inputs: --data; or sizes: --dim"]


def test_the_second_model_alone_failing_is_a_difference():
    one, other = (
        model(HEAD + f"(float[2, 3] x) => (float[K] y) <int64[1] s = {{{n}}}> {{ y = Reshape (x, s) }}") for n in (6, 5)
    )
    found = opset.verify(one, other)
    assert found.verdict == "different" and "does not run" in found.errors[0].why
    assert (found.errors[0].code, found.errors[0].message) == ("C701", "the outputs differ: one model does not run")
    assert [(run.source, run.seed, run.sizes) for run in found.runs[:1]] == [("drawn with seed 0", 0, {})]
    assert found.errors[0].help == "opset run MODEL shows more; give inputs on which both run: --data"


def test_an_installed_runtime_runs_both():
    pytest.importorskip("onnxruntime")
    one, other = model(LINEAR.format("Add", 1)), model(LINEAR.format("Mul", 1))
    branches = model(NEVER)  # a runtime does not say which it runs
    found = opset.verify(branches, branches, with_="onnxruntime", seeds=1)
    assert found.same and (len(found.runs), found.notes) == (1, [])
    assert not opset.verify(one, other, with_="onnxruntime", seeds=1).same
    unknown = model(
        '<ir_version: 8, opset_import: ["": 17, "q": 1]> g (float[2] x) => (float[2] y) { y = q.Nothing (x) }'
    )
    dropping = model(HEAD + "(float[9] x) => (float[9] y) { y = Dropout (x) }")
    found = opset.verify(dropping, dropping, with_="onnxruntime", seeds=1, limits=Limits(timeout=60))
    assert found.with_.startswith("onnxruntime 1.") and not found.outputs[0].why
    found = opset.verify(unknown, unknown, with_="onnxruntime", seeds=1)
    assert found.verdict == "not compared" and "does not load the model before" in found.errors[0].why


@pytest.mark.parametrize(
    "kind",
    ["swapped inputs", "changed axis", "largest flag", "sign of a weight", "weights rounded to float16",
     "dropped node", "other function", "off by one in a constant"],
)  # fmt: skip
def test_a_fault_in_an_example_is_found(kind):
    onnx = pytest.importorskip("onnx")
    before = onnx.load("examples/tagger_opset11.onnx")
    for seed in range(6):
        mutant = onnx.ModelProto()
        mutant.CopyFrom(before)
        if FAULTS[kind](mutant, random.Random(seed)) and not opset.verify(before, mutant).same:
            return
    raise AssertionError(f"no fault was found: {kind}")


def test_what_has_no_counterpart_is_named_by_its_role():
    one, two = (
        model(HEAD + f"(float[2] a) => ({outs}) {{ y = Neg (a) z = Abs (a) }}")
        for outs in ("float[2] y", "float[2] y, float[2] z")
    )
    with pytest.raises(RunError, match="the models have different outputs"):
        opset.verify(one, two)
    with pytest.raises(RunError, match="the models have different inputs"):
        opset.verify(one, model(HEAD + "(float[2] a, float[2] b) => (float[2] y) { y = Sub (a, b) }"))
    with pytest.raises(RunError) as caught:
        opset.verify(two, model(HEAD + "(float[2] a, float[2] b) => (float[2] y) { y = Sub (a, b) }"))
    assert [(each.code, each.message, each.why) for each in caught.value.findings] == [
        ("R207", "the models have different inputs", "a before, a, b after"),
        ("R207", "the models have different outputs", "y, z before, y after"),
    ]


@pytest.mark.parametrize(
    ("code", "runs"), [("R101", 2), ("R301", 1), ("R303", 1), ("R201", 1), ("R206", 2), ("R304", 2), ("R204", 16)]
)
def test_other_integers_are_tried_only_where_they_may_help(code, runs, monkeypatch):
    """A limit ends the verification; what holds for any values is asked once for each of the two seeds."""
    tried = []

    def fail(*each, **more):
        tried.append(0)
        raise RunError(Finding(code, "it stops"))

    monkeypatch.setattr(ReferenceRunner, "run", fail)
    one = model(HEAD + "(float[2] x) => (float[2] y) { y = Neg (x) }")
    found = opset.verify(one, one, seeds=2)
    assert len(tried) == runs and found.verdict == "not compared"
    assert {run.why for run in found.runs} == {f"the model before does not run: it stops: {code}"}


@pytest.mark.parametrize(
    ("version", "nodes", "low"),
    [
        (10, "y = Gather (d, i)", 0),
        (11, "y = Gather (d, i)", -9),
        (17, "z = Abs (d) u = Slice (z, a, b) y = ScatterElements (d, i, u)", 0),
    ],
)
def test_negative_indices_are_drawn_for_versions_that_take_them_unless_they_must_differ(version, nodes, low):
    constants = "int64[1] a = {0}, int64[1] b = {8}"
    text = f'<ir_version: 4, opset_import: ["": {version}]> g (float[9] d, int64[8] i) => (float[M] y) <{constants}>'
    parsed = opset.load(model(f"{text} {{ {nodes} }}"))
    demands = demands_for(parsed, ReferenceEvaluator(parsed).registry, Limits(), {})
    seen = {int(each) for seed in range(20) for each in
            random_inputs(parsed.proto.graph.input[:2], {}, seed, Limits(), demands)["i"]}  # fmt: skip
    assert (min(seen), max(seen)) == (low, 8)


def test_what_is_cast_to_bool_is_0_or_1_and_what_is_cast_to_others_is_free():
    graph = "(int64[40] i, int64[40] j) => (bool[40] y, float[40] z)"
    feeds, _ = drawn(f"{graph} {{ y = Cast <to = 9> (i) z = Cast <to = 1> (j) }}")
    assert {*feeds["i"].tolist()} == {0, 1} and feeds["j"].max() > 1


RARE = {
    "strict comparison": ("c = Greater (x, t) y = Where (c, x, t)", "c = GreaterOrEqual (x, t) y = Where (c, t, x)"),
    "ties": ("y = ArgMax <axis = 1> (x)", "y = ArgMax <axis = 1, select_last_index = 1> (x)"),
    "greater numbers": (
        "y = Softmax <axis = 1> (x)",
        "a = Exp (x) s = ReduceSum <keepdims = 1> (a, one) y = Div (a, s)",
    ),
    "a threshold": ("y = ThresholdedRelu <alpha = 2.0> (x)", "y = ThresholdedRelu <alpha = 2.2> (x)"),
}


@pytest.mark.parametrize("kind", [*RARE])
def test_what_differs_for_few_numbers_is_found_in_a_small_model(kind):
    one, other = (
        f"{HEAD}(float[2, 4] x) => ({'int64' if kind == 'ties' else 'float'}[2, M] y) "
        f"<float t = {{2.5}}, int64[1] one = {{1}}> {{ {body} }}"
        for body in RARE[kind]
    )
    assert opset.verify(model(one), model(one)).same and not opset.verify(model(one), model(other)).same


def test_numbers_that_are_given_are_the_number_of_runs():
    one = model(LINEAR.format("Add", 1))
    assert [len(opset.verify(one, one, seeds=each).runs) for each in (2, None)] == [2, 20]
    large = model(HEAD + "(float[50001] x) => (float[50001] y) { y = Neg (x) }")
    assert len(opset.verify(large, large).runs) == 3


EMPTY = (
    HEAD
    + """(float[3] x) => (float[1, M] y) <float z = {1000000}> {
    a = Greater (x, z) b = Cast <to = 1> (a) c = NonZero (b) y = Cast <to = 1> (c) }"""
)


@pytest.mark.parametrize(
    ("text", "words"), [(NEVER, "then_branch; give inputs: --data"), (EMPTY, "no elements in any run")]
)
@pytest.mark.parametrize(("seeds", "runs"), [(1, 10), (2, 11)])
def test_more_inputs_are_drawn_as_long_as_something_was_not_compared(text, words, seeds, runs):
    found = opset.verify(model(text), model(text), seeds=seeds)
    assert found.same and len(found.runs) == runs and words in found.notes[0]


def test_few_inputs_are_drawn_once_a_difference_is_found_or_a_limit_is_reached(monkeypatch):
    one, other = model(LINEAR.format("Add", 1)), model(LINEAR.format("Mul", 1))
    assert len(opset.verify(one, other).runs) == 3
    tried = []
    monkeypatch.setattr(
        ReferenceRunner, "run", lambda *each, run=ReferenceRunner.run, **more: tried.append(0) or run(*each, **more)
    )
    found = opset.verify(one, one, limits=Limits(max_steps=2))
    assert len(tried) == 1  # of other sizes as well, it would do more steps
    assert [run.verdict for run in found.runs] == ["not compared"]
    assert found.errors[0].help == "allow more: --max-steps, or Limits(max_steps=…)"
    assert "2 nodes were run" in found.errors[0].why
    after = "{ u = Neg (x) v = Neg (u) y = Neg (v) }"
    one, other = (model(f"{HEAD}(float[2] x) => (float[2] y) {each}") for each in ("{ y = Neg (x) }", after))
    found = opset.verify(one, other, limits=Limits(max_steps=2))
    assert [run.verdict for run in found.runs] == ["not compared"] and "the model after" in found.errors[0].why


def test_the_limits_hold_also_while_branches_are_told_apart():
    text = """(float[3] x) => (float[M] y) <bool yes = {1}, int64[1] s = {100000}, float[1] o = {1}> { y = If (yes) <
        then_branch = t () => (float[M] a) { a = Expand (o, s) },
        else_branch = e () => (float[3] b) { b = Neg (x) }> }"""
    found = opset.verify(model(HEAD + text), model(HEAD + text), limits=Limits(max_bytes=100_000))
    assert found.verdict == "not compared" and "100,000 are allowed" in found.errors[0].why


def test_weights_are_not_read_beyond_the_limit_on_memory(monkeypatch):
    text = HEAD + "(float[1] x) => (float[64] y) { y = Add (x, w) }"
    one = opset.parse_model(text)
    one.graph.initializer.append(pb.TensorProto(name="w", data_type=1, dims=[64], raw_data=bytes(256)))
    read = []
    monkeypatch.setattr(constants, "array_of", lambda *each: read.append(each) or array_of(*each))
    found = opset.verify(one, one, seeds=1, limits=Limits(max_bytes=255))
    assert found.verdict == "not compared" and not read
    assert "the model's own tensors have 256 bytes and more, and 255 are allowed" in found.errors[0].why
    assert found.errors[0].help == "allow more: --max-bytes, or Limits(max_bytes=…)"
    assert opset.verify(one, one, seeds=1, limits=Limits(max_bytes=4096)).same and read


def test_values_that_are_given_are_matched_and_others_drawn():
    one = model(HEAD + "(float[2] a, float[2] b) => (float[2] y, float[2] z) { y = Sub (a, b) z = Add (a, b) }")
    other = model(HEAD + "(float[2] b, float[2] c) => (float[2] z, float[2] v) { v = Sub (c, b) z = Add (c, b) }")
    found = opset.verify(one, other)
    assert found.notes == ["input 'a' was matched with 'c' by position", "output 'y' was matched with 'v' by position"]
    assert [(each.name, each.after) for each in found.outputs] == [("y", "v"), ("z", "z")]
    a, b = np.float32([1, 2]), np.float32([3, 4])
    found = opset.verify(one, other, data=[{"a": a}, {"a": a, "b": b}, {"a": a[:1], "b": b}])
    assert [(run.source, run.seed, run.verdict) for run in found.runs] == [
        ("data 1", None, "same"), ("data 2", None, "same"), ("data 3", None, "not compared"),
    ]  # fmt: skip
    assert "data 1 has no values for b, which were drawn" in found.notes and "its shape is [1]" in found.runs[2].why


def test_data_of_a_folder_that_is_allowed_is_read_for_both_models(tmp_path):
    one = model(HEAD + "(float[2] x) => (float[2] y) <float[2] w = {0, 0}> { y = Add (x, w) }")
    tensor = pb.TensorProto(name="w", data_type=1, dims=[2], data_location=1)
    tensor.external_data.add(key="location", value="w.bin")
    other = type(one)()
    other.CopyFrom(one)
    other.graph.initializer[0].CopyFrom(tensor)
    (tmp_path / "data").write_bytes(bytes(8))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "w.bin").symlink_to(tmp_path / "data")
    (tmp_path / "in" / "m.onnx").write_bytes(other.SerializeToString())
    for pair in ((one, tmp_path / "in" / "m.onnx"), (tmp_path / "in" / "m.onnx", one)):
        assert opset.verify(*pair, seeds=1, allow_external_roots=[tmp_path]).same
        with pytest.raises(opset.ModelError, match="outside"):
            opset.verify(*pair, seeds=1)


def test_one_input_may_be_given_alone(tmp_path):
    one = model(HEAD + "(float[2] a) => (float[2] y) { y = Neg (a) }")
    np.savez(tmp_path / "a.npz", **{"input/a": np.float32([1, 2]), "output/y": np.float32([3, 4])})
    for data in {"a": np.float32([1, 2])}, tmp_path / "a.npz", str(tmp_path / "a.npz"):
        found = opset.verify(one, one, data=data)
        assert [(run.seed, run.verdict) for run in found.runs] == [(None, "same")] and found.notes == []


@pytest.mark.parametrize(("option", "value"), [("seeds", 0), ("seeds", -1), ("rtol", -1.0), ("atol", float("nan"))])
def test_numbers_that_are_out_of_bounds_are_errors(option, value):
    one = model(HEAD + "(float[2] a) => (float[2] y) { y = Neg (a) }")
    with pytest.raises(opset.UsageError, match=f"{option} is {value}|'{option}' of verify cannot be '{value}'"):
        opset.verify(one, one, **{option: value})


def test_what_time_and_memory_cut_short_is_noted(monkeypatch):
    one, other = model(LINEAR.format("Add", 1)), model(LINEAR.format("Mul", 1))
    found = opset.verify(one, one, limits=Limits(timeout=0))
    assert found.verdict == "not compared" and "not all runs were made: it may take 0 seconds" in found.notes
    assert "it may take 0 seconds" in found.errors[0].why
    monkeypatch.setattr(verifying, "KEPT", 30)
    found = opset.verify(one, other, dims={"N": 2})
    assert "not all inner values fit into memory; an earlier one may differ" in found.notes
    assert found.first_difference is None or found.first_difference.value != "b"

    def fail(*each):
        raise RunError(Finding("R302", "too much", why="of it"))

    monkeypatch.setattr(verifying.InnerValues, "keep", fail)
    found = opset.verify(one, other, dims={"N": 2})
    assert "the first difference was not found: too much: of it" in found.notes and not found.same
    assert found.first_difference is None and found.errors[0].place == ""


@pytest.mark.parametrize(
    ("most", "cut", "first"), [(160, False, "d"), (158, True, "d"), (128, True, "d"), (126, True, None)]
)
def test_inner_values_take_half_of_the_memory_that_is_allowed(most, cut, first):
    """There are five values of 16 bytes, and the fourth is the first that differs."""
    text = HEAD + "(float[4] x) => (float[4] y) {{ a = Abs (x) b = Neg (a) c = Neg (b) d = {} (c) y = Exp (d) }}"
    found = opset.verify(*(model(text.format(each)) for each in ("Neg", "Abs")), seeds=1, limits=Limits(max_bytes=most))
    assert found.verdict == "different" and (found.first_difference and found.first_difference.value) == first
    assert found.notes == ["not all inner values fit into memory; an earlier one may differ"] * cut


def test_the_first_difference_is_beyond_the_tolerance_that_is_given():
    text = HEAD + "(float x) => (float y) <float v = {{{}}}, float w = {{{}}}> {{ a = Mul (x, v) y = Mul (a, w) }}"
    one, other = model(text.format(1, 1)), model(text.format(1.1, 3))
    for rtol, name in ((None, "a"), (0.05, "a"), (0.5, "y")):
        assert opset.verify(one, other, rtol=rtol, seeds=1).first_difference.value == name
    assert opset.verify(one, other, rtol=5, seeds=1).first_difference is None


def test_the_first_difference_is_beyond_the_greatest_tolerance_of_the_outputs():
    """Numbers of 16 bits may differ by more than those of 32."""
    text = (
        HEAD
        + """(float x) => (float16 z, float y) <float v = {{{}}}, float w = {{{}}}> {{
        a = Mul (x, v) z = Cast <to = 10> (a) y = Mul (a, w) }}"""
    )
    found = opset.verify(model(text.format(1, 1)), model(text.format(1.0001, 3)), seeds=1)
    assert [each.verdict for each in found.outputs] == ["same", "different"]
    assert found.first_difference.value == "y"


class FixedRoundings:
    """The roundings of a model, as they were counted."""

    def __init__(self, values):
        self.values = values


@pytest.mark.parametrize(
    ("roundings", "units", "length"),
    [
        ([{"a": (1.0, 3, 0.0)}, {"b": (1.0, 2, 0.0)}], 16, 3),
        ([{"a": (400.0, 3, 2.0**-23)}, {"b": (100.0, 7, 0.0)}], 80, 7),
        ([{"a": (100.0, 3, 0.0)}, {"b": (900.0, 2, 2.0**-10)}], 2**14, 3),
        ([{"a": (400.0, 3, 0.0)}, None], 80, 3),
        ([None, {"a": (400.0, 3, 0.0), "b": (100.0, 2, 0.0)}], 40, 2),  # "a" is another value there
        ([{"b": (400.0, 3, 0.0)}, {"a": (400.0, 3, 0.0)}], 16, 1),
        ([None, None], 2.0**23 * 1e-4, 1),
    ],
)
def test_the_roundings_of_a_model_are_looked_up_by_its_own_name_of_the_output(roundings, units, length):
    found = [None if each is None else FixedRoundings(each) for each in roundings]
    allowed, longest = _tolerance_for(np.zeros(2, np.float32), "a", "b", found)
    assert (allowed, longest) == (pytest.approx(units * 2.0**-23), length)


@pytest.mark.parametrize(
    ("kinds", "allowed"),
    [
        ([], 0.0),
        (["int64"], 0.0),
        (["float32", "float16", "float64"], 2.0**-9),
        (["float64", "float32"], 16 * 2.0**-23),
    ],
)
def test_the_tolerance_of_a_sequence_is_that_of_its_widest_tensor(kinds, allowed):
    value = [np.zeros(2, kind) for kind in kinds]
    assert _tolerance_for(value, "a", "b", [FixedRoundings({}), None]) == (pytest.approx(allowed), 1)
