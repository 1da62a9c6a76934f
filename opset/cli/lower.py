"""`opset lower`: expresses operators that a runtime lacks by others, at the opset that a model has."""

from __future__ import annotations

from pathlib import Path

import click

from opset.budget import Limits
from opset.cli.batch import writing
from opset.cli.configuration import folders_for, hooks_option
from opset.cli.convert import Settings, run
from opset.cli.inputs import dims_option, freeze_option
from opset.cli.limits import limits_options
from opset.version_converter import without


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--ops", multiple=True, required=True, metavar="OP,...",
    help="Operators that the runtime lacks: Attention, com.example.Scale. Repeatable.",
)  # fmt: skip
@click.option("--plan", "plan_only", is_flag=True, help="Only show what would happen.")
@dims_option
@freeze_option
@hooks_option
@limits_options
@writing("Output file or folder; by default beside the input.")
def command(
    inputs: tuple[str, ...], ops: tuple[str, ...], dims: dict[str, int], freeze: tuple[str, ...], limits: Limits,
    given: str | None, in_place: bool, force: bool, plan_only: bool, external: str, roots: tuple[Path, ...],
    folders: tuple[Path, ...], allow_hooks: bool | None, jobs: int, quiet: bool, form: str,
) -> int:  # fmt: skip
    """Express operators by others, at the opsets that the models have, all or nothing.

    INPUT is a file, a folder (all *.onnx and *.onnxtxt below it), a pattern, or - for stdin. The result is written
    beside the input as <name>-lowered.onnx unless -o or --in-place says otherwise.
    """
    known = folders_for(folders, allow_hooks)
    names = [name.strip() for each in ops for name in each.split(",") if name.strip()]
    target = without(names, known.registry())
    settings = Settings(target, dims, freeze, limits, external, roots, plan_only, force, form, quiet)
    return run(inputs, settings, known, given, in_place, jobs)
