"""How If, Loop, Scan and SequenceMap carry an axis into their graphs and out of them.

None does if the axis decides which graph is run, or how often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from opset.inference.axes.edits import Edits
from opset.inference.axes.places import Blocked, Place
from opset.inference.axes.steps import AxisStep, Follower
from opset.inference.building.call import Call
from opset.inference.engine.scopes import Scope

_MOST_AXES = 4
"""Axes of the elements of an empty sequence that are tried."""


class Pass(Follower, Protocol):
    """The part of a Tracking (one pass through a graph along the resized axis) that is used for subgraphs."""

    scope: Scope
    edits: Edits

    def follow_into(self, index: int, attribute: str, places: Mapping[str, Place | None]) -> Pass:
        """Follow the axis through the subgraph in an attribute of the node at `index`; return this finished pass.

        `places` are the places of the resized axis in the subgraph's inputs, by name; None for an input without it.
        Raises Blocked or TrackingStopped if the axis cannot be followed.
        """

    def enter_unused(self, index: int, attribute: str) -> None:
        """Follow the axis through a subgraph that is never run, to resize it, too.

        If the axis cannot be followed through all of its nodes, the subgraph stays as it is, and nothing is raised.
        """

    def is_shared(self, name: str) -> bool:
        """Whether the value `name` is the same in the original and in the resized model."""


def carry_into_graphs(tracking: Any, index: int, operator: tuple[str, str], call: Call) -> Sequence[Place | None]:
    """Return the places of the resized axis in the outputs of an If, Loop, Scan or SequenceMap.

    The place is None for an output without the axis. The axis is followed through the subgraphs of the node.

    Args:
        tracking: the pass over the graph that the node is in.
        index: the index of the node.
        operator: its operator and domain.
        call: the node with the types of its inputs.

    Raises:
        Blocked: the node does not carry the axis, or is of another operator.
        TrackingStopped: a node in one of its subgraphs does not carry the axis.
    """
    carry = _CARRY.get(operator)
    if carry is None:
        raise Blocked("the axis is not followed into the graphs of this operator")
    return carry(tracking, index, call)


def _carry_through_if(tracking: Pass, index: int, call: Call) -> Sequence[Place | None]:
    """Return the place of the resized axis in each output of an If, None for an output without the axis.

    The axis is followed through each branch. A branch that never runs is not changed if one of its nodes does not carry
    the axis. Raises Blocked if the condition depends on the axis. Raises Blocked if the branches that may run have the
    axis at different places. Raises TrackingStopped if a node of a branch that may run does not carry the axis.
    """
    if not tracking.is_shared(call.names[0]):
        raise Blocked("its condition depends on the slices")
    found = []
    for name in ("then_branch", "else_branch"):
        scope = tracking.scope.subgraphs.get((index, name))
        if scope is not None and scope.unused and not tracking.scope.unused:
            tracking.enter_unused(index, name)
        else:
            found.append(_output_places(tracking.follow_into(index, name, {})))
    if any(places != found[0] for places in found):
        raise Blocked("its branches give the slices at different places, or one of them gives none")
    return found[0]


def _carry_through_loop(tracking: Pass, index: int, call: Call) -> Sequence[Place | None]:
    """Return the places of the resized axis in the outputs of a Loop: final states first, then stacked outputs.

    The axis is followed through the body. A place is None if the output does not have the axis. Raises Blocked if the
    number of iterations depends on the axis, or if a state has the axis at another place after an iteration. Raises
    TrackingStopped if a node of the body does not carry the axis.
    """
    if not all(map(tracking.is_shared, filter(None, call.names[:2]))):
        raise Blocked("how often it turns depends on the slices")
    states = _initial_places(tracking, index, call, range(2, len(call.names)))
    inputs = _body(tracking, index).input_names()
    after = _output_places(tracking.follow_into(index, "body", dict(zip(inputs[2:], states, strict=False))))
    if after[0] is not None:
        raise Blocked("whether it goes on depends on the slices")
    _check_states(states, after[1 : len(states) + 1])
    return [*states, *(_behind_new_axis(place, 0) for place in after[len(states) + 1 :])]


def _carry_through_scan(tracking: Pass, index: int, call: Call) -> Sequence[Place | None]:
    """Return the places of the resized axis in the outputs of a Scan: final states first, then stacked outputs.

    The axis is followed through the body. A place is None if the output does not have the axis. Raises TrackingStopped
    if a node of the body does not carry the axis. Raises Blocked in these cases, among others:

    - the Scan is of opset 8;
    - the Scan takes slices along the resized axis;
    - an iteration moves the resized axis within a state, such as from axis 0 to axis 1;
    - `scan_output_axes` has a negative axis.
    """
    if call.version < 9:
        raise Blocked("Scan of opset 8 has a batch axis of its own", "convert the model to opset 9 first")
    count = call.attribute("num_scan_inputs")
    first = len(call.names) - count
    states = _initial_places(tracking, index, call, range(first))
    axes = call.attribute("scan_input_axes") or [0] * count
    places: list[Place | None] = [*states]
    for position, axis in zip(range(first, len(call.names)), axes, strict=True):
        place, shape = tracking.places.get(call.names[position]), call.shape(position)
        if not tracking.is_shared(call.names[position]) and place is None:
            raise Blocked("it computes with the number of slices")
        if place is not None:
            if shape is None:
                raise Blocked("the rank of what it scans is not known")
            axis += len(shape) * (axis < 0)
            if place.axis == axis:
                raise Blocked("it takes the slices one after the other")
            place = place._replace(axis=place.axis - (place.axis > axis))
        places.append(place)
    inputs = _body(tracking, index).input_names()
    after = _output_places(tracking.follow_into(index, "body", dict(zip(inputs, places, strict=False))))
    _check_states(states, after[: len(states)])
    given = after[len(states) :]
    new = call.attribute("scan_output_axes") or [0] * len(given)
    if any(axis < 0 for axis in new):
        raise Blocked("an axis of its outputs is counted from the end")
    return [*states, *(_behind_new_axis(place, axis) for place, axis in zip(given, new, strict=True))]


def _carry_through_map(tracking: Pass, index: int, call: Call) -> Sequence[Place | None]:
    """Return the places of the resized axis in the outputs of a SequenceMap, None for an output without it.

    The axis is followed through the body. A place in a sequence is the place in each of its elements. Raises Blocked if
    an input or output holds sizes that depend on the axis, TrackingStopped if a node of the body does not carry the
    axis.
    """
    places = [tracking.places.get(name) for name in call.names]
    if any(place is None and not tracking.is_shared(name) for place, name in zip(places, call.names, strict=True)):
        raise Blocked("it computes with the number of slices")
    inputs = _body(tracking, index).input_names()
    return _output_places(tracking.follow_into(index, "body", dict(zip(inputs, places, strict=False))))


_CARRY = {
    ("If", ""): _carry_through_if,
    ("Loop", ""): _carry_through_loop,
    ("Scan", ""): _carry_through_scan,
    ("SequenceMap", ""): _carry_through_map,
}


def _body(tracking: Pass, index: int) -> Any:
    """Return the body of the Loop, Scan or SequenceMap at `index`. Raises Blocked if inference has not reached it."""
    scope = tracking.scope.subgraphs.get((index, "body"))
    if scope is None:
        raise Blocked("nothing is known of its body")
    return scope.body


def _initial_places(tracking: Pass, index: int, call: Call, positions: Sequence[int]) -> list[Place | None]:
    """Return the place of the resized axis in each initial state of a loop, None for a state without it.

    A state without the axis may stay as it is. It may also be repeated along an axis whose slices are equal: the node
    is then changed. An empty sequence may have the axis anywhere. `tracking.choose` decides between several
    possibilities. Raises Blocked if a state holds sizes that depend on the axis.

    Args:
        tracking: the pass over the graph that the node is in.
        index: the index of the node.
        call: the node.
        positions: the indices of the inputs that are states.
    """
    step = AxisStep(tracking, index, call, ())
    found: list[Place | None] = []
    for position in positions:
        name = call.names[position]
        place = tracking.places.get(name)
        if place is None and not tracking.is_shared(name):
            raise Blocked("a state of it holds the number of slices")
        if place is None:
            candidates: list[Place | None] = [None]
            if tracking.is_empty_sequence(name):
                candidates += map(Place, range(_MOST_AXES))
            elif call.shape(position) is not None:
                candidates += [Place(at) for at in range(len(step.shape(position))) if step.can_repeat(position, at)]
            place = tracking.choose(candidates)
            if place is not None and not tracking.is_empty_sequence(name):
                step.repeat(position, place.axis)
        found.append(place)
    return found


def _check_states(before: Sequence[Place | None], after: Sequence[Place | None]) -> None:
    """Raise Blocked if the resized axis has another place in a state after an iteration of a loop than before."""
    if [*before] != [*after]:
        raise Blocked("its states have the slices at other places after a turn, or some have none")


def _output_places(inner: Pass) -> list[Place | None]:
    """Return the place of the resized axis in each output of a subgraph, None for an output without the axis.

    `inner` is the pass that followed the axis through the subgraph. Raises Blocked if an output holds sizes that depend
    on the axis.
    """
    names = inner.scope.body.output_names()
    if any(name in inner.sized for name in names):
        raise Blocked("an output of its graph holds the number of slices")
    return [inner.places.get(name) for name in names]


def _behind_new_axis(place: Place | None, axis: int) -> Place | None:
    """Return the place of the same elements after a new axis is inserted at `axis`, counted from 0; None for None."""
    return None if place is None else place._replace(axis=place.axis + (place.axis >= axis))
