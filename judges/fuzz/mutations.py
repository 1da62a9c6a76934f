"""Hunts wrong answers on mutants of real models that compute what they computed, converted and judged by onnxruntime.

`python -m judges mutations --seed 1 --count 200 --keep DIR`. Parts of example models, and of graphs as exporters
write them, are put into If, Loop, Scan and functions; constants take other forms; names, dimensions and annotations
change. Mutant number 7 of seed 1 is the case `mutated/1.7`, the same at each run; `--case mutated/1.7` examines it
alone. Mutations that onnx's checker or onnxruntime does not take are counted as dropped. The exit status is 1 where a
result is wrong or an error is not of this project.
"""

from __future__ import annotations

from collections.abc import Sequence

from judges.fuzz.drawing.mutated import mutate, sources
from judges.fuzz.whole import hunt


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzzer; return the exit status."""
    sources()  # before the processes that share them start
    return hunt("mutated", mutate, "mutations", arguments)
