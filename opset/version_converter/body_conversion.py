"""The conversion of one body: a plan of which nodes replace which, and the change of the body by that plan.

plan -> _convert_node -> Crossing.cross_transitions, or to lower a node: _lower_node -> _apply_template
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from opset.budget import ALLOW_MORE, BudgetExceeded
from opset.errors import KEPT, Finding, safe_text
from opset.model.elements import NUMBERS
from opset.model.graph.index import Body, Operator
from opset.version_converter.context import Context
from opset.version_converter.crossing import TRANSITION, Crossing
from opset.version_converter.helps import help_of_code
from opset.version_converter.replacement import remove_unused, replace_nodes, unused_after
from opset.version_converter.result import Action
from opset.version_converter.rewrite import FIX_SIZES, GIVE_SHAPES, GIVE_TYPES, Refusal
from opset.version_converter.routes import Route, Verdict, VersionChange
from opset.version_converter.templates import Template, apply_template, form_of, template_of

OF_MEANING = frozenset(("C201", "C202", "C203", "C204", "C205", "C206", "C207", "C208", "C209"))
"""Refusals of nodes that are valid, for which another target may help."""
INFERRED = 14
"""Version from which runtimes follow arithmetic on sizes when they infer shapes."""


class BodyPlan(NamedTuple):
    """The changes that the conversion of one body needs.

    - `replaced`: the new nodes, by the index of the node that they replace;
    - `refused`: the refusals, each with the index of its node;
    - `released`: names of values that replaced nodes read and new nodes do not; if nothing else reads a value, it is
      removed.
    """

    replaced: dict[int, list[Any]]
    refused: list[tuple[int, Refusal]]
    released: set[str]


class BodyConversion:
    """The conversion of one body, a graph or function; the bodies of its subgraphs have been converted before."""

    def __init__(self, context: Context, body: Body, versions: dict[str, int]) -> None:
        """Take a body (a graph or function), and the opset versions of its nodes by domain.

        `context` is the state that all bodies of the model share. If new nodes use a domain that is missing from
        `versions`, it is added to `versions`.
        """
        self.body = body
        self.versions = versions
        self.message = context.messages[body]
        self._context = context
        self._facts = self.facts = context.facts[body]
        self.availability = context.availability
        self._forms = context.forms_of(body, versions)
        self._crossing = Crossing(context, body, versions)
        self._index = 0
        """The node that is checked or converted."""

    def plan(self) -> BodyPlan:
        """Return the nodes that replace others in this body, and the refusals; nodes of the body are not changed yet.

        The conversion records what happens to each node: a replaced node is added to its `actions`. A node that stays
        is counted in its `kept`, or in its `passed` if the node's operator has no schema to check it by. New
        initializers are added to the body at once. Raises BudgetExceeded if the budget is used up.
        """
        conversion = self._context.conversion
        replaced: dict[int, list[Any]] = {}
        refused: list[tuple[int, Refusal]] = []
        kept: list[VersionChange] = []
        for index, route, fits in self._routed_nodes():
            if route.verdict is Verdict.PASS:
                try:
                    self._crossing.check_adopted(index)
                except Refusal as refusal:
                    refused.append((index, refusal))
                conversion.passed[route.change[:2]] += 1
            elif route.refusal is not None:
                refused.append((index, route.refusal))
            else:
                try:
                    if not fits:
                        self._check_node(index)
                    stays = route.verdict is Verdict.KEEP
                    if stays and self.availability is not None:
                        stays = self._count_if_run(index, route)
                    nodes = None if stays else self._convert_node(index, route)
                except Refusal as refusal:
                    # Not the exception itself: its traceback would keep what was made for the node.
                    refused.append((index, Refusal(refusal.code, refusal.why, refusal.help, refusal.instead)))
                    continue
                if nodes is not None:
                    replaced[index] = nodes
                else:
                    kept.append(route.change)
        conversion.kept.update(kept)
        return BodyPlan(replaced, refused, self._crossing.released)

    def apply(self, plan: BodyPlan) -> None:
        """Add the refusals of a plan to the conversion; if the conversion then has none, change the body as planned.

        Nodes are replaced, and nodes whose results nothing reads any more are removed. If a node is to be removed, its
        refusal about the target (C2xx) is not added. If the conversion has any refusal, also from another body, this
        body stays unchanged.
        """
        body, message = self.body, self.message
        unused, dead = unused_after(body, message, plan.replaced, plan.released, self._facts.read_elsewhere)
        # What computed only a value that became an attribute is removed, and need not be legal at the target.
        refused = [each for each in plan.refused if each[0] not in dead or each[1].code[:2] != "C2"]
        self._count_removed(dead - {index for index, _ in refused}, plan)
        for index, refusal in refused:
            self._refuse_node(index, refusal)
        if self._context.conversion.refusals:
            return
        if unused:
            remove_unused(message, body.function, plan.replaced, unused, dead)
        if plan.replaced:
            replace_nodes(message, plan.replaced)
        if body.owner is not None and body.owner.op_type == "Scan":
            self._state_shapes()

    def _count_removed(self, dead: set[int], plan: BodyPlan) -> None:
        """Count the nodes that are to be removed as removed, and no longer as converted or kept.

        `dead` has the indices of these nodes in the body, `plan` the nodes that are replaced or refused.
        """
        conversion, actions = self._context.conversion, []
        while dead and conversion.actions and conversion.actions[-1].body is self.body:
            if (action := conversion.actions.pop()).node_index not in dead:
                actions.append(action)
        conversion.actions += reversed(actions)
        refused = {index for index, _ in plan.refused}
        for index in dead:
            change = self._route_of(self.body.operators[index]).change
            if index not in refused and index not in plan.replaced:
                conversion.kept[change] -= 1
            conversion.removed[change[:3]] += 1
        conversion.kept = +conversion.kept

    def check(self) -> None:
        """Add a refusal to the conversion for each node of the body that is not valid at the body's own opsets.

        A node of an unknown operator is not valid. These nodes are not checked:

        - nodes in subgraphs, which are bodies of their own;
        - calls of model-local functions;
        - nodes of domains without schemas.

        The body is not changed. Raises BudgetExceeded if the budget is used up.
        """
        for index, route, fits in self._routed_nodes():
            try:
                if route.refusal is not None:
                    raise route.refusal
                if not fits and route.verdict is not Verdict.PASS:
                    self._check_node(index)
            except Refusal as refusal:
                self._refuse_node(index, refusal)

    def _routed_nodes(self) -> Iterator[tuple[int, Route, bool]]:
        """Yield (index, route, whether the node surely fits its operator) for each node of the body.

        The Route states whether nodes of the operator stay, are checked, converted or refused. If the last value is
        False, only `_check_node` shows whether the node fits. Calls of model-local functions are left out.
        """
        body, functions = self.body, self._context.index.functions
        routes: dict[Operator, Route] = {}
        plain_nodes_fit = self._context.validity.plain_nodes_fit(body, self.versions)
        nodes = zip(body.operators, body.reads, body.attributes, strict=True)
        for index, (operator, reads, attributes) in enumerate(nodes):
            route = routes.get(operator)
            if route is None:
                route = routes[operator] = self._route_of(operator)
            if not functions or body.function_key(index) not in functions:
                self._index = index
                yield index, route, plain_nodes_fit and not attributes and "" not in reads

    def _route_of(self, operator: Operator) -> Route:
        """Return whether all nodes of an operator in this body stay, are checked, converted or refused.

        An unknown operator is refused. A known operator that the user wants to be lowered is converted.
        """
        context = self._context
        route = context.routes.route(*operator, self.versions, context.opsets)
        if operator not in context.lowered or route.refusal is not None:
            return route
        if route.verdict is Verdict.PASS:
            first = context.registry.since_versions(*operator)[0]
            why = f"it is the standard's from version {first} on, and the model imports {self.versions.get('', 0)}"
            help = f"convert to {first} or newer, and lower the result"
            return Route(Verdict.REFUSE, route.change, Refusal("C201", why, help))
        return Route(Verdict.CONVERT, route.change._replace(until=0))

    def _check_node(self, index: int) -> None:
        """Raise Refusal C103 if the node at `index` does not fit the schema of its operator at the body's own opset."""
        version = self.versions[self.body.operators[index][1]]
        self._context.validity.check(self.body, index, version, self._facts)

    def _convert_node(self, index: int, route: Route) -> list[Any] | None:
        """Return the nodes that replace the node at `index`, None if the node stays as it is.

        `route` is the Route of the node's operator: the versions before and after, or that the operator is lowered. A
        replaced node is added to the actions of the conversion; the body is not changed. Raises Refusal if no nodes at
        the target compute the same, BudgetExceeded if the budget is used up.
        """
        if not route.change.until:
            return self._lower_node(index, route.change)
        plain = route.verdict is Verdict.CHECK and self._context.availability is None
        signature = self._signature_of(index) if plain else None
        if signature in self._forms.unchanged:
            return None
        nodes = self._crossing.cross_transitions(index, route.change)
        if nodes is None and signature is not None:
            self._forms.unchanged.add(signature)
        if nodes is None and self.availability is not None:
            self._count_if_run(index, route, accept_faulty=True)
        return nodes

    def _count_if_run(self, index: int, route: Route, accept_faulty: bool = False) -> bool:
        """Return whether the target's runtime, or its fallback, runs the node at `index` as it is.

        A node that runs is counted for the notes on the runtime. With `accept_faulty`, a node that the runtime computes
        wrongly is counted, too. `route` is the Route of the node's operator. The target must be a runtime.
        """
        assert self.availability is not None
        body, domain = self.body, route.change.domain
        opset = self._context.opsets.get(domain, self.versions.get(domain, 0))
        names = body.operators[index], body.reads[index], body.computes[index]
        judgement = self.availability.judge(self.message.node[index], opset, self._facts, names)
        return self.availability.count(judgement, route.change.op_type, accept_faulty=accept_faulty)

    def _signature_of(self, index: int) -> tuple[Any, ...]:
        """Return the operator, number of inputs, types and attributes of a node as a key.

        Nodes of this body with equal keys either all stay as they are, or none does. Unknown types are equal.
        """
        body = self.body
        reads = body.reads[index]
        return (
            body.operators[index],
            len(reads),
            tuple(self._facts.types([*reads, *body.computes[index]])),
            tuple([attribute.SerializeToString() for attribute in body.attributes[index]]),
        )

    def _lower_node(self, index: int, change: VersionChange) -> list[Any] | None:
        """Return the nodes of other operators that replace the node at `index`, None if nothing changes it.

        `change` has its operator and versions. If a node with the same attributes, types, shapes and small constants
        was lowered before, copies of its new nodes are returned, with new names. The change is added to the actions of
        the conversion.

        Raises Refusal if the operator has no lowering, or if the lowering refuses the node; BudgetExceeded if the
        budget is used up.
        """
        facts, crossing = self._facts, self._crossing
        templates = self._forms.templates.setdefault(self.body.operators[index], {})
        form = form_of(self.body, index, facts) if templates else None
        if form in templates:
            return self._apply_template(index, change, templates[form])
        released, crossing.released = crossing.released, set()
        facts.looked_up, facts.large_read = set(), False
        counts = Counter(self.availability.counts if self.availability is not None else ())
        try:
            nodes = crossing.cross_transitions(index, change)
            if nodes is not None:
                self._keep_template(templates, index, nodes, counts)
        finally:
            facts.looked_up = None
            crossing.released |= released
        return nodes

    def _keep_template(
        self, templates: dict[Hashable, Template], index: int, nodes: list[Any], counts: Counter[tuple[str, str]]
    ) -> None:
        """Store the nodes that replace a node as a template, from which later nodes like it are replaced.

        The key in `templates` is the result of `form_of`: the node's operator, attributes, types, shapes and small
        constants. Nothing is stored if the new nodes depend on other facts, such as the elements of a large constant.

        Args:
            templates: Gets the template.
            index: The position of the replaced node in the body. The node must be the one that was lowered last.
            nodes: The nodes that replace it.
            counts: A copy of `availability.counts`, the numbers of nodes in the notes about the runtime, from before
                the node was lowered. The template states by how much each number has grown.
        """
        looked_up = self._facts.looked_up or ()
        if not self._facts.large_read and (form := form_of(self.body, index, self._facts)) is not None:
            action = self._context.conversion.actions[-1]
            node, released = self.message.node[index], self._crossing.released
            template = template_of(node, nodes, released, looked_up, (action.steps, action.result))
            if template is not None:
                now = self.availability.counts if self.availability is not None else counts
                templates[form] = template._replace(counts=now - counts)

    def _apply_template(self, index: int, change: VersionChange, template: Template) -> list[Any]:
        """Return the nodes that replace the node at `index`: copies of the template's nodes.

        The copies read the inputs of the replaced node, and compute its outputs. The change is added to the actions of
        the conversion. Raises BudgetExceeded if the budget is used up.
        """
        context, node = self._context, self.message.node[index]
        steps, _ = template.outcome
        context.budget.charge(TRANSITION * len(steps))
        if self.availability is not None:
            self.availability.counts.update(template.counts)
        nodes, released = apply_template(template, node, context.names)
        context.budget.hold(sum(new.ByteSize() for new in nodes) - node.ByteSize())
        self._crossing.released.update(released)
        context.conversion.actions.append(Action(self.body, index, *change, *template.outcome))
        return nodes

    def _state_shapes(self) -> None:
        """Write inferred types and shapes into the outputs of this body, which is the body of a Scan.

        Outputs that state a shape stay as they are. A size that is no number is left open.
        """
        is_inferred = self._context.opsets.get("", INFERRED) >= INFERRED and self.availability is None
        if is_inferred or self.body.root.function:
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

    def budget_finding(self, exhausted: BudgetExceeded) -> Finding:
        """Return the refusal C401, placed at the node of this body at which the budget was used up."""
        place = self.body.location(self._index)
        return Finding("C401", "the conversion was stopped", place, exhausted.why, ALLOW_MORE)

    def _refuse_node(self, index: int, refusal: Refusal) -> None:
        """Add the finding for a refused node to the conversion's refusals.

        The node is counted in `refused`, and for its operator version and reason in `blocked`.
        """
        conversion, finding = self._context.conversion, self._finding_of(index, refusal)
        conversion.refused += 1
        conversion.refusals.append(finding)
        op_type, domain = self.body.operators[index]
        since = self._context.routes.route(op_type, domain, self.versions, self._context.opsets).change.since
        key = (domain, op_type, since, finding.kind)
        first, count = conversion.blocked.get(key, (finding, 0))
        if count or len(conversion.blocked) < KEPT:
            conversion.blocked[key] = (first, count + 1)

    def _finding_of(self, index: int, refusal: Refusal) -> Finding:
        """Return the finding for the node at `index`, which is refused.

        Its message says what cannot be done, such as "Gelu cannot go from 20 to 13"; its reason is the refusal's.
        """
        context = self._context
        op_type, domain = self.body.operators[index]
        version = self.versions.get(domain, 0)
        reached = context.opsets.get(domain, version)
        if refusal.code in ("C101", "C102", "C103"):
            message = f"{safe_text(op_type)} is not valid at version {version}"
        elif (op_type, domain) in context.lowered:
            message = f"{safe_text(op_type)} cannot be expressed by other operators of version {version}"
        elif refusal.code == "C209":
            message = f"{safe_text(op_type)} cannot run on {context.availability.label}" if context.availability else ""
        elif reached == version and context.routes.release:
            message = f"{safe_text(op_type)} cannot be written for onnx {context.routes.release}"
        else:
            message = f"{safe_text(op_type)} cannot go from {version} to {reached}"
        return Finding(refusal.code, message, self.body.location(index), refusal.why, self._help_of(refusal))

    def _help_of(self, refusal: Refusal) -> str:
        """Return the help for a refusal: the parts of its own help that the user of this model can follow.

        For example, advice to set open sizes is dropped if no graph input has one. If another target would do, advice
        to convert to that target is added at the end. If no advice is left, the result is the general help for the
        error code.
        """
        context = self._context
        if context.impossible is None:
            context.impossible = _impossible_advice(context.index.proto.graph)
        impossible = context.impossible
        help = "; ".join(part for part in refusal.help.split("; ") if not any(way in part for way in impossible))
        if refusal.code not in OF_MEANING or not refusal.instead:
            return help or help_of_code(refusal.code)
        return f"{help}, or {refusal.instead}" if help else refusal.instead


def _impossible_advice(graph: Any) -> list[str]:
    """Return the kinds of advice that are of no use for a graph, such as GIVE_SHAPES if every input states a shape.

    FIX_SIZES is among them if no input has an open size, GIVE_TYPES if every input states a type.
    """
    stated = [value.type for value in graph.input]
    shapes = [type_.tensor_type.shape for type_ in stated if type_.tensor_type.HasField("shape")]
    can_be_done = {
        FIX_SIZES: any(dim.WhichOneof("value") != "dim_value" for shape in shapes for dim in shape.dim),
        GIVE_SHAPES: len(shapes) < len(stated),
        GIVE_TYPES: any(type_.WhichOneof("value") is None for type_ in stated),
    }
    return [way for way, able in can_be_done.items() if not able]
