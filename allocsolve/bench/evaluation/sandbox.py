"""What a process gives up before it runs the code of a stranger; none of it can be taken back.

On Linux, Landlock leaves it the files that it is told to read and nothing to write, and a filter of system
calls leaves it no other process and no network. Elsewhere only limits of memory and of files hold.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

#: Numbers of system calls that are the same on all machines.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_ABI_ONLY: Final = 1
_PATH_BENEATH: Final = 1
_EXECUTE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 2, 1 << 3
#: By the least version of Landlock that knows them: how many kinds of access to files there are.
_FILE_RIGHTS: Final = ((5, 16), (3, 15), (2, 14), (1, 13))
#: From these versions on, connections and signals to others can be refused, too.
_WITH_NETWORK, _WITH_SCOPES = 4, 6
_BOTH: Final = 0b11

_NO_NEW_PRIVILEGES, _SET_FILTER, _FILTER_MODE = 38, 22, 2
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_NOT_PERMITTED, _NOT_IMPLEMENTED = 1, 38
#: Of a clone: it is a thread of the same process.
_THREAD: Final = 0x10000
#: By machine: the code of its calls; clone; clone3; what is refused; what it may do to itself only. Refused
#: are fork, vfork, execve, execveat, kill, ptrace, process_vm_readv, process_vm_writev, socket; chmod, chown,
#: utimensat, setxattr and removexattr in their forms; pidfd_send_signal, io_uring_setup, pidfd_open,
#: fchmodat2, process_madvise, setxattrat, removexattrat, file_setattr. What outlives a process, so that it
#: could tell the next one: shmget, shmat, shmctl, semget, semctl, semop, semtimedop, msgget, msgsnd, msgrcv,
#: msgctl, mq_open, mq_unlink, add_key, request_key, keyctl. What concerns other processes: tkill,
#: rt_sigqueueinfo, rt_tgsigqueueinfo, setpriority, ioprio_set, sched_setparam, sched_setscheduler,
#: sched_setattr, perf_event_open, bpf. To itself it may do tgkill, prlimit64, sched_setaffinity.
_CALLS: Final = {
    "x86_64": (
        *(0xC000003E, 56, 435),
        (
            *(57, 58, 59, 322, 62, 101, 310, 311, 41),
            *(90, 91, 268, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197, 198, 199),
            *(424, 425, 434, 452, 440, 463, 466, 469),
            *(29, 30, 31, 64, 66, 65, 220, 68, 69, 70, 71, 240, 241, 248, 249, 250),
            *(200, 129, 297, 141, 251, 142, 144, 314, 298, 321),
        ),
        (234, 302, 203),
    ),
    "aarch64": (
        *(0xC00000B7, 220, 435),
        (
            *(221, 281, 129, 117, 270, 271, 198),
            *(52, 53, 54, 55, 88, 5, 6, 7, 14, 15, 16),
            *(424, 425, 434, 452, 440, 463, 466, 469),
            *(194, 196, 195, 190, 191, 193, 192, 186, 189, 188, 187, 180, 181, 217, 218, 219),
            *(130, 138, 240, 140, 30, 118, 119, 274, 241, 280),
        ),
        (131, 261, 122),
    ),
}
#: By machine and call: requests that are refused. Of fcntl: who is told of input, and by which signal
#: (F_SETOWN, F_SETSIG, F_SETOWN_EX). Of ioctl: the same (FIOSETOWN, SIOCSPGRP); marks of files that stay
#: (FS_IOC_SETFLAGS, FS_IOC_FSSETXATTR, FS_IOC_SETVERSION).
_FCNTL_REQUESTS: Final = (8, 10, 15)
_IOCTL_REQUESTS: Final = (0x8901, 0x8902, 0x40086602, 0x401C5820, 0x40087602)
_REQUESTS: Final = {
    "x86_64": {72: _FCNTL_REQUESTS, 16: _IOCTL_REQUESTS},
    "aarch64": {25: _FCNTL_REQUESTS, 29: _IOCTL_REQUESTS},
}
#: How names of modules end, compiled ones included.
_OF_MODULES: Final = (".py", ".so", ".pyc")
#: Calls from here on are those of another table of the same machine.
_OTHER_TABLE: Final = 0x40000000


def unheld() -> tuple[str, ...]:
    """Return what this system does not keep a process from, in words; nothing if it has both guards."""
    open_ends = []
    if _landlock_version() < 1:
        open_ends.append("reading and writing the files of its user")
    if _calls() is None:
        open_ends.append("starting processes and connections")
    return tuple(open_ends)


def restrict(readable: Iterable[str], listable: Iterable[str], *, memory_mb: float) -> None:
    """Give up all that a policy does not need, for this process and those that it might start.

    Parameters
    ----------
    readable
        Files, and folders with all below them, that may still be read; what is not there is passed over.
    listable
        Folders of which only the names of what is in them may be read.
    memory_mb
        What may be allocated from now on, in MB.

    Raises
    ------
    OSError
        If this system has a guard, and it does not take hold.
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
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
    if (version := _landlock_version()) >= 1:
        _close_files(libc, version, readable, listable)
    if (calls := _calls()) is not None:
        _close_calls(libc, *calls)


def _checked(result: int, what: str) -> int:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def _landlock_version() -> int:
    """Return the version of Landlock, 0 or less if there is none."""
    if sys.platform != "linux":
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ABI_ONLY))


def _close_files(libc: ctypes.CDLL, version: int, readable: Iterable[str], listable: Iterable[str]) -> None:
    rights = next(count for least, count in _FILE_RIGHTS if version >= least)
    fields = [(1 << rights) - 1]
    if version >= _WITH_NETWORK:
        fields.append(_BOTH)
    if version >= _WITH_SCOPES:
        fields.append(_BOTH)
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    rules = _checked(
        libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0), "Landlock"
    )
    allowances = [(path, _READ_FILE | _EXECUTE | _READ_DIR * Path(path).is_dir()) for path in readable]
    allowances += [(path, _READ_DIR) for path in listable]
    for path, allowed in allowances:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        rule = struct.pack("=Qi", allowed, descriptor)
        _checked(libc.syscall(_ADD_RULE, rules, _PATH_BENEATH, rule, 0), f"Landlock, {path}")
        os.close(descriptor)
    _checked(libc.syscall(_RESTRICT_SELF, rules, 0), "Landlock")
    os.close(rules)


def _calls() -> tuple[int, int, int, Sequence[int], Sequence[int]] | None:
    return _CALLS.get(platform.machine()) if sys.platform == "linux" else None


def _close_calls(
    libc: ctypes.CDLL, machine: int, clone: int, clone3: int, refused: Sequence[int], own: Sequence[int]
) -> None:
    """Have system calls refused by a program for the kernel's filter: it jumps forward only, then returns."""
    load, equal, at_least, any_bit, give = 0x20, 0x15, 0x35, 0x45, 0x06
    number, architecture, first_argument, second_argument = 0, 4, 16, 24
    refuse = _REFUSE | _NOT_PERMITTED
    program = [
        (load, 0, 0, architecture),
        (equal, 1, 0, machine),
        (give, 0, 0, _KILL),
        (load, 0, 0, number),
        (at_least, 0, 1, _OTHER_TABLE),
        (give, 0, 0, refuse),
        (equal, 0, 1, clone3),  # the C library falls back on clone, whose flags can be looked at
        (give, 0, 0, _REFUSE | _NOT_IMPLEMENTED),
    ]
    for call in refused:
        program += [(equal, 0, 1, call), (give, 0, 0, refuse)]
    for call in own:
        program += [
            (equal, 0, 5, call),
            (load, 0, 0, first_argument),
            (equal, 2, 0, 0),
            (equal, 1, 0, os.getpid()),
            (give, 0, 0, refuse),
            (give, 0, 0, _ALLOW),
        ]
    for call, requests in _REQUESTS[platform.machine()].items():
        checks = [(equal, len(requests) - idx, 0, request) for idx, request in enumerate(requests)]
        program += [
            (equal, 0, len(requests) + 3, call),
            (load, 0, 0, second_argument),
            *checks,
            (give, 0, 0, _ALLOW),
            (give, 0, 0, refuse),
        ]
    program += [
        (equal, 1, 0, clone),
        (give, 0, 0, _ALLOW),
        (load, 0, 0, first_argument),
        (any_bit, 1, 0, _THREAD),
        (give, 0, 0, refuse),
        (give, 0, 0, _ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in program))
    head = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
    _checked(libc.prctl(_SET_FILTER, _FILTER_MODE, head, 0, 0), "filter of system calls")


def paths_of_code(entries: Iterable[str], hidden: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Return what may be read so that modules can be imported, and nothing that is hidden.

    Parameters
    ----------
    entries
        Of the search path of modules.
    hidden
        Files and folders, in full and without links.

    Returns
    -------
    readable
        Files and folders, see `restrict`: an entry as a whole if nothing hidden is below it, else the modules
        and packages in it.
    listable
        The entries of which not all may be read.
    """
    readable: list[str] = []
    listable: list[str] = []
    todo = [Path(entry).resolve() for entry in dict.fromkeys(entries)]
    while todo:
        found = todo.pop()
        if any(found.is_relative_to(secret) for secret in hidden):
            continue
        if not any(secret.is_relative_to(found) for secret in hidden):
            readable.append(str(found))
            continue
        listable.append(str(found))
        with contextlib.suppress(OSError):
            todo += [
                child
                for child in found.iterdir()
                if child.suffix in _OF_MODULES or (child / "__init__.py").is_file()
            ]
    return readable, listable
