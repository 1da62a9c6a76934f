"""Facts about the values of a body: types, shapes, constants; each is found when it is first needed.

Types count as the model states them. Shapes count only of its inputs and initializers; all others are inferred, once
for the whole model, when one is first needed: the sizes in value_info may belong to another batch, with which the model
was exported. Nothing is guessed: a fact that is not certain is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from math import prod
from typing import TYPE_CHECKING, Any

from opset.budget import Budget
from opset.model.attributes import FIELDS
from opset.model.elements import CONSTANT_FORMS, element_name
from opset.model.graph.index import Body
from opset.model.graph.walking import names_read, subgraphs
from opset.model.types import MAX_CONSTANT, Constant, Shape, shape_of, type_string
from opset.schemas.names import normalize_domain
from opset.version_converter.lazy_inference import LazyInference
from opset.version_converter.limits import MAX_PRODUCERS, MAX_READ

if TYPE_CHECKING:
    from fractions import Fraction

    from opset.inference.building.dimensions import Size
    from opset.inference.building.types import Type


def _sizes_as_text(shape: Sequence[Size | None] | None) -> Shape | None:
    """Return a shape with symbolic sizes as text, such as "N + 1"; None for an unknown shape."""
    if shape is None:
        return None
    return tuple([size if size is None or isinstance(size, int) else str(size) for size in shape])


class ValueFacts:
    """Types, shapes and constants of the values of one body, a graph or function.

    The facts cover the given model, and the nodes and initializers that the conversion adds. Values are given by name.
    Each fact is cached once it is found. The types that `inference` has in its `known_types` are taken over.

    Args:
        message: The GraphProto or FunctionProto that is changed, in the copy that is converted.
        outer: The facts of the body around.
        versions: The opset of each domain that the nodes are written in.
        read: Returns the elements of a TensorProto, of which there may be a number at most.
        overridable: Whether a caller may override initializers that are inputs.
        budget: Elements that are read are charged to it.
    """

    def __init__(
        self,
        body: Body,
        message: Any,
        outer: ValueFacts | None,
        versions: Mapping[str, int],
        read: Callable[[Any, int], list[Any]],
        overridable: bool,
        inference: LazyInference,
        budget: Budget,
    ) -> None:
        self.body = body
        self._message = message
        self.outer = outer
        self.versions = versions
        self._read = read
        self._overridable = overridable
        self._inference = inference
        self.budget = budget
        self.read_elsewhere: frozenset[str] = frozenset()
        """Names that training graphs read from this body, which is then the main graph."""
        self.looked_up: set[str] | None = None
        """Names of the values whose facts were read, None if that is not recorded."""
        self.large_read = False
        """Whether a constant of more than MAX_READ elements or another node was read."""
        self._built = False
        self._declared: dict[str, Any] = {}
        self._tensors: dict[str, Any] = {}
        self._sparse: dict[str, Any] = {}
        self._inputs: set[str] = set()
        self._added: dict[str, tuple[Any, int]] = {}
        self._types: dict[str, str | None] = {**inference.known_types.get(body, {})}
        self._shapes: dict[str, Shape | None] = {}
        self._full_types: dict[str, Type | None] = {}
        self._constants: dict[str, Constant | None] = {}
        self._unread: set[str] | None = None

    def copy_for_plan(self, versions: Mapping[str, int], outer: ValueFacts | None, budget: Budget) -> ValueFacts:
        """Return a copy of these facts for planning another conversion of the same body.

        The copy has the facts that were found so far. It does not have the nodes that the present conversion has added.
        Facts that are found later are not shared.

        Args:
            versions: The opsets by domain in which the nodes of the body are written.
            outer: The facts of the surrounding body for the other conversion; None if no body surrounds this one.
            budget: The budget that is charged for elements that are read.
        """
        if not self._built:
            self._read_declarations()
        other = copy(self)
        other.versions, other.outer, other.budget = versions, outer, budget
        other._added, other._tensors = {}, {**self._tensors}
        other._types, other._full_types = {**self._types}, {**self._full_types}
        other._shapes, other._constants = {**self._shapes}, {**self._constants}
        return other

    def _read_declarations(self) -> None:
        """Read the inputs, initializers and stated types of the body; called once, when they are first needed."""
        self._built = True
        proto = self.body.proto
        for value in proto.value_info:
            self._declared[value.name] = value.type
        if self.body.function:
            self._inputs.update(proto.input)
        else:
            for value in (*proto.output, *proto.input):
                self._declared[value.name] = value.type
            self._inputs.update(value.name for value in proto.input)
            for tensor in proto.initializer:
                self._tensors[tensor.name] = tensor
            for sparse in proto.sparse_initializer:
                self._sparse[sparse.values.name] = sparse

    def add(self, node: Any, outputs: Iterable[str], version: int) -> None:
        """Record a new node that computes the values `outputs`; `version` is the opset of the node's domain.

        If a node was recorded for a value before, that node stays recorded.
        """
        for name in outputs:
            self._added.setdefault(name, (node, version))

    def state(self, name: str, element: str, shape: Shape | None) -> None:
        """Record the type of a value that a new node with a subgraph computes, as inference does not find this type.

        `element` is the element type of the tensor, such as "float". In `shape`, sizes that are text count as unknown;
        without it, the rank is unknown. A type that was found or recorded before is replaced.
        """
        from opset.inference.building.types import tensor

        sizes = None if shape is None else [size if isinstance(size, int) else None for size in shape]
        self._full_types[name] = tensor(element, sizes)

    def add_tensor(self, tensor: Any) -> None:
        """Record a new initializer, a TensorProto, so that facts about its value are found; the model is not changed.

        It replaces an initializer of the same name. Facts about this name that are cached already stay as they are.
        """
        if not self._built:
            self._read_declarations()
        self._tensors[tensor.name] = tensor

    def _producer(self, name: str) -> tuple[Any, int | None]:
        """Return the node of this body that computes a value, and the opset in which an adapter wrote the node.

        The opset is None for a node of the given model. Both results are None if no node of this body computes the
        value.
        """
        index = self.body.definitions.get(name, -1)
        if index >= 0:
            return self.body.nodes[index], None
        return self._added.get(name, (None, None))

    def producer(self, name: str) -> Any:
        """Return the node of the given model that computes the value `name`, None if no such node does.

        The value may be one of this body, or of a body around it. The attribute `large_read` becomes True, so that an
        adapter that calls this method runs anew for each node: what it makes for one node is not copied for similar
        nodes.
        """
        # The form of a node does not include other nodes.
        self.large_read = True
        home = self._facts_defining(name)
        if home is None:
            return None
        index = home.body.definitions.get(name, -1)
        return home.body.nodes[index] if index >= 0 else None

    @property
    def known_types(self) -> Mapping[str, str | None]:
        """The types of this body's values found so far, as text by name; the value None is an unknown type.

        It is the mapping itself, which grows as more types are found.
        """
        return self._types

    def defines(self, name: str) -> bool:
        """Whether this body, or one around it, has an input, an initializer or a node's output of this name."""
        return self._facts_defining(name) is not None

    def added_producer(self, name: str) -> Any:
        """Return the NodeProto that the conversion added to this body to compute a value; None if it added none.

        The first one counts. Nodes of the given model, and of other bodies, do not count.
        """
        return self._added.get(name, (None,))[0]

    def initializer(self, name: str) -> Any:
        """Return the initializer of this body with this name, a TensorProto; None if there is none.

        Initializers of bodies around and sparse initializers do not count. Nor does one that callers may override: from
        IR version 4 on, an initializer that is also an input of the graph.
        """
        if not self._built:
            self._read_declarations()
        tensor = self._tensors.get(name)
        if tensor is None or (self._overridable and name in self._inputs):
            return None
        return tensor

    def is_constant(self, name: str) -> bool:
        """Whether a value is the output of a Constant node, or an initializer that no caller may override.

        The value may be one of this body, or of a body around it. The result is False if no body defines it.
        """
        home = self._facts_defining(name)
        if home is None:
            return False
        node, _ = home._producer(name)
        if node is not None:
            return node.op_type == "Constant" and node.domain in ("", "ai.onnx")
        return home.initializer(name) is not None

    def overridable_initializers(self, name: str) -> list[str]:
        """Return the names of the initializers that callers may override, and from which the value `name` is computed.

        The value would be constant if no caller overrode these initializers. If the value is such an initializer
        itself, the result is its name alone. The result is [] if the value depends on anything but constants and
        initializers, such as a graph input without initializer. The result is also [] if the value depends on a node
        with a subgraph, or on more than MAX_PRODUCERS values.
        """
        names: dict[str, None] = {}
        seen, pending = {name}, [name]
        while pending:
            if len(seen) > MAX_PRODUCERS:
                return []
            current = pending.pop()
            home = self._facts_defining(current)
            if home is None:
                return []
            node, _ = home._producer(current)
            if node is not None:
                if home.body.subgraphs and any(True for _ in subgraphs(node)):
                    return []
                new = [read for read in reversed(node.input) if read and read not in seen]
                seen.update(new)
                pending += new
            elif current in home._tensors:
                if home._overridable and current in home._inputs:
                    names[current] = None
            else:
                return []
        return [*names]

    def is_read(self, name: str) -> bool:
        """Whether a value of this body is read: by a node or subgraph, by a training graph, or as the body's output.

        The result is always True for inputs, initializers and values that the conversion has added.
        """
        if self._unread is None:
            read = names_read(self._message.node) | self.read_elsewhere | {*self.body.output_names()}
            self._unread = {name for names in self.body.computes for name in names} - read
        return name not in self._unread

    def _facts_defining(self, name: str) -> ValueFacts | None:
        """Return the facts of the body that defines a value, this one or one around it; None if no body does.

        The name of the value is added to the set `looked_up`. If `looked_up` is None, the name is not recorded.
        """
        if self.looked_up is not None:
            self.looked_up.add(name)
        scope: ValueFacts | None = self
        while scope is not None:
            if not scope._built:
                scope._read_declarations()
            if scope._producer(name)[0] is not None or any(
                name in known for known in (scope._inputs, scope._tensors, scope._sparse)
            ):
                return scope
            scope = scope.outer
        return None

    def constant(self, name: str) -> Constant | None:
        """Return the elements of a value if they are known before the model runs, else None.

        The value may be one of this body, or of a body around it. The elements come from a Constant node, an
        initializer that no caller may override, or inference. A tensor of more than MAX_CONSTANT elements counts as
        unknown. Raises BudgetExceeded if reading them uses up the budget.
        """
        home = self._facts_defining(name)
        if home is None:
            return None
        if name not in home._constants:
            home._constants[name] = home._find_constant(name)
        constant = home._constants[name]
        if constant is not None and len(constant.values) > MAX_READ:
            self.large_read = True
        return constant

    def small_constant(self, name: str) -> Constant | None:
        """Return the elements of a value if they are known before the model runs, and at most MAX_READ, else None.

        The value may be one of this body, or of a body around it. Raises BudgetExceeded if reading uses up the budget.
        """
        home = self._facts_defining(name)
        tensor = home.initializer(name) if home is not None else None
        if tensor is not None and prod(tensor.dims) > MAX_READ:
            return None
        constant = self.constant(name)
        return constant if constant is None or len(constant.values) <= MAX_READ else None

    def _find_constant(self, name: str) -> Constant | None:
        """Return the elements of a value of this body, None if they are not known before the model runs."""
        node, version = self._producer(name)
        if node is not None:
            if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
                return self._constant_of_node(node)
            if version is None:
                return self._computed_constant(name)
        if self.body.function and name in self._inputs:
            return self._computed_constant(name)
        tensor = self.initializer(name)
        return None if tensor is None else self.elements(tensor)

    def _computed_constant(self, name: str) -> Constant | None:
        """Return the elements of a value of this body if inference knows them and they are always the same, else None.

        Inference knows only small values that follow from shapes and constants. None is also returned for texts, and if
        the element type is unknown.
        """
        data = self._inference.data(self.body, name)
        if data is None or not all(isinstance(value, int | float) for value in data.values):
            return None
        element = self.element(name)
        return None if element is None else data._replace(element=element)

    def _constant_of_node(self, node: Any) -> Constant | None:
        """Return the elements of a Constant node.

        The result is None for a sparse tensor, for a tensor of more than MAX_CONSTANT elements or of an unknown element
        type, and if the value refers to an attribute of the function around. A list, such as `value_ints`, may have any
        length. Raises BudgetExceeded if reading a tensor uses up the budget.
        """
        if len(node.attribute) != 1 or node.attribute[0].ref_attr_name:
            return None
        attribute = node.attribute[0]
        if attribute.name == "value":
            return self.elements(attribute.t)
        element = CONSTANT_FORMS.get(attribute.name)
        if element is None:
            return None
        value = getattr(attribute, FIELDS[attribute.name.removeprefix("value_")][1])
        values, dims = (tuple(value), (len(value),)) if attribute.name.endswith("s") else ((value,), ())
        return Constant(element, dims, values)

    def stored_constant(self, name: str, limit: int) -> Constant | None:
        """Return the elements of a value that an initializer, or a Constant node in `value`, stores as a tensor.

        The value may be one of this body, or of a body around it. The elements are charged to the budget. `large_read`
        is set, as similar nodes may read other values: the nodes that an adapter makes are then not copied for similar
        nodes.

        The result is None in each of these cases:

        - the value is stored in another way, or computed;
        - it is an initializer that a caller may override;
        - its element type is unknown;
        - it has more than `limit` elements.

        Raises BudgetExceeded if the budget is used up.
        """
        home = self._facts_defining(name)
        if home is None:
            return None
        self.large_read = True
        node, _ = home._producer(name)
        tensor = home.initializer(name)
        if node is not None and node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
            tensor = next((each.t for each in node.attribute if each.name == "value" and not each.ref_attr_name), None)
        return None if tensor is None else self.elements(tensor, limit)

    def elements(self, tensor: Any, limit: int = MAX_CONSTANT) -> Constant | None:
        """Return the elements of a TensorProto; None if its element type is unknown, or for more than `limit`.

        The budget is charged for the elements. Raises BudgetExceeded if it is used up.
        """
        element, dims, size = element_name(tensor.data_type), tuple(tensor.dims), prod(tensor.dims)
        if element is None or size < 0 or size > limit:
            return None
        self.budget.charge(size)
        return Constant(element, dims, tuple(self._read(tensor, limit)))

    def type(self, name: str) -> str | None:
        """Return the type of a value as text, such as "tensor(float)"; None if it is not known.

        It is the type that the model states, or else the inferred one. In a function whose calls are all known, only
        the inferred type counts: None if the calls give different types.
        """
        if name in self._types and self.looked_up is None:
            return self._types[name]
        home = self._facts_defining(name)
        if home is None:
            return None
        if name not in home._types:
            # A function may be called with several types, whatever it states.
            in_function = home.body.root.function and self._inference.knows_all_runs(home.body)
            stated = None if in_function else home._stated_type(name)
            inferred = home._infer_type(name) if stated is None else None
            home._types[name] = stated if inferred is None else inferred.text
        return home._types[name]

    def find_types(self) -> None:
        """Infer and cache the types of all values that nodes of this graph compute; faster than one value at a time.

        A value whose type the graph states is left out, since the stated type is used. Nothing is cached for the body
        of a function, in which each call may have other types. Nothing is cached for a subgraph that does not run
        exactly once.
        """
        if self.body.root.function:
            return
        if not self._built:
            self._read_declarations()
        names = [name for names in self.body.computes for name in names if name and name not in self._declared]
        inferred = self._inference.types_of_body(self.body) if names else {}
        for name in names:
            type_ = inferred.get(name)
            if type_ is not None and name not in self._tensors:
                self._types[name] = type_.text

    def stated_type(self, name: str) -> str | None:
        """Return the type that the model states for a value, as text, without running inference.

        Returns None if no type is stated, and for any value in a function.
        """
        home = self._facts_defining(name)
        return None if home is None or home.body.root.function else home._stated_type(name)

    def types(self, names: Sequence[str]) -> list[tuple[str | None, ...]]:
        """Return tuples of the types of the values `names` as text, such as [("tensor(float)", "")].

        A tuple has one entry for each name: "" for the name "", which stands for an absent value, and None for an
        unknown type. The list mostly has one tuple. In a function whose calls give different types, it has one tuple
        for each call.
        """
        known = self._types if self.looked_up is None else {}
        shared = tuple([known[name] if name in known else self.type(name) if name else "" for name in names])
        if None not in shared or not self.body.root.function:
            return [shared]
        runs = self._inference.types(self.body, names)
        added = [self._producer(name)[1] is not None for name in names]
        return [
            tuple(
                [
                    text if text is not None or is_added or type_ is None else type_.text
                    for text, is_added, type_ in zip(shared, added, run, strict=True)
                ]
            )
            for run in runs
        ] or [shared]

    def element(self, name: str) -> str | None:
        """Return the element type of a tensor, such as "float"; None if it is unknown, or the value is no tensor."""
        type_ = self.type(name)
        return type_[7:-1] if type_ is not None and type_.startswith("tensor(") else None

    def shape(self, name: str) -> Shape | None:
        """Return the shape of a tensor of this body, or of a body around it; None if not even the rank is known.

        A size is a number if known, and text if symbolic; equal texts are equal sizes. None is an unknown size. The
        result is cached.
        """
        home = self._facts_defining(name)
        if home is None:
            return None
        if name not in home._shapes:
            home._shapes[name] = home._find_shape(name)
        return home._shapes[name]

    def misfit(self, index: int) -> str:
        """Return how the inputs of the node at `index` of this body do not fit its operator, as far as was inferred.

        The result is "" if they may fit, or if inference has not run.
        """
        return self._inference.misfit(self.body, index)

    def kept_axes(self, source: str, result: str) -> set[int]:
        """Return the axes, from 0 on, along which two tensors surely have the same size, as a number or symbol.

        If the ranks differ, the axes are compared from the first on. The set is empty if a shape is unknown. The
        attribute `large_read` becomes True, so that the adapter runs anew for each node: what it makes for one node is
        not copied for similar nodes.
        """
        # The form of a node does not include other nodes.
        self.large_read = True
        types = self._full_type(source), self._full_type(result)
        shapes = [type_.shape for type_ in types if type_ is not None and type_.shape is not None]
        if len(shapes) < 2:
            return set()
        pairs = enumerate(zip(*shapes, strict=False))
        return {axis for axis, (before, after) in pairs if before is not None and before == after}

    def growth(self, source: str, result: str) -> list[Fraction] | None:
        """Return the factor from each size of the tensor `source` to the size of the same axis in the tensor `result`.

        For the shapes [N, 4] and [N, 8], the factors are [1, 2]. The result is None if a shape or a factor is not
        known, or if the ranks differ.

        The attribute `large_read` becomes True, so that the adapter runs anew for each node: what it makes for one node
        is not copied for similar nodes.
        """
        from opset.inference.building.shapes import size_ratio

        self.large_read = True
        types = self._full_type(source), self._full_type(result)
        shapes = [type_.shape for type_ in types if type_ is not None and type_.shape is not None]
        if len(shapes) < 2 or len(shapes[0]) != len(shapes[1]):
            return None
        factors = [size_ratio(after, before) for before, after in zip(*shapes, strict=True)]
        known = [factor for factor in factors if factor is not None]
        return known if len(known) == len(factors) else None

    def graph_shapes(self, name: str, attribute: str) -> list[list[Shape | None]]:
        """Return the shapes of the outputs of a node's subgraph: one list for each run of the subgraph.

        A run is an execution of the subgraph. The order of the runs is the same for all subgraphs of the node, such as
        the branches of If. The result is [] if not all runs are known.

        Args:
            name: A value that the node computes.
            attribute: The attribute that holds the subgraph.
        """
        inner = self.body.subgraphs.get((self.body.definitions.get(name, -1), attribute))
        runs = self._inference.outputs(inner) if inner is not None else []
        return [[None if type_ is None else _sizes_as_text(type_.shape) for type_ in types] for types in runs]

    def stated_rank(self, name: str) -> int | None:
        """Return the rank of a value if it is known without running inference, else None.

        It is known for initializers, and for inputs of outermost graphs with a stated shape. If inference has run
        before, inferred ranks are known, too. The value may be one of a body around this one.
        """
        home = self._facts_defining(name)
        if home is None:
            return None
        shape = home.shape(name) if home._inference.has_run else home._shapes.get(name)
        if shape is None and home.initializer(name) is not None:
            return len(home._tensors[name].dims)
        if shape is None and name in home._inputs and home.body.root is home.body and name in home._declared:
            shape = shape_of(home._declared[name])
        return None if shape is None else len(shape)

    def _find_shape(self, name: str) -> Shape | None:
        """Return the shape of a value that this body defines, None if the rank is unknown.

        Initializers have the shape of their tensors. Inputs of a graph that is no subgraph have the shape that the
        model states. All other values have the inferred shape. If inference finds no shape, a value outside of
        functions has the stated rank with unknown sizes.
        """
        if self.initializer(name) is not None:
            return tuple(self._tensors[name].dims)
        if name in self._sparse and name not in self._inputs:
            return tuple(self._sparse[name].dims)
        declared = self._declared.get(name)
        stated = shape_of(declared) if declared is not None else None
        if stated is not None and name in self._inputs and self.body.root is self.body:
            return stated
        inferred = self._infer_type(name)
        if inferred is not None and inferred.shape is not None:
            return _sizes_as_text(inferred.shape)
        return None if stated is None or self.body.root.function else (None,) * len(stated)

    def _infer_type(self, name: str) -> Type | None:
        """Return the inferred type of a value that this body defines, None if it is unknown; it is cached.

        Most values are inferred with the whole model. If `_node_alone` returns a node for the value, the type is
        inferred from the types and small constants of this node's inputs.
        """
        if name not in self._full_types:
            if self._node_alone(name) is None:
                self._full_types[name] = self._inference.type(self.body, name)
            else:
                self._infer_alone(name)
        return self._full_types[name]

    def _node_alone(self, name: str) -> tuple[Any, int] | None:
        """Return (node, opset) for the node that computes a value, if inference of the model does not cover the node.

        `opset` is the opset of the node's domain. These nodes are not covered:

        - a node that the conversion has added;
        - any node of a body if inference does not know all runs of the body, such as a function that is never called.

        The result is None for a node that is covered, and if no node of this body computes the value.
        """
        node, version = self._producer(name)
        if node is None or (version is None and self._inference.knows_all_runs(self.body)):
            return None
        return node, self.versions.get(normalize_domain(node.domain), 0) if version is None else version

    def _infer_alone(self, name: str) -> None:
        """Infer the node that computes `name`, without the rest of the model, and cache the types of its outputs.

        If an input of the node comes from another node that must be inferred in this way, that node is inferred first.
        """
        waiting = [name]
        begun: set[str] = set()
        while waiting:
            alone = self._node_alone(waiting[-1])
            if alone is None or waiting[-1] in self._full_types:
                waiting.pop()
                continue
            node, version = alone
            if waiting[-1] not in begun:
                begun.add(waiting[-1])
                waiting += node.input
                continue
            inputs = [self._full_type(read) if read else None for read in node.input]
            data = [self.small_constant(read) if read else None for read in node.input]
            types = self._inference.infer_node(node, version, inputs, data)
            self._full_types.update(zip(node.output, types, strict=True))
            waiting.pop()

    def _full_type(self, name: str) -> Type | None:
        """Return the type of a value with its shape; None if it is unknown.

        It is the inferred type, or else the one that the model states.
        """
        from opset.inference.building.types import parse_type

        home = self._facts_defining(name)
        if home is None:
            return None
        type_ = home._infer_type(name)
        if type_ is None and (text := home.type(name)) is not None:
            type_ = parse_type(text)
            if type_ is not None and (shape := home.shape(name)) is not None:
                type_ = type_._replace(shape=tuple([size if isinstance(size, int) else None for size in shape]))
        return type_

    def _stated_type(self, name: str) -> str | None:
        """Return the type that this body states for a value, as text; None if it states none.

        An input, output, value_info or initializer with the value's name states it.
        """
        if name in self._tensors or name in self._sparse:  # operators read a sparse one as a dense tensor
            tensor = self._tensors[name] if name in self._tensors else self._sparse[name].values
            element = element_name(tensor.data_type)
            return f"tensor({element})" if element else None
        declared = self._declared.get(name)
        return type_string(declared) if declared is not None else None
