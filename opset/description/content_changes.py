"""What changed in a model beside its inputs and outputs: nodes, weights, versions of operator sets, documentation.

The large data of tensors is read if all else is equal, and then up to the first difference. Data at one place of one
file is equal unread.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain, zip_longest
from typing import Any, Final, NamedTuple

from opset.description.structure.digests import identity
from opset.errors import ModelError, brief_name, listing
from opset.model import proto
from opset.model.graph.index import normalize_domain
from opset.model.graph.walking import subgraphs
from opset.model.storage.container import Model
from opset.model.storage.encoding import tensor_label
from opset.model.storage.external import data_range, is_external, reference, tensors
from opset.model.storage.source import CHUNK
from opset.model.storage.wire import Segment
from opset.plain_text import count_text
from opset.schemas.names import domain_name

MAX_COMPARED: Final = 1 << 35
"""Bytes of large data that are compared; of more, a model may have changed."""
_INNER: Final = {"sequence_type": "elem_type", "optional_type": "elem_type", "map_type": "value_type"}
_MODEL_FIELDS: Final = {
    "functions": ("nodes", "function"),
    "training_info": ("other", "training graph"),
    "configuration": ("other", "device configuration"),
    "metadata_props": ("documentation", "pair"),
    "doc_string": ("documentation", ""),
    "producer_name": ("documentation", ""),
    "producer_version": ("documentation", ""),
    "domain": ("documentation", ""),
}
"""The fields of a ModelProto that are compared: the kind of a change, and the noun of an entry."""
_GRAPH_FIELDS: Final = {
    "node": ("nodes", "node"),
    "initializer": ("weights", "tensor"),
    "sparse_initializer": ("weights", "sparse tensor"),
    "value_info": ("annotations", "value"),
    "quantization_annotation": ("annotations", "tensor"),
    "metadata_props": ("documentation", "pair"),
    "doc_string": ("documentation", ""),
    "name": ("documentation", ""),
    "input": ("annotations", "input"),
    "output": ("annotations", "output"),
}
"""The same of the main graph."""


class ContentChange(NamedTuple):
    """A change beside inputs and outputs: its kind, a key of KINDS, its place, and both states.

    The states are "" if they would not be short.
    """

    kind: str
    place: str
    before: str = ""
    after: str = ""


def content_changes(old: Model, new: Model, *, same_interface: bool) -> Iterator[ContentChange]:
    """Yield what changed between two models beside their inputs and outputs, and beside their `model_version`.

    Large data is read only if nothing else changed. A mere renaming of dimension variables is no change.

    Args:
        old: The model before.
        new: The model after.
        same_interface: Whether nothing changed for callers. If something did, other changes of inputs and outputs, and
            of large data, are not looked for.
    """
    found = [*_import_changes(old.proto, new.proto)]
    segments: list[list[Segment]] = [[], []]
    before, after = _without_data(old, segments[0]), _without_data(new, segments[1])
    _rename_sizes(before, after)
    for message in (before, after):
        for name in ("ir_version", "opset_import", "model_version"):
            message.ClearField(name)
    known = () if same_interface else ("input", "output")
    found += _field_changes(before.graph, after.graph, _GRAPH_FIELDS, "graph.", known)
    found += _field_changes(before, after, _MODEL_FIELDS, "")
    if before.SerializeToString() != after.SerializeToString():
        found.append(ContentChange("other", "fields that are not known"))
    yield from found
    if same_interface and not found:
        yield from _data_changes(old, new, *segments)


def _import_changes(old: Any, new: Any) -> Iterator[ContentChange]:
    """Yield the changes of the IR version and of the imported operator sets between two ModelProtos."""
    if old.ir_version != new.ir_version:
        yield ContentChange("ir-version", "IR version", str(old.ir_version), str(new.ir_version))
    imports = [{normalize_domain(each.domain): each.version for each in model.opset_import} for model in (old, new)]
    for domain in imports[0] | imports[1]:
        versions = [str(each[domain]) if domain in each else "not imported" for each in imports]
        if versions[0] != versions[1]:
            yield ContentChange("opset-import", f"operator set {brief_name(domain_name(domain))}", *versions)


def _field_changes(
    old: Any, new: Any, fields: Mapping[str, tuple[str, str]], prefix: str, known: Collection[str] = ()
) -> Iterator[ContentChange]:
    """Yield the changes of the fields of two messages, and clear the fields in both messages.

    Args:
        old: The message before.
        new: The message after.
        fields: The kind of a change for each field, with the noun of an entry; "" for a field that is no list.
        prefix: The beginning of the places of changes, "graph.".
        known: Names of fields whose changes are not yielded.
    """
    for name, (kind, noun) in fields.items():
        before, after = getattr(old, name), getattr(new, name)
        if noun and name not in known:
            yield from _list_changes(kind, f"{prefix}{name}", noun, before, after)
        elif not noun and before != after:
            yield ContentChange(kind, f"{prefix}{name}")
        old.ClearField(name)
        new.ClearField(name)


def _list_changes(kind: str, place: str, noun: str, before: Any, after: Any) -> Iterator[ContentChange]:
    """Yield one change if two lists of messages differ.

    Its place is `place`, with the names of messages that differ, if they have names: "graph.node: add_1, mul". Its
    states are the numbers of messages, such as "3 nodes", if these differ.
    """
    lists = [[each.SerializeToString() for each in messages] for messages in (before, after)]
    if lists[0] == lists[1]:
        return
    named = [
        {each.name: data for each, data in zip(messages, datas, strict=True) if getattr(each, "name", "")}
        for messages, datas in zip((before, after), lists, strict=True)
    ]
    names = [name for name in named[0] | named[1] if named[0].get(name) != named[1].get(name)]
    counts = (count_text(len(each), noun) for each in lists) if len(lists[0]) != len(lists[1]) else ()
    yield ContentChange(kind, f"{place}: {listing(names, 3)}" if names else place, *counts)


def _without_data(model: Model, segments: list[Segment]) -> Any:
    """Return a copy of a model's message in which sizes stand for large data, and append the data to `segments`."""
    message = proto.ModelProto()
    message.CopyFrom(model.proto)
    for tensor in tensors(message):
        if tensor.opset_payload:
            left = model.segments(tensor)
            tensor.opset_payload[:] = [b"%d %b" % (each.size, each.header) for each in left]
            segments += left
    return message


# Dimension variables


def _rename_sizes(old: Any, new: Any) -> None:
    """Rename each dimension variable of a new ModelProto, in place, to its name at the same places of the old one.

    A variable that has no place in the old model keeps its name; if another variable got this name, it is marked, so
    that it differs from all.
    """
    names: dict[Any, Any] = {}
    taken: set[Any] = set()
    places = dict(_named_sizes(old))
    sizes = [*_named_sizes(new)]
    for place, dim in sizes:
        text, before = dim.dim_param, places[place].dim_param if place in places else None
        if before is not None and text not in names and before not in taken:
            names[text] = before
            taken.add(before)
    for _, dim in sizes:
        text = dim.dim_param
        if isinstance(text, str) and isinstance(names.get(text, ""), str):
            dim.dim_param = names.get(text, f"\0{text}" if text in taken else text)


def _named_sizes(message: Any) -> Iterator[tuple[tuple[Any, int, int], Any]]:
    """Yield (place, dimension) for each dimension with a name in the types of a ModelProto.

    A place is (name of the value or attribute, how many-th type with this name, from 1, axis).
    """
    seen: dict[Any, int] = {}
    for name, kind in _types(message):
        number = seen[name] = seen.get(name, 0) + 1
        while (field := kind.WhichOneof("value")) in _INNER:
            kind = getattr(getattr(kind, field), _INNER[field])
        if field in ("tensor_type", "sparse_tensor_type"):
            for axis, dim in enumerate(getattr(kind, field).shape.dim):
                if dim.dim_param:
                    yield (name, number, axis), dim


def _types(message: Any) -> Iterator[tuple[Any, Any]]:
    """Yield (name, TypeProto) for the types of values and the types in attributes, in all graphs and functions.

    Each type has the name of its value or attribute. Bodies of training are included.
    """
    bodies = [message.graph, *message.functions]
    for training in message.training_info:
        bodies += [training.initialization, training.algorithm]
    bodies.reverse()
    while bodies:
        body = bodies.pop()
        values = [*body.input, *body.output] if body.DESCRIPTOR.name == "GraphProto" else []
        yield from ((value.name, value.type) for value in (*values, *body.value_info))
        for node in body.node:
            for attribute in node.attribute:
                yield from ((attribute.name, kind) for kind in (attribute.tp, *attribute.type_protos))
            bodies += [graph for _, graph in subgraphs(node)]


# Large data


def _data_changes(old: Model, new: Model, before: list[Segment], after: list[Segment]) -> Iterator[ContentChange]:
    """Yield one change if the large data of two models differs, or cannot be compared; nothing if it is the same.

    The models are equal in all else. `before` and `after` are their data in the models' own files. At most MAX_COMPARED
    bytes are compared; more data counts as changed.
    """
    inner = (("data in the file", *pair) for pair in zip_longest(before, after))
    left = MAX_COMPARED
    try:
        for place, first, second in chain(inner, _external_pairs(old, new)):
            if first is None or second is None:
                yield ContentChange("weights", place)
                return
            if _is_one_place(first, second):
                continue
            left -= first.end - first.start
            if left < 0 or not _is_same_data(first, second):
                yield ContentChange("weights", place if left >= 0 else "data that is too large to be compared")
                return
    except ModelError as error:
        yield ContentChange("weights", f"data that cannot be compared: {error.message}")


def _external_pairs(old: Model, new: Model) -> Iterator[tuple[str, Segment, Segment]]:
    """Yield (place, old data, new data) for external data of the same tensor in two models, once for each place.

    The tensors of both models are in the same order. Data in one file is left out without opening it. Raises ModelError
    if data has no file.
    """
    seen: set[tuple[str, int, int]] = set()
    for tensor, other in zip(tensors(old.proto), tensors(new.proto), strict=True):
        if not is_external(tensor) or (old.folder is None and new.folder is None):
            continue
        location = reference(tensor).location
        if old.folder and new.folder and old.folder.real_path(location) == new.folder.real_path(location):
            continue
        first, second = data_range(old.folder, tensor), data_range(new.folder, other)
        if (key := (location, first.start, first.end)) in seen:
            continue
        seen.add(key)
        yield f"data of {tensor_label(tensor)}", first, second


def _is_one_place(first: Segment, second: Segment) -> bool:
    """Return whether two segments are the same bytes of the same file, or of the same object in memory.

    They begin at the same place of it; their sizes are not compared.
    """
    return first.start == second.start and identity(first.source) == identity(second.source)


def _is_same_data(first: Segment, second: Segment) -> bool:
    """Return whether two segments have the same bytes, which are read up to the first difference.

    Segments of different sizes are not read.
    """
    size = first.end - first.start
    if second.end - second.start != size:
        return False
    with first.source.descriptor(), second.source.descriptor():
        return all(
            first.source.read(first.start + position, min(CHUNK, size - position))
            == second.source.read(second.start + position, min(CHUNK, size - position))
            for position in range(0, size, CHUNK)
        )
