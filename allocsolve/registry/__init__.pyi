from .allocators import make_allocator as make_allocator
from .code import code_of as code_of
from .front_door import solve as solve, solve_and_assess as solve_and_assess
from .names import split_names as split_names
from .options import SolverOption as SolverOption, solver_options as solver_options
from .plugins import (
    identity as identity,
    is_reference as is_reference,
    plugins as plugins,
    provider as provider,
    solver_fault as solver_fault,
)
from .readiness import announce_once as announce_once, ready as ready
from .registered import solver_names as solver_names, solver_row as solver_row, solver_rows as solver_rows
from .resuming import resumed as resumed
from .table import (
    canonical_name as canonical_name,
    check_solver_name as check_solver_name,
    families_named as families_named,
    families_solved as families_solved,
    load_plugin as load_plugin,
    make_solver as make_solver,
    plugin_place as plugin_place,
    with_objective as with_objective,
)
