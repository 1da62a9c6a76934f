"""What a call that is nearly right is told."""

import pytest

from opset.cli import VERBS, cli
from opset.cli.suggestions import _OPTIONS, _VERBS
from tests.cli.commands import run


@pytest.mark.parametrize("name", _VERBS)
def test_a_verb_by_another_name(name):
    result = run(name)
    assert result.exit_code == 2 and f"there is no verb '{name}'; did you mean {_VERBS[name]}?" in result.stderr
    assert _VERBS[name] in (*VERBS, "--help") and name not in VERBS


@pytest.mark.parametrize("name", _OPTIONS)
def test_an_option_by_another_name(name):
    meant = _OPTIONS[name]
    for verb in ("convert", "check", "targets"):
        known = {each for param in cli.get_command(None, verb).params for each in param.opts}
        if name in known:
            continue
        text = " ".join(run(verb, "a.onnx", name).stderr.split())
        said = f"there is no option '{name}'; did you mean {meant}?" in text
        assert said == (meant.split(" ")[0] in known), (verb, text)


def test_what_is_like_nothing_is_told_where_all_are():
    assert "there is no verb 'xyzzyx'; opset --help lists all" in run("xyzzyx").stderr
    assert "there is no option '--xyzzyx'; opset check --help lists all" in run("check", "--xyzzyx").stderr
    assert "there is no option '--xyzzyx'; --help lists all" not in run("check", "--xyzzyx").stderr
    assert "there is no option '--tos'; opset convert --help lists all" in run("convert", "--tos").stderr
    assert "there is no option '--input'; opset convert --help lists all" in run("convert", "--input").stderr
    assert "there is no verb 'chekc'; did you mean check?" in run("chekc").stderr
    assert "there is no option '--frob'; opset --help lists all" in run("--", "--frob").stderr
