"""Small networks of torch, after the architectures that people export."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn, randn

from judges.exporters.torch_samples import Sample

IMAGE = {"x0": {0: "batch"}}
TOKENS = {"x0": {0: "batch", 1: "length"}}


def block(inputs: int, outputs: int, size: int = 3, stride: int = 1, groups: int = 1) -> nn.Sequential:
    """Return a convolution, a norm whose statistics are not trivial, and an activation."""
    norm = nn.BatchNorm2d(outputs)
    assert norm.running_mean is not None and norm.running_var is not None
    norm.running_mean.normal_(0, 0.1)
    norm.running_var.uniform_(0.5, 1.5)
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False), norm, nn.ReLU6()
    )


class Residual(nn.Module):
    """A block of ResNet."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.main = nn.Sequential(block(inputs, outputs, 3, stride), nn.Conv2d(outputs, outputs, 3, 1, 1))
        self.short = nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.main(x) + self.short(x))


class ResNet(nn.Module):
    """Residual blocks, pooling, a head."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(block(3, 8, 7, 2), nn.MaxPool2d(3, 2, 1))
        self.blocks = nn.Sequential(Residual(8, 8, 1), Residual(8, 16, 2))
        self.head = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1)
        return self.head(torch.flatten(x, 1))


class Squeeze(nn.Module):
    """A block of squeeze and excitation."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.down = nn.Conv2d(channels, 4, 1)
        self.up = nn.Conv2d(4, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        scale = self.up(F.silu(self.down(x.mean((2, 3), keepdim=True))))
        return x * F.hardsigmoid(scale)


class Inverted(nn.Module):
    """An inverted bottleneck of MobileNet."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            block(channels, 12, 1), block(12, 12, 3, 1, 12), Squeeze(12), nn.Conv2d(12, channels, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)


class DenseNet(nn.Module):
    """Layers that see all before them."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(block(3 + 4 * number, 4) for number in range(3))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.cat([x, layer(x)], 1)
        return F.avg_pool2d(x, 2)


class UNet(nn.Module):
    """Down, up, and joined again."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = block(3, 6), block(6, 8), block(14, 6)
        self.up = nn.ConvTranspose2d(8, 8, 2, 2)

    def forward(self, x: Tensor) -> Tensor:
        wide = self.first(x)
        narrow = self.up(self.second(F.max_pool2d(wide, 2)))
        rest = wide.shape[-1] - narrow.shape[-1]
        return torch.sigmoid(self.third(torch.cat([wide, F.pad(narrow, (0, rest, 0, rest))], 1)))


class Inception(nn.Module):
    """Branches of several sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.three = block(4, 4, 1), nn.Sequential(block(4, 3, 1), block(3, 5, 3))
        self.five, self.pooled = block(4, 2, 5), block(4, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        pooled = F.avg_pool2d(x, 3, 1, 1)
        return torch.cat([self.one(x), self.three(x), self.five(x), self.pooled(pooled)], 1)


class Vision(nn.Module):
    """Patches, a token for the class, encoder layers, as ViT has them."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 12, 4, 4)
        self.token, self.places = nn.Parameter(randn(1, 1, 12)), nn.Parameter(randn(1, 17, 12))
        layer = nn.TransformerEncoderLayer(12, 3, 16, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(12, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.encoder(x)[:, 0])


class Windows(nn.Module):
    """Attention in shifted windows, as Swin has it."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.qkv, self.out = nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.bias = nn.Parameter(randn(2, 16, 16))

    def forward(self, x: Tensor) -> Tensor:
        size, height, width, channels = x.shape
        y = torch.roll(self.norm(x), (-2, -2), (1, 2))
        y = y.view(size, height // 4, 4, width // 4, 4, channels).permute(0, 1, 3, 2, 4, 5).reshape(-1, 16, channels)
        q, k, v = self.qkv(y).reshape(-1, 16, 3, 2, channels // 2).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q * 0.5) @ k.transpose(-2, -1) + self.bias
        y = self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(-1, 16, channels))
        y = y.view(size, height // 4, width // 4, 4, 4, channels).permute(0, 1, 3, 2, 4, 5)
        return x + torch.roll(y.reshape(size, height, width, channels), (2, 2), (1, 2))


class Bert(nn.Module):
    """Embeddings, attention written out with an additive mask, GELU, a pooler."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(50, 12), nn.Embedding(16, 12), nn.Embedding(2, 12)
        self.q, self.k, self.v, self.out = (nn.Linear(12, 12) for _ in range(4))
        self.first, self.last = nn.LayerNorm(12), nn.LayerNorm(12)
        self.up, self.down, self.pooler = nn.Linear(12, 24), nn.Linear(24, 12), nn.Linear(12, 12)

    def forward(self, ids: Tensor, mask: Tensor, kinds: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(ids.shape[1], device=ids.device).unsqueeze(0)
        x = self.first(self.words(ids) + self.places(places) + self.kinds(kinds))
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        heads = [layer(x).view(x.shape[0], -1, 3, 4).transpose(1, 2) for layer in (self.q, self.k, self.v)]
        scores = heads[0] @ heads[1].transpose(-1, -2) / math.sqrt(4) + bias
        context = (scores.softmax(-1) @ heads[2]).transpose(1, 2).reshape(x.shape[0], -1, 12)
        x = self.last(x + self.out(context))
        x = x + self.down(F.gelu(self.up(x)))
        return x, torch.tanh(self.pooler(x[:, 0]))


class Gpt(nn.Module):
    """A decoder with a causal mask, and keys and values of the past."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(50, 12), nn.Embedding(32, 12)
        self.norm, self.qkv, self.out = nn.LayerNorm(12), nn.Linear(12, 36), nn.Linear(12, 12)

    def forward(self, ids: Tensor, past_keys: Tensor, past_values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        before, now = past_keys.shape[2], ids.shape[1]
        x = self.words(ids) + self.places(torch.arange(before, before + now, device=ids.device))
        q, k, v = (y.view(y.shape[0], -1, 3, 4).transpose(1, 2) for y in self.qkv(self.norm(x)).chunk(3, -1))
        k, v = torch.cat([past_keys, k], 2), torch.cat([past_values, v], 2)
        mask = torch.ones(before + now, before + now, dtype=torch.bool).tril()[before:]
        scores = (q @ k.transpose(-1, -2) * 0.5).masked_fill(~mask, torch.finfo(x.dtype).min)
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        return x @ self.words.weight.T, k, v


class T5(nn.Module):
    """Norms without mean, attention with buckets of relative positions."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.bias = nn.Embedding(50, 12), nn.Embedding(8, 3)
        self.scale = nn.Parameter(torch.rand(12) + 0.5)
        self.q, self.k, self.v, self.out = (nn.Linear(12, 12, bias=False) for _ in range(4))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        y = self.scale * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        places = torch.arange(ids.shape[1], device=ids.device)
        apart = (places[None, :] - places[:, None]).abs()
        far = 2 + (torch.log(apart.float().clamp(min=1) / 2) * 2).long()
        buckets = torch.where(apart < 2, apart, far.clamp(max=7))
        q, k, v = (layer(y).view(y.shape[0], -1, 3, 4).transpose(1, 2) for layer in (self.q, self.k, self.v))
        scores = torch.einsum("bhqd,bhkd->bhqk", q, k) + self.bias(buckets.clamp(min=0)).permute(2, 0, 1)[None]
        return x + self.out((scores.float().softmax(-1).type_as(scores) @ v).transpose(1, 2).flatten(2))


class Llama(nn.Module):
    """Rotary positions, grouped keys, a gated feed-forward layer."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.norm = nn.Embedding(50, 16), nn.RMSNorm(16)
        self.q, self.kv, self.out = nn.Linear(16, 16, False), nn.Linear(16, 16, False), nn.Linear(16, 16, False)
        self.gate, self.up, self.down = nn.Linear(16, 24, False), nn.Linear(16, 24, False), nn.Linear(24, 16, False)

    def forward(self, ids: Tensor, places: Tensor) -> Tensor:
        x = self.words(ids)
        y = self.norm(x)
        angles = places[..., None].float() / torch.tensor([1.0, 100.0])
        cosine, sine = (torch.cat([each, each], -1)[:, None] for each in (angles.cos(), angles.sin()))
        q = self.q(y).unflatten(-1, (4, 4)).transpose(1, 2)
        k, v = self.kv(y).unflatten(-1, (4, 4)).transpose(1, 2).chunk(2, 1)
        q, k = (each * cosine + torch.cat([-each[..., 2:], each[..., :2]], -1) * sine for each in (q, k))
        k, v = (each.repeat_interleave(2, 1) for each in (k, v))
        x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.silu(self.gate(x)) * self.up(x))


class Detector(nn.Module):
    """Boxes decoded from anchors, the best of them, and which of these overlap."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.head = block(3, 8, 3, 2), nn.Conv2d(8, 2 * 6, 1)
        self.register_buffer("anchors", torch.rand(2, 2) * 4 + 2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.head(self.body(x))
        height, width = y.shape[-2:]
        y = y.view(y.shape[0], 2, 6, height, width).permute(0, 1, 3, 4, 2).sigmoid()
        rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        centers = (y[..., :2] * 2 - 0.5 + torch.stack([columns, rows], -1).float()) * 2
        sizes = (y[..., 2:4] * 2) ** 2 * self.anchors[None, :, None, None]
        boxes = torch.cat([centers - sizes / 2, centers + sizes / 2], -1).flatten(1, 3)
        scores, chosen = (y[..., 4:5] * y[..., 5:]).flatten(1).topk(8, 1)
        boxes = boxes.gather(1, chosen[..., None].expand(-1, -1, 4))
        low, high = (
            torch.maximum(boxes[:, :, None, :2], boxes[:, None, :, :2]),
            torch.minimum(boxes[:, :, None, 2:], boxes[:, None, :, 2:]),
        )
        both = (high - low).clamp(min=0).prod(-1)
        areas = (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])
        overlap = both / (areas[:, :, None] + areas[:, None] - both)
        kept = ~((overlap > 0.4).float().triu(1).sum(1) > 0)
        return boxes, scores, kept


class Speech(nn.Module):
    """A convolution over time and a recurrent layer, with classes of each step."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.lstm, self.head = nn.Conv1d(4, 6, 3, 2, 1), nn.LSTM(6, 5, bidirectional=True), nn.Linear(10, 7)

    def forward(self, x: Tensor) -> Tensor:
        y, _ = self.lstm(F.gelu(self.conv(x)).permute(2, 0, 1))
        return self.head(y).log_softmax(-1)


class Pyramid(nn.Module):
    """Features of several sizes, added from the narrow to the wide."""

    def __init__(self) -> None:
        super().__init__()
        self.downs = nn.ModuleList([block(3, 4, 3, 2), block(4, 6, 3, 2), block(6, 8, 3, 2)])
        self.sides = nn.ModuleList([nn.Conv2d(channels, 5, 1) for channels in (4, 6, 8)])

    def forward(self, x: Tensor) -> list[Tensor]:
        found = []
        for down in self.downs:
            x = down(x)
            found.append(x)
        y = self.sides[2](found[2])
        results = [y]
        for number in (1, 0):
            side = self.sides[number](found[number])
            y = side + F.interpolate(y, size=side.shape[-2:], mode="nearest")
            results.append(y)
        return results


class Generator(nn.Module):
    """Noise that becomes an image, as adversarial networks have it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(6, 8 * 16), nn.InstanceNorm2d(8, affine=True)
        self.second, self.last = (
            nn.ConvTranspose2d(8, 4, 4, 2, 1),
            nn.Conv2d(4, 3, 3, padding=1, padding_mode="reflect"),
        )

    def forward(self, x: Tensor) -> Tensor:
        y = F.leaky_relu(self.norm(self.first(x).view(-1, 8, 4, 4)), 0.2)
        return torch.tanh(self.last(F.interpolate(self.second(y), scale_factor=2, mode="bilinear")))


def vision() -> Iterator[Sample]:
    """Yield networks on images."""
    image = randn(2, 3, 16, 16)
    yield Sample("resnet", ResNet(), (randn(1, 3, 32, 32),), IMAGE)
    yield Sample("mobilenet", nn.Sequential(block(3, 6, 3, 2), Inverted(6), Inverted(6)), (image,), IMAGE)
    yield Sample("squeeze", Squeeze(6), (randn(2, 6, 5, 5),), IMAGE)
    yield Sample("densenet", DenseNet(), (image,), IMAGE)
    yield Sample("unet", UNet(), (randn(1, 3, 15, 15),))
    yield Sample("inception", Inception(), (randn(1, 4, 9, 9),), IMAGE)
    yield Sample("vision", Vision(), (image,), IMAGE)
    yield Sample("windows", Windows(), (randn(1, 8, 8, 8),))
    yield Sample("detector", Detector(), (image,), IMAGE)
    yield Sample("pyramid", Pyramid(), (randn(1, 3, 22, 22),))
    yield Sample("generator", Generator(), (randn(2, 6),), IMAGE)
    yield Sample("speech", Speech(), (randn(2, 4, 20),))


def language() -> Iterator[Sample]:
    """Yield networks on tokens."""
    ids = torch.arange(12).reshape(2, 6) * 3 + 1
    both = {name: {0: "batch", 1: "length"} for name in ("x0", "x1", "x2")}
    bert = (ids, (ids < 20).long(), ids % 2)
    yield Sample("bert", Bert(), bert, both)
    yield Sample("bert_fixed", Bert(), bert)
    yield Sample("gpt", Gpt(), (ids, randn(2, 3, 4, 4), randn(2, 3, 4, 4)))
    past = {0: "batch", 2: "past"}
    yield Sample("gpt_open", Gpt(), (ids, randn(2, 3, 4, 4), randn(2, 3, 4, 4)),
                 {"x0": {0: "batch", 1: "length"}, "x1": past, "x2": past})  # fmt: skip
    yield Sample("t5", T5(), (ids,), TOKENS)
    yield Sample(
        "llama", Llama(), (ids, torch.arange(6).expand(2, 6).clone()), {"x0": TOKENS["x0"], "x1": TOKENS["x0"]}
    )


GROUPS = (vision, language)
