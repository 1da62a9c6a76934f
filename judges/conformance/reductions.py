"""Hides refusals and differences in large models, and reduces these: a few nodes have to be left.

    python -m judges reductions --seed 7 [--only Resize] [--count 20]

A node case of the standard that is refused, one of each operator and reason, is put beside two models of examples/ and
behind a chain of nodes; every third one into both branches of an If, every third one into a function. Differences are
faults that are put into the converted examples: swapped inputs, another operator. The exit status is 1 if more than
five nodes are left, or the small model does not show what the large one did.
"""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from unittest.mock import patch

import onnx
from onnx import compose, helper

import opset
from judges.conformance.matrix import baked, node_cases
from judges.conformance.models import cases_of
from opset.budget import Limits
from opset.model import load
from opset.opsets.registry import default_registry
from opset.reduction.reducing import reduce_model
from opset.reduction.symptoms import Differs, RefusalSymptom, operator_of
from opset.version_converter import convert_model, target_of

MOST = 5
"""Nodes that may be left."""
LOWEST = 7
HOSTS = 2
"""Examples that a case is put beside."""
CHAIN = 12
"""Nodes before and after a case."""
SUBJECT = "subject"
VARYING = re.compile(r"'[^']*'|\d+")


class Hidden(NamedTuple):
    """A node case that is refused, the target, and the code and operator of the refusal."""

    name: str
    model: onnx.ModelProto
    to: int
    code: str
    operator: str
    named: bool


def refused_cases(only: str) -> Iterator[Hidden]:
    """Yield a node case for each operator and reason, with the highest target that refuses it."""
    seen = set()
    registry = default_registry()
    for plain in node_cases():
        for case in (plain, baked(plain)):
            version = next((each.version for each in case.model.opset_import if not each.domain), LOWEST)
            loaded = load(case.model)
            if convert_model(loaded, target_of(LOWEST, registry=registry), registry).model is not None:
                continue
            for to in range(version - 1, LOWEST - 1, -1):
                refusals = convert_model(loaded, target_of(to, registry=registry), registry).refusals
                if not refusals:
                    continue
                first = refusals[0]
                operator = operator_of(first.place)
                key = operator, first.code, VARYING.sub("", first.why)
                if key in seen or only not in operator:
                    break
                seen.add(key)
                model = onnx.ModelProto.FromString(case.model.SerializeToString())
                found = [node for node in model.graph.node if node.op_type == operator]
                for node in found[:1]:
                    node.name = SUBJECT
                yield Hidden(case.name, model, to, first.code, operator, bool(found) and "branch" not in first.place)
                break


def has_bodies(model: onnx.ModelProto) -> bool:
    """Whether a node holds a graph, in which onnx.compose renames not all that it should."""
    return any(attribute.HasField("g") for node in model.graph.node for attribute in node.attribute)


def hide(case: Hidden, hosts: Sequence[onnx.ModelProto], number: int, rng: random.Random) -> onnx.ModelProto:
    """Return a large model that contains a case."""
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    graph = model.graph
    if number % 3 == 1:
        _wrap_in_if(model)
    elif number % 3 == 2 and not graph.initializer and model.ir_version >= 8:
        _wrap_in_function(model)
    floats = [each for each in graph.input if each.type.tensor_type.elem_type == onnx.TensorProto.FLOAT]
    if floats:
        _lead_in(graph, floats[0].name)
    versions = {each.domain: each.version for each in model.opset_import}
    joined = 0
    for host in rng.sample(hosts, len(hosts)):
        if joined == HOSTS:
            break
        try:
            moved = opset.convert(host, versions.get("", 13))
        except opset.ConversionError:
            continue
        joined += 1
        moved = compose.add_prefix(moved, f"host{len(graph.node)}/")
        graph.node.extend(moved.graph.node)
        for name in ("input", "output", "initializer"):
            getattr(graph, name).extend(getattr(moved.graph, name))
        model.ir_version = max(model.ir_version, moved.ir_version)
        for each in moved.opset_import:
            if each.domain not in versions:
                versions[each.domain] = each.version
                model.opset_import.append(each)
    return model


def _lead_in(graph: onnx.GraphProto, name: str) -> None:
    """Compute an input by a chain of nodes, of an input of the same type."""
    nodes = [
        helper.make_node("Neg", [f"lead/{number}"], [f"lead/{number + 1}" if number < CHAIN - 1 else name])
        for number in range(CHAIN)
    ]
    for value in graph.input:
        if value.name == name:
            value.name = "lead/0"
    before = [*graph.node]
    del graph.node[:]
    graph.node.extend([*nodes, *before])


def _wrap_in_if(model: onnx.ModelProto) -> None:
    """Put the nodes of a model into both branches of an If."""
    graph = model.graph
    branch = onnx.GraphProto(name="branch", node=graph.node, output=graph.output)
    for output in branch.output:
        for dim in output.type.tensor_type.shape.dim:
            dim.Clear()
    outputs = [value.name for value in graph.output]
    for value in branch.output:
        value.name = f"inner/{value.name}"
    for node in branch.node:
        node.output[:] = [f"inner/{name}" if name else "" for name in node.output]
        own = {name for each in graph.node for name in each.output}
        node.input[:] = [f"inner/{name}" if name in own and name else name for name in node.input]
    other = onnx.GraphProto.FromString(branch.SerializeToString())
    other.name = "other"
    for node in other.node:
        node.name = ""
        node.output[:] = [name.replace("inner/", "else/") for name in node.output]
        node.input[:] = [name.replace("inner/", "else/") for name in node.input]
    for value in other.output:
        value.name = value.name.replace("inner/", "else/")
    del graph.node[:]
    graph.node.append(helper.make_node("If", ["choice"], outputs, then_branch=branch, else_branch=other))
    graph.input.append(helper.make_tensor_value_info("choice", onnx.TensorProto.BOOL, []))


def _wrap_in_function(model: onnx.ModelProto) -> None:
    """Put the nodes of a model into a function."""
    graph = model.graph
    inputs, outputs = ([value.name for value in values] for values in (graph.input, graph.output))
    function = helper.make_function("judge", "Whole", inputs, outputs, [*graph.node], [*model.opset_import])
    del graph.node[:]
    graph.node.append(helper.make_node("Whole", inputs, outputs, domain="judge"))
    model.opset_import.append(helper.make_opsetid("judge", 1))
    model.functions.append(function)


# Differences


def _swap(operator: str) -> Callable[[Any], bool]:
    def damage(node: Any) -> bool:
        if node.op_type != operator:
            return False
        node.input[:] = [node.input[1], node.input[0]]
        return True

    return damage


def _replace(operator: str, other: str) -> Callable[[Any], bool]:
    def damage(node: Any) -> bool:
        if node.op_type != operator:
            return False
        node.op_type = other
        return True

    return damage


FAULTS = {
    "Sub with its inputs swapped": _swap("Sub"),
    "Div with its inputs swapped": _swap("Div"),
    "Add in place of Mul": _replace("Mul", "Add"),
    "Sigmoid in place of Tanh": _replace("Tanh", "Sigmoid"),
    "Abs in place of Relu": _replace("Relu", "Abs"),
    "LogSoftmax in place of Softmax": _replace("Softmax", "LogSoftmax"),
    "Max in place of Add": _replace("Add", "Max"),
}
"""What is done to the first node that it fits in a converted model."""


def convert_wrongly(damage: Callable[[Any], bool]) -> Callable[..., Any]:
    """Return a conversion that damages the first node of its result that it can."""

    def convert(*arguments: Any, **options: Any) -> Any:
        conversion = convert_model(*arguments, **options)
        if conversion.model is not None:
            message = type(conversion.model.proto)()
            message.CopyFrom(conversion.model.proto)
            any(map(damage, message.graph.node))
            conversion.model = conversion.model.with_proto(message, changed=True)
        return conversion

    return convert


def main(arguments: Sequence[str] | None = None) -> int:
    """Reduce all cases, print nodes before and after, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m judges reductions", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="operators that contain this text")
    parser.add_argument("--count", type=int, help="how many refusals")
    options = parser.parse_args(arguments)
    rng = random.Random(options.seed)
    hosts = [case.model for case in cases_of("examples") if not case.model.functions and not has_bodies(case.model)]
    wrong = total = 0
    for number, case in enumerate(refused_cases(options.only)):
        if number == options.count:
            break
        total += 1
        wrong += not _judge_refusal(case, hide(case, hosts, number, rng))
    for title, damage in FAULTS.items() if not options.only else ():
        for host in hosts:
            judged = _judge_difference(title, damage, host)
            total += judged is not None
            wrong += judged is False
    print(f"{total} reductions, {wrong} wrong")
    return int(wrong > 0)


def _judge_refusal(case: Hidden, model: onnx.ModelProto) -> bool:
    """Reduce a model that is refused, print a line, and return whether the result is small and refused, too."""
    registry = default_registry()
    began = time.perf_counter()
    target = target_of(case.to, registry=registry)
    loaded = load(model)
    try:
        symptom = RefusalSymptom(loaded, target, registry, Limits(), SUBJECT if case.named else "")
    except opset.UsageError:
        symptom = RefusalSymptom(loaded, target, registry, Limits())
    reduction = reduce_model(loaded, symptom, registry, Limits())
    small = onnx.ModelProto.FromString(reduction.model.SerializeToString())
    try:
        opset.convert(small, case.to)
        shown = "converted"
    except opset.ConversionError as error:
        shown = "" if symptom.finding.code in {each.code for each in error.findings} else error.code
    fine = not shown and reduction.nodes <= MOST
    seconds = time.perf_counter() - began
    print(
        f"{'' if fine else 'WRONG '}{case.name} -> {case.to}: {symptom.finding.code} {operator_of(symptom.place)}: "
        f"{reduction.nodes_before} -> {reduction.nodes} nodes, {reduction.tries} tries, {seconds:.1f} s {shown}",
        flush=True,
    )
    return fine


def _judge_difference(title: str, damage: Callable[[Any], bool], host: onnx.ModelProto) -> bool | None:
    """Reduce an example whose conversion was damaged, and return whether the result is small; None if none differs."""
    registry = default_registry()
    version = next(each.version for each in host.opset_import if each.domain in ("", "ai.onnx"))
    target = target_of(version + 3 if version < 20 else version - 3, registry=registry)
    loaded = load(host)
    began = time.perf_counter()
    with patch("opset.reduction.symptoms.convert_model", convert_wrongly(damage)):
        try:
            symptom = Differs(loaded, target, registry, Limits(), {})
        except opset.OpsetError:
            return None
        reduction = reduce_model(loaded, symptom, registry, Limits())
        fine = reduction.nodes <= MOST and symptom.is_shown(reduction.model)
    counts = f"{reduction.nodes_before} -> {reduction.nodes} nodes, {reduction.tries} tries"
    print(f"{'' if fine else 'WRONG '}{title}: {counts}, {time.perf_counter() - began:.1f} s", flush=True)
    return fine


if __name__ == "__main__":
    raise SystemExit(main())
