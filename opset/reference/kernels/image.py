"""Kernel of ImageDecoder."""

from __future__ import annotations

import importlib
import io
import warnings
from typing import Any

import numpy as np

from opset.budget import BudgetExceeded
from opset.errors import Finding, RunError
from opset.reference.numerics.arrays import Array
from opset.reference.registration import KernelContext, kernel

FORMATS = ("BMP", "JPEG", "JPEG2000", "TIFF", "PNG", "WEBP", "PPM")
"""Pillow's names of the formats of the standard; an installation may lack some of them."""
MODES = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}
"""Pillow's mode of each pixel format; it has one letter for each channel."""


@kernel("ImageDecoder", since=20)
def image_decoder_20(stream: Array, *, pixel_format: str, context: KernelContext) -> Array:
    """Return the decoded image as (height, width, channels), an empty one if it cannot be decoded.

    The memory that decoding takes is reserved by the size in the file's header, before anything is decoded.
    """
    try:
        pillow: Any = importlib.import_module("PIL.Image")
    except ImportError as error:
        message, help = "a package that the operator needs is not installed", "pip install 'opset[image]'"
        raise RunError(Finding("R205", message, why="images are decoded by Pillow", help=help)) from error
    channels = len(MODES[pixel_format])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the memory limit decides about large images
            with pillow.open(io.BytesIO(stream.tobytes()), formats=FORMATS) as image:
                # Four bytes for a pixel in any mode, twice: as decoded and as converted.
                context.reserve(8 * image.width * image.height, np.uint8)
                decoded = np.array(image.convert(MODES[pixel_format]))
    except (BudgetExceeded, MemoryError):
        raise
    except pillow.DecompressionBombError as error:
        message, help = "the evaluation was stopped: too much memory", "use a smaller image"
        raise RunError(Finding("R302", message, why=str(error), help=help)) from error
    except Exception:  # Pillow raises whatever its decoders do
        return np.zeros((0, 0, channels), np.uint8)
    decoded = decoded.reshape(*decoded.shape[:2], channels)
    return decoded[:, :, ::-1] if pixel_format == "BGR" else decoded
