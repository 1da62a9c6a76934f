"""Evaluates examples for all tests of operators, locates examples and claims in files, and collects results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from opset.budget import Budget, Limits
from opset.errors import Finding, RunError, SchemaError, safe_text
from opset.inference.registration import RuleLookup
from opset.model.graph.walking import subgraphs
from opset.opsets.hooks import Lookup
from opset.opsets.registry import Registry, files_named
from opset.plain_text import count_text
from opset.reference import registration as kernels
from opset.reference.comparison import differences
from opset.reference.engine.evaluator import ReferenceEvaluator
from opset.reference.engine.limits import byte_limit
from opset.reference.example_models import feeds_of, model_of, value_of
from opset.reference.values import outline
from opset.schemas.example import Example, ExampleValue, example_versions
from opset.schemas.index import FOLDER
from opset.schemas.model import OpSchema
from opset.schemas.names import domain_name, normalize_domain
from opset.schemas.yaml.loader import read_file
from opset.schemas.yaml.reader import Findings, YamlNode
from opset.version_converter import registration as adapters
from opset.version_converter.routes import Routes, routes_of

PARTS = {
    "kernel": "examples computed by the kernel",
    "inference": "types and shapes of examples inferred, with sizes and with dim_params",
    "function": "function bodies beside the kernel",
    "conversion": "examples converted to other versions and back",
    "claims": "what change blocks claim, compared with the examples",
}
"""The parts of a test, in the order in which they run."""
LIMITS = ("R301", "R302", "R303")
PACKAGE_MISSING = "R205"


@dataclass
class Examination:
    """Result of tests. Reports of several operators can be added.

    Attributes:
        passed: Number of tests that passed, by part (a key of PARTS). A test is an example at a version, a conversion
            of one, or a claim of a `change:` block.
        failed: Number of tests that failed, by part.
        skipped: Number of tests that were not run, by (part, reason).
        findings: Failures, without duplicates.
        notes: Claims that no example shows, as text.
        gaps: Outputs whose types or shapes inference does not know fully.
        unseen: (operator, example) if inference has all values and does not report the constraint that they break.
        refused: Conversions of examples that are refused.
        outcomes: Events of outcomes.py: calls of adapters, for the table that the documentation shows.
    """

    passed: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    gaps: list[InferenceGap] = field(default_factory=list)
    unseen: set[tuple[str, str]] = field(default_factory=set)
    refused: list[RefusedConversion] = field(default_factory=list)
    outcomes: set[Any] = field(default_factory=set)

    def __iadd__(self, other: Examination) -> Examination:
        """Add everything in another report to this one, which is changed in place and returned.

        Findings that this report has already are not added again.
        """
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        present = {*self.findings}
        self.findings += [each for each in other.findings if each not in present]
        self.notes += other.notes
        self.gaps += other.gaps
        self.unseen |= other.unseen
        self.refused += other.refused
        self.outcomes |= other.outcomes
        return self

    @property
    def has_run(self) -> bool:
        """Whether any test passed or failed; skipped tests do not count."""
        return bool(sum(self.passed.values()) + sum(self.failed.values()))

    def count(self, part: str, findings: Sequence[Finding]) -> None:
        """Count a test of `part`, a key of PARTS: as passed if `findings` is empty, else as failed.

        The findings that the report does not have yet are added to it. However many they are, they count as one test.
        """
        (self.failed if findings else self.passed)[part] += 1
        self.findings += [each for each in dict.fromkeys(findings) if each not in self.findings]

    def skip(self, part: str, reason: str) -> None:
        """Count a test of `part`, a key of PARTS, that was not run for this reason."""
        self.skipped[part, reason] += 1


class InferenceGap(NamedTuple):
    """An output that inference does not know fully, with the type that it knows as text, "nothing" for none.

    `form` is how the inputs of the example were given: "values", or "dim_params" in place of sizes.
    """

    operator: str
    since: int
    example: str
    form: str
    known: str


class RefusedConversion(NamedTuple):
    """A conversion of an example that was refused: from version `since` to `target`, with the codes of the refusals."""

    operator: str
    since: int
    target: int
    example: str
    codes: str


def version_name(schema: OpSchema) -> str:
    """Return the name of an operator version in messages: "Softmax 13", "com.acme.Thin 2"."""
    return f"{schema.domain and f'{schema.domain}.'}{schema.name} {schema.since_version}"


class ExampleRunner:
    """Evaluates examples on the kernels of one registry, and keeps the outputs, so that no model is run twice.

    Args:
        registry: Operators with their kernels, inference functions and adapters.
        limits: Limits of each evaluation.
        budget: Work of all evaluations together; BudgetExceeded is raised if it is used up.
    """

    def __init__(self, registry: Registry, limits: Limits | None = None, budget: Budget | None = None) -> None:
        """Create a runner of examples.

        `limits` hold for each evaluation, by default Limits(). `budget` is for all evaluations together; None sets no
        limit.
        """
        self.registry = registry
        limits = limits or Limits()
        self.budget = budget or Budget(Limits())
        self.limits = replace(limits, max_bytes=byte_limit(limits))  # what the system allows is read once
        self._kernels = Lookup(kernels.LAYER, registry)
        self.rules = RuleLookup(registry)
        self._adapters = Lookup(adapters.LAYER, registry)
        self._files: dict[tuple[str, str], tuple[str, YamlNode | None]] = {}
        self._values: dict[Any, tuple[Example, list[Any] | RunError]] = {}

    @cached_property
    def routes(self) -> Routes:
        """The Routes of the registry, by which the version converter finds adapters; they are made once."""
        return routes_of(self.registry)

    def clear_values(self) -> None:
        """Forget all outputs that were kept, so that the next call computes them again."""
        self._values.clear()

    def why_no_kernel(self, schema: OpSchema) -> str:
        """Return why an operator version has no kernel, or "" if it has one."""
        hook = self._kernels.find("kernel", schema.domain, schema.name, schema.since_version, schema.family)
        return "" if hook is not None else self.why_kernels_missing(schema) or "there is no kernel"

    def why_not_computed(self, schema: OpSchema) -> str:
        """Return why nothing computes an operator version, or "" if a kernel or else a function body does."""
        why = self.why_no_kernel(schema)
        return "" if schema.function and not schema.deprecated else why

    def why_kernels_missing(self, schema: OpSchema) -> str:
        """Return why the Python files with kernels of a version's domain were not run; "" if they were."""
        return self._kernels.left_out(schema.domain)

    def why_not_inferred(self, schema: OpSchema) -> str:
        """Return why inference has no rule for the outputs of a version, or "" if it has one."""
        if self.rules.find(schema) is not None:
            return ""
        return self.rules.left_out(schema.domain) or "there is no rule for its outputs"

    def lacks_written_adapter(self, schema: OpSchema, direction: str) -> bool:
        """Return whether an adapter of a version is declared as written, but does not exist.

        `direction` is "up" or "down". The result is False if the domain's adapters.py was not run.
        """
        key = schema.domain, schema.name, schema.since_version, schema.family
        declared = getattr(schema.change, direction, "") == "written"
        return declared and not self._adapters.left_out(schema.domain) and self._adapters.find(direction, *key) is None

    def outputs(self, schema: OpSchema, example: Example) -> list[Any]:
        """Return the outputs that the kernel of a version computes for an example.

        Outputs that the example leaves out are not among them. The outputs are kept for the next call. Raises RunError
        if the kernel fails or does not exist, BudgetExceeded if the runner's budget is used up.
        """
        return self.run(model_of(schema, example), example)

    def run(self, model: Any, example: Example) -> list[Any]:
        """Return the outputs of a ModelProto for an example's inputs.

        The model is run at the first call with this model and example. Later calls return the same outputs. Raises
        RunError if the model fails; later calls raise the error without running the model. Raises BudgetExceeded if the
        runner's budget is used up.
        """
        key = self._model_identity(model), id(example)
        if key not in self._values:
            result: list[Any] | RunError
            try:
                inputs = {each.name for each in model.graph.input}  # the others are constants
                feeds = {name: value for name, value in feeds_of(example).items() if name in inputs}
                result = self.evaluate(model, freeze_arrays(feeds))
            except RunError as error:
                result = error
            self._values[key] = example, result  # as long as it is kept, no other one has its id
        result = self._values[key][1]
        if isinstance(result, RunError):
            raise RunError(result.finding_list)
        return result

    def evaluate(self, model: Any, feeds: Mapping[str, Any]) -> list[Any]:
        """Return the outputs of a ModelProto, as the strict evaluator computes them; `feeds` are inputs by name.

        Raises RunError if the model fails, BudgetExceeded if the runner's budget is used up.
        """
        limits = self.budget.remaining_limits(self.limits)
        evaluator = ReferenceEvaluator(model, schemas=self.registry, limits=limits, seed=0, strict=True)
        try:
            return evaluator.run(None, feeds)
        finally:
            self.budget.charge(evaluator.steps)  # which raises BudgetExceeded where it was the budget that ended it

    def _model_identity(self, model: Any) -> tuple[Any, ...]:
        """Return a key for the outputs that the runner keeps: models with equal keys compute the same.

        It is the bytes of the graph and the since_version of each node's operator. For a model with functions or
        subgraphs, it is all bytes of the model.
        """
        imports = {normalize_domain(each.domain): each.version for each in model.opset_import}
        sinces = []
        for node in model.graph.node:
            if model.functions or any(True for _ in subgraphs(node)):
                return (model.SerializeToString(),)
            domain = normalize_domain(node.domain)
            schema = self.registry.schema(node.op_type, imports.get(domain, 0), domain)
            sinces.append(schema.since_version if schema is not None else -1)
        return model.graph.SerializeToString(), tuple(sinces)

    def examples(self, schema: OpSchema) -> Iterator[Example]:
        """Yield the examples that hold for an operator version, except examples that break a constraint."""
        for example in self.registry.examples(schema.name, schema.domain):
            if not example.error and example_versions(example, (schema.since_version,)):
                yield example

    def place_of(self, schema: OpSchema, example: Example) -> str:
        """Return path:line of an example in its operator's YAML file; only the path if it is not in the file."""
        path, root = self._document(schema)
        for each in _list_items(root, "examples"):
            name = each.value.get("name") if isinstance(each.value, dict) else None
            if name is not None and name.value == example.name:
                return f"{path}:{each.line}"
        return path

    def place_of_key(self, schema: OpSchema, *keys: str) -> str:
        """Return path:line of a key in a version's YAML; `keys` lead to it, such as "change", "adapters", "up".

        If a key is missing, it is the line of the last key that exists. If the version is not in the file, the result
        is the path alone.
        """
        path, root = self._document(schema)
        at, _ = _find_key(root, schema.since_version, keys)
        return path if at is None else f"{path}:{at.line}"

    def has_key(self, schema: OpSchema, *keys: str) -> bool:
        """Return whether a version's YAML states a key; `keys` lead to it, such as "change", "adapters", "up"."""
        return _find_key(self._document(schema)[1], schema.since_version, keys)[1]

    def _document(self, schema: OpSchema) -> tuple[str, YamlNode | None]:
        """Return the path of an operator's file, and its parsed YAML; both are kept for later calls.

        The YAML is None if there is no such file, or if it can no longer be read.
        """
        key = schema.domain, schema.name
        if key not in self._files:
            folders = (FOLDER, *self.registry.folders)
            files = (path for folder in folders for path in files_named(folder, f"{schema.name}.yaml"))
            path = next((each for each in files if normalize_domain(each.parent.name) == schema.domain), None)
            root = None
            if path is not None:
                with suppress(SchemaError):
                    root = read_file(path, Findings(str(path)))
            self._files[key] = str(path or f"{domain_name(schema.domain)}/{schema.name}.yaml"), root
        return self._files[key]


def _list_items(root: YamlNode | None, key: str) -> list[YamlNode]:
    """Return the items of the list at a key of a YAML document; [] if there is no such list."""
    node = root.value.get(key) if root is not None and isinstance(root.value, dict) else None
    return node.value if node is not None and isinstance(node.value, list) else []


def _find_key(root: YamlNode | None, since: int, keys: Sequence[str]) -> tuple[YamlNode | None, bool]:
    """Return the YAML node to which `keys` lead in the version `since`, and True.

    If a key is missing, return the node of the last one that exists, and False. If the version is missing, return None
    and False.
    """
    for version in _list_items(root, "versions"):
        stated = version.value.get("since") if isinstance(version.value, dict) else None
        if stated is None or stated.value != since:
            continue
        at = version
        for key in keys:
            if not isinstance(at.value, dict) or key not in at.value:
                return at, False
            at = at.value[key]
        return at, True
    return None, False


def freeze_arrays(feeds: dict[str, Any]) -> dict[str, Any]:
    """Make the arrays of inputs read-only, so that a kernel that changes one fails; return `feeds` itself.

    Arrays in lists or dicts are left as they are.
    """
    for value in feeds.values():
        if hasattr(value, "flags"):
            value.flags.writeable = False
    return feeds


def disagreements(example: Example, actual: Sequence[Any]) -> list[str]:
    """Return a text for each computed output that differs from the output that the example states; [] if none does.

    `actual` has the computed outputs in order, without outputs that the example leaves out. If their number is wrong,
    there is one text only, about the number. Differences within the tolerance do not count; type and shape do.
    """
    wanted = [(index, each) for index, each in enumerate(example.outputs or ()) if each is not None]
    if len(wanted) != len(actual):
        are = "is" if len(actual) == 1 else "are"
        return [f"{count_text(len(actual), 'output')} {are} computed, and the example has {len(wanted)}"]
    pairs = zip(wanted, actual, strict=True)
    return [f"output {index}: {why}" for (index, want), have in pairs if (why := difference(example, want, have))]


def difference(example: Example, wanted: ExampleValue, actual: Any) -> str:
    """Return how a computed output differs from `wanted`, the output that the example states; "" if they agree.

    Differences within a tolerance do not count: the example's, or the element type's if the example states none. Of a
    random output, only type and shape are compared.
    """
    if wanted.content is None and wanted.shape is not None:  # chance decides the elements
        same = outline(actual) == f"{wanted.type}{list(wanted.shape)}"
        return "" if same else f"it is {outline(actual)}, and {wanted.type}{list(wanted.shape)} is expected"
    parts = differences(value_of(wanted), actual, example.tolerance, example.tolerance)
    return "; ".join(f"{each.where} {each.why}".strip() for each in parts if each.why)


def limit_finding(schema: OpSchema, example: Example, place: str, error: RunError) -> Finding:
    """Return the finding T109: computing an example exceeded a limit; `place` is path:line of the example."""
    message = f"{version_name(schema)}: the example '{example.name}' exceeded a limit"
    return Finding("T109", message, place, f"{error.message}: {error.why}", "allow more: --max-steps, --timeout")


def no_kernel_finding(runner: ExampleRunner, schema: OpSchema, why: str, example: Example | None = None) -> Finding:
    """Return the finding T112: nothing computes an example, for the reason `why`.

    If `example` is None, the finding is about all examples of the version.
    """
    what = f"the example '{example.name}'" if example is not None else "its examples"
    place = runner.place_of(schema, example) if example is not None else runner.place_of_key(schema)
    help = "write a kernel: opset explain evaluating; or a function body"
    return Finding("T112", f"{version_name(schema)}: nothing computes {what}", place, why, help)


def error_text(error: Any) -> str:
    """Return the message and the reason of an OpsetError on one line: "message: reason"."""
    return safe_text(f"{error.message}{f': {error.why}' if error.why else ''}")
