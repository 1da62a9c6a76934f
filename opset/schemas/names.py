"""Names of domains and operators, and suggestions for wrong ones."""

from __future__ import annotations

from collections.abc import Iterable

MOST = 100
"""Characters of a wrong name that are compared."""
_WORK = 50_000
"""Pairs of characters that are compared: those of a name of ten letters with 400 names of twelve."""


def normalize_domain(domain: str) -> str:
    """Return the name of a domain as schemas have it: "" for the domain of the standard, `ai.onnx`."""
    return "" if domain == "ai.onnx" else domain


def domain_name(domain: str) -> str:
    """Return the name of a domain as people write it and as its folder is named: `ai.onnx` for ""."""
    return domain or "ai.onnx"


def near_miss(name: str, known: Iterable[str]) -> str:
    """Return "did you mean …?" with the known names that are most like a wrong one, "" if none is like it."""
    import difflib  # slow to import, and needed for errors alone

    name, compared, left = name[:MOST], list[str](), _WORK
    for each in known:
        left -= len(each) * len(name)  # long names take long to compare, and whoever wrote them chose both
        if left < 0:
            break
        compared.append(each)
    near = difflib.get_close_matches(name, compared, 3)
    return f"did you mean {' or '.join(near)}?" if near else ""
