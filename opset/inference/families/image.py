"""Output shape of ImageDecoder."""

from __future__ import annotations

from opset.inference.building.call import Call
from opset.inference.building.types import Shape
from opset.inference.registration import infer


@infer("ImageDecoder")
def image_decoder_20(call: Call) -> Shape:
    """Return (None, None, channels), as the height and width of the image depend on the data.

    There is 1 channel if the attribute `pixel_format` is "Grayscale", and else 3.
    """
    return (None, None, 1 if call.attribute("pixel_format") == "Grayscale" else 3)
