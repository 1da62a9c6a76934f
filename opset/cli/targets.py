"""`opset targets`: the runtimes that are known, and what a release of one takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from opset.cli import output
from opset.cli.configuration import target_files, target_option
from opset.errors import Finding, UsageError, quote
from opset.opsets.registry import default_registry
from opset.opsets.runtimes.model import MATCH, RANGE, Kernel, Runtime, RuntimeTable, Span
from opset.opsets.runtimes.names import find_runtime, parse_spec, releases_of, table_named, tables_with
from opset.plain_text import prose_lines, table_lines
from opset.schemas.names import domain_name, near_miss, normalize_domain

ACTIONS = ["list", "show"]
_INDENT = 14
"""Characters before the facts of a release."""
_UNION = "types of several parameters are unions over kernels: not every combination need have one"


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
    """What a runtime takes of an operator: versions, or opsets of the model; types by parameter, and other limits."""

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
class TargetOperator:
    """An operator of a runtime with its kernels, of which a node has to fit one."""

    operator: str
    domain: str
    kernels: Sequence[TargetKernel]


@dataclass(frozen=True)
class TargetReport:
    """A release of a runtime with its operators."""

    target: TargetRelease = field(metadata={"key": ""})
    operators: Sequence[TargetOperator] = ()


@click.command(no_args_is_help=True)
@click.argument("action", type=click.Choice(ACTIONS))
@click.argument("spec", required=False, metavar="[RUNTIME[==RELEASE]]")
@click.argument("operator", required=False, metavar="[OPERATOR]")
@target_option
@output.format_option
def command(action: str, spec: str | None, operator: str | None, files: tuple[Path, ...], form: str) -> int:
    """List runtimes, or show what a release of one takes.

    `list` has the runtimes that --for knows. `show onnxruntime` has the releases of one, `show onnxruntime==1.17:cuda`
    opsets, IR version and operators of a release, with OPERATOR those of one operator: Gelu, or
    ai.onnx.ml.TreeEnsemble.
    """
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
    """Return what is known of a release, without its operators."""
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
        *(line for note in table.notes for line in prose_lines(f"note: {note}", "  ")),
    ]


def _operators_of(runtime: Runtime, operator: str | None) -> Iterator[TargetOperator]:
    """Yield the operators of a runtime, or one of them. Raises UsageError U105 if it does not take that one."""
    if operator is not None:
        domain, _, name = operator.rpartition(".")
        kernels = runtime.kernels(name, normalize_domain(domain))
        if not kernels:
            _raise_missing(runtime, name, normalize_domain(domain))
        yield _operator_data(name, domain_name(normalize_domain(domain)), kernels)
        return
    for each in runtime.domains():
        for name in runtime.operators(each):
            yield _operator_data(name, domain_name(each), runtime.kernels(name, each))


def _raise_missing(runtime: Runtime, name: str, domain: str) -> None:
    """Raise UsageError U105 for an operator that a runtime does not take."""
    written = f"{runtime.name} {runtime.release}"
    if not runtime.lists_operators:
        raise UsageError(Finding("U105", f"the operators of {written} are not known"))
    versions = default_registry().versions(name, domain)
    if runtime.fallback is not None and runtime.fallback.kernels(name, domain):
        help = f"{_written(runtime.fallback)} runs such nodes"
    elif any(runtime.has_function(name, domain, each.since_version) for each in versions):
        help = "it may run by its function in the standard; opset lower puts other operators in its place"
    elif versions:
        help = f"opset lower --ops {name} puts other operators in its place, if that is possible"
    else:
        help = near_miss(name, runtime.operators(domain))
    raise UsageError(Finding("U105", f"{written} does not take {quote(name)} of {domain_name(domain)}", help=help))


def _operator_data(name: str, domain: str, kernels: Iterable[Kernel]) -> TargetOperator:
    return TargetOperator(name, domain, [_kernel_data(each) for each in kernels])


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
            facts.append(("types", _UNION))
    facts.append(("operators", _count_text(runtime) if target.lists_operators else "not known"))
    facts += [("note", note) for note in target.notes]
    for name, text in facts:
        first, *rest = prose_lines(text, " " * _INDENT)
        yield f"  {name:<{_INDENT - 2}}{first[_INDENT:]}"
        yield from rest
    if report.operators:
        yield ""
        yield from _operator_lines(report.operators, runtime.match)


def _count_text(runtime: Runtime) -> str:
    counts = {domain_name(domain): len(runtime.operators(domain)) for domain in runtime.domains()}
    return ", ".join(f"{count} of {domain}" for domain, count in counts.items() if count)


def _operator_lines(operators: Sequence[TargetOperator], match: str) -> list[str]:
    """Return a table of operators with a row for each kernel."""
    cells = [["operator", "versions", "types", "limits"]]
    for each in operators:
        name = each.operator if each.domain == "ai.onnx" else f"{each.domain}.{each.operator}"
        for kernel in each.kernels:
            cells.append([name, _versions_text(kernel, match), _types_text(kernel), _limits_text(kernel)])
            name = ""
    return table_lines(cells, indent="")


def _versions_text(kernel: TargetKernel, match: str) -> str:
    """Return the versions of a kernel, or the opsets, as text: "6 to 12"."""
    if kernel.opsets is not None:
        return f"opsets {kernel.opsets.lowest} to {kernel.opsets.highest}"
    if kernel.versions is None:
        return "all"
    first, last = kernel.versions.lowest, kernel.versions.highest
    if last is None:
        return f"{first} and later" if match == RANGE else str(first)
    return str(first) if first == last else f"{first} to {last}"


def _types_text(kernel: TargetKernel) -> str:
    parts = [f"{f'{name}: ' if name else ''}{', '.join(types)}" for name, types in kernel.types.items()]
    parts += [f"not {', '.join(kernel.types_not)}"] if kernel.types_not else []
    return "; ".join(parts) or "any"


def _limits_text(kernel: TargetKernel) -> str:
    """Return every limit of a kernel beside versions and types."""
    parts = []
    if kernel.input_ranks:
        parts.append(f"rank {' or '.join(map(str, kernel.input_ranks))}")
    if kernel.constant_inputs:
        parts.append(f"constant: {', '.join(kernel.constant_inputs)}")
    for name, value in (*kernel.attributes.items(), *kernel.values.items()):
        parts.append(f"{name}: {' or '.join(map(str, value)) if isinstance(value, list) else value}")
    if kernel.outputs is not None:
        parts.append(f"outputs: {kernel.outputs if isinstance(kernel.outputs, int) else ', '.join(kernel.outputs)}")
    if kernel.static_shape:
        parts.append("shapes are known")
    if kernel.known_ranks:
        parts.append("ranks are known")
    if kernel.unasked:
        parts.append(f"types of {', '.join(kernel.unasked)} not tried")
    return "; ".join([*parts, *kernel.notes])


def _opsets_text(opsets: Mapping[str, VersionLimits]) -> str:
    """Return the versions of domains that are known as text: "ai.onnx 7 to 20, ai.onnx.ml up to 4"."""
    parts = ((domain, _span_text((each.lowest, each.highest))) for domain, each in opsets.items())
    return ", ".join(f"{domain} {text}" for domain, text in parts if text)


def _span_text(span: Span) -> str:
    lowest, highest = span
    if lowest is None:
        return "" if highest is None else f"up to {highest}"
    return f"from {lowest} on" if highest is None else f"{lowest} to {highest}"
