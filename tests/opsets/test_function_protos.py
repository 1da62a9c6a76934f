"""Which operators a document writes as FunctionProtos, and what these hold."""

import pytest

from opset.model.text.printing import to_text
from opset.opsets.documents.functions import functions_of
from opset.opsets.registry import registry_with

OPERATOR = """operator: F
family: acme
versions:
- since: 2
  doc: does it
  inputs:
  - {name: X, type: T, doc: it}
  - {name: Y, type: T, optional: true, doc: it}
  outputs:
  - {name: Z, type: T, doc: it}
  attributes:
    beta: {type: float, required: true, doc: it}
    above: {type: int, doc: it}
    alpha: {type: float, default: 0.5, doc: it}
    axes: {type: ints, default: [1, 2], doc: it}
  types: {T: floats}
  function:
"""
INNER = """operator: G
family: acme
versions:
- {since: 1, doc: does it, inputs: [{name: X, type: T, doc: it}], outputs: [{name: Z, type: T, doc: it}],
   types: {T: floats}}
"""
PLAIN = "{opset: 9, nodes: 'Z = Neg (X)'}"
SOME_NODES = "{opset: 9, where: {alpha: '0.5'}, nodes: 'Z = Abs (X)'}"
SOME_TYPES = "{opset: 9, types: {T: [float]}, nodes: 'Z = Exp (X)'}"


@pytest.fixture
def functions(tmp_path):
    """A function that returns the texts of the FunctionProtos of an operator with these bodies."""

    def written(bodies, opset=17, edit=("", "")):
        (tmp_path / "com.acme").mkdir()
        text = OPERATOR.replace(*edit) + "".join(f"  - {each}\n" for each in bodies)
        (tmp_path / "com.acme" / "F.yaml").write_text(text)
        (tmp_path / "com.acme" / "G.yaml").write_text(INNER)
        registry = registry_with([tmp_path])
        schema = registry.schema("F", 3, "com.acme")
        found = functions_of(schema, 3, opset, lambda domain, name: registry.versions(name, domain))
        return [to_text(each) for each in found]

    return written


@pytest.mark.parametrize(
    ("bodies", "opset", "imports", "nodes"),
    [
        ([PLAIN], 17, "", ["Z = Neg (X)"]),
        ([PLAIN], 21, "", ["Z = Neg (X)"]),
        (["{opset: 9, nodes: 'a = com.acme.G (X)  Z = Neg (a)'}"], 17, ', "com.acme": 3',
         ["a = com.acme.G (X)", "Z = Neg (a)"]),
        (["{opset: 9, nodes: 'Z = com.acme.G (X)'}"], 17, ', "com.acme": 3', ["Z = com.acme.G (X)"]),
        (["{opset: 18, nodes: 'Z = Sin (X)'}", PLAIN], 17, "", ["Z = Neg (X)"]),
        ([SOME_NODES, SOME_TYPES, PLAIN], 17, "", ["Z = Neg (X)"]),
        (["{opset: 9, nodes: 'Z = Gelu (X)'}"], 20, "", ["Z = Gelu (X)"]),
    ],
)  # fmt: skip
def test_a_body_for_all_nodes_and_types_is_a_function(functions, bodies, opset, imports, nodes):
    (found,) = functions(bodies, opset)
    assert found.splitlines() == [
        f'<domain: "com.acme", opset_import: ["": {opset}{imports}]>',
        "F <above, beta, alpha: float = 0.5, axes: ints = [1, 2]> (X, Y) => (Z) {",
        *(f"  {each}" for each in nodes),
        "}",
    ]


@pytest.mark.parametrize(
    "body",
    [
        SOME_NODES,
        SOME_TYPES,
        "{opset: 18, nodes: 'Z = Neg (X)'}",
        "{opset: 9, nodes: 'Z = Neg ('}",
        "{opset: 9, nodes: 'a = Nothing (X)  Z = Neg (a)'}",
        "{opset: 9, nodes: 'a = Gelu (X)  Z = Neg (a)'}",  # newer than the import
        "{opset: 9, nodes: 'a = Upsample (X, Y)  Z = Neg (a)'}",  # deprecated
        "{opset: 9, nodes: 'a = com.other.G (X)  Z = Neg (a)'}",
        "{opset: 9, nodes: 'a = Neg (X)  Z = Neg (a, a)'}",
        "{opset: 9, nodes: 'a, b = Neg (X)  Z = Neg (a)'}",
        "{opset: 9, nodes: 'a = Neg <more = 1> (X)  Z = Neg (a)'}",
    ],
)
def test_a_body_that_serves_some_or_is_not_valid_is_left_to_the_declaration(functions, body):
    assert functions([body]) == []


@pytest.mark.parametrize("parameter", ["Y", "Z"])
def test_an_operator_of_any_number_of_inputs_or_outputs_has_no_function(functions, parameter):
    line = next(each for each in OPERATOR.splitlines() if f"name: {parameter}," in each)
    variadic = line.replace("optional: true, ", "").replace("doc: it", "variadic: true, doc: it")
    assert functions([PLAIN], edit=(line, variadic)) == []
