"""Faults of kernels: nodes that a runtime takes, and computes wrongly or fails at; `import_runtimes` writes them down.

Each was measured by models of one node, in every release from 1.16 on for onnxruntime, and in 2026.4 for OpenVINO, of
which reductions were measured in 2023.3, 2024.6 and 2025.4, too. The models are those of the standard's node cases, of
the corpus and of exporters that failed (`judges runtimes --for RUNTIME -v`, `opset conformance`). An entry is that of
the file: docs/runtimes.md, "Faults". Older releases are taken to have the faults of the oldest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from opset.opsets.runtimes.keys import FAULT_KEYS
from opset.opsets.runtimes.model import release_sort_key

CPU, OPENVINO = "onnxruntime-cpu", "openvino"
REDUCTIONS = tuple(
    f"Reduce{name}" for name in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
)
WRONG, FAILS = {"result": "wrong"}, {"result": "fails"}
OVER_THE_END = {
    "attributes": {"ceil_mode": 1, "count_include_pad": 1},
    **WRONG,
    "gives": "divides a window over the end by its whole size",
}
ONE_SIDED = {"attributes": {"inverse": 1, "onesided": 1}}

NONPAD = {"versions": [24, 25], "present": ["nonpad_kv_seqlen"], **WRONG}
CAPPED = {"versions": [23, 25], "attributes": {"softcap": "not 0"}, **WRONG, "gives": "masks before it caps the scores"}
SCORES = {"versions": [23, 25], "present": ["qk_matmul_output"], **WRONG}
INLINED = {"opsets": [18, 19], **FAILS, "until": "1.16"}
WITHOUT_AXES = {"versions": [18, 18], "types": {"T": ["float16"]}, "absent": ["axes"], **INLINED}
EMPTY = {"empty": ["data"], **WRONG, "gives": "reduces an empty axis to an empty one", "until": "1.16"}

_CPU: dict[str, list[dict[str, Any]]] = {
    "Attention": [
        {**NONPAD, "gives": "counts keys beyond nonpad_kv_seqlen", "until": "1.24"},
        {
            **NONPAD,
            "attributes": {"is_causal": 1},
            "since": "1.25",
            "until": "1.27",
            "gives": "aligns queries and keys otherwise",
        },
        {**CAPPED, "present": ["attn_mask"], "until": "1.26"},
        {**CAPPED, "attributes": {"softcap": "not 0", "is_causal": 1}, "until": "1.26"},
        {**CAPPED, "versions": [24, 25], "present": ["nonpad_kv_seqlen"], "since": "1.25", "until": "1.26"},
        {
            **SCORES,
            "attributes": {"qk_matmul_output_mode": 1},
            "until": "1.26",
            "gives": "gives the scores of another step",
        },
        {
            **SCORES,
            "attributes": {"qk_matmul_output_mode": 2},
            "when": "a key is masked",
            "gives": "gives the least number in place of -infinity",
        },
    ],
    "AveragePool": [
        {"versions": [7, 18], **OVER_THE_END, "until": "1.28"},
        {"versions": [19, None], **OVER_THE_END, "until": "1.20"},
    ],
    "Cast": [
        {
            "types": {"T1": ["float16"], "T2": ["float16"]},
            **FAILS,
            "until": "1.30",
            "gives": "does not load if the value comes from a node without a kernel of float16",
        }
    ],
    "DFT": [
        {**ONE_SIDED, **FAILS, "gives": "does not load", "until": "1.24"},
        {**ONE_SIDED, **WRONG, "gives": "gives half the spectrum", "since": "1.25", "until": "1.26"},
    ],
    "LayerNormalization": [
        {"types": {"T": ["float16"]}, **INLINED, "gives": "is replaced by a function that is not valid"},
    ],
    "MeanVarianceNormalization": [
        {"types": {"T": ["float16"]}, **FAILS, "gives": "is replaced by a function that mixes types"},
    ],
    "ReverseSequence": [{**WRONG, "gives": "leaves a sequence unset", "when": "its length is 0 or 1", "until": "1.27"}],
    "TopK": [{"versions": [10, None], "scalars": ["K"], **FAILS, "gives": "takes no scalar K"}],
    **{name: [{**EMPTY}] for name in REDUCTIONS},
    **{
        name: [{"types": {"T": ["float16"]}, **INLINED, "gives": "is replaced by a function that is not valid"}]
        for name in ("LogSoftmax", "Softmax")
    },
}
_CPU["ReduceMax"].append({**EMPTY, **FAILS, "gives": "takes no empty axis", "since": "1.17", "until": "1.20"})
for _name in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"):
    _CPU[_name].append({**WITHOUT_AXES, "gives": "is replaced by a function that is not valid"})

INTEGERS = ["int8", "int16", "int32", "int64"]
FLOATS = ["bfloat16", "double", "float", "float16"]
BATCH_FIRST = {"attributes": {"layout": 1}, **WRONG, "gives": "takes the batch for another axis"}
_OPENVINO: dict[str, list[dict[str, Any]]] = {
    "Attention": [
        {
            "attributes": {"is_causal": 1},
            "present": ["past_key"],
            **WRONG,
            "when": "queries and new keys differ in number",
            "gives": "aligns queries and keys otherwise",
        }
    ],
    "AveragePool": [{**OVER_THE_END}],
    "BitShift": [{"types": {"T": INTEGERS}, **WRONG, "gives": "takes the bits of a number below 0 for others"}],
    "Cast": [
        {"types": {each: ["double"]}, "when": "float cannot hold a value", **WRONG, "gives": "computes double in float"}
        for each in ("T1", "T2")
    ],
    "Col2Im": [{"when": "the image has not two dimensions", **FAILS, "gives": "does not load"}],
    "DFT": [
        {"attributes": {"onesided": 1}, **WRONG, "gives": "gives another shape"},
        {"versions": [20, 20], "present": ["axis"], **WRONG, "gives": "transforms another axis"},
    ],
    "Dropout": [{"when": "it passes an input of the model on", **WRONG, "gives": "leaves the result unset"}],
    "Equal": [{"types": {"T": ["string"]}, **FAILS, "gives": "does not load"}],
    "GRU": [{**BATCH_FIRST}],
    "If": [{"known": ["cond"], **FAILS, "gives": "does not load if the branch that is not taken is not valid"}],
    "LSTM": [
        {"present": ["P"], **WRONG, "gives": "computes peepholes otherwise"},
        {**BATCH_FIRST},
    ],
    "Mod": [{"types": {"T": FLOATS}, "attributes": {"fmod": 0}, **FAILS, "gives": "does not load"}],
    "QLinearConv": [{"when": "each channel of the weights has a scale", **FAILS, "gives": "does not load"}],
    "QuantizeLinear": [
        {"attributes": {"block_size": "not 0"}, "absent": ["y_zero_point"], **FAILS, "gives": "does not load"}
    ],
    **{
        name: [
            {
                "attributes": {"keepdims": 0},
                "computed": ["axes"],
                **FAILS,
                "when": "there are several axes",
                "gives": "does not load",
            }
        ]
        for name in REDUCTIONS
    },
    "Resize": [
        {"attributes": {"antialias": 1}, **WRONG, "gives": "weighs elements otherwise"},
        {"attributes": {"exclude_outside": 1, "mode": "cubic"}, **WRONG, "gives": "weighs elements otherwise"},
        {"attributes": {"keep_aspect_ratio_policy": "not stretch"}, **WRONG, "gives": "takes the policy for stretch"},
    ],
    "RNN": [{**BATCH_FIRST}],
    "RoiAlign": [{"attributes": {"mode": "max"}, **WRONG, "gives": "takes the greatest of other elements"}],
    "Scan": [{"captures": True, **FAILS, "gives": "does not load"}],
    "Tile": [{"input_rank": [4, 5, 6], "computed": ["repeats"], **WRONG, "gives": "leaves the result unset"}],
    "TopK": [{"when": "values are equal", **WRONG, "gives": "gives indices in another order"}],
}
SIGNED = {"when": "a value is 2147483648 or more", **WRONG, "gives": "takes it for a number below 0"}
for _name in ("Div", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "Mod"):
    _OPENVINO.setdefault(_name, []).append({"types": {"T": ["uint32", "uint64"]}, **SIGNED})
for _name, _spans in {
    **{name: [([18, 28], {"until": "2023.3"})] for name in REDUCTIONS if name != "ReduceSum"},
    "ReduceL1": [([18, 28], {"until": "2023.3"}), ([13, 17], {"since": "2025.4"})],
    "ReduceLogSum": [([18, 28], {"until": "2023.3"}), ([13, 17], {"since": "2026.4"})],
    "ReduceLogSumExp": [([18, 28], {"until": "2023.3"}), ([13, 17], {"since": "2026.4"})],
}.items():
    _OPENVINO[_name] += [
        {"versions": versions, **WRONG, "gives": "does not see the axes", **span} for versions, span in _spans
    ]
_OPENVINO["ReduceMax"].append({"empty": ["data"], **WRONG, "gives": "gives the least float in place of -infinity"})

FAULTS = {CPU: {"ai.onnx": _CPU}, OPENVINO: {"ai.onnx": _OPENVINO}}


def faults_of(runtime: str, releases: Sequence[str]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Return the faults that releases of a runtime have, by domain and operator in the order of their names.

    Args:
        runtime: Its name.
        releases: The releases of its file, oldest first.
    """
    return {
        domain: {name: faults for name in sorted(listed) if (faults := [*_within(listed[name], releases)])}
        for domain, listed in FAULTS.get(runtime, {}).items()
    }


def _within(faults: Iterable[Mapping[str, Any]], releases: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the faults that one of the releases has; `since` and `until` are of these."""
    keys = {release: release_sort_key(release) for release in releases}
    for fault in faults:
        since, until = (release_sort_key(fault[key]) if key in fault else None for key in ("since", "until"))
        have = [
            release
            for release, key in keys.items()
            if (since is None or since <= key) and (until is None or key <= until)
        ]
        if have:
            ends = {"since": have[0], "until": have[-1]}
            yield {key: ends.get(key, fault[key]) for key in FAULT_KEYS if key in fault}
