"""The program that serves built-in runtimes: values of every type reach each runtime, and come back unchanged."""

import importlib.util
import json
import os
import subprocess
import sys
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from opset.extend import parse_model
from opset.model.elements import ELEMENTS
from opset.reference.comparison import differences
from opset.workflow.conformance import runtimes
from opset.workflow.conformance.runtimes import WORKER, Request, _decode_value, _encode_request, _take_message

SPEC = importlib.util.spec_from_file_location("worker_program", WORKER)
worker = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(worker)
NAMES = ("onnxruntime", "onnx", "opset")
MODEL = """<ir_version: {ir}, opset_import: ["": {opset}, "ai.onnx.ml": 3]>
    m ({given} x) => ({found} y) {{ y = {node} (x) }}"""


@pytest.fixture(scope="module", params=NAMES)
def runtime(request):
    pytest.importorskip(request.param)
    return worker.RUNTIMES[request.param]([])


def answered(runtime, model, **inputs):
    """What a runtime answers, by way of the messages that are sent."""
    request = Request(parse_model(model).SerializeToString(), inputs, [], "", "")
    header, data = _take_message(bytearray(_encode_request(request)))
    header, data = worker.answer(runtime, header, data)
    return [_decode_value(each, data) for each in header["outputs"]] if "outputs" in header else header


def same(expected, found):
    return not [each.why for each in differences(expected, found) if each.why]


VALUES = {
    "float[2]": np.array([1.5, np.nan], np.float32),
    "double": np.array(-0.25),
    "bool[2]": np.array([True, False]),
    "int64[0, 3]": np.zeros((0, 3), np.int64),
    "float16[1]": np.array([0.5], np.float16),
    "uint16[1]": np.array([65535], np.uint16),
    "string[2, 1]": np.array([["a"], ["ä\u2028"]], object),
    "bfloat16[3]": np.array([1, -2, 0.5], ml_dtypes.bfloat16),
    "bfloat16": np.array(3, ml_dtypes.bfloat16),
    "float8e4m3fn[2]": np.array([1, 448], ml_dtypes.float8_e4m3fn),
    "seq(string[1])": [np.array(["b"], object)],
    "seq(float[2])": [np.array([1, 2], np.float32)] * 2,
}
PACKED = {"int4[3]": [-8, 7, 1], "uint4[2, 2]": [[0, 15], [1, 2]], "int4": -3}


def test_values_of_every_type_come_back(runtime):
    for kind, value in VALUES.items():
        model = MODEL.format(ir=10, opset=21, given=kind, found=kind, node="Identity")
        assert same([value], answered(runtime, model, x=value)), kind


def test_packed_values_are_passed_in_both_directions(runtime):
    for kind, value in PACKED.items():
        element, bracket, shape = kind.partition("[")
        value = np.array(value).astype(element)
        node = f"Cast <to = {22 if element == 'int4' else 21}>"
        model = MODEL.format(ir=10, opset=21, given=f"float{bracket}{shape}", found=kind, node=node)
        assert same([value], answered(runtime, model, x=value.astype(np.float32))), kind
        model = MODEL.format(ir=10, opset=21, given=kind, found=f"float{bracket}{shape}", node="Cast <to = 1>")
        assert same([value.astype(np.float32)], answered(runtime, model, x=value)), kind


def test_maps_and_absent_values_are_passed(runtime):
    def of(node, given, found):
        return MODEL.format(ir=8, opset=18, given=given, found=found, node=node)

    zipped = of('ai.onnx.ml.ZipMap <classlabels_strings = ["a"]>', "float[1, 1]", "seq(map(string, float))")
    found = answered(runtime, zipped, x=np.array([[2]], np.float32))
    assert "refused" in found if type(runtime) is worker.Onnx else same([[{"a": 2.0}]], found)
    taken = of('ai.onnx.ml.DictVectorizer <string_vocabulary = ["a", "b"]>', "map(string, float)", "float[1, 2]")
    found = answered(runtime, taken, x={"b": np.float32(2)})
    assert type(runtime) is worker.Onnx or same([np.array([[0, 2]], np.float32)], found)
    absent = answered(runtime, of("OptionalGetElement", "optional(float)", "float"), x=None)
    assert "error" in absent
    empty = answered(runtime, of("OptionalHasElement", "optional(float)", "bool"), x=None)
    assert type(runtime) is worker.OnnxRuntime or same([np.array(False)], empty)


def test_what_a_runtime_lacks_is_refused_and_what_fails_is_an_error():
    pytest.importorskip("onnxruntime")
    ort = worker.RUNTIMES["onnxruntime"]([])
    new = MODEL.format(ir=10, opset=28, given="float[2]", found="float[2]", node="Relu")
    lacking = MODEL.format(ir=8, opset=17, given="double[2]", found="double[2]", node="Selu")
    wrong = MODEL.format(ir=8, opset=17, given="float[2]", found="float[2]", node="Softmax <axis = 7>")
    x = np.array([1, 2], np.float32)
    assert "Opset 28 is under development" in answered(ort, new, x=x)["refused"]
    assert "Could not find an implementation for Selu(6)" in answered(ort, lacking, x=x.astype(float))["refused"]
    found = answered(ort, wrong, x=x)["error"]
    assert "[ONNXRuntimeError]" not in found and "/onnxruntime_src" not in found
    ours = worker.RUNTIMES["opset"]([])
    assert "R203" in answered(ours, wrong, x=x)["error"]
    unknown = MODEL.format(ir=8, opset=17, given="float[2]", found="float[2]", node="Nonesuch")
    assert "R201" in answered(ours, unknown, x=x)["refused"]


def test_the_kernels_are_strict_and_draw_the_same_numbers_each_time():
    ours = worker.RUNTIMES["opset"]([])
    squeezed = MODEL.format(ir=4, opset=10, given="float[2, 1]", found="float[2]", node="Squeeze <axes = [-1]>")
    assert "error" in answered(ours, squeezed, x=np.zeros((2, 1), np.float32))
    drawn = MODEL.format(ir=8, opset=17, given="float[9]", found="float[9]", node="RandomUniformLike")
    first, again = (answered(ours, drawn, x=np.zeros(9, np.float32)) for _ in range(2))
    assert same(first, again)


def test_the_table_of_element_types_is_that_of_opset():
    names = {each.number: each.dtype for each in ELEMENTS.values()}
    bits = {each.number: each.bits for each in ELEMENTS.values()}
    assert {number: names[number] for number in worker.NATIVE} == worker.NATIVE
    others = names.keys() - worker.NATIVE.keys() - {worker.STRING}
    assert {number: worker.BITS.get(number, 8) for number in others} == {number: bits[number] for number in others}


@pytest.mark.parametrize(
    ("number", "shape", "count"),
    [
        (16, [3], 6),
        (17, [3], 3),
        (22, [3], 2),
        (22, [2, 2], 2),
        (25, [5], 2),
        (28, [2], 2),
        (28, [0, 4], 0),
        (16, [], 2),
    ],
)
def test_elements_that_numpy_lacks_are_copied_as_they_lie_in_memory(number, shape, count):
    data = np.arange(1, 17, dtype=np.uint8)
    made = []
    facts = {"has_value": True, "is_tensor": True, "element_type": number, "shape": shape, "data_ptr": data.ctypes.data}
    own = type("OrtValue", (), {name: lambda self, fact=fact: fact for name, fact in facts.items()})
    own.ortvalue_from_numpy_with_onnx_type = lambda *given: made.append(given)
    runtime = worker.OnnxRuntime.__new__(worker.OnnxRuntime)
    runtime._module = SimpleNamespace(OrtValue=own)
    found = bytearray(b"__")
    assert runtime._from_runtime(own(), found) == {"tensor": number, "shape": shape, "at": [2, 2 + count]}
    assert bytes(found[2:]) == data[:count].tobytes()
    runtime._foreign_tensor(number, shape, bytes(found[2:]))
    ((buffer, kind),) = made
    assert (kind, buffer.shape) == (number, tuple(shape)) and buffer.tobytes() == data[:count].tobytes().ljust(
        buffer.nbytes, b"\0"
    )


def test_an_optional_that_holds_nothing_is_said():
    own = type("OrtValue", (), {"has_value": lambda self: False})
    runtime = worker.OnnxRuntime.__new__(worker.OnnxRuntime)
    runtime._module = SimpleNamespace(OrtValue=own)
    assert runtime._from_runtime(own(), bytearray()) == {"nothing": True}


def test_objects_that_are_no_text_are_an_error():
    for values in ([{}], ["a", {}], [{}, b"a"], [3, b"a"]):
        with pytest.raises(TypeError, match="its interface for Python returns ndarray"):
            worker.WorkerRuntime()._from_runtime(np.array(values, object), bytearray())
    assert worker.WorkerRuntime()._from_runtime(np.array([], object), bytearray())["text"] == []
    text = {"tensor": 8, "shape": [2], "text": ["a", "\udcff"]}
    assert worker.WorkerRuntime()._from_runtime(np.array(["a", b"\xff"], object), bytearray()) == text


class Values:
    """A runtime's own values, of an interface that lacks much."""

    OrtValue = type(
        "Value", (), {"has_value": lambda self: True, "is_tensor": lambda self: False, "data_type": lambda self: "seq"}
    )


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda it: worker.WorkerRuntime._tensor_parts(it, np.zeros(1, "V1")), "returns the type |V1"),
        (lambda it: it._own_value(["a"]), "takes no such value beside one of a type"),
        (lambda it: it._foreign_tensor(22, [1], b"1"), "takes no value of a type that numpy lacks"),
        (lambda it: it._from_runtime(Values.OrtValue(), bytearray()), "returns no seq beside a type that numpy lacks"),
    ],
)
def test_what_an_interface_for_python_lacks_is_refused(call, why):
    runtime = worker.OnnxRuntime.__new__(worker.OnnxRuntime)
    runtime._module = Values
    with pytest.raises(worker.NotRun) as caught:
        call(runtime)
    assert f"its interface for Python {why}" in str(caught.value)


def test_the_program_needs_neither_opset_nor_protobuf_and_answers_on_a_descriptor_of_its_own():
    code = "import runpy, sys; sys.modules.update(opset=None, google=None); runpy.run_path(sys.argv[1], {}, 'worker')"
    subprocess.run([sys.executable, "-c", code, str(WORKER)], check=True, timeout=60)
    assert tuple(worker.RUNTIMES) == runtimes.BUILT_IN
    where = {"OPSET_ANSWERS": "1"}
    done = subprocess.run([sys.executable, str(WORKER), "none"], capture_output=True, env=where, check=True, timeout=60)
    assert b'{"absent": "KeyError' in done.stdout and not done.stderr


def test_the_program_takes_all_options_of_its_runtime(tmp_path):
    """Those of opset are folders, of which the first has the package."""
    for name, version in (("first", "1st"), ("second", "2nd")):
        package = tmp_path / name / "opset"
        (package / "model").mkdir(parents=True)
        (package / "__init__.py").write_text(f"__version__ = {version!r}")
        (package / "model" / "__init__.py").touch()
        (package / "model" / "arrays.py").write_text("array_of = tensor_of = None")
        (package / "model" / "proto.py").write_text("TensorProto = None")
    command = [sys.executable, str(WORKER), "opset", str(tmp_path / "first"), str(tmp_path / "second")]
    for options, version in ((command, b"1st"), (command[:-1], b"1st"), ([*command[:-2], command[-1]], b"2nd")):
        done = subprocess.run(
            options, stdin=subprocess.DEVNULL, capture_output=True, env={"OPSET_ANSWERS": "1"}, check=True, timeout=60
        )
        assert done.stdout.endswith(b'{"version": "%s"}' % version) and not done.stderr


def served(monkeypatch, name, *messages):
    """What the program sends that serves a runtime, and is sent these messages."""
    (coming, given), (read, answers) = os.pipe(), os.pipe()
    os.write(given, b"".join(messages))
    os.close(given)
    monkeypatch.setenv("OPSET_ANSWERS", str(answers))
    with monkeypatch.context() as patch:
        patch.setattr(os, "dup", lambda descriptor: coming)
        patch.setattr(os, "dup2", lambda *descriptors: None)
        worker.main(name, [])
    assert "OPSET_ANSWERS" not in os.environ
    with open(read, "rb") as stream:
        return [*worker.requests(stream)]


class Doubling:
    version = "1.5"

    def __init__(self, options):
        assert options == []

    def outputs(self, model, inputs, data, found):
        if inputs == ["no memory"]:
            raise MemoryError
        if inputs == ["no such operator"]:
            raise worker.NotRun("it lacks it" * 2000)
        if inputs == ["wrong"]:
            raise ValueError("it is wrong")
        found += model * 2
        return [bytes(model).decode()]

    def error_text(self, error):
        return f"it fails: {error}"


def message(inputs, model=b"abc"):
    header = json.dumps({"model": [1, 1 + len(model)], "inputs": inputs}).encode()
    return worker.LENGTHS.pack(len(header), 2 + len(model)) + header + b"-" + model + b"-"


def test_the_program_answers_each_message_until_they_end(monkeypatch):
    monkeypatch.setitem(worker.RUNTIMES, "doubling", Doubling)
    sent = [message([]), message(["no memory"]), message(["no such operator"]), message(["wrong"]), message([], b"de")]
    first, *answers = served(monkeypatch, "doubling", *sent, b"cut")
    assert first == ({"version": "1.5"}, b"")
    assert answers == [
        ({"outputs": ["abc"]}, b"abcabc"),
        ({"error": "there is not enough memory"}, b""),
        ({"refused": ("it lacks it" * 2000)[: worker.LONGEST]}, b""),
        ({"error": "it fails: it is wrong"}, b""),
        ({"outputs": ["de"]}, b"dede"),
    ]


def test_a_runtime_that_is_not_there_is_told(monkeypatch):
    assert served(monkeypatch, "nonesuch") == [({"absent": "KeyError: 'nonesuch'"}, b"")]


def test_a_provider_that_is_not_there_is_told(monkeypatch):
    said = []
    module = SimpleNamespace(
        __version__="1.0", get_available_providers=lambda: ["A", "B"], set_default_logger_severity=said.append
    )
    monkeypatch.setitem(sys.modules, "onnxruntime", module)
    assert worker.OnnxRuntime(["B", "A"]).version == "1.0" and said == [4]
    for options, lacking in ((["A", "C", "D"], "C"), ([], "CPUExecutionProvider")):
        with pytest.raises(ImportError, match=f"^this onnxruntime has no {lacking}, only A, B$"):
            worker.OnnxRuntime(options)


@pytest.mark.parametrize(
    ("declared", "values", "way"),
    [
        (["tensor(float)"], [1], "run"),
        (["tensor(float)", "tensor(bfloat16)"], [1], "run_with_ort_values"),
        (["tensor(int4)"], [1], "run_with_ort_values"),
        (["tensor(float)"], [1, "own"], "run_with_ort_values"),
        (["tensor(float)"], ["own"], "run_with_ort_values"),
        ([], [], "run"),
    ],
)
def test_values_that_numpy_lacks_are_given_in_the_form_of_the_runtime(declared, values, way):
    class Session:
        def __init__(self, model, options, providers):
            made.append((model, options.log_severity_level, options.intra_op_num_threads, options.inter_op_num_threads))
            made.append(providers)

        def get_outputs(self):
            return [SimpleNamespace(type=each) for each in declared]

        def run(self, names, feeds):
            return "run", names, feeds

        def run_with_ort_values(self, names, feeds):
            return "run_with_ort_values", names, feeds

    made, own = [], type("OrtValue", (), {"ortvalue_from_numpy": lambda value: ("made", value.tolist())})
    runtime = worker.OnnxRuntime.__new__(worker.OnnxRuntime)
    runtime._providers = ["CPU"]
    runtime._module = SimpleNamespace(OrtValue=own, SessionOptions=SimpleNamespace, InferenceSession=Session)
    feeds = {f"x{at}": own() if each == "own" else np.array([each]) for at, each in enumerate(values)}
    found, names, given = runtime._run(b"model", feeds)
    assert (found, names, made) == (way, None, [(b"model", 4, 1, 1), ["CPU"]])
    if way == "run":
        assert given is feeds
    else:
        assert given == {name: each if isinstance(each, own) else ("made", [1]) for name, each in feeds.items()}
