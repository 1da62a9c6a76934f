"""Rules about models: further ways through them, beside their fixtures."""

import pytest

import opset
from opset.checker.pages import good_model, set_field
from opset.errors import quote


@pytest.mark.parametrize("holder", ["", "functions[0]."])
@pytest.mark.parametrize(
    ("domain", "version", "code"),
    [
        ("com.other", 1, None),
        ("com.other", 2**31 - 1, None),
        ("com.other", 2**31, "G105"),
        ("com.other", 2**62, "G105"),
        ("com.other", 0, "G105"),
        ("com.other", -1, "G105"),
        ("com.other", None, "G105"),
        ("ai.onnx.ml", 0, "M107"),
        ("ai.onnx.ml", 2**31, "C104"),
    ],
)
def test_versions_of_operator_sets_are_positive_and_have_31_bits(holder, domain, version, code):
    model = good_model("G401")
    set_field(model, f"{holder}opset_import[+]", {"domain": domain, **({"version": version} if version else {})})
    place = "function 'com.example.Leak'" if holder else "opset_import"
    found = [(each.code, each.place) for each in opset.check(model.SerializeToString(), ignore=["W101"])]
    assert found == ([(code, place)] if code else [])


@pytest.mark.parametrize(
    ("domain", "reverse"),
    [("com.example", True), ("org.big-one.part_2", True), ("com", False), ("com..a", False), ("com.-", False),
     ("com.m\u00fcller", False), ("com.a b", False), ("", False)],
)  # fmt: skip
def test_the_domain_of_a_model_is_a_reversed_name(domain, reverse):
    model = good_model("W103")
    model.domain = domain
    found = [(each.message, each.place, each.why) for each in opset.check(model.SerializeToString(), select=["W103"])]
    why = "domains are reversed DNS names, as those of packages in Java"
    expected = (f"the domain {quote(domain)} is no reversed DNS name", "model", why)
    if not domain:
        expected = "the model names no domain", "model", "domain, model_version and the graph's name identify a model"
    assert found == [expected] * (not reverse)


@pytest.mark.parametrize(("ir_version", "expected"), [(2, []), (3, ["M107", "G104"])])
def test_a_model_from_before_imports_has_the_first_version_of_operators(ir_version, expected):
    model = opset.parse_model("""<ir_version: 2, opset_import: ["": 1]>
        main (float[4] x, float[2] s) => (float[2] y, float[2] z) { y, z = Split (x, s) }""")
    model.ir_version = ir_version
    del model.opset_import[:]
    assert [each.code for each in opset.check(model.SerializeToString())] == expected
