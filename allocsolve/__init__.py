"""allocsolve: proven optima, fast heuristics and an independent judge for the allocation problem.

Problems and answers are plain frozen data (`allocsolve.model`); solvers are callables from one to the other
(`allocsolve.heuristics`, `allocsolve.exact`); a judge that shares no code with any solver decides what an
answer is worth (`allocsolve.judge`); the bench only believes the judge.
"""

import lazy_loader

_load, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)
#: ``from allocsolve import *`` loads all of these, so what needs reports and the bench is asked for by name.
__all__ = [name for name in _names if name not in {"whatif", "when"}]


def __getattr__(name: str) -> object:
    """Load a public name; notebooks can show what it makes, as what draws is there before it."""
    if name in __all__ and not name.startswith("_"):
        _load("plot")
    return _load(name)
