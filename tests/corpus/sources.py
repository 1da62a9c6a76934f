"""What the models of the corpus were made of: a graph, and functions, in ONNX text for each version of a domain.

A name is `ai.onnx-13` or `ai.onnx.ml-3`. Each model uses operators that are typical of its version, or new or changed
in it. The files are frozen: a source is added for a new version, and none is changed.
"""

SOURCES: dict[str, str] = {
    "ai.onnx-1": """
classifier (float[2, 1, 4, 4] x) => (float[2, 3] y)
<float[2, 1, 3, 3] w = {1, 0, -1, 0.5, 2, 0, -0.25, 1, 0.75, 0, 1, 0.5, -1, 0.25, 1, 2, -0.5, 0},
 float[2] b = {0.5, -0.5}, float[2] scale = {1, 2}, float[2] bias = {0, 0.25}, float[2] mean = {0.1, -0.2},
 float[2] var = {1, 4}, float[3, 8] fc_w = {1, 2, 3, 4, 5, 6, 7, 8, -1, 0, 1, 0, -1, 0, 1, 0, 0.5, 0, 0, 2, 0, 0, 1, 1},
 float[3] fc_b = {0.1, 0.2, 0.3}> {
    conv = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, w, b)
    norm = BatchNormalization <is_test = 1, consumed_inputs = [0, 0, 0, 1, 1], epsilon: float = 0.001>
        (conv, scale, bias, mean, var)
    relu = Relu <consumed_inputs = [0]> (norm)
    pool = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (relu)
    flat = Reshape <shape = [2, 8]> (pool)
    fc = Gemm <broadcast = 1, transB = 1> (flat, fc_w, fc_b)
    y = Softmax (fc)
}""",
    "ai.onnx-2": """
pooled (float[1, 2, 4, 4] x) => (float[1, 1, 3, 3] y, float[1, 1, 1, 1] z)
<float[1] w = {0.5}> {
    padded = Pad <mode = "reflect", pads = [0, 0, 1, 1, 0, 0, 1, 1]> (x)
    a, b = Split <axis = 1, split = [1, 1]> (padded)
    y = LpPool <kernel_shape = [2, 2], strides = [2, 2], p = 2> (a)
    scaled = Mul <broadcast = 1, axis = 1> (b, w)
    z = GlobalLpPool <p = 1> (scaled)
}""",
    "ai.onnx-3": """
recurrent (float[3, 1, 2] x) => (float[3, 1, 2] y, float[1, 1, 2] last)
<float[1, 6, 2] w = {0.1, 0.2, -0.3, 0.4, 0.5, -0.6, 0.7, 0.8, 0.9, -1, 0.2, 0.3},
 float[1, 6, 2] r = {0.3, -0.1, 0.2, 0.5, 0.4, 0.1, -0.2, 0.6, 0.3, 0.3, -0.5, 0.1},
 float[1, 12] b = {0.1, 0, 0.2, 0, -0.1, 0.3, 0, 0.1, 0.05, 0, 0.2, -0.2}> {
    all, last = GRU <hidden_size = 2, linear_before_reset = 1> (x, w, r, b)
    squeezed = Squeeze <axes = [1]> (all)
    y = Tanh (squeezed)
}""",
    "ai.onnx-4": """
joined (float[2, 3] x, float[2, 3] x2) => (float[2, 6] y, int32[1, 6] z)
<float[2, 3] w = {0.5, 1, 2, -1, -2, 3}> {
    a = Mul (x, w)
    joined = Concat <axis = 1> (a, x2)
    y = Abs (joined)
    twice = Add (joined, joined)
    total = ReduceSum <axes = [0], keepdims = 1> (twice)
    z = Cast <to = "INT32"> (total)
}""",
    "ai.onnx-5": """
reshaped (float[2, 6] x) => (float[2, 3, 2] y, float[2, 2] values, int64[2, 2] indices)
<int64[3] shape = {0, -1, 2}, float[2] w = {2, -3}> {
    r = Reshape (x, shape)
    y = Mul <broadcast = 1> (r, w)
    values, indices = TopK <axis = 1, k = 2> (x)
}""",
    "ai.onnx-6": """
activations (float[2, 3, 4] x) => (float[2, 3, 8] y, int64[2, 3, 4] z)
<float[3] w = {0.5, -1, 2}, int64[3] repeats = {1, 1, 2}, float[3] scale = {1, 2, 3}, float[3] b = {0, 0.5, 1},
 float[1] ten = {10}> {
    added = Add <axis = 1, broadcast = 1> (x, w)
    clipped = Clip <min: float = -1, max: float = 1.5> (added)
    elu = Elu <alpha: float = 0.5> (clipped)
    hard = HardSigmoid <alpha: float = 0.3, beta: float = 0.4> (x)
    norm = InstanceNormalization <epsilon: float = 0.001> (elu, scale, b)
    highest = Max (norm, hard)
    total = Sum (highest, elu, hard)
    dropped = Dropout <is_test = 1, ratio: float = 0.4> (total)
    y = Tile (dropped, repeats)
    tenfold = Mul <broadcast = 1> (x, ten)
    z = Cast <to = 7> (tenfold)
}""",
    "ai.onnx-7": """
broadcasting (float[2, 1, 2] x, float[1, 2, 2, 2] image) => (float[2, 1, 1, 2] y, float[1, 2, 4, 4] up)
<float[1, 8, 2] w = {0.1, 0.2, -0.3, 0.4, 0.5, -0.6, 0.7, 0.8, 0.9, -1, 0.2, 0.3, 0.1, -0.4, 0.6, 0.2},
 float[1, 8, 2] r = {0.3, -0.1, 0.2, 0.5, 0.4, 0.1, -0.2, 0.6, 0.3, 0.3, -0.5, 0.1, 0, 0.2, 0.7, -0.3},
 float[2, 1, 1] slope = {0.25, -0.5}, float[2] scale = {1, 2}, float[2] bias = {0, 0.5}, float[2] mean = {0.5, 0},
 float[2] var = {1, 2}, float[2] shift = {1, -1}> {
    all = LSTM <hidden_size = 2> (x, w, r)
    shifted = Add (all, shift)
    y = Sin (shifted)
    norm = BatchNormalization <epsilon: float = 0.01> (image, scale, bias, mean, var)
    prelu = PRelu (norm, slope)
    up = Upsample <mode = "nearest", scales: floats = [1.0, 1.0, 2.0, 2.0]> (prelu)
}""",
    "ai.onnx-8": """
scanned (float[1, 3, 2] x, float[1, 1, 4, 4] image)
    => (float[1, 2] state, float[1, 3, 2] y, float[1, 1, 2, 2] pooled, int64[1, 1, 2, 2] indices)
<float[1, 2] start = {0.5, -0.5}, int64[3] shape = {1, 3, 2}, float[2] w = {2, 3}> {
    state, sums = Scan <num_scan_inputs = 1, body = step (float[2] before, float[2] item)
        => (float[2] after, float[2] out) {
        after = Add (before, item)
        out = Mul (after, item)
    }> ("", start, x)
    wide = Expand (w, shape)
    y = Sum (sums, wide, w)
    pooled, indices = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (image)
}""",
    "ai.onnx-9": """
masked (float[2, 3] x, bool c) => (float[2, 3] y, int64[2, n] places, float[2, 3, 4] hot, float[2, 3] z)
<int64[2] shape = {2, 3}, int64[2, 3] classes = {0, 1, 2, 3, 1, 0}, int64 depth = {4},
 float[2] values = {-1, 1}, float[3, 3] w = {1, 0, 2, 0, 1, 0, -1, 0, 1}> {
    zeros = ConstantOfShape <value = float[1] {0.25}> (shape)
    positive = Greater (x, zeros)
    erf = Erf (x)
    shrunk = Shrink <lambd: float = 0.3, bias: float = 0.1> (x)
    chosen = Where (positive, erf, shrunk)
    y = If (c) <then_branch = then_graph () => (float[2, 3] a) {
        a = MatMul (chosen, w)
    }, else_branch = else_graph () => (float[2, 3] b) {
        b = Sinh (chosen)
    }>
    signs = Sign (x)
    places = NonZero (signs)
    hot = OneHot <axis = -1> (classes, depth, values)
    eye = EyeLike <k = 1> (x)
    z = Add (eye, x)
}""",
    "ai.onnx-10": """
quantized (float[2, 4] x) => (float[2, 2] y, int64[2, 2] indices, float[2, 2] sliced, float[2, 4] reversed)
<int64[1] starts = {-1}, int64[1] ends = {-5}, int64[1] axes = {1}, int64[1] steps = {-2}, int64[1] k = {2},
 float scale = {0.05}, uint8 zero = {128}, float w = {0.5}, float[1, 1] one = {1}, int64[2] lengths = {1, 4}> {
    q = QuantizeLinear (x, scale, zero)
    d = DequantizeLinear (q, scale, zero)
    sliced = Slice (d, starts, ends, axes, steps)
    scaled = Mul (d, w)
    y, indices = TopK <axis = -1> (scaled, k)
    turned = ReverseSequence <batch_axis = 0, time_axis = 1> (x, lengths)
    remainder = Mod <fmod = 1> (turned, one)
    reversed = ThresholdedRelu <alpha: float = 0.1> (remainder)
}""",
    "ai.onnx-11": """
sequences (float[2, 3] x, int64 count)
    => (float[2] total, float[n, 2] history, float[4, 3] joined, int64[4] numbers, float[3, 5] padded)
<float[2] w = {1, -1}, float[3, 1] column = {0.5, 1, -0.5}, int64 zero = {0}, int64 four = {4}, int64 one = {1},
 bool go = {1}, int64[2, 3] picks = {1, 0, 1, 0, 0, -1}, int64[4] pads = {1, 1, 0, 1}, float edge = {7},
 int64[1, 1] row = {1}, float[1, 3] update = {10, 20, 30}, float low = {-0.5}> {
    total, history = Loop <body = step (int64 i, bool condition, float[2] before)
        => (bool again, float[2] after, float[2] out) {
        again = Identity (condition)
        number = Cast <to = 1> (i)
        shifted = Add (before, number)
        after = Mul (shifted, w)
        out = Round (after)
    }> (count, go, w)
    gathered = GatherElements <axis = 0> (x, picks)
    scattered = ScatterND (x, row, update)
    pair = SequenceConstruct (gathered, scattered)
    joined = ConcatFromSequence <axis = 0> (pair)
    range = Range (zero, four, one)
    numbers = CumSum <exclusive = 1> (range, zero)
    clipped = Clip (x, low)
    padded = Pad <mode = "constant"> (clipped, pads, edge)
}""",
    "ai.onnx-12": """
einsum (float[2, 3] x, float[3, 2] x2) => (float[2, 2] y, int64[2, 1] last, float loss, bool[2, 2] small)
<float[2, 2] w = {0.5, -1, 1.5, 2}, int64[2] labels = {1, 0}, float two = {2}> {
    product = Einsum <equation = "ij,jk->ik"> (x, x2)
    celu = Celu <alpha: float = 0.75> (product)
    y = Pow (celu, two)
    last = ArgMax <axis = 1, select_last_index = 1> (x)
    loss = SoftmaxCrossEntropyLoss <reduction = "mean"> (y, labels)
    small = LessOrEqual (product, w)
}""",
    "ai.onnx-13": """
axes (float[2, 3, 4] x, bool choose) => (float[2, 4] y, float[2, 1, 4] left, float[2, 2, 4] right, float[2, 3, 4] d)
<int64[1] one = {1}, int64[2] sizes = {1, 2}, float[4] scale = {0.1, 0.05, 0.2, 0.025}, int8[4] zero = {0, 1, -1, 2},
 float[4] w = {1, 2, 0.5, -1}> {
    left, right = Split <axis = 1> (x, sizes)
    y = If (choose) <then_branch = soft () => (float[2, 4] a) {
        s = Softmax <axis = 1> (x)
        scaled = Mul (s, w)
        a = ReduceSum <keepdims = 0> (scaled, one)
    }, else_branch = narrow () => (float[2, 4] b) {
        squeezed = Squeeze (left, one)
        b = Mul (squeezed, w)
    }>
    q = QuantizeLinear <axis = 2> (x, scale, zero)
    d = DequantizeLinear <axis = 2> (q, scale, zero)
}""",
    "ai.onnx-14": """
hard (float[2, 3, 3] x) => (float[2, 3, 3] y, float[2, 9] flat, float[2, 3, 1, 2] all, float[2, 3, 3] norm)
<int64[2] shape = {2, -1}, float[3] scale = {1, 2, 0.5}, float[3] bias = {0, 1, 2}, float[3] mean = {0, 0.5, 1},
 float[3] var = {1, 2, 3}, int64 axis = {2},
 float[1, 2, 3] w = {0.1, 0.2, -0.3, 0.4, 0.5, -0.6}, float[1, 2, 2] r = {0.3, -0.1, 0.2, 0.5}> {
    swish = HardSwish (x)
    lower = Trilu <upper = 0> (swish)
    y = CumSum <reverse = 1> (lower, axis)
    flat = Reshape <allowzero = 1> (x, shape)
    all = RNN <hidden_size = 2, layout = 1> (x, w, r)
    norm = BatchNormalization <training_mode = 0> (x, scale, bias, mean, var)
}""",
    "ai.onnx-15": """
optional (float[2, 3] x) => (int64[1] size, float[2, 3] y, float[2, 3] norm)
<float[3] scale = {1, 2, 0.5}, float[3] bias = {0, 1, 2}, float[3] mean = {0, 0.5, 1}, float[3] var = {1, 2, 3},
 float[3] w = {2, 3, 1}> {
    size = Shape <start = -1> (x)
    some = Optional (x)
    value = OptionalGetElement (some)
    y = Pow (value, w)
    norm = BatchNormalization (x, scale, bias, mean, var)
}""",
    "ai.onnx-16": """
<ir_version: 8, opset_import: ["": 16, "local": 1]>
reductions (float[1, 1, 3, 3] image, float[2, 3] x) => (float[1, 1, 2, 2] sampled, float[2, 3] y, float[3, 2] scanned)
<float[1, 2, 2, 2] grid = {-1, -1, 0.5, -0.5, 0, 0.25, 1, 1}, int64[2, 1] rows = {1, 1},
 float[2, 3] updates = {1, 2, 3, 4, 5, 6}, float[2] w = {0.5, 2}> {
    sampled = GridSample <mode = "bilinear", padding_mode = "border", align_corners = 1> (image, grid)
    added = ScatterND <reduction = "add"> (x, rows, updates)
    y = local.Leak <alpha: float = 0.2> (added)
    last, scanned = Scan <num_scan_inputs = 1, scan_input_axes = [1], body = step (float[2] before, float[2] item)
        => (float[2] after, float[2] out) {
        after = Add (before, item)
        out = LeakyRelu (after)
    }> (w, x)
}
<domain: "local", opset_import: ["": 16]>
Leak <alpha> (v) => (result) {
    leaky = LeakyRelu <alpha: float = @alpha> (v)
    zero = Constant <value_float: float = 0.5> ()
    large = GreaterOrEqual (leaky, zero)
    result = Where (large, leaky, v)
}""",
    "ai.onnx-17": """
signal (float[1, 8, 1] x, float[2, 4] tokens) => (float[1, 3, 3, 2] spectrum, float[2, 4] y, float[1, 8, 2] dft)
<int64 step = {2}, int64 size = {4}, float[4] scale = {1, 2, 0.5, 1}, float[4] bias = {0, 0.5, 1, -1}> {
    window = HannWindow <periodic = 1> (size)
    spectrum = STFT <onesided = 1> (x, step, window, size)
    y = LayerNormalization <axis = -1, epsilon: float = 0.0001> (tokens, scale, bias)
    dft = DFT <axis = 1> (x)
}""",
    "ai.onnx-18": """
<ir_version: 8, opset_import: ["": 18, "local": 1]>
blocks (float[1, 4, 4, 4] x, float[2, 4] v, int32[3] n)
    => (float[1, 2, 4, 4] crop, float[2, 1] y, int32[3] bits, float[2, 6] padded, float[1, 4, 2, 2] resized)
<int64[2] shape = {2, 2}, int64[1] axis = {1}, int32[3] mask = {12, 10, 6}, int64[2] pads = {1, 1},
 float[2] scales = {0.5, 0.5}, float[1, 4, 1, 1] w = {0.5, 1, -1, 2}> {
    weighted = Mul (x, w)
    mish = Mish (weighted)
    crop, rest = Split <axis = 1, num_outputs = 2> (mish)
    y = local.Norm (v, axis)
    bits = BitwiseXor (n, mask)
    padded = Pad <mode = "edge"> (v, pads, "", axis)
    resized = Resize <axes = [2, 3], mode = "linear", antialias = 1> (x, "", scales)
}
<domain: "local", opset_import: ["": 18]>
Norm (value, axes) => (norm) {
    norm = ReduceL2 <keepdims = 1> (value, axes)
}""",
    "ai.onnx-19": """
strings (string[3] words, float[1, 1, 5, 5] x)
    => (bool[3] same, float[1, 1, 3, 3] pooled, float[1, 1, 7, 7] padded, float[1, 1, 5, 5] small)
<string[3] known = {"a", "bc", "d"}, int64[8] pads = {0, 0, 1, 1, 0, 0, 1, 1}, float[1] w = {1.5}> {
    same = Equal (words, known)
    scaled = Mul (x, w)
    pooled = AveragePool <kernel_shape = [2, 2], dilations = [2, 2]> (scaled)
    padded = Pad <mode = "wrap"> (x, pads)
    narrow = Cast <to = 17> (scaled)
    small = Cast <to = 1> (narrow)
}""",
    "ai.onnx-20": """
texts (string[2] words, float[2, 3] x, bool[2, 3] flags)
    => (string[2] joined, bool[2] matched, float[2, 3] y, bool[1, 3] any, float[1, 2, 3, 2] grid)
<string[2] tails = {"_x", "_y"}, float[1, 2, 3] theta = {1, 0, 0.5, 0, 1, -0.5}, int64[4] size = {1, 1, 2, 3},
 int64[1] first = {0}> {
    joined = StringConcat (words, tails)
    matched = RegexFullMatch <pattern = "[a-m]+_x"> (joined)
    y = Gelu <approximate = "tanh"> (x)
    any = ReduceMax <keepdims = 1> (flags, first)
    grid = AffineGrid <align_corners = 0> (theta, size)
}""",
    "ai.onnx-21": """
<ir_version: 10, opset_import: ["": 21, "local": 1]>
blocked (float[1, 4, 2] x, float[2, 4] v) => (float[1, 4, 2] y, float[2, 4] z, float[4, 2] weights)
<float[4] scale = {1, 2, 0.5, -1}, float[4] bias = {0, 1, 0.5, 2}, int4[4, 2] packed = {33, 67, -36, 120},
 float[2, 2] scales = {0.1, 0.5, 0.25, 0.2}> {
    y = GroupNormalization <num_groups = 2, epsilon: float = 0.001> (x, scale, bias)
    weights = DequantizeLinear <axis = 0, block_size = 2> (packed, scales)
    product = MatMul (v, weights)
    z = local.Twice (product, v)
}
<domain: "local", opset_import: ["": 21]>
Twice (a, b) => (c) {
    wide = Concat <axis = 1> (a, a)
    c = Add (wide, b)
}""",
    "ai.onnx-22": """
convolutions (float[1, 2, 4, 4] x) => (float[1, 2, 2, 2] pooled, float[1, 1, 4, 4] y, float[1, 2, 1, 1] z, float norm)
<float[1, 2, 3, 3] w = {1, 0, -1, 0.5, 2, 0, -0.25, 1, 0.75, 0, 1, 0.5, -1, 0.25, 1, 2, -0.5, 0}, float[1] b = {0.5},
 int64[2] shape = {4, 4}> {
    conv = Conv <pads = [1, 1, 1, 1]> (x, w, b)
    y = Mish (conv)
    pooled = AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1, pads = [1, 1, 0, 0]> (x)
    z = GlobalMaxPool (x)
    square = Reshape (y, shape)
    determinant = Det (square)
    norm = Cos (determinant)
}""",
    "ai.onnx-23": """
attention (float[1, 2, 3, 4] q, float[1, 1, 3, 4] k, float[1, 1, 3, 4] v)
    => (float[1, 2, 3, 4] y, float[1, 2, 3, 4] norm, float[1, 2, 3, 4] rotated)
<float[4] scale = {1, 2, 0.5, 1}, int64[1, 3] positions = {0, 1, 2}, float[3, 2] cos = {1, 1, 0.5, 0.9, -0.4, 0.8},
 float[3, 2] sin = {0, 0, 0.8, 0.4, 0.9, 0.6}> {
    norm = RMSNormalization <axis = -1, epsilon: float = 0.001> (q, scale)
    rotated = RotaryEmbedding (norm, cos, sin, positions)
    y = Attention <is_causal = 1, softcap: float = 2.5> (rotated, k, v)
}""",
    "ai.onnx-24": """
cached (float[1, 1, 4, 2] cache, float[1, 1, 2, 2] new, float[1, 1, 2, 2] q)
    => (float[1, 1, 4, 2] updated, float[1, 1, 2, 2] y, float[1, 1, 2, 1] top, float[1, 1, 2, 2] swish)
<int64[1] at = {1}, int64[1] valid = {3}, int64[1] k = {1}, float[2] w = {0.5, 2}> {
    updated = TensorScatter <axis = 2> (cache, new, at)
    y = Attention (q, updated, updated, "", "", "", valid)
    swish = Swish <alpha: float = 0.5> (q)
    scaled = Mul (swish, w)
    top, index = TopK <axis = -1> (scaled, k)
}""",
    "ai.onnx-25": """
packed (float[2, 4] x, bool choose) => (float[4, 2] y, float[2, 4] z, float[2] diagonal)
<uint2[8] packed = {27, 228}, float scale = {0.5}, int64[2] shape = {4, 2}, int64[4] pads = {0, 0, 0, -2},
 int64[1] one = {1}> {
    weights = DequantizeLinear (packed, scale)
    flat = Reshape (weights, shape)
    y = If (choose) <then_branch = straight () => (float[4, 2] a) {
        a = Identity (flat)
    }, else_branch = turned () => (float[4, 2] b) {
        b = Transpose <perm = [1, 0]> (x)
    }>
    narrow = Pad (x, pads)
    diagonal = ReduceSum <keepdims = 0> (narrow, one)
    number = Cast <to = 1> (choose)
    z = Mul (x, number)
}""",
    "ai.onnx-26": """
<ir_version: 13, opset_import: ["": 26, "local": 1]>
bits (float[2, 3] x) => (float[2, 3] y, int32[2, 3] bits, float[2, 3] product)
<int32 mask = {2147483647}, int64 axis = {1}, float[3] w = {2, 0.5, -1}> {
    bits = BitCast <to = 6> (x)
    cleared = BitwiseAnd (bits, mask)
    y = BitCast <to = 1> (cleared)
    product = local.Products <exclusive = 1> (x, w, axis)
}
<domain: "local", opset_import: ["": 26]>
Products <exclusive> (a, b, c) => (d) {
    scaled = Mul (a, b)
    d = CumProd <exclusive: int = @exclusive> (scaled, c)
}""",
    "ai.onnx-27": """
states (float[1, 2, 4] x, float[1, 3, 2] q) => (float[1, 2, 4] y, float[1, 2, 2] state, float[1, 3, 2] attended)
<float[2, 1, 3] w = {1, 0.5, -1, 2, 0.25, 1}, float[2] b = {0.5, -0.5}, float[1, 2, 2] past = {1, 2, 3, 4},
 float[1, 3, 1] beta = {0.5, 0.25, 1}, float[1, 3, 1] decay = {-0.1, -0.2, -0.3}> {
    y, state = CausalConvWithState <activation = "silu"> (x, w, b, past)
    attended, after = LinearAttention <q_num_heads = 1, kv_num_heads = 1> (q, q, q, "", decay, beta)
}""",
    "ai.onnx-28": """
<ir_version: 14, opset_import: ["": 28, "local": 1]>
gated (float[1, 4, 2, 2] x, float[2, 4] a) => (float[1, 1, 4, 4] blocks, float[2, 4] y, float[1, 2] contracted)
<float[4] w = {0.5, 1, -1, 2}, bool[2] keep = {0, 1}> {
    blocks = DepthToSpace <blocksize = 2, mode = "CRD"> (x)
    y = local.Gate (a, w)
    kept = Compress <axis = 0> (a, keep)
    contracted = Einsum <equation = "bi,ai->ba"> (kept, y)
}
<domain: "local", opset_import: ["": 28]>
Gate (v, factor) => (result) {
    scaled = Mul (v, factor)
    gated = SwiGLU <alpha: float = 1.5> (scaled, v)
    result = Celu <alpha: float = 0.5> (gated)
}""",
    "ai.onnx.ml-1": """
linear (float[2, 3] x) => (float[2, 2] y, int64[2] label, float[2, 2] scores, float[2, 3] binary)
<float[2, 3] w = {1, 2, 3, 4, 5, 6}> {
    scaled = ai.onnx.ml.Scaler <offset: floats = [0.5, 0.0, -0.5], scale: floats = [1.0, 2.0, 0.5]> (x)
    shifted = Add (scaled, w)
    norm = ai.onnx.ml.Normalizer <norm = "L2"> (shifted)
    y = ai.onnx.ml.LinearRegressor <coefficients: floats = [1.0, 2.0, 3.0, -1.0, 0.5, 0.25],
        intercepts: floats = [0.1, 0.2], targets = 2> (norm)
    label, scores = ai.onnx.ml.LinearClassifier <coefficients: floats = [1.0, 2.0, 3.0, -1.0, 0.5, 0.25],
        intercepts: floats = [0.1, 0.2], classlabels_ints = [4, 7], multi_class = 0, post_transform = "SOFTMAX"> (norm)
    binary = ai.onnx.ml.Binarizer <threshold: float = 0.25> (x)
}""",
    "ai.onnx.ml-2": """
labels (string[3] words) => (int64[3] codes, float[3] values, float[3, 4] hot)
<int64[3] shift = {1, 1, 1}, float[3] w = {0.5, 2, 1}> {
    codes = ai.onnx.ml.LabelEncoder <keys_strings = ["a", "bc", "d"], values_int64s = [1, 2, 3],
        default_int64 = -5> (words)
    shifted = Add (codes, shift)
    encoded = ai.onnx.ml.LabelEncoder <keys_int64s = [2, 3], values_floats: floats = [0.25, 1.75],
        default_float: float = -1.5> (shifted)
    values = Mul (encoded, w)
    hot = ai.onnx.ml.OneHotEncoder <cats_int64s = [1, 2, 3, -5], zeros = 1> (codes)
}""",
    "ai.onnx.ml-3": """
trees (double[3, 2] x) => (float[3, 1] y, int64[3] label, float[3, 3] scores)
<float[1, 1] w = {0.5}> {
    raw = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 1, nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2],
        nodes_featureids = [0, 0, 0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_values: floats = [0.25, 0.0, 0.0],
        nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], target_treeids = [0, 0], target_nodeids = [1, 2],
        target_ids = [0, 0], target_weights: floats = [1.5, -2.5]> (x)
    y = Mul (raw, w)
    label, scores = ai.onnx.ml.TreeEnsembleClassifier <classlabels_int64s = [3, 9, 11], nodes_treeids = [0, 0, 0],
        nodes_nodeids = [0, 1, 2], nodes_featureids = [1, 0, 0], nodes_modes = ["BRANCH_GT", "LEAF", "LEAF"],
        nodes_values_as_tensor = double[3] {0.1, 0.0, 0.0},
        nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0],
        class_treeids = [0, 0, 0, 0], class_nodeids = [1, 1, 2, 2], class_ids = [0, 1, 2, 0],
        class_weights_as_tensor = double[4] {0.25, 0.75, 0.6, 0.4}> (x)
}""",
    "ai.onnx.ml-4": """
encoded (string[3] words, float[3] numbers) => (float[3] y, int64[3] codes)
<float[3] w = {1, 2, 4}> {
    values = ai.onnx.ml.LabelEncoder <keys_tensor = string[2] {"a", "d"}, values_tensor = float[2] {0.5, -2},
        default_tensor = float[1] {9}> (words)
    y = Mul (values, w)
    rounded = Floor (numbers)
    codes = ai.onnx.ml.LabelEncoder <keys_tensor = float[2] {0, -1}, values_tensor = int64[2] {5, 6},
        default_tensor = int64[1] {7}> (rounded)
}""",
    "ai.onnx.ml-5": """
ensemble (float[3, 2] x) => (float[3, 1] y)
<float[1, 1] w = {2}> {
    raw = ai.onnx.ml.TreeEnsemble <n_targets = 1, aggregate_function = 1, post_transform = 0, tree_roots = [0],
        nodes_featureids = [0, 1], nodes_modes = uint8[2] {0, 3}, nodes_splits = float[2] {0.25, -0.5},
        nodes_truenodeids = [1, 0], nodes_trueleafs = [0, 1], nodes_falsenodeids = [2, 1], nodes_falseleafs = [1, 1],
        leaf_targetids = [0, 0, 0], leaf_weights = float[3] {1.5, -2.5, 0.75}> (x)
    y = Mul (raw, w)
}""",
    "ai.onnx.preview-1": """
flexible (float[1, 2, 3, 2] q, float[1, 1, 3, 2] k) => (float[1, 2, 3, 2] y)
<float[2] w = {0.5, 2}> {
    scaled = Mul (q, w)
    y = ai.onnx.preview.FlexAttention <scale: float = 0.5, score_mod = edit (float[B, H, L, S] scores)
        => (float[B, H, L, S] edited) {
        edited = Tanh (scores)
    }> (scaled, k, k)
}""",
    "ai.onnx.preview.training-1": """
step (float[3] x, float[3] gradient) => (float[3] new, float[3] momentum, float[3] adam, float[3] m, float[3] h)
<float rate = {0.1}, int64 count = {3}, float[3] v = {0.5, -0.5, 1}, float[3] squares = {0.25, 1, 4}> {
    new, momentum = ai.onnx.preview.training.Momentum <alpha: float = 0.9, beta: float = 0.5,
        norm_coefficient: float = 0.01,
        mode = "nesterov"> (rate, count, x, gradient, v)
    adam, m, h = ai.onnx.preview.training.Adam <alpha: float = 0.9, beta: float = 0.99, norm_coefficient: float = 0.01>
        (rate, count, x, gradient, v, squares)
}""",
}
