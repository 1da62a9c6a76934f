"""A short form of `python -m tests.fuzz.whole`: composed models, converted up and down."""

import pytest

from tests.fuzz import whole


@pytest.mark.parametrize("seed", [1, 3])
def test_composed_models_compute_the_same(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert whole.main(["--seed", str(seed), "--count", "4"]) == 0, capsys.readouterr().out
    assert " same" in capsys.readouterr().out
