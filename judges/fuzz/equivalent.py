"""Why a fault changes nothing: by the form of the models, or since no drawn input shows a difference in onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import AttributeProto, ModelProto, NodeProto, numpy_helper

import opset
from judges.fuzz.injecting import bodies
from opset.budget import Limits
from opset.opsets.registry import default_registry
from opset.verification.comparing import magnitude, why_different
from opset.verification.inputs import CAREFUL, Drawing

RUNS = 300
"""Inputs that are drawn for a fault whose models do not show that it changes nothing."""
RANDOM = frozenset(
    "Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike".split()
)
COMMUTATIVE = frozenset("Add Mul And Or Xor Equal Max Min Sum Mean BitwiseAnd BitwiseOr BitwiseXor".split())


def without_untaken_branches(model: ModelProto) -> None:
    """Empty the branches of If that a constant condition never selects."""
    held: dict[str, bool] = {}
    for node in (node for body in bodies(model) for node in body.node if node.op_type == "Constant"):
        for each in node.attribute:
            if each.name == "value" and each.t.data_type == onnx.TensorProto.BOOL:
                held[node.output[0]] = bool(numpy_helper.to_array(each.t).all())
    for node in (node for body in bodies(model) for node in body.node if node.op_type == "If"):
        for each in node.attribute:
            if node.input[0] in held and (each.name == "then_branch") != held[node.input[0]]:
                each.g.Clear()


def without_dead_nodes(model: ModelProto) -> None:
    """Remove the nodes whose outputs nothing reads, and the constants with them."""
    for body in [*bodies(model)]:
        while True:
            inner = [each for node in body.node for each in _graphs_in(node)]
            read = {name for node in body.node for name in node.input}
            read |= {name for graph in inner for node in graph.node for name in node.input}
            read |= {value.name for graph in inner for value in graph.output}
            read |= {each if isinstance(each, str) else each.name for each in body.output}
            dead = [node for node in body.node if read.isdisjoint(name for name in node.output if name)]
            for node in dead:
                body.node.remove(node)
            if not dead:
                break
        if isinstance(body, onnx.GraphProto):
            kept = [each for each in body.initializer if each.name in read]
            del body.initializer[:]
            body.initializer.extend(kept)


def without_defaults(model: ModelProto) -> None:
    """Remove attributes that state their defaults."""
    for body in bodies(model):
        imports = {each.domain: each.version for each in model.opset_import}
        imports |= {each.domain: each.version for each in getattr(body, "opset_import", ())}
        for node in body.node:
            try:
                declared = opset.get_schema(node.op_type, imports.get(node.domain, 1), node.domain).attributes
            except opset.OpsetError:
                continue
            kept = [each for each in node.attribute if not _is_default(each, declared.get(each.name))]
            del node.attribute[:]
            node.attribute.extend(kept)


def without_seeds(model: ModelProto) -> None:
    """Remove the seeds of operators that draw random numbers: the standard does not say which numbers follow."""
    for body in bodies(model):
        for node in body.node:
            kept = [each for each in node.attribute if each.name != "seed"]
            if node.op_type in RANDOM and len(kept) < len(node.attribute):
                del node.attribute[:]
                node.attribute.extend(kept)


def with_sorted_operands(model: ModelProto) -> None:
    """Sort the inputs of operators whose result does not depend on their order."""
    for body in bodies(model):
        for node in body.node:
            if node.op_type in COMMUTATIVE:
                node.input[:] = sorted(node.input)


def with_equal_branches(model: ModelProto) -> None:
    """Name the branches of If in one order if they are the same."""
    for node in (node for body in bodies(model) for node in body.node if node.op_type == "If"):
        graphs = [each.g.SerializeToString(deterministic=True) for each in node.attribute]
        if len({*graphs}) == 1:
            for each, name in zip(node.attribute, ("then_branch", "else_branch"), strict=False):
                each.name = name


STEPS: Mapping[str, Callable[[ModelProto], None]] = {
    "in a branch that is never taken": without_untaken_branches,
    "nothing reads it": without_dead_nodes,
    "it is the default": without_defaults,
    "it is the seed of random numbers": without_seeds,
    "the order of these inputs does not count": with_sorted_operands,
    "both branches are the same": with_equal_branches,
}
"""Changes that keep what a model computes, by the reason that each shows if two models are equal after it."""


def reason(before: ModelProto, after: ModelProto) -> str:
    """Return the reason why two models compute the same, by their form; "" if it does not show."""
    one, other = ModelProto(), ModelProto()
    one.CopyFrom(before)
    other.CopyFrom(after)
    for words, step in STEPS.items():
        step(one)
        step(other)
        if one.SerializeToString(deterministic=True) == other.SerializeToString(deterministic=True):
            return words
    return ""


def differ(one: Sequence[Any], other: Sequence[Any], allowed: float, usual: Sequence[float]) -> bool:
    """Whether outputs differ by more than is allowed for their own magnitudes, and for usual ones."""
    return any(
        why_different(before, after, allowed, allowed * max(size, magnitude(before)))
        for before, after, size in zip(one, other, usual, strict=True)
    )


def differs_on_many(
    source: ModelProto, before: ModelProto, after: ModelProto, allowed: float, feeds: Mapping[str, Any]
) -> tuple[bool, int]:
    """Return whether onnxruntime gives other outputs for two models on many drawn inputs, and how many it compared.

    The magnitudes of outputs on `feeds`, those of the case, are the usual ones.
    """
    first, second = (_session(model) for model in (before, after))
    try:
        usual = [*map(magnitude, first.run(None, dict(feeds)))]
        second.run(None, dict(feeds))  # so that the next random numbers of both are the same
    except Exception:
        usual = [0.0] * len(before.graph.output)
    compared = 0
    for drawn in _drawn(source):
        try:
            one, other = first.run(None, drawn), second.run(None, drawn)
        except Exception:
            continue
        compared += 1
        if differ(one, other, allowed, usual):
            return True, compared
    return False, compared


def _session(model: ModelProto) -> onnxruntime.InferenceSession:
    settings = onnxruntime.SessionOptions()
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    settings.log_severity_level = 4
    settings.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"])


def _drawn(model: ModelProto) -> Iterator[dict[str, Any]]:
    """Yield inputs that verification does not draw: of later seeds, carefully and not, of several sizes."""
    drawing = Drawing(opset.load(model), default_registry(), {}, Limits(timeout=20))
    for number in range(RUNS):
        sizes = next(drawing.sizes_for(number))
        try:
            yield dict(drawing.draw(sizes, 20_000 + number, number % 3 % len(CAREFUL)).feeds)
        except opset.OpsetError:
            return


def _graphs_in(node: NodeProto) -> Iterator[Any]:
    """Yield the graphs in a node, and those inside them."""
    for each in node.attribute:
        for graph in [each.g] if each.type == AttributeProto.GRAPH else each.graphs:
            yield graph
            for inner in graph.node:
                yield from _graphs_in(inner)


def _is_default(attribute: AttributeProto, declared: Any) -> bool:
    """Whether an attribute states the default of its declaration."""
    if declared is None or declared.default is None:
        return False
    stated = onnx.helper.get_attribute_value(attribute)
    stated = stated.decode() if isinstance(stated, bytes) else stated
    if isinstance(stated, float):
        return bool(np.float32(declared.default) == np.float32(stated))
    return bool(declared.default == stated)
