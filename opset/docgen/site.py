"""The documentation of operator sets as an HTML site that works from files, without a server or a network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from opset import __version__
from opset.catalog import first_sentence
from opset.docgen import Progress, code, picture
from opset.docgen import markup as text
from opset.docgen.api import PublicName, api_page
from opset.docgen.compact import compact
from opset.docgen.convertibility import Convertibility
from opset.docgen.guides import guides
from opset.docgen.index_pages import (
    IndexPage,
    OperatorEntry,
    index_page,
    index_pages,
    link,
    operators_of,
    part,
)
from opset.docgen.operator_pages import Site, operator_page
from opset.docgen.paths import Paths
from opset.docgen.runtime_facts import facts_of_runtimes
from opset.docgen.runtime_pages import INDEX as INDEX_OF_RUNTIMES
from opset.docgen.runtime_pages import runtime_pages, runtimes_index
from opset.docgen.search import SearchPage, index_script
from opset.docgen.styles import base_stylesheet
from opset.docgen.verb_pages import INDEX as INDEX_OF_VERBS
from opset.docgen.verb_pages import VerbPage, verb_pages
from opset.opsets.registry import Registry
from opset.plain_text import count_text
from opset.schemas.names import domain_name

MENU = (
    ("Opsets", "opsets/index.html"),
    ("Releases", "releases.html"),
    ("Types", "types/index.html"),
    ("Families", "families/index.html"),
    ("Runtimes", INDEX_OF_RUNTIMES),
    ("Errors", "errors/index.html"),
    ("Guides", "guides/index.html"),
    ("Commands", INDEX_OF_VERBS),
    ("Python", "api.html"),
)
BEGIN = """\
$ python -m venv .venv && .venv/bin/pip install . && . .venv/bin/activate
$ opset convert model.onnx --to 21
$ opset convert model.onnx --for onnxruntime==1.17
$ opset check model.onnx
"""
"""How `opset` is installed from a checkout, and its first three commands."""
ASSETS = ("style.css", "icon.svg", "site.js", "search.js", "minisearch.js", "minisearch.LICENSE.txt")


def pages(
    registry: Registry,
    domains: Iterable[str] | None = None,
    progress: Progress | None = None,
    verbs: Sequence[VerbPage] = (),
) -> Iterator[tuple[str, bytes]]:
    """Yield the files of the site, each as (path from the root, content). Nothing is written to the disk.

    Args:
        registry: The operators.
        domains: The domains to document, by default all.
        progress: Called after each page but the first two, with the number of pages done and the number of all pages.
        verbs: The verbs of the command line that get pages.
    """
    paths = Paths(registry, registry.domains if domains is None else domains)
    standard = registry.operators("") if "" in paths.domains else ()
    bodies = {name: f"../{paths.operator(name, '')}" for name in standard}
    runtimes = facts_of_runtimes(registry) if standard else {}
    site = Site(registry, paths, Convertibility(registry), bodies, runtimes)
    operators = operators_of(site)
    environment = _environment(len(operators), bool(runtimes), bool(verbs))
    others = [*_guide_pages(), *verb_pages(verbs), *index_pages(site, operators)]
    others += [runtimes_index(site)] if runtimes else []
    api, search_pages = _api_data()
    search_pages += [SearchPage(other.page["title"], other.path, other.kind, other.text) for other in others]
    search_pages += [
        SearchPage(facts.table.title, Paths.runtime(name), "runtime", "") for name, facts in runtimes.items()
    ]
    total = len(operators) + len(others) + len(runtimes) + 2

    def render(template: str, path: str, page: Any) -> tuple[str, bytes]:
        """Return (path, content) of a page, made by a template from the data `page`."""
        root = "../" * path.count("/")
        folder = path.rpartition("/")[0]
        shown = environment.get_template(template).render(page=page, root=root)
        # A link to a page beside this one needs no folder.
        return path, compact(shown.replace(f'href="../{folder}/', 'href="')).encode()

    def rendered_pages() -> Iterator[tuple[str, bytes]]:
        """Yield (path, content) of all pages: the home page, the Python API, operators, other pages, runtimes."""
        yield render("page.html", "index.html", _home_page(site, operators))
        yield render("api.html", "api.html", api)
        for domain, name, *_ in operators:
            yield render("operator.html", site.paths.operator(name, domain), operator_page(site, domain, name))
        for other in others:
            yield render("page.html", other.path, other.page)
        for runtime in runtime_pages(site):
            yield render("runtime.html", runtime.path, runtime.page)

    for number, page in enumerate(rendered_pages(), 1):
        yield page
        if progress is not None and number > 2:
            progress(number, total)
    yield "assets/index.js", index_script(registry, site.paths.domains, search_pages).encode()
    for name in ASSETS:
        content = files("opset.docgen").joinpath("assets", name).read_bytes()
        if name == "style.css":
            sheets = code.stylesheet() + text.stylesheet() + picture.stylesheet()
            content = base_stylesheet().encode() + content + sheets.encode()
        yield f"assets/{name}", content


@lru_cache(maxsize=4)
def _environment(count: int, has_runtimes: bool, has_verbs: bool) -> Environment:
    """Return the Jinja environment of the templates. Cached.

    `count` is the number of operators, which pages state. The menu has an entry for runtimes and one for verbs only if
    the site has pages on them.
    """
    environment = Environment(
        loader=PackageLoader("opset.docgen"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    lacking = {INDEX_OF_RUNTIMES: not has_runtimes, INDEX_OF_VERBS: not has_verbs}
    environment.globals |= {
        "site_name": "Operator sets",
        "opset_version": __version__,
        "operator_count": count_text(count, "operator"),
        "menu": [{"name": name, "path": path} for name, path in MENU if not lacking.get(path)],
    }
    return environment


def _home_page(site: Site, operators: list[OperatorEntry]) -> dict[str, Any]:
    """Return the data for the home page: domains, guides, and all operators."""
    domains = []
    for domain in site.paths.domains:
        newest = site.registry.domains[domain]
        entry = link(domain_name(domain), site.paths.domain(domain))
        domains.append(
            {**entry, "note": f"{count_text(len(site.registry.operators(domain)), 'operator')}, version {newest}"}
        )
    first = [{**link(guide.title, Paths.guide(guide.name)), "note": guide.summary} for guide in guides()[1:]]
    parts = []
    for domain in site.paths.domains:
        names = [site.link(operator.name, domain, "") for operator in operators if operator.domain == domain]
        parts.append(part(f"Operators of {domain_name(domain)}", names=names))
    parts += [part("Domains", names=domains), part("Guides", names=first, described=True)]
    number = count_text(len(operators), "operator")
    lead = f"{number}: the meaning of each, version by version, and what a conversion does with it."
    begin = code.highlight(BEGIN, "console") if "" in site.paths.domains else ""
    return index_page("index.html", "index", "Operator sets", lead=lead, body=begin, parts=parts).page


def _guide_pages() -> Iterator[IndexPage]:
    """Yield the page of each guide, and at last the page that lists the guides."""
    groups: dict[str, list[dict[str, str]]] = {}
    for guide in guides()[1:]:
        found = link(guide.title, f"../{Paths.guide(guide.name)}")
        groups.setdefault(guide.group, []).append({**found, "note": guide.summary})
        words = guide.text.partition("\n")[2]
        body = text.html(words, _resolve_link, page=True)
        titles = [(title, anchor) for title, anchor, _ in text.sections(words) if anchor]
        contents = [link(title, f"#{anchor}") for title, anchor in titles] if len(titles) > 2 else []
        trail = [link("Guides", "index.html")]
        yield index_page(
            Paths.guide(guide.name),
            "guide",
            guide.title,
            description=first_sentence(f"{guide.title}: {guide.summary}."),
            body=body,
            text=words,
            trail=trail,
            contents=contents,
        )
    lead = "How things are done, from a first conversion to a domain of your own."
    parts = [part(group, names=names, described=True) for group, names in groups.items()]
    yield index_page("guides/index.html", "index", "Guides", lead=lead, text=lead, parts=parts)


def _resolve_link(target: str) -> str:
    """Return the address on the site for the target of a link in a guide: "../guides/proofs.html#x" for "proofs.md#x".

    A target that is no guide is unchanged.
    """
    name, hash_, anchor = target.partition("#")
    known = {f"{guide.name}.md": guide.name for guide in guides()}
    return f"../{Paths.guide(known[name])}{hash_}{anchor}" if name in known else target


def _api_data() -> tuple[dict[str, Any], list[SearchPage]]:
    """Return the data for the page on the Python API, and its entries in the search.

    There is an entry for each public name and each member of a class, and at last one for the page.
    """
    search_pages: list[SearchPage] = []

    def shown_entry(entry: PublicName) -> dict[str, Any]:
        """Return a public name as data with HTML, and add search entries for it and its members."""
        search_pages.append(SearchPage(entry.anchor, f"api.html#{entry.anchor}", "api", entry.doc))
        return {
            **entry._asdict(),
            "signature": code.highlight(entry.signature, "python"),
            "doc": text.html(entry.doc),
            "members": [*map(shown_entry, entry.members)],
        }

    sections = [
        {**each._asdict(), "doc": text.html(each.doc) if each.doc else "", "entries": [*map(shown_entry, each.entries)]}
        for each in api_page()
    ]
    lead = "What the modules opset and opset.extend offer: the first for users, the second for authors of operators."
    search_pages.append(SearchPage("Python API", "api.html", "index", lead))
    return {"title": "Python API", "description": lead, "lead": lead, "sections": sections}, search_pages
