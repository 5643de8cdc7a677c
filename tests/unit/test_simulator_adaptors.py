"""Our policies in the simulators of others."""

from __future__ import annotations

import threading
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import batsim.batsim as pybatsim
import hpcopt_fake
import numpy as np
import pytest
import zmq
from batsim_fake import BatsimFake
from elastisim_fake import FakeElastiSim, JobType, Spec
from fake_simulators import RapsManager, cqsim_starts, raps_starts
from flux_fake import AllocRequest, FluxFake, Grant, PendingJob, ResourceCount, ResourceRequest, Scheduler
from process_tools import python

from allocsolve.adaptors import ElastisimScheduler, IllegalOrder, RapsScheduler, hpcopt, node_chooser
from allocsolve.adaptors.batsim import PybatsimScheduler
from allocsolve.adaptors.flux import FluxScheduler
from allocsolve.adaptors.hpcopt import HpcoptPlugin, HpcoptPolicy
from allocsolve.errors import InvalidOption, InvalidProblem, UnknownName
from allocsolve.heuristics import Easy
from allocsolve.instances.generators.examples import random_workload
from allocsolve.model import Amdahl, Job, Jobs, WorkloadProblem
from allocsolve.registry import make_solver
from allocsolve.simulation import EngineRules, IllegalDecision, Resize, Start, Wake, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from allocsolve.simulation import Decision, QueueView


EXACT = WorkloadProblem(4, [Job(0, 3, 100, 100), Job(1, 4, 10, 10), Job(2, 1, 1000, 1000), Job(3, 1, 50, 50)])


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a simulation under pybatsim without a socket: of a stand-in for Batsim and a scheduler."""

    def run(fake: Any, scheduler: object) -> Any:
        monkeypatch.setattr(pybatsim, "NetworkHandler", lambda *_, **__: fake)
        bs = pybatsim.Batsim(scheduler, "", 1)
        bs.start()
        return bs

    return run


def test_the_loop_of_pybatsim_over_a_socket(tmp_path: Path) -> None:
    """As users run it: a class that is a scheduler of pybatsim too, and messages over ZeroMQ."""

    class OurEasy(PybatsimScheduler, pybatsim.BatsimScheduler):  # type: ignore[misc]  # pybatsim has no types
        pass

    endpoint, fake = f"ipc://{tmp_path}/batsim", BatsimFake(EXACT)

    def simulator() -> None:
        with zmq.Context() as context, context.socket(zmq.REQ) as socket:
            socket.connect(endpoint)
            while (message := fake.recv()) is not None:
                socket.send_json(message)
                answer: Any = socket.recv_json()
                fake.send(answer)
                if message["events"][-1]["type"] == "SIMULATION_ENDS":
                    return

    thread = threading.Thread(target=simulator)
    thread.start()
    bs = pybatsim.Batsim(OurEasy("easy"), endpoint, 10_000)
    bs.start()
    thread.join()
    bs.network.context.term()
    assert [fake.starts[f"w0!{job}"] for job in range(4)] == simulate(EXACT, Easy()).first_starts.tolist()
    assert bs.nb_jobs_completed == bs.nb_jobs_scheduled == 4


def test_it_passes_the_validating_machine_of_pybatsim(monkeypatch: pytest.MonkeyPatch) -> None:
    from batsim.validatingmachine import ValidatingMachine  # noqa: PLC0415 - of this test only

    fake = BatsimFake(EXACT)
    monkeypatch.setattr(pybatsim, "NetworkHandler", lambda *_, **__: fake)

    class Protected(ValidatingMachine):  # type: ignore[misc]  # pybatsim has no types
        def onBeforeEvents(self) -> None:  # noqa: N802 - of pybatsim, whose own one hands on too little
            self.scheduler.onBeforeEvents()

        def onNoMoreEvents(self) -> None:  # noqa: N802 - pybatsim's name
            self.scheduler.onNoMoreEvents()

    bs = pybatsim.Batsim(PybatsimScheduler("easy"), "", 1, validatingmachine=Protected)
    bs.start()
    assert [fake.starts[f"w0!{job}"] for job in range(4)] == simulate(EXACT, Easy()).first_starts.tolist()


def test_a_job_that_is_too_wide_is_rejected(client: Any) -> None:
    fake = BatsimFake(EXACT)
    fake.described[1]["res"] = 5
    client(fake, PybatsimScheduler("easy"))
    assert fake.rejected == ["w0!1"]
    assert fake.starts == {"w0!0": 0.0, "w0!2": 2.0, "w0!3": 100.0}


def test_a_job_without_a_walltime_has_that_of_its_delay_or_none(client: Any) -> None:
    """1.25 times the delay; where it is unknown, the job is never expected to end."""
    rows = [Job(0, 3, 100, 100), Job(1, 4, 10, 10), Job(2, 1, 78, 78)]
    for profile, start in (("delay", 2.0), ("parallel_homogeneous", 110.0)):
        fake = BatsimFake(WorkloadProblem(4, rows))
        del fake.described[2]["walltime"]
        fake.profiles["p2"]["type"] = profile
        client(fake, PybatsimScheduler("easy"))
        assert fake.starts["w0!2"] == start, profile


def test_a_policy_is_called_when_it_asked_for(client: Any) -> None:
    def late(view: QueueView) -> Iterator[Decision]:
        if view.now < 7:
            yield Wake(7)
        elif len(view.queue):
            yield Start(int(view.queue[0]), 3)

    fake = BatsimFake(WorkloadProblem(4, [Job(0, 3, 10)]))
    client(fake, PybatsimScheduler(late))
    assert fake.starts == {"w0!0": 7.0}


def test_killed_jobs_leave_their_machines() -> None:
    scheduler = PybatsimScheduler("easy")
    started: list[Any] = []
    scheduler.bs = SimpleNamespace(
        compute_resources={0: {}, 1: {}},
        dynamic_job_registration_enabled=False,
        time=lambda: float(len(started)),
        execute_jobs=started.extend,
    )
    jobs = [
        SimpleNamespace(
            id=name, submit_time=0, requested_resources=2, requested_time=9, profile_dict=None, json_dict={}
        )
        for name in "ab"
    ]
    scheduler.onSimulationBegins()
    for job in jobs:
        scheduler.onJobSubmission(job)
    scheduler.onNoMoreEvents()
    assert started == jobs[:1]
    scheduler.onJobsKilled(jobs[:1])
    scheduler.onJobCompletion(jobs[0])  # once more changes nothing
    scheduler.onNoMoreEvents()
    assert started == jobs


def test_a_job_for_which_no_machines_are_found_waits(client: Any) -> None:
    def whole_only(free: Sequence[int], nodes: int) -> Sequence[int] | None:
        return free[-nodes:] if len(free) == 4 else None

    fake = BatsimFake(EXACT)
    client(fake, PybatsimScheduler("first-fit", choose=whole_only))
    assert fake.starts == {"w0!0": 0.0, "w0!1": 100.0, "w0!2": 110.0, "w0!3": 1110.0}
    assert fake.allocations["w0!0"] == (1, 2, 3)


def test_silence_is_refused(client: Any) -> None:
    fake = BatsimFake(EXACT)
    with pytest.raises(InvalidOption, match="Batsim is silent, and 4 jobs wait"):
        client(fake, PybatsimScheduler(lambda _view: ()))


MOLDABLE = WorkloadProblem(4, [Job(0, 2, 10, 10, min_nodes=1, max_nodes=4, speedup=Amdahl(1))])


def test_without_registration_a_moldable_job_is_rigid(client: Any) -> None:
    fake = BatsimFake(MOLDABLE)
    fake.dynamic = False
    fake._outbox[0]["data"]["config"]["dynamic-jobs-enabled"] = False
    fake._registration_finished = True
    client(fake, PybatsimScheduler("easy"))
    assert fake.sizes == {"w0!0": 2}


def test_sizes_without_that_of_the_job_are_refused(client: Any) -> None:
    fake = BatsimFake(MOLDABLE)
    del fake.described[0]["sizes"]["2"]
    with pytest.raises(InvalidOption, match=r"^job 'w0!0': its sizes are 1, 3, 4, but res is 2$"):
        client(fake, PybatsimScheduler("easy"))


# --- ElastiSim ----------------------------------------------------------------------------------------


def same(seconds: float) -> Callable[[int], float]:
    """Return a run time that is the same on all sizes."""
    return lambda _: seconds


@dataclass
class Recorder:
    """A policy that notes its views, and decides nothing but what it is given."""

    decisions: list[list[Any]] = field(default_factory=list)
    views: list[QueueView] = field(default_factory=list)

    def __call__(self, view: QueueView) -> list[Any]:
        self.views.append(view)
        return self.decisions.pop(0) if self.decisions else []


def test_columns_are_those_of_the_jobs() -> None:
    specs = [
        Spec(JobType.RIGID, 1, 3, 3, same(5), walltime=9, arguments={"num_nodes_pref": "2"}),
        Spec(JobType.MOLDABLE, 2, 2, 5, same(5)),
        Spec(JobType.MALLEABLE, 3, 1, 6, same(5), arguments={"num_nodes_pref": "4.000000"}),
        Spec(JobType.EVOLVING, 4, 1, 6, same(5), arguments={"num_nodes_pref": "1"}),
        Spec(JobType.ADAPTIVE, 5, 2, 2, same(5)),
    ]
    policy = Recorder()
    FakeElastiSim(8, specs).run(ElastisimScheduler(policy, speedup=lambda job: Amdahl(job.identifier / 4)))
    jobs = policy.views[-1].jobs
    assert jobs.submit.tolist() == [1, 2, 3, 4, 5]
    assert jobs.nodes.tolist() == [3, 3, 4, 1, 2]
    assert jobs.min_nodes.tolist() == [3, 2, 1, 1, 2]
    assert jobs.max_nodes.tolist() == [3, 5, 6, 6, 2]
    assert jobs.kind.tolist() == [0, 1, 2, 3, 2]
    assert jobs.estimate.tolist() == [9, *[float("inf")] * 4]
    assert jobs.parameter.tolist() == [0, 0.25, 0.5, 0.75, 1]
    assert policy.views[-1].queue.tolist() == [0, 1, 2, 3, 4]


def test_what_is_no_preference_policy_decision_or_choice_is_refused() -> None:
    rigid = [Spec(JobType.RIGID, 0, 2, 2, same(5))]
    for preference, message in (
        ("many", "job 0: num_nodes_pref 'many' is not a whole number"),
        ("2.5", "num_nodes_pref '2.5'"),
        ("9", "9"),
    ):
        spec = Spec(JobType.MALLEABLE, 0, 1, 4, same(5), arguments={"num_nodes_pref": preference})
        with pytest.raises(InvalidProblem, match=message):
            FakeElastiSim(4, [spec]).run(ElastisimScheduler("fcfs"))
    with pytest.raises(UnknownName, match="easyy"):
        ElastisimScheduler("easyy")
    with pytest.raises(IllegalDecision, match="job 0: cannot run on 3 nodes"):
        FakeElastiSim(4, rigid).run(ElastisimScheduler(Recorder([[Start(0, 3)]])))
    for nodes in ([0], [0, 0], [1, 2, 3]):
        with pytest.raises(InvalidOption, match="no choice of 2 free ones"):
            FakeElastiSim(4, rigid).run(ElastisimScheduler("fcfs", choose=lambda _free, _count: nodes))  # noqa: B023 - called at once


def test_a_job_that_is_shrunk_gives_up_the_nodes_that_it_got_last() -> None:
    spec = Spec(JobType.MALLEABLE, 0, 1, 4, same(30), iterations=3)
    order = iter([[3, 1], [2]])
    policy = Recorder([[Start(0, 2)], [Resize(0, 3)], [Resize(0, 1)]])
    others = [Spec(JobType.RIGID, at, 4, 4, same(1)) for at in (1, 11)]
    fake = FakeElastiSim(4, [spec, *others])
    runs = fake.run(ElastisimScheduler(policy, choose=lambda _free, _count: next(order)))
    assert runs[0].pieces == [(0, 2), (10, 3), (20, 1)]
    assert runs[0].executing == [3]


def test_nodes_given_up_at_a_point_serve_starts_in_the_same_call_and_growth_in_the_next() -> None:
    specs = [
        Spec(JobType.MALLEABLE, 0, 1, 4, same(40), iterations=4),
        Spec(JobType.MALLEABLE, 0.5, 1, 4, same(40), iterations=4),
        Spec(JobType.RIGID, 1, 1, 1, same(5)),
    ]
    policy = Recorder([[Start(0, 3)], [Start(1, 1)], [Resize(0, 1)], [Start(2, 1), Resize(1, 2)]])
    runs = FakeElastiSim(4, specs).run(ElastisimScheduler(policy))
    assert runs[0].pieces == [(0, 3), (10, 1)]
    assert runs[2].start == 10
    assert runs[1].pieces == [(0.5, 1), (10.5, 2)]


def test_a_request_that_nobody_answers_lapses_and_one_for_fewer_nodes_is_met() -> None:
    spec = Spec(JobType.EVOLVING, 0, 1, 4, same(40), iterations=4, requests={1: 2, 2: -1})
    policy = Recorder([[Start(0, 2)]])
    runs = FakeElastiSim(4, [spec]).run(ElastisimScheduler(policy))
    assert runs[0].pieces == [(0, 2), (20, 1)]
    asked = [view.requested_nodes.tolist() for view in policy.views]
    assert asked == [[], [4], [], []]
    assert policy.views[2].resized.tolist() == [0]
    assert policy.views[2].free == 3


def test_gpus_of_jobs_that_may_choose_are_taken() -> None:
    taken: list[int] = []
    inner = ElastisimScheduler("fcfs")

    def schedule(jobs: Any, nodes: Any, system: Any) -> None:
        jobs[0].num_gpus_per_node_max = 2
        jobs[0].assign_num_gpus_per_node = taken.append
        inner(jobs, nodes, system)

    FakeElastiSim(4, [Spec(JobType.MOLDABLE, 0, 1, 4, same(5))]).run(schedule)
    assert taken == [2]


def test_jobs_without_walltime_keep_the_head_waiting_for_ever() -> None:
    specs = [Spec(JobType.RIGID, 0, 3, 3, same(5)), Spec(JobType.RIGID, 1, 4, 4, same(5), walltime=5)]
    specs.append(Spec(JobType.RIGID, 2, 1, 1, same(50), walltime=60))
    runs = FakeElastiSim(4, specs).run(ElastisimScheduler(Easy()))
    assert [run.start for run in runs] == [0, 52, 2]  # the head is never expected to start


# --- Flux ---------------------------------------------------------------------------------------------


NOBODY = WorkloadProblem(4, [])


def flux(policy: object = "easy", most_forecast: int = 0) -> FluxFake:
    """Return a Flux of four nodes, without jobs."""
    attributes = {"policy": policy, "most_forecast": most_forecast}
    return FluxFake(NOBODY, type("OurScheduler", (FluxScheduler, Scheduler), attributes))


def submit(
    fake: FluxFake,
    jobid: int,
    nodes: int,
    seconds: float = 10,
    *,
    priority: int = 16,
    constraint: frozenset[int] | None = None,
) -> AllocRequest:
    """Submit a job, and return its request."""
    request = AllocRequest()
    wanted = ResourceRequest(ResourceCount(nodes, nodes), seconds, constraint)
    fake.scheduler.alloc(PendingJob(jobid, priority, fake.pool.clock, request, wanted))
    return request


def test_a_job_that_can_never_run_is_denied() -> None:
    fake = flux()
    wide, narrow = submit(fake, 1, 5), submit(fake, 2, 4)
    assert fake.one_pass() == [2]
    assert wide.answer == ("deny", "unsatisfiable request: need 5 node(s)")
    assert narrow.answer == ("success", {"sched": {"resource_summary": "rank0,1,2,3"}})


def test_a_job_that_the_pool_denies_leaves_the_queue() -> None:
    fake = flux()
    odd = submit(fake, 1, 2, constraint=frozenset({1}))
    submit(fake, 2, 2)
    assert fake.one_pass() == [2]
    assert odd.answer == ("deny", "unsatisfiable request: need 2 node(s)")


def test_a_job_waits_for_nodes_that_are_down() -> None:
    fake = flux()
    fake.pool.down = {0}
    wide = submit(fake, 1, 4)
    submit(fake, 2, 3)
    assert fake.one_pass() == [2]
    assert wide.answer is None
    fake.scheduler.free(2, fake.pool.jobs[2][1], final=True)
    fake.pool.down = set()
    assert fake.one_pass() == [1]


def test_the_pass_ends_where_the_pool_has_not_what_the_policy_thought() -> None:
    fake = flux("first-fit")
    submit(fake, 1, 1, constraint=frozenset({2}))
    submit(fake, 2, 1, constraint=frozenset({2}))
    submit(fake, 3, 1)
    assert fake.one_pass() == [1]
    assert fake.one_pass() == []
    fake.scheduler.free(1, fake.pool.jobs[1][1], final=True)
    assert fake.one_pass() == [2, 3]


def test_higher_priorities_come_first() -> None:
    fake = flux("fcfs")
    submit(fake, 1, 3)
    submit(fake, 2, 4, priority=20)
    assert fake.one_pass() == [2]


def test_backfilled_jobs_say_before_whom() -> None:
    fake = flux()
    submit(fake, 1, 3, 100)
    submit(fake, 2, 4)
    third = submit(fake, 3, 1, 50)
    assert fake.one_pass() == [1, 3]
    assert third.answer == ("success", {"sched": {"resource_summary": "rank3", "backfill": "2"}})


def test_a_job_without_a_limit_never_ends_as_far_as_anybody_knows() -> None:
    fake = flux(most_forecast=64)
    submit(fake, 1, 3, 0)
    head = submit(fake, 2, 4)
    submit(fake, 3, 1, 1000)
    assert fake.one_pass() == [1, 3]
    assert not head.annotations
    assert fake.pool.jobs[1][1].times == {"starttime": 0.0}


def test_jobs_that_run_already_count() -> None:
    fake = flux()
    held = Grant(frozenset({0, 1, 2}))
    held.set_expiration(100)
    fake.scheduler.hello(7, 16, 1000, 0.0, held)
    submit(fake, 8, 4)
    submit(fake, 9, 1, 150)
    assert fake.one_pass() == []
    fake.scheduler.expiration("message", 7, 150)
    assert fake.scheduler.handle.responses == [("message", None)]
    assert fake.one_pass() == [9]


def test_nodes_may_come_back_in_parts() -> None:
    fake = flux()
    submit(fake, 1, 4, 100)
    submit(fake, 2, 3)
    submit(fake, 3, 1, 100)
    assert fake.one_pass() == [1]
    fake.scheduler.free(1, Grant(frozenset({3})))
    assert fake.one_pass() == [3]
    fake.scheduler.free(1, Grant(frozenset({0, 1, 2})), final=True)
    assert fake.one_pass() == [2]


def test_too_many_jobs_are_not_forecast() -> None:
    for most, told in ((2, 0), (3, 1)):
        fake = flux(most_forecast=most)
        submit(fake, 1, 3, 100)
        head = submit(fake, 2, 4)
        submit(fake, 3, 1, 50)
        fake.one_pass()
        fake.one_pass()  # what has been told is not told again
        assert [said["sched"]["t_estimate"] for said in head.annotations] == [100.0] * told


# --- hpcopt -------------------------------------------------------------------------------------------


PROBLEM = WorkloadProblem(4, [Job(0, 3, 100, 100), Job(0, 2, 10, 10)])


def _by_flux(decide: Any) -> None:
    fake = flux(staticmethod(decide))
    submit(fake, 1, 4)
    fake.one_pass()


def _by_hpcopt(decide: Any) -> None:
    hpcopt_fake.run(PROBLEM, HpcoptPlugin(decide, "OURS"))


NOBODY_STARTS = "starts no job that waits"


@pytest.mark.parametrize(
    ("run", "decisions", "rule"),
    [
        (_by_flux, [Start(1, 4)], NOBODY_STARTS),
        (_by_flux, [Wake(5)], NOBODY_STARTS),
        (_by_flux, [Start(0, 3)], "job 0: starts on 3 nodes, 4 are free"),
        (_by_hpcopt, [Start(2, 3)], NOBODY_STARTS),
        (_by_hpcopt, [Start(0, 3), Start(0, 3)], NOBODY_STARTS),
        (_by_hpcopt, [Wake(5)], NOBODY_STARTS),
        (_by_hpcopt, [Start(0, 2)], "job 0: starts on 2 of 4 free processors, and needs 3"),
        (_by_hpcopt, [Start(0, 3), Start(1, 2)], "job 1: starts on 2 of 1 free processors, and needs 2"),
    ],
)
def test_illegal_decisions_raise(run: Any, decisions: list[Decision], rule: str) -> None:
    with pytest.raises(IllegalDecision, match=rule):
        run(lambda _view: decisions)


def test_a_plugin_of_others_that_starts_what_does_not_fit_is_refused() -> None:
    def greedy(snapshot: Any) -> Any:
        rows = [
            SimpleNamespace(job_id=job.job_id, requested_cpus=job.requested_cpus)
            for job in snapshot.queued_jobs
        ]
        return SimpleNamespace(decisions=rows)

    with pytest.raises(IllegalDecision, match="job 1: starts on 2 nodes, but 1 are free"):
        simulate(PROBLEM, HpcoptPolicy(greedy))


def test_a_policy_that_remembers_something_is_refused() -> None:
    class Remembering:
        def reset(self, seed: int) -> None:
            """Forget."""

        def decide(self, view: QueueView) -> tuple[Start, ...]:  # noqa: ARG002 - of the interface
            return ()

    with pytest.raises(InvalidOption, match="remembers what it has seen"):
        _by_hpcopt(Remembering())
    for take in (_by_hpcopt, flux):
        with pytest.raises(InvalidOption, match="'conservative' remembers what it has seen"):
            take("conservative")


def test_seconds_have_to_be_whole() -> None:
    problem = WorkloadProblem(4, [Job(0.5, 3, 100)])
    with pytest.raises(InvalidOption, match=r"hpcopt counts whole seconds: there is no second 0\.5"):
        simulate(problem, HpcoptPolicy(hpcopt.easy))
    with pytest.raises(UnknownName, match="ends"):
        HpcoptPolicy(hpcopt.easy, ends="guessed")  # type: ignore[arg-type]  # on purpose


def test_the_entry_points_of_hpcopt_are_plugins() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    found = tomllib.loads(text)["project"]["entry-points"]["hpcopt.policies"]
    assert {*found} == {"ALLOCSOLVE_EASY", "ALLOCSOLVE_FCFS"}
    for name, target in found.items():
        module, _, thing = target.partition(":")
        assert module == hpcopt.__name__
        plugin = getattr(hpcopt, thing)
        assert callable(plugin)
        assert plugin.policy_id == name


#: AccaSim 1.1.3 expects names in `collections` that Python 3.10 has moved, and warns.
ACCASIM = """
import collections, collections.abc, json, sys, warnings

warnings.simplefilter("ignore")  # AccaSim 1.1.3 is older than Python 3.10 and its libraries
for name in ("Mapping", "MutableMapping", "Sequence", "Iterable", "Callable"):
    setattr(collections, name, getattr(collections.abc, name))
from accasim.base.allocator_class import FirstFit
from accasim.base.event_class import EventManager
from accasim.base.scheduler_class import FirstInFirstOut, SchedulerBase
from accasim.base.simulator_class import Simulator

from allocsolve.adaptors import AccasimScheduler
from allocsolve.instances.generators.examples import random_workload
from allocsolve.model import WorkloadProblem
from allocsolve.registry import make_solver
from allocsolve.simulation import simulate


class Ours(AccasimScheduler, SchedulerBase):
    pass


class Starts(EventManager):
    def dispatch_event(self, job, *others):
        outcome = super().dispatch_event(job, *others)
        starts[int(job.id) - 1] = job.start_time
        return outcome


problem, starts = random_workload(3, 150, 16, load=0.95), {}
packed = problem.packed
with open("log.swf", "w") as file:
    print("; UnixStartTime: 0\\n; MaxProcs: 16", file=file)
    for job in range(len(problem.jobs)):
        fields = [-1] * 18
        fields[0], fields[1], fields[3] = job + 1, packed.submit[job], packed.runtime[job]
        fields[7], fields[8], fields[11] = packed.nodes[job], packed.estimate[job], 1
        print(*map(int, fields), file=file)
with open("system.json", "w") as file:
    json.dump({"groups": {"node": {"core": 1}}, "resources": {"node": 16}}, file)
import accasim.base.simulator_class
accasim.base.simulator_class.EventManager = Starts
options = {"scheduling_output": False, "statistics_output": False, "show_statistics": False}
rows = [(FirstInFirstOut(FirstFit()), "fcfs")]
rows += [(Ours(name, FirstFit()), name) for name in ("fcfs", "easy", "conservative(compression=none)")]
for dispatcher, name in rows:
    starts.clear()
    Simulator("log.swf", "system.json", dispatcher, **options).start_simulation()
    ours = simulate(problem, make_solver(name, WorkloadProblem)).first_starts.tolist()
    print(dispatcher.get_id(), sum(starts[job] == start for job, start in enumerate(ours)))
"""


def test_our_policies_inside_accasim_start_all_jobs_when_our_engine_does(tmp_path: Path) -> None:
    pytest.importorskip("accasim", reason="AccaSim is not installed")
    (tmp_path / "run.py").write_text(ACCASIM, encoding="utf-8")
    printed, _ = python("run.py", cwd=tmp_path, MPLCONFIGDIR=str(tmp_path))
    lines = [line for line in printed.splitlines() if line.endswith(" 150")]
    assert [line.split()[0] for line in lines] == [
        "FirstInFirstOut-FIFO-FirstFit",
        "allocsolve-fcfs-FirstFit",
        "allocsolve-easy-FirstFit",
        "allocsolve-conservative(compression=none)-FirstFit",
    ]


# --- Cqsim and raps -----------------------------------------------------------------------------------

POLICIES = ("fcfs", "easy", "easy(like=cqsim)", "easy(like=raps)")


def _starts(problem: WorkloadProblem, name: str, *, coalesce: bool) -> list[float]:
    policy: Any = make_solver(name, WorkloadProblem)
    knowledge = getattr(policy, "rules", EngineRules()).knowledge
    starts: list[float] = simulate(problem, policy, EngineRules(coalesce, knowledge)).first_starts.tolist()
    return starts


def _with_ends_apart(problem: WorkloadProblem) -> WorkloadProblem:
    """Return a workload of which hardly two jobs end at one instant: CQSim has an order of its own then."""
    packed = problem.packed
    runtime = packed.runtime + np.arange(len(problem.jobs)) / 1024
    return WorkloadProblem(problem.num_nodes, Jobs(packed.submit, packed.nodes, runtime, packed.estimate + 1))


@pytest.mark.parametrize("name", POLICIES)
def test_in_the_loop_of_cqsim(name: str) -> None:
    problem = _with_ends_apart(random_workload(11, 300, 16, load=0.95))
    assert cqsim_starts(problem, name) == _starts(problem, name, coalesce=False)


def test_a_policy_that_wants_wakes_is_said_to_get_none() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 50, 100), Job(1, 4, 10), Job(2, 1, 20), Job(40, 1, 1)])
    with pytest.warns(UserWarning, match="asked to be called at 30 s, and is called at 40 s") as told:
        cqsim_starts(problem, "slurm-backfill")
    assert len(told) == 1


def test_cqsim_starts_no_job_that_the_policy_holds_back() -> None:
    problem = WorkloadProblem(4, [Job(0, 1, 5), Job(1, 1, 5), Job(20, 1, 5)])
    assert cqsim_starts(problem, lambda view: [Start(0, 1)] if view.now == 1 else []) == [1, -1, -1]


@pytest.mark.parametrize("name", POLICIES)
def test_in_the_ticks_of_raps(name: str) -> None:
    problem = _quick(random_workload(12, 150, 16, load=0.95))
    packed = problem.packed
    held = WorkloadProblem(16, Jobs(packed.submit, packed.nodes, packed.runtime + 1, packed.estimate))
    assert raps_starts(problem, name) == _starts(held, name, coalesce=True)


def test_raps_takes_the_nodes_that_an_allocator_chooses() -> None:
    problem = _quick(random_workload(13, 60, 16, load=0.95))
    asked: list[list[int]] = []

    def choose(free: list[int], k: int) -> list[int] | None:
        asked.append(free)
        return node_chooser("curve-fit(method=best-fit, order=row-major)", 16)(free, k)

    assert raps_starts(problem, "easy", choose) == raps_starts(problem, "easy")
    assert len(asked) == 60
    with pytest.raises(InvalidOption, match="job 0: the allocator finds no"):
        raps_starts(problem, "easy", lambda *_: None)


def test_raps_repeats_what_was_by_itself() -> None:
    class Recorder:
        policy, bfpolicy, resource_manager = "fcfs", "easy", RapsManager(4)
        calls: list[float] = []  # noqa: RUF012 - of this one

        def schedule(self, *given: object, **_: object) -> None:
            self.calls.append(given[2])  # type: ignore[arg-type]  # the time

    recorder = Recorder()
    scheduler = RapsScheduler(recorder, "easy")
    scheduler.policy, scheduler.bfpolicy = "replay", None
    scheduler.schedule([], [], 7.0, sorted=True)
    assert (scheduler.policy, scheduler.bfpolicy, recorder.calls) == ("replay", None, [7.0])


def test_a_start_that_does_not_fit_raises() -> None:
    problem = WorkloadProblem(4, [Job(0, 3, 5), Job(0, 3, 5)])
    for starts in (cqsim_starts, raps_starts):
        with pytest.raises(IllegalOrder, match="job 1: starts on 3 nodes, but 1 are free"):
            starts(problem, lambda view: [Start(int(job), 3) for job in view.queue])


def _quick(problem: WorkloadProblem) -> WorkloadProblem:
    """Return a workload a hundred times as fast, in whole seconds: RAPS counts them one by one."""
    packed = problem.packed
    submit, runtime, limit = (
        np.ceil(column / 100) for column in (packed.submit, packed.runtime, packed.estimate)
    )
    return WorkloadProblem(problem.num_nodes, Jobs(submit, packed.nodes, runtime, limit))
