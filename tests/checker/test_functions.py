"""Rules about functions and their calls: further ways through them, beside their fixtures."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opset
from opset.checker.pages import fixtures, set_field
from opset.model import proto as pb
from tests.bounds import draws, lines
from tests.model.messages import messages

CODES = ("G4", "W4", "M113", "M114", "G305", "G306", "G308", "G32", "W101")
LEAK = """<ir_version: 10, opset_import: ["": 17, "d": 1]>
main (float[N] x) => (float[N] y) { y = d.f <k: float = 0.5> (x) }
<domain: "d", opset_import: ["": 17]>
f <k> (a) => (b) { b = LeakyRelu <alpha: float = @k> (a) }"""
NESTED = """<ir_version: 10, opset_import: ["": 17, "d": 1]>
main (float[N] x) => (float[N] y) { y = d.f (x) }
<domain: "d", opset_import: ["": 17, "d": 1]>
f (a) => (b) {
    c = Constant <value = bool {1}> ()
    b = If (c) <
        then_branch = one () => (p) { p = d.g (a) },
        else_branch = two () => (q) { q = Neg (a) }
    >
}
<domain: "d", opset_import: ["": 17]>
g (a) => (b) { b = Relu (a) }"""
SELU = """<ir_version: 10, opset_import: ["": 17]> main (float[N] x) => (float[N] y) { y = Selu (x) }
<domain: "", opset_import: ["": 17]> Selu (a) => (b) { b = Neg (a) }"""
ACME = {"domain": "com.acme", "version": 1}
CALL, PLACE = "graph.node[0]", "graph 'main', node number 0 (f)"
F = "functions[0]"


def edited(text, edits):
    model = opset.parse_model(text)
    for path, value in edits.items():
        set_field(model, path, value)
    return model


def found(text, edits):
    model = edited(text, edits)
    return [(each.code, each.place) for each in opset.check(model.SerializeToString(), select=CODES, full=False)]


def node(name, inputs, outputs, domain=""):
    return {"op_type": name, "input": inputs, "output": outputs, "domain": domain}


LEAKY = {"name": "LeakyRelu", "domain": ""}
CAST = LEAK.replace("LeakyRelu <alpha: float = @k>", "Cast <to: int = @k>").replace("k: float = 0.5", "k: int = 1")


@pytest.mark.parametrize(
    ("text", "edits", "expected"),
    [
        # Identity; "" is the domain of the standard, if it is written.
        (LEAK, {f"{F}.name": None, CALL: node("Relu", ["x"], ["y"])}, [("G401", "function 'd.'")]),
        (LEAK, {f"{F}.domain": "", f"{CALL}.domain": "", "opset_import[1]": None}, []),
        (LEAK, {"functions[+]": {"name": "f", "domain": "d"}}, [("M113", "function 'd.f'")]),
        (LEAK, {"functions[+]": {"name": "f", "domain": "d", "overload": "g"}}, []),
        # Operators of the standard at the imported version; an overload tells the function apart.
        (SELU, {}, [("W403", "function '.Selu'")]),
        (SELU, {f"{F}.overload": "other", f"{CALL}.overload": "other"}, []),
        (SELU, {f"{F}.domain": "ai.onnx"}, [("W403", "function 'ai.onnx.Selu'")]),
        (SELU, {f"{F}.name": "Seluu", f"{CALL}.op_type": "Seluu"}, []),
        (SELU, {f"{F}.name": "Mish", f"{CALL}.op_type": "Mish"}, []),  # came with version 18
        (SELU, {f"{F}.domain": "com.acme", f"{CALL}.domain": "com.acme", "opset_import[+]": ACME}, []),
        # Cycles, also through graphs in nodes.
        (NESTED, {}, []),
        (
            NESTED,
            {"functions[1].node[0]": node("f", ["a"], ["b"], "d"), "functions[1].opset_import[+]": {"domain": "d"}},
            [
                ("M114", "d.f, d.g"),
            ],
        ),
        # Attributes and their defaults.
        (LEAK, {f"{F}.node[0].attribute[0].f": 1.0}, [("G308", "function 'd.f', node number 0 (LeakyRelu)")]),
        (
            LEAK,
            {f"{F}.node[0].attribute[0].ref_attr_name": "z"},
            [("G308", "function 'd.f', node number 0 (LeakyRelu)")],
        ),
        (LEAK, {f"{CALL}.attribute[+]": {"name": "", "type": 1}}, []),  # told as such elsewhere
        (LEAK, {f"{CALL}.attribute": [{"type": 1}, {"name": "z", "type": 1, "f": 1.0}]}, [("G324", PLACE)]),
        (CAST, {f"{CALL}.attribute": None}, [("G326", PLACE)]),
        (CAST, {f"{CALL}.attribute": None, f"{F}.node[0].domain": "zz"}, []),
        (CAST, {f"{CALL}.attribute": None, f"{F}.node[0].op_type": "Zz"}, []),
        (
            CAST,
            {f"{CALL}.attribute": None, f"{F}.node[0].attribute[0].name": "zz"},
            [("G324", "function 'd.f', node number 0 (Cast)"), ("G326", "function 'd.f', node number 0 (Cast)")],
        ),
        (LEAK, {f"{F}.attribute[+]": ""}, [("G402", "function 'd.f'")]),
        (LEAK, {f"{F}.attribute_proto[+]": {"name": "k", "type": 1, "f": 1.0}}, [("G402", "function 'd.f'")]),
        (LEAK, {f"{F}.attribute_proto[+]": {"name": "z", "type": 1}}, [("G306", "function 'd.f'")]),
        (LEAK, {f"{F}.attribute_proto[+]": {"name": "z", "f": 1.0}}, [("G305", "function 'd.f'")]),
        (
            LEAK,
            {f"{F}.attribute_proto[+]": {"name": "z", "type": 1, "ref_attr_name": "k"}},
            [("G403", "function 'd.f'")],
        ),
        (LEAK, {f"{F}.attribute_proto[+]": {"name": "z", "type": 7}}, []),
        (LEAK, {f"{F}.attribute[+]": "b"}, [("W402", "function 'd.f'")]),
        (LEAK, {f"{F}.input[+]": "", f"{F}.attribute[+]": ""}, [("G402", "function 'd.f'")]),
        (LEAK, {f"{F}.output[+]": "b"}, [("G404", "function 'd.f'")]),
        # Domains of functions.
        (LEAK, {CALL: node("Relu", ["x"], ["y"])}, []),
        (LEAK, {CALL: node("Relu", ["x"], ["y"]), "opset_import[1]": None}, [("W401", "opset_import")]),
        (NESTED, {CALL: node("Relu", ["x"], ["y"])}, []),
        (NESTED, {CALL: node("Relu", ["x"], ["y"]), "opset_import[1]": None}, [("W401", "opset_import")]),
        # Versions of operators: of the model, or of the first function that imports the domain.
        (LEAK, {f"{F}.opset_import[0].version": 18}, []),
        (LEAK, {f"{F}.opset_import[0].version": 15}, [("G406", "function 'd.f', node number 0 (LeakyRelu)")]),
        (LEAK, {f"{F}.opset_import[0].version": 15, f"{F}.node[0]": node("Relu", ["a"], ["b"])}, []),
        (  # a function of the model, which is no operator of its domain
            LEAK,
            {
                f"{F}.opset_import[0].version": 15,
                "functions[+]": {**LEAKY, "input": ["a"], "output": ["a"], "attribute": ["alpha"]},
            },
            [("W403", "function '.LeakyRelu'")],
        ),
        (
            NESTED,
            {f"{F}.opset_import[0].version": 12},
            [
                ("G406", "function 'd.f', node number 0 (Constant)"),
                ("G406", "function 'd.f', node number 1 (If)"),
                ("G406", "function 'd.f', node number 1 (If), else_branch, node number 0 (Neg)"),
            ],
        ),
        (
            NESTED,
            {
                f"{F}.opset_import[+]": {"domain": "ai.onnx.ml", "version": 3},
                f"{F}.node[+]": node("Binarizer", ["a"], ["t"], "ai.onnx.ml"),
                "functions[1].opset_import[+]": {"domain": "ai.onnx.ml", "version": 1},
                "functions[1].node[+]": node("TreeEnsembleRegressor", ["a"], ["t"], "ai.onnx.ml"),
            },
            [
                ("G406", "function 'd.g', node number 1 (TreeEnsembleRegressor)"),
            ],
        ),
        # Calls.
        (LEAK, {f"{CALL}.input[+]": "x"}, [("G321", PLACE)]),
        (LEAK, {f"{CALL}.output[+]": "z"}, [("G322", PLACE)]),
        (LEAK, {f"{CALL}.input": []}, []),
        (LEAK, {f"{CALL}.attribute[0].name": "z"}, [("G324", PLACE)]),
        (NESTED, {f"{CALL}.attribute": [{"name": "z", "type": 1, "f": 1.0}]}, [("G324", PLACE)]),
        (
            LEAK,
            {f"{F}.attribute": ["", "k"], f"{CALL}.attribute[0].name": "z"},
            [("G324", PLACE), ("G402", "function 'd.f'")],
        ),
        (LEAK, {f"{CALL}.attribute[0].name": "__k"}, []),
        (LEAK, {f"{CALL}.attribute[0]": {"name": "k", "type": 2, "i": 1}}, [("G325", PLACE)]),
        (LEAK, {f"{CALL}.attribute": []}, []),
        (LEAK, {f"{F}.attribute": [], f"{F}.attribute_proto[+]": {"name": "k", "type": 2, "i": 1}}, []),
        (CAST, {}, []),
        (CAST, {f"{CALL}.attribute": []}, [("G326", PLACE)]),
        (
            CAST,
            {
                f"{CALL}.attribute": [],
                f"{F}.attribute": [],
                f"{F}.attribute_proto[+]": {"name": "k", "type": 2, "i": 1},
            },
            [],
        ),
        (LEAK, {f"{CALL}.overload": "g"}, [("G405", PLACE)]),
        (LEAK, {f"{F}.overload": "g"}, [("G405", PLACE)]),
        (LEAK, {f"{F}.overload": "g", f"{CALL}.overload": "g"}, []),
        (  # each call is looked at, whatever the one before it names
            LEAK,
            {
                "graph.node": [
                    {**node("f", ["x"], ["t"], "d"), "overload": "g"},
                    node("Neg", ["t"], ["u"]),
                    {**node("f", ["u"], ["v"], "d"), "overload": "g"},
                    node("f", ["v", "v"], ["y"], "d"),
                ]
            },
            [("G405", PLACE), ("G405", PLACE.replace("0", "2")), ("G321", PLACE.replace("0", "3"))],
        ),
        (
            NESTED,
            {"graph.node[0]": node("Relu", ["x"], ["y"]), "graph.node[0].overload": "g"},
            [
                ("G405", "graph 'main', node number 0 (Relu)"),
            ],
        ),
        # An overload of one of the standard's operators leaves the operator itself as it is.
        (
            NESTED,
            {
                "functions[1].domain": "",
                "functions[1].name": "Relu",
                "functions[1].overload": "g",
                "functions[0].node[1]": node("Relu", ["a"], ["b"]),
                "functions[0].opset_import[1]": None,
            },
            [],
        ),
    ],
)
def test_what_is_found(text, edits, expected):
    assert found(text, edits) == expected


@pytest.mark.parametrize(
    ("count", "known"),
    [
        (1, "''"),
        (2, "'', o1"),
        (20, ", ".join(["''", *(f"o{number}" for number in range(1, 20))])),
        (21, ", ".join(["''", *(f"o{number}" for number in range(1, 20))]) + " and 1 more"),
        (1020, ", ".join(["''", *(f"o{number}" for number in range(1, 20))]) + " and 1,000 more"),
    ],
)
def test_the_overloads_that_there_are_are_counted(count, known):
    model = edited(LEAK, {f"{CALL}.overload": "none"})
    for number in range(1, count):
        model.functions.add().CopyFrom(model.functions[0])
        model.functions[number].overload = f"o{number}"
    (finding,) = opset.check(model.SerializeToString(), select=["G405"], full=False)
    assert finding.why == f"the model has the overloads {known}"


@given(st.lists(messages("FunctionProto", 2), max_size=3), messages("GraphProto", 2), st.integers(0, 15))
@settings(max_examples=draws(300))
def test_whatever_a_file_holds_gives_findings_alone(functions, graph, ir_version):
    for function in functions[1:]:
        graph.node.add(
            op_type=function.name,
            domain=function.domain,
            overload=function.overload,
            attribute=function.attribute_proto,
        )
    model = pb.ModelProto(ir_version=ir_version, graph=graph, functions=functions, opset_import=[{"version": 17}])
    try:
        findings = opset.check(model.SerializeToString(), select=CODES, full=False)
    except opset.ModelError:
        return
    assert {each.code for each in findings} <= {*fixtures()}


def test_work_grows_with_functions_and_calls():
    def many(count):
        model = edited(LEAK, {})
        for number in range(count):
            function = model.functions.add()
            function.CopyFrom(model.functions[0])
            function.name = f"f{number}"
            function.opset_import[0].version = 18
            call = model.graph.node.add(op_type=function.name, domain="d", input=["x"], output=[f"y{number}"])
            call.attribute.add(name=f"a{number}", type=1, f=1.0)
        return model.SerializeToString()

    small, large = many(50), many(200)
    assert {each.code for each in opset.check(small, select=CODES, full=False)} == {"G324"}
    with lines(10**8) as count:
        opset.check(small, select=CODES, full=False)
    with lines(5 * count()):
        opset.check(large, select=CODES, full=False)
