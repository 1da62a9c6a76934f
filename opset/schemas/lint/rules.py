"""The lint rules of operator YAML. Each finding has a code, with its line in the table of errors."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from opset.errors import Finding, FindingList, SchemaError
from opset.schemas.diff import Transition, compact_diff
from opset.schemas.index import FOLDER, make_schema, standard_index, versions_of
from opset.schemas.lint.body_rules import BODY_RULES, check_circles, operators_used
from opset.schemas.lint.body_types import check_body_types
from opset.schemas.lint.context import Adapter, InferenceHooks, Kernel, LintContext, Rule
from opset.schemas.lint.example_rules import EXAMPLE_RULES, changed_attributes, check_set_attributes
from opset.schemas.lint.lock_rules import check_lock, check_released_signatures, lost_versions, unlocked_versions
from opset.schemas.lint.status_rules import STATUS_RULES
from opset.schemas.lock import Lock, read_lock
from opset.schemas.model import AttributeChange, OpSchema
from opset.schemas.names import domain_name, near_miss
from opset.schemas.selection import Target, select_operators
from opset.schemas.type_sets import TypeSets, expand
from opset.schemas.untrusted_files import file_bytes
from opset.schemas.yaml.loader import (
    MAX_FOLDER_FINDINGS,
    TYPES_FILE,
    Operator,
    all_constraints,
    domain_of,
    operator_files,
    read_file,
    read_operator,
    read_operators,
    read_sets,
    siblings,
    standard_sets,
)
from opset.schemas.yaml.printer import flow
from opset.schemas.yaml.reader import MAX_SIZE, Findings, YamlNode

FAMILIES = (
    *("activation", "attention", "binary", "cast", "control_flow", "conv", "create", "image", "indexing", "layout"),
    *("linalg", "loss", "ml_encoding", "ml_linear", "ml_svm", "ml_trees", "norm", "pool", "quantize", "recurrent"),
    *("reduce", "regions", "reshape", "resize", "sampling", "sequence", "signal", "slicing", "text", "training"),
    "unary",
)


@dataclass(frozen=True)
class Hooks:
    """The functions that are registered for operators; a field that is None is not checked.

    `unknown` are the domains with files of adapters that could not be run.
    """

    written: Collection[Adapter] | None = None
    kernels: Collection[Kernel] | None = None
    inferred: InferenceHooks | None = None
    unknown: frozenset[str] = frozenset()


class TargetReport(NamedTuple):
    """The result of checking a target.

    `operators` have all that could be read, even from files with faults. `files` is the number of files, `unread` the
    number of files without an operator; `unlocked` are the versions that the lock does not hold.
    """

    findings: FindingList
    operators: list[Operator]
    files: int
    unread: int
    unlocked: list[tuple[Operator, int]]


def lint(
    folders: Iterable[Path | str] = (FOLDER,),
    written: Collection[Adapter] | None = None,
    kernels: Collection[Kernel] | None = None,
    inferred: InferenceHooks | None = None,
) -> FindingList:
    """Return the findings about folders of domains; findings of the loader come first.

    Args:
        folders: Folders of domains.
        written: The registered adapters.
        kernels: The registered kernels.
        inferred: The registered inference functions. Rules about an argument that is left out are not checked.
    """
    selection = select_operators((), map(Path, folders))
    findings = FindingList(selection.findings)
    for target in selection.targets:
        findings += check_target(target, lambda families: Hooks(written, kernels, inferred)).findings
    return findings


def check_target(target: Target, hooks_of: Callable[[Collection[str]], Hooks], released: bool = False) -> TargetReport:
    """Return the operators of a target and all findings about them.

    Args:
        target: The operators.
        hooks_of: Returns the functions that are registered for operators of these families.
        released: Whether every version has to be in the lock.
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
    checking = _TargetCheck(target, base, sets, complete, lock, operators, hooks_of(families))
    found = list(itertools.islice(checking.findings({each.place for each in faults}), MAX_FOLDER_FINDINGS + 1))
    if len(found) > MAX_FOLDER_FINDINGS:
        message = f"more than {MAX_FOLDER_FINDINGS} findings of rules are about this folder"
        found[-1] = Finding("S102", message, place=str(folder), help="mend these first: the others are not shown")
    unlocked = [] if lock is None else unlocked_versions(operators, lock)
    if lock is not None:
        found += check_lock(operators, lock, released)
    return TargetReport(
        FindingList([*findings, *found]), operators, len(target.files), len(target.files) - len(operators), unlocked
    )


class _TargetCheck:
    """The rules on one target; `lock` is None if it cannot be read, `complete` says that all type sets are known."""

    def __init__(
        self,
        target: Target,
        base: TypeSets,
        sets: TypeSets,
        complete: bool,
        lock: Lock | None,
        operators: list[Operator],
        hooks: Hooks,
    ) -> None:
        self.target, self.base, self.sets, self.operators = target, base, sets, operators
        self.lock: Lock = lock or {}
        self.complete, self.hooks = complete, hooks
        listed = (
            target.files
            if target.whole
            else [path for holder in {each.parent for each in target.files} for path in siblings(holder)]
        )
        names = {(domain_of(path), path.stem) for path in listed}
        whole = {(operator.domain, operator.name) for operator in operators if operator.whole}
        self.unread = {(domain_of(path), path.stem) for path in target.files} - whole
        self.siblings = {name: path for path in listed if (name := (domain_of(path), path.stem)) not in whole}
        standard = not base
        if not standard:
            names |= {("", path.stem) for path in operator_files(FOLDER) if path.parent.name == "ai.onnx"}
        exemplary = standard or any(operator.examples for operator in operators)
        exemplary = exemplary or (bool(operators) and any(map(_has_examples, () if target.whole else listed)))
        self.context = LintContext(
            sets, self.lock, names, hooks.written, hooks.kernels, hooks.inferred, exemplary, hooks.unknown
        )

    def findings(self, faults: Collection[str]) -> Iterator[Finding]:
        """Yield the findings of all rules, except for findings that follow from the faults at these places."""
        for operator in self.operators:
            found = (each for rule in _rules_for(operator) for each in rule(operator, self.context))
            yield from found if operator.whole else _independent_findings(operator, found, faults)
            if damaged := operator.damaged:
                yield from _independent_findings(damaged, check_documentation(damaged, self.context), faults)
        folder, hooks = self.target.folder, self.hooks
        known = [operator for operator in self.operators if operator.whole]
        if self.target.whole and self.complete and self.sets.keys() > self.base.keys():
            yield from _check_type_sets(folder / TYPES_FILE, self.base, self.sets, self.operators)
        lost = itertools.chain(
            lost_versions(folder, self.lock, known, self.unread),
            _undeclared_adapters(folder, known, hooks.written, hooks.unknown),
            _lost_kernels(folder, known, hooks.kernels),
            _lost_functions(folder, known, hooks.inferred),
        )
        unread = {folder / domain_name(domain) / f"{name}.yaml" for domain, name in self.unread}
        for finding in lost:
            path = Path(finding.place)
            if path not in unread and self.target.has_file(path):
                yield finding
        yield from self._check_function_bodies()

    def _check_function_bodies(self) -> Iterator[Finding]:
        """Apply the rules of body_rules.py; bodies use operators of the folder or of the standard."""
        known = {(operator.domain, operator.name): operator for operator in self.operators if operator.whole}
        schemas = {name: operator.schemas for name, operator in known.items()}
        unclear = False

        def versions(domain: str, name: str) -> tuple[OpSchema, ...]:
            nonlocal unclear
            key = domain, name
            if key not in schemas and key in self.siblings:
                operator, _ = read_operator(self.siblings[key], self.sets)
                schemas[key] = ()
                if operator is not None and operator.whole:
                    known[key], schemas[key] = operator, operator.schemas
            if key not in schemas:
                index = standard_index()
                there = name in index["operators"].get(domain, ())
                count = len(versions_of(index, domain, name)) if there else 0
                schemas[key] = tuple(make_schema(index, domain, name, position) for position in range(count))
            unclear |= not schemas[key] and key in self.siblings
            return schemas[key]

        for operator in self.operators:
            if any(schema.function for schema in operator.schemas):
                for rule in (*BODY_RULES, check_body_types):
                    unclear = False
                    found = list(rule(operator, versions))
                    yield from found if not unclear else [each for each in found if each.code not in ("S235", "S244")]
        reached = [*known]
        for key in reached:  # which grows with what bodies of the files beside use
            for used in operators_used(known[key]) if not self.target.whole else ():
                if used not in known and versions(*used) and used in known:
                    reached.append(used)
        circle = check_circles([*known.values()])
        yield from (each for each in circle if self.target.has_file(Path(each.place.removesuffix(":1:1"))))


def _rules_for(operator: Operator) -> Iterator[Rule]:
    """Yield the rules that do not depend on a part of the operator that could not be read."""
    for rule in RULES:
        about_examples = rule in EXAMPLE_RULES and not operator.examples_read
        if not about_examples and not (rule is check_set_attributes and operator.gaps != frozenset()):
            yield rule


def _independent_findings(operator: Operator, found: Iterable[Finding], faults: Collection[str]) -> Iterator[Finding]:
    """Yield the findings that do not follow from faults: no fault is inside the part of the file that they name."""
    versions = operator.root.value["versions"]
    within: dict[str, YamlNode] = {}
    open_nodes = [each for key in versions.value for each in key.value.values()]
    open_nodes += [each for key, each in operator.root.value.items() if key != "versions"]
    for node in open_nodes:  # which grows
        within.setdefault(f"{operator.path}:{node.line}:{node.column}", node)
        open_nodes += node.value.values() if isinstance(node.value, dict) else ()
        open_nodes += node.value if isinstance(node.value, list) else ()
    for finding in found:
        node = within.get(finding.place)
        about = {finding.place} if node is None else {f"{operator.path}:{place}" for place in node.places()}
        if about.isdisjoint(faults):
            yield finding


def _has_examples(path: Path) -> bool:
    """Whether the file of an operator has a line `examples:`; False if it cannot be read."""
    try:
        return b"\nexamples:" in file_bytes(path, MAX_SIZE)
    except (OSError, ValueError):
        return False


def check_declared_difference(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that the declared difference of a version is the computed one (S201)."""
    for step in operator.transitions:
        for key in step.undeclared_keys:
            sets = sets_of_domain(operator.domain, context.sets)
            difference = compact_diff({key: step.difference[key]}, sets) if key in step.difference else {}
            yield Finding(
                "S201",
                f"{operator.name} {step.new.since_version} does not declare what differs in {key}",
                place=operator.place(step.new.since_version, "change", key),
                help=f"write {key}: {flow(difference[key])}" if difference else f"leave {key} out: nothing differs",
            )


def check_order_of_versions(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that versions are listed newest first (S202)."""
    nodes = operator.root.value["versions"].value
    sinces = [node.value["since"].value for node in nodes]
    for before, after in itertools.pairwise(sinces):
        if before < after:
            yield Finding(
                "S202", f"version {after} stands below version {before}", place=operator.place(after, "since")
            )


def check_meaning(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that a version with an unchanged signature describes its change, as `meaning` or `clarified` (S205)."""
    for step in operator.transitions:
        place = operator.place(step.new.since_version, "change")
        if not step.change.meaning and not step.change.clarified and not step.difference:
            message = f"{operator.name} {step.new.since_version} does not say what it changed"
            yield Finding("S205", message, place=place, help="add 'meaning' or 'clarified'")
        if step.change.meaning and step.change.clarified:
            message = f"{operator.name} {step.new.since_version} has both 'meaning' and 'clarified'"
            yield Finding("S205", message, place=place, help="where meaning changed, describe all of it in 'meaning'")


def check_adapters(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that an adapter is registered if it is declared written (S206), and only then (S207)."""
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
                yield Finding(
                    "S207", message, place=place, help=f"declare '{direction}: written', or remove the adapter"
                )


def check_removed_attributes(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that a removed attribute is ignored, renamed or an input if the adapter up is derived (S208)."""
    for name, declared, step in changed_attributes(operator):
        renamed = (change.renamed for change in step.change.attributes.values())
        is_gone = name in step.old.attributes and name not in step.new.attributes and name not in renamed
        if is_gone and step.change.up == "derived" and not declared.ignored and not declared.input:
            yield Finding(
                "S208",
                f"what becomes of the attribute {name} at version {step.new.since_version} is not said",
                place=operator.place(step.new.since_version, "change", "attributes", name),
                help="add 'ignored: true' or 'input: NAME', 'renamed' to the new one, or write the adapter up",
            )


def check_added_attributes(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that an added required attribute has an `old` value if the adapter up is derived (S209)."""
    for name, declared, step in changed_attributes(operator):
        is_new = name in step.new.attributes and name not in step.old.attributes and not declared.renamed
        if is_new and step.new.attributes[name].required and step.change.up == "derived" and declared.old is None:
            yield Finding(
                "S209",
                f"which {name} means what {operator.name} did before {step.new.since_version} is not said",
                place=operator.place(step.new.since_version, "change", "attributes", name),
                help="add 'old: VALUE', or write the adapter up",
            )


def check_facets(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that the facets of a change fit the transition (S210)."""
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
    """Yield messages about facets of an attribute that did not change in their way."""
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


def check_emulated_types(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that an emulated type came with its version, and that its stand-in was allowed before (S229)."""
    for step in operator.transitions:
        for element, wider in step.change.emulate.items():
            before = [step.old.allowed_types(each) for each in (*step.old.inputs, *step.old.outputs)]
            now = [step.new.allowed_types(each) for each in (*step.new.inputs, *step.new.outputs)]
            came = [old for old, new in zip(before, now, strict=False) if f"tensor({element})" in {*new} - {*old}]
            why = "" if came else "it did not come with this version"
            if any(f"tensor({wider})" not in old for old in came):
                why = f"{wider} was not allowed before"
            if why:
                since = step.new.since_version
                message = f"{element} of {operator.name} {since} cannot be emulated by {wider}"
                yield Finding("S229", message, place=operator.place(since, "change", "emulate", element), why=why)


def check_type_constraints(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that a parameter has each type constraint (S211); released versions are left out, as they cannot change."""
    released = context.lock.get(domain_name(operator.domain), {}).get(operator.name, {})
    for schema in operator.schemas:
        used = {parameter.type for parameter in (*schema.inputs, *schema.outputs)}
        for name in schema.types:
            if name not in used and str(schema.since_version) not in released:
                place = operator.place(schema.since_version, "types", name)
                yield Finding("S211", f"no parameter has the type constraint {name}", place=place)


def check_documentation(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that every parameter and attribute (S212) and every version (S213) has prose."""
    for schema, docs in zip(operator.schemas, operator.docs, strict=True):
        since = schema.since_version
        if not docs.doc.strip():
            yield Finding(
                "S213", f"{operator.name} {since} says nothing about itself", place=operator.place(since, "doc")
            )
        for part in ("inputs", "outputs", "attributes"):
            for name, phrase in getattr(docs, part).items():
                if name and not phrase.strip():
                    place = operator.place(since, part, name)
                    yield Finding("S212", f"{name} of {operator.name} {since} has no doc", place=place)


def check_special_cases(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that an operator of the standard lists its special cases, if only as an empty list (S239)."""
    if is_standard(operator) and "special_cases" not in operator.root.value:
        help = "add 'special_cases', a list, which is empty where there are none"
        yield Finding("S239", f"{operator.name} names no special cases", place=f"{operator.path}:1:1", help=help)


def check_replacements(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that a version names a replacement if it is deprecated, and only then (S214)."""
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


def check_names(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that a file is named after its operator, an identifier, and its folder after the domain (S215)."""
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


def check_family(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that an operator of the standard has a known family; other domains have families of their own (S216)."""
    if operator.family and operator.family not in FAMILIES and is_standard(operator):
        node = operator.root.value["family"]
        place = f"{operator.path}:{node.line}:{node.column}"
        help = near_miss(operator.family, FAMILIES) or f"known: {', '.join(FAMILIES)}"
        yield Finding("S216", f"there is no family {operator.family}", place=place, help=help)


def is_standard(operator: Operator) -> bool:
    """Whether the domain of an operator is one of the standard."""
    return domain_name(operator.domain).split(".")[:2] == ["ai", "onnx"]


def check_lists_of_types(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that a list of types is written by the name of a type set if there is one (S219)."""
    names = {types: name for name, types in sets_of_domain(operator.domain, context.sets).items()}
    schemas = {schema.since_version: schema for schema in operator.schemas}
    for since, constraint, node in _stated_types(operator):
        types = schemas[since].types[constraint]
        if types in names and node.value != names[types] and not _names_set(node, context.sets):
            place = operator.place(since, "types", constraint)
            help = f"write {names[types]}"
            yield Finding("S219", f"{constraint} lists the types of a named set", place=place, help=help)


def check_repeated_types(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that no part of a list of types is covered by the other parts (S230)."""
    for version, constraint, node in _stated_types(operator):
        parts = [each.value for each in node.value] if isinstance(node.value, list) else []
        types = [set(expand(part, context.sets)) for part in parts]
        counts = Counter(itertools.chain.from_iterable(types))
        for index, part in enumerate(parts):
            if all(counts[each] > 1 for each in types[index]):
                message = f"{constraint} lists {part}, which the rest of the list has already"
                place = operator.place(version, "types", constraint)
                yield Finding("S230", message, place=place, help=f"leave {part} out")
                break


def check_domain_of_sets(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that a type set of one domain, such as `ml_labels`, is not used in another one (S231)."""
    foreign = context.sets.keys() - sets_of_domain(operator.domain, context.sets).keys()
    for version, constraint, node in _stated_types(operator):
        for word in _type_words([node]):
            if word in foreign:
                message = f"{word} is a set for the domain {SETS_OF_DOMAINS[word.partition('_')[0]]}"
                place = operator.place(version, "types", constraint)
                yield Finding("S231", message, place=place, help="list the types, or name another set")


SETS_OF_DOMAINS = {"ml": "ai.onnx.ml"}
"""Domains that own type sets, by the prefix of the sets' names."""


def sets_of_domain(domain: str, sets: TypeSets) -> TypeSets:
    """Return the type sets that an operator of a domain may name."""
    return {
        name: types
        for name, types in sets.items()
        if SETS_OF_DOMAINS.get(name.partition("_")[0] if "_" in name else "", domain) == domain
    }


def _stated_types(operator: Operator) -> Iterator[tuple[int, str, YamlNode]]:
    """Yield the YAML of each list of types, with the version and the name of the type constraint."""
    for version in operator.root.value["versions"].value:
        types = version.value["types"].value or {} if "types" in version.value else {}
        for constraint, node in types.items():
            if node.value is not None:  # the constraint of another version, which this one leaves out
                yield version.value["since"].value, constraint, node


def _names_set(node: YamlNode, sets: TypeSets) -> bool:
    return isinstance(node.value, str) and node.value in sets


def check_withdrawal(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that a withdrawn operator has no later version that is withdrawn as well (S245)."""
    for step in operator.transitions:
        if step.old.deprecated and step.new.deprecated:
            since = step.new.since_version
            message = f"{operator.name} is withdrawn since version {step.old.since_version}, and {since} leaves it so"
            help = f"take version {since} back: no model of its opset may use the operator"
            yield Finding("S245", message, place=operator.place(since, "deprecated"), help=help)


def check_repeated_texts(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that the stated text of a constraint is not the one derived from its declarations (S232)."""
    schemas = {schema.since_version: schema for schema in operator.schemas}
    for version in operator.root.value["versions"].value:
        since = version.value["since"].value
        stated = version.value["constraints"].value or {} if "constraints" in version.value else {}
        made = all_constraints(schemas[since], {}) if stated else {}
        for label in made.keys() & stated.keys():
            node = stated[label]
            clauses = [each.value for each in (node.value if isinstance(node.value, list) else [node])]
            texts = [each["text"].value for each in clauses if isinstance(each, dict) and "text" in each]
            if isinstance(node.value, str):
                texts.append(node.value)
            if any(_sorted_words(text) == _sorted_words(made[label]) for text in texts):
                place = operator.place(since, "constraints", label)
                yield Finding("S232", f"the text of {label} repeats its declaration", place=place, help="leave it out")


def _sorted_words(text: str) -> list[str]:
    """Return the words of a text in alphabetical order without "and", to compare texts whose parts changed places."""
    return sorted(set(re.findall(r"[^\s,;]+", text)) - {"and"})


def check_kernels(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that every version has a kernel, or an older one has, unless it is deprecated (S224).

    Domains without any kernel are left out: they are not meant to be evaluated.
    """
    if context.kernels is None or not any(domain == operator.domain for domain, _, _ in context.kernels):
        return
    key = operator.domain, operator.name
    first = min((since for *kernel, since in context.kernels if tuple(kernel) == key), default=None)
    for schema in operator.schemas:
        since = schema.since_version
        if not schema.deprecated and (first is None or since < first):
            message = f"no kernel is written for {operator.name} {since}"
            yield Finding("S224", message, place=operator.place(since))


def check_inference(operator: Operator, context: LintContext) -> Iterator[Finding]:
    """Check that every version has a legal rule (S227) or a function of inference, unless it is deprecated (S226).

    Domains without any function are left out: their shapes are not meant to be inferred.
    """
    if context.inferred is None:
        return
    known = any(domain == operator.domain for domain, _, _ in context.inferred.functions)
    for schema in operator.schemas:
        since = schema.since_version
        if schema.shape:
            if why := context.inferred.misnamed(schema):
                place = operator.place(since, "shape")
                yield Finding("S227", f"the rule {schema.shape!r} cannot be used", place=place, why=why)
        elif known and not schema.deprecated and _inference_version(schema, context.inferred) is None:
            message = f"nothing says how the outputs of {operator.name} {since} are inferred"
            help = "name a rule, shape: same(X), or write a function"
            yield Finding("S226", message, place=operator.place(since), help=help)


def _inference_version(schema: OpSchema, inferred: InferenceHooks) -> int | None:
    """Return the version of the function that infers the outputs of a schema, None if there is none."""
    key = schema.domain, schema.name
    fitting = [since for *name, since in inferred.functions if tuple(name) == key and since <= schema.since_version]
    return max(fitting, default=None)


RULES: tuple[Rule, ...] = (
    *(check_declared_difference, check_order_of_versions, check_released_signatures, check_meaning, check_adapters),
    *(
        check_removed_attributes,
        check_added_attributes,
        check_facets,
        check_emulated_types,
        check_type_constraints,
        check_documentation,
    ),
    check_special_cases,
    check_withdrawal,
    *(check_replacements, check_names, check_family, check_lists_of_types, check_repeated_types, check_domain_of_sets),
    check_repeated_texts,
    *EXAMPLE_RULES,
    *STATUS_RULES,
    check_kernels,
    check_inference,
)


def _check_type_sets(path: Path, base: TypeSets, sets: TypeSets, operators: list[Operator]) -> Iterator[Finding]:
    """Check that every type set of a folder is used (S217), and that no two have the same types (S218)."""
    root = read_file(path, Findings(str(path)))
    used = set(_type_words([root]))
    for version in (node.value for operator in operators for node in operator.root.value["versions"].value):
        parts = (version, version["change"].value if "change" in version else {})
        used.update(_type_words(part["types"] for part in parts if "types" in part))
    first: dict[tuple[str, ...], str] = {types: name for name, types in base.items()}
    for name, key in root.keys.items():
        place = f"{path}:{key.line}:{key.column}"
        if name not in used:
            yield Finding("S217", f"the type set {name} is not used", place=place)
        if sets[name] in first:
            yield Finding("S218", f"the type set {name} is the same as {first[sets[name]]}", place=place)
        first.setdefault(sets[name], name)


def _type_words(nodes: Iterable[YamlNode]) -> Iterator[str]:
    """Yield every word of the type expressions in these nodes."""
    open_nodes = list(nodes)
    while open_nodes:
        value = open_nodes.pop().value
        if isinstance(value, str):
            yield from re.findall(r"\w+", value)
        elif value is not None:
            open_nodes += value.values() if isinstance(value, dict) else value


def _undeclared_adapters(
    folder: Path, operators: list[Operator], written: Collection[Adapter] | None, unknown: Collection[str]
) -> Iterator[Finding]:
    """Yield the adapters without a transition, and the lowerings of no first version (S207), in these domains."""
    domains = {operator.domain for operator in operators}.difference(unknown)
    steps = {(o.domain, o.name, step.new.since_version) for o in operators for step in o.transitions}
    first = {(o.domain, o.name, o.schemas[0].since_version) for o in operators}
    for domain, name, since, direction in sorted(written or ()):
        if domain in domains and (domain, name, since) not in (first if direction == "lower" else steps):
            what = "a lowering" if direction == "lower" else f"an adapter {direction}"
            why = "not its first version" if direction == "lower" else "no transition"
            message = f"{what} is written for {name} {since}, which is {why}"
            yield Finding("S207", message, place=str(folder / domain_name(domain) / f"{name}.yaml"))


def _lost_kernels(folder: Path, operators: list[Operator], kernels: Collection[Kernel] | None) -> Iterator[Finding]:
    """Yield the kernels without a version (S225), in the domains of this folder."""
    domains = {operator.domain for operator in operators}
    versions = {(o.domain, o.name, since) for o in operators for since in (0, *(s.since_version for s in o.schemas))}
    for domain, name, since in sorted(kernels or ()):
        if domain in domains and (domain, name, since) not in versions:
            which = f"{name} {since}, which is no version" if since else f"{name}, which is no operator"
            message = f"a kernel is written for {which}"
            yield Finding("S225", message, place=str(folder / domain_name(domain) / f"{name}.yaml"))


def _lost_functions(folder: Path, operators: list[Operator], inferred: InferenceHooks | None) -> Iterator[Finding]:
    """Yield the inference functions that no version without a rule uses (S228), in the domains of this folder."""
    if inferred is None:
        return
    domains = {operator.domain for operator in operators}
    used = {
        (operator.domain, operator.name, _inference_version(schema, inferred))
        for operator in operators
        for schema in operator.schemas
        if not schema.shape
    }
    for domain, name, since in sorted(inferred.functions):
        if domain in domains and (domain, name, since) not in used:
            message = f"a function infers the outputs of {name}{f' from {since} on' * bool(since)}, and is never asked"
            yield Finding("S228", message, place=str(folder / domain_name(domain) / f"{name}.yaml"))
