"""The choice of the opset in which a runtime runs most nodes of a model, nearest to the one that the model has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from opset.errors import Finding
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
from opset.version_converter.validity import invalid_note


class Sample(NamedTuple):
    """One node that stands for all nodes of a model with its operator, types and attributes; `nodes` is their number.

    `opset` is the version of the node's domain. `facts` are the facts about the values of the node's body. `body` and
    `position` are where the node is.
    """

    body: Body
    position: int
    op_type: str
    domain: str
    opset: int
    facts: ValueFacts
    nodes: int

    @property
    def node(self) -> Any:
        """The NodeProto."""
        return self.body.nodes[self.position]


def sample_nodes(index: ModelIndex, facts: Mapping[Body, ValueFacts]) -> list[Sample]:
    """Return one Sample for each combination of operator, types and attributes, in order of first occurrence.

    Nodes of different functions are not joined. Left out are calls of model-local functions, and Constants with
    tensors, which every runtime takes. `facts` has an entry for each body; types that are found are cached there.
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
                samples.append(Sample(body, position, op_type, domain, known.versions.get(domain, 0), known, 0))
                counts.append(0)
            counts[number] += 1
    return [sample._replace(nodes=count) for sample, count in zip(samples, counts, strict=True)]


def notes_on_misfits(samples: Iterable[Sample], registry: Registry) -> list[str]:
    """Return a note with the first node whose inputs have types that its operator does not take, and how many others.

    The result is [] if there are none. Nodes are compared at the opsets of the model.
    """
    first: Finding | None = None
    count = 0
    for sample in samples:
        schema = registry.schema(sample.op_type, sample.opset, sample.domain)
        if schema is None:
            continue
        calls = sample.facts.types(sample.node.input[: schema.max_input])
        misfits = (each for types in calls for each in type_misfits(schema, types, bare_optionals=True))
        if misfit := next(misfits, None):
            first = first or Finding("I202", misfit.what, sample.body.location(sample.position), misfit.why)
            count += sample.nodes
    return [] if first is None else [invalid_note(first, count)]


def count_lacking(
    samples: Iterable[Sample], availability: Availability, routes: Routes, opsets: Mapping[str, int]
) -> int:
    """Return how many nodes of a model neither a runtime nor its fallback can run at the opsets `opsets`.

    A node that is not valid at these opsets, or that is known to be computed wrongly, counts, too. The nodes that only
    the fallback runs are counted in `availability.counts`, and so are the nodes that may be computed wrongly.

    Args:
        samples: The nodes of the model. Each sample stands for all nodes that are like it.
        availability: What tells whether the runtime or its fallback runs a node.
        routes: The operators at a release of onnx.
        opsets: The opset of each domain. A domain that is missing keeps the opset of the model.
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
    """Whether an operator exists at `opset`, is not withdrawn, and takes the types and attributes of a sample node.

    The result is also True if the operator has no schemas. Unknown types, and inputs beyond the operator's last one,
    are not compared. Attributes are compared only if `opset` is below the node's own.
    """
    if not routes.registry.since_versions(sample.op_type, sample.domain):
        return True
    schema = routes.schema_in_force(sample.op_type, sample.domain, opset)
    if schema is None:
        return False
    if opset < sample.opset and any(_is_foreign(each, sample, schema, routes) for each in sample.node.attribute):
        return False
    inputs = sample.node.input[: schema.max_input]
    return not any(any(True for _ in type_misfits(schema, types)) for types in sample.facts.types(inputs))


def _is_foreign(attribute: Any, sample: Sample, schema: OpSchema, routes: Routes) -> bool:
    """Whether an attribute of a sample node is missing in the older version `schema`, and its value is not the default.

    The default is the one at the node's own opset; if there is none, any value counts. `attribute` is the
    AttributeProto.
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
    """Return the opsets of ai.onnx that a runtime takes; the one at which it runs most nodes comes first.

    If it runs equally many nodes at two opsets, the one nearer to the model's own comes first. If both are equally
    near, the newer one comes first.

    Args:
        samples: Nodes that stand for all nodes of the model.
        runtime: The runtime, at one release.
        registry: The operators that are known.
        source: The opsets of the model, by domain; it must have ai.onnx, whose key is "".
        target: The opsets that other domains than ai.onnx have in the result.
    """
    choices = opsets_of(runtime, registry)
    lacking = {opset: lacking_at(opset, samples, runtime, registry, target) for opset in choices}
    return sorted(choices, key=lambda opset: (lacking[opset], abs(opset - source[""]), -opset))


def opsets_of(runtime: Runtime, registry: Registry) -> range:
    """Return the opsets of ai.onnx that a runtime takes, up to the newest one of the registry.

    They begin with 1 if the lowest is not known.
    """
    least, most = runtime.opsets.get("", (None, None))
    newest = registry.domains[""]
    return range(least or 1, min(most or newest, newest) + 1)


def lacking_at(
    opset: int, samples: Sequence[Sample], runtime: Runtime, registry: Registry, target: Mapping[str, int]
) -> int:
    """Return how many nodes neither a runtime nor its fallback can run if the model has the opset `opset` of ai.onnx.

    `samples` stand for all nodes of the model. `target` has the opsets of other domains. Nodes that are not valid at
    these opsets count, too.
    """
    routes = routes_of(registry, release_with(opset).name)
    return count_lacking(samples, availability_at(runtime, routes), routes, {**target, "": opset})
