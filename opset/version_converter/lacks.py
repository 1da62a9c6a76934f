"""Why a kernel does not take a node: its types, its attributes, and its inputs and outputs.

A restriction that only words state is not checked; the report of a conversion lists it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from opset.errors import listing, quote, safe_text
from opset.model.attributes import attribute_value
from opset.model.graph.walking import subgraphs
from opset.model.types import element_of
from opset.opsets.runtimes import Kernel, Runtime
from opset.opsets.runtimes.model import WRONG
from opset.schemas.model import Attribute, OpSchema, Parameter
from opset.version_converter.facts import ValueFacts

ABSENT, IGNORED, DEFAULT, STATED_ALONE = "absent", "ignored", "default", "all but the first"
"""Restrictions of attributes in one word, and of inputs that have to be constant."""
_EXCLUSION = re.compile(r"not \w+( or \w+)*")
"""A restriction of an attribute of text that names the values that it may not have."""
_OTHER_NUMBER = re.compile(r"not (-?\d+(\.\d+)?)")
"""A restriction of an attribute that is a number, and may not have one value."""


class Lack(NamedTuple):
    """A reason why a runtime does not run a node.

    - `why`: the reason in words;
    - `elements`: the element types that the runtime takes instead, by type parameter; empty if no other types help;
    - `constants`: positions of inputs that the runtime needs to be constants;
    - `scalars`: positions of inputs that are scalars and have to be vectors of one element;
    - `attributes`: attributes that the node has to state, with their values;
    - `fault`: WRONG if the runtime has a kernel for the node but computes it wrongly, FAILS if it has a kernel but
      fails to load or run the node; else "".
    """

    why: str
    elements: Mapping[str, frozenset[str]] = {}
    constants: tuple[int, ...] = ()
    fault: str = ""
    scalars: tuple[int, ...] = ()
    attributes: Mapping[str, int] = {}

    @property
    def is_wrong(self) -> bool:
        """Whether the runtime takes the node, but its result differs from the standard's."""
        return self.fault == WRONG


def values_without_rank(node: Any, facts: ValueFacts) -> Iterator[str]:
    """Yield the names of a node's inputs and outputs that are tensors of unknown rank.

    A value of unknown type counts as a tensor. The rank of an If's output also counts as unknown if the branches
    compute different ranks.
    """
    for name in filter(None, (*node.input, *node.output)):
        if facts.shape(name) is None and (facts.type(name) or "tensor(").startswith("tensor("):
            yield name
    computed = next(filter(None, node.output), "")
    for run in zip(*[facts.graph_shapes(computed, name) for name, _ in subgraphs(node)], strict=False):
        for name, *shapes in zip(node.output, *run, strict=False):
            if name and len({len(shape) for shape in shapes if shape is not None}) > 1:
                yield name


def takes_all(kernel: Kernel, schema: OpSchema) -> bool:
    """Whether a kernel takes every node of an operator version, with any types, attributes and inputs."""
    limits = (
        kernel.types_not,
        kernel.attributes,
        kernel.input_ranks,
        kernel.constant_inputs,
        kernel.values,
        kernel.outputs,
        kernel.static_shape,
        kernel.known_ranks,
        kernel.notes,
    )
    if any(limits):
        return False
    return all(
        allowed is None or set(map(element_of, schema.allowed_types(formal))) <= allowed
        for formal in (*schema.inputs, *schema.outputs)
        for allowed in [allowed_elements(kernel, schema, formal)]
    )


def allowed_elements(kernel: Kernel, schema: OpSchema, formal: Parameter) -> frozenset[str] | None:
    """Return the element types that a kernel takes for a parameter, None if it takes all.

    `formal` is the declared input or output of the operator.
    """
    allowed = kernel.types.get(formal.type)
    if allowed is None:
        allowed = kernel.types.get(formal.name)
    if allowed is None and schema.inputs and formal.type == schema.inputs[0].type:
        allowed = kernel.types.get("")
    return allowed


def lack_of_types(
    kernel: Kernel, runtime: Runtime | None, node: Any, schema: OpSchema, facts: ValueFacts
) -> Lack | None:
    """Return why a kernel does not take the types of a node, None if it does.

    If `runtime` casts a type, such as float16 to float, the kernel has to take the type after the cast. If `runtime` is
    None, nothing is cast. For an unknown type, the kernel has to take all types that the schema allows. If the kernel
    refuses a known type, `elements` of the result has the types that the kernel takes instead: {"T": {"float"}}.
    """
    formals = [*formals_of(schema.inputs, len(node.input)), *formals_of(schema.outputs, len(node.output))]
    for types in facts.types([*node.input, *node.output]):
        for formal, type_ in zip(formals, types, strict=False):
            allowed = allowed_elements(kernel, schema, formal)
            if type_ == "" or (allowed is None and not kernel.types_not):
                continue
            possible = schema.allowed_types(formal) if type_ is None else (type_,)
            elements = {computed_as(element_of(each), runtime, allowed) for each in possible}
            if (allowed is None or elements <= allowed) and kernel.types_not.isdisjoint(elements):
                continue
            if type_ is None:
                return Lack(f"it takes not every type of '{formal.name}', and the node's is not known")
            others = frozenset(map(element_of, schema.allowed_types(formal))) - kernel.types_not
            others = others if allowed is None else others & allowed
            what = f"no kernel of {schema.name} {schema.since_version} takes {safe_text(element_of(type_))}"
            return Lack(f"{what} as '{formal.name}'", {formal.type: others})
    return None


def computed_as(element: str, runtime: Runtime | None, allowed: frozenset[str] | None) -> str:
    """Return the element type in which a runtime computes values of type `element`, such as "float" for "float16".

    The result is `element` itself if a kernel takes it, or if the runtime does not cast it to another type.

    Args:
        element: The element type in the model.
        runtime: The runtime; None if there is none, so that nothing is cast.
        allowed: The element types that the kernel takes; None if it takes all.
    """
    return element if runtime is None or allowed is None or element in allowed else runtime.cast_of(element)


def formals_of(parameters: Sequence[Parameter], count: int) -> Iterator[Parameter]:
    """Yield the declared parameter of each of a node's `count` inputs, or of its `count` outputs.

    The last parameter in `parameters` is repeated for further positions, as a variadic one is. Nothing is yielded if
    `parameters` is empty.
    """
    for position in range(count if parameters else 0):
        yield parameters[min(position, len(parameters) - 1)]


def lack_of_limits(kernel: Kernel, node: Any, schema: OpSchema, facts: ValueFacts) -> Lack | None:
    """Return why a node breaks, or may break, a limit of a kernel on outputs, attributes or inputs; else None.

    A node may break a limit if the value is known only when the model runs or a function is called. Limits on types,
    and limits in words, are not checked here.
    """
    if kernel.outputs is not None and (lack := _lack_of_outputs(kernel, node, schema)) is not None:
        return lack
    stated = {each.name: each for each in node.attribute}
    for name, limit in kernel.attributes.items():
        declared = schema.attributes.get(name)
        if declared is None or limit == IGNORED or is_phrase(limit, schema, name):
            continue
        attribute = stated.get(name)
        value = declared.default if attribute is None else attribute_value(attribute)
        if attribute is not None and attribute.ref_attr_name:
            return Lack(f"it takes some values of '{name}', and the function's caller gives the node's")
        if not _is_within(value, limit, declared):
            given = "absent" if value is None else safe_text(value)
            return Lack(f"'{name}' is {given}; {_limit_text(limit)}")
    return _lack_of_inputs(kernel, node, schema, facts)


def _lack_of_outputs(kernel: Kernel, node: Any, schema: OpSchema) -> Lack | None:
    """Return why a kernel does not compute one of the outputs that a node uses, None if it computes all of them."""
    allowed = kernel.outputs or ()
    for position, (formal, name) in enumerate(
        zip(formals_of(schema.outputs, len(node.output)), node.output, strict=False)
    ):
        if name and (position >= allowed if isinstance(allowed, int) else formal.name not in allowed):
            return Lack(f"it does not compute the output '{formal.name}'")
    return None


def _lack_of_inputs(kernel: Kernel, node: Any, schema: OpSchema, facts: ValueFacts) -> Lack | None:
    """Return why a node breaks, or may break, a limit of a kernel on ranks, sizes or values of inputs; else None.

    If inputs have to be constants and are not, `constants` of the result has their positions.
    """
    if kernel.input_ranks and node.input and node.input[0]:
        shape = facts.shape(node.input[0])
        ranks = ", ".join(map(str, sorted(kernel.input_ranks)))
        if shape is None:
            return Lack(f"it takes inputs of rank {ranks}, and the node's is not known")
        if len(shape) not in kernel.input_ranks:
            return Lack(f"the rank is {len(shape)}; it takes {ranks}")
    missing = []
    for position, (formal, name) in enumerate(
        zip(formals_of(schema.inputs, len(node.input)), node.input, strict=False)
    ):
        limit = _limit_of_input(kernel.values, formal.name)
        known = facts.small_constant(name) if name else None
        is_checked = name and limit is not None and not isinstance(limit, str)
        if is_checked and (known is None or any(value != limit for value in known.values)):
            return Lack(f"the elements of '{formal.name}' have to be {limit}")
        if name and _has_to_be_constant(kernel, formal.name, position) and not facts.is_constant(name):
            missing.append(position)
        if name and kernel.static_shape and not _is_static(facts, name):
            return Lack(f"the sizes of {quote(name)} have to be numbers")
    if kernel.known_ranks:
        for name in values_without_rank(node, facts):
            return Lack(f"the rank of {quote(name)} has to be known")
    if missing:
        formals = [*formals_of(schema.inputs, len(node.input))]
        names = listing([f"'{formals[position].name}'" for position in missing])
        have = "has" if len(missing) == 1 else "have"
        return Lack(f"{names} {have} to be constant", constants=tuple(missing))
    return None


def _is_static(facts: ValueFacts, name: str) -> bool:
    """Whether the rank of a value and all of its sizes are known as numbers."""
    shape = facts.shape(name)
    return shape is not None and all(isinstance(size, int) for size in shape)


def _has_to_be_constant(kernel: Kernel, name: str, position: int) -> bool:
    """Whether a kernel needs an input to be constant, by the `constant_inputs` of the kernel.

    An entry such as "scale" means the input "scale", and each input whose name ends with "_scale". The entry "all but
    the first" means each input behind the node's first. `name` is the schema's name for the input, and `position` is
    its index in the node, from 0.
    """
    if STATED_ALONE in kernel.constant_inputs:
        return position > 0
    return any(name == each or name.endswith(f"_{each}") for each in kernel.constant_inputs)


def _limit_of_input(values: Mapping[str, Any], name: str) -> Any:
    """Return the only value that a kernel takes as every element of an input; None if it takes all values.

    `values` has such values by key. The key for an input such as "x_scale" is its name, or an end of the name that
    follows a "_": "scale". The first key that fits counts. The result may also be a phrase in words, which cannot be
    checked.
    """
    return next((limit for each, limit in values.items() if name == each or name.endswith(f"_{each}")), None)


def is_phrase(limit: Any, schema: OpSchema, name: str) -> bool:
    """Whether the limit of the attribute `name` in a runtime's table is a phrase in words, which cannot be checked.

    Limits that can be checked are values, "absent", "default", "ignored" and "not X".
    """
    if not isinstance(limit, str) or limit in (ABSENT, IGNORED, DEFAULT):
        return False
    declared = schema.attributes.get(name)
    pattern = _EXCLUSION if declared is not None and declared.type == "string" else _OTHER_NUMBER
    if declared is not None and pattern.fullmatch(limit):
        return False
    return declared is None or declared.type != "string" or (bool(declared.choices) and limit not in declared.choices)


def _is_within(value: Any, limit: Any, declared: Attribute) -> bool:
    """Whether the value of an attribute keeps the limit in a runtime's table.

    If the attribute is a list, each of its elements must keep the limit.

    Args:
        value: The value that the node states, or else the default; None if there is neither.
        limit: A legal value, a list of these, "absent", "default" or "not X".
        declared: The attribute in the schema.
    """
    if limit == ABSENT:
        return value is None
    if limit == DEFAULT:
        return value is None or bool(value == declared.default)
    if isinstance(limit, str) and declared.type == "string" and _EXCLUSION.fullmatch(limit):
        return _plain_value(value) not in limit.removeprefix("not ").split(" or ")
    values = (value or ()) if declared.type.endswith("s") else (value,)
    if isinstance(limit, str) and declared.type != "string" and (other := _OTHER_NUMBER.fullmatch(limit)):
        return all(each is not None and each != float(other[1]) for each in values)
    allowed = [*limit] if isinstance(limit, list | tuple | frozenset) else [limit]
    return all(_plain_value(each) in allowed for each in values)


def _plain_value(value: Any) -> Any:
    """Return the value of an attribute, with bytes as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _limit_text(limit: Any) -> str:
    """Return the end of a message on the limit of an attribute: "it has to be 1 or 2", "it may not be 0"."""
    if isinstance(limit, list | tuple | frozenset):
        return f"it has to be {' or '.join(map(str, limit))}"
    excluded = str(limit).removeprefix("not ")
    return f"it has to be {limit}" if excluded == str(limit) else f"it may not be {excluded}"
