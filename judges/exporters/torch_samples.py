"""Modules of torch with inputs, as both of its exporters take them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

Axes = Mapping[str, Mapping[int, str]]


class Sample(NamedTuple):
    """A module, its inputs, and the names of axes that stay open, by input (`x0`, `x1`, …) and axis."""

    name: str
    module: nn.Module
    inputs: tuple[Any, ...]
    axes: Axes = {}

    @property
    def names(self) -> list[str]:
        """The names of the inputs."""
        return [f"x{number}" for number in range(len(flat(self.inputs)))]

    @property
    def feeds(self) -> dict[str, Any]:
        """The inputs as arrays, by their names."""
        return {name: value.detach().numpy() for name, value in zip(self.names, flat(self.inputs), strict=True)}

    @property
    def shapes(self) -> Any:
        """The open axes as torch.export takes them, None if there are none."""
        if not self.axes:
            return None
        each = tuple(dict(self.axes.get(name, {})) for name in self.names)
        kinds = [parameter.kind for parameter in inspect.signature(self.module.forward).parameters.values()]
        return (each,) if inspect.Parameter.VAR_POSITIONAL in kinds else each


class Call(nn.Module):
    """A module that calls a function with its parts and its inputs."""

    def __init__(self, function: Callable[..., Any], *parts: nn.Module) -> None:
        super().__init__()
        self.function = function
        self.parts = nn.ModuleList(parts)

    def forward(self, *inputs: Any) -> Any:
        return self.function(*self.parts, *inputs)


def flat(inputs: Sequence[Any]) -> list[Tensor]:
    """Return the tensors in nested inputs, in order."""
    return [each for value in inputs for each in (flat(value) if isinstance(value, (tuple, list)) else [value])]


def samples(seed: int) -> Iterator[Sample]:
    """Yield all modules, with weights and inputs that depend on the seed alone."""
    from judges.exporters import torch_layers, torch_networks, torch_tensors

    torch.set_num_threads(1)
    for module in (torch_layers, torch_tensors, torch_networks):
        for group in module.GROUPS:
            torch.manual_seed(seed)
            for sample in group():
                sample.module.eval()
                yield sample
