"""The process that policies are forked from, and the life of such a fork.

It has loaded what policies need and knows nothing of any problem. Each window gets a fork of its own, so that
nothing goes from one window, or one policy, to the next in memory.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import random
import signal
import socket
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

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
from allocsolve.bench.evaluation.sandbox import leave_network, restrict, unheld
from allocsolve.errors import AllocsolveError

if TYPE_CHECKING:
    from allocsolve.bench.evaluation.messages import Orders


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
