"""What changed between the nodes, the weights, the functions and the metadata of two models."""

from __future__ import annotations

import struct
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from opset.description.contents import described_value
from opset.description.structure.digests import (
    MAX_DIGESTED,
    Reading,
    digest_text,
    is_one_place,
    metadata_of,
    tensor_words,
)
from opset.description.structure.folding import Detail, StructureChange, fold_changes
from opset.description.structure.matching import Pairs, Side, attribute_key, slots, tensor_key
from opset.errors import KEPT, brief_name, listing, quote, safe_text
from opset.model.attributes import attribute_type, attribute_value
from opset.model.graph.index import Body, bodies, bodies_below
from opset.model.graph.walking import function_key
from opset.model.storage.container import Model
from opset.model.types import shape_of, type_string
from opset.schemas.names import domain_name, qualified_name

_PRODUCER: Final = ("producer_name", "producer_version", "domain", "doc_string")
_LENGTH: Final = 120
"""Characters of a value that are shown."""


class PartCounts(NamedTuple):
    """How many nodes or weights two models have, and how many are the same, renamed, changed, added and removed.

    Those that are renamed are the same otherwise, and are not counted as the same.
    """

    before: int
    after: int
    same: int
    renamed: int
    changed: int
    added: int
    removed: int


@dataclass(frozen=True)
class StructureComparison:
    """What changed in the structure of a model: counts of nodes and weights, the changes, and notes.

    `annotated` is the number of nodes whose metadata or documentation changed; they are not among the changes.
    Changes that differ in a number of their names alone are one; `omitted` is the number of those beyond the first
    thousand.
    """

    nodes: PartCounts
    weights: PartCounts
    annotated: int
    changes: Sequence[StructureChange]
    omitted: int
    notes: Sequence[str]


def compare_structure(old: Model, new: Model, *, weights: bool) -> StructureComparison:
    """Return what changed in the structure between two models.

    Args:
        old: The model before.
        new: The model after.
        weights: Whether large data of weights is read. If not, weights of the same type and shape count as the same.
    """
    return _Comparison(old, new, Reading(MAX_DIGESTED if weights else 0)).result()


class _ComparedScope:
    """The values of a pair of bodies and of those around it: a value that is the same in both has one key."""

    def __init__(self, pairs: Pairs, number: int, parent: _ComparedScope | None) -> None:
        self._pairs, self._number, self._parent = pairs, number, parent

    def key(self, name: str, *, new: bool) -> Hashable:
        """Return the key of a value of the old or of the new body."""
        scope: _ComparedScope | None = self
        while scope is not None:
            pairs = scope._pairs
            side = pairs.new if new else pairs.old
            if (producer := side.producers.get(name)) is not None:
                index, slot = producer
                old_index = pairs.old_of.get(index) if new else index
                return scope._number, "node", index if old_index is None else old_index, slot, old_index is None
            if name in side.values:
                return side.values[name]
            scope = scope._parent
        return "no value", name


class _BodyPair(NamedTuple):
    """A body of the old model and the one of the new that stands for it, with the scope around them."""

    old: Body
    new: Body
    scope: _ComparedScope | None = None


class _Comparison:
    """One comparison: the changes that were found, and counts of nodes and weights by what became of them."""

    def __init__(self, old: Model, new: Model, reading: Reading) -> None:
        self._old, self._new, self._reading = old, new, reading
        self._changes: list[StructureChange] = []
        self._nodes: Counter[str] = Counter()
        self._weights: Counter[str] = Counter()
        self._sizes: dict[str, str] = {}
        self._former_sizes: dict[str, str] = {}

    def result(self) -> StructureComparison:
        """Return what changed."""
        all_bodies = bodies(self._old.proto), bodies(self._new.proto)
        self._compare_metadata("the model", self._old.proto, self._new.proto, _PRODUCER)
        pending = [*self._root_pairs(*all_bodies)]
        pending.reverse()
        number = 0
        while pending:
            pending += reversed([*self._compare_bodies(pending.pop(), number)])
            number += 1
        folded = fold_changes(self._changes)
        unread = self._reading.unread
        notes = [f"not all data was compared: {unread[0]}"] if unread else []
        nodes = _part_counts(self._nodes, [sum(len(body.nodes) for body in each) for each in all_bodies])
        weights = _part_counts(self._weights, [sum(len(_weights_of(body)) for body in each) for each in all_bodies])
        omitted = max(len(folded) - KEPT, 0)
        return StructureComparison(nodes, weights, self._nodes["annotated"], folded[:KEPT], omitted, notes)

    def _root_pairs(self, old: Sequence[Body], new: Sequence[Body]) -> Iterator[_BodyPair]:
        """Yield the graphs and functions of two models in pairs, and note the functions and graphs without a pair."""
        roots: tuple[dict[Hashable, Body], ...] = {}, {}
        for found, all_bodies in zip(roots, (old, new), strict=True):
            for body in all_bodies:
                if body.owner is None:
                    found.setdefault(_root_key(body), body)
        for key in roots[0] | roots[1]:
            before, after = roots[0].get(key), roots[1].get(key)
            if before is not None and after is not None:
                yield _BodyPair(before, after)
                continue
            if before is not None:
                self._note_whole_body("removed", before)
            if after is not None:
                self._note_whole_body("added", after)

    def _note_whole_body(self, word: Any, body: Body) -> None:
        """Note a function or graph that one model has alone, with the number of its nodes."""
        count = str(sum(len(each.nodes) for each in bodies_below(body)))
        detail = Detail("nodes", count, "") if word == "removed" else Detail("nodes", "", count)
        self._changes.append(StructureChange(word, "function" if body.function else "body", "", [detail], [body.label]))

    def _compare_bodies(self, pair: _BodyPair, number: int) -> Iterator[_BodyPair]:
        """Note what changed between two bodies; yield the bodies inside them that stand for each other."""
        self._compare_heads(pair)
        weights = self._pair_weights(pair)
        inputs = _pair_inputs(pair.old, pair.new)
        keys: tuple[dict[str, Hashable], dict[str, Hashable]] = {}, {}
        for kind, found in (("input", inputs), ("weight", weights)):
            for position, (name, other) in enumerate(found):
                keys[0][name] = keys[1][other] = (number, kind, position)
        old = self._side(self._old, pair.old, keys[0], pair.scope, new=False)
        new = self._side(self._new, pair.new, keys[1], pair.scope, new=True)
        outputs = _pair_outputs(pair.old, pair.new)
        pairs = Pairs(old, new, [*inputs, *weights, *outputs])
        weights += self._pair_weights_by_use(pairs, weights, number)
        self._compare_weights(pair, weights)
        self._compare_nodes(pairs)
        for name, other in outputs:
            if not pairs.is_same_value(name, other):
                states = _source_text(pairs.old, name), _source_text(pairs.new, other)
                place = f"output {quote(other)}"
                change = StructureChange("changed", "output", pair.new.label, [Detail("computed by", *states)], [place])
                self._changes.append(change)
        scope = _ComparedScope(pairs, number, pair.scope)
        for (index, attribute), body in pair.new.subgraphs.items():
            if (former := pair.old.subgraphs.get((pairs.old_of.get(index, -1), attribute))) is not None:
                yield _BodyPair(former, body, scope)

    def _side(
        self, model: Model, body: Body, keys: dict[str, Hashable], scope: _ComparedScope | None, *, new: bool
    ) -> Side:
        """Return a body of a pair, with keys for weights without a pair and for values of the bodies around it."""
        for name, tensor in _weights_of(body).items():
            keys.setdefault(name, ("weight", _words_of(tensor)))
        side = Side(model, body, keys, self._reading)
        if scope is not None:
            names = {name for names in side.reads for name in names if name and name not in side.producers}
            keys.update({name: scope.key(name, new=new) for name in names - keys.keys()})
        return side

    # Heads and metadata

    def _compare_heads(self, pair: _BodyPair) -> None:
        """Note what changed in the names, the interface, the imports and the metadata of two bodies."""
        fields = ("doc_string",) if pair.old.function else ("name", "doc_string")
        details = []
        if pair.old.function:
            old, new = pair.old.proto, pair.new.proto
            details += [
                Detail(f"{name}s", *(listing([*getattr(each, name)]) for each in (old, new)))
                for name in ("input", "output", "attribute")
                if [*getattr(old, name)] != [*getattr(new, name)]
            ]
            details += _import_details(old, new)
        self._compare_metadata(pair.new.label, pair.old.proto, pair.new.proto, fields, details)

    def _compare_metadata(
        self, place: str, old: Any, new: Any, fields: Iterable[str], details: Iterable[Detail] = ()
    ) -> None:
        """Note fields of text and entries of metadata that changed between two messages, after other details."""
        found = [*details]
        for name in fields:
            if getattr(old, name) != getattr(new, name):
                found.append(Detail(name, _brief(getattr(old, name)), _brief(getattr(new, name))))
        before, after = metadata_of(old), metadata_of(new)
        for key in before | after:
            if before.get(key) != after.get(key):
                states = (_brief(each[key]) if key in each else "" for each in (before, after))
                found.append(Detail(f"metadata {quote(key)}", *states))
        if found:
            kind = "function" if details else "metadata"
            self._changes.append(StructureChange("changed", kind, "", found[:KEPT], [place]))

    # Weights

    def _pair_weights(self, pair: _BodyPair) -> list[tuple[str, str]]:
        """Return the names of weights of two bodies that stand for each other: by name, else by their data."""
        old, new = _weights_of(pair.old), _weights_of(pair.new)
        named = [(name, name) for name in old if name in new]
        left, others = (
            {name: each[name] for name in each if name not in other} for each, other in ((old, new), (new, old))
        )
        shapes = {_words_of(tensor) for tensor in left.values()} & {_words_of(tensor) for tensor in others.values()}
        waiting: dict[object, list[str]] = defaultdict(list)
        for name in reversed(left):
            if _words_of(left[name]) in shapes:
                waiting[tensor_key(self._old, left[name], self._reading)].append(name)
        for name, tensor in others.items():
            if _words_of(tensor) in shapes and (found := waiting.get(tensor_key(self._new, tensor, self._reading))):
                named.append((found.pop(), name))
        return named

    def _pair_weights_by_use(
        self, pairs: Pairs, known: Sequence[tuple[str, str]], number: int
    ) -> list[tuple[str, str]]:
        """Return the names of weights that have no pair yet, but are read at the same input of paired nodes."""
        paired: list[tuple[str, str]] = []
        left, others = (
            _weights_of(side.body).keys() - {each[position] for each in known}
            for position, side in enumerate((pairs.old, pairs.new))
        )
        for index, other in pairs.new_of.items():
            for name, now in zip(pairs.old.body.reads[index], pairs.new.body.reads[other], strict=False):
                if name in left and now in others:
                    left.discard(name)
                    others.discard(now)
                    paired.append((name, now))
                    key = (number, "weight used", len(paired))
                    pairs.old.values[name] = pairs.new.values[now] = key
        return paired

    def _compare_weights(self, pair: _BodyPair, names: Sequence[tuple[str, str]]) -> None:
        """Note what changed in the weights of two bodies, of which these stand for each other."""
        old, new = _weights_of(pair.old), _weights_of(pair.new)
        for name, other in names:
            details = self._weight_details(old[name], new[other])
            if not details:
                self._weights["same" if name == other else "renamed"] += 1
                continue
            self._weights["changed"] += 1
            details += [Detail("name", quote(name), quote(other))] if name != other else []
            self._changes.append(StructureChange("changed", "weight", pair.new.label, details, [_weight_label(other)]))
        for word, body, weights, known in (
            ("removed", pair.old, old, {name for name, _ in names}),
            ("added", pair.new, new, {name for _, name in names}),
        ):
            for name, tensor in weights.items():
                if name in known:
                    continue
                words = _words_of(tensor)
                detail = Detail("type", *((words, "") if word == "removed" else ("", words)))
                self._changes.append(
                    StructureChange(word, "weight", body.label, [detail], [_weight_label(name)])  # type: ignore[arg-type]
                )

    def _weight_details(self, old: Any, new: Any) -> list[Detail]:
        """Return what changed in a weight: its type and shape, else its data."""
        words = _words_of(old), _words_of(new)
        if words[0] != words[1]:
            return [Detail("type", *words)]
        if old.DESCRIPTOR.name == "SparseTensorProto":
            parts = [(old.values, new.values, "values"), (old.indices, new.indices, "indices")]
        else:
            parts = [(old, new, "data")]
        details = []
        for before, after, part in parts:
            if is_one_place(self._old, before, self._new, after):
                continue
            digests = self._reading.digest(self._old, before), self._reading.digest(self._new, after)
            if digests[0] != digests[1] and all(isinstance(each, str) for each in digests):
                details.append(Detail(part, *map(digest_text, digests)))
        return details

    # Nodes

    def _compare_nodes(self, pairs: Pairs) -> None:
        """Note what changed in the nodes of two bodies."""
        old, new = pairs.old.body, pairs.new.body
        types = _types_of(old), _types_of(new)
        for index in range(len(old.names)):
            if index not in pairs.new_of:
                self._note_node("removed", old, index, [])
        for other, name in enumerate(new.names):
            before = pairs.old_of.get(other)
            if before is None:
                self._note_node("added", new, other, [])
                continue
            self._nodes["annotated"] += _annotations(old.nodes[before]) != _annotations(new.nodes[other])
            details = [*self._node_details(pairs, before, other, types)]
            if not details:
                self._nodes["same" if old.names[before] == name else "renamed"] += 1
                continue
            if old.names[before] != name:
                details.append(Detail("name", quote(old.names[before]), quote(name)))
            self._note_node("changed", new, other, details)

    def _note_node(self, word: Any, body: Body, index: int, details: Sequence[Detail]) -> None:
        """Note a node that was added, removed or changed."""
        self._nodes["changed"] += word == "changed"
        self._changes.append(StructureChange(word, "node", body.label, details, [body.node_label(index)]))

    def _node_details(
        self, pairs: Pairs, index: int, other: int, types: tuple[Mapping[str, Any], Mapping[str, Any]]
    ) -> Iterator[Detail]:
        """Yield what changed in a node: its operator, attributes, inputs, outputs, and their types."""
        sides = pairs.old, pairs.new
        places = index, other
        operators = [side.operators[place] for side, place in zip(sides, places, strict=True)]
        if operators[0] != operators[1]:
            yield Detail("operator", *map(_operator_text, operators))
        yield from self._attribute_details(pairs, index, other)
        reads, computes = (
            [getattr(side.body, name)[place] for side, place in zip(sides, places, strict=True)]
            for name in ("reads", "computes")
        )
        for slot in range(max(map(slots, reads))):
            name, now = (each[slot] if slot < len(each) else "" for each in reads)
            if bool(name) != bool(now) or (name and not pairs.is_same_value(name, now)):
                yield Detail(f"input {slot}", _source_text(pairs.old, name), _source_text(pairs.new, now))
        counts = [[bool(name) for name in each[: slots(each)]] for each in computes]
        if counts[0] != counts[1]:
            yield Detail("outputs", *(listing([name for name in each if name]) for each in computes))
        for slot, (name, now) in enumerate(zip(*computes, strict=False)):
            before, after = types[0].get(name), types[1].get(now)
            if before is not None and after is not None and not self._is_same_type(before.type, after.type):
                yield Detail(f"type of output {slot}", *(described_value(each).type or "" for each in (before, after)))

    def _attribute_details(self, pairs: Pairs, index: int, other: int) -> Iterator[Detail]:
        """Yield the attributes of a node that were added, removed or changed."""
        old, new = pairs.old.body.attributes[index], pairs.new.body.attributes[other]
        before, after = ({each.name: each for each in attributes} for attributes in (old, new))
        for name in before | after:
            first, second = before.get(name), after.get(name)
            if first is not None and second is not None:
                kinds = attribute_type(first), attribute_type(second)
                if kinds[0] == kinds[1] and kinds[0] in ("graph", "graphs"):
                    continue  # changes of bodies are noted on their nodes
                keys = attribute_key(self._old, first, self._reading), attribute_key(self._new, second, self._reading)
                if keys[0] == keys[1]:
                    continue
            states = self._attribute_text(self._old, first), self._attribute_text(self._new, second)
            yield Detail(f"attribute {quote(name)}", *states)

    def _attribute_text(self, model: Model, attribute: Any) -> str:
        """Return the value of an attribute in short, "" if there is none."""
        if attribute is None:
            return ""
        if attribute.ref_attr_name:
            return f"attribute {quote(attribute.ref_attr_name)} of the function"
        kind, value = attribute_type(attribute), attribute_value(attribute)
        if kind == "tensor":
            return f"{tensor_words(value)} {digest_text(self._reading.digest(model, value))}"
        if kind in ("float", "int", "string"):
            return _number_text(value)
        if kind in ("floats", "ints", "strings"):
            return f"[{listing([_number_text(each) for each in value[:20]])}{', …' * (len(value) > 20)}]"
        return f"a {kind}" if kind == "graph" else f"{kind}"

    def _is_same_type(self, old: Any, new: Any) -> bool:
        """Whether two TypeProtos are the same, if dimension variables were renamed as in the types before."""
        shapes = shape_of(old), shape_of(new)
        if type_string(old) != type_string(new) or (shapes[0] is None) != (shapes[1] is None):
            return False
        first, second = shapes
        if first is None or second is None:
            return True
        return len(first) == len(second) and all(map(self._is_same_size, first, second))

    def _is_same_size(self, old: int | str | None, new: int | str | None) -> bool:
        """Whether two sizes are the same; a variable is if it is named as it was or has one other name everywhere."""
        if isinstance(old, str) and isinstance(new, str):
            return self._sizes.setdefault(old, new) == new and self._former_sizes.setdefault(new, old) == old
        return old == new


def _part_counts(found: Mapping[str, int], totals: Sequence[int]) -> PartCounts:
    """Return the counts of nodes or weights by what became of them."""
    before, after = totals
    same, renamed, changed = (found[word] for word in ("same", "renamed", "changed"))
    matched = same + renamed + changed
    return PartCounts(before, after, same, renamed, changed, after - matched, before - matched)


def _root_key(body: Body) -> Hashable:
    """Return what tells a graph or function of a model from the others."""
    return ("function", *function_key(body.proto)) if body.function else body.name.partition(" ")[0]


def _weights_of(body: Body) -> Mapping[str, Any]:
    """Return the initializers of a body by name, sparse ones among them."""
    if body.function:
        return {}
    found = {sparse.values.name: sparse for sparse in body.proto.sparse_initializer}
    return {**found, **{tensor.name: tensor for tensor in body.proto.initializer}}


def _pair_inputs(old: Body, new: Body) -> list[tuple[str, str]]:
    """Return the names of inputs that stand for each other: by name in the main graph, the others by position."""
    weights = _weights_of(old), _weights_of(new)
    names = [
        [*dict.fromkeys(name for name in body.input_names() if name not in known)]
        for body, known in zip((old, new), weights, strict=True)
    ]
    return _pair_names(*names, by_name=old.owner is None and not old.function)


def _pair_outputs(old: Body, new: Body) -> list[tuple[str, str]]:
    """Return the names of outputs that stand for each other."""
    return _pair_names(old.output_names(), new.output_names(), by_name=old.owner is None and not old.function)


def _pair_names(old: Sequence[str], new: Sequence[str], *, by_name: bool) -> list[tuple[str, str]]:
    """Return pairs of old and new names: equal ones first, and those that are left by their order."""
    shared = {*old} & {*new} if by_name else set()
    left, others = ([name for name in names if name not in shared] for names in (old, new))
    return [*((name, name) for name in old if name in shared), *zip(left, others, strict=False)]


def _words_of(tensor: Any) -> str:
    """Return the type and shape of a TensorProto or SparseTensorProto."""
    if tensor.DESCRIPTOR.name == "SparseTensorProto":
        return f"sparse {tensor_words(tensor.values)} in [{listing([*map(str, tensor.dims)])}]"
    return tensor_words(tensor)


def _weight_label(name: str) -> str:
    """Return a weight in messages."""
    return f"weight {quote(name)}"


def _types_of(body: Body) -> Mapping[str, Any]:
    """Return the stated types of a body's values by name, as ValueInfoProtos."""
    stated = [*body.proto.value_info]
    return {value.name: value for value in (stated if body.function else [*stated, *body.proto.output])}


def _import_details(old: Any, new: Any) -> Iterator[Detail]:
    """Yield the operator sets that two functions import at different versions."""
    before, after = ({each.domain: each.version for each in function.opset_import} for function in (old, new))
    for domain in before | after:
        if before.get(domain) != after.get(domain):
            states = (str(each.get(domain, "")) for each in (before, after))
            yield Detail(f"operator set {brief_name(domain_name(domain))}", *states)


def _annotations(node: Any) -> tuple[object, ...]:
    """Return the documentation and the metadata of a node."""
    return node.doc_string, [(entry.key, entry.value) for entry in node.metadata_props] if node.metadata_props else []


def _operator_text(operator: tuple[str, str, str]) -> str:
    """Return an operator with its domain, unless that is ai.onnx, and its overload."""
    name, domain, overload = operator
    text = qualified_name(domain, name)
    return brief_name(f"{text}:{overload}" if overload else text)


def _source_text(side: Side, name: str) -> str:
    """Return a value with the node that computes it, "" if there is no value."""
    if not name:
        return ""
    producer = side.producers.get(name)
    return quote(name) if producer is None else f"{quote(name)} of {side.body.node_label(producer[0])}"


def _number_text(value: Any) -> str:
    """Return the value of an attribute as text."""
    if isinstance(value, float):
        return next(
            (text for digits in range(6, 9) if _is_float32(text := f"{value:.{digits}g}", value)), f"{value:.9g}"
        )
    return str(value) if isinstance(value, int) else quote(value)


def _is_float32(text: str, value: float) -> bool:
    """Whether a text reads back to a number of type float."""
    return struct.pack("<f", float(text)) == struct.pack("<f", value)


def _brief(text: object) -> str:
    """Return the beginning of a text of a model."""
    return safe_text(text, _LENGTH)
