"""The options that name the target of a conversion, for the verbs that convert and that say what prevents it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from opset.cli.configuration import target_files, target_option
from opset.errors import Finding, UsageError, safe_text
from opset.opsets.registry import Registry
from opset.version_converter import Target, target_of
from opset.version_converter.targets import parse_versions


class TargetChoice(NamedTuple):
    """The options that name a target."""

    to: tuple[str, ...]
    release: str | None
    runtime: str | None
    inexact_types: bool
    files: tuple[Path, ...]
    ir_version: int | None

    def target(self, registry: Registry, *, keeps_opsets: bool) -> Target:
        """Return the target that the options name; if none does, the model's own opsets.

        Args:
            registry: The operators that are known.
            keeps_opsets: Whether options may name no target; with an IR version they always may.

        Raises:
            UsageError: U101 for a target that is not known, U103 if none or several are given.
            SchemaError: The file of a runtime has faults.
        """
        self._verify_number(keeps_opsets or self.ir_version is not None)
        return target_of(
            parse_versions(self.to) if self.to else None,
            release=self.release,
            runtime=self.runtime,
            ir_version=self.ir_version,
            registry=registry,
            targets=target_files(self.files),
            inexact_types=self.inexact_types,
            keeps_opsets=keeps_opsets,
        )

    def _verify_number(self, keeps_opsets: bool) -> None:
        """Raise UsageError U103 if several options name a target, or none does, unless the model `keeps_opsets`."""
        options = {"--to": self.to, "--release": self.release, "--for": self.runtime}
        given = [option for option, value in options.items() if value]
        if len(given) > 1 and given != ["--to", "--for"]:
            message = f"{' and '.join(given)} exclude each other"
            raise UsageError(Finding("U103", message, help="a conversion has one target: leave out all others"))
        if not given and not keeps_opsets:
            help = "pass --to, --release or --for: --to 21, --release 1.15, --for onnxruntime==1.17"
            why = ""
            if self.files and not (file := self.files[0]).exists():
                why = f"--target names the YAML file of a runtime, and '{safe_text(file)}' is none"
                help = f"pass {'--to' if str(file).isdigit() else '--to, --release or --for'} in its place"
            raise UsageError(Finding("U103", "a conversion needs a target", why=why, help=help))


def _drop_other_defaults(values: dict[str, Any]) -> None:
    """Reset targets that the configuration names if the call itself names one."""
    ctx = click.get_current_context()
    sources = {name: ctx.get_parameter_source(name) for name in ("to", "release", "runtime")}
    if ParameterSource.COMMANDLINE in sources.values():
        for name, source in sources.items():
            if source is ParameterSource.DEFAULT_MAP:
                values[name] = () if name == "to" else None


def target_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command with added options that name a target; the command takes them as one argument, `choice`."""

    @wraps(command)
    def run_command(**values: Any) -> Any:
        _drop_other_defaults(values)
        choice = TargetChoice(**{name: values.pop(name) for name in TargetChoice._fields})
        return command(choice=choice, **values)

    options = (
        click.option(
            "--to", multiple=True, metavar="VERSION", help="Opset 21, or a domain's: ai.onnx.ml=3. Repeatable."
        ),
        click.option("--release", metavar="RELEASE", help="The versions of an ONNX release: 1.15."),
        click.option(
            "--for", "runtime", metavar="RUNTIME", help="The operators that a runtime runs: onnxruntime==1.17."
        ),
        click.option(
            "--inexact-types",
            is_flag=True,
            help="With --for, also types in which results may differ: double in float, int64 in int32.",
        ),
        target_option,
        click.option(
            "--ir-version", type=int, metavar="N", help="IR version; without it, as high as needed and no higher."
        ),
    )
    for option in reversed(options):
        run_command = option(run_command)
    return run_command
