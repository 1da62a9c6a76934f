"""The notebooks run from beginning to end with what `opset examples` writes, and show their results as tables."""

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.cli.commands import run
from tests.test_docs import ROOT

NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_is_one_for_each_reader():
    assert [path.stem for path in NOTEBOOKS] == [
        "contributing-an-operator",
        "reading-the-standard",
        "refused-by-a-runtime",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    assert run("examples").exit_code == 0
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in cells) and path.stat().st_size < 10_000
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    shown = [output for cell in cells for output in cell.outputs]
    assert not [output for output in shown if output.output_type == "error"]
    tables = [output.data["text/html"] for output in shown if "text/html" in output.get("data", {})]
    assert tables and all(len(each) < 200_000 for each in tables)


def test_examples_are_those_of_the_guides(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "wrote " in run("examples", "some/folder").stdout
    tracked = [
        *(ROOT / "examples").glob("*.npz"),
        *(ROOT / "examples/com.acme").glob("*.yaml"),
        ROOT / "examples/make.py",
    ]
    assert len(tracked) > 8
    for path in tracked:
        assert Path("some/folder", path.relative_to(ROOT / "examples")).read_bytes() == path.read_bytes()
    again = run("examples", "some/folder")
    assert again.exit_code == 2 and again.stderr.count("error[U102]") == 1
    assert run("examples", "some/folder", "--force").exit_code == 0
    converted = run("convert", "some/folder/segmenter_opset9.onnx", "--to", 21)
    assert converted.exit_code == 0, converted.stderr


def test_results_of_commands_are_no_examples(tmp_path):
    from opset.docgen.guides import _files_of_examples

    for name in ("model_opset9.onnx", "model_opset9-opset21.onnx", "a/README.md", "__pycache__/a.pyc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert [*_files_of_examples(tmp_path)] == ["a/README.md", "model_opset9.onnx"]


def test_a_wheel_carries_them():
    from opset.docgen.guides import example_files, files_in_wheel

    carried = files_in_wheel(ROOT)
    for name in example_files():
        assert f"opset/examples/{name}" in carried.values()
    assert all(Path(path).is_file() for path in carried)
