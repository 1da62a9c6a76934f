"""The state that the conversions of all bodies of a model share."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
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


@dataclass(eq=False, repr=False, slots=True)
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

    index: ModelIndex
    proto: Any
    messages: dict[Body, Any]
    registry: Registry
    routes: Routes
    opsets: Mapping[str, int]
    conversion: Conversion
    names: FreshNames
    budget: Budget
    lowered: Collection[Operator] = ()
    availability: Availability | None = None
    ir_version: int = 0
    facts: dict[Body, ValueFacts] = field(default_factory=dict)
    valid: set[tuple[Any, ...]] = field(default_factory=set)
    outcomes: dict[tuple[tuple[str, ...], tuple[str, ...]], tuple[tuple[str, ...], tuple[str, ...]]] = field(
        default_factory=dict
    )
    forms: dict[tuple[bool, frozenset[tuple[str, int]]], KnownForms] = field(default_factory=dict)
    impossible: Collection[str] | None = field(default=None, init=False)
    validity: Validity = field(init=False)

    def __post_init__(self) -> None:
        """Create `validity`, which checks that nodes fit their operators."""
        self.validity = Validity(self.registry)

    def forms_of(self, body: Body, versions: Mapping[str, int]) -> KnownForms:
        """Return the store in which a body finds and keeps results of converted nodes.

        All graphs with equal `versions` share one store, and all functions with equal `versions` share another.
        `versions` are the opset versions of the body's nodes, by domain.
        """
        key = (body.root.function, frozenset(versions.items()))
        return self.forms.setdefault(key, KnownForms(set(), {}))
