"""`opset docs`: what it writes and reports, and that the bytes depend on the operators alone."""

import io
import json
import sys

import pytest

from opset.cli import cli
from opset.cli import docs as verb
from opset.cli.progress import show_progress as progress_of
from opset.output_folder import MANIFEST
from tests.cli.commands import run
from tests.docgen import domains
from tests.docgen.whole import SETTINGS, made


@pytest.fixture
def acme(folder):
    return domains.write(folder / "schemas", "com.acme", domains.operator(), domains.operator("Other"))


def docs(*arguments, form="json"):
    return run("docs", "-o", "site", "--schemas", "schemas", "--domain", "com.acme", "--format", form, *arguments)


def test_the_report_and_the_files(acme, folder):
    result = docs()
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("wrote 2 files, ") and result.stdout.endswith(" kB, to site\n")
    data = json.loads((folder / "site/operators.json").read_bytes())
    assert [each["operator"] for each in data["domains"][0]["operators"]] == ["Other", "Scale"]
    assert docs("--quiet", form="markdown").stdout == ""
    assert {path.name for path in (folder / "site").iterdir()} == {
        MANIFEST,
        "README.md",
        "com.acme.md",
        "changelog-com.acme.md",
        "coverage.md",
        "operators.json",
        "operators.schema.json",
    }


def test_progress_is_shown_on_a_terminal_alone(monkeypatch):
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    with progress_of(False, "pages") as progress:
        assert progress is None
    shown.isatty = lambda: True
    with progress_of(True, "pages") as progress:
        assert progress is None
    with progress_of(False, "pages") as progress:
        for done in range(1, 13):
            progress(done, 12)
    *_, last, erased, end = shown.getvalue().split("\r")
    assert "/12 [" in last and "pages/s]" in last
    assert erased.strip() == end == ""  # nothing of the line is left


def test_domains_are_in_the_order_of_the_registry(acme, folder):
    assert (
        run(
            "docs", "-o", "a", "--domain", "ai.onnx.preview.training", "--domain", "ai.onnx.preview", "--format", "json"
        ).exit_code
        == 0
    )
    data = json.loads((folder / "a/operators.json").read_bytes())
    assert [each["domain"] for each in data["domains"]] == ["ai.onnx.preview", "ai.onnx.preview.training"]


@pytest.mark.parametrize("chosen", [None, ["ai.onnx.ml"], ["", "ai.onnx.preview"]])
def test_pages_of_verbs_are_for_all_domains_together(folder, monkeypatch, chosen):
    asked = []
    monkeypatch.setattr(verb, "documentation", lambda *arguments: asked.append(arguments) or {"a.md": b"1"})
    options = [part for domain in chosen or () for part in ("--domain", domain or "ai.onnx")]
    result = run("docs", "-o", "made", "--format", "markdown", *options)
    assert (result.exit_code, result.stdout) == (0, "wrote 1 file, 0.0 kB, to made\n")
    ((registry, form, domains, _, verbs),) = asked
    assert (form, domains, verbs) == ("markdown", chosen, verb._describe_verbs if chosen is None else None)
    assert {*registry.domains} >= {"", "ai.onnx.ml", "ai.onnx.preview"}


def test_each_verb_has_its_help_and_options():
    pages = {page.name: page for page in verb._describe_verbs()}
    assert [*pages] == [*cli.list_commands(None)]
    page = pages["explain"]
    assert page.summary == cli.get_command(None, "explain").get_short_help_str(200)
    assert page.usage.startswith("$ opset explain [OPTIONS]") and "\n   " not in page.help
    assert page.options[-1] == ("-h, --help", "Show this message and exit.")


def test_what_is_wrong_with_a_call(acme, folder):
    assert "known: ai.onnx," in (result := docs("--domain", "com.acne")).stderr and result.exit_code == 2
    assert run("docs").exit_code == run("docs", "--format", "json").exit_code == 2
    (folder / "site").mkdir()
    (folder / "site/mine").touch()
    assert "error[U102] the folder is in use" in (result := docs()).stderr and result.exit_code == 2
    assert docs("--force").exit_code == 0 and (folder / "site/mine").exists()
    assert run("docs", "-o", "schemas/com.acme/Operator0.yaml").exit_code == 2
    assert "error[U103] the folder to write to has no name" in run("docs", "-o", "", "--schemas", "schemas").stderr


def test_hooks_run_where_they_are_trusted_alone(folder):
    breaking = domains.operator(examples=[{"name": "none", "since": 2, "inputs": [{"float": [1]}], "error": "C1"}])
    acme = domains.write(folder / "schemas", "com.acme", breaking)
    (acme / "com.acme/inference.py").write_text("raise RuntimeError('x')\n")
    assert "error[I301]" in docs().stderr
    assert docs("--no-hooks").exit_code == 0
    (folder / "pyproject.toml").write_text('[tool.opset]\nschemas = ["schemas"]\n')
    result = run("docs", "-o", "other", "--domain", "com.acme", "--format", "json")
    assert result.exit_code == 0 and "note: com.acme/inference.py" in result.stderr


@pytest.mark.parametrize("form", ["html", "markdown", "json"])
def test_the_bytes_depend_on_the_operators_alone(form, acme, folder):
    # For the whole of the standard: python -m tests.docgen.whole
    arguments = ("--schemas", "schemas", "--domain", "com.acme")
    first, second = (made(form, folder / f"site{each}", SETTINGS[each], *arguments) for each in (0, 1))
    assert first == second and len(first) > 1
