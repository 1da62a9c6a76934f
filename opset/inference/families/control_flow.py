"""Output types of operators that run graphs: If, Loop, Scan and SequenceMap."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from opset.inference.building.agreement import has_one_element, unify_shape
from opset.inference.building.call import Call, Constant, Unknown
from opset.inference.building.dimensions import Dim, Size, lower_bound, maximum, minimum
from opset.inference.building.graph_requests import GraphRequest, Outputs
from opset.inference.building.types import (
    Shape,
    Type,
    drop_shapes,
    element_of,
    is_rankless,
    join_types,
    map_sizes,
    sequence,
    shape_text,
    tensor,
    type_from_proto,
)
from opset.inference.registration import infer
from opset.schemas.constraints.subgraphs import check_graphs
from opset.schemas.constraints.violation import Violation

GraphRule = Generator[GraphRequest, Outputs, Any]
"""A rule that yields requests to infer a graph, and is sent the outputs of each."""

# Iterations of a loop after which less is kept of the types of loop-carried values.
_WITHOUT_SIZES = 5
_WITHOUT_RANKS = 7
_WITHOUT_TYPES = 9
_MAY_CHANGE = "{} may change between iterations, or is not known"
_FOLLOWED = ("int64", "int32", "bool")  # element types of states whose elements are passed to a graph


@infer("If")
def if_1(call: Call) -> GraphRule:
    """Yield requests to infer the branches of an If; return the types and elements of the node's outputs.

    If the condition is known, the outputs are taken from the branch that runs. Otherwise, they are what both branches
    have in common: sizes in which they differ are unknown. A branch with fewer outputs than the node counts as one that
    never runs. If the rank or type of an output is unknown because the branches differ, the reason is added to
    `call.doubts`.

    Raises Unknown if a branch is missing. Raises Violation with one of these labels:

    - C1 if the condition cannot be a single boolean;
    - C2 if no branch that may run has enough outputs;
    - C3 if a branch has inputs;
    - no label if both branches may run and an output has different element types in them.
    """
    branches = {name: _graph_of_attribute(call, name) for name in ("then_branch", "else_branch")}
    check_graphs("If", call.version, 0, 0, branches)
    graphs = list(branches.values())
    truth = _constant_condition(call, 0)
    selected = graphs if truth is None else [graphs[0] if truth else graphs[1]]
    if len(selected) == 1:
        for graph in graphs:
            if graph is not selected[0]:
                yield GraphRequest(graph, [], unused=True)
    fitting = [graph for graph in selected if len(graph.output) >= call.output_count]
    if not fitting:
        counts = " and ".join(str(len(graph.output)) for graph in selected)
        raise Violation("C2", f"the branch has {counts} outputs, and the node {call.output_count}")
    results = []
    for graph in selected:
        outputs = yield GraphRequest(graph, [], guarded=truth is None)
        if len(graph.output) >= call.output_count:
            results.append(outputs)
    if len(results) == 1:
        return results[0]
    for index, left, right in zip(range(call.output_count), results[0], results[1], strict=False):
        one, other = element_of(left), element_of(right)
        if one is not None and other is not None and one != other:
            raise Violation("", f"output {index} has {one} in one branch, and {other} in the other")
    result = _join_outputs(call, results[0], results[1], "the branches differ in {}, or that of one is not known")
    return Outputs(result[: call.output_count], result.data[: call.output_count])


@infer("Loop")
def loop_1(call: Call) -> GraphRule:
    """Yield requests to infer the body; return the output types of a Loop: carried values, then stacked scan outputs.

    The result also has the elements of carried values, as far as they are known. If the loop certainly does not run,
    the carried values are the initial ones, and scan outputs have the size 0.

    Raises Unknown if the body is missing. Raises Violation with one of these labels:

    - C1 if the condition cannot be a single boolean;
    - C2 if M does not have one element;
    - C3 if the body has a wrong number of inputs or outputs;
    - C4 if a carried value changes its element type;
    - C5 if a scan output is a sequence or map.
    """
    body = _graph_of_attribute(call, "body")
    states = max(call.input_count - 2, 0)
    check_graphs("Loop", call.version, call.input_count, call.output_count, {"body": body})
    most, least = _count_iterations(call)
    conditional = call.has(1)
    holds = _constant_condition(call, 1) if conditional else True
    initial = [call.type(2 + index) for index in range(states)]
    data = [_initial_elements(call, 2 + index) for index in range(states)]
    condition = call.type(1) if conditional else tensor("bool", ())
    number_type = type_from_proto(body.input[0].type, lambda dim: dim.dim_value)
    number = tensor("int64", (1,) if number_type is not None and number_type.shape == (1,) else ())
    if most == 0 or holds is False:
        # The scan outputs are empty; their types must hold in every iteration, however the carried values change.
        types = [number, condition, *(_widen_type(type_, True) for type_ in initial)]
        outputs = yield GraphRequest(body, types, repeated=True, unused=True)
        return Outputs([*initial, *(_stack_type(type_, 0, 0) for type_ in outputs[states + 1 :])], data)

    entry_types, outputs = yield from _infer_iterations(
        call,
        body,
        [number],
        [condition, *initial],
        [_true_constant(condition), *data],
        [],
        once=most == 1,
        first=_true_constant if conditional else None,
    )
    _check_states(initial, outputs[1 : states + 1], "C4")
    del entry_types[0]  # the condition
    count = most
    if conditional:
        _check_condition(outputs[0], "C1")
        count, least = _limit_iterations(outputs.data[0], most, least) if holds else (None, 0)
    final = Outputs(outputs[1 : states + 1], outputs.data[1 : states + 1])
    if not least:
        # An optional value may become the value in it after an iteration; the output then has the type of that value.
        entry_types = [
            end if start is not None and end is not None and start.kind == "optional" != end.kind else start
            for start, end in zip(entry_types, final, strict=True)
        ]
        final = _join_outputs(call, Outputs(entry_types, data), final, _MAY_CHANGE)
    for type_ in outputs[states + 1 :]:
        _check_scan_output(type_)
    return Outputs([*final, *(_stack_type(type_, 0, count) for type_ in outputs[states + 1 :])], final.data)


@infer("Scan", since=9)
def scan_9(call: Call) -> GraphRule:
    """Yield requests to infer the body; return the output types of a Scan: the states, then the stacked scan outputs.

    The result also has the elements of states, as far as they are known. If there certainly are no steps, the states
    are the initial ones, and scan outputs have the size 0.

    Raises Unknown if the body or `num_scan_inputs` is missing. Raises Violation with one of these labels:

    - C1 if there is a wrong number of inputs or outputs;
    - C2 if there is a wrong number of axes, or an axis does not exist;
    - C3 if there is a wrong number of directions;
    - C4 if scan inputs differ in length;
    - C5 if a scan output is a sequence or map;
    - C6 if a state changes its element type.
    """
    body = _graph_of_attribute(call, "body")
    scans, states = _count_scans_and_states(call, body, 0)
    stacks = len(body.output) - states
    axes = _numbers_of_attribute(call, "scan_input_axes", scans, "C2")
    to_axes = _numbers_of_attribute(call, "scan_output_axes", stacks, "C2")
    _numbers_of_attribute(call, "scan_input_directions", scans, "C3")
    _numbers_of_attribute(call, "scan_output_directions", stacks, "C3")
    if call.version < 11 and any(axis < 0 for axis in (*axes, *to_axes)):
        raise Violation("C2", "an axis is negative")
    length: Size | None = None
    slices: list[Type | None] = []
    for index, axis in enumerate(axes, states):
        shape = call.shape(index)
        if shape is not None:
            axis = call.axis(axis, len(shape), "C2")
            length = call.same(length, shape[axis], "C4", "the length")
            shape = shape[:axis] + shape[axis + 1 :]
        slices.append(tensor(call.dtype(index), shape))
    initial = [call.type(index) for index in range(states)]
    data = [_initial_elements(call, index) for index in range(states)]
    if length == 0:
        outputs = yield GraphRequest(body, [*initial, *slices], repeated=True, unused=True)
        return Outputs([*initial, *_stack_slices(call, outputs[states:], to_axes, 0)], data)

    entry_types, outputs = yield from _infer_iterations(call, body, [], initial, data, slices, once=length == 1)
    _check_states(initial, outputs[:states], "C6")
    final = Outputs(outputs[:states], outputs.data[:states])
    if length is None or not (lower_bound(length) or 0) > 0:
        final = _join_outputs(call, Outputs(entry_types, data), final, _MAY_CHANGE)
    return Outputs([*final, *_stack_slices(call, outputs[states:], to_axes, length)], final.data)


@infer("Scan", since=8)
def scan_8(call: Call) -> GraphRule:
    """Yield requests to infer the body; return the output types of a Scan of version 8: states, then scan outputs.

    Each output has a first dimension for the samples of a batch, and a scan output a second one for the steps.

    Raises Unknown if the body or `num_scan_inputs` is missing. Raises Violation with one of these labels:

    - C1 if there is a wrong number of inputs or outputs;
    - C3 if there is a wrong number of directions;
    - C4 if inputs differ in their steps;
    - C5 if a scan output is a sequence or map;
    - C6 if a state changes its element type;
    - C7 if inputs differ in their samples, or have too low a rank;
    - C8 if `sequence_lens` does not fit.
    """
    body = _graph_of_attribute(call, "body")
    scans, states = _count_scans_and_states(call, body, 1)
    _numbers_of_attribute(call, "directions", scans, "C3")
    batch: Size | None = None
    length: Size | None = None
    inner: list[Type | None] = []
    for index in range(1, 1 + states + scans):
        shape = call.shape(index)
        scanned = index > states
        if shape is not None:
            if len(shape) < 1 + scanned:
                raise Violation("C7", f"{call.parameter(index)} {index} has rank {len(shape)}")
            batch = call.same(batch, shape[0], "C7", "the batch")
            length = call.same(length, shape[1], "C4", "the length") if scanned else length
            shape = shape[1 + scanned :]
        inner.append(tensor(call.dtype(index), shape))
    batch, shortest = _batch_and_first_steps(call, batch, length)
    initial = inner[:states]
    if length == 0 or batch == 0:
        outputs = yield GraphRequest(body, inner, repeated=True, unused=True)
        ends = initial if batch != 0 else outputs[:states]
        return _stack_samples(batch, ends, _stack_slices(call, outputs[states:], [0] * (len(outputs) - states), length))

    entry_types, outputs = yield from _infer_iterations(call, body, [], initial, [], inner[states:], once=length == 1)
    _check_states(initial, outputs[:states], "C6")
    final = Outputs(outputs[:states])
    if not shortest:
        final = _join_outputs(call, Outputs(entry_types), final, _MAY_CHANGE)
    return _stack_samples(batch, final, _stack_slices(call, outputs[states:], [0] * (len(outputs) - states), length))


@infer("SequenceMap")
def sequence_map_17(call: Call) -> GraphRule:
    """Yield a request to infer the body; return the type of a sequence for each output of the body.

    The body takes one tensor of each input that is a sequence, and any other input as a whole. If the first input is
    not known to be a sequence, the type of its tensors is unknown. Raises Violation C2 if the body has too few outputs
    or a wrong number of inputs, Unknown if the body is missing.
    """
    body = _graph_of_attribute(call, "body")
    check_graphs("SequenceMap", call.version, call.input_count, call.output_count, {"body": body})
    types = []
    for index in range(call.input_count):
        type_ = call.type(index)
        if type_ is not None and type_.kind == "seq":
            types.append(type_.inner)
        else:
            types.append(type_ if index else None)
    outputs = yield GraphRequest(body, types, repeated=True)
    return [sequence(type_) for type_ in outputs]


# Iterations


def _infer_iterations(
    call: Call,
    body: Any,
    before: Sequence[Type | None],
    initial: Sequence[Type | None],
    data: Sequence[Constant | None],
    after: Sequence[Type | None],
    *,
    once: bool,
    first: Callable[[Type | None], Constant | None] | None = None,
) -> Generator[GraphRequest, Outputs, tuple[list[Type | None], Outputs]]:
    """Infer the body of a loop repeatedly, until the types and elements of the loop-carried values no longer change.

    This generator yields requests to infer the body. Sizes, ranks and types that differ between iterations become
    unknown. The last result is kept in `call.memory`. If the same node is inferred again, the parts that became unknown
    are unknown from the beginning, so that fewer iterations are needed.

    Args:
        call: the node.
        body: the GraphProto of the loop.
        before: the types of the body's inputs in front of the carried values, such as the iteration number.
        initial: the types of the carried values before the first iteration.
        data: the elements of the carried values before the first iteration, None if unknown; values at the end may be
            left out.
        after: the types of the body's inputs behind the carried values, such as the scanned slices.
        once: whether there is just one iteration.
        first: given if the first carried value has the same elements in every iteration: a function that takes the
            value's type and returns these elements.

    Returns:
        Two results. The first has the types of the carried values before the first iteration, made more precise by the
            types that the body states for its inputs. The second has the types and elements of the body's outputs that
            hold in every iteration.
    """
    # Values that an earlier inference of the node widened are widened from the beginning: otherwise each level of
    # nested loops would double the number of iterations.
    start = len(before)
    varied: set[int] = set()
    carried = list(initial)
    elements = [*data, *[None] * (len(initial) - len(data))]
    first_carried, first_elements, *former = call.memory.get("iterations", (carried, elements))
    if former:
        carried = [_drop_lost_parts(*types) for types in zip(carried, first_carried, former[0], strict=True)]
        elements = [
            new if was == now else _common_elements(new, now)
            for new, was, now in zip(elements, first_elements, former[1], strict=True)
        ]
        varied = former[2]
    entry_types: list[Type | None] = []
    for iteration in range(1, _WITHOUT_TYPES + 2):
        if first is not None:
            elements[0] = first(carried[0])
        outputs = yield GraphRequest(body, [*before, *carried, *after], [*[None] * start, *elements], True, varied)
        body_inputs = outputs.inputs[start : start + len(carried)]
        entry_types = entry_types or body_inputs
        next_types = [join_types(a, b) for a, b in zip(body_inputs, outputs, strict=False)]
        next_elements = [_common_elements(a, b) for a, b in zip(elements, outputs.data, strict=False)]
        if first is not None:
            next_elements[0] = elements[0]
        if once or (next_types in (carried, body_inputs) and next_elements == elements):
            break
        # A shape that the graph states is not used if iterations differ.
        for index, (was, now, both) in enumerate(zip(body_inputs, outputs, next_types, strict=False), start):
            if both not in (was, None) and (now is None or now.kind != "tensor" or now.shape is not None):
                varied.add(index)
        carried = next_types
        elements = next_elements
        if iteration >= _WITHOUT_SIZES:
            rankless = iteration >= _WITHOUT_RANKS
            carried = [None if iteration >= _WITHOUT_TYPES else _widen_type(type_, rankless) for type_ in carried]
            elements = [None] * len(carried)
            varied.update(range(start, start + len(carried)))
    call.memory["iterations"] = first_carried, first_elements, carried, elements, varied
    return entry_types, outputs


def _drop_lost_parts(type_: Type | None, before: Type | None, after: Type | None) -> Type | None:
    """Return `type_` with None in place of each size that is known in `before`, but unknown in `after`.

    `before` and `after` are the types of a state before and after an iteration. If they are [2, 3] and [2, ?], the type
    [4, 5] becomes [4, ?]. If the iteration loses or changes the rank, the rank of the result is unknown. If it loses
    the whole type (`after` is None), the result is None.
    """
    if type_ is None or before is None or before == after:
        return type_
    if after is None:
        return None
    shape = type_.shape
    if shape is not None and before.shape is not None:
        if after.shape is None or not len(shape) == len(before.shape) == len(after.shape):
            shape = None
        else:
            lost = [a is not None and b is None for a, b in zip(before.shape, after.shape, strict=True)]
            shape = tuple([None if gone else size for gone, size in zip(lost, shape, strict=True)])
    return type_._replace(shape=shape, inner=_drop_lost_parts(type_.inner, before.inner, after.inner))


def _widen_type(type_: Type | None, rankless: bool) -> Type | None:
    """Return a type without its sizes: float[?, ?] for float[2, 3]. The result is None if the type is None.

    If `rankless` is True, the ranks are unknown, too.
    """
    return drop_shapes(type_) if rankless else map_sizes(type_, lambda size: None)


def _join_outputs(call: Call, left: Outputs, right: Outputs, why: str) -> Outputs:
    """Return the types and elements that `left` and `right` have in common, joined output by output by `join_types`.

    For each output whose type or rank is then unknown, the reason `why` is added to `call.doubts`, with "type" or
    "rank" in place of {}. If one of the two has more outputs, the rest is left out.
    """
    types = [join_types(a, b) for a, b in zip(left, right, strict=False)]
    for type_ in types:
        if is_rankless(type_):
            call.doubt(why.format("type" if type_ is None else "rank"))
    return Outputs(types, [_common_elements(a, b) for a, b in zip(left.data, right.data, strict=False)])


def _common_elements(left: Constant | None, right: Constant | None) -> Constant | None:
    """Return the elements that two constants have in common; an element in which they differ is None.

    Returns None if they have no element in common, if their shapes differ, or if one of them is None.
    """
    if left == right or left is None or right is None or left.dims != right.dims:
        return left if left == right else None
    elements = tuple([a if a == b else None for a, b in zip(left.values, right.values, strict=True)])
    return None if all(element is None for element in elements) else left._replace(values=elements)


def _count_iterations(call: Call) -> tuple[Size | None, int]:
    """Return the number of iterations that a Loop's input M allows, and a lower bound of this number.

    The condition of the Loop is ignored. A negative M counts as 0. The number may be symbolic, such as N. If M is
    unknown, the result is (None, 0). If M is absent, M allows any number of iterations, and the result is (None, 1).
    Raises Violation C2 if M certainly does not have one element.
    """
    if not call.has(0):
        return None, 1
    _check_one_element(call.type(0), "C2", "M")
    number = call.element(0)
    if not isinstance(number, int | Dim):
        return None, 0
    count = maximum(0, number)
    return count, lower_bound(count) or 0


def _limit_iterations(condition: Constant | None, most: Size | None, least: int) -> tuple[Size | None, int]:
    """Return how often a Loop with a condition runs (None if unknown), and the least number of times that is certain.

    The Loop is taken to run a first iteration if M allows one, as if its condition was true before it. The body's
    first output is the condition for the next iteration:

    - always true: the result is `most` and `least`;
    - always false: the Loop runs at most once;
    - unknown: it runs once if M is 1. For any other M, the number is unknown.

    If the condition is not always true, the least number is at most 1.

    Args:
        condition: the body's first output; None if its elements are unknown.
        most: the number of iterations that the input M allows, None if M is unknown or absent.
        least: the least number of iterations that M makes certain: 0 if M is unknown, 1 if it is absent.
    """
    holds = None if condition is None else condition.values
    if holds == (True,):
        return most, least
    least = min(least, 1)
    if holds == (False,) and most is not None:
        return minimum(1, most), least
    # Without M there is a first iteration, and with an unknown M there may be none.
    once = least == 1 and (most == 1 or (most is None and holds == (False,)))
    return (1 if once else None), least


def _true_constant(type_: Type | None) -> Constant | None:
    """Return the Constant True with the shape of `type_`, such as [1, 1].

    Returns None if the type is None, or if its shape may have another number of elements than one.
    """
    if type_ is None or type_.shape is None or any(size != 1 for size in type_.shape):
        return None
    return Constant("bool", (1,) * len(type_.shape), (True,))


def _constant_condition(call: Call, index: int) -> bool | None:
    """Return the boolean in the input at `index`, or None if it is unknown.

    Raises Violation C1 if the input cannot be a single boolean.
    """
    _check_condition(call.type(index), "C1")
    element = call.element(index)
    return element if isinstance(element, bool) else None


def _initial_elements(call: Call, index: int) -> Constant | None:
    """Return the elements of the state in the input at `index`, or None if they are unknown.

    Only elements of type int64, int32 or bool are followed; any other state counts as unknown.
    """
    return call.constant(index) if call.dtype(index) in _FOLLOWED else None


# Scan


def _count_scans_and_states(call: Call, body: Any, leading: int) -> tuple[int, int]:
    """Return the number of scan inputs and the number of states of a Scan, in this order.

    `leading` is the number of inputs before the states: 1 in version 8 (`sequence_lens`), later 0. The attribute
    `num_scan_inputs` is the number of scan inputs. Raises Unknown if this attribute is not known, Violation C1 if the
    GraphProto `body` has too few outputs, or a number of inputs that does not fit.
    """
    scans = call.attribute("num_scan_inputs")
    if scans is None:
        raise Unknown("the number of scan inputs is not known")
    check_graphs("Scan", call.version, call.input_count, call.output_count, {"body": body}, scans)
    return scans, call.input_count - leading - scans


def _numbers_of_attribute(call: Call, name: str, count: int, label: str) -> Sequence[int]:
    """Return the `count` numbers in the attribute `name`, all 0 if it is absent or empty.

    Raises Violation `label` if the attribute has another number of values.
    """
    numbers = call.attribute(name)
    if not numbers:
        return [0] * count
    if len(numbers) != count:
        raise Violation(label, f"{name} has {len(numbers)} numbers for {count}")
    return tuple(numbers)


def _batch_and_first_steps(call: Call, batch: Size | None, length: Size | None) -> tuple[Size | None, bool]:
    """Return the size of the batch of a Scan of version 8, and whether every sequence certainly has a step.

    If `batch` is unknown, the size is the number of elements of the input `sequence_lens`. An element of
    `sequence_lens` is the number of steps of a sequence. If the node lacks this input, each sequence has `length`
    steps. Raises Violation C8 if the shape of `sequence_lens` is not (batch,), or if an element is negative or above
    `length`.

    Args:
        call: the node.
        batch: the size of the batch that the states and scan inputs show, None if unknown.
        length: the number of steps of the scan inputs, None if unknown.
    """
    (batch,) = unify_shape(call, 0, (batch,), "C8")
    if not call.has(0):
        return batch, length is not None and (lower_bound(length) or 0) > 0
    ends = call.sizes(0)
    if ends is None:
        return batch, False
    numbers = [end for end in ends if isinstance(end, int)]
    if any(end < 0 or (isinstance(length, int) and end > length) for end in numbers):
        raise Violation("C8", f"lengths {numbers[:9]} of at most {length}")
    return batch, all(end is not None and (lower_bound(end) or 0) > 0 for end in ends)


def _stack_samples(batch: Size | None, states: Iterable[Type | None], stacked: Iterable[Type | None]) -> Outputs:
    """Return the types in `states` and then those in `stacked`, all with a new first dimension of size `batch`.

    A type that is None or no tensor becomes a tensor of unknown element type and rank.
    """
    return Outputs([_stack_type(type_, 0, batch) for type_ in (*states, *stacked)])


def _stack_slices(
    call: Call, slices: Sequence[Type | None], axes: Sequence[int], length: Size | None
) -> list[Type | None]:
    """Return the type of each scan output of a loop, which stacks one tensor for each iteration along a new axis.

    A tensor [2, 3] that is stacked 7 times along axis 1 gives [2, 7, 3].

    Args:
        call: The loop.
        slices: For each scan output, the type of the tensor of one iteration; None if it is unknown.
        axes: For each scan output, the index of the new axis; a negative index counts from the end.
        length: The number of iterations; None if it is unknown.

    Raises:
        Violation: C2 if a new axis does not exist, C5 if the type in `slices` is a sequence or map.
    """
    types = []
    for type_, axis in zip(slices, axes, strict=True):
        _check_scan_output(type_)
        rank = None if type_ is None or type_.shape is None else len(type_.shape)
        types.append(_stack_type(type_, axis if rank is None else call.axis(axis, rank + 1, "C2"), length))
    return types


# Graphs


def _graph_of_attribute(call: Call, name: str) -> Any:
    """Return the GraphProto in the attribute `name`. Raises Unknown if it is absent or holds no graph."""
    graph = call.attribute(name)
    if getattr(graph, "node", None) is None:
        raise Unknown(f"there is no graph {name}")
    return graph


def _stack_type(type_: Type | None, axis: int, length: Size | None) -> Type | None:
    """Return the type of `length` tensors of type `type_`, stacked along the new axis `axis`, which is not negative.

    The result is a tensor of unknown element type and rank if `type_` is None or no tensor.
    """
    if type_ is None or type_.kind != "tensor":
        return tensor(None)
    shape: Shape | None = type_.shape
    return type_._replace(shape=None if shape is None else (*shape[:axis], length, *shape[axis:]))


def _check_scan_output(type_: Type | None) -> None:
    """Raise Violation C5 if the type of a scan output is a sequence or a map."""
    if type_ is not None and type_.kind in ("seq", "map"):
        raise Violation("C5", f"a scan output is {type_}")


def _check_states(before: Sequence[Type | None], after: Sequence[Type | None], label: str) -> None:
    """Raise Violation `label` if a tensor becomes a sequence or map in an iteration, or gets another element type.

    `before` and `after` are the types of loop-carried values before and after an iteration.
    """
    for number, (was, now) in enumerate(zip(before, after, strict=True)):
        if was is None or now is None or was.kind != "tensor":
            continue
        differ = was.element is not None and now.element is not None and was.element != now.element
        if now.kind in ("seq", "map") or (now.kind == "tensor" and differ):
            raise Violation(label, f"value {number} was {was}, and is {now}")


def _check_one_element(type_: Type | None, label: str, what: str) -> None:
    """Raise Violation `label` if a value of this type certainly does not have one element.

    `what` is the name of the value in the message, such as "M".
    """
    if type_ is not None and has_one_element(type_.shape) is False:
        raise Violation(label, f"{what} has the shape {shape_text(type_.shape)}")


def _check_condition(type_: Type | None, label: str) -> None:
    """Raise Violation `label` if a value of this type cannot be a single boolean; a type of None is accepted."""
    if type_ is not None and (type_.kind in ("seq", "map") or type_.element not in (None, "bool")):
        raise Violation(label, f"the condition is {type_}")
    _check_one_element(type_, label, "the condition")
