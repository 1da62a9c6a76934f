"""What is wrong with a hostile model is reported by the code that explains it, and nothing is written."""

import os

import pytest

from judges.hostile.attacks import ESCAPES, MODELS, models
from tests.cli.commands import run

CODES = {
    "an_empty_file": "M102", "random_bytes": "M102", "a_text_file": "M102", "a_pointer_of_git_lfs": "M102",
    "a_model_that_is_cut_short": "M103", "a_field_longer_than_the_file": "M103",
    "graphs_nested_beyond_the_limit": "M104", "graphs_nested_100_000_deep": "M104", "types_nested_10_000_deep": "M104",
    "an_operator_that_is_not_utf_8": "M106", "a_value_that_is_not_utf_8": "M106",
    "no_operator_set": "M107", "an_operator_set_of_version_zero": "M107",
    "one_domain_by_two_names": "M108", "domains_that_are_imported_50_000_times": "M108",
    "a_model_without_a_graph": "M109",
    "nodes_in_a_cycle": "M110", "a_node_that_uses_its_own_output": "M110",
    "a_value_that_is_not_defined": "M112", "values_that_are_undefined_30_000_times": "M112",
    "a_value_that_is_defined_twice": "M113", "an_operator_that_there_is_not": "C101",
}  # fmt: skip


@pytest.mark.parametrize("name", CODES)
def test_a_model_is_refused_by_its_code(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    MODELS[name].build(tmp_path)
    for to in ("21", "7") if CODES[name] == "C101" else ["21"]:  # what is malformed is so for any target
        result = run("convert", "model.onnx", "--to", to)
        assert result.exit_code == (1 if CODES[name][0] == "C" else 3)
        assert f"error[{CODES[name]}" in result.stderr
    assert os.listdir() == ["model.onnx"]


def test_no_file_is_named_after_what_a_model_holds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    nodes = [models.node("Relu", "x", "y", name=f"../../{ESCAPES}")]
    (tmp_path / "model.onnx").write_bytes(models.written(nodes, **{f"../../{ESCAPES}": 1}))
    assert run("convert", "model.onnx", "--to", 21).exit_code == 0
    assert sorted(os.listdir()) == ["model-opset21.onnx", "model.onnx"]
