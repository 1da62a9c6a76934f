"""`opset schema`: the JSON Schema of a verb's report."""

from __future__ import annotations

import click

from opset.cli import output
from opset.cli.report_schemas import OTHERS, REPORTS, line_schema, report_schema
from opset.cli.words import Words


@click.command(no_args_is_help=True)
@click.argument("report", type=Words([*REPORTS, *OTHERS]), metavar="REPORT")
@click.option("--line", is_flag=True, help="Of a line of --report FILE.")
@output.format_option
def command(report: str, line: bool, form: str) -> int:
    """Print the JSON Schema of a verb's output with --format json.

    REPORT is the name of a verb, or error, which is written if the call itself is wrong.
    """
    if line and report not in REPORTS:
        raise click.UsageError(f"{report} has no --report; these have: {', '.join(REPORTS)}")
    output.write_json(line_schema(report) if line else report_schema(report))
    return 0
