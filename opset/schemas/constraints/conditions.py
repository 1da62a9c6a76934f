"""Reads the `constraints` of operator YAML: texts, and conditions that are checked before a node is computed.

  constraints:
    C1: the axes differ                in words: kernels and rules of inference check it
    C2: {rank: {X: ">= 2", W: rank(X)}}                      also size, for the number of elements: {size: {K: 1}}
    C3: {shape: {X: "(N, C, ...)", scale: (C)}}              a name stands for the same size everywhere
    C4: {broadcast: {B: X, C: "(M, N)"}}                     in one direction, to the shape of X, or to a pattern
    C5: {values: {axis: -rank(X) <= x < rank(X)}}            each element of an input or attribute
    C6: {sizes: {C: multiple of group}, text: ...}           sizes of patterns; `text` replaces the derived text
    C7:                                                      several clauses; each holds under its premises (`where`):
    - {where: {mode: linear}, rank: {X: 4}}                  the value of an attribute, or of an input of one element,
    - {where: {mode: cubic, train: true}, rank: {X: "3 or 5"}}
    - {where: {rank(X): 2, W: absent, B: given}, ...}        the rank of an input, or whether it is given
    C8: {given: {axes: true, low: high, keys: not table}}    given; given if and only if another is; given or another
    C9: {distinct: {axes: rank(X)}}                          axes without duplicates; negative ones count from the end

The guide `opset explain schemas` has the grammar of patterns and conditions.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

from opset.errors import SchemaError
from opset.schemas.constraints.grammar import (
    DISTINCT,
    GIVEN,
    KINDS,
    NAMED,
    PRESENCE,
    SHAPE,
    SIZES,
    SUBJECT,
    VALUES,
    parse_expression,
    parse_form,
    parse_premise,
    ranked_input,
    terms_of,
)
from opset.schemas.constraints.signature import declared_text
from opset.schemas.constraints.wording import conditions_text
from opset.schemas.model import Condition, OpSchema
from opset.schemas.yaml.fields import MAX_ENTRIES, Fields
from opset.schemas.yaml.reader import Findings, YamlNode

LABEL = re.compile(r"C[1-9][0-9]{0,3}")
_HELP = {
    SHAPE: "write '(N, C, ...)', '(C * group, 1 or 2)' or '() or (1)'",
    SIZES: "write '> 0' or 'multiple of group'",
    DISTINCT: "write rank(X)",
    GIVEN: "write true, false, NAME or not NAME",
}
_FORM = "write 4, '3 or 4', '>= 2' or '-rank(X) <= x < rank(X)'"


def sort_by_label(constraints: Mapping[str, str]) -> dict[str, str]:
    """Return constraints (text by label) sorted by the number in the label: C2 before C10."""
    return dict(sorted(constraints.items(), key=lambda entry: _label_order(entry[0])))


def _label_order(label: str) -> tuple[int, str]:
    """Return a sort key for labels: shorter ones first, so that C2 comes before C10."""
    return len(label), label


def all_constraints(schema: OpSchema, stated: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of all constraints of a version by label, such as {"C1": "axis >= 0"}, sorted by label.

    `stated` are the texts that the YAML states, by label. The text of any other constraint is made from its conditions
    and from the legal values of attributes that have its label.
    """
    made: dict[str, list[str]] = {}
    for attribute in schema.attributes.values():
        if attribute.constraint:
            made.setdefault(attribute.constraint, []).append(declared_text(schema.inputs, attribute))
    for label, conditions in itertools.groupby(schema.conditions, key=lambda each: each.label):
        made.setdefault(label, []).append(conditions_text(conditions, schema))
    return sort_by_label({label: "; ".join(texts) for label, texts in made.items()} | {**stated})


class ConditionReader(Fields):
    """Reads the `constraints` of one version; `schema` has its inputs and attributes, which conditions may name."""

    def __init__(self, findings: Findings, schema: OpSchema) -> None:
        """Take the version whose constraints are read; faults are added to `findings`."""
        super().__init__(findings)
        self._schema = schema
        self._inputs = {parameter.name for parameter in schema.inputs}
        self._attributes = schema.attributes
        self._read: list[tuple[Condition, Any, YamlNode]] = []
        self._counted = 0

    def read(self, node: YamlNode | None) -> tuple[tuple[Condition, ...], dict[str, str]]:
        """Return the conditions and the texts in the `constraints` of a version.

        `node` is their YAML node, None if there are none. Faults are added as findings.

        Returns:
            (conditions, texts): the legal conditions, sorted by label, and the texts that the YAML states, by label.

        Raises:
            SchemaError: The version has more than MAX_ENTRIES conditions, or there are MAX_FINDINGS.
        """
        texts: dict[str, str] = {}
        entries = self.names(node, "constraints")
        for label, entry in sorted(entries.items(), key=lambda item: _label_order(item[0])):
            assert node is not None
            if not LABEL.fullmatch(label):
                self.findings.add("S103", f"{label!r} is no label of a constraint", node.keys[label], "C1, C2, …")
            if isinstance(entry.value, str):
                texts[label] = self.phrase(entry)
                continue
            clauses = entry.value if isinstance(entry.value, list) else [entry]
            for clause in clauses:
                if text := self._read_clause(label, clause):
                    texts[label] = text
            if not clauses:
                self.report_wrong(entry, "at least one condition")
        self._check_names()
        return tuple(condition for condition, *_ in self._read), texts

    def _read_clause(self, label: str, node: YamlNode) -> str:
        """Read a mapping of conditions of the constraint `label`; return the text at its key `text`, "" if none.

        Legal conditions are added to the reader's list, faults as findings. Raises SchemaError if the version has more
        than MAX_ENTRIES conditions.
        """
        if not isinstance(node.value, dict):
            self.report_wrong(node, "text, or a mapping of conditions")
            return ""
        fields = self.mapping(node, (*KINDS, "where", "text"))
        where = self.read_where(fields["where"]) if "where" in fields else ()
        kinds = [kind for kind in KINDS if kind in fields]
        if not kinds:
            self.findings.add("S104", "a condition is missing", node, f"one of {', '.join(KINDS)}")
        for kind in kinds:
            for subject, form in self.mapping(fields[kind]).items():
                condition = Condition(label, kind, subject, self._text_of(form), where)
                self._counted += 1 + len(where)  # all of which may be checked for every node
                if self._counted > MAX_ENTRIES:
                    message = f"a version has at most {MAX_ENTRIES} conditions, those of 'where' included"
                    self.findings.add("S102", message, form)
                    raise SchemaError(self.findings)
                self._read_condition(condition, fields[kind].keys[subject], form)
        return self.phrase(fields.get("text"))

    def _text_of(self, node: YamlNode) -> str:
        """Return the text of a condition as it stands in YAML, such as "4" or "true".

        A number or boolean is turned into text. For a list, a mapping or an empty text, a finding is added, and "" is
        returned.
        """
        if isinstance(node.value, int | float):
            return str(node.value).lower()
        return self.phrase(node)

    def read_where(self, node: YamlNode) -> tuple[tuple[str, str], ...]:
        """Return the entries of a `where` mapping as pairs, such as ("mode", "linear") or ("rank(X)", "2").

        An entry is left out, with a finding, if its name is unknown, its condition is malformed, or its attribute is a
        list. For a condition that contains a name, such as ">= rank(X)", a finding is added, and the entry is returned.
        """
        premises: list[tuple[str, str]] = []
        for name, each in self.mapping(node).items():
            form = self._text_of(each)
            attribute = self._attributes.get(name)
            if attribute is None and (ranked_input(name) or name) not in self._inputs:
                self.report_unknown(node.keys[name], "attribute or input", name, [*self._attributes, *self._inputs])
            elif attribute is not None and attribute.type not in ("int", "float", "string") and form not in PRESENCE:
                self.report_wrong(node.keys[name], "an attribute of one number or string, or an input")
            else:
                try:
                    _, condition = parse_premise(name, form, self._schema)
                except ValueError as error:
                    self.findings.add("S105", str(error), each, _FORM)
                else:
                    if any(terms_of(condition)):
                        self.report_wrong(each, "a condition with numbers alone")
                    premises.append((name, form))
        return tuple(premises)

    def _read_condition(self, condition: Condition, key: YamlNode, node: YamlNode) -> None:
        """Add a condition to the reader's list if it is legal, else add a finding.

        `key` is the YAML node of the condition's subject, such as the name of an input; `node` is the YAML node of its
        text.
        """
        kind, subject = condition.kind, condition.subject
        both = kind in (VALUES, DISTINCT, GIVEN)
        subjects = self._inputs | {*self._attributes} if both else self._inputs
        if kind != SIZES and subject not in subjects:
            self.report_unknown(key, "input or attribute" if both else "input", subject, subjects)
            return
        try:
            rule = parse_form(kind, condition.form)
            self._read.append((condition, (rule, parse_expression(subject)) if kind == SIZES else rule, node))
        except ValueError as error:
            self.findings.add("S105", str(error), node, _HELP.get(kind, _FORM))

    def _check_names(self) -> None:
        """Add a finding for each unknown name in the conditions that were read.

        `x` is reserved for the value that a condition compares. A finding is added, too, if a shape pattern names a
        size `x`.
        """
        sizes: dict[str, YamlNode] = {}
        for condition, rule, node in self._read:
            for pattern in rule if condition.kind == SHAPE else ():
                sizes = {size.name: node for size in (*pattern.before, *pattern.after) if size.name} | sizes
        if SUBJECT in sizes:
            self.report_wrong(sizes[SUBJECT], f"another name than {SUBJECT}, which is what a condition compares,")
        integers = [name for name, attribute in self._attributes.items() if attribute.type == "int"]
        known = {"name": [*sizes, *integers], "len": [*self._attributes], "given": [*self._inputs, *self._attributes]}
        for _, rule, node in self._read:
            for term, name in terms_of(rule):
                if name not in known.get(term, self._inputs):
                    self.report_unknown(node, NAMED[term], name, known.get(term, self._inputs))
