"""Work on many models, in sequence or in processes: one report each, a summary, the worst exit status."""

from __future__ import annotations

import os
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import click

from opset.budget import Limits
from opset.cli import output
from opset.cli.configuration import Folders, folders_for, hooks_option, schemas_option
from opset.cli.inputs import (
    STREAM,
    Input,
    Output,
    Stamp,
    expand_inputs,
    name_input,
    output_for,
    refuse_output_as_input,
    refuse_report_as_model,
    roots_option,
    stamp_of,
)
from opset.cli.limits import limits_options, parse_size
from opset.cli.progress import Progress
from opset.cli.records import (
    ModelReport,
    Record,
    Result,
    View,
    brief_line,
    no_detail,
    report_of_json,
)
from opset.cli.report_options import ReportFiles, report_option
from opset.cli.words import Words
from opset.cli.working import Job, Workshop, has_stream, in_order, yield_records
from opset.errors import SHOWN, Finding, FindingList, UsageError, safe_text
from opset.model import Model, load, write_stream
from opset.model.storage.container import load_file, load_text
from opset.model.storage.external import is_external, tensors
from opset.model.storage.parts import ONNX_TEXT
from opset.model.storage.remote import is_remote, local_path
from opset.model.storage.writing import MODES, save_below, save_in_place
from opset.plain_text import count_text, style_text

if TYPE_CHECKING:
    from opset.cli.batch_reports import BatchReport, FindingTotal, Totals
    from opset.cli.journal import Journal
    from opset.cli.report_streams import ReportStream

Command = TypeVar("Command", bound=Callable[..., Any])
Revive = Callable[[Mapping[str, Any]], Any]
"""Makes the result of its JSON."""
FEW = 10
"""Models on each of which text reports in full; of more, each has one line."""


class VerbCall(NamedTuple):
    """The options of a verb that reads models, and those of one that writes them.

    `alone` is true if there is one model; `output` is the destination of the results, None if no model is written. Of a
    model that an earlier call began to work on, files that were written after the time `since` may be written again.
    """

    known: Folders
    limits: Limits
    roots: tuple[Path, ...]
    jobs: int
    quiet: bool
    form: str
    verbose: bool = False
    reports: ReportFiles = ReportFiles()
    shard: tuple[int, int] | None = None
    max_memory: int | None = None
    executor: Any = None
    given: str | None = None
    in_place: bool = False
    force: bool = False
    external: str = "auto"
    alone: bool = False
    output: Output | None = None
    since: int = 0

    @property
    def has_data(self) -> bool:
        """Whether reports are written as JSON, which says more than text does."""
        return self.form == "json" or self.reports != ReportFiles()

    def write_result(self, result: Model, source: Input, suffix: str, notes: list[str]) -> str:
        """Write the result for a model, add notes about it, and return its path, "-" for stdout."""
        assert self.output is not None
        force = self.force or (self.since > 0 and self._is_written_since(source, suffix))
        return write_result(result, source, suffix, self.output, self.roots, self.external, force, notes)

    def _is_written_since(self, source: Input, suffix: str) -> bool:
        """Whether all files in the place of the result for a model were written after the time `since`."""
        assert self.output is not None
        if is_remote(source.path) or is_remote(self.output.file or self.output.folder):
            return True  # such places do not tell when a file was made
        path = self.output.file or os.path.join(*self.output.result_path(source, suffix))
        there = [each for each in (path, f"{path}.data") if os.path.lexists(each)]
        return all(os.lstat(each).st_ctime_ns >= self.since for each in there)

    def can_skip_writing(self, changed: bool) -> bool:
        """Whether writing can be skipped, since the result is the unchanged input and would replace it."""
        in_place = self.output is not None and self.output.in_place
        return in_place and not changed and self.external in ("auto", "keep")


def _parse_shard(ctx: click.Context, param: click.Parameter, value: str | None) -> tuple[int, int] | None:
    """Return both numbers of `--shard i/n`. Raises BadParameter for another text."""
    if value is None:
        return None
    number, slash, count = value.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise click.BadParameter(f"{value!r} is not i/n, such as 3/8, with i from 1 to n")
    return int(number), int(count)


_SHARED = (
    roots_option,
    schemas_option,
    click.option(
        "-j", "--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Number of processes for many inputs."
    ),
    click.option("-q", "--quiet", is_flag=True, help="Write only errors; another --format is written as ever."),
    click.option("-v", "--verbose", is_flag=True, help=f"Report in full on each of more than {FEW} models."),
    click.option(
        "--max-memory",
        callback=parse_size,
        metavar="SIZE",
        help="Greatest memory of a process for one model, beside what it has when idle: 512M, 2G.",
    ),
    click.option(
        "--shard",
        callback=_parse_shard,
        metavar="I/N",
        help="Only part I of N of the models, which does not depend on what other models there are.",
    ),
    click.option("--executor", metavar="dask://HOST:PORT", help="Work on the processes of a Dask cluster."),
    output.findings_format_option,
)
"""Options of all verbs that read models."""


def _common_options(pages: bool) -> tuple[Callable[[Any], Any], ...]:
    """Return the options of a verb that reads models, and has pages to look at or has none, in their order."""
    return *_SHARED[:5], report_option(pages), *_SHARED[5:]


class Verb(NamedTuple):
    """A verb that works on many models.

    `words` name each status in a summary, `undone` is the message about a model whose process died, `files` are the
    names of Python files beside operator YAML that the verb may run, and `late` is the code of work that took too long.
    """

    words: Mapping[str, str]
    undone: str
    files: tuple[str, ...]
    late: str = "C401"


def writing_options(output_help: str, *, pages: bool = True) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of a verb that writes models, which the verb takes as `call`.

    The verb raises SchemaError for faulty folders of operator YAML once, before any model is read.

    Args:
        output_help: The help of -o.
        pages: Whether the verb has pages to look at.
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
            type=Words(MODES),
            default="auto",
            show_default=True,
            help="How weights in external files are handled.",
        ),
        *_common_options(pages),
    )


def reading_options(*, pages: bool) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of a verb that reads models and writes none, taken as `call`.

    The verb raises SchemaError for faulty folders of operator YAML once, before any model is read. `pages` is whether
    it has pages to look at.
    """
    return _options_for_call(hooks_option, limits_options, *_common_options(pages))


def _options_for_call(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds options which a verb takes as `call`."""

    def decorate(command: Command) -> Any:
        @wraps(command)
        def run_command(folders: tuple[Path, ...], allow_hooks: bool | None, **values: Any) -> Any:
            known = folders_for(folders, allow_hooks)
            known.registry()
            call_options = {name: values.pop(name) for name in VerbCall._fields if name in values}
            return command(call=VerbCall(known, **call_options), **values)

        for option in reversed(options):
            run_command = option(run_command)
        return run_command

    return decorate


@dataclass(eq=False, repr=False)
class Reporting(Generic[Result]):
    """How a verb reports on models.

    - `write`: writes the full report on a model as text, to a stream, quietly if its last argument is true;
    - `detail`: the words about a result on the one line about one of many models;
    - `add`: takes the report on each model, to sum it up; if it needs results, `revive` makes them of JSON;
    - `whole`: returns the report on all models, of their reports, the summary, notes and totals; None for BatchReport.
    """

    write: Callable[[ModelReport[Result], IO[str], bool], None]
    detail: Callable[[Result], str] = no_detail
    add: Callable[[ModelReport[Result]], None] | None = None
    revive: Revive | None = None
    whole: Callable[..., BatchReport] | None = None


def process_files(
    inputs: tuple[str, ...],
    call: VerbCall,
    verb: Verb,
    work: Callable[..., ModelReport[Result]],
    settings: object,
    reporting: Reporting[Result],
    *,
    writes: bool = True,
) -> int:
    """Process the models that a verb is given, report on each, and return the exit status.

    Args:
        work: Returns the report on one model; it takes `settings`, `call` and `registry` as keywords.
        writes: Whether models are written; if not, the report goes to stdout.

    Raises:
        ModelError: An input stands for no model.
        UsageError: The output does not fit the inputs, or the report of an earlier call is not to be continued.
    """
    names_output = call.in_place or call.given is not None
    call = call._replace(given=call.given and local_path(call.given))
    models = expand_inputs(inputs, products=names_output)
    if writes and not names_output:
        refuse_output_as_input(models)
    destination = output_for(call.given, call.in_place, models) if writes or names_output else None
    for report in call.reports:
        refuse_report_as_model(report, models, destination)
    if destination is not None and writes:
        refuse_terminal(destination)
    if call.executor is not None:
        _check_executor(call, models)
        models = [each.absolute() for each in models]
        destination = destination and destination.absolute()
    call = call._replace(alone=len(models) == 1, output=destination if writes else None)
    if call.shard is not None:
        number, count = call.shard
        models = [each for each in models if zlib.crc32(os.fsencode(each.path)) % count == number - 1]
    with ExitStack() as stack:
        journal = None
        if call.reports.journal is not None:
            journal = _open_journal(call.reports.journal, call.known)
            stack.callback(journal.close)
        return _Batch(models, call, verb, reporting, journal, stack).run(work, settings, writes)


def _check_executor(call: VerbCall, models: Sequence[Input]) -> None:
    """Raise UsageError U103 if options do not go with work on a cluster."""
    if call.max_memory is not None:
        help = "limit the cluster's workers: dask worker --memory-limit"
        raise UsageError(Finding("U103", "--max-memory limits processes of this machine alone", help=help))
    if has_stream(models):
        raise UsageError(Finding("U103", "the workers of a cluster have no stdin", help="name files"))


def _open_journal(path: str, known: Folders) -> Journal:
    """Return the journal of the current call."""
    from opset.cli.journal import Journal, digest_of_call

    return Journal(path, digest_of_call(click.get_current_context(), known))


def _findings_stream(form: str, stream: IO[str]) -> ReportStream:
    """Return the report on a stream in a form of findings."""
    from opset.cli.findings_formats import STREAMS

    return STREAMS[form](stream)


def _open_products(call: VerbCall, words: Mapping[str, str], stream: IO[str]) -> list[ReportStream]:
    """Return the reports of a call that are not text: one on a stream, and a page."""
    from opset.cli.report_streams import JsonStream, page_stream

    products: list[ReportStream] = []
    if call.form == "json":
        products.append(JsonStream(stream))
    elif call.form != "text":
        products.append(_findings_stream(call.form, stream))
    if call.reports.page is not None:
        products.append(page_stream(call.reports.page, words, call.force))
    return products


class _Batch:
    """The models of a call, and the state of the work on them: numbers, sums and the worst exit status."""

    def __init__(
        self,
        models: list[Input],
        call: VerbCall,
        verb: Verb,
        reporting: Reporting[Any],
        journal: Journal | None,
        stack: ExitStack,
    ) -> None:
        self.models, self.call, self.verb, self.reporting, self.journal = models, call, verb, reporting, journal
        self.notes = call.known.note_left_out(call.quiet, *verb.files)
        self.statuses: Counter[str] = Counter()
        self.totals: Totals | None = None
        """The sums of findings, None before the first."""
        self.worst = 0
        # The report goes where the model does not.
        self.stream = sys.stderr if call.output is not None and call.output.stream else sys.stdout
        is_text = call.form == "text"
        self.is_brief = is_text and len(models) > FEW and not call.verbose
        self.products: list[ReportStream] = []
        if not is_text or call.reports.page is not None:
            self.products = _open_products(call, verb.words, self.stream)
        self.view = View(
            line=self.is_brief,
            data=call.has_data,
            indented=journal is None,
            result=(is_text and not self.is_brief) or (reporting.add is not None and reporting.revive is not None),
            detail=reporting.detail,
        )
        self.progress = Progress(len(models), "models") if len(models) > 1 else None
        if self.progress is not None:
            stack.callback(self.progress.close)

    def run(self, work: Callable[..., ModelReport[Any]], settings: object, writes: bool) -> int:
        """Work on all models, report on them, and return the exit status."""
        for product in self.products:
            product.begin()
        pending, stamps, resumed = self._resume()
        start = partial(start_work, work, settings, self.call)
        verb = self.verb
        seconds, memory = self.call.limits.timeout, self.call.max_memory
        shop = Workshop(start, self.view, verb.undone, verb.late, verb.words, seconds, memory)
        several = len(self.models) > 1 and not has_stream(self.models)  # other processes have no stdin
        isolated = (several and (seconds is not None or self.journal is not None)) or memory is not None
        processes = self.call.jobs if several else 1
        jobs = self._yield_jobs(pending, stamps, writes)
        records = yield_records(shop, jobs, len(pending), processes, self.call.executor, isolated)
        with closing(records):
            at_once = self.journal is not None or (self.is_brief and not self.products)
            for index, record in records if at_once else in_order(records):
                if self.journal is not None:
                    self.journal.add(pending[index].path, stamps.pop(index), record.data)
                self._report(record)
        if self.journal is not None:
            self.journal.finish(self.models)
            if self.products:
                self._report_journal()
        self._end(resumed)
        return self.worst

    def _resume(self) -> tuple[list[Input], dict[int, Stamp], int]:
        """Report on models that are in the journal; return the others, a place for stamps, and the number reported."""
        if self.journal is None:
            return self.models, {}, 0
        pending = []
        for model in self.models:
            data = self.journal.find(model, stamp_of(model))
            if data is None:
                pending.append(model)
            else:
                self._count(report_of_json(data, self.reporting.revive))
        return pending, {}, len(self.models) - len(pending)

    def _yield_jobs(self, pending: list[Input], stamps: dict[int, Stamp], writes: bool) -> Iterator[Job]:
        """Yield the models to work on; the journal says of each that work has begun."""
        for index, model in enumerate(pending):
            since = 0
            if self.journal is not None:
                stamps[index] = stamp_of(model)
                since = self.journal.start(model) if writes and model.path != STREAM else 0
            yield Job(model, since)

    def _count(self, report: ModelReport[Any]) -> None:
        """Add the report on a model to the sums."""
        self.statuses[report.status] += 1
        self.worst = max(self.worst, report.exit_status)
        if report.errors:
            self._add_findings(report.errors)
        if self.reporting.add is not None:
            self.reporting.add(report)
        if self.progress is not None:
            self.progress.advance()

    def _add_findings(self, findings: FindingList) -> None:
        """Add the findings on a model to their sums."""
        from opset.cli.batch_reports import Totals

        self.totals = self.totals or Totals()
        self.totals.add(findings)

    def _report(self, record: Record) -> None:
        """Count a model, and write its record."""
        report = record.report
        if self.journal is None:
            for product in self.products:
                product.add(report, record.data)
        if self.call.form != "text":
            self._count(report)
            return
        failed = bool(report.errors or report.internal_error)
        stream = sys.stderr if self.call.quiet else self.stream
        with self.progress.aside(stream) if self.progress is not None else ExitStack():
            if self.call.quiet and report.exit_status and not failed:  # --check: it would change
                stream.write(f"{record.line or brief_line(report, self.view, self.verb.words)}\n")
            elif not self.is_brief:
                self.reporting.write(report, self.stream, self.call.quiet)
            elif failed or not self.call.quiet:
                stream.write(f"{record.line}\n")
        self._count(report)

    def _report_journal(self) -> None:
        """Write the reports on all models in another form, from the journal, which has them in order."""
        assert self.journal is not None
        for data, text in self.journal.reports():
            for product in self.products:
                product.add(report_of_json(data, None), text)

    def _end(self, resumed: int) -> None:
        """Write the summary of all models."""
        if self.progress is not None:
            self.progress.close()
        words = self.verb.words
        summary = {"models": len(self.models), **{each: self.statuses[each] for each in words}}
        totals = [] if self.totals is None else self.totals.rows()
        if self.products or self.reporting.whole is not None:
            whole = self._report_whole(summary, totals)
            for product in self.products:
                product.end(whole)
        if self.call.form != "text" or self.call.quiet:
            return
        if len(self.models) != 1 or resumed:
            counts = [f"{self.statuses[each]:,} {word}" for each, word in words.items() if self.statuses[each]]
            number = count_text(len(self.models), "model")
            self.stream.write(f"{number}{': ' * bool(counts)}{', '.join(counts)}\n")
            if resumed:
                were = "was" if resumed == 1 else "were"
                self.stream.write(f"  {resumed:,} of them {were} in {safe_text(self.call.reports.journal)} already\n")
            if self.is_brief:
                self._write_totals(totals)
        if self.call.reports.page is not None:
            self.stream.write(f"report: {safe_text(self.call.reports.page)}\n")

    def _report_whole(self, summary: Mapping[str, int], totals: Sequence[FindingTotal]) -> BatchReport:
        """Return the report on all models, which does not hold their reports."""
        from opset.cli.batch_reports import BatchReport

        whole = self.reporting.whole or BatchReport
        return whole((), {**summary, "exit_status": self.worst}, tuple(self.notes), tuple(totals))

    def _write_totals(self, totals: Sequence[FindingTotal]) -> None:
        """Write the first sums of findings as text."""
        from opset.cli.batch_reports import total_lines

        self.stream.writelines(f"{line}\n" for line in total_lines(totals, SHOWN))


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
    name = name_input(report.input)
    if lines:
        stream.write(f"{style_text(name, 'bold', stream)}: {lines[0]}\n")
        stream.writelines(f"{line}\n" for line in lines[1:])
        if report.output not in (None, STREAM):
            stream.write(f"  wrote {safe_text(report.output)}\n")
    if report.internal_error:
        (errors or sys.stderr).write(f"{name}: {report.internal_error}\n")
    elif report.errors:
        output.write_errors(report.errors, errors)


def start_work(
    work: Callable[..., ModelReport[Any]], settings: object, call: VerbCall
) -> Callable[[Job], ModelReport[Any]]:
    """Return the function that processes one model."""
    registry = call.known.registry()

    def process(job: Job) -> ModelReport[Any]:
        return work(job.model, settings=settings, call=call._replace(since=job.since), registry=registry)

    return process


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
        syntax = (model.syntax or ONNX_TEXT) if destination.text else ""
        write_stream(model, sys.stdout.buffer, external=external, syntax=syntax)
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
