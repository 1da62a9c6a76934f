"""What rules said of a node: completed by what the operator's signature says, with what went wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from math import copysign
from typing import Any, NamedTuple

from opset.inference.call import MAX_DATA, Call, Data, Element, Unknown
from opset.inference.dimensions import TooComplex, upper
from opset.inference.types import MAX_RANK, Shape, Type, mapped, of_text
from opset.inference.types import shown as shown_shape
from opset.opsets.hooks import Hook
from opset.schemas.constraints import Violation
from opset.schemas.model import OpSchema

MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a rule raises on a node of which it does not expect such a thing: a missing input, another attribute type."""


class Problem(NamedTuple):
    """A finding about a node, its place aside."""

    code: str
    message: str
    why: str = ""
    help: str = ""


class Outcome(NamedTuple):
    """What a rule said of nodes of one signature; sizes that depend on data are None in `types`."""

    types: tuple[Type | None, ...]
    data: tuple[Data | None, ...] = ()
    doubts: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    open: bool = False
    """Whether sizes in `types` are None, and get a name for each node."""


class GraphRequest(NamedTuple):
    """What a rule that has graphs asks for: the inference of one, its inputs being of these types, and elements.

    `repeated` says that the graph is run repeatedly, `unused` that it never is, `guarded` that a condition decides. Of
    inputs that are `varied` no more is true than what is given here, whatever the graph states of them.
    """

    graph: Any
    types: Sequence[Type | None]
    data: Sequence[Data | None] = ()
    repeated: bool = False
    varied: Collection[int] = ()
    unused: bool = False
    guarded: bool = False


class Outputs(list["Type | None"]):
    """What the inference of a graph, or a rule that has one, gives: types, and elements where they are known.

    `inputs` are the types of a graph's inputs, by what was given and what the graph states.
    """

    def __init__(
        self, types: Iterable[Type | None], data: Iterable[Data | None] = (), inputs: Iterable[Type | None] = ()
    ) -> None:
        super().__init__(types)
        self.data, self.inputs = [*data], [*inputs]


@dataclass(eq=False, slots=True)
class OperatorInference:
    """What nodes of one operator share: schema, rule, and outcomes by signature."""

    schema: OpSchema | None
    rule: Hook | None = None
    data: Hook | None = None
    why: str = ""
    outcomes: dict[Any, tuple[tuple[int, ...], dict[Any, Outcome]]] = field(default_factory=dict)
    bases: dict[Any, tuple[Type | None, ...]] = field(default_factory=dict)


def bases_of(meaning: OperatorInference, node: Any, given: Sequence[Type | None]) -> tuple[Type | None, ...]:
    """What a signature says of the outputs: the one type that is allowed, or that of an input of the same kind."""
    schema = meaning.schema
    assert schema is not None
    key = (len(node.output), tuple([None if each is None else each._replace(shape=None) for each in given]))
    if key in meaning.bases:
        return meaning.bases[key]
    bound: dict[str, Type] = {}
    for place, type_ in enumerate(given):
        formal = schema.inputs[min(place, len(schema.inputs) - 1)] if schema.inputs else None
        if type_ is not None and formal is not None and formal.homogeneous:
            bound.setdefault(formal.type, type_)
    found: list[Type | None] = []
    for place in range(len(node.output)):
        formal = schema.outputs[min(place, len(schema.outputs) - 1)] if schema.outputs else None
        allowed = schema.allowed(formal) if formal is not None else ()
        if len(allowed) == 1:
            found.append(of_text(allowed[0]))
            continue
        type_ = bound.get(formal.type) if formal is not None and formal.homogeneous else None
        found.append(None if type_ is None else mapped(type_._replace(shape=None), lambda size: None))
    meaning.bases[key] = tuple(found)
    return meaning.bases[key]


def completed(
    raw: Any, bases: Sequence[Type | None], call: Call
) -> tuple[tuple[Type | None, ...], tuple[Problem, ...]]:
    """Return what a rule said as types, with what the signature says where it said nothing."""
    assert call.schema is not None
    listed = raw if isinstance(raw, list) else [raw]
    found: list[Type | None] = []
    problems: list[Problem] = []
    for place, base in enumerate(bases):
        each = listed[place] if place < len(listed) else None
        if each is None:
            found.append(base)
            continue
        if isinstance(each, Type):
            same = base is not None and base.kind == each.kind
            if each.element is None and base is not None and same:
                each = each._replace(element=base.element)
            if each.inner is None and base is not None and same:
                each = each._replace(inner=base.inner)
        else:
            each = Type("tensor", base.element if base is not None and base.kind == "tensor" else None, tuple(each))
        shape = each.shape
        if shape is not None:
            negative = [size for size in shape if size is not None and (upper(size) or 0) < 0]
            if negative:
                problems.append(_unfit(call.schema, f"output {place} would have the shape {shown_shape(shape)}"))
            if len(shape) > MAX_RANK:
                call.doubt(f"a rank of {len(shape)} is too great to be followed")
            if negative or len(shape) > MAX_RANK:
                each = each._replace(shape=None)
            elif any(isinstance(size, int) and size >= 2**63 for size in shape):
                kept = [None if isinstance(size, int) and size >= 2**63 else size for size in shape]
                each = each._replace(shape=tuple(kept))
        found.append(each)
    return tuple(found), tuple(problems)


def _unfit(schema: OpSchema, why: str) -> Problem:
    return Problem("I201", f"the inputs do not fit {schema.name} {schema.since_version}", why)


def told(call: Call, schema: OpSchema, error: Exception) -> tuple[Problem, ...]:
    """Return the problem that an exception of a rule is, or note the doubt that it is."""
    if isinstance(error, Violation):
        return (_unfit(schema, str(error).removeprefix(": ")),)
    if isinstance(error, Unknown):
        call.doubt(str(error))
        return ()
    if isinstance(error, TooComplex):
        call.doubt("the sizes are too complex to be followed")
        return ()
    why = f"{type(error).__name__}: {error}"
    return (Problem("I203", f"the node is malformed for {schema.name} {schema.since_version}", why),)


def is_open(type_: Type | None) -> bool:
    """Return whether a type has sizes that get a name for each value of the type."""
    if type_ is not None and type_.kind == "optional":
        type_ = type_.inner
    return type_ is not None and type_.shape is not None and None in type_.shape


def small_count(shape: Shape | None) -> int | None:
    """Return the number of elements of a small shape without variables, None for any other."""
    if shape is None:
        return None
    count = 1
    for size in shape:
        if not isinstance(size, int) or size < 0:
            return None
        count *= size
    return count if count <= MAX_DATA else None


def fits(element: Element, whole: bool) -> bool:
    """Return whether an element can be followed, in a tensor of `whole` numbers or another.

    Among whole numbers, a fraction or what wraps around is not known; and a zero below zero never is, which equals 0.
    """
    if isinstance(element, float):
        return not whole and (element != 0 or copysign(1, element) > 0)
    return not isinstance(element, int) or -(2**63) <= element < 2**63 or not whole


def stated_dims(dims: Sequence[int]) -> Shape | None:
    """Return the shape that a tensor's message states, None for one of too great rank."""
    return tuple([size if size >= 0 else None for size in dims]) if len(dims) <= MAX_RANK else None
