"""A domain of one's own in full: two versions of an operator with kernels, inference and written adapters.

The files in `own/com.example/` import `opset.extend` alone, numpy aside.
"""

import ast
import functools
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import opset
from opset import ConversionError, ReferenceEvaluator, convert, infer
from opset.extend import (
    differences,
    down,
    example_versions,
    feeds_of,
    kernel,
    model_of,
    parse_model,
    registry_with,
    up,
    value_of,
)
from opset.opsets.hooks import unregister
from tests.cli.commands import run

OWN = Path(__file__).with_name("own")
X = np.array([[1, 2], [3, 4]], np.float32)
OLD = "y = com.example.Stretch <times = 3> (x)"
NEW = 'n = Constant <value_int = 3> ()  y = com.example.Stretch <mode = "whole"> (x, n)'


@pytest.fixture
def folder(tmp_path):
    """A copy of the folder, whose files a test may change."""
    shutil.copytree(OWN, tmp_path / "own", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "own"


@pytest.fixture(autouse=True)
def _forget():
    """Forget what a test has registered in Python."""
    yield
    for kind in ("up", "down", "kernel"):
        for operator in ("Stretch", "Relu"):
            unregister(kind, "com.example", operator)


def model(body, version):
    text = f'<ir_version: 10, opset_import: ["": 21, "com.example": {version}]> g (float[N, 2] x) => (float[N, M] y)'
    return parse_model(f"{text} {{ {body} }}")


def value(source, folder=OWN):
    return ReferenceEvaluator(source, schemas=[folder]).run(None, {"x": X})[0]


def moved(source, version, folder=OWN):
    return convert(source, {"com.example": version}, schemas=[folder])


def failure(folder, source=None, version=2):
    with pytest.raises(ConversionError) as caught:
        moved(model(OLD, 1) if source is None else source, version, folder)
    return caught.value


def rewrite(file, old, new):
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_its_files_import_nothing_else_of_opset():
    for file in sorted((OWN / "com.example").glob("*.py")):
        names = {
            node.module if isinstance(node, ast.ImportFrom) else alias.name
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }
        assert {name for name in names if name != "numpy"} == {"opset.extend"}, file


def test_its_examples_hold():
    registry = registry_with([OWN])
    versions = {schema.since_version: schema for schema in registry.versions("Stretch", "com.example")}
    held = []
    for example in registry.examples("Stretch", "com.example"):
        for since in example_versions(example, versions):
            evaluator = ReferenceEvaluator(model_of(versions[since], example), schemas=registry)
            held.append((example.name, since))
            if example.error:
                with pytest.raises(opset.RunError) as caught:
                    evaluator.run(None, feeds_of(example))
                assert (caught.value.code, caught.value.why.split(":")[0]) == ("R203", example.error)
                continue
            results = evaluator.run(None, feeds_of(example))
            pairs = zip(map(value_of, example.outputs), results, strict=True)
            assert [each.why for want, have in pairs for each in differences(want, have)] == [""]
    assert len(held) == 7


@pytest.mark.parametrize("body, version", [(OLD, 1), (NEW, 2)])
def test_it_is_converted_to_the_other_version_and_back(body, version):
    given = model(body, version)
    there = moved(given, 3 - version)
    back = moved(there, version)
    expected = np.tile(X, 3)
    for each in (given, there, back):
        assert value(each).tolist() == expected.tolist()
    assert [entry.version for entry in there.opset_import] == [21, 3 - version]
    stretch = next(node for node in there.graph.node if node.op_type == "Stretch")
    form = len(stretch.input), [each.name for each in stretch.attribute]
    assert form == ((2, ["mode"]) if version == 1 else (1, ["times"]))
    assert len(back.graph.node) == len(given.graph.node)


def test_what_the_older_version_lacks_is_refused():
    error = failure(OWN, model("n = Constant <value_int = 2> ()  y = com.example.Stretch (x, n)", 2), 1)
    assert (error.code, error.why) == ("C204", "before version 2 elements were not repeated by themselves")
    text = '<ir_version: 10, opset_import: ["com.example": 2]> g (float[2] x, int64 n) => (float[M] y)'
    error = failure(OWN, parse_model(f"{text} {{ y = com.example.Stretch (x, n) }}"), 1)
    assert error.code == "C205"


def test_its_shapes_and_elements_are_inferred():
    for body, version in ((OLD, 1), (NEW, 2)):
        found = infer(model(body, version), schemas=[OWN])
        assert (str(found.type("y")), found.findings) == ("float[N, 6]", ())
    text = """<ir_version: 10, opset_import: ["": 21, "com.example": 1]> g (float[N, 2] x) => (float[a, b, c, d] y) {
        s = Shape (x)  t = com.example.Stretch (s)  y = Expand (x, t) }"""
    source = parse_model(text)
    source.graph.output[0].ClearField("type")
    assert str(infer(source, schemas=[OWN]).type("y")) == "float[N, 2, N, 2]"
    (finding,) = infer(model("y = com.example.Stretch <times = -1> (x)", 1), schemas=[OWN]).findings
    assert (finding.code, finding.why) == ("I201", "C1: times is -1")


def test_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("model.onnx").write_bytes(model(OLD, 1).SerializeToString())
    own = ("--schemas", OWN)
    assert run("convert", "model.onnx", "--to", "com.example=2", "-o", "new.onnx", *own).exit_code == 0
    assert run("convert", "new.onnx", "--to", "com.example=1", "-o", "old.onnx", *own).exit_code == 0
    for name in ("model.onnx", "new.onnx", "old.onnx"):
        done = run("run", name, "--set", "x=[[1, 2], [3, 4]]", "--format", "json", "-o", f"{name}.json", *own)
        assert done.exit_code == 0, done.output
        assert json.loads(Path(f"{name}.json").read_text())["y"] == [[1, 2, 1, 2, 1, 2], [3, 4, 3, 4, 3, 4]]
        assert "[N, 6]" in run("infer", name, "--values", *own).stdout
    assert run("lint", OWN).stdout.endswith("no findings in 1 operator of 1 domain\n")
    assert "adapter" not in run("convert", "model.onnx", "--to", "22", "-o", "other.onnx").output


# Where hooks are missing, or are those of nothing


def test_an_adapter_that_is_missing(folder):
    (folder / "com.example" / "adapters.py").unlink()
    done = run("lint", folder)
    assert done.exit_code == 1
    assert [line for line in done.stdout.splitlines() if line.startswith("error")] == [
        f"error[S206] no adapter {direction} is written for Stretch 2" for direction in ("up", "down")
    ]
    error = failure(folder)
    assert (error.code, error.why) == ("C208", "no adapter is written for it")


def test_adapters_that_are_of_nothing(folder):
    rewrite(folder / "com.example" / "adapters.py", '@up("Stretch", since=2', '@up("Stretch", since=3')
    out = run("lint", folder).stdout
    assert "error[S206] no adapter up is written for Stretch 2" in out
    assert "error[S207] an adapter up is written for Stretch 3, which is no transition" in out
    assert failure(folder).code == "C208"
    rewrite(folder / "com.example" / "Stretch.yaml", "up: written, down: written", "up: written, down: derived")
    assert "error[S207] an adapter down is written for Stretch 2, which declares none" in run("lint", folder).stdout


def test_versions_without_a_kernel_or_a_rule(folder):
    for name in ("kernels.py", "inference.py"):
        rewrite(folder / "com.example" / name, '("Stretch", domain', '("Stretch", since=2, domain')
        rewrite(
            folder / "com.example" / name,
            '"Stretch", since=2, domain="com.example")\ndef stretch_2',
            '"Stretch", since=3, domain="com.example")\ndef stretch_2',
        )
    registry = registry_with([folder])
    with pytest.raises(opset.RunError) as caught:
        value(model(OLD, 1), folder)
    assert caught.value.why == "com.example Stretch 1 has no kernel"
    source = model(OLD, 1)
    source.graph.output[0].ClearField("type")
    (gap,) = infer(source, schemas=registry).gaps
    assert gap.reason == "there is no rule for the outputs of Stretch 1"


# What can be wrong with a file of adapters


def test_it_is_run_when_a_conversion_needs_it_and_again_when_it_changed(folder, tmp_path):
    file = folder / "com.example" / "adapters.py"
    log = tmp_path / "log"
    file.write_text(f"with open({str(log)!r}, 'a') as log: log.write('*')\n" + file.read_text())
    assert convert(model(OLD, 1), 22, schemas=[folder]).opset_import[0].version == 22
    assert not log.exists()
    first = moved(model(OLD, 1), 2, folder)
    assert moved(model(OLD, 1), 2, folder).SerializeToString() == first.SerializeToString()
    assert log.read_text() == "*"
    rewrite(file, 'mode="whole"', 'mode="each"')
    assert value(moved(model(OLD, 1), 2, folder)).tolist() == np.repeat(X, 3, axis=1).tolist()
    assert log.read_text() == "**"
    assert value(moved(model(OLD, 1), 2)).tolist() == np.tile(X, 3).tolist()  # the other folder's


@pytest.mark.parametrize(
    ("source", "line", "why"),
    [
        ("from opset.extend import up\n\nup('Stretch')\n", 3, "TypeError: up() missing 1 required keyword-only"),
        ("x = 1\ndef f(:\n", 2, "SyntaxError: invalid syntax"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero"),
    ],
)
def test_a_file_that_cannot_be_run(folder, source, line, why):
    file = folder / "com.example" / "adapters.py"
    file.write_text(source)
    for _ in range(2):
        error = failure(folder)
        assert (error.code, error.message) == ("C105", "the adapters of com.example cannot be loaded")
        assert error.place == f"{file}:{line}" and error.why.startswith(why) and error.help
    done = run("lint", folder)
    assert done.exit_code == 1 and done.stdout.startswith("error[C105]") and done.stdout.count("error[") == 1


WRONG = {
    'up("Stretch", since=2, domain="com.example")(lambda op, node: None)': "two adapters are registered for Stretch",
    'up("Relu", since=6)(lambda op, node: None)': "an adapter is registered for Relu of ai.onnx",
    'up("Stretch", since=2, domain="com.other")(lambda op, node: None)': "an adapter is registered for Stretch of",
    'kernel("Stretch", domain="com.example")(lambda x: x)': "a kernel is registered for Stretch in adapters.py",
}


@pytest.mark.parametrize("line", WRONG)
def test_registrations_that_are_refused_name_their_line(folder, line):
    file = folder / "com.example" / "adapters.py"
    count = len(file.read_text().splitlines())
    file.write_text(f"{file.read_text()}\nfrom opset.extend import kernel\n{line}\n")
    error = failure(folder)
    assert (error.code, error.place) == ("C105", f"{file}:{count + 3}")
    assert error.message.startswith(WRONG[line]) and error.help


def test_two_folders_cannot_have_the_same_adapter(folder):
    (folder / "com.example" / "Stretch.yaml").unlink()
    with pytest.raises(ConversionError) as caught:
        convert(model(OLD, 1), {"com.example": 2}, schemas=[OWN, folder])
    first, second = caught.value.findings
    assert first.code == second.code == "C105"
    assert first.message == "two adapters are registered for Stretch of com.example, for version 2"
    assert str(folder) in first.place and str(OWN) in first.why


# In Python


def test_adapters_may_be_registered_in_python_and_again(folder):
    file = folder / "com.example" / "adapters.py"
    file.unlink()
    for mode in ("each", "whole"):  # a notebook runs a cell again

        @up("Stretch", since=2, domain="com.example")
        def stretch_2_up(op, node, mode=mode):
            return op.copy(node, inputs=[node.input(0), op.const(node.attr("times"))], times=None, mode=mode)

        expected = np.repeat(X, 3, axis=1) if mode == "each" else np.tile(X, 3)
        assert value(moved(model(OLD, 1), 2, folder)).tolist() == expected.tolist()
    error = failure(OWN)
    assert error.message == "two adapters are registered for Stretch of com.example, for version 2"
    with pytest.raises(ConversionError, match="two adapters"):
        up("Stretch", since=2, domain="com.example")(lambda op, node: None)


def test_the_origin_is_that_of_the_function_itself():
    def adapter(op, node, times):
        return None

    @functools.wraps(adapter)
    def wrapper(*arguments):
        return adapter(*arguments)

    line = adapter.__code__.co_firstlineno
    for function in (functools.partial(adapter, times=1), functools.partial(wrapper, times=1), wrapper):
        with pytest.raises(ConversionError) as caught:
            down("Relu", since=6)(function)
        assert caught.value.place == f"{__file__}:{line}"
    origins = []
    for name in ("Abs", "Add"):
        with pytest.raises(opset.RunError) as failed:
            kernel(name)(lambda x: x)
        origins.append(failed.value.place)
    here = test_the_origin_is_that_of_the_function_itself.__code__.co_firstlineno
    assert len(set(origins)) == 1 and int(origins[0].rpartition(":")[2]) > here
    with pytest.raises(opset.RunError) as failed:
        kernel("Abs")(len)
    assert failed.value.place == "builtins.len"


@pytest.mark.parametrize(
    ("function", "origin"),
    [(str.upper, "str.upper"), (len, "builtins.len"), (functools.partial(str.upper), "str.upper"),
     (X.copy, "ndarray.copy")],
)  # fmt: skip
def test_builtins_are_named_and_may_be_hooks_of_ones_own_domain_alone(function, origin):
    assert up("Stretch", since=2, domain="com.example")(function) is function
    with pytest.raises(ConversionError) as caught:
        up("Relu", since=6)(function)
    assert (caught.value.code, caught.value.place) == ("C105", origin)


@pytest.mark.parametrize("depth", [1, 2])
def test_a_folder_among_installed_packages_has_lines_of_its_own(folder, depth, monkeypatch):
    """What fails in a helper of the folder is there, even where files of installed packages are passed over."""
    monkeypatch.setattr("opset.opsets.faults._libraries", lambda: (str(folder.parent),))
    file = folder / "com.example" / "adapters.py"
    file.write_text("def fail():\n    1 / 0\n" + ("fail()\n" if depth == 2 else "1 / 0\n"))
    assert failure(folder).place == f"{file}:{2 if depth == 2 else 3}"
