"""Figures for print, by matplotlib: gaps, performance profiles, primal gaps, Gantt charts, resources."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
