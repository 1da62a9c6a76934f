"""`opset diff`: the changes between two versions of an operator, and their meaning for a conversion.

It also compares two models, which are told from an operator by being files: `model_versions` does that.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import click

from opset.catalog import changes, difference_words, operator_set_difference, worst_work
from opset.cli import output
from opset.cli.configuration import registry_for, schemas_option
from opset.cli.inputs import roots_option
from opset.cli.model_versions import FOLLOWING, Writing, diff_models, names_models
from opset.cli.operator_sets import domain_with_versions, opsets_difference_lines
from opset.cli.operators import OperatorDifference, change_lines, version_at, versions_of
from opset.cli.words import Words
from opset.errors import Finding, UsageError, escape_text, listing, quote, safe_text
from opset.model.storage.writing import MODES
from opset.plain_text import prose_lines, style_text
from opset.schemas.diff import signature_diff
from opset.schemas.names import domain_name

_NUMBER = re.compile(r"[+-]?\d{1,9}", re.ASCII)


class _Diff(click.Command):
    """The verb, which says what to write in place of an option that it had."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the arguments that are left. Raises UsageError U103 for --against."""
        for position, argument in enumerate(args):
            name, _, state = argument.partition("=")
            if name == "--against":
                others = args[:position] + args[position + 1 :]
                call = shlex.join(["opset", "breaking", state, *others] if state else ["opset", "breaking", *others])
                raise UsageError(Finding("U103", "breaking changes have a verb of their own", help=safe_text(call)))
        return super().parse_args(ctx, args)


@click.command(cls=_Diff, no_args_is_help=True)
@click.argument("what", required=False, metavar="[OPERATOR]|OLD")
@click.argument("before", required=False, metavar="A|NEW")
@click.argument("after", type=int, required=False, metavar="[B]")
@click.option("--domain", metavar="DOMAIN", help="Domain of the operator, or of two versions of an operator set.")
@schemas_option
@click.option(
    "--set-version",
    "version",
    is_flag=False,
    flag_value=FOLLOWING,
    metavar="[VERSION]",
    help="Write NEW to -o with this model version: 1.3.0, 7; without VERSION, with the lowest that follows.",
)
@click.option("-o", "--output", "given", metavar="FILE|-", help="Output file, with --set-version.")
@click.option("--force", is_flag=True, help="Overwrite an output that exists.")
@click.option(
    "--external-data",
    "external",
    type=Words(MODES),
    default="auto",
    show_default=True,
    help="How weights in external files are handled.",
)
@roots_option
@click.option("--no-weights", is_flag=True, help="Do not read weights to compare their data.")
@click.option("--report", metavar="FILE.html", help="Also write the difference of two models as a page.")
@click.option(
    "--format",
    "form",
    type=Words(["text", "json", "html", *output.FINDINGS_FORMATS]),
    default="text",
    help="Form of the output.",
)
def command(
    what: str | None,
    before: str | None,
    after: int | None,
    domain: str | None,
    folders: tuple[Path, ...],
    version: str | None,
    given: str | None,
    force: bool,
    external: str,
    roots: tuple[Path, ...],
    no_weights: bool,
    report: str | None,
    form: str,
) -> int:
    """Show what changed in an operator, or in an operator set, from version A to version B; or from model OLD to NEW.

    Of each transition between, the difference of the signatures, the change of meaning, and what converts a node, up
    and down: nothing to do, a derived adapter, a written one, or why it is impossible. Without OPERATOR, the operators
    that are new, removed or changed, in ai.onnx or --domain: `diff 17 21`.

    OLD and NEW are files of models, also as text, or one of them - for stdin. Shown is what changed for their
    callers, as MAJOR, MINOR or PATCH by the standard's versioning document, and what changed within: nodes, also in
    bodies and functions, weights by digest, and metadata. The exit status is 0 whatever changed, and 1 if VERSION is
    too low for it.
    """
    if what is None or before is None:
        raise click.UsageError("name an operator and two versions, two versions of an operator set, or two models")
    writing = Writing(version, given, force, external, report)
    if _NUMBER.fullmatch(before):
        of_models = {
            "--set-version": version is not None,
            "-o": given is not None,
            "--force": force,
            "--external-data": external != "auto",
            "--allow-external-root": bool(roots),
            "--no-weights": no_weights,
            "--report": report is not None,
            f"--format {form}": form not in ("text", "json"),
        }
        if names := listing([name for name, is_given in of_models.items() if is_given]):
            raise UsageError(Finding("U103", f"{names}: for models, not for operators", help="opset diff OLD NEW"))
        return _diff_versions(what, int(before), after, domain, folders, form)
    if after is not None:
        raise click.BadParameter(f"{before!r} is not a whole number", param_hint="'A'")
    if not names_models(what, before):
        help = f"opset diff {what} A B for versions of an operator, opset diff OLD NEW for files of models"
        message = f"{quote(before)} is neither a version nor the file of a model"
        raise UsageError(Finding("U103", message, help=safe_text(help)))
    if domain is not None or folders:
        raise UsageError(Finding("U103", "--domain and --schemas do not fit models", help="opset diff OLD NEW"))
    return diff_models(what, before, writing, roots, form, weights=not no_weights)


def _diff_versions(
    what: str, before: int, after: int | None, domain: str | None, folders: tuple[Path, ...], form: str
) -> int:
    """Show what changed between two versions of an operator, or of an operator set, and return the exit status."""
    registry = registry_for(folders)
    if after is None:
        if not (what.isascii() and what.isdigit() and len(what) < 10):
            help = f"opset diff {what} A B, or opset diff A B for two versions of an operator set"
            raise UsageError(Finding("U103", "a version is missing", help=safe_text(help)))
        name = domain_with_versions(registry, domain or "", int(what), before)
        versions_data = operator_set_difference(registry, name, int(what), before)
        output.write_product(versions_data, lambda: opsets_difference_lines(versions_data), form)
        return 0
    versions = versions_of(registry, what, domain)
    old, new = version_at(registry, versions, before), version_at(registry, versions, after)
    low, high = sorted((versions.index(old), versions.index(new)))
    crossed = changes(versions[low : high + 1], registry.type_sets)
    difference = signature_diff(old, new)
    data: OperatorDifference = {
        "domain": domain_name(new.domain),
        "operator": new.name,
        "before": before,
        "after": after,
        "since_before": old.since_version,
        "since_after": new.since_version,
        "difference": difference,
        "words": difference_words(difference, registry.type_sets),
        "transitions": crossed if before <= after else crossed[::-1],
        "up": worst_work([change.up for change in crossed]),
        "down": worst_work([change.down for change in crossed]),
    }
    output.write_product(data, lambda: _difference_lines(data), form)
    return 0


def _difference_lines(data: OperatorDifference) -> list[str]:
    """Return the changes between two versions of an operator as text."""
    title = style_text(safe_text(f"{data['operator']} {data['before']} -> {data['after']}"), "bold", sys.stdout)
    if not data["transitions"]:
        return [f"{title}: the same, version {data['since_before']}"]
    lines = [f"{title}: version {data['since_before']} -> {data['since_after']}"]
    lines += [line for words in data["words"] for line in prose_lines(escape_text(words), "  ")]
    backwards = data["since_before"] > data["since_after"]
    lines += ["", f"transitions{', each as the newer version changed it' if backwards else ''}"]
    lines += [line for transition in data["transitions"] for line in change_lines(transition)]
    return [*lines, "", safe_text(f"up: {data['up']}"), safe_text(f"down: {data['down']}")]
