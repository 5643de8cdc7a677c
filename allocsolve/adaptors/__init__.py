"""Our policies and allocators inside the programs of others, and theirs inside our engine.

Pairs of pure functions, duck-typed: no program of others is imported or needed.
"""

from __future__ import annotations

from allocsolve.adaptors.accasim import AccasimScheduler
from allocsolve.adaptors.agents import FEATURES, AgentPolicy, AgentTurn, Observation
from allocsolve.adaptors.batsim import PybatsimScheduler
from allocsolve.adaptors.cqsim import CqsimBackfill, cqsim_modules
from allocsolve.adaptors.elastisim import ElastisimScheduler
from allocsolve.adaptors.flux import FluxScheduler
from allocsolve.adaptors.foreign_cluster import RunningJob
from allocsolve.adaptors.foreign_jobs import ForeignJobs
from allocsolve.adaptors.hpcopt import HpcoptPlugin, HpcoptPolicy
from allocsolve.adaptors.log_windows import train_test_ranges, window_of_log
from allocsolve.adaptors.named_policy import NamedPolicy, named_policy
from allocsolve.adaptors.node_choice import node_chooser
from allocsolve.adaptors.policy_driver import IllegalOrder, Order, PolicyDriver
from allocsolve.adaptors.raps import RapsScheduler

__all__ = [
    "FEATURES",
    "AccasimScheduler",
    "AgentPolicy",
    "AgentTurn",
    "CqsimBackfill",
    "ElastisimScheduler",
    "FluxScheduler",
    "ForeignJobs",
    "HpcoptPlugin",
    "HpcoptPolicy",
    "IllegalOrder",
    "NamedPolicy",
    "Observation",
    "Order",
    "PolicyDriver",
    "PybatsimScheduler",
    "RapsScheduler",
    "RunningJob",
    "cqsim_modules",
    "named_policy",
    "node_chooser",
    "train_test_ranges",
    "window_of_log",
]
