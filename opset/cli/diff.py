"""`opset diff`: the changes between two versions of an operator, and their meaning for a conversion."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from opset.budget import Limits
from opset.catalog import changes, difference_words, json_data, opsets_difference, worst_work
from opset.cli import output
from opset.cli.configuration import hooks_option, registry_for, schemas_option
from opset.cli.limits import limits_options
from opset.cli.operator_sets import domain_with_versions, opsets_difference_lines
from opset.cli.operators import change_lines, version_at, versions_of
from opset.errors import Finding, UsageError, escape_text, safe_text
from opset.plain_text import prose_lines, style_text
from opset.schemas.diff import signature_diff
from opset.schemas.names import domain_name


@click.command(no_args_is_help=True)
@click.argument("what", required=False, metavar="[OPERATOR]")
@click.argument("before", type=int, required=False, metavar="A")
@click.argument("after", type=int, required=False, metavar="B")
@click.option("--domain", metavar="DOMAIN", help="Domain of the operator, or of two versions of an operator set.")
@click.option(
    "--against",
    metavar="REV|FOLDER|FILE|RELEASE",
    help="Report what breaks in the schemas since a git revision, in comparison with a folder, the file of an operator "
    "or the JSON of opset docs, or since a release of ONNX. rev:, folder:, file: and release: say which it is.",
)
@click.option("--locked", is_flag=True, help="With --against: versions that its lock.json does not hold may change.")
@click.option("--no-examples", is_flag=True, help="With --against: do not run the examples of what changed.")
@click.option("--strict", is_flag=True, help="With --against: warnings fail, too.")
@click.option(
    "--approved",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --against: the breaks that are approved; approved.yaml of the schemas by default.",
)
@click.option("--today", metavar="DATE", help="With --against: the day on which approvals may have ended.")
@schemas_option
@hooks_option
@limits_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    help="Form of the output; markdown, for a pull request, with --against.",
)
@click.pass_context
def command(
    context: click.Context,
    what: str | None,
    before: int | None,
    after: int | None,
    domain: str | None,
    against: str | None,
    locked: bool,
    no_examples: bool,
    strict: bool,
    approved: Path | None,
    today: str | None,
    folders: tuple[Path, ...],
    allow_hooks: bool | None,
    limits: Limits,
    form: str,
) -> int:
    """Show what changed in an operator, or in an operator set, from version A to version B.

    Of each transition between, the difference of the signatures, the change of meaning, and what converts a node, up
    and down: nothing to do, a derived adapter, a written one, or why it is impossible. Without OPERATOR, the operators
    that are new, removed or changed, in ai.onnx or --domain: `diff 17 21`.

    With --against, report instead what breaks what was released: rules with codes, what each break needs, and how to
    mend it. The exit status is 1 where something breaks, and 3 where the states could not be compared. The examples of
    what changed may take five minutes together, or --timeout.
    """
    if against is not None:
        from opset.cli.breaking import Choices, compare_against

        _refuse_parameters(
            context, "takes no", "it compares all operators of --schemas", "what", "before", "after", "domain"
        )
        choices = Choices(folders, allow_hooks, approved, today, locked, not no_examples, strict)
        return compare_against(against, choices, form, limits)
    markdown = "form" if form == "markdown" else ""
    alone = ("strict", "approved", "today", "locked", "no_examples", "allow_hooks", *limits.as_dict(), markdown)
    _refuse_parameters(context, "is missing beside", "opset diff --against REV", *alone)
    if what is None or before is None:
        raise click.UsageError("name an operator and two versions, two versions of an operator set, or --against")
    registry = registry_for(folders)
    if after is None:
        if not (what.isascii() and what.isdigit() and len(what) < 10):
            help = f"opset diff {what} A B, or opset diff A B for two versions of an operator set"
            raise UsageError(Finding("U103", "a version is missing", help=safe_text(help)))
        name = domain_with_versions(registry, domain or "", int(what), before)
        versions_data = opsets_difference(registry, name, int(what), before)
        output.write_product(json_data(versions_data), lambda: opsets_difference_lines(versions_data), form)
        return 0
    versions = versions_of(registry, what, domain)
    old, new = version_at(registry, versions, before), version_at(registry, versions, after)
    low, high = sorted((versions.index(old), versions.index(new)))
    crossed = changes(versions[low : high + 1], registry.type_sets)
    difference = signature_diff(old, new)
    data = {
        "domain": domain_name(new.domain),
        "operator": new.name,
        "before": before,
        "after": after,
        "since_before": old.since_version,
        "since_after": new.since_version,
        "difference": difference,
        "words": difference_words(difference, registry.type_sets),
        "transitions": crossed if before <= after else crossed[::-1],
        "up": worst_work([change["up"] for change in crossed]),
        "down": worst_work([change["down"] for change in crossed]),
    }
    output.write_product(json_data(data), lambda: _difference_lines(data), form)
    return 0


def _refuse_parameters(context: click.Context, why: str, help: str, *names: str) -> None:
    """Raise UsageError U103 if one of these parameters is given."""
    conflicting = [name for name in names if context.params.get(name) not in (None, False)]
    if conflicting:
        labels = {"what": "OPERATOR", "before": "version", "after": "version", "form": "--format markdown"}
        shown_as = labels.get(conflicting[0], f"--{conflicting[0].replace('_', '-')}")
        raise UsageError(Finding("U103", f"--against {why} {shown_as}", help=help))


def _difference_lines(data: dict[str, Any]) -> list[str]:
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
