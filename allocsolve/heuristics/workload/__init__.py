"""Heuristics of workloads: queue policies, and clairvoyant schedules."""

from __future__ import annotations

from allocsolve.heuristics.workload.conservative import (
    COMPRESSIONS,
    Compression,
    Conservative,
    ConservativePlan,
    conservative_plan,
)
from allocsolve.heuristics.workload.easyback import EvolvEasyback
from allocsolve.heuristics.workload.lina import Lina
from allocsolve.heuristics.workload.malleable import (
    MalleableAverage,
    MalleableMin,
    MalleablePref,
    MalleablePrefkeeper,
)
from allocsolve.heuristics.workload.market import Market
from allocsolve.heuristics.workload.policies import EASY_PRESETS, Easy, Fcfs, FirstFit
from allocsolve.heuristics.workload.profile_fit import ProfileFit
from allocsolve.heuristics.workload.rebalancing import StaticPrice
from allocsolve.heuristics.workload.reinsertion import Reinsertion
from allocsolve.heuristics.workload.serial import SerialGeneration
from allocsolve.heuristics.workload.srpt_area import SrptArea

__all__ = [
    "COMPRESSIONS",
    "EASY_PRESETS",
    "Compression",
    "Conservative",
    "ConservativePlan",
    "Easy",
    "EvolvEasyback",
    "Fcfs",
    "FirstFit",
    "Lina",
    "MalleableAverage",
    "MalleableMin",
    "MalleablePref",
    "MalleablePrefkeeper",
    "Market",
    "ProfileFit",
    "Reinsertion",
    "SerialGeneration",
    "SrptArea",
    "StaticPrice",
    "conservative_plan",
]
