"""Random edits after which an operator is what it was: prose, layout and spelling. EDITS has these and the others."""

from __future__ import annotations

import copy
import re

from judges.fuzz.editing import EDITS, HARMLESS, Document, Draft, attributes_of, edit, side_of, used_constraint

__all__ = ["EDITS"]


@edit(HARMLESS)
def prose_edited(draft: Draft) -> str | None:
    version = draft.released()
    texts = [key for key in ("doc", "formula") if version.get(key)]
    if texts:
        key = draft.random.choice(texts)
        words = version[key].split(" ")
        at = draft.random.randrange(len(words))
        words[at] = words[at][:1] + words[at]
        version[key] = " ".join(words)
        return f"{version['since']}: a letter twice in {key}"
    return None


@edit(HARMLESS)
def phrase_edited(draft: Draft) -> str | None:
    version = draft.released()
    described = [each for side in ("inputs", "outputs") for each in version.get(side, ()) if "doc" in each]
    described += [each for each in attributes_of(version).values() if "doc" in each]
    if not described:
        return None
    chosen = draft.random.choice(described)
    chosen["doc"] = f"{chosen['doc']}, as ever"
    return f"{version['since']}: a phrase of a parameter"


@edit(HARMLESS)
def counterpart_edited(draft: Draft) -> str | None:
    version = draft.released()
    version["counterparts"] = {**version.get("counterparts", {}), "numpy": "`numpy.something(x)`"}
    return f"{version['since']}: a counterpart"


@edit(HARMLESS)
def change_reworded(draft: Draft) -> str | None:
    version = draft.released()
    change = version.get("change", {})
    key = "meaning" if "meaning" in change else "clarified"
    if key not in change:
        return None
    change[key] = f"In other words: {change[key]}"
    return f"{version['since']}: {key} reworded"


@edit(HARMLESS)
def types_respelled(draft: Draft) -> str | None:
    version = draft.released()
    schema = draft.schema(version)
    able = [each for each in version.get("types", {}) if each in schema.types]
    name = draft.take(version, "types", able)
    if name is None or (version["since"], "types") in draft.touched:
        return None
    types = [*schema.types[name]]
    draft.random.shuffle(types)
    if draft.random.random() < 0.5:
        types = [re.sub(r"^tensor\((\w+)\)$", r"\1", each) for each in types]
    version["types"][name] = types
    return f"{version['since']}: types of {name} listed"


@edit(HARMLESS)
def keys_reordered(draft: Draft) -> str | None:
    def shuffled(mapping: Document) -> Document:
        keys = [*mapping]
        draft.random.shuffle(keys)
        return {key: mapping[key] for key in keys}

    version = draft.released()
    at = draft.versions.index(version)
    for key in ("attributes", "types", "counterparts"):
        if version.get(key):
            version[key] = shuffled(version[key])
    for side in ("inputs", "outputs"):
        version[side] = [shuffled(each) for each in version.get(side, ())]
    draft.versions[at] = {"since": version["since"], **shuffled(version)}
    return f"{version['since']}: keys in another order"


@edit(HARMLESS)
def defaults_respelled(draft: Draft) -> str | None:
    version = draft.released()
    able = [name for name, each in attributes_of(version).items() if each["type"] == "float" and "default" in each]
    name = draft.take(version, "attributes", able)
    if name is None:
        return None
    attribute = version["attributes"][name]
    before = {each.name: each.default for each in draft.schema(version).attributes.values()}
    attribute["default"] = before.get(name, attribute["default"])  # all digits of the float32
    return f"{version['since']}: default of {name} with all its digits"


@edit(HARMLESS)
def differentiable_changed(draft: Draft) -> str | None:
    version = draft.released()
    _, listed = side_of(draft, version)
    if not listed:
        return None
    parameter = draft.random.choice(listed)
    if not parameter.pop("differentiable", False):
        parameter["differentiable"] = True
    return f"{version['since']}: whether {parameter['name']} is differentiable"


@edit(HARMLESS)
def constraint_renamed(draft: Draft) -> str | None:
    version = draft.released()
    name = used_constraint(draft, version, 1)
    if name is None:
        return None
    draft.touched.add((version["since"], "types"))
    version["types"]["T98"] = version["types"].pop(name)
    for side in ("inputs", "outputs"):
        for each in version.get(side, ()):
            each["type"] = "T98" if each["type"] == name else each["type"]
    return f"{version['since']}: constraint {name} is called T98"


@edit(HARMLESS)
def example_added(draft: Draft) -> str | None:
    examples = draft.document.get("examples", [])
    if not examples:
        return None
    more = copy.deepcopy(draft.random.choice(examples)) | {"name": draft.fresh()}
    examples.insert(draft.random.randint(0, len(examples)), more)
    return f"example {more['name']} added"
