"""`opset explain`: the page of an error code, with a bad and a good example."""

from __future__ import annotations

from pathlib import Path

import click

import opset
from opset.cli import output
from opset.errors import CODES, Finding, UsageError
from opset.schemas.names import near_miss

PAGES = Path(opset.__file__).parent / "explain"


@click.command()
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@output.format_option
def command(codes: tuple[str, ...], form: str) -> int:
    """Explain error codes: what each means, a bad and a good example, and what to do. Without a code, list them all."""
    wanted = [code.upper() for code in codes]
    unknown = [
        Finding("U105", f"there is no error code '{code}'", help=_near(code))
        for code in wanted
        if code not in CODES
    ]
    if unknown:
        raise UsageError(unknown)
    if not wanted:
        data = [{"code": code, "title": title} for code, title in CODES.items()]
        output.write_product(data, lambda: [f"{each['code']}  {each['title']}" for each in data], form)
        return 0
    pages = [{"code": code, "title": CODES[code], "page": _page(code)} for code in dict.fromkeys(wanted)]
    output.write_product(pages, lambda: "\n\n".join(page["page"] for page in pages).split("\n"), form)
    return 0


def _near(code: str) -> str:
    alike = [known for known in CODES if known[:2] == code[:2]]
    guess = f"there are {', '.join(alike)}" if alike else "opset explain lists all"
    return near_miss(code, CODES) or guess


def _page(code: str) -> str:
    return (PAGES / f"{code}.md").read_text(encoding="utf-8").rstrip("\n")
