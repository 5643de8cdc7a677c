"""The scheduler for pybatsim: over a socket, and where jobs are odd."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import batsim.batsim as pybatsim
import pytest
import zmq
from batsim_fake import BatsimFake

from allocsolve.adaptors.batsim import PybatsimScheduler
from allocsolve.errors import InvalidOption
from allocsolve.heuristics import Easy
from allocsolve.model import Amdahl, Job, WorkloadProblem
from allocsolve.simulation import Start, Wake, simulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

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
