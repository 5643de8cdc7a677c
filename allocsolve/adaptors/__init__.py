"""Our policies and allocators inside the programs of others, and theirs inside our engine.

Pairs of pure functions, duck-typed: no program of others is imported or needed.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
