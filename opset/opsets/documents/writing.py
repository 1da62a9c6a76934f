"""Writes operator sets as documents: YAML and JSON hold all declarations, and so does protobuf.

The standard's message has a name, a version, a status, prose and functions, and no signature. A function beside each
operator, the *carrier*, has the whole declaration as JSON in its metadata. It has the overload CARRIER, so that it is
another function than the operator's own body, and no inputs, outputs and nodes: no node calls it, and whoever inlines
the function of an operator does not find it. An empty function with the operator's own
identity would say that the operator computes nothing; JSON in `doc_string` would be shown to people as prose.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from opset.model import proto as pb
from opset.opsets.documents.declarations import encode_json, used_sets
from opset.opsets.documents.functions import functions_of
from opset.opsets.releases import opset_beside
from opset.schemas.index import standard_versions
from opset.schemas.model import OpSchema
from opset.schemas.names import normalize_domain
from opset.schemas.type_sets import TypeSets
from opset.schemas.yaml.loader import Operator, standard_sets
from opset.schemas.yaml.printer import dump_document, entry_lines

FORMS = ("proto", "yaml", "json")
MAGIC = "ONNXOPSET"
CARRIER = "opset.declaration"
"""The overload of functions that carry declarations, and the key of the declaration in their metadata."""
SETS = "opset.type_sets"
"""The key of the type sets that the declaration names."""
HEADER = ("magic", "ir_version", "ir_version_prerelease", "ir_build_metadata", "domain", "opset_version", "doc_string")
"""The keys of a document in YAML and JSON that the standard's message has, too."""


def write_document(header: Mapping[str, Any], operators: Sequence[Operator], sets: TypeSets, form: str) -> bytes:
    """Return the bytes of a document.

    Args:
        header: The values of HEADER.
        operators: Its operators.
        sets: The type sets that they may name beside the standard's.
        form: One of FORMS.
    """
    header = {key: header[key] for key in HEADER if header.get(key)}
    sets = {**standard_sets(), **sets}
    if form == "proto":
        data: bytes = _message_of(header, operators, sets).SerializeToString()
        return data
    declared = [each.root.plain() for each in operators]
    document = {**header, "type_sets": used_sets(declared, sets), "operators": declared}
    if form == "json":
        return f"{_json_text(document, indent=1)}\n".encode()
    return _yaml_text(document).encode()


def _yaml_text(document: dict[str, Any]) -> str:
    """Return a document as YAML, each operator as its file has it, indented as an item of a list."""
    lines = mapping_lines({key: document[key] for key in HEADER if key in document})
    if document["type_sets"]:
        lines += ["type_sets:", *(f"  {line}" for line in mapping_lines(document["type_sets"]))]
    lines.append("operators:" if document["operators"] else "operators: []")
    for operator in document["operators"]:
        first, *rest = dump_document(operator).splitlines()
        lines += [f"- {first}", *(f"  {line}" if line else "" for line in rest)]
    return "\n".join(lines) + "\n"


def mapping_lines(mapping: Mapping[str, Any]) -> list[str]:
    """Return the YAML of a mapping, with an entry on each line or on several."""
    return [line[2:] for key, each in mapping.items() for line in entry_lines(key, each)]


def _message_of(header: Mapping[str, Any], operators: Sequence[Operator], sets: TypeSets) -> Any:
    """Return a document as an OperatorSetProto; `sets` are all type sets that the operators may name."""
    domain, version = normalize_domain(header["domain"]), header["opset_version"]
    message = pb.OperatorSetProto(**{**header, "domain": domain})
    opset = version if not domain else opset_beside({domain: version})
    own = {(each.domain, each.name): each.schemas for each in operators}

    def versions(of: str, name: str) -> Sequence[OpSchema]:
        return own.get((of, name)) or standard_versions(of, name)

    for operator in operators:
        schema, docs = operator.schemas[-1], operator.docs[-1]
        if not schema.deprecated:
            status = pb.OperatorStatus.Value("EXPERIMENTAL" if schema.experimental else "STABLE")
            message.operator.add(
                op_type=schema.name, since_version=schema.since_version, status=status, doc_string=docs.doc
            )
            message.functions.extend(functions_of(schema, version, opset, versions))
        declaration = operator.root.plain()
        carrier = message.functions.add(name=schema.name, domain=schema.domain, overload=CARRIER)
        carrier.metadata_props.add(key=CARRIER, value=_json_text(declaration, separators=(",", ":")))
        if named := used_sets([declaration], sets):
            carrier.metadata_props.add(key=SETS, value=_json_text(named, separators=(",", ":")))
    return message


def _json_text(value: Any, **layout: Any) -> str:
    """Return plain data as JSON in ASCII, in which control characters are escaped."""
    return json.dumps(encode_json(value), allow_nan=False, **layout).replace("\x7f", "\\u007f")
