from .code import code_of as code_of
from .front_door import (
    announce_once as announce_once,
    ready as ready,
    resumed as resumed,
    solve as solve,
    solve_and_assess as solve_and_assess,
)
from .names import solver_options as solver_options, split_names as split_names
from .place import (
    Placed as Placed,
    RuleChoice as RuleChoice,
    make_allocator as make_allocator,
    place as place,
    place_problem as place_problem,
)
from .table import (
    canonical_name as canonical_name,
    check_solver_name as check_solver_name,
    families_named as families_named,
    families_solved as families_solved,
    identity as identity,
    is_reference as is_reference,
    load_plugin as load_plugin,
    make_solver as make_solver,
    plugin_place as plugin_place,
    plugins as plugins,
    provider as provider,
    searches as searches,
    solver_fault as solver_fault,
    solver_names as solver_names,
    solver_row as solver_row,
    solver_rows as solver_rows,
    with_objective as with_objective,
)
