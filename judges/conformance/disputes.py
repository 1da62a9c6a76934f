"""Models on which judges disagree before any conversion, with the judge that is right: decided from the specification.

Each entry is a pattern of whole case names, a judge (onnxruntime, evaluator, which is that of the onnx package, or own
evaluator), and the reason. That judge alone is asked about conversions of the case: what it gives for the converted
model has to be what it gives for the unconverted one. Disputes without an entry are findings. Those of drawn models,
which have no lasting names, are decided by operator in judges.fuzz.decided.
"""

from __future__ import annotations

import re

__all__ = ["DISPUTES", "right_judge"]

DISPUTES: tuple[tuple[str, str, str], ...] = (
    (
        r"exported/whole/trees_opset15",
        "own evaluator",
        "scores are 0.6 and 0.4, and the label is that of the greatest; onnxruntime gives the other on some machines",
    ),
    (
        r"test_dft_inverse(_opset19)?(@.*)?",
        "own evaluator",
        "the outputs of the case are of single precision, up to 2e-7 where 0 is meant, and its tolerance is 1e-7; "
        "those of onnxruntime are up to 1e-5 off",
    ),
    (
        r"(test_(dft|dft_axis|dft_rfft|dft_irfft)(_opset19)?|test_stft(_with_window)?)(@.*)?",
        "own evaluator",
        "onnxruntime computes in single precision, up to 1e-4 off where a sum of numbers up to 100 is 0",
    ),
    (
        r"test_attention_4d_with_past_and_present_qk_matmul_bias_[34]d_mask_causal(@.*)?",
        "evaluator",
        "what the causal mask hides is minus infinity, as the standard's body of the operator gives it; onnxruntime's "
        "kernel gives the least number of the type",
    ),
    (
        r"test_attention_4d_causal_fp16(@.*)?",
        "evaluator",
        "one of 192 values by onnxruntime is a step of float16 off, and the tolerance is less than that",
    ),
    (
        r"test_maxunpool_export_with_output_shape(@.*)?",
        "onnxruntime",
        "the indices of the case are those of the default output of 4x4; the text counts in the output that is asked "
        "for, 5x5",
    ),
    (
        r"test_resize_downsample_scales_(linear|cubic)_align_corners(@.*)?",
        "onnxruntime",
        "the case divides by input size times scale less 1, 1.4; the text says length_resized - 1, and that is 1",
    ),
    (
        r"test_cast(like)?_FLOAT_to_STRING(_expanded)?@.*",
        "evaluator",
        "how many digits a number has as text is not said: in the case as many as tell it apart, by onnxruntime 8 or 9",
    ),
    (
        r"test_(nesterov_)?momentum(_multiple)?@1\.7\.0",
        "evaluator",
        "the X_new that the case expects is X itself; both evaluators compute it",
    ),
    (
        r"test_adam_multiple@1\.7\.0",
        "evaluator",
        "the outputs of the case are of epsilon 0.01, which its model leaves out; both evaluators take the default",
    ),
)


def right_judge(name: str) -> str:
    """Return the judge that was decided to be right about a case, "" where nobody disputed it."""
    return next((judge for pattern, judge, _ in DISPUTES if re.fullmatch(pattern, name)), "")
