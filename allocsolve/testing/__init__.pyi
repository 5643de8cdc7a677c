from .conformance import SolverConformance as SolverConformance, check_solver as check_solver
from .examples import example_problems as example_problems
