"""The process that policies are forked from, and the life of such a fork.

It has loaded what policies need and knows nothing of any problem. Each window gets a fork of its own, so that
nothing goes from one window, or one policy, to the next in memory.

What a fork gives up before it runs the code of others can never be taken back. That keeps searches honest
that are honest or careless. It is no wall against code that wants out: that belongs into a container.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import pickle
import random
import signal
import socket
import struct
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from allocsolve.bench.evaluation.loading import loaded, module_of
from allocsolve.bench.evaluation.messages import (
    DECIDED,
    ENDED,
    LENGTH,
    LOADED,
    LONGEST,
    NUMBER,
    RAISED,
    STARTED,
    UNUSABLE,
    ViewReceiver,
    framed,
    packed_decisions,
)
from allocsolve.errors import AllocsolveError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from allocsolve.bench.evaluation.messages import Orders

#: Numbers of system calls that are the same on all machines.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ABI_ONLY: Final = 1
_PATH_BENEATH: Final = 1
_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
#: By the least version of Landlock that knows them: how many kinds of access to files there are.
_FILE_RIGHTS: Final = ((5, 16), (3, 15), (2, 14), (1, 13))
#: From these versions on, TCP can be refused, and signals to other processes.
_WITH_TCP, _WITH_SIGNALS = 4, 6
_BOTH: Final = 0b11
_NO_NEW_PRIVILEGES: Final = 38
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000


def leave_network() -> bool:
    """Go where no network is, and return whether this system allows that; the process has one thread."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    # Who is not root may do so as a user of their own only.
    return any(libc.unshare(flags) == 0 for flags in (_NEW_NETWORK, _NEW_USER | _NEW_NETWORK))


def unheld(*, offline: bool) -> str:
    """Return in words what a restricted process is not kept from on this system; empty if from all.

    `offline` is what `leave_network` has returned.
    """
    version = _landlock_version()
    open_ends = ["reading and writing the files of its user"] * (version < 1)
    if not offline and version < _WITH_TCP:
        open_ends.append("connections")
    return " and ".join(open_ends)


def restrict(readable: Iterable[str], *, memory_mb: float) -> None:
    """Give up files, and memory beyond a limit, for this process and those that it might start.

    Raises `OSError` if this system has Landlock, and it does not take hold. Files, and folders with all below
    them, that are `readable` may still be read; what is not there is passed over. From now on `memory_mb` MB
    may be allocated.
    """
    import resource  # noqa: PLC0415 - Windows, which seals nothing, has none

    limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_FSIZE: 0}
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limits[resource.RLIMIT_AS] = pages * resource.getpagesize() + int(1e6 * memory_mb)
    for kind, value in limits.items():
        with contextlib.suppress(OSError, ValueError):  # a lower limit holds already
            resource.setrlimit(kind, (value, value))
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    if (version := _landlock_version()) >= 1:
        _close_files(version, readable)


def _landlock_version() -> int:
    """Return the version of Landlock, 0 or less if there is none."""
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ABI_ONLY))


def _close_files(version: int, readable: Iterable[str]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)

    def checked(result: int) -> int:
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"Landlock: {os.strerror(code)}")
        return result

    checked(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
    rights = next(count for least, count in _FILE_RIGHTS if version >= least)
    fields = [(1 << rights) - 1, *[_BOTH] * ((version >= _WITH_TCP) + (version >= _WITH_SIGNALS))]
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    rules = checked(libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    for path in readable:
        with contextlib.suppress(OSError):
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            allowed = _READ_FILE | _READ_DIR * Path(path).is_dir()
            checked(libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", allowed, descriptor), 0))
            os.close(descriptor)
    checked(libc.syscall(_RESTRICT_SELF, rules, 0))
    os.close(rules)


def main() -> None:
    """Fork a process for each orders that come, until the owner closes the socket that is our stdin.

    The fork talks to the owner by the same socket; when it has ended, it is said here how.
    """
    owner = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.close(nothing)
    open_ends = unheld(offline=leave_network())
    loaded("easy")  # what policies import is loaded once, not in each fork
    gc.freeze()
    while data := _received(owner):
        child = os.fork()
        if child == 0:
            try:
                os.setsid()
                os.dup2(0, 2)
                owner.sendall(framed(STARTED, NUMBER.pack(os.getpid()) + open_ends.encode()))
                _serve(owner, pickle.loads(data))  # noqa: S301 - from the owner
            finally:
                os._exit(0)
        status = os.waitpid(child, 0)[1]
        with contextlib.suppress(OSError):  # what it has started
            os.killpg(child, signal.SIGKILL)
        owner.sendall(framed(ENDED, NUMBER.pack(os.waitstatus_to_exitcode(status))))


def _serve(owner: socket.socket, orders: Orders) -> None:
    """Load the policy, and decide, until there is nothing more to decide."""
    sys.path[:] = orders.search
    if module := module_of(orders.policy):
        with contextlib.suppress(ValueError):
            find_spec(module)  # what lies in the folder is known from now on: it cannot be listed any more
    restrict(orders.readable, memory_mb=orders.memory_mb)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - policies that use it shall decide the same each time
    try:
        decide = loaded(orders.policy).decide
    except BaseException as error:  # noqa: BLE001 - of a stranger's module
        owner.sendall(framed(UNUSABLE, _told(error)))
        _received(owner)
        return
    owner.sendall(framed(LOADED))
    receiver = ViewReceiver()
    while data := _received(owner):
        try:
            reply = framed(DECIDED, packed_decisions(decide(receiver.view(data))))
        except BaseException as error:  # noqa: BLE001 - of a stranger's policy
            reply = framed(RAISED, _told(error))
        owner.sendall(reply)


def _received(owner: socket.socket) -> bytes:
    """Return the next message of the owner; empty if there is none any more."""
    head = owner.recv(LENGTH.size, socket.MSG_WAITALL)
    if len(head) < LENGTH.size:
        return b""
    length = LENGTH.unpack(head)[0]
    return owner.recv(length, socket.MSG_WAITALL)


def _told(error: BaseException) -> bytes:
    try:
        text = f"{error}" if isinstance(error, AllocsolveError) else f"{type(error).__name__}: {error}"
    except BaseException:  # noqa: BLE001 - an error of a stranger may not even have a text
        text = type(error).__name__
    return text.encode(errors="replace")[:LONGEST]
