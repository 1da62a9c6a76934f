"""What is proved: each transition of an operator up and down, and each lowering, with a fingerprint of its adapter."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import pairwise
from types import CodeType
from typing import Any, NamedTuple

from opset.docgen.proofs import lowering_key, transition_key
from opset.opsets.registry import default_registry
from opset.schemas.diff import signature_diff
from opset.schemas.model import OpSchema
from opset.version_converter.body_lowering import lower_by_body
from opset.version_converter.routes import RouteStep, routes_of

REGISTRY = default_registry()
DIRECTIONS = ("up", "down", "lowering")


class Subject(NamedTuple):
    """A transition in one direction, or a lowering; `before` is the older version, 0 for a lowering."""

    domain: str
    operator: str
    before: int
    since: int
    direction: str
    step: RouteStep

    @property
    def key(self) -> str:
        """The name of the subject in the table of facts."""
        if self.direction == "lowering":
            return lowering_key(self.domain, self.operator, self.since)
        ends = self.before, self.since
        return transition_key(self.domain, self.operator, *(ends if self.direction == "up" else reversed(ends)))

    @property
    def source(self) -> OpSchema:
        """The version that nodes have before the conversion."""
        return self.step.source

    @property
    def to(self) -> int:
        """The opset that a conversion leads to: the nearest on the other side."""
        return self.since if self.direction == "up" else self.since - 1 or 1

    @property
    def is_in_place(self) -> bool:
        """Whether it is the lowering of an operator of the first opset, which is lowered at its own."""
        return self.direction == "lowering" and self.since == 1


@lru_cache(maxsize=1)
def all_subjects() -> tuple[Subject, ...]:
    """Return all transitions, up and down, and all lowerings."""
    return tuple(_subjects())


def _subjects() -> Iterator[Subject]:
    routes = routes_of(REGISTRY)
    for domain in REGISTRY.domains:
        for name in REGISTRY.operators(domain):
            versions = REGISTRY.versions(name, domain)
            sinces = [each.since_version for each in versions]
            for before, since in pairwise(sinces):
                for direction, version, final in (("up", since - 1, since), ("down", since, since - 1)):
                    step = routes.step(domain, name, version, final)
                    assert isinstance(step, RouteStep), (name, since, direction, step)
                    yield Subject(domain, name, before, since, direction, step)
            first = sinces[0]
            step = routes.step(domain, name, first, first - 1)
            if isinstance(step, RouteStep) and step.lowers:
                yield Subject(domain, name, 0, first, "lowering", step)


def transition_count() -> int:
    """Return the number of transitions, each of which has two directions."""
    return sum(each.direction == "up" for each in all_subjects())


def fingerprint(subject: Subject) -> str:
    """Return a hash of all that the adapter of a subject is made of: signatures, declarations, code."""
    step = subject.step
    newer = REGISTRY.schema(subject.operator, subject.since, subject.domain)
    assert newer is not None
    parts: list[Any] = [subject.key, step.impossible]
    if subject.before:
        older = REGISTRY.schema(subject.operator, subject.before, subject.domain)
        assert older is not None and newer.change is not None
        change = newer.change
        parts += [signature_diff(older, newer), change.attributes, change.emulate, change.renamed]
    if step.adapter is lower_by_body:
        parts += [[body.opset, body.where, body.nodes] for body in step.source.function]
    elif step.adapter is not None:
        parts += sorted(_sources(step.adapter))
    return hashlib.sha256(json.dumps(_plain(parts)).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """Return a value as lists and texts whose order does not depend on the run."""
    if isinstance(value, Mapping):
        return sorted([str(key), _plain(each)] for key, each in value.items())
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    if inspect.isfunction(value):
        return _source(value)
    return [_plain(each) for each in value] if isinstance(value, (list, tuple)) else str(value)


def _sources(adapter: Callable[..., Any]) -> Iterator[str]:
    """Yield the code of an adapter, and of all functions, classes and constants of adapters that it uses."""
    pending: list[Any] = [adapter]
    seen: set[Any] = set()
    while pending:
        used = pending.pop()
        used = used if inspect.isclass(used) else inspect.unwrap(used)
        if used in seen:
            continue
        seen.add(used)
        yield _source(used)
        for function in [each for each in vars(used).values() if inspect.isfunction(each)] or [used]:
            if not inspect.isfunction(function):
                continue
            cells = [cell.cell_contents for cell in function.__closure__ or ()]
            pending += [each for each in cells if inspect.isfunction(each) and _is_written(each)]
            for name in sorted(_names_in(function.__code__)):
                value = function.__globals__.get(name)
                if (inspect.isfunction(value) or inspect.isclass(value)) and _is_of_adapters(value):
                    pending.append(value)
                elif name.isupper() and isinstance(value, (int, float, str, tuple, Mapping, set, frozenset)):
                    yield f"{name} = {json.dumps(_plain(value))}"
                    values = value.values() if isinstance(value, Mapping) else ()
                    pending += [each for each in values if inspect.isfunction(each)]


def _is_written(function: Any) -> bool:
    """Whether a function stands in a file, and is not made by a dataclass."""
    return not function.__code__.co_filename.startswith("<")


def _is_of_adapters(value: Any) -> bool:
    return (value.__module__ or "").startswith("opset.adapters.")


@cache
def _source(function: Callable[..., Any]) -> str:
    """Return the code of a function or class on one line."""
    return " ".join(inspect.getsource(function).split())


def _names_in(code: CodeType) -> set[str]:
    """Return the names that code reads, the code of functions within it included."""
    names = {*code.co_names}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names |= _names_in(constant)
    return names
