"""`opset run`: evaluates a model with the reference kernels, and compares the outputs with expected ones."""

from __future__ import annotations

import io
import os
import sys
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, NamedTuple

import click

from opset.budget import Budget, BudgetExceeded, Limits
from opset.cli import BROKEN_PIPE, INTERNAL, output, supervision
from opset.cli.batch import load_input
from opset.cli.configuration import folders_for, hooks_option, schemas_option
from opset.cli.findings_formats import write_findings
from opset.cli.inputs import STREAM, TEXT_STREAM, dims_option, freeze_option, name_input, parse_input, roots_option
from opset.cli.limits import limits_options
from opset.cli.words import Number
from opset.errors import (
    MOST,
    Finding,
    FindingList,
    OpsetError,
    RunError,
    UsageError,
    brief_name,
    listing,
    quote,
    safe_text,
)
from opset.opsets.registry import Registry
from opset.plain_text import style_text
from opset.reference.comparison import differences
from opset.reference.engine.evaluator import ReferenceEvaluator
from opset.reference.engine.limits import limit_error, out_of_memory
from opset.reference.numerics.memory import nbytes
from opset.reference.value_info import ValueInfo
from opset.reference.values import type_of
from opset.tensor_io import json_values
from opset.tensor_io.demands import demands_for
from opset.tensor_io.files import (
    bytes_to_write,
    check_format,
    declared_value,
    format_of,
    read_values,
    values_in_stream,
    write_values,
)
from opset.tensor_io.random_inputs import random_inputs
from opset.tensor_io.statistics import Summary, summarize, summary_lines

_ABSOLUTE = 0.1  # of the relative tolerance: a result near 0 may be the difference of numbers around 1
TRACED = 20_000
"""Values of a trace that JSON holds: a loop may compute millions."""


@dataclass(frozen=True)
class RunSettings:
    """The settings of an evaluation: inputs, values to compute, and what to do with the outputs."""

    inputs: tuple[str, ...]
    values: tuple[str, ...]
    random: bool
    seed: int
    names: tuple[str, ...]
    trace: bool
    expected: str | None
    rtol: float | None
    atol: float | None
    target: str | None
    save_inputs: bool
    force: bool


@dataclass(frozen=True)
class OutputVerdict:
    """Whether an output is the expected one, with the greatest differences if both could be compared."""

    verdict: str
    absolute: float | str | None = None
    relative: float | str | None = None


@dataclass(frozen=True)
class TracedValue:
    """A value that was computed: the path of its node, its name, and its summary."""

    place: str
    name: str
    value: Summary = field(metadata={"key": ""})


@dataclass(kw_only=True)
class RunReport:
    """The report on an evaluation, which is filled in as that goes on: an error leaves what was known before it.

    `trace` has the first values that were computed, `traced` counts all, and `written` is the file of the outputs.
    """

    model: str
    seed: int | None = None
    inputs: dict[str, Summary] | None = None
    outputs: dict[str, Summary] | None = None
    written: str | None = None
    comparison: dict[str, OutputVerdict] | None = None
    trace: list[TracedValue] | None = None
    traced: int | None = None
    notes: Sequence[str] = ()
    errors: FindingList = field(default_factory=FindingList)
    exit_status: int


class Product(NamedTuple):
    """The exit status, the text for stdout, and the findings for stderr."""

    status: int
    text: str
    errors: FindingList


@click.command(no_args_is_help=True)
@click.argument("model")
@click.argument("inputs", nargs=-1, metavar="[VALUES]...")
@click.option("--set", "values", multiple=True, metavar="NAME=JSON", help="The value of an input. Repeatable.")
@click.option("--random", is_flag=True, help="Draw random values for inputs that are not given.")
@dims_option
@freeze_option
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, metavar="N", help="Seed of all random numbers."
)
@click.option("--value", "names", multiple=True, metavar="NAME", help="Compute this value of the graph. Repeatable.")
@click.option("--trace", is_flag=True, help="Show each value as it is computed.")
@click.option("--compare", "expected", metavar="EXPECTED", help="Compare the outputs with those in a file or folder.")
@click.option("--rtol", type=Number(min=0), help="Relative tolerance of numbers; by default that of the type.")
@click.option("--atol", type=Number(min=0), help="Absolute tolerance; by default a tenth of the relative one.")
@click.option("-o", "--output", "target", metavar="FILE|DIR/", help="Write the outputs: .npz, .json, or a folder.")
@click.option("--save-inputs", is_flag=True, help="Also write the inputs.")
@click.option("--force", is_flag=True, help="Overwrite an output that exists.")
@limits_options
@roots_option
@schemas_option
@hooks_option
@click.option("-q", "--quiet", is_flag=True, help="Write no report, only errors.")
@output.findings_format_option
def command(
    model: str,
    limits: Limits,
    roots: tuple[Path, ...],
    folders: tuple[Path, ...],
    allow_hooks: bool | None,
    quiet: bool,
    form: str,
    dims: dict[str, int | str],
    freeze: tuple[str, ...],
    **options: Any,
) -> int:
    """Evaluate a model with the reference kernels.

    VALUES are the inputs: files .npz, .json, .pb or .npy, folders of test data (input_0.pb ...), or - for JSON on
    stdin. NAME=FILE says which input a .npy or .pb file is for. --set takes precedence over files.
    """
    settings = RunSettings(**options)
    _check_settings(settings, model)
    known = folders_for(folders, allow_hooks)
    registry = known.registry()
    notes = known.note_left_out(quiet, "kernels.py")
    report = RunReport(model=model, exit_status=0)

    def work() -> Product:
        try:
            trace = sys.stderr if form == "text" and not quiet else None
            _evaluate_model(report, settings, registry, dims, freeze, limits, roots, trace)
            return _product_of(report, form, quiet, notes)
        except MemoryError:
            return failure(out_of_memory())

    def failure(error: RunError) -> Product:
        findings = error.finding_list.in_file(model)
        return _product_of(RunReport(model=model, errors=findings, exit_status=1), form, quiet, notes)

    try:
        limited = limits.timeout is not None and supervision.POSSIBLE
        product: Product = supervision.run_supervised(work, limits.timeout or 0) if limited else work()
    except supervision.NoResult as ended:
        if ended.status in (BROKEN_PIPE, INTERNAL):
            return ended.status
        product = failure(supervision.failure(ended, limits))
    sys.stdout.write(product.text)
    if product.errors:
        output.write_errors(product.errors)
    return product.status


def _evaluate_model(
    report: RunReport,
    settings: RunSettings,
    registry: Registry,
    dims: dict[str, int | str],
    freeze: tuple[str, ...],
    limits: Limits,
    roots: tuple[Path, ...],
    stream: IO[str] | None,
) -> None:
    """Evaluate a model, and fill in a report: results, or findings, and the exit status."""
    model = report.model
    budget = Budget(Limits(timeout=limits.timeout))
    trace = _Trace(report, stream) if settings.trace else None
    try:
        try:
            loaded = load_input(parse_input(model), roots)
            evaluator = ReferenceEvaluator(
                loaded, schemas=registry, dims=dims, limits=limits, freeze=freeze, seed=settings.seed, trace=trace
            )
            report.notes = evaluator.notes
            budget.max_bytes = evaluator.max_bytes
            _run_evaluator(evaluator, settings, report, budget)
            budget.check_time()
        except BudgetExceeded as error:
            # Nothing is shown beyond a limit.
            report.seed = report.inputs = report.outputs = report.written = report.comparison = None
            raise limit_error(error) from error
        report.exit_status = 1 if report.errors else 0
    except OpsetError as error:
        found = error.finding_list if error.code[0] == "U" else error.finding_list.in_file(model)
        report.errors += FindingList(map(_with_options, found), found.omitted)
        report.exit_status = error.exit_status


def _with_options(finding: Finding) -> Finding:
    """Return a finding with the options that give a missing input in its help."""
    if finding.code != "R101":
        return finding
    return finding._replace(help=f"{finding.help}: name a file of values, or --set NAME=JSON, or --random")


def _product_of(report: RunReport, form: str, quiet: bool, notes: Sequence[str]) -> Product:
    """Return the product of a report; `notes` are about the whole call, and have been written as text before."""
    text = io.StringIO()
    if form in output.FINDINGS_FORMATS:
        write_findings(report.errors, form, text, report.model)
        return Product(report.exit_status, text.getvalue(), FindingList())
    if form == "json":
        output.write_product(replace(report, notes=(*notes, *report.notes)), list, form, text)
        return Product(report.exit_status, text.getvalue(), FindingList())
    lines = "" if quiet else "".join(f"{line}\n" for line in _report_lines(report))
    return Product(report.exit_status, lines, report.errors)


def _check_settings(settings: RunSettings, model: str) -> None:
    """Raise UsageError U103 with all options that do not fit each other."""
    findings = []
    if [STREAM if model == TEXT_STREAM else model, *settings.inputs].count(STREAM) > 1:
        findings.append(Finding("U103", "stdin can be read once", help="name a file in place of -"))
    if settings.expected is None and (settings.rtol is not None or settings.atol is not None):
        findings.append(Finding("U103", "--rtol and --atol are for --compare", help="add --compare EXPECTED"))
    if settings.save_inputs and settings.target is None:
        findings.append(Finding("U103", "--save-inputs is for -o", help="add -o FILE"))
    if settings.target is not None:
        form = format_of(settings.target)
        if form != "/" and os.path.lexists(settings.target) and not settings.force:
            help = "choose another name, or allow it: --force"
            findings.append(Finding("U102", "the output exists already", help=help, file=settings.target))
    if findings:
        raise UsageError(findings)


def _run_evaluator(evaluator: ReferenceEvaluator, settings: RunSettings, report: RunReport, budget: Budget) -> None:
    """Read the inputs, run the evaluator, and write, summarize and compare the outputs."""
    inputs = evaluator.inputs
    feeds = _read_inputs(settings, inputs, budget.max_bytes)
    if settings.random:
        needed = {value.name for value in inputs if not value.has_default}
        protos = [each for each in evaluator.model.proto.graph.input if each.name in needed or each.name in feeds]
        demands = demands_for(evaluator.model, evaluator.registry, evaluator.limits, feeds)
        feeds |= random_inputs(protos, feeds, settings.seed, evaluator.limits, demands)
        report.seed = settings.seed
    report.inputs = {value.name: summarize(feeds[value.name], value.type) for value in inputs if value.name in feeds}
    declared = dict.fromkeys(evaluator.output_names)
    names = [*dict.fromkeys(settings.names or declared)]
    inside = [name for name in names if name not in declared]
    outputs = [*evaluator.outputs, *(ValueInfo(name, None, None) for name in inside)]
    path, of = _split_argument(settings.expected, outputs) if settings.expected is not None else ("", "")
    if not of and path.lower().endswith(".npy") and len(names) == 1:
        of = names[0]
    if path and not os.path.exists(path):  # reported before an evaluation that may be long
        why, help = "there is no such file or folder", "check the path"
        if path == STREAM:
            why, help = "inputs alone come from stdin", "name a file or folder"
        raise RunError(Finding("R105", "the file of values cannot be read", why=why, help=help, file=path))
    if settings.target is not None:
        computed = {*names}
        written = [value for value in outputs if value.name in computed]
        check_format(settings.target, [*inputs, *written] if settings.save_inputs else written)
    with _show_progress(evaluator):
        values = dict(zip(names, evaluator.run(names, feeds), strict=True))
    kinds = {value.name: value.type for value in outputs}
    budget.hold(sum(map(nbytes, (*feeds.values(), *values.values()))))
    kept = {"input": feeds, "output": values} if settings.save_inputs else {"output": values}
    if settings.target is not None:
        budget.check_bytes(bytes_to_write(settings.target, kept))
    report.outputs = {name: summarize(value, kinds[name]) for name, value in values.items()}
    budget.check_time()
    if settings.target is not None:
        write_values(settings.target, kept, {"input": inputs, "output": outputs}, settings.force)
        report.written = settings.target
    if path:
        types = {name: kinds[name] or type_of(value) for name, value in values.items()}
        outputs = [replace(value, type=types.get(value.name, value.type)) for value in outputs]
        wanted = read_values(path, outputs, budget.max_bytes - budget.live, "output", of)
        for name in kinds.keys() - values.keys():
            wanted.pop(name, None)  # an output that was not requested
        report.comparison = _compare_outputs(wanted, values, settings, report.errors)


@contextmanager
def _show_progress(evaluator: ReferenceEvaluator) -> Iterator[None]:
    """Show the number of nodes that have been run, once a second, on a terminal."""
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()

    def report() -> None:
        while not done.wait(1):
            sys.stderr.write(f"[{evaluator.steps:,} nodes]\r")
            sys.stderr.flush()

    thread = threading.Thread(target=report, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _read_inputs(settings: RunSettings, inputs: Sequence[ValueInfo], limit: int) -> dict[str, object]:
    """Return the inputs that files, stdin and `--set` hold. Raises RunError with all findings about them."""
    feeds: dict[str, object] = {}
    origin: dict[str, str] = {}
    findings = FindingList()
    arrays = iter(inputs)
    for argument in settings.inputs:
        path, name = _split_argument(argument, inputs)
        if not name and path.lower().endswith(".npy"):
            name = next((each.name for each in arrays if each.name not in feeds), "")
        try:
            if path == STREAM:
                values = values_in_stream(sys.stdin.buffer, inputs, "input", limit)
            else:
                values = read_values(path, inputs, limit, "input", name)
        except RunError as error:
            findings += error.finding_list
            continue
        for name in [each for each in values if each in feeds]:
            why = f"{origin[name]} and {argument} both hold it"
            help = "leave out one of them"
            findings.append(Finding("U103", f"the input {quote(name)} is given twice", why=why, help=help))
        limit = max(limit - sum(map(nbytes, values.values())), 0)
        feeds |= values
        origin |= dict.fromkeys(values, argument)
    known = {value.name: value for value in inputs}
    help = f"its inputs are {listing([*known]) or 'none'}"
    settings_of: dict[str, str] = {}
    for setting in settings.values:
        name = _name_in(setting, known)
        if name not in known:
            findings.append(Finding("R102", f"--set {safe_text(setting[:60])} names no input", help=help))
        elif settings_of.setdefault(name, setting) != setting:
            why = f"--set {safe_text(settings_of[name][:60])} and --set {safe_text(setting[:60])} both hold it"
            message = f"the input {quote(name)} is given twice"
            findings.append(Finding("U103", message, why=why, help="leave out one of them"))
        else:
            try:
                feeds[name] = declared_value(json_values.parse(setting[len(name) + 1 :]), known[name], limit)
            except ValueError as error:
                message = f"the value of --set {brief_name(name)} cannot be read"
                example = f"write a number or a list as in JSON: --set '{brief_name(name)}=[1, 2]'"
                findings.append(Finding("R105", message, why=str(error), help=example))
    if findings:
        raise (UsageError if all(finding.code == "U103" for finding in findings) else RunError)(findings)
    return feeds


def _name_in(argument: str, names: Collection[str]) -> str:
    """Return the longest of the names with which "NAME=…" begins, else the text before the first "="."""
    longest = max(map(len, names), default=0)
    for at in range(min(longest, len(argument) - 1), 0, -1):
        if argument[at] == "=" and argument[:at] in names:
            return argument[:at]
    return argument.partition("=")[0]


def _split_argument(argument: str, declared: Sequence[ValueInfo]) -> tuple[str, str]:
    """Return the path and the value's name, "" without one, of FILE or NAME=FILE."""
    if os.path.lexists(argument) or "=" not in argument:
        return argument, ""
    name = _name_in(argument, {each.name for each in declared})
    return argument[len(name) + 1 :], name


def _compare_outputs(
    expected: dict[str, object], values: dict[str, object], settings: RunSettings, findings: FindingList
) -> dict[str, OutputVerdict]:
    """Return the verdict for each output, and add a finding for each that differs."""
    verdicts: dict[str, OutputVerdict] = {}
    for name in [each for each in expected if each not in values]:
        why = f"{settings.expected} holds it, and it was not computed"
        help = f"compute it: --value {safe_text(name)}; or take it out of the file"
        findings.append(Finding("R401", f"there is no output {quote(name)} to compare", why=why, help=help))
    for name, value in values.items():
        if name not in expected:
            verdicts[name] = OutputVerdict("not compared")
            continue
        deviations = [*differences(expected[name], value, settings.rtol, settings.atol, absolute=_ABSOLUTE)]
        wrong = [each for each in deviations if each.why]
        absolute = max((each.absolute for each in deviations), default=0.0)
        relative = max((each.relative for each in deviations), default=0.0)
        verdicts[name] = OutputVerdict(
            "different" if wrong else "same", json_values.json_of(absolute), json_values.json_of(relative)
        )
        if wrong:
            message = f"the output {quote(name)} differs from what was expected"
            why = "; ".join(f"{each.where}: {each.why}" if each.where else each.why for each in wrong[:3])
            help = "to accept the difference: --rtol, --atol" if absolute else ""
            findings.append(Finding("R401", message, why=why, help=help))
    if not findings and not any(each.verdict == "same" for each in verdicts.values()):
        why = f"{settings.expected} holds none of the outputs"
        help = f"name the values as the outputs: {listing([*values])}"
        findings.append(Finding("R401", "nothing was compared", why=why, help=help))
    return verdicts


class _Trace:
    """Records each computed value: as text at once if there is a stream, else the first ones in the report."""

    def __init__(self, report: RunReport, stream: IO[str] | None) -> None:
        self.report = report
        self.stream = stream
        self.values: list[TracedValue] = []
        self.count = 0
        if stream is None:
            report.trace = self.values
            report.traced = 0

    def __call__(self, location: str, name: str, value: Any) -> None:
        if self.stream is not None:
            self.stream.write(f"{safe_text(location, MOST)}: {summary_lines(name, summarize(value))[0]}\n")
            return
        self.count += 1
        self.report.traced = self.count
        if self.count <= TRACED:
            self.values.append(TracedValue(location, safe_text(name), summarize(value)))


def _report_lines(report: RunReport) -> list[str]:
    """Return the report as lines."""
    if report.outputs is None:
        return []
    name = name_input(report.model)
    head = f"{style_text(name, 'bold', sys.stdout)}:"
    lines = [head if report.seed is None else f"{head} inputs drawn with --seed {report.seed}"]
    lines += [f"  note: {safe_text(note)}" for note in report.notes]
    for each, value in report.outputs.items():
        lines += [f"  {line}" for line in summary_lines(each, value)]
    for each, compared in (report.comparison or {}).items():
        style = {"same": "green", "different": "red"}.get(compared.verdict, "dim")
        line = f"  {brief_name(each)}: {style_text(compared.verdict, style, sys.stdout)}"
        if compared.absolute and compared.relative is not None:
            line += f", by {float(compared.absolute):.1e} at most ({float(compared.relative):.1e} relative)"
        lines.append(line)
    return lines if report.written is None else [*lines, f"  wrote {safe_text(report.written)}"]
