"""The context of a step's kernel: limits, random numbers, gradients of a graph."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opset.budget import Budget, BudgetExceeded
from opset.reference.engine.gradients import gradients
from opset.reference.engine.programs import ABSENT, Frame, Program, ProgramStep
from opset.reference.numerics.memory import ENTRY, nbytes


class RandomNumbers:
    """The generators of random numbers of one evaluation: one for each step, which all runs of the step share."""

    def __init__(self, seed: int | None) -> None:
        self._seed = seed
        self._generators: dict[ProgramStep, np.random.Generator] = {}

    def generator_of(self, program: Program, step: ProgramStep, seed: float | None) -> np.random.Generator:
        """Return the generator of a step, seeded by the node's seed, else by the evaluation's, else at random."""
        if step not in self._generators:
            entropy: Any = None
            if seed is not None:
                entropy = np.float32(seed).view(np.uint32)
            elif self._seed is not None:
                entropy = (self._seed, zlib.crc32(program.location(step).encode()))
            self._generators[step] = np.random.default_rng(entropy)
        return self._generators[step]


@dataclass(eq=False, slots=True)
class StepContext:
    """The context of a step's kernel; see opset.reference.registration.KernelContext and GradientContext.

    `program` has the step: the frame's program, or a graph that Gradient differentiates.
    """

    budget: Budget
    random: RandomNumbers
    frame: Frame
    program: Program
    step: ProgramStep
    carried: int = 0

    @property
    def outputs(self) -> int:
        """How many outputs the node names."""
        return len(self.step.outputs)

    @property
    def version(self) -> int:
        """The version of the operator, its since_version."""
        return self.step.schema.since_version if self.step.schema else 0

    def wants(self, output: int) -> bool:
        """Whether the node names this output."""
        return output < len(self.step.outputs) and self.step.outputs[output] != ABSENT

    def reserve(self, count: int, dtype: Any = np.float32) -> None:
        """Raise BudgetExceeded if `count` elements more are beyond the limit."""
        budget = self.budget
        needed = int(count) * np.dtype(dtype).itemsize
        if budget.live + needed > budget.max_bytes:
            why = f"it needs {needed:,} bytes, and {budget.max_bytes:,} are allowed in all"
            raise BudgetExceeded("bytes", why)

    def hold(self, value: Any) -> None:
        """Count a value as live until the node is done. Raises BudgetExceeded beyond the limit."""
        self._hold(nbytes(value) + ENTRY)

    def carry(self, count: int) -> None:
        """Count bytes as live until the next call or the end of the node. Raises BudgetExceeded beyond the limit."""
        self._hold(count - self.carried)
        self.carried = count

    def _hold(self, count: int) -> None:
        """Count bytes as live until the node is done. Raises BudgetExceeded beyond the limit."""
        self.frame.live += count
        self.frame.held += count
        self.budget.hold(count)

    def check_time(self) -> None:
        """Raise BudgetExceeded if time is up."""
        self.budget.check_time()

    def rng(self, seed: float | None = None) -> np.random.Generator:
        """Return the node's generator of random numbers; the same one each time that the node is run."""
        return self.random.generator_of(self.program, self.step, seed)

    def gradients(self, graph: Program, values: Sequence[Any], count: int) -> list[Any]:
        """Return the derivatives of a graph's first output by its first `count` inputs, None for 0."""
        return gradients(graph, values, count, lambda step: replace(self, program=graph, step=step))
