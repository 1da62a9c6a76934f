"""The judges of drawn nodes that are not ours: each runs a model that was loaded once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx

__all__ = ["JUDGES", "Evaluator", "Session"]


class Session:
    """onnxruntime on the CPU, without graph optimisation."""

    def __init__(self, model: onnx.ModelProto) -> None:
        import onnxruntime

        onnxruntime.set_default_logger_severity(4)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])

    def run(self, feeds: Mapping[str, np.ndarray]) -> list[Any]:
        found: list[Any] = self.session.run(None, dict(feeds))
        return found


class Evaluator:
    """The evaluator of the onnx package, which runs what onnxruntime does not, mostly by the newest meaning."""

    def __init__(self, model: onnx.ModelProto) -> None:
        from onnx.reference import ReferenceEvaluator

        self.session = ReferenceEvaluator(model)

    def run(self, feeds: Mapping[str, np.ndarray]) -> list[Any]:
        with np.errstate(all="ignore"):
            return list(self.session.run(None, dict(feeds)))


JUDGES: dict[str, Any] = {"onnxruntime": Session, "evaluator": Evaluator}
