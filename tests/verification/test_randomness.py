"""Which outputs depend on random numbers: through nodes, graphs in them, and functions."""

import pytest

import opset
from opset.model.graph.index import bodies
from opset.opsets.registry import default_registry
from opset.verification.branches import Branches
from opset.verification.randomness import random_outputs, without_seeds
from tests.bounds import growth

HEAD = '<ir_version: 8, opset_import: ["": 17, "f": 1]> g '
IF = """(float[2] x, bool c, float p, bool t) => (float[2] y, float[2] z) {{ {before} y = If (c) <
    then_branch = t () => (float[2] a) {{ a = {then} }},
    else_branch = e () => (float[2] b) {{ b = Neg (x) }}> z = Abs (x) }}"""
TRAINED = "(float[2] x, float p, bool t) => (float[2] y, float[2] z) "
CALL = """(float[2] x) => (float[2] y, float[2] z) {{ y = f.G (x) z = f.H (x) }}
    <domain: "f", opset_import: ["": 17, "f": 1]> G (a) => (b) {{ c = Exp (a) b = {} }}
    <domain: "f", opset_import: ["": 17]> H (a) => (b) {{ b = Abs (a) }}
    <domain: "f", opset_import: ["": 17]> R (a) => (b) {{ b = RandomUniformLike (a) }}"""


@pytest.mark.parametrize(
    ("text", "certain", "doubtful"),
    [
        ("(float[2] x) => (float[2] y, float[2] z) { y = Bernoulli (x) z = Neg (x) }", "y", ""),
        (TRAINED + "{ a = Bernoulli (x) y = Neg (a) z = Dropout (x, p, t) }", "y", "z"),
        (TRAINED + "{ a = Dropout (x, p, t) z = RandomNormalLike (a) y = Neg (a) }", "z", "y"),
        ("(float[2] x) => (float[2] y, float[2] z) { y = f.Bernoulli (x) z = Neg (x) }", "", ""),
        (IF.format(before="", then="RandomNormalLike (x)"), "y", ""),
        (IF.format(before="", then="Dropout (x, p, t)"), "", "y"),
        (IF.format(before="", then="Dropout (x)"), "", ""),
        (IF.format(before="r = RandomNormalLike (x)", then="Neg (r)"), "y", ""),
        (IF.format(before="", then="Neg (x)"), "", ""),
        (
            CALL.format("f.R (c)").replace("y = f.G (x) z = f.H (x)", ", y = f.Two (x) z = Clip (x, , x)")
            + '<domain: "f", opset_import: ["": 17]> Two (a) => (b, c) { b = Neg (a) c = RandomUniformLike (a) }',
            "y",
            "",
        ),
        (CALL.format("f.R (c)"), "y", ""),
        (CALL.format("Dropout (c, a, a)"), "", "y"),
        (CALL.format("Neg (c)"), "", ""),
    ],
)
def test_outputs_that_depend_on_random_numbers_are_found(text, certain, doubtful):
    found = random_outputs(opset.load(opset.parse_model(HEAD + text)), default_registry())
    assert found == ({*certain}, {*doubtful})


@pytest.mark.parametrize(
    ("opset_version", "node", "doubtful"),
    [
        (6, "Dropout (x)", True),
        (6, "Dropout <is_test = 0> (x)", True),
        (6, "Dropout <is_test = 1> (x)", False),
        (6, "Dropout <is_test = 1, ratio = 0.5> (x)", False),
        (7, "Dropout (x)", False),
        (11, "Dropout (x)", False),
        (12, "Dropout (x)", False),
        (12, "Dropout (x, p)", False),
        (12, "Dropout (x, p, t)", True),
        (12, "Dropout (x, , t)", True),
    ],
)
def test_a_dropout_may_draw_by_its_version(opset_version, node, doubtful):
    head = f'<ir_version: 8, opset_import: ["": {opset_version}]> g '
    model = opset.load(opset.parse_model(f"{head} (float[2] x, float p, bool t) => (float[2] y) {{ y = {node} }}"))
    assert random_outputs(model, default_registry()) == (set(), {"y"} if doubtful else set())


def test_a_copy_without_seeds_keeps_the_other_attributes():
    text = '<ir_version: 8, opset_import: ["": 6]> g (float[2] x) => (float[2] y) { y = Dropout <%s> (x) }'
    copy = without_seeds(opset.load(opset.parse_model(text % "is_test = 0, seed = 3, ratio = 0.25")))
    assert [(each.name, each.f) for each in copy.proto.graph.node[0].attribute] == [("is_test", 0), ("ratio", 0.25)]


@pytest.mark.parametrize(
    "node",
    ["RandomNormal <shape = [2]> ()", "RandomUniform <shape = [2]> ()", "RandomNormalLike (x)", "RandomUniformLike (x)",
     "Multinomial (x)", "Bernoulli (x)"],
)  # fmt: skip
def test_operators_that_draw_numbers_are_known(node):
    model = opset.load(opset.parse_model(f"{HEAD} (float[2, 2] x) => (float[A, B] y) {{ y = {node} }}"))
    assert random_outputs(model, default_registry()) == ({"y"}, set())


@pytest.mark.parametrize(
    "text",
    [
        "(float[2] x) => (float[2] y, float[2] z) { y = Dropout <seed = 3> (x) z = Neg (x) }",
        IF.format(before="", then="Dropout <seed = 3> (x)"),
        CALL.format("Dropout <seed = 3> (c)"),
    ],
)
def test_seeds_are_left_out_of_a_copy(text):
    model = opset.load(opset.parse_model(HEAD + text.replace("Neg (x)", "LeakyRelu <alpha = 0.5> (x)")))
    before = model.proto.SerializeToString()
    names = [each.name for body in bodies(without_seeds(model).proto) for node in body.nodes for each in node.attribute]
    assert "seed" not in names and ("alpha" in names) == ("Neg (x)" in text)
    assert model.proto.SerializeToString() == before


def test_graphs_that_were_not_run_are_told_by_the_places_of_nodes():
    text = IF.format(before="", then="If (c) <then_branch = u () => (float[2] p) { p = Neg (x) }, "
                                     "else_branch = v () => (float[2] q) { q = Abs (x) }>")  # fmt: skip
    branches = Branches(opset.load(opset.parse_model(HEAD + text)), default_registry())
    assert len(branches.missed) == 4
    for label in sorted(branches.missed, key=len):
        assert branches.trace is not None
        branches.trace(f"{label}, node number 0 (Neg)", "p", None)
    assert not branches.missed and branches.trace is None
    functions = "".join(
        f'<domain: "f", opset_import: ["": 17]> {name} (a) => (b) {{ b = Neg (a) }} ' for name in ("G", "Uncalled", "H")
    )
    text = f"(float[2] x) => (float[2] y) {{ z = f.G (x) y = f.H (z) }} {functions}"
    called = Branches(opset.load(opset.parse_model(HEAD + text)), default_registry())
    assert called.missed == {"function 'f.G'", "function 'f.H'"}


def test_the_work_is_linear_in_the_nodes_that_have_graphs():
    branches = "<then_branch = t () => (float[2] a) { a = Sin (x) }, else_branch = e () => (b) { b = Cos (x) }>"

    def searching(count):
        nodes = " ".join(f"y{at} = If (c) {branches}" for at in range(count))
        model = opset.load(opset.parse_model(f"{HEAD} (bool c, float[2] x) => (float[2] y0) {{ {nodes} }}"))
        return lambda: random_outputs(model, default_registry())

    assert growth(searching, 40, 4) < 1.3
