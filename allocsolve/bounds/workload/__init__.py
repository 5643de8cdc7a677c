"""Lower bounds on the terms of workloads, and the prices that prove them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
