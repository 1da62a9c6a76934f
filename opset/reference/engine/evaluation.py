"""Evaluation of programs: a stack of frames, one for each program that is being run.

Frames are on a stack of their own, so that neither the number of nodes nor the depth of graphs and functions is limited
by Python's. A kernel that runs a graph is a generator: it yields a graph and its inputs, and is sent the outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from opset.budget import Budget, BudgetExceeded
from opset.errors import Finding, RunError
from opset.opsets.faults import RAISED
from opset.opsets.registry import Registry
from opset.reference.engine.checks import check_declared_constraints, check_inputs, check_outputs, kernel_error
from opset.reference.engine.constants import ModelTensors
from opset.reference.engine.context import RandomNumbers, StepContext
from opset.reference.engine.limits import limit_error, out_of_memory
from opset.reference.engine.programs import ABSENT, Frame, Program, ProgramStep
from opset.reference.limits import MAX_NOTES, MAX_SHOWN_CALLS
from opset.reference.numerics.memory import compact, nbytes
from opset.reference.values import copy_shared, ids_within, type_of
from opset.schemas.constraints.violation import Violation

Trace = Callable[[str, str, Any], None]
_Result = TypeVar("_Result")
_SLOTS = 256  # of a frame, that are filled in the time of a step


@dataclass(eq=False, slots=True)
class Evaluation:
    """One evaluation: its budget, its random numbers, and the function that it reports computed values to.

    `constants` are the arrays of the model, which count as live once they are read.
    """

    budget: Budget
    _constants: ModelTensors
    _random: RandomNumbers
    _trace: Trace | None
    _registry: Registry
    notes: list[str]

    def execute(self, program: Program, inputs: Sequence[Any]) -> list[Any]:
        """Run a program to its end, and return its outputs. An input that is ABSENT takes its default.

        Raises RunError with the calls in which an error occurred, R301 to R303 if a limit is reached."""
        stack: list[Frame] = []
        try:
            self.budget.hold(self._constants.held + sum(nbytes(value, of_base=False) for value in inputs))
            stack.append(self._make_frame(program, inputs, None))
            ids = ids_within(inputs)
            outputs = [copy_shared(value, ids, self.budget.hold) for value in self._run_frames(stack)]
            self.budget.check_time()
            return outputs
        except BudgetExceeded as error:
            steps = f"{self.budget.max_steps:,} nodes were run"
            why = BudgetExceeded(error.kind, steps if error.kind == "steps" else error.why)
            raise _add_calls(limit_error(why, stack[-1].location() if stack else ""), stack) from error
        except RunError as error:
            raise _add_calls(error, stack) from error
        except MemoryError as error:
            raise _add_calls(out_of_memory(stack[-1].location() if stack else ""), stack) from error

    def _run_frames(self, stack: list[Frame]) -> list[Any]:
        """Run the frames of a stack until the first one ends; return its outputs."""
        while True:
            frame = stack[-1]
            called = self._advance(frame)
            if called is None:
                outputs = [frame.slots[slot] if slot != ABSENT else None for slot in frame.program.results]
                if len(stack) == 1:
                    return outputs
                stack.pop()
                self.budget.release(frame.live)
                called = self._pass_outputs(stack[-1], outputs)
            if called is not None:
                stack.append(called)

    def _advance(self, frame: Frame) -> Frame | None:
        """Run the steps of a frame; return the frame that has to be run before it can go on, None at its end."""
        steps = frame.program.steps
        while frame.position < len(steps):
            called = self._run_step(frame, steps[frame.position])
            if called is not None:
                return called
            frame.position += 1
        return None

    def _pass_outputs(self, frame: Frame, outputs: list[Any]) -> Frame | None:
        """Pass the outputs of a call to the step that called; return the frame of its next call, None if it is done."""
        step = frame.current_step()
        called = None
        if frame.waiting is None:  # a function has returned
            if step.express is not None:
                check_outputs(step, tuple(outputs), frame.program.location(step))
            self._store_results(frame, step, tuple(outputs))
        else:
            called = self._resume_kernel(frame, step, outputs)
        if called is None:
            frame.position += 1
        return called

    def _make_frame(self, program: Program, inputs: Sequence[Any], outer: Frame | None) -> Frame:
        """Return a frame of a program with its constants, its inputs and the values that it captures from `outer`."""
        if program.size >= _SLOTS:
            self.budget.charge(program.size // _SLOTS)
        slots: list[Any] = [None] * program.size
        if program.loaded is None:
            program.loaded = self._load(lambda: [(slot, read()) for slot, read in program.constants])
        for slot, value in program.loaded:
            slots[slot] = value
        for slot, value in enumerate(inputs):
            if value is not ABSENT:
                slots[slot] = value
        if outer is not None:
            for outside, inside in program.captured:
                slots[inside] = outer.slots[outside]
        return Frame(program, slots, [0] * program.size)

    def _load(self, load: Callable[[], _Result]) -> _Result:
        """Return the result of a function that may read arrays of the model, and count their bytes as live."""
        before = self._constants.held
        result = load()
        self.budget.hold(self._constants.held - before)
        return result

    def _run_step(self, frame: Frame, step: ProgramStep) -> Frame | None:
        """Run a step; return the frame that has to be run before it is done, None if it is done."""
        self.budget.charge()
        inputs = frame.inputs(step)
        if step.call is not None:
            program = step.called = step.called or self._load(step.call)
            if (missing := len(program.inputs) - len(inputs)) < 0:
                message = "the function is called with too many inputs"
                raise RunError(Finding("R202", message, frame.program.location(step)))
            return self._make_frame(program, [*inputs, *[None] * missing], None)
        kernel = step.kernel
        signature = tuple([value.dtype if value.__class__ is np.ndarray else type_of(value) for value in inputs])
        is_legal = signature in step.legal_types
        if not is_legal:
            check_inputs(step, inputs, frame.program.location(step))
        if step.express is not None:
            step.legal_types.add(signature)
            return self._express(frame, step, step.express, inputs)
        assert kernel is not None
        try:
            result = self._call_kernel(frame, step, inputs)
            if kernel.is_generator:
                step.legal_types.add(signature)
                frame.waiting = result
                return self._resume_kernel(frame, step, None)
        except BudgetExceeded:
            raise
        except RAISED as error:
            location = frame.program.location(step)
            if step.fallback is None or not isinstance(error, Violation):
                raise kernel_error(step, inputs, error, location, self._registry) from error
            result = self._run_fallback(frame, step, inputs, error)
        if not is_legal or kernel.is_own:
            if not kernel.any_type:
                check_outputs(step, result, frame.program.location(step))
            step.legal_types.add(signature)
        self._store_results(frame, step, result)
        return None

    def _express(
        self, frame: Frame, step: ProgramStep, express: Callable[[Sequence[Any]], Program], inputs: list[Any]
    ) -> Frame:
        """Return the frame of the function body that computes a step. Raises RunError R203 for a broken constraint."""
        location = frame.program.location(step)
        try:
            check_declared_constraints(step, inputs)
        except Violation as error:
            raise kernel_error(step, inputs, error, location, self._registry) from error
        program = self._load(lambda: express(inputs))
        missing = len(program.inputs) - len(inputs)
        return self._make_frame(program, [*inputs, *[None] * missing], None)

    def _call_kernel(self, frame: Frame, step: ProgramStep, inputs: Sequence[Any]) -> Any:
        """Return the result of a step's kernel. Raises Violation if the step breaks a declared constraint."""
        assert step.kernel is not None
        if step.plan is not None:
            check_declared_constraints(step, inputs)
        attributes = step.attributes
        if step.kernel.is_own and step.schema is not None:  # a step has no slots for inputs left out at the end
            inputs = [*inputs, *[None] * (min(step.kernel.required, len(step.schema.inputs)) - len(inputs))]
        if step.kernel.takes_context:
            attributes = {**attributes, "context": StepContext(self.budget, self._random, frame, frame.program, step)}
        return step.kernel.function(*inputs, **attributes)

    def _run_fallback(self, frame: Frame, step: ProgramStep, inputs: Sequence[Any], error: Violation) -> Any:
        """Return the result of a node that breaks a constraint in a form that runtimes accept, and note that form."""
        fallback = step.fallback
        quirk = step.quirk
        location = frame.program.location(step)
        assert fallback is not None and quirk is not None
        fallback.inputs, fallback.outputs = step.inputs, step.outputs
        try:
            result = self._call_kernel(frame, fallback, _standard_inputs(step.node.op_type, inputs))
        except BudgetExceeded:
            raise
        except Exception:
            raise kernel_error(step, inputs, error, location, self._registry) from error
        if len(self.notes) < MAX_NOTES and (note := f"{location}: {quirk.form}") not in self.notes:
            self.notes.append(note)
        return result

    def _resume_kernel(self, frame: Frame, step: ProgramStep, outputs: list[Any] | None) -> Frame | None:
        """Let the waiting kernel go on; return the frame of the graph that it yields, None if it is done."""
        assert frame.waiting is not None
        try:
            program, inputs = frame.waiting.send(outputs)
            self.budget.charge()
            if len(inputs) != len(program.inputs):
                inputs = program.fill_defaults(inputs)
            return self._make_frame(program, inputs, frame)
        except StopIteration as done:
            frame.waiting = None
            self.budget.release(frame.held)
            frame.live -= frame.held
            frame.held = 0
            if step.kernel is not None and step.kernel.is_own and not step.kernel.any_type:
                check_outputs(step, done.value, frame.program.location(step))
            self._store_results(frame, step, done.value)
            return None
        except BudgetExceeded:
            raise
        except RAISED as error:
            location = frame.program.location(step)
            raise kernel_error(step, frame.inputs(step), error, location, self._registry) from error

    def _store_results(self, frame: Frame, step: ProgramStep, result: Any) -> None:
        """Put results into slots, free slots that are read no more, and count live bytes. Raises BudgetExceeded."""
        slots = frame.slots
        sizes = frame.sizes
        live = 0
        if result.__class__ is not tuple:
            result = (result,)
        for slot, value in zip(step.outputs, result, strict=False):
            if slot < 0:
                continue
            if value.__class__ is np.ndarray and value.base is None and not value.dtype.hasobject:
                size = value.nbytes
            else:
                value = compact(np.asarray(value) if isinstance(value, np.generic) else value)
                size = nbytes(value)
            if not step.inputs and any(value is constant for constant in step.attributes.values()):
                size = 0  # a constant of the model, which is counted as such
            slots[slot], sizes[slot] = value, size
            live += size
            if self._trace is not None:
                self._trace(frame.program.location(step), frame.program.names[slot], value)
        budget = self.budget
        if budget.live + live > budget.max_bytes:
            raise BudgetExceeded("bytes", f"{budget.live + live:,} bytes of values would live at once")
        for slot in step.frees:
            live -= sizes[slot]
            slots[slot], sizes[slot] = None, 0
        budget.live += live
        frame.live += live


def _standard_inputs(op_type: str, inputs: Sequence[Any]) -> list[Any]:
    """Return the inputs of a node in a form that runtimes accept, in that of the standard: see schemas/quirks.py."""
    if op_type == "Clip":
        bounds = inputs[1:]
        return [*inputs[:1], *[bound.reshape(()) if np.shape(bound) == (1,) else bound for bound in bounds]]
    if op_type == "STFT" and isinstance(inputs[0], np.ndarray) and inputs[0].ndim == 2:
        return [inputs[0][..., None], *inputs[1:]]
    return [*inputs]


def _add_calls(error: RunError, stack: Sequence[Frame]) -> RunError:
    """Return an error with the innermost calls in which it occurred."""
    calls = [frame.location() for frame in stack[:-1] if frame.current_step().kernel is None]
    if not calls:
        return error
    chain = "".join(f", called by {location}" for location in calls[: -MAX_SHOWN_CALLS - 1 : -1])
    return RunError(finding._replace(place=f"{finding.place}{chain}".removeprefix(", ")) for finding in error.findings)
