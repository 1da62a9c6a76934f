"""What to do about an error of a code: the first sentence of that part of its page."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PAGES = Path(__file__).parent / "explain"
WHAT_TO_DO = "\n## What to do\n"


@cache
def advice_of(code: str) -> str:
    """Return what the page of a code says first of what to do, as a line of help; "" for a rule, which has no file."""
    try:
        text = (PAGES / f"{code}.md").read_text(encoding="utf-8")
    except OSError:  # a rule has no file, and a process may have given up the right to read those of the package
        return ""
    paragraph = text.partition(WHAT_TO_DO)[2].strip().partition("\n\n")[0]
    sentence = " ".join(paragraph.removeprefix("- ").replace("`", "").split()).partition(". ")[0].rstrip(".:")
    return sentence[:1].lower() + sentence[1:]
