"""Malformed models, each the smallest of a class that once ended with an internal error."""

import numpy as np
import onnx.parser
import pytest

from judges.hostile.attacks import models
from judges.hostile.processes import attack, own
from opset.model import proto as pb
from opset.model.arrays import tensor_of
from opset.model.text.syntax import parse_model

HEADER = '<ir_version: 8, opset_import: ["": {opset}, "local": 1]>'


def model_of(text, opset=17):
    return parse_model(f"{HEADER.format(opset=opset)} {text}")


def refused(tmp_path, model, code, verb, *options):
    """Check that a verb refuses a model with a code."""
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    outcome = own(attack(verb, path, *options), 1, 3)
    assert code in outcome.text, outcome.text
    return outcome


@pytest.mark.parametrize("verb", ["run", "infer"])
def test_two_inputs_have_one_name(tmp_path, verb):
    model = model_of("main (float[2] x) => (float[2] y) { y = Relu (x) }")
    model.graph.input.add().CopyFrom(model.graph.input[0])
    refused(tmp_path, model, "M113", verb, *(["--random"] if verb == "run" else []))


def test_a_dense_and_a_sparse_initializer_have_one_name(tmp_path):
    model = model_of("main (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { h = Add (x, w)  y = Relu (h) }")
    sparse = model.graph.sparse_initializer.add(dims=[2])
    sparse.values.CopyFrom(tensor_of("w", np.array([5], np.float32)))
    sparse.indices.CopyFrom(tensor_of("", np.array([1], np.int64)))
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    own(attack("run", path, "--random"), 0)


@pytest.mark.parametrize(
    ("name", "kind", "field"),
    [("value", 5, "g"), ("value", 13, "tp"), ("sparse_value", 14, "type_protos"), ("value_int", 11, "sparse_tensor")],
)
def test_the_value_of_a_constant_is_of_another_kind(tmp_path, name, kind, field):
    model = model_of("main () => (y) { y = Constant () }")
    attribute = model.graph.node[0].attribute.add(name=name, type=kind)
    if field == "type_protos":
        attribute.type_protos.add().tensor_type.elem_type = 1
    else:
        getattr(attribute, field).SetInParent()
    refused(tmp_path, model, "R202", "run")


@pytest.mark.parametrize("scale", ["nan", "inf", "-inf", "0", "-1"])
def test_an_axis_is_scaled_by_what_is_no_positive_number(tmp_path, scale):
    text = f"main (float[1, 1, 2, 2] x) => (y) <float[4] s = {{1, 1, {scale}, 1}}> {{ y = Upsample (x, s) }}"
    refused(tmp_path, model_of(text, opset=9), "C103", "convert", "--to", "18")


def test_a_length_is_a_truth_value(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of("main () => (y) <bool n = {1}> { y = HannWindow (n) }").SerializeToString())
    own(attack("infer", path, "-o", tmp_path / "inferred.onnx"), 0)
    shape = pb.ModelProto.FromString((tmp_path / "inferred.onnx").read_bytes()).graph.output[0].type.tensor_type.shape
    assert not shape.dim[0].HasField("dim_value")


def renamed(model, old, new):
    """Return a model whose bytes have another name of the same length, which need not be valid UTF-8."""
    data = model.SerializeToString()
    assert len(old) == len(new) and old in data
    return pb.ModelProto.FromString(data.replace(old, new))


FUNCTION = """main (float[2] x) => (y) { y = local.f <slope = 0.5> (x) }
    <domain: "local", opset_import: ["": 17]> f <slope> (a) => (b) { b = Elu <alpha: float = @slope> (a) }"""


@pytest.mark.parametrize(("name", "code"), [(b"alpha", "R202"), (b"slope", "M106")])
def test_the_name_of_an_attribute_is_not_utf8(tmp_path, name, code):
    refused(tmp_path, renamed(model_of(FUNCTION), name, b"\x80" * 5), code, "run", "--random")


def test_an_attribute_of_a_call_is_named_by_no_text(tmp_path):
    model = model_of(FUNCTION)
    model.graph.node[0].attribute.add(name="other", type=2, i=1)
    path = tmp_path / "model.onnx"
    path.write_bytes(renamed(model, b"other", b"\x80" * 5).SerializeToString())
    own(attack("infer", path, "--values"), 0)


def test_a_constant_has_two_outputs(tmp_path):
    text = """main (float[1, 1, 2, 2] x) => (y) { y = local.Map <body = b () => (z) {
        k, l = Constant <value = float[4] {1, 1, 2, 2}> ()
        z = Upsample (x, k) }> (x) }"""
    path = tmp_path / "model.onnx"
    path.write_bytes(model_of(text, opset=9).SerializeToString())
    own(attack("convert", path, "--plan", "--to", "13"))


@pytest.mark.parametrize(("verb", "options"), [("convert", ("--to", "13", "--plan")), ("run", ("--random",))])
def test_an_output_of_a_subgraph_is_named_as_the_outer_value_that_it_reads(tmp_path, verb, options):
    held = "m = local.Map <body = b () => (s) { r = Relu (z)  z = Upsample (r, r)  s = Identity (z) }> (x)"
    branch = "y = If (c) <then_branch = t () => (z) { z = Relu (z) }, else_branch = e () => (z) { z = Neg (z) }>"
    text = f"main (float[2] x, bool c, float[2] z) => (y) {{ {branch} {held if verb == 'convert' else ''} }}"
    refused(tmp_path, model_of(text, opset=9), "M113", verb, *options)


@pytest.mark.parametrize("verb", ["infer", "run", "convert"])
def test_a_node_has_two_graphs_in_attributes_of_one_name(tmp_path, verb):
    text = """main (bool c, float[2] x) => (y) { y = If (c) <then_branch = t () => (a) { a = Relu (x) },
        else_branch = e () => (b) { q = If (c) <then_branch = u () => (a) { a = Relu (x) },
            else_branch = f () => (b) { b = Neg (x) }>  b = Neg (x) }> }"""
    model = model_of(text)
    node = model.graph.node[0]
    node.attribute.add().CopyFrom(node.attribute[1])
    del node.attribute[1].g.node[1:], node.attribute[2].g.node[0].attribute[:]
    options = {"infer": ("-o", tmp_path / "out.onnx"), "run": ("--random",), "convert": ("--to", "9", "--plan")}[verb]
    refused(tmp_path, model, "M113", verb, *options)


FUNCTIONS = """<ir_version: 10, opset_import: ["": 21, "d": 1]> main (float[2] x) => (float[2] y) { y = Relu (x) }
    <opset_import: ["": 21, "d": 1], domain: "d"> f (v) => (w) { w = d.g (v) }
    <opset_import: ["": 21, "d": 1], domain: "d"> g (v) => (w) { w = d.f (v) }"""


@pytest.mark.parametrize("verb", ["infer", "run", "convert"])
@pytest.mark.parametrize(("code", "calls", "version"), [("M114", "d.g", 21), ("M107", "Relu", 0)])
def test_a_function_that_nothing_calls_is_malformed(tmp_path, verb, code, calls, version):
    model = onnx.parser.parse_model(FUNCTIONS.replace("d.g", calls))
    model.functions[0].opset_import[0].version = version
    options = {"infer": ("-o", tmp_path / "out.onnx"), "run": ("--random",), "convert": ("--to", "17")}[verb]
    refused(tmp_path, model, code, verb, *options)


@pytest.mark.parametrize(
    "name", ["sequences_that_are_declared_tensors", "sequences_of_sequences", "sequences_that_are_made_of_nothing"]
)
def test_sequences_that_are_none_have_an_end_of_ours(name, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(getattr(models, name)())
    own(attack("convert", path, "--to", "7", "--plan"), 0, 1)
