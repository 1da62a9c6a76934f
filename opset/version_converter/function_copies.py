"""Copies of model-local functions that adapters can read: one for each set of parameters that calls give.

An adapter asks whether a node has an input or an attribute, and for the attribute's value. In a function a name alone
does not answer that: a call may omit the formal input that the name stands for, or the attribute that is referred to.
If calls differ, a function gets one copy for each set of parameters, and each call the copy that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from opset.budget import Budget
from opset.model import proto as pb
from opset.model.attributes import FIELDS, attribute_type, set_value
from opset.model.graph.index import Body, FunctionKey, ModelIndex, bodies, bodies_below
from opset.model.graph.walking import function_key

if TYPE_CHECKING:
    from opset.inference.engine.scopes import Scope

Keeps = Callable[[Body, int], bool]
"""Whether the node at an index of a body stays as it is, whatever its inputs and attributes are."""
PLAIN = frozenset(("int", "ints", "float", "floats", "string", "strings"))
"""Types of attributes whose values can be written into a function."""


class Parameters(NamedTuple):
    """The facts about a call of a function that are written into the copy which the call gets.

    - `inputs`: names of the function's inputs that the call omits;
    - `attributes`: (name, serialized AttributeProto without name) pairs; b"" stands for an omitted attribute;
    - `scope`: the inferred types for calls with these inputs; None if types do not matter.
    """

    inputs: frozenset[str] = frozenset()
    attributes: frozenset[tuple[str, bytes]] = frozenset()
    scope: Scope | None = None


OPEN = Parameters()


def specialize_functions(
    index: ModelIndex, keeps: Keeps, budget: Budget, *, values: bool, graphs: Sequence[Scope]
) -> tuple[Any, int]:
    """Return a copy of the ModelProto in which calls with different parameters call different copies of a function.

    Parameters differ if one call omits an input or attribute that another call gives. An input or attribute counts only
    if a node that may change reads it. Each call gets the name of the copy for its parameters. In a copy, nodes read ""
    in place of an omitted input, and lack the attributes that refer to an omitted attribute.

    Args:
        index: The index of the model.
        keeps: Called with a body (a graph or function) and the index of a node; returns whether the node surely stays
            as it is.
        budget: The copies of functions are charged to it.
        values: Whether calls differ also by the values of attributes, which are then written into the copy.
        graphs: The inferred scopes of the main and the training graphs, if calls differ also by the types of inputs.

    Returns:
        The ModelProto and the number of functions that were added; (None, 0) if no copies are needed.

    Raises:
        BudgetExceeded: The copies of functions need more steps or memory than the budget allows.
    """
    calls = _FunctionCalls(index, values, graphs)
    if not values and not any(calls.omits(*call) for body in index.bodies for call in calls.calls_in(body)):
        return None, 0
    calls.collect(keeps, budget)
    if not any(any(fixed) for sets in calls.sets.values() for fixed in sets):
        return None, 0
    names = calls.name_copies()
    proto = pb.ModelProto()
    proto.CopyFrom(index.proto)
    graphs_of = [body for body in bodies(proto) if not body.root.function]
    fixed_of = dict(zip([body for body in graphs_of if body.root is body], calls.roots, strict=True))
    for body in graphs_of:
        calls.rename(body, fixed_of[body.root], names)
    functions = proto.functions[:]
    del proto.functions[:]
    for function in functions:
        for fixed, name in names[function_key(function)].items():
            copy = proto.functions.add()
            copy.CopyFrom(function)
            for body in bodies_below(Body(copy, "", function=True)):
                calls.rename(body, fixed, names)
                _write_fixed(body, fixed)
            copy.name = name
    return proto, len(proto.functions) - len(functions)


class _FunctionCalls:
    """The calls of a model's functions.

    - `matters`: by function, the inputs and attributes on which the conversion of its body depends;
    - `sets`: by function, the different Parameters of its calls.
    """

    def __init__(self, index: ModelIndex, values: bool, graphs: Sequence[Scope]) -> None:
        """Store a model, and how calls of its functions are told apart.

        `matters` and `sets` have no entries for calls until `collect` is called. A call that omits an input or an
        attribute always differs from a call that gives it.

        Args:
            index: The index of the model.
            values: Whether calls with different values of an attribute differ too.
            graphs: The inferred Scopes of the main and the training graphs. If given, calls with different types of
                inputs differ too.
        """
        self._index = index
        self._functions = index.functions
        self._values = values
        self.roots = [Parameters(scope=scope) for scope in graphs] or [OPEN] * len(index.graphs)
        self._operators = {(name, domain) for domain, name, _ in index.functions}
        self._formals = {key: body.input_names() for key, body in index.functions.items()}
        self._defaults = {
            key: {default.name: _value_of(default) for default in body.proto.attribute_proto}
            for key, body in index.functions.items()
        }
        self.matters: dict[FunctionKey, tuple[frozenset[str], frozenset[str]]] = {}
        self.sets: dict[FunctionKey, dict[Parameters, None]] = {key: {} for key in index.functions}

    def calls_in(self, body: Body) -> Iterator[tuple[Body, int, FunctionKey]]:
        """Yield (body, index of the node, key of the function) for each call in a body, without its subgraphs."""
        for position, operator in enumerate(body.operators):
            if operator in self._operators and (key := body.function_key(position)) in self._functions:
                yield body, position, key

    def omits(self, body: Body, position: int, key: FunctionKey) -> bool:
        """Whether the call at `position` omits an input of the function `key`, or an attribute without default.

        An input named "" counts as omitted. An attribute counts as given even if its value is a reference to an
        attribute of the function around the call.
        """
        given = {attribute.name for attribute in body.attributes[position]}
        present = sum(map(bool, body.reads[position]))
        return present < len(self._formals[key]) or not given.issuperset(self._functions[key].proto.attribute)

    def collect(self, keeps: Keeps, budget: Budget) -> None:
        """Fill `matters` and `sets` for each function.

        `matters` gets the inputs and attributes on which the conversion depends: a node that may change reads them.
        `sets` gets the different Parameters with which the function is called, such as the inputs that a call omits. If
        nothing calls the function, its only Parameters are OPEN. Raises BudgetExceeded if the budget is used up.

        Args:
            keeps: Returns whether the node at an index of a body stays as it is.
            budget: The work and the memory are charged to it.
        """
        trees: dict[Body, list[Body]] = {}
        for body in self._index.bodies:
            trees.setdefault(body.root, []).append(body)
        order = self._index.call_order()
        for function in reversed(order):
            self.matters[function_key(function.proto)] = self._parameters_that_matter(trees[function], keeps)
        ways_of = dict(zip(self._index.graphs, self.roots, strict=True))
        for root in (*self._index.graphs, *order):
            ways = self.sets[function_key(root.proto)] if root.function else {ways_of[root]: None}
            if not ways:
                ways[OPEN] = None  # nothing calls it
            calls = [call for body in trees[root] for call in self.calls_in(body)]
            for fixed in ways:
                budget.charge(len(calls))
                for body, position, key in calls:
                    parameters, sets = self._parameters_of(body, position, key, fixed), self.sets[key]
                    if parameters not in sets:
                        budget.hold(self._functions[key].proto.ByteSize() if sets else 0)
                        sets[parameters] = None

    def _parameters_that_matter(self, tree: Sequence[Body], keeps: Keeps) -> tuple[frozenset[str], frozenset[str]]:
        """Return the names of the inputs and attributes of a function on which the conversion of its body depends.

        The conversion depends on a name if a node that may change reads it: a node for which `keeps` returns False. A
        call of another function reads only names that matter in that function. `tree` is the function's body with the
        bodies of its subgraphs.
        """
        inputs: set[str] = set()
        attributes: set[str] = set()
        for body in tree:
            called = {position: key for _, position, key in self.calls_in(body)}
            for position, reads in enumerate(body.reads):
                given: Iterable[Any] = body.attributes[position]
                if position in called:
                    key = called[position]
                    passed = zip(reads, self._formals[key], strict=False)
                    reads = [name for name, formal in passed if formal in self.matters[key][0]]
                    given = [attribute for attribute in given if attribute.name in self.matters[key][1]]
                elif keeps(body, position):
                    continue
                inputs.update(name for name in reads if _is_formal(body, name))
                attributes.update(attribute.ref_attr_name for attribute in given)
        declared = {*tree[0].proto.attribute}
        if self._values:
            declared.update(default.name for default in tree[0].proto.attribute_proto)
        return frozenset(inputs), frozenset(attributes & declared)

    def _parameters_of(self, body: Body, position: int, key: FunctionKey, fixed: Parameters) -> Parameters:
        """Return the Parameters of the call at `position` of the function `key`, such as its omitted inputs.

        Only inputs and attributes on which the conversion of the function's body depends are in the result. An
        attribute that the call omits has its default as value, b"" if it has no default. A value that the call states
        is in the result only if `values` was True when this object was made.

        `fixed` are the Parameters of the function around the call. If the call passes on an input that `fixed` omits,
        the call omits this input, too.
        """
        inputs, attributes = self.matters[key]
        present = {
            formal
            for formal, name in zip(self._formals[key], body.reads[position], strict=False)
            if name and not _is_omitted(body, name, fixed)
        }
        given = {attribute.name: attribute for attribute in body.attributes[position]}
        outer, values = dict(fixed.attributes), {}
        for name in attributes:
            attribute = given.get(name)
            value: bytes | None = b""
            if attribute is not None and attribute.ref_attr_name:
                value = outer.get(attribute.ref_attr_name)
            elif attribute is not None:
                value = _value_of(attribute) if self._values else None
            if value == b"":
                value = self._defaults[key].get(name, b"")
            if value is not None:
                values[name] = value
        scope = _scope_of(body, fixed.scope)
        return Parameters(inputs - present, frozenset(values.items()), scope and scope.calls.get(position))

    def name_copies(self) -> dict[FunctionKey, dict[Parameters, str]]:
        """Return the names of the copies of each function, by their Parameters: "Scale", "Scale_1", "Scale_2".

        Parameters say how calls of a copy differ from others, such as the inputs that they omit. The copy whose
        Parameters are OPEN (no omission, no fixed value) keeps the function's name. If there is none, the first copy
        keeps it. A number is skipped if a function or operator of the domain already has the name.
        """
        taken = {(domain, name) for body in self._index.bodies for name, domain in body.operators}
        taken |= {key[:2] for key in self._functions}
        names: dict[FunctionKey, dict[Parameters, str]] = {}
        for key, sets in self.sets.items():
            names[key] = {OPEN if OPEN in sets else next(iter(sets)): key[1]}
            number = 0
            for fixed in sets:
                while fixed not in names[key]:
                    number += 1
                    name = f"{key[1]}_{number}"
                    if (key[0], name) not in taken:
                        taken.add((key[0], name))
                        names[key][fixed] = name
        return names

    def rename(self, body: Body, fixed: Parameters, names: dict[FunctionKey, dict[Parameters, str]]) -> None:
        """Replace the function's name in each call in `body` by the name of the copy for this call, in place.

        Calls of one function have different copies if their Parameters differ, such as the inputs that a call omits.
        Calls in subgraphs of `body` stay as they are.

        Args:
            body: The graph or function that has the calls.
            fixed: The Parameters of the function to which `body` belongs.
            names: The names of the copies of each function by Parameters, from `name_copies`.
        """
        for _, position, key in self.calls_in(body):
            name = names[key][self._parameters_of(body, position, key, fixed)]
            if name != key[1]:
                body.nodes[position].op_type = name


def _is_formal(body: Body, name: str) -> bool:
    """Whether a name that nodes of a body read is an input of the model-local function around the body.

    The result is False outside of functions, and for a value that the function or a subgraph in it defines.
    """
    while name not in body.definitions and body.parent is not None:
        body = body.parent
    return bool(name) and body.function and body.definitions.get(name, 0) < 0


def _scope_of(body: Body, root: Scope | None) -> Scope | None:
    """Return the inferred types of a body (a Scope), None if it was not inferred.

    `root` is the Scope of the body's outermost graph or function, or None.
    """
    path = []
    while body.root is not body and body.parent is not None:
        path.append((body.index, body.name))
        body = body.parent
    for step in reversed(path):
        root = root and root.subgraphs.get(step)
    return root


def _is_omitted(body: Body, name: str, fixed: Parameters) -> bool:
    """Whether `name` is an input of the function around a body that the calls of the function omit.

    `fixed` are the Parameters of the calls, with the names of the omitted inputs.
    """
    return name in fixed.inputs and _is_formal(body, name)


def _value_of(attribute: Any) -> bytes | None:
    """Return an AttributeProto without its name and documentation, as bytes.

    Returns None for an attribute whose value is not a number, a string or a list of these.
    """
    if attribute_type(attribute) not in PLAIN:
        return None
    bare = pb.AttributeProto()
    bare.CopyFrom(attribute)
    bare.type = FIELDS[attribute_type(attribute)][0]
    bare.ClearField("name")
    bare.ClearField("doc_string")
    return bytes(bare.SerializeToString(deterministic=True))


def _write_fixed(body: Body, fixed: Parameters) -> None:
    """Write the Parameters of a call into the nodes of `body`, which is the copy of a function or a subgraph in it.

    `fixed` are the Parameters. A reference to an attribute of the function is replaced by the attribute's value. If the
    call omits the attribute, the reference is removed from the node. If the call omits an input of the function, nodes
    that read the input get "" in its place. Subgraphs of `body` are not changed.
    """
    if not fixed.inputs and not fixed.attributes:
        return
    values = dict(fixed.attributes)
    for node, reads, given in zip(body.nodes, body.reads, body.attributes, strict=True):
        absent = [position for position, name in enumerate(reads) if _is_omitted(body, name, fixed)]
        for position in absent:
            node.input[position] = ""
        for position in reversed(range(len(given))):
            value = values.get(given[position].ref_attr_name)
            if value == b"":
                del node.attribute[position]
            elif value is not None:
                set_value(node.attribute[position], pb.AttributeProto.FromString(value))
