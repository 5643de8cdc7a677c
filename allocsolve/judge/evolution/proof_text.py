"""Proofs of makespans as clauses and a refutation, which the verified checker reads."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.errors import InvalidAnswer, UnsupportedProblem
from allocsolve.families import ProofText
from allocsolve.judge.evolution.certificate import log_parts, points_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from allocsolve.judge.evolution._kernels_refutation import Replay
    from allocsolve.judge.evolution.certificate import Points
    from allocsolve.model import EvolutionProblem, EvolutionSchedule, IntArray

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

    Parameters
    ----------
    problem
        Applications that are not expanded.
    certificate
        Learned clauses.
    bound
        What the judge has recomputed from it, in seconds.
    answer
        A feasible schedule, or None. Is it as long as the bound, the checker proves that none is shorter.

    Raises
    ------
    UnsupportedProblem
        If the checker has no theorem for this certificate or these applications, or the log is too long.

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
    if kind != "learned-clauses":
        msg = f"certificates of the kind {kind} are not verified: learned clauses are"
        raise UnsupportedProblem(msg)
    if problem.expand_limit != 1:
        msg = f"bounds under the expand limit {problem.expand_limit:g} are not verified: those under 1 are"
        raise UnsupportedProblem(msg)
    from allocsolve.judge.evolution import _kernels_refutation as kernels  # noqa: PLC0415 - loads numba

    data = b""
    for part in log_parts(certificate.get("log")):
        data += part
        if len(data) > _LONGEST_LOG:
            msg = f"the log has more than {_LONGEST_LOG} bytes"
            raise UnsupportedProblem(msg)
    replay = _replay(problem, bound - 1)
    items = np.frombuffer(bytearray(data), dtype=np.uint8)
    n = len(problem.applications) + 1
    while (outcome := kernels.replay(replay, n, items)) == kernels.ROOM:
        replay = _with_room(replay)
    if outcome != kernels.REFUTED:
        msg = "the log refutes no schedule under its last horizon"
        raise InvalidAnswer(msg)
    lines = [f"evolution-profiles {problem.num_nodes} {len(problem.applications)}"]
    for release, profile in zip(problem.releases, problem.applications, strict=True):
        steps = chain.from_iterable(profile.steps)
        lines.append(" ".join(map(str, (release, len(profile.steps), *steps))))
    proof = [*_schedule(answer), *_refutation(replay, n, bound)]
    return ProofText("\n".join([*lines, ""]), "\n".join([*proof, ""]))


def _schedule(answer: EvolutionSchedule | None) -> Iterator[str]:
    if answer is not None:
        yield f"schedule {int(answer.completions.max(initial=0))}"
        yield from map(str, answer.starts.tolist())


def _replay(problem: EvolutionProblem, horizon: int) -> Replay:
    """Return a replay at its beginning."""
    from allocsolve.judge.evolution import _kernels_refutation as kernels  # noqa: PLC0415 - loads numba

    points = points_of(problem, horizon + 1)
    n = len(points.steps) + 1
    arcs, size = n * n, max(_LENGTHS, 4 * n * n)
    hole_offsets, holes = _holes(problem, points)
    origin = n - 1
    windows = [(origin, at, int(points.earliest[at])) for at in range(origin)]
    windows += [(at, origin, int(points.tail[at]) - horizon) for at in range(origin)]

    def zeros(*shape: int) -> IntArray:
        return np.zeros(shape, dtype=np.int64)

    return kernels.Replay(
        current=zeros(arcs) - 1,
        seen=zeros(arcs) - (1 << 40),
        trail=zeros(size, 6),
        entry_hints=zeros(size),
        hole_offsets=hole_offsets,
        holes=holes,
        windows=np.array(windows, dtype=np.int64),
        steps=problem.packed.offsets.astype(np.int64),
        begins=points.delay,
        ends=points.end_delay,
        wants=zeros(size, 5),
        todo=zeros(size),
        clause_begin=zeros(size),
        clause_end=zeros(size),
        clause_hints=zeros(size),
        is_dead=np.zeros(size, dtype=np.bool_),
        watched=zeros(size, 2),
        facts=zeros(size, 2),
        first_watch=zeros(arcs) - 1,
        next_watch=zeros(2 * size),
        literals=zeros(size),
        literal_ends=zeros(size),
        hints=zeros(size),
        hint_ends=zeros(size),
        axioms=zeros(size, 6),
        axiom_table=zeros(_table_size(size)),
        blocks=zeros(size, 3),
        known=zeros(_table_size(size)),
        known_stamps=zeros(_table_size(size)),
        marks=zeros(size),
        marked=zeros(size),
        state=zeros(kernels.STATE_SIZE),
    )


def _table_size(entries: int) -> int:
    """Return the power of two that has more than twice as many places."""
    return 1 << (2 * entries).bit_length()


#: The lists of a replay that grow, and the entry of the state that says how much of each is used.
_GROWING: Final = {
    "trail": "TRAIL",
    "clause_begin": "CLAUSES",
    "facts": "FACTS",
    "literals": "LITERALS",
    "hint_ends": "LINES",
    "hints": "HINTS",
    "axioms": "AXIOMS",
    "blocks": "BLOCKS",
}


def _with_room(replay: Replay) -> Replay:
    """Return the same replay with longer arrays: those that are nearly full, and the work lists."""
    from allocsolve.judge.evolution import _kernels_refutation as kernels  # noqa: PLC0415 - loads numba

    grown = {}
    for name in (
        *_GROWING,
        "entry_hints",
        "wants",
        "todo",
        "clause_end",
        "clause_hints",
        "is_dead",
        "watched",
    ):
        grown[name] = _twice(getattr(replay, name))
    for name in ("next_watch", "literal_ends", "marks", "marked"):
        grown[name] = _twice(getattr(replay, name))
    for name in ("axiom_table", "known", "known_stamps"):
        grown[name] = np.zeros(2 * len(getattr(replay, name)), dtype=np.int64)
    longer = replay._replace(**grown)
    kernels.fill_axiom_table(longer)
    return longer


def _twice(array: IntArray) -> IntArray:
    return np.concatenate([array, np.zeros_like(array)])


def _holes(problem: EvolutionProblem, points: Points) -> tuple[IntArray, IntArray]:
    """Return for each arc the holes of each two steps that need more than all nodes, and the two steps."""
    nodes, begins, ends = problem.packed.nodes, points.delay, points.end_delay
    spans = [slice(a, b) for a, b in zip(problem.packed.offsets, problem.packed.offsets[1:], strict=False)]
    rows: list[tuple[int, int, int, int]] = []
    offsets = [0]
    for i in range(len(spans) + 1):
        for j in range(len(spans) + 1):
            if max(i, j) < len(spans) and i != j:
                exceeding = nodes[spans[i], None] + nodes[None, spans[j]] > problem.num_nodes
                low = begins[spans[i], None] - ends[None, spans[j]] + 1
                high = ends[spans[i], None] - begins[None, spans[j]] - 1
                one, two = np.nonzero(exceeding)
                columns = (low[exceeding], high[exceeding], one, two)
                rows += zip(*(column.tolist() for column in columns), strict=True)
            offsets.append(len(rows))
    return np.array(offsets, dtype=np.int64), np.array(rows, dtype=np.int64).reshape(-1, 4)


def _refutation(replay: Replay, n: int, bound: int) -> Iterator[str]:
    """Yield the variables, the clauses and the lines that the refutation needs."""
    from allocsolve.judge.evolution import _kernels_refutation as kernels  # noqa: PLC0415 - loads numba

    lines = np.zeros(replay.state[kernels.LINES], dtype=np.bool_)
    axioms = np.zeros(replay.state[kernels.AXIOMS], dtype=np.bool_)
    kernels.find_used(replay, lines, axioms)
    clauses = [_clause(replay, n, row) for row in replay.axioms[np.flatnonzero(axioms)].tolist()]
    bounds = [(0, 0), *zip(replay.literal_ends.tolist(), replay.hint_ends.tolist(), strict=True)]
    used = np.flatnonzero(lines).tolist()
    derived = [replay.literals[bounds[at][0] : bounds[at + 1][0]].tolist() for at in used]
    # Variables and clauses have numbers from 1 on; lines go on after the clauses.
    facts = sorted(
        {abs(literal) for literals in chain((c for _, c in clauses), derived) for literal in literals}
    )
    names = {fact: str(number) for number, fact in enumerate(facts, start=1)}
    names.update({-fact: f"-{name}" for fact, name in names.items()})
    numbers = np.zeros(len(axioms) + len(lines), dtype=np.int64)
    numbers[: len(axioms)][axioms] = np.arange(1, len(clauses) + 1)
    # A line -1 - l is at the place -1 - l from the end.
    numbers[len(axioms) :][::-1][lines] = np.arange(len(clauses) + 1, len(clauses) + len(used) + 1)
    yield f"refutation {bound} {len(facts)} {len(clauses)} {len(used)}"
    for fact in facts:
        arc, value = fact >> kernels.VALUE_BITS, fact & ((1 << kernels.VALUE_BITS) - 1)
        yield f"{arc // n} {arc % n} {value - kernels.VALUE_SHIFT}"
    for kind, literals in clauses:
        yield f"{kind} {' '.join([names[literal] for literal in literals])} 0"
    for number, (at, literals) in enumerate(zip(used, derived, strict=True), start=len(clauses) + 1):
        hints = numbers[replay.hints[bounds[at][1] : bounds[at + 1][1]]].tolist()
        yield " ".join([str(number), *[names[literal] for literal in literals], "0", *map(str, hints), "0"])


def _clause(replay: Replay, n: int, row: list[int]) -> tuple[str, list[int]]:
    """Return the kind of an axiom, with the numbers that belong to it, and its literals."""
    from allocsolve.judge.evolution import _kernels_refutation as kernels  # noqa: PLC0415 - loads numba

    kind, *literals, x, y = row
    literals = [literal for literal in literals if literal]
    if kind == kernels.CYCLE:
        return "cycle", literals
    if kind == kernels.RELEASE:
        return f"release {x}", literals
    if kind == kernels.DEADLINE:
        return f"deadline {x}", literals
    if kind == kernels.TWO_STEPS:
        arc = abs(literals[1]) >> kernels.VALUE_BITS
        i, j = arc // n, arc % n  # of the literal; the hole is that of the fact
        if literals[1] < 0:
            x, y = y, x
        return f"cover 2 {i} {x} 1 {j} {y} 1", literals
    clause = row[1]
    facts = replay.facts[replay.clause_begin[clause] : replay.clause_end[clause]].tolist()
    blocks = replay.blocks[x : x + y].ravel().tolist()
    return f"cover {y} {' '.join(map(str, blocks))}", [_literal(n, arc, value) for arc, value in facts]


def _literal(n: int, arc: int, value: int) -> int:
    """Return a fact as the kernels write it."""
    from allocsolve.judge.evolution import _kernels_refutation as kernels  # noqa: PLC0415 - loads numba

    i, j = divmod(arc, n)
    if i < j:
        return (arc << kernels.VALUE_BITS) + value + kernels.VALUE_SHIFT
    return -(((j * n + i) << kernels.VALUE_BITS) + 1 - value + kernels.VALUE_SHIFT)
