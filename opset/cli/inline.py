"""`opset inline`: puts the nodes of model-local functions in place of their calls."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import click

from opset.cli import output
from opset.cli.batch import Call, Verb, load_input, process_files, writing_options
from opset.cli.inputs import STREAM, Input
from opset.errors import SHOWN, brief_name, safe_text
from opset.model.graph.index import FunctionKey
from opset.opsets.registry import Registry
from opset.plain_text import style_text
from opset.schemas.names import domain_name
from opset.version_converter.inlining import inline_model

SUFFIX = "inlined"
WORDS = {"inlined": "inlined", "unchanged": "without such functions", "refused": "refused", "failed": "failed"}
VERB = Verb(WORDS, "the model was not inlined", ("adapters.py", "inference.py"))


class Settings(NamedTuple):
    """The settings for every model."""

    only: tuple[str, ...]
    exclude: tuple[str, ...]


@click.command(no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@click.option("--only", multiple=True, metavar="NAME", help="Inline this function alone. Repeatable.")
@click.option("--except", "exclude", multiple=True, metavar="NAME", help="Leave this function as it is. Repeatable.")
@writing_options("Output file or folder; by default beside the input.")
def command(inputs: tuple[str, ...], only: tuple[str, ...], exclude: tuple[str, ...], call: Call) -> int:
    """Put the nodes of a model's functions in place of the nodes that call them.

    INPUT is a file, a folder (all *.onnx and *.onnxtxt below it), a pattern, or - for stdin. The result is written
    beside the input as <name>-inlined.onnx unless -o or --in-place says otherwise. NAME is a function's name, with or
    without its domain: Scale, com.example.Scale, or com.example.Scale:half for one overload. --only takes operators,
    too: Gelu. A function that nothing calls any more is removed.
    """
    return process_files(inputs, call, VERB, inline_file, Settings(only, exclude), _write_report)


def inline_file(source: Input, settings: Settings, call: Call, registry: Registry) -> dict[str, Any]:
    """Inline the functions of one model, write the result if it was not refused, and return the report."""
    model = load_input(source, call.roots)
    inlining = inline_model(model, settings.only or None, settings.exclude, registry, call.limits)
    findings = inlining.refusals.in_file(source.path)
    data = {
        "input": source.path,
        "output": None,
        "functions": [{**_function_data(key), "calls": calls} for key, calls in inlining.calls.items()],
        "removed": [_function_data(key) for key in inlining.removed],
        "notes": inlining.notes,
        **output.findings_data(findings),
    }
    if inlining.model is None:
        return {**data, "status": "refused", "exit_status": 1}
    status = "inlined" if inlining.changes else "unchanged"
    if not call.can_skip_writing(bool(inlining.changes)):
        data["output"] = call.write_result(inlining.model, source, SUFFIX, inlining.notes)
    return {**data, "status": status, "exit_status": 0}


def _function_data(key: FunctionKey) -> dict[str, str]:
    """Return the name of a function as plain data."""
    domain, name, overload = key
    return {"domain": domain_name(domain), "name": name, "overload": overload}


def _function_label(named: dict[str, Any]) -> str:
    """Return the name of a function as text."""
    return brief_name(f"{named['domain']}.{named['name']}{named['overload'] and ':' + named['overload']}")


def _count_text(count: int, noun: str) -> str:
    """Return a number with its noun, in the plural if needed."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _write_report(data: dict[str, Any], stream: Any, quiet: bool) -> None:
    """Write the report of one model as text: inlined functions to `stream`, errors to stderr."""
    name = "stdin" if data["input"] == STREAM else safe_text(data["input"])
    if not quiet and data["status"] in ("inlined", "unchanged"):
        calls = sum(each["calls"] for each in data["functions"])
        functions = len(data["functions"])
        inlined_calls = f"{_count_text(calls, 'call')} of {_count_text(functions, 'function')} inlined"
        what = inlined_calls if calls else "nothing to inline"
        stream.write(f"{style_text(name, 'bold', stream)}: {what}\n")
        lines = [f"{_function_label(each)}: {_count_text(each['calls'], 'call')}" for each in data["functions"]]
        removed = len(data["removed"])
        lines += [f"removed, as nothing calls it: {_count_text(removed, 'function')}"] if removed else []
        lines = lines if len(lines) <= SHOWN else [*lines[:SHOWN], f"… and {len(lines) - SHOWN:,} more"]
        lines += [f"note: {safe_text(note)}" for note in data["notes"]]
        lines += [f"wrote {safe_text(data['output'])}"] if data["output"] not in (None, STREAM) else []
        stream.write("".join(f"  {line}\n" for line in lines))
    if "internal_error" in data:
        sys.stderr.write(f"{name}: {data['internal_error']}\n")
    elif data["errors"]:
        output.write_errors(output.findings_of(data))
