"""Policies in every form that a user may give, as the one thing that all drivers call."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from allocsolve.errors import AllocsolveError, InvalidOption
from allocsolve.model.checks import shown
from allocsolve.simulation.decisions import Decision
from allocsolve.simulation.rules import EngineRules
from allocsolve.simulation.view import QueueView

#: From what a policy sees to what it decides.
Policy: TypeAlias = Callable[[QueueView], Iterable[Decision]]


class Decider(Protocol):
    """A policy that is an object, such as those of `allocsolve.heuristics`."""

    def decide(self, view: QueueView) -> Iterable[Decision]:
        """Return the decisions on a view."""


class Planner(Protocol):
    """A method that plans a whole workload at once, and has a policy that decides on views."""

    def online(self) -> Decider:
        """Return that policy."""


#: What drivers take for a policy: a function, an object with a method ``decide``, or a class of either.
PolicyLike: TypeAlias = Policy | Decider | Planner | Callable[[], Policy | Decider | Planner]


@dataclass(frozen=True, slots=True)
class RunnablePolicy:
    """A policy as a function from views to decisions, at the beginning of a run."""

    decide: Policy
    #: By which it wants to be called.
    rules: EngineRules
    #: Whether it has a method ``reset``: what it decides may depend on earlier calls of the run.
    remembers: bool
    #: What it was made of, to be made ready for another run.
    source: Any


def runnable(policy: Any, *, seed: int = 0) -> RunnablePolicy:  # noqa: ANN401 - also what is no policy
    """Return a policy at the beginning of a run: what it remembers of an earlier run is forgotten.

    A policy is a function from views to decisions; an object with a method ``decide`` that is one; or a class
    of either that takes no arguments. Its attribute ``rules`` says by which rules it wants to be called. A
    policy that remembers something has a method ``reset`` besides, which is called with the seed, also if the
    policy is given as a bound method of the object. A method that plans a whole workload at once may have a
    method ``online``, which returns a policy that decides on views.

    Examples
    --------
    >>> from allocsolve.heuristics import Easy
    >>> runnable(Easy).rules.knowledge
    'estimate'
    >>> runnable("easy")
    Traceback (most recent call last):
        ...
    allocsolve.errors.InvalidOption: 'easy' is a name: allocsolve.adaptors.named_policy returns its policy
    """
    if isinstance(policy, str):
        msg = f"{shown(policy)} is a name: allocsolve.adaptors.named_policy returns its policy"
        raise InvalidOption(msg)
    made = instantiated(policy)
    if hasattr(made, "online"):
        made = made.online()
    decide = getattr(made, "decide", None)
    if decide is None and (hasattr(made, "simulated") or not callable(made)):
        msg = f"{shown(policy)} is no queue policy: it has no method decide"
        raise InvalidOption(msg)
    owner = getattr(made, "__self__", made) if decide is None else made
    remembers = hasattr(owner, "reset")
    if remembers:
        owner.reset(seed)
    rules = getattr(made, "rules", None) or EngineRules()
    source = policy.source if isinstance(policy, RunnablePolicy) else policy
    return RunnablePolicy(decide or made, rules, remembers, source)


def instantiated(policy: Any) -> Any:  # noqa: ANN401 - also what is no policy
    """Return the policy itself, or an instance if it is a class; of one that was made ready, what it was.

    `InvalidOption` if the class cannot be called without arguments.
    """
    if isinstance(policy, RunnablePolicy):
        policy = policy.source
    if not isinstance(policy, type):
        return policy
    try:
        return policy()
    except AllocsolveError:
        raise
    except Exception as error:
        msg = f"policy {policy.__name__}() raised {type(error).__name__}: {error}"
        raise InvalidOption(msg) from error
