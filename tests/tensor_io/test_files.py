"""Files of values: what is written is read back, what numpy and onnx write is read, and nothing hostile does harm."""

import io
import json
import math
import os
import pickle
import struct
import sys
import zipfile
import zlib
from contextlib import nullcontext
from functools import cache

import numpy as np
import onnx.numpy_helper
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opset.errors import OpsetError, RunError, UsageError
from opset.model import proto as pb
from opset.model.arrays import DTYPES, TEXT_SIZE, message_of, tensor_of
from opset.model.storage.source import CHUNK
from opset.reference.numerics.memory import ENTRY
from opset.reference.value_info import ValueInfo
from opset.reference.values import type_of
from opset.tensor_io import json_values as literals
from opset.tensor_io import npz
from opset.tensor_io.files import (
    bytes_to_write,
    check_format,
    declared_value,
    format_of,
    read_values,
    values_in_json,
    values_in_stream,
    write_values,
)
from tests.bounds import draws, lines
from tests.model.test_arrays import TEXT, VALUES, X, arrays, same

LIMIT = 1 << 24
FLOAT = ValueInfo("x", "tensor(float)", None)


def read(path, *declared, role="input", name="", limit=LIMIT):
    return read_values(str(path), declared or (FLOAT,), limit, role, name)


def refused(path, *declared, **also):
    """What is said of a file that is not read, after few steps."""
    with lines(2_000_000), pytest.raises(RunError) as caught:
        read(path, *declared, **also)
    assert {each.code for each in caught.value.findings} == {"R105"} and caught.value.exit_status == 3
    assert caught.value.file.startswith(str(path))
    return caught.value.why


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("values")


@settings(max_examples=draws(100))
@given(arrays(), st.sampled_from(["folder/", "v.npz", "v.json"]))
def test_what_is_written_is_read_back(place, array, form):
    declared = ValueInfo("a/b", type_of(array), None)
    path = f"{place}/{form}"
    try:
        write_values(path, {"input": {"a/b": array}, "output": {}}, {"input": [declared], "output": []}, True)
    except UsageError as error:
        assert error.code == "U103" and form == "v.npz"
        assert array.dtype == object or array.dtype.type.__module__ == "ml_dtypes"
        return
    back = read(path, declared)["a/b"]
    if form == "v.json":  # the bits of a NaN are not part of JSON
        assert back.dtype == array.dtype and back.shape == array.shape
        if array.dtype == object:
            assert back.tolist() == array.tolist()
        else:
            wide = np.complex128 if array.dtype.kind == "c" else np.float64 if array.dtype.kind in "fV" else array.dtype
            assert np.array_equal(back.astype(wide), array.astype(wide), equal_nan=array.dtype.kind in "fVc")
    elif array.dtype == object:
        assert back.tolist() == array.tolist()
    else:
        assert same(back, array)


@pytest.mark.parametrize("kind", VALUES)
@pytest.mark.parametrize("form", ["folder/", "v.json"])
def test_every_type_of_value_is_written_and_read(tmp_path, kind, form):
    declared = ValueInfo("v", kind, None)
    path = f"{tmp_path}/{form}"
    write_values(path, {"output": {"v": VALUES[kind]}}, {"output": [declared]}, False)
    assert same(read(path, declared, role="output")["v"], VALUES[kind])


def test_a_file_is_written_the_same_each_time(tmp_path):
    for name in ("a.npz", "b.npz"):
        write_values(f"{tmp_path}/{name}", {"output": {"x": X}}, {"output": [FLOAT]}, False)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    with np.load(tmp_path / "a.npz") as archive:
        assert same(archive["x"], X)


def test_what_numpy_and_onnx_write_is_read(tmp_path):
    np.savez_compressed(tmp_path / "v.npz", **{"input/x": X, "output/y": X + 1})
    assert same(read(tmp_path / "v.npz")["x"], X)
    assert same(read(tmp_path / "v.npz", role="output"), {"y": X + 1})
    for array in (X, np.asfortranarray(X), X[:, :0], X[0, 0], X > 2, X.astype(">f4"), X.astype(np.complex64)):
        np.save(tmp_path / "v.npy", array)
        assert np.array_equal(read(tmp_path / "v.npy", name="x")["x"], array)
    np.save(tmp_path / "v.npy", np.array([["a", "é"]]))
    assert read(tmp_path / "v.npy", name="x")["x"].tolist() == [["a", "é"]]
    np.save(tmp_path / "v.npy", np.array([b"a", b"\xff"]))
    assert read(tmp_path / "v.npy", name="x")["x"].tolist() == ["a", b"\xff"]
    (tmp_path / "x.pb").write_bytes(onnx.numpy_helper.from_array(X, "x").SerializeToString())
    assert same(read(tmp_path / "x.pb"), {"x": X})


def test_a_declared_name_is_just_that_and_others_have_the_prefix_of_their_role(tmp_path):
    inputs = [FLOAT, ValueInfo("input/y", "tensor(float)", None)]
    values = {"input/x": X, "output/x": X + 1, "input/y": X + 2, "z": X + 3}
    np.savez(tmp_path / "v.npz", **values)
    (tmp_path / "v.json").write_text(json.dumps({name: array.tolist() for name, array in values.items()}))
    for form in ("npz", "json"):
        found = read(tmp_path / f"v.{form}", *inputs)
        assert same([found["x"], found["input/y"]], [X, X + 2]) and [*found] == ["x", "input/y", "z"]
        assert same(read(tmp_path / f"v.{form}", role="output")["x"], X + 1)
    np.savez(tmp_path / "w.npz", **{"output/y": X})
    assert same(read(tmp_path / "w.npz", ValueInfo("output/y", "tensor(float)", None)), {"output/y": X})
    np.savez(tmp_path / "v.npz", **{"input/x": X, "x": X})
    (tmp_path / "v.json").write_text('{"input/x": [1], "x": [1]}')
    for form in ("npz", "json"):
        assert "twice in it, with and without a prefix" in refused(tmp_path / f"v.{form}")
    declared = {"input": inputs, "output": [ValueInfo("input/y", "tensor(float)", None)]}
    values = {"input": {"x": X, "input/y": X + 1}, "output": {"input/y": X + 2}}
    write_values(f"{tmp_path}/both.npz", values, declared, False)
    for role in ("input", "output"):
        assert same(read(tmp_path / "both.npz", *declared[role], role=role), values[role])


def test_a_message_is_for_the_name_that_is_said_its_number_or_its_own(tmp_path):
    inputs = [ValueInfo("a", "tensor(float)", None), ValueInfo("s", "seq(tensor(float))", None)]
    (tmp_path / "input_1.pb").write_bytes(message_of("a", [X], "seq(tensor(float))").SerializeToString())
    (tmp_path / "any.pb").write_bytes(message_of("s", [X], "seq(tensor(float))").SerializeToString())
    (tmp_path / "other.pb").write_bytes(tensor_of("b", X).SerializeToString())
    assert same(read(tmp_path / "input_1.pb", *inputs), {"s": [X]})
    assert same(read(tmp_path / "any.pb", *inputs), {"s": [X]})
    assert same(read(tmp_path / "other.pb", *inputs, name="a"), {"a": X})
    assert same(read(tmp_path / "other.pb", inputs[0]), {"a": X})
    assert same(
        read(tmp_path / "other.pb", *inputs, name="c"), {"c": X}
    )  # the caller tells that there is no such input
    assert same(read(tmp_path / "other.pb", ValueInfo("b")), {"b": X})
    assert refused(tmp_path / "other.pb", *inputs) == "it names no input"
    with pytest.raises(RunError) as caught:
        read(tmp_path / "other.pb", *inputs)
    assert caught.value.help == "write NAME=other.pb; the inputs are a, s"
    assert "the model has only 1 inputs" in refused(tmp_path / "input_1.pb", inputs[0])


def test_a_message_of_another_type_is_told(tmp_path):
    (tmp_path / "x.pb").write_bytes(message_of("x", [X], "seq(tensor(float))").SerializeToString())
    why = refused(tmp_path / "x.pb", ValueInfo("x", "seq(tensor(double))", None))
    assert why == "a tensor in it is of float32, and tensor(double) is declared"
    why = refused(tmp_path / "x.pb", ValueInfo("x", "seq(map(int64, float))", None))
    assert why == "it holds tensor_value, and seq(map(int64, float)) is declared"
    assert "no message holds opaque(a)" in refused(tmp_path / "x.pb", ValueInfo("x", "opaque(a)", None))
    (tmp_path / "x.pb").write_bytes(pb.TensorProto(data_type=1, data_location=1).SerializeToString())
    assert refused(tmp_path / "x.pb") == "external data has no location"


def test_a_folder_tells_all_that_is_wrong_in_it(tmp_path):
    assert "there is no input_0.pb in it" in refused(tmp_path)
    (tmp_path / "input_0.pb").write_bytes(b"\xff\xff")
    (tmp_path / "input_1.pb").write_bytes(tensor_of("y", X).SerializeToString()[:-3])
    with pytest.raises(RunError) as caught:
        read(tmp_path, FLOAT, ValueInfo("y", "tensor(float)", None))
    assert [os.path.basename(each.file) for each in caught.value.findings] == ["input_0.pb", "input_1.pb"]


def test_a_folder_with_a_file_for_each_input_without_default_is_for_these(tmp_path):
    bits = np.array([0x3F80, 0xC000], np.uint16)  # bfloat16 as onnx wrote it up to release 1.18
    for number, array in enumerate([X, bits, X + 1]):
        (tmp_path / f"input_{number}.pb").write_bytes(onnx.numpy_helper.from_array(array).SerializeToString())
    kinds = {"a": "float", "w": "float", "h": "bfloat16", "c": "float"}
    declared = [ValueInfo(name, f"tensor({kind})", None, name == "w") for name, kind in kinds.items()]
    expected = {"a": X, "h": np.array([1, -2], DTYPES[16]), "c": X + 1}
    assert same(read(tmp_path, *declared), expected)
    (tmp_path / "input_3.pb").write_bytes(onnx.numpy_helper.from_array(X).SerializeToString())
    assert [*read(tmp_path, *declared)] == ["a", "w", "h", "c"]
    (tmp_path / "input_1.pb").unlink()  # three again, and their numbers are those of all inputs
    assert [*read(tmp_path, *declared)] == ["a", "h", "c"]


ZEROS = pb.SparseTensorProto(
    values=pb.TensorProto(data_type=1, dims=[0]), indices=pb.TensorProto(data_type=7, dims=[0]), dims=[1000]
).SerializeToString()


def test_the_files_of_a_folder_share_the_limit(tmp_path):
    for number in range(3):
        (tmp_path / f"input_{number}.pb").write_bytes(ZEROS)
    declared = [ValueInfo(name, "sparse_tensor(float)", None) for name in "abc"]
    assert len(read(tmp_path, *declared, limit=12_000)) == 3
    assert "it takes 4,000 bytes, and no more than 3,999" in refused(tmp_path, *declared, limit=11_999)


def test_the_arrays_of_an_archive_share_the_limit(tmp_path):
    np.savez_compressed(tmp_path / "v.npz", a=np.zeros(1000, np.uint8), b=np.zeros(1000, np.uint8))
    assert "it unpacks to" in refused(tmp_path / "v.npz", limit=2000)
    assert len(read(tmp_path / "v.npz", limit=2256)) == 2
    for name in ("v.npz", "w.npz"):  # text takes more in memory than in the file
        np.savez_compressed(tmp_path / name, **dict.fromkeys("abc"[: 1 + (name == "v.npz")], np.full(1000, b"a")))
    assert len(read(tmp_path / "w.npz", limit=100_000)) == 1
    assert "it takes 65,000 bytes" in refused(tmp_path / "v.npz", limit=100_000)


def test_the_values_in_json_share_the_limit(tmp_path):
    declared = [ValueInfo("x", "tensor(double)", None), ValueInfo("y", "seq(tensor(double))", None)]
    (tmp_path / "v.json").write_text('{"x": [1, 2], "y": [[3], [4]]}')
    entries = 2 * ENTRY
    assert len(read(tmp_path / "v.json", *declared, limit=32 + entries)) == 2
    why = refused(tmp_path / "v.json", *declared, limit=31 + entries)
    assert why == f"'y': it takes {16 + entries} bytes, and the limit is {15 + entries}"


def test_hostile_json_takes_little_time(tmp_path):
    with open(tmp_path / "v.json", "wb") as file:
        file.truncate(literals.MAX_JSON + 1)
    assert "no more than 33,554,432 are read" in refused(tmp_path / "v.json", limit=1 << 40)
    for kind, text in {
        "seq(tensor(float))": f"[{'[],' * (1 << 20)}[]]",
        "seq(seq(tensor(float)))": f"[{'[0,0,0],' * 400_000}[]]",
    }.items():
        with pytest.raises(ValueError, match="more than 1,048,576 entries"):
            literals.value_of(literals.parse(text), kind)


def test_entries_are_counted_at_every_depth(monkeypatch):
    monkeypatch.setattr(literals, "MAX_JSON_ENTRIES", 3)
    for data, kind in {
        "[[1, 2], [3, 4]]": "optional(seq(tensor(float)))",  # of a tensor, elements are none
        "[[[1, 2], [3, 4]], [[5, 6]]]": "seq(optional(seq(tensor(float))))",
        '{"1": [1, 2], "2": [3, 4]}': "map(int64, seq(tensor(float)))",
    }.items():
        with pytest.raises(ValueError, match="more than 3 entries") if "map" in kind else nullcontext():
            assert literals.value_of(literals.parse(data), kind) is not None
    assert len(literals.value_of({"1": 1, "2": 2, "3": 3, "4": 4}, "map(int64, float)")) == 4
    for kind in ("optional(seq(tensor(float)))", "seq(optional(tensor(float)))"):
        with pytest.raises(ValueError, match="more than 3 entries"):
            literals.value_of([1, 2, 3, 4], kind)


def test_a_folder_of_a_model_without_inputs_has_none(tmp_path):
    (tmp_path / "output_0.pb").write_bytes(tensor_of("y", X).SerializeToString())
    assert read(tmp_path) == {}
    assert same(read(tmp_path, role="output"), {"x": X})


def test_a_folder_with_values_of_another_run_is_not_mixed_up(tmp_path):
    declared = [FLOAT, ValueInfo("y", "tensor(float)", None)]
    write_values(f"{tmp_path}/d/", {"output": {"x": X, "y": X}}, {"output": declared}, False)
    with pytest.raises(UsageError, match="exists already") as caught:
        write_values(f"{tmp_path}/d", {"output": {"x": X, "y": X}}, {"output": declared}, False)
    assert [each.code for each in caught.value.findings] == ["U102", "U102"]
    (tmp_path / "d" / "notes.txt").write_text("not of a run")
    write_values(f"{tmp_path}/d", {"output": {"x": X + 1, "y": X}}, {"output": declared}, True)
    assert same(read(tmp_path / "d", *declared, role="output")["x"], X + 1)
    with pytest.raises(UsageError, match=r"output_1\.pb of another run"):
        write_values(f"{tmp_path}/d", {"output": {"x": X}}, {"output": declared[:1]}, True)


def test_a_folder_holds_values_by_the_places_of_their_names(tmp_path):
    declared = [FLOAT, ValueInfo("y", "tensor(float)", None), ValueInfo("z", "tensor(float)", None)]
    write_values(f"{tmp_path}/d/", {"output": {"z": X, "x": X}}, {"output": declared}, False)
    assert sorted(each.name for each in (tmp_path / "d").iterdir()) == ["output_0.pb", "output_2.pb"]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ([X], "holds tensors alone"),
        (X.astype(DTYPES[16]), "loses that type"),
        (X.astype(DTYPES[19]), "loses that type"),
        (np.array(["a\0"], object), "text that a .npz file changes"),
        (np.array([b"\xff"], object), "text that a .npz file changes"),
        (np.array(["a" * 100_000, *["b"] * 1000], object), "the space of the longest"),
    ],
)
def test_an_archive_does_not_hold_everything(tmp_path, value, why):
    with pytest.raises(UsageError) as caught:
        write_values(f"{tmp_path}/v.npz", {"output": {"x": value}}, {"output": [FLOAT]}, False)
    assert caught.value.code == "U103" and why in caught.value.why and "-o FOLDER/" in caught.value.help
    assert not (tmp_path / "v.npz").exists()


class Evil:
    """A pickle of this makes a file where it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_nothing_is_unpickled(tmp_path):
    mark = str(tmp_path / "mark")
    np.save(tmp_path / "v.npy", np.array([Evil(mark)], object), allow_pickle=True)
    assert "never loaded" in refused(tmp_path / "v.npy", name="x")
    np.savez(tmp_path / "v.npz", x=np.array([Evil(mark)], object), allow_pickle=True)
    assert "never loaded" in refused(tmp_path / "v.npz")
    (tmp_path / "p.npy").write_bytes(pickle.dumps(Evil(mark)))
    assert "does not begin" in refused(tmp_path / "p.npy", name="x")
    assert not os.path.exists(mark)


def npy(descr="<f4", shape="(2, 3)", data=bytes(24), version=b"\x01\x00", header=None):
    header = header or f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY" + version + struct.pack("<H" if version[0] == 1 else "<I", len(header)) + header + data


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "does not begin"),
        (b"\x93NUMPY", "does not begin"),
        (npy(version=b"\x09\x00"), "version"),
        (npy(shape="(1099511627776,)"), "needs 4,398,046,511,104 bytes, and 24 are there"),
        (npy(shape=f"({'1000000, ' * 600})"), "needs more than 2^64 bytes, and 24 are there"),
        (npy(shape="(0, 9223372036854775807)", data=b""), "damaged"),
        (npy(shape="(0, 4611686018427387904)", data=b""), "damaged"),
        (npy(shape="(0, 4611686018427387903)", data=b""), "no array has the shape"),
        (npy(shape="(0, " + "1, " * 100 + ")", data=b""), "no array has the shape"),
        (npy(shape="(-1, -24)"), "shape is damaged"),
        (npy(shape="(True, 24)"), "shape is damaged"),
        (npy(shape="[2, 3]"), "header is damaged"),
        (npy(shape="(2.0, 3)"), "header is damaged"),
        (npy(descr="<U0", shape="(1099511627776,)", data=b""), "no size"),
        (npy(descr="<U99999999"), "needs 2,399,999,976 bytes"),
        (npy(descr="<U999999999"), "header is damaged"),
        (npy(descr="<V2"), "bfloat16"),
        (npy(descr="<M8[ns]"), "no tensor has"),
        (npy(descr="<f3"), "header is damaged"),
        (npy(descr="<f16", shape="(1,)", data=bytes(16)), "no tensor has"),
        (npy(descr="<c32", shape="(1,)", data=bytes(32)), "no tensor has"),
        (npy(descr="<U1", shape="(1,)", data=b"\xff\xff\xff\xff"), "no characters of Unicode"),
        (npy(descr="<U1", shape="(1,)", data=b"\x00\xd8\x00\x00"), "no characters of Unicode"),
        (npy(header=b"(" * 5000), "header is damaged"),
        (npy(header=b"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (6,)}"), "no tensor has"),
        (npy(header=b"{}"), "header is damaged"),
        (npy(header=b"__import__('os').system('false')"), "header is damaged"),
        (npy(header=b" " * 9000, version=b"\x02\x00"), "header is damaged"),
        (npy(version=b"\x03\x00", header=b"\xff"), "version 3.0"),
        (npy()[:-1], "24 bytes, and 23 are there"),
        (npy() + b"!", "24 bytes, and 25 are there"),
    ],
)
def test_arrays_that_are_not_what_they_say_are_refused(tmp_path, data, why):
    (tmp_path / "v.npy").write_bytes(data)
    assert why in refused(tmp_path / "v.npy", name="x")
    with zipfile.ZipFile(tmp_path / "v.npz", "w") as archive:
        archive.writestr("x.npy", data)
    assert why in refused(tmp_path / "v.npz")


def test_a_large_array_is_read_in_pieces(tmp_path):
    counts = []

    class Counting(io.BytesIO):
        def read(self, count=-1):
            counts.append(count)
            return super().read(count)

    count = 5 * CHUNK // 2
    data = npy(descr="|u1", shape=f"({count},)", data=(bytes(range(250)) * (count // 250 + 1))[:count])
    found = npz.read_array(Counting(data), len(data), 1 << 30)
    assert found.size == count and found[249:251].tolist() == [249, 0] and 0 < max(counts) <= CHUNK


@pytest.mark.parametrize(("length", "is_read"), [(8182, True), (8183, False)])
def test_a_header_is_read_up_to_its_most(tmp_path, length, is_read):
    header = b"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }"
    data = np.arange(6, dtype="<f4").tobytes()
    (tmp_path / "v.npy").write_bytes(npy(header=header.ljust(length - 1) + b"\n", data=data))
    if is_read:
        assert read(tmp_path / "v.npy", name="x")["x"].tolist() == [[0, 2, 4], [1, 3, 5]]
    else:
        assert refused(tmp_path / "v.npy", name="x") == "its header is damaged"


@pytest.mark.parametrize(("dims", "shown"), [(8, "[9, 9, 9, 9, 9, 9, 9, 9]"), (9, "[9, 9, 9, 9, 9, 9, 9, 9, …]")])
def test_a_long_shape_is_cut_in_messages(tmp_path, dims, shown):
    (tmp_path / "v.npy").write_bytes(npy(shape=f"({'9, ' * dims})"))
    assert refused(tmp_path / "v.npy", name="x").startswith(f"shape {shown} of float32 needs {4 * 9**dims:,} bytes")


def test_bytes_of_truth_values_are_true_unless_they_are_0(tmp_path):
    (tmp_path / "v.npy").write_bytes(npy(descr="|b1", shape="(3,)", data=b"\0\1\2"))
    found = read(tmp_path / "v.npy", name="x")["x"]
    assert found.dtype == bool and found.tolist() == [False, True, True]


@pytest.mark.parametrize(
    ("codes", "why"),
    [([0x10FFFF, 0xD7FF, 0xE000], ""), ([0x110000], "characters"), ([0xD800], "characters"), ([0xDFFF], "characters")],
)
def test_text_in_files_of_numpy_is_of_characters(tmp_path, codes, why):
    data = struct.pack(f"<{len(codes)}I", *codes)
    (tmp_path / "v.npy").write_bytes(npy(descr="<U1", shape=f"({len(codes)},)", data=data))
    if why:
        assert why in refused(tmp_path / "v.npy", name="x")
    else:
        assert read(tmp_path / "v.npy", name="x")["x"].tolist() == [*map(chr, codes)]


def zipped(*members, compression=zipfile.ZIP_STORED):
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", compression) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return whole.getvalue()


@cache
def bomb():
    """An archive of less than a megabyte that unpacks to 256; it takes a second to make, so not at collection."""
    data = zipped(("x.npy", npy(shape="(67108864,)", data=bytes(1 << 28))), compression=zipfile.ZIP_DEFLATED)
    assert len(data) < 1 << 20
    return data


def lying(data, at, value):
    """An archive whose central directory says something else of its first member."""
    start = data.index(b"PK\x01\x02") + at
    return data[:start] + value + data[start + len(value) :]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no archive"),
        (b"PK\x03\x04" + bytes(100), "no archive"),
        (zipped(("x.npy", npy()))[:-10], "no archive"),
        (zipped(("x.npy", npy()), ("y.npy", npy())).replace(b"y.npy", b"x.npy"), "twice"),
        (zipped(("x.txt", b"")), "no .npy file"),
        (bomb, "it unpacks to 268,435,5"),
        (lambda: lying(bomb(), 24, struct.pack("<I", (1 << 20) + 128)), "needs 268,435,456 bytes"),
        (lying(zipped(("x.npy", npy())), 24, struct.pack("<I", 1000)), "24 bytes, and"),
        (lying(zipped(("x.npy", npy())), 16, b"\0\0\0\0"), "Bad CRC"),
        (lying(zipped(("x.npy", npy())), 10, b"\x0c\0"), "compressed in a way"),
        (lying(zipped(("x.npy", npy())), 8, b"\x01\0"), "'x.npy' in it is encrypted"),
        (zipped(("x.npy", npy()), compression=zipfile.ZIP_LZMA), "compressed in a way"),
    ],
)
def test_archives_that_are_not_what_they_say_are_refused(tmp_path, data, why):
    (tmp_path / "v.npz").write_bytes(data() if callable(data) else data)
    assert why in refused(tmp_path / "v.npz")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 200_000, "nested too deeply"),
        ("", "it is empty"),
        (" \n", "it is empty"),
        ("x", "Expecting value"),
        ("[1]", "no object of values by name"),
        ('{"x": [1, [2]]}', "'x': "),
        ('{"x": [[1], 2]}', "its lists in dimension 1 are not all of 1 entries"),
        ('{"x": [[1], [2, 3]]}', "its lists in dimension 1 are not all of 1 entries"),
        ('{"x": 1, "x": 2}', "the key 'x' occurs twice"),
        ('{"x": NaN}', "NaN is not JSON"),
        ('{"x": 1e999}', "out of range"),
        ('{"x": [1, 1e300]}', "a value does not fit float: 1e+300 is out of range"),
        ('{"x": true}', "true is no element of float32"),
        ('{"x": "1"}', '"1" is no element of float32'),
        ('{"x": null}', "null is no element of float32"),
        ('{"x": {"shape": [1099511627776], "data": []}}', "there are 0 values"),
        ('{"x": {"shape": [-1], "data": []}}', "no list of sizes"),
        ('{"x": {"shape": [1]}}', "a tensor is nested lists"),
        ('{"x": ' + "[" * 40 + "]" * 40 + "}", "more than 32 dimensions"),
        ('{"x": ' + "9" * 5000 + "}", "a number has 5000 digits"),
        ('{"x": ' + "9" * 350 + "}", "out of range"),
        ("{" + ",".join(f'"{n}":0' for n in range(200_000)) + ',"7":1}', "the key '7' occurs twice"),
    ],
)
def test_json_that_is_no_value_is_refused(tmp_path, text, why):
    (tmp_path / "v.json").write_text(text, encoding="utf-8")
    assert why in refused(tmp_path / "v.json")


@pytest.mark.parametrize(
    ("text", "kind", "why"),
    [
        ("[1.5]", "tensor(int64)", "1.5 is no element of int64"),
        ("[1.0]", "tensor(uint8)", "1.0 is no element of uint8"),
        ("[true]", "tensor(int8)", "true is no element of int8"),
        ("[300]", "tensor(uint8)", "a value does not fit uint8: 300 is out of range"),
        ("[8]", "tensor(int4)", "a value does not fit int4: 8 is out of range"),
        ("[1]", "tensor(bool)", "1 is no element of bool"),
        ("[1]", "tensor(string)", "1 is no element of text"),
        ('["\\ud800"]', "tensor(string)", "surrogates"),
        ('["1+"]', "tensor(complex64)", "malformed"),
        ('["inf"]', "tensor(float6e2m3)", "out of range"),
        ("1", "seq(tensor(float))", "1 is no list"),
        ("[]", "map(int64, float)", "a list of 0 is no object"),
        ('{"a": 1}', "map(int64, float)", "the key 'a' is no int64"),
        ('{"1_0": 1}', "map(int64, float)", "the key '1_0' is no int64"),
        ('{"9223372036854775808": 1}', "map(int64, float)", "the key '9223372036854775808' is no int64"),
        ('{"-9223372036854775809": 1}', "map(int64, float)", "the key '-9223372036854775809' is no int64"),
        ('{"1": 1, "01": 2}', "map(int64, float)", "a key occurs twice"),
        ('{"é": 1, "\\udcc3\\udca9": 2}', "map(string, float)", "a key occurs twice"),
        ('{"\\ud800": 1}', "map(string, float)", "surrogates"),
        ('{"1": 1, "2": [1]}', "map(int64, float)", "a list of 1 is no element of float32"),
        ('{"1": [1]}', "map(int64, string)", "a list of 1 is no element of text"),
        ("[]", "sparse_tensor(float)", "JSON has no form for"),
        ("{}", "map(?)", "JSON has no form for"),
    ],
)
def test_json_is_held_against_the_type(text, kind, why):
    with pytest.raises(ValueError) as caught:
        literals.value_of(literals.parse(text), kind)
    assert why in str(caught.value)


def test_json_holds_numbers_that_json_does_not_have():
    array = literals.value_of(["nan", "inf", "-inf", -0.0], "tensor(float16)")
    assert np.isnan(array[0]) and array[1] == math.inf and array[2] == -math.inf and math.copysign(1, array[3]) == -1
    assert literals.json_of(array) == ["nan", "inf", "-inf", -0.0]
    assert literals.value_of("nan+1j", "tensor(complex128)").imag == 1
    assert json.loads(json.dumps(literals.json_of(TEXT))) == TEXT.tolist()
    assert json.dumps(literals.json_of(np.array([2**64 - 1, 0], np.uint64))) == "[18446744073709551615, 0]"
    texts = {b"\xff": b"\xfe", "é": ""}  # bytes that are not UTF-8
    written = literals.json_of(texts)
    assert written == {"\udcff": "\udcfe", "é": ""}
    assert literals.value_of(written, "map(string, string)") == texts


def test_files_that_are_none_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.npz")
    assert "no regular file" in refused(tmp_path / "pipe.npz")
    (tmp_path / "zero.pb").symlink_to("/dev/zero")
    assert "no regular file" in refused(tmp_path / "zero.pb")
    assert "no such file or folder" in refused(tmp_path / "absent.json")
    (tmp_path / "large.pb").write_bytes(bytes(1000))
    assert "the limit is 999" in refused(tmp_path / "large.pb", limit=999)
    with pytest.raises(RunError, match="form of the file is not known"):
        read(tmp_path / "v.csv")


class Dribble(io.BytesIO):
    """A stream that gives one byte at a time."""

    def read1(self, size=-1, /):
        return self.read(min(size, 1))


class Broken(io.BytesIO):
    """A stream that ends with an error of the system."""

    def read1(self, size=-1, /):
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize(
    ("stream", "why"),
    [
        (io.BytesIO(b'{"x": 1'), "Expecting ',' delimiter"),
        (io.BytesIO(b"\x93NUMPY"), "it is no object of values by name"),
        (io.BytesIO(b'{"x": "' + b"a" * 100), "it has more than 99 bytes"),
        (Dribble(b'{"x": 1.5}'.ljust(100)), "it has more than 99 bytes"),
        (Dribble(b'{"x": 1.5'.ljust(99)), "Expecting ',' delimiter"),
        (Broken(), "Input/output error"),
    ],
)
def test_a_stream_that_holds_no_values_is_refused(stream, why):
    with pytest.raises(RunError) as caught:
        values_in_stream(stream, [FLOAT], "input", 99)
    assert (caught.value.code, caught.value.file) == ("R105", "<stdin>") and why in caught.value.why


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32"])
def test_a_stream_may_give_few_bytes_in_any_encoding_of_json(encoding):
    text = '       {"x": [1.5]}'.encode(encoding)
    for limit in (4096, len(text)):
        assert values_in_stream(Dribble(text), [FLOAT], "input", limit)["x"].tolist() == [1.5]
    with pytest.raises(RunError, match="cannot be read"):
        values_in_stream(Dribble(b"      [" + b"1" * 50), [FLOAT], "input", 4096)


def test_a_folder_that_cannot_be_listed_is_refused(tmp_path, monkeypatch):
    def listdir(path):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.listdir", listdir)
    assert refused(tmp_path) == "Input/output error"


@pytest.mark.parametrize(
    ("name", "form"),
    [("v.npz", ".npz"), ("V.NPZ", ".npz"), ("v.json", ".json"), ("v/", "/"), ("v.npz/", "/"), ("there.json", "/")],
)
def test_the_form_that_is_written_follows_from_the_name(name, form, tmp_path):
    (tmp_path / "there.json").mkdir()
    assert format_of(f"{tmp_path}/{name}") == form


@pytest.mark.parametrize("name", ["v", "v.npy", "v.pb", "v.json.gz"])
def test_other_forms_are_not_written(name):
    with pytest.raises(UsageError, match="does not determine the form") as caught:
        format_of(name)
    assert (caught.value.code, caught.value.file) == ("U103", name)
    assert caught.value.help == "name a file .npz or .json, or a folder with a / at its end"


def test_what_an_archive_will_not_hold_is_told_before_anything_is_computed():
    kinds = ["tensor(float)", None, "seq(tensor(float))", "tensor(string)", "tensor(bfloat16)", "tensor(bool)"]
    declared = [ValueInfo(name, kind) for name, kind in zip("abcdef", kinds, strict=True)]
    with pytest.raises(UsageError) as caught:
        check_format("v.npz", declared)
    assert [(each.code, each.why, each.file) for each in caught.value.findings] == [
        ("U103", "'c' is seq(tensor(float)), and a .npz file holds tensors alone", "v.npz"),
        ("U103", "'e' is tensor(bfloat16), and a .npz file loses that type", "v.npz"),
    ]
    assert {each.help for each in caught.value.findings} == {"write a folder, which holds every value: -o FOLDER/"}
    check_format("v.npz", declared[:2])
    for path in ("v.json", "v/"):
        check_format(path, declared)


@pytest.mark.parametrize(
    ("longest", "count", "is_held"),
    [(4096, 17, True), (4096, 18, False), (241, 32, True), (241, 33, False), (0, 1000, True), (9000, 1, True)],
)
def test_texts_of_very_different_lengths_are_not_held(longest, count, is_held):
    values = {"x": np.array(["a" * longest, *[""] * (count - 1)], object)}
    if is_held:
        assert npz.read_npz(io.BytesIO(npz.npz_bytes(values)), 1 << 30, lambda names: {"x": "x"})["x"].shape == (count,)
    else:
        with pytest.raises(ValueError, match="very different lengths"):
            npz.npz_bytes(values)


def test_bytes_to_write_are_copies_and_what_json_is_made_of():
    values = {"output": {"y": np.zeros(10, np.float32), "z": [np.zeros(2)]}, "input": {"x": np.zeros(3)}}
    held = 40 + (16 + ENTRY) + 24
    assert [bytes_to_write(path, values) for path in ("v.npz", "v/", "v.json")] == [
        2 * held,
        3 * held,
        3 * held + 80 * 13,
    ]


def test_json_of_a_value_without_a_declared_type_is_refused():
    with pytest.raises(ValueError, match=r"does not declare its type: pass it as \.npz or \.pb"):
        declared_value([1], ValueInfo("x"), 99)
    assert values_in_json('{"input/other": [1], "x": [2]}', [FLOAT], "input", ENTRY + 4)["other"] == [1]
    with pytest.raises(ValueError, match="'x': it takes 8 bytes, and the limit is 7; 'y': the model does not declare"):
        values_in_json('{"x": [1, 2], "y": 1}', [FLOAT, ValueInfo("y")], "input", 7)


def test_numbers_of_numpy_are_values_of_json():
    values = [np.bool_(True), np.int8(-3), np.float16(0.5), np.float32("inf"), np.complex64(1 + 2j), b"a", None, "b"]
    assert json.dumps(literals.json_of(values)) == '[true, -3, 0.5, "inf", "1+2j", "a", null, "b"]'
    assert literals.json_of({np.int64(1): np.bool_(False)}) == {"1": False}


def test_an_error_of_the_system_says_what_it_was(tmp_path):
    (tmp_path / "v.npz").symlink_to(tmp_path / "v.npz")
    assert refused(tmp_path / "v.npz") == "Too many levels of symbolic links"


@pytest.mark.parametrize(("count", "is_read"), [(npz.MAX_DIRECTORY, True), (npz.MAX_DIRECTORY + 1, False)])
def test_the_directory_of_an_archive_is_read_up_to_its_most(count, is_read):
    pieces = npz._Pieces(io.BytesIO(b"abc"))
    with nullcontext() if is_read else pytest.raises(ValueError, match=f"its directory has {count:,} bytes"):
        assert pieces.read(count) == b"abc"
    assert (pieces.seekable(), pieces.seek(1), pieces.read(1), pieces.read(), pieces.tell()) == (True, 1, b"b", b"c", 3)


@pytest.mark.parametrize("name", ["a\0b", "a" * 60_001])
def test_a_name_that_no_file_in_an_archive_has_is_refused(name, tmp_path):
    with pytest.raises(UsageError, match="cannot be that of a file in an archive"):
        write_values(f"{tmp_path}/v.npz", {"output": {name: X}}, {"output": [FLOAT]}, False)


def test_a_member_of_an_archive_that_ends_early_is_told():
    with pytest.raises(ValueError, match="it ends after 20 of 24 bytes"):
        npz.read_array(io.BytesIO(npy()[:-4]), len(npy()), LIMIT)


def test_text_takes_more_than_its_bytes(tmp_path):
    np.save(tmp_path / "v.npy", np.full(100, "é"))
    why = refused(tmp_path / "v.npy", name="x", limit=400 + 100 * TEXT_SIZE - 1)
    assert why == f"it takes {400 + 100 * TEXT_SIZE:,} bytes, and the limit is {399 + 100 * TEXT_SIZE:,}"
    assert read(tmp_path / "v.npy", name="x", limit=400 + 100 * TEXT_SIZE)["x"].tolist() == ["é"] * 100


@pytest.mark.parametrize(
    ("levels", "kind", "why"),
    [
        (32, "tensor(float)", ""),
        (33, "tensor(float)", "it has more than 32 dimensions"),
        (63, "seq(" * 63 + "tensor(float)" + ")" * 63, ""),
        (64, "seq(" * 64 + "tensor(float)" + ")" * 64, "its type is nested too deeply"),
    ],
)
def test_nesting_is_bounded(levels, kind, why):
    with pytest.raises(ValueError, match=why) if why else nullcontext():
        literals.value_of(literals.parse("[" * levels + "1" + "]" * levels), kind)


@pytest.mark.parametrize(
    ("data", "kind", "expected"),
    [
        ({"shape": [0] * 32, "data": []}, "tensor(float)", np.zeros([0] * 32, np.float32)),
        ({"shape": [], "data": [1]}, "tensor(int8)", np.int8(1)),
        ({"shape": [2, 1], "data": [True, False]}, "tensor(bool)", np.array([[True], [False]])),
        ([True, False], "tensor(bool)", np.array([True, False])),
        ([1, 2.5, -3], "tensor(double)", np.array([1, 2.5, -3])),
        ([sys.float_info.max, -sys.float_info.max], "tensor(double)", np.array([1, -1]) * sys.float_info.max),
        (["NaN", "Infinity", "-Infinity", 1], "tensor(float)", np.array([np.nan, np.inf, -np.inf, 1], np.float32)),
        ([1, 2.5, "1+2j", "-1j"], "tensor(complex64)", np.array([1, 2.5, 1 + 2j, -1j], np.complex64)),
        (5, "tensor(uint4)", 5),
    ],
)
def test_json_of_every_kind_of_element(data, kind, expected):
    array = literals.value_of(data, kind)
    assert type_of(array) == kind and array.shape == np.shape(expected)
    np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    ("data", "kind", "why"),
    [
        ({"shape": [0] * 33, "data": []}, "tensor(float)", "its shape is no list of sizes"),
        ({"shape": [1 << 62], "data": []}, "tensor(float)", "its shape is no list of sizes"),
        (
            {"shape": [(1 << 62) - 1], "data": []},
            "tensor(float)",
            "there are 0 values, and dims ask for 461168601842738",
        ),
        ({"shape": [True], "data": [1]}, "tensor(float)", "its shape is no list of sizes"),
        ({"shape": 1, "data": [1]}, "tensor(float)", "a tensor is nested lists"),
        ({"shape": [1], "data": [1], "more": []}, "tensor(float)", "a tensor is nested lists"),
        ([10**400], "tensor(double)", "a number is out of range"),
        ([10**400], "tensor(complex64)", "a number is out of range"),
        ([1.5, True], "tensor(float)", "true is no element of float32"),
        ([True], "tensor(complex64)", "true is no element of complex64"),
        (["1"], "tensor(bool)", '"1" is no element of bool'),
        ([True, 1], "tensor(bool)", "1 is no element of bool"),
        ([1, True], "tensor(int8)", "true is no element of int8"),
        ([{}], "tensor(string)", "an object of 0 is no element of text"),
        (["nan"], "tensor(int8)", '"nan" is no element of int8'),
        ([[1], []], "tensor(float)", "its lists in dimension 1 are not all of 1 entries"),
        ({"a": 1}, "seq(tensor(float))", "an object of 1 is no list, and the type is seq(tensor(float))"),
        ([1], "map(string, float)", "a list of 1 is no object, and the type is map(string, float)"),
    ],
)
def test_json_that_is_no_element_is_refused(data, kind, why):
    with pytest.raises(ValueError) as caught:
        literals.value_of(data, kind)
    assert str(caught.value).startswith(why)


SEEDS = {
    ".npy": npy(),
    ".npz": zipped(("x.npy", npy()), compression=zipfile.ZIP_DEFLATED),
    ".pb": tensor_of("x", X).SerializeToString(),
    ".json": b'{"x": [[1.5, "nan"], [2, 3]]}',
}


@settings(max_examples=draws(300))
@given(
    st.sampled_from([*SEEDS]),
    st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=4),
    st.integers(0, 1 << 16),
)
def test_damaged_files_raise_nothing_but_our_own(place, form, edits, cut):
    data = bytearray(SEEDS[form])
    for position, value in edits:
        data[position % len(data)] = value
    path = place / f"fuzz{form}"
    path.write_bytes(data[: cut % (2 * len(data)) + 1])
    try:
        found = read(path, name="x" if form == ".npy" else "")
    except OpsetError as error:
        assert error.code == "R105"
    else:
        assert found.keys() <= {*found}
        for value in found.values():
            assert value is not None


def test_a_checksum_is_looked_at(tmp_path):
    data = bytearray(SEEDS[".npz"])
    body = data.index(zlib.compress(npy())[2:6])
    data[body + 10] ^= 0xFF
    (tmp_path / "v.npz").write_bytes(data)
    assert refused(tmp_path / "v.npz")
