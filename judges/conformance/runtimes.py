"""Loads models in a runtime: whether its table says what it takes, and whether models converted for it run there.

    python -m judges runtimes --for onnxruntime==1.16 [--table] [--groups examples,exported] [-k PATTERN] [-j 2]
    python -m judges runtimes --for openvino==2026.4 --folder DIR

Run it by the Python of an environment that has that release of the runtime, and the test dependencies beside it. With
`--table`, each node case of the onnx package is converted to every opset that the runtime takes, loaded, and compared
with what the table says of its nodes. Otherwise the models of the groups, and node cases (`nodes`), are converted
`--for` the runtime; each that is promised has to load, and to compute the same, unless a note says that the runtime is
wrong there, or the machine lacks a locale. With `--folder` these are the models of a folder (see
judges.conformance.folder), such as `python -m judges export` writes. The exit status is 1 if a promise is broken, or if
less than 99.5 % of the table is right.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx

import opset
from judges.conformance import processes
from judges.conformance.folder import folder_cases
from judges.conformance.judge import CAST_READS, Case, difference, element_types, messages
from judges.conformance.matrix import node_cases
from judges.conformance.models import cases_of
from opset.opsets.registry import default_registry
from opset.opsets.releases import release_with
from opset.opsets.runtimes import Runtime, find_runtime
from opset.version_converter import Target, target_of
from opset.version_converter.availability import NOTES_OF_FAULTS
from opset.version_converter.conversion import convert_model
from opset.version_converter.survey import Survey

AGREES = 0.995
"""The least share of a table that has to be right."""
RUNS, LOADS, DIFFERS, FAILS = "runs", "loads", "differs", "does not load"
LIFETIME = 100
"""How many models a process loads: OpenVINO keeps the threads of each."""
DISPUTED = "differs as the given model does"
"""The end of a model that differs alike before the conversion, or that the reference kernels compute alike."""
WARNED = "not as expected, as a note says"
"""The end of a model whose report says of nodes that they may fail there: kernels with faults, or unknown operators."""
NEEDS_LOCALE = "needs a locale that this machine lacks"
_LOCALE = re.compile(r"[Ll]ocale")


class Trial(NamedTuple):
    """How a model ends in the runtime, and why."""

    kind: str
    why: str = ""


class Verdict(NamedTuple):
    """The expectation of a case, what the runtime did, and reasons; plain is a model of ai.onnx and functions alone."""

    name: str
    operator: str
    expected: str
    trial: Trial
    why: str = ""
    is_plain: bool = True


def load_in_onnxruntime(model: onnx.ModelProto) -> Any:
    """Return a session of a model without optimizations."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def load_in_openvino(model: onnx.ModelProto) -> Any:
    """Return a model compiled for the CPU, in the precision of its types."""
    core = _core_of_openvino()
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    return core.compile_model(core.read_model(model.SerializeToString()), "CPU", options)


@lru_cache(maxsize=1)
def _core_of_openvino() -> Any:
    """Return the core that loads all models of a process: each one has threads of its own."""
    import openvino

    return openvino.Core()


def with_used_imports(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy that imports only domains of its nodes: a runtime may refuse others that are too new for it."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    used = {node.domain for node in messages(model) if isinstance(node, onnx.NodeProto)} | {""}
    kept = [entry for entry in copy.opset_import if entry.domain in used]
    del copy.opset_import[:]
    copy.opset_import.extend(kept)
    return copy


def try_model(runtime: str, model: onnx.ModelProto, case: Case | None) -> Trial:
    """Load a model, and run it if the case has inputs that numpy can hold."""
    is_openvino = runtime.startswith("openvino")
    try:
        loaded = (load_in_openvino if is_openvino else load_in_onnxruntime)(model)
    except Exception as error:
        return Trial(FAILS, _brief(error))
    # Where nothing ran the given model, there is nothing to compare with.
    if case is None or not case.expected or not element_types(model).isdisjoint(CAST_READS) or _has_other_types(model):
        return Trial(LOADS)
    try:
        outputs = _run_openvino(loaded, case.feeds) if is_openvino else loaded.run(None, dict(case.feeds))
    except Exception as error:
        return Trial(DIFFERS, _brief(error))
    why = difference(case, outputs)
    return Trial(DIFFERS, why) if why else Trial(RUNS)


def _run_openvino(loaded: Any, feeds: Mapping[str, Any]) -> list[Any]:
    named = {port: feeds[name] for port in loaded.inputs for name in port.get_names() if name in feeds}
    return [np.asarray(value) for value in loaded(named).values()]


def _has_other_types(model: onnx.ModelProto) -> bool:
    values = (*model.graph.input, *model.graph.output)
    return any(value.type.WhichOneof("value") != "tensor_type" for value in values)


def _brief(error: Exception) -> str:
    return re.sub(r"\s+", " ", str(error))[:200]


def judge_table(job: tuple[str, Case, int]) -> Iterator[Any]:
    """Judge what the table says of one case at one opset."""
    spec, case, version = job
    runtime, operator = find_runtime(spec), _operator_of(case)
    yield "conversion"
    try:
        most = runtime.opsets[""][1] or default_registry().domains[""]
        target = Target({"": version}, runtime.max_ir, release=release_with(max(version, most)).name)
        conversion = convert_model(opset.load(case.model), target, default_registry())
    except opset.OpsetError as error:
        return Verdict(case.name, operator, "refused", Trial(""), str(error.findings[0].why))
    if conversion.model is None:
        return Verdict(case.name, operator, "refused", Trial(""), str(conversion.refusals[0].why))
    model = conversion.model.as_given()
    found = Survey(opset.load(model), default_registry()).find_lacks(runtime)
    lacks = [each for each in found if each.place != "opset_import"]
    yield "runtime"
    trial = try_model(spec, model, None)
    if _LOCALE.search(trial.why):
        return Verdict(case.name, operator, "refused", Trial(NEEDS_LOCALE))
    why = lacks[0].why if lacks else ""
    op_type, runs_not, _ = lacks[0].message.partition(" does not run on ") if lacks else ("", "", "")
    operator = op_type if runs_not else operator
    return Verdict(f"{case.name} at {version}", operator, FAILS if lacks else LOADS, trial, why)


def judge_promise(job: tuple[str, Case, int]) -> Iterator[Any]:
    """Judge the conversion of one model for the runtime."""
    spec, case, _ = job
    operator = _operator_of(case)
    domains = {function.domain for function in case.model.functions} | {"", "ai.onnx"}
    is_plain = {entry.domain for entry in with_used_imports(case.model).opset_import} <= domains
    yield "conversion"
    registry = default_registry()
    try:
        conversion = convert_model(opset.load(case.model), target_of(runtime=spec, registry=registry), registry)
    except opset.OpsetError as error:
        finding = error.findings[0]
        return Verdict(case.name, operator, "refused", Trial(""), f"{finding.code} {finding.why}", is_plain)
    if conversion.model is None:
        finding = conversion.refusals[0]
        return Verdict(case.name, operator, "refused", Trial(""), f"{finding.code} {finding.why}", is_plain)
    yield "runtime"
    trial = try_model(spec, conversion.model.as_given(), case)
    if trial.kind in (DIFFERS, FAILS):
        notes = [note for note in conversion.notes if note.startswith(NOTES_OF_FAULTS)]
        before = with_used_imports(case.model)
        if notes:
            trial = Trial(WARNED, f"{trial.why}; {notes[0]}")
        elif conversion.passed and trial.kind == FAILS:
            trial = Trial(WARNED, f"{trial.why}; passed through: {sorted(conversion.passed)}")
        elif _LOCALE.search(trial.why):
            trial = Trial(NEEDS_LOCALE, trial.why)
        elif trial.kind == DIFFERS and (try_model(spec, before, case) == trial or _is_disputed(case, trial)):
            trial = Trial(DISPUTED, trial.why)
    return Verdict(case.name, operator, RUNS, trial, is_plain=is_plain)


def _is_disputed(case: Case, trial: Trial) -> bool:
    """Whether the reference kernels give what the runtime gives, not what the case expects."""
    try:
        return difference(case, opset.ReferenceEvaluator(case.model).run(None, dict(case.feeds))) == trial.why
    except opset.OpsetError:
        return False


def _operator_of(case: Case) -> str:
    counts = Counter(node.op_type for node in case.model.graph.node)
    return next(iter(counts)) if len(counts) == 1 else case.name.partition("/")[0]


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge a table, or promises; return the exit status."""
    parser = argparse.ArgumentParser(prog="judges runtimes", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--for", dest="spec", required=True, help="the runtime of this environment, and its release")
    parser.add_argument("--table", action="store_true", help="compare the table with loading, at every opset")
    parser.add_argument("--at", type=int, nargs="*", default=[], help="opsets of --table, all by default")
    parser.add_argument(
        "--groups", default="examples,exported,nodes", help="groups of models, as of `models`, and nodes"
    )
    parser.add_argument("--folder", type=Path, metavar="DIR", help="the models below this folder, in place of groups")
    parser.add_argument("-k", dest="pattern", default="", help="only cases whose name this is found in")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="how many are judged at once")
    parser.add_argument("-v", "--verbose", action="store_true", help="list every case that is not as expected")
    options = parser.parse_args(arguments)
    runtime = find_runtime(options.spec)
    if options.table:
        least, most = runtime.opsets[""]
        versions = range(least or 1, (most or default_registry().domains[""]) + 1)
        chosen = [version for version in versions if not options.at or version in options.at]
        jobs = [(options.spec, case, at) for case in node_cases(options.pattern) for at in chosen]
        verdicts = [*_verdicts(judge_table, jobs, options.jobs)]
        return _report_table(runtime, verdicts, options.verbose)
    jobs = [(options.spec, case, 0) for case in _cases(options) if re.search(options.pattern, case.name)]
    return _report_promises(runtime, [*_verdicts(judge_promise, jobs, options.jobs)], options.verbose)


def _cases(options: argparse.Namespace) -> Iterator[Case]:
    if options.folder:
        yield from folder_cases(options.folder, options.pattern)
        return
    for group in options.groups.split(","):
        yield from node_cases() if group == "nodes" else cases_of(group)


def _verdicts(judge: Any, jobs: Sequence[tuple[str, Case, int]], count: int) -> Iterator[Verdict]:
    # OpenVINO keeps two threads for each model that was loaded, with the addresses of their stacks.
    is_openvino = any(spec.startswith("openvino") for spec, *_ in jobs[:1])
    memory = (128 if is_openvino else 8) << 30
    for (_, case, at), result in processes.each(judge, jobs, count, seconds=120, memory=memory, lifetime=LIFETIME):
        if isinstance(result, processes.Died):
            kind = DIFFERS if result.stage == "runtime" else "opset died"
            yield Verdict(f"{case.name} at {at}", _operator_of(case), RUNS, Trial(kind, result.why))
        else:
            yield result


def _report_table(runtime: Runtime, verdicts: Sequence[Verdict], verbose: bool) -> int:
    judged = [each for each in verdicts if each.expected in (LOADS, FAILS)]
    wrong = [each for each in judged if each.expected != each.trial.kind]
    share = 1 - len(wrong) / len(judged) if judged else 0.0
    for (operator, expected), count in Counter((each.operator, each.expected) for each in wrong).most_common():
        print(f"  {operator:28} {expected} by the table, not in the runtime: {count}")
    for each in wrong if verbose else ():
        print(f"    {each.name}: {each.expected}; {each.why or each.trial.why}")
    print(f"{runtime.name} {runtime.release}: {len(judged)} models, {share:.2%} as the table says, {len(wrong)} not")
    return int(share < AGREES)


def _report_promises(runtime: Runtime, verdicts: Sequence[Verdict], verbose: bool) -> int:
    promised = [each for each in verdicts if each.expected == RUNS]
    broken = [each for each in promised if each.trial.kind not in (RUNS, LOADS, DISPUTED, WARNED, NEEDS_LOCALE)]
    others = [each for each in promised if each.trial.kind in (DISPUTED, WARNED, NEEDS_LOCALE)]
    refused = [each for each in verdicts if each.expected == "refused"]
    for each in broken:
        print(f"  broken: {each.name}: {each.trial.kind}: {each.trial.why}")
    for each in others if verbose else ():
        print(f"  {each.name}: {each.trial.kind}: {each.trial.why}")
    for why, count in Counter(re.sub(r"'[^']*'", "…", each.why) for each in refused).most_common(
        None if verbose else 20
    ):
        print(f"  refused {count:5}  {why[:160]}")
    disputed = [each for each in promised if each.trial.kind == DISPUTED]
    for each in [*refused, *disputed] if verbose else ():
        print(f"    {each.name}: {each.why or f'{each.trial.kind}: {each.trial.why}'}")
    counts = Counter(each.trial.kind for each in promised)
    print(
        f"{runtime.name} {runtime.release}: {len(verdicts)} models, {len(promised)} promised "
        f"({len(promised) / max(1, len(verdicts)):.1%}), {dict(counts)}, {len(broken)} broken, {len(refused)} refused"
    )
    plain = [each for each in verdicts if each.is_plain]
    share = sum(each.expected == RUNS for each in plain) / max(1, len(plain))
    print(f"of the {len(plain)} models without operators of other domains, {share:.1%} are promised")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
