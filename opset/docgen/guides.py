"""The guides: `docs/` of a checkout, which a wheel carries as `opset/guides/`. `index.md` has order and groups."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1]
CARRIED = PACKAGE / "guides"
_ENTRY = re.compile(r"^## (?P<group>.+)|^- \[[^\]]+\]\((?P<file>[^)]+)\): (?P<summary>.+(?:\n  .+)*)", re.MULTILINE)
_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<file>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")
_COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


class Guide(NamedTuple):
    """A page of `docs/` in Markdown, in which a link to another guide is `<name>.md`."""

    name: str
    title: str
    text: str
    group: str
    summary: str


@cache
def guides() -> tuple[Guide, ...]:
    """Return all guides in reading order, the index first; none if the files of `docs/` are not there."""
    entries = [*_index_entries(CARRIED if CARRIED.is_dir() else PACKAGE.parent / "docs")]
    names = {name for name, *_ in entries}

    def link(match: re.Match[str]) -> str:
        name = _guide_name(match["file"])
        return f"[{match['text']}]({name}.md{match['anchor'] or ''})" if name in names else match["text"]

    pages = []
    for name, path, group, summary in entries:
        text = _COMMENT.sub("", _replace_links(path.read_text(encoding="utf-8"), link))
        pages.append(Guide(name, text.partition("\n")[0].removeprefix("# "), text, group, summary))
    return tuple(pages)


def files_in_wheel(checkout: Path) -> dict[str, str]:
    """Return the path of each guide's file in a checkout, mapped to its path in the wheel."""
    return {str(path): f"opset/guides/{name}.md" for name, path, *_ in _index_entries(checkout / "docs")}


def plain_text(text: str) -> str:
    """Return Markdown with links to guides as the commands that show them, and links to other files as plain text."""
    names = {guide.name for guide in guides()}

    def words(match: re.Match[str]) -> str:
        name = _guide_name(match["file"])
        return f"{match['text']} (`opset explain {name}`)" if name in names else match["text"]

    return _replace_links(text, words)


def _index_entries(folder: Path) -> Iterator[tuple[str, Path, str, str]]:
    """Yield (name, file, group, summary) of the index in a folder, and of each guide that it lists."""
    index = folder / "index.md"
    if not index.is_file():
        return
    yield "index", index, "", "this list"
    group = ""
    for match in _ENTRY.finditer(index.read_text(encoding="utf-8")):
        if match["group"]:
            group = match["group"]
        else:
            name = _guide_name(match["file"])
            path = folder / f"{name}.md" if folder == CARRIED else (folder / match["file"]).resolve()
            yield name, path, group, re.sub(r"\s+", " ", match["summary"])


def _guide_name(file: str) -> str:
    """Return the name of the guide in a file: "contributing" for "../CONTRIBUTING.md"."""
    return Path(file).stem.lower()


def _replace_links(text: str, replacement: Callable[[re.Match[str]], str]) -> str:
    """Return Markdown in which `replacement` rewrites each link to a file, except in code."""
    return "".join(part if n % 2 else _LINK.sub(replacement, part) for n, part in enumerate(_CODE.split(text)))
