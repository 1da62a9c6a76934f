"""Composes whole models of drawn nodes: chains, If, Loop and Scan in each other, functions, constants in every form.

Each node is run by onnxruntime as it is added, so that the model runs, and the next node can take what it gave.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from judges.conformance.judge import RANDOM, messages
from judges.fuzz.drawing import networks, structures  # noqa: F401  (they fill DRAWS)
from judges.fuzz.drawing.edits import Edit, compute_constant, edit, make_sparse, rename_values
from judges.fuzz.drawing.models import attribute_of
from judges.fuzz.drawing.nodes import DRAWS, PLAIN, Argument, Draw
from judges.fuzz.drawing.rewriting import OPSETS, Drawing, Run, free_names, function_makers

__all__ = ["compose"]

LARGEST = 20_000
"""Elements that a value may have."""
SKIPPED = {
    *RANDOM, "If", "Loop", "Scan", "SequenceMap", "Dropout", "Constant", "Upsample", "EyeLike",
    "ConstantOfShape", "Range", "Tile", "Expand", "OneHot", "MaxUnpool", "MelWeightMatrix", "CenterCropPad",
    "HannWindow", "HammingWindow", "BlackmanWindow", "AffineGrid", "Resize", "STFT", "DFT",
}  # fmt: skip


@functools.cache
def operators(opset: int) -> list[str]:
    """Return the operators that can be drawn at an opset."""
    known = {schema.name for schema in onnx.defs.get_all_schemas_with_history() if schema.domain == ""}
    found = []
    for name in sorted(known - SKIPPED):
        try:
            schema = onnx.defs.get_schema(name, opset, "")
        except onnx.defs.SchemaError:
            continue
        if not schema.deprecated and schema.outputs and (name in DRAWS or len(schema.inputs) < 3):
            found.append(name)
    return found


class Following(Draw):
    """A drawing whose first shape and element type are those of a value that there is."""

    value: np.ndarray | None = None

    def follow(self, value: np.ndarray, element: str) -> None:
        self.value, self.special, self.empty = value, False, False
        formal = self.schema.inputs[0] if self.schema.inputs else None
        if formal is not None and f"tensor({element})" in formal.types:
            self.bound[formal.type_str] = element

    def shape(self, rank: int | None = None, least: int = 0, most: int = 4) -> list[int]:
        value, self.value = self.value, None
        if value is not None and (value.ndim == rank or (rank is None and least <= value.ndim <= max(most, 5))):
            return list(value.shape)
        return super().shape(rank, least, most)


@dataclass
class Scope:
    """A body in the making: its nodes and initializers, and the values that nodes in it can take."""

    outer: Scope | None = None
    formals: list[str] | None = None
    """The inputs of a function so far, None in a graph."""
    passed: dict[str, np.ndarray] = field(default_factory=dict)
    """What the call passes for the formals that came about in the body."""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    values: dict[str, np.ndarray] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    """All names given in this body and those inside it."""

    def graph(self, name: str, inputs: Sequence[Any], outputs: Sequence[Any]) -> onnx.GraphProto:
        """Return the body as a graph."""
        return helper.make_graph(self.nodes, name, inputs, outputs, self.initializers)

    def chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def visible(self) -> dict[str, np.ndarray]:
        found: dict[str, np.ndarray] = {}
        for scope in self.chain():
            for name, value in scope.values.items():
                found.setdefault(name, value)
        return found


def element_of(value: Any) -> str:
    """Return the element type's name as schemas write it, "" for what is no tensor."""
    if not isinstance(value, np.ndarray):
        return ""
    if value.dtype.kind in "OUS":
        return "string"
    return next((name for name, kind in PLAIN.items() if np.dtype(kind) == value.dtype), "")


def info(name: str, value: np.ndarray, shape: Sequence[Any] | None = None) -> onnx.ValueInfoProto:
    kind = TensorProto.DataType.Value(element_of(value).upper())
    return helper.make_tensor_value_info(name, kind, shape)


class Composer:
    """The model in the making."""

    def __init__(self, name: str, run: Run) -> None:
        self.name, self.run, self.rng = name, run, random.Random(name)
        self.rarer = random.Random(f"{name} rarer")
        self.opset = self.rng.choice(OPSETS)
        least = helper.OP_SET_ID_VERSION_MAP["ai.onnx", self.opset]
        self.ir = self.rng.choice([least, max(least, 4), max(least, 8), max(least, 10)])
        self.depth = self.rng.choice([1, 2, 3, 3, 4])
        self.main = Scope()
        self.inputs: dict[str, np.ndarray] = {}
        self.overridable: dict[str, np.ndarray] = {}
        self.functions: list[onnx.FunctionProto] = []
        self.calls: list[tuple[onnx.FunctionProto, onnx.NodeProto]] = []
        self.count = 0

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def fresh(self, scope: Scope) -> str:
        """Return a name that nothing in the main graph, or in the function around the scope, has."""
        *_, root = scope.chain()
        name = f"v{len(root.names)}"
        while name in root.names:
            name = f"v{len(root.names) + self.rng.randrange(10)}"
        root.names.add(name)
        return name

    def constant(self, scope: Scope, value: np.ndarray) -> str:
        """Return the name of a constant in one of its forms, in this scope or one around it."""
        where = self.rng.choice(list(scope.chain())) if self.chance(0.3) else scope
        name = self.fresh(scope)
        forms = ["Constant", *(["initializer"] if where.formals is None else [])]
        forms += ["overridable"] if where is self.main and self.ir >= 4 else []
        forms += ["formal"] * 2 if where.formals is not None and where is scope else []
        form = self.rng.choice(forms)
        where.values[name] = value
        if form == "formal" and where.formals is not None:
            where.formals.append(name)
            where.passed[name] = value
        elif form == "Constant":
            where.nodes.append(helper.make_node("Constant", [], [name], value=numpy_helper.from_array(value)))
        else:
            where.initializers.append(numpy_helper.from_array(value, name))
            if form == "overridable":
                self.overridable[name] = value
        return name

    def data(self, scope: Scope, value: np.ndarray) -> str:
        """Return the name of a value that comes from outside, or is a constant."""
        within = any(each.formals is not None for each in scope.chain())
        if within or self.chance(0.3):
            return self.constant(scope, value)
        name = self.fresh(scope)
        self.inputs[name] = self.main.values[name] = value
        return name

    def attempt(self, scope: Scope, nodes: Sequence[onnx.NodeProto], also: Sequence[Any] = ()) -> bool:
        """Whether the nodes run; then they and their outputs are part of the scope."""
        seen = scope.visible()
        taken = free_names(nodes)
        outputs = [name for node in nodes for name in node.output if name]
        if any(name not in seen for name in taken) or len(seen.keys() & set(outputs)):
            return False
        results = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(list(nodes), "g", [info(name, seen[name]) for name in taken], results)
        model = self.model(graph, [*self.functions, *also])
        try:
            found = self.run(model, {name: seen[name] for name in taken})
        except Exception:  # the node is not one that runs
            return False
        if not all(element_of(value) and value.size <= LARGEST for value in found):
            return False
        if any(value.dtype.kind == "f" and not (np.abs(value.astype(np.float64)) < 1e6).all() for value in found):
            return False
        scope.nodes.extend(nodes)
        scope.values.update(zip(outputs, found, strict=True))
        return True

    def model(self, graph: onnx.GraphProto, functions: Sequence[onnx.FunctionProto]) -> onnx.ModelProto:
        imports = [helper.make_opsetid("", self.opset)]
        imports += [helper.make_opsetid("local", 1)] if functions else []
        return helper.make_model(graph, opset_imports=imports, ir_version=self.ir, functions=functions)

    def pick(self, scope: Scope, inner: bool = False) -> str:
        """Return the name of a value to go on from, mostly one of the latest."""
        names = list(scope.values if inner and scope.values else scope.visible())
        if not names:
            shape = self.rng.choice([(2, 3), (2, 3), (17,), (1, 40), (33, 5), (2, 3, 19), (2, 4, 9, 7), (1, 3, 16, 16)])
            if self.rarer.random() < 0.2:
                shape = self.rarer.choice([(1, 1), (3, 1, 4), (1,), (1, 1, 5, 5), (0, 3), (2, 0, 4)])
            return self.data(scope, np.random.default_rng(self.rng.randrange(2**32)).normal(0, 2, shape).astype("f"))
        return names[-1 - min(int(self.rng.expovariate(0.4)), len(names) - 1)]

    def grow(self, scope: Scope, steps: int, depth: int) -> None:
        """Add some nodes to the scope."""
        for _ in range(steps):
            kinds: list[Callable[[Scope, int], object]] = [self.node]
            if depth < self.depth and self.chance(0.45):
                kinds = [self.branches, self.loop] + ([self.scan] if self.opset >= 9 else [])
                if self.ir >= 8:
                    kinds += [self.function] * 2
            self.rng.choice(kinds)(scope, depth)

    def node(self, scope: Scope, depth: int) -> None:
        """Add a node of an operator by chance."""
        for _ in range(8):
            self.count += 1
            operator = self.rng.choice(operators(self.opset))
            start = self.pick(scope)
            value = scope.visible()[start]
            schema = onnx.defs.get_schema(operator, self.opset, "")
            drawing = Following(schema, self.opset, f"{self.name} {self.count}", 0)
            drawing.follow(value, element_of(value))
            drawer = DRAWS.get(operator)
            try:
                inputs = drawer(drawing) if drawer else self.plain(drawing)
            except Exception:  # no such node
                continue
            if not all(given is None or isinstance(given, Argument) for given in inputs):
                continue
            if not all(given is None or element_of(given.value) for given in inputs):
                continue
            if sum(given.value.size for given in inputs if isinstance(given, Argument)) > LARGEST:
                continue
            names, used = [], False
            for given in inputs:
                fits = given is not None and not given.side and element_of(value) == given.element
                if fits and not used and value.shape == given.value.shape:
                    names.append(start)
                    used = True
                elif isinstance(given, Argument):
                    make = self.constant if given.side or self.chance(0.3) else self.data
                    names.append(make(scope, given.value))
                else:
                    names.append("")
            if not used and self.chance(0.8):
                continue
            attributes = dict(drawing.attributes)
            count = attributes.pop("__outputs", None) or max(schema.min_output, 1)
            if count < len(schema.outputs) and self.rarer.random() < 0.4:
                count = self.rarer.randint(count, len(schema.outputs))
            outputs = [self.fresh(scope) for _ in range(count)]
            if count > 1 and self.rarer.random() < 0.25:
                outputs[self.rarer.randrange(count)] = ""
            node = helper.make_node(operator, names, outputs)
            node.attribute.extend(attribute_of(schema, name, given) for name, given in sorted(attributes.items()))
            if self.attempt(scope, [node]):
                return

    def plain(self, drawing: Draw) -> list[Argument]:
        shape = drawing.shape()
        return [drawing.tame(number, shape) for number in range(len(drawing.schema.inputs))]

    def ends(self, scope: Scope, names: Sequence[str], elements: Sequence[str] | None = None) -> list[Any]:
        """Return the outputs of a body: values of it, cast to the element types where those are given."""
        found = []
        for number, name in enumerate(names):
            value = scope.visible()[name]
            element = elements[number] if elements else element_of(value)
            end = self.fresh(scope)
            if element != element_of(value):
                to = TensorProto.DataType.Value(element.upper())
                scope.nodes.append(helper.make_node("Cast", [name], [end], to=to))
                with np.errstate(all="ignore"):
                    value = value.astype(PLAIN[element])
            elif name not in [each.name for each in found] and any(name in node.output for node in scope.nodes):
                end = name
            if end != name:
                if element == element_of(scope.visible()[name]):
                    scope.nodes.append(helper.make_node("Identity", [name], [end]))
                scope.values[end] = value
            ranked = [None] * value.ndim if self.chance(0.2) else None
            found.append(info(end, value, ranked))
        return found

    def condition(self, scope: Scope) -> str:
        value = self.chance(0.5)
        if self.chance(0.5):
            return (self.constant if self.chance(0.7) else self.data)(scope, np.array(value))
        size, wide, least, found = (self.fresh(scope) for _ in range(4))
        scope.values[least] = np.array(self.rng.choice([0.5, 3.5, 9.5]), np.float32)
        nodes = [
            helper.make_node("Size", [self.pick(scope)], [size]),
            helper.make_node("Cast", [size], [wide], to=TensorProto.FLOAT),
            helper.make_node("Less", [wide, least], [found]),
        ]
        tensor = numpy_helper.from_array(scope.values.pop(least))
        return found if self.attempt(scope, [helper.make_node("Constant", [], [least], value=tensor), *nodes]) else ""

    def branches(self, scope: Scope, depth: int) -> None:
        """Add an If."""
        condition = self.condition(scope)
        if not condition:
            return
        count, elements, graphs = self.rng.randint(1, 2), None, []
        for name in ("then", "else"):
            body = Scope(scope)
            self.grow(body, self.rng.randint(1, 3), depth + 1)
            ends = self.ends(body, [self.pick(body, True) for _ in range(count)], elements)
            elements = [TensorProto.DataType.Name(end.type.tensor_type.elem_type).lower() for end in ends]
            graphs.append(body.graph(name, [], ends))
        outputs = [self.fresh(scope) for _ in range(count)]
        then, other = graphs
        node = helper.make_node("If", [condition], outputs, then_branch=then, else_branch=other)
        self.attempt(scope, [node])

    def loop(self, scope: Scope, depth: int) -> None:
        """Add a Loop."""
        states = [self.pick(scope) for _ in range(self.rng.randint(0, 2))]
        seen = scope.visible()
        body = Scope(scope)
        given = []
        for value in (np.array(0), np.array(True), *(seen[name] for name in states)):
            given.append(self.fresh(body))
            body.values[given[-1]] = value
        self.grow(body, self.rng.randint(1, 3), depth + 1)
        scans = [self.pick(body, True) for _ in range(self.rng.randint(0 if states else 1, 1))]
        kept = [self.pick(body, True) for _ in states]
        elements = [element_of(seen[name]) for name in states] + [element_of(body.visible()[name]) for name in scans]
        ends = self.ends(body, [given[1], *kept, *scans], ["bool", *elements])
        inputs = [info(name, body.values[name], [] if number < 2 else None) for number, name in enumerate(given)]
        graph = body.graph("body", inputs, ends)
        turns = self.fresh(scope)  # no input of a function: without it the loop has no end
        # What no turn gives has a shape only where one can be inferred.
        scope.values[turns] = np.array(self.rng.choice([1, 1, 2, 3] if scans else [0, 1, 2, 3]))
        tensor = numpy_helper.from_array(scope.values[turns])
        scope.nodes.append(helper.make_node("Constant", [], [turns], value=tensor))
        go = self.constant(scope, np.array(True)) if self.chance(0.3) else ""
        outputs = [self.fresh(scope) for _ in ends[1:]]
        self.attempt(scope, [helper.make_node("Loop", [turns, go, *states], outputs, body=graph)])

    def scan(self, scope: Scope, depth: int) -> None:
        """Add a Scan along the first axis of a value."""
        seen = scope.visible()
        rows = [name for name, value in seen.items() if value.ndim and 0 < value.shape[0] < 6]
        if not rows:
            return
        source, state = self.rng.choice(rows), self.pick(scope)
        if state not in seen:
            return
        body = Scope(scope)
        given = []
        for value in (seen[state], np.asarray(seen[source][0])):
            given.append(self.fresh(body))
            body.values[given[-1]] = value
        self.grow(body, self.rng.randint(1, 2), depth + 1)
        result = self.pick(body, True)
        elements = [element_of(seen[state]), element_of(body.visible()[result])]
        ends = self.ends(body, [self.pick(body, True) if self.chance(0.4) else given[0], result], elements)
        inputs = [info(name, body.values[name]) for name in given]
        graph = body.graph("body", inputs, ends)
        outputs = [self.fresh(scope) for _ in range(2)]
        node = helper.make_node("Scan", [state, source], outputs, body=graph, num_scan_inputs=1)
        self.attempt(scope, [node])

    def function(self, scope: Scope, depth: int) -> None:
        """Add a function and calls of it: with other values, without the inputs that may be left out."""
        seen = scope.visible()
        given = list(dict.fromkeys(self.pick(scope) for _ in range(self.rng.randint(1, 2))))
        seen = scope.visible()
        body = Scope(None, [])
        for name in given:
            formal = self.fresh(body) if self.chance(0.7) or name in body.names else name
            body.names.add(formal)
            body.formals = [*(body.formals or []), formal]
            body.values[formal] = seen[name]
        self.grow(body, self.rng.randint(1, 4), depth + 1)
        results = [end.name for end in self.ends(body, [self.pick(body, True) for _ in range(self.rng.randint(1, 2))])]
        imports = [helper.make_opsetid("", self.opset), helper.make_opsetid("local", 1)]
        name = f"F{len(self.functions)}"
        function = helper.make_function("local", name, body.formals or [], results, body.nodes, imports)
        stated = function_makers(function, self.rng)
        passed = [self.constant(scope, value) for value in body.passed.values()]
        made = False
        for other in (False, True, True):
            taken = [self.pick(scope) for _ in given] if other else given
            rest = ["" if other and self.chance(0.5) else each for each in passed]
            outputs = [self.fresh(scope) for _ in results]
            node = helper.make_node(name, [*taken, *rest], outputs, domain="local")
            node.attribute.extend(stated)
            if self.attempt(scope, [node], [] if made else [function]):
                if not made:
                    self.functions.append(function)
                made = True
            elif not made:
                return

    def called(self, graph: onnx.GraphProto) -> list[onnx.FunctionProto]:
        """Return the functions that a graph needs, and now and then those that it does not."""
        if self.chance(0.1):
            return self.functions
        found: dict[str, onnx.FunctionProto] = {}
        known = {function.name: function for function in self.functions}
        waiting: list[onnx.GraphProto | onnx.FunctionProto] = [graph]
        while waiting:
            nodes = [part for part in messages(waiting.pop()) if isinstance(part, onnx.NodeProto)]
            new = {node.op_type for node in nodes if node.domain == "local"} - found.keys()
            found |= {name: known[name] for name in new}
            waiting += [known[name] for name in new]
        return [function for function in self.functions if function.name in found]

    def build(self) -> Drawing:
        """Return the model, and the inputs of two runs."""
        self.grow(self.main, self.rng.randint(3, 8), 0)
        main = self.main
        made = [name for node in main.nodes for name in node.output if name]
        if not made:
            raise LookupError("no nodes")
        names = sorted({made[-1], *self.rng.sample(made, min(len(made), self.rng.randint(1, 4)))})
        results = [info(name, main.values[name]) for name in names]
        declare = self.rng.choice(["static", "mixed", "symbols", "symbols", "nothing"])
        other = {size: size + self.rng.randint(1, 3) for size in range(2, 10)} if declare != "static" else {}
        if other and self.rarer.random() < 0.5:
            other |= {size: self.rarer.choice([0, 1, 1, 1]) for size in self.rarer.sample(range(2, 10), 3)} | {1: 3}
        inputs, feeds = [], [dict[str, Any](), dict[str, Any]()]
        for name, value in self.inputs.items():
            sizes = [other.get(size, size) for size in value.shape]
            fixed = [declare == "static" or (declare == "mixed" and self.chance(0.5)) for _ in sizes]
            sizes = [old if kept else new for old, new, kept in zip(value.shape, sizes, fixed, strict=True)]
            shape = [old if kept else f"d{old}" for old, kept in zip(value.shape, fixed, strict=True)]
            inputs.append(info(name, value, None if declare == "nothing" else shape))
            feeds[0][name], feeds[1][name] = value, np.resize(value, sizes)
        early = {t.name: numpy_helper.to_array(t) for t in main.initializers} if self.ir < 4 else self.overridable
        inputs += [info(name, value, list(value.shape)) for name, value in early.items()]
        if self.ir >= 4:
            feeds[1] |= {name: value for name, value in self.overridable.items() if self.chance(0.5)}
        graph = main.graph("g", inputs, results)
        model = self.model(graph, self.called(graph))
        if self.chance(0.4):
            described = onnx.shape_inference.infer_shapes(model)
            try:  # branches of different ranks: onnx states that of the first, which onnxruntime does not take
                self.run(described, feeds[0])
                model.graph.value_info.extend(described.graph.value_info)
            except Exception:  # then nothing is stated
                pass
        wanted: list[Edit | None] = [None] * self.rng.choice([0, 1, 2, 3])
        wanted += [
            one for one in (compute_constant, make_sparse, make_sparse, rename_values) if self.rarer.random() < 0.3
        ]
        return Drawing(*edit(model, feeds, main.values, self.name, wanted))


def compose(name: str, run: Run) -> Drawing:
    """Return the composed model of a name. Raises LookupError where it comes to nothing."""
    return Composer(name, run).build()
