"""What every compiled kernel needs: the compiler, and threads that stop cleanly."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
