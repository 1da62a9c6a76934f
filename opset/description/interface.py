"""What changed in the interface of a model, and which version the change needs by the standard's versioning document.

    compare_interfaces("old.onnx", "new.onnx").level == "MINOR"

The interface is what callers rely on: names, order, types and defaults of the main graph's inputs, and names, order and
types of its outputs. Each kind of change has a level in KINDS, and the greatest one is that of the model. The document
states some of them; the others are our reading of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

from opset.budget import BudgetExceeded, Limits
from opset.description.content_changes import content_changes
from opset.description.contents import described_value
from opset.description.type_changes import Relation, TypeChange, TypeComparison
from opset.errors import KEPT, LONGEST, Finding, InferenceError, ModelError, VersionError, listing, quote, safe_text
from opset.file_names import list_paths
from opset.html_text import Table, html_of, one_line
from opset.inference.building.work import charge_to, default_budget
from opset.model import Model, load
from opset.model.model_version import LEVELS, Level, ModelVersion
from opset.options import checked_options


class ChangeKind(NamedTuple):
    """A kind of change: its level, whether the versioning document states it, and why it has that level."""

    level: Level
    stated: bool
    why: str


KINDS: Final[Mapping[str, ChangeKind]] = {
    "input-added": ChangeKind("MAJOR", True, "callers do not feed an input that is new and has no default"),
    "input-removed": ChangeKind("MAJOR", False, "callers may feed an input that is gone"),
    "input-renamed": ChangeKind("MAJOR", False, "callers feed an input by the name that it had"),
    "input-order": ChangeKind("MAJOR", False, "callers may feed inputs by position"),
    "input-default-removed": ChangeKind("MAJOR", False, "callers may leave out an input that had a default"),
    "input-type": ChangeKind("MAJOR", True, "no value that callers feed is of the new type"),
    "input-narrowed": ChangeKind("MAJOR", False, "some values that callers feed are no longer taken"),
    "input-meaning": ChangeKind("MAJOR", True, "the contents that the input needs are others"),
    "output-removed": ChangeKind("MAJOR", True, "callers read an output that is gone"),
    "output-renamed": ChangeKind("MAJOR", False, "callers read an output by the name that it had"),
    "output-order": ChangeKind("MAJOR", False, "callers may read outputs by position"),
    "output-type": ChangeKind("MAJOR", True, "no value that callers read is of the type that they know"),
    "output-widened": ChangeKind("MAJOR", False, "callers may read values that did not occur before"),
    "output-meaning": ChangeKind("MAJOR", True, "the contents of the output are others"),
    "image-format": ChangeKind("MAJOR", False, "inputs or outputs that are images have other contents"),
    "input-added-with-default": ChangeKind("MINOR", True, "callers need not feed the new input"),
    "input-default-added": ChangeKind("MINOR", False, "callers may leave out the input now"),
    "input-type-widened": ChangeKind(
        "MINOR", True, "the new type has each value of the old one; callers may have to cast"
    ),
    "input-widened": ChangeKind("MINOR", True, "more values are taken, beside all that were"),
    "output-added": ChangeKind("MINOR", False, "callers do not read the new output"),
    "output-type-widened": ChangeKind(
        "MINOR", True, "the new type has each value of the old one; callers may have to cast"
    ),
    "output-narrowed": ChangeKind("MINOR", False, "all values that occur did before"),
    "nodes": ChangeKind("PATCH", True, "it changes accuracy or speed, and not what callers feed and read"),
    "weights": ChangeKind("PATCH", True, "it changes accuracy or speed, and not what callers feed and read"),
    "annotations": ChangeKind("PATCH", False, "it says more or less of values that are the same"),
    "documentation": ChangeKind("PATCH", False, "it is for people"),
    "ir-version": ChangeKind("PATCH", False, "model versions are independent of it; a consumer reads it by itself"),
    "opset-import": ChangeKind("PATCH", False, "model versions are independent of it; a consumer reads it by itself"),
    "other": ChangeKind("PATCH", False, "callers do not rely on it"),
}
"""All kinds of changes by name."""

_INPUT_KINDS: Final[Mapping[Relation, str]] = {
    "meaning": "input-meaning",
    "type": "input-type",
    "sizes": "input-type",
    "type-widened": "input-type-widened",
    "narrowed": "input-narrowed",
    "widened": "input-widened",
}
_OUTPUT_KINDS: Final[Mapping[Relation, str]] = {
    relation: kind.replace("input", "output") for relation, kind in _INPUT_KINDS.items()
}
_IMAGE_KEYS: Final = ("image.bitmappixelformat", "image.colorspacegamma", "image.nominalpixelrange")
"""The properties about the contents of images, in lower case: the standard ignores case in them."""


class InterfaceChange(NamedTuple):
    """A change from an old model to a new one: its level, kind and place, both states there, and why it has that level.

    `stated` says that the versioning document names such a change, and the level is not our reading of it.
    """

    level: Level
    kind: str
    place: str
    before: str
    after: str
    why: str
    stated: bool


@dataclass(frozen=True, repr=False)
class InterfaceComparison:
    """The level of what changed from an old model to a new one, the changes, and what that means for the version.

    Changes are ordered by level, MAJOR first; `omitted` is the number of those beyond the first thousand.
    `next_version` is the lowest version for the new model that follows from the old one's, None if none is left.
    Versions are texts, such as "1.2.3", or "7" for a plain number; a model without a version has "0".
    """

    level: Level
    changes: Sequence[InterfaceChange]
    omitted: int
    version_before: str
    version_after: str
    next_version: str | None

    def __repr__(self) -> str:
        """Return one line with the level, the number of changes, and the versions."""
        count = len(self.changes) + self.omitted
        versions = f"{self.version_before} -> {self.version_after}, next {self.next_version}"
        return one_line("InterfaceComparison", f"{self.level}: {count:,} changes; version {versions}")

    def _repr_html_(self) -> str:
        """Return a table of the changes, for notebooks."""
        tables = [Table("changes", InterfaceChange._fields, self.changes)]
        return html_of(repr(self).strip("<>"), tables)


class _InterfaceValues(NamedTuple):
    """The inputs or outputs of a model by name, in order, and the names of those with a default."""

    values: dict[Any, Any]
    defaults: frozenset[Any] = frozenset()


@checked_options
def compare_interfaces(
    old: Any, new: Any, *, allow_external_roots: Iterable[str | Path] = (), limits: Limits | None = None
) -> InterfaceComparison:
    """Return how far a model changed for its callers, with each change and the version that follows.

    Args:
        old: The model before: a path, bytes, an opset.Model, or a ModelProto of the onnx package.
        new: The model after, in any of these forms.
        allow_external_roots: Folders outside the models' own from which external data may be read. It is read only if
            all else is equal.
        limits: How much work symbolic sizes may take; without them, that is in proportion to the models.

    Returns:
        The comparison; its level is "MAJOR", "MINOR", "PATCH" or "NONE".

    Raises:
        ModelError: A model is malformed.
        InferenceError: I401, sizes of inputs and outputs take more work than the limits allow.
    """
    roots = list_paths(allow_external_roots)
    return compare_loaded(load(old, allow_external_roots=roots), load(new, allow_external_roots=roots), limits)


def compare_loaded(old: Model, new: Model, limits: Limits | None) -> InterfaceComparison:
    """Return the comparison of two models that were loaded, as `compare_interfaces` does.

    Raises ModelError (M109) if one has no graph, and InferenceError (I401) as `compare_interfaces` does.
    """
    for model in (old, new):
        if not model.proto.HasField("graph"):
            raise ModelError(Finding("M109", "the model has no graph", file=model.path or ""))
    budget = default_budget(old.proto.ByteSize() + new.proto.ByteSize(), limits or Limits())
    try:
        with charge_to(budget):
            found: list[_Found] = [*_interface_changes(old.proto, new.proto)]
    except BudgetExceeded as exhausted:
        place = "sizes of inputs and outputs"
        help = "allow more: opset.compare_interfaces(old, new, limits=opset.Limits(max_steps=…))"
        finding = Finding("I401", "the comparison was stopped", place, exhausted.why, help, new.path or "")
        raise InferenceError(finding) from None
    found += content_changes(old, new, same_interface=not found)
    changes = [
        InterfaceChange(KINDS[kind].level, kind, place, before, after, KINDS[kind].why, KINDS[kind].stated)
        for kind, place, before, after in found
    ]
    changes.sort(key=lambda change: -LEVELS.index(change.level))
    level: Level = changes[0].level if changes else "NONE"
    before, after = (ModelVersion.of(model.proto.model_version) for model in (old, new))
    try:
        following = str(before.after(level))
    except VersionError:
        following = None
    omitted = max(len(changes) - KEPT, 0)
    return InterfaceComparison(level, changes[:KEPT], omitted, str(before), str(after), following)


def version_for(comparison: InterfaceComparison, wanted: ModelVersion | None = None) -> ModelVersion:
    """Return the version for the new model of a comparison: the wanted one, or the lowest that follows.

    Raises:
        VersionError: V101 if the wanted version is too low for what changed, V102 if none is left that follows.
    """
    before = ModelVersion.parse(comparison.version_before)
    lowest = before.after(comparison.level)
    if wanted is None or wanted >= lowest:
        return wanted or lowest
    why = f"the old model has {before}, and the change is {comparison.level}"
    help = f"give {lowest} or a higher one, or leave it out: --set-version"
    raise VersionError(Finding("V101", f"{wanted} is too low for what changed", why=why, help=help))


def with_version(model: Model, version: ModelVersion) -> Model:
    """Return a copy of a model with another `model_version`, over the same data. The given model stays unchanged."""
    message = type(model.proto)()
    message.CopyFrom(model.proto)
    message.model_version = version.number
    return model.with_proto(message)


_Found: TypeAlias = tuple[str, str, str, str]
"""A change as it is found: kind, place, both states."""


def _interface_changes(old: Any, new: Any) -> Iterator[_Found]:
    """Yield the changes of inputs and outputs between two ModelProtos: (kind, place, before, after).

    Changes of the format of images, as metadata states it, are among these if both models state it.
    """
    types = TypeComparison()
    inputs = _inputs_of(old), _inputs_of(new)
    pairs = _pair_names(*inputs)
    yield from _list_changes("input", *inputs, pairs)
    changes = types.compare_inputs([(inputs[0].values[a].type, inputs[1].values[b].type) for a, b in pairs])
    yield from _type_changes("input", pairs, changes)
    outputs = _InterfaceValues(_by_name(old.graph.output)), _InterfaceValues(_by_name(new.graph.output))
    pairs = _pair_names(*outputs)
    yield from _list_changes("output", *outputs, pairs)
    changes = types.compare_outputs([(outputs[0].values[a].type, outputs[1].values[b].type) for a, b in pairs])
    yield from _type_changes("output", pairs, changes)
    formats = _image_formats(old), _image_formats(new)
    for key in formats[0]:
        if key in formats[1] and formats[0][key].lower() != formats[1][key].lower():
            yield "image-format", f"metadata {quote(key)}", safe_text(formats[0][key]), safe_text(formats[1][key])


def _inputs_of(proto: Any) -> _InterfaceValues:
    """Return the inputs of a ModelProto that callers may feed, and which of them have a default.

    Before IR version 4, each initializer had to be an input, too: such inputs are left out.
    """
    values = _by_name(proto.graph.input)
    constants = {each.name for each in proto.graph.initializer}
    constants |= {each.values.name for each in proto.graph.sparse_initializer}
    if proto.ir_version < 4:
        return _InterfaceValues({name: value for name, value in values.items() if name not in constants})
    return _InterfaceValues(values, frozenset(constants & values.keys()))


def _by_name(values: Iterable[Any]) -> dict[Any, Any]:
    """Return {name: value}; of several values with one name, the first counts."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(value.name, value)
    return found


def _pair_names(old: _InterfaceValues, new: _InterfaceValues) -> list[tuple[Any, Any]]:
    """Return (old name, new name) for each old input or output that is still there, in the old order.

    One counts as renamed if a value of exactly the same type is at the same position, both or neither have a default,
    and each name is on one side only.
    """
    pairs = []
    for (name, value), (other, now) in zip(old.values.items(), [*new.values.items()], strict=False):
        if name not in new.values and other not in old.values:
            same_default = (name in old.defaults) == (other in new.defaults)
            if same_default and value.type.SerializeToString() == now.type.SerializeToString():
                pairs.append((name, other))
    renamed = dict(pairs)
    names = [(name, renamed.get(name, name)) for name in old.values]
    return [(name, other) for name, other in names if other in new.values]


def _list_changes(
    noun: str, old: _InterfaceValues, new: _InterfaceValues, pairs: Sequence[tuple[Any, Any]]
) -> Iterator[_Found]:
    """Yield the changes of the names, the order and the defaults of inputs or outputs: (kind, place, before, after).

    `noun` is "input" or "output". `pairs` are those that are in both models, as (old name, new name).
    """
    kept, now = {name for name, _ in pairs}, [other for _, other in pairs]
    for name, value in old.values.items():
        if name not in kept:
            yield f"{noun}-removed", f"{noun} {quote(name)}", _type_of(value), ""
    for name, other in pairs:
        if name != other:
            yield f"{noun}-renamed", f"{noun} {quote(name)}", quote(name), quote(other)
        if (name in old.defaults) != (other in new.defaults):
            kind = "input-default-removed" if name in old.defaults else "input-default-added"
            yield kind, f"input {quote(other)}", "", ""
    known = {*now}
    for name, value in new.values.items():
        if name not in known:
            kind = "input-added-with-default" if name in new.defaults else f"{noun}-added"
            yield kind, f"{noun} {quote(name)}", "", _type_of(value)
    if [*new.values][: len(now)] != now:
        yield f"{noun}-order", f"{noun}s", listing([*old.values]), listing([*new.values])


def _type_changes(
    noun: str, pairs: Sequence[tuple[Any, Any]], changes: Sequence[Sequence[TypeChange]]
) -> Iterator[_Found]:
    """Yield the changes of the types of inputs or outputs: (kind, place, before, after).

    `noun` is "input" or "output". `pairs` are (old name, new name), and `changes` has the changes of each pair.
    """
    kinds = _INPUT_KINDS if noun == "input" else _OUTPUT_KINDS
    for (_, name), each in zip(pairs, changes, strict=True):
        for change in each:
            place = f"{noun} {quote(name)}{change.part and ', ' + change.part}"
            yield kinds[change.relation], place, change.before, change.after


def _type_of(value: Any) -> str:
    """Return the type of an input or output as text, "tensor(float)[N, 3]"; "no stated type" if it states none."""
    return safe_text(described_value(value).type or "no stated type", LONGEST)


def _image_formats(proto: Any) -> dict[str, str]:
    """Return the metadata of a ModelProto about the contents of images: {key in lower case: value}.

    Only the keys in _IMAGE_KEYS, in any case of letters, are returned.
    """
    pairs = ((safe_text(each.key), safe_text(each.value)) for each in proto.metadata_props)
    return {key.lower(): value for key, value in pairs if key.lower() in _IMAGE_KEYS}
