"""Reading and writing models: messages, files without their weights, external data, tensors, graph walking.

    load(source) -> Model       model.proto, model.payload(tensor), model.save(path), model.SerializeToString()

Its names are imported when they are first used, so that walking a graph does not wait for protobuf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opset.model.storage.container import Model, load
    from opset.model.storage.writing import write_stream

__all__ = ["Model", "load", "write_stream"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from opset.model.storage import container, writing

    return getattr(writing if name == "write_stream" else container, name)
