"""Pages other than the operators', as data: indexes by opset, release, type, family and domain, and codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from markupsafe import Markup

from opset.catalog import (
    Member,
    OperatorSetDifference,
    OperatorSetFacts,
    first_sentence,
    operator_set,
    operator_set_difference,
    work_text,
)
from opset.docgen.markup import html, inline
from opset.docgen.operator_pages import Site
from opset.docgen.paths import Paths
from opset.docgen.type_words import list_of_types
from opset.errors import CODES, escape_text, listing
from opset.explanations import body_of
from opset.file_names import slug
from opset.model.elements import ELEMENTS
from opset.opsets.releases import RELEASES, Release
from opset.plain_text import count_text
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


DESCRIBED = 8
"""Operators that the description of a page names."""
TAGS = {
    "function": "Beside an operator: the standard defines it by a body of other operators. A runtime without a kernel "
    "may run the body.",
    "withdrawn": "Beside an operator: it is deprecated from this version on. A model of a newer opset must not use it.",
    "experimental": "Beside an operator: it may change or disappear in a later release.",
    "nondeterministic": "Beside an operator: results differ from run to run, as random numbers do.",
    "unknown": "Beside an operator: the document that it came from does not say whether results differ, or leaves out "
    "a part of its signature.",
    "static": "Beside a constraint: attributes, types and shapes decide whether it holds, so `opset check` sees it.",
    "run time": "Beside a constraint: it depends on values of inputs. `opset check` sees it only if the values are "
    "constants in the model; a run always does.",
    "stated": "Beside a special case or an example: a text of the standard says so. The page names the text.",
    "derived": "Beside a special case or an example: it follows from other statements of the standard.",
    "chosen": "Beside a special case or an example: the standard leaves it open. The reference kernel does it, and a "
    "runtime that does otherwise is not called wrong.",
}
"""The tags beside names on pages, each with its meaning."""


class IndexPage(NamedTuple):
    """A page of the site: its path, the data for its template, and its kind and text for the search."""

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
    description: str = "",
    text: str = "",
    body: Markup | str = "",
    parts: Iterable[dict[str, Any]] = (),
    trail: Iterable[dict[str, str]] = (),
    contents: Iterable[dict[str, str]] = (),
) -> IndexPage:
    """Return a page that lists things, as data for its template.

    Args:
        path: The path on the site, such as "types/float.html".
        kind: The kind of page, which the search shows: "index", "opset", "error", ....
        title: The title.
        lead: A sentence below the title.
        description: The page's description for search engines; by default `lead`, or the first sentence of `text`.
        text: The text in which the site's search looks.
        body: HTML below the lead.
        parts: Parts below the body, each made by `part`.
        trail: Links, each made by `link`, to the pages above this one.
        contents: Links to the sections of `body`.
    """
    page = {
        "title": escape_text(title),
        "description": escape_text(description)
        or (Markup(lead).striptags() if lead else first_sentence(text.strip().partition("\n\n")[0])),
        "lead": lead,
        "body": body,
        "contents": [*contents],
        "parts": [*parts],
        "trail": [*trail],
    }
    return IndexPage(path, page, kind, text)


def part(title: str = "", **filled: Any) -> dict[str, Any]:
    """Return a part of a page: a title, and below it `text`, `names`, `operators` and `table`, if given.

    `names` are links, made by `link`; with `described=True`, each link is on a line of its own, followed by its note.
    `operators` are rows as `_operator_row` returns them, `table` is made by `table`.
    """
    empty = {"text": "", "names": [], "described": False, "operators": [], "table": None}
    return {"title": escape_text(title), "id": slug(title.lower()) if title else "", **empty, **filled}


def table(head: Sequence[str], rows: Iterable[Sequence[dict[str, Any]]], ids: Iterable[str] = ()) -> dict[str, Any]:
    """Return a table from the titles of its columns and its rows of cells, each made by `cell`.

    `ids` are the HTML ids of the rows, in the same order; a row without one has the id "".
    """
    pairs = zip_longest(rows, ids, fillvalue="")
    return {"head": head, "rows": [{"id": anchor, "cells": cells} for cells, anchor in pairs]}


def cell(text: object = "", links: Iterable[dict[str, str]] = ()) -> dict[str, Any]:
    """Return a cell of a table with a text, links made by `link`, or both.

    Control characters of the text are escaped, unless it is Markup.
    """
    return {"text": text if isinstance(text, Markup) else escape_text(text), "links": [*links]}


def link(name: object, href: str) -> dict[str, str]:
    """Return a link in the form that templates take: name, address, and an empty note."""
    return {"name": escape_text(name), "href": href, "note": ""}


class OperatorEntry(NamedTuple):
    """An operator in an index: its versions, oldest first, and the first sentence of its description."""

    domain: str
    name: str
    versions: tuple[OpSchema, ...]
    summary: str

    @property
    def newest(self) -> OpSchema:
        """Return the newest version of the operator."""
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
    """Return the row of an operator in a list: its link, its versions (newest first), its summary and its badge.

    The badge is "withdrawn" if the newest version is deprecated, else "". `root` is the relative path to the root of
    the site, such as "../".
    """
    return {
        **site.link(entry.name, entry.domain, root),
        "versions": [schema.since_version for schema in reversed(entry.versions)],
        "summary": entry.summary,
        "badge": "withdrawn" if entry.newest.deprecated else "",
    }


def index_pages(site: Site, operators: list[OperatorEntry]) -> Iterator[IndexPage]:
    """Yield the pages of domains, opsets, releases, tags, families, element types, type sets and error codes."""
    yield from _domain_pages(site, operators)
    yield from _opset_pages(site)
    yield from _release_pages(site)
    yield _tags_page()
    yield from _family_pages(site, operators)
    yield from _type_pages(site, operators)
    yield _sets_page(site)
    yield from _code_pages()


def _domain_pages(site: Site, operators: list[OperatorEntry]) -> Iterator[IndexPage]:
    """Yield a page for each domain, with links to its versions and a list of its operators."""
    for domain in site.paths.domains:
        members = [operator for operator in operators if operator.domain == domain]
        newest = site.registry.domains[domain]
        lead = f"{count_text(len(members), 'operator')}; the newest version of the operator set is {newest}."
        versions = [link(each, f"../{site.paths.opset(domain, each)}") for each in range(newest, 0, -1)]
        rows = [_operator_row(site, member, "../") for member in members]
        parts = [part("Versions", names=versions), part("Operators", operators=rows)]
        title = domain_name(domain)
        description = f"Operators of {title} and their versions: {_first_names([each.name for each in members])}."
        path = site.paths.domain(domain)
        yield index_page(path, "domain", title, lead=lead, description=description, text=lead, parts=parts)


def _opset_pages(site: Site) -> Iterator[IndexPage]:
    """Yield a page for each version of each operator set, and at last one page that lists all these versions."""
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


def _opset_page(site: Site, domain: str, version: int, data: OperatorSetFacts) -> IndexPage:
    """Return the page of one version of an operator set.

    `data` has its operators, and which of them are new, changed or withdrawn. Changes are compared with version - 1.
    """

    parts = []
    if data.new:
        parts.append(part("New", names=_version_links(site, domain, data.new)))
    if version > 1:
        parts += _changed_part(site, operator_set_difference(site.registry, domain, version - 1, version))
    if data.withdrawn:
        parts.append(part("Withdrawn", names=_version_links(site, domain, data.withdrawn)))
    families: dict[str, list[dict[str, str]]] = {}
    for operator in data.operators:
        link_to_version = _version_link(site, domain, operator.operator, operator.since)
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
    lead = f"{count_text(len(data.operators), 'operator')}{releases}."
    path = site.paths.opset(domain, version)
    title, brought = f"{domain_name(domain)} {version}", [each.operator for each in (*data.new, *data.changed)]
    description = f"Operators of {title}{releases}, and what it brought: {_first_names(brought) or 'no change'}."
    trail = [link("Operator sets", "index.html")]
    return index_page(path, "opset", title, lead=lead, description=description, text=text, parts=parts, trail=trail)


def _release_pages(site: Site) -> Iterator[IndexPage]:
    """Yield a page for each release of onnx, oldest first, and at last the page that lists the releases."""
    domains = [domain for domain in site.paths.domains if RELEASES[-1].opset_of(domain)]
    releases = RELEASES[::-1]
    rows = []
    for release in releases:
        versions = [(domain, release.opset_of(domain)) for domain in domains]
        cells = [
            cell(links=[link(version, site.paths.opset(domain, version))]) if version else cell("-")
            for domain, version in versions
        ]
        named = cell(links=[link(f"onnx {release.name}", Paths.release(release.name))])
        rows.append([named, cell(release.ir), *cells])
    head = ["Release", "IR version", *map(domain_name, domains)]
    lead = "The IR version and the newest operator sets of each release of onnx."
    listed = part(table=table(head, rows, [slug(release.name) for release in releases]))
    for before, release in zip((None, *RELEASES), RELEASES, strict=False):
        yield _release_page(site, domains, before, release)
    yield index_page("releases.html", "index", "Releases", lead=lead, text=lead, parts=[listed])


def _release_page(site: Site, domains: Iterable[str], before: Release | None, release: Release) -> IndexPage:
    """Return the page of a release of onnx: its new element types, operator sets and operators.

    New is what the release `before` lacks; `before` is None for the first release. `domains` are the domains that the
    page covers.
    """
    parts = []
    opset_before = before.opset if before is not None else 0
    elements = [each for each in ELEMENTS.values() if opset_before < each.opset <= release.opset]
    if elements:
        listed = [link(each.name, f"../{site.paths.element(each.name)}") for each in elements]
        parts.append(part("New element types", names=listed))
    for domain in domains:
        old = before.opset_of(domain) if before is not None else 0
        new = release.opset_of(domain)
        title = f"{domain_name(domain)} {new}"
        if new == old or not new:
            continue
        numbers = range(new, old, -1)
        opsets = [link(f"{domain_name(domain)} {each}", f"../{site.paths.opset(domain, each)}") for each in numbers]
        parts.append(part(title, text="Its operator sets, newest first.", names=opsets))
        if old:
            changed = operator_set_difference(site.registry, domain, old, new)
            parts += _difference_parts(site, changed, f" in {title}")
        else:
            members = operator_set(site.registry, domain, new).operators
            parts.append(part(f"Operators of {title}", names=_version_links(site, domain, members)))
    lead = f"What came with onnx {release.name}: IR version {release.ir}, opset {release.opset}"
    lead += f"; the release before is {before.name}." if before is not None else "; it was the first."
    trail = [link("Releases", "../releases.html")]
    path = Paths.release(release.name)
    return index_page(path, "release", f"onnx {release.name}", lead=lead, text=lead, parts=parts, trail=trail)


def _difference_parts(site: Site, difference: OperatorSetDifference, place: str) -> Iterator[dict[str, Any]]:
    """Yield the parts of a page on new, changed and withdrawn operators; a part without operators is left out.

    `place` is the end of their titles, such as " in ai.onnx 21".
    """
    domain = difference.domain
    if difference.new:
        yield part(f"New{place}", names=_version_links(site, domain, difference.new))
    yield from _changed_part(site, difference, place)
    if difference.gone:
        yield part(f"Withdrawn{place}", names=_version_links(site, domain, difference.gone))


def _changed_part(site: Site, difference: OperatorSetDifference, place: str = "") -> Iterator[dict[str, Any]]:
    """Yield the part of a page with the table of changed operators; nothing if none changed.

    `place` is the end of its title, such as " in ai.onnx 21".
    """
    rows = [
        [
            cell(links=[_version_link(site, difference.domain, change.operator, change.since_after)]),
            cell(f"{change.since_before} → {change.since_after}"),
            cell("; ".join(change.words)),
            cell(inline(" ".join(change.meaning))),
            cell(work_text(change.work)),
        ]
        for change in difference.changed
    ]
    if rows:
        head = ["Operator", "Versions", "Signature", "Meaning", "Conversion up"]
        yield part(f"Changed{place}", table=table(head, rows))


def _version_links(site: Site, domain: str, members: Iterable[Member]) -> list[dict[str, str]]:
    """Return links to sections of operators' versions, each as `_version_link` makes it."""
    return [_version_link(site, domain, each.operator, each.since) for each in members]


def _version_link(site: Site, domain: str, operator: str, since: int) -> dict[str, str]:
    """Return a link to the section of a version on its operator's page, as the dict that templates take.

    Its "href", "../ai.onnx/Softmax.html#v13", is right on pages one folder below the root of the site.
    """
    found = site.link(operator, domain, "../")
    return {**found, "href": f"{found['href']}#v{since}"}


def _first_names(names: Sequence[str]) -> str:
    """Return the first DESCRIBED names as text; if there are more, the text ends with the number of the others."""
    return listing(names, DESCRIBED)


def _tags_page() -> IndexPage:
    """Return the page that explains the tags beside operators, constraints, special cases and examples."""
    lead = "What the small words beside names mean."
    return index_page(
        "tags.html", "index", "Tags", lead=lead, text=lead, parts=[part(tag, text=words) for tag, words in TAGS.items()]
    )


def _family_pages(site: Site, operators: list[OperatorEntry]) -> Iterator[IndexPage]:
    """Yield a page for each family of operators, and at last the page that lists the families."""
    families: dict[str, list[OperatorEntry]] = {}
    for operator in operators:
        families.setdefault(operator.newest.family, []).append(operator)
    names = []
    for family, members in sorted(families.items()):
        path = site.paths.family(family)
        names.append({**link(family, f"../{path}"), "note": str(len(members))})
        parts = [part(operators=[_operator_row(site, member, "../") for member in members])]
        text = f"{family.replace('_', ' ')} {' '.join(member.name for member in members)}"
        count = f"{count_text(len(members), 'operator')}."
        trail = [link("Families", "index.html")]
        description = f"Operators of the family {family}: {_first_names([each.name for each in members])}."
        yield index_page(
            path, "family", family, lead=count, description=description, text=text, parts=parts, trail=trail
        )
    lead = "Operators that are alike share a family."
    yield index_page("families/index.html", "index", "Families", lead=lead, text=lead, parts=[part(names=names)])


def _type_pages(site: Site, operators: list[OperatorEntry]) -> Iterator[IndexPage]:
    """Yield a page for each element type that an operator takes, and at last the page that lists the element types."""
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
        lead += "1 operator takes or makes it." if count == 1 else f"{count} operators take or make it."
        text = f"element type {element.dtype}"
        description = f"The element type {element.name}: {lead}"
        trail = [link("Types", "index.html")]
        path = site.paths.element(element.name)
        yield index_page(
            path, "type", element.name, lead=lead, description=description, text=text, parts=parts, trail=trail
        )
    lead = "Element types, with the number of operators that take or make each."
    sets = part("Named sets", text="Type lists are written as named sets.", names=[link("Named sets", "../sets.html")])
    yield index_page("types/index.html", "index", "Types", lead=lead, text=lead, parts=[part(names=names), sets])


def _type_cells(site: Site, entry: OperatorEntry, wanted: str) -> list[dict[str, Any]]:
    """Return the row of an operator on the page of a type, [] if no version takes or makes the type.

    The cells are a link, the first version that has the type ("from 7"), and the names of inputs and outputs that may
    have it there. The second cell is "from 7, not in 13" if the newest version, 13, no longer has the type. `wanted` is
    the type, such as "tensor(float)".
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
    rows = [[cell(name), cell(list_of_types(types))] for name, types in sets.items()]
    lead = "The names by which lists of types are written, in pages, messages and YAML."
    parts = [part(table=table(["Name", "Types"], rows, map(slug, sets)))]
    return index_page("sets.html", "index", "Named sets of types", lead=lead, text=lead, parts=parts)


def _code_pages() -> Iterator[IndexPage]:
    """Yield a page for each error code, and at last the page that lists the codes."""
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
