"""Families of problems: the contract that each one is, and how they are found by kind and by problem."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
