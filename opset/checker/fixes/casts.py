"""The fix of nodes whose inputs have different types of floats: a Cast before the one that differs.

It changes values, since a Cast rounds, so it runs only if it is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

from opset.checker.casts import missing_casts
from opset.checker.table import CHECKER, CheckContext, Mend
from opset.errors import quote
from opset.model import proto as pb
from opset.model.elements import NUMBERS
from opset.model.graph.index import FreshNames

_TO = "to"


@CHECKER.fix("I202")
def insert_casts(context: CheckContext) -> Iterator[Mend]:
    """Insert a Cast before each input that alone has another type of floats than the others of its type variable.

    Yields a Mend for each Cast.
    """
    names = FreshNames(context.bodies)
    for missing in missing_casts(context):  # the last node first: a node that is inserted moves those behind it
        body, name, wanted = missing.scope.body, missing.name, missing.wanted
        cast = pb.NodeProto(op_type="Cast", input=[name], output=[names.fresh(f"{name}_{wanted}")])
        if body.nodes[missing.node].HasField("domain"):
            cast.domain = ""
        cast.attribute.add(name=_TO, type=pb.AttributeProto.INT, i=NUMBERS[wanted])
        body.nodes[missing.node].input[missing.position] = cast.output[0]
        body.proto.node.insert(missing.node, cast)
        message = f"a Cast of {quote(name)} from {missing.given} to {wanted} was inserted: it changes values"
        yield Mend("I202", message, missing.place)
