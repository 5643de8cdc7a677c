"""The event engine of workloads: state, views, decisions, rules; no policy in it."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
