"""Rules about types and shapes that a model states, of values and in attributes.

Equal types of a body are checked once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from opset.checker.table import (
    CHECKER,
    WARNING,
    CheckContext,
)
from opset.errors import Finding, brief_name, quote
from opset.inference.limits import MAX_RANK
from opset.model.elements import ELEMENTS, STRING, element_name
from opset.model.graph.index import Body

_KEYS: Final = frozenset(n for n, e in ELEMENTS.items() if n == STRING or re.fullmatch(r"u?int(8|16|32|64)", e.name))
"""Element types that keys of maps may have."""
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TYPE_DENOTATIONS: Final = frozenset({"TENSOR", "IMAGE", "AUDIO", "TEXT"})
_DIM_DENOTATIONS: Final = frozenset(
    "DATA_BATCH DATA_CHANNEL DATA_TIME DATA_FEATURE FILTER_IN_CHANNEL FILTER_OUT_CHANNEL FILTER_SPATIAL".split()
)
_LISTED: Final = 8


class TypeFault(NamedTuple):
    """A fault of a type: code, message, reason and help."""

    code: str
    message: str
    why: str
    help: str


Faults = Callable[[Any], Iterator[TypeFault]]


def _check_all(body: Body, context: CheckContext, faults_of: Faults) -> Iterator[Finding]:
    """Yield a finding for each fault of a type that a body states, at each place that states the type.

    `faults_of` yields the faults of a TypeProto.
    """
    for stated in context.types[body]:
        for code, message, why, help in faults_of(stated.proto):
            yield from (Finding(code, message, place, why, help) for place in stated.places())


def _parts(proto: Any) -> Iterator[Any]:
    """Yield a TypeProto and the types inside it, from outside to inside: of elements, of a map's values."""
    while True:
        yield proto
        kind = proto.WhichOneof("value")
        if kind in ("sequence_type", "optional_type") and getattr(proto, kind).HasField("elem_type"):
            proto = getattr(proto, kind).elem_type
        elif proto.map_type.HasField("value_type"):
            proto = proto.map_type.value_type
        else:
            return


def _dims(proto: Any) -> Sequence[Any]:
    """Return the dimensions of a tensor type; () for any other type, or without a shape."""
    kind = proto.WhichOneof("value")
    dims: Sequence[Any] = getattr(proto, kind).shape.dim[:] if kind in ("tensor_type", "sparse_tensor_type") else ()
    return dims


@CHECKER.rule("G601 G602 G603 G604 G605 G606 G607 G609", Body)
def check_types(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each fault of a type that a body states.

    - G601: it says nothing;
    - G602: the element type of a tensor is missing or does not exist;
    - G603: the type of a map's keys is neither an integer of 8 to 64 bits nor string;
    - G604: a sequence, optional or map does not name the type inside it;
    - G605: an optional holds another optional, or an opaque type;
    - G606: a dimension is negative;
    - G607: the name of a dimension variable is "*", which would stand for several dimensions;
    - G609: an opaque type has no name.
    """
    yield from _check_all(body, context, _type_faults)


def _type_faults(proto: Any) -> Iterator[TypeFault]:
    """Yield the faults of a TypeProto and of the types inside it."""
    outer = ""
    for part in _parts(proto):
        kind = part.WhichOneof("value") or ""
        if outer == "optional_type" and kind in ("optional_type", "opaque_type"):
            why = "an optional holds a tensor, a sequence or a map, or nothing"
            message = f"an optional of {'another optional' if kind == 'optional_type' else 'an opaque type'} is stated"
            yield TypeFault("G605", message, why, "state the type inside it alone")
        yield from _part_faults(part, kind)
        outer = kind


def _part_faults(proto: Any, kind: str) -> Iterator[TypeFault]:
    """Yield the faults of a TypeProto itself, without the types inside it.

    `kind` is the name of the field that it holds, such as "tensor_type", "" if none.
    """
    match kind:
        case "tensor_type" | "sparse_tensor_type":
            number = getattr(proto, kind).elem_type
            if number not in ELEMENTS:
                message = f"the element type {number} does not exist" if number else "the element type is missing"
                yield TypeFault("G602", message, "a tensor's type names that of its elements", "set elem_type")
            yield from _dim_faults(_dims(proto))
        case "sequence_type" | "optional_type":
            if not getattr(proto, kind).HasField("elem_type"):
                what = kind.removesuffix("_type")
                yield TypeFault("G604", f"the {what} does not say what it holds", "its type names it", "set elem_type")
        case "map_type":
            key = proto.map_type.key_type
            if key not in _KEYS:
                shown = element_name(key) or (f"{key}, which does not exist" if key else "missing")
                why = "keys are integers of 8 to 64 bits, or strings"
                yield TypeFault("G603", f"the type of the map's keys is {shown}", why, "set key_type to one of these")
            if not proto.map_type.HasField("value_type"):
                yield TypeFault("G604", "the map does not say what it holds", "its type names it", "set value_type")
        case "opaque_type":
            if not proto.opaque_type.name:
                why = "domain and name say which type it is"
                yield TypeFault("G609", "the opaque type has no name", why, "set its name")
        case _:
            yield TypeFault(
                "G601", "the type says nothing", "it names no kind of value", "state the type, or leave it out"
            )


def _dim_faults(dims: Sequence[Any]) -> Iterator[TypeFault]:
    """Yield a fault for each dimension of a shape that is negative or named "*"."""
    for axis, dim in enumerate(dims):
        if dim.dim_value < 0:
            why = "a dimension is at least 0; one that is not known has neither dim_value nor dim_param"
            yield TypeFault("G606", f"dimension {axis} is {dim.dim_value}", why, "clear dim_value, or name a variable")
        elif dim.dim_param == "*":
            why = "a shape has one entry for each dimension; '*' for any number of them was never supported"
            yield TypeFault("G607", f"dimension {axis} is '*'", why, "name the dimension, or leave out the whole shape")


@CHECKER.rule("W602", Body, severity=WARNING)
def check_variables_named(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each type with a dimension variable whose name is empty."""
    yield from _check_all(body, context, _empty_variables)


def _empty_variables(proto: Any) -> Iterator[TypeFault]:
    """Yield a fault for the first dimension variable in a type whose name is ""."""
    for part in _parts(proto):
        for axis, dim in enumerate(_dims(part)):
            if not dim.dim_param and dim.HasField("dim_param"):
                why = "a dimension that is not known has neither dim_value nor dim_param"
                yield TypeFault("W602", f"the variable of dimension {axis} has an empty name", why, "clear dim_param")
                return


@CHECKER.rule("W604", Body, severity=WARNING)
def check_ranks(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each type with more than MAX_RANK dimensions, which inference does not compare."""
    yield from _check_all(body, context, _great_ranks)


def _great_ranks(proto: Any) -> Iterator[TypeFault]:
    """Yield a fault for each tensor type within a type that has more than MAX_RANK dimensions."""
    for part in _parts(proto):
        rank = len(_dims(part))
        if rank > MAX_RANK:
            why = f"shapes of up to {MAX_RANK} are compared with those that nodes take and compute"
            yield TypeFault("W604", f"the type has {rank:,} dimensions", why, "correct the shape, or leave it out")


@CHECKER.rule("W601", Body, severity=WARNING, optional=True)
def check_variables_identifiers(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each type with a dimension variable whose name is no identifier of C."""
    yield from _check_all(body, context, _odd_variables)


def _odd_variables(proto: Any) -> Iterator[TypeFault]:
    """Yield a fault for the first dimension variable in a type whose name is neither a C identifier, "" nor "*"."""
    for part in _parts(proto):
        for dim in _dims(part):
            name = dim.dim_param
            if name not in ("", "*") and not (isinstance(name, str) and _IDENTIFIER.fullmatch(name)):
                why = "names are letters, digits and underscores, with no digit in front"
                message = f"the dimension variable {quote(name)} is no identifier"
                yield TypeFault("W601", message, why, "rename it in all shapes")
                return


@CHECKER.rule("W603", Body, severity=WARNING, optional=True)
def check_denotations(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each type with a denotation that the standard does not define."""
    yield from _check_all(body, context, _odd_denotations)


def _odd_denotations(proto: Any) -> Iterator[TypeFault]:
    """Yield a fault for each denotation of a type, or of one of its dimensions, that the standard does not define."""
    why = "those that are defined have a meaning that readers know"
    for part in _parts(proto):
        if part.denotation and part.denotation not in _TYPE_DENOTATIONS:
            message = f"the denotation {quote(part.denotation)} of a type is not defined"
            yield TypeFault("W603", message, why, "use TENSOR, IMAGE, AUDIO or TEXT")
        for axis, dim in enumerate(_dims(part)):
            if dim.denotation and dim.denotation not in _DIM_DENOTATIONS:
                message = f"the denotation {quote(dim.denotation)} of dimension {axis} is not defined"
                yield TypeFault("W603", message, why, "use one such as DATA_BATCH, DATA_CHANNEL or DATA_FEATURE")


@CHECKER.rule("G610", Body)
def check_opaque_values(body: Body, context: CheckContext) -> Iterator[Finding]:
    """Yield a finding for each node that uses a value of an opaque type, if its operator has a schema.

    Only values whose type the same body states are known.
    """
    lists = [body.proto.value_info] if body.function else [body.proto.value_info, body.proto.input, body.proto.output]
    opaque = {value.name for values in lists for value in values if value.type.HasField("opaque_type")}
    if not opaque:
        return
    for index, (name, domain) in enumerate(body.operators):
        used = [each for each in (*body.reads[index], *body.computes[index]) if each in opaque]
        if used and context.registry.since_versions(name, domain):
            message = f"{brief_name(name)} does not take {quote(used[0])}, which is of an opaque type"
            why = "its signature lists no opaque type"
            yield Finding("G610", message, body.location(index), why, "correct the stated type of the value")
