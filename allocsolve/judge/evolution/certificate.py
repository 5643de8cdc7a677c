"""Bounds on makespans that the judge recomputes: from the areas, or from what a search has learned."""

from __future__ import annotations

import base64
import binascii
import zlib
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar, cast

import numpy as np

from allocsolve.errors import InvalidAnswer
from allocsolve.judge.certificates import are_integers, malformed
from allocsolve.judge.evolution.step_prices import most_paid
from allocsolve.model.checks import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from allocsolve.judge.evolution._kernels_prices import Prices
    from allocsolve.judge.evolution._kernels_proof import Base
    from allocsolve.model import EvolutionProblem, IntArray

T = TypeVar("T", bound=np.generic)

#: Bytes of a log that are decompressed and checked at a time: a certificate from anybody may unpack to any
#: size.
_PART: Final = 1 << 20
#: Clauses, and facts in all of them, for which there is room at first; the room doubles when it is used up.
_CLAUSES, _FACTS = 1 << 14, 1 << 18
#: Prices add up to less, so that a schedule pays less than 2^62.
_MOST_PRICES: Final = 1 << 32
#: Watches per clause for which there is room: two are in use, and lists that are full move and leave gaps.
_ROOM_WATCHES: Final = 16


def area_bound(problem: EvolutionProblem, certificate: Mapping[str, object], term: str) -> int:
    """Return the lower bound on the makespan by areas and single applications; a certificate adds nothing.

    Notes
    -----
    *Proof.* Let r be a release. The applications released at r or later need at least their area
    divided by all nodes after r; and no application ends before its release plus its duration.
    """
    del certificate, term
    bound = area = 0
    released = sorted(zip(problem.releases, problem.applications, strict=True), key=lambda pair: -pair[0])
    for release, profile in released:
        area += sum(duration * nodes for duration, nodes in profile.steps)
        length = sum(duration for duration, _ in profile.steps)
        bound = max(bound, release + max(length, -(-area // problem.num_nodes)))
    return bound


def refutation_bound(problem: EvolutionProblem, certificate: Mapping[str, object], term: str) -> int:
    """Return a lower bound on the makespan, recomputed from what a search has learned.

    *Certificate.* ``points``, the pairs [application, step] of the steps that may start by themselves: the
    first one of each application, and each one before which a step may have to be expanded; ``log``, in base
    64 and compressed by zlib, the items that docs/formats.md describes; and, if need be, ``prices`` as in
    `step_price_bound`, which add up to less than 2^32. `InvalidAnswer` if it has not this form, an item of it
    does not follow, or it proves nothing.

    Notes
    -----
    *Proof.* Consider the schedules that end by the horizon, the last one that the log has
    given so far. If there are any, then some have the form of the lemma in `points_of`: only points start by
    themselves, and of each pair of bounds given there at least one holds. (1) The differences between points,
    with time 0 as one more point, obey the triangle inequality, the window of each point (from the release
    plus the steps before it to the horizon less the steps from it on), and the limits of expansion. (2) Where
    two steps would overlap that together need more than all nodes, a difference is in a hole. The holes are
    recomputed here for all pairs of steps whose start and end are tied to one point each. (3) A block, some
    consecutive steps of an application, holds at least the least of their numbers of nodes all the time. If
    these numbers of blocks of different applications add up to more than all nodes, the blocks do not all
    overlap at one instant. As intervals that overlap in pairs share an instant, some block ends before
    another one starts: this is the clause of a cover, whose sum is recomputed. (4) The negation of a learned
    clause is a set of bounds on differences. With all clauses before it, the holes and the triangle
    inequality it leads to a contradiction, by raising bounds only: so the clause holds. What held for one
    horizon holds for an earlier one. (5) In the end there is a contradiction without any assumption: so no
    schedule ends by the horizon, and the bound is one second more. (6) At no instant are more than all nodes
    held. A step with n nodes that is expanded by e seconds holds n * e node-seconds for nothing; from the
    least release to the horizon all steps together can hold no more of them than all nodes have, less the
    areas of the steps. As e is a difference of two points less a constant, the waste of all other steps
    bounds that difference from above. (7) Let P be the largest price of steps that may be held at the same
    time. From the least release to the end of a step, as from the start of a step to the horizon, each second
    pays at most P. If that time is at most l seconds, for any l > 0, a step that is held for h seconds or
    more, of which at most c lie outside, is held for min(h - c, l) seconds of it or more, or for all of it.
    So while the sum of price * min(h - c, l) exceeds P * l, the time is longer than l; as that sum is concave
    in l, this then holds for all times below l as well. (8) A step can lie outside on one side only, as
    nothing is held before the least release or after the horizon; so one with the price p is held within that
    time for s = h - c seconds. The company of a step are the steps of other applications with a price that
    need no more than all nodes together with it. With each of them it overlaps no longer than from its start
    to the other's end, than from the other's start to its end, and than each of both is held. If these
    seconds add up to t < s, there are s - t seconds in which it is held and nothing in its company is, so p
    is all that is paid in them. For different steps with a price these seconds are different: if two are held
    at the same time, each is in the company of the other. Steps without a price have others, in which nothing
    is paid; those of two of them are different if one ends before the other starts. So the sum of (P - p) *
    (s - t) over all steps with a price, and of P * (s - t) over steps without one that follow each other,
    cannot be paid. It adds to the sum in (7) whatever l is, so what was said of that stays true. As much can
    be paid from the least release to the horizon as there is time.

    *Complexity*: O(pairs of steps), then for each learned clause the propagation of its negation.

    References
    ----------
    Goldberg & Novikov, "Verification of proofs of unsatisfiability for CNF formulas", DATE 2003 (clauses
    checked by unit propagation).
    """
    del term  # the makespan, the only one
    return _refuted(problem, certificate) + 1


def _refuted(problem: EvolutionProblem, certificate: Mapping[str, object]) -> int:
    """Return the horizon that a log refutes."""
    from allocsolve.judge.evolution import _kernels_proof as kernels  # noqa: PLC0415 - loads numba

    packed = problem.packed
    latest = packed.releases.astype(float).max(initial=0)
    total = float(latest) + float(packed.durations.astype(float).sum())
    if total >= kernels.BEYOND:
        msg = f"times of the problem add up to {total:.3g} s, learned clauses prove bounds below 2^29 s"
        raise InvalidAnswer(msg)
    own = points_of(problem, kernels.BEYOND)
    points = certificate.get("points")
    if not (isinstance(points, list) and all(map(_is_pair, points))):
        msg = f"points {shown(points)} of the certificate are not a list of pairs [application, step]"
        raise malformed(msg)
    if points != own.steps or not points:
        msg = f"points {shown(points)} of the certificate are not the steps that may start by themselves"
        raise InvalidAnswer(msg)
    base = _base(problem, own, certificate.get("prices"))
    count = len(own.steps)
    left = b""
    for part in log_parts(certificate.get("log")):
        data = left + part
        while True:
            outcome = kernels.check_items(base, count + 1, np.frombuffer(bytearray(data), dtype=np.uint8))
            if outcome == kernels.PROVEN:
                return int(base.state[kernels.HORIZON])
            data = data[int(base.state[kernels.POSITION]) :]
            if outcome != kernels.ROOM:
                break
            base = _with_room(base)
        if outcome != kernels.MORE:
            raise InvalidAnswer(f"item {int(base.state[kernels.ITEMS])} of the log {_FAULTS[outcome]}")
        left = data
    place = f"{'within' if left else 'after'} item {int(base.state[kernels.ITEMS])}"
    raise InvalidAnswer(f"the log ends {place}, nothing is refuted")


def _is_pair(point: object) -> bool:
    return are_integers(point) and len(point) == 2 and min(point) >= 0


#: What is wrong with an item, in the order of the outcomes of `check_items`.
_FAULTS: Final = (
    *("",) * 3,
    "has a number of more than 35 bits",
    "is a horizon that is not below the one before",
    "names blocks that are none, or not of different applications in rising order",
    "is a cover that fits on the cluster",
    "has facts that are none, or not in rising order",
    "is a clause that does not follow by propagation",
    "deletes a clause that is not there",
)


def log_parts(log: object) -> Iterator[bytes]:
    """Yield the decompressed bytes of a log, up to `_PART` at a time."""
    if not isinstance(log, str):
        raise malformed(f"log {shown(log)} of the certificate is not a text")
    try:
        packed = base64.b64decode(log, validate=True)
        stream = zlib.decompressobj()
        while not stream.eof:
            part = stream.decompress(packed, _PART)
            packed = stream.unconsumed_tail
            if not part and not packed and not stream.eof:
                raise InvalidAnswer("log of the certificate is cut short")
            yield part
    except (ValueError, binascii.Error, zlib.error) as error:
        msg = f"log of the certificate is not compressed by zlib in base 64: {error}"
        raise InvalidAnswer(msg) from error


def _base(problem: EvolutionProblem, points: Points, prices: object) -> Base:
    """Return what is known of the problem, with a horizon beyond all schedules, and what prices say of it."""
    from allocsolve.judge.evolution import _kernels_proof as kernels  # noqa: PLC0415 - loads numba

    packed = problem.packed
    n = len(points.steps) + 1
    arcs = n * n
    earliest, latest = np.append(points.earliest, 0), np.append(kernels.BEYOND - points.tail, 0)
    values = earliest[None, :] - latest[:, None]
    np.fill_diagonal(values, 0)
    for i, j, seconds in points.always:
        values[i, j] = max(values[i, j], seconds)
    for k in range(n):  # close them under paths, without holes
        values = np.maximum(values, values[:, k, None] + values[None, k, :])
    hole_offsets, holes = _holes(problem, points)
    expandable = points.expandable
    if (len(expandable) + 2) * problem.num_nodes * kernels.BEYOND >= 1 << 62:
        expandable = []  # sums of node-seconds might not fit 64 bits
    rows = [(i * n + i + 1, seconds, nodes) for i, seconds, nodes in expandable if nodes]
    waste = np.array(rows, dtype=np.int64).reshape(-1, 3)
    area = sum(duration * nodes for profile in problem.applications for duration, nodes in profile.steps)
    given = len(points.clauses)
    clauses = _CLAUSES + given
    facts = np.zeros((_FACTS + 2 * given + 4 * arcs, 2), dtype=np.int32)
    facts[: 2 * given] = [(i * n + j, seconds) for pair in points.clauses for i, j, seconds in pair] or 0
    # The clauses of the problem come first; as the state is CRAMPED, a clean-up watches them.
    slots = np.where(np.arange(clauses) < given, np.arange(clauses), 0)
    state = np.zeros(kernels.STATE_SIZE, dtype=np.int64)
    state[kernels.HORIZON] = kernels.BEYOND
    state[kernels.CLAUSES] = state[kernels.SLOTS] = given
    state[kernels.FACTS], state[kernels.CRAMPED] = 2 * given, 1
    return kernels.Base(
        values=values.ravel(),
        ground=values.ravel().copy(),
        seen=values.ravel().copy(),
        hole_offsets=hole_offsets,
        holes=holes,
        steps=packed.offsets.astype(np.int64),
        nodes=packed.nodes.astype(np.int64),
        start=points.start,
        delay=points.delay,
        end=points.end,
        end_delay=points.end_delay,
        tail=points.tail,
        num_nodes=problem.num_nodes,
        waste=waste,
        spent=min(problem.num_nodes * min(problem.releases) + area, 1 << 62),
        prices=_paying(problem, points, prices),
        place=slots,
        slot_number=slots.copy(),
        slot_begin=2 * slots,
        slot_end=2 * slots + 2,
        facts=facts,
        watches=np.zeros((_ROOM_WATCHES * clauses + 8 * arcs, 4), dtype=np.int32),
        lists=np.zeros((arcs, 3), dtype=np.int64),
        wanted=np.full(arcs, kernels.UNSET, dtype=np.int64),
        queue=np.zeros(arcs, dtype=np.int64),
        queued=np.zeros(arcs, dtype=np.bool_),
        changed=np.zeros(arcs, dtype=np.int64),
        is_changed=np.zeros(arcs, dtype=np.bool_),
        touched=np.zeros(arcs, dtype=np.int64),
        is_touched=np.zeros(arcs, dtype=np.bool_),
        ends=np.zeros(3 * n, dtype=np.int64),
        clause=np.zeros(2 * arcs, dtype=np.int64),
        state=state,
    )


def _paying(problem: EvolutionProblem, points: Points, prices: object) -> Prices:
    """Return what steps pay; without prices there are none."""
    from allocsolve.judge.evolution._kernels_prices import Prices  # noqa: PLC0415 - loads numba
    from allocsolve.judge.evolution._kernels_proof import BEYOND  # noqa: PLC0415 - loads numba

    packed = problem.packed
    rows, most = np.empty((0, 5), dtype=np.int64), 0
    if prices is not None:
        most = most_paid(problem, prices)
        flat = np.array([price for row in cast("list[list[int]]", prices) for price in row], dtype=np.int64)
        if flat.astype(float).sum() >= _MOST_PRICES:
            raise InvalidAnswer("prices of the certificate add up to 2^32 or more")
        rows = np.column_stack([points.start, points.delay, points.end, points.end_delay, flat])
    owners = np.repeat(np.arange(len(problem.applications)), np.diff(packed.offsets))
    fits = (packed.nodes[:, None] + packed.nodes <= problem.num_nodes) & (owners[:, None] != owners)
    company = [np.flatnonzero(own & (rows[:, 4] > 0)) for own in fits[: len(rows)]]
    return Prices(
        steps=rows if most else rows[:0],
        most=most,
        release=min(problem.releases),
        can_lose=(len(rows) + 2) * most * BEYOND < 1 << 62,
        company_offsets=np.cumsum([0, *map(len, company)]),
        company=np.concatenate([*company, np.empty(0, dtype=np.int64)]).astype(np.int64),
        beside=np.zeros(len(rows), dtype=np.int64),
        inside=np.zeros(len(rows), dtype=np.int64),
        free=np.zeros(len(rows), dtype=np.int64),
        alone=np.zeros(len(rows), dtype=np.int64),
    )


def _with_room(base: Base) -> Base:
    """Return the same base with twice the room for clauses, facts and watches."""

    def twice(array: NDArray[T]) -> NDArray[T]:
        return np.concatenate([array, np.zeros_like(array)])

    return base._replace(
        place=twice(base.place),
        slot_number=twice(base.slot_number),
        slot_begin=twice(base.slot_begin),
        slot_end=twice(base.slot_end),
        facts=twice(base.facts),
        watches=twice(base.watches),
    )


def _holes(problem: EvolutionProblem, points: Points) -> tuple[IntArray, IntArray]:
    """Return for each arc the differences at which two steps overlap that need more than all nodes, merged.

    Only steps count whose start and end are tied to the same point.
    """
    nodes, start, end = problem.packed.nodes, points.delay, points.end_delay
    own = [np.flatnonzero((points.start == at) & (points.end == at)) for at in range(len(points.steps))]
    holes: list[tuple[int, int]] = []
    offsets = [0]
    for i in range(len(own) + 1):
        for j in range(len(own) + 1):
            if max(i, j) < len(own) and points.steps[i][0] != points.steps[j][0]:
                a, b = own[i][:, None], own[j][None, :]
                exceeding = nodes[a] + nodes[b] > problem.num_nodes
                low = (start[a] - end[b] + 1)[exceeding]
                high = (end[a] - start[b] - 1)[exceeding]
                holes += _merged(sorted(zip(low.tolist(), high.tolist(), strict=True)))
            offsets.append(len(holes))
    return np.array(offsets, dtype=np.int64), np.array(holes, dtype=np.int64).reshape(-1, 2)


def _merged(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return sorted ranges of integers; ranges that overlap or touch are joined."""
    joined: list[tuple[int, int]] = []
    for low, high in ranges:
        if joined and low <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(high, joined[-1][1])
        else:
            joined.append((low, high))
    return joined


class Points(NamedTuple):
    """The steps that may start by themselves; time 0, the *origin*, is one more point after the last."""

    #: The application and the step of each point.
    steps: list[list[int]]
    #: For each step of all applications: a point and the seconds from it to the start of the step, and a
    #: point and the seconds from it to the end.
    start: IntArray
    delay: IntArray
    end: IntArray
    end_delay: IntArray
    #: For each point: its earliest time, and the least seconds from it to the end of the application.
    earliest: IntArray
    tail: IntArray
    #: Bounds that always hold: rows (i, j, seconds), point j is at least this much later than point i.
    always: list[tuple[int, int, int]]
    #: Pairs of such bounds of which at least one holds.
    clauses: list[tuple[tuple[int, int, int], tuple[int, int, int]]]
    #: Steps that may be expanded: rows (i, seconds, nodes). A step with so many nodes ends at point i + 1; it
    #: is expanded by what comes between so many seconds after point i and that end.
    expandable: list[tuple[int, int, int]]


def points_of(problem: EvolutionProblem, beyond: int) -> Points:
    """Return the points of the schedules that end before `beyond`.

    *Lemma.* If some schedule ends by a given time, then so does one in which a step is expanded only if all
    steps below it are expanded to their limits. Below step i are the later steps with fewer nodes and the
    earlier steps with as many or fewer, provided that the nodes never rise on the way from i to them; the
    last step is also below i if it has as many nodes.

    *Proof.* Let step i be expanded, and step j below it not be at its limit. Expand j by one more second and
    i by one less, and shift the steps between them. At no time are more nodes held than before. If j is the
    last step, end the application a second earlier instead; if it is the first, start a second later. Each
    such change saves node-seconds, or else seconds of expansion, or else moves an expanded second to an
    earlier step: so the changes come to an end.

    Hence neither the first nor the last step is ever expanded, nor a step that has one of these below it, nor
    one with a step below it whose limit is out of reach.
    """
    packed = problem.packed
    steps: list[list[int]] = []
    times: list[tuple[int, int]] = []
    ends: list[tuple[int, int]] = []
    windows: list[tuple[int, int]] = []
    always: list[tuple[int, int, int]] = []
    clauses: list[tuple[tuple[int, int, int], tuple[int, int, int]]] = []
    expandable: list[tuple[int, int, int]] = []
    for app, ((a, b), release) in enumerate(
        zip(pairwise(packed.offsets.tolist()), problem.releases, strict=True)
    ):
        durations, longest = packed.durations[a:b].tolist(), packed.max_durations[a:b].tolist()
        below = _below(packed.nodes[a:b].tolist(), durations, longest, beyond - release)
        for step, duration in enumerate(durations):
            if step == 0 or step - 1 in below:
                steps.append([app, step])
                windows.append((release + sum(durations[:step]), sum(durations[step:])))
                delay = 0
            times.append((len(steps) - 1, delay))
            delay += duration
            ends.append((len(steps), 0) if step in below else (len(steps) - 1, delay))
        for step, lower in below.items():
            point, before = times[a + step]
            always.append((point, point + 1, before + durations[step]))
            expandable.append((point, before + durations[step], int(packed.nodes[a + step])))
            if longest[step] < beyond:
                always.append((point + 1, point, -before - longest[step]))
            for other in lower:
                its_point, its_delay = times[a + other]
                clauses.append(
                    (
                        (point + 1, point, -before - durations[step]),
                        (its_point, its_point + 1, its_delay + longest[other]),
                    )
                )

    def columns(rows: list[tuple[int, int]]) -> tuple[IntArray, IntArray]:
        one, two = np.array(rows, dtype=np.int64).reshape(-1, 2).T.copy()
        return one, two

    return Points(steps, *columns(times), *columns(ends), *columns(windows), always, clauses, expandable)


def _below(nodes: list[int], durations: list[int], longest: list[int], beyond: int) -> dict[int, list[int]]:
    """Return, for each step that may have to be expanded, the steps that are then at their limits."""
    last, room = len(nodes) - 1, beyond - sum(durations)
    below = {}
    for step in range(1, last):
        lower = [
            *(
                j
                for j in range(step + 1, last + 1)
                if _never_rise(nodes[step : j + 1]) and (nodes[j] < nodes[step] or j == last)
            ),
            *(j for j in range(step) if _never_rise(nodes[j : step + 1][::-1])),
        ]
        out_of_reach = any(j in (0, last) or longest[j] - durations[j] > room for j in lower)
        if longest[step] > durations[step] and not out_of_reach:
            below[step] = [j for j in lower if longest[j] > durations[j]]
    return below


def _never_rise(nodes: Sequence[int]) -> bool:
    return all(one >= two for one, two in pairwise(nodes))
