"""Runs the standard's own function bodies over our examples, and shows where they give other outputs.

    python -m judges standard_bodies [-k PATTERN] [-v]

Many operators of the onnx package are defined by a body of other operators, which is part of the standard. Each body,
in every form that the package has of it, takes the place of the operator as a function of the model, and three engines
run it: our evaluator, onnxruntime and the evaluator of the onnx package. A body whose outputs are those of an example
on one engine agrees with it. Every other example has to be named in standard_bodies_decided.py, with what was decided;
the exit status is 1 where one is not, or where an entry names none.
"""

from __future__ import annotations

import argparse
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import defs

from judges.conformance.judge import run_evaluator, run_onnxruntime
from judges.conformance.standard_bodies_decided import DECIDED
from opset import ReferenceEvaluator
from opset.model import proto as pb
from opset.opsets.registry import default_registry
from opset.opsets.releases import RELEASES
from opset.reference.example_models import feeds_of, model_of
from opset.schemas.example import Example, example_versions
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name
from opset.workflow.examples.runner import disagreements

REGISTRY = default_registry()
LOCAL = "standard.body"
NEWEST = RELEASES[-1].opset


class Body(NamedTuple):
    """A body of the standard for a node, and the opset of ai.onnx that it is written in."""

    opset: int
    function: onnx.FunctionProto


class Outcome(NamedTuple):
    """What came of a body and an example: which engines agree, and what the others say."""

    case: str
    agree: list[str]
    others: dict[str, str]


def cases(pattern: str) -> Iterator[tuple[OpSchema, Any, Example]]:
    """Yield each version that the standard defines by a body, with the schema of the package and each example."""
    for domain in REGISTRY.domains:
        for name in REGISTRY.operators(domain):
            if not re.search(pattern, name):
                continue
            for schema in REGISTRY.versions(name, domain):
                if not defs.has(name, schema.since_version, domain):
                    continue
                theirs = defs.get_schema(name, schema.since_version, domain)
                if theirs.since_version != schema.since_version or not (
                    theirs.has_function or theirs.has_context_dependent_function
                ):
                    continue
                for example in REGISTRY.examples(name, domain):
                    if example.outputs is not None and example_versions(example, [schema.since_version]):
                        yield schema, theirs, example


def bodies_of(theirs: Any, model: onnx.ModelProto) -> list[Body]:
    """Return the bodies that the package has for the node of a model, by opset."""
    node = model.graph.node[0].SerializeToString()
    kinds = {each.name: each.type.SerializeToString() for each in model.graph.input}
    types = [kinds.get(name, b"") for name in model.graph.node[0].input]
    found = {}
    for version in theirs.function_opset_versions:
        found[version] = theirs.get_function_with_opset_version(version)
    for version in theirs.context_dependent_function_opset_versions:
        found[version] = theirs.get_context_dependent_function_with_opset_version(version, node, types)
    bodies = []
    for version, content in sorted(found.items()):
        function = content if isinstance(content, onnx.FunctionProto) else onnx.FunctionProto.FromString(content)
        if function.node:
            bodies.append(Body(version, function))
    return bodies


def with_body(theirs: Any, model: onnx.ModelProto, body: Body) -> onnx.ModelProto:
    """Return a model in which the body is a function of the model, and the node a call of it."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    function = changed.functions.add()
    function.CopyFrom(body.function)
    function.domain = LOCAL
    if not any(not each.domain for each in function.opset_import):
        function.opset_import.add(domain="", version=NEWEST if theirs.domain else body.opset)
    node = changed.graph.node[0]
    node.domain, function.name = LOCAL, node.op_type
    node.input.extend([""] * (len(function.input) - len(node.input)))
    computed = {name for each in function.node for name in each.output}
    pairs = zip(function.output, node.output, strict=False)
    outputs = [(name, given) for name, given in pairs if given and name in computed]
    for message, names in ((function, [name for name, _ in outputs]), (node, [given for _, given in outputs])):
        message.ClearField("output")
        message.output.extend(names)
    stated = {each.name for each in node.attribute}
    for name, attribute in theirs.attributes.items():
        if name not in stated and attribute.default_value.type:
            node.attribute.append(attribute.default_value)
    changed.opset_import.add(domain=LOCAL, version=1)
    if not any(not each.domain for each in changed.opset_import):
        changed.opset_import.add(domain="", version=1)
    for each in changed.opset_import:
        if not each.domain:
            each.version = next(one.version for one in function.opset_import if not one.domain)
    changed.ir_version = max(8, changed.ir_version)
    return changed


def by_opset(model: onnx.ModelProto, feeds: dict[str, Any]) -> Any:
    """Return what our evaluator gives."""
    return ReferenceEvaluator(pb.ModelProto.FromString(model.SerializeToString())).run(None, feeds)


ENGINES: dict[str, Callable[[onnx.ModelProto, dict[str, Any]], Any]] = {
    "opset": by_opset,
    "onnxruntime": run_onnxruntime,
    "onnx": run_evaluator,
}


def case_of(schema: OpSchema, example: Example) -> str:
    """Return the name of an example at a version."""
    domain = f"{domain_name(schema.domain)}." if schema.domain else ""
    return f"{domain}{schema.name} {schema.since_version} {example.name}"


def outcome(schema: OpSchema, theirs: Any, example: Example, model: onnx.ModelProto, body: Body) -> Outcome:
    """Return what the engines say of a body and an example."""
    found = Outcome(case_of(schema, example), [], {})
    changed = with_body(theirs, model, body)
    for engine, run in ENGINES.items():
        try:
            why = disagreements(example, run(changed, feeds_of(example)))
        except Exception as error:
            why = [f"breaks off: {str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__}"]
        if why:
            found.others[engine] = f"at {body.opset}: {why[0]}"
        else:
            found.agree.append(engine)
            break
    return found


def outcomes(pattern: str) -> Iterator[Outcome]:
    """Yield what the engines say of every body and example."""
    for schema, theirs, example in cases(pattern):
        model = onnx.ModelProto.FromString(model_of(schema, example).SerializeToString())
        try:
            bodies = bodies_of(theirs, model)
        except Exception as error:
            yield Outcome(case_of(schema, example), [], {"builder": str(error)})
            continue
        for body in bodies:
            yield outcome(schema, theirs, example, model, body)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what differs and is not decided; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", default="", help="pattern of operator names")
    parser.add_argument("-v", action="store_true", help="list what is decided as well")
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    used: Counter[str] = Counter()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for found in outcomes(options.k):
            if found.agree:
                counts["agrees"] += 1
                continue
            decision = next((each for each in DECIDED if re.fullmatch(each, found.case)), None)
            counts["decided" if decision else "open"] += 1
            used[decision or ""] += 1
            if decision is None or options.v:
                print(found.case, "" if decision is None else f"({DECIDED[decision]})")
                for engine, why in found.others.items():
                    print(f"    {engine:<12} {why}", flush=True)
    idle = [] if options.k else [each for each in DECIDED if not used[each]]
    for each in idle:
        print(f"no case needs this decision any more: {each}")
    print(", ".join(f"{count} {what}" for what, count in sorted(counts.items())))
    return 1 if counts["open"] or idle else 0
