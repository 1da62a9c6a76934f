"""Whatever a node looks like, crossing a transition works or is refused: no other exception escapes.

That nodes which are right are not refused is shown by tests/workflow/test_standard.py.
"""

import random

import pytest

import opset
from judges.fuzz.mutation.nodes import node_model
from opset.errors import ConversionError, Finding, ModelError
from opset.opsets.registry import default_registry

REGISTRY = default_registry()
pytestmark = pytest.mark.malformed
TRANSITIONS = [
    (domain, operator, older.since_version, newer.since_version)
    for domain in REGISTRY.domains
    for operator in REGISTRY.operators(domain)
    for older, newer in zip(REGISTRY.versions(operator, domain), REGISTRY.versions(operator, domain)[1:], strict=False)
]


LOWERED = [
    (operator, first)
    for operator in REGISTRY.operators("")
    if (first := REGISTRY.versions(operator)[0].since_version) > 1
]


@pytest.mark.parametrize(("operator", "first"), LOWERED)
def test_no_other_exception_escapes_from_any_lowering(operator, first):
    rng = random.Random(operator)
    for to in [first - 1, min(first - 1, 7)] * 3:
        model = node_model(rng, REGISTRY.schema(operator, first, ""), first)
        try:
            opset.convert(model, to)
        except (ConversionError, ModelError) as error:
            assert all(isinstance(finding, Finding) and finding.code for finding in error.findings)


@pytest.mark.parametrize(("domain", "operator", "older", "newer"), TRANSITIONS)
def test_no_other_exception_escapes_from_any_transition(domain, operator, older, newer):
    rng = random.Random(f"{domain} {operator} {newer}")
    for version, to in [(newer - 1, newer), (newer, newer - 1)] * 3:
        model = node_model(rng, REGISTRY.schema(operator, version, domain), version)
        before = model.SerializeToString()
        try:
            opset.convert(model, {domain: to})
        except (ConversionError, ModelError) as error:
            assert all(isinstance(finding, Finding) and finding.code for finding in error.findings)
        assert model.SerializeToString() == before


@pytest.mark.parametrize(
    ("inputs", "node", "to"),
    [
        ("uint64[2, 3] x", "y, z = TopK (x, empty)", 10),
        ("seq(float[2]) x", "y = SequenceAt (x, empty)", 10),
        ("float[2] x", "s = SequenceConstruct (x, x)  y = SequenceAt (s, empty)", 10),
        ("float x", "y = MelWeightMatrix (empty, empty, empty, none, none)", 16),
        ("float x", "y = MelWeightMatrix (two, two, two, none, none)", 16),
    ],
)
def test_a_constant_without_elements_is_refused_if_one_is_read(inputs, node, to):
    weights = "int64[0] empty = {}, int64[2] two = {4, 8}, float[0] none = {}"
    head = f'<ir_version: 8, opset_import: ["": 17]> g ({inputs}) => (y) <{weights}>'
    with pytest.raises(ConversionError) as caught:
        opset.convert(opset.parse_model(f"{head} {{ {node} }}"), to)
    # Of a sequence that is an input, it is the sequence that is refused.
    assert ("C201" if "seq" in inputs else "C103") in {finding.code for finding in caught.value.findings}
