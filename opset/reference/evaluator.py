"""Runs a model on the reference kernels, within limits.

    ReferenceEvaluator("model.onnx").run(None, {"x": x})

Programs run on a stack of frames of their own, so that neither the number of nodes nor the depth of graphs and
functions is limited by Python's. A kernel that runs a graph is a generator: it yields a graph and its inputs, and is
sent the outputs.
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from opset.errors import Finding, OpsetError, RunError, printable
from opset.model.arrays import data_type_of, dtype_of_element
from opset.model.container import ModelLike, load
from opset.model.elements import element_name
from opset.model.graph import bodies, call_order, verify
from opset.model.types import Shape, shape_of, type_string
from opset.opsets.imports import check_model_head
from opset.opsets.registry import Registry, default_registry
from opset.reference.numerics.memory import nbytes
from opset.reference.programs import ABSENT, Program, Programs, Step
from opset.schemas.constraints import Violation
from opset.schemas.signature import check_constraints

__all__ = ["Declared", "Limits", "ReferenceEvaluator"]

Trace = Callable[[str, str, Any], None]
_NEVER = float("inf")
_OVERHEAD = 128  # bytes of an array beside its elements, about


@dataclass(frozen=True, slots=True)
class Limits:
    """How much an evaluation may take, None without limit.

    - `max_steps`: nodes that are run, each time that they are, and calls of functions and graphs;
    - `max_bytes`: bytes of all values that live at once, where None stands for the machine's memory;
    - `timeout`: seconds. It is looked at between nodes, and in kernels that may take long.
    """

    max_steps: int | None = 10_000_000
    max_bytes: int | None = None
    timeout: float | None = None

    def bytes(self) -> int:
        """Return the limit of bytes, the machine's memory where none was set."""
        if self.max_bytes is not None:
            return self.max_bytes
        try:
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        except (AttributeError, ValueError, OSError):  # not on every system
            return 1 << 34


@dataclass(frozen=True, slots=True)
class Declared:
    """An input or output of a model: name, type string, shape as far as it is known; whether it has a default."""

    name: str
    type: str | None
    shape: Shape | None
    has_default: bool = False


class ReferenceEvaluator:
    """Computes a model's outputs with one reference kernel for each meaning that an operator ever had."""

    def __init__(
        self,
        model: ModelLike,
        *,
        registry: Registry | None = None,
        limits: Limits | None = None,
        seed: int | None = None,
        trace: Trace | None = None,
        allow_external_roots: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        """Take a model: a path, bytes, a Model or a ModelProto.

        - `seed`: what nodes without a `seed` of their own draw from; without it, every run draws anew;
        - `trace`: is called with (path of the node, name, value) of each value that is computed, in order.

        Raises ModelError where the model cannot be read or is malformed.
        """
        self.model = load(model, allow_external_roots=allow_external_roots)
        self.registry = registry or default_registry()
        self.limits = limits or Limits()
        self._seed, self._trace = seed, trace
        proto = self.model.proto
        check_model_head(proto)
        self._defined = verify(bodies(proto))[0]
        call_order(proto.functions)
        defaults = {each.name for each in proto.graph.initializer}
        defaults |= {each.values.name for each in proto.graph.sparse_initializer}
        self.inputs = tuple(_declared(each, each.name in defaults) for each in proto.graph.input)
        self.outputs = tuple(_declared(each) for each in proto.graph.output)
        self._programs = Programs(self.model, self.registry, self.limits.bytes, trace is not None)
        self._plans: dict[tuple[str, ...], Program] = {}
        self._run: Evaluation | None = None

    @property
    def steps(self) -> int:
        """How many nodes the run that is going on, or else the last one, has run."""
        return self._run.steps if self._run is not None else 0

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs that have to be given, in order."""
        return [each.name for each in self.inputs if not each.has_default]

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs, in order."""
        return [each.name for each in self.outputs]

    def run(self, output_names: Sequence[str] | None, feed_inputs: Mapping[str, Any]) -> list[Any]:
        """Return the outputs, or the values of the main graph that `output_names` names, computed from inputs by name.

        A tensor is a numpy array, a sequence a list, an optional its value or None, a map a dict. Raises RunError with
        all that is wrong with the inputs (R1…), what went wrong at which node (R2…), or which limit was met (R3…).
        """
        names = tuple(self.output_names if output_names is None else output_names)
        feeds = self._feeds(feed_inputs)
        self._check_names(names)
        if names not in self._plans:
            self._plans[names] = self._programs.main(names)
        program = self._plans[names]
        run = self._run = Evaluation(self.limits, self._seed, self._trace, self.registry)
        try:
            with np.errstate(all="ignore"):
                results = run.execute(program, [feeds.get(name, ABSENT) for name in program.inputs])
        except MemoryError as error:
            raise RunError(_no_memory("", "the machine has no more memory")) from error
        given = {id(value) for value in feeds.values()}
        return [_owned(value, given) for value in results]

    def _check_names(self, names: tuple[str, ...]) -> None:
        unknown = [name for name in names if name not in self._defined]
        if unknown:
            help = f"its outputs are {', '.join(map(printable, self.output_names))}; nodes' outputs may be named, too"
            raise RunError(
                Finding("R104", f"the model computes no value '{printable(name)}'", help=help) for name in unknown
            )

    def _feeds(self, given: Mapping[str, Any]) -> dict[str, Any]:
        findings = []
        declared = {each.name: each for each in self.inputs}
        feeds = {}
        for name, value in given.items():
            if name not in declared:
                help = f"its inputs are {', '.join(map(printable, declared)) or 'none'}"
                findings.append(Finding("R102", f"the model has no input '{printable(name)}'", help=help))
                continue
            feeds[name], why = fitted(value, declared[name])
            if why:
                findings.append(Finding("R103", f"the input '{printable(name)}' does not fit its declaration", why=why))
        for each in self.inputs:
            optional = each.type is not None and each.type.startswith("optional(")
            if each.name not in given and not each.has_default and not optional:
                message, help = f"the input '{printable(each.name)}' is missing", f"give it: {described(each)}"
                findings.append(Finding("R101", message, help=help))
        if findings:
            raise RunError(findings)
        return feeds


def described(value: Declared) -> str:
    """Return a declaration in words: "tensor(float) of shape [N, 3]"."""
    shape = "" if value.shape is None else f" of shape [{', '.join('?' if d is None else str(d) for d in value.shape)}]"
    return printable(f"{value.type or 'any type'}{shape}")


def _declared(value: Any, has_default: bool = False) -> Declared:
    return Declared(value.name, type_string(value.type), shape_of(value.type), has_default)


def fitted(value: Any, declared: Declared) -> tuple[Any, str]:
    """Return a value in the form that kernels take, and why it does not fit its declaration, "" where it does."""
    kind = declared.type.removeprefix("sparse_") if declared.type is not None else None  # its values are dense
    if kind is None or not kind.startswith("tensor("):
        value = _plain(value)
        actual = type_of(value)
        if kind is not None and not _may_be(value, kind):
            return value, f"it is {actual}, and the model asks for {kind}"
        return value, ""
    wanted = dtype_of_element(kind[7:-1])
    try:
        array = value if isinstance(value, np.ndarray | np.generic) else np.asarray(value, wanted)
    except (ValueError, TypeError, OverflowError) as error:
        return value, f"it is no {kind}: {error}"
    array = _plain(np.asarray(array))
    if array.dtype != wanted:
        return array, f"it is {type_of(array)}, and the model asks for {kind}"
    if declared.shape is not None and not _shape_fits(array.shape, declared.shape):
        return array, f"its shape is {list(array.shape)}, and the model asks for {described(declared)}"
    return array, ""


def _shape_fits(actual: tuple[int, ...], declared: Shape) -> bool:
    return len(actual) == len(declared) and all(
        not isinstance(d, int) or d == a for a, d in zip(actual, declared, strict=True)
    )


def _may_be(value: Any, kind: str) -> bool:
    """Return whether a value is of a type; lists and dicts are looked at through their first entry."""
    while True:
        if kind.startswith("optional("):
            if value is None:
                return True
            kind = kind[9:-1]
        elif kind.startswith("seq("):
            if not isinstance(value, list):
                return False
            if not value:
                return True
            value, kind = value[0], kind[4:-1]
        elif kind.startswith("map("):
            return isinstance(value, dict)
        else:
            return isinstance(value, np.ndarray) and type_of(value) == kind


def _plain(value: Any) -> Any:
    """Return arrays in the machine's byte order and text as objects, in lists too."""
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "US":
            return value.astype(object)
        return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value


def type_of(value: Any) -> str:
    """Return the type string of a value; "seq(?)" and "optional(?)" where an empty one does not tell."""
    wrappers = ""
    while isinstance(value, list):
        if not value:
            return f"{wrappers}seq(?){')' * wrappers.count('(')}"
        wrappers, value = f"{wrappers}seq(", value[0]
    if isinstance(value, np.ndarray):
        number = data_type_of(value.dtype)
        kind = f"tensor({element_name(number) if number else value.dtype})"
    elif isinstance(value, dict):
        kind = "map(?)"
    else:
        kind = "optional(?)" if value is None else type(value).__name__
    return f"{wrappers}{kind}{')' * wrappers.count('(')}"


def _owned(value: Any, given: set[int]) -> Any:
    """Return a result that the caller may change: arrays that are views, constants or inputs are copied."""
    if isinstance(value, list):
        return [_owned(each, given) for each in value]
    if isinstance(value, np.ndarray) and (
        not value.flags.owndata or not value.flags.writeable or id(value) in given
    ):
        return value.copy()
    return value


@dataclass(eq=False, slots=True)
class _Frame:
    """A program that is being run; `waiting` is the generator that asked for it, if one did.

    `live` are the bytes of values that its steps computed and that it holds, `held` those that `waiting` holds.
    """

    program: Program
    slots: list[Any]
    position: int = 0
    waiting: Generator[Any, Any, Any] | None = None
    live: int = 0
    held: int = 0

    def current(self) -> Step:
        """Return the step that is being run."""
        return self.program.steps[self.position]


@dataclass(eq=False)
class Evaluation:
    """One evaluation: its stack, and what it has used up."""

    limits: Limits
    seed: int | None
    trace: Trace | None
    registry: Registry
    steps: int = 0
    live: int = 0
    generators: dict[Any, np.random.Generator] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.max_bytes = self.limits.bytes()
        self.max_steps = self.limits.max_steps if self.limits.max_steps is not None else 1 << 62
        self.deadline = time.monotonic() + self.limits.timeout if self.limits.timeout is not None else _NEVER

    def execute(self, program: Program, inputs: Sequence[Any]) -> list[Any]:
        """Run a program to its end, and return its outputs. An input that is ABSENT has its default."""
        stack = [self._frame(program, inputs, None)]
        try:
            return self._drive(stack)
        except RunError as error:
            calls = [frame.program.place(step) for frame in stack[:-1] if (step := frame.current()).call is not None]
            if not calls:
                raise
            # The innermost calls tell enough of a deep chain.
            chain = "".join(f", called by {place}" for place in calls[:-4:-1])
            findings = [replace(each, place=f"{each.place}{chain}".removeprefix(", ")) for each in error.findings]
            raise RunError(findings) from error

    def _drive(self, stack: list[_Frame]) -> list[Any]:
        while True:
            frame = stack[-1]
            steps = frame.program.steps
            pushed = False
            while frame.position < len(steps):
                step = steps[frame.position]
                request = self._step(frame, step)
                if request is not None:
                    stack.append(request)
                    pushed = True
                    break
                frame.position += 1
            if pushed:
                continue
            outputs = [frame.slots[slot] if slot != ABSENT else None for slot in frame.program.outputs]
            stack.pop()
            self.live -= frame.live
            if not stack:
                return outputs
            caller = stack[-1]
            step = caller.current()
            if caller.waiting is None:  # a function has returned
                self._store(caller, step, tuple(outputs))
                caller.position += 1
                continue
            request = self._resume(caller, step, outputs)
            if request is not None:
                stack.append(request)
            else:
                caller.position += 1

    def _frame(self, program: Program, inputs: Sequence[Any], outer: _Frame | None) -> _Frame:
        slots: list[Any] = [None] * program.size
        if program.loaded is None:
            program.loaded = [(slot, read()) for slot, read in program.constants]
        for slot, value in program.loaded:
            slots[slot] = value
        for slot, value in enumerate(inputs):
            if value is not ABSENT:
                slots[slot] = value
        if outer is not None:
            for outside, inside in program.captured:
                slots[inside] = outer.slots[outside]
        return _Frame(program, slots)

    def _step(self, frame: _Frame, step: Step) -> _Frame | None:
        """Run a step; return the frame that has to be run before it is done, None where it is."""
        self._count(frame, step)
        slots = frame.slots
        inputs = [slots[slot] if slot >= 0 else None for slot in step.inputs]
        if step.call is not None:
            program = step.called = step.called or step.call()
            if len(inputs) > len(program.inputs):
                message = "the function is called with too many inputs"
                raise RunError(Finding("R202", message, frame.program.place(step)))
            return self._frame(program, [*inputs, *[None] * (len(program.inputs) - len(inputs))], None)
        signature = tuple([each.dtype if each.__class__ is np.ndarray else type_of(each) for each in inputs])
        known = signature in step.seen
        if not known:
            self._check_types(frame, step, inputs)
        attributes = step.attributes
        if step.takes_context:
            attributes = {**attributes, "context": CallOfStep(self, frame, step)}
        assert step.function is not None
        try:
            if step.legal is not None:
                self._check_attributes(step, inputs)
            result = step.function(*inputs, **attributes)
            if step.is_generator:
                step.seen.add(signature)
                frame.waiting = result
                return self._resume(frame, step, None)
        except Exception as error:
            raise self._failure(frame, step, inputs, error) from error
        if not known:
            if not step.any_type:
                self._check_outputs(frame, step, result)
            step.seen.add(signature)
        self._store(frame, step, result)
        return None

    def _resume(self, frame: _Frame, step: Step, outputs: list[Any] | None) -> _Frame | None:
        """Let the waiting kernel go on; return the frame of the graph that it asks for, or store its results."""
        assert frame.waiting is not None
        try:
            program, inputs = frame.waiting.send(outputs)
            self._count(frame, step)
            if len(inputs) != len(program.inputs):
                inputs = program.completed(inputs)
            return self._frame(program, inputs, frame)
        except StopIteration as done:
            frame.waiting = None
            self.live -= frame.held
            frame.live -= frame.held
            frame.held = 0
            self._store(frame, step, done.value)
            return None
        except Exception as error:
            inputs = [frame.slots[slot] if slot >= 0 else None for slot in step.inputs]
            raise self._failure(frame, step, inputs, error) from error

    def _store(self, frame: _Frame, step: Step, result: Any) -> None:
        """Put results into their slots, free what nobody needs any more, and keep account of the bytes."""
        slots, live = frame.slots, 0
        if result.__class__ is not tuple:
            result = (result,)
        for slot, value in zip(step.outputs, result, strict=False):
            if slot < 0:
                continue
            if value.__class__ is not np.ndarray and isinstance(value, np.generic):
                value = np.asarray(value)
            slots[slot] = value
            live += nbytes(value)
            if self.trace is not None:
                self.trace(frame.program.place(step), frame.program.names[slot], value)
        if self.live + live > self.max_bytes:
            why = f"{self.live + live:,} bytes of values would live at once"
            raise RunError(_no_memory(frame.program.place(step), why))
        for slot in step.frees:
            value = slots[slot]
            if value is not None:
                live -= nbytes(value)
                slots[slot] = None
        self.live += live
        frame.live += live

    def _count(self, frame: _Frame, step: Step) -> None:
        """Count a step. Raises RunError R301 where it is one too many, R303 where time is up."""
        self.steps += 1
        if self.steps > self.max_steps:
            raise RunError(
                Finding(
                    "R301", "the evaluation was stopped: too many steps", frame.program.place(step),
                    f"{self.max_steps:,} nodes were run", "allow more: --max-steps, or Limits(max_steps=…)",
                )
            )
        if self.deadline is not _NEVER:
            self.check_time(frame, step)

    def check_time(self, frame: _Frame, step: Step) -> None:
        """Raise RunError R303 where time is up."""
        if time.monotonic() > self.deadline:
            raise RunError(
                Finding(
                    "R303", "the evaluation was stopped: time limit reached", frame.program.place(step),
                    f"it may take {self.limits.timeout:g} seconds", "allow more: --timeout, or Limits(timeout=…)",
                )
            )

    def _check_types(self, frame: _Frame, step: Step, inputs: Sequence[Any]) -> None:
        """Raise RunError R202 where inputs are not what the operator's schema allows; told of all at once."""
        schema = step.schema
        if schema is None:
            return
        findings = []
        if len(inputs) > schema.max_input:
            findings.append(Finding("R202", f"{len(inputs)} inputs are too many", why=f"{schema.max_input} at most"))
        bound: dict[str, tuple[str, str]] = {}
        for position, formal in enumerate(schema.inputs):
            given = inputs[position:] if formal.option == "variadic" else inputs[position : position + 1]
            if formal.option == "single" and (not given or (given[0] is None and not _optional(schema, formal))):
                findings.append(Finding("R202", f"the input '{formal.name}' is missing"))
            for value in given:
                actual = type_of(value)
                if value is None or "?" in actual:
                    continue
                allowed = schema.allowed(formal)
                if actual not in allowed and f"optional({actual})" not in allowed:
                    message = f"the input '{formal.name}' cannot be {actual}"
                    why = f"{schema.name} {schema.since_version} takes {', '.join(sorted(allowed))}"
                    findings.append(Finding("R202", message, why=why))
                elif formal.homogeneous and formal.type in schema.types:
                    first = bound.setdefault(formal.type, (formal.name, actual))
                    if first[1] != actual and "optional" not in f"{allowed}":
                        message = f"the input '{formal.name}' is {actual}, and '{first[0]}' is {first[1]}"
                        findings.append(Finding("R202", message, why=f"both are of the type {formal.type}"))
        if findings:
            place = frame.program.place(step)
            raise RunError(replace(each, place=place) for each in findings)

    def _check_attributes(self, step: Step, inputs: Sequence[Any]) -> None:
        """Raise Violation where an attribute breaks a constraint that its declaration names."""
        assert step.schema is not None
        assert step.legal is not None
        ranks = tuple([each.ndim if each.__class__ is np.ndarray else None for each in inputs])
        if ranks in step.legal:
            return
        check_constraints(step.schema, step.attributes, ranks)
        step.legal.add(ranks)

    def _check_outputs(self, frame: _Frame, step: Step, result: Any) -> None:
        """Raise RunError where a kernel gives what its operator does not give at this version, or nothing.

        R202 for a type that an attribute asks for and a newer version has, R204 for no value, or one that is no tensor.
        """
        schema = step.schema
        results = result if result.__class__ is tuple else (result,)
        for number, slot in enumerate(step.outputs):
            if schema is None or slot == ABSENT or not schema.outputs:
                continue
            formal = schema.outputs[min(number, len(schema.outputs) - 1)]
            value = results[number] if number < len(results) else None
            allowed = schema.allowed(formal)
            actual = type_of(np.asarray(value) if isinstance(value, np.generic) else value)
            if actual in allowed or any(each.startswith("optional(") for each in allowed):
                continue
            message, code = f"the output '{formal.name}' cannot be {actual}", "R202"
            why = f"{schema.name} {schema.since_version} gives {', '.join(allowed)}"
            if value is None:
                message, code = f"there is no output '{formal.name}'", "R204"
                why = f"{schema.name} {schema.since_version} does not give it on these inputs and attributes"
            elif not isinstance(value, np.ndarray | np.generic):
                if not all(each.startswith("tensor(") for each in allowed):
                    continue
                code = "R204"
            raise RunError(Finding(code, message, frame.program.place(step), why))

    def _failure(self, frame: _Frame, step: Step, inputs: Sequence[Any], error: Exception) -> BaseException:
        """Return what a kernel raised as an error that names the node, its inputs and the constraint."""
        place = frame.program.place(step)
        if isinstance(error, OpsetError):
            return type(error)(
                each if each.place else Finding(each.code, each.message, place, each.why, each.help, each.file)
                for each in error.findings
            )
        inputs_are = f"its inputs are {', '.join(map(outline, inputs)) or 'none'}"
        if isinstance(error, Violation):
            name = step.schema.name if step.schema else step.node.op_type
            text = self._constraint(step, error.label)
            message = f"{printable(name)} asks for: {text}" if text else f"{printable(name)} breaks {error.label}"
            why = "; ".join(part for part in (error.detail, inputs_are) if part)
            return RunError(Finding("R203", message, place, f"{error.label}: {why}"))
        if isinstance(error, MemoryError):
            return RunError(_no_memory(place, str(error)))
        said = f"{type(error).__name__}: {error}" if not isinstance(error, ValueError | IndexError) else str(error)
        message = "the operator cannot be computed on these inputs"
        return RunError(Finding("R204", message, place, f"{said[:500]}; {inputs_are}"))

    def _constraint(self, step: Step, label: str) -> str:
        if step.schema is None:
            return ""
        constraints: Mapping[str, str] = self.registry.documentation(step.schema).constraints
        return constraints.get(label, "")


@dataclass(eq=False, slots=True)
class CallOfStep:
    """What a kernel may ask of the run; see opset.reference.registration.Call."""

    run: Evaluation
    frame: _Frame
    step: Step

    @property
    def outputs(self) -> int:
        """How many outputs the node names."""
        return len(self.step.outputs)

    @property
    def version(self) -> int:
        """The version of the operator, its since_version."""
        return self.step.schema.since_version if self.step.schema else 0

    def wants(self, output: int) -> bool:
        """Return whether the node names this output."""
        return output < len(self.step.outputs) and self.step.outputs[output] != ABSENT

    def reserve(self, count: int, dtype: Any = np.float32) -> None:
        """Raise RunError R302 where so many elements more are beyond the limit."""
        needed = int(count) * np.dtype(dtype).itemsize
        if self.run.live + needed > self.run.max_bytes:
            why = f"it needs {needed:,} bytes, and {self.run.max_bytes:,} are allowed in all"
            raise RunError(_no_memory(self.frame.program.place(self.step), why))

    def hold(self, value: Any) -> None:
        """Count a value as live until the node is done. Raises RunError R302 beyond the limit."""
        size = nbytes(value) + _OVERHEAD
        self.run.live += size
        self.frame.live += size
        self.frame.held += size
        if self.run.live > self.run.max_bytes:
            why = f"{self.run.live:,} bytes of values would live at once"
            raise RunError(_no_memory(self.frame.program.place(self.step), why))

    def check_time(self) -> None:
        """Raise RunError R303 where time is up."""
        self.run.check_time(self.frame, self.step)

    def rng(self, seed: float | None = None) -> np.random.Generator:
        """Return the node's source of chance; the same one each time that the node is run."""
        key = id(self.step)
        if key not in self.run.generators:
            if seed is not None:
                entropy: Any = np.float32(seed).view(np.uint32)
            elif self.run.seed is not None:
                entropy = (self.run.seed, zlib.crc32(self.frame.program.place(self.step).encode()))
            else:
                entropy = None
            self.run.generators[key] = np.random.default_rng(entropy)
        return self.run.generators[key]


def _optional(schema: Any, formal: Any) -> bool:
    return any(each.startswith("optional(") for each in schema.allowed(formal))


def _no_memory(place: str, why: str) -> Finding:
    help = "allow more: --max-bytes, or Limits(max_bytes=…)"
    return Finding("R302", "the evaluation was stopped: too much memory", place, why, help)


def outline(value: Any) -> str:
    """Return a value's type and shape in a few words: "tensor(float)[2, 3]"."""
    if isinstance(value, np.ndarray):
        return f"{type_of(value)}{list(value.shape)}"
    if isinstance(value, list):
        return f"{type_of(value)} of {len(value)}"
    return "nothing" if value is None else type_of(value)
