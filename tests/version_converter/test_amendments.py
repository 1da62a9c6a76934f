"""Conversions write operators as a release of onnx has them, and read what any release had."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

import opset
from opset import parse_model
from opset.model.elements import NUMBERS
from opset.opsets.amendments import AMENDMENTS, amendments_of, operators_amended_after, schema_of_release
from opset.opsets.registry import get_schema
from opset.opsets.releases import RELEASES

ROOT = Path(__file__).parents[2]
RANDOM = np.random.default_rng(20)
QKV = {name: RANDOM.normal(size=(2, 3, 4, 8)).astype(np.float32) for name in "qkv"}


@pytest.mark.parametrize(
    ("release", "amended"), [("1.23.0", set()), ("1.22.0", {"Attention"}), ("1.19.0", {"Attention", "Erf"})]
)
def test_operators_that_a_later_release_changed(release, amended):
    assert operators_amended_after(release) == amended


def attention(opset_version, attributes):
    return parse_model(
        f'<ir_version: 10, opset_import: ["" : {opset_version}]> '
        "g (float[2,3,4,8] q, float[2,3,4,8] k, float[2,3,4,8] v) => (float[2,3,4,8] y) "
        f"{{ y = Attention <{attributes}> (q, k, v) }}"
    )


def one_node(opset_version, operator, given, made, attributes=""):
    return parse_model(
        f'<ir_version: 3, opset_import: ["" : {opset_version}]> '
        f"g ({given} x) => ({made} y) {{ y = {operator} {attributes} (x) }}"
    )


def stated(model, operator="Attention"):
    """Return the attributes of each node of an operator."""
    return [[each.name for each in node.attribute] for node in model.graph.node if node.op_type == operator]


def computed(model, feeds=QKV):
    return opset.ReferenceEvaluator(model).run(None, feeds)[0]


@pytest.mark.parametrize(
    ("operator", "texts"),
    [
        ("Attention", ["onnx 1.23.0 added it to opset 25, which onnx 1.20.0 had already released"]),
        ("Concat", ["onnx 1.3 added complex64, complex128 to T"]),
        ("Erf", ["onnx 1.20.0 removed int8, int16, int32, int64, uint8, uint16, uint32, uint64 from T"]),
        ("GroupNormalization", ["onnx 1.18.0 withdrew it"]),
        ("GlobalLpPool", ["onnx 1.17.0 added bfloat16 to T", "onnx 1.18.0 removed bfloat16 from T",
                          "onnx 1.18.0 added bfloat16 to T"]),
        ("Squeeze", ["onnx 1.3 added complex64, complex128 to T and made 'axes' optional"]),
    ],
)  # fmt: skip
def test_what_a_release_amended_is_said_in_words(operator, texts):
    assert [each.text for each in AMENDMENTS[operator]] == texts


@pytest.mark.parametrize(
    ("operator", "since", "release", "deprecated"),
    [
        ("GroupNormalization", 18, "1.17.0", False), ("GroupNormalization", 18, "1.18.0", True),
        ("Upsample", 10, "1.5.0", True), ("Upsample", 10, "1.2", True), ("Erf", 13, "1.19.0", False),
    ],
)  # fmt: skip
def test_a_version_is_withdrawn_from_a_release_on(operator, since, release, deprecated):
    assert schema_of_release(get_schema(operator, since), release).deprecated is deprecated


WINDOW = attention(25, "left_window_size=1, right_window_size=0")
OLDER_FORM = attention(25, "q_num_heads=3, kv_num_heads=3")


@pytest.mark.parametrize(
    "target",
    [
        {"release": "1.20"},
        {"release": "1.21"},
        {"release": "1.22"},
        {"runtime": "onnxruntime==1.24"},
        {"runtime": "onnxruntime==1.25"},
        {"runtime": "onnxruntime==1.31"},
    ],
    ids=lambda each: "-".join(each.values()),
)
def test_a_window_is_not_written_where_a_release_has_none(target):
    made = opset.convert(WINDOW, **target)
    assert made.opset_import[0].version >= 25 and stated(made) == [[]]
    np.testing.assert_array_equal(computed(made), computed(WINDOW))


def test_one_node_that_a_release_has_otherwise_is_rewritten_among_others():
    before = attention(25, "left_window_size=1, right_window_size=0")
    before.graph.node.add(op_type="Relu", input=[before.graph.input[0].name], output=["unused"])
    made = opset.convert(before, release="1.20")
    assert stated(made)[0] == []


def test_an_attribute_that_the_older_form_has_does_not_make_up_for_one_that_it_lacks():
    before = attention(25, "is_causal=1, left_window_size=1, right_window_size=0")
    made = opset.convert(before, 24)
    assert stated(made) == [["is_causal"]]
    np.testing.assert_array_equal(computed(made), computed(before))


@pytest.mark.parametrize("target", [{"release": "1.23"}, {"to": 25}, {"to": 26}], ids=str)
def test_a_window_stays_where_the_newest_release_is_in_force(target):
    assert stated(opset.convert(WINDOW, **target)) == [["left_window_size", "right_window_size"]]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="this release of onnxruntime needs Python 3.11")
def test_onnxruntime_runs_a_converted_window():
    import onnxruntime

    made = opset.convert(WINDOW, runtime="onnxruntime==1.31").SerializeToString()
    session = onnxruntime.InferenceSession(made, providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, QKV)[0], computed(WINDOW), rtol=1e-4, atol=1e-5)


@pytest.mark.malformed  # for the newest onnx, which has another version in force
def test_attention_stays_at_the_version_in_force_on_the_way_up():
    mask = parse_model(
        '<ir_version: 10, opset_import: ["" : 23]> g (float[2,3,4,8] q, float[2,3,4,8] k, float[2,3,4,8] v) '
        "=> (float[2,3,4,8] y, float[2,3,4,8] p) { y, p = Attention (q, k, v) }"
    )
    older, newer = opset.convert(mask, release="1.22"), opset.convert(mask, release="1.23")
    # Version 25 has both present outputs or none, version 24 one alone.
    assert [len(node.output) for node in older.graph.node] == [2]
    assert [len(node.output) for node in newer.graph.node] == [3]
    np.testing.assert_array_equal(computed(older), computed(newer))


def test_the_form_before_the_amendment_is_run_and_inferred():
    plain = attention(25, "scale = 0.25")
    older = attention(25, "scale = 0.25, q_num_heads=3, kv_num_heads=3")
    np.testing.assert_array_equal(computed(older), computed(plain))
    older.graph.output[0].type.tensor_type.ClearField("shape")
    inferred = opset.infer_shapes(older, strict_mode=False)
    assert [dim.dim_value for dim in inferred.graph.output[0].type.tensor_type.shape.dim] == [2, 3, 4, 8]


@pytest.mark.parametrize(
    ("target", "attributes"),
    [
        ({"to": 25}, ["q_num_heads", "kv_num_heads"]),
        ({"release": "1.22"}, ["q_num_heads", "kv_num_heads"]),
        ({"to": 24}, ["q_num_heads", "kv_num_heads"]),
        ({"to": 26}, []),
        ({"release": "1.23"}, []),
    ],
    ids=str,
)
def test_the_form_before_the_amendment_is_mended_above_it(target, attributes):
    made = opset.convert(OLDER_FORM, **target)
    assert stated(made) == [attributes]
    np.testing.assert_array_equal(computed(made), computed(OLDER_FORM))


def test_from_the_release_of_the_amendment_on_the_form_before_is_an_error():
    model = attention(28, "q_num_heads=3, kv_num_heads=3")
    with pytest.raises(opset.RunError, match="C2"):
        computed(model)


def refusal(model, **target):
    with pytest.raises(opset.ConversionError) as caught:
        opset.convert(model, **target)
    (finding,) = caught.value.findings
    return finding


def test_a_type_is_refused_in_a_release_before_it_came():
    model = one_node(22, "GlobalLpPool", "bfloat16[1,2,3]", "bfloat16[1,2,1]")
    finding = refusal(model, release="1.17")
    assert finding.code == "C202" and finding.message == "GlobalLpPool cannot be written for onnx 1.17.0"
    assert finding.why.endswith("onnx 1.18.0 added bfloat16 to T")
    assert opset.convert(model, release="1.18").opset_import[0].version == 23
    # Version 2 has the type in no other release, so that it is cast below 22.
    older = opset.convert(model, release="1.16")
    assert [node.op_type for node in older.graph.node] == ["Cast", "GlobalLpPool", "Cast"]


@pytest.mark.parametrize("operator", ["Transpose", "Tile", "Reshape"])
def test_types_that_came_with_1_3(operator):
    inputs = {"Transpose": "x", "Tile": "x, s", "Reshape": "x, s"}[operator]
    constant = "" if operator == "Transpose" else "<int64[1] s = {6}>"
    for element, fits in (("int64", False), ("float", True)):
        model = parse_model(
            f'<ir_version: 3, opset_import: ["" : 7]> g ({element}[6] x) => ({element}[N] y) {constant} '
            f"{{ y = {operator} ({inputs}) }}"
        )
        assert opset.convert(model, release="1.3").opset_import[0].version == 8
        if fits:
            assert opset.convert(model, release="1.2").opset_import[0].version == 7
        else:
            assert f"{operator} cannot be written for onnx 1.2" == refusal(model, release="1.2").message


def test_an_attribute_that_a_release_requires():
    model = one_node(7, "Squeeze", "float[1,3]", "float[3]")
    assert "'axes' is missing; onnx 1.3" in refusal(model, release="1.2").why
    assert opset.convert(model, release="1.3").opset_import[0].version == 8
    assert opset.convert(one_node(7, "Squeeze", "float[1,3]", "float[3]", "<axes = [0]>"), release="1.2")


@pytest.mark.malformed  # for the newest onnx, which took these types away
def test_integers_of_erf_until_1_20():
    model = one_node(13, "Erf", "int32[2]", "int32[2]")
    feeds = {"x": np.array([0, 3], np.int32)}
    np.testing.assert_array_equal(computed(model, feeds), [0, 0])
    assert opset.convert(model, release="1.19").opset_import[0].version == 24
    assert opset.convert(one_node(9, "Erf", "int32[2]", "int32[2]"), release="1.19").opset_import[0].version == 24
    for target in ({"release": "1.20"}, {"to": 14}):
        assert "onnx 1.20.0 removed int8" in refusal(model, **target).why


@pytest.mark.parametrize(("release", "first", "second"), [
    ("1.16.0", False, None), ("1.17.0", True, False), ("1.18.0", False, True), ("1.19.0", False, True)
])  # fmt: skip
def test_a_type_that_came_and_went_is_that_of_the_release(release, first, second):
    for version, has in ((2, first), (22, second)):
        found = schema_of_release(get_schema("GlobalLpPool", version), release)
        assert has is None or ("tensor(bfloat16)" in found.types["T"]) == has


def test_a_version_that_was_withdrawn_later():
    newest = get_schema("GroupNormalization", 18)
    assert (
        newest.deprecated
        and not schema_of_release(newest, "1.17.0").deprecated
        and schema_of_release(newest, "1.18.0").deprecated
    )


def test_amendments_name_what_their_versions_have():
    names = [each.name for each in RELEASES]
    for operator, amendments in AMENDMENTS.items():
        assert [names.index(each.release) for each in amendments] == sorted(
            names.index(each.release) for each in amendments
        )
        for each in amendments:
            schema = get_schema(operator, each.since)
            assert schema.since_version == each.since and each.text.startswith(f"onnx {each.release} ")
            lost = [kind for other in amendments for kind in other.lost.get("T", ())]
            for name, kinds in each.gained.items():
                assert {f"tensor({kind})" for kind in kinds if kind not in lost} <= {*schema.types[name]}
            for name, kinds in each.lost.items():
                assert {*kinds} <= {*NUMBERS} and {f"tensor({kind})" for kind in kinds}.isdisjoint(schema.types[name])
            assert {*each.gained, *each.lost} <= {*schema.types} and {*each.optional} <= {*schema.attributes}
            assert amendments_of(schema) == tuple(other for other in amendments if other.since == each.since)


def test_the_newest_release_declares_what_we_do(tmp_path):
    folder = tmp_path / ".".join(onnx.__version__.split(".")[:2])
    folder.mkdir()
    (folder / "onnx").symlink_to(Path(onnx.__file__).parent)
    command = [sys.executable, "-m", "judges", "releases", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
