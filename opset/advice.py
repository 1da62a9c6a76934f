"""What to do about an error of a code: the first sentence of that part of its page."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PAGES = Path(__file__).parent / "explain"
WHAT_TO_DO = "\n## What to do\n"


@cache
def advice_of(code: str) -> str:
    """Return what the page of a code says first of what to do, as a line of help; "" for a rule, which has no file."""
    path = PAGES / f"{code}.md"
    if not path.is_file():
        return ""
    paragraph = path.read_text(encoding="utf-8").partition(WHAT_TO_DO)[2].strip().partition("\n\n")[0]
    sentence = " ".join(paragraph.removeprefix("- ").replace("`", "").split()).partition(". ")[0].rstrip(".:")
    return sentence[:1].lower() + sentence[1:]
