"""Converts examples to other versions and back, and expresses them by function bodies: both keep their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opset.errors import Finding, OpsetError, RunError
from opset.model import load
from opset.opsets.hooks import TRUST
from opset.opsets.registry import Registry
from opset.opsets.releases import RELEASES
from opset.reference.comparison import ulps
from opset.reference.example_models import model_of, model_with_inputs, value_of
from opset.schemas.example import Example, example_versions, is_random
from opset.schemas.model import Change, OpSchema
from opset.version_converter.body_lowering import lower_by_body
from opset.version_converter.conversion import convert_model
from opset.version_converter.derivation import derive_adapter
from opset.version_converter.registration import LAYER
from opset.version_converter.result import Conversion
from opset.version_converter.routes import Route, Routes, RouteStep, Verdict, VersionChange
from opset.version_converter.targets import Target
from opset.workflow.examples.inference import is_dense
from opset.workflow.examples.runner import (
    LIMITS,
    Examination,
    ExampleRunner,
    RefusedConversion,
    disagreements,
    error_text,
    limit_finding,
    no_kernel_finding,
    version_name,
)

ULP = 6
"""Units of the last digit that a function body may be apart from the kernel."""


def check_conversions(runner: ExampleRunner, schema: OpSchema, example: Example, report: Examination) -> None:
    """Convert an example to other versions and back, and add to a report whether its outputs stay the same.

    Each version counts as one test; `targets_of` chooses the versions. The tests are skipped if the kernel does not
    compute the example, or if there is no version to convert to.
    """
    if why := why_no_values(runner, schema, example):
        report.skip("conversion", why)
        return
    targets = targets_of(runner, schema, example)
    if not targets:
        report.skip("conversion", "the operator has one version, and nothing expresses it by others")
    for target in targets:
        _check_conversion(runner, schema, example, target, report)


def why_no_values(runner: ExampleRunner, schema: OpSchema, example: Example) -> str:
    """Return why the kernel or function body of a version does not compute the outputs of an example; "" if it does.

    If it fails or gives other outputs, the text says only that it does not compute the example. Raises BudgetExceeded
    if the runner's budget is used up.
    """
    if why := runner.why_not_computed(schema):
        return why
    try:
        wrong = disagreements(example, runner.outputs(schema, example))
    except RunError as error:
        wrong = [error.code]
    return "the kernel does not compute the example" if wrong else ""


def targets_of(runner: ExampleRunner, schema: OpSchema, example: Example) -> list[int]:
    """Return the versions to which an example is converted from the version of `schema`, in ascending order.

    The next older and the next newer version of the operator are among them. More versions are added if the
    version of `schema` is the oldest or the newest at which the example holds, as its `since` and `until` say:

    - the operator's first version and its last version;
    - the opset before the first version, if the operator can be replaced by others: 19 for Gelu, which came with 20.
    """
    numbers = runner.registry.since_versions(schema.name, schema.domain)
    at = numbers.index(schema.since_version)
    targets = {numbers[max(at - 1, 0)], numbers[min(at + 1, len(numbers) - 1)]}
    holds = example_versions(example, numbers)
    if schema.since_version in (holds[0], holds[-1]):
        targets |= {numbers[0], numbers[-1]}
        below = numbers[0] - 1
        if isinstance(runner.routes.step(schema.domain, schema.name, numbers[0], below), RouteStep):
            targets.add(below)
    return sorted(targets - {schema.since_version})


def _check_conversion(
    runner: ExampleRunner, schema: OpSchema, example: Example, target: int, report: Examination
) -> None:
    """Convert an example to version `target` and back; add one test to a report: whether its outputs stay the same.

    A failed test has the finding T107 for other outputs, T109 for an exceeded limit, T110 for an adapter that raises an
    error. A refused conversion back is no failure. The test is skipped in these cases:

    - The conversion to `target` is refused. The refusal is added to `report.refused`.
    - The example is valid at version `target`, but the kernel of this version does not compute its outputs.
    """
    other = runner.registry.schema(schema.name, target, schema.domain)
    if other is not None and not example_versions(example, (other.since_version,)):
        other = None  # the example is not one of that version
    if other is not None and why_no_values(runner, other, example):
        report.skip("conversion", f"the kernel of version {other.since_version} does not compute the example")
        return
    model, converted = convert_example(runner, schema, example, target)
    way = f"{schema.since_version} -> {target or 'other operators'}"
    if failed := adapter_failure(converted):
        report.count("conversion", [adapter_finding(runner, schema, example, way, failed)])
        return
    if converted.model is None:
        codes = " ".join(sorted({each.code for each in converted.refusals}))
        report.skip("conversion", f"refused ({codes})")
        report.refused.append(RefusedConversion(schema.name, schema.since_version, target, example.name, codes))
        return
    target_model = converted.model.as_given()
    wrong = _check_values(runner, schema, example, target_model, way, (schema.since_version, target))
    # The conversion of the example at the target covers the way back of an equal model.
    is_example = other is not None and target_model.graph == model_of(other, example).graph
    if not wrong and target and not is_example:
        restored = conversion(runner, target_model, schema, schema.since_version)
        if failed := adapter_failure(restored):
            wrong = [adapter_finding(runner, schema, example, f"{way} -> {schema.since_version}", failed)]
        elif restored.model is not None and (again := restored.model.as_given()).graph != model.graph:
            way = f"{way} -> {schema.since_version}"
            wrong = _check_values(runner, schema, example, again, way, (target, schema.since_version))
    report.count("conversion", wrong)


def convert_example(runner: ExampleRunner, schema: OpSchema, example: Example, target: int) -> tuple[Any, Conversion]:
    """Return the ModelProto of an example, and its conversion to the opset `target`.

    If `target` is 0, the operator is replaced by other operators. If the conversion is refused because it needs values
    of inputs, it is tried a second time, with the inputs as constants. Raises BudgetExceeded if the runner's budget is
    used up.
    """
    model = model_of(schema, example)
    converted = conversion(runner, model, schema, target)
    if converted.model is None and {each.code for each in converted.refusals} == {"C205"}:
        values = {index: value_of(each) for index, each in enumerate(example.inputs) if each is not None}
        model, _ = model_with_inputs(schema, example, values, is_dense, symbolic=False)
        converted = conversion(runner, model, schema, target)
    return model, converted


def conversion(runner: ExampleRunner, model: Any, schema: OpSchema, target: int) -> Conversion:
    """Convert a ModelProto to the opset `target` of the domain of `schema`, and return the conversion.

    If `target` is 0, the opsets stay, and nodes of the operator are replaced by its function body or lowering. `model`
    itself then gets an import of ai.onnx if it has none. A refused conversion has None as its model. Raises
    BudgetExceeded if the runner's budget is used up.
    """
    runner.budget.charge()
    if target:
        return convert_model(load(model), Target({schema.domain: target}), runner.registry, routes=runner.routes)
    without = Target({}, lowered=frozenset(((schema.name, schema.domain),)))
    return convert_model(load(with_standard(model)), without, runner.registry, routes=runner.routes)


def with_standard(model: Any, opset: int = RELEASES[-1].opset) -> Any:
    """Add an import of ai.onnx at `opset` to a ModelProto that does not import it, in place, and return the model."""
    if not any(each.domain in ("", "ai.onnx") for each in model.opset_import):
        model.opset_import.add(domain="", version=opset)
    return model


def adapter_failure(converted: Conversion) -> str:
    """Return the reason if a conversion ended because an adapter raised an error; "" if it did not.

    An adapter that refuses a node raises no error.
    """
    whys = (each.why for each in converted.refusals if each.code == LAYER.code and each.help != TRUST)
    return next(whys, "") if converted.model is None else ""


def adapter_finding(runner: ExampleRunner, schema: OpSchema, example: Example, way: str, why: str) -> Finding:
    """Return the finding T110: an adapter fails on an example.

    `way` has the versions of the conversion, such as "13 -> 11", `why` the error of the adapter.
    """
    message = f"{version_name(schema)}: an adapter fails on the example '{example.name}' on the way {way}"
    return Finding("T110", message, runner.place_of(schema, example), why, "correct it: opset explain adapters")


def _check_values(
    runner: ExampleRunner, schema: OpSchema, example: Example, model: Any, way: str, step: tuple[int, int]
) -> list[Finding]:
    """Return [finding T107] if a converted model fails, or computes other outputs than the example states; else [].

    If a limit is exceeded, the finding is T109 instead.

    Args:
        runner: Evaluates the model.
        schema: The version of the example.
        example: The example.
        model: The ModelProto that was converted.
        way: The versions of the conversion as text, such as "13 -> 11 -> 13".
        step: The last two of these versions; the finding names the adapters between them.
    """
    try:
        differences = disagreements(example, runner.run(model, example))
    except RunError as error:
        if error.code in LIMITS:
            return [limit_finding(schema, example, runner.place_of(schema, example), error)]
        differences = [f"the converted model cannot be computed: {error_text(error)}"]
    if not differences:
        return []
    message = f"{version_name(schema)}: the example '{example.name}' changes its values on the way {way}"
    help = adapter_declarations(runner, schema, *step)
    return [Finding("T107", message, runner.place_of(schema, example), "; ".join(differences), help)]


def adapter_declarations(runner: ExampleRunner, schema: OpSchema, source: int, target: int) -> str:
    """Return a text that says how, and in which lines, the adapters between two versions are declared.

    An example for one adapter is "schemas/com.acme/Thin.yaml:12 says 'down: written'". Several are joined by "; ", the
    lowest version first. A `target` of 0 stands for a conversion that replaces the operator by other operators; then
    the result is "".
    """
    if not target:
        return ""
    versions = runner.registry.versions(schema.name, schema.domain)
    low, high = sorted((source, target))
    direction = "up" if target > source else "down"
    declarations = []
    for newer in versions:
        if newer.change is not None and low < newer.since_version <= high:
            place = runner.place_of_key(newer, "change", "adapters", direction)
            declarations.append(f"{place} says '{direction}: {getattr(newer.change, direction)}'")
    return "; ".join(declarations)


class BodyRoutes(Routes):
    """Routes by which the converter expresses the nodes of one operator by its function body, and keeps all others."""

    def __init__(self, registry: Registry, schema: OpSchema, opset: int) -> None:
        """Create routes with which the converter replaces nodes of the operator `schema` by one of its function bodies.

        `opset`, a version of ai.onnx, decides which body is used.
        """
        super().__init__(registry)
        self._step = RouteStep(
            schema, schema, opset, derive_adapter(schema, schema, Change()), lower_by_body, "", True, lowers=True
        )

    def route(self, op_type: str, domain: str, versions: Mapping[str, int], opsets: Mapping[str, int]) -> Route:
        """Return a Route that says whether the converter changes the nodes of an operator.

        The verdict is CONVERT for the operator whose function body is tested, and KEEP for all others. `op_type` and
        `domain` name the operator of the nodes; `versions` and `opsets` do not matter.
        """
        schema = self._step.source
        verdict = Verdict.CONVERT if (op_type, domain) == (schema.name, schema.domain) else Verdict.KEEP
        return Route(verdict, VersionChange(domain, op_type, schema.since_version, 0))

    def step(self, domain: str, op_type: str, version: int, final: int) -> RouteStep | None:
        """Return the step that replaces a node of the operator by its function body; None for any other operator.

        `version` and `final` do not matter.
        """
        source = self._step.source
        return self._step if (op_type, domain) == (source.name, source.domain) else None


def express_by_body(registry: Registry, model: Any, schema: OpSchema, opset: int) -> Conversion:
    """Convert a ModelProto so that an operator's function body replaces its nodes, and return the conversion.

    `opset`, the version of ai.onnx, decides which body is used. The conversion has no model if no body can express a
    node. Raises OpsetError if the body cannot be read.
    """
    target = Target({"": opset}, lowered=frozenset(((schema.name, schema.domain),)))
    return convert_model(load(model), target, registry, routes=BodyRoutes(registry, schema, opset))


def body_opsets(registry: Registry, schema: OpSchema) -> list[int]:
    """Return the opsets of ai.onnx at which a version's function bodies are tested, in ascending order.

    The result has the first and the last opset of each body. The last opset of a body is

    - the opset before the next body of the version, if there is a next body;
    - the opset before the next version of the operator, if the operator is of ai.onnx and there is a next version;
    - otherwise the newest opset.

    For an operator of ai.onnx, the opset before the version is also in the result if a body begins at or
    before that opset. The version must have a body.
    """
    last = RELEASES[-1].opset
    keys = sorted({body.opset for body in schema.function})
    ends = {key - 1 for key in keys[1:]}
    if not schema.domain:
        newer = registry.since_versions(schema.name)
        last = min((each for each in newer if each > schema.since_version), default=last + 1) - 1
        ends.add(schema.since_version - 1)
    return sorted({*keys, *(each for each in {*ends, last} if each >= keys[0])})


def check_bodies(runner: ExampleRunner, schema: OpSchema, example: Example, report: Examination) -> None:
    """Test on an example that a version's function bodies compute the same outputs as its kernel.

    One test is counted in `report` for all bodies of the version. The test fails with T106 if the outputs of a body
    differ from those of the kernel. It also fails with T106 if a body cannot be read. The test is skipped if the kernel
    does not compute the outputs that the example states. It is also skipped if no body can replace the example's node.

    For a version without a kernel, the outputs of the bodies are compared with those that the example states. The test
    then fails with T112 if no body can replace the example's node.

    Nothing is tested if the version has no bodies. An example that breaks a constraint is not tested if the version has
    a kernel. For a version without a kernel, `_check_refusal` tests that the evaluator refuses such an example.
    """
    if not schema.function:
        return
    if example.error:
        if runner.why_no_kernel(schema):
            _check_refusal(runner, schema, example, report)
        return
    expected: Sequence[Any] | None = None
    if not runner.why_no_kernel(schema):
        if why := why_no_values(runner, schema, example):
            report.skip("function", why)
            return
        expected = runner.outputs(schema, example)
    findings: list[Finding] = []
    refused = ""
    ran = False
    for opset in body_opsets(runner.registry, schema):
        model = with_standard(model_of(schema, example), opset)  # whose opset decides which body it is
        try:
            converted = express_by_body(runner.registry, model, schema, opset)
        except OpsetError as error:  # a body that cannot be read
            findings.append(_body_finding(runner, schema, example, opset, error_text(error)))
            break
        if converted.model is None:
            refused = converted.refusals[0].code
            continue
        ran = True
        if why := _body_difference(runner, example, converted.model.as_given(), expected):
            findings.append(_body_finding(runner, schema, example, opset, why))
            break
    if ran or findings:
        report.count("function", findings)
    elif why := runner.why_no_kernel(schema):
        why = f"{why}, and no body serves it ({refused})"
        report.count("function", [no_kernel_finding(runner, schema, why, example)])
    else:
        report.skip("function", f"no body serves it ({refused})")


def _check_refusal(runner: ExampleRunner, schema: OpSchema, example: Example, report: Examination) -> None:
    """Add a test to the report: the evaluator must refuse an example that breaks a constraint, such as C1.

    The test passes if the error of the evaluator names the constraint. Otherwise, the test is skipped, and does not
    fail. The reason is that the evaluator checks only constraints with declared conditions before it runs a function
    body, and that a body refuses nothing.
    """
    refused = ""
    try:
        runner.outputs(schema, example)
    except RunError as error:
        refused = error.why if error.code == "R203" else ""
    if refused.startswith(f"{example.error}: "):
        report.count("function", [])
    else:
        report.skip("function", "a body refuses nothing, and no declared constraint refuses it")


def _body_difference(runner: ExampleRunner, example: Example, model: Any, expected: Sequence[Any] | None) -> str:
    """Return how the outputs of a model that has the function body differ from `expected`; "" if they do not.

    `expected` are the outputs of the kernel; floats that are at most ULP units of the last digit apart count as equal.
    If `expected` is None, or the outputs are random, the outputs are compared with the stated ones of the example. If
    the model fails, the text says so.
    """
    try:
        actual = runner.run(model, example)
    except RunError as error:
        return f"the body cannot be computed: {error_text(error)}"
    if expected is None or is_random(example):
        return "; ".join(disagreements(example, actual))
    for index, (want, have) in enumerate(zip(expected, actual, strict=True)):
        why, apart = ulps(want, have)
        if why or apart > ULP:
            return f"output {index}: " + (why or f"it is {apart:.3g} units of the last digit from the kernel's result")
    return ""


def _body_finding(runner: ExampleRunner, schema: OpSchema, example: Example, opset: int, why: str) -> Finding:
    """Return the finding T106: the function body that `schema` has at `opset` does not compute the example.

    `why` is the reason: how the outputs differ, or why the body cannot be read.
    """
    what = f"the function body at opset {opset} does not compute the example '{example.name}'"
    message = f"{version_name(schema)}: {what}"
    body = runner.place_of_key(schema, "function")
    return Finding("T106", message, runner.place_of(schema, example), why, f"the body is at {body}")
