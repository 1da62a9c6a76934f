"""Models that import another version of an operator set than their nodes were written for: which version is read."""

import pytest
from onnx import parser

from opset.budget import Limits
from opset.errors import ConversionError
from opset.model import load
from opset.opsets.registry import default_registry
from opset.schemas import quirks
from opset.version_converter.stamps import AUTO, VersionRange, assume_opsets, guess_opset

REGISTRY = default_registry()
NEWEST = REGISTRY.domains[""]


def model_of(nodes, version, imports="", given="float[2, 3] x, float[3] b", made="float[] y", functions=""):
    stamped = f'"": {version}, ' if version else ""
    return load(
        parser.parse_model(
            f'<ir_version: 8, opset_import: [{stamped}"com.example": 3{imports}]>'
            f" g ({given}) => ({made}) {{ {nodes} }} {functions}"
        )
    )


def imports_of(holder):
    return {each.domain: each.version for each in holder.opset_import}


UPSAMPLE = "y = Upsample <scales = [1.0, 1.0]> (x)"
SUM = "y = ReduceSum <axes = [0]> (x)"


@pytest.mark.parametrize(
    ("nodes", "stated", "read", "reason"),
    [
        (SUM, 13, "1 to 12", "C103"),
        (SUM, 99, "1 to 12", "C104"),
        (UPSAMPLE, 9, "7 to 8", "C103"),
        (UPSAMPLE, 1, "7 to 8", "C103"),
        ("y = Gelu (x)", 9, f"20 to {NEWEST}", "C102"),
        ("y = Cast <to = 1> (x)", 3, f"6 to {NEWEST}", "C103"),
        ("y = Add (x, b)", 6, f"7 to {NEWEST}", "I201"),  # valid at 6, where its shapes contradict each other
        ("y = ScaledTanh <alpha = 1.0, beta = 1.0> (x)", 13, "1 to 9", "C101"),  # a form that runtimes accept up to 9
        ("a = Gelu (x)  y = Unsqueeze <axes = [0]> (x)", 9, "", "C102"),
        ("y = Nope (x)", 9, "", "C101"),
        ("a = Relu (x)  y = Softmax (a)", 40, f"1 to 12; 13 to {NEWEST}", "C104"),
    ],
)
def test_versions_at_which_the_nodes_mean_the_same(nodes, stated, read, reason):
    model = model_of(nodes, stated)
    guess = guess_opset(model, "", REGISTRY)
    assert "; ".join(each.text for each in guess.candidates) == read
    assert (guess.domain, guess.stated, [each.code for each in guess.reasons]) == ("", stated, [reason])
    if guess.chosen is None:
        assert len(guess.candidates) != 1
        return
    assert guess.chosen == guess.candidates[0].nearest_to(stated)
    made, (note,) = assume_opsets(model, AUTO, REGISTRY)
    assert imports_of(made.proto) == {"": guess.chosen, "com.example": 3}
    assert list(made.proto.graph.node) == list(model.proto.graph.node)
    assert note.startswith(f"read as written for ai.onnx {guess.chosen}, not {stated} as it states: ")
    assert imports_of(model.proto)[""] == stated


def test_versions_of_a_form_that_runtimes_accept():
    """A LayerNormalization at an older opset is a form that runtimes accept, up to the version that has it."""
    guess = guess_opset(model_of(f"n = LayerNormalization (x, b)  {SUM}", 17), "", REGISTRY)
    assert [each.text for each in guess.candidates] == ["1 to 12"]


def test_a_form_that_runtimes_accept_up_to_the_newest_version_ends_there(monkeypatch):
    monkeypatch.setattr(quirks, "QUIRKS", [quirks.QUIRKS[0]._replace(operators=("Gelu",), first=1, last=NEWEST)])
    guess = guess_opset(model_of("y = Gelu (x)", 9), "", REGISTRY)
    assert [each.text for each in guess.candidates] == [f"20 to {NEWEST}"]


@pytest.mark.parametrize(
    ("nodes", "version"),
    [
        ("y = Relu (x)", 13),
        (SUM, 12),
        ("y = com.example.Nope (x)", 13),
        ("y = MatMul (x, x)", 17),  # wrong at every version, which says nothing about the version
        ("y = MatMul (x, x)", 1),
    ],
)
def test_a_version_that_fits_is_kept(nodes, version):
    model = model_of(nodes, version)
    guess = guess_opset(model, "", REGISTRY)
    assert (guess.chosen, guess.candidates, [*guess.reasons]) == (version, (), [])
    made, notes = assume_opsets(model, AUTO, REGISTRY)
    assert made is model and notes == []


def test_a_node_of_another_domain_does_not_decide():
    model = model_of("a = Relu (x)  y = ai.onnx.ml.Scaler <nope = 1> (a)", 13, ', "ai.onnx.ml": 3')
    assert guess_opset(model, "", REGISTRY).chosen == 13
    guess = guess_opset(model, "ai.onnx.ml", REGISTRY)
    assert guess.chosen is None and [each.code for each in guess.reasons] == ["C103"]


@pytest.mark.parametrize(
    ("nodes", "message", "why", "help"),
    [
        (
            "y = Nope (x)",
            "no version of ai.onnx fits: at each one, some node is not valid",
            "at 40, as it states: opset_import: ai.onnx 40 is not known: the newest known version is",
            "correct the nodes; opset check names each of them",
        ),
        (
            "y = Softmax (x)",
            "the model was not written for ai.onnx 40, and several versions fit",
            f"its nodes are valid at these, and mean something else at each: 1 to 12; 13 to {NEWEST}",
            f"say for which version its nodes were written: --assume-opset 12 or --assume-opset {NEWEST}",
        ),
    ],
)
def test_an_uncertain_version_is_refused(nodes, message, why, help):
    with pytest.raises(ConversionError) as caught:
        assume_opsets(model_of(nodes, 40), AUTO, REGISTRY)
    (finding,) = caught.value.findings
    assert (finding.code, finding.message, finding.place) == ("C106", message, "opset_import")
    assert finding.why.startswith(why) and finding.help == help


def test_a_version_that_is_said_is_read_in_functions_of_the_same_version_too():
    functions = (
        '<domain: "com.example", opset_import: ["": 15]> f (a) => (b) { b = Relu (a) }'
        '<domain: "com.example", opset_import: ["": 14]> h (a) => (b) { b = Relu (a) }'
    )
    model = model_of("y = com.example.f (x)", 15, functions=functions)
    made, notes = assume_opsets(model, {"": 13, "com.example": 3}, REGISTRY)
    assert notes == ["read as written for ai.onnx 13, not 15 as it states"]
    assert [imports_of(each)[""] for each in (made.proto, *made.proto.functions)] == [13, 13, 14]
    made, notes = assume_opsets(model_of("y = com.example.f (x)", 0), {"": 13}, REGISTRY)
    assert notes == ["read as written for ai.onnx 13, which the model does not state"]
    assert imports_of(made.proto) == {"com.example": 3, "": 13}


def test_the_nearest_version_of_a_range():
    assert [VersionRange(7, 9).nearest_to(each) for each in (6, 7, 8, 9, 10)] == [7, 7, 8, 9, 9]
    assert VersionRange(7, 7).text == "7"


@pytest.mark.parametrize("nodes", ["a = Relu (x) y = Softmax <axis = -11> (a)", "a = Relu (x) y = Relu (a)"])
def test_a_budget_that_a_conversion_or_an_inference_used_up_says_nothing_about_the_version(nodes):
    rank = ", ".join(["1"] * 12)
    model = model_of(nodes, 13, given=f"float[{rank}] x")
    assert assume_opsets(model, AUTO, REGISTRY) == (model, [])
    with pytest.raises(ConversionError) as caught:
        assume_opsets(model, AUTO, REGISTRY, Limits(max_steps=10))
    (found,) = caught.value.findings
    assert found.code == "C401" and found.help.startswith("name the version, --assume-opset 13")
    assert found.message == "the search for the opset that the model was written for was stopped"
