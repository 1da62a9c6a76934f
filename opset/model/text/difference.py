"""The difference of two models as a unified diff of their texts, in time in proportion to these.

Values of greater tensors are left out, and not read. Lines that occur once in both texts hold them together, in the
longest run that has the same order in both; what lies between is removed and added.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from opset.errors import safe_text
from opset.model.storage.container import Model
from opset.model.text.printing import to_text

ELEMENTS: Final = 16
"""Elements of a tensor whose values are shown."""
AROUND: Final = 3
"""Equal lines that are shown before and after a change."""
MOST_LINES: Final = 2000
"""Lines of a difference that are shown; the others are counted."""

Block = tuple[int, int, int, int]
"""Lines that differ: the first and the end in one text, then in the other."""


def text_difference(before: Model, after: Model, name: str) -> list[str]:
    """Return the lines of the unified diff of two models as text, none if the texts are the same.

    Raises ModelError M106 if a name is not UTF-8, which text cannot hold.
    """
    old, new = (to_text(each, limit=ELEMENTS).splitlines() for each in (before, after))
    lines = [*_unified_lines(old, new)]
    if not lines:
        return []
    shown = [safe_text(line) for line in lines[:MOST_LINES]]
    more = [f"… {len(lines) - MOST_LINES:,} more lines"] if len(lines) > MOST_LINES else []
    return [f"--- {safe_text(name)}", f"+++ {safe_text(name)}, mended", *shown, *more]


def _unified_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """Yield the changed lines of two texts with those around them, in hunks with their positions."""
    hunks: list[list[Block]] = []
    for block in changed_blocks(old, new):
        if hunks and block[0] - hunks[-1][-1][1] <= 2 * AROUND:
            hunks[-1].append(block)
        else:
            hunks.append([block])
    for hunk in hunks:
        first, last = hunk[0], hunk[-1]
        lead = min(AROUND, first[0], first[2])
        trail = min(AROUND, len(old) - last[1])
        start, stop = first[0] - lead, last[1] + trail
        other, end = first[2] - lead, last[3] + trail
        yield f"@@ -{start + 1},{stop - start} +{other + 1},{end - other} @@"
        for old_start, old_stop, new_start, new_stop in hunk:
            yield from (f" {line}" for line in old[start:old_start])
            yield from (f"-{line}" for line in old[old_start:old_stop])
            yield from (f"+{line}" for line in new[new_start:new_stop])
            start = old_stop
        yield from (f" {line}" for line in old[start:stop])


def changed_blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[Block]:
    """Yield the parts of two texts between lines that are the same in both, in order."""
    i = j = 0
    for a, b in (*_anchors(old, new), (len(old), len(new))):
        while i < len(old) and j < len(new) and old[i] == new[j]:
            i, j = i + 1, j + 1
        if a < i or b < j:
            continue
        while a > i and b > j and old[a - 1] == new[b - 1]:
            a, b = a - 1, b - 1
        if a > i or b > j:
            yield i, a, j, b
        i, j = a, b


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    """Return the longest run of lines, each once in both texts, that has one order: their positions in both."""
    counts, others = Counter(old), Counter(new)
    places = {line: index for index, line in enumerate(new) if others[line] == 1}
    pairs = [(index, places[line]) for index, line in enumerate(old) if counts[line] == 1 and line in places]
    ends: list[int] = []  # of runs of each length, the lowest last position in the new text
    last: list[int] = []  # the pairs at these ends
    previous = []
    for number, (_, position) in enumerate(pairs):
        length = bisect_left(ends, position)
        previous.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [position]
        last[length : length + 1] = [number]
    run = []
    number = last[-1] if last else -1
    while number >= 0:
        run.append(pairs[number])
        number = previous[number]
    return run[::-1]
