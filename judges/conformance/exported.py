"""Graphs as exporters write them, with the shape arithmetic that inference has to follow.

    python -m judges exported [-k PATTERN] [--folder DIR]

runs them on onnxruntime and on this project's evaluator, which have to agree, and writes them to a folder if one is
named. The exit status is 1 where they do not agree and judges.conformance.disputes does not say who is right. The
graphs are written by hand after what exporters do, in exported_torch.py, exported_others.py and exported_whole.py;
weights and inputs are random, from a fixed seed.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper, parser

import opset
from judges.conformance.disputes import right_judge
from judges.conformance.exported_others import DYNAMO, HUGGING_FACE, OTHERS, TENSORFLOW
from judges.conformance.exported_torch import TORCH
from judges.conformance.exported_whole import WHOLE
from judges.conformance.judge import Case, run_onnxruntime
from judges.conformance.sketches import Sketch, flatten
from opset.reference.comparison import differences

SKETCHES = {
    "torch": TORCH,
    "dynamo": DYNAMO,
    "hf": HUGGING_FACE,
    "tf2onnx": TENSORFLOW,
    "other": OTHERS,
    "whole": WHOLE,
}
# The IR version that the release of onnx with an opset wrote.
IR_VERSIONS = {9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10,
               23: 11}  # fmt: skip


def graph_cases() -> Iterator[Case]:
    """Yield every graph with inputs, and the outputs by the evaluator of this project."""
    for exporter, sketches in SKETCHES.items():
        for sketch in sketches:
            case = case_of(f"{exporter}/{sketch.name}", sketch)
            outputs = opset.ReferenceEvaluator(case.model, seed=0).run(None, case.feeds)
            for value, output in zip(case.model.graph.output, outputs, strict=True):
                if not value.HasField("type"):
                    value.type.CopyFrom(type_of(output))
            yield dataclasses.replace(case, expected=outputs)


def case_of(name: str, sketch: Sketch) -> Case:
    """Return a sketch as a case that has no outputs yet."""
    imports = ", ".join(filter(None, (f'"": {sketch.opset}', sketch.imports)))
    header = f"<ir_version: {IR_VERSIONS[sketch.opset]}, opset_import: [{imports}]>"
    model = parser.parse_model(f"{header}\n{flatten(sketch.text)}\n{flatten(sketch.functions)}")
    random = np.random.default_rng(7)
    for key, shape in sketch.weights.items():
        model.graph.initializer.append(numpy_helper.from_array(drawn(random, shape), key))
    elements = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
    feeds: dict[str, Any] = {}
    for key, given in sketch.feeds.items():
        dtype = onnx.helper.tensor_dtype_to_np_dtype(elements[key])
        feeds[key] = drawn(random, given) if isinstance(given, tuple) else np.array(given, dtype)
    return Case(name, model, feeds, [])


def type_of(value: Any) -> onnx.TypeProto:
    """Return the type and rank of a value, which is all that exporters state of some outputs."""
    if isinstance(value, list):
        return onnx.helper.make_sequence_type_proto(type_of(value[0]))
    return onnx.helper.make_tensor_type_proto(onnx.helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim)


def drawn(random: np.random.Generator, shape: Sequence[int]) -> np.ndarray:
    """Return floats between 0.1 and 1: variances are among them."""
    return random.uniform(0.1, 1, shape).astype(np.float32)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the graphs, and print which give other outputs on onnxruntime; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    options = argparse.ArgumentParser(prog="python -m judges exported", description=about)
    options.add_argument("-k", dest="pattern", default="", help="regular expression of names")
    options.add_argument("--folder", type=Path, metavar="DIR", help="write the models here")
    chosen = options.parse_args(arguments)
    faults = count = 0
    for case in graph_cases():
        if not re.search(chosen.pattern, case.name):
            continue
        count += 1
        try:
            onnx.checker.check_model(case.model)
            outputs = run_onnxruntime(case.model, case.feeds)
            why = "onnxruntime cannot run it"
            if outputs is not None:
                why = next((each.why for each in differences(case.expected, outputs, 1e-3) if each.why), "")
        except Exception as error:
            why = " ".join(str(error).split())
        if why and not right_judge(f"exported/{case.name}"):
            faults += 1
            print(f"{case.name}: {why}")
        if chosen.folder:
            onnx.save(case.model, chosen.folder / f"{case.name.replace('/', '_')}.onnx")
    print(f"{count} graphs, {faults} differ")
    return int(faults > 0)
