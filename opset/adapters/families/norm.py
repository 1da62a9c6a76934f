"""Normalization and dropout: versions differ in how a node says that it is in training."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from opset.adapters.building.positions import reshape_exactly
from opset.adapters.building.shared import cast, float32, known_size, need_dims, positive_axis, unsqueeze, working_type
from opset.adapters.limits import MAX_AXES
from opset.model.elements import NUMBERS, element_name
from opset.model.storage.tensor import make_tensor
from opset.model.types import MAX_CONSTANT
from opset.version_converter.registration import down, lower, refuses, up
from opset.version_converter.rewrite import Builder, Node, Refusal, Result

STASHES = frozenset(("float", "double", "float16", "bfloat16"))
IN_TRAINING = "convert a model that was exported for inference"


def _in_training(node: Node) -> bool:
    """Whether a BatchNormalization of version 7 or 9 is in training: it has outputs besides the first."""
    return any(node.output(index) for index in range(1, 5))


def _need_image(node: Node) -> None:
    """Raise Refusal C204 for an input that is no image, the only one that version 1 takes."""
    if (rank := node.need_rank(0)) != 4:
        label = "the input has not four dimensions; version 1 takes images, which have four"
        raise Refusal("C204", f"the input has {rank} dimensions; version 1 takes images, which have four", label=label)


@down("BatchNormalization", since=6)
def batch_normalization_6_down(op: Builder, node: Node) -> Result:
    """Add `consumed_inputs`, which version 1 requires without effect on the result; refuse all but images."""
    _need_image(node)
    return op.copy(node, consumed_inputs=[0, 0, 0, 1, 1] if _in_training(node) else [0] * 5)


@up("BatchNormalization", since=7)
@refuses(
    "C204",
    "`is_test` is 0, for training, and the outputs are those of inference",
    "with `spatial` 0, the shape of the parameters is another one at version 7",
)
def batch_normalization_7_up(op: Builder, node: Node) -> Result:
    """Drop `is_test`: from 7 on the outputs determine training, and a node with one output never was in training.

    Version 1 names two cases, five outputs in training and one in inference, so without `is_test` the outputs decide.
    """
    if not node.attr("spatial") and node.need_rank(0) != 2:
        raise Refusal("C204", "with 'spatial' 0, the shape of the parameters is another one at version 7")
    if node.attr("is_test"):
        return (op.copy(node, outputs=[node.output(0)], drop=["is_test"]), "", "", "", "")
    if node.has("is_test") and not _in_training(node):
        raise Refusal("C204", "'is_test' is 0, for training, and the outputs are those of inference", "set it to 1")
    return op.copy(node, drop=["is_test"])


@down("BatchNormalization", since=7)
def batch_normalization_7_down(op: Builder, node: Node) -> Result:
    """Set `is_test` by the outputs, which determine training from 7 on."""
    if not node.attr("spatial") and node.need_rank(0) != 2:
        raise Refusal("C204", "with 'spatial' 0, the shape of the parameters is another one at version 6")
    return op.copy(node, is_test=int(not _in_training(node)))


@up("BatchNormalization", since=9)
def batch_normalization_9_up(op: Builder, node: Node) -> Result:
    """Flatten the input if `spatial` is 0, so that each position is a channel with its own statistics."""
    if node.attr("spatial"):
        return op.copy(node, drop=["spatial"])
    if _in_training(node):
        raise Refusal("C204", "statistics of each position cannot be expressed in training", IN_TRAINING)
    x = node.input(0)
    if node.rank(0) == 2:
        return op.copy(node, drop=["spatial"])
    flat = op.const([-1])
    parameters = [op.Reshape(name, flat) for name in node.inputs[1:]]
    inputs = [op.Flatten(x), *parameters]
    y = op.copy(node, inputs=inputs, outputs=[op.fresh("rows")], drop=["spatial"])
    return op.Reshape(y, op.Shape(x))


@down("BatchNormalization", since=9)
@refuses("C204", "an input of one dimension cannot be expressed in training")
def batch_normalization_9_down(op: Builder, node: Node) -> Result:
    """Add a dimension to an input of one dimension, which was not defined before; the vector is one channel."""
    if node.need_rank(0) != 1:
        return None
    if _in_training(node):
        raise Refusal("C204", "an input of one dimension cannot be expressed in training", IN_TRAINING)
    column = op.Unsqueeze(node.input(0), axes=[1])
    inputs = [column, *node.inputs[1:]]
    y = op.copy(node, inputs=inputs, outputs=[op.fresh("column")])
    return op.Squeeze(y, axes=[1])


@up("BatchNormalization", since=14)
def batch_normalization_14_up(op: Builder, node: Node) -> Result:
    """Set `training_mode` by the outputs; the saved statistics were removed."""
    if not _in_training(node):
        return op.copy(node, outputs=[node.output(0)])
    outputs = [node.output(0), node.output(1) or op.fresh("mean"), op.fresh("variance")]
    op.copy(node, outputs=outputs, training_mode=1)
    return node.output(0), node.output(1)


@down("BatchNormalization", since=14)
def batch_normalization_14_down(op: Builder, node: Node) -> Result:
    """Write out training by its formula, since the variance was not defined before, else drop the attribute."""
    if node.attr("training_mode"):
        return _training_outputs(op, node)
    elements = [node.need_element(index) for index in range(5)]
    if elements[0] == elements[3] == elements[4]:
        return (op.copy(node, outputs=[node.output(0)], drop=["training_mode"]), "", "")
    return _inference_in_one_type(op, node, elements, ["training_mode"])


def _inference_in_one_type(op: Builder, node: Node, elements: list[str], drop: list[str]) -> Result:
    """Return the outputs of BatchNormalization in inference, with all inputs cast to a type that holds their values."""
    wide = "double" if "double" in elements else "float"
    inputs = [cast(op, name, element, wide) for name, element in zip(node.inputs, elements, strict=True)]
    y = op.copy(node, inputs=inputs, outputs=[op.fresh("wide")], drop=drop)
    return cast(op, y, wide, elements[0]), "", ""


def _training_outputs(op: Builder, node: Node) -> Result:
    """Return the outputs of BatchNormalization in training, by its formula, in FLOAT or DOUBLE."""
    rank = node.need_rank(0)
    elements = [node.need_element(index) for index in range(5)]
    wide = working_type(elements[0])
    if rank < 1:
        raise Refusal("C103", "the input has no dimensions")
    axes = [axis for axis in range(rank) if axis != 1]
    x, scale, bias, old_mean, old_variance = (
        cast(op, name, element, wide) for name, element in zip(node.inputs, elements, strict=True)
    )
    kept, whole = (op.const(value, wide) for value in (node.attr("momentum"), 1.0))

    def along_channels(values: str) -> str:
        return op.Unsqueeze(values, op.const(list(range(1, rank - 1)))) if rank > 2 else values

    def running_mean(index: int, previous: str, current: str) -> str:
        if not node.output(index):
            return ""
        flat = op.Reshape(current, op.const([-1]))
        return cast(op, op.Add(op.Mul(previous, kept), op.Mul(flat, op.Sub(whole, kept))), wide, elements[index + 2])

    mean = op.ReduceMean(x, axes=axes)
    centered = op.Sub(x, mean)
    variance = op.ReduceMean(op.Mul(centered, centered), axes=axes)
    deviation = op.Sqrt(op.Add(variance, op.const(node.attr("epsilon"), wide)))
    normal = op.Div(centered, deviation)
    y = cast(op, op.Add(op.Mul(normal, along_channels(scale)), along_channels(bias)), wide, elements[0])
    return y, running_mean(1, old_mean, mean), running_mean(2, old_variance, variance)


@down("BatchNormalization", since=15)
def batch_normalization_15_down(op: Builder, node: Node) -> Result:
    """Write out training in narrow types, whose precision version 14 leaves open; bring parameters to one type."""
    elements = [node.need_element(index) for index in range(5)]
    if node.attr("training_mode"):
        alike = elements[0] in ("float", "double") and len(set(elements)) == 1
        return None if alike else _training_outputs(op, node)
    if elements[0] == elements[1]:
        return None
    return _inference_in_one_type(op, node, elements, [])


@up("Dropout", since=7)
def dropout_7_up(op: Builder, node: Node) -> Result:
    """Replace by the input: with `is_test` nothing is dropped; without it, version 7 leaves that open."""
    if not node.attr("is_test"):
        raise Refusal("C204", "'is_test' is 0: elements are dropped, and version 7 leaves that open", "set it to 1")
    return node.input(0), ""


@down("Dropout", since=7)
def dropout_7_down(op: Builder, node: Node) -> Result:
    """Set `is_test`: a node that leaves dropping to the runtime is meant for inference, without a mask."""
    return (op.copy(node, outputs=[node.output(0)], is_test=1), "")


@up("Dropout", since=10)
def dropout_10_up(op: Builder, node: Node) -> Result:
    """Cast the mask to the type of the data, which it had before 10."""
    return _cast_mask(op, node, lambda: node.need_element(0))


@down("Dropout", since=10)
def dropout_10_down(op: Builder, node: Node) -> Result:
    """Cast the mask to bool, which it is from 10 on."""
    return _cast_mask(op, node, lambda: "bool")


def _cast_mask(op: Builder, node: Node, element: Callable[[], str]) -> Result:
    """Return the outputs with the mask cast to a type; a mask that is not read is dropped, None means no mask."""
    if not node.output(1):
        return None
    if not node.values.is_read(node.output(1)):
        return (op.copy(node, outputs=[node.output(0)]), "")
    number = NUMBERS[element()]
    y, mask = op.copy(node, outputs=[node.output(0), op.fresh("kept")])
    return y, op.Cast(mask, to=number)


@up("Dropout", since=12)
def dropout_12_up(op: Builder, node: Node) -> Result:
    """Write the ratio as an input; without `training_mode` the node is in inference.

    The mask of inference is defined from 12 on: true everywhere. Runtimes returned other ones before.
    """
    if node.output(1) and node.values.is_read(node.output(1)):
        raise Refusal("C204", "the mask is true everywhere from 12 on, and runtimes returned other ones before")
    inputs = [node.input(0)]
    if node.has("ratio"):
        inputs.append(op.const(node.attr("ratio"), "float"))
    if not node.output(1) and len(inputs) == 1:
        return None
    return (op.copy(node, inputs=inputs, outputs=[node.output(0)], drop=["ratio"]), "")


@down("Dropout", since=12)
def dropout_12_down(op: Builder, node: Node) -> Result:
    """Replace by the data and a true mask if nothing is dropped, else drop elements by random numbers."""
    x = node.input(0)
    read = bool(node.output(1)) and node.values.is_read(node.output(1))
    mode = node.constant(2) if node.input(2) else None
    is_zero = [constant is not None and not any(constant.values) for constant in (node.constant(1), mode)]
    if not node.input(2) or any(is_zero):
        if not read:
            return x, ""
        return x, op.ConstantOfShape(op.Shape(x), value=make_tensor("", NUMBERS["bool"], [1], [True]))
    return _drop_elements(op, node, "" if mode is not None else node.input(2))


def _drop_elements(op: Builder, node: Node, training: str) -> Result:
    """Return the elements that are kept, divided by 1 - ratio, and the mask; all if `training` (if not "") is false."""
    element = node.need_element(0)
    wide = working_type(node.need_element(0))
    x = cast(op, node.input(0), element, wide)
    one = op.const(1.0, wide)
    ratio = op.const(0.5, wide)
    if node.input(1):
        ratio = cast(op, node.input(1), node.need_element(1), wide)
    seed = node.attr("seed")
    drawn = op.RandomUniformLike(x, dtype=NUMBERS[wide], seed=None if seed is None else float32(seed))
    kept = op.Not(op.Less(drawn, ratio))
    y = op.Where(kept, op.Div(x, op.Sub(one, ratio)), op.const(0.0, wide))
    if training:
        kept = op.Or(kept, op.Not(training))
        y = op.Where(training, y, x)
    return cast(op, y, wide, element), kept


@up("GroupNormalization", since=21)
def group_normalization_21_up(op: Builder, node: Node) -> Result:
    """Repeat each group's scale and bias for its channels; set `stash_type` to the type of the data."""
    element = node.need_element(0)
    groups = node.attr("num_groups")
    scales = known_size(node, 1, 0)
    if scales not in (None, groups):
        raise Refusal("C103", f"'num_groups' is {groups}, and there are {scales} scales")
    channels = known_size(node, 0, 1)
    inputs = [node.input(0)]
    if channels is not None:
        if channels % groups:
            raise Refusal("C103", f"{channels} channels cannot be divided into {groups} groups")
        repeats = op.const([1, channels // groups])
    else:
        per_group = op.Div(op.Shape(node.input(0), start=1, end=2), op.const([groups]))
        repeats = op.Concat(op.const([1]), per_group, axis=0)
    for index in (1, 2):
        column = op.Unsqueeze(node.input(index), op.const([1]))
        inputs.append(op.Reshape(op.Expand(column, repeats), op.const([-1])))
    return op.copy(node, inputs=inputs, stash_type=None if element == "float" else NUMBERS[element])


@down("GroupNormalization", since=21)
@refuses("C204", "this `stash_type` cannot be expressed")
def group_normalization_21_down(op: Builder, node: Node) -> Result:
    """Normalize each group as a channel of InstanceNormalization, in the stated precision; version 18 is withdrawn."""
    element = node.need_element(0)
    shape = need_dims(node, 0)
    rank = len(shape)
    stash = _stash_type(node)
    if rank < 2:
        raise Refusal("C103", f"the input has {rank} dimensions, too few for channels")
    if 0 in shape:
        return op.Identity(node.input(0))
    y = _ungroup(op, node, _normalized_groups(op, node, element, stash))
    y = _round_to_stash(op, y, stash, element)
    scale, bias = (
        op.Unsqueeze(name, op.const(list(range(1, rank - 1)))) if rank > 2 else name for name in node.inputs[1:3]
    )
    return _scale_and_shift(op, y, scale, bias, element)


@lower("GroupNormalization", since=18)
@refuses("C204", "this `num_groups` cannot be expressed")
def group_normalization_lowered(op: Builder, node: Node) -> Result:
    """Normalize each group as a channel of InstanceNormalization, with its scale and bias."""
    element = node.need_element(0)
    if 0 in (node.shape(0) or ()):
        return op.Identity(node.input(0))
    y = _round_to_stash(op, _normalized_groups(op, node, element, element), element, element)
    scale, bias = (unsqueeze(op, name, [1]) for name in node.inputs[1:3])
    return _ungroup(op, node, _scale_and_shift(op, y, scale, bias, element))


def _image_sizes(node: Node) -> list[int] | None:
    """Return the sizes of an image, the channels first; None if they are not all known."""
    sizes = (node.shape(0) or (None,))[1:]
    known_sizes = [size for size in sizes if isinstance(size, int)]
    return known_sizes if sizes and len(known_sizes) == len(sizes) else None


def _ungroup(op: Builder, node: Node, y: str) -> str:
    """Return the groups in the shape of the data, in which an unknown size may be 0."""
    shape = op.Shape(node.input(0))
    return str(op.Reshape(y, shape)) if _image_sizes(node) else reshape_exactly(op, y, shape, node.rank(0))


def _normalized_groups(op: Builder, node: Node, element: str, stash: str) -> str:
    """Return the groups as normalized rows, in the working type of `stash`, not yet rounded to `stash`."""
    groups = node.attr("num_groups")
    wide = working_type(stash)
    if groups > MAX_CONSTANT:
        label = "this `num_groups` cannot be expressed"
        raise Refusal("C204", f"'num_groups' {groups} cannot be expressed", label=label)
    x = cast(op, cast(op, node.input(0), element, stash), stash, wide)
    ones, zeros = (op.const([value] * groups, wide) for value in (1.0, 0.0))
    return op.InstanceNormalization(_split_into_groups(op, node, x, groups), ones, zeros, epsilon=node.attr("epsilon"))


def _split_into_groups(op: Builder, node: Node, x: str, groups: int) -> str:
    """Return data with the groups as channels, without a -1, which would not do for a batch of no images.

    An unknown size may be 0, for which Reshape would copy a size of the data.
    """
    sizes = _image_sizes(node)
    if sizes is not None:
        return str(op.Reshape(x, op.const([0, groups, prod(sizes) // groups])))
    inner = op.ReduceProd(op.Shape(node.input(0), start=1))
    images = op.Shape(node.input(0), end=1)
    shape = op.Concat(images, op.const([groups]), op.Div(inner, op.const([groups])), axis=0)
    return reshape_exactly(op, x, shape, 3)


@down("InstanceNormalization", since=6)
def instance_normalization_6_down(op: Builder, node: Node) -> Result:
    """Refuse all but images: version 1 takes four dimensions."""
    _need_image(node)
    return None


@lower("LayerNormalization", since=17)
@refuses("C204", "this `stash_type` cannot be expressed")
def layer_normalization_lowered(op: Builder, node: Node) -> Result:
    """Write the formula, in the type of `stash_type` up to the scale, as the operator is defined."""
    element, stash, x, axes = _normalization_input(op, node)
    wide = working_type(stash)
    mean = _mean(op, x, axes)
    centered = op.Sub(x, mean)
    deviation = _deviation(op, node, centered, axes, wide)
    y = _round_to_stash(op, op.Div(centered, deviation), stash, element)
    y = _scale_and_shift(op, y, node.input(1), node.input(2), element)
    inverse = op.Reciprocal(deviation) if node.output(2) else ""
    return y, *(
        cast(op, statistic, wide, stash) if node.output(i) else "" for i, statistic in enumerate((mean, inverse), 1)
    )


@lower("RMSNormalization", since=23)
@refuses("C204", "this `stash_type` cannot be expressed")
def rms_normalization_lowered(op: Builder, node: Node) -> Result:
    """Write the formula, in the type of `stash_type` up to the scale, as the operator is defined."""
    element, stash, x, axes = _normalization_input(op, node)
    deviation = _deviation(op, node, x, axes, working_type(stash))
    y = _round_to_stash(op, op.Div(x, deviation), stash, element)
    of_scale = node.need_element(1)
    if of_scale == element:
        return op.Mul(y, node.input(1))
    both = "double" if "double" in (element, of_scale) else "float"
    return cast(op, op.Mul(cast(op, y, element, both), cast(op, node.input(1), of_scale, both)), both, of_scale)


def _normalization_input(op: Builder, node: Node) -> tuple[str, str, str, list[int]]:
    """Return the type of the input, the type of `stash_type`, the input rounded to that and widened, and the axes."""
    element = node.need_element(0)
    stash = _stash_type(node)
    axis = node.attr("axis")
    if axis >= 0 or axis < -MAX_AXES:
        positive_axis(axis, node.need_rank(0))
    # Axes from a negative one on are the same for every rank.
    axes = list(range(axis, 0 if axis < 0 else node.need_rank(0)))
    return element, stash, cast(op, cast(op, node.input(0), element, stash), stash, working_type(stash)), axes


def _stash_type(node: Node) -> str:
    """Return the type of `stash_type`; raise Refusal C204 if it cannot be expressed."""
    stash = element_name(node.attr("stash_type"))
    if stash not in STASHES:
        label = "this `stash_type` cannot be expressed"
        raise Refusal("C204", f"'stash_type' {node.attr('stash_type')} cannot be expressed", label=label)
    return stash


def _mean(op: Builder, x: str, axes: list[int]) -> str:
    """Return the mean over axes, which are kept as dimensions of 1; from version 18 on, the axes are an input."""
    return op.ReduceMean(x, op.const(axes)) if op.version >= 18 else op.ReduceMean(x, axes=axes)


def _deviation(op: Builder, node: Node, centered: str, axes: list[int], element: str) -> str:
    """Return the root of the mean of squares plus `epsilon`."""
    # The squares are powers: onnxruntime recognizes that form of the formula and runs its own kernel for it.
    squares = op.Pow(centered, op.const(2.0, element))
    return op.Sqrt(op.Add(_mean(op, squares, axes), op.const(node.attr("epsilon"), element)))


def _scale_and_shift(op: Builder, y: str, scale: str, bias: str, element: str) -> str:
    """Return y * scale + bias with one rounding: in a narrow type, a rounded product would show in a small sum."""
    if not bias:
        return op.Mul(y, scale)
    wide = working_type(element)
    y, scale, bias = (cast(op, value, element, wide) for value in (y, scale, bias))
    return cast(op, op.Add(op.Mul(y, scale), bias), wide, element)


def _round_to_stash(op: Builder, y: str, stash: str, element: str) -> str:
    """Return a value computed for the type of `stash_type`, rounded to that and cast to the type of the input."""
    return cast(op, cast(op, y, working_type(stash), stash), stash, element)
