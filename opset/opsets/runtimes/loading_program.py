"""Loads models in the runtime that is installed, one after the other: `python loading_program.py onnxruntime|openvino`.

This file is a program for a process of its own, and no module of opset: nothing of opset is imported. It reads models
from stdin, each behind the number of its bytes, and answers on the descriptor that OPSET_ANSWERS names, in lines of
JSON: first {"version"} of the runtime, or {"absent": why}, then for each model {"why": ""} if it loads, else the
reason. opset.opsets.runtimes.installed is the other end.
"""

from __future__ import annotations

import json
import os
import re
import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

LENGTH = struct.Struct(">I")
LONGEST = 500
NOISE = re.compile(r"\[ONNXRuntimeError\] : \d+ : \w+ : | with name ''|Name:''|\(node_?\)|/\S+?\.(?:cc|h|cpp|hpp):\d+")
Load = Callable[[bytes], Any]


def open_onnxruntime() -> tuple[str, Load]:
    """Return the version of onnxruntime, and a function that makes a session of a model, without optimizations."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL

    def load(model: bytes) -> Any:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    return onnxruntime.__version__, load


def open_openvino() -> tuple[str, Load]:
    """Return the version of OpenVINO, and a function that compiles a model for the CPU."""
    import openvino

    core = openvino.Core()
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}

    def load(model: bytes) -> Any:
        return core.compile_model(core.read_model(model), "CPU", options)

    return openvino.__version__, load


RUNTIMES = {"onnxruntime": open_onnxruntime, "openvino": open_openvino}


def send(stream: BinaryIO, answer: dict[str, str]) -> None:
    """Write an answer as a line."""
    stream.write(json.dumps(answer).encode() + b"\n")
    stream.flush()


def main(name: str) -> None:
    """Serve the runtime of a name: send its version, then load models until stdin ends."""
    coming = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    answers = os.fdopen(int(os.environ.pop("OPSET_ANSWERS")), "wb")
    try:
        version, load = RUNTIMES[name]()
    except Exception as error:
        send(answers, {"absent": f"{type(error).__name__}: {error}"[:LONGEST]})
        return
    send(answers, {"version": str(version)})
    while len(head := coming.read(LENGTH.size)) == LENGTH.size:
        model = coming.read(*LENGTH.unpack(head))
        try:
            load(model)
            why = ""
        except Exception as error:
            why = " ".join(NOISE.sub("", str(error)).split())[:LONGEST] or type(error).__name__
        send(answers, {"why": why})


if __name__ == "__main__":
    # The folder of this file, whose modules are none of the runtime's; PYTHONSAFEPATH leaves it out already.
    sys.path[:] = [each for each in sys.path if os.path.realpath(each) != os.path.dirname(os.path.realpath(__file__))]
    main(sys.argv[1])
