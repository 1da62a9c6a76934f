"""The shortest document that says what an operator says, which is how its file is written."""

from __future__ import annotations

import itertools
from collections.abc import Sequence, Set
from typing import Any

from opset.errors import ModelError
from opset.model.text.printing import lay_out_graph
from opset.schemas.model import Docs, OpSchema
from opset.schemas.yaml.keys import (
    ATTRIBUTE_KEYS,
    BODY_KEYS,
    NAMED_KEYS,
    OPERATOR_KEYS,
    PARAMETER_KEYS,
    SHARED_KEYS,
    VERSION_KEYS,
)
from opset.schemas.yaml.loader import Operator
from opset.schemas.yaml.printer import dump_document, flow

SAVED = 80
"""Characters of attributes that `like` has to save."""
CHAINED = 40
"""Characters that an example with a `like` of its own has to save beside one without."""
RECENT = 64
"""Examples above that are compared, so that many examples do not take long."""


def dump_operator(operator: Operator) -> str:
    """Return the canonical text of an operator's file; what `load_operator` reads of it is the same operator."""
    return dump_document(canonical_document(operator))


def canonical_document(operator: Operator) -> dict[str, Any]:
    """Return an operator's document with its keys in order, in which a version shares what it repeats."""
    document: dict[str, Any] = _ordered(operator.root.plain(), OPERATOR_KEYS)
    known = {schema.since_version: (schema, docs) for schema, docs in zip(operator.schemas, operator.docs, strict=True)}
    document["versions"] = [_sharing(_in_order(version), known) for version in document["versions"]]
    if document.get("examples"):
        attributes = [each for schema in operator.schemas for each in schema.attributes.values()]
        graphs = {each.name for each in attributes if each.type == "graph"}
        document["examples"] = _alike([_with_graphs(example, graphs) for example in document["examples"]])
    return document


def _in_order(version: dict[str, Any]) -> dict[str, Any]:
    """Return a version with its keys, and those of its parameters and attributes, in the order of every file."""
    ordered = _ordered(version, VERSION_KEYS)
    for side in ("inputs", "outputs"):
        if side in ordered:
            ordered[side] = [_ordered(each, PARAMETER_KEYS) for each in ordered[side]]
    if "attributes" in ordered:
        ordered["attributes"] = {name: _ordered(each, ATTRIBUTE_KEYS) for name, each in ordered["attributes"].items()}
    if "function" in ordered:
        ordered["function"] = [_ordered(each, BODY_KEYS) for each in ordered["function"]]
    return ordered


def _ordered(mapping: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: mapping[key] for key in keys if key in mapping}


def _with_graphs(example: dict[str, Any], graphs: Set[str]) -> dict[str, Any]:
    """Return an example in which those attributes that are graphs have a node a line."""
    attributes = example.get("attributes") or {}
    texts = {name: _laid_out(text) for name, text in attributes.items() if name in graphs}
    return example | {"attributes": attributes | texts} if texts else example


def _laid_out(text: str) -> str:
    try:
        return lay_out_graph(text)
    except ModelError:  # an example may hold what is no graph
        return text


def _alike(examples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return examples that name another one above by `like` where that makes their attributes shorter by SAVED."""
    texts: dict[str, dict[str, str]] = {}
    cost: dict[str, int] = {}
    complete: dict[str, dict[str, Any]] = {}
    short = []
    for example in examples:
        name, attributes = example["name"], example.get("attributes") or {}
        attributes = complete.get(example.get("like", ""), {}) | attributes
        own = {key: flow(value) for key, value in attributes.items()}
        recent = itertools.islice(reversed(texts.items()), RECENT)
        lengths = {other: _length(own, held) for other, held in recent if held.keys() <= own.keys()}
        best = min(lengths, key=lambda each: lengths[each] + cost[each], default="")
        saved = _length(own, {}) - lengths[best] if best else 0
        short.append(_like(example | {"attributes": attributes}, best, texts[best]) if saved >= SAVED else example)
        if attributes:
            complete[name], texts[name] = attributes, own
            cost[name] = CHAINED if "like" in short[-1] else 0
    return short


def _length(own: dict[str, str], other: dict[str, str]) -> int:
    """Return how many characters those attributes take that another example does not have, or has otherwise."""
    return sum(len(key) + len(text) + 4 for key, text in own.items() if other.get(key) != text)


def _like(example: dict[str, Any], name: str, other: dict[str, str]) -> dict[str, Any]:
    """Return an example with those attributes alone that another one does not have, or has otherwise."""
    own = {key: value for key, value in example["attributes"].items() if other.get(key) != flow(value)}
    rest = {key: value for key, value in example.items() if key not in ("attributes", "like")}
    return rest | {"like": name} | ({"attributes": own} if own else {})


def _sharing(version: dict[str, Any], known: dict[int, tuple[OpSchema, Docs]]) -> dict[str, Any]:
    """Return a version without what is the same in the version that `same_as` names."""
    if "same_as" not in version:
        return version
    own, named = known[version["since"]], known[version["same_as"]]
    left = {key: _unshared(key, version.get(key, {}), own, named) for key in SHARED_KEYS}
    shares = [key for key in SHARED_KEYS if left[key] is not None]
    short: dict[str, Any] = {}
    for key, value in version.items():
        if key == "same_as" and shares:
            short |= {key: value, "shares": shares}
        elif key in shares:
            short |= {key: left[key]} if left[key] else {}
        elif key != "shares":
            short[key] = value
    return short


def _unshared(key: str, said: Any, own: tuple[OpSchema, Docs], named: tuple[OpSchema, Docs]) -> Any:
    """Return what a version that shares a key has to say of it nevertheless; None where it shares nothing of it."""
    entries, others = _entries(key, *own), _entries(key, *named)
    if entries and list(entries.items()) == list(others.items()):
        return {}
    together = list(others | entries)
    if key == "attributes":  # those of a version are in the order of their names
        together.sort()
    if not entries or key not in NAMED_KEYS or together != list(entries):
        return None
    same = {name for name in others if entries[name] == others[name]}
    return {name: each for name, each in said.items() if name not in same} if same else None


def _entries(key: str, schema: OpSchema, docs: Docs) -> dict[str, str]:
    """Return all that a version says of a key, by name, as text in which 0.0 and -0.0 differ."""
    content, prose = getattr(schema, key), getattr(docs, key, {})
    if key == "function":
        return {str(index): repr(each) for index, each in enumerate(content)}
    pairs = content.items() if key in NAMED_KEYS else ((each.name, each) for each in content)
    return {name: repr((each, prose.get(name))) for name, each in pairs}
