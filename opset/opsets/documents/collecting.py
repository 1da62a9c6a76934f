"""Collects the operator set of a domain from folders of operator YAML and from documents.

opset.get_operator_set("com.acme", 2, schemas=["schemas"]).save("acme.onnxopset")
opset.infer("model.onnx", schemas=["acme.onnxopset"])
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from opset.errors import Finding, SchemaError, UsageError
from opset.opsets.documents.declarations import declare_until, node_of
from opset.opsets.documents.operator_set import OperatorSet
from opset.opsets.documents.reading import MAX_STEPS, DocumentReading
from opset.opsets.registry import Schemas, registry_with
from opset.opsets.releases import ir_version_of_opset, is_released, newest_ir_version
from opset.options import checked_options
from opset.schemas.index import FOLDER
from opset.schemas.names import domain_name, normalize_domain
from opset.schemas.yaml.folders import domain_of, operator_files
from opset.schemas.yaml.loader import Operator, folder_sets, read_operators, standard_sets

METADATA_IR_VERSION = 10
"""The IR version with which functions got metadata and overloads, which carry the declarations of a document."""


@checked_options
def get_operator_set(domain: str = "", version: int | None = None, *, schemas: Schemas = ()) -> OperatorSet:
    """Return the operator set of a domain at a version.

    Args:
        domain: The domain; "" and "ai.onnx" are the same one.
        version: The version of the operator set; None for the newest.
        schemas: Folders of operator YAML and documents beside the standard's, or a registry made of them.

    Raises:
        SchemaError: The YAML of an operator is wrong.
        UsageError: U105 if there is no such domain or version.
    """
    registry = registry_with(schemas)
    domain = normalize_domain(domain)
    newest = registry.domains.get(domain)
    if newest is None:
        message = f"there is no domain '{domain_name(domain)}'"
        raise UsageError(Finding("U105", message, help=registry.domains_like(domain)))
    version = newest if version is None else version
    if not 1 <= version <= newest:
        help = f"versions of {domain_name(domain)} go from 1 to {newest}"
        raise UsageError(Finding("U105", f"there is no {domain_name(domain)} {version}", help=help))
    operators, sets = _declared_operators(domain, (FOLDER, *registry.folders), registry.documents)
    reading = DocumentReading("", steps=MAX_STEPS)
    declared = [each for operator in operators if (each := declare_until(operator, version)) is not None]
    nodes = [node_of(each, reading.findings) for each in declared]
    kept = reading.operators(nodes, domain, version, sets)
    reading.raise_faults()
    released = is_released(domain)
    ir_version = ir_version_of_opset(version, domain) if released else newest_ir_version()
    return OperatorSet(domain, version, kept, sets, max(ir_version, METADATA_IR_VERSION))


def _declared_operators(
    domain: str, folders: Iterable[Path | str], documents: Iterable[OperatorSet]
) -> tuple[list[Operator], dict[str, tuple[str, ...]]]:
    """Return the operators that folders and documents declare for a domain, sorted by name, and sets that they use."""
    operators: list[Operator] = []
    sets: dict[str, tuple[str, ...]] = {}
    for folder in map(Path, folders):
        own = folder_sets(folder, None if folder == FOLDER else standard_sets())
        files = [path for path in operator_files(folder) if domain_of(path) == domain]
        found, findings = read_operators(files, own)
        if findings:
            raise SchemaError(findings)
        operators += found
        sets |= {name: types for name, types in own.items() if found and name not in standard_sets()}
    for document in documents:
        if document.domain == domain:
            operators += document.operators
            sets |= document.sets
    unique = {operator.name: operator for operator in reversed(operators)}
    return [unique[name] for name in sorted(unique)], sets
