"""Decides, node by node, how a model moves to other operator set versions, and carries it out on a copy.

Routes are worked out once per (operator, version, target); nodes that need nothing are not touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from opset.errors import ConversionError, Finding, printable
from opset.model import Model
from opset.model import proto as pb
from opset.model.attributes import attribute_type
from opset.model.elements import element_name
from opset.model.graph import function_key, list_as_input, names_read
from opset.model.index import Body, FreshNames, ModelIndex, bodies, index_model
from opset.model.tensor import tensor_values
from opset.opsets import releases
from opset.opsets.hooks import Lookup
from opset.opsets.registry import Registry
from opset.schemas.model import OpSchema
from opset.version_converter.derive import Derived, derive, run
from opset.version_converter.facts import Inferred, ValueFacts
from opset.version_converter.ir_version import set_ir_version
from opset.version_converter.registration import LAYER, Adapter
from opset.version_converter.rewrite import Builder, Node, Refusal, Result
from opset.version_converter.targets import Target

# What versions 1 to 8 of Constant can hold; a constant of another type is then an initializer.
EARLY_CONSTANT = frozenset({"float", "double", "float16"})


@dataclass(frozen=True, slots=True)
class Step:
    """One transition of one operator in one direction: what is derived, and the written adapter if there is one."""

    source: OpSchema
    target: OpSchema
    version: int
    """Opset that the result is written in."""
    derived: Derived
    adapter: Adapter | None
    impossible: str
    touches: bool
    """Whether any node can need more than to be left alone."""


@dataclass(frozen=True, slots=True)
class Action:
    """What happened to one node: from which version to which, across which transitions that touched it, into what."""

    place: str
    domain: str
    op_type: str
    since: int
    until: int
    steps: tuple[str, ...]
    result: tuple[str, ...]


@dataclass(slots=True)
class Plan:
    """How a model moves: versions before and after, what happens to which node, and everything that stands in the way.

    `kept` counts (domain, operator, since_version before, after) of nodes that stay as they are; `passed` the nodes
    of domains without schemas; `notes` is what a user should know. With `refusals` there is no result.
    """

    model: Model
    source: dict[str, int]
    target: dict[str, int]
    ir_version: tuple[int, int]
    actions: list[Action] = field(default_factory=list)
    kept: Counter[tuple[str, str, int, int]] = field(default_factory=Counter)
    passed: Counter[tuple[str, str]] = field(default_factory=Counter)
    refusals: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    result: Any = None

    @property
    def changes(self) -> bool:
        """Whether the converted model differs from the given one."""
        return self.result is not None


def plan(model: Model, target: Target, registry: Registry) -> Plan:
    """Return how a model moves to the target; the model itself is not touched.

    Raises ModelError where the model is malformed. Whatever cannot be converted is in the plan's `refusals`.
    """
    given = model.proto
    index = index_model(given, registry.domains)
    source = index.opsets
    wanted = {domain: target.opsets.get(domain, version) for domain, version in source.items()}
    result = Plan(model, source, wanted, (given.ir_version, given.ir_version))
    for domain in target.opsets:
        if domain not in source and target.max_ir is None:
            result.notes.append(f"the model does not import {domain or 'ai.onnx'}")
    functions = [index.imports(function) for function in index.functions.values()]
    moved = any(
        version != target.opsets.get(domain, version)
        for imports in (source, *functions)
        for domain, version in imports.items()
    )
    fits = target.max_ir is None or given.ir_version <= target.max_ir
    if not moved and fits and target.ir_version in (None, given.ir_version):
        return result
    proto = pb.ModelProto()
    proto.CopyFrom(given)
    _Conversion(result, proto, index, target, registry).run()
    return result


def apply(plan: Plan) -> Model:
    """Return the converted model of a plan. Raises ConversionError with every refusal; the given model is untouched."""
    if plan.refusals:
        raise ConversionError(plan.refusals)
    if plan.result is None:
        return plan.model
    return plan.model.with_proto(plan.result, changed=True)


class _Conversion:
    """One run over one model; the state that its steps share."""

    def __init__(self, plan: Plan, proto: Any, index: ModelIndex, target: Target, registry: Registry) -> None:
        self.plan, self.proto, self.target, self.registry = plan, proto, target, registry
        self.domains = registry.domains
        self.adapters = Lookup(LAYER, registry)
        self.bodies = bodies(proto)
        self.index = index
        self.names = FreshNames(index.bodies)
        self.functions = {function_key(function) for function in proto.functions}
        self.values: dict[Body, ValueFacts] = {}
        self.steps: dict[tuple[str, str, int, int], Step | Refusal | None] = {}
        self.valid: set[tuple[Any, ...]] = set()
        """Forms of nodes that fit their operator's signature."""
        self.passing: set[tuple[Any, ...]] = set()
        """Signatures of nodes that may stay as they are though their operator's route has gates."""

    def run(self) -> None:
        versions: dict[Body, dict[str, int]] = {}
        for body in self.bodies:
            if body.root is not body:
                versions[body] = versions[body.root]
                continue
            if body.function:
                versions[body] = dict(self.index.imports(self.index.functions[function_key(body.proto)]))
            else:
                versions[body] = dict(self.plan.source)
            self._check_known(body, versions[body])
        if self.plan.refusals:
            return
        inferred = Inferred(self.plan.model, self.index, self.registry, self.bodies)
        for body in self.bodies:
            outer = self.values.get(body.parent) if body.parent is not None else None
            self.values[body] = ValueFacts(
                body, outer, self.registry, versions[body], self._read, self.proto.ir_version >= 4, inferred
            )
        if self.proto.training_info:
            training = [body for body in self.bodies if body.root is not self.bodies[0] and not body.root.function]
            bindings = [b for t in self.proto.training_info for b in (*t.initialization_binding, *t.update_binding)]
            self.values[self.bodies[0]].read_elsewhere = frozenset(
                (*_used_names(training), *(binding.key for binding in bindings), *(b.value for b in bindings))
            )
        for body in reversed(self.bodies):
            self._body(body, versions[body])
        _set_imports(self.proto, self.target.opsets, versions[self.bodies[0]])
        for body in self.bodies:
            if body.function:
                _set_imports(body.proto, self.target.opsets, versions[body])
        # Where a node with subgraphs was replaced, its copy holds them now.
        found = bodies(self.proto) if len(self.bodies) > 1 else self.bodies
        self.plan.refusals.extend(set_ir_version(self.proto, self.target, found, self.plan.notes))
        self.plan.ir_version = (self.plan.model.proto.ir_version, self.proto.ir_version)
        if not self.plan.refusals:
            self.plan.result = self.proto

    def _check_known(self, body: Body, versions: Mapping[str, int]) -> None:
        """Refuse what imports a newer version than the schemas know: what its operators mean there cannot be told."""
        for domain, version in versions.items():
            newest = self.domains.get(domain, version)
            if version > newest and domain in self.target.opsets:
                shown = printable(domain) or "ai.onnx"
                self.plan.refusals.append(
                    Finding(
                        "C104", f"{shown} {version} is newer than what opset knows", f"{body.label}, opset_import",
                        f"the newest version with schemas is {newest}", "use a newer opset, or give schemas for it",
                    )
                )

    def _read(self, tensor: Any, limit: int) -> list[Any]:
        return tensor_values(self.plan.model, tensor, limit)

    def _body(self, body: Body, versions: dict[str, int]) -> None:
        """Convert the nodes of one body; those in its subgraphs are done already."""
        replaced: dict[int, list[Any]] = {}
        released: set[str] = set()
        refused: list[tuple[int, Refusal]] = []
        kept = self.plan.kept
        memo: dict[tuple[str, str], Any] = {}
        for index, node in enumerate(body.proto.node):
            key = (node.op_type, node.domain)
            route = memo.get(key)
            if route is None:
                route = memo[key] = self._route(key, versions)
            verdict, counted = route
            if self.functions and function_key(node) in self.functions:
                continue
            if verdict == "keep":
                kept[counted] += 1
                continue
            if verdict == "pass":
                self.plan.passed[counted] += 1
                continue
            if verdict == "gate":
                signature = _signature(node, self.values[body])
                if signature in self.passing:
                    kept[counted] += 1
                    continue
            if verdict in ("convert", "gate"):
                try:
                    nodes = self._node(body, index, node, versions, released, counted)
                except Refusal as refusal:
                    verdict = refusal
                else:
                    if nodes is not None:
                        replaced[index] = nodes
                    else:
                        kept[counted] += 1
                        if verdict == "gate":
                            self.passing.add(signature)
                    continue
            refused.append((index, verdict))
        unused, dead = _unused(body, replaced, released, self.values[body].read_elsewhere)
        for index, verdict in refused:
            # What computed only a value that became an attribute goes away, and need not be legal at the target.
            if index not in dead or verdict.code[:2] != "C2":
                self._refuse(body, index, verdict, versions)
        if self.plan.refusals:
            return
        if unused:
            _remove(body, replaced, unused, dead)
        if replaced:
            _splice(body.proto, replaced)

    def _route(self, key: tuple[str, str], versions: Mapping[str, int]) -> tuple[Any, Any]:
        """Return what happens to all nodes of one operator: "keep", "pass", "gate", "convert", or a Refusal.

        "gate" means that types and attributes alone decide, so one verdict serves all nodes of a signature.
        """
        op_type, domain = key
        domain = "" if domain == "ai.onnx" else domain
        if domain not in self.domains:
            return "pass", (domain, op_type)
        if domain not in versions:
            if domain == "" and not self.plan.source:
                versions = {"": 1}
            else:
                shown = printable(domain) or "ai.onnx"
                return Refusal("C102", f"the model does not import the domain '{shown}' that the node uses"), None
        version = versions[domain]
        final = self.target.opsets.get(domain, version)
        schema = self.registry.schema(op_type, version, domain)
        if schema is None:
            known = self.registry.versions(op_type, domain)
            if not known:
                return Refusal("C101", f"there is no operator {op_type} in {domain or 'ai.onnx'}"), None
            why = f"it came with version {known[0].since_version}, and the model imports {version}"
            return Refusal("C102", why, "import the version that the exporter wrote"), None
        end = self.registry.schema(op_type, final, domain)
        counted = (domain, op_type, schema.since_version, end.since_version if end is not None else 0)
        at, verdict = version, "keep"
        while (step := self._step(domain, op_type, at, final)) is not None:
            if isinstance(step, Refusal):
                return step, counted
            if step.adapter or step.impossible or step.derived.rewrites:
                return "convert", counted
            if step.touches:
                verdict = "gate"
            at = step.version
        return verdict, counted

    def _step(self, domain: str, op_type: str, version: int, final: int) -> Step | Refusal | None:
        """Return the next transition of an operator from a version towards the final one, None if there is none."""
        key = (domain, op_type, version, final)
        if key not in self.steps:
            self.steps[key] = self._find_step(*key)
        return self.steps[key]

    def _find_step(self, domain: str, op_type: str, version: int, final: int) -> Step | Refusal | None:
        source = self.registry.schema(op_type, version, domain)
        known = self.registry.versions(op_type, domain)
        if source is None:
            return Refusal("C101", f"there is no operator {op_type} at version {version}")
        position = known.index(source)
        if final > version:
            if position + 1 == len(known) or known[position + 1].since_version > final:
                return None
            newer = target = known[position + 1]
            written_in, direction = target.since_version, "up"
        elif final >= source.since_version:
            return None
        elif position == 0:
            return Refusal(
                "C201",
                f"{op_type} came with version {source.since_version}",
                f"convert to {source.since_version} or newer",
            )
        else:
            newer, target = source, known[position - 1]
            written_in, direction = source.since_version - 1, "down"
        change = newer.change
        if change is None:
            raise RuntimeError(f"{op_type} {newer.since_version} declares no change")
        stated = change.up if direction == "up" else change.down
        adapter = None
        if stated == "written":
            hook = self.adapters.find(direction, domain, op_type, newer.since_version, newer.family)
            adapter = hook.function if hook is not None else None
            if adapter is None:
                stated = "impossible: no adapter is written for it"
        impossible = stated.removeprefix("impossible:").strip() if stated.startswith("impossible") else ""
        if target.deprecated and adapter is None:
            use = f"; {target.replacement} takes its place" if target.replacement else ""
            impossible = impossible or f"{op_type} is withdrawn at version {written_in}{use}"
        derived = derive(source, target, change)
        touches = bool(adapter or impossible or derived.touches)
        return Step(source, target, written_in, derived, adapter, impossible, touches)

    def _node(
        self, body: Body, index: int, node: Any, versions: dict[str, int], released: set[str],
        counted: tuple[str, str, int, int],
    ) -> list[Any] | None:
        """Take one node to the target: what takes its place, or None where it stays as it is."""
        values = self.values[body]
        domain = "" if node.domain == "ai.onnx" else node.domain
        pending = [(node, versions[domain])]
        done: list[Any] = []
        crossed: list[str] = []
        form = (
            node.op_type, domain, versions[domain], len(node.output), tuple(map(bool, node.input)),
            tuple((a.name, a.type or attribute_type(a), not a.ref_attr_name) for a in node.attribute),
        )
        if form not in self.valid:
            validate(node, self.registry.schema(node.op_type, versions[domain], domain))
            self.valid.add(form)
        while pending:
            current, version = pending.pop()
            domain = "" if current.domain == "ai.onnx" else current.domain
            final = self.target.opsets.get(domain, version)
            while True:
                step = self._step(domain, current.op_type, version, final)
                if isinstance(step, Refusal):
                    raise step
                if step is None:
                    done.append(current)
                    break
                if step.impossible:
                    raise Refusal("C208", step.impossible)
                if not step.touches:
                    version = step.version
                    continue
                made = self._cross(step, current, versions, values, body, released, final)
                if made is None:
                    version = step.version
                    continue
                crossed.append(f"{current.op_type} {step.source.since_version} -> {step.target.since_version}")
                pending.extend(reversed(made))
                break
        if not crossed:
            return None
        names = tuple(made.op_type for made in done)
        self.plan.actions.append(Action(body.location(index), *counted, tuple(crossed), names))
        return done

    def _cross(
        self, step: Step, current: Any, versions: dict[str, int], values: ValueFacts, body: Body, released: set[str],
        final: int,
    ) -> list[tuple[Any, int]] | None:
        """Take a node across one transition: the nodes in its place with their versions, None where it may stay."""
        node = Node(current, step.source, values, final)
        op = Builder(
            current, step.target, step.version, self._versions_for(versions), self.registry, values, self.names,
            lambda tensor, name: self._initializer(body, tensor, name, self.target.opsets.get("", versions[""])),
        )
        result: Result = None
        if step.adapter is not None:
            result = step.adapter(op, node)
            if result is not None:
                self._check_types([(current, step.source.since_version)], values, "C103")
        if result is None:
            result = run(step.derived, op, node)
        if result is None:
            return None
        released.update(op.released)
        made = _bind(current, (result,) if isinstance(result, str) else tuple(result), op, values)
        used = {name for made_node, _ in made for name in made_node.input}
        released.update(name for name in current.input if name and name not in used)
        if step.adapter is not None or step.derived.emulate:
            # The operator itself takes all that it took before, unless its own gates say otherwise.
            same = None if step.derived.type_restrictions or step.derived.same_type_restrictions else step.source.name
            self._check_types([entry for entry in made if entry[0].op_type != same], values)
        return made

    def _versions_for(self, versions: dict[str, int]) -> dict[str, int]:
        if "" not in versions:
            # An adapter of another domain may need standard operators, which the model then has to import.
            versions[""] = self.target.opsets.get("") or releases.opset_beside(self.target.opsets)
        return versions

    def _initializer(self, body: Body, tensor: Any, name: str, final: int) -> str:
        """Add a constant as an initializer where a Constant node of the target cannot hold its type; give its name."""
        element = element_name(tensor.data_type)
        if final >= 9 or element in EARLY_CONSTANT:
            return ""
        if body.root.function:
            raise Refusal("C202", f"a Constant before version 9 cannot hold {element}; functions have no initializers")
        early = self.proto.ir_version < 4
        if early and body.root is not body:
            # There it had to be an input of the subgraph, and those have a meaning.
            body, name = body.root, self.names.fresh(name)
        made = body.proto.initializer.add()
        made.CopyFrom(tensor)
        made.name = name
        self.values[body].add_tensor(made)
        if early:
            list_as_input(body.proto, made)
        return name

    def _check_types(self, made: list[tuple[Any, int]], values: ValueFacts, code: str = "C202") -> None:
        """Refuse what an adapter gets or made where a type is known and not allowed at the version of the node."""
        for node, version in made:
            domain = "" if node.domain == "ai.onnx" else node.domain
            schema = self.registry.schema(node.op_type, version, domain)
            if schema is None:
                continue
            for position, name in enumerate(node.input):
                formal = schema.inputs[min(position, len(schema.inputs) - 1)] if schema.inputs else None
                kind = values.type(name) if name and formal is not None else None
                if kind is not None and formal is not None and kind not in schema.allowed(formal):
                    raise Refusal(
                        code,
                        f"{node.op_type} of version {schema.since_version} does not take {printable(kind)}",
                        "cast the value to a type that version takes, or choose another target",
                    )

    def _refuse(self, body: Body, index: int, refusal: Refusal, versions: Mapping[str, int]) -> None:
        node = body.proto.node[index]
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = versions.get(domain, 0)
        final = self.target.opsets.get(domain, version)
        if refusal.code == "C103" or refusal.code in ("C101", "C102"):
            message = f"{printable(node.op_type)} is not valid at version {version}"
        else:
            message = f"{printable(node.op_type)} cannot go from {version} to {final}"
        self.plan.refusals.append(Finding(refusal.code, message, body.location(index), refusal.why, refusal.help))


def validate(node: Any, schema: OpSchema | None) -> None:
    """Refuse (C103) a node that does not fit its operator's signature."""
    if schema is None:
        return
    for word, names, parameters, least, most in (
        ("inputs", node.input, schema.inputs, schema.min_input, schema.max_input),
        ("outputs", node.output, schema.outputs, schema.min_output, schema.max_output),
    ):
        if not least <= len(names) <= most:
            wanted = f"{least}" if least == most else f"{least} or more" if most > 10**6 else f"{least} to {most}"
            raise Refusal("C103", f"it has {len(names)} {word}, and {schema.name} of {schema.since_version} {wanted}")
        for position, parameter in enumerate(parameters):
            if parameter.option == "single" and word == "inputs" and not names[position]:
                raise Refusal("C103", f"the input '{parameter.name}' is required and left empty")
    seen = set()
    for attribute in node.attribute:
        name = attribute.name
        declared = schema.attributes.get(name)
        if name in seen:
            raise Refusal("C103", f"the attribute '{printable(name)}' stands twice")
        seen.add(name)
        if declared is None:
            raise Refusal("C103", f"{schema.name} of {schema.since_version} has no attribute '{printable(name)}'")
        kind = attribute_type(attribute)
        if kind != declared.type and not attribute.ref_attr_name:
            raise Refusal("C103", f"the attribute '{name}' is of type {kind}, not {declared.type}")
    for name, declared in schema.attributes.items():
        if declared.required and name not in seen:
            raise Refusal("C103", f"the attribute '{name}' is required")


def _signature(node: Any, values: ValueFacts) -> tuple[Any, ...]:
    return (
        node.op_type,
        node.domain,
        id(values.versions),
        tuple(values.type(name) if name else "" for name in node.input),
        tuple(values.type(name) if name else "" for name in node.output),
        tuple(attribute.SerializeToString() for attribute in node.attribute),
    )


def _bind(node: Any, results: tuple[str, ...], op: Builder, values: ValueFacts) -> list[tuple[Any, int]]:
    """Make the new nodes compute the old node's outputs under their own names; "" serves for one that nothing reads."""
    made = op.made
    if results == tuple(node.output) and (not node.name or any(new.name == node.name for new, _ in made)):
        return made
    produced = {name for new, _ in made for name in new.output}
    rename: dict[str, str] = {}
    for position, name in enumerate(node.output):
        if not name:
            continue
        value = results[position] if position < len(results) else ""
        if not value and values.is_read(name):
            raise Refusal("C204", f"the output '{printable(name)}' has no equal there")
        if not value or value == name:
            continue
        if value in produced and value not in rename:
            rename[value] = name
        else:
            op.Identity(rename.get(value, value), outputs=[name], domain="")
    for new, _ in made if rename else ():
        for names in (new.input, new.output):
            for position, name in enumerate(names):
                if name in rename:
                    names[position] = rename[name]
    if node.name and not any(new.name == node.name for new, _ in made):
        # The node that computes the first output inherits the name.
        first = next((name for name in node.output if name), None)
        heir = next((new for new, _ in made if first in new.output), None)
        if heir is not None:
            heir.name = node.name
    return made


def _splice(proto: Any, replaced: dict[int, list[Any]]) -> None:
    """Put new nodes in the place of old ones; the others are not touched."""
    if all(len(nodes) == 1 for nodes in replaced.values()):
        for index, (node,) in replaced.items():
            proto.node[index].CopyFrom(node)
        return
    nodes: list[Any] = []
    for index, node in enumerate(proto.node):
        nodes.extend(replaced.get(index, (node,)))
    # A message that is held stays valid outside of its list.
    del proto.node[:]
    proto.node.extend(nodes)


def _unused(
    body: Body, replaced: dict[int, list[Any]], released: set[str], elsewhere: Collection[str]
) -> tuple[set[str], set[int]]:
    """Return released values that nothing uses once the new nodes stand in the place of the old ones, those that only
    they were computed from, and the places of the standard's nodes that compute nothing else.
    """
    if not released:
        return set(), set()
    proto = body.proto
    used = Counter(body.output_names()) + Counter(body.input_names()) + Counter(elsewhere)
    if not body.function:
        for annotation in proto.quantization_annotation:
            used.update(entry.value for entry in annotation.quant_parameter_tensor_names)
    makers: dict[str, int] = {}
    for index, old in enumerate(proto.node):
        for node in replaced.get(index, (old,)):
            used.update(names_read([node]))
        makers.update((name, index) for name in old.output if name)
    unused: set[str] = set()
    dead: set[int] = set()
    pending = [name for name in released if not used[name]]
    while pending:
        name = pending.pop()
        unused.add(name)
        index = makers.get(name, -1)
        if index < 0 or index in dead or proto.node[index].domain not in ("", "ai.onnx"):
            continue
        if not unused.issuperset(filter(None, proto.node[index].output)):
            continue
        dead.add(index)
        for node in replaced.get(index, (proto.node[index],)):
            for read in names_read([node]):
                used[read] -= 1
                if read and not used[read]:
                    pending.append(read)
    return unused, dead


def _remove(body: Body, replaced: dict[int, list[Any]], unused: set[str], dead: set[int]) -> None:
    """Take out what only replaced nodes used: initializers, the nodes that are dead, and constants made on the way."""
    proto = body.proto
    for index, nodes in replaced.items():
        replaced[index] = [
            node for node in nodes
            if node.op_type != "Constant" or node.domain not in ("", "ai.onnx") or unused.isdisjoint(node.output)
        ]  # fmt: skip
    replaced.update((index, []) for index in dead)
    for entries in (proto.value_info,) if body.function else (proto.initializer, proto.value_info):
        for index in reversed(range(len(entries))):
            if entries[index].name in unused:
                del entries[index]


def _used_names(found: Iterable[Body]) -> set[str]:
    names: set[str] = set()
    for body in found:
        names.update(body.output_names(), *body.reads)
    return names


def _set_imports(proto: Any, opsets: Mapping[str, int], needed: Mapping[str, int]) -> None:
    """Set the imported versions, and import what new nodes need beyond that."""
    present = set()
    for entry in proto.opset_import:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        present.add(domain)
        if domain in opsets:
            entry.version = opsets[domain]
    for domain, version in needed.items():
        if domain not in present:
            proto.opset_import.add(domain=domain, version=opsets.get(domain, version))
