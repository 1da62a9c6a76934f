"""Derivatives of a graph's output by its inputs, computed backwards through its nodes: see opset.reference.derivatives.

Small floats are differentiated in float32, and rounded at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from opset.budget import BudgetExceeded
from opset.errors import Finding, RunError, safe_text
from opset.reference import derivatives
from opset.reference.derivatives import EvaluatedNode, GradientRule
from opset.reference.engine.limits import limit_error
from opset.reference.engine.programs import Program, ProgramStep
from opset.reference.numerics.arrays import Array
from opset.reference.numerics.broadcasting import sum_to
from opset.reference.numerics.small_floats import is_float, widen
from opset.reference.registration import LAYER, KernelContext

ContextOf = Callable[[ProgramStep], KernelContext]


def gradients(graph: Program, values: Sequence[Any], count: int, context_of: ContextOf) -> list[Array | None]:
    """Return the derivatives of a graph's first output by its first `count` inputs, None for 0.

    Args:
        graph: program of the graph, which returns every value that one of its nodes reads or computes.
        values: all outputs of a run of the program.
        count: number of inputs to differentiate by.
        context_of: function that returns the context of a step's kernel.

    Raises:
        RunError: R201 if a node in between has no derivative, R204 if a derivative cannot be computed.
    """
    by_slot = dict(zip(graph.results, values, strict=True))
    active = set(range(count))
    for step in graph.steps:
        if not active.isdisjoint(_slots_read(step)):
            active.update(slot for slot in step.outputs if is_float(by_slot.get(slot)))
    target = graph.results[0]
    path = _differentiable_steps(graph, active, target)
    wide = {slot: widen(value) for slot, value in by_slot.items()}
    derivative_of: dict[int, Array] = {target: np.ones_like(wide[target])}
    for step, rule in path:
        context = context_of(step)
        context.check_time()
        node = _node_of(step, wide, derivative_of, context)
        try:
            by_inputs = rule(node)
        except BudgetExceeded as error:
            raise limit_error(error, graph.location(step)) from error
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            help = "please report it, with the node; or compute the gradient of what comes after it"
            finding = Finding("R204", "the node cannot be differentiated", graph.location(step), why, help)
            raise RunError(finding) from error
        for slot, x, derivative in zip(step.inputs, node.inputs, by_inputs, strict=False):
            if slot in active and derivative is not None:
                derivative = sum_to(np.asarray(derivative, x.dtype), x.shape)
                derivative_of[slot] = derivative_of[slot] + derivative if slot in derivative_of else derivative
    return [derivative_of.get(slot) for slot in range(count)]


def _node_of(
    step: ProgramStep, values: dict[int, Any], derivative_of: dict[int, Array], context: KernelContext
) -> EvaluatedNode:
    """Return a step with its values; the derivatives by its outputs are removed from `derivative_of`."""
    assert step.schema is not None
    assert step.kernel is not None
    compute = partial(step.kernel.function, context=context) if step.kernel.takes_context else step.kernel.function
    return EvaluatedNode(
        step.schema.name,
        step.schema.since_version,
        step.attributes,
        [values.get(slot) for slot in step.inputs],
        [values.get(slot) for slot in step.outputs],
        [derivative_of.pop(slot, None) for slot in step.outputs],
        compute,
        context,
    )


def _slots_read(step: ProgramStep) -> list[int]:
    """Return the slots that a step reads or its graphs capture."""
    graphs = [value for value in step.attributes.values() if isinstance(value, Program)]
    return [*step.inputs, *(slot for graph in graphs for slot, _ in graph.captured)]


def _differentiable_steps(graph: Program, active: set[int], target: int) -> list[tuple[ProgramStep, GradientRule]]:
    """Return the steps between inputs and target, the last first, with their rules. Raises RunError R201."""
    wanted = {target}
    path = []
    findings = []
    for step in reversed(graph.steps):
        reads = _slots_read(step)
        if wanted.isdisjoint(step.outputs) or active.isdisjoint(reads):
            continue
        wanted.update(slot for slot in reads if slot in active)
        hook = None
        if step.schema is not None:
            hook = LAYER.find("gradient", step.schema.domain, step.schema.name, step.schema.since_version)
        if hook is not None:
            path.append((step, hook.function))
        else:
            message = f"the operator {safe_text(step.node.op_type)} cannot be differentiated"
            help = f"differentiate a part of the graph without it, or register a rule: {derivatives.__name__}"
            findings.append(Finding("R201", message, graph.location(step), "there is no rule for its derivative", help))
    if findings:
        raise RunError(reversed(findings))
    return path
