"""Output shapes of recurrent layers: RNN, GRU and LSTM."""

from __future__ import annotations

from functools import partial

from opset.inference.building.agreement import attribute_if_known
from opset.inference.building.call import Call
from opset.inference.building.types import Shape
from opset.inference.registration import infer
from opset.schemas.constraints.violation import Violation

_ACTIVATIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}


def _layer_shapes(gates: int, call: Call) -> list[Shape]:
    """Return the shapes of Y, Y_h and Y_c; `gates` is 1 for RNN, 3 for GRU, 4 for LSTM.

    Y is (length, directions, batch, hidden), the states are (directions, batch, hidden); with the attribute `layout` 1,
    they are (batch, length, directions, hidden) and (batch, directions, hidden). Only LSTM has the output Y_c. A size
    is None if it is unknown. Raises Violation C3 if inputs contradict `hidden_size`, C6 for a wrong number of
    activations.
    """
    directions = 2 if call.attribute("direction") == "bidirectional" else 1
    layout = call.attribute("layout") or 0
    batch, length = call.size("batch"), call.size("length")
    hidden = call.same(call.attribute("hidden_size"), call.size("hidden"), "C3", "hidden_size")
    for name, count in (("w_rows", gates), ("r_rows", gates), ("b_size", 2 * gates), ("p_size", 3)):
        size = call.size(name)
        hidden = call.same(hidden, None if size is None else size // count, "C3", f"by {name}, hidden_size")
    names = attribute_if_known(call, "activations")
    # The two of RNN's default serve one direction, too.
    default = call.schema.attributes["activations"].default or ()
    if names and len(names) not in (_ACTIVATIONS[call.schema.name] * directions, len(default)):
        raise Violation("C6", f"{len(names)} activations, {directions} directions")
    if layout:
        state: Shape = (batch, directions, hidden)
        return [(batch, length, directions, hidden), state, state]
    state = (directions, batch, hidden)
    return [(length, *state), state, state]


for _name, _gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    infer(_name)(partial(_layer_shapes, _gates))
