"""onnx.proto, its compiled form and its message classes."""

import subprocess
import sys
from importlib.resources import files

import onnx
import onnx.onnx_data_pb2
import onnx.onnx_operators_ml_pb2
import pytest
from google.protobuf import descriptor_pb2
from grpc_tools import protoc

from opset.model import proto

ORACLES = (onnx.onnx_ml_pb2, onnx.onnx_operators_ml_pb2, onnx.onnx_data_pb2)
PRIVATE = 536870911


def test_the_compiled_form_is_that_of_the_source(tmp_path):
    folder = files("opset.model.proto")
    arguments = ["protoc", f"-I{folder}", f"--descriptor_set_out={tmp_path / 'fresh'}", "onnx.proto"]
    assert protoc.main(arguments) == 0
    assert (tmp_path / "fresh").read_bytes() == folder.joinpath("onnx.binpb").read_bytes()


def described(file):
    """Return messages and enums by full name, reduced to what decides how bytes are read."""
    plain = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(plain)
    found = {}
    pending = [("", plain.message_type, plain.enum_type)]
    while pending:
        scope, messages, enums = pending.pop()
        for enum in enums:
            found[f"{scope}{enum.name}"] = {(value.name, value.number) for value in enum.value}
        for message in messages:
            oneofs = [oneof.name for oneof in message.oneof_decl]
            found[f"{scope}{message.name}"] = {
                (
                    f.name,
                    f.number,
                    f.label,
                    f.type,
                    f.type_name,
                    f.options.packed,
                    oneofs[f.oneof_index] if f.HasField("oneof_index") else "",
                )
                for f in message.field
                if f.number != PRIVATE
            } | {
                ("reserved", *sorted((r.start, r.end) for r in message.reserved_range), *sorted(message.reserved_name))
            }
            pending.append((f"{scope}{message.name}.", message.nested_type, message.enum_type))
    return found


def test_every_message_and_enum_is_the_one_of_the_onnx_package():
    expected = {name: parts for oracle in ORACLES for name, parts in described(oracle.DESCRIPTOR).items()}
    assert described(proto.FILE) == expected


def test_the_placeholder_field_is_the_only_addition():
    added = [
        (message.name, f.name)
        for message in proto.FILE.message_types_by_name.values()
        for f in message.fields
        if f.number == PRIVATE
    ]
    assert added == [("TensorProto", "opset_payload")]


def test_enums_have_names_and_numbers():
    assert proto.Version.IR_VERSION == proto.Version.Value("IR_VERSION") == 14
    assert proto.OperatorStatus.Name(1) == "STABLE"
    assert proto.TensorProto.DataType.Name(28) == "FLOAT6E3M2"
    with pytest.raises(AttributeError, match="NoSuchProto"):
        _ = proto.NoSuchProto


USE_BOTH = """
import onnx.helper
import opset.model.proto
ours = opset.model.proto.NodeProto(op_type="Relu", input=["x"])
theirs = onnx.helper.make_node("Relu", ["x"], [])
assert ours.SerializeToString() == theirs.SerializeToString()
assert type(ours) is not type(theirs)
"""


@pytest.mark.parametrize("lines", [USE_BOTH, "import opset.model.proto as p; p.ModelProto()\n" + USE_BOTH])
def test_both_packages_live_in_one_process_in_either_order(lines):
    subprocess.run([sys.executable, "-c", lines], check=True, timeout=60)


def test_neither_onnx_nor_numpy_is_imported():
    lines = "import sys, opset.model; opset.model.Model; sys.exit(bool({'onnx', 'numpy', 'yaml'} & sys.modules.keys()))"
    subprocess.run([sys.executable, "-c", lines], check=True, timeout=60)
