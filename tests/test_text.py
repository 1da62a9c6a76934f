"""Text for people: how wide it may be."""

import os

import pytest

from opset.text import prose_width


@pytest.mark.parametrize(("columns", "width"), [(50, 50), (0, 100), (300, 100), (20, 40), (None, 100)])
def test_prose_is_as_wide_as_the_terminal_and_easy_to_read(columns, width, monkeypatch):
    def size(descriptor):
        if columns is None:
            raise OSError
        return os.terminal_size((columns, 9))

    monkeypatch.setattr(os, "get_terminal_size", size)
    assert prose_width() == width
