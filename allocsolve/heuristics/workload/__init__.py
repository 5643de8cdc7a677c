"""Heuristics of workloads: queue policies and clairvoyant planners."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
