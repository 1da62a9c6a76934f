"""The files that `opset lint --fix` writes: with the computed part of `change:` blocks, and in canonical layout."""

from __future__ import annotations

import os
from dataclasses import dataclass

from opset.errors import SchemaError
from opset.schemas.diff import Transition
from opset.schemas.index import FOLDER
from opset.schemas.lint.context import LINT
from opset.schemas.selection import SelectionTarget
from opset.schemas.type_sets import TypeSets
from opset.schemas.untrusted_files import file_bytes
from opset.schemas.yaml.keys import GUIDANCE
from opset.schemas.yaml.layout import canonical_document
from opset.schemas.yaml.loader import Operator, folder_sets, read_operators, standard_sets
from opset.schemas.yaml.printer import dump_document
from opset.schemas.yaml.reader import MAX_SIZE


@dataclass(frozen=True)
class Fixes:
    """New texts of files by path; `commented` are paths of files that stay, because their comments would be lost."""

    texts: dict[str, str]
    commented: list[str]


def fixes(target: SelectionTarget) -> Fixes:
    """Return the new texts of those files of a target that `opset lint --fix` would change; nothing is written.

    A file with faults is left out; so are all files if the type sets have faults. A file whose comments would be lost
    gets no new text, but its path is in `commented`.
    """
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
        kept = now if _is_unfinished(operator) else remove_guidance(now)
        if kept.count("#") > repr(operator.root.plain()).count("#"):  # outside of all values
            found.commented.append(operator.path)
        else:
            found.texts[operator.path] = text
    return found


def _is_unfinished(operator: Operator) -> bool:
    """Whether an operator's file still lacks prose, an example, or words on the change of a version."""
    parts = [part for docs in operator.docs for part in (docs.inputs, docs.outputs, docs.attributes)]
    prose = [docs.doc for docs in operator.docs] + [text for part in parts for text in part.values()]
    said = operator.examples and all(map(str.strip, prose))
    return not said or any(map(is_unexplained, operator.transitions))


def is_unexplained(step: Transition) -> bool:
    """Whether a version has an unchanged signature, and its `change:` block has neither `meaning` nor `clarified`.

    `step` is the change from the version before to this version.
    """
    return not step.difference and not step.change.meaning and not step.change.clarified


def remove_guidance(text: str) -> str:
    """Return the text of a file without the comment lines in which `opset new` says what to write."""
    return "".join(line for line in text.splitlines(keepends=True) if not f"{line.strip()} ".startswith(GUIDANCE))


def fixed_text(operator: Operator, sets: TypeSets) -> str:
    """Return the text of an operator's file in canonical layout, with every fix of a lint rule applied."""
    document = canonical_document(operator)
    for fix in LINT.fixes:
        fix(operator, document, sets)
    return dump_document(document)
