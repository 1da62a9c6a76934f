"""Nothing is as long as a size says before that is charged: the code is read for ranges, products, powers and lists.

An expression whose length or value follows from something else than lengths and ranks needs, before it in its function,
a charge or a comparison with a limit in capitals; or a reason in DECIDED.
"""

import ast
from pathlib import Path

import pytest

import opset

ROOT = Path(opset.__file__).parent
FILES = [
    path
    for folder in ("inference", "version_converter", "adapters", "schemas", "reference", "tensor_io")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "kernels" not in path.parts
]
CHARGES = {"charge", "charge_elements", "hold", "reserve", "check_bytes", "small_count"}
RANKS = {"rank", "need_rank", "len", "charge_elements", "input_count", "output_count"}
"""Functions, attributes and parameters whose numbers are as small as the file: a rank is that of a stated shape."""
DECIDED = {
    "elements of a small constant, or along the axes of one: at most MAX_DATA": """
        inference/families/create.constant_of_shape_9_data inference/families/create.range_11_data
        inference/building/elements.pick_elements inference/families/indexing.gather_1_data
        inference/families/indexing._tuple_offsets inference/families/indexing.compress_9_data
        inference/families/indexing.scatter_nd_11_data inference/families/indexing._write_updates
        inference/families/layout.concat_1_data inference/families/layout._elements_or_unknown
        inference/families/layout.tile_6_data inference/families/reduce._accumulate
        inference/families/resize._elements_of_input inference/families/slicing._slice_bounds
        inference/families/slicing.slice_1_data inference/families/slicing.split_1_data
        inference/families/slicing.pad_1_data""",
    "as many as `count` gives: at most MAX_LISTED": """
        tensor_io/demands._first_axes tensor_io/demands.resolve_range tensor_io/demands._grid_size
        tensor_io/demands._shape_of_as_many tensor_io/demands._sizes_of_parts tensor_io/demands._expanded_shape""",
    "passes, of which the caller bounds the number; places of an axis; parts of data that was read": """
        inference/axes/tracking._search inference/axes/tracking.follow inference/axes/tracking._slices_are_equal""",
    "ranks, axes, inputs, outputs and bodies of the node, which stand in the file": """
        inference/axes/tracking._require_fit
        inference/axes/carriers/arranging.concat inference/axes/carriers/elementwise.along_one
        inference/axes/carriers/elementwise.broadcasting inference/axes/carriers/elementwise.normalize_behind
        inference/axes/carriers/elementwise.unary inference/axes/carriers/learned.feature_vectorizer
        inference/axes/carriers/moving._same_place inference/axes/carriers/products.einsum
        inference/axes/carriers/products.matmul inference/axes/carriers/windows.batch_normalization
        inference/axes/carriers/windows.per_image inference/axes/carriers/sequences.construct
        inference/axes/carriers/sequences.insert inference/axes/carriers/sequences.split
        inference/axes/carriers/sequences.take inference/axes/graphs._carry_through_scan
        inference/families/control_flow.scan_9 inference/families/control_flow.scan_8
        inference/families/control_flow._numbers_of_attribute inference/building/einsum.parse_equation
        inference/building/elements.broadcast_shape inference/engine/engine._abandon_rest
        inference/families/indexing.scatter_9 inference/families/reshape.squeeze_13
        inference/rules/elementwise.broadcast_shapes inference/families/sequence.concat_from_sequence_11
        inference/families/training._types_of_update version_converter/derivation.check_types
        version_converter/derivation._convert_inputs version_converter/rewrite._make
        version_converter/rewrite.arguments version_converter/validity.plain_nodes_fit
        version_converter/lacks.formals_of
        adapters/families/attention.tensor_scatter_lowered adapters/families/binary.axis_to_broadcasting
        adapters/families/binary.broadcasting_to_axis
        adapters/families/control_flow.scan_9_down adapters/families/control_flow.scan_lowered
        adapters/families/control_flow._numbers_of_attribute
        adapters/families/control_flow.scan_11_down adapters/families/conv._kernel_positions
        adapters/families/indexing._flat_positions adapters/building/interpolation._resize_axis
        adapters/families/linalg._as_matrices adapters/families/indexing.unique_lowered
        adapters/families/norm.along_channels adapters/building/positions.merge_first_axes
        adapters/families/reduce._accumulation_loop
        adapters/families/reshape.squeeze_13_down adapters/families/indexing.gather_nd_12_down
        adapters/families/slicing.split_18_down adapters/families/slicing._split_at_run_time
        schemas/constraints/input_shapes._indices_of reference/engine/checks.check_inputs
        reference/derivatives._keep_axes reference/engine/gradients.gradients
        reference/numerics/broadcasting.align_at_axis reference/numerics/broadcasting.sum_to""",
    "a few, by the operator or its lowering: halves, digits, spatial axes, parts of a complex number": """
        inference/families/sampling.affine_grid_20 adapters/families/sampling._neighbors_of
        adapters/families/sampling.affine_grid_lowered adapters/families/signal.dft_20_down
        adapters/families/signal.dft_lowered adapters/families/signal.stft_lowered
        adapters/families/reduce._single_axis_steps""",
    "bits or digits of an element type": """
        tensor_io/random_inputs._range_of inference/families/cast._lowest_bits adapters/families/binary.bitwise_lowered
        adapters/families/binary._hexadecimal_digits adapters/families/cast._float_of_bits
        adapters/families/linalg._parts_of_integers adapters/families/linalg._product_of_integers
        adapters/families/unary.bitwise_not_lowered schemas/yaml/examples.element
        reference/numerics/products._product_of_digits""",
    "the exponent is at most 64": "inference/families/binary._raise_to_power inference/families/binary._exact_power",
    "versions of the operator set of the target, which is known": "version_converter/rewrite._written_in",
    "the caller, or what is called before, has compared or charged it": """
        adapters/families/resize._nearest_indices inference/families/ml_trees._check_trees
        inference/building/shapes.equal_parts adapters/families/create._positions_of_entries
        adapters/families/indexing._compare_rows adapters/building/interpolation._coordinates
        adapters/families/layout._regrouping_order adapters/families/indexing._merge_index_tuples
        adapters/families/ml_trees._ensemble_attributes adapters/families/pool._positions_of_maxima
        adapters/families/regions._points_along""",
    "each makes a node, which is charged": "adapters/building/positions.integers_of",
    "a range, of which no list is made": """
        adapters/families/create._elements_of_range adapters/families/slicing._slice_indices""",
    "a text or not": "schemas/lint/hook_rules.check_lost_functions",
    "arrays, whose bytes are held": """
        reference/derivatives._power reference/numerics/error_function.erf reference/numerics/windows.taps
        reference/numerics/windows._taps_within tensor_io/random_inputs.draw_value""",
}
"""Functions by the reason for which what is in them is bounded."""


def name_of(node):
    """Return the last name of a call, an attribute or a name."""
    node = node.func if isinstance(node, ast.Call) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class Reading(ast.NodeVisitor):
    """Finds in one function what is as long as a number that is not bounded there."""

    def __init__(self, function):
        self.found, self.bounded, self.charged = [], set(), []
        arguments = function.args
        self.bounded |= {each.arg for each in (*arguments.args, *arguments.kwonlyargs)} & RANKS
        # In the order of the text: what bounds or charges stands before.
        nodes = sorted(self.within(function), key=lambda node: (node.lineno, node.col_offset))
        for _ in range(2):  # names are bounded by names below them, in loops
            for node in nodes:
                self.learn(node)
        self.found = [node for node in nodes if self.is_risky(node) and not self.is_covered(node)]

    def within(self, function):
        """Yield the nodes of a function, those of functions inside of it aside."""
        for child in ast.iter_child_nodes(function):
            if not isinstance(child, ast.FunctionDef):
                if hasattr(child, "lineno"):
                    yield child
                yield from self.within(child)

    def learn(self, node):
        if isinstance(node, ast.Call) and name_of(node) in CHARGES:
            self.charged.append(node.lineno)
        if isinstance(node, ast.Compare) and any(name_of(each).isupper() for each in ast.walk(node)):
            self.charged.append(node.lineno)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self.bind(target, node.value)
        if isinstance(node, ast.For):
            self.loop(node.target, node.iter)
        for each in getattr(node, "generators", ()):
            self.loop(each.target, each.iter)

    def bind(self, target, value):
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for each, part in zip(target.elts, value.elts, strict=True):
                self.bind(each, part)
        elif isinstance(target, ast.Name) and self.is_bounded(value):
            self.bounded.add(target.id)

    def loop(self, target, iterable):
        """Learn that the counter of a loop is bounded: of enumerate, or a range of what is."""
        kind = name_of(iterable) if isinstance(iterable, ast.Call) else ""
        if kind == "reversed":
            self.loop(target, iterable.args[0])
        elif kind == "enumerate" and isinstance(target, ast.Tuple):
            self.bounded.add(name_of(target.elts[0]))
        elif kind == "range" and isinstance(target, ast.Name) and all(map(self.is_bounded, iterable.args)):
            self.bounded.add(target.id)

    def is_bounded(self, node):
        match node:
            case ast.Constant():
                return True
            case ast.Call() if name_of(node) == "min":
                return any(map(self.is_bounded, node.args))
            case ast.Call() if name_of(node) == "max":
                return all(map(self.is_bounded, node.args))
            case ast.Call():
                return name_of(node) in RANKS
            case ast.Attribute():
                return node.attr in RANKS or node.attr.isupper()
            case ast.Name():
                return node.id in self.bounded or node.id.isupper()
            case ast.UnaryOp():
                return self.is_bounded(node.operand)
            case ast.BinOp(op=ast.Mod()):
                return self.is_bounded(node.right)
            case ast.BinOp():
                return self.is_bounded(node.left) and self.is_bounded(node.right)
            case ast.IfExp():
                return self.is_bounded(node.body) and self.is_bounded(node.orelse)
            case ast.Compare() | ast.BoolOp():
                return True
        return False

    def is_risky(self, node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "range":
                return not all(map(self.is_bounded, node.args))
            return node.func.id in ("repeat", "tee") and not all(map(self.is_bounded, node.args[1:]))
        if not isinstance(node, ast.BinOp):
            return False
        if isinstance(node.op, (ast.Pow, ast.LShift)):
            return not self.is_bounded(node.right)
        lists = (ast.List, ast.Tuple, ast.JoinedStr)
        sides = [node.left, node.right] if isinstance(node.op, ast.Mult) else []
        return any(isinstance(each, lists) for each in sides) and not all(
            isinstance(each, lists) or self.is_bounded(each) for each in sides
        )

    def is_covered(self, node):
        return any(line <= node.end_lineno for line in self.charged)


def uncharged(text):
    """Return the risky expressions of a module by the functions that they are in."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    return {each.name: [ast.unparse(node) for node in found] for each in functions if (found := Reading(each).found)}


EXAMPLES = {
    "def f(shape):\n    return range(len(shape))": {},
    "def f(rank):\n    return [1] * rank + [0] * (2 * rank)": {},
    "def f(size):\n    return [1] * size": {"f": ["[1] * size"]},
    "def f(op, size):\n    return [1] * op.charge_elements(size)": {},
    "def f(node, size):\n    node.charge(size)\n    return (1,) * size": {},
    "def f(node, size):\n    x = (1,) * size\n    node.charge(size)\n    return x": {"f": ["(1,) * size"]},
    "def f(size):\n    return list(range(size)) if size <= LIMIT else None": {},
    "def f(rank, count):\n    return (2 * rank) ** count": {"f": ["(2 * rank) ** count"]},
    "def f(shape):\n    count = len(shape)\n    for axis in range(count):\n        yield [0] * axis": {},
    "def f(sizes):\n    for size in sizes:\n        yield range(0, size)": {"f": ["range(0, size)"]},
    "def f(a):\n    count = a.size\n    def g():\n        return [0] * count\n    return g": {"g": ["[0] * count"]},
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_what_is_found(text):
    assert uncharged(text) == EXAMPLES[text]


def test_every_length_is_charged_or_bounded():
    found = {}
    for path in FILES:
        place = path.relative_to(ROOT).with_suffix("").as_posix()
        found |= {f"{place}.{name}": what for name, what in uncharged(path.read_text(encoding="utf-8")).items()}
    decided = {name for names in DECIDED.values() for name in names.split()}
    assert {name: what for name, what in found.items() if name not in decided} == {}
    assert decided <= found.keys()
