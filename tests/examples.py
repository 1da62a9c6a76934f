"""Every example of every operator's YAML with every version for which it holds; by versions, as parameters of a test.

A test for each of the 7,000 pairs would cost more than what it tests.
"""

import pytest

from opset.opsets.registry import default_registry
from opset.schemas.model import example_versions
from opset.schemas.names import shown

REGISTRY = default_registry()
PAIRS = [
    (schema, example)
    for domain in REGISTRY.domains
    for name in REGISTRY.operators(domain)
    for example in REGISTRY.examples(name, domain)
    for schema in REGISTRY.versions(name, domain)
    if schema.since_version in example_versions(example, [schema.since_version])
]


def _cases():
    of_version = {}
    for schema, example in PAIRS:
        title = f"{shown(schema.domain)}-{schema.name}-{schema.since_version}"
        of_version.setdefault(title, (schema, []))[1].append(example)
    return [pytest.param(*case, id=title) for title, case in of_version.items()]


CASES = _cases()


def check_each(check, schema, examples):
    """Check every example of a version, and name all that fail."""
    failed = {}
    for example in examples:
        try:
            check(schema, example)
        except (Exception, pytest.fail.Exception) as error:
            failed[example.name] = error
    if failed:
        named = "".join(f"\n{name}: {error}" for name, error in failed.items())
        raise AssertionError(f"of {len(examples)} examples: {named}") from next(iter(failed.values()))
