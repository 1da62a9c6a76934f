"""The frozen models: one for each version of each domain. They are read, computed, saved, inferred and converted."""

from pathlib import Path

import numpy as np
import onnx
import pytest

import opset
from judges.conformance.judge import run_onnxruntime
from opset import ReferenceEvaluator
from opset.errors import ConversionError
from opset.extend import differences
from opset.opsets.registry import default_registry
from opset.schemas.names import domain_name
from tests.corpus.make import model_of
from tests.released import newest

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.onnx"))
TARGETS = (7, 13, 21, 26, 28)
# Targets that lack something which a model uses, and which nothing older expresses.
REFUSED = {
    "ai.onnx-8": (7,),  # indices of MaxPool
    "ai.onnx-9": (7,),  # Shrink
    "ai.onnx-15": (7, 13),  # Optional
    "ai.onnx-19": (7, 13),  # float8
    "ai.onnx-20": (7, 13),  # StringConcat, RegexFullMatch
    "ai.onnx-21": (7, 13),  # int4
    "ai.onnx-22": (7,),  # Det
    "ai.onnx-25": (7, 13, 21),  # uint2
    "ai.onnx-26": (7, 13, 21),  # bits of NaN
}
RUNTIME_LACKS = {"ai.onnx-14"}  # RNN with `layout`
REGISTRY = default_registry()


def values(name, prefix):
    with np.load(FOLDER / f"{name}.npz") as file:
        return {
            key.removeprefix(prefix): value.astype(object) if value.dtype.kind == "U" else value
            for key, value in file.items()
            if key.startswith(prefix)
        }


def compute(model, name):
    """What is wrong with the outputs of a model on the frozen inputs, by the reference evaluator."""
    evaluator = ReferenceEvaluator(model)
    assert [each.name for each in evaluator.outputs] == list(values(name, "out."))
    return wrong(evaluator.run(None, values(name, "in.")), name)


def run(model, name):
    """What is wrong with them by onnxruntime, where it has the operators."""
    if "preview" in name or name in RUNTIME_LACKS:
        return []
    outputs = run_onnxruntime(onnx.load_from_string(opset.load(model).proto.SerializeToString()), values(name, "in."))
    return [] if outputs is None else wrong(outputs, name, 1e-5)


def wrong(outputs, name, tolerance=None):
    return [
        f"{key}: {each.why}"
        for (key, want), have in zip(values(name, "out.").items(), outputs, strict=True)
        for each in differences(want, np.asarray(have), tolerance, tolerance)
        if each.why
    ]


def imported(model):
    return {domain_name(each.domain): each.version for each in opset.load(model).proto.opset_import}


def test_there_is_a_model_for_each_released_version_of_each_domain():
    released = {f"{domain_name(domain)}-{each}" for domain in REGISTRY.domains for each in range(1, newest(domain) + 1)}
    assert set(NAMES) >= released
    assert sum(path.stat().st_size for path in FOLDER.iterdir() if path.suffix in (".onnx", ".npz")) < 300_000


@pytest.mark.parametrize("name", NAMES)
def test_a_frozen_model_is_read_computed_saved_and_inferred(name, tmp_path):
    path = FOLDER / f"{name}.onnx"
    domain, _, version = name.rpartition("-")
    assert imported(path)[domain] == int(version)
    assert model_of(name) == path.read_bytes()
    assert compute(path, name) == []
    opset.load(path).save(tmp_path / "saved.onnx")
    assert (tmp_path / "saved.onnx").read_bytes() == path.read_bytes()
    text = opset.to_text(opset.load(path))
    assert opset.parse_model(text).SerializeToString() == opset.load(path).proto.SerializeToString()
    inference = opset.infer(path)
    assert inference.findings == ()
    for key, value in values(name, "out.").items():
        shape = inference.shape(key)
        assert [have if type(size) is int else size for have, size in zip(value.shape, shape, strict=True)] == [*shape]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("to", TARGETS)
def test_a_frozen_model_goes_to_an_opset_and_back(name, to):
    path = FOLDER / f"{name}.onnx"
    before = imported(path)["ai.onnx"]
    try:
        there = opset.convert(path, to)
    except ConversionError:
        assert to in REFUSED[name]
        return
    assert imported(there)["ai.onnx"] == to
    assert compute(there, name) == []
    assert run(there, name) == []
    assert compute(opset.convert(there, before), name) == []
