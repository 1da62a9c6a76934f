"""The outcome of a node: the result of its rule, completed by the operator's signature, and its problems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import copysign
from operator import index as index_of
from typing import Any, NamedTuple

from opset.budget import BudgetExceeded
from opset.errors import OpsetError, safe_text
from opset.inference.building.call import Call, Constant, Element, Unknown, WrongAttributeType
from opset.inference.building.dimensions import Dim, Size, TooComplex, upper_bound
from opset.inference.building.types import Shape, Type, map_sizes, parse_type
from opset.inference.building.types import shape_text as shown_shape
from opset.inference.limits import MAX_AROUND, MAX_DATA, MAX_RANK
from opset.opsets.faults import describe_exception, raise_interrupt
from opset.opsets.hooks import Hook
from opset.schemas.constraints.violation import Violation
from opset.schemas.model import OpSchema

MALFORMED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Errors of a rule for a node that it is not written for: an attribute of another type, lists of unequal lengths."""


class Problem(NamedTuple):
    """An error or contradiction found at a node, without the node's location."""

    code: str
    message: str
    why: str = ""
    help: str = ""


class Outcome(NamedTuple):
    """What is inferred for all nodes with the same operator, attributes and inputs: types and elements of outputs.

    `doubts` are the reasons why something is unknown, `problems` the errors of the nodes.
    """

    types: tuple[Type | None, ...]
    constants: tuple[Constant | None, ...] = ()
    doubts: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    has_unnamed: bool = False
    """Whether sizes in `types` are None, since they depend on data; they get a name for each node."""
    warnings: tuple[str, ...] = ()
    """Harmless differences between the nodes and their schema, such as attributes that it does not have."""


class Memo:
    """The Outcomes for nodes of one operator with the same attributes and input types.

    An Outcome also depends on elements of inputs: `reads` are the indices of the inputs whose elements the rule has
    read, and the keys of `outcomes` are their elements.
    """

    __slots__ = ("outcomes", "reads")

    def __init__(self) -> None:
        self.reads: tuple[int, ...] = ()
        self.outcomes: dict[tuple[Constant | None, ...], Outcome] = {}


class OperatorInference:
    """How the nodes of one operator are inferred: its schema, its rule, its data function, and results so far.

    `why` is the reason if there is no schema, or no rule.
    """

    __slots__ = ("data", "fallback", "memos", "recent", "rule", "schema", "signature_types", "tolerated", "why")

    def __init__(
        self, schema: OpSchema | None, rule: Hook | None = None, data: Hook | None = None, why: str = ""
    ) -> None:
        self.schema = schema
        self.rule = rule
        self.data = data
        self.why = why
        self.fallback: OperatorInference | None = None
        """The inference of nodes that break constraints of the schema in a form that runtimes accept."""
        self.tolerated = ""
        """That form, in words."""
        self.memos: dict[Any, Memo] = {}
        """The memo of each signature."""
        self.recent: dict[Any, tuple[Memo, Sequence[Type | None]]] = {}
        """Memos by the identities of input types, which are quicker to compare; the types are kept for that."""
        self.signature_types: dict[Any, tuple[Type | None, ...]] = {}


def signature_types(
    inference: OperatorInference, output_count: int, inputs: Sequence[Type | None]
) -> tuple[Type | None, ...]:
    """Return the type of each output of a node as far as the operator's signature shows it, else None.

    The signature shows the type of an output if it allows only one, or if an input of known type has the same type
    constraint, such as T. Shapes are unknown. Results are cached in `inference`.

    Args:
        inference: the inference of the operator, which has a schema.
        output_count: the number of outputs of the node.
        inputs: the types of its inputs, None if unknown.
    """
    schema = inference.schema
    assert schema is not None
    key = (output_count, tuple([None if type_ is None else type_._replace(shape=None) for type_ in inputs]))
    if key in inference.signature_types:
        return inference.signature_types[key]
    bound: dict[str, Type] = {}
    for index, type_ in enumerate(inputs):
        formal = schema.inputs[min(index, len(schema.inputs) - 1)] if schema.inputs else None
        if type_ is not None and formal is not None and formal.homogeneous:
            bound.setdefault(formal.type, type_)
    types: list[Type | None] = []
    for index in range(output_count):
        formal = schema.outputs[min(index, len(schema.outputs) - 1)] if schema.outputs else None
        allowed = schema.allowed_types(formal) if formal is not None else ()
        if len(allowed) == 1:
            types.append(parse_type(allowed[0]))
            continue
        type_ = bound.get(formal.type) if formal is not None and formal.homogeneous else None
        types.append(None if type_ is None else map_sizes(type_._replace(shape=None), lambda size: None))
    inference.signature_types[key] = tuple(types)
    return inference.signature_types[key]


def types_tied_by_signature(
    schema: OpSchema, inputs: Sequence[Type | None], outputs: Sequence[Type | None]
) -> list[Type | None]:
    """Return the types of a node's inputs, in which the operator's signature fills in unknown types.

    A type is filled in, without its shape, in two cases:

    - the signature allows only one type for the input;
    - known tensors among the inputs and outputs have the same type constraint, such as T, and one common element type.

    Any other unknown type stays None.

    Args:
        schema: the operator.
        inputs: the types of the node's inputs, None if unknown or left out.
        outputs: the types of its outputs, None if unknown.
    """
    bound: dict[str, Type | None] = {}
    for formals, given in ((schema.inputs, inputs), (schema.outputs, outputs)):
        for index, type_ in enumerate(given if formals else ()):
            formal = formals[min(index, len(formals) - 1)]
            if type_ is not None and type_.kind == "tensor" and type_.element is not None and formal.homogeneous:
                shown = type_._replace(shape=None)
                bound[formal.type] = shown if bound.setdefault(formal.type, shown) == shown else None
    found = list(inputs)
    for index, type_ in enumerate(inputs if schema.inputs else ()):
        if type_ is None:
            formal = schema.inputs[min(index, len(schema.inputs) - 1)]
            allowed = schema.allowed_types(formal)
            only = parse_type(allowed[0]) if len(allowed) == 1 else None
            found[index] = only or (bound.get(formal.type) if formal.homogeneous else None)
    return found


def complete_results(
    raw: Any, by_signature: Sequence[Type | None], call: Call
) -> tuple[tuple[Type | None, ...], tuple[Problem, ...]]:
    """Return the type of each output of a node, and the problems with the result of its inference function.

    A type is None if it is unknown. A size that is negative or beyond 64 bits is a problem, and becomes unknown. A
    result that is no shape, such as a text, is a problem too. The output then has its type of `by_signature`.

    Args:
        raw: the result of the inference function: a shape, a type or None, or a list of these, one for each output. The
            list may end before the last output.
        by_signature: the type of each output by the operator's signature, None if unknown. A shape in `raw` gets its
            element type from here. An output for which `raw` has nothing gets its whole type from here.
        call: the node; a doubt is added if a rank is above MAX_RANK.
    """
    results = raw if isinstance(raw, list) else [raw]
    types: list[Type | None] = []
    problems: list[Problem] = []
    for index, base in enumerate(by_signature):
        result = results[index] if index < len(results) else None
        if result is None:
            types.append(base)
            continue
        try:
            type_, problem = _drop_impossible_sizes(_result_as_type(result, base), index, call)
        except TypeError as error:  # only functions of a user-defined domain return such
            types.append(base)
            operator = f"{call.schema.name} {call.schema.since_version}"
            message = f"the inference function of {operator} returns no shape for output {index}"
            help = (
                "return a shape, which is a tuple of sizes, a Type or None, or a list of these: opset explain inference"
            )
            problems.append(Problem("I302", message, safe_text(str(error)), help))
            continue
        types.append(type_)
        problems += problem
    return tuple(types), tuple(problems)


def _result_as_type(result: Any, base: Type | None) -> Type:
    """Return a rule's result, a Type or a shape, as a Type.

    `base` is the type of the output by the operator's signature, None if unknown. Parts that the result leaves open are
    taken from `base`, but not from a `base` of another kind, such as a sequence for a tensor. Raises TypeError if an
    entry of the shape is no size.
    """
    if not isinstance(result, Type):
        shape = tuple(map(_as_size, result))
        return Type("tensor", base.element if base is not None and base.kind == "tensor" else None, shape)
    type_ = result if result.shape is None else result._replace(shape=tuple(map(_as_size, result.shape)))
    if base is None or base.kind != type_.kind:
        return type_
    return Type(type_.kind, type_.element or base.element, type_.shape, type_.inner or base.inner)


def _as_size(size: Any) -> Size | None:
    """Return a size of a rule's result: an int, a Dim or None as it is, a numpy integer as an int.

    Raises TypeError for any other value.
    """
    return size if size is None or size.__class__ is int or isinstance(size, Dim) else index_of(size)


def _drop_impossible_sizes(type_: Type, index: int, call: Call) -> tuple[Type, list[Problem]]:
    """Return the type of output `index` without impossible sizes, and a list with a problem if there was one.

    A size that is certainly negative makes the whole shape unknown, and is a problem. A size beyond 64 bits becomes
    None, and is a problem. Too great a rank makes the whole shape unknown; this is no problem, but is recorded as a
    doubt of the call.
    """
    shape = type_.shape
    if shape is None:
        return type_, []
    if any(size is not None and (upper_bound(size) or 0) < 0 for size in shape):
        problem = _unfit_problem(call.schema, f"output {index} would have the shape {shown_shape(shape)}")
        return type_._replace(shape=None), [problem]
    if len(shape) > MAX_RANK:
        call.doubt(f"a rank of {len(shape)} is too great to be followed")
        return type_._replace(shape=None), []
    kept = tuple([None if isinstance(size, int) and size >= 2**63 else size for size in shape])
    if kept == shape:
        return type_, []
    problem = _unfit_problem(call.schema, f"output {index} would have a size beyond 64 bits: {shown_shape(shape)}")
    return type_._replace(shape=kept), [problem]


def _unfit_problem(schema: OpSchema, why: str) -> Problem:
    """Return the problem I201: the inputs of a node do not fit its operator, for the reason `why`."""
    return Problem("I201", f"the inputs do not fit {schema.name} {schema.since_version}", why)


def problems_of(call: Call, error: BaseException, hook: Hook) -> tuple[Problem, ...]:
    """Return the problem to report for an exception of a rule or data function (`hook`), as a tuple of one.

    It is I201 for a Violation, I303 for a bug in a user's function, I203 for a node that the rule is not written for.
    For Unknown and TooComplex, the result is (), and the reason is added to the doubts of `call`. Raises any other
    exception again, such as BudgetExceeded.
    """
    raise_interrupt(error)
    schema = call.schema
    if isinstance(error, (BudgetExceeded, OpsetError, MemoryError)):
        raise error
    if isinstance(error, Violation):
        return (_unfit_problem(schema, str(error).removeprefix(": ")),)
    if isinstance(error, Unknown):
        call.doubt(str(error))
        return ()
    if isinstance(error, TooComplex):
        call.doubt("the sizes are too complex to be followed")
        return ()
    if not hook.is_ours:
        message = f"there is a bug in the inference function of {schema.name} {schema.since_version}"
        help = "correct the function; --debug shows the traceback"
        return (Problem("I303", message, safe_text(describe_exception(error, hook.origin)), help),)
    if not isinstance(error, MALFORMED):
        raise error
    why = _reason_of_malformed(call, error)
    return (Problem("I203", f"the node is malformed for {schema.name} {schema.since_version}", why),)


def _reason_of_malformed(call: Call, error: Exception) -> str:
    """Return a message that says why a rule failed with `error`, one of the exception classes MALFORMED.

    For a WrongAttributeType, the message is its text. For a ValueError of `zip`, it lists the attributes that the rule
    has read, with their lengths. For any other error, it is the class and the text.
    """
    if isinstance(error, WrongAttributeType):
        return safe_text(str(error))
    if isinstance(error, ValueError) and str(error).startswith("zip() "):  # of lists with one element for each axis
        lengths = [f"{name} {len(value)}" for name, value in call.lists_read().items()]
        return safe_text(f"its lists have different lengths: {', '.join(lengths)}")
    return safe_text(f"{type(error).__name__}: {error}")


def has_unnamed_sizes(types: Iterable[Type | None]) -> bool:
    """Whether a tensor type in `types`, also inside an optional, has an unknown size (None)."""
    for type_ in types:
        if type_ is not None and type_.kind == "optional":
            type_ = type_.inner
        if type_ is not None and type_.shape is not None and None in type_.shape:
            return True
    return False


def small_element_count(shape: Shape | None) -> int | None:
    """Return the number of elements of a tensor of this shape, or None if inference does not compute with so many.

    The result is also None if the shape is None, or if a size in it is unknown, symbolic or negative.
    """
    if shape is None:
        return None
    count = around = 1
    for size in shape:
        if not isinstance(size, int) or size < 0:
            return None
        count *= size
        around *= size or 1
    # A walk along the axes of an empty tensor takes as long as its other axes are long.
    return count if count <= MAX_DATA and around <= MAX_AROUND else None


def is_representable(element: Element, integers: bool) -> bool:
    """Whether inference computes exactly with an element; `integers` is whether the tensor has an integer type.

    False for -0.0, since Python takes it for 0. In an integer type, also false for floats and for numbers beyond 64
    bits. True for an unknown element (None) and a symbolic size.
    """
    if isinstance(element, float):
        return not integers and (element != 0 or copysign(1, element) > 0)
    return not isinstance(element, int) or -(2**63) <= element < 2**63 or not integers
