"""Pages other than the operators', as data: indexes by opset, release, type, family and domain, and codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from markupsafe import Markup

from opset.catalog import OperatorSet, brief_type, first_sentence, operator_set, operator_set_difference, work_text
from opset.docgen.markup import html, inline
from opset.docgen.operator_pages import Site
from opset.errors import CODES, escape_text
from opset.explanations import body_of
from opset.file_names import slug
from opset.model.elements import ELEMENTS
from opset.opsets.releases import RELEASES
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name

KINDS = {
    "U": "The call",
    "M": "The model",
    "S": "Operator YAML",
    "I": "Inference",
    "C": "Conversion",
    "R": "Evaluation",
    "G": "Checks",
}


class IndexPage(NamedTuple):
    """A page: its path, the data that its template shows, and its kind and text for the search."""

    path: str
    page: dict[str, Any]
    kind: str
    text: str


def index_page(
    path: str,
    kind: str,
    title: str,
    *,
    lead: Markup | str = "",
    text: str = "",
    body: Markup | str = "",
    parts: Iterable[dict[str, Any]] = (),
    trail: Iterable[dict[str, str]] = (),
) -> IndexPage:
    """Return a page; `kind` and `text` are for the search.

    Below the title come `lead` (a sentence), `body`, and `parts`, which `part` makes. `trail` has the links, made by
    `link`, to the pages above this one.
    """
    page = {"title": escape_text(title), "lead": lead, "body": body, "parts": [*parts], "trail": [*trail]}
    return IndexPage(path, page, kind, text)


def part(title: str = "", **filled: Any) -> dict[str, Any]:
    """Return a part of a page: a title, and below it some of `text`, `names`, `operators` and `table`.

    `names` are links, made by `link`; with `described=True` each has a line of its own, with its note.
    """
    empty = {"text": "", "names": [], "described": False, "operators": [], "table": None}
    return {"title": escape_text(title), "id": slug(title.lower()) if title else "", **empty, **filled}


def table(head: Sequence[str], rows: Iterable[Sequence[dict[str, Any]]], ids: Iterable[str] = ()) -> dict[str, Any]:
    """Return a table with titles of columns and rows of cells; `ids` are HTML ids of rows, if links lead to them."""
    pairs = zip_longest(rows, ids, fillvalue="")
    return {"head": head, "rows": [{"id": anchor, "cells": cells} for cells, anchor in pairs]}


def cell(text: object = "", links: Iterable[dict[str, str]] = ()) -> dict[str, Any]:
    """Return a cell of a table: a text, or links that `link` makes."""
    return {"text": text if isinstance(text, Markup) else escape_text(text), "links": [*links]}


def link(name: object, href: str) -> dict[str, str]:
    """Return a link as templates take it: its name, its address, and an empty note."""
    return {"name": escape_text(name), "href": href, "note": ""}


class OperatorEntry(NamedTuple):
    """An operator in an index."""

    domain: str
    name: str
    versions: tuple[OpSchema, ...]
    summary: str

    @property
    def newest(self) -> OpSchema:
        """Newest version of the operator."""
        return self.versions[-1]


def operators_of(site: Site) -> list[OperatorEntry]:
    """Return the operators of a site, sorted by domain and name."""
    registry = site.registry
    entries = []
    for domain in site.paths.domains:
        for name in registry.operators(domain):
            versions = registry.versions(name, domain)
            summary = first_sentence(registry.documentation(versions[-1]).doc).rstrip(".")
            entries.append(OperatorEntry(domain, name, versions, escape_text(summary)))
    return entries


def _operator_row(site: Site, entry: OperatorEntry, root: str) -> dict[str, Any]:
    """Return the row of an operator in a list of operators; `root` is the relative path to the site's root."""
    return {
        **site.link(entry.name, entry.domain, root),
        "versions": [schema.since_version for schema in reversed(entry.versions)],
        "summary": entry.summary,
        "badge": "withdrawn" if entry.newest.deprecated else "",
    }


def index_pages(site: Site, operators: list[OperatorEntry]) -> Iterator[IndexPage]:
    """Yield all pages except the home page and the pages of operators and guides."""
    yield from _domain_pages(site, operators)
    yield from _opset_pages(site)
    yield from _release_pages(site)
    yield from _family_pages(site, operators)
    yield from _type_pages(site, operators)
    yield _sets_page(site)
    yield from _code_pages()


def _domain_pages(site: Site, operators: list[OperatorEntry]) -> Iterator[IndexPage]:
    """Yield a page for each domain, which lists its versions and operators."""
    for domain in site.paths.domains:
        members = [operator for operator in operators if operator.domain == domain]
        newest = site.registry.domains[domain]
        lead = f"{len(members)} operators; the newest version of the operator set is {newest}."
        versions = [link(each, f"../{site.paths.opset(domain, each)}") for each in range(newest, 0, -1)]
        rows = [_operator_row(site, member, "../") for member in members]
        parts = [part("Versions", names=versions), part("Operators", operators=rows)]
        yield index_page(site.paths.domain(domain), "domain", domain_name(domain), lead=lead, text=lead, parts=parts)


def _opset_pages(site: Site) -> Iterator[IndexPage]:
    """Yield a page for each version of each operator set, and the page that lists all of these."""
    parts = []
    for domain in site.paths.domains:
        rows = []
        for version in range(site.registry.domains[domain], 0, -1):
            data = operator_set(site.registry, domain, version)
            path = site.paths.opset(domain, version)
            counts = map(len, (data.operators, data.new, data.changed, data.withdrawn))
            named = cell(links=[link(f"{domain_name(domain)} {version}", f"../{path}")])
            rows.append([named, cell(", ".join(data.releases)), *map(cell, counts)])
            yield _opset_page(site, domain, version, data)
        head = ["Version", "onnx releases", "Operators", "New", "Changed", "Withdrawn"]
        parts.append(part(domain_name(domain), table=table(head, rows)))
    lead = "What each version of each operator set has, and what it brought."
    yield index_page("opsets/index.html", "index", "Operator sets", lead=lead, text=lead, parts=parts)


def _opset_page(site: Site, domain: str, version: int, data: OperatorSet) -> IndexPage:
    """Return the page of one version of an operator set; `data` are its operators, and which of them are new."""

    def version_link(operator: str, since: int) -> dict[str, str]:
        found = site.link(operator, domain, "../")
        return {**found, "href": f"{found['href']}#v{since}"}

    parts = []
    if data.new:
        parts.append(part("New", names=[version_link(each.operator, each.since) for each in data.new]))
    if version > 1:
        difference = operator_set_difference(site.registry, domain, version - 1, version)
        rows = [
            [
                cell(links=[version_link(change.operator, change.since_after)]),
                cell(f"{change.since_before} → {change.since_after}"),
                cell("; ".join(change.words)),
                cell(inline(" ".join(change.meaning))),
                cell(work_text(change.work)),
            ]
            for change in difference.changed
        ]
        if rows:
            head = ["Operator", "Versions", "Signature", "Meaning", "Conversion up"]
            parts.append(part("Changed", table=table(head, rows)))
    if data.withdrawn:
        parts.append(part("Withdrawn", names=[version_link(each.operator, each.since) for each in data.withdrawn]))
    families: dict[str, list[dict[str, str]]] = {}
    for operator in data.operators:
        link_to_version = version_link(operator.operator, operator.since)
        families.setdefault(operator.family, []).append({**link_to_version, "note": str(operator.since)})
    rows = [
        [
            cell(links=[link(family, f"../{site.paths.family(family)}")]),
            cell(links=[{**name, "name": f"{name['name']} {name['note']}"} for name in names]),
        ]
        for family, names in sorted(families.items())
    ]
    text = "All operators of this version of the operator set, each with the version that it has here."
    parts.append(part("Operators", text=text, table=table(["Family", "Operators"], rows)))
    releases = f", in onnx {', '.join(data.releases)}" if data.releases else ""
    neighbors = [
        link(f"{domain_name(domain)} {each}", f"../{site.paths.opset(domain, each)}")
        for each in (version - 1, version + 1)
        if 0 < each <= site.registry.domains[domain]
    ]
    parts.append(part("Before and after", names=neighbors))
    text = " ".join(["opset", str(version), *(each.operator for each in (*data.new, *data.changed, *data.withdrawn))])
    lead = f"{len(data.operators)} operators{releases}."
    path = site.paths.opset(domain, version)
    trail = [link("Operator sets", "index.html")]
    return index_page(path, "opset", f"{domain_name(domain)} {version}", lead=lead, text=text, parts=parts, trail=trail)


def _release_pages(site: Site) -> Iterator[IndexPage]:
    """Yield the page about the releases of onnx, with the IR version and the operator sets of each."""
    domains = [domain for domain in site.paths.domains if RELEASES[-1].opset_of(domain)]
    releases = RELEASES[::-1]
    rows = []
    for release in releases:
        versions = [(domain, release.opset_of(domain)) for domain in domains]
        cells = [
            cell(links=[link(version, site.paths.opset(domain, version))]) if version else cell("-")
            for domain, version in versions
        ]
        rows.append([cell(f"onnx {release.name}"), cell(release.ir), *cells])
    head = ["Release", "IR version", *map(domain_name, domains)]
    lead = "The IR version and the newest operator sets of each release of onnx."
    listed = part(table=table(head, rows, [slug(release.name) for release in releases]))
    yield index_page("releases.html", "index", "Releases", lead=lead, text=lead, parts=[listed])


def _family_pages(site: Site, operators: list[OperatorEntry]) -> Iterator[IndexPage]:
    """Yield a page for each family of operators, and the page that lists all families."""
    families: dict[str, list[OperatorEntry]] = {}
    for operator in operators:
        families.setdefault(operator.newest.family, []).append(operator)
    names = []
    for family, members in sorted(families.items()):
        path = site.paths.family(family)
        names.append({**link(family, f"../{path}"), "note": str(len(members))})
        parts = [part(operators=[_operator_row(site, member, "../") for member in members])]
        text = f"{family.replace('_', ' ')} {' '.join(member.name for member in members)}"
        count = f"{len(members)} operators."
        trail = [link("Families", "index.html")]
        yield index_page(path, "family", family, lead=count, text=text, parts=parts, trail=trail)
    lead = "Operators that are alike share a family."
    yield index_page("families/index.html", "index", "Families", lead=lead, text=lead, parts=[part(names=names)])


def _type_pages(site: Site, operators: list[OperatorEntry]) -> Iterator[IndexPage]:
    """Yield a page for each element type, and the page that lists all types."""
    names = []
    for element in ELEMENTS.values():
        wanted = f"tensor({element.name})"
        parts = []
        count = 0
        for domain in site.paths.domains:
            rows = [_type_cells(site, operator, wanted) for operator in operators if operator.domain == domain]
            if rows := [*filter(None, rows)]:
                head = ["Operator", "Version", "Inputs and outputs"]
                parts.append(part(domain_name(domain), table=table(head, rows)))
                count += len(rows)
        if not count:
            continue
        names.append({**link(element.name, f"{element.name}.html"), "note": str(count)})
        size = f"{element.bits} bits" if element.bits else "text of any length"
        came = f"came with opset {element.opset}" if element.opset > 1 else "there since opset 1"
        lead = f"{size}; number {element.number} of TensorProto.DataType; {came}; IR version {element.ir_version}. "
        lead += f"{count} operators take or make it."
        text = f"element type {element.dtype}"
        trail = [link("Types", "index.html")]
        path = site.paths.element(element.name)
        yield index_page(path, "type", element.name, lead=lead, text=text, parts=parts, trail=trail)
    lead = "Element types, with the number of operators that take or make each."
    sets = part("Named sets", text="Type lists are written as named sets.", names=[link("Named sets", "../sets.html")])
    yield index_page("types/index.html", "index", "Types", lead=lead, text=lead, parts=[part(names=names), sets])


def _type_cells(site: Site, entry: OperatorEntry, wanted: str) -> list[dict[str, Any]]:
    """Return the row of an operator on the page of the type `wanted`, such as "tensor(float)".

    Its cells are a link, the first version that takes the type, and the parameters of that; none if no version does.
    """
    for schema in entry.versions:
        taking = {wanted, *(name for name, types in schema.types.items() if wanted in types)}
        names = [each.name for each in (*schema.inputs, *schema.outputs) if each.type in taking]
        if names:
            found = site.link(entry.name, entry.domain, "../")
            words = ", ".join(dict.fromkeys(names))
            newest = entry.newest
            gone = newest.deprecated or not any(wanted in types for types in newest.types.values())
            gone = gone and not any(parameter.type == wanted for parameter in (*newest.inputs, *newest.outputs))
            since = f"from {schema.since_version}" + (f", not in {newest.since_version}" if gone else "")
            return [cell(links=[found]), cell(since), cell(words)]
    return []


def _sets_page(site: Site) -> IndexPage:
    """Return the page of the named sets of types."""
    sets = site.registry.type_sets
    rows = [[cell(name), cell(", ".join(map(brief_type, types)))] for name, types in sets.items()]
    lead = "The names by which lists of types are written, in pages, messages and YAML."
    parts = [part(table=table(["Name", "Types"], rows, map(slug, sets)))]
    return index_page("sets.html", "index", "Named sets of types", lead=lead, text=lead, parts=parts)


def _code_pages() -> Iterator[IndexPage]:
    """Yield a page for each error code, and the page that lists all codes."""
    parts = []
    for letter, title in KINDS.items():
        codes = [code for code in CODES if code[0] == letter]
        rows = [[cell(links=[link(code, f"{code}.html")]), cell(CODES[code])] for code in codes]
        if rows:
            parts.append(part(title, table=table(["Code", "Meaning"], rows)))
    trail = [link("Errors", "index.html")]
    for code, title in CODES.items():
        text = body_of(code)
        body = html(text, page=True)
        yield index_page(f"errors/{code}.html", "error", f"{code}: {title}", body=body, text=text, trail=trail)
    lead = "Every message has a code, and every code a page: what it means, an example, and what to do."
    yield index_page("errors/index.html", "index", "Errors", lead=lead, text=lead, parts=parts)
