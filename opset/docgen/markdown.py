"""Operators as Markdown: a file and a changelog for each domain, and an index of them.

The files are read as they are and in viewers that know GitHub's form of Markdown: tables, and fences of `math`. All
that comes from the registry is data, see opset/docgen/prose.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opset import __version__
from opset.catalog import (
    TransitionFacts,
    arity_words,
    body_conditions,
    brief_type,
    changes,
    default_text,
    determinism_words,
    example_data,
    example_rows,
    implementation_title,
    releases_of,
    schema_data,
    value_text,
    work_text,
)
from opset.docgen import Progress
from opset.docgen.coverage import FUNCTION, NONE, UNKNOWN, count_column, coverage
from opset.docgen.prose import code_span, escape, fence, phrase, prose
from opset.docgen.runtime_facts import RuntimeFacts, facts_of_runtimes, runtimes_with
from opset.errors import safe_text
from opset.file_names import unique_slugs
from opset.opsets.registry import Registry
from opset.opsets.releases import is_released
from opset.schemas.example import Example, example_versions
from opset.schemas.model import OpSchema, unknown_words
from opset.schemas.names import domain_name, normalize_domain
from opset.schemas.status import status_words

EXAMPLES = 3
"""Examples that are shown of an operator."""
LONGEST = 300
"""Characters of a value in an example."""
LONGEST_GRAPH = 2000
"""Characters of a graph that keeps its lines."""
_NOT_IN_ANCHOR = re.compile(r"[^\w\- ]")
INDEX, COVERAGE, CHANGELOG = "README.md", "coverage.md", "changelog-"


class _Domain(NamedTuple):
    """A domain with the names of its two files, and the anchor of each heading of the first one."""

    name: str
    file: str
    changelog: str
    anchors: dict[str, str]

    def link(self, operator: str, from_other: bool = True) -> str:
        """Return the Markdown link to an operator's section in the domain's file.

        If `from_other`, the link works in any file of the folder, else only in the domain's own file. Raises KeyError
        if the domain does not have the operator.
        """
        return f"[{escape(operator)}]({self.file if from_other else ''}#{self.anchors[operator]})"


def pages(registry: Registry, domains: Sequence[str], progress: Progress | None = None) -> Iterator[tuple[str, bytes]]:
    """Yield the Markdown files as (path, content): the index, two files for each domain, and the coverage.

    `progress` is called after each operator, with the number of those that are done and the number of all.
    """
    files = []
    for domain, file in _file_names(domains).items():
        anchors = _anchors((domain_name(domain), "Contents", *registry.operators(domain)))
        files.append(_Domain(domain, f"{file}.md", f"{CHANGELOG}{file}.md", anchors))
    runtimes = facts_of_runtimes(registry) if any(map(is_released, domains)) else {}
    yield INDEX, _encode_lines(_index_lines(registry, files))
    total = sum(len(registry.operators(domain)) for domain in domains)
    done = 0
    for each in files:
        lines = _head_lines(registry, each)
        for operator in registry.operators(each.name):
            lines += operator_section(registry, each.name, operator, runtimes)
            done += 1
            if progress is not None:
                progress(done, total)
        yield each.file, _encode_lines(lines)
        yield each.changelog, _encode_lines(_changelog_lines(registry, each))
    yield COVERAGE, _encode_lines(_coverage_lines(registry, files))


def _file_names(domains: Sequence[str]) -> dict[str, str]:
    """Return the name of a file, without ".md", for each domain; no two files have the same name.

    Names that begin with CHANGELOG are kept for changelogs: a domain "changelog-x" gets the name "_changelog-x".
    """
    taken = [each.removesuffix(".md") for each in (INDEX, COVERAGE)]
    odd = [domain for domain in domains if domain.lower().startswith(CHANGELOG)]
    plain = unique_slugs(map(domain_name, domains), taken)
    other = unique_slugs((f"_{domain}" for domain in odd), (*taken, *plain.values()))
    return {domain: other[f"_{domain}"] if domain in odd else plain[domain_name(domain)] for domain in domains}


def _encode_lines(lines: Iterable[str]) -> bytes:
    """Return lines, each with a line feed at its end, as bytes in UTF-8."""
    return "".join(f"{line}\n" for line in lines).encode()


def _anchors(headings: Iterable[str]) -> dict[str, str]:
    """Return {heading: anchor}, with the anchors that viewers of Markdown give to the headings of a file.

    A heading "Some name" has the anchor "some-name". If two headings would get the same anchor, the later one is
    numbered: "some-name-1".
    """
    anchors: dict[str, str] = {}
    used: dict[str, int] = {}
    for heading in headings:
        base = anchor = _NOT_IN_ANCHOR.sub("", safe_text(heading, len(heading) * 10).lower()).replace(" ", "-")
        while anchor in used:
            used[base] += 1
            anchor = f"{base}-{used[base]}"
        used[anchor] = 0
        anchors[heading] = anchor
    return anchors


def _index_lines(registry: Registry, domains: Sequence[_Domain]) -> list[str]:
    """Return the lines of the index file: a table of domains with links to their files, and the named sets of types."""
    lines = [
        "# Operators",
        "",
        f"Made by `opset docs` {__version__} from the declarations of the operators.",
        "",
        *_table_head("domain", "newest version", "operators", "what changed"),
    ]
    for domain in domains:
        count, newest = len(registry.operators(domain.name)), registry.domains[domain.name]
        name = f"[{escape(domain_name(domain.name))}]({domain.file})"
        lines.append(_row(name, str(newest), str(count), f"[changelog]({domain.changelog})"))
    lines += ["", f"What there is to evaluate, infer and convert each version: [coverage]({COVERAGE})."]
    lines += ["", "## Type sets", "", "Types are written as named sets where one fits:", ""]
    lines += [f"- {code_span(name)}: {_types_text(types)}" for name, types in registry.type_sets.items()]
    return lines


def _types_text(types: Iterable[str]) -> str:
    """Return types as text: element types of tensors, then types of other kinds in groups, each after its kind.

    For example, "`float`, `int64`; `seq(tensor(…))` of `float`". A type without element type is listed as it is.
    """
    kinds: dict[str, list[str]] = {}
    for type_ in types:
        tensor = _TENSOR.fullmatch(type_)
        kinds.setdefault(f"{tensor[1]}…{tensor[3]}" if tensor else "", []).append(tensor[2] if tensor else type_)
    plain = [code_span(each) for kind in ("tensor(…)", "") for each in kinds.pop(kind, ())]
    others = [f"{code_span(kind)} of {', '.join(map(code_span, some))}" for kind, some in kinds.items()]
    return "; ".join([", ".join(plain), *others] if plain else others)


_TENSOR = re.compile(r"((?:\w+\()*tensor\()(\w+)(\)+)")


def _head_lines(registry: Registry, domain: _Domain) -> list[str]:
    """Return the first lines of a domain's file: its title, the number of operators, and a list of them by family."""
    newest = registry.domains[domain.name]
    operators = registry.operators(domain.name)
    count = f"{len(operators)} operator{'' if len(operators) == 1 else 's'}"
    summary = f"{count} at version {newest}; [what changed]({domain.changelog})"
    lines = [f"# {escape(domain_name(domain.name))}", "", summary, "", "## Contents", ""]
    families: dict[str, list[str]] = {}
    for name in operators:
        families.setdefault(registry.versions(name, domain.name)[-1].family, []).append(name)
    for family, names in sorted(families.items()):
        lines.append(f"- {escape(family)}: {', '.join(domain.link(name, False) for name in names)}")
    return lines


def operator_section(
    registry: Registry, domain: str, name: str, runtimes: Mapping[str, RuntimeFacts] | None = None
) -> list[str]:
    """Return the lines of an operator's section: its newest version in full, and the changes of each version.

    Args:
        registry: The operators.
        domain: The operator's domain.
        name: Its name. The registry must have it.
        runtimes: Facts on runtimes, by name, for a list of the runtimes that have the operator; None for no such list.
    """
    versions = registry.versions(name, domain)
    newest = versions[-1]
    data = schema_data(registry, newest)
    sinces = ", ".join(str(schema.since_version) for schema in versions)
    facts = [f"since {newest.since_version}", f"versions {sinces}", f"family {escape(newest.family)}"]
    facts += filter(None, [determinism_words(data["determinism"])])
    facts += ["experimental"] if data["experimental"] else []
    lines = ["", f"## {escape(name)}", "", f"{escape(domain_name(domain))} · {' · '.join(facts)}", ""]
    if data["deprecated"]:
        use = f"; use {escape(data['replacement'])}" if data["replacement"] else ""
        lines += [f"**Withdrawn{use}.**", ""]
    lines += [f"{unknown_words(data['unknown']).capitalize()}.", ""] if data["unknown"] else []
    lines += [line for text in data["amended"] for line in (f"{escape(text)}.", "")]
    lines += [*prose(data["doc"]), ""]
    lines += [*fence(data["formula"], "math"), ""] if data["formula"] else []
    lines += _signature_lines(data)
    checked = data["checked"]
    labelled = (f"{escape(label)} ({checked[label]}): {phrase(text)}" for label, text in data["constraints"].items())
    lines += _section_lines("Constraints", labelled)
    cases = (f"{phrase(case['text'])}{_ground_text(case)}" for case in data["special_cases"])
    lines += _section_lines("Special cases", cases)
    notes = (f"{escape(implementation_title(note))}: {phrase(note['text'])}" for note in data["implementations"])
    lines += _section_lines("Implementations", notes)
    if registry.is_standard(name, domain):
        having = [f"{each} {text}" for each, text in runtimes_with(runtimes or {}, (normalize_domain(domain), name))]
        lines += [f"**Runtimes** that have it: {', '.join(having)}", ""] if having else []
    lines += ["**Shapes of outputs**", "", code_span(data["shape"]), ""] if data["shape"] else []
    for body in data["function"]:
        lines += [
            f"**Function body**, {escape(body_conditions(body, data['function']))}",
            "",
            *fence(body["nodes"]),
            "",
        ]
    elsewhere = (f"{escape(each)}: {phrase(text)}" for each, text in data["counterparts"].items())
    lines += _section_lines("Elsewhere", elsewhere)
    lines += _example_lines(newest, registry.examples(name, domain))
    changed = reversed(changes(versions, registry.type_sets))
    lines += _section_lines(
        "Earlier versions", (f"{change.before} → {change.since}: {_change_text(change)}" for change in changed)
    )
    return lines[:-1]


def _ground_text(data: dict[str, Any]) -> str:
    """Return how a special case or example follows from the standard: " (stated: version 13)", " (chosen: …)".

    `data` is its plain data. The result is "" for the status "derived".
    """
    words = status_words(data["status"], data["because"])
    return f" ({phrase(words)})" if words else ""


def _section_lines(title: str, entries: Iterable[str]) -> list[str]:
    """Return the lines of a bold title, a list with an item for each entry, and an empty line; [] for no entries."""
    lines = [f"- {entry}" for entry in entries]
    return [f"**{title}**", "", *lines, ""] if lines else []


def _signature_lines(data: dict[str, Any]) -> list[str]:
    """Return the lines on inputs, outputs, attributes and types of a version, from its plain data."""
    lines: list[str] = []
    for side in ("input", "output"):
        low, high = data[f"min_{side}"], data[f"max_{side}"]
        count = str(low)
        if low != high:
            count += " or more" if high is None else f" to {high}"
        entries = []
        for each in data[f"{side}s"]:
            words = ", ".join([code_span(brief_type(each["type"])), *arity_words(each)])
            entries.append(f"{code_span(each['name'])} ({words}){_doc_text(each['doc'])}")
        lines += _section_lines(f"{side.capitalize()}s ({count})", entries)
    entries = []
    for each in data["attributes"]:
        entries.append(f"{code_span(each['name'])} ({_declaration_text(each)}){_doc_text(each['doc'])}")
    lines += _section_lines("Attributes", entries)
    sets = data["type_sets"]
    types = (f"{code_span(key)}: {_allowed_text(sets[key], types)}" for key, types in data["types"].items())
    return lines + _section_lines("Types", types)


def _allowed_text(sets: str, types: Sequence[str]) -> str:
    """Return types as text, after the names of their type sets: "`all`: `float`, `int64`".

    `sets` has the names, separated by commas. They are left out if they are only the names of the types themselves.
    """
    listed = _types_text(types)
    return listed if sorted(sets.split(", ")) == sorted(map(brief_type, types)) else f"{code_span(sets)}: {listed}"


def _doc_text(doc: str) -> str:
    """Return ": " and the documentation of a parameter, "" if it has none."""
    return f": {phrase(doc)}" if doc.strip() else ""


def _declaration_text(attribute: dict[str, Any]) -> str:
    """Return an attribute's declaration as text: type, default, "required", kind, legal values, and constraint.

    `attribute` is its plain data. For example, "int; default `0`; an axis".
    """
    words = [escape(attribute["type"])]
    words += [f"default {code_span(default_text(attribute['default']))}"] if attribute["default"] is not None else []
    words += ["required"] if attribute["required"] else []
    words += [_KINDS[attribute["kind"]]] if attribute["kind"] else []
    if choices := attribute["choices"]:
        text = str if attribute["kind"] == "data_type" else default_text
        words.append(f"one of {', '.join(code_span(text(choice)) for choice in choices)}")
    words += [code_span(attribute["range"])] if attribute["range"] else []
    words += [escape(attribute["constraint"])] if attribute["constraint"] else []
    return "; ".join(words)


_KINDS = {
    "bool": "0 or 1",
    "axis": "an axis",
    "axes": "axes",
    "data_type": "the number of an element type",
    "any_case": "in upper or lower case",
}


def _example_lines(schema: OpSchema, examples: Sequence[Example]) -> list[str]:
    """Return the lines of the first few examples (EXAMPLES) that hold for a version; [] if there are none.

    Examples without outputs, which show errors, are left out.
    """
    holding = [example for example in examples if example.outputs and example_versions(example, [schema.since_version])]
    lines: list[str] = []
    for each in holding[:EXAMPLES]:
        data = example_data(each)
        inputs, outputs = example_rows(schema, data)
        rows = [_attribute_text(schema, name, value) for name, value in data["attributes"].items()]
        rows += [_value_line(*value) for value in inputs]
        rows += [f"-> {_value_line(*value)}" for value in outputs]
        said = f"{f': {phrase(each.doc)}' if each.doc else ''}{_ground_text(data)}"
        lines += [f"{code_span(each.name)}{said}", "", *fence("\n".join(rows)), ""]
    return ["**Examples**", "", *lines] if lines else []


def _attribute_text(schema: OpSchema, name: str, value: Any) -> str:
    """Return an attribute of an example as "name = value", with a value that is cut to LONGEST characters on one line.

    A graph of at most LONGEST_GRAPH characters keeps its lines.
    """
    if isinstance(value, dict):
        text = f"{brief_type(value['type'])}{value['shape'] or ''} {value_text(value['content'])}"
    elif isinstance(value, str) and len(value) <= LONGEST_GRAPH and schema.attributes[name].type == "graph":
        return f"{name} = {value.strip()}"
    else:
        text = default_text(value)
    return f"{name} = {_shorten(text)}"


def _value_line(name: str, kind: str, value: str) -> str:
    """Return an input or output of an example as "name: type value"; `kind` is the type, "" if it is not shown."""
    return f"{name}: {kind}{' ' if kind else ''}{_shorten(value)}"


def _shorten(text: str) -> str:
    """Return text on one line, cut to LONGEST characters; a text that is cut ends in "…"."""
    text = " ".join(text.split("\n"))
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _change_text(change: TransitionFacts) -> str:
    """Return the changes of a version as text, and how nodes are converted up and down: "derived", "written", ...."""
    parts = [f"{'; '.join(map(escape, change.words))}."] if change.words else []
    parts += [phrase(change.meaning)] if change.meaning else []
    parts += [f"Clarified: {phrase(change.clarified)}"] if change.clarified else []
    parts.append(f"Conversion up: {escape(work_text(change.up))}; down: {escape(work_text(change.down))}.")
    return " ".join(parts)


def _changelog_lines(registry: Registry, domain: _Domain) -> list[str]:
    """Return the lines of a domain's changelog: its versions, newest first, with what is new, changed and withdrawn."""
    lines = [f"# Changes of {escape(domain_name(domain.name))}", ""]
    brought: dict[int, dict[str, list[str]]] = {}
    for name in registry.operators(domain.name):
        versions = registry.versions(name, domain.name)
        changed = {each.since: each for each in changes(versions, registry.type_sets)}
        for schema in versions:
            since = schema.since_version
            kind = "Changed" if since in changed else "New"
            if schema.deprecated:
                kind = "Withdrawn"
            said = f": {_change_text(changed[since])}" if since in changed else ""
            parts = brought.setdefault(since, {"New": [], "Changed": [], "Withdrawn": []})
            parts[kind].append(domain.link(name) + said)
    for version, kinds in sorted(brought.items(), reverse=True):
        releases = releases_of(domain.name, version)
        lines += [f"## {version}", ""]
        lines += [f"onnx {', '.join(releases)}", ""] if releases else []
        if kinds["New"]:
            lines += [f"**New**: {', '.join(kinds['New'])}", ""]
        for kind in ("Changed", "Withdrawn"):
            lines += _section_lines(kind, kinds[kind])
    return lines[:-1]


_COLUMNS = {
    "kernel": "evaluates the operator",
    "inference": "infers the types and shapes of outputs: by the rule that its declaration names, or by a function",
    "up": "takes a node of the version before to this one",
    "down": "takes a node of this version to the one before",
    "lowering": "expresses the operator by others where it does not exist: a written lowering, or the function body",
}


def _coverage_lines(registry: Registry, domains: Sequence[_Domain]) -> list[str]:
    """Return the lines of the page that lists kernel, inference and conversions of each version of each operator."""
    tables = [(each, [*coverage(registry, each.name)]) for each in domains]
    lines = ["# Coverage", "", "For each version of an operator, what there is that", ""]
    lines += [f"- {column}: {says}" for column, says in _COLUMNS.items()]
    lines += ["", "A cell is empty where nothing can be, and `none` where nothing is there. `written` is code for the"]
    lines += ["version, `derived` a conversion that follows from the declared change. How many versions have it:", ""]
    lines += _table_head("domain", "versions", *_COLUMNS)
    for domain, rows in tables:
        numbers = (count_column(rows, column) for column in _COLUMNS)
        counts = (f"{some} of {most}" if some != most else str(most or "") for some, most in numbers)
        lines.append(_row(escape(domain_name(domain.name)), str(len(rows)), *counts))
    for domain, rows in tables:
        lines += ["", f"## {escape(domain_name(domain.name))}", "", *_table_head("operator", "version", *_COLUMNS)]
        for row in rows:
            rule = row.inference if row.inference in (NONE, UNKNOWN, FUNCTION) else code_span(row.inference)
            works = (escape(each) for each in (row.up, row.down, row.lowering))
            cells = (row.kernel, rule.replace("|", "\\|"), *works)
            lines.append(_row(domain.link(row.operator), str(row.since), *cells))
    return lines


def _table_head(*columns: str) -> list[str]:
    """Return the first two lines of a Markdown table: the titles of its columns, and the rule."""
    return [_row(*columns), "| --- " * len(columns) + "|"]


def _row(*cells: str) -> str:
    """Return a row of a Markdown table as a line: "| a | b |". Cells are not escaped."""
    return f"| {' | '.join(cells)} |"
