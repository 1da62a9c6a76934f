"""Graphs that are defaults of attributes of model-local functions: they are not converted, so some are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opset.errors import Finding, quote
from opset.model.graph.index import ModelIndex
from opset.model.graph.walking import attribute_graphs, subgraphs
from opset.schemas.names import normalize_domain
from opset.version_converter.routes import Routes, Verdict
from opset.version_converter.targets import Target

_WHY = "the specification does not define which values a graph sees that an attribute of a call or a default gives"
_HELP = "write the graph into the function, or inline the function first: opset inline MODEL -o FILE"


def find_default_graphs(index: ModelIndex, target: Target, routes: Routes) -> Iterator[Finding]:
    """Yield a refusal C208 for each default of a function's attribute that is a graph whose nodes may have to change.

    A node may have to change if its operator has another version at the target, is to be lowered, or may lack a kernel
    in the target's runtime.
    """
    for body in index.functions.values():
        versions = index.imports(body) if body.proto.attribute_proto else {}
        for attribute in body.proto.attribute_proto:
            changed = next(_changed_operators(attribute_graphs(attribute), versions, target, routes), None)
            if changed is not None:
                name = quote(attribute.name)
                message = f"the default of the attribute {name} is a graph with {changed}, and is not converted"
                yield Finding("C208", message, body.label, _WHY, _HELP)


def _changed_operators(
    graphs: Iterable[Any], versions: Mapping[str, int], target: Target, routes: Routes
) -> Iterator[str]:
    """Yield the operator of each node in GraphProtos that may have to change; graphs in their nodes count.

    `versions` are the opsets in which the nodes are written, by domain.
    """
    pending = [*graphs]
    while pending:
        for node in pending.pop().node:
            op_type, domain = node.op_type, normalize_domain(node.domain)
            verdict = routes.route(op_type, domain, versions, target.opsets).verdict
            stays = verdict in (Verdict.KEEP, Verdict.PASS) and target.runtime is None
            if not stays or (op_type, domain) in target.lowered:
                yield quote(op_type)
            pending += [inner for _, inner in subgraphs(node)]
