"""Infers single nodes: a rule is called once for all nodes with the same attributes, input types and elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opset.inference.building.agreement import check_declared_constraints
from opset.inference.building.call import Call, Constant, Unknown
from opset.inference.building.dimensions import TooComplex
from opset.inference.building.types import Type, shape_of_dims, tensor
from opset.inference.building.work import SIGNATURE_STEPS, charge
from opset.inference.engine.constants import ConstantElements
from opset.inference.engine.outcomes import (
    MALFORMED,
    Memo,
    OperatorInference,
    Outcome,
    Problem,
    complete_results,
    has_unnamed_sizes,
    problems_of,
    signature_types,
)
from opset.inference.engine.scopes import Scope
from opset.inference.limits import MAX_ATTRIBUTE, MAX_RECENT
from opset.model.attributes import attribute_type, attribute_value
from opset.model.elements import element_name
from opset.opsets.faults import RAISED
from opset.opsets.hooks import Hook
from opset.schemas import quirks
from opset.schemas.constraints.signature import MISSING_ATTRIBUTE, arity_misfits, attribute_misfits, type_misfits
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import OpSchema

_TENSOR = 4  # AttributeProto.TENSOR


class NodeInference:
    """Infers single nodes without subgraphs. Nodes with equal attributes and inputs are inferred once.

    If `check_types` is set, types of inputs and outputs are checked against the schema.
    """

    def __init__(self, constants: ConstantElements, check_types: bool) -> None:
        self._constants = constants
        self._check_types = check_types
        self._sound_constants: set[tuple[OpSchema, str | None]] = set()
        """Versions of Constant, with the element types that they have."""

    def infer_node(
        self, scope: Scope, index: int, inference: OperatorInference, inputs: Sequence[Type | None]
    ) -> Outcome:
        """Return the outcome of inference at one node; nodes with equal attributes and inputs share it.

        A Constant's tensor is also recorded in the scope.

        Args:
            scope: the scope of the graph or function with the node.
            index: the index of the node in it.
            inference: how the operator is inferred; it holds the shared results.
            inputs: the types of the node's inputs, None if unknown.
        """
        body = scope.body
        if inference.rule is None:
            return self._infer_by_signature(scope, index, inference, inputs)
        assert inference.schema is not None
        attributes: tuple[Any, ...] = ()
        is_long = False
        if given := body.attributes[index]:
            is_constant = body.operators[index] == ("Constant", "")
            constant = self._infer_constant(scope, index, inference.schema) if is_constant else None
            if constant is not None:
                return constant
            attributes = tuple([attribute.SerializeToString() for attribute in given])
            is_long = any(len(encoded) > MAX_ATTRIBUTE for encoded in attributes)
            if body.root.function and any(attribute.ref_attr_name for attribute in given):
                attributes = (*attributes, scope.key)
        names = scope.reads(index)
        computed = body.computes[index]
        outputs: Any = tuple(map(bool, computed)) if "" in computed else len(computed)
        followed: tuple[int, ...] = ()
        if inference.data is not None and (scope.parent is not None or not scope.constants.keys().isdisjoint(names)):
            followed = tuple([i for i, name in enumerate(names) if name and scope.is_followed(name)])
        if is_long:
            # Large tables are not copied into a signature.
            return self._infer_alone(scope, index, inference, inputs, followed)[1]
        identities = (attributes, outputs, followed, *map(id, inputs))
        recent = inference.recent.get(identities)
        memo = _memo_of(inference, identities, names, inputs) if recent is None else recent[0]
        elements = tuple([self._constants.find(scope, names[i]) for i in memo.reads]) if memo.reads else ()
        outcome = memo.outcomes.get(elements)
        if outcome is None:
            call, outcome = self._infer_alone(scope, index, inference, inputs, followed)
            reads = tuple(sorted({*memo.reads, *call.reads}))
            if reads != memo.reads:
                memo.reads = reads
                memo.outcomes = {}
                elements = tuple([self._constants.find(scope, names[i]) for i in reads])
            memo.outcomes[elements] = outcome
        return outcome

    def _infer_alone(
        self,
        scope: Scope,
        index: int,
        inference: OperatorInference,
        inputs: Sequence[Type | None],
        followed: tuple[int, ...],
    ) -> tuple[Call, Outcome]:
        """Run the inference rule of a node; return the node as a Call, and the outcome.

        The rule is run even if the outcome of an equal node is cached. The outcome has a warning for each attribute
        that the schema does not have, or has with another type.

        Args:
            scope: the scope of the graph or function with the node.
            index: the index of the node in it.
            inference: how the operator is inferred.
            inputs: the types of the node's inputs, None if unknown.
            followed: the indices of inputs whose elements were computed by nodes or passed in.
        """
        call = self.call_of(scope, index, inference, inputs)
        outcome = self.run_rule(call, len(scope.body.computes[index]), inference, followed)
        attributes = scope.body.attributes[index]
        if attributes and (wrong := _attribute_warnings(call.schema, attributes)):
            outcome = outcome._replace(warnings=(*outcome.warnings, *wrong))
        return call, outcome

    def call_of(self, scope: Scope, index: int, inference: OperatorInference, inputs: Sequence[Type | None]) -> Call:
        """Return the node at `index`, whose operator has a schema, as the Call that a rule takes.

        Args:
            scope: the scope of the graph or function with the node.
            index: the index of the node in it.
            inference: how the operator is inferred.
            inputs: the types of the node's inputs, None if unknown.
        """
        assert inference.schema is not None
        body = scope.body
        attributes = {message.name: message for message in reversed(body.attributes[index])}

        def attribute(name: str) -> Any:
            """Return the value of an attribute of the node or of the call around it, None if there is none."""
            resolved = scope.resolve_attribute(attributes[name]) if name in attributes else None
            return None if resolved is None else attribute_value(resolved)

        def constant(index_of_input: int) -> Constant | None:
            """Return the elements of the input at an index, None if they are unknown."""
            return self._constants.find(scope, names[index_of_input])

        names, computed = scope.reads(index), body.computes[index]
        unnamed = frozenset([i for i, name in enumerate(computed) if not name]) if "" in computed else frozenset()
        return Call(inference.schema, names, len(computed), inputs, attribute, constant, unnamed)

    def infer_separate_node(
        self,
        node: Any,
        inference: OperatorInference,
        inputs: Sequence[Type | None],
        constants: Sequence[Constant | None],
    ) -> tuple[Type | None, ...]:
        """Return the output types of a node that is not in the model, None for one that is unknown.

        Args:
            node: the NodeProto.
            inference: how the operator is inferred, with a schema.
            inputs: the types of its inputs, None if unknown.
            constants: the elements of its inputs, None if unknown.
        """
        schema = inference.schema
        assert schema is not None
        if inference.rule is None or inference.rule.is_generator:
            return signature_types(inference, len(node.output), inputs)

        def attribute(name: str) -> Any:
            """Return the value of an attribute of the node, None if there is none.

            Raises Unknown if it is taken from the call of the function around the node.
            """
            for message in node.attribute:
                if message.name == name:
                    if message.ref_attr_name:
                        raise Unknown(f"{name} is an attribute of the call of the function around")
                    return attribute_value(message)
            return None

        call = Call(schema, node.input[:], len(node.output), inputs, attribute, lambda index: constants[index])
        return self.run_rule(call, len(node.output), inference, ()).types

    def _infer_by_signature(
        self, scope: Scope, index: int, inference: OperatorInference, inputs: Sequence[Type | None]
    ) -> Outcome:
        """Return the output types of a node whose operator has no rule, as far as the operator's signature shows them.

        The type of an output is known if the schema allows only one, or if an input has the same type constraint.
        Without a schema, only the first output of some operators of onnxruntime and its extensions has a type.
        The Outcome states as a doubt why there is no rule.
        """
        from opset.inference.engine.foreign import foreign_type

        count = len(scope.body.computes[index])
        if inference.schema is None:
            body = scope.body
            first = foreign_type(body.operators[index], inputs, body.attributes[index])
            return Outcome((first, *(None,) * (count - 1))[:count], doubts=(inference.why,))
        types = signature_types(inference, count, inputs)
        problems = self.find_misfits(inference.schema, scope.reads(index), inputs)
        return Outcome(types, doubts=(inference.why,), problems=problems)

    def _infer_constant(self, scope: Scope, index: int, schema: OpSchema) -> Outcome | None:
        """Return the output type of a Constant with the attribute `value`, and store the tensor in `scope.tensors`.

        If types are checked, the Outcome has a problem for a type that `schema` does not allow. Returns None if `value`
        holds no tensor, or if the node sets more than one attribute that `schema` declares.

        Args:
            scope: the graph that the node is in.
            index: the index of the node.
            schema: the schema of Constant in the model's opset.
        """
        outputs = scope.body.computes[index]
        messages = scope.body.attributes[index]
        if sum([each.name in schema.attributes for each in messages]) > 1:
            return None
        for message in messages:
            attribute = scope.resolve_attribute(message) if message.name == "value" else None
            if attribute is not None and attribute.type == _TENSOR and outputs:
                if outputs[0]:
                    scope.tensors[outputs[0]] = attribute.t
                type_ = tensor(element_name(attribute.t.data_type), shape_of_dims(attribute.t.dims))
                problems: tuple[Problem, ...] = ()
                if self._check_types and (schema, type_.element) not in self._sound_constants:
                    problems = self.find_output_misfits(schema, (), (type_,))
                    if not problems:
                        self._sound_constants.add((schema, type_.element))
                return Outcome((type_,), problems=problems)
        return None

    def run_rule(self, call: Call, output_count: int, inference: OperatorInference, followed: Sequence[int]) -> Outcome:
        """Return what the rule of a node's operator infers of its outputs, and elements of small outputs.

        Constraints that the schema declares are checked first; a broken one is a problem of the Outcome. If there are
        no problems, the operator's data function computes elements. A nonstandard node that runtimes accept is inferred
        like the standard node with the same meaning, and gets a warning.

        Args:
            call: the node.
            output_count: the number of its outputs.
            inference: how the operator is inferred; it has a rule.
            followed: the indices of inputs whose elements were computed by nodes or passed in.
        """
        assert inference.rule is not None
        charge(SIGNATURE_STEPS + sum([len(type_.shape) for type_ in call.types if type_ is not None and type_.shape]))
        problems = self.find_misfits(call.schema, call.names, call.types)
        result: Any = []
        warnings: tuple[str, ...] = ()
        data = inference.data
        try:
            check_declared_constraints(call)
            result = inference.rule.function(call)
        except Violation as violation:
            tolerated = _infer_tolerated_node(call, inference)
            if tolerated is None:
                problems += problems_of(call, violation, inference.rule)
            else:
                call, result, data = tolerated
                warnings = (inference.tolerated,)
        except RAISED as error:
            problems += problems_of(call, error, inference.rule)
        types, more = complete_results(result, signature_types(inference, output_count, call.types), call)
        constants: tuple[Constant | None, ...] = ()
        if data is not None and not problems:
            try:
                constants = self._constants.compute_elements(call, data, types, followed)
            except RAISED as error:
                problems += problems_of(call, error, data)
        problems += more
        if not problems and not warnings:
            problems = self.find_output_misfits(call.schema, call.types, types)
        return Outcome(types, constants, tuple(call.doubts), problems, has_unnamed_sizes(types), warnings)

    def find_misfits(
        self, schema: OpSchema, names: Sequence[str], inputs: Sequence[Type | None]
    ) -> tuple[Problem, ...]:
        """Return a problem for each input whose type the operator does not allow, and for a wrong number of inputs.

        The result is () if types are not checked. An unknown type fits.

        Args:
            schema: the schema of the operator.
            names: the names of the inputs, "" for one that is left out.
            inputs: the types of the inputs, None if unknown.
        """
        if not self._check_types:
            return ()
        texts = [
            (None if type_ is None else type_.text) if name else "" for name, type_ in zip(names, inputs, strict=True)
        ]
        misfits = (*arity_misfits(schema, texts), *type_misfits(schema, texts))
        return tuple([Problem("I202", misfit.what, misfit.why) for misfit in misfits])

    def find_output_misfits(
        self, schema: OpSchema, inputs: Sequence[Type | None], outputs: Sequence[Type | None]
    ) -> tuple[Problem, ...]:
        """Return a problem for each output whose type the operator does not allow; () if types are not checked.

        `inputs` and `outputs` are the types, None if unknown. The type of an output may follow from an attribute, so
        that it is not enough to check the inputs.
        """
        if not self._check_types:
            return ()
        taken, given = ([None if each is None else each.text for each in types] for types in (inputs, outputs))
        return tuple([Problem("I202", misfit.what, misfit.why) for misfit in type_misfits(schema, taken, given)])


def _attribute_warnings(schema: OpSchema, attributes: Sequence[Any]) -> tuple[str, ...]:
    """Return a sentence for each attribute of a node that the schema does not have, or has with another type.

    `attributes` are the AttributeProtos of the node. Attributes whose name begins with "__" do not count.
    """
    types = {
        attribute.name: None if attribute.ref_attr_name else attribute_type(attribute)
        for attribute in attributes
        if not quirks.is_internal(attribute.name)
    }
    differences = (misfit for misfit in attribute_misfits(schema, types) if misfit.kind != MISSING_ATTRIBUTE)
    return tuple([f"{misfit.what}: {misfit.why}" for misfit in differences])


def _infer_tolerated_node(call: Call, inference: OperatorInference) -> tuple[Call, Any, Hook | None] | None:
    """Infer a nonstandard node that runtimes accept, by the rule for the standard node with the same meaning.

    Returns the Call of the standard node, the result of its rule, and its data function; the result is [] if the rule
    raises Unknown. Returns None if runtimes are not known to accept the node.
    """
    fallback = inference.fallback
    if fallback is None or fallback.schema is None or fallback.rule is None:
        return None
    try:
        standard_call = call.with_schema(fallback.schema, _standard_types(call.schema.name, call.types))
    except Unknown:
        return None
    try:
        check_declared_constraints(standard_call)
        return standard_call, fallback.rule.function(standard_call), fallback.data
    except Unknown as error:
        standard_call.doubt(str(error))
        return standard_call, [], fallback.data
    except (Violation, TooComplex, *MALFORMED):
        return None


def _standard_types(op_type: str, types: Sequence[Type | None]) -> list[Type | None]:
    """Return a node's input types, with types that only runtimes accept replaced by types of the standard.

    For example, the bounds of a Clip become scalars if they are tensors of shape [1]. `schemas/quirks.py` lists such
    cases.
    """
    if op_type == "Clip":
        bounds = types[1:]
        return [*types[:1], *[bound._replace(shape=()) if bound and bound.shape == (1,) else bound for bound in bounds]]
    if op_type == "STFT" and types and types[0] is not None and types[0].shape is not None and len(types[0].shape) == 2:
        return [types[0]._replace(shape=(*types[0].shape, 1)), *types[1:]]
    return [*types]


def _memo_of(
    inference: OperatorInference, identities: tuple[Any, ...], names: Sequence[str], inputs: Sequence[Type | None]
) -> Memo:
    """Return the Memo with the results for nodes that have the same attributes and input types.

    If there is no such Memo, an empty one is made.

    Args:
        inference: how the operator is inferred. It holds the Memos, in `memos` and in `recent`.
        identities: the key of the Memo in `recent`, a table that is quicker than `memos`. The parts are the attributes,
            the outputs, the indices of inputs with computed elements, and the id() of each input type. If a type is
            unknown, `recent` gets no entry.
        names: the names of the inputs, "" for one that is left out.
        inputs: the types of the inputs, None if unknown.
    """
    attributes, outputs, followed, *_ = identities
    absent = tuple([i for i, type_ in enumerate(inputs) if type_ is None and names[i]])
    signature = (attributes, outputs, followed, absent, tuple(inputs))
    memo = inference.memos.get(signature)
    if memo is None:
        memo = inference.memos[signature] = Memo()
    if None not in inputs:
        if len(inference.recent) >= MAX_RECENT:
            inference.recent.clear()
        inference.recent[identities] = memo, inputs
    return memo
