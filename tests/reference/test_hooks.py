"""Kernels of one's own: a kernels.py beside the YAML of a domain, and the decorator in Python."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from opset import ReferenceEvaluator, RunError
from opset.extend import kernel
from opset.opsets.hooks import unregister
from opset.opsets.registry import entry_point_folders, registry_with
from opset.reference import registration
from tests.cli.commands import run

X = np.array([1, 2], np.float32)
SCALE = """\
operator: Scale
family: example
versions:
- since: 2
  change: {attributes: {bias: {added: float, default: 0.0}}, adapters: {up: derived, down: derived}}
  doc: Gives `factor * X + bias`.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: results}]
  attributes:
    factor: {type: float, default: 2.0, doc: what values are multiplied by}
    bias: {type: float, default: 0.0, doc: what is added}
  types: {T: [float]}
  constraints: {C1: factor > 0}
- since: 1
  like: 2
  attributes: {bias: null}
"""
KERNELS = """\
from opset.extend import Violation, kernel

@kernel("Scale", domain="com.example")
def scale(x, *, factor):
    if factor <= 0:
        raise Violation("C1", f"factor {factor:g}")
    return x * factor

@kernel("Scale", since=2, domain="com.example")
def scale_and_shift(x, *, factor, bias):
    return scale(x, factor=factor) + bias
"""


@pytest.fixture(autouse=True)
def _forget():
    """Forget what a test has registered."""
    yield
    unregister("kernel", "com.example", "Scale")
    unregister("infer", "com.example", "Scale")


def folder_of(path, source=KERNELS, domain="com.example", schema=SCALE):
    place = path / domain
    place.mkdir(parents=True, exist_ok=True)
    if schema:
        (place / "Scale.yaml").write_text(schema)
    if source is not None:
        (place / "kernels.py").write_text(textwrap.dedent(source))
    return path


def model(body="y = com.example.Scale (x)", version=1, domain="com.example"):
    return parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 21, "{domain}": {version}]> g (float[2] x) => (float[2] y) {{ {body} }}'
    )


def result(folders, *arguments, **named):
    evaluator = ReferenceEvaluator(model(*arguments, **named), schemas=folders)
    return evaluator.run(None, {"x": X})[0].tolist()


def failure(folders, *arguments, **named):
    with pytest.raises(RunError) as caught:
        result(folders, *arguments, **named)
    return caught.value


# Folders


def test_a_file_beside_the_yaml_gives_kernels_for_each_version(tmp_path):
    folders = [folder_of(tmp_path)]
    assert result(folders) == [2, 4]
    assert result(folders, "y = com.example.Scale <factor = 3.0, bias = 1.0> (x)", 2) == [4, 7]
    assert result(folders, "y = com.example.Scale <factor = 3.0> (x)", 3) == [3, 6]


def test_its_errors_name_node_and_constraint(tmp_path):
    error = failure([folder_of(tmp_path)], "y = com.example.Scale <factor = -1.0> (x)")
    assert (error.code, error.message) == ("R203", "Scale requires: factor > 0")
    assert error.why == "C1: factor -1; its inputs are tensor(float)[2]" and "(Scale)" in error.place
    source = KERNELS.replace('Violation("C1", f"factor {factor:g}")', 'Violation("C9", "")')
    error = failure([folder_of(tmp_path, source)], "y = com.example.Scale <factor = -1.0> (x)")
    assert (error.message, error.why) == ("Scale breaks C9", "C9: its inputs are tensor(float)[2]")


def test_what_a_file_prints_goes_to_stderr(tmp_path):
    source = KERNELS.replace("    return x", "    print('seen', factor)\n    print(file=None)\n    return x")
    folder = folder_of(tmp_path / "schemas", f"print('read')\n{source}")
    (folder / "com.example" / "inference.py").write_text(
        "from opset.extend import infer\n\n@infer('Scale', domain='com.example')\n"
        "def scale(call):\n    print('inferred', call.shape(0))\n    return call.shape(0)\n"
    )
    file = tmp_path / "model.onnx"
    file.write_bytes(model().SerializeToString())
    done = run("run", file, "--set", "x=[1, 2]", "--schemas", folder, "--format", "json")
    assert json.loads(done.stdout)["outputs"] and done.stderr == "read\nseen 2.0\n\n"
    done = run("infer", file, "--schemas", folder, "-o", "-")
    assert onnx.load_from_string(done.stdout_bytes).graph.node and "inferred (2,)\n" in done.stderr


def test_a_domain_without_yaml_may_have_kernels(tmp_path):
    assert result([folder_of(tmp_path, schema="")], "y = com.example.Scale <factor = 3.0> (x)") == [3, 6]


def test_it_is_run_only_where_an_evaluation_needs_its_domain(tmp_path, monkeypatch):
    folder = folder_of(tmp_path / "schemas", "raise SystemExit('this file was run')")
    file = tmp_path / "model.onnx"
    file.write_bytes(model().SerializeToString())
    monkeypatch.chdir(tmp_path)
    for arguments in (
        ["convert", file, "--to", "22", "--schemas", folder],
        ["show", "com.example.Scale", "--schemas", folder],
        ["list", "operators", "--schemas", folder],
        ["lint", folder],
    ):
        done = run(*arguments)
        assert "was run" not in done.output and "cannot be loaded" not in done.output
        assert done.exit_code == 0, done.output
    assert result([folder], "y = Relu (x)") == [1, 2]
    assert "this file was run" in failure([folder]).why


def test_two_folders_may_serve_one_domain(tmp_path):
    first = folder_of(tmp_path / "a")
    second = folder_of(
        tmp_path / "b",
        """
        from opset.extend import kernel

        @kernel("Double", domain="com.example")
        def double(x):
            return x + x
        """,
        schema="",
    )
    (second / "com.example" / "Double.yaml").write_text(SCALE.replace("Scale", "Double"))
    assert result([first, second], "h = com.example.Scale (x)  y = com.example.Double (h)") == [4, 8]
    assert result([second], "y = com.example.Double (x)") == [2, 4]
    assert failure([first], "y = com.example.Double (x)").why.startswith("com.example 1 has no such operator")


def test_registries_do_not_see_the_kernels_of_each_other(tmp_path):
    first = folder_of(tmp_path / "a")
    second = folder_of(tmp_path / "b", KERNELS.replace("x * factor", "x * factor * 10"))
    bare = folder_of(tmp_path / "c", None)
    for _ in range(2):
        assert result([first]) == [2, 4]
        assert result([second]) == [20, 40]
        assert failure([bare]).why == "com.example Scale 1 has no kernel"
        assert failure([bare]).help == "register one: opset explain evaluating"
        schema = SCALE.replace("  types:", "  function: [{opset: 7, nodes: 'Y = Abs (X)'}]\n  types:", 1)
        assert result([folder_of(tmp_path / "body", None, schema=schema)]) == [1, 2]


def test_a_file_is_run_once_and_again_when_it_changed(tmp_path):
    counting = "with open({!r}, 'a') as log: log.write('*')\n".format(str(tmp_path / "log"))
    folder = folder_of(tmp_path / "schemas", counting + KERNELS)
    old = ReferenceEvaluator(model(), schemas=[folder])
    assert old.run(None, {"x": X})[0].tolist() == result([folder]) == [2, 4]
    assert (tmp_path / "log").read_text() == "*"
    folder_of(folder, counting + KERNELS.replace("x * factor", "x + factor"))  # as long, within one tick of the clock
    assert result([folder]) == [3, 4]
    assert old.run(None, {"x": X})[0].tolist() == [2, 4]
    assert (tmp_path / "log").read_text() == "**"


def test_a_module_level_dataclass_works(tmp_path):
    source = """
    from __future__ import annotations
    from dataclasses import dataclass
    from opset.extend import kernel

    @dataclass
    class Factor:
        value: float

    @kernel("Scale", domain="com.example")
    def scale(x, *, factor):
        return x * Factor(factor).value
    """
    assert result([folder_of(tmp_path, source)]) == [2, 4]


# What can be wrong with a file


@pytest.mark.parametrize(
    ("source", "line", "why"),
    [
        ("x = 1\ndef f(:\n", 2, "SyntaxError: invalid syntax"),
        ("x = 1\n  y = 2\n", 2, "IndentationError: unexpected indent"),
        ("\nimport nothing_of_this_name\n", 2, "ModuleNotFoundError: No module named 'nothing_of_this_name'"),
        ("def f():\n    raise ValueError('odd')\n\nf()\n", 2, "ValueError: odd"),
        ("import json\njson.loads('[')\n", 2, "JSONDecodeError: Expecting value: line 1 column 2 (char 1)"),
        ("raise SystemExit(3)\n", 1, "SystemExit: 3"),
        ("f = lambda: f()\nf()\n", 1, "RecursionError: maximum recursion depth exceeded"),
        ("from opset.extend import kernel\n\nkernel('Scale', since='2')(len)\n", 3, "TypeError: 'str' object"),
        ("\0", None, ""),
        ("s = '\udcff'", None, "SyntaxError: (unicode error)"),
    ],
)
def test_a_file_that_cannot_be_run_is_told_with_its_line(tmp_path, source, line, why):
    folder = folder_of(tmp_path, None)
    file = folder / "com.example" / "kernels.py"
    file.write_bytes(source.encode(errors="surrogateescape"))
    before = set(sys.modules)
    error = failure([folder])
    assert (error.code, error.message) == ("R201", "the kernels of com.example cannot be loaded")
    assert error.place.startswith(f"{file}:{line}" if line else str(file)) and error.why.startswith(why) and error.help
    assert str(file.resolve()) not in set(sys.modules) - before


def test_it_is_told_once_for_all_nodes_and_runs_once_for_all(tmp_path):
    source = f"with open({str(tmp_path / 'log')!r}, 'a') as log: log.write('*')\nraise OSError('no')"
    folder = folder_of(tmp_path / "schemas", source)
    error = failure([folder], "h = com.example.Scale (x)  i = com.example.Other (h)  y = com.example.Scale (i)")
    assert [each.why for each in error.findings] == ["OSError: no"]
    assert (tmp_path / "log").read_text() == "*"


def test_a_file_that_was_corrected_works(tmp_path):
    folder = folder_of(tmp_path, "1 / 0")
    assert failure([folder]).why == "ZeroDivisionError: division by zero"
    assert result([folder_of(tmp_path)]) == [2, 4]


def test_all_files_that_cannot_be_run_are_told(tmp_path):
    folders = [folder_of(tmp_path / name, "1 / 0", schema="") for name in "ab"]
    places = [each.place for each in failure(folders).findings]
    assert places == [f"{folder}/com.example/kernels.py:1" for folder in folders]


def test_a_file_that_went_is_told(tmp_path):
    registry = registry_with([folder_of(tmp_path)])
    (tmp_path / "com.example" / "kernels.py").unlink()
    with pytest.raises(RunError, match="FileNotFoundError"):
        ReferenceEvaluator(model(), schemas=registry).run(None, {"x": X})


def test_annotations_of_a_file_are_what_it_writes(tmp_path):
    source = f"{KERNELS}\ndef typed(x: int): pass\n\nassert typed.__annotations__ == {{'x': int}}\n"
    found = ReferenceEvaluator(model(), schemas=[folder_of(tmp_path, source)]).run(None, {"x": X})
    np.testing.assert_array_equal(found[0], 2 * X)


def test_two_files_cannot_register_the_same_kernel(tmp_path):
    folders = [folder_of(tmp_path / "a"), folder_of(tmp_path / "b", schema="")]
    error = failure(folders)
    assert [each.code for each in error.findings] == ["R201", "R201"]
    assert error.message == "two kernels are registered for Scale of com.example, from the first version on"
    assert error.place == f"{tmp_path}/b/com.example/kernels.py:3"
    assert error.why == f"the other is at {tmp_path}/a/com.example/kernels.py:3"
    assert error.help == "keep one of them"


@pytest.mark.parametrize("domain", ["", "ai.onnx", "ai.onnx.ml"])
def test_a_file_cannot_replace_kernels_of_the_standard(tmp_path, domain):
    name = "Scaler" if domain.endswith("ml") else "Relu"
    source = f"""
    from opset.extend import kernel

    @kernel("Scale", domain="com.example")
    @kernel("{name}", domain="{domain}")
    def nothing(x, *, factor=None):
        return x
    """
    error = failure([folder_of(tmp_path, source)])
    assert error.message == f"a kernel is registered for {name} of {domain or 'ai.onnx'}"
    assert error.place == f"{tmp_path}/com.example/kernels.py:4" and 'domain="com.example"' in error.help
    assert result([], "y = Neg (x)") == [-1, -2]


def test_kernels_of_a_file_are_of_its_domain(tmp_path):
    source = KERNELS.replace('"Scale", domain="com.example"', '"Scale"').replace("com.example", "com.other")
    error = failure([folder_of(tmp_path, source)])
    places = [(each.message, each.place) for each in error.findings]
    assert places == [
        ("a kernel is registered for Scale of ai.onnx", f"{tmp_path}/com.example/kernels.py:3"),
        ("a kernel is registered for Scale of com.other", f"{tmp_path}/com.example/kernels.py:9"),
    ]
    assert error.why == "the file is for com.example"
    assert error.help == 'name its domain: @kernel("Scale", domain="com.example")'


def test_a_folder_of_the_standards_domain_is_not_asked_for_the_standards_operators(tmp_path):
    folder = folder_of(tmp_path, "1 / 0", domain="ai.onnx")
    assert result([folder], "y = Relu (x)", domain="other") == [1, 2]
    assert failure([folder], "y = Scale (x)", domain="other").why == "ZeroDivisionError: division by zero"
    folder_of(tmp_path, KERNELS.replace("com.example", "ai.onnx"), domain="ai.onnx")
    assert result([folder], "y = Scale <bias = 1.0> (x)", domain="other") == [3, 5]


@pytest.mark.parametrize("domain", ["../evil", "{path}/evil", "..", "", "com.example/../../evil", "evil\\..\\evil"])
def test_a_model_cannot_name_a_file(tmp_path, domain):
    folder = folder_of(tmp_path / "schemas")
    for place in (tmp_path / "evil", tmp_path, folder):
        place.mkdir(exist_ok=True)
        (place / "kernels.py").write_text("raise SystemExit('this file was run')")
    domain = domain.format(path=tmp_path)
    evil = model(domain="evil")
    evil.opset_import[1].domain = evil.graph.node[0].domain = domain
    if not domain:
        del evil.opset_import[1]
    with pytest.raises(RunError) as caught:
        ReferenceEvaluator(evil, schemas=[folder]).run(None, {"x": X})
    assert caught.value.code == "R201" and "this file was run" not in str(caught.value)


def test_only_files_are_run(tmp_path):
    folder = folder_of(tmp_path, None)
    os.mkfifo(folder / "com.example" / "kernels.py")
    assert failure([folder]).why == "com.example Scale 1 has no kernel"


def test_the_family_of_a_users_operator_imports_nothing(tmp_path):
    folder = folder_of(tmp_path, schema=SCALE.replace("family: example", "family: no.such.module"))
    assert result([folder]) == [2, 4]


def test_installed_packages_offer_kernels(tmp_path, monkeypatch):
    folder_of(tmp_path / "acme_operators")
    (tmp_path / "acme_operators" / "__init__.py").write_text("")
    information = tmp_path / "acme-1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[opset.schemas]\nacme = acme_operators\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert result(entry_point_folders()) == [2, 4]


# The decorator


def test_kernels_may_be_registered_in_python_and_again(tmp_path):
    folder = folder_of(tmp_path, None)
    for factor in (3, 5):  # a notebook runs a cell again

        @kernel("Scale", domain="com.example")
        def scale(x, *, factor=2.0, by=factor):
            return x * factor * by

        assert result([folder], "y = com.example.Scale <factor = 1.0> (x)") == [factor, 2 * factor]
        assert result([]) == [2 * factor, 4 * factor]


def test_another_function_does_not_replace_it_silently():
    @kernel("Scale", domain="com.example")
    def one(x):
        return x

    with pytest.raises(RunError, match="two kernels are registered for Scale of ") as caught:

        @kernel("Scale", domain="com.example")
        def two(x):
            return x

    assert caught.value.place.startswith(f"{Path(__file__)}:") and str(Path(__file__)) in caught.value.why


def test_a_file_and_python_cannot_register_the_same_kernel(tmp_path):
    @kernel("Scale", since=2, domain="com.example")
    def scale(x):
        return x

    assert "two kernels" in failure([folder_of(tmp_path)], version=2).message


def test_python_cannot_replace_kernels_of_the_standard():
    with pytest.raises(RunError, match="a kernel is registered for Relu of ") as caught:
        kernel("Relu", "Mine")(lambda x: x)
    assert len(caught.value.findings) == 1


def test_a_script_needs_no_yaml(tmp_path):
    script = tmp_path / "script.py"
    (tmp_path / "model.onnx").write_bytes(model("y = com.example.Scale <factor = 3.0> (x)").SerializeToString())
    script.write_text(
        f"{KERNELS}\nfrom opset import ReferenceEvaluator\n"
        "print(ReferenceEvaluator('model.onnx').run(None, {'x': [1.0, 2.0]})[0].tolist())"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(registration.__file__).parents[2])}
    done = subprocess.run(
        [sys.executable, script.name], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[3.0, 6.0]\n"


def test_a_kernel_without_an_attribute_of_its_operator(tmp_path):
    source = """
        from opset.extend import kernel

        @kernel("Scale", domain="com.example")
        def scale(x, factor):
            return x * factor
    """
    with pytest.raises(RunError) as caught:
        result([folder_of(tmp_path, source)], "y = com.example.Scale <factor = 3.0> (x)")
    assert (caught.value.code, caught.value.message) == ("R202", "the kernel takes no attribute 'factor'")
    assert caught.value.help == "let the kernel take it by keyword: (x, *, factor)"
    assert result([folder_of(tmp_path, source.replace("x * factor", "x").replace("x, factor", "x"))]) == [1, 2]


def test_a_kernel_of_any_attributes_gets_defaults(tmp_path):
    source = """
        from opset.extend import kernel

        @kernel("Scale", domain="com.example")
        def scale(x, **attributes):
            return x * attributes["factor"]
    """
    assert result([folder_of(tmp_path, source)]) == [2, 4]
    assert result([folder_of(tmp_path, source)], "y = com.example.Scale <factor = 3.0> (x)") == [3, 6]


@pytest.mark.parametrize(
    ("returned", "code", "says"),
    [
        ("None", "R204", "there is no output 'Y'"),
        ("(None, x)", "R204", "there is no output 'Y'"),
        ("[x]", "R204", "the output 'Y' cannot be seq(tensor(float))"),
        ("x.view(__import__('numpy').rec.recarray)", "R204", "the output 'Y' is no plain array"),
        ("__import__('numpy').ma.masked_array(x, [1, 0])", "R204", "the output 'Y' is no plain array"),
        ("x > 0", "R204", "the output 'Y' cannot be tensor(bool)"),
    ],
)
def test_a_kernel_that_does_not_return_what_its_operator_has(returned, code, says, tmp_path):
    source = KERNELS.replace("x * factor", returned)
    caught = failure([folder_of(tmp_path, source)])
    assert (caught.code, caught.message) == (code, says)
    assert caught.place == "graph 'g', node number 0 (Scale)"
    assert caught.help == f"correct the kernel, {tmp_path}/com.example/kernels.py:3, or its YAML"


def test_a_kernel_cannot_change_values_that_other_nodes_read(tmp_path):
    change = KERNELS.replace("return x * factor", "x *= factor; return x")
    body = "z = Abs (x)  y = com.example.Scale (z)  other = Neg (z)"
    caught = failure([folder_of(tmp_path / "array", change)], body)
    assert caught.code == "R204" and "read-only" in caught.why and "kernels.py:7" in caught.why
    change = KERNELS.replace("return x * factor", "x.append(x[0]); return x[1] * factor")
    body = "e = SequenceEmpty () s = SequenceInsert (e, x) t = SequenceInsert (s, x) y = com.example.Scale (t)"
    schema = SCALE.replace("types: {T: [float]}", "types: {T: [float], S: [seq(tensor(float))]}")
    folders = [folder_of(tmp_path / "list", change, schema=schema.replace("X, type: T", "X, type: S"))]
    text = f'<ir_version: 10, opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (int64 n) {{ {body} '
    evaluator = ReferenceEvaluator(parser.parse_model(f"{text} n = SequenceLength (t) }}"), schemas=folders)
    assert evaluator.run(None, {"x": X})[0] == 2


@pytest.mark.parametrize("body", ["y = com.example.Scale (x)", 'y = com.example.Scale (x, "")'])
def test_inputs_that_are_left_out_are_none(body, tmp_path):
    schema = SCALE.replace("doc: values}]", "doc: values}, {name: Z, type: T, optional: true, doc: more}]")
    source = KERNELS.replace("scale(x, *, factor)", "scale(x, z, *, factor)").replace("x * factor", "x * (z is None)")
    assert result([folder_of(tmp_path, source, schema=schema)], body) == [1, 2]


def test_a_kernel_that_needs_more_inputs_than_its_operator_has(tmp_path):
    source = KERNELS.replace("scale(x, *, factor)", "scale(x, z, *, factor)")
    caught = failure([folder_of(tmp_path, source)])
    assert caught.code == "R204" and "'z'" in caught.why


def test_what_a_kernel_that_runs_a_graph_returns_is_looked_at(tmp_path):
    schema = SCALE.replace("    factor: {type: float, default: 2.0, ", "    body: {type: graph, required: true, ")
    schema = schema.replace("  constraints: {C1: factor > 0}\n", "")
    source = """
        from opset.extend import kernel

        @kernel("Scale", domain="com.example")
        def scale(x, *, body):
            outputs = yield body, [x]
            return RETURNED
    """
    body = "y = com.example.Scale <body = b (float[2] a) => (float[2] c) { c = Neg (a) }> (x)"
    folders = [folder_of(tmp_path / "list", source.replace("RETURNED", "outputs"), schema=schema)]
    caught = failure(folders, body)
    assert (caught.code, caught.message) == ("R204", "the output 'Y' cannot be seq(tensor(float))")
    folders = [folder_of(tmp_path / "array", source.replace("RETURNED", "outputs[0]"), schema=schema)]
    assert result(folders, body) == [-1, -2]


def test_a_result_is_looked_at_in_each_run(tmp_path):
    evaluator = ReferenceEvaluator(
        model(), schemas=[folder_of(tmp_path, KERNELS.replace("return x * factor", "return x if x[0] else x > 0"))]
    )
    assert evaluator.run(None, {"x": X})[0].tolist() == [1, 2]
    with pytest.raises(RunError, match="cannot be tensor\\(bool\\)"):
        evaluator.run(None, {"x": X * 0})


PARTS = """\
operator: Scale
family: example
versions:
- since: 1
  doc: Gives `X`, and more.
  inputs: [{name: X, type: T, doc: values}]
  outputs:
  - {name: Y, type: T, doc: the same}
  - {name: Z, type: tensor(bool), optional: true, doc: more}
  - {name: L, type: S, optional: true, doc: more}
  - {name: O, type: optional(tensor(float)), optional: true, doc: more}
  types: {T: [float], S: [tensor(float), seq(tensor(float))]}
"""
PARTS_KERNEL = """\
from opset.extend import kernel

@kernel("Scale", domain="com.example")
def scale(x):
    return RETURNED
"""


@pytest.mark.parametrize(
    ("outputs", "returned", "code", "says"),
    [
        ("y, z", "x, x", "R204", "the output 'Z' cannot be tensor(float)"),
        ("y, z", "x, None", "R204", "there is no output 'Z'"),
        ("y, z", "(x,)", "R204", "there is no output 'Z'"),
        ("y, z", "x, [x > 0]", "R204", "the output 'Z' cannot be seq(tensor(bool))"),
        ("y, , l", "x, None, x > 0", "R204", "the output 'L' cannot be tensor(bool)"),
    ],
)
def test_each_output_of_a_kernel_is_looked_at(outputs, returned, code, says, tmp_path):
    folders = [folder_of(tmp_path, PARTS_KERNEL.replace("RETURNED", returned), schema=PARTS)]
    caught = failure(folders, f"{outputs} = com.example.Scale (x)")
    assert (caught.code, caught.message) == (code, says)


@pytest.mark.parametrize(
    ("outputs", "returned"),
    [("y, , l", "x, None, []"), ("y, , l", "x, x, x"), ("y, , , o", "x, None, None, None"), ("y, z", "x, (x > 0)[0]")],
)
def test_outputs_that_an_operator_may_have_are_taken(outputs, returned, tmp_path):
    folders = [folder_of(tmp_path, PARTS_KERNEL.replace("RETURNED", returned), schema=PARTS)]
    assert result(folders, f"{outputs} = com.example.Scale (x)") == [1, 2]


def test_outputs_that_no_schema_describes_are_not_looked_at(tmp_path):
    schema = PARTS[: PARTS.index("  outputs:")] + "  types: {T: [float]}\n"
    folders = [folder_of(tmp_path, PARTS_KERNEL.replace("RETURNED", "x"), schema=schema)]
    assert result(folders, "y = com.example.Scale (x)") == [1, 2]


def test_a_kernel_that_passes_a_graph_too_few_inputs(tmp_path):
    source = """
        from opset.extend import kernel

        @kernel("Scale", domain="com.example")
        def scale(x, *, body):
            (y,) = yield body, []
            return y
    """
    node = "y = com.example.Scale <body = b ({}) => (float[2] q) {{ q = Neg (x) }}> (x)"
    folders = [folder_of(tmp_path, source, schema="")]
    assert result(folders, node.format("")) == [-1, -2]
    caught = failure(folders, node.format("float[2] p"))
    assert caught.code == "R202" and "it has 1 inputs, and 0 are given" in caught.why
