"""The page of each error code: its title, what it means, a bad and a good example, and what to do."""

from __future__ import annotations

from importlib import import_module

from opset.advice import PAGES
from opset.errors import CODES

RULES = {"B": "opset.workflow.breaking.pages", "G": "opset.checker.pages", "W": "opset.checker.pages"}
"""The modules that make the pages of rules from their fixtures, by the letter of the code: `page_body`."""


def page_of(code: str) -> str:
    """Return the page of an error code in Markdown, with its title."""
    return f"# {code}: {CODES[code]}\n\n{body_of(code)}"


def body_of(code: str) -> str:
    """Return the page of an error code in Markdown, without its title: from its file, or from its rule."""
    path = PAGES / f"{code}.md"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    body: str = import_module(RULES[code[0]]).page_body(code)
    return body
