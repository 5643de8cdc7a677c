"""The batches of the paper: 20 jobs on 10 nodes, of which a share evolves."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from allocsolve.errors import FormatError, InvalidOption
from allocsolve.instances.formats.logs.lines import read_lines
from allocsolve.instances.generators.evotree import JOBS, NUM_NODES, SIZES, draw_evotree, evotree_jobs
from allocsolve.model import WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from allocsolve.instances.generators.evotree import EvotreeKind

#: Shares of jobs that are not rigid; the seeds of the batches are consecutive.
SHARES: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
FIRST_SEED: Final = 42
NUM_BATCHES: Final = 5


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch with all its shares."""

    name: str
    num_nodes: int
    sizes: tuple[int, ...]  #: nominal, in order of submission
    submits: tuple[int, ...]  #: seconds
    chosen: Mapping[float, frozenset[int]]  #: by share: the jobs that are not rigid

    def problem(self, share: float, kind: EvotreeKind, release_delay: float) -> WorkloadProblem:
        """Return the workload of a share of the batch; see `allocsolve.instances.evotree_batch`."""
        if share not in self.chosen:
            has = ", ".join(f"{100 * known:g}" for known in self.chosen)
            msg = f"share {100 * share:g} %: {self.name} has {has}"
            raise InvalidOption(msg)
        places = (place in self.chosen[share] for place in range(len(self.sizes)))
        rows = zip(self.submits, self.sizes, places, strict=True)
        name = f"{self.name}-{kind}{100 * share:g}" if share else f"{self.name}-rigid"
        return WorkloadProblem(self.num_nodes, evotree_jobs(rows, kind, release_delay), name=name)


def drawn_batches(
    first: int = FIRST_SEED, count: int = NUM_BATCHES, shares: Sequence[float] = SHARES
) -> tuple[Batch, ...]:
    """Draw batches as the published configuration does; by default those of the paper.

    The seeds are `first`, `first` + 1, ..; each share is in 0..1.
    """
    if (
        count < 1
        or not shares
        or len({*shares}) < len(shares)
        or not all(0 <= share <= 1 for share in shares)
    ):
        listed = ", ".join(f"{100 * share:g}" for share in shares)
        msg = f"{count} batches, shares of {listed} %: nothing to draw, or a share twice or not in 0..100"
        raise InvalidOption(msg)
    batches = []
    for seed in range(first, first + count):
        drawn = {share: draw_evotree(seed, int(share * JOBS)) for share in sorted(shares)}
        rows = drawn[min(shares)]
        chosen = {share: batch.evolving for share, batch in drawn.items()}
        batches.append(Batch(f"evotree-s{seed}", NUM_NODES, rows.sizes, rows.submits, chosen))
    return tuple(batches)


def read_batches(path: Path) -> tuple[Batch, ...]:
    """Read batches from a JSON file, such as one that repeats the published configuration.

    It has ``nodes`` and ``batches``, each with ``seed``, ``nodes`` (nominal sizes), ``effective_submit``
    (seconds) and ``evolving_indices`` by per cent; other fields are passed over. `FormatError` is raised if
    the file cannot be read or is none of this kind.
    """
    text, _ = read_lines(path, _joined)
    try:
        document = json.loads(text)
        batches = tuple(_batch(document["nodes"], row) for row in document["batches"])
    except (KeyError, TypeError, ValueError) as error:
        raise FormatError(str(path), [f"no batches of EvoTree: {type(error).__name__} {error}"]) from None
    if not batches:
        raise FormatError(str(path), ["no batches"])
    return batches


def _joined(lines: Iterator[tuple[int, str]]) -> str:
    return "".join(line for _, line in lines)


def _batch(num_nodes: int, row: Mapping[str, object]) -> Batch:
    """Return a batch; a KeyError, TypeError or ValueError is raised if it is none."""
    sizes, submits, indices = row["nodes"], row["effective_submit"], row["evolving_indices"]
    if not (isinstance(sizes, list) and isinstance(submits, list) and isinstance(indices, dict)):
        msg = "nodes, effective_submit or evolving_indices is none"
        raise TypeError(msg)
    if not {*sizes} <= {*SIZES} or len(sizes) != len(submits):
        msg = f"sizes {sizes} are not all of {SIZES}, or not as many as submissions"
        raise ValueError(msg)
    chosen = {0.0: frozenset[int]()} | {
        int(percent) / 100: frozenset(map(int, places)) for percent, places in indices.items()
    }
    if any(not 0 <= place < len(sizes) for places in chosen.values() for place in places):
        msg = f"evolving_indices name a job beyond the {len(sizes)} of the batch"
        raise ValueError(msg)
    return Batch(f"evotree-s{row['seed']}", int(num_nodes), tuple(sizes), tuple(submits), chosen)
