"""The backends that all exact models share: CP-SAT and CBC, run so that they stop when they should.

The modules are imported by name, `allocsolve.backends.cpsat` and `allocsolve.backends.cbc`: each loads its
library. No solver uses `allocsolve.backends.checkers`: they are asked for a second opinion.
"""

__all__: list[str] = []
