"""Makes the models of this folder again: `python examples/make.py [NAME ...]`; README.md tells what that needs.

Each model is written as its exporter writes it, at the opset of its time. Beside it, in an .npz of the same name, lie
one set of inputs (`input/<name>`) and the outputs that the framework itself computes from them (`output/<name>`).
"""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor, nn

FOLDER = Path(__file__).resolve().parent


class Segmenter(nn.Module):
    """An encoder and decoder of images, of the kind that ran on phones around 2019."""

    def __init__(self) -> None:
        super().__init__()
        self.pad = nn.ReflectionPad2d(1)
        self.first = nn.Conv2d(3, 8, 3)
        self.down = nn.Conv2d(8, 16, 3, stride=2, padding=1, groups=8)
        self.norm = nn.BatchNorm2d(16)
        self.pool = nn.MaxPool2d(2, ceil_mode=True)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.drop = nn.Dropout(0.3)
        self.out = nn.Conv2d(16, 4, 1)
        nn.init.uniform_(self.norm.running_mean, -0.5, 0.5)
        nn.init.uniform_(self.norm.running_var, 0.5, 1.5)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        x = nn.functional.relu6(self.first(self.pad(image)))
        x = self.norm(self.down(x)[:, :, 1:, 1:])
        x = nn.functional.pad(self.pool(nn.functional.leaky_relu(x)), (0, 1, 0, 1))
        x = self.out(self.drop(self.up(x)))
        return nn.functional.softmax(x, dim=1), nn.functional.log_softmax(x.mean(dim=(2, 3)), dim=1)


def segmenter_opset9() -> None:
    """Make a convolutional network at opset 9: Upsample, Slice, Pad, Clip and Dropout still have attributes."""
    torch.manual_seed(1)
    model = Segmenter().eval()
    image = torch.randn(1, 3, 17, 17)
    outputs = model(image)
    # Left in training mode by the one who exports, which is why so many old models hold Dropout nodes.
    model.drop.train()
    write_torch("segmenter_opset9", model, {"image": image}, ["mask", "scores"], outputs, opset=9)


class Tagger(nn.Module):
    """A sequence tagger: embedding, recurrent layer, attention by hand, the best of it."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(50, 12)
        self.recur = nn.LSTM(12, 16, batch_first=True, bidirectional=True)
        self.gate = nn.GRU(32, 8, batch_first=True)
        self.query = nn.Linear(32, 3 * 12)
        self.gain = nn.Parameter(torch.rand(12) + 0.5)

    def forward(self, tokens: Tensor, weight: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        states, _ = self.recur(self.embed(tokens))
        q, k, v = self.query(states).split(12, dim=-1)
        scores = torch.matmul(q, k.transpose(1, 2)) / 12**0.5
        scores = scores.masked_fill(weight.unsqueeze(1) < 0.1, -1e4)
        mixed = torch.matmul(scores.softmax(dim=-1), v)
        centred = mixed - mixed.mean(dim=-1, keepdim=True)
        normal = centred / (centred.pow(2).mean(dim=-1, keepdim=True) + 1e-5).sqrt() * self.gain
        values, places = (normal.sum(dim=-1) * weight).topk(3, dim=1)
        return values, places, self.gate(states)[1].squeeze(0).cumsum(dim=1)


def tagger_opset11() -> None:
    """Make a recurrent network with attention at opset 11: Unsqueeze, Split and ReduceMean have axes as attributes."""
    torch.manual_seed(2)
    model = Tagger().eval()
    inputs = {"tokens": torch.randint(0, 50, (2, 7)), "weight": torch.rand(2, 7)}
    outputs = model(*inputs.values())
    axes = {"tokens": {0: "batch"}, "weight": {0: "batch"}}
    names = ["values", "places", "state"]
    write_torch("tagger_opset11", model, inputs, names, outputs, opset=11, dynamic_axes=axes)


class Search(nn.Module):
    """A step by step search, with a loop that ends by its own condition and branches in it."""

    def __init__(self) -> None:
        super().__init__()
        self.step = nn.Linear(6, 6)

    def forward(self, start: Tensor, limit: Tensor) -> tuple[Tensor, Tensor]:
        state = start
        count = 0
        highest = start
        while count < 12 and bool(state.abs().sum() < limit):
            if bool(state.mean() > 0):
                left, right = torch.split(state, 3, dim=1)
                state = state + torch.tanh(self.step(torch.cat([right, left], dim=1)))
            else:
                state = torch.clamp(state * 1.5, -2.0, 2.0) + torch.softmax(state, dim=-1)
            highest = torch.max(highest, state.unsqueeze(0).max(dim=0)[0])
            count += 1
        return highest, state.sum(dim=1, keepdim=True).squeeze(1) * count


def search_opset12() -> None:
    """Make a model with Loop and If at opset 12, from a scripted module."""
    torch.manual_seed(3)
    model = torch.jit.script(Search().eval())
    inputs = {"start": torch.randn(2, 6) * 0.2, "limit": torch.tensor(18.0)}
    write_torch("search_opset12", model, inputs, ["highest", "total"], model(*inputs.values()), opset=12)


class Block(nn.Module):
    """One block of a decoder, as such models are written now."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(40, 24)
        self.before = nn.LayerNorm(24)
        self.project = nn.Linear(24, 72)
        self.after = nn.RMSNorm(24, eps=1e-6)
        self.wide = nn.Linear(24, 48)
        self.narrow = nn.Linear(48, 24)

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        x = self.embed(tokens)
        batch, length, _ = x.shape
        q, k, v = (
            part.reshape(batch, length, 3, 8).transpose(1, 2) for part in self.project(self.before(x)).chunk(3, dim=-1)
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + mixed.transpose(1, 2).reshape(batch, length, 24)
        x = x + self.narrow(nn.functional.gelu(self.wide(self.after(x)), approximate="tanh"))
        logits = x @ self.embed.weight.T
        return logits, logits.amax(dim=-1)


def decoder_opset23() -> None:
    """Make a transformer block at opset 23, by the exporter of today; models such as this one have to go down."""
    torch.manual_seed(4)
    model = Block().eval()
    tokens = torch.randint(0, 40, (2, 5))
    names = ["logits", "best"]
    write_torch("decoder_opset23", model, {"tokens": tokens}, names, model(tokens), opset=23, dynamo=True)


def forest_opset9() -> None:
    """Make a random forest behind a scaler at opset 9 and ai.onnx.ml 1."""
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.decomposition import PCA
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    random = np.random.default_rng(5)
    data = random.normal(size=(200, 6)).astype(np.float32)
    classes = (data[:, 0] * data[:, 1] > 0.2).astype(np.int64) + (data[:, 2] > 0.7)
    forest = RandomForestClassifier(n_estimators=8, max_depth=5, random_state=5)
    pipeline = make_pipeline(StandardScaler(), PCA(n_components=5, random_state=5), forest)
    pipeline.fit(data, classes)
    rows = random.normal(size=(16, 6)).astype(np.float32)
    outputs = {"label": pipeline.predict(rows), "probabilities": pipeline.predict_proba(rows).astype(np.float32)}
    types = [("rows", FloatTensorType([None, 6]))]
    write_sklearn("forest_opset9", pipeline, types, {"rows": rows}, outputs, {"": 9, "ai.onnx.ml": 1})


def table_opset11() -> None:
    """Make a pipeline over a table with text and gaps at opset 11 and ai.onnx.ml 1."""
    import pandas
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    random = np.random.default_rng(6)

    def rows(count: int) -> pandas.DataFrame:
        frame = pandas.DataFrame({name: random.normal(size=count).astype(np.float32) for name in ("age", "income")})
        frame.loc[frame.index % 5 == 3, "age"] = np.nan
        return frame.assign(colour=random.choice(["red", "green", "blue"], size=count))

    table = rows(150)
    classes = np.where((table["income"] > 0) ^ (table["colour"] == "red"), "yes", "no")
    numbers = make_pipeline(SimpleImputer(strategy="mean"), MinMaxScaler())
    columns = ColumnTransformer([("n", numbers, ["age", "income"]), ("c", OneHotEncoder(), ["colour"])])
    pipeline = make_pipeline(columns, LogisticRegression(random_state=6))
    pipeline.fit(table, classes)
    asked = rows(12)
    inputs = {name: asked[[name]].to_numpy() for name in asked}
    inputs["colour"] = inputs["colour"].astype(str)
    outputs = {
        "label": pipeline.predict(asked).astype(str),
        "probabilities": pipeline.predict_proba(asked).astype(np.float32),
    }
    types = [(n, (StringTensorType if n == "colour" else FloatTensorType)([None, 1])) for n in inputs]
    write_sklearn("table_opset11", pipeline, types, inputs, outputs, {"": 11, "ai.onnx.ml": 1})


def write_torch(
    name: str,
    model: nn.Module,
    inputs: Mapping[str, Tensor],
    output_names: Sequence[str],
    outputs: Sequence[Tensor],
    opset: int,
    dynamo: bool = False,
    dynamic_axes: Mapping[str, Mapping[int, str]] | None = None,
) -> None:
    """Export a torch model, by the TorchScript exporter unless `dynamo`, and write it with its data."""
    names: dict[str, Any] = {"input_names": list(inputs), "output_names": list(output_names), "opset_version": opset}
    if dynamo:
        program = torch.onnx.export(model, tuple(inputs.values()), dynamo=True, verbose=False, **names)
        exported = program.model_proto
    else:
        file = io.BytesIO()
        mode = torch.onnx.TrainingMode.PRESERVE
        names["dynamic_axes"] = dynamic_axes
        torch.onnx.export(model, tuple(inputs.values()), file, dynamo=False, training=mode, **names)
        exported = onnx.load_from_string(file.getvalue())
    results = dict(zip(output_names, outputs, strict=True))
    write(name, exported, as_numpy(inputs), as_numpy(results))


def as_numpy(values: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    """Give tensors as arrays."""
    return {name: value.detach().numpy() for name, value in values.items()}


def write_sklearn(
    name: str,
    model: Any,
    types: Sequence[tuple[str, Any]],
    inputs: Mapping[str, np.ndarray],
    outputs: Mapping[str, np.ndarray],
    target: Mapping[str, int],
) -> None:
    """Export a scikit-learn model with probabilities as one tensor, and write it with its data."""
    from skl2onnx import convert_sklearn

    options = {id(model): {"zipmap": False}}
    exported = convert_sklearn(model, name, types, target_opset=dict(target), options=options)
    assert [value.name for value in exported.graph.output] == list(outputs)
    write(name, exported, inputs, outputs)


def write(
    name: str, model: onnx.ModelProto, inputs: Mapping[str, np.ndarray], outputs: Mapping[str, np.ndarray]
) -> None:
    """Write model and data; raises where onnxruntime does not agree with the framework."""
    import onnxruntime

    # The exporter of today notes for each node the source lines of the one who exported.
    for node in model.graph.node:
        kept = [entry for entry in node.metadata_props if "stack_trace" not in entry.key]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for (key, expected), got in zip(outputs.items(), session.run(None, dict(inputs)), strict=True):
        if expected.dtype.kind in "US":
            np.testing.assert_array_equal(got, expected, key)
        else:
            np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-5, err_msg=key)
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))
    data = {f"input/{key}": value for key, value in inputs.items()}
    np.savez_compressed(FOLDER / f"{name}.npz", **data, **{f"output/{key}": value for key, value in outputs.items()})


EXAMPLES: dict[str, Callable[[], None]] = {
    make.__name__: make
    for make in (segmenter_opset9, tagger_opset11, search_opset12, decoder_opset23, forest_opset9, table_opset11)
}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for example in sys.argv[1:] or EXAMPLES:
        EXAMPLES[example]()
