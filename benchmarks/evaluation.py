"""Measures how fast the reference evaluator is, beside that of the onnx package and beside onnxruntime.

    python -m benchmarks.evaluation [--models REGEX] [--parts models,nodes,rates] [--seconds S] [--json FILE]

- models: the image networks of `light-drawn`, with their weights as initializers. Every measurement has a process of
  its own with one thread: the first run with reading and planning, the median of later runs, the greatest memory. The
  evaluator of the onnx package is slow, so of that one there is the first run alone; it counts where its outputs are
  others, too, as it computes some operators by their newest meaning.
- nodes: all node cases of the standard, each constructed and run once, after all imports; the sum over those that both
  evaluators run.
- rates: steps in a second, in a chain of 200,000 nodes and in a Loop of a million turns, for information.

onnxruntime has its default optimisation. The exit status is 1 when a target is not met: 10 times as fast as the onnx
package on models (geometric mean), at most 6 times as long as onnxruntime, no slower than the onnx package on nodes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pkgutil
import re
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

# Nothing else is imported up here: a process that measures one engine must not hold the others.

ENGINES = ("opset", "onnx", "onnxruntime")
FASTER, LONGER = 10.0, 6.0
"""On models, how many times as fast as the onnx package, and how many times as long as onnxruntime."""
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
PARTS = ("models", "nodes", "rates")

Measured = dict[str, Any]
Runner = Callable[[dict[str, Any]], Sequence[Any]]


def alone(function: Callable[..., Measured], *arguments: Any) -> Measured:
    """Return what a function gives in a new process, "failed" with the reason where it gives nothing."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(function, *arguments).result()
        except BrokenProcessPool:
            return {"failed": "the process died"}
        except Exception as error:
            return {"failed": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}


def loaded(engine: str, model: str | bytes) -> Runner:
    """Return what runs a model, a path or bytes, on an engine."""
    if engine == "opset":
        import opset

        evaluator = opset.ReferenceEvaluator(model)
        return lambda feeds: evaluator.run(None, feeds)
    if engine == "onnx":
        import onnx
        from onnx.reference import ReferenceEvaluator

        reference = ReferenceEvaluator(onnx.load_from_string(model) if isinstance(model, bytes) else model)
        return lambda feeds: reference.run(None, feeds)
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)


def warmed(engine: str) -> None:
    """Import all that an engine needs and run it once, so that no measurement has that in it."""
    from onnx import TensorProto, helper

    if engine == "opset":
        from opset.reference import kernels, registration

        for module in pkgutil.iter_modules(kernels.__path__):
            registration.LAYER.load(module.name)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "one", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    loaded(engine, model.SerializeToString())({"x": np.zeros(1, np.float32)})


def memory() -> int:
    """Return the most bytes that this process ever held."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def measure_model(engine: str, folder: str, seconds: float) -> Measured:
    """Measure the model in a folder: `first` and `run` in seconds, `memory` in bytes, whether the outputs are right."""
    warmed(engine)
    data = np.load(f"{folder}/data.npz")
    feeds = {key.removeprefix("input/"): data[key] for key in data if key.startswith("input/")}
    expected = [data[key] for key in data if key.startswith("output/")]
    begun = time.perf_counter()
    runner = loaded(engine, f"{folder}/model.onnx")
    ready = time.perf_counter()
    outputs = runner(feeds)
    first = time.perf_counter()
    times = [first - ready] if engine == "onnx" else []
    while engine != "onnx" and (len(times) < 3 or (sum(times) < seconds and len(times) < 50)):
        start = time.perf_counter()
        runner(feeds)
        times.append(time.perf_counter() - start)
    right = all(np.allclose(have, want, rtol=1e-2, atol=1e-5) for have, want in zip(outputs, expected, strict=True))
    found = {"first": first - begun, "run": statistics.median(times), "runs": len(times), "memory": memory()}
    return {**found, "right": right}


def measure_nodes(engine: str) -> Measured:
    """Return the seconds for each node case that the engine runs."""
    warmed(engine)
    from judges.conformance.matrix import node_cases

    found: Measured = {}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in node_cases():
            model = case.model.SerializeToString()
            begun = time.perf_counter()
            try:
                loaded(engine, model)(dict(case.feeds))
            except Exception:  # what an engine cannot run is left out of the sum
                continue
            found[case.name] = time.perf_counter() - begun
    return found


def measure_rates(engine: str) -> Measured:
    """Return the nodes that are run in a second, in a long chain and in a long loop."""
    from onnx import TensorProto, helper, numpy_helper

    warmed(engine)
    info = helper.make_tensor_value_info
    length, turns = 200_000, 1_000_000
    chain = [helper.make_node("Neg", [f"v{number}"], [f"v{number + 1}"]) for number in range(length)]
    scalar = info("v0", TensorProto.FLOAT, [1]), info(f"v{length}", TensorProto.FLOAT, [1])
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Add", ["x", "one"], ["y"])],
        "body",
        [info("turn", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("x", TensorProto.FLOAT, [1])],
        [info("on", TensorProto.BOOL, []), info("y", TensorProto.FLOAT, [1])],
    )
    loop = helper.make_node("Loop", ["turns", "", "v0"], ["end"], body=body)
    constants = [
        numpy_helper.from_array(np.array(turns), "turns"),
        numpy_helper.from_array(np.ones(1, np.float32), "one"),
    ]
    end = info("end", TensorProto.FLOAT, [1])
    graphs = {
        "chain": (helper.make_graph(chain, "chain", scalar[:1], scalar[1:]), length),
        "loop": (helper.make_graph([loop], "loop", scalar[:1], [end], constants), turns),
    }
    found: Measured = {}
    for name, (graph, count) in graphs.items():
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
        begun = time.perf_counter()
        runner = loaded(engine, model)
        ready = time.perf_counter()
        runner({"v0": np.zeros(1, np.float32)})
        found[name] = {"load": ready - begun, "rate": count / (time.perf_counter() - ready)}
    return found


def prepared(folder: Path, pattern: str) -> Iterator[tuple[str, Path]]:
    """Write the networks and their data; yield the name and folder of each."""
    import onnx

    from judges.conformance.models import cases_of

    for case in cases_of("light-drawn"):
        name = case.name.split("/")[-1]
        if re.search(pattern, name):
            place = folder / name
            place.mkdir()
            onnx.save(with_weights(case.model), place / "model.onnx")
            outputs = {f"output/{number}": value for number, value in enumerate(case.expected)}
            np.savez(place / "data.npz", **{f"input/{key}": value for key, value in case.feeds.items()}, **outputs)
            yield name, place


def with_weights(model: Any) -> Any:
    """Return a model in which what nodes compute from initializers alone, by Mul and Sin, is an initializer."""
    from onnx import numpy_helper

    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    nodes, folded = [], set()
    for node in model.graph.node:
        if node.op_type in ("Mul", "Sin") and all(name in values for name in node.input):
            given = [values[name] for name in node.input]
            values[node.output[0]] = np.sin(given[0]) if node.op_type == "Sin" else np.multiply(*given)
            folded.add(node.output[0])
        else:
            nodes.append(node)
    used = {name for node in nodes for name in node.input}
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    kept = [tensor for tensor in model.graph.initializer if tensor.name in used]
    kept += [numpy_helper.from_array(values[name], name) for name in sorted(folded & used)]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    given_from_outside = [value for value in model.graph.input if value.name not in values]
    del model.graph.input[:]
    model.graph.input.extend(given_from_outside)
    return model


def mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def of_models(pattern: str, seconds: float, engines: Sequence[str]) -> tuple[Measured, list[tuple[str, bool]]]:
    """Measure the networks and print a line for each; give all, and which targets are met."""
    found: Measured = {}
    columns = "".join(f" | {engine:>11}: first    run     MB" for engine in engines)
    print(f"{'':>22}{columns} | onnx/ours  ours/onnxruntime", flush=True)
    ratios: dict[str, list[float]] = {"onnx": [], "onnxruntime": []}
    with tempfile.TemporaryDirectory() as folder:
        for name, place in prepared(Path(folder), pattern):
            row = {engine: alone(measure_model, engine, str(place), seconds) for engine in engines}
            found[name] = row
            text = ""
            for engine in engines:
                one = row[engine]
                text += (
                    f" | {'':>8}{one['first']:>8.2f} {one['run']:>8.3f} {one['memory'] / 1e6:>6,.0f}"
                    if "run" in one
                    else f" | {'failed':>32}"
                )
            own = row["opset"]
            for other in ("onnx", "onnxruntime"):
                if not own.get("right") or "run" not in row.get(other, {}):
                    text += f" {'-':>10}"
                    continue
                pair = (row[other]["run"], own["run"])
                ratios[other].append(pair[0] / pair[1] if other == "onnx" else pair[1] / pair[0])
                text += f" {ratios[other][-1]:>10.2f}"
            print(f"{name:>22}{text}", flush=True)
            for engine, one in row.items():
                if not one.get("right"):
                    print(f"{'':>22}   {engine}: {one.get('failed', 'the outputs are others')}")
    fast, slow = mean(ratios["onnx"]), mean(ratios["onnxruntime"])
    targets = []
    for other, text, met in (
        ("onnx", f"{fast:.1f} times as fast as the onnx package, at least {FASTER:g} wanted", fast >= FASTER),
        ("onnxruntime", f"{slow:.1f} times as long as onnxruntime, at most {LONGER:g} wanted", slow <= LONGER),
    ):
        if other in engines:
            targets.append((f"models: {text}", met and len(ratios[other]) == len(found)))
    return found, targets


def of_nodes() -> tuple[Measured, list[tuple[str, bool]]]:
    """Measure the node cases; return the seconds, and whether the target is met."""
    own, other = (alone(measure_nodes, engine) for engine in ("opset", "onnx"))
    both = own.keys() & other.keys()
    sums = sum(own[name] for name in both), sum(other[name] for name in both)
    print(f"nodes: {len(own):,} cases run, {len(other):,} by onnx's evaluator; {len(both):,} by both: ", end="")
    print(f"{sums[0]:.2f} s, onnx {sums[1]:.2f} s")
    slow = sorted(both, key=lambda name: other[name] - own[name])[:5]
    print("  most behind: " + ", ".join(f"{n} {1e3 * own[n]:.1f} ms for {1e3 * other[n]:.1f}" for n in slow))
    ratio = sums[1] / sums[0] if sums[0] else math.nan
    text = f"nodes: {ratio:.2f} times as fast as the onnx package, at least 1 wanted"
    return {"opset": own, "onnx": other}, [(text, ratio >= 1)]


def of_rates() -> Measured:
    """Measure the rates and print them."""
    found = alone(measure_rates, "opset")
    if "failed" in found:
        print(f"rates: {found['failed']}")
        return found
    for name, title in (("chain", "a chain of 200,000 nodes"), ("loop", "a Loop of 1,000,000 turns")):
        print(f"rates: {title}: {found[name]['rate']:,.0f} in a second, {found[name]['load']:.2f} s to load")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluation", description=about)
    parser.add_argument("--parts", default=",".join(PARTS), help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--models", default="", metavar="REGEX", help="only networks whose name this is found in")
    parser.add_argument("--engines", default=",".join(ENGINES), help="for models, opset and some of the others")
    parser.add_argument("--seconds", type=float, default=5, help="for the later runs of one model (default: 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every measurement here")
    options = parser.parse_args(arguments)
    os.environ.update(dict.fromkeys(THREADS, "1"))
    parts = options.parts.split(",")
    content: Measured = {}
    targets: list[tuple[str, bool]] = []
    if "models" in parts:
        content["models"], met = of_models(options.models, options.seconds, options.engines.split(","))
        targets += met
    if "nodes" in parts:
        content["nodes"], met = of_nodes()
        targets += met
    if "rates" in parts:
        content["rates"] = of_rates()
    for text, met_it in targets:
        print(f"{text}: {'met' if met_it else 'NOT met'}")
    if options.json:
        options.json.write_text(json.dumps(content, indent=0))
    return int(not all(met_it for _, met_it in targets))


if __name__ == "__main__":
    sys.exit(main())
