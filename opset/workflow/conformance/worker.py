"""Runs models on a runtime, one after the other, in a process of its own: `python worker.py RUNTIME [OPTION]...`.

This file is a program, run by the interpreter that has the runtime, and no module of opset: that interpreter need not
have opset, nor protobuf. It takes requests from stdin and answers on the descriptor that OPSET_ANSWERS names; the
runtime's own output goes elsewhere. opset.workflow.conformance.runtimes is the other end.

A message is the lengths of its two parts, then a header in JSON and the bytes of all tensors. A value in a header is

    {"tensor": element type, "shape": [...], "at": [start, end]}    elements as in a TensorProto's raw_data
    {"tensor": 8, "shape": [...], "text": [...]}                    strings; bytes beyond UTF-8 are lone surrogates
    {"number": a number of Python, which has no element type}
    {"sequence": [...]}   {"map": [[key, value], ...]}   {"nothing": true}, an optional without a value

The first message is {"version"} of the runtime, or {"absent": why}. A request is {"inputs": [[name, value], ...],
"model": [start, end]}, an answer {"outputs": [...]}, {"refused": why} if the runtime lacks an operator, version or
type, or {"error": why}.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import struct
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

LENGTHS = struct.Struct(">II")
LONGEST = 4000
STRING = 8
NATIVE = {
    1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16",
    11: "float64", 12: "uint32", 13: "uint64", 14: "complex64", 15: "complex128",
}  # fmt: skip
"""The dtypes of numpy by the numbers of element types; 8 is text, and numpy lacks all others."""
NUMBERS = {name: number for number, name in NATIVE.items()}
BITS = {16: 16, 21: 4, 22: 4, 23: 4, 25: 2, 26: 2, 27: 6, 28: 6}
"""Bits of an element of the types that numpy lacks, unless they are 8."""


class NotRun(Exception):
    """The runtime lacks an operator, a version or a type of a model."""


class WorkerRuntime:
    """A runtime, and the conversion of its values to and from messages.

    The head of this file describes messages: a header in JSON, and the bytes of all tensors.
    """

    version = ""

    @classmethod
    def error_text(cls, error: Exception) -> str:
        """Return the message of an error that the runtime raised, with the type of the error."""
        return f"{type(error).__name__}: {error}"

    def outputs(self, model: bytes, inputs: list[Any], data: bytes, found: bytearray) -> list[Any]:
        """Run a model, and return its outputs as entries of a message's header, in the order of the model.

        Args:
            model: The bytes of the ModelProto.
            inputs: (name, entry) of each input; an entry is {"tensor": 1, "shape": [2], "at": [0, 8]}, for example.
            data: The bytes of the inputs' tensors.
            found: The bytes of the outputs' tensors are appended to it.

        Raises:
            NotRun: If the runtime lacks an operator, a version or a type.
            Exception: Any other error of the runtime.
        """
        results = self._run(model, {name: self._to_runtime(value, data) for name, value in inputs})
        return [self._from_runtime(each, found) for each in results]

    def _run(self, model: bytes, feeds: dict[str, Any]) -> Any:
        """Run a model, and return its outputs as the runtime represents values; subclasses override this.

        `model` are the bytes of the ModelProto, `feeds` the inputs by name, as the runtime represents them. Raises
        NotRun if the runtime lacks an operator, a version or a type.
        """
        raise NotImplementedError

    def _to_runtime(self, value: dict[str, Any], data: bytes) -> Any:
        """Return an input as the runtime represents it.

        A tensor of a numpy type becomes an array, a sequence a list, a map a dict, an optional without a value None. A
        tensor of another type is made by `_foreign_tensor`. `value` is the input as an entry of a message's header,
        such as {"tensor": 1, "shape": [2], "at": [0, 8]}; `data` has the bytes of all tensors.
        """
        if "sequence" in value:
            return [self._to_runtime(each, data) for each in value["sequence"]]
        if "map" in value:
            return {key: self._to_runtime(each, data)[()] for key, each in value["map"]}
        if "nothing" in value:
            return None
        if value["tensor"] == STRING:
            texts = np.empty(len(value["text"]), object)
            texts[:] = value["text"]
            return texts.reshape(value["shape"])
        start, end = value["at"]
        if value["tensor"] in NATIVE:
            return np.frombuffer(data[start:end], NATIVE[value["tensor"]]).reshape(value["shape"]).copy()
        return self._foreign_tensor(value["tensor"], value["shape"], data[start:end])

    def _from_runtime(self, result: Any, found: bytearray) -> dict[str, Any]:
        """Return an output of the runtime as an entry of a message's header, and append its bytes to `found`.

        An example of an entry is {"tensor": 1, "shape": [2], "at": [0, 8]}. Raises NotRun for an element type that is
        unknown, TypeError for a value that no header can describe.
        """
        if result is None:
            return {"nothing": True}
        if isinstance(result, (list, tuple)):
            return {"sequence": [self._from_runtime(each, found) for each in result]}
        if isinstance(result, dict):
            entries = ((key.item() if isinstance(key, np.generic) else key, each) for key, each in result.items())
            return {"map": [[key, self._from_runtime(each, found)] for key, each in entries]}
        if type(result) in (int, float):
            return {"number": result}
        array = np.asarray(result)
        if array.dtype.kind == "O" and not all(isinstance(each, (str, bytes)) for each in array.ravel().tolist()):
            raise TypeError(f"its interface for Python returns {type(result).__name__}")
        if array.dtype.kind in "OUS":
            return {"tensor": STRING, "shape": [*array.shape], "text": [*map(_decode_text, array.ravel().tolist())]}
        if array.dtype.name in NUMBERS:
            number = NUMBERS[array.dtype.name]
            elements = np.ascontiguousarray(array).tobytes()
        else:
            number, elements = self._tensor_parts(array)
        return _encode_tensor(number, array.shape, elements, found)

    def _foreign_tensor(self, number: int, shape: list[int], elements: bytes) -> Any:
        """Return a tensor of an element type that numpy lacks, as the runtime represents it; subclasses override this.

        `number` is the number of the element type in TensorProto, `elements` are its bytes as in raw_data. Raises
        NotRun if the runtime cannot take it.
        """
        raise NotImplementedError

    def _tensor_parts(self, array: Any) -> tuple[int, bytes]:
        """Return (number of the element type, bytes as in raw_data) of a tensor whose element type numpy lacks.

        Subclasses override this for types that they know. Raises NotRun for an unknown type; this base class knows
        none.
        """
        raise NotRun(f"its interface for Python returns the type {array.dtype}")


def _decode_text(element: Any) -> str:
    """Return a string of a runtime, bytes or str, as str; bytes that are not UTF-8 become lone surrogates."""
    return element.decode("utf-8", "surrogateescape") if isinstance(element, bytes) else str(element)


def _encode_tensor(number: int, shape: Any, elements: bytes, found: bytearray) -> dict[str, Any]:
    """Return a tensor as an entry of a message's header: {"tensor": number, "shape": […], "at": [start, end]}.

    The bytes of the tensor, `elements`, are appended to `found`; "at" is their place there. `number` is the number of
    the element type in TensorProto.
    """
    start = len(found)
    found += elements
    return {"tensor": number, "shape": [int(size) for size in shape], "at": [start, len(found)]}


class OnnxRuntime(WorkerRuntime):
    """The package onnxruntime; its options are execution providers.

    Its calls that take arrays lack the types that numpy lacks; those that take its own values lack text and sequences.
    """

    REFUSALS = (
        "NOT_IMPLEMENTED",
        "is under development and support for this is limited",
        "Unsupported model IR version",
        "No Op registered for",
        "is not a registered function/op",
        "No opset import for domain",
        "is not currently registered or supported",
        "Not a valid ONNX Tensor data type",
        "it cannot be linked to C type",
        "Unexpected input data type. Actual: ((map(",  # maps that Python cannot pass
    )
    NOISE = (
        r"\[ONNXRuntimeError\] : \d+ : \w+ : |(?<= )with name ''|Name:'' |Status Message: "
        r"|(?:/[\w.+-]+)*/?[\w+-]+\.(?:cc|h|cpp|hpp):\d+ (?:[^()]*::[^()]*\([^()]*\)(?: const)?(?: \[with [^]]*\])? )?"
    )
    FOREIGN = ("bfloat16", "float8", "float6", "float4", "int4)", "int2)")

    def __init__(self, options: list[str]) -> None:
        """Import onnxruntime; `options` are execution providers, by default CPUExecutionProvider.

        Raises ImportError if onnxruntime cannot be imported, or lacks a provider.
        """
        import onnxruntime

        self._module = onnxruntime
        self._providers = options or ["CPUExecutionProvider"]
        self.version = onnxruntime.__version__
        available = onnxruntime.get_available_providers()
        if lacking := [each for each in self._providers if each not in available]:
            raise ImportError(f"this onnxruntime has no {lacking[0]}, only {', '.join(available)}")
        onnxruntime.set_default_logger_severity(4)

    def outputs(self, model: bytes, inputs: list[Any], data: bytes, found: bytearray) -> list[Any]:
        """Run a model on onnxruntime, and return its outputs as entries of a message's header.

        `model` are the bytes of the ModelProto, `inputs` has (name, value) of each input, `data` the bytes of the
        inputs' tensors. The bytes of the outputs' tensors are appended to `found`. Raises NotRun if onnxruntime refuses
        the model: its error then contains one of the texts in REFUSALS. Other errors of onnxruntime are raised
        unchanged.
        """
        try:
            return super().outputs(model, inputs, data, found)
        except Exception as error:
            if not isinstance(error, NotRun) and any(each in str(error) for each in self.REFUSALS):
                raise NotRun(self.error_text(error)) from error
            raise

    def _run(self, model: bytes, feeds: dict[str, Any]) -> Any:
        """Run a model on one thread, and return its outputs as arrays.

        If an output or a value in `feeds` is of a type that numpy lacks, such as bfloat16, all inputs are passed as
        OrtValues, and the outputs are OrtValues. Raises NotRun if a value in `feeds` cannot become an OrtValue; errors
        of onnxruntime are raised unchanged.
        """
        options = self._module.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = self._module.InferenceSession(model, options, providers=self._providers)
        declared = [each.type for each in session.get_outputs()]
        foreign = any(each in kind for kind in declared for each in self.FOREIGN)
        if not foreign and not any(isinstance(each, self._module.OrtValue) for each in feeds.values()):
            return session.run(None, feeds)
        return session.run_with_ort_values(None, {name: self._own_value(value) for name, value in feeds.items()})

    @classmethod
    def error_text(cls, error: Exception) -> str:
        """Return the message of an error without the parts that differ between runs and builds.

        These are the error number of onnxruntime, empty names of nodes, and places in its C++ source.
        """
        return re.sub(cls.NOISE, "", str(error))

    def _own_value(self, value: Any) -> Any:
        """Return an input as an OrtValue of onnxruntime: an array is wrapped, an OrtValue is returned unchanged.

        Raises NotRun for anything else: an array of text or objects, a sequence, a map or None.
        """
        if isinstance(value, np.ndarray) and value.dtype.kind not in "OUS":
            return self._module.OrtValue.ortvalue_from_numpy(value)
        if not isinstance(value, self._module.OrtValue):
            raise NotRun("its interface for Python takes no such value beside one of a type that numpy lacks")
        return value

    def _foreign_tensor(self, number: int, shape: list[int], elements: bytes) -> Any:
        """Return a tensor of an element type that numpy lacks as an OrtValue.

        Raises NotRun if this version of onnxruntime has no function for it.
        """
        make = getattr(self._module.OrtValue, "ortvalue_from_numpy_with_onnx_type", None)
        if make is None:
            raise NotRun("its interface for Python takes no value of a type that numpy lacks")
        # A buffer is taken as it is, whatever its dtype; elements that are packed are at its start.
        buffer = np.zeros(shape, np.uint16 if BITS.get(number) == 16 else np.uint8)
        buffer.reshape(-1).view(np.uint8).data[: len(elements)] = elements
        return make(buffer, number)

    def _from_runtime(self, result: Any, found: bytearray) -> dict[str, Any]:
        """Return an output as an entry of a message's header, and append its bytes to `found`.

        The output is an OrtValue, or a value of numpy. Raises NotRun for an OrtValue that is a sequence or map.
        """
        if not isinstance(result, self._module.OrtValue):
            return super()._from_runtime(result, found)
        if not result.has_value():
            return {"nothing": True}
        if not result.is_tensor():
            raise NotRun(f"its interface for Python returns no {result.data_type()} beside a type that numpy lacks")
        number = result.element_type()
        shape = result.shape()
        if number == STRING or number in NATIVE:
            return super()._from_runtime(result.numpy(), found)
        count = 1
        for size in shape:
            count *= size
        needed = (count * BITS.get(number, 8) + 7) // 8
        return _encode_tensor(number, shape, ctypes.string_at(result.data_ptr(), needed) if needed else b"", found)


class Onnx(WorkerRuntime):
    """The evaluator of the package onnx."""

    def __init__(self, options: list[str]) -> None:
        """Import the evaluator of the package onnx; there are no options."""
        import onnx
        import onnx.reference
        from onnx.reference.op_run import RuntimeImplementationError

        self._module = onnx
        self._refusals = (NotImplementedError, RuntimeImplementationError)
        self.version = onnx.__version__

    def _run(self, model: bytes, feeds: dict[str, Any]) -> Any:
        """Run a model on the evaluator of onnx, and return its outputs.

        Raises NotRun if the evaluator says that it does not implement a node.
        """
        try:
            return self._module.reference.ReferenceEvaluator(self._module.load_from_string(model)).run(None, feeds)
        except self._refusals as error:
            raise NotRun(f"{type(error).__name__}: {error}") from error

    def _foreign_tensor(self, number: int, shape: list[int], elements: bytes) -> Any:
        """Return a tensor as the array with which the package onnx represents it.

        `number` is the number of its element type, which numpy lacks; `elements` are its bytes as in raw_data.
        """
        tensor = self._module.TensorProto(data_type=number, dims=shape, raw_data=elements)
        return self._module.numpy_helper.to_array(tensor)

    def _tensor_parts(self, array: Any) -> tuple[int, bytes]:
        """Return (number of the element type, bytes as in raw_data) of an array that onnx can encode."""
        tensor = self._module.numpy_helper.from_array(array)
        return tensor.data_type, tensor.raw_data


class Opset(WorkerRuntime):
    """The reference kernels of opset itself; the option is the folder that contains the package."""

    def __init__(self, options: list[str]) -> None:
        """Import opset; `options` may name the folder that contains the package, which is put first on sys.path."""
        sys.path[:0] = options
        import opset
        from opset.model.arrays import array_of, tensor_of
        from opset.model.proto import TensorProto

        self._module, self._array_of, self._tensor_of, self._message = opset, array_of, tensor_of, TensorProto
        self.version = opset.__version__

    def _run(self, model: bytes, feeds: dict[str, Any]) -> Any:
        """Run a model on opset's kernels, and return its outputs.

        Raises NotRun if an operator cannot be computed (R201), or if a Python package that it needs is missing (R205).
        """
        try:
            return self._module.ReferenceEvaluator(model, seed=0, strict=True).run(None, feeds)
        except self._module.RunError as error:
            if error.code in ("R201", "R205"):
                raise NotRun(str(error)) from error
            raise

    def _foreign_tensor(self, number: int, shape: list[int], elements: bytes) -> Any:
        """Return a tensor as an array of a type of ml_dtypes, by which opset represents element types that numpy lacks.

        `number` is the number of its element type, and `elements` are the bytes of raw_data, with 4-bit elements
        packed.
        """
        return self._array_of(None, self._message(data_type=number, dims=shape, raw_data=elements))

    def _tensor_parts(self, array: Any) -> tuple[int, bytes]:
        """Return (number of the element type, bytes as in raw_data) of an array by which opset represents a tensor."""
        tensor = self._tensor_of("", array)
        return tensor.data_type, tensor.raw_data


RUNTIMES = {"onnxruntime": OnnxRuntime, "onnx": Onnx, "opset": Opset}


def answer(runtime: WorkerRuntime, request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Run the model of a request, and return (header, bytes of tensors) of the answer; no exception is raised.

    The header has "outputs". If the model failed, it has "refused" or "error" with a text of at most LONGEST characters
    instead, and there are no bytes.

    Args:
        runtime: The runtime.
        request: The header of the request, with "model" and "inputs".
        data: The bytes of the request.
    """
    start, end = request["model"]
    found = bytearray()
    try:
        return {"outputs": runtime.outputs(data[start:end], request["inputs"], data, found)}, bytes(found)
    except NotRun as refusal:
        return {"refused": str(refusal)[:LONGEST]}, b""
    except MemoryError:
        return {"error": "there is not enough memory"}, b""
    except Exception as error:
        return {"error": runtime.error_text(error)[:LONGEST]}, b""


def requests(stream: BinaryIO) -> Iterator[tuple[dict[str, Any], bytes]]:
    """Yield (header, bytes of tensors) of each message in a stream, until the stream ends.

    A message begins with two lengths: of its header, and of its bytes. If the stream ends within the lengths, nothing
    more is yielded. If it ends within the header, ValueError is raised. If it ends within the bytes of tensors, they
    are yielded incomplete.
    """
    while len(head := stream.read(LENGTHS.size)) == LENGTHS.size:
        header, data = LENGTHS.unpack(head)
        yield json.loads(stream.read(header)), stream.read(data)


def send(stream: BinaryIO, header: dict[str, Any], data: bytes = b"") -> None:
    """Write a message to a stream, and flush it: a header, and the bytes of its tensors."""
    encoded = json.dumps(header).encode()
    stream.write(LENGTHS.pack(len(encoded), len(data)) + encoded + data)
    stream.flush()


def main(name: str, options: list[str]) -> None:
    """Serve a runtime: send its version, then answer requests from stdin until it ends.

    `name` is a key of RUNTIMES, and `options` are for its class. If the runtime cannot be imported, {"absent": why} is
    sent, and nothing more.
    """
    coming = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    answers = os.fdopen(int(os.environ.pop("OPSET_ANSWERS")), "wb")
    try:
        runtime = RUNTIMES[name](options)
    except Exception as error:
        send(answers, {"absent": f"{type(error).__name__}: {error}"[:LONGEST]})
        return
    send(answers, {"version": runtime.version})
    for request, data in requests(coming):
        send(answers, *answer(runtime, request, data))


if __name__ == "__main__":
    # The folder of this file, whose modules are none of the runtime's; PYTHONSAFEPATH leaves it out already.
    sys.path[:] = [each for each in sys.path if os.path.realpath(each) != os.path.dirname(os.path.realpath(__file__))]
    main(sys.argv[1], sys.argv[2:])
