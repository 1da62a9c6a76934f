"""Recurrent networks of one layer: RNN, GRU and LSTM."""

from __future__ import annotations

from functools import partial

from opset.inference.agreement import check_choice, quotient, unify
from opset.inference.call import Call
from opset.inference.dimensions import Size, less
from opset.inference.registration import infer
from opset.inference.types import Shape
from opset.schemas.constraints import Violation

_DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


def _layer(gates: int, call: Call) -> list[Shape]:
    """Return the hidden states of all steps, and the states after the last, of a layer with so many gates."""
    direction, layout = call.attribute("direction"), call.attribute("layout") or 0
    if call.schema.name == "GRU" and call.version == 1 and direction == "foward":  # so the default was spelt
        direction = "forward"
    if direction not in _DIRECTIONS:
        raise Violation("C1", f"direction {direction!r}")
    check_choice(call, "layout", (0, 1), "C5")
    directions = _DIRECTIONS[direction]

    x = unify(call, 0, (None,) * 3, "C3")
    length, batch, features = (x[1], x[0], x[2]) if layout else x
    (batch,) = unify(call, 4, (batch,), "C3")
    hidden: Size | None = call.attribute("hidden_size")
    if less(hidden, 0):
        raise Violation("C2", f"hidden_size {hidden}")
    _, of_r, last = unify(call, 2, (directions, None, None), "C3")
    hidden = call.same(hidden, last, "C2", "hidden_size")
    _, of_w, _ = unify(call, 1, (directions, None, features), "C3")
    _, of_b = unify(call, 3, (directions, None), "C3")
    for place, size, count in ((1, of_w, gates), (2, of_r, gates), (3, of_b, 2 * gates)):
        each = quotient(call, size, count, "C3", call.parameter(place))
        hidden = call.same(hidden, each, "C3", f"by {call.parameter(place)}, hidden_size")
    for place in (5, 6) if call.schema.name == "LSTM" else (5,):
        if layout:
            batch, _, hidden = unify(call, place, (batch, directions, hidden), "C3")
        else:
            _, batch, hidden = unify(call, place, (directions, batch, hidden), "C3")
    if call.schema.name == "LSTM":
        _, of_p = unify(call, 7, (directions, None), "C3")
        hidden = call.same(hidden, quotient(call, of_p, 3, "C3", "P"), "C3", "by P, hidden_size")
    if any(less(each, 0) or less(length, each) for each in call.numbers(4) or ()):
        raise Violation("C4", f"{length} steps")

    if layout:
        state: Shape = (batch, directions, hidden)
        return [(batch, length, directions, hidden), state, state]
    state = (directions, batch, hidden)
    return [(length, *state), state, state]


for _name, _gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    infer(_name)(partial(_layer, _gates))
