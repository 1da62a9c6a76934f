"""Whatever is given to load, it answers with a model or with an error of this package, soon."""

import io
import os
import random
import subprocess
import sys
import threading
import tracemalloc

import onnx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper

from opset import errors
from opset.errors import ModelError, UsageError
from opset.model import arrays, limits, load
from opset.model.storage import reading, source, wire
from tests.bounds import draws


def delimited(number, content):
    return wire.header(number, len(content)) + content


def small_model():
    node = helper.make_node("Relu", ["x"], ["y"], name="n")
    weight = helper.make_tensor("w", onnx.TensorProto.FLOAT, [600], bytes(2400), raw=True)
    return helper.make_model(helper.make_graph([node], "main", [], [], [weight])).SerializeToString()


MODEL = small_model()
TEXT = '<ir_version: 10, opset_import: ["": 18]> g (float x) => (float y) { y = Relu (x) }'


def error_of(given, kind=ModelError):
    with pytest.raises(kind) as caught:
        load(given)
    assert caught.value.code in errors.CODES
    return caught.value


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a text file\nof two lines\n",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
        b"<!DOCTYPE html><html></html>",
        b":this text begins with a byte that could be a field\n",
        b"PK\x03\x04" + bytes(100),
        b"\x89PNG\r\n\x1a\n" + bytes(50),
        b"\x00" * 50,
        b"\x12\x03abc",
        bytes(range(255, 0, -1)),
    ],
)
def test_what_is_no_model(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    error = error_of(tmp_path / "file")
    assert error.code == "M102"
    assert error.file == str(tmp_path / "file")
    assert error_of(content).code == "M102"


WEB = "this is a page of the web: download the file itself"
SCHEMAS = "operator YAML is checked by opset lint, and shown by opset show OPERATOR --schemas DIR"
OTHER = [
    ("m", b"version https://git-lfs.github.com/spec/v1\n",
     "this is a Git LFS pointer; fetch the file itself with: git lfs pull"),
    ("m", b"PK\x03\x04", "this is a zip archive: unpack it first, or export a PyTorch checkpoint to ONNX"),
    ("m", b"\x1f\x8b", "this is compressed with gzip; unpack it first"),
    ("m", b"\x89HDF", "this is an HDF5 file; export it to ONNX"),
    ("m", b"GGUF", "this is a GGUF file, which is another format"),
    ("m", b"<!DOCTYPE html>", WEB), ("m", b"<html>", WEB),
    ("m", b"\x89PNG\r\n", "fetch the model itself, or export it again"),
    ("m.npz", b"PK\x03\x04", "this is a file of values: opset run MODEL FILE.npz"),
    ("m.NPY", b"\x93NUMPY", "this is a file of values: opset run MODEL FILE.npy"),
    ("m.yaml", b"# ", SCHEMAS), ("m.yml", b"# ", SCHEMAS),
    ("m.onnxopset", b"# ",
     "an operator-set document is checked by opset check, and given to other verbs by --schemas FILE"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "head", "help"), OTHER)
@pytest.mark.parametrize("more", [0, 40, 1 << 30])
def test_files_of_other_kinds_are_recognised(name, head, help, more, tmp_path):
    (tmp_path / name).write_bytes(head)
    os.truncate(tmp_path / name, len(head) + more)
    found = error_of(tmp_path / name).findings
    assert [(each.code, each.message, each.place, each.file, each.advice) for each in found] == [
        ("M102", "this is not an ONNX model", "", str(tmp_path / name), help)
    ]
    if more < 100 and name == "m":
        assert error_of(head + bytes(more)).help == help


def test_an_empty_file_has_its_name_for_no_hint(tmp_path):
    (tmp_path / "m.yaml").write_bytes(b"")
    error = error_of(tmp_path / "m.yaml")
    assert (error.code, error.why, error.help) == ("M102", "it is empty", "fetch the model itself, or export it again")


class Fed(io.BytesIO):
    """A stream that gives little at a time."""

    def read1(self, size=-1):
        return super().read1(1000)


@pytest.mark.parametrize(
    ("code", "head", "most"),
    [
        ("M102", (b":z" + b"a" * 122) * 4000, 66_000),  # text of which each line could be a field
        ("M102", b"\x13", 1000),
        ("M103", b"\x3a\x00", 1000),
        ("M103", b"\x3a\x00\x3e", 1000),
        ("M103", b"\x08" + b"\xff" * 20, 1000),
        ("M111", b"\x3a\xff\xff\xff\xff\x0f", 1000),
    ],
)
def test_a_stream_is_read_no_further_than_it_could_be_a_model(code, head, most):
    stream = Fed(head + bytes(400_000))
    assert error_of(stream).code == code
    assert stream.tell() == most


def test_a_stream_has_the_name_of_its_file():
    stream = io.BytesIO(b"no model")
    assert error_of(stream).place == ""
    stream.name = "here.onnx"
    assert "here.onnx" in str(error_of(stream))


def test_reading_that_fails(tmp_path):
    closed = io.BytesIO(MODEL)
    closed.close()
    assert error_of(closed).code == "M101"
    (tmp_path / "m.onnx").write_bytes(MODEL)
    descriptor = os.open(tmp_path / "m.onnx", os.O_WRONLY)
    try:
        for read in (
            lambda: source.read_into(descriptor, 0, memoryview(bytearray(1)), "m.onnx"),
            lambda: source.read_exactly(descriptor, 0, 1, "m.onnx"),
        ):
            with pytest.raises(ModelError) as caught:
                read()
            assert (caught.value.code, caught.value.file) == ("M101", "m.onnx")
    finally:
        os.close(descriptor)


def test_a_system_that_reads_less_than_it_is_asked_for_is_asked_again(tmp_path, monkeypatch):
    (tmp_path / "m.onnx").write_bytes(b"abcdefgh")
    read_at = source._read_at
    descriptor = os.open(tmp_path / "m.onnx", os.O_RDONLY)
    try:
        for most in (1, 3, 4, 9):
            monkeypatch.setattr(
                source, "_read_at", lambda at, count, start, most=most: read_at(at, min(count, most), start)
            )
            assert source.read_exactly(descriptor, 1, 6, "m.onnx") == b"bcdefg"
    finally:
        os.close(descriptor)


class Huge(io.BytesIO):
    """A message that protobuf cannot write."""

    DESCRIPTOR = onnx.ModelProto.DESCRIPTOR

    def SerializeToString(self):
        raise ValueError("too large")

    def ByteSize(self):
        return 3 << 30


def test_messages_that_protobuf_cannot_write(tmp_path, monkeypatch):
    (tmp_path / "m.onnxtxt").write_text(TEXT)
    changed = load(MODEL)
    changed.proto = Huge()
    for write in (lambda: load(Huge()), lambda: arrays.encode_message(Huge()), changed.SerializeToString):
        with pytest.raises(ModelError) as caught:
            write()
        assert caught.value.code == "M111" and "3221225472 bytes" in caught.value.why
    with monkeypatch.context() as patch:
        patch.setattr("opset.model.text.syntax.parse_model", lambda text: Huge())
        assert error_of(tmp_path / "m.onnxtxt").code == "M111"
    monkeypatch.setattr(limits, "MAX_MESSAGE", len(TEXT))
    assert load(tmp_path / "m.onnxtxt").proto.graph.name == "g"
    monkeypatch.setattr(limits, "MAX_MESSAGE", len(TEXT) - 1)
    assert error_of(tmp_path / "m.onnxtxt").code == "M111"


def test_a_small_file_is_read_at_once_and_a_large_one_stays_open(tmp_path):
    for size, kind in ((reading.IN_MEMORY, source.BytesSource), (reading.IN_MEMORY + 1, source.FileSource)):
        head = b"\x08\x0a\x32"
        (tmp_path / "m.onnx").write_bytes(head + wire.varint(size - 6) + bytes(size - 6))
        assert (tmp_path / "m.onnx").stat().st_size == size
        assert type(load(tmp_path / "m.onnx").source) is kind
    assert reading.IN_MEMORY == 1 << 20


def test_files_that_cannot_be_opened(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for path in (
        tmp_path / "none",
        tmp_path,
        tmp_path / "loop",
        tmp_path / ("x" * 300),
        "a\0b",
        "/dev/null",
        "/dev/zero",
    ):
        assert error_of(path).code == "M101"


def test_what_is_opened_as_a_folder_is_one(tmp_path):
    (tmp_path / "file").touch()
    os.close(os.open(tmp_path, source.FOLDER))
    with pytest.raises(NotADirectoryError):
        os.open(tmp_path / "file", source.FOLDER)


def test_a_file_without_permission():
    lines = (
        "import os, sys, tempfile; from opset.model import load; from opset.errors import ModelError\n"
        "folder = tempfile.mkdtemp(); path = os.path.join(folder, 'm.onnx'); open(path, 'wb').close()\n"
        "os.chmod(path, 0); os.geteuid() or (os.chmod(folder, 0o755), os.setuid(65534))\n"
        "try: load(path)\n"
        "except ModelError as error: sys.exit(0 if error.code == 'M101' and 'denied' in error.why.lower() else 1)\n"
        "sys.exit(2)"
    )
    subprocess.run([sys.executable, "-c", lines], check=True, timeout=60)


def test_names_that_are_not_utf8(monkeypatch):
    content = delimited(7, delimited(2, b"\xff"))
    loaded = load(content)
    assert loaded.proto.graph.name == b"\xff"
    assert loaded.SerializeToString() == content
    lines = f"from opset.model import load; load({content!r})"
    monkeypatch.setenv("PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION", "python")
    slow = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, timeout=60)
    assert "ModelError: error[M106]" in slow.stderr


def test_things_that_are_no_source():
    for thing in (None, 5, object(), onnx.NodeProto(), ["path"], io.StringIO("text")):
        assert error_of(thing, UsageError).code == "U103"


def test_every_way_to_give_a_model(tmp_path, monkeypatch):
    path = tmp_path / "m.onnx"
    path.write_bytes(MODEL)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    threading.Thread(target=pipe.write_bytes, args=(MODEL,)).start()
    ways = {
        "path": [path, str(path), os.fsencode(path).decode()],
        "bytes": [MODEL, bytearray(MODEL), memoryview(MODEL)],
        "stream": [io.BytesIO(MODEL), pipe],
        "message": [onnx.ModelProto.FromString(MODEL)],
    }
    for kind, given_ways in ways.items():
        for given_way in given_ways:
            loaded = load(given_way)
            assert loaded.kind == kind
            assert (loaded.path is not None) == (kind == "path")
            assert loaded.SerializeToString() == MODEL
    monkeypatch.setattr(reading, "SPOOLED", 100)
    assert load(io.BytesIO(MODEL)).SerializeToString() == MODEL


def test_truncation_at_every_offset():
    for end in range(len(MODEL)):
        try:
            assert load(MODEL[:end]).SerializeToString() == MODEL[:end]  # cut between two fields of the model
        except ModelError as error:
            assert error.code == ("M102" if end == 0 else "M103")
            assert error.code == "M102" or "byte " in error.place


def test_the_place_of_the_damage():
    graph = delimited(1, delimited(3, b"first")) + delimited(
        1, delimited(5, b"\x0a\x01v" + delimited(5, b"\x0a\xff\xff"))
    )
    error = error_of(b"\x08\x0a" + delimited(7, graph))
    assert error.code == "M103"
    assert error.place == "graph.node[1].attribute[0].t, byte 23"
    assert error.why == "the message ends inside a number"


LONG = b"\xff" * 9 + b"\x02"
"""A number of 65 bits, whose bytes lie in two windows of the search where it begins at the end of the first."""


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (delimited(7, b"") + b"\x00\x01", "0 is not a field number"),
        (delimited(7, b"") + b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "and 0 are left"),  # a negative size
        (delimited(7, b"") + b"\x08" + b"\xff" * 11 + b"\x01", "longer than 64 bits"),
        (delimited(7, b"") + b"\x3e\x00", "6 is not a wire type"),
        (delimited(7, b"") + b"\x3c", "a group 7 ends"),
        (delimited(7, b"") + b"\x9b\x06\x08\x01", "group 99 does not end"),
        (delimited(7, b"") + b"\x9b\x06\xa4\x06", "a group 100 ends"),
        (delimited(7, delimited(5, delimited(4, b"12345"))), "5 bytes are no whole number of elements"),
        (delimited(7, delimited(5, delimited(10, b"123456789012"))), "12 bytes are no whole number of elements"),
        (delimited(7, delimited(5, delimited(4, b"123456789012") + b"\x4a\x05abc")), "and 3 are left"),
        (delimited(7, delimited(5, delimited(7, b"\x01" * 16383 + LONG) + b"\x4a\x05abc")), "longer than 64 bits"),
        (delimited(7, delimited(5, delimited(7, b"\x01") + delimited(9, LONG) + b"\x4a\x05abc")), "and 3 are left"),
        (delimited(7, delimited(5, delimited(7, b"\x01\x80"))), "ends inside a number"),
        (delimited(7, delimited(5, delimited(7, b"\x01" + b"\xff" * 10 + b"\x01"))), "longer than 64 bits"),
        (delimited(7, delimited(5, b"\x4a\x05abc") + delimited(2, b"g")), "and 3 are left"),
        (b"\x3a\x05\x0a\x7f", "and 2 are left"),
        (delimited(7, b"\x02\x01a" + delimited(2, b"g" * 40)), "0 is not a field number"),
        (delimited(7, delimited(2, b"g") + delimited(1, b"\x0a\x64" + b"x" * 40)), "and 40 are left"),
    ],
)
def test_malformed_encodings(content, why):
    error = error_of(content)
    assert (error.code, why in error.why) == ("M103", True), error.why


@pytest.mark.parametrize("least", [0, 1000])
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"\x02\x01a" + b"\x08\x01" * 20, "0 is not a field number"),
        (b"\x0a\x64" + b"x" * 40, "field 1 needs 100 bytes, and 40 are left"),
        (b"\x0a\x7f" + b"x" * 126, "field 1 needs 127 bytes, and 126 are left"),
        (b"\x0a\xe4\x00" + b"x" * 40, "field 1 needs 100 bytes, and 40 are left"),
        (b"\x08\x01" * 30 + b"\x0a\x01", "field 1 needs 1 bytes, and 0 are left"),
    ],
)
def test_small_fields_are_not_passed_over_if_they_are_malformed(content, why, least):
    data = source.BytesSource(bytes(50) + content + bytes(200))
    with pytest.raises(wire.WireError) as caught:
        [*wire.fields(data, 50, 50 + len(content), least=least)]
    assert (caught.value.code, caught.value.why) == ("M103", why)


class CountingSource(source.BytesSource):
    """Bytes that note where each read begins, and how many bytes it takes."""

    def __init__(self, data):
        super().__init__(data)
        self.reads = []

    def read(self, start, size):
        self.reads.append((start, size))
        return super().read(start, size)


@pytest.mark.parametrize("size", [0, 2, 16384, 16386, 60_000])
def test_small_fields_are_read_a_window_at_a_time(size):
    data = CountingSource(b"\x08\x01" * (size // 2 + 5))
    found = [(each.start, each.end) for each in wire.fields(data, 4, 4 + size)]
    assert found == [(at + 1, at + 2) for at in range(4, 4 + size, 2)]
    assert len(data.reads) == -(-size // 16384) and all(at + count <= 4 + size for at, count in data.reads)


RAW = delimited(9, bytes(2000))
NUMBER = b"\x25" + bytes(4)  # one element of float_data, not packed


@pytest.mark.parametrize(
    ("graph", "count"),
    [
        (delimited(5, RAW), 1),
        (delimited(5, delimited(8, b"name") + RAW), 1),
        (delimited(5, delimited(4, bytes(8)) + RAW), 1),
        (delimited(5, NUMBER + RAW), 0),
        (delimited(5, RAW + NUMBER), 1),
        (delimited(1, delimited(5, delimited(5, RAW) + b"\x28\x01")), 1),  # a number where a message belongs
        (b"\x2b" + RAW + b"\x2c", 0),
        (delimited(5, delimited(6, b"text") + RAW), 0),
        (delimited(1, delimited(5, delimited(1, b"a") + delimited(5, RAW))), 1),
        (delimited(1, delimited(5, b"\x3d" + bytes(4) + delimited(5, RAW))), 0),
        (delimited(1, delimited(5, delimited(9, b"s") + delimited(5, RAW))), 0),
    ],
)
def test_large_data_is_kept_apart_unless_values_in_small_fields_come_first(graph, count):
    whole, token = source.BytesSource(b"\x08\x0a" + delimited(7, graph)), bytes(range(16))
    skeleton, segments = wire.extract(whole, token)
    assert len(segments) == count and len(skeleton) < 200 + 2000 * (not count)
    pieces, size = wire.splice(skeleton, token, segments)
    made = b"".join(each if isinstance(each, bytes) else whole.read(each.start, each.size) for each in pieces)
    assert made == whole.read(0, whole.size) and size == whole.size


def test_groups_are_skipped_whole():
    content = delimited(7, b"\x9b\x06\x0b\x12\x03abc\x0c\x9c\x06" + delimited(2, b"g"))
    loaded = load(content)
    assert loaded.proto.graph.name == "g"
    assert loaded.SerializeToString() == content
    data = source.BytesSource(b"\x9b\x06\x0b\x0c\x9c\x06\x08\x01")
    assert [(each.number, each.start, each.end) for each in wire.fields(data, 0, 8)] == [(99, 0, 6), (1, 7, 8)]
    loaded.proto.producer_name = "touched"
    theirs = onnx.ModelProto.FromString(content)
    theirs.producer_name = "touched"
    assert loaded.SerializeToString() == theirs.SerializeToString()


def nested_subgraphs(depth):
    """Return a model with a subgraph in a subgraph …, made from the inside out without copying."""
    parts, size = [], 0
    for _ in range(depth):
        for number in (6, 5, 1):
            parts.append(wire.header(number, size))
            size += len(parts[-1])
    return b"\x08\x0a" + wire.header(7, size) + b"".join(reversed(parts))


def test_nesting():
    deepest = nested_subgraphs(33)
    assert load(deepest).SerializeToString() == deepest
    for depth in (34, 400, 100_000):
        error = error_of(nested_subgraphs(depth))
        assert error.code == "M104"
        assert error.place.startswith("graph.node[0].attribute[0].g.….node[0].attribute[0].g, byte ")
    assert error_of(delimited(7, b"") + b"\x9b\x06" * 100_000).code == "M104"


def test_a_model_that_was_nested_too_deeply_is_not_written():
    loaded = load(MODEL)
    graph = loaded.proto.graph
    for _ in range(34):
        graph = graph.node.add().attribute.add().g
    graph.name = "innermost"
    with pytest.raises(ModelError) as caught:
        loaded.SerializeToString()
    assert caught.value.code == "M104"


def test_deep_nesting_takes_little_memory():
    content = nested_subgraphs(100_000)
    tracemalloc.start()
    try:
        assert error_of(content).code == "M104"
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_large_tensor_at_the_deepest_place():
    weight = delimited(5, delimited(9, bytes(3000)))
    content = weight
    for _ in range(32):
        content = delimited(1, delimited(5, delimited(6, content)))
    content = b"\x08\x0a" + delimited(7, content)
    loaded = load(content)
    assert loaded.proto.ByteSize() < 800
    loaded.proto.producer_name = "touched"
    theirs = onnx.ModelProto.FromString(content)
    theirs.producer_name = "touched"
    assert loaded.SerializeToString() == theirs.SerializeToString()


def test_a_message_that_protobuf_cannot_hold(tmp_path):
    path = tmp_path / "m.onnx"
    with path.open("wb") as file:  # a sparse file: its size is all that it has
        size = 3 << 30
        file.write(b"\x08\x0a" + wire.header(6, size))
        file.truncate(file.tell() + size)
    assert error_of(path).code == "M111"


def test_many_small_fields_are_not_slow():
    integers = delimited(7, delimited(1, delimited(5, b"\x40\x01" * 2_000_000)))
    strings = delimited(7, delimited(5, b"\x32\x00" * 500_000))
    for content in (integers, strings):
        assert load(content).SerializeToString() == content


def test_a_file_that_changes_under_the_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "IN_MEMORY", 0)
    path = tmp_path / "m.onnx"

    def loaded():
        path.write_bytes(MODEL)
        return load(path)

    shrunk = loaded()
    os.truncate(path, 100)
    written = loaded()
    with path.open("r+b") as file:
        file.write(b"\x08\x09")
    os.utime(path, (1, 1))
    for model in (shrunk, written):
        for read in (
            model.SerializeToString,
            lambda model=model: model.payload(model.proto.graph.initializer[0]),
            lambda model=model: model.save(tmp_path / "out.onnx"),
        ):
            with pytest.raises(ModelError) as caught:
                read()
            assert caught.value.code == "M105"
    assert os.listdir(tmp_path) == ["m.onnx"]

    replaced = loaded()
    (tmp_path / "new").write_bytes(b"something else")
    os.replace(tmp_path / "new", path)
    assert replaced.SerializeToString() == MODEL


def test_a_file_that_shrinks_while_it_is_loaded(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "IN_MEMORY", 0)
    path = tmp_path / "m.onnx"
    path.write_bytes(MODEL)
    opened = source.FileSource(os.open(path, os.O_RDONLY), "m.onnx")
    os.truncate(path, 40)
    with pytest.raises(ModelError) as caught:
        wire.extract(opened, bytes(16))
    assert caught.value.code == "M105"


calm = settings(max_examples=draws(300), suppress_health_check=list(HealthCheck))


def is_refused_or_kept(content):
    try:
        loaded = load(content)
    except ModelError as error:
        assert error.code in ("M102", "M103", "M104")
        str(error)
    else:
        assert loaded.SerializeToString() == content


@calm
@given(st.binary(max_size=200))
def test_random_bytes(content):
    is_refused_or_kept(content)


@calm
@given(st.integers(0, 2**64))
def test_damaged_models(seed):
    rng = random.Random(seed)
    content = bytearray(MODEL[:200] + MODEL[-60:] if rng.random() < 0.5 else MODEL)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(content))
        match rng.randrange(4):
            case 0:
                content[at] = rng.randrange(256)
            case 1:
                content[at] ^= 1 << rng.randrange(8)
            case 2:
                del content[at : at + rng.randrange(1, 9)]
            case _:
                content[at:at] = rng.randbytes(rng.randrange(1, 5))
    is_refused_or_kept(bytes(content))
