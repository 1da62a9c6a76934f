"""The contents of a model: its versions, inputs and outputs, weights, files of external data, and operators.

Strings of the model are escaped, and domains are named as people write them. Weights are not read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from opset.errors import ModelError, escape_text, safe_text
from opset.model.elements import element_name
from opset.model.graph.index import ModelIndex
from opset.model.storage.encoding import data_size, element_count
from opset.model.storage.external import is_external, reference, tensors
from opset.model.types import described_type
from opset.opsets.registry import Registry
from opset.opsets.releases import RELEASES, is_released
from opset.schemas.names import domain_name


class Import(NamedTuple):
    """An import of a model, with the newest version that is known, None without schemas of the domain.

    `release` is the first release of onnx that has the version, "" if none has it.
    """

    domain: str
    version: int
    newest: int | None
    release: str = ""


class UsedOperator(NamedTuple):
    """An operator with the number of its nodes; `since` is None if it is not known."""

    domain: str
    operator: str
    since: int | None
    nodes: int


class CalledFunction(NamedTuple):
    """A function of a model with the number of its calls."""

    domain: str
    function: str
    calls: int


class DescribedValue(NamedTuple):
    """An input or output of a model with its type, None if it states none: "tensor(float)[N, 3]"."""

    name: str
    type: str | None


class WeightsOfType(NamedTuple):
    """The initializers of one element type: how many there are, how many bytes they have, and how many elements."""

    type: str
    tensors: int
    bytes: int
    elements: int


class ExternalData(NamedTuple):
    """A file with data of tensors: its path as the model states it, the tensors in it, and their bytes."""

    location: str
    tensors: int
    bytes: int


def imports_of(index: ModelIndex, registry: Registry) -> list[Import]:
    """Return the imports of a model, each with the newest version that is known of its domain."""
    return [
        Import(escape_text(domain_name(domain)), version, registry.domains.get(domain), first_release(version, domain))
        for domain, version in index.opsets.items()
    ]


def first_release(version: int, domain: str) -> str:
    """Return the name of the first release of onnx that has a version of a domain, "" if none has it."""
    having = (each.name for each in RELEASES if each.opset_of(domain) >= version)
    return next(having, "") if is_released(domain) else ""


def producer_of(proto: Any) -> str:
    """Return the name and the version of the program that wrote a ModelProto: "pytorch 2.1"; "" if none is stated."""
    return " ".join(escape_text(part) for part in (proto.producer_name, proto.producer_version) if part)


def count_operators(index: ModelIndex, registry: Registry) -> tuple[list[UsedOperator], list[CalledFunction]]:
    """Return the operators of a model, most nodes first, and the functions of the model that it calls, by name.

    Nodes in subgraphs and functions count, too. An operator whose schema is not known has `since` None. A call of a
    function is no node of an operator.
    """
    counts: Counter[tuple[str, str, int]] = Counter()
    calls: Counter[tuple[str, str]] = Counter()
    for body in index.bodies:
        imports = index.imports(body)
        for number, (op_type, domain) in enumerate(body.operators):
            if index.functions and body.function_key(number) in index.functions:
                calls[domain_name(escape_text(domain)), escape_text(op_type)] += 1
            else:
                counts[domain, op_type, imports.get(domain, 0)] += 1
    operators: dict[tuple[str, str, int | None], int] = {}
    for (domain, op_type, version), nodes in counts.items():
        schema = registry.schema(op_type, version, domain)
        key = escape_text(domain), escape_text(op_type), schema.since_version if schema else None
        operators[key] = operators.get(key, 0) + nodes
    used = sorted(operators.items(), key=lambda each: (-each[1], each[0][:2]))
    return (
        [UsedOperator(domain_name(domain), op_type, since, nodes) for (domain, op_type, since), nodes in used],
        [CalledFunction(domain, name, count) for (domain, name), count in sorted(calls.items())],
    )


def described_value(value: Any) -> DescribedValue:
    """Return an input or output with its type and shape as the model states them, None if it states no type."""
    return DescribedValue(escape_text(value.name), safe_text(described_type(value.type)) or None)


def weights_of(index: ModelIndex) -> Iterator[WeightsOfType]:
    """Yield the sums of all graphs' initializers, one for each element type, most bytes first.

    Sparse initializers have entries of their own, "sparse float", and count as stored.
    """
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    elements: Counter[str] = Counter()
    for body in index.bodies:
        if body.function:
            continue
        for tensor in body.proto.initializer:
            name = element_name(tensor.data_type) or "unknown"
            counts[name] += 1
            sizes[name] += _size_of(tensor)
            elements[name] += _elements_of(tensor)
        for sparse in body.proto.sparse_initializer:
            name = f"sparse {element_name(sparse.values.data_type) or 'unknown'}"
            counts[name] += 1
            sizes[name] += _size_of(sparse.values) + _size_of(sparse.indices)
            elements[name] += _elements_of(sparse.values)
    for name in sorted(counts, key=lambda name: (-sizes[name], name)):
        yield WeightsOfType(name, counts[name], sizes[name], elements[name])


def _elements_of(tensor: Any) -> int:
    """Return the number of elements of a tensor by its dims, 0 if these are not the sizes of any real tensor."""
    try:
        return element_count(tensor)
    except ModelError:
        return 0


def _size_of(tensor: Any) -> int:
    """Return the bytes of a tensor's data by its dims and type, or of its strings.

    The result is 0 if the dims and type say nothing and it has no strings.
    """
    try:
        return data_size(tensor)
    except ModelError:
        return sum(map(len, tensor.string_data))


def external_data_of(proto: Any) -> Iterator[ExternalData]:
    """Yield the files with data of a ModelProto's tensors, as the model states them, sorted by path. No file is read.

    Tensors whose statement cannot be read are left out.
    """
    counts: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for tensor in filter(is_external, tensors(proto)):
        try:
            said = reference(tensor)
        except ModelError:  # it names no file, or no place in it
            continue
        counts[said.location] += 1
        sizes[said.location] += _size_of(tensor) if said.length is None else said.length
    for location in sorted(counts):
        yield ExternalData(safe_text(location), counts[location], sizes[location])
