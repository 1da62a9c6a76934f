"""Conversion of many models from Python, in processes of this machine or on an executor."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from opset.budget import Limits
from opset.cli.batch import VerbCall, start_work
from opset.cli.configuration import Folders
from opset.cli.convert import VERB, ConvertedReport, ConvertSettings, convert_file
from opset.cli.inputs import Input, expand_inputs, output_for
from opset.cli.records import ModelReport, View
from opset.cli.working import Job, Workshop, open_executor, yield_records
from opset.errors import Finding, UsageError
from opset.file_names import list_paths
from opset.opsets.registry import registry_with
from opset.options import checked_options
from opset.version_converter import target_of
from opset.version_converter.stamps import AUTO
from opset.version_converter.targets import target_of_version

AnyPath = str | os.PathLike[str]


class Submits(Protocol):
    """An executor: `submit(function, *arguments)` returns a future, as in concurrent.futures and Dask."""

    def submit(self, *args: Any, **kwargs: Any) -> Any:
        """Return the future of a call."""


@checked_options
def convert_many(
    models: AnyPath | Iterable[AnyPath],
    to: int | str | Mapping[str, int] | None = None,
    *,
    output: AnyPath | None = None,
    executor: Submits | str | None = None,
    jobs: int = 1,
    force: bool = False,
    release: str | None = None,
    runtime: str | None = None,
    ir_version: int | None = None,
    schemas: Iterable[str | Path] = (),
    dims: Mapping[str, int | str] | None = None,
    freeze: Iterable[str] = (),
    targets: Iterable[str | Path] = (),
    inexact_types: bool = False,
    allow_external_roots: Iterable[str | Path] = (),
    limits: Limits | None = None,
    assume_opset: int | str | Mapping[str, int] | None = None,
) -> Iterator[ModelReport[ConvertedReport]]:
    """Yield a report on each of many models as soon as its conversion has ended, in no certain order.

    Models are read and written by those who convert them; they do not pass through this process, whose memory does not
    grow with their number. A model that fails is a report with its errors and no exception.

    Args:
        models: Files, folders, patterns ("exported/*/model.onnx") and URLs, one or several.
        to: The target, as in `convert`, which describes all arguments that are not described here.
        output: The folder for results, in which the folders of the models are made again; None to plan alone, so that
            nothing is written.
        executor: Anything with `submit`, such as a ThreadPoolExecutor, a ProcessPoolExecutor or a Client of Dask, or
            "dask://HOST:PORT"; it stays open, and paths of reports are absolute. None for processes of this machine.
        jobs: The number of these processes. Those of an executor count for themselves.
        force: Whether results that exist are overwritten.
        schemas: Folders of operator YAML.
        freeze: Names of initializers, or "all".
        limits: How much each conversion may do; a model that takes longer than its `timeout` is ended, and reported.

    Raises:
        ModelError: An input stands for no model.
        SchemaError: A file in `schemas` or `targets` has faults.
        UsageError: The target or the executor is not known, two results have one name, the executor takes no tasks, or
            a model is given otherwise than by its path.
    """
    if jobs < 1:
        raise UsageError(Finding("U103", f"{jobs} processes convert no models", help="give jobs=1, or more"))
    known = Folders(tuple(map(Path, list_paths(schemas))))
    registry = registry_with(known.trusted)
    target = target_of(
        to,
        release=release,
        runtime=runtime,
        ir_version=ir_version,
        registry=registry,
        targets=targets,
        inexact_types=inexact_types,
        keeps_opsets=bool(dims or freeze),
    )
    assumed = assume_opset
    if assumed is not None and assumed != AUTO:
        assumed = target_of_version(assumed, registry).opsets
    plan_only = output is None
    settings = ConvertSettings(target, dict(dims or {}), tuple(list_paths(freeze)), plan_only, assumed)
    inputs = expand_inputs([*map(_path_of, list_paths(models))], products=not plan_only)
    place = None if output is None else output_for(os.path.join(os.fspath(output), ""), False, inputs)
    client = None if executor is None else open_executor(executor)
    if client is not None:
        inputs, place = [each.absolute() for each in inputs], place and place.absolute()
    roots = tuple(map(Path, list_paths(allow_external_roots)))
    call = VerbCall(known, limits or Limits(), roots, jobs, True, "json", force=force, output=place)
    return _yield_reports(inputs, call, settings, client)


def _path_of(model: Any) -> str:
    """Return the text of a path. Raises UsageError U103 for a model that is given otherwise."""
    if not isinstance(model, str | os.PathLike):
        help = "save it, and give its path; or call opset.convert for it"
        raise UsageError(Finding("U103", f"the path of a model is needed, not {type(model).__name__}", help=help))
    return os.fsdecode(model)


def _yield_reports(
    inputs: list[Input], call: VerbCall, settings: ConvertSettings, executor: Any
) -> Iterator[ModelReport[ConvertedReport]]:
    """Yield the reports on models, in the order in which they end; what runs is ended with the iteration."""
    start = partial(start_work, convert_file, settings, call)
    view, timeout = View(result=True), call.limits.timeout
    shop = Workshop(start, view, VERB.undone, VERB.late, VERB.words, timeout, None)
    isolated = timeout is not None and len(inputs) > 1
    with closing(yield_records(shop, map(Job, inputs), len(inputs), call.jobs, executor, isolated)) as records:
        for _, record in records:
            yield record.report
