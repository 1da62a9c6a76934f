"""Kernels that run graphs: If, Loop, Scan and SequenceMap."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np

from opset.inference.building.shapes import normalize_axis
from opset.model.arrays import dtype_of_element
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.memory import compact, nbytes
from opset.reference.registration import Graph, GraphCalls, KernelContext, kernel
from opset.schemas.constraints.violation import Violation


@kernel("If")
def if_1(cond: Array, *, then_branch: Graph, else_branch: Graph, context: KernelContext) -> GraphCalls:
    """Return the outputs of the graph that the condition chooses."""
    if not (then_branch.takes(0) and else_branch.takes(0)):
        raise Violation("C3", f"they have {len(then_branch.inputs)} and {len(else_branch.inputs)}")
    branch = then_branch if _is_true(cond, "C1") else else_branch
    if len(branch.outputs) < context.outputs:
        raise Violation("C2", f"it has {len(branch.outputs)} outputs, and the node {context.outputs}")
    outputs = yield branch, []
    return tuple(outputs)


@kernel("Loop")
def loop_1(
    trips: Array | None = None, cond: Array | None = None, *carried: Any, body: Graph, context: KernelContext
) -> GraphCalls:
    """Return the carried values after the last iteration, then the scan outputs of all iterations, stacked."""
    if trips is not None and trips.size != 1:
        raise Violation("C2", f"M has {trips.size} elements")
    states = len(carried)
    if not body.takes(states + 2) or len(body.outputs) < max(states + 1, context.outputs + 1):
        raise Violation("C3", f"{states} carried values, {_describe_arity(body)}")
    values, going = list(carried), True if cond is None else _is_true(cond, "C1")
    condition: Any = np.array(True) if cond is None else cond
    shape = (1,) if body.inputs[0].shape == (1,) else ()  # of the iteration's number
    stacks: list[list[Array]] = [[] for _ in body.outputs[states + 1 :]]
    sizes = dict.fromkeys(map(id, carried), 0)
    # Numbers of a range do not overflow, unlike numpy's.
    for number in count() if trips is None else range(int(trips.item())):
        if not going:
            break
        outputs = yield body, [np.full(shape, number, np.int64), condition, *values]
        sizes = _count_carried(outputs[1 : states + 1], sizes, context)
        condition, values = outputs[0], _check_types(values, outputs[1 : states + 1], "C4")
        if cond is not None:
            going = _is_true(condition, "C1")
        for stack, value in zip(stacks, outputs[states + 1 :], strict=True):
            _keep_output(stack, value, context)
    return (
        *values,
        *(_stack_outputs(stack, body, states + 1 + number, 0, context) for number, stack in enumerate(stacks)),
    )


def _count_carried(values: Sequence[Any], sizes: Mapping[int, int], context: KernelContext) -> dict[int, int]:
    """Count the bytes of values that are carried to the next iteration; return the bytes of each value by its identity.

    No frame holds these values between two iterations, and each iteration may add a value to those that it passes on.
    `sizes` has the bytes of the previous values, which are still live, 0 for values that are counted outside.
    """
    sizes_of_values = {id(value): sizes[id(value)] if id(value) in sizes else nbytes(value) for value in values}
    context.carry(sum(sizes_of_values.values()))
    return sizes_of_values


def _is_true(cond: Array, label: str) -> bool:
    """Whether a condition is true. Raises Violation of `label` if it is not a single boolean."""
    if not isinstance(cond, np.ndarray) or cond.size != 1 or cond.dtype != np.bool_:
        raise Violation(label, "the condition is not a single boolean")
    return bool(cond.item())


def _describe_arity(body: Graph) -> str:
    """Return the number of inputs and outputs of a graph, in words."""
    return f"a body of {len(body.inputs)} inputs and {len(body.outputs)} outputs"


def _check_types(before: Sequence[Any], after: list[Any], label: str) -> list[Any]:
    """Return the next states. Raises Violation of `label` if their types are not the types of the previous ones."""
    for number, (previous, value) in enumerate(zip(before, after, strict=True)):
        if isinstance(previous, np.ndarray) and (not isinstance(value, np.ndarray) or value.dtype != previous.dtype):
            kind = getattr(value, "dtype", "none")
            raise Violation(label, f"value {number} was of type {previous.dtype}, and is {kind}")
    return after


def _keep_output(stack: list[Array], value: Any, context: KernelContext) -> None:
    """Append a scan output of an iteration to a stack. Raises Violation C5 if it does not stack with the others."""
    if not isinstance(value, np.ndarray):
        raise Violation("C5", "one of them is no tensor")
    if stack and (stack[0].shape != value.shape or stack[0].dtype != value.dtype):
        raise Violation("C5", f"{stack[0].dtype}{list(stack[0].shape)}, then {value.dtype}{list(value.shape)}")
    value = compact(value)
    context.hold(value)
    stack.append(value)


def _stack_outputs(stack: list[Array], body: Graph, index: int, axis: int, context: KernelContext) -> Array:
    """Return values of output `index` of a graph stacked along a new axis, or an empty tensor if there are none."""
    if stack:
        context.reserve(len(stack) * stack[0].size, stack[0].dtype)
        return np.stack(stack, axis)
    shape, dtype = _type_of_output(body, index)
    shape.insert(axis, 0)
    return np.empty(shape, dtype)


def _type_of_output(body: Graph, index: int) -> tuple[list[int], np.dtype[Any]]:
    """Return the shape and type of output `index` of a graph, declared or inferred; a size that is not known is 0."""
    output = body.describe_output(index)
    if output.type is None or not output.type.startswith("tensor("):
        raise ValueError(f"no iteration runs, and the type of the output '{output.name}' of the graph is not known")
    shape = [dim if isinstance(dim, int) else 0 for dim in output.shape or ()]
    return shape, dtype_of_element(output.type.removeprefix("tensor(").removesuffix(")"))


@kernel("Scan", since=9)
def scan_9(
    *inputs: Array,
    body: Graph,
    num_scan_inputs: int,
    scan_input_axes: Sequence[int] | None,
    scan_input_directions: Sequence[int] | None,
    scan_output_axes: Sequence[int] | None,
    scan_output_directions: Sequence[int] | None,
    context: KernelContext,
) -> GraphCalls:
    """Return the last states, then the scan outputs of all iterations, stacked along an axis."""
    states = _count_states(inputs, num_scan_inputs, body, context)
    stacked = len(body.outputs) - states
    axes = _fill_numbers(scan_input_axes, num_scan_inputs, "C2")
    to_axes = _fill_numbers(scan_output_axes, stacked, "C2")
    if context.version < 11 and any(axis < 0 for axis in (*axes, *to_axes)):
        raise Violation("C2", "an axis is negative")
    scanned = [
        np.moveaxis(x, normalize_axis(axis, x.ndim, "C2"), 0) for x, axis in zip(inputs[states:], axes, strict=True)
    ]
    backwards = _fill_numbers(scan_input_directions, num_scan_inputs, "C3")
    to_front = _fill_numbers(scan_output_directions, stacked, "C3")
    values, stacks = yield from _scan(body, list(inputs[:states]), scanned, backwards, len(scanned[0]), context)
    results = []
    for number, (stack, axis, reverse) in enumerate(zip(stacks, to_axes, to_front, strict=True), states):
        rank = stack[0].ndim if stack else len(_type_of_output(body, number)[0])
        if reverse:
            stack.reverse()
        results.append(_stack_outputs(stack, body, number, normalize_axis(axis, rank + 1, "C2"), context))
    return (*values, *results)


@kernel("Scan", since=8)
def scan_8(
    lengths: Array | None,
    *inputs: Array,
    body: Graph,
    num_scan_inputs: int,
    directions: Sequence[int] | None,
    context: KernelContext,
) -> GraphCalls:
    """Return the scan of each sample along its first dimension, 0 past the end of a sample."""
    states = _count_states(inputs, num_scan_inputs, body, context)
    backwards = _fill_numbers(directions, num_scan_inputs, "C3")
    if any(x.ndim < 1 + (number >= states) for number, x in enumerate(inputs)):
        raise Violation("C7", "a rank is too low for a batch of sequences")
    batch, longest = inputs[states].shape[:2]
    if any(x.shape[0] != batch for x in inputs):
        raise Violation("C7", f"batches of {[x.shape[0] for x in inputs]}")
    context.reserve(6 * batch, np.int64)
    ends = np.full(batch, longest, np.int64) if lengths is None else lengths
    if ends.shape != (batch,) or ((ends < 0) | (ends > longest)).any():
        raise Violation("C8", f"lengths {ends.tolist()[:9]}, a batch of {batch} with {longest} steps")
    if any(x.shape[1] != longest for x in inputs[states:]):
        raise Violation("C4", f"lengths {[x.shape[1] for x in inputs[states:]]}")
    finals: list[list[Array]] = [[] for _ in range(states)]
    samples: list[list[Array]] = [[] for _ in body.outputs[states:]]
    for sample, end in enumerate(ends.tolist()):
        context.check_time()
        # The ellipsis keeps scalars arrays.
        first = [x[sample, ...] for x in inputs[:states]]
        scanned = [x[sample, :end] for x in inputs[states:]]
        values, stacks = yield from _scan(body, first, scanned, backwards, end, context)
        for final, value in zip(finals, values, strict=True):
            _keep_output(final, value, context)
        for number, (outputs_of_samples, stack) in enumerate(zip(samples, stacks, strict=True), states):
            padded = _pad_sample(_stack_outputs(stack, body, number, 0, context), longest, context)
            _keep_output(outputs_of_samples, padded, context)
    stacks = [*finals, *samples]
    results = [_stack_outputs(stack, body, number, 0, context) for number, stack in enumerate(stacks)]
    if not batch:  # then a declared shape has no length, either
        results[states:] = [np.empty((0, longest, *x.shape[1:]), x.dtype) for x in results[states:]]
    return tuple(results)


def _pad_sample(values: Array, count: int, context: KernelContext) -> Array:
    """Return values followed by zeros up to a length of `count`."""
    if len(values) == count:
        return values
    context.reserve(count * int(np.prod(values.shape[1:])), values.dtype)
    result = np.full((count, *values.shape[1:]), "" if values.dtype.hasobject else 0, values.dtype)
    result[: len(values)] = values
    return result


def _count_states(inputs: Sequence[Any], scans: int, body: Graph, context: KernelContext) -> int:
    """Return the number of states. Raises Violation C1 if inputs, outputs and the body do not fit together."""
    states = len(inputs) - scans
    if scans < 1 or states < 0 or len(body.outputs) < max(states, context.outputs) or not body.takes(len(inputs)):
        scanned = f"{len(inputs)} inputs, {scans} of them scanned"
        raise Violation("C1", f"{scanned}, {_describe_arity(body)}")
    return states


def _fill_numbers(stated: Sequence[int] | None, count: int, label: str) -> Sequence[int]:
    """Return `count` stated numbers, zeros if none are stated. Raises Violation of `label` for another count."""
    if not stated:
        return [0] * count
    if len(stated) != count:
        raise Violation(label, f"{list(stated)} for {count}")
    return stated


def _scan(
    body: Graph,
    values: list[Any],
    scanned: list[Array],
    backwards: Sequence[int],
    length: int,
    context: KernelContext,
) -> Generator[tuple[Graph, list[Any]], list[Any], tuple[list[Any], list[list[Array]]]]:
    """Return the last states, and the scan outputs of each iteration. Raises Violation C4 if lengths differ."""
    if any(len(x) != length for x in scanned):
        raise Violation("C4", f"lengths {[len(x) for x in scanned]}")
    states = len(values)
    stacks: list[list[Array]] = [[] for _ in body.outputs[states:]]
    sizes = dict.fromkeys(map(id, values), 0)
    views = [x[::-1] if reverse else x for x, reverse in zip(scanned, backwards, strict=True)]
    for number in range(length):
        # The ellipsis keeps scalars arrays.
        outputs = yield body, [*values, *[x[number, ...] for x in views]]
        sizes = _count_carried(outputs[:states], sizes, context)
        values = _check_types(values, outputs[:states], "C6")
        for stack, value in zip(stacks, outputs[states:], strict=True):
            _keep_output(stack, value, context)
    return values, stacks


@kernel("SequenceMap", since=17)
def sequence_map_17(sequence: list[Any], *others: Any, body: Graph, context: KernelContext) -> GraphCalls:
    """Return for each output of the graph the sequence of its values for each element."""
    if len(body.outputs) < context.outputs or not body.takes(1 + len(others)):
        raise Violation("C2", f"{1 + len(others)} inputs, {_describe_arity(body)}")
    for x in others:
        if isinstance(x, list) and len(x) != len(sequence):
            raise Violation("C1", f"lengths {len(sequence)} and {len(x)}")
    results: list[list[Any]] = [[] for _ in body.outputs]
    for number, element in enumerate(sequence):
        outputs = yield body, [element, *[x[number] if isinstance(x, list) else x for x in others]]
        for result, value in zip(results, outputs, strict=True):
            value = compact(value)
            context.hold(value)
            result.append(value)
    return tuple(results)
