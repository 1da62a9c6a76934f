"""The options of a verb that limit its work."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from opset.budget import Limits
from opset.cli.words import Number

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_size(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Return the number of bytes of a size such as 1000000, 512M or 2G. Raises BadParameter for another text."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d{1,18})([KMGT]?)(?:i?B)?", value, re.IGNORECASE | re.ASCII)
    if match is None:
        raise click.BadParameter(f"{value!r} is no size such as 1000000, 512M or 2G")
    return int(match[1]) * _UNITS[match[2].upper()]


def limits_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with the options --max-steps, --max-bytes and --timeout, which it takes as `limits`."""

    @wraps(command)
    def run_command(max_steps: int | None, max_bytes: int | None, timeout: float | None, **options: Any) -> Any:
        return command(limits=Limits(max_steps, max_bytes, timeout), **options)

    options = (
        click.option("--max-steps", type=click.IntRange(min=1), metavar="N", help="Greatest number of steps of work."),
        click.option("--max-bytes", callback=parse_size, metavar="SIZE", help="Greatest memory for values: 512M, 2G."),
        click.option(
            "--timeout",
            type=Number(min=0, min_open=True),
            metavar="SECONDS",
            help="Greatest time in seconds.",
        ),
    )
    for option in reversed(options):
        run_command = option(run_command)
    return run_command
