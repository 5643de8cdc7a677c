from .evolution import (
    configuration_lp as configuration_lp,
    energy as energy,
    longest_application as longest_application,
    makespan_bound as makespan_bound,
    mean_busy_time as mean_busy_time,
    step_prices as step_prices,
    strong_makespan_bound as strong_makespan_bound,
    total_completion as total_completion,
)
from .evolution_completion import strong_completion_bound as strong_completion_bound
from .partition import partition_bound as partition_bound, star_bound as star_bound, town as town
from .placement import placement_bound as placement_bound
