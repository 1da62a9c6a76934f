"""The hooks for pre-commit: which staged files they run for, and that each command takes these."""

import re
from pathlib import Path

import pytest

from opset.schemas.yaml.reader import Findings, read
from tests.cli.commands import run
from tests.schemas.texts import SCALE

ROOT = Path(__file__).parents[1]
HOOKS = {each["id"]: each for each in read((ROOT / ".pre-commit-hooks.yaml").read_bytes(), Findings("hooks")).plain()}
STAGED = [
    "schemas/com.acme/Scale.yaml", "com.acme/Turn.yml", "a/b/org.acme.x/Scale.yaml", "schemas/com.acme/adapters.py",
    "schemas/types.yaml", "schemas/lock.json", "k8s/deploy.yaml", ".github/workflows/ci.yml", "setup.py",
    ".pre-commit-config.yaml", "package/lock.json", "com.acme/notes.md",
    "models/net.onnx", "net.onnxtxt", "net.onnx.md",
]  # fmt: skip
NET = '<ir_version: 8, opset_import: ["": 11]> net (float[2] x) => (float[2] y) { y = Relu (x) }'
FOR = {
    "opset-lint": STAGED[:6],
    "opset-fix": STAGED[:3],
    "opset-test": STAGED[:4],
    "opset-breaking": [
        *STAGED[:3],
        *STAGED[4:6],
    ],
    "opset-check": ["models/net.onnx", "net.onnxtxt"],
    "opset-convert-check": ["models/net.onnx", "net.onnxtxt"],
}


def test_hooks_run_for_the_files_of_operators():
    assert {name: [each for each in STAGED if re.search(hook["files"], each)] for name, hook in HOOKS.items()} == FOR


@pytest.mark.parametrize("name", HOOKS)
def test_commands_take_the_files_that_are_staged(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path, text in {"schemas/com.acme/Scale.yaml": SCALE, "schemas/types.yaml": "{}\n"}.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)
    hook = HOOKS[name]
    program, *arguments = [*hook["entry"].split(), *hook.get("args", [])]
    passed = hook.get("pass_filenames", True)
    Path("net.onnxtxt").write_text(NET)
    staged = [
        path
        for path in ("net.onnxtxt", "schemas/com.acme/Scale.yaml", "schemas/types.yaml")
        if re.search(hook["files"], path)
    ]
    result = run(*arguments, *(staged if passed else ()))
    assert (program, hook["language"]) == ("opset", "python")
    assert result.exit_code in ((0, 1) if passed else (3,)), result.output  # this is no git repository
    if name == "opset-convert-check":
        assert result.exit_code == 1 and not Path("net-opset21.onnxtxt").exists()
        assert result.output == "net.onnxtxt: can be converted, ai.onnx 11 -> 21, IR version 8\n"
        Path("net.onnxtxt").write_text(NET.replace("11", "21"))
        assert run(*arguments, *staged).output == ""
    if name == "opset-check":
        assert result.exit_code == 0
        Path("net.onnxtxt").write_text(NET.replace("Relu", "Nonesuch"))
        assert run(*arguments, *staged).exit_code == 1
    if name == "opset-lint":
        assert result.stdout.endswith("no findings in 1 operator of 1 domain\n")
        Path(staged[0]).write_text(SCALE.replace("doc: where", "dok: where"))
        assert run(*arguments, *staged).exit_code == 1
