"""The names of runtimes as people write them: `onnxruntime==1.17.3`, `onnxruntime==1.17:cuda`, `trt==8.6`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, NoReturn

from opset.errors import Finding, SchemaError, UsageError, listing, quote
from opset.opsets.runtimes.compiled import standard_tables
from opset.opsets.runtimes.model import MEASURED, Runtime, RuntimeRelease, RuntimeTable, Span, release_sort_key
from opset.schemas.names import domain_name, near_miss

MAX_FILES = 100
SHOWN_UNKNOWN = 8
"""Operators that a note names."""
SHOWN = 100
"""Characters of a name that a message repeats."""
_NUMBERS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){0,7}")
_PACKAGED = re.compile(rf"v?({_NUMBERS.pattern})(?:\.post[0-9]{{1,9}})?(?:\+[\w.-]{{1,99}})?", re.IGNORECASE | re.ASCII)
"""A release with marks of a tag or a build, which do not make it another one: "v8.6", "1.17.3+cu118"."""
_OTHER_FORM = re.compile(r"([^\s<>=~@]{1,100})[\s<>=~@]{1,3}v?([0-9][0-9.]{0,40})")
"""A name and a release that something other than "==" separates."""
INSTALLED = "installed:"
"""Begins the name of a runtime that is installed beside Python: "installed:onnxruntime"."""
_PROVIDER_END = "executionprovider"


class Spec(NamedTuple):
    """A runtime as it was written: its name with a provider behind a colon, and its release, "" if there is none."""

    name: str
    release: str


def find_runtime(spec: str, files: Sequence[Path] = ()) -> Runtime:
    """Return the runtime that `name==release` or `name==release:provider` means; letter case does not matter.

    A release between two known ones is taken as the older one, and one newer than all as the newest; `notes` says so.

    Args:
        spec: The runtime: "onnxruntime==1.17:cuda", or "installed:onnxruntime", which asks the installed package.
        files: YAML files of further runtimes.

    Raises:
        UsageError: U101, there is no such runtime, or the release is missing or older than all that are known; T224,
            the installed package cannot be asked.
        SchemaError: A file of a runtime has faults.
    """
    wanted = parse_spec(spec)
    if wanted.name.startswith(INSTALLED):
        return installed_runtime(_package_of(wanted))
    tables = tables_with(files)
    table = table_named(wanted.name, tables)
    if not wanted.release:
        help = f"write {_written(wanted._replace(release='RELEASE'))}; known: {_release_list(table)}"
        raise UsageError(Finding("U101", f"{quote(spec[:SHOWN])} names no release of the runtime", help=help))
    row, notes = release_row(table, wanted.release, wanted.name)
    return runtime_at(table, row, tables, notes)


def installed_runtime(name: str) -> Runtime:
    """Return a runtime as it is installed: with the opsets and IR version of the nearest release that is known.

    Raises:
        UsageError: U101 if no such package can be asked, T224 if it is not installed or cannot be started.
    """
    from opset.opsets.runtimes.installed import TABLES, Loader, package_of  # which starts processes

    package = package_of(name)
    loader = Loader(package)
    tables = standard_tables()
    table = tables[TABLES[package]]
    row, notes = release_row(table, loader.release)
    nearest = runtime_at(table, row, tables, notes)
    what = f"{package} {loader.version} is installed: its opsets and IR version are taken from {row.release}"
    return replace(
        nearest,
        name=f"installed:{package}",
        title=f"the installed {package}",
        how=MEASURED,
        notes=(what, "kernels are those for which a model of the node alone loads there"),
        lists_operators=True,
        loader=loader,
    )


def _package_of(wanted: Spec) -> str:
    """Return the package of `installed:PACKAGE`. Raises UsageError U101 if a release is written, too."""
    package = wanted.name.removeprefix(INSTALLED)
    if wanted.release:
        help = f"write {INSTALLED}{package[:SHOWN]} without a release"
        raise UsageError(Finding("U101", "the installed runtime has one release alone", help=help))
    return package


def verify_name(name: str, tables: Mapping[str, RuntimeTable]) -> None:
    """Raise UsageError U101 if no runtime has a name, its release aside, or if it is no package that can be asked."""
    wanted = parse_spec(name)
    if wanted.name.startswith(INSTALLED):
        from opset.opsets.runtimes.installed import package_of  # with it what starts processes

        package_of(_package_of(wanted))
    else:
        table_named(wanted.name, tables)


def releases_named(name: str, tables: Mapping[str, RuntimeTable]) -> list[Runtime]:
    """Return a runtime at each release that `tables` has, oldest first, or the one that is installed.

    Raises UsageError as `find_runtime` does.
    """
    wanted = parse_spec(name)
    if wanted.name.startswith(INSTALLED):
        return [installed_runtime(_package_of(wanted))]
    table = table_named(wanted.name, tables)
    return [runtime_at(table, row, tables) for row in table.releases]


def runtime_names() -> list[str]:
    """Return the names of the runtimes of this package, in order, without their aliases."""
    return [*standard_tables()]


def releases_of(name: str, files: Sequence[Path] = ()) -> list[Runtime]:
    """Return a runtime, of this package or of `files`, at each known release, oldest first. Raises UsageError U101."""
    return releases_named(name, tables_with(files))


def later_releases(runtime: Runtime) -> list[Runtime]:
    """Return the releases of a runtime that come after the one that it is at, oldest first."""
    if runtime.loader is not None:
        return []
    tables: dict[str, RuntimeTable] = {}
    pending = [runtime]
    while pending:
        each = pending.pop()
        tables[each.table.name] = each.table
        pending += [other for other in (each.fallback, each.kernels_of) if other is not None]
    rows = runtime.table.releases[runtime.table.position(runtime.release) + 1 :]
    return [runtime_at(runtime.table, row, tables) for row in rows]


def tables_with(files: Sequence[Path]) -> Mapping[str, RuntimeTable]:
    """Return the runtimes of this package and of `files`, by name. Raises SchemaError if files have faults."""
    if not files:
        return standard_tables()
    from opset.opsets.runtimes.loader import load_runtime  # with it PyYAML, which is slow to import

    if len(files) > MAX_FILES:
        message = f"{len(files)} files of runtimes are given; at most {MAX_FILES} are read"
        raise UsageError(Finding("U103", message, help="name those that the call needs"))
    tables = dict(standard_tables())
    findings: list[Finding] = []
    for file in files:
        try:
            table = load_runtime(file)
        except SchemaError as error:
            findings += error.finding_list
            continue
        known = {name for each in tables.values() for name in (each.name, *each.aliases)}
        for name in (table.name, *table.aliases):
            if name in known:
                findings.append(Finding("S106", f"a runtime {quote(name)} is known already", place=f"{file}:1:1"))
        tables[table.name] = replace(table, doubts=tuple(_doubts_about(table)))
    findings += [each for table in tables.values() if table.file for each in _check_references(table, tables)]
    if findings:
        raise SchemaError(findings)
    return tables


def _doubts_about(table: RuntimeTable) -> Iterable[str]:
    """Yield a note for each domain of the standard in which a file lists operators that no version of it has.

    That is no error: runtimes have kernels of experimental operators that were withdrawn, or of later releases.
    """
    from opset.opsets.registry import default_registry  # which a table of this package does not need

    registry = default_registry()
    listed: dict[str, dict[str, None]] = {}
    for part in table.read_operators().values():
        for domain, operators in part.items():
            listed.setdefault(domain, {}).update(dict.fromkeys(operators))
    for domain, names in listed.items():
        known = registry.operators(domain)

        def with_near_miss(name: str, known: Sequence[str] = known) -> str:
            near = near_miss(name, known)
            return f"{quote(name)} ({near})" if near else quote(name)

        unknown = sorted({*names} - {*known}) if known else []
        if unknown:
            named = listing(unknown, SHOWN_UNKNOWN, with_near_miss)
            yield f"{domain_name(domain)} has no {named}, which {table.file} lists"


def _check_references(table: RuntimeTable, tables: Mapping[str, RuntimeTable]) -> Iterable[Finding]:
    """Yield a finding if a runtime that a file names as `fallback` or `kernels_of` is unknown, or leads back to it."""
    place = f"{table.file}:1:1"
    for key, name in (("fallback", table.fallback), ("kernels_of", table.kernels_of)):
        if name and name not in tables:
            help = near_miss(name, tables)
            yield Finding("S107", f"{key}: there is no runtime {quote(name)}", place=place, help=help)
            return
    seen, open_names = {table.name}, [table.fallback, table.kernels_of]
    while open_names:
        name = open_names.pop()
        if name == table.name:
            message = "its fallback, or the runtime whose kernels it has, leads back to it"
            yield Finding("S105", message, place=place, help="name a runtime that does not, or leave the key out")
            return
        if name in tables and name not in seen:
            seen.add(name)
            open_names += [tables[name].fallback, tables[name].kernels_of]


def parse_spec(spec: str) -> Spec:
    """Return the parts of `name==release:provider`, in small letters; `name:provider==release` is the same."""
    name, _, rest = spec.partition("==")
    release, _, provider = rest.partition(":")
    name, _, provider_before = name.partition(":")
    name, provider = (each.strip().lower() for each in (name, provider or provider_before))
    provider = provider.removesuffix(_PROVIDER_END)
    return Spec(f"{name.replace('_', '-')}:{provider}" if provider else name.replace("_", "-"), release.strip())


def table_named(name: str, tables: Mapping[str, RuntimeTable]) -> RuntimeTable:
    """Return the table of the runtime with a name or alias. Raises UsageError U101, with similar names, without one."""
    if name in tables:
        return tables[name]
    if name.startswith(INSTALLED):
        help = f"opset targets probe {name.removeprefix(INSTALLED)[:SHOWN]} shows what the installed runtime accepts"
        _raise_unknown("an installed runtime has no releases to list", help)
    for table in tables.values():
        if name in table.aliases:
            return table
    runtime, _, provider = name.partition(":")
    if provider:
        known = {alias for table in tables.values() for alias in table.aliases if alias.startswith(f"{runtime}:")}
        if known:
            hint = _with_provider(provider, tables) or near_miss(name, known)
            help = f"{hint} known: {', '.join(sorted(known))}".strip()
            _raise_unknown(f"{runtime} has no provider {quote(provider[:SHOWN])}", help)
    every = [each for table in tables.values() for each in (table.name, *table.aliases)]
    wanted = _OTHER_FORM.fullmatch(name)
    if name.endswith((".yaml", ".yml")):
        hint = f"--target {name[:SHOWN]} reads a file, and --for takes the name of its runtime;"
    elif wanted is not None and wanted[1] in every:
        hint = f"write {_written(Spec(wanted[1], wanted[2]))};"
    else:
        hint = near_miss(name, every)
    _raise_unknown(f"no runtime {quote(name[:SHOWN])} is known", f"{hint} known: {', '.join(tables)}".strip())


def _with_provider(provider: str, tables: Mapping[str, RuntimeTable]) -> str:
    """Return "did you mean …?" with the runtime that has the name of a provider or has it, "" if there is none."""
    names = [each for table in tables.values() for each in (table.name, *table.aliases)]
    same = [each for each in names if each.rpartition(":")[2] == provider]
    return f"did you mean {same[0]}?" if same else ""


def _raise_unknown(message: str, help: str) -> NoReturn:
    raise UsageError(Finding("U101", message, help=help))


def release_row(table: RuntimeTable, release: str, name: str = "") -> tuple[RuntimeRelease, tuple[str, ...]]:
    """Return the row of a runtime that is meant by a release, and the note if it has another number.

    Raises UsageError U101, which names the runtime as it was written (`name`), if it is older than all that are known.
    """
    given = release
    if packaged := _PACKAGED.fullmatch(release):
        release = packaged[1]
    numbers = _significant(release)
    for row in table.releases:
        if row.release.lower() == release.lower() or (numbers and _significant(row.release) == numbers):
            return row, ()
    known = [row for row in table.releases if _significant(row.release)]
    older = [row for row in known if numbers and release_sort_key(row.release) < release_sort_key(release)]
    if older:
        row = older[-1]
        newest = row is known[-1] and not release.startswith(f"{row.release}.")
        why = (
            f"is newer than those that are known: taken as {row.release}"
            if newest
            else (f"is not known: taken as {row.release}")
        )
        return row, (f"{given} {why}",)
    help = f"known: {_release_list(table)}"
    if numbers and known:
        help = f"the oldest known one is {known[0].release}; {help}"
    _raise_unknown(f"what {name or table.name} {release[:SHOWN]} accepts is not known", help)


def _significant(release: str) -> tuple[int, ...]:
    """Return the numbers of a release without zeros at the end, () if it does not consist of numbers."""
    if not _NUMBERS.fullmatch(release):
        return ()
    numbers = [*map(int, release.split("."))]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def _written(spec: Spec) -> str:
    """Return a runtime as people write it: "onnxruntime==1.17:cuda"."""
    name, _, provider = spec.name.partition(":")
    return f"{name}=={spec.release}" + (f":{provider}" if provider else "")


def _release_list(table: RuntimeTable) -> str:
    return ", ".join(row.release for row in table.releases)


def runtime_at(
    table: RuntimeTable, row: RuntimeRelease, tables: Mapping[str, RuntimeTable], notes: tuple[str, ...] = ()
) -> Runtime:
    """Return a runtime at one of its releases, with the runtimes that it names at theirs.

    Args:
        table: The runtime.
        row: The release, one of its rows.
        tables: All runtimes by name.
        notes: Notes about the way in which the release was chosen.
    """
    kernels_of = _runtime_beside(tables.get(table.kernels_of), row.kernels_release or row.release, tables)
    fallback = _fallback(tables.get(table.fallback), row.fallback_release or row.release, tables)
    notes = (*notes, *((row.note,) if row.note else ()), *table.doubts)
    opsets = {"": row.opset} | ({"ai.onnx.ml": (None, row.ml)} if row.ml else {})
    if kernels_of is not None:
        opsets = _merge_limits(opsets, kernels_of.opsets)
        notes += tuple(f"{table.kernels_of}: {each}" for each in kernels_of.notes)
        fallback = kernels_of.fallback
    return Runtime(
        name=table.name,
        release=row.release,
        title=table.title,
        match=table.match or (kernels_of.match if kernels_of else ""),
        how=row.how,
        source=row.read_from or table.source,
        opsets=opsets,
        max_ir=row.ir or (kernels_of.max_ir if kernels_of else None),
        fallback=fallback,
        lists_operators=row.lists_operators
        and (table.has_operators or bool(kernels_of and kernels_of.lists_operators)),
        notes=notes,
        table=table,
        kernels_of=kernels_of,
        io_types_not=table.io_types_not,
        casts=table.casts,
        union_types=row.union_types or bool(kernels_of and kernels_of.union_types),
        local_functions=row.local_functions and (kernels_of is None or kernels_of.local_functions),
    )


def _merge_limits(own: Mapping[str, Span], others: Mapping[str, Span]) -> dict[str, Span]:
    """Return the limits of opsets by domain: those in `own` that are known, else those in `others`."""
    return {**others, **{domain: span for domain, span in own.items() if span != (None, None)}}


def _runtime_beside(table: RuntimeTable | None, release: str, tables: Mapping[str, RuntimeTable]) -> Runtime | None:
    """Return another runtime at its newest release up to a given one, else at its oldest; None without a table."""
    if table is None:
        return None
    numbers = _significant(release)
    older = [row for row in table.releases if numbers and release_sort_key(row.release) <= release_sort_key(release)]
    row = older[-1] if older else table.releases[0]
    notes = () if row.release == release else (f"{release} is not known: taken as {row.release}",)
    return runtime_at(table, row, tables, notes)


def _fallback(table: RuntimeTable | None, release: str, tables: Mapping[str, RuntimeTable]) -> Runtime | None:
    """Return a fallback at a release, at its newest one if it lacks that, as numbers may be unrelated; None without."""
    if table is None:
        return None
    rows = [row for row in table.releases if row.release == release]
    return runtime_at(table, (rows or table.releases)[-1], tables)
