"""`opset blockers`."""

import json

from tests.cli.commands import REFUSED, SMALL, run, save

BLOCKED = """<ir_version: 9, opset_import: ["": 20]>
    main (string[N] a, string[N] b, float[2] x) => (string[N] c, string[N] d, float[2] y) {
        c = StringConcat (a, b)
        d = StringConcat (b, a)
        y = Gelu (x)
    }"""
FREE = """<ir_version: 8, opset_import: ["": 13]>
    main (float[N] x, float[1] w) => (float[N] y) <float[1] w = {2}> { y = Add (x, w) }"""


def test_what_stands_in_the_way_is_shown(folder):
    save("m.onnx", BLOCKED, folder)
    result = run("blockers", "m.onnx", "--to", 17)
    assert (result.exit_code, result.stderr) == (1, "")
    lines = result.stdout.splitlines()
    assert lines[0] == "m.onnx: ai.onnx 20 -> 17, IR version 9 -> 8: 2 of 3 nodes blocked"
    assert lines[1:4] == [
        "  StringConcat 20: 2 nodes, the first is graph 'main', node number 0 (StringConcat)",
        "    C201 StringConcat came with version 20",
        "    help: convert to 20 or newer",
    ]
    assert lines[5].startswith("  Gelu      20           1  lowered to ")
    assert not [*folder.glob("*opset*")]


def test_a_later_release_of_a_runtime_is_named(folder):
    save("m.onnx", BLOCKED.replace("Gelu", "Relu"), folder)
    result = run("blockers", "m.onnx", "--for", "onnxruntime==1.16")
    assert result.exit_code == 1
    assert "    help: onnxruntime-cpu 1.17 has a kernel of StringConcat 20" in result.stdout.splitlines()
    result = run("blockers", "m.onnx", "--for", "onnxruntime==1.17")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == ["m.onnx: ai.onnx 20, IR version 9: nothing stands in the way"]


def test_models_are_summed(folder):
    save("a/one.onnx", BLOCKED, folder)
    save("a/two.onnx", BLOCKED, folder)
    save("a/three.onnx", SMALL, folder)
    result = run("blockers", "a", "--to", 17)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    assert lines[-4:] == [
        "3 models: 1 free, 2 blocked",
        "StringConcat: 4 nodes in 2 models",
        "    C201 StringConcat came with version 20",
        "    help: convert to 20 or newer",
    ]
    assert run("blockers", "a", "--to", 17, "-j", 2).stdout == result.stdout
    data = json.loads(run("blockers", "a", "--to", 17, "--format", "json").stdout)
    assert data["summary"] == {"models": 3, "free": 1, "blocked": 2, "failed": 0, "exit_status": 1}
    assert [(each["operator"], each["nodes"], each["models"]) for each in data["blockers"]] == [("StringConcat", 4, 2)]
    one, three, two = data["models"]
    assert (one["status"], three["status"], two["exit_status"]) == ("blocked", "free", 1)
    assert one["blockers"][0]["nodes"] == 2 and one["nodes"]["refused"] == 2
    assert [each["operator"] for each in one["rewritten"]] == ["Gelu"]
    assert one["rewritten"][0]["places"] == [{"graph": 0, "node": 2, "name": ""}]


def test_nodes_that_are_wrong_stand_in_the_way_too(folder):
    save("m.onnx", REFUSED, folder)
    data = json.loads(run("blockers", "m.onnx", "--to", 17, "--format", "json").stdout)
    found = {(each["operator"], each["code"], each["nodes"]) for each in data["models"][0]["blockers"]}
    assert found == {("StringConcat", "C201", 2), ("Unsqueeze", "C103", 1), ("Nonesuch", "C101", 1)}


def test_exit_statuses(folder):
    (folder / "bad.onnx").write_bytes(b"\xff" * 40)
    save("m.onnx", SMALL, folder)
    assert run("blockers", "bad.onnx", "--to", 17).exit_code == 3
    assert run("blockers", "m.onnx").exit_code == 2
    assert run("blockers", "m.onnx", "--for", "nonesuch==1").exit_code == 2
    assert run("blockers", "m.onnx", "--to", 17, "-q").stdout == ""
    for name in ("a.onnx", "b.onnx"):
        save(name, REFUSED, folder)
    assert "StringConcat" in run("blockers", "a.onnx", "b.onnx", "--to", 17).stdout
    assert run("blockers", "a.onnx", "b.onnx", "--to", 17, "-q").stdout == ""
    assert len(json.loads(run("blockers", "a.onnx", "b.onnx", "--to", 17, "--format", "json").stdout)["models"]) == 2
    assert run("blockers", "m.onnx", "--ir-version", 8).exit_code == 0


def test_sizes_and_values_that_are_fixed_need_no_target(folder):
    save("m.onnx", FREE, folder)
    for option in (["--dim", "N=3"], ["--freeze", "all"]):
        result = run("blockers", "m.onnx", *option)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.splitlines()[0] == "m.onnx: ai.onnx 13, IR version 8: nothing stands in the way"
    assert "error[U103]" not in run("blockers", "m.onnx", "gone.onnx", "--to", 14).stderr  # no model is written
    assert run("blockers", "m.onnx").exit_code == 2
