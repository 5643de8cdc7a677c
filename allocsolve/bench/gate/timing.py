"""Times that another machine can be held to: CPU and wall time of a solver in units of reference works.

Solver and works are run in turn within the same process, and the least times are compared: a slower or busy
machine slows down all. Only the calls themselves count, after the kernels were compiled. docs/gate.md has the
law by which times on two machines are compared.

CPU time is that of all threads, and of other processes that a call starts and waits for. Wall time is also
that of sleeping, but not of waiting while other programs have the processors: Linux says how long that was,
for the thread that makes the calls. So a solver that leaves its work to other threads or processes has no
wall time: it would be that of a busy machine.

Reference works have the results that they must have. A work that is changed needs a new name, as baselines
hold times in its unit. A time is written in units of the first of them, the walk, and so are the times of the
other works on the same machine.
"""

from __future__ import annotations

import functools
import math
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from allocsolve.families import families
from allocsolve.judge.quantiles import quantile
from allocsolve.kernels import inner_kernel, kernel
from allocsolve.model import Limit
from allocsolve.registry import ready

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from allocsolve.families import AnySolver
    from allocsolve.model import BoolArray, Budget, FloatArray, IntArray, Problem


@kernel
def draw(array: IntArray) -> None:
    """Fill an array with pseudo-random numbers of 15 bits."""
    drawn = 2011
    for idx in range(len(array)):
        drawn = (drawn * 1_103_515_245 + 12_345) % 2_147_483_648
        array[idx] = drawn >> 16


@kernel
def walk(array: IntArray, steps: int) -> int:
    """Walk pseudo-randomly over an array of its own indices and change it on the way; return a checksum.

    Each step is a load, a branch that is hard to guess and a store, all of which depend on the step before:
    where the arrays happen to lie in memory makes no difference, as it does to loops that copy.
    """
    length = len(array)
    for idx in range(length):
        array[idx] = (idx * 7_919) % length
    drawn = 2011
    total = 0
    for _ in range(steps):
        drawn = (drawn * 1_103_515_245 + 12_345) % 2_147_483_648
        place = array[drawn % length]
        if place > drawn % length:
            total += place
        else:
            total -= 1
        array[place] = (place + total) % length
    return total


@kernel
def scan(free: BoolArray, nodes: IntArray, size: int) -> int:
    """Look for the runs of a mask that have at least `size` elements, and gather all; return a checksum.

    The loops are those of an allocation on a node order. `nodes` is as long as the mask and written to.
    """
    total = 0
    length = 0
    for position in range(len(free) + 1):
        if position < len(free) and free[position]:
            length += 1
            continue
        if length >= size:
            total += position - length
        length = 0
    count = 0
    for position in range(len(free)):
        if free[position]:
            nodes[count] = position
            count += 1
    for place in range(count):
        total += nodes[place] % 3
    return total


@kernel
def sort(keys: IntArray, ordered: IntArray, spare: IntArray) -> int:
    """Sort keys into `ordered` by merging longer and longer runs; return a checksum of places and keys."""
    count = len(keys)
    for idx in range(count):
        ordered[idx] = keys[idx]
    length = 1
    while length < count:
        for start in range(0, count, 2 * length):
            _merge(ordered, spare, start, min(start + length, count), min(start + 2 * length, count))
        for idx in range(count):
            ordered[idx] = spare[idx]
        length *= 2
    total = 0
    for idx in range(count):
        total += (idx % 7) * ordered[idx]
    return total


@inner_kernel
def _merge(ordered: IntArray, merged: IntArray, start: int, middle: int, stop: int) -> None:
    left, right = start, middle
    for place in range(start, stop):
        if left < middle and (right >= stop or ordered[left] <= ordered[right]):
            merged[place] = ordered[left]
            left += 1
        else:
            merged[place] = ordered[right]
            right += 1


@kernel
def relax(weights: FloatArray, values: FloatArray, rounds: int) -> float:
    """Bring each value nearer to the one before, from left to right, again and again; return a checksum."""
    for idx in range(len(values)):
        values[idx] = 1.0 + weights[idx]
    for _ in range(rounds):
        for idx in range(1, len(values)):
            change = weights[idx] * (values[idx] - values[idx - 1])
            values[idx] -= change / (1.0 + values[idx - 1])
    total = 0.0
    for idx in range(len(values)):
        total += weights[idx] * values[idx]
    return total


@kernel
def sweep(first: IntArray, second: IntArray, changes: IntArray, rounds: int) -> int:
    """Add up distances between two arrays in `changes`, then the changes to a level; return the sum of peaks.

    The first loop of each round can work on several elements at a time, the second cannot: the sums and peaks
    of a resource profile are such loops. A work of vectors only would tell more of the width of the vectors
    than any solver does, and would excuse whatever becomes slower.
    """
    for idx in range(len(changes)):
        changes[idx] = 0
    total = 0
    for repetition in range(rounds):
        for idx in range(len(changes)):
            changes[idx] += abs(first[idx] - second[idx] - repetition)
        level = peak = 0
        for idx in range(len(changes)):
            level = abs(level - changes[idx])
            peak = max(peak, level)
        total += peak
    return total


class References(NamedTuple):
    """The CPU time of each reference work on one machine, in units of the walk."""

    walk: float  #: loads, branches and stores each of which depends on the one before
    scan: float  #: runs of a random mask are looked for: branches that cannot be guessed
    sort: float  #: merge sort of integers
    floats: float  #: a chain of additions, multiplications and divisions of floating-point numbers
    sweep: float  #: sums and peaks of arrays, in part several elements at a time where the processor can
    interpreter: float  #: Python that is not compiled


class Ratios(NamedTuple):
    """By how much the times of the reference works have changed."""

    smallest: float
    largest: float


def ratios(before: References | None, now: References | None) -> Ratios:
    """Return the range of the ratios from one machine to another.

    If one of the two is not known, as in older baselines, the machines count as the same.
    """
    if before is None or now is None:
        return Ratios(1, 1)
    each = [new / old for old, new in zip(before, now, strict=True)]
    return Ratios(min(each), max(each))


def median_references(each: Iterable[References]) -> References | None:
    """Return the median of each reference work, to 4 digits, over several measurements; None without any."""
    columns = [*zip(*each, strict=True)]
    return References(*(float(f"{quantile(column, 0.5):.4g}") for column in columns)) if columns else None


try:
    import resource
except ImportError:  # another system than Unix
    resource = None  # type: ignore[assignment]  # there is nothing to ask

#: A call that takes less is not timed if there is a larger problem: its kernel would not be most of it.
_LEAST_S: Final = 0.5e-3
#: A solver that takes longer than that is timed on the smallest problem.
_LIMIT_S: Final = 0.25
#: Least length of one sample: short enough that some escape every disturbance.
_SAMPLE_S: Final = 1e-3
#: Samples of a batch, but one at least, and what they may take together.
_SAMPLES: Final = 10
_BATCH_S: Final = 2.5
#: Batches of samples, and at most if the time is suspicious.
_BATCHES: Final = 3
BATCHES_IF_DOUBTFUL: Final = 12
#: What share of the CPU time other threads and processes may have if a wall time is to count.
_OTHERS: Final = 0.1

_SCHEDSTAT: Final = Path("/proc/thread-self/schedstat")


#: The largest size that glibc takes into account, but for what it adds itself.
_KEPT_BYTES: Final = 31 * 2**20


@functools.cache
def _keep_memory() -> None:
    """Let the allocator keep what is freed, whatever this process has done before.

    That of glibc gives freed memory back to the system if it is more than twice the largest block that was
    freed so far, and it takes time to get it again: without this, solvers that make arrays take up to 1.4
    times as long in one process as in another. Elsewhere this does nothing.
    """
    np.empty(_KEPT_BYTES, dtype=np.int8)  # freed at once


class _Sample(NamedTuple):
    """Of one call, in seconds."""

    cpu: float  #: of all threads, and of other processes that have ended
    wall: float  #: by the clock, without waiting for a processor that others have
    alone: bool  #: whether the work was done by this thread: nobody says for how long others have waited


class Times(NamedTuple):
    """What a stopwatch shows, in units of the walk."""

    cpu: float  #: the least CPU time of a call
    wall: float  #: the least wall time; infinite if it is not known, where other threads or processes work
    references: References  #: the least CPU times of the reference works


class Stopwatch:
    """Times one solver on one problem, sample by sample."""

    def __init__(self, solver: AnySolver, problem: Problem, budget: Budget) -> None:
        _keep_memory()
        self._works = {name: functools.partial(do, name) for name in References._fields}
        self._solver, self._problem, self._budget = solver, problem, budget
        self._cpu = self._wall = math.inf
        self._references = dict.fromkeys(self._works, math.inf)
        self._calls = 1
        ready(solver, problem)
        #: What stopped the first call.
        self.limit: Limit | None = None
        #: Seconds of one call, roughly.
        self.rough = self._sample()
        if self.rough.wall <= _LIMIT_S:
            self.rough = min((self._sample() for _ in range(3)), key=lambda sample: sample.wall)
        seconds = max(self.rough.wall, 1e-6)
        self._calls = math.ceil(_SAMPLE_S / seconds)
        self._samples = max(1, min(_SAMPLES, int(_BATCH_S / seconds)))
        #: How many times it is measured if no time is doubtful.
        self.batches = 1 if seconds > _BATCH_S else _BATCHES

    def _call(self) -> None:
        self.limit = self._solver(self._problem, self._budget).limit

    def _sample(self) -> _Sample:
        sample = _sample(self._call, self._calls)
        self._cpu = min(self._cpu, sample.cpu)
        if sample.alone:
            self._wall = min(self._wall, sample.wall)
        return sample

    def measure(self) -> Times:
        """Take some more samples; return the least times of all so far."""
        for work in self._works.values():
            work()
        for _ in range(self._samples):
            for name, work in self._works.items():
                self._references[name] = min(self._references[name], _sample(work).cpu)
            self._sample()
        unit = self._references["walk"]
        references = References(*(time / unit for time in self._references.values()))
        return Times(self._cpu / unit, self._wall / unit, references)


def _sample(call: Callable[[], object], times: int = 1) -> _Sample:
    # The clock of the wall is read first and last: what delays the readings never makes its time less.
    start, queued, cpu, own = perf_counter(), _queued_s(), _cpu_s(), thread_time()
    for _ in range(times):
        call()
    own, cpu, queued = thread_time() - own, _cpu_s() - cpu, _queued_s() - queued
    wall = perf_counter() - start - queued
    return _Sample(cpu / times, wall / times, alone=cpu - own <= _OTHERS * cpu)


def _cpu_s() -> float:
    """Return the CPU time of this process and of those that it has waited for."""
    if resource is None:
        return process_time()
    others = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + others.ru_utime + others.ru_stime


def _queued_s() -> float:
    """Return for how long this thread was ready to run while others had the processors; 0 if none can say."""
    try:
        return int(_SCHEDSTAT.read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):  # another system, or a kernel that does not count it
        return 0.0


def timing_problems(kind: str) -> Mapping[str, Callable[[], Problem]]:
    """Return the problems on which solvers of this kind are timed, by name, from small to large."""
    return next((family.timing_problems for family in families() if family.kind == kind), {})


@functools.cache
def ladder_problem(kind: str, name: str) -> Problem:
    """Return the timing problem of this kind and name."""
    problem: Problem = timing_problems(kind)[name]()
    return problem


def rung(kind: str, solver: AnySolver, budget: Budget) -> tuple[str, Stopwatch] | None:
    """Return the problem of this kind on which the solver is timed, by name, and a stopwatch on it.

    It is the smallest one on which a call takes long enough, or the largest one that the solver can do within
    a moment; the smallest, however long that takes. None if it stops there at a time limit or fails.
    """
    chosen = None
    for name in timing_problems(kind):
        try:
            watch = Stopwatch(solver, ladder_problem(kind, name), budget)
        except Exception:  # noqa: BLE001 - it may be made for smaller problems
            break
        if watch.limit is Limit.TIME or (chosen is not None and watch.rough.wall > _LIMIT_S):
            break
        chosen = name, watch
        if watch.rough.cpu >= _LEAST_S or watch.rough.wall > _LIMIT_S:
            break
    return chosen


#: Elements of the arrays: about as many as a busy resource profile has segments, or a mesh of 32x32 nodes.
LENGTH: Final = 1_500
#: Of the mask, as on a mesh of 256x256: a processor would learn a shorter one by heart.
MASK_LENGTH: Final = 65_536
#: Of the sweep: a whole number of lines of the cache, but not of pages.
WIDTH: Final = 1_088
#: The inputs of the works.
STEPS: Final = 100_000
RUN_LENGTH: Final = 2
KEYS: Final = 4_096
RELAXATIONS: Final = 20
SWEEPS: Final = 240
INSTRUCTIONS: Final = 1_500
#: The results that the works must have.
RESULTS: Final = References(
    walk=49_882_810,
    scan=267_192_701,
    sort=199_639_015,
    floats=934.6176929781523,
    sweep=825_571_752,
    interpreter=294_260,
)


@functools.cache
def draws(count: int) -> IntArray:
    """Return pseudo-random numbers, the same ones each time; nobody may change them."""
    array = np.empty(count, dtype=np.int64)
    draw(array)
    return array


@functools.cache
def mask() -> BoolArray:
    """Return what is scanned; nobody may change it."""
    free: BoolArray = draws(MASK_LENGTH) % 2 == 1
    return free


@functools.cache
def weights() -> FloatArray:
    """Return fractions; nobody may change them."""
    fractions: FloatArray = draws(LENGTH) / 32_768
    return fractions


@functools.cache
def _space(length: int) -> IntArray:
    """Return an array to write to: making one would be work of the operating system."""
    return np.empty(length, dtype=np.int64)


def _sort() -> int:
    ordered, spare = _space(2 * KEYS)[:KEYS], _space(2 * KEYS)[KEYS:]
    return sort(draws(KEYS), ordered, spare)


@functools.cache
def _rows() -> IntArray:
    """Return the arrays of the sweep: they begin with a line of the cache, or vectors would straddle two."""
    space = np.empty(3 * WIDTH + 8, dtype=np.int64)
    start = -space.ctypes.data % 64 // 8
    rows = space[start : start + 3 * WIDTH].reshape(3, WIDTH)
    rows[:2] = draws(2 * WIDTH).reshape(2, WIDTH)
    return rows


def interpreted(steps: int) -> int:
    """Count pseudo-random numbers in a dictionary and list what was counted; return a checksum."""
    counts: dict[int, int] = {}
    listed: list[tuple[int, int]] = []
    drawn = 2011
    for _ in range(steps):
        drawn = (drawn * 1_103_515_245 + 12_345) % 2_147_483_648
        key = drawn % 61
        counts[key] = counts.get(key, 0) + 1
        if drawn & 65_536:
            listed.append((counts[key], key))
    return sum(count * key for count, key in listed)


def _sweep() -> int:
    first, second, changes = _rows()
    return sweep(first, second, changes, SWEEPS)


WORKS: Final[Mapping[str, Callable[[], float]]] = {
    "walk": lambda: walk(_space(LENGTH), STEPS),
    "scan": lambda: scan(mask(), _space(MASK_LENGTH), RUN_LENGTH),
    "sort": _sort,
    "floats": lambda: relax(weights(), np.empty(LENGTH), RELAXATIONS),
    "sweep": _sweep,
    "interpreter": lambda: interpreted(INSTRUCTIONS),
}


def do(name: str) -> None:
    """Do the work of this name once and check what it comes to."""
    result = WORKS[name]()
    expected = getattr(RESULTS, name)
    assert result == expected, f"the reference work {name} found {result}, not {expected}"
