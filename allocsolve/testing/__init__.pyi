from .checks import example_problems as example_problems
from .conformance import SolverConformance as SolverConformance, check_solver as check_solver
