"""Each bound on what an adapter writes holds exactly: what reaches it is written, and what is one above it is not."""

import onnx.parser
import pytest

import opset
from opset.errors import ConversionError
from opset.version_converter.rewrite import Node

BOUNDS = [
    ("building.interpolation.MAX_NEIGHBORS", 4, 18, 17, "C204",
     "(float[1,1,4] x) => (float[] y) <float[3] s = {1, 1, 0.5}> { y = Resize<mode=\"linear\", antialias=1>(x, , s) }"),
    ("building.interpolation.MAX_NEIGHBORS", 8, 18, 17, "C204",
     "(float[1,1,4] x) => (float[] y) <float[3] s = {1, 1, 0.5}> { y = Resize<mode=\"cubic\", antialias=1>(x, , s) }"),
    ("building.positions.MAX_CONSTANT", 5, 10, 9, "NonZero",
     "(float[5,2] x, int64[2] n) => (float[] y) { y = ReverseSequence(x, n) }"),
    ("building.positions.MAX_CONSTANT", 3, 11, 10, "NonZero",
     "(float[5,3] x, int64[2,3] i) => (float[] y) { y = GatherElements(x, i) }"),
    ("families.norm.MAX_CONSTANT", 2, 21, 20, "C204",
     "(float[1,4,3] x, float[4] s, float[4] b) => (float[] y) { y = GroupNormalization<num_groups=2>(x, s, b) }"),
    ("families.norm.MAX_AXES", 2, 17, 16, "C207",
     "(float[] x, float[3] s) => (float[] y) { y = LayerNormalization<axis=-2>(x, s) }"),
    ("families.quantize.MAX_CONSTANTS", 4, 21, 20, "ConstantOfShape",
     "(float[2,4] x, float[4] s) => (int8[] y) { y = QuantizeLinear<axis=1, output_dtype=3>(x, s) }"),
    ("families.quantize.MAX_CONSTANTS", 4, 21, 20, "Range",
     "(float[2,4] x, float[2,2] s, uint8[2,2] z) => (uint8[] y) { y = QuantizeLinear<axis=1, block_size=2>(x, s, z) }"),
    ("families.quantize.MAX_TERMS", 6, 10, 9, "Floor",
     "(uint8[1,2,4] x, uint8[2,2,3] w) => (int32[] y) { y = ConvInteger(x, w) }"),
    ("families.resize.MAX_GATHERED", 7, 13, 10, "C204",
     "(float[1,1,4] x) => (float[] y) <float[3] s = {1, 1, 1.75}> { y = Resize<mode=\"linear\">(x, , s) }"),
    ("families.resize.MAX_GATHERED", 7, 13, 10, "C204",
     "(float[1,1,4] x) => (float[] y) <float[3] s = {1, 1, 1.75}> { y = Resize(x, , s) }"),
    ("families.signal.MAX_CONSTANT", 6, 17, 16, "Sin",
     "(float[1,6,1] x) => (float[] y) { y = DFT(x) }"),
    ("families.indexing.MAX_PAIRED", 3, 11, 10, "C204",
     "(int64[2,3] x) => (int64[] y, int64[] i) <int64[1] k = {2}> { y, i = TopK<axis=1>(x, k) }"),
    ("families.indexing.MAX_AXES", 2, 11, 10, "C204",
     "(float[2,3] x, int64[4,2] i, float[4] u) => (float[] y) { y = ScatterND(x, i, u) }"),
    ("families.indexing.MAX_COMPARED", 9, 11, 10, "C204", "(float[3] x) => (float[] y) { y = Unique(x) }"),
    ("families.indexing.MAX_COMPARED", 18, 11, 10, "C204", "(float[3,2] x) => (float[] y) { y = Unique<axis=0>(x) }"),
    ("families.conv.MAX_WINDOW", 4, 18, 17, "C204",
     "(float[1,4,4] x) => (float[] y) <int64[2] i = {3, 3}, int64[2] b = {2, 2}> { y = Col2Im(x, i, b) }"),
    ("families.conv.MAX_WINDOW", 5, 18, 17, "C204",
     "(float[1,2,8] x) => (float[] y) <int64[1] i = {5}, int64[1] b = {2}> { y = Col2Im<pads=[1, 3]>(x, i, b) }"),
    ("families.conv.MAX_WINDOW", 4, 18, 17, "C204",
     "(float[1,2,1] x) => (float[] y) <int64[1] i = {2}, int64[1] b = {2}> { y = Col2Im<strides=[4]>(x, i, b) }"),
    ("families.conv.MAX_WINDOW", 6, 18, 17, "C204",
     "(float[1,1,1] x) => (float[] y) <int64[1] i = {1}, int64[1] b = {1}> { y = Col2Im<dilations=[6]>(x, i, b) }"),
    ("families.conv.MAX_DIMENSIONS", 2, 18, 17, "C204",
     "(float[1,4,4] x) => (float[] y) <int64[2] i = {3, 3}, int64[2] b = {2, 2}> { y = Col2Im(x, i, b) }"),
    ("families.conv.MAX_CONSTANT", 6, 18, 17, "Less",
     "(float[1,2,2] x) => (float[] y) <int64[1] i = {3}, int64[1] b = {2}> { y = Col2Im(x, i, b) }"),
    ("families.conv.MAX_DIMENSIONS", 2, 19, 18, "C204",
     "(float[1,1,3,3] x, float[1,1,2,2] w, float[1,8,2,2] o) => (float[] y) { y = DeformConv(x, w, o) }"),
    ("families.conv.MAX_CONSTANT", 4, 19, 18, "C204",
     "(float[1,1,3,3] x, float[1,1,2,2] w, float[1,8,2,2] o) => (float[] y) { y = DeformConv(x, w, o) }"),
    ("families.conv.MAX_CONSTANT", 2, 19, 18, "C204",
     "(float[1,2,3] x, float[1,2,1] w, float[1,2,3] o) => (float[] y) { y = DeformConv<offset_group=2>(x, w, o) }"),
    ("families.conv.MAX_WINDOW", 5, 19, 18, "C204",
     "(float[1,5,3] x, float[1,5,1] w, float[1,1,3] o) => (float[] y) { y = DeformConv(x, w, o) }"),
    ("families.conv.MAX_WINDOW", 5, 19, 18, "C204",
     "(float[1,1,3] x, float[5,1,1] w, float[1,1,3] o) => (float[] y) { y = DeformConv(x, w, o) }"),
    ("families.attention.MAX_VISIBLE", 10, 23, 22, "Greater",
     "(float[1,1,2,4] q, float[1,1,5,4] k, float[1,1,5,4] v) => (float[] y) { y = Attention<is_causal=1>(q, k, v) }"),
    ("families.slicing.MAX_CONSTANT", 7, 19, 18, "Mod",
     "(float[4] x) => (float[] y) <int64[2] p = {1, 2}> { y = Pad<mode=\"wrap\">(x, p) }"),
    ("families.slicing.MAX_CONSTANT", 3, 10, 9, "C204",
     "(float[6] x) => (float[] y) <int64[1] b = {0}, int64[1] e = {6}, int64[1] s = {2}>"
     " { a = Identity(b) y = Slice(x, b, e, b, s) }"),
    ("families.linalg.MAX_SUMMED", 3, 9, 8, "C204",
     "(int64[2,3] x, int64[3,2] z) => (int64[] y) { y = MatMul(x, z) }"),
    ("families.linalg.MAX_DIAGONAL", 3, 12, 11, "C204",
     "(float[3,3] x) => (float[] y) { y = Einsum<equation=\"ii->i\">(x) }"),
    ("families.create.MAX_WRITTEN_OUT", 6, 9, 8, "Expand",
     "() => (float[] y) <int64[2] s = {2, 3}> { y = ConstantOfShape(s) }"),
    ("families.create.MAX_CONSTANT", 4, 11, 10, "NonZero",
     "() => (int64[] y) <int64 a = {0}, int64 b = {8}, int64 c = {2}> { y = Range(a, b, c) }"),
    ("families.create.MAX_CONSTANT", 4, 11, 10, "NonZero",
     "() => (float[] y) <float a = {0}, float b = {8}, float c = {2}> { y = Range(a, b, c) }"),
]  # fmt: skip
"""A bound, the size of a node beside it, versions, and what becomes of the node above: a refusal, or an operator."""


def outcome(graph, version, to):
    """Return the codes of a refusal, or the operators that a node becomes."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {version}]> g {graph}')
    try:
        return {node.op_type for node in opset.convert(model, to).graph.node}
    except ConversionError as error:
        return {finding.code for finding in error.findings}


@pytest.mark.parametrize(("name", "size", "version", "to", "beyond", "graph"), BOUNDS)
def test_a_bound_is_the_largest_size_that_fits(monkeypatch, name, size, version, to, beyond, graph):
    monkeypatch.setattr(f"opset.adapters.{name}", size)
    fits = outcome(graph, version, to)
    monkeypatch.setattr(f"opset.adapters.{name}", size - 1)
    assert beyond in outcome(graph, version, to)
    assert not {beyond, "C103", "C204", "C207"} & fits


CHARGES = [
    (19, 18, {12, 18},
     "(float[1,1,6,5] x) => (float[] y) { y = AveragePool<kernel_shape=[2, 2], dilations=[2, 2]>(x) }"),
    (10, 9, {8}, "(float[1,1,6] x) => (float[] y) { y = MaxPool<kernel_shape=[2], dilations=[2]>(x) }"),
    (13, 12, {9}, "(float[2,3] x, int64[1] a) => (float[] y) { y = Unsqueeze(x, a) }"),
    (13, 10, {56},
     "(float[1,1,4] x) => (float[] y) <float[3] s = {1, 1, 1.75}> { y = Resize<mode=\"linear\">(x, , s) }"),
    (13, 10, {7}, "(float[1,1,4] x) => (float[] y) <float[3] s = {1, 1, 1.75}> { y = Resize(x, , s) }"),
    (17, 16, {10}, "() => (float[] y) <int64 b = {2}, int64 l = {8}, int64 r = {8000}, float e = {0}, float f = {4000}>"
     " { y = MelWeightMatrix(b, l, r, e, f) }"),
    (11, 10, {3, 6}, "(float[6] x) => (float[] y) <int64 n = {2}, int64 i = {1}>"
     " { s = SplitToSequence(x, n) t = Identity(s) y = SequenceAt(t, i) }"),
    (18, 17, {6}, "(float[1,2,2] x) => (float[] y) <int64[1] i = {3}, int64[1] b = {2}> { y = Col2Im(x, i, b) }"),
    (23, 22, {4}, "(float[1,4,2,4] q, float[1,2,5,4] k, float[1,2,5,4] v) => (float[] y) { y = Attention(q, k, v) }"),
    (23, 22, {4}, "(float[1,1,2,4] x, float[1,2,2] c, float[1,2,2] s) => (float[] y) { y = RotaryEmbedding(x, c, s) }"),
]  # fmt: skip
"""Nodes, and the steps that are charged at once for what is counted to convert them."""


@pytest.mark.parametrize(("version", "to", "steps", "graph"), CHARGES)
def test_what_is_counted_for_a_node_is_charged(monkeypatch, version, to, steps, graph):
    charged = set()
    monkeypatch.setattr(Node, "charge", lambda self, count: charged.add(count))
    assert not {"C103", "C201", "C204", "C207"} & outcome(graph, version, to)
    assert steps <= charged
