"""What stands in the way of a conversion, by operator and reason, in one model and in several."""

from dataclasses import replace

import pytest
from onnx import parser

import opset
from opset.model import load
from opset.opsets.registry import default_registry
from opset.opsets.runtimes.names import find_runtime, later_releases, releases_of
from opset.version_converter import convert_model, target_of
from opset.version_converter.blockers import Blocker, BlockerSums, blockers_report, with_releases
from tests.version_converter.npu import ANY, runtime_file, takes

TEXT = """<ir_version: 9, opset_import: ["": 20]>
m (string[N] a, string[N] b, float[2,2] x) => (string[N] c, string[N] d, float e, float[2,2] y) {{
    c = StringConcat (a, b)
    d = StringConcat (b, a)
    e = Det (x)
    g = {0} (x)
    y = Relu (g)
}}"""


def rows_of(reports):
    sums = BlockerSums()
    for each in reports:
        sums.add(each.blockers)
    return sums.rows()


def report_of(target, operator="Gelu"):
    conversion = convert_model(load(parser.parse_model(TEXT.format(operator))), target, default_registry())
    return blockers_report(conversion)


def test_nodes_are_grouped_by_operator_and_reason():
    report = report_of(target_of(17))
    (concat,) = report.blockers
    assert concat[:5] == ("ai.onnx", "StringConcat", 20, 2, "C201")
    assert (concat.why, concat.help) == ("StringConcat came with version 20", "convert to 20 or newer")
    assert "(StringConcat)" in concat.place
    assert [(each.operator, each.after, bool(each.places)) for each in report.rewritten] == [("Gelu", 0, True)]
    conversion = convert_model(load(parser.parse_model(TEXT.format("Gelu"))), target_of(17), default_registry())
    (gelu,) = blockers_report(conversion, places=False).rewritten
    assert (gelu.operator, gelu.places, gelu.example) == ("Gelu", (), None)
    assert report.nodes[:2] == (5, 1) and report.nodes.refused == 2


def test_nothing_stands_in_the_way():
    report = report_of(target_of(21))
    assert report.blockers == [] and report.rewritten == []


def test_what_is_no_node_blocks_too():
    report = report_of(target_of(21))
    text = TEXT.format("Relu").replace('"": 20', '"": 9999')
    conversion = convert_model(load(parser.parse_model(text)), target_of(21), default_registry())
    (blocker, *_) = blockers_report(conversion).blockers
    assert blocker[:7] == ("", "", 0, 0, "C104", "ai.onnx 9999 is newer than what opset knows",
                           f"the newest version with schemas is {default_registry().domains['']}")  # fmt: skip
    assert (blocker.place, blocker.help) == ("graph 'm', opset_import", conversion.refusals[0].help)
    assert report.opsets[0].after == 21


def test_a_later_release_that_has_the_kernel_is_named(tmp_path):
    rows = [{"release": each, "opset": [7, 20], "how": "documented"} for each in ("1.0", "2.0", "3.0")]
    operators = takes("Erf", "Tanh", "StringConcat") | {"Det": [{"versions": [1, None], "since": "3.0"}]}
    operators["StringConcat"] = [{"versions": [1, None], "since": "2.0"}]
    file = runtime_file(tmp_path, operators, releases=rows)
    target = target_of(runtime="npu==1.0", targets=[file])
    report = with_releases(report_of(target), target, later_releases(target.runtime))
    helps = {each.operator: each.help for each in report.blockers}
    assert helps["StringConcat"] == "npu 2.0 has a kernel of StringConcat 20"
    assert "Det" not in helps or helps["Det"] == "npu 3.0 has a kernel of Det 11"
    # Without a runtime, and where no later release helps, the help is that of the refusal.
    assert with_releases(report, target_of(17), ()) is report
    last = target_of(runtime="npu==3.0", targets=[file])
    assert later_releases(last.runtime) == []


def test_kernels_listed_by_opset_count_at_the_opset_that_the_operator_needs(tmp_path):
    """The model stays at opset 20 as long as StringConcat prevents 17: a release that takes that is of use."""
    rows = [
        {"release": f"{number}.0", "opset": [7, opset], "how": "documented"} for number, opset in ((1, 17), (2, 21))
    ]
    operators = {"Relu": [{"opsets": [7, 21]}], "StringConcat": [{"opsets": [18, 21]}]}
    file = runtime_file(tmp_path, operators, match="opset", releases=rows)
    target = target_of(runtime="npu==1.0", targets=[file])
    report = with_releases(report_of(target, "Relu"), target, later_releases(target.runtime))
    helps = {each.operator: each.help for each in report.blockers}
    assert helps["StringConcat"] == "npu 2.0 has a kernel of StringConcat 20"


def test_later_releases_have_their_own_kernels():
    later = later_releases(find_runtime("onnxruntime==1.16"))
    assert [each.release for each in later][:2] == ["1.17", "1.18"]
    assert later[0].kernels("StringConcat") and not find_runtime("onnxruntime==1.16").kernels("StringConcat")
    cuda = later_releases(find_runtime("onnxruntime==1.17:cuda"))[0]
    assert cuda.fallback.name == "onnxruntime-cpu"


def test_blockers_of_several_models_are_summed(tmp_path):
    target = target_of(17)
    reports = [report_of(target), report_of(target, "Relu"), report_of(target_of(21))]
    (total,) = rows_of(reports)
    why, help = "StringConcat came with version 20", "convert to 20 or newer"
    assert total == ("ai.onnx", "StringConcat", 4, 2, "C201", why, help)
    sums = BlockerSums()
    assert (sums.models, sums.rows()) == (0, [])
    first, other = (Blocker("d", "F", 1, 3, code, "", "a", "b", "place") for code in ("C201", "C202"))
    for blockers in ([first, first._replace(version=2)], [], [other, first._replace(nodes=1, help="c")]):
        sums.add(blockers)
    sums.add([first._replace(why="another", nodes=2)])
    assert sums.models == 4
    assert sums.rows() == [
        ("d", "F", 7, 2, "C201", "a", "b"), ("d", "F", 3, 1, "C202", "a", "b"),
        ("d", "F", 2, 1, "C201", "another", "b"),
    ]  # fmt: skip
    file = runtime_file(tmp_path, {"Relu": ANY}, opset=(7, 20))
    npu = target_of(runtime="npu==1.0", targets=[file])
    totals = rows_of([report_of(npu), report_of(npu, "Relu")])
    assert [(each.operator, each.nodes, each.models) for each in totals] == [
        ("StringConcat", 4, 2),
        ("Det", 2, 2),
        ("Gelu", 1, 1),
    ]


def test_quoted_names_do_not_part_a_group(tmp_path):
    text = """<ir_version: 8, opset_import: ["": 17]>
    m (float[N] a, float[N] b) => (float[N] c, float[N] d) { c = Selu (a) d = Selu (b) }"""
    file = runtime_file(tmp_path, {"Selu": [{"versions": [1, None], "static_shape": True}]})
    model = load(parser.parse_model(text))
    conversion = convert_model(model, target_of(runtime="npu==1.0", targets=[file]), default_registry())
    (blocker,) = blockers_report(conversion).blockers
    assert blocker.nodes == 2 and "the sizes of 'a' have to be numbers" in blocker.why
    assert opset.plan(parser.parse_model(text), runtime="npu==1.0", targets=[file]).refused == 2


@pytest.mark.parametrize(
    ("op_type", "rows", "expected"),
    [
        ("Scaler", [{"ml": 1}], ""),  # kernels are listed, but the newest opset that it takes is older
        ("TreeEnsemble", [{"ml": 4}], ""),
        ("TreeEnsemble", [{"ml": 4}, {"ml": 5}], "npu 2.0 has a kernel of TreeEnsemble 5"),
        ("TreeEnsemble", [{}], "npu 1.0 has a kernel of TreeEnsemble 5"),  # it is not known which opset it takes
        ("TreeEnsembleRegressor", [{"ml": 4}], "npu 1.0 has a kernel of TreeEnsembleRegressor 3"),
        ("TreeEnsembleRegressor", [{"ml": 3}], "npu 1.0 has a kernel of TreeEnsembleRegressor 3"),
        ("TreeEnsembleRegressor", [{"ml": 2}, {"ml": 2}, {"ml": 3}],
         "npu 3.0 has a kernel of TreeEnsembleRegressor 3"),
    ],
)  # fmt: skip
def test_a_release_has_a_kernel_where_it_takes_the_version(tmp_path, op_type, rows, expected):
    version = {"Scaler": 1, "TreeEnsemble": 5, "TreeEnsembleRegressor": 3}[op_type]
    releases = [
        {"release": f"{number}.0", "opset": [7, 21], "how": "documented"} | row for number, row in enumerate(rows, 1)
    ]
    operators = {"ai.onnx": takes(), "ai.onnx.ml": {op_type: ANY} if op_type != "Scaler" else {"Normalizer": ANY}}
    later = releases_of("npu", [runtime_file(tmp_path, operators, releases=releases)])
    file = runtime_file(tmp_path, {"Relu": ANY}, releases=[releases[0] | {"release": "0.5"}])
    target = target_of(runtime="npu==0.5", targets=[file])
    blocker = Blocker("ai.onnx.ml", op_type, version, 1, "C209", "no kernel", "so", "as it was", "graph")
    report = replace(report_of(target_of(21)), blockers=[blocker])
    (found,) = with_releases(report, target, later).blockers
    assert found == blocker._replace(help=expected or "as it was")
    others = [blocker._replace(**each) for each in ({"code": "C204"}, {"operator": ""}, {"operator": "Nothing"})]
    others.append(blocker._replace(domain="ai.onnx", operator="Relu", version=6))  # which the runtime has
    assert [*with_releases(replace(report, blockers=others), target, [*later, target.runtime]).blockers] == others
