"""Where the standard's function bodies and our examples differ, by pattern of case, with what was decided."""

DECIDED = {
    # The body contradicts the text of its operator, which holds.
    "Bernoulli (15|22) .*": "the text draws 1 with the probability of the input; the body draws 0 with it",
    "CastLike (24|25) to_float8e8m0_down": "the text has round_mode; the body does not hand it to its Cast",
    "Clip 13 no_bounds(_float16)?": "the text sets absent bounds to the least and the greatest number; the body copies",
    "LayerNormalization 17 (from_first_axis|negative_axis)": "the text lets the scale broadcast; the body flattens it",
    "AffineGrid 20 .*": "the text takes any batch; the body removes dimensions of size 1, and so a batch of one",
    "Celu 12 scalar": "the text works on each element; alpha is a vector of one in the body, and so the result",
    # The text allows types for which the body is no valid function.
    "(Attention|RMSNormalization) \\d+ bfloat16": "the body mixes bfloat16 with another type",
    "RMSNormalization 23 scale_of_other_type": "the body multiplies two types",
    "MeanVarianceNormalization (9|13) (small_values|float16|bfloat16)": "the body adds constants of float",
    "CenterCropPad 18 negative_axes": "the body mixes int32 and int64",
    "Range 11 int16": "the body divides and multiplies int16, which Mul of opset 11 does not take",
    # The body cannot do it with tensors that have no elements; the text makes no exception of them.
    "Attention \\d+ no_keys": "the body reshapes to 0 and -1",
    "GroupNormalization 21 (empty|empty_images)": "the body reshapes to 0 and -1",
    "LinearAttention 27 no_tokens": "the body reshapes to 0 and -1",
    # Both compute the formula of the text; the body loses digits, or leaves the range of its type, on the way.
    "(Blackman|Hamming|Hann)Window 17 double": "the body computes in float",
    "BlackmanWindow 17 (integers|uint8)": "the body gives a value just below 1, of which Cast drops the fraction",
    "HardSwish (14|22) double": "the body has constants of float",
    "ReduceL2 18 two_axes": "the body computes in float",
    "GroupNormalization (18 own_type|21 wide_stash)": "the body subtracts the squared mean from the mean of squares",
    "ReduceLogSumExp (18|28) large_values": "the body overflows where the result does not",
    "Softplus (1|22) special": "the body overflows where the result does not",
    # The text does not say it, and the example says so.
    "Shrink 9 integers_lose_their_fraction": "the text does not say in which type integers meet a bias of float",
}
