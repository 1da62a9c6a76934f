"""Converts whole models and judges them, as the matrix does, by the outputs that came with them.

    python -m judges models [--targets 21,26] [--groups light,examples] [--converter opset|onnx] ...

The models: those in the test data of the onnx package (light: nine image networks; pytorch-converted, pytorch-operator
and simple: small ones of early exporters), those in this project's examples/, and those that are written after what
exporters write (exported: see judges.conformance.exported). As all weights of a light network are
one number, which hides faults, light-drawn holds the same networks with weights drawn at random, for which onnxruntime
gives the expected outputs itself, before the conversion. With `--folder DIR` the models are those in a folder of yours
(see judges.conformance.folder), and the refusals are listed by class. The exit status is 1 when anything is wrong, an
error, or disputed without a decision.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from judges.conformance.converters import CONVERTERS
from judges.conformance.exported import graph_cases
from judges.conformance.folder import classes, folder_cases
from judges.conformance.judge import Case, run_onnxruntime
from judges.conformance.matrix import (
    FAULTS,
    Outcome,
    Settings,
    collect,
    details,
    table_head,
    table_row,
    targets_of,
    versions,
)

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
GROUPS = ("light", "light-drawn", "pytorch-converted", "pytorch-operator", "simple", "examples", "exported")


def cases_of(group: str) -> Iterator[Case]:
    """Yield the models of a group with their data."""
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / group
    if group == "exported":
        for case in graph_cases():
            yield dataclasses.replace(case, name=f"{group}/{case.name}", rtol=1e-3, atol=1e-5)
    elif group == "light-drawn":
        yield from map(drawn, cases_of("light"))
    elif group == "examples":
        for values in sorted(EXAMPLES.glob("*.npz")):  # a converted model beside them has none
            file, data = values.with_suffix(".onnx"), np.load(values)
            feeds = {key.removeprefix("input/"): data[key] for key in data if key.startswith("input/")}
            model = onnx.load(file)
            expected = [data[f"output/{value.name}"] for value in model.graph.output]
            yield Case(f"{group}/{file.stem}", model, feeds, expected, rtol=1e-3, atol=1e-5)
    elif group == "light":
        for file in sorted(folder.glob("*.onnx")):
            model = onnx.load(file)
            initialized = {tensor.name for tensor in model.graph.initializer}
            inputs = [value for value in model.graph.input if value.name not in initialized]
            outputs = [file.with_name(f"{file.stem}_output_{i}.pb") for i in range(len(model.graph.output))]
            expected = [read(path, value) for path, value in zip(outputs, model.graph.output, strict=True)]
            # The shipped outputs are those for inputs that rise evenly from 0 to 1.
            yield Case(f"{group}/{file.stem}", model, {v.name: ramp(v) for v in inputs}, expected, rtol=2e-3)
    else:
        for file in sorted(folder.glob("*/model.onnx")):
            model = onnx.load(file)
            data_set = file.parent / "test_data_set_0"
            initialized = {tensor.name for tensor in model.graph.initializer}
            inputs = [value for value in model.graph.input if value.name not in initialized]
            feeds = {value.name: read(data_set / f"input_{i}.pb", value) for i, value in enumerate(inputs)}
            expected = [read(data_set / f"output_{i}.pb", value) for i, value in enumerate(model.graph.output)]
            yield Case(f"{group}/{file.parent.name}", model, feeds, expected)


def drawn(case: Case) -> Case:
    """Return a light network with weights drawn at random, of fixed seeds, in place of one number everywhere.

    A matrix or filter is a sine of an outer product of two vectors: as irregular, and the model stays small.
    """
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    # Since this version an initializer need not be an input.
    model.ir_version = 4
    graph = model.graph
    shapes = {tensor.name: numpy_helper.to_array(tensor).tolist() for tensor in graph.initializer}
    random = np.random.default_rng(7)

    def initializer(name: str, low: float, high: float, shape: Sequence[int]) -> str:
        graph.initializer.append(numpy_helper.from_array(random.uniform(low, high, shape).astype(np.float32), name))
        return name

    nodes = list(graph.node)
    del graph.node[:]
    for node in nodes:
        name, shape = node.output[0], shapes[node.input[0]] if node.op_type == "ConstantOfShape" else []
        if node.op_type != "ConstantOfShape":
            graph.node.append(node)
        elif len(shape) == 1:
            # Some are variances.
            initializer(name, 0.5, 1.5, shape)
        else:
            # What passes through keeps its scale.
            bound = float(2 / np.prod(shape[1:]) ** 0.5)
            rows = initializer(f"{name}/rows", -30, 30, [shape[0]] + [1] * (len(shape) - 1))
            columns = initializer(f"{name}/columns", -30, 30, [1, *shape[1:]])
            scale = initializer(f"{name}/scale", bound, bound, [1])
            graph.node.append(onnx.helper.make_node("Mul", [rows, columns], [f"{name}/product"]))
            graph.node.append(onnx.helper.make_node("Sin", [f"{name}/product"], [f"{name}/sine"]))
            graph.node.append(onnx.helper.make_node("Mul", [f"{name}/sine", scale], [name]))
    outputs = run_onnxruntime(model, case.feeds)
    assert outputs is not None
    return dataclasses.replace(case, name=case.name.replace("light/", "light-drawn/"), model=model, expected=outputs)


def ramp(value: onnx.ValueInfoProto) -> np.ndarray:
    """Return floats of the declared shape that rise evenly from 0 towards 1."""
    shape = [dim.dim_value or 1 for dim in value.type.tensor_type.shape.dim]
    count = int(np.prod(shape))
    return (np.arange(count).reshape(shape) / count).astype(np.float32)


def read(path: Path, value: onnx.ValueInfoProto) -> Any:
    """Return the value of the declared type in a file of test data."""
    if value.type.WhichOneof("value") == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(path.read_bytes()))
    if value.type.WhichOneof("value") == "optional_type":
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(path.read_bytes()))
    return numpy_helper.to_array(onnx.TensorProto.FromString(path.read_bytes()))


def report(cases: Sequence[Case], outcomes: Sequence[Outcome], listed: int) -> Iterator[str]:
    """Yield the lines of the report: a row for each group and target."""
    yield table_head("group -> to")
    for group in (*GROUPS, "folder"):
        rows = [o for o in outcomes if o.case.startswith(group + "/")]
        for to in sorted({o.to for o in rows}):
            yield table_row(f"{group} -> {to[1]}", [o for o in rows if o.to == to])
    yield table_row("all", outcomes)
    judged = {o.case for o in outcomes if o.kind != "unjudged"}
    unjudged = [case.name for case in cases if case.name not in judged]
    yield f"{len(cases)} models; not judged: {', '.join(unjudged) or 'none'}"
    yield from details(outcomes, listed)


def main(arguments: Sequence[str] | None = None) -> int:
    """Convert, judge and print the report; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges models", description=about)
    parser.add_argument("--targets", type=versions, default=versions("21,26"), help="opsets, such as 7-26 or 21,26")
    parser.add_argument("--groups", type=lambda text: text.split(","), default=GROUPS, help=", ".join(GROUPS))
    parser.add_argument("--folder", type=Path, metavar="DIR", help="the models below this folder, in place of groups")
    parser.add_argument("--converter", choices=CONVERTERS, default="opset")
    parser.add_argument("--verify", action="store_true", help="judge by opset verify, on inputs that it draws")
    parser.add_argument("--optimize", choices=("none", "basic", "all"), default="none", help="by onnxruntime")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every outcome here")
    parser.add_argument("--list", type=int, default=60, metavar="N", help="lines for each kind of fault")
    options = parser.parse_args(arguments)

    start = time.monotonic()
    if options.folder:
        cases = [*folder_cases(options.folder, processes=options.processes)]
    else:
        cases = [case for group in options.groups for case in cases_of(group)]
    jobs = [(number, targets_of(case, options.targets, [])) for number, case in enumerate(cases)]
    settings = Settings(options.converter, options.optimize, verify=options.verify)
    outcomes, _ = collect(cases, [job for job in jobs if job[1]], options.processes, settings)
    print(f"converter {options.converter}, onnx {onnx.__version__}, {time.monotonic() - start:.0f} s")
    print("\n".join(report(cases, outcomes, options.list)))
    print("\n".join(classes(outcomes, options.list)))
    if options.json:
        options.json.write_text(json.dumps([dataclasses.asdict(o) for o in outcomes], indent=0))
    return int(any(o.kind in FAULTS for o in outcomes))
