"""Runs a model for a verification: on the reference evaluator, or in an installed runtime in a child process."""

from __future__ import annotations

import json
import os
import select
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from opset.budget import Budget, BudgetExceeded, Limits
from opset.child_process import ChildProcess, death_text, environment_without_folder
from opset.errors import Finding, RunError, UsageError, safe_text
from opset.model.storage.container import Model
from opset.opsets.registry import Registry
from opset.opsets.runtimes.installed import MEMORY, package_of
from opset.reference.engine.evaluator import ReferenceEvaluator
from opset.reference.engine.limits import limit_error

PROGRAM = Path(__file__).with_name("runtime_program.py")
REFERENCE = "the reference evaluator"
PATIENCE = 120.0
"""Seconds that a run in a runtime may take if no limit is given."""
_TICK = 50


class Runner(Protocol):
    """Runs one model on several inputs; `steps` is the number of steps of the last run, 0 if they are not counted."""

    steps: int

    def run(
        self,
        feeds: Mapping[str, Any],
        trace: Callable[[str, str, Any], None] | None = None,
        max_steps: int | None = None,
    ) -> list[Any]:
        """Return the outputs of the model, in order. Raises RunError if the model does not run.

        Args:
            feeds: the inputs, by name.
            trace: a function that is called with (path of the node, name, value) for each computed value.
            max_steps: the greatest number of steps of this run.
        """


class ReferenceRunner:
    """Runs a model on the reference evaluator, within the rest of a budget."""

    def __init__(self, model: Model, registry: Registry, limits: Limits, budget: Budget, seed: int = 0) -> None:
        self._limits, self._budget = limits, budget
        self._options: dict[str, Any] = {"schemas": registry, "seed": seed, "limits": limits}
        self._model = model
        self._evaluator = ReferenceEvaluator(model, **self._options)
        self.steps = 0

    def run(
        self,
        feeds: Mapping[str, Any],
        trace: Callable[[str, str, Any], None] | None = None,
        max_steps: int | None = None,
    ) -> list[Any]:
        """Return the outputs of the model in order; `Runner.run` describes the parameters.

        Raises RunError if the model does not run, BudgetExceeded if the budget is used up before.
        """
        evaluator, limits = self._evaluator, self._budget.remaining_limits(self._limits)
        if max_steps is not None:
            allowed = max_steps if limits.max_steps is None else min(max_steps, limits.max_steps)
            limits = Limits(allowed, limits.max_bytes, limits.timeout)
        if trace is not None:
            evaluator = ReferenceEvaluator(self._model, trace=trace, **self._options)
        evaluator.limits = limits
        try:
            return evaluator.run(None, feeds)
        finally:
            self.steps = evaluator.steps


class RuntimeRunner:
    """Runs a model in an installed runtime, in a child process for each run.

    `version` is the version of the runtime, once a model was run.
    """

    def __init__(self, model: Model, side: str, package: str, limits: Limits, budget: Budget) -> None:
        self._model, self._side, self._package = model, side, package_of(package)
        self._limits, self._budget = limits, budget
        self.version = ""
        self.steps = 0

    def run(
        self,
        feeds: Mapping[str, Any],
        trace: Callable[[str, str, Any], None] | None = None,
        max_steps: int | None = None,
    ) -> list[Any]:
        """Return the outputs of the model, in order. `trace` and `max_steps` have no effect.

        Raises RunError R206 if the runtime does not load or run the model, R303 if the time that the caller allowed is
        up. Raises UsageError T224 if the runtime is not installed, BudgetExceeded if the budget is used up before.
        """
        seconds = self._budget.remaining_limits(self._limits).timeout or PATIENCE
        with tempfile.TemporaryDirectory(prefix="opset-") as folder:
            self._model.save(os.path.join(folder, "model.onnx"), external="copy")
            for name, value in feeds.items():
                if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiubcO":
                    self._refuse("cannot be given its inputs", f"'{name}' is of a type that numpy does not have")
            plain = {name: value.astype(str) if value.dtype.kind == "O" else value for name, value in feeds.items()}
            np.savez(os.path.join(folder, "inputs.npz"), **plain)
            answer = self._ask(folder, seconds)
            self.version = str(answer.get("version", self.version))
            if "absent" in answer:
                help = f"install it beside opset: pip install {self._package}"
                message = f"the installed {self._package} cannot be asked"
                raise UsageError(Finding("T224", message, why=safe_text(answer["absent"]), help=help))
            for stage in ("load", "run"):
                if stage in answer:
                    self._refuse(f"does not {stage} the model {self._side}", str(answer[stage]))
            with np.load(os.path.join(folder, "outputs.npz"), allow_pickle=False) as outputs:
                found = [outputs[str(number)] for number in range(len(outputs.files))]
        return [value.astype(object) if value.dtype.kind == "U" else value for value in found]

    def _ask(self, folder: str, seconds: float) -> dict[str, Any]:
        """Run the program on the files in a folder, and return its answer, as `runtime_program` describes it.

        The program is ended after `seconds`. If the caller has set a limit of time, RunError R303 is raised then;
        otherwise the answer says that it took too long.
        """
        command = (sys.executable, str(PROGRAM), self._package, folder)
        child = ChildProcess(command, MEMORY, serves=True, environment=environment_without_folder())
        deadline = time.monotonic() + seconds
        try:
            while (status := child.status()) is None and time.monotonic() < deadline:
                poll = select.poll()
                for descriptor, events in child.poll_events():
                    poll.register(descriptor, events)
                poll.poll(_TICK)
            line = bytes(child.answered).partition(b"\n")[0]
            if line:
                return dict(json.loads(line))
            if status is not None:
                return {"run": death_text(status, child.last_output())}
            if self._limits.timeout is not None:
                raise limit_error(BudgetExceeded("seconds", f"it may take {self._limits.timeout:g} seconds"))
            return {"run": f"it took more than {seconds:g} seconds"}
        finally:
            child.end()

    def _refuse(self, what: str, why: str) -> None:
        raise RunError(Finding("R206", f"{self._package} {what}", why=safe_text(why)))
