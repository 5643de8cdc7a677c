"""How problems and answers are written: the envelope, one codec per family, logs.

Authors of codecs take `Checker` from here, and `Rows` for tables.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
