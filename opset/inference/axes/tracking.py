"""Follows an axis of a model's inputs through its graphs, node by node, and collects the changes it needs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opset.errors import quote
from opset.inference.axes.carriers import elementwise
from opset.inference.axes.edits import Edits
from opset.inference.axes.graphs import carry_into_graphs
from opset.inference.axes.places import CARRIERS, Blocked, Chosen, Place
from opset.inference.axes.steps import AxisStep
from opset.inference.building.call import Call, Constant, WrongAttributeType
from opset.inference.building.dimensions import Dim, Size, equal
from opset.inference.building.types import Type
from opset.inference.engine.engine import Engine
from opset.inference.engine.scopes import Scope
from opset.model.graph.walking import names_read, subgraphs
from opset.model.storage.tensor import tensor_bytes
from opset.schemas.constraints.signature import MISSING_ATTRIBUTE, MISSING_INPUT, arity_misfits, attribute_misfits

MAX_TENSOR = 1 << 24
"""Bytes of a constant that are compared, to see whether its slices are equal."""
MAX_STEPS_BACK = 64


class TrackingStopped(Exception):
    """The resized axis cannot be followed beyond a node, for the reason `why`; `help` says what to do.

    - `index`: the index of the node in the main graph, -1 if the outputs are in the way;
    - `place`: the node as messages show it, if it is in a graph of the node at `index`; else "".
    """

    def __init__(self, index: int, why: str, help: str = "", place: str = "") -> None:
        super().__init__(why)
        self.index = index
        self.why = why
        self.help = help
        self.place = place


class Tracking:
    """One pass over the nodes of a graph, which follows the resized axis from the inputs, and collects changes.

    If the axis may be in several places after a node, the pass takes the one that the caller told.

    - `scope`: the types of the graph; `inner`: the passes over graphs of its nodes, by index and attribute;
    - `places`: the places of the resized axis, by name of the value;
    - `sized`: the elements in the resized model of values whose elements depend on the axis, by name of the value;
    - `options`: the number of candidates of each decision so far, with decisions in graphs of nodes.
    """

    def __init__(
        self, engine: Engine, places: Mapping[str, Place], before: int, after: Dim, edits: Edits, told: Sequence[int]
    ) -> None:
        """Begin a pass over the main graph; `run` follows the axis.

        Args:
            engine: the inference of the model.
            places: the places of the axis in inputs, by name.
            before: the size of the axis in the model.
            after: the variable that stands for its new size.
            edits: collects the changes.
            told: for each decision in order, the position of the place to take among its candidates. After the last of
                these decisions, the first candidate is taken.
        """
        self._engine = engine
        self._parent: Tracking | None = None
        self.scope: Scope = next(iter(engine.scopes.values()))
        self.places = dict(places)
        self.sized: dict[str, Constant] = {}
        self.before: Size = before
        self.after: Size = after
        self.edits = edits
        self._told = told
        self.options: list[int] = []
        self.inner: dict[tuple[int, str], Tracking] = {}

    def follow_into(self, index: int, attribute: str, places: Mapping[str, Place | None]) -> Tracking:
        """Follow the axis through a node's subgraph, such as the body of a Loop; return the finished Tracking for it.

        The new Tracking is also stored in `inner`.

        Args:
            index: The index of the node.
            attribute: The attribute that holds the subgraph.
            places: The place of the axis in each input of the subgraph, by name; None for an input without the axis.

        Raises:
            Blocked: inference has not reached the subgraph, or the size of an input along the axis is not known.
            TrackingStopped: a node in the subgraph does not carry the axis.
        """
        scope = self.scope.subgraphs.get((index, attribute))
        if scope is None:
            raise Blocked("nothing is known of its graphs")
        made = copy.copy(self)
        made._parent, made.scope, made.inner = self, scope, {}
        outer = [name for name in names_read([self.scope.body.nodes[index]]) if name not in scope.types]
        made.places = {name: self.places[name] for name in outer if name in self.places}
        made.sized = {name: self.sized[name] for name in outer if name in self.sized}
        for name, place in places.items():
            if place is not None:
                _check_place(name, scope.type_of(name), place, self.before)
                made.places[name] = place
        body = scope.body
        made.edits = self.edits.for_subgraph(
            {at: f"{self.edits.label(index)}, {attribute}, {body.node_label(at)}" for at in range(len(body.nodes))}
        )
        self.inner[index, attribute] = made
        try:
            made.run()
        except TrackingStopped as stopped:
            raise TrackingStopped(
                index, stopped.why, stopped.help, stopped.place or body.location(stopped.index)
            ) from None
        return made

    def enter_unused(self, index: int, attribute: str) -> None:
        """Follow the axis through a subgraph that never runs, such as a branch of an If with a constant condition.

        The constants in the subgraph get the new size too, since a runtime may check them. If a node of the subgraph
        does not carry the axis, the subgraph stays as it is, and nothing is raised.

        Args:
            index: The index of the node that has the subgraph.
            attribute: The attribute that holds the subgraph, such as "then_branch".
        """
        options, notes = len(self.options), len(self.edits.notes)
        try:
            self.follow_into(index, attribute, {})
        except (Blocked, TrackingStopped):
            self.inner.pop((index, attribute), None)
            del self.options[options:], self.edits.notes[notes:]

    def run(self) -> None:
        """Follow the axis through each node in order. Raises TrackingStopped at the first node that cannot carry it."""
        body = self.scope.body
        for index, reads in enumerate(body.reads):
            try:
                self._carry_through_node(index, reads)
            except (Blocked, WrongAttributeType) as error:
                raise TrackingStopped(index, *map(str, error.args)) from None

    def is_shared(self, name: str) -> bool:
        """Whether the value called `name` has the same shape and elements in the resized model as in the original."""
        return name not in self.places and name not in self.sized

    def choose(self, candidates: Sequence[Chosen]) -> Chosen:
        """Return the candidate that the pass was told to take at this decision, by default the first one.

        A decision is a call with several candidates; their number is added to `options`.
        """
        if len(candidates) == 1:
            return candidates[0]
        number = self._told[len(self.options)] if len(self.options) < len(self._told) else 0
        self.options.append(len(candidates))
        return candidates[number]

    def input_label(self, call: Call, index: int) -> str:
        """Return an input's parameter name and value name, as messages show them: "shape 's'"."""
        return f"{call.parameter(index)} {quote(call.names[index])}"

    def has_equal_slices(self, name: str, axis: int) -> bool:
        """Whether the slices of the value `name` of the model along `axis`, counted from the end, are certainly equal.

        The bytes of constants are compared. Other values are traced back through at most MAX_STEPS_BACK nodes:
        ConstantOfShape, Expand, Gemm and elementwise operators with one input. False if the value is computed in
        another way.
        """
        body = self.scope.body
        producers = body.definitions
        for _ in range(MAX_STEPS_BACK):
            if self._parent is not None and name not in self.scope.types:
                return self._parent.has_equal_slices(name, axis)
            if name in self.scope.tensors:
                tensor = self.scope.tensors[name]
                return _slices_are_equal(self._engine.model, tensor, axis + len(tensor.dims))
            index = producers.get(name, -1)
            if index < 0:
                return False
            operator, domain = body.operators[index]
            if (operator, domain) == ("ConstantOfShape", ""):
                return True
            source = body.reads[index][0] if body.reads[index] else ""
            type_ = self.scope.type_of(source)
            if type_ is None or type_.shape is None:
                return False
            if axis + len(type_.shape) < 0:  # of the nodes that are valid, an Expand alone adds an axis
                return (operator, domain) == ("Expand", "")
            if (operator, domain) == ("Expand", ""):
                if type_.shape[axis] == 1:
                    return True
            elif (operator, domain) == ("Gemm", ""):
                # Rows of the product are equal if those of the left matrix are, and one row is added to all.
                added = self.scope.type_of(body.reads[index][2]) if len(body.reads[index]) > 2 else None
                rows = added.shape[:-1] if added is not None and added.shape is not None else None
                if axis != -2 or any(each.name == "transA" and each.i for each in body.attributes[index]):
                    return False
                if len(body.reads[index]) > 2 and rows not in ((), (1,)):
                    return False
            elif operator not in elementwise.UNARY or operator == "Dropout" or domain:  # each slice has its own zeros
                return False
            name = source
        return False

    def is_empty_sequence(self, name: str) -> bool:
        """Whether the value `name` is certainly a sequence without elements, made by SequenceEmpty."""
        if self._parent is not None and name not in self.scope.types:
            return self._parent.is_empty_sequence(name)
        index = self.scope.body.definitions.get(name, -1)
        return index >= 0 and self.scope.body.operators[index] == ("SequenceEmpty", "")

    # -- nodes --

    def _carry_through_node(self, index: int, reads: Sequence[str]) -> None:
        """Store the places that the axis has in the outputs of one node, and the changes that the node needs for it.

        `index` is the index of the node, `reads` are the names of its inputs. Raises Blocked if the node cannot carry
        the axis.
        """
        body = self.scope.body
        has_graphs = next(subgraphs(body.nodes[index]), None) is not None
        if all(map(self.is_shared, names_read([body.nodes[index]]) if has_graphs else reads)):
            return
        if self._engine.index.functions and body.function_key(index) in self._engine.index.functions:
            raise Blocked(
                "the axis is not followed into functions of the model", "put the function in its place: opset inline"
            )
        types = [self.scope.type_of(name) if name else None for name in reads]
        call = self._engine.call_of(self.scope, index, types)
        if call is None:
            raise Blocked("its operator has no schema, so it is not known what it does to the axis")
        self._require_fit(index, call)
        operator = body.operators[index]
        if has_graphs:
            self._keep_places(index, carry_into_graphs(self, index, operator, call))
            return
        sized = [position for position, name in enumerate(reads) if name in self.sized]
        if (sized or operator in (("Shape", ""), ("Size", ""))) and self._compute_sizes(index, call):
            return
        carrier = CARRIERS.get(operator)
        if carrier is None:
            raise Blocked("it is not known that the operator takes each slice on its own")
        if not set(sized) <= set(carrier.sizes):
            raise Blocked("it computes with the number of slices")
        outputs = [self.scope.types.get(name) if name else None for name in body.computes[index]]
        found = carrier.function(AxisStep(self, index, call, outputs))
        self._keep_places(index, [found] * len(outputs) if isinstance(found, Place) or found is None else found)

    def _require_fit(self, index: int, call: Call) -> None:
        """Raise Blocked if a node breaks a rule of its operator: carriers take inputs and attributes as they are."""
        names = [*call.names, *[""] * (call.schema.min_input - len(call.names))]
        stated = dict.fromkeys([attribute.name for attribute in self.scope.body.attributes[index]])
        misfits = [*arity_misfits(call.schema, names), *attribute_misfits(call.schema, stated)]
        faults = [misfit.what for misfit in misfits if misfit.kind in (MISSING_INPUT, MISSING_ATTRIBUTE)]
        faults += [f"{problem.message}: {problem.why}" for problem in self.scope.problems.get(index, ())]
        if faults:
            raise Blocked(f"the node is not valid: {faults[0]}", "opset check lists what is wrong with the model")

    def _keep_places(self, index: int, places: Sequence[Place | None]) -> None:
        """Store in `places` the places of the resized axis in a node's outputs, None for an output without it.

        Raises Blocked if the size of an output at such a place, in the unchanged model, is unknown or does not fit.
        """
        for name, place in zip(self.scope.body.computes[index], places, strict=False):
            if name and place is not None:
                _check_place(name, self.scope.types.get(name), place, self.before)
                self.places[name] = place

    def _compute_sizes(self, index: int, call: Call) -> bool:
        """Compute the elements of a node's outputs in the resized model, and return whether all of them are known.

        The node computes with sizes: Shape may give [8, 4] in the resized model, and [2, 4] in the model before. If all
        elements are known, those of each output that has changed are stored in `sized`, by the name of the output. If
        some are unknown, nothing is stored.
        """
        types: list[Type | None] = []
        for name, type_ in zip(call.names, call.types, strict=True):
            place = self.places.get(name)
            if place is not None and type_ is not None and type_.shape is not None:
                shape = (*type_.shape[: place.axis], place.size(self.after), *type_.shape[place.axis + 1 :])
                type_ = type_._replace(shape=shape)
            types.append(type_)

        def constant(position: int) -> Constant | None:
            """Return the elements of an input in the resized model, None if they are unknown."""
            name = call.names[position]
            if name in self.places:
                return None
            return self.sized.get(name) or call.constant(position)

        resized = replace(call, types=types, _constant=constant, match=None, _attributes={}, _completed={})
        outcome = self._engine.outcome_of(self.scope, index, resized)
        names = self.scope.body.computes[index]
        if outcome is None or len(outcome.constants) < len(names):
            return False
        found = dict(zip(names, outcome.constants, strict=False))
        if any(data is None or None in data.values for data in found.values()):
            return False
        for name, data in found.items():
            if data is not None and data != self._engine.constants.find(self.scope, name):
                self.sized[name] = data
        return True


def _check_place(name: str, type_: Type | None, place: Place, before: Size) -> None:
    """Raise Blocked unless the value `name` certainly has, along `place.axis`, the size `place.size(before)`.

    The value's `type_` is None if it is unknown; a sequence is not checked. `before` is the size of the resized axis in
    the model.
    """
    if type_ is not None and type_.kind == "seq":
        return
    shape = type_.shape if type_ is not None else None
    if shape is None or place.axis >= len(shape) or equal(shape[place.axis], place.size(before)) is not True:
        raise Blocked(f"the size of {quote(name)} along the axis is not known")


def _slices_are_equal(model: Any, tensor: Any, axis: int) -> bool:
    """Whether all slices of a TensorProto along an axis have the same bytes; False if it is large or cannot be read.

    `model` is the model, from whose files external data is read.
    """
    dims = list(tensor.dims)
    count = 1
    for size in dims:
        count *= size
    try:
        data = tensor_bytes(model, tensor, MAX_TENSOR)
    except Exception:  # too large, or not readable: not known
        return False
    if not count or len(data) % count:
        return False
    width = len(data) // count
    for size in dims[axis + 1 :]:
        width *= size
    parts = [data[start : start + width] for start in range(0, len(data), width)]
    rows: Iterator[list[bytes]] = (parts[row : row + dims[axis]] for row in range(0, len(parts), dims[axis]))
    return all(part == row[0] for row in rows for part in row)


def follow(make: Callable[[Sequence[int]], Tracking], accept: Callable[[Tracking], None], limit: int) -> Tracking:
    """Return the first pass that follows the resized axis to the end, if no other pass contradicts it.

    A node may allow several places for the axis: its candidates. Each pass picks one candidate for each such node.
    After the first success, each candidate that the successful pass did not pick is tried in further passes. A further
    pass contradicts the first success if it succeeds with the axis at a different place of an output.

    Args:
        make: makes a pass from a list of decisions, each the position of the candidate to pick. The pass picks the
            first candidate where the list has ended.
        accept: raises TrackingStopped if the outputs of a pass are not wanted.
        limit: the greatest number of passes until the first success, and for each candidate that is tried later.

    Raises:
        TrackingStopped: no pass succeeds, or a further pass contradicts the first success.
    """
    passed, farthest = _search(make, accept, [], 0, limit)
    if passed is None:
        assert farthest is not None
        raise farthest
    tracking, told = passed
    for decision, count in enumerate(tracking.options):
        start = [*told, *[0] * len(tracking.options)][:decision]
        for other in range(count):
            if other == ([*told, *[0] * len(tracking.options)])[decision]:
                continue
            again, _ = _search(make, accept, [*start, other], decision + 1, limit)
            if again is not None:
                _raise_if_different(tracking, again[0])
    return tracking


def _search(
    make: Callable[[Sequence[int]], Tracking],
    accept: Callable[[Tracking], None],
    told: list[int],
    fixed: int,
    limit: int,
) -> tuple[tuple[Tracking, list[int]] | None, TrackingStopped | None]:
    """Return the first pass that succeeds, with its decisions, and the error of the failed pass that came farthest.

    The last decision is varied first, like the last digit of a counter. The first result is None if no pass succeeds
    within `limit` passes. The error is None if no pass failed.

    Args:
        make: makes a pass with the given decisions, each the position of the candidate to take.
        accept: raises TrackingStopped if the outputs of a pass are not wanted.
        told: the decisions to begin with.
        fixed: how many of the first decisions are not varied.
        limit: the greatest number of passes.
    """
    farthest: TrackingStopped | None = None
    for _ in range(limit):
        tracking = make(told)
        try:
            tracking.run()
            accept(tracking)
            return (tracking, told), farthest
        except TrackingStopped as stopped:
            if farthest is None or farthest.index < (stopped.index if stopped.index >= 0 else 1 << 62):
                farthest = stopped
        made = [*told, *[0] * (len(tracking.options) - len(told))][: len(tracking.options)]
        while len(made) > fixed and made[-1] + 1 >= tracking.options[len(made) - 1]:
            made.pop()
        if len(made) <= fixed:
            return None, farthest
        told = [*made[:-1], made[-1] + 1]
    return None, farthest


def _raise_if_different(one: Tracking, other: Tracking) -> None:
    """Raise TrackingStopped if two passes end with the axis in different places of an output."""
    for name in one.scope.body.output_names():
        if one.places.get(name) != other.places.get(name):
            axes = sorted({place.axis for each in (one, other) if (place := each.places.get(name)) is not None})
            words = " or ".join(map(str, axes))
            raise TrackingStopped(
                -1,
                f"it may be axis {words} of output {quote(name)}: both are of that size, and either is possible",
                f"say which: --dim {name}.{axes[0]}=…",
            )
