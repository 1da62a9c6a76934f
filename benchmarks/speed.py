"""Measures what a conversion costs in time and memory, beside `cp` and the converter of the onnx package.

    python -m benchmarks.speed [--only inline,external,nodes,many-nodes,small] [--runs 5] [--quick] [--folder DIR]

The models are generated in a temporary folder below DIR, where the outputs go, too. Every run is a process of its own,
with its start-up in the time; a time is the median of the runs, a memory the highest resident set. Runs of the same
model take turns, so that a busy disk hits all alike. The exit status is 1 when a target does not hold.

This module imports nothing big: what a process starts from counts in the memory of what it starts.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import GraphProto, TensorProto

ROOT = Path(__file__).resolve().parent.parent
TO = 21
TIME_LIMIT = 900.0
ONNX = """
import sys, onnx, onnx.version_converter
model = onnx.load(sys.argv[1], load_external_data=False)
onnx.save(onnx.version_converter.convert_version(model, int(sys.argv[3])), sys.argv[2])
"""


@dataclasses.dataclass(frozen=True)
class Run:
    """One process: seconds until its end, highest resident set in MB, and why it failed, if it did."""

    seconds: float
    megabytes: float
    failure: str = ""


@dataclasses.dataclass(frozen=True)
class Bench:
    """A model to convert: how it is made (in the size asked for, or a tenth of it), and what is asked of us on it."""

    title: str
    make: Callable[[Path, int], None]
    size: int
    peers: tuple[str, ...]
    targets: Callable[[dict[str, Run]], Iterator[tuple[str, float, float]]]
    onnx_runs: int | None = None


def layers(count: int, width: int, weights: Callable[[str], TensorProto]) -> GraphProto:
    """Return a graph of `count` layers of five nodes at opset 11, three of which change until opset 21."""
    from onnx import TensorProto, helper

    nodes, value = [], "x"
    for i in range(count):
        names = [f"layer{i}/{part}" for part in ("sum", "relu", "deep", "soft", "flat")]
        nodes += [
            helper.make_node("Add", [value, f"w{i}"], [names[0]], name=names[0]),
            helper.make_node("Relu", [names[0]], [names[1]], name=names[1]),
            helper.make_node("Unsqueeze", [names[1]], [names[2]], name=names[2], axes=[0]),
            helper.make_node("Softmax", [names[2]], [names[3]], name=names[3], axis=-1),
            helper.make_node("Squeeze", [names[3]], [names[4]], name=names[4], axes=[0]),
        ]
        value = names[-1]
    return helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, width])],
        [helper.make_tensor_value_info(value, TensorProto.FLOAT, [1, width])],
        [weights(f"w{i}") for i in range(count)],
    )


def save_layers(path: Path, count: int, width: int, weights: Callable[[str], TensorProto]) -> None:
    from onnx import helper, save

    save(
        helper.make_model(layers(count, width, weights), opset_imports=[helper.make_opsetid("", 11)], ir_version=6),
        path,
    )


def make_inline(path: Path, megabytes: int) -> None:
    """Write a model of 60 layers that share so many megabytes of weights, inside the file."""
    from onnx import TensorProto

    width = megabytes * 1_000_000 // 60 // 4

    def weights(name: str) -> TensorProto:
        return TensorProto(name=name, dims=[1, width], data_type=TensorProto.FLOAT, raw_data=os.urandom(4 * width))

    save_layers(path, 60, width, weights)


def make_external(path: Path, megabytes: int) -> None:
    """Write a model of 60 layers that share so many megabytes of weights, in a file beside it."""
    from onnx import StringStringEntryProto, TensorProto

    width = megabytes * 1_000_000 // 60 // 4
    with path.with_suffix(".data").open("wb") as file:

        def weights(name: str) -> TensorProto:
            tensor = TensorProto(name=name, dims=[1, width], data_type=TensorProto.FLOAT)
            tensor.data_location = TensorProto.EXTERNAL
            where = {"location": file_name, "offset": str(file.tell()), "length": str(4 * width)}
            tensor.external_data.extend(StringStringEntryProto(key=k, value=v) for k, v in where.items())
            file.write(os.urandom(4 * width))
            return tensor

        file_name = path.with_suffix(".data").name
        save_layers(path, 60, width, weights)


def make_nodes(path: Path, nodes: int) -> None:
    """Write a model of so many nodes with tiny weights."""
    from onnx import TensorProto

    def weights(name: str) -> TensorProto:
        return TensorProto(name=name, dims=[1, 4], data_type=TensorProto.FLOAT, raw_data=bytes(16))

    save_layers(path, nodes // 5, 4, weights)


def make_small(path: Path, _: int) -> None:
    """Write a model as small as an example."""
    path.write_bytes((ROOT / "examples" / "segmenter_opset9.onnx").read_bytes())


def inline_targets(runs: dict[str, Run]) -> Iterator[tuple[str, float, float]]:
    yield "seconds, 1.5 x cp", runs["opset"].seconds, 1.5 * runs["cp"].seconds
    yield "seconds, 1.5 x cp + fsync", runs["opset"].seconds, 1.5 * runs["cp + fsync"].seconds
    yield "MB", runs["opset"].megabytes, 150


def external_targets(runs: dict[str, Run]) -> Iterator[tuple[str, float, float]]:
    yield "seconds", runs["opset"].seconds, 1.0


def node_targets(runs: dict[str, Run]) -> Iterator[tuple[str, float, float]]:
    yield "seconds, onnx", runs["opset"].seconds, runs["onnx"].seconds


def small_targets(runs: dict[str, Run]) -> Iterator[tuple[str, float, float]]:
    yield "seconds", runs["opset"].seconds, 0.25


COPIES = ("cp", "cp + fsync")
BENCHES = {
    "inline": Bench("MB of weights in the file, 300 nodes", make_inline, 1000, (*COPIES, "onnx"), inline_targets, 1),
    "external": Bench("MB of weights beside the file, 300 nodes", make_external, 3000, ("onnx",), external_targets),
    "nodes": Bench("nodes", make_nodes, 20_000, ("onnx",), node_targets),
    "many-nodes": Bench("nodes", make_nodes, 200_000, ("onnx",), lambda runs: iter(()), 1),
    "small": Bench("small model, a command with its start-up", make_small, 1, ("onnx",), small_targets),
}


def command(who: str, source: Path, output: Path) -> list[str]:
    """Return the command line with which somebody converts or copies a file."""
    if who == "opset":
        script = Path(sys.executable).with_name("opset")
        start = [str(script)] if script.exists() else [sys.executable, "-m", "opset"]
        return [*start, "convert", str(source), "--to", str(TO), "-o", str(output), "--quiet"]
    if who == "onnx":
        return [sys.executable, "-c", ONNX, str(source), str(output), str(TO)]
    copy = 'cp "$1" "$2"' + (' && sync "$2"' if who == "cp + fsync" else "")
    return ["sh", "-c", copy, "sh", str(source), str(output)]


def run(arguments: Sequence[str]) -> Run:
    """Return what a process costs; one that takes longer than TIME_LIMIT is stopped."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}  # this copy, whichever is installed
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(arguments, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=errors)
        timer = threading.Timer(TIME_LIMIT, os.kill, (process.pid, signal.SIGKILL))
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        told = errors.read().decode(errors="replace").strip().splitlines() or [""]
    # Kilobytes, except on macOS.
    megabytes = usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    failure = "" if process.returncode == 0 else f"status {process.returncode}: {told[-1][:200]}"
    return Run(seconds, megabytes, failure)


@contextmanager
def compiled_once() -> Iterator[None]:
    """Let processes keep compiled modules, as those of an installed package are kept."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        yield


def measure(bench: Bench, size: int, runs: int, folder: Path) -> dict[str, Run]:
    """Return the median cost for us and each peer."""
    source, output = folder / "model.onnx", folder / "output.onnx"
    name = next(name for name, known in BENCHES.items() if known is bench)
    made = run([sys.executable, "-m", "benchmarks.speed", "--make", name, str(size), str(source)])
    if made.failure:
        raise SystemExit(f"the model could not be made: {made.failure}")
    found: dict[str, list[Run]] = {who: [] for who in ("opset", *bench.peers)}
    for turn in range(runs):
        for who, before in found.items():
            if (who == "onnx" and turn >= (bench.onnx_runs or runs)) or any(run.failure for run in before):
                continue
            # What earlier runs left to be written must not be waited for in this one.
            os.sync()
            before.append(run(command(who, source, output)))
            output.unlink(missing_ok=True)
    for path in folder.iterdir():
        path.unlink()
    return {who: summary(all_runs) for who, all_runs in found.items()}


def summary(runs: Sequence[Run]) -> Run:
    """Return the median time and the highest memory."""
    failure = next((run.failure for run in runs if run.failure), "")
    return Run(statistics.median(run.seconds for run in runs), max(run.megabytes for run in runs), failure)


def report(bench: Bench, size: int, runs: dict[str, Run]) -> tuple[list[str], bool]:
    """Return the lines about one model, and whether all targets hold."""
    lines = [bench.title if bench.make is make_small else f"{size:,} {bench.title}"]
    ours = runs["opset"].seconds
    for who, cost in runs.items():
        ratio = "" if who == "opset" else f"   opset takes {ours / cost.seconds:.2f} of it"
        lines.append(f"  {who:<11} {cost.seconds:8.3f} s {cost.megabytes:8,.0f} MB{ratio}   {cost.failure}".rstrip())
    if size != bench.size:
        return lines, not runs["opset"].failure
    verdicts = []
    for what, value, most in bench.targets(runs):
        line, holds = verdict(value, most, what)
        verdicts.append(holds)
        lines.append(line)
    return lines, not runs["opset"].failure and all(verdicts)


def verdict(value: float, most: float, what: str) -> tuple[str, bool]:
    """Return the line about a target, and whether it holds."""
    return f"  {'holds' if value <= most else 'FAILS'}: {value:.3f}, at most {most:.3f} {what}", value <= most


def options_of(
    arguments: Sequence[str] | None, program: str, about: str, names: Sequence[str], runs: int, room: int
) -> argparse.Namespace:
    """Return the options of a benchmark of these models, whose files need so many GB."""
    parser = argparse.ArgumentParser(prog=program, description=about.split("\n")[0])
    parser.add_argument("--only", type=lambda text: text.split(","), default=list(names), help=", ".join(names))
    parser.add_argument("--runs", type=int, default=runs, metavar="N", help="runs of each, of which the median counts")
    parser.add_argument("--quick", action="store_true", help="one run, models of a tenth of the size, no targets")
    help = f"where models and outputs go; needs {room} GB of room"
    parser.add_argument("--folder", type=Path, metavar="DIR", help=help)
    parser.add_argument("--make", nargs=3, metavar=("NAME", "SIZE", "FILE"), help="only write a model")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    options = options_of(arguments, "python -m benchmarks.speed", __doc__ or "", list(BENCHES), runs=5, room=8)
    if options.make:
        name, size, path = options.make
        BENCHES[name].make(Path(path), int(size))
        return 0
    good = True
    with tempfile.TemporaryDirectory(dir=options.folder) as folder, compiled_once():
        for name in options.only:
            bench = BENCHES[name]
            size = max(1, bench.size // 10) if options.quick else bench.size
            runs = measure(bench, size, 1 if options.quick else options.runs, Path(folder))
            lines, holds = report(bench, size, runs)
            good &= holds
            print("\n".join(lines), flush=True)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
