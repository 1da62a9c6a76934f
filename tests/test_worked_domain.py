"""The worked domain `examples/com.acme`, from end to end: every verb works with it, and values are compared.

The guide docs/own-domain.md makes these files step by step; what it shows of them last is what is in the repository.
"""

import json
import shutil

import numpy as np
import pytest

from opset import ReferenceEvaluator, convert, infer, lower
from opset.errors import ConversionError
from opset.extend import differences, example_versions, feeds_of, model_of, registry_with, value_of
from opset.model.text.syntax import parse_model
from opset.workflow.examples.examination import examine
from tests.cli.commands import run, run_json
from tests.test_docs import BLOCK, ROOT

DOMAIN = "com.acme"
EXAMPLES = ROOT / "examples"
OWN = ("--schemas", EXAMPLES)
MODEL = EXAMPLES / DOMAIN / "model.onnxtxt"
REFUSED = {
    ("Softcap", "scaled"): "C204",
    ("Thin", "half"): "C202",
    ("Thin", "nothing_left"): "C204",
    ("Thin", "rows"): "C204",
}
"""The examples that are not converted to the version before, with the code of the refusal."""
X = np.arange(7, dtype=np.float32) - 3


@pytest.fixture(scope="module")
def registry():
    return registry_with([EXAMPLES])


@pytest.fixture(scope="module")
def cases(registry):
    """Each example with each version for which it holds."""
    found = []
    for name in registry.operators(DOMAIN):
        versions = {schema.since_version: schema for schema in registry.versions(name, DOMAIN)}
        for example in registry.examples(name, DOMAIN):
            found += [(versions[since], example) for since in example_versions(example, versions)]
    assert len({schema for schema, _ in cases_with_values(found)}) == 4
    return found


def cases_with_values(cases):
    return [case for case in cases if not case[1].error]


def with_standard(schema, example):
    """The example's model, which imports the standard's operators, too."""
    model = model_of(schema, example)
    model.opset_import.add(domain="", version=17)
    return model


def wrong(model, example, registry):
    """How a model's outputs differ from those of an example."""
    results = ReferenceEvaluator(model, schemas=registry).run(None, feeds_of(example))
    pairs = zip(map(value_of, example.outputs), results, strict=True)
    return [each.why for want, have in pairs for each in differences(want, have) if each.why]


def test_it_is_clean_and_complete():
    assert run("lint", EXAMPLES).stdout == "no findings in 2 operators of 1 domain\n"
    assert {path.name for path in (EXAMPLES / DOMAIN).iterdir() if path.is_file()} == {
        *("Thin.yaml", "Softcap.yaml", "kernels.py", "inference.py", "adapters.py", "model.onnxtxt"),
    }
    locked = json.loads((EXAMPLES / "lock.json").read_text())[DOMAIN]
    assert [(name, *versions) for name, versions in locked.items()] == [("Softcap", "1", "2"), ("Thin", "1", "2")]


def test_verbs_show_it():
    assert run("show", "com.acme.Thin", *OWN).stdout.startswith("Thin 2  (com.acme; versions 1, 2; family signals)\n")
    diff = run_json("diff", "com.acme.Softcap", "1", "2", *OWN)
    assert diff["up"] == "nothing to do" and diff["down"] == "derived"
    assert run("diff", "com.acme.Thin", "1", "2", *OWN).stdout.endswith("\nup: written\ndown: written\n")
    report = run("infer", MODEL, "--values", *OWN).stdout
    assert "y      float[floor((N + 1)/2)]  graph 'main', node 'half' (Thin)\n" in report


def test_inference_gives_the_shapes_of_the_examples(cases, registry):
    for schema, example in cases_with_values(cases):
        found = infer(model_of(schema, example), schemas=registry)
        assert not found.findings and not found.gaps, example.name
        assert [found.shape("output_0")] == [each.shape for each in example.outputs], example.name


def test_conversions_compute_the_same_or_are_refused(cases, registry):
    refused = {}
    for schema, example in cases_with_values(cases):
        try:
            model = convert(with_standard(schema, example), {DOMAIN: 3 - schema.since_version}, schemas=registry)
        except ConversionError as error:
            refused[schema.name, example.name] = error.code
        else:
            assert wrong(model, example, registry) == [], (schema, example.name)
    assert refused == REFUSED


def test_function_bodies_compute_what_kernels_do(cases, registry):
    onnxruntime = pytest.importorskip("onnxruntime")
    for schema, example in cases_with_values(cases):
        model = lower(with_standard(schema, example), [f"{DOMAIN}.{schema.name}"], schemas=registry)
        assert {node.domain for node in model.graph.node} == {""}
        del model.opset_import[:]
        model.opset_import.add(version=17)
        model.ir_version = 8
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        results = session.run(None, feeds_of(example))
        pairs = zip(map(value_of, example.outputs), results, strict=True)
        assert [each.why for want, have in pairs for each in differences(want, have) if each.why] == [], example.name


def test_a_model_is_converted_down_and_up_again(tmp_path):
    old, new = tmp_path / "old.onnxtxt", tmp_path / "new.onnxtxt"
    assert run("convert", MODEL, "--to", "com.acme=1", *OWN, "-o", old).exit_code == 0
    assert "Thin <skip: int = 1> (x)" in old.read_text()
    assert run("convert", old, "--to", "com.acme=2", *OWN, "-o", new).exit_code == 0
    for path in (MODEL, old, new):
        (have,) = ReferenceEvaluator(parse_model(path.read_text()), schemas=[EXAMPLES]).run(None, {"x": X})
        np.testing.assert_array_equal(have, X[::2])


def test_the_longest_distances_are_converted(registry):
    text = MODEL.read_text().replace("2]", "VERSION]").replace("step = 2", "ATTRIBUTE")
    for version, attribute in ((1, f"skip = {2**63 - 2}"), (2, f"step = {2**63 - 1}")):
        model = parse_model(text.replace("VERSION", str(version)).replace("ATTRIBUTE", attribute))
        other = convert(model, {DOMAIN: 3 - version}, schemas=registry)
        for each in (model, other, lower(other, ["com.acme.Thin"], schemas=registry)):
            assert ReferenceEvaluator(each, schemas=registry).run(None, {"x": X})[0].tolist() == [-3]


def test_its_examples_hold_everywhere(registry):
    """What `opset test examples` runs, without its processes."""
    schemas = [each for name in registry.operators(DOMAIN) for each in registry.versions(name, DOMAIN)]
    report = examine(registry, schemas)
    assert report.findings == [] and report.notes == [] and report.gaps == []
    assert dict(report.passed) == {"kernel": 27, "inference": 27, "function": 20, "conversion": 36, "claims": 4}
    assert {(each.operator, each.example) for each in report.refused} == REFUSED.keys()


def test_it_is_a_complete_contribution():
    data = run_json("check-contribution", "com.acme.Softcap", "com.acme.Thin", *OWN)
    states = {(point["name"], point["state"]) for each in data["operators"] for point in each["points"]}
    left = {name for name, state in states if state not in ("passed", "not applicable")}
    assert left == {"model", "framework", "general"}


def test_it_gives_test_cases(tmp_path):
    done = run("testgen", "--all", "--domain", DOMAIN, "--every-version", *OWN, "-o", tmp_path / "cases")
    assert done.exit_code == 0, done.output
    cases = json.loads((tmp_path / "cases" / "manifest.json").read_text())["cases"]
    assert len(cases) == 27 and {case["domain"] for case in cases} == {DOMAIN}
    judged = {case["name"]: case["judged_by"] for case in cases if case["kind"] == "node"}
    assert all("kernel" in each for each in judged.values()) and len(judged["test_acme_thin_v2_rows"]) == 2


def test_its_second_versions_break_nothing(tmp_path):
    for name in ("types.yaml", "lock.json"):
        shutil.copy(EXAMPLES / name, tmp_path)
    shutil.copytree(EXAMPLES / DOMAIN, tmp_path / DOMAIN)
    assert run("breaking", EXAMPLES, "--schemas", tmp_path).exit_code == 0
    path = tmp_path / DOMAIN / "Softcap.yaml"
    path.write_text(path.read_text().replace("default: 1.0, doc", "default: 2.0, doc"))
    broken = run_json("breaking", EXAMPLES, "--schemas", tmp_path)
    assert "B125" in json.dumps(broken)


def test_the_site_has_its_pages(tmp_path):
    schemas = tmp_path / "schemas"
    shutil.copytree(EXAMPLES / DOMAIN, schemas / DOMAIN)
    shutil.copy(EXAMPLES / "types.yaml", schemas)
    options = ("docs", "--schemas", schemas, "--domain", DOMAIN, "-q", "-o")
    assert run(*options, tmp_path / "unrecorded", "--format", "markdown").exit_code == 0
    (text,) = (each.read_text() for each in (tmp_path / "unrecorded").rglob(f"{DOMAIN}*.md"))
    assert "every `step`-th element" in text and "before version 2" not in text
    assert run("test", schemas, "--record").exit_code == 0
    assert run(*options, tmp_path / "site").exit_code == 0
    page = (tmp_path / "site" / DOMAIN / "Thin.html").read_text()
    for part in ("every <code>step</code>-th element", "<math", "nothing_left", "before version 2"):
        assert part in page, part


def test_the_guide_makes_these_files():
    """The guide compares the YAML that its commands make, which tests/test_docs.py runs, with the repository's."""
    text = (ROOT / "docs" / "own-domain.md").read_text(encoding="utf-8")
    assert "\n$ cmp schemas/com.acme/Thin.yaml examples/com.acme/Thin.yaml && echo as in the repository\nas in" in text
    shown = {language.partition(" schemas/")[2]: body for language, body in BLOCK.findall(text)}
    assert shown["types.yaml"] == (EXAMPLES / "types.yaml").read_text()
    for name in ("kernels.py", "inference.py", "adapters.py"):  # which have functions of the other operator, too
        whole = (EXAMPLES / DOMAIN / name).read_text().strip().split("\n\n\n")
        assert {*shown[f"{DOMAIN}/{name}"].strip().split("\n\n\n")[1:]} <= {*whole}, name
