"""Which models the outcomes of conversions are recorded of, and for which operators."""

from contextlib import contextmanager
from pathlib import Path

import pytest

from opset.cli.test import _operators_in_tables
from opset.docgen.outcomes import FILE
from opset.opsets.registry import default_registry
from opset.reference.example_models import model_of
from opset.workflow.examples.outcomes import (
    NOTHING,
    OPEN_SIZES,
    SIZES,
    TYPE,
    UNKNOWN_DOMAIN,
    _model_with_constants,
    _model_with_less,
)
from tests.cli.commands import run

OWN = Path(__file__).parents[1] / "opsets" / "own"


@pytest.mark.parametrize(("since", "version"), [(8, 4), (13, 7)])
def test_constants_are_no_inputs_so_that_the_ir_version_is_at_least_4(since, version):
    schema = default_registry().schema("Expand", since)
    model = _model_with_constants(schema, default_registry().examples("Expand")[0])
    assert model.ir_version == version and [each.name for each in model.graph.input] == ["input_0"]


@pytest.mark.parametrize(("known", "dims"), [(SIZES, [3]), (OPEN_SIZES, ["size_0"]), (TYPE, None), (NOTHING, "")])
def test_less_is_known_of_an_input_that_was_a_constant(known, dims):
    schema = default_registry().schema("Expand", 13)
    example = next(each for each in default_registry().examples("Expand") if each.inputs[1].shape == (3,))
    whole = _model_with_constants(schema, example)
    before = whole.SerializeToString()
    model = _model_with_less(schema, example, whole, ["input_1"], known)
    assert whole.SerializeToString() == before and [each.name for each in whole.graph.initializer] == ["input_1"]
    assert not model.graph.initializer
    found = {each.name: each.type.tensor_type for each in model.graph.input}
    first = model_of(schema, example).graph.input[0].type.tensor_type
    assert found.pop("input_0") == first
    nodes = [(each.op_type, each.domain, [*each.output]) for each in model.graph.node]
    if known == NOTHING:
        assert not found and nodes[0] == ("Unknown", UNKNOWN_DOMAIN, ["input_1"])
        assert [each.version for each in model.opset_import if each.domain == UNKNOWN_DOMAIN] == [1]
        return
    (type_,) = found.values()
    sizes = [each.dim_param or each.dim_value for each in type_.shape.dim] if type_.HasField("shape") else None
    assert (type_.elem_type, sizes, len(nodes)) == (7, dims, 1)


def test_the_outcomes_of_operators_with_all_versions_and_a_folder_have_tables(monkeypatch, tmp_path):
    registry = default_registry()
    files = {"Relu": Path(__file__), "Celu": tmp_path / FILE, "Erf": None}
    monkeypatch.setattr("opset.cli.test.table_file", lambda registry, domain, name: files[name])
    schemas = [version for name in files for version in registry.versions(name)]
    assert _operators_in_tables(registry, schemas, False) == [("", "Relu")]
    assert _operators_in_tables(registry, schemas, True) == [("", "Relu"), ("", "Celu")]
    assert _operators_in_tables(registry, schemas[1:], True) == [("", "Celu")]


def test_progress_is_told_of_each_part_of_the_examples(monkeypatch):
    shown = []

    @contextmanager
    def show(*arguments):
        shown.append(arguments)
        yield lambda *counts: shown.append(counts)

    monkeypatch.setattr("opset.cli.test.show_progress", show)
    assert run("test", OWN, "--allow-hooks").exit_code == 0
    assert shown[0] == (False, "examples") and shown[1:]
    assert shown[1:] == [(at, len(shown) - 1) for at in range(1, len(shown))]
