"""Whether an installed runtime runs a node: a model of the node alone is loaded there, once for each form of nodes.

Where such a model cannot be made (a type is not known, a function's caller gives an attribute, the node has a graph),
the table of the nearest release decides.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from opset.errors import ModelError, safe_text
from opset.model import proto as pb
from opset.model.attributes import attribute_type
from opset.model.elements import ELEMENTS, NUMBERS, STRING
from opset.model.storage.tensor import make_tensor
from opset.model.types import Constant, Shape
from opset.opsets import releases
from opset.opsets.runtimes import Runtime
from opset.schemas.model import OpSchema, Parameter
from opset.schemas.names import normalize_domain
from opset.version_converter.availability import LOADED, RUNS, Availability, Judgement, Names, judge_faults, names_of
from opset.version_converter.facts import ValueFacts
from opset.version_converter.lacks import Lack
from opset.version_converter.routes import Routes

MAX_ZEROS = 1 << 16
"""Elements of a constant that is written as zeros, since its own elements do not matter for loading."""


def availability_at(runtime: Runtime, routes: Routes, inexact: bool = False, by_function: bool = False) -> Availability:
    """Return the Availability of a runtime, which judges the nodes that the runtime runs.

    It judges by the runtime's table of kernels, or for an installed runtime by loading models in it.

    Args:
        runtime: The release of a runtime.
        routes: The operators at the release of onnx that the runtime follows.
        inexact: Whether nodes may compute in types in which results differ.
        by_function: Whether the runtime may run a node by its operator's function body if it has no kernel.
    """
    kind = Availability if runtime.loader is None else TriedAvailability
    return kind(runtime, routes, inexact, by_function)


class Given(NamedTuple):
    """An input of a node: its type ("" if absent), its shape, whether it is a constant, and its elements if known."""

    type: str
    shape: Shape | None = None
    is_constant: bool = False
    elements: Constant | None = None


class TriedAvailability(Availability):
    """The nodes that an installed runtime runs, found by loading a model of each single node in the runtime."""

    def runs_all(self, op_type: str, domain: str, opset: int) -> bool:
        """Whether the runtime runs every node of an operator, so that no node of it has to be tried.

        It is True for Constant, and for an operator without a schema. For any other operator, it is False.
        """
        return self._routes.schema_in_force(op_type, domain, opset) is None or (op_type in LOADED and not domain)

    def judge(self, node: Any, opset: int, facts: ValueFacts, names: Names | None = None) -> Judgement:
        """Return whether the installed runtime runs a node, found by loading a model of only this node in it.

        The result is cached for nodes with equal operators, opsets, attributes, types, shapes and constants. The
        arguments are those of `Availability.judge`. Raises UsageError T224 if the runtime crashes again and again.
        """
        operator, reads, computes = names or names_of(node)
        if self.runs_all(*operator, opset):
            return RUNS
        given = [given_input(name, facts) for name in reads]
        runs = facts.types([*reads, *computes])
        attributes = tuple([each.SerializeToString() for each in node.attribute])
        form: Hashable = (operator, opset, attributes, tuple(given), tuple(runs))
        judgement = self._judgements.get(form)
        if judgement is None:
            schema = self._routes.schema_in_force(*operator, opset)
            assert schema is not None
            judgement = self._judgements[form] = self._try(node, schema, opset, facts, given)
        return judgement

    def _try(self, node: Any, schema: OpSchema, opset: int, facts: ValueFacts, given: Sequence[Given]) -> Judgement:
        """Return whether the installed runtime runs a node, found by loading models of only this node.

        One model is loaded for each combination of types that the node has. If a type is unknown, or the node cannot be
        alone in a model, the table of kernels decides. For a node that loads, the table of faults says whether it is
        computed wrongly. `given` are the node's inputs. Nothing is cached.
        """
        runs = facts.types([*node.input, *node.output])
        if not _can_be_alone(node) or any(None in types for types in runs):
            return self._judge(node, schema, opset, facts)
        imports = {"": facts.versions.get("", releases.opset_beside({})), normalize_domain(node.domain): opset}
        for types in runs:
            inputs = [each._replace(type=type_ or "") for each, type_ in zip(given, types[: len(given)], strict=True)]
            trial = Trial(self.runtime, node, imports, inputs, [type_ or "" for type_ in types[len(given) :]])
            why = trial.load()
            if why:
                label = f"{self.runtime.title} does not load {schema.name} {schema.since_version}: {safe_text(why)}"
                return Judgement(
                    Lack(label, self._helping_types(trial, schema), _helping_constants(trial, node, facts))
                )
        return judge_faults(self.runtime, node, schema, opset, facts)

    def _helping_types(self, trial: Trial, schema: OpSchema) -> Mapping[str, frozenset[str]]:
        """Return the element types with which a refused node would load, by type parameter: {"T": {"float"}}.

        `trial` is the attempt to load the node in a model of its own. For each wider type with the same results, such
        as float for float16, a model is loaded in which one type parameter has the wider type. If inexact types are
        permitted, types that may change results are tried, too, such as float for double.
        """
        from opset.version_converter.crossing import INEXACT  # which is imported where this is used

        pairs = [*self.wider_types(schema), *(INEXACT if self.inexact else ())]
        helping: dict[str, set[str]] = {}
        for element, wide in dict.fromkeys(pairs):
            for parameter in {each.type: None for each in schema.inputs}:
                other = trial.with_type(schema, parameter, f"tensor({element})", f"tensor({wide})")
                if other is not None and not other.load():
                    helping.setdefault(parameter, set()).add(wide)
        return {name: frozenset(types) for name, types in helping.items()}


def given_input(name: str, facts: ValueFacts) -> Given:
    """Return the facts about an input on which loading may depend: shape, elements, and whether it is a constant.

    The elements are None unless the input is a constant with at most MAX_READ elements. `type` is always ""; callers
    fill it in. An absent input, named "", has no shape and is no constant.
    """
    if not name:
        return Given("")
    is_constant = facts.is_constant(name)
    return Given("", facts.shape(name), is_constant, facts.small_constant(name) if is_constant else None)


def _can_be_alone(node: Any) -> bool:
    """Whether a model of only this node can be made.

    That is not so for a node with a subgraph, or with a reference to an attribute of a function.
    """
    return not any(each.ref_attr_name or attribute_type(each) in ("graph", "graphs") for each in node.attribute)


def _helping_constants(trial: Trial, node: Any, facts: ValueFacts) -> tuple[int, ...]:
    """Return the positions of inputs that have to become constants so that the node loads.

    They are all inputs that are no constants, but have known elements. Returns () if there are none, or if the node
    does not load even when all of them are constants.
    """
    inputs, found = [*trial.inputs], []
    for position, name in enumerate(node.input):
        elements = facts.small_constant(name) if name and not inputs[position].is_constant else None
        if elements is not None:
            inputs[position] = inputs[position]._replace(is_constant=True, elements=elements)
            found.append(position)
    return tuple(found) if found and not trial._replace(inputs=inputs).load() else ()


class Trial(NamedTuple):
    """A node with the types of its inputs and outputs, from which a model of one node is made and loaded.

    `imports` has the opset by domain, `outputs` the types of the node's outputs, "" for an absent one.
    """

    runtime: Runtime
    node: Any
    imports: Mapping[str, int]
    inputs: Sequence[Given]
    outputs: Sequence[str]
    ir_version: int = 0
    """The IR version of the model; 0 stands for the lowest that serves."""

    def load(self) -> str:
        """Load a model of only the node in the installed runtime; return "" if it loads, else the reason why not.

        If no model of only the node can be made, the reason says so. Raises UsageError T224 if the runtime crashes
        repeatedly.
        """
        assert self.runtime.loader is not None
        try:
            return self.runtime.loader.load(self.model())
        except (ModelError, ValueError) as error:
            return f"no model of the node alone can be made: {error}"

    def with_type(self, schema: OpSchema, parameter: str, old: str, new: str) -> Trial | None:
        """Return a trial in which inputs and outputs of a type parameter have the type `new` instead of `old`.

        A trial is a model of one node.

        Returns None if no input of this type parameter has the type `old`.
        """
        inputs = [*self.inputs]
        for position, each in enumerate(inputs):
            if each.type == old and type_parameter(schema.inputs, position) == parameter:
                inputs[position] = _other_type(each, new)
        if inputs == [*self.inputs]:
            return None
        outputs = [
            new if type_ == old and type_parameter(schema.outputs, position) == parameter else type_
            for position, type_ in enumerate(self.outputs)
        ]
        return self._replace(inputs=inputs, outputs=outputs)

    def model(self) -> bytes:
        """Return a serialized model with only this node; its values are named i1, o0 and so on.

        A constant input becomes an initializer, filled with zeros if its elements are unknown. It becomes a graph input
        if it cannot be filled, for example because its sizes are unknown. All other inputs become graph inputs, with
        their types and known sizes. Inputs with the same name have the same name in the new model. All outputs of the
        node are outputs of the graph. The name, documentation and metadata of the node are left out.
        """
        highest = self.runtime.max_ir or releases.newest_ir_version()
        lowest = min(max(4, releases.ir_version_of_opset(self.imports[""])), highest)
        model = pb.ModelProto(ir_version=self.ir_version or lowest)
        for domain, version in self.imports.items():
            model.opset_import.add(domain=domain, version=version)
        graph, node = model.graph, model.graph.node.add()
        graph.name = "node"
        node.CopyFrom(self.node)
        for field in ("name", "doc_string", "metadata_props", "device_configurations", "input", "output"):
            node.ClearField(field)
        names: dict[str, str] = {"": ""}
        for name, given in zip(self.node.input, self.inputs, strict=True):
            if name not in names:
                names[name] = f"i{len(names)}"
                _add_input(graph, names[name], given)
            node.input.append(names[name])
        for name, type_ in zip(self.node.output, self.outputs, strict=True):
            node.output.append(f"o{len(node.output)}" if name else "")
            if name:
                _state_type(graph.output.add(name=node.output[-1]), type_, None)
        data: bytes = model.SerializeToString(deterministic=True)
        return data


def type_parameter(formals: Sequence[Parameter], position: int) -> str:
    """Return the type parameter of the input or output at a position, such as "T"; "" if the operator declares none.

    `formals` are the declared inputs or outputs; the last one stands for all further positions.
    """
    return formals[min(position, len(formals) - 1)].type if formals else ""


def _other_type(given: Given, type_: str) -> Given:
    """Return a copy of a node's input with the type `type_`.

    The shape is kept, and a constant remains a constant. The elements become unknown, since the type may not be able to
    hold them.
    """
    return given._replace(type=type_, elements=None)


def _add_input(graph: Any, name: str, given: Given) -> None:
    """Add an input of a node to a graph: a constant as an initializer, anything else as a graph input.

    A constant with unknown elements gets zeros. It becomes a graph input if its sizes are unknown, if it has more than
    MAX_ZEROS elements, or if it holds strings.
    """
    element = given.type.removeprefix("tensor(").removesuffix(")")
    if given.is_constant and element in NUMBERS:
        number = NUMBERS[element]
        if given.elements is not None:
            values = list(given.elements.values)
            graph.initializer.append(make_tensor(name, number, given.elements.dims, values))
            return
        dims = [size for size in given.shape or () if isinstance(size, int)]
        is_known = given.shape is not None and len(dims) == len(given.shape)
        if is_known and number != STRING and (count := prod(dims)) <= MAX_ZEROS:
            zeros = bytes(-(-count * ELEMENTS[number].bits // 8))
            graph.initializer.add(name=name, data_type=number, dims=dims, raw_data=zeros)
            return
    _state_type(graph.input.add(name=name), given.type, given.shape)


def _state_type(value: Any, type_: str, shape: Shape | None) -> None:
    """Write a type into a ValueInfoProto; for a tensor, also the sizes in `shape` that are numbers.

    If `type_` is not the text of a type, such as "", the type is not written.
    """
    from opset.inference.building.types import parse_type, type_to_proto

    parsed = parse_type(type_)
    if parsed is not None:
        value.type.CopyFrom(type_to_proto(parsed))
    if shape is not None and value.type.HasField("tensor_type"):
        value.type.tensor_type.shape.SetInParent()
        for size in shape:
            dim = value.type.tensor_type.shape.dim.add()
            if isinstance(size, int):
                dim.dim_value = size
