"""Where inference may say less than the onnx package, or other things: decided from the specification.

Each entry is a pattern of operators, a pattern that is found in "kind operator: why | case", and the reason. Kinds are
those of judges.conformance.inference: exception, finding, truth, less, contradiction.
"""

from __future__ import annotations

import re

__all__ = ["DECIDED", "decided"]

DECIDED: tuple[tuple[str, str, str], ...] = (
    (
        "Attention",
        r"(less|contradiction) .*onnx \w+\[.*\b0\]",
        "the last size is that of keys, or of heads times their width; onnx counts with 0 for a variable",
    ),
    (
        "STFT",
        r"contradiction .*\[1, 15, 9, 2\], and onnx \w+\[1, 15, 16, 2\]",
        "onesided is 1: of a frame of 16 there are 16 / 2 + 1 values, as the outputs of the case have; onnx gives all",
    ),
    (
        "MaxPool",
        "contradiction .*ceil_output_size_reduce_by_one",
        "a window that would begin in the padding at the end is left out, which the outputs of the case show",
    ),
    (
        "Split",
        r"less .*test_affine_grid_3d\w*_expanded",
        "in the branch that is never run four sizes are made of five; onnx divides them evenly, down to a size of -1",
    ),
    (
        "Loop",
        r"less .*sequence\(float\), and onnx sequence\(float\[\]\) \| test_loop13_seq",
        "the items of the sequence are of 1 to 5 elements; onnx believes the body's input, which states scalars",
    ),
    (
        "If|OptionalGetElement",
        r"truth .*float\[\], and the value's shape is \[1\] \| test_loop16_seq_none",
        "the body states sequences of scalars, and is given one of tensors of rank 1",
    ),
    (
        "Scan|CastLike",
        r"less .*, and onnx float\[s0_0, 1, unk__\d+, unk__\d+\] \| test_linear_attention_gated_delta_mqa_expanded",
        "a state keeps its element type, not its shape; if nothing is scanned it has the size that it came with",
    ),
    (
        r"\(several\)",
        r"finding .*Add 1; .* \| test_softplus\w*_expanded@1\.13\.0",
        "Add of opset 1 does not broadcast without its attribute; the case is wrong in itself",
    ),
)


def decided(operator: str, text: str) -> str:
    """Return the reason why something that was found is as it should be, "" where it is not."""
    found = (reason for name, what, reason in DECIDED if re.fullmatch(name, operator) and re.search(what, text))
    return next(found, "")
