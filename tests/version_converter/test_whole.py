"""Short forms of `python -m judges whole` and `judges.fuzz.mutations`: whole models, converted up and down."""

from collections.abc import Callable

import numpy as np
import onnx.parser
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


POOLED = """<ir_version: 4, opset_import: ["": 8]>
g (bool c, float[1, 1, 3] x) => (int64[1, 1, 1] y) {
    y = If (c) <then_branch = t () => (int64[1, 1, 1] a)
                    { first, a = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [1], strides = [4]> (x) },
                else_branch = e () => (int64[1, 1, 1] b)
                    { second, b = MaxPool <kernel_shape = [3]> (x) }>
}"""


def test_a_disagreement_in_a_body_is_decided_for_the_operator_there() -> None:
    model = onnx.parser.parse_model(POOLED)
    feeds = {"c": np.array(True), "x": np.float32([[[1, 2, 3]]])}
    (case,) = whole.cases(Drawing(model, [feeds]), "pooled")
    found = whole.judged([case], 7)
    assert (found.kind, found.why) == ("decided", "own evaluator: ")
