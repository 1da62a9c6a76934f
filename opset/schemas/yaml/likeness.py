"""Completes a version that is `like` a newer one, and an example that is `like` one above.

A key that is not written is inherited, and a key that is null is left out. `attributes`, `types`, `constraints` and
`counterparts` are inherited entry by entry, an attribute of a version key by key. A list of parameters names all
parameters in their order: a bare name is inherited whole, and a mapping has the keys that differ.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from opset.schemas.yaml.fields import Fields
from opset.schemas.yaml.reader import Findings, YamlNode

PARAMETERS = ("inputs", "outputs")
DEPTHS = {"attributes": 2, "types": 1, "constraints": 1, "counterparts": 1}
"""Keys of a version that go on entry by entry, and those of which the entries do, too."""
EXAMPLE_DEPTHS = {"attributes": 1}
OWN_KEYS = ("since", "change", "like")
"""What a version says of itself alone."""
EXAMPLE_OWN_KEYS = ("name", "like")


class Likeness(Fields):
    """Completes versions and examples that have the key `like` by the keys that they inherit."""

    def complete_version(self, fields: Mapping[str, YamlNode], other: Mapping[str, YamlNode]) -> dict[str, YamlNode]:
        """Return all keys of a version: its own, and the keys that it inherits from the version `other` by `like`.

        A key in DEPTHS, such as "types", is inherited entry by entry: the version gets the entries that it lacks. Each
        input or output in `fields` is completed by the parameter of the same name in `other`. Faults are added as
        findings.

        Args:
            fields: The keys that the version has in YAML; one with null is left out of the result.
            other: All keys of the other version, inherited ones included; its keys in OWN_KEYS are not inherited.
        """
        found = self._inherit(fields, other, OWN_KEYS, DEPTHS)
        for key in PARAMETERS:
            if key in fields and isinstance(fields[key].value, list):
                found[key] = self._parameters(key, fields[key], other.get(key))
        return found

    def complete_example(self, fields: Mapping[str, YamlNode], other: Mapping[str, YamlNode]) -> dict[str, YamlNode]:
        """Return all keys of an example: its own, and the keys that it inherits from the example `other` by `like`.

        `fields` are the keys that the example has in YAML; one with null is left out of the result. `other` has all
        keys of the other example, inherited ones included; its keys in EXAMPLE_OWN_KEYS are not inherited.
        """
        return self._inherit(fields, other, EXAMPLE_OWN_KEYS, EXAMPLE_DEPTHS)

    def _inherit(
        self,
        fields: Mapping[str, YamlNode],
        other: Mapping[str, YamlNode],
        own: Collection[str],
        depths: Mapping[str, int],
    ) -> dict[str, YamlNode]:
        """Return the keys in `fields`, and the keys that only `other` has.

        A key that is null in `fields` is left out. If `other` does not have this key, a finding S107 is added. The size
        of the inherited keys is charged to the budget. Raises SchemaError if the budget is used up.

        Args:
            fields: The keys of a version or example in YAML, `like` included.
            other: All keys of the version or example that it is like.
            own: The keys that are never inherited.
            depths: The keys whose entries are merged, each with the number of levels, such as {"types": 1}. Entries in
                `fields` win. A key that is not in `depths` is not merged: its value in `fields` is returned.
        """
        shared = {key: each for key, each in other.items() if key not in own}
        self.findings.charge(sum(each.size() for each in shared.values()), fields["like"])
        return self._merge_entries(fields, shared, depths)

    def _merge(self, own: YamlNode, other: YamlNode, depth: int) -> YamlNode:
        """Return a mapping with the entries of `own`, and the entries that only `other` has.

        A null in `own` removes the entry of `other`. If both have an entry, the two values are merged in the same way,
        `depth` - 1 levels deep. If `depth` is 0, or `own` or `other` is no mapping, `own` is returned unchanged.
        """
        if not depth or not isinstance(own.value, dict) or not isinstance(other.value, dict):
            return own
        entries = self._merge_entries(own.value, other.value, dict.fromkeys(own.value, depth - 1))
        return YamlNode(entries, own.line, own.column, other.keys | own.keys)

    def _merge_entries(
        self, own: Mapping[str, YamlNode], other: Mapping[str, YamlNode], depths: Mapping[str, int]
    ) -> dict[str, YamlNode]:
        """Return the entries of `own`, and the entries that only `other` has.

        An entry of `own` replaces the entry of `other` with the same key. With {"types": 1} as `depths`, the mappings
        at the key "types" are merged instead, one level deep. A null in `own` removes the entry of `other`. A finding
        S107 is added if `other` has no such entry.
        """
        found = dict(other)
        for key, each in own.items():
            if each.value is not None:
                found[key] = self._merge(each, other[key], depths.get(key, 0)) if key in other else each
            elif key in found:
                del found[key]
            else:
                self.findings.add("S107", f"there is no {key!r} that null would leave out", each)
        return found

    def _parameters(self, key: str, node: YamlNode, other: YamlNode | None) -> YamlNode:
        """Return the list of inputs or outputs at `node`, completed by the parameters in the list `other`.

        A mapping gets the keys that it lacks from the parameter of the same name. A bare name is replaced by the
        parameter of this name; if there is none, it is left out, with a finding. `key` is "inputs" or "outputs".
        """
        others = [] if other is None else self.items(other)
        known = {name: each for each in others if (name := _parameter_name(each))}
        found = []
        for each in node.value:
            shared = known.get(_parameter_name(each))
            if isinstance(each.value, str):
                if shared is None:
                    self.report_unknown(each, key[:-1], each.value, known)
                    continue
                found.append(shared)
            else:
                found.append(self._merge(each, shared, 1) if shared is not None else each)
        return YamlNode(found, node.line, node.column)


def _parameter_name(parameter: YamlNode) -> str:
    """Return the name of a parameter in YAML, which is text or a mapping; "" if it is faulty."""
    value = parameter.value
    if isinstance(value, dict):
        value = value["name"].value if "name" in value else ""
    return value if isinstance(value, str) else ""


def complete_versions(root: YamlNode) -> dict[int, dict[str, Any]]:
    """Return the keys of each version in an operator's document, by since_version, as plain data.

    Keys that a version inherits by `like` are included. The document must have no faults.
    """
    complete: dict[int, dict[str, YamlNode]] = {}
    likeness = Likeness(Findings(""))
    for node in sorted(root.value["versions"].value, key=lambda each: -each.value["since"].value):
        fields = node.value
        if "like" in fields:
            fields = likeness.complete_version(fields, complete[fields["like"].value])
        complete[fields["since"].value] = fields
    return {since: {key: each.plain() for key, each in fields.items()} for since, fields in complete.items()}


def complete_examples(root: YamlNode) -> list[dict[str, Any]]:
    """Return the keys of each example in an operator's document, as plain data, without `like`.

    Keys that an example inherits by `like` are included. The document must have no faults.
    """
    complete: dict[str, dict[str, YamlNode]] = {}
    likeness = Likeness(Findings(""))
    for node in root.value["examples"].value if "examples" in root.value else ():
        fields = node.value
        if "like" in fields:
            fields = likeness.complete_example(fields, complete[fields["like"].value])
        complete[fields["name"].value] = {key: each for key, each in fields.items() if key != "like"}
    return [{key: each.plain() for key, each in fields.items()} for fields in complete.values()]


def shorten_version(own: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that a version has to write in YAML if it has the key `like`, and so inherits from `other`.

    `own` and `other` have all keys of the two versions. A key, or an entry, that only `other` has is None in the
    result. `complete_version` does the reverse.
    """
    found = _shorten(own, other, OWN_KEYS, DEPTHS)
    for key in PARAMETERS:
        if found.get(key) is None:
            continue
        known = {each["name"]: each for each in other.get(key, ())}
        found[key] = []
        for each in own[key]:
            name = {"name": each["name"]}
            left = name | _differing_part(each, known.get(each["name"], name), 1)
            found[key].append(left if len(left) > 1 or each["name"] not in known else each["name"])
    return found


def shorten_example(own: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys that an example has to write in YAML if it has the key `like`, and so inherits from `other`.

    `own` and `other` have all keys of the two examples. A key, or an entry, that only `other` has is None in the
    result. `complete_example` does the reverse.
    """
    return _shorten(own, other, EXAMPLE_OWN_KEYS, EXAMPLE_DEPTHS)


def _shorten(
    own: Mapping[str, Any], other: Mapping[str, Any], always: Collection[str], depths: Mapping[str, int]
) -> dict[str, Any]:
    """Return the entries of `own` that differ from `other`, and None for each entry that only `other` has.

    Args:
        own: A mapping.
        other: The mapping with which it is compared.
        always: Keys that are not compared. An entry of `own` with such a key is always returned. If only `other` has
            the key, nothing is returned for it.
        depths: For keys with mappings, the number of levels that are compared. Of such a mapping, only the entries that
            differ are returned.
    """
    found: dict[str, Any] = {key: each for key, each in own.items() if key in always}
    for key, each in own.items():
        if not (key in other and _is_same(each, other[key])):
            found[key] = _differing_part(each, other[key], depths.get(key, 0)) if key in other else each
    return found | {key: None for key in other if key not in own and key not in always}


def _differing_part(own: Any, other: Any, depth: int) -> Any:
    """Return the entries of the mapping `own` that differ from the mapping `other`, compared `depth` levels deep.

    An entry that only `other` has is None in the result. If `depth` is 0, `own` is returned unchanged.
    """
    return _shorten(own, other, (), dict.fromkeys(own, depth - 1)) if depth else own


def _is_same(own: Any, other: Any) -> bool:
    """Whether two values are equal as written: 0.0 is not -0.0, 1 is not true, and the order of entries counts."""
    return repr(own) == repr(other)
