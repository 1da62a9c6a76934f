"""`opset reduce`: the smallest model that still shows a refusal, a difference, or the failure of a command."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, NamedTuple

import click

from opset.cli.batch import Reporting, Verb, VerbCall, load_input, process_files, write_report, writing_options
from opset.cli.inputs import Input, numbers_option
from opset.cli.records import ModelReport
from opset.cli.target_options import TargetChoice, target_options
from opset.cli.words import Number
from opset.errors import Finding, FindingList, UsageError, safe_text
from opset.opsets.registry import Registry
from opset.plain_text import count_text
from opset.reduction.reducing import MAX_TRIES, SECONDS, Reduction, reduce_model, symptom_of_conversion
from opset.reduction.symptoms import Fails, Symptom
from opset.version_converter import Target

SUFFIX = "reduced"
WORDS = {"reduced": "reduced", "failed": "failed"}
VERB = Verb(WORDS, "the model was not reduced", ("adapters.py", "inference.py", "kernels.py"))


class ReduceSettings(NamedTuple):
    """The settings for every model: the symptom, and how long to look for it."""

    target: Target | None
    node: str
    differs: bool
    failing: str | None
    contains: str
    seconds: float
    dims: dict[str, int]
    tries: int


@dataclass(frozen=True)
class ReductionReport:
    """The symptom of a reduced model, its nodes before and after, how many models were tried, and steps by name.

    `complete` is false if tries or time ran out.
    """

    shows: str
    nodes_before: int
    nodes: int
    tries: int
    steps: Mapping[str, int]
    complete: bool
    notes: Sequence[str]


@click.command(no_args_is_help=True)
@click.argument("models", nargs=-1, required=True, metavar="INPUT...")
@click.option("--node", default="", metavar="NAME", help="The refused node; by default, the first refusal counts.")
@click.option("--differs", is_flag=True, help="Keep a difference between before and after the conversion.")
@click.option("--failing", metavar="CMD", help="Keep the failure of this command; {} in it is the model's path.")
@click.option("--contains", default="", metavar="TEXT", help="With --failing: a text that the output contains.")
@click.option(
    "--time-limit",
    "seconds",
    type=Number(min=0, min_open=True),
    default=SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="With --failing: how long the command may run each time.",
)
@click.option(
    "--tries",
    type=click.IntRange(min=1),
    default=MAX_TRIES,
    show_default=True,
    metavar="N",
    help="How many smaller models are tried.",
)
@target_options
@numbers_option
@writing_options("Output file or folder; by default beside the input.", pages=False)
def command(
    models: tuple[str, ...],
    choice: TargetChoice,
    node: str,
    differs: bool,
    failing: str | None,
    contains: str,
    seconds: float,
    tries: int,
    dims: dict[str, int],
    call: VerbCall,
) -> int:
    """Make a model as small as possible that still shows a refusal, a difference, or a failure.

    INPUT is a file, a folder (*.onnx and models as text below it), a pattern, or - for stdin. The result is written
    beside the input as <name>-reduced.onnx unless -o or --in-place says otherwise. With --to, --release or --for, the
    small model is refused with the same code, operator and reason. With --differs, the converted one computes
    something else; open sizes are 2 unless --dim says otherwise. With --failing, CMD ends with the same exit status;
    it is run without a shell, many times, with the rights that you have.
    """
    names_target = bool(choice.to or choice.release or choice.runtime)
    wrong, help = "", ""
    if failing is not None and (names_target or differs or node):
        wrong, help = "--failing is about no conversion", "leave out the target, --node and --differs"
    elif failing is None and not names_target:
        wrong, help = "nothing is named that the model shows", "give --to or --for, or --failing 'CMD {}'"
    elif failing is None and contains:
        wrong, help = "--contains is about the output of a command", "give --failing 'CMD {}', too"
    elif differs and node:
        wrong, help = "--node is about a refusal", "leave out --node or --differs"
    elif dims and not differs:
        wrong, help = "--dim is about an evaluation", "give --differs, too"
    if wrong:
        raise UsageError(Finding("U103", wrong, help=help))
    target = choice.target(call.known.registry(), keeps_opsets=False) if names_target else None
    settings = ReduceSettings(target, node, differs, failing, contains, seconds, dims, tries)
    return process_files(models, call, VERB, reduce_file, settings, Reporting(_write_report))


def reduce_file(
    source: Input, settings: ReduceSettings, call: VerbCall, registry: Registry
) -> ModelReport[ReductionReport]:
    """Reduce one model, write the result, and return the report."""
    began = time.monotonic()
    model = load_input(source, call.roots)
    symptom: Symptom
    if settings.failing is not None:
        symptom = Fails(model, settings.failing, settings.contains, settings.seconds)
    else:
        target, node, differs = settings.target, settings.node, settings.differs
        symptom = symptom_of_conversion(model, target, registry, call.limits, node, differs, settings.dims)
    reduction = reduce_model(model, symptom, registry, call.limits, settings.tries, began)
    notes: list[str] = []
    path = call.write_result(reduction.model, source, SUFFIX, notes)
    return ModelReport(source.path, path, _report(reduction, notes), FindingList(), "reduced", 0)


def _report(reduction: Reduction, notes: Sequence[str]) -> ReductionReport:
    """Return the report of a reduction."""
    return ReductionReport(
        reduction.shows,
        reduction.nodes_before,
        reduction.nodes,
        reduction.tries,
        reduction.steps,
        reduction.complete,
        notes,
    )


def _write_report(report: ModelReport[ReductionReport], stream: IO[str], quiet: bool) -> None:
    """Write the report of one model as text: the counts to `stream`, errors to stderr."""
    result = None if quiet else report.result
    write_report(report, [] if result is None else _result_lines(result), stream)


def _result_lines(result: ReductionReport) -> list[str]:
    """Return the lines about a reduced model."""
    steps = ", ".join(f"{name} {count:,}" for name, count in result.steps.items())
    lines = [
        f"{count_text(result.nodes_before, 'node')} -> {result.nodes:,}: {safe_text(result.shows)}",
        f"  {count_text(result.tries, 'smaller model')} tried; kept: {steps or 'none'}",
    ]
    if not result.complete:
        lines.append("  note: tries or time ran out; it may become smaller still: --tries N, --timeout SECONDS")
    return [*lines, *(f"  note: {safe_text(note)}" for note in result.notes)]
