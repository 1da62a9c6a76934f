"""Strings of models that are not UTF-8, one after the other: each function takes the model, or says what is wrong."""

from itertools import islice

import onnx
import pytest

import opset
from judges.fuzz.mutation.wire import Record, records
from opset.errors import OpsetError

FIRST = """<ir_version: 10, producer_name: "prod", metadata_props: ["mkey": "mval"], opset_import: ["": 18, "local": 1]>
gname (float[N, 3] xin, float[2, 3] xb) => (float[N, 3] yout) <float[3] wone = {1, 2, 3}, float[N, 3] hmid> {
  [nname] hmid = local.twice <kat: float = 2.5> (xin)
  hadd = Add (hmid, wone)
  text = Constant <value_strings: strings = ["sone", "stwo"]> ()
  cond = Constant <value: tensor = bool {1}> ()
  yif = If (cond) <
    then_branch = tbr () => (tout) { tout = Softmax <axis = 1> (hadd) },
    else_branch = ebr () => (eout) { eout = local.outer (hadd) }
  >
  yout = Elu <alpha: float = 0.5> (yif)
}
<domain: "local", opset_import: ["": 18]>
twice <kat> (ain) => (bout) {
  fcon = Constant <value_float: float = @kat> ()
  ccas = CastLike (fcon, ain)
  bout = Mul (ain, ccas)
}
<domain: "local", opset_import: ["": 18, "local": 1]>
outer <alph: float = 0.5> (oin, zopt) => (oout) {
  eelu = Elu <alpha: float = @alph> (oin)
  oout = local.twice <kat: float = 3.0> (eelu)
}"""
SECOND = '<ir_version: 10, opset_import: ["": 18]> g (float[N, 3] q) => (float[N, 3] z) { z = Relu(q) }'


def whole_model():
    """Return a model with a string in each field that may have one, most of them unlike all others."""
    model = onnx.ModelProto.FromString(opset.parse_model(FIRST).SerializeToString())
    model.doc_string, model.graph.doc_string = "docum", "gdocs"
    for function in model.functions:
        function.doc_string = "fdoc"
        function.metadata_props.add(key="fkey", value="fval")
        for node in function.node:
            node.doc_string, node.name = "ndoc", f"n_{node.op_type}"
    for node in model.graph.node:
        node.doc_string = "ndocs"
        node.metadata_props.add(key="nkey", value="nval")
        for attribute in node.attribute:
            attribute.doc_string = "adoc"
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        value.doc_string, value.type.denotation = "vdoc", "vden"
        value.type.tensor_type.shape.dim[0].denotation = "dden"
    model.graph.initializer[0].doc_string = "idoc"
    annotation = model.graph.quantization_annotation.add(tensor_name="wone")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="wone")
    return model


def broken_models():
    """Yield (string, bytes of the model) for each string, which ends with a byte that is not UTF-8.

    The string has this byte in all its places first, then in each place.
    """
    model = whole_model()
    top = Record(0, 2, inner=records(model.SerializeToString(), model.DESCRIPTOR))
    places = {}
    pending = [(top, model.DESCRIPTOR)]
    while pending:
        record, descriptor = pending.pop()
        for inner in record.inner:
            field = descriptor.fields_by_number[inner.number]
            if field.message_type is not None:
                pending.append((inner, field.message_type))
            elif inner.data and (field.type == field.TYPE_STRING or field.name == "strings"):
                places.setdefault(inner.data, []).append(inner)
    for string, found in sorted(places.items()):
        for changed in (found, *([record] for record in found if len(found) > 1)):
            for record in changed:
                record.data = string[:-1] + b"\xe9"
            yield string, b"".join(each.encoded() for each in top.inner)
            for record in changed:
                record.data = string


def of_ir_version_3(model):
    """Return a model of an IR version in which initializers have to be inputs."""
    model.proto.ir_version = 3
    return model


USES = {
    "convert": lambda model: opset.convert(model, 12),
    "convert with few features": lambda model: opset.convert(model, 13, ir_version=8),
    "convert for a runtime": lambda model: opset.convert(model, runtime="onnxruntime==1.12"),
    "plan": lambda model: str(opset.plan(model, 7)),
    "lower": lambda model: opset.lower(model, ["Softmax", "Elu"]),
    "inline": opset.inline_functions,
    "extract": lambda model: opset.extract(model, outputs=["hadd"]),
    "extract a function": lambda model: opset.extract(model, function="local.outer"),
    "merge": lambda model: opset.merge(model, opset.parse_model(SECOND), connect={"yout": "q"}),
    "merge behind": lambda model: opset.merge(opset.parse_model(SECOND), model, connect={"z": "xin"}),
    "infer": lambda model: opset.infer(model).written(),
    "change sizes": lambda model: opset.change_sizes(model, {"N": 2}),
    "repair": lambda model: str(opset.repair(model)),
    "repair for IR version 3": lambda model: str(opset.repair(of_ir_version_3(model))),
    "check for IR version 3": lambda model: str(opset.check(of_ir_version_3(model), full=True)),
    "info": lambda model: str(opset.info(model)),
    "to_text": opset.to_text,
    "compare": lambda model: str(opset.compare_models(model, whole_model())),
    "compare behind": lambda model: str(opset.compare_models(whole_model(), model)),
}


@pytest.mark.parametrize("use", USES)
def test_a_string_that_is_not_utf_8_is_taken_or_refused(use):
    USES[use](opset.load(whole_model().SerializeToString()))
    faults, taken = [], 0
    # info asks every runtime, which takes a second.
    for string, data in islice(broken_models(), 0, None, 60 if use == "info" else 1):
        try:
            USES[use](opset.load(data))
            taken += 1
        except OpsetError as error:
            assert str(error)
        except Exception as error:
            faults.append(f"{string!r}: {type(error).__name__}: {error}")
    assert not faults, "\n".join(faults)
    assert taken >= (1 if use == "info" else 20)
