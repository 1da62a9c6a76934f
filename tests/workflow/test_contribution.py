"""The checklist of a contribution: each point on the worked domain, passed, and missing after an edit, by line.

python -m tests.workflow.test_contribution      # writes checklists.txt; read the difference
"""

import json
import re
import shutil
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from opset.errors import Finding, RunError, UsageError
from opset.opsets.registry import default_registry, registry_with
from opset.opsets.releases import RELEASES
from opset.schemas.example import Example, ExampleValue
from opset.schemas.model import Parameter
from opset.workflow.contribution.checklist import (
    STATES,
    ReviewedVersion,
    _escape_text,
    checklist,
    checks,
    markdown_lines,
)
from opset.workflow.contribution.checks import (
    check_attributes,
    check_computed_examples,
    check_rank,
    check_version_number,
)
from opset.workflow.contribution.reviewed_version import MISSING, NOT_APPLICABLE, OPEN, PASSED
from opset.workflow.examples.runner import InferenceGap
from tests.cli.commands import run, run_json
from tests.test_docs import ROOT

EXAMPLES = ROOT / "examples"
MIX = """operator: Mix
family: signals
versions:
- since: 1
  doc: Adds `B` to `A`.
  inputs: [{name: A, type: T, doc: values}, {name: B, type: T, doc: values}, {name: n, type: tensor(int64), optional: true, doc: it}]
  outputs: [{name: Y, type: T, doc: sums}]
  attributes: {axis: {type: int, default: 0, kind: axis, doc: it}, mode: {type: string, default: a, choices: [a, b], doc: it}}
  types: {T: [float]}
  shape: broadcast(A, B)
special_cases: [NaN stays NaN.]
examples:
- {name: plain, since: 1, inputs: [{float: [1]}, {float: [2]}], outputs: [{float: [3]}]}
"""  # noqa: E501
THIN, SOFTCAP, KERNELS = "Thin.yaml", "Softcap.yaml", "kernels.py"
INFERENCE, ADAPTERS, LOCK = "inference.py", "adapters.py", "../lock.json"


def example(name):
    """What an example is in an operator's file."""
    return rf"- \{{name: {name},.*?(?=\n- |\Z)"


WITHDRAWN = r"""versions:
- since: 3
  deprecated: true
  replacement: REPLACEMENT
  change: {deprecated: true, meaning: It is withdrawn., adapters: {up: "impossible: no", down: derived}}
  doc: It was replaced.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: results}]
  types: {T: acme_floats}
  attributes:
    cap: {type: float, required: true, range: "> 0", constraint: C1, doc: the bound}
    scale: {type: float, default: 1.0, doc: a factor}
"""
MIXED = """U, optional: true, doc: it}]
  outputs: [{name: Y, type: T, doc: sums}]
  types: {T: [float], U: [int64, float]}
"""
# Point, operator, file, what is replaced (a pattern) by what; then the state, the line in its YAML, and a part of why.
EDITS = [
    ("function", "Softcap", SOFTCAP, r"  function:.*?(?=- since: 1)", "", OPEN, "4", "no function body"),
    ("model", "Thin", THIN, "", "", OPEN, "4", "which model"),
    ("framework", "Thin", THIN, "", "", OPEN, "14", "counterparts in torch"),
    ("numpy", "Thin", THIN, r"    numpy: .*?\n", "", OPEN, "14", "no counterpart in numpy"),
    ("general", "Thin", THIN, "", "", OPEN, "4", "no machine"),
    ("doc", "Thin", THIN, r"doc: values of rank 1 at least", 'doc: ""', MISSING, "17", "X of Thin 2 has no doc"),
    ("doc", "Thin", THIN, r"doc: Keeps every.*?\n", 'doc: ""\n', MISSING, "10", "nothing about itself"),
    ("doc", "Thin", THIN, r"special_cases:.*?(?=examples:)", "", MISSING, "1", "no special cases"),
    ("page", "Softcap", SOFTCAP, r"examples:.*", "", MISSING, "1", "no example"),
    ("counterparts", "Thin", THIN, r"  counterparts:\n(    [^\n]*\n)*", "", OPEN, "4", "no counterparts"),
    ("formula", "Softcap", SOFTCAP, r"  formula: .*?\n.*?\n|  function:.*?(?=- since: 1)", "", OPEN, "10",
     "neither a formula"),
    ("kernel", "Softcap", KERNELS, r'@kernel\("Softcap".*', "", MISSING, "4", "no kernel"),
    ("computed", "Thin", THIN, r"\[0, 2, 4\]\}\]\}\n- \{name: noth", "[0, 2, 5]}]}\n- {name: noth", MISSING, "80",
     "instead of 5"),
    ("since", "Thin", LOCK, r',\s*"2": "b46c[^"]*"', "", MISSING, "4", "2 is the newest released"),
    ("change", "Thin", THIN, r"    types: \{T: \[\+float16\]\}\n", "", MISSING, "6", "what differs in types"),
    ("rules", "Thin", THIN, r"    types: \{T: \[\+float16\]\}\n", "", MISSING, "6", "S201"),
    ("constraints", "Thin", THIN, example("step_zero"), "", MISSING, "21", "breaks C2: step >= 1"),
    ("uses", "Softcap", SOFTCAP, example("scaled"), "", MISSING, "26", "no example sets scale"),
    ("empty", "Softcap", SOFTCAP, example("empty"), "", MISSING, "74", "no example has an empty tensor"),
    ("scalar", "Softcap", SOFTCAP, example("scalar"), "", MISSING, "74", "a scalar as X"),
    ("scalar", "Thin", THIN, example("scalar"), "", NOT_APPLICABLE, "17", "C1: rank(X) >= 1"),
    ("scalar", "Mix", "Mix.yaml", r"T: \[float\].*", "T: [seq(float)]}\n", MISSING, "1", "a scalar as n"),
    ("scalar", "Mix", "Mix.yaml", r"T: \[float\].*", "T: [seq(float), float]}\n", MISSING, "1", "a scalar as A"),
    ("scalar", "Mix", "Mix.yaml", r", \{name: n,.*", "]\n  outputs: [{name: Y, type: T}]\n  types: {T: [seq(float)]}\n",
     NOT_APPLICABLE, "6", "is a tensor"),
    ("not_numbers", "Thin", THIN, example("not_numbers"), "", MISSING, "70", "NaN or an infinity"),
    ("attributes", "Mix", THIN, "", "", OPEN, "6", "the input n holds integers"),
    ("attributes", "Mix", "Mix.yaml", r"tensor\(int64\),.*", MIXED, PASSED, "6", "no further input"),
    ("uses", "Mix", THIN, "", "", MISSING, "8", "no example has the choice 'b' of mode"),
    ("uses", "Mix", THIN, "", "", MISSING, "6", "no example gives the optional input n"),
    ("negative_axis", "Mix", THIN, "", "", MISSING, "12", "a negative axis"),
    ("negative_axis", "Mix", "Mix.yaml", "name: n,", "name: axes,", MISSING, "12", "a negative element of axes"),
    ("broadcast", "Mix", THIN, "", "", MISSING, "12", "inputs of different shapes"),
    ("adapters", "Thin", ADAPTERS, r"@down.*", "", MISSING, "9", "down: written, and there is none"),
    ("upgrade", "Thin", ADAPTERS, r"\+ 1\)", "+ 2)", MISSING, "71", "1 -> 2: every_second computes something else"),
    ("upgrade", "Thin", ADAPTERS, r"op.copy\(node, skip.*\n\n\n", "op.Shape(node.input(0))\n\n\n", MISSING, "71",
     "1 -> 2: an adapter fails on every_second: the adapter of Thin returns"),
    ("upgrade", "Thin", ADAPTERS, r"\+ 1\)", "/ 0)", MISSING, "71", "1 -> 2: an adapter fails on every_second"),
    ("downgrade", "Thin", ADAPTERS, r"- 1\)", "+ 1)", MISSING, "74", "2 -> 1: all computes something"),
    ("downgrade", "Thin", ADAPTERS, r'if node.attr\("start"\)', "if True", MISSING, "70", "no example is converted"),
    ("test_data", "Softcap", SOFTCAP, r"examples:.*", "", MISSING, "1", "no example holds"),
    ("inference", "Thin", INFERENCE, r"@infer.*", "", MISSING, "4", "nothing says how"),
    ("inferred", "Thin", INFERENCE, r"maximum\(0, ceil", "maximum(1, ceil", MISSING, "81", "no_elements"),
    ("rank", "Thin", INFERENCE, r"    return \(\*others, maximum.*", "    return None\n", OPEN, "74", "rank"),
    ("replacement", "Softcap", SOFTCAP, "versions:\n", WITHDRAWN, MISSING, "6", "no operator REPLACEMENT"),
    ("replacement_named", "Softcap", SOFTCAP, "versions:\n", WITHDRAWN, MISSING, "8", "does not name"),
    ("announced", "Softcap", SOFTCAP, "versions:\n", WITHDRAWN, OPEN, "5", "release notes"),
]  # fmt: skip


def copied(folder):
    """A copy of the worked domain, with an operator that lacks much."""
    for name in ("types.yaml", "lock.json"):
        shutil.copy(EXAMPLES / name, folder)
    shutil.copytree(EXAMPLES / "com.acme", folder / "com.acme", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "com.acme" / "Mix.yaml").write_text(MIX)
    return folder


@pytest.fixture
def folder(tmp_path):
    return copied(tmp_path)


def candidate(folder, name):
    registry = registry_with([folder])
    return ReviewedVersion(registry, registry.versions(name, "com.acme")[-1])


def found(candidate, name):
    """What is found for one point, without the others."""
    check = next(each for each in checks() if each.code == name)
    return [*check.check(candidate)]


def edited(folder, edit):
    """What is found for the point of an edit."""
    point, operator, file, pattern, text, *_ = edit
    path = (folder / "com.acme" / file).resolve()
    if pattern:
        before = path.read_text()
        path.write_text(re.sub(pattern, lambda match: text, before, flags=re.DOTALL))
        assert path.read_text() != before
    return found(candidate(folder, operator), point)


CHECKLISTS = Path(__file__).with_name("checklists.txt")


def lines(folder, point, items):
    """What is found for a point as checklists.txt has it."""
    for each in items:
        yield f"  {point}: {each.state}: {each.why}"
        yield f"    at {each.place}"
        yield from [f"    help: {each.help}"] * bool(each.help)


def section(folder, title, points):
    """A part of checklists.txt; the length of a page is left out, as it changes with every form of documentation."""
    text = "\n".join([title, *(line for name, items in points for line in lines(folder, name, items))])
    return re.sub(r"\d+ lines", "… lines", text.replace(f"{folder.resolve()}/", "").replace(f"{folder}/", ""))


def title_of(edit):
    return f"{edit[0]} of {edit[1]} after {edit[3]!r} -> {edit[4].partition(chr(10))[0]!r} in {edit[2]}"


def whole(folder):
    """All points of every version of the domain."""
    registry = registry_with([folder])
    for name in sorted(registry.operators("com.acme")):
        for schema in registry.versions(name, "com.acme"):
            points = checklist(ReviewedVersion(registry, schema))
            yield section(folder, f"{name} {schema.since_version}", [(each.name, each.evidence) for each in points])


def known():
    return CHECKLISTS.read_text().rstrip("\n").split("\n\n")


def test_all_that_is_found_of_every_version(folder):
    assert [*whole(folder)] == known()[:5]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: f"{edit[0]}-{edit[1]}")
def test_what_is_missing_is_found_with_its_line(edit, folder):
    point, operator, _, _, _, state, place, why = edit
    every = edited(folder, edit)
    assert section(folder, title_of(edit), [(point, every)]) in known()
    items = [each for each in every if each.state == state]
    assert items, every
    places = [each.place.removeprefix(f"{folder}/com.acme/{operator}.yaml:").partition(":")[0] for each in items]
    assert place in places, items
    assert any(why in each.why for each in items), items
    assert all(each.help for each in items if state == MISSING), items


def test_what_is_there_is_passed_with_its_line():
    registry = registry_with([EXAMPLES])
    points = checklist(ReviewedVersion(registry, registry.versions("Thin", "com.acme")[-1]))
    states = {point.name: point.state for point in points}
    assert {name for name, state in states.items() if state == "to state"} == {"model", "framework", "general"}
    assert {name for name, state in states.items() if state == "not applicable"} == {
        *("negative_axis", "broadcast", "replacement", "replacement_named", "announced"),
    }
    assert sorted({*states.values()}) == ["not applicable", "passed", "to state"]
    places = {point.name: [each.place.rpartition("/com.acme/")[2] for each in point.evidence] for point in points}
    assert places["kernel"] == ["kernels.py:11"] and places["inference"] == ["inference.py:10"]
    assert places["adapters"] == ["adapters.py:4", "adapters.py:9"]
    assert places["function"] == ["Thin.yaml:28:3"] and places["formula"] == ["Thin.yaml:11:12"]
    assert places["constraints"] == ["Thin.yaml:82:3", "Thin.yaml:84:3", "Thin.yaml:85:3"]
    whys = {point.name: point.evidence[0].why for point in points}
    assert whys["upgrade"] == "1 -> 2: 4 examples computed alike"
    assert whys["downgrade"] == "2 -> 1: 3 examples computed alike; 1 refused (C202); 2 refused (C204)"
    assert whys["all_types"] == "3 types in examples, 0 with examples cast to them"
    assert whys["test_data"] == "cases of opset testgen: 3 invalid, 6 node"


def test_every_point_is_missed_by_an_edit_or_cannot_be():
    names = {each.code for each in checks()}
    # A page is made of whatever can be read; a type that the kernel does not compute takes two edits, below.
    assert names - {edit[0] for edit in EDITS} == {"documentation", "all_types"}


def test_the_guide_has_every_point():
    text = (ROOT / "docs" / "contribution.md").read_text()
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert sorted(re.findall(r"`(\w+)`", " ".join(rows))) == sorted(each.code for each in checks())


@pytest.mark.parametrize(
    ("inputs", "asked"),
    [
        (["T"], []),
        (["tensor(int64)"], []),
        (["T", "tensor(int64)", "tensor(uint8)", "tensor(bool)", "tensor(string)"], ["i1", "i2", "i3", "i4"]),
        (["T", "tensor(float)", "seq(tensor(int64))"], []),
        (["T", "T", "I", "M"], ["i2"]),
        (["I", "I", "tensor(int8)"], ["i2"]),
    ],
)
def test_inputs_that_might_be_attributes(inputs, asked):
    types = {"T": ["tensor(int64)"], "I": ["tensor(int32)", "tensor(int64)"], "M": ["tensor(int32)", "tensor(float)"]}
    formals = tuple(Parameter(f"i{at}", each) for at, each in enumerate(inputs))
    schema = SimpleNamespace(inputs=formals, allowed_types=lambda each: types.get(each.type, [each.type]))
    version = SimpleNamespace(schema=schema, place_of=lambda *keys: ".".join(keys))
    help = "make it an attribute, or state why it has to be computed"
    expected = [
        (OPEN, f"the input {each} holds integers, flags or text alone", f"inputs.{each}", help) for each in asked
    ]
    met = [(PASSED, "no further input holds integers, flags or text alone", "inputs", "")]
    assert [*map(tuple, check_attributes(version))] == (expected or met)


def test_a_withdrawn_operator_of_the_standard_leads_to_what_replaces_it():
    registry = default_registry()
    for name, domain in (("Upsample", ""), ("Scatter", ""), ("TreeEnsembleRegressor", "ai.onnx.ml")):
        one = ReviewedVersion(registry, registry.versions(name, domain)[-1])
        items = found(one, "replacement") + found(one, "replacement_named")
        assert [each.state for each in items] == ["passed", "passed"]


def test_a_type_that_the_kernel_does_not_compute_is_missing(folder):
    refusing = "start::step] + (x.dtype == 'f2')[0]"
    for name, old, new in ((THIN, example("half"), ""), (KERNELS, r"start::step\]", refusing)):
        path = folder / "com.acme" / name
        path.write_text(re.sub(old, new, path.read_text(), flags=re.DOTALL))
    missing, passed = found(candidate(folder, "Thin"), "all_types")
    assert missing.state == "missing" and missing.place.endswith("Thin.yaml:24:8")
    assert missing.why.startswith("the kernel does not compute tensor(float16): ")
    assert passed.why == "2 types in examples, 0 with examples cast to them"


def test_sizes_that_are_not_known_are_no_missing_rank():
    gaps = [InferenceGap("Thin", 2, name, "open", known) for name, known in (("one", "float[?]"), ("two", "float"))]
    report = SimpleNamespace(gaps=gaps[:1], passed={"inference": 2})
    version = SimpleNamespace(
        examples=[Example("one", 2), Example("two", 2)],
        test_part=lambda name: report,
        example_place=lambda example: f"at {example.name}",
        place_of=lambda field: f"at {field}",
    )
    assert [(each.state, each.place) for each in check_rank(version)] == [(PASSED, "at shape")]
    report.gaps = gaps
    assert [(each.state, each.place) for each in check_rank(version)] == [(OPEN, "at two")]
    report.gaps, report.passed = [], {"inference": 0}
    assert [each.state for each in check_rank(version)] == [NOT_APPLICABLE]


def test_a_kernel_of_no_operator_is_no_fault_of_another(folder):
    path = folder / "com.acme" / KERNELS
    stub = '\n\n@kernel("Thick"SINCE, domain="com.acme")\ndef thick(x):\n    return x\n'
    path.write_text(path.read_text() + stub.replace("SINCE", ""))
    assert [each.state for each in found(candidate(folder, "Thin"), "computed")] == ["passed"]
    path.write_text(path.read_text() + stub.replace("Thick", "Thin").replace("SINCE", ", since=9"))
    missing, _ = found(candidate(folder, "Thin"), "computed")
    assert missing.why.startswith("the kernel of com.acme.Thin 9 (@kernel) is never called: ")
    finding = Finding("T111", "the kernel of com.acme.Thick 1 (@kernel) is never called", "k.py:9", "so", "remove it")
    own = finding._replace(message=finding.message.replace("Thick", "Thin"), help="")
    report = SimpleNamespace(findings=[finding, own], passed={"kernel": 0}, skipped={("Thin", "no numpy"): 2})
    version = SimpleNamespace(
        title="com.acme.Thin",
        since=1,
        test_part=lambda part: report,
        examples=[],
        examples_place="e",
        place_of=lambda *keys: "v",
    )
    assert [(each.state, each.why, each.place, each.help) for each in check_computed_examples(version)] == [
        (MISSING, f"{own.message}: so", "k.py:9", "opset test com.acme.Thin@1 shows it alone"),
        (MISSING, "no example holds for it", "e", "add one below 'examples:'"),
        (NOT_APPLICABLE, "2 examples not run: no numpy", "v", ""),
    ]


def test_an_operator_of_another_domain_may_have_the_same_name(folder):
    (folder / "com.acme" / "Abs.yaml").write_text(MIX.replace("operator: Mix", "operator: Abs"))
    one = candidate(folder, "Abs")
    assert one.folder == folder and one.operator.domain == "com.acme"
    assert one.runner.place_of_key(one.schema, "since") == f"{folder}/com.acme/Abs.yaml:4"


def test_a_kernel_that_gives_another_type_does_not_compute_it(folder):
    for name, old, new in ((THIN, example("half"), ""), (KERNELS, r"start::step\]", "start::step] * np.float32(1)")):
        path = folder / "com.acme" / name
        path.write_text(re.sub(old, new, path.read_text(), flags=re.DOTALL))
    missing, _ = found(candidate(folder, "Thin"), "all_types")
    assert missing.why == "the kernel does not compute tensor(float16): it gives tensor(float)"


WIDE = """operator: Wide
family: signals
versions:
- since: 1
  doc: Adds 1.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: sums}]
  types: {T: [float, float16, int32, uint16]}
  shape: same(X)
examples:
- {name: zero, since: 1, inputs: [{float: [0]}], outputs: [{float: [1]}]}
- {name: plain, since: 1, inputs: [{int32: [1, 2, 3]}], outputs: [{int32: [2, 3, 4]}]}
"""
WIDE_KERNEL = """

@kernel("Wide", domain="com.acme")
def wide_1(x):
    return RESULT
"""


@pytest.mark.parametrize(
    "result, missing",
    [
        ("x + x.dtype.type(1)", []),
        ("x * 0 if x.dtype == 'u2' else x + x.dtype.type(1)", ["tensor(uint16)"]),
        ("x + x.dtype.type(1 + (x.dtype == 'f2') / 64)", ["tensor(float16)"]),
        ("x + x.dtype.type(1) if x.dtype != 'u2' else np.append(x, x)", ["tensor(uint16)"]),
    ],
)
def test_values_of_types_of_no_example_are_compared(folder, result, missing):
    (folder / "com.acme" / "Wide.yaml").write_text(WIDE)
    kernels = folder / "com.acme" / KERNELS
    kernels.write_text(kernels.read_text() + WIDE_KERNEL.replace("RESULT", result))
    *items, passed = found(candidate(folder, "Wide"), "all_types")
    assert passed.why == f"2 types in examples, {2 - len(missing)} with examples cast to them"
    assert [each.state for each in items] == ["missing"] * len(missing)
    for item, type_ in zip(items, missing, strict=True):
        assert item.why.startswith(f"the kernel gives something else of {type_}: of the example")
        assert item.place.endswith("Wide.yaml:8:14")


def test_which_lines_are_those_of_a_version(folder):
    registry = registry_with([folder])
    newer, older = (ReviewedVersion(registry, registry.schema("Thin", since, "com.acme")) for since in (2, 1))
    begin, end = (int(each.place_of().split(":")[-2]) for each in (newer, older))
    for line in (begin, begin + 1, end - 1, end, end + 1):
        place = f"{folder}/com.acme/Thin.yaml:{line}:{3 if line < end else 1}"
        assert (newer.has_line(place), older.has_line(place)) == (line < end, line >= end), line
    assert not newer.has_line("Thin.yaml:1:99") and not older.has_line("Thin.yaml:1:99")


def test_a_list_goes_on_after_a_point_that_does_not_apply(folder):
    for operator in ("Mix", "Thin"):
        one = candidate(folder, operator)
        points = checklist(one)
        applicable = [point.name for point in points if point.state != NOT_APPLICABLE]
        first = next(index for index, point in enumerate(points) if point.state == NOT_APPLICABLE)
        assert any(point.name in applicable for point in points[first:])
        lines = [line for line in markdown_lines(one, points) if line.startswith("- [")]
        assert [re.search(r"\(`(\w+)`\)", line)[1] for line in lines] == applicable
        shown = run("check-contribution", f"com.acme.{operator}", "--schemas", folder).stdout
        assert [*dict.fromkeys(re.findall(r"^  (?:[a-z ]{9})  (\w+) {2,}\S", shown, re.MULTILINE))] == applicable


def test_an_example_that_is_refused_does_not_end_the_conversions(folder):
    path = folder / "com.acme" / THIN
    text = path.read_text()
    moved = re.search(example("rows"), text, re.DOTALL)[0]
    path.write_text(text.replace(moved, "").replace("examples:\n", f"examples:\n{moved}\n"))
    (item,) = found(candidate(folder, "Thin"), "downgrade")
    assert item.why == "2 -> 1: 3 examples computed alike; 1 refused (C202); 2 refused (C204)"


def points_of_mix(folder, name, *edits):
    """What is found for a point of Mix, which is edited."""
    path = folder / "com.acme" / "Mix.yaml"
    text = path.read_text()
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    path.write_text(text)
    evidence = found(candidate(folder, "Mix"), name)
    assert all(re.fullmatch(r"(.+:\d+:\d+)?", each.place) for each in evidence)
    return [(each.state, each.why) for each in evidence]


WITHOUT_FLOATS = [
    ("type: T, doc: values", "type: tensor(bool), doc: values"),
    ("{float: [1]}", "{bool: [true]}"),
    ("{float: [2]}", "{bool: [true]}"),
]
KERNEL_OF_MIX = """from opset.extend import kernel

@kernel("Mix", domain="com.acme")
def mix(a, b, n=None, *, axis, mode):
    return a + b
"""  # fmt: skip


@pytest.mark.parametrize(
    ("point", "edits", "evidence"),
    [
        ("all_types", WITHOUT_FLOATS, (NOT_APPLICABLE, "no input is of a type constraint")),
        ("not_numbers", WITHOUT_FLOATS, (NOT_APPLICABLE, "none of its inputs is of floats")),
        ("not_numbers", [], (MISSING, "no example has NaN or an infinity, which its special cases name")),
        ("not_numbers", [("NaN stays NaN.", "It is so.")],
         (OPEN, "neither an example nor a special case has NaN or infinities")),
        ("not_numbers", [("NaN stays NaN.", "It is so."), ("{float: [1]}", "{float: [-.inf]}")],
         (PASSED, "the example plain")),
    ],
)  # fmt: skip
def test_what_types_the_inputs_have(folder, point, edits, evidence):
    kernel = 'import numpy as np\nfrom opset.extend import kernel\n\n\n@kernel("Mix", domain="com.acme")\n'
    (folder / "com.acme" / "kernels.py").write_text(
        f"{kernel}def mix(a, b, n=None, *, axis, mode):\n    return a + b\n"
    )
    assert points_of_mix(folder, point, *edits) == [evidence]


def test_types_count_if_one_of_several_inputs_is_of_a_type_constraint(folder):
    kernel = 'import numpy as np\nfrom opset.extend import kernel\n\n\n@kernel("Mix", domain="com.acme")\n'
    (folder / "com.acme" / "kernels.py").write_text(
        f"{kernel}def mix(a, b, n=None, *, axis, mode):\n    return a + b\n"
    )
    shown = [(PASSED, "1 type in examples, 0 with examples cast to them")]
    assert points_of_mix(folder, "all_types") == shown
    optional = [("type: tensor(int64), optional", "type: U, optional"), ("T: [float]", "T: [float], U: [int64]")]
    unseen = "no example of U has int64, and none can be cast to it"
    assert points_of_mix(folder, "all_types", *optional) == [(OPEN, unseen), *shown]
    points_of_mix(folder, "all_types", *((after, before) for before, after in optional[::-1]))
    few = "no example of T has seq(tensor(float)), and none can be cast to it"
    assert points_of_mix(folder, "all_types", ("T: [float]", "T: [float, seq(float)]")) == [(OPEN, few), *shown]


def test_an_adapter_that_fails_is_no_refusal(folder):
    path = folder / "com.acme" / ADAPTERS
    path.write_text(path.read_text().replace('if node.attr("start"):', 'if 1 // (1 - node.attr("start")):'))
    missing = [each for each in found(candidate(folder, "Thin"), "downgrade") if each.state == MISSING]
    assert any("an adapter fails on rows" in each.why and "ZeroDivisionError" in each.why for each in missing)


@pytest.mark.parametrize(
    ("operator", "version", "why"),
    [
        ("ReduceSum", 13, "the example two_axes"),
        ("Squeeze", 11, "the example negative_axis_by_attribute"),
        ("Relu", 14, "it has no axis that may be negative"),
        ("ReduceSum", 1, "the example negative_axis_by_attribute_before"),
    ],
)
def test_an_axis_may_be_an_attribute_or_an_input(operator, version, why):
    one = ReviewedVersion(default_registry(), default_registry().schema(operator, version))
    assert [each.why for each in found(one, "negative_axis")] == [why]


def test_types_of_no_example_are_tried_by_casting_one():
    from opset.workflow.contribution.type_checks import _cast_example  # the order of imports is that of the points

    (item,) = found(ReviewedVersion(default_registry(), default_registry().schema("Softmax", 13)), "all_types")
    assert item.why == "3 types in examples, 1 with examples cast to them"
    for domain, name, title, first, cast, results in (
        ("ai.onnx.preview.training", "Momentum", "two_tensors", 2, [False, False, *[True] * 6], [True] * 4),
        ("", "Clip", "only_max", 0, [True, None, True], [True]),
        ("", "GRU", "last_state_alone", 0, [True, True, True], [None, True]),
        ("", "TopK", "largest", 0, [True, False], [True, False]),
    ):
        schema = default_registry().versions(name, domain)[-1]
        (example,) = (each for each in default_registry().examples(name, domain) if each.name == title)
        takers = range(first, len(schema.inputs)) if name in ("Momentum", "Clip") else [first]
        made = _cast_example(ReviewedVersion(default_registry(), schema), example, takers, "tensor(double)")
        assert [each and each.type == "tensor(double)" for each in made.inputs] == cast
        assert [each and each.type == "tensor(double)" for each in made.outputs] == results


@pytest.mark.parametrize(
    ("operator", "outputs", "cast", "why"),
    [
        ("TopK", [[1.0, 2.0], [0, 1]], [[1.0, 2.0], [0, 1]], ("", True)),
        (
            "TopK",
            [[1.0, 2.0], [0, 1]],
            [[1.0, 3.0], [0, 1]],
            ("element 1 of output 0 is 3, and it is 2 in tensor(float)", True),
        ),
        ("TopK", [[1.0, 2.0], [0, 1]], [[1.0, 2.0], [0, 2]], ("", False)),  # which type it has may decide the indices
        (
            "Split",
            [[1.0], [2.0], [3.0]],
            [[1.0], [2.0], [4.0]],
            ("element 0 of output 2 is 4, and it is 3 in tensor(float)", True),
        ),
        ("Split", [[1.0], [2.0], [3.0]], [[1.0], [2.0], [3.0]], ("", True)),
    ],
)
def test_outputs_of_a_cast_example_are_those_of_the_same_values(operator, outputs, cast, why):
    from opset.workflow.contribution.type_checks import _compare_with_cast

    schema = default_registry().schema(operator, 13)

    def arrays(lists, dtype):
        return [np.array(each, dtype if isinstance(each[0], float) else np.int64) for each in lists]

    def compute(schema, computed):
        assert [each and each.type for each in computed.inputs] == ["tensor(float)", "tensor(int64)", None]
        return arrays(outputs, np.float32)

    value, size = ExampleValue("tensor(float)", [1.0], (1,)), ExampleValue("tensor(int64)", [1], (1,))
    example = Example("it", 13, inputs=(value, size, None), outputs=(value,))
    other = example._replace(inputs=(value._replace(type="tensor(double)"), size, None))
    version = SimpleNamespace(schema=schema, runner=SimpleNamespace(outputs=compute))
    assert _compare_with_cast(version, example, other, arrays(cast, np.float64)) == why
    lenient = _compare_with_cast(version, example._replace(tolerance=1.0), other, arrays(cast, np.float64))
    assert lenient == ("", True)


@pytest.mark.parametrize(("operator", "indices"), [("Where", [1, 2]), ("Clip", [0, 1, 2]), ("Sum", [0])])
def test_inputs_of_other_types_and_those_left_out_stay_when_an_example_is_cast(operator, indices):
    from opset.workflow.contribution.type_checks import _try_type

    version = ReviewedVersion(default_registry(), default_registry().versions(operator)[-1])
    tried = [_try_type(version, indices, f"tensor({name})") for name in ("double", "string")]
    assert tried == [(True, "", True), (False, "", False)]


SHOWN, SAME, UNDECIDED, NOT_CAST = "an example has it", (True, "", True), (True, "", False), (False, "", False)
PLACE = "types.T"


@pytest.mark.parametrize(
    ("types", "evidence"),
    [
        ({"tensor(float)": SHOWN}, [(PASSED, "1 type in examples, 0 with examples cast to them", "types")]),
        ({"tensor(float)": SAME}, [(PASSED, "no types in examples, 1 with examples cast to them", "types")]),
        ({"tensor(int8)": UNDECIDED, "tensor(float)": SHOWN, "tensor(double)": NOT_CAST, "seq(tensor(int8))": SAME}, [
            (OPEN, "no example of T has double, seq(tensor(int8)), and none can be cast to it", PLACE),
            (OPEN, "no example of T has int8, and none that is cast to it determines its values", PLACE),
            (PASSED, "1 type in examples, 0 with examples cast to them", "types"),
        ]),
        ({"tensor(float)": (True, "so", False), "tensor(int8)": (False, "no", False)}, [
            (MISSING, "the kernel gives something else of tensor(float): so", PLACE),
            (MISSING, "the kernel does not compute tensor(int8): no", PLACE),
        ]),
        ({}, [(NOT_APPLICABLE, "no input is of a type constraint", "inputs")]),
        (None, [(NOT_APPLICABLE, "there is no kernel", "")]),
    ],
)  # fmt: skip
def test_which_types_a_kernel_computes(monkeypatch, types, evidence):
    from opset.workflow.contribution import type_checks

    monkeypatch.setattr(type_checks, "_example_of_type", lambda version, indices, type_: types[type_] == SHOWN)
    monkeypatch.setattr(type_checks, "_try_type", lambda version, indices, type_: type_checks.CastResult(*types[type_]))
    inputs = [Parameter("X", "T"), Parameter("Y", "tensor(bool)")][not types :]
    version = SimpleNamespace(
        schema=SimpleNamespace(inputs=inputs, types={"U": ("tensor(bool)",), "T": tuple(types or ())}),
        function_origin=lambda layer, kind: "" if types is None else "kernels.py:1",
        place_of=lambda *keys: ".".join(keys),
    )
    found = [(each.state, each.why, each.place) for each in type_checks.check_all_types(version)]
    assert found == evidence


@pytest.mark.parametrize(
    ("domain", "locked", "since", "state", "newest"),
    [
        ("com.acme", {}, 1, NOT_APPLICABLE, 0),
        ("com.acme", {"A": {"1": "x", "3": "y"}, "B": {"2": "z"}}, 4, PASSED, 3),
        ("com.acme", {"A": {"1": "x", "3": "y"}, "B": {"2": "z"}}, 3, MISSING, 3),
        ("com.acme", {"It": {"3": "x"}}, 3, PASSED, 0),
        ("", {"A": {"1": "x"}}, RELEASES[-1].opset + 1, PASSED, RELEASES[-1].opset),
        ("", {"A": {"1": "x"}}, 2, MISSING, RELEASES[-1].opset),
        ("", {"A": {str(RELEASES[-1].opset + 1): "x"}}, RELEASES[-1].opset + 2, PASSED, RELEASES[-1].opset + 1),
        ("ai.onnx.ml", {"A": {"1": "x"}}, RELEASES[-1].ml + 1, PASSED, RELEASES[-1].ml),
    ],
)
def test_the_number_of_a_version_follows_the_newest_release(domain, locked, since, state, newest):
    name = domain or "ai.onnx"
    version = SimpleNamespace(
        schema=SimpleNamespace(domain=domain, name="It"), lock={name: locked} if locked else {}, since=since,
        place_of=lambda key: f"It.yaml {key}", folder="here",
    )  # fmt: skip
    (found,) = check_version_number(version)
    said = f"{newest} is the newest released version of {name}"
    if newest == 0:
        said = "it is released, and locked" if locked else f"no version of {name} is released"
    assert (found.state, found.why, found.place) == (state, said, "It.yaml since")
    if state == MISSING:
        assert found.help == f"write 'since: {newest + 1}'"


@pytest.mark.parametrize(
    ("outputs", "types", "result"),
    [
        ([None, "tensor(double)"], ["tensor(double)"], (True, "", True)),
        ([None, "tensor(double)"], ["tensor(float)"], (False, "it gives tensor(float)", False)),
        (["tensor(double)"], [""], (False, "it gives ", False)),
        (["tensor(double)", None], ["tensor(float)"], (False, "it gives tensor(float)", False)),
        (["tensor(double)"], ["tensor(double)", "tensor(float)"], (True, "", True)),
        (["tensor(int64)"], ["tensor(float)"], (True, "", True)),  # other types may depend on more than the cast
    ],
)
def test_a_kernel_gives_the_types_of_a_cast_example(monkeypatch, outputs, types, result):
    from opset.workflow.contribution import type_checks

    value = ExampleValue("tensor(float)", [1.0], (1,))
    example = Example("it", 13, inputs=(value,), outputs=(value,))
    stated = tuple(each and value._replace(type=each) for each in outputs)
    given = [
        np.zeros(1, each[7:-1].replace("float", "float32").replace("double", "float64")) if each else "text"
        for each in types
    ]
    monkeypatch.setattr(type_checks, "_cast_example", lambda *arguments: example._replace(outputs=stated))
    monkeypatch.setattr(type_checks, "_compare_with_cast", lambda *arguments: ("", True))
    version = SimpleNamespace(
        schema=None, examples_with_outputs=[example], runner=SimpleNamespace(outputs=lambda schema, cast: given)
    )
    assert type_checks._try_type(version, [0], "tensor(double)") == result
    version.examples_with_outputs = [example._replace(name="no_cast"), example._replace(name="refused"), example]
    monkeypatch.setattr(
        type_checks,
        "_cast_example",
        lambda version, each, *others: None if each.name == "no_cast" else each._replace(outputs=stated),
    )

    def outputs(schema, cast):
        if cast.name == "refused":
            raise RunError([Finding("R201", "it is refused", why="so")])
        return given

    version.runner.outputs = outputs
    assert type_checks._try_type(version, [0], "tensor(double)") == result
    version.examples_with_outputs.pop()
    assert type_checks._try_type(version, [0], "tensor(double)") == (False, "it is refused: so", False)
    errors = [
        Finding("R203", "a constraint", why="C1"),
        Finding("R202", "first", why="a"),
        Finding("R201", "b", why=""),
    ]

    def refuse(schema, cast):
        raise RunError([errors[int(cast.name)]])

    version.runner.outputs = refuse
    version.examples_with_outputs = [example._replace(name=each) for each in "012"]
    assert type_checks._try_type(version, [0], "tensor(double)") == (False, "first: a", False)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a*b_c", r"a\*b\_c"),
        ("`a*b` c*d", r"`a*b` c\*d"),
        ("a*`b*`", r"a\*`b*`"),
        ("`a*b c*d", r"'a\*b c\*d"),  # a backtick without its end is none
        (r"\[x](y)<z>#|", r"\\\[x\](y)\<z\>\#\|"),
        ("a\x1b", r"a\\x1b"),
    ],
)
def test_text_is_no_markdown_but_code_stays(text, escaped):
    assert _escape_text(text) == escaped


@pytest.mark.parametrize(
    ("types", "wanted", "cast"),
    [
        (["tensor(float)", None, "tensor(int8)"], "double", ["tensor(double)", None, "tensor(double)"]),
        (["tensor(float)"] * 3, "string", None),
        (["tensor(string)", None, "tensor(string)"], "float", None),
        (["tensor(float)", None, "tensor(string)"], "double", None),
        (["seq(tensor(float))"], "double", None),
        ([None, None], "double", None),
        ([], "double", None),
    ],
)
def test_only_numbers_are_cast(types, wanted, cast):
    from opset.workflow.contribution.type_checks import _cast_example

    schema = default_registry().schema("Clip", 13)
    inputs = [each and ExampleValue(each, [1], (1,)) for each in types]
    example = Example("it", 13, inputs=tuple(inputs), outputs=(ExampleValue("tensor(float)", [1], (1,)),))
    made = _cast_example(ReviewedVersion(default_registry(), schema), example, range(3), f"tensor({wanted})")
    assert (made and [each and each.type for each in made.inputs]) == cast


@pytest.mark.parametrize(("attributes", "is_cast"), [({}, True), ({"body": 1}, False)])
def test_examples_with_graphs_are_not_cast(attributes, is_cast):
    from opset.workflow.contribution.type_checks import _cast_example

    schema = default_registry().schema("Scan", 25)
    value = ExampleValue("tensor(float)", [1], (1,))
    example = Example("it", 25, attributes=attributes, inputs=(value,), outputs=(value,))
    made = _cast_example(ReviewedVersion(default_registry(), schema), example, [0], "tensor(double)")
    assert (made is not None) == is_cast


@pytest.mark.parametrize(
    ("element", "elements"),
    [
        ("int32", [0, 1, 1, 0, 0, 0]),
        ("uint8", [0, 1, 1, 0, 0, 0]),
        ("bool", [True] * 5 + [False]),
        ("float16", [2.5, 1.0, -3.0, float("inf"), 4, 0]),
    ],
)
def test_numbers_are_cast_to_what_every_type_has(element, elements):
    from opset.workflow.contribution.type_checks import _cast_value

    value = ExampleValue("tensor(float)", [2.5, 1.0, -3.0, float("inf"), 4, 0], (6,))
    assert _cast_value(value, f"tensor({element})") == ExampleValue(f"tensor({element})", elements, (6,))


@pytest.mark.parametrize(
    ("base", "type_", "confirms"),
    [
        ("float", "int8", True), ("bfloat16", "bool", True), ("double", "complex64", True), ("int8", "uint64", True),
        ("uint64", "bool", True), ("int8", "float", False), ("bool", "int8", False), ("string", "string", False),
        ("int32", "complex64", False),
    ],
)  # fmt: skip
def test_which_types_confirm_the_values_of_others(base, type_, confirms):
    from opset.workflow.contribution.type_checks import _has_like_values

    assert _has_like_values(f"tensor({base})", f"tensor({type_})") == confirms


def test_arrays_are_compared_in_sequences_as_well_and_other_values_are_not():
    from opset.workflow.contribution.type_checks import _array_pairs

    a, b, z, text = np.ones(2), np.zeros(2), np.array([1 + 2j]), np.array(["a"], object)
    found = list(_array_pairs([a, [a, b], text, z, None, a], [b, [b, a, a], text, z, a, z]))
    assert [(number, want is a, [*have]) for number, want, have in found] == [
        (0, True, [0, 0]), (1, True, [0, 0]), (1, False, [1, 1]), (5, True, [1]),
    ]  # fmt: skip


def test_cases_that_cannot_be_made_are_told_with_what_helps(folder, monkeypatch):
    from opset.workflow.contribution import checks as points

    wrong = [Finding("T221", "no case", why="it is so", help="mend it"), Finding("T222", "nor this", why="neither")]
    made = SimpleNamespace(findings=wrong, cases=[{"kind": "node"}, {"kind": "invalid"}, {"kind": "node"}])
    monkeypatch.setattr(points, "build_corpus", lambda *arguments, **options: made)
    evidence = found(candidate(folder, "Softcap"), "test_data")
    assert [(each.state, each.why, each.help) for each in evidence[:2]] == [
        (MISSING, "no case: it is so", "mend it"),
        (MISSING, "nor this: neither", "opset explain T222"),
    ]
    assert evidence[2].why == "cases of opset testgen: 1 invalid, 2 node"


def test_statements(folder):
    one = candidate(folder, "Mix")
    stated = {each.name: each for each in checklist(one, {"model": "a public one", "broadcast": "never"})}
    assert [each.why for each in stated["model"].evidence] == ["a public one"] and stated["model"].state == "stated"
    assert stated["broadcast"].state == "stated" and stated["empty"].state == "missing"
    assert [point.state for point in stated.values() if point.state not in STATES] == []
    for name, message in (("modle", "there is no point 'modle'"), ("kernel", "the point kernel cannot be stated")):
        with pytest.raises(UsageError) as caught:
            checklist(one, {name: "it"})
        assert caught.value.message == message and caught.value.code == "U103"
    assert caught.value.help == "write one: opset explain evaluating"


def test_the_verb(folder):
    done = run("check-contribution", "com.acme.Thin", "Softcap@1", "--schemas", EXAMPLES, "--state", "model=one")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "com.acme.Thin 2" and "com.acme.Softcap 1" in lines
    assert any(re.match(r"  stated +model +one  \(.*Thin\.yaml:4:3\)$", line) for line in lines)
    assert "27 passed, 1 stated, 2 to state" in lines or "26 passed, 1 stated, 2 to state" in lines
    assert run("check-contribution", "com.acme.Mix", "--schemas", folder).exit_code == 1
    for wrong in (["Thin@x"], ["Nothing"], ["Thin@1", "--state", "model"], ["Thin", "--state", "x=1"]):
        assert run("check-contribution", *wrong, "--schemas", EXAMPLES).exit_code == 2


def test_a_file_that_is_not_named_after_its_operator(folder):
    (folder / "com.acme" / "Mix.yaml").rename(folder / "com.acme" / "Other.yaml")
    done = run("check-contribution", "com.acme.Mix", "--schemas", folder)
    assert done.exit_code == 2 and "error[S215] no file Mix.yaml of com.acme declares Mix\n" in done.stderr
    (folder / "com.acme" / "Mix.yaml").write_text(MIX.replace("Mix", "Another"))
    assert "error[S215] no file Mix.yaml" in run("check-contribution", "com.acme.Mix", "--schemas", folder).stderr


def test_forms(folder):
    data = run_json("check-contribution", "com.acme.Mix", "--schemas", folder)
    (operator,) = data["operators"]
    assert (operator["domain"], operator["operator"], operator["since"]) == ("com.acme", "Mix", 1)
    assert len(operator["points"]) == len(checks()) == sum(operator["counts"].values())
    (kernel,) = (each for each in operator["points"] if each["name"] == "kernel")
    assert kernel["state"] == "missing" and kernel["found"][0]["place"].endswith("com.acme/Mix.yaml:4:3")
    text = run("check-contribution", "com.acme.Mix", "--schemas", folder, "--format", "markdown").stdout
    assert text.startswith("## `com.acme.Mix` 1\n\n### Proposal\n\n- [ ] A function body, where other operators")
    assert "\n- [x] A description that leaves nothing open (`doc`): passed\n  - it, its parameters" in text
    assert re.search(r"- \[ \] A reference implementation \(`kernel`\): missing\n  - no kernel .*To do: write", text)
    json.dumps(data)


def main():
    sections = []
    for edit in (None, *EDITS):
        with tempfile.TemporaryDirectory() as path:
            folder = copied(Path(path))
            if edit is None:
                sections += whole(folder)
            else:
                sections.append(section(folder, title_of(edit), [(edit[0], edited(folder, edit))]))
    CHECKLISTS.write_text("\n\n".join(sections) + "\n")


if __name__ == "__main__":
    main()
