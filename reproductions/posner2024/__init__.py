"""Posner 2024: evolving jobs in batches of tree searches, two schedulers, and the best that is possible."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
