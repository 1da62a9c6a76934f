"""Forms of nodes that exporters write against the standard and runtimes accept, as data; see `opset explain quirks`.

Each names its writers, the runtimes that accept it, and the action when a model is read:

- MEND: the node is rewritten as the standard has it; its meaning is the same.
- KEEP: the node stays as it is, since nothing in its version expresses it and its meaning is plain: it is computed and
  inferred, by the definition that `stand_in` names if it is set.
- REFUSE: the node is an error, although some runtime takes it.

All are about the standard's domain. Any other node that does not fit its operator is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from opset.schemas.model import OpSchema

MEND, KEEP, REFUSE = "mend", "keep", "refuse"
ORT = "onnxruntime 1.31"
INTERNAL = "__"
"""What the names of attributes begin with that only some runtime reads; all others skip them."""
NEWEST = 2**31 - 1


class Quirk(NamedTuple):
    """A form of nodes against the standard that some runtimes accept, of operators from opset `first` to `last`.

    `action` is MEND, KEEP or REFUSE; `form` describes the nodes, `what` the effect of the action.
    """

    operators: tuple[str, ...]
    first: int
    last: int
    form: str
    writers: str
    runtimes: str
    action: str
    what: str
    attribute: str = ""
    """The attribute that is concerned."""
    values: tuple[Any, ...] = ()
    """Its values that are concerned; where there are none, any one."""
    stand_in: tuple[str, int] | None = None
    """Operator, "" for the same one, and opset of the definition that computes it."""
    origin: str = ""
    """The domain that the operator comes from."""

    @property
    def becomes_standard(self) -> bool:
        """Whether the standard has the quirk's operator, with the same meaning, from opset `last` + 1 on.

        An example is LayerNormalization of com.microsoft. Up to opset 16, some models use it as if it were in the
        standard; from opset 17 on, it is.
        """
        return self.stand_in == (self.operators[0], self.last + 1)


def _foreign(
    name: str, last: int, origin: str, writers: str, what: str, stand_in: tuple[str, int] | None = None
) -> Quirk:
    """Return the quirk that nodes use an operator of the domain `origin` as if it were in the standard's domain.

    A quirk is a known deviation of models from the standard that some runtimes accept.

    Args:
        name: The operator.
        last: The last opset with the quirk; the first is 1.
        origin: The domain that has the operator.
        writers: The exporters that write such nodes.
        what: Text on what conversions and evaluation do with the nodes.
        stand_in: The name and version of an operator of the standard that computes the nodes; None if there is none.
    """
    form = f"{name} in the standard's domain, which has no such operator"
    return Quirk((name,), 1, last, form, writers, ORT, KEEP, what, stand_in=stand_in, origin=origin)


_EARLY = "CoreML and Caffe2 exporters of 2018"
_REDUCTIONS = tuple(f"Reduce{name}" for name in "L1 L2 LogSum LogSumExp Max Mean Min Prod SumSquare".split())
_SKIPPED = "not onnxruntime; importers that skip unknown attributes"

QUIRKS = (
    _foreign("SimplifiedLayerNormalization", NEWEST, "com.microsoft", "onnxruntime's optimizer and its model builder",
         "passed through; computed as RMSNormalization 23", ("RMSNormalization", 23)),
    _foreign("LayerNormalization", 16, "com.microsoft", "onnxruntime's transformer optimizer",
         "passed through; from target 17 on it is the standard's; computed as version 17", ("LayerNormalization", 17)),
    _foreign("ThresholdedRelu", 9, "experimental", _EARLY,
         "passed through; from target 10 on it is the standard's; computed as version 10", ("ThresholdedRelu", 10)),
    *[
        _foreign(name, 9, "experimental", _EARLY, "passed through below target 10, else refused")
        for name in ("Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh")
    ],
    _foreign("MeanVarianceNormalization", 8, "experimental", _EARLY, "passed through below target 9, else refused"),
    Quirk((), 1, NEWEST, f"attributes whose names begin with {INTERNAL}", "compilers, for their own runtimes", ORT,
          KEEP, "ignored"),
    Quirk((), 1, NEWEST, "an attribute that came later, with the value that keeps the older meaning",
          "exporters that write one form for all opsets", _SKIPPED, MEND, "dropped"),
    Quirk((), 1, NEWEST, "an attribute of an earlier version that never had an effect, as `consumed_inputs`",
          "MXNet and Caffe2 exporters", _SKIPPED, MEND, "dropped"),
    Quirk(("BatchNormalization",), 7, NEWEST, "`is_test` 1", "MXNet and Caffe2 exporters", _SKIPPED, MEND,
          "dropped: it is inference anyway", "is_test", (1,)),
    Quirk(("BatchNormalization",), 9, NEWEST, "`spatial` 1", "MXNet exporters", _SKIPPED, MEND,
          "dropped: it is the only meaning left", "spatial", (1,)),
    Quirk(("Dropout",), 7, NEWEST, "`is_test` 1", "Caffe2 exporters", _SKIPPED, MEND,
          "dropped: it is inference anyway", "is_test", (1,)),
    Quirk(("Dropout",), 12, NEWEST, "`ratio` as an attribute, without the input `training_mode`",
          "MXNet and Caffe exporters", _SKIPPED, MEND, "dropped: without training it has no effect", "ratio"),
    Quirk(("RoiAlign",), 10, NEWEST, "`mode` in upper case", "detection exporters", ORT, MEND,
          "written in lower case", "mode", ("AVG", "MAX")),
    Quirk(("Split",), 18, NEWEST, "neither `split` nor `num_outputs`",
          "the tool of onnxruntime-extensions for pre- and postprocessing, in 2023",
          "runtimes of before onnx 1.18; not onnxruntime 1.31", MEND, "`num_outputs` is the number of outputs",
          "num_outputs"),
    Quirk(("ConstantOfShape",), 9, NEWEST, "`value` without dimensions, a scalar",
          "exporters that write constants as scalars", "importers that read one element; not onnxruntime 1.31", MEND,
          "written with shape [1]", "value"),
    *[
        Quirk(names, 1, last, "an empty list of `axes`, whose meaning is left open",
              "exporters that write it for all dimensions", ORT, MEND, "dropped: all dimensions are reduced", "axes",
              ((),))
        for names, last in ((("ReduceSum",), 12), (_REDUCTIONS, 17))
    ],
    Quirk(("Squeeze", "Unsqueeze"), 1, 10, "negative `axes`, which came with version 11", "torch at opset 9 and 10",
          ORT, KEEP, "computed as version 11", "axes", stand_in=("", 11)),
    Quirk(("Gather",), 1, 10, "negative indices, which came with version 11", "torch at opset 9 and 10", ORT, KEEP,
          "computed as version 11", stand_in=("", 11)),
    Quirk(("Clip",), 11, NEWEST, "`min` or `max` of shape [1], not a scalar", "Paddle and Keras exporters", ORT,
          KEEP, "its one element is the bound"),
    Quirk(("STFT",), 17, NEWEST, "a signal of two dimensions, without the last one for real and imaginary part",
          "torch's dynamo exporter", ORT, KEEP, "a real signal"),
    Quirk(("QuantizeLinear", "DequantizeLinear"), 10, 12,
          "a scale for each element of axis 1, which came with version 13", "quantizers from before 2021", ORT, KEEP,
          "computed as version 13", stand_in=("", 13)),
    Quirk(("QuantizeLinear", "DequantizeLinear"), 10, 12, "`axis` other than 1", "quantizers from before 2021",
          _SKIPPED, REFUSE, "C103: import opset 13, which has it", "axis"),
    Quirk(("Pad",), 11, 18, "`mode` wrap, which came with version 19", "torch's dynamo exporter, for circular padding",
          ORT, KEEP, "computed as version 19", "mode", ("wrap",), ("", 19)),
    Quirk(("Pad",), 2, 10, "`mode` wrap, which came with version 19", "what was converted from a later version", ORT,
          KEEP, "kept; not computed", "mode", ("wrap",)),
    Quirk(("GridSample",), 16, 19, "other than two spatial dimensions, which came with version 20",
          "exporters of volumetric networks", ORT, KEEP, "computed as version 20", stand_in=("", 20)),
    Quirk(("Attention",), 25, 27,
          "what version 24 allows and 25 excludes: numbers of heads beside four dimensions, a cache beside "
          "`nonpad_kv_seqlen`, one present output alone",
          "exporters for onnx 1.20 to 1.22, whose opsets had version 24 still", ORT, KEEP, "computed as version 24",
          stand_in=("", 24)),
    Quirk(("Resize",), 11, 18, "`coordinate_transformation_mode` half_pixel_symmetric, which came with version 19",
          "exporters that write a form before its opset", ORT, REFUSE, "C103: import opset 19, which has it",
          "coordinate_transformation_mode", ("half_pixel_symmetric",)),
)  # fmt: skip


def quirks_of(op_type: str, version: int) -> Iterator[Quirk]:
    """Yield the quirks, known deviations from the standard, that nodes of an operator may have at opset `version`.

    `op_type` is an operator of ai.onnx. Quirks that are not about particular operators are left out.
    """
    return (each for each in QUIRKS if op_type in each.operators and each.first <= version <= each.last)


def alias(op_type: str, version: int) -> Quirk | None:
    """Return the quirk about an operator that ai.onnx does not have at opset `version`, but that runtimes accept there.

    An example is LayerNormalization at opset 16. Returns None if there is no such quirk.
    """
    return next((each for each in quirks_of(op_type, version) if each.origin), None)


def quirk_of_values(op_type: str, version: int) -> Quirk | None:
    """Return the quirk by which runtimes accept nodes of an operator that break its constraints; None if there is none.

    A quirk is a known deviation from the standard, such as negative indices of Gather at opset 10. `op_type` is an
    operator of ai.onnx, `version` the opset. A quirk about an attribute counts only if its `stand_in` names an operator
    version that computes the nodes.
    """
    found = (each for each in quirks_of(op_type, version) if each.action == KEEP and not each.origin)
    return next((each for each in found if each.stand_in is not None or not each.attribute), None)


def quirk_of_attribute(op_type: str, version: int, attribute: str, value: Any) -> Quirk | None:
    """Return the quirk, a known deviation from the standard, about an attribute with this value; None if there is none.

    `op_type` is an operator of ai.onnx, `version` the opset. A quirk that names no values is about all values of its
    attribute.
    """
    for each in quirks_of(op_type, version):
        if each.attribute == attribute and (not each.values or value in each.values):
            return each
    return None


def is_internal(attribute: str) -> bool:
    """Whether an attribute is only for some runtime: its name begins with two underscores."""
    return isinstance(attribute, str) and attribute.startswith(INTERNAL)  # bytes, where it is no UTF-8


def is_kept(schema: OpSchema, version: int, attribute: str, value: Any) -> bool:
    """Whether a node with an illegal attribute value stays as it is, because a quirk says that runtimes accept it.

    The result is False for operators of domains other than ai.onnx.

    Args:
        schema: The operator version of the node.
        version: The opset of ai.onnx that the model imports.
        attribute: The name of the attribute.
        value: The value. A tuple stays as it is if runtimes accept one of its elements.
    """
    if schema.domain:
        return False
    values = value if isinstance(value, tuple) else (value,)
    found = (quirk_of_attribute(schema.name, version, attribute, each) for each in values)
    return any(quirk is not None and quirk.action == KEEP for quirk in found)
