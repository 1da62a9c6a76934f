"""`opset testgen`: writes the examples of operators as test cases for runtimes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import click

from opset.budget import Budget, Limits
from opset.cli import output, supervision
from opset.cli.configuration import folders_for, hooks_option, schemas_option
from opset.cli.domains import known_domain
from opset.cli.limits import limits_options
from opset.cli.operators import operator_at
from opset.cli.progress import show_progress
from opset.errors import Finding, FindingList, UsageError, safe_text
from opset.opsets.registry import Registry
from opset.output_folder import size_text
from opset.plain_text import count_text
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.workflow.corpus.cases import Corpus, Pick, build_corpus, pick_cases, write_corpus

SECONDS = 3600.0
"""Time that all examples may take together, unless --timeout is given."""


@dataclass(frozen=True)
class CorpusReport:
    """The corpus that was written: its folder, its cases by kind, its files, and the examples that are no cases."""

    folder: str
    cases: Mapping[str, int]
    files: int
    bytes: int
    written: int
    removed: int
    errors: FindingList
    notes: Sequence[str] = ()


class ListedCase(NamedTuple):
    """A test case with the operator, the version and the example that it is made of."""

    name: str
    kind: str
    domain: str
    operator: str
    version: int
    example: str


@click.command(no_args_is_help=True)
@click.argument("operators", nargs=-1, metavar="[OP[@V]]...")
@click.option("--all", "everything", is_flag=True, help="All operators, those of --domain if it is given.")
@click.option("-o", "--output", "folder", type=click.Path(file_okay=False), metavar="DIR", help="Folder to write to.")
@click.option("--every-version", is_flag=True, help="Each example at every version of its operator that it holds for.")
@click.option("--domain", metavar="DOMAIN", help="Domain of the operators.")
@click.option("--list", "listed", is_flag=True, help="Only list the cases; nothing is evaluated or written.")
@schemas_option
@hooks_option
@limits_options
@output.format_option
def command(
    operators: tuple[str, ...],
    everything: bool,
    folder: str | None,
    every_version: bool,
    domain: str | None,
    listed: bool,
    folders: tuple[Path, ...],
    allow_hooks: bool | None,
    limits: Limits,
    form: str,
) -> int:
    """Write the examples of operators as test cases: models of one node, inputs and expected outputs.

    They have the layout of onnx's backend tests, and a manifest. OP is Softmax or com.example.Scale, @V the operator at
    version V of its operator set. In DIR, files of an earlier run are replaced where they changed, and removed where
    they are no longer made; all others stay. All examples together may take an hour, or --timeout; where that is not
    enough, nothing is written.
    """
    if not listed and not folder:
        raise UsageError(Finding("U103", "there is no folder to write to", help="name one: -o DIR; or use --list"))
    if bool(operators) == everything:
        raise UsageError(Finding("U103", "it takes either operators or --all", help="opset testgen Softmax -o DIR"))
    known = folders_for(folders, allow_hooks)
    registry = known.registry()
    picks = _pick_examples(registry, operators, domain, every_version)
    if listed:
        return _list_cases(picks, form)
    assert folder is not None
    notes = known.note_left_out(form == "json", "adapters.py", "inference.py", "kernels.py")

    def work(budget: Budget) -> int:
        with show_progress(form == "json", "cases") as show:
            test_corpus = build_corpus(registry, picks, show, budget)
        return _write_cases(folder, test_corpus, notes, form)

    return supervision.run_in_bounds(work, limits, SECONDS)


def _write_cases(folder: str, test_corpus: Corpus, notes: Sequence[str], form: str) -> int:
    """Write cases into a folder, report their numbers, and return the exit status."""
    written = write_corpus(folder, test_corpus)
    kinds = Counter(case["kind"] for case in test_corpus.cases)
    size = sum(map(len, test_corpus.files.values()))
    report = CorpusReport(
        folder, dict(sorted(kinds.items())), len(test_corpus.files), size, *written, test_corpus.findings, tuple(notes)
    )
    if form == "text" and test_corpus.findings:
        output.write_errors(test_corpus.findings)

    def lines() -> list[str]:
        counted = ", ".join(f"{count:,} {kind}" for kind, count in sorted(kinds.items())) or "none"
        files = f"{count_text(len(test_corpus.files), 'file')}, {size_text(test_corpus.files.values())}"
        files += f"; {written.written:,} written, {written.removed:,} removed"
        return [f"{count_text(len(test_corpus.cases), 'case')} ({counted}) in {safe_text(folder)}: {files}"]

    output.write_product(report, lines, form)
    return 1 if test_corpus.findings else 0


def _pick_examples(
    registry: Registry, operators: tuple[str, ...], domain: str | None, every_version: bool
) -> list[Pick]:
    """Return the examples of the operators that the command names. Raises UsageError U105."""
    if not operators:
        domains = registry.domains if domain is None else [known_domain(registry, domain)]
        every = [registry.versions(name, each) for each in domains for name in registry.operators(each)]
        return pick_cases(registry, every, every_version)
    versions_by_name: dict[tuple[str, str], tuple[OpSchema, ...]] = {}
    wanted: dict[tuple[str, str], set[int]] = {}
    for operator in operators:
        versions, schema = operator_at(registry, operator, domain)
        key = versions[0].domain, versions[0].name
        versions_by_name[key] = versions
        wanted.setdefault(key, set()).add(0 if schema is None else schema.since_version)
    only = {key: versions for key, versions in wanted.items() if 0 not in versions}
    return pick_cases(registry, versions_by_name.values(), every_version, only)


def _list_cases(picks: list[Pick], form: str) -> int:
    """Write the list of cases, and return the exit status."""
    cases = []
    for name, kind, schema, example in ((each.name, each.kind, each.schema, each.example) for each in picks):
        domain = domain_name(schema.domain)
        cases.append(ListedCase(name, kind, domain, schema.name, schema.since_version, example.name))
    output.write_product(cases, lambda: [safe_text(f"{pick.kind}/{pick.name}") for pick in picks], form)
    return 0
