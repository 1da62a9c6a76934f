"""Lowering of a node by a function body of its operator: the body's nodes, with names and values of the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from opset.errors import ModelError
from opset.model.attributes import attribute_type
from opset.model.elements import ELEMENTS, NUMBERS
from opset.model.storage.tensor import tensor_values
from opset.schemas.function_bodies import body_nodes, fitting_bodies, replaced_operator
from opset.schemas.model import FunctionBody
from opset.version_converter.rewrite import Builder, Node, Refusal, Result, unknown_type, value_with_lists


class _BodyConstant(NamedTuple):
    """A constant of a function body, which is written into the model only when a node reads it."""

    element: str
    dims: tuple[int, ...]
    values: Sequence[Any]


def lower_by_body(op: Builder, node: Node) -> Result:
    """Replace a node by the nodes of its operator's function body; return the names of the values for its outputs.

    An operator may have several bodies. The first that serves the node's attributes, inputs and types is used. The new
    nodes are in `op`. The result is a tuple, with "" for an output that the node leaves out.

    Raises:
        Refusal: C201 if no body serves the node's attributes and inputs, or if the body needs an operator that does not
            exist at the opset. C202 if no body computes the node's types exactly. C203 if the type of an input is
            needed, but not known. C206 if the body reads an attribute that the node takes from the model-local function
            around it.
    """
    schema = node.schema
    inputs = {formal.name: node.input(index) for index, formal in enumerate(schema.inputs)}

    def is_given(name: str) -> bool:
        """Whether the node has the input, or states the attribute, that the schema calls `name`."""
        return bool(inputs[name]) if name in inputs else node.has(name)

    def rank(name: str) -> int | None:
        """Return the rank of the input that the schema calls `name`, None if it is absent or unknown."""
        return node.rank(node.index(name))

    bodies = list(fitting_bodies(schema, op.opset, {"given": is_given, "value": node.attr, "rank": rank}))
    if not bodies:
        label = "no function body serves the node's attributes and inputs"
        raise Refusal("C201", f"nothing expresses this {node.op_type} at version {op.opset}", label=label)
    body = next((body for body in bodies if _allows_types(body, node)), None)
    if body is None:
        elements = [element for index in range(len(node.inputs)) if (element := node.element(index)) is not None]
        why = f"nothing expresses {node.op_type} exactly in {', '.join(dict.fromkeys(elements))}"
        raise Refusal("C202", why, label="no function body is exact for the node's types")
    outputs = _BodySplicing(op, node, body).write_nodes()
    op.form = _form_of(op, node, body)
    return outputs


def _form_of(op: Builder, node: Node, body: FunctionBody) -> tuple[Any, ...]:
    """Return a key made of the body and of the node's attributes and types, () if the type of an input is unknown.

    For nodes with equal keys, the body makes the same nodes, and its values have the same types.
    """
    elements = tuple([node.element(index) if name else "" for index, name in enumerate(node.inputs)])
    if None in elements:
        return ()
    attributes = tuple([attribute.SerializeToString() for attribute in node.proto.attribute])
    position = node.schema.function.index(body)
    return node.schema.domain, node.op_type, node.schema.since_version, op.opset, position, elements, attributes


def _allows_types(body: FunctionBody, node: Node) -> bool:
    """Whether a body computes the types of a node's inputs exactly; True if the body does not restrict types.

    Raises Refusal C203 if this depends on an input whose type is unknown.
    """
    for index, formal in enumerate(node.schema.inputs if body.types else ()):
        stated = body.types.get(formal.type) if node.input(index) else None
        if stated is not None and f"tensor({node.need_element(index)})" not in stated:
            return False
    return True


@dataclass(eq=False, slots=True)
class _BodySplicing:
    """A function body that is written into the model in place of a node."""

    op: Builder
    node: Node
    body: FunctionBody
    names: dict[str, str] = field(default_factory=lambda: {"": ""})
    """Values of the model by the names that they have in the body."""
    constants: dict[str, _BodyConstant] = field(default_factory=dict)
    elements: dict[str, str] = field(default_factory=dict)
    """Element types of the node's inputs, by the names in the body."""
    back: dict[str, str] = field(default_factory=dict)
    """Element types by type constraint, of outputs that are cast back."""

    def write_nodes(self) -> tuple[str, ...]:
        """Write the nodes of the body; return the names of the values for the outputs of the replaced node.

        The name is "" for an output that the node leaves out.
        """
        self._bind_inputs()
        for node in body_nodes(self.body.nodes):
            self._write_node(node)
        results = []
        for formal, output in zip(self.node.schema.outputs, self.node.outputs, strict=False):
            value = self._value_named(formal.name) if output else ""
            if output and formal.type in self.back:
                value = self.op.Cast(value, to=NUMBERS[self.back[formal.type]], domain="")
            results.append(value)
        return tuple(results)

    def _bind_inputs(self) -> None:
        """Map the names of the body's inputs to the values that the node reads.

        The body's `emulate` may map a type of the node to a wider one in which the body computes, such as bfloat16
        to float. Inputs of the narrow type are then cast to the wider type. Raises Refusal C203 if `emulate` is not
        empty and the type of an input is unknown.
        """
        node, body = self.node, self.body
        for index, formal in enumerate(node.schema.inputs):
            name = self.names[formal.name] = node.input(index)
            element = node.element(index) if name else None
            if element is not None:
                if element in body.emulate and formal.type in node.schema.types:
                    self.back[formal.type], element = element, body.emulate[element]
                    self.names[formal.name] = self.op.Cast(name, to=NUMBERS[element], domain="")
                self.elements[formal.name] = element
            elif name and body.emulate and formal.type in node.schema.types:
                raise unknown_type(name)

    def _write_node(self, node: Any) -> None:
        """Make the nodes in the model that stand for one node of the body, and record the names of its outputs.

        A Constant is only recorded, and is made when a node reads it. A CastLike becomes a Cast, as the type is known.
        Raises Refusal C201 if the operator does not exist at the opset.
        """
        replaced = replaced_operator(node)
        if replaced == "Constant":
            self.constants[node.output[0]] = self._constant_of(node.attribute[0])
        elif replaced:
            self.names[node.output[0]] = self._cast_like(*node.input)
        else:
            attributes = {attribute.name: self._value_of(attribute) for attribute in node.attribute}
            made = getattr(self.op, node.op_type)(
                *map(self._value_named, node.input), outputs=len(node.output), domain=node.domain, **attributes
            )
            self.names |= zip(node.output, [made] if isinstance(made, str) else made, strict=True)

    def _value_named(self, name: str) -> str:
        """Return the name that a value of the function body has in the model.

        A Constant of the body is written into the model when its name is asked for the first time.
        """
        if name not in self.names:
            value = self.constants[name]
            self.names[name] = self.op.const(list(value.values), value.element, value.dims)
        return self.names[name]

    def _value_of(self, attribute: Any) -> Any:
        """Return the value of an attribute of a node in the body; a list for an attribute with several values.

        The attribute may refer to an attribute of the operator, such as `axis` of Softmax. The value is then the one
        that the replaced node states for `axis`, else the default, else None. Raises Refusal C206 if the replaced node
        is in a model-local function, and its own `axis` refers to an attribute of that function.
        """
        return self.node.attr(attribute.ref_attr_name) if attribute.ref_attr_name else value_with_lists(attribute)

    def _constant_of(self, attribute: Any) -> _BodyConstant:
        """Return the constant that a Constant node of the body holds; `attribute` is the node's only AttributeProto.

        If `attribute` refers to an attribute of the operator, the constant holds the value that the replaced node gives
        that attribute. Raises Refusal C206 if this value comes from an attribute of the model-local function around the
        replaced node.
        """
        value = self._value_of(attribute)
        kind = attribute_type(attribute)
        if kind == "tensor":
            return _BodyConstant(ELEMENTS[value.data_type].name, tuple(value.dims), tensor_values(None, value))
        element = {"float": "float", "int": "int64", "string": "string"}[kind.removesuffix("s")]
        values, dims = (value, (len(value),)) if kind.endswith("s") else ((value,), ())
        return _BodyConstant(element, dims, values)

    def _cast_like(self, name: str, like: str) -> str:
        """Return the model's name for the value `name` of the body, cast to the element type of the value `like`.

        A constant that is not in the model yet is written in that type. Any other value gets a Cast, and so does a
        constant with an element that is out of the type's range. `like` has to be an input of the body. Raises Refusal
        C203 if the type of `like` is unknown.
        """
        element = self.elements.get(like)
        if element is None:
            raise unknown_type(self.names.get(like, like))
        value = self.constants.get(name) if name not in self.names else None
        if value is not None:
            try:
                return self.op.const(_cast_elements(value, element), element, value.dims)
            except (ModelError, ValueError, OverflowError):  # beyond the type's range, which casting has rules for
                pass
        return str(self.op.Cast(self._value_named(name), to=NUMBERS[element], domain=""))


def _cast_elements(value: _BodyConstant, element: str) -> list[Any]:
    """Return the elements of a constant, converted to the element type `element` as Cast converts them.

    For an integer type, fractions are cut off; whether a number is in the type's range is not checked. For any other
    type, the elements are returned unchanged.

    Raises:
        ModelError: The constant is malformed.
        ValueError: A NaN is to become an integer.
        OverflowError: An infinity is to become an integer.
    """
    if element.startswith(("int", "uint")):
        return [int(number) for number in value.values]
    return list(value.values)
