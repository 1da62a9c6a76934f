"""Of an input of which little is known, as much is inferred as follows from all that it may be, and nothing more.

One input of an example loses its elements and its sizes, or its rank, too; the others are constants. What is inferred
with each of several shapes that it may have decides what may be known: where all of them give one size, it is that
size. This holds inference to itself; that it is right where all is known is compared with runs by other tests.
"""

import numpy as np
import pytest
from onnx import helper

from opset.inference.engine.result import infer
from opset.reference.example_models import feeds_of
from tests.examples import PAIRS
from tests.inference.test_data import constant

DISTINCT = 2
"""How many examples of an operator are taken: they differ in attributes, or in the ranks of their inputs."""
LOOSE = {
    ("QLinearMatMul", "row_scales", "input_0", "axis 0"),  # there are as many scales as rows
    ("RotaryEmbedding", "bfloat16", "input_0", "axis 3"),  # a head has two elements for each of the cache
    ("RotaryEmbedding", "bfloat16", "input_0", "rank"),
    ("RotaryEmbedding", "neighbors", "input_0", "axis 3"),
    ("RotaryEmbedding", "neighbors", "input_0", "rank"),
    ("Scan", "no_iteration", "input_1", "rank"),  # all lengths but 0 contradict the body
    ("ScatterND", "rows", "input_0", "axis 1"),  # rows of updates are those of the data
    ("Imputer", "by_feature", "input_0", "axis 1"),  # there are as many replacements as features
    ("Scaler", "one_each", "input_0", "axis 1"),  # there are as many scales as features
}
"""What could be inferred and is not, by operator, example and input."""


def distinct_examples():
    """Return examples of each operator by its domain and name."""
    found = {}
    for schema, example in PAIRS:
        feeds = {} if example.error else feeds_of(example)
        if feeds and all(isinstance(value, np.ndarray) and value.size <= 64 for value in feeds.values()):
            ranks = tuple((name, value.ndim) for name, value in feeds.items())
            found.setdefault((schema.domain, schema.name), {})[tuple(example.attributes), ranks] = schema, example
    return {key: [*each.values()][:DISTINCT] for key, each in found.items()}


EXAMPLES = distinct_examples()


def resized(shape):
    """Yield shapes that differ in one size."""
    for axis, own in enumerate(shape):
        for size in {1, own + 1, 2 * own} - {own}:
            yield (*shape[:axis], size, *shape[axis + 1 :])


def of_other_ranks(shape):
    """Yield shapes with more or fewer dimensions."""
    yield from ((2, *shape), (1, *shape), (1, 1, 1, *shape), (*shape, 2), (*shape, 1))
    if shape:
        yield from (shape[1:], shape[:-1])


class Given:
    """An example, and what is inferred where one of its inputs has a shape and no elements."""

    def __init__(self, schema, example, name):
        self.model = constant(schema, example, feeds := feeds_of(example), {})
        self.name, self.shape, self.known = name, feeds[name].shape, {}
        kept = [each for each in self.model.graph.initializer if each.name != name]
        self.element = next(each.data_type for each in self.model.graph.initializer if each.name == name)
        del self.model.graph.initializer[:]
        self.model.graph.initializer.extend(kept)

    def types(self, shape):
        """Return the types of the outputs, None where the shape is not legal."""
        if shape not in self.known:
            del self.model.graph.input[:]
            self.model.graph.input.append(helper.make_tensor_value_info(self.name, self.element, shape))
            found = infer(self.model, data_prop=True)
            types = [found.type(each.name) for each in self.model.graph.output]
            self.known[shape] = None if found.findings else types
        return self.known[shape]


def fault(told, possible):
    """Return how a type is not what follows from the types that are possible: "" where it is."""
    if told == possible[0]:
        return ""
    if told is None or told.kind != "tensor" or any(each.kind != "tensor" for each in possible):
        return "nothing" if len({str(each) for each in possible}) == 1 else ""
    if told.element != possible[0].element:
        return "element"
    shapes = [each.shape for each in possible]
    if None in shapes or len({*map(len, shapes)}) > 1:
        return "" if told.shape is None else "rank"
    if told.shape is None or len(told.shape) != len(shapes[0]):
        return "rank"
    for axis, size in enumerate(told.shape):
        sizes = {shape[axis] for shape in shapes}
        if (isinstance(size, int) or len(sizes) == 1) and sizes != {size}:
            return f"axis {axis}"
    return ""


@pytest.mark.parametrize("operator", sorted(EXAMPLES), ids=lambda key: key[1])
def test_what_follows_from_a_part_of_the_inputs(operator):
    wrong = set()
    for schema, example in EXAMPLES[operator]:
        for name in feeds_of(example):
            given = Given(schema, example, name)
            shape = given.shape
            whole = given.types(shape)
            for partial in ((None,) * len(shape), None):
                told = given.types(partial)
                if told == whole and told is not None:
                    continue
                others = [*resized(shape), *(of_other_ranks(shape) if partial is None else ())]
                possible = [each for each in map(given.types, (shape, *others)) if each is not None]
                for index in range(len(whole)):
                    why = "finding" if told is None else fault(told[index], [each[index] for each in possible])
                    wrong.update([(operator[1], example.name, name, why)] if why else [])
    assert wrong == {each for each in LOOSE if each[0] == operator[1]}


def test_nothing_is_wrong_where_no_rank_is_known():
    wrong = set()
    for operator, ((schema, example), *_) in EXAMPLES.items():
        proto = constant(schema, example, feeds_of(example), {})
        stated = [(each.name, each.data_type, None) for each in proto.graph.initializer]
        proto.graph.ClearField("initializer")
        proto.graph.ClearField("input")
        proto.graph.input.extend(helper.make_tensor_value_info(*each) for each in stated)
        wrong.update((operator, example.name, each.why) for each in infer(proto, data_prop=True).findings)
    assert not wrong
