"""One node as a carrier sees it: its inputs with their places, and the changes that let it carry the axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from opset.inference.axes.edits import Edits
from opset.inference.axes.places import Blocked, Chosen, Place
from opset.inference.building.call import Call, Constant
from opset.inference.building.dimensions import Dim, Size, equal, variables
from opset.inference.building.types import Type


class Follower(Protocol):
    """The part of a Tracking (one pass through a graph along an axis) that the steps of its nodes use."""

    places: dict[str, Place]
    sized: dict[str, Constant]
    before: Size
    after: Size
    edits: Edits

    def choose(self, candidates: Sequence[Chosen]) -> Chosen:
        """Return the candidate that the pass was told to take at this decision, by default the first one.

        A decision is a call with several candidates. The pass holds a list with the position of the candidate to take
        for each decision, in order.
        """

    def input_label(self, call: Call, index: int) -> str:
        """Return an input's parameter name and value name, as messages show them: "shape 's'"."""

    def has_equal_slices(self, name: str, axis: int) -> bool:
        """Whether all slices of the value `name` along `axis`, counted from the end, are certainly equal."""

    def is_empty_sequence(self, name: str) -> bool:
        """Whether the value `name` is certainly a sequence without elements."""


class AxisStep:
    """A node through which the resized axis, such as the batch, is followed, as the function of its operator sees it.

    Its methods also record changes of the node, which are made in the resized model.

    - `call`: the node, with the types and elements of the model as it is;
    - `outputs`: the types of its outputs, None if unknown;
    - `before`, `after`: the old size of the resized axis, and the variable that stands for the new one.
    """

    def __init__(self, tracking: Follower, index: int, call: Call, outputs: Sequence[Type | None]) -> None:
        """Store the node at `index` of a graph: its `call`, and the types of its outputs."""
        self._tracking = tracking
        self._index = index
        self.call = call
        self.outputs = outputs
        self.before = tracking.before
        self.after = tracking.after

    # -- what is known --

    @property
    def count(self) -> int:
        """The number of inputs that the node lists; an omitted input before a later one counts, too."""
        return len(self.call.names)

    def place(self, index: int) -> Place | None:
        """Return the place of the resized axis in the input at `index`.

        The result is None if the input does not have the axis, or is absent.
        """
        return self._tracking.places.get(self.call.names[index]) if self.call.has(index) else None

    def data_place(self) -> Place:
        """Return the place of the resized axis in the first input.

        Raises Blocked if the first input does not have the axis: then another input has it.
        """
        place = self.place(0)
        if place is None:
            raise Blocked(f"{self._name(0)} does not have it, and another input does")
        return place

    def own_place(self, index: int) -> Place | None:
        """Return the place of the resized axis in the input at `index`, or None if the input does not have it.

        Raises Blocked if the resized axis is merged with another axis in the input.
        """
        place = self.place(index)
        if place is not None and not place.is_own:
            raise Blocked(f"{self._name(index)} has it merged with another axis")
        return place

    def shape(self, index: int) -> tuple[Size, ...]:
        """Return the shape of the input at `index` in the model as it is. Raises Blocked if its rank is not known."""
        shape = self.call.shape(index)
        if shape is None:
            raise Blocked(f"the rank of {self._name(index)} is not known")
        return shape

    def shape_after(self, index: int) -> tuple[Size, ...]:
        """Return the shape of the input at `index` in the resized model. Raises Blocked if its rank is not known."""
        return self._shape_after(self.shape(index), self.place(index))

    def output_shape(self) -> tuple[Size, ...]:
        """Return the shape of the first output in the model as it is.

        Raises Blocked if the rank is not known, or if there is no output.
        """
        type_ = self.outputs[0] if self.outputs else None
        if type_ is None or type_.shape is None:
            raise Blocked("the shape of its output is not known")
        return type_.shape  # type: ignore[return-value]  # inference gives each unknown size a variable

    def output_after(self, place: Place) -> tuple[Size, ...]:
        """Return the shape that the first output has in the resized model if the resized axis is at `place`.

        Raises Blocked if the output's shape in the unchanged model is not fully known.
        """
        return self._shape_after(self.output_shape(), place)

    def elements(self, index: int) -> Constant | None:
        """Return the elements of an input in the resized model, or None if they are unknown or the input is absent.

        Raises:
            Blocked: the input has the resized axis.
        """
        if not self.call.has(index):
            return None
        self.require_shared(index)
        sized = self._tracking.sized.get(self.call.names[index])
        return sized or self.call.constant(index)

    def numbers(self, index: int, attribute: str = "") -> tuple[Size, ...]:
        """Return the integers of the input at `index` in the resized model.

        If the input is absent, the result has the integers of the attribute named `attribute`, one or several. The
        result is empty if the input and the attribute are absent.

        Raises Blocked if elements of the input are not known, or if a dimension of the input is the resized axis.
        """
        if not self.call.has(index):
            given = self.call.attribute(attribute) if attribute else None
            return (given,) if isinstance(given, int) else given or ()
        data = self.elements(index)
        if data is None or None in data.values:
            raise Blocked(f"the elements of {self._name(index)} are not known")
        return tuple([size for size in data.values if isinstance(size, int | Dim)])

    def is_empty_sequence(self, index: int) -> bool:
        """Whether the input at `index` is certainly a sequence without elements."""
        return self._tracking.is_empty_sequence(self.call.names[index])

    def axis(self, axis: int, rank: int) -> int:
        """Return `axis` as counted from 0; a negative axis is counted from the end of `rank` axes."""
        return axis + rank * (axis < 0)

    def axes(self, axes: Iterable[Size], rank: int) -> list[int]:
        """Return axes as counted from 0, of `rank` axes. Raises Blocked if one of them is not known."""
        found = []
        for axis in axes:
            if not isinstance(axis, int):
                raise Blocked("its axes are not known")
            found.append(self.axis(axis, rank))
        return found

    def require_shared(self, *indices: int) -> None:
        """Raise Blocked if an input at one of `indices` has the resized axis.

        The node uses the whole input for every slice of its data, as Conv uses its weights.
        """
        for index in indices:
            if self.place(index) is not None:
                raise Blocked(f"{self._name(index)} has it, and is used for all of them")

    def is_old_size(self, size: Size) -> bool:
        """Whether a size in the model as it is certainly equals the old size of the resized axis."""
        return equal(size, self.before) is True

    def depends_on_axis(self, size: Size) -> bool:
        """Whether a size in the resized model depends on the new size of the resized axis; False for a number."""
        return not variables(size).isdisjoint(variables(self.after))

    # -- what changes --

    def choose(self, candidates: Sequence[Place]) -> Place:
        """Return one of several possible places of the axis: the first one, or a later one in a new attempt.

        An attempt follows the axis through all nodes. If a node cannot carry the axis, the next attempt may get another
        place here.
        """
        return self._tracking.choose(candidates)

    def set_elements(self, index: int, elements: Sequence[Size], why: str) -> None:
        """Change the node: its integer input at `index` gets these elements, which may depend on the new size.

        If the new size is a number, it is put in first. The input becomes a new initializer; if an element is still
        symbolic, new nodes compute the input at run time. `why` becomes part of a note for the user. Raises Blocked if
        a symbolic element is no integer multiple of the new size.
        """
        name = self._tracking.edits.vector(self.call.names[index], elements, self.call.dtype(index))
        self._tracking.edits.replace(self._index, index, name, self._name(index), why)

    def set_attribute(self, name: str, elements: Sequence[Size], why: str) -> None:
        """Change the node: an attribute gets these integers, and `why` becomes part of a note for the user.

        Raises Blocked if an integer would have to be a variable.
        """
        self._tracking.edits.set_attribute(self._index, name, elements, why)

    def can_repeat(self, index: int, axis: int) -> bool:
        """Whether the input at `index`, which does not carry the resized axis, can be repeated along `axis`.

        Its size along `axis` must certainly equal the old size of the resized axis, and its slices along `axis` must
        certainly equal one another. Raises Blocked if the rank of the input is unknown.
        """
        shape = self.shape(index)
        if not self.is_old_size(shape[axis]):
            return False
        return self.before == 1 or self._tracking.has_equal_slices(self.call.names[index], axis - len(shape))

    def repeat(self, index: int, axis: int) -> None:
        """Change the node: its input at `index`, which lacks the resized axis, gets the new size along `axis`.

        A new Expand repeats the first slice.

        Raises:
            Blocked: the size of the input along `axis` is not the old size, its slices along `axis` are not certainly
                equal, or the model's opset has no Expand.
        """
        name = self.call.names[index]
        shape = self.shape(index)
        if not self.is_old_size(shape[axis]):
            raise Blocked(f"{self._name(index)} has {shape[axis]} along axis {axis}, and the axis {self.before}")
        if self.before != 1:
            name = self._narrow(index, axis)
        vector = [self.after if each == axis else 1 for each in range(len(shape))]
        made = self._tracking.edits.expand(self._index, name, vector)
        self._tracking.edits.replace(self._index, index, made, self._name(index), "repeated")

    def narrow(self, index: int, axis: int) -> None:
        """Change the node: its input at `index` becomes the first slice of this input along `axis`.

        Raises Blocked if the slices of the input along `axis` are not certainly equal.
        """
        name = self._narrow(index, axis)
        self._tracking.edits.replace(self._index, index, name, self._name(index), "one slice for all")

    def _narrow(self, index: int, axis: int) -> str:
        """Return the name of a new value: the input at `index` cut to its first slice along `axis`, which gets size 1.

        A new Slice computes it. Raises Blocked if the slices of the input along `axis` are not certainly equal.
        """
        name = self.call.names[index]
        if not self._tracking.has_equal_slices(name, axis - len(self.shape(index))):
            raise Blocked(
                f"{self._name(index)} has {self.before} slices along axis {axis} that are not certainly equal",
                "give the model one slice that is broadcast, or export it at the size that you need",
            )
        return self._tracking.edits.first_slice(self._index, name, axis)

    def _shape_after(self, shape: Sequence[Size], place: Place | None) -> tuple[Size, ...]:
        """Return a shape with the new size of the resized axis at `place`; unchanged if `place` is None."""
        if place is None:
            return tuple(shape)
        return (*shape[: place.axis], place.size(self.after), *shape[place.axis + 1 :])

    def _name(self, index: int) -> str:
        """Return an input's parameter name and value name, as messages show them: "shape 's'"."""
        return self._tracking.input_label(self.call, index)
