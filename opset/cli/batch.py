"""Work on many models, in sequence or in processes: one report each, a summary, the worst exit status."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from typing import IO, Any, Generic, NamedTuple, TypeVar

import click

from opset.budget import ALLOW_MORE, Limits
from opset.cli import BROKEN_PIPE, INTERNAL, USAGE, output, signals, supervision
from opset.cli.configuration import Folders, folders_for, hooks_option, schemas_option
from opset.cli.inputs import STREAM, Input, Output, expand_inputs, output_for, refuse_output_as_input, roots_option
from opset.cli.limits import limits_options
from opset.errors import Finding, FindingList, OpsetError, UsageError, safe_text
from opset.model import Model, load, write_stream
from opset.model.storage.container import load_file, load_text
from opset.model.storage.external import is_external, tensors
from opset.model.storage.writing import MODES, save_below, save_in_place
from opset.plain_text import style_text

Result = TypeVar("Result")
Command = TypeVar("Command", bound=Callable[..., Any])


@dataclass(frozen=True)
class ModelReport(Generic[Result]):
    """The report on one model: its path, the path that was written, the result, and the errors.

    Without a result, the model failed.
    """

    input: str
    output: str | None
    result: Result | None = field(metadata={"key": ""})
    errors: FindingList
    status: str
    exit_status: int
    internal_error: str = ""


@dataclass(frozen=True)
class BatchReport:
    """The reports on all models of a call, how many ended with each status, and notes about the whole call."""

    models: Sequence[ModelReport[Any]]
    summary: Mapping[str, int]
    notes: Sequence[str] = ()


Work = Callable[[Input], ModelReport[Any]]


class Call(NamedTuple):
    """The options of a verb that reads models, and those of one that writes them.

    `alone` is true if there is one model; `output` is the destination of the results, None if no model is written.
    """

    known: Folders
    limits: Limits
    roots: tuple[Path, ...]
    jobs: int
    quiet: bool
    form: str
    given: str | None = None
    in_place: bool = False
    force: bool = False
    external: str = "auto"
    alone: bool = False
    output: Output | None = None

    def write_result(self, result: Model, source: Input, suffix: str, notes: list[str]) -> str:
        """Write the result for a model, add notes about it, and return its path, "-" for stdout."""
        assert self.output is not None
        return write_result(result, source, suffix, self.output, self.roots, self.external, self.force, notes)

    def can_skip_writing(self, changed: bool) -> bool:
        """Whether writing can be skipped, since the result is the unchanged input and would replace it."""
        in_place = self.output is not None and self.output.in_place
        return in_place and not changed and self.external in ("auto", "keep")


_COMMON = (
    roots_option,
    schemas_option,
    click.option(
        "-j", "--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Number of processes for many inputs."
    ),
    click.option("-q", "--quiet", is_flag=True, help="Write no report, only errors."),
    output.format_option,
)
"""Options of all verbs that read models."""


class Verb(NamedTuple):
    """A verb that works on many models.

    `words` name each status in a summary, `undone` is the message about a model whose process died, `files` are the
    names of Python files beside operator YAML that the verb may run, and `late` is the code of work that took too long.
    """

    words: Mapping[str, str]
    undone: str
    files: tuple[str, ...]
    late: str = "C401"


def writing_options(
    output_help: str, form_option: Callable[[Any], Any] = output.format_option
) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of a verb that writes models, which the verb takes as `call`.

    The verb raises SchemaError for faulty folders of operator YAML once, before any model is read.

    Args:
        output_help: The help of -o.
        form_option: The option for the form of the report.
    """
    return _options_for_call(
        hooks_option,
        limits_options,
        click.option("-o", "--output", "given", metavar="FILE|DIR|-", help=output_help),
        click.option("--in-place", is_flag=True, help="Put the result in the input's place."),
        click.option("--force", is_flag=True, help="Overwrite an output that exists."),
        click.option(
            "--external-data",
            "external",
            type=click.Choice(MODES),
            default="auto",
            show_default=True,
            help="How weights in external files are handled.",
        ),
        *_COMMON[:-1],
        form_option,
    )


def reading_options(command: Command) -> Any:
    """Return a verb that reads models and writes none, with its options, which it takes as `call`.

    It raises SchemaError for faulty folders of operator YAML once, before any model is read.
    """
    return _options_for_call(hooks_option, limits_options, *_COMMON)(command)


def _options_for_call(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds options which a verb takes as `call`."""

    def decorate(command: Command) -> Any:
        @wraps(command)
        def run_command(folders: tuple[Path, ...], allow_hooks: bool | None, **values: Any) -> Any:
            known = folders_for(folders, allow_hooks)
            known.registry()
            call_options = {name: values.pop(name) for name in Call._fields if name in values}
            return command(call=Call(known, **call_options), **values)

        for option in reversed(options):
            run_command = option(run_command)
        return run_command

    return decorate


def process_files(
    inputs: tuple[str, ...],
    call: Call,
    verb: Verb,
    work: Callable[..., ModelReport[Result]],
    settings: object,
    write: Callable[[ModelReport[Result], IO[str], bool], None],
    *,
    writes: bool = True,
    batch: Callable[..., BatchReport] = BatchReport,
    formats: Mapping[str, Callable[[BatchReport], Iterable[str]]] = {},
) -> int:
    """Process the models that a verb is given, report on each, and return the exit status.

    Args:
        work: Returns the report on one model; it takes `settings`, `call` and `registry` as keywords.
        write: Writes a report as text, to a stream, quietly if its last argument is true.
        writes: Whether models are written; if not, the report goes to stdout.
        batch: Returns the report on all models, of their reports, the summary and notes.
        formats: Forms of the report besides text and JSON: functions that return its lines, by name.

    Raises:
        ModelError: An input stands for no model.
        UsageError: The output does not fit the inputs.
    """
    names_output = call.in_place or call.given is not None
    models = expand_inputs(inputs, products=names_output)
    if writes and not names_output:
        refuse_output_as_input(models)
    destination = output_for(call.given, call.in_place, models) if writes or names_output else None
    if destination is not None and writes:
        refuse_terminal(destination)
    call = call._replace(alone=len(models) == 1, output=destination if writes else None)
    # The report goes where the model does not.
    stream = sys.stderr if call.output is not None and call.output.stream else sys.stdout

    notes = call.known.note_left_out(call.quiet, *verb.files)
    reports: list[ModelReport[Result]] = []
    statuses: Counter[str] = Counter()
    worst = 0
    results = _yield_reports(models, partial(_worker, work, settings, call, verb), call.jobs, verb.undone)
    with closing(results):
        for number, report in enumerate(results, 1):
            statuses[report.status] += 1
            worst = max(worst, report.exit_status)
            if call.form == "text":
                write(report, stream, call.quiet)
            elif not call.quiet:
                reports.append(report)
            elif report.errors:
                output.write_errors(report.errors)
            if 1 < number < len(models) and sys.stderr.isatty():
                sys.stderr.write(f"[{number}/{len(models)}]\r")
                sys.stderr.flush()
    if call.form != "text" and not call.quiet:
        summary = {"models": len(models), **{each: statuses[each] for each in verb.words}, "exit_status": worst}
        whole = batch(reports, summary, tuple(notes))
        if call.form == "json":
            output.write_product(whole, list, call.form, stream)
        else:
            stream.writelines(f"{line}\n" for line in formats[call.form](whole))
    elif len(models) > 1 and not call.quiet:
        counts = ", ".join(f"{statuses[each]} {word}" for each, word in verb.words.items() if statuses[each])
        stream.write(f"{len(models)} models: {counts}\n")
    return worst


def write_report(
    report: ModelReport[Result], lines: Sequence[str], stream: IO[str], errors: IO[str] | None = None
) -> None:
    """Write the report on one model as text.

    Args:
        report: The report.
        lines: The lines to write about its result, the first beside the model's name; () for none.
        stream: The destination of these lines.
        errors: The destination of errors, stderr by default.
    """
    name = "stdin" if report.input == STREAM else safe_text(report.input)
    if lines:
        stream.write(f"{style_text(name, 'bold', stream)}: {lines[0]}\n")
        stream.writelines(f"{line}\n" for line in lines[1:])
        if report.output not in (None, STREAM):
            stream.write(f"  wrote {safe_text(report.output)}\n")
    if report.internal_error:
        (errors or sys.stderr).write(f"{name}: {report.internal_error}\n")
    elif report.errors:
        output.write_errors(report.errors, errors)


def _worker(work: Callable[..., ModelReport[Any]], settings: object, call: Call, verb: Verb) -> Work:
    """Return the function that processes one model, in a child process if its time is limited."""
    working = partial(_process_file, partial(work, settings=settings, call=call, registry=call.known.registry()))
    seconds = call.limits.timeout
    return working if seconds is None or not supervision.POSSIBLE else partial(_supervise_file, working, verb, seconds)


def _supervise_file(work: Work, verb: Verb, seconds: float, model: Input) -> ModelReport[Any]:
    """Return the report on one model, which is processed in a child that is ended when its time is up."""
    try:
        report: ModelReport[Any] = supervision.run_supervised(partial(work, model), seconds)
        return report
    except supervision.NoResult as ended:
        if ended.status == BROKEN_PIPE:
            raise BrokenPipeError from None
        if not ended.late:
            return _crash_report(verb.undone, model, False)
    finding = Finding(verb.late, verb.undone, why=f"it may take {seconds:g} seconds", help=ALLOW_MORE, file=model.path)
    return _failure_report(model.path, FindingList([finding]), 1)


def _yield_reports(
    models: Sequence[Input], start: Callable[[], Work], jobs: int, undone: str
) -> Generator[ModelReport[Any], None, None]:
    """Yield the report on every model in order, from child processes if there are several jobs.

    `start` returns the function that processes one model; each child process calls it once.
    """
    jobs = min(jobs, len(models))
    if jobs > 1 and all(model.path != STREAM for model in models):  # other processes have no stdin
        from opset.cli.processes import run_in_processes

        yield from run_in_processes(start, models, jobs, partial(_crash_report, undone))
    else:
        yield from map(start(), models)


def _process_file(work: Work, model: Input) -> ModelReport[Any]:
    """Return the report on one model; errors become findings of the report."""
    try:
        return work(model)
    except OpsetError as error:
        return _failure_report(model.path, error.finding_list.in_file(model.path), error.exit_status)
    except BrokenPipeError:
        raise
    except Exception as error:
        signals.raise_if_stopped()
        if (short := output.shortage(error)) is not None:
            return _failure_report(model.path, FindingList([short]).in_file(model.path), USAGE)
        return _failure_report(model.path, FindingList(), INTERNAL, output.internal_error(error))


def _crash_report(undone: str, model: Input, late: bool) -> ModelReport[Any]:
    """Return the report on a model whose process died."""
    why = "the process that worked on it was killed, perhaps for want of memory"
    finding = Finding("M101", undone, why=why, help="use fewer processes: -j 1", file=model.path)
    return _failure_report(model.path, FindingList([finding]), INTERNAL)


def _failure_report(path: str, findings: FindingList, exit_status: int, internal_error: str = "") -> ModelReport[Any]:
    """Return the report on a model that failed with these findings."""
    return ModelReport(path, None, None, findings, "failed", exit_status, internal_error)


def refuse_terminal(destination: Output) -> None:
    """Raise UsageError U104 if a model would be written to a terminal."""
    if destination.stream and not destination.text and sys.stdout.isatty():
        help = "give -o FILE, or lead stdout elsewhere"
        raise UsageError(Finding("U104", "a model is not written to a terminal", help=help))


def load_input(source: Input, roots: Iterable[Path]) -> Model:
    """Return the model of an input.

    Args:
        source: The input; a pipe that was found in a folder or by a pattern is refused, and not waited for.
        roots: Folders in which external data is allowed.

    Raises:
        ModelError: The model cannot be read.
    """
    if source.path == STREAM:
        return load_text(sys.stdin.buffer) if source.text else load(sys.stdin.buffer)
    return load_file(source.path, roots, pipes=not source.found)


def write_result(
    model: Model,
    source: Input,
    suffix: str,
    destination: Output,
    roots: Iterable[Path],
    external: str,
    force: bool,
    notes: list[str],
) -> str:
    """Write a result to its destination, add notes about it to `notes`, and return the path, "-" for stdout."""
    if destination.stream:
        write_stream(model, sys.stdout.buffer, external=external, text=destination.text)
        if external != "inline" and any(map(is_external, tensors(model.proto))):
            notes.append("external data is not part of the stream; it stays where it is")
        return STREAM
    if external == "link":
        notes.append(
            "data files that were linked have two names: give --allow-external-root to read either model; "
            "--external-data copy leaves each one name, and shares blocks where the file system can"
        )
    if destination.file:
        model.save(destination.file, external=external, force=force)
        return destination.file
    folder, relative = destination.result_path(source, suffix)
    if destination.in_place:
        save_in_place(model, folder, relative, roots, external=external, force=force)
    else:
        save_below(model, folder, relative, external=external, force=force)
    return os.path.join(folder, relative)
