"""A registry as one JSON document, for other programs; operators.schema.json describes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from opset import __version__
from opset.catalog import TransitionFacts, changes, example_data, json_data, schema_data
from opset.docgen import Progress
from opset.docgen.convertibility import GENERAL, Convertibility
from opset.model.elements import ELEMENTS
from opset.opsets.registry import Registry
from opset.opsets.releases import RELEASES
from opset.schemas.model import Change, OpSchema
from opset.schemas.names import domain_name

FORMAT = 2
"""Number of the format, which changes when something goes or changes its meaning."""
DOCUMENT, SCHEMA = "operators.json", "operators.schema.json"
ELEMENT_KEYS = ("name", "number", "bits", "ir_version", "opset")
PARAMETER_KEYS = ("homogeneous", "min_arity", "differentiable")
EXAMPLE_KEYS = ("since", "until", "tolerance")
"""Attributes of element types, of inputs and outputs, and of examples that the document has under the same names."""


def pages(registry: Registry, domains: Sequence[str], progress: Progress | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield ("operators.json", the JSON document) and ("operators.schema.json", its JSON Schema), both as bytes.

    Args:
        registry: The operators.
        domains: The domains that the document has, in order.
        progress: Called after each operator, with the number of those that are done and the number of all.
    """
    yield DOCUMENT, "".join(_document_text(registry, domains, progress)).encode()
    yield SCHEMA, (Path(__file__).parent / SCHEMA).read_bytes()


def _document_text(registry: Registry, domains: Sequence[str], progress: Progress | None) -> Iterator[str]:
    """Yield the JSON document in pieces; each operator is one line, so that documents can be compared by lines."""
    names = [(domain, name) for domain in domains for name in registry.operators(domain)]
    families: dict[str, list[dict[str, str]]] = {}
    for domain, name in names:
        family = registry.versions(name, domain)[-1].family
        families.setdefault(family, []).append({"domain": domain_name(domain), "operator": name})
    head = {
        "$schema": SCHEMA,
        "format": FORMAT,
        "opset": __version__,
        "releases": [
            {
                "release": release.name,
                "ir_version": release.ir,
                "opsets": {domain_name(domain): version for domain in domains if (version := release.opset_of(domain))},
            }
            for release in RELEASES
        ],
        "element_types": [{key: getattr(element, key) for key in ELEMENT_KEYS} for element in ELEMENTS.values()],
        "type_sets": registry.type_sets,
        "families": dict(sorted(families.items())),
        "refusals": GENERAL,
    }
    yield "{\n"
    for key, value in head.items():
        yield f"{_json_line(key)}: {_json_line(value)},\n"
    yield '"domains": ['
    convertibility = Convertibility(registry)
    done = 0
    for number, domain in enumerate(domains):
        facts = {"domain": domain_name(domain), "newest": registry.domains[domain]}
        yield f'{"," if number else ""}\n{_json_line(facts)[:-1]}, "operators": ['
        for place, name in enumerate(registry.operators(domain)):
            yield f"{',' if place else ''}\n{_json_line(operator_data(registry, domain, name, convertibility))}"
            done += 1
            if progress is not None:
                progress(done, len(names))
        yield "\n]}"
    yield "\n]\n}\n"


def _json_line(data: Any) -> str:
    """Return data as JSON on one line, in printable ASCII. Raises ValueError for a number that JSON does not have."""
    text = json.dumps(json_data(data), allow_nan=False, separators=(",", ":"))
    return text.replace("\x7f", "\\u007f")


def operator_data(registry: Registry, domain: str, name: str, convertibility: Convertibility) -> dict[str, Any]:
    """Return all facts of an operator, with all its versions, in the form that operators.schema.json describes.

    `convertibility` is the table of conversions of the same registry. Raises IndexError if there is no such operator.
    """
    versions = registry.versions(name, domain)
    changed = {each.since: each for each in changes(versions, registry.type_sets)}
    table = convertibility.table_of(name, domain)
    return {
        "operator": name,
        "domain": domain_name(domain),
        "family": versions[-1].family,
        "versions": [_version_data(registry, schema, changed.get(schema.since_version)) for schema in versions],
        "examples": [
            example_data(each) | {key: getattr(each, key) for key in EXAMPLE_KEYS}
            for each in registry.examples(name, domain)
        ],
        "convertibility": {key: table[key] for key in ("newest", "omitted", "transitions", "versions")},
    }


def _version_data(registry: Registry, schema: OpSchema, changed: TransitionFacts | None) -> dict[str, Any]:
    """Return a version of an operator as plain data: the keys of `schema_data`, and more, such as "conditions".

    The key "change" is None if the version is the first, or if its YAML has no `change:` block. `changed` is the
    difference from the version before; it is None for the first version.
    """
    data = schema_data(registry, schema)
    for side, parameters in (("inputs", schema.inputs), ("outputs", schema.outputs)):
        for facts, parameter in zip(data[side], parameters, strict=True):
            facts |= {key: getattr(parameter, key) for key in PARAMETER_KEYS}
    data["conditions"] = [{**each._asdict(), "where": dict(each.where)} for each in schema.conditions]
    data["change"] = None if schema.change is None or changed is None else _change_data(schema.change, changed)
    return data


def _change_data(change: Change, computed: TransitionFacts) -> dict[str, Any]:
    """Return the change that made a version as plain data.

    - "before": the number of the version before, such as 13;
    - "difference": the computed difference of the signatures;
    - "words": this difference in phrases;
    - "declared": the difference that the `change:` block declares, None if it equals the computed one;
    - "up" and "down": the kind of adapter that the block declares ("declared"), and the computed kind ("work").

    Further keys, such as "meaning", are copied from the block.
    """
    difference = computed.difference
    return {
        "before": computed.before,
        "difference": difference,
        "words": computed.words,
        "declared": None if change.diff == difference else change.diff,
        "attributes": {name: each._asdict() for name, each in change.attributes.items()},
        "emulate": change.emulate,
        "renamed": change.renamed,
        "meaning": change.meaning,
        "clarified": change.clarified,
        "up": {"declared": change.up, "work": computed.up},
        "down": {"declared": change.down, "work": computed.down},
    }
