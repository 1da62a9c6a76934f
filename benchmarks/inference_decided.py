"""Where inference may say less than the onnx package, or other things: decided from the specification.

Each entry is a pattern of operators, a pattern that is found in "kind operator: why | case", and the reason. Kinds are
those of benchmarks.inference: exception, finding, truth, less, contradiction.
"""

from __future__ import annotations

import re

__all__ = ["DECIDED", "decided"]

DECIDED: tuple[tuple[str, str, str], ...] = ()


def decided(operator: str, text: str) -> str:
    """Give the reason why something that was found is as it should be, "" where it is not."""
    found = (reason for name, what, reason in DECIDED if re.fullmatch(name, operator) and re.search(what, text))
    return next(found, "")
