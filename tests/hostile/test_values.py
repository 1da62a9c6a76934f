"""Files of values that are untrusted: what they hold is read within bounds, or refused."""

import os
import struct

import pytest

from judges.hostile.processes import attack, own
from opset.extend import parse_model

MODEL = '<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Identity (x) }'


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(parse_model(MODEL).SerializeToString())
    return path


def directory(count):
    """Return an archive that is a directory of `count` members alone."""
    entry = b"PK\1\2" + bytes([20, 0, 20, 0]) + bytes(20) + struct.pack("<H", 9) + bytes(16)
    entries = b"".join(entry + b"%05d.npy" % number for number in range(count))
    return entries + b"PK\5\6" + bytes(4) + struct.pack("<HHIIH", 9, 9, len(entries), 0, 0)


FILES = {
    "an archive of members that are not there": (".npz", directory(100)),
    "an array of 2^62 elements": (
        ".npy",
        b"\x93NUMPY\1\0v\0{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,), }".ljust(127)
        + b"\n",
    ),
    "brackets": (".json", b"[" * 1_000_000),
    "a number of many digits": (".json", b'{"x": [' + b"9" * 100_000 + b"]}"),
    "what JSON lacks": (".json", b'{"x": [NaN]}'),
    "groups in groups": (".pb", b"\x0b" * 1_000_000),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_refused_at_once(name, model):
    end, data = FILES[name]
    path = model.with_name(f"v{end}")
    path.write_bytes(data)
    outcome = own(attack("run", model, path), 3)
    assert b"R105" in outcome.stderr and outcome.megabytes < 300


def test_a_long_directory_is_not_read(model):
    path = model.with_name("v.npz")
    path.write_bytes(directory(90_000))
    outcome = own(attack("run", model, path), 3)
    assert b"its directory has" in outcome.stderr


@pytest.mark.parametrize("end", [".npz", ".npy", ".json", ".pb"])
def test_what_is_no_regular_file_is_not_waited_for(end, model):
    os.mkfifo(pipe := model.with_name(f"pipe{end}"))
    (device := model.with_name(f"device{end}")).symlink_to("/dev/zero")
    own(attack("run", model, pipe), 3)
    own(attack("run", model, device), 3)
