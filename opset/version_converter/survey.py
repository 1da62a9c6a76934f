"""What conversions of one model to many targets come to, without a conversion for each of them.

Nodes of the same form are converted alike, so one node of each form is planned, with the facts of the whole model.
Nothing is written. What that does not settle, a conversion of the whole model does, unless the model is large: then it
counts as refused.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from opset.budget import Budget, BudgetExceeded, Limits
from opset.errors import Finding, safe_text
from opset.model import proto as pb
from opset.model.graph.index import Body, FreshNames, Operator
from opset.model.storage.container import Model
from opset.model.storage.tensor import tensor_values
from opset.opsets.registry import Registry
from opset.opsets.releases import RELEASES, release_with
from opset.preparation import read_model
from opset.schemas import quirks
from opset.schemas.names import domain_name
from opset.version_converter.body_conversion import BodyConversion
from opset.version_converter.branches import has_branches
from opset.version_converter.calls import function_label
from opset.version_converter.context import Context
from opset.version_converter.conversion import (
    BASE_BYTES,
    BASE_STEPS,
    BYTES_PER_BYTE,
    STEPS_PER_BYTE,
    at_opset,
    availability_for,
    begin_conversion,
    convert_model,
    find_foreign_types,
    find_newer_imports,
    has_target,
    nearest_opset,
    needless_imports,
    targets_by_kernels,
    versions_of_bodies,
)
from opset.version_converter.facts import ValueFacts
from opset.version_converter.helps import CONVERT_FOR
from opset.version_converter.ir_version import needed_ir_version
from opset.version_converter.lazy_inference import LazyInference
from opset.version_converter.result import Conversion
from opset.version_converter.routes import Route, Routes, routes_of
from opset.version_converter.stacking import CARRIED
from opset.version_converter.targets import Target, target_for_model
from opset.version_converter.templates import form_of
from opset.version_converter.validity import Validity

if TYPE_CHECKING:
    from opset.opsets.runtimes import Runtime
    from opset.version_converter.availability import Availability
    from opset.version_converter.opset_choice import Sample

MAX_FORMS = 2_000
"""Forms up to which nodes differ by the elements of constants in floating point."""
MOST_FORMS = 5_000
"""Forms of a model whose conversions are planned."""
WHOLE = 1_000
"""Nodes of a model that is converted as a whole if one node of each form does not settle it, or if it has functions."""
SEQUENCES = frozenset(("SequenceEmpty", "SequenceInsert", "SequenceConstruct"))
"""Operators that create or extend the sequences in place of which loops may stack tensors."""


class NodeForm(NamedTuple):
    """A node that stands for all nodes of the same form in a body: its index, and the indices of all (`members`)."""

    node: int
    members: list[int]


class SurveyOutcome(NamedTuple):
    """The result of a conversion that was planned without making the converted model.

    - `refusals`: the first refusal of each kind, with the number of refused nodes, 0 if it is about the whole model;
    - `opsets`: the versions reached, by domain;
    - `is_settled`: whether converting the whole model surely has the same result.
    """

    refusals: Sequence[tuple[Finding, int]]
    opsets: Mapping[str, int]
    is_settled: bool = True

    @property
    def nodes(self) -> int:
        """The number of refused nodes; a refusal of the whole model counts as one."""
        return sum(max(count, 1) for _, count in self.refusals)


class Survey:
    """One model, for which conversions to many targets are planned, by converting one node of each form.

    Nodes have the same form if a conversion treats them alike: equal operators, attributes, types, shapes and
    constants.
    """

    def __init__(self, model: Model, registry: Registry, limits: Limits | None = None) -> None:
        """Read a model, which is not changed; raises ModelError if it is malformed.

        `limits` bound the work of each plan; by default, the bounds follow from the size of the model.
        """
        self._given, self.registry, self._limits = model, registry, limits
        self.model, self.index = read_model(model, registry, ())
        self.index.call_order()
        budget = self._budget() if limits is not None and limits.as_dict() else None
        self._inference = LazyInference(self.model, self.index, registry, budget)
        self._validity = Validity(registry)
        self._names = FreshNames(self.index.bodies)
        self._fits: dict[Body, bool] = {}

    def _budget(self) -> Budget:
        """Return a new budget in proportion to the size of the model, within the limits of the user."""
        size = self.model.proto.ByteSize()
        return Budget(
            self._limits or Limits(),
            max_steps=BASE_STEPS + STEPS_PER_BYTE * size,
            max_bytes=BASE_BYTES + BYTES_PER_BYTE * size,
        )

    @cached_property
    def facts(self) -> dict[Body, ValueFacts]:
        """The facts about the values of each body (a graph or function), found once for all conversions."""
        versions, known = versions_of_bodies(self.index), dict[Body, ValueFacts]()
        budget, overridable = self._budget(), self.model.proto.ir_version >= 4

        def read(tensor: Any, limit: int) -> list[Any]:
            """Return the elements of a TensorProto of the model; there may be `limit` at most."""
            return tensor_values(self.model, tensor, limit)

        for body in self.index.bodies:
            outer = known.get(body.parent) if body.parent is not None else None
            known[body] = ValueFacts(
                body, body.proto, outer, versions[body], read, overridable, self._inference, budget
            )
            known[body].find_types()
        return known

    @cached_property
    def forms(self) -> dict[Body, list[NodeForm]]:
        """The forms of the nodes in each body (a graph or function): a NodeForm for each.

        Nodes of one form have equal operators, attributes, types, shapes and small constants, and so convert alike.
        Calls of model-local functions are left out. Once there are MAX_FORMS forms, floating-point constants of further
        nodes are compared by type and size only.
        """
        forms: dict[Body, list[NodeForm]] = {}
        count = 0
        for body in self.index.bodies:
            facts, known = self.facts[body], dict[Hashable, NodeForm]()
            for index in range(len(body.nodes)):
                if self.index.functions and body.function_key(index) in self.index.functions:
                    continue
                form = form_of(body, index, facts)
                key: Hashable = index if form is None else _brief_form(form) if count >= MAX_FORMS else form
                if key in known:
                    known[key].members.append(index)
                else:
                    known[key] = NodeForm(index, [index])
                    count += 1
            forms[body] = [*known.values()]
        return forms

    @cached_property
    def unknown(self) -> set[Operator]:
        """The (operator, domain) pairs that the model uses and that no version of their domain has.

        Calls of model-local functions and domains without schemas are left out. So are operators of onnxruntime that
        exporters write without a domain.
        """
        return {
            (op_type, domain)
            for body in self.index.bodies
            for index, (op_type, domain) in enumerate(body.operators)
            if domain in self.registry.domains
            and not self.registry.since_versions(op_type, domain)
            and body.function_key(index) not in self.index.functions
            and (domain or quirks.alias(op_type, self.facts[body].versions.get("", 0)) is None)
        }

    @property
    def is_exact(self) -> bool:
        """Whether all nodes of one form, a NodeForm, surely convert alike.

        It is False if the model has more than MAX_FORMS forms, as nodes that differ in floating-point constants may
        then have the same form.
        """
        return sum(map(len, self.forms.values())) <= MAX_FORMS

    @cached_property
    def samples(self) -> list[Sample]:
        """One Sample for each group of nodes in `forms`, from which an opset for a runtime is chosen.

        The nodes of a group convert alike, so one node stands for all. Constants with tensors have no Sample.
        """
        from opset.version_converter.availability import holds_tensor
        from opset.version_converter.opset_choice import Sample  # most conversions need no runtime

        return [
            Sample(body, each.node, *operator, facts.versions.get(operator[1], 0), facts, len(each.members))
            for body, facts in self.facts.items()
            for each in self.forms[body]
            if not holds_tensor(operator := body.operators[each.node], body.attributes[each.node])
        ]

    @cached_property
    def needed_ir(self) -> tuple[int, list[str]]:
        """The lowest IR version that the model can be rewritten to, and the names of the features that need it.

        It is found once, at the model's own opsets.
        """
        return needed_ir_version(self.model.proto, self.index.bodies)

    def convert(self, target: Target) -> SurveyOutcome:
        """Return the result of a conversion of the model to a target, without the converted model.

        One node of each form is converted, in place of all nodes like it. For a runtime, the opset nearest to the
        model's own is tried first, then others. The first result without refusals is returned, or else the one with the
        fewest refused nodes. If all results have refusals, a model of at most WHOLE nodes may be converted as a
        whole. A model with functions is always converted as a whole.

        Raises:
            BudgetExceeded: A conversion needs more steps or memory than its budget allows, the model has more than
                MOST_FORMS different nodes, or a model with functions has more than WHOLE nodes.
        """
        size = sum(len(body.nodes) for body in self.index.bodies)
        if self.index.functions:
            if size > WHOLE:
                why = f"it has functions, and more than {WHOLE:,} nodes: opset inline puts nodes in their place"
                raise BudgetExceeded("steps", why)
            return self._convert_whole(target)
        if sum(map(len, self.forms.values())) > MOST_FORMS:
            raise BudgetExceeded("steps", f"it has more than {MOST_FORMS:,} nodes that differ")
        tried: list[tuple[int, int, SurveyOutcome]] = []
        nearest = self.nearest_target(target)
        for candidate in (nearest, *self._other_targets(target, nearest)):
            outcome = self._convert_forms(candidate)
            if not outcome.refusals:
                return outcome
            distance = abs(candidate.opsets.get("", 0) - self.index.opsets.get("", 0))
            tried.append((outcome.nodes, distance, outcome))
        if size <= WHOLE and not all(outcome.is_settled for *_, outcome in tried):
            return self._convert_whole(target)
        return min(tried, key=lambda each: each[:2])[2]

    def convert_nearest(self, target: Target) -> SurveyOutcome | None:
        """Return the result of a conversion to `nearest_target(target)`, None if the conversion is refused.

        That target has the opset nearest to the model's opset, among the opsets that the target's runtime takes. A
        result that is not None is also the result of `convert(target)`. None is returned for a model with functions.
        Raises BudgetExceeded if the conversion needs more steps or memory than its budget allows.
        """
        if self.index.functions:
            return None
        outcome = self._convert_forms(self.nearest_target(target))
        return None if outcome.refusals else outcome

    def nearest_target(self, target: Target) -> Target:
        """Return the target with the opset of ai.onnx nearest to the model's own, among those that its runtime takes.

        The target has the newer one of two opsets that are equally near. It is the result of `target_for_model` if no
        runtime is targeted, if the runtime's operators are not known, or if the model does not import ai.onnx.
        """
        nearest = target_for_model(target, self.index.opsets)
        runtime, opset = target.runtime, self.index.opsets.get("")
        if runtime is None or not runtime.lists_operators or opset is None:
            return nearest
        return at_opset(nearest, nearest_opset(runtime, opset, self.registry))

    def _other_targets(self, target: Target, nearest: Target) -> Iterator[Target]:
        """Yield the targets with other opsets than `nearest` that a conversion to a runtime tries.

        Nothing is yielded if no runtime is targeted, or if the runtime's operators are not known.
        """
        if target.runtime is not None and target.runtime.lists_operators:
            for each in targets_by_kernels(self.samples, self.index, target, self.registry):
                if each.opsets != nearest.opsets:
                    yield each

    def _convert_whole(self, target: Target) -> SurveyOutcome:
        """Return the result of converting the whole model; the numbers of refused nodes are exact.

        Raises BudgetExceeded if the budget ends the conversion.
        """
        conversion = convert_model(self._given, target, self.registry, None, self._limits)
        for finding in conversion.refusals:
            if finding.code == "C401":
                raise BudgetExceeded("steps", finding.why)
        counted = {finding.kind: count for finding, count in conversion.blocked.values()}
        refusals = [(finding, counted.get(finding.kind, 0)) for finding in conversion.refusals.group_by_kind()]
        return SurveyOutcome(refusals, conversion.target)

    def _convert_forms(self, target: Target) -> SurveyOutcome:
        """Return the result of a conversion to a target with fixed opsets, by converting one node of each form.

        Nodes of one form have equal operators, attributes, types, shapes and constants. If a node is refused, all nodes
        of its form count as refused. A refusal of the whole model, such as for an import of an unknown opset, comes
        first. Then no node is tried, and only such refusals are returned. Raises BudgetExceeded if the budget is used
        up.
        """
        if target.release == RELEASES[-1].name:
            target = target._replace(release="")
        routes = routes_of(self.registry, target.release)
        conversion = begin_conversion(self.index, target, None)
        availability = availability_for(target, routes)
        is_there = has_target(self.index, target)
        if is_there and availability is not None:
            from opset.version_converter.opset_choice import count_lacking

            lacking = count_lacking(self.samples, availability, routes, target.opsets)
            is_there = not lacking and not needless_imports(self.index.proto, target)
        if not is_there:
            conversion.refusals += find_newer_imports(self.index, target, self.registry)
        if target.runtime is not None:
            conversion.refusals += find_foreign_types(self.index, target.runtime)
        if conversion.refusals:
            return SurveyOutcome([(each, 0) for each in conversion.refusals.group_by_kind()], conversion.target)
        bodies = self._form_conversions(conversion, target, routes, availability)
        refused: dict[Hashable, tuple[Finding, int]] = {}
        is_settled = target.opsets.get("", CARRIED) >= CARRIED or not self._has_sequences
        is_settled &= not has_branches(self.index)
        for body in reversed(bodies):
            for finding, count in body.refusals_of_plan(checked=is_there):
                first, counted = refused.get(finding.kind, (finding, 0))
                refused[finding.kind] = first, counted + count
            is_settled &= not body.is_open
        refusals = [*refused.values()]
        if not is_there and target.max_ir is not None and (lowest := self.needed_ir)[0] > target.max_ir:
            message = f"IR version {target.max_ir} does not have {', '.join(lowest[1])}"
            help = f"choose a target that takes IR version {lowest[0]}"
            refusals.append((Finding("C301", message, "ir_version", f"it needs IR version {lowest[0]}", help), 0))
            is_settled = False
        return SurveyOutcome(refusals, conversion.target, is_settled)

    @cached_property
    def _has_sequences(self) -> bool:
        """Whether the model has operators that create or extend sequences, those in SEQUENCES.

        If so, its loops may be changed to stack tensors instead, for targets at which loops carry no sequences.
        """
        return any(op_type in SEQUENCES for body in self.index.bodies for op_type, _ in body.operators)

    def _form_conversions(
        self, conversion: Conversion, target: Target, routes: Routes, availability: Availability | None
    ) -> list[FormsConversion]:
        """Return a FormsConversion for each body of the model, in the order of `self.index.bodies`.

        A FormsConversion converts one node of each form, that is, one of all nodes that convert alike. It is returned
        before it converts anything. Later, it adds refusals and counts to `conversion`.
        """
        budget, versions = self._budget(), versions_of_bodies(self.index)
        messages: dict[Body, Any] = {body: _Additions(body) for body in self.index.bodies}
        context = Context(
            self.index,
            self.model.proto,
            messages,
            self.registry,
            routes,
            target.opsets,
            conversion,
            self._names.restart(),
            budget,
            target.lowered,
            availability,
        )
        context.validity = self._validity
        for body in self.index.bodies:
            outer = context.facts.get(body.parent) if body.parent is not None else None
            context.facts[body] = self.facts[body].copy_for_plan(versions[body], outer, budget)
            if body not in self._fits:
                self._fits[body] = self._validity.plain_nodes_fit(body, versions[body])
        return [
            FormsConversion(context, body, versions[body], self.forms[body], self._fits[body])
            for body in self.index.bodies
        ]

    def find_lacks(self, runtime: Runtime) -> Iterator[Finding]:
        """Yield each reason why a release of a runtime does not run the model as it is.

        Reasons about the whole model come first, then nodes; nodes with the same form follow each other. A node that
        the runtime runs, but computes wrongly, is no reason. Calls of model-local functions are not looked at; if the
        runtime runs no such functions, each function is a reason. Raises BudgetExceeded if reading constants of the
        nodes needs more steps than the budget allows.
        """
        from opset.version_converter.trials import availability_at

        index, label = self.index, f"{runtime.name} {runtime.release}"
        for domain, (least, most) in runtime.opsets.items():
            version = index.opsets.get(domain)
            if version is not None and not (least or 1) <= version <= (most or version):
                limit = f"at most {most}" if most is not None and version > most else f"at least {least}"
                why = f"the model imports {domain_name(domain)} {version}"
                yield Finding("C209", f"{label} takes {domain_name(domain)} {limit}", "opset_import", why, CONVERT_FOR)
        ir_version = index.proto.ir_version
        if runtime.max_ir is not None and ir_version > runtime.max_ir:
            why = f"the model has IR version {ir_version}"
            yield Finding("C209", f"{label} takes IR version {runtime.max_ir} at most", "ir_version", why, CONVERT_FOR)
        target = Target(dict.fromkeys(runtime.opsets, 0), runtime=runtime)
        for domain in needless_imports(index.proto, target):
            why = f"nothing uses the import of {domain_name(domain)}"
            yield Finding("C209", f"{label} may not know a domain", "opset_import", why, CONVERT_FOR)
        yield from find_foreign_types(index, runtime)
        if not runtime.lists_operators:
            return
        if not runtime.local_functions:
            for function in sorted(index.functions):
                why = f"the model has the function {function_label(function)}"
                yield Finding("C209", f"{label} runs no functions that a model defines", "functions", why, CONVERT_FOR)
        newest = self.registry.domains[""]
        routes = routes_of(self.registry, release_with(min(index.opsets.get("", newest), newest)).name)
        availability = availability_at(runtime, routes, by_function=True)
        for body, forms in self.forms.items():
            facts = self.facts[body]
            for each in forms:
                op_type, domain = body.operators[each.node]
                opset = facts.versions.get(domain, 0)
                lack = availability.find_lack(body.nodes[each.node], opset, facts)
                why = lack.why if lack is not None and not lack.is_wrong else ""
                if why := why or self._find_later_attribute(body.nodes[each.node], domain, opset, routes):
                    for member in each.members:
                        yield Finding(
                            "C209", f"{op_type} does not run on {label}", body.location(member), why, CONVERT_FOR
                        )

    def _find_later_attribute(self, node: Any, domain: str, opset: int, routes: Routes) -> str:
        """Return the message that a release of onnx lacks an attribute of a node; "" if it has all of them.

        The result is also "" if the release has no version of the operator, or the same one as the newest release.

        Args:
            node: The NodeProto.
            domain: The domain of the node.
            opset: The opset of this domain.
            routes: The routes of the release, which have its operators.
        """
        later, schema = (
            each.schema_in_force(node.op_type, domain, opset) for each in (routes_of(self.registry), routes)
        )
        if schema is None or schema is later:
            return ""
        for attribute in node.attribute:
            if attribute.name not in schema.attributes:
                why = f"onnx {routes.release} has version {schema.since_version} of {schema.name} at opset {opset}"
                return f"{why}, without '{safe_text(attribute.name)}'"
        return ""


class FormsConversion(BodyConversion):
    """The conversion of one node of each form in a body (`Survey` says what a form is); the body is not changed.

    `is_open` says that converting the whole body might remove a node that is refused here.
    """

    def __init__(
        self, context: Context, body: Body, versions: dict[str, int], forms: Sequence[NodeForm], fit: bool
    ) -> None:
        """Take a body, its opsets by domain, and its forms: each stands for all nodes that convert alike.

        `fit` is the result of `Validity.plain_nodes_fit` for the body. If it is True, nodes without attributes are not
        checked, except those with an absent input.
        """
        super().__init__(context, body, versions)
        self._nodes, self._fit = forms, fit
        self._released: dict[int, set[str]] = {}
        self.is_open = False

    def refusals_of_plan(self, *, checked: bool) -> list[tuple[Finding, int]]:
        """Return the refusals of this body, each with the number of nodes that it stands for, and set `is_open`.

        One node is converted for each form, and its refusal stands for all nodes of this form. `is_open` becomes True
        if a refused node might be removed when the whole body is converted.

        If `checked`, the body is at the target already, and its nodes are only checked. Each refusal then stands for
        one node, and `is_open` stays False. Raises BudgetExceeded if the budget is used up.
        """
        conversion = self._context.conversion
        members = {each.node: each.members for each in self._nodes}
        before = len(conversion.refusals)
        if checked:
            self.check()
            return [(finding, 1) for finding in conversion.refusals[before:]]
        refused = self.plan().refused
        self.is_open = bool(refused) and self._is_removable({at for index, _ in refused for at in members[index]})
        return [(self._finding_of(index, refusal), len(members[index])) for index, refusal in refused]

    def _routed_nodes(self) -> Iterator[tuple[int, Route, bool]]:
        """Yield (index, route, whether the node surely fits its operator) for one node of each form.

        The Route says whether nodes of this operator stay, are checked, converted or refused.
        """
        body, routes = self.body, dict[Any, Route]()
        for each in self._nodes:
            self._index = index = each.node
            operator = body.operators[index]
            if operator not in routes:
                routes[operator] = self._route_of(operator)
            self._crossing.released = set()
            yield index, routes[operator], self._fit and not body.attributes[index] and "" not in body.reads[index]
            self._released[index] = self._crossing.released

    def _is_removable(self, refused: set[int]) -> bool:
        """Whether a conversion of the whole body might remove one of the refused nodes; `refused` has their indices.

        It might if a converted node no longer reads an input that the refused node helps to compute.
        """
        body = self.body
        pending: list[str] = []
        for each in self._nodes:
            places = [at for at, name in enumerate(body.reads[each.node]) if name in self._released.get(each.node, ())]
            pending += [body.reads[member][at] for member in each.members for at in places]
        seen: set[int] = set()
        while pending:
            index = body.definitions.get(pending.pop(), -1)
            if index >= 0 and index not in seen:
                seen.add(index)
                pending += [name for name in body.reads[index] if name]
        return not seen.isdisjoint(refused)


class _Additions:
    """A stand-in for a body's GraphProto, which must not change: initializers that a plan adds are kept here."""

    def __init__(self, body: Body) -> None:
        """Store a body's nodes, which are not copied, and copies of its outputs if the body is a graph.

        The lists of initializers and inputs are empty at first. A plan adds to the initializers.
        """
        graph = pb.GraphProto()
        if not body.function:
            graph.output.extend(body.proto.output)
        self.node = body.nodes
        self.initializer, self.input, self.output = graph.initializer, graph.input, graph.output


def _brief_form(form: Any) -> Hashable:
    """Return a form without the elements of floating-point constants; only their types and sizes are left.

    `form` is a result of `form_of`.
    """
    *first, inputs, outputs = form
    brief = [
        (type_, shape, is_constant, constant[:2] if constant and _is_floating(constant.element) else constant)
        for type_, shape, is_constant, constant in inputs
    ]
    return (*first, tuple(brief), outputs)


def _is_floating(element: str) -> bool:
    """Whether an element type is one of floating point, such as "double" or "bfloat16"."""
    return element == "double" or "float" in element
