"""Exact solvers of workloads, and the baseline: a schedule and a certified bound together."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
