"""Solvers by kind of problem and name, plug-ins included, and the front door `solve`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
