"""Names of files and anchors, made of names that may be anything: any system holds them, no two are one."""

from pathlib import Path

import pytest

from opset.file_names import LONGEST, is_harmless, list_paths, slug, unique_slugs


@pytest.mark.parametrize("path", ["/a/b", Path("/a/b"), b"document", object()])
def test_one_path_is_a_list_of_one(path):
    assert list_paths(path) == list_paths([path]) == list_paths(iter([path])) == [path]
    assert list_paths(()) == []


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Abs", "Abs"), ("com.acme", "com.acme"), ("a b", "a~20b"), ("ü/x", "~fc~2fx"), ("a_b-c", "a_b-c"),
        ("", "__"), (".", "_._"), ("..", "_.._"), (".hidden", "_.hidden_"), ("-x", "_-x_"), ("x.", "_x._"),
        ("con", "_con_"), ("Aux.txt", "_Aux.txt_"), ("com1", "_com1_"), ("com10", "com10"), ("lpt0.a.b", "_lpt0.a.b_"),
        ("console", "console"), ("a" * 80, "a" * 80), ("a" * 81, "a" * 71 + "-6ee0bd4f"),
        ("a" * 82, "a" * 71 + "-5bb1f5b9"),
    ],
)  # fmt: skip
def test_a_name_is_made_plain(name, plain):
    found = slug(name)
    assert found == plain or (len(name) > LONGEST and found[:72] == plain[:72] and len(found) == LONGEST)
    assert is_harmless(found)


def test_long_names_that_differ_stay_different():
    assert slug("a" * 90) != slug("a" * 91) and slug("\ud800" * 90) == slug("\ud800" * 90)


@pytest.mark.parametrize(
    ("path", "harmless"),
    [
        ("a/b.html", True), ("a", True), ("_x_/~20.md", True), ("a/../b", False), ("..", False), ("/a", False),
        ("a//b", False), ("a/", False), ("a\\b", False), ("a/.b", False), ("a/b.", False), ("a/-b", False),
        ("nul", False), ("a/NUL.html", False), ("a b", False), ("", False), ("a" * 100, True), ("a" * 101, False),
        ("b/" + "a" * 101, False), ("a~", True), ("~a", True), ("a\n", False),
    ],
)  # fmt: skip
def test_only_plain_paths_are_harmless(path, harmless):
    assert is_harmless(path) == harmless


def test_no_two_names_get_one_slug():
    names = ["A", "a", "A-2", "a b", "a~20b", "index"]
    assert unique_slugs(names, ["Index"]) == {
        "A": "A", "a": "a-2", "A-2": "A-2-2", "a b": "a~20b", "a~20b": "a~7e20b", "index": "index-2",
    }  # fmt: skip
