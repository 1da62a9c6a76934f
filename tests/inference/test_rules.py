"""Every version has a rule or a function, and the guide lists the rules; what they ask for by name is declared."""

import ast
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from opset.inference import registration as inference
from opset.inference.building.shapes import common_size
from opset.opsets.registry import default_registry
from opset.schemas.constraints.input_shapes import names_of, plan_of
from opset.schemas.constraints.violation import Violation

GUIDE = Path(__file__).parents[2] / "docs" / "inference.md"
REGISTRY = default_registry()
LABEL = re.compile(r"C[0-9]+")
MODULES = sorted(Path(inference.__file__).parent.rglob("*.py"))
SIZES = {"size", "run"}
ATTRIBUTES = {"attribute", "required_attribute", "attribute_if_known", "dtype_of_attribute", "list_length",
              "check_lengths", "label_type_and_count", "_numbers_of_attribute", "_graph_of_attribute"}  # fmt: skip
"""Functions whose arguments name sizes of declared patterns, or attributes."""


def test_every_rule_serves_an_operator_and_stands_in_the_guide():
    schemas = [
        schema
        for domain in REGISTRY.domains
        for name in REGISTRY.operators(domain)
        for schema in REGISTRY.versions(name, domain)
        if schema.shape
    ]
    assert [schema.name for schema in schemas if inference.rule_problem(schema)] == []
    users = {rule for schema in schemas for rule in re.findall(r"[a-z_]+(?=\(|;|$)", schema.shape)}
    listed = re.findall(r"^\| `([a-z_]+)", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    listed += re.findall(r"^\| `[^|]*`, `([a-z_]+)", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
    unknown = inference.rule_problem(replace(REGISTRY.schema("Relu", 14), shape="nonesuch"))
    rules = unknown.removeprefix("there is no rule 'nonesuch'; there are ").split(", ")
    assert set(listed) == users == set(rules)


def test_a_rule_that_does_not_fit_the_schema_is_told():
    relu = REGISTRY.schema("LeakyRelu", 16)
    texts = ("same(X)", "same(X); same(X)", "same(W)", "same(alpha)", "same(-1)", "same(X", "same_type(alpha, -2, Y)")
    told = {text: inference.rule_problem(replace(relu, shape=text)) for text in texts}
    assert told == {
        "same(X)": "",
        "same(X); same(X)": "there are 2 rules for 1 outputs",
        "same(W)": "LeakyRelu has no input or attribute 'W'",
        "same(alpha)": "",
        "same(-1)": "",
        "same(X": f"there is no rule 'same(X'; there are {told['same(X'].partition('there are ')[2]}",
        "same_type(alpha, -2, Y)": "LeakyRelu has no input or attribute 'Y'",
    }
    functions = {text: inference.function_of_rules(replace(relu, shape=text)) for text in ("same(X)", "same(alpha)")}
    asked = []
    call = SimpleNamespace(require_shape=asked.append)
    for function in functions.values():
        function(call)
    assert asked == [0, "alpha"]


def test_inputs_after_one_of_unknown_rank_are_compared_with_the_target():
    schema = replace(REGISTRY.schema("LayerNormalization", 17), shape="onto(X, Scale, B); same(X); same(X)")
    shapes = [(2, 3), None, (1, 2, 3)]
    call = SimpleNamespace(
        output_count=1,
        require_shape=shapes.__getitem__,
        shape=shapes.__getitem__,
        parameter=[each.name for each in schema.inputs].__getitem__,
    )
    with pytest.raises(Violation, match=re.escape("B of shape [1, 2, 3] does not")):
        inference.function_of_rules(schema)(call)


@pytest.mark.parametrize("shapes", [((2, 3), (4, 5)), ((3,), (4,)), ((2, 3), (5,)), ((9, 4, 3), (2, 3))])
@pytest.mark.parametrize(("rule", "label"), [("matmul(A, B)", "C2"), ("matmul(A, B, B)", "C1")])
def test_matrices_that_do_not_fit_are_told_where_no_constraint_is_declared(shapes, rule, label):
    call = SimpleNamespace(require_shape=shapes.__getitem__, shape=shapes.__getitem__, same=common_size)
    with pytest.raises(Violation) as caught:
        inference.function_of_rules(replace(REGISTRY.schema("MatMul", 13), shape=rule))(call)
    left, right = shapes
    why = f"with shapes {[*left]} and {[*right]}, the inner size is {left[-1]} and {right[-2:][0]}"
    assert (caught.value.label, str(caught.value)) == (label, f"{label}: {why}")


def test_every_version_says_how_its_outputs_are_inferred():
    rules = inference.RuleLookup(REGISTRY)
    missing = [
        f"{schema.name} {schema.since_version}"
        for domain in REGISTRY.domains
        for name in REGISTRY.operators(domain)
        for schema in REGISTRY.versions(name, domain)
        if not schema.deprecated and rules.find(schema) is None
    ]
    assert missing == []


def words(node):
    """Yield the strings that an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from (*words(node.body), *words(node.orelse))


def asked(tree):
    """Yield the name of each function of SIZES and ATTRIBUTES that is called, and each string that it is given."""
    for node in ast.walk(tree):
        call, given = node, getattr(node, "args", ())
        if isinstance(node, ast.GeneratorExp | ast.SetComp | ast.ListComp):  # ... for name in (...)
            part = node.generators[0]
            call, given = node.elt, getattr(part.iter, "elts", ())
            if ast.unparse(part.target) not in map(ast.unparse, getattr(call, "args", ())):
                continue
        if isinstance(call, ast.Call):
            function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if function in SIZES | ATTRIBUTES:
                yield from ((function, word) for each in given for word in words(each) if not LABEL.fullmatch(word))


def test_what_functions_ask_for_by_name_is_declared():
    """A name that is wrong is never given: the function goes on as if it were left out."""
    schemas = [
        each
        for domain in REGISTRY.domains
        for name in REGISTRY.operators(domain)
        for each in REGISTRY.versions(name, domain)
    ]
    attributes = {name for schema in schemas for name in schema.attributes}
    plans = filter(None, map(plan_of, schemas))
    sizes = {name for plan in plans for check in plan.checks for name in names_of(check)}
    found = [(path.name, *each) for path in MODULES for each in asked(ast.parse(path.read_text(encoding="utf-8")))]
    wrong = [each for each in found if each[2] not in (sizes if each[1] in SIZES else attributes)]
    assert wrong == []
    assert {each[1] for each in found} == SIZES | ATTRIBUTES
