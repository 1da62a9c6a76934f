"""A working folder with models in it."""

import pytest

from tests.cli.commands import REFUSED, SMALL, save


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def small(folder):
    """`small.onnx` at opset 11 in the working folder."""
    return save("small.onnx", SMALL, folder)


@pytest.fixture
def refused(folder):
    """`refused.onnx` at opset 20, which cannot go to 12."""
    return save("refused.onnx", REFUSED, folder)
