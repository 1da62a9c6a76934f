"""Takes the nodes of one body to the target: across the transitions of their operators, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from opset.budget import ALLOW_MORE, Budget, Exhausted
from opset.errors import Finding, printable
from opset.model import proto as pb
from opset.model.elements import ELEMENTS, NUMBERS, element_name
from opset.model.graph.index import Body, FreshNames, FunctionKey, ModelIndex, Operator
from opset.model.graph.walking import function_key, list_as_input, state_type, subgraphs
from opset.opsets import releases
from opset.opsets.registry import Registry
from opset.schemas import quirks
from opset.schemas.constraints.signature import constraint_misfits, type_misfits
from opset.schemas.names import normalised
from opset.version_converter.adapted import Adapting, result_of
from opset.version_converter.derive import check_types, run
from opset.version_converter.facts import ValueFacts
from opset.version_converter.result import Action, Conversion
from opset.version_converter.rewiring import bind, remove, splice, unused_after
from opset.version_converter.rewrite import FIX_SIZES, GIVE_SHAPES, GIVE_TYPES, Builder, Node, Refusal, Result
from opset.version_converter.routes import Counted, Route, Routes, Step, Verdict
from opset.version_converter.templates import Template, form_of, repeated, template_of
from opset.version_converter.validity import Validity

# What versions 1 to 8 of Constant can hold; a constant of another type is then an initializer.
EARLY_CONSTANT = frozenset({"float", "double", "float16"})
OF_MEANING = frozenset(("C201", "C202", "C203", "C204", "C205", "C206", "C207", "C208"))
"""Refusals of nodes that are valid, for which another target may help."""
LOWERED = " lowered"
"""How the step of a node ends that is expressed by others."""
OF_VERSIONS = frozenset(("C201", "C202", "C204"))
"""Refusals whose reason may be about a version; that of a lowering is not the one that the model is in."""
INFERRED = 14
"""Version from which runtimes follow arithmetic on sizes when they infer shapes."""
TRANSITION = 16
"""Steps of a node's transition, beside the elements that its adapter reads, computes and writes."""


@dataclass(eq=False, slots=True)
class Context:
    """What the conversions of a model's bodies share.

    `proto` is the copy that is changed, `messages` its graphs and functions by the bodies of the given model; `lowered`
    are the operators that are expressed by others, whatever the target has; `valid` holds forms of nodes that fit their
    operators, `passing` signatures of nodes that stay as they are.
    """

    index: ModelIndex
    proto: Any
    messages: dict[Body, Any]
    registry: Registry
    routes: Routes
    opsets: Mapping[str, int]
    conversion: Conversion
    names: FreshNames
    budget: Budget
    lowered: Collection[tuple[str, str]] = ()
    facts: dict[Body, ValueFacts] = field(default_factory=dict)
    valid: set[tuple[Any, ...]] = field(default_factory=set)
    passing: set[tuple[Any, ...]] = field(default_factory=set)
    outcomes: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[tuple[str, ...], tuple[str, ...]]] = field(
        default_factory=dict
    )
    templates: dict[tuple[Any, ...], dict[Hashable, Template]] = field(default_factory=dict)
    """What nodes have become that were lowered, by their operators and forms."""
    validity: Validity = field(init=False)

    def __post_init__(self) -> None:
        self.validity = Validity(self.registry)


class BodyConversion:
    """The conversion of one body; the bodies inside it are converted already."""

    def __init__(self, context: Context, body: Body, versions: dict[str, int]) -> None:
        """Take the body of the given model, and the versions that it is written in, to which new ones are added."""
        self._context, self.body, self.versions = context, body, versions
        self.message, self._facts = context.messages[body], context.facts[body]
        self._released: set[str] = set()
        self._index = 0
        """The node that is checked or converted."""

    @property
    def _final(self) -> int:
        """Opset of ai.onnx that new nodes are taken to, also where the body does not import the domain."""
        context = self._context
        known = context.opsets.get("") or self.versions.get("") or context.index.opsets.get("")
        return known or releases.opset_beside(context.opsets)

    def run(self) -> None:
        """Convert the nodes, and remove what nothing uses any more; refusals go to the conversion.

        Raises Exhausted where the budget is used up.
        """
        conversion = self._context.conversion
        replaced: dict[int, list[Any]] = {}
        refused: list[tuple[int, Refusal]] = []
        for index, route, fits in self._nodes():
            if route.verdict is Verdict.PASS:
                conversion.passed[route.counted[:2]] += 1
            elif route.refusal is not None:
                refused.append((index, route.refusal))
            else:
                try:
                    if not fits:
                        self._check(index)
                    nodes = None if route.verdict is Verdict.KEEP else self._converted(index, route)
                except Refusal as refusal:
                    # Not the exception itself: its traceback would keep what was made for the node.
                    refused.append((index, Refusal(refusal.code, refusal.why, refusal.help, refusal.instead)))
                    continue
                if nodes is not None:
                    replaced[index] = nodes
                else:
                    conversion.kept[route.counted] += 1
        self._finish(replaced, refused)

    def check(self) -> None:
        """Refuse the nodes that are not valid at the version that they are in, of a body that is not converted."""
        for index, route, fits in self._nodes():
            try:
                if route.refusal is not None:
                    raise route.refusal
                if not fits and route.verdict is not Verdict.PASS:
                    self._check(index)
            except Refusal as refusal:
                self._refuse(index, refusal)

    def _nodes(self) -> Iterator[tuple[int, Route, bool]]:
        """Yield each node of an operator, no call, with its route, and whether it fits for certain."""
        body, functions = self.body, self._context.index.functions
        routes: dict[tuple[str, str], Route] = {}
        plain = self._context.validity.plain_nodes_fit(body, self.versions)
        found = zip(body.operators, body.reads, body.attributes, strict=True)
        for index, (operator, reads, attributes) in enumerate(found):
            route = routes.get(operator)
            if route is None:
                route = routes[operator] = self._route(operator)
            if not functions or body.function_key(index) not in functions:
                self._index = index
                yield index, route, plain and not attributes and "" not in reads

    def _check(self, index: int) -> None:
        """Raise Refusal C103 where a node does not fit its operator."""
        version = self.versions[self.body.operators[index][1]]
        self._context.validity.check(self.body, index, version, self._facts)

    def _refuse(self, index: int, refusal: Refusal) -> None:
        self._context.conversion.refused += 1
        self._context.conversion.refusals.append(self._finding(index, refusal))

    def _route(self, operator: tuple[str, str]) -> Route:
        context = self._context
        route = context.routes.route(*operator, self.versions, context.opsets)
        if operator in context.lowered and route.refusal is None:
            return Route(Verdict.CONVERT, (*route.counted[:3], 0))
        return route

    def _finish(self, replaced: dict[int, list[Any]], refused: list[tuple[int, Refusal]]) -> None:
        body, message = self.body, self.message
        unused, dead = unused_after(body, message, replaced, self._released, self._facts.read_elsewhere)
        for index, refusal in refused:
            # What computed only a value that became an attribute is removed, and need not be legal at the target.
            if index not in dead or refusal.code[:2] != "C2":
                self._refuse(index, refusal)
        if self._context.conversion.refusals:
            return
        if unused:
            remove(message, body.function, replaced, unused, dead)
        if replaced:
            splice(message, replaced)
        if body.owner is not None and body.owner.op_type == "Scan":
            self._state_shapes()

    def _state_shapes(self) -> None:
        """State the sizes of what the body of a Scan computes: onnxruntime needs them, and may not infer them any more.

        Before version 14, arithmetic on sizes is not followed by the inference of runtimes.
        """
        if self._context.opsets.get("", INFERRED) >= INFERRED or self.body.root.function:
            return
        for value in self.message.output:
            element, shape = self._facts.element(value.name), self._facts.shape(value.name)
            if element is None or shape is None or value.type.tensor_type.HasField("shape"):
                continue
            tensor = value.type.tensor_type
            tensor.elem_type = NUMBERS[element]
            tensor.shape.SetInParent()
            for size in shape:
                dim = tensor.shape.dim.add()
                if isinstance(size, int):
                    dim.dim_value = size

    def stopped(self, exhausted: Exhausted) -> Finding:
        """Return the refusal of a model whose conversion has used up the budget at a node."""
        place = self.body.location(self._index)
        return Finding("C401", "the conversion was stopped", place, exhausted.why, ALLOW_MORE)

    def _finding(self, index: int, refusal: Refusal) -> Finding:
        op_type, domain = self.body.operators[index]
        version = self.versions.get(domain, 0)
        if refusal.code in ("C101", "C102", "C103"):
            message = f"{printable(op_type)} is not valid at version {version}"
        elif (op_type, domain) in self._context.lowered:
            message = f"{printable(op_type)} cannot be expressed by other operators of version {version}"
        elif self._context.opsets.get(domain, version) == version and self._context.routes.release:
            message = f"{printable(op_type)} cannot be written for onnx {self._context.routes.release}"
        else:
            message = f"{printable(op_type)} cannot go from {version} to {self._context.opsets.get(domain, version)}"
        return Finding(refusal.code, message, self.body.location(index), refusal.why, self._help(refusal))

    def _help(self, refusal: Refusal) -> str:
        """Return what would help: what the adapter says where that can be done, else a target that would do."""
        stated = [value.type for value in self._context.index.proto.graph.input]
        shapes = [kind.tensor_type.shape for kind in stated if kind.tensor_type.HasField("shape")]
        can_be_done = {
            FIX_SIZES: any(dim.WhichOneof("value") != "dim_value" for shape in shapes for dim in shape.dim),
            GIVE_SHAPES: len(shapes) < len(stated),
            GIVE_TYPES: any(kind.WhichOneof("value") is None for kind in stated),
        }
        given = "" if any(part in refusal.help and not able for part, able in can_be_done.items()) else refusal.help
        if refusal.code not in OF_MEANING or not refusal.instead:
            return given
        return f"{given}, or {refusal.instead}" if given else refusal.instead

    def _converted(self, index: int, route: Route) -> list[Any] | None:
        """Return the nodes that replace one, None where it stays as it is."""
        if route.verdict is not Verdict.CHECK:
            return self._node(index, route.counted)
        signature = self._signature(index)
        if signature in self._context.passing:
            return None
        nodes = self._node(index, route.counted)
        if nodes is None:
            self._context.passing.add(signature)
        return nodes

    def _signature(self, index: int) -> tuple[Any, ...]:
        body = self.body
        reads = body.reads[index]
        return (
            body.operators[index],
            id(self.versions),
            len(reads),
            tuple(self._facts.types([*reads, *body.computes[index]])),
            tuple([attribute.SerializeToString() for attribute in body.attributes[index]]),
        )

    def _node(self, index: int, counted: Counted) -> list[Any] | None:
        """Take one node to the target: what takes its place, or None where it stays as it is."""
        node = self.message.node[index]
        if counted[3]:
            return self._taken(node, index, counted)
        known = self._context.templates.setdefault((*self.body.operators[index], id(self.versions)), {})
        form = form_of(self.body, index, self._facts) if known else None
        if form in known:
            return self._repeated(index, counted, known[form])
        released, self._released = self._released, set()
        self._facts.looked_up, self._facts.large_read = set(), False
        try:
            done = self._taken(node, index, counted)
            if done is not None:
                self._keep(known, node, index, done)
        finally:
            self._facts.looked_up = None
            self._released |= released
        return done

    def _keep(self, known: dict[Hashable, Template], node: Any, index: int, done: list[Any]) -> None:
        """Keep what a node has become as a template for others of its form."""
        looked_up = self._facts.looked_up or ()
        if not self._facts.large_read and (form := form_of(self.body, index, self._facts)) is not None:
            actions = self._context.conversion.actions
            what = actions[-1].steps, actions[-1].result
            template = template_of(node, done, self._released, looked_up, what)
            if template is not None:
                known[form] = template

    def _repeated(self, index: int, counted: Counted, template: Template) -> list[Any]:
        """Return what a node becomes as others of its form did before."""
        context, node = self._context, self.message.node[index]
        context.budget.charge(TRANSITION * len(template.what[0]))
        made, released = repeated(template, node, context.names)
        context.budget.hold(sum(each.ByteSize() for each in made) - node.ByteSize())
        self._released.update(released)
        context.conversion.actions.append(Action(self.body, index, *counted, *template.what))
        return made

    def _taken(self, node: Any, index: int, counted: Counted) -> list[Any] | None:
        """Take one node to the target: as one of the version before, if a release has that and it can be of both."""
        domain, op_type, version = counted[0], counted[1], self.versions[counted[0]]
        older = self._context.routes.older(domain, op_type, version)
        if older is not None and all(attribute.name in older.attributes for attribute in node.attribute):
            try:
                return self._taken_from(older.since_version, node, index, counted)
            except Refusal:
                pass
        return self._taken_from(version, node, index, counted)

    def _taken_from(self, start: int, node: Any, index: int, counted: Counted) -> list[Any] | None:
        """Take one node to the target across each transition of its operator, and of those that it becomes."""
        context = self._context
        pending: list[tuple[Any, int, tuple[Operator, ...]]] = [(node, start, ())]
        done: list[Any] = []
        crossed: list[str] = []
        while pending:
            current, version, inside = pending.pop()
            try:
                made = self._moved(current, version, crossed, inside)
            except Refusal as refusal:
                self._check_elements(index)
                if (current.op_type, current.domain) == (node.op_type, node.domain):
                    raise
                # The operator that stands in the model is to blame, not one that nobody wrote.
                why = f"it is expressed by {current.op_type}, and {refusal.why}"
                raise Refusal(refusal.code, why, refusal.help, refusal.instead) from None
            if made is None:
                done.append(current)
            else:
                if crossed[-1].endswith(LOWERED):
                    inside = (*inside, (current.op_type, normalised(current.domain)))
                pending.extend([(*each, inside) for each in reversed(made)])
        if not crossed:
            return None
        # Most nodes of an operator become the same: what happened to them is kept once.
        what = tuple(crossed), tuple([made.op_type for made in done])
        what = context.outcomes.setdefault(what, what)
        context.conversion.actions.append(Action(self.body, index, *counted, *what))
        return done

    def _moved(
        self, current: Any, version: int, crossed: list[str], inside: tuple[Operator, ...]
    ) -> list[tuple[Any, int]] | None:
        """Take a node across its transitions up to the first that changes it: what it becomes, with versions.

        None where it may stay as it is at the target. What is crossed is added to `crossed`; `inside` are the operators
        whose lowerings have made the node.
        """
        context = self._context
        domain = normalised(current.domain)
        final = context.opsets.get(domain, self.versions.get(domain, version))
        lowered = (current.op_type, domain) in context.lowered
        if lowered and (current.op_type, domain) in inside:
            raise Refusal("C204", f"at version {final} it needs {current.op_type} itself")
        # What is lowered at an unchanged opset goes below the operator's first version, and from there to the target.
        towards = 0 if lowered else final
        while (step := context.routes.step(domain, current.op_type, version, towards)) is not None:
            if isinstance(step, Refusal):
                if lowered:
                    raise Refusal("C201", f"there is no lowering of {current.op_type}")
                raise Refusal(step.code, step.why, step.help)
            if step.impossible:
                raise Refusal("C208", step.impossible, instead=_another_target(step, domain, version))
            try:
                made = self._cross(step, current) if step.touches else None
            except Refusal as refusal:
                if not lowered:
                    refusal.instead = refusal.instead or _another_target(step, domain, version)
                if not lowered or step.version == final or refusal.code not in OF_VERSIONS:
                    raise
                why = f"it is expressed in operators of version {step.version}: {refusal.why}"
                raise Refusal(refusal.code, why, refusal.help) from None
            if made is not None:
                after = LOWERED if step.lowers else f" -> {step.target.since_version}"
                crossed.append(f"{current.op_type} {step.source.since_version}{after}")
                return made
            version = step.version
        self._check_in_force(current, domain, final)
        return None

    def _check_in_force(self, current: Any, domain: str, final: int) -> None:
        """Refuse (C202, C203, C204) a node that the release, as it has the operator, does not take."""
        restriction = self._context.routes.restriction(domain, current.op_type, final)
        if restriction is None:
            return
        schema, node = restriction.schema, Node(current, restriction.schema, self._facts)
        if restriction.stated:
            types = [self._facts.stated_type(name) if name else "" for name in node.inputs]
            for misfit in type_misfits(schema, types):
                raise Refusal("C202", f"{misfit.what}: {misfit.why}; {restriction.why}")
            return
        try:
            check_types(restriction.derived, node, self._context.valid)
        except Refusal as refusal:
            raise Refusal(refusal.code, f"{refusal.why}; {restriction.why}", refusal.help) from None
        for attribute in schema.attributes.values():
            if attribute.required and not node.has(attribute.name):
                raise Refusal("C204", f"the attribute '{attribute.name}' is missing; {restriction.why}")

    def _cross(self, step: Step, current: Any) -> list[tuple[Any, int]] | None:
        """Take a node across one transition: the nodes in its place with their versions, None where it may stay."""
        context, facts = self._context, self._facts
        context.budget.charge(TRANSITION)
        versions = self.versions if "" in self.versions else {**self.versions, "": self._final}
        node = Node(current, step.source, facts)
        op = Builder(
            node,
            step.target,
            step.version,
            self._final,
            versions,
            context.registry,
            facts,
            context.names,
            self._initializer,
            context.lowered,
        )
        result: Result = None
        if step.adapter is not None or step.derived.rewrites:
            self._check_constraints(node)
        if step.adapter is not None:
            final = {**versions, **context.opsets}
            functions = context.index.functions
            result = result_of(Adapting(step, op, node, context.registry, facts, context.names, final, functions))
            if result is not None:
                self._check_types([(current, step.source.since_version)], "C103")
        if result is None:
            result = run(step.derived, op, node, context.valid)
        if result is None:
            return None
        made = bind(node, (result,) if isinstance(result, str) else tuple(result), op, facts)
        if "" not in self.versions and any(not domain for domain, _, _ in _operators([each for each, _ in made])):
            # An adapter of another domain may need standard operators, which the model then has to import.
            self.versions[""] = versions[""]
        if context.index.functions:
            self._check_names(current, made)
        if context.lowered:
            self._check_graphs(current, made)
        # The node is replaced; so are, perhaps, the new ones by a later transition.
        context.budget.release(current.ByteSize())
        self._released.update(op.released)
        used = {name for made_node, _ in made for name in made_node.input[:]}
        self._released.update([name for name in node.inputs if name and name not in used])
        if step.adapter is not None or step.derived.emulate:
            # The operator itself takes all that it took before, unless its own restrictions say otherwise.
            same = None if step.derived.type_restrictions else step.source.name
            if op.form not in context.valid:
                self._check_types([entry for entry in made if entry[0].op_type != same])
            if op.form:
                context.valid.add(op.form)
        return made

    def _check_names(self, old: Any, made: list[tuple[Any, int]]) -> None:
        """Refuse (C204) new nodes, those in new graphs included, that would call functions of the model."""
        functions, registry = self._context.index.functions, self._context.registry
        for key in _operators([node for node, _ in made]) - _operators([old]):
            if key in functions and registry.versions(key[1], key[0]):
                why = f"it needs the operator {key[1]}, and the model has a function of that name in its domain"
                raise Refusal("C204", why, "rename the function")

    def _check_graphs(self, old: Any, made: list[tuple[Any, int]]) -> None:
        """Refuse (C201) new graphs in nodes with operators that are to be lowered: nothing would take them further."""
        new = [inner for node, _ in made for _, graph in subgraphs(node) for inner in graph.node]
        given = [inner for _, graph in subgraphs(old) for inner in graph.node]
        for domain, op_type, _ in _operators(new) - _operators(given):
            if (op_type, domain) in self._context.lowered:
                raise Refusal("C201", f"it needs a subgraph with {op_type}, which is lowered, too")

    def _initializer(self, tensor: Any, name: str) -> str | None:
        """Add a constant as an initializer where the target's Constant cannot hold its type; return its name.

        It is "" where a Constant can hold it, None where there are no initializers: in functions.
        """
        element = element_name(tensor.data_type)
        if self._final >= 9 or element in EARLY_CONSTANT:
            return ""
        body = self.body
        if body.root.function:
            known = pb.TensorProto()  # what the Cast gives is a constant all the same
            known.CopyFrom(tensor)
            known.name = name
            self._context.facts[body].add_tensor(known)
            return None
        early = self._context.proto.ir_version < 4
        if early and body.root is not body:
            # There it had to be an input of the subgraph, and those have a meaning.
            body, name = body.root, self._context.names.fresh(name)
        self._context.budget.hold(tensor.ByteSize())
        message = self._context.messages[body]
        made = message.initializer.add()
        made.CopyFrom(tensor)
        made.name = name
        self._context.facts[body].add_tensor(made)
        if early:
            list_as_input(message, made)
        for value in message.output:  # the type of a node's output is inferred, that of an initializer need not be
            if value.name == name and not value.HasField("type"):
                state_type(value, made)
        return name

    def _check_elements(self, index: int) -> None:
        """Refuse (C202) a node of an element type that no operator of the target takes: no other reason counts then."""
        final = self._final
        for name in filter(None, (*self.body.reads[index], *self.body.computes[index])):
            element = ELEMENTS.get(NUMBERS.get(self._facts.element(name) or "", 0))
            if element is not None and element.opset > final:
                why = f"there is no element type {element.name} at opset {final}; it came with {element.opset}"
                raise Refusal("C202", why, f"convert to {element.opset} or newer")

    def _check_constraints(self, node: Node) -> None:
        """Refuse (C103) attributes that break a constraint which they declare; nodes of one form are checked once."""
        values = node.constrained()
        if not values:
            return
        schema, stated_rank = node.schema, self._facts.stated_rank
        ranks = tuple([stated_rank(name) if name else None for name in node.proto.input])
        stated = tuple([(name, tuple(each) if isinstance(each, list) else each) for name, each in values.items()])
        form = (schema.name, schema.domain, schema.since_version, stated, ranks)
        if form in self._context.valid:
            return
        for misfit in constraint_misfits(schema, values, ranks):
            if not quirks.is_kept(schema, schema.since_version, misfit.name, values[misfit.name]):
                raise Refusal("C103", f"{misfit.what}: {misfit.why} (constraint {misfit.constraint})")
        self._context.valid.add(form)

    def _check_types(self, made: list[tuple[Any, int]], code: str = "C202") -> None:
        """Refuse what an adapter gets or made where types of inputs are known and do not fit, once for each form."""
        for node, version in made:
            for types in self._facts.types(node.input[:]):
                form = (node.op_type, node.domain, version, types)
                if form in self._context.valid:
                    continue
                schema = self._context.registry.schema(node.op_type, version, node.domain)
                for misfit in type_misfits(schema, types) if schema is not None else ():
                    help = "cast the value to a type that version takes"
                    raise Refusal(code, f"{misfit.what}: {misfit.why}", help)
                self._context.valid.add(form)


def _another_target(step: Step, domain: str, version: int) -> str:
    """Return to which versions a node goes without the transition that refuses it."""
    where = f"{domain} " if domain else ""
    if step.version < version:
        return f"convert to {where}{step.source.since_version} or newer"
    return f"convert to {where}{step.target.since_version - 1} or older"


def _operators(nodes: Iterable[Any]) -> Counter[FunctionKey]:
    """Return how many nodes of each operator there are, those in graphs of nodes included."""
    found: Counter[FunctionKey] = Counter()
    pending = [*nodes]
    while pending:
        node = pending.pop()
        found[function_key(node)] += 1
        pending.extend(inner for _, graph in subgraphs(node) for inner in graph.node)
    return found
