"""What commands say of runs that have failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from allocsolve.bench import Record

__all__ = ["failure_fields", "failure_lines"]


def failure_lines(failed: Sequence[Record], path: Path, *, verbose: bool) -> Iterator[str]:
    """Yield a line for each run, and where it was raised or how that is shown.

    Parameters
    ----------
    failed
        The records of the runs.
    path
        Where they are kept.
    verbose
        Whether to show the tracebacks.
    """
    for record in failed:
        yield f"{record.solver} failed on {record.instance}: {record.error}"
        if verbose:
            yield from (f"  {line}" for line in record.traceback.splitlines())
    if not verbose and any(record.traceback for record in failed):
        yield f"Tracebacks are kept in {path}; -v shows them."


def failure_fields(failed: Sequence[Record]) -> list[dict[str, str]]:
    """Return the same for JSON."""
    return [
        {"solver": r.solver, "problem": r.instance, "error": r.error, "traceback": r.traceback}
        for r in failed
    ]
