"""Each way in which a node does not take the slices of an axis on its own stops the change, and says why."""

import re

import pytest

import opset
from opset.errors import InferenceError

N = "s = Shape(x)  n = Gather(s, zero)"
"""The size of the axis, as a list of one element."""

HEAD = '<ir_version: 9, opset_import: ["": 17, "own": 1]>'
LISTS = {"zero": [0], "two": [2], "four": [4], "rows": [12, 2], "ones": [1, 1]}

ROWS = """float[1,3] o = {1, 1, 1}, float[4,3] a = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, int64[2] s = {4, 3},
    float[3,3] w = {1, 1, 1, 1, 1, 1, 1, 1, 1}, float h = {1}"""

# Why the change stops at the last node, and the graph; the axis is the first one of x if nothing else is said.
BLOCKED = [
    ("its shape follows the axis",
     "(float[4,3] x, float[3,4] w) => (float[4,3] y) { s = Shape(x)  y = Reshape(w, s) }"),
    ("at another size",
     f"(float[4,4] x) => (float[4,4] y) {{ {N}  t = Concat <axis = 0> (four, n)  y = Reshape(x, t) }}"),
    ("the axis may become one", "(float[4,1,3] x) => (float[4,3] y) { y = Squeeze(x) }"),
    ("is lost at this size", "(float[1,3] x) => (float[3] y) { y = Squeeze(x) }"),
    ("which may only have size 1", "(float[1,3] x) => (float[3] y) { y = Squeeze(x, zero) }"),
    ("along different axes", "(float[4,4] x) => (float[4,8] y) { t = Transpose(x)  y = Concat <axis = 1> (x, t) }"),
    ("merged with another axis", """(float[4,3,2] x, float[12,1] w) => (float[12,3] y) {
        r = Reshape(x, rows)  y = Concat <axis = 1> (r, w) }"""),
    ("has M along axis 0, and the axis 4",
     "(float[4,3] x, float[M,3] w) => (float[4,6] y) { y = Concat <axis = 1> (x, w) }"),
    ("along another axis, too",
     f"(float[4,1] x) => (float[4,4] y) {{ {N}  t = Concat <axis = 0> (n, n)  y = Expand(x, t) }}"),
    ("another size along the axis",
     f"(float[1,2] x) => (float[2,2] y) {{ {N}  t = Mul(n, two)  u = Concat <axis = 0> (t, two)  y = Expand(x, u) }}"),
    ("makes 4 elements of each slice",
     "(float[1,2] x) => (float[4,2] y) { t = Concat <axis = 0> (four, two)  y = Expand(x, t) }"),
    ("two sizes of its shape",
     f"(float[4,3] x) => (float[4,4] y) {{ {N}  t = Concat <axis = 0> (n, n)  y = ConstantOfShape(t) }}"),
    ("is no multiple of the number",
     f"(float[4,3] x) => (float[6] y) {{ {N}  t = Add(n, two)  y = ConstantOfShape(t) }}"),
    ("its data has 8 elements",
     f"(float[4,3] x, float[8] w) => (float[8] y) {{ {N}  t = Mul(n, two)  y = Expand(w, t) }}"),
    ("repeats the slices along the axis",
     "(float[4,3] x) => (float[8,6] y) { t = Concat <axis = 0> (two, two)  y = Tile(x, t) }"),
    ("does not repeat its data once",
     f"(float[4,3] x, float[1,1] w) => (float[4,4] y) {{ {N}  t = Concat <axis = 0> (n, n)  y = Tile(w, t) }}"),
    ("does not repeat its data once",
     f"(float[4,3] x, float[1] w) => (float[8] y) {{ {N}  t = Add(n, n)  y = Tile(w, t) }}"),
    ("it pads along the axis", "(float[4] x) => (float[8] y) { t = Concat <axis = 0> (two, two)  y = Pad(x, t) }"),
    ("each slice with each other one", "(float[4,1] x) => (float[4,4] y) { t = Transpose(x)  y = Add(x, t) }"),
    ("12 elements of another input",
     "(float[4,3,2] x, float[12,1] w) => (float[12,2] y) { r = Reshape(x, rows)  y = Add(r, w) }"),
    ("the rank of B 'r' is not known", "(float[4,3] x) => (float y) { r = own.Op()  y = Add(x, r) }"),
    ("draws random numbers",
     "(float[4,3] x) => (float[4,3] y) <float r = {0.5}, bool t = {1}> { y = Dropout(x, r, t) }"),
    ("draws random numbers", "(float[4,3] x, float r, bool t) => (float[4,3] y) { y = Dropout(x, r, t) }"),
    ("has it, and is used for all of them", "(float[1] x, float[3] w) => (float[3] y) { y = Clip(w, x) }"),
    ("has it, and is used for all of them", "(float[1] x, float[3] w) => (float[3] y) { y = Clip(w, , x) }"),
    ("has it, and is used for all of them",
     "(uint8[4] x, uint8[4,3] a, uint8[3,2] b) => (int32[4,2] y) { y = MatMulInteger(a, b, x) }"),
    ("has it, and is used for all of them",
     """(float[4] x, uint8[4,3] a, uint8 z, uint8[3,2] b, float r) => (uint8[4,2] y) {
        y = QLinearMatMul(a, x, z, b, r, z, r, z) }"""),
    ("no matrix of rows", "(float[4] x) => (float[1,4] y) { y = ai.onnx.ml.Normalizer(x) }"),
    ("combines elements along axis 0",
     "(float[4] x) => (float[4] y) { y = ai.onnx.ml.Scaler <offset = [1.0], scale = [1.0]> (x) }"),
    ("combines elements along axis 0",
     "(float[4] x) => (float[4] y) { y = ai.onnx.ml.Imputer <imputed_value_floats = [1.0]> (x) }"),
    ("by their positions", "(float[4] x) => (float[1,1] y) { y = ai.onnx.ml.ArrayFeatureExtractor(x, zero) }"),
    ("not all rows of the slices",
     """(float[4,3] x, float[4,2] w) => (float[4,5] y) {
        y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [3, 2]> (x, w) }"""),
    ("not all rows of the slices",
     """(float[1,3] x) => (float[1,4] y) { t = ReduceMax <axes = [1], keepdims = 0> (x)
        y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [3, 1]> (x, t) }"""),
    ("no matrix of rows",
     "(float[4] x) => (seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap <classlabels_int64s = [1, 2, 3, 4]> (x) }"),
    ("an end follows the axis", f"(float[4,3] x, float[6] w) => (float[4] y) {{ {N}  y = Slice(w, zero, n) }}"),
    ("an end follows the axis", f"""(float[4,3] x, float[2,6] w) => (float[1,2] y) <int64[2] b = {{1, 2}}> {{
        {N}  e = Concat <axis = 0> (two, n)  y = Slice(w, b, e) }}"""),
    ("a part along the axis", "(float[4,3] x) => (float[2,3] y) { y = Slice(x, two, four) }"),
    ("a part along the axis", "(float[4,3] x) => (float[2,3] y) { y = Slice(x, zero, two) }"),
    ("a part along the axis", "(float[4,3] x) => (float[2,3] y) { y = Slice(x, zero, four, zero, two) }"),
    ("an end along another axis",
     f"(float[4,6] x) => (float[4,4] y) <int64[1] one = {{1}}> {{ {N}  y = Slice(x, zero, n, one) }}"),
    ("the elements of ends 'e' are not known",
     "(float[4,6] x, int64[1] e) => (float[4,M] y) <int64[1] one = {1}> { y = Slice(x, zero, e, one) }"),
    ("at the positions of each other one", "(int64[4,3] x) => (int64[4,4,3] y) { y = Gather <axis = 1> (x, x) }"),
    ("along different axes", "(int64[4,4] x) => (int64[4,4] y) { t = Transpose(x)  y = GatherElements(x, t) }"),
    ("by their positions", "(float[4,3] x) => (float[3] y) { y = GatherND(x, two) }"),
    ("by their positions", "(int64[4,2] x) => (int64[4] y) { y = GatherND(x, x) }"),
    ("by their positions", "(float[4,2] x, float[4,2] w) => (float[2] y) { y = GatherND(w, two, x) }"),
    ("data 'w' does not have it", "(float[4,2] x, float[4,2] w) => (float[1,2] y) { y = Gather(w, two, x) }"),
    ("lie along another axis", "(int64[4] x, float[3,4] w) => (float[3,4] y) { y = ReverseSequence(w, x) }"),
    ("its axis is not known", "(float[4,3] x) => (float[4,3] y) <float a = {1}> { y = CumSum(x, a) }"),
    ("lie along another axis",
     "(float[4,3] x) => (float[4,3] y) <int64[3] l = {1, 2, 3}> { y = ReverseSequence(x, l) }"),
    ("scales may differ",
     """(uint8[4,2] x) => (uint8[4,2] y) <float[4] s = {1,1,1,1}, uint8[4] z = {0,0,0,0}, float t = {1.0},
        uint8 u = {0}, uint8[2,2] w = {1,2,3,4}> { y = QLinearMatMul(x, s, z, w, t, u, t, u) }"""),
    ("12 matrices of the other input",
     """(float[4,3,4] x, float[12,2,2] w) => (float[12,2,2] y) <int64[3] t = {12, 2, 2}> {
        r = Reshape(x, t)  y = MatMul(r, w) }"""),
    ("M matrices of the other input", "(float[4,2,3] x, float[M,3,2] w) => (float[4,2,2] y) { y = MatMul(x, w) }"),
    *(("not certainly equal", f"(float[4,3] x) => (float[4,3] y) <float[4,3] c, {ROWS}> {{ {nodes}  y = Add(x, c) }}")
      for nodes in (
        "c = own.ConstantOfShape(o)", "c = own.Expand(o)", "c = own.Gemm(o)", "c = own.Neg(o)", "c = own.Op()",
        "c = RandomUniform <shape = [4, 3]> ()", "r = own.Op()  c = Expand(r, s)",
        "r = own.Op()  q = Cast <to = 1> (r)  c = Expand(q, s)", "r = own.Op()  c = Gemm(a, w, r)",
        "r = own.Op()  q = Cast <to = 1> (r)  c = Gemm(a, w, q)",
        "c = Gemm(h, w)")),
    ("not certainly equal", f"""(float[4,3] x) => (float[3,4] y) <{ROWS}> {{
        t = Transpose(x)  c = Gemm <transB = 1> (w, a)  y = Add(t, c) }}"""),
    ("M elements of another input", "(float[4,3] x, float[M,3] w) => (float[4,3] y) { y = Add(x, w) }"),
    ("C has another size",
     "(float[4,3] x, float[3,2] w, float[M,2] c) => (float[4,2] y) { y = Gemm(x, w, c) }"),
    ("each slice with each other one", """(float[4,4,2,2] x) => (float[4,4,2,2] y) {
        t = Transpose <perm = [1, 0, 2, 3]> (x)  y = MatMul(x, t) }"""),
    ("it sums along the axis", "(float[4] x, float[4] w) => (float y) { y = MatMul(x, w) }"),
    ("it sums along the axis", "(float[4] x, float[4] w) => (float y) { y = MatMul(w, x) }"),
    ("it sums along the axis", "(float[4] x) => (float y) { y = MatMul(x, x) }"),
    ("it sums along the axis", "(float[4] x, float[4,3] w) => (float[3] y) { y = MatMul(x, w) }"),
    ("it sums along the axis", "(float[4,3] x, float[4] w) => (float[3] y) { y = MatMul(w, x) }"),
    ("it sums along the axis", "(float[4,3] x, float[4] w) => (float[3] y) { t = Transpose(x)  y = MatMul(t, w) }"),
    ("each slice with each other one", "(float[4,3] x) => (float[4,4] y) { y = Gemm <transB = 1> (x, x) }"),
    ("C has the slices along another axis",
     "(float[4,4] x, float[4,4] w) => (float[4,4] y) { t = Transpose(x)  y = Gemm(x, w, t) }"),
    ("C has another size",
     "(float[4,3,2] x, float[2,2] w, float[12,1] c) => (float[12,2] y) { r = Reshape(x, rows)  y = Gemm(r, w, c) }"),
    ("does not name each axis", """(float[4,3] x) => (float[4,3] y) { y = Einsum <equation = "...i->...i"> (x) }"""),
    ("it sums along the axis, or pairs", """(float[4,3] x) => (float[3] y) { y = Einsum <equation = "ij->j"> (x) }"""),
    ("it sums along the axis, or pairs", """(float[4,4] x) => (float[4] y) { y = Einsum <equation = "ii->i"> (x) }"""),
    ("it sums along the axis",
     "(float[4,4] x) => (float[4] y) { v = ReduceMax <axes = [1], keepdims = 0> (x)  y = MatMul(x, v) }"),
    ("combines elements along axis 1", """(float[4,4] x) => (float[4] y) {
        t = Transpose(x)  l = ArgMax <keepdims = 0> (t)
        y = SoftmaxCrossEntropyLoss <reduction = "none"> (t, l) }"""),
    *(("combines elements along axis " + str(axis), f"""(float[4,1,4] x) => (float[?,1,?,3] y) <
        float[1,3,4] w = {{1,2,3,4,5,6,7,8,9,10,11,12}}, float[1,3,3] r = {{1,2,3,4,5,6,7,8,9}}> {{
        t = Transpose <perm = {perm}> (x)  y = RNN <hidden_size = 3> (t, w, r) }}""")
      for axis, perm in ((0, [0, 1, 2]), (2, [2, 1, 0]))),
    ("combines elements along axis 0",
     "(float[4,3] x) => (float[1,3] y) { p = SplitToSequence(x)  y = SequenceAt(p, zero) }"),
    ("by their positions", "(float[4,2] x, int64[3,K] i) => (y) { y = GatherND(x, i) }"),
    ("some have none", """(float[4,3] x, float[4,3] w) => (float[4,3] y) {
        q = SequenceConstruct(w)  r = SequenceInsert(q, x)  y = SequenceAt(r, zero) }"""),
    ("data has 4 elements along an axis that follows",
     f"(float[2,3] x, float[4] w) => (float[4] y) {{ {N}  t = Mul(n, two)  y = Expand(w, t) }}"),
    ("the node is not valid: the inputs do not fit Expand",
     f"(float[4,3] x, float[4] w) => (float[8] y) {{ {N}  t = Mul(n, two)  y = Expand(w, t) }}"),
    ("how often it turns depends on the slices", """(float[1] x) => (int64 y) <int64 m = {3}, int64 z = {0}> {
        c = Cast <to = 9> (x)
        y = Loop (m, c, z) <body = b (int64 i, bool go, int64 h) => (bool on, int64 o) {
            on = Identity(go)  o = Identity(h) }> }"""),
    ("is lost at this size",
     "(float[4,L,3] x) => (float[Q,3] y) <int64[2] t = {-1, 3}> { r = Reshape(x, t)  y = Squeeze(r) }"),
    ("by their positions", "(int64[4,1] x, float[4,3] w) => (float[4] y) { y = GatherND <batch_dims = 1> (w, x) }"),
    ("does not name each axis", """(float[4,3] x) => (float[4,3] y) { y = Einsum <equation = "ij"> (x) }"""),
    ("it sums along the axis, or pairs", """(float[4,4] x) => (float[4,4] y) {
        t = Transpose(x)  y = Einsum <equation = "ij,ij->ij"> (x, t) }"""),
    ("counts elements of all slices",
     "(float[4,1,3] x) => (float[4,1,2] y, int64[4,1,2] z) { y, z = MaxPool <kernel_shape = [2]> (x) }"),
    ("its statistics from all slices",
     """(float[4,2,3] x) => (float[4,2,3] y, float[2] m, float[2] v) <float[2] w = {1, 2}> {
        y, m, v = BatchNormalization <training_mode = 1> (x, w, w, w, w) }"""),
    ("its statistics from all slices", """(float[4,2,3] x) => (float[4,2,3] y) <float[2] w = {1, 2}> {
        y = BatchNormalization <training_mode = 1> (x, w, w, w, w) }"""),
    ("crops by a region", """(float[4,3] x) => (float[4,3] y) <float[4] r = {0,0,1,1}, float[2] k = {1,1}> {
        y = Resize <coordinate_transformation_mode = "tf_crop_and_resize"> (x, r, k) }"""),
    ("it resizes along the axis", "(float[4,3] x) => (float[8,3] y) <float[2] k = {2,1}> { y = Resize(x, , k) }"),
    ("its sizes follow the axis, but its data does not have it", """(float[4,3] x, float[2,4,3] w) => (float[2,4,3] y) {
        a = Shape <end = 1> (x)  h = Constant <value_ints = [3]> ()  s = Concat <axis = 0> (two, a, h)
        y = Resize <mode = "nearest"> (w, , , s) }"""),
    ("its size along axis 1 follows the resized axis, which is axis 0", """(float[4,4] x) => (float[4,4] y) {
        a = Shape <end = 1> (x)  s = Concat <axis = 0> (a, a)  y = Resize <mode = "nearest"> (x, , , s) }"""),
    ("not known to be 1", "(float[4,3] x, float[2] k) => (float[4,3] y) { y = Resize(x, , k) }"),
    ("not known to be 1", "(float[4,3] x) => (float[4,3] y) <float[2] k = {1.2,1}> { y = Resize(x, , k) }"),
    ("W 'x' has it, and is used for all", "(float[4,1,2] x, float[1,1,5] w) => (float[1,4,4] y) { y = Conv(w, x) }"),
    ("X 'r' has it merged", """(float[4,3,4] x, float[12,2,2,2] w) => (float[12,1,2,2] y) <int64[4] t = {12, 1, 2, 2}> {
        r = Reshape(x, t)  y = GridSample(r, w) }"""),
    ("has no schema", "(float[4,3] x) => (float[4,3] y) { y = own.Op(x) }"),
    ("its axis is not known",
     "(float[4,3] x, float[M] w) => (float[4,3] y) { m = Shape(w)  a = Squeeze(m)  y = CumSum(x, a) }"),
    ("a constant would have to be M",
     """(float[4,M] x) => (float[4,M] y) {
        m = Shape <start = 1> (x)  t = Concat <axis = 0> (four, m)  y = Reshape(x, t) }"""),
    *(("its axes are not known", f"(float[4,{size}] x, float[M] w) => (float[{to}] y) {{ m = Shape(w)  y = {node} }}")
      for size, to, node in (
        (3, "?,?,?", "Unsqueeze(x, m)"), (1, "4", "Squeeze(x, m)"), (3, "4,3", "Slice(x, zero, four, m)"),
        (3, "4,1", "ReduceSum(x, m)"))),
    ("elements of several slices", "(float[4,?] x) => (float[4,K] y) { y = Flatten(x) }"),
    ("combines elements along axis 1", """(float[4,1,2,2] x, float[1,2,2,2] w) => (float[1,4,2,2] y) {
        t = Transpose <perm = [1, 0, 2, 3]> (x)  y = GridSample(t, w) }"""),
    ("its condition depends on the slices", """(float[1] x) => (float[1] y) { k = Cast <to = 9> (x)
        y = If (k) <then_branch = t () => (float[1] a) { a = Neg(x) },
                    else_branch = e () => (float[1] b) { b = Abs(x) }> }"""),
    *((f"the node is not valid: {fault}", f"(float[4,3] x) => (float[4,3] y) {{ y = {node} }}") for fault, node in (
        ("the input 'shape' is missing", "Reshape(x)"),
        ("the input 'data' is missing", "Slice(, zero, two, , x)"),
        ("the input 'repeats' is missing", "Tile(x)"),
        ("a value of the input 'inputs' is missing", "Concat <axis = 1> (x, , x)"),
        ("the attribute 'to' is missing", "Cast(x)"),
        ("the attribute 'num_scan_inputs' is missing",
         "Scan <body = b (float[4] t) => (float[4] o) { o = Neg(t) }> (x)"),
        ("the node is malformed for Softmax 13: the attribute axis is not of the type int", 'Softmax <axis = "1"> (x)'),
        ("the inputs do not fit CumSum 14: C2: shape(axis) = [2]", "CumSum(x, ones)"),
        ("the inputs do not fit Transpose 13: C1: perm [1, 1]", "Transpose <perm = [1, 1]> (x)"),
        ("the inputs do not fit Einsum 12: C1: equation 'ij->i->j'", 'Einsum <equation = "ij->i->j"> (x)'))),
    ("whether it goes on depends on the slices", """(float[1] x) => (int64 y) <
        int64 m = {3}, bool on = {1}, int64 z = {0}> {
        y = Loop (m, on, z) <body = b (int64 i, bool go, int64 h) => (bool[1] c, int64 o) {
            c = Cast <to = 9> (x)  o = Identity(h) }> }"""),
    ("C1: 1 inputs, 3 of them scanned", """(float[4,3] x) => (float[3,4] y) {
        y = Scan <num_scan_inputs = 3, body = b (float[4] t) => (float[4] o) { o = Neg(t) }> (x) }"""),
    ("computes with the number of slices", """(float[4,3] x) => (int64[2] y) { s = Shape(x)
        y = Scan <num_scan_inputs = 1, body = b (int64 t) => (int64 o) { o = Neg(t) }> (s) }"""),
    ("counted from the end", """(float[4,3] x) => (float[4,3] y) {
        y = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [-1],
            body = b (float[4] t) => (float[4] o) { o = Neg(t) }> (x) }"""),
    ("counted from the end", """(float[4,3] x) => (float[4,3] y, float[4,3] z) {
        y, z = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1, -1],
            body = b (float[4] t) => (float[4] o, float[4] p) { o = Neg(t)  p = Abs(t) }> (x) }"""),
    ("data 'w' does not have it, and another input does",
     "(float[4,3] x, float[3,3] w) => (float[3,3] y) { y = Transpose(w, x) }"),
    ("the rank of what it scans is not known", """(float[4,3] x) => (float[3,4] y) { q = SequenceConstruct(x)
        y = Scan <num_scan_inputs = 1, body = b (float[4] t) => (float[4] o) { o = Neg(t) }> (q) }"""),
    ("not followed into the graphs of this operator", """(float[4,3] x) => (float[4,3] y) {
        y = Relu <body = b (float[4,3] t) => (float[4,3] o) { o = Neg(t) }> (x) }"""),
    ("not valid: the inputs do not fit Loop 16: C1: the condition is float[3]",
     """(float[4,3] x, float[3] c) => (float[4,3] y) <int64 m = {3}> {
        y = Loop (m, c, x) <body = b (int64 i, bool go, float[4,3] h) => (bool on, float[4,3] o) {
            on = Identity(go)  o = Neg(h) }> }"""),
    ("not valid: the inputs do not fit If 16: C1: the condition is float[3]",
     """(float[4,3] x, float[3] c) => (float[4,3] y) {
        y = If (c) <then_branch = t () => (float[4,3] a) { a = Neg(x) },
                    else_branch = e () => (float[4,3] b) { b = Abs(x) }> }"""),
    ("the shape of its output is not known",
     "(float[4,3] x, int64[K] w) => (float y) { r = Reshape(x, w)  y = Abs(r) }"),
    ("computes with the number of slices", """(float[4,3] x) => (seq(int64[2]) y) {
        s = Shape(x)  q = SequenceConstruct(x)
        y = SequenceMap <body = b (float[4,3] t, int64[2] w) => (int64[2] o) { o = Neg(w) }> (q, s) }"""),
    ("a state of it holds the number", """(float[4,3] x) => (int64[2] y) <int64 m = {3}, bool on = {1}> { s = Shape(x)
        y = Loop (m, on, s) <body = b (int64 i, bool go, int64[2] h) => (bool c, int64[2] o) {
            c = Identity(go)  o = Neg(h) }> }"""),
    ("the size of 'h' along the axis is not known", """(float[4,3] x) => (float[4,3] y) <int64 m = {3}, bool on = {1}> {
        y = Loop (m, on, x) <body = b (int64 i, bool go, h) => (bool c, o) { c = Identity(go)  o = own.Op(h) }> }"""),
    ("an output of its graph holds the number", """(float[4,3] x, bool c) => (int64[2] y) {
        y = If (c) <then_branch = t () => (int64[2] a) { a = Shape(x) },
                    else_branch = e () => (int64[2] b) { b = Constant <value_ints = [4, 3]> () }> }"""),
    ("an output of its graph holds the number", """(float[4,3] x, bool c) => (float[4,3] z, int64[2] y) {
        z, y = If (c) <then_branch = t () => (float[4,3] d, int64[2] a) { d = Neg(x)  a = Shape(x) },
                    else_branch = e () => (float[4,3] f, int64[2] b) { f = Abs(x)  b = Identity(rows) }> }"""),
]  # fmt: skip

OF_VERSIONS = [
    ("a batch axis of its own", 8, """(float[1,4,3] x) => (float[1,4,3] y) {
        y = Scan <num_scan_inputs = 1, body = b (float[3] t) => (float[3] o) { o = Neg(t) }> (, x) }"""),
    ("a version before 6", 5, "(float[4,2] x) => (float[4,4] y) <float t = {2}, float a = {1}> { y = Tile(x, t, a) }"),
    ("is_test is not of the type int", 6, """(float[4,2] x) => (float[4,2] y) { y = Dropout <is_test = "1"> (x) }"""),
    ("which opset 8 can", 7, "(float[1,2] x, float[1,2] w) => (float[1,4] y) { y = Concat <axis = 1> (x, w) }"),
    ("not those of channels alone", 7, """(float[4,2,3] x) => (float[4,2,3] y) <float[2,3] w = {1,1,1,1,1,1}> {
        y = BatchNormalization <spatial = 0> (x, w, w, w, w) }"""),
    ("statistics from all slices", 9, """(float[4,2,3] x) => (float[4,2,3] y) <float[2] w = {1,1}> {
        y, m = BatchNormalization (x, w, w, w, w) }"""),
    ("its scales differ along it", 21, """(int8[4,2] x) => (float[4,2] y) <float[4,1] w = {1,2,3,4}> {
        y = DequantizeLinear <axis = 1, block_size = 2> (x, w) }"""),
    ("its axis is not known", 20,
     "(float[4,3,2] x, float[M] w) => (float[4,3,2] y) { m = Shape(w)  a = Squeeze(m)  y = DFT(x, , a) }"),
    ("not valid: the inputs do not fit Pad 18: C1: shape(pads) = [2]", 18,
     "(float[4,3] x) => (float[4,K] y) { y = Pad(x, rows) }"),
    ("has lengths for each sample", 24, """(float[4,1,2,2] x) => (float[4,1,2,2] y) <int64[4] l = {1,1,1,1}> {
        y = Attention(x, x, x, , , , l) }"""),
    ("its axes are not known", 18, """(float[4,3] x, float[M] w) => (float[4,3] y) {
        m = Shape(w)  p = Concat <axis = 0> (zero, zero)  y = Pad(x, p, , m) }"""),
    ("mask has the slices along another axis", 23, """(float[4,1,2,2] x, float[4,1,2,2] m) => (float[4,1,2,2] y) {
        y = Attention(x, x, x, m) }"""),
    ("combines elements along axis 1", 23, """(float[4,1,2,2] x) => (float[1,4,2,2] y) {
        t = Transpose <perm = [1, 0, 2, 3]> (x)  y = Attention(t, t, t) }"""),
    ("statistics from all slices", 6, """(float[4,2,3] x) => (float[4,2,3] y) <float[2] w = {1,1}> {
        y = BatchNormalization (x, w, w, w, w) }"""),
    ("axis 'x' has it, and is used for all of them", 20,
     "(int64[1] x, float[3,4,1] w) => (float[3,?,2] y) { y = DFT(w, , x) }"),
    ("combines elements along axis 1", 10,
     "(float[4,3] x, float[M] s) => (uint8[3,4] y) { t = Transpose(x)  y = QuantizeLinear(t, s) }"),
    ("axes 'x' has it, and is used for all of them", 18,
     "(int64[1] x, float[3] w) => (float[5] y) <int64[2] p = {1,1}> { y = Pad(w, p, , x) }"),
    *(("mask has the slices along another axis", 23, f"""(float[4,4,4,4] x) => (float[4,4,4,4] y) {{
        m = {node}  y = Attention(x, x, x, m) }}""")
      for node in ("Transpose <perm = [1, 0, 2, 3]> (x)", "ReduceMax <keepdims = 0> (x, two)")),
]  # fmt: skip


def reason(graph, version=17, axis=0):
    """Return why the size of x cannot become a variable."""
    constants = "".join(f"{name} = Constant <value_ints = {numbers}> ()  " for name, numbers in LISTS.items())
    head, body = re.split(r"(?<=[>)]) \{", graph, maxsplit=1)
    imports = f'["": {version}, "ai.onnx.ml": 3, "own": 1]'
    text = f"<ir_version: 9, opset_import: {imports}> g {head} {{ {constants if version > 11 else ''}{body}"
    with pytest.raises(InferenceError) as caught:
        opset.change_sizes(opset.parse_model(text), {f"x.{axis}": "N"})
    assert caught.value.code == "I501"
    return caught.value.why


@pytest.mark.parametrize(("why", "graph"), BLOCKED)
def test_what_combines_slices_says_how(why, graph):
    assert why in reason(graph)


@pytest.mark.parametrize(("why", "version", "graph"), OF_VERSIONS)
def test_what_combines_slices_at_some_version_says_how(why, version, graph):
    assert why in reason(graph, version)


# An input that belongs to all slices, and a graph in which it has the axis.
SHARED = [
    ("split", "(int64[2] x, float[6] w) => (float[M] y, float[K] z) { y, z = Split(w, x) }"),
    ("y_scale", "(float[4] x, float[3,4] w) => (uint8[3,4] y) { y = QuantizeLinear <axis = 1> (w, x) }"),
    ("shape", "(int64[2] x, float[6] w) => (float[M,K] y) { y = Reshape(w, x) }"),
    ("axes", "(int64[2] x, float[3] w) => (float[?,?,?] y) { y = Unsqueeze(w, x) }"),
    ("axes", "(int64[2] x, float[1,1,3] w) => (float[?] y) { y = Squeeze(w, x) }"),
    ("shape", "(int64[2] x, float[3] w) => (float[?,?] y) { y = Expand(w, x) }"),
    ("pads", "(int64[2] x, float[3] w) => (float[M] y) { y = Pad(w, x) }"),
    ("K", "(int64[1] x, float[3] w) => (float[M] y, int64[M] z) { y, z = TopK(w, x) }"),
    ("repeats", "(int64[2] x, float[3,3] w) => (float[M,K] y) { y = Tile(w, x) }"),
    ("starts", "(int64[1] x, float[3,3] w) => (float[M,K] y) { y = Slice(w, x, two) }"),
    ("ends", "(int64[1] x, float[3,3] w) => (float[M,K] y) { y = Slice(w, zero, x) }"),
    ("axes", "(int64[1] x, float[3,3] w) => (float[M,K] y) { y = Slice(w, zero, two, x) }"),
    ("sizes", "(int64[2] x, float[3,3] w) => (float[M,K] y) { y = Resize(w, , , x) }"),
    ("scales", "(float[2] x, float[3,3] w) => (float[M,K] y) { y = Resize(w, , x) }"),
    ("input", "(int64[2] x) => (float[M,K] y) { y = ConstantOfShape(x) }"),
    ("depth", "(int64[1] x, int64[3] w) => (float[3,K] y) <float[2] v = {0, 1}> { y = OneHot(w, x, v) }"),
    ("values", "(float[2] x, int64[3] w, int64[1] d) => (float[3,K] y) { y = OneHot(w, d, x) }"),
    ("W", "(float[4,1,2,2] x, float[1,1,2,2] w) => (float[M,K,P,Q] y) { y = Conv(w, x) }"),
    ("axes", "(int64[1] x, float[3,3] w) => (float[M] y) { y = ReduceSum(w, x) }"),
    ("Scale", "(float[3] x, float[4,3] w) => (float[4,3] y) { y = LayerNormalization(w, x) }"),
    ("scale", "(float[3] x, float[4,3,2] w) => (float[4,3,2] y) { y = BatchNormalization(w, x, x, x, x) }"),
    ("P", """(float[1,9] x, float[2,1,2] w, float[1,12,2] u, float[1,12,3] r) => (float[2,1,1,3] y) {
        y = LSTM <hidden_size = 3> (w, u, r, , , , , x) }"""),
    ("C", "(float[3] x, float[4,2] w, float[2,3] u) => (float[4,3] y) { y = Gemm(w, u, x) }"),
    ("initial_h", """(float[1,1,3] x, float[2,1,2] w, float[1,3,2] u, float[1,3,3] r) => (float[2,1,1,3] y) {
        y = RNN <hidden_size = 3> (w, u, r, , , x) }"""),
    ("Y", "(int64[2] x, float[4,3] w) => (float[4,2] y) { y = ai.onnx.ml.ArrayFeatureExtractor(w, x) }"),
    ("split", "(int64[2] x, float[6] w) => (seq(float[?]) y) { y = SplitToSequence(w, x) }"),
    ("B", "(float[1] x, float[4,1,6] w, float[1,1,2] k) => (float[4,1,5] y) { y = Conv(w, k, x) }"),
    ("y_zero_point", """(uint8[4] x, float[3,4] w, float[4] s) => (uint8[3,4] y) {
        y = QuantizeLinear <axis = 1> (w, s, x) }"""),
    ("weights", "(float[3] x, float[4,3] w, int64[4] t) => (float y) { y = SoftmaxCrossEntropyLoss(w, t, x) }"),
    ("B", "(float[3] x, float[4,3] w, float[3] u) => (float[4,3] y) { y = LayerNormalization(w, u, x) }"),
    ("input_var", """(float[3] x, float[4,3,2] w, float[3] u) => (float[4,3,2] y) {
        y = BatchNormalization(w, u, u, u, x) }"""),
    ("R", """(float[1,9,3] x, float[2,1,2] w, float[1,9,2] u) => (float[2,1,1,3] y) {
        y = GRU <hidden_size = 3> (w, u, x) }"""),
    ("k", "(int64[1] x, float[4,3] w, float[4,1] u) => (float[4,3] y) { y = Trilu(w, x) }"),
    ("dft_length", "(int64[1] x, float[3,4,1] w) => (float[3,?,2] y) { y = DFT(w, x) }"),
    ("W", """(float[1,9,2] x, float[2,1,2] w, float[1,9,3] r) => (float[2,1,1,3] y) {
        y = GRU <hidden_size = 3> (w, x, r) }"""),
    ("B", """(float[1,18] x, float[2,1,2] w, float[1,9,2] u, float[1,9,3] r) => (float[2,1,1,3] y) {
        y = GRU <hidden_size = 3> (w, u, r, x) }"""),
    ("sequence_lens", """(int32[1] x, float[2,1,2] w, float[1,3,2] u, float[1,3,3] r) => (float[2,1,1,3] y) {
        y = RNN <hidden_size = 3> (w, u, r, , x) }"""),
    ("initial_c", """(float[1,1,3] x, float[2,1,2] w, float[1,12,2] u, float[1,12,3] r) => (float[2,1,1,3] y) {
        y = LSTM <hidden_size = 3> (w, u, r, , , , x) }"""),
    ("roi", """(float[4] x, float[3,3] w) => (float[3,3] y) <float[2] k = {1,1}> {
        y = Resize <coordinate_transformation_mode = "tf_crop_and_resize"> (w, x, k) }"""),
    ("constant_value", "(float[1] x, float[3] w) => (float[5] y) <int64[2] p = {1,1}> { y = Pad(w, p, x) }"),
    ("position", """(int64[1] x, float[4,3] w) => (float[4,3] y) { q = SequenceConstruct(w)  r = SequenceInsert(q, w, x)
        y = SequenceAt(r, zero) }"""),
    ("position", "(int64[1] x, float[4,3] w) => (float[4,3] y) { q = SequenceConstruct(w)  y = SequenceAt(q, x) }"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "graph"), SHARED)
def test_an_input_for_all_slices_that_has_the_axis_is_named(name, graph):
    assert reason(graph) == f"{name} 'x' has it, and is used for all of them"


def test_initial_states_along_another_axis_are_named():
    graph = """(float[5,4,4] x, float[1,4,4] w) => (float[5,1,4,4] y) {
        m = ReduceMax <axes = [0]> (x)  h = Transpose <perm = [0, 2, 1]> (m)
        y = RNN <hidden_size = 4> (x, w, w, , , h) }"""
    assert "another axis of initial_h" in reason(graph, axis=1)


def test_attributes_hold_no_variable():
    graph = "(float[L,4,3] x) => (float[L,12] y) { y = Reshape <shape = [-1, 12]> (x) }"
    assert "attribute shape would have to be a variable" in reason(graph, 4, axis=1)


def test_functions_are_put_in_place_first():
    text = (
        HEAD
        + """ g (float[4] x) => (float[4] y) { y = own.Op(x) }
    <domain: "own", opset_import: ["": 17]> Op (a) => (b) { b = Neg(a) }"""
    )
    with pytest.raises(InferenceError, match="functions of the model"):
        opset.change_sizes(opset.parse_model(text), {"x.0": "N"})
    beside = text.replace("(float[4] x) => (float[4] y) { y = own.Op(x) }",
                          "(float[4] x, float w) => (float[4] y, float z) { y = Neg(x)  z = own.Op(w) }")  # fmt: skip
    resized = opset.change_sizes(opset.parse_model(beside), {"x.0": "N"})
    assert resized.graph.output[0].type.tensor_type.shape.dim[0].dim_param == "N"


@pytest.mark.parametrize("wanted", [{}, {"z.0": "N"}])
def test_an_output_that_does_not_follow_is_named(wanted):
    text = f"{HEAD} g (float[4] x, float[4] w) => (float[4] y, float[4] z) {{ y = Neg(x)  z = Neg(w) }}"
    with pytest.raises(InferenceError, match=r"output 'z'.* does not follow from the slices") as caught:
        opset.change_sizes(opset.parse_model(text), {"x.0": "N", **wanted})
    assert caught.value.code == "I502"
