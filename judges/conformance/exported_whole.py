"""Sketches for judges.conformance.exported: whole networks in small, by architecture, at the opsets of their time."""

from __future__ import annotations

from judges.conformance.exported_torch import Sketch

__all__ = ["WHOLE"]

BERT_WEIGHTS = {
    "table": (11, 8), "places": (16, 8), "wq": (8, 8), "wk": (8, 8), "wv": (8, 8), "wo": (8, 8), "g1": (8,), "b1": (8,),
    "w1": (8, 16), "c1": (16,), "w2": (16, 8), "c2": (8,), "g2": (8,), "b2": (8,),
}  # fmt: skip
IDS = [[1, 5, 3, 10, 2], [4, 4, 0, 9, 7]]

ENCODER = """main (int64[batch, seq] ids, int64[batch, seq] mask) => (float[batch, seq, 8] y) {
    e = Gather(table, ids)
    shape = Shape(ids)
    one = Constant<value=int64 {1}>()
    zero = Constant<value=int64 {0}>()
    n = Gather<axis=0>(shape, one)
    r = Range(zero, n, one)
    p = Gather(places, r)
    x = Add(e, p)
    m = Cast<to=1>(mask)
    m4 = Unsqueeze(m, axes12)
    onef = Constant<value=float {1.0}>()
    low = Constant<value=float {-10000.0}>()
    away = Sub(onef, m4)
    bias = Mul(away, low)
    q = MatMul(x, wq)
    k = MatMul(x, wk)
    v = MatMul(x, wv)
    heads = Constant<value=int64[4] {0, 0, 2, 4}>()
    q4 = Reshape(q, heads)
    k4 = Reshape(k, heads)
    v4 = Reshape(v, heads)
    qt = Transpose<perm=[0, 2, 1, 3]>(q4)
    kt = Transpose<perm=[0, 2, 3, 1]>(k4)
    vt = Transpose<perm=[0, 2, 1, 3]>(v4)
    s = MatMul(qt, kt)
    root = Constant<value=float {2.0}>()
    d = Div(s, root)
    b = Add(d, bias)
    a = Softmax<axis=-1>(b)
    o = MatMul(a, vt)
    ot = Transpose<perm=[0, 2, 1, 3]>(o)
    joined = Constant<value=int64[3] {0, 0, 8}>()
    oj = Reshape(ot, joined)
    op = MatMul(oj, wo)
    h = Add(x, op)
    NORM1
    f = MatMul(n1, w1)
    fb = Add(f, c1)
    GELU
    f2 = MatMul(g, w2)
    f2b = Add(f2, c2)
    h2 = Add(n1, f2b)
    NORM2
}"""
DECOMPOSED_NORM = """m{0} = ReduceMean<axes=[-1]>({1})
    d{0} = Sub({1}, m{0})
    two{0} = Constant<value=float {{2.0}}>()
    s{0} = Pow(d{0}, two{0})
    v{0} = ReduceMean<axes=[-1]>(s{0})
    eps{0} = Constant<value=float {{1e-5}}>()
    ve{0} = Add(v{0}, eps{0})
    sd{0} = Sqrt(ve{0})
    nd{0} = Div(d{0}, sd{0})
    ns{0} = Mul(nd{0}, g{0})
    {2} = Add(ns{0}, b{0})"""
DECOMPOSED_GELU = """root2 = Constant<value=float {1.4142135}>()
    gd = Div(fb, root2)
    ge = Erf(gd)
    gone = Constant<value=float {1.0}>()
    ga = Add(ge, gone)
    gm = Mul(fb, ga)
    ghalf = Constant<value=float {0.5}>()
    g = Mul(gm, ghalf)"""


def encoder(opset: int, norm: bool, gelu: str) -> Sketch:
    """Return an encoder with attention as torch writes it: with or without operators of its own for norm and Gelu."""
    text = ENCODER
    for number, given, made in ((1, "h", "n1"), (2, "h2", "y")):
        one = f"{made} = LayerNormalization<axis=-1, epsilon=1e-5>({given}, g{number}, b{number})"
        text = text.replace(f"NORM{number}", one if norm else DECOMPOSED_NORM.format(number, given, made))
    text = text.replace("GELU", f'g = Gelu<approximate="{gelu}">(fb)' if gelu else DECOMPOSED_GELU)
    if opset < 13:
        text = text.replace("Unsqueeze(m, axes12)", "Unsqueeze<axes=[1, 2]>(m)")
    else:
        text = text.replace("m4 =", "axes12 = Constant<value=int64[2] {1, 2}>()\n    m4 =")
    name = "encoder_with_gelu" if gelu else "encoder_with_norm" if norm else "encoder"
    mask = [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    return Sketch(name, opset, text, {"ids": IDS, "mask": mask}, BERT_WEIGHTS)


def residual(opset: int) -> Sketch:
    """Return a residual network for images."""
    return Sketch(
        "residual", opset,
        """main (float[N, 3, 12, 12] x) => (float[N, 5] y) {
            c1 = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1]>(x, w1, b1)
            n1 = BatchNormalization<epsilon=1e-5, momentum=0.9>(c1, s, t, mean, variance)
            r1 = Relu(n1)
            p1 = MaxPool<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>(r1)
            c2 = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=2>(p1, w2)
            n2 = BatchNormalization(c2, s, t, mean, variance)
            a = Add(n2, p1)
            r2 = Relu(a)
            p2 = AveragePool<kernel_shape=[2, 2], strides=[2, 2]>(r2)
            g = GlobalAveragePool(p2)
            f = Flatten<axis=1>(g)
            l = Gemm<transB=1>(f, fc, fb)
            y = Softmax<axis=1>(l)
        }""",
        {"x": (2, 3, 12, 12)},
        {"w1": (4, 3, 3, 3), "b1": (4,), "s": (4,), "t": (4,), "mean": (4,), "variance": (4,), "w2": (4, 2, 3, 3),
         "fc": (5, 4), "fb": (5,)},
    )  # fmt: skip


WHOLE = (
    residual(9),
    residual(13),
    residual(18),
    encoder(11, False, ""),
    encoder(14, False, ""),
    encoder(17, True, ""),
    encoder(20, True, "none"),
    encoder(20, True, "tanh"),
    Sketch(
        "mobile",
        14,
        """main (float[N, 3, 10, 10] x) => (float[N, 4] y) {
            c = Conv<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>(x, w)
            h = HardSwish(c)
            d = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=6>(h, dw)
            p = GlobalAveragePool(d)
            e = Conv<kernel_shape=[1, 1]>(p, se)
            r = Relu(e)
            e2 = Conv<kernel_shape=[1, 1]>(r, se2)
            g = HardSigmoid<alpha=0.16666667>(e2)
            m = Mul(g, d)
            lo = Constant<value=float {0.0}>()
            hi = Constant<value=float {6.0}>()
            k = Clip(m, lo, hi)
            a = ReduceMean<axes=[2, 3], keepdims=0>(k)
            y = Gemm<transB=1>(a, fc)
        }""",
        {"x": (2, 3, 10, 10)},
        {"w": (6, 3, 3, 3), "dw": (6, 1, 3, 3), "se": (2, 6, 1, 1), "se2": (6, 2, 1, 1), "fc": (4, 6)},
    ),
    Sketch(
        "segmentation",
        13,
        """main (float[N, 3, H, W] x) => (float[N, 2, H, W] y) {
            c = Conv<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>(x, w)
            i = InstanceNormalization(c, s, b)
            l = LeakyRelu<alpha=0.1>(i)
            t = ConvTranspose<kernel_shape=[2, 2], strides=[2, 2]>(l, wt)
            scales = Constant<value=float[4] {1.0, 1.0, 0.5, 0.5}>()
            u = Resize<mode="linear", coordinate_transformation_mode="align_corners">(t, , scales)
            v = Concat<axis=1>(l, u)
            k = Conv<kernel_shape=[1, 1]>(v, w2)
            xs = Shape(x)
            starts = Constant<value=int64[1] {2}>()
            ends = Constant<value=int64[1] {4}>()
            axes = Constant<value=int64[1] {0}>()
            hw = Slice(xs, starts, ends, axes)
            ks = Shape(k)
            zero = Constant<value=int64[1] {0}>()
            nc = Slice(ks, zero, starts, axes)
            sizes = Concat<axis=0>(nc, hw)
            y = Resize<mode="linear", coordinate_transformation_mode="pytorch_half_pixel">(k, , , sizes)
        }""",
        {"x": (1, 3, 8, 12)},
        {"w": (4, 3, 3, 3), "s": (4,), "b": (4,), "wt": (4, 2, 2, 2), "w2": (2, 6, 1, 1)},
    ),
    Sketch(
        "detector",
        17,
        """main (float[1, 3, 8, 8] x) => (int64[K, 3] kept, float[1, M, 4] boxes) {
            c = Conv<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>(x, w)
            scales = Constant<value=float[4] {1.0, 1.0, 2.0, 2.0}>()
            u = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">(c, , scales)
            d = Conv<kernel_shape=[2, 2], strides=[2, 2]>(u, w2)
            shape = Constant<value=int64[3] {1, 6, -1}>()
            f = Reshape(d, shape)
            t = Transpose<perm=[0, 2, 1]>(f)
            g = Sigmoid(t)
            parts = Constant<value=int64[3] {2, 2, 2}>()
            xy, wh, cls = Split<axis=2>(g, parts)
            two = Constant<value=float {2.0}>()
            wh2 = Pow(wh, two)
            zero = Constant<value=int64 {0}>()
            one = Constant<value=int64 {1}>()
            four = Constant<value=int64 {4}>()
            line = Range(zero, four, one)
            lf = Cast<to=1>(line)
            a1 = Constant<value=int64[1] {1}>()
            col = Unsqueeze(lf, a1)
            grid44 = Constant<value=int64[2] {4, 4}>()
            gy = Expand(col, grid44)
            gx = Expand(lf, grid44)
            m1 = Constant<value=int64[1] {-1}>()
            gys = Reshape(gy, m1)
            gxs = Reshape(gx, m1)
            gyu = Unsqueeze(gys, a1)
            gxu = Unsqueeze(gxs, a1)
            grid = Concat<axis=1>(gxu, gyu)
            xyg = Add(xy, grid)
            boxes = Concat<axis=2>(xyg, wh2)
            scores = Transpose<perm=[0, 2, 1]>(cls)
            most = Constant<value=int64[1] {3}>()
            iou = Constant<value=float[1] {0.5}>()
            low = Constant<value=float[1] {0.1}>()
            kept = NonMaxSuppression<center_point_box=1>(boxes, scores, most, iou, low)
        }""",
        {"x": (1, 3, 8, 8)},
        {"w": (4, 3, 3, 3), "w2": (6, 4, 2, 2)},
    ),
    Sketch(
        "best_boxes",
        12,
        """main (float[1, 9, 4] boxes, float[1, 9] scores) => (float[1, 3, 4] top, float[1, 3] values) {
            k = Constant<value=int64[1] {3}>()
            values, places = TopK<axis=1>(scores, k)
            last = Unsqueeze<axes=[2]>(places)
            top = GatherND<batch_dims=1>(boxes, last)
        }""",
        {"boxes": (1, 9, 4), "scores": [[0.5, 0.25, 0.75, 0.1, 0.9, 0.3, 0.6, 0.2, 0.8]]},
    ),
    Sketch(
        "graph_network",
        16,
        """main (float[nodes, 4] x, int64[2, edges] edges) => (float[nodes, 4] y) {
            zero = Constant<value=int64 {0}>()
            one = Constant<value=int64 {1}>()
            src = Gather<axis=0>(edges, zero)
            dst = Gather<axis=0>(edges, one)
            m = Gather<axis=0>(x, src)
            w1 = MatMul(m, w)
            xs = Shape(x)
            empty = ConstantOfShape(xs)
            a1 = Constant<value=int64[1] {1}>()
            d1 = Unsqueeze(dst, a1)
            ms = Shape(w1)
            d = Expand(d1, ms)
            s = ScatterElements<axis=0, reduction="add">(empty, d, w1)
            h = Add(s, x)
            y = Relu(h)
        }""",
        {"x": (4, 4), "edges": [[0, 1, 2, 3, 0], [1, 2, 3, 0, 1]]},
        {"w": (4, 4)},
    ),
    Sketch(
        "graph_attention",
        18,
        """main (float[nodes, 4] x, int64[edges] src, int64[edges] dst) => (float[nodes, 4] y) {
            m = Gather<axis=0>(x, src)
            e = MatMul(m, att)
            xs = Shape(x)
            z = Constant<value=int64[1] {0}>()
            o = Constant<value=int64[1] {1}>()
            n = Slice(xs, z, o, z)
            lows = ConstantOfShape<value=float[1] {-1000.0}>(n)
            ef = Squeeze(e, o)
            top = ScatterElements<axis=0, reduction="max">(lows, dst, ef)
            mine = GatherElements<axis=0>(top, dst)
            c = Sub(ef, mine)
            x1 = Exp(c)
            zeros = ConstantOfShape(n)
            d1 = Unsqueeze(dst, o)
            sum = ScatterND<reduction="add">(zeros, d1, x1)
            total = Gather<axis=0>(sum, dst)
            a = Div(x1, total)
            au = Unsqueeze(a, o)
            am = Mul(au, m)
            start = ConstantOfShape(xs)
            y = ScatterND<reduction="add">(start, d1, am)
        }""",
        {"x": (4, 4), "src": [0, 1, 2, 3, 0], "dst": [1, 2, 3, 0, 1]},
        {"att": (4, 1)},
    ),
    Sketch(
        "decoder_with_cache",
        18,
        """main (int64[1, 1] ids, float[1, 2, past, 4] pk, float[1, 2, past, 4] pv)
                => (float[1, 1, 11] y, float[1, 2, all, 4] k, float[1, 2, all, 4] v) {
            x = Gather(table, ids)
            two = Constant<value=float {2.0}>()
            sq = Pow(x, two)
            last = Constant<value=int64[1] {-1}>()
            ms = ReduceMean<keepdims=1>(sq, last)
            eps = Constant<value=float {1e-6}>()
            me = Add(ms, eps)
            rt = Sqrt(me)
            inv = Reciprocal(rt)
            xn = Mul(x, inv)
            xg = Mul(xn, g1)
            heads = Constant<value=int64[4] {1, 1, 2, 4}>()
            q0 = MatMul(xg, wq)
            k0 = MatMul(xg, wk)
            v0 = MatMul(xg, wv)
            q1 = Reshape(q0, heads)
            k1 = Reshape(k0, heads)
            v1 = Reshape(v0, heads)
            q = Transpose<perm=[0, 2, 1, 3]>(q1)
            k2 = Transpose<perm=[0, 2, 1, 3]>(k1)
            v2 = Transpose<perm=[0, 2, 1, 3]>(v1)
            k = Concat<axis=2>(pk, k2)
            v = Concat<axis=2>(pv, v2)
            kt = Transpose<perm=[0, 1, 3, 2]>(k)
            s = MatMul(q, kt)
            ks = Shape<start=2, end=3>(k)
            qs = Shape<start=2, end=3>(q)
            square = Concat<axis=0>(ks, ks)
            ones = ConstantOfShape<value=float[1] {1.0}>(square)
            low = Trilu<upper=0>(ones)
            from = Sub(ks, qs)
            zero = Constant<value=int64[1] {0}>()
            rows = Slice(low, from, ks, zero)
            none = Constant<value=float {0.0}>()
            hidden = Equal(rows, none)
            far = Constant<value=float {-3.4e38}>()
            masked = Where(hidden, far, s)
            a = Softmax<axis=-1>(masked)
            o = MatMul(a, v)
            ot = Transpose<perm=[0, 2, 1, 3]>(o)
            flat = Constant<value=int64[3] {1, 1, 8}>()
            of = Reshape(ot, flat)
            h = Add(x, of)
            gate = MatMul(h, wg)
            act = Sigmoid(gate)
            swish = Mul(gate, act)
            upw = MatMul(h, wu)
            prod = Mul(swish, upw)
            down = MatMul(prod, wd)
            h2 = Add(h, down)
            y = MatMul(h2, head)
        }""",
        {"ids": [[3]], "pk": (1, 2, 3, 4), "pv": (1, 2, 3, 4)},
        {
            "table": (11, 8),
            "g1": (8,),
            "wq": (8, 8),
            "wk": (8, 8),
            "wv": (8, 8),
            "wg": (8, 12),
            "wu": (8, 12),
            "wd": (12, 8),
            "head": (8, 11),
        },
    ),
    Sketch(
        "attention_with_cache",
        23,
        """main (float[B, S, 16] x, float[B, 2, P, 4] pk, float[B, 2, P, 4] pv, bool[S, T] mask)
                => (float[B, S, 16] y, float[B, 2, T, 4] k, float[B, 2, T, 4] v) {
            n = RMSNormalization<axis=-1, epsilon=1e-6>(x, g)
            q0 = MatMul(n, wq)
            k0 = MatMul(n, wk)
            v0 = MatMul(n, wv)
            a, k, v = Attention<q_num_heads=4, kv_num_heads=2>(q0, k0, v0, mask, pk, pv)
            o = MatMul(a, wo)
            y = Add(x, o)
        }""",
        {
            "x": (2, 3, 16),
            "pk": (2, 2, 2, 4),
            "pv": (2, 2, 2, 4),
            "mask": [[True, True, True, False, False], [True, True, True, True, False], [True] * 5],
        },
        {"g": (16,), "wq": (16, 16), "wk": (16, 8), "wv": (16, 8), "wo": (16, 16)},
    ),
    Sketch(
        "rotary_decoder",
        23,
        """main (float[B, S, 16] x, int64[B, S] positions) => (float[B, S, 16] y) {
            n = RMSNormalization(x, g)
            q0 = MatMul(n, wq)
            k0 = MatMul(n, wk)
            v0 = MatMul(n, wv)
            q = RotaryEmbedding<num_heads=4>(q0, cos, sin, positions)
            k = RotaryEmbedding<num_heads=2>(k0, cos, sin, positions)
            a = Attention<is_causal=1, q_num_heads=4, kv_num_heads=2, softcap=5.0>(q, k, v0)
            o = MatMul(a, wo)
            h = Add(x, o)
            gate = MatMul(h, wu)
            act = Gelu<approximate="tanh">(gate)
            d = MatMul(act, wd)
            y = Add(h, d)
        }""",
        {"x": (2, 3, 16), "positions": [[0, 1, 2], [3, 4, 5]]},
        {
            "g": (16,),
            "wq": (16, 16),
            "wk": (16, 8),
            "wv": (16, 8),
            "wo": (16, 16),
            "cos": (8, 2),
            "sin": (8, 2),
            "wu": (16, 20),
            "wd": (20, 16),
        },
    ),
    Sketch(
        "spectrogram",
        17,
        """main (float[B, N, 1] wave) => (float[B, F, 5] y) {
            step = Constant<value=int64 {4}>()
            size = Constant<value=int64 {8}>()
            win = HannWindow<periodic=1>(size)
            s = STFT<onesided=1>(wave, step, win)
            sq = Mul(s, s)
            last = Constant<value=int64[1] {-1}>()
            e = ReduceSum<keepdims=0>(sq, last)
            ep = Constant<value=float {1e-6}>()
            ee = Add(e, ep)
            l = Log(ee)
            y = LayerNormalization<axis=-1>(l, g)
        }""",
        {"wave": (2, 24, 1)},
        {"g": (5,)},
    ),
    Sketch(
        "speech_encoder",
        17,
        """main (float[B, 6, T] mel) => (float[B, T2, 8] y) {
            c = Conv<kernel_shape=[3], pads=[1, 1]>(mel, w1, b1)
            h = Constant<value=float {0.5}>()
            r = Constant<value=float {1.4142135}>()
            d = Div(c, r)
            e = Erf(d)
            o = Constant<value=float {1.0}>()
            a = Add(e, o)
            m = Mul(c, a)
            g = Mul(m, h)
            c2 = Conv<kernel_shape=[3], strides=[2], pads=[1, 1]>(g, w2, b2)
            t = Transpose<perm=[0, 2, 1]>(c2)
            y = LayerNormalization<axis=-1>(t, s, b)
        }""",
        {"mel": (2, 6, 10)},
        {"w1": (8, 6, 3), "b1": (8,), "w2": (8, 8, 3), "b2": (8,), "s": (8,), "b": (8,)},
    ),
    Sketch(
        "durations",
        14,
        """main (float[1, T, 4] x, int64[1, T] durations) => (float[1, 8, 4] y) {
            axis = Constant<value=int64 {1}>()
            ends = CumSum(durations, axis)
            zero = Constant<value=int64 {0}>()
            n = Constant<value=int64 {8}>()
            r = Range(zero, n, axis)
            a1 = Constant<value=int64[2] {0, 2}>()
            ru = Unsqueeze(r, a1)
            axis1 = Constant<value=int64[1] {1}>()
            eu = Unsqueeze(ends, axis1)
            past = GreaterOrEqual(ru, eu)
            c = Cast<to=7>(past)
            two = Constant<value=int64[1] {2}>()
            i = ReduceSum<keepdims=1>(c, two)
            four = Constant<value=int64[3] {1, 8, 4}>()
            ie = Expand(i, four)
            y = GatherElements<axis=1>(x, ie)
        }""",
        {"x": (1, 4, 4), "durations": [[2, 3, 1, 4]]},
    ),
    Sketch(
        "recurrent",
        9,
        """main (float[T, B, 3] x) => (float[T, B, 4] y) {
            a, ah, ac = LSTM<hidden_size=2, direction="bidirectional">(x, w, r, b)
            t = Transpose<perm=[0, 2, 1, 3]>(a)
            shape = Constant<value=int64[3] {0, 0, -1}>()
            s = Reshape(t, shape)
            g, gh = GRU<hidden_size=4, linear_before_reset=1>(s, w2, r2, b2)
            y = Squeeze<axes=[1]>(g)
        }""",
        {"x": (5, 2, 3)},
        {"w": (2, 8, 3), "r": (2, 8, 2), "b": (2, 16), "w2": (1, 12, 4), "r2": (1, 12, 4), "b2": (1, 24)},
    ),
    Sketch(
        "recurrent",
        14,
        """main (float[T, B, 3] x, int32[B] lengths) => (float[T, 1, B, 4] y, float[1, B, 4] h) {
            y, h = GRU<hidden_size=4, linear_before_reset=1>(x, w, r, b, lengths)
        }""",
        {"x": (5, 2, 3), "lengths": [5, 3]},
        {"w": (1, 12, 3), "r": (1, 12, 4), "b": (1, 24)},
    ),
    Sketch(
        "quantized",
        10,
        """main (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) {
            xs = Constant<value=float {0.02}>()
            xz = Constant<value=uint8 {3}>()
            q = QuantizeLinear(x, xs, xz)
            ws = Constant<value=float {0.01}>()
            wz = Constant<value=uint8 {8}>()
            wq = QuantizeLinear(w, ws, wz)
            ys = Constant<value=float {0.1}>()
            yz = Constant<value=uint8 {2}>()
            c = QLinearConv<kernel_shape=[3, 3]>(q, xs, xz, wq, ws, wz, ys, yz)
            y = DequantizeLinear(c, ys, yz)
        }""",
        {"x": (1, 3, 6, 6)},
        {"w": (4, 3, 3, 3)},
    ),
    Sketch(
        "quantized_per_channel",
        13,
        """main (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) {
            xs = Constant<value=float {0.02}>()
            xz = Constant<value=int8 {-3}>()
            q = QuantizeLinear(x, xs, xz)
            d = DequantizeLinear(q, xs, xz)
            wz = Constant<value=int8[4] {0, 0, 0, 0}>()
            wq = QuantizeLinear<axis=0>(w, ws, wz)
            wd = DequantizeLinear<axis=0>(wq, ws, wz)
            y = Conv<kernel_shape=[3, 3]>(d, wd)
        }""",
        {"x": (1, 3, 6, 6)},
        {"w": (4, 3, 3, 3), "ws": (4,)},
    ),
    Sketch(
        "deformable",
        16,
        """main (float[1, 3, 6, 6] x, float[1, 4, 5, 2] grid) => (float[1, 3, 4, 5] y) {
            one = Constant<value=float {1.0}>()
            two = Constant<value=float {2.0}>()
            g2 = Mul(grid, two)
            g = Sub(g2, one)
            y = GridSample<mode="bilinear", padding_mode="zeros", align_corners=0>(x, g)
        }""",
        {"x": (1, 3, 6, 6), "grid": (1, 4, 5, 2)},
    ),
    Sketch(
        "super_resolution",
        11,
        """main (float[1, 1, H, W] x) => (float[1, 1, H2, W2] y) {
            c = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1]>(x, w)
            p = PRelu(c, slope)
            d = DepthToSpace<blocksize=2, mode="CRD">(p)
            lo = Constant<value=float {0.0}>()
            hi = Constant<value=float {1.0}>()
            y = Clip(d, lo, hi)
        }""",
        {"x": (1, 1, 5, 7)},
        {"w": (4, 1, 3, 3), "slope": (4, 1, 1)},
    ),
    Sketch(
        "hashed",
        18,
        """main (int64[N] ids) => (float[N, 3] y) {
            k = Constant<value=int64 {7}>()
            r = Mod(ids, k)
            u = Cast<to=13>(ids)
            m = Constant<value=uint64 {6}>()
            b = BitwiseAnd(u, m)
            i = Cast<to=7>(b)
            e = Gather(table, r)
            e2 = Gather(table, i)
            s = Add(e, e2)
            y = Mish(s)
        }""",
        {"ids": [3, 15, 22, 8]},
        {"table": (7, 3)},
    ),
    Sketch(
        "einsum_attention",
        13,
        """main (float[B, S, 2, 4] q, float[B, S, 2, 4] k, float[B, S, 2, 4] v) => (float[B, S, 2, 4] y) {
            s = Einsum<equation="bihd,bjhd->bhij">(q, k)
            a = Softmax<axis=-1>(s)
            y = Einsum<equation="bhij,bjhd->bihd">(a, v)
        }""",
        {"q": (2, 3, 2, 4), "k": (2, 3, 2, 4), "v": (2, 3, 2, 4)},
    ),
    Sketch(
        "trees",
        15,
        """main (float[N, 3] x) => (int64[N] label, float[N, 2] scores) {
            n = ai.onnx.ml.Scaler<offset=[0.1, 0.2, 0.3], scale=[1.0, 2.0, 3.0]>(x)
            label, scores = ai.onnx.ml.TreeEnsembleClassifier<
                class_ids=[0, 1, 0, 1], class_nodeids=[1, 1, 2, 2], class_treeids=[0, 0, 0, 0],
                class_weights=[0.25, 0.75, 0.6, 0.4], classlabels_int64s=[0, 1], nodes_falsenodeids=[2, 0, 0],
                nodes_featureids=[0, 0, 0], nodes_hitrates=[1.0, 1.0, 1.0],
                nodes_missing_value_tracks_true=[0, 0, 0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
                nodes_nodeids=[0, 1, 2], nodes_treeids=[0, 0, 0], nodes_truenodeids=[1, 0, 0],
                nodes_values=[0.4, 0.0, 0.0], post_transform="NONE">(n)
        }""",
        {"x": (4, 3)},
        imports='"ai.onnx.ml": 3',
    ),
)
