"""The style sheet that the pages of the site and of reports share."""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def base_stylesheet() -> str:
    """Return the CSS that all pages share: colors of the light and the dark scheme, text, tables."""
    return files("opset.docgen").joinpath("assets", "base.css").read_text(encoding="utf-8")
