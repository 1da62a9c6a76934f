"""Sketches for judges.conformance.exported: whole networks in small, by architecture, at the opsets of their time."""

from __future__ import annotations

from judges.conformance.sketches import Sketch

__all__ = ["WHOLE"]

BERT_WEIGHTS = {
    "table": (11, 8), "places": (16, 8), "wq": (8, 8), "wk": (8, 8), "wv": (8, 8), "wo": (8, 8), "g1": (8,), "b1": (8,),
    "w1": (8, 16), "c1": (16,), "w2": (16, 8), "c2": (8,), "g2": (8,), "b2": (8,),
}  # fmt: skip
IDS = [[1, 5, 3, 10, 2], [4, 4, 0, 9, 7]]

ENCODER = """(int64[batch, seq] ids, int64[batch, seq] mask) => (float[batch, seq, 8] y) {
    one = 1  heads = [0, 0, 2, 4]
    x = Add(Gather(table, ids), Gather(places, Range(0, Gather<axis=0>(Shape(ids), one), one)))
    bias = Mul(Sub(1.0, Unsqueeze(Cast<to=1>(mask), [1, 2])), -10000.0)
    qt = Transpose<perm=[0, 2, 1, 3]>(Reshape(MatMul(x, wq), heads))
    kt = Transpose<perm=[0, 2, 3, 1]>(Reshape(MatMul(x, wk), heads))
    a = Softmax<axis=-1>(Add(Div(MatMul(qt, kt), 2.0), bias))
    o = MatMul(a, Transpose<perm=[0, 2, 1, 3]>(Reshape(MatMul(x, wv), heads)))
    h = Add(x, MatMul(Reshape(Transpose<perm=[0, 2, 1, 3]>(o), [0, 0, 8]), wo))
    NORM1
    fb = Add(MatMul(n1, w1), c1)
    h2 = Add(n1, Add(MatMul(GELU, w2), c2))
    NORM2
}"""
DECOMPOSED_NORM = """d{0} = Sub({1}, ReduceMean<axes=[-1]>({1}))
    nd{0} = Div(d{0}, Sqrt(Add(ReduceMean<axes=[-1]>(Pow(d{0}, 2.0)), 1e-5)))
    {2} = Add(Mul(nd{0}, g{0}), b{0})"""
DECOMPOSED_GELU = "Mul(Mul(fb, Add(Erf(Div(fb, 1.4142135)), 1.0)), 0.5)"


def encoder(opset: int, norm: bool, gelu: str) -> Sketch:
    """Return an encoder with attention as torch writes it: with or without operators of its own for norm and Gelu."""
    text = ENCODER
    for number, given, made in ((1, "h", "n1"), (2, "h2", "y")):
        one = f"{made} = LayerNormalization<axis=-1, epsilon=1e-5>({given}, g{number}, b{number})"
        text = text.replace(f"NORM{number}", one if norm else DECOMPOSED_NORM.format(number, given, made))
    text = text.replace("GELU", f'Gelu<approximate="{gelu}">(fb)' if gelu else DECOMPOSED_GELU)
    if opset < 13:
        text = text.replace("Unsqueeze(Cast<to=1>(mask), [1, 2])", "Unsqueeze<axes=[1, 2]>(Cast<to=1>(mask))")
    name = "encoder_with_gelu" if gelu else "encoder_with_norm" if norm else "encoder"
    mask = [[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]
    return Sketch(f"{name}_opset{opset} {text}", {"ids": IDS, "mask": mask}, BERT_WEIGHTS)


def residual(opset: int) -> Sketch:
    """Return a residual network for images."""
    return Sketch(
        f"residual_opset{opset} " """(float[N, 3, 12, 12] x) => (float[N, 5] y) {
            c1 = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1]>(x, w1, b1)
            r1 = Relu(BatchNormalization<epsilon=1e-5, momentum=0.9>(c1, s, t, mean, variance))
            p1 = MaxPool<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>(r1)
            n2 = BatchNormalization(Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=2>(p1, w2), s, t, mean, variance)
            f = Flatten<axis=1>(GlobalAveragePool(AveragePool<kernel_shape=[2, 2], strides=[2, 2]>(Relu(Add(n2, p1)))))
            y = Softmax<axis=1>(Gemm<transB=1>(f, fc, fb))
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
        """mobile_opset14 (float[N, 3, 10, 10] x) => (float[N, 4] y) {
            h = HardSwish(Conv<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>(x, w))
            d = Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1], group=6>(h, dw)
            e2 = Conv<kernel_shape=[1, 1]>(Relu(Conv<kernel_shape=[1, 1]>(GlobalAveragePool(d), se)), se2)
            a = ReduceMean<axes=[2, 3], keepdims=0>(Clip(Mul(HardSigmoid<alpha=0.16666667>(e2), d), 0.0, 6.0))
            y = Gemm<transB=1>(a, fc)
        }""",
        {"x": (2, 3, 10, 10)},
        {"w": (6, 3, 3, 3), "dw": (6, 1, 3, 3), "se": (2, 6, 1, 1), "se2": (6, 2, 1, 1), "fc": (4, 6)},
    ),
    Sketch(
        """segmentation_opset13 (float[N, 3, H, W] x) => (float[N, 2, H, W] y) {
            i = InstanceNormalization(Conv<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>(x, w), s, b)
            l = LeakyRelu<alpha=0.1>(i)
            t = ConvTranspose<kernel_shape=[2, 2], strides=[2, 2]>(l, wt)
            u = Resize<mode="linear", coordinate_transformation_mode="align_corners">(t, , [1.0, 1.0, 0.5, 0.5])
            k = Conv<kernel_shape=[1, 1]>(Concat<axis=1>(l, u), w2)
            starts = [2]  axes = [0]
            sizes = Concat<axis=0>(Slice(Shape(k), [0], starts, axes), Slice(Shape(x), starts, [4], axes))
            y = Resize<mode="linear", coordinate_transformation_mode="pytorch_half_pixel">(k, , , sizes)
        }""",
        {"x": (1, 3, 8, 12)},
        {"w": (4, 3, 3, 3), "s": (4,), "b": (4,), "wt": (4, 2, 2, 2), "w2": (2, 6, 1, 1)},
    ),
    Sketch(
        """detector_opset17 (float[1, 3, 8, 8] x) => (int64[K, 3] kept, float[1, M, 4] boxes) {
            c = Conv<kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]>(x, w)
            scales = [1.0, 1.0, 2.0, 2.0]
            u = Resize<mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor">(c, , scales)
            t = Transpose<perm=[0, 2, 1]>(Reshape(Conv<kernel_shape=[2, 2], strides=[2, 2]>(u, w2), [1, 6, -1]))
            xy, wh, cls = Split<axis=2>(Sigmoid(t), [2, 2, 2])
            lf = Cast<to=1>(Range(0, 4, 1))
            a1 = [1]  grid44 = [4, 4]  m1 = [-1]
            gxu = Unsqueeze(Reshape(Expand(lf, grid44), m1), a1)
            xyg = Add(xy, Concat<axis=1>(gxu, Unsqueeze(Reshape(Expand(Unsqueeze(lf, a1), grid44), m1), a1)))
            boxes = Concat<axis=2>(xyg, Pow(wh, 2.0))
            kept = NonMaxSuppression<center_point_box=1>(boxes, Transpose<perm=[0, 2, 1]>(cls), [3], [0.5], [0.1])
        }""",
        {"x": (1, 3, 8, 8)},
        {"w": (4, 3, 3, 3), "w2": (6, 4, 2, 2)},
    ),
    Sketch(
        """best_boxes_opset12 (float[1, 9, 4] boxes, float[1, 9] scores) => (float[1, 3, 4] top, float[1, 3] values) {
            values, places = TopK<axis=1>(scores, [3])
            top = GatherND<batch_dims=1>(boxes, Unsqueeze<axes=[2]>(places))
        }""",
        {"boxes": (1, 9, 4), "scores": [[0.5, 0.25, 0.75, 0.1, 0.9, 0.3, 0.6, 0.2, 0.8]]},
    ),
    Sketch(
        """graph_network_opset16 (float[nodes, 4] x, int64[2, edges] edges) => (float[nodes, 4] y) {
            w1 = MatMul(Gather<axis=0>(x, Gather<axis=0>(edges, 0)), w)
            d = Expand(Unsqueeze(Gather<axis=0>(edges, 1), [1]), Shape(w1))
            y = Relu(Add(ScatterElements<axis=0, reduction="add">(ConstantOfShape(Shape(x)), d, w1), x))
        }""",
        {"x": (4, 4), "edges": [[0, 1, 2, 3, 0], [1, 2, 3, 0, 1]]},
        {"w": (4, 4)},
    ),
    Sketch(
        """graph_attention_opset18 (float[nodes, 4] x, int64[edges] src, int64[edges] dst) => (float[nodes, 4] y) {
            m = Gather<axis=0>(x, src)
            xs = Shape(x)
            z = [0]  o = [1]
            n = Slice(xs, z, o, z)
            lows = ConstantOfShape<value=float[1] {-1000.0}>(n)
            ef = Squeeze(MatMul(m, att), o)
            x1 = Exp(Sub(ef, GatherElements<axis=0>(ScatterElements<axis=0, reduction="max">(lows, dst, ef), dst)))
            d1 = Unsqueeze(dst, o)
            au = Unsqueeze(Div(x1, Gather<axis=0>(ScatterND<reduction="add">(ConstantOfShape(n), d1, x1), dst)), o)
            y = ScatterND<reduction="add">(ConstantOfShape(xs), d1, Mul(au, m))
        }""",
        {"x": (4, 4), "src": [0, 1, 2, 3, 0], "dst": [1, 2, 3, 0, 1]},
        {"att": (4, 1)},
    ),
    Sketch(
        """decoder_with_cache_opset18 (int64[1, 1] ids, float[1, 2, past, 4] pk, float[1, 2, past, 4] pv)
                => (float[1, 1, 11] y, float[1, 2, all, 4] k, float[1, 2, all, 4] v) {
            x = Gather(table, ids)
            xn = Mul(x, Reciprocal(Sqrt(Add(ReduceMean<keepdims=1>(Pow(x, 2.0), [-1]), 1e-6))))
            xg = Mul(xn, g1)
            heads = [1, 1, 2, 4]
            q = Transpose<perm=[0, 2, 1, 3]>(Reshape(MatMul(xg, wq), heads))
            k = Concat<axis=2>(pk, Transpose<perm=[0, 2, 1, 3]>(Reshape(MatMul(xg, wk), heads)))
            v = Concat<axis=2>(pv, Transpose<perm=[0, 2, 1, 3]>(Reshape(MatMul(xg, wv), heads)))
            ks = Shape<start=2, end=3>(k)
            ones = ConstantOfShape<value=float[1] {1.0}>(Concat<axis=0>(ks, ks))
            hidden = Equal(Slice(Trilu<upper=0>(ones), Sub(ks, Shape<start=2, end=3>(q)), ks, [0]), 0.0)
            o = MatMul(Softmax<axis=-1>(Where(hidden, -3.4e38, MatMul(q, Transpose<perm=[0, 1, 3, 2]>(k)))), v)
            h = Add(x, Reshape(Transpose<perm=[0, 2, 1, 3]>(o), [1, 1, 8]))
            gate = MatMul(h, wg)
            y = MatMul(Add(h, MatMul(Mul(Mul(gate, Sigmoid(gate)), MatMul(h, wu)), wd)), head)
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
        """attention_with_cache_opset23 (float[B, S, 16] x, float[B, 2, P, 4] pk, float[B, 2, P, 4] pv, bool[S, T] mask)
                => (float[B, S, 16] y, float[B, 2, T, 4] k, float[B, 2, T, 4] v) {
            n = RMSNormalization<axis=-1, epsilon=1e-6>(x, g)
            v0 = MatMul(n, wv)
            a, k, v = Attention<q_num_heads=4, kv_num_heads=2>(MatMul(n, wq), MatMul(n, wk), v0, mask, pk, pv)
            y = Add(x, MatMul(a, wo))
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
        """rotary_decoder_opset23 (float[B, S, 16] x, int64[B, S] positions) => (float[B, S, 16] y) {
            n = RMSNormalization(x, g)
            q = RotaryEmbedding<num_heads=4>(MatMul(n, wq), cos, sin, positions)
            k = RotaryEmbedding<num_heads=2>(MatMul(n, wk), cos, sin, positions)
            o = MatMul(Attention<is_causal=1, q_num_heads=4, kv_num_heads=2, softcap=5.0>(q, k, MatMul(n, wv)), wo)
            h = Add(x, o)
            y = Add(h, MatMul(Gelu<approximate="tanh">(MatMul(h, wu)), wd))
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
        """spectrogram_opset17 (float[B, N, 1] wave) => (float[B, F, 5] y) {
            s = STFT<onesided=1>(wave, 4, HannWindow<periodic=1>(8))
            y = LayerNormalization<axis=-1>(Log(Add(ReduceSum<keepdims=0>(Mul(s, s), [-1]), 1e-6)), g)
        }""",
        {"wave": (2, 24, 1)},
        {"g": (5,)},
    ),
    Sketch(
        """speech_encoder_opset17 (float[B, 6, T] mel) => (float[B, T2, 8] y) {
            c = Conv<kernel_shape=[3], pads=[1, 1]>(mel, w1, b1)
            g = Mul(Mul(c, Add(Erf(Div(c, 1.4142135)), 1.0)), 0.5)
            t = Transpose<perm=[0, 2, 1]>(Conv<kernel_shape=[3], strides=[2], pads=[1, 1]>(g, w2, b2))
            y = LayerNormalization<axis=-1>(t, s, b)
        }""",
        {"mel": (2, 6, 10)},
        {"w1": (8, 6, 3), "b1": (8,), "w2": (8, 8, 3), "b2": (8,), "s": (8,), "b": (8,)},
    ),
    Sketch(
        """durations_opset14 (float[1, T, 4] x, int64[1, T] durations) => (float[1, 8, 4] y) {
            axis = 1
            past = GreaterOrEqual(Unsqueeze(Range(0, 8, axis), [0, 2]), Unsqueeze(CumSum(durations, axis), [1]))
            y = GatherElements<axis=1>(x, Expand(ReduceSum<keepdims=1>(Cast<to=7>(past), [2]), [1, 8, 4]))
        }""",
        {"x": (1, 4, 4), "durations": [[2, 3, 1, 4]]},
    ),
    Sketch(
        """recurrent_opset9 (float[T, B, 3] x) => (float[T, B, 4] y) {
            a, ah, ac = LSTM<hidden_size=2, direction="bidirectional">(x, w, r, b)
            s = Reshape(Transpose<perm=[0, 2, 1, 3]>(a), [0, 0, -1])
            g, gh = GRU<hidden_size=4, linear_before_reset=1>(s, w2, r2, b2)
            y = Squeeze<axes=[1]>(g)
        }""",
        {"x": (5, 2, 3)},
        {"w": (2, 8, 3), "r": (2, 8, 2), "b": (2, 16), "w2": (1, 12, 4), "r2": (1, 12, 4), "b2": (1, 24)},
    ),
    Sketch(
        """recurrent_opset14 (float[T, B, 3] x, int32[B] lengths) => (float[T, 1, B, 4] y, float[1, B, 4] h) {
            y, h = GRU<hidden_size=4, linear_before_reset=1>(x, w, r, b, lengths)
        }""",
        {"x": (5, 2, 3), "lengths": [5, 3]},
        {"w": (1, 12, 3), "r": (1, 12, 4), "b": (1, 24)},
    ),
    Sketch(
        """quantized_opset10 (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) {
            xs = 0.02  xz = uint8 {3}  ws = 0.01  wz = uint8 {8}
            wq = QuantizeLinear(w, ws, wz)
            ys = 0.1  yz = uint8 {2}
            c = QLinearConv<kernel_shape=[3, 3]>(QuantizeLinear(x, xs, xz), xs, xz, wq, ws, wz, ys, yz)
            y = DequantizeLinear(c, ys, yz)
        }""",
        {"x": (1, 3, 6, 6)},
        {"w": (4, 3, 3, 3)},
    ),
    Sketch(
        """quantized_per_channel_opset13 (float[1, 3, 6, 6] x) => (float[1, 4, 4, 4] y) {
            xs = 0.02  xz = int8 {-3}  wz = int8[4] {0, 0, 0, 0}
            wd = DequantizeLinear<axis=0>(QuantizeLinear<axis=0>(w, ws, wz), ws, wz)
            y = Conv<kernel_shape=[3, 3]>(DequantizeLinear(QuantizeLinear(x, xs, xz), xs, xz), wd)
        }""",
        {"x": (1, 3, 6, 6)},
        {"w": (4, 3, 3, 3), "ws": (4,)},
    ),
    Sketch(
        """deformable_opset16 (float[1, 3, 6, 6] x, float[1, 4, 5, 2] grid) => (float[1, 3, 4, 5] y) {
            y = GridSample<mode="bilinear", padding_mode="zeros", align_corners=0>(x, Sub(Mul(grid, 2.0), 1.0))
        }""",
        {"x": (1, 3, 6, 6), "grid": (1, 4, 5, 2)},
    ),
    Sketch(
        """super_resolution_opset11 (float[1, 1, H, W] x) => (float[1, 1, H2, W2] y) {
            d = DepthToSpace<blocksize=2, mode="CRD">(PRelu(Conv<kernel_shape=[3, 3], pads=[1, 1, 1, 1]>(x, w), slope))
            y = Clip(d, 0.0, 1.0)
        }""",
        {"x": (1, 1, 5, 7)},
        {"w": (4, 1, 3, 3), "slope": (4, 1, 1)},
    ),
    Sketch(
        """hashed_opset18 (int64[N] ids) => (float[N, 3] y) {
            s = Add(Gather(table, Mod(ids, 7)), Gather(table, Cast<to=7>(BitwiseAnd(Cast<to=13>(ids), uint64 {6}))))
            y = Mish(s)
        }""",
        {"ids": [3, 15, 22, 8]},
        {"table": (7, 3)},
    ),
    Sketch(
        """einsum_attention_opset13 (float[B, S, 2, 4] q, float[B, S, 2, 4] k, float[B, S, 2, 4] v)
                => (float[B, S, 2, 4] y) {
            y = Einsum<equation="bhij,bjhd->bihd">(Softmax<axis=-1>(Einsum<equation="bihd,bjhd->bhij">(q, k)), v)
        }""",
        {"q": (2, 3, 2, 4), "k": (2, 3, 2, 4), "v": (2, 3, 2, 4)},
    ),
    Sketch(
        """trees_opset15 (float[N, 3] x) => (int64[N] label, float[N, 2] scores) {
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
