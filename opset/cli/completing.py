"""Completion in a shell: operators, runtimes, releases, codes and guides that the package itself has.

No configuration is read, and no other file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from opset.errors import CODES, UsageError
from opset.opsets.registry import default_registry
from opset.opsets.releases import RELEASES
from opset.schemas.names import domain_name, qualified_name


def complete_names(command: click.Command) -> None:
    """Let the arguments and options of a verb that stand for names complete them."""
    for param in command.params:
        metavar = param.metavar or ""
        names = [metavar] if isinstance(param, click.Argument) else param.opts
        complete = next((_COMPLETERS[name] for name in names if name in _COMPLETERS), None)
        if complete is not None and "CMD" not in metavar:  # the runtime of conformance is a program
            files = any(word in metavar for word in _FILES)
            param.shell_complete = _completer(complete, files)  # type: ignore[assignment]


def _completer(
    names: Callable[[str], Iterable[str]], files: bool
) -> Callable[[click.Context, str], list[CompletionItem]]:
    """Return the function that completes these names, of a list with commas its last one, and files beside them."""

    def complete(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        head, comma, last = incomplete.rpartition(",")
        found = [CompletionItem(f"{head}{comma}{name}") for name in names(last) if _begins(name, last)]
        if files and (not found or os.path.exists(incomplete)):
            found.append(CompletionItem(incomplete, type="file"))
        return found

    return complete


def _begins(name: str, text: str) -> bool:
    """Whether a name begins with a text, in any case of letters."""
    return name.lower().startswith(text.lower())


def _operators(text: str) -> Iterable[str]:
    """Return the operators, or the versions of one if the text ends with "@"; ai.onnx is not written."""
    registry = default_registry()
    name, at, _ = text.partition("@")
    if at:
        domain, _, op_type = name.rpartition(".")
        return [f"{name}@{since}" for since in registry.since_versions(op_type, domain)]
    return [qualified_name(domain, each) for domain in registry.domains for each in registry.operators(domain)]


def _runtimes(text: str) -> Iterable[str]:
    """Return the runtimes, or the releases of one if a text names it before "=="."""
    from opset.opsets.runtimes.compiled import standard_tables
    from opset.opsets.runtimes.names import releases_named

    name, equal, _ = text.partition("==")
    tables = standard_tables()
    if equal:
        try:
            return [f"{name}=={each.release}" for each in releases_named(name, tables)]
        except UsageError:
            return []
    return [*(f"{each}==" for each in tables), *tables]


def _runtime_names(text: str) -> Iterable[str]:
    from opset.opsets.runtimes.compiled import standard_tables

    return [*standard_tables()]


def _releases(text: str) -> Iterable[str]:
    return [each.name for each in reversed(RELEASES)]


def _versions(text: str) -> Iterable[str]:
    """Return the versions of ai.onnx, newest first, and of other domains as `ai.onnx.ml=5`."""
    domains = default_registry().domains
    standard = [str(version) for version in range(domains[""], 0, -1)]
    return [
        *standard,
        *(f"{name}={version}" for name, newest in domains.items() for version in range(newest, 0, -1) if name),
    ]


def _domains(text: str) -> Iterable[str]:
    return map(domain_name, default_registry().domains)


def _families(text: str) -> Iterable[str]:
    registry = default_registry()
    every = [(name, domain) for domain in registry.domains for name in registry.operators(domain)]
    return sorted({registry.versions(*each)[0].family for each in every})


def _codes(text: str) -> Iterable[str]:
    return CODES


def _pages(text: str) -> Iterable[str]:
    from opset.docgen.guides import guides

    return [*CODES, *(guide.name for guide in guides())]


_FILES = ("MODEL", "OLD", "NEW", "PATH")
"""Words of an argument that may be a file, too."""
_COMPLETERS: dict[str, Callable[[str], Iterable[str]]] = {
    "OPERATOR[@VERSION]|DOMAIN|MODEL": _operators,
    "[OPERATOR]|OLD": _operators,
    "[PATH|OP[@V]]...": _operators,
    "[OP[@V]]...": _operators,
    "OP[@V]...": _operators,
    "OP": _operators,
    "[OPERATOR]": _operators,
    "--ops": _operators,
    "--like": _operators,
    "--for": _runtimes,
    "[RUNTIME[==RELEASE]]": _runtimes,
    "--runtime": _runtime_names,
    "--release": _releases,
    "--to": _versions,
    "--domain": _domains,
    "--family": _families,
    "--select": _codes,
    "--ignore": _codes,
    "[CODE|GUIDE]...": _pages,
}
"""What completes the arguments of these words, and the options of these names."""
