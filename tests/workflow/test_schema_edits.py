"""A few random edits of schemas; `python -m judges schema_edits` makes thousands."""

from __future__ import annotations

import pytest

from judges.fuzz.editing import BREAKS
from judges.fuzz.harmless import EDITS
from judges.fuzz.schema_edits import main, run


@pytest.mark.parametrize("part", range(4))
def test_no_breaking_edit_is_clean_and_no_harmless_one_an_error(part: int) -> None:
    cases = [run(13, number, largest=3500) for number in range(15 * part, 15 * part + 15)]
    assert [case.line() for case in cases if case.missed] == []
    assert {case.verdict for case in cases} >= {BREAKS}


def test_there_are_many_kinds_of_edits() -> None:
    assert sum(verdict == BREAKS for verdict, _ in EDITS.values()) >= 30


def test_a_case_is_shown_with_both_states(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--case", "13/7"]) == 0
    first = capsys.readouterr().out
    assert "--- before/" in first and "--- after/" in first
    main(["--case", "13/7"])
    assert capsys.readouterr().out == first
