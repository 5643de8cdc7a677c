from .combinatorial import (
    MakespanBound as MakespanBound,
    least_areas as least_areas,
    makespan_bound as makespan_bound,
    shortest_run_times as shortest_run_times,
    workload_bound as workload_bound,
)
from .costs import MEAN_TERMS as MEAN_TERMS, JobCosts as JobCosts, job_costs as job_costs
from .job_prices import job_prices as job_prices
from .machine_job_prices import machine_job_prices as machine_job_prices
from .machine_prices import machine_prices as machine_prices
from .time_prices import PriceBound as PriceBound, time_prices as time_prices, work_prices as work_prices
