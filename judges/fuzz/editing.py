"""Random edits of an operator's YAML, each with what it is by the standard's document on versioning.

The verdict follows from how an edit is made, not from the rules of opset/workflow/breaking: an edit of a released
version that adds, removes, reorders or retypes, that changes a default or what a node may say, breaks; prose, layout
and spelling do not; and the same edit in a new version on top, at an opset that no release has, is what the document
asks for. Versions are edited with all that they share spelled out, so that an edit concerns one version alone.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from opset.schemas.model import OpSchema
from opset.schemas.yaml.likeness import complete_examples, complete_versions
from opset.schemas.yaml.reader import YamlNode

BREAKS, HARMLESS, RAISED, USELESS = "breaks", "harmless", "raised", "useless"
"""An edit of what is released; one that changes nothing; a new version on top; and a new version without a change."""

Document = dict[str, Any]
Edit = Callable[["Draft"], "str | None"]
EDITS: dict[str, tuple[str, Edit]] = {}
"""By the name of a kind of edit, its verdict and what makes it."""


@dataclass
class Draft:
    """An operator's document while it is edited; `opset` is the newest version of its domain.

    `sets` are named type sets of the folder, `others` the other operators of the domain. What is `closed` cannot be
    edited any more.
    """

    random: Random
    domain: str
    document: Document
    schemas: dict[int, OpSchema]
    opset: int
    sets: dict[str, list[str]] = field(default_factory=dict)
    others: dict[str, Document] = field(default_factory=dict)
    raised: bool = False
    deleted: bool = False
    closed: bool = False
    touched: set[tuple[Any, ...]] = field(default_factory=set)
    new: list[str] = field(default_factory=list)

    @property
    def versions(self) -> list[Document]:
        """The versions, newest first."""
        found: list[Document] = self.document["versions"]
        return found

    def released(self) -> Document:
        """Return a version that was there before the edits; the new one on top where that is what is edited."""
        if self.raised:
            return self.versions[0]
        return self.random.choice([each for each in self.versions if each["since"] in self.schemas])

    def schema(self, version: Document) -> OpSchema:
        """Return what a version was before the edits."""
        return self.schemas.get(version["since"]) or self.schemas[max(self.schemas)]

    def take(self, version: Document, part: str, names: list[Any]) -> Any:
        """Return one of some names that no edit has touched, and note that one has; None where there is none."""
        left = [each for each in names if (version["since"], part, each) not in self.touched and each not in self.new]
        if not left:
            return None
        taken = self.random.choice(left)
        self.touched.add((version["since"], part, taken))
        return taken

    def fresh(self) -> str:
        """Return a name that nothing has, and that no edit takes away again."""
        self.new.append(f"extra_{self.random.randrange(10**6)}")
        return self.new[-1]


def edit(verdict: str) -> Callable[[Edit], Edit]:
    """Return a decorator that enters an edit by its name; it returns what it did, or None where it cannot."""

    def enter(function: Edit) -> Edit:
        EDITS[function.__name__] = (verdict, function)
        return function

    return enter


def spelled(root: YamlNode) -> Document:
    """Return a document in which no version or example leaves out what it has of another one."""
    versions = [*complete_versions(root).values()]
    for version in versions:
        version.pop("like", None)
    return {**root.plain(), "versions": versions, "examples": complete_examples(root)}


# Attributes


def attributes_of(version: Document) -> dict[str, Any]:
    """Return the attributes of a version, to be edited."""
    found: dict[str, Any] = version.setdefault("attributes", {})
    return found


_VALUES: dict[str, Callable[[Random], Any]] = {
    "int": lambda random: random.randrange(-3, 9),
    "float": lambda random: random.randrange(-3, 9) / 4,
    "string": lambda random: random.choice(["left", "right", "NONE"]),
    "ints": lambda random: [random.randrange(9) for _ in range(random.randrange(1, 4))],
}


@edit(BREAKS)
def attribute_added(draft: Draft) -> str | None:
    version, name = draft.released(), draft.fresh()
    type = draft.random.choice([*_VALUES])
    added: Document = {"type": type, "doc": "more"}
    form = draft.random.choice(["default", "required", "neither"])
    if form == "default":
        added["default"] = _VALUES[type](draft.random)
    elif form == "required":
        added["required"] = True
    attributes_of(version)[name] = added
    return f"{version['since']}: attribute {name} added, {form}"


@edit(BREAKS)
def attribute_removed(draft: Draft) -> str | None:
    version = draft.released()
    name = draft.take(version, "attributes", [*attributes_of(version)])
    if name is None:
        return None
    del version["attributes"][name]
    return f"{version['since']}: attribute {name} removed"


@edit(BREAKS)
def attribute_renamed(draft: Draft) -> str | None:
    version, new = draft.released(), draft.fresh()
    name = draft.take(version, "attributes", [*attributes_of(version)])
    if name is None:
        return None
    version["attributes"][new] = version["attributes"].pop(name)
    return f"{version['since']}: attribute {name} renamed {new}"


@edit(BREAKS)
def attribute_retyped(draft: Draft) -> str | None:
    version = draft.released()
    name = draft.take(version, "attributes", [*attributes_of(version)])
    if name is None:
        return None
    old = version["attributes"][name]
    type = draft.random.choice([each for each in (*_VALUES, "tensor") if each != old["type"]])
    kept = {key: value for key, value in old.items() if key in ("required", "doc")}
    version["attributes"][name] = kept | {"type": type}
    return f"{version['since']}: attribute {name} {old['type']} -> {type}"


@edit(BREAKS)
def default_changed(draft: Draft) -> str | None:
    version = draft.released()
    able = [name for name, each in attributes_of(version).items() if "default" in each or not each.get("required")]
    name = draft.take(version, "attributes", [each for each in able if version["attributes"][each]["type"] in _VALUES])
    if name is None:
        return None
    attribute = version["attributes"][name]
    old = attribute.pop("default", None)
    if old is None or draft.random.random() < 0.8:
        values = attribute.get("choices") or [_VALUES[attribute["type"]](draft.random) for _ in range(9)]
        other = [each for each in values if each != old]
        if not other:
            return None
        attribute["default"] = draft.random.choice(other)
    return f"{version['since']}: default of {name} {old} -> {attribute.get('default')}"


@edit(BREAKS)
def requiredness_changed(draft: Draft) -> str | None:
    version = draft.released()
    name = draft.take(version, "attributes", [*attributes_of(version)])
    if name is None:
        return None
    attribute = version["attributes"][name]
    if attribute.pop("required", False):
        return f"{version['since']}: attribute {name} no longer required"
    attribute.pop("default", None)
    attribute["required"] = True
    return f"{version['since']}: attribute {name} required"


@edit(BREAKS)
def choices_changed(draft: Draft) -> str | None:
    version = draft.released()
    able = [name for name, each in attributes_of(version).items() if "choices" in each and each.get("constraint")]
    able = [each for each in able if version["attributes"][each]["type"] in ("string", "strings")]
    able = [each for each in able if version["attributes"][each].get("kind") != "data_type"]
    name = draft.take(version, "attributes", able)
    if name is None:
        return None
    attribute = version["attributes"][name]
    spare = [each for each in attribute["choices"] if each != attribute.get("default")]
    if len(attribute["choices"]) > 1 and spare and draft.random.random() < 0.5:
        gone = draft.random.choice(spare)
        attribute["choices"] = [each for each in attribute["choices"] if each != gone]
        return f"{version['since']}: choice {gone} of {name} removed"
    attribute["choices"] = [*attribute["choices"], "zigzag"]
    return f"{version['since']}: choice zigzag of {name} added"


@edit(BREAKS)
def range_changed(draft: Draft) -> str | None:
    version = draft.released()
    pattern = re.compile(r"(>=?|<=?) (-?\d+)")
    able = [name for name, each in attributes_of(version).items() if each.get("constraint") and "default" not in each]
    able = [each for each in able if pattern.fullmatch(version["attributes"][each].get("range", ""))]
    name = draft.take(version, "attributes", able)
    if name is None:
        return None
    attribute = version["attributes"][name]
    sign, number = attribute["range"].split(" ")
    attribute["range"] = f"{sign} {int(number) + draft.random.choice([-2, -1, 1, 2])}"
    return f"{version['since']}: range of {name} {sign} {number} -> {attribute['range']}"


@edit(BREAKS)
def attribute_recased(draft: Draft) -> str | None:
    version = draft.released()
    name = draft.take(version, "attributes", [each for each in attributes_of(version) if each.upper() != each])
    if name is None:
        return None
    version["attributes"][name.upper()] = version["attributes"].pop(name)
    return f"{version['since']}: attribute {name} in capitals"


@edit(BREAKS)
def default_nudged(draft: Draft) -> str | None:
    version = draft.released()
    able = [name for name, each in attributes_of(version).items() if each["type"] == "float" and "default" in each]
    name = draft.take(version, "attributes", able)
    if name is None or "range" in version["attributes"][name]:
        return None
    attribute = version["attributes"][name]
    old = float(attribute["default"])
    attribute["default"] = -old if old == 0 or draft.random.random() < 0.3 else old * (1 + 1e-6)
    return f"{version['since']}: default of {name} {old!r} -> {attribute['default']!r}"


@edit(BREAKS)
def condition_changed(draft: Draft) -> str | None:
    version = draft.released()
    able = []
    for label, said in version.get("constraints", {}).items():
        for declared in said if isinstance(said, list) else [said]:
            for kind in ("rank", "size", "values"):
                forms = declared.get(kind, {}) if isinstance(declared, dict) else {}
                able += [(label, forms, name) for name, form in forms.items() if re.search(r"\b\d+\b", str(form))]
    if not able or (version["since"], "constraints") in draft.touched:
        return None
    draft.touched.add((version["since"], "constraints"))
    label, forms, name = draft.random.choice(able)
    old = forms[name]
    changed = re.sub(r"\b(\d+)\b", lambda found: str(int(found[1]) + 1), str(old), count=1)
    forms[name] = int(changed) if isinstance(old, int) else changed
    return f"{version['since']}: {label} of {name} {old} -> {changed}"


@edit(BREAKS)
def shape_rule_changed(draft: Draft) -> str | None:
    version = draft.released()
    old = version.get("shape", "")
    if not old or len(version.get("outputs", ())) != 1 or (version["since"], "shape") in draft.touched:
        return None
    draft.touched.add((version["since"], "shape"))
    version["shape"] = "scalar" if old != "scalar" else f"same({version['inputs'][0]['name']})"
    return f"{version['since']}: shape {old} -> {version['shape']}"


# Inputs and outputs


def side_of(draft: Draft, version: Document) -> tuple[str, list[Document]]:
    """Return one side of a version, and its inputs or outputs, to be edited."""
    side = draft.random.choice(["inputs", "outputs"])
    found: list[Document] = version.setdefault(side, [])
    return side, found


def _types_of(version: Document) -> list[str]:
    return [*version.get("types", {}), "tensor(int64)", "tensor(float)"]


@edit(BREAKS)
def parameter_added(draft: Draft) -> str | None:
    version, name = draft.released(), draft.fresh()
    side, listed = side_of(draft, version)
    if (version["since"], side) in draft.touched or (listed and listed[-1].get("variadic")):
        return None
    draft.touched.add((version["since"], side))
    added: Document = {"name": name, "type": draft.random.choice(_types_of(version)), "doc": "more"}
    at = len(listed)
    if draft.random.random() < 0.6 or any(each.get("optional") for each in listed):
        added["optional"] = True
    else:
        at = draft.random.randint(0, len(listed))
    listed.insert(at, added)
    return f"{version['since']}: {side} {name} added at {at}{', optional' if 'optional' in added else ''}"


@edit(BREAKS)
def parameter_removed(draft: Draft) -> str | None:
    version = draft.released()
    side, listed = side_of(draft, version)
    name = draft.take(version, side, [each["name"] for each in listed])
    if name is None or len(listed) < 2 or (version["since"], side) in draft.touched:
        return None
    draft.touched.add((version["since"], side))
    version[side] = [each for each in listed if each["name"] != name]
    return f"{version['since']}: {side} {name} removed"


@edit(BREAKS)
def parameters_reordered(draft: Draft) -> str | None:
    version = draft.released()
    side, listed = side_of(draft, version)
    plain = [each for each in listed if not each.get("variadic")]
    if len(plain) < 2 or (version["since"], side) in draft.touched:
        return None
    draft.touched.add((version["since"], side))
    at = draft.random.randrange(len(plain) - 1)
    listed[at], listed[at + 1] = listed[at + 1], listed[at]
    first, second = listed[at], listed[at + 1]
    flags = [each.pop("optional", False) for each in (first, second)]
    for each, flag in zip((first, second), reversed(flags), strict=True):
        if flag:
            each["optional"] = True
    return f"{version['since']}: {side} {first['name']} and {second['name']} exchanged"


@edit(BREAKS)
def parameter_retyped(draft: Draft) -> str | None:
    version = draft.released()
    schema = draft.schema(version)
    side, listed = side_of(draft, version)
    name = draft.take(version, side, [each["name"] for each in listed])
    known = {each.name: each for each in (*schema.inputs, *schema.outputs)}
    if name is None or (version["since"], "types") in draft.touched:
        return None
    parameter = next(each for each in listed if each["name"] == name)
    allowed = {each: set(schema.types.get(each, (each,))) for each in _types_of(version)}
    old = set(schema.allowed_types(known[name]))
    other = [each for each, types in allowed.items() if types != old]
    if not other:
        return None
    draft.touched.add((version["since"], "types"))
    parameter["type"], was = draft.random.choice(other), parameter["type"]
    return f"{version['since']}: {side} {name} {was} -> {parameter['type']}"


@edit(BREAKS)
def arity_changed(draft: Draft) -> str | None:
    version = draft.released()
    side, listed = side_of(draft, version)
    name = draft.take(version, side, [each["name"] for each in listed])
    if name is None:
        return None
    parameter = next(each for each in listed if each["name"] == name)
    last = parameter is listed[-1]
    if parameter.get("variadic"):
        what = draft.random.choice(["single", "min_arity", "heterogeneous"])
        if what == "single":
            for key in ("variadic", "min_arity", "heterogeneous"):
                parameter.pop(key, None)
        elif what == "min_arity":
            parameter["min_arity"] = parameter.get("min_arity", 1) + 1
        elif not parameter.pop("heterogeneous", False):
            parameter["heterogeneous"] = True
    elif last and draft.random.random() < 0.3:
        what = "variadic"
        parameter.pop("optional", None)
        parameter["variadic"] = True
    elif parameter.pop("optional", False):
        what = "required"
    else:
        what = "optional"
        parameter["optional"] = True
    return f"{version['since']}: {side} {name} now {what}"


# Types


def used_constraint(draft: Draft, version: Document, least: int) -> str | None:
    """Return an untouched type constraint that parameters have, with so many types."""
    if (version["since"], "types") in draft.touched:
        return None
    schema = draft.schema(version)
    used = {each["type"] for side in ("inputs", "outputs") for each in version.get(side, ())}
    able = [name for name in version.get("types", {}) if name in used and len(schema.types.get(name, ())) >= least]
    found: str | None = draft.take(version, "types", able)
    return found


@edit(BREAKS)
def type_added(draft: Draft) -> str | None:
    version = draft.released()
    name = used_constraint(draft, version, 1)
    if name is None:
        return None
    have = set(draft.schema(version).types[name])
    could = ("float8e5m2", "string", "int4", "bool", "complex64", "bfloat16", "uint16", "seq(float)", "float4e2m1")
    full = {each: each if "(" in each else f"tensor({each})" for each in could} | {"seq(float)": "seq(tensor(float))"}
    added = draft.random.choice([each for each in could if full[each] not in have] or ["int2"])
    old = version["types"][name]
    version["types"][name] = [*(old if isinstance(old, list) else [old]), added]
    return f"{version['since']}: type {name} + {added}"


@edit(BREAKS)
def type_removed(draft: Draft) -> str | None:
    version = draft.released()
    name = used_constraint(draft, version, 2)
    if name is None:
        return None
    have = [*draft.schema(version).types[name]]
    gone = draft.random.choice(have)
    version["types"][name] = [each for each in have if each != gone]
    return f"{version['since']}: type {name} - {gone}"


@edit(BREAKS)
def type_replaced(draft: Draft) -> str | None:
    version = draft.released()
    name = used_constraint(draft, version, 2)
    if name is None:
        return None
    have = [*draft.schema(version).types[name]]
    other = [each for each in ("tensor(float8e5m2)", "tensor(string)", "tensor(int2)") if each not in have]
    if not other:
        return None
    gone, came = draft.random.choice(have), draft.random.choice(other)
    version["types"][name] = [came if each == gone else each for each in have]
    return f"{version['since']}: type {name} {gone} -> {came}"


@edit(BREAKS)
def types_untied(draft: Draft) -> str | None:
    version = draft.released()
    name = used_constraint(draft, version, 2)
    sharing = [each for side in ("inputs", "outputs") for each in version.get(side, ()) if each["type"] == name]
    if name is None or len(sharing) < 2:
        return None
    draft.touched.add((version["since"], "types"))
    version["types"]["T99"] = copy.deepcopy(version["types"][name])
    chosen = draft.random.choice(sharing)
    chosen["type"] = "T99"
    return f"{version['since']}: {chosen['name']} untied from {name}"


# Versions, flags, examples


@edit(BREAKS)
def deprecation_changed(draft: Draft) -> str | None:
    version = draft.released()
    if (version["since"], "deprecated") in draft.touched:
        return None
    draft.touched.add((version["since"], "deprecated"))
    if version.pop("deprecated", False):
        version.pop("replacement", None)
        return f"{version['since']}: no longer deprecated"
    version |= {"deprecated": True, "replacement": "Identity"}
    return f"{version['since']}: deprecated"


_PROSE = ("doc", "formula", "counterparts", "constraints")


@edit(BREAKS)
def version_deleted(draft: Draft) -> str | None:
    version = draft.released()
    if draft.raised or sum(each["since"] in draft.schemas for each in draft.versions) < 2:
        return None
    draft.versions.remove(version)
    draft.versions[-1].pop("change", None)
    return f"{version['since']}: version deleted"


@edit(BREAKS)
def since_moved(draft: Draft) -> str | None:
    version = draft.released()
    old, taken = version["since"], {each["since"] for each in draft.versions}
    at = draft.versions.index(version)
    below = draft.versions[at + 1]["since"] if at + 1 < len(draft.versions) else 0
    above = draft.versions[at - 1]["since"] if at else draft.opset + 3
    free = [each for each in range(below + 1, above) if each not in taken]
    if draft.raised or not free:
        return None
    version["since"], draft.closed = draft.random.choice(free), True
    return f"{old}: since {version['since']}"


@edit(BREAKS)
def versions_exchanged(draft: Draft) -> str | None:
    """What two versions say changes places, though not their prose."""
    if draft.raised or len(draft.versions) < 2:
        return None
    at = draft.random.randrange(len(draft.versions) - 1)
    upper, lower = draft.versions[at : at + 2]
    schemas = [draft.schemas.get(each["since"]) for each in (upper, lower)]
    if None in schemas or schemas[0].types == schemas[1].types:  # type: ignore[union-attr]
        return None
    for key in ("inputs", "outputs", "attributes", "types", "shape", "function"):
        old = upper.pop(key, None), lower.pop(key, None)
        for version, content in zip((lower, upper), old, strict=True):
            if content is not None:
                version[key] = content
    draft.closed = True
    return f"{upper['since']}: exchanged with {lower['since']}"


@edit(BREAKS)
def shared_by_mistake(draft: Draft) -> str | None:
    """A version on top with more types, and the one below shares them."""
    newest = draft.versions[0]
    if draft.raised or newest["since"] not in draft.schemas or (newest["since"], "types") in draft.touched:
        return None
    used = {each["type"] for side in ("inputs", "outputs") for each in newest.get(side, ())}
    able = [name for name in newest.get("types", {}) if name in used]
    have = {each for name in able for each in draft.schemas[newest["since"]].types.get(name, ())}
    if not able or "tensor(float6e2m3)" in have:
        return None
    raise_version(draft)
    draft.raised, draft.closed = False, True
    name = draft.random.choice(able)
    old = newest.pop("types")
    draft.versions[0]["types"] = old | {
        name: [*(old[name] if isinstance(old[name], list) else [old[name]]), "float6e2m3"]
    }
    newest |= {"like": draft.versions[0]["since"]}
    return f"{newest['since']}: shares types of a new version that allows more"


def _copy_of(version: Document, since: int) -> Document:
    """Return a version that repeats another one."""
    change = {"meaning": "More is legal.", "adapters": {"up": "derived", "down": "derived"}}
    kept = {key: copy.deepcopy(value) for key, value in version.items() if key not in ("since", "change")}
    return {"since": since, "change": change, **kept}


@edit(BREAKS)
def version_inserted(draft: Draft) -> str | None:
    """A version at an opset that is released: above the newest of the operator, or between two."""
    if draft.raised:
        return None
    at = draft.random.randrange(len(draft.versions))
    above = draft.versions[at - 1]["since"] if at else draft.opset + 1
    free = [*range(draft.versions[at]["since"] + 1, above)]
    if not free:
        return None
    version = _copy_of(draft.versions[at], draft.random.choice(free))
    version |= {key: copy.deepcopy(draft.versions[0][key]) for key in _PROSE if key in draft.versions[0]}
    attributes_of(version)[draft.fresh()] = {"type": "int", "default": 0, "doc": "more"}
    draft.versions.insert(at, version)
    return f"{version['since']}: version inserted"


def _number(content: Any) -> Any:
    """Return content with its first number changed; None where there is none."""
    if isinstance(content, bool):
        return not content
    if isinstance(content, int | float):
        return content + 1 if content == content and abs(content) < 100 else 0
    if isinstance(content, list):
        for index, each in enumerate(content):
            changed = _number(each)
            if changed is not None:
                return [*content[:index], changed, *content[index + 1 :]]
    return None


def _example(draft: Draft, key: str) -> Document | None:
    """Return an example that was there before, and has a key."""
    able = {each["name"]: each for each in draft.document.get("examples", ()) if each.get(key)}
    return able.get(draft.take({"since": 0}, "examples", [*able])) if not draft.raised else None


@edit(BREAKS)
def expected_value_changed(draft: Draft) -> str | None:
    example = _example(draft, "outputs")
    if example is None:
        return None
    for value in example["outputs"]:
        for type, content in (value or {}).items():
            changed = _number(content) if type not in ("shape", "indices", "string") else None
            if changed is not None and ((type[:4] != "uint" and type[:3] != "int") or not isinstance(changed, float)):
                value[type] = changed
                return f"example {example['name']}: expects {str(content)[:40]} -> {str(changed)[:40]}"
    return None


@edit(BREAKS)
def error_relabelled(draft: Draft) -> str | None:
    example = _example(draft, "error")
    if example is None:
        return None
    labels = {label for each in draft.versions for label in each.get("constraints", {})} - {example["error"]}
    if not labels:
        return None
    example["error"], old = draft.random.choice(sorted(labels)), example["error"]
    return f"example {example['name']}: breaks {old} -> {example['error']}"


# Inventory


def small(name: str, since: int) -> Document:
    """Return the document of an operator that does little."""
    values: Document = {"name": "X", "type": "T", "doc": "values"}
    version = {"since": since, "doc": "As it is.", "inputs": [values], "outputs": [values | {"name": "Y"}]}
    return {"operator": name, "family": "example", "versions": [version | {"types": {"T": ["float", "double"]}}]}


@edit(BREAKS)
def operator_deleted(draft: Draft) -> str | None:
    if draft.raised:
        return None
    draft.deleted = draft.closed = True
    return "operator deleted"


@edit(BREAKS)
def operator_renamed(draft: Draft) -> str | None:
    if draft.raised:
        return None
    draft.document["operator"] += "Again"
    return f"operator called {draft.document['operator']}"


@edit(BREAKS)
def domain_renamed(draft: Draft) -> str | None:
    if draft.raised:
        return None
    draft.domain = "com.renamed"
    return f"domain called {draft.domain}"


@edit(BREAKS)
def operator_added_late(draft: Draft) -> str | None:
    since = draft.random.randint(1, draft.opset)
    draft.others["Newcomer"] = small("Newcomer", since)
    return f"operator added at opset {since} of {draft.opset}"


@edit(BREAKS)
def type_set_edited(draft: Draft) -> str | None:
    if not draft.sets or draft.raised:
        return None
    name, types = draft.random.choice([*draft.sets.items()])
    if len(types) > 1 and draft.random.random() < 0.5:
        draft.sets[name] = types[1:]
    else:
        draft.sets[name] = [*types, "float4e2m1" if "tensor(float4e2m1)" not in types else "int2"]
    return f"type set {name} edited"


@edit(HARMLESS)
def operator_added(draft: Draft) -> str | None:
    draft.others["Later"] = small("Later", draft.opset + 1)
    return f"operator added at the new opset {draft.opset + 1}"


def name_a_type_set(draft: Draft) -> None:
    """Let a version name the types of a constraint by a set of the folder, before anything is edited."""
    version = draft.random.choice(draft.versions)
    used = {each["type"] for side in ("inputs", "outputs") for each in version.get(side, ())}
    able = [name for name in version.get("types", {}) if name in used]
    if able:
        name = draft.random.choice(able)
        draft.sets["own_types"] = [*draft.schemas[version["since"]].types[name]]
        version["types"][name] = "own_types"
        draft.touched.add((version["since"], "types"))


def raise_version(draft: Draft) -> str:
    """Put a new version on top, at the first opset that no release has; what is edited then is that one."""
    newest = draft.versions[0]
    draft.versions.insert(0, _copy_of(newest, draft.opset + 1))
    for key in ("function", "deprecated", "replacement"):  # a body may not take more; what is withdrawn gets no version
        draft.versions[0].pop(key, None)
    draft.raised = True
    return f"{draft.opset + 1}: version on top of {newest['since']}"


def useless_version(draft: Draft) -> str:
    """Put a new version on top that is as the one before."""
    done = raise_version(draft)
    draft.versions[0]["change"] = {"adapters": {"up": "derived", "down": "derived"}}
    if "function" in draft.versions[1]:
        draft.versions[0]["function"] = copy.deepcopy(draft.versions[1]["function"])
    return f"{done}, the same"
