"""Outputs that a node leaves out stay left out: each example of several outputs, without one of them, elsewhere."""

import onnx
import pytest

import opset
from judges.conformance.judge import RANDOM, Case, difference
from judges.conformance.lowerings import lowered
from judges.conformance.validity import faults
from opset.errors import ConversionError, RunError
from opset.opsets.registry import default_registry
from opset.reference.example_models import feeds_of, model_of
from opset.schemas.model import example_versions

REGISTRY = default_registry()
NEWEST = onnx.defs.onnx_opset_version()
LOWERED = {versions[0].name for versions in lowered()}
SEVERAL = [
    name
    for name in REGISTRY.operators("")
    if name not in RANDOM and max(schema.max_output for schema in REGISTRY.versions(name)) > 1
]


def without_one(schema, example):
    """Yield models of an example that leave out one output, as an empty name, and none where it is the last one."""
    model = onnx.ModelProto.FromString(model_of(schema, example).SerializeToString())
    (node,) = model.graph.node
    for position, name in enumerate(node.output):
        if name and sum(map(bool, node.output)) > 1:
            made = onnx.ModelProto()
            made.CopyFrom(model)
            made.graph.node[0].output[position] = ""
            kept = [value for value in model.graph.output if value.name != name]
            del made.graph.output[:]
            made.graph.output.extend(kept)
            yield made


@pytest.mark.parametrize("name", SEVERAL)
def test_outputs_that_are_left_out(name):
    versions = REGISTRY.versions(name)
    for schema in versions:
        since = schema.since_version
        if since > NEWEST:
            continue
        targets = {each for other in versions for each in (other.since_version - 1, other.since_version)}
        targets = [each for each in sorted(targets - {since}) if 1 <= each <= NEWEST]
        for example in REGISTRY.examples(name):
            if example.error or not example_versions(example, [since]):
                continue
            for before in without_one(schema, example):
                _same(before, targets, name, feeds_of(example))


def _same(before, targets, name, feeds):
    try:
        expected = opset.ReferenceEvaluator(before, seed=0).run(None, feeds)
    except RunError:  # present keys come with present values, say
        return
    case = Case(name, before, feeds, expected, random=name == "Dropout")
    for to in [*targets, None]:
        try:
            after = opset.convert(before, to) if to else opset.lower(before, [name])
        except ConversionError as error:
            assert all(finding.code[0] == "C" for finding in error.findings)
            continue
        assert not faults(after, before, {(name, "")} if to is None else ()), (before, to)
        assert not difference(case, opset.ReferenceEvaluator(after, seed=0).run(None, feeds)), (before, to)
