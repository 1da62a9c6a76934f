"""Runs a model once in the runtime that is installed: `python runtime_program.py onnxruntime|openvino FOLDER`.

This file is a program for a process of its own, and no module of opset: nothing of opset is imported. The folder has
model.onnx and inputs.npz; the program writes outputs.npz, whose arrays are named by their number, and answers on the
descriptor that OPSET_ANSWERS names, in a line of JSON: {"version", "absent" or "load" or "run": why}.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

LONGEST = 500
Run = Callable[[dict[str, Any]], list[Any]]


def open_onnxruntime(path: str) -> Run:
    """Return a function that runs a model in onnxruntime, without optimizations."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda feeds: list(session.run(None, feeds))


def open_openvino(path: str) -> Run:
    """Return a function that runs a model in OpenVINO on the CPU."""
    import openvino

    core = openvino.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    names = [each.get_names() for each in compiled.inputs]

    def run(feeds: dict[str, Any]) -> list[Any]:
        ordered = [next(feeds[name] for name in known if name in feeds) for known in names]
        found = compiled(ordered)
        return [found[output] for output in compiled.outputs]

    return run


RUNTIMES = {"onnxruntime": open_onnxruntime, "openvino": open_openvino}


def main(name: str, folder: str) -> None:
    """Run the model in `folder` in the runtime `name`, a key of RUNTIMES, and write the outputs to the folder.

    The answer, a line of JSON, says whether and why the runtime is absent, or does not load or run the model.
    """
    import numpy as np

    descriptor = int(os.environ.pop("OPSET_ANSWERS"))
    answer: dict[str, str] = {}
    stage = "absent"
    try:
        answer["version"] = str(__import__(name).__version__)
        stage = "load"
        run = RUNTIMES[name](os.path.join(folder, "model.onnx"))
        stage = "run"
        with np.load(os.path.join(folder, "inputs.npz"), allow_pickle=False) as feeds:
            given = {each: feeds[each] for each in feeds.files}
        given = {each: value.astype(object) if value.dtype.kind == "U" else value for each, value in given.items()}
        outputs = [np.asarray(each) for each in run(given)]
        outputs = [each.astype(str) if each.dtype.kind == "O" else each for each in outputs]
        named: dict[str, Any] = {str(at): each for at, each in enumerate(outputs)}
        np.savez(os.path.join(folder, "outputs.npz"), **named)
    except Exception as error:
        answer[stage] = " ".join(str(error).split())[:LONGEST] or type(error).__name__
    with os.fdopen(descriptor, "w") as answers:
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    # The folder of this file, whose modules are none of the runtime's; PYTHONSAFEPATH leaves it out already.
    sys.path[:] = [each for each in sys.path if os.path.realpath(each) != os.path.dirname(os.path.realpath(__file__))]
    main(sys.argv[1], sys.argv[2])
