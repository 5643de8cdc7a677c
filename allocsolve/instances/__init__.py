"""Where problems come from: generators, the JSON format, logs of real machines, the instance library."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
