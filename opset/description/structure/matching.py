"""The nodes of two bodies in pairs: by names, by structure, and by their neighbors' pairs.

The structure of a node is a number that stands for its operator, its attributes and the structure of its inputs; nodes
have the same number if what computes their inputs is the same, whatever the names. A second number stands for what uses
the outputs. Numbers are given out by a table, so that equality is certain. Nothing recurses, and the cost is in
proportion to nodes and their inputs, times the logarithm of the users of a value.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, Final

from opset.description.structure.digests import Reading, Unread, tensor_words
from opset.model.attributes import attribute_type
from opset.model.graph.index import Body
from opset.model.storage.parts import ModelParts

Numbers = dict[Hashable, int]
"""The numbers that stand for structures, by their parts."""
_TENSORS: Final = {"tensor": "t", "sparse_tensor": "sparse_tensor"}


class Side:
    """One body of a pair: what computes and what uses its values, and the structure of its nodes.

    `values` has a key for each value that no node of the body computes: a key that both bodies have is one value.
    `users` has the places that read each value: index of the node, and of its input; -1 for an output of the body.
    """

    def __init__(self, model: ModelParts, body: Body, values: dict[str, Hashable], reading: Reading) -> None:
        self.model, self.body, self.values = model, body, values
        self.producers = {
            name: (index, slot)
            for index in reversed(range(len(body.nodes)))
            for slot, name in enumerate(body.computes[index])
            if name
        }
        outer = _outer_names(body)
        self.reads = [[*names, *outer.get(index, ())] for index, names in enumerate(body.reads)]
        self.users: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for index, names in enumerate(self.reads):
            for slot, name in enumerate(names):
                self.users[name].append((index, slot))
        for slot, name in enumerate(body.output_names()):
            self.users[name].append((-1, slot))
        self.operators = [(*operator, node.overload) for operator, node in zip(body.operators, body.nodes, strict=True)]
        self.content = [
            (operator, tuple(sorted((attribute_key(model, each, reading) for each in attributes), key=repr)))
            for operator, attributes in zip(self.operators, body.attributes, strict=True)
        ]
        self.above: list[int] = []
        self.below: list[int] = []

    def source(self, name: str) -> Hashable:
        """Return the key of a value that no node of the body computes."""
        return self.values.get(name, ("no value", name))

    def number_structures(self, numbers: Numbers) -> None:
        """Set the number of each node for its operator, attributes and inputs, and the one for its users."""
        computed: dict[str, Hashable] = {}
        for index, content in enumerate(self.content):
            key = ("above", content, tuple(computed.get(name) or self.source(name) for name in self.reads[index]))
            number = numbers.setdefault(key, len(numbers))
            self.above.append(number)
            computed.update(((name, (number, slot)) for slot, name in enumerate(self.body.computes[index]) if name))
        self.below = [-1] * len(self.content)
        for index in reversed(range(len(self.content))):
            outputs = tuple(
                tuple(sorted((self.below[user] if user >= 0 else -1, slot) for user, slot in self.users.get(name, ())))
                for name in self.body.computes[index]
            )
            key = ("below", self.content[index], outputs)
            self.below[index] = numbers.setdefault(key, len(numbers))


class Pairs:
    """Nodes of an old body that are paired with nodes of a new one: `new_of` and `old_of` by index."""

    def __init__(self, old: Side, new: Side, equal_names: Iterable[tuple[str, str]]) -> None:
        """Pair the nodes; `equal_names` are the names of inputs, weights and outputs that stand for each other."""
        self.old, self.new = old, new
        self.new_of: dict[int, int] = {}
        self.old_of: dict[int, int] = {}
        numbers: Numbers = {}
        for side in (old, new):
            side.number_structures(numbers)
        known = [*equal_names]

        def with_name(part: Callable[[Side, int], Hashable]) -> Callable[[Side, int], Hashable]:
            return lambda side, index: (name, part(side, index)) if (name := side.body.names[index]) else None

        self._pair_by(with_name(lambda side, index: side.above[index]))
        self._pair_by(with_name(lambda side, index: side.below[index]))
        self._pair_by(lambda side, index: side.above[index])
        self._pair_by(lambda side, index: side.below[index])
        self._pair_by(with_name(lambda side, index: side.operators[index]))
        self._pair_neighbors(known)
        self._pair_by(with_name(lambda side, index: 0))
        self._pair_by(self._sources)
        self._pair_by(lambda side, index: tuple(side.body.computes[index]))

    def is_same_value(self, name: str, other: str) -> bool:
        """Whether a value of the old body is computed as one of the new body: by a paired node, or by equal ones."""
        producer, now = self.old.producers.get(name), self.new.producers.get(other)
        if producer is None or now is None:
            return producer is now and self.old.source(name) == self.new.source(other)
        if producer[1] != now[1]:
            return False
        return self.new_of.get(producer[0]) == now[0] or self.old.above[producer[0]] == self.new.above[now[0]]

    def _pair_by(self, key: Callable[[Side, int], Hashable]) -> None:
        """Pair nodes that have none yet and have the same key, in order; a key of None stands for none."""
        waiting: dict[Hashable, list[int]] = defaultdict(list)
        for index in reversed(range(len(self.old.content))):
            if index not in self.new_of:
                waiting[key(self.old, index)].append(index)
        waiting.pop(None, None)
        for other in range(len(self.new.content)):
            if other not in self.old_of and (found := waiting.get(key(self.new, other))):
                self._add(found.pop(), other)

    def _sources(self, side: Side, index: int) -> Hashable:
        """Return the sources of a node's inputs as the old body has them, None if one has no counterpart there."""
        sources: list[Hashable] = []
        for name in side.body.reads[index]:
            producer = side.producers.get(name)
            if producer is None:
                sources.append(side.source(name))
                continue
            old = producer[0] if side is self.old else self.old_of.get(producer[0])
            if old is None:
                return None
            sources.append((old, producer[1]))
        return tuple(sources) or None

    def _add(self, index: int, other: int) -> None:
        """Pair two nodes."""
        self.new_of[index], self.old_of[other] = other, index

    def _pair_neighbors(self, equal_names: Iterable[tuple[str, str]]) -> None:
        """Pair nodes of one operator that compute or use the same values of nodes that are paired."""
        pending = [*equal_names]
        pending += [pair for index, other in self.new_of.items() for pair in self._values_at(index, other)]
        seen: tuple[set[str], set[str]] = set(), set()
        while pending:
            name, other_name = pending.pop()
            if not (name and other_name) or name in seen[0] or other_name in seen[1]:
                continue  # so that the users of a value are looked through once
            seen[0].add(name)
            seen[1].add(other_name)
            producer, now = self.old.producers.get(name), self.new.producers.get(other_name)
            found = [(producer[0], now[0])] if producer and now and producer[1] == now[1] else []
            for index, other in (*found, *self._users_in_pairs(name, other_name)):
                if (
                    index in self.new_of
                    or other in self.old_of
                    or self.old.operators[index] != self.new.operators[other]
                ):
                    continue
                self._add(index, other)
                pending += self._values_at(index, other)

    def _values_at(self, index: int, other: int) -> Iterator[tuple[str, str]]:
        """Yield the names of the inputs and outputs of two nodes in pairs."""
        yield from zip(self.old.reads[index], self.new.reads[other], strict=False)
        yield from zip(self.old.body.computes[index], self.new.body.computes[other], strict=False)

    def _users_in_pairs(self, name: str, other_name: str) -> Iterator[tuple[int, int]]:
        """Yield nodes of one operator in pairs that have none yet, and read two values at the same input."""
        waiting: dict[Hashable, list[int]] = defaultdict(list)
        users, now = self.old.users.get(name, []), self.new.users.get(other_name, [])
        for index, slot in reversed(users):
            if index >= 0 and index not in self.new_of:
                waiting[slot, self.old.operators[index]].append(index)
        for other, slot in now if waiting else ():
            if other >= 0 and other not in self.old_of and (found := waiting.get((slot, self.new.operators[other]))):
                yield found.pop(), other


def attribute_key(model: ModelParts, attribute: Any, reading: Reading) -> tuple[str, Hashable]:
    """Return what tells an attribute's value from others: tensors by digest, graphs by the operators of their nodes."""
    kind = attribute_type(attribute)
    if kind in _TENSORS or kind in ("tensors", "sparse_tensors"):
        values = getattr(attribute, _TENSORS.get(kind, kind))
        listed = [values] if kind in _TENSORS else values
        return attribute.name, repr((kind, [tensor_key(model, each, reading) for each in listed]))
    if kind in ("graph", "graphs"):
        graphs = [attribute.g] if kind == "graph" else attribute.graphs
        return attribute.name, repr((kind, [[node.op_type for node in graph.node] for graph in graphs]))
    if attribute.doc_string:
        kept = type(attribute)()
        kept.CopyFrom(attribute)
        kept.ClearField("doc_string")
        attribute = kept
    return attribute.name, repr(attribute.SerializeToString())


def tensor_key(model: ModelParts, tensor: Any, reading: Reading) -> tuple[str | Unread, ...]:
    """Return what tells a TensorProto or SparseTensorProto from others, whatever its name: type, shape, digests."""
    if tensor.DESCRIPTOR.name == "SparseTensorProto":
        parts = (tensor_key(model, each, reading) for each in (tensor.values, tensor.indices))
        return (f"sparse {[*tensor.dims[:16]]}", *(item for part in parts for item in part))
    return tensor_words(tensor), str(reading.digest(model, tensor))


def _outer_names(body: Body) -> dict[int, list[str]]:
    """Return the names that the subgraphs of each node read and do not define, by the index of the node."""
    read: dict[int, set[str]] = defaultdict(set)
    defined: dict[int, set[str]] = defaultdict(set)
    pending = [(each.index, each) for each in body.inner_bodies]
    while pending:
        index, inner = pending.pop()
        read[index].update(name for names in inner.reads for name in names)
        read[index].update(inner.output_names())
        defined[index] |= inner.definitions.keys()
        pending += [(index, each) for each in inner.inner_bodies]
    return {index: sorted(names - defined[index] - {""}, key=str) for index, names in read.items()}


def slots(names: Sequence[str]) -> int:
    """Return the number of inputs or outputs without the empty ones at the end."""
    count = len(names)
    while count and not names[count - 1]:
        count -= 1
    return count
