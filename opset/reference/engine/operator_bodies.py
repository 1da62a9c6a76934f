"""Function bodies in place of kernels: the body that serves a node's inputs and attributes, as a function."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opset.errors import Finding, RunError, SchemaError, quote, safe_text
from opset.model import proto as pb
from opset.model.attributes import FIELDS, attribute_value, fill_attribute
from opset.model.elements import NUMBERS
from opset.model.graph.index import Body
from opset.reference.engine.programs import Program
from opset.reference.values import type_of
from opset.schemas.function_bodies import body_nodes, fitting_bodies
from opset.schemas.model import FunctionBody, OpSchema
from opset.schemas.names import domain_name, qualified_name

OperatorKey = tuple[str, str]
"""Domain and name of an operator."""


@dataclass(frozen=True)
class BodyCall:
    """A node whose operator has function bodies and no kernel.

    Attributes:
        schema: The operator version of the node.
        imports: The versions at which the nodes of a body are evaluated, by domain.
        stated: The AttributeProtos that the node states, by name; references are resolved.
        within: The operators in whose bodies the node is.
        location: Returns the path of the node.
        programs: What was compiled for the node, by what decides it: the types and ranks of inputs.
    """

    schema: OpSchema
    imports: Mapping[str, int]
    stated: Mapping[str, Any]
    within: Collection[OperatorKey]
    location: Callable[[], str]
    programs: dict[Any, Program] = field(default_factory=dict)

    @property
    def operator(self) -> OperatorKey:
        """Domain and name of the operator."""
        return self.schema.domain, self.schema.name

    def attributes(self) -> dict[str, Any]:
        """Return the AttributeProtos of the node by name, with the defaults of the schema."""
        found = dict(self.stated)
        for name, formal in self.schema.attributes.items():
            if name not in found and formal.default is not None and formal.type in FIELDS:
                found[name] = pb.AttributeProto()
                fill_attribute(found[name], name, formal.type, formal.default)
        return found

    def choose_body(self, inputs: Sequence[Any]) -> FunctionBody:
        """Return the function body that serves the node with these inputs. Raises RunError R201 if none does."""
        schema = self.schema
        attributes = self.attributes()
        given = {formal.name: value for formal, value in zip(schema.inputs, inputs, strict=False) if value is not None}

        def is_given(name: str) -> bool:
            """Whether the node has the input, or states the attribute, that the schema calls `name`."""
            return name in given or name in self.stated

        def value(name: str) -> Any:
            """Return the value of the attribute `name`, None if it has none."""
            return attribute_value(attributes[name]) if name in attributes else None

        def rank(name: str) -> int | None:
            """Return the rank of the input `name`, None if it is left out or no tensor."""
            return given[name].ndim if isinstance(given.get(name), np.ndarray) else None

        if self.operator in self.within:
            raise self._error("its function body uses the operator itself", "correct the body: opset lint says where")
        for body in fitting_bodies(schema, self.imports[""], {"given": is_given, "value": value, "rank": rank}):
            types = {each.name: body.types.get(each.type) for each in schema.inputs}
            if all(stated is None or _has_type(given.get(name), stated) for name, stated in types.items()):
                return body
        why = "it has no kernel, and no function body serves these attributes, inputs and types"
        raise self._error(why, "register a kernel: opset explain evaluating; or write a body that serves the node")

    def function_of(self, body: FunctionBody, inputs: Sequence[Any]) -> Body:
        """Return a function body as a function; types that it is not right for are computed in the wider ones it names.

        Raises RunError R201 if it cannot be read.
        """
        schema = self.schema
        try:
            nodes = body_nodes(body.nodes)
        except SchemaError as error:
            raise self._error(f"its function body cannot be read: {error.why}", "opset lint says where") from None
        name = qualified_name(schema.domain, schema.name)
        function = pb.FunctionProto(name=schema.name, domain=schema.domain)
        function.input.extend(each.name for each in schema.inputs)
        function.output.extend(each.name for each in schema.outputs)
        emulated = self._emulated_types(body, inputs)
        wide: dict[str, str] = {}
        for each, value in zip(schema.inputs, inputs, strict=False):
            if each.type in emulated and value is not None:
                wide[each.name] = f"{each.name} as {emulated[each.type][1]}"
                _add_cast(function, each.name, wide[each.name], emulated[each.type][1])
        for each in schema.outputs:
            if each.type in emulated:
                wide[each.name] = f"{each.name} as {emulated[each.type][1]}"
        for original in nodes:
            node = function.node.add()
            node.CopyFrom(original)
            for values in (node.input, node.output):
                values[:] = [wide.get(value, value) for value in values]
        for each in schema.outputs:
            if each.type in emulated:
                _add_cast(function, wide[each.name], each.name, emulated[each.type][0])
        return Body(function, f"function {quote(name)}", function=True)

    def _emulated_types(self, body: FunctionBody, inputs: Sequence[Any]) -> dict[str, tuple[str, str]]:
        """Return the element types of inputs that a body computes in wider ones, with these, by type constraint."""
        found: dict[str, tuple[str, str]] = {}
        for formal, value in zip(self.schema.inputs, inputs, strict=False):
            element = "" if value is None else type_of(value).removeprefix("tensor(").removesuffix(")")
            if element in body.emulate and formal.type in self.schema.types:
                found[formal.type] = element, body.emulate[element]
        return found

    def _error(self, why: str, help: str) -> RunError:
        """Return the error R201 about the node."""
        name = f"{domain_name(self.schema.domain)} {self.schema.name} {self.schema.since_version}"
        message = f"the operator {safe_text(self.schema.name)} cannot be computed"
        return RunError(Finding("R201", message, self.location(), f"{name}: {why}", help))


def _has_type(value: Any, stated: Collection[str]) -> bool:
    """Whether a value has one of the stated types; True if it is left out, or if its type is not known."""
    type_ = "?" if value is None else type_of(value)
    return "?" in type_ or type_ in stated


def _add_cast(function: Any, name: str, result: str, element: str) -> None:
    """Add nodes to a FunctionProto that cast the value `name` to an element type, as `result`."""
    like = f"{result} like"
    constant = function.node.add(op_type="Constant", output=[like])
    tensor = pb.TensorProto(data_type=NUMBERS[element], dims=[0])
    fill_attribute(constant.attribute.add(), "value", "tensor", tensor)
    function.node.add(op_type="CastLike", input=[name, like], output=[result])
