"""The requests of rules of nodes with graphs, and the types with which the engine answers them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from opset.inference.building.call import Constant
from opset.inference.building.types import Type


class GraphRequest(NamedTuple):
    """A request to infer a subgraph of a node, which the rule of the node's operator yields to the engine.

    - `graph`: the GraphProto; `types`: the types of its inputs, None if unknown; `data`: their elements, None if
      unknown;
    - `repeated`: the graph is run repeatedly; `unused`: it is never run; `guarded`: a condition decides whether it is
      run;
    - `varied`: the indices of inputs whose shape, as the graph states it, may hold for one iteration only; it is not
      used.
    """

    graph: Any
    types: Sequence[Type | None]
    data: Sequence[Constant | None] = ()
    repeated: bool = False
    varied: Collection[int] = ()
    unused: bool = False
    guarded: bool = False


class Outputs(list["Type | None"]):
    """The types of the outputs of a graph, or of a node that has graphs, as a list; None for one that is unknown.

    `data` has the elements of each output, None if unknown; it may be empty. `inputs` are the types of a graph's
    inputs, combined from the GraphRequest and the types that the graph states.
    """

    def __init__(
        self, types: Iterable[Type | None], data: Iterable[Constant | None] = (), inputs: Iterable[Type | None] = ()
    ) -> None:
        super().__init__(types)
        self.data = [*data]
        self.inputs = [*inputs]
