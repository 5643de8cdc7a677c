"""Our policies and allocators inside the programs of others, and theirs inside our engine.

Pairs of pure functions, duck-typed: no program of others is imported or needed.
"""

from __future__ import annotations

from allocsolve.adaptors.agents import FEATURES, AgentPolicy, AgentTurn, Observation
from allocsolve.adaptors.log_windows import train_test_ranges, window_of_log

__all__ = ["FEATURES", "AgentPolicy", "AgentTurn", "Observation", "train_test_ranges", "window_of_log"]
