"""The lint rules of operator YAML. Each finding has a code, with its line in the table of errors."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from opset.errors import Finding, FindingList, SchemaError
from opset.schemas.constraints.conditions import all_constraints
from opset.schemas.diff import Transition, compact_diff
from opset.schemas.index import FOLDER, standard_versions
from opset.schemas.lint.body_rules import LinkedOperators, OperatorBodies, operators_used
from opset.schemas.lint.context import (
    LINT,
    Adapter,
    InferenceHooks,
    Kernel,
    LintContext,
    LintedFolder,
    changed_attributes,
)
from opset.schemas.lint.lock_rules import LockedOperators, unlocked_versions
from opset.schemas.lock import Lock, read_lock, signature_hash
from opset.schemas.model import AttributeChange, OpSchema
from opset.schemas.names import domain_name, near_miss
from opset.schemas.selection import SelectionTarget
from opset.schemas.type_sets import TypeSets, expand
from opset.schemas.untrusted_files import file_matches
from opset.schemas.yaml.folders import domain_of, operator_files, siblings
from opset.schemas.yaml.keys import CHANGE_KEYS, FACETS
from opset.schemas.yaml.loader import (
    MAX_FOLDER_FINDINGS,
    TYPES_FILE,
    Operator,
    read_file,
    read_operator,
    read_operators,
    read_sets,
    standard_sets,
)
from opset.schemas.yaml.printer import flow
from opset.schemas.yaml.reader import MAX_SIZE, Findings, YamlNode, nodes_below

DOCUMENTATION = frozenset({"S212", "S213"})
"""Codes of the rules on versions that cannot be read completely."""
_EXAMPLES = re.compile(rb"^examples:", re.MULTILINE)
FAMILIES = (
    *("activation", "attention", "binary", "cast", "control_flow", "conv", "create", "image", "indexing", "layout"),
    *("linalg", "loss", "ml_encoding", "ml_linear", "ml_svm", "ml_trees", "norm", "pool", "quantize", "recurrent"),
    *("reduce", "regions", "reshape", "resize", "sampling", "sequence", "signal", "slicing", "text", "training"),
    "unary",
)


@dataclass(frozen=True)
class Hooks:
    """The functions registered for operators; a field that is None is not checked.

    `unknown` are the domains with adapter files that could not be run.
    """

    written: Collection[Adapter] | None = None
    kernels: Collection[Kernel] | None = None
    inferred: InferenceHooks | None = None
    unknown: frozenset[str] = frozenset()


class LintedTarget(NamedTuple):
    """The result of checking a target.

    `operators` are all that could be read, even from files with faults. `files` is the number of files, `unread` the
    number of files without an operator; `unlocked` are the versions not in the lock.
    """

    findings: FindingList
    operators: list[Operator]
    files: int
    unread: int
    unlocked: list[tuple[Operator, int]]


def check_target(
    target: SelectionTarget, hooks_of: Callable[[Collection[str]], Hooks], released: bool = False
) -> LintedTarget:
    """Check the operators of a target; return them, the findings, counts of files, and the versions not in the lock.

    Args:
        target: Operator files of one folder of domains.
        hooks_of: Returns the functions registered for operators, such as kernels. It is called with the families of
            standard operators, such as "conv", whose modules it has to load first.
        released: Whether all versions have to be in lock.json. If False, versions that are newer than all locked
            versions of their domain may be missing.
    """
    folder = target.folder
    standard = os.path.realpath(folder) == os.path.realpath(FOLDER)
    base = {} if standard else standard_sets()
    sets, findings = dict(base), list[Finding]()
    path = folder / TYPES_FILE
    if os.path.lexists(path):
        sets, findings = read_sets(path, base)
    complete = not findings
    lock: Lock | None = None
    try:
        lock = read_lock(folder)
    except SchemaError as error:
        findings += error.findings
    operators, faults = read_operators(target.files, sets, complete)
    findings += faults
    ours = any(is_standard(operator) for operator in operators)
    families = FAMILIES if ours and target.whole else {each.family for each in operators} & {*FAMILIES} if ours else ()
    whole = {(operator.domain, operator.name) for operator in operators if operator.whole}
    unread = {(domain_of(path), path.stem) for path in target.files} - whole
    check = _TargetCheck(LintedFolder(target, base, operators, unread, complete), sets, lock, hooks_of(families))
    found = list(itertools.islice(check.findings({each.place for each in faults}), MAX_FOLDER_FINDINGS + 1))
    if len(found) > MAX_FOLDER_FINDINGS:
        message = f"more than {MAX_FOLDER_FINDINGS} findings of rules are about this folder"
        found[-1] = Finding("S102", message, place=str(folder), help="mend these first: the others are not shown")
    unlocked = [] if lock is None else unlocked_versions(operators, lock)
    if lock is not None:
        found += [finding for _, finding in LINT.apply(LockedOperators(tuple(operators), lock, released))]
    count = len(target.files)
    return LintedTarget(FindingList([*findings, *found]), operators, count, count - len(operators), unlocked)


class _TargetCheck:
    """Applies the lint rules to the operators of one folder; `lock` is None if it cannot be read."""

    def __init__(self, folder: LintedFolder, sets: TypeSets, lock: Lock | None, hooks: Hooks) -> None:
        """Collect the facts that rules need, such as the names of all operators in the folder and the standard.

        `sets` are the named type sets that the files may use. `lock` has the hashes of released versions, None if it
        cannot be read. `hooks` has the functions registered for the operators.
        """
        self.folder = folder
        target = folder.target
        listed = [*target.files]
        if not target.whole:
            listed = [path for holder in {each.parent for each in target.files} for path in siblings(holder)]
        names = {(domain_of(path), path.stem) for path in listed}
        whole = {(operator.domain, operator.name) for operator in folder.whole_operators}
        self.siblings = {name: path for path in listed if (name := (domain_of(path), path.stem)) not in whole}
        if folder.base:
            names |= {("", path.stem) for path in operator_files(FOLDER) if path.parent.name == "ai.onnx"}
        exemplary = not folder.base or any(operator.examples for operator in folder.operators)
        if folder.operators and not target.whole:
            exemplary = exemplary or any(file_matches(path, _EXAMPLES, MAX_SIZE) for path in listed)
        self.context = LintContext(
            sets, lock or {}, names, hooks.written, hooks.kernels, hooks.inferred, exemplary, hooks.unknown
        )

    def findings(self, faults: Collection[str]) -> Iterator[Finding]:
        """Yield the findings of all rules, except those that may be mere consequences of a fault in a file.

        `faults` are the locations, path:line:column, at which reading found faults.
        """
        for operator in self.folder.operators:
            found = (finding for _, finding in LINT.apply(operator, self.context))
            yield from found if operator.whole else _independent_findings(operator, found, faults)
            if damaged := operator.damaged:
                found = (finding for _, finding in LINT.apply(damaged, self.context, codes=DOCUMENTATION))
                yield from _independent_findings(damaged, found, faults)
        yield from (finding for _, finding in LINT.apply(self.folder, self.context))
        yield from self._check_function_bodies()

    def _check_function_bodies(self) -> Iterator[Finding]:
        """Yield the findings about function bodies.

        A body may use operators of the folder and of the standard. If it uses an operator whose file has faults,
        findings that may follow from these faults are left out.
        """
        known = {(operator.domain, operator.name): operator for operator in self.folder.whole_operators}
        schemas = {name: operator.schemas for name, operator in known.items()}
        unclear = False

        def versions(domain: str, name: str) -> tuple[OpSchema, ...]:
            """Return all versions of an operator: of the folder, else of the standard; () if there is none.

            Sets `unclear` if the operator has a file in the folder that could not be read without a fault.
            """
            nonlocal unclear
            key = domain, name
            if key not in schemas and key in self.siblings:
                operator, _ = read_operator(self.siblings[key], self.context.sets)
                schemas[key] = ()
                if operator is not None and operator.whole:
                    known[key], schemas[key] = operator, operator.schemas
            if key not in schemas:
                schemas[key] = standard_versions(domain, name)
            unclear |= not schemas[key] and key in self.siblings
            return schemas[key]

        for operator in self.folder.operators:
            if any(schema.function for schema in operator.schemas):
                for rule in LINT.select(OperatorBodies):
                    unclear = False
                    found = list(rule.check(OperatorBodies(operator, versions)))
                    yield from found if not unclear else [each for each in found if each.code != "S235"]
        reached = [] if self.folder.target.whole else [*known]
        for key in reached:  # which grows with what bodies of the files beside use
            for used in operators_used(known[key]):
                if used not in known and versions(*used) and used in known:
                    reached.append(used)
        for _, finding in LINT.apply(LinkedOperators(tuple(known.values()))):
            if self.folder.target.has_file(Path(finding.place.removesuffix(":1:1"))):
                yield finding


def _independent_findings(operator: Operator, found: Iterable[Finding], faults: Collection[str]) -> Iterator[Finding]:
    """Yield the findings in `found` about parts of an operator's file that have no faults.

    `faults` are the locations of faults, as path:line:column.
    """
    versions = operator.root.value["versions"]
    within: dict[str, YamlNode] = {}
    parts = [each for key in versions.value for each in key.value.values()]
    parts += [each for key, each in operator.root.value.items() if key != "versions"]
    for each in nodes_below(parts):
        within.setdefault(operator.place_of(each), each)
    for finding in found:
        node = within.get(finding.place)
        about = {finding.place} if node is None else {f"{operator.path}:{place}" for place in node.places()}
        if about.isdisjoint(faults):
            yield finding


@LINT.fix("S201")
def declare_differences(operator: Operator, document: dict[str, Any], sets: TypeSets) -> None:
    """Correct the `change:` blocks in an operator's YAML document to declare how the signatures really differ.

    This is the fix of S201. `document` is the document as plain data, and is changed. `sets` are the type sets that the
    YAML may name.
    """
    versions = {version["since"]: version for version in document["versions"]}
    for step in operator.transitions:
        version = versions[step.new.since_version]
        version["change"] = declared_change(version["change"], step, sets_of_domain(operator.domain, sets))


def declared_change(change: dict[str, Any], step: Transition, sets: TypeSets) -> dict[str, Any]:
    """Return a copy of a `change:` block that declares how the signatures really differ, as S201 demands.

    `change` is the block as its author wrote it; its declarations about other things stay. If nothing has to be
    corrected, `change` itself is returned. `step` has the two versions. `sets` are the type sets whose names may be
    used.
    """
    fixed = dict(change)
    for key in step.undeclared_keys:
        part = compact_diff(step.difference, sets).get(key, {})
        if key == "attributes":
            for name, declared in change.get(key, {}).items():
                if entry := part.get(name, {}) | {facet: declared[facet] for facet in FACETS if facet in declared}:
                    part[name] = entry
        fixed[key] = part
        if part == {}:
            del fixed[key]
    return {key: fixed[key] for key in CHANGE_KEYS if key in fixed} if step.undeclared_keys else change


@LINT.rule("S201", Operator)
def check_declared_difference(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S201 for each key, such as "inputs", that a `change:` block declares wrongly.

    A missing key is a finding, too, if the signatures differ in it.
    """
    for step in operator.transitions:
        for key in step.undeclared_keys:
            difference = compact_diff(step.difference, sets_of_domain(operator.domain, context.sets))
            help = f"write {key}: {flow(difference[key])}" if key in difference else f"leave {key} out: nothing differs"
            message = f"{operator.name} {step.new.since_version} does not declare what differs in {key}"
            place = operator.place(step.new.since_version, "change", key)
            yield Finding("S201", message, place=place, help=help)


@LINT.rule("S202", Operator)
def check_order_of_versions(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S202 for each version that its file lists below an older one; the newest has to be first."""
    nodes = operator.root.value["versions"].value
    sinces = [node.value["since"].value for node in nodes]
    for before, after in itertools.pairwise(sinces):
        if before < after:
            place = operator.place(after, "since")
            yield Finding("S202", f"version {after} stands below version {before}", place=place)


@LINT.rule("S203", Operator)
def check_released_signatures(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S203 for each version whose signature does not have the hash that lock.json states."""
    versions = context.lock.get(domain_name(operator.domain), {}).get(operator.name, {})
    for schema in operator.schemas:
        released = versions.get(str(schema.since_version))
        if released and released != signature_hash(schema):
            message = f"the signature of {operator.name} {schema.since_version} was edited after its release"
            help = "restore it, and put the edit into a new version"
            yield Finding("S203", message, place=operator.place(schema.since_version), help=help)


@LINT.rule("S205", Operator)
def check_meaning(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S205 for each `change:` block that has both `meaning` and `clarified`, or neither of them.

    A block with neither is a finding only if the signature of the version is unchanged.
    """
    for step in operator.transitions:
        place = operator.place(step.new.since_version, "change")
        if not step.change.meaning and not step.change.clarified and not step.difference:
            message = f"{operator.name} {step.new.since_version} does not say what it changed"
            yield Finding("S205", message, place=place, help="add 'meaning' or 'clarified'")
        if step.change.meaning and step.change.clarified:
            message = f"{operator.name} {step.new.since_version} has both 'meaning' and 'clarified'"
            yield Finding("S205", message, place=place, help="describe the change in 'meaning', and remove 'clarified'")


@LINT.rule("S206 S207", Operator)
def check_adapters(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding for each adapter that is declared in a `change:` block or registered, but not both.

    - S206: The adapter is declared as "written", but is not registered.
    - S207: The adapter is registered, but is not declared as "written".

    An adapter converts nodes between two consecutive versions, up or down. Nothing is yielded if the adapters are not
    to be checked, or could not be loaded.
    """
    if context.written is None or operator.domain in context.unknown:
        return
    for step in operator.transitions:
        since = step.new.since_version
        for direction, declared in (("up", step.change.up), ("down", step.change.down)):
            registered = (operator.domain, operator.name, since, direction) in context.written
            place = operator.place(since, "change", "adapters", direction)
            if declared == "written" and not registered:
                yield Finding("S206", f"no adapter {direction} is written for {operator.name} {since}", place=place)
            elif registered and declared != "written":
                message = f"an adapter {direction} is written for {operator.name} {since}, which declares none"
                help = f"declare '{direction}: written', or remove the adapter"
                yield Finding("S207", message, place=place, help=help)


@LINT.rule("S208", Operator)
def check_removed_attributes(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S208 for each removed attribute that is not declared as ignored, renamed or turned into an input.

    A version is checked only if its `change:` block declares the adapter `up` as "derived", not as "written" or
    "impossible".
    """
    for name, declared, step in changed_attributes(operator):
        renamed = (change.renamed for change in step.change.attributes.values())
        is_gone = name in step.old.attributes and name not in step.new.attributes and name not in renamed
        if is_gone and step.change.up == "derived" and not declared.ignored and not declared.input:
            message = f"what becomes of the attribute {name} at version {step.new.since_version} is not said"
            place = operator.place(step.new.since_version, "change", "attributes", name)
            help = "add 'ignored: true' or 'input: NAME', 'renamed' to the new one, or write the adapter up"
            yield Finding("S208", message, place=place, help=help)


@LINT.rule("S209", Operator)
def check_added_attributes(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S209 for each added attribute that is required and has neither `old` nor `renamed` declared.

    A version is skipped if its `change:` block declares another adapter `up` than "derived".
    """
    for name, declared, step in changed_attributes(operator):
        is_new = name in step.new.attributes and name not in step.old.attributes and not declared.renamed
        if is_new and step.new.attributes[name].required and step.change.up == "derived" and declared.old is None:
            message = f"which {name} means what {operator.name} did before {step.new.since_version} is not said"
            place = operator.place(step.new.since_version, "change", "attributes", name)
            yield Finding("S209", message, place=place, help="add 'old: VALUE', or write the adapter up")


@LINT.rule("S210", Operator)
def check_facets(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S210 for each declaration in a `change:` block that contradicts the signatures of its versions.

    Checked are the declarations about attributes, such as `old` and `input`, and `renamed` of the operator.
    """
    for step in operator.transitions:
        since = step.new.since_version
        for name, declared in step.change.attributes.items():
            place = operator.place(since, "change", "attributes", name)
            for message in _facet_faults(name, declared, step):
                yield Finding("S210", message, place=place)
            inputs = [parameter.name for parameter in step.new.inputs]
            if declared.input and declared.input not in inputs:
                help = near_miss(declared.input, inputs)
                yield Finding("S210", f"version {since} has no input {declared.input}", place=place, help=help)
            gone = sorted(step.old.attributes.keys() - step.new.attributes.keys())
            if declared.renamed and declared.renamed not in gone:
                message = f"no attribute {declared.renamed} was removed by version {since}"
                yield Finding("S210", message, place=place, help=near_miss(declared.renamed, gone))
        if step.change.renamed and not (step.new.deprecated and step.new.replacement):
            message = f"{operator.name} {since} is not withdrawn in favour of a replacement, and so not renamed"
            yield Finding("S210", message, place=operator.place(since, "change", "renamed"))


def _facet_faults(name: str, declared: AttributeChange, step: Transition) -> Iterator[str]:
    """Yield a message for each declaration in YAML that does not fit the change of an attribute between two versions.

    For example, `ignored` is only for an attribute that the newer version lacks. `name` is the attribute. `declared`
    has its declarations: `old`, `ignored`, `input` and so on. `step` has the older and the newer version. Whether there
    is an input or attribute of the name in `input: NAME` or `renamed: NAME` is not checked here.
    """
    old, new, since = step.old.attributes.get(name), step.new.attributes.get(name), step.new.since_version
    came, went, stayed = old is None and new is not None, old is not None and new is None, old is not None is not new
    required = stayed and new is not None and new.required and old is not None and not old.required
    if declared.old is not None and not came and not required:
        yield f"'old' describes {name}, which was not added by version {since}, and did not become required"
    if (declared.ignored or declared.input) and not went:
        yield f"{name} did not go with version {since}"
    if declared.negative and not (stayed and new is not None and new.type.startswith("int")):
        yield f"'negative' describes {name}, which is no axis of both versions"
    if declared.only_for and not came:
        yield f"'only_for' describes {name}, which was not added by version {since}"
    if declared.renamed and not came:
        yield f"'renamed' describes {name}, which was not added by version {since}"
    if declared.undefined is not None and old is None:
        yield f"'undefined' describes {name}, which the version before {since} does not have"
    if declared.values:
        before = step.old.attributes.get(declared.renamed or name)
        if before is None or new is None:
            yield f"'values' describes {name}, which is no attribute of both versions"
            return
        for choices, values in ((before.choices, declared.values.keys()), (new.choices, declared.values.values())):
            for value in values:
                if choices and value not in choices:
                    yield f"'values' of {name} has {value!r}, which is none of its choices"


@LINT.rule("S229", Operator)
def check_emulated_types(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S229 for each wrong entry of `emulate` in a `change:` block, such as {bfloat16: float}.

    The entry says that bfloat16 came with the version, and can be computed by casts to float. It is wrong if bfloat16
    is new for no input or output. It is also wrong if bfloat16 is new for an input or output that did not allow float
    in the version before.
    """
    for step in operator.transitions:
        for element, wider in step.change.emulate.items():
            sides = (step.old.inputs, step.new.inputs), (step.old.outputs, step.new.outputs)
            pairs = [pair for side in sides for pair in zip(*side, strict=False)]
            types = [(step.old.allowed_types(old), step.new.allowed_types(new)) for old, new in pairs]
            came = [before for before, now in types if f"tensor({element})" in {*now} - {*before}]
            why = "" if came else "it did not come with this version"
            if any(f"tensor({wider})" not in before for before in came):
                why = f"{wider} was not allowed before"
            if why:
                since = step.new.since_version
                message = f"{element} of {operator.name} {since} cannot be emulated by {wider}"
                yield Finding("S229", message, place=operator.place(since, "change", "emulate", element), why=why)


@LINT.rule("S211", Operator)
def check_type_constraints(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S211 for each type constraint that no input or output uses; released versions are skipped."""
    released = context.lock.get(domain_name(operator.domain), {}).get(operator.name, {})
    for schema in operator.schemas:
        used = {parameter.type for parameter in (*schema.inputs, *schema.outputs)}
        for name in schema.types:
            if name not in used and str(schema.since_version) not in released:
                place = operator.place(schema.since_version, "types", name)
                yield Finding("S211", f"no parameter has the type constraint {name}", place=place)


@LINT.rule("S212 S213", Operator)
def check_documentation(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S213 for each version without prose, S212 for each parameter and attribute without prose.

    A version that is only partly known (`unknown`) has no findings S212.
    """
    for schema, docs in zip(operator.schemas, operator.docs, strict=True):
        since = schema.since_version
        if not docs.doc.strip():
            place = operator.place(since, "doc")
            yield Finding("S213", f"{operator.name} {since} says nothing about itself", place=place)
        for part in ("inputs", "outputs", "attributes") if not schema.unknown else ():
            for name, phrase in getattr(docs, part).items():
                if not phrase.strip():
                    place = operator.place(since, part, name)
                    yield Finding("S212", f"{name} of {operator.name} {since} has no doc", place=place)


def is_standard(operator: Operator) -> bool:
    """Whether an operator is of a domain of the standard: `ai.onnx`, or one such as `ai.onnx.ml`."""
    return domain_name(operator.domain).split(".")[:2] == ["ai", "onnx"]


@LINT.rule("S239", Operator, applies=is_standard)
def check_special_cases(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S239 if an operator of the standard lacks the key `special_cases`, which may be an empty list."""
    if "special_cases" not in operator.root.value:
        help = "add 'special_cases', an empty list if there are none"
        yield Finding("S239", f"{operator.name} names no special cases", place=f"{operator.path}:1:1", help=help)


@LINT.rule("S245", Operator)
def check_withdrawal(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S245 for each deprecated version that follows a version that is deprecated, too."""
    for step in operator.transitions:
        if step.old.deprecated and step.new.deprecated:
            since = step.new.since_version
            message = f"{operator.name} is withdrawn since version {step.old.since_version}, and {since} leaves it so"
            help = f"remove version {since}: no model of its opset may use the operator"
            yield Finding("S245", message, place=operator.place(since, "deprecated"), help=help)


@LINT.rule("S214", Operator)
def check_replacements(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S214 for a deprecated version that does not name an existing operator as its replacement.

    A version that is not deprecated, but names a replacement, is a finding, too.
    """
    for schema in operator.schemas:
        place = operator.place(schema.since_version, "replacement")
        if schema.deprecated != bool(schema.replacement):
            message = f"{operator.name} {schema.since_version} is deprecated and names no replacement"
            if not schema.deprecated:
                message = f"{operator.name} {schema.since_version} names a replacement and is not deprecated"
            yield Finding("S214", message, place=place)
        elif schema.replacement and not context.names & {(schema.domain, schema.replacement), ("", schema.replacement)}:
            help = near_miss(schema.replacement, [name for _, name in context.names])
            yield Finding("S214", f"there is no operator {schema.replacement}", place=place, help=help)


@LINT.rule("S215", Operator)
def check_names(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S215 for each fault of an operator's name or domain.

    The name has to be an identifier, and equal to the name of the file without .yaml. The domain has to be words joined
    by dots.
    """
    path = Path(operator.path)
    if not operator.name:  # which is reported
        return
    if path.stem != operator.name:
        message = f"the file {path.name} declares the operator {operator.name}"
        yield Finding("S215", message, place=f"{path}:1:1", help=f"call it {operator.name}.yaml")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", operator.name):
        yield Finding("S215", f"the operator name {operator.name!r} is no identifier", place=f"{path}:1:1")
    if not re.fullmatch(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*", domain_name(operator.domain)):
        yield Finding("S215", f"the domain {operator.domain!r} is not made of words and dots", place=f"{path}:1:1")


@LINT.rule("S216", Operator)
def check_family(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S216 if an operator of the standard has a family that is not in FAMILIES.

    Operators of other domains may have families of their own.
    """
    if operator.family and operator.family not in FAMILIES and is_standard(operator):
        place = operator.place_of(operator.root.value["family"])
        help = near_miss(operator.family, FAMILIES) or f"known: {', '.join(FAMILIES)}"
        yield Finding("S216", f"there is no family {operator.family}", place=place, help=help)


@LINT.rule("S219", Operator)
def check_lists_of_types(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S219 for each list of types that has exactly the types of a named set, and so should name it."""
    names = {types: name for name, types in sets_of_domain(operator.domain, context.sets).items()}
    schemas = {schema.since_version: schema for schema in operator.schemas}
    for since, constraint, node in _stated_entries(operator, "types"):
        types = schemas[since].types[constraint]
        names_set = isinstance(node.value, str) and node.value in context.sets
        if types in names and node.value != names[types] and not names_set:
            place = operator.place(since, "types", constraint)
            help = f"write {names[types]}"
            yield Finding("S219", f"{constraint} lists the types of a named set", place=place, help=help)


@LINT.rule("S230", Operator)
def check_repeated_types(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S230 for each list of types with a superfluous item.

    An item is superfluous if each of its types is in another item, too. Only the first one of a list is named.
    """
    for version, constraint, node in _stated_entries(operator, "types"):
        parts = [each.value for each in node.value] if isinstance(node.value, list) else []
        types = [set(expand(part, context.sets)) for part in parts]
        counts = Counter(itertools.chain.from_iterable(types))
        for index, part in enumerate(parts):
            if all(counts[each] > 1 for each in types[index]):
                message = f"{constraint} lists {part}, which the rest of the list has already"
                place = operator.place(version, "types", constraint)
                yield Finding("S230", message, place=place, help=f"leave {part} out")
                break


@LINT.rule("S231", Operator)
def check_domain_of_sets(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S231 for each use of a type set of another domain, such as `ml_labels` outside of ai.onnx.ml."""
    foreign = context.sets.keys() - sets_of_domain(operator.domain, context.sets).keys()
    for version, constraint, node in _stated_entries(operator, "types"):
        for word in _type_words([node]):
            if word in foreign:
                message = f"{word} is a set for the domain {SETS_OF_DOMAINS[word.partition('_')[0]]}"
                place = operator.place(version, "types", constraint)
                yield Finding("S231", message, place=place, help="list the types, or name another set")


SETS_OF_DOMAINS = {"ml": "ai.onnx.ml"}
"""Domains that own type sets, by the prefix of the sets' names."""


def sets_of_domain(domain: str, sets: TypeSets) -> TypeSets:
    """Return the type sets that operators of a domain may use: all except the sets that belong to another domain."""
    return {
        name: types
        for name, types in sets.items()
        if SETS_OF_DOMAINS.get(name.partition("_")[0] if "_" in name else "", domain) == domain
    }


def _stated_entries(operator: Operator, key: str) -> Iterator[tuple[int, str, YamlNode]]:
    """Yield (version, name, node) for each entry of the mapping at `key`, such as "types", in each version.

    Only entries that the version itself has in YAML are yielded: none that it inherits by `like`, and none that are
    null.
    """
    for version in operator.root.value["versions"].value:
        entries = version.value[key].value or {} if key in version.value else {}
        for name, node in entries.items():
            if node.value is not None:  # the entry of another version, which this one leaves out
                yield version.value["since"].value, name, node


@LINT.rule("S232", Operator)
def check_repeated_texts(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S232 for each constraint whose stated text repeats the text derived from its conditions.

    The two texts count as equal if they have the same words, in any order and apart from the word "and".
    """
    made = {schema.since_version: all_constraints(schema, {}) for schema in operator.schemas}
    for since, label, node in _stated_entries(operator, "constraints"):
        clauses = [each.value for each in (node.value if isinstance(node.value, list) else [node])]
        texts = [each["text"].value for each in clauses if isinstance(each, dict) and "text" in each]
        texts += [node.value] if isinstance(node.value, str) else []
        derived = made[since].get(label)
        if derived and any(_sorted_words(text) == _sorted_words(derived) for text in texts):
            place = operator.place(since, "constraints", label)
            yield Finding("S232", f"the text of {label} repeats its declaration", place=place, help="leave it out")


def _sorted_words(text: str) -> list[str]:
    """Return the different words of a text, between spaces, commas and semicolons, sorted and without "and"."""
    return sorted(set(re.findall(r"[^\s,;]+", text)) - {"and"})


@LINT.rule("S217 S218", LintedFolder)
def check_type_sets(folder: LintedFolder, context: LintContext) -> Iterator[Finding]:
    """Yield a finding S217 for each type set of a folder that nothing uses, and S218 for each duplicate.

    A duplicate has the same types as a set above it in `types.yaml`, or as a set of the standard. Nothing is yielded if
    only some files of the folder are checked, or if `types.yaml` has faults.
    """
    if not folder.target.whole or not folder.complete or not context.sets.keys() > folder.base.keys():
        return
    path = folder.target.folder / TYPES_FILE
    root = read_file(path, Findings(str(path)))
    used = set(_type_words([root]))
    for version in (node.value for operator in folder.operators for node in operator.root.value["versions"].value):
        parts = (version, version["change"].value if "change" in version else {})
        used.update(_type_words(part["types"] for part in parts if isinstance(part, dict) and "types" in part))
    first: dict[tuple[str, ...], str] = {types: name for name, types in folder.base.items()}
    for name, key in root.keys.items():
        place = f"{path}:{key.line}:{key.column}"
        if name not in used:
            yield Finding("S217", f"the type set {name} is not used", place=place)
        if context.sets[name] in first:
            yield Finding("S218", f"the type set {name} is the same as {first[context.sets[name]]}", place=place)
        first.setdefault(context.sets[name], name)


def _type_words(nodes: Iterable[YamlNode]) -> Iterator[str]:
    """Yield every word of the type expressions in YAML nodes."""
    for node in nodes_below(nodes):
        if isinstance(node.value, str):
            yield from re.findall(r"\w+", node.value)
