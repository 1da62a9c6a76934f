"""Kills of the command line at random moments: is the old file there or the new one, whole, and what is left behind?

    python -m judges kills [--seed 1] [--moments 200] [--megabytes 1000] [--folder DIR]

Each moment starts a conversion, ends it by SIGKILL, mostly while it writes, and compares what is at the output with
the old content, if there was any, and with what an undisturbed conversion writes. Then a small conversion writes into
the same folder, after which no temporary file may be there. So for one large model, and for a folder of small ones,
in one process and in two. Needs four times the room of the model. Prints a table: how many conversions were killed
before they were done, in which state how many outputs were found, and how many temporary files; `litter` is
everything else that was left. The exit status is 1 if a file was damaged or there is litter.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import onnx
from onnx import TensorProto, helper

import opset

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(opset.__file__).parents[1])}
OLD = b"the old file"
FILES = 30
"""Models in the folder."""
COLUMNS = ("before", "old", "new", "absent", "damaged", "temporary", "litter")


def make_model(path: Path, size: int) -> None:
    """Write a model with this many bytes of weights, which is converted by replacing a node."""
    block = random.Random(size).randbytes(min(size, 1 << 20) // 4 * 4)
    weights = [
        TensorProto(name=f"w{i}", dims=[len(block) // 4], data_type=TensorProto.FLOAT, raw_data=block)
        for i in range(max(1, size // len(block)))
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])
    node = helper.make_node("Unsqueeze", ["x"], ["y"], axes=[0])
    graph = helper.make_graph([node], "main", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6), path)


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start a conversion in a group of processes of its own."""
    command = [sys.executable, "-m", "opset", "convert", *arguments, "--to", "21", "--force", "-q"]
    return subprocess.Popen(command, cwd=folder, env=ENVIRONMENT, start_new_session=True)


def convert(folder: Path, *arguments: str) -> None:
    """Convert undisturbed."""
    if status := start(folder, *arguments).wait():
        raise SystemExit(f"opset convert {' '.join(arguments)} ended with {status}")


def measure(folder: Path, arguments: tuple[str, ...], outputs: Path) -> tuple[float, float]:
    """Convert undisturbed; return the seconds until the first file is written, and from there to the end."""
    begun = time.monotonic()
    process = start(folder, *arguments)
    wait_for_file(process, outputs)
    middle = time.monotonic()
    process.wait()
    return middle - begun, time.monotonic() - middle


def wait_for_file(process: subprocess.Popen[bytes], outputs: Path) -> None:
    """Wait until a process writes a file, or ends."""
    while process.poll() is None and not temporaries(outputs):
        time.sleep(0.0005)


def temporaries(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.endswith(".tmp")]


def same(one: Path, other: Path) -> bool:
    """Whether two files have the same content."""
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as a, other.open("rb") as b:
        while chunk := a.read(1 << 22):
            if chunk != b.read(len(chunk)):
                return False
    return True


def attack(
    folder: Path,
    arguments: tuple[str, ...],
    outputs: Path,
    whole: dict[str, Path],
    most: int,
    moments: int,
    rng: random.Random,
) -> Counter[str]:
    """Kill a conversion at random moments; return how often which state was found.

    `outputs` is the folder that is written to, `whole` has what is to be there by name, and `most` temporary files may
    be left. Every other moment nothing is at the outputs before.
    """
    found: Counter[str] = Counter()
    _, (before, during) = (measure(folder, arguments, outputs) for _ in range(2))
    for moment in range(moments):
        for name in whole:
            (outputs / name).unlink(missing_ok=True)
            if moment % 2:
                (outputs / name).write_bytes(OLD)
        process = start(folder, *arguments)
        if rng.random() < 0.2:
            time.sleep(rng.random() * before)
        else:
            wait_for_file(process, outputs)
            time.sleep(rng.random() * during * 1.1)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        time.sleep(0.02)  # until the other processes of the group are gone
        left = temporaries(outputs)
        found["temporary"] += len(left)
        found["litter"] += max(0, len(left) - most)
        states = Counter(state(outputs / name, good) for name, good in whole.items())
        found += states
        found["before"] += states["new"] < len(whole)
        unknown = {path.name for path in outputs.iterdir() if path not in left} - {*whole}
        found["litter"] += len(unknown)
        convert(folder, "small.onnx", "-o", str(outputs / "next.onnx"))
        (outputs / "next.onnx").unlink()
        found["litter"] += len(temporaries(outputs))
    return found


def state(path: Path, good: Path) -> str:
    """Return "absent", "old", "new" or "damaged"."""
    if not path.exists():
        return "absent"
    if path.stat().st_size == len(OLD) and path.read_bytes() == OLD:
        return "old"
    return "new" if same(path, good) else "damaged"


def cases(folder: Path, megabytes: int) -> dict[str, Callable[[int, random.Random], Counter[str]]]:
    """Return what is attacked, by name, in a folder that has the room for it."""
    for name in ("out", "models", "many", "good"):
        (folder / name).mkdir()
    make_model(folder / "small.onnx", 1000)
    make_model(folder / "large.onnx", megabytes * 1_000_000)
    convert(folder, "large.onnx", "-o", "good/large.onnx")
    names = [f"m{number:02}" for number in range(FILES)]
    for name in names:
        make_model(folder / "models" / f"{name}.onnx", 100_000)
    convert(folder, "models/m00.onnx", "-o", "good/many.onnx")
    large = {"large.onnx": folder / "good" / "large.onnx"}
    many = {f"{name}-opset21.onnx": folder / "good" / "many.onnx" for name in names}

    def one(moments: int, rng: random.Random) -> Counter[str]:
        return attack(folder, ("large.onnx", "-o", "out/large.onnx"), folder / "out", large, 1, moments, rng)

    def folder_of(jobs: int) -> Callable[[int, random.Random], Counter[str]]:
        arguments = ("models", "-o", "many/", "-j", str(jobs))
        return lambda moments, rng: attack(folder, arguments, folder / "many", many, jobs, moments, rng)

    return {
        f"a save of {megabytes} MB": one,
        f"a folder of {FILES} models, -j 1": folder_of(1),
        f"a folder of {FILES} models, -j 2": folder_of(2),
    }


def main(arguments: list[str] | None = None) -> int:
    """Attack and print; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m judges kills", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--moments", type=int, default=200, metavar="N", help="kills of each case")
    parser.add_argument("--megabytes", type=int, default=1000, metavar="N", help="size of the large model")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where files go")
    options = parser.parse_args(arguments)
    room = shutil.disk_usage(options.folder or tempfile.gettempdir()).free
    if room < 4_000_000 * options.megabytes:
        parser.error(f"there are {room:,} bytes of room, and {4 * options.megabytes:,} MB are needed")
    good = True
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        print(f"{'killed at random moments':32}{'moments':>9}" + "".join(f"{column:>11}" for column in COLUMNS))
        for name, case in cases(Path(folder), options.megabytes).items():
            found = case(options.moments, random.Random(f"{options.seed} {name}"))
            good &= not found["damaged"] and not found["litter"]
            print(f"{name:32}{options.moments:9}" + "".join(f"{found[column]:11}" for column in COLUMNS), flush=True)
    return int(not good)
