"""Writes a new version of an operator above the others, and leaves every other byte of the file alone: `opset bump`.

A bump copies the newest version above itself; nothing else changes. The author edits the copy. The next bump then
writes the difference into the `change:` block of the copy, makes the version below `like` it if both have the same
text, and removes the lines of guidance. Each text is read back before it is written: every other version has to be the
same.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from opset.errors import Finding, SchemaError, UsageError
from opset.model.storage.writing import write_below
from opset.schemas.diff import Transition, compact_diff, signature_diff
from opset.schemas.lint.fix import is_unexplained, remove_guidance
from opset.schemas.lint.rules import declared_change, sets_of_domain
from opset.schemas.lock import Lock, signature_hash
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.schemas.type_sets import TypeSets
from opset.schemas.untrusted_files import file_bytes
from opset.schemas.yaml.keys import CHANGE_KEYS, GUIDANCE
from opset.schemas.yaml.likeness import shorten_version
from opset.schemas.yaml.loader import Operator, parse_operator
from opset.schemas.yaml.printer import difference_lines, entry_lines, flow
from opset.schemas.yaml.reader import MAX_SIZE, YamlNode
from opset.version_converter.registration import LAYER as ADAPTERS
from opset.workflow.authoring.blocks import VersionLines, key_lines, line_end, lines_of, locate_versions
from opset.workflow.authoring.destinations import check_since, destination_of, next_version, split_name
from opset.workflow.authoring.new import WrittenOperator, add_hooks
from opset.workflow.authoring.stubs import adapter_stub, render_template

_LEFT_OUT = ("since", "change", "like")


class EditedVersion(NamedTuple):
    """A released version whose signature was edited after the release.

    `before` is the released signature, None if it is unknown; `difference` has the edits, {} if they are unknown.
    """

    since: int
    place: str
    before: OpSchema | None
    difference: dict[str, Any]


class LockComparison(NamedTuple):
    """An operator compared with lock.json, the hashes of released versions; `locked`: whether any is in the lock."""

    operator: Operator
    edited: list[EditedVersion]
    developed: list[int]
    """Versions outside of the lock, oldest first."""
    locked: bool
    difference: dict[str, Any]
    """What the newest version, in development, changes of the one before."""


def compare_with_lock(name: str, domain: str | None = None, folder: Path | None = None) -> LockComparison:
    """Return which released versions of an operator were edited after their release, and which are not released yet.

    Args:
        name: "com.acme.Thin", or "Thin" with a domain.
        domain: Domain of the operator, if the name has none.
        folder: Folder of operator YAML; by default the standard's, or `schemas` for other domains.

    Raises:
        UsageError: U105 if there is no such operator.
        SchemaError: If its file cannot be read.
    """
    domain, name = split_name(name, domain)
    destination = destination_of(domain, folder)
    sets = destination.type_sets()
    return _compare_operator(destination.read_operator(name, sets), destination.lock(), sets)


def _compare_operator(operator: Operator, lock: Lock, sets: TypeSets) -> LockComparison:
    """Compare the versions of an operator with the lock, and return which were edited and which are new.

    A version was edited since its release if the lock has another hash for it. It is new if the lock does not have it.
    `lock` is the content of lock.json, `sets` are the type sets that the operator's file may name.
    """
    versions = lock.get(domain_name(operator.domain), {}).get(operator.name, {})
    edited = []
    for schema in operator.schemas:
        digest = versions.get(str(schema.since_version))
        if digest and digest != signature_hash(schema):
            candidates = _similar_schemas(schema, operator, sets)
            before = next((each for each in candidates if signature_hash(each) == digest), None)
            difference = signature_diff(before, schema) if before is not None else {}
            place = operator.place(schema.since_version)
            allowed = sets_of_domain(operator.domain, sets)
            edited.append(EditedVersion(schema.since_version, place, before, compact_diff(difference, allowed)))
    developed = [each.since_version for each in operator.schemas if str(each.since_version) not in versions]
    difference = {}
    if operator.transitions and developed and developed[-1] == operator.schemas[-1].since_version:
        difference = compact_diff(operator.transitions[-1].difference, sets_of_domain(operator.domain, sets))
    return LockComparison(operator, edited, developed, bool(versions), difference)


def _similar_schemas(schema: OpSchema, operator: Operator, sets: TypeSets) -> Iterator[OpSchema]:
    """Yield copies of an edited version with one part changed; one of them may be the version as it was released.

    There is a copy for each possible change of these kinds:

    - One type constraint gets the types of a type set, or its types in another version, or loses one type.
    - One attribute is removed, or replaced by the attribute in another version.
    - The last input or output is removed, or all inputs or all outputs are replaced by those in another version.
    - One of the flags `deprecated` and `experimental` is reversed.

    `operator` has the other versions. `sets` are the type sets, named lists of types, that are tried.
    """
    others = [each for each in operator.schemas if each.since_version != schema.since_version]
    for name, types in schema.types.items():
        other_types = [*sets.values(), *(each.types[name] for each in others if name in each.types)]
        fewer = [tuple(each for each in types if each != gone) for gone in types]
        for candidate in (*other_types, *fewer):
            yield replace(schema, types={**schema.types, name: candidate})
    for name in schema.attributes:
        yield replace(schema, attributes={key: each for key, each in schema.attributes.items() if key != name})
        for each in others:
            if name in each.attributes:
                yield replace(schema, attributes={**schema.attributes, name: each.attributes[name]})
    for side in ("inputs", "outputs"):
        parameters = getattr(schema, side)
        fewer_parameters: dict[str, Any] = {side: parameters[:-1]}
        yield replace(schema, **fewer_parameters)
        for each in others:
            changed: dict[str, Any] = {side: getattr(each, side)}
            yield replace(schema, **changed)
    yield replace(schema, deprecated=not schema.deprecated)
    yield replace(schema, experimental=not schema.experimental)


def bump(
    name: str, domain: str | None = None, folder: Path | None = None, since: int | None = None
) -> tuple[WrittenOperator, str]:
    """Add a version to an operator, or complete its unreleased version; return the written files and what was done.

    The operator's file is written. If its unreleased version is completed, a stub is also written for each adapter that
    is declared as written, but has no function yet. The second result is one of these:

    - "added": a new version, a copy of the newest one, was added;
    - "completed": the `change:` block of the unreleased version, or a stub, was written;
    - "unchanged": the block was complete already;
    - "unedited": the unreleased version does not differ from the version before.

    Args:
        name: "com.acme.Thin", or "Thin" with a domain.
        domain: Domain of the operator, if the name has none.
        folder: Folder of operator YAML; by default the standard's, or `schemas` for other domains.
        since: Number of the new version; by default the next one. With a number, a version is always added.

    Raises:
        UsageError: U103 if the file cannot be edited, or no version can be added; U105 if there is no such operator.
        SchemaError: If its file cannot be read.
    """
    domain, name = split_name(name, domain)
    destination = destination_of(domain, folder)
    sets = destination.type_sets()
    operator = destination.read_operator(name, sets)
    path = destination.yaml_path(name)
    data = file_bytes(path, MAX_SIZE)
    state = _compare_operator(operator, destination.lock(), sets)
    newest_own = operator.schemas[-1].since_version
    is_open = newest_own in state.developed and (state.locked or _is_incomplete(operator, data))
    if since is None and is_open and len(operator.schemas) > 1:
        text = complete_version(operator, data, sets)
        done = "completed"
    else:
        released = destination.newest_released(destination.lock())
        if since is not None and (wrong := check_since(since, newest_own, released if state.locked else 0, name)):
            raise UsageError(wrong)
        since = since or next_version(destination.newest_version(sets), released, newest_own)
        if not since:
            why = f"version {newest_own} is the first, and not released yet"
            raise UsageError(Finding("U103", f"{name} needs no new version", why=why, help="edit it", file=str(path)))
        text = add_version(operator, data, since, f"opset bump {domain_name(domain)}.{name}", sets)
        done = "added"
    files: dict[str, tuple[str, ...]] = {}
    changed = {destination.relative_path(path): text} if text != data else {}
    files |= {str(path): ()} if changed else {}
    result = parse_operator(text, path, sets)
    if done == "completed":
        change = result.transitions[-1].change
        written_ways = [way for way in ("up", "down") if getattr(change, way) == "written"]
        stubs = [adapter_stub(result.schemas[-1], way, destination.standard) for way in written_ways]
        more, added = add_hooks(destination, result.schemas[-1], {ADAPTERS: stubs})
        changed |= more
        files |= added
    if changed:
        write_below(destination.root, changed)
    before, newest = (each.since_version for each in result.schemas[-2:])
    written = WrittenOperator(
        domain, name, newest, operator.family, destination.folder, not destination.standard, files, before
    )
    if done == "completed" and not changed:
        done = "unedited" if is_unexplained(result.transitions[-1]) else "unchanged"
    return written, done


def _is_incomplete(operator: Operator, data: bytes) -> bool:
    """Return whether the author still has to complete the newest version; False if the operator has one version only.

    The version is incomplete in each of these cases:

    - its `change:` block does not declare all changes;
    - nothing changed, and the block does not say why there is a version;
    - the file, whose bytes are `data`, still has guidance for authors.
    """
    guidance = GUIDANCE.encode() in data
    steps = operator.transitions
    return bool(steps) and (guidance or bool(steps[-1].undeclared_keys) or is_unexplained(steps[-1]))


def add_version(operator: Operator, data: bytes, since: int, command: str, sets: TypeSets) -> bytes:
    """Return the bytes of an operator's file with a copy of the newest version above it; all other bytes stay.

    Args:
        operator: The operator.
        data: Bytes of its file.
        since: Number of the copy.
        command: The command that completes the version; the guidance for the author names it.
        sets: Type sets that the file may name.

    Raises:
        UsageError: U103 if the file's layout does not allow it.
    """
    text = data.decode()
    lines = lines_of(text)
    newest = _newest_lines(operator, lines)
    pad = " " * newest.column
    end = line_end(lines)
    head = render_template("version.yaml.jinja", since=since, before=newest.since, command=command).splitlines()
    dash = lines[newest.start][: newest.column]
    copy_lines = [dash + head[0][2:] + end, *(pad + line[2:] + end for line in head[1:])]
    for key in newest.keys:
        if key not in _LEFT_OUT:
            copy_lines += key_lines(newest, lines, key)
    if not copy_lines[-1].endswith(end):
        copy_lines[-1] += end
    added = "".join([*lines[: newest.start], *copy_lines, *lines[newest.start :]]).encode()

    def same(result: Operator) -> bool:
        """Return whether an edited operator has the copy above its old versions, and all else is the same."""
        old = operator.schemas[-1]
        copy = result.schemas[-1]
        is_copy = replace(copy, since_version=old.since_version, change=old.change) == old
        others = result.schemas[:-1] == operator.schemas and repr(result.examples) == repr(operator.examples)
        ended = {key: getattr(operator.docs[-1], key) for key in ("special_cases", "implementations")}
        prose = result.docs[-1]._replace(**ended)  # some may end below it
        return is_copy and others and (*result.docs[:-1], prose) == (*operator.docs, operator.docs[-1])

    _check_result(operator, added, sets, same)
    return added


def _newest_lines(operator: Operator, lines: list[str]) -> VersionLines:
    """Return the position of an operator's newest version among `lines`, the lines of its file.

    Raises UsageError U103 if the file's layout does not allow edits line by line.
    """
    written = locate_versions(operator.path, operator.root, lines)
    return max(written, key=lambda each: each.since)


def _check_result(operator: Operator, data: bytes, sets: TypeSets, same: Callable[[Operator], bool]) -> None:
    """Raise UsageError U103 if an edited file cannot be read, or if the edit changed more than it should.

    `operator` is the operator before the edit, and `data` are the bytes of the edited file. The function `same` takes
    the operator that is read from these bytes. It returns False if the edit changed too much.
    """
    try:
        kept = same(parse_operator(data, operator.path, sets))
        why = "another version would not be the same afterwards"
    except SchemaError as error:
        kept = False
        why = error.findings[0].message
    if not kept:
        message = "this file cannot be edited line by line"
        help = "add the version by hand, or let opset lint --fix write the layout first"
        raise UsageError(Finding("U103", message, why=why, help=help, file=operator.path))


def complete_version(operator: Operator, data: bytes, sets: TypeSets) -> bytes:
    """Return an operator's file, as bytes, with all changes of its newest version written into the `change:` block.

    The operator must have at least two versions. Once the block is complete, comments that tell the author what to
    write are removed from the file. Keys of the second newest version that are equal in the newest one, such as
    `inputs`, are then replaced by one key `like`, which names the newest version. Raises UsageError U103 if the block
    cannot be written without losing comments or the layout.
    """
    step = operator.transitions[-1]
    change = step.change
    if step.undeclared_keys:
        data = _write_change(operator, data, step, sets)
    if is_unexplained(step):
        return data
    plain = remove_guidance(data.decode()).encode()
    again = parse_operator(data, operator.path, sets)
    try:
        guided = parse_operator(plain, operator.path, sets)
        if repr(guided.root.plain()) == repr(again.root.plain()):
            data, again = plain, guided
    except SchemaError:  # what looked like guidance is text
        pass
    assert again.transitions[-1].change.meaning == change.meaning
    return _share_keys(again, data, sets)


def _write_change(operator: Operator, data: bytes, step: Transition, sets: TypeSets) -> bytes:
    """Return the bytes of an operator's file in which the newest version's `change:` block declares all its changes.

    All else stays as it is. `data` are the bytes of the file now, which must have the block. `step` is the transition
    from the version before to the newest one, and `sets` are the type sets that the file may name. Raises UsageError
    U103 if a comment would be lost, or if the file's layout does not allow the edit.
    """
    lines = lines_of(data.decode())
    newest = _newest_lines(operator, lines)
    node = newest.node.value["change"]
    new = declared_change(node.plain(), step, sets_of_domain(operator.domain, sets))
    start, stop = newest.keys["change"]
    pad = " " * newest.column
    end = line_end(lines)
    if node.line == newest.node.keys["change"].line:  # in one mapping of flow style
        _check_comments(operator, lines[start:stop], node)
        block = [pad[2:] + line + end for line in entry_lines("change", new)]
    else:
        block = [lines[start], *_change_lines(operator, lines, node, new, (start, stop), end)]
    result = "".join([*lines[:start], *block, *lines[stop:]]).encode()

    def same(result: Operator) -> bool:
        """Return whether an edited operator declares all its changes, and all else is the same."""
        top = replace(result.schemas[-1], change=None)
        steps = result.transitions[-1]
        others = result.schemas[:-1] == operator.schemas[:-1] and result.docs == operator.docs
        return others and top == replace(operator.schemas[-1], change=None) and not steps.undeclared_keys

    _check_result(operator, result, sets, same)
    return result


def _change_lines(
    operator: Operator, lines: list[str], node: YamlNode, new: dict[str, Any], span: tuple[int, int], end: str
) -> list[str]:
    """Return the lines below the key `change:` for the entries `new`; an entry that does not change keeps its lines.

    Old entries that are not in `new` are dropped. Comments on lines of their own stay. Kept entries stay in their
    order, and added entries are put among them in the order of CHANGE_KEYS.

    Args:
        operator: The operator, for messages.
        lines: The lines of its file.
        node: The present block in YAML.
        new: All entries that the block is to have, as plain data.
        span: The 0-based index of the line with `change:`, and of the line after the block.
        end: The line ending.

    Raises:
        UsageError: U103 if a comment behind an entry that changes would be lost.
    """
    old = node.plain()
    starts = [key.line - 1 for key in node.keys.values()]
    spans = dict(zip(node.keys, itertools.pairwise([*starts, span[1]]), strict=True))
    indent = " " * (node.column - 1)
    block = lines[span[0] + 1 : starts[0]]
    waiting = [key for key in CHANGE_KEYS if key in new and key not in old]
    for key, (start, until) in spans.items():
        while waiting and CHANGE_KEYS.index(waiting[0]) < CHANGE_KEYS.index(key):
            block += _entry_lines(waiting[0], new.get(waiting.pop(0)), indent, end)
        if new.get(key) == old[key]:
            block += lines[start:until]
            continue
        _check_comments(operator, lines[start:until], node.value[key])
        block += [line for line in lines[start:until] if line.lstrip().startswith("#")]
        block += _entry_lines(key, new[key], indent, end) if key in new else []
    return block + [line for key in waiting for line in _entry_lines(key, new[key], indent, end)]


def _entry_lines(key: str, value: Any, indent: str, end: str) -> list[str]:
    """Return the YAML lines of a key with its value; each line begins with `indent` and ends with `end`."""
    return [line + end for line in entry_lines(key, value, indent)]


def _check_comments(operator: Operator, lines: list[str], node: YamlNode) -> None:
    """Raise UsageError U103 if a comment stands behind YAML on one of the lines that will be replaced.

    `lines` are those lines, and `node` is the value on them. Comments on lines of their own are allowed: they are kept.
    """
    if _has_comments([line for line in lines if not line.lstrip().startswith("#")], node):
        message = "the comments of this change block would be lost"
        help = "opset lint says what to write; or move them to lines of their own"
        raise UsageError(Finding("U103", message, help=help, place=f"{operator.path}:{node.line}:{node.column}"))


def _has_comments(lines: list[str], node: YamlNode) -> bool:
    """Return whether the lines of a YAML value, `node`, contain a comment."""
    return "".join(lines).count("#") > flow(node.plain()).count("#")


def _share_keys(operator: Operator, data: bytes, sets: TypeSets) -> bytes:
    """Return an operator's file in which the key `like` of the second newest version names the newest.

    Keys that are equal in the newest version are removed from the second newest one, which takes them over by `like`.
    `data` are the bytes of the file now. They are returned unchanged in each of these cases:

    - the second newest version has `like` already;
    - the texts `doc` of the two versions differ;
    - a comment or the meaning of the file would change.
    """
    lines = lines_of(data.decode())
    written = sorted(locate_versions(operator.path, operator.root, lines), key=lambda each: -each.since)
    newest, older = written[:2]
    own, other = older.node.plain(), newest.node.plain()
    if "like" in own or own.get("doc") != other.get("doc"):
        return data
    left = shorten_version(own, other)
    moved = [key for key in older.keys if key not in left or left[key] != own[key]]
    if any(_has_comments(key_lines(older, lines, key), older.node.value[key]) for key in moved):
        return data
    pad = " " * older.column
    end = line_end(lines)
    kept: list[str] = []
    for key in older.keys:
        if key in left:
            kept += key_lines(older, lines, key) if left[key] == own[key] else _like_lines(key, left[key], pad, end)
        if key == ("change" if "change" in older.keys else "since"):
            kept.append(f"{pad}like: {newest.since}{end}")
    kept += [line for key in left if key not in own for line in _like_lines(key, left[key], pad, end)]
    kept[0] = lines[older.start][: older.column] + kept[0][older.column :]
    result = "".join([*lines[: older.start], *kept, *lines[older.end :]]).encode()
    try:
        again = parse_operator(result, operator.path, sets)
    except SchemaError:
        return data
    return result if (again.schemas, again.docs) == (operator.schemas, operator.docs) else data


def _like_lines(key: str, value: Any, pad: str, end: str) -> list[str]:
    """Return the YAML lines of a key in a version with `like`, which takes over the keys of another version.

    Args:
        key: The key, such as "inputs".
        value: What to write for the key: only the parts that differ from the other version.
        pad: The indentation of each line.
        end: The line ending.
    """
    return [pad + line[2:] + end for line in difference_lines(key, value)]
