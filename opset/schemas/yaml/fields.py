"""Parts that every level of operator YAML is made of; a reader of whole levels builds upon them."""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

from opset.schemas.names import advise_name, near_miss
from opset.schemas.yaml.keys import FORMER_KEYS
from opset.schemas.yaml.reader import MAX_KEY, Findings, YamlNode

T = TypeVar("T")
MAX_ENTRIES = 256
"""Versions of an operator; inputs, outputs, attributes, types and conditions of a version; choices of an attribute."""


def float32(value: float) -> float:
    """Return the float32 nearest to a number, as a Python float. Raises OverflowError if it is too large."""
    nearest: float = struct.unpack("<f", struct.pack("<f", float(value)))[0]
    return nearest


class Fields:
    """Reads values from YAML nodes; for a wrong value, a finding is added and "", 0, [] or {} is returned.

    Each method may raise SchemaError: after MAX_FINDINGS findings, or if the budget of work is used up.
    """

    def __init__(self, findings: Findings) -> None:
        """Take the list to which faults are added."""
        self.findings = findings

    def mapping(self, node: YamlNode, known: Sequence[str] = (), required: Sequence[str] = ()) -> dict[str, YamlNode]:
        """Return the entries of a mapping; for anything else, add a finding and return {}.

        A finding is added for each key in `required` that is missing. A key that is not in `known` is left out, with a
        finding; if `known` is empty, all keys are allowed.
        """
        if not isinstance(node.value, dict):
            self.report_wrong(node, "a mapping")
            return {}
        for key, at in node.keys.items():
            if known and key not in known:
                help = FORMER_KEYS.get(key) or near_miss(key, known)
                self.findings.add("S103", f"the key {key!r} is not known here", at, help)
        for key in required:
            if key not in node.value:
                self.findings.add("S104", f"the key {key!r} is missing", node)
        return {key: value for key, value in node.value.items() if not known or key in known}

    def items(self, node: YamlNode) -> list[YamlNode]:
        """Return the items of a list; for anything else, add a finding and return []."""
        if isinstance(node.value, list):
            return node.value
        self.report_wrong(node, "a list")
        return []

    def text(self, node: YamlNode | None) -> str:
        """Return the text of a node; if it is no text, add a finding and return "".

        If the node is None, "" is returned without a finding.
        """
        if node is None:
            return ""
        if isinstance(node.value, str):
            return node.value
        self.report_wrong(node, "text", "quote it" if not isinstance(node.value, (list, dict)) else "")
        return ""

    def phrase(self, node: YamlNode | None) -> str:
        """Return the text of a node; if its value is empty or not text, add a finding and return "".

        If the node is None, "" is returned without a finding.
        """
        text = self.text(node)
        if node is not None and node.value == "":
            self.findings.add("S105", "the text must not be empty", node)
        return text

    def grounds(self, fields: dict[str, YamlNode]) -> tuple[str, str]:
        """Return the texts (stated, chosen) of an entry, "" for a missing key; if it has both keys, add a finding.

        `fields` are the keys of an example or a special case. `stated` names the clause of the standard that states
        the entry, `chosen` the reason for a choice that the standard leaves open.
        """
        stated, chosen = self.phrase(fields.get("stated")), self.phrase(fields.get("chosen"))
        if stated and chosen:
            self.findings.add("S103", "what is stated is not chosen", fields["chosen"], "leave one of them out")
        return stated, chosen

    def span(self, fields: dict[str, YamlNode], known: Collection[int]) -> tuple[int | None, int | None]:
        """Return the versions at the keys `since` and `until` of an entry, None for a missing key.

        `fields` are the keys of the entry, `known` the legal versions. For any other version, a finding is added, and
        None stands in its place. A finding is also added if `until` is before `since`.
        """
        found: dict[str, int] = {}
        for key in [each for each in ("since", "until") if each in fields]:
            number = self.number(fields[key])
            if number in known:
                found[key] = number
            elif number == fields[key].value:
                versions = f"its versions are {', '.join(map(str, known))}"
                self.findings.add("S107", f"the operator has no version {number}", fields[key], versions)
        since, until = found.get("since"), found.get("until")
        if since and until and until < since:
            self.report_wrong(fields["until"], "a version that is not older than 'since'")
        return since, until

    def name(self, node: YamlNode | None) -> str:
        """Return the text of a node if it is 1 to MAX_KEY printable characters; else add a finding and return "".

        If the node is None, "" is returned without a finding.
        """
        text = self.text(node)
        if node is None or not isinstance(node.value, str):
            return ""
        if not text:
            self.findings.add("S105", "a name must not be empty", node)
        elif len(text) > MAX_KEY:
            self.findings.add("S102", f"a name has at most {MAX_KEY} characters", node)
        elif not text.isprintable():
            self.findings.add("S105", "a name has no control characters", node)
        else:
            return text
        return ""

    def limit_entries(self, node: YamlNode, what: str) -> YamlNode:
        """Return a list or mapping; if it has more than MAX_ENTRIES entries, add a finding and leave out the rest.

        Any other node is returned unchanged. `what` names the entries in the finding, such as "versions".
        """
        if isinstance(node.value, list | dict) and len(node.value) > MAX_ENTRIES:
            self.findings.add("S102", f"there are at most {MAX_ENTRIES} {what}", node)
            first = islice(node.value.items() if isinstance(node.value, dict) else node.value, MAX_ENTRIES)
            return YamlNode(type(node.value)(first), node.line, node.column, node.keys)
        return node

    def names(self, node: YamlNode | None, what: str) -> dict[str, YamlNode]:
        """Return the entries of a mapping whose keys are names; if the node is None, return {}.

        A key that is empty, longer than MAX_KEY or not printable is left out, with a finding. Entries beyond
        MAX_ENTRIES are left out, with one finding, in which `what` names the entries.
        """
        if node is None:
            return {}
        entries = self.mapping(self.limit_entries(node, what))
        return {name: each for name, each in entries.items() if self.name(node.keys[name])}

    def flag(self, node: YamlNode | None) -> bool:
        """Return the boolean at a node; for anything else, add a finding and return False.

        If the node is None, False is returned without a finding.
        """
        if node is None:
            return False
        if not isinstance(node.value, bool):
            self.report_wrong(node, "true or false")
        return node.value is True

    def number(self, node: YamlNode | None, default: int = 0) -> int:
        """Return the whole number at a node; for anything else, add a finding and return `default`.

        If the node is None, `default` is returned without a finding.
        """
        if node is None:
            return default
        if isinstance(node.value, int) and not isinstance(node.value, bool):
            return node.value
        self.report_wrong(node, "a whole number")
        return default

    def within(self, node: YamlNode | None, low: int, high: int, default: int) -> int:
        """Return the whole number at a node; if it is not from `low` to `high`, add a finding and return `default`.

        If the node is None, `default` is returned without a finding.
        """
        if node is None:
            return default
        number = self.number(node, default)
        if low <= number <= high:
            return number
        self.report_wrong(node, f"a number from {low} to {high}")
        return default

    def choice(self, node: YamlNode, choices: Sequence[str]) -> str:
        """Return the text of a node; if it is not one of `choices`, add a finding and return ""."""
        text = self.text(node)
        if text in choices:
            return text
        if isinstance(node.value, str):
            shown = f"{text[:MAX_KEY]!r} is not one of {', '.join(choices)}"
            self.findings.add("S105", shown, node, near_miss(text, choices))
        return ""

    def report_wrong(self, node: YamlNode, wanted: str, help: str = "") -> None:
        """Add the finding S105 about a node: "WANTED has to stand here", with the text in `wanted`.

        `help` is advice to the user.
        """
        self.findings.add("S105", f"{wanted} has to stand here", node, help)

    def report_unknown(self, node: YamlNode, what: str, name: str, known: Iterable[str]) -> None:
        """Add the finding S107 about a node: "there is no WHAT NAME", such as "there is no input 'Y'".

        Its help suggests similar names in `known`, or lists all if they are few.
        """
        self.findings.add("S107", f"there is no {what} {name[:MAX_KEY]!r}", node, advise_name(name, known))

    def value(self, node: YamlNode, type_: str) -> Any:
        """Return the value of an attribute from its YAML node; `type_` is the type of the attribute, such as "ints".

        A list becomes a tuple, a float the nearest float32. For a wrong value, a finding is added, and (), 0, 0.0 or ""
        is returned. For a type whose values YAML cannot state as a default, such as "graph", a finding is added, and
        None is returned.
        """
        if type_ in ("ints", "floats", "strings"):
            return tuple([self.value(each, type_[:-1]) for each in self.items(node)])
        if type_ == "string":
            return self.text(node)
        if type_ == "int":
            return self.within(node, -(2**63), 2**63 - 1, 0)
        if type_ == "float":
            if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
                return self.round_float(node, node.value)
            self.report_wrong(node, "a number")
            return 0.0
        self.report_wrong(node, f"no default (an attribute of type {type_} has none)")
        return None

    def round_float(self, node: YamlNode, value: float) -> float:
        """Return the float32 nearest to a number; if it is too large, add a finding about the node and return 0.0."""
        try:
            return float32(value)
        except OverflowError:
            self.report_wrong(node, "a number that float32 can hold")
            return 0.0

    def any_value(self, node: YamlNode) -> Any:
        """Return the value of a node without checking its type: lists as tuples, floats as the nearest float32.

        A mapping is returned as a dict. A float that is too large for float32 is 0.0, with a finding.
        """
        if isinstance(node.value, list):
            return tuple(self.any_value(each) for each in node.value)
        if isinstance(node.value, dict):
            return {key: self.any_value(each) for key, each in node.value.items()}
        return self.round_float(node, node.value) if isinstance(node.value, float) else node.value

    def read_named(self, node: YamlNode | None, read_one: Callable[[YamlNode], T]) -> dict[str, T]:
        """Return the entries of a mapping by key, with the result of `read_one` for each value.

        If the node is None, {} is returned; if it is no mapping, {} with a finding.
        """
        return {} if node is None else {key: read_one(value) for key, value in self.mapping(node).items()}

    def pair(self, read_one: Callable[[YamlNode], Any]) -> Callable[[YamlNode], list[Any]]:
        """Return a function that reads a YAML list of two items, `[old, new]`.

        The function returns the two items as a list, each read by `read_one`. If its node is no list of two items, it
        adds a finding and returns [].
        """

        def read_pair(node: YamlNode) -> list[Any]:
            """Return both items of a list, each read by `read_one`; for anything else, add a finding and return []."""
            if isinstance(node.value, list) and len(node.value) == 2:
                return [read_one(each) for each in node.value]
            self.report_wrong(node, "a list of the old and the new value")
            return []

        return read_pair
