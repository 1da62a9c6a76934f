"""The guides: `docs/` of a checkout, which a wheel carries as `opset/guides/`. `index.md` has order and groups.

The files that their commands work with are `examples/` of a checkout, `opset/examples/` of a wheel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).parents[1]
CARRIED = PACKAGE / "guides"
CARRIED_EXAMPLES = PACKAGE / "examples"
_ENTRY = re.compile(r"^## (?P<group>.+)|^- \[[^\]]+\]\((?P<file>[^)]+)\): (?P<summary>.+(?:\n  .+)*)", re.MULTILINE)
_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<file>[^)#:\s]+)(?P<anchor>#[^)\s]*)?\)")
_RESULT = re.compile(r"-opset\d+\.onnx$")
_COMMENT = re.compile(r"^<!--.*-->\n", re.MULTILINE)
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


class Guide(NamedTuple):
    """A guide: a page of `docs/` in Markdown.

    Links in `text` to other guides are `NAME.md`. `group` is the heading of the index that the guide stands under,
    `summary` its line there.
    """

    name: str
    title: str
    text: str
    group: str
    summary: str


@cache
def guides() -> tuple[Guide, ...]:
    """Return all guides in reading order, the index first; () if the files of `docs/` are not there. Cached.

    Comments are removed from their text. Links to files that are no guides become plain text.
    """
    entries = [*_index_entries(CARRIED if CARRIED.is_dir() else PACKAGE.parent / "docs")]
    names = {name for name, *_ in entries}

    def link(match: re.Match[str]) -> str:
        """Return the link to a file that `match` found as `[TEXT](NAME.md)` if it is a guide, else its text alone."""
        name = _guide_name(match["file"])
        return f"[{match['text']}]({name}.md{match['anchor'] or ''})" if name in names else match["text"]

    pages = []
    for name, path, group, summary in entries:
        text = _COMMENT.sub("", _replace_links(path.read_text(encoding="utf-8"), link))
        pages.append(Guide(name, text.partition("\n")[0].removeprefix("# "), text, group, summary))
    return tuple(pages)


def files_in_wheel(checkout: Path) -> dict[str, str]:
    """Return {path in a checkout: path in the wheel} for the guides and the files of examples."""
    guides = {str(path): f"opset/guides/{name}.md" for name, path, *_ in _index_entries(checkout / "docs")}
    examples = {str(file): f"opset/examples/{name}" for name, file in _files_of_examples(checkout / "examples").items()}
    return guides | examples


def example_files() -> dict[str, Path]:
    """Return the files of `examples/`, of a wheel or a checkout, by their paths in that folder.

    Caches and converted models are left out. The result is {} if the folder is not there or has no README.md.
    """
    folder = CARRIED_EXAMPLES if CARRIED_EXAMPLES.is_dir() else PACKAGE.parent / "examples"
    return _files_of_examples(folder) if (folder / "README.md").is_file() else {}


def _files_of_examples(folder: Path) -> dict[str, Path]:
    """Return the files of a folder with examples by their paths in the folder (with "/"), sorted.

    Python's caches are left out, and so are models that the README's commands write: those named `…-opset17.onnx`.
    """
    files = sorted(file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {file.relative_to(folder).as_posix(): file for file in files if not _RESULT.search(file.name)}


def plain_text(text: str) -> str:
    """Return Markdown for a terminal: a link to a guide becomes its text, followed by the command that shows the guide.

    Of any other link to a file, only the text is left. Web addresses stay links.
    """
    names = {guide.name for guide in guides()}

    def words(match: re.Match[str]) -> str:
        """Return the text of the link that `match` found, with the command that shows the guide if it leads to one."""
        name = _guide_name(match["file"])
        return f"{match['text']} (`opset explain {name}`)" if name in names else match["text"]

    return _replace_links(text, words)


def _index_entries(folder: Path) -> Iterator[tuple[str, Path, str, str]]:
    """Yield (name, file, group, summary) for the index of guides in a folder, then for each guide that the index lists.

    `file` is the guide's path. `group` is the heading above its entry, "" for the index itself. Nothing is yielded if
    the folder has no index.md.
    """
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
    """Return Markdown in which `replacement(match)` replaces each link to a file; web addresses and code stay.

    The match has the groups "text", "file" and "anchor" ("#…", or None).
    """
    return "".join(part if n % 2 else _LINK.sub(replacement, part) for n, part in enumerate(_CODE.split(text)))
