"""The compiled index: what it holds, and when it is built anew."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from opset.schemas import index
from opset.schemas.documentation import make_docs
from opset.schemas.example import make_examples
from opset.schemas.index import FOLDER, _read_index, _stamp_of, build_index, compile_operators, make_schema, versions_of
from opset.schemas.yaml.loader import load_folder


def test_compiled_schemas_are_those_that_were_read():
    operators = load_folder(FOLDER)[0]
    index, prose, examples = json.loads(json.dumps(compile_operators(operators, {})))
    for operator in operators:
        assert repr(make_examples(examples, operator.domain, operator.name)) == repr(operator.examples)
        for position, (schema, docs) in enumerate(zip(operator.schemas, operator.docs, strict=True)):
            made = make_schema(index, operator.domain, operator.name, position)
            assert repr(made) == repr(schema)
            assert made == schema
            assert made.change == schema.change
            assert make_docs(prose, operator.domain, operator.name, schema.since_version) == docs
        _, _, *bodies = index["operators"][operator.domain][operator.name]
        assert len(bodies) == len({*map(json.dumps, bodies)})  # one that several versions have is stored once
    assert index["newest"] == {
        domain: max(each["since"] for _, versions, *_ in entries.values() for each in versions)
        for domain, entries in index["operators"].items()
    }


@pytest.fixture
def checkout(tmp_path):
    """A checkout with three operators."""
    package = tmp_path / "opset"
    shutil.copytree(FOLDER.parent, package, ignore=shutil.ignore_patterns("*.yaml", "*.json", "__pycache__"))
    shutil.copy(FOLDER / "types.yaml", package / "schemas")
    (package / "schemas" / "ai.onnx").mkdir(exist_ok=True)
    for name in ("Relu", "Softmax", "Tan"):
        shutil.copy(FOLDER / "ai.onnx" / f"{name}.yaml", package / "schemas" / "ai.onnx")
    (tmp_path / "pyproject.toml").write_text("")
    return tmp_path


def ask(checkout, expression="sorted(r.operators())"):
    """Evaluate an expression of the registry `r` in a fresh process; say whether YAML was read for it too."""
    code = f"""
import sys
from opset.opsets.registry import default_registry
r = default_registry()
print({expression}, "yaml" in sys.modules)
"""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=checkout)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_checkout_builds_anew_when_a_file_came_went_or_changed(checkout):
    schemas = checkout / "opset" / "schemas"
    assert ask(checkout) == "['Relu', 'Softmax', 'Tan'] True"
    assert ask(checkout) == "['Relu', 'Softmax', 'Tan'] False"
    (schemas / "ai.onnx" / "Tan.yaml").unlink()
    assert ask(checkout) == "['Relu', 'Softmax'] True"
    shutil.copy(FOLDER / "ai.onnx" / "Abs.yaml", schemas / "ai.onnx")
    os.utime(schemas / "ai.onnx" / "Abs.yaml", (0, 0))  # older than the index
    assert ask(checkout) == "['Abs', 'Relu', 'Softmax'] True"
    path = schemas / "ai.onnx" / "Relu.yaml"
    path.write_text(path.read_text().replace("family: activation", "family: other"))
    assert ask(checkout, "r.schema('Relu', 14).family") == "other True"
    assert ask(checkout, "r.schema('Relu', 14).family") == "other False"


def test_a_damaged_or_missing_index_is_built_anew(checkout):
    schemas = checkout / "opset" / "schemas"
    ask(checkout)
    (schemas / "index.json").write_text('{"stamp"')
    assert ask(checkout) == "['Relu', 'Softmax', 'Tan'] True"
    (schemas / "prose.json").unlink()
    doc = "r.documentation(r.schema('Relu', 14)).inputs"
    assert ask(checkout, doc).startswith("{'X': ")
    assert (schemas / "prose.json").exists()
    (schemas / "examples.json").unlink()
    names = "[each.name for each in r.examples('Softmax')][:2]"
    assert ask(checkout, names) == "['rows', 'last_axis'] True"
    assert ask(checkout, names) == "['rows', 'last_axis'] False"


@pytest.mark.parametrize("damage", ["missing", "cut short", "of another index", "of another form", ""])
@pytest.mark.parametrize(("read", "name"), [("standard_prose", "prose.json"), ("standard_examples", "examples.json")])
def test_what_is_beside_the_index_is_compiled_if_it_is_not_of_the_index(tmp_path, monkeypatch, damage, read, name):
    (tmp_path / "ai.onnx").mkdir()
    shutil.copy(FOLDER / "types.yaml", tmp_path)
    shutil.copy(FOLDER / "ai.onnx" / "Softmax.yaml", tmp_path / "ai.onnx")
    compiled = dict(zip(("index.json", "prose.json", "examples.json"), build_index(tmp_path), strict=True))
    path = tmp_path / name
    stored = json.loads(path.read_bytes()) | {"stored": True}
    if damage == "missing":
        path.unlink()
    elif damage == "cut short":
        path.write_text(json.dumps(stored)[:-1])
    elif damage == "of another form":
        path.write_text(json.dumps([stored]))
    else:
        path.write_text(json.dumps(stored | {"stamp": stored["stamp"] + len(damage)}))
    monkeypatch.setattr(index, "FOLDER", tmp_path)
    monkeypatch.setattr(index, "standard_index", lambda: {"stamp": stored["stamp"]})
    monkeypatch.setattr(index, "_build_standard", lambda: tuple(compiled.values()))
    found = getattr(index, read).__wrapped__()
    assert found == (stored if not damage else compiled[name])


@pytest.mark.parametrize("in_checkout", [True, False])
@pytest.mark.parametrize("stamp", ["of today", "of yesterday", None])
def test_an_index_is_taken_if_it_is_there_and_in_a_checkout_of_the_present_yaml(
    tmp_path, monkeypatch, in_checkout, stamp
):
    stored = None if stamp is None else {"stamp": stamp}
    monkeypatch.setattr(index, "FOLDER", tmp_path / "opset" / "schemas")
    monkeypatch.setattr(index, "_read_index", lambda path: stored)
    monkeypatch.setattr(index, "_stamp_of", lambda folder: "of today")
    monkeypatch.setattr(index, "_build_standard", lambda: ("anew", {}, {}))
    if in_checkout:
        (tmp_path / "pyproject.toml").touch()
    taken = stamp == "of today" or (stamp is not None and not in_checkout)
    assert index.standard_index.__wrapped__() == (stored if taken else "anew")


def test_an_installed_package_is_not_built_anew(checkout):
    ask(checkout)
    (checkout / "pyproject.toml").unlink()
    (checkout / "opset" / "schemas" / "ai.onnx" / "Tan.yaml").unlink()
    assert ask(checkout) == "['Relu', 'Softmax', 'Tan'] False"


def test_a_folder_that_cannot_be_written_keeps_the_index_in_memory(tmp_path, monkeypatch):
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "A.yaml").write_text("operator: A\nfamily: f\nversions:\n- since: 1\n  doc: it\n")

    def refuse(*_args, **_options):
        raise PermissionError

    monkeypatch.setattr(Path, "replace", refuse)
    index, prose, examples = build_index(tmp_path)
    assert index["operators"] == {"com.acme": {"A": ["f", [{"since": 1}]]}}
    assert prose["operators"] == {"com.acme": {"A": {"1": ["it", {}, {}, {}, {}, "", (), {}, ()]}}}
    assert examples["operators"] == {} and index["newest"] == {"com.acme": 1}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["com.acme"]


def test_the_build_hook_compiles(checkout):
    schemas = checkout / "opset" / "schemas"
    shutil.copy(FOLDER.parents[1] / "hatch_build.py", checkout)
    code = """
import sys, types
# The build system is not needed to see that its hook works.
for part, name in (("builders.hooks", "BuildHookInterface"), ("metadata", "MetadataHookInterface")):
    module = types.ModuleType(f"hatchling.{part}.plugin.interface")
    setattr(module, name, object)
    sys.modules[module.__name__] = module
import hatch_build
hook = hatch_build.CustomBuildHook()
hook.root, hook.target_name = sys.argv[1], "sdist"
hook.initialize("standard", {})
"""
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-c", code, str(checkout)]
    subprocess.run(command, check=True, env=environment, cwd=checkout)
    assert (schemas / "index.json").exists()
    assert (schemas / "prose.json").exists()
    assert (schemas / "examples.json").exists()
    assert ask(checkout) == "['Relu', 'Softmax', 'Tan'] False"


SMALL = """\
operator: A
family: f
versions:
- since: 2
  deprecated: true
  replacement: B
  change:
    attributes: {a: {added: ints, default: [1, 2], old: [3]}}
    deprecated: true
    meaning: more
    adapters: {up: written, down: derived}
  doc: it
  inputs:
  - {name: X, type: T, variadic: true, min_arity: 0, doc: x}
  outputs:
  - {name: Y, type: T, doc: y}
  attributes:
    a: {type: ints, default: [1, 2], range: ">= 0", doc: b}
    c: {type: string, choices: [p, q], constraint: C1, doc: d}
  types:
    T: [float, double]
    U: [float, double]
  constraints:
    C2: {rank: {X: 2}, where: {c: p}}
    C3: {rank: {X: 2}}
  shape: same(X)
- since: 1
  deprecated: null
  replacement: null
  like: 2
  attributes: null
  types: {T: float, U: null}
  constraints: null
  shape: null
special_cases: [one, {text: two, chosen: why}]
implementations: {tract: [{text: It is slow., tested: "1", until: 1, examples: [e]}], opset: [{text: It is not.}]}
examples:
- {name: e, since: 2, attributes: {a: [1]}, inputs: [{float: [1]}], outputs: [{float: [1]}]}
"""


def test_what_is_compiled_is_short_and_complete(tmp_path):
    (tmp_path / "com.acme").mkdir()
    (tmp_path / "com.acme" / "A.yaml").write_text(SMALL)
    (operator,) = load_folder(tmp_path)[0]
    compiled = json.loads(json.dumps(compile_operators([operator], {"s": ("t",)})))
    index, prose, examples = compiled
    assert index == {
        "stamp": 0, "types": [["tensor(float)"], ["tensor(double)", "tensor(float)"]], "newest": {"com.acme": 2},
        "operators": {"com.acme": {"A": ["f", [
            {"since": 1, "inputs": [["X", "T", "variadic", True, 0]], "outputs": [["Y", "T"]], "types": {"T": 0}},
            {
                "since": 2, "inputs": [["X", "T", "variadic", True, 0]], "outputs": [["Y", "T"]],
                "attributes": [
                    ["a", "ints", [1, 2], False, [], ">= 0"], ["c", "string", None, False, ["p", "q"], "", "", "C1"]
                ],
                "types": {"T": 1, "U": 1}, "deprecated": True, "replacement": "B", "shape": "same(X)",
                "conditions": [["C2", "rank", "X", "2", [["c", "p"]]], ["C3", "rank", "X", "2"]],
                "change": {
                    "diff": {"deprecated": True, "attributes": {"a": {"added": "ints", "default": [1, 2]}}},
                    "attributes": {"a": {
                        "old": [3], "ignored": False, "input": "", "negative": False, "only_for": [], "renamed": "",
                        "values": {}, "undefined": None,
                    }},
                    "meaning": "more", "up": "written",
                },
            },
        ]]}},
    }  # fmt: skip
    assert prose["sets"] == {"s": ["t"]} and prose["stamp"] == examples["stamp"] == 0
    assert examples["operators"] == {"com.acme": {"A": [{
        "name": "e", "since": 2, "attributes": {"a": [1]},
        "inputs": [{"type": "tensor(float)", "content": [1], "shape": [1]}],
        "outputs": [{"type": "tensor(float)", "content": [1], "shape": [1]}],
    }]}}  # fmt: skip
    for position, (schema, docs) in enumerate(zip(operator.schemas, operator.docs, strict=True)):
        made = make_schema(index, "com.acme", "A", position)
        assert repr(made) == repr(schema) and hash(made) == hash(schema) and made.change == schema.change
        assert make_docs(prose, "com.acme", "A", schema.since_version) == docs
    assert make_examples(examples, "com.acme", "A") == operator.examples
    assert make_examples(examples, "com.acme", "B") == make_examples(examples, "org", "A") == ()
    assert versions_of(index, "com.acme", "A") == [1, 2]


def test_an_index_is_read_line_by_line_unless_it_is_damaged(tmp_path):
    path = tmp_path / "index.json"
    head = '{"stamp": 7, "operators": {"a": ["A", "B"], "b": ["C"]}}'
    assert _read_index(path) is None
    for lines in (
        [],
        [head, "1"],
        [head, "1", "2", "3", "4"],
        ["{", "1", "2", "3"],
        ["{}", "1"],
        ["[]"],
        ["7"],
        ['{"stamp": 7, "operators": []}'],
        ['{"stamp": 7, "operators": {"a": 3}}'],
        ['{"operators": {}}'],
    ):
        path.write_text("\n".join(lines))
        assert _read_index(path) is None
    path.write_text("\n".join([head, '["f", []]', '["g", [{"since": 3}]]', "3"]))
    index = _read_index(path)
    operators = {"a": {"A": b'["f", []]', "B": b'["g", [{"since": 3}]]'}, "b": {"C": b"3"}}
    assert index == {"stamp": 7, "operators": operators}
    assert versions_of(index, "a", "B") == [3] and index["operators"]["a"]["B"] == ["g", [{"since": 3}]]


def test_a_stamp_is_of_sources_beside_and_below_the_folder(tmp_path):
    (tmp_path / "d" / "e").mkdir(parents=True)
    stamps = {_stamp_of(tmp_path)}
    for name in ("types.yaml", "d/A.yaml", "a.py"):
        (tmp_path / name).write_text("x")
        stamps.add(_stamp_of(tmp_path))
    assert len(stamps) == 4
    for name in ("d/e/A.yaml", "index.json", "d/notes.txt"):
        (tmp_path / name).write_text("x")
    assert _stamp_of(tmp_path) in stamps
    os.utime(tmp_path / "a.py", (5, 5))
    stamps.add(_stamp_of(tmp_path))
    (tmp_path / "a.py").write_text("xy")
    os.utime(tmp_path / "a.py", (5, 5))
    stamps.add(_stamp_of(tmp_path))
    assert len(stamps) == 6
