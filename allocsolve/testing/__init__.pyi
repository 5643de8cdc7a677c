from .conformance import (
    SolverConformance as SolverConformance,
    check_solver as check_solver,
    example_problems as example_problems,
)
