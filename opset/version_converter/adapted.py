"""What an adapter returns, and whether that is right: adapters of one's own domains are not taken at their word."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opset.budget import Exhausted
from opset.errors import OpsetError, brief, printable, quoted
from opset.model.attributes import attribute_type
from opset.model.graph.index import FreshNames, FunctionKey
from opset.model.graph.walking import function_key, subgraphs
from opset.opsets.faults import describe_exception
from opset.opsets.hooks import origin_of
from opset.opsets.registry import Registry
from opset.schemas.constraints.signature import arity_misfits, attribute_misfits
from opset.schemas.model import OpSchema
from opset.schemas.names import normalised
from opset.version_converter.facts import ValueFacts
from opset.version_converter.rewrite import Builder, Node, Refusal, Result
from opset.version_converter.routes import Step

HELP = "correct it: opset explain adapters"


class Adapting(NamedTuple):
    """An adapter at work on a node: the transition, what it makes nodes with, and what is known of the model.

    `final` are the versions that domains are taken to, `functions` those of the model.
    """

    step: Step
    op: Builder
    node: Node
    registry: Registry
    facts: ValueFacts
    names: FreshNames
    final: Mapping[str, int]
    functions: Collection[FunctionKey]


def result_of(adapting: Adapting) -> Result:
    """Return what an adapter returns: the names of outputs, or None where the operator exists at the target, too.

    Raises what the adapter raises, and Refusal C105 where an adapter of a user's domain fails, returns anything else,
    or makes nodes that are not valid.
    """
    step, op, node, registry = adapting.step, adapting.op, adapting.node, adapting.registry
    what = f"the {'lowering' if step.lowers else 'adapter'} of {step.source.name}"
    assert step.adapter is not None
    own = not registry.is_standard(step.source.name, step.source.domain)
    try:
        result = step.adapter(op, node)
    except (Refusal, OpsetError, Exhausted):
        raise
    except Exception as error:
        if not own:
            raise
        why = printable(f"{what} raised {describe_exception(error, origin_of(step.adapter))}")
        raise Refusal("C105", why, HELP) from error
    names = [result] if isinstance(result, str) else result
    if names is None and not step.lowers:
        return None
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise Refusal("C105", f"{what} returns {brief(repr(result))}, which names no outputs", HELP)
    if own:
        for fault in (*_wrong_names(adapting, names), *_misfits(adapting)):
            raise Refusal("C105", f"{what} {fault}", HELP)
    return result


def _wrong_names(adapting: Adapting, names: Sequence[str]) -> Iterator[str]:
    """Yield values that are returned or read and that nothing has computed, and those that are computed again."""
    node, facts = adapting.node, adapting.facts
    known = {"", *node.inputs}

    def is_known(name: str) -> bool:
        # The node that computed the node's own outputs is replaced.
        return name in known or (name not in node.outputs and facts.defines(name))

    for made, _ in adapting.op.made:
        yield from (f"reads {quoted(name)}, which nothing computes" for name in made.input if not is_known(name))
        yield from (f"{fault} in a graph of {made.op_type}" for fault in _wrong_in_graphs(made, is_known))
        for name in filter(None, made.output):
            taken = name not in node.outputs and (adapting.names.occurs(name) or facts.added_producer(name) is not made)
            if taken or name in known:
                yield f"computes {quoted(name)}, which is computed already"
            known.add(name)
    yield from (f"returns {quoted(name)}, which nothing computes" for name in names if not is_known(name))


def _wrong_in_graphs(made: Any, is_known: Callable[[str], bool]) -> Iterator[str]:
    """Yield what is read and not computed, or computed twice, in the graphs of a node and those inside them."""
    pending: list[tuple[Any, frozenset[str]]] = [(graph, frozenset()) for _, graph in subgraphs(made)]
    while pending:
        graph, around = pending.pop()
        here = {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
        here |= {sparse.values.name for sparse in graph.sparse_initializer}
        for inner in graph.node:
            for name in inner.input:
                if name not in here and name not in around and not is_known(name):
                    yield f"reads {quoted(name)}, which nothing computes,"
            pending += [(each, around | here) for _, each in subgraphs(inner)]
            for name in filter(None, inner.output):
                if name in here:
                    yield f"computes {quoted(name)}, which is computed already,"
                here.add(name)
        for value in graph.output:
            if value.name not in here and value.name not in around and not is_known(value.name):
                yield f"returns {quoted(value.name)}, which nothing computes,"


def _misfits(adapting: Adapting) -> Iterator[str]:
    """Yield what does not fit the operators of new nodes: those in new graphs are in the form of the final opset."""
    registry = adapting.registry
    pending: list[tuple[Any, int]] = [*adapting.op.made]
    while pending:
        made, version = pending.pop()
        domain = normalised(made.domain)
        schema = registry.schema(made.op_type, version, domain)
        if function_key(made) not in adapting.functions and domain in registry.domains:
            if schema is None:
                yield f"makes a {brief(made.op_type)}, which does not exist at version {version}"
            else:
                yield from (f"makes a {made.op_type} that is not valid: {fault}" for fault in _misfits_of(made, schema))
        for _, graph in subgraphs(made):
            pending += [(inner, adapting.final.get(normalised(inner.domain), 0)) for inner in graph.node]


def _misfits_of(made: Any, schema: OpSchema) -> Iterator[str]:
    types = {each.name: None if each.ref_attr_name else attribute_type(each) for each in made.attribute}
    for misfits in (
        arity_misfits(schema, made.input),
        arity_misfits(schema, made.output, outputs=True),
        attribute_misfits(schema, types),
    ):
        yield from (f"{misfit.what}, {misfit.why}" for misfit in misfits)
