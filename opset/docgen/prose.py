"""Text of a registry in Markdown: prose is parsed and then written without HTML, links and images.

The texts of a registry are data. Characters with a meaning in Markdown are escaped, code is in spans and fences that
are long enough, and control and bidirectional characters are made visible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from markdown_it.token import Token

from opset.docgen.code import escape_invisible
from opset.docgen.markup import reader

_ACTIVE = re.compile(
    r"[\\`\[\]|~$]"
    r"|(?<!\s)\*|\*(?!\s)|(?<![^\W_])_|_(?![^\W_])"  # emphasis, but not a * between spaces or a _ within a word
    r"|<(?![\s=\d])|&(?=[\w#])|!(?=\[)"
    r"|(?<=\s)#(?=#*$)"  # the end of a heading
    r"|:(?=//)|(?<=\bwww)\."  # many viewers make links of addresses
)
_AT_START = re.compile(r"(?:[-+*](?=\s|$)|#{1,6}(?=\s|$)|>|=+\s*$|-+\s*$|\d{1,9}(?=[.)](?:\s|$)))")

_IN_CODE = re.compile(r"(?<!\\)\|")


def escape(text: str) -> str:
    """Return text as one line of Markdown that shows exactly this text; runs of white space become one space."""
    return _escape_start(_escape_active(" ".join(escape_invisible(text).split())))


def _escape_active(text: str) -> str:
    """Return text with a backslash before each character that has a meaning within a line of Markdown."""
    return _ACTIVE.sub(r"\\\g<0>", text)


def _escape_start(line: str) -> str:
    """Return a line of Markdown that begins no list, heading, quotation or rule: a backslash is added if it would.

    Spaces around the line are removed.
    """
    line = line.strip()
    found = _AT_START.match(line)
    if found is None:
        return line
    place = found.end() if found[0][0].isdigit() else 0
    return f"{line[:place]}\\{line[place:]}"


def code_span(text: str) -> str:
    """Return text as a Markdown code span on one line, "" if it is blank. Invisible characters are escaped."""
    text = " ".join(escape_invisible(text).split("\n"))
    if not text.strip():
        return ""
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text[0] == "`" or text[-1] == "`" or (text[0] == text[-1] == " ") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}"


def fence(text: str, language: str = "") -> list[str]:
    """Return text as the lines of a fenced Markdown block of code in `language`. Invisible characters are escaped."""
    lines = escape_invisible(text).rstrip("\n").split("\n")
    ticks = "`" * max(3, _longest_run(text) + 1)
    return [f"{ticks}{language}", *lines, ticks]


def _longest_run(text: str) -> int:
    """Return the length of the longest run of backticks in a text, 0 if it has none."""
    return max(map(len, re.findall("`+", text)), default=0)


@lru_cache(maxsize=4096)
def phrase(text: str) -> str:
    """Return a phrase of untrusted Markdown as one line of safe Markdown. Cached.

    HTML becomes text. A link or image becomes its text, with its address in parentheses.
    """
    (token,) = reader().parseInline(" ".join(escape_invisible(text).split()))
    return _escape_start(_inline_text(token.children or ()).replace("\n", " "))


def _inline_text(tokens: Iterable[Token]) -> str:
    """Return the tokens in a Markdown block as Markdown, in which line breaks are kept.

    A link or image becomes its text, with its address in parentheses; other text is escaped.
    """
    parts: list[str] = []
    links: list[tuple[str, int]] = []
    for token in tokens:
        if token.type == "code_inline":
            parts.append(code_span(token.content))
        elif token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif token.type in ("em_open", "em_close"):
            parts.append("*")
        elif token.type in ("strong_open", "strong_close"):
            parts.append("**")
        elif token.type == "link_open":
            links.append((str(token.attrGet("href")), len(parts)))
        elif token.type == "link_close":
            address, start = links.pop()
            parts.append(_address_text(address, "".join(parts[start:])))
        elif token.type == "image":
            parts.append(_escape_active(token.content))
            parts.append(_address_text(str(token.attrGet("src")), token.content))
        else:
            parts.append(_escape_active(token.content))
    return "".join(parts)


def _address_text(address: str, shown: str) -> str:
    """Return " (ADDRESS)" for a link, with the address as code.

    The result is "" if there is no address, or if the link's text as Markdown, `shown`, is the address itself.
    """
    return "" if not address or _escape_active(address) == shown else f" ({code_span(address)})"


class _Blocks:
    """Builds the lines of a Markdown text with nested lists and quotations, in `lines`."""

    def __init__(self) -> None:
        """Begin an empty text."""
        self.lines: list[str] = []
        self._within: list[str] = []
        self._marker = ""

    def open(self, marker: str, rest: str) -> None:
        """Begin an item of a list, or a quotation, inside of the item or quotation that is open.

        Its first line begins with `marker`, such as "- ", and its others with `rest`, such as two spaces.
        """
        self._marker = (self._marker or "".join(self._within)) + marker
        self._within.append(rest)

    def close(self) -> None:
        """End the item or quotation that was begun last; an empty one gets a line with its marker."""
        if self._marker:  # it is empty
            self.add([""])
        self._within.pop()

    def add(self, lines: Sequence[str], tight: bool = False) -> None:
        """Append the lines of a block to `self.lines`, and then an empty line, unless `tight`."""
        rest = "".join(self._within)
        for line in lines:
            self.lines.append(((self._marker or rest) + line).rstrip())
            self._marker = ""
        if not tight:
            self.space()

    def space(self) -> None:
        """Append an empty line to `self.lines`, unless its last line is empty or it has none."""
        empty = "".join(self._within).rstrip()
        if self.lines and self.lines[-1] != empty:
            self.lines.append(empty)


@lru_cache(maxsize=4096)
def prose(text: str) -> tuple[str, ...]:
    """Return untrusted Markdown as lines of safe Markdown. Cached.

    HTML becomes text, and a heading a bold paragraph. A link or image becomes its text, with its address in
    parentheses.
    """
    blocks = _Blocks()
    numbers: list[int | None] = []
    row: list[str] = []
    tight = heading = cells = False
    for token in reader().parse(escape_invisible(text)):
        kind, _, side = token.type.rpartition("_")
        opens = side == "open"
        if kind in ("bullet_list", "ordered_list"):
            if opens:
                numbers.append(int(token.attrGet("start") or 1) if kind == "ordered_list" else None)
            else:
                numbers.pop()
                blocks.space()
        elif kind == "list_item" and opens:
            number = numbers[-1]
            marker = "- " if number is None else f"{number}. "
            numbers[-1] = None if number is None else number + 1
            blocks.open(marker, " " * len(marker))
        elif kind == "blockquote" and opens:
            blocks.open("> ", "> ")
        elif kind in ("list_item", "blockquote"):
            blocks.close()
        elif kind == "paragraph":
            tight = token.hidden
        elif kind == "heading":
            heading = opens
        elif kind == "tr":
            cells = opens
            if not opens:
                blocks.add([f"| {' | '.join(row)} |"], tight=True)
            row = [] if opens else row
        elif kind == "thead" and not opens:
            blocks.add(["| --- " * len(row) + "|"], tight=True)
        elif kind == "table" and not opens:
            blocks.space()
        elif token.type in ("fence", "code_block"):
            blocks.add(fence(token.content))
        elif token.type == "inline" and cells:
            row.append(_IN_CODE.sub(r"\\|", _inline_text(token.children or ()).replace("\n", " ")))
        elif token.type == "inline":
            lines = [_escape_start(line) for line in _inline_text(token.children or ()).split("\n")]
            lines = [line for line in lines if line]
            blocks.add([f"**{' '.join(lines)}**"] if heading else lines, tight)
    return tuple(blocks.lines[:-1] if blocks.lines and not blocks.lines[-1] else blocks.lines)
