"""Convolutions, whose types grew."""

from __future__ import annotations

from opset.adapters import down
from opset.adapters.shared import BFLOAT16, through

down("Conv", "ConvTranspose", "DeformConv", since=22)(through(BFLOAT16))
