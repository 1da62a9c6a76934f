"""`opset test` on a domain in which all is right, and on one that is changed in one place: what it finds, and where.

python -m tests.workflow.test_examples      # writes examined.txt; read the difference
"""

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from click.testing import CliRunner

from opset.cli import cli
from opset.cli.processes import run_in_processes
from opset.cli.test import _lost_report
from opset.errors import Finding, RunError
from opset.inference.building.dimensions import variable
from opset.inference.building.types import optional, sequence, tensor
from opset.opsets.registry import default_registry, registry_with
from opset.opsets.releases import RELEASES
from opset.schemas.example import Example, ExampleValue
from opset.schemas.model import Attribute
from opset.version_converter.routes import Verdict, VersionChange
from opset.workflow.examples.claims import (
    Claim,
    ClaimTests,
    _is_float,
    _is_number,
    _list_length,
    check_negative,
    check_old,
    check_only_for,
    other_values,
)
from opset.workflow.examples.conversions import BodyRoutes, adapter_declarations, body_opsets, targets_of
from opset.workflow.examples.examination import PARTS, Subject, check_kernel, examine
from opset.workflow.examples.functions import _versions_in_use
from opset.workflow.examples.inference import (
    OPEN,
    SYMBOLIC,
    _has_whole_numbers,
    _InferenceRun,
    _is_small,
    check_inference,
    disagreement,
    is_dense,
    structure_of,
)
from opset.workflow.examples.runner import PACKAGE_MISSING, Examination, ExampleRunner, disagreements, limit_finding
from opset.workflow.examples.variants import variants_of

SCALE = """\
operator: Scale
family: test
versions:
- since: 2
  change:
    attributes: {bias: {added: float, default: 0.0}, hint: {removed: int, ignored: true}}
    types: {T: [+float16]}
    clarified: What happens to NaN.
    emulate: {float16: float}
    adapters: {up: derived, down: derived}
  doc: Returns `factor * X + bias`.
  inputs: [{name: X, type: T, doc: values}]
  outputs: [{name: Y, type: T, doc: results}]
  attributes:
    factor: {type: float, default: 2.0, doc: what values are multiplied by}
    bias: {type: float, default: 0.0, doc: what is added}
  types: {T: [float, float16]}
  constraints: {C1: {rank: {X: ">= 1"}}}
  function:
  - opset: 13
    emulate: {float16: float}
    nodes: |
      factor = Constant <value_float: float = @factor> ()
      bias = Constant <value_float: float = @bias> ()
      product = Mul (X, factor)
      Y = Add (product, bias)
- since: 1
  like: 2
  doc: Returns `factor * X`.
  attributes:
    bias: null
    hint: {type: int, default: 0, doc: nothing}
  types: {T: [float]}
  function: null
examples:
- {name: plain, since: 1, inputs: [{float: [1, 2]}], outputs: [{float: [2, 4]}]}
- {name: hinted, since: 1, until: 1, attributes: {hint: 1}, inputs: [{float: [1.25]}], outputs: [{float: [2.5]}]}
- {name: biased, since: 2, attributes: {bias: 0.25},
   inputs: [{float16: [1.5, 0.1]}], outputs: [{float16: [3.25, 0.45]}]}
- {name: scalar, since: 1, inputs: [{float: 1}], error: C1}
"""
PICK = """\
operator: Pick
family: test
versions:
- since: 2
  change:
    inputs: {added: [scale]}
    attributes:
      axis: {negative: true}
      exact: {added: int, default: 1, only_for: [float16]}
      kind: {removed: string}
      mode: {added: string, default: min, renamed: kind, values: {small: min, large: max}}
      scale: {removed: int, input: scale}
    types: {T: [+float16]}
    adapters: {up: derived, down: derived}
  doc: Returns the least or the greatest value along an axis, times `scale`.
  inputs:
  - {name: X, type: T, doc: values}
  - {name: scale, type: tensor(int64), optional: true, doc: 1 without it}
  outputs: [{name: Y, type: T, doc: results}]
  attributes:
    axis: {type: int, default: 0, kind: axis, constraint: C1, doc: the axis}
    exact: {type: int, default: 1, kind: bool, doc: whether float16 is computed in float}
    mode: {type: string, default: min, choices: [min, max], doc: which one}
  types: {T: [float, float16]}
- since: 1
  like: 2
  inputs: [X]
  attributes:
    axis: {kind: null, range: 0 <= x < rank}
    exact: null
    mode: null
    kind: {type: string, default: small, choices: [small, large], doc: which one}
    scale: {type: int, default: 1, doc: the factor}
  types: {T: [float]}
examples:
- {name: plain, since: 1, inputs: [{float: [[3, 1], [2, 4]]}], outputs: [{float: [2, 1]}]}
- {name: rows, since: 1, attributes: {axis: 1}, inputs: [{float: [[3, 1], [2, 4]]}], outputs: [{float: [1, 2]}]}
- {name: old, since: 1, until: 1, attributes: {kind: large, scale: 3}, inputs: [{float: [1, 2]}], outputs: [{float: 6}]}
- {name: small, since: 1, until: 1, attributes: {kind: small}, inputs: [{float: [1, 2]}], outputs: [{float: 1}]}
- {name: new, since: 2, attributes: {mode: max}, inputs: [{float16: [1, 2]}, {int64: 3}], outputs: [{float16: 6}]}
- {name: axis_out_of_range, since: 1, attributes: {axis: 2}, inputs: [{float: [[1]]}], error: C1}
"""
KERNELS = """\
import numpy as np
from opset.extend import kernel

@kernel("Scale", domain="com.test")
def scale_1(x, *, factor, hint):
    return x * x.dtype.type(factor)

@kernel("Scale", since=2, domain="com.test")
def scale_2(x, *, factor, bias):
    return (x.astype(np.float32) * np.float32(factor) + np.float32(bias)).astype(x.dtype)

@kernel("Pick", domain="com.test")
def pick_1(x, *, axis, kind, scale):
    return {"small": np.min, "large": np.max}[kind](x, axis % x.ndim) * x.dtype.type(scale)

@kernel("Pick", since=2, domain="com.test")
def pick_2(x, scale=None, *, axis, exact, mode):
    return {"min": np.min, "max": np.max}[mode](x, axis % x.ndim) * x.dtype.type(1 if scale is None else scale)
"""
INFERENCE = """\
from opset.extend import infer

@infer("Scale", domain="com.test")
def scale_1(call):
    return call.require_shape(0)

@infer("Pick", domain="com.test")
def pick_1(call):
    shape = call.require_shape(0)
    axis = call.attribute("axis") % len(shape)
    return (*shape[:axis], *shape[axis + 1 :])
"""
FILES = {"Scale.yaml": SCALE, "Pick.yaml": PICK, "kernels.py": KERNELS, "inference.py": INFERENCE}


def domain(folder: Path, *changes: tuple[str, str, str]) -> Path:
    """Write the domain into a folder, with texts of its files replaced."""
    texts = dict(FILES)
    for file, before, after in changes:
        assert before in texts[file], (file, before)
        texts[file] = texts[file].replace(before, after)
    (folder / "com.test").mkdir()
    for name, text in texts.items():
        (folder / "com.test" / name).write_text(text)
    return folder


def report_on(folder, **options):
    registry = registry_with([folder])
    versions = [each for name in registry.operators("com.test") for each in registry.versions(name, "com.test")]
    return examine(registry, versions, **options)


def test_nothing_is_found_where_all_is_right(tmp_path):
    report = report_on(domain(tmp_path))
    assert report.findings == []
    assert report.notes == []
    assert all(report.passed[part] for part in PARTS)
    assert not report.failed


def not_by_the_newer(attribute):
    """An example at the top that the kernel of version 2 does not compute, converted or not."""
    stated = f"attributes: {{{attribute}}}, inputs: [{{float: [3, 3, 3]}}], outputs: [{{float: 3}}]"
    stated = stated.replace("float: 3}", "float: 9}") if attribute == "scale: 3" else stated
    text = f"examples:\n- {{name: three, since: 1, until: 1, {stated}}}\n"
    refusing = "exact, mode):\n    if x.size == 3:\n        raise ValueError\n"
    return [("Pick.yaml", "examples:\n", text), ("kernels.py", "exact, mode):\n", refusing)]


def by_the_elements(more):
    """An inference function that takes the size from the elements, where these are known, and adds to it."""
    known = f"shape = call.require_shape(0); found = call.elements(0); return (len(found) + {more} if found else None,)"
    return "return call.require_shape(0)", known


# By failure: what is changed, and for each code of a finding, what it says and where.
FAILURES = {
    "nothing is wrong": ([], {}),
    "kernel gives another value": (
        [("kernels.py", "return x * x.dtype.type(factor)", "return x + x.dtype.type(factor)")],
        {"T101": "Scale 1: the example 'plain' is not what the kernel computes|Scale.yaml:36|3.0 instead of 2.0",
         "T107": "Scale 2: the example 'biased', with bias = 0.0, changes its values on the way 2 -> 1"},
    ),
    "kernel gives another type": (
        [("kernels.py", "* x.dtype.type(scale)", "* np.float64(scale)")],
        {"T102": "Pick 1: the example 'plain' cannot be computed|double"},
    ),
    "kernel gives another shape": (
        [("kernels.py", "axis % x.ndim) * x.dtype.type(scale)", "axis % x.ndim)[None] * x.dtype.type(scale)")],
        {"T101": "its shape is [1, 2], and [2] is expected", "T107": "of float, changes its values|its shape is [1]"},
    ),
    "kernel raises": (
        [("kernels.py", "return x * x.dtype.type(factor)", "return x.no")],
        {"T102": "'plain' cannot be computed|has no attribute 'no'"},
    ),
    "kernel asks for an exit": (
        [("kernels.py", "return x * x.dtype.type(factor)", "raise SystemExit(0)")],
        {"T102": "'plain' cannot be computed|SystemExit: 0, at "},
    ),
    "kernel returns more values than there are outputs": (
        [("kernels.py", "return x * x.dtype.type(factor)", "return x * x.dtype.type(factor), x")],
        {"T102": "'plain' cannot be computed|Scale 1 has 1 output, and its kernel returns 2 values"},
    ),
    "constraint is not declared": (
        [("Scale.yaml", 'C1: {rank: {X: ">= 1"}}', "C1: X is no scalar")],
        {"T103": "'scalar' should break C1|the kernel computes it"},
    ),
    "kernel is given another constraint": (
        [("Scale.yaml", "error: C1", "error: C2"), ("Scale.yaml", '">= 1"}}', '">= 1"}}, C2: nothing')],
        {"T103": "'scalar' should break C2|C1:", "T105": "breaks C2, and inference reports something else|C1:"},
    ),
    "inference knows the ranks alone": (
        [("inference.py", "return call.require_shape(0)", "return (None,) * len(call.require_shape(0))"),
         ("inference.py", "(*shape[:axis], *shape[axis + 1 :])", "(None,) * (len(shape) - 1)")],
        {},
    ),
    "inference knows nothing": (
        [("inference.py", "return call.require_shape(0)", "raise Unknown('it cannot be known')"),
         ("inference.py", "import infer", "import Unknown, infer")],
        {},
    ),
    "inference needs the elements": ([("inference.py", *by_the_elements(0))], {}),
    "inference needs the elements, and is wrong with them": ([("inference.py", *by_the_elements(1))], {
        "T104": "Scale 1: the example 'plain' is contradicted by inference|float[3]"}),
    "inference gives another shape": (
        [("inference.py", "(*shape[:axis], *shape[axis + 1 :])", "shape")],
        {"T104": "Pick 1: the example 'plain' is contradicted by inference|float[2, 2]|the kernel have tensor(float)"},
    ),
    "inference is wrong with dim_params alone": (
        [("inference.py", "return call.require_shape(0)",
          "return tuple(each if isinstance(each, int) else 1 for each in call.require_shape(0))")],
        {"T104": "Scale 1: the example 'plain' is contradicted by inference|float[1]|with s0_0 = 2"},
    ),
    "schema, inference and kernel disagree on a type": (
        [("inference.py", "return call.require_shape(0)", "return ('int64', call.shape(0))"),
         ("inference.py", "import infer", "import infer, tensor"), ("inference.py", "('int64', ", "tensor('int64', ")],
        {"T104": "inference gives int64[2]|tensor(float)"},
    ),
    "inference asks for an exit": (
        [("inference.py", "return call.require_shape(0)", "raise SystemExit(0)")],
        {"T105": "Scale 1: the example 'plain' is refused by inference|SystemExit: 0, at |correct the function"},
    ),
    "inference takes the rank for known": (
        [("inference.py", "return call.require_shape(0)", "return tuple(call.shape(0))")],
        {"T105": "Scale 1: the example 'plain' is refused by inference|'NoneType' object is not iterable|types alone"},
    ),
    "inference refuses what is right": (
        [("inference.py", "return call.require_shape(0)", "raise Violation('C7', 'so it is')"),
         ("inference.py", "import infer", "import Violation, infer")],
        {"T105": "Scale 1: the example 'plain' is refused by inference|C7"},
    ),
    "body computes something else": (
        [("Scale.yaml", "product = Mul (X, factor)", "product = Add (X, factor)")],
        {"T106": "Scale 2: the function body at opset 13 does not compute the example 'plain'|Scale.yaml:2"},
    ),
    "a body computes something else, of a type that no earlier opset serves": (
        [("Scale.yaml", "    emulate: {float16: float}\n    nodes", "    types: {T: [float]}\n    nodes"),
         ("Scale.yaml", "  function:\n", "  function:\n  - opset: 18\n    emulate: {float16: float}\n"
          "    nodes: |\n      factor = Constant <value_float: float = @factor> ()\n"
          "      ones = Constant <value_floats = [1.0]> ()\n"
          "      same = Resize <mode = \"linear\", antialias = 1> (X, , ones)\n"
          "      twice = Mul (same, factor)\n      bias = Constant <value_float: float = @bias> ()\n"
          "      Y = Sub (twice, bias)\n")],
        {"T106": "Scale 2: the function body at opset 18 does not compute the example 'biased'"},
    ),
    "no kernel, and the body computes something else": (
        [("kernels.py", '@kernel("Scale", domain="com.test")', ""),
         ("kernels.py", '@kernel("Scale", since=2, domain="com.test")', ""),
         ("Scale.yaml", "product = Mul (X, factor)", "product = Add (X, factor)")],
        {"T106": "Scale 2: the function body at opset 13 does not compute the example 'plain'|3.0 instead of 2.0",
         "T112": "Scale 1"},
    ),
    "derived adapter where the meaning changed": (
        [("kernels.py", "return x * x.dtype.type(factor)", "return np.floor(x * x.dtype.type(factor))"),
         ("Scale.yaml", "outputs: [{float: [2.5]}]", "outputs: [{float: [2]}]")],
        {"T107": "Scale 1: the example 'hinted' changes its values on the way 1 -> 2|Scale.yaml:10 says 'up: derived'"},
    ),
    "an ignored attribute has an effect": (
        [("kernels.py", "return x * x.dtype.type(factor)", "return x * x.dtype.type(factor + hint)"),
         ("Scale.yaml", "outputs: [{float: [2.5]}]", "outputs: [{float: [3.75]}]")],
        {"T108": "contradicts the claim 'hint: {ignored: true}'|with hint = 1|Scale.yaml:6|Scale.yaml:3|"
                 "; 1 more example contradicts it\n",
         "T107": "hinted"},
    ),
    "another value is the old behaviour": (
        [("Scale.yaml", "bias: {added: float, default: 0.0}", "bias: {added: float, default: 0.0, old: 1.0}")],
        {"T108": "contradicts the claim 'bias: {old: 1.0}'|with bias = 1.0|Scale.yaml:6", "T107": "1 -> 2"},
    ),
    "another value is the old behaviour, and some nodes are refused": (
        [("Scale.yaml", "bias: {added: float, default: 0.0}", "bias: {added: float, default: 0.0, old: 1.0}"),
         ("Scale.yaml", "hint: {removed: int, ignored: true}", "hint: {removed: int, undefined: 1}")],
        {"T108": "contradicts the claim 'bias: {old: 1.0}'|with bias = 1.0|Scale.yaml:6", "T107": "1 -> 2"},
    ),
    "emulated types are rounded elsewhere": (
        [("kernels.py", "x.astype(np.float32) * np.float32(factor) + np.float32(bias)",
          "x * x.dtype.type(factor / 0.77) * x.dtype.type(0.77) + x.dtype.type(bias)"),
         ("Scale.yaml", "outputs: [{float16: [3.25, 0.45]}]", "outputs: [{float16: [3.25, 0.45]}], tolerance: 0.01"),
         ("Scale.yaml", "    emulate: {float16: float}\n    nodes", "    types: {T: [float]}\n    nodes"),
         ("kernels.py", "bias):\n    return",
          "bias):\n    if x.size == 3 or x.size == 4 and x.dtype == 'f4':\n        raise ValueError\n    return"),
         ("Scale.yaml", "examples:\n", "examples:\n- {name: three, since: 2, inputs: [{float16: [1, 2, 3]}], "
          "outputs: [{float16: [2, 4, 6]}]}\n- {name: four, since: 2, inputs: [{float16: [1, 2, 3, 4]}], "
          "outputs: [{float16: [2, 4, 6, 8]}]}\n")],
        {"T108": "contradicts the claim 'emulate: {float16: float}'|through float, output 0: it differs by",
         "T102": "'three' cannot be computed", "T107": "'four' changes its values"},
    ),
    "an attribute has an effect for other types": (
        [("kernels.py", "(1 if scale is None else scale)", "((1 if scale is None else scale) + 1 - exact)")],
        {"T107": "the example 'plain', with exact = 0, changes its values on the way 2 -> 1",
         "T108": "contradicts the claim 'exact: {only_for: ['float16']}'|with exact = 0"},
    ),
    "negative axes mean something else": (
        [("kernels.py", "[mode](x, axis % x.ndim)", "[mode](x, max(axis, 0))")],
        {"T107": "the example 'plain', with axis = -1, changes its values on the way 2 -> 1",
         "T108": "contradicts the claim 'axis: {negative: true}'|with axis = -1 in place of 1"},
    ),
    "an attribute was not renamed": (
        [("Pick.yaml", "{small: min, large: max}", "{small: max, large: min}"), *not_by_the_newer("kind: large")],
        {"T108": "contradicts the claim 'mode: {renamed: kind}'|with mode = min", "T107": "'old' changes its values"},
    ),
    "an input does not carry the value": (
        [("kernels.py", "1 if scale is None else scale)", "1 if scale is None else scale + 1)"),
         ("Pick.yaml", "outputs: [{float16: 6}]", "outputs: [{float16: 8}]"), *not_by_the_newer("scale: 3")],
        {"T108": "contradicts the claim 'scale: {input: scale}'", "T107": "Pick"},
    ),
    "an undefined value has a meaning": (
        [("Pick.yaml", "scale: {removed: int, input: scale}", "scale: {removed: int, input: scale, undefined: 3}")],
        {"T108": "contradicts the claim 'scale: {undefined: 3}'|it shows what scale = 3 means"},
    ),
    "an undefined value of zero has a meaning": (
        [("Scale.yaml", "hint: {removed: int, ignored: true}", "hint: {removed: int, undefined: 0}"),
         ("Scale.yaml", "attributes: {hint: 1}", "attributes: {hint: 0}")],
        {"T108": "contradicts the claim 'hint: {undefined: 0}'|it shows what hint = 0 means"},
    ),
    "only wording was to change": (
        [("kernels.py", "* np.float32(factor) +", "* np.float32(factor) + np.float32(0.5) +"),
         ("Scale.yaml", "{name: plain, since: 1,", "{name: plain, since: 1, until: 1,"),
         ("Scale.yaml", "outputs: [{float16: [3.25, 0.45]}]", "outputs: [{float16: [3.75, 0.95]}]"),
         ("Scale.yaml", "Y = Add (product, bias)", "half = Constant <value_float = 0.5> ()\n"
          "      more = Add (product, half)\n      Y = Add (more, bias)")],
        {"T108": "contradicts the claim 'clarified'|version 2 computes something else|", "T107": "up: derived"},
    ),
    "hooks cannot be loaded": (
        [("kernels.py", "import numpy as np", "import numpy as np, no_such_module")],
        {"R201": "kernels.py:1"},
    ),
    "a kernel names no operator": (
        [("kernels.py", '@kernel("Pick", since=2', '@kernel("Pikc", since=2')],
        {"T111": "the kernel of com.test.Pikc 2 (@kernel) is never called|kernels.py:1|no operator Pikc|mean Pick?",
         "T102": "Pick 2", "T107": "Pick 1"},
    ),
    "a kernel names no version": (
        [("kernels.py", "def scale_2(", "def scale_3("),
         ("kernels.py", '@kernel("Scale", since=2', '@kernel("Scale", domain="com.test")\n'
          'def scale_1(x, *, factor, bias=0, hint=0):\n'
          '    return (x.astype(np.float32) * np.float32(factor) + np.float32(bias)).astype(x.dtype)\n\n'
          '@kernel("Scale", since=3'),
         ("kernels.py", "def scale_1(x, *, factor, hint):", "def unused(x, *, factor, hint):"),
         ("kernels.py", '@kernel("Scale", domain="com.test")\ndef unused', "def unused")],
        {"T111": "the kernel of com.test.Scale 3 (@kernel) is never called|kernels.py:1|its versions are 1, 2"},
    ),
    "an inference function names no operator": (
        [("inference.py", '@infer("Scale", domain', '@infer("Scael", domain')],
        {"T111": "the inference function of com.test.Scael (@infer) is never called|inference.py:3"},
    ),
    "an inference function has a bug": (
        [("inference.py", 'axis = call.attribute("axis") % len(shape)', 'axis = turned(call, len(shape))'),
         ("inference.py", '@infer("Pick"', "def turned(call, rank):\n"
          "    return call.attribute('axis') % (rank - rank)\n\n"
          '@infer("Pick"')],
        {"T105": "bug in the inference function of Pick 1: ZeroDivisionError|inference.py:8"},
    ),
    "an inference function raises what no rule does": (
        [("inference.py", 'axis = call.attribute("axis") % len(shape)', 'raise RuntimeError("not yet")')],
        {"T105": "bug in the inference function of Pick 1: RuntimeError: not yet, at|inference.py:10"},
    ),
    "a kernel takes other arguments": (
        [("kernels.py", "def pick_1(x, *,", "def pick_1(x, y, *,")],
        {"T102": "TypeError|missing 1 required positional argument|, at|kernels.py:12"},
    ),
    "no kernel and no body": (
        [("kernels.py", '@kernel("Pick", domain="com.test")', ""),
         ("kernels.py", '@kernel("Pick", since=2, domain="com.test")', "")],
        {"T112": "Pick 1: nothing computes its examples|Pick.yaml:25|there is no kernel"},
    ),
}  # fmt: skip


EXAMINED = Path(__file__).with_name("examined.txt")
OF_PYTHON = ("R201", "T102", "T105")
"""Codes of findings whose reasons may be words of Python, of one of its versions."""


def section(folder, failure, report):
    """A report as examined.txt has it."""
    lines = [failure]
    for each in report.findings:
        lines.append(f"  {each.code} {each.place}: {each.message}")
        lines += [f"    why: {each.why}"] if each.code not in OF_PYTHON else []
        lines += [f"    help: {each.help}"] if each.help else []
    for name in ("passed", "failed"):
        lines.append(f"  {name}: {', '.join(f'{part} {count}' for part, count in getattr(report, name).items())}")
    lines += [f"  {count} {part} not run: {why}" for (part, why), count in report.skipped.items()]
    parts = (report.notes, report.gaps, sorted(report.unseen), report.refused)
    lines += [f"  {each}" for part in parts for each in part]
    return "\n".join(lines).replace(f"{folder}/com.test/", "")


@pytest.mark.parametrize("failure", FAILURES)
def test_a_change_is_found(tmp_path, failure):
    changes, wanted = FAILURES[failure]
    report = report_on(domain(tmp_path, *changes))
    assert section(tmp_path, failure, report) in EXAMINED.read_text().rstrip("\n").split("\n\n")
    said = {}
    for finding in report.findings:
        said.setdefault(finding.code, []).append(str(finding))
    assert said.keys() == wanted.keys(), said
    for code, words in wanted.items():
        assert any(all(word in text for word in words.split("|")) for text in said[code]), said[code]
    assert sum(report.failed.values()) >= len(report.findings)


CONTRADICTED = [name for name, (_, wanted) in FAILURES.items() if "T108" in wanted]


@pytest.mark.parametrize("failure", CONTRADICTED)
def test_a_claim_is_examined_on_examples_in_any_order(tmp_path, failure):
    changes, _ = FAILURES[failure]
    folder = domain(tmp_path, *changes)
    paths = [folder / "com.test" / f"{name}.yaml" for name in ("Scale", "Pick")]
    before = {str(each).partition("; ")[0] for each in _claims(folder)}
    wanted = {re.search(r"contradicts the claim ('.*')$", each, re.MULTILINE)[1] for each in before}
    texts = {path: path.read_text().partition("examples:\n") for path in paths}
    for first in (False, True):
        for path, (head, title, rest) in texts.items():
            examples = ["- " + each for each in re.split(r"^- ", rest, flags=re.MULTILINE)[1:]]
            more = [INERT[path.stem], *examples] if first else examples[::-1]
            path.write_text("".join([head, title, *more]))
        claims = {each.message.rpartition(" contradicts the claim ")[2] for each in _claims(folder)}
        assert wanted and (wanted <= claims if first else wanted == claims)  # more examples may contradict more


# Examples to which most claims do not apply: such a one is no reason to leave out those that follow.
INERT = {
    "Scale": """\
- {name: both, since: 1, inputs: [{float: [8]}], outputs: [{float: [16]}]}
- {name: half, since: 2, inputs: [{float16: [8]}], outputs: [{float16: [16]}]}
- {name: special, since: 1, until: 1, attributes: {hint: 1}, inputs: [{float: [0]}], outputs: [{float: [0]}]}
""",
    "Pick": """\
- {name: alike, since: 1, inputs: [{float: [[5, 5], [5, 5]]}], outputs: [{float: [5, 5]}]}
- {name: large, since: 1, until: 1, attributes: {kind: large}, inputs: [{float: [1, 2]}], outputs: [{float: 2}]}
- {name: doubled, since: 1, until: 1, attributes: {scale: 2}, inputs: [{float: [1, 2]}], outputs: [{float: 2}]}
- {name: half, since: 2, inputs: [{float16: [1, 2]}], outputs: [{float16: 1}]}
- {name: other, since: 2, attributes: {axis: -1}, inputs: [{float: [1, 2]}, {int64: 2}], outputs: [{float: 2}]}
""",
}


def _claims(folder):
    return [each for each in report_on(folder, parts=["claims"]).findings if each.code == "T108"]


def test_what_was_not_run_is_no_success(tmp_path):
    folder = domain(tmp_path)
    (folder / "com.test" / "kernels.py").unlink()
    (folder / "com.test" / "inference.py").unlink()
    report = report_on(folder)
    assert {each.code for each in report.findings} == {"T112"}
    versions = [f"com.test.{each}: nothing computes its examples" for each in ("Pick 1", "Pick 2", "Scale 1")]
    assert sorted({each.message for each in report.findings}) == versions
    assert report.failed["kernel"] == 12
    assert {part for part in PARTS if report.passed[part]} == {"function"}  # bodies are compared with the examples
    assert report.skipped["kernel", "there is no kernel"] == 3
    assert report.skipped["inference", "there is no rule for its outputs"] == 15
    assert report.skipped["conversion", "there is no kernel"] == 9
    assert report.skipped["claims", "there is no kernel"] == 13


def test_a_claim_that_no_example_shows_is_noted(tmp_path):
    changes = [("Pick.yaml", line, "") for line in PICK.splitlines(True) if "{name: old," in line]
    report = report_on(domain(tmp_path, *changes), parts=["claims"])
    assert report.findings == []
    assert any("Pick.yaml:11: com.test.Pick 2: no example has ['large'] for 'mode" in each for each in report.notes)


ADAPTERS = """\
from opset.extend import Refusal, down, up

def half(value):
    return 1 // value

@up("Scale", since=2, domain="com.test")
def scale_2_up(op, node):
    return op.copy(node, hint=None)

@down("Scale", since=2, domain="com.test")
def scale_2_down(op, node):
    if node.attr("bias") or node.element(0) == "float16":
        raise Refusal("C204", "there was no bias", "leave it out")
    return op.copy(node, bias=None)
"""
ADAPTER_FAILURES = {
    "": (),
    "an adapter fails on the example 'plain' on the way 1 -> 2|ZeroDivisionError|, at|adapters.py:4": (
        "hint=None)",
        "hint=half(0))",
    ),
    "on the way 1 -> 2|SystemExit: 3, at|adapters.py:8": ("hint=None)", "hint=exit(3))"),
    "|an adapter fails on the example 'biased' on the way 2 -> 1|X204 is no error code": ('"C204"', '"X204"'),
    "on the way 1 -> 2|names no outputs": ("return op.copy(node, hint=None)", "return 3"),
    "on the way 1 -> 2|which nothing computes": ("return op.copy(node, hint=None)", "return 'nothing'"),
    "op.Mlu: com.test and ai.onnx have no operator of this name": (
        "op.copy(node, hint=None)",
        "op.Mlu(op.copy(node, hint=None, outputs=[op.fresh('y')]), op.const(1.0))",
    ),
    "no adapter up is written, and 'up: written' is declared": ('@up("Scale", since=2, domain="com.test")', ""),
    "the adapter of com.test.Scale 1 (@up) is never called|adapters.py:6": (
        '@up("Scale", since=2',
        '@up("Scale", since=1, domain="com.test")\n@up("Scale", since=2',
    ),
}


@pytest.mark.parametrize("words", ADAPTER_FAILURES)
def test_an_adapter_that_fails_is_no_refusal(tmp_path, words):
    folder = domain(tmp_path, ("Scale.yaml", "{up: derived, down: derived}", "{up: written, down: written}"))
    text = ADAPTERS.replace(*ADAPTER_FAILURES[words]) if words else ADAPTERS
    (folder / "com.test" / "adapters.py").write_text(text)
    report = report_on(folder)
    assert {each.code for each in report.findings} == ({"T111"} if "never" in words else {"T110"} if words else set())
    assert all(any(word in str(each) for each in report.findings) for word in words.split("|") if word)
    assert report.skipped["conversion", "refused (C204)"] == ("X204" not in words)


VARIED = {
    "": ("", ""),
    "Scale 1: the example 'plain', with hint = 7, changes its values on the way 1 -> 2|up: written": (
        "return op.copy(node, hint=None)",
        "return op.copy(node, hint=None, bias=float(node.attr('hint') == 7))",
    ),
    "Scale 2: the example 'biased', of float, changes its values on the way 2 -> 1|down: written": (
        'node.attr("bias") or node.element(0) == "float16"',
        'node.element(0) == "float16"',
    ),
    "Scale 2: an adapter fails on the example 'plain' on the way 2 -> 1|ZeroDivisionError": (
        "return op.copy(node, bias=None)",
        "return op.copy(node, bias=None) if node.attr('factor') else half(0)",
    ),
}


@pytest.mark.parametrize("words", VARIED)
def test_an_adapter_is_tried_with_types_and_values_that_no_example_has(tmp_path, words):
    folder = domain(tmp_path, ("Scale.yaml", "{up: derived, down: derived}", "{up: written, down: written}"))
    (folder / "com.test" / "adapters.py").write_text(ADAPTERS.replace(*VARIED[words]))
    report = report_on(folder)
    assert bool(report.findings) == bool(words)
    assert all(any(word in str(each) for each in report.findings) for word in words.split("|") if word)


def test_an_adapter_that_is_not_written_is_found_where_it_is_declared(tmp_path):
    block = "adapters:\n      up: written\n      down: written"
    folder = domain(tmp_path, ("Scale.yaml", "adapters: {up: derived, down: derived}", block))
    lines = (folder / "com.test" / "Scale.yaml").read_text().splitlines()
    findings = report_on(folder, parts=["claims"]).findings
    found = [(each.code, each.message, each.place) for each in findings]
    assert {each.help for each in findings} == {
        "write it: opset explain adapters; or declare it derived, or impossible"
    }
    said = "com.test.Scale 2: no adapter {0} is written, and '{0}: written' is declared"
    assert found == [
        ("T110", said.format(way), f"{folder}/com.test/Scale.yaml:{lines.index(f'      {way}: written') + 1}")
        for way in ("up", "down")
    ]


def test_operators_of_the_standard_and_constants_need_no_parameter(tmp_path):
    folder = domain(tmp_path, ("Scale.yaml", "{up: derived, down: derived}", "{up: written, down: written}"))
    text = ADAPTERS.replace(
        "op.copy(node, hint=None)",
        "op.Mul(op.copy(node, hint=None, factor=node.attr('factor') / 2, outputs=[op.fresh('half')]), op.const(2.0))",
    )
    (folder / "com.test" / "adapters.py").write_text(text)
    report = report_on(folder)
    assert report.findings == []
    assert report.passed["conversion"] == 9


def run(*arguments):
    return CliRunner().invoke(cli, ["test", *map(str, arguments)], catch_exceptions=False)


def test_the_verb_reports_counts_and_findings(tmp_path):
    folder = domain(tmp_path, ("kernels.py", "return x * x.dtype.type(factor)", "return x + x.dtype.type(factor)"))
    found = run(folder)
    assert found.exit_code == 1
    assert "error[T101] com.test.Scale 1: the example 'plain' is not what the kernel computes" in found.output
    assert "kernel          13       2        0\n" in found.output
    chosen = ("com.test.Scale@1", "--schemas", folder, "--only", "kernel", "-j", "2")
    data = json.loads(run(*chosen, "--format", "json").stdout)
    assert data["parts"] == [{"part": "kernel", "passed": 1, "failed": 2, "not_run": {}}]
    assert [each["code"] for each in data["findings"]] == ["T101", "T101"]
    assert run(folder / "com.test" / "Pick.yaml").exit_code == 0
    some = run("com.test.Scale", "--schemas", folder, "-k", "scalar", "--format", "json")
    assert some.exit_code == 0 and json.loads(some.stdout)["parts"][0]["passed"] == 2
    assert run("com.test.Scale", "--schemas", folder, "-k", "nothing").exit_code == 2


def test_there_are_no_more_processes_than_examples_and_each_may_take_longer_than_its_limit(tmp_path, monkeypatch):
    asked = []

    def in_processes(work, chosen, count, lost, seconds):
        asked.append((len(chosen), count, seconds > 7))
        return run_in_processes(work, chosen, 1, lost, seconds)

    monkeypatch.setattr("opset.cli.test.run_in_processes", in_processes)
    folder = domain(tmp_path)
    for options in (["-k", "scalar", "-j", "9"], ["-j", "2"]):
        run("com.test.Scale@1", "--schemas", folder, "--timeout", "7", *options)
    assert asked == [(1, 1, True), (5, 2, True)]


def test_code_of_a_folder_that_a_search_led_to_is_not_run(tmp_path):
    mark = tmp_path / "mark"
    (tmp_path / "deep").mkdir()
    domain(tmp_path / "deep", ("kernels.py", "import numpy", f"open({str(mark)!r}, 'w')\nimport numpy"))
    found = run(tmp_path, "--only", "kernel", "-k", "scalar")
    assert not mark.exists() and "error" not in found.output
    assert "was not run, since nobody trusts its folder" in found.output


def test_without_trust_nothing_is_run(tmp_path):
    mark = tmp_path / "mark"
    domain(
        tmp_path / "s" if (tmp_path / "s").mkdir() is None else tmp_path,
        ("kernels.py", "import numpy", f"open({str(mark)!r}, 'w')\nimport numpy"),
    )
    found = run(tmp_path / "s", "--no-hooks", "--only", "kernel")
    assert not mark.exists() and found.exit_code == 1
    assert "kernel       0       0       15\n" in found.output
    assert found.output.endswith("was not run, since nobody trusts its folder (15)\nnothing was tested\n")


@pytest.mark.parametrize("end", ["while hint: pass", "if hint: import os; os._exit(7)"])
def test_an_example_that_does_not_end_is_ended(tmp_path, end):
    folder = domain(tmp_path, ("kernels.py", "    return x * x", f"    {end}\n    return x * x"))
    found = run(folder, "--only", "kernel", "--timeout", "0.3")
    assert found.exit_code == 1
    assert "error[T109] com.test.Scale: the test of the example 'hinted' did not finish" in found.output
    assert "kernel      14       1        0\n" in found.output


@pytest.mark.parametrize("late", [True, False])
@pytest.mark.parametrize(
    ("subject", "part", "message", "place"),
    [
        (Subject("com.test", "Scale", (2,), ""), "claims", "com.test.Scale: the test of the claims of version 2", ":6"),
        (
            Subject("com.test", "Scale", (2,), "plain"),
            "kernel",
            "com.test.Scale: the test of the example 'plain'",
            ":36",
        ),
        (Subject("com.test", "", (), ""), "kernel", "running the files with the functions of com.test", ""),
    ],
)
def test_what_did_not_finish_is_named_with_its_place(tmp_path, subject, part, message, place, late):
    folder = domain(tmp_path)
    report = _lost_report(registry_with([folder]), 3, subject, late)
    (finding,) = report.findings
    assert finding.message == f"{message} did not finish" and report.failed == {part: 1}
    assert finding.place == (f"{folder / 'com.test/Scale.yaml'}{place}" if place else "com.test")
    assert (finding.why == "it did not end within 3 seconds") == ("--timeout" in finding.help) == late


def test_debug_prints_the_traceback(tmp_path):
    folder = domain(tmp_path, ("inference.py", "axis = call", "axis = 1 // 0 + call"))
    command = [sys.executable, "-m", "opset", "test", folder, "--only", "inference", "-k", "rows"]
    for more, shown in (([], False), (["--debug"], True)):
        found = subprocess.run([*command, *more], capture_output=True, text=True, check=False)
        assert found.returncode == 1
        assert "bug in the inference function of Pick 1: ZeroDivisionError" in found.stdout
        assert ("Traceback (most recent call last):" in found.stderr) == shown
        assert ("axis = 1 // 0" in found.stderr) == shown


VERBS = {
    "testgen": ["testgen", "com.test.Scale", "com.test.Pick", "-o", "cases"],
    "check-contribution": ["check-contribution", "com.test.Scale", "com.test.Pick"],
    "breaking": ["breaking", "released"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_all_examples_have_one_budget(tmp_path, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    for name in ("released", "schemas"):
        Path(name).mkdir()
        domain(Path(name))
    Path("schemas/com.test/kernels.py").write_text(f"{KERNELS}\n")
    arguments = [*VERBS[verb], "--schemas", "schemas"]
    assert CliRunner().invoke(cli, arguments).exit_code in (0, 1)
    # Each example takes a few steps, so that the limit is reached by all of them together.
    found = CliRunner().invoke(cli, [*arguments, "--max-steps", "15"])
    assert found.exit_code == 1 and not found.stdout
    assert "error[R301] the evaluation was stopped" in found.stderr and "more than 15 steps" in found.stderr
    assert "R301" not in CliRunner().invoke(cli, [*arguments, "--max-steps", "100000"]).output


@pytest.mark.parametrize("verb", VERBS)
def test_a_kernel_that_does_not_end_is_ended(tmp_path, verb):
    for name in ("released", "schemas"):
        (tmp_path / name).mkdir()
        domain(tmp_path / name)
    text = KERNELS.replace("    return x * x", "    while True: pass\n    return x * x")
    (tmp_path / "schemas/com.test/kernels.py").write_text(text)
    command = [sys.executable, "-m", "opset", *VERBS[verb], "--schemas", "schemas", "--timeout", "1"]
    found = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=300)
    assert found.returncode == 1 and not found.stdout
    assert "error[R303] the evaluation was stopped" in found.stderr
    assert not (tmp_path / "cases").exists()


# What the parts rest on.

N = variable("N")


@pytest.mark.parametrize(
    ("type_", "value", "sizes", "why", "bound"),
    [
        (None, np.zeros(1, "f4"), {}, "", {}),
        (tensor("float", [2, N]), np.zeros((2, 3), "f4"), {}, "", {"N": 3}),
        (tensor("float", [2, N]), np.zeros((2, 3), "f4"), {"N": 4}, " with {'N': 4}, and the value's shape is [2, 3]",
         {"N": 4}),
        (tensor("float", [N + 1]), np.zeros(3, "f4"), {"N": 2}, "", {"N": 2}),
        (tensor("float", [N + 1]), np.zeros(3, "f4"), {"N": 3}, " with {'N': 3}, and the value's shape is [3]",
         {"N": 3}),
        (tensor("float", [N + 1]), np.zeros(3, "f4"), {}, "", {}),
        (tensor("float", [2]), np.zeros(3, "f4"), {}, ", and the value's shape is [3]", {}),
        (tensor("float", [None]), np.zeros(3, "f4"), {}, "", {}),
        (tensor("float", [3, 1]), np.zeros(3, "f4"), {}, ", and the value's shape is [3]", {}),
        (tensor("float"), np.zeros(3, "f4"), {}, "", {}),
        (tensor(None, [3]), np.zeros(3, "f4"), {}, "", {}),
        (tensor("int64", [3]), np.zeros(3, "f4"), {}, ", and the value is of float", {}),
        (tensor("float"), None, {}, ", and the value is left out", {}),
        (tensor("float"), [np.zeros(3, "f4")], {}, ", and the value is a seq", {}),
        (tensor("float"), {1: 2.0}, {}, ", and the value is a map", {}),
        (optional(tensor("float", [3])), None, {}, "", {}),
        (optional(tensor("float", [2])), np.zeros(3, "f4"), {}, "float[2], and the value's shape is [3]", {}),
        (sequence(tensor("float", [N])), [np.zeros(3, "f4"), np.zeros(2, "f4")], {}, "", {}),
        (sequence(tensor("float", [2])), [np.zeros(2, "f4"), np.zeros(3, "f4")], {},
         "float[2], and the value's shape is [3]", {}),
        (sequence(tensor("float")), np.zeros(3, "f4"), {}, ", and the value is a tensor", {}),
    ],
)  # fmt: skip
def test_how_a_type_is_not_that_of_a_value(type_, value, sizes, why, bound):
    sizes = dict(sizes)
    found = disagreement(type_, structure_of(value), sizes, bind=True)
    assert found == (f"{type_}{why}" if why.startswith((",", " ")) else why)
    assert sizes == bound
    free = {}
    disagreement(type_, structure_of(value), free, bind=False)
    assert free == {}


@pytest.mark.parametrize(
    ("operator", "version", "attribute", "value", "others"),
    [
        ("Resize", 13, "mode", "nearest", ["linear", "cubic"]),
        ("Resize", 13, "nearest_mode", "floor", ["round_prefer_floor", "round_prefer_ceil", "ceil"]),
        ("Resize", 13, "exclude_outside", 0, [1]),
        ("Resize", 13, "cubic_coeff_a", 0.5, [0.0, 1.0, 2.0]),
        ("Resize", 13, "cubic_coeff_a", 2.0, [0.0, 1.0, 0.5]),
        ("LSTM", 14, "hidden_size", 1, [0, 2, -1]),
        ("LSTM", 14, "layout", 1, [0]),
        ("LSTM", 14, "activations", ["Tanh", "Elu"], [["Relu"] * 2, ["Tanh"] * 2, ["Sigmoid"] * 2]),
        ("LSTM", 14, "activations", None, [["Relu"], ["Tanh"], ["Sigmoid"]]),
        ("LSTM", 14, "activation_alpha", None, []),
        ("Conv", 11, "pads", [1, 2], [[2, 3], [2, 1], [0, 0]]),
        ("Conv", 11, "dilations", [1, 2], [[2, 3], [2, 1]]),
        ("Conv", 11, "pads", None, [[0], [1]]),
        ("Cast", 13, "to", 1, []),
    ],
)
def test_other_values_of_an_attribute_are_legal_ones(operator, version, attribute, value, others):
    schema = default_registry().schema(operator, version)
    assert other_values(schema, schema.attributes[attribute], value) == others


def test_examples_go_to_the_neighbors_and_from_the_ends_all_the_way():
    runner = ExampleRunner(default_registry())
    numbers = [each.since_version for each in default_registry().versions("Pad")]
    first, last = numbers[0], numbers[-1]

    def targets(since, until, at):
        return targets_of(runner, default_registry().schema("Pad", at), Example("it", since, until))

    assert targets(numbers[1], numbers[-2], numbers[3]) == [numbers[2], numbers[4]]
    assert targets(numbers[1], numbers[-2], numbers[1])[-2:] == [numbers[2], last]
    assert first in targets(numbers[1], numbers[-2], numbers[-2])
    assert targets(numbers[1], numbers[-2], numbers[-2])[-2:] == [numbers[-3], last]
    assert targets(first, first, first)[-2:] == [numbers[1], last]
    assert first not in targets(first, first, first) and last not in targets(last, last, last)


def test_bodies_are_tried_where_each_begins_and_ends():
    registry = default_registry()
    for name, version in (("Gelu", 20), ("Clip", 13), ("Softmax", 13), ("Selu", 22)):
        schema = registry.schema(name, version)
        opsets = sorted({body.opset for body in schema.function})
        newer = [each.since_version for each in registry.versions(name) if each.since_version > version]
        last = newer[0] - 1 if newer else RELEASES[-1].opset
        ends = {version - 1, last, *(each - 1 for each in opsets[1:])}
        assert body_opsets(registry, schema) == sorted({*opsets, *(each for each in ends if each >= opsets[0])}), name


def test_types_that_claims_tell_apart():
    numbers = ["float", "int64", "uint8", "bfloat16", "float8e4m3fn", "double"]
    others = ["tensor(string)", "tensor(bool)", "tensor(complex64)", "seq(tensor(float))"]
    assert [_is_number(f"tensor({each})") for each in numbers] == [True] * 6
    assert [_is_number(each) for each in others] == [False] * 4
    assert [_is_float(f"tensor({each})") for each in numbers] == [True, False, False, True, True, True]


def test_examples_are_taken_in_another_type_where_they_hold_its_values():
    schema, cast = (default_registry().schema(*each) for each in (("Add", 14), ("Cast", 13)))
    narrow = {"int2": 1, "uint2": 3, "int4": 7, "uint4": 15}
    types = {"T": (*schema.types["T"], *(f"tensor({each})" for each in narrow))}
    claims = SimpleNamespace(newer=replace(schema, attributes=cast.attributes, types=types))
    claims._retype = lambda example, type_: ClaimTests._retype(claims, example, type_)

    def taken(element, *inputs, **attributes):
        values = tuple(ExampleValue(f"tensor({each})", content, (1,)) for each, content in inputs)
        example = Example("it", 1, attributes=attributes, inputs=values, outputs=values[:1])
        claims.examples = lambda schema: [(example, [])]
        return [[each.type for each in one.inputs] for one in ClaimTests.examples_of_type(claims, element)]

    assert taken("int8", ("int32", [7]), ("int32", [1])) == [["tensor(int8)"] * 2]
    assert taken("int8", ("int32", [300]), ("int32", [1])) == []
    for element, most in narrow.items():
        assert taken(element, ("int32", [most])) == [[f"tensor({element})"]]
        assert taken(element, ("int32", [most + 1])) == taken(element, ("int32", [-9])) == []
    assert taken("int8", ("int8", [7]), ("int32", [1])) == [["tensor(int8)", "tensor(int32)"]]
    assert taken("float16", ("int32", [7]), ("int32", [1])) == []
    assert taken("float16", ("float", [7.0]), ("double", [1.0])) == [["tensor(float16)"] * 2]
    assert taken("int8", ("int32", [7]), ("int32", [1]), to=1) == []
    assert taken("string", ("int32", [7]), ("int32", [1])) == taken("int8", ("bool", [1]), ("bool", [1])) == []
    claims.newer = replace(default_registry().schema("Pow", 15), attributes={})
    assert taken("uint8", ("int32", [7]), ("int32", [1])) == [["tensor(int32)", "tensor(uint8)"]]
    claims.newer = replace(default_registry().schema("Max", 13), attributes={})
    assert taken("int8", ("int32", [7]), ("int32", [1]), ("bool", [1])) == [["tensor(int8)"] * 2 + ["tensor(bool)"]]
    claims.newer = replace(schema, types=types)
    example = Example("it", 1, inputs=(None, ExampleValue("tensor(float)", [1.0], (1,))), outputs=(None,))
    claims.examples = lambda schema: [(example, [])]
    for element in ("float", "double"):
        (one,) = ClaimTests.examples_of_type(claims, element)
        assert [each and each.type for each in one.inputs] == [None, f"tensor({element})"]
    made = ClaimTests._retype(claims, example, "tensor(double)")
    assert [each and each.type for each in made.inputs] == [None, "tensor(double)"] and made.outputs == (None,)
    assert ClaimTests._retype(claims, example._replace(outputs=None), "tensor(double)").outputs == ()
    example = example._replace(outputs=example.inputs[1:])
    assert ClaimTests._retype(claims, example, "tensor(double)").outputs == (
        ExampleValue("tensor(double)", None, (1,)),
    )


def test_an_example_means_the_same_at_both_versions_where_defaults_are_the_same_or_not_used():
    def versions(older, newer):
        made = ({name: Attribute(name, "int", default) for name, default in each.items()} for each in (older, newer))
        one, other = (SimpleNamespace(attributes=each) for each in made)
        return SimpleNamespace(older=one, newer=other)

    def same(older, newer, **attributes):
        return ClaimTests.has_same_defaults(versions(older, newer), Example("it", 1, attributes=attributes))

    assert same({"a": 1}, {"a": 1}) and same({}, {"a": 1}) and same({"a": 1}, {})
    assert not same({"a": 1}, {"a": 2}) and same({"a": 1}, {"a": 2}, a=3) and not same({"a": 1}, {"a": 2}, b=3)
    assert not same({"a": 1, "b": 1}, {"a": 1, "b": 2}, a=1)


def test_an_attribute_for_some_types_is_for_examples_with_an_input_or_a_result_of_them():
    claims = SimpleNamespace(newer=None, check_effect=lambda schema, name, concerned: concerned)
    (concerned,) = check_only_for(Claim(claims, "only_for", (), "", "exact", ("float16", "int64")))
    (example,) = (each for each in default_registry().examples("Clip") if each.name == "only_max")
    inputs = [each and each._replace(type="tensor(float16)") for each in example.inputs]
    values = [np.zeros(1, np.float32)]
    assert [concerned(example, values), concerned(example, [np.zeros(1, np.int64)])] == [True, False]
    assert [concerned(example._replace(inputs=each), values) for each in (inputs, inputs[:2])] == [False, False]


@pytest.mark.parametrize(
    ("by_value", "shown", "against", "is_open"),
    [
        ({1: 1, 0: 5, 2: 6, -1: 7}, True, "", False),
        ({1: 1, 0: 5, 2: 1, -1: None}, True, "", False),  # one other value that differs is enough
        ({1: 1, 0: 1, 2: 1, -1: 1}, True, "", True),
        ({1: 1, 0: None, 2: None, -1: None}, True, "", True),
        ({1: None, 0: 1, 2: 1, -1: 1}, False, "", False),
        ({1: 5, 0: 1, 2: 6, -1: 7}, True, "with a = 1, output 0: 5 instead of 1", False),
        ({1: 5, 0: 6, 2: 6, -1: 7}, True, "", False),  # no value gives what the example has
    ],
)
@pytest.mark.parametrize("only_for", [(), ("float16",)])
def test_a_value_that_is_the_old_behaviour_is_told_from_others(by_value, shown, against, is_open, only_for):
    example = Example("it", 1, outputs=(ExampleValue("tensor(int64)", [1], (1,)),))
    tests = SimpleNamespace(
        older=SimpleNamespace(attributes={}),
        newer=replace(default_registry().schema("Relu", 14), attributes={"a": Attribute("a", "int", 0)}),
        change=SimpleNamespace(attributes={"a": SimpleNamespace(only_for=only_for)}),
        examples=lambda schema: [(example, [np.array([1])])],
        convert_example=lambda example: "converted",
        run_model=lambda model, example: None,
        run_with_attribute=lambda model, example, name, value: (
            None if by_value.get(value) is None else [np.array([by_value[value]])]
        ),
    )
    tests.contradiction = lambda *arguments: ClaimTests.contradiction(tests, *arguments)
    (found,) = check_old(Claim(tests, "old", (), "", "a", 1))
    assert (found.shown, found.open) == (
        shown, "the examples give the same with other values than" if is_open and not only_for else ""
    )  # fmt: skip
    assert [why for _, why in found.against] == ([against] if against else [])


@pytest.mark.parametrize(
    ("older", "stated", "is_converted", "shown"),
    [
        ((), {}, True, True),
        (("a",), {}, True, True),
        (("a",), {"a": 3}, True, False),  # the older version has it, and says what it does
        (("a",), {"b": 3}, True, True),
        (("b",), {"b": 3}, True, True),
        ((), {}, False, False),
    ],
)
def test_a_value_that_is_the_old_behaviour_is_tried_where_the_older_version_states_none(
    older, stated, is_converted, shown
):
    example = Example("it", 1, attributes=stated, outputs=(ExampleValue("tensor(int64)", [1], (1,)),))
    tests = SimpleNamespace(
        older=SimpleNamespace(attributes=dict.fromkeys(older)),
        newer=replace(default_registry().schema("Relu", 14), attributes={"a": Attribute("a", "int", 0)}),
        change=SimpleNamespace(attributes={"a": SimpleNamespace(only_for=())}),
        examples=lambda schema: [(example, [np.array([1])])],
        convert_example=lambda example: "converted" if is_converted else None,
        run_with_attribute=lambda model, example, name, value: [np.array([value])],
        contradiction=lambda *arguments: "",
    )
    (found,) = check_old(Claim(tests, "old", (), "", "a", 1))
    assert (found.shown, found.against) == (shown, [])


def test_outputs_that_differ_from_those_of_an_example():
    floats = ExampleValue("tensor(float)", [1.0, 2.0], (2,))
    example = Example("plain", 1, outputs=(floats, None, floats._replace(content=None)))
    right, wrong = np.array([1, 2], np.float32), np.array([1, 3], np.float32)
    assert disagreements(example, [right, wrong]) == []
    assert disagreements(example, [right]) == ["1 output is computed, and the example has 2"]
    assert disagreements(Example("none", 1), []) == []
    first, last = disagreements(example, [wrong, np.zeros(3, np.float32)])
    assert first.startswith("output 0: ") and last == (
        "output 2: it is tensor(float)[3], and tensor(float)[2] is expected"
    )
    listed = Example("listed", 1, outputs=(ExampleValue("seq(tensor(float))", [floats] * 3),))
    assert disagreements(listed, [[right] * 3]) == []
    assert disagreements(listed, [[wrong, right, wrong]]) == [
        "output 0: [0] 1 of 2 elements differ; the first at [1]: 3.0 instead of 2.0; "
        "[2] 1 of 2 elements differ; the first at [1]: 3.0 instead of 2.0"
    ]


def test_a_limit_that_an_example_exceeds():
    schema = default_registry().versions("Relu")[-1]
    error = RunError([Finding("R301", "too much", why="more than 3")])
    assert limit_finding(schema, Example("plain", 1), "Relu.yaml:3", error) == Finding(
        "T109", "Relu 14: the example 'plain' exceeded a limit", "Relu.yaml:3", "too much: more than 3",
        "allow more: --max-steps, --timeout",
    )  # fmt: skip


def test_under_which_versions_functions_are_called():
    versions = default_registry().versions("Softmax")  # 1, 11 and 13
    assert _versions_in_use("lower", versions, [1]) == {1}
    assert _versions_in_use("kernel", versions, [1, 12]) == {1, 12} and _versions_in_use("kernel", versions, [11]) == {
        11
    }
    assert _versions_in_use("kernel", versions, [14]) == set()
    ruled = [replace(versions[0], shape=""), replace(versions[1], shape="X"), replace(versions[2], shape="")]
    assert _versions_in_use("infer", ruled, [1, 11, 13]) == {1, 13} and _versions_in_use("kernel", ruled, [11]) == {11}
    assert _versions_in_use("up", versions, []) == {
        each.since_version for each in versions if each.change and each.change.up == "written"
    }
    runner = SimpleNamespace(
        registry=default_registry(), place_of_key=lambda schema, *keys: f"{schema.since_version} {' '.join(keys)}"
    )
    down, up = (versions[-1].change.down, versions[-1].change.up)
    assert adapter_declarations(runner, versions[0], 13, 0) == ""
    assert adapter_declarations(runner, versions[0], 13, 11) == f"13 change adapters down says 'down: {down}'"
    assert adapter_declarations(runner, versions[0], 11, 13) == f"13 change adapters up says 'up: {up}'"
    assert adapter_declarations(runner, versions[0], 1, 13).count("; ") == 1


@pytest.mark.parametrize(
    ("refused", "code", "found"),
    [
        ("", PACKAGE_MISSING, "skipped"),
        ("", "R301", "T109 the example 'plain' exceeded a limit"),
        ("C1", "R302", "T109 the example 'plain' exceeded a limit"),
        ("", "R204", "T102 the example 'plain' cannot be computed"),
        ("", "R203", "T102 the example 'plain' cannot be computed"),  # a constraint without a label, too, is no success
        ("C1", "R203", "passed"),
        ("C2", "R203", "T103 the example 'plain' should break C2"),
        ("C1", "R204", "T103 the example 'plain' should break C1"),
        ("C1", None, "T103 the example 'plain' should break C1"),
        ("", None, "T101 the example 'plain' is not what the kernel computes"),
    ],
)
def test_what_a_kernel_does_with_an_example(refused, code, found):
    def outputs(schema, example):
        if code is None:
            return [np.zeros(1)]
        raise RunError([Finding(code, "no", why=f"{refused and 'C1'}: it is so", help="mend it")])

    runner = SimpleNamespace(why_no_kernel=lambda schema: "", place_of=lambda *subject: "Relu.yaml:3", outputs=outputs)
    report = Examination()
    check_kernel(runner, default_registry().versions("Relu")[-1], Example("plain", 1, error=refused), report)
    findings = [f"{each.code} {each.message.removeprefix('Relu 14: ')}" for each in report.findings]
    assert findings == [found] * found.startswith("T") and all(each.place == "Relu.yaml:3" for each in report.findings)
    assert (report.passed["kernel"], report.failed["kernel"]) == (found == "passed", found.startswith("T"))
    assert len(report.skipped) == (found == "skipped")


def test_how_long_the_list_of_an_attribute_is():
    x = onnx.helper.make_tensor_value_info("x", 1, ["N", 2, 3, 4])
    node = onnx.helper.make_node
    graph = onnx.helper.make_graph([node("Pool", ["x"], ["y"], ones=[1, 2, 3], factors=[0.5])], "g", [x, x], [])
    model = onnx.helper.make_model(graph)
    nodes = [node("Pool", ["x"], ["x"]), *graph.node, node("Pool", ["x"], ["x"], ones=[1])]
    lengths = [_list_length(model, nodes, name) for name in ("ones", "factors", "others")]
    assert lengths == [3, 1, 2]
    graph.input[0].CopyFrom(onnx.helper.make_tensor_value_info("x", 1, ["N"]))
    model.graph.CopyFrom(graph)
    assert _list_length(model, nodes, "others") == 0
    del model.graph.input[:]
    assert _list_length(model, nodes, "others") == 0


def test_a_negative_axis_is_tested_with_each_example_that_has_one():
    def example(name, axis, *shape):
        inputs = (None, ExampleValue("tensor(float)", [0.0], shape)) if shape else (None,)
        attributes = {} if axis is None else {"axis": axis}
        return Example(name, 1, attributes=attributes, inputs=inputs), [np.zeros(2, int)]

    tried = []

    def outputs(schema, varied):
        tried.append((varied.name, varied.attributes["axis"]))
        if varied.name == "refused":
            raise RunError([Finding("R201", "no", why="it is so")])
        return [np.full(2, int(varied.name == "wrong"))]

    examples = [
        example("without inputs", 0), example("without an axis", None, 1),
        example("beyond", 2, 1, 1), example("below", [0, -3], 1, 1), example("right", [1, -2], 1, 1),
        example("wrong", -1, 1, 1), example("refused", 0, 1, 1),
    ]  # fmt: skip
    newer = SimpleNamespace(attributes={"axis": Attribute("axis", "int")})
    runner = SimpleNamespace(outputs=outputs)

    def result(examples):
        tests = SimpleNamespace(newer=newer, runner=runner, examples=lambda schema: iter(examples))
        (found,) = check_negative(Claim(tests, "negative", (), "", "axis"))
        return found.shown, [(each.name, why) for each, why in found.against]

    assert result(examples) == (
        True,
        [
            (
                "wrong",
                "with axis = 1 in place of -1, output 0: 2 of 2 elements differ; the first at [0]: 1 instead of 0",
            ),
            ("refused", "with axis = -2 in place of 0, it is refused: it is so"),
        ],
    )
    assert tried == [("right", [-1, 0]), ("wrong", 1), ("refused", -2)]
    assert result(examples[:4]) == (False, [])


GROW = """\
operator: Grow
family: test
versions:
- since: 1
  doc: Returns `X` in another size.
  inputs: [{name: X, type: T, doc: values}, {name: scales, type: T, doc: factors}]
  outputs: [{name: Y, type: T, doc: results}]
  types: {T: [float]}
examples:
- {name: wide, since: 1, inputs: [{float: [[1], [2]]}, {float: SCALES}], outputs: [{float: [[1], [2]]}]}
"""
GROWING = """\
from opset.extend import infer

@infer("Grow", domain="com.test")
def grow_1(call):
    rows, columns = call.require_shape(0)
    if call.elements(1) is None:
        return None
    return rows, columns if isinstance(columns, int) else columns + MORE
"""


@pytest.mark.parametrize(
    ("scales", "more", "why", "gaps"),
    [
        ("[1, 1]", 0, "", []),
        ("1", 0, "", []),
        ("[1, 1]", 1, "float[s0_0, s0_1 + 1] with s0_0 = 2, s0_1 = 1; the example has tensor(float)[2, 1]", []),
        ("[[1, 1]]", 1, "", ["float"]),
    ],
)
def test_sizes_may_follow_from_small_inputs_of_floats(tmp_path, scales, more, why, gaps):
    (tmp_path / "com.test").mkdir()
    (tmp_path / "com.test" / "Grow.yaml").write_text(GROW.replace("SCALES", scales))
    (tmp_path / "com.test" / "inference.py").write_text(GROWING.replace("MORE", str(more)))
    report = report_on(tmp_path, parts=["inference"])
    assert [each.why for each in report.findings] == [f"output 0: inference gives {why}"] * bool(why)
    assert {each.help for each in report.findings} <= {"the sizes of inputs were dim_params: dim_params"}
    assert [each.known for each in report.gaps] == gaps and {each.form for each in report.gaps} <= {"dim_params"}
    assert (report.passed["inference"], report.failed["inference"]) == (not why, bool(why))


def test_of_a_broken_constraint_inference_reports_that_one_alone():
    form = SimpleNamespace(example=SimpleNamespace(error="C1"), form="values", _finding=lambda *words: words)
    said = [Finding("I202", "it", why="C1: so it is"), Finding("I101", "it", why="it contradicts itself")]
    for findings, wrong in (
        ([], []),
        (said, []),
        ([*said, Finding("I202", "it", why="C2: or so")], ["it: C2: or so"]),
        ([Finding("I203", "it", why="C1: not")], ["it: C1: not"]),
        ([Finding("I202", "it", why="C11: x")], ["it: C11: x"]),
        ([Finding("I202", "a", why="C3: x"), Finding("I202", "b", why="C4: y")], ["a: C3: x"]),
    ):
        found = [*_InferenceRun._check_constraint(form, SimpleNamespace(findings=findings))]
        assert found == [("T105", "breaks C1, and inference reports something else", why) for why in wrong]
        assert form.unseen == (not findings)
    form.form = "dim_params"
    assert [*_InferenceRun._check_constraint(form, SimpleNamespace(findings=[]))] == [] and not form.unseen


CHANGED_FILES = {
    "": ("Scale.yaml:38", "Scale.yaml:9"),  # as it was
    "operator: [": ("Scale.yaml", "Scale.yaml"),
    "- 1\n": ("Scale.yaml", "Scale.yaml"),
    "versions: 3\nexamples: {name: biased}\n": ("Scale.yaml", "Scale.yaml"),
    "versions:\n- 3\n- {}\n- {since: 2}\nexamples:\n- 3\n- {doc: it}\n- {name: biased}\n": (
        "Scale.yaml:8",
        "Scale.yaml:4",
    ),
    "versions:\n- {since: 1}\n- since: 2\n  change:\n    emulate: 3\n": ("Scale.yaml", "Scale.yaml:5"),
    "versions:\n- since: 2\n  change: {emulate: {double: float}}\n": ("Scale.yaml", "Scale.yaml:3"),
}


@pytest.mark.parametrize("text", CHANGED_FILES)
def test_places_in_a_file_that_was_changed_since_it_was_read(tmp_path, text):
    folder = domain(tmp_path)
    registry = registry_with([folder])
    schema = registry.schema("Scale", 2, "com.test")
    (example,) = (each for each in registry.examples("Scale", "com.test") if each.name == "biased")
    path = folder / "com.test" / "Scale.yaml"
    runner = ExampleRunner(registry)
    if text:
        path.write_text(text)
    found = runner.place_of(schema, example), runner.place_of_key(schema, "change", "emulate", "float16")
    assert [each.removeprefix(f"{folder}/com.test/") for each in found] == [*CHANGED_FILES[text]]
    path.unlink()
    gone = ExampleRunner(registry)
    assert gone.place_of(schema, example) == gone.place_of_key(schema) == "com.test/Scale.yaml"
    assert not gone.has_key(schema, "change")


@pytest.mark.parametrize(("wrong", "codes"), [(False, []), (True, ["T104"])])
def test_an_output_that_is_left_out_does_not_end_the_comparison(wrong, codes):
    runner, report = ExampleRunner(default_registry()), Examination()
    (example,) = (each for each in default_registry().examples("GRU") if each.name == "last_state_alone")
    first, last = example.outputs
    outputs = (first, last._replace(shape=(*last.shape, 1)) if wrong else last)
    check_inference(runner, default_registry().schema("GRU", 14), example._replace(outputs=outputs), report)
    assert [each.code for each in report.findings] == codes and report.gaps == []


@pytest.mark.parametrize("new", ["int64", "float", "double"])
def test_an_attribute_that_names_the_emulated_type_names_the_other_one(new):
    """Of Cast to int64: by way of float where int64 is emulated, and as it is where the type of the input is."""
    (schema, *_), value = default_registry().versions("Cast")[::-1], ExampleValue("tensor(float)", [1.5], (1,))
    example = Example(
        "whole", 13, attributes={"to": 7}, inputs=(value,), outputs=(value._replace(type="tensor(int64)"),)
    )
    claims = SimpleNamespace(newer=schema)
    model = ClaimTests.emulating_model(claims, example, [np.array([1])], new, "float" if new == "int64" else "double")
    targets = [next(each.i for each in node.attribute if each.name == "to") for node in model.graph.node]
    casts = [(node.input[0], node.output[0], to) for node, to in zip(model.graph.node, targets, strict=True)]
    assert (
        casts
        == {
            "int64": [("input_0", "wide_output_0", 1), ("wide_output_0", "output_0", 7)],
            "float": [("input_0", "wide_input_0", 11), ("wide_input_0", "output_0", 7)],
            "double": [("input_0", "output_0", 7)],
        }[new]
    )


def test_what_is_left_out_is_not_cast_and_other_numbers_stay():
    clip, softmax = (default_registry().schema(*each) for each in (("Clip", 13), ("Softmax", 13)))
    value = ExampleValue("tensor(float)", [1.5], (1,))
    most = value._replace(shape=())
    example = Example("it", 13, inputs=(value, None, most), outputs=(value,))
    model = ClaimTests.emulating_model(SimpleNamespace(newer=clip), example, [np.float32([1])], "float", "double")
    assert [[*each.input] for each in model.graph.node if each.op_type == "Clip"] == [
        ["wide_input_0", "", "wide_input_2"]
    ]
    assert [each.op_type for each in model.graph.node] == ["Cast", "Cast", "Clip", "Cast"]
    example = Example("it", 13, attributes={"axis": 1}, inputs=(value,), outputs=(value,))
    model = ClaimTests.emulating_model(SimpleNamespace(newer=softmax), example, [np.float32([1])], "float", "double")
    assert [each.attribute[0].i for each in model.graph.node] == [11, 1, 1]


@pytest.mark.parametrize(
    ("name", "example", "forms"),
    [
        ("Relu", "", ["values", "dim_params"]),
        ("Reshape", "", ["values", "dim_params", "dim_params, no values"]),
        ("Where", "", ["values", "dim_params", "dim_params, no values"]),
        ("Resize", "nearest", ["values", "dim_params", "dim_params"]),
    ],
)
def test_the_forms_in_which_an_example_is_inferred(monkeypatch, name, example, forms):
    """Without values there is a form of its own if whole numbers are given; small floats are tried if sizes lack."""
    tried = []

    class Run(_InferenceRun):
        def check(self, model, sizes):
            tried.append(self.form)
            return super().check(model, sizes)

    monkeypatch.setattr("opset.workflow.examples.inference._InferenceRun", Run)
    registry, report = default_registry(), Examination()
    schema = registry.versions(name)[-1]
    chosen = next(each for each in registry.examples(name) if not each.error and (not example or each.name == example))
    check_inference(ExampleRunner(registry), schema, chosen, report)
    assert (tried, report.findings, report.gaps) == (forms, [], [])


@pytest.mark.parametrize(
    ("type_", "content", "shape", "dense", "whole", "small"),
    [
        ("tensor(int64)", [1], (1,), True, True, True),
        ("tensor(bool)", [[True]], (1, 1), True, True, True),
        ("tensor(int32)", [], (0,), True, True, True),
        ("tensor(int64)", None, (1,), False, False, False),
        ("tensor(float)", 1.0, None, True, False, True),
        ("tensor(float)", [1.0], (1,), True, False, True),
        ("tensor(float)", [[1.0]], (1, 1), True, False, False),
        ("tensor(int16)", [[1]], (1, 1), True, False, False),
        ("tensor(float)", None, (1,), False, False, False),
        ("seq(tensor(int64))", [1], None, False, False, False),
    ],
)
def test_what_inference_may_compute_with(type_, content, shape, dense, whole, small):
    value = ExampleValue(type_, content, shape)
    assert (is_dense(value), _has_whole_numbers(value), _is_small(value)) == (dense, whole, small)


@pytest.mark.parametrize(
    ("type_", "form", "gaps"),
    [
        (None, SYMBOLIC, ["nothing"]),
        (None, OPEN, []),
        (tensor("float"), SYMBOLIC, ["float"]),
        (tensor("float"), OPEN, []),
        (tensor("float", (1,)), SYMBOLIC, []),
        (sequence(tensor("float")), SYMBOLIC, []),
    ],
)
def test_what_inference_does_not_know_of_an_output_is_a_gap(type_, form, gaps, monkeypatch):
    result = SimpleNamespace(findings=[], type=lambda name: type_ if name == "output_1" else None)
    monkeypatch.setattr("opset.workflow.examples.inference.infer", lambda model, **options: result)
    example = Example("it", 14, outputs=(None, ExampleValue("tensor(float)", [1.0], (1,))))
    runner = SimpleNamespace(registry=None)
    run = _InferenceRun(runner, default_registry().schema("Relu", 14), example, form)
    monkeypatch.setattr(run, "_output_disagreement", lambda *given: "")
    assert [*run.check(None, {})] == []
    assert [(each.operator, each.since, each.example, each.form, each.known) for each in run.gaps] == [
        ("Relu", 14, "it", form, each) for each in gaps
    ]


@pytest.mark.parametrize(
    ("concerned", "varied", "shown", "against"),
    [
        ("abc", {"a": 1, "b": 2, "c": 2}, True, ["b", "c"]),
        ("bc", {"a": 2, "b": 2, "c": 1}, True, ["b"]),
        ("ac", {"a": 1, "b": 2, "c": 2}, True, ["c"]),
        ("c", {"a": 2, "b": 2, "c": 1}, True, []),
        ("abc", {"a": None, "b": None, "c": None}, False, []),
        ("abc", {"a": None, "b": 2, "c": None}, True, ["b"]),
        ("abc", {"a": 1, "b": None, "c": None}, True, []),
        ("", {"a": 2, "b": 2, "c": 2}, False, []),
    ],
)
def test_an_attribute_without_effect_is_tried_on_all_examples_that_it_concerns(concerned, varied, shown, against):
    """Each example that is concerned is computed with other values, up to the first that makes a difference."""
    tried = []

    def kernel_outputs(schema, example):
        tried.append((example.name, dict(example.attributes)))
        return None if varied[example.name] is None else [np.array([varied[example.name]])]

    examples = [(Example(name, 1, attributes={"b": 3}), [np.array([1])]) for name in "abc"]
    tests = SimpleNamespace(examples=lambda schema: examples, kernel_outputs=kernel_outputs)
    schema = replace(default_registry().schema("Relu", 14), attributes={"a": Attribute("a", "int", 0)})
    found = ClaimTests.check_effect(tests, schema, "a", lambda example, values: example.name in concerned)
    others = other_values(schema, schema.attributes["a"], 0)
    assert found.shown is shown and [each.name for each, _ in found.against] == against
    assert [why for _, why in found.against] == [f"with a = {others[0]}, output 0: 2 instead of 1"] * len(against)
    assert tried == [
        (name, {"b": 3, "a": other}) for name in concerned for other in (others[:1] if varied[name] == 2 else others)
    ]


def test_one_operator_alone_is_expressed_by_its_body():
    registry = default_registry()
    gelu = registry.schema("Gelu", 20)
    routes = BodyRoutes(registry, gelu, 20)
    route = routes.route("Gelu", "", {"": 20}, {"": 20})
    assert (route.verdict, route.change) == (Verdict.CONVERT, VersionChange("", "Gelu", 20, 0))
    for name, domain in (("Relu", ""), ("Gelu", "com.acme")):
        assert routes.route(name, domain, {"": 20}, {"": 20}).verdict is Verdict.KEEP
        assert routes.step(domain, name, 20, 20) is None
    step = routes.step("", "Gelu", 20, 20)
    assert (step.source, step.target, step.version, step.lowers, step.touches) == (gelu, gelu, 20, True, True)


def main():
    sections = []
    for failure, (changes, _) in FAILURES.items():
        with tempfile.TemporaryDirectory() as folder:
            sections.append(section(folder, failure, report_on(domain(Path(folder), *changes))))
    EXAMINED.write_text("\n\n".join(sections) + "\n")


if __name__ == "__main__":
    main()


def test_a_variant_of_another_type_leaves_omitted_outputs_out():
    value = ExampleValue("tensor(float)", [1.0], (1,))
    example = Example("it", 7, inputs=(value,), outputs=(value, None))  # version 7 has T for both outputs
    variants = dict(variants_of(default_registry().schema("Dropout", 7), example))
    assert variants["of double"].outputs == (value._replace(type="tensor(double)"), None)
