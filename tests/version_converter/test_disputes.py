import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import pytest

import opset
from judges.conformance import judge
from judges.conformance.disputes import DISPUTES
from judges.conformance.exported import SKETCHES
from judges.conformance.judge import SOURCE, Case, Judge
from judges.conformance.matrix import node_cases

FEEDS = {"x": np.array([1, 2], np.float32)}


@pytest.fixture
def model() -> onnx.ModelProto:
    text = '<ir_version: 8, opset_import: ["": 14]> g (float[2] x) => (float[2] y) {y = Exp(x)}'
    return onnx.parser.parse_model(text)


def mistaken(model: onnx.ModelProto, feeds: Mapping[str, Any], optimize: str = "none") -> Sequence[Any]:
    """Return what a runtime that takes Exp of opset 14 for Neg gives."""
    return [-feeds["x"] if model.opset_import[0].version == 14 else np.exp(feeds["x"])]


def test_a_mistaken_runtime_is_disputed_by_the_evaluators(
    model: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "run_onnxruntime", mistaken)
    case = Case("drawn", model, FEEDS, mistaken(model, FEEDS))
    verdict = Judge(case, "none", {}).judge(opset.convert(model, 9), ("", 9))
    assert (verdict.kind, verdict.by) == ("disputed", SOURCE)
    assert "own evaluator before the conversion: 2 of 2 values" in verdict.why.replace("output 0: ", "")


def test_a_runtime_that_does_not_get_the_case_right_is_disputed(
    model: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "run_onnxruntime", lambda model, feeds, optimize: [-feeds["x"]])
    case = Case("drawn", model, FEEDS, [np.exp(FEEDS["x"])])
    verdict = Judge(case, "none", {}).judge(opset.convert(model, 9), ("", 9))
    assert (verdict.kind, verdict.by) == ("disputed", SOURCE)


@pytest.mark.parametrize("right, kind", [("own evaluator", "same"), ("evaluator", "same"), ("onnxruntime", "wrong")])
def test_the_judge_that_is_right_decides_alone(
    right: str, kind: str, model: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "run_onnxruntime", mistaken)
    monkeypatch.setattr(judge, "right_judge", lambda name: right)
    case = Case("drawn", model, FEEDS, mistaken(model, FEEDS))
    verdict = Judge(case, "none", {}).judge(opset.convert(model, 9), ("", 9))
    assert (verdict.kind, verdict.by) == (kind, right)


def test_what_neither_runtime_nor_onnx_runs_the_own_evaluator_judges(
    model: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "run_onnxruntime", lambda model, feeds, optimize: None)
    monkeypatch.setattr(judge, "run_evaluator", lambda model, feeds: None)
    case = Case("drawn", model, FEEDS, [np.exp(FEEDS["x"])])
    verdict = Judge(case, "none", {}).judge(opset.convert(model, 9), ("", 9))
    assert (verdict.kind, verdict.by) == ("same", "own evaluator")


def test_each_decision_names_a_judge_and_cases() -> None:
    known = [case.name for case in node_cases()]
    known += [f"exported/{exporter}/{sketch.name}" for exporter, found in SKETCHES.items() for sketch in found]
    for pattern, right, why in DISPUTES:
        assert right in ("onnxruntime", "evaluator", "own evaluator")
        assert why
        assert "@" in pattern.replace("(@.*)?", "") or any(re.fullmatch(pattern, name) for name in known), pattern
