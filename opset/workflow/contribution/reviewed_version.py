"""The version of an operator under review, and the table of the checklist's checks."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from opset.budget import Budget, Limits
from opset.errors import Finding, SchemaError
from opset.inference import registration as inference
from opset.opsets.hooks import TRUST, Layer, Lookup
from opset.opsets.registry import Registry, files_named
from opset.reference import registration as kernels
from opset.rules import RuleTable
from opset.schemas.diff import Transition
from opset.schemas.documentation import Docs
from opset.schemas.example import Example, ExampleValue, example_versions
from opset.schemas.index import FOLDER
from opset.schemas.lint import rules as lint
from opset.schemas.lint.context import InferenceHooks
from opset.schemas.lock import Lock, read_lock
from opset.schemas.model import OpSchema, Parameter
from opset.schemas.names import domain_name, normalize_domain, qualified_name
from opset.schemas.selection import select_operators
from opset.schemas.yaml.loader import Operator, folder_sets, load_operator, standard_sets
from opset.version_converter import registration as adapters
from opset.workflow.examples.examination import Examination, examine
from opset.workflow.examples.runner import ExampleRunner

LIMITS = Limits(timeout=60)
"""What an evaluation may take."""
PASSED, STATED, OPEN, MISSING, NOT_APPLICABLE = "passed", "stated", "to state", "missing", "not applicable"
PROPOSAL, DESCRIPTION, REFERENCE, VERSION = "proposal", "description", "reference implementation", "version"
TESTS, CONVERSION, DOCUMENTATION = "tests", "upgrade and downgrade", "documentation and test data"
INFERENCE, WITHDRAWAL = "shape inference", "withdrawal"
FLOATS = ("tensor(float", "tensor(bfloat", "tensor(double")
NUMBERS = (*FLOATS, "tensor(int", "tensor(uint", "tensor(bool")
"""What types of floats, and of numbers, begin with."""
SECTIONS = (PROPOSAL, DESCRIPTION, REFERENCE, VERSION, TESTS, CONVERSION, DOCUMENTATION, INFERENCE, WITHDRAWAL)


class Evidence(NamedTuple):
    """Evidence whether a checklist item is met: its state, the reason, the place in a file, and what to do.

    The state is PASSED; MISSING; OPEN, if only a person can judge; STATED, if a person did; or NOT_APPLICABLE. The
    place is like "PATH:LINE:COLUMN".
    """

    state: str
    why: str
    place: str = ""
    help: str = ""


def is_any(version: ReviewedVersion) -> bool:
    """Return True: the condition of the checklist items that apply to every version."""
    return True


def is_withdrawn(version: ReviewedVersion) -> bool:
    """Return whether an operator is withdrawn (deprecated) at a version: the condition of some checklist items."""
    return version.schema.deprecated


def is_kept(version: ReviewedVersion) -> bool:
    """Return whether an operator is not withdrawn (deprecated) at a version: the condition of most checklist items."""
    return not version.schema.deprecated


POINTS: RuleTable[Evidence] = RuleTable(
    "opset.workflow.contribution", ("checks", "type_checks", "example_checks"), applies=is_kept
)
"""The checks of the items by their names; the phrase of a check is the demand, its clause the section."""
STATEMENT = "a statement"
"""What an item requires that the author may state if files and examples do not show it.

One that no machine can judge may always be stated.
"""


class ReviewedVersion:
    """The version of an operator that a contribution adds or changes, with its file and test results."""

    def __init__(self, registry: Registry, schema: OpSchema, budget: Budget | None = None) -> None:
        """Read the operator's YAML file, and the domain's lock of released versions.

        Args:
            registry: Operators with their functions.
            schema: The version of the operator.
            budget: Work of all evaluations of its examples together.

        Raises:
            SchemaError: S215 if no file of the domain is named after the operator; other codes if the file can no
                longer be read.
        """
        self.registry = registry
        self.schema = schema
        folders = map(Path, (FOLDER, *registry.folders))
        named = ((folder, path) for folder in folders for path in files_named(folder, f"{schema.name}.yaml"))
        files = [each for each in named if normalize_domain(each[1].parent.name) == schema.domain]
        message = f"no file {schema.name}.yaml of {domain_name(schema.domain)} declares {schema.name}"
        missing = Finding("S215", message, help="name the file after its operator: opset lint")
        if not files:
            raise SchemaError(missing)
        self.folder, path = files[0]
        self.sets = folder_sets(self.folder, {} if self.folder == FOLDER else standard_sets())
        self.operator: Operator = load_operator(path, self.sets)
        if self.operator.name != schema.name:
            raise SchemaError(missing)
        self.lock: Lock = read_lock(self.folder)
        self.runner = ExampleRunner(registry, LIMITS, budget)
        self._tested: dict[str, Examination] = {}

    @property
    def since(self) -> int:
        """The since_version of the operator version."""
        return self.schema.since_version

    @property
    def title(self) -> str:
        """The name of the operator as commands take it: "Softmax", "com.acme.Thin"."""
        return qualified_name(self.schema.domain, self.schema.name)

    @cached_property
    def docs(self) -> Docs:
        """The prose of the version: descriptions, formula, special cases and so on."""
        return self.operator.docs[[each.since_version for each in self.operator.schemas].index(self.since)]

    @cached_property
    def transition(self) -> Transition | None:
        """The transition from the version before to this one; None for the first version of the operator."""
        return next((each for each in self.operator.transitions if each.new.since_version == self.since), None)

    @cached_property
    def examples(self) -> list[Example]:
        """The operator's examples that hold for this version, also those that break a constraint."""
        return [each for each in self.operator.examples if example_versions(each, [self.since])]

    @property
    def examples_with_outputs(self) -> Iterator[Example]:
        """An iterator of the operator's examples that hold for this version and break no constraint."""
        return (each for each in self.examples if not each.error)

    @cached_property
    def lint_findings(self) -> list[Finding]:
        """The findings of all lint rules in the operator's file, about any of its versions.

        Written adapters are compared with the YAML only if the domain's adapters.py may be run.
        """
        domain = self.schema.domain

        def hooks(families: Collection[str]) -> lint.Hooks:
            """Return the adapters, kernels and inference functions of families of operators, as lint takes them."""
            written = None
            if not self.registry.files_left_out(domain, adapters.LAYER.file):
                table = adapters.LAYER.run_files(self.registry.files(domain, adapters.LAYER.file))
                written = adapters.registered_adapters(families, table)
            inferred = InferenceHooks(inference.registered_rules(families), inference.rule_problem)
            return lint.Hooks(written, kernels.kernel_keys(families), inferred)

        (target,) = select_operators((Path(self.operator.path),), ()).targets
        return list(lint.check_target(target, hooks).findings)

    def has_line(self, place: str) -> bool:
        """Return whether the line in `place`, path:line:column in the operator's file, is in the block of this version.

        A line below all versions, such as one of the examples, counts as part of the last version in the file.
        """
        lines = sorted((node.line for node in self.operator.root.value["versions"].value), reverse=True)
        line = int(place.split(":")[-2])
        first = int(self.place_of().split(":")[-2])
        return next((each for each in lines if each <= line), 0) == first

    def place_of(self, *keys: str) -> str:
        """Return path:line:column of a key of this version in the operator's file.

        `keys` lead to it: `place_of("attributes", "axis")`. If a key is missing, the result is the place of the last
        key that exists. Without keys, it is the place of the version.
        """
        return self.operator.place(self.since, *keys)

    def example_place(self, example: Example) -> str:
        """Return path:line:column of an example, which must be one of the operator, in the operator's file."""
        position = [each.name for each in self.operator.examples].index(example.name)
        node = self.operator.root.value["examples"].value[position]
        return f"{self.operator.path}:{node.line}:{node.column}"

    @property
    def examples_place(self) -> str:
        """The path:line:column of the key `examples` in the operator's file.

        If the file has no such key, it is the place of the file's first key.
        """
        root = self.operator.root
        node = root.keys["examples"] if "examples" in root.value else root
        return f"{self.operator.path}:{node.line}:{node.column}"

    def function_origin(self, layer: Layer, kind: str) -> str:
        """Return file:line of the Python function that this version uses, such as its kernel; "" if it has none.

        `layer` says where functions are registered: with kernels, inference functions or adapters. `kind` is the name
        of the decorator that registers the function, such as "kernel" or "up".
        """
        schema = self.schema
        hook = Lookup(layer, self.registry).find(kind, schema.domain, schema.name, self.since, schema.family)
        return hook.origin if hook is not None else ""

    def missing_function(self, layer: Layer, why: str, place: str, help: str) -> Evidence:
        """Return evidence in the state MISSING: there is no Python function, such as a kernel, for the reason `why`.

        `layer` is the kind of function: kernels, inference functions or adapters. `place` is path:line:column in the
        YAML, and `help` says what to do. If the domain's Python file was not run because it is not trusted, the
        evidence says so instead of `why` and `help`.
        """
        left_out = Lookup(layer, self.registry).left_out(self.schema.domain)
        return Evidence(MISSING, left_out or why, place, TRUST if left_out else help)

    def test_part(self, part: str) -> Examination:
        """Return the report of one part of `opset test` on this version; the part is run at the first call only.

        `part` is a key of PARTS, such as "kernel".
        """
        if part not in self._tested:
            budget = self.runner.budget
            self._tested[part] = examine(self.registry, [self.schema], parts=(part,), limits=LIMITS, budget=budget)
        return self._tested[part]

    @cached_property
    def first_tensor(self) -> Parameter | None:
        """The first input that may be a tensor, None if no input may be one."""
        allowed = ((each, self.schema.allowed_types(each)) for each in self.schema.inputs)
        return next((each for each, types in allowed if any(type_.startswith("tensor(") for type_ in types)), None)


def input_tensors(example: Example) -> Iterator[ExampleValue]:
    """Return an iterator of the tensors among an example's inputs; sequences, maps and missing inputs are left out."""
    return (each for each in example.inputs if each is not None and each.type.startswith("tensor("))


def values_of_input(example: Example, index: int, variadic: bool = False) -> tuple[ExampleValue | None, ...]:
    """Return the values that an example has for the input at `index`: a tuple of one, or () if it has fewer inputs.

    If the example leaves the input out, the value is None. If the input is `variadic`, all values from `index` on are
    returned.
    """
    return example.inputs[index:] if variadic else example.inputs[index : index + 1]
