"""Documentation of operator sets: an HTML site, Markdown and JSON, made from a registry."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opset.opsets.registry import Registry

FORMS = {"html": "site", "markdown": "markdown", "json": "document"}
"""The forms of documentation, each with the module whose `pages` makes it. They are slow to import."""
Progress = Callable[[int, int], None]
"""Takes the number of pages or operators that are done, and of all."""


def documentation(
    registry: Registry,
    form: str = "html",
    domains: Iterable[str] | None = None,
    progress: Progress | None = None,
    verbs: Callable[[], Sequence[Any]] | None = None,
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the documentation, each as (path, content); paths are relative, with "/".

    The files depend only on the registry and `verbs`. Nothing is written to the disk.

    Args:
        registry: The operators.
        form: "html" (a site), "markdown", or "json" (one document and its JSON Schema). Any other form raises KeyError.
        domains: The domains that are documented, all by default.
        progress: Called after each page or operator, with the number of those that are done and the number of all.
        verbs: Returns the verbs of the command line, for which the form "html" has pages; other forms ignore it.
    """
    chosen = list(registry.domains) if domains is None else [*domains]
    further = {"verbs": verbs()} if form == "html" and verbs is not None else {}
    yield from import_module(f"opset.docgen.{FORMS[form]}").pages(registry, chosen, progress, **further)
