"""The event engine of workloads: state, views, decisions, rules; no policy in it."""

from __future__ import annotations

from allocsolve.simulation.decisions import (
    Answer,
    Decision,
    IllegalDecision,
    Promise,
    Reason,
    Resize,
    Start,
    Wake,
)
from allocsolve.simulation.engine import Engine
from allocsolve.simulation.forecast import PromiseError, forecast, promise_error, promised_starts
from allocsolve.simulation.outcome import Log, Simulation
from allocsolve.simulation.rules import EngineRules, Knowledge, ProfileKnowledge, ResizeEffect
from allocsolve.simulation.simulate import CompiledPolicy, Policy, run_policy, simulate
from allocsolve.simulation.view import JobColumns, QueueView

__all__ = [
    "Answer",
    "CompiledPolicy",
    "Decision",
    "Engine",
    "EngineRules",
    "IllegalDecision",
    "JobColumns",
    "Knowledge",
    "Log",
    "Policy",
    "ProfileKnowledge",
    "Promise",
    "PromiseError",
    "QueueView",
    "Reason",
    "Resize",
    "ResizeEffect",
    "Simulation",
    "Start",
    "Wake",
    "forecast",
    "promise_error",
    "promised_starts",
    "run_policy",
    "simulate",
]
