"""Whether a converted model still computes what the model that it came from computes.

Two judges that are not ours run the model on the inputs of the case: onnxruntime, which implements each operator at
each opset, and the evaluator of the onnx package, which runs what onnxruntime cannot, but resolves many operators to
their newest meaning. A judge's "differs" counts against a converter only where the same judge gets the unconverted
model right. What neither can judge, the evaluator of this project judges, where nobody disputes the unconverted model.
Judges that disagree about that are a dispute, which judges.conformance.disputes decides. Beside that the model must be
at the target, keep its interface and pass onnx's checker.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import Message
from onnx import TensorProto, numpy_helper

import opset
from judges.conformance.converters import Target
from judges.conformance.disputes import right_judge
from judges.conformance.validity import faults

__all__ = ["Case", "Judge", "Verdict", "is_random", "opset_of", "run_evaluator", "run_onnxruntime", "run_own"]

SOURCE = "the source"
"""Who finds that something is disputed before it is converted."""
# What the onnxruntime in use takes: lowest opset that it has most kernels for, highest version of each domain and IR.
ORT_LOWEST = 7
ORT_DOMAINS = {"": 26, "ai.onnx.ml": 5, "ai.onnx.preview.training": 1}
ORT_IR = 13

# Element types that onnxruntime's Python interface neither takes nor gives, with the opset since which Cast reads them.
CAST_READS: dict[int, int] = {
    TensorProto.BFLOAT16: 13,
    TensorProto.FLOAT8E4M3FN: 19,
    TensorProto.FLOAT8E4M3FNUZ: 19,
    TensorProto.FLOAT8E5M2: 19,
    TensorProto.FLOAT8E5M2FNUZ: 19,
    TensorProto.INT4: 21,
    TensorProto.UINT4: 21,
    TensorProto.FLOAT4E2M1: 23,
    TensorProto.FLOAT8E8M0: 24,
    TensorProto.INT2: 25,
    TensorProto.UINT2: 25,
}

# (judge, operator, first opset, last opset, reason): there the judge is known to be wrong about the standard, which was
# decided by hand, so it is not asked.
KNOWN_FAULTS: tuple[tuple[str, str, int, int, str], ...] = (
    (
        "evaluator",
        "PRelu",
        7,
        28,
        "puts a slope along an axis where it does not broadcast",
    ),
)


RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}


@dataclass(frozen=True)
class Case:
    """A model, inputs, and the outputs that they must give; `random` ones are compared in shape and type alone."""

    name: str
    model: onnx.ModelProto
    feeds: Mapping[str, Any]
    expected: Sequence[Any]
    rtol: float = 1e-3
    atol: float = 1e-7
    random: bool = False

    @functools.cached_property
    def digest(self) -> str:
        """Hash of all that a verdict depends on beside the converted model."""
        parts = [self.name, self.rtol, self.atol, self.random, self.model.SerializeToString(deterministic=True)]
        values = [(key, fingerprint(value)) for key, value in self.feeds.items()]
        return hashlib.sha256(repr([*parts, values, [fingerprint(v) for v in self.expected]]).encode()).hexdigest()


@dataclass(frozen=True)
class Verdict:
    """`kind` is same, wrong, unjudged or disputed; `by` names the judge, `why` tells what differs."""

    kind: str
    by: str = ""
    why: str = ""


@dataclass(frozen=True)
class Trial:
    """What one judge found: same, differs (it ran, other values), fails (it rejects the model or the run), cannot."""

    kind: str
    why: str = ""
    outputs: Sequence[Any] = ()


def mistaken(judge: str, model: onnx.ModelProto) -> bool:
    """Whether a judge is known to be wrong about an operator of the model."""
    opset, names = opset_of(model) or 0, operators(model)
    return any(j == judge and op in names and low <= opset <= high for j, op, low, high, _ in KNOWN_FAULTS)


def fingerprint(value: object) -> object:
    """Return something with a `repr` that tells values apart in full."""
    if isinstance(value, (list, tuple)):
        return [fingerprint(item) for item in value]
    if isinstance(value, np.ndarray):
        data = repr(value.tolist()).encode() if value.dtype == object else value.tobytes()
        return str(value.dtype), value.shape, hashlib.sha256(data).hexdigest()
    return repr(value)


def opset_of(model: onnx.ModelProto, domain: str = "") -> int | None:
    """Return the version at which the model imports the domain, None when it does not."""
    names = ("", "ai.onnx") if domain in ("", "ai.onnx") else (domain,)
    return next((entry.version for entry in model.opset_import if entry.domain in names), None)


def is_random(name: str, model: onnx.ModelProto) -> bool:
    """Whether a case draws at random; Dropout does in training mode, which the operator alone does not tell."""
    training = name.startswith("test_training_dropout") and "zero_ratio" not in name
    return training or any(node.op_type in RANDOM for node in model.graph.node)


def messages(message: Message) -> Iterator[Message]:
    """Yield the message and all that lie in it."""
    stack = [message]
    while stack:
        top = stack.pop()
        yield top
        for field, value in top.ListFields():
            if field.message_type is not None:
                stack.extend([value] if isinstance(value, Message) else value)


def operators(model: onnx.ModelProto) -> set[str]:
    """Return the names of all operators of the default domain in the model, its subgraphs and functions."""
    nodes = (message for message in messages(model) if isinstance(message, onnx.NodeProto))
    return {node.op_type for node in nodes if node.domain in ("", "ai.onnx")}


def element_types(model: onnx.ModelProto) -> set[int]:
    """Return all element types that values and tensors in the model have by declaration."""
    found: set[int] = set()
    for message in messages(model):
        if isinstance(message, onnx.TensorProto):
            found.add(message.data_type)
        elif isinstance(message, (onnx.TypeProto.Tensor, onnx.TypeProto.SparseTensor)):
            found.add(message.elem_type)
        elif isinstance(message, onnx.AttributeProto) and message.name in ("to", "dtype", "output_dtype"):
            found.add(message.i)
    return found


def unchanged_between(names: Iterable[str], low: int, high: int) -> bool:
    """Whether each operator of the default domain is defined alike at both opsets, but for the types that it takes."""
    schema = onnx.defs.get_schema
    try:
        return all(definition(schema(name, low, "")) == definition(schema(name, high, "")) for name in names)
    except onnx.defs.SchemaError:
        return False


def definition(schema: onnx.defs.OpSchema) -> object:
    """Return all that a schema says, the types that its type variables stand for aside."""
    values = [(value.name, value.option, value.type_str) for value in (*schema.inputs, *schema.outputs)]
    attributes = {key: (a.required, str(a.default_value), a.description) for key, a in schema.attributes.items()}
    return schema.doc, values, len(schema.inputs), attributes


def for_onnxruntime(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> tuple[onnx.ModelProto, dict[str, Any]] | None:
    """Return a copy that onnxruntime's Python interface can run, with its feeds; None where it has no chance.

    A model whose opset or IR version is newer than the runtime's is labelled with the runtime's where it uses nothing
    newer. Values of a type that numpy lacks go in as initializers and come out cast to float, which holds all of them.
    """
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for entry in copy.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        highest = ORT_DOMAINS.get(domain, entry.version)
        if entry.version > highest:
            if domain or model.functions or not unchanged_between(operators(model), highest, entry.version):
                return None
            entry.version = highest
    if copy.ir_version > ORT_IR:
        if max(element_types(copy), default=0) > TensorProto.INT2:
            return None
        copy.ir_version = ORT_IR
    graph, fed = copy.graph, dict(feeds)
    for value_info in list(graph.input):
        if value_info.type.tensor_type.elem_type in CAST_READS and value_info.name in fed:
            graph.initializer.append(numpy_helper.from_array(np.asarray(fed.pop(value_info.name)), value_info.name))
            if copy.ir_version >= 4:
                graph.input.remove(value_info)
    for value_info in graph.output:
        tensor = value_info.type.tensor_type
        if tensor.elem_type in CAST_READS:
            if (opset_of(copy) or 0) < CAST_READS[tensor.elem_type]:
                return None
            widened = f"{value_info.name}/as_float"
            graph.node.append(onnx.helper.make_node("Cast", [value_info.name], [widened], to=TensorProto.FLOAT))
            value_info.name, tensor.elem_type = widened, TensorProto.FLOAT
    return copy, fed


def run_onnxruntime(model: onnx.ModelProto, feeds: Mapping[str, Any], optimize: str = "none") -> list[Any] | None:
    """Return the outputs by onnxruntime on the CPU, None where it is too old for the model or has no kernel."""
    import onnxruntime

    adapted = for_onnxruntime(model, feeds)
    if adapted is None:
        return None
    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = {
        "none": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
        "basic": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC,
        "all": onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL,
    }[optimize]
    try:
        session = onnxruntime.InferenceSession(adapted[0].SerializeToString(), options, ["CPUExecutionProvider"])
        outputs: list[Any] = session.run(None, adapted[1])
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error):
            return None
        raise
    return None if any(type(each).__name__ == "SparseTensor" for each in outputs) else outputs


def run_evaluator(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any] | None:
    """Return the outputs by the evaluator of the onnx package, None where it has no implementation."""
    from onnx.reference import ReferenceEvaluator
    from onnx.reference.op_run import RuntimeImplementationError

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return list(ReferenceEvaluator(model).run(None, dict(feeds)))
        except (NotImplementedError, RuntimeImplementationError):
            return None


def run_own(model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any] | None:
    """Return the outputs by the evaluator of this project, None where it has no kernel."""
    try:
        return list(opset.ReferenceEvaluator(model, seed=0).run(None, dict(feeds)))
    except opset.OpsetError as error:
        if error.findings[0].code == "R201":
            return None
        raise


def plain(value: Any) -> np.ndarray:
    """Return an array of a type that numpy compares; narrow floats and integers are widened exactly."""
    array = np.asarray(value)
    if array.dtype.type.__module__ != "numpy":
        return array.astype(np.float32)
    return array.astype(object) if array.dtype.kind in "US" else array


def difference(case: Case, actual: Sequence[Any]) -> str:
    """Return in words the first way in which outputs are not those of the case, "" when there is none."""
    if len(actual) != len(case.expected):
        return f"{len(actual)} outputs instead of {len(case.expected)}"
    for number, (expected, got) in enumerate(zip(case.expected, actual, strict=True)):
        found = value_difference(case, expected, got)
        if found:
            return f"output {number}: {found}"
    return ""


def value_difference(case: Case, expected: Any, got: Any) -> str:
    if expected is None or got is None:
        return "" if expected is got else "one is empty"
    if isinstance(expected, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(expected) != len(got):
            return "not a sequence of the same length"
        return next((text for pair in zip(expected, got, strict=True) if (text := value_difference(case, *pair))), "")
    if isinstance(got, (list, tuple)):
        return "a sequence instead of a tensor"
    if isinstance(expected, dict) and isinstance(got, dict):
        if expected.keys() != got.keys():
            return "other keys"
        found = (
            (key, value_difference(case, np.asarray(value), np.asarray(got[key], np.asarray(value).dtype)))
            for key, value in expected.items()
        )
        return next((f"at key {key}: {why}" for key, why in found if why), "")
    bfloat16 = "bfloat16" in (str(getattr(expected, "dtype", "")), str(getattr(got, "dtype", "")))
    want, have = plain(expected), plain(got)
    if want.shape != have.shape:
        return f"shape {have.shape} instead of {want.shape}"
    if want.dtype != have.dtype:
        return f"type {have.dtype} instead of {want.dtype}"
    if case.random:
        return ""
    if want.dtype == object:
        return "" if np.array_equal(want, have) else "other strings"
    rtol = max(case.rtol, 2**-6) if bfloat16 else case.rtol
    with np.errstate(all="ignore"):
        near = np.isclose(have, want, rtol=rtol, atol=case.atol, equal_nan=True)
    if near.all():
        return ""
    where = tuple(int(i) for i in np.argwhere(~near)[0])
    return f"{int((~near).sum())} of {want.size} values, at {list(where)} {have[where]} instead of {want[where]}"


class Judge:
    """Judges conversions of one case; remembers how each judge does on the unconverted model, and verdicts by bytes.

    `optimize` is onnxruntime's level of graph optimisation: none, basic or all. `verdicts` are earlier ones.
    """

    def __init__(self, case: Case, optimize: str, verdicts: Mapping[str, Verdict]) -> None:
        self.case = case
        self.optimize = optimize
        self.verdicts = dict(verdicts)
        self.fresh: dict[str, Verdict] = {}
        self.sources: dict[str, Trial] = {}

    @functools.cached_property
    def runtime_before(self) -> Trial:
        """How the runtime does on the unconverted model; it gets those right by definition that are too old for it."""
        trial = self.before("onnxruntime")
        old = (opset_of(self.case.model) or ORT_LOWEST) < ORT_LOWEST
        return Trial("same", "too old to be run") if old and trial.kind != "differs" else trial

    def before(self, judge: str) -> Trial:
        """Return what a judge finds about the unconverted model."""
        if judge not in self.sources:
            self.sources[judge] = self.trial(judge, self.case.model)
        return self.sources[judge]

    def trial(self, judge: str, model: onnx.ModelProto) -> Trial:
        """Return what one judge finds about the model."""
        if mistaken(judge, model):
            return Trial("cannot", "known fault of the judge")
        try:
            if judge == "onnxruntime":
                outputs = run_onnxruntime(model, self.case.feeds, self.optimize)
            elif judge == "evaluator":
                outputs = run_evaluator(model, self.case.feeds)
            else:
                outputs = run_own(model, self.case.feeds)
            if outputs is None:
                return Trial("cannot")
            why = difference(self.case, outputs)
        except Exception as error:
            return Trial("fails", f"{type(error).__name__}: {' '.join(str(error).split())[:300]}")
        return Trial("differs", why, outputs) if why else Trial("same", "", outputs)

    def judge(self, converted: onnx.ModelProto, to: Target) -> Verdict:
        """Return the verdict on a conversion of the case's model to a version of a domain."""
        data = converted.SerializeToString(deterministic=True)
        key = hashlib.sha256(repr((self.case.digest, self.optimize, to)).encode() + data).hexdigest()
        if key not in self.verdicts:
            self.verdicts[key] = self.fresh[key] = self.structure(converted, to) or self.values(converted)
        return self.verdicts[key]

    def structure(self, converted: onnx.ModelProto, to: Target) -> Verdict | None:
        """Return a verdict where no run is needed: not at the target, another interface, not valid."""
        if opset_of(converted, to[0]) != to[1]:
            return Verdict("wrong", "target", f"opset {opset_of(converted, to[0])}")
        if interface(converted) != interface(self.case.model):
            return Verdict("wrong", "interface", "inputs or outputs changed in name, order or type")
        if wrong := faults(converted, self.case.model):
            return Verdict("wrong", "validity", "; ".join(wrong))
        return None

    def values(self, converted: onnx.ModelProto) -> Verdict:
        """Return the verdict of the runs."""
        if not self.case.expected:  # nothing ran the unconverted model
            return Verdict("unjudged")
        if right := right_judge(self.case.name):
            return self.by(right, converted)
        runtime = self.trial("onnxruntime", converted)
        if runtime.kind == "same":
            return Verdict("same", "onnxruntime")
        if runtime.kind in ("differs", "fails") and self.runtime_before.kind == "same":
            return self.dispute() or Verdict("wrong", "onnxruntime", runtime.why)
        # The runtime could not say how the unconverted model does, so what it finds now decides nothing alone.
        before = self.runtime_before.kind
        if before == "differs" and (found := self.dispute()):
            return found
        suspicious = (runtime.kind, before) in {("differs", "cannot"), ("differs", "fails"), ("fails", "cannot")}
        evaluator = self.trial("evaluator", converted)
        if evaluator.kind == "same":
            return Verdict("disputed", "onnxruntime", runtime.why) if suspicious else Verdict("same", "evaluator")
        if evaluator.kind in ("differs", "fails") and self.before("evaluator").kind == "same":
            return Verdict("wrong" if suspicious else "disputed", "evaluator", evaluator.why)
        if suspicious:
            return Verdict("disputed", "onnxruntime", runtime.why)
        return self.dispute() or self.by("own evaluator", converted)

    def dispute(self) -> Verdict | None:
        """Return the dispute about the unconverted model, None where all judges give what is expected.

        That of the onnx package is not heard about operators whose newest meaning is another than the model's.
        """
        model = self.case.model
        known = unchanged_between(operators(model), opset_of(model) or 1, onnx.defs.onnx_opset_version())
        asked = ("onnxruntime", *(["evaluator"] if known else []), "own evaluator")
        found = {judge: self.before(judge) for judge in asked}
        told = [f"{judge} before the conversion: {each.why}" for judge, each in found.items() if each.kind == "differs"]
        return Verdict("disputed", SOURCE, "; ".join(told)) if told else None

    def by(self, judge: str, converted: onnx.ModelProto) -> Verdict:
        """Return the verdict of one judge, by what it gives for the unconverted model."""
        before = self.before(judge)
        if before.kind not in ("same", "differs"):
            return Verdict("unjudged", judge, before.why)
        case = dataclasses.replace(self.case, expected=before.outputs)
        after = Judge(case, self.optimize, {}).trial(judge, converted)
        if after.kind == "cannot":
            return Verdict("unjudged", judge, after.why)
        return Verdict("same", judge) if after.kind == "same" else Verdict("wrong", judge, after.why)


def interface(model: onnx.ModelProto) -> tuple[list[object], list[object]]:
    """Return names and element types of the values that a caller passes and gets."""
    initialized = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in initialized]
    return [outline(value) for value in inputs], [outline(value) for value in model.graph.output]


def outline(value: onnx.ValueInfoProto) -> object:
    return value.name, [m.elem_type for m in messages(value) if isinstance(m, onnx.TypeProto.Tensor)]
