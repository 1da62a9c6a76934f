"""Runs a model on the reference kernels, within limits.

ReferenceEvaluator("model.onnx").run(None, {"x": x})
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opset.budget import Budget, Limits
from opset.errors import Finding, FindingList, RunError, listing, quote
from opset.file_names import list_paths
from opset.model.storage.container import Model, ModelLike, load
from opset.opsets.registry import Registry, Schemas, registry_with
from opset.options import checked_options
from opset.preparation import Freeze, read_model
from opset.reference.engine.compilation import Compiler
from opset.reference.engine.constants import ModelTensors
from opset.reference.engine.context import RandomNumbers
from opset.reference.engine.evaluation import Evaluation, Trace
from opset.reference.engine.limits import byte_limit, out_of_memory
from opset.reference.engine.programs import ABSENT, Program
from opset.reference.engine.resolution import Resolver
from opset.reference.limits import MAX_STEPS
from opset.reference.value_info import value_info_of
from opset.reference.values import fit_value

if TYPE_CHECKING:
    from opset.inference.engine.result import Inference


class ReferenceEvaluator:
    """Computes a model's outputs with the reference kernels, one for each definition that an operator ever had."""

    @checked_options
    def __init__(
        self,
        model: ModelLike,
        *,
        schemas: Schemas = (),
        dims: Mapping[str, int | str] | None = None,
        limits: Limits | None = None,
        freeze: Freeze = (),
        seed: int | None = None,
        trace: Trace | None = None,
        strict: bool = False,
        allow_external_roots: Iterable[str | Path] = (),
    ) -> None:
        """Read a model and prepare its runs.

        Args:
            model: a path, bytes, a Model or a ModelProto.
            schemas: folders of operator YAML beside the standard's.
            dims: numbers for sizes that the inputs leave open, by dim_param, or "x.0" for the first size of input x;
                inputs of other sizes are refused. A size that the model states as a number is changed, as
                `change_sizes` does it.
            limits: steps, bytes and seconds that a run may take.
            freeze: names of initializers that a caller may override, and that become constants, or "all".
            seed: seed of the random numbers of nodes without a `seed` of their own; by default, each run has others.
            trace: function that is called with (path of the node, name, value) for each computed value, in order.
            strict: whether forms that runtimes accept against the standard (`opset explain quirks`) are errors.
            allow_external_roots: folders, besides the model's own, that external data may be in.

        Raises:
            ModelError: if the model cannot be read or is malformed.
            UsageError: U103 for a name in `dims` that no input has, or in `freeze` that no initializer has.
        """
        self.model = load(model, allow_external_roots=list_paths(allow_external_roots))
        self.registry = registry_with(schemas)
        self.limits = limits or Limits()
        notes: list[str] = []
        if dims:
            from opset.inference.axes.changing import with_sizes  # most runs need no inference

            self.model, notes = with_sizes(self.model, dims, self.registry, limits)
        self._seed = seed
        self._trace = trace
        self._strict = strict
        self.model, index = read_model(self.model, self.registry, freeze, strict)
        proto = self.model.proto
        index.call_order()
        self.notes = [*index.notes, *notes]
        """What was put right before the model was read, and which nodes were computed as runtimes take them."""
        self._defined = index.main.definitions
        graph = proto.graph
        defaults = {tensor.name for tensor in graph.initializer}
        defaults |= {tensor.values.name for tensor in graph.sparse_initializer}
        self.inputs = tuple(value_info_of(proto, proto.name in defaults) for proto in graph.input)
        self.outputs = tuple(map(value_info_of, graph.output))
        self.max_bytes = byte_limit(self.limits)
        self._constants = ModelTensors(self.model, self.max_bytes)
        resolver, everything = Resolver(self.registry, strict), trace is not None
        self._compiler = Compiler(index, resolver, self._constants, self._infer_model, everything)
        self._programs: dict[tuple[str, ...], Program] = {}
        self._evaluation: Evaluation | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """Return how a pickle makes it again; the process that reads it compiles the model anew."""
        form = {"limits": self.limits, "seed": self._seed, "trace": self._trace, "strict": self._strict}
        return _restore_evaluator, (self.model, self.registry, form, self.notes)

    def _infer_model(self) -> Inference:
        """Return the inference of the model. Raises OpsetError if it is not possible."""
        from opset.inference.engine.result import infer  # most runs need no inference

        return infer(self.model, schemas=self.registry, limits=Limits(timeout=self.limits.timeout))

    @property
    def steps(self) -> int:
        """Number of nodes that the current run, or else the last one, has run."""
        return self._evaluation.budget.steps if self._evaluation is not None else 0

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs without a default, in order."""
        return [declared.name for declared in self.inputs if not declared.has_default]

    @property
    def output_names(self) -> list[str]:
        """Names of the outputs, in order."""
        return [declared.name for declared in self.outputs]

    def run(self, output_names: Sequence[str] | None, feed_inputs: Mapping[str, Any]) -> list[Any]:
        """Return the outputs, or the values of the main graph that `output_names` names, computed from inputs by name.

        A tensor is a numpy array, a sequence a list, an optional its value or None, a map a dict.

        Args:
            output_names: names of the values to compute, None for all outputs of the model.
            feed_inputs: values of the inputs by name; inputs with a default may be left out.

        Raises:
            RunError: R1… with all problems of the inputs, R2… for a node that failed, R3… for a limit that is reached.
        """
        names = tuple(self.output_names if output_names is None else output_names)
        feeds = self._fit_feeds(feed_inputs)
        if unknown := [name for name in names if name not in self._defined]:
            help = f"its outputs are {listing(self.output_names)}; outputs of nodes are possible, too"
            messages = [f"the model computes no value {quote(name)}" for name in unknown]
            raise RunError(Finding("R104", message, help=help) for message in messages)
        budget = Budget(self.limits, max_steps=MAX_STEPS, max_bytes=self.max_bytes)
        try:
            if names not in self._programs:
                self._programs[names] = self._compiler.main_program(names)
            program = self._programs[names]
            random = RandomNumbers(self._seed)
            evaluation = Evaluation(budget, self._constants, random, self._trace, self.registry, self.notes)
            self._evaluation = evaluation
            with np.errstate(all="ignore"):
                return evaluation.execute(program, [feeds.get(declared.name, ABSENT) for declared in program.inputs])
        except MemoryError as error:
            raise out_of_memory() from error

    def _fit_feeds(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the inputs in the form that kernels take. Raises RunError R101 to R103 for inputs that do not fit."""
        findings = FindingList()
        declared = {value_info.name: value_info for value_info in self.inputs}
        hint = f"its inputs are {listing([*declared]) or 'none'}"
        feeds = {}
        for name, value in values.items():
            if name not in declared:
                findings.append(Finding("R102", f"the model has no input {quote(name)}", help=hint))
                continue
            feeds[name], why = fit_value(value, declared[name])
            if why:
                findings.append(Finding("R103", f"the input {quote(name)} does not fit its declaration", why=why))
        for value_info in self.inputs:
            is_optional = value_info.type is not None and value_info.type.startswith("optional(")
            if value_info.name not in values and not value_info.has_default and not is_optional:
                message, help = f"the input {quote(value_info.name)} is missing", f"it has to be {value_info}"
                findings.append(Finding("R101", message, help=help))
        if findings:
            raise RunError(findings)
        return feeds


def _restore_evaluator(
    model: Model, registry: Registry, form: Mapping[str, Any], notes: Sequence[str]
) -> ReferenceEvaluator:
    """Return an evaluator that was pickled: of a model that was prepared before, with the notes about that."""
    evaluator = ReferenceEvaluator(model, schemas=registry, **form)
    evaluator.notes = [*notes]
    return evaluator
