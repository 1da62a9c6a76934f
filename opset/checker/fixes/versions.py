"""The fix of the IR version."""

from __future__ import annotations

from collections.abc import Iterator

from opset.checker.fixes.entries import remove_entries
from opset.checker.rules.graphs import check_initializers_listed
from opset.checker.table import CHECKER, CheckContext, Mend
from opset.errors import listing
from opset.model.graph.walking import list_as_input

LOWEST = 3
"""The IR version from which models import operator sets, as all that are written today."""
FREE_INITIALIZERS = 4
"""The IR version from which an initializer that is an input is a default that callers may replace."""


@CHECKER.fix("G208")
def list_initializers(context: CheckContext) -> Iterator[Mend]:
    """List initializers as inputs, after the others, as models before IR version 4 have to.

    Models that state no IR version stay. Yields a Mend for each graph.
    """
    for body in context.bodies if context.ir_version else ():
        if body.function:
            continue
        listed = {*body.input_names()}
        missing = [each for each in body.proto.initializer if each.name and each.name not in listed]
        for tensor in missing:
            list_as_input(body.proto, tensor)
        if missing:
            names = listing([tensor.name for tensor in missing])
            yield Mend("G208", f"initializers are listed as inputs: {names}", body.label)


@CHECKER.fix("G101 G214 W202")
def raise_ir_version(context: CheckContext) -> Iterator[Mend]:
    """Set the IR version to the lowest that has all that the model uses, if it states none or a lower one.

    If the version passes 4 by this, initializers are removed from the inputs, so that they stay constants. Yields a
    Mend for the version, and for each graph whose inputs changed.
    """
    before = context.ir_version
    features = {feature: None for feature, _ in context.features_after(before or LOWEST)}
    needed = max([before or LOWEST, *(feature.ir_version for feature in features)])
    if not before and any(True for body in context.bodies for _ in check_initializers_listed(body, context)):
        needed = max(needed, FREE_INITIALIZERS)
    if needed == before:
        return
    context.proto.ir_version = needed
    code = "G101" if not before else "W202" if all(each.is_annotation for each in features) else "G214"
    names = f", which has {listing([each.name for each in features])}" if features else ""
    yield Mend(code, f"the IR version is {needed} now{names}", "model")
    if 0 < before < FREE_INITIALIZERS <= needed:
        yield from _free_initializers(context, code)


def _free_initializers(context: CheckContext, code: str) -> Iterator[Mend]:
    """Remove initializers from the inputs of graphs, so that callers cannot replace them; the initializers stay.

    Yields a Mend with the code `code` for each graph.
    """
    for body in context.bodies:
        held = set() if body.function else {tensor.name for tensor in body.proto.initializer}
        listed = [position for position, name in enumerate(body.input_names() if held else ()) if name in held]
        remove_entries(body.proto.input, listed)
        if listed:
            yield Mend(code, "initializers are no inputs any more, and stay constants", body.label)
