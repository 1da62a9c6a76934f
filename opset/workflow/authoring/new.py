"""Writes the YAML of a new operator with guidance, and stubs of its functions: `opset new`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from opset.errors import Finding, SchemaError, UsageError
from opset.inference.registration import LAYER as INFERENCE
from opset.inference.registration import rule_problem
from opset.model.storage.writing import write_below
from opset.opsets.hooks import Layer
from opset.opsets.registry import default_registry
from opset.reference.registration import LAYER as KERNELS
from opset.schemas.index import FOLDER
from opset.schemas.lint.rules import FAMILIES, sets_of_domain
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name, near_miss
from opset.schemas.type_sets import TypeSets, shortest_expressions
from opset.schemas.yaml.loader import Operator, load_operator, parse_operator, standard_sets
from opset.schemas.yaml.printer import entry_lines, flow
from opset.workflow.authoring.destinations import (
    Destination,
    check_since,
    destination_of,
    hook_source,
    next_version,
    split_name,
)
from opset.workflow.authoring.stubs import (
    Stub,
    add_stubs,
    conflicting_definition,
    inference_stub,
    is_registered,
    kernel_stub,
    render_template,
)

FUNCTION = "function"
"""The shape rule of an operator of which a function infers the outputs."""
PLAIN: Mapping[str, Any] = {
    "inputs": [{"name": "X", "type": "T"}],
    "outputs": [{"name": "Y", "type": "T"}],
    "types": {"T": "floats"},
    "shape": "same(X)",
}
DOCSTRINGS = {
    "kernel": "What operators of {} compute.",
    "function": "Shapes of the outputs of operators of {}.",
    "adapter": "Adapters between versions of operators of {}.",
}
"""Of new files of hooks, by the noun of their layer."""
_COPIED = ("determinism", "inputs", "outputs", "attributes", "types", "constraints", "shape", "function")


class WrittenOperator(NamedTuple):
    """The files that were written for an operator, each with the functions that were added to it.

    `root` is the folder of operator YAML, `own` whether it is not the standard's, `before` the version below or 0.
    """

    domain: str
    operator: str
    since: int
    family: str
    root: Path
    own: bool
    files: dict[str, tuple[str, ...]]
    before: int = 0


def new_operator(
    name: str,
    domain: str | None = None,
    *,
    like: str | None = None,
    folder: Path | None = None,
    family: str | None = None,
    shape: str | None = None,
    since: int | None = None,
) -> WrittenOperator:
    """Write the YAML file of a new operator and the stubs of its functions, and return the files.

    There is a stub of a kernel, and of an inference function if the operator has no shape rule. They are added to the
    Python files of the domain.

    Args:
        name: "com.acme.Thin", or "Thin" with a domain.
        domain: Domain of the operator, if the name has none.
        like: Operator whose signature, family, shape rule and function bodies are copied: "Softmax", "com.acme.Thin".
        folder: Folder of operator YAML; by default the standard's, or `schemas` for other domains.
        family: Family; by default the family of `like`, or the last word of the domain. For operators of the standard,
            it must be one of FAMILIES.
        shape: Rule for the shapes of outputs, such as "same(X)"; FUNCTION if a Python function infers them. By default,
            it is the rule of `like`, or "same(X)".
        since: Version of the operator; by default the domain's version in development, or else the domain's newest
            version plus 1.

    Raises:
        UsageError: If anything prevents it, with a finding for each reason; then nothing is written.
        SchemaError: If types.yaml or the lock of the folder cannot be read.
    """
    domain, name = split_name(name, domain)
    destination = destination_of(domain, folder)
    sets = destination.type_sets()
    findings: list[Finding] = []
    original = _find_original(like, destination, sets, findings) if like is not None else None
    family = _choose_family(destination, family, original, findings)
    path = destination.yaml_path(name)
    if os.path.lexists(path):
        help = f"opset bump adds a version to it; opset lint {destination.folder} checks it"
        findings.append(Finding("U102", f"there is an operator {name} already", help=help, file=str(path)))
    elif default_registry().is_standard(name, domain):
        findings.append(Finding("U102", f"the standard has an operator {name} already", help="choose another name"))
    released = destination.newest_released(destination.lock())
    fitting = next_version(destination.newest_version(sets), released, 0)
    if since is not None and (wrong := check_since(since, 0, released, name)):
        findings.append(wrong)
    since = since or fitting
    if findings:
        raise UsageError(findings)
    document = _initial_document(original, domain, sets, shape)
    text = operator_text(name, family, since, document, destination.hooks_path(INFERENCE, family).name)
    try:
        operator = parse_operator(text.encode(), path, sets)
    except SchemaError as error:  # a signature that is no beginning for this domain
        help = f"--like {like} is no beginning here" if like else "opset explain schemas"
        raise UsageError(each._replace(place="", help=help) for each in error.findings) from error
    schema = operator.schemas[-1]
    if schema.shape and (why := rule_problem(schema)):
        help = f"another rule (opset explain inference), or --shape {FUNCTION} for a function of its own"
        raise UsageError(Finding("U103", f"--shape {schema.shape} does not fit", why=why, help=help))
    stubs = {KERNELS: [kernel_stub(schema, destination.standard)]}
    if not schema.shape:
        stubs[INFERENCE] = [inference_stub(schema, destination.standard)]
    changed, added = add_hooks(destination, schema, stubs)
    write_below(destination.root, {destination.relative_path(path): text.encode(), **changed})
    files: dict[str, tuple[str, ...]] = {str(path): (), **added}
    return WrittenOperator(domain, name, since, family, destination.folder, not destination.standard, files)


def add_hooks(
    destination: Destination, schema: OpSchema, stubs: Mapping[Layer, Iterable[Stub]]
) -> tuple[dict[str, bytes], dict[str, tuple[str, ...]]]:
    """Return the Python files of a domain with stubs added for a version of an operator; nothing is written.

    A stub is left out if its file has a function registered for this operator and version already.

    Args:
        destination: The place of the domain's files.
        schema: The version of the operator. In the standard, its family names the files: conv.py for "conv".
        stubs: The stubs to add, by kind of function: kernels, inference functions or adapters.

    Returns:
        The new bytes of each changed file, by path relative to `destination.root`; and the names of the stubs added
            to each changed file, by full path.

    Raises:
        UsageError: U103 if a file cannot be read or is not Python. U102 if a file has another function with the name
            of a stub. The error has the findings about all files.
    """
    changed: dict[str, bytes] = {}
    added: dict[str, tuple[str, ...]] = {}
    findings: list[Finding] = []
    for layer, wanted in stubs.items():
        path = destination.hooks_path(layer, schema.family)
        try:
            source = hook_source(path)
            missing = [stub for stub in wanted if not is_registered(source, stub)]
            for stub in missing:
                if conflict := conflicting_definition(source, stub):
                    message = f"there is a function {stub.name} already"
                    findings.append(Finding("U102", message, why=conflict, help="rename it", file=str(path)))
            if missing:
                text = add_stubs(source, missing, DOCSTRINGS[layer.noun].format(domain_name(destination.domain)))
                changed[destination.relative_path(path)] = text.encode()
                added[str(path)] = tuple(stub.name for stub in missing)
        except UsageError as error:
            findings += error.findings
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            why = f"it is not Python: {error}"
            help = "correct the file, or move it away"
            findings.append(Finding("U103", "this file cannot be added to", why=why, help=help, file=str(path)))
    if findings:
        raise UsageError(findings)
    return changed, added


def operator_text(name: str, family: str, since: int, document: Mapping[str, Any], inference_file: str) -> str:
    """Return the YAML of a new operator: the keys in `document`, and guidance in comments on what else to write.

    Args:
        name: Name of the operator without its domain.
        family: Name of the group of operators that share Python files, such as "math".
        since: Number of the operator's first version.
        document: Keys of that version as plain data, such as "inputs" and "types"; keys that are missing are not
            written.
        inference_file: Name of the file with inference functions, which the guidance mentions.
    """
    lines = {key: entry_lines(key, document[key]) if key in document else [] for key in _COPIED}
    blocks = {key: "".join(f"{line}\n" for line in block) for key, block in lines.items()}
    determinism = blocks.pop("determinism")
    text = render_template(
        "operator.yaml.jinja", name=name, family=flow(family), since=since, inference=inference_file, **blocks
    )
    return text.replace(f"- since: {since}\n", f"- since: {since}\n{determinism}", 1)


def _initial_document(original: Operator | None, domain: str, sets: TypeSets, shape: str | None) -> dict[str, Any]:
    """Return the YAML keys of a new operator's first version as plain data, with empty descriptions.

    They are copied from the newest version of `original`, or from PLAIN if this is None.

    Args:
        original: The operator to copy, or None.
        domain: The domain of the new operator.
        sets: Type sets that its file may name; types of another domain's sets are spelled out.
        shape: The shape rule; None keeps the copied one, and FUNCTION leaves the rule out.
    """
    document = dict(PLAIN)
    if original is not None:
        newest = max(original.root.value["versions"].value, key=lambda each: each.value["since"].value).plain()
        document = {key: newest[key] for key in _COPIED if key in newest}
        allowed = sets_of_domain(domain, sets)
        for constraint, types in original.schemas[-1].types.items():
            short = shortest_expressions(types, allowed)
            listed = document["types"][constraint]
            if not {*map(str, listed if isinstance(listed, list) else [listed])} <= {*allowed, *short}:
                document["types"][constraint] = short[0] if len(short) == 1 else short
    for side in ("inputs", "outputs"):
        document[side] = [{**each, "doc": ""} for each in document.get(side, [])]
    if document.get("attributes"):
        document["attributes"] = {name: {**each, "doc": ""} for name, each in document["attributes"].items()}
    if shape is not None:
        document["shape"] = shape
    if document.get("shape") == FUNCTION:
        del document["shape"]
    return document


def _find_original(like: str, destination: Destination, sets: TypeSets, findings: list[Finding]) -> Operator | None:
    """Return the operator called `like`, which a new operator is to copy; None if it cannot be read.

    The reasons for None are added to `findings`. A name with a domain, such as "com.acme.Thin", is sought in this
    domain only. A name without one is sought in the domain of `destination`, then in the standard's domains. The first
    domain with a file of this name counts, even if the file has faults. `sets` are the type sets of the user's files.
    """
    try:
        domain, name = split_name(like, None)
        registry = default_registry()
        domains = [destination.domain, *registry.domains] if "." not in like else [domain]
        for each in domains:
            if not registry.is_standard(name, each):
                beside = Destination(destination.root, destination.folder, each, destination.standard)
                if os.path.lexists(beside.yaml_path(name)):
                    return beside.read_operator(name, sets)
            else:
                return load_operator(FOLDER / domain_name(each) / f"{name}.yaml", standard_sets())
        names = [name for each in registry.domains for name in registry.operators(each)]
        findings.append(Finding("U105", f"there is no operator {like} to be like", help=near_miss(name, names)))
    except (UsageError, SchemaError) as error:
        findings += error.findings
    return None


def _choose_family(
    destination: Destination, family: str | None, original: Operator | None, findings: list[Finding]
) -> str:
    """Return the family of a new operator: `family`, else the family of `original`, else the last word of the domain.

    If an operator of the standard would get a family that is not in FAMILIES, S216 is added to `findings`.
    """
    family = family or (original.family if original is not None else "")
    if destination.standard and family not in FAMILIES:
        message = f"there is no family {family}" if family else "the family is not given"
        help = near_miss(family, FAMILIES) or f"--family, or --like; known: {', '.join(FAMILIES)}"
        findings.append(Finding("S216", message, help=help))
    return family or domain_name(destination.domain).rpartition(".")[2]
