"""MaxRoiPool and RoiAlign: a type that later versions allow."""

from __future__ import annotations

from opset.adapters.shared import BFLOAT16, emulate
from opset.version_converter.registration import down

down("MaxRoiPool", "RoiAlign", since=22)(emulate(BFLOAT16))
