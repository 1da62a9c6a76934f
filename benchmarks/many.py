"""Conversion of many small models by one command: the parent's peak memory, and its time beside the ideal.

The ideal is the time of the same work in as many processes that do nothing else, each with its part of the models;
they share the disk, too, on which every result is flushed.

    python -m benchmarks.many --count 10000 --jobs 2 --folder /tmp/many
    python -m benchmarks.many --kills 20          # kills the command again and again: the report has to be the same
    python -m benchmarks.many --bad               # one model hangs, one eats memory, one crashes, among 200

The aims are less than 150 MB, and at most 1.25 of the ideal.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import psutil

from opset.model.text.syntax import parse_model

TEXT = """<ir_version: 7, opset_import: ["": 11]>
    net (float[N, 8] x) => (float[N, 4] y) <float[8, 4] w = {WEIGHTS}> {
        u = Unsqueeze <axes = [0]> (x)
        s = Squeeze <axes = [0]> (u)
        m = MatMul (s, w)
        c = LeakyRelu <alpha = 0.1> (m)
        y = Softmax <axis = 1> (c)
    }"""
BAD = r"""
import multiprocessing, os, signal, sys, time
multiprocessing.set_start_method("fork")
import opset.cli.convert
from opset.cli import main

convert = opset.cli.convert.convert_model

def misbehave(model, *others, **more):
    kind = os.path.basename(model.path).split(".")[0]
    if kind == "hang":
        time.sleep(3600)
    elif kind == "eat":
        hoard = [bytes(1 << 20) for _ in range(8192)]
    elif kind == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    return convert(model, *others, **more)

opset.cli.convert.convert_model = misbehave
main()
"""
COMMAND = [sys.executable, "-m", "opset", "convert"]


def make_models(folder: Path, count: int) -> None:
    """Write models that differ in a name alone, a thousand in a folder."""
    weights = ", ".join(f"{number / 32}" for number in range(32))
    data = parse_model(TEXT.replace("WEIGHTS", weights)).SerializeToString()
    for number in range(count):
        path = folder / f"{number // 1000:03}" / f"m{number:06}.onnx"
        if number % 1000 == 0:
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def seconds_of_work(folder: Path, output: Path, most: int, jobs: int) -> float:
    """Return the seconds per model of the work alone, of some models in each of some processes at once."""
    with ProcessPoolExecutor(jobs) as pool:
        seconds = [*pool.map(work_alone, [folder] * jobs, [output / str(job) for job in range(jobs)], [most] * jobs)]
    shutil.rmtree(output)
    return sum(seconds) / jobs / jobs


def work_alone(folder: Path, output: Path, most: int) -> float:
    """Return the seconds per model of the work on some models in this process."""
    gc.set_threshold(200_000, 20, 20)  # as the command does
    from opset.budget import Limits
    from opset.cli.batch import VerbCall, start_work
    from opset.cli.configuration import folders_for
    from opset.cli.convert import ConvertSettings, convert_file
    from opset.cli.inputs import Output, expand_inputs
    from opset.cli.working import Job
    from opset.version_converter import target_of

    known = folders_for(())
    settings = ConvertSettings(target_of({"": 21}, registry=known.registry()), {}, (), False, None)
    call = VerbCall(known, Limits(), (), 1, False, "text", output=Output(folder=str(output)))
    work = start_work(convert_file, settings, call)
    models = expand_inputs([str(folder)], products=True)[:most]
    for model in models[:20]:
        work(Job(model))
    shutil.rmtree(output)
    begin = time.perf_counter()
    for model in models:
        work(Job(model))
    return (time.perf_counter() - begin) / len(models)


def run_watched(command: list[str]) -> tuple[float, int, int]:
    """Run a command; return its seconds, the peak memory of its first process in bytes, and its exit status."""
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    watched = psutil.Process(process.pid)
    peak = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{watched.pid}/status") as file:
                peak = max(peak, *(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM")))
        except (OSError, TypeError):
            pass
        time.sleep(0.1)
    return time.perf_counter() - begin, peak, process.returncode


def measure(folder: Path, count: int, jobs: int, report: bool) -> None:
    make_models(folder / "in", count)
    before = seconds_of_work(folder / "in", folder / "alone", 1000, jobs)
    command = [*COMMAND, str(folder / "in"), "--to", "21", "-o", str(folder / "out"), "-j", str(jobs)]
    seconds, peak, status = run_watched([*command, *(["--report", str(folder / "out.jsonl")] if report else [])])
    after = seconds_of_work(folder / "in", folder / "alone", 1000, jobs)
    ideal = count * (before + after) / 2
    print(f"{count:,} models, {jobs} processes, exit status {status}")
    print(f"parent's peak memory: {peak / 1e6:.0f} MB (aim: below 150)")
    print(f"time: {seconds:.1f} s; ideal: {ideal:.1f} s; ratio {seconds / ideal:.2f} (aim: at most 1.25)")


def kill_again_and_again(folder: Path, count: int, jobs: int, kills: int, seed: int) -> bool:
    """Whether a call that is killed again and again, and goes on, ends with the report of one that is left alone."""
    make_models(folder / "in", count)
    (folder / "in/000/broken.onnx").write_bytes(b"\x08\x07no model")
    call = [*COMMAND, "in", "--to", "21", "-o", "out", "--report", "out.jsonl", "-j", str(jobs)]
    run = partial(subprocess.run, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    begin = time.perf_counter()
    run(call)
    lasted = time.perf_counter() - begin
    whole, results = (folder / "out.jsonl").read_bytes(), outputs(folder)
    shutil.rmtree(folder / "out")
    (folder / "out.jsonl").unlink()
    draw = random.Random(seed)
    killed = 0
    while killed < kills:
        process = subprocess.Popen(call, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0.3, 0.3 + lasted / kills * 2))
        process.send_signal(signal.SIGKILL)
        if process.wait() != -signal.SIGKILL:  # it was done already
            shutil.rmtree(folder / "out")
            (folder / "out.jsonl").unlink()
        killed += 1
    status = run(call).returncode
    same = (folder / "out.jsonl").read_bytes() == whole and outputs(folder) == results
    print(f"{count:,} models, {killed} kills, then exit status {status}: {'the same' if same else 'ANOTHER'} report")
    return same


def outputs(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in (folder / "out").rglob("*") if path.is_file()}


def convert_among_bad(folder: Path, jobs: int) -> bool:
    """Whether of 200 models, three of which misbehave, 197 are converted and three are records."""
    make_models(folder / "in", 197)
    for name in ("hang", "eat", "crash"):
        shutil.copy(folder / "in/000/m000000.onnx", folder / "in" / f"{name}.onnx")
    limits = ["--timeout", "5", "--max-memory", "400M", "-j", str(jobs), "--report", "out.jsonl", "-q"]
    call = ["convert", "in", "--to", "21", "-o", "out", *limits]
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", BAD, *call], cwd=folder, stderr=subprocess.DEVNULL)
    records = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    failed = {Path(each["input"]).stem: each["errors"][0]["code"] for each in records if each["status"] == "failed"}
    done = sum(each["status"] == "converted" for each in records)
    print(f"{done} converted, {failed}, {time.perf_counter() - begin:.1f} s")
    return done == 197 and failed == {"hang": "C401", "eat": "U106", "crash": "U108"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--folder", type=Path, help="where models are written; a temporary folder by default")
    parser.add_argument("--report", action="store_true", help="measure with --report")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--bad", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        if options.bad:
            return int(not convert_among_bad(folder, options.jobs))
        if options.kills:
            return int(not kill_again_and_again(folder, options.count, options.jobs, options.kills, options.seed))
        measure(folder, options.count, options.jobs, options.report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
