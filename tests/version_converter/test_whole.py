"""Short forms of `python -m judges whole` and `judges.fuzz.mutations`: whole models, converted up and down."""

from collections.abc import Callable

import pytest

from judges.fuzz import mutations, whole
from judges.fuzz.drawing.composed import compose
from judges.fuzz.drawing.mutated import mutate
from judges.fuzz.drawing.rewriting import OPSETS, Drawing, Run


@pytest.mark.parametrize(("kind", "draw", "count"), [("composed/4", compose, 8), ("mutated/2", mutate, 8)])
def test_whole_models_compute_the_same(kind: str, draw: Callable[[str, Run], Drawing], count: int) -> None:
    found = []
    for number in range(count):
        stages = whole.examine(f"{kind}.{number}", draw, OPSETS, 3)
        try:
            while True:
                next(stages)
        except StopIteration as end:
            found += end.value
    assert [finding for finding in found if finding.kind in whole.FAULTS] == []
    assert sum(finding.kind == "same" for finding in found) > count


def test_a_case_is_examined_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert mutations.main(["--case", "mutated/1.2", "--targets", "9,21", "-j", "1"]) == 0
    assert capsys.readouterr().out.endswith("2 same\n")
