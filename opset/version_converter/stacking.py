"""Stacking of sequences that loops fill, for targets at which no loop carries a sequence.

A Loop may begin with an empty sequence to which each iteration appends one tensor. If all these tensors have one shape,
or else their concatenation fails, the body returns them as a scan output, and SplitToSequence makes the sequence of the
stack: its readers then read parts of a known tensor, which adapters can write without sequences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from opset.budget import Budget
from opset.inference.building.types import Type, type_to_proto
from opset.model import proto as pb
from opset.model.attributes import attribute_value
from opset.model.graph.index import Body, FreshNames, ModelIndex, bodies_below, messages_of
from opset.model.graph.walking import names_read
from opset.version_converter.lazy_inference import LazyInference
from opset.version_converter.replacement import set_entries
from opset.version_converter.rewrite import set_attribute

CARRIED = 13
"""The version from which loops carry sequences."""
_CARRIED_FROM, _RESULTS_FROM = 2, 1
"""Index of the first value that a loop carries: among the inputs of node and body, and among the body's outputs."""


class _FilledSequence(NamedTuple):
    """A sequence that a loop fills with one tensor in each iteration.

    - `number`: its position among the values that the loop carries;
    - `append`: the index of the SequenceInsert in the loop's body;
    - `value`, `type`: the name and the type of the tensor that is appended.
    """

    number: int
    append: int
    value: str
    type: Type


def stack_sequences(index: ModelIndex, inference: LazyInference, budget: Budget) -> tuple[Any, int] | None:
    """Return a copy of the model in which loops stack tensors in a scan output instead of filling a sequence.

    Behind the loop, the stack is split into the sequence. Returns the ModelProto and the number of changed sequences,
    or None if no sequence can be changed, or if the model has training graphs. Raises BudgetExceeded if the budget is
    used up.
    """
    if index.proto.training_info:  # whose graphs read values of the main graph by their names
        return None
    filled_in = {body: filled for body in index.bodies if (filled := [*_find_filled(index, body, inference, budget)])}
    if not filled_in:
        return None
    budget.hold(index.proto.ByteSize())
    proto = pb.ModelProto()
    proto.CopyFrom(index.proto)
    messages, names = messages_of(index, proto), FreshNames(index.bodies)
    splits: dict[Body, dict[int, list[Any]]] = {}
    for body, filled in filled_in.items():
        assert body.parent is not None
        nodes = _stack_in_loop(messages[body.parent].node[body.index], messages[body], filled, names)
        splits.setdefault(body.parent, {})[body.index] = nodes
    for holder in reversed(index.bodies):  # where nodes are inserted, others move, with the graphs that they hold
        if holder in splits:
            _insert_splits(messages[holder], splits[holder])
    return proto, sum(map(len, filled_in.values()))


def _find_filled(index: ModelIndex, body: Body, inference: LazyInference, budget: Budget) -> Iterator[_FilledSequence]:
    """Yield the sequences that a Loop fills with tensors which surely all have the same shape.

    Each sequence begins empty; each iteration appends one tensor at its end, and nothing else in the loop reads it. The
    shapes are the same if inference shows it, or if a node behind the loop concatenates the sequence and would fail for
    different shapes. Nothing is yielded if `body` is not a Loop's.

    Raises BudgetExceeded if the budget is used up.
    """
    holder = body.parent
    if holder is None or not _is_node_of(index, holder, body.index, "Loop"):
        return
    given, computes = holder.reads[body.index], holder.computes[body.index]
    formal, results = body.input_names(), body.output_names()
    states = len(given) - _CARRIED_FROM
    if len(formal) != len(given) or len(results) < max(states, len(computes)) + _RESULTS_FROM:
        return
    counts: Counter[str] = Counter()
    for number in range(min(states, len(computes))):
        start = holder.definitions.get(given[_CARRIED_FROM + number], -1)
        before, after = formal[_CARRIED_FROM + number], results[_RESULTS_FROM + number]
        append = body.definitions.get(after, -1)
        if start < 0 or append < 0 or not computes[number] or not _is_node_of(index, holder, start, "SequenceEmpty"):
            continue
        reads = body.reads[append]
        if not _is_node_of(index, body, append, "SequenceInsert") or reads[0] != before or any(reads[2:]):
            continue
        counts = counts or _count_reads(body, budget)
        type_ = inference.type(body, reads[1])
        if counts[before] != 1 or counts[after] != 1 or type_ is None or type_.element is None or type_.shape is None:
            continue
        rank, steady = len(type_.shape), inference.steady_axes(body, reads[1])
        if len(steady) == rank or _is_concatenated(index, holder, computes[number], rank, steady, budget):
            yield _FilledSequence(number, append, reads[1], type_)


def _is_concatenated(index: ModelIndex, body: Body, name: str, rank: int, steady: set[int], budget: Budget) -> bool:
    """Whether a node of `body` concatenates the sequence `name` in a way that fails for tensors of different shapes.

    This is a concatenation along a new axis or along an axis in `steady`. All tensors surely have the same size along
    an axis in `steady`. `rank` is the rank of the tensors. Raises BudgetExceeded if the budget is used up.
    """
    # Along all other axes, tensors that are concatenated have to have one size.
    budget.charge(len(body.nodes))
    for position, reads in enumerate(body.reads):
        if reads[:1] == [name] and _is_node_of(index, body, position, "ConcatFromSequence"):
            stated = {attribute.name: attribute_value(attribute) for attribute in body.attributes[position]}
            axis, stacked = stated.get("axis"), stated.get("new_axis", 0)
            if stacked == 1 or (stacked == 0 and isinstance(axis, int) and axis + rank * (axis < 0) in steady):
                return True
    return False


def _is_node_of(index: ModelIndex, body: Body, position: int, op_type: str) -> bool:
    """Whether the node at `position` is of the ai.onnx operator `op_type`, and no call of a model-local function."""
    return body.operators[position] == (op_type, "") and body.function_key(position) not in index.functions


def _count_reads(body: Body, budget: Budget) -> Counter[str]:
    """Return how often each name is read in a graph and the graphs inside it; an output of a graph counts as read.

    The reads are charged to the budget. Raises BudgetExceeded if it is used up.
    """
    counts: Counter[str] = Counter()
    for inner in bodies_below(body):
        budget.charge(len(inner.nodes) + sum(map(len, inner.reads)))
        counts.update(inner.output_names())
        for reads in inner.reads:
            counts.update(reads)
    return counts


def _stack_in_loop(node: Any, graph: Any, filled: list[_FilledSequence], names: FreshNames) -> list[Any]:
    """Change a Loop node and its body, in place, to stack tensors instead of filling sequences.

    The sequences are removed from the values that the loop carries. The tensors that were appended to a sequence become
    a new scan output. New scan outputs follow the scan outputs that the Loop had before.

    Args:
        node: The NodeProto of the Loop.
        graph: The GraphProto of its body.
        filled: The sequences.
        names: Makes new names.

    Returns:
        One SplitToSequence node for each sequence, in the order of `filled`. The node splits the new scan output into
            the sequence that the Loop used to return. The caller inserts these nodes after the Loop.
    """
    outputs = [*node.output, *[""] * (len(graph.output) - _RESULTS_FROM - len(node.output))]
    splits, results = [], []
    for number, append, value, type_ in filled:
        result = graph.output[_RESULTS_FROM + number].name
        name = graph.node[append].name
        graph.node[append].CopyFrom(pb.NodeProto(op_type="Identity", name=name, input=[value], output=[result]))
        numbers = tuple([size if isinstance(size, int) else None for size in type_.shape or ()])
        results.append(pb.ValueInfoProto(name=result, type=type_to_proto(type_._replace(shape=numbers))))
        stack = names.fresh(f"{outputs[number]}__stack")
        split = pb.NodeProto(op_type="SplitToSequence", input=[stack], output=[outputs[number]])
        split.name = names.fresh(f"{node.name}__SplitToSequence") if node.name else ""
        set_attribute(split, "keepdims", "int", 0)
        splits.append(split)
        outputs.append(stack)
    gone = {sequence.number for sequence in filled}
    stated = {value.name for value in results}
    for field, first in ((graph.input, _CARRIED_FROM), (graph.output, _RESULTS_FROM), (node.input, _CARRIED_FROM)):
        set_entries(field, [entry for position, entry in enumerate(field) if position - first not in gone])
    set_entries(graph.value_info, [value for value in graph.value_info if value.name not in stated])
    set_entries(node.output, [name for number, name in enumerate(outputs) if number not in gone])
    graph.output.extend(results)
    return splits


def _insert_splits(graph: Any, splits: dict[int, list[Any]]) -> None:
    """Insert nodes into a graph, in place, and remove its SequenceEmpty nodes that nothing reads any more.

    `splits` has the new nodes by the position of the node after which they are inserted; the positions are those before
    any change.
    """
    read = names_read(graph.node) | {value if isinstance(value, str) else value.name for value in graph.output}
    nodes: list[Any] = []
    gone: set[str] = set()
    for position, node in enumerate(graph.node):
        if node.op_type == "SequenceEmpty" and node.domain in ("", "ai.onnx") and read.isdisjoint(node.output):
            gone.update(node.output)
        else:
            nodes.append(node)
        nodes.extend(splits.get(position, ()))
    del graph.node[:]
    graph.node.extend(nodes)
    set_entries(graph.value_info, [value for value in graph.value_info if value.name not in gone])
