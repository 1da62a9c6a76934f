"""Operators on the command line: found by name, their signatures and changes as data and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from opset.catalog import (
    TransitionFacts,
    arity_words,
    body_conditions,
    brief_type,
    default_text,
    determinism_words,
    implementation_title,
    value_text,
)
from opset.cli.domains import check_version, known_domain
from opset.errors import Finding, UsageError, escape_text
from opset.opsets.registry import Registry
from opset.plain_formula import formula_lines
from opset.plain_text import prose_lines, prose_width, table_lines
from opset.schemas.model import OpSchema, unknown_words
from opset.schemas.names import domain_name, near_miss
from opset.schemas.status import status_words


class OperatorDescription(TypedDict):
    """A version of an operator: its signature, prose, constraints, examples and changes."""

    domain: str
    operator: str
    since: int
    family: str
    deprecated: bool
    replacement: str
    amended: Sequence[Any]
    experimental: bool
    unknown: str
    determinism: str
    doc: str
    formula: str
    special_cases: Sequence[Mapping[str, str]]
    implementations: Sequence[Mapping[str, Any]]
    counterparts: Mapping[str, str]
    inputs: Sequence[Mapping[str, Any]]
    outputs: Sequence[Mapping[str, Any]]
    min_input: int
    max_input: int
    min_output: int
    max_output: int
    attributes: Sequence[Mapping[str, Any]]
    types: Mapping[str, Any]
    type_sets: Mapping[str, Any]
    constraints: Mapping[str, Any]
    checked: Mapping[str, Any]
    shape: str
    function: Sequence[Any]
    examples: Sequence[Mapping[str, Any]]
    versions: Sequence[int]
    changes: Sequence[TransitionFacts]


class OperatorDifference(TypedDict):
    """The differences between an operator at two opsets, each transition, and what conversions do, up and down."""

    domain: str
    operator: str
    before: int
    after: int
    since_before: int
    since_after: int
    difference: Mapping[str, Any]
    words: Sequence[str]
    transitions: Sequence[TransitionFacts]
    up: str
    down: str


def versions_of(registry: Registry, name: str, domain: str | None = None) -> tuple[OpSchema, ...]:
    """Return all versions of "Softmax", "ai.onnx.ml.Scaler", or of a name in a domain, oldest first.

    A name without a domain is one of the standard's default domain, or else of the only domain that has it.

    Raises:
        UsageError: U105, there is no such operator, or several domains have it.
    """
    if domain is None and "." in name:
        domain, _, name = name.rpartition(".")
    domains = list(registry.domains) if domain is None else [known_domain(registry, domain)]
    homes = [each for each in domains if registry.since_versions(name, each)]
    if not homes:
        names = [operator for each in domains for operator in registry.operators(each)]
        where = "" if domain is None else f" in {domain_name(domains[0])}"
        help = near_miss(name, names) if domain is None else registry.near_miss(name, domain)
        help = help or "opset list shows all"
        raise UsageError(Finding("U105", f"there is no operator '{name}'{where}", help=help))
    if "" not in homes and len(homes) > 1:
        choices = " or ".join(f"{home}.{name}" for home in homes)
        raise UsageError(Finding("U105", f"several domains have an operator '{name}'", help=f"write {choices}"))
    return registry.versions(name, "" if "" in homes else homes[0])


def version_at(registry: Registry, versions: tuple[OpSchema, ...], version: int) -> OpSchema:
    """Return the schema of an operator at a version of its operator set. Raises UsageError U105 if it has none."""
    newest = versions[-1]
    check_version(registry, newest.domain, version)
    schema = registry.schema(newest.name, version, newest.domain)
    if schema is None:
        help = f"it came with version {versions[0].since_version}"
        where = f"{domain_name(newest.domain)} {version}"
        raise UsageError(Finding("U105", f"{newest.name} is not part of {where}", help=help))
    return schema


def operator_at(
    registry: Registry, text: str, domain: str | None = None
) -> tuple[tuple[OpSchema, ...], OpSchema | None]:
    """Return all versions of the operator that OP[@V] names, and its schema at V, None if V is left out.

    Raises:
        UsageError: U105, there is no such operator or version, or V is no number.
    """
    name, at, version = text.partition("@")
    versions = versions_of(registry, name, domain)
    if not at:
        return versions, None
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        message = f"'{version}' is no version of an operator set"
        raise UsageError(Finding("U105", message, help="write a number: Softmax@13"))
    return versions, version_at(registry, versions, int(version))


def schema_lines(data: Mapping[str, Any]) -> list[str]:
    """Return `schema_data` as text."""
    lines = []
    if data["deprecated"]:
        use = f"; use {data['replacement']}" if data["replacement"] else ""
        lines += prose_lines(escape_text(f"withdrawn{use}"), "  ")
    for text in data["amended"]:
        lines += prose_lines(escape_text(text), "  ")
    lines += ["  experimental"] if data["experimental"] else []
    lines += prose_lines(unknown_words(data["unknown"]), "  ") if data["unknown"] else []
    lines += prose_lines(determinism_words(data["determinism"]), "  ")
    lines += ["", *prose_lines(data["doc"], "  ")]
    if data["formula"]:
        lines += ["", *(line for each in formula_lines(data["formula"]) for line in prose_lines(each, "  "))]
    for side in ("inputs", "outputs"):
        cells = [[each["name"], ", ".join([brief_type(each["type"]), *arity_words(each)])] for each in data[side]]
        lines += _section_lines(side, cells, data[side])
    kinds = [[attribute["name"], _attribute_text(attribute)] for attribute in data["attributes"]]
    lines += _section_lines("attributes", kinds, data["attributes"])
    if data["types"]:
        lines += ["", "types"]
        for name, types in data["types"].items():
            listed, named = ", ".join(map(brief_type, types)), data["type_sets"][name]
            lines += prose_lines(escape_text(f"{name}: {named}"), "  ")
            lines += prose_lines(escape_text(listed), "      ") if listed != named else []
    if data["constraints"]:
        lines += ["", "constraints"]
        for label, text in data["constraints"].items():
            lines += prose_lines(f"{label}: {text}", "  ")
    if data["special_cases"]:
        lines += ["", "special cases"]
        for case in data["special_cases"]:
            first, *rest = prose_lines(case["text"], "    ")
            lines += [f"  - {first.strip()}", *rest, *_ground_lines(case, "    ")]
    if data["implementations"]:
        lines += ["", "implementations"]
        for note in data["implementations"]:
            lines += prose_lines(f"{implementation_title(note)}: {note['text']}", "  ")
    lines += ["", "shapes of outputs", f"  {escape_text(data['shape'])}"] if data["shape"] else []
    if data["counterparts"]:
        lines += ["", "elsewhere"]
        for name, text in data["counterparts"].items():
            lines += prose_lines(f"{name}: {text}", "  ")
    for body in data["function"]:
        lines += ["", *prose_lines(escape_text(f"function body{body_conditions(body, data['function'])}"), "")]
        lines += [f"  {escape_text(line)}" for line in body["nodes"].splitlines()]
    return lines


def _ground_lines(data: Mapping[str, Any], indent: str) -> list[str]:
    """Return the ground of a special case or an example, nothing if it is derived."""
    words = status_words(data["status"], data["because"])
    return prose_lines(escape_text(f"({words})"), indent) if words else []


EXAMPLES = 4
"""Examples that are shown as text; as JSON, all are."""


def example_lines(examples: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the first few of an operator's examples as text: those with results come before those that are errors."""
    ordered = sorted(examples, key=lambda each: bool(each["error"]))
    lines = ["", "examples"] if examples else []
    for example in ordered[:EXAMPLES]:
        lines += prose_lines(escape_text(f"{example['name']}{': ' if example['doc'] else ''}{example['doc']}"), "  ")
        lines += _ground_lines(example, "      ")
        attributes = ", ".join(f"{name} = {_content_text(value)}" for name, value in example["attributes"].items())
        rows = [["", shorten(attributes)]] if attributes else []
        for label, values in (("in", example["inputs"]), ("out", example["outputs"] or ())):
            rows += [["" if number else label, _content_text(value)] for number, value in enumerate(values)]
        rows += [["error", example["error"]]] if example["error"] else []
        lines += table_lines(rows, indent="      ")
    if len(examples) > EXAMPLES:
        lines.append(f"  and {len(examples) - EXAMPLES} more: --format json")
    return lines


def _content_text(value: Any) -> str:
    """Return a value of an example, cut to one line."""
    if value is None:
        return "none"
    if not isinstance(value, dict):
        return shorten(value_text(value))
    shape = value["shape"]
    kind = value["type"] if shape is None else f"{brief_type(value['type'])}{shape}"
    return shorten(f"{kind} {value_text(value['content'])}")


def shorten(text: str) -> str:
    """Return text on one line, cut to the room beside its label."""
    text = " ".join(text.split())
    room = prose_width() - 14
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _section_lines(title: str, cells: list[list[str]], entries: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a title and the entries below it: aligned cells, each followed by its description."""
    if not entries:
        return []
    lines = ["", title]
    for line, entry in zip(table_lines(cells), entries, strict=True):
        lines += [line, *prose_lines(escape_text(_declaration_text(entry)), "      ")]
        lines += prose_lines(entry["doc"], "      ")
    return lines


def _attribute_text(attribute: Mapping[str, Any]) -> str:
    """Return the type and the default of an attribute."""
    default = attribute["default"]
    words = [attribute["type"] if default is None else f"{attribute['type']} = {default_text(default)}"]
    words += ["required"] if attribute["required"] else []
    return ", ".join(words)


def _declaration_text(entry: Mapping[str, Any]) -> str:
    """Return the values that an attribute may have, and the constraint that others break."""
    words = [entry["kind"]] if entry.get("kind") else []
    words += [f"one of {', '.join(map(value_text, entry['choices']))}"] if entry.get("choices") else []
    words += [entry["range"]] if entry.get("range") else []
    return "; ".join(words) + (f" ({entry['constraint']})" if entry.get("constraint") else "")


def change_lines(change: TransitionFacts) -> list[str]:
    """Return the text of a transition."""
    lines = [f"  {change.before} -> {change.since}"]
    lines += [line for words in change.words for line in prose_lines(escape_text(words), "    ")]
    lines += prose_lines(change.meaning, "    ")
    if change.clarified:
        lines += prose_lines(f"clarified: {change.clarified}", "    ")
    return [*lines, *prose_lines(escape_text(f"up: {change.up}; down: {change.down}"), "    ")]
