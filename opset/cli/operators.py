"""Operators on the command line: found by name, their signatures and changes as data and as text."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from opset.cli.domains import check_version, known_domain
from opset.errors import Finding, UsageError, escaped
from opset.opsets.registry import Registry
from opset.schemas.diff import signature_diff
from opset.schemas.model import UNBOUNDED, VARIADIC, Example, ExampleValue, OpSchema, Parameter
from opset.schemas.names import near_miss, shown
from opset.schemas.shapes import STATES
from opset.text import columns, prose, prose_width
from opset.version_converter.derive import derive

# What an adapter has to do, least first.
NOTHING, DERIVED, WRITTEN, IMPOSSIBLE = "nothing to do", "derived", "written", "impossible"


def versions_of(registry: Registry, name: str, domain: str | None = None) -> tuple[OpSchema, ...]:
    """Return all versions of "Softmax", "ai.onnx.ml.Scaler", or of a name in a domain, oldest first.

    A name without a domain is one of the standard's default domain, or else of the only domain that has it.
    Raises UsageError U105 where there is none.
    """
    if domain is None and "." in name:
        domain, _, name = name.rpartition(".")
    domains = list(registry.domains) if domain is None else [known_domain(registry, domain)]
    homes = [each for each in domains if registry.versions(name, each)]
    if not homes:
        names = [operator for each in domains for operator in registry.operators(each)]
        where = "" if domain is None else f" in {shown(domains[0])}"
        help = near_miss(name, names) or "opset list shows all"
        raise UsageError(Finding("U105", f"there is no operator '{name}'{where}", help=help))
    if "" not in homes and len(homes) > 1:
        choices = " or ".join(f"{home}.{name}" for home in homes)
        raise UsageError(Finding("U105", f"several domains have an operator '{name}'", help=f"write {choices}"))
    return registry.versions(name, "" if "" in homes else homes[0])


def version_at(registry: Registry, versions: tuple[OpSchema, ...], version: int) -> OpSchema:
    """Return what an operator is at a version of its operator set. Raises UsageError U105 where there is none."""
    newest = versions[-1]
    check_version(registry, newest.domain, version)
    schema = registry.schema(newest.name, version, newest.domain)
    if schema is None:
        help = f"it came with version {versions[0].since_version}"
        where = f"{shown(newest.domain)} {version}"
        raise UsageError(Finding("U105", f"{newest.name} is not part of {where}", help=help))
    return schema


def schema_data(registry: Registry, schema: OpSchema) -> dict[str, Any]:
    """Return one version of an operator as plain data: its signature and prose."""
    docs = registry.documentation(schema)

    def parameter(each: Parameter, phrases: Mapping[str, str]) -> dict[str, Any]:
        data: dict[str, Any] = {"name": each.name, "type": each.type, "option": each.option}
        data["doc"] = phrases.get(each.name, "")
        if each.option == VARIADIC:
            data |= {"homogeneous": each.homogeneous, "min_arity": each.min_arity}
        return data

    return {
        "domain": shown(schema.domain), "operator": schema.name, "since": schema.since_version,
        "family": schema.family, "deprecated": schema.deprecated, "replacement": schema.replacement,
        "experimental": schema.experimental, "determinism": schema.determinism, "doc": docs.doc,
        "formula": docs.formula, "special_cases": list(docs.special_cases), "counterparts": docs.counterparts,
        "inputs": [parameter(each, docs.inputs) for each in schema.inputs],
        "outputs": [parameter(each, docs.outputs) for each in schema.outputs],
        "min_input": schema.min_input, "max_input": _bound(schema.max_input),
        "min_output": schema.min_output, "max_output": _bound(schema.max_output),
        "attributes": [
            {"name": each.name, "type": each.type, "default": each.default, "required": each.required,
             "choices": list(each.choices), "range": each.range, "kind": each.kind, "constraint": each.constraint,
             "doc": docs.attributes.get(each.name, "")}
            for each in schema.attributes.values()
        ],
        "types": {name: list(types) for name, types in schema.types.items()},
        "constraints": docs.constraints, "shape": schema.shape,
        "function": [{**body._asdict(), "where": dict(body.where)} for body in schema.function],
    }  # fmt: skip


def schema_lines(data: dict[str, Any]) -> list[str]:
    """Return `schema_data` as text."""
    lines = []
    if data["deprecated"]:
        use = f"; use {data['replacement']}" if data["replacement"] else ""
        lines += prose(escaped(f"withdrawn{use}"), "  ")
    lines += ["  experimental"] if data["experimental"] else []
    lines += prose(data["determinism"], "  ") if data["determinism"] != "deterministic" else []
    lines += ["", *prose(data["doc"], "  ")]
    lines += ["", *prose(data["formula"], "  ")] if data["formula"] else []
    for side in ("inputs", "outputs"):
        lines += _section(side, [[each["name"], _kind(each)] for each in data[side]], data[side])
    kinds = [[each["name"], _attribute(each)] for each in data["attributes"]]
    lines += _section("attributes", kinds, data["attributes"])
    if data["types"]:
        lines += ["", "types"]
        for name, types in data["types"].items():
            lines += prose(escaped(f"{name}: {', '.join(types)}"), "  ")
    if data["constraints"]:
        lines += ["", "constraints"]
        for label, text in data["constraints"].items():
            lines += prose(f"{label}: {text}", "  ")
    if data["special_cases"]:
        lines += ["", "special cases"]
        for text in data["special_cases"]:
            first, *rest = prose(text, "    ")
            lines += [f"  - {first.strip()}", *rest]
    lines += ["", "shapes of outputs", f"  {escaped(data['shape'])}"] if data["shape"] else []
    if data["counterparts"]:
        lines += ["", "elsewhere"]
        for name, text in data["counterparts"].items():
            lines += prose(f"{name}: {text}", "  ")
    for body in data["function"]:
        lines += ["", *prose(escaped(f"function body{_served(body)}"), "")]
        lines += [f"  {escaped(line)}" for line in body["nodes"].splitlines()]
    return lines


EXAMPLES = 4
"""Examples that are shown as text; as JSON, all are."""


def example_data(example: Example) -> dict[str, Any]:
    """Return an example as plain data: its inputs, outputs and attributes as values with types and shapes."""
    return {
        "name": example.name, "doc": example.doc, "error": example.error,
        "attributes": {name: _plain(value) for name, value in example.attributes.items()},
        "inputs": [_plain(each) for each in example.inputs],
        "outputs": None if example.outputs is None else [_plain(each) for each in example.outputs],
    }  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, ExampleValue):
        content = value.content
        if value.shape is not None and isinstance(content, list):
            content = _nested(content, value.shape)
        shape = None if value.shape is None else list(value.shape)
        return {"type": value.type, "shape": shape, "content": _plain(content)}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else value


def _nested(flat: list[Any], shape: tuple[int, ...]) -> Any:
    """Return elements in row-major order as nested lists."""
    if not shape:
        return flat[0] if flat else flat
    if 0 in shape:
        return []
    for size in reversed(shape[1:]):
        flat = [flat[start : start + size] for start in range(0, len(flat), size)]
    return flat


def example_lines(examples: list[dict[str, Any]]) -> list[str]:
    """Return the first few of an operator's examples as text: those with results come before those that are errors."""
    ordered = sorted(examples, key=lambda each: bool(each["error"]))
    lines = ["", "examples"] if examples else []
    for each in ordered[:EXAMPLES]:
        lines += prose(escaped(f"{each['name']}{': ' if each['doc'] else ''}{each['doc']}"), "  ")
        attributes = ", ".join(f"{name} = {_content(value)}" for name, value in each["attributes"].items())
        rows = [["", shortened(attributes)]] if attributes else []
        rows += [["in" if number == 0 else "", _content(value)] for number, value in enumerate(each["inputs"])]
        rows += [["out" if number == 0 else "", _content(value)] for number, value in enumerate(each["outputs"] or ())]
        rows += [["error", each["error"]]] if each["error"] else []
        lines += columns(rows, indent="      ")
    if len(examples) > EXAMPLES:
        lines.append(f"  and {len(examples) - EXAMPLES} more: --format json")
    return lines


def _content(value: Any) -> str:
    """Return a value of an example on a line that fits."""
    if value is None:
        return "none"
    if not isinstance(value, dict) or "content" not in value:
        return shortened(_value(value))
    type_ = value["type"].removeprefix("tensor(").removesuffix(")") if value["shape"] is not None else value["type"]
    shape = value["shape"]
    return shortened(f"{type_}{'' if shape is None else shape} {_value(value['content'])}")


def shortened(text: str) -> str:
    """Return text as it fits on a line beside its label."""
    text, room = " ".join(text.split()), prose_width() - 14
    return text if len(text) <= room else f"{text[: room - 1]}…"


def _served(body: dict[str, Any]) -> str:
    """Return for which opsets, nodes and types a function body is."""
    words = [f" from opset {body['opset']} on"]
    words += [f"{name} {form}" if form in STATES else f"{name} = {form}" for name, form in body["where"].items()]
    words += [f"{name}: {', '.join(types)}" for name, types in body["types"].items()]
    words += [f"{narrow} as {wide}" for narrow, wide in body["emulate"].items()]
    return "; ".join(words)


def _section(title: str, cells: list[list[str]], entries: list[dict[str, Any]]) -> list[str]:
    """Return a title and the entries below it: aligned cells, each followed by its description."""
    if not entries:
        return []
    lines = ["", title]
    for line, entry in zip(columns(cells), entries, strict=True):
        lines += [line, *prose(escaped(_declared(entry)), "      "), *prose(entry["doc"], "      ")]
    return lines


def _kind(parameter: dict[str, Any]) -> str:
    words = [parameter["type"]]
    if parameter["option"] != "single":
        words.append(parameter["option"])
    if parameter["option"] == VARIADIC:
        words.append(f"at least {parameter['min_arity']}")
        words += [] if parameter["homogeneous"] else ["of any types"]
    return ", ".join(words)


def _attribute(attribute: dict[str, Any]) -> str:
    default = attribute["default"]
    words = [attribute["type"] if default is None else f"{attribute['type']} = {_value(default)}"]
    words += ["required"] if attribute["required"] else []
    return ", ".join(words)


def _declared(entry: dict[str, Any]) -> str:
    """Return what an attribute declares about its values, and the constraint that others break."""
    words = [entry["kind"]] if entry.get("kind") else []
    words += [f"one of {', '.join(map(_value, entry['choices']))}"] if entry.get("choices") else []
    words += [entry["range"]] if entry.get("range") else []
    return "; ".join(words) + (f" ({entry['constraint']})" if entry.get("constraint") else "")


def _bound(count: int) -> int | None:
    return None if count == UNBOUNDED else count


def changes(versions: tuple[OpSchema, ...]) -> list[dict[str, Any]]:
    """What each version changed as plain data, oldest first: computed, declared, and what adapters have to do."""
    return [_change(older, newer) for older, newer in pairwise(versions)]


def _change(older: OpSchema, newer: OpSchema) -> dict[str, Any]:
    change = newer.change
    assert change is not None  # the loader refuses a later version without one
    return {
        "before": older.since_version, "since": newer.since_version,
        "difference": (difference := signature_diff(older, newer)), "words": difference_words(difference),
        "meaning": change.meaning, "clarified": change.clarified,
        "up": _work(change.up, derive(older, newer, change).touches, newer.deprecated),
        "down": _work(change.down, derive(newer, older, change).touches, older.deprecated),
    }  # fmt: skip


def _work(declared: str, touches: bool, withdrawn: bool) -> str:
    if declared == DERIVED and withdrawn:
        return f"{IMPOSSIBLE}: the operator is withdrawn there"
    return NOTHING if declared == DERIVED and not touches else declared


def change_lines(change: dict[str, Any]) -> list[str]:
    """Return the text of one of `changes`."""
    lines = [f"  {change['before']} -> {change['since']}"]
    lines += [line for words in change["words"] for line in prose(escaped(words), "    ")]
    lines += prose(change["meaning"], "    ")
    if change["clarified"]:
        lines += prose(f"clarified: {change['clarified']}", "    ")
    return [*lines, *prose(escaped(f"up: {change['up']}; down: {change['down']}"), "    ")]


def worst(works: list[str]) -> str:
    """Return the verdict on several adapters in a row: impossible if one is, else written if one is, else derived."""
    for work in (IMPOSSIBLE, WRITTEN, DERIVED):
        if found := next((each for each in works if each.startswith(work)), None):
            return found
    return NOTHING


def difference_words(difference: dict[str, Any]) -> list[str]:
    """Return the phrases for a signature difference (see opset.schemas.diff)."""
    words = []
    if "deprecated" in difference:
        words.append("withdrawn" if difference["deprecated"] else "no longer withdrawn")
    if "experimental" in difference:
        words.append("experimental" if difference["experimental"] else "no longer experimental")
    if "determinism" in difference:
        words.append("determinism: {} -> {}".format(*difference["determinism"]))
    for side in ("input", "output"):
        words += _parameter_words(side, difference.get(f"{side}s", {}))
    for name, facets in difference.get("attributes", {}).items():
        words.append(f"attribute {name}{_attribute_words(facets)}")
    for name, types in difference.get("types", {}).items():
        says = {"new": "is new", "gone": "is gone"}.get(types) if isinstance(types, str) else " ".join(types)
        words.append(f"type {name} {says}")
    return words


def _parameter_words(side: str, difference: dict[str, Any]) -> list[str]:
    words = [f"{side} {name} is new" for name in difference.get("added", ())]
    words += [f"{side} {name} is gone" for name in difference.get("removed", ())]
    words += [f"{side} {old} is called {new}" for old, new in difference.get("renamed", {}).items()]
    if "order" in difference:
        words.append(f"{side}s stand in the order {', '.join(difference['order'])}")
    for facet, word in (("retyped", "type"), ("arity", ""), ("homogeneous", "homogeneous"), ("min_arity", "at least")):
        for name, (old, new) in difference.get(facet, {}).items():
            words.append(f"{side} {name}: {word} {_value(old)} -> {_value(new)}".replace(":  ", ": "))
    return words


def _attribute_words(facets: dict[str, Any]) -> str:
    if "added" in facets:
        default = f" = {_value(facets['default'])}" if "default" in facets else ""
        return f" is new ({facets['added']}{default}{', required' if facets.get('required') else ''})"
    if "removed" in facets:
        return " is gone"
    return ": " + ", ".join(f"{facet} {_value(old)} -> {_value(new)}" for facet, (old, new) in facets.items())


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    return f'"{value}"' if isinstance(value, str) and not value.isidentifier() else str(value)
