"""Every example of every operator's YAML with every version for which it holds."""

from opset.opsets.registry import default_registry
from opset.schemas.example import example_versions

REGISTRY = default_registry()
PAIRS = [
    (schema, example)
    for domain in REGISTRY.domains
    for name in REGISTRY.operators(domain)
    for example in REGISTRY.examples(name, domain)
    for schema in REGISTRY.versions(name, domain)
    if schema.since_version in example_versions(example, [schema.since_version])
]
