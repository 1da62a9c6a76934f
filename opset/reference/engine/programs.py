"""Programs of evaluation: the steps of a body, with kernels resolved and values freed at last use.

A `Program` is one list of nodes that is run as a whole: the main graph, a subgraph, or a function with the attributes
of a call. Values live in numbered slots of a frame. A graph's initializers are constants of its program, read when it
is first run. `compilation` makes programs, and `evaluation` runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

from opset.errors import Finding, RunError
from opset.model.graph.index import Body
from opset.reference.registration import Kernel
from opset.reference.value_info import ValueInfo
from opset.schemas.constraints.input_shapes import Plan
from opset.schemas.model import OpSchema
from opset.schemas.quirks import Quirk

ABSENT = -1
"""The slot of an input or output that is left out."""


@dataclass(eq=False, slots=True)
class ProgramStep:
    """One node: its kernel, the slots that it reads and fills, and the slots that are free after it.

    `call` returns the program of a model-local function, kept in `called`; `express` that of the operator's function
    body for these inputs, if it has no kernel. `attributes` are the kernel's arguments by keyword; a `Program` among
    them runs in the frame of the step. `legal_types` holds the input types that were found legal, and `legal_inputs`
    the ranks or shapes with which the node keeps its declared constraints; `plan` has the checks of these constraints,
    None if there are none.
    """

    index: int
    node: Any
    schema: OpSchema | None
    kernel: Kernel | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    legal_types: set[Any] = field(default_factory=set)
    plan: Plan | None = None
    legal_inputs: set[Any] = field(default_factory=set)
    fallback: ProgramStep | None = None
    quirk: Quirk | None = None
    """What computes the node where it breaks a constraint in a form that runtimes accept, and that form."""
    call: Callable[[], Program] | None = None
    express: Callable[[Sequence[Any]], Program] | None = None
    called: Program | None = None
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    frees: tuple[int, ...] = ()


@dataclass(eq=False, slots=True)
class Program:
    """The steps of a body, for frames of `size` slots, which begin with the inputs.

    The body declares `inputs` and `outputs`; `results` are the slots of the values that a run returns. `captured`
    pairs slots of the frame around a subgraph with its own slots; `constants` pairs a slot with a function that
    reads its value, and `loaded` with the value, once the program has run. `complete` adds to a declaration what
    inference knows of the value.
    """

    body: Body
    inputs: tuple[ValueInfo, ...]
    outputs: tuple[ValueInfo, ...]
    complete: Callable[[Body, ValueInfo], ValueInfo]
    size: int = 0
    steps: list[ProgramStep] = field(default_factory=list)
    results: tuple[int, ...] = ()
    captured: tuple[tuple[int, int], ...] = ()
    constants: list[tuple[int, Callable[[], Any]]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    loaded: list[tuple[int, Any]] | None = None

    def takes(self, count: int) -> bool:
        """Whether it can be run with this number of inputs: all of them, or all without a default."""
        return count in (len(self.inputs), len(self.inputs) - len(self._default_slots()))

    def describe_output(self, index: int) -> ValueInfo:
        """Return the declaration of an output, with its type and sizes by inference if they are not declared."""
        declared = self.outputs[index]
        has_shape = declared.shape is not None and all(isinstance(dim, int) for dim in declared.shape)
        return declared if declared.type is not None and has_shape else self.complete(self.body, declared)

    def _default_slots(self) -> set[int]:
        """Return the slots of inputs that have a default."""
        return {slot for slot, _ in self.constants if slot < len(self.inputs)}

    def fill_defaults(self, inputs: Sequence[Any]) -> list[Any]:
        """Return inputs with ABSENT for inputs that have a default, which IR version 3 listed with the others.

        Raises RunError R202 if their number still does not fit.
        """
        defaults = self._default_slots()
        if not self.takes(len(inputs)):
            why = f"it has {len(self.inputs)} inputs, and {len(inputs)} are given"
            raise RunError(Finding("R202", "the graph does not fit its node", self.body.label, why))
        values = iter(inputs)
        return [ABSENT if slot in defaults else next(values) for slot in range(len(self.inputs))]

    def location(self, step: ProgramStep) -> str:
        """Return the path of a step's node, as messages show it."""
        return self.body.location(step.index)


@dataclass(eq=False, slots=True)
class Frame:
    """A program that is being run; `waiting` is the generator of the kernel whose graph runs, if there is one.

    `live` are the bytes of values that its steps computed and that it holds, `sizes` the bytes of each slot; `held` are
    the bytes that `waiting` holds.
    """

    program: Program
    slots: list[Any]
    sizes: list[int]
    position: int = 0
    waiting: Generator[Any, Any, Any] | None = None
    live: int = 0
    held: int = 0

    def current_step(self) -> ProgramStep:
        """Return the step that is being run."""
        return self.program.steps[self.position]

    def location(self) -> str:
        """Return the path of the node that is being run, or of the body after its last node."""
        steps = self.program.steps
        return self.program.location(steps[self.position]) if self.position < len(steps) else self.program.body.label

    def inputs(self, step: ProgramStep) -> list[Any]:
        """Return the values of a step's inputs, None for inputs that are left out."""
        slots = self.slots
        return [slots[slot] if slot >= 0 else None for slot in step.inputs]
