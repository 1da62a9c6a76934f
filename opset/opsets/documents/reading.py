"""Reads operator-set documents of strangers: protobuf, YAML or JSON, told by their content.

Each form becomes the same nodes, which are read as operator YAML is. All faults are reported at once.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from opset.budget import Budget, Limits
from opset.errors import Finding, FindingList, ModelError, SchemaError, listing, quote
from opset.model import proto as pb
from opset.model.storage.parts import parse_message
from opset.opsets.documents.declarations import node_of
from opset.opsets.documents.functions import declare_signature
from opset.opsets.documents.operator_set import OperatorSet
from opset.opsets.documents.writing import CARRIER, HEADER, MAGIC, SETS
from opset.opsets.releases import newest_ir_version
from opset.options import checked_options
from opset.schemas.index import standard_versions
from opset.schemas.lint.body_rules import LinkedOperators, body_faults, check_circles
from opset.schemas.model import SIGNATURE, TYPES, OpSchema
from opset.schemas.names import domain_name, normalize_domain
from opset.schemas.type_sets import TypeSets
from opset.schemas.untrusted_files import TooLarge, file_bytes, parse_json
from opset.schemas.yaml.fields import Fields
from opset.schemas.yaml.folders import MAX_FILES
from opset.schemas.yaml.loader import (
    MAX_FOLDER_FINDINGS,
    MAX_VERSION,
    Operator,
    add_sets,
    read_declaration,
    standard_sets,
)
from opset.schemas.yaml.reader import Findings, YamlNode, read

MAX_DOCUMENT = 2**24
"""Bytes of a document; that of all operators of the standard has two million."""
MAX_STEPS = 2**20
"""Steps of reading a document: its values, and what a few words stand for."""
MAX_FUNCTION_NODES = 2**12
"""Nodes of a function in a document."""
SHOWN = 10
"""Names that a note lists."""
_START = f"\n\t{MAGIC}".encode()
"""How a message begins that has its fields in order."""
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_DOMAIN = re.compile(r"(?=.{1,100}\Z)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_KEYS = (*HEADER, "type_sets", "operators")


def read_document(data: bytes, name: str) -> OperatorSet:
    """Return the operator set that a document's bytes hold; `name` is its path, or "".

    Raises:
        SchemaError: With all faults.
    """
    if len(data) > MAX_DOCUMENT:
        why = f"it has {len(data):,} bytes, and at most {MAX_DOCUMENT:,} are read"
        raise SchemaError(Finding("S302", "the document is too large", why=why, file=name))
    reading = DocumentReading(name, steps=MAX_STEPS)
    start = data.lstrip()[:1]
    if data.startswith(_START) or _CONTROL.search(data[:4096]) or not start:
        root = reading.message(data)
    elif start == b"{":
        root = reading.json(data)
    else:
        reading.is_yaml = True
        root = read(data, reading.findings, most=MAX_DOCUMENT)
    found = reading.document(root)
    reading.raise_faults()
    return found


@checked_options
def load_operator_set(source: Any) -> OperatorSet:
    """Return the operator set in a document; its form is told by the content.

    Args:
        source: The path of a file, its bytes, or an OperatorSetProto of the onnx package.

    Raises:
        SchemaError: With all faults of the document.
    """
    if hasattr(source, "SerializeToString"):
        source = source.SerializeToString()
    if isinstance(source, bytes | bytearray | memoryview):
        return read_document(bytes(source), "")
    path = os.fspath(source)
    try:
        data = file_bytes(path, MAX_DOCUMENT)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else None
        code = "S302" if isinstance(error, TooLarge) else "S301"
        message = "the document cannot be read"
        raise SchemaError(Finding(code, message, why=why or str(error), file=os.fsdecode(path))) from error
    return read_document(data, os.fsdecode(path))


class DocumentReading(Fields):
    """Reads one document; `findings` are those about the document, `faults` those about its operators."""

    def __init__(self, name: str, steps: int) -> None:
        self.budget = Budget(Limits(), max_steps=steps)
        super().__init__(Findings(name, self.budget))
        self.path = name
        self.is_yaml = False
        self.faults = FindingList()
        self.notes: list[str] = []
        self.listed: dict[str, Any] = {}
        """The OperatorProto of each operator in a message."""
        self.functions: dict[str, Any] = {}
        """The FunctionProto of each operator in a message that has one."""
        self.carried: set[str] = set()
        """The operators in a message of which a function carries the declaration."""

    def raise_faults(self) -> None:
        """Raise SchemaError with all findings, if there are any."""
        found = [*map(self._with_place, self.findings), *self.faults]
        if found:
            raise SchemaError(found)

    def _with_place(self, finding: Finding, operator: str = "") -> Finding:
        """Return a finding with its place in the document: line and column in YAML, the operator in other forms."""
        if self.is_yaml and finding.place:
            return finding
        place = f"operator {quote(operator)}" if operator else ""
        return finding._replace(place=place, file=self.path)

    def report(self, code: str, message: str, operator: str = "", why: str = "", help: str = "") -> None:
        """Add a finding about the document, or about one of its operators."""
        self.faults.append(self._with_place(Finding(code, message, why=why, help=help), operator))

    # The forms, as nodes.

    def json(self, data: bytes) -> YamlNode:
        """Return the document in JSON as nodes. Raises SchemaError S302 if it is none."""
        try:
            value = parse_json(data.decode("utf-8"))
        except ValueError as error:
            raise SchemaError(
                Finding("S302", "the document is no JSON", why=str(error)[:300], file=self.path)
            ) from None
        return node_of(value, self.findings, escaped=True)

    def message(self, data: bytes) -> YamlNode:
        """Return the document that an OperatorSetProto holds, as nodes; faults of the message are noted.

        Raises SchemaError S301 or S302 if the bytes hold none.
        """
        help = "opset export writes one; a model is shown by opset show"
        try:
            message = parse_message(pb.OperatorSetProto, data, self.path)
        except ModelError as error:
            is_document = data.startswith(_START)
            what = "the document is damaged" if is_document else "this is no operator-set document"
            why = "it is cut short, or bytes of it were changed" if is_document else error.why or error.message
            help = "copy or download it again, and compare sizes or checksums" if is_document else help
            code = "S302" if is_document else "S301"
            raise SchemaError(Finding(code, what, why=why, help=help, file=self.path)) from None
        if message.magic != MAGIC:
            why = f"its magic is {quote(message.magic)}, and has to be {MAGIC}" if data else "it is empty"
            raise SchemaError(Finding("S301", "this is no operator-set document", why=why, help=help, file=self.path))
        document = {key: getattr(message, key) for key in HEADER if message.HasField(key)}
        document["domain"] = document.get("domain") or "ai.onnx"
        if wrong := [key for key, value in document.items() if isinstance(value, bytes)]:
            why = f"{', '.join(wrong)} {'is' if len(wrong) == 1 else 'are'} not UTF-8"
            raise SchemaError(Finding("S302", "the document is damaged", why=why, file=self.path))
        if len(message.operator) + len(message.functions) > 4 * MAX_FILES:
            why = f"it has more than {4 * MAX_FILES:,} operators and functions"
            raise SchemaError(Finding("S302", "the document is too large", why=why, file=self.path))
        self._read_operators(message)
        declared, sets = self._read_functions(message, normalize_domain(document["domain"]))
        document["type_sets"] = sets
        family = document["domain"].rpartition(".")[2]
        others = [each for name, each in self.listed.items() if name not in declared]
        document["operators"] = [*declared.values(), *(self._declare(each, family) for each in others)]
        self._note_what_is_missing()
        return node_of(document, self.findings)

    def _read_operators(self, message: Any) -> None:
        """Take the operators that a message lists; those that cannot be used are noted."""
        for each in message.operator:
            name = each.op_type
            if isinstance(name, bytes) or isinstance(each.doc_string, bytes):
                self.report("S302", f"a text of the operator {quote(name)} is not UTF-8")
            elif name in self.listed:
                self.report("S305", f"the operator {quote(name)} is listed twice", help="names are unique in a domain")
            else:
                self.listed[name] = each
                if not each.HasField("status"):
                    self.notes.append(f"{quote(name)} has no status, and is experimental by the default of the message")

    def _read_functions(self, message: Any, domain: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the declarations that functions of a message carry, by operator, and the type sets that they name."""
        declared: dict[str, Any] = {}
        sets: dict[str, Any] = {}
        seen: set[tuple[str, str]] = set()
        for function in message.functions:
            name, overload = function.name, function.overload
            if not self._is_usable(function, domain):
                continue
            if (name, overload) in seen:
                self.report(
                    "S305", f"the function {quote(name)} is there twice", help="functions are unique by overload"
                )
                continue
            seen.add((name, overload))
            if overload == CARRIER:
                declaration = self._carried_value(function, CARRIER)
                if isinstance(declaration, dict) and declaration.get("operator") == name:
                    declared[name] = declaration
                    self.carried.add(name)
                elif declaration is not None:
                    self.report("S306", f"the declaration of {quote(name)} is of another operator", name)
                self._add_named_sets(sets, self._carried_value(function, SETS), name)
            elif name not in self.listed:
                help = "the operator set lists its name, version and status"
                self.report("S307", f"there is a function {quote(name)}, and no such operator", help=help)
            elif overload:
                self.notes.append(f"the function {quote(name)} with the overload {quote(overload)} is left out")
            else:
                self.functions[name] = function
        return declared, sets

    def _is_usable(self, function: Any, domain: str) -> bool:
        """Whether a function is well formed, and has a domain and a size that fit its document; faults are noted."""
        nodes = [function, *function.node]
        names = [function.name, function.domain, function.overload, *function.attribute]
        names += [text for each in nodes for text in (*each.input, *each.output)]
        names += [each.name for each in (*function.attribute_proto, *function.value_info)]
        names += [text for each in function.node for text in (each.op_type, each.domain)]
        names += [text for each in function.metadata_props for text in (each.key, each.value)]
        if bytes in map(type, names):
            self.report("S302", f"a text of the function {quote(function.name)} is not UTF-8")
        elif normalize_domain(function.domain) not in ("", domain):
            where = f"{quote(domain_name(function.domain))}, and the set is {quote(domain_name(domain))}"
            self.report("S307", f"the function {quote(function.name)} is of another domain", why=f"it is of {where}")
        elif len(function.node) > MAX_FUNCTION_NODES:
            self.report("S302", f"the function {quote(function.name)} has more than {MAX_FUNCTION_NODES:,} nodes")
        elif fault := _function_fault(function):
            self.report("S307", f"the function {quote(function.name)} cannot be used", why=fault)
        else:
            return True
        return False

    def _carried_value(self, function: Any, key: str) -> Any:
        """Return the value of JSON in a function's metadata, None if there is none; malformed JSON is noted."""
        text = next((each.value for each in function.metadata_props if each.key == key), None)
        try:
            return None if text is None else node_of(parse_json(text), self.findings, escaped=True).plain()
        except ValueError as error:
            self.report("S302", "the declaration is no JSON", function.name, why=str(error)[:300])
            return None

    def _add_named_sets(self, sets: dict[str, Any], more: Any, operator: str) -> None:
        """Add the type sets that a declaration names; a set that is another one elsewhere is noted."""
        for name, types in (more if isinstance(more, dict) else {}).items():
            if sets.setdefault(name, types) != types:
                self.report("S306", f"the type set {quote(name)} is another one elsewhere in the document", operator)

    def _declare(self, operator: Any, family: str) -> dict[str, Any]:
        """Return the facts of a message about an operator, in the form of a declaration."""
        name = operator.op_type
        version: dict[str, Any] = {"since": operator.since_version}
        if not operator.status:
            version["experimental"] = True
        function = self.functions.get(name)
        version["unknown"] = SIGNATURE if function is None else TYPES
        version["doc"] = operator.doc_string
        if function is not None:
            version |= declare_signature(function, self.notes)
        return {"operator": name, "family": family, "versions": [version]}

    def _note_what_is_missing(self) -> None:
        """Note the facts about operators that a message does not hold."""
        names = sorted(self.listed.keys() - self.carried)
        alone = [name for name in names if name not in self.functions]
        if alone:
            self.notes.append(f"the signatures are not in the document: {listing(alone, SHOWN)}")
        if some := [name for name in names if name in self.functions]:
            what = "types, and which parameters may be left out, are not in the document"
            self.notes.append(f"{what}: {listing(some, SHOWN)}")

    # The document, whatever its form.

    def document(self, root: YamlNode) -> OperatorSet:
        """Return the operator set that a document declares; faults are noted."""
        if not isinstance(root.value, dict) or "magic" not in root.value or root.value["magic"].value != MAGIC:
            why = f"its 'magic' is not {MAGIC}"
            help = "opset export writes one; operator YAML is a folder of files: opset explain schemas"
            raise SchemaError(Finding("S301", "this is no operator-set document", why=why, help=help, file=self.path))
        fields = self.mapping(root, _KEYS, ("magic", "domain", "opset_version", "operators"))
        domain = self.text(fields.get("domain"))
        if not _DOMAIN.fullmatch(domain) and "domain" in fields:
            self.findings.add("S303", f"{quote(domain)} is no name of a domain", fields["domain"], "as in com.example")
        version = self.number(fields.get("opset_version"))
        if not 1 <= version <= MAX_VERSION and "opset_version" in fields:
            help = f"versions go from 1 to {MAX_VERSION:,}"
            self.findings.add(
                "S304", f"there is no version {version} of an operator set", fields["opset_version"], help
            )
        ir_version = self.number(fields.get("ir_version"))
        if not 1 <= ir_version <= newest_ir_version():
            shown = f"the IR version {ir_version}, which is not known" if ir_version else "no IR version"
            self.notes.append(f"the document states {shown}")
        own = self._own_sets(fields.get("type_sets"))
        sets = {**standard_sets()}
        if own:
            place = fields["type_sets"]
            add_sets(YamlNode(own, place.line, place.column, place.keys), sets, self.findings)
        nodes = self.items(fields["operators"]) if "operators" in fields else []
        if len(nodes) > MAX_FILES:
            self.findings.add("S302", f"a document has at most {MAX_FILES:,} operators", fields["operators"])
            nodes = []
        added = {name: types for name, types in sets.items() if name in own}
        return OperatorSet(
            normalize_domain(domain),
            version,
            self.operators(nodes, normalize_domain(domain), version, added),
            added,
            ir_version,
            self.text(fields.get("doc_string")),
            self.text(fields.get("ir_version_prerelease")),
            self.text(fields.get("ir_build_metadata")),
            tuple(self.notes),
        )

    def _own_sets(self, node: YamlNode | None) -> dict[str, YamlNode]:
        """Return the type sets that a document adds to the standard's; a set of the standard has to be the same."""
        found: dict[str, YamlNode] = {}
        if node is None:
            return found
        for name, each in self.mapping(node).items():
            known = standard_sets().get(name)
            if known is None:
                found[name] = each
                continue
            sets: dict[str, tuple[str, ...]] = {}
            add_sets(YamlNode({name: each}, each.line, each.column, node.keys), sets, self.findings)
            if name in sets and {*sets[name]} != {*known}:
                help = "it was written for another release of the standard"
                self.findings.add("S306", f"{quote(name)} is another set of types in the standard", each, help)
        return found

    def operators(
        self, nodes: Sequence[YamlNode], domain: str, version: int, sets: Mapping[str, tuple[str, ...]]
    ) -> tuple[Operator, ...]:
        """Return the operators that nodes declare, sorted by name, as far as they have no faults: these are noted."""
        found: dict[str, Operator] = {}
        known = {**standard_sets(), **sets}
        for node in nodes:
            if len(self.faults) >= MAX_FOLDER_FINDINGS:
                self.report("S302", "not all of the document was read", why="what was read has too many faults")
                break
            findings = Findings(self.path, self.budget)
            name = _name_of(node)
            try:
                operator = read_declaration(node, domain, known, findings)
                if not _NAME.fullmatch(name) and not findings:
                    findings.add("S215", f"{quote(name)} is no name of an operator", node, "letters, digits and _")
                if name in found:
                    findings.add("S305", f"the operator {quote(name)} is there twice", node)
                if operator is not None and not findings:
                    self._check_versions(operator, node, version, findings)
                    found[name] = operator
            except SchemaError as error:
                findings = error.findings  # type: ignore[assignment]
            self.faults += [self._with_place(each, name) for each in findings]
        self._drop_faulty_bodies(nodes, domain, known, found)
        for finding in check_circles(LinkedOperators(tuple(found.values()))):
            self.faults.append(self._with_place(finding))
        return tuple(found[name] for name in sorted(found))

    def _drop_faulty_bodies(
        self, nodes: Sequence[YamlNode], domain: str, sets: TypeSets, found: dict[str, Operator]
    ) -> None:
        """Read operators again without their function bodies if functions of a message are none that YAML holds."""

        def versions(of: str, name: str) -> tuple[OpSchema, ...]:
            return found[name].schemas if of == domain and name in found else standard_versions(of, name)

        for node in nodes:
            name = _name_of(node)
            if name in found and name in self.functions and name not in self.carried:
                fault = next(body_faults(found[name].schemas[-1], versions), None)
                if fault is not None:
                    self.notes.append(f"the function body of {quote(name)} is left out: {fault.message}")
                    del node.value["versions"].value[0].value["function"]
                    operator = read_declaration(node, domain, sets, Findings(self.path, self.budget))
                    assert operator is not None
                    found[name] = operator

    def _check_versions(self, operator: Operator, node: YamlNode, version: int, findings: Findings) -> None:
        """Note an operator that is newer than its set, and contradictions between parts of a message."""
        newest = operator.schemas[-1]
        since = newest.since_version
        if since > version:
            what = f"{operator.name} {since} is newer than the operator set, which is version {version}"
            findings.add("S304", what, node)
        if operator.name in self.listed:
            listed = self.listed[operator.name]
            if listed.since_version != since or bool(listed.status) == newest.experimental or newest.deprecated:
                findings.add("S306", f"the list of operators and the declaration of {operator.name} differ", node)
        elif self.carried and not newest.deprecated:
            findings.add("S306", f"{operator.name} is declared, and not in the list of operators", node)
        function = self.functions.get(operator.name)
        if function is not None:
            inputs, outputs = ([each.name for each in side] for side in (newest.inputs, newest.outputs))
            names = {*function.attribute, *(each.name for each in function.attribute_proto)}
            if [*function.input] != inputs or [*function.output] != outputs or not names >= newest.attributes.keys():
                what = f"the function of {operator.name} has other parameters than its declaration"
                findings.add("S306", what, node)


def _function_fault(function: Any) -> str:
    """Return why a function is malformed, "" if it is not: a name that is there twice, or used before it is defined."""
    defined = {*function.input}
    if len(defined) < len(function.input) or "" in defined:
        return "an input is there twice, or has no name"
    attributes = [*function.attribute, *(each.name for each in function.attribute_proto)]
    if len({*attributes}) < len(attributes):
        return "an attribute is there twice"
    for node in function.node:
        if missing := next((name for name in node.input if name and name not in defined), ""):
            return f"{quote(missing)} is used before it is computed"
        if twice := next((name for name in node.output if name and name in defined), ""):
            return f"{quote(twice)} is computed twice"
        defined.update(node.output)
    missing = next((name for name in function.output if name not in defined), "")
    return f"nothing computes the output {quote(missing)}" if missing else ""


def _name_of(node: YamlNode) -> str:
    """Return the name of the operator that a node declares, "" if it has none."""
    name = node.value.get("operator") if isinstance(node.value, dict) else None
    return name.value if name is not None and isinstance(name.value, str) else ""
