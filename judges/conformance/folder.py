"""Models in a folder, as anyone has them: with recorded inputs beside them, or with inputs drawn at random.

Beside a model may lie inputs: an .npz of its name with a key `input/NAME` for each, or `test_data_set_0/input_N.pb`.
Otherwise they are drawn by the declared types, open sizes being what lets the model run. The expected outputs are those
in the .npz, `output/NAME` for each, or else those of onnxruntime, of onnx's evaluator or of this project's, before the
conversion: the first that runs the model.
Where another of them gives other values, the model is disputed as soon as a verdict hangs on it. A model that none
runs is converted and checked, and its values are not judged.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from judges.conformance.judge import RANDOM, Case, operators, run_evaluator, run_onnxruntime, run_own
from judges.conformance.matrix import Outcome
from judges.conformance.processes import Died, Stages, each
from judges.conformance.refused import WHY, reason
from opset.budget import Limits
from opset.errors import OpsetError
from opset.tensor_io.random_inputs import random_inputs

SIZES = (2, 1, 8, 64, 224)
"""What open sizes are set to, until the model runs."""
SEED = 7
SECONDS = 120
JUDGES = {"onnxruntime": run_onnxruntime, "evaluator": run_evaluator, "own evaluator": run_own}
Values = tuple[dict[str, Any], list[Any]]
Job = tuple[Path, tuple[str, ...]]
"""A model's file, and the judges on which it crashed."""


def folder_cases(folder: Path, pattern: str = "", processes: int = 1) -> Iterator[Case]:
    """Yield the models below a folder in whose name a pattern is found, by path; what is no model is left out.

    Judges run a model in a process of its own, as onnxruntime crashes on some: then the next judge runs it.
    """
    names = {file: f"folder/{file.relative_to(folder).with_suffix('')}" for file in sorted(folder.rglob("*.onnx"))}
    values: dict[Path, Values] = {}
    jobs: list[Job] = [(file, ()) for file, name in names.items() if re.search(pattern, name)]
    while jobs:
        again: list[Job] = []
        for (file, crashed), result in each(find_values, jobs, processes, SECONDS):
            if not isinstance(result, Died):
                values[file] = result
            elif result.stage in JUDGES:
                again.append((file, (*crashed, result.stage)))
        jobs = again
    for file, name in names.items():
        if (found := values.get(file)) is not None:
            model, (feeds, expected) = onnx.load(file), found
            yield Case(name, model, feeds, expected, rtol=1e-3, atol=1e-5, random=bool(RANDOM & operators(model)))


def find_values(job: Job) -> Stages[Values | None]:
    """Return inputs with which a model runs and the outputs that it gives; no outputs where nothing runs it.

    None is returned for a file that is no model. The judges on which the model crashed before are passed over.
    """
    file, crashed = job
    try:
        model = onnx.load(file)
    except Exception:  # another file that only has the suffix
        return None
    if not model.graph.output:
        return None
    feeds: dict[str, Any] = {}
    recorded = recorded_outputs(file, model)
    for feeds in feeds_of(file, model):
        if recorded:
            return feeds, recorded
        for name, run in JUDGES.items():
            if name in crashed:
                continue
            yield name
            try:
                outputs = run(model, feeds)
            except Exception:  # the judges raise what they like: these inputs do not fit
                continue
            if outputs is not None:
                return feeds, outputs
    return feeds, []


def recorded_outputs(file: Path, model: onnx.ModelProto) -> list[Any]:
    """Return the outputs in the .npz beside a model; none if one is missing."""
    if not file.with_suffix(".npz").exists():
        return []
    with np.load(file.with_suffix(".npz")) as data:
        keys = [f"output/{value.name}" for value in model.graph.output]
        return [data[key] for key in keys] if all(key in data for key in keys) else []


def feeds_of(file: Path, model: onnx.ModelProto) -> Iterator[dict[str, Any]]:
    """Yield inputs for a model: the recorded ones, else those drawn for each of SIZES."""
    sparse = [each.values for each in model.graph.sparse_initializer]
    initialized = {tensor.name for tensor in (*model.graph.initializer, *sparse)}
    inputs = [value for value in model.graph.input if value.name not in initialized]
    recorded, data_set = file.with_suffix(".npz"), file.parent / "test_data_set_0"
    if recorded.exists():
        with np.load(recorded) as data:
            yield {key.removeprefix("input/"): data[key] for key in data if key.startswith("input/")}
        return
    files = [data_set / f"input_{number}.pb" for number in range(len(inputs))]
    if inputs and all(each.exists() for each in files):
        tensors = [onnx.TensorProto.FromString(each.read_bytes()) for each in files]
        yield {value.name: numpy_helper.to_array(each) for value, each in zip(inputs, tensors, strict=True)}
        return
    for size in SIZES:
        try:
            yield random_inputs([sized(value, size) for value in inputs], {}, SEED, Limits())
        except OpsetError:  # a type without declared form
            return


def sized(value: onnx.ValueInfoProto, size: int) -> onnx.ValueInfoProto:
    """Return a declared input whose open sizes are numbers."""
    found = onnx.ValueInfoProto()
    found.CopyFrom(value)
    for dim in found.type.tensor_type.shape.dim:
        if dim.WhichOneof("value") != "dim_value" or dim.dim_value < 0:
            dim.dim_value = size
    return found


def classes(outcomes: Sequence[Outcome], listed: int) -> Iterator[str]:
    """Yield the classes of refusals for each target, those of most models first.

    A class is a code, an operator and a reason without the names and numbers of the model. `alone` counts the models
    that nothing else holds up.
    """
    for to in sorted({o.to for o in outcomes}):
        models: dict[str, set[str]] = defaultdict(set)
        of_model: dict[str, set[str]] = defaultdict(set)
        for outcome in outcomes:
            if outcome.to == to and outcome.kind == "refused":
                for code, operator, message in outcome.reasons:
                    name = f"{code} {operator}: {general(operator, message)}"
                    models[name].add(outcome.case)
                    of_model[outcome.case].add(name)
        if models:
            yield f"\nrefused to {to[1]}, by class: {len(of_model)} models"
            yield f"  {'models':>6} {'alone':>6}  class"
        for name, found in sorted(models.items(), key=lambda each: -len(each[1]))[:listed]:
            alone = sum(len(of_model[case]) == 1 for case in found)
            yield f"  {len(found):>6} {alone:>6}  {name}; such as {min(found)}"


def general(operator: str, message: str) -> str:
    """Return the reason in the text of a refusal, without what belongs to one model alone."""
    why = WHY.search(message)
    return re.sub(r"-?\b\d+(\.\d+)?", "N", reason(operator, why.group(1) if why else message.partition("\n")[0]))
