"""Sketches for judges.conformance.exported, in the style of exporters other than the older one of torch."""

from __future__ import annotations

from judges.conformance.exported_torch import Sketch

__all__ = ["DYNAMO", "HUGGING_FACE", "OTHERS", "TENSORFLOW"]

DYNAMO = (
    Sketch(
        "functions",
        18,
        """main (float[s0, s1, 6] x) => (float[s0, "2*s1", 6] y)
                <float[s0, s1, 6] h, float[s0, "2*s1", 6] twice, int64[1] minus = {-1}> {
            h = pkg.torch.linear(x, w, b)
            twice = Concat<axis=1>(h, x)
            g = pkg.torch.gelu<approximate="none">(twice)
            d0 = Shape<start=0, end=1>(g)
            d1 = Shape<start=1, end=2>(g)
            two = Constant<value_ints=[2]>()
            d2 = Mul(d1, two)
            size = Concat<axis=0>(d0, d2, minus)
            v = Reshape<allowzero=1>(g, size)
            back = Concat<axis=0>(d0, d1, minus)
            y = Reshape<allowzero=1>(v, back)
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
        "symbols",
        22,
        """main (float[s0, s27] x, float[s27, 3] z) => (float["2*s0", 3] y)
                <float["2*s0", s27] pair, int64["2*s0"] ids, float[s0, 1] total> {
            pair = Concat<axis=0>(x, x)
            m = MatMul(pair, z)
            axes = Constant<value_ints=[1]>()
            total = ReduceSum<keepdims=1>(x, axes)
            size = Shape<start=0, end=1>(pair)
            count = Squeeze(size)
            zero = Constant<value_int=0>()
            one = Constant<value_int=1>()
            ids = Range(zero, count, one)
            f = Cast<to=1>(ids)
            column = Unsqueeze(f, axes)
            y = Add(m, column)
        }""",
        {"x": (2, 4), "z": (4, 3)},
    ),
)

HUGGING_FACE = (
    Sketch(
        "decoder",
        14,
        """main (int64[batch_size, sequence_length] input_ids,
                int64[batch_size, "past_sequence_length + sequence_length"] attention_mask,
                float[batch_size, 2, past_sequence_length, 4] past_key,
                float[batch_size, 2, past_sequence_length, 4] past_value)
                => (float[batch_size, sequence_length, 9] logits,
                float[batch_size, 2, "past_sequence_length + sequence_length", 4] present_key, present_value)
                <int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64[1] ax = {0}> {
            e = Gather(words, input_ids)
            s = Shape(e)
            n = Gather(s, zero)
            l = Gather(s, one)
            nu = Unsqueeze(n, ax)
            lu = Unsqueeze(l, ax)
            heads = Constant<value=int64[2] {2, 4}>()
            split = Concat<axis=0>(nu, lu, heads)
            q0 = MatMul(e, wq)
            k0 = MatMul(e, wk)
            q1 = Reshape(q0, split)
            k1 = Reshape(k0, split)
            q = Transpose<perm=[0, 2, 1, 3]>(q1)
            k = Transpose<perm=[0, 2, 1, 3]>(k1)
            present_key = Concat<axis=2>(past_key, k)
            present_value = Concat<axis=2>(past_value, k)
            sk = Shape(present_key)
            t = Gather(sk, two)
            start = Sub(t, l)
            tu = Unsqueeze(t, ax)
            su = Unsqueeze(start, ax)
            square = Concat<axis=0>(tu, tu)
            full = ConstantOfShape<value=float[1] {-10000.0}>(square)
            up = Trilu<upper=1>(full, one)
            causal = Slice(up, su, tu, ax)
            kt = Transpose<perm=[0, 1, 3, 2]>(present_key)
            scores = MatMul(q, kt)
            masked = Add(scores, causal)
            middle = Constant<value=int64[2] {1, 2}>()
            am = Unsqueeze(attention_mask, middle)
            af = Cast<to=1>(am)
            onef = Constant<value=float {1.0}>()
            inv = Sub(onef, af)
            low = Constant<value=float {-10000.0}>()
            bias = Mul(inv, low)
            all = Add(masked, bias)
            p = Softmax<axis=-1>(all)
            o = MatMul(p, present_value)
            ot = Transpose<perm=[0, 2, 1, 3]>(o)
            width = Constant<value=int64[1] {8}>()
            join = Concat<axis=0>(nu, lu, width)
            h = Reshape(ot, join)
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
        "grouped",
        21,
        """main (float[batch, 2, seq, 4] kv) => (y) <int64[1] ax = {0}> {
            s = Shape(kv)
            d = Constant<value=int64[1] {2}>()
            e = Constant<value=int64[1] {3}>()
            l = Slice(s, d, e, ax)
            n0 = Constant<value=int64 {0}>()
            n = Gather(s, n0)
            nu = Unsqueeze(n, ax)
            heads = Constant<value=int64[2] {2, 3}>()
            width = Constant<value=int64[1] {4}>()
            five = Concat<axis=0>(nu, heads, l, width)
            u = Unsqueeze(kv, d)
            x = Expand(u, five)
            six = Constant<value=int64[1] {6}>()
            four = Concat<axis=0>(nu, six, l, width)
            y = Reshape(x, four)
        }""",
        {"kv": (2, 2, 5, 4)},
    ),
)

TENSORFLOW = (
    Sketch(
        "reshape",
        10,
        """main (float[unk__1, H, W, 3] x) => (y) {
            t = Transpose<perm=[0, 3, 1, 2]>(x)
            c = Conv<kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_LOWER">(t, w)
            n = Transpose<perm=[0, 2, 3, 1]>(c)
            s = Shape(n)
            s32 = Cast<to=6>(s)
            begin = Constant<value=int64[1] {0}>()
            end = Constant<value=int64[1] {1}>()
            axes = Constant<value=int64[1] {0}>()
            s64 = Cast<to=7>(s32)
            first = Slice(s64, begin, end, axes)
            batch = Squeeze<axes=[0]>(first)
            b32 = Cast<to=6>(batch)
            b64 = Cast<to=7>(b32)
            bu = Unsqueeze<axes=[0]>(b64)
            rest = Constant<value=int64[2] {-1, 5}>()
            shape = Concat<axis=0>(bu, rest)
            r = Reshape(n, shape)
            y = ReduceMean<axes=[1], keepdims=0>(r)
        }""",
        {"x": (2, 7, 8, 3)},
        {"w": (5, 3, 3, 3)},
    ),
    Sketch(
        "fill",
        13,
        """main (int32[batch, seq] ids, float[3] value) => (y, z) <int64[1] ax = {0}> {
            s = Shape(ids)
            s32 = Cast<to=6>(s)
            begin = Constant<value=int64[1] {0}>()
            end = Constant<value=int64[1] {1}>()
            first = Slice(s32, begin, end, ax)
            batch = Squeeze(first, ax)
            bu = Unsqueeze(batch, ax)
            three = Constant<value=int32[1] {3}>()
            dims = Concat<axis=0>(bu, three)
            d64 = Cast<to=7>(dims)
            y = Expand(value, d64)
            one = Constant<value=int32[1] {1}>()
            times = Concat<axis=0>(bu, one)
            t64 = Cast<to=7>(times)
            vu = Unsqueeze(value, ax)
            z = Tile(vu, t64)
        }""",
        {"ids": [[1, 2], [3, 4]], "value": (3,)},
    ),
    Sketch(
        "while",
        11,
        """main (float[N, T, 3] x) => (h, outs) {
            tm = Transpose<perm=[1, 0, 2]>(x)
            s = Shape(tm)
            zero = Constant<value=int64 {0}>()
            one = Constant<value=int64 {1}>()
            t = Gather<axis=0>(s, zero)
            n = Gather<axis=0>(s, one)
            nu = Unsqueeze<axes=[0]>(n)
            width = Constant<value=int64[1] {4}>()
            dims = Concat<axis=0>(nu, width)
            h0 = ConstantOfShape<value=float[1] {0.0}>(dims)
            yes = Constant<value=bool {1}>()
            h, outs0 = Loop(t, yes, h0) <body = step (int64 i, bool c, float[a, b] state) => (bool c2, state2, out) {
                c2 = Identity(c)
                now = Gather<axis=0>(tm, i)
                a1 = MatMul(now, w)
                a2 = MatMul(state, u)
                a3 = Add(a1, a2)
                state2 = Tanh(a3)
                out = Identity(state2)
            }>
            outs = Transpose<perm=[1, 0, 2]>(outs0)
        }""",
        {"x": (2, 5, 3)},
        {"w": (3, 4), "u": (4, 4)},
    ),
    Sketch(
        "keras",
        15,
        """main (float[N, T, 8, 8, 1] x) => (y) <int64[1] ax = {0}> {
            inner = Constant<value=int64[4] {-1, 8, 8, 1}>()
            f = Reshape(x, inner)
            t = Transpose<perm=[0, 3, 1, 2]>(f)
            c = Conv<kernel_shape=[3, 3], auto_pad="VALID">(t, w)
            p = MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(c)
            s = Shape(x)
            b = Constant<value=int64[1] {0}>()
            e = Constant<value=int64[1] {2}>()
            nt = Slice(s, b, e, ax)
            back = Constant<value=int64[1] {18}>()
            outer = Concat<axis=0>(nt, back)
            o = Reshape(p, outer)
            tm = Transpose<perm=[1, 0, 2]>(o)
            g, last = GRU<hidden_size=3, linear_before_reset=1>(tm, gw, gr, gb)
            one = Constant<value=int64[1] {1}>()
            q = Squeeze(last, b)
            y = Softmax<axis=-1>(q)
        }""",
        {"x": (2, 3, 8, 8, 1)},
        {"w": (2, 1, 3, 3), "gw": (1, 9, 18), "gr": (1, 9, 3), "gb": (1, 18)},
    ),
    Sketch(
        "strided",
        13,
        """main (float[N, T, 4] x) => (y, z) {
            b = Constant<value=int64[2] {0, -1}>()
            e = Constant<value=int64[2] {9223372036854775807, -9223372036854775807}>()
            a = Constant<value=int64[2] {0, 1}>()
            st = Constant<value=int64[2] {1, -2}>()
            y = Slice(x, b, e, a, st)
            one = Constant<value=int64[1] {1}>()
            two = Constant<value=int64[1] {-2}>()
            to = Constant<value=int64[1] {-1}>()
            last = Slice(x, two, to, one)
            z = Squeeze(last, one)
        }""",
        {"x": (2, 5, 4)},
    ),
)

OTHERS = (
    Sketch(
        "paddle",
        11,
        """main (float[N, 3, 16, W] x) => (y) {
            c = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2], group=1, dilations=[1, 1]>(x, w)
            n = BatchNormalization<epsilon=0.00001>(c, g, b, m, v)
            low = Constant<value=float {0.0}>()
            high = Constant<value=float {6.0}>()
            k = Clip(n, low, high)
            p = AveragePool<kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1>(k)
            s = Shape(p)
            s0 = Constant<value=int64[1] {0}>()
            s1 = Constant<value=int64[1] {1}>()
            batch = Slice(s, s0, s1, s0)
            rest = Constant<value=int64[1] {4}>()
            minus = Constant<value=int64[1] {-1}>()
            shape = Concat<axis=0>(batch, rest, minus)
            f = Reshape(p, shape)
            t = Transpose<perm=[2, 0, 1]>(f)
            o = MatMul(t, fc)
            best = ArgMax<axis=2, keepdims=0>(o)
            y = Cast<to=6>(best)
        }""",
        {"x": (1, 3, 16, 21)},
        {"w": (4, 3, 3, 3), "g": (4,), "b": (4,), "m": (4,), "v": (4,), "fc": (4, 5)},
    ),
    Sketch(
        "qdq",
        13,
        """main (float[N, 3, H, W] x) => (y)
                <float sx = {0.1}, uint8 zx = {128}, float[2] sw = {0.01, 0.02}, int8[2] zw = {0, 0},
                int8[2, 3, 1, 1] w = {1, 2, 3, -4, 5, 6}, int32[2] bias = {10, -10}, float[2] sb = {0.001, 0.002},
                int32[2] zb = {0, 0}> {
            xq = QuantizeLinear(x, sx, zx)
            xd = DequantizeLinear(xq, sx, zx)
            wd = DequantizeLinear<axis=0>(w, sw, zw)
            bd = DequantizeLinear<axis=0>(bias, sb, zb)
            c = Conv<kernel_shape=[1, 1], strides=[2, 2]>(xd, wd, bd)
            cq = QuantizeLinear(c, sx, zx)
            cd = DequantizeLinear(cq, sx, zx)
            y = GlobalAveragePool(cd)
        }""",
        {"x": (1, 3, 5, 6)},
    ),
    Sketch(
        "dynamic_quantization",
        11,
        """main (float[N, L, 4] x) => (y) <uint8[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, uint8 zw = {6},
                float sw = {0.02}> {
            q, s, z = DynamicQuantizeLinear(x)
            m = MatMulInteger(q, w, z, zw)
            f = Cast<to=1>(m)
            scale = Mul(s, sw)
            y = Mul(f, scale)
        }""",
        {"x": (2, 3, 4)},
    ),
    Sketch(
        "detection",
        11,
        """main (float[1, boxes, 4] boxes, float[1, classes, boxes] scores) => (picked, best, above, pairs) {
            most = Constant<value=int64[1] {3}>()
            iou = Constant<value=float[1] {0.5}>()
            least = Constant<value=float[1] {-1.0}>()
            sel = NonMaxSuppression(boxes, scores, most, iou, least)
            two = Constant<value=int64[1] {2}>()
            at0 = Gather<axis=1>(sel, two)
            at = Squeeze<axes=[1]>(at0)
            b = Squeeze<axes=[0]>(boxes)
            picked = Gather<axis=0>(b, at)
            top = ReduceMax<axes=[1], keepdims=0>(scores)
            s = Shape(top)
            one = Constant<value=int64[1] {1}>()
            n = Gather<axis=0>(s, one)
            limit = Constant<value=int64[1] {100}>()
            both = Concat<axis=0>(n, limit)
            k = ReduceMin<axes=[0], keepdims=1>(both)
            best, which = TopK<axis=1>(top, k)
            zero = Constant<value=float {0.0}>()
            mark = Greater(top, zero)
            nz = NonZero(mark)
            where = Transpose<perm=[1, 0]>(nz)
            above = GatherND(top, where)
            wu = Unsqueeze<axes=[2]>(which)
            sh = Shape(wu)
            pairs = Expand(wu, sh)
        }""",
        {"boxes": (1, 6, 4), "scores": (1, 2, 6)},
    ),
    Sketch(
        "scan",
        11,
        """main (float[T, N, 3] x) => (last, all) {
            s = Shape(x)
            tail = Constant<value=int64[1] {1}>()
            far = Constant<value=int64[1] {3}>()
            ax = Constant<value=int64[1] {0}>()
            rest = Slice(s, tail, far, ax)
            start = ConstantOfShape(rest)
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
        "sequences",
        13,
        """main (float[N, L, 3] x) => (y, parts, rows, n) {
            two = Constant<value=int64 {2}>()
            parts = SplitToSequence<axis=1>(x, two)
            zero = Constant<value=int64 {0}>()
            first = SequenceAt(parts, zero)
            y = ConcatFromSequence<axis=1>(parts)
            flat = SplitToSequence<axis=0, keepdims=0>(x)
            rows = ConcatFromSequence<axis=0, new_axis=1>(flat)
            n = SequenceLength(parts)
        }""",
        {"x": (2, 5, 3)},
    ),
    Sketch(
        "classifier",
        12,
        """main (float[N, 3] x) => (int64[N] label, seq(map(int64, float)) probabilities) {
            scaled = ai.onnx.ml.Scaler<offset=[0.1, 0.2, 0.3], scale=[1.0, 2.0, 0.5]>(x)
            label0, scores = ai.onnx.ml.LinearClassifier<classlabels_ints=[0, 1, 2], multi_class=1,
                coefficients=[0.1, 0.2, 0.3, 0.4, -0.5, 0.6, 0.7, 0.8, -0.9], intercepts=[0.0, 0.1, 0.2],
                post_transform="SOFTMAX">(scaled)
            label = Cast<to=7>(label0)
            norm = ai.onnx.ml.Normalizer<norm="L1">(scores)
            probabilities = ai.onnx.ml.ZipMap<classlabels_int64s=[0, 1, 2]>(norm)
        }""",
        {"x": (4, 3)},
        {},
        '"ai.onnx.ml": 1',
    ),
    Sketch(
        "columns",
        13,
        """main (float[N, 2] numbers, int64[N, 1] kind) => (y) {
            filled = ai.onnx.ml.Imputer<imputed_value_floats=[0.5, 0.25], replaced_value_float=0.0>(numbers)
            hot0 = ai.onnx.ml.OneHotEncoder<cats_int64s=[1, 2, 5], zeros=1>(kind)
            flat = Constant<value=int64[2] {-1, 3}>()
            hot = Reshape(hot0, flat)
            features = Concat<axis=1>(filled, hot)
            y = ai.onnx.ml.LinearRegressor<coefficients=[0.1, 0.2, 0.3, 0.4, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0],
                intercepts=[0.5, 1.5], targets=2>(features)
        }""",
        {"numbers": (3, 2), "kind": [[1], [5], [7]]},
        {},
        '"ai.onnx.ml": 1',
    ),
    Sketch(
        "diffusion",
        22,
        """main (float[N, 4, H, W] x, float[N] t) => (y) <int64[1] one = {1}, int64[2] hw = {2, 3}> {
            tu = Unsqueeze(t, one)
            angle = MatMul(tu, freq)
            sin = Sin(angle)
            cos = Cos(angle)
            e0 = Concat<axis=1>(sin, cos)
            e = Unsqueeze(e0, hw)
            g = GroupNormalization<num_groups=2>(x, gamma, beta)
            a = Add(g, e)
            scales = Constant<value=float[4] {1.0, 1.0, 2.0, 2.0}>()
            u = Resize<mode="nearest", coordinate_transformation_mode="asymmetric">(a, "", scales)
            c = Conv<kernel_shape=[3, 3], pads=[0, 0, 1, 1], strides=[2, 2]>(u, w)
            n0 = Constant<value=int64[4] {0, 0, -1, 1}>()
            y = Reshape(c, n0)
        }""",
        {"x": (2, 4, 5, 6), "t": (2,)},
        {"freq": (1, 2), "gamma": (4,), "beta": (4,), "w": (3, 4, 3, 3)},
    ),
)
