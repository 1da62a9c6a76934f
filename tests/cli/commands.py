"""Models, and a run of the command line in this process, for the tests of the command line."""

import json
import signal

import onnx.parser
from click.testing import CliRunner

from opset.cli import cli
from opset.cli.output import SCHEMA_VERSION

SMALL = """<ir_version: 6, opset_import: ["": 11], producer_name: "exporter">
    main (float[2, 3] x) => (float[2, 3] y) {
        u = Unsqueeze <axes = [0]> (x)
        r = Relu (u)
        y = Squeeze <axes = [0]> (r)
    }"""
# Two nodes that no older operator expresses, two that are wrong at the model's own version, one that is fine.
REFUSED = """<ir_version: 9, opset_import: ["": 20]>
    main (string[N] a, string[N] b, float[2] x) => (string[N] c, string[N] d, float[2] y, float[1, 2] z, float[2] q) {
        c = StringConcat (a, b)
        d = StringConcat (b, a)
        y = Relu (x)
        z = Unsqueeze <axes = [0]> (x)
        q = Nonesuch (x)
    }"""


def save(name, text, folder):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(onnx.parser.parse_model(text).SerializeToString())
    return path


def heed_interrupts():
    """Restore SIGINT in a child: a shell starts background jobs with it ignored, and children inherit that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def run(*arguments, stdin=None):
    """Return click's result of a command: exit_code, stdout, stderr."""
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin, prog_name="opset")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "internal error" not in result.output
    return result


def run_json(*arguments, **also):
    """Return what a command prints as JSON, without the version of its form, which every object begins with."""
    data = json.loads(run(*arguments, "--format", "json", **also).stdout)
    if isinstance(data, dict):
        assert next(iter(data)) == "schema_version"
        assert data.pop("schema_version") == SCHEMA_VERSION
    return data


def version(path):
    """Opset of the default domain that a model file imports."""
    model = onnx.load(path, load_external_data=False)
    onnx.checker.check_model(model)
    return model.opset_import[0].version
