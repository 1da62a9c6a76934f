"""Models that the functions of onnx and of opset.compat.onnx are compared on."""

from functools import cache
from pathlib import Path

import numpy as np
import onnx
import onnx.helper
import onnx.parser

EXAMPLES = Path(__file__).parents[2] / "examples"
TEXTS = {
    "chain": """<ir_version: 10, opset_import: ["": 21]>
        main (float[N, 3] x) => (float[N, 3] y) { s = Sin (x)  y = Relu (s) }""",
    "constants": """<ir_version: 8, opset_import: ["": 13]>
        main (float[N, 3, 4] x) => (float[N, 12] y) <int64[2] sizes = {0, -1}> {
            r = Reshape (x, sizes)  s = Shape (r)  y = Softmax <axis = 1> (r) }""",
    "older": """<ir_version: 6, opset_import: ["": 11]>
        main (float[2, 3] x) => (float[2, 3] y) { r = Unsqueeze <axes = [0]> (x)  s = Softmax (r)
            y = Squeeze <axes = [0]> (s) }""",
    "branch": """<ir_version: 8, opset_import: ["": 16]>
        main (bool c, float[N] x) => (float[N] y) {
            y = If (c) <then_branch = a () => (float[N] t) { t = Neg (x) }, else_branch = b () => (float[N] e) {
                e = Identity (x) }> }""",
    "loop": """<ir_version: 8, opset_import: ["": 16]>
        main (int64 n, bool c, float[2] x) => (float[2] y) {
            y = Loop (n, c, x) <body = g (int64 i, bool k, float[2] v) => (bool q, float[2] w) {
                q = Identity (k)  w = Add (v, v) }> }""",
    "functions": """<ir_version: 10, opset_import: ["": 21, "local": 1]>
        main (float[2, 3] x) => (float[2, 3] y) { t = local.Outer <scale = 2.0> (x)  y = Abs (t) }
        <domain: "local", opset_import: ["": 21, "local": 1]> Outer <scale> (a) => (b) {
            k = Constant <value_float: float = @scale> ()  m = Mul (a, k)  b = local.Inner (m) }
        <domain: "local", opset_import: ["": 21]> Inner (a) => (b) { c = Exp (a)  b = Neg (c) }""",
    "types": """<ir_version: 8, opset_import: ["": 15]>
        main (float[N, 4] x) => (seq(float[A, 4]) y) { a, b = Split <axis = 0> (x)  y = SequenceConstruct (a, b) }""",
    "learned": """<ir_version: 8, opset_import: ["": 15, "ai.onnx.ml": 3]>
        main (float[N, 2] x) => (float[N, 2] y) { y = ai.onnx.ml.Normalizer <norm = "L2"> (x) }""",
    "defaults": """<ir_version: 8, opset_import: ["": 14]>
        main (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { y = Mul (x, w) }""",
    "integers": """<ir_version: 8, opset_import: ["": 14]>
        main (int64[N] x) => (int64[N] y) <int64 one = {1}> { t = Add (x, one)  y = Mul (t, t) }""",
}  # fmt: skip
BROKEN = {
    "no such operator": '<ir_version: 8, opset_import: ["": 14]> g (float[1] x) => (float[1] y) { y = Sinus (x) }',
    "later operator": '<ir_version: 8, opset_import: ["": 14]> g (float[1] x) => (float[1] y) { y = Gelu (x) }',
    "not sorted": '<ir_version: 8, opset_import: ["": 14]> g (float[1] x) => (float[1] y) { y = Abs (t)  t = Abs (x) }',
    "undefined": '<ir_version: 8, opset_import: ["": 14]> g (float[1] x) => (float[1] y) { y = Add (x, z) }',
    "defined twice": '<ir_version: 8, opset_import: ["": 14]> g (float[1] x) => (float[1] y) {y = Abs (x) y = Neg (x)}',
    "too many inputs": '<ir_version: 8, opset_import: ["": 14]> g (float[1] x) => (float[1] y) { y = Abs (x, x) }',
    "no such attribute": '<ir_version: 8, opset_import: ["": 14]> g (float[1] x) => (float[1] y) {y = Abs <a=1> (x)}',
    "attribute missing": '<ir_version: 8, opset_import: ["": 14]> g (float[1] x) => (float[1] y) { y = Cast (x) }',
    "attribute type": '<ir_version: 8, opset_import: ["": 14]> g (float[1] x) => (float[1] y) {y = Elu <alpha=1> (x)}',
    "no import": '<ir_version: 8> g (float[1] x) => (float[1] y) { y = Abs (x) }',
    "no IR version": '<opset_import: ["": 14]> g (float[1] x) => (float[1] y) { y = Abs (x) }',
    "no function": '<ir_version: 8, opset_import: ["": 14]> g (float[1] x) => (float[1] y) { y = local.F (x) }',
}  # fmt: skip


@cache
def models():
    """The models by name, as messages of onnx: those of examples/, and small ones."""
    found = {path.stem: onnx.load(path) for path in sorted(EXAMPLES.glob("*.onnx"))}
    return found | {name: onnx.parser.parse_model(text) for name, text in TEXTS.items()}


NAMES = [*models()]


def feeds_of(name):
    """Values for the inputs of a model: those beside an example, else small numbers."""
    file = EXAMPLES / f"{name}.npz"
    if file.exists():
        with np.load(file) as arrays:
            return {key.removeprefix("input/"): arrays[key] for key in arrays if key.startswith("input/")}
    return {value.name: _value_of(value) for value in models()[name].graph.input}


def _value_of(declared):
    """A value of an input's type; a size that is not stated is 2, and a scalar counts to 3."""
    tensor = declared.type.tensor_type
    shape = [dim.dim_value or 2 for dim in tensor.shape.dim]
    numbers = np.linspace(-1, 3, int(np.prod(shape))).reshape(shape) if shape else np.array(3)
    return numbers.astype(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type))
