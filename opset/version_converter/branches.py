"""The branch that an If always takes in its place, if its condition is known before the model runs.

    proto, count = take_branches(index, inference, budget)

So the other branch need not run on the target, nor be valid for the shapes of the model. An initializer that a caller
may override is no known condition.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from opset.budget import Budget
from opset.model import proto as pb
from opset.model.graph.index import Body, FreshNames, ModelIndex, messages_of
from opset.model.graph.splicing import splice_function
from opset.model.graph.walking import names_read
from opset.version_converter.lazy_inference import LazyInference
from opset.version_converter.replacement import remove_unused, replace_nodes, unused_after

THEN, ELSE = "then_branch", "else_branch"


class _KnownIf(NamedTuple):
    """An If whose condition is known, as its index in the body (`node`), and the branch that it always takes."""

    node: int
    branch: Body


def has_branches(index: ModelIndex) -> bool:
    """Whether the model has an If outside of functions; those in functions are never replaced.

    An If in a subgraph counts, and so does one in a training graph.
    """
    return any(body.name == THEN and not body.root.function for body in index.bodies)


def take_branches(index: ModelIndex, inference: LazyInference, budget: Budget) -> tuple[Any, int]:
    """Return (copy of the ModelProto, number of changed nodes): each If with a known condition becomes its branch.

    Values that only the condition or the discarded branch needed are removed. Nodes in functions stay. Returns (None,
    0) if no If can be replaced, or if the model has training graphs. Raises BudgetExceeded if the budget is used up.
    """
    if index.proto.training_info:  # whose graphs read values of the main graph by their names
        return None, 0
    taken = {body: found for body in index.bodies if (found := [*_find_known_ifs(index, body, inference)])}
    if not taken:
        return None, 0
    budget.hold(index.proto.ByteSize())
    proto = pb.ModelProto()
    proto.CopyFrom(index.proto)
    messages, names = messages_of(index, proto), FreshNames(index.bodies)
    for holder in reversed(index.bodies):  # when nodes are replaced, others move, with the graphs that they hold
        if holder in taken:
            _replace_ifs(holder, taken[holder], messages, names)
    return proto, sum(map(len, taken.values()))


def _find_known_ifs(index: ModelIndex, body: Body, inference: LazyInference) -> Iterator[_KnownIf]:
    """Yield the If nodes of a body whose condition is known, and whose branch can replace them.

    Nothing is yielded for a body in a function.
    """
    if body.root.function:
        return
    for inner in body.inner_bodies:
        at = inner.index
        if inner.name != THEN or body.operators[at] != ("If", "") or body.function_key(at) in index.functions:
            continue
        condition = inference.data(body, body.reads[at][0]) if body.reads[at] else None
        if condition is None or len(condition.values) != 1 or not isinstance(condition.values[0], bool | int):
            continue
        branch = inner if condition.values[0] else body.subgraphs.get((at, ELSE))
        if branch is not None and _can_replace(branch, body.computes[at], index):
            yield _KnownIf(at, branch)


def _can_replace(branch: Body, outputs: list[str], index: ModelIndex) -> bool:
    """Whether the nodes of `branch` can replace an If in the graph around it; `outputs` are the If's outputs.

    They cannot if the branch has inputs, quantization annotations, or another number of outputs. They cannot if the
    branch has initializers, and the IR version is below 4. Each output of the branch must have a name, and be computed
    by one of its nodes, or be stated to be a tensor.
    """
    proto = branch.proto
    if len(proto.output) != len(outputs) or proto.input or proto.quantization_annotation:
        return False
    if index.proto.ir_version < 4 and proto.initializer:  # each would be an input, too
        return False
    # A value from outside, or an initializer, is passed on by an Identity, which may not take other types yet.
    return all(
        each.name and (branch.definitions.get(each.name, -1) >= 0 or each.type.HasField("tensor_type"))
        for each in proto.output
    )


def _replace_ifs(holder: Body, taken: list[_KnownIf], messages: dict[Body, Any], names: FreshNames) -> None:
    """Replace If nodes of the body `holder` by the nodes of their branches.

    `taken` are the If nodes with their branches. `messages` has the GraphProto of each body in the copied model; the
    GraphProto of `holder` is changed. Initializers of the branches are moved to it, and values that nothing reads any
    more are removed.
    """
    message = messages[holder]
    replaced: dict[int, list[Any]] = {}
    released: set[str] = set()
    stated = {value.name for value in (*message.output, *message.value_info)}
    for at, branch in taken:
        node, graph = message.node[at], messages[branch]
        given = _move_tensors(graph, message, names)
        function = pb.FunctionProto(node=graph.node, value_info=graph.value_info)
        function.output.extend(value.name for value in graph.output)
        reads = names_read(graph.node) | {*function.output}
        outside = sorted(reads.difference(*(each.output for each in graph.node), given, ("",)))
        function.input.extend([*outside, *given])
        call = pb.NodeProto(name=node.name, op_type=node.op_type, input=[*outside, *given.values()], output=node.output)
        call.metadata_props.extend(node.metadata_props)
        nodes, value_info = splice_function(function, call, names)
        message.value_info.extend(value_info)
        for name, value in zip(node.output, graph.output, strict=True):
            if name and name not in stated and value.type.HasField("tensor_type"):
                type_ = message.value_info.add(name=name).type
                type_.CopyFrom(value.type)
                for dim in type_.tensor_type.shape.dim:
                    dim.ClearField("dim_param")  # which may name another size around the branch
        released |= names_read([node]) - names_read(nodes)
        replaced[at] = nodes
    unused, dead = unused_after(holder, message, replaced, released, ())
    if unused:
        remove_unused(message, False, replaced, unused, dead)
    replace_nodes(message, replaced)


def _move_tensors(graph: Any, message: Any, names: FreshNames) -> dict[str, str]:
    """Copy the initializers of a branch to the graph around it; return their new names by their old names.

    Each gets a name that is new in the model. `graph` is the GraphProto of the branch, which is not changed; `message`
    is the GraphProto around it.
    """
    given: dict[str, str] = {}
    for tensor in graph.initializer:
        given[tensor.name] = names.fresh(tensor.name)
        message.initializer.add().CopyFrom(tensor)
        message.initializer[-1].name = given[tensor.name]
    for sparse in graph.sparse_initializer:
        given[sparse.values.name] = names.fresh(sparse.values.name)
        message.sparse_initializer.add().CopyFrom(sparse)
        message.sparse_initializer[-1].values.name = given[sparse.values.name]
    return given
