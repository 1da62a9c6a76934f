"""The evaluation of programs: a stack of frames, one for each program that is being run.

Frames are on a stack of their own, so that neither the number of nodes nor the depth of graphs and functions is limited
by Python's. A kernel that runs a graph is a generator: it yields a graph and its inputs, and is sent the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opset.budget import Limits
from opset.errors import Finding, RunError
from opset.opsets.registry import Registry
from opset.reference.account import Account
from opset.reference.checks import check_declared, check_inputs, check_outputs, failure
from opset.reference.context import RandomNumbers, StepContext
from opset.reference.numerics.memory import nbytes
from opset.reference.programs import ABSENT, Frame, Program, Step
from opset.reference.values import type_of

Trace = Callable[[str, str, Any], None]
_SHOWN_CALLS = 3


class Evaluation:
    """One evaluation: the account of what it uses, its random numbers, and whom it reports computed values to."""

    def __init__(self, limits: Limits, seed: int | None, trace: Trace | None, registry: Registry) -> None:
        self.account = Account(limits)
        self._random = RandomNumbers(seed)
        self._trace, self._registry = trace, registry

    def execute(self, program: Program, inputs: Sequence[Any]) -> list[Any]:
        """Run a program to its end, and return its outputs. An input that is ABSENT has its default."""
        stack = [self._frame(program, inputs, None)]
        try:
            return self._run(stack)
        except RunError as error:
            calls = [frame.program.location(step) for frame in stack[:-1] if (step := frame.current()).call is not None]
            if not calls:
                raise
            # Of a deep chain of calls, the innermost are enough.
            chain = "".join(f", called by {location}" for location in calls[: -_SHOWN_CALLS - 1 : -1])
            findings = [each._replace(place=f"{each.place}{chain}".removeprefix(", ")) for each in error.findings]
            raise RunError(findings) from error

    def _run(self, stack: list[Frame]) -> list[Any]:
        while True:
            frame = stack[-1]
            called = self._advance(frame)
            if called is None:
                outputs = [frame.slots[slot] if slot != ABSENT else None for slot in frame.program.results]
                stack.pop()
                self.account.live -= frame.live
                if not stack:
                    return outputs
                called = self._return(stack[-1], outputs)
            if called is not None:
                stack.append(called)

    def _advance(self, frame: Frame) -> Frame | None:
        """Run steps of a frame; return the frame that has to be run before it can go on, None at its end."""
        steps = frame.program.steps
        while frame.position < len(steps):
            called = self._step(frame, steps[frame.position])
            if called is not None:
                return called
            frame.position += 1
        return None

    def _return(self, frame: Frame, outputs: list[Any]) -> Frame | None:
        """Pass the outputs of a call to the step that made it; return the frame of its next call, None at its end."""
        step = frame.current()
        if frame.waiting is None:  # a function has returned
            self._store(frame, step, tuple(outputs))
            called = None
        else:
            called = self._resume(frame, step, outputs)
        if called is None:
            frame.position += 1
        return called

    def _frame(self, program: Program, inputs: Sequence[Any], outer: Frame | None) -> Frame:
        slots: list[Any] = [None] * program.size
        if program.loaded is None:
            program.loaded = [(slot, read()) for slot, read in program.constants]
        for slot, value in program.loaded:
            slots[slot] = value
        for slot, value in enumerate(inputs):
            if value is not ABSENT:
                slots[slot] = value
        if outer is not None:
            for outside, inside in program.captured:
                slots[inside] = outer.slots[outside]
        return Frame(program, slots)

    def _step(self, frame: Frame, step: Step) -> Frame | None:
        """Run a step; return the frame that has to be run before it is done, None where it is."""
        self.account.count(frame.program, step)
        inputs = frame.inputs(step)
        if step.call is not None:
            return self._call(frame, step, inputs)
        kernel = step.kernel
        assert kernel is not None
        signature = tuple([each.dtype if each.__class__ is np.ndarray else type_of(each) for each in inputs])
        is_legal = signature in step.legal_types
        if not is_legal:
            check_inputs(step, inputs, frame.program.location(step))
        attributes = step.attributes
        if kernel.takes_context:
            attributes = {**attributes, "context": StepContext(self.account, self._random, frame, frame.program, step)}
        try:
            if step.plan is not None:
                check_declared(step, inputs)
            result = kernel.function(*inputs, **attributes)
            if kernel.is_generator:
                step.legal_types.add(signature)
                frame.waiting = result
                return self._resume(frame, step, None)
        except Exception as error:
            raise failure(step, inputs, error, frame.program.location(step), self._registry) from error
        if not is_legal:
            if not kernel.any_type:
                check_outputs(step, result, frame.program.location(step))
            step.legal_types.add(signature)
        self._store(frame, step, result)
        return None

    def _call(self, frame: Frame, step: Step, inputs: list[Any]) -> Frame:
        """Return the frame of the model-local function that a step calls."""
        assert step.call is not None
        program = step.called = step.called or step.call()
        if len(inputs) > len(program.inputs):
            message = "the function is called with too many inputs"
            raise RunError(Finding("R202", message, frame.program.location(step)))
        return self._frame(program, [*inputs, *[None] * (len(program.inputs) - len(inputs))], None)

    def _resume(self, frame: Frame, step: Step, outputs: list[Any] | None) -> Frame | None:
        """Let the waiting kernel go on; return the frame of the graph that it yields, or store its results."""
        assert frame.waiting is not None
        try:
            program, inputs = frame.waiting.send(outputs)
            self.account.count(frame.program, step)
            if len(inputs) != len(program.inputs):
                inputs = program.completed(inputs)
            return self._frame(program, inputs, frame)
        except StopIteration as done:
            frame.waiting = None
            self.account.live -= frame.held
            frame.live -= frame.held
            frame.held = 0
            self._store(frame, step, done.value)
            return None
        except Exception as error:
            location = frame.program.location(step)
            raise failure(step, frame.inputs(step), error, location, self._registry) from error

    def _store(self, frame: Frame, step: Step, result: Any) -> None:
        """Put results into their slots, free what no later step reads, and keep account of the bytes."""
        slots, live = frame.slots, 0
        if result.__class__ is not tuple:
            result = (result,)
        for slot, value in zip(step.outputs, result, strict=False):
            if slot < 0:
                continue
            if value.__class__ is not np.ndarray and isinstance(value, np.generic):
                value = np.asarray(value)
            slots[slot] = value
            live += nbytes(value)
            if self._trace is not None:
                self._trace(frame.program.location(step), frame.program.names[slot], value)
        account = self.account
        if account.live + live > account.max_bytes:
            account.check_bytes(live, frame.program, step)
        for slot in step.frees:
            value = slots[slot]
            if value is not None:
                live -= nbytes(value)
                slots[slot] = None
        account.live += live
        frame.live += live
