"""Heuristics of workloads: queue policies, and clairvoyant schedules."""

from __future__ import annotations

from allocsolve.heuristics.workload.conservative import Conservative
from allocsolve.heuristics.workload.policies import EASY_PRESETS, Easy, Fcfs, FirstFit
from allocsolve.heuristics.workload.reinsertion import Reinsertion
from allocsolve.heuristics.workload.serial import SerialGeneration

__all__ = [
    "EASY_PRESETS",
    "Conservative",
    "Easy",
    "Fcfs",
    "FirstFit",
    "Reinsertion",
    "SerialGeneration",
]
