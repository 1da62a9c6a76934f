"""Output shapes of recurrent layers: RNN, GRU and LSTM."""

from __future__ import annotations

from functools import partial

from opset.inference.agreement import known_attribute, quotient, unify
from opset.inference.call import Call
from opset.inference.dimensions import Size, less
from opset.inference.registration import infer
from opset.inference.types import Shape
from opset.schemas.constraints import Violation


def _layer(gates: int, call: Call) -> list[Shape]:
    """Return the shapes of the hidden states of all steps, and of the states after the last."""
    directions = 2 if call.attribute("direction") == "bidirectional" else 1
    layout = call.attribute("layout") or 0
    x = unify(call, 0, (None,) * 3, "C3")
    length, batch, features = (x[1], x[0], x[2]) if layout else x
    (batch,) = unify(call, 4, (batch,), "C3")
    hidden: Size | None = call.attribute("hidden_size")
    if less(hidden, 0):
        raise Violation("C2", f"hidden_size {hidden}")
    _, r_rows, last = unify(call, 2, (directions, None, None), "C3")
    hidden = call.same(hidden, last, "C2", "hidden_size")
    _, w_rows, _ = unify(call, 1, (directions, None, features), "C3")
    _, b_size = unify(call, 3, (directions, None), "C3")
    for index, size, count in ((1, w_rows, gates), (2, r_rows, gates), (3, b_size, 2 * gates)):
        each = quotient(call, size, count, "C3", call.parameter(index))
        hidden = call.same(hidden, each, "C3", f"by {call.parameter(index)}, hidden_size")
    for index in (5, 6) if call.schema.name == "LSTM" else (5,):
        if layout:
            batch, _, hidden = unify(call, index, (batch, directions, hidden), "C3")
        else:
            _, batch, hidden = unify(call, index, (directions, batch, hidden), "C3")
    if call.schema.name == "LSTM":
        _, p_size = unify(call, 7, (directions, None), "C3")
        hidden = call.same(hidden, quotient(call, p_size, 3, "C3", "P"), "C3", "by P, hidden_size")
    _check_activations(call, directions)
    if any(less(each, 0) or less(length, each) for each in call.numbers(4) or ()):
        raise Violation("C4", f"{length} steps")

    if layout:
        state: Shape = (batch, directions, hidden)
        return [(batch, length, directions, hidden), state, state]
    state = (directions, batch, hidden)
    return [(length, *state), state, state]


_ACTIVATIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}


def _check_activations(call: Call, directions: int) -> None:
    """Raise Violation C6 for a wrong number of activations; that of RNN's default, 2, serves one direction, too."""
    names, default = known_attribute(call, "activations"), call.schema.attributes["activations"].default or ()
    if names and len(names) not in (_ACTIVATIONS[call.schema.name] * directions, len(default)):
        raise Violation("C6", f"{len(names)} activations, {directions} directions")


for _name, _gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    infer(_name)(partial(_layer, _gates))
