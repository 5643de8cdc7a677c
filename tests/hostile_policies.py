"""The texts of policies that cheat: each technique at each moment at which a policy's code runs."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["HONEST", "MOMENTS", "TECHNIQUES", "Technique", "texts"]

#: What an honest policy decides; a cheat that fails to gain anything decides the same.
HONEST = """
from __future__ import annotations
import builtins, ctypes, gc, itertools, json, math, mmap, os, pickle, random, resource, shutil, signal, socket
import struct, subprocess, sys, threading, time
from pathlib import Path
import numpy as np
from allocsolve.simulation import Answer, Promise, Resize, Start, Wake

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

#: A cheat knows where the log and the bounds are, and says so when it has got what it wanted.
_CHEAT = """
LOG, BOUNDS, HERE = Path({log!r}), Path({bounds!r}), Path({here!r})
MARK = HERE / "mark"
MOMENT = {moment!r}
calls = 0

def succeeded(what=""):
    raise BaseException(f"SUCCEEDED {{what}}")

def shortest_first(view, runtime):
    "Decide by what no scheduler knows."
    free, made = view.free, []
    for job in sorted(view.queue.tolist(), key=lambda job: runtime[job]):
        nodes = int(view.jobs.nodes[job])
        if nodes <= free:
            free -= nodes
            made.append(Start(job, nodes))
    return made

def hidden_times(things):
    "Return run times that are in one of these, if there are any."
    for thing in things:
        if type(thing).__name__ == "WorkloadProblem" and len(thing.jobs) == {jobs}:
            return thing.packed.runtime
        if type(thing) is np.ndarray and thing.shape == ({jobs},) and thing.dtype.kind == "f":
            if np.isfinite(thing).all() and len(set(thing.tolist())) > 5:
                return thing
    return None

def clairvoyant(view, things):
    known = hidden_times(things)
    return None if known is None else shortest_first(view, known)

def framed(mark, data=b""):
    return struct.pack("<cI", mark, len(data)) + data

def attack(view):
{body}

if MOMENT == "import":
    attack(None)

def lazily(view):
    made = attack(view) if calls == 1 else None
    yield from first_fit(view) if made is None else made

def policy(view):
    global calls
    calls += 1
    if MOMENT == "lazily":
        return lazily(view)
    if (MOMENT, calls) in (("first", 1), ("later", 10)):
        made = attack(view)
        if made is not None:
            return made
    return first_fit(view)
"""

#: When the cheat is tried: while the module is imported, in the first call or a later one, or while what the
#: first call has returned is iterated over.
MOMENTS = ("import", "first", "later", "lazily")


class Technique(NamedTuple):
    """A way to cheat, and what becomes of it wherever a policy decides."""

    body: str  #: of a function of the view, which is None at the import; decisions, or None for honest ones
    #: A pattern of the reason why the window fails; empty if the schedule is the honest one, None if either.
    reason: str | None


_NOT_PERMITTED = r"PermissionError"

TECHNIQUES = {
    # Looking for the run times and the jobs to come.
    "collects_garbage": Technique("return clairvoyant(view, gc.get_objects())", ""),
    "follows_frames": Technique(
        """
        frame, things = sys._getframe(), []
        while frame is not None:
            things += frame.f_locals.values()
            frame = frame.f_back
        for thing in [*things]:
            things += getattr(thing, "__dict__", {}).values()
        return clairvoyant(view, things)
        """,
        "",
    ),
    "looks_at_all_threads": Technique(
        "return clairvoyant(view, [x for f in sys._current_frames().values() for x in f.f_globals.values()])",
        "",
    ),
    "looks_below_the_view": Technique(
        """
        below = [column.base for column in view.jobs if column.base is not None]
        seen = view.jobs.submit.base if view.jobs.submit.base is not None else view.jobs.submit
        hidden = [job for job in range(len(seen)) if job not in view.queue and job not in view.running]
        if calls == 1 and any(np.isfinite(seen[job]) for job in hidden):
            succeeded("jobs to come")
        if any(np.isfinite(view.jobs.runtime)):
            succeeded("run times")
        return clairvoyant(view, [x for x in below if x is not seen])
        """,
        "",
    ),
    "searches_all_modules": Technique(
        """
        modules = [module for module in sys.modules.values() if hasattr(module, "__dict__")]
        return clairvoyant(view, [thing for module in modules for thing in [*vars(module).values()]])
        """,
        "",
    ),
    "reads_the_memory_of_its_parent": Technique(
        "open(f'/proc/{os.getppid()}/mem', 'rb'); succeeded()", r"PermissionError|FileNotFoundError"
    ),
    "reads_the_command_of_its_parent": Technique(
        "succeeded(open(f'/proc/{os.getppid()}/cmdline').read())", r"PermissionError|FileNotFoundError"
    ),
    "traces_its_parent": Technique(
        """
        libc = ctypes.CDLL(None)
        if libc.ptrace(16, os.getppid(), 0, 0) == 0:
            succeeded()
        """,
        "",
    ),
    "reads_its_environment": Technique(
        "[succeeded(x) for x in os.environ.values() if str(LOG) in x or 'seed' in x]", ""
    ),
    "reads_its_arguments": Technique("[succeeded(x) for x in sys.orig_argv if str(LOG) in x]", ""),
    "reads_the_log": Technique("LOG.read_bytes(); succeeded()", _NOT_PERMITTED),
    "reads_the_log_as_a_problem": Technique(
        "from allocsolve.instances import read_problem; read_problem(LOG); succeeded()", "cannot be read"
    ),
    "reads_the_log_by_another_way": Technique(
        "open(f'/proc/self/root{LOG}'); succeeded()", r"PermissionError|FileNotFoundError"
    ),
    "reads_the_log_by_numpy": Technique("np.fromfile(LOG, np.uint8); succeeded()", _NOT_PERMITTED),
    "links_to_the_log": Technique("os.link(LOG, MARK); succeeded()", r"PermissionError|OSError"),
    "links_softly_to_the_log": Technique("os.symlink(LOG, MARK); succeeded()", _NOT_PERMITTED),
    "lists_bounds": Technique("os.listdir(BOUNDS); succeeded()", _NOT_PERMITTED),
    "uses_open_files": Technique(
        """
        for number in range(256):
            try:
                os.fstat(number)
            except OSError:
                continue
            if number > 3:
                succeeded(number)
        """,
        "",
    ),
    # Changing what is outside.
    "writes_a_file": Technique("MARK.write_text('here'); succeeded()", _NOT_PERMITTED),
    "forges_bounds": Technique("(BOUNDS / 'x.json.gz').write_bytes(b''); succeeded()", _NOT_PERMITTED),
    "deletes_the_log": Technique("LOG.unlink(); succeeded()", _NOT_PERMITTED),
    "empties_the_log": Technique("os.truncate(LOG, 0); succeeded()", _NOT_PERMITTED),
    "locks_the_log": Technique("LOG.chmod(0); succeeded()", _NOT_PERMITTED),
    "moves_bounds": Technique("BOUNDS.rename(HERE / 'moved'); succeeded()", _NOT_PERMITTED),
    "edits_the_judge": Technique(
        "import allocsolve.judge; open(allocsolve.judge.__file__, 'a'); succeeded()", _NOT_PERMITTED
    ),
    "goes_online": Technique("socket.create_connection(('127.0.0.1', 9)); succeeded()", _NOT_PERMITTED),
    "kills_its_parent": Technique("os.kill(os.getppid(), signal.SIGKILL); succeeded()", _NOT_PERMITTED),
    # Changing what is inside.
    "replaces_the_judge": Technique(
        """
        import allocsolve.judge, allocsolve.judge.workload.rules as rules
        for name in ("workload_violations", "workload_value"):
            setattr(allocsolve.judge, name, lambda *_: ())
            setattr(rules, name, lambda *_: ())
        return None if view is None else [Start(39, view.num_nodes)]
        """,
        "illegal decision at .*: job 39",
    ),
    "replaces_the_engine": Technique(
        """
        from allocsolve.simulation import Engine
        Engine.apply = lambda *_: None
        return None if view is None else [Start(39, 1)]
        """,
        "illegal decision at .*: job 39",
    ),
    "replaces_the_evaluator": Technique(
        """
        from allocsolve.bench.evaluation import evaluator, windows
        evaluator.WORST = 1.0
        windows.OBJECTIVE = ("wait",)
        evaluator._score = lambda *_: 1.0
        """,
        "",
    ),
    "breaks_numpy": Technique("np.concatenate = np.array = np.full = None", None),
    "breaks_builtins": Technique("builtins.len = builtins.sorted = builtins.min = lambda *_: 1", None),
    "stops_the_clock": Technique(
        "time.time = time.perf_counter = time.monotonic = time.process_time = lambda: 0.0", ""
    ),
    "unloads_modules": Technique("sys.modules.clear()", None),
    "breaks_pickle": Technique("pickle.loads = pickle.load = None", None),
    "writes_to_columns": Technique(
        """
        for column in (view.jobs.nodes, view.jobs.min_nodes, view.jobs.max_nodes):
            ctypes.memmove(column.ctypes.data, np.ones_like(column).ctypes.data, column.nbytes)
        return [Start(job, 1) for job in view.queue.tolist()]
        """,
        "illegal decision|not feasible",
    ),
    "unlocks_columns": Technique(
        "below = view.jobs.estimate.base; below.setflags(write=True); below[:], view.jobs.end.base[:] = 1, 0",
        "",
    ),
    "makes_the_machine_larger": Technique(
        """
        object.__setattr__(view, "free", 10**9)
        object.__setattr__(view, "num_nodes", 10**9)
        return first_fit(view) + [Start(job, int(nodes)) for job, nodes in enumerate(view.jobs.nodes)]
        """,
        "illegal decision",
    ),
    # Decisions that are none.
    "starts_on_fewer_nodes": Technique(
        "return [Start(job, max(1, int(view.jobs.nodes[job]) - 1)) for job in view.queue.tolist()] * 2",
        "illegal decision",
    ),
    "starts_jobs_to_come": Technique(
        "return [Start(39, 1)]", "illegal decision at .*: job 39: is not in the queue"
    ),
    "starts_twice": Technique("return [*first_fit(view), *first_fit(view), Start(0, 1)]", "illegal decision"),
    "starts_on_nan": Technique("return [Start(0, math.nan)]", "is malformed"),
    "starts_on_huge_numbers": Technique("return [Start(0, 10**30)]", "is malformed"),
    "starts_on_negative_nodes": Technique("return [Start(0, -(2**63))]", "illegal decision"),
    "starts_on_fractions": Technique("return [Start(0, 0.5)]", "is malformed"),
    "lies_about_its_numbers": Technique(
        """
        class Liar(Start):
            __slots__ = ()
            def __getattribute__(self, name):
                return random.choice([0, -1, 10**6, 2**62])
        return [Liar(0, 1)] * 100
        """,
        "illegal decision",
    ),
    "turns_back_time": Technique(
        "return [*first_fit(view), Wake(-math.inf)]", "illegal decision .* is not after now"
    ),
    "wakes_at_nan": Technique(
        "return [*first_fit(view), Wake(math.nan)]", "illegal decision .* is not after now"
    ),
    "changes_sizes": Technique(
        "return [Resize(0, 1), Promise(0, 1), Answer(0)]", "no decision about rigid jobs"
    ),
    "decides_for_ever": Technique(
        "return itertools.repeat(Wake(10**12))", "MemoryError|killed|more than|sent"
    ),
    "decides_too_much": Technique("return [Wake(10**12)] * 10**5", r"sent \d+ bytes"),
    "returns_a_score": Technique("return {'combined_score': 1.0}", "'combined_score' is no decision"),
    "returns_a_trap": Technique(
        """
        class Trap:
            def __reduce__(self):
                return exec, (f"open({str(MARK)!r}, 'w')",)
        return [Trap()]
        """,
        "is no decision",
    ),
    # Jobs that are refused.
    "starts_nothing_any_more": Technique("globals()['first_fit'] = lambda view: []", "not feasible: .*"),
    "refuses_long_jobs": Technique(
        """
        honest = first_fit
        globals()['first_fit'] = lambda view: [x for x in honest(view) if view.jobs.estimate[x.job] < 600]
        """,
        "not feasible: .*",
    ),
    # Talking to the owner.
    "prints_a_score": Technique(
        "print(json.dumps({'combined_score': 1.0, 'metrics': {'combined_score': 1.0}}), flush=True)", ""
    ),
    "raises_a_score": Technique("raise RuntimeError(json.dumps({'combined_score': 1.0}))", "combined_score"),
    "replies_twice": Technique("os.write(3, framed(b'd') + framed(b'd'))", "sent more than it was asked for"),
    "announces_a_huge_reply": Technique(
        "os.write(3, struct.pack('<cI', b'd', 2**32 - 1))", r"sent \d+ bytes"
    ),
    "replies_nonsense": Technique(
        "os.write(3, framed(b'd', b'nonsense'))", "8 bytes are no decisions|sent more"
    ),
    "says_that_it_is_loaded": Technique("os.write(3, framed(b'l')); time.sleep(60)", r"sent b'l'|killed"),
    "closes_all_files": Technique("os.closerange(0, 256)", "died: (exit status 0|SIGKILL)"),
    # Leaving.
    "exits": Technique("sys.exit(0)", "SystemExit: 0"),
    "interrupts": Technique("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "leaves_without_a_word": Technique("os._exit(0)", "died: exit status 0"),
    "crashes": Technique("ctypes.string_at(0)", "died: SIG(SEGV|ABRT)"),
    "aborts": Technique("os.abort()", "died: SIG(SEGV|ABRT)"),
    "raises_what_has_no_text": Technique(
        """
        class Silent(BaseException):
            def __str__(self):
                raise RuntimeError
        raise Silent
        """,
        "Silent",
    ),
    # Leaving notes for those that come later, who would know what was hidden.
    "leaves_notes_in_shared_memory": Technique(
        """
        if ctypes.CDLL(None).shmget(0x5EA1ED, 4096, 0o1600) >= 0:
            succeeded()
        """,
        "",
    ),
    "leaves_notes_in_queues": Technique(
        """
        libc = ctypes.CDLL(None)
        if libc.msgget(0x5EA1ED, 0o1600) >= 0 or libc.semget(0x5EA1ED, 1, 0o1600) >= 0:
            succeeded()
        if libc.mq_open(b"/sealed", os.O_CREAT | os.O_RDWR, 0o600, None) >= 0:
            succeeded()
        """,
        "",
    ),
    "leaves_notes_with_the_keys_of_its_user": Technique(
        """
        call = {"x86_64": 248, "aarch64": 217}[os.uname().machine]
        if ctypes.CDLL(None).syscall(call, b"user", b"sealed", b"note", ctypes.c_size_t(4), -4) >= 0:
            succeeded()
        """,
        "",
    ),
    "leaves_notes_at_its_file": Technique(
        """
        import fcntl
        with open(__file__) as mine:
            value = struct.pack("QI4x", mine.fileno(), 1)
            if ctypes.CDLL(None).syscall(463, mine.fileno(), b"", 0x1000, b"user.note", value, 16) == 0:
                succeeded()
            fcntl.ioctl(mine, 0x40086602, struct.pack("l", 0x40))  # that it is not to be dumped
        succeeded()
        """,
        _NOT_PERMITTED,
    ),
    # Meddling with the owner, which runs as the same user.
    "limits_its_parent": Technique(
        "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (64, 64)); succeeded()", _NOT_PERMITTED
    ),
    "slows_its_parent": Technique(
        "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19); succeeded()", _NOT_PERMITTED
    ),
    "moves_its_parent": Technique("os.sched_setaffinity(os.getppid(), {0}); succeeded()", _NOT_PERMITTED),
    "signals_the_threads_of_its_parent": Technique(
        """
        if ctypes.CDLL(None).tgkill(os.getppid(), os.getppid(), 0) == 0:
            succeeded()
        """,
        "",
    ),
    "has_its_parent_signalled": Technique(
        """
        import fcntl
        ours, theirs = socket.socketpair()
        fcntl.fcntl(ours, fcntl.F_SETOWN, os.getppid())
        succeeded()
        """,
        _NOT_PERMITTED,
    ),
    # Taking all there is.
    "hides_its_time_behind_threads": Technique(
        """
        import hashlib
        def work():
            hashlib.pbkdf2_hmac("sha256", b"", b"", 3 * 10**5)
        threading.stack_size(2**18)
        for _ in range(16):
            threading.Thread(target=work).start()
        work()
        """,
        "killed: not (done|loaded) after",
    ),
    "loops": Technique("while True: pass", "killed: not (done|loaded) after"),
    "sleeps_and_catches_all": Technique(
        """
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU):
            signal.signal(number, signal.SIG_IGN)
        while True:
            try:
                time.sleep(0.01)
            except BaseException:
                pass
        """,
        "killed: not (done|loaded) after",
    ),
    "stops_its_process": Technique("signal.raise_signal(signal.SIGSTOP)", "killed: not (done|loaded) after"),
    "eats_memory": Technique("eaten = [bytes(10**7) for _ in range(10**4)]", "MemoryError"),
    "raises_its_limits": Technique(
        """
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE):
            try:
                resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            except (OSError, ValueError):
                pass
        MARK.write_text("here")
        """,
        _NOT_PERMITTED,
    ),
    "forks": Technique("os.fork(); succeeded()", _NOT_PERMITTED),
    "starts_programs": Technique("subprocess.run([sys.executable, '-c', '']); succeeded()", _NOT_PERMITTED),
    "leaves_threads": Technique(
        "[threading.Thread(target=time.sleep, args=(600,)).start() for _ in range(5)]; return None", ""
    ),
}


def texts(
    technique: Technique, folder: Path, *, log: Path, bounds: Path, jobs: int
) -> Iterator[tuple[str, str]]:
    """Yield each moment of a technique with the text of its policy."""
    body = textwrap.indent(textwrap.dedent(technique.body).strip(), "    ")
    for moment in MOMENTS:
        known = {"log": str(log), "bounds": str(bounds), "here": str(folder), "jobs": jobs}
        yield moment, HONEST + _CHEAT.format(moment=moment, body=body, **known)
