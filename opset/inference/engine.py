"""Infers a model: its graphs node by node, what hangs in nodes when they are reached, functions once a signature.

Nothing recurses in nodes, graphs or functions: a body's inference is a generator that yields the inference of a body
inside it, and one loop drives them all. What a rule gives is kept by the node's operator, attributes and input types,
so that the many like nodes of a model cost a look at a table.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opset.errors import ModelError, printable
from opset.inference.agreement import check_attributes
from opset.inference.call import MAX_DATA, Call, Data, Unknown
from opset.inference.dimensions import Dim, Size, TooComplex, has_function, parse, substitute, variable, variables
from opset.inference.outcomes import (
    MALFORMED,
    GraphRequest,
    OperatorInference,
    Outcome,
    Outputs,
    Problem,
    bases_of,
    completed,
    fits,
    is_open,
    small_count,
    stated_dims,
    told,
)
from opset.inference.registration import RuleLookup
from opset.inference.renaming import renamed, replaced, variables_of, with_sizes
from opset.inference.types import Type, is_rankless, mapped, meet, of_proto, tensor
from opset.model.attributes import attribute_value
from opset.model.container import Model
from opset.model.elements import element_name
from opset.model.graph import function_key, subgraphs
from opset.model.index import Body, ModelIndex, index_model
from opset.model.tensor import tensor_values
from opset.opsets.hooks import Hook
from opset.opsets.registry import Registry
from opset.schemas.constraints import Violation
from opset.schemas.model import OpSchema
from opset.schemas.names import normalised, shown

MAX_REPEATED = 64
"""Visits to nodes beyond the first, for each node of the model: graphs in loops, functions that differ by call."""
_MAX_LIVE_DATA = 1 << 20  # elements that are followed in all
_OFTEN = 4096  # nodes between two words of progress
_FOLLOWED = frozenset("int64 int32 bool float double float16 uint8 int8 uint64 uint32 int16 uint16".split())
_WHOLE = frozenset("int64 int32 bool uint8 int8 uint64 uint32 int16 uint16".split())


@dataclass(eq=False, slots=True)
class Frame:
    """What is known inside one body: types by name, elements that were followed, tensors that may be read.

    `local` are the variables that were made here, `repeated` says that they may have another value each time, `unused`
    that the graph is never run, so that what is wrong in it does not matter, `guarded` that a condition decides whether
    it is, so that it may be wrong on purpose where it is not. `stated` are the types that the model states, `mentioned`
    the variables in those that were read; `inside` has the frames of graphs in nodes, by the node's number and the
    attribute.
    """

    body: Body
    parent: Frame | None
    imports: Mapping[str, int]
    meanings: dict[tuple[str, str], OperatorInference]
    attributes: Mapping[str, Any] | None = None
    key: Any = ()
    repeated: bool = False
    unused: bool = False
    guarded: bool = False
    types: dict[str, Type | None] = field(default_factory=dict)
    stated: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Data] = field(default_factory=dict)
    tensors: dict[str, Any] = field(default_factory=dict)
    read: dict[str, Data | None] = field(default_factory=dict)
    local: set[str] = field(default_factory=set)
    mentioned: set[str] = field(default_factory=set)
    inside: dict[tuple[int, str], Frame] = field(default_factory=dict)
    doubts: dict[int, tuple[str, ...]] = field(default_factory=dict)
    problems: dict[int, tuple[Problem, ...]] = field(default_factory=dict)
    conflicts: dict[str, str] = field(default_factory=dict)

    def bound(self, attribute: Any) -> Any:
        """What an attribute stands for: itself, or what the call of the function around gives; None if nothing."""
        if not attribute.ref_attr_name:
            return attribute
        frame: Frame | None = self
        while frame is not None and frame.attributes is None:
            frame = frame.parent
        return None if frame is None or frame.attributes is None else frame.attributes.get(attribute.ref_attr_name)


InferenceTask = Generator[Any, Any, Any]


class Engine:
    """One inference of one model. `frames` has what was found of every graph, `calls` that of functions."""

    def __init__(
        self,
        model: Model,
        registry: Registry,
        dims: Mapping[str, int],
        *,
        data_prop: bool = True,
        check_type: bool = False,
        stated: bool = True,
        cautious: bool = False,
        index: ModelIndex | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Take the model and numbers for its dimension variables; its index, if there is one already.

        Without `stated`, what the model states of values is not looked at, inputs aside. If `cautious`, sizes are
        believed of inputs alone: value_info of a model whose batch has become variable may still be that of the batch
        which it was exported with.
        """
        self.model, self.registry, self.dims, self.progress = model, registry, dims, progress
        self._index = index
        self.data_prop, self.check_type, self.use_stated, self.cautious = data_prop, check_type, stated, cautious
        self.frames: dict[Any, Frame] = {}
        self.calls: dict[tuple[str, str, str], list[Frame]] = {}
        self.missed: set[tuple[str, str, str]] = set()
        """Functions of which calls were left out."""
        self.fixed: set[str] = set()
        """Variables of the model's own inputs."""
        self._functions = {function_key(function): function for function in model.proto.functions}
        self._called: dict[Any, tuple[list[str], Outputs]] = {}
        self._memories: dict[Any, dict[str, Any]] = {}
        self._names: dict[tuple[Any, str, int], Dim] = {}
        self._taken: set[str] = set()
        self._numbers: Counter[str] = Counter()
        self._meanings: dict[tuple[tuple[str, int], ...], dict[tuple[str, str], OperatorInference]] = {}
        self._sizes: dict[str, Size | None] = {}
        self._rules = RuleLookup(registry)
        self._alone: dict[OpSchema, OperatorInference] = {}
        self._followed = 0
        self._left = 0

    # The whole model

    def run(self) -> None:
        """Infer everything. Raises ModelError where the model is malformed."""
        proto = self.model.proto
        index = self._index = self._index or index_model(proto, self.registry.domains)
        index.call_order()
        self._left = MAX_REPEATED * (1000 + sum(len(body.nodes) for body in index.bodies))
        imports = index.opsets
        for body in index.graphs:
            self.fixed.update(variables_of(body.proto.input))
        self._taken |= self.fixed
        main: Frame | None = None
        found_in: list[Frame] = []
        for number, body in enumerate(index.graphs):
            frame = Frame(body, main, imports, self._meanings_of(imports), key=(number,))
            self._prepare(frame)
            drive(self._body(frame))
            main = main or frame
            found_in.append(frame)
        found_in.extend(frame for each in self.calls.values() for frame in each)
        pending = found_in[::-1]
        while pending:
            frame = pending.pop()
            if not frame.body.function:
                self.frames[frame.key] = frame
            pending.extend(reversed(frame.inside.values()))

    def _meanings_of(self, imports: Mapping[str, int]) -> dict[tuple[str, str], OperatorInference]:
        return self._meanings.setdefault(tuple(sorted(imports.items())), {})

    def _prepare(self, frame: Frame) -> None:
        """Enter a graph's inputs, initializers and stated types."""
        graph = frame.body.proto
        for value in graph.input:
            self._enter(frame, value.name, self._type_of(frame, value.type))
        overridable = self.model.proto.ir_version >= 4
        self._enter_initializers(frame, {value.name for value in graph.input} if overridable else ())
        self._state(frame)

    def _enter_initializers(self, frame: Frame, given: Collection[str]) -> None:
        """Enter a graph's initializers, but those whose values may be given from outside, of the types of inputs."""
        for each in frame.body.proto.initializer:
            if each.name not in given:
                frame.types[each.name] = tensor(element_name(each.data_type), stated_dims(each.dims))
                frame.tensors[each.name] = each
            elif frame.types.get(each.name) is None:
                frame.types[each.name] = tensor(element_name(each.data_type))
        for each in frame.body.proto.sparse_initializer:
            frame.types[each.values.name] = tensor(element_name(each.values.data_type), stated_dims(each.dims))

    def _state(self, frame: Frame) -> None:
        """Note the types that a body states of values that its nodes compute."""
        proto = frame.body.proto
        if not self.use_stated:
            return
        frame.stated.update((value.name, value.type) for value in proto.value_info)
        if not frame.body.function:
            frame.stated.update((value.name, value.type) for value in proto.output if value.name not in frame.types)

    def _enter(self, frame: Frame, name: str, type_: Type | None) -> None:
        """Enter a value whose unknown sizes get names."""
        frame.types[name] = self._closed(frame, type_, name)

    # Sizes

    @property
    def variables(self) -> set[str]:
        """The names of variables that were met or made."""
        stated = {name for size in self._sizes.values() if size is not None for name in variables(size)}
        return stated | {str(made) for made in self._names.values()} | {n for n in self._sizes if n in self.dims}

    def size(self, dim: Any) -> Size | None:
        """Return the size that a Dimension message states; a variable is that of its name, in the whole model."""
        if dim.WhichOneof("value") == "dim_value":
            # Some exporters write -1 for a size that they do not know.
            number: int = dim.dim_value
            return number if number >= 0 else None
        text = dim.dim_param
        if not text:
            return None
        if text not in self._sizes:
            self._sizes[text] = self._stated_size(text)
        return self._sizes[text]

    def _stated_size(self, text: Any) -> Size | None:
        try:
            if text.__class__ is bytes:
                return None
            if text in self.dims:
                return self.dims[text]
            size = parse(text)
            found = variable(text) if size is None else substitute(size, self.dims)
        except (TooComplex, ArithmeticError, ValueError):
            return None
        return None if isinstance(found, int) and found < 0 else found

    def _type_of(self, frame: Frame, proto: Any) -> Type | None:
        """Return the type that a body states; a variable that is met first inside a loop may change with every turn.

        Variables in a function are not those of its callers, so they say nothing.
        """
        if frame.body.root.function:
            return mapped(of_proto(proto, self.size), lambda size: size if isinstance(size, int) else None)
        return mapped(of_proto(proto, self.size), lambda size: self._mention(frame, size))

    def _mention(self, frame: Frame, size: Size | None) -> Size | None:
        if not isinstance(size, Dim):
            return size
        for name in variables(size) - frame.mentioned - self.fixed:
            frame.mentioned.add(name)
            outer = frame.parent
            while frame.repeated and outer is not None and name not in outer.mentioned:
                outer = outer.parent
            if frame.repeated and outer is None:
                frame.local.add(name)
        return size

    def _closed(self, frame: Frame, type_: Type | None, name: str) -> Type | None:
        """A type in which sizes that are not known have names: those of one value, so not those in a sequence."""
        if type_ is None or type_.kind in ("seq", "map"):
            return type_
        if type_.kind == "optional":
            inner = self._closed(frame, type_.inner, name)
            return type_ if inner == type_.inner else type_._replace(inner=inner)
        if type_.shape is None or None not in type_.shape:
            return type_
        shape = [self._fresh(frame, name, axis) if each is None else each for axis, each in enumerate(type_.shape)]
        return type_._replace(shape=tuple(shape))

    def _fresh(self, frame: Frame, name: str, axis: int) -> Size:
        """The variable of a size that only running the model can tell: `<value>_d<axis>`, however often asked."""
        key = (frame.key, name, axis)
        if key not in self._names:
            stem = re.sub(r"[^A-Za-z0-9_]", "_", str(name)[:40])
            stem = f"{'_' * (not stem[:1].isalpha() and stem[:1] != '_')}{stem}_d{axis}"
            text = stem
            while text in self._taken:
                self._numbers[stem] += 1
                text = f"{stem}_{self._numbers[stem]}"
            self._taken.add(text)
            self._names[key] = variable(text)
        found = self._names[key]
        frame.local.add(str(found))
        return self.dims.get(str(found), found)

    # Bodies

    def _body(self, frame: Frame) -> InferenceTask:
        """Infer a body's nodes in order."""
        types, stated, data = frame.types, frame.stated, frame.data
        meanings = frame.meanings
        functions = self._functions
        progress = self.progress if frame.body.parent is None else None
        for index, node in enumerate(frame.body.proto.node):
            if progress is not None and not index % _OFTEN:
                progress(index, len(frame.body.proto.node))
            names = list(node.input)  # once: a message makes a copy of each name whenever it is looked at
            given = [(types[name] if name in types else self.type_in(frame, name)) if name else None for name in names]
            if functions and (local := functions.get(function_key(node))) is not None:
                outcome = yield self._call(frame, node, local, given)
            else:
                key = (node.op_type, node.domain)
                meaning = meanings.get(key)
                if meaning is None:
                    meaning = meanings[key] = self._meaning(*key, frame.imports)
                if meaning.rule is None:
                    outcome = self._unruled(frame, node, meaning, given)
                elif meaning.rule.is_generator:
                    outcome = yield self._with_graphs(frame, index, node, meaning, given)
                elif node.op_type == "Constant" and not key[1]:
                    outcome = self._constant(frame, node, names, meaning)
                else:
                    outcome = self._outcome(frame, node, names, meaning, given)
            if outcome.doubts:
                frame.doubts[index] = outcome.doubts
            if outcome.problems:
                frame.problems[index] = outcome.problems
            found = outcome.types
            for place, name in enumerate(node.output):
                if not name:
                    continue
                type_ = found[place] if place < len(found) else None
                if name in stated:
                    type_ = self._met(frame, name, type_)
                types[name] = self._closed(frame, type_, name) if outcome.open or name in stated else type_
            for place, elements in enumerate(outcome.data):
                if elements is not None and place < len(node.output):
                    data[node.output[place]] = elements

    def type_in(self, frame: Frame, name: str) -> Type | None:
        """Return what is known of a value as it is seen in a body, None where nothing is."""
        scope: Frame | None = frame
        while scope is not None:
            if name in scope.types:
                return scope.types[name]
            scope = scope.parent
        return None

    def _met(self, frame: Frame, name: str, found: Type | None) -> Type | None:
        """Return what value_info, or the graph's output, and the inference say together; note where they contradict."""
        type_, why = self._meet(frame, frame.stated[name], found)
        if why:
            frame.conflicts[name] = why
        else:
            frame.conflicts.pop(name, None)
        return type_

    def _meet(self, frame: Frame, stated: Any, found: Type | None) -> tuple[Type | None, str]:
        """What a type that a body states and one that was inferred say together, and "" or how they contradict."""

        def says_enough(stated: Size, found: Size) -> bool:
            if isinstance(stated, int) or has_function(found, "broadcast"):
                return False
            # Inside a loop, variables from outside say more than those that the body alone states.
            unknown = variables(found) - self.fixed
            return not unknown or (frame.repeated and unknown.isdisjoint(frame.local))

        said = self._type_of(frame, stated)
        return meet(mapped(said, lambda size: None) if self.cautious else said, found, says_enough)

    def _meaning(self, op_type: str, domain: str, imports: Mapping[str, int]) -> OperatorInference:
        where = normalised(domain)
        version = imports.get(where, 0)
        schema = self.registry.schema(op_type, version, where)
        name = printable(op_type)
        if schema is None:
            if where not in imports:
                return OperatorInference(None, why=f"the domain {printable(shown(where))} is not imported")
            if where not in self.registry.domains:
                return OperatorInference(None, why=f"there are no schemas of the domain {printable(shown(where))}")
            return OperatorInference(None, why=f"{printable(shown(where))} {version} has no operator {name}")
        rule = self._rules.find(schema)
        why = "" if rule is not None else f"nothing says how the shapes of {name} {schema.since_version} follow"
        return OperatorInference(schema, rule, self._rules.find_data(schema) if self.data_prop else None, why)

    # Nodes

    def of_node(
        self, node: Any, schema: OpSchema | None, given: Sequence[Type | None], data: Sequence[Any]
    ) -> tuple[Type | None, ...]:
        """Return the types of the outputs of a node that is not part of the model, whose inputs are of these types.

        `data` has their elements, as anything with `dims` and `values`, or None.
        """
        if schema is None:
            return (None,) * len(node.output)
        if schema not in self._alone:
            self._alone[schema] = OperatorInference(schema, self._rules.find(schema))
        meaning = self._alone[schema]
        if meaning.rule is None or meaning.rule.is_generator:
            return bases_of(meaning, node, given)

        def elements(place: int) -> Data | None:
            known = data[place]
            return None if known is None else Data(known.dims, known.values)

        def attribute(name: str) -> Any:
            for each in node.attribute:
                if each.name == name:
                    if each.ref_attr_name:
                        raise Unknown(f"{name} is what a call of the function around gives")
                    return attribute_value(each)
            return None

        if schema.name == "Constant" and not schema.domain:
            for each in node.attribute:
                if each.name == "value" and each.HasField("t") and not each.ref_attr_name:
                    return (tensor(element_name(each.t.data_type), stated_dims(each.t.dims)),)
        return self._asked(Call(node, schema, given, attribute, elements), node, meaning, ()).types

    def _unruled(self, frame: Frame, node: Any, meaning: OperatorInference, given: Sequence[Type | None]) -> Outcome:
        """Return what a signature alone says."""
        if meaning.schema is None:
            return Outcome((None,) * len(node.output), doubts=(meaning.why,))
        types = bases_of(meaning, node, given)
        return Outcome(types, doubts=(meaning.why,), problems=self._misfits(meaning.schema, node, given))

    def _outcome(
        self, frame: Frame, node: Any, names: Sequence[str], meaning: OperatorInference, given: Sequence[Type | None]
    ) -> Outcome:
        """Return what the rule says, asked once for nodes of the same signature; `names` are those of the inputs."""
        attributes: tuple[Any, ...] = ()
        if node.attribute:
            attributes = tuple([each.SerializeToString() for each in node.attribute])
            if frame.body.root.function and any(each.ref_attr_name for each in node.attribute):
                attributes = (*attributes, frame.key)
        outputs: Any = len(node.output)
        if "" in node.output:
            outputs = tuple(map(bool, node.output))
        live: Any = ()
        if meaning.data is not None:
            live = tuple([place for place, name in enumerate(names) if name and self._is_followed(frame, name)])
        absent: Any = ()
        if None in given:
            absent = tuple([place for place, each in enumerate(given) if each is None and names[place]])
        key = (attributes, tuple(given), outputs, live, absent)
        asked, kept = meaning.outcomes.get(key) or ((), {})
        seen = tuple([self.data_in(frame, names[place]) for place in asked])
        outcome = kept.get(seen)
        if outcome is None:
            call = self._call_of(frame, node, meaning, given)
            outcome = self._asked(call, node, meaning, live)
            more = tuple(sorted({*asked, *call.asked}))
            if more != asked:
                asked, kept = more, {}
                seen = tuple([self.data_in(frame, names[place]) for place in asked])
            if all(len(each) < 4096 for each in attributes if isinstance(each, bytes)):  # no copies of great tables
                kept[seen] = outcome
                meaning.outcomes[key] = asked, kept
        return outcome

    def _call_of(self, frame: Frame, node: Any, meaning: OperatorInference, given: Sequence[Type | None]) -> Call:
        assert meaning.schema is not None

        def attribute(name: str) -> Any:
            for each in node.attribute:
                if each.name == name:
                    bound = frame.bound(each)
                    return None if bound is None else attribute_value(bound)
            return None

        def data(place: int) -> Data | None:
            return self.data_in(frame, node.input[place])

        return Call(node, meaning.schema, given, attribute, data)

    def _asked(self, call: Call, node: Any, meaning: OperatorInference, live: Any) -> Outcome:
        """Call an operator's rule, and then follow the elements of small outputs where that is possible."""
        assert meaning.rule is not None
        assert meaning.schema is not None
        problems = self._misfits(meaning.schema, node, call.types)
        raw: Any = []
        try:
            check_attributes(call)
            raw = meaning.rule.function(call)
        except (Violation, Unknown, TooComplex, *MALFORMED) as error:
            problems += told(call, meaning.schema, error)
        types, more = completed(raw, bases_of(meaning, node, call.types), call)
        data: tuple[Data | None, ...] = ()
        if meaning.data is not None and not problems:
            data = self._elements(call, meaning.data, types, live)
        return Outcome(types, data, tuple(call.doubts), problems + more, any(map(is_open, types)))

    def _elements(self, call: Call, hook: Hook, types: Sequence[Type | None], live: Any) -> tuple[Data | None, ...]:
        """Return the elements of outputs, as far as they are small and their shapes numbers."""
        first = types[0] if types else None
        if first is None or first.kind != "tensor" or first.element not in _FOLLOWED or self._followed > _MAX_LIVE_DATA:
            return ()
        # Never read weights to add them up; what has no inputs, a Constant's value_floats, is read, and single numbers.
        if first.element not in _WHOLE and not live and not all(_is_single(each) for each in call.types if each):
            return ()
        if small_count(first.shape) is None:
            return ()
        try:
            raw = hook.function(call)
        except (Violation, Unknown, TooComplex, *MALFORMED):
            return ()
        if raw is None:
            return ()
        found: list[Data | None] = []
        for type_, elements in zip(types, raw if isinstance(raw, list) else [raw], strict=False):
            shape = type_.shape if type_ is not None else None
            count = small_count(shape)
            if elements is None or count != len(elements) or (elements and all(each is None for each in elements)):
                found.append(None)
                continue
            self._followed += sum([each.size if isinstance(each, Dim) else 1 for each in elements])
            whole = type_ is not None and type_.element in _WHOLE
            kept = tuple([each if fits(each, whole) else None for each in elements])
            found.append(Data(tuple([size for size in shape or () if isinstance(size, int)]), kept))
        return tuple(found)

    def _constant(self, frame: Frame, node: Any, names: Sequence[str], meaning: OperatorInference) -> Outcome:
        """Return a Constant's type; its tensor stays where it is until somebody asks for elements."""
        for each in node.attribute:
            attribute = frame.bound(each)
            if attribute is not None and each.name == "value" and attribute.type == 4 and node.output:
                message = attribute.t
                if node.output[0]:
                    frame.tensors[node.output[0]] = message
                return Outcome((tensor(element_name(message.data_type), stated_dims(message.dims)),))
        return self._outcome(frame, node, names, meaning, ())

    def _with_graphs(
        self, frame: Frame, index: int, node: Any, meaning: OperatorInference, given: Sequence[Type | None]
    ) -> InferenceTask:
        """Run a rule that asks for the inference of graphs."""
        assert meaning.rule is not None
        assert meaning.schema is not None
        call = self._call_of(frame, node, meaning, given)
        problems = self._misfits(meaning.schema, node, given)
        call.memory = self._memories.setdefault((frame.key, index), {})
        raw: Any = []
        rule = meaning.rule.function(call)
        try:
            check_attributes(call)
            request = next(rule)
            while True:
                request = rule.send((yield self._graph(frame, index, GraphRequest(*request))))
        except StopIteration as stop:
            raw = stop.value
        except (Violation, Unknown, TooComplex, *MALFORMED) as error:
            problems += told(call, meaning.schema, error)
        types, more = completed(raw, bases_of(meaning, node, given), call)
        data = tuple(raw.data) if isinstance(raw, Outputs) else ()
        return Outcome(types, data, tuple(call.doubts), problems + more, any(map(is_open, types)))

    def _graph(self, frame: Frame, index: int, asked: GraphRequest) -> InferenceTask:
        """Infer a graph in an attribute; gives its outputs, sizes made inside None."""
        graph, types = asked.graph, asked.types
        node = frame.body.proto.node[index]
        attribute = next((name for name, each in subgraphs(node) if each is graph), "graph")
        frame.inside.pop((index, attribute), None)
        self._spend(len(graph.node))
        body = Body(graph, attribute, frame.body, node, index)
        inner = Frame(
            body, frame, frame.imports, frame.meanings, key=(frame.key, index, attribute),
            repeated=frame.repeated or asked.repeated, unused=frame.unused or asked.unused,
            guarded=frame.guarded or asked.guarded,
        )  # fmt: skip
        names = body.input_names()
        if len(types) != len(names):  # IR version 3 listed initializers with the inputs
            defaults = {each.name for each in graph.initializer}
            names = [name for name in names if name not in defaults]
        self._enter_given(inner, names, asked)
        yield self._body(inner)
        frame.inside[index, attribute] = inner
        return self._outside(inner, body.output_names(), names)

    def _enter_given(self, inner: Frame, names: Sequence[str], asked: GraphRequest) -> None:
        """Enter what a graph in an attribute is given by these names, and what it states itself."""
        types, data = asked.types, asked.data
        places = {name: place for place, name in enumerate(names)}
        for value in inner.body.proto.input:
            name, place = value.name, places.get(value.name, len(types))
            type_ = types[place] if place < len(types) else None
            if place not in asked.varied:
                type_, why = self._meet(inner, value.type, type_)
                if why:
                    inner.conflicts[name] = why
            self._enter(inner, name, type_)
            if place < len(data) and (known := data[place]) is not None:
                inner.data[name] = known
        self._enter_initializers(inner, places)
        self._state(inner)

    def _outside(self, frame: Frame, names: Sequence[str], inputs: Sequence[str] = ()) -> Outputs:
        """Return a body's outputs, and inputs, as they are seen around it, where its own variables mean nothing."""
        given = [frame.types.get(name) for name in inputs]
        types = [self.type_in(frame, name) for name in names]
        data = [self._small(frame, name, type_) for name, type_ in zip(names, types, strict=True)]
        if not frame.local:
            return Outputs(types, data, given)

        def size(each: Size | None) -> Size | None:
            return None if each is None or not frame.local.isdisjoint(variables(each)) else each

        return with_sizes(Outputs(types, data, given), size)

    # Functions of the model

    def _call(self, frame: Frame, node: Any, function: Any, given: Sequence[Type | None]) -> InferenceTask:
        """Infer a call of a model-local function; calls that differ in names of variables alone are inferred once."""
        attributes = {each.name: each for each in function.attribute_proto}
        for each in node.attribute:
            if (bound := frame.bound(each)) is not None:
                attributes[each.name] = bound
        data = [self._small(frame, name, type_) for name, type_ in zip(node.input, given, strict=True)]
        named, names = renamed(given, data)
        identity = function_key(function)
        key = (
            identity, named,
            tuple(sorted((name, each.SerializeToString()) for name, each in attributes.items())),
            tuple(map(bool, node.input)), frame.unused, frame.guarded,
        )  # fmt: skip
        if key not in self._called:
            try:
                self._spend(len(function.node))
            except Unknown as unknown:
                self.missed.add(identity)
                return Outcome((None,) * len(node.output), doubts=(str(unknown),))
            inner = self._called_frame(frame, function, attributes)
            for place, name in enumerate(function.input):
                self._enter(inner, name, given[place] if place < len(given) else None)
                if place < len(data) and (known := data[place]) is not None:
                    inner.data[name] = known
            self._state(inner)
            yield self._body(inner)
            self.calls.setdefault(identity, []).append(inner)
            self._called[key] = names, self._outside(inner, list(function.output))
        known_as, outputs = self._called[key]
        if known_as != names:
            # The other way round some of them may have the same names, so all are replaced at once.
            replacing = dict(zip(known_as, map(variable, names), strict=True))
            outputs = replaced(outputs, replacing)
        vague = any(map(is_rankless, outputs))
        doubts = ("the body of the function tells no more",) * vague
        return Outcome(tuple(outputs), tuple(outputs.data), doubts, open=any(map(is_open, outputs)))

    def _called_frame(self, frame: Frame, function: Any, attributes: Mapping[str, Any]) -> Frame:
        """Return the frame of a function that is called in a body with these attributes."""
        assert self._index is not None
        body = self._index.functions[function_key(function)]
        imports = self._index.imports(body)
        return Frame(
            body, None, imports, self._meanings_of(imports), attributes,
            key=(function_key(function), len(self._called)), unused=frame.unused, guarded=frame.guarded,
        )  # fmt: skip

    def _small(self, frame: Frame, name: str, type_: Type | None) -> Data | None:
        """Return the elements of what goes into a body or out of one, where they may be such that shapes depend on."""
        count = small_count(type_.shape) if name and type_ is not None else None
        if count is None or type_ is None or self._followed > _MAX_LIVE_DATA:
            return None
        if not self._is_followed(frame, name) and (type_.element not in ("int64", "int32", "bool") or count > 64):
            return None
        self._followed += count
        return self.data_in(frame, name)

    def _spend(self, nodes: int) -> None:
        """Count nodes that are looked at once more. Raises Unknown when that was too often."""
        self._left -= nodes + 1
        if self._left < 0:
            raise Unknown("graphs and functions were inferred too often in other ways")

    # Elements

    def _is_followed(self, frame: Frame, name: str) -> bool:
        scope: Frame | None = frame
        while scope is not None:
            if name in scope.data:
                return True
            if name in scope.types:
                return False
            scope = scope.parent
        return False

    def data_in(self, frame: Frame, name: str) -> Data | None:
        """Return the elements of a small value that is constant or was followed."""
        scope: Frame | None = frame
        while scope is not None:
            if name in scope.data:
                return scope.data[name]
            if name in scope.tensors:
                if name not in scope.read:
                    scope.read[name] = self._read(scope.tensors[name])
                return scope.read[name]
            if name in scope.types:
                return None
            scope = scope.parent
        return None

    def _read(self, message: Any) -> Data | None:
        dims = tuple(message.dims)
        if small_count(dims) is None:
            return None
        try:
            elements = tensor_values(self.model, message, MAX_DATA)
        except ModelError:  # told by whoever needs the data itself
            return None
        return Data(dims, tuple([each if fits(each, False) else None for each in elements]))

    def _misfits(self, schema: OpSchema, node: Any, given: Sequence[Type | None]) -> tuple[Problem, ...]:
        """Return what is wrong with the number and types of a node's inputs, if that is asked for."""
        if not self.check_type:
            return ()
        name = f"{schema.name} {schema.since_version}"
        problems = []
        if not schema.min_input <= len(node.input) <= schema.max_input:
            most = "" if schema.max_input == schema.min_input else f" to {schema.max_input}"
            why = f"it has {len(node.input)} inputs, and takes {schema.min_input}{most}"
            problems.append(Problem("I202", f"the inputs of {name} are not legal", why))
        bound: dict[str, tuple[str, str]] = {}
        for place, type_ in enumerate(given[: schema.max_input]):
            formal = schema.inputs[min(place, len(schema.inputs) - 1)]
            text = type_.text if type_ is not None else None
            if text is None:
                continue
            if text not in schema.allowed(formal):
                why = f"{formal.name} is {text}, and may be {', '.join(schema.allowed(formal))}"
                problems.append(Problem("I202", f"the inputs of {name} are not legal", why))
            elif formal.homogeneous and bound.setdefault(formal.type, (formal.name, text))[1] != text:
                other, was = bound[formal.type]
                why = f"{other} is {was}, and {formal.name} is {text}; both are of {formal.type}"
                problems.append(Problem("I202", f"the inputs of {name} are not legal", why))
        return tuple(problems)


def _is_single(type_: Type) -> bool:
    """Return whether a type is that of tensors of one element."""
    return type_.kind == "tensor" and small_count(type_.shape) == 1


def drive(run: InferenceTask) -> Any:
    """Run a generator and those that it yields, however deep, and return what it returns."""
    stack = [run]
    value: Any = None
    error: BaseException | None = None
    while stack:
        try:
            request = stack[-1].send(value) if error is None else stack[-1].throw(error)
        except StopIteration as stop:
            stack.pop()
            value, error = stop.value, None
        except Exception as raised:
            stack.pop()
            error = raised
        else:
            stack.append(request)
            value = error = None
    if error is not None:
        raise error
    return value
