"""Linnert, De Rose & Heiss 2024: jobs with deadlines on a mesh, booked or leaking, and what is possible."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
