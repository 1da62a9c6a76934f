"""The fix of nodes whose inputs have different types of floats: a Cast before the one that differs.

It changes values, since a Cast rounds, so it runs only if it is asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from opset.checker.fixes.types import graph_scopes
from opset.checker.table import CHECKER, CheckContext, Mend
from opset.errors import quote
from opset.inference.building.types import type_from_proto
from opset.inference.engine.scopes import Scope
from opset.model import proto as pb
from opset.model.elements import NUMBERS
from opset.model.graph.index import FreshNames
from opset.schemas.model import OpSchema, Parameter

FLOATS = {"float16": 6, "bfloat16": 13, "float": 6, "double": 6}
"""Types of floats between which values are cast, and the opset from which Cast takes each by its number."""
_TO = "to"


@CHECKER.fix("I202")
def insert_casts(context: CheckContext) -> Iterator[Mend]:
    """Insert a Cast before an input that alone has another type of floats than the inputs that it has to be like.

    Of two inputs, that is the one unlike the output's stated type; without one, a constant beside a computed value.
    """
    names = FreshNames(context.bodies)
    for scope in graph_scopes(context):
        if scope.unused or scope.guarded:
            continue
        body = scope.body
        for index in sorted(scope.problems, reverse=True):  # a node that is inserted moves those behind it
            if all(problem.code != "I202" for problem in scope.problems[index]):
                continue
            found = _odd_input(scope, index, context)
            if found is None:
                continue
            position, given, wanted = found
            name = body.reads[index][position]
            place = body.location(index)
            cast = pb.NodeProto(op_type="Cast", input=[name], output=[names.fresh(f"{name}_{wanted}")])
            if body.nodes[index].HasField("domain"):
                cast.domain = ""
            cast.attribute.add(name=_TO, type=pb.AttributeProto.INT, i=NUMBERS[wanted])
            body.nodes[index].input[position] = cast.output[0]
            body.proto.node.insert(index, cast)
            yield Mend(
                "I202", f"a Cast of {quote(name)} from {given} to {wanted} was inserted: it changes values", place
            )


def _odd_input(scope: Scope, index: int, context: CheckContext) -> tuple[int, str, str] | None:
    """Return the position of the input to cast, its element type, and the one of the others; None without one."""
    body = scope.body
    name, domain = body.operators[index]
    version = scope.imports.get(domain, 0)
    schema = context.registry.schema(name, version, domain)
    if schema is None or body.function_key(index) in context.functions:
        return None
    tied: dict[str, list[int]] = {}
    for position, value in enumerate(body.reads[index]):
        formal = _formal(schema.inputs, position)
        if value and formal is not None and formal.homogeneous and formal.type in schema.types:
            tied.setdefault(formal.type, []).append(position)
    for variable, positions in tied.items():
        elements = {}
        for position in positions:
            type_ = scope.type_of(body.reads[index][position])
            elements[position] = type_.element if type_ is not None and type_.kind == "tensor" else None
        wanted = _wanted_element(elements, variable, schema, scope, index)
        odd = [position for position in positions if elements[position] != wanted]
        opset = scope.imports.get("", 0)
        if wanted is None or len(odd) != 1 or f"tensor({wanted})" not in schema.types[variable]:
            continue
        given = elements[odd[0]]
        if given is not None and opset >= max(FLOATS[given], FLOATS[wanted]):
            return odd[0], given, wanted
    return None


def _wanted_element(
    elements: dict[int, str | None], variable: str, schema: OpSchema, scope: Scope, index: int
) -> str | None:
    """Return the element type that inputs of one type variable should have, None if it is not plain."""
    counts = Counter(elements.values())
    if len(counts) != 2 or None in counts or not counts.keys() <= FLOATS.keys():
        return None
    (most, times), (_, others) = counts.most_common()
    if times > others:
        return most
    if len(elements) != 2:
        return None
    for position, name in enumerate(scope.body.computes[index]):
        formal = _formal(schema.outputs, position)
        if formal is not None and formal.type == variable and name in scope.stated:
            type_ = type_from_proto(scope.stated[name], lambda dimension: None)
            if type_ is not None and type_.element in counts:
                return type_.element
    computed = [
        element for position, element in elements.items() if not _is_constant(scope, scope.body.reads[index][position])
    ]
    return computed[0] if len(computed) == 1 else None


def _formal(formals: tuple[Parameter, ...], position: int) -> Parameter | None:
    """Return the formal parameter of an input or output, None if there is none."""
    if position >= len(formals) and not (formals and formals[-1].option == "variadic"):
        return None
    return formals[min(position, len(formals) - 1)]


def _is_constant(scope: Scope, name: str) -> bool:
    """Whether a value is an initializer or a Constant, of a body or of one around it."""
    around: Scope | None = scope
    while around is not None:
        if name in around.types:
            return name in around.tensors
        around = around.parent
    return False
