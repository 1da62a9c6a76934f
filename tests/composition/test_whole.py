"""All of merged models and of parts, and all that is said of them, as merged.txt and parts.txt have it."""

import pytest

from tests.composition.whole import HERE, texts


@pytest.mark.parametrize("name", ["merged.txt", "parts.txt"])
def test_merged_models_and_parts_are_as_they_were_read(name):
    assert texts()[name].splitlines() == (HERE / name).read_text(encoding="utf-8").splitlines()
