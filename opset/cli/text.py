"""`opset text`: shows a model in ONNX text syntax, and makes models of such text."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from opset.cli import output
from opset.cli.batch import load_input, refuse_terminal, write_result
from opset.cli.inputs import TEXT_STREAM, output_for, parse_input, roots_option
from opset.errors import Finding, UsageError
from opset.model.storage.parts import ONNX_TEXT, syntax_for
from opset.model.storage.writing import write_files
from opset.model.text.printing import to_text
from opset.model.text.wrapping import without_metadata, wrap_text
from opset.plain_text import terminal_columns


@dataclass(frozen=True)
class PrintedModel:
    """A model as text."""

    model: str
    text: str


@click.command(no_args_is_help=True)
@click.argument("model", metavar="FILE")
@click.option("-o", "--output", "given", metavar="FILE|-", help="Write to this path; its ending decides the form.")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="Leave out tensors of more than N values.")
@click.option("--no-metadata", is_flag=True, help="Leave out the metadata of models, graphs, nodes and values.")
@click.option(
    "--width",
    type=click.IntRange(min=20),
    metavar="N",
    help="Wrap lines to N columns; by default to those of a terminal, and not at all elsewhere.",
)
@click.option("--force", is_flag=True, help="Overwrite an output that exists.")
@roots_option
@output.format_option
def command(
    model: str,
    given: str | None,
    limit: int | None,
    no_metadata: bool,
    width: int | None,
    force: bool,
    roots: tuple[Path, ...],
    form: str,
) -> int:
    """Show a model as text, or write it as text or as a model.

    FILE is a model, - stdin, and text:- stdin as text. *.onnxtxt and *.onnxtext are in ONNX text syntax, *.textproto,
    *.prototxt, *.pbtxt and *.txtpb in protobuf's text format, *.json and *.onnxjson in its JSON. Without -o, ONNX text
    goes to stdout. It holds all of the model but external data and reads back to the same model, also with --width,
    and with --no-metadata without what that leaves out; with --limit it is for reading alone.
    """
    source = parse_input(model)
    as_text = given is not None and (given == TEXT_STREAM or syntax_for(given) == ONNX_TEXT)
    if limit is not None and given is not None and not as_text:
        raise UsageError(Finding("U103", "--limit leaves values out, which a model needs", help="give -o FILE.onnxtxt"))
    loaded = load_input(source, roots)
    if no_metadata:
        loaded = without_metadata(loaded)
    if limit is None and given is not None and not (as_text and width is not None):
        where = output_for(given, False, [source])
        if where.folder:
            raise UsageError(Finding("U104", "the output cannot be written", why="it is a folder", file=given))
        refuse_terminal(where)
        write_result(loaded, source, "", where, roots, "auto", force, [])
        return 0
    text = to_text(loaded, limit=limit)
    columns = width if width is not None or form == "json" else terminal_columns()
    if columns is not None:
        text = wrap_text(text, columns)
    if given is not None and given != TEXT_STREAM:
        write_files({given: text.encode()}, force=force)
    elif form == "json":
        output.write_product(PrintedModel(model, text), list, form)
    else:
        sys.stdout.write(text)
    return 0
