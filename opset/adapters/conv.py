"""Convolutions, whose types grew."""

from __future__ import annotations

from opset.adapters.shared import BFLOAT16, emulate
from opset.version_converter.registration import down

down("Conv", "ConvTranspose", "DeformConv", since=22)(emulate(BFLOAT16))
