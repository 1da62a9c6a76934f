"""The pages of the checker's rules, each made from a rule and its fixture in fixtures.yaml."""

from __future__ import annotations

import re
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

from opset.checker.table import CHECKER, ERROR
from opset.model.proto import is_repeated
from opset.model.text.syntax import parse_model
from opset.rules import Rule
from opset.schemas.yaml.reader import Findings, read

FIXTURES = Path(__file__).parent / "fixtures.yaml"
MODELS, USUAL = "models", "relu"
WIDTH = 118
DOCUMENTS = {
    "IR": "the IR specification",
    "early IR": "the early IR specification",
    "versioning": "the versioning document",
}
_STEP = re.compile(r"(\w+)(?:\[(\d+|\+)\])?")


@cache
def fixtures() -> dict[str, dict[str, Any]]:
    """Return the fixture of each rule by its code, from fixtures.yaml: its texts, its good and its bad model. Cached.

    The head of that file describes its keys. "good" is always the text of a model, also if the file only names a shared
    one.
    """
    plain: dict[str, dict[str, Any]] = read(FIXTURES.read_bytes(), Findings(str(FIXTURES))).plain()
    models = plain.pop(MODELS)
    for fixture in plain.values():
        good = fixture.setdefault("good", USUAL)
        model = models.get(good, good)
        fixture |= model if isinstance(model, dict) else {"good": model}
    return plain


def section_of(code: str) -> str:
    """Return the document and section that a code enforces: "the IR specification, Graphs".

    Raises KeyError if no rule has the code.
    """
    document, comma, section = fixtures()[code]["section"].partition(", ")
    return f"{DOCUMENTS.get(document, document)}{comma}{section}"


def good_model(code: str) -> Any:
    """Return the ModelProto in the fixture of a rule that breaks no rule; its edits under "add" are made."""
    fixture = fixtures()[code]
    model = parse_model(fixture["good"])
    for path, value in fixture.get("add", {}).items():
        set_field(model, path, value)
    return model


def bad_model(code: str) -> bytes:
    """Return the serialized model in the fixture of a rule that breaks this rule.

    It is a text of its own, or the good model with edits. Bytes that no message can hold are replaced at last.
    """
    fixture = fixtures()[code]
    bad = fixture["bad"]
    model = parse_model(bad) if isinstance(bad, str) else good_model(code)
    for path, value in bad.items() if isinstance(bad, dict) else ():
        set_field(model, path, value)
    data: bytes = model.SerializeToString()
    for old, new in fixture.get("replace", {}).items():
        data = data.replace(old.encode(), bytes.fromhex(new[2:]))
    return data


def set_field(message: Any, path: str, value: Any) -> None:
    """Set a field of a message, in place, by its path, such as "graph.node[0].op_type".

    A value of None clears the field, or removes the entry "[0]". "[+]" adds an entry. A list replaces all entries of a
    repeated field, and a mapping all fields of a message. Raises ValueError if a part of the path is malformed,
    KeyError if there is no such field.
    """
    *outer, last = path.split(".")
    for part in outer:
        name, index = _step(part)
        message = getattr(message, name) if not index else getattr(message, name)[int(index)]
    name, index = _step(last)
    field = message.DESCRIPTOR.fields_by_name[name]
    if index == "+":
        _add(message, field, value)
    elif index:
        _set_entry(getattr(message, name), int(index), field, value)
    elif value is None:
        message.ClearField(name)
    elif is_repeated(field):
        message.ClearField(name)
        for each in value:
            _add(message, field, each)
    elif field.message_type is not None:
        getattr(message, name).Clear()
        getattr(message, name).SetInParent()
        _fill(getattr(message, name), value)
    else:
        setattr(message, name, _scalar(field, value))


def _step(part: str) -> tuple[str, str]:
    """Return (field, index) for a part of a path: ("node", "0") for "node[0]", ("node", "+"), or ("node", "").

    Raises ValueError if the part has another form.
    """
    match = _STEP.fullmatch(part)
    if match is None:
        raise ValueError(f"{part!r} is no field")
    return match[1], match[2] or ""


def _set_entry(entries: Any, index: int, field: Any, value: Any) -> None:
    """Replace one entry of a repeated field, in place; None removes it.

    `field` is the descriptor of the field. A mapping gives the fields of a message.
    """
    if value is None:
        del entries[index]
    elif field.message_type is None:
        entries[index] = _scalar(field, value)
    else:
        entries[index].Clear()
        _fill(entries[index], value)


def _add(message: Any, field: Any, value: Any) -> None:
    """Append an entry to a repeated field; a mapping gives the fields of a message. `field` is its descriptor."""
    entries = getattr(message, field.name)
    if field.message_type is None:
        entries.append(_scalar(field, value))
    else:
        _fill(entries.add(), value)


def _fill(message: Any, fields: dict[str, Any]) -> None:
    """Set the fields of a message, in place, from a mapping of paths to values, as `set_field` does."""
    for name, value in fields.items():
        set_field(message, name, value)


def _scalar(field: Any, value: Any) -> Any:
    """Return a plain value in the form that a field of numbers, text or bytes takes.

    For a field of bytes, a text becomes UTF-8, and "0x…" the bytes that it spells in hexadecimal.
    """
    if field.type != field.TYPE_BYTES:
        return value
    return bytes.fromhex(value[2:]) if value.startswith("0x") else value.encode()


def page_body(code: str) -> str:
    """Return the page of a rule in Markdown, without its title: its reason, a bad and a good model, and what to do."""
    rule, fixture = CHECKER.by_code[code], fixtures()[code]
    bad, added = fixture["bad"], fixture.get("add", {})
    parts = [
        _paragraph(fixture["why"]),
        _paragraph(_report_text(code, rule)),
        "## Bad",
        *(["The model under Good, with these edits:"] if isinstance(bad, dict) else []),
        _block(bad if isinstance(bad, str) else _edits_text(bad)),
        "## Good",
        _block(fixture["good"]),
        *(["with these fields, which the text syntax cannot express:", _block(_edits_text(added))] if added else []),
        "## What to do",
        _paragraph(fixture["do"]),
    ]
    return "\n\n".join(parts) + "\n"


def _report_text(code: str, rule: Rule[Any]) -> str:
    """Return sentences on a rule: how it is reported, its section, and the IR versions for which it holds."""
    kind = "an error" if rule.severity == ERROR else "a warning"
    selected = f"With `--select {code}`, " if rule.optional else ""
    versions = ""
    if rule.since and rule.until is not None:
        versions = f" The rule holds for IR versions {rule.since} to {rule.until}."
    elif rule.since or rule.until is not None:
        span = f"from IR version {rule.since} on" if rule.since else f"up to IR version {rule.until}"
        versions = f" The rule holds {span}."
    return f"{selected}`opset check` reports this as {kind}. Source: {section_of(code)}.{versions}"


def _edits_text(edits: dict[str, Any]) -> str:
    """Return the edits of a fixture as lines "path: value"; long lines are wrapped."""
    lines = [f"{path}: {_value_text(value)}" for path, value in edits.items()]
    return "\n".join(textwrap.fill(line, WIDTH - 4, subsequent_indent="  ", break_long_words=False) for line in lines)


def _value_text(value: Any) -> str:
    """Return a value of an edit as YAML shows it; "(cleared)" for None."""
    if value is None:
        return "(cleared)"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_value_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value_text, value)) + "]"
    return repr(value).replace("'", '"')


def _block(text: str) -> str:
    """Return text as an indented block of code in Markdown."""
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def _paragraph(text: str) -> str:
    """Return text as a paragraph of lines with at most WIDTH characters."""
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)
