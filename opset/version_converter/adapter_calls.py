"""Calls of adapters, and the check of their results: adapters of one's own domains are not taken at their word."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from opset.budget import BudgetExceeded
from opset.errors import OpsetError, brief_name, quote, safe_text
from opset.model.attributes import attribute_type, attribute_value
from opset.model.graph.index import FreshNames, FunctionKey
from opset.model.graph.walking import function_key, subgraphs
from opset.opsets.faults import RAISED, describe_exception, raise_interrupt
from opset.opsets.hooks import origin_of
from opset.opsets.registry import Registry
from opset.schemas.constraints.signature import constraint_misfits, node_misfits
from opset.schemas.names import normalize_domain
from opset.version_converter.facts import ValueFacts
from opset.version_converter.rewrite import Builder, Node, Refusal, Result
from opset.version_converter.routes import RouteStep

HELP = "correct it: opset explain adapters"


class AdapterCall(NamedTuple):
    """The arguments of `call_adapter`: the adapter's own, and what its result is checked by.

    - `step`: the transition with the adapter; `op`, `node`: the two arguments of the adapter;
    - `facts`, `names`: the facts about values of the node's body, and the names that are in use;
    - `versions`: the opsets by domain in which new nodes are written; `opsets`: the target's, which come first;
    - `functions`: the keys of the model-local functions.
    """

    step: RouteStep
    op: Builder
    node: Node
    registry: Registry
    facts: ValueFacts
    names: FreshNames
    versions: Mapping[str, int]
    opsets: Mapping[str, int]
    functions: Collection[FunctionKey]


def call_adapter(call: AdapterCall) -> Result:
    """Call an adapter or a lowering; return the name or names of the values that replace the node's outputs.

    If an adapter returns None, so does this function: the adapter derived from the signatures is then to be used.
    Raises Refusal C105 if the returned value is of a wrong type, such as 5. For a lowering, None is wrong, too.

    If the adapter or lowering raises Refusal, OpsetError or BudgetExceeded, it reaches the caller. An exception of
    another class, such as KeyError, reaches the caller if the operator is a standard one. For an operator of a user's
    domain, Refusal C105 is raised in place of a KeyError. Refusal C105 is also raised if the nodes for such an operator
    are not valid.
    """
    step, op, node, registry = call.step, call.op, call.node, call.registry
    what = f"the {'lowering' if step.lowers else 'adapter'} of {step.source.name}"
    assert step.adapter is not None
    is_own = not registry.is_standard(step.source.name, step.source.domain)
    try:
        result = step.adapter(op, node)
    except (Refusal, OpsetError, BudgetExceeded):
        raise
    except RAISED as error:
        raise_interrupt(error)
        if not is_own:
            raise
        why = safe_text(f"{what} raised {describe_exception(error, origin_of(step.adapter))}")
        raise Refusal("C105", why, HELP) from error
    names = [result] if isinstance(result, str) else result
    if names is None and not step.lowers:
        return None
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise Refusal("C105", f"{what} returns {brief_name(repr(result))}, which names no outputs", HELP)
    if is_own:
        for fault in chain(_name_faults(call, names), _signature_faults(call), _type_faults(call, names)):
            raise Refusal("C105", f"{what} {fault}", HELP)
    return result


def _name_faults(call: AdapterCall, names: Sequence[str]) -> Iterator[str]:
    """Yield a phrase for each wrong name in the nodes that an adapter made: "reads 'x', which nothing computes".

    `names` are the names that the adapter returned. A name is wrong in these cases:

    - a node, or a graph inside it, reads a value that nothing has computed before;
    - a node computes a value that is computed already;
    - the adapter returned a value that nothing computes.
    """
    node, facts = call.node, call.facts
    known = {"", *node.inputs}

    def is_known(name: str) -> bool:
        # The node that computed the node's own outputs is replaced.
        """Whether a value was computed before: by a node that stays, or by a new node so far."""
        return name in known or (name not in node.outputs and facts.defines(name))

    for made, _ in call.op.made:
        yield from (f"reads {quote(name)}, which nothing computes" for name in made.input if not is_known(name))
        yield from (f"{fault} in a graph of {made.op_type}" for fault in _name_faults_in_graphs(made, is_known))
        for name in filter(None, made.output):
            taken = name not in node.outputs and (
                call.names.is_in_model(name) or facts.added_producer(name) is not made
            )
            if taken or name in known:
                yield f"computes {quote(name)}, which is computed already"
            known.add(name)
    yield from (f"returns {quote(name)}, which nothing computes" for name in names if not is_known(name))


def _name_faults_in_graphs(made: Any, is_known: Callable[[str], bool]) -> Iterator[str]:
    """Yield the end of a message for each value in a node's subgraphs that is read but not computed, or computed twice.

    Graphs in these subgraphs count, too. `made` is the NodeProto. `is_known` says whether a name is a value of the
    graphs around the node.
    """
    pending: list[tuple[Any, frozenset[str]]] = [(graph, frozenset()) for _, graph in subgraphs(made)]
    while pending:
        graph, around = pending.pop()
        inside = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        inside |= {sparse.values.name for sparse in graph.sparse_initializer}
        for node in graph.node:
            for name in node.input:
                if name not in inside and name not in around and not is_known(name):
                    yield f"reads {quote(name)}, which nothing computes,"
            pending += [(inner, around | inside) for _, inner in subgraphs(node)]
            for name in filter(None, node.output):
                if name in inside:
                    yield f"computes {quote(name)}, which is computed already,"
                inside.add(name)
        for value in graph.output:
            if value.name not in inside and value.name not in around and not is_known(value.name):
                yield f"returns {quote(value.name)}, which nothing computes,"


def _signature_faults(call: AdapterCall) -> Iterator[str]:
    """Yield the end of a message for each fault of a node that the adapter made, such as an unknown attribute.

    A node has a fault if its operator does not exist at the node's version, or if the operator's schema does not allow
    the node. Nodes in subgraphs are checked, too. Calls of model-local functions are left out. Nodes of domains without
    schemas are left out.
    """
    registry, final = call.registry, {**call.versions, **call.opsets}
    pending: list[tuple[Any, int]] = [*call.op.made]
    while pending:
        made, version = pending.pop()
        domain = normalize_domain(made.domain)
        schema = registry.schema(made.op_type, version, domain)
        if function_key(made) not in call.functions and domain in registry.domains:
            if schema is None:
                yield f"makes a {brief_name(made.op_type)}, which does not exist at version {version}"
            else:
                types = {attr.name: None if attr.ref_attr_name else attribute_type(attr) for attr in made.attribute}
                values = {attr.name: attribute_value(attr) for attr in made.attribute if not attr.ref_attr_name}
                misfits = node_misfits(schema, made.input, made.output, types), constraint_misfits(schema, values)
                for misfit in chain(*misfits):
                    yield f"makes a {made.op_type} that is not valid: {misfit.what}, {misfit.why}"
        for _, graph in subgraphs(made):
            pending += [(inner, final.get(normalize_domain(inner.domain), 0)) for inner in graph.node]


def _type_faults(call: AdapterCall, names: Sequence[str]) -> Iterator[str]:
    """Yield the end of a message for each output for which an adapter returned a value of another type.

    `names` are the names of the values that the adapter returned, in the order of the outputs. An output is skipped if
    the model does not state its type, or if the type of the value is unknown.
    """
    facts = call.facts
    for name, output in zip(names, call.node.outputs, strict=False):
        stated = facts.stated_type(output) if output and name != output else None
        if stated is not None and (type_ := facts.type(name)) not in (None, stated):
            yield f"returns {quote(name)}, which is {type_}, for the output {quote(output)}, which is {stated}"
