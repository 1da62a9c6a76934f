"""The folder of the documentation: what is replaced, removed, kept and refused, and runs that end halfway."""

import os

import pytest

from opset import output_folder as folder_module
from opset.errors import UsageError
from opset.model.storage.writing import remove_below
from opset.output_folder import MANIFEST, size_text, write_documentation
from tests.docgen.domains import tree


def refused(code, *arguments):
    with pytest.raises(UsageError) as caught:
        write_documentation(*arguments)
    assert caught.value.code == code
    return str(caught.value)


def test_files_that_are_no_longer_made_are_removed(tmp_path):
    site = tmp_path / "new" / "site"
    write_documentation(site, "html", {"index.html": b"1", "a/b/x.html": b"2", "a/y.html": b"3"}, False)
    (site / "notes.txt").write_text("mine")
    (site / "a" / "b" / "mine").write_text("mine")
    write_documentation(site, "html", {"index.html": b"4", "c/z.html": b"5"}, False)
    assert tree(site) == {"index.html": b"4", "c/z.html": b"5", "notes.txt": b"mine", "a/b/mine": b"mine"}
    (site / "a" / "b" / "mine").unlink()
    write_documentation(site, "json", {"operators.json": b"6"}, False)
    write_documentation(site, "html", {"index.html": b"4"}, False)
    assert tree(site) == {"index.html": b"4", "notes.txt": b"mine", "operators.json": b"6"}
    assert not (site / "c").exists()
    assert (site / MANIFEST).read_text().splitlines()[1:] == ["html index.html", "json operators.json"]


def test_a_file_that_is_a_new_one_where_case_does_not_count_is_not_removed(tmp_path):
    write_documentation(tmp_path, "html", {"Relu.html": b"1", "Gone.html": b"2"}, False)
    write_documentation(tmp_path, "html", {"relu.html": b"3"}, False)
    assert (tmp_path / "Relu.html").exists() and not (tmp_path / "Gone.html").exists()
    assert (tmp_path / "relu.html").read_bytes() == b"3"


def test_a_folder_with_other_files_is_refused(tmp_path):
    (tmp_path / "index.html").write_text("mine")
    assert "--force" in refused("U102", tmp_path, "html", {"index.html": b"1"}, False)
    assert "in use" in refused("U102", tmp_path, "html", {"other.html": b"1"}, False)
    assert tree(tmp_path) == {"index.html": b"mine"}
    write_documentation(tmp_path, "html", {"index.html": b"1"}, True)
    (tmp_path / "b.html").write_text("mine")
    assert "b.html" in refused("U102", tmp_path, "html", {"index.html": b"2", "b.html": b"3"}, False)
    assert tree(tmp_path) == {"index.html": b"1", "b.html": b"mine"}
    write_documentation(tmp_path, "html", {"b.html": b"3"}, True)
    assert tree(tmp_path) == {"b.html": b"3"}


@pytest.mark.parametrize(
    "line",
    ["html ../x", "html /x", "html a/../x", "html a//x", "html .git", "html nul", "x", "html a\\b", "\x00", "html a/."],
)
def test_a_manifest_that_names_what_cannot_be_ours_is_refused(line, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "x").write_text("mine")
    (site / MANIFEST).write_text(f"html index.html\n{line}\n")
    refused("U103", site, "html", {"index.html": b"1"}, True)
    assert (tmp_path / "x").exists() and not (site / "index.html").exists()


@pytest.mark.parametrize("damage", ["bytes", "folder"])
def test_a_manifest_that_cannot_be_read_is_refused(damage, tmp_path):
    if damage == "bytes":
        (tmp_path / MANIFEST).write_bytes(b"\xff")
    else:
        (tmp_path / MANIFEST).mkdir()
    assert "name another folder" in refused("U103", tmp_path, "html", {"index.html": b"1"}, True)
    assert not (tmp_path / "index.html").exists()


def test_no_link_is_followed(tmp_path):
    site, other = tmp_path / "site", tmp_path / "other"
    other.mkdir()
    (other / "x.html").write_text("mine")
    write_documentation(site, "html", {"a/x.html": b"1", "index.html": b"2"}, False)
    (site / "a" / "x.html").unlink()
    (site / "a").rmdir()
    (site / "a").symlink_to(other, target_is_directory=True)
    refused("U104", site, "html", {"a/x.html": b"3", "index.html": b"4"}, True)
    write_documentation(site, "html", {"index.html": b"4"}, False)
    assert (other / "x.html").read_text() == "mine" and (site / "a").is_symlink()
    (site / "index.html").unlink()
    (site / "index.html").symlink_to(other / "x.html")
    refused("U104", site, "html", {"index.html": b"5"}, False)
    assert (other / "x.html").read_text() == "mine"


@pytest.mark.parametrize("before", [{}, {"index.html": b"1", "old.html": b"2"}])
def test_what_fails_leaves_the_old_state(before, tmp_path, monkeypatch):
    if before:
        write_documentation(tmp_path, "html", before, False)
    monkeypatch.setattr("opset.model.storage.atomic.write_pieces", failing(3))
    refused("U104", tmp_path, "html", {"index.html": b"3", "new.html": b"4", "newer.html": b"5"}, False)
    monkeypatch.undo()
    assert tree(tmp_path) == before and (tmp_path / MANIFEST).exists() == bool(before)
    write_documentation(tmp_path, "html", {"new.html": b"4"}, False)
    assert tree(tmp_path) == {"new.html": b"4"}


def failing(last):
    """What writes files, and fails once it has written some."""
    from opset.model.storage.copying import write_pieces

    written = []

    def write(*arguments):
        written.append(arguments)
        if len(written) == last:
            raise OSError(28, "No space left on device")
        return write_pieces(*arguments)

    return write


@pytest.mark.parametrize("point", ["_write_files", "remove_below"])
def test_a_run_that_is_killed_is_repaired_by_the_next(point, tmp_path, monkeypatch):
    write_documentation(tmp_path, "html", {"index.html": b"1", "old.html": b"2"}, False)
    manifest = folder_module._write_manifest
    with monkeypatch.context() as patched:

        def killed(*arguments):
            if point == "_write_files":  # when half of the files are in place
                (tmp_path / "new.html").write_bytes(b"4")
            patched.setattr(folder_module, "_write_manifest", lambda *_: None)  # nothing is done any more
            raise KeyboardInterrupt

        patched.setattr(folder_module, point, killed)
        with pytest.raises(KeyboardInterrupt):
            write_documentation(tmp_path, "html", {"index.html": b"3", "new.html": b"4"}, False)
    assert folder_module._write_manifest is manifest
    write_documentation(tmp_path, "html", {"index.html": b"3", "new.html": b"4"}, False)
    assert tree(tmp_path) == {"index.html": b"3", "new.html": b"4"}


@pytest.mark.parametrize("names", [["../x"], ["/x"], ["CON.md"], ["a.md", "A.md"], ["a/.."], ["x" * 200], [".a"], [""]])
def test_names_that_cannot_be_files_are_never_written(names, tmp_path):
    with pytest.raises(ValueError):
        write_documentation(tmp_path / "site", "html", dict.fromkeys(names, b""), True)
    assert not (tmp_path / "site").exists()


def test_too_many_folders_are_refused(tmp_path):
    assert "--domain" in refused("U103", tmp_path, "html", {f"d{each}/x": b"" for each in range(200)}, False)


def test_remove_below_spares_what_is_no_file(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to(tmp_path / "a")
    remove_below(tmp_path, ["a", "b", "gone", os.path.join("b", "x"), os.path.join("no", "such")])
    assert (tmp_path / "a").is_dir() and (tmp_path / "b").is_symlink()


def test_sizes():
    assert size_text([b"x" * 1500]) == "1.5 kB" and size_text([bytes(2_000_000), bytes(345_000)]) == "2.3 MB"
