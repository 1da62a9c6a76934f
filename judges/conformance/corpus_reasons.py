"""Why a judge does not agree with a case of the conformance corpus: decided by reading the specification.

FAULTS are decided case by case: the judge, a pattern of "operator example" as the names of cases have them, and what is
wrong with the judge's result, or why the specification leaves it open. LIMITS are errors that say by themselves why a
case was not judged: the judge ("" for each), a pattern of the error, and the reason.
"""

from __future__ import annotations

import re

__all__ = ["reason_for"]

LIMITS: tuple[tuple[str, str, str], ...] = (
    ("", r"zip\(\) argument 2 is shorter", "onnx's runner reads no maps"),
    ("", r"^KeyError: 0", "onnx's runner compares no maps"),
    ("", r"'str' object has no attribute 'shape'|^TypeError: Unable to compare expected type <class 'numpy.ndarray'>",
     "onnx's runner compares neither scalars nor text in sequences"),
    ("", r"'NoneType' object has no attribute 'shape'|Expected type is <class 'NoneType'>",
     "onnx's runner compares no empty optionals"),
    ("", r"'[\w.]*Sparse' object has no", "onnx's runner compares no sparse tensors"),
    ("onnx", r"^no kernel|No implementation for operator", "it does not implement this version of the operator"),
    ("onnx", r"[Nn]ot implemented|is not supported|only (applies|supports)|Invalid integer data type|"
             r"Unknown (activation|direction)|Invalid coordinate_transformation_mode|Invalid regex pattern",
     "it says that it does not implement what the case needs"),
    ("onnx", r"zero-size array|need at least one array|array of size 0|modulo by zero|division by zero|compute length|"
             r"output array is read-only", "it breaks off at empty tensors and sequences"),
    ("onnx", r"^(TypeError: (Issues with types|Method '_run'|One of the results)|RuntimeError: Attribute)",
     "its implementation breaks off with these attributes, types or ranks, which the operator allows"),
    ("onnx", r"Input type mismatch", "its function body, or what it writes in place of it, mixes types"),
    ("onnxruntime", "^no kernel", "it has no kernel for this version or type, or is older than the version"),
    ("onnxruntime", "is not a registered function/op", "it does not have the domain"),
    ("onnxruntime", "Type Error: Type '.*' of input parameter|data type is not supported with",
     "it does not have the type at this version"),
    ("onnxruntime", r"MLDataType for: .*tensor\(complex", "it has no complex numbers"),
    ("onnxruntime", "InsertedPrecisionFreeCast",
     "it computes float16 in float, with a Cast that opsets before 6 do not have"),
    ("onnxruntime", "bound to different types", "the function body that it runs mixes types"),
    ("onnxruntime", "Failed to construct locale", "it needs the locale en_US.UTF-8 of the system"),
    ("onnxruntime", "Error Unrecognized attribute", "it is older than the version"),
)  # fmt: skip
FAULTS: tuple[tuple[str, str, str], ...] = (
    # Both.
    ("onnx|onnxruntime", r"clip no_bounds\w*", "keeps infinities; an absent bound is the least or greatest number"),
    ("onnx|onnxruntime", "cast(like)? (to_string|bool_to_string)",
     "writes another text; the text of the operator says NaN, INF and -INF, and not whether there are exponents"),
    ("onnx|onnxruntime", "convtranspose gaps_at_the_end",
     "does not give SAME_UPPER the size of input times stride, or puts the gaps in front"),
    ("onnx|onnxruntime", r"groupnormalization (own_type|wide_stash)",
     "computes double in float, where the variance is lost"),
    ("onnx|onnxruntime", "(maxpool|globalmaxpool|reducemax|reducemin) (nan|not_a_number)",
     "skips NaN, which the text of the operator leaves open"),
    ("onnx|onnxruntime", "onehot negative_before", "counts negative indices from the end, which came with version 11"),
    ("onnx|onnxruntime", "resize size_of_a_region",
     "leaves the region out of the size, which is floor(size * (end - start) * scale)"),
    ("onnxruntime", "ml_treeensemble probit", "approximates the inverse of the normal distribution function"),
    ("onnx|onnxruntime", r"ml_treeensemble (logistic|softmax)",
     "numbers post_transform in another way, or does not apply it to 0"),
    ("onnx|onnxruntime", "ml_linearclassifier (labels_are_strings|probit)",
     "needs intercepts, which are optional, or takes the first class"),
    ("onnx", "attention mask_of_one_column", "pads the mask, as from version 24 on; before, it broadcasts"),
    ("onnxruntime", r"attention (mask_of_one_column|mask_of_one_row|no_keys)",
     "does not broadcast the mask, or takes no keys of length 0"),
    ("onnx|onnxruntime", "dynamicquantizelinear (empty|zeros)",
     "the standard does not say the scale of values that are all 0; the formula gives 0"),
    ("onnxruntime", "batchnormalization training_by_outputs", "saves the inverse of the deviation for the variance"),
    ("onnxruntime", r"batchnormalization places\w*", "has no training with statistics for each position"),
    ("onnx", r"batchnormalization places\w*", "has no statistics for each position"),
    ("onnx|onnxruntime", r"dropout numbers_as_mask", "the standard leaves the mask of inference open"),
    ("onnx|onnxruntime", r"(convinteger|matmulinteger|qlinearmatmul|qlinearconv) "
                         r"(\w*zero_points|row_scales\w*|one_scale_each_filter)",
     "takes one zero point and scale alone, or along another dimension"),
    ("onnx|onnxruntime", r"(de)?quantizelinear axis_of_a_vector",
     "checks the axis of a vector, which the text calls unnecessary at this version"),
    ("onnx|onnxruntime", r"quantizelinear types_of_their_own", "takes no two types of floats"),
    ("onnx|onnxruntime", "lrn .*", "takes images alone and odd sizes; the operator takes any rank from 2 and any size"),
    ("onnx|onnxruntime", r"deformconv .*", "takes images alone, or not offsets outside"),
    ("onnxruntime", "averagepool nothing_but_padding", "takes no padding as large as the window"),
    ("onnxruntime", "(gru|lstm|rnn) (no_steps|sequence_of_length_zero)",
     "sets the last state to 0, leaves it unset or ends the process; no step leaves the initial one"),
    ("onnxruntime", "rnn softplus", "overflows where the result is the number itself"),
    ("onnxruntime", "rnn lower_case", "compares names of activations as they are written"),
    ("onnxruntime", "lstm clip", "does not clip the cell before its activation"),
    ("onnxruntime", "(gru|lstm|rnn) (plain|batch_first)", "needs hidden_size, which is optional, or lacks layout 1"),
    ("onnxruntime", "loop count_alone", "heeds the condition of the body, which has no effect without a condition"),
    ("onnxruntime", "ml_svmclassifier .*|ml_svmregressor .*", "needs attributes that are optional"),
    ("onnx", "ml_svmclassifier probabilities", "ends the coupling of the probabilities early"),
    ("onnx", "ml_svmclassifier .*", "takes another label where there are no support vectors"),
    ("onnx|onnxruntime", r"globalmaxpool .*|globalaveragepool .*", "takes no tensor of this rank, or no empty one"),
    ("onnx|onnxruntime", "castlike to_float8e8m0_down", "lacks round_mode"),
    ("onnx", "stringnormalizer .*", "drops accents, or leaves stop words in"),
    ("onnx|onnxruntime", "stringsplit .*", "takes no scalar, or splits an empty text and white space in another way"),
    ("onnx|onnxruntime", "pad (scalar|removed\\w*)", "takes no scalar, or no pads that remove"),
    ("onnx|onnxruntime", "scan no_iteration", "takes no sequence of length 0"),
    ("onnx|onnxruntime", r"affinegrid empty", "takes no empty grid"),
    ("onnx|onnxruntime", r"onehot (strings|bool|float_indices)", "takes no scalar of indices, or not these types"),
    ("onnx|onnxruntime", r"(layernormalization|rmsnormalization|reduce\w+|mean|cumprod) (\w*float16|float_stash|"
                         r"narrow_stash|scale_of_other_type)",
     "rounds each step to the narrow type, or has another type of the result"),
    # onnx's evaluator.
    ("onnx", r"averagepool .*", "divides by the size of the window where padding does not count"),
    ("onnx", "batchnormalization float16_in_training", "has another type of the statistics"),
    ("onnx", r"batchnormalization .*", "takes inference for training, since momentum has a default"),
    ("onnx", "gemm factors", "ignores alpha"),
    ("onnx", "scan running_sum_of_batch", "takes the absent lengths for an input of the body"),
    ("onnx", "bernoulli scalar", "takes no scalar"),
    ("onnx", r"cast to_float8e8m0\w*", "rounds the greatest and the least value in another way"),
    ("onnx", "cast (by_name|string_to_int|uint8|bool)", "takes no name of a type, or no text with a fraction"),
    ("onnx", r"\w+ strings", "fills up text with the number 0"),
    ("onnx", "det bfloat16|dropout zeros|training_adam later_step|ml_\\w+ (integers|int32)|reducesumsquare .*",
     "has another type of the result"),
    ("onnx", r"(erf|gelu|hardswish) double", "computes double in float, or with constants of float"),
    ("onnx", r"gru .*|lstm .*|rnn .*",
     "takes default activations, or one batch and the first direction alone, whatever the attributes"),
    ("onnx", r"(softmax|logsoftmax|hardmax) (flattened|negative_axis_flattened|one_row)",
     "normalises along one axis, as from version 13 on; before, what follows the axis is one row"),
    ("onnx", r"(logsoftmax|softmaxcrossentropyloss) (large_values|large_scores|places)",
     "takes the logarithm of a softmax that is rounded to 0"),
    ("onnx", r"loop .*", "takes the carried values of the first iteration, or does not stop where the condition says"),
    ("onnx", "lpnormalization .*", "sums without absolute values, or rounds each step to float16"),
    ("onnx", "lppool .*", "counts what is beyond the end with the padding"),
    ("onnx", r"maxpool .*", "counts indices per image, or reads outside of it"),
    ("onnx", "maxunpool output_shape", "places indices in the default output"),
    ("onnx", "ml_labelencoder .*", "finds no NaN, or does not have this form"),
    ("onnx", "ml_linearregressor .*|ml_normalizer .*|ml_onehotencoder .*|ml_featurevectorizer .*|ml_scaler .*",
     "has another type of the result, or another formula than the text"),
    ("onnx", "optional .*", "gives an optional as a list of one"),
    ("onnx", r"prelu .*", "puts a slope along an axis where it does not broadcast"),
    ("onnx", "reducelogsumexp infinities", "subtracts infinities"),
    ("onnx", r"resize .*|upsample .*", "rounds integers, or does not have this mode"),
    ("onnx", r"roialign .*", "computes by the rules of version 16: half a pixel to the left, no least size"),
    ("onnx", "selu defaults_of_five_digits", "has the defaults of version 6"),
    ("onnx", "sequenceinsert past_the_last", "counts from the end once more"),
    ("onnx", "shrink wide_integers", "subtracts in double, which does not hold the number"),
    ("onnx", "slice backwards_from_the_front", "does not clamp the start to the front"),
    ("onnx", "tfidfvectorizer weights_by_ngram", "takes a weight by its coordinate"),
    ("onnx", "unsqueeze two_places_by_attribute", "takes axes in the order given"),
    ("onnx", "imagedecoder .*", "raises at a damaged image; the output is then empty"),
    ("onnx", "pad float8e8m0", "takes no pads that remove"),
    ("onnx", r"pow inverse_integers", "takes no negative exponents of integers"),
    ("onnx", "gatherelements .*|mean broadcast|convtranspose output_shape", "takes no tensors of these sizes"),
    # onnxruntime.
    ("onnxruntime", "attention .*", "takes no such scale, mask or left-out output"),
    ("onnxruntime", "bernoulli .*", "the function body that it runs draws 1 with the probability of 0"),
    ("onnxruntime", r"(blackman|hamming)window double", "computes double in float"),
    ("onnxruntime", r"clip min_above_max\w*", "refuses a least value above the greatest"),
    ("onnxruntime", "cast float_to_uint4", "rounds to the nearest; a fraction is dropped"),
    ("onnxruntime", "constantofshape float8e4m3fn", "does not have the type"),
    ("onnxruntime", "constant sparse", "gives a sparse tensor"),
    ("onnxruntime", "dropout left_to_the_runtime", "the standard leaves the mask of inference open"),
    ("onnxruntime", "einsum upper_case", "refuses capitals where the result is implied"),
    ("onnxruntime", "gridsample one_dimension", "takes images and volumes alone"),
    ("onnxruntime", r"groupnormalization empty\w*", "takes no empty tensor"),
    ("onnxruntime", "conv no_channels", "leaves the result of an empty sum unset"),
    ("onnxruntime", "dft onesided_along_the_first_axis", "rounds: a zero is a small number"),
    ("onnxruntime", "reshape to_scalar_by_attribute", "takes an empty list for an absent attribute"),
    ("onnxruntime", "matmulinteger nothing_to_add", "leaves the result of an empty sum unset"),
    ("onnxruntime", "meanvariancenormalization .*",
     "the function body that it runs subtracts rounded squares, and takes the root of less than 0"),
    ("onnxruntime", "ml_binarizer .*", "refuses NaN"),
    ("onnxruntime", "ml_labelencoder repeated_key", "the standard does not say which of two equal keys counts"),
    ("onnxruntime", "ml_treeensemble .*", "checks attributes against the type of the input"),
    ("onnxruntime", "multinomial empty", "takes no empty tensor"),
    ("onnxruntime", "nonzero .*", "takes a scalar for a vector of one element"),
    ("onnxruntime", "ml_castmap to_text", "writes six digits after the point"),
    ("onnxruntime", "pow integers", "computes integers in double"),
    ("onnxruntime", r"randomnormal(like)? (no|negative)_deviation",
     "ends the process where the deviation is not above 0"),
    ("onnxruntime", "range large", "computes the number of integers in double"),
    ("onnxruntime", r"reduce(max|min) \w+_of_nothing", "takes no empty tensor of bool"),
    ("onnxruntime", r"reduce\w+ integers_wrap", "computes integers in float and saturates"),
    ("onnxruntime", "slice scalar", "takes no scalar"),
    ("onnxruntime", "squeeze no_axes", "takes an empty list of axes for an absent one"),
    ("onnxruntime", "stft (empty|one_frame)", "takes no empty signal, or needs a window or a length"),
)  # fmt: skip


def reason_for(judge: str, case: str, why: str) -> str:
    """Return why a judge does not agree with a case, "" where that is not decided; `why` is the judge's error."""
    operator, _, rest = re.sub(r"_v(\d+)_", r" \1 ", case.removeprefix("test_"), count=1).partition(" ")
    subject = f"{operator} {rest.partition(' ')[2]}"
    faults = (reason for who, name, reason in FAULTS if judge in who.split("|") and re.fullmatch(name, subject))
    return limit_for(judge, why) or next(faults, "")


def limit_for(judge: str, why: str) -> str:
    """Return what a judge lacks, by its error, "" where it lacks nothing that is known."""
    return next((reason for who, text, reason in LIMITS if who in ("", judge) and re.search(text, why)), "")
