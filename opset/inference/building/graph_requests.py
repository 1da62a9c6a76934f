"""What a rule of a node with graphs requests, and the types that the engine returns to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from opset.inference.building.call import Constant
from opset.inference.building.types import Type


class GraphRequest(NamedTuple):
    """The inference of a graph that a rule needs: the graph, the types of its inputs, and elements where known.

    - `repeated`: the graph is run repeatedly; `unused`: it never is; `guarded`: a condition decides whether it is;
    - `varied`: inputs of which only what is passed here is true, whatever the graph states of them.
    """

    graph: Any
    types: Sequence[Type | None]
    data: Sequence[Constant | None] = ()
    repeated: bool = False
    varied: Collection[int] = ()
    unused: bool = False
    guarded: bool = False


class Outputs(list["Type | None"]):
    """The types of a graph's outputs, or of those of a node that has graphs; `data` has elements where known.

    `inputs` are the types of a graph's inputs, by what was passed and what the graph states.
    """

    def __init__(
        self, types: Iterable[Type | None], data: Iterable[Constant | None] = (), inputs: Iterable[Type | None] = ()
    ) -> None:
        super().__init__(types)
        self.data, self.inputs = [*data], [*inputs]
