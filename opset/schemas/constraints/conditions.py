"""Reads the `constraints` of operator YAML: texts, and conditions on inputs that are checked before a node is computed.

  constraints:
    C1: the axes differ                in words: kernels and rules of inference check it
    C2: {rank: {X: ">= 2", W: rank(X)}}                      also size, for the number of elements: {size: {K: 1}}
    C3: {shape: {X: "(N, C, ...)", scale: (C)}}              a name stands for one size wherever it is
    C4: {broadcast: {B: X, C: "(M, N)"}}                     in one direction, to the shape of X, or to a pattern
    C5: {values: {axis: -rank(X) <= x < rank(X)}}            of each element of an input, or of an attribute
    C6: {sizes: {C: multiple of group}, text: ...}           of what patterns name; a text of one's own
    C7:                                                      several, each where attributes, or inputs of one
    - {where: {mode: linear}, rank: {X: 4}}                  element, have a value or meet a condition,
    - {where: {mode: cubic, train: true}, rank: {X: "3 or 5"}}
    - {where: {rank(X): 2, W: absent, B: given}, ...}        or inputs have a rank, or are given or absent
    C8: {given: {axes: true, low: high, keys: not table}}    given; if and only if another is; unless another is
    C9: {distinct: {axes: rank(X)}}                        axes, of which no two are the same, counted from either end

See patterns.py for patterns and conditions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from opset.errors import SchemaError
from opset.schemas.constraints.input_shapes import (
    BROADCAST,
    DISTINCT,
    GIVEN,
    KINDS,
    SHAPE,
    SIZES,
    STATED,
    STATES,
    VALUES,
    expressions_of,
    parts_of,
    rank_of,
)
from opset.schemas.constraints.patterns import SUBJECT, Pattern, parse_tests
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


def in_order(constraints: Mapping[str, str]) -> dict[str, str]:
    """Return constraints in the order of their numbers."""
    return dict(sorted(constraints.items(), key=lambda each: _number(each[0])))


def _number(label: str) -> tuple[int, str]:
    return len(label), label


class Conditions(Fields):
    """Reads the constraints of one version, whose inputs and attributes are known."""

    def __init__(self, findings: Findings, schema: OpSchema) -> None:
        super().__init__(findings)
        self._inputs = {each.name for each in schema.inputs}
        self._attributes = schema.attributes
        self._read: list[tuple[Condition, YamlNode]] = []
        self._counted = 0

    def read(self, node: YamlNode | None) -> tuple[tuple[Condition, ...], dict[str, str]]:
        """Return the conditions in the order of their labels, and the texts that are stated, by label."""
        texts: dict[str, str] = {}
        entries = self.names(node, "constraints")
        for label, each in sorted(entries.items(), key=lambda entry: _number(entry[0])):
            assert node is not None
            if not LABEL.fullmatch(label):
                self.findings.add("S103", f"{label!r} is no label of a constraint", node.keys[label], "C1, C2, …")
            if isinstance(each.value, str):
                texts[label] = self.phrase(each)
                continue
            clauses = each.value if isinstance(each.value, list) else [each]
            for clause in clauses:
                if text := self._clause(label, clause):
                    texts[label] = text
            if not clauses:
                self.wrong(each, "at least one condition")
        self._check_names()
        return tuple(condition for condition, _ in self._read), texts

    def _clause(self, label: str, node: YamlNode) -> str:
        """Read what one mapping declares; return the text that it states."""
        if not isinstance(node.value, dict):
            self.wrong(node, "text, or a mapping of conditions")
            return ""
        fields = self.mapping(node, (*KINDS, "where", "text"))
        where = self.where(fields["where"]) if "where" in fields else ()
        kinds = [kind for kind in KINDS if kind in fields]
        if not kinds:
            self.findings.add("S104", "a condition is missing", node, f"one of {', '.join(KINDS)}")
        for kind in kinds:
            for subject, each in self.mapping(fields[kind]).items():
                condition = Condition(label, kind, subject, self._form(each), where)
                self._count(1 + len(where), each)
                if self._is_legal(condition, fields[kind].keys[subject], each):
                    self._read.append((condition, each))
        return self.phrase(fields.get("text"))

    def _count(self, conditions: int, node: YamlNode) -> None:
        """Count conditions, all of which may be checked for every node. Raises SchemaError where they are too many."""
        self._counted += conditions
        if self._counted > MAX_ENTRIES:
            message = f"a version has at most {MAX_ENTRIES} conditions, those of 'where' included"
            self.findings.add("S102", message, node)
            raise SchemaError(self.findings)

    def _form(self, node: YamlNode) -> str:
        """Return a condition as text; a number and a truth value may stand without quotes."""
        if isinstance(node.value, int | float):
            return str(node.value).lower()
        return self.phrase(node)

    def where(self, node: YamlNode) -> tuple[tuple[str, str], ...]:
        """Return the conditions on attributes and inputs of a mapping, by name."""
        stated: list[tuple[str, str]] = []
        for name, each in self.mapping(node).items():
            form = self._form(each)
            attribute = self._attributes.get(name)
            if attribute is None and (rank_of(name) or name) not in self._inputs:
                self.undefined(node.keys[name], "attribute or input", name, [*self._attributes, *self._inputs])
            elif form in STATES and not rank_of(name):
                pass
            elif attribute is not None and attribute.type not in ("int", "float", "string"):
                self.wrong(node.keys[name], "an attribute of one number or string, or an input")
            elif attribute is None or attribute.type != "string":
                try:
                    bounds = [bound for test in parse_tests(form) for bound in test.bounds]
                except ValueError as error:
                    self.findings.add("S105", str(error), each, _FORM)
                else:
                    if any([*bound.names(), *bound.functions()] for bound in bounds):
                        self.wrong(each, "a condition with numbers alone")
            stated.append((name, form))
        return tuple(stated)

    def _is_legal(self, condition: Condition, key: YamlNode, node: YamlNode) -> bool:
        """Whether a condition is well-formed, and is one of what the version has."""
        subject, kind = condition.subject, condition.kind
        either = self._inputs | {*self._attributes}
        known = either if kind in (VALUES, DISTINCT, GIVEN) else self._inputs
        if kind != SIZES and subject not in known:
            self.undefined(key, "input" if known is self._inputs else "input or attribute", subject, known)
            return False
        if kind == BROADCAST and not condition.form.startswith("(") and condition.form not in self._inputs:
            self.undefined(node, "input", condition.form, self._inputs)
            return False
        try:
            parts = parts_of(condition)
        except ValueError as error:
            self.findings.add("S105", str(error), node, _HELP.get(kind, _FORM))
            return False
        if kind == GIVEN and parts[1] not in STATED and parts[1] not in either:
            self.undefined(node, "input or attribute", parts[1], either)
            return False
        return True

    def _check_names(self) -> None:
        """Note names in expressions that are neither sizes of a pattern nor int attributes, and wrong arguments."""
        sizes = {name for condition, _ in self._read for name in _bound(condition)}
        integers = {name for name, each in self._attributes.items() if each.type == "int"}
        if SUBJECT in sizes:
            node = next(each for condition, each in self._read if SUBJECT in _bound(condition))
            self.wrong(node, f"another name than {SUBJECT}, which is what a condition compares,")
        for condition, node in self._read:
            for expression in expressions_of(condition):
                for name in expression.names():
                    if name not in sizes and name not in integers:
                        self.undefined(node, "size or int attribute", name, [*sizes, *integers])
                for function, name in expression.functions():
                    known: Collection[str] = [*self._attributes] if function == "len" else self._inputs
                    if name not in known:
                        self.undefined(node, "attribute" if function == "len" else "input", name, known)


def _bound(condition: Condition) -> set[str]:
    """Return the names that the pattern of a condition binds."""
    patterns = [part for part in parts_of(condition) if isinstance(part, Pattern)] if condition.kind == SHAPE else []
    return {size.name for each in patterns for size in (*each.before, *each.after) if size.name}
