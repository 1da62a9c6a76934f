"""What operators demand of the values of an input: found through nodes, graphs and functions, so that models run."""

import math
from dataclasses import fields

import numpy as np
import pytest

import opset
from opset.budget import Limits
from opset.model import proto as pb
from opset.opsets.registry import default_registry
from opset.reference.engine.evaluator import ReferenceEvaluator
from opset.reference.example_models import type_proto
from opset.tensor_io import demands
from opset.tensor_io.demands import RULES, Demand, Use, _other_than, demands_for, demands_of
from opset.tensor_io.random_inputs import random_inputs
from tests.bounds import growth

HEAD = '<ir_version: 8, opset_import: ["": {}, "ai.onnx.ml": 3, "f": 1]> g '


def demanded(text, version=17, given=None):
    model = opset.load(opset.parse_model(HEAD.format(version) + text))
    return demands_for(model, default_registry(), Limits(), given or {})


@pytest.mark.parametrize(
    ("one", "other", "met"),
    [
        (Demand(0, 5), Demand(2, 9), Demand(2, 5)),
        (Demand(0, 5), Demand(5, 9), Demand(5, 5)),
        (Demand(0, 5), Demand(6, 9), Demand(0, 5)),  # no number meets both
        (Demand(0, 5, whole=False), Demand(0, 3), Demand(0, 3)),
        (Demand(0, 5), Demand(0, 3, whole=False), Demand(0, 3)),
        (Demand(0, 5, distinct=True), Demand(0, 3), Demand(0, 3, distinct=True)),
        (Demand(0, 5), Demand(0, 3, distinct=True), Demand(0, 3, distinct=True)),
        (Demand(0, 5, wraps=6), Demand(0, 3, wraps=6), Demand(0, 3, wraps=6)),
        (Demand(0, 5, wraps=6), Demand(0, 3), Demand(0, 3)),
        (Demand(0, 5, beyond=6), Demand(0, 3, beyond=2), Demand(0, 3, beyond=2)),
        (Demand(0, 5, beyond=6), Demand(0, 3), Demand(0, 3)),
        (Demand(0, 5, is_clamped=True), Demand(0, 3, is_clamped=True), Demand(0, 3, is_clamped=True)),
        (Demand(0, 5, is_clamped=True), Demand(0, 3), Demand(0, 3)),
        (Demand(0, 5), Demand(0, 3, is_clamped=True), Demand(0, 3)),
        (Demand(0, 5), Demand(fixed=(1, 2)), Demand(fixed=(1, 2))),
        (Demand(0, 5), Demand(choices=(1, 2)), Demand(choices=(1, 2))),
        (Demand(0, 5), Demand(bounds=(1, 2)), Demand(bounds=(1, 2))),
        (Demand(0, 5), Demand(mask=True), Demand(0, 5)),
        (Demand(0, 5), Demand(spread=True), Demand(0, 5)),
        *[(Demand(**{kind: value}), Demand(1, 1), Demand(**{kind: value}))
          for kind, value in (("fixed", (1,)), ("choices", (2,)), ("bounds", (3,)), ("mask", True), ("spread", True))],
    ],
)  # fmt: skip
def test_two_demands_are_met_together_if_they_can_be(one, other, met):
    assert one.meet(other) == met


@pytest.mark.parametrize(
    ("text", "name", "demand"),
    [
        ("(float[5, 7] d, int64[3] i) => (float[A, B] y) { y = Gather <axis = 1> (d, i) }", "i", Demand(-7, 6)),
        ("(float[5, N] d, int64[3] i) => (float[A, B] y) { y = Gather <axis = 1> (d, i) }", "i", Demand(-3, 2)),
        ("(float[5] d, int64[3] i, float[3] u) => (float[A] y) { y = ScatterElements (d, i, u) }", "i",
         Demand(0, 4, distinct=True)),
        ('(float[5] d, int64[3] i, float[3] u) => (float[A] y) { y = ScatterElements <reduction = "add"> (d, i, u) }',
         "i", Demand(0, 4)),
        ("(float[0, 7] d, int64[3] i) => (float[A, B] y) { y = Gather (d, i) }", "i", Demand(-3, 2)),
        ("(float[5, 7] d, int64[3, 2] i) => (float[A] y) { y = GatherND (d, i) }", "i", Demand(bounds=(4, 6))),
        ("(float[5, 7] d, int64[3, 1, 2] i) => (float[A, B] y) { y = GatherND (d, i) }", "i", Demand(bounds=(4, 6))),
        ("(float[5, 7, 2] d, int64[3, 2] i) => (float[A, B] y) { y = GatherND (d, i) }", "i", Demand(bounds=(4, 6))),
        ("(float[5, 7] d, int64[5, 1] i) => (float[A] y) { y = GatherND <batch_dims = 1> (d, i) }", "i", Demand(0, 6)),
        ("(float[5, 7] d, int64[3, 1] i, float[3, 7] u) => (float[A, B] y) { y = ScatterND (d, i, u) }", "i",
         Demand(0, 4, distinct=True)),
        ("(float[5, 7] s, int64[5] t) => (float y) { y = SoftmaxCrossEntropyLoss <ignore_index = -1> (s, t) }", "t",
         Demand(choices=(0, 1, 2, 3, 4, 5, 6, -1))),
        ("(float[2, 9] x, int64[1] k) => (float[A, B] y, int64[A, B] i) { y, i = TopK (x, k) }", "k", Demand(1, 3)),
        ("(float[2, 9] x, int64[1] k) => (float[A, B] y, int64[A, B] i) { y, i = TopK <axis = 0> (x, k) }", "k",
         Demand(1, 2)),
        ("(float[2, 9] x, int64[1] k) => (float[A, B] y) { y = f.G <axis = 0> (x, k) } "
         '<domain: "f", opset_import: ["": 17]> G <axis> (x, k) => (y) { y, i = TopK <axis: int = @axis> (x, k) }', "k",
         Demand(1, 3)),  # nothing is known of an attribute of the call
        ("(float[P, 4] x, int64[2] s) => (float[A, B] y) { y = Expand (x, s) }", "s",
         Demand(fixed=(3, 4), others=((3, 1),))),
        ("(float[1, 4] x, int64[3] s) => (float[A, B, C] y) { y = Expand (x, s) }", "s", 
         Demand(fixed=(3, 3, 4), others=((3, 3, 1),))),
        ("(float[1, 4] x, int64[2] s) => (float[A, B] y) { y = Expand (x, s) }", "s",
         Demand(fixed=(3, 4), others=((3, 1),))),
        ("(float[2, 4] x, int64[1] s) => (float[A, B] y) { y = Expand (x, s) }", "s", Demand(1, 1)),
        ("(float[2, 3, 4] x, int64[2] s) => (float[A, B] y) { y = Reshape (x, s) }", "s",
         Demand(fixed=(-1, 4), others=((2, -1),))),
        ("(float[2, P, 3] x, int64[3] s) => (float[A, B, C] y) { y = Reshape (x, s) }", "s",
         Demand(fixed=(3, -1, 2), others=((2, -1, 3), (0, -1, 1)))),
        ("(float[P, 2, 3] x, int64[2] s) => (float[A, B] y) { y = Reshape (x, s) }", "s", Demand(fixed=(-1, 3))),
        ("(float[2, 4] x, int64[4] s) => (float[A, B, C, D] y) { y = Reshape (x, s) }", "s",
         Demand(fixed=(1, 1, 4, 2), others=((2, 4, 1, 1), (0, -1, 1, 1)))),
        ("(float[2, 4] x, int64[2] s) => (float[A, B] y) { y = Reshape <allowzero = 1> (x, s) }", "s",
         Demand(fixed=(4, 2), others=((2, 4), (2, -1)))),
        ("(float[2, 4] x, int64[2] a) => (float[A, B, C, D] y) { y = Unsqueeze (x, a) }", "a",
         Demand(0, 3, distinct=True, wraps=4)),
        ("(float[1, 4, 1] x, int64[1] a) => (float[A, B] y) { y = Squeeze (x, a) }", "a",
         Demand(fixed=(0,), others=((2,),), wraps=3)),
        ("(float[2, 10] x, int64[4] p) => (float[A, B] a, float[A, C] b, float[A, D] c, float[A, E] d) "
         "{ a, b, c, d = Split <axis = 1> (x, p) }", "p",
         Demand(fixed=(1, 2, 3, 4), others=((4, 3, 2, 1), (2, 3, 4, 1)))),
        ("(float[2, 4] x, int64[2] p) => (float[A, 2] a, float[B, 2] b) { a, b = Split <axis = 0> (x, p) }", "p",
         Demand(fixed=(0, 2), others=((2, 0), (2, 0)))),
        ("(float[2, 4] x, int64[2] b, int64[2] e, int64[2] a) => (float[A, B] y) { y = Slice (x, b, e, a) }", "a",
         Demand(0, 1, distinct=True, wraps=2)),
        ("(float[2, 4] x, int64 a) => (float[A, B] y) { y = CumSum (x, a) }", "a", Demand(-2, 1)),
        ("(float[7, 2, 5] x, float[1, 9, 5] w, float[1, 9, 3] r, float[1, 18] b, int32[2] n) => (float[A, B, C, D] y) "
         "{ y = GRU <hidden_size = 3> (x, w, r, b, n) }", "n", Demand(1, 7)),
        ("(float[2, 5] x, int64[2] n) => (float[A, B] y) "
         "{ y = ReverseSequence <time_axis = 1, batch_axis = 0> (x, n) }", "n", Demand(1, 5)),
        ("(float[5, 2] x, int64[2] n) => (float[A, B] y) { y = ReverseSequence (x, n) }", "n", Demand(1, 5)),
        ("(int64[3] a, int64[3] b) => (int64[A] y) { y = Div (a, b) }", "b", Demand(1, 3)),
        ("(float[4] x, int64[K] n, int64[2] a) => (float[A] y) { s = Reshape (x, n) y = Unsqueeze (s, a) }", "a",
         Demand(fixed=(0, 1))),
        ("(string[3] x) => (int64[A] y) "
         '{ y = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "b"], values_int64s = [1, 2]> (x) }',
         "x", Demand(choices=("a", "b", "ax"))),
        *(("(int64[4] x) => (float[A, B] y) { "
           f"y = ai.onnx.ml.OneHotEncoder <cats_int64s = [3, 5]{zeros}> (x) }}", "x", Demand(choices=choices))
          for zeros, choices in (("", (3, 5, 0)), (", zeros = 1", (3, 5, 0)), (", zeros = 0", (3, 5)))),
        ("(float[4] x, float[4] m) => (float[A] y) { s = Add (x, m) t = Softmax (s) y = Abs (t) }", "m",
         Demand(mask=True)),
        ("(int64[4] x) => (bool[A] y) { y = Cast <saturate = 1, to = 9> (x) }", "x", Demand(0, 1)),
        ("(float[4, 3] x, int64[2] n) => (float[A, B] y) { y = CenterCropPad (x, n) }", "n",
         Demand(low=1, bounds=(7, 6))),
        ("(float[4, 3] x, int64[1] n) => (float[A, B] y) { y = CenterCropPad <axes = [1]> (x, n) }", "n",
         Demand(low=1, bounds=(6,))),
        ("(float[4, 3] x, int64[2] n) => (bool[A] y) { s = Shape (x) y = Less (s, n) }", "n",
         Demand(low=1, bounds=(7, 6))),
        ("(float[4, 3] x, int64[2] n) => (bool[A] y) { s = Shape (x) y = GreaterOrEqual (n, s) }", "n",
         Demand(low=1, bounds=(7, 6))),
        ("(float[4, 3] x, int64[2] n) => (int64[A] y) { s = Shape (x) y = Max (n, s) }", "n",
         Demand(low=1, bounds=(7, 6))),
        ("(float[4, 3] x, int64[2] n, bool c) => (bool[A] y) { s = Shape (x) y = If (c) <then_branch = t () => "
         "(bool[B] u) { u = Greater (s, n) }, else_branch = e () => (bool[C] v) { v = Cast <to = 9> (s) }> }", "n",
         Demand(low=1, bounds=(7, 6))),
        ("(float[3, 2, 3] t, int64[4] n) => (float[A, B, C, D] y) { y = AffineGrid (t, n) }", "n",
         Demand(fixed=(3, 1, 4, 5), others=((3, 2, 5, 4),))),
        ("(float[3, 3, 4] t, int64[5] n) => (float[A, B, C, D, E] y) { y = AffineGrid (t, n) }", "n",
         Demand(fixed=(3, 1, 4, 5, 6), others=((3, 2, 6, 5, 4),))),
        ("(float[4] x, float8e4m3fn[1] l) => (float8e4m3fn[A] y) { y = CastLike (x, l) }", "x",
         Demand(0.01, 1e6, whole=False, spread=True)),
        ("(float[4] x, float s, uint16 z) => (uint16[A] y) { y = QuantizeLinear (x, s, z) }", "x",
         Demand(0.01, 1e5, whole=False, spread=True)),
        ("(float[4] x, float s) => (int16[A] y) { y = QuantizeLinear <output_dtype = 5> (x, s) }", "x",
         Demand(0.01, 1e5, whole=False, spread=True)),
        ('(string[4] x) => (string[A, B] y, int64[A] n) { y, n = StringSplit <delimiter = "-"> (x) }', "x",
         Demand(choices=("a-b-c", "-d--e f  g", "h", "", "i  -"))),
        ("(string[4] x) => (string[A, B] y, int64[A] n) { y, n = StringSplit (x) }", "x",
         Demand(choices=("a b c", " d  e f  g", "h", "", "i   "))),
        ("(float[2, 4, 8] q, float[2, 6, 8] k, float[2, 6, 8] v, float[4, 6] m) => (float[A, B, C] y) "
         "{ y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v, m) }", "m", Demand(mask=True)),
        ("(float[2, 4, 8] q, float[2, 6, 8] k, float[2, 6, 8] v, int64[2] n) => (float[A, B, C] y) "
         "{ y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v, , , , n) }", "n", Demand(1, 6)),
        *((f"(float[2, {old}, 4] c, float[2, {new}, 4] u, int64[2] n) => (float[A, B, C] y) "
           f"{{ y = TensorScatter {mode} (c, u, n) }}", "n", Demand(0, most))
          for old, new, mode, most in ((6, 2, "", 4), (6, "P", "", 5), ("P", 2, "", 0), (6, 2, "<axis = 2>", 0),
                                       (6, 2, '<mode = "circular">', 5))),
        ("(float[4] x) => (float[A] y) { y = Sqrt (x) }", "x", Demand(0.1, 3, whole=False)),
    ],
)  # fmt: skip
def test_an_operator_demands_what_suits_it(text, name, demand):
    is_new = any(
        each in text for each in ("CenterCrop", "AffineGrid", "float8", "StringSplit", "Attention", "int16", "TensorS")
    )
    assert demanded(text, 24 if is_new else 17)[name] == demand


@pytest.mark.parametrize(
    ("text", "version", "name"),
    [
        ("(float[A, B] x, int64[2] a) => (float[C] y) { y = Relu (x) }", 17, "x"),
        ("(float[A, 3] x, int64[2] n) => (bool[A] y) { s = Shape (x) y = Less (s, n) }", 17, "n"),
        ("(float[0, 3] x, int64[2] n) => (bool[A] y) { s = Shape (x) y = Less (s, n) }", 17, "n"),
        ("(float[4, 3] x, int64 n) => (bool[A] y) { s = Shape (x) y = Less (s, n) }", 17, "n"),
        ("(int64[2] m, int64[2] n) => (bool[A] y) { y = Less (m, n) }", 17, "n"),
        ("(float[4] x, float s, uint8 z) => (uint8[A] y) { y = QuantizeLinear (x, s, z) }", 17, "x"),
        ("(float[4] x, seq(float) l) => (float[A] y) { y = CastLike (x, l) }", 17, "x"),
        ("(float[4] x, float s) => (uint8[A] y) { y = QuantizeLinear (x, s) }", 17, "x"),
        ("(float[4, 3] x, int64[2] m, int64[2] n) => (int64[A] y) { s = Shape (x) y = Max (n, s, m) }", 17, "n"),
        ("(float[3] a, float[3] b) => (float[A] y) { y = Div (a, b) }", 17, "b"),
        ("(float[4] x, float[4] m) => (float[A] y) { s = Add (x, m) y = Abs (s) }", 17, "m"),
        ("(float[A, 3] x, int64[A] s) => (float[B, C] y) { n = Shape (x) y = Cast <to = 1> (n) }", 17, "x"),
        ("(float[4] x) => (float[A] y) { y = Cast <to = 1> (x) }", 17, "x"),
        ("(float[4] x) => (float[A] y) { y = Cast <saturate = 9, to = 1> (x) }", 19, "x"),
        ("(int64 n, bool c, float[2] x) => (float[2] y) { y = Loop (n, c, x) }", 17, "x"),  # without a body
        ("(int64[2] x) => (float[2] y) { y = Cast (x) }", 17, "x"),
        ("(float[1] x, int64[0] s) => (float y) { y = Reshape (x, s) }", 17, "s"),
        ('(float[4] x) => (float[A] y) { y = f.Sqrt (x) } <domain: "f", opset_import: ["": 17]> '
         "Sqrt (a) => (b) { b = Abs (a) }", 17, "x"),
        ('(float[4] x) => (float[A] y) { y = Sqrt (x) } <domain: "", opset_import: ["": 17]> '
         "Sqrt (a) => (b) { b = Cos (a) }", 17, "x"),
    ],
)  # fmt: skip
def test_others_demand_nothing(text, version, name):
    assert name not in demanded(text, version)


SQRT = Demand(0.1, 3, whole=False)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("(float[4] x) => (float[A] y) { a = Transpose (x) b = Identity (a) y = Sqrt (b) }", {"x": SQRT}),
        ("(float[4] x, float[4] z) => (float[A] y) { a = Concat <axis = 0> (z, x) y = Sqrt (a) }",
         {"x": SQRT, "z": SQRT}),
        ("(bool[4] c, float[4] x, float[4] z) => (float[A] y) { a = Where (c, x, z) y = Sqrt (a) }",
         {"x": SQRT, "z": SQRT}),
        ("(float[4] x) => (float[A] y, float[A] z) { y = Sqrt (x) z = Acosh (x) }", {"x": Demand(1, 3, whole=False)}),
        ("(float[4] x, bool c) => (float[A] y) { y = If (c) <then_branch = t () => (float[A] a) { a = Sqrt (x) }, "
         "else_branch = e () => (float[A] b) { b = Relu (x) }> }", {"x": SQRT}),
        ("(float[4] x, bool c) => (float[4] y) { y = If (c) <then_branch = t () => (float[4] a) "
         "{ x = Abs (c) a = Sqrt (x) }, else_branch = e () => (float[4] b) { b = Relu (c) }> }", {}),
        ("(int64 n, bool c, float[4] x, float[4] z) => (float[4] y, float[4] w) { y, w = Loop (n, c, x, z) "
         "<body = b (int64 i, bool d, float[4] u, float[4] v) => (bool e, float[4] p, float[4] q) "
         "{ e = Identity (d) p = Log (u) q = Sqrt (v) }> }",
         {"n": Demand(1, 5, beyond=1), "c": Demand(1, 1, beyond=1), "x": SQRT, "z": SQRT}),
        ("(float[2] s, float[4, 2] x) => (float[2] e, float[4, 2] y) { e, y = Scan <num_scan_inputs = 1, "
         "body = b (float[2] u, float[2] v) => (float[2] w, float[2] o) { w = Relu (u) o = Sqrt (v) }> (s, x) }",
         {"x": SQRT}),
        ('(float[4] x, float[4] z) => (float[A] y) { y = f.G (x, z) } <domain: "f", opset_import: ["": 17]> '
         "G (a, b) => (c) { d = Sqrt (b) c = Add (a, d) }", {"z": SQRT}),
    ],
)  # fmt: skip
def test_a_demand_is_found_through_nodes_graphs_and_functions(text, found):
    assert demanded(text) == found


def test_only_so_many_nodes_are_looked_at(monkeypatch):
    text = "(float[4] x, float[4] z) => (float[A] y, float[A] w) { y = Sqrt (x) w = Sqrt (z) }"
    for most, found in ((1, {"x": SQRT}), (2, {"x": SQRT, "z": SQRT})):
        monkeypatch.setattr(demands, "_MOST_VISITED", most)
        assert demanded(text) == found


def test_sizes_of_values_that_are_given_count():
    text = "(float[N, 4] d, int64[3] i, float[N] z) => (float[A, B] y) { w = Relu (z) y = Gather (d, i) }"
    assert demanded(text) == {"i": Demand(-3, 2)}  # a size that is not known is taken for a small one
    assert demanded(text, given={"z": np.zeros(9)}) == {"i": Demand(-9, 8)}
    assert demanded(text, given={"d": np.zeros((8, 4))}) == {"i": Demand(-8, 7)}
    assert demanded(text, given={"d": np.zeros((8, 4)), "i": np.zeros(3), "z": np.zeros(8)}) == {}


@pytest.mark.parametrize(
    "node",
    [
        "int64[2] i, int64 d, float[2] v) => (float[A, B] y) { y = OneHot (i, d, v)",
        "float[2, 3] x, int64[2] r) => (float[A, B] y) { y = Tile (x, r)",
        "int64[2] s) => (float[A, B] y) { y = ConstantOfShape (s)",
        "int64 s, int64 l, int64 d) => (int64[A] y) { y = Range (s, l, d)",
        "float[5, 5] x, int64[2] s, int64[2] e, int64[2] a, int64[2] t) => (float[A, B] y) { y = Slice (x, s, e, a, t)",
        "float[2, 3] x, int64[4] p, float v) => (float[A, B] y) { y = Pad (x, p, v)",
        "float[1, 1, 4, 4] x, float[4] s) => (float[A, B, C, D] y) { y = Resize (x, , s)",
        "float[2, 3] x, float[2, 3] z, int64 i) => (float[A, B] y) "
        "{ s = SequenceConstruct (x, z) y = SequenceAt (s, i)",
        "float[2, 3] x, float r) => (float[A, B] y) { y = Dropout (x, r)",
        "float[2, 3] x) => (float[A, B] y) { y = Bernoulli (x)",
        "float[2, 3, 4] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[A, B, C] y) "
        "{ y = BatchNormalization (x, s, b, m, v)",
        "float[2, 3] x, float s, uint8 z) => (uint8[A, B] y) { y = QuantizeLinear (x, s, z)",
        "uint8[2, 3] x, uint8[2] n) => (uint8[A, B] y) { y = BitShift <direction = \"LEFT\"> (x, x)",
        "float[4, 4] x, int64 k) => (float[A, B] y) { y = Trilu (x, k)",
        "float[2, 1, 4, 4] x, float[3, 4] r, int64[3] b) => (float[A, B, C, D] y) { y = RoiAlign (x, r, b)",
        "float[1, 1, 2, 2] x, int64[1, 1, 2, 2] i) => (float[A, B, C, D] y) "
        "{ y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (x, i)",
        "float[1, 6, 4] b, float[1, 2, 6] s, int64 m, float i, float t) => (int64[A, 3] y) "
        "{ y = NonMaxSuppression (b, s, m, i, t)",
        "float[1, 8, 1] x, int64 n) => (float[A, B, 2] y) { y = DFT (x, n)",
        "int64 n) => (float[A] y) { y = HannWindow (n)",
        "float[1, 9, 1] x, int64 s, float[4] w, int64 f) => (float[A, B, C, 2] y) { y = STFT (x, s, w, f)",
        "int64 b, int64 l, int64 r, float f, float t) => (float[A, B] y) { y = MelWeightMatrix (b, l, r, f, t)",
        "float[2, 3] x, float l, float h) => (float[A, B] y) { y = Clip (x, l, h)",
        "float[2, 3] x, int64[2] n) => (float[A, B] y) { y = ReduceSum (x, n)",
        "float[2, 3] x) => (float[A, B] y) { a = Asin (x) b = Acos (x) c = Atanh (x) d = Add (a, b) y = Add (c, d)",
        "float[2, 3] x, float[2, 3] z) => (float[A, B] y) { y = Pow (x, z)",
        "int64 t, bool c, float[2] x) => (float[2] y) { y = Loop (t, c, x) "
        "<body = b (int64 i, bool d, float[2] u) => (bool e, float[2] v) { e = Identity (d) v = Neg (u) }>",
    ],
)  # fmt: skip
def test_a_model_runs_on_what_is_drawn(node):
    model = opset.load(opset.parse_model(HEAD.format(17) + f"({node} }}"))
    evaluator = ReferenceEvaluator(model)
    demands = demands_for(model, default_registry(), Limits(), {})
    for seed in range(8):
        feeds = random_inputs(model.proto.graph.input, {}, seed, Limits(), demands)
        for value in evaluator.run(None, feeds):
            assert value.size and (value.dtype.kind != "f" or np.isfinite(value).all()), (seed, feeds)


@pytest.mark.parametrize(
    ("demand", "kind", "shape", "least", "most"),
    [
        (Demand(-2, 5), "int64", (200,), -2, 5),
        (Demand(-2, 5), "uint8", (200,), 0, 5),
        (Demand(-200, 200), "int8", (4000,), -128, 127),
        (Demand(0.5, 2.5), "int64", (99,), 1, 2),
        (Demand(-1, 2), "float", (200,), -1, 2),
        (Demand(0, 6, distinct=True), "int64", (7,), 0, 6),
        (Demand(bounds=(0, 4)), "int64", (200, 2), 0, 4),
        (Demand(low=1, bounds=(1, 4)), "int64", (200, 2), 1, 4),
        (Demand(fixed=(3, 1)), "int64", (2,), 1, 3),
        (Demand(choices=(4, 7)), "int64", (50,), 4, 7),
    ],
)  # fmt: skip
def test_numbers_are_drawn_from_the_first_to_the_last(demand, kind, shape, least, most):
    value = pb.ValueInfoProto(name="x", type=type_proto(f"tensor({kind})", shape))
    found = random_inputs([value], {}, 0, Limits(), {"x": demand})["x"]
    assert (found.min(), found.max()) == (least, most)
    if demand.distinct:
        assert len({*found.tolist()}) == found.size
    if demand.bounds:
        assert found.max(axis=0).tolist() == [*demand.bounds] and found.min(axis=0).tolist() == [demand.low] * 2
    if demand.fixed:
        assert found.tolist() == [*demand.fixed]


def drawn(demand, kind, shape, seed=0):
    value = pb.ValueInfoProto(name="x", type=type_proto(f"tensor({kind})", shape))
    return random_inputs([value], {}, seed, Limits(), {"x": demand})["x"]


def test_magnitudes_are_spread_with_both_signs():
    spread = Demand(0.01, 1e6, whole=False, spread=True)
    found = drawn(spread, "float", (400,))
    assert found.min() < -1e5 and found.max() > 1e5 and np.abs(found).min() < 0.1 and np.abs(found).min() >= 0.01
    assert 100 < np.count_nonzero(np.abs(found) < 100) < 300
    assert np.isinf(drawn(spread, "float16", (400,))).any()
    assert set(drawn(spread, "int64", (50,)).tolist()) == {0, 1, 2, 3}  # what is drawn of integers in any case


def test_axes_are_drawn_in_any_order_and_from_both_ends():
    found = {tuple(drawn(Demand(0, 2, distinct=True, wraps=3), "int64", (2,), seed).tolist()) for seed in range(200)}
    every = {(a, b) for a in range(-3, 3) for b in range(-3, 3) if a % 3 != b % 3}
    assert found == every


def test_a_range_is_widened_on_both_sides():
    assert Demand(0, 1, beyond=6).resolve_range(True) == Demand(-6, 7)
    assert Demand(0, 1, beyond=6).resolve_range(False) == Demand(0, 1)
    clamped = Demand(0, 1, beyond=2, is_clamped=True)
    assert clamped.resolve_range(False) == Demand(0, 1)
    found = {*drawn(clamped.resolve_range(True), "int64", (400,)).tolist()}
    assert found == {*range(-2, 4), 2**40 + 1, -(2**40), 2**63 - 1, 1 - 2**63}
    assert {*drawn(clamped.resolve_range(True), "int32", (400,)).tolist()} == {*range(-2, 4)}


def test_pads_are_not_negative_if_that_is_not_defined():
    text = '(float[3] x, int64[2] p) => (float[A] y) { y = Pad <mode = "constant"> (x, p) }'
    assert demanded(text, 19)["p"] == Demand(0, 1, beyond=2)
    assert demanded(text.replace("constant", "wrap"), 19)["p"] == Demand(0, 1)


def test_places_of_a_shift_go_up_to_the_width_of_the_type():
    text = '(uint8[3] a, uint8[3] b) => (uint8[A] y) { y = BitShift <direction = "LEFT"> (a, b) }'

    assert demanded(text)["b"] == Demand(choices=(0, 1, 2, 3, 4, 7))
    assert demanded(text, 28)["b"] == Demand(choices=(0, 1, 2, 3, 4, 7, 8, 9))
    assert demanded(text.replace("uint8", "uint64"))["b"] == Demand(choices=(0, 1, 2, 3, 32, 63))


def test_each_list_that_suits_is_drawn():
    demand = Demand(fixed=(0, 2), others=((2, 0), (5, 5)))
    assert {tuple(drawn(demand, "int64", (2,), seed).tolist()) for seed in range(40)} == {(0, 2), (2, 0), (5, 5)}
    once = Demand(fixed=(1,), wraps=4)
    assert {int(drawn(once, "int64", (1,), seed)[0]) for seed in range(40)} == {1, -3}


def test_axes_from_the_end_are_not_drawn_if_a_version_does_not_take_them():
    text = "(float[2, 4] x, int64[2] b, int64[2] e, int64[2] a) => (float[A, B] y) { y = Slice (x, b, e, a) }"
    assert demanded(text, 10)["a"] == Demand(0, 1, distinct=True)
    assert demanded(text, 11)["a"] == Demand(0, 1, distinct=True, wraps=2)


def test_a_mask_leaves_a_part_out_but_never_all_of_the_last_row():
    for seed in range(8):
        found = drawn(Demand(mask=True), "float", (6, 9), seed)
        assert np.isinf(found).any() and np.isfinite(found[-1]).any() and (found[np.isinf(found)] < 0).all()
    rows = [np.isinf(drawn(Demand(mask=True), "float", (6, 9), seed)).all(axis=1).any() for seed in range(8)]
    assert any(rows) and not all(rows)
    flags = [drawn(Demand(mask=True), "bool", (6, 9), seed) for seed in range(40)]
    assert {each.dtype for each in flags} == {np.dtype(bool)}
    assert any(not each.any() for each in flags) and any(each[-1].any() for each in flags)
    assert set(drawn(Demand(mask=True), "int64", (50,)).tolist()) == {0, 1, 2, 3}
    assert drawn(Demand(mask=True), "float", ()).shape == ()


def test_how_much_a_mask_leaves_out():
    masks = np.array([np.isfinite(drawn(Demand(mask=True), "float", (2, 3, 9), seed)) for seed in range(100)])
    rows = masks.reshape(100, 6, 9)
    gone = ~rows.any(axis=2)
    assert 0.6 < gone.any(axis=1).mean() < 0.8 and 0.3 < gone[:, :-1].mean() < 0.45 and not gone[:, -1].any()
    kept = rows[:, :-1][~gone[:, :-1]]
    assert kept[:, 0].all() and 0.7 < kept[:, 1:].mean() < 0.8
    lines = [np.isfinite(drawn(Demand(mask=True), "float", (9,), seed)) for seed in range(40)]
    assert all(each[0] for each in lines) and 0.65 < np.mean(lines) < 0.85
    scalars = [np.isfinite(drawn(Demand(mask=True), "float", (), seed)) for seed in range(40)]
    assert 0.6 < np.mean(scalars) < 0.9


def test_a_mask_of_booleans_is_drawn_like_others_or_by_element():
    masks = np.array([drawn(Demand(mask=True), "bool", (6, 9), seed) for seed in range(200)])
    shares = masks.mean(axis=(1, 2))
    by_row = masks[:, -1, 0] & (masks[:, :, 0] | ~masks.any(axis=2)).all(axis=1)
    assert 0.4 < by_row.mean() < 0.6 and 0.1 < (shares == 0).mean() < 0.25
    assert (~masks[by_row].any(axis=2)).any(axis=1).mean() > 0.5
    by_element = shares[~by_row & (shares > 0)]
    few, half = by_element[by_element < 0.35], by_element[by_element >= 0.35]
    assert min(len(few), len(half)) > 20 and 0.15 < few.mean() < 0.25 and 0.45 < half.mean() < 0.55


@pytest.mark.parametrize(
    ("kind", "lowest"), [("double", -np.inf), ("float16", -np.inf), ("bfloat16", -np.inf), ("float8e4m3fn", -1)]
)
def test_the_least_number_of_a_type_leaves_out(kind, lowest):
    found = drawn(Demand(mask=True), kind, (6, 9), 1).astype(np.float64)
    assert np.count_nonzero(found == lowest) > 10 and np.isfinite(found).sum() > (10 if lowest < -1 else 53)
    others = found[found != lowest]
    assert abs(others.mean()) < 0.6 and 0.5 < others.std() < 1.5


@pytest.mark.parametrize("distinct", [False, True])
def test_tuples_of_indices_are_within_bounds(distinct):
    demand = Demand(low=1, bounds=(3, 2), distinct=distinct)
    for shape in ([2], [6, 2], [2, 3, 2], [9, 2], [0, 2]):
        found = drawn(demand, "int64", shape)
        assert [*found.shape] == shape
        tuples = [*map(tuple, found.reshape(-1, 2).tolist())]
        assert {*tuples} <= {(row, column) for row in (1, 2, 3) for column in (1, 2)}
        if distinct and len(tuples) <= 6:
            assert len({*tuples}) == len(tuples)
    if not distinct:
        assert len({*map(tuple, drawn(demand, "int64", [6, 2]).tolist())}) < 6
    many = drawn(demand, "int64", [600, 2])
    assert (many.min(axis=0).tolist(), many.max(axis=0).tolist()) == ([1, 1], [3, 2])


def test_a_value_that_is_reached_twice_hides_no_other():
    nodes = (
        "t = Identity (x)  p = Identity (x)  q = Identity (x)  r = Concat <axis = 0> (p, q)  y = Sqrt (t)  z = Neg (r)"
    )
    found = demanded(f"(float[4] x) => (float[A] y, float[B] z) {{ {nodes} }}")
    assert found == {"x": Demand(0.1, 3, whole=False)}
    doubled = " ".join(f"x{at + 1} = Max (x{at}, x{at})" for at in range(20))
    assert demanded(f"(float[4] x0, float[4] z) => (float[A] y) {{ {doubled} y = Sqrt (z) }}") == {"z": SQRT}


def test_indices_are_distinct_as_far_as_there_are_enough():
    distinct = Demand(0, 4, distinct=True)
    assert sorted(drawn(distinct, "int64", (5,)).tolist()) == [0, 1, 2, 3, 4]
    found = drawn(distinct, "int64", (4, 3))  # more than there are: none twice along the longest axis
    assert found.min() >= 0 and found.max() <= 4
    assert all(len({*column.tolist()}) == 4 for column in found.T)
    assert {*drawn(distinct, "int64", (60,)).tolist()} == {0, 1, 2, 3, 4}
    pairs = drawn(Demand(bounds=(1, 2), distinct=True), "int64", (6, 2))
    assert sorted(map(tuple, pairs.tolist())) == [(a, b) for a in range(2) for b in range(3)]
    assert drawn(Demand(bounds=(1, 2), distinct=True), "int64", (7, 2)).max(axis=0).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("demand", "kind", "shape", "found"),
    [
        (Demand(fixed=(1, 2)), "int64", (40,), {0, 1, 2, 3}),  # of another number of elements
        (Demand(bounds=(1, 2)), "int64", (40, 3), {0, 1, 2, 3}),
        (Demand(choices=("a",)), "int64", (40,), {0, 1, 2, 3}),
        (Demand(choices=(1, 2)), "string", (90,), {"one", "two", "three", "four", "five", "six"}),
        (Demand(choices=(0.5,)), "int64", (40,), {0, 1, 2, 3}),
        (Demand(choices=(300, -200)), "int8", (40,), {0}),
        (Demand(choices=(b"a", "b")), "string", (40,), {"a", "b"}),
        (Demand(1, 1), "bool", (9,), {True}),
        (Demand(0, 1), "bool", (40,), {True, False}),
        (Demand(-5, 9), "uint4", (200,), set(range(10))),
        (Demand(-5, 99), "uint4", (400,), set(range(16))),
        (Demand(-99, 99), "int4", (400,), set(range(-8, 8))),
        (Demand(5, 20), "int4", (200,), {5, 6, 7}),
    ],
)
def test_a_demand_that_a_type_cannot_meet_is_left_out(demand, kind, shape, found):
    assert {*map(type(next(iter(found))), drawn(demand, kind, shape).ravel().tolist())} == found


def test_numbers_beyond_a_type_and_infinite_ones_are_drawn():
    assert demanded("(float[4] x) => (float8e4m3fn[A] y) { y = Cast <to = 17> (x) }", 19)["x"] == Demand(
        0.01, 1e6, whole=False, spread=True
    )
    assert math.isinf(max(demanded("(float[4] x) => (bool[A] y) { y = IsInf (x) }", 20)["x"].choices))


def test_nothing_is_demanded_if_there_is_no_time_to_find_it():
    model = opset.load(opset.parse_model(HEAD.format(17) + "(float[4] x) => (float[A] y) { y = Sqrt (x) }"))
    assert demands_for(model, default_registry(), Limits(timeout=0), {}) == {}


@pytest.mark.parametrize(
    ("operator", "scale_of_output"), [("QLinearMatMul", True), ("QLinearConv", True), ("MatMulInteger", False)]
)
def test_quantized_operators_get_bytes_and_small_scales(operator, scale_of_output):
    shapes = ("[1, 1, 5]", "[1, 1, 3]") if operator == "QLinearConv" else ("[2, 3]", "[3, 4]")
    names = ["a", "as", "az", "b", "bs", "bz", "ys", "yz"] if scale_of_output else ["a", "b", "az", "bz"]
    kinds = {"a": f"uint8{shapes[0]}", "b": f"uint8{shapes[1]}"}
    given = ", ".join(f"{kinds.get(name, 'float' if name[-1] == 's' else 'uint8')} {name}" for name in names)
    kind = "uint8" if scale_of_output else "int32"
    found = demanded(f"({given}) => ({kind}[A] y) {{ y = {operator} ({', '.join(names)}) }}")
    scale = Demand(0.05, 0.3, whole=False)
    every = {"a": Demand(-128, 255), "b": Demand(-128, 255)}
    assert found == (every | {"as": scale, "bs": scale, "ys": Demand(5, 40, whole=False)} if scale_of_output else every)


@pytest.mark.parametrize(
    ("known", "other"),
    [
        ((b"a", b"bc"), b"bcx"),
        ((0, 1, 3), 2),
        ((-(2**63), 2**63 - 1), 0),
        ((0.0, float("inf")), 1),
        ((float("nan"),), 0),
    ],
)
def test_a_word_or_number_that_is_not_known(known, other):
    assert _other_than(known) == other


# What suits the inputs of operators if nothing is known of their shapes: the fields that are no defaults.
PLAIN = """
low=-3, high=2: Gather 1, GatherElements 1
high=2, distinct=True: Scatter 1, ScatterElements 1
0 to 3: GatherND 1, Slice 3, Pad 3, Unsqueeze 1, Squeeze 1, ReduceL1 1, ReduceL2 1, ReduceLogSum 1,
    ReduceLogSumExp 1, ReduceMax 1, ReduceMean 1, ReduceMin 1, ReduceProd 1, ReduceSum 1, ReduceSumSquare 1
distinct=True: ScatterND 1
high=2: NegativeLogLikelihoodLoss 1, SoftmaxCrossEntropyLoss 1, ArrayFeatureExtractor 1, RoiAlign 2,
    RotaryEmbedding 3
beyond=6: OneHot 0
low=4, high=4: OneHot 1, STFT 3, MelWeightMatrix 0
low=1: TopK 1, RNN 4, GRU 4, LSTM 4, ReverseSequence 1, NonMaxSuppression 2, CenterCropPad 1, Attention 6
low=1, high=2: Tile 1, Range 2, STFT 1
low=1, high=1: Expand 1, DFT 2
nothing: Reshape 1, Div 1, Mod 1, Less 0, Less 1, Greater 0, Greater 1, LessOrEqual 0, LessOrEqual 1,
    GreaterOrEqual 0, GreaterOrEqual 1, Max 0, Max 1, Min 0, Min 1, Cast 0, CastLike 0, QuantizeLinear 0,
    LabelEncoder 0, CategoryMapper 0, OneHotEncoder 0, TfIdfVectorizer 0, StringNormalizer 0
low=1, high=4, beyond=1: ConstantOfShape 0
high=1: Range 0
low=4, high=6, beyond=5: Range 1
high=1, beyond=6, is_clamped=True: Slice 1
low=2, high=4, beyond=5, is_clamped=True: Slice 2
low=1, high=2, beyond=3: Slice 4
high=1, beyond=2: Pad 1
fixed=(3,): Split 1
low=-1, high=0: CumSum 1
low=1, high=2.6, whole=False: Resize 2, Upsample 1
low=2, high=5: Resize 3
low=-2, high=1: SequenceAt 1, SequenceErase 1, SequenceInsert 2
low=1, high=5, beyond=1: Loop 0
low=1, high=1, beyond=1: Loop 1
choices=(0.0, 0.25, 0.5): Dropout 1
high=1, whole=False: Bernoulli 0, NonMaxSuppression 0
low=-3, high=0, whole=False: Multinomial 0
low=0.1, whole=False: BatchNormalization 4, Sqrt 0, Log 0
low=0.05, high=0.3, whole=False: QuantizeLinear 1, DequantizeLinear 1, QLinearConv 1, QLinearConv 4,
    QLinearMatMul 1, QLinearMatMul 4
low=5, high=40, whole=False: QLinearConv 6, QLinearMatMul 6
choices=(0, 1, 2, 3, 4, 7): BitShift 1
low=-1, high=1, beyond=3: Trilu 1
high=4, whole=False: RoiAlign 1
high=0.9, whole=False: MaxRoiPool 1
low=-1.1, high=1.1, whole=False: GridSample 1
fixed=(3, 1), others=((3, 2),): AffineGrid 1
high=0, distinct=True: MaxUnpool 1
low=0.3, high=0.6, whole=False: NonMaxSuppression 3
high=0.5, whole=False: NonMaxSuppression 4
low=4, high=8: DFT 1, HannWindow 0, HammingWindow 0, BlackmanWindow 0
low=16, high=16: MelWeightMatrix 1
low=8000, high=8000: MelWeightMatrix 2
high=100: MelWeightMatrix 3
low=3000, high=4000: MelWeightMatrix 4
low=-1, high=0, whole=False, beyond=2: Clip 1
low=0.25, high=1.5, whole=False, beyond=2: Clip 2
mask=True: Attention 3
high=0: TensorScatter 2
low=-2147483648, high=2147483647: BitwiseAnd 0, BitwiseAnd 1, BitwiseOr 0, BitwiseOr 1, BitwiseXor 0,
    BitwiseXor 1, BitwiseNot 0, BitwiseNot 1, BitShift 0, BitCast 0
choices=(inf, -inf, nan, 0.5, -2.0): IsInf 0, IsNaN 0
low=-9, high=9: Mod 0
choices=('a b c', ' d  e f  g', 'h', '', 'i   '): StringSplit 0
low=-128, high=255: DequantizeLinear 0, QLinearConv 0, QLinearConv 3, QLinearMatMul 0, QLinearMatMul 3,
    ConvInteger 0, ConvInteger 1, MatMulInteger 0, MatMulInteger 1
low=0.2, high=2, whole=False: Pow 0
low=-1, high=2, whole=False: Pow 1
low=-0.9, high=0.9, whole=False: Acos 0, Asin 0, Atanh 0
low=1, whole=False: Acosh 0
"""


def test_what_suits_each_input_if_no_shape_is_known():
    lines: dict[str, list[str]] = {}
    node = opset.parse_node("y = Op (a, b, c, d, e, f, g)")
    for (operator, position), rule in RULES.items():
        demand = rule(Use(operator, 23, position, node, None, [*"abcdefg"]))
        given = "nothing" if demand is None else ", ".join(
            f"{each.name}={getattr(demand, each.name)}" for each in fields(demand)
            if getattr(demand, each.name) != each.default
        )  # fmt: skip
        lines.setdefault(given or "0 to 3", []).append(f"{operator} {position}")
    shown = [f"{given}: {', '.join(inputs)}" for given, inputs in lines.items()]
    assert shown == PLAIN.strip().replace("\n    ", " ").split("\n")


def test_sizes_that_are_not_known_count_as_3():
    text = "(float[5, 7] d, int64[3] i) => (float[A, B] y) { y = Gather <axis = %d> (d, i) }"
    for axis, demand in ((1, Demand(-7, 6)), (-2, Demand(-5, 4)), (-3, Demand(-3, 2)), (2, Demand(-3, 2))):
        assert demanded(text % axis)["i"] == demand
    model = opset.parse_model(HEAD.format(17) + text % 1)
    model.graph.input[0].type.tensor_type.ClearField("shape")
    assert demands_for(opset.load(model), default_registry(), Limits(), {})["i"] == Demand(-3, 2)
    unpool = "(float[N, 1, 2] x, int64[%s, 1, 2] i) => (float[A, B, C] y) { y = MaxUnpool <kernel_shape = [2]> (x, i) }"
    for batch, most in (("N", 0), ("3", 5)):
        assert demanded(unpool % batch)["i"] == Demand(0, most, distinct=True)
    for old, demand in ((10, Demand(0, 6)), (11, Demand(-7, 6))):  # the first version that takes negative ones
        assert demanded(text % 1, old)["i"] == demand


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(float[2, 3, 4] d, int64[2] a) => (float[A] y) { y = ReduceSum <keepdims = 0> (d, a) }", 3),
        ("(float[2, 3, 4] d, int64[1] a) => (float[A, B, C, E] y) { y = Unsqueeze (d, a) }", 4),
        ("(float[1, 3, 1] d, int64[1] a) => (float[A, B] y) { y = Squeeze (d, a) }", 3),
    ],
)
def test_axes_are_counted_from_the_end_in_half_of_the_draws(text, value):
    model = opset.load(opset.parse_model(HEAD.format(17) + text))
    demands = demands_for(model, default_registry(), Limits(), {})
    drawn = [random_inputs(model.proto.graph.input, {}, seed, Limits(), demands)["a"] for seed in range(200)]
    assert all(-value <= axis < value for axes in drawn for axis in axes.tolist())
    from_front = sum((axes >= 0).all() for axes in drawn) / len(drawn)
    assert 0.5 < from_front < 0.9  # half of them, and those in which each axis stays by chance


@pytest.mark.parametrize("node", ["y = Loop (n, c, x, x)", "y = Scan <num_scan_inputs = 1> (x, x)"])
def test_nothing_is_demanded_by_a_body_that_lacks_inputs(node):
    node = node.replace("Loop (", "Loop <BODY> (").replace("num_scan_inputs = 1", "num_scan_inputs = 1, BODY")
    inputs = "int64 i, bool d, float[2] u" if "Loop" in node else "float[2] u"
    body = f"body = b ({inputs}) => (bool e, float[2] v) {{ v = Neg (u) e = Constant <value = bool {{1}}> () }}"
    text = f"(int64 n, bool c, float[2] x) => (float[2] y) {{ {node.replace('BODY', body)} }}"
    assert "x" not in demanded(text)


@pytest.mark.parametrize(
    "text",
    [
        "(float[2] x) => (float8e5m2[2] y) { y = Cast <to: tensor = float {1.0}> (x) }",
        "(float[2,3] x, int64[1] i) => (float[1,3] y) { y = Gather <axis: ints = [0]> (x, i) }",
        '(float[2,3] x, int64[2] t) => (float l) { l = SoftmaxCrossEntropyLoss <ignore_index = "1"> (x, t) }',
    ],
)
def test_an_attribute_of_another_type_demands_nothing(text):
    assert demanded(text) == {}


def test_a_delimiter_that_is_no_text_is_one_unknown_letter():
    node = pb.NodeProto(op_type="StringSplit", input=["x"])
    node.attribute.add(name="delimiter", type=pb.AttributeProto.STRING, s=b"\xff")
    assert RULES["StringSplit", 0](Use("StringSplit", 23, 0, node, None, ["x"])).choices[0] == "a\ufffdb\ufffdc"


def test_a_node_without_outputs_demands_nothing():
    model = opset.parse_model(HEAD.format(17) + "(float[2] x) => (float[2] y) { y = Add (x, x) }")
    node = pb.NodeProto(op_type="Add", input=["x", "x"])
    model.graph.node.append(node)
    assert "x" not in demands_for(opset.load(model), default_registry(), Limits(), {})


def test_the_work_is_linear_in_the_nodes_that_have_graphs():
    def searching(count):
        body = "body = b (int64 i, bool c, int64[2] u) => (bool d, int64[2] v) { d = Identity (c) v = Gather (w, u) }"
        nodes = " ".join(f"y{at} = Loop <{body}> (m, c, x{at})" for at in range(count))
        inputs = ", ".join(f"int64[2] x{at}" for at in range(count))
        text = f"(float[5] w, int64 m, bool c, {inputs}) => (int64[2] y0) {{ {nodes} }}"
        inference = opset.infer(opset.parse_model(HEAD.format(17) + text))
        return lambda: demands_of(inference.index, inference, [f"x{at}" for at in range(count)])

    assert growth(searching, 40, 4) < 1.3


def test_the_work_is_linear_in_the_values_that_a_loop_carries():
    def searching(count):
        given, kept, made = (", ".join(f"int64[2] {each}{at}" for at in range(count)) for each in "xuv")
        read, results = (", ".join(f"{each}{at}" for at in range(count)) for each in "xy")
        nodes = " ".join(f"v{at} = Gather (w, u{at})" for at in range(count))
        body = f"body = b (int64 i, bool c, {kept}) => (bool d, {made}) {{ d = Identity (c) {nodes} }}"
        text = f"(int64[5] w, int64 m, bool c, {given}) => (int64[2] y0) {{ {results} = Loop <{body}> (m, c, {read}) }}"
        inference = opset.infer(opset.parse_model(HEAD.format(17) + text))
        return lambda: demands_of(inference.index, inference, [f"x{at}" for at in range(count)])

    assert growth(searching, 40, 4) < 1.3
