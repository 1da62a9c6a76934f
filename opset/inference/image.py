"""Images that are decoded."""

from __future__ import annotations

from opset.inference.agreement import unify
from opset.inference.call import Call
from opset.inference.registration import infer
from opset.inference.types import Shape
from opset.schemas.constraints import Violation


@infer("ImageDecoder")
def image_decoder_20(call: Call) -> Shape:
    """Return (height, width, channels) of a picture."""
    unify(call, 0, (None,), "C1")
    channels = {"RGB": 3, "BGR": 3, "Grayscale": 1}.get(call.attribute("pixel_format"))
    if channels is None:
        raise Violation("C2", f"pixel_format '{call.attribute('pixel_format')}'")
    return (None, None, channels)
