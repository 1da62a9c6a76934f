"""Attacks that are operator-set documents, of the domain com.acme: messages, YAML and JSON."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

from onnx import FunctionProto, helper
from onnx.onnx_operators_ml_pb2 import OperatorSetProto

from judges.hostile.attacks import DOCUMENTS, ESCAPES, Statuses, attack
from judges.hostile.attacks.models import SAMPLE

HEADER = {"magic": "ONNXOPSET", "domain": "com.acme", "opset_version": 1}
MAGIC = b"\n\tONNXOPSET"


def document(every: int | Statuses, alone: bool = False) -> Any:
    """Return a decorator for a function that returns a document, or writes it into a folder."""
    return attack(DOCUMENTS, "document", every, alone)


def message(*operators: str, functions: Any = (), **fields: Any) -> OperatorSetProto:
    """Return a message that lists operators of version 1."""
    made = OperatorSetProto(**{**HEADER, "ir_version": 10, **fields})
    for name in operators:
        made.operator.add(op_type=name, since_version=1, status=1, doc_string="Scales.")
    made.functions.extend(functions)
    return made


def function(name: str, *nodes: Any, inputs: Any = ("X",), outputs: Any = ("Y",)) -> FunctionProto:
    """Return a function of the domain."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("com.acme", 1)]
    return helper.make_function("com.acme", name, inputs, outputs, nodes, imports)


def declared(**keys: Any) -> bytes:
    """Return a document in JSON with one operator, of which its version has more keys."""
    version = {"since": 1, "doc": "Scales.", **keys}
    operator = {"operator": "Scale", "family": "acme", "versions": [version]}
    return json.dumps({**HEADER, "operators": [operator]}).encode()


@document(2)
def an_empty_document() -> bytes:
    return b""


@document(2)
def a_model_as_document() -> bytes:
    return SAMPLE


@document(2)
def a_message_that_is_cut_short() -> bytes:
    data: bytes = message("Scale").SerializeToString()
    return data[:-3]


@document(2)
def a_magic_alone() -> bytes:
    return MAGIC


@document(2)
def a_text_that_is_not_utf_8_in_a_message() -> bytes:
    return message("Scale").SerializeToString().replace(b"Scales.", b"\xff\xfeales.")


@document(2)
def names_that_lead_out_of_the_folder() -> bytes:
    return message("../../../tmp/Scale", "/etc/passwd", "con", "a\0b", ESCAPES).SerializeToString()


@document(2)
def a_domain_that_leads_out_of_the_folder() -> bytes:
    return message("Scale", domain="../../com.acme").SerializeToString()


@document(2)
def escapes_in_a_domain() -> bytes:
    return message("Scale", domain=ESCAPES).SerializeToString()


@document(2)
def an_operator_ten_thousand_times() -> bytes:
    return message(*["Scale"] * 10_000).SerializeToString()


@document((0, 2))
def four_thousand_operators() -> bytes:
    return message(*[f"Scale{number}" for number in range(4_000)]).SerializeToString()


@document(2)
def a_megabyte_of_empty_operators() -> bytes:
    return MAGIC + b"\x42\x00" * (1 << 19)


@document(2)
def a_megabyte_of_empty_nodes_in_a_function() -> bytes:
    return message("Scale").SerializeToString() + b"\x4a\x80\x80\x40" + b"\x3a\x00" * (1 << 19)


@document(2)
def versions_of_2_to_the_63() -> bytes:
    made = message("Scale", opset_version=2**63 - 1)
    made.operator[0].since_version = -(2**63)
    return made.SerializeToString()


@document(2)
def functions_that_use_each_other() -> bytes:
    functions = [
        function(one, helper.make_node(other, ["X"], ["Y"], domain="com.acme"))
        for one, other in (("Scale", "Shift"), ("Shift", "Scale"))
    ]
    return message("Scale", "Shift", functions=functions).SerializeToString()


@document((0, 2))
def functions_that_double_30_times() -> bytes:
    names = [f"Scale{number}" for number in range(30)]
    functions = [
        function(
            name,
            helper.make_node(inner, ["X"], ["A"], domain="com.acme"),
            helper.make_node(inner, ["A"], ["Y"], domain="com.acme"),
        )
        for name, inner in pairwise(names)
    ]
    return message(*names, functions=functions).SerializeToString()


@document((0, 2))
def a_function_with_graphs_90_deep() -> bytes:
    node = helper.make_node("Relu", ["X"], ["Y"])
    for _ in range(28):  # three messages each, of the hundred that protobuf reads
        node = helper.make_node("If", ["X"], ["Y"], then_branch=helper.make_graph([node], "g", [], []))
    return message("Scale", functions=[function("Scale", node)]).SerializeToString()


@document(2)
def a_declaration_100_000_brackets_deep() -> bytes:
    carrier = FunctionProto(name="Scale", domain="com.acme", overload="opset.declaration")
    carrier.metadata_props.add(key="opset.declaration", value='{"operator": "Scale", "a": ' + "[" * 100_000)
    return message("Scale", functions=[carrier]).SerializeToString()


@document(2)
def a_declaration_of_another_operator() -> bytes:
    carrier = FunctionProto(name="Scale", domain="com.acme", overload="opset.declaration")
    carrier.metadata_props.add(key="opset.declaration", value='{"operator": "../Shift"}')
    return message("Scale", functions=[carrier]).SerializeToString()


@document(2)
def a_document_of_a_sparse_gigabyte(folder: Path) -> None:
    with (folder / "document").open("wb") as file:
        file.truncate(1 << 30)


@document(2)
def a_document_from_a_device(folder: Path) -> None:
    (folder / "document").symlink_to("/dev/zero")


@document(2)
def json_100_000_brackets_deep() -> bytes:
    return b'{"magic": "ONNXOPSET", "domain": ' + b"[" * 100_000


@document(2)
def a_number_of_a_million_digits() -> bytes:
    return b'{"magic": "ONNXOPSET", "opset_version": ' + b"9" * 1_000_000 + b"}"


@document(2)
def a_million_keys() -> bytes:
    return json.dumps({**HEADER, "operators": [], **{f"k{number}": 1 for number in range(1_000_000)}}).encode()


@document(2)
def aliases_in_a_document() -> str:
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 30))]
    return "magic: ONNXOPSET\n" + "\n".join(lines)


@document((0, 2))
def escapes_in_prose_and_defaults() -> bytes:
    return declared(doc=ESCAPES, attributes={"a": {"type": "string", "default": ESCAPES, "doc": ESCAPES}})


@document(2)
def type_sets_of_the_standard_with_other_types() -> bytes:
    return json.dumps({**HEADER, "type_sets": {"floats": ["int8"]}, "operators": []}).encode()


@document((0, 2))
def type_sets_that_name_each_other_30_times() -> bytes:
    sets: dict[str, list[str]] = {"s0": ["float", "double"]}
    sets |= {f"s{number}": [f"s{number - 1}", f"seq(s{number - 1})"] for number in range(1, 30)}
    return json.dumps({**HEADER, "type_sets": sets, "operators": []}).encode()


@document((0, 2))
def a_function_body_of_brackets() -> bytes:
    return declared(function=[{"opset": 13, "nodes": "Y = If <then_branch = " + "{" * 100_000}])


@document(2)
def operators_of_the_standard_with_other_signatures() -> bytes:
    operator = {"operator": "Relu", "family": "acme", "versions": [{"since": 14, "doc": "Scales."}]}
    return json.dumps({**HEADER, "domain": "ai.onnx", "opset_version": 14, "operators": [operator]}).encode()
