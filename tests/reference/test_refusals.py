"""What kernels refuse beside what operators declare: each refusal by one node, with its constraint and its words."""

import numpy as np
import pytest
from onnx import helper, numpy_helper, parser

from opset import ReferenceEvaluator, RunError

ML = "ai.onnx.ml"
ROWS = np.array([[1, 2], [-1, 0.5]], np.float32)
FEATURE = np.array([[[1.0]]], np.float32)
HEADS = np.zeros((1, 1, 2, 2), np.float32)
BYTES = np.ones((1, 1, 3), np.uint8)
TREES = {
    "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
    "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.5, 0.0, 0.0],
    "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
    "target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0],
    "n_targets": 1,
}  # fmt: skip
FOREST = {
    "n_targets": 2, "nodes_featureids": [0, 1], "nodes_modes": np.array([0, 1], np.uint8),
    "nodes_splits": np.array([0.5, 0], np.float32), "nodes_truenodeids": [1, 0], "nodes_trueleafs": [0, 1],
    "nodes_falsenodeids": [2, 1], "nodes_falseleafs": [1, 1], "leaf_targetids": [0, 1, 0],
    "leaf_weights": np.array([1, 2, 3], np.float32), "tree_roots": [0],
}  # fmt: skip
MEMBERS = {**FOREST, "nodes_modes": np.array([6, 6], np.uint8)}
MACHINE = {
    "classlabels_ints": [0, 1],
    "coefficients": [0.5, -0.5, 0.25],
    "rho": [0.125],
    "support_vectors": [1.0, 0.0, 0.0, 1.0, 1.0, 1.0],
    "vectors_per_class": [2, 1],
}
SUM = parser.parse_graph("b (float s, float x) => (float t, float u) { t = Add (s, x)  u = Identity (t) }")
ALONE = parser.parse_graph("b () => (float y) { y = Constant <value = float {1.0}> () }")
TAKING = parser.parse_graph("b (float x) => (float y) { y = Identity (x) }")
STATE, BATCH = np.zeros(1, np.float32), np.ones((1, 2), np.float32)
NO_TENSOR = parser.parse_graph("b (int64 i, bool c) => (bool d, seq(float) u) { d = Not (c)  u = SequenceEmpty () }")

NO_CONDITION = parser.parse_graph(
    "b (int64 i, bool c) => (seq(float) d, int64 u) { d = SequenceEmpty ()  u = Identity (i) }"
)


def of(operator, version, label, word, *inputs, outputs=1, **attributes):
    """Return a row of the table; its name is the operator and the word."""
    return pytest.param(operator, version, label, word, inputs, outputs, attributes, id=f"{operator}-{word}")


def computed(operator, version, inputs, outputs, attributes):
    """Return what a node computes where the standard alone says what is right."""
    of_ml = ("Imputer", "LabelEncoder", "LinearRegressor", "OneHotEncoder", "SVM", "Tree")
    domain = ML if operator.startswith(of_ml) else ""
    given = {f"x{number}": value for number, value in enumerate(inputs) if value is not None}
    names = [f"x{number}" if value is not None else "" for number, value in enumerate(inputs)]
    arrays = {
        name: numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        for name, value in attributes.items()
        if not (isinstance(value, list) and not value)
    }
    results = [f"y{number}" for number in range(outputs)] if isinstance(outputs, int) else outputs
    node = helper.make_node(operator, names, results, domain=domain, **arrays)
    declared = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
        for name, value in given.items()
    ]
    graph = helper.make_graph([node], "g", declared, [*map(helper.make_empty_tensor_value_info, filter(None, results))])
    imports = [helper.make_opsetid(name, version if name == domain else 21) for name in {"", domain}]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    return ReferenceEvaluator(model, strict=True).run(None, given)


def nan(count):
    return np.array([1.5, np.nan] * count, np.float32)


@pytest.mark.parametrize(
    ("operator", "version", "label", "word", "inputs", "outputs", "attributes"),
    [
        of("Conv", 11, "C2", "window (0, 2)", np.zeros((1, 1, 4, 4), np.float32), np.zeros((1, 1, 0, 2), np.float32)),
        of("Add", 6, "C1", "the shapes are", np.zeros((2, 3, 4)), np.zeros((3, 2)), broadcast=1, axis=1),
        of("Add", 6, "C1", "[3] and [1, 1]", np.zeros(3), np.zeros((1, 1)), broadcast=1),
        of("Imputer", 1, "C1", "0 replacements for 2 features", ROWS),
        of("LabelEncoder", 4, "C4", "default_tensor of 2 elements", np.array([1]), keys_int64s=[1],
           values_tensor=np.array([5]), default_tensor=np.array([1, 2])),
        of("AffineGrid", 20, "C2", "theta of", np.zeros((2, 2, 3), np.float32), np.array([1, 1, 2, 2])),
        of("Attention", 25, "C10", "beside a cache", HEADS, HEADS, HEADS, None, None, None, np.array([1]), outputs=3),
        of("Attention", 25, "C10", "", HEADS, HEADS, HEADS, outputs=["y", "", "values"]),
        of("RotaryEmbedding", 23, "C5", "shape(cos_cache) = [2, 1]", np.ones((1, 1, 1, 2), np.float32),
           *[np.ones((2, 1), np.float32)] * 2, np.array([[-1]])),
        of("RotaryEmbedding", 23, "C5", "shape(cos_cache) = [2, 1]", np.ones((1, 1, 1, 2), np.float32),
           *[np.ones((2, 1), np.float32)] * 2, np.array([[2]])),
        of("BatchNormalization", 1, "", "with spatial 0", HEADS, *[np.ones(1, np.float32)] * 4, outputs=5,
           spatial=0, consumed_inputs=[0, 0, 0, 1, 1]),
        of("Conv", 22, "C2", "window (0,)", FEATURE, np.zeros((1, 1, 0), np.float32)),
        of("ConvInteger", 10, "C6", "shape(w) = [1, 1, 0]", BYTES, np.ones((1, 1, 0), np.uint8)),
        of("LinearRegressor", 1, "C2", "0 coefficients for 0 rows", ROWS, targets=0),
        of("LinearRegressor", 1, "C2", "2 intercepts for 1 rows", ROWS, coefficients=[1.0, 2.0], intercepts=[1.0, 2.0]),
        of("Loop", 21, "C5", "no tensor", np.array(2), body=NO_TENSOR),
        of("Loop", 21, "C1", "not a single boolean", np.array(2), np.array(True), body=NO_CONDITION),
        of("Loop", 21, "C3", "0 carried values", np.array(2), outputs=2, body=NO_TENSOR),
        of("Loop", 21, "C3", "a body of 3 inputs", np.array(2), body=parser.parse_graph(
            "b (int64 i, bool c, float h) => (bool d, float u) <bool k = {1}> { d = And (c, k)  u = Neg (h) }")),
        of("MaxUnpool", 22, "C4", "output_shape (2, 1, 1)", FEATURE, np.zeros((1, 1, 1), np.int64),
           np.array([2, 1, 1]), kernel_shape=[1]),
        of("MaxUnpool", 22, "C4", "would be of (1, 1, -1)", FEATURE, np.zeros((1, 1, 1), np.int64),
           kernel_shape=[1], pads=[1, 1]),
        of("OneHotEncoder", 1, "C1", "1 integers and 0 strings", np.array(["a"], object), cats_int64s=[1]),
        of("Resize", 19, "C6", "roi [0.0, 0.0, nan, 1.0], 2 axes", np.ones((2, 2), np.float32),
           np.array([0, 0, np.nan, 1], np.float32), None, np.array([2, 2]),
           coordinate_transformation_mode="tf_crop_and_resize"),
        of("SVMClassifier", 1, "C2", "vectors of 2 classes, and 3 labels", ROWS,
           **{**MACHINE, "classlabels_ints": [0, 1, 2]}),
        of("SVMClassifier", 1, "C2", "vectors of 3 classes", ROWS,
           **{**MACHINE, "classlabels_ints": [0, 1, 2], "vectors_per_class": [2, 2, -1]}),
        of("SVMClassifier", 1, "C2", "2 coefficients", ROWS, **{**MACHINE, "coefficients": [0.5, -0.5]}),
        of("SVMClassifier", 1, "C2", "0 constants", ROWS, **{**MACHINE, "rho": []}),
        of("SVMClassifier", 1, "C2", "1 prob_a and 0 prob_b", ROWS, **MACHINE, prob_a=[-1.5]),
        *(of("SVMClassifier", 1, "C2", f"{a} prob_a and {b} prob_b for 3 pairs", ROWS, classlabels_ints=[0, 1, 2],
             coefficients=[1.0] * 6, rho=[0.0] * 3, support_vectors=[1.0] * 6, vectors_per_class=[1, 1, 1],
             prob_a=[1.0] * a, prob_b=[1.0] * b) for a, b in ((1, 2), (3, 2), (2, 3))),
        of("SVMClassifier", 1, "C2", "3 coefficients for 2 classes of 2 features", ROWS, classlabels_ints=[0, 1],
           coefficients=[1.0, 2.0, 3.0]),
        *(
            of("If", 21, "C3", f"they have {taken} and {1 - taken}", np.array(True),
               then_branch=[ALONE, TAKING][taken], else_branch=[TAKING, ALONE][taken])
            for taken in (0, 1)
        ),
        of("MaxPool", 22, "C4", "a window of 4 over 3", np.zeros((1, 1, 3), np.float32), kernel_shape=[4], strides=[2]),
        of("MaxPool", 22, "C4", "a window of 5 over 3", np.zeros((1, 1, 3), np.float32), kernel_shape=[5],
           strides=[2], ceil_mode=1),
        of("Reshape", 21, "", "there are 65 sizes", np.ones(1, np.float32), np.ones(65, np.int64)),
        of("Scan", 10, "C2", "axis is negative", np.zeros(2, np.float32), np.ones((2, 2), np.float32),
           num_scan_inputs=1, body=SUM, outputs=2, scan_output_axes=[-1]),
        of("Scan", 10, "C2", "an axis is negative", np.zeros(2, np.float32), np.ones((2, 2), np.float32),
           num_scan_inputs=1, body=SUM, outputs=2, scan_input_axes=[-1], scan_output_axes=[0]),
        of("Scan", 8, "C3", "[1, 0] for 1", None, np.zeros(1, np.float32), BATCH, num_scan_inputs=1, body=SUM,
           directions=[1, 0]),
        of("Scan", 8, "C4", "lengths [2, 3]", None, BATCH, np.ones((1, 3), np.float32), num_scan_inputs=2, body=SUM),
        of("Scan", 8, "C7", "a rank is too low", None, STATE, STATE, num_scan_inputs=1, body=SUM, outputs=2),
        of("Scan", 8, "C7", "batches of [2, 1]", None, np.zeros(2, np.float32), BATCH, num_scan_inputs=1, body=SUM,
           outputs=2),
        of("Shrink", 9, "", "standard does not define", np.ones(2, np.int8), bias=np.inf),
        of("Split", 18, "C2", "num_outputs 3, 2 outputs", np.arange(4), num_outputs=3, outputs=2),
        of("Split", 13, "C2", "1 parts, 2 outputs", np.arange(4), np.array([4]), outputs=2),
        of("TensorScatter", 24, "C2", "axis 1", np.zeros((1, 2, 3), np.float32), np.zeros((1, 1, 4), np.float32),
           axis=1),
        *(of("TreeEnsemble", 5, "C2", word, ROWS, **{**FOREST, **changed}) for word, changed in [
            ("or are empty", {"nodes_truenodeids": [1]}),
            ("different lengths", {"leaf_weights": np.ones(2, np.float32)}),
            ("tree_roots holds 2 to 2", {"tree_roots": [2]}),
            ("leaf_targetids holds 0 to 2, and there are 2", {"leaf_targetids": [0, 2, 0]}),
            ("leaf_targetids holds -1 to 1", {"leaf_targetids": [0, 1, -1]}),
            ("nodes_modes holds 7", {"nodes_modes": np.array([0, 7], np.uint8)}),
        ]),
        of("TreeEnsemble", 5, "C2", "0 sets for 2 nodes", ROWS, **MEMBERS),
        of("TreeEnsemble", 5, "C2", "1 sets for 2 nodes", ROWS, **MEMBERS, membership_values=nan(1)),
        of("TreeEnsemble", 5, "C2", "2 sets for 2 nodes", ROWS, **MEMBERS, membership_values=nan(3)[:5]),
        *(of("TreeEnsembleRegressor", 3, "C2", word, ROWS, **{**TREES, **changed}) for word, changed in [
            ("the attributes nodes_* have different lengths", {"nodes_treeids": [0, 0]}),
            ("or are empty", {name: [] for name in TREES if name.startswith("nodes_")}),
            ("votes have different lengths", {"target_ids": [0]}),
            ("the same id", {"nodes_nodeids": [0, 1, 1]}),
            ("one value for each node", {"nodes_values": [0.5]}),
            ("one weight for each vote", {"target_weights": [1.0]}),
            ("votes for 0 to 1, and there are 1", {"target_ids": [0, 1]}),
            ("votes for -1 to 0", {"target_ids": [0, -1]}),
        ]),
    ],
)  # fmt: skip
def test_a_kernel_refuses(operator, version, label, word, inputs, outputs, attributes):
    with pytest.raises(RunError) as caught:
        computed(operator, version, inputs, outputs, attributes)
    (finding,) = caught.value.findings
    assert finding.code == ("R203" if label else "R204")
    assert finding.why.startswith(f"{label}: " if label else "") and word in finding.why


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        ("(t) { t = Cast <to = 11> (s) }", "float64[1, 1, 2, 2] for float32[1, 1, 2, 2]"),
        ("(t) { t = Flatten (s) }", "float32[1, 4] for float32[1, 1, 2, 2]"),
        ("(t, u) { t = Neg (s)  u = Neg (s) }", "2 outputs for float32[1, 1, 2, 2]"),
    ],
)
def test_a_graph_that_edits_scores_returns_one_tensor_like_them(edit, word):
    model = parser.parse_model(f"""<ir_version: 10, opset_import: ["": 21, "ai.onnx.preview": 1]>
        g (float[1,1,2,2] q) => (float[1,1,2,2] y) {{
        y = ai.onnx.preview.FlexAttention <score_mod = m (s) => {edit}> (q, q, q) }}""")
    with pytest.raises(RunError) as caught:
        ReferenceEvaluator(model).run(None, {"q": HEADS})
    assert caught.value.why.startswith("C5: ") and word in caught.value.why


def test_a_cache_is_named_whole_or_not_at_all():
    """What version 25 of Attention allows beside what it refuses."""
    assert [each.shape for each in computed("Attention", 25, (HEADS,) * 3, 3, {})] == [HEADS.shape] * 3
    assert len(computed("Attention", 25, (HEADS, HEADS, HEADS, None, None, None, np.array([1])), 1, {})) == 1


def test_elements_that_a_constraint_reads_are_checked_in_every_run():
    node = helper.make_node("Tile", ["x", "n"], ["y"])
    graph = helper.make_graph([node], "g", [helper.make_empty_tensor_value_info(each) for each in "xn"], [
        helper.make_empty_tensor_value_info("y")])  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    evaluator = ReferenceEvaluator(model)
    assert evaluator.run(None, {"x": ROWS, "n": np.array([1, 2])})[0].shape == (2, 4)
    with pytest.raises(RunError, match="C2"):
        evaluator.run(None, {"x": ROWS, "n": np.array([1, -2])})
    assert evaluator.run(None, {"x": ROWS, "n": np.array([2, 0])})[0].shape == (4, 0)
