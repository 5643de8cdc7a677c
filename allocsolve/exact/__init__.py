"""Exact solvers: answers with a proof, or a bound when the budget ends first."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
