"""The releases of the standard, with their IR version and versions of operator sets."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from opset.errors import Finding, UsageError, quote
from opset.schemas.names import domain_name, near_miss


class Release(NamedTuple):
    """One release of onnx: its IR version and its newest operator set version by domain; 0 if there is none."""

    name: str
    ir: int
    opset: int
    ml: int
    training: int = 0

    def opset_of(self, domain: str) -> int:
        """Return the newest version of a domain's operator set in this release; 0 if it is not part of it."""
        return {"": self.opset, "ai.onnx": self.opset, ML: self.ml, TRAINING: self.training}.get(domain, 0)


ML, TRAINING = "ai.onnx.ml", "ai.onnx.preview.training"

# The released-versions table of the versioning document, continued to 1.23. Which versions a domain has follows from
# the schemas: those above the newest release's are in development, and get a row here when they are released.
RELEASES = (
    Release("1.0", 3, 1, 1),
    Release("1.1", 3, 5, 1),
    Release("1.1.2", 3, 6, 1),
    Release("1.2", 3, 7, 1),
    Release("1.3", 3, 8, 1),
    Release("1.4.1", 4, 9, 1),
    Release("1.5.0", 5, 10, 1),
    Release("1.6.0", 6, 11, 2),
    Release("1.7.0", 7, 12, 2, 1),
    Release("1.8.0", 7, 13, 2, 1),
    Release("1.8.1", 7, 13, 2, 1),
    Release("1.9.0", 7, 14, 2, 1),
    Release("1.10.0", 8, 15, 2, 1),
    Release("1.10.1", 8, 15, 2, 1),
    Release("1.10.2", 8, 15, 2, 1),
    Release("1.11.0", 8, 16, 3, 1),
    Release("1.12.0", 8, 17, 3, 1),
    Release("1.13.0", 8, 18, 3, 1),
    Release("1.13.1", 8, 18, 3, 1),
    Release("1.14.0", 9, 19, 3, 1),
    Release("1.14.1", 9, 19, 3, 1),
    Release("1.15.0", 9, 20, 4, 1),
    Release("1.16.0", 10, 21, 5, 1),
    Release("1.16.1", 10, 21, 5, 1),
    Release("1.16.2", 10, 21, 5, 1),
    Release("1.17.0", 10, 22, 5, 1),
    Release("1.18.0", 11, 23, 5, 1),
    Release("1.19.0", 12, 24, 5, 1),
    Release("1.19.1", 12, 24, 5, 1),
    Release("1.20.0", 13, 25, 5, 1),
    Release("1.20.1", 13, 25, 5, 1),
    Release("1.21.0", 13, 26, 5, 1),
    Release("1.22.0", 13, 27, 5, 1),
    Release("1.23.0", 14, 28, 5, 1),
)


def release(name: str) -> Release:
    """Return the newest release whose number begins with `name`: "1.15" means 1.15.0, "1.16" means 1.16.2.

    Raises UsageError U101, which lists the releases, if there is none.
    """
    parts = name.split(".")
    zeros = ["0"] * len(parts)  # parts that a release number leaves out are zero
    matching = [each for each in RELEASES if [*each.name.split("."), *zeros][: len(parts)] == parts]
    if matching:
        return matching[-1]
    names = [each.name for each in RELEASES]
    near = near_miss(name, names)
    if name.isdigit() and name in {str(each.opset) for each in RELEASES}:
        near = f"an opset is no release; for opset {name} pass --to {name}, in Python to={name};"
    help = f"{near} known: {', '.join(names)}".strip()
    raise UsageError(Finding("U101", f"there is no ONNX release {quote(name)}", help=help))


@lru_cache(maxsize=512)
def ir_version_of_opset(version: int, domain: str = "") -> int:
    """Return the IR version of the first release that has this operator set version.

    A version between two releases' came with the later one; one that no release has yet is in development, and follows
    the newest release. Raises UsageError U101 if no release has the domain, or the version is not positive.
    """
    if not is_released(domain) or version < 1:
        newest = RELEASES[-1].opset_of(domain)
        where = domain_name(domain)
        known = f"{where} goes from 1 to {newest}" if newest else f"{where} is not part of the ONNX releases"
        raise UsageError(Finding("U101", f"no ONNX release has version {version} of {where}", help=known))
    return next((each.ir for each in RELEASES if each.opset_of(domain) >= version), newest_ir_version())


def newest_ir_version() -> int:
    """Return the IR version of the newest release."""
    return RELEASES[-1].ir


def is_released(domain: str) -> bool:
    """Whether a domain is part of the newest release of onnx."""
    return RELEASES[-1].opset_of(domain) > 0


def release_with(opset: int) -> Release:
    """Return the newest release of onnx whose opset of ai.onnx is not above `opset`."""
    return next(row for row in reversed(RELEASES) if row.opset <= opset)


def opset_beside(opsets: Mapping[str, int], ir_version: int = 0) -> int:
    """Return the opset of ai.onnx that goes with opsets of other domains.

    It is the newest one that needs no later IR version than the first release that has those versions. If all domains
    are users' own, it is the newest one that needs no later IR version than `ir_version`.
    """
    versions = {domain: version for domain, version in opsets.items() if is_released(domain)}
    has = [each for each in RELEASES if all(each.opset_of(domain) >= versions[domain] for domain in versions)]
    if not has:
        return RELEASES[-1].opset
    highest = has[0].ir
    if not versions:
        highest = max(highest, ir_version)
    return max(each.opset for each in has if each.ir <= highest)
