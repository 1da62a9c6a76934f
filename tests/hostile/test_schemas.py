"""Schema folders that are untrusted: every fault in them is a finding with its place, and reading them is bounded."""

import json
import os
import re
from contextlib import suppress
from pathlib import Path

import pytest

from judges.hostile.processes import attack, own
from opset import ConversionError, convert
from opset.extend import parse_model
from opset.opsets.registry import registry_with
from opset.schemas.constraints.input_shapes import Match, plan_of
from opset.schemas.yaml.loader import load_folder
from opset.schemas.yaml.reader import MAX_FINDINGS, MAX_SIZE

HEAD = "operator: A\nfamily: f\nversions:\n"
ONE = "- since: 1\n  doc: d\n"
TWO = "- since: 2\n  doc: d\n  change: {adapters: {up: derived, down: derived}}\n"
TYPED = "  types: {T: float}\n"


def written(folder, *versions, examples="", name="com.example/A.yaml"):
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(HEAD + "".join(versions) + examples, encoding="utf-8")
    return folder


def found(outcome):
    return [each["code"] for each in json.loads(outcome.stdout)["findings"]]


def linted(folder):
    """Return the codes of findings; each has the line and column of a file in the folder."""
    outcome = own(attack("lint", folder, "--format", "json"), 1)
    places = [each["place"] for each in json.loads(outcome.stdout)["findings"]]
    assert all(re.fullmatch(rf"{re.escape(str(folder))}/\S+:\d+:\d+", place) for place in places), places
    return found(outcome)


# Each is a version with its fault, and the codes of the findings.
FAULTS = {
    "parameters without a name": (ONE + "  inputs: [{type: tensor(float)}, {type: tensor(float)}]\n", ["S104"] * 2),
    "a name that is no text": (ONE + "  inputs: [{name: [], type: tensor(float)}, {name: 1, type: x}]\n", ["S105"] * 2),
    "a default of another type": (ONE + "  attributes: {a: {type: int, default: b, range: '> 0'}}\n", ["S105"] * 2),
    "a default beyond an int": (ONE + f"  attributes: {{a: {{type: int, default: {2**70}}}}}\n", ["S105"]),
    "a default beyond a float": (ONE + "  attributes: {a: {type: float, default: 1e39}}\n", ["S105"]),
    "a default beyond a double": (ONE + "  attributes: {a: {type: float, default: 1e400}}\n", ["S105"]),
    "a default of many digits": (ONE + f"  attributes: {{a: {{type: int, default: {'9' * 9000}}}}}\n", ["S105"]),
    "a range that is none": (ONE + "  attributes: {a: {type: int, range: '0 < =x'}}\n", ["S105"]),
    "a version beyond an int": (ONE.replace("1", str(2**70)), ["S105"]),
    "an old value of another type": (
        TWO.replace("adapters", "attributes: {a: {added: ints, old: {every: 1}}, b: {added: int, old: x}}, adapters")
        + "  attributes: {a: {type: ints}, b: {type: int}}\n"
        + ONE,
        ["S103", "S104", "S105"],
    ),
    "values that are no text": (
        TWO.replace("adapters", "attributes: {a: {values: {x: {y: z}}}}, adapters")
        + "  attributes: {a: {type: string}}\n"
        + ONE
        + "  attributes: {a: {type: string}}\n",
        ["S105"],
    ),
    "control characters in names": (ONE + '  attributes: {"a\\e[31m": {type: int}}\n', ["S105"]),
    "a key without an end": (ONE + f"  attributes: {{? {'a' * 9000} : {{type: int}}}}\n", ["S102"]),
    "more inputs than any operator": (
        ONE + "  inputs: [" + ", ".join(f"{{name: x{n}, type: tensor(float)}}" for n in range(300)) + "]\n",
        ["S102"],
    ),
    "more conditions than any operator": (
        ONE
        + "  inputs: [{name: x, type: tensor(float)}]\n  constraints: {C1: ["
        + ", ".join("{rank: {x: 1}}" for n in range(300))
        + "]}\n",
        ["S102"],
    ),
    "more versions than any operator": ("".join(f"- {{since: {n}}}\n" for n in range(300, 0, -1)), ["S102"]),
    "anchors, aliases, merges and tags": (ONE + "  types: {<<: &a {T: !!str float}, U: *a}\n", ["S101"] * 3),
}


def test_every_fault_is_a_finding_with_its_place(tmp_path):
    for number, (version, _) in enumerate(FAULTS.values()):
        written(tmp_path / "all", version, name=f"com.example/A{number:02}.yaml")
    outcome = own(attack("lint", tmp_path / "all", "--format", "json"), 1)
    listed = own(attack("list", "--schemas", tmp_path / "all"), 2)
    for number, (name, (_, codes)) in enumerate(FAULTS.items()):
        file = f"A{number:02}.yaml:"
        findings = [each for each in json.loads(outcome.stdout)["findings"] if file in each["place"]]
        assert {*codes} <= {each["code"] for each in findings}, (name, findings)
        assert all(re.search(r"\.yaml:\d+:\d+$", each["place"]) for each in findings), (name, findings)
    assert b"error[S1" in listed.stderr and b"\x1b" not in outcome.stdout + listed.stderr


def test_a_version_that_changes_nothing_is_shown_and_converted(tmp_path):
    written(tmp_path, TWO, ONE)
    assert linted(tmp_path).count("S205") == 1
    for arguments in (["show", "A"], ["diff", "A", "1", "2"]):
        own(attack(*arguments, "--domain", "com.example", "--schemas", tmp_path), 0)
    _, change = registry_with([tmp_path]).versions("A", "com.example")
    assert change.change is not None


def test_infinity_and_nan_are_defaults_that_are_shown(tmp_path):
    attributes = "  attributes: {a: {type: float, default: .inf}, b: {type: floats, default: [.nan, -.inf]}}\n"
    written(tmp_path, ONE + attributes)
    outcome = own(attack("show", "A", "--domain", "com.example", "--schemas", tmp_path), 0)
    assert b"inf" in outcome.stdout and b"nan" in outcome.stdout


# Changes that no operator makes, a node at one version, and the other version.
PORTS = "inputs: [{name: x, type: tensor(float)}%s], outputs: [{name: y, type: tensor(float)}]"
DATA = "kind: data_type"
CHANGES = {
    "a string that becomes an input of numbers": ("{removed: string, input: z}", "", "string", 'a = "q"', 1),
    "a type that becomes an input of numbers": ("{removed: type_proto, input: z}", "", "type_proto", "a = float[2]", 1),
    "a data type that becomes a list": ("{type: [int, ints]}", f"ints, {DATA}", f"int, {DATA}", "a = 1", 1),
    "a list that becomes a data type": ("{type: [int, ints]}", f"ints, {DATA}", f"int, {DATA}", "a = [1]", 2),
    "an axis that is text": ("{negative: true}", "string", "string", 'a = "q"', 2),
    "a mapping that is for text alone": ("{values: {u: v}}", "ints", "string", 'a = "u"', 1),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_no_operator_makes_is_refused_or_left_alone(name, tmp_path):
    change, new, old, attribute, version = CHANGES[name]
    third = ", {name: z, type: tensor(int64)}" if "input" in change else ""
    newer = TWO.replace("adapters", f"attributes: {{a: {change}}}, adapters") + f"  {PORTS % third}\n".replace(
        ", outputs", "\n  outputs"
    )
    newer += f"  attributes: {{a: {{type: {new}}}}}\n" if new else ""
    older = ONE + f"  {PORTS % ''}\n".replace(", outputs", "\n  outputs") + f"  attributes: {{a: {{type: {old}}}}}\n"
    registry = registry_with([written(tmp_path, newer, older)])
    text = f'<ir_version: 10, opset_import: ["": 21, "com.example": {version}]> g (float[2] x) => (float[2] y)'
    model = parse_model(f"{text} {{ y = com.example.A <{attribute}> (x) }}")
    with suppress(ConversionError):
        convert(model, {"com.example": 3 - version}, schemas=registry)


def test_a_product_beyond_a_float_decides_nothing(tmp_path):
    text = "  inputs: [{name: x, type: tensor(float)}]\n  attributes: {k: {type: int}}\n"
    text += f"  constraints: {{C1: {{sizes: {{{' * '.join(['k'] * 50)} * 0.5: '> 0'}}}}}}\n"
    (schema,) = registry_with([written(tmp_path, ONE + text)]).versions("A", "com.example")
    plan = plan_of(schema)
    Match(plan, [(2,)], lambda _: 2**62, lambda _: None, lambda _: True).check()


# What takes long or much memory where it is not bounded: the text of a file.
BOMBS = {
    "long names that nearly are others": ONE + "  types: {"
    + ", ".join(f"{'ab' * 40}{n}: float" for n in range(250)) + "}\n  inputs: ["
    + ", ".join(f"{{name: x{n}, type: {'ba' * 40}{n}}}" for n in range(250)) + "]\n",
    "text of many lines": ONE + '  attributes: {a: {type: string, default: "x' + "a\\n" * 250_000 + ' \\n", doc: d}}\n',
    "a type many times": ONE + "  types: {T: [" + "float, " * 100_000 + "float]}\n",
    "choices and a long default": ONE + "  attributes: {a: {type: ints, doc: d, choices: ["
    + ", ".join(map(str, range(30_000))) + "], default: [" + "29999, " * 15_000 + "1]}}\n",
    "attributes in every version": TWO.replace("2", "250")
    + "  attributes: {" + ", ".join(f"a{n}: {{type: int, required: true, doc: d}}" for n in range(250)) + "}\n"
    + "".join(
        f"- {{since: {n}, like: 250, change: {{adapters: {{up: derived, down: derived}}}}}}\n"
        for n in range(249, 1, -1)
    ) + ONE + "examples:\n" + "".join(f"- {{name: e{n}, since: 2, outputs: []}}\n" for n in range(5000)),
    "constraints without an end": ONE + "  constraints: {"
    + ", ".join(f"C{n}: {{sizes: {{{n}: 1}}}}" for n in range(1, 9999)) + "}\n",
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_what_grows_is_bounded(name, tmp_path):
    written(tmp_path, BOMBS[name])
    assert len((tmp_path / "com.example" / "A.yaml").read_bytes()) < MAX_SIZE
    own(attack("lint", "--fix", tmp_path))
    assert own(attack("list", "--schemas", tmp_path), 0, 2).megabytes < 500


def test_sets_of_sets_are_bounded(tmp_path):
    written(tmp_path, ONE)
    nested = (f"a{n}: [a{n - 1}, seq(a{n - 1}), optional(a{n - 1})]\n" for n in range(1, 40))
    sets = "a0: [float, double]\n" + "".join(nested)
    (tmp_path / "types.yaml").write_text(sets)
    assert "S102" in linted(tmp_path)


def test_a_file_that_is_fixed_can_still_be_read(tmp_path):
    written(tmp_path, ONE.replace("doc: d", 'doc: "' + "\\e" * (MAX_SIZE // 3) + '"'))
    own(attack("lint", "--fix", tmp_path))
    assert len(load_folder(tmp_path)[0]) == 1


def test_what_is_no_regular_file_is_not_waited_for(tmp_path):
    written(tmp_path, ONE)
    domain = tmp_path / "com.example"
    os.mkfifo(domain / "Pipe.yaml")
    (domain / "Endless.yaml").symlink_to("/dev/zero")
    (domain / "Lost.yaml").symlink_to("nowhere")
    (domain / "Loop.yaml").symlink_to("Loop.yaml")
    (domain / "Folder.yaml").mkdir()
    with (domain / "Sparse.yaml").open("wb") as file:
        file.truncate(20 << 30)
    assert sorted(linted(tmp_path)) == ["S101"] * 5 + ["S102"]
    outcome = own(attack("show", "A", "--schemas", tmp_path), 2)
    assert outcome.stderr.count(b"error[S10") == 6


@pytest.mark.parametrize("name", ["types.yaml", "lock.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "loop", "large"])
def test_files_beside_the_domains_are_regular_and_small(kind, name, tmp_path):
    path = written(tmp_path, ONE) / name
    {
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "folder": path.mkdir,
        "loop": lambda: path.symlink_to(name),
        "large": lambda: path.write_bytes(b" " * (8 << 20)),
    }[kind]()
    own(attack("lint", tmp_path), 1)


def test_a_folder_of_very_many_files_is_refused(tmp_path):
    written(tmp_path, ONE)
    for number in range(5000):
        (tmp_path / "com.example" / f"B{number}.yaml").touch()
    assert found(own(attack("lint", tmp_path, "--format", "json"), 3)) == ["S101"]


def test_very_many_findings_end_the_reading(tmp_path):
    (tmp_path / "com.example").mkdir()
    for number in range(200):
        text = "{" + ", ".join(f"k{key}: 1" for key in range(200)) + "}"
        (tmp_path / "com.example" / f"B{number}.yaml").write_text(text)
    codes = found(own(attack("lint", tmp_path, "--format", "json"), 1))
    assert MAX_FINDINGS < len(codes) <= 6 * MAX_FINDINGS


def test_a_loop_of_links_is_no_folder(tmp_path):
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    own(attack("lint", loop), 3)
    own(attack("list", "--schemas", loop), 2)


@pytest.mark.parametrize("name", ["a\x1b[31mb", "a\nb", os.fsdecode(b"a\xff")])
def test_a_domain_has_no_control_characters(name, tmp_path):
    written(tmp_path, ONE, name=str(Path(name, "A.yaml")))
    outcome = own(attack("list", "--schemas", tmp_path), 2)
    assert b"S215" in outcome.stderr and b"\x1b" not in outcome.stderr
