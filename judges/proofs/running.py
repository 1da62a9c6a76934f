"""Runs a model before and after a conversion on the reference evaluator, and adds up how far the results are apart."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

import opset
from judges.conformance.bodies import Use, outputs_of
from judges.conformance.judge import RANDOM
from judges.conformance.lowerings import relative
from judges.proofs.subjects import Subject
from opset.errors import OpsetError
from opset.reference.comparison import ulps

MOST = {"lowering": 6.0, "up": 6.0, "down": 6.0}
"""Greatest difference in units of the last digit that counts as none: that of another order of the same sums."""


@dataclass
class Outcome:
    """What the cases of a subject gave: how many were compared and refused, the worst difference, what is wrong."""

    cases: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    worst: float = 0.0
    mark: str = ""
    wrong: list[str] = field(default_factory=list)

    def add(self, subject: Subject, use: Use, to: int = 0) -> bool:
        """Convert a model, run it before and after, and count what came out; return whether it was compared.

        `to` is the opset to convert to, by default the nearest.
        """
        expected = outputs_of(use, use.model)
        if isinstance(expected, str):
            return False  # the case is not for this evaluator, or breaks a constraint
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                made = _converted(subject, use.model, to or subject.to)
            except OpsetError as error:
                self.refused[error.findings[0].code] += 1
                return False
        actual = outputs_of(use, made)
        self.cases += 1
        if isinstance(actual, str):
            self.wrong.append(f"{use.name}: {actual}")
            return True
        is_random = subject.operator in RANDOM or (subject.operator == "Dropout" and _drops(use, expected))
        for want, have in zip(expected, actual, strict=True):
            self._compare(subject, use.name, want, have, is_random)
        return True

    def _compare(self, subject: Subject, name: str, want: Any, have: Any, is_random: bool) -> None:
        if is_random:
            alike = getattr(want, "shape", None) == getattr(have, "shape", None) and type(want) is type(have)
            self.wrong += [] if alike else [f"{name}: another shape"]
            return
        why, ulp = ulps(want, have)
        mark = ""
        if not why and ulp > MOST[subject.direction] and _is_float(want):
            ulp, mark = relative(want, have), "~"
        if why or ulp > MOST[subject.direction]:
            self.wrong.append(f"{name}: {why or f'{ulp:.1f} ulp'}")
        self.worst, self.mark = max((self.worst, self.mark), (ulp, mark))

    @property
    def distance(self) -> str:
        """The worst difference in words."""
        return "equal to the last bit" if not self.worst else f"at most {self.mark}{round(self.worst, 1):g} ulp"


def _converted(subject: Subject, model: Any, to: int) -> Any:
    if subject.is_in_place:
        return opset.lower(model, [f"{subject.domain or 'ai.onnx'}.{subject.operator}"])
    return opset.convert(model, {subject.domain: to})


def _drops(use: Use, expected: Any) -> bool:
    """Whether a Dropout changes its data, which is random."""
    data = use.feeds.get(use.model.graph.node[-1].input[0])
    return not (isinstance(data, np.ndarray) and not ulps(data, expected[0])[1])


def _is_float(value: Any) -> bool:
    dtype = getattr(value, "dtype", None)
    return dtype is not None and (dtype.kind == "f" or dtype == ml_dtypes.bfloat16)


def use_of(name: str, model: Any, feeds: Mapping[str, Any]) -> Use:
    """Return a model with its inputs, as this project's message."""
    return Use(name, opset.load(model).proto, feeds)
