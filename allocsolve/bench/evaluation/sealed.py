"""Policies of others under our engine: a process of their own gets views, and returns decisions.

The engine stays here. So a policy can look around in its process as it likes: run times and jobs to come are
not there, and nothing that it does there changes the state of the machine but decisions that the rules allow.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from pickle import HIGHEST_PROTOCOL, dumps
from typing import IO, TYPE_CHECKING, Final, NamedTuple

from allocsolve.bench.evaluation.loading import code_of, file_and_object
from allocsolve.bench.evaluation.messages import (
    DECIDED,
    ENDED,
    HEAD,
    LENGTH,
    LOADED,
    LONGEST,
    MOST_PER_JOB,
    NUMBER,
    RAISED,
    UNUSABLE,
    Orders,
    ViewSender,
    decisions_of,
)
from allocsolve.bench.runs.watch import LOOK_S, cause_of, clock, exit_reason, held_mb
from allocsolve.errors import AllocsolveError, InvalidAnswer
from allocsolve.kernels.cache import kernel_folder
from allocsolve.simulation import Engine, IllegalDecision

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allocsolve.model import WorkloadProblem, WorkloadSchedule

#: How long loading a policy may take, in seconds.
LOADING_S: Final = 30.0
#: How long a process may take to end, in seconds; then it is killed.
_ENDING_S: Final = 5.0
#: How often the memory of a process is looked at, in seconds: Linux limits it besides.
_MEMORY_LOOK_S: Final = 0.25
_AT_ONCE: Final = 1 << 20
#: In the number of a clock, beside that of a process: the time that its threads have run.
_TIME_OF_PROCESS: Final = 2
#: What processes of policies get of our environment: what says where code is found.
_ENVIRONMENT: Final = ("PATH", "LANG", "LD_LIBRARY_PATH", "XDG_CACHE_HOME", "HOME")
#: Decisions are the same each time, and take one processor.
_SETTINGS: Final[Mapping[str, str]] = {
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
}
#: Where our own code is.
_PACKAGE: Final = Path(__file__).parents[2]
#: Where code of the system is.
_SYSTEM: Final = (
    *("/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64"),
    *("/etc/ld.so.cache", "/dev/null", "/dev/urandom"),
)


class Limits(NamedTuple):
    """What a policy may take on each workload."""

    seconds: float  #: of all its decisions together; what a busy machine keeps it waiting does not count
    memory_mb: float  #: that it allocates


class PolicyFailed(AllocsolveError):  # noqa: N818 - the name says what is wrong
    """A policy has not brought a workload to its end."""


class PolicyUnusable(PolicyFailed):
    """A policy cannot be loaded, or what was loaded is none."""


class SealedPolicies:
    """Runs policies in processes of their own, one at a time.

    No policy is to read the files and folders that are `hidden`; the limits are those of each run.
    """

    def __init__(self, hidden: Sequence[Path], limits: Limits) -> None:
        self._hidden = [path.resolve() for path in hidden]
        self._limits = limits
        self._server: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket
        self._stderr: IO[bytes]
        #: What this system does not keep policies from, in words; known when one has run.
        self.unheld = ""

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """End the processes, if there are any."""
        server, self._server = self._server, None
        if server is not None:
            self._socket.close()
            with contextlib.suppress(OSError):
                os.killpg(server.pid, signal.SIGKILL)
            server.wait()
            self._stderr.close()

    def run(self, problem: WorkloadProblem, policy: str) -> WorkloadSchedule:
        """Return the schedule of a workload under a policy, which nobody has judged yet.

        Raises `PolicyFailed` if it raises, decides what is not allowed, dies, or takes more than the limits.
        """
        orders = self._orders(policy)
        server = self._started()
        most = MOST_PER_JOB * (len(problem.jobs) + 8)
        with contextlib.closing(_Process(self._socket, server.pid, self._limits, most)) as process:
            try:
                self.unheld = process.load(orders)
                return _schedule(problem, process)
            except OSError:
                msg = f"the process that policies are forked from died: {exit_reason(server, self._stderr)}"
                raise PolicyFailed(msg) from None
            finally:
                if not process.ended():
                    process.kill()
                    self.close()

    def _orders(self, policy: str) -> bytes:
        """Return what the process is told at first: it may read installed code, and that of the policy."""
        folder = os.getcwd()  # noqa: PTH109 - a text, as the entries of sys.path are
        code = code_of(policy, folder)
        for place, secret in product(code, self._hidden):
            if secret.is_relative_to(place):
                msg = f"{place} holds {secret}, which no policy is to read: move one of them elsewhere"
                raise PolicyUnusable(msg)
        installed = [*_SYSTEM, *(f"{prefix}/lib" for prefix in (sys.prefix, sys.base_prefix))]
        search = [folder, *filter(None, sys.path)]
        entries = [Path(entry).resolve() for entry in (*installed, *search)]
        secrets = [*self._hidden, Path(folder).resolve()]
        code += [entry for entry in entries if not any(one.is_relative_to(entry) for one in secrets)]
        readable = [*map(str, code), str(_PACKAGE), str(kernel_folder())]
        path, attribute = file_and_object(policy)
        name = f"{Path(path).resolve()}:{attribute}" if path else policy
        data = dumps(Orders(name, search, readable, self._limits.memory_mb), HIGHEST_PROTOCOL)
        return LENGTH.pack(len(data)) + data

    def _started(self) -> subprocess.Popen[bytes]:
        if self._server is not None and self._server.poll() is None:
            return self._server
        self.close()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the server
        self._socket, inward = socket.socketpair()
        environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
        path = os.pathsep.join(filter(None, sys.path))
        environment |= {**_SETTINGS, "PYTHONPATH": path, "ALLOCSOLVE_KERNELS": str(kernel_folder())}
        with inward:
            self._server = subprocess.Popen(
                [sys.executable, "-c", "from allocsolve.bench.evaluation.fork_server import main; main()"],
                stdin=inward.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                start_new_session=True,
                cwd="/",
                env=environment,
            )
        return self._server


class _Moment(NamedTuple):
    """When something was, in seconds."""

    clock: float
    ran: float  #: by all threads of the policy's process, on processors
    waited: float  #: by its main thread, in the queue for one
    waited_here: float  #: by this process


def _charged(before: _Moment, now: _Moment) -> float:
    """Return what a policy has taken between two moments: the machine may have kept it, or us, waiting."""
    elapsed, ran, waited, waited_here = (end - begin for begin, end in zip(before, now, strict=True))
    return max(ran, elapsed - waited - waited_here)


class _Waits:
    """For how long the main thread of a process has waited for a processor: a file that is read often."""

    def __init__(self, pid: int) -> None:
        self._descriptor = -1
        with contextlib.suppress(OSError):
            self._descriptor = os.open(f"/proc/{pid}/schedstat", os.O_RDONLY)

    def seconds(self) -> float:
        """Return the seconds so far; 0 if nothing says so, or the process is no more."""
        with contextlib.suppress(OSError, ValueError):
            return int(os.pread(self._descriptor, 64, 0).split()[1]) / 1e9
        return 0.0

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)


def _ran(pid: int) -> float:
    """Return for how many seconds all threads of a process have run; 0 if nothing says so."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return time.clock_gettime(~pid << 3 | _TIME_OF_PROCESS)
    return 0.0


class _Process:
    """The owner's end of the process of a policy: nothing that it does makes the owner wait for longer."""

    def __init__(self, sock: socket.socket, pid: int, limits: Limits, most: int) -> None:
        self._socket, self._limits, self._most = sock, limits, most
        sock.settimeout(0)
        self._poll = select.poll()
        self._received = bytearray()
        self._waits_here = _Waits(os.getpid())
        self._state, self._limit, self._spent = "loaded", LOADING_S, 0.0
        self._looked = clock()
        self._server = pid
        self._mark = b""  #: of the last answer; empty while it is waited for
        self._watch(pid)

    def _watch(self, pid: int) -> None:
        self._pid, self._waits = pid, _Waits(pid)

    def close(self) -> None:
        """Close what tells about the process."""
        self._waits.close()
        self._waits_here.close()

    def load(self, orders: bytes) -> str:
        """Have the policy loaded, and start the clock of its decisions; return what it is not kept from."""
        mark, data = self._asked(orders)
        self._waits.close()
        self._watch(NUMBER.unpack_from(data)[0])
        open_ends = data[NUMBER.size :].decode()
        mark, data = self._asked(b"")
        if mark != LOADED:
            raise PolicyUnusable(_text(mark, data))
        self._state, self._limit, self._spent = "done", self._limits.seconds, 0.0
        return open_ends

    def decided(self, message: bytes) -> bytes:
        """Return the decisions on a view, as they have come."""
        mark, data = self._asked(message)
        if mark != DECIDED:
            raise PolicyFailed(_text(mark, data))
        return data

    def ended(self) -> bool:
        """Have the process end by itself, and return whether it has, so that its server can be used again."""
        if self._mark in (b"", ENDED):
            return False
        self._limit, self._spent = _ENDING_S, 0.0
        with contextlib.suppress(OSError, PolicyFailed):
            return self._asked(LENGTH.pack(0))[0] == ENDED
        return False

    def kill(self) -> None:
        """End the process, and those that it has started."""
        if self._pid != self._server and self._mark != ENDED:
            with contextlib.suppress(OSError):
                os.killpg(self._pid, signal.SIGKILL)

    def _asked(self, message: bytes) -> tuple[bytes, bytes]:
        """Send a message and return what is answered, both as far as the limits allow."""
        unsent, before, self._mark = memoryview(message), self._now(), b""
        while True:
            if unsent:
                with contextlib.suppress(BlockingIOError):
                    unsent = unsent[self._socket.send(unsent[:_AT_ONCE]) :]
            answer = self._complete()
            spent = self._spent + _charged(before, self._now())
            self._look(spent)
            if answer is not None:
                self._spent, self._mark = spent, answer[0]
                return answer
            self._poll.register(self._socket, select.POLLIN | (select.POLLOUT if unsent else 0))
            if self._poll.poll(1000 * LOOK_S):
                with contextlib.suppress(BlockingIOError):
                    data = self._socket.recv(_AT_ONCE)
                    if not data:
                        raise ConnectionResetError
                    self._received += data

    def _complete(self) -> tuple[bytes, bytes] | None:
        if len(self._received) < HEAD.size:
            return None
        mark, length = HEAD.unpack_from(self._received)
        if length > (self._most if mark == DECIDED else LONGEST):
            raise PolicyFailed(f"the process of the policy sent {length} bytes")
        end = HEAD.size + length
        if len(self._received) < end:
            return None
        data = bytes(self._received[HEAD.size : end])
        del self._received[:end]
        return mark, data

    def _now(self) -> _Moment:
        return _Moment(clock(), _ran(self._pid), self._waits.seconds(), self._waits_here.seconds())

    def _look(self, spent: float) -> None:
        """Look at the time that is spent, and at the memory."""
        if spent > self._limit:
            raise PolicyFailed(f"killed: not {self._state} after {spent:.1f} s")
        if clock() - self._looked > _MEMORY_LOOK_S:
            self._looked = clock()
            held, most = held_mb(self._pid), 2 * self._limits.memory_mb
            if held > most:
                raise PolicyFailed(f"killed: held {held:.0f} MB, more than {most:.0f} MB")


def _text(mark: bytes, data: bytes) -> str:
    if mark == ENDED:
        return f"the process of the policy died: {cause_of(*NUMBER.unpack(data))}"
    if mark not in (UNUSABLE, RAISED):
        return f"the process of the policy sent {mark!r}"
    return " ".join(data.decode(errors="replace").split()) or "no reason given"


def _schedule(problem: WorkloadProblem, process: _Process) -> WorkloadSchedule:
    """Run a workload to its end under the policy of a process."""
    problem.check_plain("sealed")
    engine, sender = Engine(problem), ViewSender()
    while (view := engine.advance()) is not None:
        data = process.decided(sender.message(view))
        try:
            engine.apply(decisions_of(data))
        except (IllegalDecision, InvalidAnswer) as error:
            raise PolicyFailed(f"illegal decision at {view.now:.15g} s: {error}") from None
    return engine.result()
