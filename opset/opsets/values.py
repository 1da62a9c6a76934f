"""What is known about the values of a body: types, shapes, constants; found out only when somebody asks.

Sources are value_info, graph inputs and outputs, initializers, Constant nodes, and a minimal propagation through
nodes. Nothing is guessed: what is not certain is None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opset.model.graph import Body, call_order, function_key, names_read, subgraphs

if TYPE_CHECKING:
    from opset.opsets.registry import Registry
    from opset.schemas.model import OpSchema

Shape = tuple[int | str | None, ...]

# TensorProto.DataType by number, in the words of type strings.
ELEMENTS = (
    "undefined float uint8 int8 uint16 int16 int32 int64 string bool float16 double uint32 uint64 complex64 "
    "complex128 bfloat16 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz uint4 int4 float4e2m1 float8e8m0 "
    "uint2 int2 float6e2m3 float6e3m2"
).split()
NUMBERS = {name: number for number, name in enumerate(ELEMENTS)}
MAX_CONSTANT = 1 << 16
"""Elements of the largest constant that is read to decide a conversion; weights are never read."""


@dataclass(frozen=True, slots=True)
class Constant:
    """A value known before the model runs: element type, dims, and the elements in row-major order."""

    element: str
    dims: tuple[int, ...]
    values: tuple[Any, ...]


def element_name(number: int) -> str | None:
    """Give the word for a TensorProto.DataType number, None for one that is not known."""
    return ELEMENTS[number] if 0 < number < len(ELEMENTS) else None


def type_string(proto: Any) -> str | None:
    """Give a TypeProto as a type string, "seq(tensor(float))"; None where a part is missing."""
    wrappers = []
    while True:
        kind = proto.WhichOneof("value")
        if kind in ("tensor_type", "sparse_tensor_type"):
            element = element_name(getattr(proto, kind).elem_type)
            text = f"{'sparse_' if kind[0] == 's' else ''}tensor({element})" if element else None
            break
        if kind in ("sequence_type", "optional_type"):
            wrappers.append("seq" if kind[0] == "s" else "optional")
            proto = getattr(proto, kind).elem_type
        elif kind == "map_type":
            key = element_name(proto.map_type.key_type)
            wrappers.append(f"map({key}" if key else "")
            proto = proto.map_type.value_type
        else:
            return None
    for wrapper in reversed(wrappers):
        if text is None or not wrapper:
            return None
        if wrapper.startswith("map("):
            # The standard writes a map's scalar value without "tensor".
            text = f"{wrapper}, {text[7:-1] if text.startswith('tensor(') else text})"
        else:
            text = f"{wrapper}({text})"
    return text


def shape_of(proto: Any) -> Shape | None:
    """Give the shape in a TypeProto of a tensor: ints, names of dimension variables, or None for unknown ones."""
    if proto.WhichOneof("value") != "tensor_type" or not proto.tensor_type.HasField("shape"):
        return None
    return tuple(_dimension(dim) for dim in proto.tensor_type.shape.dim)


def _dimension(dim: Any) -> int | str | None:
    if dim.WhichOneof("value") == "dim_value":
        # Some exporters write -1 for a size that they do not know.
        return dim.dim_value if dim.dim_value >= 0 else None
    return dim.dim_param or None


class Values:
    """Types, shapes and constants of one body's values, and through `outer` of those around it.

    `read` gives a tensor's elements; `versions` the opset of each domain that the body's nodes are written in.
    """

    def __init__(
        self,
        body: Body,
        outer: Values | None,
        registry: Registry,
        versions: Mapping[str, int],
        read: Callable[[Any, int], list[Any]],
        overridable: bool,
    ) -> None:
        self.body, self.outer, self.registry, self.versions, self._read = body, outer, registry, versions, read
        self._overridable = overridable
        self.read_elsewhere: frozenset[str] = frozenset()
        """Names that training graphs use beside the main graph that this is about."""
        self._built = False
        self._declared: dict[str, Any] = {}
        self._tensors: dict[str, Any] = {}
        self._producers: dict[str, tuple[Any, int, int | None]] = {}
        self._added: list[tuple[Any, int]] = []
        self._types: dict[str, str | None] = {}
        self._shapes: dict[str, Shape | None] = {}
        self._constants: dict[str, Constant | None] = {}
        self._inputs: set[str] = set()
        self._unread: set[str] | None = None
        self._inside: dict[int, Values] = {}
        if outer is not None:
            outer._inside[id(body.proto)] = self

    def _build(self) -> None:
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
        for node in proto.node:
            self._register(node, None)
        for node, version in self._added:
            self._register(node, version)

    def _register(self, node: Any, version: int | None) -> None:
        for position, name in enumerate(node.output):
            if name:
                self._producers.setdefault(name, (node, position, version))

    def add(self, node: Any, version: int) -> None:
        """Make a new node known, written in the given version of its domain."""
        if self._built:
            self._register(node, version)
        else:
            self._added.append((node, version))

    def add_tensor(self, tensor: Any) -> None:
        """Make a new initializer known."""
        if not self._built:
            self._build()
        self._tensors[tensor.name] = tensor

    def bind(self, types: Mapping[str, tuple[str | None, Shape | None]]) -> None:
        """Set what is known of a function's inputs from the places that call it."""
        for name, (kind, shape) in types.items():
            if kind is not None:
                self._types.setdefault(name, kind)
            if shape is not None:
                self._shapes.setdefault(name, shape)

    def initializer(self, name: str) -> Any:
        """Give this body's initializer of that name, None if there is none or a caller may override it."""
        if not self._built:
            self._build()
        tensor = self._tensors.get(name)
        if tensor is None or (self._overridable and name in self._inputs):
            return None
        return tensor

    def inside(self, graph: Any) -> Values | None:
        """Give what is known inside a subgraph of one of this body's nodes."""
        return self._inside.get(id(graph))

    def is_read(self, name: str) -> bool:
        """Say whether anything reads an output of a node that the body had from the start; True for any other value."""
        if self._unread is None:
            proto = self.body.proto
            read = names_read(proto.node) | self.read_elsewhere | {*self.body.output_names()}
            self._unread = {output for node in proto.node for output in node.output} - read
        return name not in self._unread

    def _home(self, name: str) -> Values | None:
        scope: Values | None = self
        while scope is not None:
            if not scope._built:
                scope._build()
            if name in scope._producers or name in scope._inputs or name in scope._tensors:
                return scope
            scope = scope.outer
        return None

    def constant(self, name: str) -> Constant | None:
        """Give a value that is known before the model runs and small, else None."""
        home = self._home(name)
        if home is None:
            return None
        if name not in home._constants:
            home._constants[name] = home._find_constant(name)
        return home._constants[name]

    def _find_constant(self, name: str) -> Constant | None:
        if name in self._producers:
            node = self._producers[name][0]
            if node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
                return None
            return self._constant_node(node)
        tensor = self.initializer(name)
        return None if tensor is None else self.elements(tensor)

    def _constant_node(self, node: Any) -> Constant | None:
        if len(node.attribute) != 1 or node.attribute[0].ref_attr_name:
            return None
        attribute = node.attribute[0]
        match attribute.name:
            case "value":
                return self.elements(attribute.t)
            case "value_int":
                return Constant("int64", (), (attribute.i,))
            case "value_ints":
                return Constant("int64", (len(attribute.ints),), tuple(attribute.ints))
            case "value_float":
                return Constant("float", (), (attribute.f,))
            case "value_floats":
                return Constant("float", (len(attribute.floats),), tuple(attribute.floats))
            case "value_string":
                return Constant("string", (), (attribute.s,))
            case "value_strings":
                return Constant("string", (len(attribute.strings),), tuple(attribute.strings))
        return None

    def elements(self, tensor: Any, limit: int = MAX_CONSTANT) -> Constant | None:
        """Give what a TensorProto of this model holds, None where its type is not known or it has more than `limit`."""
        element, dims = element_name(tensor.data_type), tuple(tensor.dims)
        size = 1
        for dim in dims:
            size *= dim
        if element is None or size < 0 or size > limit:
            return None
        return Constant(element, dims, tuple(self._read(tensor, limit)))

    def type(self, name: str) -> str | None:
        """Give a value's type string, "tensor(float)", None where it is not known."""
        if name in self._types:
            return self._types[name]
        found: str | None = self._ask(name, "_types", Values._known_type, Values._propagated_type)
        return found

    def element(self, name: str) -> str | None:
        """Give a tensor's element type, "float", None where it is not known or no dense tensor."""
        kind = self.type(name)
        return kind[7:-1] if kind is not None and kind.startswith("tensor(") else None

    def shape(self, name: str) -> Shape | None:
        """Give a tensor's shape, None where not even the rank is known."""
        found: Shape | None = self._ask(name, "_shapes", Values._known_shape, Values._propagated_shape)
        return found

    def _ask(
        self,
        name: str,
        memo: str,
        known: Callable[[Values, str], Any],
        propagated: Callable[[Values, Any, int, OpSchema, Callable[[str], Any]], Any],
    ) -> Any:
        """Answer from what is stated, else from the producing node, asking for its inputs first, without recursion."""
        stack = [(self, name)]
        begun: set[tuple[int, str]] = set()
        """What waits for its inputs: asked for again, it is part of a circle, of which nothing is known."""
        while stack:
            scope, wanted = stack[-1]
            home = scope._home(wanted)
            if home is None:
                stack.pop()
                continue
            answers: dict[str, Any] = getattr(home, memo)
            if wanted in answers:
                stack.pop()
                continue
            stated = known(home, wanted)
            if stated is None and memo == "_types" and (source := home._owner_value(wanted)) is not None:
                if source[1] not in source[0]._types and (id(home), wanted) not in begun:
                    begun.add((id(home), wanted))
                    stack.append(source)
                    continue
                stated = source[0]._types.get(source[1])
            if stated is not None or wanted not in home._producers:
                answers[wanted] = stated
                stack.pop()
                continue
            node, position, version = home._producers[wanted]
            missing: list[tuple[Values, str]] = []

            def ask(
                value: str,
                scope: Values | None = None,
                home: Values = home,
                missing: list[tuple[Values, str]] = missing,
            ) -> Any:
                owner = (scope or home)._home(value)
                if owner is None:
                    return None
                if value not in getattr(owner, memo):
                    missing.append((owner, value))
                    return None
                return getattr(owner, memo)[value]

            domain = "" if node.domain == "ai.onnx" else node.domain
            schema = self.registry.schema(node.op_type, version or home.versions.get(domain, 0), domain)
            answer = propagated(home, node, position, schema, ask) if schema is not None else None
            unseen = [entry for entry in missing if (id(entry[0]), entry[1]) not in begun]
            if unseen:
                begun.add((id(home), wanted))
                stack.extend(unseen)
                continue
            answers[wanted] = answer
            stack.pop()
        home = self._home(name)
        return None if home is None else getattr(home, memo).get(name)

    def _known_type(self, name: str) -> str | None:
        if name in self._tensors:
            element = element_name(self._tensors[name].data_type)
            return f"tensor({element})" if element else None
        declared = self._declared.get(name)
        kind = type_string(declared) if declared is not None else None
        owner = self.body.owner
        if kind is None and owner is not None and owner.op_type == "Loop" and name in self._inputs:
            first = [value.name for value in self.body.proto.input[:2]]
            return dict(zip(first, ("tensor(int64)", "tensor(bool)"), strict=False)).get(name)
        return kind

    def _owner_value(self, name: str) -> tuple[Values, str] | None:
        """Give the value around this subgraph whose type an input of it has: what Loop and Scan hand in."""
        owner = self.body.owner
        if owner is None or self.outer is None or name not in self._inputs or owner.op_type not in ("Loop", "Scan"):
            return None
        position = [value.name for value in self.body.proto.input].index(name)
        if owner.op_type == "Loop" and position < 2:
            return None
        if owner.op_type == "Scan" and self.versions.get("", 0) < 9:
            position += 1
        given = owner.input[position] if position < len(owner.input) else ""
        home = self.outer._home(given) if given else None
        return (home, given) if home is not None else None

    def _known_shape(self, name: str) -> Shape | None:
        if name in self._tensors:
            return tuple(self._tensors[name].dims)
        declared = self._declared.get(name)
        return shape_of(declared) if declared is not None else None

    def _propagated_type(
        self, node: Any, position: int, schema: OpSchema, ask: Callable[[str], str | None]
    ) -> str | None:
        from opset.opsets.inference import minimal

        return minimal.output_type(self, node, position, schema, ask)

    def _propagated_shape(
        self, node: Any, position: int, schema: OpSchema, ask: Callable[[str], Shape | None]
    ) -> Shape | None:
        from opset.opsets.inference import minimal

        return minimal.output_shape(self, node, position, schema, ask)


def bind_functions(model: Any, values: Mapping[Body, Values]) -> None:
    """Give every function's inputs the types that all its calls agree on, callers first."""
    functions = {function_key(body.proto): body for body in values if body.function}
    calls: dict[tuple[str, str, str], list[tuple[Values, Any]]] = {key: [] for key in functions}
    by_root: dict[Body, list[Body]] = {}
    for body in values:
        by_root.setdefault(body.root, []).append(body)

    def collect(root: Body) -> None:
        for body in by_root[root]:
            for node in body.proto.node:
                key = function_key(node)
                if key in calls:
                    calls[key].append((values[body], node))

    for root in by_root:
        if not root.function:
            collect(root)
    for function in call_order(model.functions):
        body = functions[function_key(function)]
        known: dict[str, tuple[str | None, Shape | None]] = {}
        sites = calls[function_key(function)]
        for position, name in enumerate(function.input):
            kinds, shapes = set(), set()
            for scope, node in sites:
                given = node.input[position] if position < len(node.input) else ""
                kinds.add(scope.type(given) if given else None)
                shapes.add(scope.shape(given) if given else None)
            known[name] = (
                kinds.pop() if len(kinds) == 1 else None,
                shapes.pop() if len(shapes) == 1 else None,
            )
        values[body].bind(known)
        collect(body)


def graph_of(node: Any, attribute: str) -> Any:
    """Give the subgraph in a node's attribute, None if there is none."""
    return next((graph for name, graph in subgraphs(node) if name == attribute), None)
