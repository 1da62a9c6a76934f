"""The search for a smaller model: candidates are tried, and the smallest that shows the symptom is kept."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from opset.checker.checking import check_context, select_codes
from opset.checker.table import CheckContext, CheckOptions
from opset.errors import OpsetError
from opset.model import Model
from opset.model.graph.index import bodies
from opset.opsets.registry import Registry
from opset.reduction.symptoms import Symptom

Item = TypeVar("Item")
CONTRADICTION = "W802"
"""The code of types and shapes that contradict each other in a branch that may never run."""


class Exhausted(Exception):
    """All tries or all time are used up."""


class Search:
    """The smallest model so far that shows a symptom and breaks no rule that the first one kept.

    `tries` counts the candidates that were tried, `steps` those that were kept, by the name of the step.
    """

    def __init__(
        self, model: Model, symptom: Symptom, registry: Registry, max_tries: int, deadline: float | None
    ) -> None:
        """Begin with a model that shows the symptom; `deadline` is a moment of time.monotonic()."""
        self.model, self.registry = model, registry
        self.tries = 0
        self.steps: dict[str, int] = {}
        self._symptom, self._max_tries = symptom, max_tries
        self._deadline = deadline
        symptom.deadline = deadline
        self._codes = select_codes((), ())
        self._known = self._broken_rules(model)

    def attempt(self, step: str, make: Callable[[Model], Model | None]) -> bool:
        """Whether a candidate is valid and shows the symptom; it is the smallest model from then on.

        Args:
            step: The name of the step.
            make: Returns the candidate for the smallest model so far, or None if there is none. A candidate that cannot
                be made counts as tried: it may take as long as one that can.

        Raises:
            Exhausted: All tries or all time are used up.
        """
        if self.tries >= self._max_tries or (self._deadline is not None and time.monotonic() > self._deadline):
            raise Exhausted
        self.tries += 1
        try:
            candidate = make(self.model)
            if candidate is None:
                self.tries -= 1
                return False
            if not self._symptom.is_shown(candidate) or not self._broken_rules(candidate) <= self._known:
                return False
        except OpsetError:
            return False
        self.model = candidate
        self.steps[step] = self.steps.get(step, 0) + 1
        return True

    def attempt_edit(self, step: str, edit: Callable[[Any], object]) -> bool:
        """Whether a model that is edited in place, as a ModelProto, is a candidate; see `attempt`.

        An edit that returns False changes nothing.
        """

        def make(model: Model) -> Model | None:
            message = type(model.proto)()
            message.CopyFrom(model.proto)
            return None if edit(message) is False else model.with_proto(message, changed=True)

        return self.attempt(step, make)

    def _broken_rules(self, model: Model) -> set[str]:
        """Return the codes of the rules that a model breaks; of warnings, types that contradict each other count."""
        findings = check_context(CheckContext(model, self.registry, CheckOptions()), self._codes)
        return {finding.code for finding in findings if finding.severity == "error" or finding.code == CONTRADICTION}


def minimize(items: Sequence[Item], is_enough: Callable[[Sequence[Item]], bool]) -> list[Item]:
    """Return a part of a list that is enough, of which no single item can be left out.

    Halves are left out first, then ever smaller parts, until single items; the whole list is enough.
    """
    left = [*items]
    size = max(len(left) // 2, 1)
    while left:
        before = len(left)
        position = 0
        while position < len(left):
            rest = left[:position] + left[position + size :]
            if is_enough(rest):
                left = rest
            else:
                position += size
        if size > 1:
            size = max(min(size // 2, len(left) // 2), 1)
        elif len(left) == before:
            break
    return left


def node_count(model: Model) -> int:
    """Return the number of nodes of a model, those in bodies and functions included."""
    return sum(len(body.nodes) for body in bodies(model.proto))
