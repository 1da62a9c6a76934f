"""Models whose size is changed compute at each size what they computed slice by slice."""

import numpy as np
import pytest

import opset
from opset.errors import InferenceError
from opset.inference.axes.places import CARRIERS
from opset.opsets.registry import default_registry

HEAD = '<ir_version: 9, opset_import: ["": 17, "ai.onnx.ml": 3]>'
SIZES = (1, 2, 3, 5)

# Name: graph, and along which axes of inputs and outputs the slices lie.
CARRIED = {
    "reshape": ("(float[B,3,2] x) => (float[B,6] y) <int64[2] s = {B, 6}> { y = Reshape(x, s) }", 0, 0),
    "reshape_rest": ("(float[B,3,2] x) => (float[B,6] y) <int64[2] s = {B, -1}> { y = Reshape(x, s) }", 0, 0),
    "reshape_other_rest": (
        "(float[B,2,3,L] x) => (float[B,6,L] y) <int64[3] s = {B, 6, -1}> { y = Reshape(x, s) }", 0, 0),
    "reshape_moved_rest": ("(float[1,B,L] x) => (float[B,L] y) <int64[2] s = {B, -1}> { y = Reshape(x, s) }", 1, 0),
    "broadcast_sum": ("(float[B,3] x) => (float[B,3] y) <float[3] w = {1, 2, 3}> { y = Sum(x, w) }", 0, 0, 8),
    "doubled_once": ("(float[B,3] x) => (float[B,3] y) { n = Neg(x)  y = Add(n, x) }", 0, 0, 6),
    "heads": (
        """(float[5,B,8] x) => (float[5,B,8] y) <int64[3] s = {5, T, 4}, int64[3] t = {5, B, 8}> {
        h = Reshape(x, s)  p = Transpose <perm = [1, 0, 2]> (h)  q = Transpose <perm = [0, 2, 1]> (p)
        m = MatMul(p, q)  w = Softmax(m)  o = MatMul(w, p)  r = Transpose <perm = [1, 0, 2]> (o)
        y = Reshape(r, t) }""",
        1, 1),
    "rows": (
        """(float[3,B,2] x) => (float[3,B,2] y) <
        int64[2] s = {R, 2}, int64[3] t = {3, B, 2}, float[2,2] w = {1,2,3,4}> {
        r = Reshape(x, s)  m = MatMul(r, w)  y = Reshape(m, t) }""", 1, 1),
    "shapes": (
        """(float[B,3,2] x) => (float[B,6] y) <int64[1] i = {0}, int64[1] rest = {-1}> {
        s = Shape(x)  n = Gather(s, i)  t = Concat <axis = 0> (n, rest)  y = Reshape(x, t) }""", 0, 0),
    "token": (
        """(float[B,3,2] x) => (float[B,4,2] y) <float[1,1,2] one = {1, 2}, int64[3] s = {B, 1, 2}> {
        c = Expand(one, s)  y = Concat <axis = 1> (c, x) }""", 0, 0),
    "filled": (
        """(float[B,3] x) => (float[B,5] y) <int64[2] s = {B, 2}> {
        c = ConstantOfShape(s)  y = Concat <axis = 1> (x, c) }""", 0, 0),
    "filled_by_shape": (
        """(float[B,3] x) => (float[B,5] y) <int64[1] i = {0}, int64[1] two = {2}> {
        s = Shape(x)  n = Gather(s, i)  t = Concat <axis = 0> (n, two)
        c = ConstantOfShape(t)  y = Concat <axis = 1> (x, c) }""", 0, 0),
    "lstm": (
        """(float[4,B,2] x) => (float[1,B,3] y) <
        int64[3] s = {1, B, 3}, int64[3] u = {1, 12, 2}, int64[3] v = {1, 12, 3}> {
        w = ConstantOfShape <value = float[1] {0.25}> (u)  r = ConstantOfShape <value = float[1] {0.5}> (v)
        h = ConstantOfShape <value = float[1] {0.75}> (s)
        a, y, c = LSTM <hidden_size = 3> (x, w, r, , , h, h) }""", 1, 1),
    "slice_all": (
        """(float[B,5] x) => (float[B,3] y) <int64[2] a = {0, 1}, int64[2] e = {9223372036854775807, 4}> {
        y = Slice(x, a, e) }""", 0, 0),
    "resize": (
        """(float[B,1,2,2] x) => (float[B,1,4,4] y) <int64[4] s = {B, 1, 4, 4}> {
        y = Resize <mode = "nearest"> (x, , , s) }""", 0, 0),
    "embedding": (
        "(int64[B,3] x) => (float[B,3,2] y) <float[4,2] w = {1,2,3,4,5,6,7,8}> { y = Gather(w, x) }", 0, 0),
    "gemm": (
        "(float[B,3] x) => (float[B,2] y) <float[2,3] w = {1,2,3,4,5,6}, float[1,2] c = {7, 8}> "
        "{ y = Gemm <transB = 1> (x, w, c) }", 0, 0),
    "einsum": (
        """(float[B,2,3] x) => (float[B,2,2] y) { y = Einsum <equation = "bij,bkj->bik"> (x, x) }""", 0, 0),
    "images": (
        """(float[B,2,5,5] x) => (float[B,2,1,1] y) <float[2,1,2,2] w = {1,2,3,4,5,6,7,8}, float[2] s = {1, 2}> {
        c = Conv <group = 2> (x, w)  n = BatchNormalization(c, s, s, s, s)  p = MaxPool <kernel_shape = [2, 2]> (n)
        y = GlobalAveragePool(p) }""", 0, 0),
    "squeezed": (
        """(float[B,1,3] x) => (float[3,B] y) <int64[1] one = {1}, int64[1] zero = {0}> {
        a = Squeeze(x, one)  b = Unsqueeze(a, zero)  c = Squeeze(b, zero)  y = Transpose(c) }""", 0, 1),
    "sorted": (
        """(float[B,5] x) => (float[B,2] y) <int64[1] k = {2}, int64 axis = {1}> {
        v, i = TopK(x, k)  c = CumSum(v, axis)  f = Cast <to = 1> (i)  y = Add(c, f) }""", 0, 0),
    "tiled": ("(float[B,2] x) => (float[B,6] y) <int64[2] r = {1, 3}> { y = Tile(x, r) }", 0, 0),
    "padded": (
        "(float[B,2] x) => (float[B,5] y) <int64[4] p = {0, 1, 0, 2}> { y = Pad(x, p) }", 0, 0),
    "parts": (
        "(float[B,4] x) => (float[B,2] y) { a, b = Split <axis = 1> (x)  y = Mul(a, b) }", 0, 0),
    "normalized": (
        "(float[B,4] x) => (float[B,4] y) <float[4] s = {1,2,3,4}> { y = LayerNormalization <axis = 1> (x, s) }", 0, 0),
    "determinants": ("(float[B,2,2] x) => (float[B] y) { y = Det(x) }", 0, 0),
    "spectra": ("(float[B,8,1] x) => (float[B,8,2] y) { y = DFT <axis = 1> (x) }", 0, 0),
    "short_spectra": (
        """(float[B,16,1] x) => (float[B,3,5,2] y) <int64 step = {4}, int64 length = {8}> {
        y = STFT(x, step, , length) }""", 0, 0),
    "picked_behind": (
        "(float[3,B,2] x) => (float[2,B,2] y) <int64[2,1] i = {2, 0}> { y = GatherND(x, i) }", 1, 1),
    "losses": (
        """(float[B,3] x) => (float[B] y) {
        l = ArgMax <axis = 1, keepdims = 0> (x)  y = SoftmaxCrossEntropyLoss <reduction = "none"> (x, l) }""", 0, 0),
    "reduced": (
        "(float[B,3,4] x) => (float[B,4] y) { y = ReduceMax <axes = [1], keepdims = 0> (x) }", 0, 0),
    "scaled": (
        """(float[B,3] x) => (float[B,3] y) {
        y = ai.onnx.ml.Scaler <offset = [1.0, 2.0, 3.0], scale = [4.0, 5.0, 6.0]> (x) }""", 0, 0),
    "one_hot": (
        "(int64[B] x) => (float[B,4] y) <int64 d = {4}, float[2] v = {0, 5}> { y = OneHot(x, d, v) }", 0, 0),
    "scattered": (
        """(float[B,3] x) => (float[B,3] y) <int64[B,1] i = {I}, float[B,1] u = {U}> {
        y = ScatterElements <axis = 1> (x, i, u) }""", 0, 0),
    "branches": (
        """(float[B,6] x) => (float[B,6] y) <bool c = {1}, int64[3] s = {B, 2, 3}, int64[2] t = {B, 6}> {
        d = Not(c)  n = Neg(x)
        a = If (c) <then_branch = t () => (float[B,2,3] u) { u = Reshape(n, s) },
                    else_branch = e () => (float[1,B,6] v) { z = Constant <value_ints = [0]> ()  v = Unsqueeze(n, z) }>
        b = If (d) <then_branch = t () => (float[B,6] u) { u = Sin(x) },
                    else_branch = e () => (float[B,6] v) { v = Reshape(a, t) }>
        y = Mul(b, x) }""", 0, 0),
    "chosen_by_size": (
        """(float[B,3] x) => (float[B,3] y) <int64[1] one = {1}, int64[1] three = {3}> {
        s = Shape(x)  n = Gather(s, one)  c = Equal(n, three)
        y = If (c) <then_branch = t () => (float[B,3] a) { k = Constant <value_ints = [B, -1, 1]> ()
                        r = Reshape(x, k)  z = Constant <value_ints = [2]> ()  a = Squeeze(r, z) },
                    else_branch = e () => (float[3] b) { b = ReduceSum <keepdims = 0> (x, one) }> }""", 0, 0),
    "if_in_a_branch_that_never_runs": (
        """(float[B,3] x) => (float[B,3] y) <bool k = {1}> {
        w = RandomUniform <shape = [1], seed = 1.0> ()  d = Cast <to = 9> (w)
        y = If (k) <then_branch = t () => (float[B,3] a) { a = Neg(x) }, else_branch = e () => (float[B,3] b) {
            b = If (d) <then_branch = t2 () => (float[B,3] u) { u = Abs(x) },
                        else_branch = e2 () => (float[B,3] v) { v = Sin(x) }> }> }""", 0, 0),
    "either_branch": (
        """(float[B,3] x) => (float[B,3] y) <float[1] k = {3}> {
        z = Constant <value_int = 0> ()  f = Gather(k, z)  w = RandomUniform <shape = [1], seed = 1.0> ()
        g = Constant <value_float = 2.0> ()  c = Greater(w, g)
        y = If (c) <then_branch = t () => (float[B,3] a) { a = Neg(x) }, else_branch = e () => (float[B,3] b) {
            p = Constant <value_ints = [B, 1]> ()  q = Expand(f, p)  b = Add(x, q) }> }""", 0, 0),
    "loop": (
        """(float[5,B,2] x) => (float[B,3] y) <int64 m = {5}, bool on = {1}, float[2,3] w = {1, 2, 3, 4, 5, 6},
        int64[2] s = {B, 3}> {
        zero = ConstantOfShape(s)
        y, all = Loop (m, on, zero) <body = b (int64 i, bool go, float[B,3] h) => (bool c, float[B,3] n, float[B,3] o)
          { c = Identity(go)  t = Gather(x, i)  q = MatMul(t, w)  a = Add(q, h)  n = Tanh(a)  o = Neg(n) }> }""", 1, 0),
    "turns": (
        """(float[B,2] x) => (float[B,3,2] y) <int64 m = {3}, bool on = {1}> {
        last, all = Loop (m, on, x) <body = b (int64 i, bool go, float[B,2] h) => (bool c, float[B,2] n, float[B,2] o) {
            c = Identity(go)  f = Cast <to = 1> (i)  n = Add(h, f)  o = Mul(n, x) }>
        y = Transpose <perm = [1, 0, 2]> (all) }""", 0, 0),
    "scan": (
        """(float[B,4,2] x) => (float[B,2] y) <int64[2] s = {B, 2}> {
        zero = ConstantOfShape(s)
        y, all = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1],
            body = b (float[B,2] h, float[B,2] t) => (float[B,2] n, float[B,2] o) {
                a = Add(h, t)  n = Sin(a)  o = Neg(a) }> (zero, x) }""", 0, 0),
    "scanned": (
        """(float[4,B] x) => (float[4,B] y) {
        z = Constant <value_float = 0.0> ()
        last, y = Scan <num_scan_inputs = 1, body = b (float k, float[B] t) => (float l, float[B] o) {
            l = Cos(k)  o = Add(k, t) }> (z, x) }""", 1, 1),
    "sequence": (
        """(float[B,4] x) => (float[B,6] y) <int64 one = {1}, int64[2] cut = {1, 3}> {
        p = SplitToSequence <axis = 1> (x, cut)  a = SequenceAt(p, one)  n = Neg(a)
        q = SequenceConstruct(n, a)  r = SequenceInsert(q, x)  t = SequenceErase(r, one)
        c = ConcatFromSequence <axis = -1> (t)  l = SequenceLength(t)  f = Cast <to = 1> (l)
        g = Mul(c, f)  i = Constant <value_ints = [0, 1, 2, 3, 4, 5]> ()  y = Gather <axis = 1> (g, i) }""", 0, 0),
    "mapped": (
        """(float[B,4] x) => (float[B,4] y) <int64[2] cut = {1, 3}> {
        p = SplitToSequence <axis = 1> (x, cut)
        q = SequenceMap <body = b (float[B,L] t, float[B,4] w) => (float[B,L] o) {
            i = Constant <value_ints = [0]> ()  c = Gather <axis = 1> (w, i)  o = Add(t, c) }> (p, x)
        y = ConcatFromSequence <axis = 1> (q) }""", 0, 0),
    "stacked": (
        """(float[B,2] x) => (float[3,B,2] y) <int64 m = {3}, bool on = {1}> {
        none = SequenceEmpty <dtype = 1> ()
        all = Loop (m, on, none) <body = b (int64 i, bool go, seq(float[B,2]) h) => (bool c, seq(float[B,2]) n) {
            c = Identity(go)  f = Cast <to = 1> (i)  a = Add(x, f)  n = SequenceInsert(h, a) }>
        y = ConcatFromSequence <axis = 0, new_axis = 1> (all) }""", 0, 1),
    "sliced_by_shape": (
        """(float[B,5] x) => (float[B,3] y) <int64[1] i = {0}, int64[2] a = {0, 1}, int64[1] four = {4}> {
        s = Shape(x)  n = Gather(s, i)  e = Concat <axis = 0> (n, four)  y = Slice(x, a, e) }""", 0, 0),
    "tiled_by_shape": (
        """(float[B,3] x) => (float[B,4] y) <int64[1] i = {0}, int64[1] one = {1}, float[1,1] c = {5}> {
        s = Shape(x)  n = Gather(s, i)  r = Concat <axis = 0> (n, one)  t = Tile(c, r)
        y = Concat <axis = 1> (x, t) }""", 0, 0),
    "tiled_rows": (
        """(float[B,3] x) => (float[B,5] y) <int64[1] i = {0}, int64[1] one = {1}, float[2,1] c = {5, 6},
        int64[2] s = {B, 2}> {
        m = Shape(x)  n = Gather(m, i)  r = Concat <axis = 0> (n, one)  t = Tile(c, r)  u = Reshape(t, s)
        y = Concat <axis = 1> (x, u) }""", 0, 0),
    "expanded_behind_slices": (
        "(float[B,1,3] x) => (float[B,2,3] y) <int64[3] s = {B, 2, 3}> { y = Expand(x, s) }", 0, 0),
    "expanded_to_fewer_axes": (
        "(float[B,1] x) => (float[B,3] y) <int64[1] s = {3}> { y = Expand(x, s) }", 0, 0),
    "expanded_to_fill": (
        """(float[B,2] x) => (float[3,B,2] y) <int64[1] i = {0}, int64[3] s = {3, B, 2}, int64[1] two = {2}> {
        c = ConstantOfShape <value = float[1] {4}> (s)  m = Shape(x)  n = Gather(m, i)
        t = Concat <axis = 0> (n, two)  e = Expand(c, t)  y = Add(e, x) }""", 0, 1),
    "quantized_behind": (
        """(float[B,3] x) => (float[B,3] y) <float[3] s = {1, 2, 3}, uint8[3] z = {0, 1, 2}> {
        q = QuantizeLinear(x, s, z)  y = DequantizeLinear(q, s, z) }""", 0, 0),
    "picked_tuples": (
        "(int64[B,1] x) => (float[B,2] y) <float[4,2] w = {1,2,3,4,5,6,7,8}> { y = GatherND(w, x) }", 0, 0),
    "picked_in_each": (
        """(float[B,3] x) => (float[B] y) {
        i = ArgMax <axis = 1> (x)  y = GatherND <batch_dims = 1> (x, i) }""", 0, 0),
    "reversed": (
        """(float[B,4] x) => (float[B,4] y) <int64[B] l = {I}> {
        y = ReverseSequence <batch_axis = 0, time_axis = 1> (x, l) }""", 0, 0),
    "equal_matrices": (
        """(float[B,2,3] x) => (float[B,2,2] y) <int64[3] s = {B, 3, 2}> {
        c = ConstantOfShape <value = float[1] {3}> (s)  y = MatMul(x, c) }""", 0, 0),
    "equal_matrices_below_more_axes": (
        """(float[2,B,2,3] x) => (float[2,B,2,2] y) <int64[3] s = {B, 3, 2}> {
        c = ConstantOfShape <value = float[1] {3}> (s)  y = MatMul(x, c) }""", 1, 1),
    "rows_by_stacked_matrices": (
        """(float[B,3] x) => (float[2,B,2] y) <float[2,3,2] w = {1,2,3,4,5,6,7,8,9,10,11,12}> {
        y = MatMul(x, w) }""", 0, 1),
    "rows_by_vector": (
        "(float[B,3] x) => (float[B] y) <float[3] v = {1, 2, 3}> { y = MatMul(x, v) }", 0, 0),
    "vector_by_columns": (
        "(float[3,B] x) => (float[B] y) <float[3] v = {1, 2, 3}> { y = MatMul(v, x) }", 1, 0),
    "vector_by_matrices": (
        "(float[B,3,2] x) => (float[B,2] y) <float[3] v = {1, 2, 3}> { y = MatMul(v, x) }", 0, 0),
    "equal_rows_added": (
        """(float[B,3] x) => (float[B,2] y) <float[3,2] w = {1,2,3,4,5,6}, int64[2] s = {B, 2}> {
        c = ConstantOfShape <value = float[1] {3}> (s)  y = Gemm(x, w, c) }""", 0, 0),
    "columns_of_gemm": (
        """(float[3,B] x) => (float[2,B] y) <float[2,3] w = {1,2,3,4,5,6}, float[2,1] c = {7, 8}> {
        y = Gemm(w, x, c) }""", 1, 1),
    "einsum_of_equal_slices": (
        """(float[B,2,3] x) => (float[2,B,4] y) <int64[3] s = {3, B, 4}> {
        c = ConstantOfShape <value = float[1] {3}> (s)  y = Einsum <equation = "bij,jbk->ibk"> (x, c) }""", 0, 1),
    "sampled": (
        """(float[B,1,2,2] x) => (float[B,1,2,2] y) <int64[4] s = {B, 2, 2, 2}> {
        g = ConstantOfShape <value = float[1] {0.25}> (s)  y = GridSample(x, g) }""", 0, 0),
    "resized_behind": (
        """(float[B,1,2,2] x) => (float[B,1,4,4] y) <int64[2] s = {4, 4}> {
        y = Resize <mode = "nearest", axes = [2, 3]> (x, , , s) }""", 0, 0, 18),
    "resized_merged": (
        """(float[B,2,2,2] x) => (float[B,2,4,4] y) <int64[4] s = {T, 1, 2, 2}, int64[4] u = {T, 1, 4, 4},
        int64[4] w = {B, 2, 4, 4}> {
        r = Reshape(x, s)  z = Resize <mode = "nearest"> (r, , , u)  y = Reshape(z, w) }""", 0, 0),
    "attention": (
        """(float[B,1,2,2] x) => (float[B,1,2,2] y) <int64[4] s = {B, 1, 2, 2}, float[2,2] m = {0, -9, 0, 0}> {
        k = ConstantOfShape <value = float[1] {0.5}> (s)  y = Attention(x, k, x, m) }""", 0, 0, 23),
    "attention_with_a_mask_of_each": (
        "(float[B,1,2,2] x) => (float[B,1,2,2] y) { m = Neg(x)  y = Attention(x, x, x, m) }", 0, 0, 23),
    "attention_with_a_mask_for_all": (
        """(float[B,1,2,2] x) => (float[B,1,2,2] y) <float[1,1,2,2] m = {0, -9, 0, 0}> {
        y = Attention(x, x, x, m) }""", 0, 0, 23),
    "zeros_that_are_zeros": (
        "(float[2,B,3] x) => (float[2,B,3] y) <int64[3] s = {2, B, 3}> { y = Reshape <allowzero = 1> (x, s) }", 1, 1),
    "zeros_beside_rest": (
        "(float[2,B,3] x) => (float[2,B,3] y) <int64[3] s = {2, B, -1}> { y = Reshape <allowzero = 1> (x, s) }", 1, 1),
    "flattened_behind": (
        """(float[2,B,3] x) => (float[2,B,3] y) <int64[3] s = {2, B, 3}> {
        f = Flatten(x)  n = Neg(f)  y = Reshape(n, s) }""", 1, 1),
    "flattened_in_front": (
        """(float[3,B,2] x) => (float[3,B,2] y) <int64[3] s = {3, B, 2}> {
        f = Flatten <axis = 2> (x)  n = Softmax(f)  y = Reshape(n, s) }""", 1, 1),
    "kept_elements": ("(float[B,3] x) => (float[B,3] y) { y = Dropout(x) }", 0, 0),
    "quantized_product": (
        """(float[B,2] x) => (float[B,2] y) <float[1] s = {1}, uint8[1] z = {0}, float t = {1}, uint8 u = {0},
        uint8[2,2] w = {1, 2, 3, 4}> {
        q = QuantizeLinear(x, t, u)  p = QLinearMatMul(q, s, z, w, t, u, s, z)  y = DequantizeLinear(p, t, u) }""",
        0, 0),
    "parts_behind": (
        """(float[2,B,3] x) => (float[B,3] y) <int64 one = {1}> {
        p = SplitToSequence <axis = 0, keepdims = 0> (x)  y = SequenceAt(p, one) }""", 1, 0),
    "parts_behind_kept": (
        """(float[2,B,3] x) => (float[1,B,3] y) <int64 one = {1}> {
        p = SplitToSequence <axis = 0> (x)  y = SequenceAt(p, one) }""", 1, 1),
    "parts_in_front": (
        """(float[B,3,4] x) => (float[B,4] y) <int64 one = {1}> {
        p = SplitToSequence <axis = 1, keepdims = 0> (x)  y = SequenceAt(p, one) }""", 0, 0),
    "parts_of_one_row": (
        """(float[2,B,3] x) => (float[1,B,3] y) <int64 one = {1}> {
        p = SplitToSequence <axis = 0, keepdims = 0> (x, one)  y = SequenceAt(p, one) }""", 1, 1),
    "vector_added_to_columns": (
        """(float[3,B] x) => (float[2,B] y) <float[2,3] w = {1,2,3,4,5,6}> {
        c = ReduceMax <axes = [0], keepdims = 0> (x)  y = Gemm(w, x, c) }""", 1, 1),
    "losses_at_each_position": (
        """(float[2,3,B] x) => (float[2,B] y) {
        l = ArgMax <axis = 1, keepdims = 0> (x)  y = SoftmaxCrossEntropyLoss <reduction = "none"> (x, l) }""", 2, 1),
    "matrices_by_one": (
        """(float[B,2,3] x) => (float[B,2,1] y) <float[3,2] w = {1,2,3,4,5,6}, float[1,2,1] v = {1, 2}> {
        m = MatMul(x, w)  y = MatMul(m, v) }""", 0, 0),
    "recurrent_with_lengths": (
        """(float[4,B,2] x) => (float[4,1,B,1] y) <float[1,1,2] w = {1, 2}, float[1,1,1] r = {3}, int32[B] l = {I}> {
        y = RNN <hidden_size = 1> (x, w, r, , l) }""", 1, 2),
    "recurrent_in_front": (
        """(float[B,4,2] x) => (float[B,1,1] y) <float[1,1,2] w = {1, 2}, float[1,1,1] r = {3},
        int64[3] s = {B, 1, 1}> {
        h = ConstantOfShape <value = float[1] {0.25}> (s)
        all, n = RNN <hidden_size = 1, layout = 1> (x, w, r, , , h)
        t = ReduceMax <axes = [1], keepdims = 0> (all)  y = Add(t, n) }""", 0, 0),
    "resized_by_scales": ("(float[B,3] x) => (float[B,6] y) <float[2] k = {1, 2}> { y = Resize(x, , k) }", 0, 0),
    "resized_by_scales_of_opset_10": (
        "(float[B,3] x) => (float[B,6] y) <float[2] k = {1, 2}> { y = Resize(x, k) }", 0, 0, 10),
    "upsampled": ("(float[B,3] x) => (float[B,6] y) <float[2] k = {1, 2}> { y = Upsample(x, k) }", 0, 0, 9),
    "upsampled_by_attribute": ("(float[B,3] x) => (float[B,6] y) { y = Upsample <scales = [1.0, 2.0]> (x) }", 0, 0, 7),
    "attention_to_the_past": (
        """(float[B,1,2,2] x) => (float[B,1,2,2] y) <int64[4] s = {B, 1, 2, 2}> {
        k = ConstantOfShape <value = float[1] {0.5}> (s)  y, p, v = Attention(x, k, k, , k, k) }""", 0, 0, 23),
    "squeezed_by_attribute": (
        """(float[B,1,3] x) => (float[3,B] y) { a = Squeeze <axes = [1]> (x)  b = Unsqueeze <axes = [0]> (a)
        c = Squeeze <axes = [0]> (b)  y = Transpose(c) }""", 0, 1, 11),
    "expanded_from_fewer_axes": (
        """(float[B,2] x) => (float[B,2] y) <float[2] v = {1, 2}> { s = Shape(x)  e = Expand(v, s)  y = Add(e, x) }""",
        0, 0),
    "expanded_by_shape": (
        """(float[B,1] x) => (float[B,3] y) <int64[1] three = {3}> {
        n = Shape <end = 1> (x)  t = Concat <axis = 0> (n, three)  y = Expand(x, t) }""", 0, 0),
    "tiled_at_opset_12": ("(float[B,2] x) => (float[B,6] y) <int64[2] r = {1, 3}> { y = Tile(x, r) }", 0, 0, 12),
    "slice_every_other": (
        """(float[B,5] x) => (float[B,2] y) <int64[2] a = {0, 1}, int64[2] e = {9223372036854775807, 4},
        int64[2] i = {0, 1}, int64[2] t = {1, 2}> { y = Slice(x, a, e, i, t) }""", 0, 0),
    "picked_from_behind": (
        "(float[B,3] x) => (float[B,2] y) <int64[2] i = {2, 0}> { y = Gather <axis = -1> (x, i) }", 0, 0),
    "one_hot_in_front": (
        """(int64[B] x) => (float[4,B] y) <int64 d = {4}, float[2] v = {0, 5}> { y = OneHot <axis = -2> (x, d, v) }""",
        0, 1),
    "reversed_by_each": (
        """(float[B,4] x) => (float[B,4] y) <int64 one = {1}> { k = ArgMax <axis = 1, keepdims = 0> (x)  l = Add(k, one)
        y = ReverseSequence <batch_axis = 0, time_axis = 1> (x, l) }""", 0, 0),
    "inserted_into_none": (
        """(float[B,2] x) => (float[B,2] y) <int64 z = {0}> {
        e = SequenceEmpty <dtype = 1> ()  q = SequenceInsert(e, x)  y = SequenceAt(q, z) }""", 0, 0),
    "scanned_beside_states": (
        """(float[B,2] x) => (float[B,2] y) <float[3,2] w = {1,2,3,4,5,6}> {
        y = Scan <num_scan_inputs = 1, body = b (float[B,2] h, float[2] t) => (float[B,2] n) { n = Add(h, t) }>
            (x, w) }""",
        0, 0),
    "gemm_of_opset_8": (
        "(float[B,3] x) => (float[B,2] y) <float[3,2] w = {1,2,3,4,5,6}, float[2] c = {7, 8}> { y = Gemm(x, w, c) }",
        0, 0, 8),
    "turns_without_slices_that_give_some": (
        """(float[B,2] x) => (float[B,3,2] y) <int64 m = {3}, bool on = {1}, float z = {0}> {
        last, all = Loop (m, on, z) <body = b (int64 i, bool go, float h) => (bool c, float n, float[B,2] o) {
            c = Identity(go)  f = Cast <to = 1> (i)  n = Add(h, f)  o = Mul(n, x) }>
        y = Transpose <perm = [1, 0, 2]> (all) }""", 0, 0),
    "padded_by_attribute": ("(float[B,2] x) => (float[B,5] y) { y = Pad <pads = [0, 1, 0, 2]> (x) }", 0, 0, 2),
    "padded_at_opset_1": ("(float[B,2] x) => (float[B,5] y) { y = Pad <paddings = [0, 1, 0, 2]> (x) }", 0, 0, 1),
    "vectors": (
        """(float[B,3] x) => (float[B,6] y) {
        n = Neg(x)  y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [3, 3]> (x, n) }""", 0, 0),
}  # fmt: skip

HELD = """int64[2] s = {R, 2}, float[2,2] w = {1, 2, 3, 4}, float[2] v = {5, 6}, int64[2] back = {1, 0},
    int64[1] one = {1}, int64[1] two = {2}, int64[4] p = {0, 1, 0, 1}, int64 o = {1},
    float[1,2] c = {7, 8}"""
MERGED = {
    "einsum": 'm = Einsum <equation = "ij,jk->ik"> (r, w)',
    "einsum_behind": 'k = Einsum <equation = "ij,jk->ki"> (r, w)  m = Transpose(k)',
    "gemm": "m = Gemm(r, w, c)",
    "gemm_transposed": "k = Transpose(r)  m = Gemm <transA = 1> (k, w, v)",
    "softmax": "m = Softmax(r)",
    "normalized": "m = LayerNormalization(r, v, v)",
    "added": "k = Add(r, v)  m = Mul(k, r)",
    "picked": "m = Gather <axis = 1> (r, back)",
    "gathered_elements": "k = Cast <to = 7> (r)  z = Sub(k, k)  m = GatherElements <axis = 1> (r, z)",
    "joined_and_split": "k = Concat <axis = 1> (r, r)  a, m = Split <axis = 1> (k)",
    "cut": "k = Concat <axis = 1> (r, r)  m = Slice(k, one, end, one)",
    "padded": "k = Pad(r, p)  m = Slice(k, one, end, one)",
    "summed": "k = ReduceSum(r, one)  m = Sub(r, k)",
    "greatest": "m, i = TopK(r, two)",
    "sums": "m = CumSum(r, o)",
    "repeated": "k = Tile(r, times)  m = Slice(k, one, end, one)",
    "unsqueezed": "k = Unsqueeze(r, one)  n = Neg(k)  m = Squeeze(n, one)",
    "turned": "k = Transpose(r)  n = Softmax <axis = 0> (k)  m = Transpose(n)",
    "chosen": "k = Less(r, v)  m = Where(k, r, v)",
    "clipped": "m = HardSigmoid(r)",
    "squeezed_nowhere": "m = Squeeze(r)",
}
"""What computes m of r, both matrices whose rows are slices and positions in them, one axis."""

CARRIED |= {
    f"{order}_{name}": (
        f"""(float[{shape}] x) => (float[{shape}] y) <{HELD}, int64[1] end = {{3}}, int64[2] times = {{1, 2}},
        int64[3] t = {{{shape.replace(",", ", ")}}}> {{ r = Reshape(x, s)  {node}  y = Reshape(m, t) }}""", axis, axis)
    for name, node in MERGED.items()
    for order, shape, axis in (("inner", "3,B,2", 1), ("outer", "B,3,2", 0))
}  # fmt: skip


def test_the_operators_of_carriers_exist():
    assert all(default_registry().versions(name, domain) for name, domain in CARRIERS)


def model_of(graph, size, version=17):
    """Return a model of a graph in which B is a size, T and R are twice and three times that, and L is open."""
    filled = {"{I}": "{" + ",".join(["2"] * size) + "}", "{U}": "{" + ",".join(["7"] * size) + "}"}
    for key, text in filled.items():
        graph = graph.replace(key, text)
    for letter, number in (("B", size), ("T", 2 * size), ("R", 3 * size)):
        for before, after in (
            ("[", "]"),
            ("[", ","),
            (",", ","),
            (",", "]"),
            (", ", ","),
            ("{", ","),
            (", ", "}"),
            ("{", "}"),
        ):
            graph = graph.replace(f"{before}{letter}{after}", f"{before}{number}{after}")
    return opset.parse_model(f"{HEAD}\ng {graph}".replace("17", str(version), 1))


def inputs_of(model, axis, size):
    """Return values of input x with `size` slices, all different."""
    tensor = model.graph.input[0].type.tensor_type
    shape = [dim.dim_value or 2 for dim in tensor.shape.dim]
    shape[axis] = size
    values = np.random.default_rng(3).permutation(np.prod(shape)).reshape(shape)
    return values.astype(np.float32) if tensor.elem_type == 1 else values % 4


def by_slices(model, value, axis, out, before):
    """Return what a model computes slice by slice; each slice is given as many times as the model takes."""
    run = opset.ReferenceEvaluator(model).run
    parts = []
    for number in range(value.shape[axis]):
        part = np.repeat(np.take(value, [number], axis), before, axis)
        parts.append(np.take(run(None, {"x": part})[0], [0], out))
    return np.concatenate(parts, out)


@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.parametrize("before", [1, 4])
def test_a_variable_size_computes_each_slice(name, before):
    graph, axis, out, *version = CARRIED[name]
    model = model_of(graph, before, *version)
    resized = opset.change_sizes(model, {f"x.{axis}": "N"})
    assert str(resized.graph.input[0].type.tensor_type.shape.dim[axis].dim_param) == "N"
    assert resized.graph.output[0].type.tensor_type.shape.dim[out].dim_param == "N"
    for size in {before, *SIZES}:
        value = inputs_of(model, axis, size)
        expected = by_slices(model, value, axis, out, before)
        np.testing.assert_allclose(opset.ReferenceEvaluator(resized).run(None, {"x": value})[0], expected, rtol=1e-6)


@pytest.mark.parametrize("name", CARRIED)
@pytest.mark.parametrize("before, after", [(1, 3), (4, 1), (4, 8)])
def test_another_number_computes_each_slice(name, before, after):
    graph, axis, out, *version = CARRIED[name]
    model = model_of(graph, before, *version)
    resized = opset.change_sizes(model, {f"x.{axis}": after})
    assert resized.graph.output[0].type.tensor_type.shape.dim[out].dim_value == after
    value = inputs_of(model, axis, after)
    expected = by_slices(model, value, axis, out, before)
    np.testing.assert_allclose(opset.ReferenceEvaluator(resized).run(None, {"x": value})[0], expected, rtol=1e-6)


REFUSED = {
    "mean": ("(float[B,3] x) => (float[1,3] y) { y = ReduceMean <axes = [0]> (x) }", "ReduceMean", "combines"),
    "pairs": (
        "(float[B,3] x) => (float[B,B] y) { t = Transpose(x)  y = MatMul(x, t) }", "MatMul", "each other one"),
    "softmax": ("(float[B,3] x) => (float[B,3] y) { y = Softmax <axis = 0> (x) }", "Softmax", "combines"),
    "first": (
        "(float[B,3] x) => (float[3] y) <int64 i = {0}> { y = Gather(x, i) }", "Gather", "by their positions"),
    "counted": (
        """(float[B,3] x) => (float[B,3] y) <int64 i = {0}> {
        s = Shape(x)  n = Gather(s, i)  f = Cast <to = 1> (n)  y = Div(x, f) }""", "Div", "number of slices"),
    "channels": (
        "(float[2,B,5] x) => (float[2,1,4] y) <int64[3] s = {1, B, 2}> { w = ConstantOfShape(s)  y = Conv(x, w) }",
        "Conv", "combines"),
    "unknown": ("(float[B,3] x) => (int64[2,K] y) { y = NonZero(x) }", "NonZero", "not known"),
    "picked": ("(float[3,B,2] x) => (float[2,2] y) <int64[2,2] i = {2, 0, 1, 0}> { y = GatherND(x, i) }",
               "GatherND", "by their positions"),
    "transformed": ("(float[2,B,1] x) => (float[2,B,2] y) { y = DFT <axis = 1> (x) }", "DFT", "combines"),
    "matrices": ("(float[2,B,B] x) => (float[2] y) { y = Det(x) }", "Det", "combines"),
    "mean_loss": (
        """(float[B,3] x) => (float y) {
        l = ArgMax <axis = 1, keepdims = 0> (x)  y = SoftmaxCrossEntropyLoss (x, l) }""",
        "SoftmaxCrossEntropyLoss", "losses of all slices"),
    "labels_alone": (
        """(float[B] x) => (float[B] y) <int64[2] s = {B, 2}> {
        c = ConstantOfShape(s)  l = Cast <to = 7> (x)  y = NegativeLogLikelihoodLoss <reduction = "none"> (c, l) }""",
        "NegativeLogLikelihoodLoss", "the scores or the labels alone"),
    "scores_alone": (
        """(float[B,3] x) => (float[B] y) <int64[1] s = {B}> {
        l = ConstantOfShape <value = int64[1] {2}> (s)
        y = SoftmaxCrossEntropyLoss <reduction = "none"> (x, l) }""",
        "SoftmaxCrossEntropyLoss", "the scores or the labels alone"),
    "other_labels": (
        """(float[B,3,B] x) => (float[B,B] y) {
        l = ArgMax <axis = 1, keepdims = 0> (x)  t = Transpose(l)
        y = SoftmaxCrossEntropyLoss <reduction = "none"> (x, t) }""",
        "SoftmaxCrossEntropyLoss", "along different axes"),
    "condition": (
        """(float[B,3] x) => (float[B,3] y) { m = ReduceMax <keepdims = 0> (x)  y = Neg(x) }""",
        "ReduceMax", "combines"),
    "other_places": (
        """(float[B,B] x, bool c) => (float[B,B] y) {
        y = If (c) <then_branch = t () => (float[B,B] a) { a = Neg(x) },
                    else_branch = e () => (float[B,B] b) { b = Transpose(x) }> }""",
        "If", "at different places"),
    "mixing_branch": (
        """(float[B,3] x, bool c) => (float[B,3] y) {
        y = If (c) <then_branch = t () => (float[B,3] a) { a = Softmax <axis = 0> (x) },
                    else_branch = e () => (float[B,3] b) { b = Abs(x) }> }""",
        "Softmax", "combines"),
    "as_many_turns": (
        """(float[B,3] x) => (float[B,3] y) <int64 z = {0}, bool on = {1}> {
        s = Shape(x)  n = Gather(s, z)
        y = Loop (n, on, x) <body = b (int64 i, bool go, float[B,3] h) => (bool c, float[B,3] o) {
            c = Identity(go)  o = Neg(h) }> }""",
        "Loop", "how often"),
    "one_by_one": (
        """(float[B,3] x) => (float[3] y) <float[3] z = {0, 0, 0}> {
        y, all = Scan <num_scan_inputs = 1, body = b (float[3] h, float[3] t) => (float[3] n, float[3] o) {
            n = Add(h, t)  o = Neg(t) }> (z, x) }""",
        "Scan", "one after the other"),
    "row_by_row": (
        """(float[B,3] x) => (float[3] y) <int64 m = {B}, bool on = {1}, float[3] z = {0, 0, 0}> {
        y = Loop (m, on, z) <body = b (int64 i, bool go, float[3] h) => (bool c, float[3] o) {
            c = Identity(go)  t = Gather(x, i)  o = Add(h, t) }> }""",
        "Gather", "by their positions"),
    "moved_state": (
        """(float[B,B] x) => (float[B,B] y) <int64 m = {3}, bool on = {1}> {
        y = Loop (m, on, x) <body = b (int64 i, bool go, float[B,B] h) => (bool c, float[B,B] o) {
            c = Identity(go)  o = Transpose(h) }> }""",
        "Loop", "at other places after a turn"),
    "mixed_sequence": (
        """(float[B,B] x) => (float[B,Q] y) { t = Transpose(x)  q = SequenceConstruct(x, t)
        y = ConcatFromSequence <axis = 1> (q) }""",
        "SequenceConstruct", "at different places"),
    "joined_slices": (
        """(float[B,3] x) => (float[Q,3] y) { q = SequenceConstruct(x, x)  y = ConcatFromSequence <axis = 0> (q) }""",
        "ConcatFromSequence", "combines"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("before", [1, 4])
def test_a_node_that_does_not_take_slices_apart_is_named(name, before):
    graph, operator, why = REFUSED[name]
    axis = int(name in ("channels", "picked", "transformed", "matrices"))
    with pytest.raises(InferenceError) as caught:
        opset.change_sizes(model_of(graph, before), {f"x.{axis}": "N"})
    assert caught.value.code == "I501" and f"({operator})" in caught.value.place and why in caught.value.why
    assert caught.value.help == "export the model at the size that you need, or change the model before this node"


# Opset, shape of x, a node, and the axes along which it combines elements; it takes slices along each other axis.
COMBINING = [
    (17, (3, 4, 5, 6), "Trilu(x)", (2, 3)),
    (17, (3, 4, 5), "Softmax <axis = 1> (x)", (1,)),
    (17, (3, 4, 5), "LogSoftmax <axis = -3> (x)", (0,)),
    *((12, (3, 4, 5), f"{name} <axis = 1> (x)", (1, 2)) for name in ("Hardmax", "Softmax", "LogSoftmax")),
    (17, (3, 4, 5), "LpNormalization <axis = 2> (x)", (2,)),
    (17, (3, 4, 5), "CumSum(x, minus)", (1,)),
    (17, (3, 4, 5), "TopK <axis = 0> (x, two)", (0,)),
    (17, (3, 4, 5), "LayerNormalization <axis = 2> (x, five)", (2,)),
    (17, (3, 4, 5), "LayerNormalization <axis = -2> (x, five)", (1, 2)),
    (23, (3, 4, 5), "RMSNormalization <axis = 1> (x, five)", (1, 2)),
    (17, (3, 4, 5), "ReduceMin <axes = [-1, 0]> (x)", (0, 2)),
    (17, (3, 4, 5), "ReduceSum(x, two)", (2,)),
    (17, (3, 4), "ReduceSum <noop_with_empty_axes = 1> (x)", ()),
    (17, (3, 4), "ReduceProd(x)", (0, 1)),
    (17, (3, 4, 5), "ArgMin <axis = 1> (x)", (1,)),
    (17, (3, 4, 5), "MeanVarianceNormalization <axes = [0, 2]> (x)", (0, 2)),
    (17, (3, 4, 5, 6), "AveragePool <kernel_shape = [1, 1]> (x)", (1, 2, 3)),
    (17, (3, 4, 5, 6), "MaxPool <kernel_shape = [1, 1]> (x)", (1, 2, 3)),
    (17, (3, 5, 4), "InstanceNormalization(x, five, five)", (1, 2)),
    (17, (3, 5, 4), "BatchNormalization(x, five, five, five, five)", (1,)),
    (6, (3, 5, 4), "BatchNormalization <is_test = 1> (x, five, five, five, five)", (1,)),
    (17, (3, 4, 1), "DFT <axis = 1> (x)", (1, 2)),
    (17, (3, 4, 5, 1), "DFT <axis = 1> (x)", (1, 3)),
    (17, (2, 3, 3), "Det(x)", (1, 2)),
    (17, (3, 4, 5), "Concat <axis = 1> (x, x)", (1,)),
    (17, (3, 4, 5), "Split <axis = -2> (x)", (1,)),
    (17, (3, 5), "ai.onnx.ml.Scaler <offset = [1.0], scale = [2.0]> (x)", (1,)),
    (17, (3, 5), "ai.onnx.ml.Imputer <imputed_value_floats = [1.0]> (x)", (1,)),
    (17, (3, 5), "ai.onnx.ml.Normalizer(x)", (1,)),
    (17, (3, 5), "ai.onnx.ml.ArrayFeatureExtractor(x, two)", (1,)),
    (17, (3, 5), "ai.onnx.ml.Binarizer(x)", ()),
    (17, (3, 4, 5), "QuantizeLinear <axis = -1> (x, five)", (2,)),
    (17, (3, 5, 4), "QuantizeLinear(x, five)", (1,)),
    (17, (3, 5, 4), "QuantizeLinear(x, half)", ()),
    (17, (3, 5, 4), "QuantizeLinear(x, single)", ()),
    (17, (3, 2), "QuantizeLinear(x, pair)", (1,)),
    (10, (3, 2), "QuantizeLinear(x, single)", ()),
    (17, (3, 5), "Clip(x, half, one)", ()),
    (17, (3, 5), "Dropout(x, half)", ()),
    (17, (3, 5), "Dropout(x, half, off)", ()),
    (17, (3, 4, 5), "ArgMax <axis = 1, keepdims = 0> (x)", (1,)),
    (17, (3, 4, 5, 2), "ReduceMax <axes = [0, -2], keepdims = 0> (x)", (0, 2)),
    (17, (4, 3), "Gemm(x, square, x)", (1,)),
    (17, (4, 3), "Gemm <transA = 1, transB = 1> (square, x, one)", (1,)),
    (17, (3, 4, 5), "Transpose <perm = [1, 2, 0]> (x)", ()),
]  # fmt: skip


@pytest.mark.parametrize(("version", "shape", "node", "combined"), COMBINING)
def test_slices_lie_along_each_axis_that_is_not_combined(version, shape, node, combined):
    constants = "int64 minus = {-2}, int64[1] two = {2}, float[5] five = {1, 2, 3, 4, 5}, float half = {0.5}"
    constants += ", float one = {1}, bool off = {0}, float[3,3] square = {1, 2, 3, 4, 5, 6, 7, 8, 9}"
    constants += ", float[1] single = {2}, float[2] pair = {1, 2}"
    if node.startswith(("LayerNormalization <axis = -2>", "RMS")):
        constants = f"float[4,5] five = {{{', '.join(map(str, range(1, 21)))}}}"
    outputs = "y, z" if node.startswith(("TopK", "Split")) else "y"
    model = opset.parse_model(f"""<ir_version: 9, opset_import: ["": {version}, "ai.onnx.ml": 3]>
        g (float{[*shape]} x) => (y) <{constants}> {{ {outputs} = {node} }}""")
    for axis, size in enumerate(shape):
        if axis in combined:
            with pytest.raises(InferenceError, match=f"combines elements along axis {axis}, which holds the slices"):
                opset.change_sizes(model, {f"x.{axis}": "N"})
            continue
        resized = opset.ReferenceEvaluator(opset.change_sizes(model, {f"x.{axis}": "N"}))
        value = inputs_of(model, axis, size + 1)
        (whole,) = resized.run(None, {"x": value})
        part = np.take(value, range(size), axis)
        (expected,) = opset.ReferenceEvaluator(model).run(None, {"x": part})
        np.testing.assert_array_equal(resized.run(None, {"x": part})[0], expected)
        place = [before != after for before, after in zip(expected.shape, whole.shape, strict=True)].index(True)
        np.testing.assert_allclose(np.take(whole, range(expected.shape[place]), place), expected, rtol=1e-6)


def test_a_reshape_that_mixes_slices_is_named():
    text = "g (float[4,4] x) => (float[8,2] y) <int64[2] s = {8, 2}> { t = Transpose(x)  y = Reshape(t, s) }"
    with pytest.raises(InferenceError, match="several slices together") as caught:
        opset.change_sizes(opset.parse_model(f"{HEAD}\n{text}"), {"x.0": "N"})
    assert "(Reshape)" in caught.value.place


def test_slices_of_a_constant_that_differ_are_named():
    text = "g (float[2,3] x) => (float[2,3] y) <float[2,1] c = {1, 2}> { y = Add(x, c) }"
    with pytest.raises(InferenceError, match="B 'c' has 2 slices along axis 0 that are not certainly equal"):
        opset.change_sizes(opset.parse_model(f"{HEAD}\n{text}"), {"x.0": "N"})
    equal = opset.parse_model(f"{HEAD}\n{text.replace('{1, 2}', '{2, 2}')}")
    note = "node number 0 (Add): B 'c' follows: one slice for all"
    assert opset.infer(equal, dims={"x.0": "N"}).notes == [note]
    same = opset.change_sizes(equal, {"x.0": "N"})
    values = np.arange(9, dtype=np.float32).reshape(3, 3)
    np.testing.assert_array_equal(opset.ReferenceEvaluator(same).run(None, {"x": values})[0], values + 2)


@pytest.mark.parametrize(
    ("nodes", "row"),
    [
        ("c = Neg(same)", [-1, -2, -3]),
        ("c = Neg(other)", None),
        ("c = Mul(same, same)", None),  # not followed
        ("h = Constant <value_float = 0.5> ()  t = Constant <value = bool {1}> ()  c = Dropout(same, h, t)", None),
        ("c = ConstantOfShape <value = float[1] {2}> (shape)", [2, 2, 2]),
        ("c = Expand(one, shape)", [4, 5, 6]),
        ("d = Unsqueeze(one, zero)  c = Expand(d, shape)", [4, 5, 6]),
        ("c = Expand(same, shape)", [1, 2, 3]),
        ("c = Expand(other, shape)", None),
        ("c = Gemm(same, w)", [7, 8, 9]),
        ("c = Gemm <transA = 1> (square, same)", None),
        ("c = Gemm <transA = 0> (same, w)", [7, 8, 9]),
        ("c = Gemm <transB = 1> (same, w)", [50, 0, 0]),
        ("c = Gemm(other, w)", None),
        ("c = Gemm(same, w, one)", [11, 13, 15]),
        ("d = Unsqueeze(one, zero)  c = Gemm(same, w, d)", [11, 13, 15]),
        ("c = Gemm(same, w, other)", None),
        ("d = Neg(same)  c = Gemm(d, w)", [-7, -8, -9]),
        ("d = Neg(same)  c = Neg(given)", None),
        ("n0 = Neg(other)  " + "  ".join(f"n{at + 1} = Neg(n{at})" for at in range(70)) + "  c = Neg(n70)", None),
    ],
)
def test_slices_of_what_is_computed_of_constants_are_equal_or_not(nodes, row):
    held = """<float[2,3] same = {1, 2, 3, 1, 2, 3}, float[2,3] other = {1, 2, 3, 4, 5, 6}, float[3] one = {4, 5, 6},
        float[3,3] w = {7, 8, 9, 0, 0, 0, 0, 0, 0}, float[2,2] square = {1, 2, 1, 2}, int64[2] shape = {2, 3},
        int64[1] zero = {0}>"""
    text = f"g (float[2,3] x, float[2,3] given) => (float[2,3] y) {held} {{ {nodes}  y = Add(x, c) }}"
    if row is None:
        with pytest.raises(InferenceError, match="not certainly equal"):
            opset.change_sizes(opset.parse_model(f"{HEAD}\n{text}"), {"x.0": "N"})
        return
    same = opset.change_sizes(opset.parse_model(f"{HEAD}\n{text}"), {"x.0": "N"})
    values = np.arange(9, dtype=np.float32).reshape(3, 3)
    (found,) = opset.ReferenceEvaluator(same).run(None, {"x": values, "given": values[:2]})
    np.testing.assert_array_equal(found, values + row)


@pytest.mark.parametrize("before", [1, 2])
def test_the_one_slice_of_a_factor_of_a_sum_of_products_is_repeated_unless_it_was_broadcast(before):
    text = f"""{HEAD} g (float[{before},2] x) => (float[{before},2,3] y) <float[1,3] w = {{1, 2, 3}}> {{
        y = Einsum <equation = "bi,bj->bij"> (x, w) }}"""
    nodes = opset.change_sizes(opset.parse_model(text), {"x.0": "N"}).graph.node
    assert ("Expand" in [node.op_type for node in nodes]) is (before == 1)


def test_the_first_slice_is_not_taken_for_all_of_them():
    text = "g (float[1,3] x) => (float[1,3] y) <int64[1] a = {0}, int64[1] e = {1}> { y = Slice(x, a, e, a) }"
    with pytest.raises(InferenceError, match="may mean all of them, or the first alone"):
        opset.change_sizes(opset.parse_model(f"{HEAD}\n{text}"), {"x.0": "N"})


def test_a_constant_shape_stays_constant():
    model = model_of(CARRIED["rows"][0], 4)
    resized = opset.change_sizes(model, {"x.1": "N"})
    assert [node.op_type for node in resized.graph.node] == [node.op_type for node in model.graph.node]
    held = [each.raw_data for each in resized.graph.initializer if each.data_type == 7]
    assert sorted(np.frombuffer(each, np.int64).tolist() for each in held) == [[-1, 2], [3, -1, 2]]


@pytest.mark.parametrize(("version", "node", "held"), [
    (17, "Slice(x, zero, end, zero)", 2**63 - 1),
    (17, "Slice(x, narrow_zero, narrow_end, narrow_zero)", 2**31 - 1),
    (10, "Slice(x, zero, end)", 2**63 - 1),
    (9, "Slice <starts = [0], ends = [4], axes = [0]> (x)", 2**63 - 1),
    (1, "Slice <starts = [0], ends = [4]> (x)", 2**63 - 1),
    (9, "Slice <starts = [1, 0], ends = [3, 4], axes = [1, 0]> (x)", 2**63 - 1),
])  # fmt: skip
def test_an_end_that_is_the_old_size_is_the_end_of_any(version, node, held):
    constants = "int64[1] zero = {0}, int64[1] end = {4}, int32[1] narrow_zero = {0}, int32[1] narrow_end = {4}"
    text = f"""<ir_version: 9, opset_import: ["": {version}]>
        g (float[4,3] x) => (float[4,K] y) <{constants}> {{ y = {node} }}"""
    model = opset.parse_model(text)
    values = np.arange(18, dtype=np.float32).reshape(6, 3)
    expected = by_slices(model, values, 0, 0, 4)
    for size in ("N", 6, 2):
        resized = opset.change_sizes(model, {"x.0": size})
        made = opset.ReferenceEvaluator(resized).run(None, {"x": values[: 6 if size == "N" else size]})[0]
        np.testing.assert_array_equal(made, expected[: 6 if size == "N" else size])
        (slice_,) = resized.graph.node
        names = {each.name: each for each in resized.graph.initializer}
        stated = dict(zip(("data", "starts", "ends"), slice_.input, strict=False)).get("ends")
        if stated is None:
            (ends,) = (each.ints[-1] for each in slice_.attribute if each.name == "ends")
        else:
            tensor = names[stated]
            assert tensor.data_type == (6 if "narrow" in node else 7)
            (ends,) = np.frombuffer(tensor.raw_data, {7: np.int64, 6: np.int32}[tensor.data_type])
        assert ends == held


def test_one_slice_for_all_is_taken_by_attributes_before_opset_10():
    text = """<ir_version: 3, opset_import: ["": 9]>
        g (float[2,3] x) => (float[2,3] y) <float[2,1] c = {2, 2}> { y = Add(x, c) }"""
    later = opset.change_sizes(opset.parse_model(text.replace('"": 9', '"": 10')), {"x.0": "N"}).graph.node[0]
    assert (later.op_type, len(later.input), len(later.attribute)) == ("Slice", 4, 0)
    resized = opset.change_sizes(opset.parse_model(text), {"x.0": "N"})
    made = {a.name: a.i or [*a.ints] for a in resized.graph.node[0].attribute}
    assert (resized.graph.node[0].op_type, made) == ("Slice", {"starts": [0], "ends": [1], "axes": [0]})
    values = np.arange(9, dtype=np.float32).reshape(3, 3)
    np.testing.assert_array_equal(opset.ReferenceEvaluator(resized).run(None, {"x": values})[0], values + 2)


def test_an_attribute_follows_a_number():
    text = """<ir_version: 3, opset_import: ["": 4]>
        g (float[2,4,3] x) => (float[2,12] y) { y = Reshape <shape = [2, 12]> (x) }"""
    stacked = text.replace("(float[2,12] y)", "(float[4,6] y)").replace("[2, 12]", "[4, 6]")
    for source, shape, rows in ((text, [0, 12], 3), (stacked, [-1, 6], 6)):
        resized = opset.change_sizes(opset.parse_model(source), {"x.0": 3})
        assert [*resized.graph.node[0].attribute[0].ints] == shape
        why = "node number 0 (Reshape): attribute shape follows: the axis is axis 0 of the result"
        assert opset.infer(opset.parse_model(source), dims={"x.0": 3}).notes == [why]
        assert resized.graph.output[0].type.tensor_type.shape.dim[0].dim_value == rows


def test_a_new_constant_is_an_input_in_ir_version_3():
    text = """<ir_version: 3, opset_import: ["": 8]>
        g (float[2,3,2] x, int64[2] s) => (float[2,6] y) <int64[2] s = {2, 6}> { y = Reshape(x, s) }"""
    graph = opset.change_sizes(opset.parse_model(text), {"x.0": "N"}).graph
    new = graph.node[0].input[1]
    held = {each.name: np.frombuffer(each.raw_data, np.int64).tolist() for each in graph.initializer}
    assert held[new] == [0, 6]
    (listed,) = [each.type.tensor_type for each in graph.input if each.name == new]
    assert (listed.elem_type, [dim.dim_value for dim in listed.shape.dim]) == (7, [2])
    later = text.replace("ir_version: 3", "ir_version: 4").replace(", int64[2] s)", ")")
    assert [each.name for each in opset.change_sizes(opset.parse_model(later), {"x.0": "N"}).graph.input] == ["x"]


def test_an_axis_in_two_places_is_asked_for():
    text = "g (float[1,8] x) => (float[1,1,8] y) <int64[3] s = {1, 1, 8}> { y = Reshape(x, s) }"
    model = opset.parse_model(f"{HEAD}\n{text}")
    with pytest.raises(InferenceError, match="axis 0 or 1 of output 'y'") as caught:
        opset.change_sizes(model, {"x.0": "N"})
    assert caught.value.code == "I502"
    for axis in (0, 1):
        resized = opset.change_sizes(model, {"x.0": 3, f"y.{axis}": 3})
        shape = [1, 1, 8]
        shape[axis] = 3
        values = np.arange(24, dtype=np.float32).reshape(3, 8)
        np.testing.assert_array_equal(
            opset.ReferenceEvaluator(resized).run(None, {"x": values})[0], values.reshape(shape)
        )


def test_a_place_that_no_constant_shape_keeps_is_told():
    text = f"{HEAD} g (float[1,1,2] x) => (float[1,1,2] y) <int64[3] s = {{0, 1, 2}}> {{ y = Reshape(x, s) }}"
    with pytest.raises(InferenceError, match="no constant shape keeps the axis apart"):
        opset.change_sizes(opset.parse_model(text), {"x.0": "N", "y.1": "N"})


def test_a_later_node_decides_between_two_places():
    text = """g (float[1,2] x) => (float[1,3] y) <
    int64[3] s = {1, 1, 2}, int64[1] one = {1}, float[2,3] w = {1,2,3,4,5,6}> {
    r = Reshape(x, s)  q = Squeeze(r, one)  y = MatMul(q, w) }"""
    resized = opset.change_sizes(opset.parse_model(f"{HEAD}\n{text}"), {"x.0": "N"})
    values = np.arange(6, dtype=np.float32).reshape(3, 2)
    expected = values @ np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    np.testing.assert_array_equal(opset.ReferenceEvaluator(resized).run(None, {"x": values})[0], expected)


@pytest.mark.parametrize(
    ("version", "graph"),
    [
        (6, "(float[1,2] x, float[1,2] c) => (float[1,2] y) { y = Add(x, c) }"),
        (7, "(float[1,2] x, float[1,2] c) => (float[1,2] y) { y = Max(x, c) }"),
        (6, "(float[1,2] x, float[2,2] w, float[1,2] c) => (float[1,2] y) { y = Gemm(x, w, c) }"),
        (6, "(float[1,2] x) => (float[1,2] y) { y = Dropout(x) }"),
    ],
)
def test_early_versions_that_mean_something_else_are_refused(version, graph):
    model = opset.parse_model(f'<ir_version: 3, opset_import: ["": {version}]> g {graph}')
    with pytest.raises(InferenceError) as caught:
        opset.change_sizes(model, {"x.0": "N"})
    assert caught.value.code == "I501"


def test_a_constant_that_inputs_list_is_no_input():
    text = f"{HEAD} g (float[1,2] x, float[1,2] w) => (float[1,2] y) <float[1,2] w = {{1, 2}}> {{ y = Add(x, w) }}"
    with pytest.raises(opset.UsageError, match=r"no dimension variable 'w\.0'"):
        opset.change_sizes(opset.parse_model(text), {"w.0": "N"})
