"""Symptoms: whether a model shows a refusal, a difference between before and after a conversion, or a failing command.

A symptom is taken from a model once, and then looked for in smaller ones. It has to be the same there: the same code,
operator and reason of a refusal, the same exit status of a command.
"""

from __future__ import annotations

import re
import select
import shlex
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

from opset.budget import Limits
from opset.child_process import ChildProcess, death_text
from opset.errors import Finding, UsageError, quote, safe_text
from opset.inference.engine.binding import free_dim_names
from opset.model import Model
from opset.opsets.registry import Registry
from opset.verification.report import DIFFERENT
from opset.verification.verifying import VerificationSettings, verify_models
from opset.version_converter import Target, convert_model

SIZE: Final = 2
"""The number that open sizes get in an evaluation."""
SEEDS: Final = 2
"""Sets of random inputs of an evaluation."""
PLACE: Final = "{}"
"""What the path of a model replaces in a command."""
_LONGEST_WAIT: Final = 0.5
_VARYING: Final = re.compile(r"'[^']*'|\d+")
"""What may be another in the reason of the same refusal: names and numbers."""


class Symptom(Protocol):
    """Something that a model may show."""

    words: str
    """What is shown, for people."""
    deadline: float | None
    """The moment of time.monotonic() from which on nothing is looked for any more."""

    def is_shown(self, model: Model) -> bool:
        """Whether a model shows it."""


class RefusalSymptom:
    """A refusal of a conversion, with its code, operator and reason."""

    deadline: float | None = None

    def __init__(self, model: Model, target: Target, registry: Registry, limits: Limits, node: str = "") -> None:
        """Take the first refusal of a model, or the first that is about a node of that name.

        Raises:
            UsageError: U103 if nothing is refused, or nothing about that node.
        """
        self._target, self._registry, self._limits = target, registry, limits
        refusals = [*convert_model(model, target, registry, {}, limits).refusals]
        found = [each for each in refusals if not node or f"node {quote(node)}" in each.place]
        if not found:
            message = f"nothing is refused about node {quote(node)}" if refusals else "the conversion is not refused"
            help = "opset convert --plan shows what is refused" if refusals else "look for a difference: --differs"
            raise UsageError(Finding("U103", message, help=help, file=model.path or ""))
        self.finding = found[0]
        self._kind = _kind_of(self.finding)
        self.words = f"{self.finding.code} {self.finding.message}"

    @property
    def place(self) -> str:
        """The place of the refusal in the model that it was taken from."""
        return str(self.finding.place)

    def is_shown(self, model: Model) -> bool:
        """Whether a model is refused with the same code, operator and reason."""
        refusals = convert_model(model, self._target, self._registry, {}, self._limits).refusals
        return any(_kind_of(each) == self._kind for each in refusals)


def operator_of(place: str) -> str:
    """Return the operator of the node that a place leads to, "" if it leads to none."""
    head, _, tail = place.rpartition(" (")
    return tail[:-1] if tail.endswith(")") and "node " in head else ""


def _kind_of(refusal: Finding) -> tuple[str, str, str]:
    """Return the code, the operator and the reason of a refusal, without names and numbers."""
    return refusal.code, operator_of(refusal.place), _VARYING.sub("", f"{refusal.message} {refusal.why}")


class Differs:
    """A difference between the outputs of a model and of the converted one, on random inputs."""

    deadline: float | None = None

    def __init__(
        self, model: Model, target: Target, registry: Registry, limits: Limits, dims: Mapping[str, int]
    ) -> None:
        """Raise UsageError U103 if the converted model computes the same, or the conversion is refused."""
        self._target, self._registry, self._limits, self._dims = target, registry, limits, dims
        self.words = "the converted model computes something else"
        if not self.is_shown(model):
            message = "the converted model computes the same, or cannot be converted or run"
            raise UsageError(Finding("U103", message, help="opset convert --verify shows which", file=model.path or ""))

    def is_shown(self, model: Model) -> bool:
        """Whether a verification of the conversion finds a difference."""
        converted = convert_model(model, self._target, self._registry, {}, self._limits).model
        if converted is None:
            return False
        dims = {name: self._dims.get(name, SIZE) for name in free_dim_names(model)}
        settings = VerificationSettings(seeds=SEEDS, dims=dims, limits=self._limits)
        return verify_models(model, converted, settings, self._registry).verdict == DIFFERENT


class Fails:
    """The failure of a command: its exit status, and a text that its output has."""

    deadline: float | None = None

    def __init__(self, model: Model, command: str | Sequence[str], contains: str, seconds: float) -> None:
        """Run the command once, without a shell, to see how it fails.

        Args:
            model: The model before it is reduced.
            command: The command; `{}` in it is replaced by the path of a model.
            contains: A text that the output has to contain, "" for none.
            seconds: How long the command may run; a command that runs longer counts as failing by that.

        Raises:
            UsageError: U103 if the command is no command, or does not fail.
        """
        try:
            self._command = shlex.split(command) if isinstance(command, str) else [*command]
        except ValueError as error:
            help = "quote it as for a shell: --failing 'python load.py {}'"
            raise UsageError(Finding("U103", "the command cannot be read", why=str(error), help=help)) from None
        if not any(PLACE in word for word in self._command):
            help = "write {} for its path: --failing 'python load.py {}'"
            raise UsageError(Finding("U103", "the command does not name the model", help=help))
        self._contains, self._seconds = contains, seconds
        self._status, printed = self._run(model)
        if self._status == 0 or contains not in printed:
            why = f"exit status {self._status}" + f", and its output lacks {quote(contains)}" * bool(contains)
            help = "it has to end with another status than 0 for this model, and print what --contains names"
            raise UsageError(Finding("U103", "the command does not fail", why=why, help=help, file=model.path or ""))
        how = f"stopped after {seconds:g} seconds" if self._status is None else death_text(self._status, "")
        self.words = f"{safe_text(self._command[0], 80)}: {how}"

    def is_shown(self, model: Model) -> bool:
        """Whether the command fails as it did at first; one that is stopped at the deadline does not."""
        status, printed = self._run(model)
        if status is None and self.deadline is not None and time.monotonic() >= self.deadline:
            return False
        return status == self._status and self._contains in printed

    def _run(self, model: Model) -> tuple[int | None, str]:
        """Return the exit status of the command for a model, None if it was stopped, and the end of its output."""
        with tempfile.TemporaryDirectory(prefix="opset-reduce-") as folder:
            path = Path(folder) / "model.onnx"
            model.save(path)
            command = [word.replace(PLACE, str(path)) for word in self._command]
            try:
                process = ChildProcess(command, None, serves=False)
            except (OSError, ValueError) as error:
                message = f"the command {quote(command[0])} cannot be run"
                help = "name a program on the path, or by its whole path"
                raise UsageError(Finding("U103", message, why=safe_text(error), help=help)) from None
            try:
                left = self._seconds if self.deadline is None else self.deadline - time.monotonic()
                return _wait(process, min(self._seconds, left)), process.last_output()
            finally:
                process.end()


def _wait(process: ChildProcess, seconds: float) -> int | None:
    """Return the exit status of a process, None if it runs longer."""
    deadline = time.monotonic() + seconds
    wait = 0.001
    while (status := process.status()) is None:
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        wait = min(2 * wait, left, _LONGEST_WAIT)
        descriptors = [descriptor for descriptor, _ in process.poll_events()]
        if descriptors:
            select.select(descriptors, [], [], wait)
        else:
            time.sleep(wait)
    return status


class Shown:
    """A symptom that a function decides; a model for which the function raises an error of this package has none."""

    deadline: float | None = None

    def __init__(self, model: Model, decide: Callable[[Model], bool]) -> None:
        """Raise UsageError U103 if the model does not show it."""
        self._decide = decide
        self.words = "what the function looks for"
        if not decide(model):
            help = "the function has to return True for the whole model"
            raise UsageError(Finding("U103", "the model does not show it", help=help, file=model.path or ""))

    def is_shown(self, model: Model) -> bool:
        """Whether the function says so."""
        return bool(self._decide(model))
