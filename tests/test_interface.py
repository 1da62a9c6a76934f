"""What changed between two models for their callers: kinds and levels, laws of them, and what is read for that."""

import itertools

import ml_dtypes
import numpy as np
import onnx
import pytest
from google.protobuf.message import Message
from hypothesis import given, settings
from hypothesis import strategies as st

import opset
from opset.description import content_changes
from opset.description.interface import KINDS, compare_interfaces, version_for, with_version
from opset.description.type_changes import widens
from opset.errors import KEPT, Finding, ModelError, VersionError
from opset.model.elements import ELEMENTS
from opset.model.model_version import LEVELS, ModelVersion
from opset.model.storage import external, source, wire
from tests.bounds import draws, lines
from tests.test_docs import ROOT

HEAD = '<ir_version: 8, opset_import: ["": 17], model_version: 7> m '
SAME = "(float[N, 3] x) => (float[N, 3] y)"
BODY = " { y = Relu (x) }"


def model(text, body=BODY):
    """Return a model of a text, or of a signature; in the names of sizes, "times" and "plus" are what they say."""
    message = opset.parse_model(text if text.startswith("<") else HEAD + text + body)
    for value in (*message.graph.input, *message.graph.output):
        for dim in value.type.tensor_type.shape.dim:
            if "_times_" in dim.dim_param or "_plus_" in dim.dim_param:
                words = dim.dim_param.replace("two", "2").replace("three", "3")
                dim.dim_param = words.replace("_times_", "*").replace("_plus_", " + ")
    return message


def found(old, new):
    """Return the level of a change, and the kinds with their places, but those of nodes and weights."""
    compared = compare_interfaces(old, new)
    assert all((each.level, each.stated, each.why) == KINDS[each.kind] for each in compared.changes)
    shown = [(each.kind, each.place) for each in compared.changes if each.level in ("MAJOR", "MINOR")]
    return compared.level, shown


# The signatures of the old and the new model, the level, and the kinds with their places.
SIGNATURES = {
    "the same": (SAME, SAME, "NONE", []),
    "variables renamed": (SAME, "(float[batch, 3] x) => (float[batch, 3] y)", "NONE", []),
    "an expression renamed": (
        "(float[N, M] x) => (float[M_plus_N] y)", "(float[A, B] x) => (float[A_plus_B] y)", "NONE", [],
    ),
    "an expression of sizes of inputs renamed": (
        "(float[N, M, M_plus_N] x) => (float[1] y)", "(float[A, B, A_plus_B] x) => (float[1] y)", "NONE", [],
    ),
    "an expression of sizes of inputs is any size": (
        "(float[N, M, M_plus_N] x) => (float[1] y)", "(float[A, B, ?] x) => (float[1] y)", "MINOR",
        [("input-widened", "input 'x', dimension 2")],
    ),
    "any size is an expression of sizes of inputs": (
        "(float[N, M, ?] x) => (float[1] y)", "(float[A, B, A_plus_B] x) => (float[1] y)", "MAJOR",
        [("input-narrowed", "input 'x', dimension 2")],
    ),
    "a free expression renamed": (
        "(float[two_times_N] x) => (float[1] y)", "(float[two_times_A] x) => (float[1] y)", "NONE", [],
    ),
    "a free expression renamed, whose terms are in another order": (
        "(float[two_times_M_plus_N] x) => (float[1] y)", "(float[A_plus_two_times_B] x) => (float[1] y)", "NONE", [],
    ),
    "a free expression renamed, with a name within another": (
        "(float[ab_times_c_plus_a] x) => (float[1] y)", "(float[p_times_q_plus_r] x) => (float[1] y)", "NONE", [],
    ),
    "a free expression with another factor": (
        "(float[two_times_M_plus_N] x) => (float[1] y)", "(float[A_plus_three_times_B] x) => (float[1] y)",
        "MAJOR", [("input-type", "input 'x', dimension 0")],
    ),
    "a name for a size without one": (
        "(float[?, 3] x) => (float[3] y)", "(float[N, 3] x) => (float[3] y)", "PATCH", [],
    ),
    "batch fixed": (
        SAME, "(float[1, 3] x) => (float[1, 3] y)", "MAJOR", [("input-narrowed", "input 'x', dimension 0")],
    ),
    "batch opened": (
        "(float[1, 3] x) => (float[1, 3] y)", SAME, "MINOR", [("input-widened", "input 'x', dimension 0")],
    ),
    "two variables become one": (
        "(float[N, M] x) => (float[2] y)", "(float[N, N] x) => (float[2] y)", "MAJOR",
        [("input-narrowed", "input 'x', dimension 1")],
    ),
    "one variable becomes two": (
        "(float[N, N] x) => (float[2] y)", "(float[N, M] x) => (float[2] y)", "MINOR",
        [("input-widened", "input 'x', dimension 1")],
    ),
    "one variable over two inputs becomes two": (
        "(float[N] a, float[N] x) => (float[2] y)", "(float[N] a, float[M] x) => (float[2] y)", "MINOR",
        [("input-widened", "input 'x', dimension 0")],
    ),
    "another size": (
        SAME, "(float[N, 4] x) => (float[N, 5] y)", "MAJOR",
        [("input-type", "input 'x', dimension 1"), ("output-type", "output 'y', dimension 1")],
    ),
    "another free expression": (
        "(float[two_times_N] x) => (float[1] y)", "(float[three_times_A] x) => (float[1] y)",
        "MAJOR", [("input-type", "input 'x', dimension 0")],
    ),
    "an expression that no number is": (
        "(float[N, two_times_N] x) => (float[1] y)", "(float[?, 8] x) => (float[1] y)",
        "MAJOR", [("input-type", "input 'x', dimension 1"), ("input-widened", "input 'x', dimension 0")],
    ),
    "another expression": (
        "(float[N] x) => (float[two_times_N] y)", "(float[N] x) => (float[three_times_N] y)", "MAJOR",
        [("output-type", "output 'y', dimension 0")],
    ),
    "a product of sizes renamed": (
        "(float[M, N] x) => (float[M_times_N] y)", "(float[A, B] x) => (float[A_times_B] y)", "NONE", [],
    ),
    "a product becomes one of its factors": (
        "(float[M, N] x) => (float[M_times_N] y)", "(float[M, N] x) => (float[M] y)", "MAJOR",
        [("output-type", "output 'y', dimension 0")],
    ),
    "a free product becomes one size": (
        "(float[M_times_N] x) => (float[1] y)", "(float[M] x) => (float[1] y)", "MINOR",
        [("input-widened", "input 'x', dimension 0")],
    ),
    "a free size becomes a product": (
        "(float[N] x) => (float[1] y)", "(float[M_times_N] x) => (float[1] y)", "MAJOR",
        [("input-narrowed", "input 'x', dimension 0")],
    ),
    "a multiple of a size": (
        "(float[N] x) => (float[N] y)", "(float[N] x) => (float[two_times_N] y)", "MAJOR",
        [("output-type", "output 'y', dimension 0")],
    ),
    "another rank": (
        "(float[N] x) => (float[2] y)", "(float[N, 1] x) => (float[2, 1] y)", "MAJOR",
        [("input-type", "input 'x'"), ("output-type", "output 'y'")],
    ),
    "a rank is stated": (
        "(float[] x) => (float[] y)", "(float[N] x) => (float[N] y)", "MAJOR",
        [("input-narrowed", "input 'x'"), ("output-narrowed", "output 'y'")],
    ),
    "a rank is no longer stated": (
        "(float[N] x) => (float[N] y)", "(float[] x) => (float[] y)", "MAJOR",
        [("output-widened", "output 'y'"), ("input-widened", "input 'x'")],
    ),
    "an output narrows": (
        "(float[2] x) => (float[K, 3] y)", "(float[2] x) => (float[4, 3] y)", "MINOR",
        [("output-narrowed", "output 'y', dimension 0")],
    ),
    "an output widens": (
        "(float[2] x) => (float[4, 3] y)", "(float[2] x) => (float[K, 3] y)", "MAJOR",
        [("output-widened", "output 'y', dimension 0")],
    ),
    "an output no longer has the size of an input": (
        SAME, "(float[N, 3] x) => (float[M, 3] y)", "MAJOR", [("output-widened", "output 'y', dimension 0")],
    ),
    "an output is fixed while the input is not": (
        SAME, "(float[N, 3] x) => (float[8, 3] y)", "MAJOR", [("output-type", "output 'y', dimension 0")],
    ),
    "an incompatible type": (
        SAME, "(string[N, 3] x) => (string[N, 3] y)", "MAJOR",
        [("input-type", "input 'x'"), ("output-type", "output 'y'")],
    ),
    "a wider type": (
        "(float16[N, 3] x) => (int32[N, 3] y)", "(float[N, 3] x) => (int64[N, 3] y)", "MINOR",
        [("input-type-widened", "input 'x'"), ("output-type-widened", "output 'y'")],
    ),
    "a smaller type": (
        "(float[N, 3] x) => (int64[N, 3] y)", "(float16[N, 3] x) => (int32[N, 3] y)", "MAJOR",
        [("input-type", "input 'x'"), ("output-type", "output 'y'")],
    ),
    "an input without a default": (
        SAME, "(float[N, 3] x, float z) => (float[N, 3] y)", "MAJOR", [("input-added", "input 'z'")],
    ),
    "an input with a default": (
        SAME, "(float[N, 3] x, float[1] z = {1}) => (float[N, 3] y)", "MINOR",
        [("input-added-with-default", "input 'z'")],
    ),
    "an input with a default before others": (
        SAME, "(float[1] z = {1}, float[N, 3] x) => (float[N, 3] y)", "MAJOR",
        [("input-order", "inputs"), ("input-added-with-default", "input 'z'")],
    ),
    "an input becomes optional": (
        "(float[2] x, float[1] z) => (float[2] y)", "(float[2] x, float[1] z = {1}) => (float[2] y)", "MINOR",
        [("input-default-added", "input 'z'")],
    ),
    "an input becomes required": (
        "(float[2] x, float[1] z = {1}) => (float[2] y)", "(float[2] x, float[1] z) => (float[2] y)", "MAJOR",
        [("input-default-removed", "input 'z'")],
    ),
    "another default": (
        "(float[2] x, float[1] z = {1}) => (float[2] y)", "(float[2] x, float[1] z = {2}) => (float[2] y)", "PATCH", [],
    ),
    "an input is gone": (
        "(float[2] x, float z) => (float[2] y)", "(float[2] x) => (float[2] y)", "MAJOR",
        [("input-removed", "input 'z'")],
    ),
    "an input has another name": (
        "(float[2] x, float z) => (float[2] y)", "(float[2] x, float w) => (float[2] y)", "MAJOR",
        [("input-renamed", "input 'z'")],
    ),
    "an input has another name and type": (
        "(float[2] x, float z) => (float[2] y)", "(float[2] x, int64 w) => (float[2] y)", "MAJOR",
        [("input-removed", "input 'z'"), ("input-added", "input 'w'")],
    ),
    "inputs in another order": (
        "(float[2] x, float z) => (float[2] y)", "(float z, float[2] x) => (float[2] y)", "MAJOR",
        [("input-order", "inputs")],
    ),
    "an output more": (SAME, "(float[N, 3] x) => (float[N, 3] y, float z)", "MINOR", [("output-added", "output 'z'")]),
    "an output before others": (
        SAME, "(float[N, 3] x) => (float z, float[N, 3] y)", "MAJOR",
        [("output-order", "outputs"), ("output-added", "output 'z'")],
    ),
    "an output is gone": (
        "(float[2] x) => (float[2] y, float z)", "(float[2] x) => (float[2] y)", "MAJOR",
        [("output-removed", "output 'z'")],
    ),
    "an output has another name": (
        "(float[2] x) => (float[2] y, float z)", "(float[2] x) => (float[2] y, float w)", "MAJOR",
        [("output-renamed", "output 'z'")],
    ),
    "a sequence of narrower tensors": (
        "(seq(float[N]) x) => (float[1] y)", "(seq(float[2]) x) => (float[1] y)", "MAJOR",
        [("input-narrowed", "input 'x', dimension 0")],
    ),
    "an input may be nothing": (
        "(float[2] x) => (float[1] y)", "(optional(float[2]) x) => (float[1] y)", "MINOR",
        [("input-widened", "input 'x'")],
    ),
    "an output may be nothing": (
        "(float[2] x) => (float[1] y)", "(float[2] x) => (optional(float[1]) y)", "MAJOR",
        [("output-widened", "output 'y'")],
    ),
    "an optional of another type": (
        "(float[2] x) => (float[1] y)", "(optional(string[2]) x) => (float[1] y)", "MAJOR",
        [("input-type", "input 'x'"), ("input-widened", "input 'x'")],
    ),
    "an input has to be something": (
        "(optional(float[2]) x) => (float[1] y)", "(float[2] x) => (float[1] y)", "MAJOR",
        [("input-narrowed", "input 'x'")],
    ),
    "an input of another type has to be something": (
        "(optional(float[2]) x) => (float[1] y)", "(string[2] x) => (float[1] y)", "MAJOR",
        [("input-narrowed", "input 'x'"), ("input-type", "input 'x'")],
    ),
    "an optional of a wider type": (
        "(optional(float[2]) x) => (float[1] y)", "(optional(double[2]) x) => (float[1] y)", "MINOR",
        [("input-type-widened", "input 'x'")],
    ),
    "an optional of another size": (
        "(float[1] x) => (optional(float[2]) y)", "(float[1] x) => (optional(float[3]) y)", "MAJOR",
        [("output-type", "output 'y', dimension 0")],
    ),
    "the first of two inputs of one type is gone, and one is new": (
        "(float[2] x, float[2] z) => (float[2] y)", "(float[2] z, float[2] w) => (float[2] y)", "MAJOR",
        [("input-removed", "input 'x'"), ("input-added", "input 'w'")],
    ),
    "inputs of one type before others": (
        "(float[2] x, float[2] z) => (float[2] y)", "(float[2] w, float[2] x) => (float[2] y)", "MAJOR",
        [("input-removed", "input 'z'"), ("input-added", "input 'w'"), ("input-order", "inputs")],
    ),
    "values of a map": (
        "(map(int64, float[N]) x) => (float[1] y)", "(map(int64, double[N]) x) => (float[1] y)", "MINOR",
        [("input-type-widened", "input 'x'")],
    ),
    "keys of a map": (
        "(map(int64, float[N]) x) => (float[1] y)", "(map(string, float[N]) x) => (float[1] y)", "MAJOR",
        [("input-type", "input 'x'")],
    ),
    "a sparse tensor": (
        "(float[N] x) => (float[1] y)", "(sparse_tensor(float[N]) x) => (float[1] y)", "MAJOR",
        [("input-type", "input 'x'")],
    ),
    "another size of a sparse tensor": (
        "(sparse_tensor(float[2]) x) => (float[1] y)", "(sparse_tensor(float[N]) x) => (float[1] y)", "MINOR",
        [("input-widened", "input 'x', dimension 0")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SIGNATURES)
def test_signatures(name):
    old, new, level, kinds = SIGNATURES[name]
    assert found(model(old), model(new)) == (level, kinds)


def changed(**parts):
    """Return a model with fields of it, or of its graph, that are set."""
    message = model(SAME, " <float[2] w = {1, 2}, float[N] a> { a = Identity (x) y = Relu (a) }")
    for name, value in parts.items():
        setattr(message.graph if hasattr(message.graph, name) and name != "domain" else message, name, value)
    return message


def test_other_changes_need_a_patch():
    old, new = changed(), changed(name="n", doc_string="words")
    new.doc_string, new.producer_name, new.domain, new.ir_version = "words", "p", "d", 9
    new.graph.node[0].op_type = "Abs"
    new.graph.node.add(op_type="Neg")
    new.graph.initializer[0].float_data[0] = 9
    new.graph.initializer.add(name="v")
    new.graph.value_info[0].name = "b"
    new.graph.input[0].doc_string = "words"
    new.metadata_props.add(key="author")
    new.functions.add(name="f")
    new.training_info.add()
    for name in "cdef":
        new.configuration.add(name=name)
    new.opset_import[0].version = 18
    new.opset_import.add(domain="com.example", version=2)
    compared = compare_interfaces(old, new)
    assert compared.level == "PATCH" and (compared.version_before, compared.next_version) == ("7", "8")
    assert [(each.kind, each.place, each.before, each.after) for each in compared.changes] == [
        ("ir-version", "IR version", "8", "9"),
        ("opset-import", "operator set ai.onnx", "17", "18"),
        ("opset-import", "operator set com.example", "not imported", "2"),
        ("nodes", "graph.node", "2 nodes", "3 nodes"),
        ("weights", "graph.initializer: w, v", "1 tensor", "2 tensors"),
        ("annotations", "graph.value_info: a, b", "", ""),
        ("documentation", "graph.doc_string", "", ""),
        ("documentation", "graph.name", "", ""),
        ("annotations", "graph.input: x", "", ""),
        ("nodes", "functions: f", "no functions", "1 function"),
        ("other", "training_info", "no training graphs", "1 training graph"),
        ("other", "configuration: c, d, e and 1 more", "no device configurations", "4 device configurations"),
        ("documentation", "metadata_props", "no pairs", "1 pair"),
        ("documentation", "doc_string", "", ""),
        ("documentation", "producer_name", "", ""),
        ("documentation", "domain", "", ""),
    ]


def test_unknown_fields_and_the_version_alone():
    data = model(SAME).SerializeToString()
    assert [each.kind for each in compare_interfaces(data, data + b"\xfa\x7f\x01x").changes] == ["other"]
    other = model(SAME)
    other.model_version = -5
    compared = compare_interfaces(data, other)
    assert (compared.level, compared.version_after) == ("NONE", "65535.65535.4294967291")


def test_denotations_and_formats_of_images_are_meaning():
    old, new = model(SAME), model(SAME)
    for message, whole, first, pixels in ((old, "IMAGE", "DATA_BATCH", "Rgb8"), (new, "AUDIO", "DATA_TIME", "GRAY8")):
        for value in (message.graph.input[0], message.graph.output[0]):
            value.type.denotation = whole
            value.type.tensor_type.shape.dim[0].denotation = first
        message.metadata_props.add(key="Image.BitmapPixelFormat", value=pixels)
    assert found(old, old) == found(new, new) == ("NONE", [])
    assert found(old, new) == ("MAJOR", [
        ("input-meaning", "input 'x'"), ("input-meaning", "input 'x', dimension 0"),
        ("output-meaning", "output 'y'"), ("output-meaning", "output 'y', dimension 0"),
        ("image-format", "metadata 'image.bitmappixelformat'"),
    ])  # fmt: skip
    new.metadata_props[0].value = "RGB8"
    assert "image-format" not in [each.kind for each in compare_interfaces(old, new).changes]
    assert found(model(SAME), new) == found(new, model(SAME)) == ("PATCH", [])
    keys = ["Author", "Image.NominalPixelRange", "Image.BitmapPixelFormat", "Image.ColorSpaceGamma"]
    old, new = model(SAME), model(SAME)
    for key in keys:
        old.metadata_props.add(key=key, value="a")
        new.metadata_props.add(key=key, value="b")
    assert found(old, new)[1] == [("image-format", f"metadata '{key.lower()}'") for key in keys[1:]]  # in their order


def test_opaque_types_and_types_that_are_not_stated():
    old, new = model(SAME), model(SAME)
    for message, name in ((old, "a"), (new, "b")):
        message.graph.input[0].type.opaque_type.name = name
    assert found(old, old)[0] == "NONE"
    compared = compare_interfaces(old, new).changes[0]
    assert (compared.kind, compared.before, compared.after) == ("input-type", "opaque(, a)", "opaque(, b)")
    for message in (old, new):
        message.graph.output[0].ClearField("type")
    assert found(model(SAME), old)[1][1:] == [("output-widened", "output 'y'")]
    assert found(old, model(SAME))[1][1:] == [("output-narrowed", "output 'y'")]
    assert found(old, old) == ("NONE", [])
    new.graph.output[0].type.optional_type.elem_type.CopyFrom(model(SAME).graph.output[0].type)
    new.graph.input[0].CopyFrom(old.graph.input[0])
    assert found(old, new) == ("MINOR", [("output-narrowed", "output 'y'")])
    assert found(new, old) == ("MAJOR", [("output-widened", "output 'y'")])


def test_before_ir_version_4_initializers_are_no_inputs_of_callers():
    old = '<ir_version: 3, opset_import: ["": 8]> m (float[2] x, float[1] w = {1}) => (float[2] y) { y = Add (x, w) }'
    new = old.replace("float[1] w = {1}", "float[1] a = {1}, float[1] b = {2}")
    assert found(model(old), model(new)) == ("PATCH", [])
    newer = [each.replace("ir_version: 3", "ir_version: 4") for each in (old, new)]
    assert found(*map(model, newer))[0] == "MAJOR"


def test_a_sparse_initializer_is_a_default():
    old, new = model("(float[2] x, float[4] z) => (float[2] y)"), model("(float[2] x, float[4] z) => (float[2] y)")
    new.graph.sparse_initializer.add().values.name = "z"
    assert found(old, new) == ("MINOR", [("input-default-added", "input 'z'")])


def test_sizes_are_shown_as_the_models_write_them():
    for old, new, states in (
        ("two_times_N", "three_times_A", ("2*N", "3*A")),
        ("N", "4", ("N", "4")),
        ("4", "?", ("4", "?")),
        ("N, N", "N, M", ("N", "M")),
    ):
        texts = (f"(float[{sizes}] x) => (float[1] y)" for sizes in (old, new))
        change = compare_interfaces(*map(model, texts)).changes[0]
        assert (change.before, change.after) == states


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("an input is gone", [("input 'z'", "tensor(float)[]", "")]),
        ("an input without a default", [("input 'z'", "", "tensor(float)[]")]),
        ("an input becomes required", [("input 'z'", "", ""), ("graph.initializer: z", "1 tensor", "no tensors")]),
        ("an input has another name", [("input 'z'", "'z'", "'w'")]),
        ("inputs in another order", [("inputs", "x, z", "z, x")]),
        ("an output is gone", [("output 'z'", "tensor(float)[]", "")]),
        ("an output has another name", [("output 'z'", "'z'", "'w'")]),
        ("an output before others", [("outputs", "y", "z, y"), ("output 'z'", "", "tensor(float)[]")]),
        ("a rank is stated", [("input 'x'", "any rank", "rank 1"), ("output 'y'", "any rank", "rank 1")]),
        ("another rank", [("input 'x'", "rank 1", "rank 2"), ("output 'y'", "rank 1", "rank 2")]),
        ("keys of a map", [("input 'x'", "map(int64, float)", "map(string, float)")]),
        ("a sparse tensor", [("input 'x'", "tensor(float)", "sparse_tensor(float)")]),
        ("an input may be nothing", [("input 'x'", "tensor(float)", "optional(tensor(float))")]),
        ("an incompatible type", [("input 'x'", "tensor(float)", "tensor(string)"),
                                  ("output 'y'", "tensor(float)", "tensor(string)")]),
    ],
)  # fmt: skip
def test_a_change_says_what_was_and_what_is(name, changes):
    compared = compare_interfaces(*map(model, SIGNATURES[name][:2]))
    assert [(each.place, each.before, each.after) for each in compared.changes] == changes


def test_a_variable_is_renamed_everywhere_or_it_is_a_change():
    text = (
        HEAD
        + """(float[N, M] x) => (float[N, M] y) <float[N] a> {
        a = If (x) <then_branch = t () => (float[M, N] b) { b = Abs (x) },
                    else_branch = e () => (float[N] b) { b = Neg (x) }>
        y = Relu (a) }"""
    )
    renamed = text.replace("N", "one").replace("M", "N").replace("one", "M").replace("Meg", "Neg")
    assert found(model(text), model(renamed)) == ("NONE", [])
    half = text.replace("(float[N, M] x) => (float[N, M] y)", "(float[B, M] x) => (float[B, M] y)")
    compared = compare_interfaces(model(text), model(half))
    assert compared.level == "PATCH" and {each.kind for each in compared.changes} == {"nodes", "annotations"}


def dims_in(message):
    """All dimensions in a message, whatever they are of."""
    for field, value in message.ListFields():
        for each in [value] if isinstance(value, Message) else value if field.message_type is not None else ():
            yield from [each] if each.DESCRIPTOR.name == "Dimension" else dims_in(each)


def test_a_variable_is_renamed_wherever_a_model_states_types():
    whole = model(
        HEAD.replace('"": 17', '"": 17, "f": 1')
        + """(float[N, M] x, seq(float[N]) s, map(int64, float[M]) p) => (float[N] y, sparse_tensor(float[N]) z)
        <float[N] a> { a = f.G (x)  y = Optional <type = float[M], u = b () => (float[N] o) <float[M] i> {}> (a) }
        <domain: "f", opset_import: ["": 17]> G (c) => (d) <float[M] c, optional(float[N]) d> { d = Abs (c) }"""
    )
    for graph in ("initialization", "algorithm"):
        shaped(getattr(whole.training_info.add(), graph).input.add(name="t"), 1, ["M"])
    several = whole.graph.node[0].attribute.add(name="several", type=14).type_protos
    for name in "NM":
        several.add().tensor_type.shape.dim.add(dim_param=name)
    new = type(whole)()
    new.CopyFrom(whole)
    for dim in dims_in(new):
        dim.dim_param = f"other {dim.dim_param}"
    assert len([*dims_in(new)]) == 16 and compare_interfaces(whole, new).level == "NONE"
    for at, kept in enumerate(dims_in(whole)):
        other = type(new)()
        other.CopyFrom(new)
        [*dims_in(other)][at].dim_param = kept.dim_param
        assert compare_interfaces(whole, other).level != "NONE", at


def test_the_first_thousand_changes_are_kept_and_those_that_matter_most():
    def outputs(count):
        return model(f"(float[2] x) => ({', '.join(f'float v{number}' for number in range(count))})")

    compared = compare_interfaces(outputs(2 * KEPT), model("(int64[2] x) => (float y)"))
    assert (len(compared.changes), compared.omitted, compared.level) == (KEPT, KEPT + 1, "MAJOR")
    old, new, few, fewer = map(outputs, (2 * KEPT, KEPT, 200, 100))
    with lines(200_000) as some:
        compare_interfaces(few, fewer)
    with lines(12 * some()):  # ten times as many, and not a hundred times the work
        compare_interfaces(old, new)


@pytest.mark.parametrize("values", sorted((ROOT / "examples").glob("*.npz")), ids=lambda path: path.stem)
def test_a_conversion_changes_nothing_for_callers(values):
    path = values.with_suffix(".onnx")  # a converted model beside them has no values
    compared = compare_interfaces(path, opset.convert(opset.load(path), 21))
    assert compared.level == "PATCH" and {each.kind for each in compared.changes} <= {
        "opset-import",
        "nodes",
        "weights",
    }


def test_a_message_of_onnx_and_a_model_without_a_graph(tmp_path):
    given = onnx.load_model_from_string(model(SAME).SerializeToString())
    assert compare_interfaces(given, given).level == "NONE"
    with pytest.raises(ModelError) as caught:
        compare_interfaces(b"\x08\x08", given)
    assert caught.value.findings == (Finding("M109", "the model has no graph"),)
    (tmp_path / "m.onnx").write_bytes(b"\x08\x08")
    with pytest.raises(ModelError) as caught:
        compare_interfaces(given, tmp_path / "m.onnx")
    assert caught.value.file == str(tmp_path / "m.onnx")


def test_sizes_that_take_too_much_work():
    def models(name, count):
        message = plain([[[] for _ in range(count)], []])
        for number, value in enumerate(message.graph.input):
            terms = [f"{name}{number}_{each:02}" for each in range(20)]
            shaped(value, 1, [" + ".join(terms), f"floor(({' + '.join(terms)})/({terms[0]} + {terms[1]}))"])
        return message

    assert compare_interfaces(models("N", 20), models("M", 20)).level == "NONE"
    for compare in (compare_interfaces, opset.compare_models):
        with pytest.raises(opset.InferenceError) as caught:
            compare(models("N", 20), models("M", 20), limits=opset.Limits(max_steps=50_000))
        assert (caught.value.code, caught.value.why) == ("I401", "more than 50,000 steps are needed")
        assert (caught.value.place, caught.value.help.count("limits=")) == ("sizes of inputs and outputs", 1)
    work = []
    for count in (25, 100):
        with lines(20_000_000) as done:
            compare_interfaces(models("N", count), models("M", count))
        work.append(done())
    assert work[1] < 6 * work[0]  # four times as many


# Element types


def test_a_wider_type_has_each_value_of_the_other():
    names = [each.name for each in ELEMENTS.values()]
    pairs = {(old, new) for old in names for new in names if widens(old, new)}
    assert ("int32", "int64") in pairs and ("float16", "float") in pairs and ("uint4", "int8") in pairs
    assert (
        not {("int64", "int32"), ("float16", "bfloat16"), ("uint8", "int8"), ("int32", "float"), ("bool", "int8")}
        & pairs
    )
    small = [each for each in ELEMENTS.values() if 1 < each.bits <= 16 and each.name != "bool"]
    values = {each.name: values_of_type(each) for each in small}
    for old, new in itertools.product(values, repeat=2):
        is_kind = ("int" in old) == ("int" in new)
        assert ((old, new) in pairs) == (is_kind and values[old] < values[new]), (old, new)
    for old, new in itertools.product(values, ("float", "double")):
        assert ((old, new) in pairs) == ("float" in old)


def values_of_type(element):
    """Return the texts of all values of an element type of at most 16 bits; -0.0 is not 0.0."""
    dtype = np.dtype(getattr(ml_dtypes, element.dtype, None) or element.dtype)
    if "int" in element.name:
        limits = ml_dtypes.iinfo(dtype)
        return {repr(float(each)) for each in range(limits.min, limits.max + 1)}
    patterns = np.arange(1 << element.bits, dtype=f"u{dtype.itemsize}").view(dtype)
    with np.errstate(invalid="ignore"):
        return {repr(float(each)) for each in patterns}


# Laws

SIZES = [2, 3, "N", "M", None]
SHAPES = st.lists(st.sampled_from(SIZES), max_size=2)
PLAIN = st.tuples(st.lists(SHAPES, min_size=1, max_size=2), st.lists(SHAPES, min_size=1, max_size=2))


def shaped(value, element, shape):
    value.type.tensor_type.elem_type = element
    value.type.tensor_type.shape.SetInParent()
    for size in shape:
        dim = value.type.tensor_type.shape.dim.add()
        if size is not None:
            setattr(dim, "dim_value" if isinstance(size, int) else "dim_param", size)


def plain(signature):
    """Return a model of float tensors with these shapes of inputs and outputs."""
    message = onnx.ModelProto(ir_version=8, graph=onnx.GraphProto())
    for values, shapes in zip((message.graph.input, message.graph.output), signature, strict=True):
        for number, shape in enumerate(shapes):
            shaped(values.add(name=f"{'x' if values is message.graph.input else 'y'}{number}"), 1, shape)
    return message


def admitted(shapes, given):
    """Return which shapes of concrete sizes these are, if variables have the values that are given."""
    free = sorted({size for shape in shapes for size in shape if isinstance(size, str)} - given.keys())
    for values in itertools.product(RANGE, repeat=len(free)):
        bound = given | dict(zip(free, values, strict=True))
        choices = [RANGE if size is None else [bound.get(size, size)] for shape in shapes for size in shape]
        yield from ((sizes, bound) for sizes in itertools.product(*choices))


RANGE = [2, 3, 5, 7]


def level_by_cases(old, new):
    """Return the level of a change by trying all sizes of a range."""
    if [*map(len, old[0])] != [*map(len, new[0])] or [*map(len, old[1])] != [*map(len, new[1])]:
        return "MAJOR"
    fed, taken = ({} for _ in range(2))
    for sets, (inputs, outputs) in ((fed, old), (taken, new)):
        for sizes, bound in admitted(inputs, {}):
            sets.setdefault(sizes, set()).update(each for each, _ in admitted(outputs, bound))
    if fed.keys() - taken.keys() or any(taken[sizes] - fed[sizes] for sizes in fed):
        return "MAJOR"
    return "MINOR" if taken.keys() - fed.keys() or any(fed[sizes] - taken[sizes] for sizes in fed) else "NONE"


@st.composite
def pairs_of_signatures(draw):
    """Two signatures of the same number and ranks of inputs and outputs, which differ in some sizes."""
    old = draw(PLAIN)
    some = st.one_of(st.just("same"), st.just("same"), st.sampled_from(SIZES))
    sizes = [[[(size, draw(some)) for size in shape] for shape in shapes] for shapes in old]
    new = [[[old if new == "same" else new for old, new in shape] for shape in shapes] for shapes in sizes]
    return old, new


@settings(max_examples=draws(1200))
@given(pairs_of_signatures())
def test_the_level_is_that_of_all_cases(pair):
    level = compare_interfaces(*map(plain, pair)).level
    assert (level if level != "PATCH" else "NONE") == level_by_cases(*pair)


def kinds_of_types(inner):
    return st.one_of(
        st.tuples(st.just("seq"), inner), st.tuples(st.just("optional"), inner), st.tuples(st.just("map"), inner)
    )


ELEMENT = st.sampled_from([1, 10, 11, 6, 7, 2, 8, 0])
TYPES = st.recursive(
    st.tuples(st.sampled_from(["tensor", "sparse"]), ELEMENT, st.none() | SHAPES), kinds_of_types, max_leaves=1
)
VALUES = st.dictionaries(st.sampled_from("abc"), TYPES, max_size=3)
INTERFACES = st.tuples(VALUES, VALUES, st.sets(st.sampled_from("abc")))


def typed(proto, kind, *parts):
    """Write a type into a TypeProto."""
    if kind in ("tensor", "sparse"):
        stated = proto.tensor_type if kind == "tensor" else proto.sparse_tensor_type
        stated.elem_type, shape = parts
        if shape is not None:
            shaped_like = stated.shape
            shaped_like.SetInParent()
            for size in shape:
                dim = shaped_like.dim.add()
                if size is not None:
                    setattr(dim, "dim_value" if isinstance(size, int) else "dim_param", size)
    elif kind == "map":
        proto.map_type.key_type = 7
        typed(proto.map_type.value_type, *parts[0])
    else:
        typed((proto.sequence_type if kind == "seq" else proto.optional_type).elem_type, *parts[0])


def drawn(interface):
    """Return a model with an interface: types of inputs and of outputs by name, and names of those with a default."""
    message = onnx.ModelProto(ir_version=8, graph=onnx.GraphProto())
    for values, types in zip((message.graph.input, message.graph.output), interface[:2], strict=True):
        for name, kind in types.items():
            typed(values.add(name=name).type, *kind)
    for name in sorted(interface[2] & interface[0].keys()):
        message.graph.initializer.add(name=name, data_type=1)
    return message


def rank(level):
    return LEVELS.index(level)


@st.composite
def steps(draw):
    """Three interfaces, each the one before with a value added, exchanged or removed, or a default."""
    chain = [draw(INTERFACES)]
    for _ in range(2):
        sides, defaults = [dict(chain[-1][0]), dict(chain[-1][1])], set(chain[-1][2])
        for _ in range(draw(st.integers(0, 2))):
            side, name = draw(st.sampled_from(sides)), draw(st.sampled_from("abc"))
            kind = draw(st.sampled_from(["type", "gone", "default"]))
            if kind == "type":
                side[name] = draw(TYPES)
            elif kind == "gone":
                side.pop(name, None)
            else:
                defaults ^= {name}
        chain.append((*sides, defaults))
    return chain


@settings(max_examples=draws(1200))
@given(steps())
def test_a_change_in_two_steps_is_no_greater_than_its_greater_step(chain):
    models = [drawn(each) for each in chain]
    levels = [compare_interfaces(*pair).level for pair in itertools.pairwise(models)]
    assert rank(compare_interfaces(models[0], models[2]).level) <= max(map(rank, levels))


@settings(max_examples=draws(300))
@given(INTERFACES, st.permutations(["N", "M", "batch"]))
def test_renamed_variables_are_no_change_and_a_model_is_itself(interface, names):
    old, new = drawn(interface), drawn(interface)
    assert compare_interfaces(old, old).level == "NONE"
    text = {"N": names[0], "M": names[1]}
    pending = [value.type for value in (*new.graph.input, *new.graph.output)]
    while pending:
        kind = pending.pop()
        pending += [kind.sequence_type.elem_type] if kind.HasField("sequence_type") else []
        pending += [kind.optional_type.elem_type] if kind.HasField("optional_type") else []
        pending += [kind.map_type.value_type] if kind.HasField("map_type") else []
        for stated in ("tensor_type", "sparse_tensor_type"):
            if kind.HasField(stated):
                for dim in getattr(kind, stated).shape.dim:
                    if dim.dim_param:
                        dim.dim_param = text[dim.dim_param]
    assert compare_interfaces(old, new).level == "NONE"


@settings(max_examples=draws(300))
@given(INTERFACES, INTERFACES, st.integers(0, 2**64 - 1))
def test_the_version_that_follows_is_higher_and_the_lowest(first, second, bits):
    old = drawn(first)
    old.model_version = ModelVersion.of(bits).number
    compared = compare_interfaces(old, drawn(second))
    if compared.next_version is None:
        assert bits >> 48 == 0xFFFF
        with pytest.raises(VersionError, match="V102"):
            version_for(compared)
        return
    following = version_for(compared)
    assert str(following) == compared.next_version
    assert (following > ModelVersion.of(bits)) == (compared.level != "NONE")
    if following.number & (1 << 64) - 1:
        below = ModelVersion.of((following.number & (1 << 64) - 1) - 1)
        with pytest.raises(VersionError, match=f"{below} is too low for what changed") as caught:
            version_for(compared, below)
        why = f"the old model has {ModelVersion.of(bits)}, and the change is {compared.level}"
        assert (caught.value.code, caught.value.why) == ("V101", why)
        assert caught.value.help.startswith(f"give {following} or a higher one")
    assert version_for(compared, following) == following
    assert version_for(compared, ModelVersion.of(-1)) == ModelVersion.of(-1)


# What is read

WEIGHTY = HEAD + """(float[2] x) => (float[2] y) { y = Relu (x) }"""
LARGE = 200 << 20


@pytest.fixture
def read(monkeypatch):
    """The sizes of what is read from files."""
    sizes = []

    def counted(descriptor, offset, count, name):
        sizes.append(count)
        return exactly(descriptor, offset, count, name)

    exactly = source.read_exactly
    monkeypatch.setattr(source, "read_exactly", counted)
    monkeypatch.setattr(external, "read_exactly", counted)
    return sizes


def weighty(path, text=WEIGHTY, size=LARGE, last=b""):
    """Write a model with a sparse initializer of so many bytes, which end with `last`."""
    message = model(text)
    graph, tensor = message.graph.SerializeToString(), onnx.TensorProto(name="w", data_type=2, dims=[size])
    message.ClearField("graph")
    weights = tensor.SerializeToString() + wire.header(9, size)
    graph += wire.header(5, len(weights) + size) + weights
    start = message.SerializeToString() + wire.header(7, len(graph) + size) + graph
    with open(path, "wb") as file:
        file.write(start)
        file.truncate(len(start) + size)
        file.seek(len(start) + size - len(last))
        file.write(last)
    return path


def test_weights_are_not_read_if_anything_else_differs(tmp_path, read):
    old = weighty(tmp_path / "old.onnx")
    new = weighty(tmp_path / "new.onnx", WEIGHTY.replace("Relu", "Abs"), last=b"x")
    compared = compare_interfaces(old, new)
    assert [each.kind for each in compared.changes] == ["nodes"] and 0 < sum(read) < 1 << 20
    read.clear()
    assert compare_interfaces(new, new).level == "NONE" and sum(read) < 1 << 20
    loaded = opset.load(new)
    with_version(loaded, version_for(compared)).save(tmp_path / "out.onnx")
    assert sum(read) < 1 << 20  # the system copies them
    out = opset.load(tmp_path / "out.onnx")
    assert out.proto.model_version == 8 and out.source.size == loaded.source.size


def test_equal_weights_are_compared_up_to_the_first_difference(tmp_path, read, monkeypatch):
    size = 8 << 20
    old, new = (weighty(tmp_path / f"{name}.onnx", size=size) for name in ("old", "new"))
    assert compare_interfaces(old, new).level == "NONE" and 2 * size <= sum(read) < 2 * size + (1 << 20)
    weighty(new, size=size, last=b"x")
    (change,) = compare_interfaces(old, new).changes
    assert (change.kind, change.place) == ("weights", "data in the file")
    weighty(new, size=size, last=b"x" * size)
    read.clear()
    assert compare_interfaces(old, new).level == "PATCH" and sum(read) < 3 << 20
    monkeypatch.setattr(content_changes, "MAX_COMPARED", size + 50)  # with the header
    (change,) = compare_interfaces(old, new).changes
    assert change.place == "data in the file"
    monkeypatch.setattr(content_changes, "MAX_COMPARED", size - 1)
    (change,) = compare_interfaces(old, new).changes
    assert change.place == "data that is too large to be compared"
    assert compare_interfaces(old, old).level == "NONE"


def test_large_data_that_only_one_model_has_or_of_other_length_differs(tmp_path):
    old, new = (opset.load(weighty(tmp_path / f"{size}.onnx", size=size << 20)) for size in (2, 3))
    segments = [[], []]
    for each, found in zip((old, new), segments, strict=True):
        content_changes._without_data(each, found)
    for before, after in (segments, (segments[0], []), ([], segments[1])):
        assert [*content_changes._data_changes(old, new, before, after)] == [("weights", "data in the file", "", "")]
    assert [*content_changes._data_changes(old, old, segments[0], segments[0])] == []
    after_same = [*segments[0], *segments[0]], [*segments[0], *segments[1]]
    assert [*content_changes._data_changes(old, new, *after_same)] == [("weights", "data in the file", "", "")]


def outside(folder, data):
    """Write a model into a folder with two tensors in one file of data beside it, and one of the same place."""
    folder.mkdir()
    message = model("(float[2] x) => (float[2] y)")
    message.graph.initializer.add(name="inside", data_type=2, dims=[4], raw_data=b"abcd")
    for name, offset in (("a", 0), ("again", 0), ("b", 4)):
        tensor = message.graph.initializer.add(name=name, data_type=2, dims=[4])
        external.set_reference(tensor, "weights", offset, 4)
    if data:
        (folder / "weights").write_bytes(data)
    (folder / "m.onnx").write_bytes(message.SerializeToString())
    return folder / "m.onnx"


def test_external_data(tmp_path, read):
    old, new = outside(tmp_path / "old", b"12345678"), outside(tmp_path / "new", b"12345678")
    assert compare_interfaces(old, new).level == "NONE" and read.count(4) == 4
    (new.parent / "weights").write_bytes(b"1234567x")
    (change,) = compare_interfaces(old, new).changes
    assert (change.kind, change.place) == ("weights", "data of tensor 'b'")
    (new.parent / "weights").unlink()
    (change,) = compare_interfaces(old, new).changes
    assert change.place == "data that cannot be compared: an external data file cannot be opened"
    assert compare_interfaces(new, new).level == "NONE"  # data of one place is equal, even if it is not there
    assert compare_interfaces(new.read_bytes(), new.read_bytes()).level == "NONE"
    for pair in ((new.read_bytes(), new), (new, new.read_bytes())):
        (change,) = compare_interfaces(*pair).changes
        assert change.place.startswith("data that cannot be compared: ")
    (new.parent / "weights").symlink_to(old.parent / "weights")
    assert compare_interfaces(old, new).level == "NONE"


def test_the_guide_has_every_kind():
    guide = (ROOT / "docs" / "model-versions.md").read_text(encoding="utf-8")
    for level in LEVELS[:0:-1]:
        kinds = [
            ", ".join(f"`{name}`" for name, kind in KINDS.items() if kind.level == level and kind.stated == stated)
            for stated in (True, False)
        ]
        assert f"| {level} | {' | '.join(kinds)} |\n" in guide
