"""Removing entries of repeated fields."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

_FEW = 16
"""Entries that are removed one by one."""


def remove_entries(entries: Any, positions: Collection[int]) -> None:
    """Remove the messages at these positions from a repeated field, in place.

    This takes time in proportion to the field. If there are many, those that stay become copies: other references to
    them, and to messages in them, are stale.
    """
    if len(positions) <= _FEW:
        for position in sorted(positions, reverse=True):
            del entries[position]
        return
    removed = {*positions}
    kept = [entry for position, entry in enumerate(entries) if position not in removed]
    del entries[:]
    entries.extend(kept)
