"""Makes the models of the corpus that are not there yet, with inputs and outputs; what is frozen is never overwritten.

    python -m tests.corpus.make

A model is written where our evaluator and onnxruntime agree about its outputs. Where onnxruntime lacks the opset or a
kernel, it runs the model as converted to the first opset of THROUGH that it takes, or the onnx package's evaluator
runs the model, which is said.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

import opset
from judges.conformance.judge import run_evaluator, run_onnxruntime
from opset.opsets.releases import ir_version_of_opset, opset_beside
from tests.corpus.sources import SOURCES

FOLDER = Path(__file__).parent
THROUGH = (13, 17, 21, 24)
TOLERANCE = 1e-5


def model_of(name: str) -> bytes:
    """Return the model of a source, with the IR version of the release that introduced the opset."""
    text = SOURCES[name].strip()
    if not text.startswith("<"):
        domain, _, number = name.rpartition("-")
        version = int(number)
        if domain == "ai.onnx":
            imports, ir = {"": version}, ir_version_of_opset(version)
        elif domain == "ai.onnx.preview":
            imports, ir = {domain: version, "": 28}, ir_version_of_opset(28)
        else:
            imports = {domain: version, "": opset_beside({domain: version})}
            ir = ir_version_of_opset(imports[""])
        entries = ", ".join(f'"{key}": {value}' for key, value in imports.items())
        text = f"<ir_version: {ir}, opset_import: [{entries}]>\n{text}"
    model = onnx.load_from_string(opset.parse_model(text).SerializeToString())
    if model.ir_version < 4:  # initializers had to be inputs, too
        for each in model.graph.initializer:
            model.graph.input.append(onnx.helper.make_tensor_value_info(each.name, each.data_type, each.dims))
    return model.SerializeToString(deterministic=True)


def inputs_of(model: onnx.ModelProto) -> dict[str, Any]:
    """Return an input of each type that the sources use, drawn with a fixed seed."""
    random = np.random.default_rng(0)
    weights = {each.name for each in model.graph.initializer}
    feeds: dict[str, Any] = {}
    for each in model.graph.input:
        if each.name in weights:
            continue
        tensor = each.type.tensor_type
        shape = [dim.dim_value for dim in tensor.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
        if dtype.kind == "O":
            feeds[each.name] = np.resize(np.array(["a", "x", "d"], object), shape)
        elif dtype.kind == "b":
            feeds[each.name] = np.resize(np.array([True, False, False]), shape)
        elif dtype.kind == "i":
            feeds[each.name] = (np.arange(np.prod(shape, dtype=int)) + 3).reshape(shape).astype(dtype)
        else:
            feeds[each.name] = random.normal(size=shape).astype(dtype)
    return feeds


def same(left: Any, right: Any) -> bool:
    """Whether two lists of outputs agree, to TOLERANCE where they are floats; their types are those of the graph."""
    return all(
        a.shape == b.shape and np.allclose(a, b, TOLERANCE, TOLERANCE)
        if a.dtype.kind == "f"
        else a.shape == b.shape and a.tolist() == b.tolist()
        for a, b in zip(map(np.asarray, left), map(np.asarray, right), strict=True)
    )


def judged(data: bytes, feeds: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return who confirms the outputs, and what that one computes."""
    for to in (None, *THROUGH):
        try:
            model = onnx.load_from_string(data)
            model = model if to is None else opset.convert(model, to)
            outputs = run_onnxruntime(model, feeds)
        except Exception as error:
            print(f"    {to or 'as it is'}: {str(error).splitlines()[0][:150]}")
            continue
        if outputs is not None:
            return "onnxruntime" + (f", converted to {to}" if to else ""), outputs
    try:
        outputs = run_evaluator(onnx.load_from_string(data), feeds)
    except Exception as error:
        print(f"    onnx's evaluator: {str(error).splitlines()[0][:150]}")
        outputs = None
    return ("onnx's evaluator" if outputs is not None else "nobody else"), outputs or []


def main() -> int:
    """Make what is missing; 1 where judges disagree about it."""
    wrong = 0
    for name in SOURCES:
        model_file, values_file = FOLDER / f"{name}.onnx", FOLDER / f"{name}.npz"
        if model_file.exists() or values_file.exists():
            continue
        try:
            data = model_of(name)
            feeds = inputs_of(onnx.load_from_string(data))
            evaluator = opset.ReferenceEvaluator(data)
            own = evaluator.run(None, feeds)
        except opset.OpsetError as error:
            print(f"{name}: {error}")
            wrong += 1
            continue
        by, outputs = judged(data, feeds)
        agreed = by == "nobody else" or same(outputs, own)
        print(f"{name}: {by} {'agrees' if agreed else f'disagrees: {outputs} and {own}'}")
        wrong += not agreed
        if agreed:
            named = {f"in.{key}": value for key, value in feeds.items()}
            named |= {f"out.{each.name}": value for each, value in zip(evaluator.outputs, own, strict=True)}
            texts = {key: value.astype(str) if value.dtype.kind == "O" else value for key, value in named.items()}
            model_file.write_bytes(data)
            np.savez_compressed(values_file, **texts)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
