"""More."""

import re

import pytest

from tests.cli.commands import run
from tests.cli.test_run import LISTS, add  # noqa: F401
from tests.cli.test_verbs import GOOD, own  # noqa: F401


# test_verbs
@pytest.mark.parametrize("path", ["schemas", "schemas/com.example", "schemas/com.example/Twice.yaml", "."])
@pytest.mark.parametrize("option", [None, "--no-hooks", "--allow-hooks"])
def test_lint_runs_code_beside_what_a_call_names_unless_it_forbids_it(own, path, option):  # noqa: F811
    (own.parent / "adapters.py").write_text("raise SystemExit('this was run')")
    result = run("lint", path, *([option] if option else []))
    runs = option == "--allow-hooks" or (option is None and path != ".")
    assert ("this was run" in result.output) is runs
    assert ("was not run" in result.stderr) is (option is None and not runs)


def test_nothing_is_locked_if_findings_were_left_out(own, folder, monkeypatch):  # noqa: F811
    (own.parent / "Abc.yaml").write_text(GOOD.replace("Twice", "Abc"))
    later = folder / "later" / "com.later"
    later.mkdir(parents=True)
    (later / "Twice.yaml").write_text(GOOD.replace("doc: the product", "doc: ''"))
    call = ["lint", "--released", "--lock", "schemas", "later"]
    for kept, codes in ((1000, ["S241", "S241", "S212", "S241"]), (1, ["S241"])):
        with monkeypatch.context() as patch:
            patch.setattr("opset.errors.KEPT", kept)
            result = run(*call)
        assert re.findall(r"error\[(S\d+)\]", result.stdout) == codes
        assert result.exit_code == 1 and "\nlocked" not in result.stdout and not [*folder.rglob("lock.json")]
        assert result.stdout.endswith("4 findings in 3 operators of 2 domains\n")
    (later / "Twice.yaml").write_text(GOOD)
    assert run(*call).stdout == (
        "locked com.example.Abc:1\nlocked com.example.Twice:1\nlocked com.later.Twice:1\n"
        "no findings in 3 operators of 2 domains\n"
    )
