"""Locates the versions of an operator file and their keys, so that an edit leaves every other byte alone."""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from opset.errors import Finding, UsageError
from opset.schemas.yaml.reader import YamlNode

_BREAK = re.compile(r"\r\n|[\n\r\x85\u2028\u2029]")  # what YAML counts as the end of a line
_ITEM = re.compile(r" *- +")


class VersionLines(NamedTuple):
    """The lines of a version in an operator file; indices are 0-based, and an end is exclusive.

    - `start`, `end`: the indices of its first line, and of the line after its last one;
    - `column`: the 0-based column of its keys; `keys`: the (start, end) of the lines of each key.
    """

    since: int
    node: YamlNode
    start: int
    end: int
    column: int
    keys: dict[str, tuple[int, int]]


def lines_of(text: str) -> list[str]:
    """Return the lines of a text with their line endings, as YAML counts lines; [] for ""."""
    ends = [match.end() for match in _BREAK.finditer(text)]
    return [text[start:end] for start, end in itertools.pairwise([0, *ends, len(text)]) if start < end]


def locate_versions(path: str, root: YamlNode, lines: list[str]) -> list[VersionLines]:
    """Return the position and the lines of each version of an operator file, in the order of the file.

    Args:
        path: Path of the file, for messages.
        root: The parsed YAML of the file.
        lines: The lines of the file, as `lines_of` returns them.

    Raises:
        UsageError: U103 if a version is not written as a block in which each key begins a line.
    """
    nodes = root.value["versions"].value
    after = [key.line - 1 for key in root.keys.values() if key.line > nodes[-1].line]
    starts = [node.line - 1 for node in nodes]
    versions = []
    for node, start, end in zip(nodes, starts, [*starts[1:], min(after, default=len(lines))], strict=True):
        column = node.column - 1
        keys = [key.line - 1 for key in node.keys.values()]
        in_block = all(key.column == node.column for key in node.keys.values()) and sorted({*keys}) == keys
        if not in_block or keys[0] != start or not _ITEM.fullmatch(lines[start][:column]):
            message = "the versions of this file cannot be edited line by line"
            why = "a version is not written with each of its keys at the beginning of a line"
            help = "opset lint --fix DIR writes the layout of operator files"
            place = f"{path}:{node.line}:{node.column}"
            raise UsageError(Finding("U103", message, place, why, help))
        while _is_outside(lines[end - 1], column):
            end -= 1
        ends = [*keys[1:], end]
        blocks = dict(zip(node.keys, zip(keys, ends, strict=True), strict=True))
        versions.append(VersionLines(node.value["since"].value, node, start, end, column, blocks))
    return versions


def _is_outside(line: str, column: int) -> bool:
    """Return whether a line at the end of a version does not belong to it: an empty one, or a comment further left.

    `column` is the 0-based column of the version's keys; a comment that begins there or behind it belongs to the
    version.
    """
    text = line.strip()
    return not text or (text.startswith("#") and len(line) - len(line.lstrip()) < column)


def key_lines(version: VersionLines, lines: list[str], key: str) -> list[str]:
    """Return the lines of one key of a version, such as "inputs", with its value.

    `lines` are the lines of the file. The dash before the first key of a version becomes a space. Raises KeyError if
    the version does not have the key.
    """
    start, end = version.keys[key]
    block = lines[start:end]
    if start == version.start:
        block[0] = " " * version.column + block[0][version.column :]
    return block


def line_end(lines: list[str]) -> str:
    r"""Return the line ending of a file's first line, "\n" if it has none."""
    match = _BREAK.search(lines[0])
    return match[0] if match else "\n"
