"""Heuristics: fast solvers without a proof, and the plain functions under them."""

from __future__ import annotations

from allocsolve.heuristics.evolution.annealing import Annealing
from allocsolve.heuristics.evolution.fit import Placement, compact, fit
from allocsolve.heuristics.evolution.list_scheduling import (
    ORDERS,
    Fit,
    ListScheduling,
    Order,
    Rigid,
    list_order,
    list_starts,
)
from allocsolve.heuristics.evolution.resource_profile import ResourceProfile
from allocsolve.heuristics.partition.blocks import (
    MultipleBuddy,
    Paging,
    RandomNodes,
    multiple_buddy,
    paging,
    random_nodes,
)
from allocsolve.heuristics.partition.curve_fit import (
    CurveFit,
    best_fit_run,
    first_fit_run,
    largest_runs,
    min_span,
    sorted_free_list,
)
from allocsolve.heuristics.partition.growth import Growth, Leak, growth, leak
from allocsolve.heuristics.partition.nearest import (
    GenAlg,
    ManhattanMedian,
    Mc1x1,
    gen_alg,
    manhattan_median,
    mc1x1,
)
from allocsolve.heuristics.partition.submesh import Submesh, submesh
from allocsolve.heuristics.reservation.admission import Admission, Static, admit
from allocsolve.heuristics.reservation.calendar import ReservationCalendar, Slot
from allocsolve.heuristics.reservation.execution import execute
from allocsolve.heuristics.reservation.greedy import ReservationGreedy
from allocsolve.heuristics.reservation.leak import ReservationLeak, execute_leaking
from allocsolve.heuristics.reservation.linnert_programs import linnert_program, program_of
from allocsolve.heuristics.reservation.orders import (
    RESERVATION_ORDERS,
    ReservationOrder,
    greedy_starts,
    reservation_order,
)
from allocsolve.heuristics.reservation.rules import ExecutionRules, LeakRules
from allocsolve.heuristics.reservation.static_execution import StaticExecution
from allocsolve.heuristics.workload import (
    Conservative,
    Easy,
    EvolvEasyback,
    Fcfs,
    FirstFit,
    Lina,
    MalleableAverage,
    MalleableMin,
    MalleablePref,
    MalleablePrefkeeper,
    Market,
    ProfileFit,
    Reinsertion,
    SerialGeneration,
    SrptArea,
    StaticPrice,
)

__all__ = [
    "ORDERS",
    "RESERVATION_ORDERS",
    "Admission",
    "Annealing",
    "Conservative",
    "CurveFit",
    "Easy",
    "EvolvEasyback",
    "ExecutionRules",
    "Fcfs",
    "FirstFit",
    "Fit",
    "GenAlg",
    "Growth",
    "Leak",
    "LeakRules",
    "Lina",
    "ListScheduling",
    "MalleableAverage",
    "MalleableMin",
    "MalleablePref",
    "MalleablePrefkeeper",
    "ManhattanMedian",
    "Market",
    "Mc1x1",
    "MultipleBuddy",
    "Order",
    "Paging",
    "Placement",
    "ProfileFit",
    "RandomNodes",
    "Reinsertion",
    "ReservationCalendar",
    "ReservationGreedy",
    "ReservationLeak",
    "ReservationOrder",
    "ResourceProfile",
    "Rigid",
    "SerialGeneration",
    "Slot",
    "SrptArea",
    "Static",
    "StaticExecution",
    "StaticPrice",
    "Submesh",
    "admit",
    "best_fit_run",
    "compact",
    "execute",
    "execute_leaking",
    "first_fit_run",
    "fit",
    "gen_alg",
    "greedy_starts",
    "growth",
    "largest_runs",
    "leak",
    "linnert_program",
    "list_order",
    "list_starts",
    "manhattan_median",
    "mc1x1",
    "min_span",
    "multiple_buddy",
    "paging",
    "program_of",
    "random_nodes",
    "reservation_order",
    "sorted_free_list",
    "submesh",
]
