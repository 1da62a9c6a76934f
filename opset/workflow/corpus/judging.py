"""Judges the outputs of an example by the kernel of its operator, and by other forms of the operator.

A function body or a lowering is a second implementation: it expresses the operator by other operators, whose kernels
then compute it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opset.budget import Budget, Limits
from opset.errors import Finding, OpsetError, RunError
from opset.opsets.registry import Registry
from opset.reference.comparison import ABSOLUTE, tolerance_of
from opset.reference.example_models import model_of
from opset.schemas.example import Example, is_random
from opset.schemas.model import OpSchema
from opset.version_converter.result import Conversion
from opset.version_converter.routes import Verdict
from opset.workflow.examples.conversions import body_opsets, conversion, express_by_body, with_standard
from opset.workflow.examples.runner import PACKAGE_MISSING, ExampleRunner, disagreements, error_text

LIMITS = Limits(max_steps=1_000_000, max_bytes=1 << 30, timeout=60)


def case_tolerance(example: Example, expected: Sequence[Any]) -> tuple[dict[str, float], str]:
    """Return the tolerances of a test case by name, "rtol" and "atol", and the reason for them as text.

    If the example states a tolerance, both are this number. Otherwise, `rtol` is the usual tolerance of the least exact
    element type among `expected`, the expected outputs, and `atol` is a thousandth of `rtol`. Both are 0.0 if all
    element types are exact, such as integers.
    """
    if example.tolerance is not None:
        return {"rtol": example.tolerance, "atol": example.tolerance}, "stated by the example"
    kinds = {array.dtype for value in expected for array in _arrays(value)}
    widest = max(kinds, key=lambda dtype: (tolerance_of(dtype), dtype.name), default=None)
    rtol = 0.0 if widest is None else tolerance_of(widest)
    if widest is None or not rtol:
        return {"rtol": 0.0, "atol": 0.0}, "results are exact"
    why = "sums in another order" if widest.itemsize > 2 else "two units of the last digit"
    return {"rtol": rtol, "atol": float(f"{rtol * ABSOLUTE:.6g}")}, f"usual for {widest.name}: {why}"


def _arrays(value: Any) -> Iterator[Any]:
    """Yield the arrays in a value: an array itself, or those in a list or dict, at any depth; else yield nothing."""
    if isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _arrays(each)
    elif hasattr(value, "dtype"):
        yield value


class Judge:
    """Evaluates examples on kernels, function bodies and lowerings, which have to confirm the outputs."""

    def __init__(self, registry: Registry, budget: Budget | None = None) -> None:
        """Create a judge for the operators of a registry; `budget` is the work of all evaluations together."""
        self._runner = ExampleRunner(registry, LIMITS, budget)

    def judge_example(self, schema: OpSchema, example: Example) -> list[str]:
        """Return the names of this package's implementations that confirm an example, such as ["kernel"].

        Further names are "function body of opset 13" and "lowering at version 13"; a lowering is an adapter that
        expresses the node by other operators. The result is [] if no implementation computes the example.

        The kernel confirms an example by computing its outputs. If the example breaks a constraint, the kernel confirms
        it by refusing the inputs for this constraint. Function bodies and lowerings are run only if the example states
        outputs that are not random.

        Raises OpsetError T211 if the kernel contradicts the example, T212 if a function body or a lowering contradicts
        it, and BudgetExceeded if the budget is used up.
        """
        self._runner.clear_values()
        judges = ["kernel"] if self._is_right_by_kernel(schema, example) else []
        if not example.error and not is_random(example):
            judges += self._agreeing_implementations(schema, example)
        return judges

    def _is_right_by_kernel(self, schema: OpSchema, example: Example) -> bool:
        """Return whether the kernel confirms an example.

        The result is False if there is no kernel, or if a package that it needs is missing. Raises OpsetError T211 if
        the kernel contradicts the example.
        """
        if self._runner.why_no_kernel(schema):
            return False
        try:
            outputs = self._runner.outputs(schema, example)
        except RunError as error:
            if error.code == PACKAGE_MISSING:
                return False
            if example.error and error.code == "R203" and error.why.startswith(f"{example.error}: "):
                return True
            why = error_text(error)
        else:
            why = "; ".join(disagreements(example, outputs))
            if example.error:
                why = f"it computes outputs, and the example says that {example.error} is broken"
        if why:
            raise OpsetError(Finding("T211", "the kernel contradicts the example", why=why))
        return True

    def _agreeing_implementations(self, schema: OpSchema, example: Example) -> Iterator[str]:
        """Yield the names of the function bodies and lowerings that confirm an example: "lowering at version 13".

        A lowering is an adapter that expresses the node by other operators. A function body or lowering is left out if
        it cannot express the example's node, or if a package that it needs is missing. Raises OpsetError T212 if one
        contradicts the example.
        """
        for name, converted in self._expressions(schema, example):
            if converted.model is None:
                continue
            try:
                why = "; ".join(disagreements(example, self._runner.run(converted.model.as_given(), example)))
            except RunError as error:
                if error.code == PACKAGE_MISSING:
                    continue
                why = error_text(error)
            if why:
                raise OpsetError(Finding("T212", f"the {name} contradicts the example", why=why))
            yield name

    def _expressions(self, schema: OpSchema, example: Example) -> Iterator[tuple[str, Conversion]]:
        """Yield (name, conversion) for each function body of a version, oldest first.

        The conversion replaces the node in the example's model by the body, at the first opset of the body. If this
        conversion fails, its model is None, and a further pair is yielded for the last opset of the body. If the
        version has no bodies, the only pair is for its lowering, which replaces the node by other operators. Nothing is
        yielded for a version without bodies and lowering.
        """
        runner = self._runner
        opsets = {schema.domain: schema.since_version}
        if schema.function:
            done = 0
            for opset in body_opsets(runner.registry, schema):
                body = max(each.opset for each in schema.function if each.opset <= opset)
                if body == done:
                    continue
                model = with_standard(model_of(schema, example), opset)
                converted = express_by_body(runner.registry, model, schema, opset)
                done = body if converted.model is not None else done
                yield f"function body of opset {body}", converted
        elif runner.routes.route(schema.name, schema.domain, opsets, {schema.domain: 0}).verdict is not Verdict.REFUSE:
            converted = conversion(runner, model_of(schema, example), schema, 0)
            yield f"lowering at version {schema.since_version}", converted
