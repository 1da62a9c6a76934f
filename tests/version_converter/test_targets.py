"""The target that a call names: opsets by domain, IR version, release of onnx, and what it does not take."""

import numpy as np
import pytest

import opset
from opset.errors import UsageError
from opset.model.graph.index import index_model
from opset.opsets.registry import default_registry
from opset.opsets.releases import RELEASES
from opset.opsets.runtimes.names import find_runtime
from opset.version_converter import target_of
from opset.version_converter.conversion import has_target
from opset.version_converter.targets import (
    Target,
    fix_versions,
    parse_versions,
    target_at_runtime,
    target_for_model,
    target_of_model,
    target_of_release,
    target_of_runtime,
    target_of_version,
    target_without,
)
from tests.version_converter.npu import runtime_file, takes

REGISTRY = default_registry()
NEWEST = REGISTRY.domains[""]
EMPTY = opset.parse_model('<ir_version: 8, opset_import: ["": 17]> g () => () { }')


def refused(made, *arguments, **named):
    with pytest.raises(UsageError) as caught:
        made(*arguments, **named)
    (finding,) = caught.value.findings
    return finding.code, finding.message, finding.help


@pytest.mark.parametrize(
    ("to", "opsets"),
    [
        (21, {"": 21}), ("21", {"": 21}), ("ai.onnx=7", {"": 7}), ("ai.onnx.ml=3", {"ai.onnx.ml": 3}),
        ({"": 13, "ai.onnx.ml": 2}, {"": 13, "ai.onnx.ml": 2}), ({"ai.onnx": 1}, {"": 1}), (NEWEST, {"": NEWEST}),
    ],
)  # fmt: skip
def test_versions(to, opsets):
    assert target_of_version(to, REGISTRY, 8) == Target(opsets, 8)


@pytest.mark.parametrize(
    ("target", "has"),
    [
        (Target({"": 17}), True), (Target({}), True), (Target({"": 18}), False), (Target({"": 17, "other": 2}), True),
        (Target({"": 17, "d": 2}), False), (Target({"": 17, "d": 1}), True), (Target({"": 17}, 8), True),
        (Target({"": 17}, 9), False), (Target({"": 17}, max_ir=8), True), (Target({"": 17}, max_ir=9), True),
        (Target({"": 17}, max_ir=7), False), (Target({"": 17}, 8, max_ir=7), False),
        (Target({"": 17}, lowered=frozenset({("Mish", "")})), True),
        (Target({"": 17}, lowered=frozenset({("Elu", ""), ("Mish", "")})), False),
        (Target({"": 17}, lowered=frozenset({("Elu", "d")})), True),
        (Target({"": 17}, release=RELEASES[-1].name), True), (Target({"": 17}, release="1.13.0"), True),
        (Target({"": 17}, release="1.12.0"), True),
    ],
)  # fmt: skip
def test_whether_a_model_is_at_a_target_already(target, has):
    model = opset.parse_model("""<ir_version: 8, opset_import: ["": 17, "d": 1]>
        g (float[2] x) => (float[2] y) { a = Elu (x)  y = d.F (a) }
        <domain: "d", opset_import: ["": 17]> F (a) => (b) { b = Relu (a) }""")
    assert has_target(index_model(model, REGISTRY.domains), target) is has
    if target.release == "1.12.0":  # later releases changed Erf
        model.graph.node[1].op_type = model.functions[0].name = "Erf"
        assert has_target(index_model(model, REGISTRY.domains), target)
        model.functions[0].node[0].op_type = "Erf"
        assert not has_target(index_model(model, REGISTRY.domains), target)


def test_versions_that_there_are_not():
    for to in (0, NEWEST + 1, True, -1, 12.5):
        assert refused(target_of_version, {"": to}, REGISTRY) == (
            "U101", f"ai.onnx has no version {to}", f"versions go from 1 to {NEWEST}")  # fmt: skip
    assert refused(target_of_version, {"": "17"}, REGISTRY) == (
        "U101", "ai.onnx has no version '17'", f"versions go from 1 to {NEWEST}, as numbers")  # fmt: skip
    assert target_of_version({"": 13, "ai.onnx": 13}, REGISTRY) == Target({"": 13})
    found = target_of_version({"": np.int64(13)}, REGISTRY).opsets[""]
    assert (type(found), found) == (int, 13)
    assert refused(target_of_version, {"": 13, "ai.onnx": 15}, REGISTRY) == (
        "U101", "ai.onnx is given two versions", '"" and "ai.onnx" are one domain: give it one version')  # fmt: skip
    message = "the mapping of domains to opset versions is empty"
    for call in ({"to": {}}, {"to": {}, "runtime": "onnxruntime==1.17"}, {"to": 21, "assume_opset": {}}):
        assert refused(opset.convert, EMPTY, **call)[:2] == ("U101", message)
    assert refused(target_of_version, {18: 18}, REGISTRY)[:2] == ("U101", "there are no schemas for the domain '18'")
    code, message, help = refused(target_of_version, "com.acme=1", REGISTRY)
    assert (code, message) == ("U101", "there are no schemas for the domain 'com.acme'")
    assert help == f"known: {', '.join(sorted(name or 'ai.onnx' for name in REGISTRY.domains))}"


def test_a_release_has_its_opsets_and_its_ir_version_at_most():
    target = target_of_release("1.15", REGISTRY)
    assert target == Target({"": 20, "ai.onnx.ml": 4, "ai.onnx.preview.training": 1}, None, 9, release="1.15.0"), target
    assert target_of_release("1.15", REGISTRY, 7).ir_version == 7
    assert target_of_release("1.0", REGISTRY) == Target({"": 1, "ai.onnx.ml": 1}, None, 3, release="1.0")


@pytest.mark.parametrize(
    ("release", "opsets", "least", "named"),
    [
        ({"opset": [9, 15], "ml": 3, "ir": 8}, {"": 15, "ai.onnx.ml": 3}, {"": 9}, "1.10.2"),
        ({"opset": [None, 15]}, {"": 15}, {}, "1.10.2"),
        ({"opset": [9, None]}, {"": NEWEST}, {"": 9}, RELEASES[-1].name),
        ({"opset": [9, NEWEST + 9]}, {"": NEWEST}, {"": 9}, RELEASES[-1].name),
    ],
)
def test_a_runtime(tmp_path, release, opsets, least, named):
    file = runtime_file(tmp_path, takes(), releases=[{"release": "1.0", "how": "documented", **release}])
    runtime = find_runtime("npu==1.0", [file])
    target = target_of_runtime("npu==1.0", REGISTRY, 7, [file], inexact=True)
    assert (target.opsets, target.least, target.release) == (opsets, least, named)
    assert (target.ir_version, target.max_ir, target.inexact) == (7, release.get("ir"), True)
    assert target_at_runtime(runtime, REGISTRY) == target._replace(ir_version=None, inexact=False, runtime=runtime)


def test_one_path_is_a_file_of_a_runtime(tmp_path):
    file = runtime_file(tmp_path, takes())
    for one in (file, str(file)):
        target = target_of(runtime="npu==1.0", targets=one)
        assert (target.opsets, target.runtime.title) == ({"": 21, "ai.onnx.ml": 3}, "npu")


def test_a_runtime_of_which_no_opset_is_known(tmp_path):
    file = runtime_file(tmp_path, takes(), releases=[{"release": "1.0", "how": "documented", "opset": None}])
    assert refused(target_of_runtime, "npu==1.0", REGISTRY, files=[file]) == (
        "U101", "which opsets npu 1.0 takes is not known",
        "name the opset beside the runtime: --to 17; opset targets show has the operators that it takes",
    )  # fmt: skip
    target = target_of_runtime("npu==1.0", REGISTRY, files=[file], to=17)
    assert target.opsets[""] == 17 and target.least == {"": 17} and target.runtime.opsets[""] == (17, 17)
    assert refused(target_of_runtime, "npu==1.0", REGISTRY, files=[file], to="ai.onnx.ml=3")[0] == "U101"
    with pytest.raises(UsageError, match="versions go from 1 to"):
        target_of_runtime("npu==1.0", REGISTRY, files=[file], to=99)


def test_a_runtime_whose_opsets_are_all_newer_than_the_schemas(tmp_path):
    file = runtime_file(tmp_path, takes(), opset=(NEWEST + 1, NEWEST + 2))
    assert refused(target_of_runtime, "npu==1.0", REGISTRY, files=[file]) == (
        "U101", f"npu 1.0 takes no opset of ai.onnx below {NEWEST + 1}",
        f"the newest version with schemas is {NEWEST}",
    )  # fmt: skip


def test_versions_beside_a_runtime(tmp_path):
    target = target_of_runtime("npu==1.0", REGISTRY, files=[runtime_file(tmp_path, takes(), opset=(9, 15))])
    assert target == Target({"": 15, "ai.onnx.ml": 3}, None, 10, {"": 9}, release="1.10.2", runtime=target.runtime)
    fixed = fix_versions(target, {"": 12}, REGISTRY)
    assert fixed == target._replace(opsets={"": 12, "ai.onnx.ml": 3}, least={"": 12}, release="1.7.0")
    assert fix_versions(target, {"": 9}, REGISTRY).opsets[""] == 9 and fix_versions(target, 15, REGISTRY).least == {
        "": 15
    }
    assert fix_versions(target, "ai.onnx.ml=1", REGISTRY).least == {"": 9, "ai.onnx.ml": 1}
    for to, message, help in ((8, "ai.onnx 8", "9 to 15"), (16, "ai.onnx 16", "9 to 15"),
                              ("ai.onnx.ml=4", "ai.onnx.ml 4", "versions up to 3")):  # fmt: skip
        assert refused(fix_versions, target, to, REGISTRY) == (
            "U101", f"npu 1.0 does not take {message}", f"it takes {help}")  # fmt: skip
    rows = [{"release": "1.0", "opset": [9, None], "how": "documented"}]
    target = target_of_runtime("npu==1.0", REGISTRY, files=[runtime_file(tmp_path, takes(), releases=rows)])
    assert refused(fix_versions, target, 8, REGISTRY)[2] == "it takes versions from 9 on"


@pytest.mark.parametrize(
    ("source", "opset", "ml"),
    [({"": 9}, 9, 3), ({"": 8}, 15, 3), ({"": 16, "ai.onnx.ml": 2}, 15, 2), ({"": 15}, 15, 3)],
)
def test_a_model_keeps_opsets_that_a_runtime_takes(source, opset, ml):
    target = Target({"": 15, "ai.onnx.ml": 3}, least={"": 9})
    assert target_for_model(target, source) == Target({"": opset, "ai.onnx.ml": ml})
    fixed = Target({"": 15})
    assert target_for_model(fixed, source) is fixed


def test_operators_that_are_not_wanted():
    assert target_without(["Gelu", "ai.onnx.ml.Scaler", "ai.onnx.Relu"], REGISTRY) == Target(
        {}, lowered=frozenset((("Gelu", ""), ("Scaler", "ai.onnx.ml"), ("Relu", "")))
    )
    assert refused(target_without, ["Gellu"], REGISTRY)[:2] == ("U101", "there is no operator 'Gellu'")
    assert "did you mean Gelu" in refused(target_without, ["Gellu"], REGISTRY)[2]
    assert refused(target_without, ["com.acme.A"], REGISTRY)[2].startswith("write Gelu, or an operator of another")
    assert refused(target_without, [], REGISTRY) == (
        "U103", "no operator is given", "name those that the runtime lacks")  # fmt: skip
    assert target_of_model(9) == Target({}, 9) and target_of_model() == Target({})


@pytest.mark.parametrize(
    ("texts", "message", "help"),
    [
        (("21.0",), "'21.0' is no opset version", "write 21, or a domain's as ai.onnx.ml=3"),
        (("1234567",), "'1234567' is no opset version", "write 21, or a domain's as ai.onnx.ml=3"),
        (("",), "'' is no opset version", "write 21, or a domain's as ai.onnx.ml=3"),
        (("1.15",), "'1.15' is no opset version",
         "1.15 is a release of ONNX: --release 1.15, in Python release='1.15'"),
        (("ort==1.17",), "'ort==1.17' is no opset version", "a runtime is named by --for, in Python by `runtime`"),
        (("1", "ai.onnx=2"), "ai.onnx is given two versions", "give --to once for each domain"),
        (("a=1", "a=2"), "a is given two versions", "give --to once for each domain"),
    ],
)  # fmt: skip
def test_what_is_no_version(texts, message, help):
    assert refused(parse_versions, texts) == ("U101", message, help)


def test_versions_of_a_call():
    assert parse_versions(("123456", "ai.onnx.ml=3", "a=b=4")) == {"": 123456, "ai.onnx.ml": 3, "a=b": 4}
    newest = max(each.ir for each in RELEASES)
    assert target_of_model(newest).ir_version == newest and target_of_model(1).ir_version == 1
    for wrong in (0, newest + 1):
        assert refused(target_of_model, wrong) == (
            "U101", f"there is no IR version {wrong}", f"they go from 1 to {newest}")  # fmt: skip
    for wrong in ("8", True, 8.0):
        assert refused(target_of_model, wrong)[:2] == ("U101", f"there is no IR version {wrong!r}")
    for given in {"release": 1.15}, {"runtime": 1.15}, {"runtime": ("onnxruntime", "1.17")}:
        ((name, value),) = given.items()
        assert refused(target_of, **given)[:2] == ("U101", f"the {name} {value!r} is no text")
