"""Prints an operator's document as the YAML that the loader reads; what is printed reads back the same."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable
from typing import Any

from opset.schemas.reader import scalar

WIDTH = 120
# A plain scalar: no indicator at its start, no ": " or " #" within, words apart by one space. Inside [] and {} no
# comma, bracket and question mark either.
_START = r"(?![-?:,\[\]{}#&*!|>'\"%@`\s])"
_BLOCK_PLAIN = re.compile(_START + r"(?:[^\s:#]|:(?=\S)| (?![-?:#\s])|(?<!\s)#)+(?<!\s)")
_PLAIN = re.compile(_START + r"(?:[^\s:#?,\[\]{}\"]|:(?=[^\s?,\[\]{}])| (?![-:#\s])|(?<!\s)#)+(?<!\s)")
_SIGNED = re.compile(r"[-+][a-z][a-z0-9_()]*")


def dump_document(document: dict[str, Any]) -> str:
    """Give the canonical text of an operator's document: one line a parameter, long prose folded at 120 columns."""
    lines: list[str] = []
    for top, content in document.items():
        if top != "versions":
            lines += _wrapped(f"{_key(top)}: {flow(content)}", "  ")
            continue
        lines.append("versions:")
        for version in content:
            first = len(lines)
            for key, value in version.items():
                lines += _BLOCKS.get(key, _entry)(key, value) if value else _entry(key, value)
            lines[first] = "- " + lines[first][2:]
    return "\n".join(lines) + "\n"


def _entry(key: str, value: Any) -> list[str]:
    return _wrapped(f"  {_key(key)}: {flow(value)}", "    ")


def _prose(key: str, value: str, indent: str = "  ") -> list[str]:
    """Print prose: on the line where it fits, folded where it is one paragraph, line by line where it has several."""
    line = f"{indent}{key}: {value if _is_plain(value, _BLOCK_PLAIN) else _quoted(value)}"
    printable = all(c.isprintable() for c in value.replace("\n", ""))
    if not printable or value != value.strip() or (len(line) <= WIDTH and "\n" not in value):
        return [line]
    if "\n" in value:
        return [f"{indent}{key}: |-", *(f"{indent}  {part}" if part else "" for part in value.split("\n"))]
    if "  " in value:
        return [line]
    return [f"{indent}{key}: >-", *_fill(value, f"{indent}  ", f"{indent}  ")]


def _parameters(key: str, value: list[Any]) -> list[str]:
    return [f"  {key}:"] + [line for each in value for line in _wrapped(f"  - {flow(each)}", "     ")]


def _mapping(key: str, value: dict[str, Any]) -> list[str]:
    lines = [f"  {key}:"]
    for name, each in value.items():
        lines += _wrapped(f"    {_key(name)}: {flow(each)}", "      ")
    return lines


def _change(key: str, value: dict[str, Any]) -> list[str]:
    lines = [f"  {key}:"]
    for name, each in value.items():
        if isinstance(each, str):
            lines += _prose(name, each, "    ")
            continue
        line = f"    {name}: {flow(each)}"
        if len(line) <= WIDTH or not isinstance(each, dict):
            lines += _wrapped(line, "      ")
            continue
        lines.append(f"    {name}:")
        for inner, item in each.items():
            lines += _wrapped(f"      {_key(inner)}: {flow(item)}", "        ")
    return lines


_BLOCKS: dict[str, Callable[[str, Any], list[str]]] = {
    "change": _change,
    "doc": _prose,
    "inputs": _parameters,
    "outputs": _parameters,
    "attributes": _mapping,
    "types": _mapping,
}


def flow(value: Any) -> str:
    """Give a value in flow style, on one line. Nesting is what the loader accepts, so it is shallow."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        return value if _is_plain(value) else _quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"inf": ".inf", "-inf": "-.inf"}.get(str(value), ".nan")
    return repr(value)


def _key(text: str) -> str:
    """Give a key, in which no line may end: a space that could end one is escaped."""
    return text if _is_plain(text) and " " not in text else _quoted(text).replace(" ", "\\x20")


def _is_plain(text: str, pattern: re.Pattern[str] = _PLAIN) -> bool:
    if _SIGNED.fullmatch(text):
        return True
    return text.isprintable() and isinstance(scalar(text), str) and pattern.fullmatch(text) is not None


def _quoted(text: str) -> str:
    """Give a double-quoted scalar; of several spaces all but the first are escaped, so that a line may end at any."""
    escaped = []
    for character, before in zip(text, "\0" + text, strict=False):
        code = ord(character)
        if character in '"\\':
            escaped.append("\\" + character)
        elif character == "\n":
            escaped.append("\\n")
        elif character.isprintable() and not (character == " " and before in (" ", "\0")):
            escaped.append(character)
        else:
            escaped.append(f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 2**16 else f"\\U{code:08x}")
    return f'"{"".join(escaped)}"'


def _wrapped(line: str, indent: str) -> list[str]:
    """Break a line of flow style at spaces; in YAML a line break within a scalar is a space as well."""
    return [line] if len(line) <= WIDTH else _fill(line.lstrip(), line[: len(line) - len(line.lstrip())], indent)


def _fill(text: str, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
        expand_tabs=False,
        replace_whitespace=False,
    )
