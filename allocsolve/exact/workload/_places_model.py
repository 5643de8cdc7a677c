"""Jobs on nodes that are places as a model of CP-SAT: how many chunks of each are on which node."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from ortools.sat.python import cp_model

from allocsolve.exact.workload._model import WorkloadModel
from allocsolve.model import packed_places
from allocsolve.model.closed_nodes import closed_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from allocsolve.model import WorkloadSchedule


class PlacesModel(WorkloadModel):
    """The model of a problem: starts and terms as those of any workload, and where jobs are."""

    def _add_machine(self) -> None:
        """Add chunks on nodes, what nodes have, who is alone, what is closed, and an order of equal jobs."""
        self.places = packed_places(self.problem)
        #: Of each job, the number of its chunks on each node on which one fits.
        self.chunks: list[dict[int, cp_model.IntVar]] = []
        on_node: list[list[tuple[int, cp_model.IntervalVar]]] = [[] for _ in self.places.type_of_node]
        for job in range(len(self.starts)):
            self._add_chunks(job, on_node)
        closed = closed_nodes(self.problem.closed, len(on_node))
        for node, held in enumerate(on_node):
            spans = range(closed.first[node], closed.first[node + 1])
            edges = [(self.grid.point(closed.start[at]), self.grid.point(closed.end[at])) for at in spans]
            shut = [
                self.model.new_fixed_size_interval_var(begin, end - begin, f"c{node}_{begin}")
                for begin, end in edges
                if begin < end
            ]
            if held:
                self._add_node(node, held, shut)
        self._order_equal_jobs()

    def _add_chunks(self, job: int, on_node: list[list[tuple[int, cp_model.IntervalVar]]]) -> None:
        """Add the chunks of a job: they are on as many nodes as it needs at least, and are there together."""
        model, places = self.model, self.places
        shape = places.shape[job]
        length = self.grid.down(float(self.problem.jobs.packed.runtime[job]))
        mine: dict[int, cp_model.IntVar] = {}
        there = []
        for node, kind in enumerate(places.type_of_node.tolist()):
            most = int(places.most[shape, kind])
            if not most:
                continue
            used = model.new_bool_var(f"u{job}_{node}")
            mine[node] = used
            if most > 1:
                mine[node] = model.new_int_var(0, most, f"x{job}_{node}")
                model.add(mine[node] >= used)
                model.add(mine[node] <= most * used)
            there.append(used)
            interval = model.new_optional_fixed_size_interval_var(
                self.starts[job], length, used, f"i{job}_{node}"
            )
            on_node[node].append((job, interval))
        model.add(cp_model.LinearExpr.sum([*mine.values()]) == int(places.chunks[shape]))
        model.add(cp_model.LinearExpr.sum(there) >= int(places.least_nodes[shape]))
        self.chunks.append(mine)

    def _add_node(
        self,
        node: int,
        held: list[tuple[int, cp_model.IntervalVar]],
        shut: list[cp_model.IntervalVar],
    ) -> None:
        """At each instant: chunks take no more than the node has, and an exclusive job is alone there."""
        places, model = self.places, self.model
        has = places.has[places.type_of_node[node]].tolist()
        for resource, most in enumerate(has):
            intervals, demands = [], []
            for job, interval in held:
                shape = places.shape[job]
                each = int(places.each[shape, resource])
                if places.exclusive[shape] or each:
                    intervals.append(interval)
                    demands.append(most if places.exclusive[shape] else each * self.chunks[job][node])
            if intervals:
                model.add_cumulative(intervals, demands, most)
        alone = [bool(places.exclusive[places.shape[job]]) for job, _ in held]
        if any(alone) or shut:
            shared = max(1, len(held) - sum(alone))
            intervals = [*(interval for _, interval in held), *shut]
            model.add_cumulative(
                intervals, [shared if one else 1 for one in alone] + [shared] * len(shut), shared
            )

    def _order_equal_jobs(self) -> None:
        """start_i <= start_j for jobs of one shape, time and weight, i to be had first: they can swap."""
        packed = self.problem.jobs.packed
        release = self.problem.jobs.requirements.release(packed.submit)
        last: dict[tuple[float, ...], int] = {}
        for job in np.argsort(packed.submit, kind="stable").tolist():
            key = (int(self.places.shape[job]), float(packed.runtime[job]), float(packed.weight[job]))
            if key in last and release[last[key]] <= release[job]:
                self.model.add(self.starts[last[key]] <= self.starts[job])
            last[key] = job

    def read_places(
        self, value: Callable[[cp_model.LinearExpr], int]
    ) -> tuple[list[float], list[dict[int, int]]]:
        """Return the starts (s) of an answer, and on which nodes how many chunks of each job are."""
        starts = [self.grid.seconds(value(start)) for start in self.starts]
        where = [{node: value(number) for node, number in mine.items()} for mine in self.chunks]
        return starts, [{node: number for node, number in mine.items() if number} for mine in where]

    def hint_places(self, schedule: WorkloadSchedule) -> None:
        """Give CP-SAT a schedule to begin with."""
        at, nodes, chunks = schedule.place_offsets, schedule.place_nodes, schedule.place_chunks
        assert at is not None
        assert nodes is not None
        assert chunks is not None
        for job, mine in enumerate(self.chunks):
            rows = slice(at[job], at[job + 1])
            there = dict(zip(nodes[rows].tolist(), chunks[rows].tolist(), strict=True))
            self.model.add_hint(self.starts[job], self.grid.point(float(schedule.starts[job])))
            for node, number in mine.items():
                self.model.add_hint(number, there.get(node, 0))
