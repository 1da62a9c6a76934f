"""The sound models that mutants are made from: small, of every operator version, and of every part that a model has."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from judges.conformance.exported import SKETCHES, case_of
from opset.model import proto as pb
from opset.model.arrays import tensor_of
from opset.model.text.syntax import parse_model
from opset.reference.example_models import model_of
from opset.schemas.names import domain_name
from tests.examples import PAIRS

__all__ = ["seed_model", "whole_models"]

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
LARGEST = 5_000
"""Bytes of a model of examples/: what is larger is slow to mutate."""

HEADER = '<ir_version: {ir}, opset_import: ["": {opset}, "ai.onnx.ml": 3, "ai.onnx.preview.training": 1, "local": 1]>'
# Name, IR version, opset and text of models that hold what exporters seldom write.
TEXTS: tuple[tuple[str, int, int, str], ...] = (
    ("branches", 8, 16, """main (bool c, float[2, N] x) => (float[K, N] y, float z) <float[1] one = {1}> {
        two = Add (one, one)
        y = If (c) <then_branch = t () => (float[2, N] a) { a = Mul (x, two) },
                    else_branch = e () => (float[2, N] b) { h = Sub (x, one)  b = Relu (h) }>
        z = ReduceSum <keepdims = 0> (y) }"""),
    ("loop", 8, 17, """main (int64 trips, bool go, float[2] x) => (float[2] last, float[T, 2] all) {
        last, all = Loop (trips, go, x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] n, float[2] o) {
            d = Identity (c)
            f = Cast <to = 1> (i)
            n = Add (s, f)
            o = Identity (n) }> }"""),
    ("scan", 8, 21, """main (float[2] s, float[3, 2] x) => (float[2] last, float[3, 2] all) {
        last, all = Scan <num_scan_inputs = 1, body = b (float[2] p, float[2] q) => (float[2] n, float[2] o) {
            n = Add (p, q)  o = Relu (n) }> (s, x) }"""),
    ("nested", 8, 13, """main (int64 n, bool c, float[2] x) => (float[2] y, float[M, 2] w) {
        y, w = Loop (n, c, x) <body = b (int64 i, bool k, float[2] s) => (bool k2, float[2] t, float[2] u) {
            k2 = Identity (k)
            t = If (k) <then_branch = p () => (float[2] p1) { p1 = Add (s, x) },
                        else_branch = q () => (float[2] q1) {
                            q1 = If (c) <then_branch = r () => (float[2] r1) { r1 = Mul (s, s) },
                                         else_branch = v () => (float[2] v1) { v1 = Neg (x) }> }>
            u = Identity (t) }> }"""),
    ("functions", 9, 18, """main (float[N, 3] x) => (float[N, 3] y) {
            h = local.twice <k = 2.5> (x)
            y = local.outer (h) }
        <domain: "local", opset_import: ["": 18]> twice <k> (a) => (b) {
            f = Constant <value_float: float = @k> ()  c = CastLike (f, a)  b = Mul (a, c) }
        <domain: "local", opset_import: ["": 18, "local": 1]> outer <alpha: float = 0.5> (a, z) => (b) {
            e = Elu <alpha: float = @alpha> (a)  t = local.twice <k = 3.0> (e)
            c = ReduceMax <keepdims = 0> (t)  zero = Constant <value_float = 0.0> ()  g = Greater (c, zero)
            b = If (g) <then_branch = p () => (p1) { p1 = Identity (t) },
                        else_branch = q () => (q1) { q1 = Neg (e) }> }"""),
    ("sequences", 8, 17, """main (float[2, 3] x, seq(float[2, 3]) s) => (float[R, 3] y, int64 n, seq(float[2, 3]) m) {
        e = SequenceEmpty <dtype = 1> ()
        a = SequenceInsert (e, x)
        b = SequenceConstruct (x, x)
        zero = Constant <value_int = 0> ()
        f = SequenceAt (b, zero)
        g = SequenceInsert (a, f)
        y = ConcatFromSequence <axis = 0> (g)
        n = SequenceLength (s)
        m = SequenceMap (s) <body = f (float[2, 3] i) => (float[2, 3] o) { o = Relu (i) }>
        p = SplitToSequence <axis = 1> (x) }"""),
    ("optionals", 8, 18, """main (float[2] x, optional(float[2]) p, optional(seq(float[2])) q)
            => (float[2] y, bool h, float[2] w) {
        o = Optional (x)
        y = OptionalGetElement (o)
        h = OptionalHasElement (p)
        w = If (h) <then_branch = t () => (float[2] t1) { t1 = OptionalGetElement (p) },
                    else_branch = e () => (float[2] e1) { e1 = Identity (x) }> }"""),
    ("text", 8, 21, """main (string[N] s) => (string[N] y, bool[N] m, string[N, K] w, int64[N] n)
            <string[1] end = {"!"}> {
        y = StringConcat (s, end)
        m = RegexFullMatch <pattern = "a.*b"> (s)
        w, n = StringSplit <delimiter = " "> (s)
        u = StringNormalizer <case_change_action = "LOWER"> (y) }"""),
    ("quantized", 10, 21, """main (float[1, 4] x) => (float[1, 2] y, int8[1, 4] q) <float s = {0.1}, int8 z = {1},
            int8[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[2] ws = {0.5, 0.25}, int8[2] wz = {0, 0}> {
        q = QuantizeLinear (x, s, z)
        d = DequantizeLinear (q, s, z)
        v = DequantizeLinear <axis = 1> (w, ws, wz)
        y = MatMul (d, v)
        c = Cast <to = 22> (y)
        r = Cast <to = 1> (c) }"""),
    ("shapes", 8, 13, """main (float[N, 3, H, W] x) => (float[N, R] y, float[N, 3, A, B] z)
            <int64[1] all = {-1}, int64[1] axis = {0}> {
        s = Shape (x)
        n = Gather <axis = 0> (s, axis)
        t = Concat <axis = 0> (n, all)
        y = Reshape (x, t)
        e = Constant <value = float[0] {}> ()
        f = Constant <value = float[4] {1, 1, 2, 2}> ()
        z = Resize <mode = "nearest"> (x, e, f)
        k = ConstantOfShape <value = float[1] {2}> (t)
        u = Unsqueeze (s, axis)
        g = Expand (n, s)
        h = Tile (s, n)
        i = Range (axis, axis, axis) }"""),
    ("old", 3, 6, """main (float[1, 3, 4, 4] x, float[2, 3, 3, 3] w, float[2] b) => (float[1, 8] y) {
        c = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w, b)
        p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (c)
        d = Dropout <is_test = 1> (p)
        f = Flatten (d)
        u = Upsample <mode = "nearest", width_scale = 2.0, height_scale = 2.0> (x)
        s = Slice <axes = [1], starts = [0], ends = [1]> (f)
        a = Add <broadcast = 1, axis = 1> (c, b)
        y = Softmax (f) }"""),
    ("trees", 8, 15, """main (float[N, 2] x) => (int64[N] l, float[N, 2] p, float[N, 1] s) {
        l, p = ai.onnx.ml.LinearClassifier <classlabels_ints = [0, 1], coefficients = [0.5, -0.5, -0.5, 0.5],
            intercepts = [0.0, 0.1], post_transform = "SOFTMAX"> (x)
        z = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1]> (p)
        v = ai.onnx.ml.Scaler <offset = [0.5, 1.0], scale = [1.0, 2.0]> (x)
        s = ai.onnx.ml.TreeEnsembleRegressor <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2],
            nodes_featureids = [0, 0, 0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"], nodes_values = [0.5, 0.0, 0.0],
            nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], target_treeids = [0, 0],
            target_nodeids = [1, 2], target_ids = [0, 0], target_weights = [1.0, 2.0], n_targets = 1> (x) }"""),
    ("gradient", 8, 14, """main (float[2] w, float[2] x) => (float g, float[2] d) {
        p = Mul (w, x)
        g = ReduceSum <keepdims = 0> (p)
        d = ai.onnx.preview.training.Gradient <xs = ["w"], zs = ["x"], y = "g"> (w, x) }"""),
)  # fmt: skip


def training() -> Any:
    """Return a model with steps of training, whose graphs share names with the main one."""
    header = HEADER.format(ir=8, opset=14)
    model = parse_model(header + "main (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Mul (x, w) }")
    info = model.training_info.add()
    first = parse_model(header + "i () => (float[2] w0) { w0 = Constant <value_floats = [0, 0]> () }")
    step = parse_model(
        header
        + """a (float[2] t) => (float[2] w1) {
        d = Sub (y, t)  g = Mul (d, x)  w1 = Sub (w, g) }"""
    )
    info.initialization.CopyFrom(first.graph)
    info.algorithm.CopyFrom(step.graph)
    info.initialization_binding.add(key="w", value="w0")
    info.update_binding.add(key="w", value="w1")
    return model


def annotated() -> Any:
    """Return a model with metadata everywhere, annotations, denotations, value_info and device configurations."""
    model = parse_model(
        HEADER.format(ir=11, opset=22)
        + """main (float[N, 2] x) => (float[N, 2] y)
        <float[2, 2] w = {1, 2, 3, 4}, float s = {0.5}, int8 z = {0}> { h = MatMul (x, w)  y = Relu (h) }"""
    )
    graph = model.graph
    model.doc_string, model.producer_name, model.model_version = "a model", "drawn", 3
    for owner in (model, graph, graph.node[0], graph.initializer[0], graph.input[0]):
        owner.metadata_props.add(key="key", value="value")
    kind = graph.input[0].type
    kind.denotation = "TENSOR"
    kind.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    graph.value_info.add(name="h", type=kind)
    note = graph.quantization_annotation.add(tensor_name="h")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    note.quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value="z")
    model.configuration.add(name="devices", num_devices=2).device.extend(["one", "two"])
    placed = graph.node[0].device_configurations.add(configuration_id="devices", pipeline_stage=1)
    spec = placed.sharding_spec.add(tensor_name="x", device=[0, 1])
    spec.index_to_device_group_map.add(key=0, value=[0, 1])
    spec.sharded_dim.add(axis=0).simple_sharding.add(dim_value=2, num_shards=2)
    return model


def stored() -> Any:
    """Return a model with sparse and external tensors, and one of every form of data."""
    model = parse_model(
        HEADER.format(ir=10, opset=21)
        + """main (float[2, 3] x) => (float[2, 3] y, float[4] f) {
        a = Add (x, sparse)
        b = Mul (a, outside)
        c = Constant <value_floats = [1, 2, 3]> ()
        y = Sub (b, c)
        f = Identity (raw) }"""
    )
    graph = model.graph
    sparse = graph.sparse_initializer.add(dims=[2, 3])
    sparse.values.CopyFrom(tensor_of("sparse", np.array([1, 2], np.float32)))
    sparse.indices.CopyFrom(tensor_of("", np.array([1, 4], np.int64)))
    outside = graph.initializer.add(name="outside", data_type=1, dims=[2, 3], data_location=1)
    for key, value in (("location", "weights.bin"), ("offset", "0"), ("length", "24")):
        outside.external_data.add(key=key, value=value)
    graph.initializer.add(name="raw", data_type=1, dims=[4], raw_data=np.arange(4, dtype=np.float32).tobytes())
    graph.initializer.add(name="int32", data_type=10, dims=[2], int32_data=[15360, 16384])
    graph.initializer.add(name="double", data_type=11, dims=[2], double_data=[1, 2])
    graph.initializer.add(name="complex", data_type=14, dims=[1], float_data=[1, 2])
    graph.initializer.add(name="text", data_type=8, dims=[2], string_data=[b"a", b"b"])
    graph.initializer.add(name="wide", data_type=13, dims=[2], uint64_data=[1, 2**64 - 1])
    graph.initializer.add(name="narrow", data_type=22, dims=[3], raw_data=b"\x21\x03")
    node = graph.node.add(op_type="Constant", output=["constant"])
    attribute = node.attribute.add(name="sparse_value", type=11)
    attribute.sparse_tensor.CopyFrom(sparse)
    return model


BUILT: tuple[Callable[[], Any], ...] = (training, annotated, stored)


@cache
def whole_models() -> tuple[tuple[str, bytes], ...]:
    """Return models of several nodes by name: those above, and graphs as exporters write them."""
    found = [(name, parse_model(HEADER.format(ir=ir, opset=version) + text)) for name, ir, version, text in TEXTS]
    found += [(build.__name__, build()) for build in BUILT]
    for exporter, sketches in SKETCHES.items():
        found += [(f"{exporter}/{each.name}", case_of(each.name, each).model) for each in sketches]
    files = [(path.stem, path.read_bytes()) for path in sorted(EXAMPLES.glob("*.onnx"))]
    return tuple((name, model.SerializeToString()) for name, model in found) + tuple(
        (name, data) for name, data in files if len(data) <= LARGEST
    )


def seed_model(rng: random.Random) -> tuple[str, Any]:
    """Return a sound model and its name: half of them an operator's example."""
    if rng.random() < 0.5:
        schema, example = rng.choice(PAIRS)
        return f"{domain_name(schema.domain)}-{schema.name}-{schema.since_version}-{example.name}", model_of(
            schema, example
        )
    name, data = rng.choice(whole_models())
    return name, pb.ModelProto.FromString(data)
