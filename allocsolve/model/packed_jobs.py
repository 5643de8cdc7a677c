"""The columns of jobs as kernels take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from allocsolve.model.arrays import IntArray
    from allocsolve.model.columns import FloatArray


class PackedJobs(NamedTuple):
    """The columns of jobs as read-only arrays, as every kernel takes them.

    All have shape (jobs,) except the tables; that of job ``j`` is ``table_offsets[j]:table_offsets[j + 1]``.
    """

    #: Seconds.
    submit: FloatArray
    #: The nodes that a rigid job runs on; for other jobs, those to which `runtime` refers.
    nodes: IntArray
    min_nodes: IntArray
    max_nodes: IntArray
    #: Seconds on `nodes` nodes.
    runtime: FloatArray
    #: What a policy may assume as the run time on `nodes` nodes, in seconds: the limit, or 1.25 times the run
    #: time where no limit is given.
    estimate: FloatArray
    #: >= 0.
    weight: FloatArray
    #: `NO_SPEEDUP`, `AMDAHL`, `POWER`, `SPEEDUP_TABLE` or `OVERHEAD`.
    speedup: IntArray
    #: The parallel share for `AMDAHL`, the exponent for `POWER`, for `OVERHEAD` the y of run times that are
    #: multiples of ``1 / n + y n``; otherwise 0.
    parameter: FloatArray
    #: Shape (jobs + 1,).
    table_offsets: IntArray
    #: Shape (rows of all tables,): numbers of nodes, and seconds on them.
    table_nodes: IntArray
    table_seconds: FloatArray
    #: `RIGID`, `MOLDABLE`, `MALLEABLE` or `EVOLVING`.
    kind: IntArray
    #: Equal parts of the work of a malleable job between which its size may change; 0: any time.
    points: IntArray
    #: Sizes are multiples of this number; 0 (`POWERS_OF_TWO`): powers of two.
    size_step: IntArray
