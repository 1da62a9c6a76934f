"""Malformed nodes: one of any operator version, with counts, types, attributes and constants as chance has them.

`node_model` keeps to what the schema declares in numbers and types; what the values mean, it does not know.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np

from judges.fuzz.mutation.case import Case
from judges.fuzz.mutation.models import FILE, verbs
from judges.fuzz.mutation.structure import mutate_node, new_tensor, set_value
from opset.model import proto as pb
from opset.model.arrays import tensor_of
from opset.model.attributes import FIELDS
from opset.model.elements import NUMBERS
from opset.opsets.registry import default_registry
from opset.reference.example_models import feeds_of, model_of
from opset.schemas.example import Example, example_versions
from opset.schemas.model import UNBOUNDED, OpSchema

__all__ = ["case", "node_model"]

TYPES = (
    "float int string tensor graph floats ints strings tensors graphs sparse_tensor sparse_tensors type_proto".split()
)
"""Types of attributes, from 1 on."""


@cache
def versions() -> tuple[tuple[OpSchema, tuple[Example, ...]], ...]:
    """Return every operator version with its examples."""
    registry = default_registry()
    return tuple(
        (schema, tuple(each for each in examples if example_versions(each, [schema.since_version])))
        for domain in registry.domains
        for name in registry.operators(domain)
        for examples in [registry.examples(name, domain)]
        for schema in registry.versions(name, domain)
    )


def case(rng: random.Random) -> Case:
    """Return a node of any operator version: half are examples, and most of either have something wrong with them."""
    schema, examples = rng.choice(versions())
    if examples and rng.random() < 0.6:
        example = rng.choice(examples)
        model = model_of(schema, example)
        if rng.random() < 0.5:
            make_constant(rng, model, example)
    else:
        model = node_model(rng, schema, schema.since_version)
    did = []
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        did.append(mutate_node(rng, model))
    done = ", ".join(filter(None, did)) or "as drawn"
    name = f"{schema.domain or 'ai.onnx'}.{schema.name}-{schema.since_version}"
    return Case(f"{name}: {done}", {FILE: model.SerializeToString()}, verbs(rng))


def make_constant(rng: random.Random, model: Any, example: Example) -> None:
    """Make some inputs of an example initializers: an operator reads more of its constants than of other values."""
    for name, value in feeds_of(example).items():
        if isinstance(value, np.ndarray) and value.size < 1_000 and rng.random() < 0.7:
            model.graph.initializer.append(tensor_of(name, value))
            model.ir_version = max(model.ir_version, 4)


def arity(rng: random.Random, least: int, most: int) -> int:
    return rng.randint(least, min(most, least + 5) if most == UNBOUNDED else most)


def node_model(rng: random.Random, schema: OpSchema, version: int) -> Any:
    """Return a model of one node at a version, with numbers of inputs and outputs and types of attributes that fit."""
    inputs = [f"i{k}" for k in range(arity(rng, schema.min_input, schema.max_input))]
    outputs = [f"o{k}" for k in range(arity(rng, schema.min_output, schema.max_output))]
    optional = [k for k, p in enumerate(schema.inputs) if p.option == "optional" and k < len(inputs)]
    absent = {f"i{k}" for k in optional if rng.random() < 0.3}
    model = pb.ModelProto(ir_version=8)
    made = model.graph
    made.name = "g"
    given = ["" if name in absent else name for name in inputs]
    node = made.node.add(op_type=schema.name, domain=schema.domain, input=given, output=outputs)
    for declared in schema.attributes.values():
        if declared.required or rng.random() < 0.6:
            stated = node.attribute.add(name=declared.name, type=FIELDS[declared.type][0])
            set_value(rng, model, stated)
            if rng.random() < 0.05:
                stated.ref_attr_name = "outer"
    for name in outputs[:1]:
        made.output.add(name=name).type.tensor_type.elem_type = 1
    for k, name in enumerate(inputs):
        if name in absent:
            continue
        if rng.random() < 0.4:
            constant = new_tensor(rng)
            constant.name = name
            made.initializer.append(constant)
            continue
        value = made.input.add(name=name)
        if rng.random() < 0.7:
            declare(rng, value.type.tensor_type, schema.allowed_types(schema.inputs[min(k, len(schema.inputs) - 1)]))
    model.opset_import.add(domain=schema.domain, version=version)
    if schema.domain:
        model.opset_import.add(domain="", version=21)
    return model


def declare(rng: random.Random, kind: Any, allowed: Any) -> None:
    """Declare a tensor of an allowed element type, where there is one, and of any shape."""
    dense = [each[7:-1] for each in allowed if each.startswith("tensor(")]
    kind.elem_type = NUMBERS[rng.choice(dense)] if dense else rng.randrange(1, 20)
    shape = rng.choice([None, [], [2], [2, 3], [None, 3, 4], ["N", 3, 4, 5], [0, 1, 2, 3, 4]])
    if shape is not None:
        kind.shape.SetInParent()
        for size in shape:
            dim = kind.shape.dim.add()
            if isinstance(size, str):
                dim.dim_param = size
            elif size is not None:
                dim.dim_value = size
