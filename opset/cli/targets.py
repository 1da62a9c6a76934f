"""`opset targets`: the runtimes that are known, and the operators and types that a release takes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from opset.cli import output
from opset.cli.configuration import target_files, target_option
from opset.cli.progress import show_progress
from opset.cli.words import Words
from opset.errors import Finding, UsageError, quote, safe_text
from opset.model.storage.atomic import output_exists_error
from opset.model.storage.writing import write_files
from opset.opsets.registry import default_registry
from opset.opsets.runtimes.model import (
    MATCH,
    NAMES_IN_FAULTS,
    RANGE,
    Kernel,
    KernelFault,
    Runtime,
    RuntimeTable,
    make_table,
)
from opset.opsets.runtimes.names import (
    INSTALLED,
    find_runtime,
    installed_runtime,
    parse_spec,
    releases_of,
    runtime_at,
    table_named,
    tables_with,
)
from opset.opsets.runtimes.wording import UNION, fault_text, limits_text, opsets_text, types_text, versions_text
from opset.plain_text import prose_lines, table_lines
from opset.schemas.names import domain_name, near_miss, normalize_domain, qualified_name

ACTIONS = ["list", "show", "probe"]
_INDENT = 14
"""Characters before the facts of a release."""


@dataclass(frozen=True)
class ListedTarget:
    """A runtime: its name and other names, its releases, how these are known, and whether its operators are."""

    runtime: str
    title: str
    aliases: Sequence[str]
    releases: Sequence[str]
    how: Sequence[str]
    lists_operators: bool


@dataclass(frozen=True)
class VersionLimits:
    """The lowest and the highest version that is taken; null where there is no limit, or none is known."""

    lowest: int | None
    highest: int | None


@dataclass(frozen=True)
class TargetRelease:
    """A release of a runtime: versions by domain, IR version, what it runs beside, how it is known, and notes."""

    runtime: str
    release: str
    title: str
    how: str
    source: str
    opsets: Mapping[str, VersionLimits]
    max_ir_version: int | None
    fallback: str | None
    kernels_of: str | None
    match: str
    lists_operators: bool
    union_types: bool
    casts: Mapping[str, str]
    io_types_not: Sequence[str]
    notes: Sequence[str]


@dataclass(frozen=True)
class TargetKernel:
    """The kernels of a runtime for an operator: versions, or opsets of the model; types by parameter, other limits."""

    versions: VersionLimits | None = None
    opsets: VersionLimits | None = None
    types: Mapping[str, Sequence[str]] = field(default_factory=dict)
    types_not: Sequence[str] = ()
    unasked: Sequence[str] = ()
    input_ranks: Sequence[int] = ()
    constant_inputs: Sequence[str] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Any] = field(default_factory=dict)
    outputs: Sequence[str] | int | None = None
    static_shape: bool = False
    known_ranks: bool = False
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class TargetFault:
    """Nodes that a runtime takes, and computes wrongly or fails at: what holds for them, and what comes out."""

    result: str
    gives: str
    nodes: TargetKernel
    values: Mapping[str, Any] = field(default_factory=dict)
    present: Sequence[str] = ()
    absent: Sequence[str] = ()
    empty: Sequence[str] = ()
    computed: Sequence[str] = ()
    known: Sequence[str] = ()
    scalars: Sequence[str] = ()
    captures: bool = False
    states: Mapping[str, str] = field(default_factory=dict)
    when: str = ""


@dataclass(frozen=True)
class TargetOperator:
    """An operator of a runtime with its kernels, of which a node has to fit one, and with their faults."""

    operator: str
    domain: str
    kernels: Sequence[TargetKernel]
    faults: Sequence[TargetFault] = ()


@dataclass(frozen=True)
class TargetReport:
    """A release of a runtime with its operators."""

    target: TargetRelease = field(metadata={"key": ""})
    operators: Sequence[TargetOperator] = ()


@click.command(no_args_is_help=True)
@click.argument("action", type=Words(ACTIONS))
@click.argument("spec", required=False, metavar="[RUNTIME[==RELEASE]]")
@click.argument("operator", required=False, metavar="[OPERATOR]")
@target_option
@click.option("-o", "--output", "given", metavar="FILE", help="With probe, write the YAML to this file.")
@click.option("--force", is_flag=True, help="Overwrite an output that exists.")
@output.format_option
def command(
    action: str,
    spec: str | None,
    operator: str | None,
    files: tuple[Path, ...],
    given: str | None,
    force: bool,
    form: str,
) -> int:
    """List runtimes, show a release of one, or ask the installed one.

    `list` has the runtimes that --for knows. `show onnxruntime` has the releases of one, `show onnxruntime==1.17:cuda`
    opsets, IR version and operators of a release, with OPERATOR those of one operator: Gelu, or
    ai.onnx.ml.TreeEnsemble. `probe onnxruntime`, or openvino, loads a model of one node for each version and type of
    the standard's operators in the package that is installed beside opset, and prints the result as YAML, which
    --target reads.
    """
    if action == "probe":
        return _probe(spec or "onnxruntime", operator, given, force, form)
    if given is not None or force:
        raise UsageError(Finding("U103", f"{action} writes no file", help="-o and --force are for probe"))
    if action == "list":
        if spec is not None:
            raise UsageError(Finding("U103", "list takes no runtime", help="opset targets show RUNTIME"))
        rows = [_listed_target(table) for table in tables_with(target_files(files)).values()]
        output.write_product(rows, lambda: _list_lines(rows), form)
        return 0
    if spec is None:
        raise UsageError(Finding("U103", "a runtime is missing", help="opset targets list has the names"))
    known = target_files(files)
    if not parse_spec(spec).release and operator is None:
        releases = [_release_data(each) for each in releases_of(spec, known)]
        table = table_named(parse_spec(spec).name, tables_with(known))
        output.write_product(releases, lambda: _releases_lines(table, releases), form)
        return 0
    runtime = find_runtime(spec, known)
    report = TargetReport(_release_data(runtime), tuple(_operators_of(runtime, operator)))
    output.write_product(report, lambda: _report_lines(runtime, report, operator), form)
    return 0


def _probe(spec: str, operator: str | None, given: str | None, force: bool, form: str) -> int:
    """Write the YAML of the installed runtime to stdout or to a file; return the exit status."""
    from opset.workflow.probing import probe_runtime, runtime_text  # which imports numpy

    if given is not None and not force and os.path.lexists(given):  # before work that takes long
        raise output_exists_error(given)
    runtime = installed_runtime(spec.strip().lower().removeprefix(INSTALLED))
    with show_progress(False, "operators") as show:
        document = probe_runtime(runtime, default_registry(), operator or "", show)
    text = runtime_text(document)
    if given is not None:
        write_files({given: text.encode()}, force=force)
    if form == "json":
        from opset.opsets.runtimes.loader import parse_runtime

        table = make_table(parse_runtime(text.encode(), given or "stdout"))
        probed = runtime_at(table, table.releases[0], {table.name: table})
        report = TargetReport(_release_data(probed), tuple(_operators_of(probed, None)))
        output.write_product(report, list, form)
    elif given is None:
        sys.stdout.write(text)
    else:
        counts = ", ".join(f"{len(each)} of {domain}" for domain, each in document["operators"].items())
        sys.stdout.write(f"{document['title']}: {counts or 'no operators'}\n  wrote {safe_text(given)}\n")
    return 0


def _listed_target(table: RuntimeTable) -> ListedTarget:
    releases = [row.release for row in table.releases]
    how = list(dict.fromkeys(row.how for row in table.releases))
    lists = table.has_operators or bool(table.kernels_of)
    return ListedTarget(table.name, table.title, table.aliases, releases, how, lists)


def _list_lines(rows: Sequence[ListedTarget]) -> list[str]:
    cells = [["runtime", "releases", "known", "how", "operators", "title"]]
    for row in rows:
        span = row.releases[0] if len(row.releases) == 1 else f"{row.releases[0]} to {row.releases[-1]}"
        operators = "yes" if row.lists_operators else "no"
        cells.append([row.runtime, span, str(len(row.releases)), ", ".join(row.how), operators, row.title])
    return table_lines(cells, indent="", right=[2])


def _release_data(runtime: Runtime) -> TargetRelease:
    """Return the data of a release, without its operators."""
    return TargetRelease(
        runtime=runtime.name,
        release=runtime.release,
        title=runtime.title,
        how=runtime.how,
        source="; ".join(dict.fromkeys(each for each in (runtime.table.source, runtime.source) if each)),
        opsets={domain_name(domain): VersionLimits(*span) for domain, span in runtime.opsets.items()},
        max_ir_version=runtime.max_ir,
        fallback=_written(runtime.fallback),
        kernels_of=_written(runtime.kernels_of),
        match=runtime.match,
        lists_operators=runtime.lists_operators,
        union_types=runtime.union_types,
        casts=runtime.casts,
        io_types_not=sorted(runtime.io_types_not),
        notes=(*runtime.notes, *runtime.table.notes),
    )


def _written(runtime: Runtime | None) -> str | None:
    return None if runtime is None else f"{runtime.name}=={runtime.release}"


def _releases_lines(table: RuntimeTable, releases: Sequence[TargetRelease]) -> list[str]:
    """Return the releases of a runtime as a table below its name."""
    cells = [["release", "opsets", "IR version", "how", "operators"]]
    for each in releases:
        ir_version = "-" if each.max_ir_version is None else f"up to {each.max_ir_version}"
        operators = "yes" if each.lists_operators else "no"
        cells.append([each.release, _opsets_text(each.opsets) or "-", ir_version, each.how, operators])
    names = f"; also {', '.join(table.aliases)}" if table.aliases else ""
    return [
        *prose_lines(f"{table.name}: {table.title}{names}"),
        *table_lines(cells),
        *(line for note in (*table.notes, *table.doubts) for line in prose_lines(f"note: {note}", "  ")),
    ]


def _operators_of(runtime: Runtime, operator: str | None) -> Iterator[TargetOperator]:
    """Yield the operators of a runtime, or one of them. Raises UsageError U105 if it does not take that one."""
    if operator is not None:
        domain, _, name = operator.rpartition(".")
        if not runtime.kernels(name, normalize_domain(domain)):
            _raise_missing(runtime, name, normalize_domain(domain))
        yield _operator_data(runtime, name, normalize_domain(domain))
        return
    for each in runtime.domains():
        for name in runtime.operators(each):
            yield _operator_data(runtime, name, each)


def _raise_missing(runtime: Runtime, name: str, domain: str) -> None:
    """Raise UsageError U105 for an operator that a runtime does not take."""
    written = f"{runtime.name} {runtime.release}"
    if not runtime.lists_operators:
        help = "opset targets list says of which runtimes they are"
        raise UsageError(Finding("U105", f"the operators of {written} are not known", help=help))
    versions = default_registry().versions(name, domain)
    if runtime.fallback is not None and runtime.fallback.kernels(name, domain):
        help = f"{_written(runtime.fallback)} runs such nodes"
    elif any(runtime.has_function(name, domain, each.since_version) for each in versions):
        help = "it may run by its function in the standard; opset lower puts other operators in its place"
    elif versions:
        help = (
            f"opset lower --ops {qualified_name(domain, name)} puts other operators in its place, if that is possible"
        )
    else:
        help = near_miss(name, runtime.operators(domain))
    raise UsageError(Finding("U105", f"{written} does not take {quote(name)} of {domain_name(domain)}", help=help))


def _operator_data(runtime: Runtime, name: str, domain: str) -> TargetOperator:
    kernels, faults = runtime.kernels(name, domain), runtime.faults(name, domain)
    return TargetOperator(name, domain_name(domain), [*map(_kernel_data, kernels)], [*map(_fault_data, faults)])


def _fault_data(fault: KernelFault) -> TargetFault:
    listed = {name: tuple(sorted(getattr(fault, name))) for name in NAMES_IN_FAULTS}
    states = {name: f"{parameter}.{axis}" for name, (parameter, axis) in fault.states.items()}
    more: dict[str, Any] = {"captures": fault.captures, "states": states, "when": fault.when, **listed}
    return TargetFault(fault.result, fault.gives, _kernel_data(fault.nodes), dict(fault.values), **more)


def _kernel_data(kernel: Kernel) -> TargetKernel:
    return TargetKernel(
        versions=VersionLimits(*kernel.versions) if kernel.versions else None,
        opsets=VersionLimits(*kernel.opsets) if kernel.opsets else None,
        types={name: sorted(types) for name, types in kernel.types.items()},
        types_not=tuple(sorted(kernel.types_not)),
        unasked=tuple(sorted(kernel.unasked)),
        input_ranks=tuple(sorted(kernel.input_ranks)),
        constant_inputs=tuple(sorted(kernel.constant_inputs)),
        attributes=dict(kernel.attributes),
        values=dict(kernel.values),
        outputs=kernel.outputs,
        static_shape=kernel.static_shape,
        known_ranks=kernel.known_ranks,
        notes=kernel.notes,
    )


def _report_lines(runtime: Runtime, report: TargetReport, operator: str | None) -> Iterator[str]:
    """Yield a release with its operators: a block of facts, and a table with a row for each kernel."""
    target = report.target
    yield from prose_lines(f"{target.runtime} {target.release}: {target.title}")
    facts = [("opsets", _opsets_text(target.opsets) or "not known")]
    facts.append(("IR version", "not known" if target.max_ir_version is None else f"up to {target.max_ir_version}"))
    facts.append(("known", f"{target.how}: {target.source}"))
    if target.fallback:
        facts.append(("fallback", f"{target.fallback} runs the nodes that it does not take"))
    if target.kernels_of:
        facts.append(("kernels", f"those of {target.kernels_of}"))
    if target.casts:
        facts.append(("casts", ", ".join(f"{name} to {into}" for name, into in target.casts.items())))
    if target.io_types_not:
        facts.append(("inputs", f"and outputs of a model have none of {', '.join(target.io_types_not)}"))
    if target.lists_operators:
        facts.append(("match", MATCH.get(target.match, target.match)))
        if target.union_types:
            facts.append(("types", UNION))
    facts.append(("operators", _count_text(runtime) if target.lists_operators else "not known"))
    facts += [("note", note) for note in target.notes]
    for name, text in facts:
        first, *rest = prose_lines(text, " " * _INDENT)
        yield f"  {name:<{_INDENT - 2}}{first[_INDENT:]}"
        yield from rest
    if report.operators:
        yield ""
        yield from _operator_lines(report.operators, runtime)
    if any(each.faults for each in report.operators):
        yield ""
        yield from _fault_lines(report.operators, runtime)


def _count_text(runtime: Runtime) -> str:
    counts = {domain_name(domain): len(runtime.operators(domain)) for domain in runtime.domains()}
    return ", ".join(f"{count} of {domain}" for domain, count in counts.items() if count)


def _operator_lines(operators: Sequence[TargetOperator], runtime: Runtime) -> list[str]:
    """Return a table of operators of a runtime with a row for each kernel."""
    cells = [["operator", "versions", "types", "limits"]]
    for each in operators:
        name = qualified_name(each.domain, each.operator)
        for kernel in runtime.kernels(each.operator, each.domain):
            cells.append([name, versions_text(kernel, runtime.match), types_text(kernel), limits_text(kernel)])
            name = ""
    return table_lines(cells, indent="")


def _fault_lines(operators: Sequence[TargetOperator], runtime: Runtime) -> Iterator[str]:
    """Yield what a runtime computes wrongly or fails at, as a list under its operators' names."""
    yield "faults"
    for each in operators:
        for fault in runtime.faults(each.operator, each.domain):
            versions = versions_text(fault.nodes, RANGE)
            name = (
                qualified_name(each.domain, each.operator)
                if versions == "all"
                else f"{qualified_name(each.domain, each.operator)} {versions}"
            )
            nodes = ", ".join(filter(None, (name, fault_text(fault))))
            words = f"{nodes}: {fault.result}, {fault.gives}"
            first, *rest = prose_lines(words, "  ")
            yield from (first, *(f"  {line}" for line in rest))


def _opsets_text(opsets: Mapping[str, VersionLimits]) -> str:
    return opsets_text({domain: (each.lowest, each.highest) for domain, each in opsets.items()})
