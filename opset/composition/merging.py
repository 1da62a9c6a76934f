"""Merging: two models as one, in which outputs of the first are inputs of the second.

    merge("a.onnx", "b.onnx", {"y": "x"}).save("whole.onnx")
    merge("a.onnx", "b.onnx", {"y": "x"}, prefixes=("a/", "b/"), to=21)

The models are brought to the same versions of operator sets, and names of the second that the first has are changed.
Weights are not read, and nothing recurses; the work is linear in the size of both models.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from opset.budget import ALLOW_MORE, BudgetExceeded, Limits
from opset.composition.renaming import (
    ValueRenaming,
    fresh_names,
    graph_bodies,
    names_of_nodes,
    names_of_values,
    rename_nodes,
    separate_functions,
)
from opset.composition.sizes import JoinedSizes, type_conflict
from opset.errors import ConversionError, Finding, FindingList, UsageError, listing, quote, safe_text
from opset.file_names import list_paths
from opset.inference.building.types import Type, fill_proto
from opset.inference.building.work import charge_to, default_budget
from opset.model import load
from opset.model import proto as pb
from opset.model.graph.index import FreshNames, ModelIndex, messages_of, normalize_domain
from opset.model.graph.walking import function_key
from opset.model.storage import external
from opset.model.storage.container import Model
from opset.model.strings import join_strings, set_string
from opset.opsets.registry import Registry, Schemas, registry_with
from opset.options import checked_options
from opset.preparation import read_model
from opset.schemas.names import domain_name, near_miss
from opset.version_converter import Conversion, Target, convert_model, target_of
from opset.version_converter.calls import function_label
from opset.version_converter.lazy_inference import LazyInference
from opset.version_converter.replacement import set_entries

Connections = Mapping[str, str] | Iterable[tuple[str, str]] | None
"""Outputs of a first model with the inputs of a second one that take them."""
INITIALIZERS_APART = 4
"""The IR version from which initializers that inputs list may be overridden."""


class Joint(NamedTuple):
    """How two models are joined: connections, prefixes for the names of each, the target, and what messages call them.

    Without connections, outputs of the first are connected to inputs of the second that have their names.
    """

    connect: Connections = None
    prefixes: tuple[str, str] = ("", "")
    target: Target | None = None
    labels: tuple[str, str] = ("the first model", "the second model")


@dataclass
class Merging:
    """A model made of two: its connections, new names, versions, and notes.

    - `connected`: pairs of an output, or an input, of the first model and an input of the second;
    - `interface`: new names of inputs and outputs of each model, by the old ones;
    - `values`, `nodes`: how many values and nodes have another name; `functions`: new names of functions by label;
    - `sizes`: what dimension variables of each model became.
    """

    model: Model
    connected: list[tuple[str, str]]
    interface: tuple[dict[str, str], dict[str, str]]
    values: int
    nodes: int
    functions: dict[str, str]
    sizes: tuple[dict[str, str], dict[str, str]]
    opsets: dict[str, int]
    notes: list[str]


@checked_options
def merge(
    first: Any,
    second: Any,
    connect: Connections = None,
    *,
    prefixes: tuple[str, str] = ("", ""),
    to: int | str | Mapping[str, int] | None = None,
    release: str | None = None,
    runtime: str | None = None,
    ir_version: int | None = None,
    schemas: Schemas = (),
    targets: Iterable[str | Path] = (),
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
) -> Any:
    """Return two models as one, in which outputs of the first are inputs of the second; the given ones are not touched.

    Args:
        first: A path, bytes, an opset.Model, or a ModelProto of the onnx package.
        second: The same.
        connect: Inputs of the second model by the outputs of the first that they take; an input of the first may stand
            there, too, which both then share. Without it, outputs are connected to the inputs that have their names.
        prefixes: Prefixes for the names of values and nodes of each model. Without them, only names of the second that
            the first has change.
        to: An opset version, as of `convert`; without a target, the greater version of both models.
        release: A release of ONNX ("1.15") in place of `to`.
        runtime: A release of a runtime ("onnxruntime==1.17") in place of `to`.
        ir_version: The IR version of the result; without it, the greater of both.
        schemas: Folders of operator YAML, for domains of your own.
        targets: YAML files that describe further runtimes.
        allow_external_roots: Folders outside the models' own from which external data may be read.
        limits: How much conversions and inference may do; without them, that is in proportion to the models.

    Returns:
        A ModelProto of the onnx package if the first is one, else an opset.Model.

    Raises:
        ConversionError: C603 if connected values do not fit each other, C604 if no versions suit both models, or a
            conversion is refused.
        ModelError: A model is malformed.
        UsageError: U103 if a name does not exist, or it is not certain which values are to be connected.
    """
    registry = registry_with(schemas)
    target = None
    if any(choice is not None for choice in (to, release, runtime, ir_version)):
        target = target_of(
            to, release=release, runtime=runtime, ir_version=ir_version, registry=registry, targets=targets
        )
    roots = list_paths(allow_external_roots)
    models = load(first, allow_external_roots=roots), load(second, allow_external_roots=roots)
    return merge_models(*models, Joint(connect, prefixes, target), registry, limits).model.as_given()


def merge_models(
    first: Model, second: Model, joint: Joint, registry: Registry, limits: Limits | None = None
) -> Merging:
    """Return two models as one; the models themselves are not touched.

    Raises:
        ConversionError, ModelError, UsageError: As `merge` does.
    """
    notes: list[str] = []
    first, second = (
        _without_training(model, label, notes) for model, label in zip((first, second), joint.labels, strict=True)
    )
    target = joint.target
    later = target if target is not None and target.runtime is not None else None
    first, second = _align(first, second, joint, None if later is not None else target, registry, limits, notes)
    sides = [_Side(*read_model(model, registry), registry) for model in (first, second)]
    budget = default_budget(sum(side.model.proto.ByteSize() for side in sides), limits or Limits())
    try:
        with charge_to(budget):
            merging = _Joining(sides[0], sides[1], joint, notes).merging()
    except BudgetExceeded as exhausted:
        finding = Finding("C401", "the merging was stopped", why=exhausted.why, help=ALLOW_MORE)
        raise ConversionError(finding) from None
    if later is None:
        return merging
    conversion = convert_model(merging.model, later, registry, limits=limits)
    if conversion.model is None:
        raise ConversionError(conversion.refusals)
    merging.notes += [*_version_notes(conversion, "as one"), *conversion.notes]
    return replace(merging, model=conversion.model, opsets=_opsets_of(conversion.model.proto))


def _without_training(model: Model, label: str, notes: list[str]) -> Model:
    """Return a model without training graphs, and note that it had some."""
    if not model.proto.training_info:
        return model
    message = pb.ModelProto()
    message.CopyFrom(model.proto)
    message.ClearField("training_info")
    notes.append(f"training graphs of {safe_text(label)} are left out: they belong to it alone")
    return model.with_proto(message, changed=True)


def _version_notes(conversion: Conversion, where: str) -> list[str]:
    """Return the note about the versions of operator sets that a conversion changed, if it did."""
    changed = [
        f"{domain_name(domain)} {version} -> {conversion.target[domain]}"
        for domain, version in conversion.source.items()
        if conversion.target.get(domain, version) != version
    ]
    return [f"converted {where}: {listing(changed)}"] if changed else []


def _opsets_of(proto: Any) -> dict[str, int]:
    """Return the versions that a ModelProto imports, by domain."""
    return {normalize_domain(entry.domain): entry.version for entry in proto.opset_import}


def _align(
    first: Model,
    second: Model,
    joint: Joint,
    target: Target | None,
    registry: Registry,
    limits: Limits | None,
    notes: list[str],
) -> tuple[Model, Model]:
    """Return two models at the versions of operator sets of the target, else at the greater ones.

    Raises:
        ConversionError: C604 if a domain without schemas has two versions, or all refusals of a conversion.
    """
    one, other = (read_model(model, registry)[1].opsets for model in (first, second))
    asked = dict(target.opsets) if target is not None else {}
    differing = [domain for domain in one if other.get(domain, one[domain]) != one[domain] and domain not in asked]
    faults = FindingList()
    for domain in differing:
        if domain not in registry.domains:
            message = f"the models import two versions of {quote(domain_name(domain))}: {one[domain]}, {other[domain]}"
            help = "give the YAML of its operators: --schemas DIR, or import the same version in both"
            faults.append(Finding("C604", message, why="no schemas say what its operators mean", help=help))
    if faults:
        raise ConversionError(faults)
    aligned = (target or Target({}))._replace(
        opsets={**asked, **{domain: max(one[domain], other[domain]) for domain in differing}}
    )
    if not aligned.opsets and target is None:
        return first, second
    results = []
    for model, label in zip((first, second), joint.labels, strict=True):
        conversion = convert_model(model, aligned, registry, limits=limits)
        if conversion.model is None:
            raise ConversionError(conversion.refusals.in_file(label))
        notes += _version_notes(conversion, f"in {safe_text(label)}")
        results.append(conversion.model)
    return results[0], results[1]


class _Side:
    """One of the two models: its index, a copy of its message that is changed, and types of its inputs and outputs."""

    def __init__(self, model: Model, index: ModelIndex, registry: Registry) -> None:
        self.model, self.index = model, index
        self.proto = pb.ModelProto()
        self.proto.CopyFrom(model.proto)
        self.renaming = ValueRenaming(index)
        self._inference = LazyInference(model, index, registry)
        graph = self.proto.graph
        held = [*graph.initializer, *(sparse.values for sparse in graph.sparse_initializer)]
        self.initialized = {tensor.name for tensor in held}
        self.inputs = {value.name: value for value in index.main.proto.input}
        self.outputs = {value.name: value for value in index.main.proto.output}

    def required_inputs(self) -> list[str]:
        """Return the names of inputs without a default."""
        return [name for name in self.inputs if name not in self.initialized]

    def type(self, name: str, sizes: JoinedSizes) -> Type | None:
        """Return the type of an input or output, as it is stated, and as it is inferred if that is not known."""
        value = self.outputs.get(name) or self.inputs[name]
        stated = sizes.read_type(value.type)
        if stated is not None and stated.text is not None and (stated.kind != "tensor" or stated.shape is not None):
            return stated
        return self._inference.type(self.index.main, name) or stated

    def values(self) -> Iterator[Any]:
        """Yield the ValueInfoProtos in the graphs of the message."""
        messages = messages_of(self.index, self.proto)
        for body in graph_bodies(self.index):
            graph = messages[body]
            yield from (*graph.input, *graph.output, *graph.value_info)

    def remove(self, names: Container[str]) -> None:
        """Remove initializers, inputs and value_info of these names from the main graph."""
        graph = self.proto.graph
        for entries in (graph.initializer, graph.input, graph.value_info):
            set_entries(entries, [each for each in entries if each.name not in names])
        kept = [sparse for sparse in graph.sparse_initializer if sparse.values.name not in names]
        set_entries(graph.sparse_initializer, kept)

    def list_no_initializers(self) -> None:
        """Take initializers out of the inputs, which list them before IR version 4, although they are constants."""
        graph = self.proto.graph
        set_entries(graph.input, [value for value in graph.input if value.name not in self.initialized])

    def interface(self) -> dict[str, str]:
        """Return the inputs and outputs that have a new name, by the old one."""
        names = dict.fromkeys([*self.inputs, *self.outputs])
        return {name: new for name in names if (new := self.renaming.of_main(name)) != name}


class _Joining:
    """The work on two models of the same versions."""

    def __init__(self, first: _Side, second: _Side, joint: Joint, notes: list[str]) -> None:
        self._first, self._second, self._joint = first, second, joint
        self._notes = notes
        for side, label in zip((first, second), joint.labels, strict=True):
            notes += [f"{safe_text(label)}: {note}" for note in side.index.notes]
        self._connected = self._connections()
        self._same: dict[str, str] = {}
        """Values of the second model that are values of the first, by name: connected inputs, and equal constants."""

    def merging(self) -> Merging:
        """Return the two models as one."""
        first, second = self._first, self._second
        sizes = self._join_sizes()
        if first.proto.ir_version < INITIALIZERS_APART <= second.proto.ir_version:
            first.list_no_initializers()
        if second.proto.ir_version < INITIALIZERS_APART <= first.proto.ir_version:
            second.list_no_initializers()
        self._same = {x: y for y, x in self._connected}
        self._same.update((name, name) for name in self._equal_constants())
        second.remove(self._same)
        nodes = self._rename()
        self._join_configurations()
        functions, shared = separate_functions((first.index, first.proto), (second.index, second.proto))
        if shared:
            self._notes.append(f"functions that are the same in both: {listing([*map(function_label, shared)])}")
        folder = self._join_folders()
        tensors = [*external.tensors(second.proto)] if second.model.has_segments else []
        pairs = [(each, segment) for each in tensors for segment in second.model.take_segments(each)]
        model = first.model.with_segments(first.proto, pairs)
        model.folder, model.sources = folder, (*model.sources, *second.model.sources)
        self._join_messages(first.proto, second.proto, shared)
        return Merging(
            model.with_proto(first.proto, changed=True),
            self._connected,
            (first.interface(), {name: new for name, new in second.interface().items() if name not in self._same}),
            first.renaming.count + second.renaming.count,
            nodes,
            {function_label(key): name for key, name in functions.items()},
            sizes,
            _opsets_of(first.proto),
            self._notes,
        )

    def _connections(self) -> list[tuple[str, str]]:
        """Return the outputs and inputs to connect. Raises UsageError U103 if a name is wrong or nothing is certain."""
        first, second, labels = self._first, self._second, self._joint.labels
        connect = self._joint.connect
        if connect is None:
            return self._connections_by_name()
        pairs = [*dict.fromkeys(connect.items() if isinstance(connect, Mapping) else map(tuple, connect))]
        faults = FindingList()
        fed: set[str] = set()
        for y, x in pairs:
            if y not in first.outputs and y not in first.inputs:
                known = [*first.outputs, *first.inputs]
                help = near_miss(y, known) or f"its outputs: {listing([*first.outputs])}"
                is_inner = y in first.index.main.definitions
                why = "it is an inner value: opset extract --add-output makes it an output" if is_inner else ""
                message = f"{safe_text(labels[0])} has no output {quote(y)}"
                faults.append(Finding("U103", message, why=why, help=help))
            if x not in second.inputs:
                help = near_miss(x, second.inputs) or f"its inputs: {listing(second.required_inputs())}"
                faults.append(Finding("U103", f"{safe_text(labels[1])} has no input {quote(x)}", help=help))
            if x in fed:
                faults.append(
                    Finding("U103", f"the input {quote(x)} is connected twice", help="connect it to one value")
                )
            fed.add(x)
        if faults:
            raise UsageError(faults)
        return [(y, x) for y, x in pairs]

    def _connections_by_name(self) -> list[tuple[str, str]]:
        """Return the outputs that have names of inputs. Raises UsageError U103 for none, or one with a default."""
        first, second = self._first, self._second
        names = [name for name in first.outputs if name in second.inputs]
        doubtful = [name for name in names if name in second.initialized]
        if doubtful or not names:
            message = "which values are to be connected is not certain"
            why = "no output has the name of an input"
            if doubtful:
                why = f"inputs that have the names of outputs have defaults, too: {listing(doubtful)}"
            help = (
                f"name pairs, --connect OUTPUT=INPUT: outputs {listing([*first.outputs], 8)}; "
                f"inputs {listing(second.required_inputs(), 8)}"
            )
            raise UsageError(Finding("U103", message, why=why, help=help))
        self._notes.append(f"connected, as they have the same names: {listing(names)}")
        return [(name, name) for name in names]

    def _join_sizes(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the new names of variables, which do not clash. Raises ConversionError C603 if types do not fit."""
        first, second, labels = self._first, self._second, self._joint.labels
        sizes = JoinedSizes(first.values(), second.values())
        faults = FindingList()
        types: dict[str, Type] = {}
        for y, x in self._connected:
            given, taken = first.type(y, sizes), second.type(x, sizes)
            if why := type_conflict(given, taken, sizes.connect):
                word = "output" if y in first.outputs else "input"
                message = f"the {word} {quote(y)} does not fit the input {quote(x)}"
                help = "connect other values, or put a node between them that converts the one into the other"
                place = f"{safe_text(labels[0])} and {safe_text(labels[1])}"
                faults.append(Finding("C603", message, place, why, help))
            elif given is None or given.text is None or taken is None or taken.text is None:
                self._notes.append(f"not known whether the type of {quote(y)} fits {quote(x)}")
            if given is not None:
                types[y] = given
        if faults:
            raise ConversionError(faults)
        for y, type_ in types.items():
            fill_proto((first.outputs.get(y) or first.inputs[y]).type, type_, False)
        changed = sizes.finish()
        for number, side in enumerate((first, second)):
            sizes.apply(number, side.values())
        return changed

    def _equal_constants(self) -> Iterator[str]:
        """Yield the initializers that are the same in both models: of equal bytes, or the same part of one file."""
        first, second = self._first, self._second
        before = {tensor.name: tensor for tensor in first.proto.graph.initializer if tensor.name not in first.inputs}
        if any(self._joint.prefixes):
            return
        for tensor in second.proto.graph.initializer:
            other = before.get(tensor.name)
            if other is None or tensor.name in second.inputs or tensor.opset_payload or other.opset_payload:
                continue
            if external.is_external(tensor) and not self._in_one_folder():
                continue
            if tensor.SerializeToString() == other.SerializeToString():
                yield tensor.name

    def _in_one_folder(self) -> bool:
        """Whether external data of both models is relative to one folder."""
        one, other = self._first.model.folder, self._second.model.folder
        return one is other is None or (one is not None and other is not None and one.is_own(other.path))

    def _rename(self) -> int:
        """Rename values and nodes, so that the models have none in common; return how many nodes were renamed."""
        first, second = self._first, self._second
        one, other = self._joint.prefixes
        first.renaming.choose(lambda name: one + name, {})
        first.renaming.apply(first.proto)
        same = {name: first.renaming.of_main(y) for name, y in self._same.items()}
        taken = {one + name for name in names_of_values(first.index)}
        second.renaming.choose(fresh_names(taken, names_of_values(second.index), other), same)
        second.renaming.apply(second.proto)
        count = rename_nodes(first.index, first.proto, lambda name: one + name)
        taken = {one + name for name in names_of_nodes(first.index)}
        return count + rename_nodes(second.index, second.proto, fresh_names(taken, names_of_nodes(second.index), other))

    def _join_configurations(self) -> None:
        """Add the device configurations of the second model; one whose name stands for another is renamed."""
        first, second = self._first, self._second
        present = {each.name: each for each in first.proto.configuration}
        names = FreshNames.beside({*present, *(each.name for each in second.proto.configuration)})
        renamed: dict[str, str] = {}
        for each in second.proto.configuration:
            own = each.name
            if own in present and present[own] != each:
                renamed[own] = each.name = names.fresh(own)
            if each.name not in present:
                first.proto.configuration.append(each)
        if renamed:
            for message in messages_of(second.index, second.proto).values():
                for node in message.node:
                    for use in node.device_configurations:
                        use.configuration_id = renamed.get(use.configuration_id, use.configuration_id)
            self._notes.append(f"device configurations of the second: {listing([*renamed.values()])}")

    def _join_folders(self) -> external.Folder | None:
        """Return the folder of all external data, with locations of the second model rewritten if they begin elsewhere.

        Raises:
            UsageError: U103 if one model has a folder, the other has none, and both have external data, or if a path is
                not valid UTF-8.
        """
        first, second = self._first, self._second
        ours, theirs = external.locations(first.proto), external.locations(second.proto)
        one, other = first.model.folder, second.model.folder
        if not (ours and theirs) or self._in_one_folder():
            folder = one if ours else other if theirs else None
            return None if folder is None else external.JoinedFolder(folder, folder, {})
        if one is None or other is None:
            message = "both models have external data, and the folder of one is not known"
            raise UsageError(Finding("U103", message, help="give both models by their paths"))
        new = {location: other.location_from(one.path, location) for location in theirs}
        external.replace_locations(second.proto, new)
        return external.JoinedFolder(one, other, {located: location for location, located in new.items()})

    def _join_messages(self, whole: Any, other: Any, shared: Container[Any]) -> None:
        """Add the second model's message to the first one."""
        first = self._first
        graph, added = whole.graph, other.graph
        connected = {first.renaming.of_main(y) for y, _ in self._connected}
        passed = [value for value in graph.output if value.name in connected]
        stated = {value.name for value in (*graph.input, *graph.value_info)}
        kept = [value for value in graph.output if value.name not in connected]
        outputs = {value.name: value for value in added.output}
        if len(outputs) < len(added.output):
            self._notes.append("outputs that are the same value are one now")
        inner = [value for value in passed if value.name not in stated and value.name not in outputs]
        set_entries(graph.output, [*kept, *outputs.values()])
        graph.value_info.extend(inner)
        for name in ("node", "initializer", "sparse_initializer", "input", "value_info"):
            getattr(graph, name).extend(getattr(added, name))
        if different := _join_annotations(graph, added):
            self._notes.append(f"quantization that both state otherwise, the first's holds: {listing(different)}")
        if added.name != graph.name:
            set_string(graph, "name", join_strings("_", [*filter(None, (graph.name, added.name))]))
        whole.functions.extend(each for each in other.functions if function_key(each) not in shared)
        present = {normalize_domain(entry.domain) for entry in whole.opset_import}
        whole.opset_import.extend(each for each in other.opset_import if normalize_domain(each.domain) not in present)
        if whole.ir_version != other.ir_version:
            self._notes.append(f"IR version {max(whole.ir_version, other.ir_version)}: the greater of both")
            whole.ir_version = max(whole.ir_version, other.ir_version)
        _join_texts(whole, other)
        _join_texts(graph, added)
        for holder, further in ((whole, other), (graph, added)):
            if renamed := _join_metadata(holder, further):
                self._notes.append(f"metadata that both have with other values, the second's: {listing(renamed)}")


def _join_texts(holder: Any, other: Any) -> None:
    """Put the documentation of the other message behind a message's own."""
    if other.doc_string and other.doc_string != holder.doc_string:
        set_string(holder, "doc_string", join_strings("\n\n", [*filter(None, (holder.doc_string, other.doc_string))]))


def _join_annotations(graph: Any, other: Any) -> list[str]:
    """Add the quantization annotations of another graph; return the names of values that a graph annotates otherwise.

    A value that both have, as a connected one or an initializer that is shared, is annotated as the graph does it.
    """
    own = {each.tensor_name: each for each in graph.quantization_annotation}
    theirs = [*other.quantization_annotation]
    graph.quantization_annotation.extend(each for each in theirs if each.tensor_name not in own)
    return [each.tensor_name for each in theirs if own.get(each.tensor_name, each) != each]


def _join_metadata(holder: Any, other: Any) -> list[str]:
    """Add metadata to a message; return the keys that entries have whose own key has another value there."""
    present = {entry.key: entry.value for entry in holder.metadata_props}
    names = FreshNames.beside({*present, *(entry.key for entry in other.metadata_props)})
    renamed = []
    for entry in other.metadata_props:
        if present.get(entry.key, entry.value) != entry.value:
            renamed.append(names.fresh(entry.key))
            holder.metadata_props.add(key=renamed[-1], value=entry.value)
        elif entry.key not in present:
            holder.metadata_props.add().CopyFrom(entry)
    return renamed
