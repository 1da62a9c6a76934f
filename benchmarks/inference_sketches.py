"""The sketches of benchmarks.inference_graphs: graphs in the text form of the onnx package, exporter by exporter.

`weights` are initializers drawn at random, by shape; so are `feeds` that are a shape, others are given as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["SKETCHES", "Sketch"]

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Sketch:
    """A graph, its opset, what else is imported (`"ai.onnx.ml": 1`), inputs, weights, functions."""

    name: str
    opset: int
    text: str
    feeds: Mapping[str, Any]
    weights: Mapping[str, Shape] = field(default_factory=dict)
    imports: str = ""
    functions: str = ""


TORCH = (
    Sketch(
        "view", 9,
        """main (float[batch, 3, H, W] x) => (float[batch, 5] y) {
            c = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]>(x, w, b)
            r = Relu(c)
            p = GlobalAveragePool(r)
            s = Shape(p)
            zero = Constant<value=int64 {0}>()
            n = Gather<axis=0>(s, zero)
            u = Unsqueeze<axes=[0]>(n)
            minus = Constant<value=int64[1] {-1}>()
            t = Concat<axis=0>(u, minus)
            v = Reshape(p, t)
            y = Gemm<transB=1>(v, fc, fb)
        }""",
        {"x": (2, 3, 9, 11)},
        {"w": (7, 3, 3, 3), "b": (7,), "fc": (5, 7), "fb": (5,)},
    ),
    Sketch(
        "upsample", 9,
        """main (float[N, 3, H, W] x) => (float[N, 3, H2, W2] y) {
            s = Shape(x)
            two = Constant<value=int64 {2}>()
            h = Gather<axis=0>(s, two)
            factor = Constant<value=float {2.0}>()
            hf = Cast<to=1>(h)
            hm = Mul(hf, factor)
            hi = Floor(hm)
            three = Constant<value=int64 {3}>()
            w = Gather<axis=0>(s, three)
            wf = Cast<to=1>(w)
            wm = Mul(wf, factor)
            wi = Floor(wm)
            hs = Div(hi, hf)
            ws = Div(wi, wf)
            one = Constant<value=float[2] {1.0, 1.0}>()
            hu = Unsqueeze<axes=[0]>(hs)
            wu = Unsqueeze<axes=[0]>(ws)
            scales = Concat<axis=0>(one, hu, wu)
            y = Upsample<mode="nearest">(x, scales)
        }""",
        {"x": (1, 3, 5, 6)},
    ),
    Sketch(
        "attention", 11,
        """main (float[batch, seq, 12] x) => (float[batch, seq, 12] y) <int64 zero = {0}, int64 one = {1}> {
            q0 = MatMul(x, wq)
            k0 = MatMul(x, wk)
            v0 = MatMul(x, wv)
            s = Shape(q0)
            n = Gather<axis=0>(s, zero)
            s1 = Shape(q0)
            l = Gather<axis=0>(s1, one)
            nu = Unsqueeze<axes=[0]>(n)
            lu = Unsqueeze<axes=[0]>(l)
            heads = Constant<value=int64[1] {3}>()
            width = Constant<value=int64[1] {4}>()
            split = Concat<axis=0>(nu, lu, heads, width)
            q1 = Reshape(q0, split)
            k1 = Reshape(k0, split)
            v1 = Reshape(v0, split)
            q = Transpose<perm=[0, 2, 1, 3]>(q1)
            k = Transpose<perm=[0, 2, 3, 1]>(k1)
            v = Transpose<perm=[0, 2, 1, 3]>(v1)
            scores = MatMul(q, k)
            root = Constant<value=float {2.0}>()
            scaled = Div(scores, root)
            p = Softmax<axis=3>(scaled)
            o = MatMul(p, v)
            ot = Transpose<perm=[0, 2, 1, 3]>(o)
            so = Shape(ot)
            n2 = Gather<axis=0>(so, zero)
            l2 = Gather<axis=0>(so, one)
            nu2 = Unsqueeze<axes=[0]>(n2)
            lu2 = Unsqueeze<axes=[0]>(l2)
            whole = Constant<value=int64[1] {12}>()
            join = Concat<axis=0>(nu2, lu2, whole)
            y = Reshape(ot, join)
        }""",
        {"x": (2, 5, 12)},
        {"wq": (12, 12), "wk": (12, 12), "wv": (12, 12)},
    ),
    Sketch(
        "attention", 14,
        """main (float[batch, seq, 12] x) => (y)
                <int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64[1] ax = {0}> {
            qkv = MatMul(x, w)
            parts = Constant<value=int64[3] {12, 12, 12}>()
            q0, k0, v0 = Split<axis=2>(qkv, parts)
            s = Shape(q0)
            n = Gather(s, zero)
            l = Gather(s, one)
            e = Gather(s, two)
            heads = Constant<value=int64 {3}>()
            d = Div(e, heads)
            dc = Cast<to=7>(d)
            nh = Mul(n, heads)
            nu = Unsqueeze(nh, ax)
            lu = Unsqueeze(l, ax)
            du = Unsqueeze(dc, ax)
            flat = Concat<axis=0>(lu, nu, du)
            qt = Transpose<perm=[1, 0, 2]>(q0)
            kt = Transpose<perm=[1, 0, 2]>(k0)
            vt = Transpose<perm=[1, 0, 2]>(v0)
            qr = Reshape(qt, flat)
            kr = Reshape(kt, flat)
            vr = Reshape(vt, flat)
            q = Transpose<perm=[1, 0, 2]>(qr)
            k = Transpose<perm=[1, 2, 0]>(kr)
            v = Transpose<perm=[1, 0, 2]>(vr)
            scores = MatMul(q, k)
            df = Cast<to=1>(d)
            root = Sqrt(df)
            scaled = Div(scores, root)
            p = Softmax<axis=-1>(scaled)
            o = MatMul(p, v)
            ot = Transpose<perm=[1, 0, 2]>(o)
            n1 = Unsqueeze(n, ax)
            eu = Unsqueeze(e, ax)
            back = Concat<axis=0>(lu, n1, eu)
            ob = Reshape(ot, back)
            y = Transpose<perm=[1, 0, 2]>(ob)
        }""",
        {"x": (2, 5, 12)},
        {"w": (12, 36)},
    ),
    Sketch(
        "interpolate", 11,
        """main (float[N, 2, H, W] x, float[N, 2, H2, W2] like) => (y, z) {
            s = Shape(like)
            start = Constant<value=int64[1] {2}>()
            end = Constant<value=int64[1] {4}>()
            axes = Constant<value=int64[1] {0}>()
            hw = Slice(s, start, end, axes)
            sx = Shape(x)
            first = Constant<value=int64[1] {0}>()
            nc = Slice(sx, first, start, axes)
            sizes = Concat<axis=0>(nc, hw)
            none = Constant<value=float[0] {}>()
            y = Resize<mode="linear", coordinate_transformation_mode="align_corners">(x, none, none, sizes)
            at = Constant<value=int64 {3}>()
            w = Gather<axis=0>(sx, at)
            wf = Cast<to=1>(w)
            factor = Constant<value=float {1.5}>()
            wm = Mul(wf, factor)
            wl = Floor(wm)
            wi = Cast<to=7>(wl)
            wu = Unsqueeze<axes=[0]>(wi)
            fixed = Constant<value=int64[1] {7}>()
            other = Concat<axis=0>(nc, fixed, wu)
            z = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">(
                x, none, none, other)
        }""",
        {"x": (1, 2, 4, 5), "like": (1, 2, 7, 3)},
    ),
    Sketch(
        "slice", 11,
        """main (float[N, L, C] x) => (y, z) <int64 one = {1}> {
            s = Shape(x)
            l = Gather<axis=0>(s, one)
            m = Sub(l, one)
            mu = Unsqueeze<axes=[0]>(m)
            start = Constant<value=int64[1] {1}>()
            axis = Constant<value=int64[1] {1}>()
            step = Constant<value=int64[1] {1}>()
            y = Slice(x, start, mu, axis, step)
            half0 = Constant<value=int64 {2}>()
            half = Div(l, half0)
            hu = Unsqueeze<axes=[0]>(half)
            far = Constant<value=int64[1] {9223372036854775807}>()
            two = Constant<value=int64[1] {2}>()
            z = Slice(x, hu, far, axis, two)
        }""",
        {"x": (2, 9, 3)},
    ),
    Sketch(
        "positions", 12,
        """main (int64[batch, seq] ids) => (y) <int64 one = {1}, int64 zero = {0}> {
            s = Shape(ids)
            l = Gather<axis=0>(s, one)
            r = Range(zero, l, one)
            ru = Unsqueeze<axes=[0]>(r)
            s2 = Shape(ids)
            re = Expand(ru, s2)
            p = Gather(table, re)
            w = Gather(words, ids)
            e = Add(w, p)
            mean = ReduceMean<axes=[-1]>(e)
            d = Sub(e, mean)
            two = Constant<value=float {2.0}>()
            sq = Pow(d, two)
            var = ReduceMean<axes=[-1]>(sq)
            eps = Constant<value=float {0.00001}>()
            ve = Add(var, eps)
            root = Sqrt(ve)
            n = Div(d, root)
            sc = Mul(n, gamma)
            y = Add(sc, beta)
        }""",
        {"ids": [[1, 2, 3, 0, 4], [5, 6, 1, 1, 0]]},
        {"table": (16, 6), "words": (10, 6), "gamma": (6,), "beta": (6,)},
    ),
    Sketch(
        "expand", 13,
        """main (float[1, 4] x, float[batch, seq, 4] like) => (y) <int64 zero = {0}, int64[1] ax = {0}> {
            s = Shape(like)
            n = Gather(s, zero)
            nu = Unsqueeze(n, ax)
            minus = Constant<value=int64[1] {-1}>()
            rest = Constant<value=int64[1] {3}>()
            target = Concat<axis=0>(nu, rest, minus)
            three = Constant<value=int64[1] {3}>()
            ones = ConstantOfShape<value=int64[1] {1}>(three)
            scale = Constant<value=int64 {-1}>()
            marks = Mul(ones, scale)
            same = Equal(target, marks)
            shape = Where(same, ones, target)
            y = Expand(x, shape)
        }""",
        {"x": (1, 4), "like": (2, 5, 4)},
    ),
    Sketch(
        "causal", 14,
        """main (float[batch, seq, 8] x) => (y) <int64 zero = {0}, int64 one = {1}, int64[1] ax = {0}> {
            s = Shape(x)
            l = Gather(s, one)
            lu = Unsqueeze(l, ax)
            square = Concat<axis=0>(lu, lu)
            low = ConstantOfShape<value=float[1] {-10000.0}>(square)
            up = Trilu<upper=1>(low, one)
            r = Range(zero, l, one)
            column = Constant<value=int64[2] {-1, 1}>()
            rc = Reshape(r, column)
            seen = Less(r, rc)
            seenf = Cast<to=1>(seen)
            bias = Add(up, seenf)
            first = Constant<value=int64[2] {0, 1}>()
            bu = Unsqueeze(bias, first)
            n = Gather(s, zero)
            nu = Unsqueeze(n, ax)
            oneu = Unsqueeze(one, ax)
            full = Concat<axis=0>(nu, oneu, lu, lu)
            be = Expand(bu, full)
            xt = Transpose<perm=[0, 2, 1]>(x)
            xx = MatMul(x, xt)
            xu = Unsqueeze(xx, oneu)
            y = Add(xu, be)
        }""",
        {"x": (2, 5, 8)},
    ),
    Sketch(
        "chunk", 13,
        """main (float[batch, seq, 12] x) => (a, b, c) {
            sizes = Constant<value=int64[3] {3, 4, 5}>()
            p, q, r = Split<axis=2>(x, sizes)
            pq = Concat<axis=1>(p, p)
            a = Sigmoid(pq)
            b = Tanh(q)
            c = Mul(r, r)
        }""",
        {"x": (2, 4, 12)},
    ),
    Sketch(
        "loop", 12,
        """main (float[N, 4] x, int64 count) => (y, all) {
            yes = Constant<value=bool {1}>()
            none = Constant<value=int64 {0}>()
            y, total, all = Loop(count, yes, x, none) <body = step (int64 i, bool c, float[N, 4] h, int64 k) =>
                (bool c2, h2, k2, row) {
                    c2 = Identity(c)
                    m = MatMul(h, w)
                    h2 = Tanh(m)
                    k2 = Add(k, i)
                    row = ReduceMax<axes=[0], keepdims=0>(h2)
                }>
        }""",
        {"x": (3, 4), "count": 2},
        {"w": (4, 4)},
    ),
    Sketch(
        "squeeze", 13,
        """main (float[N, C, L] x) => (y) <int64 two = {2}> {
            s = Shape(x)
            l = Gather(s, two)
            one = Constant<value=int64 {1}>()
            is_one = Equal(l, one)
            y = If(is_one) <
                then_branch = yes () => (float[a, b] t) {
                    axes = Constant<value=int64[1] {2}>()
                    t = Squeeze(x, axes)
                },
                else_branch = no () => (float[a, b, c] e) { e = Identity(x) }>
        }""",
        {"x": (2, 3, 4)},
    ),
    Sketch(
        "lstm", 11,
        """main (float[batch, seq, 5] x) => (y, h) <int64 zero = {0}, int64 one = {1}> {
            s = Shape(x)
            n = Gather<axis=0>(s, zero)
            nu = Unsqueeze<axes=[0]>(n)
            two = Constant<value=int64[1] {2}>()
            hidden = Constant<value=int64[1] {3}>()
            state = Concat<axis=0>(two, nu, hidden)
            h0 = ConstantOfShape<value=float[1] {0.0}>(state)
            c0 = ConstantOfShape<value=float[1] {0.0}>(state)
            xt = Transpose<perm=[1, 0, 2]>(x)
            o, h, c = LSTM<hidden_size=3, direction="bidirectional">(xt, w, r, b, "", h0, c0)
            ot = Transpose<perm=[0, 2, 1, 3]>(o)
            flat = Constant<value=int64[3] {0, 0, -1}>()
            of = Reshape(ot, flat)
            y = Transpose<perm=[1, 0, 2]>(of)
        }""",
        {"x": (2, 4, 5)},
        {"w": (2, 12, 5), "r": (2, 12, 3), "b": (2, 24)},
    ),
    Sketch(
        "pad", 11,
        """main (float[N, 3, H, W] x) => (y) <int64 two = {2}, int64 three = {3}, int64 eight = {8}> {
            s = Shape(x)
            h = Gather<axis=0>(s, two)
            w = Gather<axis=0>(s, three)
            hm = Mod(h, eight)
            hd = Sub(eight, hm)
            hp = Mod(hd, eight)
            wm = Mod(w, eight)
            wd = Sub(eight, wm)
            wp = Mod(wd, eight)
            hu = Unsqueeze<axes=[0]>(hp)
            wu = Unsqueeze<axes=[0]>(wp)
            none = Constant<value=int64[6] {0, 0, 0, 0, 0, 0}>()
            pads = Concat<axis=0>(none, hu, wu)
            value = Constant<value=float {0.0}>()
            y = Pad<mode="constant">(x, pads, value)
        }""",
        {"x": (1, 3, 13, 17)},
    ),
    Sketch(
        "pad_reversed", 12,
        """main (float[N, C, L] x) => (y) {
            given = Constant<value=int64[2] {1, 2}>()
            rest = Constant<value=int64[1] {4}>()
            zeros = ConstantOfShape<value=int64[1] {0}>(rest)
            all = Concat<axis=0>(given, zeros)
            pairs = Constant<value=int64[2] {-1, 2}>()
            square = Reshape(all, pairs)
            last = Constant<value=int64[1] {-1}>()
            least = Constant<value=int64[1] {-9223372036854775807}>()
            axis = Constant<value=int64[1] {0}>()
            turned = Slice(square, last, least, axis, last)
            columns = Transpose<perm=[1, 0]>(turned)
            flat = Reshape(columns, last)
            pads = Cast<to=7>(flat)
            y = Pad<mode="reflect">(x, pads)
        }""",
        {"x": (2, 3, 6)},
    ),
    Sketch(
        "unet", 16,
        """main (float[N, 2, H, W] x) => (y) <int64 two = {2}, int64 three = {3}, int64[1] ax = {0}> {
            d = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1]>(x, w1)
            p = MaxPool<kernel_shape=[2, 2], strides=[2, 2]>(d)
            b = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1]>(p, w2)
            u = ConvTranspose<kernel_shape=[2, 2], strides=[2, 2]>(b, w3)
            sd = Shape(d)
            su = Shape(u)
            hd = Gather(sd, two)
            hu = Gather(su, two)
            dh = Sub(hd, hu)
            wd = Gather(sd, three)
            wu = Gather(su, three)
            dw = Sub(wd, wu)
            h1 = Div(dh, two)
            h2 = Sub(dh, h1)
            v1 = Div(dw, two)
            v2 = Sub(dw, v1)
            h1u = Unsqueeze(h1, ax)
            h2u = Unsqueeze(h2, ax)
            v1u = Unsqueeze(v1, ax)
            v2u = Unsqueeze(v2, ax)
            none = Constant<value=int64[2] {0, 0}>()
            pads = Concat<axis=0>(none, h1u, v1u, none, h2u, v2u)
            padded = Pad(u, pads)
            skip = Concat<axis=1>(d, padded)
            y = Conv<kernel_shape=[1, 1]>(skip, w4)
        }""",
        {"x": (1, 2, 7, 9)},
        {"w1": (4, 2, 3, 3), "w2": (6, 4, 3, 3), "w3": (6, 4, 2, 2), "w4": (1, 8, 1, 1)},
    ),
    Sketch(
        "vit", 17,
        """main (float[N, 3, H, W] x) => (y) <int64 zero = {0}, int64[1] ax = {0}> {
            c = Conv<kernel_shape=[4, 4], strides=[4, 4]>(x, w)
            s = Shape(c)
            from0 = Constant<value=int64[1] {0}>()
            to2 = Constant<value=int64[1] {2}>()
            nc = Slice(s, from0, to2, ax)
            minus = Constant<value=int64[1] {-1}>()
            flat = Concat<axis=0>(nc, minus)
            f = Reshape(c, flat)
            t = Transpose<perm=[0, 2, 1]>(f)
            n = Gather(s, zero)
            nu = Unsqueeze(n, ax)
            rest = Constant<value=int64[2] {1, 6}>()
            shape = Concat<axis=0>(nu, rest)
            cls = Expand(token, shape)
            z = Concat<axis=1>(cls, t)
            l = LayerNormalization<axis=-1>(z, gamma, beta)
            first = Constant<value=int64 {0}>()
            y = Gather<axis=1>(l, first)
        }""",
        {"x": (2, 3, 8, 12)},
        {"w": (6, 3, 4, 4), "token": (1, 1, 6), "gamma": (6,), "beta": (6,)},
    ),
    Sketch(
        "windows", 17,
        """main (float[N, H, W, 4] x) => (y) <int64 zero = {0}, int64 one = {1}, int64 two = {2}, int64[1] ax = {0}> {
            s = Shape(x)
            n = Gather(s, zero)
            h = Gather(s, one)
            w = Gather(s, two)
            hd = Div(h, two)
            wd = Div(w, two)
            nu = Unsqueeze(n, ax)
            hu = Unsqueeze(hd, ax)
            wu = Unsqueeze(wd, ax)
            win = Constant<value=int64[1] {2}>()
            c = Constant<value=int64[1] {4}>()
            six = Concat<axis=0>(nu, hu, win, wu, win, c)
            r = Reshape(x, six)
            t = Transpose<perm=[0, 1, 3, 2, 4, 5]>(r)
            minus = Constant<value=int64[1] {-1}>()
            three = Concat<axis=0>(minus, win, win, c)
            v = Reshape(t, three)
            tokens = Constant<value=int64[3] {-1, 4, 4}>()
            y = Reshape(v, tokens)
        }""",
        {"x": (2, 4, 6, 4)},
    ),
    Sketch(
        "rotary", 20,
        """main (float[batch, seq, 2, 8] q, int64[batch, seq] at) => (y) <int64 three = {3}, int64[1] ax = {0}> {
            qt = Transpose<perm=[0, 2, 1, 3]>(q)
            one = Constant<value=int64[1] {1}>()
            last = Constant<value=int64[1] {-1}>()
            af = Cast<to=1>(at)
            au = Unsqueeze(af, last)
            angle = MatMul(au, freq)
            both = Concat<axis=-1>(angle, angle)
            cos0 = Cos(both)
            sin0 = Sin(both)
            cos = Unsqueeze(cos0, one)
            sin = Unsqueeze(sin0, one)
            s = Shape(qt)
            d = Gather(s, three)
            two = Constant<value=int64 {2}>()
            half = Div(d, two)
            hu = Unsqueeze(half, ax)
            axis = Constant<value=int64[1] {3}>()
            low = Slice(qt, ax, hu, axis, one)
            far = Constant<value=int64[1] {9223372036854775807}>()
            high = Slice(qt, hu, far, axis, one)
            minus = Neg(high)
            turned = Concat<axis=-1>(minus, low)
            a = Mul(qt, cos)
            b = Mul(turned, sin)
            y = Add(a, b)
        }""",
        {"q": (2, 5, 2, 8), "at": [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4]]},
        {"freq": (1, 4)},
    ),
    Sketch(
        "scatter", 16,
        """main (float[N, L] x, float[N, k] v) => (y, count) <int64 zero = {0}, int64 one = {1}, int64[1] ax = {0}> {
            s = Shape(x)
            n = Gather(s, zero)
            sv = Shape(v)
            k = Gather(sv, one)
            rows = Range(zero, n, one)
            cols = Range(zero, k, one)
            last = Constant<value=int64[1] {-1}>()
            ru = Unsqueeze(rows, last)
            re = Expand(ru, sv)
            ce = Expand(cols, sv)
            r1 = Unsqueeze(re, last)
            c1 = Unsqueeze(ce, last)
            at = Concat<axis=-1>(r1, c1)
            y = ScatterND(x, at, v)
            whole = Size(x)
            wu = Unsqueeze(whole, ax)
            count = ConstantOfShape(wu)
        }""",
        {"x": (3, 5), "v": (3, 2)},
    ),
    Sketch(
        "einsum", 12,
        """main (float[batch, seq, 2, 3] q, float[batch, keys, 2, 3] k) => (y) {
            a = Einsum<equation="bqhd,bkhd->bhqk">(q, k)
            p = Softmax<axis=3>(a)
            o = Einsum<equation="bhqk,bkhd->bqhd">(p, k)
            y = Einsum<equation="...hd,hde->...e">(o, w)
        }""",
        {"q": (2, 4, 2, 3), "k": (2, 5, 2, 3)},
        {"w": (2, 3, 6)},
    ),
)

DYNAMO = (
    Sketch(
        "functions", 18,
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
        "symbols", 22,
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
        "decoder", 14,
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
            "input_ids": [[1], [2]], "attention_mask": [[1, 1, 1, 1], [1, 0, 1, 1]],
            "past_key": (2, 2, 3, 4), "past_value": (2, 2, 3, 4),
        },
        {"words": (9, 8), "wq": (8, 8), "wk": (8, 8), "head": (8, 9)},
    ),
    Sketch(
        "grouped", 21,
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
        "reshape", 10,
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
        "fill", 13,
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
        "while", 11,
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
        "keras", 15,
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
        "strided", 13,
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
        "paddle", 11,
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
        "qdq", 13,
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
        "dynamic_quantization", 11,
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
        "detection", 11,
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
        "scan", 11,
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
        "sequences", 13,
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
        "classifier", 12,
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
        "columns", 13,
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
        "diffusion", 22,
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

SKETCHES: tuple[tuple[str, tuple[Sketch, ...]], ...] = (
    ("torch", TORCH), ("dynamo", DYNAMO), ("hf", HUGGING_FACE), ("tf2onnx", TENSORFLOW), ("other", OTHERS),
)  # fmt: skip
