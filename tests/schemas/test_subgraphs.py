"""Graphs of nodes: with how many inputs they can be run, and which nodes they fit."""

import pytest

from opset.model import proto as pb
from opset.schemas.constraints.subgraphs import can_take, check_graphs, passed_count
from opset.schemas.constraints.violation import Violation


def graph(inputs, outputs=1, initializers=(), sparse=()):
    made = pb.GraphProto()
    for number in range(inputs):
        made.input.add(name=f"i{number}")
    for number in range(outputs):
        made.output.add(name=f"o{number}")
    for number in initializers:
        made.initializer.add(name=f"i{number}")
    for number in sparse:
        made.sparse_initializer.add().values.name = f"i{number}"
    return made


@pytest.mark.parametrize(
    ("made", "counts"),
    [
        (graph(0), {0}),
        (graph(2), {2}),
        (graph(3, initializers=[1]), {2, 3}),
        (graph(3, sparse=[0, 2]), {1, 3}),
        (graph(3, initializers=[0], sparse=[2]), {1, 3}),
        (graph(1, initializers=[7]), {1}),
    ],
)
def test_inputs_with_a_default_are_all_given_or_none_is(made, counts):
    assert {count for count in range(5) if can_take(made, count)} == counts


FITTING = [
    ("If", 13, 1, 1, [graph(0), graph(0, 2)], None),
    ("If", 13, 1, 2, [graph(0, 1), graph(0, 2)], None),  # the other branch may be the one that runs
    ("If", 13, 1, 9, [], None),
    ("If", 13, 1, 1, [graph(1, initializers=[0])], None),
    ("Loop", 13, 3, 2, [graph(3, 3)], None),
    ("Loop", 13, 3, 1, [graph(3, 2)], None),
    ("Loop", 13, 1, 1, [graph(2, 2)], None),
    ("SequenceMap", 17, 2, 2, [graph(2, 2)], None),
    ("Scan", 9, 3, 2, [graph(3, 2)], 1),
    ("Scan", 9, 3, 2, [graph(3, 3)], 3),
    ("Scan", 8, 4, 2, [graph(3, 2)], 1),
    ("Scan", 9, 3, 2, [graph(7, 0)], None),
    ("Other", 9, 3, 2, [graph(7, 0)], 9),
]


@pytest.mark.parametrize(("op_type", "version", "inputs", "outputs", "graphs", "scans"), FITTING)
def test_a_graph_that_fits_passes(op_type, version, inputs, outputs, graphs, scans):
    check_graphs(op_type, version, inputs, outputs, dict(zip("ab", graphs, strict=False)), scans)


BODY = "a body of {} inputs and {} outputs"


@pytest.mark.parametrize(
    ("op_type", "version", "inputs", "outputs", "graphs", "scans", "said"),
    [
        ("If", 13, 1, 1, [graph(0), graph(2)], None, "C3: b has 2 inputs, and none is given"),
        ("If", 13, 1, 3, [graph(0), graph(0, 2)], None, "C2: the branch has 1 and 2 outputs, and the node 3"),
        ("Loop", 13, 3, 1, [graph(2, 2)], None, f"C3: 1 carried values, {BODY.format(2, 2)}"),
        ("Loop", 13, 3, 1, [graph(3, 1)], None, f"C3: 1 carried values, {BODY.format(3, 1)}"),
        ("Loop", 13, 3, 2, [graph(3, 2)], None, f"C3: 1 carried values, {BODY.format(3, 2)}"),
        ("Loop", 13, 5, 1, [graph(5, 3)], None, f"C3: 3 carried values, {BODY.format(5, 3)}"),
        ("Loop", 13, 1, 1, [graph(1, 2)], None, f"C3: 0 carried values, {BODY.format(1, 2)}"),
        ("SequenceMap", 17, 2, 2, [graph(1, 2)], None, f"C2: 2 inputs, {BODY.format(1, 2)}"),
        ("SequenceMap", 17, 2, 2, [graph(2, 1)], None, f"C2: 2 inputs, {BODY.format(2, 1)}"),
        ("Scan", 9, 2, 1, [graph(2, 1)], 0, "C1: 2 inputs, 0 of them scanned"),
        ("Scan", 9, 2, 1, [graph(2, 1)], 3, "C1: 2 inputs, 3 of them scanned"),
        ("Scan", 8, 2, 1, [graph(2, 1)], 1, f"C1: 1 inputs, 1 of them scanned, {BODY.format(2, 1)}"),
        ("Scan", 9, 4, 1, [graph(4, 2)], 1, f"C1: 4 inputs, 1 of them scanned, {BODY.format(4, 2)}"),
        ("Scan", 9, 2, 3, [graph(2, 2)], 1, f"C1: 2 inputs, 1 of them scanned, {BODY.format(2, 2)}"),
    ],
)
def test_a_graph_that_does_not_fit_is_refused(op_type, version, inputs, outputs, graphs, scans, said):
    with pytest.raises(Violation) as caught:
        check_graphs(op_type, version, inputs, outputs, dict(zip("ab", graphs, strict=False)), scans)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("op_type", "inputs", "outputs", "graphs", "scans", "said"),
    [
        ("If", 1, 1, [graph(0), graph(0)], None, ""),
        ("If", 1, 1, [graph(0), graph(0, 2)], None, "C2: the branch has 1 and 2 outputs, and the node 1"),
        ("If", 1, 1, [graph(0, 2), graph(0, 2)], None, "C2: the branch has 2 and 2 outputs, and the node 1"),
        ("Loop", 3, 2, [graph(3, 3)], None, ""),
        ("Loop", 3, 1, [graph(3, 3)], None, "C3: a body of 3 outputs, and the node takes 2 of it"),
        ("Loop", 4, 1, [graph(4, 3)], None, "C3: a body of 3 outputs, and the node takes 2 of it"),
        ("SequenceMap", 1, 1, [graph(1, 1)], None, ""),
        ("SequenceMap", 1, 1, [graph(1, 2)], None, "C2: a body of 2 outputs, and the node takes 1 of it"),
        ("Scan", 2, 2, [graph(2, 2)], 1, ""),
        ("Scan", 2, 1, [graph(2, 2)], 1, "C1: a body of 2 outputs, and the node takes 1 of it"),
    ],
)
def test_a_strict_check_compares_the_numbers_of_outputs(op_type, inputs, outputs, graphs, scans, said):
    arguments = (op_type, 17, inputs, outputs, dict(zip("ab", graphs, strict=False)), scans)
    check_graphs(*arguments)
    if not said:
        check_graphs(*arguments, strict=True)
        return
    with pytest.raises(Violation) as caught:
        check_graphs(*arguments, strict=True)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("op_type", "version", "inputs", "count"),
    [
        ("If", 13, 1, 0), ("Loop", 13, 2, 2), ("Loop", 13, 0, 2), ("Loop", 13, 5, 5), ("SequenceMap", 17, 3, 3),
        ("Scan", 9, 3, 3), ("Scan", 8, 3, 2), ("Relu", 13, 1, None),
    ],
)  # fmt: skip
def test_a_node_passes_values_to_its_graphs(op_type, version, inputs, count):
    assert passed_count(op_type, version, inputs) == count
