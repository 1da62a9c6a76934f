"""Whether the outputs of an example are right: by the kernel of its operator, and by what expresses the operator.

A function body or a lowering is a second implementation: it states the operator in other operators, whose kernels
then compute it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opset.budget import Limits
from opset.errors import Finding, OpsetError, RunError
from opset.opsets.registry import Registry
from opset.schemas.model import Example, ExampleValue, OpSchema

LIMITS = Limits(max_steps=1_000_000, max_bytes=1 << 30, timeout=60)
MISSING = ("R201", "R205")
"""Codes of an evaluation that has no kernel, or lacks a package that it needs."""


def is_random(example: Example) -> bool:
    """Whether an example leaves values of outputs open: they are drawn at random."""
    return any(map(_is_open, example.outputs or ()))


def _is_open(value: ExampleValue | None) -> bool:
    return value is not None and value.content is None and value.shape is not None


def tolerance_of(example: Example, expected: Sequence[Any]) -> tuple[dict[str, float], str]:
    """Return the tolerances of a case as onnx's runner applies them, to all outputs alike, and the reason."""
    from opset.reference.comparison import ABSOLUTE, tolerance_of

    if example.tolerance is not None:
        return {"rtol": example.tolerance, "atol": example.tolerance}, "stated by the example"
    kinds = {array.dtype for value in expected for array in _arrays(value)}
    widest = max(kinds, key=lambda dtype: (tolerance_of(dtype), dtype.name), default=None)
    rtol = 0.0 if widest is None else tolerance_of(widest)
    if not rtol:
        return {"rtol": 0.0, "atol": 0.0}, "results are exact"
    assert widest is not None
    why = "sums in another order" if widest.itemsize > 2 else "two units of the last digit"
    return {"rtol": rtol, "atol": float(f"{rtol * ABSOLUTE:.6g}")}, f"usual for {widest.name}: {why}"


def _arrays(value: Any) -> Iterator[Any]:
    """Yield the arrays that a value consists of."""
    if isinstance(value, list | dict):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _arrays(each)
    elif hasattr(value, "dtype"):
        yield value


class Judge:
    """Evaluates examples on the kernels of a registry."""

    def __init__(self, registry: Registry) -> None:
        self.registry = registry

    def judged(
        self, schema: OpSchema, example: Example, model: Any, feeds: Mapping[str, Any], expected: Sequence[Any]
    ) -> list[str]:
        """Return by what the outputs of an example were judged.

        Raises OpsetError T211 where the kernel contradicts them, T212 where another implementation does.
        """
        judges = ["kernel"] if self._by_kernel(schema, example, model, feeds, expected) else []
        if not example.error and not is_random(example):
            judges += self._by_others(schema, example, model, feeds, expected)
        return judges

    def _by_kernel(
        self, schema: OpSchema, example: Example, model: Any, feeds: Mapping[str, Any], expected: Sequence[Any]
    ) -> bool:
        """Whether there is a kernel, which agrees. Raises OpsetError T211 where it does not."""
        message = "the kernel contradicts the example"
        try:
            results = self._outputs(model, feeds)
        except RunError as error:
            if error.code in MISSING:
                return False
            if example.error and error.code == "R203" and error.why.startswith(f"{example.error}: "):
                return True
            why = f"{error.code}: {error.why or error.message}"
            raise OpsetError(Finding("T211", message, why=why)) from error
        if example.error:
            why = f"it computes outputs, and the example says that {example.error} is broken"
            raise OpsetError(Finding("T211", message, why=why))
        if is_random(example):
            self._check_shapes(message, example, results)
        else:
            _check(message, "T211", example, expected, results)
        return True

    @staticmethod
    def _check_shapes(message: str, example: Example, results: Sequence[Any]) -> None:
        from opset.reference.values import type_of

        values = [each for each in example.outputs or () if each is not None]
        for value, result in zip(values, results, strict=True):
            if (value.type, value.shape) != (type_of(result), result.shape):
                wanted = f"{value.type}{list(value.shape or ())}"
                why = f"it is {type_of(result)}{list(result.shape)}, and {wanted} is expected"
                raise OpsetError(Finding("T211", message, why=why))

    def _by_others(
        self, schema: OpSchema, example: Example, model: Any, feeds: Mapping[str, Any], expected: Sequence[Any]
    ) -> Iterator[str]:
        """Yield the other implementations that agree. Raises OpsetError T212 where one does not."""
        from opset.version_converter import Target, converted
        from opset.version_converter.routes import Verdict, routes_of

        route = routes_of(self.registry).route(
            schema.name, schema.domain, {schema.domain: schema.since_version}, {schema.domain: 0}
        )
        if route.verdict is Verdict.REFUSE:
            return
        lowered = Target({}, lowered=frozenset({(schema.name, schema.domain)}))
        for opset, name in self._expressions(schema):
            moved = type(model)()
            moved.CopyFrom(model)
            if opset is not None:
                _import(moved, "", opset)
            found = converted(_loaded(moved), lowered, self.registry, limits=LIMITS)
            if found.refusals or found.model is None:
                continue
            try:
                results = self._outputs(found.model.proto, feeds)
            except RunError as error:
                if error.code in MISSING:
                    continue
                raise OpsetError(Finding("T212", f"the {name} contradicts the example", why=str(error))) from error
            _check(f"the {name} contradicts the example", "T212", example, expected, results)
            yield name

    def _expressions(self, schema: OpSchema) -> Iterator[tuple[int | None, str]]:
        """Yield the opsets of ai.onnx at which other operators express one, and what does so."""
        if not schema.function:
            if not schema.domain:
                yield None, f"lowering at opset {schema.since_version}"
            return
        first = schema.since_version if not schema.domain else 1
        versions = () if schema.domain else self.registry.versions(schema.name)
        newer = (each.since_version for each in versions if each.since_version > first)
        last = min(newer, default=self.registry.domains[""] + 1)
        serving = [body.opset for body in schema.function if body.opset <= first]
        if serving:
            yield first, f"function body of opset {max(serving)}"
        for opset in sorted({body.opset for body in schema.function if first < body.opset < last}):
            yield opset, f"function body of opset {opset}"

    def _outputs(self, model: Any, feeds: Mapping[str, Any]) -> list[Any]:
        from opset.reference.evaluator import ReferenceEvaluator

        return ReferenceEvaluator(model, schemas=self.registry, seed=0, strict=True, limits=LIMITS).run(None, feeds)


def _loaded(model: Any) -> Any:
    from opset.model import load

    return load(model)


def _import(model: Any, domain: str, version: int) -> None:
    """Set the version of a domain that a model imports."""
    for each in model.opset_import:
        if each.domain == domain:
            each.version = version
            return
    model.opset_import.add(domain=domain, version=version)


def _check(message: str, code: str, example: Example, expected: Sequence[Any], results: Sequence[Any]) -> None:
    """Raise OpsetError where results are not the outputs of an example."""
    from opset.reference.comparison import differences

    if len(results) != len(expected):
        raise OpsetError(Finding(code, message, why=f"it has {len(results)} outputs, and {len(expected)} are expected"))
    for number, (want, have) in enumerate(zip(expected, results, strict=True)):
        for each in differences(want, have, example.tolerance, example.tolerance, where=f"output {number}"):
            if each.why:
                raise OpsetError(Finding(code, message, why=f"{each.where}: {each.why}"))
