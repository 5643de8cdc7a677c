"""Zojer 2025: malleable jobs on the log of Cori KNL, its four strategies, and the best that is possible."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
