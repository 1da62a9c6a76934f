"""Why a runtime does not run a model as it is: the first reason, in the order in which a runtime meets them."""

import pytest
from onnx import parser

from opset.model import load
from opset.opsets.registry import default_registry
from opset.opsets.runtimes.names import find_runtime
from opset.version_converter.conversion import find_foreign_types
from opset.version_converter.survey import Survey
from tests.version_converter.npu import runtime_file, takes

PLAIN = '<ir_version: 8, opset_import: ["": 17]> m (float[2] x) => (float[2] y) { y = Relu (x) }'
FUNCTION = """<ir_version: 8, opset_import: ["": 17, "this": 1]> m (float[2] x) => (float[2] y) { y = this.f (x) }
    <opset_import: ["": 17], domain: "this"> f (a) => (b) { b = Relu (a) }"""
SILENT = {"release": "1.0", "opset": [7, 21], "how": "documented"}


def lack(folder, text, kernels=None, releases=SILENT, **keys):
    """Return message, place and reason of the first lack; "" if there is none."""
    file = runtime_file(folder, takes(**(kernels or {})), releases=[releases], **keys)
    found = Survey(load(parser.parse_model(text)), default_registry()).find_lack(find_runtime("npu==1.0", [file]))
    if found is None:
        return ""
    assert (found.code, found.help) == ("C209", "convert the model for it: opset convert MODEL --for RUNTIME")
    return found.message, found.place, found.why


@pytest.mark.parametrize(
    ("text", "release", "expected"),
    [
        (PLAIN, {}, ""),
        (PLAIN, {"opset": [7, 17]}, ""),
        (PLAIN, {"opset": [17, None]}, ""),
        (PLAIN, {"opset": None}, ""),
        (PLAIN, {"opset": [7, 16]},
         ("npu 1.0 takes ai.onnx at most 16", "opset_import", "the model imports ai.onnx 17")),
        (PLAIN, {"opset": [18, 21]},
         ("npu 1.0 takes ai.onnx at least 18", "opset_import", "the model imports ai.onnx 17")),
        (PLAIN.replace("17]", '17, "ai.onnx.ml": 4]'), {"ml": 3},
         ("npu 1.0 takes ai.onnx.ml at most 3", "opset_import", "the model imports ai.onnx.ml 4")),
        (PLAIN, {"ir": 8}, ""),
        (PLAIN, {"ir": 7}, ("npu 1.0 takes IR version 7 at most", "ir_version", "the model has IR version 8")),
        (PLAIN.replace("17]", '17, "com.acme": 4]'), {},
         ("npu 1.0 may not know a domain", "opset_import", "nothing uses the import of com.acme")),
        (FUNCTION, {}, ""),
        (FUNCTION, {"local_functions": False},
         ("npu 1.0 runs no functions that a model defines", "functions", "the model has this.f")),
        (PLAIN.replace("Relu", "Tan"), {},
         ("Tan does not run on npu 1.0", "graph 'm', node number 0 (Tan)", "npu 1.0 has no Tan")),
        (PLAIN.replace("Relu", "Tan"), {"lists_operators": False}, ""),
    ],
)  # fmt: skip
def test_the_first_reason_is_told(tmp_path, text, release, expected):
    assert lack(tmp_path, text, releases={**SILENT, **release}) == expected


def test_types_that_cannot_be_given_are_told_before_operators(tmp_path):
    text = PLAIN.replace("float[2] x", "double[2] x").replace("Relu", "Tan")
    file = runtime_file(tmp_path, takes(), io_types_not=["double"])
    runtime = find_runtime("npu==1.0", [file])
    survey = Survey(load(parser.parse_model(text.replace("float[2] y", "double[2] y"))), default_registry())
    found = [*find_foreign_types(survey.index, runtime)]
    assert [(each.message, each.place) for each in found] == [
        (f"the {value} cannot be given to npu 1.0", "graph 'm'") for value in ("input 'x'", "output 'y'")
    ]
    assert [each.why for each in found] == [
        f"no {word} of a model may be of type double there" for word in ("input", "output")
    ]
    assert survey.find_lack(runtime) == found[0]
