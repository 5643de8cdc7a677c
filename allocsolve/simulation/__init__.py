"""The event engine of workloads: state, views, decisions and rules. It contains no policy."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
