"""`opset breaking`: what it compares with, its forms, and its exit statuses."""

import json
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from opset.budget import Budget, Limits
from opset.cli.breaking import _registry_for_examples, _split_kind
from opset.cli.configuration import folders_of
from opset.errors import ComparisonError, SchemaError
from opset.opsets.registry import default_registry
from opset.schemas.documentation import Docs
from opset.schemas.index import FOLDER
from opset.schemas.model import OpSchema
from opset.schemas.yaml.loader import standard_sets
from opset.workflow.breaking import revisions
from opset.workflow.breaking.comparison import compare
from opset.workflow.breaking.states import State, folder_state, merge_states, operator_state, standard_state
from tests.cli.commands import run
from tests.test_pre_commit import HOOKS
from tests.workflow.breaking.conftest import THIN, git, write

EDITED = THIN.replace("default: 1.0", "default: 2.0")
MESSAGE = "the default of the attribute 'alpha' changed: 1.0 -> 2.0"


def against(what, *more, schemas="schemas"):
    return run("breaking", what, "--schemas", schemas, *more)


def report(what, *more):
    result = against(what, "--format", "json", *more)
    return result.exit_code, json.loads(result.stdout)


def rules(what, *more):
    return [each["rule"] for each in report(what, *more)[1]["findings"]]


def test_a_revision_beside_now(repository):
    assert against("v1").stdout == "1 operator of com.acme at v1 beside now: no breaks, no warnings, no notices\n"
    write(Path("schemas"), Thin=EDITED)
    result = against("v1")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == [
        f"error[B125] com.acme.Thin 1: {MESSAGE}",
        "  where   schemas/com.acme/Thin.yaml:11:35",
        "  needs   new version",
        "  why     a change of behavior is a breaking change, even if the signature stays the same",
        "  help    restore it (git checkout v1 -- schemas/com.acme/Thin.yaml), and put the edit into a new version: "
        "opset bump com.acme.Thin",
        "more: opset explain B125",
        "1 operator of com.acme at v1 beside now: 1 break, no warnings, no notices",
    ]
    git(repository, "checkout", "v1", "--", "schemas/com.acme/Thin.yaml")
    assert against("v1").exit_code == 0


def test_a_revision_is_read_from_below_the_top_and_in_a_hook(repository, monkeypatch):
    write(Path("schemas"), Thin=EDITED)
    monkeypatch.chdir("schemas")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere/index")
    assert against("rev:v1", schemas=".").exit_code == 1
    assert git(repository, "status", "--short") == " M schemas/com.acme/Thin.yaml\n"


def test_the_top_of_a_repository_may_be_the_folder(tmp_path, monkeypatch):
    write(tmp_path)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    monkeypatch.chdir(tmp_path)
    write(tmp_path, Thin=EDITED)
    lines = against("HEAD", schemas=".").stdout.splitlines()
    assert lines[0] == f"error[B125] com.acme.Thin 1: {MESSAGE}" and "1 break," in lines[-1]


def test_what_it_may_be_compared_with(repository, tmp_path):
    write(Path("schemas"), Thin=EDITED)
    write(Path("older"))
    file = "older/com.acme/Thin.yaml"
    for what in ("older", "folder:older", file, f"file:{file}", "v1", "rev:HEAD"):
        assert rules(what) == ["B125"], what
    shutil.copy("older/com.acme/Thin.yaml", "Thin.yaml")  # its folder is no domain
    assert rules("Thin.yaml") == ["B125"]
    os.mkdir("v1")  # a folder comes before a revision
    assert against("v1").exit_code == 3
    assert rules("rev:v1") == ["B125"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("folder:a", ("folder", "a")),
        ("file:a:b", ("file", "a:b")),
        ("rev:", ("rev", "")),
        ("release:9", ("release", "9")),
        ("release", ("rev", "release")),
        ("other:a", ("rev", "other:a")),
        ("folder", ("folder", "folder")),
        ("there:b", ("file", "there:b")),
        ("1.16.2", ("release", "1.16.2")),
        ("1.16.77", ("rev", "1.16.77")),
        ("16", ("rev", "16")),
    ],
)
def test_the_kind_of_what_it_is_compared_with(text, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("there:b").touch()
    assert _split_kind(text, standard_state()) == kind
    if kind[0] == "release" and ":" not in text:
        write(Path("schemas"))
        assert _split_kind(text, folder_state(Path("schemas"), "now")) == ("rev", text)


def test_the_document_of_opset_docs(repository):
    made = run("docs", "-o", "made", "--format", "json", "--domain", "com.acme", "--schemas", "schemas")
    assert made.exit_code == 0
    assert report("made/operators.json") == (0, report("made/operators.json")[1])
    write(Path("schemas"), Thin=EDITED)
    assert rules("made/operators.json") == ["B125"]


def test_a_release():
    result = run("breaking", "1.22", "--format", "json")
    data = json.loads(result.stdout)
    assert (result.exit_code, data["clean"]) == (0, True)
    assert data["compared"].endswith("at ONNX 1.22.0 beside now")
    assert {each["severity"] for each in data["findings"] if each["rule"] in ("B105", "B106")} == {"INFO"}


def test_a_release_beside_a_copy_of_the_standard(tmp_path):
    folder = tmp_path / "ai.onnx.preview.training"
    shutil.copytree(FOLDER / folder.name, folder)
    adam = folder / "Adam.yaml"
    assert run("breaking", "1.22", "--schemas", tmp_path).exit_code == 0
    adam.write_text(adam.read_text().replace("default: 0.0", "default: 1.0", 1))
    result = run("breaking", "1.22", "--schemas", tmp_path)
    assert result.exit_code == 1 and "error[B125]" in result.stdout


NO_NAME, NO_REVISION = "this is no name of a revision", "there is no such revision"


@pytest.mark.parametrize(
    ("what", "head", "why"),
    [
        ("v2", "B191] the revision 'v2' cannot be read", NO_REVISION),
        ("rev:-x", "B191] the revision '-x' cannot be read", NO_NAME),
        ("rev:", "B191] the revision '' cannot be read", NO_NAME),
        ("--output=x", "B191] the revision '--output=x' cannot be read", NO_NAME),
        ("rev:v1:schemas", "B191] the revision 'v1:schemas' cannot be read", NO_REVISION),
        ("folder:v1", "B192] the schemas of v1 cannot be read", "1 finding, below"),
        ("file:v1", "B192] the schemas of v1 cannot be read", "No such file or directory"),
        ("pipe", "B192] the schemas of pipe cannot be read", "it is no regular file"),
        ("empty", "B193] no operator was read of empty", ""),
        ("release:1.16", "B193] nothing to compare with in ONNX 1.16.2",
         "the releases of ONNX have no operator set of com.acme"),
        ("other", "B193] the two states have nothing in common", "other has com.example; now has com.acme"),
        ("broken", "B192] the schemas of broken cannot be read", "2 findings, below"),
        ("broken.json", "B192] the schemas of broken.json cannot be read",
         "it is no document of operators: KeyError 'domain'"),
        ("deep.json", "B192] the schemas of deep.json cannot be read",
         "it is no document of operators: ValueError it is nested too deeply"),
        ("empty.json", "B193] empty.json has no operator that is compared",
         "no domain has an operator empty, and the file's folder names none"),
    ],
)  # fmt: skip
def test_a_comparison_that_failed_never_reads_as_clean(repository, what, head, why):
    write(Path("other"), Thick=THIN.replace("Thin", "Thick"))
    Path("other/com.acme").rename("other/com.example")
    write(Path("broken"), Thin=THIN, Thick="operator: Thick\n")
    Path("broken.json").write_text('{"domains": [{"operators": [{"operator": 1}]}]}')
    Path("deep.json").write_text('{"domains": ' + "[" * 50_000)
    Path("empty.json").write_text("")
    Path("empty").mkdir()
    os.mkfifo("pipe")
    result = run("breaking", "--schemas", "schemas", "--", what)
    assert result.exit_code == 3
    assert result.stdout == ""
    first, second, *_ = result.stderr.splitlines()
    assert (first, second) == (f"error[{head}", f"  why     {why}" if why else f"  where   {what}")


class AtOnce(threading.Timer):
    """A timer whose time is up when it is started."""

    def start(self):
        self.function()


def fails(error):
    def raising(*arguments):
        raise error

    return raising


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("MAX_ENTRIES", 1, "schemas/ has too many files"),
        ("MAX_BYTES", 20, "git rev-parse prints more than 20 bytes"),
        ("MAX_BYTES", 200, "the files have 409 bytes, and at most 200 are read"),
        ("Timer", AtOnce, "git took more than 60 seconds"),
        ("_command_output", fails(FileNotFoundError()), "there is no git"),
        ("_command_output", fails(OSError("so it is")), "so it is"),
        ("_is_operator_file", lambda path: path == "com.acme/\x1b", "'com.acme/\\x1b' is badly named there"),
    ],
)
def test_a_revision_that_git_does_not_give(repository, monkeypatch, name, value, why):
    Path("schemas/com.acme/\x1b").touch()
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    write(Path("schemas"), Thin=EDITED)
    monkeypatch.setattr(revisions, name, value)
    result = against("HEAD")
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"error[B191] the revision 'HEAD' cannot be read\n  why     {why}" in result.stderr


def test_a_command_that_takes_too_long_is_killed(monkeypatch, tmp_path):
    killed = []

    class Watched(subprocess.Popen):
        def kill(self):
            killed.append(self.args)
            super().kill()

    monkeypatch.setattr(revisions, "Timer", AtOnce)
    monkeypatch.setattr(revisions.subprocess, "Popen", Watched)
    with pytest.raises(subprocess.TimeoutExpired):
        revisions._command_output(["true"], tmp_path, {}, b"")
    assert killed == [["true"]]


def test_beside_the_standard_examples_are_run_with_the_standard(repository):
    both = [FOLDER, Path("schemas")]
    assert _registry_for_examples(folders_of(tuple(both), None), both) is default_registry()


def test_what_git_says_is_the_reason(repository):
    shutil.rmtree(".git")
    assert "  why     fatal: not a git repository" in against("HEAD").stderr


def test_files_that_did_not_change_are_no_reason_to_leave_out_others(repository):
    texts = {name: THIN.replace("Thin", name) for name in ("Bare", "Thin", "Wide")}
    write(Path("schemas"), **texts)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    for name in texts:
        write(Path("schemas"), **{**texts, name: texts[name].replace("default: 1.0", "default: 2.0")})
        (found,) = report("HEAD")[1]["findings"]
        assert (found["rule"], found["operator"]) == ("B125", name)


def test_all_files_of_a_revision_are_read_with_one_budget(repository, monkeypatch):
    write(Path("schemas"), Thick=THIN.replace("Thin", "Thick"))
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    present = standard_state()
    steps = []
    for revision in ("v1", "HEAD"):
        budget = Budget(Limits(), max_steps=1 << 20)
        monkeypatch.setattr("opset.schemas.yaml.reader.reading_budget", lambda budget=budget: budget)
        found = revisions.revision_state(Path("schemas"), revision, present)
        steps.append(budget.steps)
        assert len(found.operators) == len(steps)
    assert steps[1] >= 2 * steps[0] - 1 > 1


def test_faults_of_a_revision_are_told_up_to_a_number(monkeypatch):
    files = [revisions.Blob(f"com.acme/Op{number}.yaml", "") for number in range(4)]
    contents = {each.path: b"operator: [" for each in files}
    revision = revisions.Revision(Path("schemas"), "schemas/", "v1", "", tuple(files))
    for most, count in ((2, 3), (9, 4)):
        monkeypatch.setattr(revisions, "MAX_FINDINGS", most)
        with pytest.raises(SchemaError) as caught:
            revisions._read_state(revision, files, {}, contents)
        places = [each.place.partition(".yaml")[0] for each in caught.value.findings]
        assert places == [f"v1:schemas/com.acme/Op{number}" for number in range(count)]


@pytest.mark.parametrize("own", [None, b"own: [float]\n"])
def test_files_of_a_revision_name_type_sets_of_the_standard(own):
    files = [revisions.Blob("com.acme/Thin.yaml", "")]
    contents = {"com.acme/Thin.yaml": THIN.replace("[double, float]", "floats").encode()}
    contents |= {"types.yaml": own} if own else {}
    revision = revisions.Revision(Path("schemas"), "schemas/", "v1", "", tuple(files))
    state = revisions._read_state(revision, files, {}, contents)
    (operator,) = state.operators.values()
    assert operator.versions[1].schema.types["T"] == state.sets["floats"] == standard_sets()["floats"]


def test_what_holds_no_operator_is_not_compared(repository):
    nowhere = Path("nowhere")
    with pytest.raises(ComparisonError, match="nowhere is no folder"):
        revisions.find_revision(nowhere, "v1")
    git(repository, "mv", "schemas/com.acme/Thin.yaml", "schemas/notes")
    git(repository, "commit", "-q", "-m", "two")
    write(Path("schemas"))
    assert "error[B193] no operator was read of schemas at HEAD" in against("HEAD").stderr
    for old, new, name in (([], default_registry(), "the older state"), (default_registry(), [], "the newer state")):
        with pytest.raises(ComparisonError, match=f"no operator was read of {name}"):
            compare(old, new)


def test_the_newest_version_of_a_domain_is_that_of_any_operator(tmp_path):
    late = THIN.replace("since: 1", "since: 4")
    state = folder_state(write(tmp_path, Thin=late, Thick=THIN.replace("Thin", "Thick")), "now")
    assert state.domains == {"com.acme": 4}
    write(tmp_path, Thin=THIN, Thick=late.replace("Thin", "Thick"))
    assert folder_state(tmp_path, "now").domains == {"com.acme": 4}


def test_a_present_state_that_cannot_be_read(repository):
    write(Path("schemas"), Thick="operator: Thick\n")
    result = against("v1")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "error[B192]" in result.stderr and "Thick.yaml" in result.stderr


def test_an_older_state_of_which_one_file_cannot_be_read(repository):
    write(Path("schemas"), Thick="operator: Thick\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    os.unlink("schemas/com.acme/Thick.yaml")
    result = against("HEAD")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "HEAD:schemas/com.acme/Thick.yaml" in result.stderr


def test_a_revision_has_its_own_type_sets_beside_those_of_the_standard(repository):

    Path("schemas/types.yaml").write_text("mine: [floats, ints]\n")
    write(Path("schemas"), Thin=THIN.replace("T: [double, float]", "T: [mine, indices]"))
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    assert against("HEAD").stdout == "1 operator of com.acme at HEAD beside now: no breaks, no warnings, no notices\n"
    Path("schemas/types.yaml").write_text("mine: [floats, ints, bool]\n")
    assert rules("HEAD") == ["B182", "B131"]


def test_a_revision_of_a_copy_of_the_standard_has_all_its_type_sets(repository):
    Path("schemas/types.yaml").write_text("floats: [double, float]\n")
    Path("schemas/ai.onnx").mkdir()
    Path("schemas/ai.onnx/Thin.yaml").write_text(THIN.replace("[double, float]", "floats"))
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    told = "2 operators of ai.onnx, com.acme at HEAD beside now: no breaks, no warnings, no notices\n"
    assert against("HEAD").stdout.endswith(told)


@pytest.mark.parametrize(("link", "to"), [("com.acme/Thick.yaml", "Thin.yaml"), ("com.example", "com.acme")])
def test_a_link_in_a_revision_is_not_followed(repository, link, to):
    os.symlink(to, f"schemas/{link}")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    os.unlink(f"schemas/{link}")
    result = against("HEAD")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "is a link there" in result.stderr


def test_a_name_that_is_no_text_counts_only_where_it_is_an_operators(repository):
    for name, status in ((b"notes\xff", 0), (b"com.acme/\xff.yaml", 3)):
        Path(os.fsdecode(b"schemas/" + name)).touch()
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", "two")
        os.unlink(b"schemas/" + name)
        result = against("HEAD")
        assert result.exit_code == status
    assert "  why     'com.acme/\\udcff.yaml' is badly named there" in result.stderr


def test_functions_are_in_files_of_the_folders_of_domains():
    paths = [f"{folder}{name}.py" for folder in ("com.acme/", "", "a/b/") for name in ("kernels", "kernel", "adapters")]
    assert [*filter(revisions._is_function_file, paths)] == ["com.acme/kernels.py", "com.acme/adapters.py"]


def test_a_submodule_of_a_revision_is_not_passed_over(repository):
    commit = git(repository, "rev-parse", "HEAD").strip()
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{commit},schemas/com.example")
    git(repository, "commit", "-q", "-m", "two")
    assert "is a submodule there" in against("HEAD").stderr


def test_a_shallow_clone_says_what_to_fetch(repository, tmp_path, monkeypatch):
    git(repository, "commit", "-q", "--allow-empty", "-m", "two")
    git(repository, "clone", "-q", "--depth", "1", "--no-tags", f"file://{repository}", "clone")
    monkeypatch.chdir("clone")
    result = against("v1")
    assert result.exit_code == 3
    assert "git fetch --unshallow" in result.stderr


def test_a_folder_that_no_repository_has(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    write(tmp_path / "schemas")
    assert against("HEAD").exit_code == 3


def test_type_sets_of_a_revision_are_its_own(repository):
    text = THIN.replace("[double, float]", "reals")
    write(Path("schemas"), Thin=text)
    Path("schemas/types.yaml").write_text("reals: [double, float]\n")
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    Path("schemas/types.yaml").write_text("reals: [bfloat16, double, float]\n")
    assert rules("HEAD") == ["B182", "B131"]
    Path("schemas/types.yaml").unlink()
    write(Path("schemas"))
    assert rules("HEAD") == []


def test_markdown_for_a_pull_request(repository):
    write(Path("schemas"), Thin=EDITED.replace("Returns", "Is <script>|"))
    lines = against("v1", "--format", "markdown").stdout.splitlines()
    assert lines[0] == "### Breaking: 1 operator of com.acme at v1 beside now: 1 break, no warnings, 1 notice"
    assert "| | rule | operator | what changed | requires | where |" in lines
    assert sum(line.startswith("| error | B125 | com.acme.Thin 1 |") for line in lines) == 1
    assert "<script>" not in "".join(lines)


def test_warnings_fail_where_they_are_to(repository):
    write(Path("schemas"), Thin=THIN.replace("  inputs:", "  formula: Y = X\n  inputs:", 1))
    assert report("v1")[0] == 0
    assert rules("v1") == ["B158"]
    assert report("v1", "--strict")[0] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["diff", "Relu", "1", "14", "--strict"],
        ["diff", "Relu", "1", "14", "--format", "markdown"],
        ["diff", "Relu"],
        ["breaking", "v1", "--today", "tomorrow"],
        ["breaking", "v1", "--approved", "none.yaml"],
        ["breaking", "--strict"],
        ["breaking", "v1", "v2"],
    ],
)
def test_a_call_that_is_wrong(repository, arguments):
    result = run(*arguments, "--schemas", "schemas")
    assert result.exit_code == 2
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "instead"),
    [
        (["--against", "v1", "--strict"], "opset breaking v1 --strict"),
        (["--locked", "--against=rev:a b"], "opset breaking 'rev:a b' --locked"),
        (["--against"], "opset breaking"),
    ],
)
def test_diff_names_the_verb_that_compares_with_an_older_state(arguments, instead):
    result = run("diff", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error[U103] ") and f"\n  help    {instead}\n" in result.stderr


def test_approved_breaks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(Path("older"))
    write(Path("schemas"), Thin=EDITED)
    entry = f"""- rule: B125
  operator: com.acme.Thin
  versions: [1]
  message: "{MESSAGE}"
  reason: nobody wrote a model with it yet
  until: 2027-03-31
"""
    approved = Path("schemas/approved.yaml")
    approved.write_text(entry)
    status, data = report("older", "--no-examples", "--today", "2027-03-31")
    assert (status, data["clean"], data["counts"]["approved"]) == (0, True, 1)
    assert data["findings"][0]["approved"] == "nobody wrote a model with it yet (until 2027-03-31)"
    assert "approved[B125] com.acme.Thin 1" in against("older", "--today", "2027-03-31").stdout
    assert rules("older", "--no-examples", "--today", "2027-04-01") == ["B125", "B187"]
    assert report("older", "--no-examples", "--today", "2027-04-01")[0] == 1
    # An entry hides nothing but what it names.
    write(Path("schemas"), Thin=EDITED.replace("default: 2.0", "default: 3.0"))
    assert rules("older", "--no-examples", "--today", "2027-01-01") == ["B125", "B188"]
    write(Path("schemas"), Thin=EDITED)
    for line in entry.splitlines()[1:]:
        approved.write_text(entry.replace(line + "\n", ""))
        assert report("older", "--no-examples", "--today", "2027-01-01")[0] == 1, line
    for wrong in ("rule: B999", "operator: com.acme.*", "until: 2027-02-30", "reason: ''", "versions: [2]"):
        key = wrong.partition(":")[0]
        first, *rest = entry.splitlines()
        lines = [wrong if line.strip().startswith(f"{key}:") else line.strip() for line in (first[2:], *rest)]
        approved.write_text("- " + "\n  ".join(lines))
        assert report("older", "--no-examples", "--today", "2027-01-01")[0] == 1, wrong
    for unread in ("rule: B125\n", "- [\n", "- &a {}\n- *a\n"):
        approved.write_text(unread)
        result = against("older")
        assert (result.exit_code, result.stdout) == (3, ""), unread
        assert "error[B194]" in result.stderr


def locked_repository(repository):
    """The tag v2 has the versions 1, which is locked, and 2, which is in development."""
    assert run("lint", "--lock", "schemas").exit_code == 0, run("lint", "schemas").stdout
    top = THIN.partition("versions:\n")[2].partition("examples:")[0].replace("since: 1", "since: 2")
    change = "  change: {meaning: Rounds to even., adapters: {up: derived, down: derived}}\n"
    text = THIN.replace("versions:\n", f"versions:\n{top.replace('  doc:', f'{change}  doc:', 1)}")
    write(Path("schemas"), Thin=text)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "two")
    git(repository, "tag", "v2")
    return text


def test_of_two_folders_with_one_operator_neither_hides_the_other(repository):
    shutil.copytree("schemas", "more")
    write(Path("schemas"), Thin=EDITED)
    result = run("breaking", "v1", "--schemas", "schemas", "--schemas", "more")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "two folders have the operator com.acme.Thin" in result.stderr


def test_states_of_several_folders_hold_the_operators_of_all():
    thin, thick = (operator_state([OpSchema("com.acme", name, 1, "x")], [Docs("")], ()) for name in ("Thin", "Thick"))
    locks = {"com.acme": {"Thin": {"1": "00"}}}, {"com.acme": {"Thick": {"1": "11"}}}
    functions = {"thin.py": "22"}, {"thick.py": "33"}
    states = [
        State("now", {each.key: each}, lock=lock, functions=written)
        for each, lock, written in zip((thin, thick), locks, functions, strict=True)
    ]
    merged = merge_states(states)
    assert merged.lock == {"com.acme": {"Thin": {"1": "00"}, "Thick": {"1": "11"}}}
    assert merged.functions == {"thin.py": "22", "thick.py": "33"}


def test_versions_in_development_may_change(repository):
    text = locked_repository(repository)
    newest, older = text.split("- since: 1")
    write(Path("schemas"), Thin=newest.replace("default: 1.0", "default: 2.0") + "- since: 1" + older)
    assert report("v2")[0] == 1
    status, data = report("v2", "--locked")
    found = data["findings"][0]
    assert (status, found["severity"], found["requires"]) == (0, "INFO", "none")
    assert found["message"] == f"{MESSAGE} (not released yet)"
    write(Path("schemas"), Thin=newest + "- since: 1" + older.replace("default: 1.0", "default: 2.0"))
    assert report("v2", "--locked")[0] == 1
    # Other operators may come into the operator set that is in development, and none into a released one.
    thick = THIN.replace("Thin", "Thick")
    write(Path("schemas"), Thin=text, Thick=thick.replace("since: 1", "since: 2"))
    assert [report("v2", *more)[0] for more in ([], ["--locked"])] == [1, 0]
    write(Path("schemas"), Thin=text, Thick=thick)
    assert report("v2", "--locked")[0] == 1
    Path("schemas/com.acme/Thick.yaml").unlink()
    write(Path("schemas"), Thin=THIN)
    assert [report("v2", *more)[0] for more in ([], ["--locked"])] == [1, 0]


def test_a_lock_is_needed_to_know_what_is_in_development(repository):
    assert against("v1", "--locked").exit_code == 3


def test_examples_of_what_changed_are_run_where_code_is_trusted(repository):
    kernel = """from opset.extend import kernel

@kernel("Thin", since=1, domain="com.acme")
def thin_1(X, *, alpha):
    return X * alpha + 1
"""
    Path("schemas/com.acme/kernels.py").write_text(kernel)
    assert rules("v1") == ["B189"]  # the kernel came
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "kernel")
    assert rules("HEAD") == []  # nothing changed
    write(Path("schemas"), Thin=THIN.replace("Returns", "Is"))
    assert rules("HEAD") == ["B157"]
    write(Path("schemas"), Thin=THIN.replace("{name: plain,", "{name: plain, doc: twice,"))
    assert rules("HEAD") == ["B189"]
    assert "T101: " in against("HEAD").stdout
    for without in ("--no-examples", "--no-hooks"):
        assert rules("HEAD", without) == []


def test_functions_that_were_not_run_are_noted_where_examples_are(repository):
    Path("pyproject.toml").write_text('[tool.opset]\nschemas = ["schemas"]\n')
    Path("schemas/com.acme/kernels.py").write_text("")
    notes = [
        json.loads(run("breaking", "v1", "--format", "json", *more).stdout)["notes"] for more in ([], ["--no-examples"])
    ]
    assert [note.partition(" in ")[0] for note in notes[0]] == ["com.acme/kernels.py"] and notes[1] == []


def test_a_function_of_no_operator_breaks_nothing(repository):
    kernel = """from opset.extend import kernel

@kernel("Thin", domain="com.acme")
def thin_1(X, *, alpha):
    return X * X.dtype.type(alpha)

@kernel("Thick", domain="com.acme")
def thick_1(X):
    return X
"""
    Path("schemas/com.acme/kernels.py").write_text(kernel)
    assert rules("v1") == []


FUNCTIONS = {
    "kernels.py": (
        "kernel",
        "def thin_1(X, *, alpha):\n    return X * X.dtype.type(alpha)",
        "(alpha)",
        "(alpha + 1)",
        "T101",
    ),
    "inference.py": ("infer", "def thin_1(call):\n    return call.shape(0)", "(0)", "(0)[1:]", "T104"),
}


@pytest.mark.parametrize("file", FUNCTIONS)
def test_an_edit_of_a_function_alone_runs_the_examples(repository, file):
    kind, text, before, after, code = FUNCTIONS[file]
    path = Path("schemas/com.acme") / file
    write(Path("schemas"), Thin=THIN.replace("  shape: same(X)\n", "") if kind == "infer" else THIN)
    text = f'from opset.extend import {kind}\n\n\n@{kind}("Thin", domain="com.acme")\n{text}\n'
    path.write_text(text)
    git(repository, "add", ".")
    git(repository, "commit", "-q", "-m", "functions")
    path.write_text(f"{text}\n")
    assert rules("HEAD") == []
    path.write_text(text.replace(before, after))
    assert rules("HEAD") == ["B189"]
    assert f"{code}: com.acme.Thin 1" in against("HEAD").stdout
    for without in ("--no-examples", "--no-hooks"):
        assert rules("HEAD", without) == []


def test_a_repository_makes_git_run_nothing(repository):
    blob = git(repository, "rev-parse", "HEAD:schemas/com.acme/Thin.yaml").strip()
    write(Path("schemas"), Thin=EDITED)
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    for key, value in {
        "remote.origin.url": "ext::sh -c 'touch pwned'",
        "remote.origin.promisor": "true",
        "protocol.allow": "always",
        "protocol.ext.allow": "always",
        "extensions.partialClone": "origin",
        "core.fsmonitor": "touch pwned",
        "core.pager": "touch pwned",
        "core.repositoryFormatVersion": "1",
        "alias.cat-file": "!touch pwned",
    }.items():
        git(repository, "config", key, value)
    result = against("v1")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "error[B191]" in result.stderr
    assert not list(repository.rglob("pwned"))


def test_the_hook_of_pre_commit_compares_with_the_last_commit(repository):
    hook = HOOKS["opset-breaking"]
    arguments = [*hook["entry"].split()[1:], *hook["args"]]
    assert run(*arguments).exit_code == 0
    write(Path("schemas"), Thin=EDITED)
    assert run(*arguments).exit_code == 1
