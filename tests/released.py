"""The released versions of the standard's operators: those that the lock holds, which only a release adds to.

What is compared with another implementation, or counted, is compared and counted for these. A version in development
is in the YAML alone, and no test has to be edited for it.
"""

from __future__ import annotations

from opset.opsets.releases import RELEASES
from opset.schemas.index import FOLDER
from opset.schemas.lock import read_lock
from opset.schemas.model import OpSchema
from opset.schemas.names import normalize_domain

RELEASED = {
    (normalize_domain(domain), name, int(since))
    for domain, operators in read_lock(FOLDER).items()
    for name, versions in operators.items()
    for since in versions
}
"""Domain, operator and since_version of each released version."""
OPERATORS = {key[:2] for key in RELEASED}


def is_released(schema: OpSchema) -> bool:
    """Whether this version of an operator is released."""
    return (schema.domain, schema.name, schema.since_version) in RELEASED


def newest(domain: str = "") -> int:
    """Return the newest released version of a domain's operator set."""
    highest = max(since for each, _, since in RELEASED if each == domain)
    return max(highest, RELEASES[-1].opset_of(domain))
