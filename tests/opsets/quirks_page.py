"""Writes the table of quirks into docs/quirks.md.

python -m tests.opsets.quirks_page
"""

import re
from pathlib import Path

from opset.schemas import quirks

PAGE = Path(__file__).parents[2] / "docs" / "quirks.md"
BEGIN, END = "<!-- generated: python -m tests.opsets.quirks_page -->\n", "<!-- end -->"


def table():
    """Return the table of all quirks as markdown."""
    lines = ["| operator | opset | form | written by | accepted by | | |", "|---|---|---|---|---|---|---|"]
    for each in quirks.QUIRKS:
        newest = each.last == quirks.NEWEST
        span = "any" if newest and each.first == 1 else f"{each.first} on" if newest else f"{each.first} to {each.last}"
        names = ", ".join(each.operators) or "any"
        row = [names, span, each.form, each.writers, each.runtimes, each.action, each.what]
        lines.append(f"| {' | '.join(row)} |")
    return "\n".join(lines) + "\n"


def page(text):
    """Return the page with the table of today."""
    return re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: BEGIN + table() + END, text, flags=re.S)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
