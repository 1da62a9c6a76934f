"""Kernels compute with tensors that have no elements without warnings of numpy, which would reach a user's terminal."""

import warnings

import numpy as np

from opset.opsets.registry import default_registry
from opset.reference.engine.evaluator import ReferenceEvaluator
from opset.reference.example_models import feeds_of, model_of
from opset.schemas.example import example_versions
from tests.reference.graphs import results


def test_no_example_without_elements_warns():
    registry, seen, found = default_registry(), 0, []
    for domain in registry.domains:
        for name in registry.operators(domain):
            versions = {each.since_version: each for each in registry.versions(name, domain)}
            for example in registry.examples(name, domain):
                feeds = feeds_of(example) if example.outputs is not None else {}
                if not any(isinstance(value, np.ndarray) and not value.size for value in feeds.values()):
                    continue
                seen += 1
                schema = versions[example_versions(example, [*versions])[-1]]
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    ReferenceEvaluator(model_of(schema, example)).run(None, feeds)
                found += [f"{name} {example.name}: {each.message}" for each in caught]
    assert seen > 50
    assert found == []


def test_a_stack_of_matrices_without_columns_gives_zeros():
    graph = """g (float[2,3,0] x, float[0,4] w, float[2,0,5] e, float[5,4] v) => (y, z) {
        y = MatMul (x, w)
        z = MatMul (e, v)
    }"""
    feeds = {
        name: np.zeros(shape, np.float32)
        for name, shape in zip("xwev", ((2, 3, 0), (0, 4), (2, 0, 5), (5, 4)), strict=True)
    }
    y, z = results(graph, feeds, 13)
    assert (y.tolist(), z.shape) == (np.zeros((2, 3, 4)).tolist(), (2, 0, 4))


def test_the_mean_of_no_elements_beside_others_is_taken_without_a_warning():
    graph = "g (float[N,2,0] x) => (y) { y = MeanVarianceNormalization <axes = [0, 2]> (x) }"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert results(graph, {"x": np.zeros((3, 2, 0), np.float32)}, 13)[0].shape == (3, 2, 0)
