"""`opset text`, `opset inline`, and models as text wherever a model is taken."""

import onnx
import pytest

from tests.cli.commands import SMALL, run, run_json, save

TEXT = """<ir_version: 8, opset_import: ["": 17, "d": 1]>
main (float[2] x) => (float[2] y) { y = d.Twice (x) }
<domain: "d", opset_import: ["": 17]>
Twice (a) => (b) { b = Add (a, a) }
"""


@pytest.fixture
def text(folder):
    (folder / "m.onnxtxt").write_text(TEXT)
    return folder / "m.onnxtxt"


def test_text_and_back(text, folder):
    assert run("text", "m.onnxtxt", "-o", "m.onnx").exit_code == 0
    onnx.checker.check_model(onnx.load("m.onnx"))
    shown = run("text", "m.onnx")
    assert (shown.exit_code, shown.stderr) == (0, "") and "y = d.Twice (x)" in shown.stdout
    assert run("text", "m.onnx", "-o", "n.onnxtxt").exit_code == 0
    assert (folder / "n.onnxtxt").read_text() == shown.stdout
    assert run_json("text", "m.onnx") == {"model": "m.onnx", "text": shown.stdout}
    assert run("text", "m.onnx", "-o", "n.onnxtxt").exit_code == 2
    assert run("text", "m.onnx", "-o", "n.onnxtxt", "--force").exit_code == 0


def test_a_limit_leaves_values_out_and_makes_no_model(folder):
    (folder / "m.onnxtxt").write_text("<ir_version: 8> g () => (float[3] w) <float[3] w = {1, 2, 3}> {}")
    assert "float[3] w = {...}" in run("text", "m.onnxtxt", "--limit", 2).stdout
    assert run("text", "m.onnxtxt", "--limit", 2, "-o", "m.onnx").exit_code == 2
    assert run("text", "m.onnxtxt", "--limit", 2, "-o", "n.onnxtxt").exit_code == 0
    refused = run("text", "n.onnxtxt", "-o", "m.onnx")
    assert refused.exit_code == 3 and "printed with a limit" in refused.stderr and "n.onnxtxt" in refused.stderr


def test_every_verb_takes_text(text, folder):
    assert run("convert", "m.onnxtxt", "--to", 21).exit_code == 0
    assert '"": 21' in (folder / "m-opset21.onnxtxt").read_text()
    assert run("convert", ".", "--to", 18, "-o", "out/").exit_code == 0  # a folder's own results are left out
    assert '"": 18' in (folder / "out" / "m-opset18.onnxtxt").read_text()
    assert run("infer", "m.onnxtxt", "-o", "i.onnx").exit_code == 0 and onnx.load("i.onnx").ir_version == 8
    assert "[2, 4]" in run("run", "m.onnxtxt", "--set", "x=[1, 2]").stdout
    assert run("show", "m.onnxtxt").exit_code == 0
    assert run("convert", "text:-", "--to", 21, stdin=TEXT.encode()).exit_code == 0
    assert run("infer", "text:-", stdin=TEXT.encode()).exit_code == 0


def test_errors_have_a_line_and_a_column(folder):
    (folder / "bad.onnxtxt").write_text("<ir_version: 8>\ng () => () {\n  y = (x) }")
    result = run("convert", "bad.onnxtxt", "--to", 21)
    assert result.exit_code == 3 and "M301" in result.stderr and "3:7" in result.stderr


def test_inline(text, folder):
    result = run("inline", "m.onnxtxt")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "m.onnxtxt: 1 call of 1 function inlined",
        "  d.Twice: 1 call",
        "  removed, as nothing calls it: 1 function",
        "  wrote m-inlined.onnxtxt",
    ]
    assert "y = Add (x, x)" in (folder / "m-inlined.onnxtxt").read_text()
    data = run_json("inline", "m.onnxtxt", "--except", "Twice", "-o", "same.onnx")
    assert data["models"][0]["functions"] == [] and data["models"][0]["status"] == "unchanged"
    assert run("inline", "m.onnxtxt", "--only", "Other", "-o", "o.onnx").exit_code == 2


def test_a_width_is_for_text_alone(folder):
    save("m.onnx", SMALL, folder)
    wrapped = run("text", "m.onnx", "--width", 40).stdout
    assert run("text", "m.onnx", "--width", 40, "-o", "out.onnx").exit_code == 0
    assert (folder / "out.onnx").read_bytes() == (folder / "m.onnx").read_bytes()
    assert run("text", "m.onnx", "--width", 40, "-o", "out.onnxtxt").stdout == ""
    assert (
        (folder / "out.onnxtxt").read_text() == wrapped == run("text", "m.onnx", "--width", 40, "-o", "text:-").stdout
    )
    assert run("text", "m.onnx", "-o", "text:-").stdout == run("text", "m.onnx").stdout != wrapped
    assert run("text", "m.onnx", "--width", 40, "-o", "-").stdout_bytes == (folder / "m.onnx").read_bytes()


PROTOBUF = """ir_version: 8
opset_import { version: 17 }
graph {
  name: "g"
  node { input: "x" output: "y" op_type: "Relu" }
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
  output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } }
}
"""


@pytest.mark.parametrize("name", ["m.textproto", "m.prototxt", "m.pbtxt", "m.txtpb", "m.onnxtxt", "m.onnxtext"])
def test_every_verb_takes_protobufs_text(name, folder):
    (folder / name).write_text(PROTOBUF)
    suffix = name[1:]
    assert run("convert", name, "--to", 21).exit_code == 0
    converted = (folder / f"m-opset21{suffix}").read_text()
    assert converted.startswith("ir_version: 8\n") and "version: 21" in converted
    assert run("infer", name, "-o", "i.onnx").exit_code == 0 and onnx.load("i.onnx").opset_import[0].version == 17
    assert "[0, 2]" in run("run", name, "--set", "x=[-1, 2]").stdout
    assert run("show", name).exit_code == 0 and "Relu (x)" in run("text", name).stdout
    assert run("convert", name, "--to", 18, "--in-place").exit_code == 0
    assert (folder / name).read_text().startswith("ir_version: 8\n")
    (folder / "i.onnx").unlink()
    is_found = suffix in (".onnxtxt", ".onnxtext", ".textproto", ".onnxjson")
    assert run("convert", ".", "--to", 19).exit_code == (0 if is_found else 3)  # results are left out
    assert {each.name for each in folder.iterdir()} == {
        name, f"m-opset21{suffix}", *[f"m-opset19{suffix}"] * is_found
    }  # fmt: skip
    assert run("convert", "m.*", "--to", 20).exit_code == 0 and (folder / f"m-opset20{suffix}").exists()


def test_a_result_keeps_both_endings(folder):
    for name in ("m.onnx.textproto", "m.textproto"):
        (folder / name).write_text(PROTOBUF)
    save("n.onnx.pb", SMALL, folder)
    given = {each.name for each in folder.iterdir()}
    assert run("convert", *sorted(given), "--to", 21).exit_code == 0
    made = {"m-opset21.onnx.textproto", "m-opset21.textproto", "n.onnx-opset21.onnx"}
    assert {each.name for each in folder.iterdir()} == given | made
    assert run("convert", "*.textproto", "--to", 20).exit_code == 0  # results are left out
    assert len([*folder.iterdir()]) == len(given | made) + 2


def test_an_output_has_the_form_of_its_name(folder):
    (folder / "m.textproto").write_text(PROTOBUF)
    model = onnx.load("m.textproto")
    for name in ("a.onnx", "a.textproto", "a.prototxt", "a.pbtxt", "a.txtpb", "a.json", "a.onnxjson"):
        assert run("text", "m.textproto", "-o", name).exit_code == 0
        assert onnx.load(name) == model
    for name in ("a.onnxtxt", "a.onnxtext"):
        assert run("text", "a.json", "-o", name).exit_code == 0
        assert (folder / name).read_text() == run("text", "m.textproto").stdout
    assert run("convert", "a.json", "--to", 21).exit_code == 0
    assert onnx.load("a-opset21.json").opset_import[0].version == 21
    assert run("text", "a.json", "--limit", 2, "-o", "b.textproto").exit_code == 2
    assert run("text", "a.json", "--limit", 2, "-o", "b.onnxtext").exit_code == 0


def test_a_stream_of_text_keeps_its_form(folder):
    for begin in ("ir_version: 8", "{"):
        (folder / "m.textproto").write_text(PROTOBUF)
        assert run("text", "m.textproto", "-o", "m.json", "--force").exit_code == 0
        given = (folder / ("m.json" if begin == "{" else "m.textproto")).read_bytes()
        for more in ([], ["-o", "text:-"]):
            result = run("convert", "text:-", "--to", 21, *more, stdin=given)
            assert result.exit_code == 0 and result.stdout.startswith(begin)
        assert run("convert", "text:-", "--to", 21, "-o", "o.onnxtxt", "--force", stdin=given).exit_code == 0
        assert (folder / "o.onnxtxt").read_text().startswith("#: unset domain")
    assert run("convert", "o.onnxtxt", "--to", 17, "-o", "text:-").stdout.startswith("#: unset domain")


def test_a_text_of_others_is_no_model(folder):
    (folder / "net.prototxt").write_text('name: "LeNet"\nlayer {\n  name: "x"\n}\n')
    result = run("convert", "net.prototxt", "--to", 21)
    assert result.exit_code == 3
    assert "M102" in result.stderr and "where   1:1, net.prototxt" in result.stderr and "Caffe" in result.stderr
    assert run("show", "-", stdin=PROTOBUF.encode()).exit_code == 3
    assert "text:-" in run("show", "-", stdin=PROTOBUF.encode()).stderr
