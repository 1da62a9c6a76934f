"""Layers and small networks of Keras, by tf2onnx."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf
import tf2onnx
from tensorflow import keras

from judges.exporters.drafts import Draft, Exported, generator, some_versions

VERSIONS = (11, 13, 15, 18)
layers = keras.layers
Shape = tuple[int | None, ...]

CHAINS: dict[str, tuple[Shape, Callable[[], list[Any]]]] = {
    "dense": ((5,), lambda: [layers.Dense(7, "relu"), layers.Dense(3, "softmax")]),
    "conv": ((8, 9, 3), lambda: [layers.Conv2D(4, 3, 2, "same"), layers.BatchNormalization(), layers.ReLU(6.0)]),
    "conv_open": ((None, None, 3), lambda: [layers.Conv2D(4, 3, padding="valid", dilation_rate=2)]),
    "conv1d": ((12, 3), lambda: [layers.Conv1D(4, 3, padding="causal"), layers.GlobalMaxPooling1D()]),
    "conv3d": ((5, 6, 7, 2), lambda: [layers.Conv3D(3, 3)]),
    "depthwise": ((8, 8, 4), lambda: [layers.DepthwiseConv2D(3, padding="same"), layers.PReLU()]),
    "separable": ((8, 8, 4), lambda: [layers.SeparableConv2D(5, 3)]),
    "transposed": ((5, 6, 4), lambda: [layers.Conv2DTranspose(3, 3, 2, "same")]),
    "max_pool": ((9, 9, 3), lambda: [layers.MaxPooling2D(2, padding="same"), layers.Flatten()]),
    "average_pool": ((9, 9, 3), lambda: [layers.AveragePooling2D(3, 2, "same")]),
    "global_pool": ((6, 6, 3), lambda: [layers.GlobalAveragePooling2D(), layers.Dense(2, "sigmoid")]),
    "norms": ((5, 8), lambda: [layers.LayerNormalization(), layers.UnitNormalization()]),
    "group_norm": ((6, 6, 8), lambda: [layers.GroupNormalization(4)]),
    "activations": (
        (6,),
        lambda: [layers.Activation(name) for name in ("elu", "selu", "softplus", "softsign", "swish")],
    ),
    "more_activations": (
        (6,),
        lambda: [layers.Activation("gelu"), layers.LeakyReLU(), layers.Activation("hard_sigmoid")],
    ),
    "upsample": ((4, 5, 2), lambda: [layers.UpSampling2D(2), layers.UpSampling2D(2, interpolation="bilinear")]),
    "resize": ((4, 5, 2), lambda: [layers.Resizing(7, 6)]),
    "paddings": ((4, 5, 2), lambda: [layers.ZeroPadding2D(((1, 0), (2, 1))), layers.Cropping2D(1)]),
    "reshape": ((4, 6), lambda: [layers.Reshape((2, 12)), layers.Permute((2, 1)), layers.RepeatVector(1)][:2]),
    "embedding": ((6,), lambda: [layers.Embedding(10, 4), layers.GlobalAveragePooling1D()]),
    "lstm": ((6, 3), lambda: [layers.LSTM(4, return_sequences=True), layers.LSTM(3)]),
    "lstm_unrolled": ((4, 3), lambda: [layers.LSTM(4, unroll=True)]),
    "gru": ((6, 3), lambda: [layers.GRU(4)]),
    "bidirectional": ((6, 3), lambda: [layers.Bidirectional(layers.LSTM(4, return_sequences=True))]),
    "simple_rnn": ((6, 3), lambda: [layers.SimpleRNN(4)]),
    "time_distributed": ((5, 6, 6, 2), lambda: [layers.TimeDistributed(layers.Conv2D(3, 3))]),
    "rescaling": ((4, 4, 3), lambda: [layers.Rescaling(0.1, -1.0), layers.Normalization(mean=0.5, variance=2.0)]),
}


def attention(x: Any) -> Any:
    """Return a layer of a transformer."""
    y = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4)(x, x))
    return y + layers.Dense(8)(layers.Dense(12, "gelu")(y))


def residual(x: Any) -> Any:
    """Return residual blocks and a head."""
    y = layers.BatchNormalization()(layers.Conv2D(4, 3, padding="same")(x))
    y = layers.Add()([layers.ReLU()(y), layers.Conv2D(4, 1)(x)])
    return layers.Dense(5, "softmax")(layers.GlobalAveragePooling2D()(y))


def excitation(x: Any) -> Any:
    """Return a block of squeeze and excitation."""
    scale = layers.Dense(4, "sigmoid")(layers.Dense(2, "relu")(layers.GlobalAveragePooling2D(keepdims=True)(x)))
    return layers.Concatenate()([layers.Multiply()([x, scale]), layers.MaxPooling2D(3, 1, "same")(x)])


def unet(x: Any) -> Any:
    """Return a network that goes down and up again."""
    wide = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
    narrow = layers.Conv2D(6, 3, padding="same")(layers.MaxPooling2D()(wide))
    return layers.Conv2D(2, 1)(layers.Concatenate()([wide, layers.Conv2DTranspose(4, 2, 2)(narrow)]))


def operations(x: Any) -> Any:
    """Return what functions of TensorFlow compute."""
    best, places = tf.math.top_k(x, 2)
    parts = [best, tf.cast(places, tf.float32), tf.cumsum(x, 1)[:, :2], tf.one_hot(tf.argmax(x, 1), 3)]
    return tf.concat([*parts, tf.where(x > 0, tf.square(x), tf.floor(x)), tf.gather(x, [1, 0], axis=1)], 1)


def selections(x: Any) -> Any:
    """Return slices, reductions and products."""
    y = tf.einsum("bij,bkj->bik", x, x)[:, ::2, 1:]
    return tf.concat([y, tf.reduce_logsumexp(x, 2, keepdims=True)[:, :2], tf.reverse(x, [1])[:, :2]], 2)


NETWORKS: dict[str, tuple[Shape, Callable[[Any], Any]]] = {
    "attention": ((5, 8), attention),
    "residual": ((8, 8, 3), residual),
    "excitation": ((6, 6, 4), excitation),
    "unet": ((8, 8, 3), unet),
}
FUNCTIONS: dict[str, tuple[Shape, Callable[[Any], Any]]] = {
    "operations": ((5,), operations),
    "selections": ((4, 5), selections),
}


def drafts(seed: int, every: bool) -> Iterator[Draft]:
    """Yield each model at two versions of the default domain."""
    for number, name in enumerate([*CHAINS, *NETWORKS, *FUNCTIONS]):
        for version in some_versions(VERSIONS, number, 2, every):
            yield Draft(f"tf2onnx/{name}-{version}", functools.partial(export, name, seed, version))


def export(name: str, seed: int, version: int) -> Exported:
    """Build a model and export it at a version of the default domain."""
    keras.utils.set_random_seed(seed)
    shape = {**CHAINS, **NETWORKS, **FUNCTIONS}[name][0]
    sizes = [2, *(size or 9 for size in shape)]
    random = generator(name, seed)
    value = random.integers(0, 10, sizes).astype(np.int32) if name == "embedding" else random.normal(size=sizes)
    spec = [tf.TensorSpec((None, *shape), tf.int32 if name == "embedding" else tf.float32, name="x")]
    call = FUNCTIONS[name][1] if name in FUNCTIONS else model_of(name, spec[0])
    model, _ = tf2onnx.convert.from_function(tf.function(call, input_signature=spec), spec, opset=version)
    return model, {"x": value.astype(spec[0].dtype.as_numpy_dtype)}


def model_of(name: str, spec: Any) -> Callable[[Any], Any]:
    """Return the call of a model of Keras, whose layers are made here, once."""
    x = keras.Input(spec.shape[1:], dtype=spec.dtype.name)
    if name in CHAINS:
        y = x
        for layer in CHAINS[name][1]():
            y = layer(y)
    else:
        y = NETWORKS[name][1](x)
    model = keras.Model(x, y)
    return lambda value: model(value, training=False)
