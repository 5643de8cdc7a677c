"""What a policy may do in its process: it fails for its own faults, and scores what its schedule is worth."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

from allocsolve.bench import PolicyEvaluator
from allocsolve.bench.evaluation import evaluator, sealed, windows
from allocsolve.instances import write_problem
from allocsolve.model import Jobs, WorkloadProblem

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: One process has them all: they are forked from one.
pytestmark = pytest.mark.xdist_group("sealed_policies")

JOBS = 40

HONEST = """
import builtins, ctypes, gc, itertools, math, os, random, signal, socket, subprocess, sys, threading, time
from pathlib import Path
import numpy as np
from allocsolve.simulation import Resize, Start, Wake

def first_fit(view):
    free, made = view.free, []
    for job in view.queue.tolist():
        nodes = int(view.jobs.nodes[job])
        if nodes <= free:
            free -= nodes
            made.append(Start(job, nodes))
    return made

policy = first_fit
"""

#: Its first call does something else, too; what that returns is decided if it is not None.
CARELESS = """
LOG, MARK = Path({log!r}), Path({mark!r})
calls = 0

def deed(view):
{body}

def policy(view):
    global calls
    calls += 1
    made = deed(view) if calls == 1 else None
    return first_fit(view) if made is None else made
"""


class Arena(NamedTuple):
    """Where policies are evaluated."""

    evaluator: PolicyEvaluator
    folder: Path
    log: Path
    honest: float

    def evaluate(self, name: str, body: str) -> tuple[float, str]:
        """Return the score of a policy, and why its window failed."""
        path = self.folder / f"{name}.py"
        body = textwrap.indent(textwrap.dedent(body).strip(), "    ")
        path.write_text(
            HONEST + CARELESS.format(log=str(self.log), mark=str(self.folder / "mark"), body=body)
        )
        made = self.evaluator.evaluate(str(path))
        return made["combined_score"], made["artifacts"].get("window_1", "")


@pytest.fixture(scope="module")
def arena(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    folder = tmp_path_factory.mktemp("sealed")
    log, bounds = (tmp_path_factory.mktemp(name) / name for name in ("log.json", "bounds"))
    # Many wait, and limits tell little: who knew run times would decide otherwise.
    rng = np.random.default_rng(3)
    submits, runtimes = np.cumsum(rng.integers(0, 200, 200)), rng.integers(10, 2000, 200)
    jobs = Jobs(submits, rng.integers(1, 17, 200), runtimes, runtimes * rng.integers(1, 11, 200))
    write_problem(WorkloadProblem(16, jobs), log)
    (folder / "honest.py").write_text(HONEST)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POLICY_SEED", "5")
        patch.setattr(windows, "bounds_folder", lambda: bounds)
        patch.setattr(evaluator, "bounds_folder", lambda: bounds)
        tried = PolicyEvaluator([log], windows=1, jobs=JOBS, seed=5, seconds=0.5, memory_mb=200.0)
        made = tried.evaluate(str(folder / "honest.py"))
        if "sealing" in made["artifacts"]:
            pytest.skip(made["artifacts"]["sealing"])
        assert 0 < made["combined_score"] < 0.9
        yield Arena(tried, folder, log, made["combined_score"])


#: What changes nothing, by name: the schedule is the honest one.
HARMLESS = {
    "collects_garbage": """
        for thing in gc.get_objects():
            assert type(thing).__name__ != "WorkloadProblem"
        """,
    "looks_below_the_view": """
        assert np.isnan(view.jobs.runtime).all()
        seen = view.jobs.submit if view.jobs.submit.base is None else view.jobs.submit.base
        assert np.isfinite(seen).sum() == len(view.queue) + len(view.running)
        """,
    "reads_its_environment": "assert 'POLICY_SEED' not in os.environ",
    "uses_open_files": """
        for number in range(4, 256):
            try:
                os.fstat(number)
            except OSError:
                continue
            raise AssertionError(number)
        """,
    "reads_its_input": "assert sys.stdin.read() == ''",
    "prints": "print('combined_score: 1.0', flush=True); print('1.0', file=sys.stderr, flush=True)",
    "replaces_the_judge": """
        import allocsolve.judge
        allocsolve.judge.workload_value = lambda *_: (0.0,)
        """,
    "stops_the_clock": "time.time = time.perf_counter = time.monotonic = time.process_time = lambda: 0.0",
    "starts_threads": "[threading.Thread(target=time.sleep, args=(600,)).start() for _ in range(5)]",
    "forks": """
        if os.fork() == 0:
            time.sleep(600)
        """,
    "remembers": "assert not hasattr(builtins, 'been_here'); builtins.been_here = True",
}


@pytest.mark.parametrize("name", HARMLESS)
def test_what_changes_no_decision_changes_no_score(name: str, arena: Arena) -> None:
    for _ in range(2):  # each run begins in a new process
        assert arena.evaluate(name, HARMLESS[name]) == (arena.honest, "")


#: What costs the window, by name, and what is said of it.
FAULTS = {
    # Files, connections and programs.
    "reads_the_log": ("LOG.read_bytes()", "PermissionError"),
    "reads_the_log_as_a_problem": (
        "from allocsolve.instances import read_problem; read_problem(LOG)",
        "cannot be read",
    ),
    "lists_its_folder": ("os.listdir(Path(__file__).parent)", "PermissionError"),
    "writes_a_file": ("MARK.write_text('here')", "PermissionError"),
    "deletes_the_log": ("LOG.unlink()", "PermissionError"),
    "empties_the_log": ("os.truncate(LOG, 0)", "PermissionError"),
    "connects": ("socket.create_connection(('127.0.0.1', 9))", "Error: [Errno 1"),
    "starts_programs": ("subprocess.run([sys.executable, '-c', ''])", "PermissionError"),
    # Decisions that are none, or not allowed.
    "replaces_the_engine": (
        """
        from allocsolve.simulation import Engine
        Engine.apply = lambda *_: None
        return [Start(39, 1)]
        """,
        "illegal decision at ",
    ),
    "starts_on_fewer_nodes": (
        "return [Start(job, max(1, int(view.jobs.nodes[job]) - 1)) for job in view.queue.tolist()] * 2",
        "illegal decision at ",
    ),
    "starts_jobs_to_come": ("return [Start(39, 1)]", "job 39: is not in the queue"),
    "starts_twice": ("return [*first_fit(view), *first_fit(view), Start(0, 1)]", "illegal decision at "),
    "starts_on_nan": ("return [Start(0, math.nan)]", "is malformed"),
    "starts_on_huge_numbers": ("return [Start(0, 10**30)]", "is malformed"),
    "starts_on_negative_nodes": ("return [Start(0, -(2**63))]", "illegal decision at "),
    "turns_back_time": ("return [*first_fit(view), Wake(-math.inf)]", "is not after now"),
    "wakes_at_nan": ("return [*first_fit(view), Wake(math.nan)]", "is not after now"),
    "changes_sizes": ("return [Resize(0, 1)]", "no decision about rigid jobs"),
    "decides_too_much": ("return [Wake(10**12)] * 10**3", "bytes"),
    "returns_a_score": ("return {'combined_score': 1.0}", "'combined_score' is no decision"),
    "starts_nothing_any_more": ("globals()['first_fit'] = lambda view: []", "not feasible"),
    "refuses_long_jobs": (
        """
        honest = first_fit
        globals()['first_fit'] = lambda view: [x for x in honest(view) if view.jobs.estimate[x.job] < 600]
        """,
        "not feasible",
    ),
    # Leaving.
    "raises": ("raise ValueError('a b\\nc')", "ValueError: a b c"),
    "raises_at_length": ("raise ValueError('x' * 10**6)", "ValueError: x"),
    "raises_what_has_no_text": (
        """
        class Silent(BaseException):
            def __str__(self):
                raise RuntimeError
        raise Silent
        """,
        "Silent",
    ),
    "exits": ("sys.exit(0)", "SystemExit: 0"),
    "interrupts": ("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "leaves_without_a_word": ("os._exit(3)", "died: exit status 3"),
    "crashes": ("ctypes.string_at(0)", "died: SIG"),
    "closes_all_files": ("os.closerange(0, 256)", "died: "),
    "replies_nonsense": ("os.write(3, b'd' + bytes([8, 0, 0, 0]) + b'nonsense')", "8 bytes are no decisions"),
    # Taking all there is.
    "loops": ("while True: pass", "killed: not done after"),
    "sleeps": ("time.sleep(600)", "killed: not done after"),
    "stops_its_process": ("signal.raise_signal(signal.SIGSTOP)", "killed: not done after"),
    "works_in_threads": (
        """
        import hashlib
        def work():
            hashlib.pbkdf2_hmac("sha256", b"", b"", 3 * 10**6)
        threading.stack_size(2**18)
        for _ in range(16):
            threading.Thread(target=work).start()
        work()
        """,
        "killed: not done after",
    ),
    "eats_memory": ("eaten = [bytes(10**7) for _ in range(10**4)]", "MemoryError"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_the_window(name: str, arena: Arena) -> None:
    body, said = FAULTS[name]
    before = hashlib.sha256(arena.log.read_bytes()).digest()
    score, reason = arena.evaluate(name, body)
    assert score == 0
    assert said in reason
    assert len(reason) <= 200
    assert hashlib.sha256(arena.log.read_bytes()).digest() == before
    assert not (arena.folder / "mark").exists()
    assert arena.evaluate("after", "pass") == (arena.honest, "")


def test_there_is_no_network_where_the_system_allows_one_of_its_own(arena: Arena) -> None:
    server = "allocsolve.bench.evaluation.fork_server"
    asked = f"import sys; from {server} import leave_network; sys.exit(leave_network())"
    if not subprocess.run([sys.executable, "-c", asked], check=False).returncode:
        pytest.skip("this user may not make a network")
    deed = "socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('127.0.0.1', 9))"
    assert arena.evaluate("sends_a_packet", deed) == (0, "OSError: [Errno 101] Network is unreachable")


def test_loading_has_a_limit_and_its_faults_are_told(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "LOADING_S", 2.0)
    for deed, said in (("while True: pass", "killed: not loaded after"), ("1 / 0", "ZeroDivisionError")):
        path = arena.folder / "loads.py"
        path.write_text(deed)
        artifacts = arena.evaluator.evaluate(str(path))["artifacts"]
        assert any(said in reason for reason in artifacts.values())


def test_servers_that_die_are_started_again(arena: Arena) -> None:
    score, reason = arena.evaluate("kills", "os.kill(os.getppid(), signal.SIGKILL)")
    assert (score, reason) == (arena.honest, "") or "died: SIGKILL" in reason or "PermissionError" in reason
    assert arena.evaluate("after", "pass") == (arena.honest, "")
