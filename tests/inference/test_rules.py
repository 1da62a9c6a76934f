"""Every version has a rule or a function, and the guide lists the rules."""

import re
from dataclasses import replace
from pathlib import Path

from opset.inference import registration as inference
from opset.opsets.registry import default_registry

GUIDE = Path(__file__).parents[2] / "docs" / "inference.md"
REGISTRY = default_registry()


def test_every_rule_serves_an_operator_and_stands_in_the_guide():
    schemas = [
        schema
        for domain in REGISTRY.domains
        for name in REGISTRY.operators(domain)
        for schema in REGISTRY.versions(name, domain)
        if schema.shape
    ]
    assert [schema.name for schema in schemas if inference.misnamed(schema)] == []
    users = {rule for schema in schemas for rule in re.findall(r"[a-z_]+(?=\(|;|$)", schema.shape)}
    listed = re.findall(r"^\| `([a-z_]+)", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    listed += re.findall(r"^\| `[^|]*`, `([a-z_]+)", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    unknown = inference.misnamed(replace(REGISTRY.schema("Relu", 14), shape="nonesuch"))
    rules = unknown.removeprefix("there is no rule 'nonesuch'; there are ").split(", ")
    assert set(listed) == users == set(rules)


def test_every_version_says_how_its_outputs_are_inferred():
    rules = inference.RuleLookup(REGISTRY)
    missing = [
        f"{schema.name} {schema.since_version}"
        for domain in REGISTRY.domains
        for name in REGISTRY.operators(domain)
        for schema in REGISTRY.versions(name, domain)
        if not schema.deprecated and rules.find(schema) is None
    ]
    assert missing == []
