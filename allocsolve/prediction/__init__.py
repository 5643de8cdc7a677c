"""When queued jobs will start: intervals, made of the runs of the past and calibrated on what came true."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
