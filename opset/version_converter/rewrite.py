"""The tools of an adapter: a node to read, a builder that makes nodes, and a way to refuse."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from opset.errors import CODES, LONGEST, brief_name, listing, quote, safe_text
from opset.model import proto as pb
from opset.model.attributes import FIELDS, attribute_value, fill_attribute
from opset.model.elements import NUMBERS, element_name
from opset.model.graph.index import FreshNames
from opset.model.storage.tensor import make_tensor
from opset.model.types import Constant, Shape
from opset.opsets.registry import Registry
from opset.schemas.constraints.signature import type_misfits
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.version_converter.facts import ValueFacts
from opset.version_converter.limits import MAX_FREE, MAX_KEPT

CONSTANT_OF_LISTS = 12
"""The version of Constant that first holds the value of a list attribute, which may be the function's."""
FIX_SIZES = "set the sizes that are open: --dim NAME=N"
"""The help if a size decides that is not known, and inputs have open sizes."""
GIVE_SHAPES = "give the graph's inputs shapes"
GIVE_TYPES = "give the graph's inputs types"
SHOWN = "opset infer shows where inference stops"
Result = str | Sequence[str] | None
"""The result of an adapter: the value of the output, or the values of all outputs; None leaves the node to the derived
adapter of the transition."""


class Refusal(Exception):
    """Raised if a conversion would change the result of a node, or if that is uncertain; has code, reason and help."""

    def __init__(self, code: str, why: str, help: str = "", instead: str = "", label: str = "") -> None:
        """Take the error code, the reason, and texts for the user.

        Args:
            code: The error code, "C204".
            why: The reason, which may quote values of this node. It is cut after LONGEST characters.
            help: Advice to the user.
            instead: Another target that would do, as advice: "convert to 12 or older".
            label: The reason for documentation, if `why` quotes values, sizes or types of this node. If it is "",
                documentation shows `why`.
        """
        super().__init__(why)
        if code not in CODES:
            raise ValueError(f"{code} is no error code: all are listed by `opset explain`")
        self.code = code
        # Some reasons quote the model, whose texts may be long.
        self.why = why if len(why) <= LONGEST else f"{why[: LONGEST - 1]}…"
        self.help = help
        self.instead = instead
        self.label = label

    @property
    def wording(self) -> str:
        """The reason as documentation shows it: `label`, or `why` if the label is empty.

        Single quotes become backticks. If their number is odd, one is an apostrophe, and the text stays unchanged.
        """
        text = self.label or self.why
        return text.replace("'", "`") if text.count("'") % 2 == 0 else text


def value_with_lists(attribute: Any) -> Any:
    """Return the value of an AttributeProto as `attribute_value` does, with a list in place of a tuple."""
    value = attribute_value(attribute)
    return list(value) if isinstance(value, tuple) else value


def set_attribute(node: Any, name: str, kind: str, value: Any) -> None:
    """Set an attribute of a NodeProto; an attribute of the same name is replaced.

    `kind` is the type of the attribute, such as "ints".
    """
    # To look through an empty field takes longer than to see that it is empty.
    attribute = next((each for each in node.attribute if each.name == name), None) if node.attribute else None
    if attribute is None:
        attribute = node.attribute.add()
    else:
        attribute.Clear()
    fill_attribute(attribute, name, kind, value)


class Node:
    """A node at one version of its operator, as an adapter sees it: attributes with defaults, types, constants."""

    def __init__(self, proto: Any, schema: OpSchema, values: ValueFacts) -> None:
        """Take a NodeProto, the version of its operator, and the facts about values of its graph or function."""
        self.proto = proto
        self.schema = schema
        self.values = values
        self.inputs: list[str] = proto.input[:]
        self.outputs: list[str] = proto.output[:]
        self._attributes = {each.name: each for each in proto.attribute} if proto.attribute else {}

    def charge(self, steps: int) -> None:
        """Charge the budget for `steps` steps of an adapter; reading constants and making nodes is charged anyway.

        Raises BudgetExceeded if the budget is used up; the conversion then stops.
        """
        self.values.budget.charge(steps)

    @property
    def op_type(self) -> str:
        """The name of the operator."""
        return self.schema.name

    def has(self, attribute: str) -> bool:
        """Whether the node states a value for the attribute, or refers to an attribute of the function around."""
        return attribute in self._attributes

    def attr(self, name: str, default: Any = None) -> Any:
        """Return the value of an attribute; if the node does not state one, the schema's default, or else `default`.

        Raises Refusal C206 if the value refers to an attribute of the model-local function around the node.
        """
        attribute = self._attributes.get(name)
        if attribute is None:
            declared = self.schema.attributes.get(name)
            return declared.default if declared is not None and declared.default is not None else default
        if attribute.ref_attr_name:
            why = f"'{name}' takes the value of the function's attribute '{safe_text(attribute.ref_attr_name)}'"
            raise Refusal("C206", why, "inline the function, then convert: opset inline MODEL -o FILE")
        return value_with_lists(attribute)

    def reference(self, name: str) -> str:
        """Return the name of the function's attribute from which the node's attribute `name` takes its value.

        Returns "" if the attribute is no reference, or if the function does not declare the attribute that it refers
        to.
        """
        attribute = self._attributes.get(name)
        root = self.values.body.root
        if attribute is None or not attribute.ref_attr_name or not root.function:
            return ""
        declared = {*root.proto.attribute, *(default.name for default in root.proto.attribute_proto)}
        return attribute.ref_attr_name if attribute.ref_attr_name in declared else ""

    def ints(self, name: str) -> list[int] | None:
        """Return the value of a list attribute as a new list.

        If the node does not state the attribute, this is the schema's default, or None if it has none. Raises Refusal
        C206 if the value refers to an attribute of the model-local function around the node.
        """
        value = self.attr(name)
        return None if value is None else list(value)

    def input(self, index: int) -> str:
        """Return the name of the input at a position from 0 on, "" if it is absent or past the last one."""
        return self.inputs[index] if index < len(self.inputs) else ""

    def output(self, index: int) -> str:
        """Return the name of the output at a position, "" if it is absent."""
        return self.outputs[index] if index < len(self.outputs) else ""

    def index(self, name: str) -> int:
        """Return the position of the input that the schema names `name`.

        The schema must have such an input, or StopIteration is raised.
        """
        return next(i for i, parameter in enumerate(self.schema.inputs) if parameter.name == name)

    def formal(self, index: int) -> str:
        """Return the name that the schema gives to the input at a position; a variadic one names several inputs."""
        return self.schema.inputs[min(index, len(self.schema.inputs) - 1)].name

    def element(self, index: int) -> str | None:
        """Return the element type of the input at a position, such as "float"; None if it is absent or unknown.

        Raises Refusal C103 if the operator does not take this type.
        """
        return self._check_element(index, self.values.element(self.input(index))) if self.input(index) else None

    def _check_element(self, index: int, element: str | None) -> str | None:
        """Return `element`, the element type of the input at `index`. Raises Refusal C103 if it is not allowed."""
        type_ = None if element is None else f"tensor({element})"
        # All inputs from the last formal one on are of its types.
        position = min(index, len(self.schema.inputs) - 1)
        for misfit in type_misfits(self.schema, [*(None,) * position, type_]):
            raise Refusal("C103", f"{misfit.what}: {misfit.why}")
        return element

    def constrained_attributes(self) -> dict[str, Any]:
        """Return the values that the node states for attributes with a declared constraint, by attribute name.

        Defaults are not included, nor is an attribute that refers to one of a function. Several values are a list.
        """
        declared = self.schema.attributes
        return self._attributes and {
            name: value_with_lists(attribute)
            for name, attribute in self._attributes.items()
            if name in declared and declared[name].constraint and not attribute.ref_attr_name
        }

    def need_element(self, index: int) -> str:
        """Return the element type of the input at a position.

        Raises Refusal C203 if the type is not known, C103 if the operator does not take it.
        """
        element = self.element(index)
        if element is None:
            raise unknown_type(self.input(index), self.formal(index))
        return element

    def shape(self, index: int) -> Shape | None:
        """Return the shape of the input at a position, None if it is absent or not even its rank is known.

        A size is a number if known, and text if symbolic; equal texts are equal sizes. None is an unknown size.
        """
        shape = self.values.shape(self.input(index)) if self.input(index) else None
        if shape is not None and len(shape) > MAX_FREE:
            self.charge(len(shape))
        return shape

    def rank(self, index: int) -> int | None:
        """Return the rank of the input at a position, such as 2 for [2, "N"]; None if it is absent or unknown."""
        shape = self.values.shape(self.input(index)) if self.input(index) else None
        return None if shape is None else len(shape)

    def need_rank(self, index: int) -> int:
        """Return the rank of the input at a position.

        Raises Refusal C207 if it is not known, or if the input is absent.
        """
        rank = self.rank(index)
        if rank is None:
            why = f"the rank of '{safe_text(self.input(index))}' is not known"
            label = f"the rank of `{self.formal(index)}` is not known"
            raise Refusal("C207", why, f"{GIVE_SHAPES}; {SHOWN}", label=label)
        return rank

    def need_shape(self, index: int) -> tuple[int, ...]:
        """Return the shape of the input at a position, in numbers.

        Raises Refusal C207 if the input is absent, or if its rank or a size is not known as a number.
        """
        shape = self.shape(index)
        known = tuple(dim for dim in shape or () if isinstance(dim, int))
        if shape is None or len(known) < len(shape):
            why = f"the shape of '{safe_text(self.input(index))}' is not fully known"
            label = f"the shape of `{self.formal(index)}` is not fully known"
            raise Refusal("C207", why, FIX_SIZES, label=label)
        return known

    def constant(self, index: int) -> Constant | None:
        """Return the elements of the input at a position if they are known before the model runs, else None.

        None is also returned for an absent input. The budget is charged for the elements. Raises Refusal C103 if the
        operator does not take the input's type, BudgetExceeded if the budget is used up.
        """
        constant = self.values.constant(self.input(index)) if self.input(index) else None
        if constant is not None:
            self.charge(len(constant.values))
            self._check_element(index, constant.element)
        return constant

    def need_constant(self, index: int) -> Constant:
        """Return the elements of the input at a position; they must be known before the model runs.

        Raises Refusal C205 if they are known only when the model runs, C103 if the operator does not take the input's
        type.
        """
        return self.need_constants([index])[0]

    def need_constants(self, indices: Sequence[int]) -> list[Constant]:
        """Return the elements of the inputs at several positions; a refusal names all that are not known."""
        constants = [self.constant(index) for index in indices]
        known = [constant for constant in constants if constant is not None]
        if len(known) == len(constants):
            return known
        missing = [index for index, constant in zip(indices, constants, strict=True) if constant is None]
        for index in missing:
            if frozen := self.values.overridable_initializers(self.input(index)):
                raise overridable_refusal(self.input(index), frozen)
        inputs = listing([f"'{self.formal(index)}' ('{safe_text(self.input(index))}')" for index in missing])
        is_one = len(missing) == 1
        why = f"the input {inputs} is computed at run time" if is_one else f"inputs are computed at run time: {inputs}"
        label = f"the value of `{self.formal(missing[0])}` is computed at run time, or a caller may override it"
        help = f"make {'it' if is_one else 'each'} an initializer; if it follows from sizes of inputs, {FIX_SIZES}"
        raise Refusal("C205", why, help, label=label)


def overridable_refusal(value: str, initializers: Sequence[str]) -> Refusal:
    """Return the refusal C205 for a value that is no constant, because callers may override these initializers."""
    if [value] == [*initializers]:
        why = f"a caller may override {quote(value)}"
    else:
        why = f"{quote(value)} follows from what a caller may override: {listing(initializers)}"
    return Refusal(
        "C205", why, f"make it a constant: {' '.join(f'--freeze {brief_name(each)}' for each in initializers)}"
    )


def unknown_type(value: str, formal: str = "") -> Refusal:
    """Return the refusal C203 for a value whose type is needed but unknown.

    `formal` is the schema's name for the input, which documentation shows.
    """
    return Refusal(
        "C203",
        f"the type of '{safe_text(value)}' is not known",
        f"{GIVE_TYPES}; {SHOWN}",
        label=f"the type of {f'`{formal}`' if formal else 'an input'} is not known",
    )


@lru_cache(maxsize=1024)
def _constant_of_ints(dims: tuple[int, ...], values: tuple[int, ...]) -> Any:
    """Return a Constant node, without names, that holds int64 `values` in the shape `dims`.

    The node is cached: callers must copy it before they change it.
    """
    return _constant(make_tensor("", NUMBERS["int64"], dims, values))


def _constant(tensor: Any) -> Any:
    """Return a Constant node, without names, that holds a tensor."""
    node = pb.NodeProto(op_type="Constant")
    set_attribute(node, "value", "tensor", tensor)
    return node


_ELEMENTS: tuple[tuple[type, str], ...] = (
    (float, "float"),
    (bool, "bool"),
    (str, "string"),
)
"""The element types of constants by the types of their values; the first that occurs counts."""


class Builder:
    """Makes nodes at one opset: `y = op.Reshape(x, shape, allowzero=0)` returns the name of the output.

    - The operator is one of the adapter's own domain, or if that has none of this name, of ai.onnx. `domain` states
      another choice.
    - With `outputs=2`, the result is a tuple of two names.
    - Attributes follow the operator's schema at `version`. An attribute with the value None is left out.
    - `op.const([0, 1])` makes a constant. `op.copy(node, …)` makes a copy of the node with something changed.
    """

    def __init__(
        self,
        node: Node,
        target: OpSchema,
        version: int,
        final: int,
        versions: Mapping[str, int],
        registry: Registry,
        values: ValueFacts,
        names: FreshNames,
        const: Callable[[Any, str], str | None],
        lowered: Collection[tuple[str, str]] = (),
    ) -> None:
        """Take the node that is replaced, and the versions in which new nodes are written.

        Args:
            node: The node.
            target: The operator at the version to which the node is converted.
            version: The opset of the operator's domain in which new nodes are written.
            final: The opset of ai.onnx that the whole conversion goes to.
            versions: The opsets of all domains whose operators may be used.
            registry: The operators that are known.
            values: Facts about the values of the body.
            names: The names that are in use.
            const: Called with a TensorProto and a name, for a constant. Returns "" if a Constant node can hold the
                tensor. If not, it adds an initializer and returns the initializer's name, or None if there can be no
                initializer.
            lowered: Operators that must not be in the converted model.
        """
        self.version = version
        self.final = final
        """Opset of ai.onnx that the whole conversion goes to."""
        self._node = node.proto
        self._outputs = node.outputs
        self._target = target
        self._domain = target.domain
        self._versions = versions
        self._registry = registry
        self._lowered = lowered
        self._values = values
        self._names = names
        self._const = const
        self.made: list[tuple[Any, int]] = []
        """The nodes made so far, each with the opset (of its own domain) that it is written in."""
        self.released: list[str] = []
        """Inputs that the node no longer uses."""
        self.form: tuple[Any, ...] = ()
        """Decides alone which nodes are made and their types, so that those are checked once; () if it is not known."""

    @property
    def opset(self) -> int:
        """The opset of ai.onnx in which new nodes are written."""
        return self.version if self._domain == "" else self._versions[""]

    def offers(self, op_type: str) -> bool:
        """Whether new nodes may use an operator of ai.onnx: the target's opset has it, and it is not to be lowered.

        The result is False for an operator that is withdrawn there.
        """
        schema = self._registry.schema(op_type, self.final, "")
        return schema is not None and not schema.deprecated and (op_type, "") not in self._lowered

    def final_schema(self, op_type: str) -> OpSchema:
        """Return the schema of an operator of ai.onnx at the target's opset.

        Raises Refusal C201 if the operator does not exist there, or is to be lowered.
        """
        schema = self._registry.schema(op_type, self.final, "")
        if schema is None or not self.offers(op_type):
            lacks = "is lowered, too" if schema is not None and not schema.deprecated else "does not exist there"
            raise Refusal("C201", f"it needs a subgraph with {op_type}, which {lacks}")
        return schema

    @cached_property
    def _stem(self) -> str:
        """The beginning of names for new values: the name of the replaced node's first output that has a name.

        If no output has a name, it is the name of the node, or else its operator.
        """
        return next(filter(None, self._outputs), "") or self._node.name or self._node.op_type

    def __getattr__(self, op_type: str) -> Callable[..., Any]:
        """Return a function that makes a node of the operator `op_type` and returns the name of its output.

        For several outputs, it returns a tuple of names. It raises Refusal C201 if the operator does not exist at the
        opset, and LookupError if no version of ai.onnx or the adapter's domain has it. A name that begins with "_" is
        no operator: AttributeError is raised.
        """

        def make(*inputs: str, outputs: int | Sequence[str] = 1, domain: str | None = None, **attributes: Any) -> Any:
            """Make a node; return the name of its output, or a tuple of names if there are several.

            Args:
                inputs: The names of its inputs, "" for an absent one.
                outputs: The number of outputs, which get new names, or their names.
                domain: The domain of the operator; by default the adapter's, or "" if that has no such operator.
                attributes: Its attributes; None leaves one out. A name of an input stands for a constant at that input.
            """
            named = self._domain_of(op_type) if domain is None else domain
            return self._make(op_type, inputs, outputs, named, attributes)

        if op_type.startswith("_"):
            raise AttributeError(op_type)
        return make

    def _domain_of(self, op_type: str) -> str:
        """Return the domain for a new node: the replaced node's domain if that has the operator `op_type`, else "".

        "" is ai.onnx. For a replaced node of ai.onnx, the operator is not looked up. For any other node, LookupError is
        raised if neither domain has the operator.
        """
        if not self._domain or self._registry.since_versions(op_type, self._domain):
            return self._domain
        if not self._registry.since_versions(op_type):
            raise LookupError(f"op.{op_type}: {domain_name(self._domain)} and ai.onnx have no operator of this name")
        return ""

    def _make(
        self, op_type: str, inputs: Iterable[str], outputs: int | Sequence[str], domain: str, attributes: dict[str, Any]
    ) -> Any:
        """Add a new node of an operator of `domain`; return the name of its output, or a tuple of several names.

        `outputs` are the names of the outputs. If `outputs` is a number, that many new names are made. `attributes` may
        also name an input of the operator, such as `axes=[0]`: the value becomes a new constant for this input. An
        attribute with the value None is left out. Absent inputs at the end are left out.

        Raises Refusal C201 if the operator does not exist at the opset, TypeError if `attributes` has a name that is no
        attribute and no input, and BudgetExceeded if the budget is used up.
        """
        version, schema = self._written_in(op_type, domain)
        inputs, attributes = self.arguments(schema, inputs, attributes)
        if isinstance(outputs, int):
            hint = f"{self._stem}__{op_type}"
            outputs = [self._names.fresh(hint if not i else f"{hint}_{i}") for i in range(outputs)]
        node = pb.NodeProto(op_type=op_type, domain=domain, input=inputs)
        _trim(node.input)
        self._set_attributes(node, schema, attributes)
        self._add_new(node, outputs, version)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def arguments(
        self, schema: OpSchema, inputs: Iterable[str], attributes: Mapping[str, Any]
    ) -> tuple[list[str], dict[str, Any]]:
        """Return the names of the inputs, and the attributes, for a new node.

        A name in `attributes` may be an input of the schema: its value becomes a new constant at that input. So
        `axes=[0]` works whether axes is an attribute or an input. Attributes with the value None are left out.

        Raises TypeError for a name that is neither an attribute nor an input, BudgetExceeded if the constants use up
        the budget.
        """
        names = [*inputs]
        kept = {name: value for name, value in attributes.items() if value is not None}
        for name in [name for name in kept if name not in schema.attributes]:
            position = next((at for at, formal in enumerate(schema.inputs) if formal.name == name), None)
            if position is None:
                raise TypeError(f"{schema.name} {schema.since_version} has no attribute '{name}'")
            names.extend("" for _ in range(position + 1 - len(names)))
            names[position] = self.const(kept.pop(name))
        return names, kept

    def _written_in(self, op_type: str, domain: str) -> tuple[int, OpSchema]:
        """Return the opset in which a new node is written, and the operator's schema at this opset.

        For the domain of the replaced node, the opset is `version`. For any other domain, it is the opset that the
        model imports. An operator of ai.onnx may be too new for this opset. Then the first later opset that has the
        operator is taken, up to the opset of the conversion's target. Raises Refusal C201 if no such opset has the
        operator, or if the model does not import the domain.
        """
        version = self.version if domain == self._domain else self._versions.get(domain)
        if version is None:
            raise Refusal("C201", f"it needs {op_type} of {domain_name(domain)}, which the model does not import")
        # The imports of a model may be any numbers: there is nothing new beyond what the registry has.
        last = 0 if domain else min(self.final, self._registry.domains.get("", 0))
        for each in (version, *range(version + 1, last + 1)):
            schema = self._registry.schema(op_type, each, domain)
            if schema is not None and not schema.deprecated:
                return each, schema
        raise Refusal("C201", f"it needs {op_type}, which does not exist at version {version}")

    def _set_attributes(self, node: Any, schema: OpSchema, attributes: Mapping[str, Any]) -> None:
        """Set attributes of a new node, except those whose value is None.

        Long lists are charged to the budget. Raises BudgetExceeded if the budget is used up.
        """
        for name, value in attributes.items():
            if isinstance(value, (list, tuple)) and len(value) > MAX_FREE:
                self._values.budget.charge(len(value))
            if value is not None:
                set_attribute(node, name, schema.attributes[name].type, value)

    def _add_new(self, node: Any, outputs: Sequence[str], version: int) -> None:
        """Add a new node with these outputs and the metadata of the replaced node.

        The name of the new node begins with the name of the replaced node; it is "" if the replaced node has none.
        `version` is the opset in which the new node is written.
        """
        node.output.extend(outputs)
        if self._node.name:
            node.name = self._names.fresh(f"{self._node.name}__{node.op_type}")
        node.metadata_props.extend(self._node.metadata_props)
        self._add(node, outputs, version)

    def _add(self, node: Any, outputs: Iterable[str], version: int) -> None:
        """Add a node to `made`, the list of new nodes, and to the facts about values.

        `outputs` are the names of its outputs, `version` is the opset in which it is written. Its bytes are charged to
        the budget. Raises BudgetExceeded if the budget is used up.
        """
        self._values.budget.hold(node.ByteSize())
        self.made.append((node, version))
        self._values.add(node, outputs, version)

    def charge_elements(self, count: int) -> int:
        """Charge one step for each of `count` elements, and return `count`: `range(op.charge_elements(size))`.

        A negative count is not charged. Raises BudgetExceeded if the budget is used up, before anything of that length
        is made.
        """
        self._values.budget.charge(max(count, 0))
        return count

    def const(self, values: Any, element: str = "", dims: Sequence[int] | None = None) -> str:
        """Add a constant and return the name of its value: a vector for a list or tuple, a scalar for a single value.

        `dims` states another shape. `element` is the element type, such as "int32". By default it follows from the
        Python values: float, bool, string or int64; integers beside a float become floats. Raises BudgetExceeded if the
        elements use up the budget.
        """
        flat = list(values) if isinstance(values, (list, tuple)) else [values]
        self._values.budget.charge(len(flat))
        if not element:
            named = (name for kind, name in _ELEMENTS if any(isinstance(value, kind) for value in flat))
            element = next(named, "int64")
        if dims is None:
            dims = [len(flat)] if isinstance(values, (list, tuple)) else []
        if element == "int64" and len(flat) <= MAX_KEPT:
            made = _constant_of_ints(tuple(dims), tuple(flat))
        else:
            made = _constant(make_tensor("", NUMBERS[element], dims, flat))
        return self._constant(made, self._names.fresh(f"{self._stem}__const"))

    def const_of_attribute(self, node: Node, name: str, element: str) -> str:
        """Return the name of a new constant that holds the value of a node's attribute.

        `name` is the attribute, and `element` is the element type of the constant. If the value refers to an attribute
        of the model-local function around the node (`ref_attr_name`), the constant refers to that attribute as well.
        The element type is then int64 for a list of integers, and float for a list of floats.

        Raises Refusal C206 for such a reference in each of these cases:

        - the node's attribute is not a list of numbers;
        - the model's opset after the conversion is below 12;
        - the adapter is of another domain than ai.onnx;
        - the function does not declare the attribute that is referred to.
        """
        kind, reference = node.schema.attributes[name].type, node.reference(name)
        if not reference or kind not in ("ints", "floats") or self._domain or self.final < CONSTANT_OF_LISTS:
            return self.const(node.attr(name), element)
        made = pb.NodeProto(op_type="Constant")
        made.attribute.add(name=f"value_{kind}", type=FIELDS[kind][0], ref_attr_name=reference)
        output = self._names.fresh(f"{self._stem}__const")
        self._add_new(made, [output], max(self.version, CONSTANT_OF_LISTS))
        return output

    def tensor(self, tensor: Any, name: str) -> str:
        """Add a constant that holds a TensorProto as it is; return the name of its value.

        The value is named `name`, which must be new or an output of the replaced node. The constant is a Constant node
        if a Constant at the target can hold the type. Otherwise it is an initializer, or in a function a Constant of
        doubles with a Cast. An initializer for a subgraph gets a new name if the IR version of the model is below 4.

        Raises Refusal C202 if doubles cannot hold the values exactly, BudgetExceeded if the budget is used up.
        """
        return self._constant(_constant(tensor), name)

    def _constant(self, made: Any, name: str) -> str:
        """Add the Constant node `made` with its value named `name`; return the name of the value.

        If a Constant at the target cannot hold the tensor's type, an initializer is added instead, or in a function a
        Cast of a Constant. Raises Refusal C202 if a Cast cannot give the values exactly.
        """
        tensor = made.attribute[0].t
        held = self._const(tensor, name)
        if held is None:
            return self._cast(tensor, name)
        if not held:
            node = pb.NodeProto()
            node.CopyFrom(made)
            self._add_new(node, (name,), self.opset)
        return held or name

    def _cast(self, tensor: Any, name: str) -> str:
        """Add a Cast that makes a constant tensor from doubles, and return `name`, which is the name of its output.

        The Cast converts to the type of `tensor`, whose elements are integers or booleans. It reads a new Constant node
        of doubles with equal elements. Raises Refusal C202 if an element is beyond 2**53, as doubles may not hold it
        exactly.
        """
        constant, element = self._values.elements(tensor), element_name(tensor.data_type)
        if constant is None or not all(isinstance(each, int) and abs(each) <= 2**53 for each in constant.values):
            raise Refusal("C202", f"a Constant before version 9 cannot hold {element}; functions have no initializers")
        wide = make_tensor("", NUMBERS["double"], tensor.dims, [float(each) for each in constant.values])
        double = self._constant(_constant(wide), self._names.fresh(f"{self._stem}__const"))
        return str(self._make("Cast", [double], [name], "", {"to": tensor.data_type}))

    def copy(
        self,
        node: Node,
        *,
        op_type: str | None = None,
        inputs: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
        drop: Iterable[str] = (),
        **attributes: Any,
    ) -> Any:
        """Add a copy of the node with something changed; return the name of its output, or a tuple for several.

        The copy is written for the version to which the node is converted. Documentation, metadata, device
        configurations and unknown fields are copied. So is the name, unless an earlier new node has it. Raises Refusal
        C201 if the operator does not exist at this version, BudgetExceeded if the budget is used up.

        Args:
            node: The node.
            op_type: Another operator of the same domain, in place of the node's.
            inputs: Names of inputs, in place of the node's.
            outputs: Names of outputs, in place of the node's.
            drop: Names of attributes to remove.
            attributes: Attributes to set; None removes one.
        """
        proto = pb.NodeProto()
        proto.CopyFrom(node.proto)
        schema: OpSchema | None = self._target
        if op_type is not None:
            schema = self._registry.schema(op_type, self.version, self._domain)
        proto.op_type = op_type or self._target.name
        if schema is None or schema.deprecated:
            raise Refusal("C201", f"it needs {proto.op_type}, which does not exist at version {self.version}")
        if inputs is not None:
            del proto.input[:]
            proto.input.extend(inputs)
            _trim(proto.input)
        if outputs is not None:
            del proto.output[:]
            proto.output.extend(outputs)
            _trim(proto.output, schema.min_output)
        gone = {*drop, *[name for name, value in attributes.items() if value is None]}
        if gone:
            for index in reversed(range(len(proto.attribute))):
                if proto.attribute[index].name in gone:
                    del proto.attribute[index]
        self._set_attributes(proto, schema, attributes)
        if self.made and proto.name and any(made.name == proto.name for made, _ in self.made):
            proto.name = self._names.fresh(f"{proto.name}__{proto.op_type}")
        computed = node.outputs if outputs is None else outputs
        self._add(proto, computed, self.version)
        return computed[0] if len(computed) == 1 else tuple(computed)

    def fresh(self, hint: str) -> str:
        """Return a new name for a value, such as "y__wide" for the hint "wide".

        It begins with the name of the replaced node's first output. If a value of the model has the name, or if the
        name was given before, a number follows.
        """
        return self._names.fresh(f"{self._stem}__{hint}")

    def state(self, name: str, element: str, shape: Shape | None = None) -> None:
        """Set the type of a value that a new node with a subgraph computes, as inference does not find this type.

        `name` is the output, `element` its element type, such as "float". Sizes in `shape` that are text count as
        unknown; without it, the rank is unknown.
        """
        self._values.state(name, element, shape)

    def release(self, *names: str) -> None:
        """State that the new nodes do not read these values.

        An initializer, or a node of ai.onnx, is removed later if nothing else reads its results. So is everything that
        only removed nodes read.
        """
        self.released.extend(names)


def _trim(names: Any, least: int = 0) -> None:
    """Remove absent names ("") from the end of a list, as long as more than `least` names are left."""
    while len(names) > least and not names[-1]:
        del names[-1]
