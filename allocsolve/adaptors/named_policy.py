"""Queue policies by name, or as they are, in one shape."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING, Any

from allocsolve.errors import InvalidOption
from allocsolve.heuristics.workload.conservative import Conservative
from allocsolve.heuristics.workload.online_conservative import OnlineConservative
from allocsolve.model import WorkloadProblem
from allocsolve.model.checks import shown
from allocsolve.registry import is_reference, make_solver
from allocsolve.registry.names import parse_name
from allocsolve.registry.options import with_options
from allocsolve.registry.plugins import GROUP, imported
from allocsolve.simulation import EngineRules

if TYPE_CHECKING:
    from allocsolve.simulation import Policy

__all__ = ["NamedPolicy", "named_policy"]


@dataclass(frozen=True, slots=True)
class NamedPolicy:
    """A policy as a function from views to decisions, and the rules by which it wants to be called."""

    decide: Policy
    rules: EngineRules


def named_policy(policy: Any, *, seed: int = 0) -> NamedPolicy:  # noqa: ANN401 - a name, or whatever a policy is
    """Return a policy, ready for a run.

    Parameters
    ----------
    policy
        The name of a registered policy, with options if need be (``easy(like=cqsim)``); what a name of the
        form ``package.module:object`` stands for; or the policy itself. That is a function from views to
        decisions, an object with a method ``decide`` that is one, or a class of either.
    seed
        For a policy that remembers something: its method ``reset`` is called with it.

    Raises
    ------
    UnknownName, PluginError
        If there is no such policy.
    InvalidOption
        If it has no such option, or if it is a method that needs to know the whole workload at once.

    Examples
    --------
    >>> named_policy("easy(like=cqsim)").rules.knowledge
    'actual'
    >>> named_policy("serial-generation")
    Traceback (most recent call last):
        ...
    allocsolve.errors.InvalidOption: 'serial-generation' is no queue policy: it decides on no view
    """
    made = _made(policy) if isinstance(policy, str) else policy
    made = made() if isinstance(made, type) else made
    if isinstance(made, Conservative):
        made = OnlineConservative(made)
    decide = getattr(made, "decide", None)
    if decide is None and (hasattr(made, "simulated") or not callable(made) or _is_registered(policy)):
        msg = f"{shown(policy)} is no queue policy: it decides on no view"
        raise InvalidOption(msg)
    if hasattr(made, "reset"):
        made.reset(seed)
    return NamedPolicy(decide or made, getattr(made, "rules", None) or EngineRules())


def _is_registered(policy: object) -> bool:
    return isinstance(policy, str) and not is_reference(parse_name(policy).base)


def _made(name: str) -> Any:  # noqa: ANN401 - whatever a policy is
    """Return what a name stands for."""
    parsed = parse_name(name)
    if not is_reference(parsed.base):
        return make_solver(name, WorkloadProblem)
    thing = imported(EntryPoint(name, parsed.base, GROUP))
    return with_options(thing, dict(parsed.options)) if parsed.options else thing
