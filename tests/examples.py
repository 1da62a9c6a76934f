"""Every example of every operator's YAML, at every version for which it holds, as parameters of a test."""

import pytest

from opset.opsets.registry import default_registry
from opset.schemas.model import example_versions
from opset.schemas.names import shown

REGISTRY = default_registry()
CASES = [
    pytest.param(schema, example, id=f"{shown(domain)}-{name}-{schema.since_version}-{example.name}")
    for domain in REGISTRY.domains
    for name in REGISTRY.operators(domain)
    for example in REGISTRY.examples(name, domain)
    for schema in REGISTRY.versions(name, domain)
    if schema.since_version in example_versions(example, [schema.since_version])
]
