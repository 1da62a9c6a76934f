"""`opset lower`: expresses operators that a runtime lacks by others, at the opset that a model has."""

from __future__ import annotations

import click

from opset.cli.assumed_opsets import Assumed, assume_option
from opset.cli.batch import VerbCall, writing_options
from opset.cli.convert import ConvertSettings, check_option, convert_files
from opset.cli.inputs import dims_option, freeze_option
from opset.cli.verification import Verifying, verify_options
from opset.version_converter import target_without


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option(
    "--ops",
    multiple=True,
    required=True,
    metavar="OP,...",
    help="Operators that the runtime lacks: Attention, com.example.Scale. Repeatable.",
)
@click.option("--plan", "plan_only", is_flag=True, help="Only show what would happen.")
@check_option
@assume_option
@dims_option
@freeze_option
@verify_options
@writing_options("Output file or folder; by default beside the input.")
def command(
    inputs: tuple[str, ...],
    ops: tuple[str, ...],
    dims: dict[str, int | str],
    freeze: tuple[str, ...],
    plan_only: bool,
    check: bool,
    assumed: Assumed,
    verifying: Verifying,
    call: VerbCall,
) -> int:
    """Express operators by others, at the opsets that the models have, all or nothing.

    INPUT is a file, a folder (*.onnx and models as text below it), a pattern, or - for stdin. The result is written
    beside the input as <name>-lowered.onnx unless -o or --in-place says otherwise.
    """
    names = [name.strip() for argument in ops for name in argument.split(",") if name.strip()]
    target = target_without(names, call.known.registry())
    settings = ConvertSettings(target, dims, freeze, plan_only or check, assumed, verifying, check)
    return convert_files(inputs, call, settings)
