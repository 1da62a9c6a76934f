"""Every example of every operator's YAML, at every version for which it holds, on the reference kernels."""

import numpy as np
import pytest

from opset import ReferenceEvaluator, RunError
from opset.reference.comparison import differences
from opset.reference.examples import feeds_of, model_of, value_of
from tests.examples import CASES, check_each


@pytest.mark.parametrize(("schema", "examples"), CASES)
def test_every_example_holds(schema, examples):
    check_each(check, schema, examples)


def check(schema, example):
    evaluator = ReferenceEvaluator(model_of(schema, example), seed=0, strict=True)
    feeds = feeds_of(example)
    for value in feeds.values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False  # a kernel that changed its input would be told
    if example.error:
        with pytest.raises(RunError) as caught:
            evaluator.run(None, feeds)
        assert caught.value.code == "R203", caught.value
        assert caught.value.why.startswith(f"{example.error}: ")
        return
    actual = evaluator.run(None, feeds)
    expected = [each for each in example.outputs if each is not None]
    assert len(actual) == len(expected)
    for want, have in zip(expected, actual, strict=True):
        if want.content is None and want.shape is not None:
            assert have.shape == want.shape
            assert have.dtype == value_of(want).dtype
        else:
            found = differences(value_of(want), have, example.tolerance, example.tolerance)
            assert [f"{each.where} {each.why}" for each in found if each.why] == []
