"""`opset inline`: puts the nodes of model-local functions in place of their calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, NamedTuple

import click

from opset.cli.batch import Reporting, Verb, VerbCall, load_input, process_files, write_report, writing_options
from opset.cli.convert import check_option
from opset.cli.inputs import Input
from opset.cli.records import ModelReport
from opset.cli.verification import UNVERIFIED, Verifying, verify_options
from opset.errors import SHOWN, brief_name, safe_text
from opset.opsets.registry import Registry
from opset.plain_text import count_text
from opset.schemas.names import domain_name
from opset.version_converter.inlining import inline_model

if TYPE_CHECKING:
    from opset.verification.report import Verification

SUFFIX = "inlined"
WORDS = {
    "inlined": "inlined",
    "unchanged": "without such functions",
    "refused": "refused",
    UNVERIFIED: "not verified",
    "failed": "failed",
}
VERB = Verb(WORDS, "the model was not inlined", ("adapters.py", "inference.py"))


class InlineSettings(NamedTuple):
    """The settings for every model."""

    only: tuple[str, ...]
    exclude: tuple[str, ...]
    verifying: Verifying
    check: bool


class RemovedFunction(NamedTuple):
    """A function that nothing calls any more."""

    domain: str
    name: str
    overload: str


class InlinedFunction(NamedTuple):
    """A function whose calls were replaced, and how many these were."""

    domain: str
    name: str
    overload: str
    calls: int


@dataclass(frozen=True)
class InliningReport:
    """The functions that were inlined, those that were removed, notes, and with --verify the verification."""

    functions: Sequence[InlinedFunction]
    removed: Sequence[RemovedFunction]
    notes: Sequence[str]
    verification: Verification | None = None


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--only", multiple=True, metavar="NAME", help="Inline this function alone. Repeatable.")
@click.option("--except", "exclude", multiple=True, metavar="NAME", help="Leave this function as it is. Repeatable.")
@verify_options
@check_option
@writing_options("Output file or folder; by default beside the input.")
def command(
    inputs: tuple[str, ...],
    only: tuple[str, ...],
    exclude: tuple[str, ...],
    verifying: Verifying,
    check: bool,
    call: VerbCall,
) -> int:
    """Put the nodes of a model's functions in place of the nodes that call them.

    INPUT is a file, a folder (*.onnx and models as text below it), a pattern, or - for stdin. The result is written
    beside the input as <name>-inlined.onnx unless -o or --in-place says otherwise. NAME is a function's name, with or
    without its domain: Scale, com.example.Scale, or com.example.Scale:half for one overload. --only takes operators,
    too: Gelu. A function that nothing calls any more is removed.
    """
    settings = InlineSettings(only, exclude, verifying, check)
    reporting = Reporting(_write_report, _detail)
    return process_files(inputs, call, VERB, inline_file, settings, reporting, writes=not check)


def inline_file(
    source: Input, settings: InlineSettings, call: VerbCall, registry: Registry
) -> ModelReport[InliningReport]:
    """Inline the functions of one model, write the result if it was not refused, and return the report."""
    model = load_input(source, call.roots)
    inlining = inline_model(model, settings.only or None, settings.exclude, registry, call.limits)
    path = None
    status = "refused"
    verification = None
    if inlining.model is not None and settings.verifying.wanted and inlining.changes:
        names = source.path, "the result"
        verification = settings.verifying.verify(model, inlining.model, {}, call.limits, registry, names)
    if verification is not None and not verification.same:
        status = UNVERIFIED
    elif inlining.model is not None:
        status = "inlined" if inlining.changes else "unchanged"
        if not settings.check and not call.can_skip_writing(bool(inlining.changes)):
            path = call.write_result(inlining.model, source, SUFFIX, inlining.notes)
    functions = [
        InlinedFunction(domain_name(domain), name, overload, calls)
        for (domain, name, overload), calls in inlining.calls.items()
    ]
    removed = [RemovedFunction(domain_name(domain), name, overload) for domain, name, overload in inlining.removed]
    result = InliningReport(functions, removed, inlining.notes, verification)
    findings = (inlining.refusals if verification is None else verification.errors).in_file(source.path)
    failed = status in ("refused", UNVERIFIED) or (status == "inlined" and settings.check)
    return ModelReport(source.path, path, result, findings, status, int(failed))


def _detail(result: InliningReport) -> str:
    """Return how many calls were inlined, on one line."""
    return _result_lines(result)[0]


def _write_report(report: ModelReport[InliningReport], stream: IO[str], quiet: bool) -> None:
    """Write the report of one model as text: inlined functions to `stream`, errors to stderr."""
    result = report.result if not quiet and report.status != "refused" else None
    write_report(report, _result_lines(result) if result is not None else (), stream)


def _result_lines(result: InliningReport) -> list[str]:
    """Return the lines about inlined functions."""
    calls = sum(each.calls for each in result.functions)
    inlined_calls = f"{count_text(calls, 'call')} of {count_text(len(result.functions), 'function')} inlined"
    names = [f"{each.domain}.{each.name}{each.overload and ':' + each.overload}" for each in result.functions]
    pairs = zip(names, result.functions, strict=True)
    lines = [f"{brief_name(name)}: {count_text(each.calls, 'call')}" for name, each in pairs]
    removed = len(result.removed)
    lines += [f"removed, as nothing calls it: {count_text(removed, 'function')}"] if removed else []
    lines = lines if len(lines) <= SHOWN else [*lines[:SHOWN], f"… and {len(lines) - SHOWN:,} more"]
    lines += [f"note: {safe_text(note)}" for note in result.notes]
    if result.verification is not None:
        from opset.verification.report import verification_lines  # few results are verified

        lines += [line[2:] for line in verification_lines(result.verification)]
    return [inlined_calls if calls else "nothing to inline", *(f"  {line}" for line in lines)]
