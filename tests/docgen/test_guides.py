"""The guides: which there are, their links, and that a wheel points to nothing that it lacks."""

import re
from pathlib import Path

import pytest

import opset
from opset.docgen import site
from opset.docgen.guides import CARRIED, example_files, files_in_wheel, guides, plain_text

PACKAGE = Path(opset.__file__).parent
ROOT = PACKAGE.parent
NAMES = [guide.name for guide in guides()]
# What opset/ says of others' files.
FOREIGN = "opset/opsets/runtimes/data/"
"""The sources of facts about runtimes are files of other repositories."""


def test_the_index_lists_every_guide():
    files = {path.stem for path in (ROOT / "docs").glob("*.md")} | {"contributing", "security"}
    assert set(NAMES) == files and len(NAMES) == len(files) and NAMES[0] == "index"
    assert all(guide.group and guide.summary for guide in guides()[1:])
    assert [guide.title for guide in guides()[1:]] == re.findall(r"^- \[(.+?)\]", guides()[0].text, re.MULTILINE)


@pytest.mark.parametrize("guide", guides(), ids=lambda guide: guide.name)
def test_links_lead_to_guides_and_their_headings(guide):
    assert guide.text.startswith(f"# {guide.title}\n")
    headings = {
        each.name: {
            re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-")
            for heading in re.findall(r"^#+ (.*)$", each.text, re.MULTILINE)
        }
        for each in guides()
    }
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"^```.*?^```$", "", guide.text, flags=re.M | re.S)):
        name, _, anchor = target.partition("#")
        if "://" not in target:
            assert name.removesuffix(".md") in {*NAMES, ""}, target
            assert not anchor or anchor in headings[name.removesuffix(".md") or guide.name], target


def test_a_wheel_carries_every_guide():
    files = files_in_wheel(ROOT)
    assert [each for each in files.values() if "/guides/" in each] == [f"opset/guides/{name}.md" for name in NAMES]
    assert all(Path(path).is_file() for path in files) and not CARRIED.exists()


def test_guides_are_found_in_an_installed_package(tmp_path, monkeypatch):
    for path, there in files_in_wheel(ROOT).items():
        (tmp_path / there).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / there).write_bytes(Path(path).read_bytes())
    monkeypatch.setattr("opset.docgen.guides.CARRIED", tmp_path / "opset" / "guides")
    assert guides.__wrapped__() == guides()
    (tmp_path / "opset" / "guides" / "index.md").unlink()
    assert guides.__wrapped__() == ()


def test_examples_are_the_files_that_nothing_made(tmp_path, monkeypatch):
    monkeypatch.setattr("opset.docgen.guides.CARRIED_EXAMPLES", tmp_path)
    made = ["README.md", "a/b.onnx", "a.py", "__pycache__/a.pyc", "a/__pycache__/b.pyc", "b-opset17.onnx"]
    for name in reversed(made):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert [*example_files()] == made[:3]
    (tmp_path / "README.md").unlink()
    assert example_files() == {}


@pytest.mark.parametrize(("sections", "listed"), [("one two", []), ("one two three", ["one", "two", "three"])])
def test_the_page_of_a_guide_with_some_sections_lists_them(sections, listed, monkeypatch):
    words = "".join(f"\n## {each}\n\nText.\n" for each in sections.split())
    guide = guides()[1]._replace(text=f"# Title\n\nText.\n{words}")
    monkeypatch.setattr(site, "guides", lambda: (guides()[0], guide))
    page, _index = site._guide_pages()
    assert [each["name"] for each in page.page["contents"]] == listed


def test_the_description_on_a_package_index_has_no_links_to_files():
    text = plain_text((ROOT / "README.md").read_text(encoding="utf-8"))
    assert [target for target in re.findall(r"\]\(([^)]+)\)", text) if "://" not in target] == []
    assert "Reading a refusal (`opset explain refusals`)" in text


def test_nothing_in_the_package_points_to_a_file_that_a_wheel_lacks():
    lacking = re.compile(r"\b(?:docs|tests|benchmarks|examples)/[\w./-]+|\b(?:CONTRIBUTING|SECURITY)\.md")
    named = {
        path.relative_to(ROOT).as_posix(): {*lacking.findall(path.read_text(encoding="utf-8"))}
        for path in PACKAGE.rglob("*")
        if path.suffix in (".py", ".md", ".yaml", ".html", ".js", ".css") and path.name != "minisearch.js"  # vendored
    }
    named.pop("opset/docgen/guides.py", None)
    assert {name: found for name, found in named.items() if found and not name.startswith(FOREIGN)} == {}


@pytest.mark.parametrize("guide", guides(), ids=lambda guide: guide.name)
def test_guides_for_users_name_no_tests_and_hold_no_comments(guide):
    assert guide.name == "contributing" or re.findall(r"\b(?:tests|benchmarks)[/.]\w+", guide.text) == []
    assert "<!--" not in guide.text


def test_guides_that_the_package_names_exist():
    named = {
        (path.name, name)
        for path in PACKAGE.rglob("*")
        if path.suffix in (".py", ".md", ".yaml")
        for name in re.findall(r"opset explain ([a-z][a-z-]+)\b", path.read_text(encoding="utf-8"))
    }
    assert {(file, name) for file, name in named if name not in NAMES} - {("guides.py", "name")} == set()
    assert len(named) > 10
