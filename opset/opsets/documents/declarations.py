"""The declarations of operators up to a version, as plain data that YAML and JSON hold, and as nodes that are read.

A document declares each operator in the form of its YAML file, with all keys of each version written out: `like`
belongs to files that people edit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from opset.errors import SchemaError
from opset.schemas.example import example_versions
from opset.schemas.type_sets import TypeSets, shortest_expressions
from opset.schemas.yaml.keys import VERSION_KEYS
from opset.schemas.yaml.likeness import complete_examples, complete_versions
from opset.schemas.yaml.loader import Operator
from opset.schemas.yaml.reader import MAX_DEPTH, MAX_KEY, Findings, YamlNode

_WORD = re.compile(r"\w+")
_TYPED = ("types", "change", "function")
"""Keys of a version that name type sets."""
ESCAPE = "!"
"""How text in JSON begins that stands for a number which JSON lacks, or that begins so itself."""
_NUMBERS = {"!nan": math.nan, "!inf": math.inf, "!-inf": -math.inf}


def declare_until(operator: Operator, version: int) -> dict[str, Any] | None:
    """Return the declaration of an operator without what came after a version of its operator set; None if all did."""
    complete = complete_versions(operator.root)
    known = [since for since in complete if since <= version]
    if not known:
        return None
    document: dict[str, Any] = operator.root.plain()
    document["versions"] = [
        {key: complete[since][key] for key in VERSION_KEYS if key in complete[since] and key != "like"}
        for since in sorted(known, reverse=True)
    ]
    if "examples" in document:
        shown = zip(operator.examples, complete_examples(operator.root), strict=True)
        document["examples"] = [_until(each, version) for example, each in shown if example_versions(example, known)]
    if "special_cases" in document:
        document["special_cases"] = _held_until(document["special_cases"], version)
    if "implementations" in document:
        names = {each["name"] for each in document.get("examples", ())}
        notes = {name: _held_until(each, version) for name, each in document["implementations"].items()}
        document["implementations"] = {
            name: [_with_examples(note, names) for note in each] for name, each in notes.items() if each
        }
    return document


def _held_until(items: Iterable[Any], version: int) -> list[Any]:
    """Return those special cases or notes that hold for a version or an older one."""
    return [_until(each, version) for each in items if isinstance(each, str) or each.get("since", 0) <= version]


def _until(item: Any, version: int) -> Any:
    """Return an item without an `until` that is newer than a version."""
    if isinstance(item, str) or item.get("until", 0) <= version:
        return item
    return {key: each for key, each in item.items() if key != "until"}


def _with_examples(note: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return a note on an implementation that names, of the examples, only these."""
    left = [each for each in note.get("examples", ()) if each in names]
    return {key: left if key == "examples" else each for key, each in note.items() if key != "examples" or left}


def used_sets(declarations: Iterable[Mapping[str, Any]], sets: TypeSets) -> dict[str, list[str]]:
    """Return the types of each set of types that declarations name."""
    texts: set[str] = set()
    for declaration in declarations:
        for version in declaration["versions"]:
            for key in _TYPED:
                _collect_texts(version.get(key), texts)
    words = {word for text in texts for word in _WORD.findall(text)}
    return {name: shortest_expressions(types, {}) for name, types in sets.items() if name in words}


def _collect_texts(value: Any, texts: set[str]) -> None:
    """Add all text in plain data to `texts`, but the nodes of function bodies and prose."""
    if isinstance(value, dict):
        texts.update(value)
        for key, each in value.items():
            if key not in ("nodes", "meaning", "clarified"):
                _collect_texts(each, texts)
    elif isinstance(value, list):
        for each in value:
            _collect_texts(each, texts)
    elif isinstance(value, str):
        texts.add(value)


def encode_json(value: Any) -> Any:
    """Return plain data in a form that JSON holds: numbers that are not finite become "!nan", "!inf" and "!-inf"."""
    if isinstance(value, dict):
        return {key: encode_json(each) for key, each in value.items()}
    if isinstance(value, list):
        return [encode_json(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return f"{ESCAPE}{value}"
    return ESCAPE + value if isinstance(value, str) and value.startswith(ESCAPE) else value


def node_of(value: Any, findings: Findings, escaped: bool = False, depth: int = 1) -> YamlNode:
    """Return plain data as nodes without places; text that begins with ESCAPE is decoded if it is `escaped`.

    Raises SchemaError if the data are too many, or too deep.
    """
    node = YamlNode(value, 1, 1)
    findings.charge(1, node)
    if depth > MAX_DEPTH:
        findings.add("S102", f"more than {MAX_DEPTH} levels are nested here", node)
        raise SchemaError(findings)
    if isinstance(value, dict):
        if long := next((key for key in value if len(key) > MAX_KEY), None):
            findings.add("S102", f"a key has at most {MAX_KEY} characters, and {long[:MAX_KEY]!r} has more", node)
        _check_text("".join(value), findings)
        node.keys = {key: YamlNode(key, 1, 1) for key in value}
        node.value = {key: node_of(each, findings, escaped, depth + 1) for key, each in value.items()}
    elif isinstance(value, list):
        node.value = [node_of(each, findings, escaped, depth + 1) for each in value]
    elif isinstance(value, str):
        _check_text(value, findings)
        if escaped and value.startswith(ESCAPE):
            node.value = _NUMBERS.get(value, value.removeprefix(ESCAPE))
    return node


def _check_text(text: str, findings: Findings) -> None:
    """Note a finding if text has half of a character that UTF-16 writes in two."""
    if not text.isascii() and re.search("[\ud800-\udfff]", text):
        findings.add("S101", "a lone surrogate is not a character")
