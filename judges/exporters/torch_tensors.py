"""Functions of torch on tensors: indexing, reductions, sorting, control flow, spectra, quantization in floats."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn, randn

from judges.exporters.torch_samples import Call, Sample

BATCH = {"x0": {0: "batch"}}
ROWS = torch.tensor([2, 0, 1])


def indexings() -> Iterator[Sample]:
    """Yield slices, gathers, scatters and masks."""
    yield Sample("slices", Call(lambda x: (x[:, 1:-1], x[..., ::2], x[:, -1], x[:, None, 2])), (randn(3, 5, 6),), BATCH)
    yield Sample("index", Call(lambda x, i: x[i]), (randn(4, 5), ROWS), {"x1": {0: "count"}})
    yield Sample("index_pairs", Call(lambda x, i, j: x[i, j]), (randn(4, 5, 2), ROWS, ROWS))
    yield Sample("index_apart", Call(lambda x, i: x[:, i, :, i]), (randn(2, 4, 3, 5), ROWS))
    yield Sample("index_mask", Call(lambda x: x[x > 0]), (randn(4, 5),))
    yield Sample("index_select", Call(lambda x, i: x.index_select(1, i)), (randn(4, 5), ROWS))
    yield Sample("gather", Call(lambda x, i: x.gather(1, i)), (randn(3, 5), torch.tensor([[0, 4], [1, 1], [2, 3]])))
    places = torch.tensor([[0, 4], [1, 2], [2, 3]])
    yield Sample("scatter", Call(lambda x, i, v: x.scatter(1, i, v)), (randn(3, 5), places, randn(3, 2)))
    yield Sample("scatter_add", Call(lambda x, i, v: x.scatter_add(1, i, v)), (randn(3, 5), places, randn(3, 2)))
    most = Call(lambda x, i, v: x.scatter_reduce(1, i, v, "amax"))
    yield Sample("scatter_most", most, (randn(3, 5), places, randn(3, 2)))
    put = Call(lambda x, i, v: x.index_put((i,), v))
    yield Sample("index_put", put, (randn(4, 5), ROWS, randn(3, 5)))
    added = Call(lambda x, i, v: x.index_put((i, i), v, accumulate=True))
    yield Sample("index_put_added", added, (randn(4, 5), ROWS, randn(3)))
    yield Sample("index_add", Call(lambda x, i, v: x.index_add(0, i, v)), (randn(4, 5), ROWS, randn(3, 5)))
    yield Sample("index_fill", Call(lambda x, i: x.index_fill(0, i, 2.5)), (randn(4, 5), ROWS))
    yield Sample("assigned", Call(_assign), (randn(3, 5, 5),))
    yield Sample("where", Call(lambda x, y: torch.where(x > y, x, y * 2)), (randn(3, 5), randn(3, 5)), {})
    yield Sample("masked_fill", Call(lambda x, m: x.masked_fill(m, float("-inf"))), (randn(3, 4), randn(3, 4) > 0.5))
    yield Sample("masked_scatter", Call(lambda x, v: x.masked_scatter(x > 0, v)), (randn(3, 4), randn(12)))
    yield Sample("nonzero", Call(lambda x: (x > 0.2).nonzero()), (randn(3, 4),))
    yield Sample("take_along", Call(lambda x: x.take_along_dim(x.argsort(1), 1)), (randn(3, 6),))
    yield Sample("one_hot", Call(lambda i: nn.functional.one_hot(i, 5)), (torch.tensor([[0, 4], [1, 2]]),))
    yield Sample("embedding", nn.Embedding(10, 6, padding_idx=0), (torch.tensor([[0, 4, 9]]),), BATCH)
    for mode in ("sum", "mean", "max"):
        bags = (torch.tensor([1, 2, 4, 5, 4, 3]), torch.tensor([0, 2, 3]))
        yield Sample(f"embedding_bag_{mode}", nn.EmbeddingBag(10, 6, mode=mode), bags)
    yield Sample("unfold_window", Call(lambda x: x.unfold(1, 3, 2)), (randn(2, 9),))
    yield Sample("diagonal", Call(lambda x: (x.diagonal(0, 1, 2), x.tril(1), x.triu(-1))), (randn(2, 4, 4),), BATCH)
    yield Sample("diag_embed", Call(torch.diag_embed), (randn(2, 4),))


def _assign(x: Tensor) -> Tensor:
    y = x.clone()
    y[:, 1:3, ::2] = 0.5
    y[0] = y[1] + y[2]
    return y


def reductions() -> Iterator[Sample]:
    """Yield reductions, sorting, running sums and products of matrices."""
    x = randn(3, 4, 5)
    yield Sample("sums", Call(lambda x: (x.sum((0, 2)), x.mean(-1, keepdim=True), x.prod(1), x.sum())), (x,), BATCH)
    yield Sample("spreads", Call(lambda x: (x.var(1), x.std((0, 1), unbiased=False), torch.var_mean(x, -1))), (x,))
    yield Sample("norms", Call(lambda x: (x.norm(), x.norm(1, 2), x.norm(p=float("inf"), dim=1), x.norm(3, 0))), (x,))
    yield Sample("extremes", Call(lambda x: (x.amax((1, 2)), x.max(1), x.argmin(-1), x.min())), (x,))
    yield Sample("aggregates", Call(lambda x: (x.logsumexp(1), (x > 0).any(1), (x > 0).all(), x.aminmax(dim=1))), (x,))
    yield Sample(
        "integers", Call(lambda i: (i.sum(), i.float().mean(), i // 3, i % 3, i.max(0))), (torch.arange(12) - 5,)
    )
    yield Sample("topk", Call(lambda x: x.topk(3, dim=1)), (randn(3, 7),), BATCH)
    yield Sample("topk_least", Call(lambda x: x.topk(2, dim=0, largest=False)), (randn(5, 7),))
    yield Sample("sort", Call(lambda x: (x.sort(descending=True), x.argsort(0))), (randn(3, 7),))
    yield Sample("median", Call(lambda x: x.median(1)), (randn(3, 7),))
    yield Sample("cumulative", Call(lambda x: (x.cumsum(1), x.cumsum(0))), (randn(3, 7),), BATCH)
    yield Sample("cumprod", Call(lambda x: (x.cumprod(1), x.logcumsumexp(1))), (randn(3, 7),))
    yield Sample("unique", Call(lambda i: torch.unique(i, return_counts=True)), (torch.tensor([3, 1, 3, 2, 1]),))
    yield Sample("bucketize", Call(lambda x, b: torch.bucketize(x, b)), (randn(3, 7), torch.tensor([-1.0, 0.0, 1.0])))
    yield Sample("einsum", Call(lambda x, y: torch.einsum("bij,bkj->bik", x, y)), (randn(2, 3, 4), randn(2, 5, 4)))
    three = Call(lambda x, y, z: torch.einsum("bhi,hij,bj->bh", x, y, z))
    yield Sample("einsum_three", three, (randn(2, 3, 4), randn(3, 4, 5), randn(2, 5)))
    products = Call(lambda x, y, z: (x @ y, torch.baddbmm(z, x, y, beta=0.5, alpha=2), torch.bmm(x, y)))
    yield Sample("matmul", products, (randn(2, 3, 4), randn(2, 4, 5), randn(2, 3, 5)))
    yield Sample("addmm", Call(lambda x, y, z: (torch.addmm(x, y, z), torch.outer(y[0], z[0]), y.mv(z[:, 0]))),
                 (randn(3, 5), randn(3, 4), randn(4, 5)))  # fmt: skip
    yield Sample("distances", Call(lambda x, y: torch.cdist(x, y)), (randn(3, 4), randn(5, 4)))
    yield Sample("tensordot", Call(lambda x, y: torch.tensordot(x, y, dims=2)), (randn(2, 3, 4), randn(3, 4, 5)))
    yield Sample("determinant", Call(torch.det), (randn(2, 3, 3),))
    yield Sample("rotated", Call(lambda x: (x.roll(1, 1), x.flip(0, 1))), (randn(3, 4),))


def elements() -> Iterator[Sample]:
    """Yield functions of each element, and of shapes."""
    x = randn(3, 4)
    yield Sample(
        "unary", Call(lambda x: (x.exp(), x.abs().sqrt(), x.abs().log1p(), x.erf(), x.rsqrt(), x.sign())), (x,), BATCH
    )
    yield Sample("trigonometry", Call(lambda x: (x.sin(), x.tan(), x.tanh().asin(), x.atan(), x.cos())), (x,))
    yield Sample("hyperbolic", Call(lambda x: (x.sinh(), x.cosh(), x.asinh(), x.tanh().atanh())), (x,))
    yield Sample("rounding", Call(lambda x: (x.round(), x.floor(), x.ceil())), (x,))
    yield Sample("parts_of_numbers", Call(lambda x: (x.trunc(), x.frac(), x.round(decimals=1))), (x,))
    pairs = Call(lambda x, y: (x.pow(y.abs()), torch.atan2(x, y), x.fmod(y), x.remainder(y), torch.maximum(x, y)))
    yield Sample("binary", pairs, (x, randn(3, 4)))
    yield Sample(
        "clamps", Call(lambda x: (x.clamp(-0.5, 0.5), x.clamp(min=0), x.clamp_max(0.1), x.clip(x.mean()))), (x,)
    )
    yield Sample("lerp", Call(lambda x, y: (torch.lerp(x, y, 0.3), torch.addcmul(x, x, y, value=2))), (x, randn(3, 4)))
    yield Sample("comparisons", Call(lambda x, y: (x == y, x.ne(y), x.isnan(), x.isinf(), x <= y)), (x, randn(3, 4)))
    bits = Call(lambda i, j: (i & j, i | j, i ^ j, ~i, i << 1, i >> 1))
    yield Sample("bits", bits, (torch.arange(6), torch.arange(6) + 3))
    yield Sample(
        "booleans", Call(lambda x, y: ((x > 0) & (y > 0), (x > 0) | (y > 0), (x > 0) ^ (y > 0))), (x, randn(3, 4))
    )
    yield Sample(
        "casts", Call(lambda x: (x.half().float(), x.int(), x.double(), x.bool(), x.to(torch.uint8))), (x.abs(),)
    )
    yield Sample("half", nn.Sequential(nn.Linear(4, 5), nn.ReLU()).half(), (x.half(),), BATCH)
    yield Sample("double", nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.LayerNorm(5)).double(), (x.double(),))
    yield Sample("bfloat16", Call(lambda x: (x.bfloat16() * 2 + 1).float()), (x,))
    shapes = Call(
        lambda x: (x.reshape(x.shape[0], -1), x.transpose(0, 2).flatten(1), x.permute(2, 0, 1), x.unsqueeze(1))
    )
    yield Sample("shapes", shapes, (randn(2, 3, 4),), BATCH)
    parts = Call(lambda x: (*x.chunk(3, 1), *x.split([1, 5], 1), *x.unbind(0), torch.stack([x, x], 1)))
    yield Sample("parts", parts, (randn(2, 6),))
    joined = Call(lambda x, y: (torch.cat([x, y], 1), torch.hstack([x, y]), x.repeat(2, 3), x.repeat_interleave(2, 0)))
    yield Sample("joined", joined, (randn(2, 3), randn(2, 4)))
    wide = Call(lambda x: (x.expand(2, 3, 4), x.tile(2, 1, 1), x.expand_as(torch.zeros(5, 3, 4)), x.squeeze(0)))
    yield Sample("expanded", wide, (randn(1, 3, 4),))
    made = Call(
        lambda x: (torch.arange(x.shape[0]), torch.zeros_like(x), torch.full((2, x.shape[0]), 0.5), torch.eye(3))
    )
    yield Sample("made", made, (x,), BATCH)
    mesh = Call(lambda x, y: (*torch.meshgrid(x, y, indexing="ij"), torch.linspace(0, 1, 5) * x[0]))
    yield Sample("meshgrid", mesh, (randn(3), randn(4)))
    yield Sample("special", Call(lambda x: (x.expm1(), x.erfc(), torch.special.xlogy(x, x.abs()))), (x,))
    yield Sample("logit", Call(lambda x: x.sigmoid().logit()), (x,))


def spectra() -> Iterator[Sample]:
    """Yield Fourier transforms and complex numbers."""
    wave = randn(2, 64)
    window = torch.hann_window(16)
    yield Sample("stft", Call(lambda x: torch.stft(x, 16, 8, window=window, return_complex=True).abs()), (wave,))
    yield Sample(
        "stft_real",
        Call(lambda x: torch.view_as_real(torch.stft(x, 16, 4, window=window, center=False, return_complex=True))),
        (wave,),
    )
    yield Sample("fft", Call(lambda x: torch.view_as_real(torch.fft.fft(x.to(torch.complex64)))), (randn(2, 8),))
    yield Sample("rfft", Call(lambda x: torch.fft.rfft(x).abs()), (randn(2, 8),))
    yield Sample("irfft", Call(lambda x: torch.fft.irfft(torch.view_as_complex(x), n=8)), (randn(2, 5, 2),))
    yield Sample("rotary", Call(lambda x, y: torch.view_as_real(torch.view_as_complex(x) * torch.view_as_complex(y))),
                 (randn(3, 4, 2), randn(3, 4, 2)))  # fmt: skip


def quantized() -> Iterator[Sample]:
    """Yield what training with quantization leaves."""
    tensor = Call(lambda x: torch.fake_quantize_per_tensor_affine(x, 0.05, 3, -128, 127))
    yield Sample("fake_quantize", tensor, (randn(3, 4),), BATCH)
    scales, zeros = torch.tensor([0.1, 0.05, 0.2]), torch.tensor([0, 2, -3], dtype=torch.int32)
    channel = Call(lambda x: torch.fake_quantize_per_channel_affine(x, scales, zeros, 0, -128, 127))
    yield Sample("fake_quantize_channels", channel, (randn(3, 4),))
    unsigned = Call(
        lambda layer, x: layer(torch.fake_quantize_per_tensor_affine(x, 0.02, 128, 0, 255)), nn.Linear(4, 5)
    )
    yield Sample("fake_quantize_linear", unsigned, (randn(3, 4),))


class Loop(nn.Module):
    """A loop whose count is an input."""

    def forward(self, x: Tensor, count: Tensor) -> Tensor:
        for turn in range(int(count)):
            x = x * 0.5 + float(turn)
        return x


class Until(nn.Module):
    """A loop that ends when a condition holds, with a branch in it."""

    def forward(self, x: Tensor) -> Tensor:
        while bool(x.sum() > 1.0):
            if bool(x.max() > 2.0):
                x = x / 4.0
            else:
                x = x - 0.5
        return x


class Branch(nn.Module):
    """A branch on a shape and one on a value."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.other = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > 2:
            x = self.first(x)
        if bool(x.mean() > 0):
            return self.other(x)
        return x.relu()


class Rows(nn.Module):
    """A loop over rows that gathers a list."""

    def forward(self, x: Tensor) -> Tensor:
        rows: list[Tensor] = []
        for turn in range(x.size(0)):
            rows.append(x[turn].cumsum(0))
        return torch.stack(rows)


def scripts() -> Iterator[Sample]:
    """Yield control flow, which the older exporter takes from scripts."""
    open_rows = {"x0": {0: "rows"}}
    yield Sample("script_loop", torch.jit.script(Loop()), (randn(3, 4), torch.tensor(3)))
    yield Sample("script_until", torch.jit.script(Until()), (randn(3, 4).abs() * 3,))
    yield Sample("script_branch", torch.jit.script(Branch()), (randn(3, 4),), open_rows)
    yield Sample("script_rows", torch.jit.script(Rows()), (randn(3, 4),), open_rows)


def control_flow() -> Iterator[Sample]:
    """Yield control flow in the form that torch.export takes."""
    chosen = Call(lambda x: torch.cond(x.sum() > 0, lambda y: y.sin(), lambda y: y * 2, (x,)))
    yield Sample("cond", chosen, (randn(3, 4),), {"x0": {0: "rows"}})


GROUPS = (indexings, reductions, elements, spectra, quantized, scripts, control_flow)
