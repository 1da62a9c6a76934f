"""Declares great sizes and numbers in examples of every operator version: work must not grow with what is declared.

    python -m judges declared [--operators Resize,TopK] [--sizes N,N] [--examples N] [--sample N] [--jobs N]
    python -m judges declared --case "ai.onnx.Resize-13 sizes input_0[2]=2147483648"

Each case is an example of an operator's YAML in which one number is replaced by a great one: the size of one axis of an
input, of all axes of the same size, an element of an attribute of integers, or of an input of integers that becomes an
initializer. The model is inferred, converted to the version before, to 7 and to the newest one, and lowered. Its file
has a XX The budgets of conversion and inference are made small for this, so that what is charged ends.

The exit status is 1 where a case does more, ends with an exception that is not the package's own, or does not end.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import opset
from judges.conformance.processes import Died, each
from judges.fuzz.mutation.nodes import versions
from opset.inference.building import work
from opset.model.arrays import tensor_of
from opset.opsets.registry import default_registry
from opset.reference.example_models import feeds_of, model_of
from opset.schemas.example import Example
from opset.schemas.model import OpSchema
from opset.version_converter import conversion

__all__ = ["SIZES", "Case", "cases", "faults", "sampled"]

SIZES = (10**7, 2**31 - 1, 2**40, 2**63 - 1)
STEPS, BYTES = 400_000, 24 << 20
"""Lines of Python and bytes that a verb may take for a model of some hundred bytes."""
MEMORY, CPU_SECONDS, SECONDS = 2 << 30, 60, 600
FEW = 64  # elements of an input that becomes an initializer


class TooMuch(BaseException):
    """More lines were run than are allowed; no `except Exception` keeps it."""


@dataclass(frozen=True, order=True)
class Case:
    """An example of an operator version, and a number in it that becomes `size`."""

    operator: str
    version: int
    example: str
    place: str
    size: int

    def __str__(self) -> str:
        return f"{self.operator}-{self.version} {self.example} {self.place}={self.size}"


def cases(operators: Sequence[str] = (), sizes: Sequence[int] = SIZES, examples: int = 3) -> Iterator[Case]:
    """Yield the cases of some operators, or of all."""
    for schema, found in versions():
        if not operators or schema.name in operators:
            for example in _different(found)[:examples]:
                for place in _places(schema, example):
                    for size in sizes:
                        yield Case(_name(schema), schema.since_version, example.name, place, size)


def sampled(count: int, seed: int) -> list[Case]:
    """Return some cases of all operators, the same for the same seed."""
    found = list(cases(examples=1))
    return random.Random(seed).sample(found, min(count, len(found)))


def _name(schema: OpSchema) -> str:
    return f"{schema.domain or 'ai.onnx'}.{schema.name}"


def _different(examples: Sequence[Example]) -> list[Example]:
    """Return examples without an error, those first that state most attributes no other stated before."""
    left = [each for each in examples if not each.error]
    stated: set[str] = set()
    found = []
    while left:
        best = max(left, key=lambda each: len({*each.attributes, *_given(each)} - stated))
        left.remove(best)
        found.append(best)
        stated |= {*best.attributes, *_given(best)}
    return found


def _given(example: Example) -> set[str]:
    return {f"input {index}" for index, each in enumerate(example.inputs) if each is not None}


def _places(schema: OpSchema, example: Example) -> Iterator[str]:
    """Yield the numbers of an example that can be replaced."""
    sizes: set[int] = set()
    for index, value in enumerate(example.inputs):
        if value is not None and value.shape is not None:
            yield from (f"input_{index}[{axis}]" for axis in range(len(value.shape)))
            sizes |= {*value.shape}
            if "int" in value.type and 0 < (count := int(np.prod(value.shape))) <= FEW:
                yield from (f"input_{index}:{element}" for element in {0, count - 1})
    yield from (f"size {size}" for size in sorted(sizes))
    for name, value in example.attributes.items():
        if schema.attributes[name].type == "int":
            yield name
        elif schema.attributes[name].type == "ints" and value:
            yield from (f"{name}:{element}" for element in {0, len(value) - 1})


def model(case: Case) -> tuple[Any, OpSchema]:
    """Return the model of a case, and the schema of its node."""
    schema, example = _found(case.operator, case.version, case.example)
    made = model_of(schema, example)
    feeds = feeds_of(example)
    small = {name: each for name, each in feeds.items() if isinstance(each, np.ndarray) and each.size <= FEW}
    constants = {name: each for name, each in small.items() if each.dtype.kind in "iu" or each.size == 1}
    name, _, rest = case.place.partition("[")
    if case.place.startswith("size "):
        _replace(made, lambda value, axis, size: case.size if size == int(case.place[5:]) else size)
        constants = {}
    elif rest:
        _replace(made, lambda value, axis, size: case.size if (value, f"{axis}]") == (name, rest) else size)
        constants.pop(name, None)
    elif case.place.startswith("input_"):
        name, _, element = case.place.partition(":")
        changed = small[name].astype(np.int64).reshape(-1)
        changed[int(element)] = case.size
        limits = np.iinfo(small[name].dtype)
        constants[name] = np.clip(changed, limits.min, limits.max).astype(small[name].dtype).reshape(small[name].shape)
    else:
        name, _, element = case.place.partition(":")
        attribute = next(each for each in made.graph.node[0].attribute if each.name == name)
        if element:
            attribute.ints[int(element)] = case.size
        else:
            attribute.i = case.size
    made.ir_version = max(made.ir_version, 4) if constants else made.ir_version
    made.graph.initializer.extend(tensor_of(*each) for each in constants.items())
    kept = [each for each in made.graph.input if each.name not in constants]
    del made.graph.input[:]
    made.graph.input.extend(kept)
    return made, schema


@cache
def _found(operator: str, version: int, name: str) -> tuple[OpSchema, Example]:
    return next(
        (schema, example)
        for schema, examples in versions()
        for example in examples
        if (_name(schema), schema.since_version, example.name) == (operator, version, name)
    )


def _replace(made: Any, size_of: Callable[[str, int, int], int]) -> None:
    """Replace the sizes of the inputs' axes."""
    for value in made.graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            dim.dim_value = size_of(value.name, axis, dim.dim_value)


def verbs(made: Any, schema: OpSchema) -> dict[str, Callable[[], object]]:
    """Return what is done with a model."""
    domain, since = schema.domain, schema.since_version
    newest = default_registry().versions(schema.name, domain)[0].since_version
    data = made.SerializeToString()
    found: dict[str, Callable[[], object]] = {"infer": lambda: opset.infer(data)}
    for target in sorted({since - 1, 7, newest} - {since, 0}):
        if target < since or target == newest:
            found[f"to {target}"] = lambda target=target: opset.convert(data, {domain: target})
    found["lower"] = lambda: opset.lower(data, [schema.name])
    return found


@contextmanager
def _small_budgets() -> Iterator[None]:
    before = work.BASE_STEPS, conversion.BASE_STEPS, conversion.BASE_BYTES
    work.BASE_STEPS, conversion.BASE_STEPS, conversion.BASE_BYTES = 1 << 14, 1 << 15, 1 << 20
    try:
        yield
    finally:
        work.BASE_STEPS, conversion.BASE_STEPS, conversion.BASE_BYTES = before


def measured(verb: Callable[[], object]) -> tuple[int, int]:
    """Return the lines of Python that a verb runs, and the bytes that it allocates at most. Raises TooMuch."""
    lines = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += 1
        if lines > STEPS:
            frame.f_trace = None
            raise TooMuch(f"{frame.f_code.co_filename.partition('/opset/')[2]}:{frame.f_lineno}")
        return trace

    tracemalloc.start()
    sys.settrace(trace)
    try:
        verb()
    except opset.OpsetError:
        pass
    finally:
        sys.settrace(None)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return lines, peak


def attempt(case: Case) -> Generator[str, None, list[str]]:
    """Run the verbs of a case, the name of each announced before it begins; return what is wrong."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process, whatever it is busy with
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    wrong = []
    yield "draw"
    with _small_budgets():
        for name, verb in verbs(*model(case)).items():
            yield name
            try:
                _, peak = measured(verb)
            except TooMuch as much:
                wrong.append(f"{name}: more than {STEPS:,} lines, {much}")
            except MemoryError:
                wrong.append(f"{name}: out of memory")
            except Exception as error:
                wrong.append(f"{name}: {type(error).__name__}: {error}"[:200])
            else:
                if peak > BYTES:
                    wrong.append(f"{name}: {peak >> 20} MB")
    signal.setitimer(signal.ITIMER_PROF, 0)
    return wrong


def faults(wanted: Sequence[Case], processes: int = 1) -> Iterator[tuple[Case, list[str]]]:
    """Yield the cases with something wrong, and what it is."""
    for case, result in each(attempt, wanted, processes, SECONDS, MEMORY):
        if isinstance(result, Died):
            yield case, [f"{result.stage}: died, {result.why}"]
        elif result:
            yield case, result


def warm() -> None:
    """Do once what every process does once, so that it counts for no case."""
    for schema, examples in versions():
        for example in examples[:1]:
            for verb in verbs(model_of(schema, example), schema).values():
                with suppress(opset.OpsetError):
                    verb()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases and print what is wrong; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m judges declared", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--operators", default="", metavar="NAMES", help="names of operators, with commas between")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), metavar="N,N")
    parser.add_argument("--examples", type=int, default=3, metavar="N", help="examples of each operator version")
    parser.add_argument("--sample", type=int, metavar="N", help="as many cases of all, drawn by --seed")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="number of processes")
    parser.add_argument("--case", metavar="CASE", help="run this case alone")
    options = parser.parse_args(arguments)
    operators = list(filter(None, options.operators.split(",")))
    sizes = list(map(int, options.sizes.split(",")))
    wanted = list(cases(operators, sizes, options.examples))
    if options.case:
        wanted = [case for case in cases(examples=1000) if str(case) == options.case]
    elif options.sample is not None:
        wanted = random.Random(options.seed).sample(wanted, min(options.sample, len(wanted)))
    warm()
    found: dict[str, list[Case]] = defaultdict(list)
    for case, wrong in faults(wanted, options.jobs):
        for why in wrong:
            print(f"{case}: {why}", flush=True)
            found[f"{case.operator} {why}"].append(case)
    print(f"{len(wanted):,} cases, {len(found):,} kinds of faults")
    return 1 if found or not wanted else 0
