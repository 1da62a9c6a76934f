"""Lint rules: each by an example that it finds, and the standard, in which none finds anything."""

import json
from dataclasses import replace

import pytest

from opset.errors import CODES
from opset.model.elements import NUMBERS
from opset.schemas.index import FOLDER, make_schema, standard_index
from opset.schemas.lint.body_rules import OperatorBodies, check_order_of_bodies
from opset.schemas.lint.context import InferenceHooks
from opset.schemas.lint.example_rules import kind_of_type
from opset.schemas.lint.rules import FAMILIES, Hooks, check_target
from opset.schemas.lock import lock_versions
from opset.schemas.selection import folder_of_domains, select_operators
from opset.schemas.yaml.loader import load_folder, load_operator, load_sets
from tests.schemas.linting import lint as lint_all
from tests.schemas.texts import SCALE as TEXT

ABOUT_EXAMPLES = {"S220", "S221", "S222", "S223"}


def lint(*arguments):
    """Return what is not about examples, which most files here have none of."""
    return [finding for finding in lint_all(*arguments) if finding.code not in ABOUT_EXAMPLES]


ADDED = "    attributes: {axis: {added: int, default: 1}}\n"
SIGNATURE = "    axis: {type: int, default: 1, doc: where}\n"
TYPES = "  types:\n    T: floats\n"
GONE = "  attributes: null\n" + TYPES
OLD_ATTRIBUTES = "  attributes:\n    axis: {type: int, default: 1}\n    by: {type: int, doc: factor}\n" + TYPES


def write(folder, text=TEXT, name="Scale", domain="com.acme"):
    (folder / domain).mkdir(parents=True, exist_ok=True)
    (folder / domain / f"{name}.yaml").write_text(text)
    return folder


def edited(*edits):
    text = TEXT
    for old, new in edits:
        assert old in text
        text = text.replace(old, new) if (old, new)[0] != GONE else text[: text.rindex(old)] + new
    return text


def swapped(text):
    """Put the older version first."""
    head, newer, older = text.split("- since")
    return f"{head}- since{older}- since{newer}"


EQUAL = edited(
    ("    types: {T: [+bfloat16]}\n", ""),
    (ADDED, ""),
    ("  attributes:\n" + SIGNATURE, ""),
    ("  attributes: null\n", ""),
    ("floats_ir4", "floats"),
)
REMOVED = edited(
    (ADDED, "    attributes: {by: {removed: int}}\n"),
    (GONE, OLD_ATTRIBUTES),
)
REQUIRED = edited(
    ("{axis: {added: int, default: 1}}", "{axis: {added: int, required: true}}"),
    ("{type: int, default: 1, doc: where}", "{type: int, required: true, doc: where}"),
)
DEPRECATED = edited(
    ("- since: 2\n  change:\n", "- since: 2\n  deprecated: true\n  change:\n    deprecated: true\n"),
    ("  like: 2\n", "  like: 2\n  deprecated: null\n"),
)


def replaced(name):
    """Return the text of an operator that another one replaces."""
    text = DEPRECATED.replace("  change", f"  replacement: {name}\n  change")
    return text.replace("  like: 2\n", "  like: 2\n  replacement: null\n")


# A file, the place of the one finding in it, and what its help begins with.


def with_body(*bodies):
    """Return the text with function bodies of its newer version: keys before `nodes`, and what these are."""
    lines = [f"  - {keys}\n    nodes: {json.dumps(nodes)}\n" for keys, nodes in bodies]
    return edited(
        ("  like: 2\n", "  like: 2\n  function: null\n"),
        ("    T: floats_ir4\n", f"    T: floats_ir4\n  function:\n{''.join(lines)}"),
    )


PRODUCT = "Y = Mul (X, by)"
BROKEN = {
    "S201 undeclared": (edited((ADDED, "")), "S201 6:5", "write attributes: {axis: {added: int, default: 1}}"),
    "S201 wrong": (edited(("[+bfloat16]", "[+float8]")), "S201 7:12", "write types: {T: [+bfloat16]}"),
    "S201 invented": (edited((ADDED, ADDED + "    inputs: {added: [Z]}\n")), "S201 7:13", "leave inputs out"),
    "S202": (swapped(TEXT), None, None),
    "S205 nothing": (EQUAL, "S205 6:5", "add 'meaning'"),
    "S205 both": (
        edited(("    adapters:", "    meaning: one\n    clarified: two\n    adapters:")),
        "S205 6:5",
        "describe the change",
    ),
    "S208": (REMOVED, "S208 6:22", "add 'ignored: true'"),
    "S209": (REQUIRED, "S209 6:24", "add 'old: VALUE'"),
    "S210 old": (
        edited(
            ("{axis: {added: int, default: 1}}", "{axis: {default: [2, 1], old: 2}}"), (GONE, OLD_ATTRIBUTES)
        ).replace(
            "    axis: {type: int, default: 1}\n    by: {type: int, doc: factor}\n",
            "    axis: {type: int, default: 2}\n",
        ),
        "S210 6:24",
        "",
    ),
    "S210 ignored": (edited(("added: int, default: 1}", "added: int, default: 1, ignored: true}")), "S210 6:24", ""),
    "S210 input": (
        REMOVED.replace("{removed: int}", "{removed: int, input: bye}"),
        "S210 6:22",
        "did you mean by?",
    ),
    "S210 negative": (edited(("added: int, default: 1}", "added: int, default: 1, negative: true}")), "S210 6:24", ""),
    "S210 only_for": (
        REMOVED.replace("{removed: int}", "{removed: int, ignored: true, only_for: [float]}"),
        "S210 6:22",
        "",
    ),
    "S210 renamed": (
        REMOVED.replace("removed: int}}", "removed: int, ignored: true}, size: {added: int, default: 1, renamed: bye}}")
        .replace(SIGNATURE, SIGNATURE + "    size: {type: int, default: 1, doc: how large}\n")
        .replace("    by: {type: int, doc: factor}\n", "    by: {type: int, doc: factor}\n    size: null\n"),
        "S210 6:59",
        "did you mean by?",
    ),
    "S210 renamed, not added": (
        edited(
            ("{axis: {added: int, default: 1}}", "{axis: {default: [2, 1], renamed: by}, by: {removed: int}}"),
            (GONE, OLD_ATTRIBUTES.replace("default: 1", "default: 2")),
        ),
        "S210 6:24",
        "",
    ),
    "S210 values": (
        edited(
            ("{axis: {added: int, default: 1}}", "{axis: {values: {a: b}}}"),
            ("int, default: 1, doc: where", "string, choices: [b, c], doc: where"),
            (GONE, "  attributes:\n    axis: {type: string, choices: [b, c]}\n" + TYPES),
        ),
        "S210 6:24",
        "",
    ),
    "S210 undefined": (edited(("added: int, default: 1}", "added: int, default: 1, undefined: 0}")), "S210 6:24", ""),
    "S210 renamed operator": (edited(("    adapters:", "    renamed: true\n    adapters:")), "S210 8:14", ""),
    "S229 not new": (edited(("    adapters:", "    emulate: {float16: float}\n    adapters:")), "S229 8:24", ""),
    "S229 not allowed": (edited(("    adapters:", "    emulate: {bfloat16: int8}\n    adapters:")), "S229 8:25", ""),
    "S211": (
        edited(
            ("    T: floats\n", "    T: floats\n    U: null\n"),
            ("    T: floats_ir4\n", "    T: floats_ir4\n    U: bool\n"),
            ("+bfloat16]", "+bfloat16], U: new"),
        ),
        "S211 19:8",
        "",
    ),
    "S212": (edited((", doc: where", "")), "S212 16:11", ""),
    "S213": (edited(("doc: Scales.", "doc: ' '")), None, None),
    "S214 none": (DEPRECATED, "S214 4:3", ""),
    "S214 unknown": (replaced("Mull"), "S214 6:16", "did you mean Mul"),
    "S214 of another domain": (replaced("Binarizer"), "S214 6:16", ""),
    "S214 not deprecated": (
        edited(
            ("- since: 2\n", "- since: 2\n  replacement: Mul\n"), ("  like: 2\n", "  like: 2\n  replacement: null\n")
        ),
        "S214 5:16",
        "",
    ),
    "S230": (
        edited(("T: floats_ir4", "T: [float, floats_ir4, bool]"), ("[+bfloat16]", "[+bfloat16, +bool]")),
        "S230 18:8",
        "leave float out",
    ),
    "S231": (
        edited(("T: floats_ir4", "T: [floats_ir4, ml_labels]"), ("[+bfloat16]", "[+bfloat16, +int64, +string]")),
        "S231 18:8",
        "list the types",
    ),
    "S232 of an attribute": (
        edited(
            ("default: 1, doc: where}", "default: 1, choices: [1, 2], constraint: C1, doc: where}"),
            ("floats_ir4\n", 'floats_ir4\n  constraints:\n    C1: "axis is 1, or 2"\n'),
        ),
        "S232 20:9",
        "leave it out",
    ),
    "S232": (
        edited(("floats_ir4\n", "floats_ir4\n  constraints:\n    C1: {rank: {X: 2}, text: rank(X) = 2}\n")),
        "S232 20:9",
        "leave it out",
    ),
    "S233": (with_body(("opset: 13", "Y = Mul X")), "S233 20:3", ""),
    "S244": (
        with_body(("opset: 13", "one = Constant <value_float = 1.0> () by_one = Mul (by, one) Y = Mul (X, by_one)")),
        None,
        "",
    ),
    "S234 unknown": (with_body(("opset: 13", "Y = Mul (X, Z)")), "S234 20:3", ""),
    "S234 twice": (with_body(("opset: 13", "by = Exp (X) Y = Mul (X, by)")), "S234 20:3", ""),
    "S234 no output": (with_body(("opset: 13", "Z = Mul (X, by)")), None, ""),
    "S234 unused": (with_body(("opset: 13", "Z = Exp (X) Y = Mul (X, by)")), "S234 20:3", ""),
    "S235 unknown": (with_body(("opset: 13", "Y = Mull (X, by)")), "S235 20:3", "correct the name"),
    "S235 too new": (with_body(("opset: 13", "Y = Swish (X)")), "S235 20:3", ""),
    "S235 no opset": (with_body(("opset: 99", "Y = Mul (X, by)")), "S235 20:3", "write the lowest opset at which"),
    "S235 withdrawn": (with_body(("opset: 9", "Y = Upsample (X, by)")), "S235 20:3", ""),
    "S235 attribute": (with_body(("opset: 13", "Y = Mul <axis = 1> (X, by)")), "S235 20:3", ""),
    "S235 attribute at a later opset": (with_body(("opset: 13", "Y = ReduceMax <axes = [1]> (X)")), "S235 20:3", ""),
    "S235 arity": (with_body(("opset: 13", "Y = Mul (X)")), "S235 20:3", ""),
    "S235 domain": (with_body(("opset: 13", "Y = other.Mul (X, by)")), "S235 20:3", "write the nodes that"),
    "S235 graph": (
        with_body(("opset: 13", "Y = If <then_branch = t () => (a) {}, else_branch = e () => (b) {}> (X)")),
        "S235 20:3",
        "write it without a graph",
    ),
    "S236 constant": (
        with_body(("opset: 13", "a = Constant <value_int = 1, value_float = 1.0> () Y = Add (X, a)")),
        "S236 20:3",
        "",
    ),
    "S236 unknown": (
        with_body(("opset: 13", "Y = Concat <axis: int = @axes> (X, by)")),
        "S236 20:3",
        "did you mean axis?",
    ),
    "S236 type": (
        with_body(("opset: 13", "a = Constant <value_float: float = @axis> () Y = Mul (X, a)")),
        "S236 20:3",
        "",
    ),
    "S236 no value": (
        with_body(("opset: 13", "a = Constant <value_int: int = @axis> () Y = Gather (X, a)"))
        .replace("default: 1", "")
        .replace("int, , doc", "int, doc")
        .replace("added: int, ", "added: int, old: 1"),
        "S236 20:3",
        "add 'where: {axis: given}'",
    ),
    "S236 no value, for nodes without": (
        with_body(
            ("opset: 13\n    where: {axis: absent}", "a = Constant <value_int: int = @axis> () Y = Gather (X, a)")
        )
        .replace("default: 1", "")
        .replace("int, , doc", "int, doc")
        .replace("added: int, ", "added: int, old: 1"),
        "S236 20:3",
        "add 'where: {axis: given}'",
    ),
    "S237 order": (with_body(("opset: 13", PRODUCT), ("opset: 14", PRODUCT)), None, None),
    "S237 twice": (with_body(("opset: 13", PRODUCT), ("opset: 13", PRODUCT)), None, None),
    "S238": (with_body(("opset: 13", "Y = com.acme.Scale (X, by)")), "S238 1:1", ""),
    "S219": (edited(("floats_ir4", "[floats, bfloat16]")), "S219 18:8", "write floats_ir4"),
}


def test_a_body_serves_up_to_the_next_version():
    clip = load_operator(FOLDER / "ai.onnx" / "Clip.yaml", load_sets(FOLDER / "types.yaml"))
    numbers = [schema.since_version for schema in clip.schemas]
    older, newer = clip.schemas[numbers.index(12) : numbers.index(12) + 2]
    for opset, messages in (
        (newer.since_version - 1, []),
        (newer.since_version, ["the body of opset 13 never serves, since others do from opset 13 on"]),
    ):
        body = newer.function[0]._replace(opset=opset)
        versions = replace(older, function=(body,)), newer
        bodies = OperatorBodies(replace(clip, schemas=versions), None)
        assert [each.message for each in check_order_of_bodies(bodies)] == messages


def test_an_operator_that_is_withdrawn_without_a_replacement_is_not_renamed(tmp_path):
    text = DEPRECATED.replace("    deprecated: true\n", "    deprecated: true\n    renamed: true\n")
    assert {"S210", "S214"} == {finding.code for finding in lint([write(tmp_path, text)], ())}


@pytest.mark.parametrize("name", BROKEN)
def test_a_rule_finds_its_example_and_no_other_rule_does(name, tmp_path):
    text, place, help = BROKEN[name]
    findings = lint([write(tmp_path, text)], ())
    code = name.split()[0]
    assert {finding.code for finding in findings} == {code}
    if place:
        (finding,) = findings
        assert f"{finding.code} {finding.place.removeprefix(f'{tmp_path}/com.acme/Scale.yaml:')}" == place
        assert finding.help.startswith(help) and bool(finding.help) == bool(help)


SAID = {
    "S210 old": "'old' describes axis, which was not added by version 2, and did not become required",
    "S210 ignored": "axis did not go with version 2",
    "S210 negative": "'negative' describes axis, which is no axis of both versions",
    "S210 only_for": "'only_for' describes by, which was not added by version 2",
    "S210 values": "'values' of axis has 'a', which is none of its choices",
    "S210 undefined": "'undefined' describes axis, which the version before 2 does not have",
    "S229 not new": "float16 of Scale 2 cannot be emulated by float: it did not come with this version",
    "S229 not allowed": "bfloat16 of Scale 2 cannot be emulated by int8: int8 was not allowed before",
    "S214 none": "Scale 2 is deprecated and names no replacement",
    "S214 not deprecated": "Scale 2 names a replacement and is not deprecated",
    "S233": "a function body cannot be read: at 1:9 of its nodes, expected '(' or '<', found 'X'",
    "S235 unknown": "the body of opset 13 uses Mull, which does not exist",
    "S235 no opset": "the body of opset 99 serves no model: the newest opset is 28",
    "S235 too new": "the body of opset 13 uses Swish, which came with version 24",
    "S235 withdrawn": "the body of opset 9 uses Upsample, which is withdrawn from version 10 on",
    "S235 attribute at a later opset": "the body of opset 13 has ReduceMax, of which there is no attribute 'axes': "
    "ReduceMax 18 has none of this name",
    "S235 arity": "the body of opset 13 has Mul, of which the node has 1 input: Mul 13 has 2",
    "S235 domain": "the body of opset 13 uses the domain other, and may use ai.onnx and its own alone",
    "S236 type": "the body takes 'axis' for float, and it is int",
    "S238": "function bodies expand to each other without end: com.acme.Scale uses com.acme.Scale",
}


@pytest.mark.parametrize("name", SAID)
def test_a_rule_says_what_is_wrong(name, tmp_path):
    (finding,) = lint([write(tmp_path, BROKEN[name][0])], ())
    assert ": ".join(filter(None, (finding.message, finding.why))) == SAID[name]


def test_a_type_that_only_an_output_gains_may_be_emulated_beside_a_new_input(tmp_path):
    text = edited(
        (ADDED, "    inputs: {added: [Z]}\n    emulate: {bfloat16: float}\n"),
        ("  attributes:\n" + SIGNATURE, ""),
        ("  attributes: null\n", ""),
        ("name: X, type: T", "name: X, type: tensor(int64)"),
        ("name: by, type: T, doc: factor}\n", "name: by, type: tensor(int64), doc: factor}\n"),
        ("  outputs:\n", "  - {name: Z, type: tensor(int64), optional: true, doc: offset}\n  outputs:\n"),
        ("  like: 2\n", "  like: 2\n  inputs: [X, by]\n"),
    )
    assert lint([write(tmp_path, text)], ()) == []


@pytest.mark.parametrize(
    ("bodies", "said"),
    [
        ([("opset: 13", "Y = Mul (X, X) by2 = Exp (by)")], ["the body computes 'by2', which nothing uses"]),
        ([("opset: 13", "a = Exp (X) Y = Mul (a, by) a = Exp (by)")],
         ["the body defines 'a' twice", "the body computes 'a', which nothing uses"]),
        ([("opset: 13", "Y, Z = Split <axis = 0> (X, by, by)")],
         ["the body computes 'Z', which nothing uses",
          "the body of opset 13 has Split, of which the node has 3 inputs: Split 13 has 1 to 2"]),
        ([("opset: 13\n    where: {by: absent}", "Y = Mul (X, by)")],
         ["the body of opset 13 has Mul, of which the input 'B' is missing: Mul 13 requires it"]),
        ([("opset: 14", "Y = Mul <axis = 1> (X, by)"), ("opset: 7", PRODUCT)],
         ["the body of opset 14 has Mul, of which there is no attribute 'axis': Mul 14 has none of this name"]),
        ([("opset: 18", PRODUCT), ("opset: 13", "Y = ReduceMax <axes = [1]> (X)")], []),
        ([("opset: 19", PRODUCT), ("opset: 13", "Y = ReduceMax <axes = [1]> (X)")],
         [SAID["S235 attribute at a later opset"]]),
        ([("opset: 13", PRODUCT), ("opset: 13\n    where: {axis: 1}", PRODUCT)], []),
        ([("opset: 13", PRODUCT), ("opset: 13\n    types: {T: float}", PRODUCT)], []),
        ([("opset: 7", "a = Constant <value_int = 1> () b = CastLike (a, X) Y = Mul (X, b)")], []),
        ([("opset: 13", "a = Softmax <axis = 1.5> (X) Y = Mul (a, by)")],
         ["the body of opset 13 has Softmax, of which the attribute 'axis' is of type float: "
          "it has to be of type int"]),
        ([("opset: 13", "a = Softmax <axis: int = @axis> (X) Y = Mul (a, by)")], []),
        ([("opset: 13", "a = Constant () Y = Mul (X, a)")],
         ["a Constant has one attribute, 'value' or 'value_' and a type"]),
        ([("opset: 13\n    where: {axis: given}", "a = Constant <value_int: int = @axis> () Y = Gather (X, a)")], []),
    ],
)  # fmt: skip
def test_what_is_wrong_with_bodies(bodies, said, tmp_path):
    found = [each for each in lint([write(tmp_path, with_body(*bodies))], ()) if each.code != "S244"]
    assert [each.message + (f": {each.why}" if each.why else "") for each in found] == said


def test_a_parameter_that_is_variadic_has_no_body(tmp_path):
    text = with_body(("opset: 13", "Y = Sum (X, by)")).replace("doc: factor", "variadic: true, doc: factor")
    found = [each.message for each in lint([write(tmp_path, text)], ()) if each.code == "S234"]
    assert found == ["an operator with a variadic input or output has no body in text"]


def test_the_unbroken_example_is_clean(tmp_path):
    assert lint([write(tmp_path, with_body(("opset: 14", PRODUCT), ("opset: 13", PRODUCT)))]) == []
    assert lint([write(tmp_path, with_body(("opset: 7", "a = CastLike (by, X) Y = Mul (X, a)")))]) == []
    assert lint([write(tmp_path)], ()) == []
    assert lint([write(tmp_path, REMOVED.replace("{removed: int}", "{removed: int, input: by}"))]) == []
    assert lint([write(tmp_path, REMOVED.replace("{removed: int}", "{removed: int, ignored: true}"))]) == []
    assert lint([write(tmp_path, REQUIRED.replace("required: true}}", "required: true, old: 0}}"))]) == []
    assert lint([write(tmp_path, EQUAL.replace("    adapters", "    clarified: it\n    adapters"))]) == []
    assert lint([write(tmp_path, replaced("Mul"))]) == []
    assert lint([write(tmp_path, edited(("    adapters:", "    emulate: {bfloat16: float}\n    adapters:")))]) == []


def codes(findings):
    return [finding.code for finding in findings]


def test_s203_a_released_signature_is_edited(tmp_path):
    write(tmp_path)
    lock_versions(tmp_path, load_folder(tmp_path, SETS)[0])
    assert lint([tmp_path]) == []
    write(tmp_path, TEXT.replace("Scales.", "Scales it."))
    assert lint([tmp_path]) == []
    write(tmp_path, TEXT.replace("{name: by, type: T", "{name: by, type: T, optional: true"))
    found = lint([tmp_path])
    assert codes(found) == ["S203", "S203"]
    assert found[0].message == "the signature of Scale 1 was edited after its release"
    assert {each.help for each in found} == {"restore it, and put the edit into a new version"}


def test_s204_a_released_version_is_gone(tmp_path):
    write(tmp_path)
    write(tmp_path, TEXT.replace("Scale", "Other"), "Other")
    lock_versions(tmp_path, load_folder(tmp_path, SETS)[0])
    (tmp_path / "com.acme" / "Other.yaml").unlink()
    found = lint([tmp_path])
    assert [each.message for each in found] == [f"the released version {since} of Other is gone" for since in (1, 2)]
    assert {(each.code, each.place) for each in found} == {("S204", f"{tmp_path}/com.acme/Other.yaml")}
    (tmp_path / "lock.json").write_text("[]")
    assert codes(lint([tmp_path])) == ["S204"]


def test_s241_a_released_version_is_not_in_the_lock(tmp_path):
    write(tmp_path)
    lock_versions(tmp_path, load_folder(tmp_path, SETS)[0])
    lock = json.loads((tmp_path / "lock.json").read_text())
    del lock["com.acme"]["Scale"]["1"]  # by hand, before its signature is edited
    (tmp_path / "lock.json").write_text(json.dumps(lock))
    (finding,) = lint([tmp_path])
    assert (finding.code, finding.place.rpartition(":")[0]) == ("S241", f"{tmp_path}/com.acme/Scale.yaml:19")
    assert finding.why == "version 2 of com.acme is released, since the lock has it"
    assert finding.help.endswith("lock it: opset lint --lock; if it is new, give it a version above 2")
    lock["com.acme"] = {"Other": {"1": "0" * 64}}  # version 2 may be new, version 1 is not
    (tmp_path / "lock.json").write_text(json.dumps(lock))
    write(tmp_path, TEXT.replace("Scale", "Tail"), "Tail")
    assert [each.message.partition(" is")[0] for each in lint([tmp_path]) if each.code == "S241"] == [
        "Scale 1",
        "Tail 1",
    ]
    (tmp_path / "com.acme" / "Tail.yaml").unlink()
    lock["com.acme"] = {"Scale": {"1": "0" * 64}}
    (tmp_path / "lock.json").write_text(json.dumps(lock))
    assert codes(lint([tmp_path])) == ["S203"]  # version 2 may be new
    target = folder_of_domains(tmp_path)
    checked = check_target(target, lambda families: Hooks(), released=True)
    assert [(operator.name, since) for operator, since in checked.unlocked] == [("Scale", 2)]
    assert codes(checked.findings)[-1] == "S241"
    last = checked.findings[-1]
    assert last.message == "Scale 2 is not in the lock: an edit of its signature would not be noticed"
    assert (last.why, last.help) == ("", "if it is released as it is here, lock it: opset lint --lock")


def test_s206_and_s207_adapters_and_declarations_agree(tmp_path):
    write(tmp_path, TEXT.replace("{up: derived", "{up: written"))
    up, down = ("com.acme", "Scale", 2, "up"), ("com.acme", "Scale", 2, "down")
    assert lint([tmp_path], [up]) == []
    assert codes(lint([tmp_path], [])) == ["S206"]
    assert codes(lint([tmp_path], [up, down])) == ["S207"]
    assert codes(lint([tmp_path], [up, ("com.acme", "Scale", 1, "up"), ("", "Softmax", 13, "up")])) == ["S207"]
    assert lint([tmp_path], None) == []


def test_s211_does_not_speak_of_released_versions(tmp_path):
    write(tmp_path, BROKEN["S211"][0])
    lock_versions(tmp_path, load_folder(tmp_path, SETS)[0])
    assert lint([tmp_path]) == []


def test_s215_names(tmp_path):
    write(tmp_path, name="Scal")
    write(tmp_path, TEXT.replace("Scale\n", "Sc-ale\n"), name="Sc-ale")
    write(tmp_path, domain="com acme")
    found = lint([tmp_path])
    assert codes(found) == ["S215"] * 3
    assert sorted((each.message, each.help) for each in found) == [
        ("the domain 'com acme' is not made of words and dots", ""),
        ("the file Scal.yaml declares the operator Scale", "call it Scale.yaml"),
        ("the operator name 'Sc-ale' is no identifier", ""),
    ]
    assert all(each.place.endswith(".yaml:1:1") for each in found)


def test_s216_families_of_the_standard(tmp_path):
    text = TEXT + "special_cases: []\n"
    write(tmp_path, text.replace("family: acme", "family: pol"), domain="ai.onnx")
    (finding,) = lint([tmp_path])
    assert (finding.code, finding.help) == ("S216", "did you mean pool?")
    assert finding.place.endswith("Scale.yaml:2:9")
    write(tmp_path, text.replace("family: acme", "family: zzz"), domain="ai.onnx")
    (finding,) = lint([tmp_path])
    assert finding.help == f"known: {', '.join(FAMILIES)}"
    write(tmp_path, text.replace("family: acme", "family: pool"), domain="ai.onnx")
    assert lint([tmp_path]) == []


def test_s239_special_cases_of_the_standard(tmp_path):
    text = TEXT.replace("family: acme", "family: pool")
    older = "special_cases: [{text: NaN stays NaN., until: 1}]\n"
    for edit, found in ((text, ["S239"]), (text + "special_cases: []\n", []), (text + older, [])):
        write(tmp_path, edit, domain="ai.onnx.preview")
        findings = lint([tmp_path])
        assert codes(findings) == found
        help = "add 'special_cases', an empty list if there are none"
        assert {each.help for each in findings} <= {help}


def test_s242_what_is_open_is_chosen(tmp_path):
    text = TEXT.replace("family: acme", "family: pool")
    words = "Ties are undefined."
    for case, found in (
        (f"[{words}]", ["S242"]),
        (f"[{{text: {words}, chosen: ties}}]", []),
        ("[The standard leaves ties open.]", ["S242"]),
        (f"[{{text: {words}, stated: 1 summary}}]", ["S242"]),
        ("[-1 leaves that side open.]", []),
        ("[NaN stays NaN.]", []),
        ("[Runtimes differ in the last digits.]", ["S242"]),
    ):
        write(tmp_path, f"{text}special_cases: {case}\n", domain="com.acme")
        findings = [each for each in lint([tmp_path]) if each.code == "S242"]
        assert codes(findings) == found, case
        assert all(each.why.startswith("it says: ") and "add 'chosen'" in each.help for each in findings)


def test_s246_the_standard_s_text_names_no_runtime(tmp_path):
    text = TEXT.replace("family: acme", "family: pool")
    for name, found in (("TensorRT", True), ("onnxruntime", True), ("the reference evaluator", True), ("torch", False)):
        for place in ("  doc: ", "{name: X, type: T, doc: "):
            assert place in text
            write(tmp_path, text.replace(place, f"{place}As {name} it is ", 1), domain="com.acme")
            assert ("S246" in codes(lint([tmp_path]))) is found, (name, place)
        case = f"special_cases: [It scales., {{text: 'As {name} does, it scales.', until: 1}}]\n"
        note = f"implementations: {{{name}: [{{text: It scales as {name}., tested: '1'}}]}}\n"
        write(tmp_path, text + case + note, domain="com.acme")
        places = [each.place.partition("Scale.yaml:")[2] for each in lint([tmp_path]) if each.code == "S246"]
        assert places == [f"{len(text.splitlines()) + 1}:29"] * found


def test_s243_a_clause_names_a_part_of_the_text(tmp_path):
    text = TEXT.replace("family: acme", "family: pool")
    for clause, found in (
        ("1 summary", []),
        ("1 body", []),
        ("1 input X", []),
        ("Broadcasting.md multidirectional", []),
        ("2 summary", []),
        ("3 summary", ["S243"]),
        ("1 attribute nothing", ["S243"]),
        ("the", ["S243"]),
        ("1 page 7", ["S243"]),
    ):
        write(tmp_path, f"{text}special_cases: [{{text: It scales., stated: {clause}}}]\n", domain="com.acme")
        assert [code for code in codes(lint([tmp_path])) if code == "S243"] == found, clause
    write(tmp_path, text + "special_cases: [{text: It scales., until: 1, stated: 2 summary}]\n", domain="com.acme")
    (finding,) = [each for each in lint([tmp_path]) if each.code == "S243"]
    assert finding.why == "it is a text of version 2, and states something of version 1"
    assert finding.help.startswith("write 13 summary, 13 attribute NAME")


def test_s217_and_s218_type_sets(tmp_path):
    write(tmp_path, TEXT.replace("floats_ir4", "mine"))
    sets = "mine: [floats, bfloat16]\nother: [float, bool]\nbase: [floats, string]\nmore: [seq(base), bool]\n"
    (tmp_path / "types.yaml").write_text(f"{sets}twin: [float, bool]\nthird: [float, bool]\n")
    unused, same = "the type set {} is not used", "the type set {} is the same as {}"
    assert [(each.code, each.place.rpartition(":")[0][-1], each.message) for each in lint([tmp_path])] == [
        ("S218", "1", same.format("mine", "floats_ir4")),
        ("S217", "2", unused.format("other")),
        ("S217", "4", unused.format("more")),
        ("S217", "5", unused.format("twin")),
        ("S218", "5", same.format("twin", "other")),
        ("S217", "6", unused.format("third")),
        ("S218", "6", same.format("third", "other")),
    ]
    (target,) = select_operators([tmp_path / "com.acme" / "Scale.yaml"]).targets
    assert check_target(target, lambda families: Hooks(None, None, None)).findings == []


@pytest.mark.parametrize("change", ["the types", "", "[types]"])
def test_a_change_that_is_no_mapping_is_a_finding_beside_type_sets(change, tmp_path):
    start, _, rest = TEXT.partition("  change:\n")
    write(tmp_path, f"{start}  change: {change}\n{rest[rest.index('  doc:') :]}")
    (tmp_path / "types.yaml").write_text("mine: [float, bool]\n")
    assert [(each.code, each.message) for each in lint([tmp_path])] == [
        ("S105", "a mapping has to stand here"),
        ("S217", "the type set mine is not used"),
    ]


EXAMPLES = """\
examples:
- {name: plain, since: 1, inputs: [{float: 1}, {float: 2}], outputs: [{float: 2}]}
- {name: axis, since: 2, attributes: {axis: 0}, inputs: [{float: [1]}, {float: 2}], outputs: [{float: [2]}]}
- {name: wrong, since: 1, inputs: [{float: [1]}, {float: [2, 3]}], error: C1}
"""
CONSTRAINED = edited(
    ("    T: floats_ir4\n", "    T: floats_ir4\n  constraints:\n    C1: by is a scalar\n    C2: axis is here\n"),
    (GONE, GONE + "  constraints:\n    C1: by is a scalar\n"),
)
BFLOAT16 = "- {name: b, since: 2, inputs: [{bfloat16: 1}, {bfloat16: 2}], outputs: [{bfloat16: 2}]}\n"
BOTH = CONSTRAINED + EXAMPLES + BFLOAT16
AXIS = "- {name: axis_wrong, since: 2, attributes: {axis: 9}, inputs: [{float: [1]}, {float: 2}], error: C2}\n"
FULL = BOTH + AXIS
REWORDED = BOTH.replace("C1: by is a scalar\n    C2", "C1: by is one number\n    C2")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (BOTH + AXIS, []),
        (CONSTRAINED, []),
        (BOTH, ["S221 21:9"]),
        (REWORDED + AXIS, []),
        (REWORDED.replace("since: 1, inp", "since: 2, inp") + AXIS, ["S221 28:9", "S240 26:8"]),
        (
            BOTH.replace("attributes: {axis: 0}, ", "") + AXIS.replace("attributes: {axis: 9}, ", ""),
            ["S222 16:11"],
        ),
        (BOTH + AXIS + AXIS.replace("axis_wrong", "again").replace("error", "doc: it, error"), ["S223 35:3"]),
    ],
)
def test_s220_to_s223_examples(text, found, tmp_path):
    path = write(tmp_path, text) / "com.acme" / "Scale.yaml"
    assert [f"{each.code} {each.place.removeprefix(f'{path}:')}" for each in lint_all([tmp_path])] == found


def test_s220_asks_for_examples_of_one_file_where_one_of_those_beside_it_has_them(tmp_path):
    for name, more in (("Scale", ""), ("Other", ""), ("Turn", EXAMPLES + BFLOAT16 + AXIS)):
        write(tmp_path, CONSTRAINED.replace("Scale", name) + more, name)
        (target,) = select_operators([tmp_path / "com.acme" / "Scale.yaml"]).targets
        found = check_target(target, lambda families: Hooks(None, None, None)).findings
        assert ("S220" in codes(found)) == (name == "Turn")


def test_s220_asks_for_an_example_that_is_still_to_be_filled_in(tmp_path):
    for line, found in (("#: examples: show what it does", ["S220"]), ("# examples", [])):
        write(tmp_path, f"{CONSTRAINED}  {line}\n")
        assert codes(lint_all([tmp_path])) == found


def test_s221_and_s222_say_what_to_add(tmp_path):
    (finding,) = lint_all([write(tmp_path, BOTH)])
    assert (finding.message, finding.help) == ("no example breaks C2 of Scale 2", "add one with 'error: C2'")
    text = BOTH.replace("attributes: {axis: 0}, ", "") + AXIS.replace("attributes: {axis: 9}, ", "")
    (finding,) = lint_all([write(tmp_path, text)])
    assert finding.message == "no example sets axis of Scale"


def test_each_type_is_of_a_kind():
    same = {
        "float": "float float16 double",
        "a signed integer": "int8 int16 int32 int64",
        "an unsigned integer": "uint8 uint16 uint32 uint64",
        "an integer of 2 or 4 bits": "int2 int4 uint2 uint4",
        "a float of 8 bits": "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz",
        "a float of a microscaling format": "float4e2m1 float6e2m3 float6e3m2 float8e8m0",
        "a complex number": "complex64 complex128",
        "bool": "bool",
        "string": "string",
        "bfloat16": "bfloat16",
    }
    assert {each for words in same.values() for each in words.split()} == {*NUMBERS}
    for kind, words in same.items():
        assert {kind_of_type(f"tensor({each})") for each in words.split()} == {kind}
    assert [kind_of_type(f"{each}tensor(float))") for each in ("seq(", "optional(", "optional(seq(")] == [
        "a sequence",
        "an optional type",
        "an optional sequence",
    ]
    assert kind_of_type("map(int64, float)") == "a map" and kind_of_type("sparse_tensor(float)") == "a sparse tensor"


def test_s240_names_the_first_types_of_a_kind(tmp_path):
    found = [each for each in lint_all([write(tmp_path, KINDS % "string")]) if each.code == "S240"]
    assert [each.help.partition(", with ")[2] for each in found] == [
        "seq(float)",
        "int4",
        "optional(int8)",
        "uint8",
        "string",
    ]
    write(tmp_path, (KINDS % "string").replace("floats, int8, uint8", "floats, int8, unsigned_ints"))
    (finding,) = [each for each in lint_all([tmp_path]) if "unsigned" in each.message]
    assert finding.help == "add one from version 1 on, with uint16 or uint32 or uint64 or uint8"
    text = (KINDS % "string").replace("U: [float, int8]", "U: [float, int8, bool]")
    write(tmp_path, text)
    (finding,) = [each for each in lint_all([tmp_path]) if "bool" in each.help]
    assert finding.place.endswith(f"Scale.yaml:9:{text.splitlines()[8].index('[float, int8, bool]') + 1}")


def test_s220_asks_for_examples_where_others_have_them(tmp_path):
    write(tmp_path, CONSTRAINED)
    write(tmp_path, BOTH + AXIS, "Scale", "org.acme")
    assert codes(lint_all([tmp_path])) == ["S220"]


TYPED = [
    ("", ["S240 7:12"]),
    ("- {name: b, since: 2, inputs: [{bfloat16: 1}, {bfloat16: 2}], outputs: [{bfloat16: 2}]}\n", []),
    ("- {name: b, since: 1, inputs: [{double: 1}, {double: 2}], outputs: [{double: 2}]}\n", ["S240 7:12"]),
    ("- {name: b, since: 2, inputs: [{bfloat16: [1]}, {bfloat16: [2, 3]}], error: C1}\n", []),
]


@pytest.mark.parametrize(("same", "code"), [("1", ["S107"]), ("9", ["S107"]), ("[]", ["S105"]), ("2", [])])
def test_a_version_that_shares_the_prose_of_none_is_a_finding(same, code, tmp_path):
    text = TEXT.replace("family: acme", "family: pool").replace("like: 2", f"like: {same}")
    found = codes(lint([write(tmp_path, text, domain="ai.onnx")]))
    assert [each for each in found if each in ("S105", "S107")] == code


@pytest.mark.parametrize(("more", "found"), TYPED)
def test_s240_asks_for_a_type_that_a_version_adds(more, found, tmp_path):
    path = write(tmp_path, FULL.replace(BFLOAT16, more)) / "com.acme" / "Scale.yaml"
    place = path.read_text().split("\n").index("    T: floats_ir4") + 1
    assert [f"{each.code} {each.place.removeprefix(f'{path}:')}" for each in lint_all([tmp_path])] == [
        each.replace("7:12", f"{place}:8") for each in found
    ]


AFTER = """\
operator: Scale
family: acme
versions:
- since: 3
  change:
    attributes: {body: {removed: graph}}
    types: {T: [+double, +string]}
    emulate: {double: float}
    adapters: {up: derived, down: derived}
  doc: It is.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: results}]
  types: {T: [bool, float, double, string], U: int8}
- since: 1
  doc: It was.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: results}]
  attributes:
    body: {type: graph, doc: it}
  types: {T: [bool, float]}
examples:
- {name: a, since: 3, inputs: [{float: 1}], outputs: [{float: 1}]}
"""


def test_s240_asks_for_types_of_a_version_after_one_that_it_passes_over(tmp_path):
    def found(text):
        return [(each.message, each.help) for each in lint_all([write(tmp_path, text)]) if each.code == "S240"]

    string = "no example of Scale 3 has a value of string, which the version adds"
    wanted = [(string, "add one from version 3 on, with string")]
    assert found(AFTER) == wanted  # the graph of version 1 shows its types, and float shows double
    assert found(AFTER.replace("type: graph", "type: string").replace("removed: graph", "removed: string")) == [
        ("no example of Scale 1 has a value of bool", "add one from version 1 on, with bool"),
        ("no example of Scale 1 has a value of float", "add one from version 1 on, with float"),
        *wanted,
    ]
    assert found(AFTER.replace("[+double, +string]", "[+double]").replace("double, string]", "double]")) == []
    gone = AFTER.replace("since: 3\n", "since: 3\n  deprecated: true\n  replacement: Mul\n", 1)
    assert found(gone.replace("change:\n", "change:\n    deprecated: true\n")) == []


KINDS = """\
operator: Scale
family: acme
versions:
- since: 1
  doc: It is.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: U, doc: results}]
  attributes: {a: {type: %s, doc: it}}
  types: {T: [floats, int8, uint8, int4, seq(float), optional(int8), string], U: [float, int8]}
examples:
- {name: a, since: 1, attributes: {a: "y () => () {}"}, inputs: [{float16: 1}], outputs: [{int8: 1}]}
"""


def test_s240_asks_for_each_kind_of_type_of_a_first_version(tmp_path):
    messages = [each.message.partition(" has a value of ")[2] for each in lint_all([write(tmp_path, KINDS % "string")])]
    kinds = ["a sequence", "an integer of 2 or 4 bits", "an optional type", "an unsigned integer", "string"]
    assert messages == kinds
    assert lint_all([write(tmp_path, KINDS % "graph")]) == []  # which takes and gives what its graph does


def test_s222_does_not_ask_for_an_attribute_without_effect(tmp_path):
    text = REMOVED + (EXAMPLES + BFLOAT16).replace("error: C1", "outputs: [null]")
    write(tmp_path, text.replace("{removed: int}", "{removed: int, ignored: true}"))
    assert lint_all([tmp_path]) == []
    write(tmp_path, text.replace("{removed: int}", "{removed: int, input: by}"))
    assert codes(lint_all([tmp_path])) == ["S222"]


def test_a_version_that_does_not_say_what_changed_is_told_alone(tmp_path):
    parts = "  doc: It is.\n  inputs: [{name: X, type: tensor(float), doc: values}]\n"
    write(tmp_path, f"operator: Scale\nfamily: acme\nversions:\n- since: 2\n{parts}- since: 1\n{parts}")
    assert codes(lint([tmp_path])) == ["S104"]


def test_s224_and_s225_kernels_and_versions_agree(tmp_path):
    write(tmp_path)
    first, second = ("com.acme", "Scale", 1), ("com.acme", "Scale", 2)
    assert lint([tmp_path], None, [first, ("", "Softmax", 99)]) == []
    other = ("com.acme", "Other", 0)
    assert lint([tmp_path], None, [("org.acme", "Other", 0)]) == []
    assert codes(lint([tmp_path], None, [other])) == ["S224", "S224", "S225"]
    assert codes(lint([tmp_path], None, [other, ("", "Softmax", 99)])) == ["S224", "S224", "S225"]
    assert codes(lint([tmp_path], None, [second])) == ["S224"]
    assert lint([tmp_path], None, [("com.acme", "Scale", 0)]) == []
    assert codes(lint([tmp_path], None, [first, ("com.acme", "Scale", 3)])) == ["S225"]
    write(tmp_path, replaced("Mul"))
    assert codes(lint([tmp_path], None, [other])) == ["S224", "S225"]
    assert lint([tmp_path]) == []


def test_s226_to_s228_versions_say_how_outputs_are_inferred(tmp_path):
    write(tmp_path)
    first, second = ("com.acme", "Scale", 0), ("com.acme", "Scale", 2)

    def found(*functions):
        inferred = InferenceHooks(functions, lambda schema: "no rule" * ("same" in schema.shape))
        return codes(lint([tmp_path], None, None, inferred))

    assert found() == []  # a domain without any
    assert found(first) == []
    assert found(first, second) == []
    assert found(second) == ["S226"]
    assert found(first, ("com.acme", "Scale", 3)) == ["S228"]
    assert found(first, ("org.acme", "Other", 0)) == []
    without = TEXT.replace("  like: 2\n", "  like: 2\n  shape: null\n")
    write(tmp_path, without.replace("  attributes:\n    axis", "  shape: scalar\n  attributes:\n    axis", 1))
    assert found(second) == ["S226", "S228"]
    write(tmp_path, without.replace("  attributes:\n    axis", "  shape: same(X)\n  attributes:\n    axis", 1))
    assert found(first) == ["S227"]
    inferred = InferenceHooks([second], lambda schema: "no rule" * ("same" in schema.shape))
    rule, nothing = lint([tmp_path], None, None, inferred)[::-1][:2][::-1]
    assert {(each.code, each.why, each.help) for each in (rule, nothing)} >= {("S227", "no rule", "")}


def test_what_is_written_for_nothing_is_told_with_its_file(tmp_path):
    write(tmp_path, TEXT.replace("{up: derived", "{up: written"))
    up, first = ("com.acme", "Scale", 2, "up"), ("com.acme", "Scale", 1)

    def said(written=None, kernels=None, functions=None):
        inferred = None if functions is None else InferenceHooks(functions, lambda schema: "")
        found = lint([tmp_path], written, kernels, inferred)
        assert {each.place.removeprefix(f"{tmp_path}/com.acme/") for each in found} <= {"Scale.yaml", "Other.yaml"}
        return [each.message for each in found]

    assert said([up, (*first, "lower")], [first], [first]) == []
    assert said([up, (*first, "down")]) == ["an adapter down is written for Scale 1, which is no transition"]
    assert said([up, (*up[:3], "lower")]) == ["a lowering is written for Scale 2, which is not its first version"]
    assert said([up], [first, (*first[:2], 3)]) == ["a kernel is written for Scale 3, which is no version"]
    assert said([up], [first, ("com.acme", "Other", 0)]) == ["a kernel is written for Other, which is no operator"]
    asked = "a function infers the outputs of {}, and is never asked"
    assert said([up], None, [first, (*first[:2], 3)]) == [asked.format("Scale from 3 on")]
    assert said([up], None, [first, ("com.acme", "Other", 0)]) == [asked.format("Other")]


def test_nothing_is_said_of_adapters_of_a_domain_whose_adapters_are_not_known(tmp_path):
    write(tmp_path, TEXT.replace("{up: derived", "{up: written"))
    target = folder_of_domains(tmp_path)
    for unknown, found in ((frozenset(), ["S207", "S206"]), (frozenset(["com.acme"]), [])):
        hooks = Hooks([("com.acme", "Scale", 2, "down"), ("com.acme", "Gone", 2, "up")][:1], unknown=unknown)
        assert sorted(codes(check_target(target, lambda families, hooks=hooks: hooks).findings)) == sorted(found)


def test_hooks_are_asked_for_by_the_families_of_the_standard_that_are_checked(tmp_path):
    text = TEXT.replace("family: acme", "family: pool")
    asked = []

    def hooks_of(families):
        asked.append({*families})
        return Hooks()

    for domain in ("com.acme", "ai.onnx"):
        write(tmp_path / domain, text, domain=domain)
        check_target(folder_of_domains(tmp_path / domain), hooks_of)
        check_target(select_operators([tmp_path / domain / domain]).targets[0], hooks_of)
    write(tmp_path / "ai.onnx", text)
    check_target(folder_of_domains(tmp_path / "ai.onnx"), hooks_of)  # of both domains
    assert asked == [set(), set(), {*FAMILIES}, {"pool"}, {*FAMILIES}]


def test_of_very_many_findings_the_first_are_shown(tmp_path, monkeypatch):
    write(tmp_path, TEXT.replace(", doc: where", "").replace(", doc: factor", ""))
    for most, found in ((3, ["S212"] * 3), (2, ["S212", "S212", "S102"])):
        monkeypatch.setattr("opset.schemas.lint.rules.MAX_FOLDER_FINDINGS", most)
        findings = lint([tmp_path])
        assert codes(findings) == found
    assert findings[-1].message == "more than 2 findings of rules are about this folder"
    assert (findings[-1].place, findings[-1].help) == (str(tmp_path), "mend these first: the others are not shown")


def test_a_target_says_how_many_files_there_are_and_could_not_be_read(tmp_path):
    write(tmp_path)
    write(tmp_path, "operator: [", "Broken")
    checked = check_target(folder_of_domains(tmp_path), lambda families: Hooks())
    assert (checked.files, checked.unread, len(checked.operators)) == (2, 1, 1)
    assert [(operator.name, since) for operator, since in checked.unlocked] == [("Scale", 1), ("Scale", 2)]
    (tmp_path / "lock.json").write_text("[]")
    assert check_target(folder_of_domains(tmp_path), lambda families: Hooks()).unlocked == []


def test_findings_of_the_loader_are_among_them(tmp_path):
    write(tmp_path, TEXT.replace("doc: Scales.", "dok: Scales."))
    write(tmp_path, TEXT.replace(", doc: where", ""), "Scale", "org.acme")
    assert codes(lint([tmp_path, tmp_path / "not there"])) == ["S101", "S103", "S104", "S212"]


WRONG = """\
operator: Wrong
family: acme
versions:
- since: 4
  change: {adapters: {up: derived}, meaning: It is more.}
  doc: Is wrong in its change alone.
  inputs: [{name: X, type: T, doc: values}, {name: Z, type: T, doc: more}]
  outputs: [{name: Y, type: T, doc: results}]
  types: {T: [mine, double]}
  attributes:
    a: {type: int, default: 1, doc: factor}
    b: {type: int, default: 1}
- since: 3
  change: {types: {T: [+double]}, adapters: {up: derived, down: derived}}
  doc: Is right.
  inputs: [{name: X, type: T, doc: values}, {name: Z, type: T}]
  outputs: [{name: Y, type: T, doc: results}]
  types: {T: [mine, double], U: bool}
- since: 2
  change: {types: {T: [+float]}, adapters: {up: derived, down: derived}}
  dok: Has a key that is not known.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T}]
  types: {T: [float, float16]}
- since: 1
  doc: Is right.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T}]
  types: {T: [float16, float16]}
  function: 3
examples:
- {name: one, since: 1, until: 1, inputs: [{float: 1}], outputs: [{float16: 1}]}
- {name: one, since: 4, inputs: [{float: 1}, {float: 1}], outputs: [{float: 1}]}
- {name: two, since: 2, until: 2, inputs: [{float: 1}], outputs: [{float: x}]}
"""


def test_everything_that_can_be_known_is_reported_at_once(tmp_path):
    write(tmp_path, WRONG, "Wrong")
    write(tmp_path, TEXT.replace(", doc: where", "").replace("default: 1}", "default: x}"))
    write(tmp_path, TEXT.replace(", doc: where", "").replace("{axis: {added: int, default: 1}}", "{}"), "Scale", "b.c")
    write(tmp_path, "operator: [", "Broken")
    (tmp_path / "types.yaml").write_text("mine: [float, float16]\nbad: [flaot]\n")
    (tmp_path / "lock.json").write_text("[]")
    found = [f"{each.code} {each.place.removeprefix(f'{tmp_path}/')}" for each in lint([tmp_path], ())]
    assert sorted(found) == sorted(
        [
            "S212 b.c/Scale.yaml:16:11",
            "S201 b.c/Scale.yaml:6:17",
            "S101 com.acme/Broken.yaml:2:1",
            "S212 com.acme/Wrong.yaml:23:13",
            "S212 com.acme/Wrong.yaml:12:8",
            "S212 com.acme/Wrong.yaml:16:45",
            "S219 com.acme/Wrong.yaml:18:14",
            "S211 com.acme/Wrong.yaml:18:33",
            "S104 com.acme/Wrong.yaml:19:3",
            "S103 com.acme/Wrong.yaml:21:3",
            "S212 com.acme/Wrong.yaml:28:13",
            "S230 com.acme/Wrong.yaml:29:14",
            "S105 com.acme/Wrong.yaml:30:13",
            "S105 com.acme/Wrong.yaml:30:13",
            "S105 com.acme/Wrong.yaml:32:44",
            "S106 com.acme/Wrong.yaml:33:10",
            "S105 com.acme/Wrong.yaml:34:75",
            "S104 com.acme/Wrong.yaml:5:22",
            "S219 com.acme/Wrong.yaml:9:14",
            "S105 com.acme/Scale.yaml:16:32",
            "S204 lock.json",
            "S107 types.yaml:2:7",
        ]
    )


def test_a_broken_file_of_type_sets_hides_nothing_else(tmp_path):
    write(tmp_path, TEXT.replace("T: floats_ir4", "T: mine").replace("doc: what is scaled", "dok: x"))
    (tmp_path / "types.yaml").write_text("mine: [\n")
    assert codes(lint([tmp_path])) == ["S101", "S103"]
    (tmp_path / "types.yaml").write_text("mine: [b]\n")
    assert codes(lint([tmp_path])) == ["S107", "S103"]
    write(tmp_path, TEXT.replace("T: floats_ir4", "T: mine").replace("T: floats\n", "T: [floats, float]\n"))
    assert codes(lint([tmp_path])) == ["S107", "S219", "S230"]


def test_s230_sets_may_share_some_of_their_types(tmp_path):
    write(tmp_path, TEXT.replace("T: floats\n", "T: [floats, floats_to_32, bool]\n"))
    assert codes(lint([tmp_path])) == ["S201"]
    write(tmp_path, TEXT.replace("T: floats\n", "T: [floats, floats_to_32, bfloat16, bool]\n"))
    assert codes(lint([tmp_path])) == ["S201", "S230"]


def test_what_has_no_name_lacks_no_doc(tmp_path):
    text = TEXT.replace("{name: by, type: T, doc: factor}", "{name: '', type: T}").replace("doc: where", "doc: ' '")
    assert codes(lint([write(tmp_path, text)])) == ["S105", "S212"]


def test_s244_is_found_beside_a_version_whose_body_has_faults(tmp_path):
    text = with_body(("opset: 13", "one = Constant <value_float = 1.0> () by_one = Mul (by, one) Y = Mul (X, by_one)"))
    older = "  function:\n  - opset: 13\n    nodes: Y = Mul (X)\n"
    found = lint([write(tmp_path, text.replace("  function: null\n", older))])
    assert {*codes(found)} == {"S235", "S244"}


def test_what_is_found_of_functions_beside_faults_in_a_file(tmp_path):
    write(tmp_path, TEXT.replace("Scale", "Other"), "Other")
    hooks = Hooks([], [("com.acme", "Scale", 9), ("com.acme", "Other", 1)], None)
    lacking = [f"S224 com.acme/Scale.yaml:{line}:3" for line in (4, 19)]
    for edit, expected in (
        (("", ""), [*lacking, "S225 com.acme/Scale.yaml"]),
        (("like: 2", "like: 2\n  doc: 3"), ["S105 com.acme/Scale.yaml:21:8", *lacking]),
        (("doc: what is scaled", "dok: x"), ["S103 com.acme/Scale.yaml:11:24"]),
    ):
        write(tmp_path, TEXT.replace(*edit))
        found = check_target(folder_of_domains(tmp_path), lambda families: hooks).findings
        told = [f"{each.code} {each.place.removeprefix(f'{tmp_path}/')}" for each in found]
        assert sorted(each for each in told if "S220" not in each) == sorted(expected)


def test_a_body_serves_up_to_the_next_one(tmp_path):
    found = lint([write(tmp_path, with_body(*((f"opset: {opset}", PRODUCT) for opset in (7, 13, 14))))])
    assert [each.message for each in found if each.code == "S244"] == [
        "the function body of opset 7 cannot take tensor(bfloat16)"
    ]


def test_a_file_has_the_findings_that_it_has_in_its_folder(tmp_path):
    body = with_body(("opset: 13", "Y = com.acme.Other (X, by)"))
    write(tmp_path, body.replace(", doc: where", ""))
    write(tmp_path, body.replace("Scale\n", "Other\n").replace("acme.Other", "acme.Scale"), "Other")
    write(tmp_path, replaced("Other").replace("Scale", "Gone"), "Gone")
    written = [("com.acme", name, 2, "up") for name in ("Scale", "Lost")]
    hooks = Hooks(written, [("com.acme", "Scale", 9)], InferenceHooks([("com.acme", "Other", 7)], lambda schema: ""))
    whole = check_target(folder_of_domains(tmp_path), lambda families: hooks).findings
    apart = [
        each
        for name in ("Gone", "Other", "Scale")
        for target in select_operators([tmp_path / "com.acme" / f"{name}.yaml"]).targets
        for each in check_target(target, lambda families: hooks).findings
    ]
    lost = [each for each in whole if "Lost" in each.place]
    assert len(lost) == 1 and {"S212", "S207", "S225", "S226", "S238"} <= {*codes(whole)}
    # A circle is a finding of each of its files, and of a folder once.
    assert {each for each in apart if each.code != "S238"} | {*lost} == {each for each in whole if each.code != "S238"}
    assert codes(apart).count("S238") == 2
    domain = select_operators([tmp_path / "com.acme"]).targets
    assert check_target(domain[0], lambda families: hooks).findings == whole


@pytest.mark.parametrize("name", ["CastLike", "Constant", "Other"])
def test_an_operator_of_the_own_domain_is_older_than_a_body_that_uses_it(tmp_path, name):
    write(tmp_path, with_body(("opset: 13", f"Y = com.acme.{name} (X, by)")))
    later = TEXT.replace("since: 1", "since: 6").replace("since: 2", "since: 7").replace("like: 2", "like: 7")
    write(tmp_path, later.replace("operator: Scale", f"operator: {name}"), name)
    (target,) = select_operators([tmp_path / "com.acme" / "Scale.yaml"]).targets
    (found,) = check_target(target, lambda families: Hooks(None, None, None)).findings
    said = f"the body of opset 13 uses {name}, which came with version 6"
    assert (found.code, found.message) == ("S235", said)


def test_a_circle_through_files_beside_one_is_found_from_it(tmp_path):
    for name, used in (
        ("Scale", "Other"),
        ("Other", "Third"),
        ("Third", "Last"),
        ("Last", "Scale"),
        ("Fourth", "Third"),
    ):
        body = with_body(("opset: 13", f"Y = com.acme.{used} (X, by)"))
        write(tmp_path, body.replace("operator: Scale", f"operator: {name}"), name)
    for name, circles in (("Scale", 1), ("Fourth", 0)):
        (target,) = select_operators([tmp_path / "com.acme" / f"{name}.yaml"]).targets
        assert codes(check_target(target, lambda families: Hooks(None, None, None)).findings).count("S238") == circles


@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (("", ""), ["S234", "S235", "S244"]),
        (("doc: what is scaled", "dok: x"), ["S234", "S244"]),
        (("attributes: null", "attributes: 7"), ["S234", "S244"]),
        ((TEXT, "operator: ["), ["S234", "S244"]),
    ],
)
def test_what_may_follow_from_faults_in_another_file_is_no_finding_about_a_body(edit, found, tmp_path):
    floats = "one = Constant <value_float = 1.0> () Y = Mul (by, one)"
    older = f"  function:\n  - opset: 13\n    nodes: {floats}\n"
    newer = with_body(("opset: 13", "t = com.acme.Other (X) Y = Mul (X, by)"))
    write(tmp_path, newer.replace("  function: null\n", older))
    write(tmp_path, TEXT.replace(*edit).replace("operator: Scale", "operator: Other"), "Other")
    write(tmp_path, with_body(("opset: 13", "Y = Mul (X)")).replace("operator: Scale", "operator: Third"), "Third")
    targets = [folder_of_domains(tmp_path)]
    for name in ("Scale", "Third"):
        targets += select_operators([tmp_path / "com.acme" / f"{name}.yaml"]).targets
    whole, scale, third = (check_target(each, lambda families: Hooks(None, None, None)).findings for each in targets)
    assert sorted({*codes(scale)}) == found and codes(third) == ["S235"]
    assert {each for each in whole if "Other.yaml" not in each.place} == {*scale, *third}


SETS = load_sets(FOLDER / "types.yaml")


def test_the_standard_is_clean():
    assert lint_all() == []


def test_the_families_are_those_of_the_standard():
    index = standard_index()
    names = [(domain, name) for domain, operators in index["operators"].items() for name in operators]
    assert {make_schema(index, domain, name, 0).family for domain, name in names} == set(FAMILIES)
    assert list(FAMILIES) == sorted(FAMILIES)


def test_every_code_of_a_rule_has_an_example_here():
    with open(__file__, encoding="utf-8") as file:
        text = file.read().upper()
    assert [code for code in CODES if code.startswith("S2") and code not in text] == []


def test_the_lock_of_the_standard_holds_its_versions_alone():
    lock = json.loads((FOLDER / "lock.json").read_text())
    assert list(lock) == ["ai.onnx", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training"]


def test_a_body_that_takes_some_types_says_which(tmp_path):
    nodes = "one = Constant <value_float = 1.0> () by_one = Mul (by, one) Y = Mul (X, by_one)"
    findings = lint([write(tmp_path, with_body(("opset: 13", nodes)))], ())
    refused = {each.message.rpartition(" ")[2] for each in findings}
    assert "tensor(double)" in refused and "tensor(float)" not in refused
    assert all(each.place.endswith(":20:3") and "Mul" in each.why and each.help for each in findings)
    findings = lint([write(tmp_path, with_body(("opset: 13\n    types: {T: [float]}", nodes)))], ())
    assert not any(each.code == "S244" for each in findings)


def test_a_withdrawn_operator_gets_no_version_that_leaves_it_so(tmp_path):
    text = DEPRECATED.replace("- since: 1\n", "- since: 1\n  deprecated: true\n")
    found = [each for each in lint([write(tmp_path, text)], ()) if each.code == "S245"]
    assert [each.place.rpartition("/")[2].partition(":")[2] for each in found] == ["5:15"]
    assert not any(each.code == "S245" for each in lint([write(tmp_path, DEPRECATED)], ()))
