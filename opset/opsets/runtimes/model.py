"""What is known of runtimes: the kernels of an operator, and one runtime at one release."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from opset.schemas.names import normalize_domain

MEASURED, DOCUMENTED, DERIVED = "measured", "documented", "derived"
HOW = {
    MEASURED: "models were loaded in that release, or its package was read",
    DOCUMENTED: "its maker states it",
    DERIVED: "it follows from neighboring releases, or from what changed between them",
}
"""How a release is known."""
KERNEL, RANGE, NAME, OPSET = "kernel", "range", "name", "opset"
MATCH = {
    KERNEL: "6 to 12 serves version 6, and those above it up to 12; 13 serves version 13 alone",
    RANGE: "6 to 12 serves all versions from 6 to 12; 13 and later serves version 13 and all above it",
    NAME: "the name decides: an operator is taken at each version of the runtime's opsets",
    OPSET: "6 to 12 serves models whose opset is one of 6 to 12",
}
"""How an entry of a runtime fits a version of an operator."""
DATA_INPUTS = ""
"""The name under which a kernel has the element types of its data inputs together, where no parameter is named."""
WRONG, FAILS = "wrong", "fails"
RESULTS = {
    WRONG: "an output is not the one that the standard demands",
    FAILS: "the runtime does not load the node, or fails when it runs it",
}
"""What comes out if a node has a fault."""
NAMES_IN_FAULTS = ("present", "absent", "empty", "computed", "known", "scalars")
"""Keys of a fault that list inputs, and outputs."""
Span = tuple[int | None, int | None]
"""The lowest and the highest version of a domain; None if there is no limit, or none is known."""


@dataclass(frozen=True)
class Kernel:
    """One entry of an operator: a node runs if it fits one of them.

    Attributes:
        versions: The first and the last version that it serves; what None as the last one means, the match rule says.
        opsets: The lowest and the highest opset of the model, where the match rule is "opset".
        types: The element types by type parameter, or by input; those of the data inputs together have the name "".
            A parameter without types is not restricted. Types that are no tensors are whole: "seq(tensor(float))".
        types_not: Element types that no data input may have.
        attributes: The value of an attribute, a list of its values, or in words what it has to be: "absent".
        input_ranks: The ranks that the first input may have; any if there are none.
        constant_inputs: The inputs that have to be initializers or constants.
        values: What an input has to hold.
        outputs: The names of the outputs that may be used, or their number; any if None.
        static_shape: Whether shapes have to be known.
        known_ranks: Whether the ranks of inputs and outputs have to be known.
        notes: Everything else, in words.
        unasked: The type parameters of which some types were not tried; these count as taken.
    """

    versions: tuple[int, int | None] | None = None
    opsets: tuple[int, int] | None = None
    types: Mapping[str, frozenset[str]] = field(default_factory=dict)
    types_not: frozenset[str] = frozenset()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    input_ranks: frozenset[int] = frozenset()
    constant_inputs: frozenset[str] = frozenset()
    values: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[str, ...] | int | None = None
    static_shape: bool = False
    known_ranks: bool = False
    notes: tuple[str, ...] = ()
    unasked: frozenset[str] = frozenset()


class Comparison(NamedTuple):
    """A comparison in a fault: `output_padding >= strides`, `scales[0] != 1`.

    The left side is an attribute, or an input of which the element `at` an index counts. The right side is a number,
    or an attribute. Of two attributes, elements at the same place are compared, and one pair suffices.
    """

    name: str
    at: int | None
    sign: str
    other: str | float

    def __str__(self) -> str:
        """Return the comparison as a file has it."""
        index = "" if self.at is None else f"[{self.at}]"
        other = self.other if isinstance(self.other, str) else f"{self.other:g}"
        return f"{self.name}{index} {self.sign} {other}"


COMPARISON = re.compile(r"([A-Za-z_]\w*)(?:\[(\d{1,3})\])? (=|!=|<|<=|>|>=) (?:(-?\d+(?:\.\d+)?)|([A-Za-z_]\w*))")
"""How a file writes a comparison."""


def parse_comparison(text: str) -> Comparison | None:
    """Return a comparison that a file has; None if it is none."""
    found = COMPARISON.fullmatch(text)
    if found is None:
        return None
    name, index, sign, number, other = found.groups()
    return Comparison(name, None if index is None else int(index), sign, float(number) if number else other)


@dataclass(frozen=True)
class KernelFault:
    """A class of nodes that a runtime takes, and computes wrongly or fails at.

    Attributes:
        nodes: The versions, opsets, types, attributes and ranks of the nodes of the class, as those of a kernel; a last
            version None stands for all above.
        result: A key of RESULTS.
        gives: What comes out, in words.
        values: What an input holds, if inference knows it: a value, or a list of them.
        present: The inputs and outputs that the nodes have.
        absent: The inputs and outputs that they do not have.
        empty: Inputs of which one is known to have no elements.
        computed: Inputs of which one is no initializer or constant.
        known: Inputs whose elements are known before the model runs.
        scalars: Inputs of which one is known to be a scalar; a vector of its element does not have the fault.
        where: Comparisons of attributes and elements of inputs, which all hold.
        captures: Whether graphs of the nodes use values from outside.
        states: Attributes with which a node does not have the fault. The value of each is the size of an input along an
            axis.
        when: What else has to hold, in words: that is not known before the node runs.
    """

    nodes: Kernel
    result: str
    gives: str
    values: Mapping[str, Any] = field(default_factory=dict)
    present: frozenset[str] = frozenset()
    absent: frozenset[str] = frozenset()
    empty: frozenset[str] = frozenset()
    computed: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    scalars: frozenset[str] = frozenset()
    where: tuple[Comparison, ...] = ()
    captures: bool = False
    states: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    when: str = ""


@dataclass(frozen=True)
class RuntimeRelease:
    """A row of a runtime: the limits of one release. None stands for a limit that is not known.

    `kernels_release` is the release of the runtime whose kernels it has, and `fallback_release` that of its fallback,
    if they have other numbers. `union_types` says that the types of a kernel are the union over several: not every
    combination of two parameters need have one. `local_functions` says whether it runs functions that a model defines.
    """

    release: str
    opset: Span = (None, None)
    ml: int | None = None
    ir: int | None = None
    how: str = DOCUMENTED
    read_from: str = ""
    note: str = ""
    kernels_release: str = ""
    fallback_release: str = ""
    lists_operators: bool = True
    union_types: bool = False
    local_functions: bool = True


class ModelLoader(Protocol):
    """An installed package that is asked which models it loads, with its name, version, and release as a number."""

    package: str
    version: str
    release: str

    def load(self, model: bytes) -> str:
        """Return "" if it loads a model, else the reason."""


@dataclass(frozen=True, eq=False)
class RuntimeTable:
    """What a file says of a runtime: its names, its releases oldest first, and its operators, which are read late.

    `doubts` are notes on what it says that is probably a mistake.
    """

    name: str
    title: str
    match: str
    source: str
    releases: tuple[RuntimeRelease, ...]
    aliases: tuple[str, ...] = ()
    fallback: str = ""
    kernels_of: str = ""
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    casts: Mapping[str, str] = field(default_factory=dict)
    io_types_not: frozenset[str] = frozenset()
    file: str = ""
    has_operators: bool = False
    read_operators: Callable[[], Mapping[str, Any]] = field(default=dict, repr=False)
    _kernels: dict[tuple[str, str], list[tuple[range, Kernel]]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def _positions(self) -> dict[str, int]:
        """The index of each release among the rows."""
        return {row.release: number for number, row in enumerate(self.releases)}

    def position(self, release: str) -> int:
        """Return the index of a release among the rows. Raises KeyError if it has none."""
        return self._positions[release]

    def kernels(self, op_type: str, domain: str, release: str) -> tuple[Kernel, ...]:
        """Return the kernels of an operator in a release, in the order of the file; releases share them.

        Raises KeyError if the release has no row.
        """
        key = op_type, domain
        if key not in self._kernels:
            self._kernels[key] = [(self._rows_of(each), make_kernel(each)) for each in self.entries(*key)]
        number = self.position(release)
        if not self.releases[number].lists_operators:
            return ()
        return tuple(kernel for rows, kernel in self._kernels[key] if number in rows)

    def entries(self, op_type: str, domain: str) -> list[Mapping[str, Any]]:
        """Return the entries of an operator in all releases, as they stand in the file."""
        entries: list[Mapping[str, Any]] = self.read_operators().get("operators", {}).get(domain, {}).get(op_type, [])
        return entries

    def operators(self, domain: str) -> list[str]:
        """Return the operators of a domain that some release has."""
        return list(self.read_operators().get("operators", {}).get(domain, ()))

    def domains(self) -> list[str]:
        """Return the domains of which the runtime lists operators."""
        return list(self.read_operators().get("operators", ()))

    def faults(self, op_type: str, domain: str) -> list[Mapping[str, Any]]:
        """Return the faults of an operator in all releases, as they stand in the file."""
        faults: list[Mapping[str, Any]] = self.read_operators().get("faults", {}).get(domain, {}).get(op_type, [])
        return faults

    def functions(self, op_type: str, domain: str) -> list[int]:
        """Return the versions of an operator that may run without a kernel, by the function that defines them."""
        versions: list[int] = self.read_operators().get("functions", {}).get(domain, {}).get(op_type, [])
        return versions

    def holds(self, entry: Mapping[str, Any], release: str) -> bool:
        """Whether an entry of an operator is for a release, by its `since` and `until`."""
        number = self.position(release)
        return self.releases[number].lists_operators and number in self._rows_of(entry)

    def _rows_of(self, entry: Mapping[str, Any]) -> range:
        """Return the indices of the rows for which an entry of an operator is, by its `since` and `until`."""
        since, until = entry.get("since"), entry.get("until")
        first = 0 if since is None else self.position(since)
        return range(first, len(self.releases) if until is None else self.position(until) + 1)


@dataclass(frozen=True, eq=False)
class Runtime:
    """One runtime at one release.

    Attributes:
        name: Its name, as `opset targets list` shows it.
        release: The release whose row this is.
        title: Its name in words.
        match: How a kernel fits a version of an operator: a key of MATCH.
        how: How the release is known: "measured", "documented" or "derived".
        source: Where its facts are from.
        opsets: The lowest and the highest version of each domain; "" is ai.onnx. None if there is no limit, or none is
            known: both are None then.
        max_ir: The highest IR version; None if it is not known.
        fallback: The runtime that runs the nodes which this one does not take.
        lists_operators: Whether its kernels are known at all.
        notes: What a user should know about this row: "1.16.2 is not known: taken as 1.16".
        io_types_not: Element types that inputs and outputs of a model cannot have.
        casts: Element types that it computes in another one, with a remark where that holds.
        union_types: Whether not every combination of the types of two parameters need have a kernel.
        local_functions: Whether it runs functions that a model defines.
        table: Its file.
        loader: The installed package, which is asked by loading models; None if the file says it.
    """

    name: str
    release: str
    title: str
    match: str
    how: str
    source: str
    opsets: Mapping[str, Span]
    max_ir: int | None
    fallback: Runtime | None
    lists_operators: bool
    notes: tuple[str, ...]
    table: RuntimeTable = field(repr=False)
    kernels_of: Runtime | None = None
    io_types_not: frozenset[str] = frozenset()
    casts: Mapping[str, str] = field(default_factory=dict)
    union_types: bool = False
    loader: ModelLoader | None = field(default=None, repr=False)
    local_functions: bool = True
    _known: dict[tuple[str, str], tuple[Kernel, ...]] = field(default_factory=dict, repr=False)
    _faults: dict[tuple[str, str], tuple[KernelFault, ...]] = field(default_factory=dict, repr=False)

    def kernels(self, op_type: str, domain: str = "") -> tuple[Kernel, ...]:
        """Return the kernels of an operator in this release; none if it does not take the operator.

        A runtime with the kernels of another one has these, with its own limits for the operators that it names.
        """
        key = (op_type, normalize_domain(domain))
        if key not in self._known:
            self._known[key] = self._read_kernels(*key)
        return self._known[key]

    def faults(self, op_type: str, domain: str = "") -> tuple[KernelFault, ...]:
        """Return the faults of an operator in this release, also those of a runtime from which it has kernels."""
        key = (op_type, normalize_domain(domain))
        if key not in self._faults:
            entries = [each for each in self.table.faults(*key) if self.table.holds(each, self.release)]
            others = self.kernels_of.faults(*key) if self.kernels_of is not None else ()
            self._faults[key] = (*map(make_fault, entries), *others)
        return self._faults[key]

    def _read_kernels(self, op_type: str, domain: str) -> tuple[Kernel, ...]:
        own = self.table.kernels(op_type, domain, self.release)
        if self.kernels_of is None:
            return own
        others = self.kernels_of.kernels(op_type, domain)
        if not self.table.has_operators:
            return others
        return tuple(_limit_kernel(other, limits) for other in others for limits in own)

    def operators(self, domain: str = "") -> list[str]:
        """Return the operators of a domain that have kernels in this release, by name."""
        domain = normalize_domain(domain)
        names = {*self.table.operators(domain), *(self.kernels_of.operators(domain) if self.kernels_of else ())}
        return sorted(name for name in names if self.kernels(name, domain))

    def domains(self) -> list[str]:
        """Return the domains of which operators are listed; "" is ai.onnx."""
        return self.table.domains() or (self.kernels_of.domains() if self.kernels_of else [])

    def has_function(self, op_type: str, domain: str, since_version: int) -> bool:
        """Whether a version without a kernel may run by the function that defines it in the standard."""
        runtime: Runtime | None = self
        while runtime is not None:
            if since_version in runtime.table.functions(op_type, normalize_domain(domain)):
                return True
            runtime = runtime.kernels_of or runtime.fallback
        return False

    def answers_alike(self, other: Runtime) -> bool:
        """Whether a release of the same runtime has the same kernels and faults of all that was asked of this one."""
        if self.table is not other.table or self.lists_operators != other.lists_operators:
            return False
        if self.local_functions != other.local_functions:
            return False
        if any(other.kernels(*operator) != kernels for operator, kernels in self._known.items()):
            return False
        if any(other.faults(*operator) != faults for operator, faults in self._faults.items()):
            return False
        if any(self.cast_of(element) != other.cast_of(element) for element in self.casts):
            return False
        if self.fallback is None or other.fallback is None:
            return self.fallback is other.fallback
        return self.fallback.answers_alike(other.fallback)

    def cast_of(self, element: str) -> str:
        """Return the element type in which it computes one, which may be that itself.

        "int32 before 9.0" holds for its older releases.
        """
        other, _, release = self.casts.get(element, element).partition(" before ")
        is_cast = not release or release_sort_key(self.release) < release_sort_key(release)
        return other if is_cast else element

    def takes_version(self, kernel: Kernel, since_version: int, opset: int) -> bool:
        """Whether a kernel serves a version of its operator in a model at an opset, by the match rule.

        Args:
            kernel: One of the operator's kernels.
            since_version: The version of the operator that holds at the model's opset.
            opset: The model's version of the operator's domain.
        """
        if kernel.opsets is not None:
            lowest, highest = kernel.opsets
            return lowest <= opset <= highest
        return serves_version(kernel, since_version, self.match)


def serves_version(kernel: Kernel, since_version: int, match: str) -> bool:
    """Whether a kernel serves a version of its operator by a rule of MATCH, other than "opset"."""
    if kernel.versions is None:
        return True
    first, last = kernel.versions
    if last is None:
        return since_version == first or (match == RANGE and since_version > first)
    return since_version == first or first < since_version <= last


def make_table(document: Mapping[str, Any], file: str = "") -> RuntimeTable:
    """Return the runtime that a file's plain data describes; a function `read_operators` in it reads operators late."""
    rows = (_make_release(**row) for row in document["releases"])
    operators = {key: document[key] for key in ("operators", "functions", "faults") if key in document}
    return RuntimeTable(
        name=document["runtime"],
        title=document.get("title", document["runtime"]),
        match=document.get("match", ""),
        source=document.get("source", ""),
        releases=tuple(rows),
        aliases=tuple(document.get("aliases", ())),
        fallback=document.get("fallback", ""),
        kernels_of=document.get("kernels_of", ""),
        notes=tuple(document.get("notes", ())),
        casts=document.get("casts", {}),
        io_types_not=frozenset(document.get("io_types_not", ())),
        file=file,
        has_operators=document.get("has_operators", "operators" in document),
        read_operators=document.get("read_operators", lambda: operators),
    )


def _make_release(opset: list[int | None] | None = None, **said: Any) -> RuntimeRelease:
    return RuntimeRelease(opset=(None, None) if opset is None else (opset[0], opset[1]), **said)


def release_sort_key(release: str) -> list[tuple[int, str]]:
    """Return a key that sorts releases part by part: numbers by value, as 1.9 before 1.10, and words before numbers."""
    parts = [part.lstrip("0") if part.isdecimal() else part for part in release.split(".")]
    return [(len(part) if part.isdecimal() or not part else -1, part) for part in parts]


def make_kernel(entry: Mapping[str, Any]) -> Kernel:
    """Return the kernel that an entry of a file describes."""
    types, outputs = entry.get("types", {}), entry.get("outputs")
    if isinstance(types, list):
        types = {DATA_INPUTS: types}
    return Kernel(
        versions=_pair(entry.get("versions")),
        opsets=_pair(entry.get("opsets")),
        types={name: frozenset(each) for name, each in types.items()},
        types_not=frozenset(entry.get("types_not", ())),
        attributes=entry.get("attributes", {}),
        input_ranks=frozenset(entry.get("input_rank", ())),
        constant_inputs=frozenset(entry.get("constant_inputs", ())),
        values=entry.get("values", {}),
        outputs=tuple(outputs) if isinstance(outputs, list) else outputs,
        static_shape=entry.get("static_shape", False),
        known_ranks=entry.get("known_ranks", False),
        notes=tuple(entry.get("notes", ())),
        unasked=frozenset(entry.get("unasked", ())),
    )


def make_fault(entry: Mapping[str, Any]) -> KernelFault:
    """Return the fault that an entry of a file describes."""
    given: dict[str, Any] = {key: frozenset(entry[key]) for key in NAMES_IN_FAULTS if key in entry}
    given |= {key: entry[key] for key in ("values", "captures", "when") if key in entry}
    given["where"] = tuple(filter(None, map(parse_comparison, entry.get("where", ()))))
    sizes = {name: size.rpartition(".") for name, size in entry.get("states", {}).items()}
    given["states"] = {name: (parameter, int(axis)) for name, (parameter, _, axis) in sizes.items()}
    nodes = make_kernel({key: each for key, each in entry.items() if key != "values"})
    return KernelFault(nodes, entry["result"], entry["gives"], **given)


def _pair(span: list[Any] | None) -> Any:
    return None if span is None else tuple(span)


def _limit_kernel(kernel: Kernel, limits: Kernel) -> Kernel:
    """Return a kernel with further limits; of types, only those are left that both allow."""
    shared = {name: kernel.types[name] & types for name, types in limits.types.items() if name in kernel.types}
    return replace(
        kernel,
        types={**kernel.types, **limits.types, **shared},
        types_not=kernel.types_not | limits.types_not,
        attributes={**kernel.attributes, **limits.attributes},
        input_ranks=limits.input_ranks or kernel.input_ranks,
        constant_inputs=kernel.constant_inputs | limits.constant_inputs,
        values={**kernel.values, **limits.values},
        outputs=kernel.outputs if limits.outputs is None else limits.outputs,
        static_shape=kernel.static_shape or limits.static_shape,
        known_ranks=kernel.known_ranks or limits.known_ranks,
        notes=(*kernel.notes, *limits.notes),
    )
