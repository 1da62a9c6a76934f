"""What a model states of its values, in inputs, initializers, value_info and outputs, and what follows from it."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

from opset.inference.building.dimensions import Dim, Size, has_function, variables
from opset.inference.building.types import Type, mapped, meet, of_proto, shape_of_dims, tensor
from opset.inference.engine.scopes import Scope
from opset.inference.engine.sizes import Sizes
from opset.model.elements import element_name


class StatedTypes:
    """Enters what bodies state into their scopes, and combines it with what is inferred."""

    def __init__(self, sizes: Sizes, *, ignored: bool, inputs_only: bool) -> None:
        """Take the sizes of the model.

        If `ignored`, the types count that are stated of inputs and initializers alone; with `inputs_only`, those of
        other values do, but for their sizes.
        """
        self._sizes, self._ignored, self._inputs_only = sizes, ignored, inputs_only

    def enter_graph(self, scope: Scope, overridable: bool) -> None:
        """Enter a graph that no node holds; `overridable` initializers are those that are inputs, too."""
        graph = scope.body.proto
        for value in graph.input:
            self.enter(scope, value.name, self.read(scope, value.type))
        self.enter_initializers(scope, {value.name for value in graph.input} if overridable else ())
        self.enter_computed(scope)

    def enter(self, scope: Scope, name: str, type_: Type | None) -> None:
        """Enter a value whose unknown sizes get names."""
        scope.types[name] = self._sizes.named(scope, type_, name)

    def enter_initializers(self, scope: Scope, passed: Collection[str]) -> None:
        """Enter a graph's initializers; of those that may be passed in, the element type alone counts."""
        types, tensors = scope.types, scope.tensors
        for each in scope.body.proto.initializer:
            name = each.name
            if name not in passed:
                types[name] = _tensor_type(each.data_type, tuple(each.dims[:]))
                tensors[name] = each
            elif types.get(name) is None:
                types[name] = tensor(element_name(each.data_type))
        for each in scope.body.proto.sparse_initializer:
            types[each.values.name] = _tensor_type(each.values.data_type, tuple(each.dims))

    def enter_computed(self, scope: Scope) -> None:
        """Note the types that a body states of values that its nodes compute."""
        proto = scope.body.proto
        if self._ignored:
            return
        scope.stated.update((value.name, value.type) for value in proto.value_info)
        if not scope.body.function:
            scope.stated.update((value.name, value.type) for value in proto.output if value.name not in scope.types)

    def read(self, scope: Scope, proto: Any) -> Type | None:
        """Return the type that a TypeProto of a body states.

        A variable that is met first inside a loop may have another value in each turn. Variables in a function are not
        those of its callers, so they are unknown sizes.
        """
        type_ = of_proto(proto, self._sizes.of_dimension)
        if scope.body.root.function:
            return mapped(type_, lambda size: size if isinstance(size, int) else None)
        return mapped(type_, lambda size: self._meet_variables(scope, size))

    def _meet_variables(self, scope: Scope, size: Size | None) -> Size | None:
        """Return a size whose variables are noted as met in the body."""
        if not isinstance(size, Dim):
            return size
        for name in variables(size) - scope.met - self._sizes.of_inputs:
            scope.met.add(name)
            outer = scope.parent
            while scope.repeated and outer is not None and name not in outer.met:
                outer = outer.parent
            if scope.repeated and outer is None:
                scope.local.add(name)
        return size

    def combine_computed(self, scope: Scope, name: str, inferred: Type | None) -> Type | None:
        """Return what value_info or the graph's output and the inference state together; note a contradiction."""
        type_, why = self.combine(scope, scope.stated[name], inferred)
        if why:
            scope.conflicts[name] = why
        else:
            scope.conflicts.pop(name, None)
        return type_

    def combine(self, scope: Scope, proto: Any, inferred: Type | None) -> tuple[Type | None, str]:
        """Return what a stated and an inferred type state together, and "" or how they contradict each other."""

        def is_better(stated: Size, inferred: Size) -> bool:
            if isinstance(stated, int) or has_function(inferred, "broadcast"):
                return False
            # Inside a loop, variables from outside are worth more than those that the body alone states.
            unknown = variables(inferred) - self._sizes.of_inputs
            return not unknown or (scope.repeated and unknown.isdisjoint(scope.local))

        stated = self.read(scope, proto)
        return meet(mapped(stated, lambda size: None) if self._inputs_only else stated, inferred, is_better)


@lru_cache(maxsize=4096)
def _tensor_type(data_type: int, dims: tuple[int, ...]) -> Type:
    """Return the type of a TensorProto; one object for all that are alike, so that signatures are compared quickly."""
    return tensor(element_name(data_type), shape_of_dims(dims))
