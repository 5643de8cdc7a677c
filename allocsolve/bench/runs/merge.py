"""Merging files of records: of several machines, or of several people."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.bench.runs.records import Record, RecordKey
    from allocsolve.bench.runs.runner import Progress
    from allocsolve.bench.runs.store import RecordStore

__all__ = ["merge_records"]


def merge_records(
    into: RecordStore, stores: Sequence[RecordStore], *, progress: Progress | None = None
) -> int:
    """Add the records of some stores to another, with their problems, answers, certificates and suites.

    Of several records of a key the newest is taken, by its time. Nothing is doubled: what `into` has, or has
    something newer for, is not added. A record whose problem or answer is damaged is left out.

    Parameters
    ----------
    into
        Where the records go.
    stores
        Where they come from.
    progress
        Told after each record, and at the start.

    Returns
    -------
    int
        How many were added.
    """
    newest: dict[RecordKey, tuple[Record, RecordStore]] = {}
    for store in stores:
        into.add_catalogue(store.catalogue())
        for record in store:
            known = newest.get(record.key)
            if known is None or _age(known[0]) < _age(record):
                newest[record.key] = record, store
    added = 0
    for done, (key, (record, store)) in enumerate(newest.items()):
        if progress:
            progress(done, len(newest), f"{record.solver} on {record.instance}")
        if key in into:
            if into[key].when >= record.when:
                continue
            record = replace(record, attempt=max(record.attempt, into.attempts(key) + 1))  # noqa: PLW2901 - the row that is added
        try:
            problem = store.problem(record.digest)
        except KeyError:  # the store has said why
            continue
        answer = store.answer(key)
        if (answer is None) == (record.value is None):
            added += into.append(record, problem, answer, store.certificate(key))
    if progress:
        progress(len(newest), len(newest), "done")
    return added


def _age(record: Record) -> tuple[str, int]:
    return record.when, record.attempt
