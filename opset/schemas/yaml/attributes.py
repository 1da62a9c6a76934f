"""Reads the attributes of a version, and the declarations of their legal values, from operator YAML."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opset.errors import listing
from opset.model.elements import NUMBERS
from opset.schemas.constraints.conditions import LABEL
from opset.schemas.constraints.evaluation import is_met
from opset.schemas.constraints.grammar import Expression, parse_range, terms_of
from opset.schemas.constraints.signature import ANY_CASE, AXES, AXIS, BOOL, DATA_TYPE, KINDS
from opset.schemas.model import Attribute, OpSchema, Parameter
from opset.schemas.yaml.fields import Fields
from opset.schemas.yaml.keys import ATTRIBUTE_KEYS, ATTRIBUTE_TYPES, KIND_TYPES
from opset.schemas.yaml.reader import YamlNode


class Attributes(Fields):
    """Reads attributes from YAML nodes; faults are added as findings."""

    def attribute(self, name: str, node: YamlNode, docs: dict[str, str], schema: OpSchema) -> Attribute:
        """Return one attribute of a version from its YAML node, and add its prose to `docs` by name.

        `schema` is the version so far: it has the inputs and types. Faults are added as findings.
        """
        fields = self.mapping(node, ATTRIBUTE_KEYS, ("type",))
        type_ = self.choice(fields["type"], ATTRIBUTE_TYPES) if "type" in fields else ""
        default = self.value(fields["default"], type_) if "default" in fields and type_ in ATTRIBUTE_TYPES else None
        required = self.flag(fields.get("required"))
        if required and default is not None:
            self.findings.add("S103", "an attribute that has to be given has no default", node.keys["default"])
        docs[name] = self.text(fields.get("doc"))
        attribute = Attribute(name, type_, default, required)
        return self.read_declarations(node, fields, attribute, schema) if type_ in ATTRIBUTE_TYPES else attribute

    def read_declarations(
        self, node: YamlNode, fields: dict[str, YamlNode], attribute: Attribute, schema: OpSchema
    ) -> Attribute:
        """Return a copy of `attribute` with the legal values that its YAML declares by `choices`, `range` and `kind`.

        The copy also gets the label in `constraint`. A finding is added for each fault in these keys, and if the
        default is not legal.

        Args:
            node: The YAML node of the attribute.
            fields: Its keys.
            attribute: The attribute, with its name, type and default.
            schema: The version so far, which has the inputs and types.
        """
        kind = self.choice(fields["kind"], KINDS) if "kind" in fields else ""
        if kind in KIND_TYPES and attribute.type not in KIND_TYPES[kind]:
            self.report_wrong(fields["kind"], f"a kind for the type {attribute.type}")
        choices = self.choices(fields["choices"], attribute, kind, schema) if "choices" in fields else ()
        comparisons = self.range(fields["range"], attribute, schema.inputs) if "range" in fields else ()
        range_ = self.name(fields["range"]) if comparisons else ""
        if (choices and (range_ or kind in (BOOL, AXIS, AXES))) or (range_ and kind in (BOOL, DATA_TYPE, ANY_CASE)):
            self.findings.add("S103", "one of 'choices', 'range' and 'kind' says all", node, "leave out the other one")
        label = self.name(fields.get("constraint"))
        if label and not LABEL.fullmatch(label):
            self.findings.add("S105", f"{label!r} is no label of a constraint", fields["constraint"], "C1, C2, …")
        if label and not (choices or range_ or kind):
            help = "add 'choices', 'range' or 'kind'"
            self.findings.add("S103", "nothing is declared that breaks a constraint", node.keys["constraint"], help)
        values = attribute.default if isinstance(attribute.default, tuple) else (attribute.default,)
        for value in values if attribute.default is not None else ():
            illegal = choices and kind != DATA_TYPE and value not in choices
            illegal = illegal or (kind == BOOL and value not in (0, 1))
            if illegal or any(is_met(comparison, value, {}) is False for comparison in comparisons):
                legal = f"'range' is {range_!r}" if range_ else f"one of {listing([*map(str, choices or (0, 1))])}"
                self.findings.add("S105", f"the default {value!r} is not legal", fields["default"], legal)
        return attribute._replace(choices=choices, range=range_, kind=kind, constraint=label)

    def choices(self, node: YamlNode, attribute: Attribute, kind: str, schema: OpSchema) -> tuple[Any, ...]:
        """Return the `choices` of an attribute from their YAML list.

        For the kind "data_type", they are names of element types or of type constraints. If the type of the attribute
        has no choices, such as "graph", a finding is added, and () is returned. Other faults, such as duplicates, are
        findings, too.
        """
        node = self.limit_entries(node, "choices")
        singular = attribute.type.removesuffix("s")
        choices: tuple[Any, ...]
        if kind == DATA_TYPE:
            choices = tuple(map(self.name, self.items(node)))
            for choice, each in zip(choices, self.items(node), strict=True):
                if choice and choice not in schema.types and choice not in NUMBERS:
                    self.report_unknown(each, "element type or type constraint", choice, [*schema.types, *NUMBERS])
        elif singular in ("int", "float", "string"):
            choices = tuple(self.value(each, singular) for each in self.items(node))
        else:
            self.report_wrong(node, f"nothing (an attribute of type {attribute.type} has no choices)")
            return ()
        if not choices:
            self.report_wrong(node, "at least one value")
        if len(set(map(repr, choices))) < len(choices):
            self.findings.add("S106", "a value is duplicate", node)
        return choices

    def range(self, node: YamlNode, attribute: Attribute, inputs: Sequence[Parameter]) -> tuple[Expression, ...]:
        """Return the comparisons in the `range` of an attribute, such as ">= 0".

        If they are malformed, or the attribute has no numbers, a finding is added, and () is returned. A name in the
        range that is none of `inputs` is only a finding: the comparisons are returned.
        """
        if attribute.type.removesuffix("s") not in ("int", "float"):
            self.report_wrong(node, f"nothing (an attribute of type {attribute.type} has no range)")
            return ()
        try:
            comparisons = parse_range(self.text(node))
        except ValueError as error:
            self.findings.add("S105", str(error), node, "write '>= 0', '0 <= x <= 1' or '-rank <= x < rank(X)'")
            return ()
        names = {each.name for each in inputs} | ({""} if inputs else set())
        for name in sorted({name for _, name in terms_of(comparisons)} - names):
            self.report_unknown(node, "input", name, names)
        return comparisons
