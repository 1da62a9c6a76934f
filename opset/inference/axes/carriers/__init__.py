"""How operators carry an axis, by kind."""

from opset.inference.axes.carriers import arranging, elementwise, learned, moving, products, sequences, windows

__all__ = ["arranging", "elementwise", "learned", "moving", "products", "sequences", "windows"]
