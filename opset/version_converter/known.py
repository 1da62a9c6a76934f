"""What conversion knows of the values of a body: types, shapes, constants; found out only when somebody asks.

What the model states counts first; what it does not is inferred, once for the whole model, when it is first asked for.
Nothing is guessed: what is not certain is None.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opset.model.container import Model
from opset.model.graph import Body, bodies, function_key, names_read, subgraphs
from opset.opsets.values import MAX_CONSTANT, Constant, Shape, element_name, shape_of, type_string

if TYPE_CHECKING:
    from opset.opsets.inference.call import Data
    from opset.opsets.inference.engine import Engine, Frame
    from opset.opsets.inference.types import Type
    from opset.opsets.registry import Registry


class Inferred:
    """The inference of a model that is being converted, run when it is first asked for.

    It is of the model as it was given. What conversion changes goes on computing the same values under their names.
    """

    def __init__(self, model: Model, registry: Registry, converted: Sequence[Body]) -> None:
        """Take the given model, and the bodies of the copy that is converted, in the order in which `bodies` gives."""
        self._model, self._registry, self._converted = model, registry, converted
        self._engine: Engine | None = None
        self._frames: dict[Body, list[Frame]] = {}

    @property
    def engine(self) -> Engine:
        """The inference itself."""
        if self._engine is None:
            from opset.opsets.inference.engine import Engine

            self._engine = Engine(self._model, self._registry, {}, cautious=True)
            self._engine.run()
            keys: dict[Body, list[Any]] = {}
            roots = 0
            for body, converted in zip(bodies(self._model.proto), self._converted, strict=True):
                if body.function:
                    frames = self._engine.calls.get(function_key(body.proto), [])
                elif body.root is body:
                    frames = [self._engine.frames[(roots,)]]
                    roots += 1
                else:
                    name = next(name for name, graph in subgraphs(body.owner) if graph is body.proto)
                    assert body.parent is not None
                    inner = [(key, body.index, name) for key in keys[body.parent]]
                    frames = [self._engine.frames[key] for key in inner if key in self._engine.frames]
                keys[body] = [frame.key for frame in frames]
                self._frames[converted] = frames
        return self._engine

    def type(self, body: Body, name: str) -> Type | None:
        """Give what is known of a value that a body of the given model defines; of a function, what all calls share."""
        from opset.opsets.inference.types import join

        engine = self.engine
        found = [engine.type_in(frame, name) for frame in self._frames[body]]
        type_ = found[0] if found else None
        for each in found[1:]:
            type_ = join(type_, each)
        return type_

    def data(self, body: Body, name: str) -> Data | None:
        """Give the elements of a small value, where every run computes the same."""
        engine = self.engine
        found = {engine.data_in(frame, name) for frame in self._frames[body]}
        return found.pop() if len(found) == 1 else None


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
        inferred: Inferred,
    ) -> None:
        self.body, self.outer, self.registry, self.versions, self._read = body, outer, registry, versions, read
        self._overridable, self._inferred = overridable, inferred
        self.read_elsewhere: frozenset[str] = frozenset()
        """Names that training graphs use beside the main graph that this is about."""
        self._built = False
        self._declared: dict[str, Any] = {}
        self._tensors: dict[str, Any] = {}
        self._producers: dict[str, tuple[Any, int, int | None]] = {}
        self._added: list[tuple[Any, int]] = []
        self._types: dict[str, str | None] = {}
        self._shapes: dict[str, Shape | None] = {}
        self._found: dict[str, Type | None] = {}
        self._constants: dict[str, Constant | None] = {}
        self._inputs: set[str] = set()
        self._unread: set[str] | None = None

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

    def initializer(self, name: str) -> Any:
        """Give this body's initializer of that name, None if there is none or a caller may override it."""
        if not self._built:
            self._build()
        tensor = self._tensors.get(name)
        if tensor is None or (self._overridable and name in self._inputs):
            return None
        return tensor

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
            node, _, version = self._producers[name]
            if node.op_type == "Constant" and node.domain in ("", "ai.onnx"):
                return self._constant_node(node)
            return None if version is not None else self._computed(name)
        tensor = self.initializer(name)
        return None if tensor is None else self.elements(tensor)

    def _computed(self, name: str) -> Constant | None:
        """Give a value that nodes compute, but always the same: sizes that are numbers, and arithmetic on them."""
        data = self._inferred.data(self.body, name)
        element = self.element(name)
        if data is None or element is None or not all(isinstance(each, int | float) for each in data.elements):
            return None
        return Constant(element, data.shape, data.elements)

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
        home = self._home(name)
        if home is None:
            return None
        if name not in home._types:
            stated = home._stated_type(name)
            found = home._inferred_type(name) if stated is None else None
            home._types[name] = stated if found is None else found.text
        return home._types[name]

    def element(self, name: str) -> str | None:
        """Give a tensor's element type, "float", None where it is not known or no dense tensor."""
        kind = self.type(name)
        return kind[7:-1] if kind is not None and kind.startswith("tensor(") else None

    def shape(self, name: str) -> Shape | None:
        """Give a tensor's shape, None where not even the rank is known; equal text stands for equal sizes."""
        home = self._home(name)
        if home is None:
            return None
        if name not in home._shapes:
            shape = home._stated_shape(name)
            found = home._inferred_type(name) if shape is None else None
            if found is not None and found.shape is not None:
                shape = tuple([each if each is None or isinstance(each, int) else str(each) for each in found.shape])
            home._shapes[name] = shape
        return home._shapes[name]

    def _inferred_type(self, name: str) -> Type | None:
        """Give what is inferred of a value of this body: of the given model, or of a node that conversion added."""
        if name not in self._found:
            if self._is_added(name):
                self._infer_added(name)
            else:
                self._found[name] = self._inferred.type(self.body, name)
        return self._found[name]

    def _is_added(self, name: str) -> bool:
        """Say whether a value is that of a node that conversion added."""
        return name in self._producers and self._producers[name][2] is not None

    def _infer_added(self, name: str) -> None:
        """Infer an added node, and those that it reads from first."""
        waiting = [name]
        while waiting:
            node, _, version = self._producers[waiting[-1]]
            if version is None or waiting[-1] in self._found:
                waiting.pop()
                continue
            ahead = [each for each in node.input if self._is_added(each) and each not in self._found]
            if ahead and len(waiting) <= len(self._producers):
                waiting += ahead
                continue
            given = [self._type_of(each) if each else None for each in node.input]
            data = [self.constant(each) if each else None for each in node.input]
            domain = "" if node.domain == "ai.onnx" else node.domain
            schema = self.registry.schema(node.op_type, version, domain)
            types = self._inferred.engine.of_node(node, schema, given, data)
            self._found.update(zip(node.output, types, strict=True))
            waiting.pop()

    def _type_of(self, name: str) -> Type | None:
        """Give the whole type of a value, as the model states it or as it is inferred."""
        from opset.opsets.inference.types import of_text

        home = self._home(name)
        if home is None:
            return None
        found = None if name in home._tensors else home._inferred_type(name)
        if found is None and (text := home.type(name)) is not None:
            found = of_text(text)
        if found is not None and found.shape is None and found.kind == "tensor":
            found = found._replace(shape=_sizes(home.shape(name)))
        return found

    def _stated_type(self, name: str) -> str | None:
        if name in self._tensors:
            element = element_name(self._tensors[name].data_type)
            return f"tensor({element})" if element else None
        declared = self._declared.get(name)
        return type_string(declared) if declared is not None else None

    def _stated_shape(self, name: str) -> Shape | None:
        if name in self._tensors:
            return tuple(self._tensors[name].dims)
        declared = self._declared.get(name)
        return shape_of(declared) if declared is not None else None


def _sizes(shape: Shape | None) -> Any:
    """Give a shape as inference has it: text as variables."""
    from opset.opsets.inference.dims import parse, variable

    return None if shape is None else tuple([
        each if each is None or isinstance(each, int) else parse(each) or variable(each) for each in shape
    ])  # fmt: skip
