"""Names of domains and operators, and suggestions for wrong ones."""

from __future__ import annotations

from collections.abc import Iterable

MOST = 100
"""Characters of a wrong name that are compared."""
FEW = 8
"""Names that advice lists."""
_WORK = 50_000
"""Pairs of characters that are compared: those of a name of ten letters with 400 names of twelve."""


def normalize_domain(domain: str) -> str:
    """Return a domain as schemas have it: "" for `ai.onnx`, any other unchanged."""
    return "" if domain == "ai.onnx" else domain


def domain_name(domain: str) -> str:
    """Return a domain as people write it and as its folder is named: `ai.onnx` for "", any other unchanged."""
    return domain or "ai.onnx"


def qualified_name(domain: str, name: str) -> str:
    """Return the name of an operator, with its domain in front unless that is `ai.onnx` or ""."""
    return f"{domain}.{name}" if normalize_domain(domain) else name


def advise_name(name: str, known: Iterable[str]) -> str:
    """Return advice for a name that is not among `known`: "did you mean …?" with similar names.

    If no name is similar, the advice lists all names in `known`; if they are more than FEW, the result is "".
    """
    names = sorted(filter(None, {*known}))
    return near_miss(name, names) or (f"known: {', '.join(names)}" if 0 < len(names) <= FEW else "")


def near_miss(name: str, known: Iterable[str]) -> str:
    """Return "did you mean …?" with up to three names in `known` that are similar to `name`; "" if none is similar.

    If some names differ from `name` only by upper and lower case, only these are suggested. If there are very many
    names, only the first ones are compared.
    """
    import difflib  # slow to import, and needed for errors alone

    name, compared, left = name[:MOST], list[str](), _WORK
    for each in known:
        left -= len(each) * len(name)  # long names take long to compare, and whoever wrote them chose both
        if left < 0:
            break
        compared.append(each)
    near = [each for each in compared if each.lower() == name.lower()] or difflib.get_close_matches(name, compared, 3)
    return f"did you mean {' or '.join(near)}?" if near else ""
