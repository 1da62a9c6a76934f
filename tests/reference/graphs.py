"""Graphs in the text syntax of ONNX, run by the reference evaluator."""

import pytest
from onnx import parser

from opset import Limits, ReferenceEvaluator, RunError


def model_of(graph, opset_version=21, ir_version=10):
    imports = f'"": {opset_version}, "ai.onnx.preview.training": 1, "local": 1'
    return parser.parse_model(f"<ir_version: {ir_version}, opset_import: [{imports}]> {graph}")


def results(graph, feeds, opset_version=21, **limits):
    return ReferenceEvaluator(model_of(graph, opset_version), limits=Limits(**limits)).run(None, feeds)


def refused(graph, feeds, opset_version=21, **limits):
    with pytest.raises(RunError) as caught:
        results(graph, feeds, opset_version, **limits)
    return caught.value
