"""The program that loads models in a runtime, served in this process: its answers, and how it asks each runtime."""

import json
import os
import struct
import sys
from types import SimpleNamespace

import pytest

from opset.opsets.runtimes import loading_program

ODD = "[ONNXRuntimeError] : 10 : INVALID_GRAPH : This  is\nodd: Node (node_) Op (Foo) /a/b/graph.cc:12 with name ''"


@pytest.fixture
def served(monkeypatch):
    """Return a function that serves models by a runtime in this process, and returns the answers."""

    def serve(runtime, *models):
        monkeypatch.setitem(loading_program.RUNTIMES, "fake", runtime)
        stdin, (coming, sending), (reading, writing) = os.dup(0), os.pipe(), os.pipe()
        monkeypatch.setenv("OPSET_ANSWERS", str(writing))
        try:
            os.dup2(coming, 0)
            with os.fdopen(sending, "wb") as stream:
                for model in models:
                    stream.write(struct.pack(">I", len(model)) + model)
            loading_program.main("fake")
            assert os.read(0, 1) == b""  # what a runtime reads from stdin is no model
        finally:
            os.dup2(stdin, 0)
            for descriptor in (stdin, coming):
                os.close(descriptor)
        with os.fdopen(reading, "rb") as answers:
            return [json.loads(line) for line in answers]

    return serve


def test_models_are_loaded_one_after_the_other_and_each_has_an_answer(served):
    loaded = []

    def load(model):
        loaded.append(model)
        if model == b"odd":
            raise ValueError(ODD)
        if model == b"long":
            raise ValueError("!" * 600)
        if model == b"mute":
            raise KeyError

    answers = served(lambda: (7, load), b"good", b"odd", b"", b"long", b"mute")
    assert loaded == [b"good", b"odd", b"", b"long", b"mute"]
    assert answers == [
        {"version": "7"}, {"why": ""}, {"why": "This is odd: Node Op (Foo)"}, {"why": ""}, {"why": "!" * 500},
        {"why": "KeyError"},
    ]  # fmt: skip


def test_a_runtime_that_cannot_be_imported_is_absent(served):
    def absent():
        raise ImportError("no such module" + "!" * 600)

    assert served(absent, b"model") == [{"absent": ("ImportError: no such module" + "!" * 600)[:500]}]


def test_onnxruntime_loads_bytes_without_optimizations(monkeypatch):
    onnxruntime = pytest.importorskip("onnxruntime")
    made = []
    monkeypatch.setattr(onnxruntime, "InferenceSession", lambda *given, **named: made.append((given, named)))
    severities = []
    monkeypatch.setattr(onnxruntime, "set_default_logger_severity", severities.append)
    version, load = loading_program.open_onnxruntime()
    assert severities == [4]
    load(b"model")
    ((model, options), keywords) = made[0]
    assert (version, model, keywords) == (onnxruntime.__version__, b"model", {"providers": ["CPUExecutionProvider"]})
    assert options.graph_optimization_level == onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    assert (options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level) == (1, 1, 4)


def test_openvino_compiles_bytes_for_the_cpu(monkeypatch):
    made = []

    class Core:
        def read_model(self, model):
            return f"read {model.decode()}"

        def compile_model(self, *arguments):
            made.append(arguments)

    monkeypatch.setitem(sys.modules, "openvino", SimpleNamespace(Core=Core, __version__="2026.1"))
    version, load = loading_program.open_openvino()
    load(b"model")
    assert version == "2026.1"
    assert made == [("read model", "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1})]
    assert sorted(loading_program.RUNTIMES) == ["onnxruntime", "openvino"]
