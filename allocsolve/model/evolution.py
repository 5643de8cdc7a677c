"""Evolution-profile scheduling: the problem and its answers (Klein & Perez 2011, section 3.3)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidAnswer, InvalidProblem
from allocsolve.model.arrays import MAX_INTEGER, UNLIMITED, IntArray, packed_integers
from allocsolve.model.checks import in_range, instance, integer, items, shown
from allocsolve.model.problem import OfArrays, Rebuilt, checked_labels, objective_option
from allocsolve.model.profile import EvolutionProfile, expand_ratio, max_expanded_durations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

#: What can be minimised of a schedule.
EvolutionTerm: TypeAlias = Literal["makespan", "completion", "waste"]
#: All terms of objectives, the default first.
EVOLUTION_OBJECTIVES: tuple[EvolutionTerm, ...] = get_args(EvolutionTerm)

#: What to minimise: one term, or several in lexicographic order.
EvolutionObjective: TypeAlias = Annotated[tuple[EvolutionTerm, ...], objective_option(EVOLUTION_OBJECTIVES)]


class PackedApplications(NamedTuple):
    """The applications of a problem as read-only int64 arrays, as every kernel takes them.

    The steps of application ``a`` are ``offsets[a]:offsets[a + 1]`` of the step arrays.
    """

    #: Shape (applications + 1,).
    offsets: IntArray
    #: Shape (steps,), seconds.
    durations: IntArray
    #: Shape (steps,).
    nodes: IntArray
    #: Shape (steps,), seconds: floor(expand limit * duration), `UNLIMITED` if there is no limit.
    max_durations: IntArray
    #: Shape (applications,), seconds.
    releases: IntArray


@dataclass(frozen=True, slots=True)
class EvolutionProblem(Rebuilt):
    """Give each application a scheduled profile such that the cluster is never over-committed.

    A scheduled profile is the requested one, delayed (not before the release) and expanded (each step of
    d seconds holds its nodes for d to floor(limit * d) seconds); at any time the sum of all scheduled
    profiles is at most `num_nodes`.

    Parameters
    ----------
    num_nodes
        Nodes of the homogeneous cluster, >= 1.
    applications
        Requested profiles, each with at least one step and a peak of at most `num_nodes`.
    releases
        Earliest start of each application in seconds; all 0 if empty. Waiting and turnaround count from here.
    expand_limit
        How many times its duration a step may hold its nodes: a number in 1..2^53, infinite by default.
    name
        For people; two problems that differ in name only have the same digest.
    application_names
        Distinct names; ``a0``, ``a1``, ... if empty.
    meta
        Where the problem comes from (generator, seed, log): carried along, never read by a solver.

    Examples
    --------
    >>> problem = EvolutionProblem(8, (EvolutionProfile([(60, 2), (30, 8)]),))
    >>> problem.releases, problem.application_names, problem.horizon
    ((0,), ('a0',), 90)
    """

    num_nodes: int
    applications: tuple[EvolutionProfile, ...]
    releases: tuple[int, ...] = ()
    expand_limit: float = math.inf
    name: str = ""
    application_names: tuple[str, ...] = ()
    meta: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)
    #: The applications as arrays, so that no solver need pack them again.
    packed: PackedApplications = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        apps = tuple(
            instance(f"application {idx}", app, EvolutionProfile)
            for idx, app in enumerate(items("applications", self.applications))
        )
        names = tuple(
            instance("application name", name, str)
            for name in items("application names", self.application_names)
        ) or tuple(f"a{idx}" for idx in range(len(apps)))
        releases = tuple(integer("release", value) for value in items("releases", self.releases))
        releases = releases or (0,) * len(apps)
        object.__setattr__(self, "num_nodes", integer("num_nodes", self.num_nodes))
        object.__setattr__(self, "meta", checked_labels(self.name, self.meta))
        object.__setattr__(self, "applications", apps)
        object.__setattr__(self, "application_names", names)
        object.__setattr__(self, "releases", releases)
        self._check()
        object.__setattr__(self, "packed", self._pack())

    def _check(self) -> None:
        in_range("num_nodes", self.num_nodes, 1)
        for what, values in (("releases", self.releases), ("application names", self.application_names)):
            if len(values) != len(self.applications):
                raise InvalidProblem(f"{len(values)} {what} for {len(self.applications)} applications")
        if len(set(self.application_names)) < len(self.application_names):
            twice = next(n for n in self.application_names if self.application_names.count(n) > 1)
            raise InvalidProblem(f"application name {twice!r} is used twice")
        for app, release, name in zip(self.applications, self.releases, self.application_names, strict=True):
            if not app.steps:
                raise InvalidProblem(f"application {name!r} has no steps")
            if app.peak > self.num_nodes:
                idx = app.nodes.index(app.peak)
                msg = f"application {name!r}, step {idx}: {app.peak} nodes on a cluster of {self.num_nodes}"
                raise InvalidProblem(msg)
            if not 0 <= release <= MAX_INTEGER:
                raise InvalidProblem(f"application {name!r}: release {shown(release)} is not in 0..2^53")
        if self.horizon > MAX_INTEGER:
            raise InvalidProblem(f"latest release plus all durations is {self.horizon} s, beyond 2^53")
        if self.horizon * self.num_nodes > UNLIMITED:
            msg = f"horizon {self.horizon} s times {self.num_nodes} nodes is beyond 2^62 node-seconds"
            raise InvalidProblem(msg)

    def _pack(self) -> PackedApplications:
        ratio = expand_ratio(self.expand_limit)
        steps = [step for app in self.applications for step in app.steps]
        offsets = np.zeros(len(self.applications) + 1, dtype=np.int64)
        np.cumsum([len(app.steps) for app in self.applications], out=offsets[1:])
        durations = packed_integers([duration for duration, _ in steps])
        return PackedApplications(
            offsets=packed_integers(offsets),
            durations=durations,
            nodes=packed_integers([nodes for _, nodes in steps]),
            max_durations=max_expanded_durations(durations, ratio),
            releases=packed_integers(self.releases),
        )

    @property
    def answer_type(self) -> type[EvolutionSchedule]:
        """The type of its answers."""
        return EvolutionSchedule

    @property
    def horizon(self) -> int:
        """Latest release plus the sum of all durations, in seconds.

        Some optimal schedule ends by then, for every objective: whenever, after the last release, no
        application is computing, cutting that moment out of the schedule harms nobody.
        """
        return max(self.releases, default=0) + sum(app.duration for app in self.applications)

    @property
    def area(self) -> int:
        """Useful area: the sum of duration times nodes over all requests, in node-seconds."""
        return sum(app.area for app in self.applications)


@dataclass(frozen=True, slots=True, eq=False)
class EvolutionSchedule(OfArrays):
    """For each application a start and an expanded profile, packed.

    Parameters
    ----------
    starts
        Shape (applications,), seconds.
    offsets
        Shape (applications + 1,): the steps of application ``a`` are ``offsets[a]:offsets[a + 1]``.
    durations
        Shape (steps,), seconds >= 1: how long each step holds its nodes.
    nodes
        Shape (steps,).

    Examples
    --------
    >>> schedule = EvolutionSchedule.of([7], [EvolutionProfile([(515, 5), (3600, 10)])])
    >>> schedule.completions.tolist(), schedule.scheduled(0).steps
    ([4122], ((7, 0), (515, 5), (3600, 10)))
    """

    starts: IntArray
    offsets: IntArray
    durations: IntArray
    nodes: IntArray

    def __post_init__(self) -> None:
        for name in ("starts", "offsets", "durations", "nodes"):
            object.__setattr__(self, name, packed_integers(getattr(self, name), name))
        offsets = self.offsets
        if self.starts.ndim != 1 or offsets.shape != (len(self.starts) + 1,):
            msg = f"starts of shape {self.starts.shape} do not go with offsets of shape {offsets.shape}"
            raise InvalidAnswer(msg)
        if offsets[0] != 0 or (len(offsets) > 1 and (offsets[1:] <= offsets[:-1]).any()):
            raise InvalidAnswer("offsets must start at 0 and grow: every application has a step")
        if self.durations.shape != (offsets[-1],) or self.nodes.shape != (offsets[-1],):
            msg = f"{self.durations.shape} durations and {self.nodes.shape} nodes for {offsets[-1]} steps"
            raise InvalidAnswer(msg)

    @classmethod
    def of(cls, starts: Sequence[int], profiles: Sequence[EvolutionProfile]) -> EvolutionSchedule:
        """Build a schedule from starts (seconds) and expanded profiles (without a leading delay)."""
        profiles = [
            instance("profile", profile, EvolutionProfile, InvalidAnswer)
            for profile in items("profiles", profiles, InvalidAnswer)
        ]
        sizes = [len(profile.steps) for profile in profiles]
        return cls(
            packed_integers(starts),
            packed_integers([0, *np.cumsum(sizes, dtype=np.int64)]),
            packed_integers([duration for profile in profiles for duration in profile.durations]),
            packed_integers([nodes for profile in profiles for nodes in profile.nodes]),
        )

    @property
    def completions(self) -> IntArray:
        """Shape (applications,): when each application releases its last node, in seconds."""
        if not len(self.starts):
            return self.starts
        ends: IntArray = self.starts + np.add.reduceat(self.durations, self.offsets[:-1])
        return ends

    def profile(self, app_idx: int) -> EvolutionProfile:
        """Return the expanded profile of an application, without its delay."""
        steps = slice(self.offsets[app_idx], self.offsets[app_idx + 1])
        return EvolutionProfile(
            tuple(zip(self.durations[steps].tolist(), self.nodes[steps].tolist(), strict=True))
        )

    def scheduled(self, app_idx: int) -> EvolutionProfile:
        """Return the scheduled profile of an application: delayed to its start and expanded."""
        return self.profile(app_idx).delayed(int(self.starts[app_idx]))
