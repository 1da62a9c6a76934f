"""Sketches for judges.conformance.exported, in the style of exporters other than the older one of torch."""

from __future__ import annotations

from judges.conformance.sketches import Sketch

__all__ = ["DYNAMO", "HUGGING_FACE", "OTHERS", "TENSORFLOW"]

DYNAMO = (
    Sketch(
        """functions_opset18 (float[s0, s1, 6] x) => (float[s0, "2*s1", 6] y)
                <float[s0, s1, 6] h, float[s0, "2*s1", 6] twice, int64[1] minus = {-1}> {
            h = pkg.torch.linear(x, w, b)
            twice = Concat<axis=1>(h, x)
            g = pkg.torch.gelu<approximate="none">(twice)
            d0 = Shape<start=0, end=1>(g)
            d1 = Shape<start=1, end=2>(g)
            two = Constant<value_ints=[2]>()
            back = Concat<axis=0>(d0, d1, minus)
            y = Reshape<allowzero=1>(Reshape<allowzero=1>(g, Concat<axis=0>(d0, Mul(d1, two), minus)), back)
        }""",
        {"x": (2, 3, 6)},
        {"w": (6, 6), "b": (6,)},
        '"pkg.torch": 1',
        """<domain: "pkg.torch", opset_import: ["": 18]>
        linear (x, w, b) => (y) {
            t = Transpose<perm=[1, 0]>(w)
            m = MatMul(x, t)
            y = Add(m, b)
        }
        <domain: "pkg.torch", opset_import: ["": 18]>
        gelu <approximate> (x) => (y) {
            r = Constant<value_float=1.4142135>()
            rc = CastLike(r, x)
            d = Div(x, rc)
            e = Erf(d)
            one = Constant<value_float=1.0>()
            oc = CastLike(one, x)
            s = Add(e, oc)
            m = Mul(x, s)
            half = Constant<value_float=0.5>()
            hc = CastLike(half, x)
            y = Mul(m, hc)
        }""",
    ),
    Sketch(
        """symbols_opset22 (float[s0, s27] x, float[s27, 3] z) => (float["2*s0", 3] y)
                <float["2*s0", s27] pair, int64["2*s0"] ids, float[s0, 1] total> {
            pair = Concat<axis=0>(x, x)
            axes = Constant<value_ints=[1]>()
            total = ReduceSum<keepdims=1>(x, axes)
            zero = Constant<value_int=0>()
            one = Constant<value_int=1>()
            ids = Range(zero, Squeeze(Shape<start=0, end=1>(pair)), one)
            y = Add(MatMul(pair, z), Unsqueeze(Cast<to=1>(ids), axes))
        }""",
        {"x": (2, 4), "z": (4, 3)},
    ),
)

HUGGING_FACE = (
    Sketch(
        """decoder_opset14 (int64[batch_size, sequence_length] input_ids,
                int64[batch_size, "past_sequence_length + sequence_length"] attention_mask,
                float[batch_size, 2, past_sequence_length, 4] past_key,
                float[batch_size, 2, past_sequence_length, 4] past_value)
                => (float[batch_size, sequence_length, 9] logits,
                float[batch_size, 2, "past_sequence_length + sequence_length", 4] present_key, present_value)
                <int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64[1] ax = {0}> {
            e = Gather(words, input_ids)
            s = Shape(e)
            l = Gather(s, one)
            nu = Unsqueeze(Gather(s, zero), ax)
            lu = Unsqueeze(l, ax)
            split = Concat<axis=0>(nu, lu, [2, 4])
            k = Transpose<perm=[0, 2, 1, 3]>(Reshape(MatMul(e, wk), split))
            present_key = Concat<axis=2>(past_key, k)
            present_value = Concat<axis=2>(past_value, k)
            t = Gather(Shape(present_key), two)
            tu = Unsqueeze(t, ax)
            full = ConstantOfShape<value=float[1] {-10000.0}>(Concat<axis=0>(tu, tu))
            kt = Transpose<perm=[0, 1, 3, 2]>(present_key)
            scores = MatMul(Transpose<perm=[0, 2, 1, 3]>(Reshape(MatMul(e, wq), split)), kt)
            bias = Mul(Sub(1.0, Cast<to=1>(Unsqueeze(attention_mask, [1, 2]))), -10000.0)
            all = Add(Add(scores, Slice(Trilu<upper=1>(full, one), Unsqueeze(Sub(t, l), ax), tu, ax)), bias)
            join = Concat<axis=0>(nu, lu, [8])
            h = Reshape(Transpose<perm=[0, 2, 1, 3]>(MatMul(Softmax<axis=-1>(all), present_value)), join)
            logits = MatMul(h, head)
        }""",
        {
            "input_ids": [[1], [2]],
            "attention_mask": [[1, 1, 1, 1], [1, 0, 1, 1]],
            "past_key": (2, 2, 3, 4),
            "past_value": (2, 2, 3, 4),
        },
        {"words": (9, 8), "wq": (8, 8), "wk": (8, 8), "head": (8, 9)},
    ),
    Sketch(
        """grouped_opset21 (float[batch, 2, seq, 4] kv) => (y) <int64[1] ax = {0}> {
            s = Shape(kv)
            d = [2]
            l = Slice(s, d, [3], ax)
            nu = Unsqueeze(Gather(s, 0), ax)
            width = [4]
            four = Concat<axis=0>(nu, [6], l, width)
            y = Reshape(Expand(Unsqueeze(kv, d), Concat<axis=0>(nu, [2, 3], l, width)), four)
        }""",
        {"kv": (2, 2, 5, 4)},
    ),
)

TENSORFLOW = (
    Sketch(
        """reshape_opset10 (float[unk__1, H, W, 3] x) => (y) {
            c = Conv<kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_LOWER">(Transpose<perm=[0, 3, 1, 2]>(x), w)
            n = Transpose<perm=[0, 2, 3, 1]>(c)
            b32 = Cast<to=6>(Squeeze<axes=[0]>(Slice(Cast<to=7>(Cast<to=6>(Shape(n))), [0], [1], [0])))
            r = Reshape(n, Concat<axis=0>(Unsqueeze<axes=[0]>(Cast<to=7>(b32)), [-1, 5]))
            y = ReduceMean<axes=[1], keepdims=0>(r)
        }""",
        {"x": (2, 7, 8, 3)},
        {"w": (5, 3, 3, 3)},
    ),
    Sketch(
        """fill_opset13 (int32[batch, seq] ids, float[3] value) => (y, z) <int64[1] ax = {0}> {
            batch = Squeeze(Slice(Cast<to=6>(Shape(ids)), [0], [1], ax), ax)
            bu = Unsqueeze(batch, ax)
            y = Expand(value, Cast<to=7>(Concat<axis=0>(bu, int32[1] {3})))
            z = Tile(Unsqueeze(value, ax), Cast<to=7>(Concat<axis=0>(bu, int32[1] {1})))
        }""",
        {"ids": [[1, 2], [3, 4]], "value": (3,)},
    ),
    Sketch(
        """while_opset11 (float[N, T, 3] x) => (h, outs) {
            tm = Transpose<perm=[1, 0, 2]>(x)
            s = Shape(tm)
            t = Gather<axis=0>(s, 0)
            h0 = ConstantOfShape<value=float[1] {0.0}>(Concat<axis=0>(Unsqueeze<axes=[0]>(Gather<axis=0>(s, 1)), [4]))
            yes = bool {1}
            h, outs0 = Loop<body = step (int64 i, bool c, float[a, b] state) => (bool c2, state2, out) {
                c2 = Identity(c)
                now = Gather<axis=0>(tm, i)
                a1 = MatMul(now, w)
                a2 = MatMul(state, u)
                a3 = Add(a1, a2)
                state2 = Tanh(a3)
                out = Identity(state2)
            }>(t, yes, h0)
            outs = Transpose<perm=[1, 0, 2]>(outs0)
        }""",
        {"x": (2, 5, 3)},
        {"w": (3, 4), "u": (4, 4)},
    ),
    Sketch(
        """keras_opset15 (float[N, T, 8, 8, 1] x) => (y) <int64[1] ax = {0}> {
            c = Conv<kernel_shape=[3, 3], auto_pad="VALID">(Transpose<perm=[0, 3, 1, 2]>(Reshape(x, [-1, 8, 8, 1])), w)
            b = [0]
            outer = Concat<axis=0>(Slice(Shape(x), b, [2], ax), [18])
            tm = Transpose<perm=[1, 0, 2]>(Reshape(MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(c), outer))
            g, last = GRU<hidden_size=3, linear_before_reset=1>(tm, gw, gr, gb)
            one = [1]
            y = Softmax<axis=-1>(Squeeze(last, b))
        }""",
        {"x": (2, 3, 8, 8, 1)},
        {"w": (2, 1, 3, 3), "gw": (1, 9, 18), "gr": (1, 9, 3), "gb": (1, 18)},
    ),
    Sketch(
        """strided_opset13 (float[N, T, 4] x) => (y, z) {
            y = Slice(x, [0, -1], [9223372036854775807, -9223372036854775807], [0, 1], [1, -2])
            one = [1]
            z = Squeeze(Slice(x, [-2], [-1], one), one)
        }""",
        {"x": (2, 5, 4)},
    ),
)

OTHERS = (
    Sketch(
        """paddle_opset11 (float[N, 3, 16, W] x) => (y) {
            c = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], group=1, dilations=[1, 1]>(x, w)
            k = Clip(BatchNormalization<epsilon=0.00001>(c, g, b, m, v), 0.0, 6.0)
            p = AveragePool<kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1>(k)
            s0 = [0]
            t = Transpose<perm=[2, 0, 1]>(Reshape(p, Concat<axis=0>(Slice(Shape(p), s0, [1], s0), [4], [-1])))
            y = Cast<to=6>(ArgMax<axis=2, keepdims=0>(MatMul(t, fc)))
        }""",
        {"x": (1, 3, 16, 21)},
        {"w": (4, 3, 3, 3), "g": (4,), "b": (4,), "m": (4,), "v": (4,), "fc": (4, 5)},
    ),
    Sketch(
        """qdq_opset13 (float[N, 3, H, W] x) => (y)
                <float sx = {0.1}, uint8 zx = {128}, float[2] sw = {0.01, 0.02}, int8[2] zw = {0, 0},
                int8[2, 3, 1, 1] w = {1, 2, 3, -4, 5, 6}, int32[2] bias = {10, -10}, float[2] sb = {0.001, 0.002},
                int32[2] zb = {0, 0}> {
            wd = DequantizeLinear<axis=0>(w, sw, zw)
            bd = DequantizeLinear<axis=0>(bias, sb, zb)
            c = Conv<kernel_shape=[1, 1], strides=[2, 2]>(DequantizeLinear(QuantizeLinear(x, sx, zx), sx, zx), wd, bd)
            y = GlobalAveragePool(DequantizeLinear(QuantizeLinear(c, sx, zx), sx, zx))
        }""",
        {"x": (1, 3, 5, 6)},
    ),
    Sketch(
        """dynamic_quantization_opset11 (float[N, L, 4] x) => (y)
                <uint8[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, uint8 zw = {6},
                float sw = {0.02}> {
            q, s, z = DynamicQuantizeLinear(x)
            y = Mul(Cast<to=1>(MatMulInteger(q, w, z, zw)), Mul(s, sw))
        }""",
        {"x": (2, 3, 4)},
    ),
    Sketch(
        """detection_opset11 (float[1, boxes, 4] boxes, float[1, classes, boxes] scores)
                => (picked, best, above, pairs) {
            at = Squeeze<axes=[1]>(Gather<axis=1>(NonMaxSuppression(boxes, scores, [3], [0.5], [-1.0]), [2]))
            picked = Gather<axis=0>(Squeeze<axes=[0]>(boxes), at)
            top = ReduceMax<axes=[1], keepdims=0>(scores)
            k = ReduceMin<axes=[0], keepdims=1>(Concat<axis=0>(Gather<axis=0>(Shape(top), [1]), [100]))
            best, which = TopK<axis=1>(top, k)
            above = GatherND(top, Transpose<perm=[1, 0]>(NonZero(Greater(top, 0.0))))
            wu = Unsqueeze<axes=[2]>(which)
            pairs = Expand(wu, Shape(wu))
        }""",
        {"boxes": (1, 6, 4), "scores": (1, 2, 6)},
    ),
    Sketch(
        """scan_opset11 (float[T, N, 3] x) => (last, all) {
            start = ConstantOfShape(Slice(Shape(x), [1], [3], [0]))
            last, all = Scan<num_scan_inputs=1, scan_output_axes=[1], body = step (float[N, 3] h, float[N, 3] now)
                => (h2, out) {
                    h2 = Add(h, now)
                    m = MatMul(h2, w)
                    out = Relu(m)
                }>(start, x)
        }""",
        {"x": (4, 2, 3)},
        {"w": (3, 5)},
    ),
    Sketch(
        """sequences_opset13 (float[N, L, 3] x) => (y, parts, rows, n) {
            parts = SplitToSequence<axis=1>(x, 2)
            first = SequenceAt(parts, 0)
            y = ConcatFromSequence<axis=1>(parts)
            rows = ConcatFromSequence<axis=0, new_axis=1>(SplitToSequence<axis=0, keepdims=0>(x))
            n = SequenceLength(parts)
        }""",
        {"x": (2, 5, 3)},
    ),
    Sketch(
        """classifier_opset12 (float[N, 3] x) => (int64[N] label, seq(map(int64, float)) probabilities) {
            scaled = ai.onnx.ml.Scaler<offset=[0.1, 0.2, 0.3], scale=[1.0, 2.0, 0.5]>(x)
            label0, scores = ai.onnx.ml.LinearClassifier<classlabels_ints=[0, 1, 2], multi_class=1,
                coefficients=[0.1, 0.2, 0.3, 0.4, -0.5, 0.6, 0.7, 0.8, -0.9], intercepts=[0.0, 0.1, 0.2],
                post_transform="SOFTMAX">(scaled)
            label = Cast<to=7>(label0)
            probabilities = ai.onnx.ml.ZipMap<classlabels_int64s=[0, 1, 2]>(ai.onnx.ml.Normalizer<norm="L1">(scores))
        }""",
        {"x": (4, 3)},
        {},
        '"ai.onnx.ml": 1',
    ),
    Sketch(
        """columns_opset13 (float[N, 2] numbers, int64[N, 1] kind) => (y) {
            filled = ai.onnx.ml.Imputer<imputed_value_floats=[0.5, 0.25], replaced_value_float=0.0>(numbers)
            hot = Reshape(ai.onnx.ml.OneHotEncoder<cats_int64s=[1, 2, 5], zeros=1>(kind), [-1, 3])
            features = Concat<axis=1>(filled, hot)
            y = ai.onnx.ml.LinearRegressor<coefficients=[0.1, 0.2, 0.3, 0.4, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0],
                intercepts=[0.5, 1.5], targets=2>(features)
        }""",
        {"numbers": (3, 2), "kind": [[1], [5], [7]]},
        {},
        '"ai.onnx.ml": 1',
    ),
    Sketch(
        """diffusion_opset22 (float[N, 4, H, W] x, float[N] t) => (y) <int64[1] one = {1}, int64[2] hw = {2, 3}> {
            angle = MatMul(Unsqueeze(t, one), freq)
            g = GroupNormalization<num_groups=2>(x, gamma, beta)
            a = Add(g, Unsqueeze(Concat<axis=1>(Sin(angle), Cos(angle)), hw))
            u = Resize<mode="nearest", coordinate_transformation_mode="asymmetric">(a, "", [1.0, 1.0, 2.0, 2.0])
            y = Reshape(Conv<kernel_shape=[3, 3], pads=[0, 0, 1, 1], strides=[2, 2]>(u, w), [0, 0, -1, 1])
        }""",
        {"x": (2, 4, 5, 6), "t": (2,)},
        {"freq": (1, 2), "gamma": (4,), "beta": (4,), "w": (3, 4, 3, 3)},
    ),
)
