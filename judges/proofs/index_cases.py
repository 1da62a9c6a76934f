"""The forms of nodes whose conversion is proved for all sizes: ranks up to 4, a grid of attributes, inputs of integers.

An input of integers is a constant, or is computed: then the converter does not know it. What is computed is a variable
of z3, or if the form of the result depends on it, one value of the grid after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
import z3

from judges.proofs import index_maps as m
from judges.proofs.index_maps import Tensor, Term
from judges.proofs.index_operators import tensor_of_array
from judges.proofs.subjects import Subject
from opset.model import proto as pb
from opset.model.arrays import tensor_of
from opset.model.attributes import fill_attribute
from opset.model.elements import NUMBERS
from opset.opsets.releases import ir_version_of_opset
from opset.schemas.model import OpSchema

RANKS = (1, 2, 3, 4)
FAR = 2**31 - 1


@dataclass
class Case:
    """A model of one node, what its inputs are read as, its sizes, and what is known of what it reads."""

    name: str
    rank: int
    model: Any
    inputs: dict[str, Tensor]
    flat: dict[str, Tensor]
    """The same inputs, with data as functions of positions in row-major order."""
    sizes: list[Any]
    premises: list[Any] = field(default_factory=list)


class Given(NamedTuple):
    """An input: its element type, declared sizes, what it is read as, and its array if it is constant."""

    element: str
    dims: Sequence[int | str]
    tensor: Tensor
    constant: Any = None
    flat: Tensor | None = None


def open_data(name: str, dims: Sequence[int | str], element: str = "float") -> Given:
    """Return data of sizes that are numbers, or variables by their names; `!` before a number hides it from a model."""
    sizes = [_size(each) for each in dims]
    declared = [f"{name}{axis}" if str(each).startswith("!") else each for axis, each in enumerate(dims)]
    return Given(element, declared, m.data(name, sizes), flat=m.data(name, sizes, is_flat=True))


def _size(dim: int | str) -> Term:
    if isinstance(dim, int):
        return dim
    return int(dim[1:]) if dim.startswith("!") else z3.Int(dim)


def integers(values: Sequence[int], is_constant: bool, dims: Sequence[int] | None = None) -> Given:
    """Return integers that are a constant, or are computed and have these values."""
    array = np.array(values, np.int64).reshape(dims if dims is not None else [len(values)])
    return Given("int64", list(array.shape), tensor_of_array(array), array if is_constant else None)


def any_integers(name: str, count: int) -> Given:
    """Return computed integers, of which nothing is known."""
    return Given("int64", [count], m.vector([z3.Int(f"{name}{at}") for at in range(count)]))


def case(
    subject: Subject,
    rank: int,
    inputs: Sequence[Given | None],
    attributes: Mapping[str, Any],
    outputs: int = 1,
    premises: Sequence[Any] = (),
) -> Case:
    """Return the case of a node of the version before the conversion."""
    version = subject.since - 1 if subject.direction == "up" else subject.since
    model = pb.ModelProto(ir_version=ir_version_of_opset(version, ""))
    model.opset_import.add(version=version)
    graph = model.graph
    graph.name = "proof"
    node = graph.node.add(op_type=subject.operator)
    read: dict[str, Tensor] = {}
    flat: dict[str, Tensor] = {}
    sizes: dict[str, Any] = {}
    for position, given in enumerate(inputs):
        name = f"in{position}" if given is not None else ""
        node.input.append(name)
        if given is None:
            continue
        read[name] = given.tensor
        flat[name] = given.flat or given.tensor
        if given.constant is not None:
            graph.initializer.append(tensor_of(name, given.constant))
        if given.constant is None or model.ir_version < 4:
            _declare(graph.input.add(name=name), given)
        sizes |= {dim: z3.Int(dim) for dim in given.dims if isinstance(dim, str) and dim.isidentifier()}
    for number in range(outputs):
        node.output.append(f"out{number}")
        graph.output.add(name=f"out{number}").type.tensor_type.elem_type = NUMBERS[_result(subject, inputs)]
    for name, value in attributes.items():
        if name in subject.source.attributes and value is not None:
            fill_attribute(node.attribute.add(), name, subject.source.attributes[name].type, value)
    words = [f"{name}={value}" for name, value in attributes.items()]
    words += [str(each.constant.tolist()) if each.constant is not None else "computed" for each in inputs[1:] if each]
    return Case(f"rank {rank}: {', '.join(words)}", rank, model, read, flat, [*sizes.values()], [*premises])


def _result(subject: Subject, inputs: Sequence[Given | None]) -> str:
    """Return the element type of the output."""
    output = subject.source.outputs[0].type
    is_bool = output == "tensor(bool)" or subject.source.types.get(output) == ("tensor(bool)",)
    first = inputs[0]
    return "bool" if is_bool or first is None else first.element


def _declare(value: Any, given: Given) -> None:
    value.type.tensor_type.elem_type = NUMBERS[given.element]
    value.type.tensor_type.shape.SetInParent()
    for dim in given.dims:
        size = value.type.tensor_type.shape.dim.add()
        if isinstance(dim, int):
            size.dim_value = dim
        else:
            size.dim_param = dim


def names(rank: int, letter: str = "N") -> list[int | str]:
    """Return the names of the sizes of data."""
    return [f"{letter}{axis}" for axis in range(rank)]


def listed(schema: OpSchema, **lists: Sequence[int] | None) -> Iterator[tuple[dict[str, Any], dict[str, Given | None]]]:
    """Yield lists as attributes, if the version has these, else as inputs, once constant and once computed."""
    attributes = {name: values for name, values in lists.items() if name in schema.attributes}
    others = {name: values for name, values in lists.items() if name not in attributes}
    formals = {each.name for each in schema.inputs}
    if any(name not in formals and values is not None for name, values in others.items()):
        return
    for is_constant in (True, False) if any(values is not None for values in others.values()) else (True,):
        yield (
            attributes,
            {name: integers(values, is_constant) if values is not None else None for name, values in others.items()},
        )


def in_order(schema: OpSchema, first: Given, others: Mapping[str, Given | None]) -> list[Given | None]:
    """Return inputs in the order of a version's parameters, the first one first."""
    inputs: list[Given | None] = [first, *(others.get(each.name) for each in schema.inputs[1:])]
    while inputs[-1] is None:
        inputs.pop()
    return inputs


def slices(subject: Subject) -> Iterator[Case]:
    """Yield Slice: bounds on a grid with positive and negative numbers, and any computed ones."""
    schema = subject.source
    since = schema.since_version
    bounds = [*product((-3, 0, 2), (-2, 3, FAR))]
    for rank in RANKS:
        x = open_data("x", names(rank))
        sets: list[Sequence[int] | None] = [*combinations(range(rank), 1), *combinations(range(rank), 2)]
        sets += [[-1]] if since >= 11 else []
        for axes in [None, *sets]:
            count = 1 if axes is None else len(axes)
            for number, (start, end) in enumerate(bounds):
                starts, ends = ([start, 1][:count], [end, -1][:count])
                for step in (None, 2, -1, -3) if since >= 10 else (None,):
                    if ((rank > 1 or count > 1) and number % 4) or rank * count > 6:
                        continue
                    steps = None if step is None else [step, 1][:count]
                    for attributes, given in listed(schema, starts=starts, ends=ends, axes=axes, steps=steps):
                        yield case(subject, rank, in_order(schema, x, given), attributes)
            if since >= 10:
                for step in (None, 1, 2, -1):
                    given = {name: any_integers(name, count) for name in ("starts", "ends")}
                    given["axes"] = integers(axes, True) if axes is not None else None  # type: ignore[assignment]
                    given["steps"] = integers([step] * count, True) if step else None  # type: ignore[assignment]
                    yield case(subject, rank, in_order(schema, x, given), {})


def splits(subject: Subject) -> Iterator[Case]:
    """Yield Split: into equal parts, stated parts, and computed ones."""
    schema = subject.source
    for rank in RANKS:
        for axis in range(-rank if schema.since_version >= 11 else 0, rank):
            x = open_data("x", names(rank))
            for count in (1, 2, 3):
                extra = {"num_outputs": count} if "num_outputs" in schema.attributes else {}
                yield case(subject, rank, [x], {"axis": axis, **extra}, count)
            for parts in ([2, 3], [1, 0, 4], [5]):
                for attributes, given in listed(schema, split=parts):
                    inputs = in_order(schema, x, given)
                    yield case(subject, rank, inputs, {"axis": axis, **attributes}, len(parts))
            if "split" not in schema.attributes and len(schema.inputs) > 1:
                free = any_integers("part", 2)
                premises = [z3.Int(f"part{at}") >= 0 for at in range(2)]
                yield case(subject, rank, [x, free], {"axis": axis}, 2, premises)


def pads(subject: Subject) -> Iterator[Case]:
    """Yield Pad: each mode with pads on a grid, negative ones among them, and any computed pads."""
    schema = subject.source
    name = "paddings" if "paddings" in schema.attributes else "pads"
    modes = schema.attributes["mode"].choices or ("constant", "reflect", "edge")
    for rank in RANKS:
        x = open_data("x", names(rank))
        grid = [[1] * (2 * rank), [0] * (2 * rank - 1) + [2], [2, *[0] * (2 * rank - 1)], [-1] + [1] * (2 * rank - 1)]
        for mode, values in product(modes, grid):
            if rank == 4 and mode != "constant":
                continue
            for attributes, given in listed(schema, **{name: values}):
                yield case(subject, rank, in_order(schema, x, given), {"mode": mode, **attributes})
        if name in schema.attributes:
            continue
        for mode in modes if rank < 3 else ("constant",):
            yield case(subject, rank, [x, any_integers("pad", 2 * rank)], {"mode": mode})
            value = Given("float", [], m.data("fill", []))
            if mode == "constant":
                yield case(subject, rank, [x, any_integers("pad", 2 * rank), value], {"mode": mode})
                yield case(subject, rank, [x, integers(grid[0], True), value], {"mode": mode})
            if len(schema.inputs) > 3:
                for axes, is_constant in product(([0], [-1], [*range(rank)][::-1]), (True, False)):
                    pad = any_integers("pad", 2 * len(axes))
                    yield case(subject, rank, [x, pad, None, integers(axes, is_constant)], {"mode": mode})
                    stated = integers([1, 2] * len(axes), True)
                    yield case(subject, rank, [x, stated, None, integers(axes, is_constant)], {"mode": mode})


def _axis_sets(rank: int, since: int) -> list[tuple[int, ...]]:
    """Return sets of one or two axes, also negative ones and in another order where the version takes these."""
    sets = [axes for count in (1, 2) for axes in combinations(range(rank), count)]
    if since >= 11:
        sets += [tuple(axis - rank for axis in axes) for axes in sets] + [axes[::-1] for axes in sets if len(axes) > 1]
    return sets


def squeezes(subject: Subject) -> Iterator[Case]:
    """Yield Squeeze: all sets of one or two axes, of sizes that the model states as 1 or leaves open."""
    schema = subject.source
    for rank in RANKS:
        for axes in _axis_sets(rank, schema.since_version):
            gone = {axis % rank for axis in axes}
            for one in (1, "!1"):
                dims = [one if axis in gone else name for axis, name in enumerate(names(rank))]
                for attributes, given in listed(schema, axes=axes):
                    yield case(subject, rank, in_order(schema, open_data("x", dims), given), attributes)


def unsqueezes(subject: Subject) -> Iterator[Case]:
    """Yield Unsqueeze: all sets of one or two axes of the result."""
    schema = subject.source
    for rank in RANKS:
        for axes in _axis_sets(rank, schema.since_version):
            x = open_data("x", names(rank - len(axes)))
            for attributes, given in listed(schema, axes=axes):
                yield case(subject, rank, in_order(schema, x, given), attributes)


def flattens(subject: Subject) -> Iterator[Case]:
    """Yield Flatten: each axis."""
    for rank in RANKS:
        for axis in range(-rank if subject.source.since_version >= 11 else 0, rank + 1):
            yield case(subject, rank, [open_data("x", names(rank))], {"axis": axis})


def reshapes(subject: Subject) -> Iterator[Case]:
    """Yield Reshape: shapes with 0 and -1, and any computed shape."""
    schema = subject.source
    for rank in RANKS:
        x = open_data("x", names(rank))
        shapes = [[-1], [0] * rank, [0] * (rank - 1) + [-1], [1, -1], [-1, 1], [0, 1, -1], [2, -1]]
        for shape, allows in product(shapes, (0, 1)):
            if allows and "allowzero" not in schema.attributes:
                continue
            for attributes, given in listed(schema, shape=shape):
                more = {"allowzero": allows} if "allowzero" in schema.attributes else {}
                yield case(subject, rank, in_order(schema, x, given), {**attributes, **more})


def gathers(subject: Subject) -> Iterator[Case]:
    """Yield Gather: each axis, indices of rank 0 to 2."""
    for rank, count in product(RANKS, (0, 1, 2)):
        for axis in range(rank):
            x, indices = open_data("x", names(rank)), _open_indices(names(count, "K"))
            yield case(subject, rank, [x, indices], {"axis": axis})


def _open_indices(dims: Sequence[int | str]) -> Given:
    sizes = [_size(each) for each in dims]
    function = z3.Function("i", *[z3.IntSort()] * len(dims), z3.IntSort())
    tensor = Tensor(tuple(sizes), lambda index: function(*index)) if dims else m.scalar(z3.Int("i"))
    return Given("int64", dims, tensor)


def concats(subject: Subject) -> Iterator[Case]:
    """Yield Concat: each axis, one to three inputs."""
    since = subject.source.since_version
    for rank, count in product(RANKS, (1, 2, 3)):
        axes: list[int | None] = [*range(-rank if since >= 11 else 0, rank)]
        for axis in [*axes, None] if since < 4 and rank > 1 else axes:
            along = (1 if axis is None else axis) % rank
            inputs = []
            for number in range(count):
                dims = names(rank)
                dims[along] = f"K{number}"
                inputs.append(open_data(f"x{number}", dims))
            yield case(subject, rank, inputs, {"axis": axis})


def tiles(subject: Subject) -> Iterator[Case]:
    """Yield Tile: counts of a grid."""
    for rank in RANKS:
        x = open_data("x", names(rank))
        if subject.source.since_version < 6:
            for count, axis in product((0, 1, 2, 3), range(rank)):
                scalars = [Given("float", [], m.scalar(each), np.array(each, np.float32)) for each in (count, axis)]
                yield case(subject, rank, [x, *scalars], {})
            continue
        for counts in product((1, 2, 3), repeat=rank):
            yield case(subject, rank, [x, integers(counts, True)], {})


def expands(subject: Subject) -> Iterator[Case]:
    """Yield Expand: open sizes and sizes of 1, and any computed shape of the same or another rank."""
    for rank in (0, *RANKS):
        for ones in product((False, True), repeat=rank):
            dims = [1 if one else name for one, name in zip(ones, names(rank), strict=True)]
            for count in range(max(rank - 1, 1), min(rank + 2, 5)):
                premises = [z3.Int(f"to{at}") >= 0 for at in range(count)]
                shape = any_integers("to", count)
                yield case(subject, max(rank, count), [open_data("x", dims), shape], {}, premises=premises)


def blocks(subject: Subject) -> Iterator[Case]:
    """Yield DepthToSpace and SpaceToDepth: both orders, blocks of 1 to 3, 1 to 3 channels of each element."""
    modes = ("DCR", "CRD") if "mode" in subject.source.attributes else (None,)
    for mode, block, depth in product(modes, (1, 2, 3), (1, 2, 3)):
        channels = depth * block**2 if subject.operator == "DepthToSpace" else depth
        x = open_data("x", ["N0", channels, "N2", "N3"])
        yield case(subject, 4, [x], {"blocksize": block, "mode": mode})


def old_broadcasts(subject: Subject) -> Iterator[Case]:
    """Yield operators of two inputs at the transition to 7: below by attributes, from then on as in numpy."""
    if subject.since != 7:
        return
    old = "broadcast" in subject.source.attributes
    floats = "tensor(float)" in subject.source.types[subject.source.inputs[0].type]
    element = "float" if floats else "bool"
    for rank in RANKS:
        a = open_data("a", names(rank), element)
        if not old:
            for other in RANKS:
                for ones in product((False, True), repeat=other):
                    dims = [f"N{rank - other + at}" if rank >= other else f"M{at}" for at in range(other)]
                    dims = [1 if one else dim for one, dim in zip(ones, dims, strict=True)]
                    yield case(subject, max(rank, other), [a, open_data("b", dims, element)], {})
            continue
        yield case(subject, rank, [a, open_data("b", names(rank), element)], {})
        for other in range(1, rank + 1):
            for axis in [None, *range(rank - other + 1)]:
                first = rank - other if axis is None else axis
                dims = [f"N{first + at}" for at in range(other)]
                for one in (None, *range(other)) if other > 1 else (None,):
                    own = [1 if at == one else dim for at, dim in enumerate(dims)]
                    yield case(subject, rank, [a, open_data("b", own, element)], {"broadcast": 1, "axis": axis})


def variadic(subject: Subject) -> Iterator[Case]:
    """Yield operators of any number of inputs at the transition to 8, from which on they broadcast.

    Down, all but Sum are computed from other operators.
    """
    if subject.since != 8 or (subject.direction == "down" and subject.operator != "Sum"):
        return
    for rank, count in product(RANKS, (1, 2, 3)):
        whole = [open_data(f"x{number}", names(rank)) for number in range(count)]
        yield case(subject, rank, whole, {})
        if subject.source.since_version >= 8 and count > 1:
            for other in range(rank):
                lower = open_data("y", names(rank)[rank - other :])
                yield case(subject, rank, [*whole[1:], lower], {})
                ones = [1 if axis == other else name for axis, name in enumerate(names(rank))]
                yield case(subject, rank, [open_data("z", ones), *whole[1:]], {})


def triangles(subject: Subject) -> Iterator[Case]:
    """Yield Trilu: both triangles, without a diagonal and with any computed one."""
    for rank, upper in product(RANKS[1:], (0, 1)):
        x = open_data("x", names(rank))
        yield case(subject, rank, [x], {"upper": upper})
        yield case(subject, rank, [x, Given("int64", [], m.scalar(z3.Int("k")))], {"upper": upper})


def reversals(subject: Subject) -> Iterator[Case]:
    """Yield ReverseSequence: both orders of batch and time, any lengths."""
    for rank, batch in product(RANKS[1:], (0, 1)):
        dims = names(rank)
        function = z3.Function("length", z3.IntSort(), z3.IntSort())
        lengths = Given(
            "int64", [dims[batch]], Tensor((z3.Int(str(dims[batch])),), lambda index, f=function: f(index[0]))
        )
        yield case(subject, rank, [open_data("x", dims), lengths], {"batch_axis": batch, "time_axis": 1 - batch})


def element_gathers(subject: Subject) -> Iterator[Case]:
    """Yield GatherElements: each axis, any indices."""
    for rank in RANKS:
        for axis in range(-rank, rank):
            indices = _open_indices(names(rank, "K"))
            premises = [z3.Int(f"K{other}") <= z3.Int(f"N{other}") for other in range(rank) if other != axis % rank]
            yield case(subject, rank, [open_data("x", names(rank)), indices], {"axis": axis}, premises=premises)


CASES: dict[str, Callable[[Subject], Iterator[Case]]] = {
    "Slice": slices,
    "Split": splits,
    "Pad": pads,
    "Squeeze": squeezes,
    "Unsqueeze": unsqueezes,
    "Flatten": flattens,
    "Reshape": reshapes,
    "Gather": gathers,
    "Concat": concats,
    "Tile": tiles,
    "Expand": expands,
    "DepthToSpace": blocks,
    "SpaceToDepth": blocks,
    **dict.fromkeys(
        ("Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Greater", "Less", "Pow"), old_broadcasts
    ),
    **dict.fromkeys(("Sum", "Mean", "Max", "Min"), variadic),
    "Trilu": triangles,
    "ReverseSequence": reversals,
    "GatherElements": element_gathers,
}
"""The forms of nodes, by operator."""
