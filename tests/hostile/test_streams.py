"""Streams that have no end, or never begin: refused at the first byte that shows that they are no model."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import onnx.parser
import pytest

import opset
from judges.hostile.processes import attack, own
from opset.model import limits
from opset.model.storage import reading, wire

SMALL = """<ir_version: 6, opset_import: ["": 11]>
    main (float[2, 3] x) => (float[2, 3] y) { r = Unsqueeze <axes = [0]> (x)  y = Squeeze <axes = [0]> (r) }"""
MODEL = onnx.parser.parse_model(SMALL).SerializeToString()
# What is written again and again: the code of the error, and about how many bytes of it are read.
ENDLESS = {
    "zeros": (b"\0" * 65536, "M102", 1 << 20),
    "lines": (b"y\n" * 32768, "M102", 1 << 20),
    "a text that begins like a model": (b"2\n" * 32768, "M102", 1 << 20),
    "damage after a field": (b"\x08\x08" + b"\x07" * 65536, "M103", 1 << 20),
    "a field of 2^40 bytes": (b"\x08\x08\x3a\x80\x80\x80\x80\x80\x40" + bytes(65536), "M111", 1 << 20),
    "a number without an end": (b"\x08" + b"\xff" * 65536, "M103", 1 << 20),
}
ENDLESSLY = """
import os, sys
data = sys.stdin.buffer.read()
os.write(1, data)
count = len(data)
try:
    while True:
        count += os.write(1, data)
except BrokenPipeError:
    print(count, file=sys.stderr)
"""


@pytest.mark.parametrize("what", ENDLESS)
def test_an_endless_stream_is_refused_at_once(what, tmp_path):
    data, code, most = ENDLESS[what]
    for verb in ("convert - --to 21", "show -", "run - --random"):
        endless = subprocess.Popen(
            [sys.executable, "-c", ENDLESSLY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        endless.stdin.write(data)
        endless.stdin.close()
        endless.stdin = None
        try:
            outcome = own(attack(*verb.split(), stdin=endless.stdout, cwd=tmp_path), 3)
            endless.stdout.close()
            endless.stdout = None
            written = int(endless.communicate(timeout=300)[1])
        finally:
            endless.kill()
        assert code in outcome.text
        assert written < most
    assert os.listdir(tmp_path) == []


def test_a_stream_that_stops_without_an_end_is_refused_by_what_has_arrived(tmp_path):
    """A pipe by its name, whose writer sends one byte and then nothing."""
    os.mkfifo(tmp_path / "pipe")
    done = threading.Event()

    def write():
        with open(tmp_path / "pipe", "wb") as pipe:
            pipe.write(b"\0")
            pipe.flush()
            done.wait(30)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        assert "M102" in own(attack("show", tmp_path / "pipe"), 3).text
    finally:
        done.set()
        thread.join()


def test_a_stream_holds_no_more_than_protobuf_does(monkeypatch):
    monkeypatch.setattr(limits, "MAX_MESSAGE", 3_000_000)

    class Endless:
        read = 0

        def read1(self, count):
            Endless.read += count
            return wire.header(14, count - 6) + bytes(count - 6)

    with pytest.raises(opset.errors.ModelError) as caught:
        reading.read_stream(Endless(), "")
    assert caught.value.code == "M111" and Endless.read < 6_000_000


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100, 1 << 20])
def test_a_model_that_arrives_in_pieces_is_read(size):
    """The check of what has arrived never refuses a model, wherever the pieces end."""
    model = onnx.ModelProto.FromString(MODEL)
    model.metadata_props.add(key="k" * 300, value="v")
    model.graph.doc_string = "d" * 20_000
    unknown = b"\xd2\x3f\x03abc" + b"\xdd\x3f" + bytes(4) + b"\xd9\x3f" + bytes(8) + b"\xdb\x3f\x08\x01\xdc\x3f"
    for data in (MODEL, model.SerializeToString(), model.SerializeToString() + unknown + MODEL):

        class Pieces:
            def __init__(self, data):
                self.data = data

            def read(self, count):
                piece, self.data = self.data[:size], self.data[size:]
                return piece

        assert opset.load(Pieces(data)).SerializeToString() == opset.load(data).SerializeToString()


@pytest.mark.parametrize("data", [b"\0", b"y\n", b"[", b"  1"])
def test_values_without_an_end_are_refused_at_once(data, tmp_path):
    (tmp_path / "m.onnx").write_bytes(MODEL)
    endless = subprocess.Popen(
        [sys.executable, "-c", ENDLESSLY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    endless.stdin.write(data * 1000)
    endless.stdin.close()
    endless.stdin = None
    outcome = own(attack("run", tmp_path / "m.onnx", "-", stdin=endless.stdout), 3)
    endless.stdout.close()
    endless.stdout = None
    assert int(endless.communicate(timeout=300)[1]) < 1 << 20
    assert "R105" in outcome.text


def test_values_from_a_stream_are_bounded(tmp_path):
    (tmp_path / "m.onnx").write_bytes(MODEL)
    values = b'{"x": [[1, 2, 3], [4, 5, 6]]}'
    own(attack("run", tmp_path / "m.onnx", "-", stdin=values), 0)
    own(attack("run", tmp_path / "m.onnx", "-", stdin="\ufeff".encode() + values), 0, 3)
    own(attack("run", tmp_path / "m.onnx", "-", stdin=values.decode().encode("utf-16")), 0)
    outcome = own(attack("run", tmp_path / "m.onnx", "-", "--max-bytes", "1000", stdin=b" " * 2000 + values), 3)
    assert "R105" in outcome.text
