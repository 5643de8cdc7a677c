"""Proofs of makespans as clauses and a refutation, which the verified checker reads."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from allocsolve.errors import InvalidAnswer, UnsupportedProblem
from allocsolve.families import ProofText
from allocsolve.judge.evolution.certificate import log_parts, points_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from allocsolve.judge.evolution._kernels_reasons import Replay
    from allocsolve.judge.evolution.certificate import Points
    from allocsolve.model import EvolutionProblem, EvolutionSchedule, IntArray

T = TypeVar("T", bound=np.generic)

#: Bytes of a log that are replayed at most.
_LONGEST_LOG: Final = 1 << 28
#: The lengths of the lists of a replay at first; they double when they are used up.
_LENGTHS: Final = 1 << 14


def evolution_proof_text(
    problem: EvolutionProblem,
    certificate: Mapping[str, object],
    bound: int,
    answer: EvolutionSchedule | None = None,
) -> ProofText:
    """Return a certificate that the judge has accepted as the text that the verified checker reads.

    Applications are not expanded. `bound` is what the judge has recomputed, in seconds; if the answer, a
    feasible schedule, is as long, the checker proves that none is shorter. `UnsupportedProblem` if the
    checker has no theorem for this certificate or these applications, or the log is too long.

    Notes
    -----
    The log is replayed under its last horizon, with the reasons of all that follows; of these only what the
    refutation needs is kept. Nothing here is trusted but that the lines of the applications are those of the
    problem: the checker looks at each clause itself.

    *Complexity*: that of the judge, times the length of the explanations.

    References
    ----------
    Cruz-Filipe et al., "Efficient certified RAT verification", CADE 2017 (the format LRAT).
    """
    kind = certificate.get("kind")
    if kind not in ("area", "learned-clauses"):
        msg = f"certificates of the kind {kind} are not verified: area and learned-clauses are"
        raise UnsupportedProblem(msg)
    if problem.expand_limit != 1:
        msg = f"bounds under the expand limit {problem.expand_limit:g} are not verified: those under 1 are"
        raise UnsupportedProblem(msg)
    if certificate.get("prices") is not None:
        raise UnsupportedProblem("learned clauses that need prices of steps are not verified")
    lines = [f"evolution-profiles {problem.num_nodes} {len(problem.applications)}"]
    for release, profile in zip(problem.releases, problem.applications, strict=True):
        steps = chain.from_iterable(profile.steps)
        lines.append(" ".join(map(str, (release, len(profile.steps), *steps))))
    below = ["areas"] if kind == "area" else _refuted(problem, certificate, bound)
    missing = "" if problem.applications else "there are no applications"
    proof = "\n".join([*_schedule(answer), *below, ""])
    return ProofText("\n".join([*lines, ""]), proof, nothing_counts=missing)


def _refuted(problem: EvolutionProblem, certificate: Mapping[str, object], bound: int) -> Iterator[str]:
    """Return the lines of the refutation that a log of learned clauses leads to."""
    from allocsolve.judge.evolution import (  # noqa: PLC0415 - loads numba
        _kernels_reasons as reasons,
        _kernels_refutation as kernels,
    )

    data = b""
    for part in log_parts(certificate.get("log")):
        data += part
        if len(data) > _LONGEST_LOG:
            raise UnsupportedProblem(f"the log has more than {_LONGEST_LOG} bytes")
    replay = _replay(problem, bound - 1)
    items = np.frombuffer(bytearray(data), dtype=np.uint8)
    n = len(problem.applications) + 1
    while (outcome := kernels.replay(replay, n, items)) == reasons.ROOM:
        replay = _with_room(replay)
    if outcome != reasons.REFUTED:
        raise InvalidAnswer("the log refutes no schedule under its last horizon")
    return _refutation(replay, n, bound)


def _schedule(answer: EvolutionSchedule | None) -> Iterator[str]:
    if answer is not None:
        yield f"schedule {int(answer.completions.max(initial=0))}"
        yield from map(str, answer.starts.tolist())


def _replay(problem: EvolutionProblem, horizon: int) -> Replay:
    """Return a replay at its beginning."""
    from allocsolve.judge.evolution import _kernels_reasons as reasons  # noqa: PLC0415 - loads numba

    points = points_of(problem, horizon + 1)
    n = len(points.steps) + 1
    arcs, size = n * n, max(_LENGTHS, 4 * n * n)
    hole_offsets, holes = _holes(problem, points)
    origin = n - 1
    windows = [(origin, at, int(points.earliest[at])) for at in range(origin)]
    windows += [(at, origin, int(points.tail[at]) - horizon) for at in range(origin)]

    def zeros(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    return reasons.Replay(
        values=zeros(arcs) + reasons.UNSET,
        current=zeros(arcs) - 1,
        seen=zeros(arcs) + reasons.UNSET,
        reverses=np.arange(arcs).reshape(n, n).T.ravel().copy(),
        trail=zeros(size, 6),
        entry_hints=zeros(size),
        hole_offsets=hole_offsets,
        holes=holes,
        windows=np.array(windows, dtype=np.int64),
        steps=problem.packed.offsets.astype(np.int64),
        begins=points.delay,
        ends=points.end_delay,
        wants=zeros(size, 5),
        wanted=zeros(arcs) - 1,
        todo=zeros(size),
        clause_begin=zeros(size),
        clause_end=zeros(size),
        clause_hints=zeros(size),
        is_dead=np.zeros(size, dtype=np.bool_),
        facts=np.zeros((size, 2), dtype=np.int32),
        watches=np.zeros((size, 4), dtype=np.int32),
        lists=zeros(arcs, 3),
        literals=zeros(size),
        literal_ends=zeros(size),
        hints=zeros(size),
        hint_ends=zeros(size),
        axioms=zeros(size, 6),
        axiom_table=zeros(_table_size(size)),
        blocks=zeros(size, 3),
        known=zeros(_table_size(4 * arcs)),
        known_stamps=zeros(_table_size(4 * arcs)),
        marks=zeros(size),
        marked=zeros(size),
        shown=zeros(size),
        state=zeros(reasons.STATE_SIZE),
        peak=zeros(reasons.STATE_SIZE),
    )


def _table_size(entries: int) -> int:
    """Return the power of two that has more than twice as many places."""
    return 1 << (2 * entries).bit_length()


#: Lists of a replay that are used up together, and the entry of the state that says how far.
_GROWING: Final = (
    (("trail", "entry_hints", "marks", "marked", "shown"), "TRAIL"),
    (("wants",), "WANTS"),
    (("todo",), "TODO"),
    (("known", "known_stamps"), "KNOWN"),
    (("clause_begin", "clause_end", "clause_hints", "is_dead"), "CLAUSES"),
    (("watches",), "WATCHES"),
    (("facts",), "FACTS"),
    (("literals",), "LITERALS"),
    (("literal_ends", "hint_ends"), "LINES"),
    (("hints",), "HINTS"),
    (("axioms",), "AXIOMS"),
    (("blocks",), "BLOCKS"),
)


def _with_room(replay: Replay) -> Replay:
    """Return the same replay with longer arrays: those that are nearly full, and the work lists."""
    from allocsolve.judge.evolution import (  # noqa: PLC0415 - loads numba
        _kernels_reasons as reasons,
        _kernels_refutation as kernels,
    )

    grown = {}
    for names, used in _GROWING:
        arrays = {name: getattr(replay, name) for name in names}
        if 2 * replay.peak[getattr(reasons, used)] > len(arrays[names[0]]):
            grown.update({name: np.concatenate([each, np.zeros_like(each)]) for name, each in arrays.items()})
    longer = replay._replace(**grown)
    if "axioms" in grown:
        longer = longer._replace(axiom_table=np.zeros(_table_size(len(longer.axioms)), dtype=np.int64))
        kernels.fill_axiom_table(longer)
    return longer


def _blocks(nodes: IntArray) -> IntArray:
    """Return the longest runs of steps that hold as much as one of them: rows (first, steps, nodes)."""
    rows = set()
    for step, level in enumerate(nodes.tolist()):
        less = np.flatnonzero(nodes < level)
        first = int(less[less < step].max(initial=-1)) + 1
        rows.add((first, int(less[less > step].min(initial=len(nodes))) - first, level))
    return np.array(sorted(rows), dtype=np.int64)


def _holes(problem: EvolutionProblem, points: Points) -> tuple[IntArray, IntArray]:
    """Return the holes of each arc: one for each two blocks that together need more than all nodes.

    A block of steps holds its least nodes all the time; the holes of its steps are within its own.
    """
    spans = [slice(a, b) for a, b in pairwise(problem.packed.offsets.tolist())]
    blocks = [_blocks(problem.packed.nodes[span]) for span in spans]
    begins, ends = [], []
    for span, (first, steps, _) in zip(spans, (own.T for own in blocks), strict=True):
        begins.append(points.delay[span][first])
        ends.append(points.end_delay[span][first + steps - 1])
    parts = [np.zeros((0, 7), dtype=np.int64)]
    counts = [0]
    for i in range(len(spans) + 1):
        for j in range(len(spans) + 1):
            counts.append(0)
            if max(i, j) < len(spans) and i != j:
                total = blocks[i][:, 2, None] + blocks[j][None, :, 2]
                one, two = np.nonzero(total > problem.num_nodes)
                low, high = begins[i][one] - ends[j][two] + 1, ends[i][one] - begins[j][two] - 1
                rows = np.column_stack([low, low, high, blocks[i][one, :2], blocks[j][two, :2]])
                rows = rows[np.lexsort((-high, low))]
                last = np.maximum.accumulate(rows[:, 2])
                farthest = np.maximum.accumulate(np.where(rows[:, 2] == last, np.arange(len(rows)), 0))
                rows[:, 1:] = rows[farthest, 1:]
                parts.append(rows)
                counts[-1] = len(rows)
    return np.cumsum(counts), np.concatenate(parts)


def _refutation(replay: Replay, n: int, bound: int) -> Iterator[str]:
    """Yield the variables, the clauses and the lines that the refutation needs."""
    from allocsolve.judge.evolution import (  # noqa: PLC0415 - loads numba
        _kernels_reasons as reasons,
        _kernels_refutation as kernels,
    )

    used_lines = np.zeros(replay.state[reasons.LINES], dtype=np.bool_)
    used_axioms = np.zeros(replay.state[reasons.AXIOMS], dtype=np.bool_)
    kernels.find_used(replay, used_lines, used_axioms)
    axioms, lines = replay.axioms[np.flatnonzero(used_axioms)], np.flatnonzero(used_lines)
    covers = axioms[:, 0] == kernels.COVER
    clauses = axioms[covers, 1]
    cover_facts, cover_ends = _parts(replay.facts, replay.clause_begin[clauses], replay.clause_end[clauses])
    covered = np.empty(len(cover_facts), dtype=np.int64)
    kernels.literals_of(cover_facts, covered, n)
    derived, derived_ends = _rows(replay.literals, replay.literal_ends, lines)
    hints, hint_ends = _rows(replay.hints, replay.hint_ends, lines)
    # Variables are numbered from 1 on, and so are clauses; lines go on after the clauses.
    stated = axioms[:, 1:4] * ~covers[:, None]
    facts = np.unique(np.abs(np.concatenate([stated.ravel(), covered, derived])))
    facts = facts[facts > 0]
    numbers = np.zeros(len(used_axioms) + len(used_lines), dtype=np.int64)
    numbers[: len(used_axioms)][used_axioms] = np.arange(1, len(axioms) + 1)
    # The hint of line l is -1 - l, a place that counts from the end.
    numbers[len(used_axioms) :][::-1][used_lines] = np.arange(len(axioms) + 1, len(axioms) + len(lines) + 1)

    def named(literals: IntArray) -> list[int]:
        at = np.searchsorted(facts, np.abs(literals)) + 1
        found: list[int] = (np.sign(literals) * at).tolist()
        return found

    yield f"refutation {bound} {len(facts)} {len(axioms)} {len(lines)}"
    arcs, values = facts >> reasons.VALUE_BITS, facts & ((1 << reasons.VALUE_BITS) - 1)
    points = zip(
        (arcs // n).tolist(), (arcs % n).tolist(), (values - reasons.VALUE_SHIFT).tolist(), strict=True
    )
    yield from (f"{i} {j} {value}" for i, j, value in points)
    texts = iter(_joined(named(covered), cover_ends))
    columns = [axioms[:, 0].tolist(), *(named(column) for column in stated.T), *axioms[:, 4:].T.tolist()]
    ends = (np.abs(stated[:, 1]) >> reasons.VALUE_BITS).tolist()
    for kind, one, two, three, x, y, arc in zip(*columns, ends, strict=True):
        if kind == kernels.CYCLE:
            yield f"cycle {one} {two} {three} 0" if three else f"cycle {one} {two} 0"
        elif kind == kernels.RELEASE:
            yield f"release {x} {one} 0"
        elif kind == kernels.DEADLINE:
            yield f"deadline {x} {one} 0"
        elif kind == kernels.TWO_BLOCKS:
            # Blocks stand in the order of their applications, as the literal does; a hole is that of the arc.
            own = replay.holes[x, 3:].tolist()
            first, second = (own[:2], own[2:]) if two > 0 else (own[2:], own[:2])
            yield f"cover 2 {arc // n} {first[0]} {first[1]} {arc % n} {second[0]} {second[1]} {one} {two} 0"
        else:
            blocks = replay.blocks[x : x + y].ravel().tolist()
            yield f"cover {y} {' '.join(map(str, blocks))} {next(texts)} 0"
    names = zip(
        _joined(named(derived), derived_ends), _joined(numbers[hints].tolist(), hint_ends), strict=True
    )
    for number, (literals, hinted) in enumerate(names, start=len(axioms) + 1):
        yield f"{number} {literals} 0 {hinted} 0" if literals else f"{number} 0 {hinted} 0"


def _rows(values: IntArray, ends: IntArray, used: IntArray) -> tuple[IntArray, IntArray]:
    """Return the values of the lines that are used, one line after the other, and where each one ends."""
    begins = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]])
    return _parts(values, begins[used], ends[used])


def _parts(values: NDArray[T], begins: IntArray, ends: IntArray) -> tuple[NDArray[T], IntArray]:
    """Return the parts of an array from `begins` to `ends`, one after the other, and where each one ends."""
    lengths = ends - begins
    stops = np.cumsum(lengths)
    return values[np.arange(lengths.sum()) + np.repeat(begins - stops + lengths, lengths)], stops


def _joined(values: list[int], ends: IntArray) -> list[str]:
    """Return the numbers of each part as a text."""
    texts = [*map(str, values)]
    bounds = [0, *ends.tolist()]
    return [" ".join(texts[begin:end]) for begin, end in pairwise(bounds)]
