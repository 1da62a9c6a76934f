"""What happens to nodes of an operator on the way to a target: the route, the next step, and calls of adapters."""

from types import SimpleNamespace

import pytest

from opset.opsets.registry import default_registry
from opset.opsets.releases import RELEASES
from opset.version_converter.adapter_calls import AdapterCall, call_adapter
from opset.version_converter.availability import faults_at
from opset.version_converter.rewrite import Refusal
from opset.version_converter.routes import Route, Routes, Verdict, VersionChange

ROUTES = Routes(default_registry())


def test_nodes_of_a_domain_without_schemas_pass():
    assert ROUTES.route("Magic", "com.none", {}, {"": 13}) == Route(
        Verdict.PASS, VersionChange("com.none", "Magic", 0, 0)
    )


def test_nodes_of_a_domain_that_is_not_imported_are_refused():
    found = ROUTES.route("Scaler", "ai.onnx.ml", {"": 13}, {"": 13})
    why = "the model does not import the domain 'ai.onnx.ml' that the node uses"
    assert (found.verdict, found.change) == (Verdict.REFUSE, VersionChange("ai.onnx.ml", "Scaler", 0, 0))
    assert isinstance(found.refusal, Refusal) and (found.refusal.code, found.refusal.why) == ("C102", why)


WITH_IT = "it is no operator of the standard; onnxruntime has it in that domain up to version 9"


@pytest.mark.parametrize(
    ("operator", "domain", "version", "final", "found"),
    [
        ("Scalr", "ai.onnx.ml", 3, 3, ("C101", "there is no operator Scalr in ai.onnx.ml", "did you mean Scaler?")),
        ("Scaler", "", 3, 3, ("C101", "there is no operator Scaler in ai.onnx", "Scaler is an operator of ai.onnx.ml")),
        ("Gelu", "", 19, 20, ("C102", "it came with version 20, and the model imports 19",
                              "import the version for which the exporter wrote the nodes")),
        ("ScaledTanh", "", 9, 10, ("C101", WITH_IT, "")),
        ("ScaledTanh", "", 10, 9, ("C101", "there is no operator ScaledTanh in ai.onnx", "")),
        ("ScaledTanh", "", 9, 9, "experimental"),
        ("LayerNormalization", "", 16, 17, "com.microsoft"), ("LayerNormalization", "", 16, 16, "com.microsoft"),
        ("ParametricSoftplus", "ai.onnx.ml", 3, 3,
         ("C101", "there is no operator ParametricSoftplus in ai.onnx.ml", "")),
    ],
)  # fmt: skip
def test_operators_that_a_version_does_not_have(operator, domain, version, final, found):
    route = ROUTES.route(operator, domain, {domain: version}, {domain: final})
    if isinstance(found, str):  # where runtimes have it
        assert route == Route(Verdict.PASS, VersionChange(found, operator, 0, 0))
        return
    assert route == Route(Verdict.REFUSE, VersionChange(domain, operator, 0, 0), route.refusal)
    assert (route.refusal.code, route.refusal.why, route.refusal.help) == found


@pytest.mark.parametrize(("release", "until"), [("1.20.0", 24), (RELEASES[-1].name, 25)])
def test_a_version_that_a_release_lacks_is_not_reached(release, until):
    route = Routes(default_registry(), release).route("Attention", "", {"": 24}, {"": 25})
    assert route.change == VersionChange("", "Attention", 24, until)


def test_routes_are_found_once_for_each_operator_and_its_versions():
    """A domain that the target does not name keeps its version; versions after the last change are one."""
    routes, asked = Routes(default_registry()), []
    for operator, domain, versions, opsets, verdict, since, until in (
        ("Relu", "", {"": 13}, {"": 6}, Verdict.CHECK, 13, 6),
        ("Relu", "", {"": 6}, {"": 13}, Verdict.KEEP, 6, 13),
        ("Relu", "", {"": 13}, {"": 5}, Verdict.CHECK, 13, 1),
        ("Abs", "", {"": 13}, {"": 6}, Verdict.CHECK, 13, 6),
        ("Relu", "", {"": 13}, {}, Verdict.KEEP, 13, 13),
        ("TreeEnsemble", "ai.onnx.ml", {"ai.onnx.ml": 5}, {"ai.onnx.ml": 3}, Verdict.REFUSE, 5, 0),
        ("TreeEnsemble", "ai.onnx.ml", {"ai.onnx.ml": 5}, {"": 3}, Verdict.KEEP, 5, 5),
    ):
        found = routes.route(operator, domain, versions, opsets)
        assert (found.verdict, found.change) == (verdict, VersionChange(domain, operator, since, until))
        assert all(found is not other for other in asked)
        asked.append(found)
        assert routes.route(operator, domain, versions, opsets) is found
    assert routes.route("Relu", "", {"": 13}, {"": 12}) is not routes.route("Relu", "", {"": 13}, {"": 13})


@pytest.mark.parametrize(
    ("operator", "version", "final", "found"),
    [
        ("Relu", 6, 12, None),
        ("Relu", 6, 13, (6, 13, 13)),
        ("Relu", 12, 6, None),
        ("Relu", 13, 12, (13, 6, 12)),
        ("Relu", 20, 6, (14, 13, 13)),
        ("Gelu", 19, 20, ("C101", "there is no operator Gelu at version 19", "")),
        ("ImageDecoder", 20, 19, ("C201", "ImageDecoder came with version 20", "convert to 20 or newer")),
    ],
)
def test_the_next_step_is_the_nearest_version_on_the_way(operator, version, final, found):
    step = ROUTES.step("", operator, version, final)
    if found is None:
        assert step is None
    elif isinstance(step, Refusal):
        assert (step.code, step.why, step.help) == found
    else:
        assert (step.source.since_version, step.target.since_version, step.version) == found


@pytest.mark.parametrize(
    ("versions", "opsets", "concerned"),
    [
        (None, None, [8, 9, 10, 11, 12, 13]),
        (None, (9, 12), [9, 10, 11, 12]),
        ((6, 6), (9, 9), [9]),
        ((7, 13), None, []),
    ],
)
def test_a_fault_concerns_versions_and_opsets_within_its_ranges(versions, opsets, concerned):
    fault = SimpleNamespace(nodes=SimpleNamespace(versions=versions, opsets=opsets))
    runtime = SimpleNamespace(faults=lambda name, domain: [fault] if (name, domain) == ("Relu", "") else [])
    relu = default_registry().schema("Relu", 6)
    assert [opset for opset in range(8, 14) if faults_at(runtime, relu, opset) == [fault]] == concerned


@pytest.mark.parametrize(
    ("result", "lowers", "is_standard", "why"),
    [
        ("y", False, True, ""),
        (["y", "z"], True, True, ""),
        (None, False, True, ""),
        (None, False, False, ""),
        (None, True, True, "the lowering of Scale returns None, which names no outputs"),
        (3, False, True, "the adapter of Scale returns 3, which names no outputs"),
        ({"y"}, True, False, "the lowering of Scale returns {'y'}, which names no outputs"),
        (["y", None], False, False, "the adapter of Scale returns ['y', None], which names no outputs"),
        (Refusal("C204", "so it is"), False, True, "so it is"),
        (ValueError("wrong"), False, False, "the adapter of Scale raised ValueError: wrong"),
        (ValueError("wrong"), False, True, None),
    ],
)
def test_what_an_adapter_may_return_or_raise(result, lowers, is_standard, why):
    def adapter(op, node):
        assert (op, node) == ("op", "node")
        if isinstance(result, Exception):
            raise result
        return result

    source = SimpleNamespace(name="Scale", domain="com.acme")
    registry = SimpleNamespace(is_standard=lambda *key: is_standard and key == ("Scale", "com.acme"))
    step = SimpleNamespace(source=source, adapter=adapter, lowers=lowers)
    call = AdapterCall(step, "op", "node", registry, *[None] * 5)
    if why == "":
        assert call_adapter(call) == result
    elif why is None:
        with pytest.raises(ValueError, match="wrong"):
            call_adapter(call)
    else:
        with pytest.raises(Refusal) as caught:
            call_adapter(call)
        assert caught.value.code == ("C204" if isinstance(result, Refusal) else "C105") and caught.value.why.startswith(
            why
        )
