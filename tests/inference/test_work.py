"""What inferences charge, by what opset.inference.building.work says that a step is."""

from types import SimpleNamespace

import pytest
from onnx import parser

from opset import infer
from opset.budget import Budget, Limits
from opset.inference.building import work
from opset.inference.building.call import Constant
from opset.inference.building.elements import apply_to_elements, offsets_of, pick_elements, strides_of
from opset.inference.building.types import tensor
from opset.inference.building.work import CHECK_STEPS as CHECKED
from opset.inference.building.work import ELEMENT_BYTES, NAME_BYTES, PART_BYTES
from opset.inference.building.work import NAME_STEPS as NAMED
from opset.inference.building.work import NODE_STEPS as NODE
from opset.inference.building.work import SIGNATURE_STEPS as NEW
from opset.inference.engine import nodes
from opset.inference.limits import MAX_DATA

HEAD = '<ir_version: 10, opset_import: ["": 21, "d": 1]>'
FUNCTION = '<domain: "d", opset_import: ["": 21]> F (a) => (b) { b = Neg (a) }'
CHARGED = {
    "a node": ("g (float[2, 3] x) => (y) { y = Relu (x) }", NODE + NEW + 2, 0),
    "a node like another": ("g (float[2, 3] x) => (y) { a = Relu (x) y = Relu (a) }", 2 * NODE + NEW + 2, 0),
    "a node like another but for the sizes": (
        "g (float[2, 3] x, float[4] z) => (a, y) { a = Relu (x) y = Relu (z) }", 2 * (NODE + NEW) + 2 + 1, 0),
    "a name": ("g (float[2, 3] x) => (y) { y = NonZero (x) }", NODE + NEW + 2 + NAMED + 2, NAME_BYTES),
    "no name of an output that is left out": (
        "g (float[2, 3] x) => (y) { y, , i = Unique (x) }", NODE + NEW + 2 + NAMED + 2, NAME_BYTES),
    "elements that are computed": (
        "g (float[2, 3, 4] x) => (y) { s = Shape (x) y = Mul (s, s) }",
        2 * (NODE + NEW) + 3 + 3 + 2 + 2 * 3 + 3, 6 * ELEMENT_BYTES),
    "elements that are broadcast": (
        "g (float[2, 3] x, float[5] z) => (y) { s = Shape (x) t = Shape (z) y = Mul (s, t) }",
        3 * NODE + 3 * NEW + 2 + 1 + 2 + 2 + 1 + 2 * 2 + 2 + 2, 5 * ELEMENT_BYTES),
    "elements that are read": (
        "g (float[2, 3] x) => (y) <int64[2] k = {3, 2}> { y = Reshape (x, k) }", NODE + NEW + 3 + 2, 2 * ELEMENT_BYTES),
    "an element with a condition": (
        "g (float[2, 3, 1] x) => (y) <int64 k = {1}> { y = DFT (x, , k) }",
        NODE + NEW + 3 + 1 + CHECKED, ELEMENT_BYTES),
    "an attribute with a condition": (
        "g (float[2, 3, 4] x) => (y) { y = Transpose <perm = [2, 0, 1]> (x) }", NODE + NEW + 3 + 3 * CHECKED, 0),
    "numbers of weights as floats": (
        "g (float[2, 3] x) => (y) <int64[8] k = {1, 2, 3, 4, 5, 6, 7, 8}> { y = Cast <to = 1> (k) }",
        NODE + NEW + 1 + 8 + 8, 16 * ELEMENT_BYTES),
    "more numbers of weights as floats": (
        "g (float[2, 3] x) => (y) <int64[9] k = {1, 2, 3, 4, 5, 6, 7, 8, 9}> { y = Cast <to = 1> (k) }",
        NODE + NEW + 1, 0),
    "elements of several parts": (
        "g (float[N, M] x) => (y) { s = Shape (x) y = Mul (s, s) }",
        # N and M are made three times for the graph, and N * N and M * M once for the product.
        3 * 2 * 2 + 2 * (NODE + NEW) + 2 + 2 + 2 + 2 * 2 + 2 * (1 + 3) + 2,
        4 * ELEMENT_BYTES + (2 + 2 + 3 + 3) * PART_BYTES),
}  # fmt: skip


@pytest.fixture
def budgets(monkeypatch):
    """The budgets of the inferences of a test."""
    made = []

    class Kept(Budget):
        """A budget that a test looks at."""

        def __init__(self, limits, **more):
            super().__init__(limits, **more)
            made.append(self)

    monkeypatch.setattr(work, "Budget", Kept)
    return made


def inferred(graph, function=""):
    """Infer a graph whose outputs have no types; return the model."""
    text = f"{HEAD} {graph.replace('=> (', '=> (float ').replace(', y)', ', float y)')} {function}"
    model = parser.parse_model(text)
    for output in model.graph.output:
        output.ClearField("type")
    assert infer(model).type("y") is not None
    return model


@pytest.mark.parametrize("name", CHARGED)
def test_steps_and_bytes_are_those_that_are_described(name, budgets):
    graph, steps, kept = CHARGED[name]
    model = inferred(graph)
    (budget,) = budgets
    assert (budget.steps, budget.live) == (steps, kept)
    assert budget.max_steps == (1 << 20) + 4 * model.ByteSize()


def test_a_body_is_charged_by_its_size_each_time_that_it_is_entered(budgets):
    model = inferred("g (float[2, 3] x, float[4] z) => (a, y) { a = d.F (x) y = d.F (z) }", FUNCTION)
    size = model.functions[0].ByteSize()
    assert budgets[0].steps == 4 * NODE + 2 * (1 + size // 8) + 2 * NEW + 2 + 1
    assert budgets[0].live == 2 * 4 * size


def test_numbers_of_weights_become_floats_in_a_body_only_if_they_are_few(budgets):
    for count in (8, 9):
        inferred(f"""g (bool c) => (y) <int64[{count}] k = {{{", ".join("1" * count)}}}> {{
            y = If (c) <then_branch = t () => (a) {{ a = Cast <to = 1> (k) }},
                        else_branch = e () => (b) {{ b = Cast <to = 1> (k) }}> }}""")
    read_and_made = 2 * (8 + 8)  # in both branches
    assert budgets[0].steps - budgets[1].steps == read_and_made
    assert budgets[0].live - budgets[1].live == 2 * 8 * ELEMENT_BYTES


def test_elements_are_charged_before_they_are_picked():
    data = Constant("int64", (2, 3), (1, 2, 3, 4, 5, None))
    budget = Budget(Limits())
    with work.charge_to(budget):
        assert pick_elements(data, {1: [2, 0, 3, -1]}, fill=7) == (3, 1, 7, 7, None, 4, 7, 7)
        assert budget.steps == 8
        assert pick_elements(data, {1: [2]}, order=[1, 0]) == (3, None)
        assert budget.steps == 10
        assert pick_elements(data, {0: []}) == () and pick_elements(data, {0: [0] * (MAX_DATA // 3 + 1)}) is None
        assert budget.steps == 10
        assert offsets_of((2, 2), strides_of((4, 3))) == [0, 1, 3, 4]
        assert budget.steps == 14
    assert pick_elements(data, {0: [1]}) == (4, 5, None) and budget.steps == 14


def test_elements_are_followed_in_the_first_half_of_the_steps():
    assert work.can_follow_elements()
    with work.charge_to(Budget(Limits(), max_steps=11)):
        work.charge(5)
        assert work.can_follow_elements()
        work.charge(1)
        assert not work.can_follow_elements()


@pytest.mark.parametrize("error", [ArithmeticError, TypeError, ValueError])
def test_what_a_function_does_not_take_is_not_known(error):
    def fails(*_):
        raise error

    assert apply_to_elements(fails, 1, 2) is None and apply_to_elements(max, 1, 2) == 2
    assert apply_to_elements(lambda *_: 3, 1, None) is None


def test_outcomes_of_recent_nodes_are_kept_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(nodes, "MAX_RECENT", 2)
    inference = SimpleNamespace(memos={}, recent={})
    types = [tensor("float", (size,)) for size in range(5)]
    memos, kept = [], []
    for type_ in types:
        memos.append(nodes._memo_of(inference, ((), 1, (), id(type_)), ["x"], [type_]))
        kept.append(len(inference.recent))
    assert kept == [1, 2, 1, 2, 1] and len({*map(id, memos)}) == len(inference.memos) == 5
    again = nodes._memo_of(inference, ((), 1, (), "other"), ["x"], [tensor("float", (3,))])
    assert again is memos[3] and inference.recent[(), 1, (), "other"] == (again, [types[3]])
    unknown, absent = (nodes._memo_of(inference, ((), 1, (), name), [name], [None]) for name in ("x", ""))
    assert unknown is not absent and len(inference.recent) == 2
