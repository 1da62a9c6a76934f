"""Pages of reports: valid, readable by all, inert, and with the whole report as JSON.

python -m tests.reports.test_pages      # writes pages.txt; read the difference
"""

import base64
import gzip
import hashlib
import json
import os
import re
import tempfile
from pathlib import Path

import pytest

from benchmarks.reports import layered_text
from opset.model.text.syntax import parse_model
from opset.reports.breaking import breaking_page
from opset.reports.conversions import EffectKind, release_words
from opset.reports.frame import ReportPage, embedded_json, page_text
from opset.reports.models import _findings_cell
from opset.reports.verifications import histogram_picture
from opset.verification.report import SHARES
from tests.cli.commands import run, run_json
from tests.docgen.accessibility import contrast, faults, local_name, parse, text_of

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(1)>'\"\u2028\u202e\x1b[31m"
MODEL = """<ir_version: 9, opset_import: ["": 20]>
    net (float[2, 4] x) => (float[2, 1] y, float[2, 4] "z.0", float[2, 4] "z.1")
    <float[4] w = {1, 2, 3, 4}, int64[1] axes = {-1}> {
        ["layer.0.norm"] a = LayerNormalization (x, w)
        ["layer.1.norm"] b = LayerNormalization (a, w)
        "z.0" = Gelu (b)
        "z.1" = Identity (b)
        y = ReduceMean <keepdims = 1> (b, axes)
    }"""
OTHER = """<ir_version: 9, opset_import: ["": 20]>
    net (float[2, 4] x) => (float[2, 1] y, float[2, 4] "z.0", float[2, 4] "z.1")
    <float[4] w = {1, 2, 3, 4}, int64[1] axes = {-1}> {
        ["layer.0.norm"] a = LayerNormalization (x, w)
        ["layer.1.norm"] b = LayerNormalization (a, w)
        "z.0" = Gelu (b)
        c = Constant <value_float = 1.5> ()
        "z.1" = Mul (b, c)
        y = ReduceMean <keepdims = 1> (b, axes)
    }"""
REFUSED = """<ir_version: 9, opset_import: ["": 20]>
    net (string[N] a, string[N] b) => (string[N] c0, string[N] c1, string[N] c2) {
        ["layer.0.join"] c0 = StringConcat (a, b)
        ["layer.1.join"] c1 = StringConcat (c0, b)
        ["layer.2.join"] c2 = StringConcat (c1, b)
    }"""


FAULTY = MODEL.replace('"": 20', '"": 20, "odd": 1').replace("axes =", "stale, int64[1] axes =")
BROKEN = MODEL.replace("keepdims = 1", "keepdims = 7, odd = 1").replace("Normalization (", "Normalization <odd = 1> (")
SAME = """operator: Same
family: other
versions:
- since: 1
  doc: Gives its input.
  inputs: [{name: X, type: T, doc: Given.}]
  outputs: [{name: Y, type: T, doc: The same.}]
  types: {T: [float, double]}
  shape: same(X)
"""
NARROWED = SAME.replace(", double", "")
PLAIN = """<ir_version: 9, opset_import: ["": 20]>
    net (float[2, 4] x, double[3] w) => (float[2, 4] "y.0", double[3] "y.1", float[2, 4] z) {
        "y.0" = Neg (x)  "y.1" = Neg (w)  z = Abs (x)
    }"""
FOREIGN = """<ir_version: 9, opset_import: ["": 20, "com.other": 1]>
    net (float[1, 1, 4, 4] x, float[1, 4] r, int64[1] b) => (float[1, 1, 1, 1] y, z) {
        y = RoiAlign <mode = "MAX"> (x, r, b)  z = com.other.Op (x)
    }"""
UNKNOWN = """<ir_version: 9, opset_import: ["": 20, "com.other": 1]>
    net (float[N, 4] x) => (y, z, w) { y = Concat <axis = 0> (x, x)  z = com.other.Op (x)  w = Add (z, x) }"""
MODELS = {"model": MODEL, "other": OTHER, "refused": REFUSED, "faulty": FAULTY, "broken": BROKEN, "torn": "x",
          "foreign": FOREIGN, "unknown": UNKNOWN,
          "plain": PLAIN, "doubled": PLAIN.replace("Abs (x)", "Add (x, x)")}  # fmt: skip
# The calls whose pages are in pages.txt: no verifications of models whose last digits are those of a machine.
CALLS = [
    "convert model.onnxtxt --to 13 --plan",
    "convert refused.onnxtxt --to 12",
    "convert refused.onnxtxt torn.onnxtxt other.onnxtxt --to 12 -o out/",
    "convert plain.onnxtxt doubled.onnxtxt --to 13 -o out/ --verify",
    "convert foreign.onnxtxt --to 13 --plan",
    "lower model.onnxtxt --ops Gelu -o lowered.onnx",
    "inline model.onnxtxt -o inlined.onnx",
    "blockers refused.onnxtxt --to 12",
    "check faulty.onnxtxt broken.onnxtxt",
    "check broken.onnxtxt",
    "check faulty.onnxtxt --fix -o fixed.onnxtxt",
    "check faulty.onnxtxt --diff",
    "infer model.onnxtxt -o inferred.onnx",
    "infer unknown.onnxtxt --values",
    "verify plain.onnxtxt doubled.onnxtxt --seeds 1",
    "diff model.onnxtxt other.onnxtxt",
    "breaking before --schemas after --no-examples",
    "breaking after --schemas before --no-examples",
]
PAGES = Path(__file__).with_name("pages.txt")


def write_models(folder):
    """Write the models and schemas of the calls into a folder."""
    for name, text in MODELS.items():
        (folder / f"{name}.onnxtxt").write_text(text)
    for name, operators, text in (("before", "Same Twin Gone", SAME), ("after", "Same Twin", NARROWED)):
        (folder / name / "com.acme").mkdir(parents=True)
        for operator in operators.split():
            (folder / name / "com.acme" / f"{operator}.yaml").write_text(text.replace("Same", operator))


@pytest.fixture(autouse=True)
def models(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_models(tmp_path)
    return tmp_path


def page_of(*arguments, status=0, file="r.html"):
    """Return the root of the page that a command writes."""
    result = run(*arguments, "--report", file)
    assert result.exit_code == status, result.output
    return read_page(file)


def read_page(file):
    """Return the root of a page; it has to be valid, readable by all, and inert."""
    with open(file, encoding="utf-8") as stream:
        text = stream.read()
    assert not re.search("[\x00-\x09\x0b-\x1f\u2028\u2029\u202a-\u202e\x7f]", text)
    root = parse(text)
    assert faults(root) == []
    elements = [each for each in root.iter() if isinstance(each.tag, str)]
    names = {local_name(each) for each in elements}
    assert not names & {"img", "link", "iframe", "a", "form", "object", "base"}
    assert not [name for each in elements for name in each.attrib if str(name).startswith("on") or name == "style"]
    scripts = [each for each in elements if local_name(each) == "script"]
    assert {each.get("type") for each in scripts} <= {"application/json", "application/gzip"}
    policy = next(each.get("content") for each in elements if each.get("http-equiv") == "Content-Security-Policy")
    style = text.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ") and f"style-src 'sha256-{digest}'" in policy
    assert "script-src" not in policy and "unsafe" not in policy
    return root


def shown(element):
    """Yield the lines of what a page shows: headings, paragraphs, rows, and the words of pictures."""
    name = local_name(element)
    if name in ("h1", "h2", "h3", "p", "summary", "caption", "pre", "dt", "dd", "li", "figcaption"):
        yield f"{name}: {text_of(element)}"
    elif name == "tr":
        yield " | ".join(text_of(cell) for cell in element)
    elif name == "svg":
        yield f"picture: {element.get('aria-label')}"
    elif name not in ("head", "script", "style", "footer"):
        for child in element:
            yield from shown(child)


def section(call):
    """The part of pages.txt about a call."""
    Path("page.html").unlink(missing_ok=True)
    run(*call.split(), "--report", "page.html")
    lines = [f"opset {call}", *(f"  {line}" for line in shown(read_page("page.html")))]
    return "\n".join(lines).replace(f"{os.getcwd()}/", "")


@pytest.mark.parametrize("call", CALLS)
def test_all_that_a_page_shows(call):
    assert section(call) in PAGES.read_text(encoding="utf-8").rstrip("\n").split("\n\n")


def part_of(root, name):
    return next((each for each in root.iter("section") if each.get("aria-labelledby") == name), None)


def rows_of(part):
    """Return the texts of the cells of all rows of a section."""
    return [[text_of(cell) for cell in row] for body in part.iter("tbody") for row in body]


def verdict_of(root):
    return next(text_of(each) for each in root.iter("p") if each.get("class") == "verdict")


def data_of(root):
    held = next(each for each in root.iter("script") if each.get("id") == "report")
    packed = held.get("type") == "application/gzip"
    return json.loads(gzip.decompress(base64.b64decode(held.text)) if packed else held.text)


def test_a_conversion_is_a_page_with_what_the_json_has():
    root = page_of("convert", "model.onnxtxt", "--to", "13", "-o", "out.onnx", "--verify")
    assert verdict_of(root) == "✓ Converted: ai.onnx 20 → 13, IR version 9 → 7. Verified: same"
    changes = rows_of(part_of(root, "changes"))
    norm = next(row for row in changes if row[0] == "LayerNormalization")
    assert norm[1:3] == ["17", "2"] and norm[3].startswith("lowered to 10 nodes: ")
    assert norm[4] == "layer.0.norm, x 2: 0-1"
    data = data_of(root)
    expected = run_json("convert", "model.onnxtxt", "--to", "13", "-o", "out.onnx", "--verify", "--force")
    assert data.pop("schema_version") == 1 and data == expected


def test_kinds_of_changes_are_drawn_before_and_after():
    pictures = part_of(page_of("convert", "model.onnxtxt", "--to", "13", "--plan"), "pictures")
    kinds = [each for each in pictures.iter("details") if each.get("class") == "change-kind"]
    assert [text_of(each[0]) for each in kinds] == [
        "Gelu 20: lowered to 8 nodes: 3 Constant, 3 Mul, Erf, Add",
        "LayerNormalization 17, x 2: lowered to 10 nodes: 2 ReduceMean, Sub, 2 Constant, Pow, Add, Sqrt, Div, Mul",
        "ReduceMean 18 → 13: converted to ReduceMean",
    ]
    titles = [each.get("aria-label") for each in pictures.iter() if local_name(each) == "svg"]
    assert titles[:2] == ["Before: Gelu", "After: Mul, Erf, Add"]
    drawn = {text_of(each) for each in pictures.iter() if local_name(each) == "text"}
    assert {"LayerNormalization", "Sqrt", "x", "w"} <= drawn and "Constant" not in drawn


def test_a_refusal_comes_first_and_says_where_why_and_what_helps():
    root = page_of("convert", "refused.onnxtxt", "--to", "12", status=1)
    assert verdict_of(root).startswith("✗ Refused: ") and "3 of 3 nodes cannot be converted" in verdict_of(root)
    ((finding, operator, times, where, what, help),) = rows_of(part_of(root, "findings"))
    assert finding == "✗ error C201" and operator == "StringConcat" and times == "3"
    assert "layer.0.join" in where and where.endswith(", x 3: 0-2") and "cannot go from 20 to 12" in what and help
    sections = [each.get("aria-labelledby") for each in root.iter("section")]
    assert sections[0] == "findings" and "pictures" not in sections


def test_a_verification_has_a_row_for_outputs_that_are_alike_and_bars():
    same = page_of("verify", "model.onnxtxt", "model.onnxtxt")
    assert verdict_of(same) == "✓ The models compute the same"
    rows = rows_of(part_of(same, "verification"))
    assert [row[:2] for row in rows] == [
        ["y", "✓ same"],
        ["z.0, x 2: 0-1", "✓ same"],
        ["drawn with seed 0 x 20: 0-19", "✓ same"],
    ]
    root = page_of("verify", "model.onnxtxt", "other.onnxtxt", status=1)
    assert verdict_of(root) == "✗ The models differ: 1 of 3 outputs"
    part = part_of(root, "verification")
    assert rows_of(part)[0][:2] == ["z.1", "✗ different"]
    bars = [each for each in part.iter() if local_name(each) == "svg"]
    assert bars[0].get("aria-label") == f"Elements by difference: above {SHARES[-1]:g}: 24"
    assert bars[1].get("aria-label") == "Elements by difference: equal: 6"
    assert "The first inner value that differs is z.1" in text_of(part)
    assert data_of(root)["outputs"][2]["histogram"] == [0, 0, 0, 0, 0, 0, 0, 24]


def test_findings_that_are_left_out_are_counted():
    (model,) = run_json("check", "broken.onnxtxt")["models"]
    assert _findings_cell(model).folded == "4 findings"
    assert _findings_cell(model | {"omitted": 2000}).folded == "2,004 findings"


@pytest.mark.parametrize(
    ("after", "becomes", "words"),
    [
        (None, [], "converted to no node"),
        (12, [], "converted to no node"),
        (12, ["Add"], "converted to Add"),
        (None, ["Add", "Mul", "Add"], "lowered to 2 Add, Mul"),
    ],
)
def test_what_becomes_of_nodes_is_said(after, becomes, words):
    assert EffectKind({"after": after, "becomes": becomes}).outcome == words


def test_bars_are_as_high_as_counts_and_in_their_order():
    page = parse(f"<!DOCTYPE html><title>t</title>{histogram_picture([0, 1, 5, 0, 90, 8, 0, 400])}")
    bars = [each for each in page.iter() if local_name(each) == "rect"]
    left, top, height = ([float(each.get(name)) for each in bars] for name in ("x", "y", "height"))
    assert len(bars) == 5 and left == sorted({*left})
    assert [sorted(height).index(each) for each in height] == [0, 1, 3, 2, 4]
    assert min(height) >= 2 and {round(each + more, 1) for each, more in zip(top, height, strict=True)} == {max(height)}
    assert [each.get("class") for each in bars] == [None, None, None, "beyond", "beyond"]


def test_many_models_have_a_row_each_and_sums(models):
    (models / "many").mkdir()
    for number in range(14):
        (models / "many" / f"m{number:02}.onnxtxt").write_text(MODEL)
    (models / "many" / "refused.onnxtxt").write_text(REFUSED)
    root = page_of("convert", "many", "--to", "12", "-o", "out", "--report", "r.jsonl", status=1)
    assert verdict_of(root) == "✗ 15 models: 14 converted, 1 refused"
    rows = rows_of(part_of(root, "models"))
    assert len(rows) == 15 and [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert next(row for row in rows if row[0].endswith("refused.onnxtxt"))[1] == "✗ refused"
    (total,) = rows_of(part_of(root, "findings"))
    assert total[:4] == ["StringConcat", "✗ C201", "3", "1"]
    changes = rows_of(part_of(root, "changes"))
    assert next(row for row in changes if row[0] == "LayerNormalization")[2:4] == ["28", "14"]
    lines = [json.loads(line) for line in (models / "r.jsonl").read_text().splitlines()]
    assert len(lines) == 15
    again = page_of("convert", "many", "--to", "12", "-o", "out", "--report", "r.jsonl", status=1)
    assert data_of(again) == data_of(root)


def test_what_breaks_is_a_page():
    arguments = ("breaking", "before", "--schemas", "after", "--no-examples")
    root = page_of(*arguments, status=1)
    assert verdict_of(root).startswith("✗ Breaking: 3 breaks, ")
    document = json.loads(run(*arguments, "--format", "json").stdout)
    assert data_of(root) == document
    document["counts"] = {"ERR": 0, "WARN": 1, "INFO": 2, "approved": 3}
    finding = next(each for each in document["findings"] if each["rule"] == "B132")
    document["findings"] = [{**finding, "severity": severity} for severity in ("INFO", "WARN", "INFO")]
    root = parse(breaking_page(document | {"clean": True}))
    assert verdict_of(root) == "✓ Clean: no breaks, 1 warning, 2 notices, 3 approved"
    found = part_of(root, "findings")
    assert [row[0] for row in rows_of(found)] == ["! warning B132", "· notice B132"]  # those that say the same are one
    assert "2 notices Notices" in text_of(found)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [(13, 21, "1.8.0 → 1.16.0 of onnx"), (13, 13, "1.8.0 of onnx"), (13, 999, ""), (999, 13, "")],
)
def test_versions_are_named_by_releases_that_have_them(before, after, words):
    changed = {"before": before, "after": after}
    assert release_words({"opsets": [{"domain": each, **changed} for each in ("ai.onnx.ml", "ai.onnx")]}) == words


def test_names_of_a_model_are_text_everywhere(models):
    proto = parse_model(MODEL)
    for node in proto.graph.node:
        node.name = EVIL + node.name
        node.input[:] = [name + EVIL if name == "b" else name for name in node.input]
        node.output[:] = [name + EVIL if name == "b" else name for name in node.output]
    (models / "evil.onnx").write_bytes(proto.SerializeToString())
    root = page_of("convert", "evil.onnx", "--to", "13", "-o", "out.onnx", file=f"{EVIL[9:17]}.html")
    names = data_of(root)["models"][0]["operators"][0]["places"]
    assert names[0]["name"].startswith(EVIL)
    assert "alert(1)" in text_of(part_of(root, "changes")) and "\\u202e" in text_of(part_of(root, "changes"))
    kind, held = embedded_json({EVIL: EVIL})
    assert kind == "application/json" and held.isascii() and not {*"<>&\x7f"} & {*held}
    assert json.loads(held) == {EVIL: EVIL}


def test_a_long_report_is_compressed_in_the_page(monkeypatch):
    plain = data_of(page_of("convert", "model.onnxtxt", "--to", "13", "--plan"))
    monkeypatch.setattr("opset.reports.frame.LARGEST_PLAIN", 100)
    root = page_of("convert", "model.onnxtxt", "--to", "13", "--plan")
    assert [each.get("type") for each in root.iter("script")] == ["application/gzip"]
    assert data_of(root) == plain and "compressed with gzip" in text_of(next(root.iter("footer")))


def test_a_page_replaces_a_page_and_no_other_file(models):
    page_of("convert", "model.onnxtxt", "--to", "13", "--plan")
    page_of("verify", "model.onnxtxt", "model.onnxtxt")
    (models / "mine.html").write_text("<!DOCTYPE html><title>mine</title>")
    for arguments in (
        ("convert", "model.onnxtxt", "--to", "13", "-o", "not.onnx"),
        ("verify", "model.onnxtxt", "model.onnxtxt"),
        ("breaking", "1.16"),
        ("diff", "model.onnxtxt", "other.onnxtxt"),
    ):
        result = run(*arguments, "--report", "mine.html")
        assert result.exit_code == 2 and "error[U102]" in result.stderr
    assert (models / "mine.html").read_text().endswith("mine</title>") and not (models / "not.onnx").exists()
    (models / "folder.html").mkdir()
    for arguments, said in (
        (("info", "model.onnxtxt", "--report", "r.html"), "there is no page of opset info"),
        (("verify", "model.onnxtxt", "model.onnxtxt", "--report", "r.txt"), "its name ends in .html"),
        (("verify", "model.onnxtxt", "model.onnxtxt", "--report", "folder.html"), "the report cannot be written"),
        (("convert", "model.onnxtxt", "--to", "13", "--report", "a.html", "--report", "b.html"), "give one page"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2 and said in result.stderr


def test_colours_can_be_read_in_both_schemes():
    style = page_text(ReportPage("t", None, [], []))
    colours = dict(re.findall(r"--(\w+): light-dark\((#\w{6}, #\w{6})\)", style))
    pairs = {name: text.split(", ") for name, text in colours.items()}
    for scheme in (0, 1):
        least = {
            name: contrast(pairs[name][scheme], pairs["bg"][scheme])
            for name in ("fg", "muted", "accent", "good", "bad", "warn")
        }
        assert min(least.values()) >= 4.5, least


def test_a_page_is_small(models):
    (models / "deep.onnxtxt").write_text(layered_text(10))
    page_of("convert", "deep.onnxtxt", "--to", "13", "--plan")
    assert (models / "r.html").stat().st_size < 300_000


def main():
    os.chdir(folder := tempfile.mkdtemp())
    write_models(Path(folder))
    PAGES.write_text("\n\n".join(map(section, CALLS)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
