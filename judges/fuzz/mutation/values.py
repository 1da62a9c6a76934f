"""Mutants of values files: .npy, .npz, .pb, JSON and folders of test data, changed in their bytes or their structure.

A case is a file, or a folder, of values for a model with inputs of many types. It is read as `opset run` reads inputs
and as it reads what `--compare` is given; some cases run the command line.
"""

from __future__ import annotations

import io
import json
import random
import re
import struct
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from judges.fuzz.mutation.case import Case, Verb, command
from judges.fuzz.mutation.structure import OF_VALUES
from judges.fuzz.mutation.wire import mutate_bytes
from opset.model import proto as pb
from opset.model.arrays import encode_message, message_of
from opset.model.text.syntax import parse_model
from opset.reference.comparison import differences
from opset.reference.value_info import ValueInfo
from opset.tensor_io.files import read_values
from opset.tensor_io.json_values import json_of
from opset.tensor_io.npz import npz_bytes
from opset.tensor_io.statistics import summarize, summary_lines

LIMIT = 20_000_000
SPLICED = b"\xff" * 11 + b"\x00" * 10 + b"\x80" * 11 + b"PK\x03\x04" + b"\x93NUMPY"
ELEMENTS = ("float", "int64", "string", "bool", "double", "float16", "bfloat16", "uint8", "int4", "complex64")
KINDS = (
    *(f"tensor({element})" for element in ELEMENTS),
    *("seq(tensor(float))", "optional(tensor(int64))", "optional(seq(tensor(string)))", "map(string, tensor(float))"),
    *("map(int64, float)", "seq(map(string, float))", "sparse_tensor(float)", "tensor(float8e4m3fn)"),
)
MODEL = """<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Identity (x) }"""
NUMBERS = (
    *(0, 1, 2, 3, 7, 8, 16, 127, 128, 255, 256, 65535, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**62),
    *(2**63 - 1, 2**63),
    *(2**64 - 1, 2**64, 10**30, -1, -2, -(2**31), -(2**63), -(2**63) - 1, 10**400),
)
SCALARS = (
    *("0", "1", "-1", "1.5", "true", "false", "null", '"nan"', '"inf"', '"-inf"', '"1+2j"', '"abc"', '""'),
    *("NaN", "Infinity"),
    *("1e400", "-1e400", "1e-400", "9" * 30, "9" * 399, "9" * 5000, "-0.0", "1E5", "01", "+1", ".5"),
    *("0x1", "[]", "{}", "[[]]"),
    *('"\\ud800"', '"\\u0000"', '"\\u001b[31m"', '"' + "a" * 5000 + '"', "[" * 50, "[" * 100_000),
    *('{"a":' * 3000, "[1, [2]]"),
    *('{"shape": [2], "data": [1, 2]}', '{"shape": [0, 3], "data": []}'),
    *('{"shape": [4611686018427387904, 0], "data": []}'),
    *('{"shape": [-1], "data": [1]}', '{"shape": [], "data": [1]}', '{"shape": [1e3], "data": []}', '{"a": 1, "a": 2}'),
)


def _values(rng: random.Random) -> dict[str, tuple[str, Any]]:
    """Return values by name with their types."""
    shape = rng.choice(((), (1,), (3,), (2, 3), (0, 2), (2, 0)))
    array = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    texts = np.array([f"t{each}" for each in array.ravel()], object).reshape(shape)
    values: dict[str, tuple[str, Any]] = {
        "x": ("tensor(float)", array),
        "i": ("tensor(int64)", array.astype(np.int64)),
        "t": ("tensor(string)", texts),
        "b": ("tensor(bool)", array > 1),
        "d": ("tensor(double)", array.astype(np.float64)),
        "s": ("seq(tensor(float))", [array, array]),
        "o": ("optional(tensor(int64))", array.astype(np.int64)),
        "n": ("optional(tensor(int64))", None),
        "q": ("seq(tensor(string))", [texts]),
        "m": ("map(string, float)", {"a": 1.0, "b": 2.0}),
        "k": ("map(int64, float)", {1: 1.0, -2: 2.0}),
    }
    return {name: values[name] for name in rng.sample([*values], rng.choice((1, 1, 2, 4)))}


# Files as they are written.


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array.astype(np.str_) if array.dtype == object else array, allow_pickle=False)
    return file.getvalue()


def _member(rng: random.Random, values: dict[str, tuple[str, Any]]) -> bytes:
    arrays = [value for _, value in values.values() if isinstance(value, np.ndarray)]
    return _mutated_npy(rng, _npy(rng.choice(arrays) if arrays else np.zeros(2)))


def _mutated_npy(rng: random.Random, data: bytes) -> bytes:
    """Change the header of a .npy file: its text, its length, its version."""
    size = struct.unpack("<H", data[8:10])[0]
    text, rest = data[10 : 10 + size].decode("latin-1"), data[10 + size :]
    change = rng.randrange(8)
    if change == 0:
        text = re.sub(r"'shape': \(.*?\)", lambda _: f"'shape': {_shape(rng)}", text)
    elif change == 1:
        descr = rng.choice(
            (
                *("'|O'", "'<f3'", "'<U4611686018427387904'", "'<U0'", "'|S0'", "'|V4'", "'>f8'", "'<M8[s]'"),
                *("'<c16'", "'<f16'"),
                *("[('a', '<f4')]", "[('a', '<f4'), ('a', '<f4')]", "('<f4', (1000000000, 1000000000))", "1", "None"),
                "'" * 99,
                *("'i4, f8'", "[('', 'V9')] * 99", "'<f4" + "0" * 3000 + "'", "'<U2147483648'", "'|b1'", "'<f2'"),
                *("'<u8'", "{}"),
            )
        )
        text = re.sub(r"'descr': '.*?'", lambda _: f"'descr': {descr}", text)
    elif change == 2:
        text = text.replace("False", rng.choice(("True", "1", "None", "__import__('os')", "[]", "False or True")))
    elif change == 3:
        texts = "(" * 5000, "{" * 200, "{'a': " * 100, "-" * 5000, "1", "{}", "\0" * 50, "9" * 5000, "f'{1}'"
        text = rng.choice(texts)
    elif change == 4:
        at = rng.randrange(len(text))
        piece = rng.choice(("(", "'", "9" * 50, "\0", "\n", "#", "\\", "L", "]"))
        text = text[:at] + piece + text[at + rng.randrange(3) :]
    elif change == 5:
        rest = rest[: rng.randrange(len(rest) + 1)] if rng.random() < 0.5 else rest + bytes(rng.choice((1, 8, 4096)))
    head = text.encode("latin-1")
    length = rng.choice(NUMBERS[:12]) if change == 6 else len(head)
    version = rng.choice(((1, 0), (2, 0), (3, 0), (0, 0), (255, 255))) if change == 7 else (1, 0)
    packed = struct.pack("<I" if version[0] in (2, 3) else "<H", length % (2**32 if version[0] in (2, 3) else 2**16))
    return b"\x93NUMPY" + bytes(version) + packed + head + rest


def _shape(rng: random.Random) -> str:
    """Return the text of a shape that no file has."""
    count = rng.choice((0, 1, 2, 3, 40, 1000))
    sizes = [rng.choice((*NUMBERS, "'a'", "True", "1.5", "None", "(1,)")) for _ in range(count)]
    return f"({', '.join(map(str, sizes))},)" if sizes else rng.choice(("()", "[]", "3", "None", "{}"))


def _npz(rng: random.Random, values: dict[str, tuple[str, Any]]) -> bytes:
    """Return an archive with members that numpy would not write."""
    file = io.BytesIO()
    method = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, (_, value) in values.items():
            own = _npy(value) if isinstance(value, np.ndarray) else _member(rng, values)
            data = rng.choice((own, own, _member(rng, values), b"", bytes(rng.choice((100, 3_000_000)))))
            member = rng.choice((name, name, f"input/{name}", f"output/{name}", "../" + name, name * 300, "a\0", "é"))
            end = rng.choice((".npy", ".npy", ".npy", "", ".pkl", "/"))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # names may be duplicate
                archive.writestr(member + end, data)
    return bytes(_patched_zip(rng, bytearray(file.getvalue())))


def _patched_zip(rng: random.Random, data: bytearray) -> bytearray:
    """Change a field of a header of an archive: flags, method, checksum, sizes, offsets, counts."""
    places = [match.start() for match in re.finditer(rb"PK(\x01\x02|\x03\x04|\x05\x06)", data)]
    for _ in range(rng.choice((0, 1, 1, 3)) if places else 0):
        at = rng.choice(places) + rng.choice((4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32, 42))
        form = rng.choice(("<H", "<I"))
        size = struct.calcsize(form)
        data[at : at + size] = struct.pack(form, rng.choice(NUMBERS) % 2 ** (8 * size))
    return data


def _message(rng: random.Random, name: str, kind: str, value: Any) -> bytes:
    """Return a protobuf message of a value with some of its fields changed."""
    message = message_of(name, value, kind)
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        rng.choice(OF_VALUES)(rng, message)
    if rng.random() < 0.05:
        nested = pb.SequenceProto(elem_type=3)
        for _ in range(rng.choice((5, 60, 90))):
            nested = pb.SequenceProto(elem_type=3, sequence_values=[nested])
        message = nested
    try:
        return encode_message(message)
    except Exception:  # what protobuf refuses to write
        return bytes(message.SerializePartialToString())


def _json(rng: random.Random, values: dict[str, tuple[str, Any]]) -> bytes:
    """Return JSON in which tokens are changed."""
    prefix = rng.choice(("", "", "input/"))
    text = json.dumps({f"{prefix}{name}": json_of(value) for name, (_, value) in values.items()})
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[-+.\w]+|\s+|.', text)
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        at = rng.randrange(len(tokens))
        change = rng.randrange(4)
        if change == 0:
            tokens[at] = rng.choice(SCALARS)
        elif change == 1:
            del tokens[at]
        elif change == 2:
            tokens[at:at] = [tokens[at]] * rng.choice((1, 2, 500))
        else:
            tokens[at:at] = [rng.choice('[]{},:" \n\0')]
        tokens = tokens or ["{}"]
    data = "".join(tokens).encode("utf-8", "surrogatepass")
    whole = rng.randrange(25)
    if whole == 0:
        return data.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-32", "utf-8-sig", "utf-16-le")))
    return b"[" * rng.choice((1000, 1_000_000)) if whole == 1 else data


def case(rng: random.Random) -> Case:
    """Return a file or a folder of values, and what reads it."""
    values = _values(rng)
    name, (kind, value) = rng.choice([*values.items()])
    form = rng.choice((".npz", ".npz", ".npy", ".pb", ".pb", ".pb", ".json", ".json", ".json", "/", "/"))
    arrays = {key: each for key, (_, each) in values.items() if isinstance(each, np.ndarray)}
    files: dict[str, bytes] = {}
    if form == ".npz":
        files["v.npz"] = _npz(rng, values) if rng.random() < 0.7 else npz_bytes(arrays or {"x": np.zeros(2)})
    elif form == ".npy":
        files["v.npy"] = _member(rng, values)
    elif form == ".pb":
        files["v.pb"] = _message(rng, name, kind, value)
    elif form == ".json":
        files["v.json"] = _json(rng, values)
    else:
        role = rng.choice(("input", "input", "output"))
        for number, (key, (own, each)) in enumerate(values.items()):
            at = rng.choice((number, number, number, 7, 999999))
            files[f"v/{role}_{at}.pb"] = _message(rng, key, own, each)
    if rng.random() < 0.3:
        path = rng.choice([*files])
        files[path] = mutate_bytes(rng, files[path], SPLICED)[0]
    declared = [ValueInfo(key, kind) for key, (kind, _) in values.items()]
    if rng.random() < 0.5:  # the types that the model declares are other ones
        declared = [ValueInfo(each.name, rng.choice((each.type, rng.choice(KINDS), None))) for each in declared]
    if rng.random() < 0.1:
        declared = [ValueInfo(name, rng.choice(KINDS)) for _ in range(rng.choice((0, 1, 2)))]
    verbs = _verbs("v" if form == "/" else f"v{form}", declared, rng.choice((LIMIT, LIMIT, 0, 10, 100)), rng.random())
    return Case(f"{form}: {', '.join(kind for kind, _ in values.values())}", files, verbs)


@cache
def _model() -> bytes:
    return bytes(parse_model(MODEL).SerializeToString())


def _verbs(name: str, declared: list[ValueInfo], limit: int, chance: float) -> dict[str, Verb]:
    def read(role: str) -> Callable[[Path], object]:
        def verb(folder: Path) -> object:
            found = read_values(str(folder / name), declared, limit, role, "x" if role == "output" else "")
            for key, value in found.items():
                summary_lines(key, summarize(value))
            for first, second in pairwise(found.values()):
                for _ in differences(first, second):
                    pass
            return 0

        return verb

    def run(folder: Path) -> object:
        (folder / "m.onnx").write_bytes(_model())
        return command("run", folder / "m.onnx", folder / name, "--max-bytes", limit, "--format", "json")

    def compare(folder: Path) -> object:
        (folder / "m.onnx").write_bytes(_model())
        given = ("--set", "x=[1, 2]", "--compare", folder / name, "--max-bytes", LIMIT)
        return command("run", folder / "m.onnx", *given, "--format", "text" if chance < 0.05 else "json")

    verbs: dict[str, Verb] = {"read inputs": read("input"), "read outputs": read("output")}
    return verbs | ({"run": run, "compare": compare} if chance < 0.15 else {})
