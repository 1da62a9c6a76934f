"""Reads types and `change:` blocks of operator YAML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from opset.model.elements import NUMBERS
from opset.schemas.model import OPTIONAL, SINGLE, VARIADIC, Attribute, AttributeChange, Change
from opset.schemas.type_sets import TypeSets, expand
from opset.schemas.yaml.fields import Fields
from opset.schemas.yaml.keys import (
    ADAPTERS_KEYS,
    ATTRIBUTE_CHANGE_KEYS,
    ATTRIBUTE_TYPES,
    CHANGE_KEYS,
    DETERMINISM,
    FACETS,
    PARAMETER_CHANGE_KEYS,
)
from opset.schemas.yaml.reader import Findings, YamlNode

MAX_TYPES = 2**10  # of one list, since a set of sets grows without end
_ARITIES = (SINGLE, OPTIONAL, VARIADIC)


class TypeFields(Fields):
    """Reads types and named sets of types from YAML nodes; faults are added as findings.

    If `complete` is False, there may be further sets: an unknown name is no fault then, but only counted in `unknown`.
    """

    def __init__(self, findings: Findings, sets: TypeSets, complete: bool = True) -> None:
        """Take the named type sets that the YAML may use; faults are added to `findings`.

        If `complete` is False, there may be further type sets, and an unknown name is no finding.
        """
        super().__init__(findings)
        self.sets, self.complete, self.unknown = sets, complete, 0

    def types(self, node: YamlNode) -> tuple[str, ...]:
        """Return the sorted types that a type expression such as "floats", or a list of them, stands for.

        The types of a single named set keep their order. An unknown type expression is left out, with a finding if
        `self.complete`. For an empty list, or one with more than MAX_TYPES types, a finding is added, and () is
        returned.
        """
        if isinstance(node.value, str) and node.value in self.sets:
            return self.sets[node.value]
        nodes = node.value if isinstance(node.value, list) else [node]
        types: set[str] = set()
        for each in nodes:
            types |= self.expand_types(each, self.name(each))
        if not nodes:
            self.report_wrong(node, "at least one type")
        if len(types) > MAX_TYPES:
            self.findings.add("S102", f"a list stands for at most {MAX_TYPES:,} types", node)
            return ()
        return tuple(sorted(types))

    def expand_types(self, node: YamlNode, expression: str) -> set[str]:
        """Return the types for which one type expression stands, such as {"tensor(float)"} for "float"; set() for "".

        For an unknown type expression, `self.unknown` is increased by 1, and an empty set is returned. If
        `self.complete`, a finding about `node` is added.
        """
        if not expression:
            return set()
        try:
            types = set(expand(expression, self.sets))
        except KeyError:
            self.unknown += 1
            if self.complete:
                self.report_unknown(node, "type or type set", expression, [*self.sets, *NUMBERS])
            return set()
        self.findings.charge(len(types), node)
        return types

    def emulate(self, node: YamlNode) -> dict[str, str]:
        """Return an `emulate` mapping as a dict: {"bfloat16": "float"} if bfloat16 is computed by casts to float.

        A key in the YAML may be a type set: then each element type in the set is a key of the result. Faults are added
        as findings; a faulty value becomes "". If the node is no mapping, the result is {}.
        """
        found: dict[str, str] = {}
        for key, each in self.mapping(node).items():
            wider = self.choice(each, sorted(NUMBERS))
            found |= dict.fromkeys(self.elements(node.keys[key]), wider)
        return found

    def elements(self, node: YamlNode) -> tuple[str, ...]:
        """Return the element types, such as "float", that a type expression, or a list of them, stands for.

        If one of the types is no tensor, a finding is added, and the result has no meaning.
        """
        types = self.types(node)
        if not all(each.startswith("tensor(") for each in types):
            self.report_wrong(node, "element types of tensors")
        return tuple(each[7:-1] for each in types)


class Changes(TypeFields):
    """Reads `change:` blocks from YAML nodes; faults are added as findings."""

    def change(self, node: YamlNode, attributes: Mapping[str, Attribute]) -> Change:
        """Return the change that a `change:` block declares.

        `attributes` are the attributes of the newer version, by name. Faults are added as findings. A Change is
        returned even if an entry has a fault; this entry then has no meaning.
        """
        fields = self.mapping(node, CHANGE_KEYS, ("adapters",))
        readers: dict[str, Callable[[YamlNode], Any]] = {
            "deprecated": self.flag,
            "experimental": self.flag,
            "determinism": self.pair(lambda each: self.choice(each, DETERMINISM)),
            "inputs": self.parameter_change,
            "outputs": self.parameter_change,
            "types": lambda each: self.read_named(each, self.type_change),
        }
        diff = {key: read_one(fields[key]) for key, read_one in readers.items() if key in fields}
        adapters = self.mapping(fields["adapters"], ADAPTERS_KEYS, ADAPTERS_KEYS) if "adapters" in fields else {}
        up = self.adapter(adapters.get("up"))
        declared: dict[str, AttributeChange] = {}
        for name, each in self.mapping(fields["attributes"]).items() if "attributes" in fields else ():
            if difference := self.attribute_change(name, each, attributes.get(name), up, declared):
                diff.setdefault("attributes", {})[name] = difference
        return Change(
            diff,
            declared,
            self.emulate(fields["emulate"]) if "emulate" in fields else {},
            self.flag(fields.get("renamed")),
            self.text(fields.get("meaning")),
            self.text(fields.get("clarified")),
            up,
            self.adapter(adapters.get("down")),
        )

    def adapter(self, node: YamlNode | None) -> str:
        """Return the text that declares an adapter: "derived", "written" or "impossible: REASON".

        If the node is None, the result is "". A text other than these is returned, too, but is a finding. If the node
        is no text, findings are added, and the result is "".
        """
        text = self.text(node)
        if node is not None and text not in ("derived", "written") and not re.match(r"impossible: \S", text):
            self.report_wrong(node, "derived, written or 'impossible: reason'")
        return text

    def parameter_change(self, node: YamlNode) -> dict[str, Any]:
        """Return the declared changes of inputs, or of outputs, by key, such as {"added": ["axes"]}.

        "added", "removed" and "order" are lists of names. "renamed" maps old names to new ones. "retyped" and
        all further keys map a name to [old, new]. Faults are added as findings.
        """

        def names(each: YamlNode) -> list[str]:
            """Return the names in a YAML list; "" for each item that is no name, with a finding."""
            return [self.name(item) for item in self.items(each)]

        readers: dict[str, Callable[[YamlNode], Any]] = {
            "added": names,
            "removed": names,
            "order": names,
            "renamed": lambda each: self.read_named(each, self.name),
            "retyped": lambda each: self.read_named(each, self.pair(self.name)),
            "arity": lambda each: self.read_named(each, self.pair(lambda item: self.choice(item, _ARITIES))),
            "homogeneous": lambda each: self.read_named(each, self.pair(self.flag)),
            "min_arity": lambda each: self.read_named(each, self.pair(self.number)),
        }
        return {key: readers[key](each) for key, each in self.mapping(node, PARAMETER_CHANGE_KEYS).items()}

    def attribute_change(
        self, name: str, node: YamlNode, attribute: Attribute | None, up: str, declared: dict[str, AttributeChange]
    ) -> dict[str, Any]:
        """Return the part of an attribute's entry in a `change:` block that states how the signatures differ.

        This part has the keys "added", "removed", "type", "default" and "required". The other keys of the entry, such
        as `old` or `ignored`, are added to `declared`. An added attribute without `old` gets its default as `old`,
        except where `up` is "written". Faults are added as findings.

        Args:
            name: The attribute.
            node: Its entry in the `change:` block.
            attribute: The attribute as the newer version has it, None if the newer version does not have it.
            up: How the adapter to the newer version is made: "derived", "written" or "impossible: REASON".
            declared: Gets the AttributeChange, by the attribute's name.
        """
        fields = self.mapping(node, ATTRIBUTE_CHANGE_KEYS)
        came = "added" in fields
        readers: dict[str, Callable[[YamlNode], Any]] = {
            "added": lambda each: self.choice(each, ATTRIBUTE_TYPES),
            "removed": lambda each: self.choice(each, ATTRIBUTE_TYPES),
            "type": self.pair(lambda each: self.choice(each, ATTRIBUTE_TYPES)),
            "default": self.diff_value if came else self.pair(self.diff_value),
            "required": self.flag if came else self.pair(self.flag),
        }
        if came or not fields.keys().isdisjoint(FACETS):
            old = self.old_value(fields["old"], attribute) if "old" in fields else None
            if came and "old" not in fields and attribute is not None and up != "written":
                old = attribute.default
            declared[name] = AttributeChange(
                old,
                self.flag(fields.get("ignored")),
                self.text(fields.get("input")),
                self.flag(fields.get("negative")),
                self.elements(fields["only_for"]) if "only_for" in fields else (),
                self.name(fields.get("renamed")),
                self.read_named(fields.get("values"), self.text),
                self.any_value(fields["undefined"]) if "undefined" in fields else None,
            )
        return {key: read_one(fields[key]) for key, read_one in readers.items() if key in fields}

    def old_value(self, node: YamlNode, attribute: Attribute | None) -> Any:
        """Return the declared `old` value of an attribute; if it does not have the attribute's type, add a finding.

        For a list, the value may be {"all": element}, which stands for any list of this element; this mapping is
        returned. If the attribute is None, the value may have any type.
        """
        if attribute is None or attribute.type not in ATTRIBUTE_TYPES:  # reported elsewhere
            return self.any_value(node)
        if not isinstance(node.value, dict):
            return self.value(node, attribute.type)
        entries = self.mapping(node, ("all",), ("all",))
        if not attribute.type.endswith("s"):
            self.report_wrong(node, "one value")
        return {key: self.value(each, attribute.type.removesuffix("s")) for key, each in entries.items()} or None

    def diff_value(self, node: YamlNode) -> Any:
        """Return the value at a node as `signature_diff` has it: lists stay lists, floats become float32."""
        value = self.any_value(node)
        return list(value) if isinstance(value, tuple) else value

    def type_change(self, node: YamlNode) -> str | list[str]:
        """Return the declared change of a type constraint: "new", "gone", or a list such as ["+tensor(bool)"].

        The list has first the added types (+), then the removed ones (-), each sorted; names of type sets are replaced
        by their types. A wrong item of a list is left out, with a finding. For any other wrong node, a finding is
        added, and "" is returned.
        """
        if not isinstance(node.value, list):
            return self.choice(node, ("new", "gone"))
        signed: dict[str, set[str]] = {"+": set(), "-": set()}
        for each in node.value:
            text = self.text(each)
            if text[:1] not in signed:
                self.report_wrong(each, "a type or type set with + or - before it")
                continue
            signed[text[0]] |= self.expand_types(each, text[1:])
        return [sign + type_ for sign, types in signed.items() for type_ in sorted(types)]
