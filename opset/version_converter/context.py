"""The state that the conversions of all bodies of a model share."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from opset.budget import Budget
from opset.model.graph.index import Body, FreshNames, ModelIndex, Operator
from opset.opsets.registry import Registry
from opset.version_converter.facts import ValueFacts
from opset.version_converter.result import Conversion
from opset.version_converter.routes import Routes
from opset.version_converter.templates import Template
from opset.version_converter.validity import Validity

if TYPE_CHECKING:
    from opset.version_converter.availability import Availability


class KnownForms(NamedTuple):
    """The results of converted nodes, which are reused for later nodes with the same attributes, types and shapes.

    - `unchanged`: keys (`BodyConversion._signature_of`) of nodes that stay as they are;
    - `templates`: the nodes that replace lowered nodes, by operator and form (`templates.form_of`).
    """

    unchanged: set[tuple[Any, ...]]
    templates: dict[Operator, dict[Hashable, Template]]


class Context:
    """The state that the conversions of all bodies of a model share.

    - `proto`: the copy that is changed; `messages`: its graphs and functions, by the bodies of the given model;
    - `opsets`: the versions of the target by domain; `lowered`: operators to express by others, even if the target has
      them; `availability`: the nodes that the target's runtime runs, None if no runtime is targeted or it lists none;
    - `ir_version`: the IR version of the target, or else of the model;
    - `valid`: keys of nodes that are known to fit their operators; `forms`: see `forms_of`;
    - `outcomes`: the (steps, new operators) of actions, each pair stored once, since most nodes share one;
    - `impossible`: advice that the inputs of the model leave nothing to do for, None until a refusal asks.
    """

    def __init__(
        self,
        index: ModelIndex,
        proto: Any,
        messages: dict[Body, Any],
        registry: Registry,
        routes: Routes,
        opsets: Mapping[str, int],
        conversion: Conversion,
        names: FreshNames,
        budget: Budget,
        lowered: Collection[Operator] = (),
        availability: Availability | None = None,
        ir_version: int = 0,
    ) -> None:
        self.index = index
        self.proto = proto
        self.messages = messages
        self.registry = registry
        self.routes = routes
        self.opsets = opsets
        self.conversion = conversion
        self.names = names
        self.budget = budget
        self.lowered = lowered
        self.availability = availability
        self.ir_version = ir_version
        self.facts: dict[Body, ValueFacts] = {}
        self.valid: set[tuple[Any, ...]] = set()
        self.validity = Validity(registry)
        self.outcomes: dict[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], tuple[str, ...]]] = {}
        self.forms: dict[tuple[bool, frozenset[tuple[str, int]]], KnownForms] = {}
        self.impossible: Collection[str] | None = None

    def forms_of(self, body: Body, versions: Mapping[str, int]) -> KnownForms:
        """Return the store in which a body finds and keeps results of converted nodes.

        All graphs with equal `versions` share one store, and all functions with equal `versions` share another.
        `versions` are the opset versions of the body's nodes, by domain.
        """
        key = (body.root.function, frozenset(versions.items()))
        return self.forms.setdefault(key, KnownForms(set(), {}))
