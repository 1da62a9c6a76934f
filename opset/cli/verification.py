"""The options of a verb that verifies a model that it made, and the verification."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from opset.budget import Limits
from opset.cli.words import Number, Words
from opset.errors import Finding, UsageError
from opset.model import Model
from opset.opsets.registry import Registry

if TYPE_CHECKING:
    from opset.verification.report import Verification

Command = TypeVar("Command", bound=Callable[..., Any])
UNVERIFIED = "unverified"
"""The status of a model that was not written, since it does not compute the same, or nothing could be compared."""
RUNTIMES = ("onnxruntime", "openvino")

tolerance_options = (
    click.option(
        "--data",
        multiple=True,
        metavar="FILE|DIR",
        help="Inputs in place of drawn ones, for one run: .npz, .json, a folder of test data. Repeatable.",
    ),
    click.option(
        "--seeds",
        type=click.IntRange(1, 1000),
        metavar="N",
        help="Number of inputs that are drawn; by default 3, of a small model up to 20.",
    ),
    click.option(
        "--rtol",
        type=Number(min=0),
        help="Relative tolerance; by default it follows from types and lengths of sums.",
    ),
    click.option(
        "--atol",
        type=Number(min=0),
        help="Absolute tolerance; by default the relative one times the output's median.",
    ),
)
"""Options that say on what two models are compared, and how closely."""


class Verifying(NamedTuple):
    """The options of a verification; `wanted` says whether one is made."""

    wanted: bool = False
    data: tuple[str, ...] = ()
    seeds: int | None = None
    rtol: float | None = None
    atol: float | None = None
    with_: str | None = None

    def verify(
        self,
        before: Model,
        after: Model,
        dims: dict[str, int],
        limits: Limits,
        registry: Registry,
        names: tuple[str, str],
    ) -> Verification:
        """Return the verification of two models. Raises UsageError U103 if sizes or data do not fit."""
        from opset.verification.verifying import VerificationSettings, verify_models  # which imports numpy

        settings = VerificationSettings(self.data, self.seeds, self.rtol, self.atol, dims, self.with_, limits)
        return verify_models(before, after, settings, registry, *names)


def verify_options(command: Command) -> Any:
    """Return a verb with the options --verify and those that go with it, which it takes as `verifying`."""

    @wraps(command)
    def run_command(verify: bool, verify_with: str | None, **options: Any) -> Any:
        given = {name: options.pop(name) for name in ("data", "seeds", "rtol", "atol")}
        verifying = Verifying(verify or verify_with is not None, with_=verify_with, **given)
        if not verifying.wanted and any(each not in (None, ()) for each in given.values()):
            help = "add --verify"
            raise UsageError(Finding("U103", "--data, --seeds, --rtol and --atol are for --verify", help=help))
        return command(verifying=verifying, **options)

    options = (
        click.option("--verify", is_flag=True, help="Run both models, and write nothing if their outputs differ."),
        click.option(
            "--verify-with",
            type=Words(RUNTIMES),
            help="Verify with the installed runtime in place of the reference kernels.",
        ),
        *tolerance_options,
    )
    for option in reversed(options):
        run_command = option(run_command)
    return run_command
