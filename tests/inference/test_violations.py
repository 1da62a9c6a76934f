"""Broken constraints that inference reports, and that no example of an operator breaks in this way."""

import onnx.parser
import pytest

import opset
from opset.inference.limits import MAX_RANK

ROWS = "(float[2,2] x) => (float[] y, float[] z) { y, z = ai.onnx.ml."
LABELS = "classlabels_ints=[1, 2]"
VECTORS = f"{LABELS}, vectors_per_class=[1, 1], support_vectors=[1.0, 2.0, 3.0, 4.0]"
THREE = (
    "classlabels_ints=[1, 2, 3], vectors_per_class=[1, 1, 1], support_vectors=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0],"
    " coefficients=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], rho=[1.0, 2.0, 3.0]"
)
LINEAR = f"ai.onnx.ml.LinearClassifier<{LABELS}, coefficients"
GRAMS = (
    'TfIdfVectorizer<mode="TF", min_gram_length=1, max_gram_length=1, max_skip_count=0, ngram_counts=[0]'
    ", ngram_indexes=[0]"
)
DOMAINS = '"ai.onnx.preview": 1, "ai.onnx.preview.training": 1'
SUPPORTED = (
    "(float[2,2] x) => (float[] y) { y = ai.onnx.ml.SVMRegressor<n_supports=2, support_vectors=[1.0, 2.0, 3.0, 4.0],"
)
LOOP = """({}, float[3] s) => (float[] y) {{
    y = Loop <body = g (int64 i, bool k, float[3] t) => (bool l, float[3] u) {{ l = Identity(k) u = Identity(t) }}>
        (m, c, s) }}"""
ONE_LEAF = {
    "nodes_nodeids": "[0]", "nodes_treeids": "[0]", "nodes_modes": '["LEAF"]', "nodes_featureids": "[0]",
    "nodes_truenodeids": "[0]", "nodes_falsenodeids": "[0]", "nodes_missing_value_tracks_true": "[0]",
    "nodes_values": "[1.0]", "target_treeids": "[0]", "target_nodeids": "[0]", "target_ids": "[0]",
    "target_weights": "[1.0]",
}  # fmt: skip
ONE_NODE = {
    "nodes_featureids": "[0]", "nodes_falseleafs": "[1]", "nodes_falsenodeids": "[0]", "nodes_trueleafs": "[1]",
    "nodes_truenodeids": "[0]", "nodes_missing_value_tracks_true": "[0]", "nodes_modes": "uint8[1] {0}",
    "nodes_splits": "float[1] {0}", "leaf_weights": "float[1] {2}", "leaf_targetids": "[0]", "tree_roots": "[0]",
}  # fmt: skip


def trees(operator, lists):
    """Return a graph with a tree ensemble, and the attributes of these texts, by name; one of None is left out."""
    attributes = ", ".join(f"{name} = {text}" for name, text in lists.items() if text is not None)
    return f"(float[2,3] x) => (float[] y) {{ y = ai.onnx.ml.{operator}<n_targets = 1, {attributes}>(x) }}"


BROKEN = [
    (18, "C3: 5 is no multiple of the 4 elements of a block",
     "(float[1,5,4] x) => (float[] y) <int64[2] i = {3, 3}, int64[2] b = {2, 2}> { y = Col2Im(x, i, b) }"),
    (12, "C4: of dimensions of ellipses, 2 and 3 cannot be broadcast together",
     '(float[2,3] x, float[3,4] z) => (float[] y) { y = Einsum<equation="...,...->...">(x, z) }'),
    (9, "C5: they begin at [1], 2 elements in all",
     f"(int64[2] x) => (float[] y) {{ y = {GRAMS.replace('counts=[0]', 'counts=[1]')}, pool_int64s=[1, 2]>(x) }}"),
    (24, "C5: shape(attn_mask) = [3, 4], and there are 3 keys",
     "(float[1,2,3,4] q, float[3,4] m) => (float[] y) { y = Attention(q, q, q, m) }"),
    (12, "C1: equation '......i->i'", '(float[2] x) => (float[] y) { y = Einsum<equation="......i->i">(x) }'),
    (11, "C4: a size of X and output_shape is 1 and 2", """(float[1,1,1] x, int64[1,1,1] i) => (float[] y)
        <int64[3] s = {1, 2, 4}> { y = MaxUnpool<kernel_shape=[1]>(x, i, s) }"""),
    (13, "C2: a window of 0", "(float[1,1,4] x, float[1,1,0] w) => (float[] y) { y = ConvTranspose(x, w) }"),
    (13, "C2: a window of 0, 2", "(float[1,1,4,4] x, float[1,1,0,2] w) => (float[] y) { y = ConvTranspose(x, w) }"),
    (13, "C2: value has the shape [1, 2]",
     "(int64[1] s) => (float[] y) { y = ConstantOfShape<value = float[1,2] {1, 2}>(s) }"),
    *((15, "with training_mode 0, Y is the only output", f"""(float[2,3] x, float[3] s) => (float[] y) {{
        y, {outputs} = BatchNormalization<training_mode = 0>(x, s, s, s, s) }}""") for outputs in ("m", ", v", "m, v")),
    (13, "C2: a dimension of batch_dims is 2 and 3",
     "(float[2,3] x, int64[3,1] i) => (float[] y) { y = GatherND<batch_dims=1>(x, i) }"),
    (13, "C2: shapes [1, 2] and [2, 1]",
     "(float[1,2] x, int64[2,1] i) => (float[] y) { y = GatherElements<axis=1>(x, i) }"),
    (13, "C1: 3 pads", "(float[] x) => (float[] y) <int64[3] p = {1, 1, 1}> { y = Pad(x, p) }"),
    (11, "C4: the windows over 1 positions cover -1 elements",
     "(float[1,1,1] x, int64[1,1,1] i) => (float[] y) { y = MaxUnpool<kernel_shape=[1], pads=[1, 1]>(x, i) }"),
    (13, "C1: shape []", "(float x, int64[1] a) => (float[] y) { y = Squeeze(x, a) }"),
    (13, "C2: shape [2, 3]", "(float[2,3] x, int64[1] a) => (float[] y) { y = Squeeze(x, a) }"),
    (13, "C2: it is of string", "(string[2] x) => (float[] y) { y = RandomNormalLike(x) }"),
    (13, "the attribute shape is missing", "() => (float[] y) { y = RandomNormal() }"),
    (7, "scales is no list of numbers", "(float[2,3] x) => (float[] y) { y = Upsample(x) }"),
    (26, "C5: the graph returns 2 outputs",
     """(float[1,1,1,2] q, float[1,1,3,2] k) => (float[] y) {
         y = ai.onnx.preview.FlexAttention <score_mod = g (float[B,H,L,S] s) => (float[B,H,L,S] a, float[B,H,L,S] b)
             { a = Identity(s) b = Identity(s) }> (q, k, k) }"""),
    (13, "C2: X has no entries", "(float x, int64[1] i) => (float[] y) { y = ai.onnx.ml.ArrayFeatureExtractor(x, i) }"),
    *((13, f"C2: index {index}, and 3 entries", f"""(float[2,3] x) => (float[] y) <int64[2] i = {{2, {index}}}> {{
        y = ai.onnx.ml.ArrayFeatureExtractor(x, i) }}""") for index in (3, 4, -1)),
    (13, "C1: categories are int64s, and X is of string",
     "(string[2] x) => (float[] y) { y = ai.onnx.ml.OneHotEncoder<cats_int64s=[1]>(x) }"),
    (13, "C1: categories are strings, and X is of int64",
     "(int64[2] x) => (float[] y) { y = ai.onnx.ml.OneHotEncoder<cats_strings=[\"a\"]>(x) }"),
    (13, "C2: 0 targets", "(float[2,0] x) => (float[] y) { y = ai.onnx.ml.LinearRegressor<targets=0>(x) }"),
    (13, "C2: 2 intercepts for 1 targets",
     "(float[2,1] x) => (float[] y) { y = ai.onnx.ml.LinearRegressor<coefficients=[1.0], intercepts=[1.0, 2.0]>(x) }"),
    (13, "C2: 2 intercepts for 1 rows of coefficients", f"{ROWS} LinearClassifier<{LABELS}, coefficients=[1.0, 2.0],"
     " intercepts=[1.0, 2.0]>(x) }"),
    (13, "C2: vectors of 1 classes, and 2 labels", f"{ROWS} SVMClassifier<{LABELS}, vectors_per_class=[1]>(x) }}"),
    (13, "C2: vectors of 2 classes, and 2 labels", f"{ROWS} SVMClassifier<{LABELS}, vectors_per_class=[3, -1]>(x) }}"),
    (13, "C2: 3 coefficients and 1 constants for 2 classes",
     f"{ROWS} SVMClassifier<{VECTORS}, coefficients=[1.0, 2.0, 3.0], rho=[1.0]>(x) }}"),
    (13, "C2: 2 coefficients and 0 constants for 2 classes",
     f"{ROWS} SVMClassifier<{VECTORS}, coefficients=[1.0, 2.0]>(x) }}"),
    (13, "C2: 1 prob_a and 0 prob_b for 1 pairs",
     f"{ROWS} SVMClassifier<{VECTORS}, coefficients=[1.0, 2.0], rho=[1.0], prob_a=[1.0]>(x) }}"),
    (13, "C2: 3 prob_a and 2 prob_b for 3 pairs",
     f"{ROWS} SVMClassifier<{THREE}, prob_a=[1.0, 2.0, 3.0], prob_b=[1.0, 2.0]>(x) }}"),
    (13, "C2: 2 prob_a and 3 prob_b for 3 pairs",
     f"{ROWS} SVMClassifier<{THREE}, prob_a=[1.0, 2.0], prob_b=[1.0, 2.0, 3.0]>(x) }}"),
    (13, "C2: 5 coefficients and 3 constants for 3 classes",
     f"{ROWS} SVMClassifier<{THREE.replace('coefficients=[1.0, ', 'coefficients=[')}>(x) }}"),
    (13, "C2: 6 coefficients and 2 constants for 3 classes",
     f"{ROWS} SVMClassifier<{THREE.replace('rho=[1.0, ', 'rho=[')}>(x) }}"),
    *((13, f"C2: the attributes {name[:name.index('_')]}_* have different lengths"
       + ", or are empty" * name.startswith("nodes"),
       trees("TreeEnsembleRegressor", ONE_LEAF | {name: f"{text[:-1]}, {text[1:]}"}))
      for name, text in ONE_LEAF.items()),
    *((13, "C2: the attributes nodes_* have different lengths, or are empty",
       trees("TreeEnsembleRegressor", ONE_LEAF | dict.fromkeys(names)))
      for names in (["nodes_treeids"], ["nodes_modes"], [each for each in ONE_LEAF if each.startswith("nodes")])),
    *((20, "C2: the attributes nodes_* or leaf_* have different lengths, or are empty",
       trees("TreeEnsemble", ONE_NODE | {
           name: f"{text[:-1]}, {text[1:]}" if text[0] == "[" else text.replace("[1]", "[2]").replace("{", "{0, ")}))
      for name, text in ONE_NODE.items() if name != "tree_roots"),
    (13, "C2: votes are for 0 to 1, and there are 1",
     """(float[2,3] x) => (float[] y) { y = ai.onnx.ml.TreeEnsembleRegressor<n_targets=1, nodes_nodeids=[0],
         nodes_treeids=[0], nodes_modes=["LEAF"], nodes_featureids=[0], nodes_values=[1.0], nodes_truenodeids=[0],
         nodes_falsenodeids=[0], target_treeids=[0, 0], target_nodeids=[0, 0], target_ids=[0, 1],
         target_weights=[1.0, 1.0]>(x) }"""),
    (20, "C2: leaf_targetids holds 0 to 1, and there are 1",
     """(float[2,3] x) => (float[] y) { y = ai.onnx.ml.TreeEnsemble<n_targets=1, leaf_targetids=[0, 1],
         leaf_weights = float[2] {1, 2}, nodes_falseleafs=[1], nodes_falsenodeids=[1], nodes_featureids=[0],
         nodes_modes = uint8[1] {0}, nodes_splits = float[1] {0}, nodes_trueleafs=[1], nodes_truenodeids=[0],
         tree_roots=[0]>(x) }"""),
    *[
        (13, f"C2: {count} inputs are not {parts} for each tensor",
         f"(float r, int64 t, float[2] x) => (float[] y)"
         f" {{ y = ai.onnx.preview.training.{name}(r, t{', x' * count}) }}")
        for name, parts in (("Adagrad", 3), ("Momentum", 3), ("Adam", 4)) for count in (parts - 1, parts + 1)
    ],
    (13, "C3: tensors of double and float",
     """(float r, int64 t, double[2] x, float[2] g, float[2] h) => (float[] y, float[] z) {
         y, z = ai.onnx.preview.training.Adagrad(r, t, x, g, h) }"""),
    (13, "C3: scan_input_directions (2,)",
     """(float s, float[3] x) => (float[] y, float[] z) { y, z = Scan <num_scan_inputs=1, scan_input_directions=[2],
         body = g (float t, float u) => (float v, float w) { v = Identity(t) w = Identity(u) }> (s, x) }"""),
    (13, "C3: scan_output_directions has 2 numbers for 1",
     """(float s, float[3] x) => (float[] y, float[] z) { y, z = Scan <num_scan_inputs=1, scan_output_directions=[0, 0],
         body = g (float t, float u) => (float v, float w) { v = Identity(t) w = Identity(u) }> (s, x) }"""),
    (8, "C3: directions has 2 numbers for 1",
     """(float[1] s, float[1,3] x) => (float[] y, float[] z) { y, z = Scan <num_scan_inputs=1, directions=[0, 0],
         body = g (float t, float u) => (float v, float w) { v = Identity(t) w = Identity(u) }> (, s, x) }"""),
    (13, "C6: axis 0, mode edge", '(float[2] x) => (float[] y) <int64[2] p = {-2, 1}> { y = Pad<mode="edge">(x, p) }'),
    (13, "C2: sizes [?, 5], dimension 4",
     """(float[4] x, int64[1] u) => (float[] y, float[] z) <int64[1] t = {5}> {
         d = Concat<axis=0>(u, t) y, z = Split(x, d) }"""),
    (13, "C2: sizes [N, 1], dimension N", """(float[N] x) => (float[] y, float[] z) <int64[1] t = {1}> {
        s = Shape(x) d = Concat<axis=0>(s, t) y, z = Split(x, d) }"""),
    (13, "the attribute axis is missing", "(float[2] x) => (float[] y) { y = Concat(x, x) }"),
    (13, "C7: axis 0 is 0, and 1 is wanted",
     "(float[0] x) => (float[] y) <int64[1] s = {1}> { y = Resize(x, , , s) }"),
    (18, "C2: num_outputs 3, 2 outputs",
     "(float[6] x) => (float[] y, float[] z) { y, z = Split<num_outputs=3>(x) }"),
    (13, "C3: indices from 3 to 3, dimension 3",
     "(float[3] x, float[1] u) => (float[] y) <int64[1,1] i = {3}> { y = ScatterND(x, i, u) }"),
    (6, "C1: B of shape [2, 3] does not fit into [3] from axis -1 on",
     "(float[3] x, float[2,3] s) => (float[] y) { y = Add<broadcast=1>(x, s) }"),
    *((17, "C4: shape(frame_step) = [2]", f"({signal} x, int64[2] f) => (y) {{ y = STFT(x, f) }}")
      for signal in ("", "float[]", "float[1,16,1]")),
    (13, "C1: rank(min) = 1", "(float[3] x, float[2] l, u) => (float[] y) { y = Clip(x, l, u) }"),
    (13, "C1: rank(max) = 2", "(float[3] x, u, float[1,1] l) => (float[] y) { y = Clip(x, u, l) }"),
    (6, "C1: B of shape [1, 1] does not fit into [3] from axis -1 on",
     "(float[3] x, float[1,1] s) => (float[] y) { y = Add<broadcast=1>(x, s) }"),
    (6, "C1: B of shape [2] does not fit into [2, 3] from axis 2 on",
     "(float[2,3] x, float[2] s) => (float[] y) { y = Add<broadcast=1, axis=2>(x, s) }"),
    (6, "C1: B of shape [1, 2] does not fit into [3, 2] from axis 5 on",
     "(float[3,2] x, float[1,2] s) => (float[] y) { y = Add<broadcast=1, axis=5>(x, s) }"),
    (6, "C1: a size is 3 and 2", "(float[2,3] x, float[2] s) => (float[] y) { y = Add<broadcast=1>(x, s) }"),
    (6, "C1: a size is 3 and 2", "(float[2,3] x, float[2] s) => (float[] y) { y = Add<broadcast=1, axis=1>(x, s) }"),
    (6, "C1: shape(B) = [2, 1] for [2, 3]", "(float[2,3] x, float[2,1] s) => (float[] y) { y = Add(x, s) }"),
    (6, "C1: the shapes are [2, 3] and [2]", "(float[2,3] x, float[2] s) => (float[] y) { y = PRelu(x, s) }"),
    (6, "C1: the shapes are [2] and [2]", "(float[2] x, float[2] s) => (float[] y) { y = PRelu(x, s) }"),
    (6, "C1: the shapes are [2, 3] and [1, 3]", "(float[2,3] x, float[1,3] s) => (float[] y) { y = PRelu(x, s) }"),
    (13, "C2: indices from -4 to -4, dimension 3",
     "(float[3] x, int64[1] u) => (float[] y) <int64[1] i = {-4}> { j = Concat<axis=0>(i, u) y = Gather(x, j) }"),
    *((13, f"C2: indices from {lowest} to {highest}, dimension 3",
       f"(float[3] x) => (float[] y) <int64[2] i = {{{lowest}, {highest}}}> {{ y = Gather(x, i) }}")
      for lowest, highest in ((-4, 1), (1, 3))),
    *((version, "C1: axis 1, rank 1", "(float[3] x, float[3] s) => (uint8[] y) { y = QuantizeLinear(x, s) }")
      for version in (13, 20)),
    *((version, "C1: axis 1, rank 1", "(int8[3] x, float[3] s) => (float[] y) { y = DequantizeLinear(x, s) }")
      for version in (13, 21)),
    (13, "C2: indices from 3 to 3, dimension 3",
     "(float[3] x, int64[1] u) => (float[] y) <int64[1] i = {3}> { j = Concat<axis=0>(i, u) y = Gather(x, j) }"),
    (13, "C2: the number of rows is 2 and 1",
     "(float[2,3] x, float[4] z) => (float[] y) { y = ai.onnx.ml.FeatureVectorizer(x, z) }"),
    (13, "C2: 3 coefficients for 2 support vectors", f"{SUPPORTED} coefficients=[1.0, 2.0, 3.0]>(x) }}"),
    (13, "C2: 1 coefficients for 2 support vectors", f"{SUPPORTED} coefficients=[1.0]>(x) }}"),
    (13, "C2: 5 support_vectors for 2 rows of 2",
     f"{SUPPORTED.replace('4.0]', '4.0, 5.0]')} coefficients=[1.0, 2.0]>(x) }}"),
    (13, "C2: 3 coefficients for 1 rows of 2", f"{SUPPORTED.replace('=2', '=0')} coefficients=[1.0, 2.0, 3.0]>(x) }}"),
    (13, "C2: 1 coefficients for 1 rows of 3",
     "(float[2,3] x) => (float[] y) { y = ai.onnx.ml.LinearRegressor<coefficients=[1.0]>(x) }"),
    (13, "C2: 1 coefficients for 2 rows of 2", f"{ROWS} SVMClassifier<{LABELS}, coefficients=[1.0], rho=[1.0]>(x) }}"),
    (13, "C2: 4 coefficients, 3 features",
     f"(float[2,3] x) => (float[] y, float[] z) {{ y, z = {LINEAR}=[1.0, 2.0, 3.0, 4.0]>(x) }}"),
    (13, "C2: 0 coefficients, 3 features",
     f"(float[2,3] x) => (float[] y, float[] z) {{ y, z = {LINEAR}: floats = []>(x) }}"),
    (13, "C2: 1 coefficients, 0 features",
     f"(float[2,0] x) => (float[] y, float[] z) {{ y, z = {LINEAR}=[1.0]>(x) }}"),
    (13, "C5: 3 rows of coefficients for 2 labels",
     f"(float[2,1] x) => (float[] y, float[] z) {{ y, z = {LINEAR}=[1.0, 2.0, 3.0]>(x) }}"),
    (23, "C3: rotary_embedding_dim 3", """(float[1,2,3,8] x, float[1,3,2] c) => (float[] y) {
         y = RotaryEmbedding <rotary_embedding_dim = 3> (x, c, c) }"""),
    (13, "C3: shapes [1] and [1, 1]",
     "(float[4] x, float[1,1] s, uint8[1] z) => (uint8[] y) { y = QuantizeLinear(x, s, z) }"),
    (13, "C3: shapes [] and [4]", "(float[4] x, float[4] s, uint8 z) => (uint8[] y) { y = QuantizeLinear(x, s, z) }"),
    (14, "C3: by r_rows, hidden_size is 5 and 6",
     "(float[3,2,4] x, float[1,20,4] w, float[1,24,?] r) => (float[] y) { y = LSTM(x, w, r) }"),
    (9, "C4: a pool of strings for X of int64",
     f'(int64[2] x) => (float[] y) {{ y = {GRAMS}, pool_strings=["a"]>(x) }}'),
    *((13, why, f"(int64[2] x) => (float[] y) {{ y = {GRAMS.replace(stated, '')}, pool_int64s=[1]>(x) }}")
      for why, stated in (("C5: they begin at [], 1 elements in all", ", ngram_counts=[0]"),
                          ("C6: 1 n-grams, 0 coordinates", ", ngram_indexes=[0]"))),
    (9, "C4: a pool of numbers for X of string",
     f"(string[2] x) => (float[] y) {{ y = {GRAMS}, pool_int64s=[1]>(x) }}"),
    (18, "C5: 0 scales and 0 sizes", "(float[1,4] x) => (float[] y) { y = Resize(x) }"),
    (18, "C5: 0 scales and 0 sizes", "(float x) => (float[] y) { y = Resize(x) }"),
    (18, "C1: 1 for 2 axes", "(float[2,3] x) => (float[] y) <int64[1] s = {4}> { y = Resize(x, , , s) }"),
    (18, "C1: scales has rank 2", "(float[1,4] x, float[1,2] s) => (float[] y) { y = Resize(x, , s) }"),
    (18, "a size of 4 times 1.7014118346046923e+38 is too large",
     "(float[1,4] x) => (float[] y) <float[2] s = {1, 1.7014118346046923e38}> { y = Resize(x, , s) }"),
    (9, "output 0 would have a size beyond 64 bits: [9223372036854775811]",
     "(float[4] x) => (float[] y) { y = Pad<pads=[0, 9223372036854775807]>(x) }"),
    (15, "with training_mode 0, Y is the only output",
     "(float[2,3] x, float[3] s) => (float[] y, float[] z) { y, z, v = BatchNormalization(x, s, s, s, s) }"),
    (13, "C1: ranks 0 and 2", "(uint8 a, uint8[2,3] b) => (int32[] y) { y = MatMulInteger(a, b) }"),
    (13, "C2: shape(a_zero_point) = [3], and the product is [2, 4]",
     "(uint8[2,3] a, uint8[3,4] b, uint8[3] z) => (int32[] y) { y = MatMulInteger(a, b, z) }"),
    (13, "C3: shape(b_zero_point) = [3], and the product is [2, 4]",
     "(uint8[2,3] a, uint8[3,4] b, uint8 o, uint8[3] z) => (int32[] y) { y = MatMulInteger(a, b, o, z) }"),
    (13, "C1: ranks 2 and 0", "(uint8[2,3] a, uint8 b) => (int32[] y) { y = MatMulInteger(a, b) }"),
    (13, "C2: M has the shape [2]", LOOP.format("int64[2] m, bool c")),
    (13, "C1: the condition has the shape [2]", LOOP.format("int64 m, bool[2] c")),
    *((13, "C1: 2 replacements for 3 features",
       f"({element}[2,3] x) => ({element}[] y) {{ y = ai.onnx.ml.Imputer<imputed_value_{values}>(x) }}")
      for element, values in (("float", "floats=[1.0, 2.0]"), ("double", "floats=[1.0, 2.0]"),
                              ("int64", "int64s=[1, 2]"))),
    (18, "C4: mode 'linear' of string",
     '(string[1,1] x) => (string[] y) <int64[2] s = {1, 1}> { y = Resize<mode="linear">(x, , , s) }'),
]  # fmt: skip


@pytest.mark.parametrize(("version", "why", "graph"), BROKEN)
def test_a_broken_constraint_is_reported(version, why, graph):
    families = f'"ai.onnx.ml": {5 if version == 20 else 3}, {DOMAINS}'
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {version}, {families}]> g {graph}')
    assert [(each.code, each.why) for each in opset.infer(model).findings] == [("I201", why)]


@pytest.mark.parametrize(
    ("version", "outputs", "lengths", "why"),
    [
        (25, "y", "n", []), (25, "y, k, v", "", []), (25, "y, k, v", "n", ["C10: nonpad_kv_seqlen beside a cache"]),
        (25, "y, k", "", ["C10: only one of the present outputs is named"]), (24, "y, k, v", "n", []),
        (25, "y, , v", "", ["C10: only one of the present outputs is named"]), (24, "y, k", "", []),
    ],
)  # fmt: skip
def test_attention_has_a_cache_or_lengths_and_a_whole_cache(version, outputs, lengths, why):
    graph = f"(float[1,2,3,4] q, int64[1] n) => (float[] y) {{ {outputs} = Attention(q, q, q, , , , {lengths}) }}"
    model = onnx.parser.parse_model(f'<ir_version: 11, opset_import: ["" : {version}]> g {graph}')
    assert [each.why for each in opset.infer(model, strict=True).findings] == why


@pytest.mark.parametrize("dims", [[-1], [1] * (MAX_RANK + 1)])
def test_a_table_of_no_shape_is_reported(dims):
    graph = """(float[2] x) => (float[] y) {
        y = ai.onnx.ml.LabelEncoder<keys_tensor = float[1] {1}, values_floats = [1.0]> (x) }"""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13, "ai.onnx.ml": 4]> g {graph}')
    model.graph.node[0].attribute[0].t.dims[:] = dims
    why = f"a tensor of rank {len(dims)}, or with a size below 0"
    assert [(each.code, each.why) for each in opset.infer(model).findings] == [("I201", why)]


@pytest.mark.parametrize(
    ("version", "graph", "types"),
    [
        (11, "(float x, int64 k) => (v, i) { v, i = TopK(x, k) }", ["float", "int64"]),
        (11, "(double[4] x) => (u, f, i, c) { u, f, i, c = Unique<axis=7>(x) }", ["double", "int64", "int64", "int64"]),
        (13, "(float16[4,3] x) => (y, m) { y, m = Dropout(x, x) }", ["float16", "bool"]),
        (12, "(double x) => (y, i) { y, i = MaxPool<kernel_shape=[2]>(x) }", ["double", "int64"]),
        (13, "(int8[2,3] x) => (y, z) { y, z = Split<axis=9>(x) }", ["int8", "int8"]),
        (13, "(float[2,3] x) => (y, z) { y, z = ai.onnx.ml.SVMClassifier<classlabels_ints=[1]>(x) }", [None, "float"]),
        (17, "(float16[2,4] x, float16[3] s) => (y, m, v) { y, m, v = LayerNormalization(x, s) }",
         ["float16", None, None]),
        (13, "(float[2] x, float[3] z) => (y) { y = Less(x, z) }", ["bool"]),
    ],
)  # fmt: skip
def test_outputs_of_a_broken_node_have_the_types_that_the_signature_shows(version, graph, types):
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {version}, "ai.onnx.ml": 3]> g {graph}')
    found = opset.infer(model)
    assert [each.code for each in found.findings] == ["I201"]
    shown = [found.type(each.name) for each in model.graph.output]
    assert [None if each is None else str(each) for each in shown] == types
