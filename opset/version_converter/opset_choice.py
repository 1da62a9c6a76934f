"""The choice of the opset in which a runtime runs most nodes of a model, nearest to the one that the model has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from opset.model.attributes import attribute_value
from opset.model.graph.index import Body, ModelIndex
from opset.opsets.registry import Registry
from opset.opsets.releases import release_with
from opset.opsets.runtimes import Runtime
from opset.schemas.constraints.signature import type_misfits
from opset.schemas.model import OpSchema
from opset.version_converter.availability import Availability, holds_tensor
from opset.version_converter.facts import ValueFacts
from opset.version_converter.routes import Routes, routes_of
from opset.version_converter.trials import availability_at


class Sample(NamedTuple):
    """One node that stands for several: `nodes` is the number of nodes with the same operator, types and attributes."""

    node: Any
    op_type: str
    domain: str
    opset: int
    facts: ValueFacts
    nodes: int


def sample_nodes(index: ModelIndex, facts: Mapping[Body, ValueFacts]) -> list[Sample]:
    """Return one node for each combination of operator, types and attributes in a model, with the number of nodes.

    Left out are calls of model-local functions, and Constants with tensors, which every runtime takes.
    """
    samples: list[Sample] = []
    counts: list[int] = []
    numbers: dict[Any, int] = {}
    for body in index.bodies:
        known, functions, function = facts[body], index.functions, body.root.function and body
        known.find_types()
        nodes = zip(body.operators, body.reads, body.computes, body.attributes, strict=True)
        for position, (operator, reads, computes, attributes) in enumerate(nodes):
            op_type, domain = operator
            if holds_tensor(operator, attributes) or (functions and body.function_key(position) in functions):
                continue
            types = tuple(known.types([*reads, *computes]))
            stated = tuple([each.SerializeToString() for each in attributes if not each.HasField("g")])
            number = numbers.setdefault((operator, function, types, stated), len(samples))
            if number == len(samples):
                samples.append(Sample(body.nodes[position], op_type, domain, known.versions.get(domain, 0), known, 0))
                counts.append(0)
            counts[number] += 1
    return [sample._replace(nodes=count) for sample, count in zip(samples, counts, strict=True)]


def count_lacking(
    samples: Iterable[Sample], availability: Availability, routes: Routes, opsets: Mapping[str, int]
) -> int:
    """Return how many nodes neither a runtime nor its fallback runs at the opsets `opsets`, given by domain.

    A node that is not valid at these opsets counts, too. Nodes that the notes on the runtime have to name are counted
    in `availability`.
    """
    lacking = 0
    for sample in samples:
        opset = opsets.get(sample.domain, sample.opset)
        is_legal = _is_legal(sample, opset, routes)
        judgement = availability.judge(sample.node, opset, sample.facts) if is_legal else None
        if judgement is None or not availability.count(judgement, sample.op_type, sample.nodes):
            lacking += sample.nodes
    return lacking


def _is_legal(sample: Sample, opset: int, routes: Routes) -> bool:
    """Whether an operator exists at `opset` and takes the types and attributes of a sample node.

    The result is True if the operator has no schemas. Attributes are compared only if `opset` is below the node's own.
    """
    if not routes.registry.versions(sample.op_type, sample.domain):
        return True
    schema = routes.schema_in_force(sample.op_type, sample.domain, opset)
    if schema is None:
        return False
    if opset < sample.opset and any(_is_foreign(each, sample, schema, routes) for each in sample.node.attribute):
        return False
    inputs = sample.node.input[: schema.max_input]
    return not any(any(True for _ in type_misfits(schema, types)) for types in sample.facts.types(inputs))


def _is_foreign(attribute: Any, sample: Sample, schema: OpSchema, routes: Routes) -> bool:
    """Whether a node has an attribute that the older version `schema` lacks, with a value other than its default.

    `attribute` is the AttributeProto.
    """
    if attribute.name in schema.attributes:
        return False
    own = routes.registry.schema(sample.op_type, sample.opset, sample.domain)
    stated = own.attributes.get(attribute.name) if own is not None else None
    return stated is None or attribute_value(attribute) != stated.default


def opsets_by_kernels(
    samples: Sequence[Sample],
    runtime: Runtime,
    registry: Registry,
    source: Mapping[str, int],
    target: Mapping[str, int],
) -> list[int]:
    """Return the opsets of ai.onnx that a runtime takes; those at which it runs most nodes come first.

    Among opsets at which it runs equally many nodes, the nearest to the model's own comes first, and of two the newer.

    Args:
        samples: Nodes that stand for all nodes of the model.
        runtime: The runtime, at one release.
        registry: The operators that are known.
        source: The opsets of the model, by domain.
        target: The opsets that other domains than ai.onnx have in the result.
    """
    choices = opsets_of(runtime, registry)
    lacking = {opset: lacking_at(opset, samples, runtime, registry, target) for opset in choices}
    return sorted(choices, key=lambda opset: (lacking[opset], abs(opset - source[""]), -opset))


def opsets_of(runtime: Runtime, registry: Registry) -> range:
    """Return the opsets of ai.onnx that a runtime takes, up to the newest one of the registry."""
    least, most = runtime.opsets.get("", (None, None))
    newest = registry.domains[""]
    return range(least or 1, min(most or newest, newest) + 1)


def lacking_at(
    opset: int, samples: Sequence[Sample], runtime: Runtime, registry: Registry, target: Mapping[str, int]
) -> int:
    """Return how many nodes a runtime does not run at an opset of ai.onnx; `target` has the opsets of other domains."""
    routes = routes_of(registry, release_with(opset).name)
    return count_lacking(samples, availability_at(runtime, routes), routes, {**target, "": opset})
