"""`opset run` on files and models that would take too much: of memory, of a terminal, of JSON."""

import json

import numpy as np
import onnx
import pytest

from opset.cli import run as verb
from opset.errors import ModelError
from opset.model import proto as pb
from opset.model.arrays import message_of, value_of
from opset.opsets.comparison import differences
from tests.cli.commands import run, run_json, save

HEAD = '<ir_version: 10, opset_import: ["": 21]>'
ADD = f"{HEAD} main (float[N] a, float[N] b) => (float[N] y) {{ y = Add (a, b) }}"
TEXT = f"{HEAD} main (string[N] x) => (string[N] y) {{ y = Identity (x) }}"
LOOP = f"""{HEAD} main (int64 n, float[1] x) => (float[1] y) {{
    y = Loop <body = turn (int64 i, bool go, float[1] s) => (bool again, float[1] t) {{
        again = Identity (go)
        t = Neg (s)
    }}> (n, , x)
}}"""
ONES = np.ones(100_000, np.float32)


def strict(text):
    """What JSON says, without the words that Python's dialect adds."""
    return json.loads(text, parse_constant=pytest.fail)


def test_a_limit_holds_for_all_arrays_of_a_message():
    sparse = message_of("", [], "seq(sparse_tensor(float))")
    for _ in range(1000):
        entry = sparse.sparse_tensor_values.add(dims=[1 << 18])
        entry.values.CopyFrom(pb.TensorProto(data_type=1, dims=[0]))
        entry.indices.CopyFrom(pb.TensorProto(data_type=7, dims=[0]))
    with pytest.raises(ModelError, match="no more than 0 bytes"):
        value_of(sparse, 4 << 20)
    dense = message_of("", [ONES, ONES], "seq(tensor(float))")
    with pytest.raises(ModelError, match="no more than 100000 were to be read"):
        value_of(dense, 500_000)
    assert len(value_of(dense, 800_000)) == 2


def test_a_limit_holds_for_all_files_together(folder):
    add = save("add.onnx", ADD, folder)
    for name in "ab":
        np.save(f"{name}.npy", ONES)
    np.savez("ab.npz", a=ONES, b=ONES)
    (folder / "data").mkdir()
    for place, name in enumerate("ab"):
        message = onnx.numpy_helper.from_array(ONES, name)
        (folder / f"data/input_{place}.pb").write_bytes(message.SerializeToString())
    for inputs in (["a=a.npy", "b=b.npy"], ["ab.npz"], ["data"]):
        result = run("run", add, *inputs, "--max-bytes", "700K")
        assert result.exit_code == 3 and result.stderr.count("error[R105]") == 1, inputs
        assert "were to be read" in result.stderr
        assert run("run", add, *inputs, "--max-bytes", "2M", "-q").exit_code == 0


def test_text_counts_as_what_it_takes_in_memory(folder):
    text = save("text.onnx", TEXT, folder)
    np.savez_compressed("text.npz", x=np.full(100_000, b"ab"))
    result = run("run", text, "text.npz", "--max-bytes", "1M")
    assert result.exit_code == 3 and "it takes 6,600,000 bytes" in result.stderr


def test_long_text_does_not_flood_a_terminal(folder):
    text = save("text.onnx", TEXT, folder)
    np.savez("long.npz", x=np.array(["a" * 50_000, "b"]))
    np.savez("longer.npz", x=np.array(["a" * 1000]))
    assert len(run("run", text, "long.npz").stdout) < 300
    assert "value" not in run_json("run", text, "long.npz")["outputs"]["y"]
    assert len(run("run", text, "longer.npz").stdout) < 500
    assert run_json("run", text, "longer.npz")["outputs"]["y"]["value"] == ["a" * 1000]


def test_json_holds_the_first_values_of_a_trace(folder, monkeypatch):
    monkeypatch.setattr(verb, "TRACED", 10)
    loop = save("loop.onnx", LOOP, folder)
    data = run_json("run", loop, "--set", "n=50", "--set", "x=[1]", "--trace")
    assert (len(data["trace"]), data["traced"]) == (10, 101)
    text = run("run", loop, "--set", "n=50", "--set", "x=[1]", "--trace").stderr
    assert len(text.splitlines()) == 101


def test_a_size_without_use_is_told(folder):
    add = save("add.onnx", ADD, folder)
    result = run("run", add, "--random", "--dim", "N=2", "--dim", "M=3")
    assert result.exit_code == 2 and "no input that is drawn has a dimension M" in result.stderr
    assert run("run", add, "--random", "--set", "a=[1, 2]", "--dim", "N=2", "-q").exit_code == 0


def test_infinity_is_near_to_nothing_and_types_are_part_of_a_value():
    want = np.array([np.inf, 1], np.float32)
    assert [each.why for each in differences(want, want)] == [""]
    for have in ([2, 1], [-np.inf, 1], [np.nan, 1]):
        assert [bool(each.why) for each in differences(want, np.array(have, np.float32))] == [True]
    assert [each.why for each in differences({1: np.int64(1)}, {1: np.int64(1)})] == [""]
    (different,) = differences({1: np.int64(1)}, {1: np.float32(1.9)})
    assert different.why == "it is tensor(float), and tensor(int64) is expected"
    assert [each.why for each in differences({1: 1}, {1: np.float32(1)})] == [""]


@pytest.mark.parametrize("expected", ['["inf", 4]', '["nan", 4]', '[2, "-inf"]'])
def test_json_is_json_where_numbers_are_none(folder, expected):
    add = save("add.onnx", ADD, folder)
    (folder / "want.json").write_text(f'{{"y": {expected}}}')
    result = run("run", add, "--set", "a=[1, 2]", "--set", "b=[1, 2]", "--compare", "want.json", "--format", "json")
    data = strict(result.stdout)
    assert (result.exit_code, data["comparison"]["y"]["verdict"]) == (1, "different")
