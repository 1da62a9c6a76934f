"""Sketches for judges.conformance.exported: graphs in the text form of the onnx package, as torch.onnx writes them.

`weights` are initializers drawn at random, by shape; so are `feeds` that are a shape, others are given as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["TORCH", "Sketch"]

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
        "view",
        9,
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
        "upsample",
        9,
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
        "attention",
        11,
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
        "attention",
        14,
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
        "interpolate",
        11,
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
        "slice",
        11,
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
        "positions",
        12,
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
        "expand",
        13,
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
        "causal",
        14,
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
        "chunk",
        13,
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
        "loop",
        12,
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
        "squeeze",
        13,
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
        "lstm",
        11,
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
        "pad",
        11,
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
        "pad_reversed",
        12,
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
        "unet",
        16,
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
        "vit",
        17,
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
        "windows",
        17,
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
        "rotary",
        20,
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
        "scatter",
        16,
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
        "einsum",
        12,
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
