"""`opset run` on files and models that would take too much: of memory, of a terminal, of JSON."""

import json

import ml_dtypes
import numpy as np
import onnx
import pytest

from opset.cli import run as verb
from opset.cli import supervision
from opset.errors import ModelError
from opset.model import arrays
from opset.model import proto as pb
from opset.model.arrays import message_of, value_of
from opset.reference.comparison import differences
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
    with pytest.raises(ModelError, match="no more than 4,194,304 were to be read"):
        value_of(sparse, 4 << 20)
    dense = message_of("", [ONES, ONES], "seq(tensor(float))")
    with pytest.raises(ModelError, match="no more than 500,000 were to be read"):
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
        assert "the limit is" in result.stderr or "were to be read" in result.stderr
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
    assert result.exit_code == 2 and "the model has no dimension variable 'M'" in result.stderr
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


# Maps, which sequences of few kernels take and give.


def map_model(key, value, folder):
    kind = onnx.helper.make_map_type_proto(key, onnx.helper.make_tensor_type_proto(value, None))
    node = onnx.helper.make_node("CastMap", ["m"], ["y"], domain="ai.onnx.ml", map_form="DENSE", cast_to="TO_FLOAT")
    output = onnx.helper.make_tensor_value_info("y", 1, None)
    graph = onnx.helper.make_graph([node], "main", [onnx.helper.make_value_info("m", kind)], [output])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("ai.onnx.ml", 1)], ir_version=8)
    path = folder / "map.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"1_0": 1}', "is no int64"),
        ('{" 1": 1}', "is no int64"),
        ('{"9999999999999999999": 1}', ""),
        ('{"1": 1, "01": 2}', "a key occurs twice"),
        ('{"1": [1, 2]}', "is no element of float32"),
        ('{"1": {"shape": [1], "data": [1]}}', "is no element of float32"),
        ('{"1": null}', "null is no element of float32"),
        ("[1]", "is no object"),
    ],
)
def test_a_map_is_an_object_of_single_values(folder, text, why):
    result = run("run", map_model(7, 1, folder), "--set", f"m={text}")
    assert result.exit_code == 3 and "error[R105]" in result.stderr and why in result.stderr


def test_maps_are_given_and_drawn(folder):
    path = map_model(7, 1, folder)
    assert run_json("run", path, "--set", 'm={"2": 1.5, "-1": 2}')["outputs"]["y"]["value"] == [[2.0, 1.5]]
    assert run_json("run", path, "--random")["outputs"]["y"]["shape"] == [1, 2]


def test_dimensions_may_have_names_that_are_no_text(folder):
    text = f"{HEAD} main (float[NN] a, float[MM] b) => (float[K] y) {{ y = Add (a, b) }}"
    add = save("add.onnx", text, folder)
    add.write_bytes(add.read_bytes().replace(b"NN", b"\xff\xfe"))
    result = run("run", add, "--random", "--dim", "K=2", "--dim", "MM=2")
    assert result.exit_code == 2 and "the model has no dimension variable 'K'" in result.stderr


def test_what_a_file_cannot_hold_is_told_before_the_evaluation(folder):
    text = f"""{HEAD} main (float[N] x, bfloat16[N] h) => (seq(float[N]) s, bfloat16[N] b, float[N] y) {{
        s = SequenceConstruct (x)
        b = Identity (h)
        y = Relu (x)
    }}"""
    model = save("several.onnx", text, folder)
    result = run("run", model, "--random", "--dim", "N=2", "-o", "all.npz")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("error[U103] the file cannot hold a value") == 2
    assert "'s' is seq(tensor(float))" in result.stderr and "'b' is tensor(bfloat16)" in result.stderr
    assert run("run", model, "--random", "--dim", "N=2", "-o", "y.npz", "--value", "y", "-q").exit_code == 0
    result = run("run", model, "--random", "--dim", "N=2", "-o", "z.npz", "--value", "y", "--save-inputs")
    assert result.exit_code == 2 and "'h' is tensor(bfloat16)" in result.stderr
    assert not (folder / "z.npz").exists()


@pytest.mark.parametrize("name", ["int4", "uint2", "float6_e2m3fn", "float4_e2m1fn"])
def test_narrow_types_are_packed(name):
    piece = 1 << 20  # as many elements are packed at once
    for count in (0, 1, 7, 8, 9, 16, piece - 1, piece, piece + 1, 2 * piece + 5, 37):
        codes = np.arange(count) % 3
        array = codes.astype(getattr(ml_dtypes, name))
        message = arrays.tensor_of("x", array)
        whole = onnx.numpy_helper.to_array(onnx.TensorProto.FromString(message.SerializeToString()))
        assert whole.tobytes() == array.tobytes()
        assert arrays.array_of(None, message).tobytes() == array.tobytes()
    with pytest.raises(ModelError, match="37 elements of a byte each"):
        arrays.array_of(None, message, 36)


# Shapes that no array has, though nothing is in them.

HUGE = (1 << 62) - 1
NO_SHAPES = [[0, HUGE, 99], [1 << 33, 1 << 33, 0], [1] * 80]


def tensor(kind, dims):
    content = {"string_data": [b"a"]} if kind == onnx.TensorProto.STRING else {"raw_data": b"\0" * 4}
    return onnx.TensorProto(name="w", data_type=kind, dims=dims, **({} if 0 in dims else content))


def model_of(node, kind, initializers=(), inputs=(), **more):
    output = onnx.helper.make_tensor_value_info("y", kind, None)
    graph = onnx.helper.make_graph([node], "main", list(inputs), [output], list(initializers), **more)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("dims", NO_SHAPES, ids=len)
@pytest.mark.parametrize("kind", [onnx.TensorProto.FLOAT, onnx.TensorProto.BOOL, onnx.TensorProto.STRING])
def test_tensors_of_no_possible_shape_are_malformed(folder, kind, dims):
    bad = tensor(kind, dims)
    if kind == onnx.TensorProto.BOOL and bad.raw_data:
        bad.raw_data = b"\0"
    copy = onnx.helper.make_node("Identity", ["w"], ["y"])
    models = [
        model_of(copy, kind, [bad]),
        model_of(onnx.helper.make_node("Constant", [], ["y"], value=bad), kind),
        model_of(copy, kind, inputs=[onnx.helper.make_tensor_value_info("w", kind, None)]),
    ]
    (folder / "w.pb").write_bytes(bad.SerializeToString())
    for model, inputs in zip(models, ([], [], ["w.pb"]), strict=True):
        (folder / "m.onnx").write_bytes(model.SerializeToString())
        result = run("run", "m.onnx", *inputs)
        assert result.exit_code == 3 and "numpy has no array of its dims" in result.stderr


@pytest.mark.parametrize("dims", NO_SHAPES, ids=len)
def test_sparse_tensors_of_no_possible_shape_are_malformed(folder, dims):
    values, indices = tensor(onnx.TensorProto.FLOAT, [0]), onnx.TensorProto(data_type=7, dims=[0])
    sparse = onnx.SparseTensorProto(values=values, indices=indices, dims=dims)
    copy = onnx.helper.make_node("Identity", ["w"], ["y"])
    model = model_of(copy, onnx.TensorProto.FLOAT, sparse_initializer=[sparse])
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    result = run("run", "m.onnx")
    assert result.exit_code == 3 and "numpy has no array of its dims" in result.stderr


@pytest.mark.parametrize("dims", NO_SHAPES, ids=len)
@pytest.mark.parametrize("kind", [onnx.TensorProto.FLOAT, onnx.TensorProto.INT8, onnx.TensorProto.STRING])
def test_nothing_is_drawn_of_no_possible_shape(folder, kind, dims):
    copy = onnx.helper.make_node("Identity", ["w"], ["y"])
    model = model_of(copy, kind, inputs=[onnx.helper.make_tensor_value_info("w", kind, dims)])
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    result = run("run", "m.onnx", "--random")
    assert result.exit_code == 2 and "no value can be drawn for 'w'" in result.stderr


ENDS = [
    ("run", True, 0, 1, "error[R303] the evaluation was stopped"),
    ("run", False, -9, 1, "the system killed its process"),
    ("run", False, -24, 1, "the system allows its process no more of the processor's time"),
    ("run", False, -11, 1, "error[R204] the process of the evaluation crashed"),
    ("run", False, 5, 1, "its process ended with status 5 and no result"),
    ("run", False, 70, 70, ""),
    ("run", False, 141, 141, ""),
    ("convert", True, 0, 1, "error[C401] the model was not converted"),
    ("convert", False, -9, 70, "error[U108] the model was not converted"),
    ("convert", False, 141, 141, ""),
    ("infer", True, 0, 1, "error[I401] the model was not read"),
    ("testgen", True, 0, 1, "error[R303] the evaluation was stopped"),
    ("testgen", False, 70, 70, ""),
    ("testgen", False, 141, 141, ""),
]
ARGUMENTS = {
    "run": ["add.onnx", "--random", "--dim", "N=1"],
    "convert": ["add.onnx", "--to", "20"],
    "infer": ["add.onnx"],
    "testgen": ["Relu", "-o", "cases"],
}


@pytest.mark.skipif(not supervision.POSSIBLE, reason="processes are not copied here")
@pytest.mark.parametrize(("verb", "late", "status", "expected", "said"), ENDS)
def test_a_process_that_gave_no_result_is_reported(folder, monkeypatch, verb, late, status, expected, said):
    def supervised(work, seconds):
        assert seconds == 7
        raise supervision.NoResult(late, status)

    save("add.onnx", ADD, folder)
    monkeypatch.setattr(supervision, "run_supervised", supervised)
    result = run(verb, *ARGUMENTS[verb], "--timeout", "7")
    assert result.exit_code == expected
    assert said in result.stderr and bool(said) == bool(result.stderr)
    if verb == "run" and said:
        result = run(verb, *ARGUMENTS[verb], "--timeout", "7", "--format", "json")
        (error,) = strict(result.stdout)["errors"]
        assert said.rpartition("] ")[2] in f"{error['message']} {error['why']}"
