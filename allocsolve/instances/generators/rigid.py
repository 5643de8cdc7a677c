"""Models of rigid jobs: that of Lublin & Feitelson, with a daily cycle, and Downey's as Lina et al. use it.

Neither has estimates of users.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from allocsolve.errors import InvalidOption
from allocsolve.instances.generators._streams import (
    MOST_JOBS,
    Seed,
    check_range,
    recipe,
    seed_name,
    seed_words,
)
from allocsolve.model import Jobs, WorkloadProblem
from allocsolve.model.options import Within, checked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.model import FloatArray, IntArray

#: Batch and interactive jobs together, one kind of jobs in place of both, or one of the two kinds.
LublinModel: TypeAlias = Literal["types", "typeless", "batch", "interactive"]
LUBLIN_MODELS: Final[tuple[LublinModel, ...]] = get_args(LublinModel)

#: The nodes of the cluster for which the constants were fitted, and the range of clusters.
_FITTED_NODES: Final = 128
_LEAST_NODES: Final = 32
_MOST_NODES: Final = 2**30
#: The seconds of a slot of the daily cycle, half an hour, and the slots of a day.
_SLOT_S: Final = 1800
_SLOTS: Final = 48
#: Logarithms of run times and gaps in seconds above these limits are drawn again, as in the published
#: program.
_MAX_LOG_RUNTIME: Final = 12.0
_MAX_LOG_GAP: Final = 13.0
#: The points per slot at which the daily cycle is integrated.
_POINTS: Final = 129


@dataclass(frozen=True, slots=True)
class _Kind:
    """The constants of a kind of jobs, named as in the paper."""

    serial: float  #: share of jobs on one node
    power_of_two: float  #: share of jobs on another power of two
    low: float  #: logarithms to base 2 of sizes: uniform in low..medium or medium..high
    medium: float
    high: float
    small: float  #: share of the former
    a1: float  #: shapes and scales of the two gamma distributions of the logarithm of run times
    b1: float
    a2: float
    b2: float
    pa: float  #: share of the first of the two: pa nodes + pb
    pb: float
    aarr: float  #: shape and scale of the logarithm of gaps
    barr: float
    anum: float  #: shape and scale of the daily cycle
    bnum: float
    rush: float  #: arrival rush to all ratio


_KINDS: Final = {
    "batch": _Kind(
        *(0.2927, 0.6686, 1.2, 5, 7, 0.875),
        *(6.57, 0.823, 639.1, 0.0156, -0.003, 0.6986),
        *(6.0415, 0.8531, 6.1271, 5.2740, 1.0519),
    ),
    "interactive": _Kind(
        *(0.1541, 0.625, 1, 3, 5.5, 0.705),
        *(3.8351, 0.6605, 7.073, 0.6856, -0.0118, 0.9156),
        *(6.5510, 0.6621, 8.9186, 3.6680, 0.9797),
    ),
    "typeless": _Kind(
        *(0.244, 0.576, 0.8, 4.5, 7, 0.86),
        *(4.2, 0.94, 312, 0.03, -0.0054, 0.78),
        *(10.2303, 0.4871, 8.1737, 3.9631, 1.0225),
    ),
}


class _Drawn(NamedTuple):
    submit: FloatArray
    nodes: IntArray
    runtime: FloatArray


def lublin1999(
    seed: Seed,
    *,
    num_jobs: Annotated[int, Within(0, MOST_JOBS)],
    num_nodes: Annotated[int, Within(_LEAST_NODES, _MOST_NODES)] = _FITTED_NODES,
    model: LublinModel = "types",
) -> WorkloadProblem:
    """Draw a workload from the model of Lublin & Feitelson, with the constants of its published program.

    Sizes are one node, powers of two or others, their logarithms uniform in two stages; logarithms of run
    times are gamma distributed in two branches, large jobs run longer; gaps between jobs follow a daily
    cycle that starts at midnight. Times are whole seconds; jobs have no limits. O(num_jobs), all at once.

    Parameters
    ----------
    seed
        One or more integers >= 0 for `numpy.random.default_rng`; the same seed gives the same problem.
    num_jobs
        Jobs of a problem.
    num_nodes
        Nodes of the cluster: 32..2^30. The constants are those of 128; elsewhere the largest size is all of
        the nodes, and the border of the two stages is 2.5 powers of two below it. Interactive jobs
        reach 1.5 powers of two less far.
    model
        Batch and interactive jobs, one kind for both, or one of the two. ``types``: batch and interactive
        jobs, drawn apart and merged by submission; names say which is which. ``typeless``: one kind in place
        of both. ``batch``, ``interactive``: that kind alone.

    References
    ----------
    Lublin & Feitelson, "The workload on parallel supercomputers: modeling the characteristics of rigid jobs",
    JPDC 63, 2003 (technical report 1999).

    Examples
    --------
    >>> problem = lublin1999(7, num_jobs=1000)
    >>> problem.name, problem.num_nodes, len(problem.jobs)
    ('lublin1999-s7', 128, 1000)
    """
    words = seed_words(seed)
    num_jobs, num_nodes, model = checked(lublin1999, num_jobs=num_jobs, num_nodes=num_nodes, model=model)
    rng = np.random.default_rng(words)
    kinds = ("batch", "interactive") if model == "types" else (model,)
    drawn = [_draw(rng, _scaled(kind, num_nodes), num_jobs, num_nodes) for kind in kinds]
    submit, nodes, runtime = (np.concatenate(columns) for columns in zip(*drawn, strict=True))
    order = np.argsort(submit, kind="stable")[:num_jobs]
    kind_of = [kinds[idx] for idx in np.repeat(np.arange(len(kinds)), num_jobs)[order].tolist()]
    zero = submit[order[0]] if num_jobs else 0.0
    return WorkloadProblem(
        num_nodes,
        Jobs(
            submit[order] - zero,
            nodes[order],
            runtime[order],
            names=[f"{kind}-{idx}" for idx, kind in enumerate(kind_of)] if len(kinds) > 1 else None,
        ),
        name=f"lublin1999-s{seed_name(words)}",
        meta=recipe("lublin1999", seed=words, num_jobs=num_jobs, num_nodes=num_nodes, model=model),
    )


def _scaled(name: str, num_nodes: int) -> _Kind:
    """Return a kind with its sizes on a cluster of `num_nodes` nodes."""
    kind = _KINDS[name]
    if num_nodes == _FITTED_NODES:
        return kind
    high = math.log2(num_nodes) - (_KINDS["batch"].high - kind.high)
    fields = {field: getattr(kind, field) for field in kind.__slots__}
    return _Kind(**{**fields, "high": high, "medium": max(high - 2.5, kind.low)})


def _draw(rng: np.random.Generator, kind: _Kind, count: int, num_nodes: int) -> _Drawn:
    share = rng.random(count)
    small = rng.random(count) < kind.small
    low = np.where(small, kind.low, kind.medium)
    size = low + rng.random(count) * (np.where(small, kind.medium, kind.high) - low)
    power = np.floor(size + 0.5)
    size = np.where(share <= kind.serial + kind.power_of_two, power, size)
    nodes = np.where(share <= kind.serial, 1, np.floor(np.exp2(size) + 0.5)).astype(np.int64)
    nodes = np.minimum(nodes, num_nodes)  # the rounded logarithm may be above that of the cluster
    first = rng.random(count) < np.clip(kind.pa * nodes + kind.pb, 0, 1)
    shape, scale = np.where(first, kind.a1, kind.a2), np.where(first, kind.b1, kind.b2)
    runtime = np.floor(np.exp(_gamma(rng, shape, scale, _MAX_LOG_RUNTIME)))
    gaps = _gamma(rng, np.full(count, kind.aarr * kind.rush), np.full(count, kind.barr), _MAX_LOG_GAP)
    return _Drawn(np.floor(_arrivals(np.exp(gaps) / _SLOT_S, kind)), nodes, runtime)


def _gamma(rng: np.random.Generator, shape: FloatArray, scale: FloatArray, limit: float) -> FloatArray:
    """Return gamma variates; those above the limit are drawn again."""
    values = rng.gamma(shape, scale)
    again = np.flatnonzero(values > limit)
    while len(again):
        values[again] = rng.gamma(shape[again], scale[again])
        again = again[values[again] > limit]
    return values


def _arrivals(gaps: FloatArray, kind: _Kind) -> FloatArray:
    """Return the arrivals in seconds: gaps pass at the rate of the slot of the day."""
    weights = _slot_weights(kind)
    ends = np.cumsum(weights)
    days, rest = np.divmod(np.cumsum(gaps), ends[-1])
    slot = np.minimum(np.searchsorted(ends, rest, side="right"), _SLOTS - 1)
    inside = (rest - (ends[slot] - weights[slot])) / weights[slot]
    seconds: FloatArray = _SLOT_S * (_SLOTS * days + slot + inside)
    return seconds


def _slot_weights(kind: _Kind) -> FloatArray:
    """Return the weights of the half hours of a day from midnight on, 1 in the mean.

    They are those of a gamma distribution between the slots 10.5 and 58.5, where 48 is the next midnight.
    """
    first = np.arange(11, 11 + _SLOTS)
    points = first[:, None] - 0.5 + np.linspace(0, 1, _POINTS)
    density = np.exp((kind.anum - 1) * np.log(points) - points / kind.bnum)
    simpson = np.array([1, *[4, 2] * (_POINTS // 2 - 1), 4, 1])
    weights = np.empty(_SLOTS)
    weights[(first - 1) % _SLOTS] = density @ simpson
    rates: FloatArray = weights / weights.mean()
    return rates


def downey1997(
    seed: Seed,
    *,
    num_jobs: Annotated[int, Within(0, MOST_JOBS)] = 10_000,
    num_nodes: Annotated[int, Within(1)] = 10_000,
    load: Annotated[float, Within(0, above=True)] = 0.75,
    nodes: Annotated[Sequence[int], Within(1)] = (2, 5000),
    runtime: Annotated[Sequence[int], Within(1)] = (296, 20_131),
) -> WorkloadProblem:
    """Draw a workload of rigid jobs that arrive at random.

    The logarithms of numbers of nodes and of run times are uniform, independently; the times between
    submissions are exponential, with a mean such that the jobs need the share `load` of the cluster.
    Sizes and times are rounded to whole nodes and seconds; jobs have no limits. O(num_jobs).

    Parameters
    ----------
    seed
        One or more integers >= 0 for `numpy.random.default_rng`; the same seed gives the same problem.
    num_jobs
        Jobs of a problem; at most 2^24.
    num_nodes
        Nodes of the cluster.
    load
        Share of the cluster that the jobs need, above 0; from 1 on the queue grows without limit.
    nodes
        Nodes of a job: the smallest and the largest number.
    runtime
        Seconds of a job: the smallest and the largest number.

    Notes
    -----
    By default with the parameters of Lina et al. 2022, table 1, where the largest logarithm of sizes is
    rounded: jobs of 4994 nodes, as they report one, need 5000. They draw run times; in Downey's model it is
    the total work and the average parallelism of jobs that have uniform logarithms.

    References
    ----------
    Downey, "A parallel workload model and its implications for processor allocation", HPDC 1997.
    Lina, Ghafoor & Hines, "Scheduling of elastic message passing applications on HPC systems", JSSPP 2022.

    Examples
    --------
    >>> problem = downey1997(17)
    >>> problem.name, problem.num_nodes, len(problem.jobs)
    ('downey1997-s17', 10000, 10000)
    >>> round(problem.area / (problem.num_nodes * float(problem.packed.submit.max())), 2)
    0.73
    """
    words = seed_words(seed)
    num_jobs, num_nodes, load = checked(downey1997, num_jobs=num_jobs, num_nodes=num_nodes, load=load)
    smallest, largest = check_range("nodes", nodes, 1)
    shortest, longest = check_range("runtime", runtime, 1)
    if largest > num_nodes:
        raise InvalidOption(f"num_nodes {num_nodes} is below {largest}: jobs have up to {largest} nodes")
    gap = _mean(smallest, largest) * _mean(shortest, longest) / (load * num_nodes)
    rng = np.random.default_rng(words)
    size, length = (
        _log_uniform(rng, num_jobs, *limits) for limits in ((smallest, largest), (shortest, longest))
    )
    gaps = gap * rng.exponential(size=num_jobs)
    gaps[:1] = 0
    return WorkloadProblem(
        num_nodes,
        Jobs(np.rint(np.cumsum(gaps)), size.astype(np.int64), length),
        name=f"downey1997-s{seed_name(words)}",
        meta=recipe(
            "downey1997",
            seed=words,
            num_jobs=num_jobs,
            num_nodes=num_nodes,
            load=float(load),
            nodes=[smallest, largest],
            runtime=[shortest, longest],
        ),
    )


def _mean(low: int, high: int) -> float:
    """Return the mean of a variable with a uniform logarithm."""
    return float(low) if low == high else (high - low) / math.log(high / low)


def _log_uniform(rng: np.random.Generator, count: int, low: int, high: int) -> FloatArray:
    values: FloatArray = np.clip(
        np.rint(np.exp(rng.uniform(math.log(low), math.log(high), count))), low, high
    )
    return values
