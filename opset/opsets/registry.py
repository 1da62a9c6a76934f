"""The registry of operators: each by domain, name and version of its operator set."""

from __future__ import annotations

import itertools
import os
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from opset.errors import Finding, SchemaError, UsageError, brief_name, listing
from opset.file_names import list_paths
from opset.options import checked_options
from opset.schemas.index import (
    compile_operators,
    make_schema,
    standard_examples,
    standard_index,
    standard_prose,
    versions_of,
)
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name, near_miss, normalize_domain

if TYPE_CHECKING:
    from opset.opsets.documents.operator_set import OperatorSet
    from opset.schemas.documentation import Docs
    from opset.schemas.example import Example
    from opset.schemas.type_sets import TypeSets
    from opset.schemas.yaml.loader import Operator

ENTRY_POINTS = "opset.schemas"
Source = tuple[dict[str, Any], dict[str, Any] | None, dict[str, Any] | None]
"""Compiled operators, with their prose and examples; None stands for those of the standard, read when needed."""


class Registry:
    """Operators of the standard and of users' folders, by domain; `ai.onnx` and the empty domain are one.

    Each schema is made once, when it is first needed.
    """

    def __init__(
        self,
        sources: Iterable[Source],
        folders: Iterable[Path | str] = (),
        data: Iterable[Path | str] = (),
        documents: Iterable[OperatorSet] = (),
    ) -> None:
        """Collect operators of trusted `folders`, and of folders of `data` whose Python files are never run.

        Sources were made of the `documents`.
        """
        self._sources: dict[str, dict[str, Source]] = {}
        self._sinces: dict[tuple[str, str], list[int]] = {}
        self._schemas: dict[tuple[str, str, int], OpSchema] = {}
        self._phrases: dict[tuple[str, ...], str] = {}
        self._examples: tuple[tuple[str, str], tuple[Example, ...]] | None = None
        for source in sources:
            for domain, operators in source[0]["operators"].items():
                self._sources.setdefault(domain, {}).update(dict.fromkeys(operators, source))
        folders, data = tuple(folders), tuple(data)
        self.folders = (*folders, *data)
        """The folders, trusted ones first."""
        self.documents = tuple(documents)
        # The files are listed, and no path is ever made of a domain's name, since a model chooses that.
        files = {os.path.realpath(file): file for folder in folders for file in files_named(folder, "*.py")}
        self._files = tuple(files.values())
        # Links may put a file into a trusted folder as well.
        untrusted = (file for folder in data for file in files_named(folder, "*.py"))
        self._left_out = tuple(file for file in untrusted if os.path.realpath(file) not in files)

    def schema(self, op_type: str, version: int, domain: str = "") -> OpSchema | None:
        """Return the schema of an operator at a version of its domain's operator set.

        Args:
            op_type: The name of the operator.
            version: The version of the operator set.
            domain: The domain; "" and "ai.onnx" are the same one.

        Returns:
            The schema with the highest since_version not above the version, also if it is deprecated; None if there is
            none.
        """
        domain = normalize_domain(domain)
        position = bisect_right(self._versions_of(op_type, domain), version) - 1
        return self._schema_at(domain, op_type, position) if position >= 0 else None

    def versions(self, op_type: str, domain: str = "") -> tuple[OpSchema, ...]:
        """Return all versions of an operator, oldest first; none if it is not known."""
        domain = normalize_domain(domain)
        count = len(self._versions_of(op_type, domain))
        return tuple(self._schema_at(domain, op_type, position) for position in range(count))

    def since_versions(self, op_type: str, domain: str = "") -> Sequence[int]:
        """Return the since_versions of an operator, oldest first; none if it is not known."""
        return self._versions_of(op_type, normalize_domain(domain))

    def operators(self, domain: str = "") -> list[str]:
        """Return the names of a domain's operators, sorted."""
        return sorted(self._sources.get(normalize_domain(domain), ()))

    def near_miss(self, op_type: str, domain: str = "") -> str:
        """Return which operator a name that a domain lacks may mean, as help; "" if there is none like it."""
        elsewhere = [domain_name(each) for each in self.domains if op_type in self.operators(each)]
        if elsewhere:
            return f"{brief_name(op_type)} is an operator of {' and '.join(elsewhere)}"
        return near_miss(op_type, self.operators(domain))

    def domains_like(self, domain: str) -> str:
        """Return the domains that there are, as help for another one, after those that are like it."""
        names = [*map(domain_name, self.domains)]
        return f"{near_miss(domain, names)} known: {', '.join(names)}".strip()

    @cached_property
    def domains(self) -> dict[str, int]:
        """Domains with the newest version of their operator sets."""
        return {
            domain: max(source[0]["newest"][domain] for source in operators.values())
            for domain, operators in sorted(self._sources.items())
        }

    def is_standard(self, op_type: str, domain: str = "") -> bool:
        """Whether an operator is one of the standard, and not of a user's folder."""
        source = self._sources.get(normalize_domain(domain), {}).get(op_type)
        return source is not None and source[1] is None

    def files(self, domain: str, name: str) -> tuple[Path, ...]:
        """Return the files of a name beside the YAML of a domain in trusted folders, each once.

        Args:
            domain: The domain.
            name: The name of the files, such as "kernels.py".
        """
        return _files_of_domain(self._files, domain, name)

    def files_left_out(self, domain: str, name: str) -> tuple[Path, ...]:
        """Return the files of a name beside the YAML of a domain that are not run, since nobody trusts them.

        Args:
            domain: The domain.
            name: The name of the files, such as "kernels.py".
        """
        return _files_of_domain(self._left_out, domain, name)

    def __repr__(self) -> str:
        from opset.html_text import one_line

        domains = listing([f"{domain_name(domain)} {newest}" for domain, newest in self.domains.items()])
        return one_line("Registry", f"of {domains}")

    def documentation(self, schema: OpSchema) -> Docs:
        """Return the prose of a schema of this registry."""
        from opset.schemas.documentation import make_docs  # conversions read no prose

        prose = self._sources[schema.domain][schema.name][1]
        return make_docs(standard_prose() if prose is None else prose, schema.domain, schema.name, schema.since_version)

    @cached_property
    def type_sets(self) -> TypeSets:
        """Named type sets of the standard and of folders; of two with one name, the first."""
        sources = {id(source): source for operators in self._sources.values() for source in operators.values()}
        sets: dict[str, tuple[str, ...]] = {}
        for _, prose, _ in sources.values():
            named = (standard_prose() if prose is None else prose)["sets"]
            sets |= {name: tuple(types) for name, types in named.items() if name not in sets}
        return sets

    def phrase(self, types: tuple[str, ...]) -> str:
        """Return a short phrase for exactly these types, such as "real_ir4 without bool", by the names of type sets."""
        from opset.schemas.type_sets import compact_types

        if types not in self._phrases:
            self._phrases[types] = compact_types(types, self.type_sets)
        return self._phrases[types]

    def examples(self, operator: str, domain: str = "") -> tuple[Example, ...]:
        """Return the examples of an operator, in the order of its file; none if it is not known.

        Those of the last operator are kept for the next call, as they are mostly asked for one operator after another.
        """
        from opset.schemas.example import make_examples

        key = domain, operator = normalize_domain(domain), operator
        if operator not in self._sources.get(domain, {}):
            return ()
        last = self._examples  # which another thread may replace
        if last is None or last[0] != key:
            examples = self._sources[domain][operator][2]
            found = make_examples(standard_examples() if examples is None else examples, domain, operator)
            last = self._examples = key, found
        return last[1]

    def _versions_of(self, name: str, domain: str) -> list[int]:
        """Return the since_versions of an operator, oldest first; none if it is not known."""
        key = domain, name
        if key not in self._sinces:
            if name not in self._sources.get(domain, {}):
                return []
            self._sinces[key] = versions_of(self._sources[domain][name][0], domain, name)
        return self._sinces[key]

    def _schema_at(self, domain: str, name: str, position: int) -> OpSchema:
        """Return the schema at a position of an operator's versions, 0 for the oldest; each is made once."""
        key = domain, name, position
        if key not in self._schemas:
            index, prose, _ = self._sources[domain][name]
            self._schemas[key] = make_schema(index, domain, name, position, prose)
        return self._schemas[key]


Schemas: TypeAlias = "Iterable[Path | str | OperatorSet] | Path | OperatorSet | Registry"
"""Folders of operator YAML and operator-set documents beside the standard's, or one, or a registry made of them."""


@lru_cache(maxsize=1)
def default_registry() -> Registry:
    """Return the registry of the standard's operators."""
    return Registry([(standard_index(), None, None)])


def files_named(folder: Path | str, pattern: str) -> list[Path]:
    """Return the files `<domain>/<pattern>` of a folder, sorted."""
    if not os.path.isdir(folder):  # pathlib fails where a name is too long
        return []
    return [file for file in sorted(Path(folder).glob(f"*/{pattern}")) if file.is_file()]


def _files_of_domain(files: Iterable[Path], domain: str, name: str) -> tuple[Path, ...]:
    """Return those `files` that have a name and are in a folder of the domain."""
    wanted = normalize_domain(domain)
    return tuple(file for file in files if file.name == name and normalize_domain(file.parent.name) == wanted)


def registry_with(schemas: Schemas, *, data: Iterable[Path | str] = ()) -> Registry:
    """Return a registry of the operators of the standard, of folders of `<domain>/<Operator>.yaml`, and of documents.

    Args:
        schemas: Folders, whose Python files beside the YAML are trusted, and run when they are needed; files of
            operator-set documents, or such sets; or a registry.
        data: Folders whose Python files are never run, and documents.

    Returns:
        A new registry; the given one if `schemas` is one, so that the same folders need not be read again.

    Raises:
        SchemaError: With the findings of all folders; S108 if an operator is declared twice.
    """
    if isinstance(schemas, Registry):
        return schemas
    trusted, documents = _separate_folders(list_paths(schemas))
    untrusted, others = _separate_folders(list_paths(data))
    folders = [*trusted, *untrusted]
    documents += others
    if not (folders or documents):
        return default_registry()
    from opset.opsets.documents.operator_set import OperatorSet
    from opset.opsets.documents.reading import load_operator_set
    from opset.schemas.yaml.loader import load_folder, standard_sets

    sets = standard_sets()
    added: list[Operator] = []
    added_sets = dict(sets)
    read: list[OperatorSet] = []
    findings: list[Finding] = []
    for folder in folders:
        try:
            operators, own_sets = load_folder(folder, sets)
            added += operators
            added_sets = {**own_sets, **added_sets}
        except SchemaError as error:
            findings += error.findings
    for each in documents:
        try:
            read.append(each if isinstance(each, OperatorSet) else load_operator_set(each))
        except SchemaError as error:
            findings += error.findings
    beside = [[each for each in document.operators if not _is_known(each, document.version)] for document in read]
    findings += _repeated_declarations([*added, *itertools.chain.from_iterable(beside)])
    if findings:
        raise SchemaError(findings)
    sources: list[Source] = [(standard_index(), None, None), compile_operators(added, added_sets)]
    for document, declared in zip(read, beside, strict=True):
        sources.append(compile_operators(declared, {**sets, **document.sets}))
        if declared:
            sources[-1][0]["newest"][document.domain] = document.version
    return Registry(sources, trusted, untrusted, read)


def _separate_folders(
    sources: Iterable[Path | str | OperatorSet],
) -> tuple[list[Path | str], list[Path | str | OperatorSet]]:
    """Return the folders among sources of schemas, each once, and the operator-set documents.

    A missing path is a folder.
    """
    folders: dict[str, Path | str] = {}
    documents: list[Path | str | OperatorSet] = []
    for each in sources:
        if isinstance(each, str | os.PathLike) and (os.path.isdir(each) or not os.path.exists(each)):
            folders.setdefault(os.path.realpath(each), each)
        else:
            documents.append(each)
    return [*folders.values()], documents


def _is_known(operator: Operator, version: int) -> bool:
    """Whether the standard declares an operator up to a version as a document does, as far as the document tells."""
    versions = default_registry().versions(operator.name, operator.domain)
    known = [each for each in versions if each.since_version <= version]
    if operator.schemas[-1].unknown:
        return bool(known) and known[-1].since_version == operator.schemas[-1].since_version
    return known == [*operator.schemas]


def _repeated_declarations(operators: Iterable[Operator]) -> Iterator[Finding]:
    """Yield a finding (S108) for each operator that the standard or one of the operators before declares, too."""
    standard = default_registry()
    declared = {(domain, name): "the standard" for domain in standard.domains for name in standard.operators(domain)}
    for operator in operators:
        key = operator.domain, operator.name
        if key in declared:
            message = f"{operator.name} of {domain_name(operator.domain)} is declared already, by {declared[key]}"
            help = "use a domain of your own"
            if declared[key] != "the standard":
                help = "name one of the two: --schemas takes precedence over an installed package if it has all domains"
            yield Finding("S108", message, place=f"{operator.path}:1:1", help=help)
        declared[key] = operator.path


def entry_point_folders() -> list[Path]:
    """Return the folders that installed packages offer under the entry point `opset.schemas`.

    Such an entry point names a package, whose folder is the schema folder. No code of the package is run to find it.
    Raises UsageError U103 for one that is malformed.
    """
    metadata = [path for folder in sys.path for path in _metadata_with_schemas(folder or os.curdir)]
    if not metadata:  # most often, and importlib.metadata is slow
        return []
    from importlib.metadata import Distribution
    from importlib.util import find_spec

    folders: list[Path] = []
    for path in metadata:
        try:
            for point in Distribution.at(path).entry_points.select(group=ENTRY_POINTS):
                top, *inner = point.module.split(".")
                spec = find_spec(top)  # of the topmost package only, since that imports nothing
                places = spec.submodule_search_locations if spec is not None else None
                folders += [folder for place in places or () if (folder := Path(place, *inner)).is_dir()]
        except (AttributeError, ImportError, ValueError) as error:  # what importlib makes of names that are none
            message, help = "an installed package's entry points cannot be used", "correct or uninstall that package"
            finding = Finding("U103", message, why=str(error), help=help)
            raise UsageError(finding._replace(file=os.path.join(path, "entry_points.txt"))) from error
    return folders


def _metadata_with_schemas(folder: str) -> list[str]:
    """Return the metadata folders in a folder of packages that offer schemas, found by text since parsing is slow."""
    try:
        with os.scandir(folder) as entries:
            metadata = [entry.path for entry in entries if entry.name.endswith((".dist-info", ".egg-info"))]
    except OSError:
        return []
    return [path for path in metadata if _offers_schemas(os.path.join(path, "entry_points.txt"))]


def _offers_schemas(file: str) -> bool:
    """Whether a file of entry points has the group of schemas; it has not if it cannot be read."""
    if not os.path.isfile(file):  # most often, which is quicker than an exception; and a pipe would be waited for
        return False
    try:
        with open(file, "rb") as stream:
            return f"[{ENTRY_POINTS}]".encode() in stream.read()
    except OSError:
        return False


@checked_options
def get_schema(op_type: str, max_inclusive_version: int | str | None = None, domain: str | int = "") -> OpSchema:
    """Return the schema of an operator of the standard.

    Args:
        op_type: The name of the operator.
        max_inclusive_version: The version of the operator set at which the schema holds; None for the newest. The
            domain may stand here, and the version after it. A version that the operator set does not have is an error.
        domain: The domain; "" and "ai.onnx" are the same one.

    Raises:
        UsageError: U105 if the domain has no such operator at that version, U103 for two versions or two domains.
    """
    version, domain = sort_arguments(max_inclusive_version, domain)
    registry = default_registry()
    versions = registry.versions(op_type, domain)
    where = domain_name(normalize_domain(domain))
    if not versions:
        help = registry.near_miss(op_type, domain)
        if not help and not registry.operators(domain):
            help = registry.domains_like(domain)
        raise UsageError(Finding("U105", f"{where} has no operator {op_type}", help=help))
    if version is None:
        return versions[-1]
    newest = registry.domains[normalize_domain(domain)]
    if not 1 <= version <= newest:
        raise UsageError(
            Finding("U105", f"there is no {where} {version}", help=f"versions of {where} go from 1 to {newest}")
        )
    schema = registry.schema(op_type, version, domain)
    if schema is None:
        message = f"{where} has no {op_type} at version {version}"
        raise UsageError(Finding("U105", message, help=f"it came with version {versions[0].since_version}"))
    return schema


def sort_arguments(first: int | str | None, second: int | str | None) -> tuple[int | None, str]:
    """Return a version, None if there is none, and a domain, which were given in either order.

    Raises:
        UsageError: U103 for two versions or two domains.
    """
    version, domain = (second or None, first) if isinstance(first, str) else (first, second)
    if isinstance(version, str) or not isinstance(domain, str):
        given = f"{first!r} and {second!r}"
        raise UsageError(Finding("U103", f"{given} are no version and domain", help="give one of each, or none"))
    return version, domain
