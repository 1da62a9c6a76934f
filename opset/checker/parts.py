"""Checks parts of models: a node, a graph, a function, a tensor, a value, an attribute.

Each is put into a model of its own, and the rules about such a part are run. Weights in the part are not copied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from opset.checker.checking import COMPATIBILITY, check_context, select_codes
from opset.checker.table import CheckContext, CheckOptions
from opset.errors import FindingList
from opset.model import load
from opset.model import proto as pb
from opset.model.graph.walking import names_read
from opset.opsets.registry import Registry, Schemas, registry_with
from opset.opsets.releases import newest_ir_version
from opset.options import checked_options

Opsets = int | Mapping[str, int] | None
"""A version of ai.onnx, or versions by domain; None for the newest of all domains."""
_SURROUNDINGS = ("G2", "M107", "M110", "M112", "W1")
"""What the codes of rules about the surroundings of a node begin with."""
_UNUSED = "W101"
"""The code of imports that no node uses: those around a graph are no part of it."""


@checked_options
def check_node(
    node: Any, opsets: Opsets = None, *, ir_version: int | None = None, schemas: Schemas = ()
) -> FindingList:
    """Return the findings on a NodeProto: whether it fits its operator, with the graphs and tensors in it.

    Names that nothing defines count as defined. Types are not inferred.

    Args:
        node: The message, of this package or of onnx.
        opsets: The version of ai.onnx, or versions by domain, in which it is written; the newest ones by default.
        ir_version: The IR version; the newest one by default.
        schemas: Folders of operator YAML, for domains of your own.
    """

    def place(model: Any) -> None:
        """Add the node to the main graph of a model, and an input for each value that it reads."""
        own = model.graph.node.add()
        own.ParseFromString(node.SerializeToString())
        for name in sorted({*names_read([own])}.difference(own.output, [""])):
            model.graph.input.add(name=name)

    return _check_part(place, opsets, ir_version, schemas, ignore=_SURROUNDINGS)


@checked_options
def check_attribute(
    attribute: Any, opsets: Opsets = None, *, ir_version: int | None = None, schemas: Schemas = ()
) -> FindingList:
    """Return the findings on an AttributeProto: its name, type and value, with the graphs and tensors in it.

    Whether an operator has such an attribute is not checked. The arguments are as of `check_node`.
    """

    def place(model: Any) -> None:
        """Add a node of an unknown operator, with the attribute, to the main graph of a model."""
        own = model.graph.node.add(op_type="Any", domain="any", output=["y"])
        own.attribute.add().ParseFromString(attribute.SerializeToString())

    return _check_part(place, opsets, ir_version, schemas, ignore=(*_SURROUNDINGS, "G104"))


@checked_options
def check_graph(
    graph: Any, opsets: Opsets = None, *, full: bool = True, ir_version: int | None = None, schemas: Schemas = ()
) -> FindingList:
    """Return the findings on a GraphProto as the main graph of a model.

    Args:
        graph: The message, of this package or of onnx.
        opsets: The version of ai.onnx, or versions by domain, in which it is written; the newest ones by default.
        full: Whether types and shapes are inferred, and compared with those that the graph states.
        ir_version: The IR version; the newest one by default.
        schemas: Folders of operator YAML, for domains of your own.
    """

    def place(model: Any) -> None:
        """Make the graph the main graph of a model."""
        model.graph.ParseFromString(graph.SerializeToString())

    return _check_part(place, opsets, ir_version, schemas, ignore=(_UNUSED,), full=full)


@checked_options
def check_function(
    function: Any, opsets: Opsets = None, *, ir_version: int | None = None, schemas: Schemas = ()
) -> FindingList:
    """Return the findings on a FunctionProto. The arguments are as of `check_node`.

    The nodes of the function are checked at the versions that the function imports; `opsets` are imports of the model
    around it.
    """

    def place(model: Any) -> None:
        """Add the function to a model."""
        model.functions.add().ParseFromString(function.SerializeToString())

    return _check_part(place, opsets, ir_version, schemas, ignore=("W1", "W401", COMPATIBILITY))


@checked_options
def check_tensor(tensor: Any, *, ir_version: int | None = None) -> FindingList:
    """Return the findings on a TensorProto: its type, its dims, its data.

    Args:
        tensor: The message, of this package or of onnx.
        ir_version: The IR version; the newest one by default.
    """

    def place(model: Any) -> None:
        """Add the tensor to a model as an initializer."""
        model.graph.initializer.add().ParseFromString(tensor.SerializeToString())

    return _check_part(place, None, ir_version, select=("G5", "M2", "W5"))


@checked_options
def check_sparse_tensor(sparse: Any, *, ir_version: int | None = None) -> FindingList:
    """Return the findings on a SparseTensorProto: its values, indices and dims.

    The arguments are as of `check_tensor`.
    """

    def place(model: Any) -> None:
        """Add the sparse tensor to a model as an initializer."""
        model.graph.sparse_initializer.add().ParseFromString(sparse.SerializeToString())

    return _check_part(place, None, ir_version, select=("G5", "M2", "W5"))


@checked_options
def check_value_info(value: Any, *, ir_version: int | None = None) -> FindingList:
    """Return the findings on a ValueInfoProto: its name, type and shape. The arguments are as of `check_tensor`."""

    def place(model: Any) -> None:
        """Add the value to a model as an input."""
        model.graph.input.add().ParseFromString(value.SerializeToString())

    return _check_part(place, None, ir_version, select=("G20", "G6", "W6"), ignore=("G201",))


def _check_part(
    place: Callable[[Any], Any],
    opsets: Opsets,
    ir_version: int | None,
    schemas: Schemas = (),
    *,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    full: bool = False,
) -> FindingList:
    """Return the findings on a new model, after `place` has put a part into it.

    Args:
        place: Puts the part into the ModelProto that it is given.
        opsets: The versions that the model imports.
        ir_version: The IR version of the model; the newest one if it is None.
        schemas: Folders of operator YAML.
        select: Codes, or beginnings of codes, of the rules to run; by default, all that are not optional.
        ignore: Codes, or beginnings of codes, of rules that do not run.
        full: Whether types and shapes are inferred.
    """
    registry = registry_with(schemas)
    model = pb.ModelProto(ir_version=newest_ir_version() if ir_version is None else ir_version)
    model.graph.name = "part"
    for domain, version in _versions(opsets, registry).items():
        model.opset_import.add(domain=domain, version=version)
    place(model)
    context = CheckContext(load(model), registry, CheckOptions(full))
    return check_context(context, select_codes(select, ignore))


def _versions(opsets: Opsets, registry: Registry) -> Mapping[str, int]:
    """Return the versions by domain that `opsets` stand for.

    An integer is a version of ai.onnx alone; None stands for the newest versions of all domains.
    """
    if opsets is None:
        return registry.domains
    return {"": opsets} if isinstance(opsets, int) else opsets
