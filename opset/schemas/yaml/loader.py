"""Reads operator YAML strictly into frozen schemas; everything that is wrong in a file is reported at once.

operator: Softmax                      the file is <domain>/Softmax.yaml; the folder of the default domain is ai.onnx
family: activation
versions:                              newest first
- since: 13
  deprecated: true                     with replacement: Operator; likewise experimental
  unknown: types                       of an operator of others: types, and which parameters may be left out, are not
                                       known; or signature: neither are parameters and attributes
  determinism: nondeterministic        or unknown; left out if results are always the same
  change:                              left out of the first version alone; its form is described in diff.py;
    attributes:                        what no difference shows:
      mode: {added: string, old: x}    the value with the former meaning, if not the new default
      used: {removed: ints, ignored: true}
      axes: {removed: ints, input: axes}
      axis: {negative: true}           negative values came; before, an axis counts from the front
      sat: {added: int, only_for: [float8]}          it has an effect only beside inputs or outputs of these types
      pads: {added: ints, renamed: paddings}         it had another name
      way: {default: [ud, up], values: {ud: up}}     values of the older version that are other ones now
      dim: {removed: int, undefined: 0}              a value to which the older version gives no meaning
    emulate: {bfloat16: float}         types that came, and the older ones through which the operator does the same
    renamed: true                      the operator goes on under the name of its replacement
    meaning: ...                       what changed beyond the signature, or clarified: only wording changed
    adapters: {up: derived, down: written}           or "impossible: reason"
  like: 15                             a newer version: what this one does not write is that of that one: likeness.py
  doc: ...
  inputs:                              outputs alike; also variadic, heterogeneous, min_arity, differentiable
  - {name: X, type: T, optional: true, doc: ...}
  attributes:
    axis: {type: int, default: -1, doc: ...}         or required: true; which values are legal may be declared:
    mode: {type: string, choices: [a, b], constraint: C2, doc: ...}      also range: ">= 0" (see grammar.py), and
                                       kind: bool, axis, axes, data_type or any_case;
                                       constraint: the label that a value breaks
  types:
    T: floats                          a set of types.yaml, an element, a whole type, seq(...) or optional(...) of
    U: [floats, seq(floats), bool]     these, or a list
  constraints:
    C1: ...                            a condition that a node meets, in words or a formula; a label that attributes
                                       name and that is not here gets its text from their declarations
    C2: {rank: {X: ">= 2"}}            or declared, so that it is checked: see conditions.py
  shape: same(X)                       the rule for the outputs' shapes, or one for each: "same(X); scalar"; left out
                                       if a function of the family gives them
  function:                            the operator in terms of others, if that is possible; the highest opset first
  - opset: 13                          the lowest opset of ai.onnx that the nodes are right for
    where: {mode: a, W: absent}        the nodes that it serves, in the form of conditions.py; all if it is left out
    types: {T: [float, double]}        the types that it is right for, unless it is for all
    emulate: {float16: float}          types of which inputs are cast to another one first, and outputs back
    nodes: |                           ONNX text, `@name` stands for the value of an attribute
      Y = Mul (X, X)
special_cases:                         what happens at limits: a text, which holds for all versions, or
- text: ...                            from version `since` to version `until`, if these are there; with the clause of
  since: 13                            the standard that says so (stated), or why it is chosen: see status.py
implementations:                       what runtimes do, by their names: texts, with since and until as above
  onnxruntime:
  - text: ...
    tested: "1.31"                     the version of the runtime that it was seen with; not of `opset`, the evaluator
    examples: [one, two]               examples with which the runtime disagrees
examples: ...                          see examples.py
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from opset.budget import Budget
from opset.errors import Finding, SchemaError
from opset.model.elements import NUMBERS
from opset.schemas.constraints.conditions import ConditionReader, all_constraints
from opset.schemas.diff import Transition
from opset.schemas.documentation import Docs, ImplementationNote, SpecialCase
from opset.schemas.example import Example
from opset.schemas.model import (
    OPTIONAL,
    OWN,
    SINGLE,
    UNBOUNDED,
    VARIADIC,
    FunctionBody,
    OpSchema,
    Parameter,
    versions_between,
)
from opset.schemas.type_sets import TypeSets, is_type
from opset.schemas.untrusted_files import TooLarge, file_bytes
from opset.schemas.yaml.attributes import Attributes
from opset.schemas.yaml.changes import Changes, TypeFields
from opset.schemas.yaml.examples import Examples
from opset.schemas.yaml.fields import T
from opset.schemas.yaml.folders import domain_of, operator_files
from opset.schemas.yaml.keys import (
    BODY_KEYS,
    CASE_KEYS,
    DETERMINISM,
    NOTE_KEYS,
    OPERATOR_KEYS,
    PARAMETER_KEYS,
    UNKNOWN,
    VERSION_KEYS,
)
from opset.schemas.yaml.likeness import OWN_KEYS, Likeness
from opset.schemas.yaml.reader import MAX_FINDINGS, MAX_SIZE, MAX_STEPS, Findings, YamlNode, read, reading_budget

TYPES_FILE = "types.yaml"
MAX_VERSION = 2**31 - 1
MAX_FOLDER_FINDINGS = 5 * MAX_FINDINGS


@dataclass(frozen=True)
class Operator:
    """An operator as its file declares it: schemas and their prose (oldest first), examples, and the YAML document.

    The parts of the file that have faults are left out.
    """

    domain: str
    name: str
    family: str
    schemas: tuple[OpSchema, ...]
    docs: tuple[Docs, ...]
    examples: tuple[Example, ...]
    path: str
    root: YamlNode
    gaps: frozenset[int] | None = frozenset()
    """Versions whose older neighbour was not read; None if they are unknown."""
    whole: bool = True
    """Whether all of the file was read without a fault."""
    examples_read: bool = True
    """Whether the examples were."""
    damaged: Operator | None = None
    """The same operator with only the versions that have faults, without ones with `like`; None if there are none."""

    @cached_property
    def transitions(self) -> tuple[Transition, ...]:
        """Each two consecutive versions with the change between them, oldest first.

        A pair is left out if one of its versions, or the `change:` block between them, has faults.
        """
        if self.gaps is None:
            return ()
        pairs = [(old, new) for old, new in itertools.pairwise(self.schemas) if new.since_version not in self.gaps]
        return tuple([Transition(old, new, new.change) for old, new in pairs if new.change is not None])

    @cached_property
    def _nodes(self) -> dict[int, YamlNode]:
        """The YAML nodes of the versions, by since_version."""
        return {version.value["since"].value: version for version in self.root.value["versions"].value}

    def place(self, since: int, *keys: str) -> str:
        """Return "path:line:column" of an entry in the version `since`.

        `keys` lead to the entry, such as "inputs", "X", "doc". At the first key that the file lacks, the place of the
        entry before it is returned. The keys "special_cases" and TEXT lead to the special case with this text.
        """
        at = self.root if keys[:1] == ("special_cases",) else self._nodes[since]
        for key in keys:
            inner = at.value
            if isinstance(inner, list):
                inner = {_entry_name(each): each for each in inner}
            if not isinstance(inner, dict) or key not in inner:
                break
            at = inner[key]
        return self.place_of(at)

    def place_of(self, node: YamlNode) -> str:
        """Return "path:line:column" of a YAML node of the operator's file."""
        return f"{self.path}:{node.line}:{node.column}"


def _entry_name(node: YamlNode) -> str:
    """Return the text that identifies an item of a YAML list: its `name`, else its `text`, else the item itself."""
    if isinstance(node.value, dict):
        node = node.value.get("name") or node.value.get("text") or node
    return str(node.value)


@dataclass(frozen=True)
class _Version:
    """One version as it was read: its schema, its YAML node, its keys (inherited ones included), and its prose."""

    schema: OpSchema
    node: YamlNode
    fields: dict[str, YamlNode]
    docs: dict[str, dict[str, str]]
    texts: dict[str, str]
    """The constraints that state their text."""


def load_operator(path: Path | str, sets: TypeSets) -> Operator:
    """Return the operator in a file `<domain>/<Operator>.yaml`.

    `sets` are the named type sets that the file may use. Raises SchemaError with all faults of the file.
    """
    return parse_operator(None, path, sets)


def parse_operator(data: bytes | None, path: Path | str, sets: TypeSets, budget: Budget | None = None) -> Operator:
    """Return the operator in a file `<domain>/<Operator>.yaml`. Raises SchemaError with all faults of the file.

    Args:
        data: The bytes of the file; if None, the file at `path` is read.
        path: The path of the file; the name of its folder is the domain.
        sets: The named type sets that the file may use.
        budget: Bounds the work for all files of a folder together; None gives this file a budget of its own.
    """
    operator, findings = read_operator(path, sets, budget, data=data)
    if findings or operator is None:
        raise SchemaError(findings)
    return operator


def read_operator(
    path: Path | str, sets: TypeSets, budget: Budget | None = None, complete: bool = True, data: bytes | None = None
) -> tuple[Operator | None, list[Finding]]:
    """Return the operator in a file without its faulty parts, and all findings about the file.

    The operator is None if no version of it could be read.

    Args:
        path: `<domain>/<Operator>.yaml`; the name of the folder is the domain.
        sets: The named type sets that the file may use.
        budget: Bounds the work for all files of a folder together; None gives this file a budget of its own.
        complete: Whether `sets` has all type sets. If not, no finding is added for a version that names an unknown set;
            the version is left out.
        data: The bytes of the file; if None, the file at `path` is read.
    """
    path = Path(path)
    findings = Findings(str(path), budget)
    try:
        root = read_file(path, findings) if data is None else read(data, findings)
        domain = domain_of(path)
        if not domain.isprintable():
            findings.add("S215", "the name of the folder, which is the domain, has control characters")
        return _Reading(findings, sets, domain, complete).operator(root), findings
    except SchemaError as error:
        return None, [*error.findings]


def read_declaration(root: YamlNode, domain: str, sets: TypeSets, findings: Findings) -> Operator | None:
    """Return the operator in a YAML document without its faulty parts; None if no version of it could be read.

    Faults are added to `findings`. Raises SchemaError if there are MAX_FINDINGS of them.
    """
    return _Reading(findings, sets, domain, complete=True).operator(root)


def read_operators(
    files: Sequence[Path], sets: TypeSets, complete: bool = True
) -> tuple[list[Operator], list[Finding]]:
    """Return the operators in files without their faulty parts, and all findings about the files.

    A file of which no version could be read gives no operator. If there are too many findings or too much work, the
    remaining files are not read, and a finding says so.

    Args:
        files: The files, `<domain>/<Operator>.yaml`.
        sets: The named type sets that the files may use.
        complete: Whether `sets` has all type sets. If not, no finding is added for a version that names an unknown set;
            the version is left out.
    """
    operators: list[Operator] = []
    findings: list[Finding] = []
    budget = reading_budget()
    for position, path in enumerate(files):
        operator, found = read_operator(path, sets, budget, complete)
        findings += found
        if operator is not None:
            operators.append(operator)
        left = len(files) - position - 1
        if left and (budget.steps > budget.max_steps or len(findings) >= MAX_FOLDER_FINDINGS):
            message = f"files of this folder were not read: {left:,}, of which this is the first"
            why = f"the ones before took more than {MAX_STEPS:,} steps"
            if budget.steps <= budget.max_steps:
                why = f"the ones before have more than {MAX_FOLDER_FINDINGS} findings"
            place = f"{files[position + 1]}:1:1"
            findings.append(Finding("S102", message, place=place, why=why, help="mend the others first"))
            break
    return operators, findings


def load_operators(folder: Path, sets: TypeSets) -> tuple[list[Operator], list[Finding]]:
    """Return the operators of a folder whose files have no faults, sorted by path, and all findings about its files.

    `sets` are the named type sets that the files may use. Raises SchemaError if the folder cannot be read.
    """
    operators, findings = read_operators(operator_files(folder), sets)
    return [operator for operator in operators if operator.whole], findings


def load_folder(folder: Path | str, base: TypeSets | None = None) -> tuple[list[Operator], dict[str, tuple[str, ...]]]:
    """Return all operators of a folder, sorted by path, and the named type sets that they may use.

    These type sets are the ones in `base` and the ones in the folder's types.yaml. Raises SchemaError with the findings
    of all files if one has faults.
    """
    sets = folder_sets(Path(folder), base)
    operators, findings = load_operators(Path(folder), sets)
    if findings:
        raise SchemaError(findings)
    return operators, sets


@lru_cache(maxsize=1)
def standard_sets() -> TypeSets:
    """Return the named type sets of the standard, which operators of any folder may use; cached."""
    return load_sets(Path(__file__).parents[1] / TYPES_FILE)


def folder_sets(folder: Path, base: TypeSets | None = None) -> dict[str, tuple[str, ...]]:
    """Return the named type sets in `base` and in the types.yaml of a folder, if it has one.

    Raises SchemaError if types.yaml has faults.
    """
    path = folder / TYPES_FILE
    return load_sets(path, base) if os.path.lexists(path) else dict(base or {})


def load_sets(path: Path | str, base: TypeSets | None = None, data: bytes | None = None) -> dict[str, tuple[str, ...]]:
    """Return the named type sets in `base` and in a file; a set in the file may use sets in `base`.

    `data` are the bytes of the file; if None, the file is read. Raises SchemaError if the file has faults or cannot be
    read.
    """
    sets, findings = read_sets(path, base, data)
    if findings:
        raise SchemaError(findings)
    return sets


def read_sets(
    path: Path | str, base: TypeSets | None, data: bytes | None = None
) -> tuple[dict[str, tuple[str, ...]], list[Finding]]:
    """Return the named type sets in `base` and the faultless ones in a file, and the findings about the file.

    `data` are the bytes of the file; if None, the file is read. Nothing is raised if it cannot be read: that is a
    finding.
    """
    findings = Findings(str(path))
    sets = dict(base or {})
    try:
        root = read_file(path, findings) if data is None else read(data, findings)
        add_sets(root, sets, findings)
    except SchemaError as error:
        return sets, [*error.findings]
    return sets, findings


def add_sets(root: YamlNode, sets: dict[str, tuple[str, ...]], findings: Findings) -> None:
    """Add each faultless type set that a YAML mapping declares to `sets`; faults are added to `findings`.

    A set may use the sets that are in `sets` already, and the sets that stand above it in the mapping. A set that has
    the name of a type, or of a set in `sets`, is a fault. Raises SchemaError if there are MAX_FINDINGS.
    """
    if not isinstance(root.value, dict):
        findings.add("S105", "a file of type sets is a mapping from names to lists of types", root)
        return
    reading = TypeFields(findings, sets)
    for name, node in reading.names(root, "type sets").items():
        before = len(findings)
        if name in sets or name in NUMBERS:
            findings.add("S106", f"{name!r} is the name of a type or of another set", root.keys[name])
        types = reading.types(node)
        if len(findings) == before:
            sets[name] = types


def _keep_versions(root: YamlNode, versions: list[_Version]) -> YamlNode:
    """Return a copy of an operator's YAML document that has only the given versions."""
    known = {id(each.node) for each in versions}
    listed = root.value["versions"]
    kept = [each for each in listed.value if id(each) in known]
    return replace(root, value=root.value | {"versions": replace(listed, value=kept)})


def _newest_first(version: YamlNode) -> int:
    """Return a sort key for the YAML nodes of versions: newest first, and last the nodes without a legal `since`."""
    since = version.value.get("since") if isinstance(version.value, dict) else None
    return -since.value if since is not None and isinstance(since.value, int) else 0


def read_file(path: Path | str, findings: Findings) -> YamlNode:
    """Return the document in a YAML file as nodes; faults are added to `findings`.

    Raises SchemaError after a fault that ends reading: the file cannot be opened, is too large or not UTF-8, has faulty
    syntax or too deep nesting, or holds no document. Raises SchemaError also if there are MAX_FINDINGS.
    """
    try:
        data = file_bytes(path, MAX_SIZE)
    except OSError as error:
        findings.add("S101", f"the file cannot be read: {error.strerror or error}")
    except ValueError as error:
        code = "S102" if isinstance(error, TooLarge) else "S101"
        findings.add(code, f"the file cannot be read: {error}")
    else:
        return read(data, findings)
    raise SchemaError(findings)


class _Reading(Attributes, Changes, Likeness):
    """Reads the operator of one file; faults become findings. Raises SchemaError at MAX_FINDINGS or MAX_STEPS."""

    def __init__(self, findings: Findings, sets: TypeSets, domain: str, complete: bool) -> None:
        """Prepare to read the file of one operator; nothing is read yet.

        Args:
            findings: Gets the faults of the file.
            sets: The named type sets that the file may use.
            domain: The domain of the operator.
            complete: Whether `sets` has all type sets. If not, no finding is added for a version that names an unknown
                set; the version is left out.
        """
        super().__init__(findings, sets, complete)
        self.domain = domain
        self.broken: set[int] = set()
        """Versions with a fault beyond their prose, their `change` and their function bodies."""
        self.unclear: set[int] = set()
        """Versions with names of types that types.yaml may have, which is broken."""
        self.unchanged: set[int] = set()
        """Versions with a fault in `change`."""

    # The operator, from the outside in.

    def operator(self, root: YamlNode) -> Operator | None:
        """Return the operator that a YAML document declares; None if no version of it could be read.

        Versions with faults are only in its field `damaged`.
        """
        fields = self.mapping(root, OPERATOR_KEYS, OPERATOR_KEYS[:3])
        name, family = self.name(fields.get("operator")), self.name(fields.get("family"))
        nodes = self.items(self.limit_entries(fields["versions"], "versions")) if "versions" in fields else []
        complete: dict[int, dict[str, YamlNode]] = {}
        read_versions = [self.version(node, name, family, complete) for node in sorted(nodes, key=_newest_first)]
        versions = sorted((v for v in read_versions if v is not None), key=lambda v: v.schema.since_version)
        if "versions" in fields and not nodes:
            self.report_wrong(fields["versions"], "at least one version")
        for before, after in itertools.pairwise(versions):
            if before.schema.since_version == after.schema.since_version:
                self.findings.add("S106", f"version {after.schema.since_version} is duplicate", after.node)
                self.broken.add(after.schema.since_version)
        dated = len(versions) == len(nodes)
        for index, version in enumerate(versions if dated else ()):
            if index == 0 and version.schema.change is not None:
                self.findings.add("S103", "the first version has nothing to change from", version.node.keys["change"])
            elif index and "change" not in version.fields:
                help = "every version but the first has it"
                self.findings.add("S104", "the key 'change' is missing", version.node, help)
        docs: dict[int, Docs] = {}
        sinces = [each.schema.since_version for each in versions]
        cases = self.special_cases(fields.get("special_cases"), sinces)
        notes = self.implementations(fields, sinces)
        for version in reversed(versions):
            since = version.schema.since_version
            docs[since] = self.docs(version, cases[since], notes[since])
            if "like" in version.fields and self.number(version.fields["like"]) in self.broken:
                self.broken.add(since)
        self.broken |= self.unclear
        return self.join_versions(root, fields.get("examples"), versions, [docs[since] for since in sinces], dated)

    def join_versions(
        self, root: YamlNode, node: YamlNode | None, versions: list[_Version], docs: list[Docs], dated: bool
    ) -> Operator | None:
        """Return the operator made of versions and their prose; None if no version is left.

        A version with faults is only in the field `damaged` of the operator, and is left out if it has `like`. Faults
        of the examples are added as findings.

        Args:
            root: The YAML document.
            node: The YAML node of the examples, None if there are none.
            versions: The versions with a legal number, oldest first.
            docs: Their prose, in the same order.
            dated: Whether all versions of the document have a legal number.
        """
        sinces = [version.schema.since_version for version in versions]
        before = self.faults()
        examples: tuple[Example, ...] = ()
        if node is not None:
            examples = Examples(self.findings, [each.schema for each in versions], docs, self.broken).read(node)
        found = [version for version in versions if version.schema.since_version not in self.broken]
        own = [version for version in versions if version not in found and "like" not in version.fields]
        if not found and not own:
            return None
        gaps = self.unchanged | {after for each, after in itertools.pairwise(sinces) if each in self.broken}

        def parts_of(some: list[_Version]) -> dict[str, Any]:
            """Return the schemas and prose of some of the versions, as fields of Operator."""
            texts = tuple(text for version, text in zip(versions, docs, strict=True) if version in some)
            return {"schemas": tuple(version.schema for version in some), "docs": texts}

        operator = Operator(
            self.domain,
            versions[0].schema.name,
            versions[0].schema.family,
            **parts_of(found),
            examples=examples,
            path=self.findings.file,
            root=_keep_versions(root, found) if self.broken or not dated else root,
            gaps=frozenset(gaps) if dated else None,
            whole=not self.findings and not self.broken and not self.unchanged,
            examples_read=self.faults() == before,
        )
        damaged = replace(operator, **parts_of(own), root=_keep_versions(root, own)) if own else None
        return replace(operator, damaged=damaged)

    def faults(self) -> tuple[int, int]:
        """Return (number of findings, number of unknown type names) up to now.

        If a later result differs, there was a fault in between.
        """
        return len(self.findings), self.unknown

    def version(self, node: YamlNode, name: str, family: str, newer: dict[int, dict[str, YamlNode]]) -> _Version | None:
        """Return one version of the operator, or None if its `since` is missing or illegal.

        Faults are added as findings. A fault in a function body removes all function bodies of the version. For a fault
        elsewhere, the number of the version is added to a set:

        - `self.unchanged` if the fault is in `change:`;
        - `self.unclear` if all other faults are unknown type names, while not all type sets are read (no findings yet);
        - `self.broken` for every other fault.

        Args:
            node: The YAML node of the version.
            name: The name of the operator.
            family: The family of the operator.
            newer: All keys of each newer version, by since_version; the keys of this version are added.
        """
        before = self.faults()
        fields = self.mapping(node, VERSION_KEYS, ("since",))
        since = self.within(fields.get("since"), 1, MAX_VERSION, 1)
        dated = "since" in fields and type(fields["since"].value) is int and fields["since"].value == since
        if not isinstance(node.value, dict):
            return None
        fields = self.inherit_keys(fields, newer)
        if dated:
            newer[since] = fields
        types = {key: self.types(each) for key, each in self.names(fields.get("types"), "types").items()}
        docs: dict[str, dict[str, str]] = {"inputs": {}, "outputs": {}, "attributes": {}}
        unknown = self.choice(fields["unknown"], UNKNOWN) if "unknown" in fields else ""
        required = ("name",) if unknown else ("name", "type")
        inputs, outputs = (
            self.parameters(fields.get(side), types, docs[side], required) for side in ("inputs", "outputs")
        )
        schema = OpSchema(self.domain, name, since, family, inputs, outputs, types=types)
        attributes = {
            key: self.attribute(key, each, docs["attributes"], schema)
            for key, each in sorted(self.names(fields.get("attributes"), "attributes").items())
        }
        schema = replace(
            schema,
            attributes=attributes,
            deprecated=self.flag(fields.get("deprecated")),
            replacement=self.name(fields.get("replacement")),
            experimental=self.flag(fields.get("experimental")),
            determinism=self.choice(fields["determinism"], DETERMINISM) if "determinism" in fields else DETERMINISM[0],
            shape=self.name(fields.get("shape")),
            unknown=unknown,
        )
        conditions, texts = ConditionReader(self.findings, schema).read(fields.get("constraints"))
        if dated and self.faults() != before:
            (self.broken if len(self.findings) > before[0] else self.unclear).add(since)
        before = self.faults()
        change = self.change(fields["change"], attributes) if "change" in fields else None
        if self.faults() != before:
            self.unchanged.add(since)
        before = self.faults()
        function = self.bodies(fields["function"], schema) if "function" in fields else ()
        if self.faults() != before:
            function = ()
        complete = replace(schema, conditions=conditions, function=function, change=change)
        return _Version(complete, node, fields, docs, texts) if dated else None

    def bodies(self, node: YamlNode, schema: OpSchema) -> tuple[FunctionBody, ...]:
        """Return the function bodies in the `function` of a version; faults are added as findings.

        The text of their nodes is not parsed. `schema` is the version so far: it has the inputs, attributes and types.
        """
        bodies: list[FunctionBody] = []
        for each in self.items(self.limit_entries(node, "function bodies")):
            fields = self.mapping(each, BODY_KEYS, ("opset", "nodes"))
            where = ConditionReader(self.findings, schema).read_where(fields["where"]) if "where" in fields else ()
            types = {key: self.types(inner) for key, inner in self.names(fields.get("types"), "types").items()}
            for name in (each for each in types if each not in schema.types):
                self.report_unknown(fields["types"].keys[name], "type constraint", name, schema.types)
            opset = self.within(fields.get("opset"), 1, MAX_VERSION, 1)
            emulate = self.emulate(fields["emulate"]) if "emulate" in fields else {}
            bodies.append(FunctionBody(opset, self.phrase(fields.get("nodes")), where, types, emulate))
        if not bodies:
            self.report_wrong(node, "at least one function body")
        return tuple(bodies)

    def inherit_keys(self, fields: dict[str, YamlNode], newer: dict[int, dict[str, YamlNode]]) -> dict[str, YamlNode]:
        """Return all keys of a version: its own, and the keys inherited from the newer version that `like` names.

        `newer` has all keys of each newer version, by since_version. If `like` names none of these, a finding is added,
        and only the keys in OWN_KEYS are returned. Without `like`, `fields` is returned unchanged.
        """
        if "like" not in fields:
            return fields
        since = self.number(fields["like"])
        if since in newer:
            return self.complete_version(fields, newer[since])
        if since == fields["like"].value:
            self.findings.add("S107", f"there is no newer version {since} to be like", fields["like"])
        return {key: each for key, each in fields.items() if key in OWN_KEYS}

    def docs(self, version: _Version, cases: Sequence[SpecialCase], notes: Sequence[ImplementationNote]) -> Docs:
        """Return the prose of a version: its texts in YAML, `cases`, `notes`, and the texts of its constraints.

        A constraint without a text in YAML gets one derived from its conditions. If both keys `doc` and `like` are
        missing, a finding is added.
        """
        fields, said = version.fields, version.docs
        if "doc" not in fields and "like" not in version.node.value:
            self.findings.add("S104", "the key 'doc' is missing", version.node, "or 'like': a newer version")
        counterparts = self.names(fields.get("counterparts"), "counterparts")
        return Docs(
            self.text(fields.get("doc")),
            said["inputs"],
            said["outputs"],
            said["attributes"],
            all_constraints(version.schema, version.texts),
            self.text(fields.get("formula")),
            tuple(cases),
            {name: self.phrase(each) for name, each in counterparts.items()},
            tuple(notes),
        )

    def special_cases(self, node: YamlNode | None, known: Collection[int]) -> dict[int, list[SpecialCase]]:
        """Return the special cases of each version, by since_version; [] for a version without any.

        A case may hold for several versions. `node` is their YAML list, or None. `known` are the since_versions of the
        operator. Faults are added as findings.
        """
        cases: dict[int, dict[str, SpecialCase]] = {since: {} for since in known}
        for each in self.items(node) if node is not None else ():
            fields = {"text": each}
            if isinstance(each.value, dict):
                fields = self.mapping(each, CASE_KEYS, ("text",))
            case = SpecialCase(self.phrase(fields.get("text")), *self.grounds(fields))
            self.add_to_versions(case, case.text, cases, fields, each)
        return {since: [*held.values()] for since, held in cases.items()}

    def implementations(
        self, operator: Mapping[str, YamlNode], known: Collection[int]
    ) -> dict[int, list[ImplementationNote]]:
        """Return the notes on implementations of each version, by since_version; [] for a version without any.

        A note may hold for several versions. `operator` has the keys of the YAML document, `known` are the
        since_versions of the operator. Faults are added as findings, such as an example that does not exist.
        """
        notes: dict[int, dict[str, ImplementationNote]] = {since: {} for since in known}
        shown = operator.get("examples")
        names = {_entry_name(each) for each in shown.value} if shown and isinstance(shown.value, list) else set()
        for name, node in self.names(operator.get("implementations"), "implementations").items():
            for each in self.items(node):
                fields = self.mapping(each, NOTE_KEYS, ("text",) if name == OWN else ("text", "tested"))
                examples = self.items(fields["examples"]) if "examples" in fields else []
                for example in examples:
                    if self.name(example) and example.value not in names:
                        self.report_unknown(example, "example", example.value, names)
                tested = self.name(fields.get("tested"))
                note = ImplementationNote(
                    name, self.phrase(fields.get("text")), tested, tuple(map(self.text, examples))
                )
                self.add_to_versions(note, f"{name}: {note.text}", notes, fields, each)
        return {since: [*held.values()] for since, held in notes.items()}

    def add_to_versions(
        self, item: T, key: str, found: dict[int, dict[str, T]], fields: dict[str, YamlNode], node: YamlNode
    ) -> None:
        """Add a special case or note to each version from `since` to `until`, which are keys in `fields`.

        Both ends are included. A missing key sets no bound. A key with an unknown version sets no bound either, and is
        a finding. If a version already has an item with the text `key`, the item is replaced, with a finding.

        Args:
            item: The special case or note.
            key: The text that identifies the item.
            found: The items of all versions, by since_version and `key`; the item is added to it.
            fields: The keys of the item in YAML.
            node: The YAML node of the item.
        """
        held = versions_between(found, *self.span(fields, found))
        self.findings.charge(len(held), node)
        if any(key in found[since] for since in held):
            what = "special case" if isinstance(item, SpecialCase) else "note"
            self.findings.add("S106", f"a version has this {what} twice", node)
        for since in held:
            found[since][key] = item

    def parameters(
        self,
        node: YamlNode | None,
        types: dict[str, tuple[str, ...]],
        docs: dict[str, str],
        required: Sequence[str],
    ) -> tuple[Parameter, ...]:
        """Return the inputs, or the outputs, of a version from their YAML list; add their prose to `docs` by name.

        Faults are added as findings. Of parameters with the same name, which is a fault, only the last one is returned.

        Args:
            node: The YAML list, None if there is none.
            types: The type constraints of the version.
            docs: Gets the prose.
            required: The keys that each parameter must have.
        """
        parameters: dict[str, Parameter] = {}
        for each in self.items(self.limit_entries(node, "inputs, and outputs")) if node is not None else ():
            fields = self.mapping(each, PARAMETER_KEYS, required)
            name, type_ = self.name(fields.get("name")), self.name(fields.get("type"))
            if name and name in parameters:
                self.findings.add("S106", f"the parameter {name!r} is duplicate", fields["name"])
            if type_ and type_ not in types and not is_type(type_):
                self.report_unknown(fields["type"], "type constraint", type_, types)
            optional, variadic = self.flag(fields.get("optional")), self.flag(fields.get("variadic"))
            if optional and variadic:
                self.findings.add("S103", "a parameter is not both optional and variadic", fields["optional"])
            if "min_arity" in fields and not variadic:
                self.findings.add("S103", "'min_arity' belongs to a variadic parameter", each.keys["min_arity"])
            least = self.within(fields.get("min_arity"), 0, UNBOUNDED, 1)
            if any(each.option == VARIADIC for each in parameters.values()):
                self.findings.add("S103", f"{name!r} stands behind a variadic parameter", each, "put that one last")
            docs[name] = self.text(fields.get("doc"))
            parameters[name] = Parameter(
                name,
                type_,
                OPTIONAL if optional else VARIADIC if variadic else SINGLE,
                not self.flag(fields.get("heterogeneous")),
                least,
                self.flag(fields.get("differentiable")),
            )
        return tuple(parameters.values())
