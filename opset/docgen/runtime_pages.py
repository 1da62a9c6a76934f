"""The pages of runtimes, as data that their template puts into place, and the page that lists them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from opset.docgen.derived_changes import Key
from opset.docgen.index_pages import IndexPage, cell, index_page, link, part, table
from opset.docgen.operator_pages import Site
from opset.docgen.paths import Paths
from opset.docgen.runtime_facts import (
    ALL,
    FALLBACK,
    REFUSED,
    REWRITTEN,
    Fates,
    Run,
    RuntimeFacts,
    anchor_of,
    releases_text,
    types_text,
)
from opset.errors import escape_text
from opset.opsets.runtimes.model import HOW, MATCH, Runtime
from opset.opsets.runtimes.wording import UNION, span_text
from opset.schemas.names import domain_name

INDEX = "runtimes/index.html"
ROOT = "../"
UNKNOWN = "not known"
MANY = "A node is refused all the same if it is of types, sizes or attributes that these do not take: opset blockers."
NOTHING = "nothing which it has expresses, except nodes of rare forms"


class RuntimePage(NamedTuple):
    """The page of a runtime: its path, its title, and the data for its template."""

    path: str
    title: str
    page: dict[str, Any]


def runtimes_index(site: Site) -> IndexPage:
    """Return the page that lists the runtimes of a site, and says how the facts about them are known."""
    rows = []
    for name, facts in site.runtimes.items():
        first, last = facts.runtimes[0].release, facts.runtimes[-1].release
        newest = sum(facts.takes(key, len(facts.listed) - 1) for key in facts.operators)
        rows.append(
            [
                cell(links=[link(name, f"{ROOT}{Paths.runtime(name)}")]),
                cell(facts.table.title),
                cell(first if first == last else f"{first} to {last}"),
                cell(newest or UNKNOWN),
                cell(", ".join(dict.fromkeys(each.how for each in facts.runtimes))),
            ]
        )
    lead = "The operators, versions and element types that releases of runtimes take, and what a conversion does there."
    head = ["Runtime", "What it is", "Releases", "Operators of the newest", "How it is known"]
    ways = [f"{how}: {words}" for how, words in HOW.items()]
    parts = [
        part(table=table(head, rows)),
        part("How it is known", names=[_text_entry(each) for each in ways], described=True),
    ]
    return index_page(INDEX, "index", "Runtimes", lead=lead, text=lead, parts=parts)


def runtime_pages(site: Site) -> Iterator[RuntimePage]:
    """Yield the page of each runtime."""
    fates = Fates(site.runtimes, site.convertibility, site.registry)
    for name, facts in site.runtimes.items():
        yield RuntimePage(Paths.runtime(name), facts.table.title, _runtime_page(site, facts, fates))


def _runtime_page(site: Site, facts: RuntimeFacts, fates: Fates) -> dict[str, Any]:
    """Return the data for the template of a runtime's page."""
    return {
        "title": escape_text(facts.table.title),
        "description": escape_text(f"Operators, versions and types of {facts.table.title}, by release."),
        "trail": [link("Runtimes", "index.html")],
        "lead": escape_text(_count_text(facts)),
        "facts": [*_facts_data(facts)],
        "releases": _releases_table(facts),
        "fates": [*_fates_data(site, facts, fates)],
        "operators": _operators_table(site, facts),
        "without": _without_operators(facts),
    }


def _count_text(facts: RuntimeFacts) -> str:
    """Return the sentence below a runtime's title: how many releases the page covers, the first and the last one."""
    first, last = facts.runtimes[0].release, facts.runtimes[-1].release
    if first == last:
        return f"What is known of release {first}."
    return f"What is known of {len(facts.runtimes)} releases, {first} to {last}."


def _facts_data(facts: RuntimeFacts) -> Iterator[dict[str, Any]]:
    """Yield each fact on a runtime as a dict with its name, such as "Source", its links and its text."""
    table, newest = facts.table, facts.runtimes[-1]
    yield _fact("Names", ", ".join((table.name, *table.aliases)))
    if newest.opsets.get("", (None, None)) == (None, None):
        yield _fact("Conversion", f"not for {newest.release}: which opsets it takes is not known")
    else:
        yield _fact("Conversion", f"opset convert model.onnx --for {table.name}=={newest.release}")
    hows = dict.fromkeys(each.how for each in facts.runtimes)
    yield _fact("Known", "; ".join(f"{how}: {HOW[how]}" for how in hows))
    yield _fact("Source", table.source)
    if newest.match:
        yield _fact("Match", MATCH[newest.match])
    if newest.fallback is not None:
        others = [link(newest.fallback.name, _file_of(newest.fallback.name))]
        yield _fact("Fallback", "runs the nodes that it does not take", others)
    if table.kernels_of:
        words = "shows their versions and types" if facts.shares_kernels else "has more of them, with fewer limits"
        yield _fact("Kernels of", words, [link(table.kernels_of, _file_of(table.kernels_of))])
    if table.casts:
        yield _fact("Computes", ", ".join(f"{name} in {into}" for name, into in table.casts.items()))
    if table.io_types_not:
        yield _fact("Inputs", f"and outputs of a model have none of {', '.join(sorted(table.io_types_not))}")
    union = [each.release for each in facts.runtimes if each.union_types]
    if union:
        span = union[0] if len(union) == 1 else f"{union[0]} to {union[-1]}"
        yield _fact("Types", f"of {span}: {UNION}")
    for note in table.notes:
        yield _fact("Note", note)


def _fact(name: str, text: str, links: Iterable[dict[str, str]] = ()) -> dict[str, Any]:
    """Return an entry of the list of facts: its name, its links, and the text after the links."""
    return {"name": name, "links": [*links], "text": escape_text(text)}


def _file_of(name: str) -> str:
    """Return the address of a runtime's page, from the page of another runtime: "onnxruntime.html"."""
    return Paths.runtime(name).rpartition("/")[2]


def _text_entry(text: str) -> dict[str, str]:
    """Return a text as an entry of a list of links; its address is ""."""
    return {"name": escape_text(text), "href": "", "note": ""}


def _releases_table(facts: RuntimeFacts) -> dict[str, Any]:
    """Return the table of a runtime's releases, newest first; neighboring releases with equal cells share a row.

    Columns that are empty for all releases are left out.
    """
    head = ["ai.onnx", "ai.onnx.ml", "IR version", "How it is known", "Read from", "Kernels", "Fallback", "Note"]
    groups: list[tuple[list[str], list[str]]] = []
    for runtime in facts.runtimes:
        cells = _release_cells(runtime)
        if groups and groups[-1][1] == cells:
            groups[-1][0].append(runtime.release)
        else:
            groups.append(([runtime.release], cells))
    columns = [number for number in range(len(head)) if any(cells[number] for _, cells in groups)]
    rows = [
        [
            cell(names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"),
            *(cell(cells[number]) for number in columns),
        ]
        for names, cells in reversed(groups)
    ]
    return table(["Release", *(head[number] for number in columns)], rows)


def _release_cells(runtime: Runtime) -> list[str]:
    """Return the texts of the cells of a release in the table of releases; "" for facts that are not known."""
    others = [
        each.release if each is not None and each.release != runtime.release else ""
        for each in (runtime.kernels_of, runtime.fallback if runtime.kernels_of is None else None)
    ]
    row = next(row for row in runtime.table.releases if row.release == runtime.release)
    notes = [note.replace(f" of {runtime.release}", "") for note in runtime.notes]
    notes += [] if runtime.lists_operators else ["its operators are not known"]
    return [
        span_text(runtime.opsets.get("", (None, None))) or UNKNOWN,
        span_text(runtime.opsets.get("ai.onnx.ml", (None, None))),
        f"up to {runtime.max_ir}" if runtime.max_ir else "",
        runtime.how,
        row.read_from,
        *others,
        "; ".join(notes),
    ]


def _fates_data(site: Site, facts: RuntimeFacts, fates: Fates) -> Iterator[dict[str, Any]]:
    """Yield the parts of a runtime's page on operators without a kernel.

    There is a part for operators that a conversion rewrites, one for refused operators, and one for operators that the
    fallback, another runtime, runs. A part without operators is left out.
    """
    fallback = facts.runtimes[-1].fallback
    parts = {
        REWRITTEN: ("What --for rewrites", f"Operators of the standard that it lacks, and that others express. {MANY}"),
        REFUSED: ("What stays refused", f"Operators of the standard that it lacks, and that {NOTHING}."),
    }
    if fallback is not None:
        words = f"Operators of the standard that it lacks, and that {fallback.name} has: they stay as they are."
        parts[FALLBACK] = (f"What {fallback.name} runs", words)
    by_fate = fates.runs_by_fate(facts.table.name)
    for fate in (REWRITTEN, REFUSED, FALLBACK):
        if by_fate[fate]:
            title, text = parts[fate]
            rows = [
                [cell(releases_text(runs, facts.releases)), cell(links=[_operator_link(site, key) for key in keys])]
                for runs, keys in sorted(by_fate[fate].items(), key=lambda each: _sort_key(each[0]))
            ]
            yield {**part(title, text=text, table=table(["Releases", "Operators"], rows)), "id": fate}


def _sort_key(runs: Sequence[Run]) -> tuple[int, int]:
    """Return a key that sorts groups of releases: those that last until the newest release come first.

    A group is given as `runs`, (first, last) positions. Of groups that end with the same release, the one that begins
    earlier comes first.
    """
    return -runs[-1][1], runs[0][0]


def _operator_link(site: Site, key: Key) -> dict[str, str]:
    """Return the link to the page of an operator, (domain, name), with its full name, such as "ai.onnx.ml.Scaler"."""
    found = site.link(key[1], key[0], ROOT)
    return {**found, "name": _full_name(key)}


def _full_name(key: Key) -> str:
    """Return the name of the operator `key`, (domain, name), with its domain, such as "ai.onnx.ml.Scaler".

    The domain ai.onnx is left out: "Cast".
    """
    return escape_text(f"{domain_name(key[0])}.{key[1]}" if key[0] else key[1])


def _operators_table(site: Site, facts: RuntimeFacts) -> dict[str, Any]:
    """Return the table of a runtime's operators: {"head": titles of columns, "groups": a group for each operator}.

    A group has a row for each kernel: the versions and releases that it is for, its element types and its limits.
    Columns without content are left out. If the runtime has exactly the kernels of another runtime, each operator has
    one row with only its releases.
    """
    lines = {
        key: [("all", releases_text(facts.runs_of(key), facts.releases), "any", "")]
        if facts.shares_kernels
        else [*_operator_lines(site, facts, key)]
        for key in facts.operators
    }
    every = [line for group in lines.values() for line in group]
    shown = {
        "Versions": any(line[0] != "all" for line in every),
        "Releases": True,
        "Element types": not facts.shares_kernels,
        "Limits": any(line[3] for line in every),
    }
    columns = [number for number, is_shown in enumerate(shown.values()) if is_shown]
    groups = [
        {
            "id": anchor_of(key),
            **_operator_link(site, key),
            "rows": [[escape_text(line[number]) for number in columns] for line in group],
        }
        for key, group in lines.items()
    ]
    return {"head": ["Operator", *(name for name, is_shown in shown.items() if is_shown)], "groups": groups}


def _operator_lines(site: Site, facts: RuntimeFacts, key: Key) -> Iterator[tuple[str, str, str, str]]:
    """Yield (versions, releases, element types, limits) as text for each kernel of an operator, (domain, name)."""
    versions = [schema.since_version for schema in site.registry.versions(key[1], key[0])]
    for row in facts.rows_of(key):
        for each in row.taken:
            run = releases_text([row.run], facts.releases)
            yield _versions_text(row.versions, versions), run, types_text(each), each.limits


def _versions_text(chosen: Sequence[int], versions: Sequence[int]) -> str:
    """Return consecutive versions of an operator as text: "all", "13", "7 to 13"; `versions` are all its versions."""
    if ALL in chosen or [*chosen] == [*versions]:
        return "all"
    if len(chosen) == 1:
        return str(chosen[0])
    return f"{chosen[0]} to {chosen[-1]}"


def _without_operators(facts: RuntimeFacts) -> str:
    """Return a sentence for a runtime whose operators are not known, "" for any other."""
    if facts.listed:
        return ""
    return (
        "Its operators are not known: --for converts to its opsets and IR version, and keeps every operator of these."
    )
