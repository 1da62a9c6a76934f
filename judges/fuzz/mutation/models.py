"""Mutants of models, and what is done with each: load, convert up and down, infer, run, and other verbs for some."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from typing import Any

import opset
from judges.fuzz.mutation.case import Case, Verb, command
from judges.fuzz.mutation.seeds import seed_model
from judges.fuzz.mutation.structure import mend, mutate, names
from judges.fuzz.mutation.wire import mutate_bytes, mutate_names, mutate_records
from opset.tensor_io.random_inputs import random_inputs
from opset.tensor_io.statistics import summarize, summary_lines

__all__ = ["LIMITS", "case", "verbs"]

LIMITS = opset.Limits(max_steps=5_000, max_bytes=64 << 20, timeout=2)
FILE = "model.onnx"


def case(rng: random.Random) -> Case:
    """Return a mutant of a model: most have another structure, others other bytes."""
    name, model = seed_model(rng)
    form = rng.choices(["structure", "records", "bytes", "names"], [14, 3, 3, 1])[0]
    if form == "records":
        data, done = mutate_records(rng, model)
    elif form == "bytes":
        data, done = mutate_bytes(rng, model.SerializeToString(), seed_model(rng)[1].SerializeToString())
    else:
        did = mutate(rng, model, lambda: seed_model(rng)[1])
        if rng.random() < 0.6:
            mend(rng, model)
            did.append("mended")
        data, done = model.SerializeToString(), ", ".join(did)
        if form == "names":
            data, also = mutate_names(rng, data, names(model))
            done = f"{done}, {also}"
    files = {FILE: data}
    if b"weights.bin" in data:
        files["weights.bin"] = rng.choice((bytes(range(24)), b"", bytes(1000)))
    return Case(f"{name}: {done}", files, verbs(rng))


def verbs(rng: random.Random) -> dict[str, Verb]:
    """Return what is done with a model: two or three things by the package's functions or the command line."""
    through_python: dict[str, Verb] = {
        "convert": partial(convert, to=target(rng), back=target(rng)),
        "infer": partial(infer, check_type=rng.random() < 0.5, strict_mode=rng.random() < 0.3),
        "run": partial(run, seed=rng.randrange(100)),
    }
    by_command: dict[str, Verb] = {
        name: partial(verb, to=str(rng.randrange(1, 28)), form=rng.choice(("text", "json")))
        for name, verb in COMMANDS.items()
    }
    chosen = rng.sample([*through_python], 2)
    chosen += ["load"] * (rng.random() < 0.2) + [rng.choice([*by_command])] * (rng.random() < 0.3)
    others: dict[str, Verb] = {name: partial(verb, seed=rng.randrange(1 << 30)) for name, verb in OTHERS.items()}
    chosen += [rng.choice([*others])] * (rng.random() < 0.5)
    verbs = {"load": load, **through_python, **by_command, **others}
    return {name: verbs[name] for name in chosen}


def target(rng: random.Random) -> Any:
    """Return the versions to convert to."""
    if rng.random() < 0.85:
        return rng.randrange(1, 27)
    return rng.choice([{"ai.onnx.ml": rng.randrange(1, 6)}, {"": rng.randrange(7, 27), "ai.onnx.ml": 3}])


def load(folder: Path) -> None:
    model = opset.load(folder / FILE)
    data = model.SerializeToString()
    assert opset.load(data).SerializeToString() == data, "a model that was read is written otherwise"


def convert(folder: Path, to: Any, back: Any) -> None:
    """Convert, and plan to convert what came of it again."""
    model = opset.load(folder / FILE)
    try:
        made = opset.convert(model, to)
    except opset.ConversionError:
        str(opset.plan(model, back))
        raise
    sound(made.SerializeToString(), folder, back)


def sound(data: bytes, folder: Path, to: int) -> None:
    """Raise AssertionError where what this package wrote cannot be read, or is malformed."""
    (folder / "written.onnx").write_bytes(data)
    try:
        str(opset.plan(folder / "written.onnx", to))
    except opset.ModelError as error:
        if error.code < "M2":  # data that is missing was missing before
            raise AssertionError(f"what was written is malformed: {error.code}") from error


def infer(folder: Path, check_type: bool, strict_mode: bool) -> None:
    found = opset.infer(folder / FILE, check_type=check_type)
    assert all(map(str, found.findings))
    assert all(map(str, found.gaps))
    assert sum(found.coverage.values()) == sum(1 for _ in found.values())
    sound(found.written(overwrite=strict_mode).SerializeToString(), folder, 21)
    opset.infer_shapes(folder / FILE, check_type=check_type, strict_mode=strict_mode, data_prop=True)


def run(folder: Path, seed: int) -> None:
    model = opset.load(folder / FILE)
    kinds = [each.type.tensor_type for each in model.proto.graph.input if each.type.HasField("tensor_type")]
    dims = {dim.dim_param: 2 for kind in kinds for dim in kind.shape.dim if dim.dim_param}
    evaluator = opset.ReferenceEvaluator(model, dims=dims, limits=LIMITS, seed=seed)
    needed = set(evaluator.input_names)
    inputs = [each for each in evaluator.model.proto.graph.input if each.name in needed]
    values = evaluator.run(None, random_inputs(inputs, {}, seed, LIMITS))
    for value in values:
        "".join(summary_lines("output", summarize(value)))


def show_command(folder: Path, to: str, form: str) -> int:
    return command("show", folder / FILE, "--format", form)


def convert_command(folder: Path, to: str, form: str) -> int:
    return command("convert", folder / FILE, "--to", to, "-o", folder / "converted.onnx", "--format", form)


def infer_command(folder: Path, to: str, form: str) -> int:
    return command("infer", folder / FILE, "--values", "-o", folder / "inferred.onnx", "--format", form)


def run_command(folder: Path, to: str, form: str) -> int:
    limits = ("--max-steps", LIMITS.max_steps, "--max-bytes", LIMITS.max_bytes, "--timeout", LIMITS.timeout)
    return command("run", folder / FILE, "--random", *limits, "--trace", "--format", form)


COMMANDS = {
    "show": show_command,
    "opset convert": convert_command,
    "opset infer": infer_command,
    "opset run": run_command,
}


def lower(folder: Path, seed: int) -> None:
    model = opset.load(folder / FILE)
    operators = sorted({str(node.op_type) for node in model.proto.graph.node}) or ["Softmax"]
    made = opset.lower(model, random.Random(seed).sample(operators, min(2, len(operators))))
    sound(made.SerializeToString(), folder, 21)


def inline(folder: Path, seed: int) -> None:
    sound(opset.inline_functions(opset.load(folder / FILE)).SerializeToString(), folder, 21)


def extract(folder: Path, seed: int) -> None:
    rng, model = random.Random(seed), opset.load(folder / FILE)
    functions = [f"{function.domain}.{function.name}" for function in model.proto.functions]
    if functions and rng.random() < 0.4:
        made = opset.extract(model, function=rng.choice(functions))
    else:
        outputs = [str(name) for node in model.proto.graph.node for name in node.output] or ["y"]
        made = opset.extract(model, outputs=rng.sample(outputs, min(2, len(outputs))))
    sound(made.SerializeToString(), folder, 21)


def merge(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    models = [opset.load(folder / FILE), opset.load(seed_model(rng)[1].SerializeToString())]
    rng.shuffle(models)
    first, second = models
    outputs = [str(value.name) for value in first.proto.graph.output] or ["y"]
    inputs = [str(value.name) for value in second.proto.graph.input] or ["x"]
    made = opset.merge(first, second, {rng.choice(outputs): rng.choice(inputs)})
    sound(made.SerializeToString(), folder, 21)


def compare(folder: Path, seed: int) -> None:
    rng = random.Random(seed)
    models = [opset.load(folder / FILE), opset.load(seed_model(rng)[1].SerializeToString())]
    rng.shuffle(models)
    str(opset.compare_models(*models))


def check(folder: Path, seed: int) -> None:
    assert all(map(str, opset.check(folder / FILE)))


def repair(folder: Path, seed: int) -> None:
    str(opset.repair(folder / FILE))


def text(folder: Path, seed: int) -> None:
    opset.parse_model(opset.to_text(opset.load(folder / FILE)))


def change_sizes(folder: Path, seed: int) -> None:
    rng, model = random.Random(seed), opset.load(folder / FILE)
    kinds = [value.type.tensor_type for value in model.proto.graph.input]
    dims = sorted({str(dim.dim_param) for kind in kinds for dim in kind.shape.dim if dim.dim_param}) or ["N"]
    sound(opset.change_sizes(model, {rng.choice(dims): rng.randrange(4)}).SerializeToString(), folder, 21)


OTHERS = {
    "lower": lower,
    "inline": inline,
    "extract": extract,
    "merge": merge,
    "compare": compare,
    "check": check,
    "repair": repair,
    "text": text,
    "change sizes": change_sizes,
}
