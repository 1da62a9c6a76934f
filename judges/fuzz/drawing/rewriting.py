"""What mutations of whole models share: bodies, runs of nodes in them, new names, and the mutant itself."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from google.protobuf.message import Message
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, ValueInfoProto, numpy_helper

from judges.conformance.judge import messages, opset_of

__all__ = ["OPSETS", "Body", "Drawing", "Mutant", "Part", "Run", "free_names", "function_makers", "named", "rename"]

OPSETS = range(7, 27)
"""Those that the judging onnxruntime takes."""
Run = Callable[[ModelProto, Mapping[str, Any]], list[Any]]
HINTS = ("const", "Cast", "Reshape", "Shape", "axes", "Squeeze", "Unsqueeze", "Identity", "Mul", "Add", "Slice")
"""What the converter puts after a name, to make another."""


@dataclass(frozen=True)
class Drawing:
    """A model, the inputs of its runs, how it came about, and what was tried for it in vain."""

    model: ModelProto
    feeds: Sequence[Mapping[str, Any]]
    about: str = ""
    dropped: Sequence[str] = ()


def named(names: Iterable[str]) -> list[ValueInfoProto]:
    """Return values of which nothing but the name is stated."""
    return [ValueInfoProto(name=name) for name in names]


def rename(roots: Iterable[Message], new: Mapping[str, str]) -> None:
    """Change names of values wherever they occur in the messages, subgraphs included."""
    for message in (each for root in roots for each in messages(root)):
        if isinstance(message, NodeProto):
            for names in (message.input, message.output):
                names[:] = [new.get(name, name) for name in names]
        elif isinstance(message, (ValueInfoProto, onnx.TensorProto)):
            message.name = new.get(message.name, message.name)


def defined(roots: Iterable[Message]) -> list[str]:
    """Return the names of all values that come about in the messages, subgraphs included."""
    found = []
    for message in (each for root in roots for each in messages(root)):
        if isinstance(message, NodeProto):
            found += [name for name in message.output if name]
        elif isinstance(message, GraphProto):
            found += [value.name for value in message.input] + [tensor.name for tensor in message.initializer]
            found += [sparse.values.name for sparse in message.sparse_initializer]
    return list(dict.fromkeys(found))


def free_names(nodes: Sequence[onnx.NodeProto], inner: Sequence[str] = ()) -> list[str]:
    """Return the names that nodes take from outside."""
    made, found = set(inner), []
    for node in nodes:
        taken = [name for name in node.input if name]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                graph = attribute.g
                own = [v.name for v in graph.input] + [t.name for t in graph.initializer]
                own += [sparse.values.name for sparse in graph.sparse_initializer]
                ends = onnx.NodeProto(input=[v.name for v in graph.output])
                taken += free_names([*graph.node, ends], own)
        found += [name for name in taken if name not in made]
        made.update(node.output)
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Body:
    """Nodes that can be replaced, what has to come of them, and the graph or function whose they are."""

    holder: GraphProto | FunctionProto
    function: FunctionProto | None = None
    """The function around it all, None in graphs of the model."""

    @property
    def nodes(self) -> Any:
        return self.holder.node

    @property
    def results(self) -> list[str]:
        ends: Sequence[Any] = self.holder.output
        return [end if isinstance(end, str) else end.name for end in ends]

    def replace(self, start: int, stop: int, nodes: Sequence[NodeProto]) -> None:
        """Put other nodes where those from `start` to `stop` were."""
        new = [*self.nodes[:start], *nodes, *self.nodes[stop:]]
        del self.nodes[:]
        self.nodes.extend(new)


@dataclass(frozen=True)
class Part:
    """Some nodes of a body that follow each other, what they take, and what others need of them."""

    body: Body
    start: int
    stop: int
    taken: list[str]
    given: list[str]

    @property
    def nodes(self) -> list[NodeProto]:
        """Copies of the nodes."""
        return copies(self.body.nodes[self.start : self.stop])

    def replace(self, nodes: Sequence[NodeProto]) -> None:
        self.body.replace(self.start, self.stop, nodes)


def copies(nodes: Iterable[NodeProto]) -> list[NodeProto]:
    found = []
    for node in nodes:
        found.append(NodeProto())
        found[-1].CopyFrom(node)
    return found


class Mutant:
    """A model that is changed, the inputs of its runs, and the values of its main graph in the first run."""

    def __init__(
        self,
        model: ModelProto,
        feeds: Sequence[Mapping[str, Any]],
        values: Mapping[str, Any],
        rng: random.Random,
        tag: str,
    ) -> None:
        self.model = ModelProto()
        self.model.CopyFrom(model)
        self.feeds = [dict(given) for given in feeds]
        self.values, self.rng, self.tag = values, rng, tag
        self.opset = opset_of(model) or 0

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def some(self, things: Iterable[Any]) -> list[Any]:
        """Return one to three of the things, or all. Raises LookupError where there is none."""
        known = list(things)
        if not known:
            raise LookupError("nothing to choose from")
        return known if self.chance(0.2) else self.rng.sample(known, min(len(known), self.rng.randint(1, 3)))

    def one(self, things: Iterable[Any]) -> Any:
        """Return one of the things. Raises LookupError where there is none."""
        return self.rng.choice(self.some(things))

    def bodies(self) -> list[Body]:
        """Return all bodies, the main graph first."""
        found = [Body(self.model.graph), *(Body(each, each) for each in self.model.functions)]
        for body in found:  # which grows meanwhile
            for node in body.nodes:
                found += [Body(each.g, body.function) for each in node.attribute if each.HasField("g")]
        return found

    def graphs(self) -> list[GraphProto]:
        """Return the main graph and all subgraphs."""
        return [body.holder for body in self.bodies() if isinstance(body.holder, GraphProto)]

    def part(self) -> Part:
        """Return some nodes of any body. Raises LookupError where nothing comes of them."""
        bodies = [body for body in self.bodies() if len(body.nodes)]
        body = bodies[0] if self.chance(0.5) else self.one(bodies)
        start = self.rng.randrange(len(body.nodes))
        stop = min(start + 1 + int(self.rng.expovariate(0.3)), len(body.nodes))
        later = free_names([*body.nodes[stop:], NodeProto(input=body.results)])
        nodes = body.nodes[start:stop]
        given = [name for node in nodes for name in node.output if name in later]
        if not given:
            raise LookupError("nobody needs it")
        return Part(body, start, stop, free_names(nodes), given)

    @functools.cached_property
    def taken(self) -> set[str]:
        """All names of values in the model, and those that were given since."""
        return {name for root in (self.model.graph, *self.model.functions) for name in names_in(root)}

    def fresh(self, stem: str = "m") -> str:
        """Return a name that no value of the model has; often one that the converter could choose, too."""
        if self.chance(0.3):
            stem = f"{self.rng.choice(sorted(self.taken) or ['m'])}__{self.rng.choice(HINTS)}"
        name, number = stem, 0
        while name in self.taken:
            number += 1
            name = f"{stem}_{number}"
        self.taken.add(name)
        return name

    def within(self, kind: str, names: Iterable[str]) -> dict[str, str]:
        """Return new names for values that come about in one mutation, by their old ones."""
        return {name: f"{self.tag}/{kind}/{name}" for name in names}

    def constant(self, body: Body, value: np.ndarray) -> tuple[str, list[NodeProto]]:
        """Return the name of a new constant, and nodes that have to come before its use."""
        name = self.fresh()
        tensor = numpy_helper.from_array(np.asarray(value), name)
        if isinstance(body.holder, GraphProto) and self.chance(0.5):
            body.holder.initializer.append(tensor)
            return name, []
        return name, [onnx.helper.make_node("Constant", [], [name], value=tensor)]


def names_in(root: Message) -> Iterator[str]:
    """Yield the names of values in a graph or a function."""
    for message in messages(root):
        if isinstance(message, NodeProto):
            yield from message.input
            yield from message.output
        elif isinstance(message, (ValueInfoProto, onnx.TensorProto)):
            yield message.name
        elif isinstance(message, FunctionProto):
            yield from message.input
            yield from message.output


def function_makers(function: onnx.FunctionProto, rng: random.Random) -> list[AttributeProto]:
    """Make attributes of nodes in a function refer to attributes of its calls; return those."""
    stated: list[AttributeProto] = []
    for node in function.node:
        for attribute in node.attribute:
            simple = attribute.type in (AttributeProto.INT, AttributeProto.INTS, AttributeProto.FLOAT)
            if not simple or node.op_type == "Constant" or rng.random() > 0.4:
                continue
            copy = AttributeProto()
            copy.CopyFrom(attribute)
            copy.name = f"{attribute.name}{len(stated)}" if rng.random() < 0.5 else attribute.name
            if copy.name in {*function.attribute, *(each.name for each in function.attribute_proto)}:
                continue
            name, kind = attribute.name, attribute.type
            attribute.Clear()
            attribute.name, attribute.type, attribute.ref_attr_name = name, kind, copy.name
            if rng.random() < 0.4:
                function.attribute_proto.append(copy)
                if rng.random() < 0.5:
                    stated.append(copy)
            else:
                function.attribute.append(copy.name)
                stated.append(copy)
    return stated
