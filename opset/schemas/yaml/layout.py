"""The shortest document of an operator, which is the layout of its file."""

from __future__ import annotations

import itertools
from collections.abc import Sequence, Set
from contextlib import suppress
from typing import Any

from opset.errors import ModelError
from opset.model.text.printing import lay_out_graph
from opset.schemas.yaml.keys import ATTRIBUTE_KEYS, BODY_KEYS, OPERATOR_KEYS, PARAMETER_KEYS, VERSION_KEYS
from opset.schemas.yaml.likeness import complete_examples, complete_versions, shorten_example, shorten_version
from opset.schemas.yaml.loader import Operator
from opset.schemas.yaml.printer import dump_document, flow

SAVED = 80
"""Characters of an example that `like` has to save."""
CHAINED = 40
"""Characters that an example with a `like` of its own has to save beside one without."""
RECENT = 64
"""Examples above that are compared, so that many examples do not take long."""


def dump_operator(operator: Operator) -> str:
    """Return the text of an operator's file in canonical layout; reading it gives an equal operator."""
    return dump_document(canonical_document(operator))


def canonical_document(operator: Operator) -> dict[str, Any]:
    """Return an operator's YAML document as plain data in canonical layout.

    Its keys are in canonical order, without keys that are inherited by `like` anyway. Examples get a `like` if that
    makes them much shorter.
    """
    document: dict[str, Any] = _order_keys(operator.root.plain(), OPERATOR_KEYS)
    complete = {since: _order_version(version) for since, version in complete_versions(operator.root).items()}
    document["versions"] = [
        _order_version(shorten_version(version, complete[version["like"]])) if "like" in version else version
        for version in (complete[each["since"]] for each in document["versions"])
    ]
    if document.get("examples"):
        attributes = [each for schema in operator.schemas for each in schema.attributes.values()]
        graphs = {each.name for each in attributes if each.type in ("graph", "graphs")}
        examples, complete_ones = (
            [_lay_out_graphs(example, graphs) for example in each]
            for each in (document["examples"], complete_examples(operator.root))
        )
        document["examples"] = _shorten_examples(examples, complete_ones)
    return document


def _order_version(version: dict[str, Any]) -> dict[str, Any]:
    """Return a version with its keys in canonical order; likewise its parameters, attributes and function bodies."""
    ordered: dict[str, Any] = _order_keys(version, VERSION_KEYS)
    for key, keys in (("inputs", PARAMETER_KEYS), ("outputs", PARAMETER_KEYS), ("function", BODY_KEYS)):
        if ordered.get(key):
            ordered[key] = [_order_keys(each, keys) for each in ordered[key]]
    if attributes := ordered.get("attributes"):
        ordered["attributes"] = {name: _order_keys(each, ATTRIBUTE_KEYS) for name, each in attributes.items()}
    return ordered


def _order_keys(mapping: Any, keys: Sequence[str]) -> Any:
    """Return the entries of a mapping whose keys are in `keys`, in the order of `keys`.

    All other entries are left out. If `mapping` is no dict, it is returned unchanged.
    """
    return {key: mapping[key] for key in keys if key in mapping} if isinstance(mapping, dict) else mapping


def _lay_out_graphs(example: dict[str, Any], graphs: Set[str]) -> dict[str, Any]:
    """Return a copy of an example in which graphs have one node on each line; text that is no graph stays as it is.

    `graphs` are the names of attributes that are graphs, or lists of them, written as text.
    """
    attributes = dict(example.get("attributes") or {})
    for name in graphs & attributes.keys():
        attributes[name] = lay_out_graphs(attributes[name])
    return example | {"attributes": attributes} if attributes else example


def lay_out_graphs(value: Any) -> Any:
    """Return the text of a graph with one node on each line, or a list of such texts; other values are unchanged."""
    if isinstance(value, list | tuple):
        return [*map(lay_out_graphs, value)]
    if isinstance(value, str):
        with suppress(ModelError):  # an example may hold what is no graph
            return lay_out_graph(value)
    return value


def _shorten_examples(examples: list[dict[str, Any]], complete: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return examples as YAML mappings, in which an example may state only what differs from an earlier example.

    The earlier example is named at the key `like`. The key is used if it saves at least SAVED characters. Only the last
    RECENT examples above an example are candidates.

    Args:
        examples: The examples as they are in YAML now. An example that is not shortened stays as it is here.
        complete: The same examples, with the keys that they inherit through `like` written out.
    """
    above: dict[str, tuple[dict[str, Any], dict[str, str]]] = {}
    cost: dict[str, int] = {}
    short = []
    for example, whole in zip(examples, complete, strict=True):
        own = _yaml_parts(whole)
        here = whole.get("attributes") or {}
        lengths = {}
        for name, (other, parts) in itertools.islice(reversed(above.items()), RECENT):
            before = other.get("attributes") or {}  # which are read first, and keep their order
            if [each for each in before if each in here] + [each for each in here if each not in before] == [*here]:
                lengths[name] = _written_length(own, parts)
        best = min(lengths, key=lambda name: lengths[name] + cost[name], default="")
        if best and _written_length(own, {}) - lengths[best] >= SAVED:
            example = {"like": best, **shorten_example(whole, above[best][0])}
        short.append(example)
        above[whole["name"]] = whole, own
        cost[whole["name"]] = CHAINED if "like" in example else 0
    return short


def _yaml_parts(example: dict[str, Any]) -> dict[str, str]:
    """Return the YAML text of each key of an example except `name`, by key, for `_written_length`.

    Each attribute counts as a key of its own: {"attributes axis": "1", "inputs": "[{float: [1]}]"}.
    """
    attributes = {f"attributes {name}": flow(value) for name, value in (example.get("attributes") or {}).items()}
    return attributes | {key: flow(each) for key, each in example.items() if key not in ("name", "attributes")}


def _written_length(own: dict[str, str], other: dict[str, str]) -> int:
    """Return how many characters of YAML an example takes if it is `like` an earlier one.

    Keys that are equal in both examples are not written. `own` and `other` are the results of `_yaml_parts` for the
    example and the earlier one. If `other` is {}, all keys are written.
    """
    written = sum(len(key) + len(text) + 4 for key, text in own.items() if other.get(key) != text)
    return written + sum(len(key) + len(": null, ") for key in other if key not in own)
