"""Whatever a node looks like, crossing a transition works or is refused: no other exception escapes.

That nodes which are right are not refused is shown by test_examples.py.
"""

import random

import pytest
from onnx import TensorProto, helper

import opset
from opset.errors import ConversionError, Finding, ModelError
from opset.opsets.registry import default_registry
from opset.schemas.model import UNBOUNDED

REGISTRY = default_registry()
TRANSITIONS = [
    (domain, operator, older.since_version, newer.since_version)
    for domain in REGISTRY.domains
    for operator in REGISTRY.operators(domain)
    for older, newer in zip(REGISTRY.versions(operator, domain), REGISTRY.versions(operator, domain)[1:], strict=False)
]
INTS = [0, 1, -1, 2, 3, -3, 7, 100, 2**31, -(2**63), 2**63 - 1]
FLOATS = [0.0, -0.0, 1.0, -2.5, 1e38, float("inf"), float("nan")]
STRINGS = [b"", b"NOTSET", b"SAME_UPPER", b"linear", b"nearest", b"FLOAT", b"\xff\xfe", b"\x1b[31m", b"none"]
ELEMENTS = [1, 2, 6, 7, 8, 9, 10, 11, 16, 19]


def tensor(rng):
    dims = rng.choice([[], [0], [1], [2], [2, 2], [4]])
    size = 1
    for dim in dims:
        size *= dim
    kind = rng.choice(["float", "int", "odd", "string"])
    if kind == "float":
        return helper.make_tensor("t", TensorProto.FLOAT, dims, rng.choices(FLOATS, k=size))
    if kind == "int":
        return helper.make_tensor("t", TensorProto.INT64, dims, rng.choices(INTS, k=size))
    if kind == "string":
        return helper.make_tensor("t", TensorProto.STRING, dims, rng.choices(STRINGS, k=size))
    return TensorProto(name="t", dims=[rng.choice(INTS)], data_type=rng.choice([0, 1, 7, 99]), raw_data=b"abc")


def graph(rng):
    names = [f"g{i}" for i in range(rng.randrange(4))]
    values = [helper.make_tensor_value_info(name, 1, None) for name in names]
    nodes = [helper.make_node("Identity", [name], [f"{name}_o"]) for name in names]
    outputs = [helper.make_tensor_value_info(f"{name}_o", 1, None) for name in names]
    return helper.make_graph(nodes, "inner", values, outputs)


def attribute(rng, node, declared):
    new = node.attribute.add(name=declared.name)
    many = rng.randrange(5)
    match declared.type:
        case "int":
            new.type, new.i = 2, rng.choice(INTS)
        case "ints":
            new.type = 7
            new.ints.extend(rng.choices(INTS, k=many))
        case "float":
            new.type, new.f = 1, rng.choice(FLOATS)
        case "floats":
            new.type = 6
            new.floats.extend(rng.choices(FLOATS, k=many))
        case "string":
            new.type, new.s = 3, rng.choice(STRINGS)
        case "strings":
            new.type = 8
            new.strings.extend(rng.choices(STRINGS, k=many))
        case "tensor":
            new.type = 4
            new.t.CopyFrom(tensor(rng))
        case "graph":
            new.type = 5
            new.g.CopyFrom(graph(rng))
        case "sparse_tensor":
            new.type = 11
            new.sparse_tensor.values.CopyFrom(tensor(rng))
            new.sparse_tensor.indices.CopyFrom(tensor(rng))
            new.sparse_tensor.dims.extend(rng.choices(INTS, k=many))
        case "type_proto":
            new.type = 13
    if rng.random() < 0.05:
        new.ref_attr_name = "outer"


def arity(rng, least, most):
    return rng.randint(least, min(most, least + 5) if most == UNBOUNDED else most)


def node_model(rng, domain, operator, version):
    schema = REGISTRY.schema(operator, version, domain)
    inputs = [f"i{k}" for k in range(arity(rng, schema.min_input, schema.max_input))]
    outputs = [f"o{k}" for k in range(arity(rng, schema.min_output, schema.max_output))]
    optional = [k for k, p in enumerate(schema.inputs) if p.option == "optional" and k < len(inputs)]
    absent = {f"i{k}" for k in optional if rng.random() < 0.3}
    node = helper.make_node(operator, ["" if n in absent else n for n in inputs], outputs, domain=domain)
    for declared in schema.attributes.values():
        if declared.required or rng.random() < 0.6:
            attribute(rng, node, declared)
    made = helper.make_graph([node], "g", [], [helper.make_tensor_value_info(n, 1, None) for n in outputs[:1]])
    for k, name in enumerate(inputs):
        if name in absent:
            continue
        if rng.random() < 0.4:
            constant = tensor(rng)
            constant.name = name
            made.initializer.append(constant)
        elif rng.random() < 0.7:
            parameter = schema.inputs[min(k, len(schema.inputs) - 1)]
            known = schema.allowed(parameter)
            dense = [t[7:-1] for t in known if t.startswith("tensor(")]
            number = TensorProto.DataType.Value(rng.choice(dense).upper()) if dense else rng.choice(ELEMENTS)
            shape = rng.choice([None, [], [2], [2, 3], [None, 3, 4], ["N", 3, 4, 5], [0, 1, 2, 3, 4]])
            made.input.append(helper.make_tensor_value_info(name, number, shape))
        else:
            made.input.add(name=name)
    imports = [helper.make_opsetid(domain, version)]
    if domain:
        imports.append(helper.make_opsetid("", 21))
    return helper.make_model(made, opset_imports=imports, ir_version=8)


@pytest.mark.parametrize(("domain", "operator", "older", "newer"), TRANSITIONS)
def test_no_other_exception_escapes_from_any_transition(domain, operator, older, newer):
    rng = random.Random(f"{domain} {operator} {newer}")
    for version, to in [(newer - 1, newer), (newer, newer - 1)] * 6:
        model = node_model(rng, domain, operator, version)
        before = model.SerializeToString()
        try:
            opset.convert(model, {domain: to})
        except (ConversionError, ModelError) as error:
            assert all(isinstance(finding, Finding) and finding.code for finding in error.findings)
        assert model.SerializeToString() == before
