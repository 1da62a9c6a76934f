"""The files that an operator is written into: its YAML, kernels, inference functions and adapters."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from opset.errors import Finding, UsageError, listing, quote
from opset.opsets.hooks import Layer
from opset.opsets.registry import default_registry
from opset.opsets.releases import RELEASES
from opset.schemas.index import FOLDER
from opset.schemas.lock import Lock, read_lock
from opset.schemas.names import domain_name, near_miss, normalize_domain
from opset.schemas.type_sets import TypeSets
from opset.schemas.untrusted_files import file_bytes
from opset.schemas.yaml.folders import operator_files
from opset.schemas.yaml.loader import MAX_VERSION, Operator, folder_sets, load_operator, load_operators, standard_sets

OWN_FOLDER = Path("schemas")
"""The folder of operators of one's own, unless another is named."""
MAX_HOOKS = 1 << 22
"""Bytes of a file of hooks that is added to."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
_DOMAIN = re.compile(r"(?=.{1,100}\Z)[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")


def own_folder() -> Path:
    """Return the path of the folder `schemas` in the working directory. Raises UsageError U104 if it is a link."""
    if OWN_FOLDER.is_symlink():
        why = "it is a link, and nobody named the folder that it leads to"
        finding = Finding("U104", f"{OWN_FOLDER}/ here is not used", why=why, help="name the folder: -o DIR")
        raise UsageError(finding._replace(file=str(OWN_FOLDER)))
    return OWN_FOLDER


class Destination(NamedTuple):
    """The folder of YAML that operators of a domain are written to; nothing is written outside of `root`.

    `standard` says whether it is this package's own folder; Python functions are then written into the package's
    modules.
    """

    root: Path
    folder: Path
    domain: str
    standard: bool

    def yaml_path(self, name: str) -> Path:
        """Return the path of an operator's YAML file, which need not exist: schemas/com.acme/Thin.yaml."""
        return self.folder / domain_name(self.domain) / f"{name}.yaml"

    def hooks_path(self, layer: Layer, family: str) -> Path:
        """Return the path of the Python file with an operator's functions of one kind, which need not exist.

        `layer` is the kind: kernels, inference functions or adapters. Such a file is kernels.py in the domain's folder;
        for operators of the standard, it is the module of the `family`, such as "conv".
        """
        if self.standard:
            return self.root.joinpath(*layer.package.split(".")[1:], f"{family}.py")
        return self.folder / domain_name(self.domain) / layer.file

    def relative_path(self, path: Path) -> str:
        """Return a path as relative to `root`; for a path outside of it, it begins with ".."."""
        return os.path.relpath(path, self.root)

    def type_sets(self) -> TypeSets:
        """Return the type sets, names for lists of types, that operators in the folder may use.

        Raises SchemaError if the folder's types.yaml is malformed.
        """
        return folder_sets(self.folder, None if self.standard else standard_sets())

    def read_operator(self, name: str, sets: TypeSets) -> Operator:
        """Return an operator in the folder.

        `sets` are the type sets that the file may name. Raises UsageError U105 if the operator has no file, S215 if the
        file declares another operator, and SchemaError if the file is malformed.
        """
        path = self.yaml_path(name)
        if not os.path.lexists(path):
            files = operator_files(self.folder) if os.path.isdir(self.folder) else []
            beside = [f"{each.parent.name}.{name}" for each in files if each.stem == name]
            names = [each.stem for each in files if each.parent.name == domain_name(self.domain)]
            help = f"did you mean {listing(beside)}?" if beside else near_miss(name, names)
            help = help or f"opset new {name} --domain {domain_name(self.domain)} writes a new one"
            raise UsageError(Finding("U105", f"there is no operator {name}", help=help, file=str(path)))
        operator = load_operator(path, sets)
        if operator.name != name:
            why = f"it declares the operator {quote(operator.name)}"
            help = f"{name} is what it has to declare"
            raise UsageError(Finding("S215", "this file is badly named", why=why, help=help, file=str(path)))
        return operator

    def yaml_files(self) -> Iterator[Path]:
        """Yield the paths of the domain's operator files, sorted; nothing if the folder does not exist.

        The content is not read. Raises SchemaError S101 if a folder cannot be listed or has too many files.
        """
        if os.path.isdir(self.folder):
            yield from (each for each in operator_files(self.folder) if each.parent.name == domain_name(self.domain))

    def newest_version(self, sets: TypeSets) -> int:
        """Return the newest version of any operator of the domain in the folder's files; 0 if there is none.

        Files that cannot be read are left out without a finding; `opset lint` reports them. For the standard, the
        result is the newest opset of the domain in this package, and `sets` is not used.
        """
        if self.standard:
            return default_registry().domains.get(self.domain, 0)
        if not os.path.isdir(self.folder):  # pathlib fails where a name is too long
            return 0
        operators, _ = load_operators(self.folder, sets)
        return max((each.schemas[-1].since_version for each in operators if each.domain == self.domain), default=0)

    def newest_released(self, lock: Lock) -> int:
        """Return the newest released version of the domain; 0 if there is none.

        The released versions are those in `lock`, the content of lock.json. In the standard's folder, the version in
        the newest release of onnx counts, too.
        """
        versions = (int(since) for each in lock.get(domain_name(self.domain), {}).values() for since in each)
        return max((RELEASES[-1].opset_of(self.domain) if self.standard else 0, *versions))

    def lock(self) -> Lock:
        """Return the content of lock.json, the hashes of released versions; {} if there is no such file.

        Raises SchemaError if it cannot be read.
        """
        return read_lock(self.folder)


def destination_of(domain: str, folder: Path | None) -> Destination:
    """Return the folder that operators of a domain are written to.

    Args:
        domain: Domain of the operators.
        folder: Folder of operator YAML that the user named. If it is None, operators of a standard domain go to the
            folder of opset itself, and others to `schemas` in the working directory.

    Raises:
        UsageError: U103 if operators would go to the folder of opset itself, but opset is installed without sources.
            U104 if operators would go to `schemas`, but it is a symbolic link.
    """
    domain = normalize_domain(domain)
    if folder is None and domain not in default_registry().domains:
        folder = own_folder()
    if folder is not None and os.path.realpath(folder) != os.path.realpath(FOLDER):
        return Destination(folder, folder, domain, False)
    if not (FOLDER.parents[1] / "pyproject.toml").is_file():
        why = "the operators of the standard are part of this package, and this is no checkout of its sources"
        help = "name a domain of your own, as com.acme.Thin, or a folder: --schemas DIR"
        raise UsageError(Finding("U103", f"{domain_name(domain)} cannot be written to", why=why, help=help))
    return Destination(FOLDER.parent, FOLDER, domain, True)


def split_name(name: str, domain: str | None) -> tuple[str, str]:
    """Return (domain, name) of an operator that is given as "com.acme.Thin", or as "Thin" with a domain.

    If `domain` is None, all before the last dot of `name` is the domain; it is "" if there is no dot. The domain
    "ai.onnx" becomes "".

    Raises:
        UsageError: S215 if the name is no identifier, if the domain does not consist of words and dots, or if either
            has more than 100 characters.
    """
    if domain is None:
        domain, _, name = name.rpartition(".")
    findings = []
    if not _NAME.fullmatch(name):
        help = "letters, digits and _, at most 100, as in LayerNormalization"
        findings.append(Finding("S215", f"the operator name {quote(name)} is no identifier", help=help))
    if domain and not _DOMAIN.fullmatch(domain):
        message = f"the domain {quote(domain)} is not made of words and dots"
        findings.append(Finding("S215", message, help="as in com.acme, at most 100 characters"))
    if findings:
        raise UsageError(findings)
    return normalize_domain(domain), name


def next_version(newest: int, released: int, own: int) -> int:
    """Return the since_version of the next version of an operator; 0 if it needs none.

    - If a version of the operator set is in development (`newest` > `released` > 0), the result is `newest`. If the
      operator has this version already, the result is 0.
    - If the operator is new, and no version of the operator set is released, the result is `newest`, but at least 1.
    - In any other case, the result is `newest` + 1.

    Args:
        newest: Newest version of the operator set, 0 for none.
        released: Newest released version of the operator set, 0 for none.
        own: Newest version of the operator, 0 for none.
    """
    if newest > released > 0:
        return newest if own < newest else 0
    return newest if newest and not own and not released else newest + 1


def check_since(since: int, own: int, released: int, name: str) -> Finding | None:
    """Return a finding U103 if `since` cannot be the number of a new version of the operator `name`; else None.

    A number is possible if it is above `own`, the operator's newest version, and above `released`, the domain's newest
    released version. `own` and `released` are 0 for none. Numbers above MAX_VERSION are not possible.
    """
    least = max(own, released) + 1
    if least <= since <= MAX_VERSION:
        return None
    why = f"the newest version of {name} is {own}" if own >= released else f"version {released} is released"
    if since < 1:
        why = "versions are counted from 1"
    help = f"versions go from {least} to {MAX_VERSION}"
    return Finding("U103", f"--since {since} is not possible", why=why, help=help)


def hook_source(path: Path) -> str:
    """Return the text of a Python file of kernels, inference functions or adapters; "" if there is no such file.

    Raises UsageError U103 if it cannot be read.
    """
    try:
        return file_bytes(path, MAX_HOOKS).decode()
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        help = "correct the file, or move it away"
        raise UsageError(Finding("U103", "this file cannot be added to", why=why, help=help, file=str(path))) from error
