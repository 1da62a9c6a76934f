"""Kernels that resize, sample and decode images."""

from __future__ import annotations

import importlib
import io
import warnings
from typing import Any

import numpy as np

from opset.errors import Finding, RunError
from opset.reference.numerics.arrays import Array
from opset.reference.registration import KernelContext, kernel
from opset.schemas.constraints import Violation

FORMATS = ("BMP", "JPEG", "JPEG2000", "TIFF", "PNG", "WEBP", "PPM")
"""What Pillow calls the formats of the standard; it may lack some of them."""
CHANNELS = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}


@kernel("ImageDecoder", since=20)
def image_decoder_20(stream: Array, *, pixel_format: str, context: KernelContext) -> Array:
    """Return a file's picture as (height, width, channels), an empty one where it cannot be decoded.

    What decoding would take is reserved by the size that the file claims, before any of it is believed.
    """
    if stream.ndim != 1:
        raise Violation("C1", f"rank {stream.ndim}")
    if pixel_format not in CHANNELS:
        raise Violation("C2", f"pixel_format '{pixel_format}'")
    pillow = _pillow()
    channels = len(CHANNELS[pixel_format])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # large pictures are for the limit of memory to judge
            with pillow.open(io.BytesIO(stream.tobytes()), formats=FORMATS) as picture:
                # Four bytes for an element in any mode, twice: as it is stored, and converted.
                context.reserve(8 * picture.width * picture.height, np.uint8)
                decoded = np.array(picture.convert(CHANNELS[pixel_format]))
    except (RunError, MemoryError):
        raise
    except pillow.DecompressionBombError as error:
        message, help = "the evaluation was stopped: too much memory", "give a smaller picture"
        raise RunError(Finding("R302", message, why=str(error), help=help)) from error
    except Exception:  # Pillow raises whatever its decoders do
        return np.zeros((0, 0, channels), np.uint8)
    decoded = decoded.reshape(*decoded.shape[:2], channels)
    return decoded[:, :, ::-1] if pixel_format == "BGR" else decoded


def _pillow() -> Any:
    """Return the module that decodes. Raises RunError R205 where it is not installed."""
    try:
        return importlib.import_module("PIL.Image")
    except ImportError as error:
        message = "a package that the operator needs is not installed"
        help = "pip install 'opset[image]'"
        raise RunError(Finding("R205", message, why="images are decoded by Pillow", help=help)) from error
