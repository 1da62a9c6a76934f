"""Layers of torch, one a module: convolutions, pooling, norms, activations, attention, recurrence, resizing."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import nn, randn

from judges.exporters.torch_samples import Call, Sample

IMAGE = {"x0": {0: "batch", 2: "height", 3: "width"}}
SEQUENCE = {"x0": {0: "batch", 1: "length"}}
BATCH = {"x0": {0: "batch"}}


def convolutions() -> Iterator[Sample]:
    """Yield convolutions."""
    yield Sample("conv1d", nn.Conv1d(3, 4, 3, padding=1), (randn(2, 3, 16),), BATCH)
    yield Sample("conv1d_same", nn.Conv1d(3, 4, 4, padding="same"), (randn(2, 3, 16),))
    yield Sample("conv2d", nn.Conv2d(3, 8, 3, stride=2, padding=1), (randn(2, 3, 17, 15),), IMAGE)
    yield Sample("conv2d_dilated", nn.Conv2d(4, 4, 3, dilation=2, groups=2), (randn(1, 4, 16, 16),))
    yield Sample("conv2d_depthwise", nn.Conv2d(6, 12, 5, groups=6, bias=False), (randn(1, 6, 12, 12),), BATCH)
    yield Sample("conv2d_reflect", nn.Conv2d(2, 4, 3, padding=2, padding_mode="reflect"), (randn(1, 2, 8, 8),))
    yield Sample("conv2d_circular", nn.Conv2d(2, 4, 3, padding=1, padding_mode="circular"), (randn(1, 2, 8, 8),))
    yield Sample("conv3d", nn.Conv3d(2, 4, 3, padding=1), (randn(1, 2, 6, 7, 8),), BATCH)
    yield Sample("conv_transpose1d", nn.ConvTranspose1d(4, 3, 4, stride=2), (randn(2, 4, 9),))
    transposed = nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2)
    yield Sample("conv_transpose2d", transposed, (randn(2, 4, 5, 7),), BATCH)
    yield Sample("conv_transpose3d", nn.ConvTranspose3d(2, 3, 3, stride=2, dilation=2), (randn(1, 2, 4, 4, 4),))
    yield Sample("unfold", nn.Unfold(3, padding=1, stride=2), (randn(1, 2, 8, 8),))
    yield Sample("fold", nn.Fold((6, 6), 2, stride=2), (randn(1, 8, 9),))
    yield Sample("bilinear", nn.Bilinear(3, 4, 5), (randn(2, 3), randn(2, 4)))
    yield Sample("linear", nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 3, bias=False)), (randn(2, 4, 5),), SEQUENCE)


def pools() -> Iterator[Sample]:
    """Yield pooling."""
    yield Sample("max_pool1d", nn.MaxPool1d(3, stride=2, padding=1), (randn(2, 3, 15),))
    yield Sample("max_pool2d_ceil", nn.MaxPool2d(3, stride=2, ceil_mode=True), (randn(1, 3, 12, 13),), BATCH)
    yield Sample("max_pool2d_dilated", nn.MaxPool2d(2, stride=2, dilation=2), (randn(1, 3, 12, 13),))
    indices = nn.MaxPool2d(2, stride=2, return_indices=True)
    yield Sample("max_pool2d_indices", indices, (randn(1, 3, 8, 8),))
    yield Sample("max_pool3d", nn.MaxPool3d(2), (randn(1, 2, 6, 6, 6),))
    yield Sample("avg_pool1d", nn.AvgPool1d(3, stride=2, padding=1), (randn(2, 3, 15),))
    yield Sample("avg_pool2d_ceil", nn.AvgPool2d(3, stride=2, ceil_mode=True), (randn(1, 3, 12, 12),))
    padded = nn.AvgPool2d(3, stride=2, padding=1, ceil_mode=True, count_include_pad=True)
    yield Sample("avg_pool2d_ceil_padded", padded, (randn(1, 3, 12, 12),), BATCH)
    excluded = nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False)
    yield Sample("avg_pool2d_excluded", excluded, (randn(1, 3, 11, 12),), BATCH)
    yield Sample("avg_pool3d", nn.AvgPool3d(2, stride=1), (randn(1, 2, 5, 5, 5),))
    yield Sample("lp_pool2d", nn.LPPool2d(2, 3, stride=2), (randn(1, 2, 9, 9),))
    yield Sample("adaptive_avg", nn.AdaptiveAvgPool2d((2, 3)), (randn(2, 3, 8, 9),), BATCH)
    yield Sample("adaptive_max", nn.AdaptiveMaxPool2d((2, 3)), (randn(2, 3, 8, 9),))
    yield Sample("adaptive_global", nn.AdaptiveAvgPool2d(1), (randn(2, 3, 8, 9),), IMAGE)
    yield Sample("pixel_shuffle", Call(lambda x: F.pixel_shuffle(x, 2)), (randn(1, 8, 3, 4),), BATCH)
    yield Sample("pixel_unshuffle", nn.PixelUnshuffle(2), (randn(1, 2, 6, 8),))
    yield Sample("channel_shuffle", nn.ChannelShuffle(2), (randn(1, 6, 3, 4),))


def norms() -> Iterator[Sample]:
    """Yield norms."""
    batch = nn.BatchNorm2d(4)
    assert batch.running_mean is not None
    batch.running_mean.normal_()
    yield Sample("batch_norm", batch, (randn(2, 4, 5, 5),), IMAGE)
    yield Sample("batch_norm1d", nn.BatchNorm1d(4, affine=False), (randn(3, 4),), BATCH)
    yield Sample("layer_norm", nn.LayerNorm(8), (randn(2, 5, 8),), SEQUENCE)
    yield Sample("layer_norm_plain", nn.LayerNorm((5, 8), elementwise_affine=False), (randn(2, 5, 8),))
    yield Sample("group_norm", nn.GroupNorm(2, 6), (randn(2, 6, 5, 5),), BATCH)
    yield Sample("instance_norm", nn.InstanceNorm2d(3, affine=True), (randn(2, 3, 5, 5),))
    yield Sample("instance_norm_1d", nn.InstanceNorm1d(3), (randn(2, 3, 9),), BATCH)
    yield Sample("rms_norm", nn.RMSNorm(8), (randn(2, 5, 8),), SEQUENCE)
    yield Sample("local_response", nn.LocalResponseNorm(3), (randn(1, 6, 4, 4),))
    yield Sample("normalize", Call(lambda x: F.normalize(x, dim=-1)), (randn(2, 5, 8),))
    yield Sample("weight_norm", nn.utils.parametrizations.weight_norm(nn.Linear(4, 5)), (randn(2, 4),))
    yield Sample("cosine_similarity", nn.CosineSimilarity(dim=1), (randn(3, 8), randn(3, 8)))
    yield Sample("pairwise_distance", nn.PairwiseDistance(), (randn(3, 8), randn(3, 8)))
    yield Sample("dropout", nn.Sequential(nn.Dropout(0.3), nn.Linear(4, 4), nn.AlphaDropout()), (randn(2, 4),))


def activations() -> Iterator[Sample]:
    """Yield activations, several after one another."""
    chains = {
        "relu": [nn.ReLU(), nn.LeakyReLU(0.2), nn.ReLU6(), nn.PReLU()],
        "elu": [nn.ELU(), nn.SELU(), nn.CELU(0.7), nn.GELU(), nn.GELU(approximate="tanh")],
        "silu": [nn.SiLU(), nn.Mish(), nn.Hardswish(), nn.Hardsigmoid(), nn.Hardtanh(-0.5, 0.7)],
        "sigmoid": [nn.Sigmoid(), nn.LogSigmoid(), nn.Tanh(), nn.Softplus(beta=2), nn.Softsign()],
        "shrink": [nn.Hardshrink(0.1), nn.Softshrink(0.1), nn.Tanhshrink(), nn.Threshold(0.01, 0.3)],
        "softmax": [nn.Softmax(dim=1), nn.LogSoftmax(dim=-1), nn.Softmin(dim=0)],
        "softmax2d": [nn.Softmax2d()],
    }
    for name, chain in chains.items():
        inputs = (randn(2, 4, 3, 5),) if name == "softmax2d" else (randn(2, 4, 6),)
        yield Sample(f"activation_{name}", nn.Sequential(*chain), inputs, BATCH)
    yield Sample("glu", nn.GLU(dim=1), (randn(2, 6, 3),))
    yield Sample("rrelu", nn.RReLU(), (randn(2, 6),))
    losses = Call(lambda x, y: (F.mse_loss(x, y), F.l1_loss(x, y), F.smooth_l1_loss(x, y), F.kl_div(x, y.softmax(-1))))
    yield Sample("losses", losses, (randn(2, 6), randn(2, 6)))
    entropy = Call(lambda x, y: F.cross_entropy(x, y, label_smoothing=0.0))
    yield Sample("cross_entropy", entropy, (randn(3, 6), torch.tensor([1, 0, 5])))
    entropy = Call(lambda x, y: F.nll_loss(x.log_softmax(1), y, ignore_index=1, reduction="none"))
    yield Sample("nll_loss", entropy, (randn(3, 6, 2), torch.tensor([[1, 0], [5, 2], [1, 1]])))


def attentions() -> Iterator[Sample]:
    """Yield attention and layers of transformers."""
    many = nn.MultiheadAttention(12, 3, batch_first=True)
    yield Sample("multihead", Call(lambda m, q, k: m(q, k, k), many), (randn(2, 5, 12), randn(2, 7, 12)))
    masked = Call(lambda m, x, mask: m(x, x, x, key_padding_mask=mask)[0], nn.MultiheadAttention(8, 2))
    yield Sample("multihead_padding", masked, (randn(5, 2, 8), torch.arange(10).reshape(2, 5) % 5 > 3))
    heads = (randn(2, 3, 5, 4), randn(2, 3, 7, 4), randn(2, 3, 7, 4))
    axes = {"x0": {0: "batch"}, "x1": {0: "batch"}, "x2": {0: "batch"}}
    yield Sample("sdpa", Call(F.scaled_dot_product_attention), heads, axes)
    causal = Call(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True))
    yield Sample("sdpa_causal", causal, heads[:1], axes)
    biased = Call(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m, scale=0.3))
    yield Sample("sdpa_bias", biased, (*heads, randn(5, 7)))
    booleans = Call(lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, attn_mask=m))
    yield Sample("sdpa_mask", booleans, (*heads, torch.ones(5, 7, dtype=torch.bool).tril(2)))
    grouped = Call(lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True))
    yield Sample("sdpa_grouped", grouped, (randn(1, 6, 5, 4), randn(1, 2, 5, 4)))
    layer = nn.TransformerEncoderLayer(12, 3, 16, batch_first=True)
    yield Sample("encoder_layer", layer, (randn(2, 5, 12),), BATCH)
    first = nn.TransformerEncoderLayer(12, 2, 16, activation="gelu", norm_first=True)
    yield Sample("encoder", nn.TransformerEncoder(first, 2, enable_nested_tensor=False), (randn(5, 2, 12),))
    decoder = nn.TransformerDecoderLayer(12, 3, 16, batch_first=True)
    yield Sample("decoder_layer", decoder, (randn(2, 5, 12), randn(2, 7, 12)))
    yield Sample("transformer", nn.Transformer(8, 2, 1, 1, 16), (randn(5, 2, 8), randn(4, 2, 8)))


def recurrences() -> Iterator[Sample]:
    """Yield recurrent layers."""
    yield Sample("rnn", nn.RNN(4, 5, nonlinearity="relu"), (randn(6, 2, 4),))
    yield Sample("rnn_both_ways", nn.RNN(4, 5, bidirectional=True, batch_first=True), (randn(2, 6, 4),))
    yield Sample("lstm", nn.LSTM(4, 5, num_layers=2), (randn(6, 2, 4),), {"x0": {1: "batch"}})
    state = (randn(2, 2, 5), randn(2, 2, 5))
    yield Sample("lstm_state", nn.LSTM(4, 5, bidirectional=True), (randn(6, 2, 4), state))
    yield Sample("gru", nn.GRU(4, 5, batch_first=True), (randn(2, 6, 4),))
    yield Sample("gru_state", nn.GRU(4, 5, 2, bidirectional=True), (randn(6, 2, 4), randn(4, 2, 5)))
    yield Sample("lstm_cell", nn.LSTMCell(4, 5), (randn(2, 4),))
    yield Sample("gru_cell", nn.GRUCell(4, 5), (randn(2, 4), randn(2, 5)))


def resizings() -> Iterator[Sample]:
    """Yield layers that resize, sample or pad."""
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        up = Call(lambda x, mode=mode: F.interpolate(x, scale_factor=2.0, mode=mode))
        yield Sample(f"upsample_{mode}", up, (randn(1, 2, 4, 5),), BATCH)
        to = Call(lambda x, mode=mode: F.interpolate(x, size=(3, 7), mode=mode))
        yield Sample(f"interpolate_{mode}", to, (randn(1, 2, 6, 5),))
    for mode in ("bilinear", "bicubic"):
        aligned = Call(lambda x, mode=mode: F.interpolate(x, size=(9, 4), mode=mode, align_corners=True))
        yield Sample(f"aligned_{mode}", aligned, (randn(1, 2, 4, 5),), BATCH)
    smooth = Call(lambda x: F.interpolate(x, size=(3, 4), mode="bilinear", antialias=True))
    yield Sample("antialias", smooth, (randn(1, 2, 7, 9),))
    yield Sample("upsample_linear", nn.Upsample(scale_factor=1.5, mode="linear"), (randn(1, 2, 8),))
    yield Sample("upsample_trilinear", nn.Upsample(scale_factor=2, mode="trilinear"), (randn(1, 2, 3, 4, 3),))
    like = Call(lambda x, y: F.interpolate(x, size=y.shape[2:], mode="bilinear"))
    yield Sample("resize_like", like, (randn(1, 2, 4, 5), randn(1, 2, 7, 8)))
    grid = torch.rand(1, 4, 5, 2) * 2.2 - 1.1
    for mode, padding in (("bilinear", "zeros"), ("nearest", "border"), ("bicubic", "reflection")):
        call = Call(lambda x, g, m=mode, p=padding: F.grid_sample(x, g, mode=m, padding_mode=p, align_corners=False))
        yield Sample(f"grid_sample_{mode}", call, (randn(1, 2, 6, 6), grid))
    affine = Call(lambda t: F.affine_grid(t, [1, 2, 4, 5], align_corners=False))
    yield Sample("affine_grid", affine, (randn(1, 2, 3),))
    for mode in ("constant", "reflect", "replicate", "circular"):
        pad = Call(lambda x, mode=mode: F.pad(x, (1, 2, 0, 3), mode=mode))
        yield Sample(f"pad_{mode}", pad, (randn(1, 2, 5, 6),), BATCH)
    yield Sample("pad_negative", Call(lambda x: F.pad(x, (-1, 2, 1, -2), value=0.5)), (randn(1, 2, 5, 6),))


GROUPS = (convolutions, pools, norms, activations, attentions, recurrences, resizings)
