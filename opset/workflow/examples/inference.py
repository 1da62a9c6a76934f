"""Checks that inference agrees with examples: with known sizes, and with dim_params in place of sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from opset.errors import Finding, OpsetError, RunError
from opset.inference.building.dimensions import Dim, TooComplex, substitute, variables
from opset.inference.building.types import Type
from opset.inference.engine.result import Inference, infer
from opset.reference.example_models import model_with_inputs, value_of
from opset.reference.values import outline, type_of
from opset.schemas.example import Example, ExampleValue
from opset.schemas.model import OpSchema
from opset.workflow.examples.runner import Examination, ExampleRunner, InferenceGap, error_text, version_name

SYMBOLIC, OPEN = "dim_params", "dim_params, no values"
"""Forms in which sizes of inputs are dim_params: integers and flags are known, or nothing is."""
VALUES = "values"
"""The form in which all inputs are constants."""
UNRANKED = "types alone"
"""The form in which types alone are known, for functions of users."""
_WHOLE = frozenset(("tensor(int64)", "tensor(int32)", "tensor(bool)"))
Structure = Any
"""Type and shape: ("tensor", element, shape), a list of these, {} for a map, None for a value that is left out."""


def check_inference(runner: ExampleRunner, schema: OpSchema, example: Example, report: Examination) -> None:
    """Test whether inference agrees with an example of a version, and add the result to a report.

    Inference runs with the sizes of inputs as numbers, and again with names (dim_params) in their place. An inference
    function of a user is also tried on inputs of unknown rank. All runs are one test, and only the first finding is
    added. Outputs that are not fully known are added to `report.gaps`. If inference does not see a broken constraint,
    this is added to `report.unseen`. The test is skipped if inference has no rule for the version.
    """
    if why := runner.why_not_inferred(schema):
        report.skip("inference", why)
        return
    values = {index: value_of(each) for index, each in enumerate(example.inputs) if each is not None}
    forms: dict[str, Callable[[ExampleValue], bool]]
    forms = {VALUES: is_dense, SYMBOLIC: _has_whole_numbers, OPEN: lambda value: False}
    if not any(each is not None and _has_whole_numbers(each) for each in example.inputs):
        del forms[OPEN]
    findings: list[Finding] = []
    for form, is_constant in forms.items():
        model, sizes = model_with_inputs(schema, example, values, is_constant, symbolic=form != VALUES)
        run = _InferenceRun(runner, schema, example, form)
        findings += run.check(model, sizes)
        if run.gaps and form == SYMBOLIC and any(each is not None and _is_small(each) for each in example.inputs):
            # Sizes may follow from numbers that are no integers, such as scales.
            model, sizes = model_with_inputs(schema, example, values, _is_small, symbolic=True)
            rerun = _InferenceRun(runner, schema, example, form)
            findings += rerun.check(model, sizes)
            run.gaps = rerun.gaps
        report.gaps += run.gaps
        if run.unseen:
            report.unseen.add((schema.name, example.name))
        if findings:
            break
    rule = runner.rules.find(schema)
    if not findings and not example.error and rule is not None and not rule.is_ours:
        model, _ = model_with_inputs(schema, example, values, lambda value: False, symbolic=True)
        for value in model.graph.input:
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
        findings += _InferenceRun(runner, schema, example, UNRANKED).check(model, {})
    report.count("inference", findings[:1])


def is_dense(value: ExampleValue) -> bool:
    """Return whether a value of an example is a dense tensor with stated elements."""
    return value.type.startswith("tensor(") and value.content is not None


def _has_whole_numbers(value: ExampleValue) -> bool:
    """Return whether a value is a tensor of int64, int32 or bool with stated elements.

    Inference computes with the elements of such tensors.
    """
    return is_dense(value) and value.type in _WHOLE


def _is_small(value: ExampleValue) -> bool:
    """Return whether an input is a tensor with stated elements from which sizes of outputs may follow, such as scales.

    A tensor of int64, int32 or bool may have any shape. A tensor of another type must have rank 0, 1 or unknown.
    """
    return is_dense(value) and (value.type in _WHOLE or value.shape is None or len(value.shape) < 2)


class _InferenceRun:
    """One inference of an example.

    `form` says how inputs are given: VALUES, as constants; SYMBOLIC, with dim_params as sizes, but integers and flags
    as constants; OPEN, with dim_params and no constants.
    """

    def __init__(self, runner: ExampleRunner, schema: OpSchema, example: Example, form: str) -> None:
        """Create a run of inference on an example, without results.

        `form` says what the run knows of the inputs. It is one of

        - VALUES: their elements, as constants;
        - SYMBOLIC: dim_params as sizes, and the elements of integers, flags or small tensors;
        - OPEN: dim_params as sizes, and no elements;
        - UNRANKED: types alone.
        """
        self.runner = runner
        self.schema = schema
        self.example = example
        self.form = form
        self.gaps: list[InferenceGap] = []
        self.unseen = False
        """Whether a broken constraint is not reported, although all inputs are known."""

    def check(self, model: Any, sizes: dict[str, int]) -> Iterator[Finding]:
        """Infer a model, and yield findings if inference fails (T105) or contradicts an output of the example (T104).

        If the example breaks a constraint on purpose, only a report of a different fault is a finding. An output whose
        sizes stay unknown is added to `gaps`, but not in the forms OPEN and UNRANKED: they hide the elements of inputs
        from inference. `sizes` has the number for which each dim_param of the model stands.
        """
        try:
            result = infer(model, schemas=self.runner.registry, strict=True)
        except OpsetError as error:
            yield self._finding("T105", "cannot be inferred", error_text(error))
            return
        if self.example.error:
            yield from self._check_constraint(result)
            return
        if result.findings:
            first = result.findings[0]
            help = first.help if first.code == "I303" else ""
            yield self._finding("T105", "is refused by inference", error_text(first), help)
            return
        for index, value in enumerate(self.example.outputs or ()):
            if value is None:
                continue
            inferred = result.type(f"output_{index}")
            if why := self._output_disagreement(inferred, value, index, sizes):
                yield self._finding("T104", "is contradicted by inference", why)
            elif self.form not in (OPEN, UNRANKED) and not _is_complete(inferred, sizes):
                text = "nothing" if inferred is None else str(inferred)
                gap = InferenceGap(self.schema.name, self.schema.since_version, self.example.name, self.form, text)
                self.gaps += [gap] if inferred is None or inferred.kind == "tensor" else []

    def _check_constraint(self, result: Inference) -> Iterator[Finding]:
        """Yield a finding T105 if inference reports a fault other than the broken constraint.

        The example breaks this constraint on purpose; its label, such as "C1", is the `error` of the example. `unseen`
        becomes True if inference knows the values of all inputs, but reports nothing.
        """
        label = self.example.error
        # A contradiction (I101) follows from the broken constraint.
        broken = [each for each in result.findings if each.code != "I101"]
        others = [each for each in broken if each.code == "I203" or not each.why.startswith(f"{label}: ")]
        if others:
            yield self._finding("T105", f"breaks {label}, and inference reports something else", error_text(others[0]))
        self.unseen = not result.findings and self.form == VALUES

    def _output_disagreement(
        self, inferred: Type | None, value: ExampleValue, index: int, sizes: dict[str, int]
    ) -> str:
        """Return how the type inferred for the output at `index` contradicts its `value` in the example, or "".

        `sizes` are the numbers for which the dim_params of the model stand. A size that depends on other dim_params
        contradicts nothing, and neither does an `inferred` of None.
        """
        if inferred is None:
            return ""
        name = f"output {index}"
        if inferred.text is not None and inferred.text != value.type:
            return f"{name}: inference gives {inferred}, and the example has {value.type}"
        why = disagreement(inferred, structure_of(value_of(value)), sizes, bind=False)
        if not why:
            return ""
        sizes_text = f" with {', '.join(f'{key} = {size}' for key, size in sizes.items())}" if sizes else ""
        return f"{name}: inference gives {inferred}{sizes_text}; {self._expected_and_computed(value, index)}"

    def _expected_and_computed(self, value: ExampleValue, index: int) -> str:
        """Return a text with the type and shape of an output: as the example states it, and as the kernel computes it.

        `value` is the output in the example, `index` its index. Without a kernel, or if it fails, the text has only the
        stated type and shape; if both are the same, the text has them once.
        """
        shown = outline(value_of(value))
        outputs = None
        if not self.runner.why_not_computed(self.schema):
            with suppress(RunError):
                outputs = self.runner.outputs(self.schema, self.example)
        if outputs is None:
            return f"the example has {shown}"
        number = sum(each is not None for each in (self.example.outputs or ())[:index])
        computed = outline(outputs[number]) if number < len(outputs) else "nothing"
        if computed == shown:
            return f"the example and the kernel have {shown}"
        return f"the example has {shown}, and the kernel computes {computed}"

    def _finding(self, code: str, what: str, why: str, help: str = "") -> Finding:
        """Return a finding about the example; `what` is the end of its message: "… the example 'plain' {what}".

        `help` is used only if the inputs were constants. In any other case, the help says what inference knew of the
        inputs.
        """
        message = f"{version_name(self.schema)}: the example '{self.example.name}' {what}"
        if self.form == UNRANKED:
            help = "of inputs, types alone were known: call.require_shape(0) then leaves the outputs unknown"
        elif self.form != VALUES:
            help = f"the sizes of inputs were dim_params: {self.form}"
        return Finding(code, message, self.runner.place_of(self.schema, self.example), why, help)


def _is_complete(inferred: Type | None, sizes: dict[str, int]) -> bool:
    """Return whether all sizes of an inferred tensor type are known, as numbers or by the dim_params in `sizes`.

    The result is False if the type or its rank is unknown.
    """
    if inferred is None or inferred.shape is None:
        return False
    return all(size is not None and variables(size) <= sizes.keys() for size in inferred.shape)


def structure_of(value: Any) -> Structure:
    """Return the type and shape of a value: ("tensor", element type, shape) for a tensor.

    An example is ("tensor", "float", (2, 3)). For a sequence, the result is a list with the type and shape of each
    item; for a map, {}; for None, None.
    """
    if isinstance(value, list | tuple):
        return [structure_of(item) for item in value]
    if isinstance(value, dict):
        return {}
    return None if value is None else ("tensor", type_of(value)[7:-1], value.shape)


def disagreement(type_: Type | None, value: Structure, sizes: dict[str, int], bind: bool) -> str:
    """Return the first way in which an inferred type contradicts the type and shape of a value; "" if nothing does.

    Kind, element type, rank and sizes are compared; of a map only the kind. A size that is unknown, or depends on a
    dim_param that is not in `sizes`, contradicts nothing.

    Args:
        type_: Inferred type; None, if nothing is known, contradicts nothing.
        value: Type and shape of the value, as `structure_of` returns them; None for a value that is left out.
        sizes: The numbers for which dim_params stand, by name.
        bind: Whether new dim_params are added to `sizes`, with the value's size as their number.
    """
    if type_ is None:
        return ""
    if type_.kind == "optional":
        return "" if value is None else disagreement(type_.inner, value, sizes, bind)
    kind = "tensor"
    if isinstance(value, list | dict):
        kind = "seq" if isinstance(value, list) else "map"
    if value is None or kind != type_.kind.removeprefix("sparse_"):
        return f"{type_}, and the value is {'left out' if value is None else f'a {kind}'}"
    if kind == "seq":
        return next(filter(None, (disagreement(type_.inner, item, sizes, False) for item in value)), "")
    if kind == "map":
        return ""
    _, element, shape = value
    if type_.element not in (None, element):
        return f"{type_}, and the value is of {element}"
    if type_.shape is None:
        return ""
    if len(type_.shape) != len(shape):
        return f"{type_}, and the value's shape is {list(shape)}"
    for size, actual in zip(type_.shape, shape, strict=True):
        if bind and isinstance(size, Dim) and variables(size) == {str(size)}:
            sizes.setdefault(str(size), actual)
        number = size
        if isinstance(size, Dim) and variables(size) <= sizes.keys():
            try:
                number = substitute(size, sizes)
            except (TooComplex, ArithmeticError, ValueError) as error:
                return f"{type_}, which cannot be computed with {sizes}: {error!r}"
        if isinstance(number, int) and number != actual:
            return f"{type_}{f' with {sizes}' * isinstance(size, Dim)}, and the value's shape is {list(shape)}"
    return ""
