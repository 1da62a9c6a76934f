"""The pages of runtimes: what releases take, grouped by neighbors, and what a conversion does with the rest."""

import re
from functools import cache
from types import SimpleNamespace

import pytest

import opset
from opset.docgen.convertibility import Convertibility
from opset.docgen.runtime_facts import (
    FALLBACK,
    REFUSED,
    REWRITTEN,
    Fates,
    Taken,
    _allowed_elements,
    _join_all,
    _limit_of_opsets,
    _overlaps,
    _types_and_limits,
    facts_of_runtimes,
    releases_text,
    runtimes_with,
    types_text,
)
from opset.docgen.runtime_pages import anchor_of
from opset.docgen.site import pages
from opset.errors import ConversionError
from opset.opsets.registry import default_registry, registry_with
from opset.opsets.runtimes import find_runtime
from opset.opsets.runtimes.model import make_kernel
from opset.opsets.runtimes.names import runtime_names
from opset.opsets.runtimes.wording import limits_text
from tests.docgen.domains import operator, write

REGISTRY = default_registry()


@cache
def facts():
    return facts_of_runtimes(REGISTRY)


@cache
def fates():
    return Fates(facts(), Convertibility(REGISTRY), REGISTRY)


def fate(name, release, op_type):
    """What a conversion for a release does with an operator, "" if it has a kernel."""
    number = facts()[name].releases.index(release)
    for each, groups in fates().runs_by_fate(name).items():
        for runs, keys in groups.items():
            if ("", op_type) in keys and any(first <= number <= last for first, last in runs):
                return each
    return ""


def model(text):
    return opset.parse_model(f'<ir_version: 8, opset_import: ["": 17]>\n{text}')


def test_every_runtime_has_a_page_which_the_index_and_the_menu_lead_to(site):
    index = site["runtimes/index.html"].decode()
    for name in runtime_names():
        assert f"runtimes/{name}.html" in site and f'href="{name}.html"' in index
    assert b'href="../runtimes/index.html">Runtimes</a>' in site["ai.onnx/Abs.html"]


def test_an_operator_leads_to_the_runtimes_that_have_it(site):
    page = site["ai.onnx/Gelu.html"].decode().partition('id="runtimes"')[2].partition("</section>")[0]
    found = re.findall(r'<a href="../runtimes/([\w-]+)\.html#op-Gelu">[^<]*</a> <span class="note">([^<]*)<', page)
    assert found == [*runtimes_with(facts(), ("", "Gelu"))]
    assert ("tensorrt", "since 10.0") in found and ("onnxruntime-cpu", "since 1.18") in found
    page = site["ai.onnx.ml/TreeEnsemble.html"].decode()
    assert "onnxruntime-cpu.html#op-ai.onnx.ml.TreeEnsemble" in page and "tensorrt.html#" not in page


@pytest.mark.parametrize(
    "spec", ["tensorrt==8.6", "onnxruntime-cpu==1.17", "onnxruntime-cuda==1.24", "onnxruntime-web-webgl==1.20",
             "openvino==2026.4", "onnx-mlir==0.5", "triton==23.10", "onnxruntime-mobile==1.18", "migraphx==7.2"],
)  # fmt: skip
def test_a_page_lists_the_operators_that_the_tables_have(spec):
    runtime = find_runtime(spec)
    of_runtime = facts()[runtime.name]
    number = of_runtime.releases.index(runtime.release)
    for domain in runtime.domains():
        listed = {key[1] for key in of_runtime.operators if key[0] == domain and of_runtime.takes(key, number)}
        assert listed <= {*runtime.operators(domain)}
        # The others serve versions that the release's opsets do not reach.
        assert len(listed) >= 0.9 * len(runtime.operators(domain))


def test_an_operator_that_no_release_reaches_is_not_listed():
    of_runtime = facts()["migraphx"]
    assert "Attention" in of_runtime.table.operators("") and ("", "Attention") not in of_runtime.operators
    assert ("", "Abs") in of_runtime.operators and all(map(of_runtime.runs_of, of_runtime.operators))


def test_versions_and_releases_with_equal_facts_share_a_row():
    tensorrt, cpu = facts()["tensorrt"], facts()["onnxruntime-cpu"]
    rows = [
        (releases_text([row.run], tensorrt.releases), [types_text(each) for each in row.taken])
        for row in tensorrt.rows_of(("", "Abs"))
    ]
    assert rows[-1] == ("5.1 to 7.2", ["any"]) and rows[0][0] == "since 10.0"
    assert "8.0 to 8.6" in [released for released, _ in rows]
    rows = [(row.versions, releases_text([row.run], cpu.releases)) for row in cpu.rows_of(("", "Cast"))]
    assert rows[:2] == [((6, 9, 13), "all"), ((19,), "since 1.16")]


def test_types_that_the_version_does_not_have_are_left_out():
    (row, *_) = [row for row in facts()["onnxruntime-cpu"].rows_of(("", "Cast")) if 13 in row.versions]
    assert [types_text(each) for each in row.taken] == ["any"]


def test_types_are_allowed_for_a_type_variable_or_an_input_of_that_name():
    versions = REGISTRY.schema("Pad", 2), REGISTRY.schema("Pad", 18)
    floats, more = ("float16", "float", "double"), ("int8", "string")
    assert _allowed_elements(versions[:1], "T") == _allowed_elements(versions[:1], "") == {*floats}
    assert {*floats, *more} < _allowed_elements(versions, "data") == _allowed_elements(versions[1:], "T")
    assert [_allowed_elements(versions, name) for name in ("pads", "axes", "no")] == [
        {"int64"},
        {"int32", "int64"},
        None,
    ]


@pytest.mark.parametrize(
    ("types", "types_not", "taken", "excluded"),
    [
        ({"T": ["float", "double"]}, [], {"T": "float double"}, ""),
        ({"T": ["float", "double", "int8"]}, [], {"T": "float double"}, ""),
        ({"T": ["float", "double", "float16", "int8"]}, [], {}, ""),
        ({"T": ["int8", "bool"]}, [], {"T": "int8 bool"}, ""),  # which a cast reaches
        ({"no": ["float"], "": ["float"]}, [], {"no": "float", "": "float"}, ""),
        ({}, ["double", "int8"], {}, "double"),
    ],
)
def test_types_of_a_kernel_are_those_that_a_version_has_unless_it_has_none_of_them(types, types_not, taken, excluded):
    kernel, pad = make_kernel({"types": types, "types_not": types_not, "input_rank": [4]}), REGISTRY.schema("Pad", 2)
    floats = frozenset(("float16", "float", "double"))
    allowed = {"T": floats, "": floats, "no": None}
    found = _types_and_limits(kernel, (pad,), allowed, "opsets 7 to 9")
    assert found == Taken(
        tuple((name, frozenset(taken[name].split())) for name in sorted(taken)),
        tuple((name, allowed[name] or frozenset()) for name in sorted(taken)),
        frozenset(excluded.split()),
        f"opsets 7 to 9; {limits_text(kernel)}",
    )
    assert _types_and_limits(kernel, (), allowed, "").types_not == {*types_not}


def test_a_kernel_counts_if_it_has_a_type_that_a_version_allows_or_that_a_cast_reaches():
    runtime = SimpleNamespace(cast_of={"int64": "int32", "float": "float", "bool": "bool"}.get)
    kernel = frozenset(("int32", "float"))
    given = (None, {"float", "bool"}, {"int64", "bool"}, {"bool"})
    assert [_overlaps(kernel, each, runtime) for each in given] == [True, True, True, False]


@pytest.mark.parametrize(
    ("runs", "text"),
    [
        ([(0, 3)], "all"), ([(1, 3)], "since 2"), ([(0, 1)], "1 to 2"), ([(1, 1)], "2"), ([(3, 3)], "since 4"),
        ([(0, 0), (2, 3)], "1, since 3"),
    ],
)  # fmt: skip
def test_releases_as_text(runs, text):
    assert releases_text(runs, ["1", "2", "3", "4"]) == text


def taken(limits="", **types):
    allowed = frozenset(("float", "double", "int8"))
    named = tuple((name, frozenset(elements.split())) for name, elements in types.items())
    return Taken(named, tuple((name, allowed) for name in types), frozenset(), limits)


def test_kernels_are_joined_where_that_says_the_same():
    assert _join_all([taken(T="float"), taken(T="double")]) == [taken(T="float double")]
    assert _join_all([taken(T="float"), taken(T="double int8")]) == [taken()]
    assert _join_all([taken(T="float"), taken()]) == [taken()]
    apart = [taken(T="float", U="int8"), taken(T="double", U="float")]
    assert _join_all(apart) == apart
    limited = [taken(T="float"), taken("rank 4", T="double")]
    assert _join_all(limited) == limited


TEN = frozenset("float double float16 bfloat16 int8 int16 int32 int64 uint8 uint16".split())


@pytest.mark.parametrize(
    ("types", "excluded", "text"),
    [
        ({}, (), "any"),
        ({"": "float double"}, (), "float, double"),
        ({"T": "int64 float"}, (), "T: float, int64"),
        ({"": "float", "I": "int64"}, (), "data inputs: float; I: int64"),
        ({}, ("string", "bool"), "not string, bool"),
        ({"T": "float"}, ("bool",), "T: float; not bool"),
        ({"T": " ".join(TEN - {"int8"})}, (), "T: all but int8"),
        ({"T": " ".join(TEN - {"int8", "float16"})}, (),
         "T: float, uint8, uint16, int16, int32, int64, double, bfloat16"),
        ({"T": " ".join(TEN)}, (), "T: float, uint8, int8, uint16, int16, int32, int64, float16, double, bfloat16"),
    ],
)  # fmt: skip
def test_types_of_a_kernel_as_text(types, excluded, text):
    named = tuple((name, frozenset(elements.split())) for name, elements in types.items())
    assert types_text(Taken(named, tuple((name, TEN) for name in types), frozenset(excluded), "")) == text


@pytest.mark.parametrize(
    ("lacking", "are_named"), [("int8 int16 int32 int64", True), ("int8 int16 int32 int64 bool", False)]
)
def test_types_that_lack_are_named_if_they_are_few(lacking, are_named):
    every = TEN | {"uint32", "uint64", "bool", "string"}
    text = types_text(Taken((("T", every - {*lacking.split()}),), (("T", every),), frozenset(), ""))
    assert text.startswith("T: all but int8, ") == are_named


def test_many_kernels_are_joined_in_any_order():
    kernels = [
        *(taken(T=each, U=other) for each in ("float", "double") for other in ("float", "int8")),
        *(taken("rank 4", T=each) for each in ("float", "int8")),
        taken("rank 5", T="int8"),
    ]
    joined = {taken(T="float double", U="float int8"), taken("rank 4", T="float int8"), taken("rank 5", T="int8")}
    for start in range(len(kernels)):
        assert {*_join_all([*kernels[start:], *kernels[:start]])} == joined
        assert {*_join_all([*kernels[start:], *kernels[:start]][::-1])} == joined
    assert _join_all([]) == []


@pytest.mark.parametrize(
    ("opsets", "limit"),
    [
        ((7, 12), ""), ((1, 99), ""), ((8, 12), "opsets 8 to 12"), ((7, 11), "opsets 7 to 11"),
        ((12, 12), "opsets 12 to 12"), ((7, 7), "opsets 7 to 7"), ((13, 20), None), ((1, 6), None),
    ],
)  # fmt: skip
def test_a_kernel_is_limited_to_its_opsets_if_others_are_in_force(opsets, limit):
    relu = REGISTRY.versions("Relu")[0]
    kernel, runtime = SimpleNamespace(opsets=opsets), SimpleNamespace(opsets={"": (7, 12)})
    for span in ((6, 12), (7, 12), (6, 99)):
        assert _limit_of_opsets(kernel, runtime, (relu,), span) == limit
    assert _limit_of_opsets(kernel, runtime, (), (6, 12)) == ""
    assert _limit_of_opsets(kernel, runtime, (relu,), (1, 6)) is None
    assert _limit_of_opsets(kernel, runtime, (relu,), (13, 20)) is None


def test_fates_of_operators_without_kernels():
    assert fate("tensorrt", "8.6", "Attention") == fate("tensorrt", "8.5", "LayerNormalization") == REWRITTEN
    assert fate("tensorrt", "8.6", "StringNormalizer") == REFUSED
    assert fate("tensorrt", "8.6", "LayerNormalization") == fate("tensorrt", "8.6", "Constant") == ""
    assert fate("onnxruntime-cuda", "1.17", "Tan") == FALLBACK
    # By its newest opset, ReduceL1 is made of operators that it does not have.
    assert fate("onnxruntime-mobile", "1.8", "ReduceL1") == REFUSED
    assert fates().runs_by_fate("tract") == {REWRITTEN: {}, FALLBACK: {}, REFUSED: {}}


def test_operators_that_are_withdrawn_or_not_of_the_standard_have_no_fate():
    keys = {key for groups in fates().runs_by_fate("tensorrt").values() for listed in groups.values() for key in listed}
    assert ("", "Hardmax") in keys and ("ai.onnx.ml", "Scaler") in keys
    assert not keys & {("", "Upsample"), ("", "Scatter"), ("", "Affine")}


def test_conversions_do_what_the_pages_say():
    trilu = model("a (float[3, 3] x) => (float[3, 3] y) { y = Trilu (x) }")
    assert fate("tensorrt", "8.4", "Trilu") == REWRITTEN and fate("tensorrt", "8.5", "Trilu") == ""
    written = [node.op_type for node in opset.convert(trilu, runtime="tensorrt==8.4").graph.node]
    assert "Trilu" not in written and "Where" in written
    hardmax = model("a (float[3, 3] x) => (float[3, 3] y) { y = Hardmax (x) }")
    assert fate("tensorrt", "8.6", "Hardmax") == REFUSED
    with pytest.raises(ConversionError):
        opset.convert(hardmax, runtime="tensorrt==8.6")


def test_operators_have_anchors_on_the_pages(site):
    for name, each in facts().items():
        found = re.findall(r'<tbody id="([^"]+)">', site[f"runtimes/{name}.html"].decode())
        assert found == [anchor_of(key) for key in each.operators]


def test_a_site_without_the_operators_of_onnx_has_no_pages_of_runtimes(tmp_path):
    registry = registry_with([write(tmp_path, "com.acme", operator())])
    made = dict(pages(registry, ["com.acme"]))
    assert not [path for path in made if path.startswith("runtimes/")] and b"runtimes/" not in made["index.html"]


def test_the_search_knows_titles_alone(site):
    index = site["assets/index.js"].decode()
    assert '["TensorRT","runtimes/tensorrt.html","runtime",""]' in index
