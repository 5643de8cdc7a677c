"""For authors of solvers: the contract that every solver here keeps, to be run on one's own.

That of queue policies is in `allocsolve.testing.policies`, which loads numba.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
