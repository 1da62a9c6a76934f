"""Mutates real models so that their outputs stay the same: example models, and graphs as exporters write them.

A mutation that does not change the model as it should, or leaves one that onnx's checker or onnxruntime rejects, is
dropped.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper

import opset
from judges.conformance.exported import SKETCHES, Sketch, case_of, type_of
from judges.conformance.judge import Case, difference
from judges.conformance.models import cases_of
from judges.fuzz.drawing.edits import EDITS
from judges.fuzz.drawing.rewriting import OPSETS, Drawing, Mutant, Run, named
from judges.fuzz.drawing.sparse import dense_of

__all__ = ["mutate"]


@functools.cache
def sources() -> Sequence[Case | tuple[str, Sketch]]:
    """Return what the models are made of."""
    exported = [(exporter, sketch) for exporter, sketches in SKETCHES.items() for sketch in sketches]
    return [*cases_of("examples"), *exported]


def traced(model: ModelProto, feeds: Mapping[str, Any], run: Run) -> dict[str, Any]:
    """Return all values of the main graph."""
    copy = ModelProto()
    copy.CopyFrom(model)
    known = {value.name for value in model.graph.output}
    copy.graph.output.extend(named(n for node in model.graph.node for n in node.output if n and n not in known))
    values = dict(zip([value.name for value in copy.graph.output], run(copy, feeds), strict=True))
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    held |= {sparse.values.name: dense_of(sparse) for sparse in model.graph.sparse_initializer}
    return {**held, **feeds, **values}


def other_inputs(feeds: Mapping[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return inputs of the same shapes with other numbers."""
    found = {}
    for name, value in feeds.items():
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            draw = np.random.default_rng(rng.randrange(2**32))
            value = (draw.permutation(value.reshape(-1)) * 0.9).reshape(value.shape).astype(value.dtype)
        found[name] = value
    return found


def mutate(name: str, run: Run) -> Drawing:
    """Return the mutant of a name. Raises LookupError where all mutations were dropped."""
    rng = random.Random(name)
    source = rng.choice(sources())
    case = source if isinstance(source, Case) else case_of(f"{source[0]}/{source[1].name}", source[1])
    model, about = case.model, case.name
    if rng.random() < 0.5:
        try:
            model = opset.convert(model, to := rng.choice(OPSETS))
            about += f" at {to}"
        except opset.ConversionError:  # then as it was
            pass
    feeds = [dict(case.feeds), other_inputs(case.feeds, rng)]
    expected = run(model, feeds[0])
    for value, output in zip(model.graph.output, expected, strict=True):
        if not value.HasField("type"):
            value.type.CopyFrom(type_of(output))
    before = Case(name, model, feeds[0], expected, rtol=1e-5, atol=1e-6)
    values = traced(model, feeds[0], run)
    done: list[str] = []
    dropped: list[str] = []
    wanted = rng.choice([1, 2, 3, 5, 8])
    for number in range(3 * wanted):
        if len(done) == wanted:
            break
        mutation = rng.choice(EDITS)
        mutant = Mutant(model, feeds, values, random.Random(f"{name} {number}"), f"m{number}")
        try:
            mutation(mutant)
        except (LookupError, onnx.defs.SchemaError):  # there is nothing of the kind
            continue
        try:
            onnx.checker.check_model(mutant.model)
            found = traced(mutant.model, mutant.feeds[0], run)
            after = [found[value.name] for value in mutant.model.graph.output]
            if why := difference(before, after[: len(expected)]):
                raise ValueError(why)
        except Exception as error:
            dropped.append(f"{mutation.__name__}: {' '.join(str(error).split())[-200:]}")
            continue
        model, feeds, values = mutant.model, mutant.feeds, found
        done.append(mutation.__name__)
    if not done:
        raise LookupError("nothing to mutate")
    return Drawing(model, feeds, f"{about}: {', '.join(done)}", dropped)
