"""What a problem and an answer are: plain frozen data, no algorithms, no files."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
