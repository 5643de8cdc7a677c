"""The process that policies are forked from, and the life of such a fork.

It has loaded what policies need and knows nothing of any problem. Each window gets a fork of its own, so that
nothing goes from one window, or one policy, to the next.
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
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.bench.evaluation.loading import loaded
from allocsolve.bench.evaluation.messages import (
    ANSWER,
    DECIDED,
    END,
    FORK,
    LENGTH,
    LOADED,
    LONGEST,
    RAISED,
    UNUSABLE,
    ViewReceiver,
    framed,
    packed_decisions,
)
from allocsolve.bench.evaluation.sandbox import restrict
from allocsolve.errors import AllocsolveError

if TYPE_CHECKING:
    from allocsolve.bench.evaluation.messages import Orders


def main() -> None:
    """Fork processes for policies, one at a time, until the owner closes the socket that is our stdin."""
    control = socket.socket(fileno=os.dup(0))
    loaded("easy")  # what policies import is loaded once, not in each fork
    gc.freeze()
    child = 0
    try:
        while True:
            request, descriptors, _, _ = socket.recv_fds(control, 1, 1)
            if request == FORK:
                (descriptor,) = descriptors
                child = os.fork()
                if child == 0:
                    _live(descriptor)
                os.close(descriptor)
                control.sendall(ANSWER.pack(child))
            elif request == END:
                code, child = _ended(child), 0
                control.sendall(ANSWER.pack(code))
            else:
                break
    finally:
        if child:
            _ended(child)
        os._exit(0)


def _ended(child: int) -> int:
    """Kill a process, and those of its group, and return how it had ended."""
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _live(descriptor: int) -> None:
    """Be the process of a policy: seal it, load the policy, decide; never return."""
    try:
        os.setsid()
        os.dup2(descriptor, 3)
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nothing, number)
        os.closerange(4, 1 << 16)
        owner = socket.socket(fileno=3)
        orders: Orders = pickle.loads(_received(owner))  # noqa: S301 - from the owner
        _serve(owner, orders)
    finally:
        os._exit(0)


def _serve(owner: socket.socket, orders: Orders) -> None:
    sys.path[:] = [orders.folder, *(entry for entry in sys.path if entry not in ("", orders.folder))]
    restrict(orders.readable, orders.listable, memory_mb=orders.memory_mb)
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 - policies that use it shall decide the same each time
    try:
        decide = loaded(orders.policy).decide
    except BaseException as error:  # noqa: BLE001 - of a stranger's module
        owner.sendall(framed(UNUSABLE, _told(error)))
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
