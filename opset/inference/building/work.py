"""What an inference may take: steps in proportion to the model, where no limit is set.

    with charging(budget):
        work(10)        # before ten steps of work, wherever they are done

A step is about a microsecond of work, or a hundred bytes that are kept:

- a node that is visited: NODE; NEW where no node of its signature was inferred before;
- a body that is entered again, in a loop or for another call of a function: one for every BODY bytes of it, too;
- an element that is read, computed or passed to a body; CHECKED where the operator has a condition for it;
- a size with variables: its parts, whenever one is made, also where it becomes too complex;
- a size that is given a name: NAMED.

Bytes that are kept are estimated: of elements, names and scopes. They have a limit where one is set.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from opset.budget import Budget, Limits
from opset.model.graph.index import Body

NODE, NEW, NAMED, CHECKED, BODY = 8, 48, 8, 16, 8
NAME_BYTES, ELEMENT_BYTES, PART_BYTES, SCOPE_BYTES = 640, 40, 100, 4
BASE, PER_BYTE = 1 << 20, 4
"""Steps that any model may take, and those for each of its bytes, weights aside."""
_current_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


def default_budget(size: int, limits: Limits) -> Budget:
    """Return the budget of an inference of a model of `size` bytes, its weights aside, where no other is set."""
    return Budget(limits, max_steps=BASE + PER_BYTE * size)


@contextmanager
def charge_to(budget: Budget) -> Iterator[None]:
    """Charge what is inferred inside of the context to a budget."""
    token = _current_budget.set(budget)
    try:
        yield
    finally:
        _current_budget.reset(token)


def can_follow_elements() -> bool:
    """Whether elements are still followed: in the second half of the steps types and shapes alone are inferred."""
    budget = _current_budget.get()
    return budget is None or 2 * budget.steps < budget.max_steps


def charge(steps: int, kept: int = 0) -> None:
    """Charge steps, and bytes that are kept, to the budget of the inference if there is one. Raises Exhausted."""
    if (budget := _current_budget.get()) is not None:
        budget.charge(steps)
        if kept:
            budget.hold(kept)


def charge_body(body: Body) -> None:
    """Charge that a body is inferred, perhaps again. Raises Exhausted."""
    size = body.proto.ByteSize()
    charge(1 + size // BODY, SCOPE_BYTES * size)
