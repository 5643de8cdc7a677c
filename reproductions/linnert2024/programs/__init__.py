"""A simulator of message-passing programs: processes, messages and links, as Linnert et al. 2024 run them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
