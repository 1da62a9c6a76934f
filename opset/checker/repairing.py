"""Mends models by the fixes of the rules that they break; nothing else is touched.

    @CHECKER.fix("W107")
    def remove_equal_imports(context: CheckContext) -> Iterator[Mend]: ...

A fix changes the message of its context in place, and yields a Mend for each change; it runs if the rule of one of its
codes found something. The next fix gets a new context. All run in rounds, until none of them changes anything.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass

from opset.budget import Limits
from opset.checker.checking import find, select_codes
from opset.checker.table import CHECKER, CheckContext, CheckOptions, Mend
from opset.errors import FindingList
from opset.html_text import Table, findings_table, html_of, one_line
from opset.model import Model, load
from opset.model.storage.container import ModelLike
from opset.opsets.registry import Registry, Schemas, registry_with
from opset.options import checked_options
from opset.preparation import copy_model

ROUNDS = 10
"""Rounds after which a repair ends, although the last one changed something."""
CASTS = "I202"
"""The code of nodes whose inputs have different types: Casts mend some, which change values."""


@dataclass(frozen=True, repr=False)
class Repair:
    """A mended model, the changes that mended it, and the findings that are left.

    - `model`: the mended model; the given one if nothing was mended;
    - `mended`: the changes, in order;
    - `left`: the findings on the mended model.
    """

    model: Model
    mended: tuple[Mend, ...]
    left: FindingList

    def __repr__(self) -> str:
        """Return one line with the numbers of changes and of findings that are left."""
        return one_line("Repair", f"{len(self.mended):,} changes; left: {self.left!r}")

    def _repr_html_(self) -> str:
        """Return tables of the changes and of the findings that are left, for notebooks."""
        tables = [
            Table("changes", Mend._fields, self.mended),
            findings_table("findings that are left", self.left),
        ]
        return html_of(repr(self).strip("<>"), tables)


@checked_options
def repair(
    model: ModelLike,
    *,
    full: bool = True,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    casts: bool = False,
    schemas: Schemas = (),
    limits: Limits | None = None,
    allow_external_roots: Iterable[str | os.PathLike[str]] = (),
) -> Repair:
    """Return a model with all faults mended that have one plain remedy, and the findings that are left.

    The results of the model are the same afterwards. Weights are not read.

    Args:
        model: A path, bytes, an opset.Model, or a ModelProto of the onnx package; it is not changed.
        full: Whether types and shapes are inferred, to mend those that the model states.
        select: Codes, or beginnings of codes, of the rules whose findings are mended; by default, of all rules that are
            not optional.
        ignore: Codes, or beginnings of codes, of rules that do not run.
        casts: Whether a Cast is inserted before an input that alone has another type of floats than the others of its
            node. That changes results: values are rounded.
        schemas: Folders of operator YAML, for domains of your own.
        limits: How much each inference may take; without them, that is in proportion to the model.
        allow_external_roots: Folders outside the model's own that may hold external data.

    Raises:
        ModelError: The file cannot be read as a model.
        InferenceError: I401 if `limits` do not suffice.
        UsageError: U103 if no rule has such a code.
    """
    loaded = load(model, allow_external_roots=allow_external_roots)
    options = CheckOptions(full, False, limits)
    return repair_model(loaded, registry_with(schemas), options, select_codes(select, ignore), casts)


def repair_model(model: Model, registry: Registry, options: CheckOptions, codes: frozenset[str], casts: bool) -> Repair:
    """Return a model with the findings of rules with these codes mended, and the findings that are left.

    The given model stays unchanged. Fixes run in rounds, at most ROUNDS, until nothing changes. With `casts`, Casts are
    inserted, too, which change values.
    """
    context = CheckContext(model, registry, options)
    mended: list[Mend] = []
    for _ in range(ROUNDS):
        left, found = FindingList(), set()
        for finding in find(context, codes):
            left.append(finding)
            found.add(finding.code)
        if not casts:
            found.discard(CASTS)
        before = len(mended)
        for fix, mends in CHECKER.fixes.items():
            if found.isdisjoint(mends):
                continue
            if context.model is model:
                context = CheckContext(copy_model(model), registry, options)
            if done := [*fix(context)]:
                mended += done
                context = CheckContext(context.model, registry, options)
        if len(mended) == before:
            break
    else:
        left = FindingList(find(context, codes))
    return Repair(context.model if mended else model, tuple(mended), left)
