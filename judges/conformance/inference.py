"""Infers test cases whose shapes are taken out, and holds the result to what a run gives and to the onnx package.

    python -m judges inference [--cases node,models,graphs] [--archive FOLDER] [-k PATTERN] [-j 2]
                                   [--json FILE] [-v]

`node` and `models` are the cases of the judge evaluator, `graphs` those of the judge exported, in the style of
exporters; `--archive` names a folder that the tool archive fetched. Each case is inferred in these forms, all without
value_info and without the shapes of graph outputs:

    shipped     as it is
    untyped     the types of outputs are taken out, too
    constants   small inputs of whole numbers are initializers, as exporters write axes and shapes
    variables   every size of an input is a dimension variable of its own
    both        variables, with constants as initializers

Truth: what is inferred agrees with the outputs of the case, and with every value of a run of it: kind, element type,
rank, each size, where variables stand for the sizes of this run. Bound to other numbers, sizes with variables are what
is inferred with these numbers, if they are legal. An exception, or a finding about a valid model, is a failure.

Dominance: of no value less is known than onnx.shape_inference tells with data propagation. A size is unknown, a
variable, or a number; a variable counts the same whatever its name. `unk__0`, which onnx makes up, says no more than
that a size is not known, and is found where it must not be, in a sequence and in what a loop does anew each turn.
Where onnx says more, or another thing, that is not true by the specification, the value counts as decided.

The exit status is 1 when anything is found that is not in judges.conformance.decided.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper, shape_inference

import opset
from judges.conformance.decided import decided
from judges.conformance.evaluator import fits, selected
from judges.conformance.exported import graph_cases
from judges.conformance.judge import Case, messages, opset_of
from judges.conformance.processes import Died, each
from opset.inference.engine.result import Inference, infer
from opset.reference.values import type_of
from opset.workflow.examples.inference import Structure, disagreement

FORMS = ("shipped", "untyped", "constants", "variables", "both")
VERDICTS = ("equal", "more", "less", "contradiction")
COLUMNS = (*VERDICTS, "decided")
SECONDS_PER_CASE = 300
SECONDS_PER_RUN = 20
MOST_CONSTANT = 1024  # elements of an input that becomes an initializer

Key = tuple[str, str]
"""A value: the way to its graph, "" for the main one, and its name."""


@dataclass(frozen=True)
class Fault:
    """Something that is wrong, or less than onnx tells; `known` where that was decided.

    `follows` says that of an input of the node less is known already.
    """

    case: str
    form: str
    operator: str
    value: str
    kind: str
    why: str
    known: str = ""
    follows: bool = False


@dataclass
class Result:
    """What became of one case: faults, counts of verdicts by form, values of its run, seconds of both."""

    faults: list[Fault] = field(default_factory=list)
    counts: dict[str, Counter[str]] = field(default_factory=dict)
    run: int = 0
    ours: float = 0.0
    theirs: float = 0.0


# Forms of a case


def form_of(case: Case, form: str) -> onnx.ModelProto:
    """Return the model of a case in one of the FORMS."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for way, graph in graphs_of(model):
        del graph.value_info[:]
        for value in graph.output:
            strip(value, form == "untyped" and not way)
    for function in model.functions:
        del function.value_info[:]
    if form in ("constants", "both"):
        bake(model, case.feeds)
    if form in ("variables", "both"):
        free(model, case.feeds)
    return model


def strip(value: onnx.ValueInfoProto, types: bool) -> None:
    """Take out the shape that a value states, or its type."""
    if types:
        value.ClearField("type")
        return
    for message in messages(value):
        if isinstance(message, onnx.TypeProto.Tensor | onnx.TypeProto.SparseTensor):
            message.ClearField("shape")


def bake(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> None:
    """Make initializers of small inputs of whole numbers."""
    graph = model.graph
    if model.ir_version < 4:  # initializers need not be inputs any more
        initialized = {tensor.name for tensor in graph.initializer}
        kept = [value for value in graph.input if value.name not in initialized]
        del graph.input[:]
        graph.input.extend(kept)
        model.ir_version = 4
    for value in list(graph.input):
        array = feeds.get(value.name)
        if not isinstance(array, np.ndarray) or array.dtype not in (np.int32, np.int64, np.bool_):
            continue
        if array.size <= MOST_CONSTANT and value.type.WhichOneof("value") == "tensor_type":
            graph.initializer.append(numpy_helper.from_array(array, value.name))
            graph.input.remove(value)


def free(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> None:
    """Name a variable for every size of every tensor that is fed."""
    for number, value in enumerate(model.graph.input):
        array = feeds.get(value.name)
        if isinstance(array, np.ndarray) and value.type.WhichOneof("value") == "tensor_type":
            shape = value.type.tensor_type.shape
            shape.Clear()
            shape.SetInParent()
            for axis in range(array.ndim):
                shape.dim.add(dim_param=f"s{number}_{axis}")


# Truth


def seen(value: Any) -> Structure:
    """Return what truth needs of a value of a run."""
    if isinstance(value, list | tuple):
        return [seen(item) for item in value]
    if isinstance(value, dict):
        return {}
    if value is None:
        return None
    array = np.asarray(value)
    return "tensor", type_of(array)[7:-1], array.shape


def run(case: Case) -> dict[Key, list[Structure]]:
    """Return every value that a run computes, by the path of its node, and all of these where it is computed again."""
    found: dict[Key, list[Structure]] = {}

    def trace(place: str, name: str, value: Any) -> None:
        now, before = seen(value), found.setdefault((place, name), [])
        if now not in before:
            before.append(now)

    limits = opset.Limits(timeout=SECONDS_PER_RUN)
    try:
        opset.ReferenceEvaluator(case.model, seed=0, trace=trace, limits=limits).run(None, case.feeds)
    except opset.OpsetError:
        return found  # what it got to counts; that it got so far is what judges.conformance.evaluator asks
    return found


def untruths(found: Inference, case: Case, values: Mapping[Key, Sequence[Structure]]) -> Iterator[tuple[str, str]]:
    """Yield each value that is not as inferred, and how; nothing where the inputs are not as the model declares."""
    sizes: dict[str, int] = {}
    fed = {name: seen(value) for name, value in case.feeds.items()}
    if any(disagreement(found.type(name), value, sizes, bind=True) for name, value in fed.items()):
        return
    outputs = zip((value.name for value in case.model.graph.output), map(seen, case.expected), strict=True)
    for name, output in outputs:
        if why := disagreement(found.type(name), output, sizes, bind=True):
            yield name, why
    for every in found.values():
        known = values.get((every.place, every.name), ())
        for value in known:
            if why := disagreement(every.type, value, sizes, bind=every.type == found.type(every.name)):
                yield every.name, why
                break


def other_sizes(found: Inference, model: onnx.ModelProto, feeds: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each value whose sizes with variables are others than those that are inferred with numbers, and how.

    Sizes that are alike stay alike, and none becomes 0, which often asks for something else, of Reshape say.
    """
    actual = {
        f"s{number}_{axis}": size
        for number, value in enumerate(model.graph.input)
        if isinstance(feeds.get(value.name), np.ndarray)
        for axis, size in enumerate(feeds[value.name].shape)
    }
    for change in (lambda size: size + 1, lambda size: 2 * size, lambda size: 1):
        sizes = {name: max(1, change(size)) for name, size in actual.items() if name in found.variables}
        numbers = infer(model, dims=sizes)
        if numbers.findings:
            continue
        types = {(value.place, value.name): value.type for value in numbers.values()}
        for value in found.values():
            told = types.get((value.place, value.name))
            if told is None or told.kind != "tensor" or told.shape is None or told.element is None:
                continue
            if all(isinstance(size, int) for size in told.shape):
                why = disagreement(value.type, ("tensor", told.element, told.shape), sizes, bind=False)
                if why:
                    yield value.name, f"with other sizes, {why}"


# Dominance


def graphs_of(model: onnx.ModelProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """Yield the main graph and those in its nodes, each with the way to it."""
    pending = [("", model.graph)]
    while pending:
        way, graph = pending.pop()
        yield way, graph
        for number, node in enumerate(graph.node):
            for attribute in node.attribute:
                inner = [attribute.g] if attribute.HasField("g") else attribute.graphs
                pending += [(f"{way}/{number}.{attribute.name}.{place}", every) for place, every in enumerate(inner)]


def stated(model: onnx.ModelProto) -> dict[Key, onnx.TypeProto]:
    """Return the types that a model states of its values."""
    return {
        (way, value.name): value.type for way, graph in graphs_of(model) for value in (*graph.output, *graph.value_info)
    }


def compared(ours: onnx.TypeProto | None, theirs: onnx.TypeProto | None) -> str:
    """Return one of VERDICTS: how what we know of a value compares with what onnx knows."""
    kinds = [None if every is None else every.WhichOneof("value") for every in (ours, theirs)]
    if None in kinds:
        return "equal" if kinds[0] == kinds[1] else "less" if kinds[0] is None else "more"
    assert ours is not None
    assert theirs is not None
    kind = kinds[0]
    assert kind is not None
    if kind != kinds[1]:
        return "contradiction"
    one, other = getattr(ours, kind), getattr(theirs, kind)
    if kind in ("sequence_type", "optional_type"):
        return compared(one.elem_type, other.elem_type)
    if kind == "map_type":
        inner = compared(one.value_type, other.value_type)
        return inner if one.key_type == other.key_type else "contradiction"
    verdicts = [level(one.elem_type, other.elem_type), level(one.HasField("shape"), other.HasField("shape"))]
    if one.HasField("shape") and other.HasField("shape"):
        if len(one.shape.dim) != len(other.shape.dim):
            return "contradiction"
        dims = zip(one.shape.dim, other.shape.dim, strict=True)
        verdicts += [level(size_of(mine), size_of(yours)) for mine, yours in dims]
    return next((verdict for verdict in ("contradiction", "less", "more") if verdict in verdicts), "equal")


def verdicts(
    model: onnx.ModelProto, ours: Mapping[Key, onnx.TypeProto], theirs: Mapping[Key, onnx.TypeProto]
) -> Iterator[tuple[str, str, str, bool]]:
    """Yield for every output of a node the verdict, its name, and if it is a fault both types.

    Last comes whether of an input of the node less is known already.
    """
    lesser: set[str] = set()
    for way, graph in graphs_of(model):
        for inputs, name in [(node.input, name) for node in graph.node for name in node.output if name]:
            mine, other = ours.get((way, name)), theirs.get((way, name))
            verdict = compared(mine, other)
            if verdict in ("less", "contradiction"):
                yield verdict, name, f"{shown(mine)}, and onnx {shown(other)}", not lesser.isdisjoint(inputs)
                lesser.add(name)
            else:
                yield verdict, name, "", False


def size_of(dim: onnx.TensorShapeProto.Dimension) -> str:
    """Return a size as text: a number, "?" for a variable, "~" for one that onnx made up, "" for none."""
    if dim.HasField("dim_value"):
        return str(dim.dim_value) if dim.dim_value >= 0 else ""
    return "~" if dim.dim_param.startswith("unk__") else "?" if dim.dim_param else ""


def level(one: str | int | bool, other: str | int | bool) -> str:
    """Compare two things of which "", 0 or False say nothing, and "?" less than anything else but "~"."""
    if one == other or (other == "~" and one in ("", "?")):
        return "equal"
    if not one or not other:
        return "more" if one else "less"
    if other == "~":
        return "more"
    if "?" in (one, other):
        return "more" if other == "?" else "less"
    return "contradiction"


def shown(type_: onnx.TypeProto | None) -> str:
    """Return a type on one line."""
    kind = None if type_ is None else type_.WhichOneof("value")
    if type_ is None or kind is None:
        return "nothing"
    inner = getattr(type_, kind)
    if kind in ("sequence_type", "optional_type"):
        return f"{kind[:-5]}({shown(inner.elem_type)})"
    if kind == "map_type":
        return f"map({inner.key_type}, {shown(inner.value_type)})"
    element = onnx.TensorProto.DataType.Name(inner.elem_type).lower()
    if not inner.HasField("shape"):
        return element
    dims = [str(dim.dim_value) if dim.HasField("dim_value") else dim.dim_param or "?" for dim in inner.shape.dim]
    return f"{element}[{', '.join(dims)}]"


# Jobs


def job(cases: Sequence[Case], work: tuple[int, bool]) -> Generator[str, None, Result]:
    """Return what becomes of the case of a number, without onnx where that died on it."""
    number, with_onnx = work
    case, result = cases[number], Result()
    yield f"{case.name}: run"
    values = run(case)
    result.run = len(values)
    operators = producers(case.model)
    for form in FORMS:
        model = form_of(case, form)

        def fault(kind: str, name: str, why: str, follows: bool = False, form: str = form) -> bool:
            operator = operators.get(name, operators[""])
            known = decided(operator.split(" ")[0], f"{kind} {operator}: {why} | {case.name}")
            result.faults.append(Fault(case.name, form, operator, name, kind, why, known, follows))
            return bool(known)

        yield f"{case.name}: {form}"
        begun = time.perf_counter()
        try:
            found = infer(model)
            written = found.written().as_given()
        except Exception as error:
            fault("exception", "", f"{type(error).__name__}: {error}")
            continue
        result.ours += time.perf_counter() - begun
        for finding in found.findings:
            fault("finding", "", f"{finding.code} {finding.message}; {finding.place}; {finding.why}")
        for name, why in untruths(found, case, values):
            fault("truth", name, why)
        if form in ("variables", "both"):
            for name, why in other_sizes(found, model, case.feeds):
                fault("truth", name, why)
        theirs: dict[Key, onnx.TypeProto] = {}
        begun = time.perf_counter()
        if with_onnx:
            yield f"{case.name}: onnx"
            with contextlib.suppress(Exception):  # it knows nothing then
                theirs = stated(shape_inference.infer_shapes(model, data_prop=True))
        result.theirs += time.perf_counter() - begun
        counts = result.counts[form] = Counter()
        for verdict, name, told, follows in verdicts(model, stated(written), theirs):
            known = bool(told) and fault(verdict, name, told, follows)
            counts["decided" if known else verdict] += 1
    return result


def producers(model: onnx.ModelProto) -> dict[str, str]:
    """Return the operator and opset of every value by name; under "" what stands for the whole model."""
    versions = {entry.domain: entry.version for entry in model.opset_import} | {"": opset_of(model) or 0}
    found: dict[str, str] = {}
    for message in messages(model):
        if isinstance(message, onnx.NodeProto):
            text = f"{message.op_type} {versions.get(message.domain, '')}".strip()
            found.update((name, text) for name in message.output if name)
    kinds = set(found.values())
    found[""] = kinds.pop() if len(kinds) == 1 else "(several)"
    return found


def sources(names: Sequence[str], archive: Path | None, pattern: str) -> Iterator[tuple[str, Case]]:
    """Yield the cases, each with what it is from."""
    for source in names:
        if source == "graphs":
            yield from (("graphs", case) for case in graph_cases() if fits(case, pattern))
        for case in selected([source], None, pattern):
            yield case.name.split("/")[0] if source == "models" else source, case
    yield from (("archive", case) for case in selected([], archive, pattern))


# Report


def table(results: Sequence[tuple[str, Result]]) -> Iterator[str]:
    """Yield a line for each source and form, and for each form in total."""
    sums: dict[tuple[str, str], Counter[str]] = {}
    for source, result in results:
        for form, counts in result.counts.items():
            for title in (source, "all"):
                sums.setdefault((title, form), Counter()).update({"cases": 1, **counts})
    yield f"{'source':>20} {'form':>10} {'cases':>7} {'values':>8} " + " ".join(f"{name:>13}" for name in COLUMNS)
    for (source, form), counts in sorted(sums.items(), key=lambda pair: (pair[0][0] == "all", pair[0][0])):
        values = sum(counts[name] for name in COLUMNS)
        row = " ".join(f"{counts[name]:>13,}" for name in COLUMNS)
        yield f"{source:>20} {form:>10} {counts['cases']:>7,} {values:>8,} {row}"


def by_operator(faults: Sequence[Fault]) -> Iterator[str]:
    """Yield a line for each operator: how many values of it have a fault of each kind that no other explains."""
    counts: dict[str, Counter[str]] = {}
    for fault in (fault for fault in faults if not fault.follows):
        counts.setdefault(fault.operator.split(" ")[0], Counter())[fault.kind] += 1
    for operator, kinds in sorted(counts.items(), key=lambda pair: -sum(pair[1].values())):
        yield f"  {operator:<28} " + ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def distinct(faults: Sequence[Fault]) -> list[Fault]:
    """Return faults once for all forms of a case."""
    first: dict[tuple[str, str, str], Fault] = {}
    for fault in faults:
        first.setdefault((fault.case, fault.value, fault.kind), fault)
    return list(first.values())


def main(arguments: Sequence[str] | None = None) -> int:
    """Infer the cases, print what is wrong and the table; return the exit status."""
    about = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m judges inference", description=about)
    parser.add_argument("-k", dest="pattern", default="", help="regular expression of cases, or whole operator names")
    parser.add_argument("--cases", default="node,models,graphs", help="node, models, graphs, or an empty string")
    parser.add_argument("--archive", type=Path, metavar="FOLDER", help="what judges.conformance.archive fetched")
    parser.add_argument("-j", dest="processes", type=int, default=2, help="how many at once (default: 2)")
    told = "tell each form, and what is decided or follows"
    parser.add_argument("-v", dest="verbose", action="store_true", help=told)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every fault here")
    options = parser.parse_args(arguments)
    titled = list(sources([name for name in options.cases.split(",") if name], options.archive, options.pattern))
    cases = [case for _, case in titled]
    results: list[tuple[str, Result]] = []
    again: list[tuple[int, bool]] = []
    work = functools.partial(job, cases)
    jobs = [(number, True) for number in range(len(cases))]
    while jobs:
        for (number, _), result in each(work, jobs, options.processes, SECONDS_PER_CASE):
            source, case = titled[number]
            if isinstance(result, Died):
                if result.stage.endswith(": onnx"):
                    again.append((number, False))
                    continue
                result = Result([Fault(case.name, "", "(process)", "", "exception", f"{result.why}: {result.stage}")])
            results.append((source, result))
            wrong = [fault for fault in result.faults if options.verbose or not (fault.known or fault.follows)]
            for fault in wrong if options.verbose else distinct(wrong):
                known = f" ({fault.known})" if fault.known else ""
                print(f"{fault.case} [{fault.form}] {fault.operator} '{fault.value}': {fault.kind}: {fault.why}{known}")
        jobs, again = again, []
    faults = [fault for _, result in results for fault in result.faults]
    failures = distinct([fault for fault in faults if not fault.known])
    print("\n".join(table(results)))
    print("\n".join(by_operator(failures)))
    ours, theirs = sum(result.ours for _, result in results), sum(result.theirs for _, result in results)
    print(
        f"onnx {onnx.__version__}: {len(results):,} cases in {len(FORMS)} forms, "
        f"{sum(result.run for _, result in results):,} values of runs, {len(failures):,} values fail, "
        f"{len(distinct([fault for fault in faults if fault.known])):,} are decided; {ours:.1f} s, onnx {theirs:.1f} s"
    )
    if options.json:
        options.json.write_text(json.dumps([asdict(fault) for fault in faults], indent=0))
    return 1 if failures else 0
