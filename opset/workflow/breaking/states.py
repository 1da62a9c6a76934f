"""States of schemas that are compared: operators of a folder, of the standard, of a release or of a git revision."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from opset.errors import ComparisonError, Finding, SchemaError
from opset.opsets.registry import Registry, default_registry, files_named
from opset.opsets.releases import RELEASES, Release
from opset.plain_text import count_text
from opset.schemas.documentation import Docs
from opset.schemas.example import Example, example_versions
from opset.schemas.index import FOLDER
from opset.schemas.model import Change, OpSchema
from opset.schemas.names import domain_name
from opset.schemas.type_sets import TypeSets
from opset.schemas.untrusted_files import file_bytes
from opset.schemas.yaml.reader import MAX_SIZE

if TYPE_CHECKING:
    from opset.schemas.yaml.loader import Operator

FUNCTIONS = ("kernels.py", "inference.py", "adapters.py")
"""The Python files beside the YAML of a domain."""
Key = tuple[str, str]
"""Domain and name of an operator."""
PlaceFinder = Callable[..., str]
"""Function from a since_version and keys below it to file:line:column."""


@dataclass(frozen=True)
class Version:
    """One version of an operator: its schema, its prose, and its examples by name."""

    schema: OpSchema
    docs: Docs
    examples: Mapping[str, Example]

    @property
    def since(self) -> int:
        """The since_version, such as 13."""
        return self.schema.since_version

    @property
    def change(self) -> Change:
        """The `change:` block; an empty one for a first version."""
        return self.schema.change or Change()


@dataclass(frozen=True)
class OperatorState:
    """An operator as one of the compared states has it, with its versions by since_version, oldest first."""

    domain: str
    name: str
    family: str
    versions: Mapping[int, Version]
    examples: tuple[Example, ...] = ()
    place_of: PlaceFinder | None = field(default=None, compare=False)
    path: str = ""
    restore: str = ""
    """The command that restores its file, if there is one."""

    @property
    def key(self) -> Key:
        """Domain and name of the operator."""
        return self.domain, self.name

    @property
    def title(self) -> str:
        """Domain and name of the operator in the form of messages: "ai.onnx.Add"."""
        return f"{domain_name(self.domain)}.{self.name}"

    @property
    def newest(self) -> Version:
        """The version of the operator with the highest since_version."""
        return self.versions[max(self.versions)]

    def place(self, since: int = 0, *keys: str) -> str:
        """Return file:line:column of a key in the operator's YAML file; "" if no file is known.

        `keys` lead to the key in the version `since`: `place(13, "attributes", "axis")`. If the operator does not have
        this version, the result is the first line of the file. If lines are not known, it is the path only.
        """
        if since not in self.versions:
            return f"{self.path}:1:1" if self.path else ""
        return self.place_of(since, *keys) if self.place_of is not None else self.path


@dataclass(frozen=True)
class State:
    """One side of a comparison: the operators of a folder, a release or a git revision, and its name in messages."""

    name: str
    operators: Mapping[Key, OperatorState]
    sets: TypeSets = field(default_factory=dict)
    lock: Mapping[str, Mapping[str, Mapping[str, str]]] | None = None
    """The lock of released versions beside the schemas, if there is one."""
    released: bool = False
    """Whether this is a release of the standard: versions up to its opsets, whatever their files say today."""
    sets_path: str = ""
    functions: Mapping[str, str] | None = None
    """Hashes of the Python files beside the YAML, by `<domain>/<file>`; None if unknown."""

    @cached_property
    def domains(self) -> dict[str, int]:
        """The newest version of any operator, by domain; the domains are sorted."""
        newest: dict[str, int] = {}
        for (domain, _), operator in self.operators.items():
            newest[domain] = max(newest.get(domain, 0), operator.newest.since)
        return dict(sorted(newest.items()))

    def within(self, keys: Iterable[Key]) -> State:
        """Return a copy of the state with only those operators whose (domain, name) is in `keys`.

        Keys of operators that the state does not have are ignored.
        """
        wanted = set(keys)
        left = {key: each for key, each in self.operators.items() if key in wanted}
        return replace(self, operators=left)


def operator_state(
    schemas: Iterable[OpSchema],
    docs: Iterable[Docs],
    examples: tuple[Example, ...],
    place_of: PlaceFinder | None = None,
    path: str = "",
) -> OperatorState:
    """Return the state of an operator, made of its versions.

    Each version gets those examples that hold for it.

    Args:
        schemas: Versions, oldest first; at least one.
        docs: Prose of each version, in the same order.
        examples: Examples of the operator at any version.
        place_of: Returns file:line:column for a since_version and a path of YAML keys; None if no file is known.
        path: YAML file of the operator, "" if unknown.
    """
    schemas = tuple(schemas)
    sinces = [each.since_version for each in schemas]
    shown_at: dict[int, dict[str, Example]] = {since: {} for since in sinces}
    for example in examples:
        for since in example_versions(example, sinces):
            shown_at[since][example.name] = example
    versions = {
        schema.since_version: Version(schema, prose, shown_at[schema.since_version])
        for schema, prose in zip(schemas, docs, strict=True)
    }
    newest = schemas[-1]
    return OperatorState(newest.domain, newest.name, newest.family, versions, examples, place_of, path)


def loaded_state(operators: Iterable[Operator], name: str, sets: TypeSets | None = None) -> State:
    """Return the state of operators that were read from YAML.

    `name` is the state's name in messages. `sets` are the type sets, names for lists of types, that the YAML may use;
    None means that there are none.
    """
    states = [operator_state(each.schemas, each.docs, each.examples, each.place, each.path) for each in operators]
    return State(name, {each.key: each for each in states}, sets or {})


def registry_state(registry: Registry, name: str) -> State:
    """Return the state of all operators of a registry; `name` is the state's name in messages.

    Places in files are known only for operators of the standard.
    """
    operators = {}
    for domain, operator in ((home, each) for home in registry.domains for each in registry.operators(home)):
        schemas = registry.versions(operator, domain)
        is_standard = registry.is_standard(operator, domain)
        path = str(FOLDER / domain_name(domain) / f"{operator}.yaml") if is_standard else ""
        docs = map(registry.documentation, schemas)
        examples = registry.examples(operator, domain)
        operators[domain, operator] = operator_state(schemas, docs, examples, _place_finder(path), path)
    return State(name, operators, registry.type_sets)


def _place_finder(path: str) -> PlaceFinder | None:
    """Return a function that finds the line of a key in a YAML file of the standard; None if `path` is "".

    The function takes a since_version and keys that lead to the key, such as "attributes" and "axis". It returns
    path:line:1. If a key is missing, the result is the line of the last key that exists.
    """

    def place(since: int, *keys: str) -> str:
        """Return path:line:1 of the key to which `keys` lead in a version, or of the last key that exists."""
        lines = _file_lines(path)
        start = "special_cases:" if keys[:1] == ("special_cases",) else f"- since: {since}"
        at = next((number for number, line in enumerate(lines) if line == start), 0)
        end = next((n for n in range(at + 1, len(lines)) if lines[n][:1] not in (" ", "")), len(lines))
        for depth, key in enumerate(keys):
            starts = (f"{'  ' * (depth + 1)}{key}:", f"{'  ' * depth}- {{name: {key},")
            key_line = next((number for number in range(at, end) if lines[number].startswith(starts)), None)
            if key_line is None:
                break
            at = key_line
        return f"{path}:{at + 1}:1"

    return place if path else None


@lru_cache(maxsize=64)
def _file_lines(path: str) -> list[str]:
    """Return the lines of a file without line endings; [] if it cannot be opened.

    The results of 64 files are kept. Raises UnicodeDecodeError if the file is not UTF-8.
    """
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []


@lru_cache(maxsize=1)
def standard_state() -> State:
    """Return the state of the standard's operators: all versions that this package has now, to compare with others.

    The operators are read from the compiled index, and not from YAML. The state also has the standard's lock: the file
    lock.json with a hash of the signature of each released version. The result is cached.
    """
    from opset.schemas.lock import read_lock

    state = registry_state(default_registry(), "now")
    return replace(state, lock=read_lock(FOLDER), sets_path=str(FOLDER / "types.yaml"))


def release_state(release: Release, present: State) -> State:
    """Return the state of a release of the standard: the present operators, with versions up to the release's opsets.

    The content of these versions is read from the present files, and may have been edited since. The state also has the
    lock of the standard, which has the hashes of the signatures as they were released.

    Args:
        release: The release of onnx.
        present: The present state of the operators.

    Raises:
        ComparisonError: B193 if the release has none of the present operators.
    """
    from opset.schemas.lock import read_lock

    operators: dict[Key, OperatorState] = {}
    for key, operator in present.operators.items():
        last = release.opset_of(key[0])
        kept = {since: version for since, version in operator.versions.items() if since <= last}
        if kept:
            examples = tuple(each for each in operator.examples if each.since <= last)
            family = operator.family
            operators[key] = OperatorState(*key, family, kept, examples, operator.place_of, operator.path)
    if not operators:
        domains = ", ".join(map(domain_name, present.domains))
        why = f"the releases of ONNX have no operator set of {domains}"
        help = f"for a tag of this name: opset breaking rev:{release.name}"
        raise ComparisonError(Finding("B193", f"nothing to compare with in ONNX {release.name}", why=why, help=help))
    return State(f"ONNX {release.name}", operators, present.sets, read_lock(FOLDER), released=True)


def folder_state(folder: Path, name: str) -> State:
    """Return the state of the files `<domain>/<Operator>.yaml` in a folder; `name` is the state's name in messages.

    Raises:
        ComparisonError: B192 if a file cannot be read, B193 if there are no operators.
    """
    if os.path.realpath(folder) == os.path.realpath(FOLDER):
        return replace(standard_state(), name=name)
    from opset.schemas.lock import read_lock
    from opset.schemas.yaml.loader import TYPES_FILE, load_folder, standard_sets

    try:
        complete = (folder / "ai.onnx").is_dir() and (folder / TYPES_FILE).exists()
        operators, sets = load_folder(folder, base_type_sets(complete))
        lock = read_lock(folder) or None
    except SchemaError as error:
        raise unreadable_error(name, error) from None
    if not operators:
        raise ComparisonError(no_operators_finding(name, str(folder)))
    state = loaded_state(operators, name, sets)
    own_sets = sets.keys() - standard_sets().keys()
    where = str(folder / TYPES_FILE) if own_sets else ""
    return State(name, state.operators, sets, lock, sets_path=where, functions=_function_hashes(folder))


def hash_of(data: bytes) -> str:
    """Return the SHA-256 of a Python file's bytes in hex, by which the files of two states are compared."""
    return hashlib.sha256(data).hexdigest()


def _function_hashes(folder: Path) -> dict[str, str]:
    """Return the hash of each Python file with functions of operators in a folder of YAML, by `<domain>/<file>`.

    An example is {"com.acme/kernels.py": "9f86…"}. The hash is "" if a file cannot be read.
    """
    hashes = {}
    for file in (path for name in FUNCTIONS for path in files_named(folder, name)):
        key = f"{file.parent.name}/{file.name}"
        hashes[key] = ""
        with suppress(OSError, ValueError):
            hashes[key] = hash_of(file_bytes(file, MAX_SIZE))
    return hashes


def merge_states(states: Sequence[State]) -> State:
    """Return one state with the operators of several states, each of another folder.

    The result has the name of the first state. If two states have a type set of the same name, the first one is taken.
    Locks are merged; the lock is None if any of the states has none. A single state is returned unchanged. Raises
    ComparisonError B192 if two states have the same operator. There must be at least one state.
    """
    if len(states) == 1:
        return states[0]
    operators: dict[Key, OperatorState] = {}
    for key, each in (item for state in states for item in state.operators.items()):
        if key in operators:
            help = "name one of the folders; nothing was compared"
            message = f"two folders have the operator {each.title}"
            raise ComparisonError(Finding("B192", message, file=each.path, why=operators[key].path, help=help))
        operators[key] = each
    sets = {name: types for state in states[::-1] for name, types in state.sets.items()}
    locks = [state.lock for state in states if state.lock is not None]
    lock: dict[str, dict[str, Mapping[str, str]]] = {}
    for domain, released in (item for each in locks for item in each.items()):
        lock.setdefault(domain, {}).update(released)
    complete = len(locks) == len(states)
    functions: dict[str, str] = {}
    for state in states:
        functions |= state.functions or {}
    return State(states[0].name, dict(sorted(operators.items())), sets, lock if complete else None, functions=functions)


def base_type_sets(complete: bool) -> TypeSets:
    """Return the standard's type sets, which files in a folder may use in addition to those in its types.yaml.

    The result is {} if the folder is `complete`: a copy of the standard's folder, which has all type sets itself.
    """
    from opset.schemas.yaml.loader import standard_sets

    return {} if complete else standard_sets()


def unreadable_error(name: str, error: SchemaError) -> ComparisonError:
    """Return the error B192: the YAML of a state cannot be read. It has all findings of `error` as well.

    `name` is the state's name in messages.
    """
    why = f"{count_text(len(error.findings) + error.omitted, 'finding')}, below"
    help = "nothing was compared; mend the files, or compare with a state that this version of opset reads"
    head = Finding("B192", f"the schemas of {name} cannot be read", why=why, help=help)
    return ComparisonError([head, *error.findings])


def no_operators_finding(name: str, where: str) -> Finding:
    """Return the finding B193: a state has no operators.

    `name` is the state's name in messages, `where` the path of its folder or file.
    """
    help = "it has to hold <domain>/<Operator>.yaml"
    return Finding("B193", f"no operator was read of {name}", file=where, help=help)


def released_opsets(domain: str) -> frozenset[int]:
    """Return the opsets of a domain that the releases of the standard have."""
    return frozenset(each.opset_of(domain) for each in RELEASES) - {0}
