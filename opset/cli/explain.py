"""`opset explain`: the page of an error code, with a bad and a good example, or a guide."""

from __future__ import annotations

import click

from opset.cli import output
from opset.docgen.guides import guides, plain_text
from opset.errors import CODES, Finding, UsageError
from opset.explanations import page_of
from opset.schemas.names import near_miss


@click.command()
@click.argument("names", nargs=-1, metavar="[CODE|GUIDE]...")
@output.format_option
def command(names: tuple[str, ...], form: str) -> int:
    """Explain error codes, or show guides.

    The page of a CODE says what the error means, with a bad and a good example, and what to do. Without an argument,
    list all codes and guides.
    """
    listed = [{"code": code, "title": title} for code, title in CODES.items()]
    listed += [{"guide": guide.name, "title": guide.title, "summary": guide.summary} for guide in guides()]
    if not names:
        output.write_product(listed, lambda: _list_lines(listed), form)
        return 0
    known = {each.get("code", each.get("guide", "")).upper(): each for each in listed}
    unknown = [name for name in names if name.upper() not in known]
    if unknown:
        raise UsageError(
            [Finding("U105", f"there is no error code or guide '{name}'", help=_suggestion(name)) for name in unknown]
        )
    pages = [{**known[name], "page": _page_text(known[name])} for name in dict.fromkeys(map(str.upper, names))]
    output.write_product(pages, lambda: "\n\n".join(page["page"] for page in pages).split("\n"), form)
    return 0


def _list_lines(listed: list[dict[str, str]]) -> list[str]:
    """Return the list of all codes and guides as text."""
    width = max((len(guide.name) for guide in guides()), default=0)
    lines = [f"{each['code']}  {each['title']}" for each in listed if "code" in each]
    return [*lines, "", *(f"{guide.name:{width}}  {guide.summary}" for guide in guides())]


def _suggestion(name: str) -> str:
    """Return the help for a name that is no code or guide: those that are like it."""
    alike = [known for known in CODES if known[:2] == name[:2].upper()]
    guess = f"there are {', '.join(alike)}" if alike else "`opset explain` lists all"
    return near_miss(name.upper(), CODES) or near_miss(name.lower(), [guide.name for guide in guides()]) or guess


def _page_text(listed: dict[str, str]) -> str:
    """Return the page of a code or a guide."""
    if code := listed.get("code"):
        text = page_of(code)
    else:
        text = plain_text(next(guide.text for guide in guides() if guide.name == listed["guide"]))
    return text.rstrip("\n")
