"""No input makes a kernel take memory that it has not announced, or time without looking at the clock."""

import itertools
import time
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

from opset import Limits, ReferenceEvaluator, RunError
from opset.model import proto as pb
from opset.model.text.syntax import parse_model
from opset.reference.engine import limits
from opset.reference.engine.context import StepContext
from opset.reference.kernels import cast
from opset.reference.numerics import products
from opset.reference.numerics.memory import compact, nbytes
from opset.schemas.constraints.violation import Violation
from tests.bounds import lines
from tests.reference.graphs import results

ML = "ai.onnx.ml"
HUGE = 10**9
MEGABYTE = 1 << 20
ATTRIBUTES = {int: (2, "i"), float: (1, "f"), str: (3, "s")}
LISTS = {int: (7, "ints"), float: (6, "floats"), str: (8, "strings")}


def empty(*shape):
    """Return a tensor without elements, which takes no memory whatever its other dimensions are."""
    return np.zeros(shape, np.float32)


def computed(operator, *inputs, version=23, domain="", outputs=1, **attributes):
    """Return the outputs of one node, which may take a megabyte beside its inputs, and a minute."""
    model = pb.ModelProto(ir_version=10)
    model.opset_import.add(domain=domain, version=version)
    node = model.graph.node.add(op_type=operator, domain=domain)
    for place, value in enumerate(inputs):
        node.input.append("" if value is None else f"x{place}")
        if value is not None:
            model.graph.input.add(name=f"x{place}")
    for place in range(outputs):
        node.output.append(f"y{place}")
        model.graph.output.add(name=f"y{place}")
    for name, value in attributes.items():
        listed = isinstance(value, list)
        number, field = (LISTS if listed else ATTRIBUTES)[type(value[0] if listed else value)]
        attribute = node.attribute.add(name=name, type=number)
        encoded = [each.encode() if isinstance(each, str) else each for each in (value if listed else [value])]
        if listed:
            getattr(attribute, field).extend(encoded)
        else:
            setattr(attribute, field, encoded[0])
    feeds = {f"x{place}": value for place, value in enumerate(inputs) if value is not None}
    most = MEGABYTE + sum(map(nbytes, feeds.values()))
    return ReferenceEvaluator(model, limits=Limits(max_bytes=most, timeout=60)).run(None, feeds)


def refused(code, *arguments, **options):
    """Return the text of the error that a node ends with."""
    with pytest.raises(RunError) as caught:
        computed(*arguments, **options)
    assert caught.value.code == code
    return str(caught.value)


# -- memory --

REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
LARGER_THAN_EMPTY_INPUTS = [
    *((f"Reduce{each}", 11, (empty(HUGE, 0),), {"axes": [1]}) for each in REDUCTIONS),
    *((f"Global{each}Pool", 23, (empty(HUGE, 1, 0),), {}) for each in ("Average", "Max", "Lp")),
    ("LpNormalization", 22, (empty(HUGE, 0),), {}),
    ("MeanVarianceNormalization", 13, (empty(HUGE, 0),), {"axes": [1]}),
    ("InstanceNormalization", 22, (empty(HUGE, 3, 0), empty(3), empty(3)), {}),
    ("GroupNormalization", 21, (empty(1, 0, 2), empty(0), empty(0)), {"num_groups": 2**31}),
    ("LayerNormalization", 17, (empty(HUGE, 0), empty(0)), {}),
    ("RMSNormalization", 23, (empty(HUGE, 0), empty(0)), {}),
    ("Det", 22, (empty(HUGE, 0, 0),), {}),
    ("Einsum", 12, (empty(HUGE, 0),), {"equation": "ij->i"}),
    ("DFT", 20, (empty(HUGE, 0, 1), np.array(5)), {}),
    ("RNN", 22, (empty(0, HUGE, 1), empty(1, 1, 1), empty(1, 1, 1)), {"hidden_size": 1}),
    ("Unique", 11, (empty(HUGE, 0),), {"axis": 0}),
    ("AveragePool", 22, (empty(0, 1, HUGE),), {"kernel_shape": [2]}),
    ("FlexAttention", 1, (empty(1, 1, 10**5, 1), empty(1, 1, 0, 1), empty(1, 1, 0, HUGE)), {}),
    ("Attention", 23, (empty(1, 1, 10**5, 1), empty(1, 1, 0, 1), empty(1, 1, 0, HUGE)), {}),
    ("LinearRegressor", 1, (empty(HUGE, 0),), {}),
    ("SVMClassifier", 1, (empty(HUGE, 0),), {"classlabels_ints": [0, 1], "rho": [0.0]}),
    ("TensorScatter", 24, (empty(HUGE, 3, 0), empty(HUGE, 2, 0)), {"axis": 1}),
    ("OneHot", 11, (empty(0), np.array(HUGE), np.zeros(2)), {}),
]


def domain_of(operator):
    return {"LinearRegressor": ML, "SVMClassifier": ML, "FlexAttention": "ai.onnx.preview"}.get(operator, "")


@pytest.mark.parametrize(("operator", "version", "inputs", "attributes"), LARGER_THAN_EMPTY_INPUTS)
def test_what_comes_of_tensors_without_elements_is_announced(operator, version, inputs, attributes):
    said = refused("R302", operator, *inputs, version=version, domain=domain_of(operator), **attributes)
    assert "it needs" in said


TEXT = np.full(10_000, "x" * 1_000, object)
LARGER_THAN_INPUTS = [
    ("ArrayFeatureExtractor", 1, ML, (np.zeros((1000, 1), np.float32), np.zeros(1000, np.int64)), {}),
    ("FeatureVectorizer", 1, ML, (np.zeros((1, 1), np.float32),), {"inputdimensions": [2**40]}),
    ("LinearRegressor", 1, ML, (empty(5, 0),), {"targets": 2**40}),
    ("ZipMap", 1, ML, (np.zeros((1000, 100), np.float32),), {"classlabels_int64s": [*range(100)]}),
    ("StringNormalizer", 10, "", (TEXT,), {"case_change_action": "UPPER"}),
    ("MaxRoiPool", 22, "", (np.zeros((1, 1, 1, 1), np.float32), empty(1, 5)), {"pooled_shape": [10_000, 1]}),
    ("ConstantOfShape", 23, "", (np.array([2**62] * 60),), {}),
    ("NonMaxSuppression", 11, "", (empty(1, 1, 4), np.ones((1, 9000, 1), np.float32), np.array(1)), {}),
    ("Pad", 13, "", (np.zeros(1, np.float32), np.array([0, 10**9])), {"mode": "wrap"}),
    ("ImageDecoder", 20, "", (np.frombuffer(b"P6 3000 3000 255\n", np.uint8),), {}),
]


@pytest.mark.parametrize(("operator", "version", "domain", "inputs", "attributes"), LARGER_THAN_INPUTS)
def test_what_is_much_larger_than_the_inputs_is_announced(operator, version, domain, inputs, attributes):
    assert "it needs" in refused("R302", operator, *inputs, version=version, domain=domain, **attributes)


def test_an_image_that_its_decoder_takes_for_a_bomb_is_refused():
    said = refused("R302", "ImageDecoder", np.frombuffer(b"P6 30000 30000 255\n", np.uint8))
    assert "900000000 pixels" in said and "use a smaller image" in said


ROTATING = """
<ir_version: 8, opset_import: ["": 21]> g (int64 n, bool c, float[1] z) => (float[n] a, float[n] b, float[n] d) {
  a, b, d = Loop (n, c, z, z, z) <body = body (int64 i, bool go, float[n] p, float[n] q, float[n] r)
    => (bool again, float[n] new, float[n] p, float[n] q) {
      again = Identity (go)
      size = Constant <value_ints = [100000]> ()
      new = ConstantOfShape (size)
  }>
}
"""


@pytest.mark.parametrize(("most", "fits"), [(1_000_000, False), (1_500_000, True)])
def test_values_that_iterations_hand_on_count(most, fits):
    """Each iteration makes 400,000 bytes and hands on what the two before it made."""
    evaluator = ReferenceEvaluator(parse_model(ROTATING), limits=Limits(max_bytes=most))
    feeds = {"n": np.array(3), "c": np.array(True), "z": np.zeros(1, np.float32)}
    if fits:
        assert [each.shape for each in evaluator.run(None, feeds)] == [(100_000,)] * 3
        return
    with pytest.raises(RunError) as caught:
        evaluator.run(None, feeds)
    assert caught.value.code == "R302"


def full(*shape, value=0.5):
    return np.full(shape, value, np.float32)


SPOT = full(1, 8, 60, 60), np.array([[0, 0, 50, 50]], np.float32), np.array([0])
ANNOUNCED = [
    ("Cast", 21, (full(50_000).astype(np.float16),), {"to": 1}),
    ("Cast", 21, (full(50_000),), {"to": 16}),
    ("MaxPool", 22, (full(1, 1, 200, 200),), {"kernel_shape": [2, 2]}, 2),
    ("DeformConv", 22, (full(1, 4, 40, 40), full(4, 4, 3, 3), full(1, 18, 38, 38)), {}),
    ("RoiAlign", 22, SPOT, {"output_height": 40, "output_width": 40}),
    ("RoiAlign", 22, SPOT, {"output_height": 40, "output_width": 40, "mode": "max"}),
    ("RNN", 22, (full(200, 4, 8), full(1, 64, 8), full(1, 64, 64)), {"hidden_size": 64}),
    ("MatMul", 13, (full(300, 2), full(2, 300)), {}),
    ("GridSample", 20, (full(1, 4, 8, 8), full(1, 100, 100, 2)), {"mode": "cubic"}),
    ("Attention", 24, (full(1, 2, 100, 8),) * 3, {}),
    ("Resize", 19, (full(1, 1, 50, 50), None, np.array([1, 1, 8, 8], np.float32)), {"mode": "cubic"}),
    ("TopK", 11, (full(100, 300), np.array([50])), {}, 2),
    ("OneHot", 11, (np.zeros(1000, np.int64), np.array(100), np.zeros(2)), {}),
    ("Conv", 22, (full(1, 4, 60, 60), full(8, 4, 3, 3)), {}),
    ("LRN", 13, (full(1, 16, 60, 60),), {"size": 5}),
    ("Unique", 11, (np.arange(20_000) % 9,), {}, 4),
]


@pytest.mark.parametrize("row", ANNOUNCED, ids=lambda row: row[0])
def test_what_is_announced_is_about_what_is_taken(row, monkeypatch):
    """Memory beside the inputs, as Python counts it, is within a small factor of what the kernel reserves."""
    operator, version, inputs, attributes, outputs = (*row, 1)[:5]
    announced = []
    reserve = StepContext.reserve

    def counted(self, count, dtype=np.float32):
        announced.append(int(count) * np.dtype(dtype).itemsize)
        reserve(self, count, dtype)

    monkeypatch.setattr(StepContext, "reserve", counted)
    monkeypatch.setattr("tests.reference.test_limits.MEGABYTE", 4 * MEGABYTE)
    computed(operator, *inputs, version=version, outputs=outputs, **attributes)  # imports take memory, too
    announced.clear()
    tracemalloc.start()
    computed(operator, *inputs, version=version, outputs=outputs, **attributes)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak / 5 <= sum(announced) <= 7 * peak


def test_a_linear_machine_needs_no_matrix_of_its_features():
    x = np.ones((2, 20_000), np.float32)
    weights = [1.0] * 20_000
    (scores,) = computed("SVMRegressor", x, version=1, domain=ML, coefficients=weights, rho=[0.5])
    assert scores.tolist() == [[20_000.5], [20_000.5]]


def test_functions_of_many_vectors_are_worked_on_in_blocks(monkeypatch):
    monkeypatch.setattr("opset.reference.kernels.ml_svm.BLOCK", 10_000)
    x, ones = np.arange(1000, dtype=np.float32)[:, None], [1.0] * 1000
    machine = {"n_supports": 1000, "coefficients": ones, "support_vectors": ones, "rho": [0.0]}
    (scores,) = computed("SVMRegressor", x, version=1, domain=ML, **machine)
    assert np.array_equal(scores, 1000 * x)


LOOP = """Loop (n, c) <body = body (int64 i, bool go) => (bool again, float[K] o) {
    again = Identity (go)  k = Constant <value_ints = [50000]> ()
    o = ConstantOfShape <value = float[1] {1}> (k) }>"""


@pytest.mark.parametrize("node", [LOOP, "local.F (n, c)"])
def test_what_a_loop_held_is_free_after_it(node):
    """Five loops one after the other, each of which holds 400,000 bytes twice: iterations, and what they stack to."""
    steps = "".join(f"y{i} = {node}  m{i} = ReduceMax <keepdims = 0> (y{i})  " for i in range(5))
    model = parse_model(f"""<ir_version: 10, opset_import: ["": 21, "local": 1]> g (int64 n, bool c) => (float s) {{
        {steps} s = Sum (m0, m1, m2, m3, m4) }}
        <domain: "local", opset_import: ["": 21]> F (n, c) => (b) {{ b = {LOOP} }}""")
    feeds = {"n": np.array(2), "c": np.array(True)}
    assert ReferenceEvaluator(model, limits=Limits(max_bytes=1_300_000)).run(None, feeds) == [5]
    with pytest.raises(RunError, match="too much memory"):
        ReferenceEvaluator(model, limits=Limits(max_bytes=700_000)).run(None, feeds)


def test_a_convolution_is_worked_on_in_blocks():
    """The columns of all windows would take 46 MB at once."""
    x, w = full(1, 64, 20_000), full(1, 64, 9)
    model = parse_model("""<ir_version: 8, opset_import: ["": 11]>
        g (float[1, 64, 20000] x, float[1, 64, 9] w) => (float[1, 1, 19992] y) { y = Conv (x, w) }""")
    (y,) = ReferenceEvaluator(model, limits=Limits(max_bytes=x.nbytes + 10 * MEGABYTE)).run(None, {"x": x, "w": w})
    assert y.shape == (1, 1, 19992) and (y == 144).all()


def test_votes_of_a_leaf_are_worked_on_in_blocks():
    """A leaf with many votes, which many rows reach."""
    votes, rows = 2_000, 4_000
    nodes = {
        "nodes_treeids": [0] * 3,
        "nodes_nodeids": [0, 1, 2],
        "nodes_featureids": [0] * 3,
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"],
        "nodes_values": [2.0] * 3,
        "nodes_truenodeids": [1, 0, 0],
        "nodes_falsenodeids": [2, 0, 0],
    }
    targets = {
        "target_treeids": [0] * votes,
        "target_nodeids": [1] * votes,
        "target_ids": [0] * votes,
        "target_weights": [0.5] * votes,
        "n_targets": 1,
    }
    x = np.zeros((rows, 1), np.float32)
    tracemalloc.start()
    (scores,) = computed("TreeEnsembleRegressor", x, version=3, domain=ML, **nodes, **targets)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(scores, np.full((rows, 1), 1000, np.float32))
    assert peak < 160 * MEGABYTE


# -- work --

BLOCKED = (empty(HUGE, 4, 0).astype(np.int8), empty(HUGE, 2, 0)), {"block_size": 2, "axis": 1}
WITHOUT_ELEMENTS = [
    ("MatMul", 13, (empty(HUGE, 10**6, 0, 0), empty(HUGE, 10**6, 0, 0)), {}, [(HUGE, 10**6, 0, 0)]),
    ("Gather", 13, (empty(HUGE, 1, 0), np.zeros(1000, np.int64)), {"axis": 1}, [(HUGE, 1000, 0)]),
    ("GatherElements", 13, (empty(HUGE, 0), np.zeros((HUGE, 0), np.int64)), {}, [(HUGE, 0)]),
    ("TopK", 11, (empty(HUGE, 0), np.array([0])), {}, [(HUGE, 0)] * 2),
    ("Pad", 21, (empty(HUGE, 1, 0), np.array([0, 2, 0, 0, 0, 0])), {"mode": "edge"}, [(HUGE, 3, 0)]),
    ("Compress", 11, (empty(HUGE, 1, 0), np.array([True])), {"axis": 1}, [(HUGE, 1, 0)]),
    ("Unique", 11, (empty(HUGE, 1, 0),), {"axis": 1}, [(HUGE, 1, 0)]),
    ("Conv", 22, (empty(HUGE, 0, 1), empty(0, 0, 1)), {}, [(HUGE, 0, 1)]),
    ("MatMulInteger", 10, (empty(HUGE, 10**6, 0, 0).astype(np.int8),) * 2, {}, [(HUGE, 10**6, 0, 0)]),
    ("DequantizeLinear", 21, *BLOCKED, [(HUGE, 4, 0)]),
    ("Trilu", 14, (empty(0, HUGE),), {}, [(0, HUGE)]),
    ("ReverseSequence", 10, (empty(0, HUGE), np.zeros(0, np.int64)), {"batch_axis": 0, "time_axis": 1}, [(0, HUGE)]),
    ("ConvTranspose", 22, (empty(1, 0, 2), empty(0, 0, HUGE)), {}, [(1, 0, HUGE + 1)]),
    ("NonMaxSuppression", 11, (empty(1, 0, 4), empty(1, HUGE, 0), np.array(9)), {}, [(0, 3)]),
    ("MaxRoiPool", 22, (empty(1, 0, 1, 1), empty(1, 5)), {"pooled_shape": [HUGE, 1]}, [(1, 0, HUGE, 1)]),
    ("FeatureVectorizer", 1, (empty(0, 3),), {}, [(0, 3)]),
    ("ReduceSum", 13, (empty(HUGE, 0),), {"keepdims": 0}, [()]),  # along all axes
    ("ReduceL2", 13, (empty(HUGE, 0),), {"keepdims": 1}, [(1, 1)]),
]


@pytest.mark.parametrize(("operator", "version", "inputs", "attributes", "shapes"), WITHOUT_ELEMENTS)
def test_tensors_without_elements_are_computed_at_once(operator, version, inputs, attributes, shapes):
    with lines(50_000):
        domain = ML if operator == "FeatureVectorizer" else ""
        results = computed(operator, *inputs, version=version, domain=domain, outputs=len(shapes), **attributes)
        assert [each.shape for each in results] == shapes


def test_attention_without_elements_is_computed_at_once():
    shape = (HUGE, HUGE, 0, 0)
    assert computed("Attention", *[empty(*shape)] * 3)[0].shape == shape


MANY = np.full(10**6, 3)


@pytest.mark.parametrize(
    ("operator", "inputs"),
    [
        *(("ConstantOfShape", (MANY,)), ("Reshape", (empty(0), MANY)), ("Expand", (empty(0), MANY))),
        *(("Tile", (empty(0), MANY)), ("CenterCropPad", (empty(0), MANY))),
        *(("AffineGrid", (empty(0, 2, 3), MANY)), ("Col2Im", (empty(1, 0, 1), MANY, MANY))),
    ],
)
def test_a_million_sizes_are_refused_unread(operator, inputs):
    with lines(20_000), pytest.raises(RunError) as caught:
        computed(operator, *inputs)
    assert caught.value.code in ("R203", "R204")  # more than the operator takes, or more than an array can have


def test_many_new_axes_are_refused_in_few_steps():
    with lines(5_000_000):
        refused("R204", "Unsqueeze", empty(1), np.arange(10_000))


def test_many_axes_are_refused_before_anything_is_computed():
    with lines(500_000):
        said = refused("R203", "MeanVarianceNormalization", np.zeros((100_000, 1), np.float32), axes=[0] * 100_000)
        assert "axes names no dimension twice" in said and len(said) < 1_000


def test_a_shape_without_elements_but_of_several_dimensions_is_not_spelled_out():
    said = refused("R203", "ConstantOfShape", np.zeros((HUGE, 10**6, 0), np.int64))
    assert len(said) < 1_000
    said = refused("R203", "SplitToSequence", np.zeros(2), np.zeros((HUGE, 10**6, 0), np.int64))
    assert len(said) < 1_000


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
@pytest.mark.parametrize("shapes", [((7, 5), (5, 3)), ((2, 1, 3, 4), (5, 4, 2)), ((6,), (6,)), ((6,), (6, 2))])
def test_products_of_large_integers_wrap(dtype, shapes):
    """They are computed from digits; numpy, which needs ten times as long, wraps just so."""
    limits = np.iinfo(dtype)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(limits.min, limits.max, shape, dtype, endpoint=True) for shape in shapes)
    (y,) = computed("MatMul", a, b)
    assert y.dtype == dtype
    assert np.array_equal(y, np.matmul(a, b))


def test_parts_of_a_text_are_announced_as_many_as_spaces_allow():
    assert computed("StringSplit", np.array(["a " * 10_000], object), outputs=2)[1].tolist() == [10_000]
    assert "it needs 1,280,064 bytes" in refused("R302", "StringSplit", np.array(["a " * 20_000], object), outputs=2)


def test_the_clock_is_looked_at_within_few_but_long_strings(monkeypatch):
    """On a clock that goes on by five seconds whenever it is looked at, a minute passes within the one node."""
    clock = itertools.count(0, 5)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    assert computed("RegexFullMatch", np.full(2, "x" * 500_000, object), pattern="x*")[0].all()
    refused("R303", "RegexFullMatch", np.full(50, "x" * 500_000, object), pattern="x*")


def test_the_clock_is_looked_at_in_every_block_of_numbers_that_become_text(monkeypatch):
    clock = itertools.count(0, 5)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(cast, "_BLOCK", 1)
    assert computed("Cast", np.arange(2), to=8)[0].tolist() == ["0", "1"]
    refused("R303", "Cast", np.arange(20), to=8)


SVM = {"kernel_type": "RBF", "kernel_params": [1.0, 0.0, 3.0], "n_supports": 1, "support_vectors": [1.0],
       "coefficients": [1.0], "rho": [0.5]}  # fmt: skip
IN_BLOCKS = [
    ("create._BLOCK", "RandomUniform", "", (), {"shape": [20]}),
    ("sequence._CHECK_INTERVAL", "SplitToSequence", "", (full(20), np.array(1)), {}),
    ("ml_svm._CHECK_INTERVAL", "SVMRegressor", ML, (full(20, 1),), SVM),
    ("ml_svm.BLOCK", "SVMRegressor", ML, (full(20, 1),), SVM | {"kernel_type": "POLY"}),
    ("linalg.WORK", "Det", "", (full(20, 2, 2),), {}),
]


@pytest.mark.parametrize(("block", "operator", "domain", "inputs", "attributes"), IN_BLOCKS)
def test_the_clock_is_looked_at_in_every_block(block, operator, domain, inputs, attributes, monkeypatch):
    clock = itertools.count(0, 5)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(f"opset.reference.kernels.{block}", 1)
    refused("R303", operator, *inputs, version=1 if domain else 23, domain=domain, **attributes)


LONG = [
    ("RNN", 22, (full(20, 1, 1), full(1, 1, 1), full(1, 1, 1)), {"hidden_size": 1}),
    ("GRU", 22, (full(20, 1, 1), full(1, 3, 1), full(1, 3, 1)), {"hidden_size": 1}),
    ("LSTM", 22, (full(20, 1, 1), full(1, 4, 1), full(1, 4, 1)), {"hidden_size": 1}),
    ("LinearAttention", 27, (full(1, 20, 1),) * 3, {"update_rule": "linear", "q_num_heads": 1, "kv_num_heads": 1}),
    ("NonMaxSuppression", 11, (full(1, 1, 4), full(1, 20, 1), np.array(1)), {}),
    ("NonMaxSuppression", 11, (np.arange(80, dtype=np.float32).reshape(1, 20, 4), full(1, 1, 20), np.array(20)), {}),
    ("GridSample", 20, (full(1, 1, 4, 4, 4), full(1, 1, 1, 1, 3)), {"mode": "cubic"}),
    ("MaxRoiPool", 22, (full(1, 1, 4, 4), full(1, 5, value=0)), {"pooled_shape": [20, 1]}),
    ("ConvTranspose", 22, (full(1, 1, 2, 2), full(1, 1, 5, 5)), {}),
    ("DeformConv", 22, (full(20, 1, 1, 1), full(1, 1, 1, 1), full(20, 2, 1, 1)), {}),
    ("RoiAlign", 22, (full(1, 1, 2, 2), full(20, 4), np.zeros(20, np.int64)), {}),
    ("Col2Im", 18, (full(1, 25, 1), np.array([5, 5]), np.array([5, 5])), {}),
    ("MaxPool", 22, (full(1, 1, 40),), {"kernel_shape": [20]}),
    ("MaxPool", 22, (full(1, 1, 40),), {"kernel_shape": [25]}),
    ("NonMaxSuppression", 11, (full(1, 1, 4), full(1, 20, 1), np.array(1), None, np.float32(2)), {}),
    ("LRN", 13, (full(1, 5000, 1),), {"size": 9999}),
    ("TfIdfVectorizer", 9, (np.ones(40, np.int64),), {
        "max_skip_count": 20, "min_gram_length": 2, "max_gram_length": 2, "mode": "TF", "ngram_counts": [0, 0],
        "ngram_indexes": [0], "pool_int64s": [1, 1]}),
    ("Resize", 18, (full(1000), None, None, np.array([20])), {"mode": "linear", "antialias": 1}),
    ("Resize", 18, (full(400), None, None, np.array([40])), {"mode": "linear", "antialias": 1}),
    ("Einsum", 12, (full(),) * 30, {"equation": "," * 29}),
    ("Multinomial", 7, (full(20, 1),), {"sample_size": 1}),
    ("DeformConv", 22, (full(1, 1, 1, 1, 1, 1, 1), full(1, 1, 1, 1, 1, 1, 1), full(1, 5, 1, 1, 1, 1, 1)), {}),
]  # fmt: skip


@pytest.mark.parametrize(("operator", "version", "inputs", "attributes"), LONG)
def test_the_clock_is_looked_at_in_every_turn(operator, version, inputs, attributes, monkeypatch):
    clock = itertools.count(0, 5)
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    refused("R303", operator, *inputs, version=version, **attributes)


def test_long_details_of_a_violation_are_cut():
    assert Violation("C1", "short").detail == "short"
    assert len(Violation("C1", "x" * 10**6).detail) < 1_000


def test_many_keys_of_a_map_are_looked_up_quickly():
    keys = [f"k{each}" for each in range(50_000)]
    model = {key: np.float32(number) for number, key in enumerate(keys[:10_000])}
    with lines(1_000_000):
        (row,) = computed("DictVectorizer", model, version=1, domain=ML, string_vocabulary=keys)
        assert row.shape == (1, 50_000)
        assert row[0, 9_999] == 9_999
        assert row[0, 10_000] == 0


@pytest.mark.parametrize("shape", [(40, 3), (3, 400), (300, 1)])
@pytest.mark.parametrize("axis", [0, 1])
def test_distinct_slices_are_what_numpy_finds(shape, axis):
    x = np.random.default_rng(0).integers(-2, 2, shape)
    expected = np.unique(x, axis=axis, return_index=True, return_inverse=True, return_counts=True)
    actual = computed("Unique", x, outputs=4, axis=axis)
    for mine, theirs in zip(actual, expected, strict=True):
        assert np.array_equal(mine, theirs.reshape(mine.shape))


def test_texts_of_any_rank_are_counted():
    texts = np.array(["a", "bcd"], object)
    assert nbytes(texts.reshape((1,) * 39 + (2,))) == nbytes(texts)


def test_a_small_part_of_a_large_array_does_not_keep_it_alive():
    large, small = np.zeros(100_000), np.zeros(100)
    part, half, of_small = compact([large[:10], large[:60_000], small[:10]])
    assert part.base is None and part.shape == (10,)
    assert half.base is large and of_small.base is small
    assert compact(large) is large


def test_a_part_counts_as_what_it_keeps_alive_and_a_repeated_element_as_often_as_it_is_read():
    large = np.zeros(1000)
    assert nbytes(large[:600]) == 8000 and nbytes(large[:600], of_base=False) == 4800
    assert nbytes(np.broadcast_to(large[:1].copy(), 1000)) == 8000


def test_an_evaluation_may_take_what_the_groups_of_its_process_leave(monkeypatch):
    files = {"/proc/self/statm": "1000 100 0", "/proc/self/cgroup": "groups", "inner": "max", "outer": "5000000"}
    monkeypatch.setattr(limits, "control_group_files", lambda text: ["inner", "outer"] if text == "groups" else [])
    monkeypatch.setattr(limits, "_process_limits", lambda taken, resident: [])
    monkeypatch.setattr(limits.os, "sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 10**6}.get)
    monkeypatch.setattr(limits, "_read_text", lambda path: files.get(path, ""))
    assert limits.byte_limit(Limits()) == 5_000_000 - 100 * 4096
    files["/proc/meminfo"] = "MemTotal:  9000000 kB\nMemAvailable:    3000 kB\nBuffers: 7 kB"
    assert limits.byte_limit(Limits()) == 3000 * 1024
    del files["/proc/meminfo"]
    files["/proc/self/statm"] = "9000 9000 0"
    assert limits.byte_limit(Limits()) == 0
    assert limits.byte_limit(Limits(max_bytes=7)) == 7
    monkeypatch.setattr(limits, "_process_limits", lambda taken, resident: [5])
    assert [limits.byte_limit(Limits(max_bytes=given)) for given in (3, 7)] == [3, 5]


def test_constants_of_a_branch_count_once():
    """A branch reads its initializers when it runs, after those of the graph around it."""
    ones = f"float[20000] {{}} = {{{{{', '.join(['1'] * 20_000)}}}}}"
    branch = f"b () => (float r) <{ones.format('v')}> {{ r = ReduceSum <keepdims = 0> (v) }}"
    graph = f"""g (bool c) => (float y) <{ones.format("w")}> {{
        s = ReduceSum <keepdims = 0> (w)
        t = If <then_branch = {branch}, else_branch = {branch}> (c)
        y = Add (s, t)
    }}"""
    (y,) = results(graph, {"c": np.array(True)}, max_bytes=210_000)
    assert y == 40_000


def test_an_empty_dimension_has_no_ratio_to_keep():
    sizes = np.array([0, 4], np.int64)
    (y,) = computed("Resize", empty(0, 2), None, None, sizes, version=18, keep_aspect_ratio_policy="not_larger")
    assert y.shape == (0, 4)


def test_inputs_and_constants_count_and_a_part_of_an_array_by_its_own_bytes():
    ones = f"float[20000] w = {{{', '.join(['1'] * 20_000)}}}"
    graph, x = (
        f"g (float[20000] x) => (float[N] y) <{ones}> {{ y = Add (x, w) }}",
        np.ones(200_000, np.float32)[:20_000],
    )
    assert results(graph, {"x": x}, max_bytes=241_000)[0].sum() == 40_000
    with pytest.raises(RunError) as caught:
        results(graph, {"x": x}, max_bytes=239_000)
    assert caught.value.code == "R302"


@pytest.mark.parametrize(
    ("shapes", "work", "pieces"),
    [
        (((700, 4), (4, 3)), 10_000, 1),
        (((700, 4), (4, 3)), 1000, 3),  # of 256 rows, the fewest
        (((700, 4), (4, 3)), 5000, 2),
        (((5, 6, 4), (4, 3)), 150, 3),
        (((5, 6, 4), (4, 3)), 50, 5),  # a matrix of few rows is not taken apart
        (((2, 3, 600, 4), (3, 4, 3)), 8000, 6),
        (((2, 600, 4), (1, 4, 3)), 4000, 4),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_long_products_are_worked_on_in_pieces(shapes, work, pieces, dtype, monkeypatch):
    monkeypatch.setattr(products, "WORK", work)
    a, b = (np.arange(np.prod(shape), dtype=dtype).reshape(shape) % 7 for shape in shapes)
    expected, times = np.matmul(a, b), []
    result = np.zeros(expected.shape, dtype)
    products.multiply(a, b, result, SimpleNamespace(check_time=lambda: times.append(0)))
    assert len(times) == pieces
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("shapes", [((5,), (5,)), ((5,), (5, 3)), ((2, 3, 5), (5,))])
def test_long_products_with_a_vector_are_those_of_fractions(shapes, monkeypatch):
    a, b = (np.linspace(0.5, 2.25, np.prod(shape)).reshape(shape) for shape in shapes)
    monkeypatch.setattr(products, "WORK", 1)
    np.testing.assert_allclose(computed("MatMul", a, b)[0], np.matmul(a, b), rtol=1e-14)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ab,bc,cd->ad", ((300, 2), (2, 300), (300, 1))),  # the last two first: two elements, not 90,000
        ("ab,bc,cd->ad", ((30, 3000), (3000, 30), (30, 29))),  # the first two: 900 elements, not 87,000
    ],
)
def test_operands_of_einsum_are_contracted_in_the_order_that_takes_least(equation, shapes):
    terms = [np.ones(shape, np.float32) for shape in shapes]
    names = [f"x{number}" for number in range(len(terms))]
    graph = f"""g ({", ".join(f"float[{a}, {b}] {name}" for name, (a, b) in zip(names, shapes, strict=True))})
        => (float[A, D] y) {{ y = Einsum <equation = "{equation}"> ({", ".join(names)}) }}"""
    most = sum(each.nbytes for each in terms) + 100_000
    (y,) = results(graph, dict(zip(names, terms, strict=True)), max_bytes=most)
    assert (y == np.prod([shape[1] for shape in shapes[:-1]])).all()
