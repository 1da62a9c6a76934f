"""The names of onnx's modules that have no counterpart of the same name, and what to use instead."""

from __future__ import annotations

BUILDERS = (
    "`parse_model`, `parse_node`, … make messages of text; or go on with `onnx.helper`, whose messages opset takes"
)
COMPOSITION = "`opset.merge`, with `prefixes`; or go on with `onnx.compose`: opset takes the models that it returns"
COMPILED = "the compiled half of onnx, which opset does not have"
OWN_OPERATORS = "operators of your own are YAML in a folder, which every function takes as `schemas`"
MESSAGES = (
    "go on with those of `onnx`, which opset takes and returns; those in `opset.model.proto` have the same fields"
)
CLASSES = """
    AttributeProto DeviceConfigurationProto FunctionProto GraphProto IntIntListEntryProto MapProto ModelProto
    NodeDeviceConfigurationProto NodeProto OperatorProto OperatorSetIdProto OperatorSetProto OperatorStatus
    OptionalProto SequenceProto ShardedDimProto ShardingSpecProto SimpleShardedDimProto SparseTensorProto
    StringStringEntryProto TensorAnnotation TensorProto TensorShapeProto TrainingInfoProto TypeProto ValueInfoProto
    Version gen_proto
""".split()
CONSTANTS = """
    EXPERIMENTAL IR_VERSION IR_VERSION_2017_10_10 IR_VERSION_2017_10_30 IR_VERSION_2017_11_3 IR_VERSION_2019_1_22
    IR_VERSION_2019_3_18 IR_VERSION_2019_9_19 IR_VERSION_2020_5_8 IR_VERSION_2021_7_30 IR_VERSION_2023_5_5
    IR_VERSION_2024_3_25 ONNX_ML STABLE
""".split()
TENSORS = "go on with `onnx`; `opset run` and `opset verify` read .pb files of tensors"
EXTERNAL = "`opset.load` leaves external data in its files, and `Model.save(external=…)` moves it"
OWN_INFERENCE = (
    "inference functions of your own are registered by `opset.extend.infer`, and take an `opset.extend.Call`"
)

ABSENT: dict[str, dict[str, str]] = {
    "": {
        "helper": BUILDERS,
        "numpy_helper": "go on with `onnx.numpy_helper`, on models that onnx loaded",
        "external_data_helper": EXTERNAL,
        "model_container": "`opset.load` reads no weights, so a large model needs no container of its own",
        "serialization": "`opset.load` reads binary models and ONNX text, and `Model.save` writes both",
        "backend": "`opset.ReferenceEvaluator` runs models, `opset testgen` and `opset conformance` make and run cases",
        "tools": "`dims=` of `convert`, `infer` and `ReferenceEvaluator` sets sizes; or go on with `onnx.tools`",
        **dict.fromkeys(("load", "load_from_string", "load_model", "load_model_from_string"), "`opset.load`"),
        **dict.fromkeys(("save", "save_model"), "`opset.load(model).save(path)`"),
        **dict.fromkeys(("load_tensor", "load_tensor_from_string", "save_tensor"), TENSORS),
        **dict.fromkeys(
            ("convert_model_to_external_data", "load_external_data_for_model", "write_external_data_tensors"), EXTERNAL
        ),
        **dict.fromkeys(CLASSES, MESSAGES),
        **dict.fromkeys(CONSTANTS, "go on with those of `onnx`; `opset list releases` shows IR versions"),
    },
    "checker": {
        "C": "`CheckerContext` and `LexicalScopeContext` stand in the module itself",
        "MAXIMUM_PROTOBUF": "a model that is larger is checked by its path, in onnx and here",
    },
    "shape_inference": {
        "GraphInferencer": OWN_INFERENCE,
        "InferenceContext": OWN_INFERENCE,
    },
    "compose": dict.fromkeys(
        (
            "add_prefix",
            "add_prefix_graph",
            "check_overlapping_names",
            "expand_out_dim",
            "expand_out_dim_graph",
            "merge_graphs",
        ),
        COMPOSITION,
    ),
    "utils": {"Extractor": "`opset.extract`"},
    "defs": {"C": COMPILED, "deregister_schema": OWN_OPERATORS, "register_schema": OWN_OPERATORS},
}
"""By module, "" for the package, and by name: what to use instead."""


def absent_error(module: str, name: str) -> AttributeError:
    """Return the error for a name that a module does not have, with what to use instead if onnx has the name."""
    place = f"opset.compat.onnx.{module}".rstrip(".")
    advice = ABSENT.get(module, {}).get(name)
    message = f"module '{place}' has no attribute '{name}'"
    return AttributeError(message if advice is None else f"{message}: {advice}")
