"""The choice of the opset in which a runtime runs most nodes of a model, nearest to the one that the model has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from opset.model.graph.index import Body, ModelIndex
from opset.opsets.registry import Registry
from opset.opsets.releases import release_with
from opset.opsets.runtimes import Runtime
from opset.schemas.constraints.signature import type_misfits
from opset.version_converter.availability import LOADED, Availability
from opset.version_converter.facts import ValueFacts
from opset.version_converter.routes import Routes, routes_of


class Sample(NamedTuple):
    """A node that stands for all nodes of its operator, types and attributes, and the number of them."""

    node: Any
    op_type: str
    domain: str
    opset: int
    facts: ValueFacts
    nodes: int


def sample_nodes(index: ModelIndex, facts: Mapping[Body, ValueFacts]) -> list[Sample]:
    """Return a node of each operator, types and attributes in a model.

    Calls of its functions are left out, and operators that every runtime takes.
    """
    counts: Counter[Any] = Counter()
    samples: dict[Any, Sample] = {}
    for body in index.bodies:
        known, functions = facts[body], index.functions
        known.find_types()
        for position, (op_type, domain) in enumerate(body.operators):
            if (op_type in LOADED and not domain) or (functions and body.function_key(position) in functions):
                continue
            types = tuple(known.types([*body.reads[position], *body.computes[position]]))
            attributes = tuple(
                [each.SerializeToString() for each in body.attributes[position] if not each.HasField("g")]
            )
            key = (op_type, domain, body.root.function and body, types, attributes)
            counts[key] += 1
            if key not in samples:
                samples[key] = Sample(body.nodes[position], op_type, domain, known.versions.get(domain, 0), known, 0)
    return [sample._replace(nodes=counts[key]) for key, sample in samples.items()]


def count_lacking(
    samples: Iterable[Sample], availability: Availability, routes: Routes, opsets: Mapping[str, int]
) -> int:
    """Return how many nodes a runtime does not run at these opsets, those among them that are not legal there.

    The nodes that notes count are counted in `availability`.
    """
    lacking = 0
    for sample in samples:
        opset = opsets.get(sample.domain, sample.opset)
        is_legal = _is_legal(sample, opset, routes)
        if not is_legal or not availability.runs(sample.node, opset, sample.facts, sample.nodes):
            lacking += sample.nodes
    return lacking


def _is_legal(sample: Sample, opset: int, routes: Routes) -> bool:
    """Whether an operator exists at an opset and takes the types of a node; True if it has no schemas."""
    if not routes.registry.versions(sample.op_type, sample.domain):
        return True
    schema = routes.schema_in_force(sample.op_type, sample.domain, opset)
    if schema is None:
        return False
    inputs = sample.node.input[: schema.max_input]
    return not any(any(True for _ in type_misfits(schema, types)) for types in sample.facts.types(inputs))


def opsets_by_kernels(
    samples: Sequence[Sample],
    runtime: Runtime,
    registry: Registry,
    source: Mapping[str, int],
    target: Mapping[str, int],
) -> list[int]:
    """Return the opsets that a runtime takes: first those in which it runs most nodes, and of these the nearest.

    Args:
        samples: Nodes that stand for all of the model.
        runtime: The runtime, at one release.
        registry: The operators that are known.
        source: The versions of the model, by domain.
        target: The versions that other domains than ai.onnx have in the result.
    """
    least, most = runtime.opsets.get("", (None, None))
    newest = registry.domains[""]
    choices = range(least or 1, min(most or newest, newest) + 1)
    lacking = {}
    for opset in choices:
        routes = routes_of(registry, release_with(opset).name)
        lacking[opset] = count_lacking(samples, Availability(runtime, routes), routes, {**target, "": opset})
    return sorted(choices, key=lambda opset: (lacking[opset], abs(opset - source[""]), -opset))
