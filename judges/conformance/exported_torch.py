"""Sketches for judges.conformance.exported: graphs as the older exporter of torch writes them."""

from __future__ import annotations

from judges.conformance.sketches import Sketch

__all__ = ["TORCH"]

TORCH = (
    Sketch(
        """view_opset9 (float[batch, 3, H, W] x) => (float[batch, 5] y) {
            p = GlobalAveragePool(Relu(Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]>(x, w, b)))
            v = Reshape(p, Concat<axis=0>(Unsqueeze<axes=[0]>(Gather<axis=0>(Shape(p), 0)), [-1]))
            y = Gemm<transB=1>(v, fc, fb)
        }""",
        {"x": (2, 3, 9, 11)},
        {"w": (7, 3, 3, 3), "b": (7,), "fc": (5, 7), "fb": (5,)},
    ),
    Sketch(
        """upsample_opset9 (float[N, 3, H, W] x) => (float[N, 3, H2, W2] y) {
            s = Shape(x)
            factor = 2.0
            hf = Cast<to=1>(Gather<axis=0>(s, 2))
            wf = Cast<to=1>(Gather<axis=0>(s, 3))
            wu = Unsqueeze<axes=[0]>(Div(Floor(Mul(wf, factor)), wf))
            scales = Concat<axis=0>([1.0, 1.0], Unsqueeze<axes=[0]>(Div(Floor(Mul(hf, factor)), hf)), wu)
            y = Upsample<mode="nearest">(x, scales)
        }""",
        {"x": (1, 3, 5, 6)},
    ),
    Sketch(
        """attention_opset11 (float[batch, seq, 12] x) => (float[batch, seq, 12] y)
                <int64 zero = {0}, int64 one = {1}> {
            q0 = MatMul(x, wq)
            lu = Unsqueeze<axes=[0]>(Gather<axis=0>(Shape(q0), one))
            split = Concat<axis=0>(Unsqueeze<axes=[0]>(Gather<axis=0>(Shape(q0), zero)), lu, [3], [4])
            k = Transpose<perm=[0, 2, 3, 1]>(Reshape(MatMul(x, wk), split))
            p = Softmax<axis=3>(Div(MatMul(Transpose<perm=[0, 2, 1, 3]>(Reshape(q0, split)), k), 2.0))
            ot = Transpose<perm=[0, 2, 1, 3]>(MatMul(p, Transpose<perm=[0, 2, 1, 3]>(Reshape(MatMul(x, wv), split))))
            so = Shape(ot)
            lu2 = Unsqueeze<axes=[0]>(Gather<axis=0>(so, one))
            y = Reshape(ot, Concat<axis=0>(Unsqueeze<axes=[0]>(Gather<axis=0>(so, zero)), lu2, [12]))
        }""",
        {"x": (2, 5, 12)},
        {"wq": (12, 12), "wk": (12, 12), "wv": (12, 12)},
    ),
    Sketch(
        """attention_opset14 (float[batch, seq, 12] x) => (y)
                <int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64[1] ax = {0}> {
            q0, k0, v0 = Split<axis=2>(MatMul(x, w), [12, 12, 12])
            s = Shape(q0)
            n = Gather(s, zero)
            e = Gather(s, two)
            heads = 3
            d = Div(e, heads)
            lu = Unsqueeze(Gather(s, one), ax)
            flat = Concat<axis=0>(lu, Unsqueeze(Mul(n, heads), ax), Unsqueeze(Cast<to=7>(d), ax))
            k = Transpose<perm=[1, 2, 0]>(Reshape(Transpose<perm=[1, 0, 2]>(k0), flat))
            root = Sqrt(Cast<to=1>(d))
            scaled = Div(MatMul(Transpose<perm=[1, 0, 2]>(Reshape(Transpose<perm=[1, 0, 2]>(q0), flat)), k), root)
            p = Softmax<axis=-1>(scaled)
            o = MatMul(p, Transpose<perm=[1, 0, 2]>(Reshape(Transpose<perm=[1, 0, 2]>(v0), flat)))
            ob = Reshape(Transpose<perm=[1, 0, 2]>(o), Concat<axis=0>(lu, Unsqueeze(n, ax), Unsqueeze(e, ax)))
            y = Transpose<perm=[1, 0, 2]>(ob)
        }""",
        {"x": (2, 5, 12)},
        {"w": (12, 36)},
    ),
    Sketch(
        """interpolate_opset11 (float[N, 2, H, W] x, float[N, 2, H2, W2] like) => (y, z) {
            start = [2]  axes = [0]
            sx = Shape(x)
            nc = Slice(sx, [0], start, axes)
            sizes = Concat<axis=0>(nc, Slice(Shape(like), start, [4], axes))
            none = float[0] {}
            y = Resize<mode="linear", coordinate_transformation_mode="align_corners">(x, none, none, sizes)
            wu = Unsqueeze<axes=[0]>(Cast<to=7>(Floor(Mul(Cast<to=1>(Gather<axis=0>(sx, 3)), 1.5))))
            other = Concat<axis=0>(nc, [7], wu)
            z = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">(
                x, none, none, other)
        }""",
        {"x": (1, 2, 4, 5), "like": (1, 2, 7, 3)},
    ),
    Sketch(
        """slice_opset11 (float[N, L, C] x) => (y, z) <int64 one = {1}> {
            l = Gather<axis=0>(Shape(x), one)
            axis = [1]
            y = Slice(x, [1], Unsqueeze<axes=[0]>(Sub(l, one)), axis, [1])
            z = Slice(x, Unsqueeze<axes=[0]>(Div(l, 2)), [9223372036854775807], axis, [2])
        }""",
        {"x": (2, 9, 3)},
    ),
    Sketch(
        """positions_opset12 (int64[batch, seq] ids) => (y) <int64 one = {1}, int64 zero = {0}> {
            re = Expand(Unsqueeze<axes=[0]>(Range(zero, Gather<axis=0>(Shape(ids), one), one)), Shape(ids))
            e = Add(Gather(words, ids), Gather(table, re))
            d = Sub(e, ReduceMean<axes=[-1]>(e))
            sc = Mul(Div(d, Sqrt(Add(ReduceMean<axes=[-1]>(Pow(d, 2.0)), 0.00001))), gamma)
            y = Add(sc, beta)
        }""",
        {"ids": [[1, 2, 3, 0, 4], [5, 6, 1, 1, 0]]},
        {"table": (16, 6), "words": (10, 6), "gamma": (6,), "beta": (6,)},
    ),
    Sketch(
        """expand_opset13 (float[1, 4] x, float[batch, seq, 4] like) => (y) <int64 zero = {0}, int64[1] ax = {0}> {
            target = Concat<axis=0>(Unsqueeze(Gather(Shape(like), zero), ax), [3], [-1])
            ones = ConstantOfShape<value=int64[1] {1}>([3])
            y = Expand(x, Where(Equal(target, Mul(ones, -1)), ones, target))
        }""",
        {"x": (1, 4), "like": (2, 5, 4)},
    ),
    Sketch(
        """causal_opset14 (float[batch, seq, 8] x) => (y) <int64 zero = {0}, int64 one = {1}, int64[1] ax = {0}> {
            s = Shape(x)
            l = Gather(s, one)
            lu = Unsqueeze(l, ax)
            low = ConstantOfShape<value=float[1] {-10000.0}>(Concat<axis=0>(lu, lu))
            r = Range(zero, l, one)
            bu = Unsqueeze(Add(Trilu<upper=1>(low, one), Cast<to=1>(Less(r, Reshape(r, [-1, 1])))), [0, 1])
            oneu = Unsqueeze(one, ax)
            xu = Unsqueeze(MatMul(x, Transpose<perm=[0, 2, 1]>(x)), oneu)
            y = Add(xu, Expand(bu, Concat<axis=0>(Unsqueeze(Gather(s, zero), ax), oneu, lu, lu)))
        }""",
        {"x": (2, 5, 8)},
    ),
    Sketch(
        """chunk_opset13 (float[batch, seq, 12] x) => (a, b, c) {
            p, q, r = Split<axis=2>(x, [3, 4, 5])
            a = Sigmoid(Concat<axis=1>(p, p))
            b = Tanh(q)
            c = Mul(r, r)
        }""",
        {"x": (2, 4, 12)},
    ),
    Sketch(
        """loop_opset12 (float[N, 4] x, int64 count) => (y, all) {
            yes = bool {1}  none = 0
            y, total, all = Loop<body = step (int64 i, bool c, float[N, 4] h, int64 k) =>
                (bool c2, h2, k2, row) {
                    c2 = Identity(c)
                    m = MatMul(h, w)
                    h2 = Tanh(m)
                    k2 = Add(k, i)
                    row = ReduceMax<axes=[0], keepdims=0>(h2)
                }>(count, yes, x, none)
        }""",
        {"x": (3, 4), "count": 2},
        {"w": (4, 4)},
    ),
    Sketch(
        """squeeze_opset13 (float[N, C, L] x) => (y) <int64 two = {2}> {
            is_one = Equal(Gather(Shape(x), two), 1)
            y = If<
                then_branch = yes () => (float[a, b] t) {
                    axes = Constant<value=int64[1] {2}>()
                    t = Squeeze(x, axes)
                },
                else_branch = no () => (float[a, b, c] e) { e = Identity(x) }>(is_one)
        }""",
        {"x": (2, 3, 4)},
    ),
    Sketch(
        """lstm_opset11 (float[batch, seq, 5] x) => (y, h) <int64 zero = {0}, int64 one = {1}> {
            state = Concat<axis=0>([2], Unsqueeze<axes=[0]>(Gather<axis=0>(Shape(x), zero)), [3])
            h0 = ConstantOfShape<value=float[1] {0.0}>(state)
            c0 = ConstantOfShape<value=float[1] {0.0}>(state)
            o, h, c = LSTM<hidden_size=3, direction="bidirectional">(Transpose<perm=[1, 0, 2]>(x), w, r, b, "", h0, c0)
            y = Transpose<perm=[1, 0, 2]>(Reshape(Transpose<perm=[0, 2, 1, 3]>(o), [0, 0, -1]))
        }""",
        {"x": (2, 4, 5)},
        {"w": (2, 12, 5), "r": (2, 12, 3), "b": (2, 24)},
    ),
    Sketch(
        """pad_opset11 (float[N, 3, H, W] x) => (y) <int64 two = {2}, int64 three = {3}, int64 eight = {8}> {
            s = Shape(x)
            hu = Unsqueeze<axes=[0]>(Mod(Sub(eight, Mod(Gather<axis=0>(s, two), eight)), eight))
            wu = Unsqueeze<axes=[0]>(Mod(Sub(eight, Mod(Gather<axis=0>(s, three), eight)), eight))
            y = Pad<mode="constant">(x, Concat<axis=0>([0, 0, 0, 0, 0, 0], hu, wu), 0.0)
        }""",
        {"x": (1, 3, 13, 17)},
    ),
    Sketch(
        """pad_reversed_opset12 (float[N, C, L] x) => (y) {
            zeros = ConstantOfShape<value=int64[1] {0}>([4])
            last = [-1]
            turned = Slice(Reshape(Concat<axis=0>([1, 2], zeros), [-1, 2]), last, [-9223372036854775807], [0], last)
            y = Pad<mode="reflect">(x, Cast<to=7>(Reshape(Transpose<perm=[1, 0]>(turned), last)))
        }""",
        {"x": (2, 3, 6)},
    ),
    Sketch(
        """unet_opset16 (float[N, 2, H, W] x) => (y) <int64 two = {2}, int64 three = {3}, int64[1] ax = {0}> {
            d = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1]>(x, w1)
            b = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1]>(MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(d), w2)
            u = ConvTranspose<kernel_shape=[2, 2], strides=[2, 2]>(b, w3)
            sd = Shape(d)
            su = Shape(u)
            dh = Sub(Gather(sd, two), Gather(su, two))
            dw = Sub(Gather(sd, three), Gather(su, three))
            h1 = Div(dh, two)
            v1 = Div(dw, two)
            v2u = Unsqueeze(Sub(dw, v1), ax)
            none = [0, 0]
            pads = Concat<axis=0>(none, Unsqueeze(h1, ax), Unsqueeze(v1, ax), none, Unsqueeze(Sub(dh, h1), ax), v2u)
            y = Conv<kernel_shape=[1, 1]>(Concat<axis=1>(d, Pad(u, pads)), w4)
        }""",
        {"x": (1, 2, 7, 9)},
        {"w1": (4, 2, 3, 3), "w2": (6, 4, 3, 3), "w3": (6, 4, 2, 2), "w4": (1, 8, 1, 1)},
    ),
    Sketch(
        """vit_opset17 (float[N, 3, H, W] x) => (y) <int64 zero = {0}, int64[1] ax = {0}> {
            c = Conv<kernel_shape=[4, 4], strides=[4, 4]>(x, w)
            s = Shape(c)
            cls = Expand(token, Concat<axis=0>(Unsqueeze(Gather(s, zero), ax), [1, 6]))
            z = Concat<axis=1>(cls, Transpose<perm=[0, 2, 1]>(Reshape(c, Concat<axis=0>(Slice(s, [0], [2], ax), [-1]))))
            y = Gather<axis=1>(LayerNormalization<axis=-1>(z, gamma, beta), 0)
        }""",
        {"x": (2, 3, 8, 12)},
        {"w": (6, 3, 4, 4), "token": (1, 1, 6), "gamma": (6,), "beta": (6,)},
    ),
    Sketch(
        """windows_opset17 (float[N, H, W, 4] x) => (y)
                <int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64[1] ax = {0}> {
            s = Shape(x)
            hu = Unsqueeze(Div(Gather(s, one), two), ax)
            wu = Unsqueeze(Div(Gather(s, two), two), ax)
            win = [2]  c = [4]
            r = Reshape(x, Concat<axis=0>(Unsqueeze(Gather(s, zero), ax), hu, win, wu, win, c))
            y = Reshape(Reshape(Transpose<perm=[0, 1, 3, 2, 4, 5]>(r), Concat<axis=0>([-1], win, win, c)), [-1, 4, 4])
        }""",
        {"x": (2, 4, 6, 4)},
    ),
    Sketch(
        """rotary_opset20 (float[batch, seq, 2, 8] q, int64[batch, seq] at) => (y)
                <int64 three = {3}, int64[1] ax = {0}> {
            qt = Transpose<perm=[0, 2, 1, 3]>(q)
            one = [1]
            angle = MatMul(Unsqueeze(Cast<to=1>(at), [-1]), freq)
            both = Concat<axis=-1>(angle, angle)
            hu = Unsqueeze(Div(Gather(Shape(qt), three), 2), ax)
            axis = [3]
            turned = Concat<axis=-1>(Neg(Slice(qt, hu, [9223372036854775807], axis, one)), Slice(qt, ax, hu, axis, one))
            y = Add(Mul(qt, Unsqueeze(Cos(both), one)), Mul(turned, Unsqueeze(Sin(both), one)))
        }""",
        {"q": (2, 5, 2, 8), "at": [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]},
        {"freq": (1, 4)},
    ),
    Sketch(
        """scatter_opset16 (float[N, L] x, float[N, k] v) => (y, count)
                <int64 zero = {0}, int64 one = {1}, int64[1] ax = {0}> {
            sv = Shape(v)
            k = Gather(sv, one)
            last = [-1]
            r1 = Unsqueeze(Expand(Unsqueeze(Range(zero, Gather(Shape(x), zero), one), last), sv), last)
            y = ScatterND(x, Concat<axis=-1>(r1, Unsqueeze(Expand(Range(zero, k, one), sv), last)), v)
            count = ConstantOfShape(Unsqueeze(Size(x), ax))
        }""",
        {"x": (3, 5), "v": (3, 2)},
    ),
    Sketch(
        """einsum_opset12 (float[batch, seq, 2, 3] q, float[batch, keys, 2, 3] k) => (y) {
            o = Einsum<equation="bhqk,bkhd->bqhd">(Softmax<axis=3>(Einsum<equation="bqhd,bkhd->bhqk">(q, k)), k)
            y = Einsum<equation="...hd,hde->...e">(o, w)
        }""",
        {"q": (2, 4, 2, 3), "k": (2, 5, 2, 3)},
        {"w": (2, 3, 6)},
    ),
)
