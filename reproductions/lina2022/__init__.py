"""Lina, Ghafoor & Hines 2022: three algorithms, six orders of victims, and the best that is possible."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
