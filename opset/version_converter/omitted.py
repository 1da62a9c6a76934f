"""Parameters of model-local functions that calls omit: in the body of such a function they are written as absent.

An adapter asks a node whether an input or an attribute is there. In a function a name alone does not say so: a call
may omit the formal input that it stands for, or the attribute that is referred to. Where calls differ, a function gets
one copy for each set of what is omitted, and each call the copy that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from opset.budget import Budget
from opset.model import proto as pb
from opset.model.graph import function_key
from opset.model.index import Body, FunctionKey, ModelIndex, bodies, bodies_below

Keeps = Callable[[Body, int], bool]
"""Whether the node at an index of a body stays as it is, whatever its inputs and attributes are."""


class Parameters(NamedTuple):
    """Names of formal inputs and attributes of a function."""

    inputs: frozenset[str] = frozenset()
    attributes: frozenset[str] = frozenset()


NOTHING = Parameters()


def without_omitted(index: ModelIndex, keeps: Keeps, budget: Budget) -> tuple[Any, int]:
    """Return a copy of the ModelProto in which omitted parameters look absent, and how many functions were added.

    Only parameters count that a node reads which may change; (None, 0) where no call omits one. Raises Exhausted where
    the copies of functions would take too much.
    """
    calls = _Calls(index)
    if not any(calls.omits(*call) for body in index.bodies for call in calls.of(body)):
        return None, 0
    calls.find(keeps, budget)
    if not any(any(omitted) for found in calls.found.values() for omitted in found):
        return None, 0
    names = calls.names()
    proto = pb.ModelProto()
    proto.CopyFrom(index.proto)
    for body in bodies(proto):
        if not body.root.function:
            calls.rename(body, NOTHING, names)
    functions = proto.functions[:]
    del proto.functions[:]
    for function in functions:
        for omitted, name in names[function_key(function)].items():
            made = proto.functions.add()
            made.CopyFrom(function)
            for body in bodies_below(Body(made, "", function=True)):
                calls.rename(body, omitted, names)
                _blank(body, omitted)
            made.name = name
    return proto, len(proto.functions) - len(functions)


class _Calls:
    """The calls of a model's functions.

    - `matters`: of each function the parameters on which it depends how its body is converted;
    - `found`: what its calls omit of these, each set once.
    """

    def __init__(self, index: ModelIndex) -> None:
        self._index, self._functions = index, index.functions
        self._operators = {(name, domain) for domain, name, _ in index.functions}
        self._formals = {key: body.input_names() for key, body in index.functions.items()}
        self.matters: dict[FunctionKey, Parameters] = {}
        self.found: dict[FunctionKey, dict[Parameters, None]] = {key: {} for key in index.functions}

    def of(self, body: Body) -> Iterator[tuple[Body, int, FunctionKey]]:
        """Yield the calls in a body as (body, index of the node, function)."""
        for position, operator in enumerate(body.operators):
            if operator in self._operators and (key := body.function_key(position)) in self._functions:
                yield body, position, key

    def omits(self, body: Body, position: int, key: FunctionKey) -> bool:
        """Whether a call leaves out a parameter of the function."""
        given = {attribute.name for attribute in body.attributes[position]}
        present = sum(map(bool, body.reads[position]))
        return present < len(self._formals[key]) or not given.issuperset(self._functions[key].proto.attribute)

    def find(self, keeps: Keeps, budget: Budget) -> None:
        """Find `matters`, callees first, and `found`, callers first."""
        trees: dict[Body, list[Body]] = {}
        for body in self._index.bodies:
            trees.setdefault(body.root, []).append(body)
        order = self._index.call_order()
        for function in reversed(order):
            self.matters[function_key(function.proto)] = self._that_matter(trees[function], keeps)
        for root in (*self._index.graphs, *order):
            omissions = self.found[function_key(root.proto)] if root.function else {NOTHING: None}
            if not omissions:
                omissions[NOTHING] = None  # nothing calls it
            calls = [call for body in trees[root] for call in self.of(body)]
            for omitted in omissions:
                budget.charge(len(calls))
                for body, position, key in calls:
                    passed, found = self._passed(body, position, key, omitted), self.found[key]
                    if passed not in found:
                        budget.hold(self._functions[key].proto.ByteSize() if found else 0)
                        found[passed] = None

    def _that_matter(self, tree: Sequence[Body], keeps: Keeps) -> Parameters:
        """Return the parameters that nodes read which may change, and those that calls pass on where it matters."""
        inputs: set[str] = set()
        attributes: set[str] = set()
        for body in tree:
            called = {position: key for _, position, key in self.of(body)}
            for position, reads in enumerate(body.reads):
                given: Iterable[Any] = body.attributes[position]
                if position in called:
                    key = called[position]
                    passed = zip(reads, self._formals[key], strict=False)
                    reads = [name for name, formal in passed if formal in self.matters[key].inputs]
                    given = [each for each in given if each.name in self.matters[key].attributes]
                elif keeps(body, position):
                    continue
                inputs.update(name for name in reads if _is_formal(body, name))
                attributes.update(each.ref_attr_name for each in given)
        return Parameters(frozenset(inputs), frozenset(attributes.intersection(tree[0].proto.attribute)))

    def _passed(self, body: Body, position: int, key: FunctionKey, omitted: Parameters) -> Parameters:
        """Return what a call omits of the parameters that matter, in a body for which `omitted` are."""
        matters, reads = self.matters[key], body.reads[position]
        present = {
            formal
            for formal, name in zip(self._formals[key], reads, strict=False)
            if name and not _is_omitted(body, name, omitted)
        }
        given = {each.name for each in body.attributes[position] if each.ref_attr_name not in omitted.attributes}
        return Parameters(matters.inputs - present, matters.attributes - given)

    def names(self) -> dict[FunctionKey, dict[Parameters, str]]:
        """Return names for the copies of functions: the own name for one that omits nothing, else for the first."""
        taken = {(domain, name) for body in self._index.bodies for name, domain in body.operators}
        taken |= {key[:2] for key in self._functions}
        names: dict[FunctionKey, dict[Parameters, str]] = {}
        for key, found in self.found.items():
            names[key] = {NOTHING if NOTHING in found else next(iter(found)): key[1]}
            number = 0
            for omitted in found:
                while omitted not in names[key]:
                    number += 1
                    name = f"{key[1]}_{number}"
                    if (key[0], name) not in taken:
                        taken.add((key[0], name))
                        names[key][omitted] = name
        return names

    def rename(self, body: Body, omitted: Parameters, names: dict[FunctionKey, dict[Parameters, str]]) -> None:
        """Let the calls in a body name the copies that fit them."""
        for _, position, key in self.of(body):
            name = names[key][self._passed(body, position, key, omitted)]
            if name != key[1]:
                body.nodes[position].op_type = name


def _is_formal(body: Body, name: str) -> bool:
    """Whether a name means a formal input of the function around."""
    while name not in body.definitions and body.parent is not None:
        body = body.parent
    return bool(name) and body.function and body.definitions.get(name, 0) < 0


def _is_omitted(body: Body, name: str, omitted: Parameters) -> bool:
    return name in omitted.inputs and _is_formal(body, name)


def _blank(body: Body, omitted: Parameters) -> None:
    """Write what is omitted as absent in the nodes of a body."""
    if not any(omitted):
        return
    for node, reads, given in zip(body.nodes, body.reads, body.attributes, strict=True):
        absent = [position for position, name in enumerate(reads) if _is_omitted(body, name, omitted)]
        for position in absent:
            node.input[position] = ""
        while absent and len(node.input) and not node.input[-1]:
            del node.input[-1]
        for position in reversed(range(len(given))):
            if given[position].ref_attr_name in omitted.attributes:
                del node.attribute[position]
