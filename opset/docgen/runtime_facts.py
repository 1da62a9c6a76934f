"""What runtimes take of operators, release by release, as pages show it: neighboring releases with equal facts are one.

A kernel counts for a version of an operator if it serves that version by the runtime's match rule, if it has a type
that the version allows, and if the release's opsets reach the version. Types that the version does not have are left
out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, TypeVar

from opset.docgen.convertibility import Convertibility
from opset.docgen.derived_changes import Key
from opset.file_names import slug
from opset.model.elements import NUMBERS
from opset.model.types import element_of
from opset.opsets.registry import Registry
from opset.opsets.runtime_kernels import MAX_LISTED_TYPES
from opset.opsets.runtimes.compiled import standard_tables
from opset.opsets.runtimes.model import (
    NAME,
    Kernel,
    Runtime,
    RuntimeTable,
    make_kernel,
    serves_version,
)
from opset.opsets.runtimes.names import runtime_at
from opset.opsets.runtimes.wording import limits_text
from opset.schemas.model import OpSchema

STANDARD = ("", "ai.onnx.ml")
"""Domains whose operators without a kernel have a fate on the pages."""
LOADED = ("", "Constant")
"""The operator that needs no kernel: it becomes an initializer."""
ALL = 0
"""The version that stands for all of them."""
REWRITTEN, FALLBACK, REFUSED = "rewritten", "fallback", "refused"
"""Fates of the nodes of an operator that has no kernel in a runtime."""
Run = tuple[int, int]
"""The first and the last of neighboring releases, as positions among those whose operators are known."""
Fact = TypeVar("Fact", bound=Hashable)


class Taken(NamedTuple):
    """The nodes that a kernel takes: the element types of each parameter, and other limits in words.

    A parameter is missing from `types` if the kernel takes all types that the operator allows for it.
    """

    types: tuple[tuple[str, frozenset[str]], ...]
    allowed: tuple[tuple[str, frozenset[str]], ...]
    """The types that the version of the operator allows, by the parameters of `types`."""
    types_not: frozenset[str]
    limits: str


class Row(NamedTuple):
    """The kernels (`taken`) that consecutive releases of a runtime have for consecutive versions of an operator.

    `run` is (first, last), positions among the releases whose operators are known.
    """

    versions: tuple[int, ...]
    run: Run
    taken: tuple[Taken, ...]


class RuntimeFacts:
    """The operators that each release of a runtime takes; releases are oldest first.

    `listed` are the positions in `runtimes` of the releases whose operators are known.
    """

    def __init__(self, table: RuntimeTable, registry: Registry, bases: Mapping[str, RuntimeFacts]) -> None:
        """Read the releases of the runtime of `table`.

        `bases` has the facts of other runtimes, by name. If `table.kernels_of` names one of them, such as
        "onnxruntime-cpu", the kernels of the runtime are taken from it.
        """
        tables = standard_tables()
        self.table = table
        self.runtimes = [runtime_at(table, row, tables) for row in table.releases]
        self.listed = [number for number, each in enumerate(self.runtimes) if each.lists_operators]
        self._registry = registry
        self._base = bases.get(table.kernels_of)
        self._is_by_name = any(each.match == NAME for each in self.runtimes)
        self._taking: dict[Key, list[bool]] = {}
        self._support: dict[Key, dict[int, list[tuple[Taken, ...]]]] = {}

    @property
    def releases(self) -> list[str]:
        """The releases of the runtime whose operators are known, such as "1.17", oldest first."""
        return [self.runtimes[number].release for number in self.listed]

    @property
    def shares_kernels(self) -> bool:
        """Whether the runtime has exactly the kernels of another runtime."""
        return self._base is not None and not self.table.has_operators

    @cached_property
    def operators(self) -> list[Key]:
        """The operators that at least one release takes, as (domain, name). Cached."""
        table = self.table if self.table.has_operators or self._base is None else self._base.table
        keys = [(domain, name) for domain in table.domains() for name in sorted(table.operators(domain))]
        return [key for key in keys if self.runs_of(key)]

    def takes(self, key: Key, number: int) -> bool:
        """Return whether a release has a kernel for any version of an operator, (domain, name). Cached.

        `number` is the position of the release among the releases whose operators are known.
        """
        if key not in self._taking:
            self._taking[key] = [any(each) for each in zip(*self._support_of(key).values(), strict=True)]
        return self._taking[key][number]

    def runs_of(self, key: Key) -> list[Run]:
        """Return the runs of consecutive releases that take an operator, such as [(0, 2), (5, 7)].

        (0, 2) stands for the releases at the positions 0 to 2, counted among the releases whose operators are known.
        `key` is the (domain, name) of the operator. The result is [] if no release takes the operator.
        """
        taking = [self.takes(key, number) for number in range(len(self.listed))]
        return [run for run, takes in _runs(taking) if takes]

    def rows_of(self, key: Key) -> Iterator[Row]:
        """Yield a Row for each version of an operator, (domain, name), and each run of releases with equal kernels.

        Older versions come first. Within a version, newer releases come first. Releases without a kernel have no Row.
        Neighboring versions share a Row if the page would show the same texts for them.
        """
        groups: list[tuple[list[int], list[tuple[Run, tuple[Taken, ...]]]]] = []
        for since, by_release in self._support_of(key).items():
            runs = [(run, taken) for run, taken in _runs(by_release) if taken]
            if groups and _words_of_runs(groups[-1][1]) == _words_of_runs(runs):
                groups[-1][0].append(since)
            else:
                groups.append(([since], runs))
        for versions, runs in groups:
            for run, taken in reversed(runs):
                yield Row(tuple(versions), run, taken)

    def _support_of(self, key: Key) -> dict[int, list[tuple[Taken, ...]]]:
        """Return the kernels of an operator by since_version: a list with an entry for each release. Cached.

        The releases are those in `listed`. An entry is a tuple of Taken, which has the types and limits of a kernel; ()
        if the release has no kernel. If the runtime knows operators only by name, the only key is ALL, which stands for
        all versions. `key` is (domain, operator).
        """
        if key not in self._support:
            self._support[key] = self._shared_support(key) if self.shares_kernels else self._find_support(key)
        return self._support[key]

    def _shared_support(self, key: Key) -> dict[int, list[tuple[Taken, ...]]]:
        """Return the kernels of an operator by since_version, copied from the facts of the runtime `_base`.

        Each release of this runtime has exactly the kernels of a release of `_base`. Each value is a list with an entry
        for each release in `listed`. An entry is a tuple of Taken, each with the types and limits of a kernel; it is ()
        if there is no kernel. If `_base` knows operators only by name, the only key is ALL, which stands for all
        versions. The argument `key` is (domain, operator).
        """
        base = self._base
        assert base is not None
        numbers = []
        for number in self.listed:
            kernels_of = self.runtimes[number].kernels_of
            assert kernels_of is not None
            numbers.append(base.releases.index(kernels_of.release))
        support = base._support_of(key)
        return {since: [by_release[number] for number in numbers] for since, by_release in support.items()}

    def _find_support(self, key: Key) -> dict[int, list[tuple[Taken, ...]]]:
        """Return the kernels of an operator by since_version, computed anew; `_support_of` caches them.

        Each value is a list with an entry for each release in `listed`. An entry is a tuple of Taken. A Taken has the
        types and limits of one kernel, or of several that are joined. If a release has no kernel, its entry is (). The
        only key is ALL, which stands for all versions, if the runtime knows operators only by name, or if the registry
        lacks the operator. The argument `key` is (domain, operator).
        """
        versions = self._registry.versions(key[1], key[0])
        newest = self._registry.domains.get(key[0], 0)
        ends = [*(schema.since_version - 1 for schema in versions[1:]), newest]
        kernels = [*self._kernels_of(key)]
        if not versions or self._is_by_name:
            first = versions[0].since_version if versions else 0
            return {ALL: self._by_release(kernels, versions, (first, newest))}
        return {
            schema.since_version: self._by_release(kernels, (schema,), (schema.since_version, end))
            for schema, end in zip(versions, ends, strict=True)
        }

    def _kernels_of(self, key: Key) -> Iterator[tuple[Kernel, list[int]]]:
        """Yield (kernel, releases that have it) for each kernel of an operator; releases are positions in `listed`."""
        if self._base is not None:
            for number, place in enumerate(self.listed):
                yield from ((kernel, [number]) for kernel in self.runtimes[place].kernels(key[1], key[0]))
            return
        position = {row.release: number for number, row in enumerate(self.table.releases)}
        for entry in self.table.entries(key[1], key[0]):
            first, last = position.get(entry.get("since", ""), 0), position.get(entry.get("until", ""), len(position))
            yield make_kernel(entry), [number for number, place in enumerate(self.listed) if first <= place <= last]

    def _by_release(
        self, kernels: Iterable[tuple[Kernel, list[int]]], versions: tuple[OpSchema, ...], span: Run
    ) -> list[tuple[Taken, ...]]:
        """Return the kernels that serve an operator, in a list with an entry for each release in `listed`.

        An entry is a tuple of Taken, which has the types and limits of a kernel; it is () if no kernel serves. Kernels
        that differ only in the types of one parameter are joined into one.

        Args:
            kernels: The operator's kernels. Each comes with the positions in `listed` of the releases that have it.
            versions: The versions of the operator to be served. There is only one, unless the runtime's facts name
                operators without versions.
            span: The first and last opset at which `versions` are in force.
        """
        found: list[list[Taken]] = [[] for _ in self.listed]
        for kernel, numbers in kernels:
            allowed = {name: _allowed_elements(versions, name) for name in kernel.types}
            by_limit: dict[tuple[str, bool], Taken | None] = {}
            for number in numbers:
                runtime = self.runtimes[self.listed[number]]
                limit = _limit_of_opsets(kernel, runtime, versions, span)
                if limit is None:
                    continue
                form = (
                    limit,
                    all(_overlaps(elements, allowed[name], runtime) for name, elements in kernel.types.items()),
                )
                if form not in by_limit:
                    by_limit[form] = _types_and_limits(kernel, versions, allowed, limit) if form[1] else None
                if (taken := by_limit[form]) is not None:
                    found[number].append(taken)
        joined: dict[tuple[Taken, ...], tuple[Taken, ...]] = {}
        for every in map(tuple, found):
            if every not in joined:
                joined[every] = tuple(_join_all(every))
        return [joined[tuple(every)] for every in found]


def facts_of_runtimes(registry: Registry) -> dict[str, RuntimeFacts]:
    """Return the facts of all known runtimes by name, sorted by name."""
    tables = standard_tables()
    facts: dict[str, RuntimeFacts] = {}
    for table in sorted(tables.values(), key=lambda table: bool(table.kernels_of)):
        facts[table.name] = RuntimeFacts(table, registry, facts)
    return {name: facts[name] for name in tables}


class Fates:
    """What a conversion does with nodes of standard operators for which a release of a runtime has no kernel.

    It is REWRITTEN (other operators replace them), FALLBACK (another runtime runs them) or REFUSED.
    """

    def __init__(self, facts: Mapping[str, RuntimeFacts], convertibility: Convertibility, registry: Registry) -> None:
        """Take the facts of runtimes by name; the fates are computed when they are asked for.

        A fate is what happens to nodes of an operator if a release of a runtime has no kernel for it. `convertibility`
        is the table of conversions, `registry` has the operators. Only operators of the standard that are not withdrawn
        have fates.
        """
        self._facts, self._convertibility, self._registry = facts, convertibility, registry
        self._operators = [
            (domain, name)
            for domain in STANDARD
            for name in registry.operators(domain)
            if registry.is_standard(name, domain) and not registry.versions(name, domain)[-1].deprecated
        ]

    def runs_by_fate(self, name: str) -> dict[str, dict[tuple[Run, ...], list[Key]]]:
        """Return the operators for which releases of a runtime have no kernel, as {fate: {runs: [operator]}}.

        `name` is the runtime. The fates are REWRITTEN (other operators replace the operator), FALLBACK (another runtime
        runs it) and REFUSED. `runs` are the releases with this fate: ((0, 2), (5, 5)) stands for the first three
        releases and the sixth. Only releases whose operators are known are counted. A release whose opsets are not
        known has no fate. Operators are (domain, name).
        """
        facts = self._facts[name]
        by_release = [self._fates_at(facts, number) for number in range(len(facts.listed))]
        found: dict[str, dict[tuple[Run, ...], list[Key]]] = {REWRITTEN: {}, FALLBACK: {}, REFUSED: {}}
        for key in self._operators:
            runs = _runs([fates.get(key, "") for fates in by_release])
            for fate, groups in found.items():
                having = tuple([run for run, each in runs if each == fate])
                if having:
                    groups.setdefault(having, []).append(key)
        return found

    def _fates_at(self, facts: RuntimeFacts, number: int) -> dict[Key, str]:
        """Return REWRITTEN, FALLBACK or REFUSED for each standard operator without kernel in a release of a runtime.

        `number` is the position of the release among the releases whose operators are known. The result is {} if the
        opsets of the release are not known.
        """
        runtime = facts.runtimes[facts.listed[number]]
        if runtime.opsets.get("", (None, None)) == (None, None):
            return {}
        other, at = self._facts[runtime.fallback.name] if runtime.fallback else None, 0
        if other is not None and runtime.fallback is not None:
            if runtime.fallback.release in other.releases:
                at = other.releases.index(runtime.fallback.release)
            else:
                other = None
        answers: dict[Key, bool] = {LOADED: True}

        def runs(key: Key) -> bool:
            """Return whether the release, or the release of its fallback runtime, runs an operator."""
            return key == LOADED or facts.takes(key, number) or (other is not None and other.takes(key, at))

        def can_be_made(key: Key) -> bool:
            """Return whether the runtime runs nodes of an operator, or nodes that it runs can replace them. Cached."""
            if key not in answers:
                answers[key] = False  # while it is looked for: what needs itself cannot be made
                answers[key] = runs(key) or self._is_expressed(key, runtime, can_be_made)
            return answers[key]

        fates = {}
        for key in self._operators:
            if key != LOADED and not facts.takes(key, number):
                fates[key] = FALLBACK if runs(key) else REWRITTEN if can_be_made(key) else REFUSED
        return fates

    def _is_expressed(self, key: Key, runtime: Runtime, can_be_made: Callable[[Key], bool]) -> bool:
        """Return whether a runtime can run an operator in the form of the operators that replace it.

        The result is False if nothing replaces the operator. Operators that only some nodes need are not checked.

        Args:
            key: The operator that is replaced, (domain, name).
            runtime: The runtime; its newest opset decides which operators replace the operator.
            can_be_made: Returns whether the runtime can run an operator, directly or replaced by others.
        """
        newest = self._registry.domains[key[0]]
        highest = runtime.opsets.get(key[0], (None, None))[1]
        lowering = self._convertibility.lowering_of(key[1], key[0], min(highest or newest, newest))
        return lowering is not None and all(can_be_made(each) for each in sorted(lowering.certain))


def _runs(facts: Iterable[Fact]) -> list[tuple[Run, Fact]]:
    """Return ((first, last), fact) for each run of consecutive releases with equal facts.

    `facts` has one fact for each release. `first` and `last` are positions in it, counted from 0.
    """
    runs: list[tuple[Run, Fact]] = []
    for number, fact in enumerate(facts):
        if runs and runs[-1][1] == fact:
            runs[-1] = ((runs[-1][0][0], number), fact)
        else:
            runs.append(((number, number), fact))
    return runs


def _words_of_runs(runs: Iterable[tuple[Run, tuple[Taken, ...]]]) -> list[tuple[Run, list[tuple[str, str]]]]:
    """Return each run of releases with the texts (types, limits) that a page shows for each of its kernels."""
    return [(run, [(types_text(each), each.limits) for each in taken]) for run, taken in runs]


def _limit_of_opsets(kernel: Kernel, runtime: Runtime, versions: tuple[OpSchema, ...], span: Run) -> str | None:
    """Return the opsets that a kernel of a runtime serves, as text such as "opsets 7 to 9".

    The result is "" if the kernel serves all opsets of `span` that the runtime supports. It is None if the kernel
    serves none of them.

    Args:
        kernel: The kernel.
        runtime: One release of the runtime.
        versions: The versions of the operator to be served. There is only one, unless the runtime's facts name
            operators without versions.
        span: The first and last opset at which `versions` are in force.
    """
    if not versions:
        return ""
    lowest, highest = runtime.opsets.get(versions[0].domain, (None, None))
    first, last = max(span[0], lowest or 1), min(span[1], highest or span[1])
    if first > last:
        return None
    if kernel.opsets is not None:
        if kernel.opsets[1] < first or kernel.opsets[0] > last:
            return None
        within = kernel.opsets[0] <= first and last <= kernel.opsets[1]
        return "" if within else f"opsets {kernel.opsets[0]} to {kernel.opsets[1]}"
    return "" if serves_version(kernel, versions[0].since_version, runtime.match) else None


def _types_and_limits(
    kernel: Kernel, versions: Sequence[OpSchema], allowed: Mapping[str, frozenset[str] | None], limit: str
) -> Taken:
    """Return the types and limits of a kernel.

    Types that the versions of the operator do not allow are left out. If none would remain, all are listed. A parameter
    is left out if the kernel takes all its types.

    Args:
        kernel: The kernel.
        versions: One version of the operator, or several.
        allowed: The element types that the versions allow, by parameter; None if they have no such parameter.
        limit: A limit besides the kernel's own, "" for none.
    """
    types: dict[str, frozenset[str]] = {}
    for name, elements in sorted(kernel.types.items()):
        possible = allowed[name]
        taken = elements if possible is None else elements & possible
        if taken != possible:
            types[name] = taken or elements
    excluded = kernel.types_not
    if excluded and versions:
        excluded &= {element_of(type_) for schema in versions for each in schema.types.values() for type_ in each}
    limits = "; ".join(filter(None, (limit, limits_text(kernel))))
    return Taken(
        tuple(types.items()), tuple([(name, allowed[name] or frozenset()) for name in types]), excluded, limits
    )


def _overlaps(elements: frozenset[str], allowed: frozenset[str] | None, runtime: Runtime) -> bool:
    """Return whether a kernel takes a type that an operator allows, or the type to which the runtime casts such a type.

    `elements` are the types of the kernel, `allowed` the types that the operator allows. If `allowed` is None, they are
    unknown, and the result is True. `runtime` knows to which type it casts each type.
    """
    return allowed is None or not elements.isdisjoint(allowed) or not elements.isdisjoint(map(runtime.cast_of, allowed))


@lru_cache(maxsize=8192)
def _allowed_elements(versions: tuple[OpSchema, ...], name: str) -> frozenset[str] | None:
    """Return the element types that a type variable or an input may have in at least one of these versions. Cached.

    `name` is the name of the type variable or input, "" for the first input. The result is None if no version has this
    name.
    """
    found: set[str] = set()
    for schema in versions:
        types = schema.types.get(name)
        if types is None:
            formal = next((each for each in schema.inputs if name in ("", each.name)), None)
            types = schema.allowed_types(formal) if formal is not None else ()
        found.update(map(element_of, types))
    return frozenset(found) or None


def _join_all(taken: Sequence[Taken]) -> list[Taken]:
    """Return the kernels, joined where possible; the result takes the same nodes.

    Repetitions are left out. Two kernels are joined if they have the same limits, and the same types for all parameters
    but one.
    """
    kernels = list(dict.fromkeys(taken))
    position = 0
    while position < len(kernels):
        for other in range(position + 1, len(kernels)):
            both = _join_kernels(kernels[position], kernels[other])
            if both is not None:
                kernels[position] = both
                del kernels[other]
                position = -1
                break
        position += 1
    return kernels


def _join_kernels(one: Taken, other: Taken) -> Taken | None:
    """Return one kernel that takes the same nodes as two kernels together; None if no single kernel does.

    The result is None if their limits differ, or if their types differ for more than one parameter.
    """
    if one.limits != other.limits or one.types_not != other.types_not:
        return None
    here, there = dict(one.types), dict(other.types)
    differing = [name for name in here.keys() | there.keys() if here.get(name) != there.get(name)]
    if len(differing) > 1:
        return None
    types = {**here, **there}
    allowed = {**dict(one.allowed), **dict(other.allowed)}
    for name in differing:
        every = here[name] | there[name] if name in here and name in there else allowed[name]
        if every == allowed[name]:
            del types[name], allowed[name]
        else:
            types[name] = every
    return Taken(tuple(sorted(types.items())), tuple(sorted(allowed.items())), one.types_not, one.limits)


def types_text(taken: Taken) -> str:
    """Return the element types that a kernel takes as text: "T: float, int64; not string".

    The text is "any" if it takes all types that the operator allows.
    """
    allowed = dict(taken.allowed)
    parts = []
    for name, elements in taken.types:
        label = name or ("data inputs" if len(taken.types) > 1 else "")
        parts.append(f"{label}: {_elements_text(elements, allowed[name])}".removeprefix(": "))
    parts += [f"not {', '.join(_sort_types(taken.types_not))}"] if taken.types_not else []
    return "; ".join(parts) or "any"


def _elements_text(elements: frozenset[str], allowed: frozenset[str]) -> str:
    """Return element types as text: "float, int64".

    If there are many, and few of `allowed` are missing, the text names the missing ones: "all but string".
    """
    missing = allowed - elements
    if len(elements) > MAX_LISTED_TYPES and 0 < len(missing) <= MAX_LISTED_TYPES // 2:
        return f"all but {', '.join(_sort_types(missing))}"
    return ", ".join(_sort_types(elements))


def _sort_types(elements: Iterable[str]) -> list[str]:
    """Return element types in the order of their numbers in ONNX, then any others by name."""
    return sorted(elements, key=lambda name: (NUMBERS.get(name, len(NUMBERS) + 1), name))


def releases_text(runs: Sequence[Run], releases: Sequence[str]) -> str:
    """Return releases as text: "all", "since 8.5", "8.2 to 8.4, since 9.0".

    `runs` are (first, last), positions in `releases`. `releases` has all releases, oldest first.
    """
    last = len(releases) - 1
    if [*runs] == [(0, last)]:
        return "all"
    return ", ".join(_run_text(run, releases) for run in runs)


def runtimes_with(facts: Mapping[str, RuntimeFacts], key: Key) -> Iterator[tuple[str, str]]:
    """Yield (runtime, releases) for each runtime that takes an operator, (domain, name), in some release.

    The releases are text: "8.2 to 8.4, since 9.0".
    """
    for name, each in facts.items():
        runs = each.runs_of(key)
        if runs:
            yield name, ", ".join(_run_text(run, each.releases) for run in runs)


def anchor_of(key: Key) -> str:
    """Return the HTML id of an operator, (domain, name), on the page of a runtime: "op-Softmax"."""
    return slug(f"op-{key[0]}.{key[1]}" if key[0] else f"op-{key[1]}")


def _run_text(run: Run, releases: Sequence[str]) -> str:
    """Return consecutive releases as text: "8.5", "8.2 to 8.4", or "since 8.5" if the last one is the newest.

    `run` is (first, last), positions in `releases`. If there is only one release at all, the text is its name.
    """
    first, last = run
    if last == len(releases) - 1:
        return f"since {releases[first]}" if last else releases[first]
    return releases[first] if first == last else f"{releases[first]} to {releases[last]}"
