"""`opset show`, `list`, `diff`, `lint`, `explain`, `completion`, and what all verbs share."""

import json
import re
import subprocess

import onnx
import pytest

import opset
from opset.advice import PAGES
from opset.cli import VERBS
from opset.cli.operators import schema_lines, shorten
from opset.docgen.guides import guides
from opset.errors import CODES
from opset.explanations import page_of
from opset.opsets.registry import default_registry
from opset.opsets.releases import RELEASES
from opset.opsets.runtimes import releases_of, runtime_names
from opset.version_converter import targets
from tests.cli.commands import REFUSED, SMALL, run, run_json, save


def test_help_shows_every_verb():
    result = run("--help")
    assert result.exit_code == 0
    assert re.findall(r"^  ([\w-]+) {2,}\w", result.stdout.split("Verbs:")[1], re.MULTILINE) == list(VERBS)
    assert run("--version").stdout == f"opset {opset.__version__}\n"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help(verb):
    for option in ("--help", "-h"):
        result = run(verb, option)
        assert result.exit_code == 0, result.output
        assert f"Usage: opset {verb} " in result.stdout and "--format" in result.stdout


@pytest.mark.parametrize(
    "arguments", [[], ["nonesuch"], ["--nonesuch"], ["explain", "--nonesuch"], ["diff", "Relu", "x", "1"]]
)
def test_usage_errors(arguments):
    result = run(*arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert "Usage: opset" in result.stderr


# show


def test_show_gives_the_signature_at_a_version():
    data = run_json("show", "Softmax", 12)
    schema = opset.get_schema("Softmax", 12)
    assert [data[key] for key in ("operator", "domain", "since")] == ["Softmax", "ai.onnx", 11]
    assert data["versions"][:3] == [1, 11, 13]
    assert data["attributes"][0]["default"] == 1 and data["attributes"][0]["type"] == "int"
    assert [each["name"] for each in data["inputs"]] == [each.name for each in schema.inputs]
    assert data["types"] == {name: list(types) for name, types in schema.types.items()}
    assert data["doc"] == default_registry().documentation(schema).doc
    assert [(each["before"], each["since"]) for each in data["changes"]][:2] == [(1, 11), (11, 13)]
    text = run("show", "Softmax", 12).stdout
    assert text.startswith("Softmax 11  (ai.onnx; versions 1, 11, 13") and "; family activation)\n" in text
    assert "  axis  int = 1\n" in text and "attribute axis: default 1 -> -1" in text


def test_show_gives_the_newest_version_and_finds_domains():
    assert run_json("show", "Softmax")["since"] == opset.get_schema("Softmax").since_version
    assert run_json("show", "Scaler")["domain"] == "ai.onnx.ml"
    assert run_json("show", "ai.onnx.ml.Scaler") == run_json("show", "Scaler", "--domain", "ai.onnx.ml")
    assert run_json("show", "ai.onnx.Relu") == run_json("show", "Relu")
    for domain in ("ai.onnx.ml", "ai.onnx"):  # a name in a domain has no other before it
        result = run("show", "ai.onnx.ml.Scaler", "--domain", domain)
        assert result.exit_code == 2 and f"there is no operator 'ai.onnx.ml.Scaler' in {domain}" in result.stderr
    assert run_json("show", "Relu", "--domain", "ai.onnx") == run_json("show", "Relu")
    assert run_json("show", "Sum")["inputs"][0]["option"] == "variadic"
    assert run_json("show", "Sum")["max_input"] is None
    assert "Upsample 1" in (text := run("show", "Upsample", 10).stdout) and "withdrawn; use Resize" in text


@pytest.mark.parametrize(
    ("operator", "shown"),
    [
        ("Erf@13", "\n  onnx 1.20.0 removed int8, int16, int32, int64, uint8, uint16, uint32, uint64 from T\n\n"),
        ("Erf@9", "\n\nimplementations\n  onnxruntime 1.31: Integers are not supported.\n\nshapes of outputs\n"),
        ("FlexAttention@1", "family attention)\n  experimental\n\n"),
        ("Multinomial@22", "family create)\n  nondeterministic\n\n"),
    ],
)
def test_show_says_what_few_operators_have(operator, shown):
    assert shown in run("show", operator).stdout


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ("types", "types, and which parameters may be left out, are not in the document that declares it"),
        ("signature", "its signature is not in the document that declares it"),
    ],
)
def test_show_says_which_parts_are_not_known(known, words):
    data = {**run_json("show", "Relu"), "unknown": known}
    assert f"  {words}" in schema_lines(data)


def test_a_version_may_be_written_in_each_of_three_ways():
    assert run_json("show", "Softmax@12") == run_json("show", "Softmax", 12)
    assert run_json("show", "Softmax", "--opset", 12) == run_json("show", "Softmax", 12)
    assert run("show", "Softmax@12", 12).exit_code == 2
    assert run("show", "Softmax", 12, "--opset", 12).exit_code == 2


def test_show_gives_examples_of_the_version():
    data = run_json("show", "Softmax@13")
    example = next(each for each in data["examples"] if each["name"] == "first_axis")
    assert example["attributes"] == {"axis": 0}
    assert example["inputs"] == [{"type": "tensor(float)", "shape": [2, 3], "content": [[0, 1, 2], [0, 10, 10]]}]
    assert "flattened" not in [each["name"] for each in data["examples"]]
    text = run("show", "Softmax@13").stdout
    assert "      in   float[2, 3] [[0, 1, 2], [0, 10, 10]]\n" in text and " more: --format json\n" in text


def test_show_gives_what_an_operator_set_has():
    data = run_json("show", "ai.onnx", 17)
    assert data == run_json("show", "--opset", 17) == run_json("show", "ai.onnx@17")
    assert (data["domain"], data["version"], data["releases"]) == ("ai.onnx", 17, ["1.12.0"])
    assert "LayerNormalization" in [each["operator"] for each in data["new"]]
    assert {"operator": "Softmax", "since": 13, "family": "activation"} in data["operators"]
    assert "Upsample" in [each["operator"] for each in run_json("show", "--opset", 10)["withdrawn"]]
    assert "Upsample" not in [each["operator"] for each in data["operators"]]
    assert run_json("show", "ai.onnx.ml") == run_json(
        "show", "--domain", "ai.onnx.ml", "--opset", default_registry().domains["ai.onnx.ml"]
    )
    text = run("show", "ai.onnx", 17).stdout
    assert text.startswith("ai.onnx 17  (176 operators; in onnx 1.12.0)\n") and "    Det 11, Einsum 12" in text
    for arguments in (["ai.onnx", "99"], ["--opset", "0"], ["ai.onnx", "--domain", "ai.onnx"], ["--domain", "ai.onnx"]):
        assert run("show", *arguments).exit_code == 2


def test_a_file_that_is_named_as_a_domain_is_a_file_without_a_version(folder, small):
    (folder / "ai.onnx").write_bytes(small.read_bytes())
    assert run_json("show", "ai.onnx")["model"] == "ai.onnx"
    assert run_json("show", "ai.onnx", 17)["version"] == 17


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["softmax"], "did you mean Softmax"),
        (["Qwertyuiop"], "opset list shows all"),
        (["Softmax", "99"], "versions of ai.onnx go from 1 to"),
        (["Softmax", "0"], "versions of ai.onnx go from 1 to"),
        (["LayerNormalization", "16"], "it came with version 17"),
        (["com.example.Relu"], "known: ai.onnx"),
        (["Relu", "--domain", "ai.onnx.ml"], "no operator 'Relu' in ai.onnx.ml"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(arguments, says):
    result = run("show", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error[U105]") and says in result.stderr


def test_every_operator_can_be_shown():
    registry = default_registry()
    for domain in registry.domains:
        for name in registry.operators(domain):
            result = run("show", name, "--domain", domain or "ai.onnx")
            assert result.exit_code == 0
            assert max(map(len, result.stdout.splitlines())) <= 130, name
            assert all(line.isprintable() for line in result.stdout.splitlines())


def test_show_gives_what_a_model_holds(folder):
    functions = '<domain: "f", opset_import: ["": 9]> g (a) => (b) { c = Relu (a)  b = Softmax (c) }'
    text = SMALL.replace('["": 11]', '["": 11, "f": 1, "com.example": 3]').replace("Relu (u)", "f.g (u)")
    save("model.onnx", text.replace("}", "z = com.example.Own (x) }") + functions, folder)
    data = run_json("show", "model.onnx")
    assert (data["ir_version"], data["producer"], data["graph"], data["nodes"]) == (6, "exporter", "main", 6)
    assert {each["domain"]: each["version"] for each in data["opsets"]} == {"ai.onnx": 11, "f": 1, "com.example": 3}
    rows = {(each["domain"], each["operator"], each["since"]): each["nodes"] for each in data["operators"]}
    assert rows == {
        ("ai.onnx", "Unsqueeze", 11): 1,
        ("ai.onnx", "Squeeze", 11): 1,
        ("com.example", "Own", None): 1,
        ("ai.onnx", "Relu", 6): 1,
        ("ai.onnx", "Softmax", 1): 1,
    }
    assert data["functions"] == [{"domain": "f", "function": "g", "calls": 1}]
    shown = run("show", "model.onnx").stdout
    for words in (
        "IR version  6, since ONNX 1.6.0",
        "ai.onnx 11 of",
        "com.example 3 (no schemas)",
        "com.example.Own  unknown",
        "f.g",
    ):
        assert words in shown
    save(
        "model.onnx", text.replace("ir_version: 6", "ir_version: 99").replace("}", "z = com.example.Own (x) }"), folder
    )
    assert "IR version  99\n" in re.sub(" +\n", "\n", run("show", "model.onnx").stdout)
    assert run("show", "-", stdin=(folder / "model.onnx").read_bytes()).exit_code == 0
    assert run("show", "model.onnx", 13).exit_code == 2


def test_show_counts_every_kind_of_initializer(folder):
    path = save("model.onnx", SMALL, folder)
    proto = onnx.load(path)
    dense = [onnx.helper.make_tensor(name, 1, [1], [1.0]) for name in "abc"]
    indices = onnx.helper.make_tensor("", 7, [1], [0])
    proto.graph.initializer.extend(dense)
    proto.graph.sparse_initializer.append(onnx.helper.make_sparse_tensor(dense[0], indices, [4]))
    proto.graph.sparse_initializer[0].values.name = "d"
    path.write_bytes(proto.SerializeToString())
    data = run_json("show", "model.onnx")
    operators, opsets = data.pop("operators"), data.pop("opsets")
    assert (len(operators), len(opsets)) == (3, 1)
    assert data == {
        "model": "model.onnx", "ir_version": 6, "producer": "exporter", "graph": "main",
        "inputs": [{"name": "x", "type": "tensor(float)[2, 3]"}],
        "outputs": [{"name": "y", "type": "tensor(float)[2, 3]"}],
        "weights": data["weights"], "external_data": [], "nodes": 3, "functions": [],
    }  # fmt: skip
    assert sum(each["tensors"] for each in data["weights"]) == 4


# list


def test_list_operators():
    registry = default_registry()
    data = run_json("list")["listed"]
    assert {(each["operator"], each["domain"]) for each in data} == {
        (name, domain or "ai.onnx") for domain in registry.domains for name in registry.operators(domain)
    }
    by_name = {each["operator"]: each for each in data}
    assert by_name["Softmax"]["since"][:3] == [1, 11, 13] and by_name["Upsample"]["withdrawn"] is True
    lines = run("list").stdout.splitlines()
    assert len(lines) == len(data) + 1
    assert lines[0].split() == ["operator", "domain", "family", "since", "withdrawn"]


def test_list_filters():
    at_16 = {each["operator"]: each["since"] for each in run_json("list", "--opset", 16)["listed"]}
    assert "LayerNormalization" not in at_16 and at_16["Softmax"] == [13] and "Scaler" not in at_16
    activations = run_json("list", "--family", "activation", "--opset", 7)["listed"]
    assert [(each["operator"], *each["since"]) for each in activations] == [
        ("Elu", 6), ("HardSigmoid", 6), ("Hardmax", 1), ("LeakyRelu", 6), ("LogSoftmax", 1), ("PRelu", 7), ("Relu", 6),
        ("Selu", 6), ("Sigmoid", 6), ("Softmax", 1), ("Softplus", 1), ("Softsign", 1),
    ]  # fmt: skip
    assert {each["family"] for each in run_json("list", "--family", "pool")["listed"]} == {"pool"}
    ml = run_json("list", "--domain", "ai.onnx.ml", "--opset", 1)["listed"]
    assert {each["domain"] for each in ml} == {"ai.onnx.ml"} and ml
    for arguments in (
        ["--family", "pools"],
        ["--domain", "ai.onnx", "--family", "ml"],
        ["--domain", "x"],
        ["--opset", "99"],
        ["releases", "--opset", "3"],
    ):
        result = run("list", *arguments)
        assert result.exit_code == 2 and result.stderr.startswith("error[U10")


def test_a_list_of_nothing_is_empty():
    newer = ["list", "--family", "attention", "--opset", 1]
    assert run(*newer).stdout == "" and run_json(*newer)["listed"] == []


def test_list_domains_releases_runtimes():
    registry = default_registry()
    assert {each["domain"]: each["newest"] for each in run_json("list", "domains")["listed"]} == {
        domain or "ai.onnx": newest for domain, newest in registry.domains.items()
    }
    assert [each["release"] for each in run_json("list", "releases")["listed"]] == [each.name for each in RELEASES]
    runtimes = run_json("list", "runtimes")["listed"]
    assert len(runtimes) == sum(len(releases_of(name)) for name in runtime_names())
    for each in runtimes:
        if each["min_opset"] or each["max_opset"]:
            targets.target_of_runtime(f"{each['runtime']}=={each['release']}", registry)
    for things in ("domains", "releases", "runtimes"):
        assert len(run("list", things).stdout.splitlines()) == len(run_json("list", things)["listed"]) + 1


# diff


def test_diff_of_a_range_of_transitions():
    data = run_json("diff", "Softmax", 1, 13)
    assert [(each["before"], each["since"]) for each in data["transitions"]] == [(1, 11), (11, 13)]
    assert data["difference"]["attributes"] == {"axis": {"default": [1, -1]}}
    assert (data["up"], data["down"]) == ("written", "written")
    assert [each["up"] for each in data["transitions"]] == ["written", "written"]
    text = run("diff", "Softmax", 1, 13).stdout
    for words in [*data["words"], "Negative values of `axis`", "up: written; down: written"]:
        assert words in text
    assert text.endswith("\nup: written\ndown: written\n")


def test_diff_of_equal_versions_and_backwards():
    assert run("diff", "Relu", 14, 20).stdout == "Relu 14 -> 20: the same, version 14\n"
    assert run_json("diff", "Relu", 14, 20)["up"] == "nothing to do"
    data = run_json("diff", "Softmax", 13, 1)
    assert data["words"] == ["attribute axis: default -1 -> 1", "type T -bfloat16"]
    assert [(each["before"], each["since"]) for each in data["transitions"]] == [(11, 13), (1, 11)]
    text = run("diff", "Softmax", 13, 1).stdout
    assert text.startswith("Softmax 13 -> 1: version 13 -> 1\n") and "as the newer version changed it" in text
    assert run("diff", "Gelu", 19, 20).exit_code == 2


def test_diff_of_two_versions_of_an_operator_set():
    data = run_json("diff", 20, 22)
    assert [each["operator"] for each in data["new"]] == ["GroupNormalization"]
    assert data["gone"] == []
    changed = {each["operator"]: each for each in data["changed"]}
    assert (changed["Cast"]["since_before"], changed["Cast"]["since_after"], changed["Cast"]["work"]) == (
        19,
        21,
        "nothing to do",
    )
    back = run_json("diff", 22, 20)
    assert [each["operator"] for each in back["gone"]] == ["GroupNormalization"]
    assert {each["operator"] for each in back["changed"]} == changed.keys()
    assert [each["operator"] for each in run_json("diff", 4, 5, "--domain", "ai.onnx.ml")["new"]] == ["TreeEnsemble"]
    assert all(word for each in run_json("diff", 1, 26)["changed"] for word in (each["words"], *each["meaning"]))
    assert "  TreeEnsemble\n" in run("diff", 4, 5, "--domain", "ai.onnx.ml").stdout
    assert run("diff", 17, 17).stdout == "ai.onnx 17 -> 17: the same\n"
    for arguments in (["17", "999"], ["0", "3"], ["Relu", "3"], ["17", "18", "--domain", "nonesuch"]):
        assert run("diff", *arguments).exit_code == 2


def test_every_transition_can_be_told():
    registry = default_registry()
    for domain, newest in registry.domains.items():
        for name in registry.operators(domain):
            first = registry.versions(name, domain)[0].since_version
            data = run_json("diff", name, first, newest, "--domain", domain or "ai.onnx")
            for change in data["transitions"]:
                assert change["words"] or change["meaning"] or change["clarified"], (name, change["since"])
                for way in (change["up"], change["down"]):
                    assert way in ("nothing to do", "derived", "written") or way.startswith("impossible: ")


# lint


GOOD = """\
operator: Twice
family: example
versions:
- since: 1
  doc: "Gives `2 * X`."
  inputs:
  - {name: X, type: T, doc: values}
  outputs:
  - {name: Y, type: T, doc: the product}
  types:
    T: [float]
"""


@pytest.fixture
def own(folder):
    path = folder / "schemas/com.example/Twice.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(GOOD)
    return path


def test_lint_of_a_good_folder(own):
    result = run("lint", "schemas")
    assert (result.exit_code, result.stdout, result.stderr) == (0, UNLOCKED + CLEAN, "")
    checked = {"operators": 1, "domains": 1, "files": 1, "unread": 0}
    expected = {"findings": [], "omitted": 0, "locked": [], "unlocked": ["com.example.Twice:1"], "checked": checked}
    assert run_json("lint", "schemas") == expected
    for path in ("schemas/com.example/Twice.yaml", "schemas/com.example", "."):
        assert run_json("lint", path) == expected
    assert run_json("lint", "--schemas", "schemas") == expected


CLEAN = "no findings in 1 operator of 1 domain\n"
UNLOCKED = "not released, since the lock does not have them: com.example.Twice:1\n"


def test_lint_tells_every_finding(own):
    own.write_text(GOOD.replace("doc: values", "dok: values"))
    (own.parent / "Other.yaml").write_text(GOOD)
    result = run("lint", "schemas")
    assert result.exit_code == 1
    assert {"S103", "S215"} <= set(re.findall(r"error\[(S\d+)\]", result.stdout))
    assert "schemas/com.example/Twice.yaml:7:" in result.stdout
    assert re.search(r"\n\d findings in 2 operators of 1 domain\n$", result.stdout)
    data = run("lint", "schemas", "--format", "json")
    assert data.exit_code == 1
    assert len(json.loads(data.stdout)["findings"]) == result.stdout.count("error[")


@pytest.mark.parametrize(
    ("folder_of_call", "path", "place"),
    [
        ("com.example", "Twice.yaml", "Twice.yaml"),
        ("com.example", "./Twice.yaml", "Twice.yaml"),
        ("com.example", ".", "Twice.yaml"),
        ("com.example", "../com.example/Twice.yaml", "../com.example/Twice.yaml"),
        ("com.example", "..", "../com.example/Twice.yaml"),
        ("com.example/inner", "../Twice.yaml", "../Twice.yaml"),
        ("com.example/inner", "..", "../Twice.yaml"),
    ],
)
def test_lint_and_test_tell_files_as_the_user_named_them(own, monkeypatch, folder_of_call, path, place):
    (own.parent / "inner").mkdir()
    own.write_text(GOOD.replace("doc: values", "dok: values"))
    monkeypatch.chdir(own.parents[1] / folder_of_call)
    for verb, status in (("lint", 1), ("test", 3)):
        result = run(verb, path)
        places = re.findall(r"where +(\S+?):\d", result.stdout + result.stderr)
        assert (result.exit_code, {*places}) == (status, {place})
    wrong = "examples: [{name: it, since: 1, inputs: [{float: 1}], outputs: [{float: 9}]}]\n"
    own.write_text(f"{GOOD}{wrong}")
    result = run("test", path)
    places = re.findall(r"where +(\S+?):\d", result.stdout + result.stderr)
    assert (result.exit_code, {*places}) == (1, {place})
    own.write_text(GOOD.replace("T: [float]", "T:   [ float ]"))
    assert run("lint", "--fix", path).stdout.startswith(f"fixed {place}\n")


def test_lint_fix_writes_files_and_then_lints(own, folder):
    own.write_text(GOOD.replace("T: [float]", "T:   [ float ]"))
    own.chmod(0o640)
    result = run("lint", "--fix", "schemas")
    assert (result.exit_code, result.stdout) == (0, f"fixed schemas/com.example/Twice.yaml\n{UNLOCKED}{CLEAN}")
    assert (own.read_text(), own.stat().st_mode & 0o777) == (GOOD.replace('"', ""), 0o640)
    assert run("lint", "--fix", "schemas").stdout == UNLOCKED + CLEAN
    own.write_text("# mine\n" + GOOD.replace("doc: values", "doc:   ''"))
    result = run("lint", "--fix", "schemas")
    assert result.exit_code == 1 and "left alone, for its comments: schemas/com.example/Twice.yaml\n" in result.stdout
    assert own.read_text().startswith("# mine")


def test_lint_fix_does_not_write_to_links(own, folder):
    other = folder / "other.yaml"
    other.write_text(GOOD.replace("T: [float]", "T:   [ float ]"))
    own.unlink()
    own.symlink_to(other)
    before = other.read_text()
    result = run("lint", "--fix", "schemas")
    assert result.exit_code != 0 and "error[U104]" in result.stderr
    assert own.is_symlink() and other.read_text() == before


def test_lint_takes_the_folders_of_the_project(own, folder):
    (folder / "pyproject.toml").write_text('[tool.opset]\nschemas = ["schemas"]\n')
    own.write_text(GOOD.replace("doc: values", "dok: values"))
    assert "Twice.yaml:7" in run("lint").stdout


def test_lint_of_what_is_no_folder(folder):
    result = run("lint", "nowhere")
    assert result.exit_code == 3 and "error[S101]" in result.stdout


def test_lock_adds_new_versions_and_finds_their_edits(own, folder):
    lock = folder / "schemas/lock.json"
    own.write_text(GOOD.replace("doc: values", "dok: values"))
    done = run("lint", "--lock", "schemas")
    assert done.exit_code == 1 and not lock.exists()
    assert done.stderr == "note: nothing was locked, since there are findings\n"
    own.write_text(GOOD)
    assert run("lint", "--lock", "schemas").stdout == f"locked com.example.Twice:1\n{CLEAN}"
    assert run_json("lint", "--lock", "schemas")["locked"] == []
    own.write_text(GOOD.replace("[float]", "[float, double]"))
    result = run("lint", "schemas")
    assert result.exit_code == 1 and "error[S203]" in result.stdout


def test_lint_of_released_operators_finds_what_the_lock_lacks(own, folder):
    assert "error[S241]" in run("lint", "--released", "schemas").stdout
    assert run("lint", "--released", "--lock", "schemas").stdout == f"locked com.example.Twice:1\n{CLEAN}"
    assert run("lint", "--released", "schemas").exit_code == 0
    (own.parent / "Late.yaml").write_text(GOOD.replace("Twice", "Late"))
    result = run("lint", "schemas")  # an operator of a released version of the domain that the lock does not have
    assert result.exit_code == 1 and "error[S241] Late 1" in result.stdout
    (own.parent / "Late.yaml").write_text(GOOD.replace("Twice", "Late").replace("since: 1", "since: 2"))
    assert run("lint", "schemas").exit_code == 0


def test_lint_runs_no_code_of_a_folder_that_a_search_led_to(own, folder):
    (own.parent / "adapters.py").write_text("raise SystemExit('this was run')")
    (folder / "deep").mkdir()
    (folder / "schemas").rename(folder / "deep" / "schemas")
    for arguments, runs in (
        (["."], False),
        (["deep/schemas"], True),
        ([".", "deep/schemas"], True),
        (["deep/schemas", "."], True),
        ([".", "--allow-hooks"], True),
    ):
        result = run("lint", *arguments)
        assert ("this was run" in result.output) is runs and ("was not run" in result.stderr) is not runs
    assert "this was run" not in run("lint", "deep/schemas", "--no-hooks").output


def test_lint_misses_adapters_where_there_is_no_code_that_it_may_not_run(own, folder):
    changed = GOOD.replace(
        "since: 1", "since: 2\n  change:\n    meaning: It doubles.\n    adapters: {up: written, down: derived}"
    )
    own.write_text(f"{changed}- {{since: 1, like: 2, doc: Gives `X + X`.}}\n")
    for arguments in ([], ["--no-hooks"]):
        assert "S206" in run("lint", ".", *arguments).stdout
    (own.parent / "adapters.py").touch()
    assert "S206" not in run("lint", ".", "--no-hooks").stdout and "S206" in run("lint", ".", "--allow-hooks").stdout


def test_the_operators_of_folders_are_tested_if_none_is_named(own, folder):
    own.write_text(f"{GOOD}  function: [{{opset: 7, nodes: 'Y = Add (X, X)'}}]\nexamples: [{TWO}]\n")
    assert "com.example" not in run("test", "Sign@13", "--only", "kernel", "--schemas", "schemas").stdout
    data = run_json("test", "--schemas", "schemas", "--only", "function")
    assert [(each["part"], each["passed"], each["failed"]) for each in data["parts"]] == [("function", 1, 0)]


TWO = "{name: it, since: 1, inputs: [{float: 1}], outputs: [{float: 2}]}"


def test_own_operators_are_known_to_every_verb(own, folder):
    assert run_json("show", "com.example.Twice", "--schemas", "schemas")["doc"] == "Gives `2 * X`."
    assert {"domain": "com.example", "newest": 1, "operators": 1} in run_json(
        "list", "domains", "--schemas", "schemas"
    )["listed"]
    assert run("diff", "Twice", 1, 1, "--schemas", "schemas").exit_code == 0
    assert run("show", "com.example.Twice").exit_code == 2


# explain


def test_every_page_has_a_code():
    assert {path.stem for path in PAGES.iterdir()} <= CODES.keys()


def test_every_page_has_its_parts():
    wrong = []
    for code in CODES:
        text = page_of(code)
        parts = re.split(r"^#.*\n", text, flags=re.MULTILINE)
        if re.findall(r"^## (.*)$", text, re.MULTILINE) != ["Bad", "Good", "What to do"]:
            wrong.append(f"{code}: its headings are not Bad, Good, What to do")
        if not all(part.strip() for part in parts[1:]):
            wrong.append(f"{code}: a part is empty")
        if max(map(len, text.splitlines())) > 120:
            wrong.append(f"{code}: a line has more than 120 characters")
        named = re.findall(r"(?:^    (?:\$ )?|`|&& )opset (\w[\w-]*)", text, re.MULTILINE)
        wrong += [f"{code}: there is no verb {verb}" for verb in named if verb not in VERBS]
    assert not wrong, "\n".join(wrong)


def test_explain():
    result = run("explain", "c204", "C101", "C204")
    assert result.exit_code == 0
    pages = [page_of(code) for code in ("C204", "C101")]
    assert result.stdout == "\n\n".join(page.rstrip("\n") for page in pages) + "\n"
    assert run_json("explain", "C204")["listed"][0]["page"] == pages[0].rstrip("\n")
    codes, names = run("explain").stdout.split("\n\n")
    assert codes.splitlines() == [f"{code}  {title}" for code, title in CODES.items()]
    width = max(len(guide.name) for guide in guides())
    assert names.splitlines() == [f"{guide.name:{width}}  {guide.summary}" for guide in guides()]
    listed = run_json("explain")["listed"]
    assert listed[: len(CODES)] == [{"code": code, "title": title} for code, title in CODES.items()]
    assert [each["guide"] for each in listed[len(CODES) :]] == [guide.name for guide in guides()]


def test_explain_shows_guides():
    text = run("explain", "Converting", "c204").stdout
    assert text.startswith("# Converting models\n") and "\n# C204: " in text and ".md)" not in text
    page = run_json("explain", "converting")["listed"][0]
    assert (page["guide"], page["title"]) == ("converting", "Converting models") and page["page"] in text


def test_explain_of_an_unknown_code():
    result = run("explain", "C2X", "C101", "convertin")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "there is no error code or guide 'C2X'" in result.stderr and "there are C201, C202, " in result.stderr
    assert "did you mean converting" in result.stderr


# completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell):
    result = run("completion", shell)
    assert result.exit_code == 0
    assert "_OPSET_COMPLETE" in result.stdout
    assert run_json("completion", shell)["script"].splitlines() == result.stdout.splitlines()


def test_the_bash_script_is_bash(folder):
    (folder / "script").write_text(run("completion", "bash").stdout)
    subprocess.run(["bash", "-n", "script"], check=True)


def test_completion_of_nonesuch():
    assert run("completion", "nonesuch").exit_code == 2


# What all share.


def test_an_internal_error_is_one_line_and_a_request(monkeypatch, small, folder):
    from click.testing import CliRunner

    import opset.cli.convert
    from opset.cli import cli

    def broken(*_, **__):
        raise KeyError("such\x1b things")

    monkeypatch.setattr(opset.cli.convert, "conversion_report", broken)
    (folder / "refused.onnx").write_text(REFUSED)
    result = CliRunner().invoke(cli, ["convert", "small.onnx", "refused.onnx", "--to", "21"])
    assert result.exit_code == 70
    assert "error[M102]" in result.stderr
    (line,) = (line for line in result.stderr.splitlines() if "internal error" in line)
    assert line.startswith("small.onnx: opset: internal error: KeyError: 'such\\x1b things' (test_verbs.py:")
    assert "please report it" in line and "Traceback" not in result.stderr
    monkeypatch.setattr(opset.cli.convert, "load_assumed", broken)
    monkeypatch.setenv("OPSET_DEBUG", "1")
    result = CliRunner().invoke(cli, ["convert", "small.onnx", "--to", "21"])
    assert result.exit_code == 70 and "Traceback" in result.stderr


@pytest.mark.parametrize(("verb", "function"), [("infer", "infer"), ("inline", "inline_model")])
def test_an_internal_error_is_told_with_the_model(monkeypatch, small, folder, verb, function):
    from click.testing import CliRunner

    from opset.cli import cli

    def broken(*_, **__):
        raise KeyError("such things")

    save("large.onnx", SMALL, folder)
    monkeypatch.setattr(f"opset.cli.{verb}.{function}", broken)
    result = CliRunner().invoke(cli, [verb, "small.onnx", "large.onnx", "-o", "out/"])
    assert (result.exit_code, result.stdout) == (70, "2 models: 2 failed\n")
    names = [line.partition(" (test_verbs.py:")[0] for line in result.stderr.splitlines()]
    assert names == [f"{name}.onnx: opset: internal error: KeyError: 'such things'" for name in ("small", "large")]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_prints_tracebacks_if_it_is_asked(verb):
    from click.testing import CliRunner

    from opset.cli import cli

    assert "--debug" in CliRunner().invoke(cli, [verb, "--help"]).output


def test_an_internal_error_outside_of_a_model(monkeypatch):
    from click.testing import CliRunner

    import opset.cli.list
    from opset.cli import cli

    def broken(*_):
        raise RecursionError("deep")

    monkeypatch.setattr(opset.cli.list, "registry_for", broken)
    result = CliRunner().invoke(cli, ["list"])
    assert result.exit_code == 70
    assert result.stderr.count("\n") == 1 and "internal error: RecursionError: deep" in result.stderr


def test_show_runs_no_python_beside_yaml(folder):
    (folder / "com.acme").mkdir()
    (folder / "com.acme/Scale.yaml").write_text(
        "operator: Scale\nfamily: acme\nversions:\n- since: 1\n  doc: Scales.\n  inputs: [{name: X, type: T, doc: d}]\n"
        "  outputs: [{name: Y, type: T, doc: d}]\n  types: {T: [float]}\n  constraints: {C1: rank(X) is odd}\n"
    )
    (folder / "com.acme/inference.py").write_text("raise RuntimeError\n")
    assert run_json("show", "com.acme.Scale", "--schemas", ".")["checked"] == {"C1": "run time"}


@pytest.mark.parametrize(
    "verb", [["info"], ["blockers", "--to", "13"], ["check"], ["infer"], ["convert", "--to", "13", "--plan"]]
)
def test_a_verb_that_writes_no_model_reads_all_and_reports_on_stdout(folder, verb):
    save("a.onnx", SMALL, folder)
    result = run(*verb, "a.onnx", "gone.onnx")
    assert result.exit_code == 3 and "is named as an input" not in result.stderr
    data = json.loads(run(*verb, "a.onnx", "gone.onnx", "--format", "json").stdout)["models"]
    assert [(each["input"], each["exit_status"] == 3, each["output"]) for each in data] == [
        ("a.onnx", False, None), ("gone.onnx", True, None)
    ]  # fmt: skip
    piped = run(*verb, "-", stdin=(folder / "a.onnx").read_bytes())
    assert piped.stdout.startswith("stdin: ")
    assert sorted(each.name for each in folder.iterdir()) == ["a.onnx"]


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        (["verify", "--seeds", "1"], "r: same"),
        (["diff"], "NONE, the same"),
        (["merge", "--connect", "y=x", "-o", "whole.onnx"], "6 nodes"),
    ],
)
def test_one_of_two_models_comes_from_stdin(folder, verb, said):
    data = save("a.onnx", SMALL, folder).read_bytes()
    name, *options = verb
    for models in (["-", "a.onnx"], ["a.onnx", "-"]):
        result = run(name, *models, *options, *["--force"] * (name == "merge"), stdin=data)
        assert result.exit_code == 0 and said in result.stdout, result.output
    result = run(name, "-", "-", *options, stdin=data)
    assert result.exit_code == 2 and "error[U103]" in result.stderr


@pytest.mark.parametrize("path", ["schemas", "schemas/com.example", "schemas/com.example/Twice.yaml", "."])
@pytest.mark.parametrize("option", [None, "--no-hooks", "--allow-hooks"])
def test_lint_runs_code_beside_what_a_call_names_unless_it_forbids_it(own, path, option):
    (own.parent / "adapters.py").write_text("raise SystemExit('this was run')")
    result = run("lint", path, *([option] if option else []))
    runs = option == "--allow-hooks" or (option is None and path != ".")
    assert ("this was run" in result.output) is runs
    assert ("was not run" in result.stderr) is (option is None and not runs)


def test_lint_of_one_domain_leaves_adapters_of_others_alone(own, folder):
    other = own.parent.parent / "com.other"
    other.mkdir()
    (other / "adapters.py").write_text("raise SystemExit('this was run')")
    assert "this was run" not in run("lint", "schemas/com.example").output
    assert "this was run" in run("lint", "schemas").output


def test_nothing_is_locked_if_findings_were_left_out(own, folder, monkeypatch):
    (own.parent / "Abc.yaml").write_text(GOOD.replace("Twice", "Abc"))
    later = folder / "later" / "com.later"
    later.mkdir(parents=True)
    (later / "Twice.yaml").write_text(GOOD.replace("doc: the product", "doc: ''"))
    call = ["lint", "--released", "--lock", "schemas", "later"]
    for kept, codes in ((1000, ["S241", "S241", "S212", "S241"]), (1, ["S241"])):
        with monkeypatch.context() as patch:
            patch.setattr("opset.errors.KEPT", kept)
            result = run(*call)
        assert re.findall(r"error\[(S\d+)\]", result.stdout) == codes
        assert result.exit_code == 1 and "\nlocked" not in result.stdout and not [*folder.rglob("lock.json")]
        assert result.stdout.endswith("4 findings in 3 operators of 2 domains\n")
    (later / "Twice.yaml").write_text(GOOD)
    assert run(*call).stdout == (
        "locked com.example.Abc:1\nlocked com.example.Twice:1\nlocked com.later.Twice:1\n"
        "no findings in 3 operators of 2 domains\n"
    )


def test_a_value_is_cut_to_the_room_beside_its_label(monkeypatch):
    monkeypatch.setattr("opset.cli.operators.prose_width", lambda: 20)
    assert [shorten(text) for text in ("abcdef", " a\n\n bc  d ", "abcdefg")] == ["abcdef", "a bc d", "abcde…"]
