"""Lower bounds, each a named function with its proof.

Those of workloads are in `allocsolve.bounds.workload`, those of reservations by prices in
`allocsolve.bounds.reservation`; both load numba.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
