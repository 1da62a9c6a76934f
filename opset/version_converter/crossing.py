"""The crossing of transitions by a node: from its version to the target's, by adapters and lowerings.

    cross_transitions -> _cross_from -> _cross_until_changed -> _cross_transition -> _adapt

Each new node goes on across the transitions of its own operator. What adapters make is checked before it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from opset.errors import listing
from opset.model import proto as pb
from opset.model.attributes import stated_integer
from opset.model.elements import element_name
from opset.model.graph.index import Body, Operator
from opset.model.graph.walking import count_operators, list_as_input, state_type, subgraphs
from opset.opsets.releases import opset_beside
from opset.schemas import quirks
from opset.schemas.constraints.signature import constraint_misfits, type_misfits
from opset.schemas.model import Change, OpSchema
from opset.schemas.names import normalize_domain
from opset.version_converter.adapter_calls import AdapterCall, call_adapter
from opset.version_converter.context import Context
from opset.version_converter.derivation import apply_derived, check_types, derive_adapter
from opset.version_converter.helps import KEEP_OPERATOR, OTHER_TARGET, cast_help
from opset.version_converter.replacement import bind_outputs
from opset.version_converter.result import Action
from opset.version_converter.rewrite import Builder, Node, Refusal, Result
from opset.version_converter.routes import RouteStep, VersionChange, another_target
from opset.version_converter.validity import check_casts, check_element_types, check_fit

if TYPE_CHECKING:
    from opset.version_converter.availability import Judgement
    from opset.version_converter.lacks import Lack

EARLY_CONSTANT = frozenset({"float", "double", "float16"})
"""Types that Constant holds at versions 1 to 8; a constant of another type is then an initializer."""
LOWERED = " lowered"
"""The end of the step of a node that is expressed by others."""
OLDEST = 7
"""The oldest opset to which a node goes and comes back: Cast and broadcasting are others before."""
OF_VERSIONS = frozenset(("C201", "C202", "C204"))
"""Refusals whose reason may be about a version; that of a lowering is not the one that the model is in."""
OF_FACTS = frozenset(("C203", "C205", "C206", "C207"))
"""Refusals because a type, value, attribute or size is not known."""
TRANSITION = 16
"""Steps of a node's transition, beside the elements that its adapter reads, computes and writes."""
INEXACTLY = ", which may differ"
"""The end of the step of a node that computes in a type with other results."""
INEXACT = (("double", "float"), ("int64", "int32"), ("uint64", "int64"), ("uint32", "int32"))
"""Types with others in which most values, but not all, compute the same."""


Way: TypeAlias = "Callable[[Pending, Lack, list[str]], list[Pending]]"
"""A way to express a node that the runtime does not run; it adds the step to the list."""


class Pending(NamedTuple):
    """A node that still has to reach the target, and the opset (`version`) in which it is written.

    - `inside`: the operators whose lowering or older version has made this node;
    - `widened`: the operators that this node helps to compute in a wider type;
    - `is_lacking`: whether the node has to be lowered, because the runtime does not run it;
    - `is_bound`: whether the node's inputs were replaced by Constant nodes because the runtime demands constants.
    """

    node: Any
    version: int
    inside: tuple[Operator, ...] = ()
    widened: tuple[Operator, ...] = ()
    is_lacking: bool = False
    is_bound: bool = False

    @property
    def operator(self) -> Operator:
        """The node's operator as (name, domain); the domain is "" for ai.onnx."""
        return self.node.op_type, normalize_domain(self.node.domain)


class Crossing:
    """Takes the nodes of one body across transitions to the target.

    `released` are names of values that replaced nodes read and new nodes do not.
    """

    def __init__(self, context: Context, body: Body, versions: dict[str, int]) -> None:
        """Take a body (a graph or function), and the opset versions of its nodes by domain.

        `context` is the state that all bodies of the model share. If new nodes use a domain that is missing from
        `versions`, it is added to `versions`.
        """
        self.released: set[str] = set()
        self._widens = False
        """Whether a node that the runtime does not run has to compute in a wider type, not by other operators."""
        self._reasons: list[str] = []
        """The reasons why the runtime does not run a node, and why it cannot be expressed otherwise."""
        self._advice = ""
        """The help about a fact that is not known, and with which it can perhaps be."""
        self._meets_fault = False
        """Whether the runtime computes a node, or one in its place, wrongly."""
        self._permits_faults = False
        """Whether nodes that the runtime computes wrongly stay."""
        self._judgement: Judgement | None = None
        """The judgement of the last node that was asked about, None if the target is no runtime."""
        self._added: list[str] = []
        """Names of initializers that were added."""
        self._context = context
        self._body = body
        self._versions = versions
        self._message = context.messages[body]
        self._facts = context.facts[body]

    @cached_property
    def _final(self) -> int:
        """The opset of ai.onnx for new nodes: the target's, else the body's, else the model's.

        If ai.onnx is missing in all of them, the opset is the one that goes with the target's other domains.
        """
        context = self._context
        opset = context.opsets.get("") or self._versions.get("") or context.index.opsets.get("")
        return opset or opset_beside(context.opsets, context.ir_version)

    def cross_transitions(self, index: int, change: VersionChange) -> list[Any] | None:
        """Return the nodes that replace the node at `index` of the body, None if it stays as it is.

        A node is converted through all transitions from its version of the operator to the target's. `change` has the
        operator, and these versions. At a few opsets, releases of onnx disagree on the version. The older
        version is then tried first if it has all attributes of the node. The newer version is tried if the conversion
        from the older version is refused.

        A replaced node is added to the actions of the conversion. Raises Refusal if no nodes at the target compute the
        same, BudgetExceeded if the budget is used up.
        """
        node, version = self._message.node[index], self._versions[change.domain]
        older = self._context.routes.older_version(change.domain, change.op_type, version)
        if older is not None and all(attribute.name in older.attributes for attribute in node.attribute):
            try:
                return self._cross_from(older.since_version, node, index, change)
            except Refusal:
                pass
        if self._context.availability is None:
            return self._cross_from(version, node, index, change)
        return self._cross_by_either_way(version, node, index, change)

    def _cross_by_either_way(self, start: int, node: Any, index: int, change: VersionChange) -> list[Any] | None:
        """Return nodes that the runtime runs in place of the node at `index`, None if it stays as it is.

        Nodes of other operators are tried first, then the node in wider types. If both are refused, the node itself
        stays if the runtime runs it, though wrongly. `start` is the opset of the node, `change` has its operator and
        versions.

        Raises Refusal C209 with all reasons if all of this fails. A refusal that is not about the runtime is raised
        unchanged.
        """
        released, self.released = self.released, set()
        self._added, self._reasons, self._advice = [], [], ""
        self._meets_fault = False
        try:
            return self._cross_from(start, node, index, change)
        except Refusal as refusal:
            # Not the exception itself: its traceback would keep what was made for the node.
            first = Refusal(refusal.code, refusal.why, refusal.help, refusal.instead, refusal.label)
            if not self._reasons:
                raise first from None
            self.released = {*self._added}
            self._widens = True
            return self._cross_in_other_ways(first, start, node, index, change)
        finally:
            self._widens = self._permits_faults = False
            released |= self.released
            self.released = released

    def _cross_in_other_ways(
        self, first: Refusal, start: int, node: Any, index: int, change: VersionChange
    ) -> list[Any] | None:
        """Return nodes that compute in wider types in place of the node at `index`, None if it stays as it is.

        If wider types are refused, the result may have nodes that the runtime computes wrongly. Raises Refusal C209
        with all reasons if such nodes are refused, too.

        Args:
            first: The refusal that came before, of nodes of other operators in place of the node.
            start: The opset of the node.
            node: Its NodeProto.
            index: Its index in the body.
            change: Its operator, and the versions before and after.
        """
        self._add_reason(first)
        try:
            return self._cross_from(start, node, index, change)
        except Refusal as refusal:
            self._add_reason(refusal)
        if self._meets_fault:
            self.released = {*self._added}
            self._widens, self._permits_faults = False, True
            try:
                return self._cross_from(start, node, index, change)
            except Refusal as refusal:
                self._add_reason(refusal)
        why = "; ".join(self._reasons)
        raise Refusal("C209", why, self._advice or OTHER_TARGET, label="the runtime has no kernel for it")

    def _add_reason(self, refusal: Refusal) -> None:
        """Add the reason of a refusal to the reasons for the final refusal C209, without repeats.

        If the refusal is about an unknown type, value, attribute or size, its help becomes the help of the C209; the
        first such help counts.
        """
        if refusal.why not in self._reasons:
            self._reasons.append(refusal.why)
        if refusal.code in OF_FACTS:
            self._advice = self._advice or refusal.help

    def _cross_from(self, start: int, node: Any, index: int, change: VersionChange) -> list[Any] | None:
        """Return the nodes that replace the node at `index`, None if it stays as it is.

        `start` is the opset in which the node is read. `change` has its operator, and the versions before and after. If
        the node is replaced, an Action is added to the conversion. Raises Refusal if no nodes at the target compute the
        same, or if the node's inputs do not fit its operator; BudgetExceeded if the budget is used up.
        """
        context = self._context
        pending = [Pending(node, start)]
        done: list[tuple[Pending, Judgement | None]] = []
        crossed: list[str] = []
        while pending:
            current = pending.pop()
            try:
                made = self._cross_until_changed(current, crossed)
            except Refusal as refusal:
                check_element_types(self._body, index, self._facts, self._final)
                if refusal.code in OF_FACTS:
                    check_fit(index, self._facts)
                if current.operator == (node.op_type, normalize_domain(node.domain)):
                    raise
                # The operator that stands in the model is to blame, not one that nobody wrote.
                why = f"it is expressed by {current.node.op_type}, and {refusal.why}"
                raise Refusal(refusal.code, why, refusal.help, refusal.instead) from None
            if made is None:
                done.append((current, self._judgement))
                continue
            pending.extend(reversed(made))
        if not crossed:
            return None
        check_fit(index, self._facts)
        outcome = tuple(crossed), tuple([each.node.op_type for each, _ in done])
        outcome = context.outcomes.setdefault(outcome, outcome)
        if crossed[-1].endswith(LOWERED) and (node.op_type, change.domain) not in context.lowered:
            change = change._replace(until=0 if node.op_type not in outcome[1] else change.until)
        nodes = [each.node for each, _ in done]
        action = Action(self._body, index, *change, *outcome)
        context.conversion.actions.append(action)
        context.conversion.examples.setdefault(action.kind, nodes)
        if (availability := context.availability) is not None:
            for each, judgement in done:
                if judgement is not None:
                    availability.count(judgement, each.node.op_type, accept_faulty=self._permits_faults)
        return nodes

    def _cross_until_changed(self, pending: Pending, crossed: list[str]) -> list[Pending] | None:
        """Return the nodes that replace a node at its first change, None if the node may stay.

        Transitions between versions, such as "Softmax 11 -> 13", are applied until one changes the node. If none does,
        a node that the runtime does not run is replaced in another way, such as by wider types. `_cross_lowering`
        replaces the node if the user does not want its operator, or if the runtime lacks the operator. The name of the
        step that made the nodes is added to `crossed`.

        Raises Refusal if a transition or the target's release of onnx refuses the node, or if nothing can replace it.
        """
        context, node = self._context, pending.node
        _, domain = operator = pending.operator
        final = context.opsets.get(domain, self._versions.get(domain, pending.version))
        if operator in context.lowered or pending.is_lacking:
            return self._cross_lowering(pending, final, crossed)
        version = pending.version
        while (step := context.routes.step(domain, node.op_type, version, final)) is not None:
            if isinstance(step, Refusal):
                raise Refusal(step.code, step.why, step.help)
            if step.impossible:
                raise Refusal("C208", step.impossible, instead=another_target(step, domain, version))
            try:
                made = self._cross_transition(step, node) if step.touches else None
            except Refusal as refusal:
                refusal.instead = refusal.instead or another_target(step, domain, version)
                raise
            if made is not None:
                return self._add_step(pending, step, made, crossed)
            version = step.version
        self._check_restriction(node, domain, final)
        availability = context.availability
        self._judgement = availability.judge(node, final, self._facts) if availability is not None else None
        if self._judgement is None or (lack := self._judgement.lack) is None:
            return None
        if lack.is_wrong:
            self._meets_fault = True
            if self._permits_faults:
                return None
        reached = context.routes.last_in_force(domain, node.op_type, final)
        return self._express_otherwise(pending._replace(version=reached), lack, crossed)

    def _cross_lowering(self, pending: Pending, final: int, crossed: list[str]) -> list[Pending]:
        """Return the nodes that replace a node whose operator must not be used, although the target has it.

        The node goes down from version to version, until a step changes it; the last step is the lowering. The name of
        this step, such as "Gelu 20 lowered", is added to `crossed`. `final` is the target's opset.

        Raises Refusal if the operator has no lowering, or if a step refuses the node. The code is C204 if the lowering
        needs the operator itself, and C105 if the user's hooks, which may have a lowering, were not loaded.
        """
        context, node, version = self._context, pending.node, pending.version
        if pending.operator in pending.inside:
            raise Refusal("C204", f"at version {final} it needs {node.op_type} itself")
        while True:
            step = context.routes.step_down(pending.operator[1], node.op_type, version)
            if isinstance(step, Refusal):
                raise _refusal_without_lowering(step, node.op_type)
            if step.impossible:
                raise Refusal("C208", step.impossible, KEEP_OPERATOR)
            try:
                made = self._cross_transition(step, node) if step.touches else None
            except Refusal as refusal:
                if step.version == final or refusal.code not in OF_VERSIONS:
                    raise
                why = f"it is expressed in operators of version {step.version}: {refusal.why}"
                raise Refusal(refusal.code, why, refusal.help) from None
            if made is not None:
                return self._add_step(pending, step, made, crossed)
            version = step.version

    def _add_step(
        self, pending: Pending, step: RouteStep, made: list[tuple[Any, int]], crossed: list[str]
    ) -> list[Pending]:
        """Return `made`, the nodes by which a step replaces the node `pending`, as Pending objects for the next steps.

        `made` has each node with its opset. The name of the step is added to `crossed`: "Softmax 11 -> 13", or "Gelu 20
        lowered" for a lowering.
        """
        end = LOWERED if step.lowers else f" -> {step.target.since_version}"
        crossed.append(f"{pending.node.op_type} {step.source.since_version}{end}")
        inside = (*pending.inside, pending.operator) if step.lowers else pending.inside
        nodes = [Pending(*new, inside, pending.widened) for new in made]
        if pending.is_lacking and not step.lowers:
            nodes = [each._replace(is_lacking=each.operator == pending.operator) for each in nodes]
        return nodes

    def _express_otherwise(self, pending: Pending, lack: Lack, crossed: list[str]) -> list[Pending]:
        """Return nodes that replace a node which the runtime does not run.

        The first of these ways that is possible is taken:

        - stating the attributes in `lack.attributes`; no other way is then tried;
        - constants for the inputs that `lack` wants as constants, if their elements are known;
        - vectors for scalar inputs, if `lack` wants vectors; no other way is then tried;
        - a lowering: nodes of other operators;
        - leaving out a Cast that has no effect;
        - an older version;
        - wider types.

        While `_widens` is set, a node of the given model skips the lowering, the Cast and the older version.

        Args:
            pending: The node.
            lack: Why the runtime does not run the node.
            crossed: The list to which the name of the way is added, such as "Pad 13 with constants".

        Raises:
            Refusal: C209 if no way is possible. For a node of the given model, the reasons are added to `_reasons`.
        """
        if lack.attributes:
            stated: dict[str, Any] = {**lack.attributes}
            return self._rewrite(pending, lambda op, given: op.copy(given, **stated), listing([*stated]), crossed)
        if lack.constants and (made := self._bind_constants(pending, lack, crossed)) is not None:
            return made
        if lack.scalars:
            return self._write_vectors(pending, lack, crossed)
        is_given = not pending.inside and not pending.widened
        silent: list[Way] = [self._leave_out, self._take_older_form]
        ways: list[Way] = [self._lower_lacking, *silent, self._widen_types]
        if is_given and self._widens:
            ways = [self._widen_types]
        if is_given and not self._reasons:
            self._reasons.append(lack.why)
        for way in ways:
            try:
                return way(pending, lack, crossed)
            except Refusal as refusal:
                if is_given and way not in silent:
                    self._add_reason(refusal)
        raise Refusal("C209", lack.why, OTHER_TARGET)

    def _lower_lacking(self, pending: Pending, _: Lack, crossed: list[str]) -> list[Pending]:
        """Return nodes of other operators in place of the node `pending`, which the runtime does not run.

        The name of the step is added to `crossed`. Raises Refusal if the operator has no lowering, or if the lowering
        refuses the node.
        """
        routes, (op_type, domain) = self._context.routes, pending.operator
        final = version = pending.version
        while not isinstance(step := routes.step_down(domain, op_type, version), Refusal):
            if step.lowers:
                break
            version = step.version
        else:
            raise _refusal_without_lowering(step, op_type)
        return self._cross_lowering(pending._replace(is_lacking=True), final, crossed)

    def _leave_out(self, pending: Pending, _: Lack, crossed: list[str]) -> list[Pending]:
        """Return an Identity in place of a Cast whose input already has the type that it casts to.

        The name of the step is added to `crossed`. Raises Refusal C204 for any other node, also if the type of the
        input is not known.
        """
        node, facts = pending.node, self._facts
        element = facts.element(node.input[0]) if pending.operator == ("Cast", "") and node.input else None
        if element is None or element_name(stated_integer(node, "to")) != element:
            raise Refusal("C204", "it has an effect")
        schema = self._context.registry.schema(node.op_type, pending.version)
        assert schema is not None

        def write(op: Builder, given: Node) -> Result:
            """Make an Identity of the input in place of the Cast."""
            return str(op.Identity(given.input(0)))

        derived = derive_adapter(schema, schema, Change())
        made = self._cross_transition(RouteStep(schema, schema, pending.version, derived, write, "", True), node)
        assert made is not None
        crossed.append(f"{node.op_type} {schema.since_version} left out")
        return [Pending(*new, pending.inside, pending.widened) for new in made]

    def _take_older_form(self, pending: Pending, lack: Lack, crossed: list[str]) -> list[Pending]:
        """Return the nodes that replace a node when it is taken back to an older version of its operator.

        The node is taken back version by version until a step changes it. The changed node may lack an attribute that
        the runtime does not take. The name of the step is added to `crossed`.

        Raises Refusal C204 in these cases:

        - no step to an older version, down to opset 7, changes the node;
        - `lack`, the reason why the runtime does not run the node, is about types or constants;
        - the conversion has made the node in place of a node of the same operator.

        A Refusal of the step is raised unchanged.
        """
        routes, (op_type, domain) = self._context.routes, pending.operator
        version = pending.version
        is_possible = not lack.elements and not lack.constants and pending.operator not in pending.inside
        while is_possible:
            step = routes.step_down(domain, op_type, version)
            if isinstance(step, Refusal) or step.lowers or step.impossible or step.version < OLDEST:
                break
            made = self._cross_transition(step, pending.node) if step.touches else None
            if made is not None:
                inside = (*pending.inside, pending.operator)
                return [each._replace(inside=inside) for each in self._add_step(pending, step, made, crossed)]
            version = step.version
        raise Refusal("C204", f"no older version of {op_type} has another form")

    def _widen_types(self, pending: Pending, lack: Lack, crossed: list[str]) -> list[Pending]:
        """Return the node in wider types that the runtime takes, between Casts to these types and back.

        The name of the step is added to `crossed`. Results may differ only if the target permits it. Raises Refusal
        C202 if no such types exist.
        """
        context, node = self._context, pending.node
        schema = context.registry.schema(node.op_type, pending.version, pending.operator[1])
        assert schema is not None
        if not lack.elements or pending.operator in pending.widened:
            raise Refusal("C202", "no other type helps")
        wider, differing = self._wider_types(schema, lack)
        derived = derive_adapter(schema, schema, Change(emulate=wider))
        step = RouteStep(schema, schema, pending.version, derived, None, "", touches=True)
        made = self._cross_transition(step, node) if wider else None
        if made is None:
            raise Refusal("C202", "no wider type gives certainly the same")
        types = {type_ for run in self._facts.types([*node.input, *node.output]) for type_ in run}
        elements = [element for element in wider if f"tensor({element})" in types]
        names = " and ".join(dict.fromkeys(wider[element] for element in elements))
        end = "" if differing.isdisjoint(elements) else INEXACTLY
        crossed.append(f"{node.op_type} {schema.since_version} in {names}{end}")
        widened = (*pending.widened, pending.operator)
        return [Pending(*new, pending.inside, widened) for new in made]

    def _wider_types(self, schema: OpSchema, lack: Lack) -> tuple[dict[str, str], set[str]]:
        """Return the type to compute in for each element type that the runtime does not take, and the inexact types.

        For example, ({"double": "float"}, {"double"}): doubles are computed in float, with other results for some
        values. A type that gives the same results comes first; an inexact one (INEXACT) is chosen only if the target
        permits it. An element type without a type to compute in is left out.
        """
        availability = self._context.availability
        assert availability is not None
        takes = frozenset[str]().union(*lack.elements.values())
        exact = [each for each in availability.wider_types(schema, lack.is_wrong) if _is_taken_instead(each, takes)]
        inexact = [pair for pair in INEXACT if _is_taken_instead(pair, takes)] if availability.inexact else []
        wider = dict(reversed(exact))
        differing = {element for element, _ in inexact if element not in wider}
        return {**dict(reversed(inexact)), **wider}, differing

    def _bind_constants(self, pending: Pending, lack: Lack, crossed: list[str]) -> list[Pending] | None:
        """Return Constant nodes for the inputs at `lack.constants`, followed by a copy of the node that reads them.

        The step's name, such as "Pad 13 with constants", is added to `crossed`. Returns None if the elements of one of
        these inputs are not known. Also returns None if `pending`, the node, is already such a copy.
        """
        facts = self._facts
        constants = {position: facts.constant(pending.node.input[position]) for position in lack.constants}
        if pending.is_bound or None in constants.values():
            return None

        def write(op: Builder, position: int) -> str:
            """Make a Constant with the known elements of the input at `position`; return the name of its value."""
            constant = constants[position]
            assert constant is not None
            return op.const(list(constant.values), constant.element, constant.dims)

        made = self._replace_inputs(pending, lack.constants, write, "constants", crossed)
        return [each._replace(is_bound=True) for each in made]

    def _write_vectors(self, pending: Pending, lack: Lack, crossed: list[str]) -> list[Pending]:
        """Return nodes that make vectors of scalar inputs of a node, followed by a copy of this node that reads them.

        `pending` is the node, and `lack.scalars` are the positions of the inputs. A vector such as [5] is a Constant if
        the scalar 5 is a constant, else the output of a Reshape. The name of the step is added to `crossed`. Raises
        Refusal if the new nodes are not valid, BudgetExceeded if the budget is used up.
        """
        facts, node = self._facts, pending.node

        def write(op: Builder, position: int) -> str:
            """Make a vector of the scalar at `position`, as a constant if possible; return the name of its value."""
            constant = facts.small_constant(node.input[position])
            if constant is not None and facts.is_constant(node.input[position]):
                return op.const(list(constant.values), constant.element, (1,))
            return str(op.Reshape(node.input[position], op.const([1])))

        return self._replace_inputs(pending, lack.scalars, write, "vectors", crossed)

    def _replace_inputs(
        self,
        pending: Pending,
        positions: Sequence[int],
        write: Callable[[Builder, int], str],
        what: str,
        crossed: list[str],
    ) -> list[Pending]:
        """Return nodes that compute new inputs of a node, and a copy of the node that reads them.

        Args:
            pending: The node.
            positions: The positions of the inputs to replace.
            write: Adds the nodes of one new input to the Builder, and returns the input's name.
            what: What the step's name says: "constants" for "Pad 13 with constants".
            crossed: The list of steps, to which the step's name is added.
        """

        def replace(op: Builder, given: Node) -> Result:
            """Copy the node with the new inputs; return the name or names of its outputs."""
            inputs = list(given.inputs)
            for position in positions:
                inputs[position] = write(op, position)
            made: Result = op.copy(given, inputs=inputs)
            return made

        return self._rewrite(pending, replace, what, crossed)

    def _rewrite(
        self, pending: Pending, replace: Callable[[Builder, Node], Result], what: str, crossed: list[str]
    ) -> list[Pending]:
        """Return the nodes that `replace` makes of a node; "Pad 13 with X" is added to `crossed`, where X is `what`."""
        node = pending.node
        schema = self._context.registry.schema(node.op_type, pending.version, pending.operator[1])
        assert schema is not None
        derived = derive_adapter(schema, schema, Change())
        step = RouteStep(schema, schema, pending.version, derived, replace, "", touches=True)
        made = self._cross_transition(step, node)
        assert made is not None
        crossed.append(f"{node.op_type} {schema.since_version} with {what}")
        return [Pending(*new, pending.inside, pending.widened) for new in made]

    def _cross_transition(self, step: RouteStep, proto: Any) -> list[tuple[Any, int]] | None:
        """Return the nodes that replace a node across one transition, each with its opset; None if the node may stay.

        `proto` is the NodeProto. Inputs that the new nodes do not read are added to `released`. Raises Refusal if the
        adapter refuses the node, or if new nodes are not valid; BudgetExceeded if the budget is used up.
        """
        context, facts = self._context, self._facts
        context.budget.charge(TRANSITION)
        versions = self._versions if "" in self._versions else {**self._versions, "": self._final}
        node = Node(proto, step.source, facts)
        op = Builder(
            node,
            step.target,
            step.version,
            self._final,
            versions,
            context.registry,
            facts,
            context.names,
            self._add_initializer,
            context.lowered,
        )
        result = self._adapt(step, op, node, versions)
        if result is None:
            return None
        made = bind_outputs(node, (result,) if isinstance(result, str) else tuple(result), op, facts)
        if "" not in self._versions and any(not key[0] for key in count_operators([new for new, _ in made])):
            # An adapter of another domain may need standard operators, which the model then has to import.
            self._versions[""] = versions[""]
        if context.index.functions:
            self._check_names(proto, made)
        if context.lowered or context.availability is not None:
            self._check_graphs(proto, made)
        # The node is replaced; so are, perhaps, the new ones by a later transition.
        context.budget.release(proto.ByteSize())
        self.released.update(op.released)
        reads = {name for new, _ in made for name in new.input[:]}
        self.released.update([name for name in node.inputs if name and name not in reads])
        if step.adapter is not None or step.derived.emulate:
            # The operator itself takes all that it took before, unless its own restrictions say otherwise.
            same = None if step.derived.type_restrictions else step.source.name
            if op.form not in context.valid:
                self._check_types([entry for entry in made if entry[0].op_type != same])
                if step.derived.emulate:
                    check_casts(made, context.registry)
            if op.form:
                context.valid.add(op.form)
        return made

    def _adapt(self, step: RouteStep, op: Builder, node: Node, versions: Mapping[str, int]) -> Result:
        """Convert a node by the adapters of a transition; return the name or names of the new outputs.

        The written adapter is used. If it is missing or returns None, the adapter derived from the signatures is used.
        The result is None if the node may stay. `versions` are the opsets of the body by domain. Raises Refusal C103 if
        the node is not valid, Refusal if an adapter refuses it, and BudgetExceeded if the budget is used up.
        """
        context = self._context
        if step.adapter is not None or step.derived.rewrites:
            self._check_constraints(node)
        if step.adapter is not None:
            local = versions, context.opsets, context.index.functions
            call = AdapterCall(step, op, node, context.registry, self._facts, context.names, *local)
            result = call_adapter(call)
            if result is not None:
                self._check_types([(node.proto, step.source.since_version)], "C103")
                return result
        return apply_derived(step.derived, op, node, context.valid)

    def _add_initializer(self, tensor: Any, name: str) -> str | None:
        """Add an initializer that holds a tensor to the graph of the body, and return the name of the initializer.

        The initializer is called `name`. Below IR version 4, an initializer for a subgraph is added to the outermost
        graph, under a new name.

        Returns "" if a Constant of the target can hold the tensor's type; nothing is added. Returns None in a function,
        which has no initializers; only the elements are recorded. Raises BudgetExceeded if the budget is used up.
        """
        element = element_name(tensor.data_type)
        if self._final >= 9 or element in EARLY_CONSTANT:
            return ""
        context, body = self._context, self._body
        if body.root.function:
            constant = pb.TensorProto()  # what the Cast gives is a constant all the same
            constant.CopyFrom(tensor)
            constant.name = name
            context.facts[body].add_tensor(constant)
            return None
        early = context.proto.ir_version < 4
        if early and body.root is not body:
            # There it had to be an input of the subgraph, and those have a meaning.
            body = body.root
            name = context.names.fresh(name)
        context.budget.hold(tensor.ByteSize())
        message = context.messages[body]
        self._added.append(name)
        initializer = message.initializer.add()
        initializer.CopyFrom(tensor)
        initializer.name = name
        context.facts[body].add_tensor(initializer)
        if early:
            list_as_input(message, initializer)
        for value in message.output:  # the type of a node's output is inferred, that of an initializer need not be
            if value.name == name and not value.HasField("type"):
                state_type(value, initializer)
        return name

    def _check_restriction(self, proto: Any, domain: str, final: int) -> None:
        """Raise Refusal if the target's release of onnx rejects a node that the operator version takes.

        The code is C202 for a type, C203 for a needed type that is not known, and C204 for a missing attribute.
        `domain` is the domain of the node, `final` the target's opset.
        """
        restriction = self._context.routes.restriction(domain, proto.op_type, final)
        if restriction is None:
            return
        schema = restriction.schema
        node = Node(proto, schema, self._facts)
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

    def _check_names(self, old: Any, made: list[tuple[Any, int]]) -> None:
        """Raise Refusal C204 if a new node would call a model-local function in place of an operator of the same name.

        `made` are the nodes that replace `old`, with their opsets; subgraphs count. An operator is checked only if the
        new nodes use it more often than `old`.
        """
        functions, registry = self._context.index.functions, self._context.registry
        for key in count_operators([new for new, _ in made]) - count_operators([old]):
            if key in functions and registry.since_versions(key[1], key[0]):
                why = f"it needs the operator {key[1]}, and the model has a function of that name in its domain"
                raise Refusal("C204", why, "rename the function")

    def _check_graphs(self, old: Any, made: list[tuple[Any, int]]) -> None:
        """Raise Refusal if a subgraph of a new node uses an operator that must be lowered, or that the runtime lacks.

        The code is C201 for an operator that must be lowered, C209 for one that the runtime lacks. `made` are the nodes
        that replace `old`, with their opsets. An operator is checked only if subgraphs of the new nodes use it more
        often than subgraphs of `old`.
        """
        graphs = [graph for node, _ in made for _, graph in subgraphs(node)]
        if not graphs:
            return
        context = self._context
        given = count_operators(inner for _, graph in subgraphs(old) for inner in graph.node)
        for domain, op_type, _ in count_operators(inner for graph in graphs for inner in graph.node) - given:
            if (op_type, domain) in context.lowered:
                raise Refusal("C201", f"it needs a subgraph with {op_type}, which is lowered, too")
            if context.availability is not None:
                opset = context.opsets.get(domain, self._final)
                lack = context.availability.find_lack_in_graph(op_type, domain, opset)
                if lack is not None:
                    raise Refusal("C209", f"it needs a subgraph with {op_type}, and {lack.why}", OTHER_TARGET)

    def _check_constraints(self, node: Node) -> None:
        """Raise Refusal C103 if attributes of a node break a constraint of its operator at the version of the node.

        Illegal values that runtimes accept nevertheless are not refused.
        """
        values = node.constrained_attributes()
        if not values:
            return
        schema, stated_rank = node.schema, self._facts.stated_rank
        ranks = tuple([stated_rank(name) if name else None for name in node.proto.input])
        stated = tuple([(name, tuple(value) if isinstance(value, list) else value) for name, value in values.items()])
        form = (schema.name, schema.domain, schema.since_version, stated, ranks)
        if form in self._context.valid:
            return
        for misfit in constraint_misfits(schema, values, ranks):
            if not quirks.is_kept(schema, schema.since_version, misfit.name, values[misfit.name]):
                raise Refusal("C103", f"{misfit.what}: {misfit.why} (constraint {misfit.constraint})")
        self._context.valid.add(form)

    def check_adopted(self, index: int) -> None:
        """Raise Refusal C202 if the target's version of a node's operator does not take the types of the node.

        The node at `index` was passed through unchanged, since its operator is not in the standard at the node's opset.
        An example is LayerNormalization below opset 17, which runtimes take with types that version 17 forbids.
        """
        if not self._body.operators[index][1]:
            self._check_types([(self._body.nodes[index], self._context.opsets.get("", self._final))])

    def _check_types(self, nodes: list[tuple[Any, int]], code: str = "C202") -> None:
        """Raise Refusal `code` if a known type of an input of one of the nodes does not fit the node's operator.

        `nodes` are pairs of a NodeProto and the opset of its domain. Unknown types fit, and so do all types of a node
        whose operator has no schema. In a body with several runs, such as a function with several calls, the types of
        each run are checked.
        """
        for node, version in nodes:
            for types in self._facts.types(node.input[:]):
                form = (node.op_type, node.domain, version, types)
                if form in self._context.valid:
                    continue
                schema = self._context.registry.schema(node.op_type, version, node.domain)
                for misfit in type_misfits(schema, types) if schema is not None else ():
                    raise Refusal(code, f"{misfit.what}: {misfit.why}", cast_help(misfit))
                self._context.valid.add(form)


def _is_taken_instead(pair: tuple[str, str], takes: frozenset[str]) -> bool:
    """Whether `takes`, the types that a runtime takes, has the second element type of `pair`, but not the first."""
    element, other = pair
    return other in takes and element not in takes


def _refusal_without_lowering(step: Refusal, op_type: str) -> Refusal:
    """Return the refusal C201 for an operator without a lowering; if `step` is a refusal C105, `step` itself."""
    return step if step.code == "C105" else Refusal("C201", f"there is no lowering of {op_type}", KEEP_OPERATOR)
