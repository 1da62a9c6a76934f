"""Output shape of ImageDecoder."""

from __future__ import annotations

from opset.inference.building.call import Call
from opset.inference.building.types import Shape
from opset.inference.registration import infer


@infer("ImageDecoder")
def image_decoder_20(call: Call) -> Shape:
    """Return (height, width, channels); only the number of channels is known."""
    return (None, None, 1 if call.attribute("pixel_format") == "Grayscale" else 3)
