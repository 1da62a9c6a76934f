"""The page of an operator, as data that its template puts into place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from markupsafe import Markup

from opset.catalog import (
    TransitionFacts,
    arity_words,
    body_conditions,
    brief_type,
    changes,
    default_text,
    determinism_words,
    difference_words,
    example_data,
    example_rows,
    first_sentence,
    implementation_title,
    release_that_brought,
    schema_data,
    value_text,
    work_text,
)
from opset.docgen.body import body_picture
from opset.docgen.code import highlight
from opset.docgen.convertibility import GENERAL, Convertibility
from opset.docgen.derived_changes import Key
from opset.docgen.markup import formula, html, inline
from opset.docgen.paths import Paths, tag_anchor
from opset.docgen.python_examples import python_parts
from opset.docgen.runtime_facts import RuntimeFacts, anchor_of, runtimes_with
from opset.docgen.type_words import LONGEST as LONGEST_TYPES
from opset.docgen.type_words import list_of_types, words_of_types
from opset.errors import escape_text
from opset.file_names import slug
from opset.opsets.registry import Registry
from opset.opsets.runtime_kernels import kernels_data
from opset.schemas.diff import signature_diff
from opset.schemas.example import Example, example_versions
from opset.schemas.model import VARIADIC, OpSchema
from opset.schemas.names import domain_name, normalize_domain
from opset.schemas.status import status_words

LONGEST = 600
"""Characters of a value that a page shows."""
WIDE = 60
"""Characters of attributes that stand on one line of a signature."""
OPEN = 6
"""Examples that a page shows at once; the others unfold."""


class Site(NamedTuple):
    """The facts from which the pages of the site are made: operators, paths, convertibility, runtimes."""

    registry: Registry
    paths: Paths
    convertibility: Convertibility
    bodies: Mapping[str, str]
    """Paths of the operators of ai.onnx, from the page of another operator: function bodies consist of them."""
    runtimes: Mapping[str, RuntimeFacts] = {}
    """The runtimes that have pages, by name."""

    def link(self, name: str, domain: str, root: str) -> dict[str, str]:
        """Return a link to an operator's page as {"name", "href", "note"}; "href" is "" if the operator has no page.

        `root` is the relative path to the root of the site, such as "../".
        """
        path = self.paths.operator(name, domain)
        return {"name": escape_text(name), "href": f"{root}{path}" if path else "", "note": ""}


def operator_page(site: Site, domain: str, name: str) -> dict[str, Any]:
    """Return the data for the template of an operator's page.

    Raises IndexError if the registry does not have the operator.
    """
    registry = site.registry
    root = "../"
    versions = registry.versions(name, domain)
    newest = versions[-1]
    data = {schema.since_version: schema_data(registry, schema) for schema in versions}
    changed = {each.since: each for each in changes(versions, registry.type_sets)}
    spans = _opset_spans(registry, versions)
    sections = []
    newer: dict[str, Any] | None = None
    for schema in reversed(versions):
        since = schema.since_version
        section = _section_data(schema, data[since], newer, site.bodies)
        section |= {"span": spans[since], "change": _change_data(changed.get(since))}
        section["brought"] = release_that_brought(schema)
        sections.append(section)
        newer = data[since]
    # Examples that are errors come last.
    ordered = sorted(registry.examples(name, domain), key=lambda each: bool(each.error))
    newest_standard = registry.domains.get("", newest.since_version)
    examples = [_example_data(versions, each, number, newest_standard) for number, each in enumerate(ordered, 1)]
    summary = first_sentence(data[newest.since_version]["doc"])
    page = {
        "name": escape_text(name),
        "description": escape_text(f"{name} of {domain_name(domain)}: {summary}"),
        "domain": escape_text(domain_name(domain)),
        "domain_href": root + site.paths.domain(domain),
        "family": escape_text(newest.family),
        "family_href": root + site.paths.family(newest.family),
        "badges": _badges(data[newest.since_version]),
        "versions": [{"since": each["since"], "id": each["id"], "span": each["span"]} for each in reversed(sections)],
        "sections": sections,
        "conversion": _conversion_data(site, name, domain, root),
        "implementations": _implementations_data(data),
        "runtimes": _runtimes_data(site, (normalize_domain(domain), name), root),
        "kernels": _kernels_data(registry, versions),
        "matrix": _type_matrix(site, versions, root),
        "comparisons": _comparisons_data(registry, versions),
        "examples": {"first": examples[:OPEN], "others": examples[OPEN:]} if examples else None,
    }
    return {**page, "contents": _contents(page)}


def _contents(page: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return links to the parts of an operator's page, as {"name", "href"}; parts without content are left out."""
    parts = {
        "types": ("Types by version", page["matrix"]["rows"]),
        "conversion": ("Conversion", True),
        "implementations": ("Implementations", page["implementations"]),
        "runtimes": ("Runtimes", page["kernels"]),
        "differences": ("Differences", page["comparisons"]["pairs"]),
        "examples": ("Examples", page["examples"]),
    }
    links = [{"name": "Versions", "href": f"#{page['sections'][0]['id']}"}]
    return links + [{"name": title, "href": f"#{anchor}"} for anchor, (title, filled) in parts.items() if filled]


def _conversion_data(site: Site, name: str, domain: str, root: str) -> dict[str, Any]:
    """Return the data of the part on conversion: what happens to nodes, by version and target, and all transitions.

    `root` is the relative path to the root of the site.
    """
    data = site.convertibility.table_of(name, domain)
    ends = {step["id"]: {"from": step["from"], "to": step["to"] or "older operators"} for step in data["transitions"]}
    direct_codes = {
        transition["id"]: {refusal["code"] for refusal in transition["refusals"]} for transition in data["transitions"]
    }

    def row(each: dict[str, Any], linked: set[str]) -> dict[str, Any]:
        """Return the row of a range of targets, whose plain data is `each`.

        Its error codes become links unless they are in `linked`; all of them are added to `linked`.
        """
        low, high = each["targets"]
        refused = each["kind"] == "refuse"
        direct = {*each["codes"]} if refused else {code for step in each["steps"] for code in direct_codes[step]}
        codes = []
        for code in each["codes"]:
            note = "" if code in direct else _further_refusals_text(each, code)
            codes.append({"code": code, "note": note, "linked": code not in linked})
            linked.add(code)
        return {
            "targets": str(low) if low == high else f"{low} to {high}",
            "kind": each["kind"],
            "text": inline(each["text"]),
            "steps": [{"id": f"convert-{step}", **ends[step]} for step in each["steps"]],
            "lowered": escape_text(_lowered_text(each["lowered"])),
            "codes": codes,
        }

    return {
        "omitted": data["omitted"],
        "general": [each["code"] for each in GENERAL],
        "versions": [
            {"since": version["since"], "ranges": [row(each, linked) for each in version["ranges"]]}
            for version in data["versions"]
            for linked in [set[str]()]  # each version links a code once
        ],
        "transitions": [
            {
                "id": f"convert-{transition['id']}",
                "name": "{from} → {to}".format_map(ends[transition["id"]]),
                "kind": transition["kind"],
                "how": "by its function body" if transition["how"] == "body" else work_text(transition["how"]),
                "proof": transition["proof"],
                "text": inline(transition["text"]),
                "also": [*map(inline, transition["also"])],
                "operators": [site.link(made["operator"], made["domain"], root) for made in transition["operators"]],
                "refusals": [
                    {"code": refusal["code"], "why": inline(refusal["why"])} for refusal in transition["refusals"]
                ],
            }
            for transition in data["transitions"]
        ],
    }


def _lowered_text(entries: Iterable[Mapping[str, Any]]) -> str:
    """Return a sentence on the new operators that are replaced below some opset; "" if there are no `entries`.

    The entry {"operator": "Pad", "below": 7} means: a conversion makes a Pad, and for a target below opset 7, other
    operators replace this Pad. With a similar entry for Clip, the sentence is "These become others: Clip, Pad below
    7.".
    """
    names_by_limit: dict[int, list[str]] = {}
    for entry in entries:
        names_by_limit.setdefault(entry["below"], []).append(entry["operator"])
    parts = [f"{', '.join(names)} below {below}" for below, names in sorted(names_by_limit.items())]
    return f"These become others: {'; '.join(parts)}." if parts else ""


def _further_refusals_text(row: Mapping[str, Any], code: str) -> str:
    """Return which new nodes may be refused with a code, and at which targets: "(Clip, Pad below 7)".

    New nodes are those that a conversion makes. The result is "" if none may be refused. `row` is the plain data of a
    range of targets.
    """
    parts = []
    for each in row["through"]:
        if each["code"] == code:
            where = f"below {each['below']}" if "below" in each else f"from {each['from']} on"
            parts.append(f"{', '.join(made['operator'] for made in each['operators'])} {where}")
    return f"({'; '.join(parts)})" if parts else ""


def _runtimes_data(site: Site, key: Key, root: str) -> list[dict[str, str]]:
    """Return links to the runtimes that have an operator; the note of a link says which releases have it.

    The result is [] for an operator that is not standard. `key` is (domain, operator), `root` the relative path to the
    root of the site.
    """
    if not site.registry.is_standard(key[1], key[0]):
        return []
    anchor = anchor_of(key)
    return [
        {"name": name, "href": f"{root}{Paths.runtime(name)}#{anchor}", "note": text}
        for name, text in runtimes_with(site.runtimes, key)
    ]


def _kernels_data(registry: Registry, versions: tuple[OpSchema, ...]) -> dict[str, Any] | None:
    """Return the data of the table of onnxruntime's kernels; None for an operator that is not standard.

    The keys are "runtime", "provider" (the execution provider), "releases" (those that are known), and "rows": for each
    version of the operator, newest first, the releases that have a kernel for it.
    """
    if not registry.is_standard(versions[0].name, versions[0].domain):
        return None
    known = [kernels_data(schema) for schema in reversed(versions)]
    rows = [
        {"since": schema.since_version, "text": escape_text(each["text"]), "function": each["function"]}
        for schema, each in zip(reversed(versions), known, strict=True)
    ]
    first = known[0]
    return {"runtime": first["runtime"], "provider": first["provider"], "releases": first["known"], "rows": rows}


def _opset_spans(registry: Registry, versions: tuple[OpSchema, ...]) -> dict[int, str]:
    """Return the opsets at which each version is in force, as text ("opsets 13 to 20"), by its since_version."""
    sinces = [schema.since_version for schema in versions]
    ends = [*(since - 1 for since in sinces[1:]), registry.domains[versions[0].domain]]
    return {
        since: f"opset {since}" if since == end else f"opsets {since} to {end}"
        for since, end in zip(sinces, ends, strict=True)
    }


def _implementations_data(data: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the notes on what runtimes do with an operator: {"title", "notes"} for each tested runtime.

    `data` has the plain data of each version of the operator. A note that does not hold for all versions lists the
    versions for which it holds.
    """
    held: dict[str, dict[str, list[int]]] = {}
    for since, version in data.items():
        for note in version["implementations"]:
            held.setdefault(implementation_title(note), {}).setdefault(note["text"], []).append(since)
    return [
        {
            "title": escape_text(title),
            "notes": [
                {
                    "text": inline(text),
                    "label": "Version" if len(versions) == 1 else "Versions",
                    "versions": versions if len(versions) < len(data) else [],
                }
                for text, versions in texts.items()
            ],
        }
        for title, texts in held.items()
    ]


def _badges(data: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the tags of a version, such as "withdrawn", as {"name", "id"}; "id" is its HTML id on the page of tags.

    `data` is the plain data of the version.
    """
    badges = ["withdrawn"] if data["deprecated"] else []
    badges += ["experimental"] if data["experimental"] else []
    badges += [f"{data['unknown']} unknown"] if data["unknown"] else []
    badges += filter(None, [determinism_words(data["determinism"])])
    badges += ["function"] if data["function"] else []
    return [{"name": each, "id": tag_anchor(each)} for each in badges]


def _section_data(
    schema: OpSchema, data: Mapping[str, Any], newer: Mapping[str, Any] | None, links: Mapping[str, str]
) -> dict[str, Any]:
    """Return the data of a page's section on one version of an operator.

    Args:
        schema: The version.
        data: The plain data of the version.
        newer: The plain data of the next newer version, None for the newest. Text that both versions have is shown in
            the section of the newer version only.
        links: Addresses of operators' pages, by the operators' names.
    """
    since = schema.since_version
    anchor = f"v{since}"
    same = newer is not None and all(data[key] == newer[key] for key in ("doc", "formula", "special_cases"))
    same_bodies = newer is not None and bool(data["function"]) and data["function"] == newer["function"]
    constraints = {
        label: _list_entry(f"{anchor}-{slug(label)}", label, [data["checked"][label]], inline(text))
        for label, text in data["constraints"].items()
    }
    ids = {label: each["id"] for label, each in constraints.items()}

    def parameters(key: str, side: str) -> list[dict[str, Any]]:
        """Return the list entries of `key`, "inputs" or "outputs"; `side`, "in" or "out", is a part of their ids."""
        entries = []
        for each in data[key]:
            facts = [brief_type(each["type"]), *arity_words(each)]
            entries.append(
                _list_entry(f"{anchor}-{side}-{slug(each['name'])}", each["name"], facts, inline(each["doc"]))
            )
        return entries

    replaced = f"; use `{data['replacement']}`" if data["replacement"] else ""
    return {
        "since": since,
        "id": anchor,
        "same_as": newer["since"] if same and newer is not None else None,
        "withdrawn": inline(f"Withdrawn{replaced}.") if data["deprecated"] else "",
        "badges": _badges(data),
        "amended": [*map(escape_text, data["amended"])],
        "signature": highlight(signature(data), "onnx"),
        "doc": html(data["doc"]),
        "formula": formula(data["formula"]) if data["formula"] else "",
        "cases": [{"text": inline(case["text"]), **_ground_data(case)} for case in data["special_cases"]],
        "has_grounds": any(case["because"] for case in data["special_cases"]),
        "attributes": [_attribute_data(attribute, anchor, ids) for attribute in data["attributes"]],
        "inputs": parameters("inputs", "in"),
        "outputs": parameters("outputs", "out"),
        "types": [
            _types_entry(f"{anchor}-type-{slug(key)}", key, data["type_sets"][key], types)
            for key, types in data["types"].items()
        ],
        "constraints": [*constraints.values()],
        "shape": escape_text(data["shape"]),
        "bodies_of": newer["since"] if newer is not None and same_bodies else None,
        "bodies": [
            {
                "served": escape_text(body_conditions(body, data["function"])),
                "code": highlight(body["nodes"], "onnx", links),
                "picture": body_picture(schema, schema.function[number], links),
            }
            for number, body in enumerate(() if same_bodies else data["function"])
        ],
        "counterparts": [{"name": escape_text(key), "text": inline(text)} for key, text in data["counterparts"].items()]
        if newer is None or data["counterparts"] != newer["counterparts"]
        else [],
    }


def signature(data: Mapping[str, Any]) -> str:
    """Return an operator's signature as a node in ONNX text, with types and defaults of attributes.

    Optional parts are followed by "?", variadic ones by ", …": "Y = Softmax <axis: int = -1> (X)". `data` is the plain
    data of a version.
    """

    def names(side: str) -> str:
        """Return the names of `side`, "inputs" or "outputs", as text, with "?" or ", …" behind them."""
        marks = {"optional": "?", VARIADIC: ", …"}
        return ", ".join(each["name"] + marks.get(each["option"], "") for each in data[side])

    attributes = [
        f"{each['name']}{'' if each['required'] or each['default'] is not None else '?'}: {each['type']}"
        + ("" if each["default"] is None else f" = {default_text(each['default'])}")
        for each in data["attributes"]
    ]
    stated = f" <{', '.join(attributes)}>" if attributes else ""
    if len(stated) > WIDE:
        stated = " <\n    " + ",\n    ".join(attributes) + "\n>"
    return f"{names('outputs')} = {data['operator']}{stated} ({names('inputs')})"


def _attribute_data(data: Mapping[str, Any], anchor: str, ids: Mapping[str, str]) -> dict[str, Any]:
    """Return the list entry of an attribute: name, facts such as type and default, doc, and constraint.

    `data` is the plain data of the attribute. The HTML id of the entry begins with `anchor`, the HTML id of the
    version's section. `ids` has the HTML ids of constraints by label.
    """
    default = data["default"]
    facts = [data["type"] if default is None else f"{data['type']} = {default_text(default)}"]
    facts += ["required"] if data["required"] else ["optional"] if default is None else []
    facts += [data["kind"]] if data["kind"] else []
    facts += [f"one of {', '.join(map(value_text, data['choices']))}"] if data["choices"] else []
    facts += [data["range"]] if data["range"] else []
    entry = _list_entry(f"{anchor}-attr-{slug(data['name'])}", data["name"], facts, inline(data["doc"]))
    return {**entry, "label": escape_text(data["constraint"]), "label_id": ids.get(data["constraint"], "")}


def _types_entry(anchor: str, name: str, named: str, types: Iterable[str]) -> dict[str, Any]:
    """Return the list entry of a type variable, such as T.

    A list of types longer than LONGEST_TYPES is folded behind a short text.

    Args:
        anchor: The HTML id of the entry.
        name: The name of the type variable.
        named: The names of the type sets that its types consist of.
        types: Its types.
    """
    listed = escape_text(list_of_types(types))
    if listed == named:
        return _list_entry(anchor, name, [named], "")
    words = words_of_types(types)
    if len(listed) <= LONGEST_TYPES:
        return _list_entry(anchor, name, [named], listed)
    folded = Markup("<details><summary>{}</summary>{}</details>").format(escape_text(words), listed)
    return _list_entry(anchor, name, [named], folded)


def _list_entry(anchor: str, name: str, facts: Iterable[str], doc: Markup | str) -> dict[str, Any]:
    """Return an entry of a list on the page: its HTML id, its name, `facts` beside the name, and `doc` below.

    Its "label" and "label_id" are "".
    """
    return {
        "id": anchor,
        "name": escape_text(name),
        "facts": [*map(escape_text, facts)],
        "doc": doc,
        "label": "",
        "label_id": "",
    }


def _change_data(change: TransitionFacts | None) -> dict[str, Any] | None:
    """Return the changes of a version as data for the template, with texts as HTML; None for the first version."""
    if change is None:
        return None
    return {
        "before": change.before,
        "words": [*map(escape_text, change.words)],
        "meaning": inline(change.meaning),
        "clarified": inline(change.clarified),
        "up": escape_text(change.up),
        "down": escape_text(change.down),
    }


def _type_matrix(site: Site, versions: tuple[OpSchema, ...], root: str) -> dict[str, Any]:
    """Return a table of types by versions as {"columns", "rows"}.

    A cell has the type variables of its version that allow the type, such as "T"; "" if none does. Types with equal
    cells share a row. `root` is the relative path to the root of the site.
    """
    cells: dict[str, list[str]] = {}
    for position, schema in enumerate(versions):
        for name, types in schema.types.items():
            for type_ in types:
                row = cells.setdefault(type_, [""] * len(versions))
                row[position] = f"{row[position]} {name}".strip()
    rows: dict[tuple[str, ...], list[str]] = {}
    for type_, row in cells.items():
        rows.setdefault(tuple(row), []).append(type_)
    ordered = sorted(rows.items(), key=lambda each: ([not cell for cell in each[0]], each[1]))

    def link(type_: str) -> dict[str, str]:
        """Return a link to the page of a tensor's element type; "href" is "" for any other type."""
        element = brief_type(type_)
        return {"name": escape_text(element), "href": f"{root}{Paths.element(element)}" if element != type_ else ""}

    return {
        "columns": [schema.since_version for schema in versions],
        "rows": [{"types": [*map(link, types)], "cells": [*map(escape_text, row)]} for row, types in ordered],
    }


def _comparisons_data(registry: Registry, versions: tuple[OpSchema, ...]) -> dict[str, Any]:
    """Return a table of the differences in signature between any two versions of an operator.

    "columns" are the newer versions. Each of "rows" has the older version ("since") and a cell for each column; the
    cell is None if the column's version is not newer. "pairs" are all cells that are not None.
    """
    pairs: dict[tuple[int, int], dict[str, Any]] = {}
    for before, after in combinations(versions, 2):
        words = difference_words(signature_diff(before, after), registry.type_sets)
        here, there = before.since_version, after.since_version
        crossed = [schema for schema in versions if here < schema.since_version <= there]
        said = [
            each.since_version for each in crossed if each.change and (each.change.meaning or each.change.clarified)
        ]
        pairs[here, there] = {
            "id": f"diff-{here}-{there}",
            "before": here,
            "after": there,
            "words": [*map(escape_text, words)],
            "said": said,
            "title": f"{here} → {there}",
        }
    sinces = [schema.since_version for schema in versions]
    rows = [{"since": here, "cells": [pairs.get((here, there)) for there in sinces[1:]]} for here in sinces[:-1]]
    return {"columns": sinces[1:], "rows": rows, "pairs": [*pairs.values()]}


def _example_data(
    versions: tuple[OpSchema, ...], example: Example, number: int, newest_standard: int
) -> dict[str, Any]:
    """Return the data of an example, at the newest version for which it holds.

    Args:
        versions: All versions of the operator, oldest first.
        example: The example.
        number: Its position on the page, counted from 1, a part of its HTML id.
        newest_standard: The newest version of ai.onnx.
    """
    held = example_versions(example, [each.since_version for each in versions])
    schema = next(each for each in versions if each.since_version == held[-1])
    data = example_data(example)
    inputs, outputs = example_rows(schema, data)
    attributes = []
    for name, value in data["attributes"].items():
        text = value if isinstance(value, str) and "\n" in value else value_text(value)
        attributes.append({"name": escape_text(name), "text": _shorten(text)})
    return {
        "id": f"example-{number}-{slug(example.name)}",
        "name": escape_text(example.name.replace("_", " ")),
        "doc": inline(example.doc),
        "versions": _versions_text(held, versions),
        **_ground_data(data),
        "error": escape_text(example.error),
        "error_id": f"v{schema.since_version}-{slug(example.error)}",
        "attributes": attributes,
        "python": python_parts(schema, example, newest_standard, [_shorten(text) for _, _, text in inputs]),
        "shown": [
            {"side": side, "name": escape_text(name), "type": escape_text(type_), "text": _shorten(text)}
            for side, values in (("in", inputs), ("out", outputs))
            for name, type_, text in values
        ],
    }


def _ground_data(data: Mapping[str, Any]) -> dict[str, str]:
    """Return {"status", "ground"}: how a special case or example follows from the standard, and why, as HTML.

    `data` is its plain data.
    """
    return {"status": data["status"], "ground": inline(status_words(data["status"], data["because"]))}


def _versions_text(held: list[int], versions: tuple[OpSchema, ...]) -> str:
    """Return the versions for which an example holds as text: "version 13", "from version 7", "versions 7 to 13".

    The text is "" if it holds for all versions. `held` are the versions for which it holds, oldest first. `versions`
    are all versions of the operator.
    """
    if len(held) == len(versions):
        return ""
    if len(held) == 1:
        return f"version {held[0]}"
    if held[-1] == versions[-1].since_version:
        return f"from version {held[0]}"
    return f"versions {held[0]} to {held[-1]}"


def _shorten(text: str) -> str:
    """Return text with control characters escaped, cut to LONGEST characters; its lines stay.

    A text that is cut ends in "…".
    """
    whole = "\n".join(map(escape_text, text.splitlines()))
    return whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 1]}…"
