"""The files that `opset lint --fix` writes: with the computed part of `change:` blocks, and in canonical layout."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from opset.errors import SchemaError
from opset.schemas.diff import Transition, compact_diff
from opset.schemas.index import FOLDER
from opset.schemas.lint.rules import sets_of_domain
from opset.schemas.selection import Target
from opset.schemas.type_sets import TypeSets
from opset.schemas.untrusted_files import file_bytes
from opset.schemas.yaml.keys import CHANGE_KEYS, FACETS, GUIDANCE
from opset.schemas.yaml.layout import canonical_document
from opset.schemas.yaml.loader import Operator, folder_sets, read_operators, standard_sets
from opset.schemas.yaml.printer import dump_document
from opset.schemas.yaml.reader import MAX_SIZE


@dataclass(frozen=True)
class Fixes:
    """New texts of files by path; `commented` are files that stay unchanged, because their comments would be lost."""

    texts: dict[str, str]
    commented: list[str]


def fixes(target: Target) -> Fixes:
    """Return the new texts of operators' files; a file with faults is left to `lint`."""
    found = Fixes({}, [])
    standard = os.path.realpath(target.folder) == os.path.realpath(FOLDER)
    try:
        sets = folder_sets(target.folder, None if standard else standard_sets())
    except SchemaError:
        return found
    for operator in read_operators(target.files, sets)[0]:
        if not operator.whole:
            continue
        text = fixed_text(operator, sets)
        try:
            now = file_bytes(operator.path, MAX_SIZE).decode()
        except (OSError, ValueError):  # it was another file a moment ago
            continue
        if text == now or len(text.encode()) > MAX_SIZE:  # what is written has to be readable
            continue
        kept = now if _is_open(operator) else remove_guidance(now)
        if kept.count("#") > repr(operator.root.plain()).count("#"):  # outside of all values
            found.commented.append(operator.path)
        else:
            found.texts[operator.path] = text
    return found


def _is_open(operator: Operator) -> bool:
    """Whether prose, an example or the description of a change is still missing."""
    prose = [
        text
        for docs in operator.docs
        for text in (docs.doc, *docs.inputs.values(), *docs.outputs.values(), *docs.attributes.values())
    ]
    said = operator.examples and all(map(str.strip, prose))
    return not said or any(map(is_unexplained, operator.transitions))


def is_unexplained(step: Transition) -> bool:
    """Whether a version has the signature of the one before and does not describe its change."""
    return not step.difference and not step.change.meaning and not step.change.clarified


def remove_guidance(text: str) -> str:
    """Return a text without its lines of guidance."""
    return "".join(line for line in text.splitlines(keepends=True) if not f"{line.strip()} ".startswith(GUIDANCE))


def fixed_text(operator: Operator, sets: TypeSets) -> str:
    """Return the canonical text of an operator's file, with the computed difference in each `change:` block."""
    document = canonical_document(operator)
    versions = {version["since"]: version for version in document["versions"]}
    for step in operator.transitions:
        version = versions[step.new.since_version]
        version["change"] = declared_change(version["change"], step, sets_of_domain(operator.domain, sets))
    return dump_document(document)


def declared_change(change: dict[str, Any], step: Transition, sets: TypeSets) -> dict[str, Any]:
    """Return a `change:` block with the computed difference in place of the one that S201 would report.

    Facets and other declarations of the author stay.
    """
    computed = step.difference
    fixed = dict(change)
    for key in step.undeclared_keys:
        part = compact_diff({key: computed[key]}, sets)[key] if key in computed else {}
        fixed[key] = _merge_facets(part, change.get(key, {})) if key == "attributes" else part
        if fixed[key] == {}:
            del fixed[key]
    return {key: fixed[key] for key in CHANGE_KEYS if key in fixed} if step.undeclared_keys else change


def _merge_facets(computed: dict[str, Any], declared: dict[str, Any]) -> dict[str, Any]:
    facets = {name: {key: each[key] for key in FACETS if key in each} for name, each in declared.items()}
    names = [*computed, *(name for name in facets if name not in computed)]
    merged = {name: computed.get(name, {}) | facets.get(name, {}) for name in names}
    return {name: entry for name, entry in merged.items() if entry}
