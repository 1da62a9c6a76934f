"""Scopes, which hold the types and elements of the values of a body; `parent` leads to the bodies around it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opset.inference.building.call import Constant
from opset.inference.building.dimensions import Size, variables
from opset.inference.building.types import Type
from opset.inference.engine.outcomes import OperatorInference, Problem
from opset.model.graph.index import Body, Operator


class Scope:
    """The types and elements of the values of one graph, subgraph or called function (`body`), as far as inferred.

    - `parent`: the scope of the graph or function around, the main graph for a training graph; None for the main graph
      or a function;
    - `imports`: the opset version of each domain; `operators`: how each operator that was met is inferred;
    - `attributes`: of a function, the attributes of the call by name; None for any other body;
    - `key`: the identity of the scope in this inference;
    - `repeated`: whether the body may run repeatedly, as the body of a loop does; its sizes may then differ each time;
    - `unused`: whether the body is never run, so that errors in it do not count;
    - `guarded`: whether a condition decides if the body is run, so that the model may avoid errors in it on purpose;
    - `absent`: the inputs of the enclosing function that its call leaves out.
    """

    def __init__(
        self,
        body: Body,
        parent: Scope | None,
        imports: Mapping[str, int],
        operators: dict[Operator, OperatorInference],
        attributes: Mapping[str, Any] | None = None,
        key: Any = (),
        repeated: bool = False,
        unused: bool = False,
        guarded: bool = False,
        absent: frozenset[str] = frozenset(),
    ) -> None:
        self.body = body
        self.parent = parent
        self.imports = imports
        self.operators = operators
        self.attributes = attributes
        self.key = key
        self.repeated = repeated
        self.unused = unused
        self.guarded = guarded
        self.absent = absent
        self.types: dict[str, Type | None] = {}
        self.stated: dict[str, Any] = {}
        """The TypeProtos that the body states of values that its nodes compute."""
        self.constants: dict[str, Constant] = {}
        """Elements that were computed, or passed in."""
        self.tensors: dict[str, Any] = {}
        """TensorProtos of initializers and Constants, whose elements are read when they are needed."""
        self.read: dict[str, Constant | None] = {}
        """Elements of `tensors` that were needed; None if they are too many."""
        self.local: set[str] = set()
        """Dimension variables that were made for values of this body, or that mean nothing outside."""
        self.met: set[str] = set()
        """Dimension variables in the types that the body states, as far as these were read."""
        self.subgraphs: dict[tuple[int, str], Scope] = {}
        """The scopes of graphs in nodes, by index of the node and attribute."""
        self.calls: dict[int, Scope] = {}
        """The scopes of functions that nodes call, by index of the node."""
        self.doubts: dict[int, tuple[str, ...]] = {}
        """The reasons why not everything is known of a node's outputs, by index of the node."""
        self.warnings: dict[int, tuple[str, ...]] = {}
        """Harmless differences between a node and its schema, by index of the node."""
        self.problems: dict[int, tuple[Problem, ...]] = {}
        """The problems of a node, by index of the node."""
        self.conflicts: dict[str, str] = {}
        """How the stated type of a value contradicts the inferred one, by name of the value."""

    def without_local(self, size: Size | None) -> Size | None:
        """Return `size`, or None if it contains a variable that has a meaning only inside of this graph or function.

        None gives None.
        """
        return size if self.local.isdisjoint(variables(size)) else None

    def reads(self, index: int) -> Sequence[str]:
        """Return the input names of the node at `index`, "" for one that is left out.

        In a function, an input of the function itself counts as left out if the call of the function omits it.
        """
        names = self.body.reads[index]
        return names if self.absent.isdisjoint(names) else ["" if name in self.absent else name for name in names]

    def type_of(self, name: str) -> Type | None:
        """Return the type of the value `name`, or None if nothing is known of it.

        The value may also belong to an enclosing graph.
        """
        scope: Scope | None = self
        while scope is not None:
            if name in scope.types:
                return scope.types[name]
            scope = scope.parent
        return None

    def computed_elements(self, name: str) -> Constant | None:
        """Return the elements of the value `name`, or None if they are unknown.

        Elements count as known here if a node computed them, or if they were passed into the graph or function. For
        initializers and Constants, the result is None. The value may also belong to an enclosing graph.
        """
        scope: Scope | None = self
        while scope is not None:
            if name in scope.constants:
                return scope.constants[name]
            if name in scope.types:
                return None
            scope = scope.parent
        return None

    def is_followed(self, name: str) -> bool:
        """Whether the elements of the value `name` are known because a node computed them, or they were passed in.

        They may be passed into a graph or a function. The value may also belong to an enclosing graph. False for
        unknown elements, initializers and the values of Constants.
        """
        return self.computed_elements(name) is not None

    def resolve_attribute(self, attribute: Any) -> Any:
        """Return the AttributeProto that has the value of `attribute`, which is one of a node.

        This is `attribute` itself, unless it refers to an attribute of the function around the node (`ref_attr_name`).
        For a reference, the result is the attribute that the function's call gives, or else the function's default. The
        result is None if there is neither.
        """
        if not attribute.ref_attr_name:
            return attribute
        scope: Scope | None = self
        while scope is not None:
            if scope.attributes is not None:
                return scope.attributes.get(attribute.ref_attr_name)
            scope = scope.parent
        return None
