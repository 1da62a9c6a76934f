"""Records what written adapters and lowerings do with the examples of operators, for documentation.

Each example crosses the transitions of its operator once as it is, with inputs that are constants, and once for each
fact about an input that may be missing: its value, its sizes, its rank, its type. It crosses them with each other
element type, too. Nothing is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from opset.docgen.outcomes import RecordedOutcome, Table, read_table, table_file, transition_id, write_table
from opset.errors import Finding, OpsetError
from opset.model import load
from opset.model import proto as pb
from opset.model.arrays import tensor_of
from opset.opsets.registry import Registry
from opset.reference.example_models import model_of, value_of
from opset.schemas.example import Example, example_versions
from opset.schemas.model import OpSchema
from opset.schemas.names import normalize_domain
from opset.version_converter.body_lowering import lower_by_body
from opset.version_converter.conversion import convert_model
from opset.version_converter.registration import LAYER
from opset.version_converter.rewrite import Builder, Node, Refusal, Result
from opset.version_converter.routes import Routes, RouteStep
from opset.version_converter.targets import Target

IR_OF_CONSTANTS = 4
"""The IR version from which initializers are constants."""
MOST_VARIED = 12
"""Examples of a version that are varied."""
GENERAL_CODES = frozenset(("C103", "C206", "C401"))
"""Codes with which any node may be refused."""
SUB_BYTE = ("tensor(int2)", "tensor(uint2)", "tensor(int4)", "tensor(uint4)", "tensor(float4e2m1)")
"""Types that older versions lack, so that constants of them are written in others."""
SIZES, OPEN_SIZES, TYPE, NOTHING = "sizes", "open sizes", "type", "nothing"
"""What is known of an input: its sizes; its rank, with names of sizes; its element type; nothing."""
UNKNOWN_DOMAIN = "example.unknown"
"""The domain of an operator without schemas, so that nothing is known about its output."""
Event = tuple[str, str, str, tuple[str, ...] | None, tuple[str, str] | None]
"""Domain, operator and transition of a call; the operators that it made, None if the node stays; or its refusal."""


class RecordingRoutes(Routes):
    """Routes, which choose adapters for the converter, that add an Event to `events` for each call of an adapter."""

    def __init__(self, registry: Registry, events: set[Event]) -> None:
        """Create the routes of a registry; an Event is added to `events` for each call of a written adapter.

        A written adapter is a Python function. Replacing nodes by function bodies is not recorded.
        """
        super().__init__(registry)
        self._events = events

    def _find_step(self, domain: str, op_type: str, version: int, final: int) -> RouteStep | Refusal | None:
        """Return the conversion step that Routes finds, with an adapter that also adds an Event for each call.

        A step takes nodes of an operator from one version to the next. Only written adapters, which are Python
        functions, are replaced. Any other result of Routes is returned unchanged.
        """
        step = super()._find_step(domain, op_type, version, final)
        if isinstance(step, RouteStep) and step.adapter not in (None, lower_by_body):
            return step._replace(adapter=partial(self._call, step))
        return step

    def _call(self, step: RouteStep, op: Builder, node: Node) -> Result:
        """Call the adapter of a step on a node, record the call as an Event, and return the adapter's result.

        If the adapter refuses the node, the Event has the code and the reason, and the Refusal is raised again. If the
        result lacks an output that the node uses, an Event with the code C204 is recorded, too.
        """
        assert step.adapter is not None
        subject = step.source.domain, step.source.name, transition_id(step)
        try:
            result: Result = step.adapter(op, node)
        except Refusal as refusal:
            self._events.add((*subject, None, (refusal.code, refusal.wording)))
            raise
        if result is not None:
            names = (result,) if isinstance(result, str) else tuple(result)
            for index, formal in enumerate(node.schema.outputs[: len(node.outputs)]):
                if node.outputs[index] and not (index < len(names) and names[index]):
                    why = f"the output `{formal.name}` is used, which has no equal at version {step.version}"
                    self._events.add((*subject, None, ("C204", why)))
            made = [f"{normalize_domain(each.domain)}.{each.op_type}".removeprefix(".") for each, _ in op.made]
            self._events.add((*subject, tuple(made) or ("Identity",), None))
        else:
            self._events.add((*subject, None, None))
        return result


def record_outcomes(registry: Registry, schema: OpSchema) -> set[Event]:
    """Convert the examples of a version by its adapters, and return an Event for each call of one of its adapters.

    Each example is converted to every target that the adapters reach. If this yields new Events, the example is also
    converted to the nearest targets in varied forms, such as without shapes or with other types of inputs. At most
    MOST_VARIED examples are varied. The result is empty if no written adapter or lowering converts the version.
    """
    calls: set[Event] = set()
    routes = RecordingRoutes(registry, calls)
    targets = [*_targets(routes, registry, schema)]
    near = [target for target, is_near in targets if is_near]
    events: set[Event] = set()
    varied = 0
    for example in registry.examples(schema.name, schema.domain) if targets else ():
        if example.error or not example_versions(example, (schema.since_version,)):
            continue
        calls.clear()
        _convert(registry, routes, [target for target, _ in targets], plain_forms(schema, example))
        if not calls <= events and varied < MOST_VARIED:
            varied += 1
            _convert(registry, routes, near, varied_forms(schema, example))
        events |= calls
    return {event for event in events if event[:2] == (schema.domain, schema.name)}


def summarize(events: Iterable[Event]) -> dict[str, RecordedOutcome]:
    """Return what adapters did with the nodes of one operator, by transition, such as "13-11" or "20-lowered".

    `events` are all recorded calls of the operator's adapters. An outcome has the operators that replaced nodes,
    whether any node stayed as it was, and the refusals. Refusals that any node may get (GENERAL_CODES) are left out.
    """
    results: dict[str, list[set[str]]] = {}
    refused: dict[str, set[tuple[str, str]]] = {}
    stays = set()
    for _, _, transition, made, refusal in events:
        ways = results.setdefault(transition, [])
        reasons = refused.setdefault(transition, set())
        if made is not None:
            ways.append({*made})
        elif refusal is None:
            stays.add(transition)
        elif refusal[0] not in GENERAL_CODES:
            reasons.add(refusal)
    outcomes = {}
    for transition, ways in results.items():
        always = set.intersection(*ways) if ways else set()
        sometimes = set[str]().union(*ways) - always
        why = tuple(sorted(refused[transition]))
        outcomes[transition] = RecordedOutcome(
            tuple(sorted(always)), tuple(sorted(sometimes)), transition in stays, why
        )
    return outcomes


def stale_tables(registry: Registry, operators: Iterable[tuple[str, str]], events: Set[Event]) -> list[Finding]:
    """Return a finding T113 for each operator whose entry in conversions.json does not say what `events` say.

    `operators` are (domain, name) of each operator; `events` are the recorded calls of adapters. Operators of a domain
    whose adapters.py was not run are left out. Raises SchemaError T113 if a file cannot be read.
    """
    findings = []
    for (file, operator), outcomes in _outcomes_by_file(registry, operators, events).items():
        stated = (read_table(file) or {}).get(operator, {})
        if differing := [name for name in {**stated, **outcomes} if stated.get(name) != outcomes.get(name)]:
            message = f"{operator}: what conversions do with its examples is not what {file.name} says"
            help = f"opset test {operator} --record writes it; read the difference"
            findings.append(Finding("T113", message, str(file), f"transitions {', '.join(sorted(differing))}", help))
    return findings


def write_tables(registry: Registry, operators: Iterable[tuple[str, str]], events: Set[Event]) -> list[Path]:
    """Write what adapters did into the files conversions.json of the operators' folders, and return their paths.

    Entries of operators that a folder no longer has are removed. A file that does not exist is written only if an
    adapter did anything. `operators` are (domain, name) of each operator; `events` are the recorded calls of adapters.
    Raises SchemaError T113 if a file cannot be read, UsageError U104 if one cannot be written.
    """
    tables: dict[Path, Table] = {}
    for (file, operator), outcomes in _outcomes_by_file(registry, operators, events).items():
        if file not in tables:
            stated = read_table(file) or {}
            tables[file] = {name: each for name, each in stated.items() if file.with_name(f"{name}.yaml").exists()}
        tables[file][operator] = outcomes
    tables = {file: table for file, table in tables.items() if any(table.values()) or file.exists()}
    for file, table in tables.items():
        write_table(file, table)
    return [*tables]


def _outcomes_by_file(
    registry: Registry, operators: Iterable[tuple[str, str]], events: Set[Event]
) -> dict[tuple[Path, str], dict[str, RecordedOutcome]]:
    """Return what adapters did, by (path of conversions.json, operator), then by transition.

    `operators` are (domain, name) of each operator; `events` are the recorded calls of adapters. An operator without
    calls has {}. Operators without a YAML file, and operators of a domain whose adapters.py was not run, are left out.
    """
    by_operator: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        by_operator.setdefault((event[0], event[1]), []).append(event)
    return {
        (file, name): summarize(by_operator.get((domain, name), ()))
        for domain, name in operators
        if not registry.files_left_out(domain, LAYER.file) and (file := table_file(registry, domain, name)) is not None
    }


def _convert(registry: Registry, routes: Routes, targets: Sequence[Target], models: Iterable[Any]) -> None:
    """Convert each ModelProto to each target; errors are ignored, since `routes` records each call of an adapter."""
    for model in models:
        for target in targets:
            with suppress(OpsetError):  # a form that is no valid model
                convert_model(load(model), target, registry, routes=routes)


def _targets(routes: Routes, registry: Registry, schema: OpSchema) -> Iterator[tuple[Target, bool]]:
    """Yield (target, is near) for each target to which a conversion of a version's nodes begins with a written adapter.

    A target is an opset of the operator's domain, or the operator's lowering: its replacement by other operators. It is
    near if the written adapter alone reaches it, and not near if more steps follow. A function body is no written
    adapter. A direction, up or down, yields nothing if its first step has no written adapter or cannot be loaded.
    """
    name, domain = schema.name, schema.domain
    oldest = registry.since_versions(name, domain)[0]
    for final in (0, oldest, registry.domains[domain]) if domain else (1, registry.domains[domain]):
        step = None
        with suppress(OpsetError):  # adapters or function bodies that cannot be used, as examples show
            step = routes.step(domain, name, schema.since_version, final)
        if isinstance(step, RouteStep) and step.adapter not in (None, lower_by_body):
            if not step.version or (step.lowers and domain):
                yield Target({}, lowered=frozenset(((name, domain),))), True
            else:
                sinces = registry.since_versions(name, domain)
                further = {each - (final < schema.since_version) for each in sinces}
                ends = {each for each in further if min(step.version, final) <= each <= max(step.version, final)}
                for end in sorted({step.version, max(final, 1), *(ends - {0})}):
                    yield Target({domain: end}), end == step.version


def plain_forms(schema: OpSchema, example: Example) -> Iterator[Any]:
    """Yield an example as two ModelProtos, even if they are equal.

    In the first, all inputs are inputs of the graph. In the second, tensors with stated elements are initializers,
    except the first input.
    """
    yield model_of(schema, example)
    yield _model_with_constants(schema, example)


def varied_forms(schema: OpSchema, example: Example) -> Iterator[Any]:
    """Yield ModelProtos of an example in which less is known about its inputs, then in which inputs have other types.

    - For each input: without its values, then with names for its sizes, then without its shape, then of unknown type.
      All inputs with the same type constraint are of unknown type together.
    - If there are several inputs: once with only the element types of all inputs.
    - For each type constraint and each of its tensor types: with this type for all inputs of the constraint. Types that
      cannot hold the values are left out.
    """
    whole = _model_with_constants(schema, example)
    names = [value.name for value in whole.graph.input] + [tensor.name for tensor in whole.graph.initializer]
    for name in names:
        for known in (SIZES, OPEN_SIZES, TYPE):
            yield _model_with_less(schema, example, whole, [name], known)
        yield _model_with_less(schema, example, whole, _names_of_one_type(schema, names, name), NOTHING)
    if len(names) > 1:
        yield _model_with_less(schema, example, whole, names, TYPE)
    for name, types in schema.types.items():
        for type_ in types:
            if not type_.startswith("tensor("):
                continue
            with suppress(ValueError, TypeError, OverflowError):  # values that the type does not have
                retyped = example_of_type(schema, example, name, type_)
                yield _model_with_constants(schema, retyped)
                if type_ in SUB_BYTE:
                    yield _model_with_constants(schema, retyped, 0)


def _names_of_one_type(schema: OpSchema, names: Sequence[str], name: str) -> list[str]:
    """Return the names of inputs that have the same type constraint as the input `name`.

    `names` are the inputs to choose from: "input_0", "input_1" and so on.
    """
    formals = schema.inputs
    constraints = {each: formals[min(int(each[len("input_") :]), len(formals) - 1)].type for each in names}
    return [each for each in names if constraints[each] == constraints[name]]


def _model_with_constants(schema: OpSchema, example: Example, first: int = 1) -> Any:
    """Return the ModelProto of an example, with tensors from the input at index `first` on as initializers.

    Inputs without stated elements, sequences and maps stay inputs.
    """
    model = model_of(schema, example)
    model.ir_version = max(model.ir_version, IR_OF_CONSTANTS)
    for index, value in enumerate(example.inputs):
        if index >= first and value is not None and value.type.startswith("tensor(") and value.content is not None:
            model.graph.initializer.append(tensor_of(f"input_{index}", value_of(value)))
    constants = {tensor.name for tensor in model.graph.initializer}
    for value in [*model.graph.input]:
        if value.name in constants:
            model.graph.input.remove(value)
    return model


def _model_with_less(schema: OpSchema, example: Example, whole: Any, names: Sequence[str], known: str) -> Any:
    """Return a copy of an example's model, `whole`, in which less is known about the inputs called `names`.

    Their values are removed. `known` says what is still known: SIZES, all sizes; OPEN_SIZES, the rank, with a name for
    each size; TYPE, only the element type; NOTHING. For NOTHING, the input becomes the output of an unknown operator,
    and the types of the outputs are removed.
    """
    model = pb.ModelProto()
    model.CopyFrom(whole)
    for tensor in [*model.graph.initializer]:
        if tensor.name in names:
            model.graph.initializer.remove(tensor)
    for value in [*model.graph.input]:
        if value.name in names:
            model.graph.input.remove(value)
    for value in model_of(schema, example).graph.input:
        if value.name not in names:
            continue
        if known == NOTHING:
            model.graph.node.insert(0, pb.NodeProto(op_type="Unknown", domain=UNKNOWN_DOMAIN, output=[value.name]))
            continue
        if known == OPEN_SIZES:
            for number, dim in enumerate(value.type.tensor_type.shape.dim):
                dim.dim_param = f"size_{number}"
        elif known == TYPE:
            value.type.tensor_type.ClearField("shape")
        model.graph.input.add(name=value.name, type=value.type)
    if any(node.domain == UNKNOWN_DOMAIN for node in model.graph.node):
        for value in model.graph.output:
            value.ClearField("type")
        model.opset_import.add(domain=UNKNOWN_DOMAIN, version=1)
    return model


def example_of_type(schema: OpSchema, example: Example, name: str, type_: str) -> Example:
    """Return a copy of an example in which the inputs of the type constraint `name` have the type `type_`.

    Only inputs that are tensors change. Their elements, and all outputs, stay as they are.
    """
    formals = schema.inputs
    inputs = tuple(
        value._replace(type=type_)
        if value is not None and formals[min(index, len(formals) - 1)].type == name and value.type.startswith("tensor(")
        else value
        for index, value in enumerate(example.inputs)
    )
    return example._replace(inputs=inputs)
