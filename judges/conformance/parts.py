"""Cuts models at random, runs the parts on values of the whole, and merges parts into the whole again.

    python -m judges parts --count 1000 --seed 7 [--folder DIR] [--case 7.12]

The models are those in examples/, graphs as exporters write them, small models of early exporters, and mutants of these
with parts in If, Loop, Scan and functions. With `--folder` two thirds are those of a folder, such as `python -m judges
export` writes (see judges.conformance.folder). Of each, a graph in a node, a function or the main graph is cut at
random: the part has to give exactly the values that the whole computes there, in the shapes that it declares. Main
graphs are also cut in two, and both halves are merged: the whole has to give its outputs again. Every third part of a
main graph runs on onnxruntime, too, if the whole does. The exit status is 1 if anything differs, or an error is not of
this project.
"""

from __future__ import annotations

import argparse
import copy
import random
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import helper

import opset
from judges.conformance import processes
from judges.conformance.exported import graph_cases
from judges.conformance.folder import folder_cases
from judges.conformance.judge import RANDOM, Case, difference, run_onnxruntime
from judges.conformance.models import cases_of
from judges.fuzz.drawing.mutated import mutate
from judges.fuzz.drawing.rewriting import named
from judges.fuzz.whole import run
from opset.model.graph.index import Body, ModelIndex, index_model
from opset.opsets.registry import default_registry

MUTANTS = 0.5
"""Share of models that are mutants, among those that are in no folder."""
FOLDER = 2 / 3
"""Share of models that are in the folder, if one is named."""
BEGIN, SEEN = "parts__begin", "parts__seen"
RUNS = 4
"""Runs of a body whose values are kept."""
DRAWING = "drawing"
SECONDS = 120
"""Seconds that one model may take."""


class Result(NamedTuple):
    """What became of a cut: "main", "graph", "function" or "merged" if all is right, else "refused" or "fault"; why."""

    kind: str
    why: str = ""


@cache
def sources() -> Sequence[Case]:
    """Return the models that are not mutants."""
    cases = [*cases_of("examples"), *graph_cases(), *cases_of("simple"), *cases_of("pytorch-operator")]
    return [case for case in cases if not any(node.op_type in RANDOM for node in all_nodes(case.model))]


@cache
def models_in(folder: Path) -> Sequence[Case]:
    """Return the models of a folder that run, and draw no random numbers."""
    return [case for case in folder_cases(folder) if case.expected and not case.random]


def all_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Yield every node of a model."""
    pending = [model.graph.node, *(function.node for function in model.functions)]
    while pending:
        for node in pending.pop():
            yield node
            for attribute in node.attribute:
                pending += [graph.node for graph in (attribute.g, *attribute.graphs)]


def marked(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the model with nodes at the begin of each body but the main graph: they show when it runs, and on what."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    bodies: list[Any] = [*whole.functions]
    pending = [*whole.graph.node, *(node for function in whole.functions for node in function.node)]
    while pending:
        for attribute in pending.pop().attribute:
            for graph in (*([attribute.g] if attribute.HasField("g") else ()), *attribute.graphs):
                bodies.append(graph)
                pending += graph.node
    for number, body in enumerate(bodies):
        function = isinstance(body, onnx.FunctionProto)
        formal = [*body.input] if function else [value.name for value in body.input]
        nodes = [helper.make_node("Constant", [], [f"{BEGIN}{number}"], value=helper.make_tensor("", 1, [], [0.0]))]
        nodes += [helper.make_node("Identity", [name], [f"{SEEN}{number}__{name}"]) for name in formal if name]
        nodes += body.node
        del body.node[:]
        body.node.extend(nodes)
    return whole


class Run:
    """One run of a body: its values, and the run of the body around it."""

    def __init__(self, outer: Run | None = None) -> None:
        self.values: dict[str, Any] = {}
        self.outer = outer

    def value(self, name: str) -> Any:
        """Return a value that the body has or sees. Raises KeyError if it was not computed."""
        run: Run | None = self
        while run is not None:
            if name in run.values:
                return run.values[name]
            run = run.outer
        raise KeyError(name)


def record(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> tuple[ModelIndex, dict[Body, list[Run]]]:
    """Return the index of a marked model, and some runs of each body on these inputs."""
    loaded = opset.load(model)
    index = index_model(loaded.proto, default_registry().domains)
    places = {body.location(at): body for body in index.bodies for at in range(len(body.nodes))}
    main = Run()
    held = {tensor.name: tensor for tensor in model.graph.initializer}
    main.values.update({name: onnx.numpy_helper.to_array(tensor) for name, tensor in held.items()} | dict(feeds))
    runs: dict[Body, list[Run]] = {body: [] for body in index.bodies}
    runs[index.main].append(main)
    current = {index.main: main}

    def trace(location: str, name: str, value: Any) -> None:
        if (body := places.get(location)) is None:  # of a gradient, which is made at run time
            return
        if name.startswith(BEGIN):
            outer = None if body.parent is None else current.get(body.parent)
            current[body] = Run(outer)
            if len(runs[body]) < RUNS:
                runs[body].append(current[body])
        if body in current:
            kept = copy.deepcopy(value)
            name = name.partition("__")[2].partition("__")[2] if name.startswith(SEEN) else name
            current[body].values[name] = kept

    opset.ReferenceEvaluator(model, seed=0, trace=trace).run(None, dict(feeds))
    return index, runs


def differs(expected: Any, got: Any) -> str:
    """Return in words how two values differ, "" if they are the same in every bit that counts."""
    if isinstance(expected, (list, dict)):
        return "" if repr(expected) == repr(got) else f"{got!r} instead of {expected!r}"
    one, other = np.asarray(expected), np.asarray(got)
    if one.dtype != other.dtype or one.shape != other.shape:
        return f"{other.dtype}{other.shape} instead of {one.dtype}{one.shape}"
    same = one.tobytes() == other.tobytes() if one.dtype.kind not in "OUS" else bool((one == other).all())
    return "" if same else "other numbers"


def contradiction(declared: Any, value: Any) -> str:
    """Return in words how a value contradicts the TypeProto declared for it, "" if it does not."""
    if not declared.tensor_type.HasField("shape"):
        return ""
    dims = declared.tensor_type.shape.dim
    shape = np.shape(value)
    fits = len(dims) == len(shape) and all(
        dim.dim_value == size for dim, size in zip(dims, shape, strict=True) if dim.HasField("dim_value")
    )
    return "" if fits else f"the shape {shape}, which is not the declared one"


def exporters_types(model: onnx.ModelProto) -> dict[str, Any]:
    """Return the types that a model itself declares for its outputs, by name: an exporter's may be wrong."""
    return {value.name: value.type for value in model.graph.output}


def cut_body(model: onnx.ModelProto, index: ModelIndex, runs: dict[Body, list[Run]], draw: random.Random) -> Result:
    """Cut one body of a marked model at random, and run the part on the values of each run of the body."""
    ran = [body for body, found in runs.items() if found and any(len(run.values) > 1 for run in found)]
    inner = [body for body in ran if body is not index.main]
    body = draw.choice(inner) if inner and draw.random() < 0.7 else index.main
    word = "main" if body is index.main else "function" if body.root.function else "graph"
    first = runs[body][0]
    computed = [
        name
        for names in body.computes
        for name in names
        if name and not name.startswith((BEGIN, SEEN)) and name in first.values and first.values[name] is not None
    ]
    if not computed:
        return Result("empty")
    outputs = draw.sample(computed, min(len(computed), draw.choice([1, 1, 2, 3])))
    inputs = None
    if draw.random() < 0.7:
        before = computed[: max(computed.index(name) for name in outputs)]
        inputs = draw.sample(before, min(len(before), draw.choice([1, 2, 4])))
    asked: dict[str, Any] = {"outputs": outputs, "graph": "" if body is index.main else body.label}
    try:
        try:
            part = opset.extract(model, inputs, **asked)
        except opset.ConversionError as error:
            if error.code != "C601":
                raise
            part = opset.extract(model, [*inputs, *filter(None, body.input_names())], **asked)
    except opset.ConversionError as error:
        return Result("refused", f"{body.label}: {error.code} {error.message} {error.why}")
    evaluator = opset.ReferenceEvaluator(part, seed=0)
    exporters = exporters_types(model)
    for each in runs[body]:
        feeds = {}
        for name in evaluator.input_names:
            try:
                feeds[name] = each.value(name)
            except KeyError:
                return Result("fault", f"{body.label}, {outputs} from {inputs}: the part takes {name}")
        for declared, got in zip(part.graph.output, evaluator.run(None, feeds), strict=True):
            name = declared.name
            why = differs(each.values[name], got) if name in each.values else ""
            stated = exporters.get(name)
            if not why and (stated is None or not contradiction(stated, got)):
                why = contradiction(declared.type, got)
            if why:
                return Result("fault", f"{body.label}, {outputs} from {inputs}: {name} has {why}")
    if word == "main" and draw.random() < 0.34 and (why := runtime_fault(model, part, first, feeds)):
        return Result("fault", f"{outputs} from {inputs}: {why}")
    return Result(word)


def runtime_fault(model: onnx.ModelProto, part: onnx.ModelProto, run: Run, feeds: Mapping[str, Any]) -> str:
    """Return what onnxruntime says against a part of a model that it runs, "" if nothing."""
    whole_feeds = {value.name: run.values[value.name] for value in model.graph.input if value.name in run.values}
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    outputs = [value.name for value in part.graph.output]
    del whole.graph.output[:]
    whole.graph.output.extend(named(outputs))
    try:
        expected = run_onnxruntime(whole, whole_feeds)
    except Exception:  # whatever it says against the whole, parts are not to blame
        return ""
    if expected is None:
        return ""
    try:
        got = run_onnxruntime(part, feeds)
    except Exception as error:
        why = " ".join(str(error).split())
        if "Op (If) [ShapeInferenceError]" in why:  # branches of other shapes, of which the whole takes only one
            return ""
        return f"onnxruntime refuses the part: {why[:300]}"
    if got is None:
        return ""
    # The part takes values of our evaluator, the whole those of onnxruntime: the part may agree with either.
    own = [run.values[name] for name in outputs]
    cases = [Case("part", part, feeds, each, rtol=1e-3, atol=1e-5) for each in (expected, own)]
    return min((difference(case, got) for case in cases), key=bool)


def cut_in_two(model: onnx.ModelProto, index: ModelIndex, main: Run, draw: random.Random) -> Result:
    """Cut the main graph in two, merge the halves, and compare the outputs with those of the whole."""
    body = index.main
    count = len(body.nodes)
    if count < 2:
        return Result("empty")
    split = draw.randrange(1, count)
    computed = dict.fromkeys(name for names in body.computes[:split] for name in names if name)
    later = dict.fromkeys(name for node in body.nodes[split:] for name in read_inside(node))
    cut = [name for name in later if name in computed]
    outputs = body.output_names()
    rest = [name for name in outputs if name not in computed]
    if not cut or not rest:
        return Result("empty")
    inputs = [value.name for value in model.graph.input]
    try:
        front = opset.extract(model, outputs=[*dict.fromkeys([*cut, *(name for name in outputs if name in computed)])])
        back = opset.extract(model, [*cut, *(name for name in later if name in inputs)], rest)
        taken = {value.name for value in front.graph.input}
        held = {tensor.name for tensor in back.graph.initializer}
        shared = [each.name for each in back.graph.input if each.name in taken and each.name not in held]
        whole = opset.merge(front, back, [(name, name) for name in [*cut, *shared]])
        if lost := [name for name in outputs if name in cut]:
            whole = opset.extract(whole, add_outputs=lost)
    except opset.ConversionError as error:
        return Result("refused", f"{cut}: {error.code} {error.message} {error.why}")
    evaluator = opset.ReferenceEvaluator(whole, seed=0)
    if unknown := [name for name in evaluator.input_names if name not in main.values]:
        return Result("fault", f"cut at {cut}: the whole takes {unknown}")
    got = evaluator.run(outputs, {name: main.values[name] for name in evaluator.input_names})
    for name, value in zip(outputs, got, strict=True):
        if why := differs(main.value(name), value):
            return Result("fault", f"cut at {cut}: {name} has {why}")
    return Result("merged")


def read_inside(node: Any) -> Iterator[str]:
    """Yield the names that a node reads, those in its graphs among them."""
    pending = [node]
    while pending:
        each = pending.pop()
        yield from filter(None, each.input)
        for attribute in each.attribute:
            for graph in (attribute.g, *attribute.graphs):
                pending += graph.node
                yield from (value.name for value in graph.output)


def draw_model(name: str, draw: random.Random, folder: Path | None) -> tuple[onnx.ModelProto, Mapping[str, Any]] | None:
    """Return the model of a name and its inputs; None if nothing of the kind can be drawn."""
    if folder is not None and draw.random() < FOLDER:
        case = draw.choice(models_in(folder))
    elif draw.random() < MUTANTS:
        try:
            drawing = mutate(name, run)
        except (LookupError, AttributeError, NotImplementedError):  # nothing of the kind can be drawn
            return None
        return drawing.model, drawing.feeds[0]
    else:
        case = draw.choice(sources())
    return case.model, case.feeds


def examine(job: tuple[str, Path | None]) -> Generator[str, None, list[Result]]:
    """Yield the stages of a job, a name and a folder, and return what became of the cuts of its model."""
    name, folder = job
    draw = random.Random(name)
    yield DRAWING
    drawn = draw_model(name, draw, folder)
    if drawn is None or any(node.op_type in RANDOM for node in all_nodes(drawn[0])):
        return []
    yield "cutting"
    model = marked(drawn[0])
    try:
        index, runs = record(model, drawn[1])
    except opset.OpsetError:  # Identity does not take the sequences and optionals of older opsets
        return []
    try:
        results = [cut_body(model, index, runs, draw) for _ in range(3)]
        return [*results, cut_in_two(model, index, runs[index.main][0], draw)]
    except Exception as error:
        return [Result("fault", f"{type(error).__name__}: {error}")]


def main(arguments: Sequence[str] | None = None) -> int:
    """Cut models; return the exit status."""
    parser = argparse.ArgumentParser(prog="judges parts", description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000, help="cuts")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, metavar="DIR", help="models below this folder, beside the others")
    parser.add_argument("--case", help="one model again: 7.12")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    used = 0
    if options.folder:
        models_in(options.folder)
    names = [options.case] if options.case else (f"{options.seed}.{number}" for number in count(1))
    jobs = ((name, options.folder) for name in names)
    for (name, _), outcome in processes.each(examine, jobs, seconds=SECONDS):
        if isinstance(outcome, processes.Died):  # onnxruntime crashes on some mutants
            outcome = [Result("empty" if outcome.stage == DRAWING else "fault", f"{outcome.stage}: {outcome.why}")]
        used += bool(outcome)
        for result in outcome:
            if result.kind == "empty":
                continue
            counts[result.kind] += 1
            if result.kind == "fault":
                print(f"{name}  {result.why}", flush=True)
            if result.kind == "refused":
                reasons[result.why.partition(": ")[2][:80]] += 1
        if sum(counts.values()) >= options.count:
            break
    total = sum(counts.values())
    shown = ", ".join(f"{counts[kind]} {kind}" for kind in ("main", "graph", "function", "merged", "refused", "fault"))
    print(f"{total} cuts of {used} models: {shown}")
    for why, times in reasons.most_common(8):
        print(f"  refused {times}: {why}")
    return int(counts["fault"] > 0)
