"""Subgraphs that adapters make, written at the opset of the target, from version 7 on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opset.adapters.building.shared import UNIFORM
from opset.model import proto as pb
from opset.model.elements import NUMBERS, element_name
from opset.model.types import shape_of
from opset.version_converter.rewrite import Builder, Refusal, set_attribute


class LoopBody:
    """The body of a loop under construction, whose nodes are not converted any more: they are valid at the target.

    Its first inputs are `turn`, the number of the iteration, and `going`, the condition.
    """

    def __init__(self, op: Builder, hint: str) -> None:
        """Begin a body; raise Refusal C201 if the target is older than the operators that bodies need."""
        if op.final < UNIFORM:
            raise Refusal("C201", f"it takes a subgraph of operators of ai.onnx {UNIFORM} or newer")
        self._op = op
        self.graph = pb.GraphProto(name=op.fresh(hint))
        self.turn = self.input("int64", [])
        self.going = self.input("bool", [])

    def input(self, element: str, shape: Sequence[int | None]) -> str:
        """Return the name of a new input; None is an unknown size."""
        value = self.graph.input.add(name=self._op.fresh("value"))
        _describe(value, element, shape)
        return str(value.name)

    def output(self, name: str, element: str, shape: Sequence[int | None]) -> None:
        """Make a value an output; a value that no node of the graph computes is copied by Identity."""
        if not any(name in node.output for node in self.graph.node):
            name = self.node("Identity", name)
        _describe(self.graph.output.add(name=name), element, shape)

    def node(self, op_type: str, *operands: str, **settings: Any) -> str:
        """Add a node and return the name of its output.

        Attributes that became inputs are made constants around the graph.

        Raises:
            Refusal: C201 if the target lacks the operator, or it is to be lowered.
        """
        schema = self._op.final_schema(op_type)
        inputs, attributes = self._op.arguments(schema, operands, settings)
        node = self.graph.node.add(op_type=op_type, input=inputs, output=[self._op.fresh(op_type)])
        for name, value in attributes.items():
            set_attribute(node, name, schema.attributes[name].type, value)
        return str(node.output[0])


def add_loop(op: Builder, count: str, carried: Sequence[str], body: LoopBody, going: str = "") -> list[str]:
    """Add a Loop and return its outputs: carried values, then the stacked outputs of the body.

    Args:
        op: Makes the node.
        count: The name of the number of iterations.
        carried: The initial carried values.
        body: Its outputs are the condition, the carried values and the values to stack.
        going: The name of the initial condition; "" for true.
    """
    values = body.graph.output[1:]
    names = [op.fresh("looped") for _ in values]
    op.Loop(count, going, *carried, body=body.graph, outputs=names)
    for index, (name, value) in enumerate(zip(names, values, strict=True)):
        element = element_name(value.type.tensor_type.elem_type)
        shape = shape_of(value.type)
        assert element is not None and shape is not None  # every output of a body has them
        op.state(name, element, (None, *shape) if index >= len(carried) else shape)
    return names


def _describe(value: Any, element: str, shape: Sequence[int | None]) -> None:
    """State the type of a value, its rank, and its sizes as far as they are known."""
    value.type.tensor_type.elem_type = NUMBERS[element]
    value.type.tensor_type.shape.SetInParent()
    for size in shape:
        dim = value.type.tensor_type.shape.dim.add()
        if size is not None:
            dim.dim_value = size
