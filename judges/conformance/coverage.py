"""Chooses, of many examples that take the same paths, a few that have everything that distinguishes them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import TypeVar

import onnx

Item = TypeVar("Item")


def covering(
    items: Iterable[Item], model_of: Callable[[Item], onnx.ModelProto], *, each_version: bool
) -> Iterator[Item]:
    """Yield the items, from the smallest model on, whose model has a feature that none before it has.

    Choices, types and ranks count at each opset if `each_version` is set, else once.
    """
    items = sorted(items, key=lambda each: model_of(each).ByteSize())
    return distinguished(items, lambda each: features(model_of(each), each_version))


def distinguished(items: Iterable[Item], features_of: Callable[[Item], Iterable[Hashable]]) -> Iterator[Item]:
    """Yield the items that have a feature that none before it has."""
    known: set[Hashable] = set()
    for item in items:
        found = {*features_of(item)}
        if not found <= known:
            known |= found
            yield item


def pairwise(rows: Sequence[Sequence[Hashable]]) -> list[int]:
    """Return the indices of rows that have, in any two columns, every pair of values that some row has there."""
    pairs = [{*combinations(enumerate(row), 2)} for row in rows]
    missing = set().union(*pairs)
    chosen = []
    while missing:
        best = max(range(len(rows)), key=lambda index: len(pairs[index] & missing))
        missing -= pairs[best]
        chosen.append(best)
    return sorted(chosen)


def features(model: onnx.ModelProto, each_version: bool) -> Iterator[Hashable]:
    """Yield what conversions depend on: at each opset the attributes and what is left out; choices, types and ranks."""
    versions = tuple(sorted((entry.domain, entry.version) for entry in model.opset_import))
    types = {value.name: value.type for value in (*model.graph.input, *model.graph.value_info, *model.graph.output)}
    for node in model.graph.node:
        at = (versions, node.op_type)
        yield at, "inputs", tuple(map(bool, node.input))
        outputs = tuple(map(bool, node.output))
        yield at, "outputs", outputs
        yield at, "attributes", *sorted(attribute.name for attribute in node.attribute)
        of = at if each_version else node.op_type
        for attribute in node.attribute:
            yield at, outputs, attribute.name
            yield of, attribute.name, _summary(attribute)
        for position, name in enumerate(node.input):
            if name in types:
                yield from ((of, position, each) for each in _kinds(types[name]))


def _summary(attribute: onnx.AttributeProto) -> Hashable:
    """Return the value of an attribute if it is a choice, such as a mode or an axis, else its type and length."""
    if attribute.type in (onnx.AttributeProto.INT, onnx.AttributeProto.STRING):
        return attribute.i, attribute.s
    return attribute.type, len(attribute.ints), len(attribute.floats), len(attribute.strings)


def _kinds(declared: onnx.TypeProto) -> Iterator[Hashable]:
    """Yield the element type and the rank of a tensor, else the kind of a type."""
    if declared.WhichOneof("value") != "tensor_type":
        yield declared.WhichOneof("value")
        return
    yield "type", declared.tensor_type.elem_type
    yield "rank", len(declared.tensor_type.shape.dim) if declared.tensor_type.HasField("shape") else None
