"""The option `--assume-opset`: models are read as written for other versions than they import."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from opset.budget import Limits
from opset.cli.batch import load_input
from opset.cli.inputs import Input
from opset.errors import Finding, UsageError
from opset.model import Model
from opset.opsets.registry import Registry
from opset.version_converter.targets import parse_versions

AUTO = "auto"
Assumed = Mapping[str, int] | str | None


def _parse_assumed(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> Any:
    """Return the versions that the option names by domain, AUTO, or None if it is not given."""
    if AUTO not in texts:
        return parse_versions(texts) if texts else None
    if len(texts) > 1:
        raise UsageError(Finding("U103", "--assume-opset auto goes with no other version", help="give one of the two"))
    return AUTO


assume_option: Callable[[Any], Any] = click.option(
    "--assume-opset",
    "assumed",
    multiple=True,
    metavar="VERSION|auto",
    callback=_parse_assumed,
    help="Read models as written for opset 13, ai.onnx.ml=3, or the one that fits: auto. Repeatable.",
)


def load_assumed(
    source: Input, roots: Iterable[Path], assumed: Assumed, registry: Registry, limits: Limits
) -> tuple[Model, list[str]]:
    """Return the model of an input, read as written for the assumed versions, and notes about these.

    Raises ConversionError C106 if no version is certain, and ModelError if the model cannot be read.
    """
    return read_assumed(load_input(source, roots), assumed, registry, limits)


def read_assumed(model: Model, assumed: Assumed, registry: Registry, limits: Limits) -> tuple[Model, list[str]]:
    """Return a model, read as written for the assumed versions, and notes; raise the errors of `load_assumed`."""
    if assumed is None:
        return model, []
    from opset.version_converter.stamps import assume_opsets  # few calls need it

    return assume_opsets(model, assumed, registry, limits)
