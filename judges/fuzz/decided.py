"""Disagreements of onnxruntime and the reference evaluator that were decided from the specification.

Each is a pattern of operators, a pattern of what is found in "operator version kind: difference | node", and who is
right and why. Where the specification leaves a result open, the evaluator need not do as onnxruntime does.
"""

from __future__ import annotations

__all__ = ["DECIDED"]

DECIDED: tuple[tuple[str, str, str], ...] = (
    # What the specification does not allow, and onnxruntime does not look at.
    (
        "ArgMax|ArgMin|Concat|Compress|Flatten|Split|Gather|Softmax|LogSoftmax|Hardmax",
        r" fails: .*R203.*C1: axis -\d+, rank",
        "axes counted from the end came with version 11; onnxruntime takes them at every version",
    ),
    (
        "Compress",
        r"fails: .*C2: shape\(condition\)",
        "the condition may be shorter than the axis, not longer; onnxruntime ignores what is beyond",
    ),
    (
        "Concat|SequenceMap|Loop",
        r"fails: .*(Concat|Loop) .*\b0\b",
        "the other sizes have to agree; onnxruntime leaves out inputs without elements before it compares",
    ),
    (
        "ArgMax|ArgMin|CumSum|CumProd|Reduce.*",
        r"fails: .*R203.* [\[(]\d.*\b0\b",
        "there is no greatest or least of no elements, and an axis is one number; onnxruntime gives an empty output",
    ),
    (
        "Attention",
        "fails: .*C10",
        "present_key and present_value are named together, and not beside nonpad_kv_seqlen; onnxruntime does not ask",
    ),
    (
        "GatherND|Einsum|MatMul|PRelu|NegativeLogLikelihoodLoss|SoftmaxCrossEntropyLoss|CenterCropPad",
        "fails: .*R20[34]",
        "sizes that do not agree, or that may not be broadcast, are not valid; onnxruntime does not compare them",
    ),
    (
        "LayerNormalization|GroupNormalization|InstanceNormalization|RMSNormalization",
        r"differ: .*e\+3[78]\b",
        "squares that the type of the stash does not hold are infinite; onnxruntime computes some in double",
    ),
    (
        "LayerNormalization|RMSNormalization",
        "fails: .*stash_type",
        "one of the few types that a stash may have; onnxruntime does not look at the number",
    ),
    (
        "Pad",
        "fails: .*C3: pads",
        "what is cut off has to be there; onnxruntime adds what the other side gets first",
    ),
    ("Pad", "fails: .*C6: axis", "there is nothing to reflect; onnxruntime gives an empty output"),
    (
        "DictVectorizer",
        "fails: .*not in the vocabulary",
        "every key has to be in the vocabulary; onnxruntime leaves the others out",
    ),
    (
        "ConstantOfShape",
        "fails: .*cannot be tensor",
        "the output has one of the types that the version lists; onnxruntime gives others, too",
    ),
    (
        "Pow",
        "fails: .*C2: 0 is raised to a negative power",
        "the result is infinite, and its type has no such value; onnxruntime gives what the processor does",
    ),
    # Empty tensors.
    (
        "Reduce.*|Arg.*",
        r"differ: .*\[(\d+, )*0[],]|\[(\d+, )*0[],].*\) ",
        "for an empty input onnxruntime gives the input's shape, by some of its kernels",
    ),
    (
        "MatMul|MatMulInteger|Gemm",
        r"differ: .*\[(\d+, )*0[],].*\) -> ",
        "a sum of no products is 0; onnxruntime leaves the memory as it was, or beta out",
    ),
    (
        "BatchNormalization|ReduceMean|InstanceNormalization|GroupNormalization",
        r"differ: .*\[(\d+, )*0[],]|nan for|for nan|\[(\d+, )*0[],].*\) ",
        "the mean of no elements is not defined; onnxruntime gives 0",
    ),
    # NaN, and what is beyond the range of a type.
    (
        "ReduceMax|ReduceMin|Max|Min|MaxPool|GlobalMaxPool|Clip|Relu|.*Pool|ArgMax|ArgMin|TopK",
        r"\bnan\b",
        "the specification does not say what becomes of NaN; here it is kept, onnxruntime's kernels differ",
    ),
    (
        "Range",
        r"differ: .*\[\d+\] for int64.*\d{19}",
        "how many numbers there are is computed exactly; onnxruntime computes it in DOUBLE",
    ),
    ("Sign", "nan for 0", "the sign of NaN is not defined; onnxruntime gives 0 for some types, and NaN for others"),
    (
        "Unique",
        "differ: .*nan|differ: .*float.*Unique\\((float|double|float16)",
        "NaN equals nothing, so each is an entry of its own; onnxruntime counts all as one",
    ),
    (
        "ReduceProd|ReduceSum|ReduceSumSquare|ReduceL1|ReduceL2|Shrink|ReduceLogSumExp|ReduceLogSum|ReduceMean",
        r"differ: .*(int32|int64|uint32|uint64|int8|uint8|int16|uint16) ",
        "what does not fit an integer, by overflow or a fraction, is not defined; here it wraps, or is cut towards 0",
    ),
    (
        "DynamicQuantizeLinear",
        "differ",
        "a range of 0, or with NaN or infinity, gives no scale; onnxruntime takes a scale of 1",
    ),
    # Strings.
    (
        "Gather|Slice|DepthToSpace|SpaceToDepth|Pad|GatherND|GatherElements",
        "differ: .*object",
        "onnxruntime's Gather copies only the first of each row of strings",
    ),
    (
        "Cast|CastLike",
        "differ: .*object",
        "how many digits a number has as text is not said; here as many as tell it apart, in onnxruntime 8 or 9",
    ),
    (
        "CastMap",
        "differ: .*object",
        "how a number is written, and what stands for a missing entry, is not said: '-3.25' here, '-3.250000' there",
    ),
    (
        "StringSplit",
        "differ",
        "an empty string has one part, the empty one, where a delimiter is given; onnxruntime counts none",
    ),
    # One operator each.
    (
        "AffineGrid",
        r"differ: .*\b1\b.*align_corners=1",
        "along an axis of size 1 the only position is the middle; onnxruntime takes -1, the first corner",
    ),
    (
        "Attention",
        r"differ: .*is_causal=1",
        "a query sees the past, and of the new keys those up to its own; onnxruntime lets a single query see them all",
    ),
    (
        "Attention",
        r"differ: .*o3(_\w+)?: .*-inf for -(6\.55|3\.4)",
        "what the mask excludes has a score of minus infinity; onnxruntime gives the least number of the type",
    ),
    (
        ".*Pool|Conv|ConvInteger|QLinearConv|ConvTranspose",
        "differ: .*auto_pad=SAME",
        "SAME gives size / stride, or size * stride, rounded up, with dilations too, and never pads by less than 0; "
        "onnxruntime leaves dilations out before version 22, or pads by a negative number",
    ),
    (
        "Cast|CastLike",
        r"differ: .*_f: float32 .* \| Cast\w*\((float|double|float16|bfloat16).*(to=2[12]|$)",
        "what becomes of the fraction is not said for integers of 4 bits; as for wider ones, it is cut off here, "
        "and rounded by onnxruntime",
    ),
    (
        "BatchNormalization",
        r"differ: .*\bzo[12]\w*: float16",
        "a second node has the running statistics that are given; onnxruntime has written the first one's over them",
    ),
    (
        "Col2Im",
        "differ: .*dilations=",
        "onnxruntime places the blocks wrongly where there are three axes and dilations",
    ),
    ("Dropout", "Dropout (7|10) .*o1", "outside of training the mask is not used, and all pass; onnxruntime gives 0"),
    (
        "LSTM|GRU|RNN",
        "differ: .*clip=",
        "clip bounds what goes into every activation, that of the cell too, which onnxruntime leaves out",
    ),
    (
        "Loop",
        r"differ: .*Loop\(int64\S*, -",
        "without an initial condition the one that the body gives is ignored; onnxruntime stops by it",
    ),
    ("MeanVarianceNormalization", "for nan", "a variance of 0 is 0, and may not come out below by rounding"),
    ("NonZero", r"\[(2, )?0, \d\] for int64\[(2, )?1, ", "for a scalar the specification asks for [0, N]"),
    (
        "OneHot",
        "OneHot 9 ",
        "version 9 gives off values for negative indices; onnxruntime counts them from the end at each version",
    ),
    (
        "Slice",
        r"differ: .*\[(\d+, )*0[],]",
        "with a negative step the end is at most the last index; onnxruntime takes one beyond for none",
    ),
    (
        "SplitToSequence",
        r"differ: .*keepdims=0",
        "keepdims is ignored where the sizes are given",
    ),
    (
        "Resize",
        "differ: .*tf_crop_and_resize",
        "the region is cut out along every axis, and the output has its size times the scale; onnxruntime leaves out "
        "the regions of some axes, or copies where no size changes",
    ),
    (
        "Resize|Upsample",
        r"differ: .*\bu?int\d+ \d+ of .*mode=(linear|cubic)",
        "what becomes of the fraction is not said for integers; where rounding decides, the two may differ by 1",
    ),
    (
        "QuantizeLinear",
        "differ: .*precision=",
        "precision is the type that the quotient is computed in; onnxruntime takes FLOAT",
    ),
    (
        "Resize|Upsample",
        r"differ: .*\(\w+\[([\d, ]*)\].* -> \(\w+\[(2, )?\1\]",
        "onnxruntime copies where scales change no size",
    ),
    (
        "LayerNormalization|RMSNormalization",
        r"differ: .*extreme",
        "a variance beyond FLOAT, which is what stash_type asks for, is infinite; onnxruntime computes in DOUBLE",
    ),
    (
        "NegativeLogLikelihoodLoss|SoftmaxCrossEntropyLoss",
        r"differ: .*nan for 0|differ: .*\[(\d+, )*0[],]",
        "the mean of no elements is not defined; onnxruntime gives 0",
    ),
    (
        "LabelEncoder",
        r"LabelEncoder 2 differ: .*keys_floats=\[[^]]*nan",
        "whether NaN is found before version 4 is not said; it is found here",
    ),
    (
        "LabelEncoder",
        r"LabelEncoder [23] differ: .*keys_floats=\[[^]]*\b0\.0",
        "before version 4 keys are compared bit by bit, and the two zeros differ; onnxruntime takes them for one",
    ),
    (
        "LabelEncoder",
        r"differ: .*keys_floats=.*-?0\.0, .*-?0\.0",
        "which of two equal keys counts is not said",
    ),
    # ai.onnx.ml
    (
        "TreeEnsembleClassifier",
        "fails: .*C5: 1 base values, and 2 are needed",
        "there is a base value for each class; votes for the second class alone are no reason for one",
    ),
    (
        "DictVectorizer",
        "float64.* for float32",
        "the output has the type of the map's values; onnxruntime's Python gives another",
    ),
    (
        "LinearClassifier|LinearRegressor|TreeEnsemble.*|SVM.*",
        "post_transform=(PROBIT|4)",
        "the probit is computed in full; onnxruntime has an approximation of four digits",
    ),
    (
        "LinearRegressor|LinearClassifier|SVMClassifier|TreeEnsemble.*",
        "differ: .*post_transform=(SOFTMAX|SOFTMAX_ZERO|LOGISTIC|[123]).*",
        "the transform holds for a single score, too; onnxruntime leaves that as it is",
    ),
    (
        "SVMClassifier",
        "differ: .*o0",
        "the label is that of the greatest score; onnxruntime decides between two by the signs of the coefficients",
    ),
    (
        "SVMClassifier",
        "differ: .*prob_a=",
        "how probabilities of pairs are put together is not said; onnxruntime stops its iteration earlier",
    ),
    (
        "TreeEnsembleClassifier",
        r"differ: .*o1.*class_ids=\[(?=[^]]*0)(?=[^]]*1)[^]2-9]*\]",
        "a class that no leaf of a row names scores 0; of two, onnxruntime gives it minus the other's score",
    ),
    (
        "TreeEnsembleClassifier",
        r"differ: .*class_ids=\[1(, 1)*\] ",
        "what a class that no leaf names scores is not said where the other of two is named: here minus that one's "
        "score, or 1 less it; onnxruntime gives 0",
    ),
    (
        "LinearClassifier",
        r"differ: .*o1.*classlabels_\w+=\[[^,]*, [^,]*\]",
        "what the other of two classes scores is not said where coefficients are given for one",
    ),
    (
        "TreeEnsembleClassifier",
        r"classlabels_int64s=\[0\]",
        "a single label is what every row has; onnxruntime makes up another for scores above 0",
    ),
    (
        "TreeEnsemble.*",
        r"differ: .*\bnan\b.*NEQ|TreeEnsemble 5 differ: .*TreeEnsemble\([^)]*\bnan\b",
        "NaN takes the branch that nodes_missing_value_tracks_true names, false without it; onnxruntime compares it",
    ),
    (
        "TreeEnsembleClassifier",
        r"differ: .*o0.*(class_weights=\[[^]]*-|classlabels_\w+=\[[^,]*, [^,]*\])",
        "the label is that of the greatest score, the first of equal ones, also where that is 0 as no leaf names the "
        "class, or below; onnxruntime takes one that a leaf named, and of two the second where that is above 0",
    ),
    (
        "TreeEnsembleRegressor",
        r"differ: .* for 0\.0 .*aggregate_function=(MIN|MAX).*base_values|differ: .* for 0\.0 .*base_values",
        "a target that no leaf names has its base value; onnxruntime leaves it 0",
    ),
    (
        "TreeEnsembleClassifier",
        r"differ: .*base_values=\[[^,]*, [^,]*\]",
        "each class has a base value of its own; onnxruntime makes one score of two classes",
    ),
    (
        "ZipMap",
        r"float32\[\] for float64",
        "onnxruntime's Python gives the map's FLOAT values as float",
    ),
)
