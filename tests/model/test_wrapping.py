"""ONNX text that is wrapped reads back to the same, and metadata is left out at every level."""

import os
import pty
from pathlib import Path

import onnx
import pytest

import opset
from opset.model.text.wrapping import without_metadata, wrap_text
from tests.cli.commands import run
from tests.test_docs import ROOT

MODELS = sorted((ROOT / "examples").glob("*.onnx"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
@pytest.mark.parametrize("width", [20, 79])
def test_wrapped_text_reads_back(path, width):
    text = opset.to_text(opset.load(path))
    wrapped = wrap_text(text, width)
    assert opset.parse_model(wrapped) == opset.parse_model(text)
    words = max(map(len, wrapped.split()))
    assert all(len(line) <= max(width, words + 40) or '"' in line for line in wrapped.split("\n") if line[:1] != "#")


def test_texts_in_quotes_and_comments_are_not_broken():
    text = '# a comment that is longer than the width\n  a = B <x = "one  two \\" three"> (c, d)'
    lines = wrap_text(text, 20).split("\n")
    assert lines[0] == "# a comment that is longer than the width"
    assert lines[1:] == ["  a = B <x =", '      "one  two \\" three">', "      (c, d)"]
    text = "a = B (c)  # a comment behind a node\nb = C (d)"
    assert wrap_text(text, 14) == text


def test_metadata_is_left_out_everywhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = ROOT / "examples" / "decoder_opset23.onnx"
    assert b"pkg.torch" in path.read_bytes()
    model = without_metadata(opset.load(path))
    assert b"metadata_props" not in opset.to_text(model).encode() and b"pkg.torch" not in model.SerializeToString()
    assert "pkg.torch" not in run("text", path, "--no-metadata", "--limit", 4).stdout
    assert run("text", path, "--no-metadata", "-o", "out.onnx").exit_code == 0
    before, after = onnx.load(path), onnx.load("out.onnx")
    assert [node.op_type for node in after.graph.node] == [node.op_type for node in before.graph.node]
    assert not any(node.metadata_props for node in after.graph.node)


def test_the_verb_wraps_to_a_width_and_writes_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = ROOT / "examples" / "tagger_opset11.onnx"
    long = run("text", path, "--limit", 4).stdout
    short = run("text", path, "--limit", 4, "--width", 60).stdout
    assert max(map(len, short.splitlines()[3:])) < max(map(len, long.splitlines()[3:]))
    assert run("text", path, "--width", 60, "-o", "a.onnxtxt").exit_code == 0
    assert run("text", "a.onnxtxt", "-o", "a.onnx").exit_code == 0
    assert Path("a.onnx").read_bytes() == path.read_bytes()


def test_errors_and_guides_are_wrapped_to_a_terminal():
    from opset.plain_text import fit_lines

    main, other = pty.openpty()
    with os.fdopen(other, "w") as terminal:
        lines = ["  why     " + "word " * 60, "```", "code " * 60, "```", "| a table " * 30]
        fitted = fit_lines(lines, terminal, hang=" " * 8)
    os.close(main)
    assert fitted[-4:] == ["```", lines[2], "```", lines[4]]
    assert len(fitted) > 6 and all(line.startswith("          word") for line in fitted[1:-4])


def test_a_line_of_just_the_width_stays():
    text = "  a = B (c, d)"
    for width in (14, 15):
        assert wrap_text(text, width) == text
    assert wrap_text(text, 13) == "  a = B (c,\n      d)"
