"""Further paths of the rules on tensors, external data and sparse tensors, each by a small model."""

import hashlib
import os

import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import opset
from opset.checker.table import CHECKER
from opset.errors import ModelError
from opset.model.storage import reading
from tests.bounds import draws

CODES = {code for code in CHECKER.by_code if code[:2] in ("G5", "M2", "W5")} - {"W504"}
VALUE = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)


def model_of(*tensors, sparse=()):
    """A model with these initializers, which nothing uses."""
    node = helper.make_node("Constant", [], ["y"], value_float=1.0)
    graph = helper.make_graph([node], "g", [], [VALUE], initializer=tensors, sparse_initializer=sparse)
    return helper.make_model(graph, ir_version=14, opset_imports=[helper.make_opsetid("", 28)])


def codes_of(source, **options):
    return [each.code for each in opset.check(source, full=False, select=CODES, **options)]


def tensor(data_type=TensorProto.FLOAT, dims=(3,), name="w", **fields):
    return TensorProto(name=name, data_type=data_type, dims=dims, **fields)


def external(location="w.bin", dims=(3,), data_type=TensorProto.FLOAT, name="w", **keys):
    made = tensor(data_type, dims, name, data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **keys}.items():
        made.external_data.add(key=key, value=str(value))
    return made


LONG = 20_000
"""Elements whose data stays in the model's file."""


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (tensor(), ["M206"]),
        (tensor(dims=[0]), []),
        (tensor(dims=[0], raw_data=b""), []),
        (tensor(dims=[0], float_data=[1]), ["M206"]),
        (tensor(dims=[], float_data=[1]), []),
        (tensor(dims=[-1], float_data=[1]), ["M206"]),
        (tensor(dims=[2, -1, -1], raw_data=bytes(8)), ["M206"]),
        (tensor(dims=[1 << 40, 1 << 40], float_data=[1]), ["M206"]),
        (tensor(0, float_data=[1, 2, 3]), ["G501"]),
        (tensor(0, raw_data=bytes(12)), ["G501"]),
        (tensor(raw_data=bytes(11)), ["M206"]),
        (tensor(raw_data=bytes(13)), ["M206"]),
        (tensor(raw_data=b"", float_data=[1, 2, 3]), ["G502"]),
        (tensor(TensorProto.STRING, raw_data=b"abc"), ["G503"]),
        (tensor(TensorProto.STRING, string_data=[b"a", b"b"]), ["M206"]),
        (tensor(TensorProto.STRING, string_data=[b"a", b"\xff", b""]), ["G505"]),
        (tensor(TensorProto.STRING, string_data=[b"a", b"\xef\xbb\xbfb", b""]), ["G505"]),
        (tensor(TensorProto.UINT32, int32_data=[1, 2, 3]), ["G503"]),
        (tensor(TensorProto.UINT32, int32_data=[1, 2]), ["G503"]),  # the size of such a field says nothing
        (tensor(TensorProto.UINT32, uint64_data=[1, 2, 1 << 32]), ["G507"]),
        (tensor(TensorProto.INT8, int32_data=[-128, 127, -129]), ["G507"]),
        (tensor(TensorProto.FLOAT16, int32_data=[0, 65535, -1]), ["G507"]),
        (tensor(TensorProto.FLOAT6E2M3, int32_data=[0, 63, 64]), ["G507"]),
        (tensor(TensorProto.BOOL, raw_data=b"\x00\x01\x02"), ["G506"]),
        (tensor(TensorProto.COMPLEX64, float_data=[0] * 6), []),
        (tensor(TensorProto.COMPLEX64, float_data=[0] * 3), ["M206"]),
        (tensor(TensorProto.COMPLEX128, double_data=[0] * 6), []),
        (tensor(TensorProto.INT4, int32_data=[0x21, 3]), []),
        (tensor(TensorProto.INT4, int32_data=[1, 2, 3]), ["M206"]),
        (tensor(TensorProto.INT4, raw_data=b"\x21\xf3"), []),
        (tensor(TensorProto.INT4, int32_data=[-128, 255]), []),
        (tensor(TensorProto.INT4, int32_data=[-129, 3]), ["G507"]),
        (tensor(TensorProto.INT2, int32_data=[-128]), []),
        (tensor(TensorProto.UINT2, int32_data=[256]), ["G507"]),
        (tensor(TensorProto.FLOAT6E3M2, raw_data=b"\x00\x00\x03"), []),
        (tensor(TensorProto.FLOAT6E3M2, raw_data=b"\x00\x00\x04"), ["G508"]),
        (tensor(TensorProto.FLOAT6E3M2, [4001], raw_data=bytes(3000) + b"\x40"), ["G508"]),
        (tensor(dims=[LONG], raw_data=bytes(4 * LONG)), []),
        (tensor(dims=[LONG], raw_data=bytes(4 * LONG - 4)), ["M206"]),
        (tensor(dims=[LONG], float_data=[0] * LONG), []),
        (tensor(dims=[LONG], float_data=[0] * (LONG - 1)), ["M206"]),
        (tensor(TensorProto.INT64, [LONG], int64_data=[-1] * LONG), []),
        (tensor(TensorProto.INT64, [LONG * 10 + 1], int64_data=[-1] * LONG), ["M206"]),
        (tensor(TensorProto.INT64, [LONG - 1], int64_data=[300] * LONG), ["M206"]),
        (tensor(TensorProto.BOOL, [LONG], int32_data=[1] * LONG), []),
        (tensor(TensorProto.BOOL, [LONG], int32_data=[2] * LONG), ["G506"]),
        (tensor(TensorProto.BOOL, [LONG], raw_data=bytes([3]) * LONG), ["G506"]),
        (tensor(TensorProto.BOOL, [LONG], raw_data=bytes(LONG), int32_data=[1] * LONG), ["G502"]),
        (tensor(dims=[9], float_data=[1] * 3, segment=TensorProto.Segment(begin=3, end=6)), ["W501"]),
        (tensor(dims=[9], float_data=[1] * 9, segment=TensorProto.Segment(begin=3, end=6)), ["M206", "W501"]),
        (tensor(dims=[9], float_data=[1] * 3, segment=TensorProto.Segment(end=3)), ["G509", "W501"]),
        (tensor(raw_data=bytes(12), segment=TensorProto.Segment(end=3)), ["G509", "W501"]),
        (tensor(dims=[9], float_data=[1] * 3, segment=TensorProto.Segment(begin=5, end=2)), ["G509", "W501"]),
        (tensor(dims=[9], float_data=[1] * 3, segment=TensorProto.Segment(begin=9, end=12)), ["G509", "W501"]),
    ],
)
def test_data_inside_the_model(made, expected):
    assert codes_of(model_of(made).SerializeToString()) == expected


def test_a_finding_names_the_tensor_and_its_type():
    (finding,) = opset.check(model_of(tensor(TensorProto.COMPLEX128, raw_data=b"abc")), full=False, select=CODES)
    assert finding.place == "graph 'g', initializer 'w'"
    assert finding.why == "raw_data has 3 bytes, and 3 elements of type complex128 are 48"


def test_tensors_in_attributes_and_parts_of_sparse_ones():
    constant = helper.make_node("Constant", [], ["y"], "c", value=tensor())
    model = helper.make_model(helper.make_graph([constant], "g", [], [VALUE]))
    values, indices = tensor(dims=[2], float_data=[1, 2]), tensor(TensorProto.INT64, [2], "", int64_data=[0])
    model.graph.sparse_initializer.append(onnx.SparseTensorProto(values=values, indices=indices, dims=[3]))
    places = [each.place for each in opset.check(model, full=False, select=CODES)]
    assert places == ["graph 'g', node 'c' (Constant), attribute 'value'", "graph 'g', sparse initializer 'w.indices'"]


@pytest.fixture
def save(tmp_path):
    def save(*tensors, content=bytes(12), sparse=()):
        (tmp_path / "w.bin").write_bytes(content)
        path = tmp_path / "model.onnx"
        path.write_bytes(model_of(*tensors, sparse=sparse).SerializeToString())
        return path

    return save


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (external(), []),
        (external(offset=0, length=12), []),
        (external(offset=4), ["M205"]),
        (external(length=11), ["M206"]),
        (external(length=11, offset=4), ["M206", "M205"]),
        (external(length="x", offset="y", location=""), ["M207", "M204", "M204"]),
        (external(location="../w.bin"), ["M201"]),
        (external(location="v.bin"), ["M202"]),
        (external(location="."), ["M201"]),
        (external(location="folder"), ["M203"]),
        (external(location="twice.bin"), ["M209"]),
        (external(data_type=TensorProto.STRING), ["M206"]),
        (external(data_type=99), ["G501"]),
        (external(data_type=99, location=""), ["G501", "M207"]),
        (external(data_type=99, length="x", offset="y"), ["G501", "M204", "M204"]),
        (external(dims=[-1], location="v.bin"), ["M206"]),
        (external(basepath="/models"), ["W503"]),
        (external(checksum="0" * 39), ["G511"]),
    ],
)
def test_external_data(save, tmp_path, made, expected):
    path = save(made)
    (tmp_path / "folder").mkdir()
    (tmp_path / "one.bin").write_bytes(bytes(12))
    os.link(tmp_path / "one.bin", tmp_path / "twice.bin")
    assert codes_of(path) == expected


@pytest.mark.parametrize("values", [{"float_data": [1, 2, 3]}, {"raw_data": bytes(12)}])
def test_values_beside_external_data(save, values):
    made = external()
    made.MergeFrom(TensorProto(**values))
    assert codes_of(save(made)) == ["G504"]


def test_a_file_that_is_missing_is_reported_once(save):
    path = save(*[external("v.bin", name=name) for name in "abc"], external("u.bin", name="d"))
    findings = opset.check(path, full=False, select=CODES)
    assert [(each.code, each.place) for each in findings] == [
        ("M202", "graph 'g', initializer 'a'"),
        ("M202", "graph 'g', initializer 'd'"),
    ]


def test_checksums_are_compared_only_if_they_are_asked_for(save):
    content = bytes(range(24))
    right, wrong = hashlib.sha1(content).hexdigest(), "0" * 40
    path = save(
        external(name="a", checksum=right.upper()), external(name="b", offset=12, checksum=wrong), content=content
    )
    assert codes_of(path) == []
    (finding,) = opset.check(path, full=False, select=CODES, verify_checksums=True)
    assert (finding.code, finding.place) == ("G512", "graph 'g', initializer 'b'")
    assert right in finding.why and finding.file.endswith("w.bin")


def test_a_checksum_that_is_not_utf8_is_none():
    data = model_of(external(checksum="spam")).SerializeToString()
    (finding,) = opset.check(data.replace(b"spam", b"sp\xffm"), full=False, select=["G511"])
    assert finding.message.startswith("the checksum 'sp") and finding.place == "graph 'g', initializer 'w'"


def test_a_model_without_a_path_has_no_files():
    model = model_of(external(), external("u.bin", offset="x"))
    assert codes_of(model.SerializeToString()) == ["W505", "M204"]


@pytest.mark.parametrize("location", ["../w.bin", "a/../../w.bin"])
def test_a_location_above_any_folder(location):
    assert codes_of(model_of(external(location)).SerializeToString()) == ["W505", "M201"]


def test_an_absolute_location(save, tmp_path):
    assert codes_of(save(external(tmp_path / "w.bin"))) == ["G513"]
    assert codes_of(save(external("/nowhere/w.bin"))) == ["G513"]
    assert codes_of(save(external("/nowhere/w.bin", offset="x"))) == ["G513", "M204"]
    assert codes_of(model_of(external("C:\\w.bin")).SerializeToString()) == ["W505", "G513"]


def test_offsets_that_are_no_page(save):
    path = save(external(offset=12), external(offset=4096, name="v"), external(offset="x", name="u"))
    assert [each.place for each in opset.check(path, select=["W504"])] == ["graph 'g', initializer 'w'"]


def sparse(values=None, indices=None, dims=(2, 3)):
    values = tensor(dims=[2], float_data=[1, 2]) if values is None else values
    indices = tensor(TensorProto.INT64, [2], "", int64_data=[0, 4]) if indices is None else indices
    return onnx.SparseTensorProto(values=values, indices=indices, dims=dims)


def index(dims, *numbers):
    return tensor(TensorProto.INT64, dims, "", int64_data=numbers)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (sparse(), []),
        (sparse(indices=index([2, 2], 0, 1, 1, 0)), []),
        (sparse(indices=index([2, 2], 0, 1, 0, 3)), ["G526"]),
        (sparse(indices=index([2, 2], 1, 0, 0, 1)), ["G527"]),
        (sparse(indices=index([2, 2], 1, 0, 1, 0)), ["G527"]),
        (sparse(tensor(dims=[3], float_data=[1, 2, 3]), index([3], 3, 2, 1)), ["G527"]),
        (sparse(indices=index([2], 0, 6)), ["G526"]),
        (sparse(indices=index([2], -1, 1)), ["G526"]),
        (sparse(indices=index([2], 7, 7)), ["G526", "G527"]),
        (sparse(indices=index([2], 7, 8)), ["G526"]),
        (sparse(indices=index([3], 0, 1, 2)), ["G525"]),
        (sparse(indices=index([2, 3], *range(6))), ["G525"]),
        (sparse(indices=index([2, 1, 1], 0, 1)), ["G525"]),
        (sparse(indices=tensor(TensorProto.INT32, [2], "", int32_data=[0, 1])), ["G525"]),
        (sparse(dims=[1]), ["G525"]),
        (sparse(dims=[]), ["G524"]),
        (sparse(dims=[2, -3]), ["G524"]),
        (sparse(dims=[1 << 62] * 2), []),
        (onnx.SparseTensorProto(values=tensor(dims=[0]), dims=[3]), []),
        (onnx.SparseTensorProto(values=tensor(dims=[1], float_data=[1]), dims=[3]), ["G525"]),
        (onnx.SparseTensorProto(values=tensor(dims=[], float_data=[1]), dims=[3]), ["G523"]),
    ],
)
def test_sparse_tensors(made, expected):
    assert codes_of(model_of(sparse=[made]).SerializeToString()) == expected


@pytest.mark.parametrize(("count", "expected"), [(8192, ["G527"]), (8193, [])])
def test_large_indices_of_a_sparse_tensor_are_not_read(count, expected):
    values = tensor(dims=[count], raw_data=bytes(4 * count))
    made = sparse(values, tensor(TensorProto.INT64, [count], "", raw_data=bytes(8 * count)), [count])
    assert codes_of(model_of(sparse=[made]).SerializeToString()) == expected


SEEDS = [
    model_of(tensor(float_data=[1, 2, 3]), tensor(TensorProto.BOOL, [LONG], "b", raw_data=bytes(LONG))),
    model_of(tensor(TensorProto.INT64, [LONG], int64_data=range(LONG)), sparse=[sparse()]),
    model_of(external(offset=0, checksum="0" * 40), tensor(TensorProto.STRING, [1], "s", string_data=[b"a"])),
    model_of(tensor(TensorProto.INT4, [3], raw_data=b"\x21\x03", segment=TensorProto.Segment(begin=0, end=3))),
]


@given(st.sampled_from([each.SerializeToString() for each in SEEDS]), st.data())
@settings(max_examples=draws(300))
def test_no_bytes_give_anything_but_findings_or_a_model_error(data, drawn):
    changed = bytearray(data)
    for _ in range(drawn.draw(st.integers(1, 6))):
        # Headers are at both ends: of most models, the middle is data.
        position = drawn.draw(st.integers(0, min(len(data), 200) - 1)) * drawn.draw(st.sampled_from([1, -1]))
        changed[position] = drawn.draw(st.integers(0, 255))
    try:
        codes = codes_of(bytes(changed), verify_checksums=True)
    except ModelError:
        return
    assert {*codes} <= CODES


def test_a_file_that_shrank_is_an_error_and_no_finding(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "IN_MEMORY", 0)
    made = tensor(TensorProto.FLOAT6E3M2, [LONG], raw_data=bytes(LONG * 6 // 8))
    path = tmp_path / "m.onnx"
    path.write_bytes(model_of(made).SerializeToString())
    loaded = opset.load(path)
    os.truncate(path, 1000)
    with pytest.raises(ModelError, match="M105"):
        opset.check(loaded, full=False)


@pytest.mark.parametrize("field", ["float_data", "int32_data", "int64_data", "double_data", "uint64_data"])
def test_values_stand_in_one_field_that_is_of_their_type(field):
    expected = ["G502"] if field == "float_data" else ["G502", "G503"]
    assert codes_of(model_of(tensor(dims=[1], raw_data=bytes(4), **{field: [1]}))) == expected


@pytest.mark.parametrize(
    ("data_type", "field", "values"),
    [
        (TensorProto.FLOAT, "float_data", [3e38, -3e38, float("inf")]),
        (TensorProto.DOUBLE, "double_data", [1e300, -1e300, float("-inf")]),
        (TensorProto.INT32, "int32_data", [2**31 - 1, -(2**31), 0]),
        (TensorProto.INT64, "int64_data", [2**63 - 1, -(2**63), 0]),
        (TensorProto.UINT32, "uint64_data", [2**32 - 1, 0, 1]),
        (TensorProto.UINT64, "uint64_data", [2**64 - 1, 0, 1]),
    ],
)
def test_numbers_of_types_that_fill_their_field_are_all_right(data_type, field, values):
    assert codes_of(model_of(tensor(data_type, **{field: values}))) == []


WRONG = tensor(dims=(2,), float_data=[1.0], name="t")
UNKNOWN = onnx.TypeProto(tensor_type=onnx.TypeProto.Tensor(elem_type=77))


@pytest.mark.parametrize("in_node", [False, True])
@pytest.mark.parametrize(
    ("field", "value", "kind", "expected"),
    [
        ("t", WRONG, 4, [("M206", "k")]),
        ("tensors", WRONG, 9, [("M206", "k[0]")]),
        ("sparse_tensor", onnx.SparseTensorProto(values=WRONG), 11, [("M206", "k.values"), ("G525", "k")]),
        ("sparse_tensors", onnx.SparseTensorProto(values=WRONG), 12, [("M206", "k[0].values"), ("G525", "k[0]")]),
        ("tp", UNKNOWN, 13, [("G602", "k")]),
        ("type_protos", UNKNOWN, 14, [("G602", "k")]),
    ],
)
def test_what_attributes_of_functions_hold_is_checked_if_their_type_says_so_or_nothing(
    field, value, kind, expected, in_node
):
    head = '<ir_version: 10, opset_import: ["": 21, "d": 1]> g (float[1] x) => (float[1] y) { y = d.F (x) }'
    body = '<opset_import: ["": 21], domain: "d"> F (v) => (w) { b = Identity (v) w = Identity (b) }'
    for stated, found in ((kind, expected), (0, expected), (2, [])):
        model = onnx.parser.parse_model(f"{head} {body}")
        function = model.functions[0]
        attribute = (function.node[1].attribute if in_node else function.attribute_proto).add(name="k", type=stated)
        attribute.MergeFrom(onnx.AttributeProto(**{field: [value] if field.endswith("s") else value}))
        where = "function 'd.F', " + "node number 1 (Identity), " * in_node + "attribute '{}'"
        findings = opset.check(model, select={"M206", "G525", "G602"})
        assert [(each.code, each.place) for each in findings] == [(code, where.format(name)) for code, name in found]


def test_a_folder_that_the_onnx_package_left_is_told_from_other_odd_keys():
    plain = "keep location, offset, length and checksum, once each"
    for keys, help in (({"basepath": "/models"}, f"{plain}; basepath is left from a load by the onnx package"),
                       ({"mode": "fast"}, plain)):  # fmt: skip
        (finding,) = opset.check(model_of(external(**keys)), full=False, select=["W503"])
        assert finding.help == help
