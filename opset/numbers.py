"""Numbers among the arguments of callers: Python's and numpy's, and no bools."""

from __future__ import annotations

import math
from typing import Any


def is_number(value: Any, *, whole: bool = False) -> bool:
    """Whether a value is a finite number, 0 or greater; with `whole`, an integer. A bool is no number."""
    if isinstance(value, bool) or not hasattr(value, "__index__" if whole else "__float__"):
        return False
    return not hasattr(value, "__len__") and math.isfinite(value) and value >= 0
