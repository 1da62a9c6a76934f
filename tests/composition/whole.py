"""Merged models and parts of models as text, with all that is said of them.

python -m tests.composition.whole        # writes merged.txt and parts.txt; read the difference
"""

from functools import cache
from pathlib import Path

import opset
from opset.checker.pages import set_field
from opset.composition.extraction import Wanted, extract_part
from opset.composition.merging import Joint, merge_models
from opset.errors import OpsetError
from opset.model.text.printing import to_text
from opset.opsets.registry import default_registry
from opset.version_converter import target_of
from tests.composition.test_extraction import LOOP, WHOLE
from tests.composition.test_merging import FIRST, NEW, OLD, SCALE, SECOND, calls

HERE = Path(__file__).parent
HEAD = '<ir_version: 8, opset_import: ["": 13]>'
TWO = f"{HEAD} two (float[2] x, float[2] z) => (float[2] y, float[2] u) {{ y = Neg (x) u = Abs (z) }}"
ABSENT = f"{HEAD} g (float[2] x, float h) => (float[2] y) {{ y = Clip (x, , h) }}"
OUTER = '<domain: "d", opset_import: ["": 13, "d": 1]> F (a) => (b) { b = d.G (a) }'
SCAN = f"""{HEAD} g (float[2] s, float[4, 2] x) => (float[2] e, float[4, 2] y) {{
  e, y = Scan <num_scan_inputs = 1, body = b (float[2] u, float[2] v) => (float[2] w, float[2] o) {{
    [n] w = Add (u, v)  k = Mul (w, s)  o = Exp (k) }}> (s, x) }}"""
SAID = {
    "doc_string": "of {0}", "graph.doc_string": "graph {0}", "graph.node[0].doc_string": "node {0}",
    "metadata_props": [{"key": "a", "value": "{0}"}, {"key": "b", "value": "{0}"}, {"key": "c", "value": "same"}],
    "graph.metadata_props": [{"key": "g", "value": "{0}"}, {"key": "h {0}", "value": "own"}],
    "training_info[+]": {"algorithm": {"name": "train"}},
    "configuration": [{"name": "pair", "num_devices": 2}, {"name": "{0}", "num_devices": 3}],
    "graph.quantization_annotation[+]": {
        "tensor_name": "y", "quant_parameter_tensor_names": [{"key": "SCALE_TENSOR", "value": "x"}]},
}  # fmt: skip


def filled(value, word):
    """A value with a word in place of {0} in its texts."""
    if isinstance(value, str):
        return value.format(word)
    if isinstance(value, dict):
        return {key: filled(each, word) for key, each in value.items()}
    return [filled(each, word) for each in value] if isinstance(value, list) else value


def model(text, edits=None, word=""):
    """The model of a text with edits."""
    made = opset.parse_model(text)
    for path, value in (edits or {}).items():
        set_field(made, path, filled(value, word))
    return made


PLAIN = f"{HEAD} %s (float[N, 2] x) => (float[N, 2] y) {{ [n] y = Neg (x) }}"
CONSTANTS = (
    HEAD
    + """
    g (float[2] x) => (float[2] y) <float[2] w = {3, 4}, float[2] u = {%s}> { a = Mul (x, w) y = Add (a, u) }"""
)
SEVERAL = """<ir_version: 10, opset_import: ["": 13, "d": 1]> g (float[2] x) => (float[2] y) { y = d.F (x) }
    <domain: "d", opset_import: ["": 13, "d": 1]> F (a) => (b) { c = d.H (a) e = d.G (c) b = d.F:o (e) }
    <domain: "d", overload: "o", opset_import: ["": 13]> F (a) => (b) { b = %s (a) }
    <domain: "d", opset_import: ["": 13]> G (a) => (b) { b = Exp (a) }
    <domain: "d", opset_import: ["": 13]> H (a) => (b) { b = %s (a) }
    <domain: "d", opset_import: ["": 13, "d": 1]> K (a) => (b) { b = d.H (a) }"""
CALLING = """<ir_version: 8, opset_import: ["": 13, "d": 1]>
    g (float[2] x) => (float[2] y) { z = d.H (x) w = d.F (z) y = d.G (w) }"""
UNTYPED = f"{HEAD} g (float[2, 2] z) => (y, x) {{ y = Neg (z) x = Abs (y) }}"
MERGED = {
    "names of the second change": (FIRST, SECOND, {"y": "x"}, {}),
    "all names have prefixes": (FIRST, SECOND, {"y": "x"}, {"prefixes": ("a/", "b/")}),
    "one has a prefix": (FIRST, SECOND, {"y": "x"}, {"prefixes": ("", "b/")}),
    "an output and an input feed several": (TWO, TWO, [("y", "x"), ("x", "z")], {}),
    "nothing is named": (TWO, f"{HEAD} h (float[2] u) => (float[2] v) {{ v = Exp (u) }}", None, {}),
    "bodies": (SCAN, SCAN, {"y": "x"}, {}),
    "functions that differ": (
        calls(SCALE % ("F", "Neg"), "x", "y", "F"), calls(SCALE % ("F", "Abs"), "u", "v", "F"), {"y": "u"}, {}),
    "functions that are equal, and call others": (
        calls(f"{OUTER} {SCALE % ('G', 'Neg')}", "x", "y", "F"),
        calls(f"{OUTER} {SCALE % ('G', 'Abs')}", "u", "v", "F"), {"y": "u"}, {}),
    "several functions": (SEVERAL % ("Neg", "Neg"), SEVERAL % ("Neg", "Abs"), {"y": "x"}, {}),
    "several functions, all equal": (SEVERAL % ("Neg", "Neg"), SEVERAL % ("Neg", "Neg"), {"y": "x"}, {}),
    "functions that catch operators": (
        SEVERAL % ("Neg", "Neg"), CALLING, {"y": "x"}, {}),
    "versions that differ": (OLD, NEW, {"y": "x"}, {}),
    "constants that are equal": (
        CONSTANTS % "1, 2", CONSTANTS % "1, 3", {"y": "x"}, {}),
    "a variable that is a number": (
        PLAIN % "g", f"{HEAD} h (float[3, M] x, float[M, N] z) => (float[3, M] y) {{ y = Neg (x) }}", {"y": "x"}, {}),
    "what both say of themselves": (
        (PLAIN % "g", SAID, "first"), (PLAIN % "h", SAID, "second"), {"y": "x"}, {}),
    "values that are absent, and types of none": (
        (ABSENT, {"graph.value_info[+]": {"type.tensor_type.elem_type": 1}}),
        (ABSENT, {"graph.value_info[+]": {"type.tensor_type.elem_type": 1}}), {"y": "x"}, {"prefixes": ("", "b/")}),
    "a type that is inferred": (UNTYPED, f"{HEAD} h (float[M, 2] x) => (float[M, 2] z) {{ z = Neg (x) }}", None, {}),
    "a shape that is inferred": (
        UNTYPED.replace("(y, x)", "(float[] y, float[] x)"),
        f"{HEAD} h (float[M, K] x) => (float[M, K] z) {{ z = Neg (x) }}", {"x": "x"}, {}),
    "for a runtime": (
        OLD, PLAIN.replace("N, 2", "1, 2, N") % "h", {"y": "x"},
        {"target": target_of(None, runtime="onnxruntime==1.5", registry=default_registry())}),
    "an inferred type that differs": (UNTYPED, PLAIN.replace("float", "double") % "h", {"y": "x"}, {}),
    "an inferred size that differs": (UNTYPED, PLAIN.replace("N, 2", "N, 3") % "h", {"y": "x"}, {}),
    "no such output": (FIRST, SECOND, {"yy": "x"}, {}),
    "no output but a value": (FIRST, SECOND, {"h": "x"}, {}),
    "no such input": (FIRST, SECOND, {"y": "xx"}, {}),
    "twice": (FIRST, SECOND, [("y", "x"), ("extra", "x")], {}),
    "it is not certain what is connected": (FIRST, SECOND, None, {}),
    "sizes that differ": (FIRST, PLAIN.replace("N, 2", "5") % "h", {"y": "x"}, {}),
    "numbers that differ": (FIRST, PLAIN.replace("N, 2", "N, 3") % "h", {"y": "x"}, {}),
    "types that differ": (FIRST, PLAIN.replace("float", "double") % "h", {"y": "x"}, {}),
}  # fmt: skip
SPLIT = f"{HEAD} main (float[4] x) => (float[2] y) {{ a, b = Split (x)  c = Neg (a)  y = Add (c, b) }}"
DEFAULT = f"{HEAD} main (float[2] x, float[2] w = {{1, 2}}) => (float[2] y) {{ a = Neg (x)  y = Mul (a, w) }}"
CALLED = WHOLE.replace("z = Neg (c)", "z = com.example.Scale <k = 5.0> (c)")
TRAINED = (WHOLE, {"training_info[+]": {"algorithm": {"name": "train"}}})
DOMAINS = """<ir_version: 8, opset_import: ["": 13, "d": 1, "e": 2, "f": 3]>
    m (float[2] x) => (float[2] y, float[2] z) { y = d.F (x)  z = f.H (y) }
    <domain: "d", opset_import: ["": 13]> F (a) => (b) { b = e.G (a) }
    <domain: "e", opset_import: ["": 13]> G (a) => (b) { b = Exp (a) }
    <domain: "f", opset_import: ["": 13]> H (a) => (b) { b = Abs (a) }"""
PARTS = {
    "from the middle": (WHOLE, {"inputs": ["c", "b"], "outputs": ["y"]}),
    "without inputs": (WHOLE, {"outputs": ["z", "t"]}),
    "without outputs": (WHOLE, {"inputs": ["x", "b"]}),
    "an input that nothing needs": (WHOLE, {"inputs": "c,b,x", "outputs": "y"}),
    "a function stays": (WHOLE, {"inputs": "a", "outputs": "z"}),
    "added outputs": (WHOLE, {"add_outputs": ["a", "t"]}),
    "a body": (WHOLE, {"outputs": ["p"]}),
    "a body by its path": (WHOLE, {"inputs": ["q"], "outputs": ["p"], "graph": "node 'branch' (If), then_branch"}),
    "a function": (WHOLE, {"outputs": ["d"], "function": "com.example.Scale"}),
    "a part of a function": (WHOLE, {"inputs": ["c"], "outputs": ["b"], "function": "Scale"}),
    "functions of several domains": (DOMAINS, {"outputs": "y"}),
    "a body of a loop": (LOOP, {"outputs": ["out"]}),
    "the loop": (LOOP, {"inputs": ["doubled", "count", "start"], "outputs": ["seen"]}),
    "a body of a scan": (SCAN, {"inputs": ["k"], "outputs": ["o"]}),
    "one of the outputs of a node": (SPLIT, {"inputs": ["b", "x"], "outputs": ["y"]}),
    "a type inside that is not known": (
        f'{HEAD[:-2]}, "o": 1]> m (float[2] x) => (float[2] y) {{ a = o.P (x) b = Relu (a) y = o.P (b) }}',
        {"inputs": ["x"], "outputs": ["y"]}),
    "a type that is not known": (
        f'{HEAD[:-2]}, "o": 1]> m (float[2] x) => (float[2] y) {{ a = o.P (x) b = Relu (a) y = o.P (b) }}',
        {"inputs": ["b"], "outputs": ["y"]}),
    "a default": (DEFAULT, {"inputs": ["a"], "outputs": ["y"]}),
    "a default that is an input": (DEFAULT, {"inputs": ["a", "w"], "outputs": ["y"]}),
    "training": (TRAINED, {"outputs": ["z"]}),
    "attributes that differ": (CALLED, {"outputs": ["d"], "function": "Scale"}),
    "no such output": (WHOLE, {"outputs": "yy"}),
    "no such input": (WHOLE, {"inputs": ["nope"], "outputs": "y"}),
    "too few inputs": (WHOLE, {"inputs": ["c"], "outputs": "y"}),
    "no such function": (WHOLE, {"outputs": "b", "function": "Scal"}),
    "no such graph": (WHOLE, {"outputs": "p", "graph": "nowhere"}),
    "no part": (WHOLE, {}),
    "both": (WHOLE, {"add_outputs": "a", "outputs": "y"}),
    "an added value of a body": (WHOLE, {"add_outputs": ["q"]}),
    "several bodies": (
        WHOLE.replace("r = Identity (t)", "q = Neg (t)  r = Identity (q)"), {"outputs": ["q"]}),
}  # fmt: skip


def given(made):
    """The model of a text, or of a text with edits."""
    return opset.load(model(made) if isinstance(made, str) else model(*made))


def said_of(result):
    """What a merging or extraction says beside its model, and the model as text."""
    facts = [f"{key}: {value!r}" for key, value in vars(result).items() if key not in ("model", "notes") and value]
    return [*facts, *(f"note: {each}" for each in result.notes), *to_text(result.model).splitlines()]


def blocks(cases, make):
    """The lines of all cases, each with its result or its error."""
    for name, case in cases.items():
        yield f"# {name}"
        try:
            yield from said_of(make(*case))
        except OpsetError as error:
            for finding in error.findings:
                yield from str(finding).splitlines()
        yield ""


def merged(first, second, connect, also):
    return merge_models(given(first), given(second), Joint(connect, **also), default_registry())


def part(text, wanted):
    return extract_part(given(text), Wanted(**wanted), default_registry())


@cache
def texts():
    """The text of each file, by its name."""
    return {"merged.txt": "\n".join(blocks(MERGED, merged)), "parts.txt": "\n".join(blocks(PARTS, part))}


if __name__ == "__main__":
    for name, text in texts().items():
        (HERE / name).write_text(text, encoding="utf-8")
