"""The requests of rules of nodes with graphs, and the types with which the engine answers them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from opset.inference.building.call import Constant
from opset.inference.building.types import Type


class GraphRequest(NamedTuple):
    """The request of a rule to infer a graph of its node, with the types of the graph's inputs, and elements if known.

    - `repeated`: the graph is run repeatedly; `unused`: it is never run; `guarded`: a condition decides whether it is
      run;
    - `varied`: the indices of inputs whose stated shapes may hold for one iteration only, so that they do not count.
    """

    graph: Any
    types: Sequence[Type | None]
    data: Sequence[Constant | None] = ()
    repeated: bool = False
    varied: Collection[int] = ()
    unused: bool = False
    guarded: bool = False


class Outputs(list["Type | None"]):
    """The types of the outputs of a graph, or of a node that has graphs, as a list.

    `data` has the elements of each output, None if unknown. `inputs` are the types of a graph's inputs, combined from
    the request and the types that the graph states.
    """

    def __init__(
        self, types: Iterable[Type | None], data: Iterable[Constant | None] = (), inputs: Iterable[Type | None] = ()
    ) -> None:
        super().__init__(types)
        self.data = [*data]
        self.inputs = [*inputs]
