"""Reduction of a model: the order of the steps, and their result."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from opset.budget import Limits
from opset.errors import Finding, UsageError
from opset.file_names import list_paths
from opset.model import Model, load
from opset.opsets.registry import Registry, Schemas, registry_with
from opset.options import checked_options
from opset.reduction.nodes import reduce_nodes
from opset.reduction.search import Exhausted, Search, node_count
from opset.reduction.symptoms import Differs, Fails, RefusalSymptom, Shown, Symptom
from opset.reduction.values import drop_unread, drop_unused, reduce_values, strip_annotations
from opset.version_converter import Target, target_of

MAX_TRIES: Final = 2000
"""Candidates that are tried."""
SECONDS: Final = 60.0
"""How long a command may run for one candidate."""


@dataclass(frozen=True)
class Reduction:
    """A model that was reduced, the symptom in words, its nodes before and after, and the numbers of steps by name.

    `complete` is false if tries or time ran out, so that it might become smaller still.
    """

    model: Model
    shows: str
    nodes_before: int
    nodes: int
    tries: int
    steps: Mapping[str, int]
    complete: bool


@checked_options
def reduce(
    model: Any,
    to: int | str | Mapping[str, int] | None = None,
    *,
    release: str | None = None,
    runtime: str | None = None,
    node: str = "",
    differs: bool = False,
    failing: str | Sequence[str] | Callable[[Model], bool] | None = None,
    contains: str = "",
    seconds: float = SECONDS,
    dims: Mapping[str, int] | None = None,
    max_tries: int = MAX_TRIES,
    schemas: Schemas = (),
    targets: Iterable[str | Path] = (),
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
) -> Any:
    """Return a small model that still shows the same symptom; the given one is not touched.

    It shows that its conversion is refused with the same code, operator and reason; with `differs`, that the converted
    model computes something else; with `failing`, that a command fails. Nodes are cut away, weights become inputs or
    zeros, sizes small, and all that is not needed goes. Each step is checked: the model shows the symptom, and breaks
    no rule that it kept before.

    Args:
        model: A path, bytes, an opset.Model, or a ModelProto of the onnx package.
        to: The versions that it is converted to; `release` and `runtime` name others, as for `convert`.
        release: A release of ONNX.
        runtime: A release of a runtime.
        node: The name of the node that is refused; without it, the first refusal counts.
        differs: Whether a difference is looked for, and not a refusal.
        failing: A command that fails, run without a shell, in which `{}` is the path of a model; or a function that
            returns whether a model shows the symptom.
        contains: A text that the output of the command has to contain.
        seconds: How long the command may run; if it runs longer from the beginning on, that is the failure.
        dims: Numbers for open sizes in an evaluation, by dim_param, or "x.0"; others are 2.
        max_tries: How many smaller models are tried.
        schemas: Folders of operator YAML, for domains of your own.
        targets: YAML files that describe further runtimes.
        allow_external_roots: Folders outside the model's own from which external data may be read.
        limits: How much each conversion or evaluation may do; `timeout` is for all of the reduction.

    Returns:
        A ModelProto of the onnx package for one, else an opset.Model.

    Raises:
        ModelError: The model is malformed.
        UsageError: U103 if the model does not show it, U101 for an unknown target.
    """
    began = time.monotonic()
    loaded = load(model, allow_external_roots=list_paths(allow_external_roots))
    registry = registry_with(schemas)
    bounds = limits or Limits()
    target = None
    if (to, release, runtime) != (None, None, None):
        target = target_of(to, release=release, runtime=runtime, registry=registry, targets=targets)
    if failing is None:
        symptom = symptom_of_conversion(loaded, target, registry, bounds, node, differs, dims or {})
    elif callable(failing):
        symptom = Shown(loaded, failing)
    else:
        symptom = Fails(loaded, failing, contains, seconds)
    return reduce_model(loaded, symptom, registry, bounds, max_tries, began).model.as_given()


def symptom_of_conversion(
    model: Model,
    target: Target | None,
    registry: Registry,
    limits: Limits,
    node: str,
    differs: bool,
    dims: Mapping[str, int],
) -> Symptom:
    """Return the refusal of a conversion, or with `differs` the difference that it makes.

    Raises:
        UsageError: U103 without a target, or if the model does not show it.
    """
    if target is None:
        help = "name the conversion: --to 13, or --for onnxruntime==1.17; or a command: --failing 'CMD {}'"
        raise UsageError(Finding("U103", "there is nothing to look for", help=help))
    limits = Limits(limits.max_steps, limits.max_bytes)
    return (
        Differs(model, target, registry, limits, dims)
        if differs
        else RefusalSymptom(model, target, registry, limits, node)
    )


def reduce_model(
    model: Model,
    symptom: Symptom,
    registry: Registry,
    limits: Limits,
    max_tries: int = MAX_TRIES,
    began: float | None = None,
) -> Reduction:
    """Return the reduction of a model to a small one that shows a symptom; `began` is the moment `timeout` counts from.

    The search ends at four fifths of `timeout`, so that the result can be written.
    """
    began = time.monotonic() if began is None else began
    deadline = None if limits.timeout is None else began + 0.8 * limits.timeout
    search = Search(model, symptom, registry, max_tries, deadline)
    complete = True
    place = symptom.place if isinstance(symptom, RefusalSymptom) else ""
    try:
        reduce_nodes(search, place)
        strip_annotations(search)
        while True:
            before = search.model
            drop_unused(search)
            reduce_values(search)
            drop_unread(search)
            if search.model is before:
                break
            reduce_nodes(search, "")
    except Exhausted:
        complete = False
    nodes = node_count(model), node_count(search.model)
    return Reduction(search.model, symptom.words, *nodes, search.tries, search.steps, complete)
