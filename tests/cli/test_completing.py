"""What a shell is offered: names that begin as the word that is typed, and no name of a configuration."""

import os

import pytest
from click.testing import CliRunner

from opset.cli import cli
from opset.opsets.registry import default_registry
from tests.cli.commands import run


def offered(*words):
    environment = {
        "_OPSET_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["opset", *words]),
        "COMP_CWORD": str(len(words)),
    }
    result = CliRunner().invoke(cli, [], prog_name="opset", env=environment, complete_var="_OPSET_COMPLETE")
    assert result.exception is None, result.exception
    return [line.partition(",")[2] for line in result.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "some"),
    [
        (["conv"], ["convert"]),
        (["show", "Softm"], ["Softmax", "SoftmaxCrossEntropyLoss"]),
        (["show", "ai.onnx.ml.Sc"], ["ai.onnx.ml.Scaler"]),
        (["show", "Softmax@"], ["Softmax@1", "Softmax@11", "Softmax@13"]),
        (["bump", "softp"], ["Softplus"]),
        (["bump", "nothing"], []),
        (["diff", "Gel"], ["Gelu"]),
        (["lower", "--ops", "Gelu,Att"], ["Gelu,Attention"]),
        (["convert", "--for", "tens"], ["tensorrt==", "tensorrt"]),
        (["convert", "--for", "tensorrt==8.6"], ["tensorrt==8.6"]),
        (["convert", "--for", "onnxruntime==1.17"], ["onnxruntime==1.17"]),
        (["info", "--runtime", "open"], ["openvino"]),
        (["convert", "--release", "1.15"], ["1.15.0"]),
        (["convert", "--to", "ai.onnx.ml=5"], ["ai.onnx.ml=5"]),
        (["explain", "C204"], ["C204"]),
        (["explain", "converti"], ["converting"]),
        (["check", "--select", "G311"], ["G311"]),
        (["list", "operators", "--family", "activ"], ["activation"]),
        (["list", "operators", "--domain", "ai.onnx.m"], ["ai.onnx.ml"]),
        (["convert", "--for", "nothing==1"], []),
        (["convert", "--for", "tensorrt==8.6,open"], ["tensorrt==8.6,openvino==", "tensorrt==8.6,openvino"]),
        (["convert", "--ir-version", "1"], []),
        (["conformance", "cases", "--runtime", "open"], []),
        (["lower", "--ops", "com.acme.X"], []),
        (["nonesuch", "conv"], ["convert"]),
    ],
)
def test_names_are_completed(words, some):
    assert offered(*words) == some


def test_versions_begin_with_the_newest():
    domains = default_registry().domains
    others = [f"{name}={version}" for name in domains if name for version in range(domains[name], 0, -1)]
    assert offered("convert", "--to", "") == [*map(str, range(domains[""], 0, -1)), *others]


def test_what_is_no_name_is_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Softmax.onnx").write_bytes(b"")
    assert offered("show", "nothing") == ["nothing"]
    assert offered("convert", "--to", "nothing") == []
    assert offered("show", "Softmax") == ["Softmax", "SoftmaxCrossEntropyLoss"]
    (tmp_path / "Softmax").write_bytes(b"")
    assert offered("show", "Softmax") == ["Softmax", "SoftmaxCrossEntropyLoss", "Softmax"]


def test_no_configuration_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "pyproject.toml")
    assert offered("show", "Softplu") == ["Softplus"]
    os.unlink(tmp_path / "pyproject.toml")
    (tmp_path / "pyproject.toml").write_text("[tool.opset.show]\nnonesuch = 1\n")
    assert offered("show", "Softplu") == ["Softplus"]


@pytest.mark.parametrize("verb", ["show", "convert"])
def test_what_is_completed_does_not_change_the_verb(verb):
    offered(verb, "")
    assert run(verb, "--help").exit_code == 0
