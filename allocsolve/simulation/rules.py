"""The rules of a simulation: when a policy is called, and what it may know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from allocsolve.model.checks import choice, flag

__all__ = ["EngineRules", "Knowledge"]

#: What a policy may know of run times: what users said, or the truth.
Knowledge: TypeAlias = Literal["estimate", "actual"]


@dataclass(frozen=True, slots=True)
class EngineRules:
    """When a policy is called, and what it may know.

    Parameters
    ----------
    coalesce
        Whether a policy is called once an instant, after all completions and submissions at it; else once an
        event: completions first, then submissions, each by job.
    knowledge
        ``estimate``: the policy sees what users said of run times, and run times of completed jobs;
        ``actual``: it sees all run times of submitted jobs.

    Raises
    ------
    UnknownName
        If there is no such knowledge.
    """

    coalesce: bool = True
    knowledge: Knowledge = "estimate"

    def __post_init__(self) -> None:
        object.__setattr__(self, "coalesce", flag("coalesce", self.coalesce))
        choice("knowledge", self.knowledge, get_args(Knowledge))
