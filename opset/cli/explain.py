"""`opset explain`: the page of an error code, with a bad and a good example, or a guide."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import click

from opset.cli import output
from opset.docgen.guides import guides, plain_text
from opset.errors import CODES, Finding, UsageError, listing
from opset.explanations import page_of
from opset.plain_text import fit_lines
from opset.schemas.names import near_miss


@dataclass(frozen=True)
class Explanation:
    """An error code or a guide: its title, a guide's summary, and the page if it was asked for."""

    title: str
    code: str = ""
    guide: str = ""
    summary: str = ""
    page: str = ""

    @property
    def name(self) -> str:
        """The code or the guide's name."""
        return self.code or self.guide


@click.command()
@click.argument("names", nargs=-1, metavar="[CODE|GUIDE]...")
@output.format_option
def command(names: tuple[str, ...], form: str) -> int:
    """Explain error codes, or show guides.

    The page of a CODE says what the error means, with a bad and a good example, and what to do. Without an argument,
    list all codes and guides.
    """
    listed = [Explanation(title, code=code) for code, title in CODES.items()]
    listed += [Explanation(guide.title, guide=guide.name, summary=guide.summary) for guide in guides()]
    if not names:
        width = max((len(guide.name) for guide in guides()), default=0)
        codes = [f"{code}  {title}" for code, title in CODES.items()]
        lines = [*codes, "", *(f"{guide.name:{width}}  {guide.summary}" for guide in guides())]
        output.write_product(listed, lambda: lines, form)
        return 0
    known = {each.name.upper(): each for each in listed}
    unknown = [name for name in names if name.upper() not in known]
    if unknown:
        raise UsageError(
            [Finding("U105", f"there is no error code or guide '{name}'", help=_suggestion(name)) for name in unknown]
        )
    texts = {guide.name: guide.text for guide in guides()}
    pages = []
    for name in dict.fromkeys(map(str.upper, names)):
        each = known[name]
        page = page_of(each.code) if each.code else plain_text(texts[each.guide])
        pages.append(replace(each, page=page.rstrip("\n")))
    lines = "\n\n".join(each.page for each in pages).split("\n")
    output.write_product(pages, lambda: fit_lines(lines, sys.stdout), form)
    return 0


def _suggestion(name: str) -> str:
    """Return the help for a name that is no code or guide: those that are like it."""
    if longer := [known for known in CODES if known.startswith(name.upper())]:
        return f"there are {listing(longer)}"
    alike = [known for known in CODES if known[:2] == name[:2].upper()]
    guess = f"there are {', '.join(alike)}" if alike else "`opset explain` lists all"
    return near_miss(name.upper(), CODES) or near_miss(name.lower(), [guide.name for guide in guides()]) or guess
