"""What docs/hostile-input.md says of opset in the comparison with onnx and onnxruntime is still so."""

import pytest

from judges.hostile.comparison import BEGIN, CASES, END, PAGE, on_opset, place, word
from judges.hostile.processes import attack

TABLE = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_opset_ends_as_the_page_says(case, tmp_path):
    (row,) = (line for line in TABLE.splitlines() if line.startswith(f"| {case.what} (`{case.arguments[0]}`) |"))
    assert row.split(" | ")[1].split(";")[0] == word(on_opset(case, place(case, tmp_path), tmp_path, attack))
