"""The message classes of onnx.proto, in a descriptor pool of their own.

The pool is private, so that this package and `onnx` live in one process, whichever is imported first; messages of the
two do not mix. Every message and every top-level enum of onnx.proto is an attribute of this module, by its name.
"""

from __future__ import annotations

import copyreg
import os
from collections.abc import Iterator, Mapping
from typing import Any, Final

from google.protobuf import descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper


def _read_descriptor() -> FileDescriptor:
    """Return the descriptor of onnx.proto, from its compiled form beside this module."""
    # Not by importlib.resources: its import alone takes as long as all the rest of this module.
    with open(os.path.join(os.path.dirname(__file__), "onnx.binpb"), "rb") as file:
        compiled = file.read()
    # A FileDescriptorSet of one file: a tag, the length of the file as a varint, and the file. The message class of the
    # set is not imported: that takes a tenth as long as all of protobuf.
    start = next(index for index in range(1, len(compiled)) if compiled[index] < 0x80) + 1
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(compiled[start:])
    return pool.FindFileByName("onnx.proto")


FILE: Final = _read_descriptor()


def _message_types(types: Mapping[str, Descriptor]) -> Iterator[Descriptor]:
    """Yield message types, each before those that are declared in it."""
    for each in types.values():
        yield each
        yield from _message_types(each.nested_types_by_name)


def _reduce_message(message: Any) -> tuple[Any, ...]:
    """Return the function that restores a pickled message, and its arguments."""
    return _restore_message, (message.DESCRIPTOR.full_name, message.SerializeToString())


def _restore_message(name: str, data: bytes) -> Any:
    """Return the message of a type that bytes hold."""
    return message_factory.GetMessageClass(FILE.pool.FindMessageTypeByName(name)).FromString(data)


for _type in _message_types(FILE.message_types_by_name):  # protobuf looks for types in its own pool alone
    copyreg.pickle(message_factory.GetMessageClass(_type), _reduce_message)


def is_repeated(field: FieldDescriptor) -> bool:
    """Return whether a field holds a list. Its default shows it: protobuf 4 to 7 have no common property for it."""
    return isinstance(field.default_value, list)


def __getattr__(name: str) -> Any:
    if name in FILE.message_types_by_name:
        found: Any = message_factory.GetMessageClass(FILE.message_types_by_name[name])
    elif name in FILE.enum_types_by_name:
        found = EnumTypeWrapper(FILE.enum_types_by_name[name])
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found
