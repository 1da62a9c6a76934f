"""The documentation is true: every command in it runs, and prints what it says.

In a Markdown file, a block `console` holds commands after "$ " and below each what it prints; a block `python` is a
script; a block such as `yaml schemas/com.example/Scale.yaml` is a file that the blocks after it find. All blocks of a
file run one after the other, in a folder that holds the examples. `python -m tests.test_docs` writes what commands
print into the files.
"""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from opset.cli import VERBS
from opset.opsets.registry import default_registry
from opset.schemas.names import domain_name
from tests import copies
from tests.released import newest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"]
PAGES += sorted((ROOT / "docs").glob("*.md"))
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}


def environment(folder, command):
    """An environment in which `python` is the one under test, and `opset` these words of a shell."""
    tools = folder / "bin"
    tools.mkdir()
    for name, words in (("opset", command), ("python", f'"{sys.executable}"')):
        (tools / name).write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        (tools / name).chmod(stat.S_IRWXU)
    return {**ENVIRONMENT, "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}


def played(text, folder, command):
    """Return a page's text with what its commands print now; run its scripts."""
    shutil.copytree(ROOT / "examples", folder / "examples")
    variables = environment(folder, command)

    def block(match):
        language, _, name = match[1].partition(" ")
        body = match[2]
        if language == "console":
            commands = [line for line in body.splitlines() if line.startswith("$ ")]
            body = "".join(f"{command}\n{output(command[2:])}" for command in commands)
        elif language == "python" and not name:
            subprocess.run([sys.executable, "-c", body], cwd=folder, env=variables, check=True, timeout=60)
        elif name:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(body, encoding="utf-8")
        return f"```{match[1]}\n{body}```"

    def output(command):
        done = subprocess.run(
            ["bash", "-c", f"{{ {command}\n}} 2>&1"], cwd=folder, env=variables, stdout=subprocess.PIPE, timeout=60
        )
        return as_released(done.stdout.decode())

    return BLOCK.sub(block, text)


def as_released(text):
    """Return what a command prints with the newest released version of a domain in place of one in development."""
    for domain, last in default_registry().domains.items():
        said = rf"(\b{re.escape(domain_name(domain))} \d+ of |'{re.escape(domain)}': ){last}\b"
        text = re.sub(said, rf"\g<1>{newest(domain)}", text)
    return text


def without_last_digits(text):
    """Return a text with five digits of each long fraction: the others depend on how a processor adds."""
    return re.sub(r"\b\d+\.\d{6,}\b", lambda match: f"{float(match[0]):.5g}", text)


@pytest.fixture(scope="session")
def command():
    """The shell's words that stand for `opset`."""
    with copies.served(ENVIRONMENT) as words:
        yield words


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_print_what_the_page_says(page, tmp_path, command):
    text = page.read_text(encoding="utf-8")
    for package in ("onnx", "onnxruntime"):
        if re.search(rf"^import {package}$|installed:{package}|probe {package}", text, re.MULTILINE):
            pytest.importorskip(package)
    assert without_last_digits(played(text, tmp_path, command)) == without_last_digits(text)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if "://" not in target and not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_pages_name_exist(page):
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    named = re.findall(r"`((?:opset|tests|benchmarks|docs|examples|\.ci)/[\w./-]+)`", text)
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_reasons_of_refusals_are_given_by_statements():
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "opset").rglob("*.py"))
    # The page leaves out which value it is that a reason names after an input.
    given = re.findall(r'f?"([^"\n]*)"', text.replace(" ('{safe_text(self.input(index))}')", ""))
    parts = [found for each in given if len("".join(found := re.split(r"\{[^{}]*\}", each))) > 12]
    page = (ROOT / "docs" / "refused.md").read_text(encoding="utf-8")
    reasons = re.findall(r"\| C\d+ \| (?:it is expressed by \w+, and )?(.*) \|$", page, re.MULTILINE)
    assert len(reasons) >= 40
    unknown = [each for each in reasons if not any(_has_in_order(each, found) for found in parts)]
    assert unknown == []


def _has_in_order(text, parts):
    """Whether a text is made of these parts, with anything between them."""
    if not (text.startswith(parts[0]) and text.endswith(parts[-1])):
        return False
    return re.fullmatch(".+".join(map(re.escape, parts)), text) is not None


def test_the_readme_has_the_two_commands_to_begin_with():
    blocks = [body for language, body in BLOCK.findall((ROOT / "README.md").read_text()) if language == "sh"]
    assert ".venv/bin/pip install ." in blocks[0] and ".venv/bin/opset convert examples/" in blocks[0]
    assert ".venv/bin/pip install -e '.[test]'" in blocks[1] and "pytest" in blocks[1]


def test_the_readme_lists_every_verb():
    rows = re.findall(r"^\| `([\w-]+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert rows == [*VERBS]


def rewrite():
    """Write what commands print into the pages."""
    with copies.served(ENVIRONMENT) as command:
        for page in PAGES:
            with tempfile.TemporaryDirectory() as folder:
                page.write_text(played(page.read_text(encoding="utf-8"), Path(folder), command), encoding="utf-8")


if __name__ == "__main__":
    rewrite()
