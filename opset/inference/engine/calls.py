"""Infers calls of the model's own functions; a body is inferred once for all calls that differ in names alone."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from opset.inference.building.dimensions import variable
from opset.inference.building.types import Type, is_rankless
from opset.inference.building.work import charge_body
from opset.inference.engine.constants import ConstantElements
from opset.inference.engine.operators import Operators
from opset.inference.engine.outcomes import Outcome, has_unnamed_sizes
from opset.inference.engine.scopes import Scope
from opset.inference.engine.stated import StatedTypes
from opset.model.graph.index import FunctionKey, ModelIndex

if TYPE_CHECKING:
    from opset.inference.building.graph_requests import Outputs


class FunctionCalls:
    """Infers the calls of a model's own functions, and keeps the results.

    - `scopes`: for each function, the scopes (inferred types and elements) of its calls; calls that differ only in
      names of values and variables share one;
    - `omitted`: functions with calls that were not reached, since the inference was stopped before.
    """

    def __init__(
        self, index: ModelIndex, operators: Operators, constants: ConstantElements, stated: StatedTypes
    ) -> None:
        self._index = index
        self._operators = operators
        self._constants = constants
        self._stated = stated
        self.scopes: dict[FunctionKey, list[Scope]] = {}
        self.omitted: set[FunctionKey] = set()
        self._outputs: dict[Any, tuple[list[str], Outputs, Scope]] = {}

    def all_scopes(self) -> Iterator[Scope]:
        """Yield the scopes of all calls of functions.

        Calls that differ only in the names of values and variables share one scope.
        """
        return chain.from_iterable(self.scopes.values())

    def infer_call(
        self, scope: Scope, index: int, key: FunctionKey, inputs: Sequence[Type | None]
    ) -> Generator[Scope, None, Outcome]:
        """Return the inferred output types and elements of the node at `index`, which calls the function `key`.

        This is a generator, and the Outcome is its return value. If no equal call was inferred before, it first yields
        a new scope of the function; the caller has to infer the function's body in that scope before it resumes the
        generator. Calls are equal if they differ only in the names of values and variables. The scope is stored in
        `scope.calls`.

        Args:
            scope: the scope of the graph or function with the node.
            index: the index of the node in it.
            key: the key of the function in the model's index.
            inputs: the types of the node's inputs, None if unknown.
        """
        from opset.inference.engine.renaming import number_variables, replace_variables
        from opset.inference.engine.subgraphs import outputs_of_body

        function = self._index.functions[key]
        attributes = {default.name: default for default in function.proto.attribute_proto}
        for attribute in scope.body.attributes[index]:
            if (resolved := scope.resolve_attribute(attribute)) is not None:
                attributes[attribute.name] = resolved
        names = scope.reads(index)
        passed = [self._constants.find_for_body(scope, name, type_) for name, type_ in zip(names, inputs, strict=True)]
        signature, variable_names = number_variables(inputs, passed)
        memo = (
            key,
            signature,
            frozenset((name, attribute.SerializeToString()) for name, attribute in attributes.items()),
            tuple(map(bool, names)),
            scope.unused,
            scope.guarded,
        )
        if memo not in self._outputs:
            charge_body(function)
            imports = self._index.imports(function)
            inner = Scope(
                function,
                None,
                imports,
                self._operators.table(imports),
                attributes,
                key=(key, len(self._outputs)),
                unused=scope.unused,
                guarded=scope.guarded,
                absent=frozenset([name for i, name in enumerate(function.input_names()) if not any(names[i : i + 1])]),
            )
            for i, name in enumerate(function.input_names()):
                self._stated.enter_value(inner, name, inputs[i] if i < len(inputs) else None)
                if i < len(passed) and (constant := passed[i]) is not None:
                    inner.constants[name] = constant
            self._stated.note_stated_types(inner)
            yield inner
            self.scopes.setdefault(key, []).append(inner)
            outputs = outputs_of_body(inner, self._constants, function.output_names())
            self._outputs[memo] = variable_names, outputs, inner
        former_names, outputs, scope.calls[index] = self._outputs[memo]
        if former_names != variable_names:
            # Some names may be the same in another order, so all are replaced at once.
            outputs = replace_variables(outputs, dict(zip(former_names, map(variable, variable_names), strict=True)))
        doubts = ("nothing more follows from the body of the function",) if any(map(is_rankless, outputs)) else ()
        return Outcome(tuple(outputs), tuple(outputs.data), doubts, has_unnamed=has_unnamed_sizes(outputs))
