"""What `opset lint` is given: files, folders of any depth, and what looks like an operator and is not read."""

import os
from pathlib import Path

import pytest

from opset.schemas import selection
from opset.schemas.selection import select_operators
from tests.schemas.texts import SCALE

OTHER = "apiVersion: v1\nspec:\n  tolerations:\n  - operator: Exists\n"


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A project with a folder of domains, and YAML of other kinds."""
    files = {
        "k8s/deploy.yaml": OTHER,
        ".github/workflows/ci.yml": OTHER,
        "types.md": "",
        "lib/schemas/types.yaml": "mine: [float]\n",
        "lib/schemas/com.acme/Scale.yaml": SCALE,
        "lib/schemas/com.acme/Turn.yaml": SCALE,
        "lib/schemas/com.acme/adapters.py": "",
        "lib/schemas/org.acme/Scale.yaml": SCALE,
    }
    for name, text in files.items():
        write(tmp_path / name, text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path, text=SCALE):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def selected(path):
    """Return the files to check, whether they are all of a folder, and whether a search led to it; and the codes."""
    found = select_operators([Path(path)])
    return (
        [(" ".join(map(str, each.files)), each.whole, each.is_found) for each in found.targets],
        [f"{each.code} {each.place}" for each in found.findings],
    )


ALL = "lib/schemas/com.acme/Scale.yaml lib/schemas/com.acme/Turn.yaml lib/schemas/org.acme/Scale.yaml"
ONE = "lib/schemas/com.acme/Scale.yaml lib/schemas/com.acme/Turn.yaml"


@pytest.mark.parametrize(
    ("path", "targets"),
    [
        (".", [(ALL, True, True)]),
        ("lib", [(ALL, True, True)]),
        ("lib/schemas", [(ALL, True, False)]),
        ("lib/schemas/types.yaml", [(ALL, True, False)]),
        ("lib/schemas/com.acme", [(ONE, False, False)]),
        ("lib/schemas/com.acme/adapters.py", [(ONE, False, False)]),
        ("lib/schemas/com.acme/Turn.yaml", [("lib/schemas/com.acme/Turn.yaml", False, False)]),
    ],
)
def test_a_file_a_domain_domains_and_a_tree(path, targets, tree):
    assert selected(path) == (targets, [])


@pytest.mark.parametrize(
    ("paths", "files", "whole", "domains"),
    [
        ("com.acme/Turn.yaml com.acme/Scale.yaml", "com.acme/Turn.yaml com.acme/Scale.yaml", False, ""),
        ("com.acme/Turn.yaml com.acme/Turn.yaml", "com.acme/Turn.yaml", False, ""),
        ("com.acme/Turn.yaml com.acme", "com.acme/Turn.yaml com.acme/Scale.yaml", False, "com.acme"),
        ("org.acme com.acme/Turn.yaml", "org.acme/Scale.yaml com.acme/Turn.yaml", False, "org.acme"),
        ("org.acme com.acme", "org.acme/Scale.yaml com.acme/Scale.yaml com.acme/Turn.yaml", False, "com.acme org.acme"),
        ("com.acme/Turn.yaml types.yaml", ALL.replace("lib/schemas/", ""), True, ""),
        ("types.yaml com.acme/Turn.yaml", ALL.replace("lib/schemas/", ""), True, ""),
        ("com.acme/Turn.yaml types.yaml org.acme", ALL.replace("lib/schemas/", ""), True, ""),
    ],
)
def test_what_is_in_the_same_folder_of_domains_is_one_target(paths, files, whole, domains, tree):
    (tree / "link").symlink_to("lib/schemas")
    given = [Path("lib/schemas", each) for each in paths.split()]
    for others in (given, [*given[:-1], Path("link", paths.split()[-1])]):
        (target,) = select_operators(others).targets
        found = [each.as_posix().replace("link/", "").replace("lib/schemas/", "") for each in target.files]
        assert (" ".join(found), target.whole, target.is_found) == (files, whole, False)
        assert " ".join(sorted(each.name for each in target.domains)) == domains
    assert len({*map(str, select_operators(given).targets[0].files)}) == len(files.split())


@pytest.mark.parametrize(
    ("paths", "is_found"),
    [
        (". lib", True),
        (". lib/schemas", False),
        ("lib/schemas .", False),
        (". lib/schemas/types.yaml", False),
        ("lib/schemas/com.acme .", True),
        (". lib/schemas/com.acme/Turn.yaml", True),
        ("lib/schemas/com.acme/Turn.yaml . lib/schemas", False),
        ("link/com.acme lib", True),
    ],
)
def test_a_folder_that_is_found_and_named_is_named_and_a_part_of_it_is_not_enough(paths, is_found, tree):
    (tree / "link").symlink_to("lib/schemas")
    (target,) = select_operators(map(Path, paths.split())).targets
    assert (" ".join(map(str, target.files)), target.whole, target.is_found) == (ALL, True, is_found)


def test_what_a_link_names_is_checked_under_the_first_name(tree):
    (tree / "link").symlink_to("lib/schemas")
    scale, turn = Path("lib/schemas/com.acme/Scale.yaml"), Path("link/com.acme/Turn.yaml")
    (target,) = select_operators([turn, scale, scale]).targets
    assert target.files == (turn, Path("link/com.acme/Scale.yaml")) and target.folder == Path("link")
    (target,) = select_operators([turn, scale.parent]).targets
    assert target.has_file(Path("link/com.acme/New.yaml")) and not target.has_file(scale)


def test_inside_of_the_folder_of_a_domain(tree, monkeypatch):
    monkeypatch.chdir("lib/schemas/com.acme")
    assert selected("Scale.yaml")[0] == [("../com.acme/Scale.yaml", False, False)]
    assert selected(".")[0] == [("../com.acme/Scale.yaml ../com.acme/Turn.yaml", False, False)]


@pytest.mark.parametrize(
    ("path", "given", "findings"),
    [
        ("empty/com.acme/notes.txt", "empty", ["S109 empty"]),
        ("", "k8s", ["S109 k8s"]),
        ("", "types.md", ["S110 types.md"]),
        ("", "nowhere", ["S101 nowhere"]),
        ("lib/schemas/com.acme/Turn.yml", "lib", ["S110 lib/schemas/com.acme/Turn.yml"]),
        ("more/Turn.yml", "more", ["S110 more/Turn.yml"]),
        ("more/com.acme/Turn.YAML", "more/com.acme/Turn.YAML", ["S110 more/com.acme/Turn.YAML"]),
        ("lib/schemas/Turn.yaml", "lib", ["S110 lib/schemas/Turn.yaml"]),
        ("lib/schemas/Turn.yaml", "lib/schemas/Turn.yaml", ["S110 lib/schemas/Turn.yaml"]),
        ("lib/schemas/com.acme/in/Turn.yaml", ".", ["S110 lib/schemas/com.acme/in/Turn.yaml"]),
        ("lib/schemas/com.acme/in/Turn.yaml", "lib/schemas/com.acme", ["S110 lib/schemas/com.acme/in/Turn.yaml"]),
        ("lib/schemas/com.acme/in/T.yaml", "lib/schemas/com.acme/in/T.yaml", ["S110 lib/schemas/com.acme/in/T.yaml"]),
        ("flat/Scale.yaml", "flat/com.acme", ["S101 flat/com.acme"]),
        ("flat/Scale.yaml", "flat/Scale.yaml", []),
        ("lib/schemas/Turn.yaml", "lib/schemas/com.acme/Turn.yaml", []),
        ("of.mine/com.acme/Turn.yaml", "of.mine/com.acme/Turn.yaml", []),
    ],
)
def test_what_is_not_read_is_a_finding(path, given, findings, tree):
    if path:
        write(tree / path)
    if given == "empty":
        (tree / path).unlink()
    assert selected(given)[1] == findings


def test_what_is_beside_operators_and_is_no_operator(tree):
    """A file with another suffix is to be one beside operators; a link that leads nowhere is left out."""
    write(tree / "lib/schemas/com.acme/notes.yml", OTHER)
    write(tree / "k8s/notes.yml", OTHER)
    (tree / "k8s" / "gone.yaml").symlink_to("nowhere")
    assert selected(".") == ([(ALL, True, True)], ["S110 lib/schemas/com.acme/notes.yml"])


@pytest.mark.parametrize("shared", ["types.yaml", "lock.json"])
def test_shared_files_make_a_folder_of_domains(tree, shared):
    """Its name may have a dot then, and it may have no operators."""
    write(tree / "of.mine" / shared, "")
    found = select_operators([], [Path("of.mine")])
    assert [(each.files, each.whole) for each in found.targets] == [((), True)]
    assert [each.code for each in found.findings] == ["S109"]
    write(tree / "of.mine" / "com.acme" / "Scale.yaml")
    write(tree / "of.mine" / "Turn.yaml")
    assert selected("of.mine") == ([("of.mine/com.acme/Scale.yaml", True, False)], ["S110 of.mine/Turn.yaml"])


def test_a_folder_of_domains_needs_no_shared_files(tree):
    write(tree / "own" / "com.acme" / "Scale.yaml")
    found = select_operators([], [Path("own")])
    assert [(*map(str, each.files), each.whole) for each in found.targets] == [("own/com.acme/Scale.yaml", True)]
    assert found.findings == []


def test_a_file_of_a_domain_is_read_although_files_lie_deeper(tree):
    write(tree / "lib/schemas/com.acme/in/Turn.yaml")
    path = "lib/schemas/com.acme/Turn.yaml"
    assert selected(path) == ([(path, False, False)], [])


def test_a_folder_of_domains_has_operators_at_one_depth(tree):
    (tree / "one").mkdir()
    write(tree / "one" / "Scale.yaml")
    write(tree / "one" / "a" / "com.acme" / "Scale.yaml")
    found = select_operators([], [tree / "one", tree / "nowhere", tree / "k8s"])
    assert [each.code for each in found.findings] == ["S110", "S110", "S101", "S109"]
    assert found.targets == []


def test_files_with_another_suffix_make_no_domain(tree):
    write(tree / "few" / "com.acme" / "Turn.yml")
    assert selected("few") == ([], ["S110 few/com.acme/Turn.yml"])
    write(tree / "few" / "com.acme" / "in" / "Turn.yaml")
    assert selected("few") == ([("few/com.acme/in/Turn.yaml", True, True)], ["S110 few/com.acme/Turn.yml"])


def test_yaml_of_another_kind_alone_in_a_domain_is_read_as_an_operator(tree):
    text = SCALE.replace("operator:", "operater:").replace("- since", "-  since")
    write(tree / "near" / "com.acme" / "Scale.yaml", text)
    assert selected("near") == ([("near/com.acme/Scale.yaml", True, False)], [])


def test_links_to_folders_are_searched_at_the_top_alone_and_a_note_says_so(tree):
    (tree / "k8s" / "again").symlink_to(tree)
    (tree / "top").mkdir()
    (tree / "top" / "com.acme").symlink_to(tree / "lib/schemas/com.acme")
    assert selected("top")[0] == [(ONE.replace("lib/schemas", "top"), True, False)]
    assert select_operators([tree / "top"]).notes == []
    (tree / "top" / "com.acme").unlink()
    assert select_operators([tree]).notes == [f"{tree}/k8s/again is a link to a folder, and was not searched"]


def test_a_file_is_read_from_a_folder_that_cannot_be_listed(tree, monkeypatch):
    def refuse(path):
        raise PermissionError

    monkeypatch.setattr(os, "scandir", refuse)
    assert selected("lib/schemas/com.acme/Scale.yaml") == ([("lib/schemas/com.acme/Scale.yaml", False, False)], [])


def test_a_folder_that_cannot_be_listed_is_told_once(tree, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    def fail(path):
        raise OSError("it is odd")

    monkeypatch.setattr(os, "scandir", refuse)
    assert selected("k8s") == ([], ["S101 k8s"])
    assert said("k8s") == ("this folder cannot be read", "Permission denied", "")
    monkeypatch.setattr(os, "scandir", fail)
    assert said("k8s") == ("this folder cannot be read", "it is odd", "")


def said(path):
    """Return the one finding about a path: its message, why and help."""
    (finding,) = select_operators([Path(path)]).findings
    return finding.message, finding.why, finding.help


READ = "operators are read from <domain>/<Operator>.yaml"


def test_what_is_not_read_says_why_and_what_to_do(tree):
    for name in ("lib/schemas/com.acme/Turn.yml", "lib/schemas/com.acme/in/Turn.yaml"):
        write(tree / name)
    misnamed = ("this operator file is not read", "its name does not end in .yaml", "call it Turn.yaml")
    assert said("lib/schemas/com.acme/Turn.yml") == misnamed
    misplaced = f"{READ} of a folder of domains", "move it into the folder of its domain"
    assert said("lib/schemas/com.acme/in/Turn.yaml") == ("this operator file is at the wrong depth", *misplaced)
    assert said("types.md") == ("this is no operator file", "", "")
    nowhere = "there is no such file or folder", "check the path"
    assert said("nowhere") == ("this is not a file or folder of operators", *nowhere)


def test_a_folder_without_operators_names_what_it_has(tree):
    (tree / "empty").mkdir()
    help = f"{READ}; opset explain schemas"
    assert said("empty") == ("this folder has no operators", "it has no YAML file of an operator", help)
    assert said("k8s") == ("this folder has no operators", "it has YAML files that are none: deploy.yaml", help)
    for name in ("a/in/b.yaml", "c.yml", "e.yaml", "f.yaml"):
        write(tree / "k8s" / name, OTHER)
    assert said("k8s")[1] == "it has YAML files that are none: c.yml, deploy.yaml, e.yaml and 2 more"
    (tree / "k8s" / "f.yaml").unlink()
    (tree / "k8s" / "e.yaml").unlink()
    assert said("k8s")[1] == "it has YAML files that are none: c.yml, deploy.yaml, a/in/b.yaml"


@pytest.mark.parametrize(
    ("limit", "most", "why"),
    [
        ("MAX_ENTRIES", 17, ""),
        ("MAX_ENTRIES", 16, "there are more than 16 files and folders"),
        ("MAX_PEEKED", 5, ""),
        ("MAX_PEEKED", 4, "there are more than 4 other YAML files"),
    ],
)
def test_a_search_is_bounded(limit, most, why, tree, monkeypatch):
    write(tree / "the.last" / "com.acme" / "Scale.yaml")
    monkeypatch.setattr(selection, limit, most)
    selected = select_operators([tree])
    assert len(selected.targets) == (2 if limit == "MAX_ENTRIES" or not why else 1)
    found = [each for each in selected.findings if each.code == "S102"]
    assert [(each.message, each.why, each.help, each.place) for each in found] == (
        [("not all of this folder was searched", why, "name the folders of domains", str(tree))] if why else []
    )


def test_a_search_ends_at_its_bound(tree, monkeypatch):
    assert select_operators([tree]).targets
    monkeypatch.setattr(selection, "MAX_ENTRIES", 1)
    assert not select_operators([tree]).targets


def test_hidden_folders_and_those_of_tools_are_passed_over(tree):
    for name in ("node_modules/com.b/A.yaml", "__pycache__/com.b/A.yaml", ".venv/com.b/A.yaml", "x/com.b/A.yaml"):
        write(tree / name)
    targets = select_operators([Path("x"), Path()]).targets
    assert [str(each.folder) for each in targets] == ["x", "lib/schemas"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (SCALE, True),
        ("\ufeff" + SCALE, True),
        ('{"operator": Scale}', True),
        ("'operator' : Scale", True),
        ("# a comment\noperator: Scale\n", True),
        ("versions:\n- since: 1\n", True),
        ("versions: 1\n- since: 1\n", False),
        ("operators: 1\n", False),
        (OTHER, False),
        (" " * 65536 + "\noperator: Scale\n", False),
    ],
)
def test_what_looks_like_an_operator(text, found, tmp_path):
    write(tmp_path / "A.yaml", text)
    assert selection._is_operator(tmp_path / "A.yaml") is found


def test_the_same_folder_is_one_target(tree):
    def files(*paths):
        return [" ".join(map(str, each.files)) for each in select_operators(map(Path, paths)).targets]

    scale, turn = "lib/schemas/com.acme/Scale.yaml", "lib/schemas/com.acme/Turn.yaml"
    assert files(scale, turn, scale) == [f"{scale} {turn}"]
    assert files(turn, "lib/schemas") == files("lib/schemas", turn) == [ALL]
    assert files(turn, "lib/schemas/com.acme") == [f"{turn} {scale}"]
    (target,) = select_operators([Path(turn), Path("lib/schemas/com.acme")]).targets
    holder = Path("lib/schemas/com.acme")
    assert target.has_file(holder / "Gone.yaml") and not target.has_file(Path("lib/schemas/org.acme/Gone.yaml"))
    (target,) = select_operators([Path("lib/schemas")]).targets
    assert target.has_file(Path("lib/schemas/org.acme/Gone.yaml"))
    (target,) = select_operators([Path(turn)]).targets
    assert target.has_file(Path(turn)) and not target.has_file(Path(scale))


@pytest.mark.parametrize("other", ["empty", "com.acme"])
def test_operators_beside_folders_of_domains_are_at_the_wrong_depth(tmp_path, monkeypatch, other):
    monkeypatch.chdir(tmp_path)
    for name in ("schemas/Scale.yaml", "schemas/org.acme/Scale.yaml", f"schemas/{other}/notes.md"):
        write(tmp_path / name, SCALE if name.endswith("yaml") else "")
    assert said("schemas/Scale.yaml")[0] == "this operator file is at the wrong depth"


def test_type_sets_above_a_folder_of_domains_do_not_make_one(tree):
    write(Path("lib/types.yaml"), "mine: [float]\n")
    assert selected("lib") == ([(ALL, True, True)], [])
