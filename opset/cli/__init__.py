"""The command line: one module for each verb, imported when the verb is used; exit statuses are decided here.

Exit status: 0 done; 1 findings, a conversion refused, or an evaluation that failed; 2 usage or configuration; 3 input
unreadable or unsafe; 70 internal error; 130 interrupted, 143 terminated, 141 when a pipe is broken.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import pairwise
from keyword import iskeyword
from typing import IO, Any

import click

from opset import __version__
from opset.cli import signals
from opset.cli.output import internal_error, shortage, write_errors
from opset.errors import Finding, FindingList, OpsetError, SchemaError, safe_text
from opset.opsets.faults import DEBUG, trace

# Once the verb `list` is imported, that name is its module here.
VERBS = {
    "convert": "Convert models to other operator set versions.",
    "blockers": "Show what stands in the way of a conversion.",
    "lower": "Express operators that a runtime lacks by others.",
    "inline": "Put the nodes of functions in place of their calls.",
    "extract": "Cut a part out of a model, or add outputs to it.",
    "merge": "Join two models into one.",
    "reduce": "Make a model small that shows a refusal or a failure.",
    "check": "Check that models follow the specification.",
    "infer": "Infer the types and shapes of a model's values.",
    "run": "Evaluate a model with the reference kernels.",
    "verify": "Run two models, and compare their outputs.",
    "show": "Show what an operator is, or what a model contains.",
    "info": "Show what a model contains, and which runtimes take it.",
    "text": "Show a model in ONNX text syntax, and make models of it.",
    "list": "List operators, domains, releases or runtimes.",
    "targets": "Show what runtimes take: operators, versions, types, limits.",
    "diff": "Show what changed between two versions of an operator, or two models.",
    "breaking": "Report what breaks what was released of operators.",
    "docs": "Write the documentation of operators.",
    "new": "Write the files of a new operator.",
    "bump": "Add a version to an operator, or say whether one is needed.",
    "lint": "Check operator YAML.",
    "test": "Run the examples of operators.",
    "check-contribution": "Check what the standard asks of an operator, point by point.",
    "testgen": "Write the examples of operators as test cases for runtimes.",
    "conformance": "Run test cases on a runtime, and report what it gets right.",
    "export": "Write the operators of a domain as an operator-set document.",
    "import": "Make a folder of operator YAML of such a document.",
    "schema": "Print the JSON Schema of a verb's report.",
    "explain": "Explain an error code, or show a guide.",
    "examples": "Write the files that the guides work with.",
    "completion": "Print a shell's completion script.",
}
UNCONFIGURED = frozenset(("examples", "schema", "explain", "completion"))
"""Verbs that read no configuration."""
USAGE, INTERNAL, INTERRUPTED, BROKEN_PIPE = 2, 70, 130, 141


class Verbs(click.Group):
    """The group of verbs, each imported when it is used; turns exceptions into an exit status.

    `arguments` are those of the call, and `wants_json` says that it asks for JSON.
    """

    arguments: tuple[str, ...] = ()
    wants_json = False

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the verbs in the order in which help shows them."""
        return [*VERBS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a verb's command."""
        if cmd_name not in VERBS:
            return None
        module = f"{cmd_name}_" if iskeyword(cmd_name) else cmd_name.replace("-", "_")
        command: click.Command = import_module(f"opset.cli.{module}").command
        if not any(each.name == "debug" for each in command.params):
            command.params.append(_debug_option())
        if ctx is not None and ctx.resilient_parsing:  # a shell completes what is typed
            from opset.cli.completing import complete_names

            complete_names(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the verb that a call names, its command, and the arguments behind it."""
        if ctx.resilient_parsing:  # a shell completes what is typed
            return super().resolve_command(ctx, args)
        verb = args[0]
        if verb not in VERBS and not verb.startswith("-"):
            from opset.cli.suggestions import verb_error  # of errors alone

            raise verb_error(verb, [*VERBS], ctx)
        name, command, rest = super().resolve_command(ctx, args)
        assert command is not None  # click refuses the others
        if {"-h", "--help"}.isdisjoint(rest):
            if verb not in UNCONFIGURED:
                from opset.cli.defaults import defaults_for

                ctx.default_map = {verb: defaults_for(verb, command, VERBS.keys() - UNCONFIGURED)}
            _refuse_repeated_options(click.Context(command, info_name=name, parent=ctx), rest)
        return name, command, rest

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return the context of a call."""
        self.wants_json = _asks_for_json(args)
        self.arguments = tuple(args)
        with self._report_usage_errors():
            return super().make_context(info_name, args, parent, **extra)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs with one line each, without importing any."""
        with formatter.section("Verbs"):
            formatter.write_dl([*VERBS.items()])

    def invoke(self, ctx: click.Context) -> None:
        """Run a verb; its result is the exit status."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")
        with self._report_usage_errors():
            status = self._run_verb(ctx)
        ctx.exit(status)

    @contextlib.contextmanager
    def _report_usage_errors(self) -> Iterator[None]:
        """Escape the messages of click, which repeat arguments, and write them as JSON if that is asked for."""
        try:
            yield
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            from opset.cli.suggestions import option_error, plain_message  # of errors alone

            if isinstance(error, click.NoSuchOption):
                message = safe_text(option_error(error, self._commands()))
            else:
                message = safe_text(plain_message(error))
            if error.ctx is None:
                error.ctx = self._context_of_call()
            if self.wants_json:
                self._write_error_report(FindingList([Finding("U109", message)]), USAGE)
            if isinstance(error, click.MissingParameter):
                raise
            raise click.UsageError(message, error.ctx) from error

    def _commands(self) -> Iterator[tuple[str, click.Command]]:
        """Yield all verbs with their commands."""
        for name in VERBS:
            command = self.get_command(click.Context(self, **self.context_settings), name)
            assert command is not None
            yield name, command

    def _context_of_call(self) -> click.Context:
        """Return a context with the verb that the call names, of which an error shows the usage."""
        root = click.Context(self, info_name="opset", **self.context_settings)
        name = self.arguments[0] if self.arguments else ""
        command = self.get_command(root, name)
        return root if command is None else click.Context(command, info_name=name, parent=root)

    def _write_error_report(self, errors: FindingList, status: int) -> None:
        """Write the report on a call that is wrong."""
        from opset.cli.error_report import write_error_report  # of errors alone

        write_error_report(errors, status)
        sys.stdout.flush()

    def _run_verb(self, ctx: click.Context) -> int:
        """Run a verb, write its errors, and return the exit status."""
        try:
            status: int = super().invoke(ctx)
            sys.stdout.flush()
            return status
        except OpsetError as error:
            trace(error)
            write_errors(error)
            # Outside of lint, operator YAML is configuration.
            status = USAGE if isinstance(error, SchemaError) else error.exit_status
            if self.wants_json:
                self._write_error_report(error.finding_list, status)
            return status
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except OSError as error:
            return _report_unwritable(error)
        except Exception as error:
            signals.raise_if_stopped()
            if (short := shortage(error)) is not None:
                write_errors(FindingList([short]))
                return USAGE
            sys.stderr.write(internal_error(error) + "\n")
            return INTERNAL


def _refuse_repeated_options(ctx: click.Context, args: Sequence[str]) -> None:
    """Raise UsageError if an option that names one thing is given more than once, since the last one would count alone.

    Of choices, numbers and limits the last one counts, so that a call may say otherwise than an alias.
    """
    try:
        _, _, order = ctx.command.make_parser(ctx).parse_args([*args])
    except click.UsageError:  # the verb reports it when it parses the call
        return
    for option in {each: None for each in order if order.count(each) > 1}:
        names_one = isinstance(option.type, (click.types.StringParamType, click.Path)) and option.callback is None
        if isinstance(option, click.Option) and names_one and not (option.multiple or option.is_flag):
            given = f"{max(option.opts, key=len)} is given {order.count(option):,} times, and takes one value"
            raise click.UsageError(f"{given}; make a call for each", ctx)


def _debug_option() -> click.Option:
    """Return the option --debug, which every verb has."""

    def ask(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value:
            os.environ[DEBUG] = "1"

    help = "Print the tracebacks of errors, also of those in functions of your own."
    return click.Option(["--debug"], is_flag=True, expose_value=False, is_eager=True, callback=ask, help=help)


def _asks_for_json(args: Sequence[str]) -> bool:
    """Whether the arguments of a call ask for JSON, even if they are wrong otherwise."""
    asked = [after for option, after in pairwise([*args, ""]) if option == "--format"]
    asked += [each.partition("=")[2] for each in args if each.startswith("--format=")]
    return asked[-1:] == ["json"]


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="opset", message="%(prog)s %(version)s")
def cli() -> None:
    """ONNX operator sets: what operators mean at a version, and conversion of models between versions.

    Try: opset convert model.onnx --to 21
    """


def main() -> None:
    """Run the command line and leave the process with its exit status."""
    signals.install_handlers()
    try:
        _open_closed_streams()
        status = _run_command_line()
    except signals.Stopped as stopped:
        status = stopped.code
        if status == INTERRUPTED:
            with contextlib.suppress(OSError):
                sys.stderr.write("interrupted\n")
    finally:
        signals.ignore_signals()
        gc.freeze()  # the system takes the memory back at once; Python would look through all objects first
    sys.exit(status)


def _run_command_line() -> Any:
    """Run the command line and return its exit status, even if no help or error can be written."""
    stdout, stderr = sys.stdout, sys.stderr
    try:
        try:
            status = cli.main(prog_name="opset", standalone_mode=False)
        except click.ClickException as error:
            error.show()
            status = error.exit_code
        except SystemExit:
            if sys.stdout is stdout:
                raise
            sys.stdout, sys.stderr = stdout, stderr  # click wraps them where a pipe is broken
            raise BrokenPipeError from None
        sys.stdout.flush()
        sys.stderr.flush()
        return status
    except OSError as error:
        return _report_unwritable(error)


def _report_unwritable(error: OSError) -> int:
    """Report that stdout or stderr cannot be written to; return the exit status."""
    if error.filename is not None:
        sys.stderr.write(internal_error(error) + "\n")
        return INTERNAL
    _discard(sys.stdout)
    try:
        sys.stderr.flush()
    except OSError:
        _discard(sys.stderr)
    if isinstance(error, BrokenPipeError):
        return BROKEN_PIPE
    with contextlib.suppress(OSError):
        why, help = error.strerror or str(error), "write to a file: -o FILE"
        write_errors(FindingList([Finding("U104", "stdout cannot be written to", why=why, help=help)]))
    return USAGE


def _open_closed_streams() -> None:
    """Open the standard streams that the caller closed: stdin is empty, writing to stdout fails."""
    for name, mode, access in (("stdin", "r", os.O_RDONLY), ("stdout", "w", os.O_RDONLY), ("stderr", "w", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, access), mode, encoding="utf-8"))


def _discard(stream: IO[str]) -> None:
    """Redirect a stream to the null device, since Python flushes it once more at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
