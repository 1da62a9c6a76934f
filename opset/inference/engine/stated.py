"""The types that a model states of its values: in inputs, initializers, value_info and outputs."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import Any

from opset.inference.building.dimensions import Dim, Size, has_function, variables
from opset.inference.building.types import (
    Type,
    combine_types,
    drop_shapes,
    map_sizes,
    shape_of_dims,
    tensor,
    type_from_proto,
)
from opset.inference.engine.scopes import Scope
from opset.inference.engine.sizes import Sizes
from opset.inference.limits import MAX_RANK
from opset.model.elements import element_name


class StatedTypes:
    """Reads the types that a model states, and combines them with inferred types; results are stored in scopes.

    If `ignored` is set, only the types of inputs and initializers count. If `inputs_only` is set, only their sizes
    count; of other values, ranks and element types do.
    """

    def __init__(self, sizes: Sizes, ignored: bool, inputs_only: bool) -> None:
        self._sizes = sizes
        self._ignored = ignored
        self._inputs_only = inputs_only

    def enter_graph(self, scope: Scope, overridable: bool) -> None:
        """Record in `scope` the inputs, initializers and stated types of its graph, a main or training graph.

        `overridable` states whether a caller may replace an initializer that is also an input. If so, the elements of
        such an initializer are not recorded.
        """
        graph = scope.body.proto
        for value in graph.input:
            self.enter_value(scope, value.name, self.read_type(scope, value.type))
        self.enter_initializers(scope, {value.name for value in graph.input} if overridable else ())
        self.note_stated_types(scope)

    def enter_value(self, scope: Scope, name: str, type_: Type | None) -> None:
        """Record in a scope that the value `name` has the type `type_`, with a variable for each unknown size."""
        scope.types[name] = self._sizes.name_unknown_sizes(scope, type_, name)

    def enter_initializers(self, scope: Scope, passed: Collection[str]) -> None:
        """Record in a scope the initializers of its graph, with their types and tensors.

        `passed` has the names of the inputs that a caller may pass. If an initializer has such a name, it is only a
        default of the input, so its tensor is not recorded. Its element type is recorded if the input has no known
        type. For a sparse initializer, only the type is recorded.
        """
        types = scope.types
        tensors = scope.tensors
        for initializer in scope.body.proto.initializer:
            name = initializer.name
            if name not in passed:
                types[name] = _tensor_type(initializer.data_type, tuple(initializer.dims[:]))
                tensors[name] = initializer
            elif types.get(name) is None:
                types[name] = tensor(element_name(initializer.data_type))
        for initializer in scope.body.proto.sparse_initializer:
            types[initializer.values.name] = _tensor_type(initializer.values.data_type, tuple(initializer.dims))

    def note_stated_types(self, scope: Scope) -> None:
        """Store in `scope.stated` the TypeProtos that its graph or function states for computed values.

        Functions and subgraphs may also state types of values that they take from outside. If such a type contradicts
        the known type of the value, the contradiction is stored in `scope.conflicts`. Nothing is done if stated types
        are ignored.
        """
        body, proto = scope.body, scope.body.proto
        if self._ignored:
            return
        if body.function or body.owner is not None:
            passed = {*body.input_names()} if body.function else set()
            for value in proto.value_info:
                name = value.name
                if name in passed or name not in body.definitions:
                    why = self.combine(scope, value.type, scope.type_of(name))[1]
                    scope.conflicts.update({name: why} if why else {})
        scope.stated.update((value.name, value.type) for value in proto.value_info)
        if not scope.body.function:
            outputs = [value for value in proto.output if value.name not in scope.types]
            scope.stated.update((each.name, each.type) for each in outputs if each.type.WhichOneof("value"))

    def read_type(self, scope: Scope, proto: Any) -> Type | None:
        """Return the type that a TypeProto in a scope's graph or function states, or None if it states none.

        In a graph, the variables of the type, such as N in [N, 3], are recorded in the scope. A variable that first
        appears inside a loop may have another value in each iteration, so that it is known only inside the loop. In a
        function, symbolic sizes become None: a caller may use the same variable name for another size.
        """
        type_ = type_from_proto(proto, self._sizes.read_dimension)
        if scope.body.root.function:
            return map_sizes(type_, lambda size: size if isinstance(size, int) else None)
        return map_sizes(type_, lambda size: self._note_variables(scope, size))

    def _note_variables(self, scope: Scope, size: Size | None) -> Size | None:
        """Return the size unchanged, and record its variables in `scope.met`.

        A variable that appears first inside a loop is also added to `scope.local`. Variables of the model's inputs are
        not recorded.
        """
        if not isinstance(size, Dim):
            return size
        new = variables(size) - scope.met - self._sizes.of_inputs
        scope.met |= new
        if scope.repeated:
            outer = scope.parent
            while outer is not None:
                new -= outer.met
                outer = outer.parent
            scope.local |= new
        return size

    def combine_computed(self, scope: Scope, name: str, inferred: Type | None) -> Type | None:
        """Return the type of the computed value `name`, combined from the stated and the inferred type.

        If they contradict each other, the inferred type counts, and the reason is stored in `scope.conflicts`.
        Otherwise, an earlier conflict of the value is removed from there.
        """
        type_, why = self.combine(scope, scope.stated[name], inferred)
        if why:
            scope.conflicts[name] = why
        else:
            scope.conflicts.pop(name, None)
        return type_

    def combine(self, scope: Scope, proto: Any, inferred: Type | None) -> tuple[Type | None, str]:
        """Return the combination of a TypeProto and an inferred type, and a text on how they contradict each other.

        A part that one of the two leaves open comes from the other one. A part in which they contradict each other is
        taken from the inferred type. The text is "" if there is no contradiction. The TypeProto `proto` is in the graph
        or function of `scope`, where its variables are recorded.
        """

        def is_better(stated: Size, inferred: Size) -> bool:
            """Return whether an inferred symbolic size is preferred to the stated one."""
            if isinstance(stated, int) or has_function(inferred, "broadcast"):
                return False
            # Inside a loop, variables from outside are worth more than those that the body alone states.
            unknown = variables(inferred) - self._sizes.of_inputs
            return not unknown or (scope.repeated and unknown.isdisjoint(scope.local))

        stated = self.read_type(scope, proto)
        rank = len(proto.tensor_type.shape.dim)
        if rank > MAX_RANK and inferred is not None and inferred.shape is not None:
            return inferred, f"a rank of {rank:,} is stated, {inferred} is inferred"
        return combine_types(map_sizes(stated, lambda size: None) if self._inputs_only else stated, inferred, is_better)

    def find_element_conflict(self, scope: Scope, proto: Any, inferred: Type | None) -> str:
        """Return how a TypeProto contradicts an inferred type, or "" if it does not; shapes are not compared."""
        return combine_types(drop_shapes(self.read_type(scope, proto)), inferred, lambda stated, inferred: False)[1]


@lru_cache(maxsize=4096)
def _tensor_type(data_type: int, dims: tuple[int, ...]) -> Type:
    """Return the type of a tensor, the same object for equal arguments, so that types are compared quickly.

    `data_type` is a number of TensorProto.DataType. Negative sizes are unknown.
    """
    return tensor(element_name(data_type), shape_of_dims(dims))
