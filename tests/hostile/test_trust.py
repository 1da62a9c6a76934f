"""Code of strangers: entering an unpacked folder and calling any verb there runs nothing of it.

What may be imported in place of something else is for processes that begin with the start of Python. Which hooks are
run is asked of copies of a process that has imported the package.
"""

import json
import os
import re
import shutil
import sys
from pathlib import Path

import onnx.parser
import pytest

import opset
import opset.cli
from judges.hostile.processes import attack, launch, own, python
from opset.__main__ import leave_working_folder

PACKAGE = str(Path(opset.__file__).parents[1])
YAML = """\
operator: Twice
family: {family}
versions:
- since: 2
  change: {{meaning: It is doubled in another way., adapters: {{up: written, down: written}}}}
  doc: Returns `2 * X`.
  inputs: [{{name: X, type: T, doc: values}}]
  outputs: [{{name: Y, type: T, doc: results}}]
  types: {{T: [float]}}
- since: 1
  like: 2
examples: [{{name: one, since: 1, inputs: [{{float: [1, 2]}}], outputs: [{{float: [2, 4]}}]}}]
"""
HOOKS = {
    "kernels.py": "@kernel('Twice', domain='com.example')\ndef twice(x): return x + x",
    "inference.py": "@infer('Twice', domain='com.example')\ndef twice(call): return call.shape(0)",
    "adapters.py": "up('Twice', since=2, domain='com.example')(lambda op, node: None)\n"
    "down('Twice', since=2, domain='com.example')(lambda op, node: None)",
}
MODEL = """<ir_version: 8, opset_import: ["": 13, "com.example": 1]>
    main (float[2] x) => (float[2] y) { a = Relu (x)  b = com.example.Twice (a)  y = Relu (b) }"""
SHADOWED = """yaml numpy ml_dtypes click json google typing __future__ signal locale pathlib bisect zlib dataclasses re
    copy contextvars importlib_metadata email csv zipfile multiprocessing pickle threading tomllib tomli difflib PIL re2
    sitecustomize_opset onnxruntime openvino opset_hooks kernels inference adapters example""".split()


def marking(mark: Path, name: str) -> str:
    return f"with open({str(mark)!r}, 'a') as mark: mark.write({name!r} + '\\n')\n"


def schemas_in(folder: Path, mark: Path, operator: str = YAML.format(family="example")) -> Path:
    """Return a folder of operator YAML, with hooks that leave a mark."""
    (folder / "com.example").mkdir(parents=True)
    (folder / "com.example" / "Twice.yaml").write_text(operator)
    for name, source in HOOKS.items():
        (folder / "com.example" / name).write_text(
            marking(mark, name) + "from opset.extend import down, infer, kernel, up\n" + source
        )
    return folder


def offer(folder: Path, mark: Path, module: str = "evil") -> None:
    """Put what looks like an installed package with schemas into a folder."""
    package = folder.joinpath(*module.split("."))
    schemas_in(package, mark, YAML.format(family="example").replace("Twice", "Thrice"))
    for each in (package, *package.parents[: module.count(".")]):
        (each / "__init__.py").write_text(marking(mark, "package"))
    (package / "com.example").rename(package / "com.evil")
    (package / "com.evil" / "Twice.yaml").rename(package / "com.evil" / "Thrice.yaml")
    metadata = folder / "evil-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[opset.schemas]\nevil = {module}\n")


@pytest.fixture(scope="module")
def model() -> bytes:
    data: bytes = onnx.parser.parse_model(MODEL).SerializeToString()
    return data


@pytest.fixture
def mark(tmp_path) -> Path:
    return tmp_path / "mark"


@pytest.fixture
def project(tmp_path, mark, model) -> Path:
    """An unpacked folder of a stranger: every file in it that is Python leaves a mark."""
    folder = tmp_path / "project"
    schemas_in(folder / "schemas", mark)
    (folder / "pyproject.toml").write_text('[tool.opset]\nschemas = ["schemas"]\n')
    (folder / "model.onnx").write_bytes(model)
    offer(folder, mark)
    for name in SHADOWED:
        (folder / f"{name}.py").write_text(marking(mark, name))
    return folder


VERBS = [
    ("convert", "model.onnx", "--to", "21"),
    ("convert", "model.onnx", "--to", "com.example=2", "--plan", "--format", "json"),
    ("convert", ".", "--to", "14", "-j", "2", "-o", "out/"),
    ("lower", "model.onnx", "--ops", "com.example.Twice,Gelu", "--plan"),
    ("inline", "model.onnx", "-o", "out.onnx"),
    ("extract", "model.onnx", "--add-output", "y", "-o", "out.onnx"),
    ("merge", "model.onnx", "model.onnx", "--connect", "y=x", "-o", "out.onnx"),
    ("reduce", "model.onnx", "--to", "9", "-o", "out.onnx"),
    ("reduce", "model.onnx", "--differs", "--to", "9", "-o", "out.onnx"),
    ("text", "model.onnx"),
    ("blockers", "model.onnx", "--to", "14"),
    ("info", "model.onnx", "--runtime", "tensorrt"),
    ("check", "model.onnx", "--for", "onnxruntime==1.17"),
    ("infer", "model.onnx", "--values"),
    ("run", "model.onnx", "--set", "x=[1, 2]", "--trace", "--format", "json"),
    ("verify", "model.onnx", "model.onnx", "--seeds", "1"),
    ("convert", "model.onnx", "--to", "21", "--verify", "-o", "verified.onnx"),
    ("show", "model.onnx"),
    ("show", "com.example.Twice"),
    ("list", "domains"),
    ("targets", "list"),
    ("targets", "probe", "onnxruntime", "Celu"),
    ("convert", "model.onnx", "--for", "installed:onnxruntime", "--plan"),
    ("diff", "com.example.Twice", "1", "2"),
    ("diff", "model.onnx", "model.onnx", "--set-version", "-o", "out.onnx"),
    ("breaking", "folder:.", "--no-examples"),
    ("docs", "--domain", "com.example", "-o", "site"),
    ("test", "com.example.Twice"),
    ("check-contribution", "com.example.Twice"),
    ("testgen", "com.example.Twice", "-o", "corpus"),
    ("new", "com.example.Thrice", "--like", "com.example.Twice"),
    ("bump", "com.example.Twice"),
    ("bump", "com.example.Twice", "--check"),
    ("conformance", ".", "--runtime", "opset"),
    ("lint",),
    ("lint", "--lock"),
    ("export", "--domain", "com.example", "-o", "out.onnxopset"),
    ("import", "document.onnxopset", "-o", "imported"),
    ("explain", "C105"),
    ("examples", "new"),
    ("schema", "convert"),
    ("completion", "bash"),
    ("convert", "--help"),
]


@pytest.mark.parametrize("arguments", VERBS, ids=" ".join)
def test_no_verb_runs_code_of_the_working_folder(project, mark, arguments):
    own(launch(*arguments, cwd=project))
    assert not mark.exists(), mark.read_text()


def test_the_table_of_verbs_is_complete():
    assert {arguments[0] for arguments in VERBS} >= set(opset.cli.VERBS)
    table = Path(PACKAGE, "SECURITY.md").read_text(encoding="utf-8")
    assert all(f"`{verb}`" in table for verb in opset.cli.VERBS)


RUNNING = [
    ("convert", "m.onnxtxt", "--to", "com.acme=1", "--plan"),
    ("lower", "m.onnxtxt", "--ops", "com.acme.Thin", "--plan"),
    ("inline", "m.onnxtxt", "--only", "com.acme.Thin", "-o", "out.onnx"),
    ("inline", "m.onnxtxt", "--check"),
    ("extract", "m.onnxtxt", "--outputs", "y", "-o", "out.onnx"),
    ("merge", "m.onnxtxt", "m.onnxtxt", "--connect", "y=x", "--to", "com.acme=1", "-o", "out.onnx"),
    ("check", "m.onnxtxt", "--for", "onnxruntime==1.17"),
    ("infer", "m.onnxtxt"),
    ("run", "m.onnxtxt", "--set", "x=[[1, 2]]", "--dim", "x.0=1"),
    ("verify", "m.onnxtxt", "m.onnxtxt", "--seeds", "1"),
    ("breaking", "old"),
    ("breaking", "old", "--no-examples"),
    ("testgen", "com.acme.Softcap", "-o", "corpus"),
    ("testgen", "com.acme.Softcap", "--list"),
    ("show", "com.acme.Thin"),
    ("list",),
    ("export", "--domain", "com.acme"),
    ("diff", "com.acme.Thin", "1", "2"),
]


@pytest.mark.parametrize("arguments", RUNNING, ids=" ".join)
def test_the_table_names_each_file_that_a_verb_runs(arguments, tmp_path):
    model = '<ir_version: 8, opset_import: ["": 17, "com.acme": 2]> m (float[2, 2] x) => (float[2, 2] y)'
    (tmp_path / "m.onnxtxt").write_text(model + " { y = com.acme.Thin (x) }")
    marks = tmp_path / "marks"
    marks.mkdir()
    for folder in "schemas", "old":
        shutil.copytree(Path(PACKAGE, "examples", "com.acme"), tmp_path / folder / "com.acme")
        shutil.copy(Path(PACKAGE, "examples", "types.yaml"), tmp_path / folder)
        for file in (tmp_path / folder / "com.acme").glob("*.py"):
            file.write_text(f"open({str(marks / file.name)!r}, 'w').close()\n{file.read_text()}")
    with (tmp_path / "schemas" / "com.acme" / "adapters.py").open("a") as adapters:
        adapters.write("# edited\n")
    own(attack(*arguments, "--schemas", "schemas", cwd=tmp_path), 0, 1)
    rows = [line.split("|") for line in Path(PACKAGE, "SECURITY.md").read_text(encoding="utf-8").splitlines()]
    named = " ".join(row[3] for row in rows if len(row) == 5 and f"`{arguments[0]}`" in row[1])
    assert {each.name for each in marks.iterdir()} <= {*re.findall(r"`(\w+\.py)`", named)}


@pytest.mark.parametrize("words", ["opset ", "opset run --schemas "])
def test_completion_runs_no_code_of_the_working_folder(project, mark, words):
    environment = {"_OPSET_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    own(launch(cwd=project, env=environment))
    assert not mark.exists(), mark.read_text()


def test_the_completion_script_runs_opset_and_not_the_first_word_of_the_line(project):
    script = own(launch("completion", "bash", cwd=project)).text
    assert "_OPSET_COMPLETE=bash_complete opset)" in script and "$1" not in script


@pytest.mark.parametrize("path", ["{package}:", ".:{package}", "{project}:{package}", "inner:{package}"])
def test_a_path_of_imports_with_the_working_folder_in_it(project, mark, path):
    offer(project / "inner", mark)
    environment = {"PYTHONPATH": path.format(package=PACKAGE, project=project)}
    shown = own(launch("list", "domains", cwd=project, env=environment)).text
    assert not mark.exists(), mark.read_text()
    assert "com.example" in shown and "com.evil" not in shown


@pytest.mark.parametrize("path", [":", ".:{package}", "{project}:{package}"])
def test_an_installed_runtime_is_not_taken_from_the_working_folder(project, mark, path):
    # The API is not the command line, which cleans the path itself.
    text = '<ir_version: 8, opset_import: ["": 17]> m (float[2] x) => (float[2] y) { y = Relu (x) }'
    code = f"import opset; opset.plan(opset.parse_model({text!r}), runtime='installed:onnxruntime')"
    (project / "sitecustomize.py").write_text(marking(mark, "sitecustomize"))
    environment = {"PYTHONPATH": path.format(package=PACKAGE, project=project), "PYTHONSAFEPATH": ""}
    own(python("-I", "-c", f"import os, sys; sys.path.append({PACKAGE!r}); {code}", cwd=project, env=environment), 0, 1)
    assert not mark.exists(), mark.read_text()


@pytest.mark.parametrize("how", ["script", "-I", *(["-P"] if sys.version_info >= (3, 11) else [])])
def test_the_script_and_safe_modes_of_python_import_nothing_from_the_working_folder(project, mark, how, tmp_path):
    for name in sys.stdlib_module_names - {"__main__"}:
        (project / f"{name}.py").write_text(marking(mark, name))
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "opset"
    script.write_text(f"import sys\nsys.path.append({PACKAGE!r})\nfrom opset.__main__ import main\nmain()\n")
    form = {"script": [script], "-P": ["-P", "-m", "opset"], "-I": ["-I", script]}[how]
    own(python(*form, "run", "model.onnx", "--random", cwd=project), 1)
    assert not mark.exists(), mark.read_text()


def test_the_working_folder_stays_on_the_path_where_it_is_installed_or_holds_this_package(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONSAFEPATH", "")
    library, here = os.path.dirname(os.__file__), str(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [here, "", "/other", library, "/site", here])
    leave_working_folder()
    assert sys.path == ["/other", library, "/site", here]  # installed packages put theirs behind the library
    monkeypatch.chdir(PACKAGE)
    monkeypatch.setattr(sys, "path", [PACKAGE, library])
    leave_working_folder()
    assert sys.path == [PACKAGE, library]


# What is left out


def test_an_adapter_that_is_not_trusted_is_refused_with_the_reason(project):
    found = own(attack("convert", "model.onnx", "--to", "com.example=2", cwd=project), 1)
    assert "error[C105]" in found.text and not (project / "model-opset13.onnx").exists()
    assert "schemas/com.example/adapters.py was not run" in found.text and "--allow-hooks" in found.text
    data = json.loads(attack("convert", "model.onnx", "--to", "com.example=2", "--format", "json", cwd=project).stdout)
    (note,) = data["notes"]
    assert "com.example/adapters.py, com.example/inference.py in schemas were not run" in note
    assert "OPSET_ALLOW_HOOKS" in note and f"note: {note}\n" in found.stderr.decode()


def test_a_conversion_that_needs_no_hook_is_done(project):
    found = own(attack("convert", "model.onnx", "--to", "21", cwd=project), 0)
    assert b"note: com.example/adapters.py" in found.stderr and (project / "model-opset21.onnx").exists()
    assert own(attack("convert", "model.onnx", "--to", "22", "-q", cwd=project), 0).stderr == b""


def test_an_operator_without_its_kernel_or_rule_says_why(project):
    found = own(attack("run", "model.onnx", "--random", cwd=project), 1)
    assert "error[R201]" in found.text and "schemas/com.example/kernels.py was not run" in found.text
    data = json.loads(attack("run", "model.onnx", "--random", "--format", "json", cwd=project).stdout)
    assert "com.example/kernels.py in schemas was not run" in data["notes"][0]
    found = own(attack("infer", "model.onnx", cwd=project), 0)
    assert "'b' of graph 'main', node number 1" in found.text
    assert "schemas/com.example/inference.py was not run" in found.text


def test_lint_of_the_configured_folder_does_not_look_for_its_adapters(project):
    found = own(attack("lint", cwd=project))
    assert b"note: com.example/adapters.py in schemas was not run" in found.stderr
    assert "S206" not in found.text and "S207" not in found.text


def test_verbs_that_never_run_hooks_have_no_note(project):
    for arguments in (
        ("list", "domains"),
        ("show", "model.onnx"),
        ("diff", "com.example.Twice", "1", "2"),
        ("diff", "model.onnx", "model.onnx"),
    ):
        assert own(attack(*arguments, cwd=project), 0).stderr == b""


# What is trusted

TRUSTING = {
    "named": (["--schemas", "schemas"], {}),
    "named by another path": (["--schemas", "./inner/../schemas/"], {}),
    "allowed": (["--allow-hooks"], {}),
    "allowed by the environment": ([], {"OPSET_ALLOW_HOOKS": "/nowhere::{project}/schemas:"}),
}
NEEDING = {
    "adapters.py": ("convert", "model.onnx", "--to", "com.example=2"),
    "inference.py": ("infer", "model.onnx"),
    "kernels.py": ("run", "model.onnx", "--random"),
}


@pytest.mark.parametrize("how", TRUSTING)
def test_hooks_of_a_folder_that_the_call_names_or_trusts_are_run(project, mark, how):
    (project / "inner").mkdir()
    options, variables = TRUSTING[how]
    environment = {name: value.format(project=project) for name, value in variables.items()}
    for name, arguments in NEEDING.items():
        found = own(attack(*arguments, *options, cwd=project, env=environment), 0)
        run = {*mark.read_text().split()}
        # What the model's types decide, converts and draws inputs that suit it.
        assert {name} <= run <= ({name} if arguments[0] == "infer" else {name, "inference.py"})
        assert b"note" not in found.stderr
        mark.unlink()


def test_lint_runs_the_adapters_of_a_folder_that_the_call_names(project, mark):
    own(attack("lint", "schemas", cwd=project))
    assert mark.read_text() == "adapters.py\n"


def test_no_hooks_runs_none_of_a_folder_that_the_call_names(project, mark):
    environment = {"OPSET_ALLOW_HOOKS": f"{project}/schemas"}
    for arguments in NEEDING.values():
        found = own(attack(*arguments, "--schemas", "schemas", "--no-hooks", cwd=project, env=environment), 0, 1)
        assert b"note" not in found.stderr
    own(attack("lint", "schemas", "--no-hooks", cwd=project), 0, 1)
    assert not mark.exists()


@pytest.mark.parametrize("value", ["schemas", "/nowhere:."])
def test_a_relative_folder_is_not_trusted(project, mark, value):
    found = own(attack(*NEEDING["kernels.py"], cwd=project, env={"OPSET_ALLOW_HOOKS": value}), 2)
    assert "error[U103] OPSET_ALLOW_HOOKS cannot be used" in found.text and not mark.exists()


@pytest.mark.parametrize("value", [":", "{project}:{project}/schemas/com.example:/:*"])
def test_another_folder_is_not_trusted(project, mark, value):
    found = attack(*NEEDING["kernels.py"], cwd=project, env={"OPSET_ALLOW_HOOKS": value.format(project=project)})
    own(found, 1, 2)
    assert not mark.exists()


def test_the_folder_that_a_link_leads_to_is_what_is_trusted(project, mark, tmp_path):
    (tmp_path / "trusted").mkdir()
    (project / "schemas").rename(project / "strange")
    (project / "schemas").symlink_to(project / "strange")
    environment = {"OPSET_ALLOW_HOOKS": f"{tmp_path}/trusted:{project}/other"}
    own(attack(*NEEDING["kernels.py"], cwd=project, env=environment), 1)
    assert not mark.exists()
    own(attack(*NEEDING["kernels.py"], cwd=project, env={"OPSET_ALLOW_HOOKS": f"{project}/strange"}), 0)
    assert mark.exists()


def test_a_parent_of_the_working_folder_brings_data_alone(project, mark):
    (project / "below").mkdir()
    shown = own(attack("list", "domains", cwd=project / "below"), 0).text
    assert "com.example" in shown and not mark.exists()
    own(attack("run", "../model.onnx", "--set", "x=[1, 2]", cwd=project / "below"), 1)
    assert not mark.exists()


def test_the_search_for_a_configuration_ends_with_the_repository(project, mark):
    (project / "below" / ".git").mkdir(parents=True)
    shown = own(attack("list", "domains", cwd=project / "below"), 0).text
    assert "com.example" not in shown and not mark.exists()


def test_a_configuration_sets_no_option_that_trusts_or_writes(project, mark):
    for line in ("allow-hooks = true", "schemas = ['schemas']", "in-place = true", "output = '/tmp/out'"):
        (project / "pyproject.toml").write_text(f"[tool.opset.convert]\n{line}\n")
        found = own(attack("convert", "model.onnx", "--to", "21", cwd=project), 2)
        assert "only a call sets this option" in found.text and not mark.exists()


def test_an_installed_package_is_trusted_and_found_without_being_imported(tmp_path, mark, model):
    site, work = tmp_path / "site", tmp_path / "work"
    work.mkdir()
    site.mkdir()
    offer(site, mark, "inner.evil")
    environment = {"PYTHONPATH": f"{PACKAGE}:{site}"}
    assert "com.evil" in own(launch("list", "domains", cwd=work, env=environment), 0).text
    assert not mark.exists()


@pytest.mark.parametrize("value", ["no such module", "..", "nowhere.at.all", "os"])
def test_an_entry_point_that_names_no_package(tmp_path, mark, value):
    site, work = tmp_path / "site", tmp_path / "work"
    work.mkdir()
    site.mkdir()
    offer(site, mark)
    (site / "evil-1.dist-info" / "entry_points.txt").write_text(f"[opset.schemas]\nevil = {value}\n")
    own(launch("list", "domains", cwd=work, env={"PYTHONPATH": f"{PACKAGE}:{site}"}), 0, 2)
    assert not mark.exists()


# Names that a stranger chooses


@pytest.mark.parametrize("family", ["yaml", "unary"])
def test_a_family_imports_no_module(project, mark, family):
    (project / "schemas/com.example/Twice.yaml").write_text(YAML.format(family=family))
    for arguments in NEEDING.values():
        own(launch(*arguments, cwd=project))
    assert not mark.exists()


def test_the_interface_of_python_reads_no_configuration(project, mark):
    code = (
        "import opset, sys\n"
        "sys.path.remove('')\n"
        "assert opset.plan('model.onnx', 21).refusals == []\n"
        "assert opset.infer('model.onnx').type('b').shape is None\n"  # y, which reads it, shows its element type
    )
    found = python("-c", code, cwd=project)
    assert found.status == 0, found.text
    assert not mark.exists()
