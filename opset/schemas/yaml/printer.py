"""Prints an operator's document as the YAML that the loader reads; printed text reads back the same."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable
from typing import Any

from opset.schemas.example import Example
from opset.schemas.yaml.keys import CASE_KEYS, NOTE_KEYS
from opset.schemas.yaml.reader import scalar

WIDTH = 120
# A plain scalar: no indicator at its start, no ": " or " #" within, words apart by one space. Inside [] and {} no
# comma, bracket and question mark either.
_START = r"(?![-?:,\[\]{}#&*!|>'\"%@`\s])"
_BLOCK_PLAIN = re.compile(_START + r"(?:[^\s:#]|:(?=\S)| (?![-?:#\s])|(?<!\s)#)+(?<!\s)")
_PLAIN = re.compile(_START + r"(?:[^\s:#?,\[\]{}\"]|:(?=[^\s?,\[\]{}])| (?![-:#\s])|(?<!\s)#)+(?<!\s)")
# Text that YAML 1.1 takes for something else, so that other readers read the same; a count `0..5` is no such.
_OTHERWISE = re.compile(r"(?i:yes|no|on|off)|=|<<|(?![0-9]+\.\.[0-9]+$)[-+.0-9][-+.0-9_: TtZzEe]*|0[bx][0-9a-fA-F_]+")
_HELD = "\0"  # a space in a key, where no line may end; as a character of text it is always escaped
_EXAMPLE_KEYS = Example._fields
_ORDER = {key: index for index, key in enumerate(("name", "like", *_EXAMPLE_KEYS[1:]))}
_SIGNATURE = ("inputs", "outputs", "attributes", "types")
_SIGNED = re.compile(r"[-+][a-z][a-z0-9_()]*")


def dump_document(document: dict[str, Any]) -> str:
    """Return an operator's document as YAML in canonical layout: an entry on one line if it fits, long prose folded."""
    lines: list[str] = []
    for top, content in document.items():
        if top == "examples" and content:
            lines.append("examples:")
            lines += [line for each in content for line in example_lines(each)]
            continue
        if top == "special_cases" and content:
            lines += _special_cases(content)
            continue
        if top == "implementations" and content:
            lines.append("implementations:")
            for name, notes in content.items():
                lines.append(f"  {_key(name)}:")
                for note in notes:
                    lines += _item_lines({key: note[key] for key in NOTE_KEYS if key in note}, "  ")
            continue
        if top != "versions":
            lines += _wrap(f"{_key(top)}: {_flow(content)}", "  ")
            continue
        lines.append("versions:")
        for version in content:
            lines_of = difference_lines if "like" in version else entry_lines
            lines += _as_item([line for key, value in version.items() for line in lines_of(key, value)])
    return "\n".join(lines).replace(_HELD, " ") + "\n"


def example_lines(example: dict[str, Any]) -> list[str]:
    """Return the YAML lines of an example.

    An example that fits on one line is one line. Any other has a line for its `inputs`, one for its `outputs`, and one
    for all other keys. If the other keys do not fit on their line, or an attribute is text of several lines, each key
    has its own line.
    """
    ordered = dict(sorted(example.items(), key=lambda each: _ORDER[each[0]]))
    literal = any(map(_is_literal, (example.get("attributes") or {}).values()))
    line = f"- {_flow(ordered)}"
    if len(line) <= WIDTH and not literal:
        return [line]
    parts = [""]
    for key, value in ordered.items():
        if key in ("inputs", "outputs") and parts[-1]:
            parts.append("")
        parts[-1] += f"{' ' if parts[-1] else ''}{key}: {_flow(value)},"
    if len(parts[0]) + 3 > WIDTH or literal:
        return _as_item([line for key, value in ordered.items() for line in _nested_lines(key, value, "  ")])
    parts[-1] = parts[-1][:-1] + "}"
    starts = ["- {"] + ["   "] * len(parts)
    return [line for start, part in zip(starts, parts, strict=False) for line in _wrap(start + part, "     ")]


def _as_item(lines: list[str], indent: str = "") -> list[str]:
    """Return the lines of a mapping as an item of a list: `- ` stands at the beginning of the first line.

    `indent` is the indentation of the list. The lines must be indented by two spaces more; `- ` replaces these two
    spaces.
    """
    return [f"{indent}- {lines[0][len(indent) + 2 :]}", *lines[1:]]


def difference_lines(key: str, value: Any) -> list[str]:
    """Return the YAML lines of one key of a version that has the key `like`, and states only what differs.

    Inputs, outputs, attributes and types are on one line if they fit. Any other key has the lines of `entry_lines`.
    """
    line = f"  {key}: {flow(value)}"
    return [line] if key in _SIGNATURE and len(line) <= WIDTH else entry_lines(key, value)


def _entry(key: str, value: Any) -> list[str]:
    """Return the YAML lines of a key and its value in flow style."""
    return _wrap(f"  {_key(key)}: {_flow(value)}", "    ")


def _prose(key: str, value: str, indent: str = "  ") -> list[str]:
    """Return the YAML lines of a key with prose, indented by `indent`.

    The text is on one line if it fits, else folded (`>`). Text with line breaks is a literal block (`|`). Text with
    control characters, or with spaces that folding would lose, is on one line, however long.
    """
    line = f"{indent}{key}: {value if _is_plain(value, _BLOCK_PLAIN) else _quote(value)}"
    printable = all(c.isprintable() for c in value.replace("\n", ""))
    if not printable or value != value.strip() or (len(line) <= WIDTH and "\n" not in value):
        return [line]
    if "\n" in value:
        return [f"{indent}{key}: |-", *(f"{indent}  {part}" if part else "" for part in value.split("\n"))]
    return [line] if "  " in value else [f"{indent}{key}: >-", *_fill(value, f"{indent}  ", f"{indent}  ")]


def _parameters(key: str, value: list[Any]) -> list[str]:
    """Return the YAML lines of a list of parameters, each as an item.

    An item is on one line if it fits, else it has a line for each key.
    """
    return [f"  {key}:"] + [line for each in value for line in _item_lines(each, "  ")]


def _mapping(key: str, value: dict[str, Any]) -> list[str]:
    """Return the YAML lines of a mapping, with its entries in flow style or as literal blocks."""
    return [f"  {key}:"] + [line for name, each in value.items() for line in _literal(name, each, "    ")]


def _literal(key: str, value: Any, indent: str = "  ") -> list[str]:
    """Return the YAML lines of an entry, indented by `indent`.

    Text of several lines is a literal block (`|`), and so is each item of a list of such texts; any other value is in
    flow style.
    """
    if not _is_literal(value):
        return _wrap(f"{indent}{_key(key)}: {_flow(value)}", f"{indent}  ")
    if isinstance(value, list):
        return [f"{indent}{_key(key)}:", *(line for each in value for line in _block(f"{indent}- |", each, indent))]
    return _block(f"{indent}{_key(key)}: |", value, indent)


def _block(head: str, text: str, indent: str) -> list[str]:
    """Return the lines of a literal block: `head`, and the lines of the text, indented by two more than `indent`."""
    return [head, *(f"{indent}  {line}" if line else "" for line in text[:-1].split("\n"))]


def _is_literal(value: Any) -> bool:
    """Whether a value is text that a literal block (`|`) keeps unchanged, or a list of such texts.

    Such a text has several lines, and ends in a newline.
    """
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, str) and _is_literal(each) for each in value)
    if not isinstance(value, str) or value[-1:] != "\n" or value[0].isspace() or value[-2:-1].isspace():
        return False
    lines = value[:-1].split("\n")
    return len(lines) > 1 and all(line.isprintable() and line == line.rstrip() for line in lines)


def _entries(key: str, value: dict[str, Any]) -> list[str]:
    """Return the YAML lines of a mapping, with each entry on one line if it fits, else nested."""
    return [f"  {key}:"] + [line for name, each in value.items() for line in _nested_lines(name, each, "    ")]


def entry_lines(key: str, value: Any, indent: str = "  ") -> list[str]:
    """Return the YAML lines of one key of a version, or of one key in a `change:` block, indented by `indent`.

    A key of a version has two spaces as `indent`. Its layout depends on its name: prose is folded, each parameter is an
    item of a list, and most other keys are in flow style.

    A key in a `change:` block has more spaces. Its value is prose if it is text, else it is in flow style.
    """
    lines = _BLOCKS.get(key, _entry)(key, value) if value and len(indent) == 2 else _nested_lines(key, value, indent)
    return [line.replace(_HELD, " ") for line in lines]


def _constraints(key: str, value: dict[str, Any]) -> list[str]:
    """Return the YAML lines of constraints, sorted by label.

    A constraint with several clauses is a list with an item for each clause.
    """
    lines = [f"  {key}:"]
    for label, each in sorted(value.items(), key=lambda entry: (len(entry[0]), entry[0])):
        if not isinstance(each, list) or not each:
            lines += _nested_lines(label, each, "    ")
            continue
        lines.append(f"    {_key(label)}:")
        lines += [line for clause in each for line in _item_lines(clause, "    ")]
    return lines


def _nested_lines(key: str, value: Any, indent: str) -> list[str]:
    """Return the YAML lines of an entry, indented by `indent`: text as prose or literal blocks, the rest in flow style.

    A mapping that does not fit on one line has a line for each of its entries.
    """
    if _is_literal(value):
        return _literal(key, value, indent)
    if isinstance(value, str):
        return _prose(_key(key), value, indent)
    line = f"{indent}{_key(key)}: {_flow(value)}"
    if not isinstance(value, dict) or (len(line) <= WIDTH and not any(map(_is_literal, value.values()))):
        return _wrap(line, f"{indent}  ")
    entries = (line for name, each in value.items() for line in _nested_lines(name, each, f"{indent}  "))
    return [f"{indent}{_key(key)}:", *entries]


def _item_lines(item: Any, indent: str) -> list[str]:
    """Return the YAML lines of an item of a list: on one line if it fits, else one line for each key.

    `indent` is the indentation of the list.
    """
    line = f"{indent}- {_flow(item)}"
    if len(line) <= WIDTH or not isinstance(item, dict):
        return _wrap(line, f"{indent}   ")
    return _as_item([line for key, each in item.items() for line in _nested_lines(key, each, f"{indent}  ")], indent)


def _bodies(key: str, value: list[Any]) -> list[str]:
    """Return the YAML lines of function bodies, with a line for each key and each node."""
    lines = [f"  {key}:"]
    for each in value:
        lines += _as_item([line for name, inner in each.items() for line in _literal(name, inner, "    ")], "  ")
    return lines


def _formula(key: str, value: str) -> list[str]:
    """Return the YAML lines of a key and its LaTeX formula, a block below the key: backslashes need no escape there.

    A formula with unprintable characters, or with spaces at an end of a line, cannot be a block: it is written in flow
    style.
    """
    if value != value.strip() or not all(line.isprintable() and line == line.strip() for line in value.split("\n")):
        return _entry(key, value)
    lines = value.split("\n")
    if len(lines) == 1 and len(value) + 4 > WIDTH and "  " not in value:
        return [f"  {key}: >-", *_fill(value, "    ", "    ")]
    return [f"  {key}: |-", *(f"    {line}" for line in lines)]


def _special_cases(value: list[Any]) -> list[str]:
    """Return the YAML lines of special cases, each a text or a mapping; long text is folded."""
    lines = ["special_cases:"]
    for each in value:
        if not isinstance(each, str):
            keys = sorted(each, key=CASE_KEYS.index)
            lines += _as_item([line for key in keys for line in _nested_lines(key, each[key], "  ")])
            continue
        line = f"- {each if _is_plain(each, _BLOCK_PLAIN) else _quote(each)}"
        is_short = len(line) <= WIDTH or "  " in each or each != each.strip() or not each.isprintable()
        lines += [line] if is_short else ["- >-", *_fill(each, "  ", "  ")]
    return lines


_BLOCKS: dict[str, Callable[[str, Any], list[str]]] = {
    "change": _entries,
    "doc": _prose,
    "formula": _formula,
    "counterparts": _entries,
    "inputs": _parameters,
    "outputs": _parameters,
    "attributes": _entries,
    "types": _mapping,
    "constraints": _constraints,
    "function": _bodies,
}


def flow(value: Any) -> str:
    """Return a value as YAML in flow style on one line, however long: `{axis: [0, 1]}`."""
    return _flow(value).replace(_HELD, " ")


def _flow(value: Any) -> str:
    """Return a value as YAML in flow style on one line.

    Each space in a key is written as the placeholder _HELD, so that `_wrap` breaks no line there.
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if isinstance(value, str):
        return value if _is_plain(value) else _quote(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"inf": ".inf", "-inf": "-.inf"}.get(str(value), ".nan")
    return repr(value)


def _key(text: str) -> str:
    """Return a key as YAML, in quotes if it needs them.

    Each space is written as the placeholder _HELD, so that `_wrap` breaks no line there.
    """
    return text if _is_plain(text) and " " not in text else _quote(text).replace(" ", _HELD)


def _is_plain(text: str, pattern: re.Pattern[str] = _PLAIN) -> bool:
    """Whether text needs no quotes in YAML.

    It needs none if it fits `pattern`, and no YAML reader takes it for a number or a word such as true. A type with a
    sign, such as `+float`, needs none either.
    """
    if _SIGNED.fullmatch(text):
        return True
    if not text.isprintable() or _OTHERWISE.fullmatch(text):
        return False
    return isinstance(scalar(text), str) and pattern.fullmatch(text) is not None


def _quote(text: str) -> str:
    """Return text in double quotes, with escapes.

    A space is escaped if it is the first character or follows another space, so that a line may be broken at any other
    space.
    """
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


def _wrap(line: str, indent: str) -> list[str]:
    """Return a line of YAML in flow style, broken at spaces into several lines if it is longer than WIDTH.

    The lines after the first begin with `indent`.
    """
    return [line] if len(line) <= WIDTH else _fill(line.lstrip(), line[: len(line) - len(line.lstrip())], indent)


def _fill(text: str, first: str, rest: str) -> list[str]:
    """Return text as lines of at most WIDTH characters, broken at spaces; a word that is longer has a longer line.

    The first line begins with `first`, the others with `rest`.
    """
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
