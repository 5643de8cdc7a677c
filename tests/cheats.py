"""The texts of solvers that cheat, and what becomes of each."""

from __future__ import annotations

from typing import NamedTuple

HEAD = """
from __future__ import annotations
import ctypes, json, os, pickle, signal, struct, subprocess, sys, threading, time
from pathlib import Path
import numpy as np
from allocsolve import judge
from allocsolve.heuristics import Growth, ListScheduling
from allocsolve.model import (
    Budget, EvolutionProblem, EvolutionSchedule, Limit, Partition, PartitionProblem, Result, Status
)
from dataclasses import replace

HERE = Path(__file__).parent

solve = ListScheduling.__call__

def honest(problem: EvolutionProblem, budget: Budget) -> Result:
    return solve(ListScheduling(), problem, budget)

def overlapping(problem):
    return EvolutionSchedule.of([0] * len(problem.applications), problem.applications)

def value_of(problem, answer):
    return judge.evolution_metrics(problem, answer).makespan

def pipes():
    "File descriptors that are pipes, as the one of the replies."
    links = [(int(name), os.readlink(f"/proc/self/fd/{name}")) for name in os.listdir("/proc/self/fd")
             if os.path.lexists(f"/proc/self/fd/{name}")]
    return [number for number, link in links if link.startswith("pipe:")]

def write_to_pipes(data):
    for number in pipes():
        try:
            os.write(number, data)
        except OSError:
            pass

class Trap:
    "Runs code where it is unpickled, and is equal to everything."
    def __reduce__(self):
        return (exec, (f"open({str(HERE / 'unpickled')!r}, 'w').close()",))
    def __eq__(self, other):
        return True
    def __hash__(self):
        return 0

class TrapResult(Result):
    __slots__ = ()
    def __reduce__(self):
        return Trap().__reduce__()
    def __eq__(self, other):
        return True
    __hash__ = None

class TrapSchedule(EvolutionSchedule):
    __slots__ = ()
    def __reduce__(self):
        return Trap().__reduce__()
    def __eq__(self, other):
        return True
    __hash__ = None

def forged(problem, **arrays):
    answer = honest(problem, Budget()).answer
    for name, values in arrays.items():
        object.__setattr__(answer, name, values)
    return Result(Status.FEASIBLE, answer)
"""


class Cheat(NamedTuple):
    """A solver, and what becomes of it."""

    body: str  #: of the function
    error: str  #: a pattern of the reason of its failed rows; empty if its rows are as those of `honest`

    def solver(self, name: str) -> str:
        """Return the name by which it is called: its module has a process that no other solver enters."""
        return f"{name}:cheat"


class Return(Cheat):
    """A cheat that only returns something: all of them are in one module, and share its process."""

    def solver(self, name: str) -> str:
        """Return the name by which it is called."""
        return f"returns:{name}"


CHEATS = {
    # What the judge finds.
    "replaces_the_judge": Cheat(
        """
        from allocsolve.bench.runs import worker
        for module in list(sys.modules.values()):
            if getattr(module, "__name__", "").startswith("allocsolve.judge"):
                for name in ("violations", "evolution_violations", "_capacity_violations"):
                    if hasattr(module, name):
                        setattr(module, name, lambda *_: ())
        object.__setattr__(judge.verdict.family_of(problem).rules, "violations", lambda *_: ())
        return Result(Status.FEASIBLE, overlapping(problem))
        """,
        r"InvalidAnswer: the answer is not feasible: .* nodes",
    ),
    "forges_a_result": Return(
        "return TrapResult(Status.FEASIBLE, overlapping(problem))",
        r"InvalidAnswer: the answer is not feasible",
    ),
    "forges_an_answer": Return(
        """
        made = overlapping(problem)
        return Result(Status.FEASIBLE, TrapSchedule(made.starts, made.offsets, made.durations, made.nodes))
        """,
        r"InvalidAnswer: the answer is not feasible",
    ),
    "returns_a_trap": Return("return Trap()", r"InvalidAnswer: the solver returned Trap, not a Result"),
    "answers_a_text": Return("return Result(Status.FEASIBLE, answer='rubbish')", r"InvalidAnswer: .*str"),
    "claims_a_trap": Return(
        "return replace(honest(problem, budget), certificate={'trap': Trap()})",
        r"InvalidAnswer: the result holds a Trap, which is no data",
    ),
    "breaks_a_result_open": Return(
        """
        result = honest(problem, budget)
        value = value_of(problem, result.answer)
        for name, forged in (("status", Status.OPTIMAL), ("objective", value), ("bound", value - 1)):
            object.__setattr__(result, name, forged)
        return result
        """,
        r"InvalidAnswer: contradictory result: optimal with objective \d+ and bound \d+",
    ),
    "claims_a_better_value": Return(
        "return replace(honest(problem, budget), objective=1)",
        r"InvalidAnswer: the solver claims makespan 1, the judge finds \d+",
    ),
    "claims_a_value_that_equals_all": Return(
        """
        class Liar(int):
            def __eq__(self, other):
                return True
            __hash__ = int.__hash__
        return replace(honest(problem, budget), objective=Liar(1))
        """,
        r"InvalidAnswer: the solver claims makespan 1, the judge finds \d+",
    ),
    "claims_truth_as_a_value": Return(
        "return replace(honest(problem, budget), bound=True)",
        r"reply: result\.bound: must be a number or null or a list, not true",
    ),
    "claims_a_bound_beyond": Return(
        "return replace(honest(problem, budget), bound=10**9)",
        r"InvalidAnswer: the solver claims the bound 1000000000, its own answer has \d+",
    ),
    "claims_a_bound_of_another_shape": Return(
        "return replace(honest(problem, budget), bound=(1, 10**9))",
        r"InvalidAnswer: the solver claims the bound \(1, 1000000000\) of makespan",
    ),
    "claims_a_huge_number": Return(
        "return Result(Status.UNKNOWN, bound=10**5000)", r"OverflowError|ValueError"
    ),
    "claims_an_incumbent_that_is_no_number": Return(
        "return replace(honest(problem, budget), incumbents=((0.0, float('nan')),))",
        r"reply: result\.incumbents\[0\]\[1\]: must be a number or a list, not NaN",
    ),
    "answers_nan": Return(
        "return forged(problem, starts=np.full(len(problem.applications), np.nan))",
        r"InvalidAnswer: the answer is malformed: applications\[0\].start: .* must be an integer, not NaN",
    ),
    "answers_floats": Return(
        "return forged(problem, starts=np.arange(len(problem.applications)) * 10_000.5)",
        r"InvalidAnswer: the answer is malformed: .* must be an integer, not 10000.5",
    ),
    "answers_truths": Return(
        "return forged(problem, starts=np.zeros(len(problem.applications), bool))",
        r"InvalidAnswer: the answer is malformed: .* must be an integer, not false",
    ),
    "answers_negative_numbers": Return(
        "return forged(problem, starts=np.full(len(problem.applications), -10**15))",
        r"InvalidAnswer: the answer is not feasible: .* starts at -1000000000000000 s, before its release",
    ),
    "answers_huge_numbers": Return(
        "return forged(problem, starts=np.full(len(problem.applications), 2**62))",
        r"InvalidAnswer: the answer is malformed: .* is beyond 2\^53",
    ),
    "changes_the_problem": Return(
        """
        object.__setattr__(problem, "num_nodes", 1000 * problem.num_nodes)
        return honest(problem, budget)
        """,
        r"InvalidAnswer: the solver changed the problem that it was given",
    ),
    "changes_the_problem_unseen": Cheat(
        """
        from allocsolve.bench.runs import worker
        worker._changed = lambda *_: False
        object.__setattr__(problem, "num_nodes", 1000 * problem.num_nodes)
        return Result(Status.FEASIBLE, overlapping(problem))
        """,
        r"InvalidAnswer: the answer is not feasible",
    ),
    "prints": Return(
        "os.write(1, b'look at me'); return honest(problem, budget)",
        r"InvalidAnswer: the solver printed to stdout: 'look at me'",
    ),
    # What the owner of the process finds.
    "says_nonsense": Cheat(
        "write_to_pipes(b'nonsense'); return honest(problem, budget)",
        r"killed: reply: the process sent b'n', b'd' was expected",
    ),
    "forges_a_reply": Cheat(
        """
        claims = {"status": "optimal", "limit": None, "objective": 1, "bound": 1, "incumbents": [],
                  "certificate": None, "answer": None}
        data = json.dumps({"runtime": 0.0, "result": claims}).encode()
        write_to_pipes(b"d" + b"a" + struct.pack("<Q", len(data)) + data)
        time.sleep(60)
        """,
        r"InvalidAnswer: contradictory result: status optimal without an answer",
    ),
    "announces_a_huge_reply": Cheat(
        "write_to_pipes(b'd' + b'a' + struct.pack('<Q', 2**60)); time.sleep(60)",
        r"killed: reply: has 1152921504606846976 bytes, more than \d+",
    ),
    "never_ends_its_reply": Cheat(
        "write_to_pipes(b'd' + b'a' + struct.pack('<Q', 1000) + b'[' * 10); time.sleep(60)",
        r"killed: no reply after \d+\.\d s",
    ),
    "replies_too_deeply": Cheat(
        """
        write_to_pipes(b'd' + b'a' + struct.pack('<Q', 10**6) + b'[' * 10**6)
        time.sleep(60)
        """,
        r"killed: reply: lists and objects are nested too deeply",
    ),
    "stops_its_clock": Cheat(
        """
        from allocsolve.bench.runs import worker
        now = time.perf_counter()
        worker.clock = time.perf_counter = time.time = time.monotonic = lambda: now
        threading.Event().wait(2)
        return honest(problem, budget)
        """,
        r"InvalidAnswer: the clocks disagree: .* by the clock of the solver's process, [12]\.\d+ s by ours",
    ),
    "leaves_without_a_word": Cheat("os._exit(0)", r"the process of the solver died: exit status 0"),
    "leaves_with_a_word": Cheat(
        "os.write(2, b'out of luck\\n'); os._exit(7)",
        r"the process of the solver died: exit status 7; out of luck",
    ),
    "exits": Return("sys.exit(0)", r"SystemExit: 0"),
    "crashes": Cheat("ctypes.string_at(0)", r"the process of the solver died: SIG(SEGV|ABRT)"),
    "kills_itself": Cheat("os.kill(os.getpid(), signal.SIGKILL)", r"the process of the solver died: SIGKILL"),
    "closes_all_files": Cheat(
        "os.closerange(3, 256); return honest(problem, budget)",
        r"the process of the solver died: |killed: still running",
    ),
    "never_stops": Cheat(
        """
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True:
            try:
                time.sleep(0.01)
            except BaseException:
                pass
        """,
        r"killed: still running after \d+\.\d s",
    ),
    "stops_its_process": Cheat("os.kill(os.getpid(), signal.SIGSTOP)", r"killed: still running after"),
    "eats_memory": Cheat(
        """
        eaten = []
        while True:
            eaten.append(np.ones(1 << 22))
            time.sleep(0.005)
        """,
        r"killed: held \d+ MB, more than 900 MB",
    ),
    "has_its_children_eat_memory": Cheat(
        """
        eat = "import time; eaten = b'x' * 400_000_000; time.sleep(60)"
        children = [subprocess.Popen([sys.executable, "-c", eat]) for _ in range(3)]
        time.sleep(60)
        """,
        r"killed: held \d+ MB, more than 900 MB",
    ),
    "raises_what_has_no_text": Return(
        """
        class Silent(BaseException):
            def __str__(self):
                raise RuntimeError
        raise Silent
        """,
        r"Silent",
    ),
    "raises_half_a_letter": Return("raise RuntimeError('\\ud800 and more')", r"RuntimeError: \? and more"),
    # What stays its own.
    "has_children": Cheat(
        """
        for _ in range(10):
            subprocess.Popen([sys.executable, "-c", f"import time; time.sleep(600)  # {HERE}"])
        subprocess.Popen(["sh", "-c", f"{sys.executable} -c 'import time; time.sleep(600)  # {HERE}' & exit"])
        return honest(problem, budget)
        """,
        "",
    ),
    "has_threads": Cheat(
        """
        for _ in range(10):
            threading.Thread(target=time.sleep, args=(600,), daemon=False).start()
        return honest(problem, budget)
        """,
        "",
    ),
    "breaks_what_others_use": Cheat(
        """
        pickle.loads = pickle.dumps = json.loads = None
        honestly = honest(problem, budget)
        ListScheduling.__call__ = lambda *_: None
        os.environ.clear()
        sys.path.clear()
        os.chdir("/")
        return honestly
        """,
        "",
    ),
    "keeps_what_it_has_found": Cheat(
        """
        key = problem.name
        known = globals().setdefault("known", {})
        known[key] = known.get(key) or honest(problem, budget)
        return known[key]
        """,
        "",
    ),
    "empties_its_files": Cheat(
        """
        for name in os.listdir("/proc/self/fd"):
            try:
                os.ftruncate(int(name), 0)
                os.unlink(os.readlink(f"/proc/self/fd/{name}"))
            except OSError:
                pass
        return honest(problem, budget)
        """,
        "",
    ),
}
