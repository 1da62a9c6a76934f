"""The compiled form of operator YAML: plain data that JSON holds, so that nothing parses YAML at start.

    {"stamp": …, "types": [[…], …], "newest": {domain: …}, "operators": {domain: {operator: entry}}}
    entry: [family, [version, …], function body, …]

Versions stand oldest first; a key with its default is left out. `types` is a table of type lists, since few of them
serve many versions; function bodies are behind the versions, which have their positions; `newest` is the highest
version in each domain. In the file an operator has a line of its own, which is parsed when the operator is first
needed: the first line has its name alone.

Prose is a second file with the same keys: {domain: {operator: {since: [doc, inputs, …]}}}, and the named type sets.
Examples are a third: {domain: {operator: [{name: …, inputs: [{type: …, content: …, shape: …}, …], …}, …]}}.

In a checkout the files are rebuilt whenever a YAML file is added, removed or changed; a wheel holds them built.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opset.schemas.model import (
    Attribute,
    AttributeChange,
    Change,
    Condition,
    FunctionBody,
    OpSchema,
    Parameter,
)

if TYPE_CHECKING:
    from opset.schemas.documentation import Docs
    from opset.schemas.type_sets import TypeSets
    from opset.schemas.yaml.loader import Operator

FOLDER = Path(__file__).parent
_INDEX, _PROSE, _EXAMPLES = "index.json", "prose.json", "examples.json"
Compiled = tuple[dict[str, Any], dict[str, Any], dict[str, Any]]
"""Index, prose and examples."""
_FLAGS = {
    "deprecated": False,
    "replacement": "",
    "experimental": False,
    "determinism": "deterministic",
    "shape": "",
    "unknown": "",
}


@lru_cache(maxsize=1)
def standard_index() -> dict[str, Any]:
    """Return the compiled operators of the standard; cached.

    They are read from index.json. If this file is missing or damaged, they are compiled anew from the YAML. In a
    checkout, this is also done if the YAML has changed since.
    """
    index = _read_index(FOLDER / _INDEX)
    in_checkout = (FOLDER.parents[1] / "pyproject.toml").exists()
    if index is None or (in_checkout and index["stamp"] != _stamp_of(FOLDER)):
        return _build_standard()[0]
    return index


@lru_cache(maxsize=1)
def standard_prose() -> dict[str, Any]:
    """Return the compiled prose of the standard; cached.

    It is read from prose.json. If this file is missing or damaged, or does not belong to the present index, the prose
    is compiled anew from the YAML.
    """
    return _read_beside_index(_PROSE) or _build_standard()[1]


@lru_cache(maxsize=1)
def standard_examples() -> dict[str, Any]:
    """Return the compiled examples of the standard; cached.

    They are read from examples.json. If this file is missing or damaged, or does not belong to the present index, the
    examples are compiled anew from the YAML.
    """
    return _read_beside_index(_EXAMPLES) or _build_standard()[2]


@lru_cache(maxsize=1)
def _build_standard() -> Compiled:
    """Compile the YAML of the standard, and return (index, prose, examples); cached.

    They are also written beside the YAML, as index.json, prose.json and examples.json.
    """
    return build_index(FOLDER)


def build_index(folder: Path) -> Compiled:
    """Compile a folder of operator YAML, and return (index, prose, examples).

    The three are also written into the folder, as index.json, prose.json and examples.json; an OSError in doing so is
    ignored. Raises SchemaError if the YAML has faults.
    """
    from opset.schemas.yaml.loader import load_folder

    stamp = _stamp_of(folder)
    compiled = index, prose, examples = compile_operators(*load_folder(folder))
    for each in compiled:
        each["stamp"] = stamp
    try:
        write_json(folder / _PROSE, [prose])
        write_json(folder / _EXAMPLES, [examples])
        names = {domain: list(entries) for domain, entries in index["operators"].items()}
        entries = (entry for each in index["operators"].values() for entry in each.values())
        write_json(folder / _INDEX, [{**index, "operators": names}, *entries])
    except OSError:  # an installation that cannot be written keeps them in memory
        pass
    return compiled


def compile_operators(operators: Iterable[Operator], sets: TypeSets) -> Compiled:
    """Return (index, prose, examples) of operators as plain data: their versions, their docs and their examples.

    `sets` are the type sets that the YAML may name; the prose holds them, too. The field "stamp", for a checksum of the
    files, is 0 in each.
    """
    from opset.schemas.example import example_data

    index: dict[str, Any] = {"stamp": 0, "types": [], "newest": {}, "operators": {}}
    prose: dict[str, Any] = {"stamp": 0, "sets": dict(sets), "operators": {}}
    examples: dict[str, Any] = {"stamp": 0, "operators": {}}
    table: dict[tuple[str, ...], int] = {}
    for operator in operators:
        bodies: list[FunctionBody] = []
        versions = [_version_data(schema, table, bodies) for schema in operator.schemas]
        entry = [operator.family, versions, *map(list, bodies)]
        index["operators"].setdefault(operator.domain, {})[operator.name] = entry
        newest = versions[-1]["since"]
        index["newest"][operator.domain] = max(newest, index["newest"].get(operator.domain, newest))
        prose["operators"].setdefault(operator.domain, {})[operator.name] = {
            str(schema.since_version): list(docs) for schema, docs in zip(operator.schemas, operator.docs, strict=True)
        }
        if operator.examples:
            examples["operators"].setdefault(operator.domain, {})[operator.name] = [
                example_data(each) for each in operator.examples
            ]
    index["types"] = list(table)
    return index, prose, examples


def _version_data(schema: OpSchema, table: dict[tuple[str, ...], int], bodies: list[FunctionBody]) -> dict[str, Any]:
    """Return an operator version as plain data for JSON; a field that is empty or has its default is left out.

    A list of types is written as its position in `table`, a function body as its position in `bodies`; new ones are
    added to `table` and `bodies`.
    """
    data: dict[str, Any] = {"since": schema.since_version}
    data["inputs"] = [*map(_trim_defaults, schema.inputs)]
    data["outputs"] = [*map(_trim_defaults, schema.outputs)]
    data["attributes"] = [*map(_trim_defaults, schema.attributes.values())]
    data["types"] = {name: table.setdefault(types, len(table)) for name, types in schema.types.items()}
    data |= {key: getattr(schema, key) for key, default in _FLAGS.items() if getattr(schema, key) != default}
    bodies += [each for each in schema.function if each not in bodies]
    data["function"] = [bodies.index(each) for each in schema.function]
    data["conditions"] = [each if each.where else each[:-1] for each in schema.conditions]
    data = {key: value for key, value in data.items() if value not in ([], {})}
    if schema.change is not None:
        attributes = {name: each._asdict() for name, each in schema.change.attributes.items()}
        change = {**schema.change._asdict(), "attributes": attributes}
        data["change"] = {key: value for key, value in change.items() if value != _CHANGE[key]}
    return data


def _trim_defaults(each: Parameter | Attribute) -> list[Any]:
    """Return the fields of a parameter or attribute as a list, without fields at the end that have their default."""
    values = [*each]
    defaults = [*each._field_defaults.values()]
    while defaults and values[-1] == defaults.pop():
        values.pop()
    return values


_CHANGE = Change()._asdict()


def versions_of(index: dict[str, Any], domain: str, name: str) -> list[int]:
    """Return the since_versions of an operator in an index, oldest first.

    Raises KeyError if the index lacks the operator.
    """
    return [version["since"] for version in _entry_of(index, domain, name)[1]]


def _entry_of(index: dict[str, Any], domain: str, name: str) -> list[Any]:
    """Return the entry of an operator in an index: [family, versions, function body, function body, …].

    An entry is a line of JSON until it is first asked for; then the parsed entry takes its place in the index. Raises
    KeyError if the index lacks the operator.
    """
    operators = index["operators"][domain]
    if isinstance(operators[name], bytes):
        operators[name] = json.loads(operators[name])
    entry: list[Any] = operators[name]
    return entry


def standard_versions(domain: str, name: str) -> tuple[OpSchema, ...]:
    """Return all versions of an operator of the standard, oldest first; () if there is no such operator.

    The domain ai.onnx is written "".
    """
    index = standard_index()
    count = len(versions_of(index, domain, name)) if name in index["operators"].get(domain, ()) else 0
    return tuple(make_schema(index, domain, name, position) for position in range(count))


def make_schema(
    index: dict[str, Any], domain: str, name: str, position: int, prose: dict[str, Any] | None = None
) -> OpSchema:
    """Return the schema of one version of an operator from an index. Raises KeyError if the index lacks the operator.

    Args:
        index: The compiled operators.
        domain: The domain, "" for ai.onnx.
        name: The operator.
        position: The position of the version, 0 for the oldest.
        prose: The compiled prose from which the schema reads its docs when they are asked for; None for the standard's.
    """
    family, versions, *bodies = _entry_of(index, domain, name)
    data = versions[position]
    types = index["types"]
    return OpSchema(
        domain,
        name,
        data["since"],
        family,
        tuple(Parameter(*each) for each in data.get("inputs", ())),
        tuple(Parameter(*each) for each in data.get("outputs", ())),
        {each[0]: Attribute(*_freeze(each)) for each in data.get("attributes", ())},
        {key: _type_list(types, number) for key, number in data.get("types", {}).items()},
        **{key: data[key] for key in _FLAGS if key in data},
        change=_make_change(**data["change"]) if "change" in data else None,
        conditions=tuple(Condition(*_freeze(each)) for each in data.get("conditions", ())),
        function=tuple(FunctionBody(*_freeze(bodies[each])) for each in data.get("function", ())),
        prose=partial(_read_docs, prose, domain, name, data["since"]),
    )


def _read_docs(prose: dict[str, Any] | None, domain: str, name: str, since: int) -> Docs:
    """Return the prose of the operator version with the since_version `since`. Raises KeyError if there is none.

    `prose` is the compiled prose that has it; None stands for the prose of the standard.
    """
    from opset.schemas.documentation import make_docs

    return make_docs(standard_prose() if prose is None else prose, domain, name, since)


def _type_list(table: list[Any], number: int) -> tuple[str, ...]:
    """Return the type list at position `number` of an index's table of type lists, as a tuple.

    The tuple replaces the list in the table, so that all schemas share it.
    """
    table[number] = types = tuple(table[number])
    return types


def _make_change(attributes: dict[str, Any] | None = None, **said: Any) -> Change:
    """Return a Change from its compiled fields; fields that are missing have their default.

    `attributes` has the compiled fields of each AttributeChange, by the name of the attribute. `said` are all other
    fields of the Change.
    """
    declared = {key: AttributeChange(**_freeze(each)) for key, each in (attributes or {}).items()}
    return Change(attributes=declared, **said)


def _freeze(value: Any) -> Any:
    """Return a value with all lists in it, at any depth, turned into tuples."""
    if isinstance(value, dict):
        return {key: _freeze(each) for key, each in value.items()}
    if isinstance(value, list):
        return tuple([_freeze(each) if isinstance(each, (list, dict)) else each for each in value])
    return value


def _stamp_of(folder: Path) -> int:
    """Return a checksum of the YAML and Python files in a folder, and in the folders directly in it.

    It changes if a file is added, removed, or gets another time or size.
    """
    entries: list[os.DirEntry[str]] = []
    for place in (folder, *(each for each in folder.iterdir() if each.is_dir())):
        with os.scandir(place) as files:
            entries += [file for file in files if file.name.endswith((".yaml", ".py"))]
    facts = sorted((file.path, stat.st_mtime_ns, stat.st_size) for file in entries for stat in [file.stat()])
    return zlib.crc32(repr(facts).encode())


def _read_beside_index(name: str) -> dict[str, Any] | None:
    """Return the JSON in a file beside the standard's index, such as "prose.json".

    Returns None if the file is missing or damaged, or if its stamp shows that it was compiled with another index.
    """
    stamp = standard_index()["stamp"]
    try:
        data = json.loads((FOLDER / name).read_bytes())
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) and data.get("stamp") == stamp else None


def _read_index(path: Path) -> dict[str, Any] | None:
    """Return the compiled operators in an index file; None if the file is missing or damaged.

    The entry of each operator stays a line of JSON, which `_entry_of` parses at first use.
    """
    try:
        head, *lines = path.read_bytes().splitlines()
        index: dict[str, Any] = json.loads(head)
        if "stamp" not in index or sum(map(len, index["operators"].values())) != len(lines):
            return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # of another form, each in its own way
        return None
    rest = iter(lines)
    index["operators"] = {domain: dict(zip(names, rest, strict=False)) for domain, names in index["operators"].items()}
    return index


def write_json(path: Path, lines: Iterable[Any]) -> None:
    """Write values to a file, each as a line of JSON; the file is replaced only when all are written.

    Raises OSError if it cannot be written.
    """
    temporary = path.with_suffix(f".{os.getpid()}.tmp")
    try:
        with temporary.open("x", encoding="utf-8") as file:  # a link that has this name is not followed
            for line in lines:
                json.dump(line, file, ensure_ascii=False, separators=(",", ":"))
                file.write("\n")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
