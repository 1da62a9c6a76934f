"""The current budget of an inference, which all code of inference charges for its work before it is done.

    with charge_to(budget):
        charge(10)        # before ten steps of work, in any function that the block calls

The budget is ambient: it is a context variable, not a parameter, since even the arithmetic of sizes charges it, in
`Dim.__init__`. An operator such as `+` takes no budget, and about three in five functions of inference would have to
pass one on. Outside of a `charge_to` block, nothing is charged. Without other limits, steps are limited in proportion
to the model.

A step is about a microsecond of work, or a hundred bytes that are kept:

- a node that is visited: NODE_STEPS; SIGNATURE_STEPS, too, if it is the first node of its signature;
- a body that is entered, also again in a loop or for another call of a function: a step for every BYTES_PER_STEP bytes;
- an element that is read, computed or passed to a body: one; CHECK_STEPS if the operator has a condition for it;
- a size with variables: its parts, whenever one is made, also if it turns out too complex;
- a size that is given a name: NAME_STEPS.

Bytes that are kept are estimated: of elements, names and scopes. They have a limit if one is set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from opset.budget import Budget, Limits
from opset.model.graph.index import Body

NODE_STEPS = 8
SIGNATURE_STEPS = 48
NAME_STEPS = 8
CHECK_STEPS = 16
BYTES_PER_STEP = 8  # of a body
NAME_BYTES = 640
ELEMENT_BYTES = 40
PART_BYTES = 100  # of a part of a size
SCOPE_BYTES = 4  # for each byte of the body
BASE_STEPS = 1 << 20
"""Steps that an inference of any model may take."""
STEPS_PER_BYTE = 4
"""Further steps for each byte of the model, weights aside."""
_current_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


def default_budget(size: int, limits: Limits) -> Budget:
    """Return the budget for inferring a model of `size` bytes (weights aside): steps in proportion to the size.

    Limits that the caller sets in `limits` take precedence.
    """
    return Budget(limits, max_steps=BASE_STEPS + STEPS_PER_BYTE * size)


@contextmanager
def charge_to(budget: Budget) -> Iterator[None]:
    """Make `charge` use this budget inside of the `with` block."""
    token = _current_budget.set(budget)
    try:
        yield
    finally:
        _current_budget.reset(token)


def can_follow_elements() -> bool:
    """Whether the budget suffices to compute elements of tensors; after half of its steps, only types are inferred.

    True if there is no current budget.
    """
    budget = _current_budget.get()
    return budget is None or 2 * budget.steps < budget.max_steps


def charge(steps: int, kept: int = 0) -> None:
    """Charge `steps` of work, and `kept` bytes of memory, to the current budget.

    Raises BudgetExceeded if the budget is used up. Outside of a `charge_to` block, nothing is charged.
    """
    if (budget := _current_budget.get()) is not None:
        budget.charge(steps)
        if kept:
            budget.hold(kept)


def charge_body(body: Body) -> None:
    """Charge the current budget for inferring a graph or function once, in proportion to its size in bytes.

    Raises BudgetExceeded if the budget is used up.
    """
    size = body.proto.ByteSize()
    charge(1 + size // BYTES_PER_STEP, SCOPE_BYTES * size)
