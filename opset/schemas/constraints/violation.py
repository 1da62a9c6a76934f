"""The exception for a node that breaks a constraint of its operator's YAML."""

from __future__ import annotations

_MAX_DETAIL = 500  # characters


class Violation(Exception):
    """Raised if a node breaks the constraint `label` of its operator; `detail` says how, and is cut if long."""

    def __init__(self, label: str, detail: str = "") -> None:
        """Take the label of a constraint, such as "C1", and how it is broken, cut to _MAX_DETAIL characters."""
        self.label, self.detail = label, detail if len(detail) <= _MAX_DETAIL else f"{detail[:_MAX_DETAIL]}…"
        super().__init__(f"{label}: {self.detail}")
