"""allocsolve: proven optima, fast heuristics and an independent judge for the allocation problem.

Problems and answers are plain frozen data (`allocsolve.model`); solvers are callables from one to the other
(`allocsolve.heuristics`, `allocsolve.exact`); a judge that shares no code with any solver decides what an
answer is worth (`allocsolve.judge`); the bench only believes the judge.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
