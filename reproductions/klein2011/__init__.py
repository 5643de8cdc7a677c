"""Klein & Perez 2011: their experiments, and what expansion is worth."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
