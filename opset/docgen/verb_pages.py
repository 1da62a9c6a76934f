"""Pages of the command line: one for each verb, and an index with the exit statuses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from opset.docgen.code import highlight
from opset.docgen.guides import Guide, guides
from opset.docgen.index_pages import IndexPage, cell, index_page, link, part, table
from opset.docgen.markup import html
from opset.docgen.paths import Paths

INDEX = "verbs/index.html"
EXAMPLES = 4
"""Examples of a verb that its page shows."""
STATUSES = {
    0: "Done.",
    1: "Findings, or a conversion that is refused.",
    2: "The command or the configuration is wrong.",
    3: "The input cannot be read, or is not safe to read.",
    70: "A fault of opset itself.",
    130: "Interrupted.",
}
_COMMAND = re.compile(r"^\$ (opset (?P<verb>[\w-]+)(?:.*\\\n)*.*)$", re.MULTILINE)


class VerbPage(NamedTuple):
    """A verb of the command line: its usage line, its help, and its options as (names, help)."""

    name: str
    summary: str
    usage: str
    help: str
    options: Sequence[tuple[str, str]]


def verb_pages(verbs: Sequence[VerbPage]) -> Iterator[IndexPage]:
    """Yield a page for each verb, and at last the page that lists the verbs; nothing if there are no verbs."""
    if not verbs:
        return
    examples = _examples_by_verb()
    for verb in verbs:
        shown = examples.get(verb.name, {})
        parts = [part("Options", table=table(["Option", "Meaning"], _option_cells(verb.options)))]
        if shown:
            named = {guide.name: link(guide.title, f"../{Paths.guide(guide.name)}") for guide in shown.values()}
            parts.append(part("Guides with examples", names=[*named.values()]))
        body = highlight(verb.usage, "console") + html(verb.help)
        for command in shown:
            body += highlight(f"$ {command}\n", "console")
        yield index_page(
            Paths.verb(verb.name),
            "verb",
            f"opset {verb.name}",
            lead=verb.summary,
            text=verb.help,
            body=body,
            parts=parts,
            trail=[link("Command line", "index.html")],
        )
    rows = [
        [cell(links=[link(f"opset {verb.name}", f"../{Paths.verb(verb.name)}")]), cell(verb.summary)] for verb in verbs
    ]
    statuses = [[cell(status), cell(meaning)] for status, meaning in STATUSES.items()]
    lead = "What each verb does. `opset VERB --help` shows the same on a terminal."
    parts = [
        part("Verbs", table=table(["Verb", "What it does"], rows)),
        part("Exit status", table=table(["Status", "Meaning"], statuses)),
    ]
    yield index_page(INDEX, "index", "Command line", lead=lead.replace("`", ""), text=lead, parts=parts)


def _option_cells(options: Iterable[tuple[str, str]]) -> Iterator[list[dict[str, object]]]:
    """Yield the row of each option in a table, as two cells: its names, its help."""
    for names, words in options:
        yield [cell(names), cell(words)]


def _examples_by_verb() -> dict[str, dict[str, Guide]]:
    """Return {verb: {command: guide}} with commands that the guides show, such as "opset convert model.onnx --to 21".

    A verb has at most EXAMPLES commands, and at most two from the same guide.
    """
    found: dict[str, dict[str, Guide]] = {}
    for guide in guides():
        counts: dict[str, int] = {}
        for match in _COMMAND.finditer(guide.text):
            held = found.setdefault(match["verb"], {})
            counts[match["verb"]] = counts.get(match["verb"], 0) + 1
            if len(held) < EXAMPLES and counts[match["verb"]] <= 2:
                held.setdefault(match[1], guide)
    return found
